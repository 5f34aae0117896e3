"""A comparison as a result for a page: measures, heat maps, agreement, failures and inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..columns import CHANCE
from ..comparison import Comparison, MeasureInfo, chance_of, diagnostic_notes, without_rounding
from ..results.figures import HeatMap
from ..results.result import Result
from ..results.sections import Entry, Section, Sign, Table
from .data import (
    MeasureAgreement,
    MeasureRow,
    agreement,
    chance_words,
    colour_scale,
    definition,
    failure_groups,
    is_square,
    off_diagonal,
    summary,
)
from .numbers import counted, span

COLUMNS = (
    "measure", "label", "family", "more similar is", "range", "smallest", "median", "largest",
    "chance", "seconds", "failed",
)  # fmt: skip
OVER_PAIRS = (
    "Smallest, median and largest are over pairs of different representations. Seconds are summed "
    "over all pairs; what several measures share is counted for the first that needed it. Chance "
    "is the mean of the value over all orders of the samples of one side, where it has a closed "
    "form."
)
MAPS = (
    "Dark blue is similar whatever the direction of a measure; the scale of each map gives its "
    "numbers and is the range of the measure unless the map says otherwise. Brown is below 0. The "
    "row is the first argument of the measure, the column the second. Point at a cell to read it; "
    "click a map to enlarge it."
)
AGREEMENT = (
    "Spearman correlation, over all pairs, between the differences that two measures find. Dark "
    "blue: they rank the pairs alike; brown: the other way round."
)
CONSTANT = "one of the two has the same value for all pairs"
FEW_INPUTS = 24  # more of them are listed only when a reader asks


def result_of(comparison: Comparison, *, stretch: bool = False) -> Result:
    """Return a comparison as a result for a page.

    With ``stretch`` the colours of every map span its values instead of the range of its measure;
    the maps say so.
    """
    return Result(
        "compare",
        "",
        (*sections(comparison, stretch=stretch),),
        provenance=settings_of(comparison),
        title="Comparison of representations",
        about=_about(comparison),
    )


def sections(comparison: Comparison, *, stretch: bool = False) -> Iterator[Section]:
    """Yield what a page shows of a comparison."""
    notes = diagnostic_notes(comparison, without=CHANCE)  # which the tables and maps show
    yield Section("measures", "Measures", OVER_PAIRS, (_measures(comparison),), terms=notes)
    maps = tuple(heat_map(comparison, m, stretch=stretch) for m in comparison.measures)
    yield Section("maps", "Heat maps", MAPS, figures=maps)
    together = agreement(comparison)
    if together is not None:
        yield _agreement(together)
    if comparison.failures:
        yield Section("failures", "Failures", "", (failures_table(comparison),))
    yield Section("inputs", "Representations", "", (inputs_table(comparison),))


def settings_of(comparison: Comparison) -> dict[str, Any]:
    """Return how a comparison was made, by the names that a page shows."""
    return {
        name.removeprefix("n_").replace("_", " "): value
        for name, value in comparison.provenance.items()
        if name not in ("rows", "columns")
    }


def _about(comparison: Comparison) -> str:
    """Say what was compared with what, and whether every value could be computed."""
    rows, columns = len(comparison.rows), len(comparison.columns)
    several = f"{counted(rows, 'representation')} (rows) and {columns} (columns)"
    inputs = counted(rows, "representation") if is_square(comparison) else several
    pairs = int(off_diagonal(comparison).sum()) // (2 if is_square(comparison) else 1)
    failed = len(comparison.failures)
    outcome = f"{counted(failed, 'value')} could not be computed: see Failures."
    return (
        f"{inputs} of the same {comparison.provenance['n_samples']} samples, compared by "
        f"{counted(len(comparison.measures), 'measure')}: {counted(pairs, 'pair')} each. "
        f"{outcome if failed else 'Every value could be computed.'}"
    )


def _measures(comparison: Comparison) -> Table:
    rows = summary(comparison)
    failed = [i for i, row in enumerate(rows) if row.failed]
    signs = tuple(Sign(i, COLUMNS.index("failed"), f"of {rows[i].pairs}") for i in failed)
    chances = [chance_words(comparison, info) for info in comparison.measures]
    entries = tuple(map(_measure_row, rows, chances))
    return Table("all", "", COLUMNS, entries, signs=signs, figures=4)


def _measure_row(row: MeasureRow, chance: str) -> tuple[Entry, ...]:
    return (
        row.name,
        row.label,
        row.family.replace("_", " "),
        "larger" if row.larger_is_more_similar else "smaller",
        span(*row.range, 4),
        *row[5:8],
        chance or None,
        round(row.seconds, 2),
        row.failed or None,
    )


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
        titles=_titles(comparison.rows, comparison.columns, reasons),
        subtitle=info.spec if info.spec != info.label else "",
        ends=("different", "similar"),
        chance=map_entries(chance_of(comparison, info.spec)) if chance else (),
    )


def _titles(
    rows: Sequence[str], columns: Sequence[str], reasons: Mapping[tuple[str, str], str]
) -> tuple[tuple[str, ...], ...]:
    if not reasons:
        return ()
    return tuple(tuple(reasons.get((x, y), "") for y in columns) for x in rows)


def map_entries(values: np.ndarray) -> tuple[tuple[float | None, ...], ...]:
    """Return the values of a map, None for those that are not finite."""
    return tuple(
        tuple(value if math.isfinite(value) else None for value in row) for row in values.tolist()
    )


def _agreement(together: MeasureAgreement) -> Section:
    """Return how far the measures agree: of two a sentence, of more a map."""
    labels, values = together
    title = "Do the measures agree?"
    if len(labels) == 2:
        value = float(values[0, 1])
        words = f"no correlation, for {CONSTANT}" if math.isnan(value) else f"{value:.2f}"
        sentence = (
            "Spearman correlation, over all pairs, between the differences that the two measures "
            f"find: {labels[0]} and {labels[1]}: {words.replace('-', '−')}."
        )
        return Section("agreement", title, sentence)
    missing = {(labels[i], labels[j]): CONSTANT for i, j in np.argwhere(np.isnan(values))}
    figure = HeatMap(
        "agreement",
        "Agreement",
        labels,
        labels,
        map_entries(values),
        span=(-1.0, 1.0),
        is_diverging=True,
        titles=_titles(labels, labels, missing),
    )
    return Section("agreement", title, AGREEMENT, figures=(figure,))


def failures_table(comparison: Comparison) -> Table:
    """Return the reasons of missing values."""
    rows = tuple(
        (group.reason, ", ".join(group.measures), group.values, " and ".join(group.example))
        for group in failure_groups(comparison)
    )
    return Table("reasons", "", ("reason", "measures", "values", "first pair"), rows)


def inputs_table(comparison: Comparison) -> Table:
    """Return the representations."""
    sides = ("rows",) if is_square(comparison) else ("rows", "columns")
    rows: list[tuple[Entry, ...]] = [
        (name, side, e["n_features"], e["dtype"], e["computed_in"], e["fingerprint"])
        for side in sides
        for name, e in comparison.provenance[side].items()
    ]
    columns: tuple[str, ...] = ("name", "side", "features", "dtype", "computed in", "fingerprint")
    if len(sides) == 1:  # that it is the rows says nothing
        columns, rows = (columns[0], *columns[2:]), [(row[0], *row[2:]) for row in rows]
    title = counted(len(rows), "representation")
    return Table("all", title, columns, tuple(rows), is_closed=len(rows) > FEW_INPUTS)
