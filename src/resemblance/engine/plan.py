"""The plan of a comparison: the pairs to compute, in blocks that reuse intermediates and fit in
memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..base.formatting import format_bytes
from ..comparison.scores import NO_MEMORY_REASON, PairScore, ScoreBatch, score_batch
from ..contracts._measure import Measure
from ..data.representation import Representation, data_key, needs_copy
from .intermediate_sizes import group_measures, intermediates_used, is_small, pair_cache_bytes

RepresentationTuple = tuple[Representation, ...]

BlockJob = Callable[[Any], Iterator[list[Any]]]  # computes the results of a block


class PairBlock(NamedTuple):
    """The unit of work of a worker: a block of rows, a block of columns, and the missing pairs.

    ``forward`` marks per measure the missing (row, column) pairs, shape (rows, columns).
    ``backward`` marks the missing (column, row) pairs if all pairs of a list are compared. On the
    diagonal, where ``columns`` is ``rows``, ``forward`` and ``backward`` are equal. ``job`` yields
    the results of the block; None for the scores.
    """

    measures: tuple[Measure, ...]
    rows: RepresentationTuple
    columns: RepresentationTuple
    forward: tuple[np.ndarray, ...]
    backward: tuple[np.ndarray, ...] | None
    job: BlockJob | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether rows and columns are the same block."""
        return self.columns is self.rows

    @property
    def representations(self) -> RepresentationTuple:
        """The representations of the rows, followed by the columns unless the block is diagonal."""
        return self.rows if self.is_diagonal else self.rows + self.columns

    @property
    def has_work(self) -> bool:
        """Whether any pair is missing."""
        return any(part.any() for part in (*self.forward, *(self.backward or ())))

    def on(self, rows: Sequence[Representation], columns: Sequence[Representation]) -> PairBlock:
        """Return a block with the same work for other representations ``rows`` and ``columns``,
        such as copies, in the same order as in this block."""
        first = tuple(rows)
        return self._replace(rows=first, columns=first if self.is_diagonal else tuple(columns))

    def parts(self, size: int) -> Iterator[PairBlock]:
        """Yield the work in blocks of at most ``size`` rows and ``size`` columns; blocks without
        missing pairs are left out."""
        starts = range(0, len(self.rows), size), range(0, len(self.columns), size)
        for i in starts[0]:
            for j in starts[1]:
                if not (self.is_diagonal and j < i):
                    part = self._part(slice(i, i + size), slice(j, j + size))
                    if part.has_work:
                        yield part

    def _part(self, rows: slice, columns: slice) -> PairBlock:
        first = self.rows[rows]
        is_same = self.is_diagonal and rows == columns
        return self._replace(
            rows=first,
            columns=first if is_same else self.columns[columns],
            forward=tuple(todo[rows, columns] for todo in self.forward),
            backward=self.backward and tuple(todo[columns, rows] for todo in self.backward),
        )


@dataclass(eq=False)
class ComparisonPlan:
    """The pairs to compute among all pairs of ``rows``, or of ``rows`` with ``columns``.

    ``missing`` marks per measure the (row, column) pairs to compute, shape (rows, columns).
    ``memory`` is the budget for the intermediates of a block, in bytes; ``available`` is the free
    memory of the machine. ``height``: the largest number of rows of a block; None for no limit.
    ``shares_memory``: the intermediates of a representation may share memory.
    """

    rows: RepresentationTuple
    columns: RepresentationTuple | None
    measures: Sequence[Measure]
    missing: dict[str, np.ndarray]
    memory: int
    available: float = math.inf
    height: int | None = None
    shares_memory: bool = True

    @property
    def sides(self) -> tuple[RepresentationTuple, RepresentationTuple]:
        """The representations of the rows and of the columns."""
        return self.rows, self.rows if self.columns is None else self.columns

    @property
    def all(self) -> RepresentationTuple:
        """The representations of the rows, followed by the columns of a rectangular comparison."""
        return self.rows + (self.columns or ())

    @property
    def size(self) -> int:
        """The number of pairs of the comparison, missing or not."""
        rows = len(self.rows)
        return rows * (rows + 1) // 2 if self.columns is None else rows * len(self.columns)

    @property
    def largest(self) -> tuple[int, int]:
        """The number of samples and the largest number of features."""
        return self.rows[0].shape[0], max(r.shape[1] for r in self.all)

    def computes_jointly(self, m: Measure) -> bool:
        """Return whether all pairs of a block cost little more than a single pair, because a pass
        over the samples serves all representations of the block."""
        replaces = m.all_pairs and m.all_pairs.replaces
        return bool(replaces and any(map(replaces, self.all)))

    @cached_property
    def is_copied(self) -> bool:
        """Whether intermediates copy an array, in any representation, instead of sharing the
        memory of the array."""
        return any(map(needs_copy, self.all))

    def bytes_of_pair(self, measure: Measure) -> int:
        """Return the bytes of the intermediates of a pair of the widest representations."""
        n, widest = self.largest
        return pair_cache_bytes(measure, n, widest, widest, self.is_copied)

    def largest_pairs(self) -> dict[Measure, int]:
        """Return the bytes of the intermediates of the largest pair of each measure with missing
        pairs.

        The result is empty if the data are small for the budget.
        """
        if is_small(*self.largest, 2, min(self.available, self.memory)):
            return {}
        return {m: self.bytes_of_pair(m) for m in self.measures if self.missing[m.spec].any()}

    def remove_infeasible(self, m: Measure) -> ScoreBatch | None:
        """Remove from ``missing`` every pair of ``m`` whose intermediates exceed the available
        memory.

        Return a batch with one failure per removed pair, or None if all pairs fit.
        """
        failures, offset = [], 0 if self.columns is None else len(self.rows)
        for i, j in np.argwhere(self.missing[m.spec]).tolist():
            x, y = self.sides[0][i], self.sides[1][j]
            size = pair_cache_bytes(m, x.shape[0], x.shape[1], y.shape[1], self.is_copied)
            if size > self.available:
                self.missing[m.spec][i, j] = False
                needed, left = format_bytes(size), format_bytes(self.available)
                reason = (
                    f"{NO_MEMORY_REASON} for {m} of arrays {x.shape} and {y.shape}: at least "
                    f"{needed} are needed and {left} are left; use fewer samples or features, or a "
                    "machine with more memory"
                )
                failures.append(PairScore(i, offset + j, None, reason))
        data = tuple(map(data_key, self.all))
        return score_batch(m.spec, m.version, data, failures) if failures else None

    def height_for(self, blocks: float) -> int:
        """Return the largest number of rows of a block that gives at least ``blocks`` blocks.

        All pairs of b groups are b (b + 1) / 2 blocks; a rectangle has b blocks per group of
        columns.
        """
        if self.columns is None:
            groups = math.ceil((math.sqrt(8 * blocks + 1) - 1) / 2)
            return max(1, math.ceil(len(self.rows) / max(1, groups)))
        return max(1, math.floor(math.sqrt(self.size / max(1.0, blocks))))

    def blocks(self) -> Iterator[PairBlock]:
        """Yield blocks that cover the missing pairs, in an order that reuses intermediates, with
        intermediates that fit in memory."""
        unfinished = tuple(m for m in self.measures if self.missing[m.spec].any())
        if not unfinished:
            return
        n, count, room = self.largest[0], len(self.all), min(self.memory, self.available)
        groups = [(unfinished, 0)]
        if not is_small(*self.largest, count * len(unfinished), room):
            sizes = {
                m: intermediates_used(
                    m, *self.largest, self.is_copied, apart=not self.shares_memory
                )
                for m in unfinished
            }
            groups = group_measures(sizes, n, count, self.memory, self.available)
        columns = None if self.columns is None else len(self.columns)
        for measures, size in groups:
            for rows_and_columns in split_into_blocks(
                size, len(self.rows), columns, self.memory, self.height
            ):
                block = self._block(measures, *rows_and_columns)
                if block.has_work:
                    yield block

    def _block(self, measures: tuple[Measure, ...], rows: slice, columns: slice) -> PairBlock:
        first, second = self.sides[0][rows], self.sides[1][columns]
        if self.columns is None and rows == columns:
            second = first
        masks = [self.missing[m.spec] for m in measures]
        backward = tuple(b[columns, rows] for b in masks) if self.columns is None else None
        return PairBlock(measures, first, second, tuple(b[rows, columns] for b in masks), backward)


def split_into_blocks(
    size: int, rows: int, columns: int | None, memory: int, height: int | None = None
) -> Iterator[tuple[slice, slice]]:
    """Yield blocks as slices (rows, columns) that cover a rectangle of ``rows`` and ``columns``,
    numbers of representations; with ``columns=None``, all pairs of the rows.

    A representation holds ``size`` bytes of intermediates. The height of a block is the number of
    representations within the budget ``memory``, or ``height`` if smaller: two blocks hold
    intermediates, and a third of the budget is left for computing an intermediate. Consecutive
    blocks share rows or columns wherever possible, because the order of the columns alternates
    between forward and backward.
    """
    largest = max(1, memory // (3 * max(size, 1)))
    if size * (rows + (columns or 0)) <= memory:
        largest = max(rows, columns or 0)
    step = min(largest, height or largest)
    row_blocks = [slice(i, min(i + step, rows)) for i in range(0, rows, step)]
    column_blocks = [slice(j, min(j + step, columns or 0)) for j in range(0, columns or 0, step)]
    for i, block in enumerate(row_blocks):
        partners = row_blocks[i:] if columns is None else column_blocks
        for partner in partners if i % 2 == 0 else reversed(partners):
            yield block, partner
