"""Could chance do as well? Rank correlation, means, intervals, permutation tests, and ranks of
measures over many cells."""

from .cell_ranks import DECIMALS, Duel, Ranking, duels, rank_within, summarize
from .estimates import bootstrap_counts, known_mean, percentile_interval
from .permutation import attainable, exchanges, mantel, p_value_of, pairings, pairs_of, stars
from .places import SETTLING, Place, Places, places
from .ranks import average_ranks, rank_correlation, ranks_of_rows

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
    "p_value_of",
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
