"""The work to do, as tasks: pairs and measures without those computed before or too large."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .engine.scores import NO_MEMORY, Column, Score, column_of
from .measure import Measure
from .representation import Representation, fingerprint, is_copied
from .tiles import Sharing, Tile, group_measures, in_units, pair_bytes, tiles

Todo = Mapping[str, np.ndarray]  # (rows, columns) of bool by measure: what is to be computed


class TileTask(NamedTuple):
    """What a worker receives: a block of rows against a block of columns, and what to compute.

    ``forward`` says for each measure which rows are compared with which columns, shape (rows,
    columns), ``backward`` which columns with which rows, where all pairs of one list are compared.
    On the diagonal, where ``columns`` is ``rows``, the two are the same. ``keep``: the file to
    which a worker writes its scores.
    """

    measures: tuple[Measure, ...]
    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...]
    forward: tuple[np.ndarray, ...]
    backward: tuple[np.ndarray, ...] | None
    keep: Path | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether it is about the pairs of one block."""
        return self.columns is self.rows

    @property
    def representations(self) -> tuple[Representation, ...]:
        """The representations of the rows, and those of the columns if they are others."""
        return self.rows if self.is_diagonal else self.rows + self.columns

    @property
    def has_work(self) -> bool:
        """Whether there is anything to compute."""
        return any(part.any() for part in (*self.forward, *(self.backward or ())))

    def on(self, rows: Sequence[Representation], columns: Sequence[Representation]) -> TileTask:
        """Return the same work on other representations, such as copies of these."""
        first = tuple(rows)
        return self._replace(rows=first, columns=first if self.is_diagonal else tuple(columns))

    def parts(self, size: int) -> Iterator[TileTask]:
        """Yield the work in blocks of at most so many rows and columns."""
        starts = range(0, len(self.rows), size), range(0, len(self.columns), size)
        for i in starts[0]:
            for j in starts[1]:
                if not (self.is_diagonal and j < i):
                    part = self._part(slice(i, i + size), slice(j, j + size))
                    if part.has_work:
                        yield part

    def _part(self, rows: slice, columns: slice) -> TileTask:
        first = self.rows[rows]
        is_same = self.is_diagonal and rows == columns
        return self._replace(
            rows=first,
            columns=first if is_same else self.columns[columns],
            forward=tuple(todo[rows, columns] for todo in self.forward),
            backward=self.backward and tuple(todo[columns, rows] for todo in self.backward),
        )


class Pairs(NamedTuple):
    """Representations to compare: all pairs of ``rows``, or ``rows`` with ``columns``."""

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...] | None

    @property
    def sides(self) -> tuple[tuple[Representation, ...], tuple[Representation, ...]]:
        """The representations of the rows and those of the columns."""
        return self.rows, self.rows if self.columns is None else self.columns

    @property
    def all(self) -> tuple[Representation, ...]:
        """All representations."""
        return self.rows + (self.columns or ())

    @property
    def size(self) -> int:
        """The number of pairs."""
        rows = len(self.rows)
        return rows * (rows + 1) // 2 if self.columns is None else rows * len(self.columns)

    @property
    def largest(self) -> tuple[int, int]:
        """The shape of the widest."""
        return self.rows[0].shape[0], max(r.shape[1] for r in self.all)

    @property
    def sharing(self) -> Sharing:
        """What memory the views share: none with an array that is copied for them."""
        return "views" if any(map(is_copied, self.all)) else "all"

    def block(self, tasks: float) -> int:
        """Return the largest height of blocks that make at least so many tasks.

        All pairs of b blocks are b (b + 1) / 2 tasks, those of a rectangle b times as many as there
        are blocks of columns.
        """
        if self.columns is None:
            blocks = math.ceil((math.sqrt(8 * tasks + 1) - 1) / 2)
            return max(1, math.ceil(len(self.rows) / max(1, blocks)))
        return max(1, math.floor(math.sqrt(self.size / max(1.0, tasks))))

    def wanted(self, measure: Measure) -> np.ndarray:
        """Say which pairs make the whole matrix: of a symmetric measure, one of the two orders of
        a pair."""
        everything = np.ones(tuple(map(len, self.sides)), dtype=bool)
        if not measure.symmetric:
            return everything
        return np.triu(everything) if self.columns is None else everything & ~self._turned()

    def _turned(self) -> np.ndarray:
        """Say which pairs of a rectangle are in it before with row and column exchanged."""
        turned = np.zeros(tuple(map(len, self.sides)), dtype=bool)
        columns = {fingerprint(r): j for j, r in enumerate(self.sides[1])}
        of_both = [(i, columns.get(fingerprint(r), -1)) for i, r in enumerate(self.rows)]
        i, j = np.array([pair for pair in of_both if pair[1] >= 0], dtype=np.intp).reshape(-1, 2).T
        turned[np.ix_(i, j)] = i[None, :] < i[:, None]
        return turned

    def tasks(
        self,
        measures: Sequence[Measure],
        todo: Todo,
        memory: int,
        available: int | None = None,
        block: int | None = None,
        keep: Path | None = None,
    ) -> Iterator[TileTask]:
        """Yield the tasks in the order in which they reuse views.

        ``memory`` is the budget for views, ``available`` what the machine has left, ``block`` the
        largest height of a block.
        """
        unfinished = [m for m in measures if todo[m.spec].any()]
        count, sharing = len(self.all), self.sharing
        groups = group_measures(unfinished, *self.largest, count, memory, available, sharing)
        columns = None if self.columns is None else len(self.columns)
        for tile in tiles(groups, len(self.rows), columns, memory, block):
            task = self._task(tile, todo, keep)
            if task.has_work:
                yield task

    def _task(self, tile: Tile, todo: Todo, keep: Path | None) -> TileTask:
        """Return the work of a tile."""
        rows = slice(tile.rows[0], tile.rows[-1] + 1)
        columns = slice(tile.columns[0], tile.columns[-1] + 1)
        is_diagonal = self.columns is None and rows == columns
        first, second = self.sides
        blocks = [todo[m.spec] for m in tile.measures]
        backward = tuple(b[columns, rows] for b in blocks) if self.columns is None else None
        forward = tuple(b[rows, columns] for b in blocks)
        chosen = first[rows]
        others = chosen if is_diagonal else second[columns]
        return TileTask(tile.measures, chosen, others, forward, backward, keep)


def distinct(representations: Iterable[Representation]) -> tuple[Representation, ...]:
    """Return the first representation of each data set: a value does not depend on names."""
    by_data: dict[str, Representation] = {}
    for r in representations:
        by_data.setdefault(fingerprint(r), r)
    return tuple(by_data.values())


def bytes_of_pairs(measures: Sequence[Measure], work: Pairs, todo: Todo) -> dict[Measure, int]:
    """Return the bytes of a pair of the widest, for each measure with work."""
    n, widest = work.largest
    unfinished = [m for m in measures if todo[m.spec].any()]
    return {m: pair_bytes(m, n, widest, widest, work.sharing) for m in unfinished}


def too_large(m: Measure, work: Pairs, todo: Todo, available: int) -> Column | None:
    """Return a failure for each pair whose views alone exceed the memory that is available."""
    data = tuple(map(fingerprint, work.all))
    offset = 0 if work.columns is None else len(work.rows)
    failures = []
    for i, j in np.argwhere(todo[m.spec]).tolist():
        x, y = work.sides[0][i], work.sides[1][j]
        size = pair_bytes(m, x.shape[0], x.shape[1], y.shape[1], work.sharing)
        if size > available:
            reason = _without_memory(m, x, y, size, available)
            failures.append(Score(i, offset + j, None, reason))
    return column_of(m.spec, m.version, data, failures) if failures else None


def _without_memory(
    measure: Measure, x: Representation, y: Representation, size: int, available: int
) -> str:
    need = f"it takes at least {in_units(size)} and {in_units(available)} are left"
    remedy = "use fewer samples or features, or a machine with more memory"
    return f"{NO_MEMORY} for {measure} of arrays {x.shape} and {y.shape}: {need}; {remedy}"
