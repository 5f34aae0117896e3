"""Score measures in tasks: run all comparisons at once, then compute one score per measure and
task.

A failed comparison affects only the tasks that use its pair. The rule decides about a missing
difference: the measure has no score (``is_complete``), or the score uses the remaining differences.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.progress import progress_announcer
from ..comparison.comparison import Comparison, MeasureInfo
from ..comparison.store import ScoreFile
from ..contracts._measure import Measure
from ..engine._compare import compare_many
from ..engine.inputs import ComparisonInputs, load_saved_scores
from ..engine.options import check_run_options
from ..significance import known_mean
from .case import Case, ReducedPart, Score, seeds_of_case
from .feature_maps import ComparisonChunk, merge_chunks, split_by_map_size
from .grounding import Block, Rule, apply
from .study import StageProgress

MOST_OFTEN_PREFIX = "; most often: "
NO_ORDER_REASON = (
    "all measured or all expected differences are equal, so an order cannot be compared"
)
ComparisonsByPart = Mapping[tuple[object, ...], Comparison]  # by the key of a part


def score(
    cases: Sequence[Case],
    measures: Sequence[Measure],
    *,
    memory: int | str = "half",
    progress: StageProgress | None = None,
) -> tuple[Score, ...]:
    """Return the score of every measure in every task, task by task; a task can leave out measures.

    ``memory``: in bytes, or "half" of the free memory. ``progress``: called with ("comparing",
    done, total).
    """
    comparisons = compare_cases(cases, measures, memory=memory, progress=progress)
    return tuple(row for case in cases for row in scores_in_case(case, comparisons))


# ------------------------------------------------------------------------------------------ compare


def compare_cases(
    cases: Sequence[Case],
    measures: Sequence[Measure],
    *,
    save: str | Path | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: StageProgress | None = None,
    folder: Path | None = None,
    stored_only: bool = False,
) -> ComparisonsByPart:
    """Compare all parts of all tasks in one run, so that no task waits for the previous task;
    return the comparisons by the key of the part.

    ``cases``: the tasks. ``measures``: for tasks that name no measures of their own, without the
    measures that a task leaves out. ``save``: the file of stored comparisons, or None.
    ``executor``: None for this process. ``memory``: in bytes, or "half" of the free memory.
    ``progress`` is called with ("comparing", done, total), and long work is announced with an
    estimate on standard error. ``folder``: where position rows of feature maps are stored.
    ``stored_only``: compute nothing; a comparison that ``save`` lacks has no value.
    """
    measures_by_part = dict[tuple[object, ...], list[Measure]]()
    for case in cases:
        case_measures = list(case.measures or (m for m in measures if m.name not in case.left_out))
        measures_by_part |= {part.key: case_measures for part in case.parts}
    distinct_parts = {part.key: part for case in cases for part in case.parts}
    parts = [part for key, part in distinct_parts.items() if measures_by_part[key]]
    chunks_by_part = [split_by_map_size(part, measures_by_part[part.key], folder) for part in parts]
    chunks = [chunk for part_chunks in chunks_by_part for chunk in part_chunks]
    total = sum(map(_n_comparisons, chunks))

    def show(ready: int, missing: int) -> None:
        if progress:
            progress("comparing", total - missing + ready, total)

    inputs = [ComparisonInputs.of(chunk.rows, chunk.measures, chunk.columns) for chunk in chunks]
    if stored_only and save is not None:
        if inputs:
            with ScoreFile(save, read_only=True) as store:
                load_saved_scores(store, inputs)
        comparisons = iter([chunk_inputs.comparison() for chunk_inputs in inputs])
    else:
        comparisons = iter(
            compare_many(
                inputs,
                check_run_options(
                    executor,
                    memory,
                    save=save,
                    progress=show,
                    announce=progress_announcer(True, "comparing") if progress else None,
                ),
            )
        )
        show(1, 1)
    return {
        part.key: merge_chunks(
            part,
            part_chunks,
            tuple(islice(comparisons, len(part_chunks))),
            measures_by_part[part.key],
        )
        for part, part_chunks in zip(parts, chunks_by_part, strict=True)
    }


def _n_comparisons(chunk: ComparisonChunk) -> int:
    """Return the number of comparisons in a chunk, pairs times measures. If all rows are compared
    with each other, a symmetric measure compares a pair once."""
    rows, orders = len(chunk.rows), [1 if m.symmetric else 2 for m in chunk.measures]
    if chunk.columns is not None:
        return rows * len(chunk.columns) * len(orders)
    return sum(rows + rows * (rows - 1) // 2 * n_orders for n_orders in orders)


# -------------------------------------------------------------------------------------------- score


def scores_in_case(case: Case, comparisons_by_part: ComparisonsByPart) -> Iterator[Score]:
    """Yield the scores of all compared measures in a task; nothing if no part was compared.
    ``comparisons_by_part``: from :func:`compare_cases`."""
    comparisons = [
        comparisons_by_part[part.key] for part in case.parts if part.key in comparisons_by_part
    ]
    for info in comparisons[0].measures if comparisons else ():
        yield _score_measure(case, comparisons, info)


def _score_measure(case: Case, comparisons: Sequence[Comparison], info: MeasureInfo) -> Score:
    rule, values, has_value = case.rule.of(info.larger_is_more_similar), list[float](), list[bool]()
    pvalue, matrices = None, list[np.ndarray]()
    for part, comparison in zip(case.parts, comparisons, strict=True):
        differences = comparison.dissimilarity(info.spec)
        if rule.rounded:
            draws = np.split(differences, np.cumsum(part.draws[:-1], dtype=int), axis=1)
            differences = np.hstack(list(map(rule.rounded, draws)))
        matrices.append(differences)
        blocks = rule.blocks(part.expected, both_orders=not info.symmetric)
        part_has_value = _pairs_with_values(differences, blocks, info.symmetric)
        is_void = rule.is_complete and not all(part_has_value)
        values.append(np.nan if is_void else apply(rule, differences, blocks))
        has_value += part_has_value
        if rule.pvalue:
            pvalue = rule.pvalue(differences, part.expected, not info.symmetric)
    value = mean_over_parts(rule, values, [part.weight for part in case.parts])
    n_failed = len(has_value) - sum(has_value)
    reason = _missing_score_reason(comparisons, info.spec, n_failed, value)
    return Score(
        case.test,
        case.cell,
        info.spec,
        info.label,
        value,
        tuple(values),
        pvalue,
        sum(has_value),
        n_failed,
        reason,
        case.reliability,
        _scores_without_seeds(case, rule, matrices, values, info.symmetric),
    )


def mean_over_parts(rule: Rule, values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the score of a task from the scores of its parts, ``values``; NaN without parts.

    If the rule is complete, the score is the mean with ``weights``, NaN if a part has no score.
    Otherwise the score is the plain mean over the parts with a score.
    """
    if not values:
        return np.nan
    return float(np.average(values, weights=weights) if rule.is_complete else known_mean(values))


def _scores_without_seeds(
    case: Case, rule: Rule, matrices: Sequence[np.ndarray], values: Sequence[float], symmetric: bool
) -> dict[str, float]:
    """Return, by seed, the score of a task without the models of the seed, from the measured
    differences.

    ``rule``: of the task. ``matrices``: the differences of every part, (rows, columns). ``values``:
    the scores of the parts. ``symmetric``: whether the measure is symmetric.
    """
    scores = {}
    for unit in seeds_of_case(case):
        kept = [i for i, part in enumerate(case.parts) if part.without.get(unit, part)]
        part_scores = [
            values[i]
            if unit not in case.parts[i].without
            else _reduced_score(rule, matrices[i], case.parts[i].without[unit], symmetric)
            for i in kept
        ]
        weights = [case.parts[i].weight for i in kept]
        scores[unit] = mean_over_parts(rule, part_scores, weights)
    return scores


def _reduced_score(
    rule: Rule, differences: np.ndarray, part: ReducedPart | None, symmetric: bool
) -> float:
    assert part is not None
    matrix = differences[np.ix_(part.rows, part.columns)]
    blocks = rule.blocks(part.expected, both_orders=not symmetric)
    if rule.is_complete and any(np.isnan(matrix[b.rows, b.columns]).any() for b in blocks):
        return np.nan
    return apply(rule, matrix, blocks)


def _pairs_with_values(
    differences: np.ndarray, blocks: Iterable[Block], symmetric: bool
) -> list[bool]:
    """Return, for every pair in the blocks, whether a difference exists (is not NaN).

    ``differences``: (rows, columns). A pair in several blocks counts once. With ``symmetric`` and a
    square matrix, (i, j) and (j, i) count as the same pair.
    """
    pairs = {(i, j) for b in blocks for i, j in zip(b.rows.tolist(), b.columns.tolist())}
    if symmetric and len(differences) == differences.shape[1]:
        pairs = {(min(i, j), max(i, j)) for i, j in pairs}
    return [not np.isnan(differences[i, j]) for i, j in sorted(pairs)]


def _missing_score_reason(
    comparisons: Iterable[Comparison], measure: str, n_failed: int, value: float
) -> str | None:
    if n_failed:
        reasons = Counter(f.reason for c in comparisons for f in c.failures if f.measure == measure)
        main_reason = f"{MOST_OFTEN_PREFIX}{reasons.most_common(1)[0][0]}" if reasons else ""
        return f"{n_failed} comparisons failed{main_reason}"
    return NO_ORDER_REASON if np.isnan(value) else None


def failure_without_count(reason: str | None) -> str:
    """Return why a measure has no score, without the number of failed comparisons; "no value"
    without a reason."""
    return (reason or "").partition(MOST_OFTEN_PREFIX)[2] or reason or "no value"


class FailedComparisons(NamedTuple):
    """The number of failed comparisons of a measure in a test of some models, and the most frequent
    reason.

    ``measure``: the specification. ``models``: the name of the models. ``comparisons``: the number.
    """

    measure: str
    test: str
    models: str
    comparisons: int
    reason: str


def failed_comparisons(
    cases: Iterable[Case], comparisons: ComparisonsByPart, words: Callable[[Case], tuple[str, str]]
) -> list[FailedComparisons]:
    """Return an entry for every measure with failures in every test of ``cases``. ``comparisons``:
    by the key of a part.

    ``words``: a function from a task to its test and models. A comparison that several tests use
    counts in each test.
    """
    parts = dict.fromkeys((words(case), part.key) for case in cases for part in case.parts)
    reasons: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for task, key in parts:
        for failure in comparisons[key].failures if key in comparisons else ():
            reasons[failure.measure, *task][failure.reason] += 1
    return [
        FailedComparisons(*task, count.total(), count.most_common(1)[0][0])
        for task, count in reasons.items()
    ]


def mean_comparison_seconds(
    cases: Iterable[Case], comparisons: ComparisonsByPart, group_of: Callable[[Case], str]
) -> dict[str, dict[str, float]]:
    """Return the mean seconds of a comparison, by group, then by measure: the mean over the parts
    of tasks in the group. ``group_of``: a function from a task to its group."""
    parts = dict.fromkeys(
        (group_of(case), case.test, part.key) for case in cases for part in case.parts
    )
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for group, _, key in parts:
        for measure, seconds in (
            seconds_per_pair(comparisons[key]).items() if key in comparisons else ()
        ):
            times[group][measure].append(seconds)
    return {
        group: {measure: sum(values) / len(values) for measure, values in by_measure.items()}
        for group, by_measure in times.items()
    }


def seconds_per_pair(comparison: Comparison) -> dict[str, float]:
    """Return the mean seconds per pair, by measure; a square comparison with a symmetric measure
    computes every pair once."""
    rows, columns = len(comparison.rows), len(comparison.columns)
    is_square = comparison.rows == comparison.columns
    pairs = {
        m.spec: rows * (rows + 1) // 2 if m.symmetric and is_square else rows * columns
        for m in comparison.measures
    }
    return {spec: total / pairs[spec] for spec, total in comparison.seconds.items()}
