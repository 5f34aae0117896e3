"""The cells of a table on a page: numbers in a column have the same decimals and sort by value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ..base.formatting import decimals_for_column, format_decimals, format_number, with_minus_signs
from ..sections.sections import Sign, Table, TableEntry

MAX_NARROW_TEXT_LENGTH = 32  # characters; a longer text needs a wide column
NUMBER_PATTERN = r"[-−]?(?:\d[\d.]*(?:e[-−]?\d+)?|∞)"
# A number, a bound or an interval, optionally with %, with "of" and a total, or with its interval
# in brackets
LEADING_NUMBER = re.compile(
    rf"(?:< )?({NUMBER_PATTERN})\s?%?(?: (?:to|±) {NUMBER_PATTERN}\s?%?| \({NUMBER_PATTERN} to "
    rf"{NUMBER_PATTERN}\))?(?: of \d+)?"
)


class TableCell(NamedTuple):
    """A cell of a table: text, sort key, shade, sign, tooltip and link.

    ``value``: the number to sort by, as a text; "" for a missing number, None for a text.
    ``shade``: from −1 to 1. ``sign``: a text beside the entry. ``note``: the tooltip. ``address``:
    the link.
    """

    text: str
    value: str | None
    shade: float | None = None
    is_framed: bool = False
    sign: str = ""
    note: str = ""
    address: str = ""

    @property
    def classes(self) -> str:
        """The CSS classes of the cell."""
        shade = "" if self.shade is None else "s neg" if self.shade < 0 else "s"
        return " ".join(filter(None, (_cell_class(self), shade, "best" * self.is_framed)))


def _cell_class(cell: TableCell) -> str:
    return "n" if cell.value is not None else "w" if len(cell.text) > MAX_NARROW_TEXT_LENGTH else ""


class ColumnGroupHeading(NamedTuple):
    """A heading above a group of columns: index of the first column, number of columns, and
    text."""

    start: int
    width: int
    text: str


class GridRow(NamedTuple):
    """A row of a table; the page highlights marked rows."""

    cells: tuple[TableCell, ...]
    is_marked: bool


class TableGrid(NamedTuple):
    """A table as it appears on a page: whether each column has numbers, headings above groups of
    columns, and rows."""

    table: Table
    is_number: tuple[bool, ...]
    headings: tuple[ColumnGroupHeading, ...]
    rows: tuple[GridRow, ...]


def table_grid(table: Table) -> TableGrid:
    """Return the grid of a table: formatted cells and group headings, as on a page."""
    columns = _grid_columns(table)
    signs = {(sign.row, sign.column): sign for sign in table.signs}
    links = {(row, column): address for row, column, address in table.links}
    frames, marked_rows = set(table.framed), set(table.marked)
    rows = tuple(
        GridRow(_decorated_cells(row, i, table.shades, frames, signs, links), i in marked_rows)
        for i, row in enumerate(zip(*columns))
    )
    is_number = tuple(any(cell.value is not None for cell in column) for column in columns)
    return TableGrid(table, is_number, _column_group_headings(table), rows)


def _decorated_cells(
    row: Sequence[TableCell],
    i: int,
    shades: Sequence[Sequence[float | None]],
    frames: set[tuple[int, int]],
    signs: Mapping[tuple[int, int], Sign],
    links: Mapping[tuple[int, int], str],
) -> tuple[TableCell, ...]:
    """Return new cells of row number ``i`` with shades, frames, signs and links added to the cells
    ``row``.

    ``shades``: by row and column; () without shades. ``frames``: the framed cells, (row, column).
    ``signs`` and ``links``: by (row, column).
    """
    cells = []
    for j, cell in enumerate(row):
        shade = shades[i][j] if shades else None
        sign = signs.get((i, j), Sign(i, j))
        shade = None if shade is None or not math.isfinite(shade) else round(shade, 2)
        details = (sign.text, sign.note, links.get((i, j), ""))
        cells.append(TableCell(*cell[:2], shade, (i, j) in frames, *details))
    return tuple(cells)


def _column_group_headings(table: Table) -> tuple[ColumnGroupHeading, ...]:
    """Return the headings above groups of columns; equal neighbours share a heading. () without
    groups."""
    headings, start = [], 0
    for name, columns in groupby(table.groups):
        width = len(list(columns))
        headings.append(ColumnGroupHeading(start, width, name))
        start += width
    return tuple(headings)


def _grid_columns(table: Table) -> list[list[TableCell]]:
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    return [_grid_column(entries, i == 0, table.figures) for i, entries in enumerate(columns)]


def _grid_column(
    entries: Sequence[TableEntry], is_first: bool, figures: int | None
) -> list[TableCell]:
    """Return the cells of the column ``entries``: a column of numbers, of texts with leading
    numbers, or of other texts.

    ``is_first``: whether the column is the first of the table, whose texts never sort by numbers.
    ``figures``: the significant figures of numbers; None for equal decimals in the column.
    """
    values = [entry for entry in entries if entry is not None]
    if values and not any(isinstance(entry, str) for entry in values):
        return _number_cells(entries, figures)
    counts = None if is_first else _leading_number_cells(entries)
    return counts or [
        TableCell(with_minus_signs(entry) if isinstance(entry, str) else format_number(entry), None)
        for entry in entries
    ]


def _leading_number_cells(column: Sequence[TableEntry]) -> list[TableCell] | None:
    """Return the cells of the text column ``column``, sorted by the number at the start of each
    text, such as "97%" or "1.2 to 3.4"; an empty entry becomes "–".

    Return None if a text has no number at the start, or if all entries are empty.
    """
    texts = ["" if entry is None else str(entry) for entry in column]
    matches = [LEADING_NUMBER.fullmatch(text) for text in texts]
    if not any(matches) or any(text and not match for text, match in zip(texts, matches)):
        return None
    return [
        TableCell(with_minus_signs(text), match[1].replace("−", "-").replace("∞", "inf"))
        if match
        else TableCell("–", "")
        for text, match in zip(texts, matches)
    ]


def _number_cells(column: Sequence[TableEntry], figures: int | None) -> list[TableCell]:
    values = [
        None if entry is None or not math.isfinite(float(entry)) else float(entry)
        for entry in column
    ]
    places = decimals_for_column([abs(v) for v in values if v is not None])
    # An integer 0 is exact, so it has no decimals
    exact = [isinstance(entry, int) and not entry for entry in column]

    def write(value: float) -> str:
        return format_decimals(value, places) if figures is None else format_number(value, figures)

    return [
        TableCell("–", "") if v is None else TableCell("0" if is_exact else write(v), f"{v!r}")
        for v, is_exact in zip(values, exact)
    ]
