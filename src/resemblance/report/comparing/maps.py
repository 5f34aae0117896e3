"""Maps of measures: values with their scale, what is above chance, and those of whole families."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...comparison import Comparison, MeasureInfo, chance_of
from ...display import without_rounding
from ...inference.result import Evidence, above_chance
from ...results.figures import HeatMap
from ...results.sections import Section
from ..data import chance_words, colour_scale, definition
from ..evidence_words import ALPHA, Readings, words_of
from ..numbers import minus
from .shown import Shown

HATCHING = f"not beyond chance (adjusted p > {ALPHA:g})"
FEW = 4  # measures whose maps are not worth sections by family
ENDS = ("different", "similar")
Entries = tuple[tuple[float | None, ...], ...]


def heat_map(comparison: Comparison, info: MeasureInfo, *, stretch: bool = False) -> HeatMap:
    """Return the matrix of a measure with its colour scale and the reasons of missing values."""
    values = without_rounding(comparison.values[info.spec], info)
    ends, scale_note = colour_scale(values, info.range, stretch=stretch)
    direction = "Larger" if info.larger_is_more_similar else "Smaller"
    chance = chance_words(comparison, info)
    facts = (f"{direction} is more similar", scale_note, chance and f"chance is {chance}")
    reading = "; ".join(filter(None, facts))
    reasons = {(f.x, f.y): f.reason for f in comparison.failures if f.measure == info.spec}
    return HeatMap(
        info.spec,
        info.label,
        comparison.rows,
        comparison.columns,
        map_entries(values),
        " ".join(filter(None, (definition(info), f"{reading}."))),
        ends,
        is_diverging=ends[0] < 0 < ends[1],
        is_reversed=not info.larger_is_more_similar,
        titles=map_titles(comparison.rows, comparison.columns, reasons),
        subtitle=info.spec if info.spec != info.label else "",
        ends=ENDS,
        chance=map_entries(chance_of(comparison, info.spec)) if chance else (),
    )


def value_map(shown: Shown, info: MeasureInfo) -> HeatMap:
    """Return the map of a measure; with evidence, cells not beyond chance are hatched, and the
    pointer reads all that is known of each."""
    heat = heat_map(shown.comparison, info, stretch=shown.stretch)
    known = shown.readings.get(info.spec)
    return heat if known is None else marked(heat, known)


def marked(heat: HeatMap, known: Readings) -> HeatMap:
    """Return a map with what the pointer reads in each cell, hatched where it is not beyond
    chance."""
    titles = tuple(tuple(minus(words_of(cell)) for cell in row) for row in known.cells)
    hatched = tuple(
        (i, j)
        for i, row in enumerate(known.cells)
        for j, cell in enumerate(row)
        if cell.is_tested and not cell.is_beyond
    )
    return heat._replace(titles=titles, hatched=hatched, hatching=HATCHING, chance=())


def map_titles(
    rows: Sequence[str], columns: Sequence[str], reasons: Mapping[tuple[str, str], str]
) -> tuple[tuple[str, ...], ...]:
    """Return what the pointer reads in the cells that have a reason; nothing if none has."""
    if not reasons:
        return ()
    return tuple(tuple(reasons.get((x, y), "") for y in columns) for x in rows)


def map_entries(values: np.ndarray) -> Entries:
    """Return the values of a map, None for those that are not finite."""
    return tuple(
        tuple(value if math.isfinite(value) else None for value in row) for row in values.tolist()
    )


def above_map(evidence: Evidence, info: MeasureInfo, stretch: bool) -> HeatMap:
    """Return the map of what is above chance, 0 at chance and 1 for the most similar value."""
    above = np.round(above_chance(evidence, info), 3) + 0.0  # no −0
    known = above[np.isfinite(above)]
    low = min(0.0, float(known.min(initial=0.0)))
    high = float(known.max(initial=low)) if stretch and known.size else 1.0
    return HeatMap(
        f"{info.spec} above chance",
        info.label,
        evidence.rows,
        evidence.columns,
        map_entries(above),
        "0 is chance, 1 the most similar value.",
        span=(low, high if high > low else 1.0),
        is_diverging=low < 0,
        ends=("at chance", "most similar"),
    )


def family_sections(shown: Shown) -> Iterator[Section]:
    """Yield the maps of all measures, closed: a section for each family, one for few measures."""
    measures = shown.comparison.measures
    if len(measures) < 2:
        return
    families: dict[str, list[MeasureInfo]] = {}
    for info in measures:
        families.setdefault(family_name(info), []).append(info)
    if len(measures) <= FEW or len(families) == 1:
        yield _section(shown, "maps", f"All {len(measures)} maps", measures)
        return
    for name, members in families.items():
        title = f"Maps: {name} ({len(members)})"
        yield _section(shown, f"maps-{name.replace(' ', '-')}", title, members)


def _section(shown: Shown, name: str, title: str, measures: Sequence[MeasureInfo]) -> Section:
    maps = (value_map(shown, info) for info in measures)
    about = "Each scale is the range of its measure, unless the map has another end."
    return Section(name, title, about, figures=tuple(maps), is_closed=True)


def family_name(info: MeasureInfo) -> str:
    """Return the name of the family of a measure in words."""
    return info.family.replace("_", " ")
