"""The tables of the documentation that the studies of validity make, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from bench import grid
from validity_studies import Row

MADE = "<!-- made by benchmarks/validity.py; change the code, not this file -->"
NONE = "–"


class Column(NamedTuple):
    """A column of a table: its title, and which numbers are in it."""

    title: str
    case: str
    way: str
    what: str = "rejected"


FREE = ("Gaussian rows", "lognormal rows")
INDEPENDENT = tuple(
    Column(f"{case}: {way}", case, way) for case in FREE for way in ("orders", "exact moments")
)
DEPENDENT = (
    Column("20 blocks of 5 rows: free orders", "20 blocks of 5 rows", "free orders"),
    Column("whole blocks", "20 blocks of 5 rows", "whole blocks"),
    Column("5 shared classes: free orders", "5 shared classes", "free orders"),
    Column("inside classes", "5 shared classes", "inside classes"),
    Column("class means subtracted, free orders", "5 shared classes", "class means subtracted"),
)
SERIES = (
    Column("free orders", "series", "free orders"),
    Column("runs of 10", "series", "runs of 10"),
    Column("circular shifts", "series", "circular shifts"),
    Column("shifted windows", "series of 200", "shifted windows"),
)
POWER = (
    Column("orders", "small signal", "orders"),
    Column("exact moments", "small signal", "exact moments"),
    Column("inside classes", "small signal and 5 shared classes", "inside classes"),
)
NARROW, WIDE = "20 and 30", "200 and 300"
SIZES = ((30, NARROW), *((n, d) for n in (100, 500) for d in (NARROW, WIDE)))
COVERAGE = tuple(
    Column(f"n = {n}, d = {d}", f"n = {n}, d = {d}", "rs.evidence", "coverage") for n, d in SIZES
)
NOT_OFFERED = tuple(
    Column(title, "n = 100, d = 20 and 30", way, "coverage")
    for title, way in (
        ("`evidence`", "rs.evidence"),
        ("bootstrap, quantiles", "bootstrap quantiles"),
        ("halves, quantiles", "quantiles of halves"),
    )
)
DIFFERENCES = tuple(
    Column(f"{title}: {way}", case, way)
    for title, case in (
        ("no difference", "no difference"),
        ("no difference, widths 20 and 200", "no difference, widths 20 and 200"),
        ("small difference", "a small difference"),
    )
    for way in ("paired", "not paired")
)
MAPS = (
    ("6 x 6, unrelated", "family-wise error"),
    ("6 x 6, 9 pairs share a signal", "false discovery rate"),
    ("6 x 6, 9 pairs share a signal", "power"),
    ("24 x 24, unrelated", "family-wise error"),
    ("24 x 24, 144 pairs share a signal", "power"),
)
STRATA = ("cells freely", "cells within sets", "sets of models")
FEW = ("not counted", "the spread of its cells", "counted as exact")
SUBJECTS = ("across", "t-test over subjects")
RANKS = ("places", "studentized maximum", "one margin for all", "not corrected")


def by_measure(table: str, columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Return a table with a line for each measure."""
    known = {(row.case, row.way, row.measure, row.what): row for row in rows if row.table == table}
    measures = dict.fromkeys(
        row.measure for row in known.values() if any(row.case == c.case for c in columns)
    )
    lines = [
        [f"`{measure}`", *(cell(known, column, measure) for column in columns)]
        for measure in measures
        if any((c.case, c.way, measure, c.what) in known for c in columns)
    ]
    return document(["measure", *(column.title for column in columns)], lines)


def by_case(table: str, ways: Sequence[str], whats: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table with a line for each kind of data, and several percentages of every way."""
    known = {(row.case, row.way, row.what): row.number for row in rows if row.table == table}
    lines = [
        [case, *(" / ".join(rounded(known[case, way, what]) for what in whats) for way in ways)]
        for case in dict.fromkeys(case for case, _, _ in known)
    ]
    return document(["", *ways], lines)


def rounded(number: float) -> str:
    """Return a percentage without decimals."""
    return NONE if math.isnan(number) else f"{number:.0f}"


def cell(known: dict[tuple[str, str, str, str], Row], column: Column, measure: str) -> str:
    """Return the percentage of a measure; coverage with the width."""
    key = column.case, column.way, measure
    row = known.get((*key, column.what))
    if row is None:
        return NONE
    if column.what == "coverage":
        return f"{row.number:.0f} / {known[*key, 'width'].number:.2f}"
    instead = known.get((*key, "drawn instead"))
    note = f" ({instead.number:.0f} drawn)" if instead and instead.number >= 0.5 else ""
    return f"{row.number:.1f}{note}"


def maps(rows: Sequence[Row]) -> str:
    """Return the table of maps, with a line for each way of adjusting."""
    known = {(row.case, row.way, row.what): row.number for row in rows if row.table == "maps"}
    ways = dict.fromkeys(way for _, way, _ in known)
    lines = [
        [way, *(percentage(known.get((case, way, what))) for case, what in of_way(way))]
        for way in ways
    ]
    return document(["way", *(f"{case}: {what}" for case, what in MAPS)], lines)


def of_way(way: str) -> list[tuple[str, str]]:
    """Return what a way of adjusting has of the maps: the best pair alone has no power over all."""
    return [
        (case, "" if way.startswith("best") and what == "power" else what) for case, what in MAPS
    ]


def percentage(number: float | None) -> str:
    """Return a percentage in one decimal."""
    return NONE if number is None else f"{number:.1f}"


def document(header: list[str], lines: list[list[str]]) -> str:
    """Return a file with one table."""
    return f"{MADE}\n\n{grid(header, lines)}\n"


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "validity-independent.md": partial(by_measure, "levels", INDEPENDENT),
    "validity-dependent.md": partial(by_measure, "levels", DEPENDENT),
    "validity-series.md": partial(by_measure, "levels", SERIES),
    "validity-power.md": partial(by_measure, "power", POWER),
    "validity-coverage.md": partial(by_measure, "coverage", COVERAGE),
    "validity-not-offered.md": partial(by_measure, "coverage", NOT_OFFERED),
    "validity-differences.md": partial(by_measure, "differences", DIFFERENCES),
    "validity-maps.md": maps,
    "validity-strata.md": partial(by_case, "strata", STRATA, ("these", "others", "apart")),
    "validity-few.md": partial(by_case, "few", FEW, ("wrong", "width")),
    "validity-ranks.md": partial(by_case, "ranks", RANKS, ("holds", "wrong", "apart")),
    "validity-subjects.md": partial(by_case, "subjects", SUBJECTS, ("rejected",)),
}
