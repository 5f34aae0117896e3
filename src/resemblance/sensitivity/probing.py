"""Linear probes: what of a class can be read off a representation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..representation import as_representation, finite
from ..rng import generator

PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # inverse strengths, as scikit-learn has them
SPLITS = 3
PROBE_VERSION = 1


def probe(X: Any, labels: Any, *, penalties: Sequence[float] = PENALTIES, splits: int = SPLITS, seed: int = 0) -> float:
    """Return the accuracy, on samples it has not seen, of a linear classifier on a frozen representation, in [0, 1].

    Half of the samples train, a quarter chooses the penalty and a quarter tests, in shares that are alike in every
    class; the mean over ``splits`` such divisions, which are the same for all representations of the samples.
    Logistic regression with a squared penalty on features of unit variance; ``penalties`` are inverse strengths, of
    which the one with the best validation accuracy is taken, the strongest of equals, and refitted on all but the test
    samples.

    X is (n, d), labels (n,) of any kind. Raises ``ValueError`` for labels that do not fit, fewer than two classes or
    fewer than eight samples, NaN and infinity, and for no penalties or splits.

    Reference: Ding et al. 2021, Section 4. Optimiser, epochs, pooling and penalty of their probes are not published.
    """
    x = as_representation(X)
    finite(x)
    points, classes = to_numpy(x.array), np.asarray(labels)
    _check(points, classes, penalties, splits)
    draws = [generator(seed, "probe", split).permutation(len(classes)) for split in range(splits)]
    return float(np.mean([_accuracy(points, classes, order, penalties) for order in draws]))


def _check(points: np.ndarray, labels: np.ndarray, penalties: Sequence[float], splits: int) -> None:
    if labels.shape != points.shape[:1]:
        raise ValueError(f"probe: one label per sample is needed; got X {points.shape} and labels {labels.shape}")
    if len(labels) < 8 or len(np.unique(labels)) < 2:
        raise ValueError(f"probe: at least 8 samples of 2 classes are needed; got {len(labels)} samples")
    if not len(penalties) or not all(0 < p < np.inf for p in penalties) or splits < 1:
        raise ValueError(f"probe: positive penalties and at least one split are needed; got {penalties}, {splits}")


def _accuracy(points: np.ndarray, labels: np.ndarray, order: np.ndarray, penalties: Sequence[float]) -> float:
    by_class = order[np.argsort(labels[order], kind="stable")]  # quarters of it have the classes in equal shares
    role = np.arange(len(labels)) % 4
    train, choose, test = by_class[role % 2 == 0], by_class[role == 1], by_class[role == 3]
    scores = [_fit(points[train], labels[train], p).score(points[choose], labels[choose]) for p in sorted(penalties)]
    best = sorted(penalties)[int(np.argmax(np.round(scores, 12)))]
    seen = np.concatenate([train, choose])
    return float(_fit(points[seen], labels[seen], best).score(points[test], labels[test]))


def _fit(points: np.ndarray, labels: np.ndarray, penalty: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=500, tol=1e-3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a linear classifier, converged or not
        return model.fit(points, labels)
