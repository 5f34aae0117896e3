"""The command that ranks a measure among all measures of the board, without training anything."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..base.text import check_choice
from .choices import SERIES, SUITES
from .ending import progress_bars, try_to_write
from .executors import open_executors
from .inputs import parse_measures
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..bench.packs import Pack
    from ..bench.ranking import Board, PackScores
    from ..bench.ranking.standing import MeasureRank
    from ..bench.ranking.subsets import RankedSubset
    from ..contracts._measure import Measure
    from ..report.output import Output

RANK_EXAMPLES = (
    "rank mine.py:my_measure",
    "rank mine.py:my_measure --benchmark resi --format json",
    "rank mine.py:my_measure --save mine.jsonl",
    "rank mine.py:first mine.py:second --against mine.jsonl --html ranks.html",
)


@output_command(save="save", page="Write the whole ranking as a page.")
def rank_command(
    measures: list[str],
    context: typer.Context,
    progress: bool,
    html: Path | None,
    packs: str = SERIES,
    against: Path | None = None,
    benchmark: str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    save: Path | None = None,
) -> Output:
    """Score a measure on pinned features, and print where it stands among all others.

    Nothing is trained, and PyTorch is not needed. The scores of the other measures are known.
    """
    from ..bench.joint import combined_result
    from ..bench.ranking import board_of, read_scores, write_scores
    from ..bench.ranking.ranking import packs_of
    from ..bench.ranking.score_file import read_scores_if_any
    from ..bench.ranking.standing import rank_of, rank_sentence, whole_suite_subset

    if benchmark is not None:
        check_choice("--benchmark", benchmark, tuple(SUITES))
        if html is not None:
            raise ValueError("--html shows the ranking over all benchmarks: leave out --benchmark")
    entries = parse_measures(measures) or []
    if save is not None:
        read_scores_if_any(save)  # a file of something else is an error before the work
    opened_packs = packs_of(packs, () if against is None else read_scores(against))
    scores = _score_measures(
        entries, _packs_of_suite(opened_packs, benchmark), (jobs, scheduler), progress
    )
    if save is not None:
        try_to_write(context, "scores", save, partial(write_scores, save, scores))
    board = board_of([*_reference_scores(opened_packs, against, packs), *scores])
    subset = whole_suite_subset(board, benchmark)
    standings = [rank_of(board, subset, m.spec) for m in entries]
    page = html and combined_result(board.ranks, tuple(map(rank_sentence, standings)))
    return _ranking_output(board, subset, standings)._replace(page=page)


def _packs_of_suite(packs: Sequence[Pack], benchmark: str | None) -> list[Pack]:
    suite_packs = [pack for pack in packs if benchmark in (None, pack.manifest.suite)]
    if not suite_packs:
        raise ValueError(f"--benchmark {benchmark}: the leaderboard has no pack of it")
    return suite_packs


def _score_measures(
    measures: Sequence[Measure],
    packs: Sequence[Pack],
    executor_options: tuple[int | None, str | None],
    progress: bool,
) -> tuple[PackScores, ...]:
    from ..bench.ranking.scoring import score_packs

    with open_executors(*executor_options) as (executor, _), progress_bars(not progress) as report:
        return score_packs(packs, measures, executor, report)


def _reference_scores(packs: Sequence[Pack], against: Path | None, series: str) -> list[PackScores]:
    """Return the known scores on packs: those that ship, and those to rank against."""
    from ..bench.ranking.ranking import newest_scores, read_all_scores

    manifests = {pack.manifest.identity: pack.manifest.sha256 for pack in packs}
    files = () if against is None else (against,)
    scores = newest_scores(read_all_scores(*files, packs=series))
    return [s for s in scores if manifests.get(s.pack) == s.manifest]


# --------------------------------------------------------------------------------------- the output


def _ranking_output(board: Board, subset: RankedSubset, standings: Sequence[MeasureRank]) -> Output:
    from ..bench.ranking.standing import (
        leaderboard_records,
        rank_report_parts,
        unranked_tasks_sentence,
    )
    from ..bench.ranking.subsets import leaderboard_labels
    from ..report.output import Output

    labels, specs = leaderboard_labels(board), {s.spec for s in standings}
    parts = [part for s in standings for part in (*rank_report_parts(s, labels), "")]
    parts += filter(None, [unranked_tasks_sentence(subset)])
    records = [r for r in leaderboard_records(board, subset) if r["spec"] in specs]
    document = {"standings": list(map(_measure_rank_record, standings))}
    return Output(parts, document, records)


def _measure_rank_record(standing: MeasureRank) -> dict[str, Any]:
    """Return a standing as JSON can hold it, with names for what its parts hold."""
    document = standing._asdict()
    document["place"] = standing.place and _serialize_rank_interval(standing.place)
    for side in ("above", "below"):
        document[side] = [_serialize_rank_interval(place) for place in getattr(standing, side)]
    document["suites"] = [suite._asdict() for suite in standing.suites]
    return document


def _serialize_rank_interval(place: Any) -> dict[str, Any]:
    names = ("measure", "position", "best", "worst", "mean", "low", "high", "is_tied")
    return {name: getattr(place, name) for name in names}


HELP: HelpTexts = {
    "measures": "FILE.py:NAME, which is run, or measures of the catalogue.",
    "packs": "The packs: one of each benchmark, with this ending.",
    "against": "Rank also among the measures in this file of scores, on its packs.",
    "benchmark": f"Only the cells of this benchmark: {', '.join(SUITES)}.",
    "save": "Add the scores to this file (.jsonl), one line for each measure.",
}


commands = command_group(("rank", rank_command, RANK_EXAMPLES), help=HELP)
