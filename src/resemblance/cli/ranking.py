"""The command that compares a measure with the measures of the leaderboard, without training a
model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..base.text import check_choice
from .choices import BASELINE, RANDOM_UNITS, SERIES, SUITES
from .ending import progress_bars, try_to_write
from .executors import open_executors
from .inputs import parse_measures
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..bench.ranking.verdicts import RankedMeasures

RANK_EXAMPLES = (
    "rank mine.py:my_measure",
    "rank mine.py:my_measure --benchmark resi --format json",
    "rank mine.py:my_measure --save mine.jsonl",
    "rank mine.py:first mine.py:second --against mine.jsonl --html ranks.html",
)


@output_command(
    save="save", page="Write the whole leaderboard as a page to this file.", has_summary=True
)
def rank_command(
    measures: list[str],
    context: typer.Context,
    progress: bool,
    html: Path | None,
    packs: str = SERIES,
    against: Path | None = None,
    baseline: str = BASELINE,
    unit: str = RANDOM_UNITS[0],
    benchmark: str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    save: Path | None = None,
) -> RankedMeasures:
    """Score a measure on frozen features, and compare it with a baseline, question by question.

    Nothing is trained, and PyTorch is not needed. The scores of the other measures are stored.
    """
    from ..bench.ranking import write_scores
    from ..bench.ranking.score_file import read_scores_if_any
    from ..bench.ranking.verdicts import rank

    if benchmark is not None:
        check_choice("--benchmark", benchmark, tuple(SUITES))
        if html is not None:
            raise ValueError("--html writes the answers of all benchmarks; leave out --benchmark")
    entries = parse_measures(measures) or []
    if save is not None:
        # Report a file of another kind before the work starts.
        read_scores_if_any(save)

    with open_executors(jobs, scheduler) as (executor, _), progress_bars(not progress) as report:
        ranks = rank(
            *entries,
            packs=packs,
            against=against,
            baseline=baseline,
            unit=unit,
            benchmark=benchmark,
            jobs=executor,
            progress=report,
        )
    if save is not None:
        try_to_write(context, "scores", save, partial(write_scores, save, ranks.scores))
    return ranks


HELP: HelpTexts = {
    "measures": "Measures: FILE.py:NAME (the file is executed), or names of the catalogue.",
    "packs": "The ending of the names of the feature packs to use: compact for resi-compact, "
    "manifolds-compact and so on; architectures for the pack of ten networks, which you build.",
    "against": "A file of scores (.jsonl, from --save): also compare with the measures in this "
    "file, on the same packs.",
    "baseline": "The measure to compare with.",
    "unit": "What the intervals take as random: seeds of the same networks, or networks.",
    "benchmark": f"Only the tasks of this benchmark: {', '.join(SUITES)}.",
    "save": "Add the scores to this file (.jsonl), one line for each measure.",
}


commands = command_group(("rank", rank_command, RANK_EXAMPLES), help=HELP)
