"""The ranks of measures in one cell, by their scores there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from ..significance import rank_within
from .sections import RankRule

ScoresByMeasure = Mapping[str, float | None]
DEFAULT_RANK_RULE = RankRule()


def rank_measures_of_task(
    scores: ScoresByMeasure, rule: RankRule = DEFAULT_RANK_RULE, among: Iterable[str] | None = None
) -> dict[str, float]:
    """Return the rank of every measure of a cell, 1 for the largest score; equal scores share the
    best rank.

    ``among``: the measures that are ranked, by default those of the cell; one that the cell lacks
    has no score. A part of the cell in which no measure has a score is left out, so the result is
    empty where there is no score at all, and where the rule says that scores are shown only.
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
