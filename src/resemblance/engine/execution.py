"""Run planned comparisons: read stored scores, compute the missing pairs, record the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from itertools import product

import numpy as np

from ..base.arrays import is_on_cpu
from ..base.formatting import format_bytes
from ..base.progress import partial_work_counter, progress_announcer, progress_reporter
from ..base.text import warn
from ..comparison.scores import ScoreBatch
from ..comparison.store import ScoreFile
from ..contracts._measure import require_own_name
from ..data.representation import Representation
from .cache_sharing import SharedCache, shared_cache
from .estimate import TimeEstimate
from .inputs import ComparisonInputs, find_missing_pairs, load_saved_scores
from .memory import available_memory
from .options import RunOptions
from .plan import ComparisonPlan
from .tasks import run_pair_blocks
from .workers import is_on_this_machine

# More blocks balance the load better, but without a shared cache each block computes intermediates.
BLOCKS_PER_WORKER = 2
SHARED_BLOCKS_PER_WORKER = 10
MAX_SHARED_BLOCK_HEIGHT = 100  # a worker keeps the files of two groups of representations open


def compute_missing_scores(
    comparisons: Sequence[ComparisonInputs], options: RunOptions, described: bool = True
) -> None:
    """Compute the scores that neither the comparisons nor the file of ``save`` have, and put the
    scores into the comparisons and the file.

    ``described``: the file describes the last comparison; otherwise the description stays.
    """
    if options.save is not None:
        require_own_name(m for inputs in comparisons for m in inputs.measures)
        with ScoreFile(options.save) as store:
            load_saved_scores(store, comparisons)
            if described:
                store.describe(comparisons[-1].description())
    missing = find_missing_pairs(comparisons)
    total = sum(int(np.count_nonzero(mask)) for masks in missing for mask in masks.values())
    with shared_cache(options.executor, options.spill, options.memory) as cache:
        plans, failures = plan_comparisons(comparisons, missing, options, available_memory(), cache)
        estimate = _time_estimate(plans, options)
        blocks, first = [plan.blocks() for plan in plans], estimate.tasks if estimate else ()
        batches = run_pair_blocks(blocks, options, cache, first=first, failures=failures)
        # The generator is closed before the shared cache is removed.
        with ExitStack() as stack:
            advance = stack.enter_context(progress_reporter(options.progress, total, "comparing"))
            counter = EarlyCounter(advance, total)
            stack.enter_context(partial_work_counter(counter.count_early))
            stack.enter_context(closing(batches))
            if total:
                advance(0)  # shows the total before the first pair is done
            for batch in filter(None, batches):
                for scores, inputs in product(batch, comparisons):
                    inputs.put(scores)
                counter.count(sum(scores.size for scores in batch))
                if estimate:
                    estimate.take(batch)
                    if estimate.is_complete:
                        _announce_duration(estimate, options)
                        estimate = None


class EarlyCounter:
    """Counts pairs for a progress bar, also pairs whose scores come later, once each. ``advance``
    moves the bar; ``total``: the number of all pairs."""

    def __init__(self, advance: Callable[[int], None], total: int):
        self.advance, self.unfinished, self.early, self.left = advance, 0.0, 0, total

    def count_early(self, pairs: float) -> None:
        """Count a number of pairs, or a fraction of a pair, whose scores come later."""
        self.unfinished += pairs
        whole = min(int(self.unfinished), self.left)
        if whole:
            self.unfinished -= whole
            self.early += whole
            self._advance(whole)

    def count(self, pairs: int) -> None:
        """Count a number of pairs whose scores are there. Pairs that were counted early are not
        counted again."""
        counted = min(pairs, self.early)
        self.early -= counted
        self._advance(pairs - counted)

    def _advance(self, pairs: int) -> None:
        self.left -= pairs
        self.advance(pairs)


def _time_estimate(plans: Sequence[ComparisonPlan], options: RunOptions) -> TimeEstimate | None:
    """Return the time estimate of the work; None if nothing prints the estimate, or if there is
    little work.

    The pairs of the estimate are computed first.
    """
    if options.progress is not True and options.announce is None:
        return None
    estimate = TimeEstimate(plans, options.workers)
    return estimate if estimate.tasks else None


def _announce_duration(estimate: TimeEstimate, options: RunOptions) -> None:
    """Print the estimate, or pass the estimate to ``options.announce``, if the work is long."""
    announce = options.announce or progress_announcer(options.progress, "comparing")
    if estimate.line:
        announce(estimate.line)


def plan_comparisons(
    comparisons: Sequence[ComparisonInputs],
    missing: Sequence[dict[str, np.ndarray]],
    options: RunOptions,
    room: int | None,
    cache: SharedCache | None,
) -> tuple[list[ComparisonPlan], list[ScoreBatch]]:
    """Return the plan of every comparison, and the failures known in advance; warn if a pair
    exceeds the budget.

    ``missing``: for each comparison the masks of the pairs to compute, (rows, columns), by measure.
    ``room``: the free memory of this machine in bytes, None if unknown. The function removes pairs
    that need more from the masks, in place.
    """
    plans, failures, oversized = list[ComparisonPlan](), list[ScoreBatch](), dict[str, int]()
    for inputs, masks in zip(comparisons, missing):
        is_local = room is not None and _uses_local_memory(options.executor, inputs.all)
        plan = ComparisonPlan(
            inputs.rows,
            inputs.columns,
            inputs.measures,
            masks,
            options.memory,
            room if room is not None and is_local else math.inf,
            options.block_size,
        )
        for m, size in plan.largest_pairs().items():
            infeasible = plan.remove_infeasible(m) if size > plan.available else None
            if infeasible is not None:
                failures.append(infeasible)
            elif size > plan.memory:
                oversized[m.spec] = max(size, oversized.get(m.spec, 0))
        plans.append(plan)
    if options.executor is not None and options.block_size is None:
        pairs = sum(plan.size for plan in plans)
        for plan in plans:
            plan.height = _block_height(plan, options.workers * plan.size / pairs, cache)
    if oversized:
        sizes = ", ".join(f"{spec} {format_bytes(size)}" for spec, size in oversized.items())
        problem = f"compare: memory={options.memory_option!r} is less than one pair takes ({sizes})"
        warn(f"{problem}; the pair is computed anyway")
    return plans, failures


def _block_height(plan: ComparisonPlan, workers: float, cache: SharedCache | None) -> int:
    """Return the largest number of rows of a block that gives ``workers`` workers enough blocks:
    one block per worker if each block repeats a pass over the samples, otherwise several."""
    if any(map(plan.computes_jointly, plan.measures)):
        return plan.height_for(workers)  # each block repeats the pass over the samples
    if cache is None or not cache.has_room(plan.all, tuple(plan.measures)):
        return plan.height_for(BLOCKS_PER_WORKER * workers)
    return min(MAX_SHARED_BLOCK_HEIGHT, plan.height_for(SHARED_BLOCKS_PER_WORKER * workers))


def _uses_local_memory(
    executor: Executor | None, representations: Iterable[Representation]
) -> bool:
    """Return whether the work uses the memory of this machine, not of a cluster or an
    accelerator."""
    runs_here = executor is None or is_on_this_machine(executor)
    return runs_here and all(is_on_cpu(r.source) for r in representations)
