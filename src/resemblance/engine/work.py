"""The plan of a comparison: representations, measures, scores so far, and the remaining tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.extras import MISSING_DEPENDENCY, install_hint
from ..base.formatting import format_bytes
from ..base.progress import Progress
from ..comparison.comparison import Comparison, MeasureInfo, measure_info
from ..comparison.provenance import comparison_provenance
from ..comparison.saved import range_checker
from ..comparison.scores import NO_MEMORY_REASON, PairScore, ScoreBatch, ScoreMatrix, score_batch
from ..comparison.store import ScoreFile
from ..contracts._measure import Measure
from ..data.caveats import reordered_column_caveats
from ..data.representation import Representation, data_key, needs_copy, unify_keys
from .arguments import named_representations, select_measures
from .intermediate_sizes import group_measures, intermediates_used, is_small, pair_cache_bytes

# A boolean mask of the pairs to compute, shape (rows, columns), by measure
MissingPairs = Mapping[str, np.ndarray]
RepresentationTuple = tuple[Representation, ...]


class RunOptions(TypedDict, total=False):
    """Options for running comparisons: the parameters of :func:`compare` with the same names.

    ``keep``: representations in the calling process keep intermediates, and the caller clears the
    caches. ``announce`` receives the time estimate of long work; by default, the progress bar
    prints the estimate.
    """

    executor: Executor | None
    memory: int | str
    block_size: int | None
    progress: Progress
    save: str | Path | None
    spill: str | Path | bool | None
    keep: bool
    announce: Callable[[str], None]


BlockJob = Callable[[Any], Iterator[list[ScoreBatch]]]  # computes the results of a task


class PairBlock(NamedTuple):
    """The unit of work of a worker: a block of rows, a block of columns, and the missing pairs.

    ``forward`` marks per measure the missing (row, column) pairs, shape (rows, columns).
    ``backward`` marks the missing (column, row) pairs if all pairs of a list are compared. On the
    diagonal, where ``columns`` is ``rows``, ``forward`` and ``backward`` are equal. ``job`` yields
    the results of a task; None for the scores.
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
        """Return the same work for other representations, such as copies."""
        first = tuple(rows)
        return self._replace(rows=first, columns=first if self.is_diagonal else tuple(columns))

    def parts(self, size: int) -> Iterator[PairBlock]:
        """Yield the work in blocks of at most ``size`` rows and columns."""
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
    """The plan of a comparison of all pairs of ``rows``, or of ``rows`` with ``columns``.

    Representations with equal data appear once, because a score does not depend on names; all names
    are in ``provenance``. Measures in ``uninstalled`` get no scores.
    """

    rows: RepresentationTuple
    columns: RepresentationTuple | None
    measures: list[Measure]
    uninstalled: list[Measure]
    provenance: dict[str, Any]

    @classmethod
    def of(
        cls,
        representations: Any,
        measures: Any = None,
        against: Any = None,
        *,
        metadata: Mapping[str, Any] = {},
    ) -> ComparisonPlan:
        """Return the plan for these arguments of :func:`compare`; raises the same exceptions.

        ``metadata``: further entries of the provenance.
        """
        rows, columns = named_representations(representations, against)
        return cls.of_checked(rows, columns, *select_measures(measures), metadata=metadata)

    @classmethod
    def of_checked(
        cls,
        rows: Sequence[Representation],
        columns: Sequence[Representation] | None,
        measures: list[Measure],
        uninstalled: list[Measure],
        *,
        metadata: Mapping[str, Any] = {},
    ) -> ComparisonPlan:
        """Return the plan for checked representations and selected measures.

        The arguments are the results of :func:`named_representations` and :func:`select_measures`.
        """
        for m in measures:
            # Output measures are cheap, so an early call can check labels among the parameters.
            if m.family == "outputs":
                with suppress(UndefinedError):
                    m.evaluate(rows[0], rows[0])
        unify_keys([*rows, *(columns or ())])
        provenance = {**comparison_provenance(rows, columns or rows), **metadata}
        order_caveats = reordered_column_caveats([*rows, *(columns or [])])
        second = None if columns is None else _distinct_data(columns)
        work = cls(_distinct_data(rows), second, measures, uninstalled, provenance)
        work.note(order_caveats)
        return work

    def note(self, caveats: Sequence[str]) -> None:
        """Append caveats about the data to the provenance."""
        if caveats:
            previous = self.provenance.get("caveats", [])
            self.provenance["caveats"] = list(dict.fromkeys([*previous, *caveats]))

    def use_fingerprints(self) -> None:
        """Identify all data by fingerprints, under which scores are saved and looked up."""
        keys = {data_key(r): r for r in self.all}
        unify_keys(self.all, portable=True)
        for side in ("rows", "columns"):
            for entry in self.provenance.get(side, {}).values():
                entry["fingerprint"] = data_key(keys[entry["fingerprint"]])

    @cached_property
    def infos(self) -> tuple[MeasureInfo, ...]:
        """The facts about all measures."""
        return tuple(map(measure_info, (*self.measures, *self.uninstalled)))

    @cached_property
    def matrices(self) -> dict[str, ScoreMatrix]:
        """The scores so far, by measure."""
        data = [[data_key(r) for r in side] for side in self.sides]
        return {m.spec: ScoreMatrix(m.spec, m.version, m.symmetric, *data) for m in self.infos}

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
        """The number of pairs."""
        rows = len(self.rows)
        return rows * (rows + 1) // 2 if self.columns is None else rows * len(self.columns)

    @property
    def largest(self) -> tuple[int, int]:
        """The number of samples and the largest number of features."""
        return self.rows[0].shape[0], max(r.shape[1] for r in self.all)

    @cached_property
    def is_copied(self) -> bool:
        """Whether intermediates copy an array instead of sharing the memory of the array."""
        return any(map(needs_copy, self.all))

    def bytes_of_pair(self, measure: Measure) -> int:
        """Return the bytes of the intermediates of a pair of the widest representations."""
        n, widest = self.largest
        return pair_cache_bytes(measure, n, widest, widest, self.is_copied)

    def put(self, column: ScoreBatch) -> None:
        """Store the scores for the data and measures of this plan."""
        if column.measure in self.matrices:
            self.matrices[column.measure].put(column)

    def comparison(self) -> Comparison:
        """Return the scores so far as a :class:`Comparison`."""
        absent_reasons = {
            m.spec: f"{MISSING_DEPENDENCY}: {install_hint(m.requires or '')}"
            for m in self.uninstalled
        }
        names = tuple(self.provenance["rows"]), tuple(self.provenance["columns"])
        return Comparison(*names, self.infos, self.matrices, self.provenance, absent_reasons)

    def wanted(self, measure: Measure) -> np.ndarray:
        """Mark the pairs that define the matrix: (x, y) without (y, x) for a symmetric measure."""
        mask = np.ones(tuple(map(len, self.sides)), dtype=bool)
        if not measure.symmetric:
            return mask
        return np.triu(mask) if self.columns is None else mask & ~self._turned()

    def _turned(self) -> np.ndarray:
        """Mark the pairs whose transposed pair appears earlier in the same rectangular
        comparison."""
        mask = np.zeros(tuple(map(len, self.sides)), dtype=bool)
        i, j = _shared_data_positions(
            *({data_key(r): k for k, r in enumerate(s)} for s in self.sides)
        )
        mask[np.ix_(i, j)] = np.array(i)[None, :] < np.array(i)[:, None]
        return mask

    def todo(self) -> dict[str, np.ndarray]:
        """Return for each measure a mask of the pairs to compute."""
        return {m.spec: self.wanted(m) & self.matrices[m.spec].missing() for m in self.measures}

    def without_room(self, m: Measure, todo: np.ndarray, available: float) -> ScoreBatch | None:
        """Remove from ``todo`` every pair whose intermediates cannot fit in memory.

        Return one failure per removed pair, or None if all pairs fit.
        """
        failures, offset = [], 0 if self.columns is None else len(self.rows)
        for i, j in np.argwhere(todo).tolist():
            x, y = self.sides[0][i], self.sides[1][j]
            size = pair_cache_bytes(m, x.shape[0], x.shape[1], y.shape[1], self.is_copied)
            if size > available:
                todo[i, j] = False
                problem = (
                    f"it takes at least {format_bytes(size)} and {format_bytes(available)} are left"
                )
                remedy = "use fewer samples or features, or a machine with more memory"
                reason = (
                    f"{NO_MEMORY_REASON} for {m} of arrays {x.shape} and {y.shape}: {problem}; "
                    f"{remedy}"
                )
                failures.append(PairScore(i, offset + j, None, reason))
        data = tuple(map(data_key, self.all))
        return score_batch(m.spec, m.version, data, failures) if failures else None

    def height_for(self, tasks: float) -> int:
        """Return the largest block height that gives at least ``tasks`` tasks.

        All pairs of b blocks are b (b + 1) / 2 tasks; a rectangle has b tasks per block of columns.
        """
        if self.columns is None:
            blocks = math.ceil((math.sqrt(8 * tasks + 1) - 1) / 2)
            return max(1, math.ceil(len(self.rows) / max(1, blocks)))
        return max(1, math.floor(math.sqrt(self.size / max(1.0, tasks))))

    def tasks(
        self,
        todo: MissingPairs,
        memory: int,
        available: float = math.inf,
        height: int | None = None,
        apart: bool = False,
    ) -> Iterator[PairBlock]:
        """Yield the tasks in an order that reuses intermediates.

        ``memory`` is the budget for intermediates, ``available`` the free memory of the machine,
        and ``height`` the largest height of a block. ``apart``: no intermediates share memory.
        """
        unfinished = [m for m in self.measures if todo[m.spec].any()]
        if is_small(*self.largest, len(self.all) * len(unfinished), min(memory, available)):
            groups = [(tuple(unfinished), 0)] if unfinished else []
        else:
            intermediates = {
                m: intermediates_used(m, *self.largest, self.is_copied, apart=apart)
                for m in unfinished
            }
            groups = group_measures(
                intermediates, self.largest[0], len(self.all), memory, available
            )
        columns = None if self.columns is None else len(self.columns)
        for measures, size in groups:
            for tile in split_into_blocks(size, len(self.rows), columns, memory, height):
                task = self._task(measures, *tile, todo)
                if task.has_work:
                    yield task

    def _task(
        self, measures: tuple[Measure, ...], rows: slice, columns: slice, todo: MissingPairs
    ) -> PairBlock:
        first, second = self.sides[0][rows], self.sides[1][columns]
        if self.columns is None and rows == columns:
            second = first
        blocks = [todo[m.spec] for m in measures]
        backward = tuple(b[columns, rows] for b in blocks) if self.columns is None else None
        return PairBlock(measures, first, second, tuple(b[rows, columns] for b in blocks), backward)


def split_into_blocks(
    size: int, rows: int, columns: int | None, memory: int, height: int | None = None
) -> Iterator[tuple[slice, slice]]:
    """Yield (rows, columns) blocks; with ``columns=None``, blocks of all pairs of the rows.

    A representation holds ``size`` bytes of intermediates. The height of a block is the number of
    representations within the budget, or ``height`` if smaller: two blocks hold intermediates, and
    a third of the budget is left for computing an intermediate. Consecutive blocks share rows or
    columns wherever possible, because the order of the columns alternates between forward and
    backward.
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


def load_saved_scores(store: ScoreFile, works: Sequence[ComparisonPlan]) -> None:
    """Store the scores in a file for the data of these plans."""
    for work in works:
        work.use_fingerprints()
    check = range_checker((info for work in works for info in work.infos), store.path)
    data = {data_key(r) for work in works for r in work.all}
    for column in store.columns(data):
        check(column)
        for work in works:
            work.put(column)


def find_missing_pairs(works: Sequence[ComparisonPlan]) -> list[dict[str, np.ndarray]]:
    """Return for each comparison the masks of the pairs to compute.

    A pair that an earlier comparison computes is not in the mask of a later comparison.
    """
    todos = [work.todo() for work in works]
    places = [[{data_key(r): i for i, r in enumerate(s)} for s in work.sides] for work in works]
    for k, work in enumerate(works):
        for p, other in enumerate(works[:k]):
            (rows, columns), other_sides = places[k], places[p]
            for is_turned in (False, True):
                first, second = reversed(other_sides) if is_turned else other_sides
                (i, a), (j, b) = (
                    _shared_data_positions(rows, first),
                    _shared_data_positions(columns, second),
                )
                for m in work.measures if i and j else ():
                    if (m.symmetric or not is_turned) and m in other.measures:
                        mask = todos[p][m.spec]
                        mask = mask.T if is_turned else mask
                        todos[k][m.spec][np.ix_(i, j)] &= ~mask[np.ix_(a, b)]
    return todos


def _shared_data_positions(
    first: Mapping[str, int], second: Mapping[str, int]
) -> tuple[list[int], list[int]]:
    """Return the positions in ``first`` and in ``second`` of the data that both sides contain."""
    common = [name for name in first if name in second]
    return [first[name] for name in common], [second[name] for name in common]


def _distinct_data(representations: Iterable[Representation]) -> RepresentationTuple:
    """Return the first representation of each data set."""
    representations_by_data: dict[str, Representation] = {}
    for r in representations:
        representations_by_data.setdefault(data_key(r), r)
    return tuple(representations_by_data.values())
