"""The engine: all pairs of representations by many measures, each shared part computed once."""

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
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from .arguments import select_measures, sides_of
from .arrays import on_processor, scalar
from .assembly import assemble, check_ranges
from .comparison import Comparison, MeasureInfo, describe, info_of, provenance_of
from .extras import NEEDS, install_hint
from .failures import reason_of
from .machine import available_memory
from .measure import Measure
from .plan import Pairs, TileTask, WorkPlan, block_for_workers, count, distinct
from .progress import Progress, reporting
from .representation import Representation, comparing, fingerprint
from .store import CAVEAT, COLUMNS, NO_MEMORY, Cell, Key, Store, key_of
from .tiles import in_units, parse_bytes

Value = TypeVar("Value")


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
        :class:`Representation`, or one array. Their rows are the same samples in the same order. A
        :class:`Subject`, whose layers are called ``model/layer`` (models of one name are numbered),
        or a mapping from layers to arrays may take the place of an array. The views of the
        representations are dropped when they are no longer needed.
    other : the same, for the columns of a rectangle; without it all pairs of ``representations``
        are compared.
    measures : measures, names, labels, specifications such as ``"cka[estimator=debiased]"``, or
        names of presets. Default: the 24 measures of ``preset("default")``; one whose optional
        dependency is missing is then recorded as failed, while a measure asked for by name raises
        ``ImportError``.
    executor : any ``concurrent.futures.Executor``. Its tasks are blocks of pairs; the values are
        the same, to the last bit, for all executors. A task computes the views of its
        representations itself, so b blocks compute each view up to b times: an executor pays off
        when there are many pairs or the measures of pairs are slow.
    memory : budget in bytes for the views held at a time, per task. The values do not depend on it.
        A measure that needs more for one pair is still computed, after a warning; one that needs
        more than the machine has left fails.
    tile : largest number of representations in one side of a block. Default: what fits ``memory``;
        with an executor also few enough that there are two tasks for each worker.
    progress : show a bar on standard error, or call ``progress(done, total)``.
    save : file for the results, each written as soon as it is computed, by the workers themselves
        if these are threads or processes of a pool of Python's own. A later run with the same file
        computes only the missing results: after an interruption, or for more measures and
        representations.

    Returns
    -------
    :class:`Comparison`. A pair that a measure cannot handle, or that needs too much memory, is NaN,
    with a recorded reason; no other errors are caught. A later run with the same file tries again
    what failed for lack of memory.

    Raises ``ValueError`` when representations have different numbers of samples, sample ids or
    array libraries, or when two have the same name. BLAS runs on one thread meanwhile, which is
    faster for many small problems and gives the same values on all machines; the setting is
    restored.
    """
    sides = sides_of(representations, other)
    selection = select_measures(measures)
    budget = _budget(memory, tile)
    infos = tuple(map(info_of, (*selection.measures, *selection.uninstalled)))
    provenance = provenance_of(sides.rows, sides.columns or sides.rows)
    rows, columns = list(provenance["rows"]), list(provenance["columns"])

    with ExitStack() as stack:
        store = stack.enter_context(Store(save)) if save is not None else None
        cells = _cells_before(store, sides.all, infos)
        if store:
            store.describe(describe(rows, columns, infos, provenance))
        stack.enter_context(single_threaded())
        work = Pairs(distinct(sides.rows), distinct(sides.columns) if sides.columns else None)
        available = available_memory() if _is_here(executor, sides.all) else None
        block = tile if tile is not None or executor is None else block_for_workers(work, executor)
        keep = store.path if store and _shares_files(executor) else None
        plan = work.plan(selection.measures, cells.keys(), budget, available, block, keep)
        _warn_of_memory(plan.beyond_budget, memory)
        total = sum(map(count, plan.tasks)) + len(plan.hopeless)
        advance = stack.enter_context(reporting(progress, total, "comparing"))
        for batch in _run(plan, executor, save):
            cells |= {key_of(cell): cell for cell in batch}
            advance(len(batch))
            if store:
                store.put(batch)
    absent = {m.spec: f"{NEEDS}: {install_hint(m.extra or '')}" for m in selection.uninstalled}
    return assemble(rows, columns, infos, cells.values(), provenance, absent)


# -------------------------------------------------------------------------------- running the tasks


def _run(
    plan: WorkPlan, executor: Executor | None, save: str | Path | None
) -> Iterator[list[Cell]]:
    """Yield finished cells: pair by pair in this process, task by task from an executor."""
    hopeless = [plan.hopeless] if plan.hopeless else []
    if executor is None:
        return chain(hopeless, _run_here(plan.tasks))
    return chain(hopeless, _run_elsewhere(plan.tasks, executor, save))


def _run_here(tasks: Sequence[TileTask]) -> Iterator[list[Cell]]:
    for task, following in zip_longest(tasks, tasks[1:]):
        yield from _pairs(task)
        continues = following is not None and following.measures == task.measures
        needed = set(following.representations) if continues else set()
        for index in set(task.representations) - needed:
            task.representations[index].forget()


def _run_elsewhere(
    tasks: Sequence[TileTask], executor: Executor, save: str | Path | None
) -> Iterator[list[Cell]]:
    if isinstance(executor, ProcessPoolExecutor):
        for measure in {m for task in tasks for m in task.measures}:
            pickle.dumps(measure)  # one that cannot travel fails here; the pool might never end
    try:
        yield from as_finished({executor.submit(run_task, task) for task in tasks})
    except BrokenExecutor as error:
        cause = "a worker ended before its work was done, most often for lack of memory"
        remedy = "save=FILE keeps results"
        if save:
            remedy = f"what was computed is kept in {save}; the same call continues"
        raise type(error)(
            f"compare: {cause}: take fewer workers, or a smaller memory=; {remedy}"
        ) from error


def as_finished(pending: set[Future[Value]]) -> Iterator[Value]:
    """Yield the results of futures as they end; the rest is cancelled when the caller stops."""
    try:
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    finally:
        for future in pending:
            future.cancel()


def run_task(task: TileTask) -> list[Cell]:
    """Compute one task in a worker, on fresh representations, so that their views end with it.

    Cells are written to the file of the task, if it has one, as soon as they are computed.
    """
    fresh = {i: copy(r) for i, r in task.representations.items()}
    cells: list[Cell] = []
    with single_threaded(), Store(task.keep) if task.keep else nullcontext() as store:
        for batch in _pairs(task._replace(representations=fresh)):
            cells += batch
            if store:
                store.put(batch)
    return cells


def _pairs(task: TileTask) -> Iterator[list[Cell]]:
    """Yield the cells of each pair of a task."""
    for row, column, positions in task.pairs:
        x, y = task.representations[row], task.representations[column]
        cells = []
        with comparing(x, y):
            for measure in (task.measures[p] for p in positions):
                cells.append(_cell(measure, x, y))
                if task.both_orders and not measure.symmetric and x is not y:
                    cells.append(_cell(measure, y, x))
        yield cells


def _cell(measure: Measure, x: Representation, y: Representation) -> Cell:
    start, value, reason, diagnostics = time.perf_counter(), None, None, None
    try:
        value = scalar(measure.evaluate(x, y))
        diagnostics = _diagnostics(measure, x, y)
    except Exception as error:
        # also where only the diagnostics failed
        value, reason = None, reason_of(error, measure, x, y)
        if reason is None:
            raise
        if reason.startswith(NO_MEMORY):  # make room for the other measures
            for r in (x, y):
                r.forget()
    seconds = time.perf_counter() - start
    identity = (measure.spec, measure.version, fingerprint(x), fingerprint(y))
    return Cell(*identity, value, seconds, reason, diagnostics)


def _diagnostics(measure: Measure, x: Representation, y: Representation) -> str | None:
    """Return the diagnostics of this pair, with a caveat if there is one, as JSON text."""
    values: dict[str, float | str] = {k: float(v) for k, v in measure.diagnostics(x, y).items()}
    if clashes := sorted(values.keys() & {*COLUMNS, CAVEAT}):
        problem = f"a diagnostic cannot be called {clashes[0]!r}"
        raise ValueError(f"{measure}: {problem}, which is a column of the records")
    if caveat := measure.caveat(x, y):
        values[CAVEAT] = caveat
    return json.dumps(values, allow_nan=False) if values else None


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


def _cells_before(
    store: Store | None, representations: Sequence[Representation], infos: Sequence[MeasureInfo]
) -> dict[Key, Cell]:
    """Return the cells in the file for these data, except those that failed for lack of memory."""
    if store is None:
        return {}
    cells = store.cells(map(fingerprint, representations))
    check_ranges(cells, infos, store.path)
    return {key_of(c): c for c in cells if not (c.reason or "").startswith(NO_MEMORY)}


def _is_here(executor: Executor | None, representations: Sequence[Representation]) -> bool:
    """Say whether the work takes memory of this machine, not of a cluster or an accelerator."""
    runs_here = executor is None or _shares_files(executor)
    return runs_here and all(on_processor(r.source) for r in representations)


def _shares_files(executor: Executor | None) -> bool:
    return isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor)


def _warn_of_memory(beyond_budget: Mapping[str, int], memory: int | str) -> None:
    if beyond_budget:
        sizes = ", ".join(f"{spec} {in_units(size)}" for spec, size in beyond_budget.items())
        problem = f"compare: memory={memory!r} is less than one pair takes ({sizes})"
        warnings.warn(f"{problem}; it is computed all the same", stacklevel=3)
