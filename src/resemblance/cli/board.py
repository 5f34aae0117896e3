"""The command that prints the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .choices import SERIES
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..bench.ranking.standing import Leaderboard

LEADERBOARD_EXAMPLES = (
    "leaderboard",
    "leaderboard --benchmark resi --family cca",
    "leaderboard mine.jsonl --metrics -o ranking.csv",
)


@output_command(page="Write a page with the ranking.")
def leaderboard_command(
    progress: bool,
    scores: list[Path] | None = None,
    benchmark: str | None = None,
    domain: str | None = None,
    test: str | None = None,
    family: str | None = None,
    metrics: bool = False,
    packs: str = SERIES,
) -> Leaderboard:
    """Print where measures stand, with what is known of their places.

    The chosen measures are ranked anew, among each other alone, in the chosen cells alone.
    """
    from ..bench.ranking import read_board
    from ..bench.ranking.standing import leaderboard_of_subset
    from ..bench.ranking.subsets import rank_subset, select_measure_subset, select_task_subset

    board = read_board(*(scores or ()), packs=packs)
    subset = rank_subset(
        board,
        select_task_subset(board, benchmark, domain, test),
        select_measure_subset(board, family, metrics),
    )
    return leaderboard_of_subset(board, subset)


HELP: HelpTexts = {
    "scores": typer.Argument(help="Files of scores to add to those that ship with the library."),
    "benchmark": "Only the cells of this benchmark.",
    "domain": "Only cells of vision, language or graphs.",
    "test": "Only the cells of this test of --benchmark.",
    "family": "Only the measures of this family.",
    "metrics": "Only measures that claim to be metrics.",
    "packs": "The packs: one of each benchmark, with this ending.",
}


commands = command_group(("leaderboard", leaderboard_command, LEADERBOARD_EXAMPLES), help=HELP)
