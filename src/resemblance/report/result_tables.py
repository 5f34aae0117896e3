"""A result as tables for a terminal: what was run, what leads, the claims, and the mean ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..results.claims import CONTRADICTED, NO_DATA, NOT, PARTLY, REPRODUCED, Claim
from ..results.headlines import size_words
from ..results.result import Result
from ..results.sections import Table
from ..significance import Place
from .cells import TableCell, grid
from .numbers import count
from .tables import TextTable
from .terminal import plain_table

TONES = {REPRODUCED: "good", PARTLY: "warning", CONTRADICTED: "warning", NOT: "bad"}  # of verdicts


def result_tables(result: Result, *, is_whole: bool = False) -> list[Any]:
    """Return what a terminal shows: the headlines, the leading tables, the claims, the mean ranks.

    Only what the result has.

    ``is_whole``: also tables whose columns are in groups, a part for each group.
    """
    parts: list[Any] = headline_lines(result)
    if any(claim.verdict != NO_DATA for claim in result.claims) and not result.is_trial:
        parts.append(claim_table(result))
    parts += [*without_data(result.claims), *leading_tables(result)]
    if is_whole:
        parts += grouped_tables(result)
    if result.ranks() and not any(section.name == "ranking" for section in result.sections):
        parts += ["", standing_table(result)]
    return parts


def headline_lines(result: Result) -> list[str]:
    """Return what comes before the numbers: what was run, a trial, omissions, the leaders."""
    sized = f"{result.suite}, {size_words(result.suite, result.size)}"
    where = [sized] if result.size and result.suite != "joint" else []
    counts = [f"{number} {name}" for name, number in result.counts.items()]
    facts = [f"{name} {fact}" for name, fact in result.facts.items()]
    line = "; ".join([*where, *facts, *counts])
    idle = [result.idle()] if result.idle() else []
    return [line, *result.remarks, *idle, *result.headline().splitlines(), ""]


def leading_tables(result: Result) -> Iterator[Any]:
    """Yield the leading tables of all sections with their titles, their numbers as on a page."""
    for section in result.sections:
        for table in section.tables:
            if table.is_leading:
                yield from ("", table.title) if table.title else ("",)
                yield _as_text(table)


def grouped_tables(result: Result) -> Iterator[Any]:
    """Yield the tables whose columns are in groups, with the group's name and a legend."""
    for section in result.sections:
        tables = [t for t in section.tables if any(t.groups) and not t.is_leading]
        for table in tables:
            for group in dict.fromkeys(filter(None, table.groups)):
                columns = [i for i, name in enumerate(table.groups) if i == 0 or name == group]
                yield f"\n{group}"
                yield _as_text(table, columns)
        if tables:
            yield from (f"{name}: {words}" for name, words in section.terms.items())


def _as_text(table: Table, columns: Sequence[int] = ()) -> TextTable:
    """Return a table, or some of its columns, without the names of their groups."""
    shown = grid(table)
    above = [heading.text for heading in shown.headings for _ in range(heading.width)]
    above = [""] * len(table.columns) if columns or not above else above
    names = [f"{group} {name}".strip() for group, name in zip(above, table.columns)]
    columns = columns or range(len(names))
    rows = [[_words(row.cells[i], i) for i in columns] for row in shown.rows]
    right = [position for position, i in enumerate(columns) if shown.is_number[i]]
    return plain_table([_choice(table, i, names[i]) for i in columns], rows, right=right)


def _words(cell: TableCell, column: int) -> str:
    """Return what a cell says, with its sign: "0.5**", and "Mine (added)" for a name."""
    return f"{cell.text} ({cell.sign})" if cell.sign and not column else cell.text + cell.sign


def _choice(table: Table, column: int, name: str) -> str:
    """Return the name of a column with what a reader would choose, if others have the same name."""
    if not table.choices or table.columns.count(table.columns[column]) == 1:
        return name
    return " ".join(filter(None, (name, *table.choices[column])))


def claim_table(result: Result) -> TextTable:
    """Return a line per claim that was judged, with the paper's number, ours, and the verdict."""
    judged = [c for c in result.claims if c.verdict != NO_DATA]
    rows = [(c.number, c.verdict, c.claim, c.theirs, c.ours) for c in judged]
    header = ("claim", "verdict", "what is claimed", "the paper", "this run")
    tones = [(i, 1, TONES[c.verdict]) for i, c in enumerate(judged) if c.verdict in TONES]
    return plain_table(header, rows, as_blocks=True, tones=tones)


def without_data(claims: Iterable[Claim]) -> list[str]:
    """Return the line that names the claims without data; none if there is no such claim."""
    numbers = [claim.number for claim in claims if claim.verdict == NO_DATA]
    if not numbers:
        return []
    how_many = "1 claim" if len(numbers) == 1 else f"{count(len(numbers))} claims"
    return [f"No data on {how_many}: {', '.join(dict.fromkeys(numbers))}."]


def standing_table(result: Result) -> TextTable:
    """Return the mean rank of every measure over the cells that have scores, best first.

    Of a trial, and of too few cells to settle anything, there are no intervals; a trial has no
    order either.
    """
    places, labels = result.places(), result.labels
    is_sure = places.is_settling and not result.is_trial
    header = ("measure", "mean rank", *(("behind the leader, 95 %",) if is_sure else ()))
    rows = [
        (labels.get(p.measure, p.measure), f"{p.mean:.1f}", *((_behind(p),) if is_sure else ()))
        for p in places.rows
    ]
    rows = sorted(rows) if result.is_trial else rows
    return plain_table(header, rows, right=range(1, len(header)))


def _behind(place: Place) -> str:
    low, high = place.simultaneous
    return "tied with the leader" if place.is_tied else f"{low:.1f} to {high:.1f}"
