"""What an evidence adds to the page of a comparison: how many pairs are beyond chance, by each
measure, and every value with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...inference.nulls import p_text
from ...inference.result import Evidence
from ...results.sections import Entry, Section, Table
from ..evidence_tables import interval_of, places_of
from ..evidence_words import ALPHA, Reading, Readings, furthest, level_words
from ..numbers import counted
from .shown import Shown, curves_of, places_of_curve

READING = (
    "Above chance is (value − chance) / (most similar value − chance): 0 at chance, 1 for the most "
    "similar there can be. p is the probability, under the null hypothesis, of a value at least as "
    "similar."
)
ADJUSTED = (
    "Adjusted p-values hold for all pairs of a map at once, not for all measures. A pair is beyond "
    f"chance if its adjusted p is at most {ALPHA:g}."
)
FEW_ROWS, MOST_ROWS = 24, 2000  # longer tables are closed at first, or left to files
PAIR = ("x", "y")
SCORES = ("value", "{level} interval", "chance", "above chance", "p")


def evidence_sections(shown: Shown) -> Iterator[Section]:
    """Yield the tables of an evidence; nothing without one."""
    evidence = shown.evidence
    known = [shown.readings[m.spec] for m in shown.measures if m.spec in shown.readings]
    if evidence is None:
        return
    if is_one_pair(known):
        yield Section("pair", "The pair", READING, (values_table(evidence, known),))
        return
    if pairs := _depths_table(shown, evidence):
        yield Section("depths", "Layers of equal depth", "", (pairs,))
    yield _overview(evidence, known)
    yield _all_values(evidence, known)


def is_one_pair(known: Sequence[Readings]) -> bool:
    """Say whether all that there is to show is of two representations."""
    return len({frozenset((pair.x, pair.y)) for of in known for pair in of.pairs}) <= 1


def _depths_table(shown: Shown, evidence: Evidence) -> Table | None:
    """Return the layers of equal depth by the leading measure, with all that is known of them."""
    known = shown.readings[shown.leading.spec]
    places = [p for curve in curves_of(shown, shown.leading) for p in places_of_curve(shown, curve)]
    if not places:
        return None
    scores = [name.format(level=level_words(evidence)) for name in SCORES]
    columns = (*PAIR, *scores, "adjusted p", "how")
    cells = [known.cells[i][j] for i, j in places]
    decimals = places_of(known._replace(pairs=tuple(cells)))
    rows = tuple(_value_row("", cell, decimals, is_one_way=False)[1:] for cell in cells)
    title = f"Layers of equal depth by {shown.label(shown.leading)}"
    return Table("depths", title, columns, rows, is_closed=len(rows) > FEW_ROWS)


def _overview(evidence: Evidence, known: Sequence[Readings]) -> Section:
    level = level_words(evidence)
    names = ("measure", "label", "beyond chance", "median above chance", "furthest above chance")
    columns = (*names, "value", f"{level} interval", "chance", "adjusted p")
    rows = tuple(_overview_row(evidence, of) for of in known)
    table = Table("measures", "", columns, rows)
    return Section("beyond", "Beyond chance", f"{READING} {ADJUSTED}", (table,))


def _overview_row(evidence: Evidence, known: Readings) -> tuple[Entry, ...]:
    tested = known.tested
    start = known.info.spec, known.info.label
    if not tested:
        return (*start, "not tested", *[None] * 6)
    best = furthest(evidence, known)
    above = [pair.above for pair in tested if not math.isnan(pair.above)]
    return (
        *start,
        f"{known.beyond} of {len(tested)}",
        float(np.median(above)) if above else None,
        f"{best.x} and {best.y}",
        *(_or_none(best.value), _interval(best, places_of(known)), _or_none(best.chance)),
        p_text(best.adjusted, best.how),
    )


def _all_values(evidence: Evidence, known: Sequence[Readings]) -> Section:
    """Return the table of all pairs, or where it is if it is too long for a page."""
    count = sum(len(of.pairs) for of in known)
    if count <= MOST_ROWS:
        return Section("values", "All values", "", (values_table(evidence, known),))
    words = f"{counted(count, 'value')} are too many for a page; a file has them as CSV or JSON."
    return Section("values", "All values", words)


def values_table(evidence: Evidence, known: Sequence[Readings]) -> Table:
    """Return a row per measure and pair."""
    is_single = is_one_pair(known)
    is_one_way = is_single and all(len(of.pairs) == 1 for of in known)
    scores = [name.format(level=level_words(evidence)) for name in SCORES]
    adjusted = () if is_one_way else ("adjusted p",)
    columns = ("measure", *(() if is_one_way else PAIR), *scores, *adjusted, "how")
    rows = tuple(
        _value_row(of.info.spec, pair, places, is_one_way)
        for of, places in zip(known, map(places_of, known))
        for pair in of.pairs
    )
    pair = known[0].pairs[0] if is_one_way else None
    title = f"{pair.x} and {pair.y}" if pair else "Every pair by every measure"
    return Table("all", title, columns, rows, is_closed=len(rows) > FEW_ROWS)


def _value_row(spec: str, pair: Reading, places: int | None, is_one_way: bool) -> tuple[Entry, ...]:
    names = () if is_one_way else (pair.x, pair.y)
    value, chance, above = map(_or_none, (pair.value, pair.chance, pair.above))
    scores = (value, _interval(pair, places), chance, above)
    p = p_text(pair.p, pair.how) if pair.is_tested else None
    adjusted = p_text(pair.adjusted, pair.how) if pair.is_tested else None
    how = pair.how or pair.reason or None
    return (spec, *names, *scores, p, *(() if is_one_way else (adjusted,)), how)


def _interval(pair: Reading, places: int | None) -> str | None:
    return None if math.isnan(pair.low) else interval_of(pair, places)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
