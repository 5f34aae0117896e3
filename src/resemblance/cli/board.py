"""The command that shows the board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .choices import SERIES
from .options import Help, add_command, new_group, writing

if TYPE_CHECKING:
    from ..bench.ranking import Board
    from ..bench.ranking.views import View
    from ..report.output import Output

SHOW = (
    "board show",
    "board show --suite resi --family cca",
    "board show mine.jsonl --metrics -o ranking.csv",
)
HEADER = ("place", "measure", "mean rank", "95 %", "CPU time")


@writing()
def show_command(
    progress: bool,
    scores: list[Path] | None = None,
    suite: str | None = None,
    domain: str | None = None,
    test: str | None = None,
    family: str | None = None,
    metrics: bool = False,
    series: str = SERIES,
) -> Output:
    """Print where measures stand, with what is known of their places.

    The chosen measures are ranked anew, among each other alone, in the chosen cells alone.
    """
    from ..bench.ranking import read_board
    from ..bench.ranking.standing import records_of
    from ..bench.ranking.views import chosen_cells, chosen_measures, view
    from ..report.output import Output

    board = read_board(*(scores or ()), series=series)
    shown = view(
        board, chosen_cells(board, suite, domain, test), chosen_measures(board, family, metrics)
    )
    records = records_of(board, shown)
    return Output(_tables(board, shown), _document(board, shown, records), records)


# -------------------------------------------------------------------------------------- the ranking


def _document(board: Board, shown: View, records: list[dict[str, Any]]) -> dict[str, Any]:
    packs = {f.pack: f.manifest for of in board.scores.values() for f in of.values()}
    return {
        "cells": shown.cells.key,
        "measures": shown.measures.key,
        "counts": dict(shown.counts),
        "packs": packs,
        "ranking": records,
    }


def _tables(board: Board, shown: View) -> list[Any]:
    from ..bench.ranking.standing import own_suites, own_words, view_words
    from ..bench.ranking.views import labels_of, seconds_of
    from ..report.numbers import duration
    from ..report.terminal import plain_table
    from ..sections.standing import PLACES, place_words

    labels, cards = labels_of(board), board.cards
    words = view_words(shown, labels)
    if not shown.is_settled:
        return [words]
    rows = [
        (
            place_words(place),
            f"{labels[place.measure]}{' *' * bool(own_suites(cards[place.measure]))}",
            f"{place.mean:.2f}",
            f"{place.low:.1f} to {place.high:.1f}",
            duration(seconds_of(board, place.measure)),
        )
        for place in shown.places.rows
    ]
    stars = own_words([cards[place.measure] for place in shown.places.rows], labels)
    table = plain_table(HEADER, rows, right=(0, 2, 3, 4))
    return [words, "", table, "", PLACES, *filter(None, [stars])]


HELP: Help = {
    "scores": typer.Argument(help="Files of scores to add to those that ship with the library."),
    "suite": "Only the cells of this suite.",
    "domain": "Only cells of vision, language or graphs.",
    "test": "Only the cells of this test of --suite.",
    "family": "Only the measures of this family.",
    "metrics": "Only measures that claim to be metrics.",
    "series": "The packs: one of each suite, with this ending.",
}


commands = typer.Typer()
_group = new_group("The ranking of all measures on the same pinned features.", SHOW[0])
add_command(_group, "show", show_command, *SHOW, help=HELP)
commands.add_typer(_group, name="board")
