"""Statistics of plain numbers: rank correlation, means, intervals, permutation tests, and rankings
of measures over many benchmark tasks."""

from .permutation import attainable, exchanges, mantel, pairings, pairs_of, pvalue_of, stars
from .ranks import average_ranks, rank_correlation, ranks_of_rows
from .resampling import bootstrap_counts, known_mean, percentile_interval
from .standings import (
    DECIMALS,
    SETTLING,
    Duel,
    Place,
    Places,
    Ranking,
    duels,
    places,
    rank_within,
    summarize,
)

__all__ = [
    "DECIMALS",
    "SETTLING",
    "Duel",
    "Place",
    "Places",
    "Ranking",
    "attainable",
    "average_ranks",
    "bootstrap_counts",
    "duels",
    "exchanges",
    "known_mean",
    "mantel",
    "pvalue_of",
    "pairings",
    "pairs_of",
    "percentile_interval",
    "places",
    "rank_correlation",
    "rank_within",
    "ranks_of_rows",
    "stars",
    "summarize",
]
