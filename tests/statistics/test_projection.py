"""Trustworthiness and continuity of projections."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.manifold import trustworthiness as scikit_learn_trustworthiness

import resemblance as rs
from resemblance.statistics import continuity, trustworthiness


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).standard_normal((300, 8))
    return X, np.tanh(X[:, :2])


def test_values_equal_scikit_learn(pair):
    X, Z = pair
    for k in (1, 5, 40):
        expected = scikit_learn_trustworthiness(X, Z, n_neighbors=k)
        assert trustworthiness(X, Z, k=k) == pytest.approx(expected, abs=1e-14)
        expected = scikit_learn_trustworthiness(Z, X, n_neighbors=k)
        assert continuity(X, Z, k=k) == pytest.approx(expected, abs=1e-14)
    assert trustworthiness(X, X) == continuity(X, X) == 1


def test_ties_have_the_mean_over_all_orders():
    # Each tied sample moves by a small step; the value with ties is the mean over all steps.
    X = np.array([[0.0], [1], [1], [2.5], [4.2], [7]])
    Z = np.array([[0.0], [3], [3], [3], [1], [9]])
    values = []
    for order in itertools.permutations(range(3)):
        for swap in (1, -1):
            x, z = X.copy(), Z.copy()
            x[1:3] += swap * np.array([[1e-6], [-1e-6]])
            z[1:4] += 1e-6 * np.array(order)[:, None]
            values.append(trustworthiness(x, z, k=2))
    assert trustworthiness(X, Z, k=2) == pytest.approx(np.mean(values), abs=1e-9)


def test_inputs_that_do_not_fit_are_refused_with_a_remedy(pair):
    X, Z = pair
    with pytest.raises(ValueError, match=r"X \(300, 8\) and the projection \(200, 2\)"):
        trustworthiness(X, Z[:200])
    with pytest.raises(rs.UndefinedError, match="at least 11 samples"):
        continuity(X[:10], Z[:10])
    assert continuity(X[:10], Z[:10], k=3) > 0
    with pytest.raises(rs.UndefinedError, match="all samples of one side are equal"):
        trustworthiness(X, np.zeros((300, 2)))
