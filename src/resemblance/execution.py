"""Tasks of a plan carried out: in this process, or by the workers of an executor."""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager, nullcontext
from copy import copy
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .arrays import scalar
from .failures import reason_of
from .measure import Measure
from .plan import TileTask, WorkPlan
from .representation import Representation, Undefined, comparing, fingerprint, without_gradient
from .store import CAVEAT, CHANCE, COLUMNS, NO_MEMORY, Cell, Store
from .workers import Call, LostWorkerError, carry_out, has_processes


def run_plan(
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
        needed = set(map(id, following.representations.values())) if continues else set()
        for representation in task.representations.values():
            if id(representation) not in needed:
                representation.forget()


def _run_elsewhere(
    tasks: Sequence[TileTask], executor: Executor, save: str | Path | None
) -> Iterator[list[Cell]]:
    check_travel({m for task in tasks for m in task.measures}, executor)
    return results_of([Call(_title(task), run_task, (task,)) for task in tasks], executor, save)


def check_travel(measures: Set[Measure], executor: Executor) -> None:
    """Raise ``ValueError`` for a measure that cannot be sent to the processes of an executor."""
    if has_processes(executor):
        for measure in measures:
            pickle.dumps(measure)  # it fails here; the pool might never end


def results_of(
    calls: Iterable[Call], executor: Executor, save: str | Path | None, called: str = "compare"
) -> Iterator[Any]:
    """Yield what calls return as soon as they are done; errors say what is kept in ``save``."""
    try:
        for _, future in carry_out(calls, executor):
            yield future.result()
    except BrokenExecutor as error:
        cause = "a worker ended before its work was done, most often for lack of memory"
        remedy = "take fewer workers, or a smaller memory="
        raise type(error)(f"{called}: {cause}: {remedy}; {_kept(save)}") from error
    except LostWorkerError as error:
        raise LostWorkerError(f"{called}: {error}; {_kept(save)}") from error


def _kept(save: str | Path | None) -> str:
    if save is None:
        return "save=FILE keeps results"
    return f"what was computed is kept in {save}; the same call continues"


def _title(task: TileTask) -> str:
    """Return what a task is called in messages: its first and last pair, and its measures."""
    ends = [task.pairs[0][:2], task.pairs[-1][:2]]
    pairs = [" and ".join(task.representations[i].name for i in pair) for pair in ends]
    measures = ", ".join(m.name for m in task.measures[:3])
    more = f" and {len(task.measures) - 3} more" if len(task.measures) > 3 else ""
    return f"{' to '.join(dict.fromkeys(pairs))} by {measures}{more}"


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
    """Return the diagnostics of this pair as JSON text, with its chance and caveat if any."""
    values: dict[str, float | str] = {k: float(v) for k, v in measure.diagnostics(x, y).items()}
    taken = {*COLUMNS, CAVEAT} | ({CHANCE} if measure.chance else set())
    if clashes := sorted(values.keys() & taken):
        problem = f"a diagnostic cannot be called {clashes[0]!r}"
        raise ValueError(f"{measure}: {problem}, which is a column of the records")
    values |= _chance(measure, x, y)
    if caveat := measure.caveat(x, y):
        values[CAVEAT] = caveat
    return json.dumps(values, allow_nan=False) if values else None


def _chance(measure: Measure, x: Representation, y: Representation) -> dict[str, float]:
    """Return the chance of a pair of different representations, where there is a closed form."""
    if measure.chance is None or x is y:
        return {}
    try:
        return {CHANCE: float(measure.chance(without_gradient(x), without_gradient(y)))}
    except Undefined:
        return {}


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
