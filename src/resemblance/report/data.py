"""The data behind every figure and table of a report, computed from a comparison and drawn by
nobody here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..catalogue import get_measure
from ..comparison import ORDINARY, Comparison, MeasureInfo, without_rounding
from ..measure import Measure
from ..significance import average_ranks

FEW_PAIRS = 6  # below this, whether two measures rank pairs alike is mostly chance


class Span(NamedTuple):
    """Consecutive rows or columns of one model: its name, the first position, and one past the
    last."""

    name: str
    start: int
    stop: int


class ColourScale(NamedTuple):
    """The values at the ends of a colour scale, and what it spans if that is not the range of the
    measure."""

    limits: tuple[float, float]
    note: str = ""


class HeatMap(NamedTuple):
    """One matrix to be coloured: NaN where there is no value."""

    name: str
    label: str
    definition: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray
    scale: ColourScale
    larger_is_more_similar: bool
    reasons: Mapping[tuple[int, int], str]


class MeasureRow(NamedTuple):
    """One measure over the pairs of a comparison: the line of the table. ``None`` where no pair has
    a value."""

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
    """All failures with one reason: the measures concerned, how many values are missing, and the
    first pair."""

    reason: str
    measures: tuple[str, ...]
    values: int
    example: tuple[str, str]


class InputRow(NamedTuple):
    """One representation as it was given."""

    name: str
    side: str
    n_features: int
    dtype: str
    computed_in: str
    fingerprint: str


class Provenance(NamedTuple):
    """What a comparison was computed with and from."""

    settings: tuple[tuple[str, str], ...]
    inputs: tuple[InputRow, ...]


def summary(comparison: Comparison) -> tuple[MeasureRow, ...]:
    """Return one row per measure, over the pairs of different representations."""
    return tuple(_measure_row(comparison, info) for info in comparison.measures)


def heat_map(comparison: Comparison, measure: str | Measure, *, stretch: bool = False) -> HeatMap:
    """Return the matrix of a measure with the scale of its colours and the reasons of what is
    missing."""
    info = comparison.info(measure)
    values = comparison.values[info.spec]
    row, column = (
        {name: i for i, name in enumerate(side)} for side in (comparison.rows, comparison.columns)
    )
    reasons = {
        (row[f.x], column[f.y]): f.reason for f in comparison.failures if f.measure == info.spec
    }
    return HeatMap(
        info.spec,
        info.label,
        definition(info),
        comparison.rows,
        comparison.columns,
        values,
        colour_scale(values, info.range, stretch=stretch),
        info.larger_is_more_similar,
        reasons,
    )


def agreement(comparison: Comparison) -> HeatMap | None:
    """Return how alike every two measures rank the pairs: Spearman correlation of their
    differences.

    ``None`` with fewer than two measures or too few pairs. A measure that gives all pairs the same
    value has none.
    """
    pairs = off_diagonal(comparison)
    if len(comparison.measures) < 2 or pairs.sum() < FEW_PAIRS:
        return None
    names = tuple(m.spec for m in comparison.measures)
    labels = tuple(m.label for m in comparison.measures)
    titles = labels if len(set(labels)) == len(labels) else names
    differences = [comparison.difference(name)[pairs] for name in names]
    values = np.array([[_spearman(a, b) for b in differences] for a in differences])
    constant = "one of the two has the same value for all pairs"
    reasons = {(int(i), int(j)): constant for i, j in np.argwhere(np.isnan(values))}
    return HeatMap(
        "agreement",
        "Agreement",
        "Spearman correlation between the differences two measures find.",
        titles,
        titles,
        values,
        colour_scale(values, (-1, 1)),
        True,
        reasons,
    )


def failure_groups(comparison: Comparison) -> tuple[FailureGroup, ...]:
    """Return the failures by reason, the most frequent first."""
    by_reason: dict[str, list[Any]] = {}
    for failure in comparison.failures:
        by_reason.setdefault(failure.reason, []).append(failure)
    groups = [
        FailureGroup(
            reason,
            tuple(dict.fromkeys(f.measure for f in found)),
            len(found),
            (found[0].x, found[0].y),
        )
        for reason, found in by_reason.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.values))


def provenance(comparison: Comparison) -> Provenance:
    """Return what the comparison was computed with (one name and text each) and its
    representations."""
    sides = ("rows",) if is_square(comparison) else ("rows", "columns")
    settings = tuple(
        (key.removeprefix("n_").replace("_", " "), _as_text(value))
        for key, value in comparison.provenance.items()
        if key not in ("rows", "columns")
    )
    inputs = [
        InputRow(
            name,
            side,
            entry["n_features"],
            entry["dtype"],
            entry["computed_in"],
            entry["fingerprint"],
        )
        for side in sides
        for name, entry in comparison.provenance[side].items()
    ]
    return Provenance(settings, tuple(inputs))


def is_square(comparison: Comparison) -> bool:
    """Say whether all pairs of one list were compared, rather than one list with another."""
    same_names = comparison.rows == comparison.columns
    return same_names and comparison.provenance["rows"] == comparison.provenance["columns"]


def off_diagonal(comparison: Comparison) -> np.ndarray:
    """Return True for the pairs of different representations: all but the diagonal of a square."""
    shape = len(comparison.rows), len(comparison.columns)
    return ~np.eye(*shape, dtype=bool) if is_square(comparison) else np.ones(shape, dtype=bool)


def spans(names: Sequence[str]) -> tuple[Span, ...]:
    """Return the runs of names that share what stands before their last slash; none unless every
    name has one."""
    if not all(0 < name.rfind("/") < len(name) - 1 for name in names):
        return ()
    models = [name.rpartition("/")[0] for name in names]
    starts = [i for i, model in enumerate(models) if i == 0 or models[i - 1] != model]
    return tuple(
        Span(models[start], start, stop) for start, stop in zip(starts, [*starts[1:], len(names)])
    )


def colour_scale(
    values: np.ndarray, bounds: tuple[float, float], *, stretch: bool = False
) -> ColourScale:
    """Return the scale of the colours: the range of the measure, so that a colour means the same in
    every map.

    An end that is infinite or far away (IMD reaches 18316) is that of the values, or 0; ``stretch``
    makes both ends those of the values. Then the scale has a note.
    """
    finite = values[np.isfinite(values)]
    least, most = (float(f(finite)) for f in (np.min, np.max)) if finite.size else (0.0, 1.0)
    if stretch and least < most:
        return ColourScale((least, most), "colours span the values only")
    known = [bool(np.isfinite(end)) and abs(end) < ORDINARY for end in bounds]
    low, high = (
        bounds[0] if known[0] else min(least, 0.0),
        bounds[1] if known[1] else max(most, 0.0),
    )
    note = (
        ""
        if all(known)
        else "scale ends at the largest value"
        if known[0]
        else "scale ends at the values"
    )
    return ColourScale((float(low), float(high) if high > low else float(low) + 1.0), note)


def definition(info: MeasureInfo) -> str:
    """Return the sentence that defines a measure of the catalogue, or nothing for one that is not
    in it."""
    try:
        found = get_measure(info.spec)
    except ValueError:
        return ""
    return found.summary.replace("``", "") if found.label == info.label else ""


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


def number(value: float | None) -> str:
    """Write a number in four significant digits, a missing one as a dash."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


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


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < FEW_PAIRS or any(
        np.ptp(v) <= 1e-12 * np.abs(v).max() for v in (a, b)
    ):  # but for rounding, constant
        return np.nan
    return float(np.corrcoef(average_ranks(a), average_ranks(b))[0, 1])


def _as_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_as_text(part)}" for name, part in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(_as_text(part) for part in value)
    return str(value)
