"""Text tables, laid out with rich: a line per row in a file, at most the terminal width on a
terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..base.text import escape_control_characters

DEFAULT_TERMINAL_WIDTH = 80  # columns of a terminal that reports no width
# Spaces before a table and between columns
TABLE_INDENT, COLUMN_GAP, NARROW_COLUMN_GAPS = 1, 3, (2, 1)
TONE_COLORS = {"good": "green", "warning": "yellow", "bad": "red"}  # the colours of verdicts
UNLIMITED_WIDTH = 10**6  # columns of an output that is no terminal


class TextTable(NamedTuple):
    """Rows of texts below a header.

    A table too wide for the terminal is folded between words, then split into parts that repeat the
    first column. With ``as_blocks`` every row becomes a block of lines instead, for rows of
    sentences. ``tones``: cells to colour on a terminal, as (row, column, tone). ``note``: a
    sentence below the rows, which LaTeX keeps inside the table.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()  # number columns, which are never folded
    has_header: bool = True
    as_blocks: bool = False
    tones: tuple[tuple[int, int, str], ...] = ()
    note: str = ""


def render_table(table: TextTable, width: int | None = None) -> Iterator[Any]:
    """Yield the lines of a table as rich texts, between blank lines. ``width``: the columns of the
    terminal; None for a line per row."""
    from rich.text import Text

    escaped_table = table._replace(
        header=tuple(map(escape_control_characters, table.header)),
        rows=tuple(tuple(map(escape_control_characters, row)) for row in table.rows),
    )
    yield Text()
    yield from _layout_lines(escaped_table, width)
    yield Text()


def display_width(text: str) -> int:
    """Return the number of terminal columns of a text."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def _layout_lines(table: TextTable, width: int | None) -> Iterator[Any]:
    natural_widths = _column_widths(table, is_folded=False)
    if (
        width is None
        or TABLE_INDENT + sum(natural_widths) + COLUMN_GAP * (len(natural_widths) - 1) <= width
    ):
        yield from _rich_grid_lines(table, natural_widths, COLUMN_GAP)
    elif table.as_blocks:
        yield from _stacked_rows(table, width)
    elif layout := next(
        ((w, gap) for gap in NARROW_COLUMN_GAPS if (w := _fit_column_widths(table, width, gap))),
        None,
    ):
        yield from _rich_grid_lines(table, *layout)
    else:
        yield from _column_chunks(table, width)


def _column_widths(table: TextTable, *, is_folded: bool) -> list[int]:
    """Return the natural width of every column in terminal columns; with ``is_folded``, the
    smallest width that cuts no word."""
    widths = []
    for i, name in enumerate(table.header):
        heads = (name.split() if is_folded else [name]) if table.has_header else []
        cells = [row[i] for row in table.rows]
        if is_folded and i not in table.right:
            cells = [word for cell in cells for word in cell.split()]
        widths.append(max(map(display_width, [*heads, *cells]), default=0))
    return widths


def _fit_column_widths(table: TextTable, width: int, gap: int) -> list[int] | None:
    """Return the column widths of ``table`` that fill a terminal of ``width`` columns, with ``gap``
    spaces between columns; the columns that lack most get more.

    Return None if a word would be cut.
    """
    natural_widths = _column_widths(table, is_folded=False)
    widths = _column_widths(table, is_folded=True)
    room = width - TABLE_INDENT - gap * (len(widths) - 1) - sum(widths)
    if room < 0:
        return None
    for _ in range(room):
        shortfalls = [
            full_width - current_width for full_width, current_width in zip(natural_widths, widths)
        ]
        if max(shortfalls) <= 0:
            break
        widths[shortfalls.index(max(shortfalls))] += 1
    return widths


def _rich_grid_lines(table: TextTable, widths: Sequence[int], gap: int) -> Iterator[Any]:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    padding = (0, gap // 2, 0, (gap - 1) // 2)  # the box takes one column of the gap
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
    grid.show_header = table.has_header
    for i, (name, width) in enumerate(zip(table.header, widths)):
        side: Any = "right" if i in table.right else "left"
        grid.add_column(_rich_text(name), justify=side, width=max(width, 1), overflow="fold")
    tones = {(row, column): TONE_COLORS[tone] for row, column, tone in table.tones}
    for i, row in enumerate(table.rows):
        grid.add_row(*(_rich_text(cell, tones.get((i, j), "")) for j, cell in enumerate(row)))
    return _rendered_lines(grid, TABLE_INDENT)


def _rich_text(words: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(words, style=style)


def _rendered_lines(grid: Any, indent: int, width: int = UNLIMITED_WIDTH) -> Iterator[Any]:
    """Yield the lines that rich renders for ``grid``, a renderable of rich, ``width`` columns wide,
    as ``Text`` after ``indent`` spaces."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=width, force_terminal=True)
    for segments in console.render_lines(grid, console.options.update(width=width), pad=False):
        line = Text(" " * indent)
        for segment in segments:
            line.append(segment.text, segment.style)
        line.rstrip()
        yield line


def _stacked_rows(table: TextTable, width: int) -> Iterator[Any]:
    """Yield a block for every row: two cells as a heading, the remaining cells below with column
    names."""
    from rich.table import Table
    from rich.text import Text

    indent = (
        TABLE_INDENT
        + NARROW_COLUMN_GAPS[0]
        + max((display_width(row[0]) for row in table.rows), default=0)
    )
    tones = {row: TONE_COLORS[tone] for row, column, tone in table.tones if column == 1}
    for i, row in enumerate(table.rows):
        if i:
            yield Text()
        start = " " * TABLE_INDENT + row[0]
        heading = Text(start + " " * (indent - display_width(start)), style="bold")
        yield heading.append(row[1], tones.get(i, ""))
        block = Table.grid(padding=(0, NARROW_COLUMN_GAPS[0], 0, 0), pad_edge=False)
        for name, cell in zip(table.header[2:], row[2:]):
            if cell:
                block.add_row(Text(name, no_wrap=True), Text(cell))
        yield from _rendered_lines(block, indent, width - indent)


def _column_chunks(table: TextTable, width: int) -> Iterator[Any]:
    """Yield the lines of a table in parts below one another, each with the first column and as many
    further columns as fit.

    The first column is cut if no other column would fit.
    """
    gap, min_widths = NARROW_COLUMN_GAPS[0], _column_widths(table, is_folded=True)
    first_width = min(min_widths[0], width // 2)
    remaining_columns = list(range(1, len(table.header)))
    while remaining_columns:
        room, columns = width - TABLE_INDENT - first_width, list[int]()
        while remaining_columns and (not columns or room >= min_widths[remaining_columns[0]] + gap):
            room -= min_widths[remaining_columns[0]] + gap
            columns.append(remaining_columns.pop(0))
        part = _select_columns(table, [0, *columns])
        narrow_widths = [
            first_width,
            *(
                min(min_widths[i], max(width - TABLE_INDENT - gap - first_width, 1))
                for i in columns
            ),
        ]
        yield from _rich_grid_lines(
            part, _fit_column_widths(part, width, gap) or narrow_widths, gap
        )
        if remaining_columns:
            yield _rich_text("")


def _select_columns(table: TextTable, columns: Sequence[int]) -> TextTable:
    header, *rows = (tuple(row[i] for i in columns) for row in (table.header, *table.rows))
    places = {i: position for position, i in enumerate(columns)}
    right = frozenset(places[i] for i in table.right if i in places)
    tones = tuple((row, places[i], tone) for row, i, tone in table.tones if i in places)
    return table._replace(header=header, rows=tuple(rows), right=right, tones=tones)
