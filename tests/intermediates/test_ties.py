"""Equally near neighbours share their places: plain definitions, and wide data with ties."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

import resemblance as rs
from resemblance.intermediates.ties import largest_with_ties


def relu(seed: int, n: int = 300) -> np.ndarray:
    """Rectified codes of which half of the rows are zero."""
    rng = np.random.default_rng(seed)
    codes = np.maximum(rng.standard_normal((n, 16)), 0)
    codes[rng.random(n) < 0.5] = 0
    return codes


def binary(seed: int, n: int = 300) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (n, 3)).astype(float)


def one_hot(seed: int, n: int = 300) -> np.ndarray:
    return np.eye(8)[np.random.default_rng(seed).integers(0, 8, n)]


means_little = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

# The first sample is as far from the second as from the third.
X = np.array([[0.0], [1.0], [-1.0], [5.0]])
Y = np.array([[0.0], [1.0], [3.0], [3.5]])  # no ties


def test_entries_at_the_edge_of_rounding_are_tied():
    """The sum of level and tolerance is rounded, so an entry that equals it may be farther from
    the level than the tolerance: it belongs to the tie all the same."""
    terms = 1.1
    tolerance = 16 * np.finfo(float).eps * terms
    levels = np.random.default_rng(0).uniform(0.1, 0.9, 1000)
    edges = levels + tolerance
    at_edge = edges - levels > tolerance
    assert at_edge.any()
    for level, edge in zip(levels[at_edge], edges[at_edge]):
        listed, ties, _ = largest_with_ties(np.array([[edge, level, level]]), 2, terms)
        assert listed.tolist() == [[0, 1]]
        assert ties.members.tolist() == [0, 1, 2]


def test_ranks_by_hand():
    assert rs.information_imbalance(X, Y) == pytest.approx(2 / 4 * (1.5 + 1 + 3 + 2) / 4)
    assert rs.information_imbalance(Y, X) == pytest.approx(2 / 4 * (1.5 + 1 + 3 + 3) / 4)
    assert rs.information_imbalance(X, X) == pytest.approx(2 / 4 * (1.5 + 1 + 1 + 1) / 4)


# -------------------------------------------------------------------------------- plain definitions


def weights(apart: np.ndarray, k: int) -> np.ndarray:
    """Membership in the k nearest of every row, dense."""
    result = np.zeros(apart.shape)
    for i, row in enumerate(apart):
        others = np.delete(np.arange(len(row)), i)
        level = np.sort(row[others])[k - 1]
        nearer, tied = others[row[others] < level], others[row[others] == level]
        result[i, nearer], result[i, tied] = 1, (k - len(nearer)) / len(tied)
    return result


def places(apart: np.ndarray, i: int, k: int) -> list[list[int]]:
    """The samples that may hold each of the k places of a row."""
    others = [j for j in range(len(apart)) if j != i]
    ordered = sorted(apart[i, others])[:k]
    return [[j for j in others if apart[i, j] == level] for level in ordered]


def mean_ranks(held: list[list[int]]) -> dict[int, float]:
    samples = {j for group in held for j in group}
    return {
        j: float(np.mean([1 + p for p, group in enumerate(held) if j in group])) for j in samples
    }


def largest_sum(held: list[list[int]], weight: float) -> float:
    """Weights over ranks of the first places that make up this weight."""
    ranks = [mean_ranks(held)[group[0]] for group in held]
    return sum(min(1.0, max(0.0, weight - p)) / rank for p, rank in enumerate(ranks))


def ranked(w: np.ndarray, a: list[list[int]], b: list[list[int]]) -> float:
    r, s = mean_ranks(a), mean_ranks(b)
    both = {j: w[j] for j in r.keys() & s.keys()}
    total = sum(both[j] * 2 / ((1 + abs(r[j] - s[j])) * (r[j] + s[j])) for j in both)
    weight = max(1.0, sum(both.values()))
    return total / sqrt(largest_sum(a, weight) * largest_sum(b, weight))


def in_order(w: np.ndarray, a: list[list[int]], b: list[list[int]]) -> float:
    """Largest weight of a set of which no two are in opposite orders, by trying all sets."""
    r, s = mean_ranks(a), mean_ranks(b)
    both = sorted(r.keys() & s.keys())
    best = 0.0
    for size in range(1, len(both) + 1):
        for chosen in combinations(both, size):
            if all((r[i] - r[j]) * (s[i] - s[j]) >= 0 for i, j in combinations(chosen, 2)):
                best = max(best, sum(w[j] for j in chosen))
    return best / len(a)


def unedited(w: np.ndarray, a: list[list[int]], b: list[list[int]]) -> float:
    @cache
    def edits(i: int, j: int) -> float:
        if i == len(a) or j == len(b):
            return float(len(a) - i + len(b) - j)
        same = len({*a[i]} & {*b[j]}) / len(a[i]) / len(b[j])
        return min(1 + edits(i + 1, j), 1 + edits(i, j + 1), 1 - same + edits(i + 1, j + 1))

    return 1 - edits(0, 0) / len(a)


def overlap(w: np.ndarray, a: list[list[int]], b: list[list[int]]) -> float:
    return float(w.sum() / (2 * len(a) - w.sum()))


def share(w: np.ndarray, a: list[list[int]], b: list[list[int]]) -> float:
    return float(w.sum() / len(a))


DEFINITIONS = {
    "mutual_knn": share, "jaccard": overlap, "rank_similarity": ranked, "lcs_knn": in_order,
    "edit_distance_knn": unedited,
}  # fmt: skip


def test_values_over_those_of_both_with_themselves(subtests):
    for name in DEFINITIONS:
        for k in [1, 3, 5]:
            with subtests.test(f"{name}, {k}"):
                for seed in range(6):
                    rng = np.random.default_rng(seed)
                    x = rng.integers(0, 3, (14, 2)).astype(float)
                    y = (
                        x + rng.integers(0, 2, (14, 2))
                        if seed % 2
                        else rng.standard_normal((14, 2))
                    )
                    apart = [cdist(z, z, "sqeuclidean") for z in (x, y)]

                    def score(first, second, k=k, name=name):
                        both = weights(first, k) * weights(second, k)
                        rows = range(len(first))
                        return np.mean(
                            [
                                DEFINITIONS[name](
                                    both[i], places(first, i, k), places(second, i, k)
                                )
                                for i in rows
                            ]
                        )

                    expected = score(*apart) / sqrt(
                        score(apart[0], apart[0]) * score(apart[1], apart[1])
                    )
                    measure = rs.get_measure(name).with_parameters(k=k, metric="euclidean")
                    assert measure(x, y) == pytest.approx(expected, rel=1e-12)
                    assert measure(x, x) == pytest.approx(1, rel=1e-12)


def returning(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Cycle consistency by trying all ways to break the ties of every sample."""
    w, apart = weights(cdist(x, x, "sqeuclidean"), k), cdist(y, y, "sqeuclidean")
    chances = []
    for i in range(len(x)):
        v = weights(apart, k)[i]
        certain, tied = np.flatnonzero(v == 1), np.flatnonzero((v > 0) & (v < 1))
        ways = list(combinations(tied, k - len(certain)))
        chances.append(np.mean([1 - np.prod(1 - w[[*certain, *chosen], i]) for chosen in ways]))
    return float(np.mean(chances))


@means_little
@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_way_back_is_the_mean_over_all_ways_to_break_ties(k):
    for seed in range(6):
        x, y = np.random.default_rng(seed).integers(0, 3, (2, 12, 2)).astype(float)
        assert rs.cycle_knn(x, y, k=k, metric="euclidean") == pytest.approx(
            returning(x, y, k), rel=1e-12
        )


@pytest.mark.parametrize("k", [1, 3, 7])
def test_information_imbalance_by_average_ranks(k):
    for seed in range(4):
        x, y = (kind(seed) for kind in (binary, relu))  # more samples than one block of rows
        for first, second in ((x, y), (y, x), (x, x)):
            w = weights(cdist(first, first, "sqeuclidean").round(9), k)
            apart = cdist(second, second, "sqeuclidean").round(9) - 1e-3 * np.eye(300)
            ranks = rankdata(apart, axis=1) - 1  # itself is the first
            expected = 2 / 300 * (w * ranks).sum() / (300 * k)
            assert rs.information_imbalance(first, second, k=k) == pytest.approx(
                expected, rel=1e-12
            )


def cosines(z: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(z, axis=1, keepdims=True)
    rows = np.divide(z, lengths, out=np.zeros_like(z), where=lengths > 0)
    return rows @ rows.T


@pytest.mark.parametrize("of", ["similarity", "distance"])
def test_second_order_cosine_of_weighted_profiles(of):
    x, y = (binary(seed, 40) for seed in range(2))
    (p, q), total = (cosines(z) for z in (x, y)), 0.0
    w, v = (weights(-part.round(9), 10) for part in (p, q))
    a, b = (part if of == "similarity" else 1 - part.round(9) for part in (p, q))
    for i in range(40):
        union = w[i] + v[i] - w[i] * v[i]
        lengths = sqrt((union * a[i] ** 2).sum() * (union * b[i] ** 2).sum())
        total += (union * a[i] * b[i]).sum() / lengths if lengths > 0 else 0
    assert rs.second_order_cosine(x, y, of=of) == pytest.approx(total / 40, rel=1e-9)


@pytest.mark.parametrize("estimator", ["biased", "debiased"])
def test_cknna_with_the_geometric_mean_of_the_weights(estimator):
    x, y = (one_hot(seed, 60) + binary(seed, 60) @ np.eye(3, 8) for seed in range(2))
    kernels = [z @ z.T for z in (x, y)]
    masks = [weights(-kernel.round(9), 10) for kernel in kernels]

    def product(k: int, l: int) -> float:
        mask = np.sqrt(masks[k] * masks[l])
        if estimator == "biased":
            centered = [kernels[i] - kernels[i].mean(axis=1, keepdims=True) for i in (k, l)]
            return float((mask * centered[0] * mask * centered[1]).sum())
        a, b, n = mask * kernels[k], mask * kernels[l], len(x)
        total = a.sum() * b.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (
            a.sum(axis=0) @ b.sum(axis=1)
        )
        return float((a * b.T).sum() + total)

    expected = product(0, 1) / sqrt(product(0, 0) * product(1, 1))
    assert rs.cknna(x, y, kernel="linear", estimator=estimator) == pytest.approx(expected, rel=1e-9)


def test_ties_among_what_the_index_proposes_are_those_of_the_exact_search():
    x = np.repeat(np.random.default_rng(0).standard_normal((100, 8)), 4, axis=0)
    y = np.repeat(np.random.default_rng(1).standard_normal((100, 8)), 4, axis=0)
    for spec in ("mutual_knn[k=2]", "jaccard[k=2]", "mka[k=2]", "lcs_knn[k=2]", "cycle_knn[k=2]"):
        measure = rs.get_measure(spec)
        assert measure(x, y, search="hnsw") == pytest.approx(measure(x, y), rel=1e-12)


# -------------------------------------------------------------------------- wide data with ties


def wide(kind: str, n: int = 200) -> np.ndarray:
    """Tied data with more columns than samples."""
    rng = np.random.default_rng(3)
    if kind == "one-hot":
        return np.eye(300)[rng.integers(0, 150, n)]
    if kind == "bags of words":
        return np.array([np.bincount(rng.zipf(1.6, 5).clip(1, 2000) - 1, minlength=2000)
                         for _ in range(n)], dtype=float)  # fmt: skip
    if kind == "fingerprints":
        bits = np.eye(1024)[rng.integers(0, 1024, n)] + np.eye(1024)[rng.integers(0, 1024, n)]
        return (bits > 0).astype(float)
    if kind == "many zero rows":
        return (rng.random((n, 400)) < 1 / 400).astype(float)
    if kind == "bits far away":
        return rng.integers(0, 2, (n, 3)).astype(float)[:, rng.integers(0, 3, 300)] + 1e6
    return 0.1 * (rng.integers(-1, 2, (n, 4)) @ rng.integers(-1, 2, (4, 500)))  # steps of 0.1


WIDE_KINDS = (
    "one-hot", "bags of words", "fingerprints", "many zero rows", "bits far away", "steps of 0.1"
)  # fmt: skip


@pytest.mark.parametrize("kind", WIDE_KINDS)
def test_equal_distances_of_wide_data_are_equal_to_the_last_digit(kind):
    y = wide(kind)
    step = 0.1 if kind == "steps of 0.1" else 1.0
    whole = np.round((y - y[0]) / step)
    lengths = (whole**2).sum(axis=1)
    exact = np.round(lengths[:, None] + lengths - 2 * whole @ whole.T).astype(int)
    found = rs.rdm(y, "sqeuclidean")
    assert np.allclose(found, step**2 * exact, rtol=1e-12, atol=1e-12)
    if step == 1:
        above = np.triu_indices(len(y), 1)
        for value in np.unique(exact):
            assert len(np.unique(found[above][exact[above] == value])) <= 1


@pytest.mark.parametrize("kind", WIDE_KINDS)
def test_rounding_of_long_sums_orders_no_equal_correlations(kind):
    """Sums of many equal products lose up to half a machine epsilon for each column, by another
    amount on another processor."""
    y, x = wide(kind), np.random.default_rng(0).standard_normal((200, 3))
    order = np.random.default_rng(1).permutation(200)
    value = rs.rsa(x, y)
    for a, b in ((x[order], y[order]), (x, y[:, ::-1]), (x, np.roll(y, 7, axis=1))):
        assert rs.rsa(a, b) == pytest.approx(value, abs=1e-12)


def test_cosine_distances_keep_their_digits_far_from_the_origin():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((30, 5)) + 1e6, rng.standard_normal((30, 40)) + 1e5

    def profiles(rows: np.ndarray) -> np.ndarray:
        units = rows.astype(np.longdouble)
        units = units / np.sqrt((units**2).sum(axis=1, keepdims=True))
        halves = ((units[:, None] - units) ** 2).sum(axis=2) / 2
        return halves[~np.eye(30, dtype=bool)].reshape(30, 29)

    a, b = profiles(x), profiles(y)
    cosines = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    value = rs.second_order_cosine(x, y, k=29, of="distance")
    assert value == pytest.approx(float(cosines.mean()), rel=1e-8)
    copies = rng.standard_normal((10, 5))[np.arange(60) % 10] * rng.uniform(0.5, 2, (60, 1))
    other = rng.standard_normal((60, 5))
    for kind in (np.float32, np.float64):  # the nearest samples of x are in the same direction
        near = rs.second_order_cosine(copies.astype(kind), copies.astype(kind), k=3, of="distance")
        assert near == 0
        assert rs.second_order_cosine(copies.astype(kind), other, k=3, of="distance") > 0.1
