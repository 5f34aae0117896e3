"""Linear measures from the products that a pair shares, against their definitions: where inverses
of singular values are used, where they would cost digits, and on both sides of that."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import resemblance as rs

RNG = np.random.default_rng(8)
N = 60


def conditioned(kappa: float, d: int = 8, shift: float = 1.0) -> np.ndarray:
    """Points of this condition number, around a mean row."""
    u, _, vt = np.linalg.svd(RNG.standard_normal((N, d)), full_matrices=False)
    return (u * np.geomspace(1, 1 / kappa, d)) @ vt + shift * RNG.standard_normal(d)


def basis(x: np.ndarray) -> np.ndarray:
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    return u[:, s > max(x.shape) * np.finfo(float).eps * s[0]]


def centered(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=0)


KAPPAS = [1.0, 1e2, 1e4, 1e6]


@pytest.mark.parametrize("kappa", KAPPAS)
def test_linear_regression_by_its_definition(kappa):
    x, y = conditioned(kappa), RNG.standard_normal((N, 5)) + conditioned(3.0, d=5)
    residual = y - y.mean(axis=0)
    explained = basis(centered(x)).T @ residual
    expected = (explained**2).sum() / (residual**2).sum()
    assert rs.linear_regression(x, y) == pytest.approx(expected, rel=1e-15 * max(kappa, 1e3))
    assert rs.linear_regression(x, x @ RNG.standard_normal((8, 8))) == pytest.approx(1, abs=1e-12)


def test_eigenspace_overlap_by_its_definition(subtests):
    for shift in [0.0, 1e-6, 1.0, 1e3]:
        for kappa in KAPPAS:
            with subtests.test(f"{shift}, {kappa}"):
                x, y = conditioned(kappa, shift=shift), conditioned(2.0, d=5, shift=shift)
                expected = np.linalg.norm(basis(x).T @ basis(y)) ** 2 / 8
                bound = 1e-14 * max(kappa, 1) * max(shift, 1)
                assert rs.eigenspace_overlap(x, y) == pytest.approx(expected, rel=1e-12 + bound)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.hstack([x, x[:, :1]]),  # a repeated column
        lambda x: np.hstack([x, np.zeros((N, 1))]),  # a dead one
        lambda x: np.hstack([x, np.ones((N, 1))]),  # the constant is among the columns
        lambda x: np.ones((N, 1)) * x[:1],  # only the constant
        lambda x: np.hstack([x] * 9),  # wider than n
    ],
)
def test_eigenspace_overlap_of_columns_that_depend_on_each_other(change):
    x, y = change(conditioned(3.0)), conditioned(3.0)
    for a, b in ((x, y), (y, x), (x, x)):
        expected = np.linalg.norm(basis(a).T @ basis(b)) ** 2 / max(a.shape[1], b.shape[1])
        assert rs.eigenspace_overlap(a, b) == pytest.approx(expected, rel=1e-12)


def regular(points, shrinkage):
    points = centered(points) / np.linalg.norm(centered(points))
    return (1 - shrinkage) * N * points @ points.T + shrinkage * np.eye(N)


def test_riemannian_by_its_definition(subtests):
    """Also where both share directions, or nearly."""
    for shrinkage in [0.1, 1e-3]:
        for noise in [1.0, 1e-2, 1e-5, 1e-8, 0.0]:
            for shared in [0, 1, 6]:
                with subtests.test(f"{shrinkage}, {noise}, {shared}"):
                    x, y = conditioned(3.0, d=6), conditioned(3.0, d=7)
                    y[:, :shared] = x[:, :shared] + noise * y[:, :shared]
                    k, l = regular(x, shrinkage), regular(y, shrinkage)
                    expected = np.linalg.norm(np.log(scipy.linalg.eigvalsh(l, k)))
                    value = rs.riemannian(x, y, shrinkage=shrinkage)
                    assert value == pytest.approx(expected, rel=1e-9)
                    assert rs.riemannian(x, x @ np.linalg.qr(RNG.standard_normal((6, 6)))[0]) < 1e-9
