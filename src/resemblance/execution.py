"""Tasks of a plan carried out: in this process, or by the workers of an executor."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Iterator, Set
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager, nullcontext
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .columns import Column
from .measure import Measure
from .plan import TileTask
from .scoring import scores_of
from .store import Store
from .workers import Call, LostWorkerError, carry_out, has_processes


def run_tasks(
    tasks: Iterable[TileTask], executor: Executor | None, save: str | Path | None
) -> Iterator[list[Column]]:
    """Yield scores as they come: in this process, or task by task from an executor."""
    return _run_here(tasks) if executor is None else _run_elsewhere(tasks, executor, save)


def _run_here(tasks: Iterable[TileTask]) -> Iterator[list[Column]]:
    previous: TileTask | None = None
    for task in chain(tasks, [None]):
        if previous is not None:
            yield from scores_of(previous)
            continues = task is not None and task.measures == previous.measures
            needed = set(map(id, task.representations)) if task and continues else set()
            for representation in previous.representations:
                if id(representation) not in needed:
                    representation.forget()
        previous = task


def _run_elsewhere(
    tasks: Iterable[TileTask], executor: Executor, save: str | Path | None
) -> Iterator[list[Column]]:
    calls = (Call(_title(task), run_task, (task,)) for task in _travelling(tasks, executor))
    return results_of(calls, executor, save)


def _travelling(tasks: Iterable[TileTask], executor: Executor) -> Iterator[TileTask]:
    """Yield tasks; ``ValueError`` for one with a measure that cannot be sent."""
    checked: set[Measure] = set()
    for task in tasks:
        check_travel(set(task.measures) - checked, executor)
        checked |= set(task.measures)
        yield task


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
    ends = [(task.rows[i], task.columns[i]) for i in (0, -1)]
    pairs = [" and ".join(r.name for r in pair) for pair in ends]
    measures = ", ".join(m.name for m in task.measures[:3])
    more = f" and {len(task.measures) - 3} more" if len(task.measures) > 3 else ""
    return f"{' to '.join(dict.fromkeys(pairs))} by {measures}{more}"


def run_task(task: TileTask) -> list[Column]:
    """Compute one task in a worker, on fresh representations, so that their views end with it.

    Scores are written to the file of the task, if it has one, as soon as they are computed.
    """
    fresh = task.on(list(map(copy, task.rows)), list(map(copy, task.columns)))
    columns: list[Column] = []
    with single_threaded(), Store(task.keep) if task.keep else nullcontext() as store:
        for batch in scores_of(fresh):
            columns += batch
            if store:
                store.put(batch)
    return columns


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
