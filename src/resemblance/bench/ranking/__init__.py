"""The board: scores of measures on packs, read from files, joined and ranked."""

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
