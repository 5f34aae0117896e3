"""Ranks of the measures in a task, from their scores, and mean ranks over tasks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..base.text import check_choice
from ..significance.resampling import known_mean
from .sections import RankRule

DECIMALS = 9  # decimals of scores, so that values with a difference of rounding are equal

ScoresByMeasure = Mapping[str, float | None]
DEFAULT_RANK_RULE = RankRule()
# Words in the name of a task that only say how an experiment is read: a quality, or a pooling of
# tokens.
READINGS = frozenset({"kendall", "spearman_jsd", "spearman_disagreement", "cls", "mean"})
# The reading that is shown and never ranks measures: Kendall's and Spearman's correlation of the
# same differences correlate by 0.99 over measures.
SHOWN_READING = "kendall"
Task = TypeVar("Task", bound=tuple[str, ...])


def is_ranked_reading(words: Iterable[str]) -> bool:
    """Return whether the score of a task ranks measures and is not only shown. ``words``: the words
    in the name of the task."""
    return SHOWN_READING not in words


def average_readings(ranks: Mapping[Task, Mapping[str, float]]) -> dict[Task, dict[str, float]]:
    """Return the mean rank of each measure in each experiment, keyed by the first task of the
    experiment.

    ``ranks``: by task, then by measure. Tasks of an experiment differ only in how the same models
    are read (:data:`READINGS`).
    """
    cells = defaultdict[tuple[str, ...], list[Task]](list)
    for task in ranks:
        cells[tuple(w for part in task for w in part.split("/") if w not in READINGS)].append(task)
    means = {}
    for tasks in cells.values():
        measures = dict.fromkeys(measure for task in tasks for measure in ranks[task])
        values = {m: [ranks[task][m] for task in tasks if m in ranks[task]] for m in measures}
        means[tasks[0]] = {m: float(known_mean(readings)) for m, readings in values.items()}
    return means


def rank_measures_of_task(
    scores: ScoresByMeasure, rule: RankRule = DEFAULT_RANK_RULE, among: Iterable[str] | None = None
) -> dict[str, float]:
    """Return the rank of every measure in a task, 1 for the largest score; equal scores share the
    best rank. Over several parts of a task, the value is the mean rank.

    ``scores``: by measure, None without a score. ``rule``: also holds the scores in parts.
    ``among``: the measures to rank, by default all measures of the task; a measure missing from the
    task has no score. A part of the task is left out if no measure has a score there. The result is
    {} if there is no score at all, or if the rule says that scores are not ranked.
    """
    if not rule.is_ranked:
        return {}
    ranks: dict[str, list[float]] = defaultdict(list)
    for part in rule.parts or (scores,):
        names = part if among is None else sorted(among)
        values = {m: math.nan if (v := part.get(m)) is None else v for m in names}
        if not all(map(math.isnan, values.values())):
            for m, rank in rank_within(values, rule.incomplete, failures=rule.failures).items():
                ranks[m].append(rank)
    if rule.is_shared:
        mean = float(
            np.mean([rank for measure_ranks in ranks.values() for rank in measure_ranks] or 0)
        )
        return dict.fromkeys(ranks, mean)
    return {m: float(np.mean(measure_ranks)) for m, measure_ranks in ranks.items()}


class Ranking(NamedTuple):
    """The ranks of a measure, by specification, over many tasks: mean, median, and all ranks."""

    measure: str
    mean: float
    median: float
    ranks: tuple[float, ...]


def rank_within(
    values: Mapping[str, float], incomplete: Iterable[str] = (), *, failures: str = "last"
) -> dict[str, float]:
    """Return the ranks of measures within one task, 1 for the largest value; values equal to 1e-9
    share the best rank.

    ``values``: by measure; NaN without a value. ``incomplete`` are measures with failed
    comparisons. ``failures="last"``: incomplete measures, and measures without a value, share the
    rank behind all others. ``"unranked"``: a measure without a value has no rank, and an incomplete
    measure is ranked as if no comparison were missing (the authors' way).
    """
    check_choice("failures", failures, ("last", "unranked"))
    last_measures = {m for m, v in values.items() if np.isnan(v)} | (
        set(incomplete) if failures == "last" else set()
    )
    # Ignore differences of rounding.
    scores = {m: round(v, DECIMALS) for m, v in values.items() if m not in last_measures}
    ranks = {m: 1.0 + sum(score > v for score in scores.values()) for m, v in scores.items()}
    if failures == "last":
        ranks |= dict.fromkeys((m for m in values if m in last_measures), 1.0 + len(scores))
    return ranks


def summarize(cells: Mapping[Any, Mapping[str, float]]) -> tuple[Ranking, ...]:
    """Return the ranks of every measure over tasks, best median first, then best mean. ``cells``:
    by task, the rank by measure.

    A measure without any rank is left out. Ranks are shown without intervals: see
    :mod:`resemblance.bench.answers` for differences that hold for other models.
    """
    names = dict.fromkeys(m for ranks in cells.values() for m in ranks)
    rankings = []
    for name in names:
        ranks = [cell_ranks[name] for cell_ranks in cells.values() if name in cell_ranks]
        if known_ranks := tuple(rank for rank in ranks if not math.isnan(rank)):
            rankings.append(
                Ranking(
                    name, float(np.mean(known_ranks)), float(np.median(known_ranks)), known_ranks
                )
            )
    return tuple(sorted(rankings, key=lambda r: (r.median, r.mean, r.measure)))


def mean_ranks(ranks: Mapping[Task, Mapping[str, float]]) -> tuple[Ranking, ...]:
    """Return the ranks of every measure over experiments, best mean rank first, then by name.
    ``ranks``: by task, then by measure; tasks of an experiment are averaged first."""
    rankings = summarize(average_readings(ranks))
    return tuple(sorted(rankings, key=lambda r: (round(r.mean, DECIMALS), r.measure)))
