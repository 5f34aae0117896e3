"""An evidence as a result for a page: what is beyond chance, maps, and every value with its
interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..columns import CHANCE
from ..comparison import MeasureInfo, diagnostic_notes
from ..inference.result import Evidence
from ..inference.words import (
    ALPHA,
    Reading,
    Readings,
    above_chance,
    design_facts,
    furthest,
    has_most_similar,
    level_words,
    null_words,
    p_text,
    readings,
    results_in_words,
    words_of,
)
from ..results.figures import Choice, HeatMap, Option
from ..results.result import Result
from ..results.sections import Entry, Section, Table
from .data import definition
from .evidence_tables import interval_of, places_of
from .numbers import counted, minus
from .of_comparison import failures_table, heat_map, inputs_table, map_entries, settings_of

VALUE, ABOVE = "value", "above chance"
HATCHING = f"not beyond chance (adjusted p > {ALPHA:g})"
READING = (
    "Above chance is (value − chance) / (most similar value − chance): 0 at chance, 1 for the most "
    "similar there can be. p is the probability, under the null hypothesis, of a value at least as "
    "similar."
)
ADJUSTED = (
    "Adjusted p-values hold for all pairs of a map at once, not for all measures. A pair is beyond "
    f"chance if its adjusted p is at most {ALPHA:g}."
)
MAPS = (
    "Dark blue is similar whatever the direction of a measure; a switch above each map changes all "
    "of them between values and values above chance. Hatched cells are not beyond chance. Point at "
    "a cell, or use the arrow keys, to read everything about it; click a map to enlarge it."
)
FEW_ROWS, MOST_ROWS = 24, 2000  # longer tables are closed at first, or left to files
PAIR = ("x", "y")
SCORES = ("value", "{level} interval", "chance", "above chance", "p")


def result_of_evidence(evidence: Evidence, *, stretch: bool = False) -> Result:
    """Return an evidence as a result for a page.

    With ``stretch`` the colours of every map span its values.
    """
    known = readings(evidence)
    return Result(
        "evidence",
        "",
        tuple(_sections(evidence, known, stretch)),
        provenance={**settings_of(evidence.comparison), "seed": evidence.design.seed},
        facts={name: minus(fact) for name, fact in design_facts(evidence).items()},
        lead="\n".join(map(_one_line, results_in_words(evidence, known))),
        title="Evidence for similarity",
        about=null_words(evidence),
    )


def _one_line(text: str) -> str:
    """Return a text without line breaks, which names of representations may have."""
    return minus(" ".join(text.split()))


def _sections(evidence: Evidence, known: Sequence[Readings], stretch: bool) -> Iterator[Section]:
    """Yield what a page shows: for one pair a table, for several maps as well."""
    comparison = evidence.comparison
    notes = diagnostic_notes(comparison, without=CHANCE)
    if is_one_pair(known):
        yield Section("pair", "The pair", READING, (_values(evidence, known),), terms=notes)
    else:
        yield _overview(evidence, known)
        maps = tuple(_choice(evidence, of, i, stretch) for i, of in enumerate(known))
        yield Section("maps", "Heat maps", MAPS, figures=maps)
        yield _all_values(evidence, known)._replace(terms=notes)
    if comparison.failures:
        yield Section("failures", "Failures", "", (failures_table(comparison),))
    yield Section("inputs", "Representations", "", (inputs_table(comparison),))


def is_one_pair(known: Sequence[Readings]) -> bool:
    """Say whether all that there is to show is of two representations."""
    return len({frozenset((pair.x, pair.y)) for of in known for pair in of.pairs}) <= 1


# ------------------------------------------------------------------------------------------- tables


def _overview(evidence: Evidence, known: Sequence[Readings]) -> Section:
    level = level_words(evidence)
    names = ("measure", "label", "beyond chance", "median above chance", "furthest above chance")
    columns = (*names, "value", f"{level} interval", "chance", "adjusted p")
    rows = tuple(_overview_row(evidence, of) for of in known)
    table = Table("measures", "", columns, rows)
    return Section("measures", "Measures", f"{READING} {ADJUSTED}", (table,))


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
        return Section("values", "All values", "", (_values(evidence, known),))
    words = f"{counted(count, 'value')} are too many for a page; a file has them as CSV or JSON."
    return Section("values", "All values", words)


def _values(evidence: Evidence, known: Sequence[Readings]) -> Table:
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


# --------------------------------------------------------------------------------------------- maps


def _choice(evidence: Evidence, known: Readings, number: int, stretch: bool) -> Choice:
    """Return the map of the values of a measure, and the one of what is above chance."""
    info = known.info
    titles = tuple(tuple(minus(words_of(cell)) for cell in row) for row in known.cells)
    hatched = tuple(
        (i, j)
        for i, row in enumerate(known.cells)
        for j, cell in enumerate(row)
        if cell.is_tested and not cell.is_beyond
    )
    maps = [heat_map(evidence.comparison, info, stretch=stretch)._replace(name=VALUE, chance=())]
    if has_most_similar(info):
        maps.append(_above_map(evidence, info, stretch))
    maps = [m._replace(titles=titles, hatched=hatched, hatching=HATCHING) for m in maps]
    return Choice(
        f"map-{number + 1}",
        known.name,
        ("show",),
        tuple(Option((heat.name,), (i,)) for i, heat in enumerate(maps)),
        tuple(maps),
        note=" ".join(filter(None, (_subtitle(info), definition(info), _direction(info)))),
        static=tuple(range(len(maps))),
        is_linked=True,
    )


def _subtitle(info: MeasureInfo) -> str:
    return f"{info.spec}." if info.spec != info.label else ""


def _direction(info: MeasureInfo) -> str:
    return f"{'Larger' if info.larger_is_more_similar else 'Smaller'} is more similar."


def _above_map(evidence: Evidence, info: MeasureInfo, stretch: bool) -> HeatMap:
    above = np.round(above_chance(evidence, info), 3) + 0.0  # no −0
    known = above[np.isfinite(above)]
    low = min(0.0, float(known.min(initial=0.0)))
    high = float(known.max(initial=low)) if stretch and known.size else 1.0
    return HeatMap(
        ABOVE,
        info.label,
        evidence.rows,
        evidence.columns,
        map_entries(above),
        span=(low, high if high > low else 1.0),
        is_diverging=low < 0,
        ends=("at chance", "most similar"),
    )
