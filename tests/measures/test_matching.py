"""Exact identities of shape distances, transport between units, shared dimensions, prediction and
spanning trees."""

from __future__ import annotations

import math
from itertools import pairwise

import gudhi
import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.linalg import eigh, sqrtm
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import resemblance as rs
from resemblance.intermediates import _transport

SHAPES = [(50, 6, 6), (50, 4, 9), (20, 30, 25), (12, 30, 5)]


@pytest.fixture(params=SHAPES, ids=str)
def pair(request) -> tuple[np.ndarray, np.ndarray]:
    n, d, e = request.param
    rng = np.random.default_rng(n + d)
    x = rng.standard_normal((n, d)) + rng.uniform(1, 2, d)
    y = x[:, : min(d, e)] @ rng.standard_normal((min(d, e), e)) + rng.standard_normal((n, e))
    return x, y


def centered(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=0)


def gram(x: np.ndarray) -> np.ndarray:
    return centered(x) @ centered(x).T


def psd_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = eigh(matrix)
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T


def fidelity(k: np.ndarray, l: np.ndarray) -> float:
    root = psd_root(k)
    return float(np.trace(psd_root(root @ l @ root)))


# ------------------------------------------------------------------------------------ Gram matrices


def test_nbs_is_the_fidelity_of_gram_matrices_and_the_cosine_of_the_angular_shape(pair):
    k, l = map(gram, pair)
    # 1e-6: roots of the rounding errors of zero eigenvalues
    assert rs.nbs(*pair) == pytest.approx(
        fidelity(k, l) / np.sqrt(np.trace(k) * np.trace(l)), rel=1e-6
    )
    assert rs.nbs(*pair) == pytest.approx(math.cos(rs.angular_shape(*pair)), rel=1e-12)
    assert rs.nbs(*pair) == pytest.approx(1 - rs.procrustes(*pair) ** 2 / 2, rel=1e-12)


def test_bures_is_the_distance_of_gram_matrices_and_the_procrustes_distance(pair):
    k, l = map(gram, pair)
    squared = np.trace(k) + np.trace(l) - 2 * fidelity(k, l)
    assert rs.bures(*pair) ** 2 == pytest.approx(squared, rel=1e-5)
    assert rs.bures(*pair) == rs.procrustes_size_shape(*pair)
    k, l = k / np.trace(k), l / np.trace(l)
    assert rs.procrustes(*pair) ** 2 == pytest.approx(2 - 2 * fidelity(k, l), rel=1e-5)


def shrunk(x: np.ndarray, shrinkage: float) -> np.ndarray:
    k = gram(x)
    return (1 - shrinkage) * len(k) * k / np.trace(k) + shrinkage * np.eye(len(k))


def test_riemannian_is_the_norm_of_log_generalised_eigenvalues(pair, subtests):
    for shrinkage in [0.001, 0.1, 0.9]:
        with subtests.test(str(shrinkage)):
            k, l = (shrunk(z, shrinkage) for z in pair)
            expected = np.linalg.norm(np.log(eigh(k, l, eigvals_only=True)))
            assert rs.riemannian(*pair, shrinkage=shrinkage) == pytest.approx(expected, rel=1e-9)
            assert rs.riemannian(*pair, shrinkage=1) == pytest.approx(0, abs=1e-12)


def test_riemannian_of_gram_matrices_with_the_same_eigenvectors(rng):
    basis = np.linalg.qr(centered(rng.standard_normal((30, 4))))[0]
    a, b = rng.uniform(0.5, 2, (2, 4))
    eigenvalues = [0.8 * 30 * s**2 / (s**2).sum() + 0.2 for s in (a, b)]
    expected = np.linalg.norm(np.log(eigenvalues[0] / eigenvalues[1]))
    assert rs.riemannian(basis * a, basis * b, shrinkage=0.2) == pytest.approx(expected, rel=1e-10)


def test_ensd_is_cka_in_units_of_dimensions(pair):
    k, l = map(gram, pair)
    ratios = [np.trace(g) ** 2 / (g**2).sum() for g in (k, l)]
    assert rs.ensd(*pair) == pytest.approx(
        rs.cka(*pair) * math.sqrt(ratios[0] * ratios[1]), rel=1e-12
    )
    assert rs.ensd(pair[0], pair[0]) == pytest.approx(ratios[0], rel=1e-12)


def test_ensd_counts_the_shared_dimensions(rng):
    basis = np.linalg.qr(centered(rng.standard_normal((40, 7))))[0]
    assert rs.ensd(basis[:, :5], 3 * basis[:, 2:]) == pytest.approx(3)
    assert rs.ensd(basis[:, :3], basis[:, 3:]) == pytest.approx(0, abs=1e-12)
    # It shares more with the first column than that is worth.
    rich = basis * np.array([1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert (
        rs.ensd(basis[:, :1], rich)
        > 1.5 * rs.ensd(basis[:, :1], basis[:, :1])
        == pytest.approx(1.5)
    )


# -------------------------------------------------------------------------------- partial whitening


def half_white(x: np.ndarray, alpha: float) -> np.ndarray:
    """The definition, for full column rank."""
    x = centered(x) * np.sqrt(x.shape[1]) / np.linalg.norm(centered(x))
    x = x @ (alpha * np.eye(x.shape[1]) + (1 - alpha) * np.linalg.inv(sqrtm(x.T @ x).real))
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("pair", SHAPES[:2], ids=str, indirect=True)
def test_shape_by_its_definition(pair, subtests):
    for alpha in [0, 0.3, 0.5, 0.99, 1]:
        with subtests.test(str(alpha)):
            x, y = (half_white(z, alpha) for z in pair)
            expected = np.arccos(np.linalg.svd(x.T @ y, compute_uv=False).sum())
            assert rs.shape_distance(*pair, alpha=alpha) == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_shape_interpolates_between_procrustes_and_cca(pair):
    assert rs.shape_distance(*pair, alpha=1) == pytest.approx(
        rs.angular_shape(*pair), rel=1e-10, abs=1e-14
    )
    ranks = [np.linalg.matrix_rank(centered(z)) for z in pair]
    correlations = rs.mean_cca(*pair) * min(ranks)
    cosine = math.cos(rs.shape_distance(*pair, alpha=0))
    assert cosine == pytest.approx(correlations / math.sqrt(ranks[0] * ranks[1]), rel=1e-10)
    assert rs.shape_distance(*pair, alpha=1e-9) == pytest.approx(
        rs.shape_distance(*pair, alpha=0), abs=1e-6
    )
    assert rs.shape_distance(*pair, alpha=1 - 1e-9) == pytest.approx(
        rs.shape_distance(*pair, alpha=1), abs=1e-6
    )


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_small_angles_keep_their_digits(alpha, rng):
    x, noise = rng.standard_normal((2, 40, 5))
    angles = [
        rs.shape_distance(x, x + step * noise, alpha=alpha) / step for step in (1e-3, 1e-6, 1e-9)
    ]
    assert angles[0] == pytest.approx(angles[1], rel=1e-2)
    assert angles[2] == pytest.approx(angles[1], rel=1e-5)
    assert (
        rs.shape_distance(x, x @ np.linalg.qr(rng.standard_normal((5, 5)))[0], alpha=alpha) < 1e-12
    )


# ------------------------------------------------------------------------------------ soft matching


def test_soft_matching_of_equal_widths_is_permutation_procrustes_and_hard_matching(rng):
    x, y = rng.standard_normal((2, 30, 8)) + 0.5
    assert rs.soft_matching(x, y) == pytest.approx(
        rs.permutation_procrustes(x, y) / math.sqrt(8), rel=1e-12
    )
    squared = 2 - 2 * rs.hard_correlation_match(x, y)
    assert rs.soft_matching(x, y, units="unit") ** 2 == pytest.approx(squared, rel=1e-12)
    assert rs.soft_matching(x, x[:, rng.permutation(8)]) == 0


@pytest.mark.parametrize(("d", "e"), [(4, 9), (6, 4), (12, 5), (1, 7)])
def test_soft_matching_of_different_widths_is_the_matching_of_copies(d, e, rng):
    """Every neuron as often as it takes to make the widths equal."""
    x, y = rng.standard_normal((15, d)), rng.standard_normal((15, e))
    copies = math.lcm(d, e)
    a, b = np.repeat(x, copies // d, axis=1), np.repeat(y, copies // e, axis=1)
    cost = ((a[:, :, None] - b[:, None, :]) ** 2).sum(axis=0)
    best = cost[linear_sum_assignment(cost)].sum() / copies
    assert rs.soft_matching(x, y) == pytest.approx(math.sqrt(best), rel=1e-12)
    assert rs.soft_matching(a, b) == pytest.approx(math.sqrt(best), rel=1e-12)
    assert rs.soft_matching(x, np.hstack([x, x])) == 0


def test_plans_of_both_solvers_cost_the_same(rng, subtests, monkeypatch):
    """Also with ties, where there are several plans, and without POT."""
    shapes = {"any": (48, 64), "one more": (50, 51), "few and many": (2, 300), "one": (1, 5)}
    costs = {name: rng.random(shape) for name, shape in shapes.items()}
    costs |= {"ties": rng.integers(3, size=(30, 42)) + 0.0, "nothing": np.zeros((6, 9))}
    for name, cost in costs.items():
        with subtests.test(name):
            totals = []
            for least, installed in ((0, True), (0, False), (10**9, True)):
                monkeypatch.setattr(_transport, "MIN_UNKNOWNS_FOR_POT", least)
                monkeypatch.setattr(_transport, "find_spec", lambda name, known=installed: known)
                rows, columns, masses = _transport.transport_plan(cost)
                for places, units in ((rows, len(cost)), (columns, cost.shape[1])):
                    sums = np.bincount(places, masses, units)
                    np.testing.assert_allclose(sums, 1 / units, rtol=1e-12)
                totals.append((cost[rows, columns] * masses).sum())
            np.testing.assert_allclose(totals, totals[0], rtol=1e-12)


def test_soft_matching_on_a_line_is_the_distance_of_sorted_values(rng):
    """One sample tells the neurons apart: the plan of least cost keeps their order."""
    values = [np.sort(rng.standard_normal(w)) for w in (6, 8)]
    x, y = (np.stack([v, 0 * v]) for v in values)
    a, b = np.repeat(values[0], 4), np.repeat(values[1], 3)
    assert rs.soft_matching(x, y) == pytest.approx(np.sqrt(np.mean((a - b) ** 2)), rel=1e-12)


def test_soft_matching_of_dead_units():
    zero, one = np.zeros((5, 3)), np.eye(5)
    assert rs.soft_matching(zero, np.zeros((5, 2))) == 0
    assert rs.soft_matching(zero, one) == pytest.approx(1)
    assert rs.soft_matching(zero, one, units="unit") == pytest.approx(1)


# --------------------------------------------------------------------------------------- prediction


def test_linear_predictivity_is_ridge_regression_with_one_sample_left_out(pair):
    x, y = (centered(z) / np.linalg.norm(centered(z)) for z in pair)
    base = sum(((y[i] - np.delete(y, i, axis=0).mean(axis=0)) ** 2).sum() for i in range(len(y)))
    errors = []
    for ridge in 10.0 ** np.arange(-6, 1):
        model = Ridge(alpha=ridge, solver="svd")
        left_out = cross_val_predict(model, x, y, cv=LeaveOneOut())
        errors.append(((y - left_out) ** 2).sum())
    assert rs.linear_predictivity(*pair) == pytest.approx(
        max(0, 1 - min(errors) / base), rel=1e-6, abs=1e-9
    )


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_linear_predictivity_is_one_for_linear_maps_and_near_zero_for_noise(rng):
    x = rng.standard_normal((60, 10))
    assert rs.linear_predictivity(x, x @ rng.standard_normal((10, 3)) + 2) == pytest.approx(
        1, abs=1e-6
    )
    x, y = rng.standard_normal((2, 60, 50))
    assert rs.linear_regression(x, y) > 0.8
    assert rs.linear_predictivity(x, y) < 0.02
    # One sample predicts a constant.
    assert rs.linear_predictivity(x[:2], y[:2]) == pytest.approx(0, abs=1e-9)


# ----------------------------------------------------------------------------------- spanning trees


def scaled(points: np.ndarray) -> np.ndarray:
    apart = squareform(pdist(points))
    return apart / np.quantile(apart, 0.9)


def clusters(apart: np.ndarray, t: float) -> int:
    return int(connected_components(apart <= t)[0])


def test_rtd_lite_counts_the_clusters_that_merge_over_all_scales(rng):
    """The integral over t of the number of clusters of one minus that of both joined, over all
    jumps."""
    x, y = rng.standard_normal((14, 3)), rng.standard_normal((14, 2))
    a, b = scaled(x), scaled(y)
    joined, total = np.minimum(a, b), 0.0
    steps = np.unique(np.concatenate([[0], a.ravel(), b.ravel()]))
    for t, following in pairwise(steps):
        mean = (clusters(a, t) + clusters(b, t)) / 2
        total += (following - t) * (mean - clusters(joined, t))
    assert rs.rtd_lite(x, y) == pytest.approx(total, rel=1e-10)


def h0(apart: np.ndarray) -> float:
    """Total length of the finite bars of H0 of the Vietoris-Rips complex, by gudhi."""
    tree = gudhi.RipsComplex(distance_matrix=apart).create_simplex_tree(max_dimension=1)
    tree.compute_persistence()
    bars = tree.persistence_intervals_in_dimension(0)
    return float(bars[np.isfinite(bars[:, 1]), 1].sum())


@pytest.mark.parametrize("n", [2, 3, 10, 60])
@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_rtd_lite_from_bars_of_gudhi_and_single_linkage(n, rng):
    x, y = rng.standard_normal((n, 4)), rng.standard_normal((n, 3))
    a, b = scaled(x), scaled(y)
    joined = np.minimum(a, b)
    assert rs.rtd_lite(x, y) == pytest.approx((h0(a) + h0(b)) / 2 - h0(joined), rel=1e-6, abs=1e-12)
    trees = [linkage(squareform(w, checks=False), "single")[:, 2].sum() for w in (a, b, joined)]
    assert rs.rtd_lite(x, y) == pytest.approx(
        (trees[0] + trees[1]) / 2 - trees[2], rel=1e-10, abs=1e-12
    )


def test_rtd_lite_is_the_part_of_rtd_that_is_clusters(rng):
    for _ in range(10):
        x, y = rng.standard_normal((2, 25, 3))
        assert 0 < rs.rtd_lite(x, y) <= rs.rtd(x, y)
        three = x[:3], y[:3]  # three points span no loop
        assert rs.rtd_lite(*three) == pytest.approx(rs.rtd(*three), rel=1e-12, abs=1e-14)


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")  # of copies, as meant
def test_rtd_lite_sees_clusters_and_nothing_else(rng):
    x = rng.standard_normal((30, 2))
    turned = 3 * x @ np.linalg.qr(rng.standard_normal((2, 2)))[0] + 7
    assert rs.rtd_lite(x, x) == 0
    assert rs.rtd_lite(x, turned) == pytest.approx(0, abs=1e-12)
    duplicates = np.tile(x[:6], (5, 1))
    assert rs.rtd_lite(duplicates, x) > rs.rtd_lite(x, x + 0.01 * rng.standard_normal(x.shape))


def test_rtd_lite_of_subsets_is_their_seeded_mean(rng):
    from resemblance.intermediates.samples import subset_indices

    x, y = rng.standard_normal((2, 40, 3))
    rows = [subset_indices(40, 15, 1, trial) for trial in range(3)]
    expected = np.mean([rs.rtd_lite(x[i], y[i]) for i in rows])
    assert rs.rtd_lite(x, y, subsample=15, repeats=3, seed=1) == pytest.approx(expected, rel=1e-12)
    assert rs.rtd_lite(x, y, subsample=15, repeats=3) != rs.rtd_lite(
        x, y, subsample=15, repeats=3, seed=1
    )
    assert rs.rtd_lite(x, y, subsample=40, repeats=3) == rs.rtd_lite(x, y)
