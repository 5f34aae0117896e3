"""The board: scores of measures on packs as files, joined and ranked when they are read."""

from .ranking import Board, board_of, read_board
from .score_files import MeasureCard, ScoredCell, ScoreFile, read_scores, write_scores
from .scoring import score

__all__ = [
    "Board",
    "ScoredCell",
    "MeasureCard",
    "ScoreFile",
    "board_of",
    "read_board",
    "read_scores",
    "score",
    "write_scores",
]
