"""The leaderboard: read the scores of measures on feature packs from files, and say what the
benchmarks answer."""

from .ranking import Board, board_of, read_board
from .score_file import MeasureCard, PackScores, ScoredCell, read_scores, write_scores
from .scoring import score

__all__ = [
    "Board",
    "MeasureCard",
    "PackScores",
    "ScoredCell",
    "board_of",
    "read_board",
    "read_scores",
    "score",
    "write_scores",
]
