"""Scores under permutations of the samples: missing draws, blocks, and time estimates."""

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
from ..engine.plan import PairBlock
from ..engine.workers import single_threaded
from ..significance.orders import Design
from .job_results import NullDistribution
from .layout import IndexPair, InferencePairs
from .reorder import permute_representation
from .run import InferenceRun, RequiredPairs
from .tasks import DRAWS_PER_CHUNK, PermutationJob

MIN_TIMED_VALUES = 5000  # with more permuted values, one is timed before the work begins
NULL_USE, PROBE_USE = "null", "probe"  # the uses of a design


def missing_draws(
    run: InferenceRun, pairs: RequiredPairs, design: Design, use: str = NULL_USE
) -> dict[range, RequiredPairs]:
    """Return, by chunk of draws, the pairs of ``pairs`` without stored values. A chunk without
    such pairs has {}. ``use``: "null" or "probe", the purpose of the values."""
    key = design_key(design, run.layout, use)
    return {
        chunk: run.missing(pairs, NullDistribution, len(chunk), design=key, start=chunk.start)
        if pairs
        else {}
        for chunk in draw_chunks(design)
    }


def draw_chunks(design: Design) -> list[range]:
    """Return the ranges of draw numbers; a :class:`.NullDistribution` holds the values of one
    range.

    With shifts, draw 0 is the unshifted window.
    """
    total = design.total + bool(design.shifts)
    return [
        range(start, min(start + DRAWS_PER_CHUNK, total))
        for start in range(0, total, DRAWS_PER_CHUNK)
    ]


def format_estimated_time(
    run: InferenceRun, m: Measure, pairs: Sequence[IndexPair], design: Design
) -> str:
    """Return the estimated time of all draws of ``pairs`` as text, ", about ...", from the
    measured time of a permuted value of the first pair.

    Return "" for short work, for shifts, and if the pair has no value.
    """
    values = len(pairs) * design.total
    if values < MIN_TIMED_VALUES or design.shifts:
        return ""
    x, y = (run.layout.all[place] for place in pairs[0])
    seconds = 0.0
    with single_threaded():
        for draw in (0, 1):  # the first draw also computes intermediates, so the second draw counts
            start = time.perf_counter()
            try:
                m.evaluate(x, permute_representation(y, design.order(draw, m.spec)))
            except (UndefinedError, ValueError):
                return ""
            seconds = time.perf_counter() - start
    total = values * seconds / run.options.workers
    return f", about {format_duration(total)}" if total > LONG_COMPARISON_SECONDS else ""


def draw_blocks(
    run: InferenceRun, missing: dict[range, RequiredPairs], design: Design, use: str = NULL_USE
) -> Iterable[PairBlock]:
    """Return the blocks of work for the missing draws of :func:`missing_draws`, with intermediates
    that fit in memory.

    Blocks with the same measures follow each other. ``use``: "null" or "probe".
    """
    layout, key = run.layout, design_key(design, run.layout, use)
    blocks_by_measures = dict[tuple[Measure, ...], list[PairBlock]]()
    for requests, chunks in run.group_chunks(missing):
        ends = chunks[0].start, chunks[-1].stop
        job = partial(PermutationJob, design, layout.is_square, key, *ends)
        memory = run.options.memory // _cache_memory_factor(requests, run, design)
        for block in run.blocks(requests, job, memory):
            blocks_by_measures.setdefault(block.measures, []).append(block)
    return chain.from_iterable(blocks_by_measures.values())


def _cache_memory_factor(measures: Iterable[Measure], run: InferenceRun, design: Design) -> int:
    """Return the memory of a draw as a multiple of the memory of the intermediates without
    permutation: 1, 2 or 4.

    A square doubles the memory, because a draw permutes both sides. Vectors of all pairs of samples
    double the memory, because a draw permutes square matrices; not in a time series.
    """
    n_moved = 2 if run.layout.is_square else 1
    n, widths = design.n, {r.shape[1] for r in run.layout.all}
    used = (intermediates_used(m, n, d) for m in measures for d in widths)
    functions = {key[0] for sizes in used for key in sizes if isinstance(key, tuple)}
    has_pairs = any("pairs" in (getattr(f, "axes", None) or ()) for f in functions)
    return 2 * n_moved if has_pairs and not design.shifts else n_moved


def design_key(design: Design, layout: InferencePairs, use: str) -> str:
    """Return the key of a design among the null distributions of a file.

    The key depends on the permutations (``design``), on whether both sides are permuted
    (``layout``), and on the purpose of the values (``use``: "null" or "probe").
    """
    return f"{use} {'square ' if layout.is_square else ''}{design.key}"


def values_in_draws(
    run: InferenceRun, m: Measure, pair: IndexPair, design: Design, use: str = NULL_USE
) -> np.ndarray:
    """Return the stored scores of a pair in all draws, in the order of the draws, (draws,); the
    scores must be computed before. ``use``: "null" or "probe"."""
    key = design_key(design, run.layout, use)
    parts = [
        run.result(m, pair, NullDistribution, design=key, start=chunk.start).values[: len(chunk)]
        for chunk in draw_chunks(design)
    ]
    return np.concatenate(parts)
