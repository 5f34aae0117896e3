"""The command that shows the board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .choices import SERIES
from .options import HelpTexts, add_command, new_group, output_command

if TYPE_CHECKING:
    from ..bench.ranking.standing import Leaderboard

BOARD_SHOW_EXAMPLES = (
    "board show",
    "board show --suite resi --family cca",
    "board show mine.jsonl --metrics -o ranking.csv",
)


@output_command()
def show_command(
    progress: bool,
    scores: list[Path] | None = None,
    suite: str | None = None,
    domain: str | None = None,
    test: str | None = None,
    family: str | None = None,
    metrics: bool = False,
    series: str = SERIES,
) -> Leaderboard:
    """Print where measures stand, with what is known of their places.

    The chosen measures are ranked anew, among each other alone, in the chosen cells alone.
    """
    from ..bench.ranking import read_board
    from ..bench.ranking.standing import leaderboard
    from ..bench.ranking.subsets import rank_subset, select_measure_subset, select_task_subset

    board = read_board(*(scores or ()), series=series)
    shown = rank_subset(
        board,
        select_task_subset(board, suite, domain, test),
        select_measure_subset(board, family, metrics),
    )
    return leaderboard(board, shown)


HELP: HelpTexts = {
    "scores": typer.Argument(help="Files of scores to add to those that ship with the library."),
    "suite": "Only the cells of this suite.",
    "domain": "Only cells of vision, language or graphs.",
    "test": "Only the cells of this test of --suite.",
    "family": "Only the measures of this family.",
    "metrics": "Only measures that claim to be metrics.",
    "series": "The packs: one of each suite, with this ending.",
}


commands = typer.Typer()
_board_commands = new_group(
    "The ranking of all measures on the same pinned features.", BOARD_SHOW_EXAMPLES[0]
)
add_command(_board_commands, "show", show_command, *BOARD_SHOW_EXAMPLES, help=HELP)
commands.add_typer(_board_commands, name="board")
