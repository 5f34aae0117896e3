"""What two models predict for each sample: classes, distributions, and where both differ."""

from __future__ import annotations

import numpy as np

from ..base.arrays import Array, detach, namespace, scalar, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, representation_title
from .digits import resolution


def are_correct(x: Representation, labels: tuple[int, ...]) -> np.ndarray:
    """Whether the prediction for each sample is its label, shape (n,)."""
    _check_target_labels(labels, x.shape[0])
    return np.asarray(to_numpy(predicted_classes(x)) == labels)


def predictions_differ(x: Representation, y: Representation) -> np.ndarray:
    """Whether the predictions for each sample differ, shape (n,)."""
    _check_same_classes("disagreement", x, y)
    return np.asarray(to_numpy(predicted_classes(x)) != to_numpy(predicted_classes(y)))


def sample_divergences(x: Representation, y: Representation, outputs: str) -> Array:
    """The Jensen-Shannon divergence of two predicted distributions for each sample, in nats, shape
    (n,)."""
    _check_same_classes("jensen_shannon", x, y)
    p, q = (predicted_distributions("jensen_shannon", r, outputs, resolution(r)) for r in (x, y))
    total = p + q
    return x.xp.sum(_relative_entropy(p, total) + _relative_entropy(q, total), axis=1) / 2


def predicted_classes(x: Representation) -> Array:
    """The class of every sample, the first of those that are equally likely, shape (n,)."""
    return x.xp.argmax(x.array, axis=1)


def predicted_distributions(caller: str, x: Representation, outputs: str, rtol: float) -> Array:
    """Return the predicted distributions, shape (n, classes): of logits the softmax.

    Raises ``UndefinedError`` for rows that are no probabilities, and for logits that are. The sums
    of probabilities may be off by 0.001, or by ``rtol``, the relative rounding of the numbers as
    they were stored.
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


MAX_ROUNDED_SUM_ERROR = 0.02  # of the sum of a row: probabilities that were rounded to two digits
MIN_PROBABILITY_ROW_SHARE = 0.9  # of the rows


def _refuse_probabilities(caller: str, x: Representation, sums: np.ndarray) -> None:
    """Raise ``UndefinedError`` for logits of which nearly all rows are probabilities, or
    percentages, but for rounding to two digits."""
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
    """Return the terms of the relative entropy of a distribution to the mean of two, given their
    sum: half of the smallest number there is would be zero."""
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
