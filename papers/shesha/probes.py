"""Linear probes: what a representation tells, and what pushing it along a direction does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

ALPHAS = (-2.0, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
PENALTIES = (0.01, 0.1, 1.0, 10.0)  # C of scikit-learn


class Probe(NamedTuple):
    """A linear classifier: weights (classes or 1, d), offsets, and the labels it answers with, in
    increasing order."""

    weights: np.ndarray
    offsets: np.ndarray
    answers: np.ndarray

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the answers for points (..., d)."""
        scores = points @ self.weights.T + self.offsets
        chosen: np.ndarray = (
            scores.argmax(axis=-1) if len(self.weights) > 1 else (scores[..., 0] > 0).astype(int)
        )
        answers: np.ndarray = self.answers[chosen]
        return answers


def logistic_probe(points: np.ndarray, labels: np.ndarray, *, penalty: float = 1.0) -> Probe:
    """Return the logistic regression of labels on points, by scikit-learn.

    Raises ``ValueError`` for one class.
    """
    from sklearn.linear_model import LogisticRegression

    fitted: Any = LogisticRegression(C=penalty, max_iter=5000).fit(points, labels)
    return Probe(fitted.coef_, fitted.intercept_, fitted.classes_)


def chosen_probe(points: np.ndarray, labels: np.ndarray, fitting: np.ndarray) -> Probe:
    """Return a probe whose penalty was chosen on the samples not fitted to, fitted again to all.

    ``fitting``: (n,) which samples candidates are fitted to. Features are brought to zero mean and
    unit deviation; of equally good penalties the strongest is taken.

    Reference: Raju 2026, Section 11 (logistic regression, C of 0.01 to 10).
    """
    mean, deviation = points.mean(axis=0), points.std(axis=0)
    unit = np.where(deviation > 0, deviation, 1)
    scaled = (points - mean) / unit

    def accuracy(penalty: float) -> float:
        probe = logistic_probe(scaled[fitting], labels[fitting], penalty=penalty)
        return float((probe(scaled[~fitting]) == labels[~fitting]).mean())

    best = max(PENALTIES, key=lambda penalty: (accuracy(penalty), -penalty))
    probe = logistic_probe(scaled, labels, penalty=best)
    weights = probe.weights / unit
    return Probe(weights, probe.offsets - weights @ mean, probe.answers)


def direction_of(probe: Probe) -> np.ndarray:
    """Return the unit direction that moves a probe's scores most.

    Its weights, or their first right singular vector.
    """
    direction: np.ndarray = np.linalg.svd(probe.weights, full_matrices=False)[2][0]
    return (
        direction if len(probe.weights) > 1 else probe.weights[0] / np.linalg.norm(probe.weights[0])
    )


def steered(
    probe: Probe,
    points: np.ndarray,
    labels: np.ndarray,
    direction: np.ndarray,
    *,
    sphere: bool,
    alphas: Sequence[float] = ALPHAS,
) -> np.ndarray:
    """Return the accuracy of a probe on points that were moved by every α along a direction.

    ``sphere``: moved points are brought back to unit length, as the scripts of Raju 2026 do and the
    paper does not say.
    """
    moved = points[None] + np.asarray(alphas)[:, None, None] * direction
    if sphere:
        lengths = np.linalg.norm(moved, axis=2, keepdims=True)
        moved = moved / np.where(lengths > 0, lengths, 1)
    accuracies: np.ndarray = (probe(moved) == labels).mean(axis=1)
    return accuracies


def largest_drop(accuracies: np.ndarray, alphas: Sequence[float] = ALPHAS) -> float:
    """Return the accuracy that the worst α costs: accuracy at α = 0 minus the smallest.

    0 or more.
    """
    return float(accuracies[list(alphas).index(0.0)] - accuracies.min())


def halves(labels: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of two random halves of every class.

    The second gets the odd samples.
    """
    first, second = [], []
    for label in np.unique(labels):
        members = random.permutation(np.flatnonzero(labels == label))
        first.append(members[: len(members) // 2])
        second.append(members[len(members) // 2 :])
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))
