"""Outputs: compare what two models say instead of how they represent it. X and Y are (n_samples,
n_classes)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ..base.arrays import Array, as_float64, detach, namespace, scalar, to_numpy
from ..base.exceptions import UndefinedError
from ..contracts._measure import measure
from ..data.representation import Representation, representation_title
from ..intermediates.digits import resolution
from .inner_products import check_min_samples, leave_one_out_term_means

MAX_ROUNDED_SUM_ERROR = 0.02  # of the sum of a row: probabilities that were rounded to two digits
MIN_PROBABILITY_ROW_SHARE = 0.9  # of the rows


def leave_one_out_accuracy_diff(
    x: Representation, y: Representation, labels: tuple[int, ...]
) -> np.ndarray:
    """Accuracy difference without each sample, exactly, shape (n,)."""
    check_min_samples("accuracy_difference", x, 1)
    first, second = (_are_correct(r, labels) for r in (x, y))
    return np.abs(leave_one_out_term_means(first) - leave_one_out_term_means(second))


def leave_one_out_disagreement(x: Representation, y: Representation) -> np.ndarray:
    """Disagreement without each sample, exactly, shape (n,)."""
    check_min_samples("disagreement", x, 1)
    return leave_one_out_term_means(_predictions_differ(x, y))


def leave_one_out_jensen_shannon(x: Representation, y: Representation, outputs: str) -> np.ndarray:
    """Jensen-Shannon divergence without each sample, exactly, shape (n,)."""
    check_min_samples("jensen_shannon", x, 1)
    return leave_one_out_term_means(as_float64(_sample_divergences(x, y, outputs))) / math.log(2)


def uninformative_single_class(x: Representation, y: Representation) -> str:
    """Fixed where outputs have one column: class 0 is then predicted for all samples."""
    side = next((r for r in (x, y) if r.shape[1] == 1), None)
    if side is None:
        return ""
    return (
        f"fixed by the number of classes: {representation_title(side)} has one column, so class 0 "
        "is predicted for "
        "all samples; outputs have a column for each class, np.eye(classes)[labels] where only "
        "labels are known"
    )


def uninformative_classes(x: Representation, y: Representation, labels: tuple[int, ...]) -> str:
    """Fixed where outputs have one column; too low where labels name a class without a column."""
    narrow = min(x, y, key=lambda r: r.shape[1])
    largest = max(labels, default=0)
    if narrow.shape[1] == 1 or largest < narrow.shape[1]:
        return uninformative_single_class(x, y)
    return (
        f"labels go up to {largest}, and {representation_title(narrow)} has {narrow.shape[1]} "
        "columns, classes 0 "
        f"to {narrow.shape[1] - 1}: number the classes as the columns of X and Y, from 0"
    )


@measure(
    label="AccDiff", family="outputs", citation="klabunde2025resi",
    larger_is_more_similar=False, range=(0, 1), metric=True, invariant_to={"isotropic_scaling"},
    differentiable=False, min_samples=1, leave_one_out=leave_one_out_accuracy_diff,
    uninformative=uninformative_classes,
)  # fmt: skip
def accuracy_difference(
    x: Representation, y: Representation, *, labels: tuple[int, ...] = ()
) -> float:
    r"""Accuracy difference: the absolute difference of the accuracies of two classifiers.

    .. math:: \left| \tfrac{1}{n} \sum_i [\arg\max_c X_{ic} = l_i]
        - \tfrac{1}{n} \sum_i [\arg\max_c Y_{ic} = l_i] \right|

    X and Y are outputs (n, classes): logits or probabilities; ties go to the first class.
    ``labels`` are the n true classes, whole numbers from 0, each the column of its class. Raises
    ``ValueError`` without them.

    Use it when you want to know whether two classifiers are equally good.

    Beware. Equally accurate classifiers may err on different samples. It needs the labels.

    Reference: Klabunde et al. 2025, Section 3.1.
    """
    correct = [_are_correct(r, labels).mean() for r in (x, y)]
    return float(abs(correct[0] - correct[1]))


@measure(
    label="Disagreement", family="outputs", citation="klabunde2025resi",
    larger_is_more_similar=False, range=(0, 1), metric=True, invariant_to={"isotropic_scaling"},
    differentiable=False, min_samples=1, leave_one_out=leave_one_out_disagreement,
    uninformative=uninformative_single_class,
)  # fmt: skip
def disagreement(x: Representation, y: Representation) -> float:
    r"""Disagreement: the fraction of samples for which two classifiers predict different classes.

    .. math:: \tfrac{1}{n} \sum_i \left[ \arg\max_c X_{ic} \neq \arg\max_c Y_{ic} \right]

    X and Y are outputs (n, classes): logits or probabilities; ties go to the first class.

    Use it when you ask how often two classifiers predict different classes.

    Beware. It is bounded by accuracies: two accurate classifiers cannot disagree much.
    Probabilities do not enter.

    Reference: Klabunde et al. 2025, Eq. 5; Madani et al. 2004.
    """
    return float(_predictions_differ(x, y).mean())


@measure(
    label="JSD",
    family="outputs",
    citation="klabunde2025resi",
    version=2,
    larger_is_more_similar=False,
    range=(0, 1),
    min_samples=1,
    leave_one_out=leave_one_out_jensen_shannon,
    uninformative=uninformative_single_class,
)
def jensen_shannon(
    x: Representation, y: Representation, *, outputs: Literal["logits", "probabilities"] = "logits"
) -> Array:
    r"""Jensen-Shannon divergence: the mean divergence, in bits, between two classifiers' predicted
    distributions.

    .. math:: \tfrac{1}{n} \sum_i \tfrac{1}{2} \left( \operatorname{KL}(p_i \| m_i)
        + \operatorname{KL}(q_i \| m_i) \right), \qquad m_i = \tfrac{1}{2}(p_i + q_i)

    X and Y are (n, classes). ``outputs="logits"`` applies the softmax; ``"probabilities"`` takes
    non-negative rows that sum to 1, give or take 0.001. Raises ``UndefinedError`` for probabilities
    that are given as logits, for logits that are given as probabilities, and for different numbers
    of classes. 0 log 0 = 0.

    Use it when you compare predicted distributions, not only the predicted classes.

    Beware. It depends on calibration: a change of temperature changes it with every prediction
    kept.

    Reference: Klabunde et al. 2025, Eq. 6; Lin 1991. The equation in the paper has 1/(2N); its
    code, like ours, 1/N.
    """
    return x.xp.mean(_sample_divergences(x, y, outputs)) / math.log(2)  # nats to bits


def _are_correct(x: Representation, labels: tuple[int, ...]) -> np.ndarray:
    """Whether the prediction for each sample is its label, shape (n,)."""
    _check_target_labels(labels, x.shape[0])
    return np.asarray(to_numpy(predicted_classes(x)) == labels)


def _predictions_differ(x: Representation, y: Representation) -> np.ndarray:
    """Whether the predictions for each sample differ, shape (n,)."""
    _check_same_classes("disagreement", x, y)
    return np.asarray(to_numpy(predicted_classes(x)) != to_numpy(predicted_classes(y)))


def _sample_divergences(x: Representation, y: Representation, outputs: str) -> Array:
    """The divergence for each sample, in nats, shape (n,)."""
    _check_same_classes("jensen_shannon", x, y)
    p, q = (predicted_distributions("jensen_shannon", r, outputs, resolution(r)) for r in (x, y))
    total = p + q
    return x.xp.sum(_relative_entropy(p, total) + _relative_entropy(q, total), axis=1) / 2


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


def predicted_classes(x: Representation) -> Array:
    """The class of every sample, the first of those that are equally likely, shape (n,)."""
    return x.xp.argmax(x.array, axis=1)


@disagreement.claim("chance")
def chance_disagreement(x: Representation, y: Representation) -> float:
    """The probability that predictions for two samples, drawn one by one, differ."""
    classes = (to_numpy(predicted_classes(r)) for r in (x, y))
    p, q = (np.bincount(c, minlength=x.shape[1]) / x.n_samples for c in classes)
    return float(1 - p @ q)
