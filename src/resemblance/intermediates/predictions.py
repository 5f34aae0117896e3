"""Predictions of two models for each sample: classes, distributions, and their disagreement."""

from __future__ import annotations

import numpy as np

from ..base.arrays import Array, detach, namespace, scalar, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, representation_title
from .digits import resolution


def are_correct(x: Representation, labels: tuple[int, ...]) -> np.ndarray:
    """Return whether the predicted class of each sample is its label, booleans (n,). ``labels``:
    the n true classes, from 0."""
    _check_target_labels(labels, x.shape[0])
    return np.asarray(to_numpy(predicted_classes(x)) == labels)


def predictions_differ(x: Representation, y: Representation) -> np.ndarray:
    """Return whether the predicted classes of x and y for each sample differ, booleans (n,)."""
    _check_same_classes("disagreement", x, y)
    return np.asarray(to_numpy(predicted_classes(x)) != to_numpy(predicted_classes(y)))


def sample_divergences(x: Representation, y: Representation, outputs: str) -> Array:
    """Return the Jensen-Shannon divergence of the two predicted distributions of each sample, in
    nats, shape (n,). ``outputs``: "logits" or "probabilities"."""
    _check_same_classes("jensen_shannon", x, y)
    p, q = (predicted_distributions("jensen_shannon", r, outputs, resolution(r)) for r in (x, y))
    total = p + q
    return x.xp.sum(_relative_entropy(p, total) + _relative_entropy(q, total), axis=1) / 2


def predicted_classes(x: Representation) -> Array:
    """Return the predicted class of every sample, the column with the largest output, the first of
    equal columns, shape (n,)."""
    return x.xp.argmax(x.array, axis=1)


def predicted_distributions(caller: str, x: Representation, outputs: str, rtol: float) -> Array:
    """Return the predicted distributions, shape (n, classes): the softmax of logits, or the given
    probabilities.

    Raises ``UndefinedError`` if ``outputs`` is ``"probabilities"`` and the rows are not
    probabilities, and if ``outputs`` is ``"logits"`` and the rows are probabilities. The sums of
    probabilities may deviate from 1 by 0.001, or by ``rtol``, the relative rounding of the stored
    numbers.
    """
    xp, values = x.xp, x.array
    sums = xp.sum(values, axis=1)
    if outputs == "logits":
        _refuse_probabilities(caller, x, to_numpy(detach(sums)))
        powers = xp.exp(values - xp.max(values, axis=1, keepdims=True))
        return powers / xp.sum(powers, axis=1, keepdims=True)
    slack = max(1e-3, rtol)
    if not (scalar(xp.min(values)) >= 0 and scalar(xp.max(xp.abs(sums - 1))) <= slack):
        raise UndefinedError(
            f"{caller}: the rows of {representation_title(x)} {x.shape} are not probabilities, 0 "
            "or larger with "
            'the sum 1; for logits use outputs="logits"'
        )
    return values


MAX_ROUNDED_SUM_ERROR = 0.02  # error of the sum of probabilities that were rounded to two digits
MIN_PROBABILITY_ROW_SHARE = 0.9  # share of the rows


def _refuse_probabilities(caller: str, x: Representation, sums: np.ndarray) -> None:
    """Raise ``UndefinedError`` if nearly all rows of the logits are probabilities, or percentages,
    up to rounding to two digits. ``sums``: the sums of the rows, (n,)."""
    if x.shape[1] < 2 or scalar(x.xp.min(x.array)) < 0:
        return
    for unit, noun, divisor in ((1.0, "probabilities", ""), (100.0, "percentages", " / 100")):
        if (
            np.mean(np.abs(sums - unit) <= MAX_ROUNDED_SUM_ERROR * unit)
            >= MIN_PROBABILITY_ROW_SHARE
        ):
            raise UndefinedError(
                f"{caller}: the rows of {representation_title(x)} {x.shape} are {noun}, 0 or "
                "larger with the sum "
                f'{unit:g}, and were taken for logits; use outputs="probabilities"'
                f"{divisor and f' and pass X{divisor}'}"
            )


def _relative_entropy(p: Array, total: Array) -> Array:
    """Return p ln(2 p / total), entry by entry: the terms of the relative entropy of a
    distribution p to the mean of two distributions, where ``total`` is the sum of the two. The sum
    avoids a mean of zero: half of the smallest positive number would be zero."""
    xp = namespace(p)
    is_zero, ones = p == 0, xp.ones_like(p)
    ratio = 2 * xp.where(is_zero, ones, p) / xp.where(is_zero, ones, total)
    return xp.where(is_zero, xp.zeros_like(p), p * xp.log(ratio))


def _check_target_labels(labels: object, samples: int) -> None:
    if not isinstance(labels, tuple) or len(labels) != samples:
        got = f"{len(labels)} for {samples}" if isinstance(labels, tuple) else repr(labels)
        raise ValueError(f"accuracy_difference needs labels=, one class per sample; got {got}")
    wrong = [
        v for v in labels if isinstance(v, bool) or not isinstance(v, int | np.integer) or v < 0
    ]
    if wrong:
        remedy = "number the classes as the columns of X and Y, from 0"
        raise ValueError(
            f"accuracy_difference: labels are whole numbers from 0; got {wrong[0]!r}: {remedy}"
        )


def _check_same_classes(name: str, x: Representation, y: Representation) -> None:
    if x.shape[1] != y.shape[1]:
        raise UndefinedError(
            f"{name}: X {x.shape} and Y {y.shape} must have the same classes (columns)"
        )
