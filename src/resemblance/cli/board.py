"""The command that prints the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .choices import BASELINE, RANDOM_UNITS, SERIES
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..bench.ranking.leaderboard import Leaderboard

LEADERBOARD_EXAMPLES = (
    "leaderboard",
    "leaderboard --benchmark resi --family cca",
    "leaderboard mine.jsonl --metrics -o ranking.csv",
    "leaderboard --packs architectures --unit networks",
)


@output_command(page="Write a page with the ranking to this file.", has_summary=True)
def leaderboard_command(
    progress: bool,
    scores: list[Path] | None = None,
    benchmark: str | None = None,
    domain: str | None = None,
    test: str | None = None,
    family: str | None = None,
    metrics: bool = False,
    baseline: str = BASELINE,
    packs: str = SERIES,
    unit: str = RANDOM_UNITS[0],
) -> Leaderboard:
    """Print the answers of the benchmarks about measures, question by question.

    The chosen measures are compared with each other and with the baseline, in the chosen tasks.
    """
    from ..bench.ranking import read_board
    from ..bench.ranking.leaderboard import leaderboard_of_subset
    from ..bench.ranking.subsets import select_measure_subset, select_task_subset

    board = read_board(*(scores or ()), packs=packs)
    tasks = select_task_subset(board, benchmark, domain, test)
    chosen = select_measure_subset(board, family, metrics)
    return leaderboard_of_subset(board, tasks, chosen, baseline, unit)


HELP: HelpTexts = {
    "scores": typer.Argument(
        help="Files of scores (rank --save) to add to the scores of the library."
    ),
    "benchmark": "Only the tasks of this benchmark.",
    "domain": "Only the tasks of this domain: vision, language or graphs.",
    "test": "Only the tasks of this test of --benchmark.",
    "family": "Only the measures of this family.",
    "metrics": "Only the measures that declare to be metrics.",
    "baseline": "The measure to compare with.",
    "packs": "The ending of the names of the feature packs to use: compact for resi-compact, "
    "manifolds-compact and so on; architectures for ten networks of resi.",
    "unit": "What the intervals take as random: seeds of the same networks, or networks.",
}


commands = command_group(("leaderboard", leaderboard_command, LEADERBOARD_EXAMPLES), help=HELP)
