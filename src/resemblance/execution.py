"""Tasks of a plan carried out: in this process, or by the workers of an executor."""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, nullcontext
from copy import copy
from itertools import chain, zip_longest
from pathlib import Path
from typing import TypeVar

from threadpoolctl import threadpool_limits

from .arrays import scalar
from .failures import reason_of
from .measure import Measure
from .plan import TileTask, WorkPlan
from .representation import Representation, comparing, fingerprint
from .store import CAVEAT, COLUMNS, NO_MEMORY, Cell, Store

Value = TypeVar("Value")


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


def shares_files(executor: Executor | None) -> bool:
    """Say whether the workers of an executor run on this machine, with its memory and its files."""
    return isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor)


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
    identity = (measure.spec, measure.version, fingerprint(x), fingerprint(y))
    return Cell(*identity, value, seconds, reason, remarks)


def _remarks(measure: Measure, x: Representation, y: Representation) -> str | None:
    """Return the measure's extra diagnostics of this pair, as JSON text."""
    remarks: dict[str, float | str] = {k: float(v) for k, v in measure.remarks(x, y).items()}
    if clashes := sorted(remarks.keys() & {*COLUMNS, CAVEAT}):
        raise ValueError(
            f"{measure}: a remark cannot be called {clashes[0]!r}, which is a column of the records"
        )
    if caveat := measure.caveat(x, y):
        remarks[CAVEAT] = caveat
    return json.dumps(remarks, allow_nan=False) if remarks else None


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
