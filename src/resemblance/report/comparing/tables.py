"""The tables of a comparison: its measures, failures, and representations."""

from __future__ import annotations

import math

from ...comparison import Comparison
from ...display import without_rounding
from ...results.sections import Entry, Sign, Table
from ..data import MeasureRow, chance_words, failure_groups, is_square, summary
from ..numbers import counted, span

COLUMNS = (
    "measure", "label", "family", "more similar is", "range", "smallest", "median", "largest",
    "chance", "seconds", "failed",
)  # fmt: skip
CHANCE_NOTE = (
    "Chance is the mean of the value over all orders of the samples of one side, where it has a "
    "closed form."
)
OVER_PAIRS = (
    "Smallest, median and largest are over pairs of different representations. Seconds are summed "
    "over all pairs; what several measures share is counted for the first that needed it. "
    f"{CHANCE_NOTE}"
)
FEW_INPUTS = 24  # more of them are listed only when a reader asks


def measures_table(comparison: Comparison) -> Table:
    """Return a row for each measure: its facts, and its values over all pairs."""
    rows = summary(comparison)
    failed = [i for i, row in enumerate(rows) if row.failed]
    signs = tuple(Sign(i, COLUMNS.index("failed"), f"of {rows[i].pairs}") for i in failed)
    chances = [chance_words(comparison, info) for info in comparison.measures]
    entries = tuple(map(_measure_row, rows, chances))
    return Table("all", "", COLUMNS, entries, signs=signs, figures=4)


def pair_table(comparison: Comparison, place: tuple[int, int]) -> Table:
    """Return the values of the only pair, in both directions where a measure has two."""
    i, j = place
    columns = [
        "measure",
        "label",
        "family",
        "more similar is",
        "range",
        "value",
        "chance",
        "seconds",
    ]
    is_two_way = is_square(comparison) and not all(m.symmetric for m in comparison.measures)
    x, y = comparison.rows[i], comparison.columns[j]
    if is_two_way:
        columns[5:6] = [f"{x}, {y}", f"{y}, {x}"]
    rows = []
    for info, row in zip(comparison.measures, summary(comparison)):
        values = without_rounding(comparison.values[info.spec], info)
        chance = chance_words(comparison, info) or None
        both = [(i, j), *([(j, i)] if is_two_way else [])]
        scores = [None if math.isnan(values[at]) else float(values[at]) for at in both]
        rows.append((*_measure_row(row, "")[:5], *scores, chance, round(row.seconds, 2)))
    return Table("all", f"{x} and {y}", tuple(columns), tuple(rows), figures=4)


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
