"""Clusters, groups and means of networks: closed forms, enumeration and the peers' numbers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

import resemblance as rs
from resemblance.comparison.populations import cluster_by_medoids, find_medoids, permanova

# The mean squared distance to means of the 8 networks of `golden_networks`: of any width and of
# width 6, by a computation of its own, and of netrep's "full_batch" (July 2024), no minimum.
GOLDEN = {"any width": 149.21137159321768, "width 6": 150.97068599814747, "netrep": 198.3847531}

M = "procrustes_size_shape"


def golden_networks() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    for shape in [(15, 6), (15, 30, 6), (15, 6, 6)] * 3 + [(6, 6), (2, 15, 6), (2, 40, 5)]:
        rng.standard_normal(shape)
    return [rng.standard_normal((40, 6)) for _ in range(8)]


def networks(count: int, *, n: int = 40, d: int = 6, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).standard_normal((count, n, d)))


def seeds_of_recipes(noise: float = 0.6, seed: int = 0) -> dict[str, np.ndarray]:
    """Return six networks of each of three recipes."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((3, 40, 6))
    return {
        f"{recipe}{k}": center + noise * rng.standard_normal(center.shape)
        for recipe, center in zip("abc", centers)
        for k in range(6)
    }


def distance(x: Any, y: Any) -> float:
    return float(rs.procrustes_size_shape(x, y))


def variance(arrays: list[np.ndarray], mean: Any) -> float:
    return float(np.mean([distance(x, mean) ** 2 for x in arrays]))


def compared(arrays: dict[str, np.ndarray]) -> rs.Comparison:
    return rs.compare(arrays, measures=M, progress=False)


# ---------------------------------------------------------------------------------------- means


def test_three_directions_need_a_mean_that_is_wider_than_they_are():
    turns = (0, 2 * np.pi / 3, 4 * np.pi / 3)
    # Rows and their negatives: centred, so the rows of each are a direction of the plane.
    points = [np.array([[np.cos(t)], [np.sin(t)], [-np.cos(t)], [-np.sin(t)]]) for t in turns]
    assert variance(points, rs.mean_shape(points, width=1)) == pytest.approx(2 * 5 / 9)
    wide = rs.mean_shape(points)
    assert wide.shape == (4, 2)
    assert variance(points, wide) == pytest.approx(2 * 1 / 2)


def test_the_variance_around_the_mean_agrees_with_the_golden_values():
    # Rows and their negatives are centred, and double the squares.
    inputs = [np.concatenate([x, -x]) for x in golden_networks()]
    narrow, wide = rs.mean_shape(inputs, width=6), rs.mean_shape(inputs)
    assert variance(inputs, narrow) == pytest.approx(2 * GOLDEN["width 6"], rel=1e-8)
    assert variance(inputs, wide) == pytest.approx(2 * GOLDEN["any width"], rel=1e-8)
    best = min(variance(inputs, x) for x in inputs)
    assert GOLDEN["any width"] < GOLDEN["width 6"] < GOLDEN["netrep"] < best / 2


def test_the_mean_does_not_depend_on_rotations_order_or_a_common_scale():
    arrays = networks(5)
    mean = rs.mean_shape(arrays)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    for others, factor in (
        ([arrays[0] @ turn + 3, *arrays[1:]], 1.0),
        (arrays[::-1], 1.0),
        ([1e-200 * x for x in arrays], 1e-200),
        ([1e200 * x for x in arrays], 1e200),
    ):
        np.testing.assert_allclose(
            rs.mean_shape(others).array / factor, mean.array, rtol=0, atol=1e-5
        )


X, Z = networks(2)
BY_ID = rs.Representation(X, "x", ids=range(40))
SHIFTED = rs.Representation(Z, "z", ids=range(1, 41))
MISTAKES_OF_MEANS = [
    (lambda: rs.mean_shape([X]), "two"),
    (lambda: rs.mean_shape([X, Z[:30]]), r"\(30, 6\)"),
    (lambda: rs.mean_shape([BY_ID, SHIFTED]), "'z'"),
    (lambda: rs.mean_shape([X, Z], width=0), "width"),
    (lambda: rs.mean_shape([X, Z], width=41), "41"),
    (lambda: rs.align(X, Z[:30]), r"\(30, 6\)"),
    (lambda: rs.mean_shape([X, np.where(Z > 2, np.nan, Z)]), "NaN"),
]


def test_mistakes_with_means_are_named(subtests):
    for call, words in MISTAKES_OF_MEANS:
        with subtests.test(words), pytest.raises(ValueError, match=words):
            call()
    mean = rs.mean_shape([np.ones((5, 2)), np.zeros((5, 3))], width=2)
    np.testing.assert_array_equal(mean.array, np.zeros((5, 2)))  # constants have a mean


# ------------------------------------------------------------------------------------- clusters


def test_clusters_are_the_recipes():
    comparison = compared(seeds_of_recipes())
    clusters = comparison.clusters(M)
    assert len(clusters.by_k) == 9
    assert [len(set(clusters.labels[at : at + 6])) for at in (0, 6, 12)] == [1, 1, 1]
    assert sorted(name[0] for name in clusters.medoids) == ["a", "b", "c"]
    differences = comparison.dissimilarity(M) * (1 - np.eye(18))
    expected = silhouette_samples(differences, clusters.labels, metric="precomputed")
    np.testing.assert_allclose(clusters.silhouette, expected)
    assert clusters.records()[0]["name"] == "a0"
    assert repr(clusters).startswith("3 clusters around a")


@pytest.mark.parametrize("k", [2, 3, 4])
def test_medoids_have_the_least_cost_of_all(k):
    plane = np.random.default_rng(8).random((16, 2))
    apart = np.linalg.norm(plane[:, None] - plane, axis=-1)
    choices = itertools.combinations(range(16), k)
    least = min(apart[:, list(some)].min(axis=1).sum() for some in choices)
    assert apart[:, find_medoids(apart, k)].min(axis=1).sum() == pytest.approx(least)


def test_equal_representations_have_clusters_of_their_own():
    x, y = networks(2)
    clusters = compared({"a": x, "b": x, "c": y, "d": y}).clusters(M, 3)
    assert len(set(clusters.labels)) == 3
    names, equal = ("a", "b", "c"), np.zeros((3, 3))
    with pytest.raises(rs.UndefinedError, match="differ"):
        cluster_by_medoids(names, equal, 2)
    for labels, draws in (([0, 0, 1], 99), ([0, 1, 1], 2)):
        groups = permanova(names, equal, labels, n_permutations=draws)  # nor do the groups differ
        assert (groups.pvalue, groups.f, groups.share, groups.within) == (1, 0, 0, 0)
    groups = permanova(
        tuple(map(str, range(12))), np.zeros((12, 12)), [0] * 6 + [1] * 6, n_permutations=9
    )
    assert groups.pvalue == 1


# --------------------------------------------------------------------------------------- groups


def test_f_is_that_of_an_analysis_of_variance():
    from scipy.stats import f_oneway

    rng = np.random.default_rng(5)
    points, labels = rng.standard_normal(12), np.repeat([0, 1, 2], 4)
    # The distance of two points of a line, as the size and shape of pairs (v, -v).
    arrays = {str(i): np.array([[v + 9], [-v - 9]]) for i, v in enumerate(points)}
    groups = compared(arrays).permanova(M, labels)
    expected = f_oneway(*(points[labels == g] for g in range(3))).statistic
    assert groups.f == pytest.approx(expected)
    total = ((points - points.mean()) ** 2).sum()
    within = sum(((points[labels == g] - points[labels == g].mean()) ** 2).sum() for g in range(3))
    assert groups.share == pytest.approx(1 - within / total)
    equal = compared({str(i): arrays["0"] for i in range(4)}).permanova(M, [0, 0, 1, 1])
    assert (equal.f, equal.share) == (0, 0)


def test_two_recipes_differ_as_much_as_six_seeds_can_show():
    comparison = compared(seeds_of_recipes())
    labels = [name[0] for name in comparison.rows]
    groups = comparison.permanova(M, labels, n_permutations=500)
    assert not groups.is_exact
    assert groups.pvalue == pytest.approx(1 / 501) == groups.min_pvalue
    assert groups.within < groups.between
    assert repr(groups).startswith("Permanova a (6), b (6), c (6): ")
    assert set(groups.inside) == {"a", "b", "c"}
    for pair in comparison.permanova(M, labels).pairs():
        assert pair["pvalue"] == pytest.approx(2 / math.comb(12, 6)) == pair["min_pvalue"]
        assert pair["pvalue_familywise"] == pytest.approx(3 * pair["pvalue"])


def test_the_pvalue_is_that_of_all_divisions():
    comparison = compared({str(i): x for i, x in enumerate(networks(7))})
    squares = comparison.dissimilarity(M) ** 2
    labels = np.array([0, 0, 0, 1, 1, 1, 1])

    def within(division: np.ndarray) -> float:
        blocks = (squares[np.ix_(division == g, division == g)] for g in (0, 1))
        return sum(block.sum() / 2 / len(block) for block in blocks)

    divisions = [np.isin(range(7), some) for some in itertools.combinations(range(7), 3)]
    limit = within(labels) * (1 + 1e-12)
    groups = comparison.permanova(M, labels.tolist())
    assert groups.is_exact
    assert groups.pvalue == pytest.approx(np.mean([within(~d) <= limit for d in divisions]))
    assert groups.min_pvalue == pytest.approx(1 / 35)
    drawn = [comparison.permanova(M, labels.tolist(), n_permutations=34).pvalue for _ in "ab"]
    assert drawn[0] == drawn[1]


def test_what_networks_share_changes_places_as_a_whole(subtests):
    arrays = seeds_of_recipes()
    comparison = compared({name: arrays[name] for name in arrays if name[0] in "ab"})
    recipes = {name: name[0] for name in comparison.rows}
    wholes = {name: f"base {name[0]}{int(name[1]) // 2}" for name in recipes}
    inside = {name: f"base {name[1]}" for name in recipes}
    for label, blocks, smallest in (
        ("three bases a recipe", wholes, 2 / math.comb(6, 3)),
        ("each base in both recipes", inside, 2 / 2**6),
    ):
        with subtests.test(label):
            groups = comparison.permanova(M, recipes, nested=blocks)
            assert groups.is_exact
            assert groups.pvalue == pytest.approx(smallest) == groups.min_pvalue


FIVE = {str(i): x for i, x in enumerate(networks(5))}
HALVES = [0, 0, 1, 1, 1]
MISTAKES_OF_GROUPS = [
    (lambda c: c.permanova(M, [0, 1]), "2 entries for 5"),
    (lambda c: c.permanova(M, {"0": 1}), "'1'"),
    (lambda c: c.permanova(M, [0] * 5), "two groups"),
    (lambda c: c.permanova(M, range(5)), "two networks"),
    (lambda c: c.permanova(M, [0, 0, 1, 1, np.nan]), "'4' has no label"),
    (lambda c: c.permanova(M, HALVES, n_permutations=0), "n_permutations"),
    (lambda c: c.permanova(M, HALVES, nested=HALVES), "same number of networks"),
    (lambda c: c.clusters(M, 1), "2 to 4"),
    (lambda c: c.clusters(M, 5), "2 to 4"),
    (lambda c: c.clusters(M, 2.5), "whole"),
]


def test_mistakes_with_groups_are_named(subtests):
    comparison = compared(FIVE)
    for call, words in MISTAKES_OF_GROUPS:
        with subtests.test(words), pytest.raises(ValueError, match=words):
            call(comparison)
    rectangle = rs.compare(FIVE, {"x": FIVE["0"]}, measures=M, progress=False)
    for call in (lambda: rectangle.clusters(M), lambda: rectangle.permanova(M, HALVES)):
        with pytest.raises(ValueError, match="compare"):
            call()
    broken = compared(FIVE | {"5": np.full((40, 6), np.nan)})
    with pytest.raises(ValueError, match="two groups"):  # of which one is lost to failures
        broken.permanova(M, [0, 0, 0, 0, 0, 1])
    assert broken.permanova(M, [*HALVES, 1]).names == tuple(FIVE)
