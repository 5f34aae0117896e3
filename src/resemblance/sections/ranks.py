"""Ranks of the measures in a task, from their scores."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from ..significance import rank_within
from ..significance.resampling import known_mean
from .sections import RankRule

ScoresByMeasure = Mapping[str, float | None]
DEFAULT_RANK_RULE = RankRule()
# Words in the name of a task that only say how an experiment is read: a quality, or a pooling of
# tokens.
READINGS = frozenset(
    {"spearman", "kendall", "spearman_jsd", "spearman_disagreement", "cls", "mean"}
)
Task = TypeVar("Task", bound=tuple[str, ...])


def average_readings(ranks: Mapping[Task, Mapping[str, float]]) -> dict[Task, dict[str, float]]:
    """Return the mean rank of each measure in each experiment, keyed by the first task of the
    experiment.

    Tasks of an experiment differ only in how the same models are read (:data:`READINGS`):
    Spearman's and Kendall's correlation of the same differences correlate by 0.99 over measures. If
    two such tasks counted as two experiments, more than half of the rankings would separate equal
    measures.
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
    best rank.

    ``among``: the measures to rank, by default all measures of the task; a measure missing from the
    task has no score. A part of the task is left out if no measure has a score there. The result is
    empty if there is no score at all, or if the rule says that scores are not ranked.
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
