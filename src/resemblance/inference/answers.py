"""Return types of the methods of :class:`.Evidence`: pair, best pair, difference, influence,
curve."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from .nulls import format_labeled_pvalue


class PairEvidence(NamedTuple):
    """All evidence about one measure of one pair; NaN for missing numbers.

    ``value`` with an interval from ``low`` to ``high``, the ``chance`` level and the score
    ``above_chance`` (1 for the most similar value); ``pvalue``, and ``pvalue_familywise``, adjusted
    for all pairs of the map; ``how``, the method for chance, and the ``reason`` for missing
    numbers, or "".
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
    """The pair furthest above chance; the p-value is adjusted for the search among all pairs."""

    x: str
    y: str
    value: float
    pvalue: float


class Difference(NamedTuple):
    """The difference between two scores, with an interval and a two-sided p-value."""

    value: float
    low: float
    high: float
    pvalue: float

    def __repr__(self) -> str:
        numbers = (f"{name} = {getattr(self, name):.3g}" for name in ("value", "low", "high"))
        return f"Difference({', '.join(numbers)}, {format_labeled_pvalue(self.pvalue)})"


class Influence(NamedTuple):
    """The influence of samples or groups: the score minus the score without the sample or group.

    ``of``: the ids or numbers of the samples, or the labels of the groups.
    """

    of: tuple[Hashable, ...]
    values: np.ndarray


class Contributions(NamedTuple):
    """Contributions of pairs of classes to a score, (classes, classes); the sum is the score."""

    classes: tuple[Hashable, ...]
    values: np.ndarray


class CurvePoint(NamedTuple):
    """The mean and standard deviation of a score over random subsets of ``samples`` samples."""

    samples: int
    value: float
    std: float
