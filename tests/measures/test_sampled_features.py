"""CKA of features that are a sample: a population seen through some of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import resemblance as rs


def hsic(k: np.ndarray, l: np.ndarray) -> float:
    """The unbiased estimate, up to a factor, from its definition: kernels without diagonals."""
    n = len(k)
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))
    whole = k.sum() * l.sum() / ((n - 1) * (n - 2))
    return float(np.trace(k @ l) + whole - 2 / (n - 2) * (k.sum(axis=0) @ l.sum(axis=0)))


def between(x: np.ndarray, y: np.ndarray, *, same: bool) -> float:
    """The mean over pairs of features, of different ones within a representation."""
    pairs = itertools.product(range(x.shape[1]), range(y.shape[1]))
    values = [
        hsic(np.outer(x[:, a], x[:, a]), np.outer(y[:, b], y[:, b]))
        for a, b in pairs
        if not same or a != b
    ]
    return float(np.mean(values))


@pytest.mark.parametrize(("d", "e"), [(2, 3), (4, 2), (12, 15)])
def test_it_is_the_mean_over_pairs_of_different_features(d, e):
    rng = np.random.default_rng([d, e])
    common = rng.standard_normal((9, 2))
    x = common @ rng.standard_normal((2, d)) + 0.2 * rng.standard_normal((9, d)) + 3
    y = common @ rng.standard_normal((2, e)) + 0.2 * rng.standard_normal((9, e))
    own = between(x, x, same=True) * between(y, y, same=True)
    value = between(x, y, same=False) / own**0.5
    assert rs.cka(x, y, estimator="features") == pytest.approx(value, rel=1e-9)


def test_what_has_no_other_features_is_refused():
    x = np.random.default_rng(2).standard_normal((20, 1)) + np.eye(20, 4)
    with pytest.raises(
        rs.UndefinedError, match="needs at least 2 features; representation 'Y' has 1"
    ):
        rs.cka(x, x[:, :1], estimator="features")
    with pytest.raises(rs.UndefinedError, match="20 samples of 4 features are too few"):
        rs.cka(np.eye(20)[:, :4], x, estimator="features")
    with pytest.raises(ValueError, match="takes kernel='linear', not kernel='rbf'"):
        rs.cka(x, x, estimator="features", kernel="rbf")


def test_few_sampled_features_have_a_caveat():
    x, y = map(rs.Representation, np.random.default_rng(0).standard_normal((2, 50, 12)))
    m = rs.cka.with_parameters(estimator="features")
    assert m.range == (-np.inf, np.inf)
    assert not m.caveat(x, y)
    few = rs.Representation(y.array[:, :4])
    assert "values of 4 sampled features are too large on average" in m.caveat(x, few)
