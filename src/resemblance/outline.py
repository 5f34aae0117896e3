"""What comparisons are of, the scores that they have, and the tasks that are left to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arguments import Selection, Sides, select_measures, sides_of
from .arrays import on_processor
from .comparison import Comparison, MeasureInfo, info_of
from .engine.saved import range_check
from .engine.scores import Column, Matrix
from .engine.shared_views import SharedViews
from .engine.store import Store
from .engine.workers import shares_files, warn, workers_of
from .extras import NEEDS, install_hint
from .machine import available_memory
from .measure import Measure
from .plan import Pairs, TileTask, bytes_of_pairs, distinct, too_large
from .progress import Progress
from .provenance import provenance_of
from .representation import Representation, Undefined, fingerprint
from .tiles import budget_of, in_units

# With more tasks the load is more even, but each computes views unless they are lent.
TASKS_PER_WORKER = 2
LENT_TASKS_PER_WORKER = 10
LARGEST_LENT_BLOCK = 100  # a task has all files of two blocks open


class Request(NamedTuple):
    """A comparison to make: representations, measures and ``other`` as in :func:`compare`."""

    representations: Any
    measures: Iterable[str | Measure] | str | Measure | None = None
    other: Any = None


class Settings(NamedTuple):
    """How comparisons are computed: the parameters of :func:`compare` of these names."""

    executor: Executor | None
    memory: int | str
    tile: int | None
    progress: Progress
    save: str | Path | None
    spill: str | Path | bool | None


@dataclass(eq=False)
class Outline:
    """A comparison to make: what it is of, and the scores so far."""

    sides: Sides
    selection: Selection
    infos: tuple[MeasureInfo, ...]
    provenance: dict[str, Any]
    work: Pairs
    matrices: dict[str, Matrix]

    def put(self, column: Column) -> None:
        """Take in the scores that are about these data and measures."""
        if column.measure in self.matrices:
            self.matrices[column.measure].put(column)

    def todo(self) -> dict[str, np.ndarray]:
        """Say for each measure which pairs are to be computed."""
        return {
            m.spec: self.work.wanted(m) & self.matrices[m.spec].missing()
            for m in self.selection.measures
        }

    def comparison(self) -> Comparison:
        """Return the comparison that the scores make."""
        missing = self.selection.uninstalled
        absent = {m.spec: f"{NEEDS}: {install_hint(m.extra or '')}" for m in missing}
        names = tuple(self.provenance["rows"]), tuple(self.provenance["columns"])
        return Comparison(*names, self.infos, self.matrices, self.provenance, absent)


def outline_of(request: Request) -> Outline:
    sides = sides_of(request.representations, request.other)
    selection = select_measures(request.measures)
    for m in selection.measures:
        if m.family == "outputs":  # it is cheap, and labels among its parameters may not fit
            with suppress(Undefined):
                m.evaluate(sides.rows[0], sides.rows[0])
    infos = tuple(map(info_of, (*selection.measures, *selection.uninstalled)))
    provenance = provenance_of(sides.rows, sides.columns or sides.rows)
    work = Pairs(distinct(sides.rows), distinct(sides.columns) if sides.columns else None)
    data = [[fingerprint(r) for r in side] for side in work.sides]
    matrices = {m.spec: Matrix(m.spec, m.version, m.symmetric, *data) for m in infos}
    return Outline(sides, selection, infos, provenance, work, matrices)


class RunPlan(NamedTuple):
    """Failures that are known before anything is tried, the tasks of each comparison, the number
    of scores, and the bytes that this machine had left."""

    hopeless: list[Column]
    streams: list[Iterator[TileTask]]
    total: int
    available: int | None


def plan_of(
    outlines: Sequence[Outline],
    settings: Settings,
    budget: int,
    lender: SharedViews | None,
    keep: Path | None,
) -> RunPlan:
    """Return the tasks of all comparisons in their order, none with what an earlier one has."""
    workers = workers_of(settings.executor) if settings.executor else 0
    pairs, left = sum(outline.work.size for outline in outlines), available_memory()
    todos = _without_repeats(outlines)
    hopeless, streams, beyond = list[Column](), list[Iterator[TileTask]](), dict[str, int]()
    total = sum(int(np.count_nonzero(part)) for todo in todos for part in todo.values())
    for outline, todo in zip(outlines, todos):
        work, measures = outline.work, outline.selection.measures
        block = settings.tile
        if block is None and settings.executor is not None:
            block = _block(work, measures, workers * work.size / pairs, lender)
        available = left if _is_here(settings.executor, outline.sides.all) else None
        offset = 0 if work.columns is None else len(work.rows)
        for m, size in bytes_of_pairs(measures, work, todo).items():
            column = None
            if available is not None and size > available:
                column = too_large(m, work, todo, available)
            if column is not None:
                todo[m.spec][column.x, column.y - offset] = False
                hopeless.append(column)
            elif size > budget:
                beyond[m.spec] = max(size, beyond.get(m.spec, 0))
        streams.append(work.tasks(measures, todo, budget, available, block, keep))
    _warn_of_memory(beyond, settings.memory)
    return RunPlan(hopeless, streams, total, left)


def _block(
    work: Pairs, measures: Sequence[Measure], workers: float, lender: SharedViews | None
) -> int:
    """Return the largest height of blocks for a share of the workers of an executor."""
    if lender is None or not lender.has_room(work.all, tuple(measures)):
        return work.block(TASKS_PER_WORKER * workers)
    return min(LARGEST_LENT_BLOCK, work.block(LENT_TASKS_PER_WORKER * workers))


def _without_repeats(outlines: Sequence[Outline]) -> list[dict[str, np.ndarray]]:
    """Return what each comparison is to compute, without what an earlier one computes."""
    todos = [outline.todo() for outline in outlines]
    names = [set(map(fingerprint, outline.work.all)) for outline in outlines]
    for later, outline in enumerate(outlines):
        for earlier in range(later):
            if not names[later].isdisjoint(names[earlier]):
                _leave_out(outline, todos[later], outlines[earlier], todos[earlier])
    return todos


def _leave_out(
    outline: Outline, todo: dict[str, np.ndarray], other: Outline, done: Mapping[str, np.ndarray]
) -> None:
    """Take out of ``todo`` the pairs of data that another comparison computes."""
    for m in (m for m in outline.selection.measures if m.spec in done):
        of, by = outline.matrices[m.spec], other.matrices[m.spec]
        if m not in other.selection.measures:
            continue
        for turned in (False, True) if m.symmetric else (False,):
            sides = (by.columns, by.rows) if turned else (by.rows, by.columns)
            rows = [(of.rows[name], sides[0][name]) for name in of.rows.keys() & sides[0].keys()]
            columns = [
                (of.columns[name], sides[1][name]) for name in of.columns.keys() & sides[1].keys()
            ]
            if rows and columns:
                (i, a), (j, b) = zip(*rows), zip(*columns)
                theirs = done[m.spec].T if turned else done[m.spec]
                todo[m.spec][np.ix_(i, j)] &= ~theirs[np.ix_(a, b)]


def checked_budget(settings: Settings) -> int:
    if settings.tile is not None and settings.tile < 1:
        raise ValueError(f"compare: tile must be at least 1; got {settings.tile}")
    return budget_of(settings.memory, settings.executor)


def read_scores(store: Store | None, outlines: Sequence[Outline]) -> None:
    """Take in the scores in the file for these data."""
    if store is None:
        return
    infos = [info for outline in outlines for info in outline.infos]
    check = range_check(infos, store.path)
    data = {fingerprint(r) for outline in outlines for r in outline.sides.all}
    for column in store.columns(data):
        check(column)
        for outline in outlines:
            outline.put(column)


def _is_here(executor: Executor | None, representations: Sequence[Representation]) -> bool:
    """Say whether the work takes memory of this machine, not of a cluster or an accelerator."""
    runs_here = executor is None or shares_files(executor)
    return runs_here and all(on_processor(r.source) for r in representations)


def _warn_of_memory(beyond_budget: Mapping[str, int], memory: int | str) -> None:
    if beyond_budget:
        sizes = ", ".join(f"{spec} {in_units(size)}" for spec, size in beyond_budget.items())
        problem = f"compare: memory={memory!r} is less than one pair takes ({sizes})"
        warn(f"{problem}; it is computed all the same")
