"""Tables of results as Markdown, for the pages of the documentation and of papers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from resemblance.base.formatting import format_number as significant
from resemblance.sections.claims import Claim
from resemblance.sections.sections import Table, TableEntry

from .judging import number

MADE = "<!-- made by `make papers`; change the code, not this file -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[TableEntry]]) -> str:
    """Return a table in Markdown; numbers have three significant digits, a missing number is a
    dash."""
    lines = [_line(columns), _line(["---"] * len(columns))]
    return "\n".join([*lines, *(_line([cell(entry) for entry in row]) for row in rows)])


def decimal_table(of: Table, digits: int = 2) -> str:
    """Return a table of a result in Markdown, with ``digits`` digits after the point; columns of
    whole numbers have no digits after the point."""
    columns = [[row[i] for row in of.rows] for i in range(len(of.columns))]
    places = [0 if _is_whole(column) else digits for column in columns]
    return table(of.columns, ([fixed(*pair) for pair in zip(row, places)] for row in of.rows))


def cell(entry: TableEntry) -> str:
    """Return an entry as text for a cell of a Markdown table."""
    text = entry if isinstance(entry, str) else significant(entry)
    return " ".join(text.replace("|", "\\|").split())


def claims_table(claims: Iterable[Claim]) -> str:
    """Return claims with the paper's numbers and ours side by side, and the verdict with its
    note."""
    rows = (
        (c.number, c.claim, c.theirs, c.ours, f"**{c.verdict}**{f': {c.note}' if c.note else ''}")
        for c in claims
    )
    return table(("", "the paper claims", "paper", "here", "verdict"), rows)


def fixed(value: TableEntry, digits: int = 2) -> str:
    """Return a number as text with ``digits`` digits after the point, and a real minus sign."""
    if value is None or isinstance(value, str):
        return cell(value)
    return number(value, digits)


def percent(value: TableEntry) -> str:
    """Return a share in percent."""
    if value is None or isinstance(value, str):
        return cell(value)
    return f"{100 * value:.0f} %"


def _is_whole(column: Iterable[TableEntry]) -> bool:
    return all(float(v).is_integer() for v in column if v is not None and not isinstance(v, str))


def _line(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"
