"""The command that prints the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .choices import SERIES
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..bench.ranking import Board
    from ..bench.ranking.subsets import RankedSubset
    from ..report.output import Output

LEADERBOARD_EXAMPLES = (
    "leaderboard",
    "leaderboard --benchmark resi --family cca",
    "leaderboard mine.jsonl --metrics -o ranking.csv",
)
LEADERBOARD_HEADER = ("place", "measure", "mean rank", "95 %", "CPU time")


@output_command()
def leaderboard_command(
    progress: bool,
    scores: list[Path] | None = None,
    benchmark: str | None = None,
    domain: str | None = None,
    test: str | None = None,
    family: str | None = None,
    metrics: bool = False,
    packs: str = SERIES,
) -> Output:
    """Print where measures stand, with what is known of their places.

    The chosen measures are ranked anew, among each other alone, in the chosen cells alone.
    """
    from ..bench.ranking import read_board
    from ..bench.ranking.standing import leaderboard_records
    from ..bench.ranking.subsets import rank_subset, select_measure_subset, select_task_subset
    from ..report.output import Output

    board = read_board(*(scores or ()), packs=packs)
    shown = rank_subset(
        board,
        select_task_subset(board, benchmark, domain, test),
        select_measure_subset(board, family, metrics),
    )
    records = leaderboard_records(board, shown)
    return Output(
        _leaderboard_tables(board, shown), _leaderboard_document(board, shown, records), records
    )


# -------------------------------------------------------------------------------------- the ranking


def _leaderboard_document(
    board: Board, shown: RankedSubset, records: list[dict[str, Any]]
) -> dict[str, Any]:
    packs = {f.pack: f.manifest for of in board.scores.values() for f in of.values()}
    return {
        "cells": shown.cells.key,
        "measures": shown.measures.key,
        "counts": dict(shown.counts),
        "packs": packs,
        "ranking": records,
    }


def _leaderboard_tables(board: Board, shown: RankedSubset) -> list[Any]:
    from ..base.formatting import format_duration
    from ..bench.ranking.standing import leader_sentence, own_suites, own_suites_note
    from ..bench.ranking.subsets import cpu_seconds_on_packs, leaderboard_labels
    from ..report.terminal import plain_table
    from ..sections.standing import RANK_INTERVALS_NOTE, format_rank_interval

    labels, cards = leaderboard_labels(board), board.cards
    words = leader_sentence(shown, labels)
    if not shown.is_settled:
        return [words]
    rows = [
        (
            format_rank_interval(place),
            f"{labels[place.measure]}{' *' * bool(own_suites(cards[place.measure]))}",
            f"{place.mean:.2f}",
            f"{place.low:.1f} to {place.high:.1f}",
            format_duration(cpu_seconds_on_packs(board, place.measure)),
        )
        for place in shown.places.rows
    ]
    stars = own_suites_note([cards[place.measure] for place in shown.places.rows], labels)
    table = plain_table(LEADERBOARD_HEADER, rows, right=(0, 2, 3, 4))
    return [words, "", table, "", RANK_INTERVALS_NOTE, *filter(None, [stars])]


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
