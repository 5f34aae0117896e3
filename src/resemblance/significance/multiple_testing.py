"""Multiple testing: p-values that control the error rate of many tests together."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ..base.text import check_choice
from .orders import Design
from .permutation import permutation_pvalues

AdjustMethod = Literal["familywise", "fdr"] | None
ADJUST_METHODS: tuple[AdjustMethod, ...] = (None, "familywise", "fdr")
ADJUSTED_LEVEL = 0.05  # the level that an adjusted p-value should be able to reach
MIN_RELATIVE_SPREAD = 1e-9  # smallest spread, relative to the value


def step_down_max_t(
    observed: np.ndarray, drawn: np.ndarray, design: Design | None = None
) -> np.ndarray:
    r"""Return familywise p-values by step-down maxT.

    .. math:: p_{(j)} = \max_{i \le j} \Pr\Bigl(\max_{k \ge i} T_{(k)} \ge t_{(i)}\Bigr),
        \qquad t_{(1)} \ge t_{(2)} \ge \dots

    ``observed`` t (tests,) and ``drawn`` T (draws, tests) are on one scale, on which larger values
    are further from the null hypothesis; every draw covers all tests together. The probability is
    the p-value that the ``design`` of the draws gives, or (1 + number as large) / (1 + draws)
    without a design. A draw that is NaN counts as at least as large; a test whose value is NaN is
    left out and has the p-value NaN.

    Reference: Westfall and Young 1993, Algorithm 4.1.
    """
    order = np.argsort(-observed, kind="stable")[: np.sum(~np.isnan(observed))]
    running_max = np.maximum.accumulate(drawn[:, order][:, ::-1], axis=1)[:, ::-1]
    pvalues = (permutation_pvalues if design is None else design.pvalues)(
        observed[order], running_max
    )
    return _fill_in_order(np.maximum.accumulate(pvalues), order, len(observed))


def holm_adjust(pvalues: np.ndarray) -> np.ndarray:
    r"""Return familywise p-values for tests with any dependence, (tests,), in the order of
    ``pvalues``.

    .. math:: \tilde p_{(j)} = \max_{i \le j} \min(1, (m - i + 1)\, p_{(i)})

    for the m p-values in ascending order. Tests without a p-value (NaN) are left out and stay NaN.

    Reference: Holm 1979.
    """
    order = np.argsort(pvalues, kind="stable")[: np.sum(~np.isnan(pvalues))]
    scaled = np.minimum(1.0, pvalues[order] * np.arange(len(order), 0, -1))
    return _fill_in_order(np.maximum.accumulate(scaled), order, len(pvalues))


def split_significance_level(
    pvalues: tuple[np.ndarray, np.ndarray], shares: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return familywise p-values for two groups of tests together, from p-values adjusted within
    the groups.

    .. math:: \tilde p_i = \min\Bigl(\frac{p_i}{w},
        \max\bigl(p_i, \max_j \frac{p'_j}{w'}\bigr)\Bigr), \qquad w + w' = 1

    for a test of the group with the p-values p and the share w of the level; p' and w' belong to
    the other group. At any level :math:`\alpha` a group is tested at :math:`w \alpha`, and at the
    whole :math:`\alpha` as soon as all tests of the other group are rejected at :math:`w' \alpha`.
    If both groups have true null hypotheses, the first rejected true hypothesis is rejected at
    :math:`w \alpha` or at :math:`w' \alpha`, with a probability of at most :math:`w \alpha + w'
    \alpha = \alpha`. If one group has all true null hypotheses, the group is tested at no more than
    :math:`\alpha`. The familywise error rate therefore holds if the error rate of each group holds,
    for any dependence between the groups, if the shares do not depend on the p-values. Tests
    without a p-value (NaN) stay NaN; a group without tests leaves the whole level to the other
    group.

    Reference: Bretz et al. 2009; this procedure is their graph with two nodes.
    """
    arrays = [np.asarray(p, float) for p in pvalues]
    if not all((~np.isnan(p)).any() for p in arrays):
        return arrays[0], arrays[1]
    worst = [float(np.nanmax(p)) / share for p, share in zip(arrays, shares)]
    first, second = (
        np.minimum(1.0, np.minimum(p / share, np.fmax(p, floor)))
        for p, share, floor in zip(arrays, shares, reversed(worst))
    )
    return first, second


def permuted_level_share(n_permuted: int, count: int, min_pvalue: float) -> float:
    r"""Return the share of the level for permuted tests, if the remaining tests have finer
    p-values.

    .. math:: w = \max\Bigl(\frac{d}{m}, \sqrt{a / 0.05}\Bigr)

    for d permuted tests of m whose p-values are at least a. With a share d / m, one of 105 tests by
    999 permutations could have no p-value below 105 / 1000. With the second share its smallest
    p-value, :math:`\sqrt{0.05\, a}`, is the geometric mean of a and 0.05, and the remaining tests
    lose little: a seventh of the level with 999 permutations. If a is 5 % or more, the share is d /
    m.
    """
    min_share = math.sqrt(min_pvalue / ADJUSTED_LEVEL) if min_pvalue < ADJUSTED_LEVEL else 0.0
    return max(n_permuted / count, min_share)


def _fill_in_order(values: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    result = np.full(count, np.nan)
    result[order] = values
    return result


def adjust_pvalues(p: np.ndarray, adjust: AdjustMethod) -> np.ndarray:
    """Return p-values, in the shape of ``p``, adjusted for the number of tests: "familywise" by
    Holm, "fdr" to false discovery rates, None unchanged.

    Raises ``ValueError`` for another method.
    """
    check_choice("adjust", adjust, ADJUST_METHODS)
    if adjust is None or not p.size:
        return p
    if adjust == "familywise":
        return holm_adjust(p)
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p))
