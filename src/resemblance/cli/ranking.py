"""The command that ranks a measure among all measures of the board, without training anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..boards import Board, ScoreFile, board_of, write_scores
from ..boards.frames import labels_of, records_of
from ..boards.ranking import SERIES, current, read_files, series_of
from ..boards.repository import packs_for, results_in
from ..boards.scoring import scores_on
from ..boards.standing import Standing, standing, view_of
from ..boards.standing_words import standing_parts, standing_sentence
from ..boards.views import View
from ..measure import Measure
from ..packs import Pack
from ..report import write_page
from ..report.output import MARKUP, csv_text, deliver, deliver_tables
from ..suites import SUITES
from ..suites.joint import result_of_ranks
from .executors import executors
from .opening import Opened, check_opened, finish, silence
from .options import check_choice, check_targets, choose_format, chosen_measures
from .progress import bars
from .typed import run_provenance

RANK = (
    "rank mine.py:my_measure",
    "rank mine.py:my_measure --only resi --format json",
    "rank mine.py:first mine.py:second --against results --html ranks.html",
)
FORMATS = ("table", "json", "csv", "markdown", "latex")
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Number of processes; default: one per processor."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show neither progress nor messages, only errors.")
]


Measures = Annotated[
    list[str], typer.Argument(help="FILE.py:NAME, which is run, or measures of the catalogue.")
]
Series = Annotated[str, typer.Option(help="The packs: one of each suite.")]
Against = Annotated[
    Path | None,
    typer.Option(
        help="Rank also among the measures in this repository or folder of results; the packs are "
        "those of the repository."
    ),
]
Only = Annotated[
    str | None, typer.Option(help=f"Only the cells of this suite: {', '.join(SUITES)}.")
]
Format = Annotated[
    str | None,
    typer.Option(help="table, json, csv, markdown or latex; default: by the suffix of --output."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write to this file instead of standard output."),
]
Html = Annotated[Path | None, typer.Option(help="Write the whole ranking as a page.")]
Save = Annotated[
    Path | None, typer.Option(help="Keep the scores in this folder, one file for each pack.")
]


def rank_command(
    context: typer.Context,
    measures: Measures,
    series: Series = SERIES,
    against: Against = None,
    only: Only = None,
    jobs: Jobs = None,
    format: Format = None,
    output: Output = None,
    html: Html = None,
    save: Save = None,
    quiet: Quiet = False,
    opened: Opened = False,
) -> None:
    """Score a measure on pinned features, and print where it stands among all others.

    Nothing is trained, and PyTorch is not needed. The scores of the other measures are known.
    """
    kind = choose_format(format, output, FORMATS)
    check_opened(opened, html)
    check_targets(kind, (), output, html, None)
    _check_suite(only, html)
    silence(quiet)
    tested = chosen_measures(measures) or []
    packs = packs_for(against, series)
    scores = _scored(tested, _chosen(packs, only), jobs, quiet)
    for of_pack in scores:
        if save is not None:
            write_scores(save, of_pack)
    board = board_of([*known_scores(packs, against), *scores])
    shown = view_of(board, only)
    standings = [standing(board, shown, m.spec) for m in tested]
    _emit(board, shown, standings, kind, output)
    if html is not None:
        result = result_of_ranks(board.ranks, tuple(map(standing_sentence, standings)))
        write_page(result, html, provenance=run_provenance(context))
    finish((output, html, save), html if opened else None, quiet)


def _check_suite(only: str | None, html: Path | None) -> None:
    if only is not None:
        check_choice("only", only, tuple(SUITES))
    if html is not None and only is not None:
        raise ValueError("--html shows the ranking over all suites: leave out --only")


def _chosen(packs: Sequence[Pack], only: str | None) -> list[Pack]:
    chosen = [pack for pack in packs if only in (None, pack.manifest.suite)]
    if not chosen:
        raise ValueError(f"--only {only}: the board has no pack of this suite")
    return chosen


def _scored(
    measures: Sequence[Measure], packs: Sequence[Pack], jobs: int | None, quiet: bool
) -> tuple[ScoreFile, ...]:
    with executors(jobs) as (executor, _), bars(quiet) as progress:
        return scores_on(packs, measures, executor, progress)


def known_scores(packs: Sequence[Pack], against: Path | None) -> list[ScoreFile]:
    """Return the known scores on packs: those that ship, and those to rank against."""
    manifests = {pack.manifest.identity: pack.manifest.sha256 for pack in packs}
    folders = [] if against is None else results_in([against])
    files = read_files(*folders, series=series_of(next(iter(manifests))))
    return [s for s in current(files) if manifests.get(s.pack) == s.manifest]


# --------------------------------------------------------------------------------------- the output


def _emit(
    board: Board, shown: View, standings: Sequence[Standing], kind: str, output: Path | None
) -> None:
    labels = labels_of(board)
    parts = [part for s in standings for part in (*standing_parts(s, labels), "")]
    if kind == "table":
        deliver_tables(parts, output)
    elif kind in MARKUP:
        deliver(MARKUP[kind](parts), output)
    elif kind == "json":
        document = {"standings": list(map(_record, standings))}
        deliver(json.dumps(document, ensure_ascii=False, indent=1) + "\n", output)
    else:
        specs = {s.spec for s in standings}
        records = [r for r in records_of(board, shown) if r["spec"] in specs]
        deliver(csv_text(list(records[0]), records), output)


def _record(standing: Standing) -> dict[str, Any]:
    """Return a standing as JSON can hold it, with names for what its parts hold."""
    document = standing._asdict()
    document["place"] = standing.place and _of_place(standing.place)
    for side in ("above", "below"):
        document[side] = [_of_place(place) for place in getattr(standing, side)]
    document["suites"] = [suite._asdict() for suite in standing.suites]
    return document


def _of_place(place: Any) -> dict[str, Any]:
    names = ("measure", "position", "best", "worst", "mean", "low", "high", "is_tied")
    return {name: getattr(place, name) for name in names}
