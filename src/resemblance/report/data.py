"""The data of a comparison's page: values of measures over pairs, extremes, agreement, failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..catalogue import get_measure
from ..comparison import Comparison, MeasureInfo, chance_of
from ..display import ORDINARY, without_rounding
from ..measure import Measure
from ..significance import average_ranks
from .numbers import number

FEW_PAIRS = 6  # below this, whether two measures rank pairs alike is mostly chance
MOST, FAR = 0.9, 4.0  # a largest value so many times the quantile of most values is far beyond


class ColourScale(NamedTuple):
    """The values at the ends of a colour scale, and its span if not the range of the measure."""

    limits: tuple[float, float]
    note: str = ""


class MeasureAgreement(NamedTuple):
    """How alike every two measures rank the pairs, NaN where one has the same value for all."""

    labels: tuple[str, ...]
    values: np.ndarray


class MeasureRow(NamedTuple):
    """One measure over the pairs of a comparison: a line of the table.

    ``None`` where no pair has a value.
    """

    name: str
    label: str
    family: str
    larger_is_more_similar: bool
    range: tuple[float, float]
    smallest: float | None
    median: float | None
    largest: float | None
    seconds: float
    failed: int
    pairs: int


class Extremes(NamedTuple):
    """The most and the least similar pair; ``None`` where no pair has a value."""

    most_similar: tuple[str, str] | None
    least_similar: tuple[str, str] | None


class FailureGroup(NamedTuple):
    """All failures with one reason: the measures, the number of missing values, the first pair."""

    reason: str
    measures: tuple[str, ...]
    values: int
    example: tuple[str, str]


def summary(comparison: Comparison) -> tuple[MeasureRow, ...]:
    """Return one row per measure, over the pairs of different representations."""
    return tuple(_measure_row(comparison, info) for info in comparison.measures)


def agreement(comparison: Comparison) -> MeasureAgreement | None:
    """Return how alike every two measures rank the pairs: Spearman's correlation.

    ``None`` with fewer than two measures or too few pairs. A measure that gives all pairs the same
    value has none.
    """
    pairs = off_diagonal(comparison)
    if len(comparison.measures) < 2 or pairs.sum() < FEW_PAIRS:
        return None
    names = tuple(m.spec for m in comparison.measures)
    labels = tuple(m.label for m in comparison.measures)
    values = _correlations([comparison.difference(name)[pairs] for name in names])
    return MeasureAgreement(labels if len(set(labels)) == len(labels) else names, values)


def _correlations(differences: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rank correlation of every two vectors; they are ranked once if all are finite."""
    if not all(np.isfinite(d).all() and not _is_constant(d) for d in differences):
        return np.array([[spearman(a, b) for b in differences] for a in differences])
    return np.asarray(np.corrcoef([average_ranks(d) for d in differences]))


def _is_constant(values: np.ndarray) -> bool:
    """Whether all values are the same but for rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Return the rank correlation of two vectors where both are finite; NaN if few or constant."""
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < FEW_PAIRS or _is_constant(a) or _is_constant(b):
        return np.nan
    return float(np.corrcoef(average_ranks(a), average_ranks(b))[0, 1])


def failure_groups(comparison: Comparison) -> tuple[FailureGroup, ...]:
    """Return the failures by reason, the most frequent first."""
    groups = dict[str, FailureGroup]()
    for spec, x, y, reason in comparison.failures:
        group = groups.get(reason, FailureGroup(reason, (), 0, (x, y)))
        measures = group.measures if spec in group.measures else (*group.measures, spec)
        groups[reason] = group._replace(measures=measures, values=group.values + 1)
    return tuple(sorted(groups.values(), key=lambda group: -group.values))


def chance_words(comparison: Comparison, info: MeasureInfo) -> str:
    """Return the chance of a measure over the pairs, such as "0.21 to 0.23"; empty if unknown."""
    chance = chance_of(comparison, info.spec)
    known = chance[~np.isnan(chance)]
    if not known.size:
        return ""
    return " to ".join(dict.fromkeys(number(float(f(known)), 2) for f in (np.min, np.max)))


def is_square(comparison: Comparison) -> bool:
    """Say whether all pairs of one list were compared, rather than one list with another."""
    same_names = comparison.rows == comparison.columns
    return same_names and comparison.provenance["rows"] == comparison.provenance["columns"]


def pair_of(comparison: Comparison) -> tuple[int, int] | None:
    """Return the row and column of the only pair of different representations; else None."""
    places = np.argwhere(off_diagonal(comparison)).tolist()
    is_one = len(places) == (2 if is_square(comparison) else 1)
    return (places[0][0], places[0][1]) if is_one else None


def off_diagonal(comparison: Comparison) -> np.ndarray:
    """Return True for the pairs of different representations: all but the diagonal of a square."""
    shape = len(comparison.rows), len(comparison.columns)
    return ~np.eye(*shape, dtype=bool) if is_square(comparison) else np.ones(shape, dtype=bool)


def colour_scale(
    values: np.ndarray, bounds: tuple[float, float], *, stretch: bool = False
) -> ColourScale:
    """Return the scale of the colours: the range of the measure.

    A colour means the same in every map.

    An end that is infinite or far away (IMD reaches 18316) is that of the values, or 0; ``stretch``
    makes both ends those of the values. Where a few values are far larger than the rest, the scale
    ends before them, so that the rest can be told apart. Then the scale has a note.
    """
    finite = values[np.isfinite(values)]
    least, most = (float(f(finite)) for f in (np.min, np.max)) if finite.size else (0.0, 1.0)
    if stretch and least < most:
        return ColourScale((least, most), "colours span the values only")
    has_low, has_high = (bool(np.isfinite(end)) and abs(end) < ORDINARY for end in bounds)
    low = bounds[0] if has_low else min(least, 0.0)
    high = bounds[1] if has_high else max(_usual(finite), 0.0)
    note = "scale ends at the largest value" if has_low else "scale ends at the values"
    note = "" if has_low and has_high else note
    if high < most:
        beyond = int((finite > high).sum())
        note = f"scale ends at {number(high)}, {beyond} of {finite.size} values lie beyond"
    return ColourScale((float(low), float(high) if high > low else float(low) + 1.0), note)


def _usual(values: np.ndarray) -> float:
    """Return the largest value or, where it is far beyond most values, the largest of these."""
    if not values.size:
        return 1.0
    most, usual = float(values.max()), float(np.quantile(values, MOST, method="lower"))
    return most if usual <= 0 or most <= FAR * usual else usual


def definition(info: MeasureInfo) -> str:
    """Return the sentence that defines a measure, or nothing if it is not in the catalogue."""
    try:
        measure = get_measure(info.spec)
    except ValueError:
        return ""
    return measure.summary.replace("``", "") if measure.label == info.label else ""


def extremes(comparison: Comparison, measure: str | Measure) -> Extremes:
    """Return the most and the least similar pair of different representations under a measure."""
    difference = np.where(off_diagonal(comparison), comparison.difference(measure), np.nan)
    if np.isnan(difference).all():
        return Extremes(None, None)
    places = (
        np.unravel_index(f(difference), difference.shape) for f in (np.nanargmin, np.nanargmax)
    )
    most, least = ((comparison.rows[i], comparison.columns[j]) for i, j in places)
    return Extremes(most, least)


def _measure_row(comparison: Comparison, info: MeasureInfo) -> MeasureRow:
    pairs = off_diagonal(comparison)
    if info.symmetric and is_square(comparison):
        pairs = np.triu(pairs)
    values = without_rounding(comparison.values[info.spec][pairs], info)
    known = values[~np.isnan(values)]
    least, middle, most = (
        float(f(known)) if known.size else None for f in (np.min, np.median, np.max)
    )
    return MeasureRow(
        info.spec,
        info.label,
        info.family,
        info.larger_is_more_similar,
        info.range,
        least,
        middle,
        most,
        comparison.seconds[info.spec],
        values.size - known.size,
        values.size,
    )
