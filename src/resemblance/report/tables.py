"""Tables of text: one line per row in a file, and no wider than the terminal on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, zip_longest
from typing import NamedTuple

from ..display import printable

USUAL_WIDTH = 80  # of a terminal that does not report its width
INDENT, GAP, NARROW_GAPS = 1, 3, (2, 1)  # spaces before a table and between its columns


class TextTable(NamedTuple):
    """Rows of texts below a header.

    What does not fit a terminal is folded between words, then cut into parts that repeat the first
    column. With ``as_blocks`` each row becomes a block of lines instead, as suits rows of
    sentences. ``tones``: cells that a terminal colours, as (row, column, tone).
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()  # columns of numbers, which are never folded
    has_header: bool = True
    as_blocks: bool = False
    tones: tuple[tuple[int, int, str], ...] = ()


class TextLine(NamedTuple):
    """A line of a table as it is printed; ``marks``: its coloured parts, as (start, end, tone)."""

    text: str
    is_heading: bool = False
    marks: tuple[tuple[int, int, str], ...] = ()


def render(table: TextTable, width: int | None = None) -> Iterator[TextLine]:
    """Yield the lines of a table; without a width, one for every row."""
    clean = table._replace(
        header=tuple(map(printable, table.header)),
        rows=tuple(tuple(map(printable, row)) for row in table.rows),
    )
    yield TextLine("")
    yield from _laid_out(clean, width)
    yield TextLine("")


def fold(text: str, width: int, *, cut: bool = True) -> list[str]:
    """Return a text as lines of at most this width, broken between words.

    Only a word that is wider may be cut.
    """
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if measured(joined) <= width:
            lines[-1] = joined
            continue
        first, *rest = _cut(word, width) if cut else [word]
        lines[-1:] = [lines[-1], first, *rest] if lines[-1] else [first, *rest]
    return lines


def measured(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def _cut(word: str, width: int) -> list[str]:
    parts = [""]
    for character in word:
        if measured(parts[-1] + character) > width and parts[-1]:
            parts.append("")
        parts[-1] += character
    return parts


def _laid_out(table: TextTable, width: int | None) -> Iterator[TextLine]:
    natural = _widths(table, folded=False)
    if width is None or INDENT + sum(natural) + GAP * (len(natural) - 1) <= width:
        yield from _grid(table, natural, GAP)
    elif table.as_blocks:
        yield from _blocks(table, width)
    elif fitting := next(
        ((w, gap) for gap in NARROW_GAPS if (w := _fitted(table, width, gap))), None
    ):
        yield from _grid(table, *fitting)
    else:
        yield from _parts(table, width)


def _widths(table: TextTable, *, folded: bool) -> list[int]:
    """Return the width of every column, or the least to which it can be folded."""
    widths = []
    for i, name in enumerate(table.header):
        heads = (name.split() if folded else [name]) if table.has_header else []
        cells = [row[i] for row in table.rows]
        words = (
            chain.from_iterable(cell.split() for cell in cells)
            if folded and i not in table.right
            else cells
        )
        widths.append(max(map(measured, chain(heads, words)), default=0))
    return widths


def _fitted(table: TextTable, width: int, gap: int) -> list[int] | None:
    """Return widths that fill the terminal, more for the columns that need it most.

    None if no word may be cut.
    """
    natural, widths = _widths(table, folded=False), _widths(table, folded=True)
    room = width - INDENT - gap * (len(widths) - 1) - sum(widths)
    if room < 0:
        return None
    for _ in range(room):
        needed = [wanted - current for wanted, current in zip(natural, widths)]
        if max(needed) <= 0:
            break
        widths[needed.index(max(needed))] += 1
    return widths


def _grid(table: TextTable, widths: Sequence[int], gap: int) -> Iterator[TextLine]:
    if table.has_header:
        header = _row(table.header, widths, gap, table.right, {})
        yield from (line._replace(is_heading=True) for line in header)
        yield TextLine(" " * INDENT + "─" * (sum(widths) + gap * (len(widths) - 1)))
    for i, row in enumerate(table.rows):
        yield from _row(row, widths, gap, table.right, _tones_of(table, i))


def _tones_of(table: TextTable, row: int) -> dict[int, str]:
    """Return the tones of a row by their columns."""
    return {column: tone for i, column, tone in table.tones if i == row}


def _row(
    cells: Sequence[str],
    widths: Sequence[int],
    gap: int,
    right: Iterable[int],
    tones: Mapping[int, str],
) -> Iterator[TextLine]:
    columns = [
        [cell] if measured(cell) <= width else fold(cell, width)
        for cell, width in zip(cells, widths)
    ]
    for parts in zip_longest(*columns, fillvalue=""):
        spaces = [" " * (width - measured(part)) for part, width in zip(parts, widths)]
        padded = [
            space + part if i in right else part + space
            for i, (part, space) in enumerate(zip(parts, spaces))
        ]
        yield TextLine(
            (" " * INDENT + (" " * gap).join(padded)).rstrip(), marks=_marks(padded, gap, tones)
        )


def _marks(
    padded: Sequence[str], gap: int, tones: Mapping[int, str]
) -> tuple[tuple[int, int, str], ...]:
    """Return where the coloured cells of a line begin and end, in characters."""
    starts = accumulate((len(cell) + gap for cell in padded), initial=INDENT)
    places = [(start, start + len(cell)) for start, cell in zip(starts, padded)]
    return tuple((*places[column], tone) for column, tone in tones.items())


def _blocks(table: TextTable, width: int) -> Iterator[TextLine]:
    """Yield a block for every row: two cells as a heading, the others below with their names."""
    names, gap = table.header[2:], NARROW_GAPS[0]
    indent = INDENT + gap + max((measured(row[0]) for row in table.rows), default=0)
    side = max(map(measured, names), default=0) + gap
    for position, row in enumerate(table.rows):
        if position:
            yield TextLine("")
        yield _heading(row, indent, _tones_of(table, position))
        for name, cell in zip(names, row[2:]):
            lines = fold(cell, max(width - indent - side, 1)) if cell else []
            for i, part in enumerate(lines):
                head = name if i == 0 else ""
                yield TextLine(" " * indent + head + " " * (side - measured(head)) + part)


def _heading(row: Sequence[str], indent: int, tones: Mapping[int, str]) -> TextLine:
    """Return the first line of a block: the first two cells, the second coloured by its tone."""
    start = " " * INDENT + row[0]
    start += " " * (indent - measured(start))
    marks = ((len(start), len(start) + len(row[1]), tones[1]),) if 1 in tones else ()
    return TextLine(start + row[1], True, marks)


def _only(table: TextTable, columns: Sequence[int]) -> TextTable:
    header, *rows = (tuple(row[i] for i in columns) for row in (table.header, *table.rows))
    places = {i: position for position, i in enumerate(columns)}
    right = frozenset(places[i] for i in table.right if i in places)
    tones = tuple((row, places[i], tone) for row, i, tone in table.tones if i in places)
    return table._replace(header=header, rows=tuple(rows), right=right, tones=tones)


def _parts(table: TextTable, width: int) -> Iterator[TextLine]:
    """Yield as many columns at a time as fit beside the first.

    The first is cut if it leaves no room for others.
    """
    gap, least = NARROW_GAPS[0], _widths(table, folded=True)
    room = width - INDENT - min(least[0], width // 2)
    others = list(range(1, len(table.header)))
    while others:
        fitting = [sum(least[i] + gap for i in others[: k + 1]) <= room for k in range(len(others))]
        taken = max(sum(fitting), 1)
        part = _only(table, [0, *others[:taken]])
        yield from _grid(part, _fitted(part, width, gap) or _cut_to(part, width, gap), gap)
        others = others[taken:]
        if others:
            yield TextLine("")


def _cut_to(table: TextTable, width: int, gap: int) -> list[int]:
    """Return widths for a terminal in which the longest words must be cut."""
    least, room = _widths(table, folded=True), width - INDENT - gap * (len(table.header) - 1)
    first = max(min(least[0], width // 2), room - sum(least[1:]), 1)
    share = max((room - first) // max(len(least) - 1, 1), 1)
    return [first, *(min(w, share) for w in least[1:])]
