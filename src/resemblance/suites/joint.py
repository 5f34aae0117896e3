"""One ranking of measures over several suites, and which conclusions of their papers hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..provenance import environment
from ..results.result import Result
from . import SUITES, load_result
from .joint_ranks import JointRanks, joint_ranks
from .joint_sections import introduction, lead_of, sections_of, words_of


def joint(folders: Iterable[str | Path]) -> Result:
    """Return one ranking of measures over the studies in several folders, each of another suite.

    Measures that take part in all of them are ranked anew among each other in every cell: equal
    values share the mean of their ranks, and measures without a value come last. Cells in which all
    are equal do not count. A suite has the same weight as any other, however many cells it has: a
    measure's place is by the mean over suites of its mean rank over cells. A suite of fewer than
    six cells does not count; its mean ranks are shown.

    Intervals come from 2000 samples of the cells, drawn within the models that they share, the same
    for all measures (see :func:`resemblance.significance.places`). They say which measures other
    cells of the same models may order otherwise, all pairs at once; they are too narrow for other
    models and data.

    A study of a trial size is left out, and the result says so; when fewer than two others remain
    the whole ranking is a trial, without places, intervals and verdicts.

    Raises ``ValueError`` for fewer than two suites, two studies of the same suite, a folder without
    a result, a suite without a cell that tells measures apart, and when fewer than two measures
    take part in all.
    """
    studies = [_read(folder) for folder in folders]
    ranks = joint_ranks(studies)
    remarks = tuple(
        f"Left out of the ranking: {words_of(study)}, which is a trial."
        for study in studies
        if study not in ranks.studies
    )
    return result_of_ranks(ranks, remarks)


def result_of_ranks(ranks: JointRanks, remarks: tuple[str, ...] = ()) -> Result:
    """Return joint ranks as a result, which a page shows; ``remarks`` come before its numbers."""
    return Result(
        "joint",
        "trial" if ranks.is_trial else " + ".join(study.suite for study in ranks.studies),
        sections_of(ranks),
        ranks.labels,
        provenance=environment(),
        facts={"studies": "; ".join(map(words_of, ranks.studies))},
        lead=lead_of(ranks),
        remarks=remarks,
        title="One ranking of measures",
        about=introduction(ranks),
    )


def _read(folder: str | Path) -> Result:
    result = load_result(folder)
    if result.suite not in SUITES:
        raise ValueError(f"{folder} is of {result.suite!r}; known: {', '.join(SUITES)}")
    return result
