"""Tables of the site: those of our pages, with links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...report.cells import grid
from ...report.diagrams import diagram
from ...report.rows import bars
from ...results.figures import Bars, Diagram
from ...results.sections import Table


class LinkedCell(NamedTuple):
    """An entry of a table, the number it is sorted by, and where it leads, if anywhere."""

    text: str
    value: str
    address: str


class LinkedRow(NamedTuple):
    """A row of a table; a marked one is shaded."""

    cells: tuple[LinkedCell, ...]
    is_marked: bool


class LinkedTable(NamedTuple):
    """A table as the templates show it."""

    title: str
    note: str
    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    rows: tuple[LinkedRow, ...]
    place: str


class SiteFigure(NamedTuple):
    """A figure as the templates show it: its markup, and its place on the page."""

    title: str
    note: str
    markup: str
    place: str


def linked(table: Table, addresses: Mapping[tuple[int, int], str]) -> LinkedTable:
    """Return a table whose entries lead somewhere, by row and column."""
    shown = grid(table)
    rows = tuple(
        LinkedRow(
            tuple(
                LinkedCell(cell.text, cell.value or "", addresses.get((i, j), ""))
                for j, cell in enumerate(row.cells)
            ),
            row.is_marked,
        )
        for i, row in enumerate(shown.rows)
    )
    return LinkedTable(table.title, table.note, table.columns, shown.is_number, rows, table.name)


def drawn(figure: Bars | Diagram) -> SiteFigure:
    """Return a figure of dots, or of what cannot be told apart."""
    markup = diagram(figure) if isinstance(figure, Diagram) else bars(figure)
    return SiteFigure(figure.title, figure.note, markup, figure.name)
