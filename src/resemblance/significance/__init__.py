"""Statistics of plain numbers: rank correlation, means, intervals, permutation tests, and
differences of mean scores with random models."""

from .jackknife import (
    Differences,
    JackknifeScores,
    differences_from,
    jackknife_deviations,
    may_be_best,
)
from .permutation import attainable, exchanges, mantel, pairings, pairs_of, pvalue_of, stars
from .ranks import average_ranks, rank_correlation, ranks_of_rows
from .resampling import bootstrap_counts, known_mean, percentile_interval

__all__ = [
    "Differences",
    "JackknifeScores",
    "attainable",
    "average_ranks",
    "bootstrap_counts",
    "differences_from",
    "jackknife_deviations",
    "exchanges",
    "known_mean",
    "mantel",
    "may_be_best",
    "pvalue_of",
    "pairings",
    "pairs_of",
    "percentile_interval",
    "rank_correlation",
    "ranks_of_rows",
    "stars",
]
