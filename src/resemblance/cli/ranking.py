"""The command that ranks a measure among all measures of the board, without training anything."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .choices import SERIES, SUITES
from .ending import attempt, bars
from .executors import executors
from .inputs import check_choice, chosen_measures
from .options import ALL_JOBS, Help, commands_of, writing

if TYPE_CHECKING:
    from ..bench.packs import Pack
    from ..bench.ranking import Board, PackScores
    from ..bench.ranking.standing import Standing
    from ..bench.ranking.views import View
    from ..contracts._measure import Measure
    from ..report.output import Output

RANK = (
    "rank mine.py:my_measure",
    "rank mine.py:my_measure --only resi --format json",
    "rank mine.py:my_measure --save mine.jsonl",
    "rank mine.py:first mine.py:second --against mine.jsonl --html ranks.html",
)
FORMATS = ("table", "json", "csv", "markdown", "latex")


@writing(FORMATS, save="save", page="Write the whole ranking as a page.")
def rank_command(
    measures: list[str],
    context: typer.Context,
    progress: bool,
    html: Path | None,
    series: str = SERIES,
    against: Path | None = None,
    only: str | None = None,
    jobs: int | None = None,
    save: Path | None = None,
) -> Output:
    """Score a measure on pinned features, and print where it stands among all others.

    Nothing is trained, and PyTorch is not needed. The scores of the other measures are known.
    """
    from ..bench.joint import result_of_ranks
    from ..bench.ranking import board_of, read_scores, write_scores
    from ..bench.ranking.ranking import packs_of
    from ..bench.ranking.score_file import saved_scores
    from ..bench.ranking.standing import standing, standing_sentence, view_of

    if only is not None:
        check_choice("only", only, tuple(SUITES))
        if html is not None:
            raise ValueError("--html shows the ranking over all suites: leave out --only")
    tested = chosen_measures(measures) or []
    if save is not None:
        saved_scores(save)  # a file of something else is an error before the work
    packs = packs_of(series, () if against is None else read_scores(against))
    scores = _scored(tested, _chosen(packs, only), jobs, progress)
    if save is not None:
        attempt(context, "scores", save, partial(write_scores, save, scores))
    board = board_of([*_known_scores(packs, against, series), *scores])
    shown = view_of(board, only)
    standings = [standing(board, shown, m.spec) for m in tested]
    page = html and result_of_ranks(board.ranks, tuple(map(standing_sentence, standings)))
    return _output(board, shown, standings)._replace(page=page)


def _chosen(packs: Sequence[Pack], only: str | None) -> list[Pack]:
    chosen = [pack for pack in packs if only in (None, pack.manifest.suite)]
    if not chosen:
        raise ValueError(f"--only {only}: the board has no pack of this suite")
    return chosen


def _scored(
    measures: Sequence[Measure], packs: Sequence[Pack], jobs: int | None, progress: bool
) -> tuple[PackScores, ...]:
    from ..bench.ranking.scoring import scores_on

    with executors(jobs) as (executor, _), bars(not progress) as shown:
        return scores_on(packs, measures, executor, shown)


def _known_scores(packs: Sequence[Pack], against: Path | None, series: str) -> list[PackScores]:
    """Return the known scores on packs: those that ship, and those to rank against."""
    from ..bench.ranking.ranking import current, read_all_scores

    manifests = {pack.manifest.identity: pack.manifest.sha256 for pack in packs}
    files = () if against is None else (against,)
    scores = current(read_all_scores(*files, series=series))
    return [s for s in scores if manifests.get(s.pack) == s.manifest]


# --------------------------------------------------------------------------------------- the output


def _output(board: Board, shown: View, standings: Sequence[Standing]) -> Output:
    from ..bench.ranking.standing import records_of, standing_parts, unranked_words
    from ..bench.ranking.views import labels_of
    from ..report.output import Output

    labels, specs = labels_of(board), {s.spec for s in standings}
    parts = [part for s in standings for part in (*standing_parts(s, labels), "")]
    parts += filter(None, [unranked_words(shown)])
    records = [r for r in records_of(board, shown) if r["spec"] in specs]
    document = {"standings": list(map(_record, standings))}
    return Output(parts, document, records)


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


HELP: Help = {
    "jobs": ALL_JOBS,
    "measures": "FILE.py:NAME, which is run, or measures of the catalogue.",
    "series": "The packs: one of each suite.",
    "against": "Rank also among the measures in this file of scores, on its packs.",
    "only": f"Only the cells of this suite: {', '.join(SUITES)}.",
    "save": "Add the scores to this file (.jsonl), one line for each measure.",
}


commands = commands_of(("rank", rank_command, RANK), help=HELP)
