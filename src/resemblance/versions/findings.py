"""Findings about kinds of change: named or not, the amount, and the interval of the amount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.formatting import format_percent
from ..base.rng import generator
from ..significance import percentile_interval
from ..significance.resampling import half_width

BOOTSTRAP_REPLICATES, FINDING_CONFIDENCE = 1000, 0.99
MIN_NAMED_CHANGE = {  # changes smaller than this are not named, however certain they are
    "translation": 0.01, "scale": 0.01, "rotation": 1e-3, "linear": 1e-3, "collapse": 0.05,
    "neighbours": 0.05, "classes": 0.02, "moved_classes": 0.01,
}  # fmt: skip
LOSS_KINDS = ("collapse", "neighbours", "classes", "moved_classes")
CHANGE_NAMES = {
    "translation": "translation", "scale": "change of scale", "rotation": "rotation",
    "linear": "anisotropic linear map", "collapse": "loss of dimensions",
    "neighbours": "loss of neighbours", "classes": "loss of class structure",
    "moved_classes": "classes moved",
}  # fmt: skip
MIN_WRITTEN_VALUE = 1e-9  # smaller values are shown as 0


@dataclass(frozen=True)
class Finding:
    """A kind of change: named or not, the amount with its interval, and a sentence.

    ``amount`` is ``None`` if the kind was not assessed or has no number: the sentence gives the
    reason. ``threshold`` belongs to a loss; ``exceeds_threshold`` says whether the loss is above
    the threshold. ``explained``: there is a loss, but the loss is not named because the chosen map
    explains the loss.
    """

    kind: str
    named: bool
    amount: float | None
    low: float | None
    high: float | None
    sentence: str
    confidence_level: float = FINDING_CONFIDENCE  # of the interval
    threshold: float | None = None
    exceeds_threshold: bool = False
    explained: bool = False

    @property
    def assessed(self) -> bool:
        """Whether the data could show the kind of change."""
        return self.named or self.amount is not None


def format_change(finding: Finding) -> str:
    """Return the name of a kind of change, with the names of the moved classes."""
    name = CHANGE_NAMES[finding.kind]
    return f"{name}: {finding.sentence}" if finding.kind == "moved_classes" else name


def unassessed_finding(kind: str, reason: str) -> Finding:
    """Return a finding without amount, for a kind of change that the data or the call cannot show.
    ``reason``: why, in words."""
    return Finding(kind, False, None, None, None, reason)


def format_distinct_percents(share: float, other_share: float) -> tuple[str, str]:
    """Return two shares as two percentages, with enough digits to distinguish unequal shares."""
    if share == other_share or format_percent(share) != format_percent(other_share):
        return format_percent(share), format_percent(other_share)
    for digits in range(2, 15):
        pair = f"{100 * share:.{digits}f} %", f"{100 * other_share:.{digits}f} %"
        if pair[0] != pair[1]:
            return pair
    return format_percent(share), format_percent(other_share)


def bootstrap_mean_interval(
    values: np.ndarray,
    seed: int,
    *labels: str,
    confidence_level: float = FINDING_CONFIDENCE,
    size: int | None = None,
) -> tuple[float, float]:
    """Return the ends (low, high) of the bootstrap interval of the mean of ``values``, one number
    per sample.

    ``labels``: words that make the random draws differ from other draws with the seed.
    ``confidence_level``: from 0 to 1. ``size``: the number of samples in each draw, by default all.
    """
    draws = generator(seed, "interval", *labels).integers(
        len(values), size=(BOOTSTRAP_REPLICATES, size or len(values))
    )
    return percentile_interval(
        values[draws].mean(axis=1), ((1 - confidence_level) / 2, (1 + confidence_level) / 2)
    )


def leave_out_half_width(estimates: Sequence[np.ndarray]) -> float:
    """Return half the width of the jackknife interval of an estimate, from the estimates without
    each part of the samples.

    ``estimates``: numbers, or vectors of equal length; the half widths of the entries of a vector
    combine as the root of the sum of squares. The interval is
    :func:`~resemblance.significance.resampling.half_width`.
    """
    values = np.stack([np.atleast_1d(e) for e in estimates], axis=-1)
    return float(np.linalg.norm(half_width(values, "groups", FINDING_CONFIDENCE)))
