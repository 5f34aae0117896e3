"""Scores under permutations of the samples: missing vectors, tasks, and time estimates."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.formatting import format_duration
from ..contracts._measure import Measure
from ..engine.estimate import LONG_COMPARISON_SECONDS
from ..engine.intermediate_sizes import intermediates_used
from ..engine.work import PairBlock
from ..engine.workers import count_workers, single_threaded
from ..significance.orders import Design
from .bench import InferenceRun, RequiredPairs
from .layout import IndexPair, InferencePairs
from .reorder import permute_representation
from .tasks import DRAWS_PER_CHUNK, PermutationJob

MIN_TIMED_VALUES = 5000  # with more permuted values, one is timed before the work begins
NULL_USE, PROBE_USE = "null", "probe"  # the uses of a design


def permutes_both_sides(layout: InferencePairs, design: Design) -> bool:
    """Return whether x and y of a pair are permuted independently."""
    return layout.is_square and not design.is_exhaustive


# ------------------------------------------------------------------------------------------- orders


def missing_draws(
    bench: InferenceRun, pairs: RequiredPairs, design: Design, use: str = NULL_USE
) -> dict[range, RequiredPairs]:
    """Return the pairs without values, for each chunk of draws."""
    kind = draw_vector_kind(design, bench.layout, use)
    return {c: bench.missing(pairs, f"{kind} from {c.start}", len(c)) for c in draw_chunks(design)}


def draw_chunks(design: Design) -> list[range]:
    """Return the ranges of draws; a stored vector holds the values of one range.

    With shifts, draw 0 is the unshifted window.
    """
    total = design.total + bool(design.shifts)
    return [
        range(start, min(start + DRAWS_PER_CHUNK, total))
        for start in range(0, total, DRAWS_PER_CHUNK)
    ]


def format_estimated_time(
    bench: InferenceRun, m: Measure, pairs: Sequence[IndexPair], design: Design
) -> str:
    """Return the estimated time of the draws as text, from the time of a permuted value of one
    pair.

    Return "" for short work.
    """
    values = len(pairs) * design.total
    if values < MIN_TIMED_VALUES or design.shifts:
        return ""
    x, y = (bench.layout.all[place] for place in pairs[0])
    seconds = 0.0
    with single_threaded():
        for draw in (0, 1):  # the first draw also computes intermediates, so the second draw counts
            start = time.perf_counter()
            try:
                m.evaluate(x, permute_representation(y, design.order(draw, m.spec)))
            except (UndefinedError, ValueError):
                return ""
            seconds = time.perf_counter() - start
    workers = count_workers(executor) if (executor := bench.options.get("executor")) else 1
    total = values * seconds / workers
    return f", about {format_duration(total)}" if total > LONG_COMPARISON_SECONDS else ""


def draw_tasks(
    bench: InferenceRun, missing: dict[range, RequiredPairs], design: Design, use: str = NULL_USE
) -> Iterable[PairBlock]:
    """Return the tasks of the missing draws, in blocks with intermediates that fit in memory.

    Tasks with the same measures follow each other.
    """
    layout, kind = bench.layout, draw_vector_kind(design, bench.layout, use)
    tasks_by_measures = dict[tuple[Measure, ...], list[PairBlock]]()
    for requests, chunks in bench.pieces_of(missing):
        ends = chunks[0].start, chunks[-1].stop
        job = partial(PermutationJob, design, layout.is_square, kind, *ends)
        memory = bench.memory // _cache_memory_factor(requests, bench, design)
        for task in bench.tasks(requests, job, memory):
            tasks_by_measures.setdefault(task.measures, []).append(task)
    return chain.from_iterable(tasks_by_measures.values())


def _cache_memory_factor(measures: Iterable[Measure], bench: InferenceRun, design: Design) -> int:
    """Return the memory of a draw as a multiple of the intermediates of all representations.

    In a square a draw permutes the intermediates of all representations, otherwise of one column.
    Vectors of all pairs of samples are permuted as square matrices with twice the memory.
    """
    n_moved = 2 if bench.layout.is_square else 1
    n, widths = design.n, {r.shape[1] for r in bench.layout.all}
    used = (intermediates_used(m, n, d) for m in measures for d in widths)
    functions = {key[0] for sizes in used for key in sizes if isinstance(key, tuple)}
    has_pairs = any("pairs" in (getattr(f, "axes", None) or ()) for f in functions)
    return 2 * n_moved if has_pairs and not design.shifts else n_moved


def draw_vector_kind(design: Design, layout: InferencePairs, use: str) -> str:
    """Return the name under which the score file keeps the values of all permutations.

    The name depends on the permutations (``design``), on whether both sides are permuted
    (``layout``), and on the purpose of the values (``use``: "null" or "probe").
    """
    return f"{use} {'square ' if layout.is_square else ''}{design.key}"


def values_in_draws(
    bench: InferenceRun, m: Measure, pair: IndexPair, design: Design, use: str = NULL_USE
) -> np.ndarray:
    """Return the scores of a pair in all draws."""
    kind, chunks = draw_vector_kind(design, bench.layout, use), draw_chunks(design)
    parts = [bench.vector(m, pair, f"{kind} from {c.start}")[: len(c)] for c in chunks]
    return np.concatenate(parts)
