"""Which pairs are computed together, so that the views of their representations fit the memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..measure import Measure
from ..representation import Representation
from ..tiles import Tile, group_measures, tiles
from .layout import Layout, Pair
from .tasks import TaskCell

Wanted = Mapping[Measure, list[Pair]]


class TiledCells(NamedTuple):
    """A tile, and its cells, those of a column one after the other."""

    measures: tuple[Measure, ...]
    cells: list[TaskCell]


def tiled(layout: Layout, pairs: Wanted, memory: int, pieces: int = 1) -> Iterator[TiledCells]:
    """Yield the tiles of these pairs, at least about ``pieces`` of them if there are as many."""
    measures = [m for m in pairs if pairs[m]]
    if not measures:
        return
    widest = max(r.shape[1] for r in layout.all)
    # A view that is carried over has memory of its own.
    groups = group_measures(measures, layout.n, widest, len(layout.all), memory, sharing="none")
    rows, columns = layout.shape
    block = math.ceil(max(rows, columns) / math.ceil(math.sqrt(pieces)))
    for tile in tiles(groups, rows, None if layout.is_square else columns, memory, block):
        cells = _cells_in(layout, tile, pairs)
        if cells:
            yield TiledCells(tile.measures, cells)


def chosen(
    layout: Layout, cells: Iterable[TaskCell]
) -> tuple[dict[int, Representation], dict[int, str]]:
    """Return the representations of some cells and what identifies them, by position."""
    used = sorted({k for cell in cells for k in cell[1:]})
    return {k: layout.all[k] for k in used}, {k: layout.tokens[k] for k in used}


def _cells_in(layout: Layout, tile: Tile, pairs: Wanted) -> list[TaskCell]:
    columns = {c + layout.first_column for c in tile.columns}
    rows = set(tile.rows)
    cells = [
        TaskCell(p, i, j)
        for p, m in enumerate(tile.measures)
        for i, j in pairs[m]
        if (i in rows and j in columns) or (layout.is_square and i in columns and j in rows)
    ]
    return sorted(cells, key=lambda cell: (cell.y, cell.x, cell.measure))
