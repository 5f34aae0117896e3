"""Values of pairs whose samples are permuted: which are missing, their tasks, and whether
intermediates can be carried into a permutation."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.formatting import format_duration
from ..contracts._measure import Measure
from ..engine.estimate import LONG_COMPARISON_SECONDS
from ..engine.work import PairBlock
from ..engine.workers import count_workers, single_threaded
from ..significance.orders import Design
from .bench import InferenceRun, RequiredPairs
from .layout import IndexPair, InferencePairs
from .reorder import Permutation
from .reordered_intermediates import find_axis_rules, permute_representation
from .tasks import DRAWS_PER_CHUNK, CacheCheckJob, PermutationJob

MIN_TIMED_VALUES = 5000  # permuted values, from where one is timed before the work begins
NULL_USE, PROBE_USE, CACHE_CHECK_USE = "null", "probe", "guard"  # what a design is used for


class CacheCheckResult(NamedTuple):
    """How far each measure can be trusted with reordered intermediates of each representation.

    ``anew``: pairs of a measure and a position whose intermediates have to be computed again;
    ``fixed``: those whose value no order changes.
    """

    anew: frozenset[tuple[Measure, int]]
    fixed: frozenset[tuple[Measure, int]]

    def varying(self, m: Measure, pairs: Iterable[IndexPair]) -> list[IndexPair]:
        """Return the pairs whose value some order may change."""
        return [pair for pair in pairs if (m, pair[1]) not in self.fixed]


EMPTY_CACHE_CHECK = CacheCheckResult(frozenset(), frozenset())


# ------------------------------------------------------------------------------------- the guard


def check_permuted_caches(
    bench: InferenceRun, pairs_by_measure: RequiredPairs, design: Design
) -> CacheCheckResult:
    """Compute two orders of each column that moves both ways, and see whether the values agree.

    Windows of a series are computed anew; of them only measures that claim that no order changes
    their value are tried.
    """
    layout, is_series = bench.layout, bool(design.shifts)
    checked_design = replace(design, shifts=0) if is_series else design
    kind = draw_vector_kind(checked_design, layout, CACHE_CHECK_USE)
    requests = {
        m: _pairs_to_check(layout, pairs, checked_design) for m, pairs in pairs_by_measure.items()
    }
    if is_series:
        requests = {m: pairs for m, pairs in requests.items() if find_axis_rules(m).is_fixed}
    missing = bench.missing(requests, kind)
    job = partial(CacheCheckJob, checked_design, layout.is_square, kind)
    memory = bench.memory // _cache_memory_factor(requests, bench, checked_design)
    bench.run(bench.tasks(missing, job, memory, blocks=bench.pieces))
    anew, fixed = set(), set()
    for m, pairs in requests.items():
        moves = find_axis_rules(m)
        for pair in pairs:
            agrees = bool(bench.vector(m, pair, kind)[0])
            if moves.of_intermediate is None or not agrees:
                anew.add((m, pair[1]))
            if moves.is_fixed and agrees:
                fixed.add((m, pair[1]))
    return CacheCheckResult(frozenset() if is_series else frozenset(anew), frozenset(fixed))


def _pairs_to_check(
    layout: InferencePairs, pairs: Iterable[IndexPair], design: Design
) -> list[IndexPair]:
    """Return each representation that moves in some pair, with a row to try it against."""
    is_both = permutes_both_sides(layout, design)
    ends = {end for pair in pairs for end in (pair if is_both else pair[1:])}
    return [(_partner_row(layout, j), j) for j in sorted(ends)]


def permutes_both_sides(layout: InferencePairs, design: Design) -> bool:
    """Say whether both sides of a pair move, independently."""
    return layout.is_square and not design.is_exhaustive


def _partner_row(layout: InferencePairs, column: int) -> int:
    """Return the row that a column is tried against: the first that is another one."""
    return 1 if layout.is_square and column == 0 else 0


# ------------------------------------------------------------------------------------------- orders


def missing_draws(
    bench: InferenceRun, pairs: RequiredPairs, design: Design, use: str = NULL_USE
) -> dict[range, RequiredPairs]:
    """Return the pairs that lack each chunk of draws."""
    kind = draw_vector_kind(design, bench.layout, use)
    return {c: bench.missing(pairs, f"{kind} from {c.start}", len(c)) for c in draw_chunks(design)}


def draw_chunks(design: Design) -> list[range]:
    """Return the draws that are stored together; shifts begin with the unshifted windows."""
    total = design.total + bool(design.shifts)
    return [
        range(start, min(start + DRAWS_PER_CHUNK, total))
        for start in range(0, total, DRAWS_PER_CHUNK)
    ]


def format_estimated_time(
    bench: InferenceRun, m: Measure, pairs: Sequence[IndexPair], design: Design
) -> str:
    """Return how long the draws of pairs take, from one permuted value of the first pair; empty
    for work that is not long."""
    values = len(pairs) * design.total
    if values < MIN_TIMED_VALUES or design.shifts:
        return ""
    x, y = (bench.layout.all[place] for place in pairs[0])
    moves, seconds = find_axis_rules(m), 0.0
    with single_threaded():
        for draw in (0, 1):  # the first draw also computes the intermediates of both
            start = time.perf_counter()
            try:
                m.evaluate(
                    x, permute_representation(y, Permutation(design.order(draw, m.spec)), moves)
                )
            except (UndefinedError, ValueError):
                return ""
            seconds = time.perf_counter() - start
    workers = count_workers(executor) if (executor := bench.options.get("executor")) else 1
    total = values * seconds / workers
    return f", about {format_duration(total)}" if total > LONG_COMPARISON_SECONDS else ""


def draw_tasks(
    bench: InferenceRun,
    missing: dict[range, RequiredPairs],
    design: Design,
    guards: CacheCheckResult,
    use: str = NULL_USE,
) -> Iterable[PairBlock]:
    """Return the draws that are missing, in tiles whose intermediates fit the memory; those of the
    same measures follow one another."""
    layout, kind = bench.layout, draw_vector_kind(design, bench.layout, use)
    anew = frozenset((m, layout.tokens[j]) for m, j in guards.anew)
    tasks_by_measures = dict[tuple[Measure, ...], list[PairBlock]]()
    for requests, chunks in bench.pieces_of(missing):
        ends = chunks[0].start, chunks[-1].stop
        job = partial(PermutationJob, design, layout.is_square, kind, anew, *ends)
        memory = bench.memory // _cache_memory_factor(requests, bench, design)
        for task in bench.tasks(requests, job, memory):
            tasks_by_measures.setdefault(task.measures, []).append(task)
    return chain.from_iterable(tasks_by_measures.values())


def _cache_memory_factor(measures: Iterable[Measure], bench: InferenceRun, design: Design) -> int:
    """Return how many times the memory of the intermediates of all representations a draw takes.

    In a square the intermediates of all are moved, else those of one column. Those of pairs of
    samples are moved from square matrices, which take twice their memory.
    """
    n_moved = 2 if bench.layout.is_square else 1
    moves = [a.of_intermediate or {} for m in measures for a in [find_axis_rules(m)]]
    has_pairs = any(
        move.kind == "pairs" for intermediates in moves for move in intermediates.values()
    )
    return 2 * n_moved if has_pairs and not design.shifts else n_moved


def draw_vector_kind(design: Design, layout: InferencePairs, use: str) -> str:
    """Return the kind of the vectors that a design has for a use."""
    return f"{use} {'square ' if layout.is_square else ''}{design.key}"


def values_in_draws(
    bench: InferenceRun, m: Measure, pair: IndexPair, design: Design, use: str = NULL_USE
) -> np.ndarray:
    """Return the values of a pair in all draws."""
    kind, chunks = draw_vector_kind(design, bench.layout, use), draw_chunks(design)
    parts = [bench.vector(m, pair, f"{kind} from {c.start}")[: len(c)] for c in chunks]
    return np.concatenate(parts)
