"""Outputs: compare the predictions of two models instead of the representations. X and Y are
(n_samples, n_classes)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ..base.arrays import Array, to_numpy
from ..contracts._measure import measure
from ..data.representation import Representation, representation_title
from ..intermediates.predictions import (
    are_correct,
    predicted_classes,
    predictions_differ,
    sample_divergences,
)
from .leave_one_out.outputs import (
    leave_one_out_accuracy_diff,
    leave_one_out_disagreement,
    leave_one_out_jensen_shannon,
)


@measure(
    label="AccDiff", family="outputs", citation="klabunde2025resi", larger_is_more_similar=False,
    range=(0, 1), metric=True, invariant_to={"isotropic_scaling"}, differentiable=False,
    min_samples=1, leave_one_out=leave_one_out_accuracy_diff,
)  # fmt: skip
def accuracy_difference(
    x: Representation, y: Representation, *, labels: tuple[int, ...] = ()
) -> float:
    r"""Accuracy difference: the absolute difference of the accuracies of two classifiers.

    .. math:: \left| \tfrac{1}{n} \sum_i [\arg\max_c X_{ic} = l_i]
        - \tfrac{1}{n} \sum_i [\arg\max_c Y_{ic} = l_i] \right|

    X and Y are outputs (n, classes): logits or probabilities; ties go to the first class.
    ``labels`` are the n true classes: whole numbers from 0 that index the columns. Raises
    ``ValueError`` without ``labels``.

    Use it when you want to know whether two classifiers are equally good.

    Beware. Equally accurate classifiers may err on different samples. The measure needs the labels.

    Reference: Klabunde et al. 2025, Section 3.1.
    """
    correct = [are_correct(r, labels).mean() for r in (x, y)]
    return float(abs(correct[0] - correct[1]))


@accuracy_difference.claim("uninformative")
def uninformative_classes(x: Representation, y: Representation, labels: tuple[int, ...]) -> str:
    """Fixed where outputs have one column; too low where labels name a class without a column.

    In these cases the function returns a warning about the value of the pair as text, otherwise "".
    ``labels``: the true class of every sample, from 0; () without labels.
    """
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
    label="Disagreement", family="outputs", citation="klabunde2025resi",
    larger_is_more_similar=False, range=(0, 1), metric=True, invariant_to={"isotropic_scaling"},
    differentiable=False, min_samples=1, leave_one_out=leave_one_out_disagreement,
)  # fmt: skip
def disagreement(x: Representation, y: Representation) -> float:
    r"""Disagreement: the fraction of samples for which two classifiers predict different classes.

    .. math:: \tfrac{1}{n} \sum_i \left[ \arg\max_c X_{ic} \neq \arg\max_c Y_{ic} \right]

    X and Y are outputs (n, classes): logits or probabilities; ties go to the first class.

    Use it when you ask how often two classifiers predict different classes.

    Beware. The accuracies bound the value: two accurate classifiers cannot disagree much.
    Probabilities have no effect beyond the predicted class.

    Reference: Klabunde et al. 2025, Eq. 5; Madani et al. 2004. Milani Fard et al. 2016 call the
    value churn, where X and Y are two versions of a classifier.
    """
    return float(predictions_differ(x, y).mean())


@disagreement.claim("chance")
def chance_disagreement(x: Representation, y: Representation) -> float:
    """Return the probability that the class predicted in x for a random sample and the class
    predicted in y for an independent random sample differ."""
    classes = (to_numpy(predicted_classes(r)) for r in (x, y))
    p, q = (np.bincount(c, minlength=x.shape[1]) / x.n_samples for c in classes)
    return float(1 - p @ q)


@measure(
    label="JSD",
    family="outputs",
    citation="klabunde2025resi",
    version=2,
    larger_is_more_similar=False,
    range=(0, 1),
    min_samples=1,
    leave_one_out=leave_one_out_jensen_shannon,
)
def jensen_shannon(
    x: Representation, y: Representation, *, outputs: Literal["logits", "probabilities"] = "logits"
) -> Array:
    r"""Jensen-Shannon divergence: the mean divergence, in bits, between two classifiers' predicted
    distributions.

    .. math:: \tfrac{1}{n} \sum_i \tfrac{1}{2} \left( \operatorname{KL}(p_i \| m_i)
        + \operatorname{KL}(q_i \| m_i) \right), \qquad m_i = \tfrac{1}{2}(p_i + q_i)

    X and Y are (n, classes). ``outputs="logits"`` applies the softmax; ``"probabilities"`` requires
    non-negative rows that sum to 1, give or take 0.001. Raises ``UndefinedError`` for probabilities
    that are given as logits, for logits that are given as probabilities, and for different numbers
    of classes. 0 log 0 = 0.

    Use it when you compare predicted distributions, not only the predicted classes.

    Beware. The value depends on calibration: a change of temperature changes the value even if all
    predicted classes stay the same.

    Reference: Klabunde et al. 2025, Eq. 6; Lin 1991. The equation in the paper has 1/(2N); the
    authors' code and this function have 1/N.
    """
    return x.xp.mean(sample_divergences(x, y, outputs)) / math.log(2)  # nats to bits


@disagreement.claim("uninformative")
@jensen_shannon.claim("uninformative")
def uninformative_single_class(x: Representation, y: Representation) -> str:
    """Fixed where outputs have one column: class 0 is then predicted for all samples.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    side = next((r for r in (x, y) if r.shape[1] == 1), None)
    if side is None:
        return ""
    return (
        f"fixed by the number of classes: {representation_title(side)} has one column, so class 0 "
        "is predicted for "
        "all samples; outputs have a column for each class, np.eye(classes)[labels] where only "
        "labels are known"
    )
