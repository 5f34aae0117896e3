"""Neural collapse, NC1 to NC4."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist, pdist

import resemblance as rs
from resemblance.statistics import nc1, nc2_angles, nc2_norms, nc3, nc4


@pytest.fixture
def classes() -> tuple[np.ndarray, np.ndarray, torch.nn.Linear]:
    """80 samples of 4 classes in 6 features, and a classifier."""
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 4
    torch.manual_seed(0)
    X = 2 * rng.standard_normal((4, 6))[labels] + rng.standard_normal((80, 6)) + 3
    return X, labels, torch.nn.Linear(6, 4)


def test_neural_collapse_by_its_definition(classes):
    X, labels, classifier = classes
    mu = np.stack([X[labels == c].mean(axis=0) for c in range(4)])
    centred = mu - mu.mean(axis=0)
    within = np.cov((X - mu[labels]).T, bias=True)
    between = np.cov(mu.T, bias=True)
    expected = np.trace(within @ np.linalg.pinv(between)) / 4
    assert nc1(X, labels) == pytest.approx(expected, rel=1e-10)
    norms = np.linalg.norm(centred, axis=1)
    assert nc2_norms(X, labels) == pytest.approx(norms.std() / norms.mean(), rel=1e-12)
    cosines = 1 - pdist(centred, "cosine")
    assert nc2_angles(X, labels) == pytest.approx(np.abs(cosines + 1 / 3).mean(), rel=1e-12)
    W, b = (p.detach().numpy().astype(float) for p in classifier.parameters())
    difference = W / np.linalg.norm(W) - centred / np.linalg.norm(centred)
    assert nc3(X, labels, classifier) == pytest.approx((difference**2).sum(), rel=1e-6)
    decisions = (X @ W.T + b).argmax(axis=1)
    nearest = cdist(X, mu).argmin(axis=1)
    assert nc4(X, labels, classifier) == np.mean(decisions != nearest)
    assert nc4(X, labels, (W, b)) == nc4(X, labels, classifier)


def test_a_collapsed_layer_has_the_values_of_a_simplex():
    labels = np.arange(40) % 4
    simplex = (np.eye(4) - 0.25) @ np.linalg.qr(np.random.default_rng(0).normal(size=(9, 4)))[0].T
    X = simplex[labels] + 5
    found = [nc1(X, labels), nc2_norms(X, labels), nc2_angles(X, labels)]
    found += [nc3(X, labels, simplex), nc4(X, labels, (simplex, -5 * simplex.sum(axis=1)))]
    assert found == pytest.approx([0] * 5, abs=1e-12)


@pytest.mark.parametrize(
    ("classifier", "fragment"),
    [
        (np.ones((3, 6)), r"\(3, 6\); 4 classes .* need \(4, 6\)"),
        (np.ones((6, 4)), r"\(6, 4\); 4 classes"),
        (np.ones(6), "torch.nn.Linear"),
        ((np.ones((4, 6)), np.ones(5)), "torch.nn.Linear"),
        (np.full((4, 6), np.nan), "not finite"),
        ("model.pt", "torch.nn.Linear"),
        (lambda x: x, "torch.nn.Linear"),
    ],
)
def test_a_classifier_of_another_form_is_refused(classes, classifier, fragment):
    X, labels, _ = classes
    for statistic in (nc3, nc4):
        with pytest.raises(ValueError, match=fragment):
            statistic(X, labels, classifier)


def test_classes_without_a_value_are_refused(classes):
    X = classes[0]
    with pytest.raises(rs.UndefinedError, match="means of all classes are equal"):
        nc1(np.tile(X[::4], (4, 1)), np.repeat(np.arange(4), 20))
    with pytest.raises(ValueError, match="at least 2 classes"):
        nc2_norms(X, np.zeros(80, dtype=int))
