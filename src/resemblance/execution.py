"""Tasks of a plan carried out: in this process, or by the workers of an executor."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterable, Iterator, Sequence, Set
from concurrent.futures import BrokenExecutor, Executor
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from .engine.scores import Column
from .engine.store import Store
from .lending import Lender, Loans
from .measure import Measure
from .plan import TileTask
from .scoring import scores_of
from .spill import brief, opened
from .workers import Call, LostWorkerError, carry_out, has_processes, single_threaded


def run_tasks(
    streams: Sequence[Iterable[TileTask]],
    executor: Executor | None,
    lender: Lender | None,
    save: str | Path | None,
) -> Generator[list[Column], None, None]:
    """Yield scores as they come: in this process, or task by task from an executor.

    ``streams`` are the tasks of each comparison.
    """
    if executor is None:
        return _run_here(chain.from_iterable(streams))
    return _run_elsewhere(streams, executor, lender, save)


def _run_here(tasks: Iterable[TileTask]) -> Generator[list[Column], None, None]:
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
    streams: Sequence[Iterable[TileTask]],
    executor: Executor,
    lender: Lender | None,
    save: str | Path | None,
) -> Generator[list[Column], None, None]:
    loans, checked = Loans(lender, _call), set[Measure]()
    calls = (loans.calls(_travelling(tasks, executor, checked)) for tasks in streams)
    for call, columns in results_of(chain.from_iterable(calls), executor, save):
        loans.done(call)
        if call.function is run_task:
            yield columns


def _travelling(
    tasks: Iterable[TileTask], executor: Executor, checked: set[Measure]
) -> Iterator[TileTask]:
    """Yield tasks; ``ValueError`` for one with a measure that cannot be sent."""
    for task in tasks:
        check_travel(set(task.measures) - checked, executor)
        checked.update(task.measures)
        yield task


def check_travel(measures: Set[Measure], executor: Executor) -> None:
    """Raise ``ValueError`` for a measure that cannot be sent to the processes of an executor."""
    if has_processes(executor):
        for measure in measures:
            pickle.dumps(measure)  # it fails here; the pool might never end


def results_of(
    calls: Iterable[Call], executor: Executor, save: str | Path | None, called: str = "compare"
) -> Iterator[tuple[Call, Any]]:
    """Yield calls with what they return as soon as they are done; errors say what is kept in
    ``save``."""
    try:
        for call, future in carry_out(calls, executor):
            yield call, future.result()
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
    return f"{' to '.join(dict.fromkeys(pairs))} by {brief(task.measures)}"


def _call(task: TileTask, loans: Sequence[Any]) -> Call:
    """Return the call of a task: places in the list of what is lent stand for its representations,
    because a cluster replaces futures only among the arguments themselves."""
    places = {id(r): place for place, r in enumerate(task.representations)}
    rows, columns = ([places[id(r)] for r in side] for side in (task.rows, task.columns))
    return Call(_title(task), run_task, (task.on(rows, columns), *loans))  # type: ignore[arg-type]


def run_task(task: TileTask, *loans: Any) -> list[Column]:
    """Compute one task in a worker, on representations that end with it.

    ``loans`` are what was lent in their place. Scores are written to the file of the task, if it
    has one, as soon as they are computed.
    """
    scores: list[Column] = []
    with single_threaded(), Store(task.keep) if task.keep else nullcontext() as store:
        inputs = list(map(opened, loans))
        rows, columns = ([inputs[p] for p in side] for side in (task.rows, task.columns))  # type: ignore[call-overload]
        for batch in scores_of(task.on(rows, columns)):
            scores += batch
            if store:
                store.put(batch)
    return scores
