"""From cases to scores: all comparisons in one run, then one number a measure and case.

A failed comparison counts where its pair is used, and nowhere else. What becomes of it says the
rule: a measure that lacks a difference has no score (``is_complete``), or is scored by the others.
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
from ..engine.execution import compare_many
from ..engine.work import ComparisonPlan, RunOptions, load_saved_scores
from ..significance import known_mean
from .case import Case, Part, Score
from .feature_maps import ComparisonChunk, merge_chunks, split_by_map_size
from .grounding import Block, apply
from .study import StageProgress

MOST_OFTEN_PREFIX = "; most often: "
NO_ORDER_REASON = (
    "all measured or all expected differences are equal, so there is no order to agree with"
)
ComparisonsByPart = Mapping[tuple[object, ...], Comparison]  # by the key of a part


def score(
    cases: Sequence[Case],
    measures: Sequence[Measure],
    *,
    memory: int | str = "half",
    progress: StageProgress | None = None,
) -> tuple[Score, ...]:
    """Return the score of every measure in every case, but of those that a case leaves out."""
    compared = compare_cases(cases, measures, memory=memory, progress=progress)
    return tuple(row for case in cases for row in scores_in_case(case, compared))


# ------------------------------------------------------------------------------------------ compare


def distinct_parts(cases: Iterable[Case]) -> list[Part]:
    """Return what cases compare, each once."""
    return list({part.key: part for case in cases for part in case.parts}.values())


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
    """Compare all parts of all cases in one run, so that no case waits for the one before it.

    ``folder``: where rows that are positions of maps are kept. ``stored_only``: what ``save`` lacks
    has no value. The others as for :func:`resemblance.compare`; ``progress`` is called with
    ("comparing", done, total), and a line on standard error says how long work takes that is long.
    """
    chosen = dict[tuple[object, ...], list[Measure]]()
    for case in cases:
        taking_part = list(case.measures or (m for m in measures if m.name not in case.left_out))
        chosen |= {part.key: taking_part for part in case.parts}
    parts = [part for part in distinct_parts(cases) if chosen[part.key]]
    needed = [split_by_map_size(part, chosen[part.key], folder) for part in parts]
    pieces = [piece for of_part in needed for piece in of_part]
    total = sum(map(_n_comparisons, pieces))

    def show(ready: int, missing: int) -> None:
        if progress:
            progress("comparing", total - missing + ready, total)

    works = [ComparisonPlan.of(piece.rows, piece.measures, piece.columns) for piece in pieces]
    if stored_only and save is not None:
        if works:
            with ScoreFile(save, read_only=True) as store:
                load_saved_scores(store, works)
        comparisons = iter([work.comparison() for work in works])
    else:
        options: RunOptions = {
            "executor": executor,
            "memory": memory,
            "save": save,
            "progress": show,
        }
        if progress:
            options["announce"] = progress_announcer(True, "comparing")
        comparisons = iter(compare_many(works, **options))
        show(1, 1)
    return {
        part.key: merge_chunks(
            part, of_part, tuple(islice(comparisons, len(of_part))), chosen[part.key]
        )
        for part, of_part in zip(parts, needed, strict=True)
    }


def _n_comparisons(piece: ComparisonChunk) -> int:
    """Return how many comparisons a piece needs."""
    rows, orders = len(piece.rows), [1 if m.symmetric else 2 for m in piece.measures]
    if piece.columns is not None:
        return rows * len(piece.columns) * len(orders)
    return sum(rows + rows * (rows - 1) // 2 * of for of in orders)


# -------------------------------------------------------------------------------------------- score


def scores_in_case(case: Case, compared: ComparisonsByPart) -> Iterator[Score]:
    """Yield the score of every measure that a case was compared by."""
    comparisons = [compared[part.key] for part in case.parts if part.key in compared]
    for info in comparisons[0].measures if comparisons else ():
        yield _score_measure(case, comparisons, info)


def _score_measure(case: Case, comparisons: Sequence[Comparison], info: MeasureInfo) -> Score:
    rule, values, has_value = case.rule.of(info.larger_is_more_similar), list[float](), list[bool]()
    pvalue = None
    for part, comparison in zip(case.parts, comparisons, strict=True):
        differences = comparison.dissimilarity(info.spec)
        if rule.rounded:
            draws = np.split(differences, np.cumsum(part.draws[:-1], dtype=int), axis=1)
            differences = np.hstack(list(map(rule.rounded, draws)))
        blocks = rule.blocks(part.expected, both_orders=not info.symmetric)
        known = _pairs_with_values(differences, blocks, info.symmetric)
        is_void = rule.is_complete and not all(known)
        values.append(np.nan if is_void else apply(rule, differences, blocks))
        has_value += known
        if rule.pvalue:
            pvalue = rule.pvalue(differences, part.expected, not info.symmetric)
    value = float(
        np.average(values, weights=[part.weight for part in case.parts])
        if rule.is_complete
        else known_mean(values)
    )
    failed = len(has_value) - sum(has_value)
    reason = _missing_score_reason(comparisons, info.spec, failed, value)
    return Score(
        case.test,
        case.cell,
        info.spec,
        info.label,
        value,
        tuple(values),
        pvalue,
        sum(has_value),
        failed,
        reason,
        case.reliability,
    )


def _pairs_with_values(
    differences: np.ndarray, blocks: Iterable[Block], symmetric: bool
) -> list[bool]:
    """Whether each pair that the blocks use, counted once, has a value."""
    pairs = {(i, j) for b in blocks for i, j in zip(b.rows.tolist(), b.columns.tolist())}
    if symmetric and len(differences) == differences.shape[1]:
        pairs = {(min(i, j), max(i, j)) for i, j in pairs}
    return [not np.isnan(differences[i, j]) for i, j in sorted(pairs)]


def _missing_score_reason(
    comparisons: Iterable[Comparison], measure: str, failed: int, value: float
) -> str | None:
    if failed:
        reasons = Counter(f.reason for c in comparisons for f in c.failures if f.measure == measure)
        most = f"{MOST_OFTEN_PREFIX}{reasons.most_common(1)[0][0]}" if reasons else ""
        return f"{failed} comparisons failed{most}"
    return NO_ORDER_REASON if np.isnan(value) else None


def failure_without_count(score: Score) -> str:
    """Return why a measure has no score, without the number of failed comparisons."""
    reason = score.reason or "no value"
    return reason.partition(MOST_OFTEN_PREFIX)[2] or reason


class FailedComparisons(NamedTuple):
    """How many comparisons of a measure failed in a test of some models, and the most frequent
    reason."""

    measure: str
    test: str
    models: str
    comparisons: int
    reason: str


def failed_comparisons(
    cases: Iterable[Case], compared: ComparisonsByPart, words: Callable[[Case], tuple[str, str]]
) -> list[FailedComparisons]:
    """Return the failures of every measure in every test; ``words``: the test and the models of a
    case."""
    parts = dict.fromkeys((words(case), part.key) for case in cases for part in case.parts)
    reasons: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for where, key in parts:
        for failure in compared[key].failures if key in compared else ():
            reasons[failure.measure, *where][failure.reason] += 1
    return [
        FailedComparisons(*where, count.total(), count.most_common(1)[0][0])
        for where, count in reasons.items()
    ]


def mean_comparison_seconds(
    cases: Iterable[Case], compared: ComparisonsByPart, group_of: Callable[[Case], str]
) -> dict[str, dict[str, float]]:
    """Return the mean seconds of a comparison, by group and measure."""
    parts = dict.fromkeys(
        (group_of(case), case.test, part.key) for case in cases for part in case.parts
    )
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for group, _, key in parts:
        for measure, seconds in seconds_per_pair(compared[key]).items() if key in compared else ():
            times[group][measure].append(seconds)
    return {
        group: {measure: sum(spent) / len(spent) for measure, spent in of.items()}
        for group, of in times.items()
    }


def seconds_per_pair(comparison: Comparison) -> dict[str, float]:
    """Return the mean seconds of a pair, by measure; pairs of a square are counted once."""
    rows, columns = len(comparison.rows), len(comparison.columns)
    is_square = comparison.rows == comparison.columns
    pairs = {
        m.spec: rows * (rows + 1) // 2 if m.symmetric and is_square else rows * columns
        for m in comparison.measures
    }
    return {spec: total / pairs[spec] for spec, total in comparison.seconds.items()}
