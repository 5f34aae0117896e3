"""Run planned comparisons: read stored scores, compute the missing pairs, record the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from typing import Unpack

import numpy as np

from ..base.arrays import is_on_cpu
from ..base.formatting import format_bytes
from ..base.progress import progress_announcer, progress_reporter
from ..base.text import warn
from ..comparison.comparison import Comparison, comparison_description
from ..comparison.scores import ScoreBatch
from ..comparison.store import ScoreFile
from ..data.representation import Representation
from ..significance.resampling import check_positive_integers
from .cache_sharing import SharedCache, shared_cache
from .estimate import TimeEstimate
from .intermediate_sizes import is_small
from .memory import HALF_KEYWORD, available_memory, memory_budget
from .tasks import run_pair_blocks
from .work import ComparisonPlan, PairBlock, RunOptions, find_missing_pairs, load_saved_scores
from .workers import count_workers, is_on_this_machine, single_threaded

# More tasks balance the load better, but without a shared cache each task computes intermediates.
TASKS_PER_WORKER = 2
SHARED_TASKS_PER_WORKER = 10
MAX_SHARED_BLOCK_HEIGHT = 100  # a task keeps the files of two blocks open


def compare_many(
    works: Iterable[ComparisonPlan], *, described: bool = True, **options: Unpack[RunOptions]
) -> tuple[Comparison, ...]:
    """Return several comparisons, computed in a joint run.

    ``compare_many`` differs from successive calls of :func:`compare` in three ways. An executor
    gets the tasks of all comparisons at once, so no worker waits for the end of a comparison. A
    score needed by several comparisons is computed once, also without ``save``. And ``progress``
    counts all comparisons together. The values are identical, to the last bit. Without an executor,
    intermediates are cached for at most two blocks of a comparison at a time.

    The options and exceptions are the same as for :func:`compare`. The file of ``save`` describes
    the last comparison; with ``described=False`` the description in the file does not change.
    """
    works = tuple(works)
    if works:
        execute_plans(works, options, described)
    return tuple(work.comparison() for work in works)


def execute_plans(
    works: Sequence[ComparisonPlan], options: RunOptions, described: bool = True
) -> None:
    """Compute the scores missing in the plans and in the file of ``save``."""
    executor, save = options.get("executor"), options.get("save")
    with ExitStack() as file, ExitStack() as stack:
        store = file.enter_context(ScoreFile(save)) if save is not None else None
        if store:
            load_saved_scores(store, works)
        if store and described:
            store.describe(comparison_description(works[-1].comparison()))
        stack.enter_context(single_threaded())
        workers_write = store is not None and store.is_shared and is_on_this_machine(executor)
        todos, budget = find_missing_pairs(works), validated_budget(options)
        total = sum(int(np.count_nonzero(mask)) for todo in todos for mask in todo.values())
        lender = stack.enter_context(shared_cache(executor, options.get("spill"), budget))
        memory, progress = available_memory(), options.get("progress", True)
        failures, streams = schedule_pair_blocks(works, todos, options, budget, memory, lender)
        estimate = _time_estimate(works, todos, options, budget, memory)
        advance = stack.enter_context(progress_reporter(progress, total, "comparing"))
        if total:
            advance(0)  # shows the total before the first pair is done
        _record_scores(failures, works, store, advance)
        # A worker forked while the file is open would keep its lock.
        if workers_write:
            file.close()
            store = None
        # The exit stack closes the generator before it removes the shared cache.
        keep = options.get("keep", False)
        scores = stack.enter_context(
            closing(
                run_pair_blocks(
                    streams,
                    executor,
                    lender,
                    save,
                    workers_write,
                    keep=keep,
                    first=estimate.tasks if estimate else (),
                )
            )
        )
        for batch in scores:
            _record_scores(batch, works, store, advance)
            if estimate:
                estimate.take(batch)
                if estimate.is_complete:
                    _announce_duration(estimate, options)
                    estimate = None


def _time_estimate(
    works: Sequence[ComparisonPlan],
    todos: Sequence[dict[str, np.ndarray]],
    options: RunOptions,
    budget: int,
    memory: int | None,
) -> TimeEstimate | None:
    """Return the time estimate of the work, or None.

    The pairs of the estimate are computed first. The result is None if nothing prints the estimate,
    or if there is little work.
    """
    if options.get("progress", True) is not True and "announce" not in options:
        return None
    executor = options.get("executor")
    is_here = all(_uses_local_memory(executor, work.all) for work in works)
    available = memory if memory is not None and is_here else math.inf
    workers = count_workers(executor) if executor else 1
    estimate = TimeEstimate(works, todos, workers, budget, available)
    return estimate if estimate.tasks else None


def _announce_duration(estimate: TimeEstimate, options: RunOptions) -> None:
    """Print the estimate if the work is long."""
    announce = options.get("announce") or progress_announcer(
        options.get("progress", True), "comparing"
    )
    if estimate.line:
        announce(estimate.line)


def _record_scores(
    batch: list[ScoreBatch],
    works: Iterable[ComparisonPlan],
    store: ScoreFile | None,
    advance: Callable[[int], None],
) -> None:
    """Put scores into the plans, and into the file if there is one; advance the progress bar."""
    for column in batch:
        for work in works:
            work.put(column)
    if store and batch:
        store.put(batch)
    if batch:
        advance(sum(column.size for column in batch))


def validated_budget(options: RunOptions) -> int:
    """Return the bytes for the intermediates of a task; check ``memory`` and ``block_size``.

    Raises ``ValueError`` for invalid options.
    """
    block_size = options.get("block_size")
    if block_size is not None:
        check_positive_integers("compare", block_size=block_size)
    return memory_budget(options.get("memory", HALF_KEYWORD), options.get("executor"))


def schedule_pair_blocks(
    works: Sequence[ComparisonPlan],
    todos: Sequence[dict[str, np.ndarray]],
    options: RunOptions,
    budget: int,
    room: int | None,
    lender: SharedCache | None,
) -> tuple[list[ScoreBatch], list[Iterator[PairBlock]]]:
    """Return the failures known in advance, and the tasks of every comparison.

    ``room``: the free memory of this machine in bytes. Pairs that need more are removed from
    ``todos``.
    """
    executor, memory = options.get("executor"), options.get("memory", HALF_KEYWORD)
    workers = count_workers(executor) if executor else 0
    pairs = sum(work.size for work in works)
    batches, streams, oversized = list[ScoreBatch](), list[Iterator[PairBlock]](), dict[str, int]()
    for work, todo in zip(works, todos):
        available = math.inf if room is None or not _uses_local_memory(executor, work.all) else room
        for m in () if is_small(*work.largest, 2, min(available, budget)) else work.measures:
            size = work.bytes_of_pair(m) if todo[m.spec].any() else 0
            failures = work.without_room(m, todo[m.spec], available) if size > available else None
            if failures is not None:
                batches.append(failures)
            elif size > budget:
                oversized[m.spec] = max(size, oversized.get(m.spec, 0))
        height = options.get("block_size")
        if height is None and executor is not None:
            height = _block_height(work, workers * work.size / pairs, lender)
        streams.append(work.tasks(todo, budget, available, height))
    if oversized:
        sizes = ", ".join(f"{spec} {format_bytes(size)}" for spec, size in oversized.items())
        problem = f"compare: memory={memory!r} is less than one pair takes ({sizes})"
        warn(f"{problem}; it is computed all the same")
    return batches, streams


def _block_height(work: ComparisonPlan, workers: float, lender: SharedCache | None) -> int:
    """Return the largest block height for the given share of the workers of an executor."""
    if lender is None or not lender.has_room(work.all, tuple(work.measures)):
        return work.height_for(TASKS_PER_WORKER * workers)
    return min(MAX_SHARED_BLOCK_HEIGHT, work.height_for(SHARED_TASKS_PER_WORKER * workers))


def _uses_local_memory(
    executor: Executor | None, representations: Iterable[Representation]
) -> bool:
    """Return whether the work uses this machine's memory, not a cluster's or an accelerator's."""
    runs_here = executor is None or is_on_this_machine(executor)
    return runs_here and all(is_on_cpu(r.source) for r in representations)
