"""What evidence answers about a pair, two pairs, the best pair, and the samples of a pair."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from .nulls import format_labeled_pvalue


class PairEvidence(NamedTuple):
    """What is known about one measure of one pair; NaN for what does not exist.

    ``value`` with its interval from ``low`` to ``high``, its ``chance`` level and the share of what
    is possible ``above_chance``; ``pvalue``, and ``pvalue_familywise`` for all pairs of the map;
    ``how`` chance was computed, and the ``reason`` why something is missing, or "".
    """

    value: float
    low: float
    high: float
    chance: float
    above_chance: float
    pvalue: float
    pvalue_familywise: float
    how: str
    reason: str


class Best(NamedTuple):
    """The pair furthest above chance; its p-value pays for the search among all pairs."""

    x: str
    y: str
    value: float
    pvalue: float


class Difference(NamedTuple):
    """A difference between two scores, with its interval and its two-sided p-value."""

    value: float
    low: float
    high: float
    pvalue: float

    def __repr__(self) -> str:
        numbers = (f"{name} = {getattr(self, name):.3g}" for name in ("value", "low", "high"))
        return f"Difference({', '.join(numbers)}, {format_labeled_pvalue(self.pvalue)})"


class Influence(NamedTuple):
    """How much samples, or groups of them, add to a value: it, minus the value without each.

    ``of``: the id or the number of each sample, or the label of each group.
    """

    of: tuple[Hashable, ...]
    values: np.ndarray


class Contributions(NamedTuple):
    """Shares of a value that add up to it, one for each pair of classes: (classes, classes)."""

    classes: tuple[Hashable, ...]
    values: np.ndarray


class CurvePoint(NamedTuple):
    """The mean of a value over random parts of so many samples, and its standard deviation."""

    samples: int
    value: float
    std: float
