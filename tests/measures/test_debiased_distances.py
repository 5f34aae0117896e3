"""Debiased and partial distance correlation: the definitions of Székely and Rizzo, and the values
in the documentation of dcor."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import resemblance as rs

DEBIASED = rs.distance_correlation.with_parameters(estimator="debiased")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 4))
Y = X[:, :2] @ RNG.standard_normal((2, 5)) + RNG.standard_normal((50, 5))
Z = X[:, :1] + RNG.standard_normal((50, 3))


def u_centered(x: np.ndarray) -> np.ndarray:
    """Székely and Rizzo 2014, Definition 2."""
    d, n = cdist(x, x), len(x)
    sums = d.sum(axis=0)
    a = d - (sums[:, None] + sums) / (n - 2) + d.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(a, 0)
    return a


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def test_the_debiased_value_is_the_correlation_of_u_centered_distances():
    assert DEBIASED(X, Y) == pytest.approx(cosine(u_centered(X), u_centered(Y)), rel=1e-10)
    assert DEBIASED.with_parameters(squared=True)(X, Y) == DEBIASED(X, Y)
    assert DEBIASED(X, 3 - 2 * X) == pytest.approx(1)


def test_the_partial_value_is_the_cosine_of_residuals():
    a, b, c = map(u_centered, (X, Y, Z))
    a, b = (m - c * (m * c).sum() / (c * c).sum() for m in (a, b))
    assert rs.partial_distance_correlation(X, Y, Z) == pytest.approx(cosine(a, b), rel=1e-10)
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(x) for x in (X, Y, Z)]
    assert float(rs.partial_distance_correlation(*tensors)) == pytest.approx(cosine(a, b))


def test_the_examples_of_dcor():
    a, b = np.arange(1.0, 17).reshape(4, 4), np.array([[1.0], [0], [0], [1]])
    values = [DEBIASED(a, a), DEBIASED(a, b), DEBIASED(b, b)]
    assert values == pytest.approx([1.0, -0.5, 1.0])
    a, b, c = (np.array([r]).T for r in ([1, 1, 2, 2, 3], [1, 2, 1, 2, 1], [1, 2, 2, 1, 2]))
    values = [rs.partial_distance_correlation(*xyz) for xyz in ((a, a, c), (a, b, c), (b, b, c))]
    assert values == pytest.approx([1.0, -0.5, 1.0])


@pytest.mark.parametrize("spec", [DEBIASED.spec, "cka[estimator=features]"])
def test_exact_moments_are_those_of_permutations(spec):
    n = 30
    x, y = X[:n], Y[:n]
    exact = rs.evidence({"x": x}, {"y": y}, measures=spec, progress=False)
    drawn = rs.evidence(
        {"x": x}, {"y": y}, measures=spec, null="permutations", n_permutations=999, progress=False
    )
    assert exact.null_method(spec) == "exact moments"
    assert exact.chance(spec)[0, 0] == pytest.approx(0, abs=1e-12)
    assert drawn.chance(spec)[0, 0] == pytest.approx(0, abs=0.02)
    assert exact.chance_std(spec)[0, 0] == pytest.approx(drawn.chance_std(spec)[0, 0], rel=0.1)


MISTAKES = [
    (lambda: DEBIASED(X[:3], Y[:3]), "at least 4 samples; got 3"),
    (lambda: DEBIASED(X, 0 * Y), "constant"),
    (lambda: DEBIASED(np.eye(6), Y[:6]), "do not differ beyond the means"),
    (
        lambda: rs.partial_distance_correlation(X, Y, Z[:20]),
        r"X \(50, 4\), Y \(50, 5\) and Z \(20, 3\)",
    ),
    (lambda: rs.partial_distance_correlation(X, Y, X), "leave Z out"),
    (lambda: rs.distance_correlation(X, Y, estimator="unbiased"), "'biased' or 'debiased'"),
]


def test_mistakes_are_named(subtests):
    for call, words in MISTAKES:
        with subtests.test(words), pytest.raises(ValueError, match=words):
            call()
