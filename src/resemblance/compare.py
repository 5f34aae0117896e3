"""The engine: all pairs of representations by many measures, every shared part computed once."""

from __future__ import annotations

import json
import pickle
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack, contextmanager, nullcontext
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from .arrays import library, on_processor, scalar
from .catalogue import get_measures, list_measures, preset
from .caveat import transposition
from .comparison import (
    Comparison,
    MeasureInfo,
    assemble,
    check_ranges,
    describe,
    info_of,
    provenance_of,
)
from .extras import NEEDS, install_hint
from .failures import reason_of
from .given import named_sides
from .inputs import hint_of_counts
from .machine import available_memory
from .measure import Measure, require
from .plan import Task, Work, block_for_workers, count, distinct
from .progress import Progress, reporting
from .representation import Representation, check_same_samples, comparing, fingerprint
from .store import CAVEAT, COLUMNS, NO_MEMORY, Cell, Key, Store, key_of
from .tiles import in_units, parse_bytes

Done = TypeVar("Done")


def compare(
    representations: Any,
    other: Any = None,
    *,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    tile: int | None = None,
    progress: Progress = True,
    save: str | Path | None = None,
) -> Comparison:
    """Compare representations of the same samples by many measures, each shared part computed once.

    Parameters
    ----------
    representations : a mapping from names to (n_samples, n_features) arrays, several arrays or
        :class:`Representation`, or one array. Their rows are the same samples in the same order. In
        the place of an array may stand a :class:`Subject`, whose layers are called ``model/layer``
        (models of one name are numbered), or a mapping from layers to arrays. The views of the
        representations are dropped when they are no longer needed.
    other : the same, for the columns of a rectangle; without it all pairs of ``representations``
        are compared.
    measures : measures, names, labels, specifications such as ``"cka[estimator=debiased]"``, or
        names of presets. Default: the 24 measures of ``preset("default")``; one whose optional
        dependency is missing is then recorded as failed, while a measure asked for by name raises
        ``ImportError``.
    executor : any ``concurrent.futures.Executor``. Blocks of pairs are its tasks; the values are
        the same, to the last bit, for every executor. A task computes the views of its own
        representations, so b blocks compute each view up to b times: an executor pays when pairs
        are many or measures of pairs are slow.
    memory : budget in bytes for the views held at a time, per task. Numbers do not depend on it. A
        measure of which one pair needs more is computed all the same, after a warning; one that
        needs more than the machine has left fails.
    tile : largest number of representations in one side of a block. Default: what fits ``memory``;
        with an executor also few enough that there are two tasks for each worker.
    progress : show a bar on standard error, or call ``progress(done, total)``.
    save : file in which every result is kept as soon as it is computed, by the workers themselves
        if these are threads or processes of a pool of Python's own. Run again with the same file,
        only what is missing is computed: after an interruption, or for more measures and
        representations.

    Returns
    -------
    :class:`Comparison`. A pair that a measure cannot handle, or for which there is too little
    memory, is NaN there, with the reason; nothing else is caught. What failed for lack of memory is
    tried again by a later run with the same file.

    Raises ``ValueError`` when representations have different numbers of samples, sample ids or
    array libraries, or when two have the same name. BLAS runs on one thread while it works (it is
    faster on many small problems, and the same on every machine); the setting is restored.
    """
    rows, columns = named_sides(representations, other)
    every = rows + (columns or [])
    _check(rows, columns)
    chosen, missing = _choose(measures)
    budget = _budget(memory, tile)
    infos = tuple(info_of(m) for m in (*chosen, *missing))
    provenance = provenance_of(rows, columns or rows)
    names, column_names = [r.name for r in rows], [r.name for r in columns or rows]

    with ExitStack() as stack:
        store = stack.enter_context(Store(save)) if save is not None else None
        done = _done_before(store, every, infos)
        if store:
            store.describe(describe(names, column_names, infos, provenance))
        stack.enter_context(single_threaded())
        work = Work(tuple(distinct(rows)), None if columns is None else tuple(distinct(columns)))
        left = available_memory() if _is_here(executor, every) else None
        block = tile if tile is not None or executor is None else block_for_workers(work, executor)
        keep = store.path if store and _shares_files(executor) else None
        plan = work.plan(chosen, done.keys(), budget, left, block, keep)
        _warn_of_memory(plan.beyond_budget, memory)
        show = stack.enter_context(
            reporting(progress, sum(map(count, plan.tasks)) + len(plan.hopeless), "comparing")
        )
        for cells in chain(
            [plan.hopeless] if plan.hopeless else [], _run(plan.tasks, executor, save)
        ):
            done |= {key_of(c): c for c in cells}
            show(len(cells))
            if store:
                store.put(cells)
    return assemble(names, column_names, infos, done.values(), provenance, _absent(missing))


# -------------------------------------------------------------------------------- running the tasks


def _run(
    tasks: Sequence[Task], executor: Executor | None, save: str | Path | None
) -> Iterator[list[Cell]]:
    """Yield finished cells: pair by pair in this process, task by task from an executor."""
    if executor is None:
        for position, task in enumerate(tasks):
            yield from _pairs(task)
            following = tasks[position + 1] if position + 1 < len(tasks) else None
            kept = (
                set(following.representations)
                if following and following.measures == task.measures
                else set()
            )
            for index in set(task.representations) - kept:
                task.representations[index].forget()
        return
    if isinstance(executor, ProcessPoolExecutor):
        for measure in {m for task in tasks for m in task.measures}:
            pickle.dumps(
                measure
            )  # one that cannot travel says so here; inside the pool it might never end
    try:
        yield from as_finished({executor.submit(run_task, task) for task in tasks})
    except BrokenExecutor as error:
        saved = (
            f"what was computed is kept in {save}; the same call continues"
            if save
            else "save=FILE keeps results"
        )
        cause = (
            "a worker ended before its work was done, most often for lack of memory: take fewer "
            "workers"
        )
        raise type(error)(f"compare: {cause}, or a smaller memory=; {saved}") from error


def as_finished(pending: set[Future[Done]]) -> Iterator[Done]:
    """Yield what futures give, in the order in which they end; cancel those that are left when the
    caller stops."""
    try:
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    finally:
        for future in pending:
            future.cancel()


def run_task(task: Task) -> list[Cell]:
    """Compute one task in a worker, on fresh representations, so that their views end with it.

    Cells are written to the file of the task, if it has one, as soon as they are there.
    """
    fresh = {i: copy(r) for i, r in task.representations.items()}
    done: list[Cell] = []
    with single_threaded(), Store(task.keep) if task.keep else nullcontext() as store:
        for cells in _pairs(task._replace(representations=fresh)):
            done += cells
            if store:
                store.put(cells)
    return done


def _pairs(task: Task) -> Iterator[list[Cell]]:
    for row, column, positions in task.wanted:
        x, y = task.representations[row], task.representations[column]
        with comparing(x, y):
            yield [
                cell for p in positions for cell in _cells(task.measures[p], x, y, task.both_orders)
            ]


def _cells(
    measure: Measure, x: Representation, y: Representation, both_orders: bool
) -> Iterator[Cell]:
    yield _cell(measure, x, y)
    if both_orders and not measure.symmetric and x is not y:
        yield _cell(measure, y, x)


def _cell(measure: Measure, x: Representation, y: Representation) -> Cell:
    start, value, reason, remarks = time.perf_counter(), None, None, None
    try:
        value = scalar(measure.evaluate(x, y))
        remarks = _remarks(measure, x, y)
    except Exception as error:
        value, reason = None, reason_of(error, measure, x, y)  # also where only the remarks failed
        if reason is None:
            raise
        if reason.startswith(NO_MEMORY):  # make room for the other measures
            for r in (x, y):
                r.forget()
    seconds = time.perf_counter() - start
    return Cell(
        measure.spec,
        measure.version,
        fingerprint(x),
        fingerprint(y),
        value,
        seconds,
        reason,
        remarks,
    )


def _remarks(measure: Measure, x: Representation, y: Representation) -> str | None:
    """What the measure says of this pair besides the value, as JSON text."""
    found: dict[str, float | str] = {
        name: float(value) for name, value in measure.remarks(x, y).items()
    }
    if taken := sorted(found.keys() & {*COLUMNS, CAVEAT}):
        raise ValueError(
            f"{measure}: a remark cannot be called {taken[0]!r}, which is a column of the records"
        )
    if caveat := measure.caveat(x, y):
        found[CAVEAT] = caveat
    return json.dumps(found, allow_nan=False) if found else None


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run BLAS, OpenMP and PyTorch on one thread inside this block."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 1
    with threadpool_limits(limits=1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)


# --------------------------------------------------------------------- what goes in, what comes out


def _budget(memory: int | str, tile: int | None) -> int:
    if tile is not None and tile < 1:
        raise ValueError(f"compare: tile must be at least 1; got {tile}")
    return parse_bytes(memory)


def _done_before(
    store: Store | None, every: Sequence[Representation], infos: Sequence[MeasureInfo]
) -> dict[Key, Cell]:
    """Return what the file holds of these data, but for what only this machine, or another, had no
    memory for."""
    if store is None:
        return {}
    kept = store.cells(map(fingerprint, every))
    check_ranges(kept, infos, store.path)
    return {key_of(c): c for c in kept if not (c.reason or "").startswith(NO_MEMORY)}


def _is_here(executor: Executor | None, every: Sequence[Representation]) -> bool:
    """Say whether the work takes the memory of this machine: not that of a cluster or of an
    accelerator."""
    return (executor is None or _shares_files(executor)) and all(
        on_processor(r.source) for r in every
    )


def _shares_files(executor: Executor | None) -> bool:
    return isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor)


def _warn_of_memory(needed: Mapping[str, int], memory: int | str) -> None:
    if needed:
        sizes = ", ".join(f"{spec} {in_units(size)}" for spec, size in needed.items())
        text = (
            f"compare: memory={memory!r} is less than one pair takes ({sizes}); it is computed "
            "all the same"
        )
        warnings.warn(text, stacklevel=3)


def _check(rows: Sequence[Representation], columns: Sequence[Representation] | None) -> None:
    if not rows or columns == []:
        raise ValueError("compare: there is nothing to compare")
    for side in (rows, columns or []):
        names = [r.name for r in side]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"compare: two representations are called {twice[0]!r}; names must be unique"
            )
    first = rows[0]
    with_ids = next((r for r in [*rows, *(columns or [])] if r.ids is not None), first)
    for r in [*rows, *(columns or [])]:
        if r.shape[0] != first.shape[0]:
            hint = transposition(first.shape, r.shape, (repr(first.name), repr(r.name)))
            raise ValueError(
                f"compare: {first.name!r} has {first.shape[0]} samples (rows) and {r.name!r} has "
                f"{r.shape[0]}; all must be representations of the same "
                f"samples{hint_of_counts(r.shape[0], first.shape[0]) or hint}"
            )
        check_same_samples("compare", with_ids, r)
        mine, other = (f"{library(s.source)} in {s.precision}" for s in (first, r))
        if mine != other:
            raise ValueError(
                f"compare: {first.name!r} is computed by {mine} and {r.name!r} by {other}; "
                "convert one"
            )


def _choose(measures: Any) -> tuple[list[Measure], list[Measure]]:
    """Return the measures to compute, and those of the default list whose optional dependency is
    missing."""
    if measures is None:
        default = preset("default")
        usable = [m for m in default if not m.extra or _installed(m)]
        return usable, [m for m in default if m not in usable]
    chosen = get_measures([measures] if isinstance(measures, str | Measure) else measures)
    if not chosen:
        raise ValueError("compare: measures is empty")
    for m in chosen:
        require(m)
        twin = next((other for other in [*list_measures(), *chosen] if other.name == m.name), m)
        if twin.function is not m.function:
            raise ValueError(
                f"compare: {m.function.__module__} has a measure called {m.name!r}, a name that "
                "is taken"
            )
        other = next((o for o in chosen if o.label == m.label and o.name != m.name), None)
        if other:
            names = f"{m.name} and {other.name}"
            raise ValueError(
                f"compare: {names} are both labelled {m.label!r}; give one of them another label"
            )
    return chosen, []


def _absent(missing: Sequence[Measure]) -> dict[str, str]:
    return {m.spec: f"{NEEDS}: {install_hint(m.extra or '')}" for m in missing}


def _installed(m: Measure) -> bool:
    try:
        require(m)
    except ImportError:
        return False
    return True
