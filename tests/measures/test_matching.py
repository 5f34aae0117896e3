"""Identities of shape distances, transport, prediction and spanning trees, against their
definitions."""

from __future__ import annotations

import math

import gudhi
import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.linalg import sqrtm
from scipy.optimize import linear_sum_assignment
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


def test_soft_matching_of_dead_units():
    zero, one = np.zeros((5, 3)), np.eye(5)
    assert rs.soft_matching(zero, np.zeros((5, 2))) == 0
    assert rs.soft_matching(zero, one) == pytest.approx(1)
    assert rs.soft_matching(zero, one, units="unit") == pytest.approx(1)


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


def scaled(points: np.ndarray) -> np.ndarray:
    apart = squareform(pdist(points))
    return apart / np.quantile(apart, 0.9)


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
