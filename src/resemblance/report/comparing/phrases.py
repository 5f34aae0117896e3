"""Phrases of a finding: the extremes of values, whether they differ, and chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...comparison import MeasureInfo, most_similar
from ..evidence_words import brief
from ..numbers import minus
from .shown import Shown, mean_chance

Places = list[tuple[int, int]]


def ends(shown: Shown, values: Sequence[float]) -> tuple[int, int]:
    """Return where the most and the least similar of some values are."""
    order = np.argsort(values, kind="stable")
    first, last = int(order[-1]), int(order[0])
    return (first, last) if shown.leading.larger_is_more_similar else (last, first)


def is_same(values: Sequence[float]) -> bool:
    """Whether all values are the same in the digits that a sentence has."""
    return len({brief(float(value)) for value in (min(values), max(values))}) == 1


def top_words(info: MeasureInfo, values: Sequence[float]) -> str:
    top = most_similar(info)
    is_top = math.isfinite(top) and np.allclose(values, top, rtol=1e-6, atol=1e-6)
    return ", the most similar value there can be" if is_top else ""


def overlap_words(shown: Shown, one: tuple[int, int], other: tuple[int, int]) -> str:
    """Say that two intervals overlap, so that the order of the two values is not certain."""
    if shown.evidence is None:
        return ""
    low, high = shown.evidence.low(shown.leading.spec), shown.evidence.high(shown.leading.spec)
    overlaps = low[one] <= high[other] and low[other] <= high[one]
    return "; these intervals overlap" if overlaps else ""


def chance_words(shown: Shown, places: Places) -> str:
    """Say what the same pairs score by chance, if that is known for all of them."""
    chance = mean_chance(shown, shown.leading, places)
    if math.isnan(chance):
        return ""
    many = "these pairs score" if len(places) > 1 else "this pair scores"
    return f"; with the samples in random order {many} {written(chance)} on average"


def written(value: float) -> str:
    return minus(brief(value))
