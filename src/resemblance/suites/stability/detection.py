"""Does a number warn of a loss of accuracy? Curves, thresholds and the significance of a loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from ...significance import ranks_of_rows


def auc(values: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve, in [0, 1]: do positive cases have larger values?

    The probability that a positive case has a larger value than a negative one, ties counting half.
    NaN when all cases are positive or none is.
    """
    positive = np.asarray(positive, bool)
    count, others = int(positive.sum()), int((~positive).sum())
    if not count or not others:
        return float("nan")
    ranks = ranks_of_rows(values)
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))


def roc(values: np.ndarray, positive: np.ndarray) -> list[tuple[float, float]]:
    """Return the points (false positive rate, true positive rate) of all thresholds.

    From (0, 0) to (1, 1).

    A case is called positive when its value is larger than the threshold; equal values share a
    point. Raises ``ValueError`` when all cases are positive or none is.
    """
    positive = np.asarray(positive, bool)
    if positive.all() or not positive.any():
        raise ValueError("roc: there must be positive and negative cases")
    order = np.argsort(-np.asarray(values), kind="stable")
    ordered, hits = np.asarray(values)[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    true, false = np.cumsum(hits)[ends] / hits.sum(), np.cumsum(~hits)[ends] / (~hits).sum()
    return [(0.0, 0.0), *((float(x), float(y)) for x, y in zip(false, true))]


def loss_p_value(lost: int, gained: int) -> float:
    """Return the exact one-sided p-value of McNemar's test for lost correct answers.

    ``lost``: samples that were right and are wrong now; ``gained``: the opposite. If neither were
    more likely, lost would be binomial with probability 1/2 out of both.
    """
    return float(binom.sf(lost - 1, lost + gained, 0.5))


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Return which hypotheses are rejected at a familywise error rate (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected, going = [False] * len(p_values), True
    for position, i in enumerate(order):
        going = going and p_values[i] <= level / (len(p_values) - position)
        rejected[i] = going
    return rejected


def first_above(levels: Sequence[float], values: Sequence[float], threshold: float) -> float:
    """Return the smallest level whose value exceeds the threshold; infinity when there is none."""
    return min(
        (level for level, value in zip(levels, values) if value > threshold), default=float("inf")
    )
