"""Statistics of trials in the order of recording: reliability, and drift over the recording."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..base.arrays import euclidean_norm
from ..base.exceptions import UndefinedError
from ..contracts._statistic import statistic
from ..contracts.claims import COSINE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.digits import resolution
from ..intermediates.points import unit_rows_of_array
from .rdm import (
    RANK_TIE_ROUNDING,
    RdmCorrelation,
    RdmKind,
    double_precision_rows,
    rdm_agreement,
    rdm_invariance_claims,
)
from .supervised import class_mean_rows

EARLY_SHARE_RANGE = {"early": (0.01, 0.99)}


class EmptyPartError(ValueError):
    """A condition has no trial in one of the compared parts, for these trials or for this order of
    the trials."""


@statistic(
    label="Trial split",
    family="trials",
    citation="raju2026geometric",
    version=2,
    larger_is_more_stable=True,
    range=(-1, 1),
    invariant_to=COSINE_INVARIANCES,
    min_samples=6,
    claims_for=rdm_invariance_claims,
    parts="odd and even",
)
def trial_split(
    x: Representation,
    conditions: np.ndarray,
    *,
    parity: Literal["condition", "recording"] = "condition",
    rdm: RdmKind = "cosine",
    compare: RdmCorrelation = "spearman",
) -> float:
    r"""Trial-split stability: do odd and even trials put the conditions in the same arrangement?

    .. math:: \rho\bigl(\operatorname{RDM}(M_{\text{odd}}),
        \operatorname{RDM}(M_{\text{even}})\bigr)

    The rows of the two matrices M are the mean responses to the conditions: over the trials 0, 2,
    4... of every condition, and over the trials 1, 3, 5... of every condition, in the order of
    recording. ``parity="recording"`` numbers the trials of all conditions together, which fails for
    an even number of conditions presented in rotation. X contains the (n, d) trials in the order of
    recording, ``conditions`` are (n,). The value is in [-1, 1].

    Raises ``ValueError`` for fewer than 3 conditions, or a condition without an odd or an even
    trial, and ``UndefinedError`` when all condition means are equally far apart.

    Reference: Raju 2026, Section 13. The author's code numbers all trials together. The responses
    are not scaled to unit length first, as in the author's code and unlike the text.
    """
    is_even = (
        trial_number_in_condition(conditions) if parity == "condition" else np.arange(x.shape[0])
    ) % 2 == 0
    return _agreement_of_parts(
        x, conditions, is_even, "trial_split", "even and an odd", rdm, compare
    )


def trial_number_in_condition(conditions: np.ndarray) -> np.ndarray:
    """Return the number of every trial within its condition, from 0, in the order of the trials,
    (n,). ``conditions``: condition numbers, (n,)."""
    order = np.argsort(conditions, kind="stable")
    counts = np.bincount(conditions)
    ranks = np.empty(len(conditions), dtype=int)
    ranks[order] = np.arange(len(conditions)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


@statistic(
    label="Temporal drift",
    family="trials",
    citation="raju2026geometric",
    larger_is_more_stable=False,
    range=(0, 2),
    invariant_to=COSINE_INVARIANCES,
    min_samples=6,
    limits=EARLY_SHARE_RANGE,
    claims_for=rdm_invariance_claims,
    parts="early and late",
)
def temporal_drift(
    x: Representation,
    conditions: np.ndarray,
    *,
    early: float = 0.5,
    rdm: RdmKind = "cosine",
    compare: RdmCorrelation = "spearman",
) -> float:
    r"""Temporal drift: how much the arrangement of conditions changes from early to late trials.

    .. math:: 1 - \rho\bigl(\operatorname{RDM}(M_{\text{early}}),
        \operatorname{RDM}(M_{\text{late}})\bigr)

    The rows of the two matrices M are the mean responses to the conditions, over the first ⌊n ·
    ``early``⌋ trials and over the remaining trials. X contains the (n, d) trials in the order of
    recording, ``conditions`` are (n,). The value is in [0, 2]. Noise alone makes the value
    positive: :func:`resemblance.stability.permutation_null` computes the value under random orders
    of the trials.

    Raises ``ValueError`` for fewer than 3 conditions, or a condition without an early or a late
    trial, and ``UndefinedError`` when all condition means are equally far apart.

    Reference: Raju 2026, Section 13. The author's script returns the correlation itself.
    """
    first = np.arange(x.shape[0]) < int(x.shape[0] * early)
    return 1 - _agreement_of_parts(
        x, conditions, first, "temporal_drift", "early and a late", rdm, compare
    )


def _agreement_of_parts(
    x: Representation,
    conditions: np.ndarray,
    first: np.ndarray,
    caller: str,
    kinds: str,
    rdm: RdmKind,
    compare: RdmCorrelation,
) -> float:
    """Return the correlation between the dissimilarities of the condition means in two parts of
    the trials.

    ``first``: the mask of the first part, (n,). ``kinds``: the parts in words, for errors. Raises
    ``ValueError`` for fewer than 3 conditions, and :class:`EmptyPartError` for a condition without
    a trial in a part.
    """
    count = int(conditions.max()) + 1
    if count < 3:
        raise ValueError(f"{caller} needs at least 3 conditions; got {count}")
    groups = [
        [np.flatnonzero(part & (conditions == c)) for c in range(count)] for part in (first, ~first)
    ]
    if any(len(group) == 0 for part in groups for group in part):
        raise EmptyPartError(
            f"{caller} needs an {kinds} trial of every condition; leave the others out"
        )
    means, other_means = (class_mean_rows(double_precision_rows(x), part) for part in groups)
    return rdm_agreement(means, other_means, rdm, compare, (resolution(x), resolution(x)))


@statistic(
    label="Centroid drift",
    family="trials",
    citation="raju2026geometric",
    larger_is_more_stable=False,
    range=(0, 2),
    invariant_to=COSINE_INVARIANCES,
    min_samples=2,
    limits=EARLY_SHARE_RANGE,
    parts="early and late",
)
def centroid_drift(x: Representation, *, early: float = 0.5, unit_rows: bool = True) -> float:
    r"""Centroid drift: how much the mean response turns from early to late trials.

    .. math:: 1 - \cos(\bar{x}_{\text{early}}, \bar{x}_{\text{late}})

    over the first ⌊n · ``early``⌋ trials and the remaining trials, each trial scaled to unit length
    unless ``unit_rows=False``. X contains the (n, d) trials in the order of recording. The value is
    in [0, 2]. Raises ``ValueError`` when a part is empty and ``UndefinedError`` when a mean is
    zero.

    Reference: Raju 2026, Section 13.5. The author's script returns the cosine, a similarity, under
    this name.
    """
    points = unit_rows_of_array(double_precision_rows(x)) if unit_rows else double_precision_rows(x)
    cut = int(x.shape[0] * early)
    if cut == 0:
        raise ValueError(f"centroid_drift: early={early} leaves no early trial of {x.shape[0]}")
    means = np.stack([points[:cut].mean(axis=0), points[cut:].mean(axis=0)])
    if (euclidean_norm(means, axis=1) <= RANK_TIE_ROUNDING * np.abs(points).max()).any():
        raise UndefinedError(
            "centroid_drift: the mean of the early or of the late trials is zero and has no "
            "direction"
        )
    early_mean, late_mean = unit_rows_of_array(means)
    return float(1 - min(early_mean @ late_mean, 1.0))
