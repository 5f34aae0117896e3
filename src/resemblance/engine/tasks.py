"""Run the tasks of comparisons in the calling process, or on the workers of an executor."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ..base.formatting import list_names
from ..comparison.scores import ScoreBatch
from ..comparison.store import ScoreFile
from ..contracts._measure import Measure
from .cache_sharing import SharedCache, load_shared
from .scoring import score_block
from .work import PairBlock
from .workers import WorkerCall, call_results, check_picklable, single_threaded


def run_pair_blocks(
    streams: Sequence[Iterable[PairBlock]],
    executor: Executor | None,
    intermediates: SharedCache | None,
    save: str | Path | None,
    workers_write: bool,
    caller: str = "compare",
    keep: bool = False,
    first: Sequence[PairBlock] = (),
) -> Generator[list[ScoreBatch], None, None]:
    """Yield scores as soon as they are computed, in this process or by the workers of an executor.

    ``streams`` are the tasks per comparison. ``workers_write``: workers write into the file of
    ``save``. ``caller`` is the function name in errors. ``keep``: representations in this process
    keep intermediates. ``first``: tasks before all other tasks, without shared intermediates.
    """
    if executor is None:
        tasks = chain(first, *streams)
        yield from (
            chain.from_iterable(map(score_batches_of_block, tasks))
            if keep
            else _run_in_process(tasks)
        )
        return
    checked = set[Measure]()
    make_call = partial(_call_for_block, file=save if workers_write else None)
    groups = (_check_picklable_tasks(tasks, executor, checked) for tasks in streams)
    calls = (
        intermediates.calls(g, make_call) if intermediates else map(make_call, g) for g in groups
    )
    first_calls = map(make_call, _check_picklable_tasks(first, executor, checked))
    all_calls = chain(first_calls, chain.from_iterable(calls))
    for call, columns in call_results(all_calls, executor, save, caller):
        if intermediates:
            intermediates.done(call)
        if call.function is run_task:
            yield columns


def score_batches_of_block(task: PairBlock) -> Iterator[list[ScoreBatch]]:
    """Yield the scores of a task, or the results of its job, in batches."""
    return task.job(task) if task.job else score_block(task)


def _run_in_process(tasks: Iterable[PairBlock]) -> Iterator[list[ScoreBatch]]:
    previous: PairBlock | None = None
    for task in chain(tasks, [None]):
        if previous is not None:
            yield from score_batches_of_block(previous)
            continues = task is not None and task.measures == previous.measures
            kept_ids = set(map(id, task.representations)) if task and continues else set()
            for representation in previous.representations:
                if id(representation) not in kept_ids:
                    representation.clear_cache()
        previous = task


def _check_picklable_tasks(
    tasks: Iterable[PairBlock], executor: Executor, checked: set[Measure]
) -> Iterator[PairBlock]:
    """Yield tasks; a measure that cannot be pickled raises the exception of ``pickle``."""
    for task in tasks:
        check_picklable(set(task.measures) - checked, executor)
        checked.update(task.measures)
        yield task


def _call_for_block(
    task: PairBlock, loans: Sequence[Any] = (), *, file: str | Path | None = None
) -> WorkerCall:
    """Return the worker call of a task, with shared or plain representations as arguments.

    The task refers to a representation by position among the arguments, because a cluster replaces
    futures by values only in arguments.
    """
    places = {id(r): place for place, r in enumerate(task.representations)}
    rows, columns = ([places[id(r)] for r in side] for side in (task.rows, task.columns))
    ends = [(task.rows[i], task.columns[i]) for i in (0, -1)]
    pairs = dict.fromkeys(" and ".join(r.name for r in pair) for pair in ends)
    title = f"{' to '.join(pairs)} by {list_names((m.name for m in task.measures), 3)}"
    places_only = task.on(rows, columns)  # type: ignore[arg-type]
    return WorkerCall(title, run_task, (places_only, file, *(loans or task.representations)))


def run_task(task: PairBlock, file: str | Path | None, *loans: Any) -> list[ScoreBatch]:
    """Compute a task in a worker and return the scores.

    ``loans`` are the shared or plain representations of the task; the worker drops copies after the
    task. If there is a file, every batch of scores is written to the file at once.
    """
    scores: list[ScoreBatch] = []
    with single_threaded(), ScoreFile(file) if file else nullcontext() as store:
        inputs = list(map(load_shared, loans))
        rows, columns = ([inputs[p] for p in side] for side in (task.rows, task.columns))
        for batch in score_batches_of_block(task.on(rows, columns)):
            scores += batch
            if store:
                store.put(batch)
    return scores
