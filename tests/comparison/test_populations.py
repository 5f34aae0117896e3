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
    return rs.compare(arrays, measures="procrustes_size_shape", progress=False)


# ---------------------------------------------------------------------------------------- means


def test_the_mean_of_two_is_halfway() -> None:
    x, y = networks(2, d=5)
    mean = rs.mean_shape([x, y])
    apart = distance(x, y)
    assert distance(x, mean) == pytest.approx(apart / 2, rel=1e-7)
    assert distance(mean, y) == pytest.approx(apart / 2, rel=1e-7)


def test_three_directions_need_a_mean_that_is_wider_than_they_are() -> None:
    turns = (0, 2 * np.pi / 3, 4 * np.pi / 3)
    # Rows and their negatives: centred, so the rows of each are a direction of the plane.
    points = [np.array([[np.cos(t)], [np.sin(t)], [-np.cos(t)], [-np.sin(t)]]) for t in turns]
    assert variance(points, rs.mean_shape(points, width=1)) == pytest.approx(2 * 5 / 9)
    wide = rs.mean_shape(points)
    assert wide.shape == (4, 2)
    assert variance(points, wide) == pytest.approx(2 * 1 / 2)


def test_the_variance_around_the_mean_agrees_with_the_golden_values() -> None:
    # Rows and their negatives are centred, and double the squares.
    inputs = [np.concatenate([x, -x]) for x in golden_networks()]
    narrow, wide = rs.mean_shape(inputs, width=6), rs.mean_shape(inputs)
    assert variance(inputs, narrow) == pytest.approx(2 * GOLDEN["width 6"], rel=1e-8)
    assert variance(inputs, wide) == pytest.approx(2 * GOLDEN["any width"], rel=1e-8)
    best = min(variance(inputs, x) for x in inputs)
    assert GOLDEN["any width"] < GOLDEN["width 6"] < GOLDEN["netrep"] < best / 2


def test_the_mean_does_not_depend_on_rotations_order_or_a_common_scale() -> None:
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


def test_aligned_is_the_nearest_turned_copy() -> None:
    x, target = networks(2)
    near = rs.align(rs.Representation(x, "x", ids=range(40)), target)
    assert (near.name, near.ids) == ("x", tuple(range(40)))
    centered = target - target.mean(axis=0)
    assert np.linalg.norm(near.array - centered) == pytest.approx(distance(x, target))
    for a, b in ((x[:, :3], target), (x, target[:, :3])):
        near = rs.align(a, b)
        wide = np.pad(b - b.mean(axis=0), ((0, 0), (0, near.shape[1] - b.shape[1])))
        assert np.linalg.norm(near.array - wide) == pytest.approx(distance(a, b))
        assert distance(near, a) == pytest.approx(0, abs=1e-6)


def test_mistakes_with_means_have_errors_that_lead(subtests: Any) -> None:
    x, y = networks(2)
    shifted = rs.Representation(y, "y", ids=range(1, 41))
    mistakes: dict[str, tuple[Any, str]] = {
        "one network": (lambda: rs.mean_shape([x]), "two"),
        "other samples": (lambda: rs.mean_shape([x, y[:30]]), r"\(30, 6\)"),
        "other ids": (
            lambda: rs.mean_shape([rs.Representation(x, "x", ids=range(40)), shifted]),
            "'y'",
        ),
        "no width": (lambda: rs.mean_shape([x, y], width=0), "width"),
        "too wide": (lambda: rs.mean_shape([x, y], width=41), "41"),
        "to other samples": (lambda: rs.align(x, y[:30]), r"\(30, 6\)"),
        "NaN": (lambda: rs.mean_shape([x, np.where(y > 2, np.nan, y)]), "NaN"),
    }
    for label, (call, words) in mistakes.items():
        with subtests.test(label), pytest.raises(ValueError, match=words):
            call()


def test_the_mean_of_constant_networks_is_constant() -> None:
    mean = rs.mean_shape([np.ones((5, 2)), np.zeros((5, 3))], width=2)
    np.testing.assert_array_equal(mean.array, np.zeros((5, 2)))


# ------------------------------------------------------------------------------------- clusters


def test_clusters_are_the_recipes() -> None:
    comparison = compared(seeds_of_recipes())
    clusters = comparison.clusters("procrustes_size_shape")
    assert len(clusters.by_k) == 9
    assert [len(set(clusters.labels[at : at + 6])) for at in (0, 6, 12)] == [1, 1, 1]
    assert sorted(name[0] for name in clusters.medoids) == ["a", "b", "c"]
    differences = comparison.dissimilarity("procrustes_size_shape") * (1 - np.eye(18))
    expected = silhouette_samples(differences, clusters.labels, metric="precomputed")
    np.testing.assert_allclose(clusters.silhouette, expected)
    assert clusters.records()[0]["name"] == "a0"
    assert repr(clusters).startswith("3 clusters around a")


def test_medoids_have_the_least_cost_of_all(subtests: Any) -> None:
    plane = np.random.default_rng(8).random((16, 2))
    apart = np.linalg.norm(plane[:, None] - plane, axis=-1)
    for k in (2, 3, 4):
        with subtests.test(str(k)):
            costs = [
                apart[:, list(some)].min(axis=1).sum()
                for some in itertools.combinations(range(16), k)
            ]
            medoids = find_medoids(apart, k)
            assert apart[:, medoids].min(axis=1).sum() == pytest.approx(min(costs))


def test_similarities_are_clustered_by_their_differences() -> None:
    comparison = rs.compare(seeds_of_recipes(), measures="cka", progress=False)
    assert len(set(comparison.clusters("cka", 3).labels)) == 3


def test_equal_representations_have_clusters_of_their_own() -> None:
    x, y = networks(2)
    clusters = compared({"a": x, "b": x, "c": y, "d": y}).clusters("procrustes_size_shape", 3)
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


def test_f_is_that_of_an_analysis_of_variance() -> None:
    from scipy.stats import f_oneway

    rng = np.random.default_rng(5)
    points, labels = rng.standard_normal(12), np.repeat([0, 1, 2], 4)
    # The distance of two points of a line, as the size and shape of pairs (v, -v).
    arrays = {str(i): np.array([[v + 9], [-v - 9]]) for i, v in enumerate(points)}
    groups = compared(arrays).permanova("procrustes_size_shape", labels)
    expected = f_oneway(*(points[labels == g] for g in range(3))).statistic
    assert groups.f == pytest.approx(expected)
    total = ((points - points.mean()) ** 2).sum()
    within = sum(((points[labels == g] - points[labels == g].mean()) ** 2).sum() for g in range(3))
    assert groups.share == pytest.approx(1 - within / total)


def test_two_recipes_differ_as_much_as_six_seeds_can_show() -> None:
    comparison = compared(seeds_of_recipes())
    labels = [name[0] for name in comparison.rows]
    groups = comparison.permanova("procrustes_size_shape", labels, n_permutations=500)
    assert not groups.is_exact
    assert groups.pvalue == pytest.approx(1 / 501) == groups.min_pvalue
    assert groups.within < groups.between
    assert repr(groups).startswith("Permanova a (6), b (6), c (6): ")
    assert set(groups.inside) == {"a", "b", "c"}
    for pair in comparison.permanova("procrustes_size_shape", labels).pairs():
        assert pair["pvalue"] == pytest.approx(2 / math.comb(12, 6)) == pair["min_pvalue"]
        assert pair["pvalue_familywise"] == pytest.approx(3 * pair["pvalue"])


def test_the_pvalue_is_that_of_all_divisions() -> None:
    arrays = {str(i): x for i, x in enumerate(networks(7))}
    comparison = compared(arrays)
    squares = comparison.dissimilarity("procrustes_size_shape") ** 2
    labels = np.array([0, 0, 0, 1, 1, 1, 1])

    def within(division: np.ndarray) -> float:
        blocks = (squares[np.ix_(division == g, division == g)] for g in (0, 1))
        return sum(block.sum() / 2 / len(block) for block in blocks)

    divisions = [np.isin(range(7), some) for some in itertools.combinations(range(7), 3)]
    observed = within(labels)
    expected = np.mean([within(~division) <= observed * (1 + 1e-12) for division in divisions])
    groups = comparison.permanova("procrustes_size_shape", labels.tolist())
    assert groups.is_exact
    assert groups.pvalue == pytest.approx(expected)
    assert groups.min_pvalue == pytest.approx(1 / 35)
    drawn = comparison.permanova("procrustes_size_shape", labels.tolist(), n_permutations=34)
    assert (
        drawn.pvalue
        == comparison.permanova("procrustes_size_shape", labels.tolist(), n_permutations=34).pvalue
    )


def test_what_networks_share_changes_places_as_a_whole(subtests: Any) -> None:
    arrays = seeds_of_recipes()
    comparison = compared({name: arrays[name] for name in arrays if name[0] in "ab"})
    names = comparison.rows
    wholes = {name: f"base {name[0]}{int(name[1]) // 2}" for name in names}
    inside = {name: f"base {name[1]}" for name in names}
    for label, blocks, smallest in (
        ("three bases a recipe", wholes, 2 / math.comb(6, 3)),
        ("each base in both recipes", inside, 2 / 2**6),
    ):
        with subtests.test(label):
            groups = comparison.permanova(
                "procrustes_size_shape", {name: name[0] for name in names}, nested=blocks
            )
            assert groups.is_exact
            assert groups.pvalue == pytest.approx(smallest) == groups.min_pvalue


def test_equal_groups_are_found_different_as_seldom_as_stated() -> None:
    pvalues = [
        compared({str(i): x for i, x in enumerate(networks(8, n=12, d=2, seed=seed))})
        .permanova("procrustes_size_shape", [0] * 4 + [1] * 4)
        .pvalue
        for seed in range(60)
    ]
    # All values of p are multiples of 2/70, each as likely.
    assert np.mean(pvalues) == pytest.approx(0.5, abs=0.12)
    assert np.mean(np.array(pvalues) <= 0.1) <= 0.2


def test_mistakes_with_groups_have_errors_that_lead(subtests: Any) -> None:
    arrays = {str(i): x for i, x in enumerate(networks(5))}
    comparison = compared(arrays)
    m = "procrustes_size_shape"
    broken = compared(arrays | {"5": np.full((40, 6), np.nan)})
    rectangle = rs.compare(arrays, {"x": arrays["0"]}, measures=m, progress=False)
    mistakes: dict[str, tuple[Any, str]] = {
        "too few labels": (lambda: comparison.permanova(m, [0, 1]), "2 entries for 5"),
        "a name without label": (lambda: comparison.permanova(m, {"0": 1}), "'1'"),
        "one group": (lambda: comparison.permanova(m, [0] * 5), "two groups"),
        "groups of one": (lambda: comparison.permanova(m, range(5)), "two networks"),
        "a missing label": (
            lambda: comparison.permanova(m, [0, 0, 1, 1, np.nan]),
            "'4' has no label",
        ),
        "no draws": (
            lambda: comparison.permanova(m, [0, 0, 1, 1, 1], n_permutations=0),
            "n_permutations",
        ),
        "unequal blocks": (
            lambda: comparison.permanova(m, [0, 0, 1, 1, 1], nested=[0, 0, 1, 1, 1]),
            "as many networks",
        ),
        "a group lost to failures": (lambda: broken.permanova(m, [0, 0, 0, 0, 0, 1]), "two groups"),
        "one cluster": (lambda: comparison.clusters(m, 1), "2 to 4"),
        "a cluster each": (lambda: comparison.clusters(m, 5), "2 to 4"),
        "a half": (lambda: comparison.clusters(m, 2.5), "whole"),
        "a rectangle": (lambda: rectangle.clusters(m), "compare"),
        "groups of a rectangle": (lambda: rectangle.permanova(m, [0, 0, 1, 1, 1]), "compare"),
    }
    for label, (call, words) in mistakes.items():
        with subtests.test(label), pytest.raises(ValueError, match=words):
            call()
    assert broken.permanova(m, [0, 0, 1, 1, 1, 1]).names == ("0", "1", "2", "3", "4")
