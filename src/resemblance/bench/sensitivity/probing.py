"""Linear probes: how well a linear classifier reads a class from a representation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from resemblance.base.arrays import to_numpy
from resemblance.base.exceptions import UndefinedError
from resemblance.base.rng import generator
from resemblance.data.representation import as_representation, check_all_finite
from resemblance.significance import known_mean

# Inverse regularisation strengths, as in scikit-learn.
PROBE_PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
N_PROBE_SPLITS = 3
PROBE_VERSION = 2  # raise the version when accuracies change
# Indices of training, validation and test samples.
SampleDivision = tuple[np.ndarray, np.ndarray, np.ndarray]
# Relative to the largest feature; zeros in single precision end up below.
MIN_RELATIVE_FEATURE = 1e-6


def probe(
    X: Any,
    labels: Any,
    *,
    penalties: Sequence[float] = PROBE_PENALTIES,
    splits: int = N_PROBE_SPLITS,
    seed: int = 0,
) -> float:
    """Return the test accuracy of a linear classifier on a frozen representation, in [0, 1].

    Half of the samples are training samples, a quarter validation samples and a quarter test
    samples, stratified by class. The result is the mean over ``splits`` random divisions, which are
    the same for all representations of the samples. The classifier is logistic regression with an
    L2 penalty on features of unit variance; ``penalties`` are inverse strengths. The penalty with
    the best validation accuracy (among equals the strongest) is refitted on training and validation
    samples. Features whose norm (centred) is at most max(1e-6, max(n, d) eps) times the largest
    norm are left out, because scaling to unit variance would turn rounding error into signal.

    X is (n, d), labels (n,) of any single kind. Raises ``ValueError`` for labels that do not fit,
    fewer than two classes in a part, fewer than eight samples, NaN and infinity, and for no
    penalties or splits; ``UndefinedError`` when all rows are equal.

    Reference: Ding et al. 2021, Section 4. Optimiser, epochs, pooling and penalty of the authors'
    probes are not published.
    """
    answers = probe_answers(X, labels, penalties=penalties, splits=splits, seed=seed)
    return mean_accuracy(answers)


def mean_accuracy(answers: np.ndarray) -> float:
    """Return the accuracy of a probe, from 0 to 1: the share of correct answers, averaged over
    divisions.

    ``answers``: (divisions, n); 1 for a correct answer, 0 for a wrong answer, NaN for a sample
    outside the test samples.
    """
    return float(np.mean([known_mean(row) for row in answers]))


def probe_answers(
    X: Any,
    labels: Any,
    *,
    penalties: Sequence[float] = PROBE_PENALTIES,
    splits: int = N_PROBE_SPLITS,
    seed: int = 0,
) -> np.ndarray:
    """Return the answers of a linear probe, (splits, n): 1 for a correctly classified test sample,
    0 for a misclassified test sample, NaN for a sample outside the test samples of the division.

    ``X``: a representation (n, d). ``labels``: a class per sample. ``penalties``: positive
    candidates for the strength of the penalty. ``splits``: the number of divisions. Raises
    ``ValueError`` for another number of labels.
    """
    x = as_representation(X)
    check_all_finite(x)
    strengths = _check_penalties(penalties, splits)
    points, classes = to_numpy(x.array), class_numbers(labels)
    if classes.shape != points.shape[:1]:
        raise ValueError(
            f"probe: one label per sample is needed; got X {points.shape} and labels "
            f"{classes.shape}"
        )
    parts = stratified_divisions(classes, splits, seed)
    features, answers = _drop_rounding(points), np.full((len(parts), len(classes)), np.nan)
    for row, part in zip(answers, parts):
        row[part[2]] = _rightly_classified(features, classes, part, strengths)
    return answers


def _check_penalties(penalties: Iterable[float], splits: int) -> list[float]:
    try:
        strengths = sorted(float(p) for p in penalties)
    except (TypeError, ValueError):
        strengths = []
    if not strengths or not all(0 < p < np.inf for p in strengths):
        raise ValueError(
            f"probe: penalties must be one or more positive numbers; got {penalties!r}"
        )
    if isinstance(splits, bool) or not isinstance(splits, int | np.integer) or splits < 1:
        raise ValueError(f"probe: splits must be a whole number of at least 1; got {splits!r}")
    return strengths


def class_numbers(labels: Any) -> np.ndarray:
    """Return labels (n,) of any single kind as numbers from 0, in sorted order. Raises
    ``ValueError`` for labels of mixed kinds, and with another number of axes."""
    values = to_numpy(labels) if hasattr(labels, "dtype") else np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(
            f"probe: labels must be one list, a label per sample; got shape {values.shape}"
        )
    words = {
        isinstance(label, str | bytes) for label in (labels if values.dtype.kind in "USO" else ())
    }
    try:
        if len(words) > 1:
            raise TypeError("both words and numbers")
        return np.unique(values, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(
            f"probe: labels must be of one kind, all numbers or all words ({error})"
        ) from error


def stratified_divisions(
    classes: np.ndarray, splits: int = N_PROBE_SPLITS, seed: int = 0
) -> list[SampleDivision]:
    """Return the indices of training, validation and test samples for every split, stratified by
    class.

    ``classes``: of the samples, (n,). ``splits``: the number of random divisions. Raises
    ``ValueError`` for fewer than eight samples, if a part has fewer than two classes, or for more
    classes than half of the samples.
    """
    if len(classes) < 8:
        raise ValueError(
            f"probe: at least 8 samples of 2 classes are needed; got {len(classes)} samples"
        )
    parts = []
    for split in range(splits):
        order = generator(seed, "probe", split).permutation(len(classes))
        # sorted by class: every fourth sample of this order contains the classes in equal shares
        by_class = order[np.argsort(classes[order], kind="stable")]
        role = np.arange(len(classes)) % 4
        parts.append((by_class[role % 2 == 0], by_class[role == 1], by_class[role == 3]))
    if any(len(np.unique(classes[samples])) < 2 for part in parts for samples in part):
        counts = np.unique(classes, return_counts=True)[1].tolist()
        raise ValueError(
            "probe: every part (half, quarter, quarter) needs 2 classes; classes have "
            f"{counts[:9]} samples"
        )
    if len(np.unique(classes)) > len(classes) // 2:
        raise ValueError(
            f"probe: {len(np.unique(classes))} classes are too many for {len(classes)} samples"
        )
    return parts


def _drop_rounding(points: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(points - points.mean(axis=0), axis=0)
    eps = float(np.finfo(points.dtype).eps)
    if norms.max(initial=0.0) <= len(points) * eps * np.abs(points).max(initial=0.0):
        raise UndefinedError(
            f"probe: X {points.shape} is constant; all rows are equal, so nothing can be read off "
            "it"
        )
    return points[:, norms > max(MIN_RELATIVE_FEATURE, max(points.shape) * eps) * norms.max()]


def _rightly_classified(
    points: np.ndarray, labels: np.ndarray, part: SampleDivision, penalties: Sequence[float]
) -> np.ndarray:
    """Return whether each test sample of a division is classified correctly, (test samples,), with
    the penalty of the best validation accuracy.

    ``points``: (n, d). ``labels``: class numbers, (n,). ``part``: the positions of training,
    validation and test samples. ``penalties``: sorted, the strongest first.
    """
    train, validation, test = part
    scores = [
        _fit_classifier(points[train], labels[train], p).score(
            points[validation], labels[validation]
        )
        for p in penalties
    ]
    penalty = penalties[int(np.argmax(np.round(scores, 12)))]
    fit_indices = np.concatenate([train, validation])
    right: np.ndarray = (
        _fit_classifier(points[fit_indices], labels[fit_indices], penalty).predict(points[test])
        == labels[test]
    )
    return right


def _fit_classifier(points: np.ndarray, labels: np.ndarray, penalty: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=500, tol=1e-3))
    with warnings.catch_warnings():
        # A classifier that has not converged is still a linear classifier.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points, labels)
