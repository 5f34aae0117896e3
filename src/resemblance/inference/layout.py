"""The pairs that are tested: of two lists all, of one list all but those with themselves; and which
of them are computed together, so that the views of their representations fit the memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..engine.work import tiles
from ..measure import Measure
from ..representation import Representation, fingerprint
from ..tiles import group_measures

Pair = tuple[int, int]  # positions among all representations: of x, and of y, whose samples move
Wanted = Mapping[Measure, list[Pair]]


class TaskCell(NamedTuple):
    """The position of a measure in its task, and of x and y among all representations."""

    measure: int
    x: int
    y: int


@dataclass(frozen=True, eq=False)
class Layout:
    """Representations whose pairs are tested, without sample ids: orders would contradict them."""

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...] | None

    @property
    def is_square(self) -> bool:
        """Whether all pairs of one list are tested."""
        return self.columns is None

    @cached_property
    def all(self) -> tuple[Representation, ...]:
        """The representations of the rows, then those of the columns if they are others."""
        return self.rows + (self.columns or ())

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.rows[0].shape[0]

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """What identifies each representation: its data, numbered if others have the same.

        In a square, equal data get orders of their own, too.
        """
        seen: dict[str, int] = {}
        tokens = []
        for r in self.all:
            name = fingerprint(r)
            seen[name] = seen.get(name, -1) + 1
            tokens.append(f"{name} {seen[name]}" if seen[name] and self.is_square else name)
        return tuple(tokens)

    @property
    def first_column(self) -> int:
        """The position of the first column among all representations."""
        return 0 if self.columns is None else len(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.rows), len(self.rows if self.columns is None else self.columns)

    @property
    def movable(self) -> range:
        """The positions of the representations whose samples are reordered."""
        return range(self.first_column, len(self.all))

    def pairs(self, measure: Measure) -> Iterator[Pair]:
        """Yield the pairs that are computed: of a symmetric measure in a square, half of them."""
        for j in self.movable:
            for i in range(len(self.rows)):
                if not self.is_square or i < j or (i > j and not measure.symmetric):
                    yield i, j

    def with_values(self, measure: Measure, values: np.ndarray) -> list[Pair]:
        """Return the pairs that are computed, without those that have no value."""
        pairs = self.pairs(measure)
        return [pair for pair in pairs if not np.isnan(values[self.cells(measure, pair)[0]])]

    def cells(self, measure: Measure, pair: Pair) -> list[Pair]:
        """Return the places in a matrix that have the value of a pair."""
        i, j = pair[0], pair[1] - self.first_column
        return [(i, j), (j, i)] if self.is_square and measure.symmetric else [(i, j)]


def layout_of(rows: Iterable[Representation], columns: Iterable[Representation] | None) -> Layout:
    """Return the pairs of these representations."""
    first = tuple(map(_without_ids, rows))
    if columns is None and len(first) < 2:
        raise ValueError(
            "evidence: two representations are needed, as nothing is tested with itself; give a "
            "dictionary of several, or the other one as second argument"
        )
    return Layout(first, None if columns is None else tuple(map(_without_ids, columns)))


def _without_ids(x: Representation) -> Representation:
    if x.order is None:
        return x
    plain = copy(x)
    plain.order = None
    return plain


# ------------------------------------------------------------------------------------------- tiles


def tiled(
    layout: Layout, pairs: Wanted, memory: int, pieces: int = 1
) -> Iterator[tuple[tuple[Measure, ...], list[TaskCell]]]:
    """Yield the measures and the cells of each tile, those of a column one after the other.

    There are at least about ``pieces`` tiles if there are as many pairs.
    """
    measures = [m for m in pairs if pairs[m]]
    if not measures:
        return
    widest = max(r.shape[1] for r in layout.all)
    # A view that is carried over has memory of its own.
    groups = group_measures(measures, layout.n, widest, len(layout.all), memory, sharing="none")
    rows, columns = layout.shape
    block = math.ceil(max(rows, columns) / math.ceil(math.sqrt(pieces)))
    for group, size in groups:
        for tile in tiles(size, rows, None if layout.is_square else columns, memory, block):
            if cells := _cells_in(layout, group, tile, pairs):
                yield group, cells


def chosen(
    layout: Layout, cells: Iterable[TaskCell]
) -> tuple[dict[int, Representation], dict[int, str]]:
    """Return the representations of some cells and what identifies them, by position."""
    used = sorted({k for cell in cells for k in cell[1:]})
    return {k: layout.all[k] for k in used}, {k: layout.tokens[k] for k in used}


def _cells_in(
    layout: Layout, measures: Iterable[Measure], tile: tuple[slice, slice], pairs: Wanted
) -> list[TaskCell]:
    rows = range(len(layout.rows))[tile[0]]
    columns = layout.movable[tile[1]]
    cells = [
        TaskCell(p, i, j)
        for p, m in enumerate(measures)
        for i, j in pairs[m]
        if (i in rows and j in columns) or (layout.is_square and i in columns and j in rows)
    ]
    return sorted(cells, key=lambda cell: (cell.y, cell.x, cell.measure))
