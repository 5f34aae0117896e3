"""The tasks of comparisons carried out: in this process, or by the workers of an executor."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ..comparison.scores import Column
from ..comparison.store import Store
from ..contracts._measure import Measure
from .scoring import scores_of
from .shared_views import SharedViews, names_of, opened
from .work import TileTask
from .workers import Call, check_travel, results_of, single_threaded


def run_tasks(
    streams: Sequence[Iterable[TileTask]],
    executor: Executor | None,
    views: SharedViews | None,
    save: str | Path | None,
    workers_write: bool,
    called: str = "compare",
    keep: bool = False,
    first: Sequence[TileTask] = (),
) -> Generator[list[Column], None, None]:
    """Yield scores as they come: in this process, or task by task from an executor.

    ``streams`` are the tasks of each comparison; ``workers_write``: into the file of ``save``.
    ``called`` is the function that errors name. ``keep``: views are not forgotten. ``first``: tasks
    that come before all others and compute their own views.
    """
    if executor is None:
        tasks = chain(first, *streams)
        yield from chain.from_iterable(map(columns_of, tasks)) if keep else _run_here(tasks)
        return
    checked = set[Measure]()
    call_of = partial(_call_of, file=save if workers_write else None)
    groups = (_travelling(tasks, executor, checked) for tasks in streams)
    calls = (views.calls(g, call_of) if views else map(call_of, g) for g in groups)
    before = map(call_of, _travelling(first, executor, checked))
    all_calls = chain(before, chain.from_iterable(calls))
    for call, columns in results_of(all_calls, executor, save, called):
        if views:
            views.done(call)
        if call.function is run_task:
            yield columns


def columns_of(task: TileTask) -> Iterator[list[Column]]:
    """Yield what a task computes, some of it at a time."""
    return task.job(task) if task.job else scores_of(task)


def _run_here(tasks: Iterable[TileTask]) -> Iterator[list[Column]]:
    previous: TileTask | None = None
    for task in chain(tasks, [None]):
        if previous is not None:
            yield from columns_of(previous)
            continues = task is not None and task.measures == previous.measures
            needed = set(map(id, task.representations)) if task and continues else set()
            for representation in previous.representations:
                if id(representation) not in needed:
                    representation.forget()
        previous = task


def _travelling(
    tasks: Iterable[TileTask], executor: Executor, checked: set[Measure]
) -> Iterator[TileTask]:
    """Yield tasks; ``ValueError`` for one with a measure that cannot be sent."""
    for task in tasks:
        check_travel(set(task.measures) - checked, executor)
        checked.update(task.measures)
        yield task


def _call_of(task: TileTask, loans: Sequence[Any] = (), *, file: str | Path | None = None) -> Call:
    """Return the call of a task, on what was lent in place of its representations or on these.

    They are named by their places among the arguments, because a cluster replaces futures only
    there.
    """
    places = {id(r): place for place, r in enumerate(task.representations)}
    rows, columns = ([places[id(r)] for r in side] for side in (task.rows, task.columns))
    ends = [(task.rows[i], task.columns[i]) for i in (0, -1)]
    pairs = dict.fromkeys(" and ".join(r.name for r in pair) for pair in ends)
    title = f"{' to '.join(pairs)} by {names_of(task.measures)}"
    places_only = task.on(rows, columns)  # type: ignore[arg-type]
    return Call(title, run_task, (places_only, file, *(loans or task.representations)))


def run_task(task: TileTask, file: str | Path | None, *loans: Any) -> list[Column]:
    """Compute one task in a worker, on representations that end with it.

    ``loans`` are what was lent in their place. Scores are written to the file, if there is one, as
    soon as they are computed.
    """
    scores: list[Column] = []
    with single_threaded(), Store(file) if file else nullcontext() as store:
        inputs = list(map(opened, loans))
        rows, columns = ([inputs[p] for p in side] for side in (task.rows, task.columns))
        for batch in columns_of(task.on(rows, columns)):
            scores += batch
            if store:
                store.put(batch)
    return scores
