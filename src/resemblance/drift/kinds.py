"""A kind of change that was looked for: whether it is named, how much of it there is, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..rng import generator

DRAWS, LEVEL = 1000, 0.99
FLOOR = {  # changes smaller than this are not named, however certain they are
    "translation": 0.01, "scale": 0.01, "rotation": 1e-3, "linear": 1e-3, "collapse": 0.05, "neighbours": 0.05,
    "classes": 0.02,
}  # fmt: skip
KINDS = tuple(FLOOR)
LOSSES = ("collapse", "neighbours", "classes")


@dataclass(frozen=True)
class Finding:
    """One kind of change: whether it is named, how much of it there is, its interval, and a sentence about it.

    ``amount`` is ``None`` when the kind was not looked for or has no number: the sentence says why. ``threshold`` is
    that of a loss, ``exceeds`` whether a loss that is named lies beyond it.
    """

    kind: str
    named: bool
    amount: float | None
    low: float | None
    high: float | None
    said: str
    level: float = LEVEL  # of the interval
    threshold: float | None = None
    exceeds: bool = False

    @property
    def looked_for(self) -> bool:
        """Whether the data could show this kind of change."""
        return self.named or self.amount is not None


def not_looked_for(kind: str, why: str) -> Finding:
    """A kind of change that these data, or this call, cannot show."""
    return Finding(kind, False, None, None, None, why)


def interval(values: np.ndarray, seed: int, *labels: str) -> tuple[float, float]:
    """Bootstrap interval of the mean of one number per sample."""
    chosen = generator(seed, "interval", *labels).integers(len(values), size=(DRAWS, len(values)))
    low, high = np.quantile(values[chosen].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def margin(estimates: Sequence[np.ndarray]) -> float:
    """Half the width of the interval of an estimate, from its values (numbers or vectors) without a part each.

    The grouped jackknife: the deviation is that of the values times √(g - 1), and the quantile that of Student's t with
    g - 1 degrees of freedom, g parts.
    """
    from scipy.stats import t

    parts = np.stack([np.atleast_1d(e) for e in estimates])
    deviation = np.sqrt((len(parts) - 1) * ((parts - parts.mean(axis=0)) ** 2).sum(axis=1).mean())
    return float(deviation * t.ppf((1 + LEVEL) / 2, len(parts) - 1))
