"""Rank your measures among all other measures: score the measures on a series of packs, and find
the rank intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resemblance.base.results import BaseResult
from resemblance.base.text import check_choice
from resemblance.catalogue import get_measures
from resemblance.contracts._measure import Measure
from resemblance.engine.jobs import Jobs, open_executor
from resemblance.sections.figures import FIGURE_TYPES
from resemblance.sections.result import Result
from resemblance.significance import Place

from .. import SUITES
from ..joint import combined_result
from ..packs import Pack
from ..study import StageProgress
from .ranking import DEFAULT_PACK_SERIES, Board, board_of, newest_scores, packs_of, read_all_scores
from .score_file import PackScores, read_scores, read_scores_if_any, write_scores
from .scoring import score_packs
from .standing import (
    MeasureRank,
    Unplaced,
    leaderboard_records,
    missing_place_reason,
    rank_of,
    rank_report_parts,
    rank_sentence,
    unranked_tasks_sentence,
    whole_suite_subset,
)
from .subsets import leaderboard_labels

PLACE_NAMES = ("measure", "position", "best", "worst", "mean", "low", "high", "is_tied")


@dataclass(frozen=True, eq=False, repr=False)
class MeasureRanks(BaseResult):
    """The ranks of measures among all other measures, returned by :func:`resemblance.bench.rank`.

    ``standings``: for every measure its rank interval, ties, neighbours and cost. ``rows``: for
    every measure the record of the leaderboard. ``labels``: of all ranked measures, by
    specification. ``scores``: of the measures on the packs. ``ranking``: the whole ranking, for the
    page; None for the ranking of a single benchmark, where the page shows the records.
    """

    standings: tuple[MeasureRank, ...]
    rows: tuple[Mapping[str, Any], ...]
    labels: Mapping[str, str]
    scores: tuple[PackScores, ...]
    ranking: Result | None = None
    caveats: tuple[str, ...] = ()
    _tagged: ClassVar[Mapping[str, type]] = FIGURE_TYPES

    @property
    def failures(self) -> tuple[Unplaced, ...]:
        """The measures without a rank, and the reasons."""
        return tuple(
            Unplaced(s.spec, missing_place_reason(s)) for s in self.standings if s.place is None
        )

    def summary(self) -> str:
        """Return the rank interval of every measure, a paragraph per measure."""
        return "\n".join((*map(rank_sentence, self.standings), *self.caveats))

    def records(self) -> list[dict[str, Any]]:
        """Return the leaderboard record of every measure."""
        return [dict(row) for row in self.rows]

    def _table_parts(self) -> list[Any]:
        labels = self.labels
        parts = [part for s in self.standings for part in (*rank_report_parts(s, labels), "")]
        return [*parts, *self.caveats]

    def _document(self) -> dict[str, Any]:
        standings = list(map(_measure_rank_record, self.standings))
        return {"standings": standings, "caveats": list(self.caveats)}

    def _page(self) -> Result | None:
        return self.ranking


def rank(
    *measures: str | Measure,
    packs: str = DEFAULT_PACK_SERIES,
    against: str | Path | None = None,
    benchmark: str | None = None,
    jobs: Jobs = None,
    progress: StageProgress | None = None,
    save: str | Path | None = None,
) -> MeasureRanks:
    r"""Score measures on feature packs, and rank the measures among all other measures.

    Nothing is trained, and the scores of the other measures are stored. A measure has a rank
    :math:`r_{sc}`, 1 for the best, in every task :math:`c` of every suite :math:`s`. Its mean rank
    is

    .. math:: \bar r = \frac{1}{S} \sum_{s=1}^{S} \frac{1}{C_s} \sum_{c=1}^{C_s} r_{sc}

    over the :math:`S` suites with at least six tasks in which measures differ, :math:`C_s` tasks in
    suite :math:`s`.

    Parameters
    ----------
    measures : one or more measures: names, specifications such as ``"cka[kernel=rbf]"``, or
        measures of your own.
    packs : the series of the packs, such as "compact" for "resi-compact@1".
    against : a score file (.jsonl); its measures are ranked too, on the packs of the file.
    benchmark : rank in the tasks of this benchmark alone: "resi", "sensitivity", "manifolds" or
        "stability".
    jobs : number of processes, or an executor of ``concurrent.futures``; by default this process
        computes.
    progress : called with a stage, the amount done, and the total amount.
    save : a file (.jsonl) to which the scores are added, a line per measure.

    Raises ``ValueError`` for no measure, for an unknown benchmark or series, for a measure that
    packs cannot score, and for files of another kind.
    """
    if benchmark is not None:
        check_choice("bench.rank: benchmark", benchmark, SUITES)
    entries = get_measures(measures)
    if not entries:
        raise ValueError("bench.rank needs a measure, such as rs.bench.rank('cka'); got none")
    if save is not None:
        # Report a file of another kind before the work starts.
        read_scores_if_any(save)
    opened_packs = packs_of(packs, () if against is None else read_scores(against))
    suite_packs = _packs_of_suite(opened_packs, benchmark)
    reference_scores = _reference_scores(opened_packs, against, packs)
    with open_executor("bench.rank", jobs) as executor:
        scores = score_packs(suite_packs, entries, executor, progress)
    if save is not None:
        write_scores(save, scores)
    return ranks_on_board(board_of([*reference_scores, *scores]), entries, scores, benchmark)


def ranks_on_board(
    board: Board,
    measures: Sequence[Measure],
    scores: tuple[PackScores, ...],
    benchmark: str | None = None,
) -> MeasureRanks:
    """Return the ranks of measures on a leaderboard, over all tasks or the tasks of a benchmark.

    ``scores``: of the measures.
    """
    subset = whole_suite_subset(board, benchmark)
    specs = {measure.spec for measure in measures}
    standings = tuple(rank_of(board, subset, measure.spec) for measure in measures)
    sentences = tuple(map(rank_sentence, standings))
    caveats = tuple(filter(None, [unranked_tasks_sentence(subset)]))
    return MeasureRanks(
        standings,
        tuple(r for r in leaderboard_records(board, subset) if r["spec"] in specs),
        leaderboard_labels(board),
        scores,
        None if benchmark else combined_result(board.ranks, (*sentences, *caveats)),
        caveats,
    )


def _packs_of_suite(packs: Sequence[Pack], benchmark: str | None) -> list[Pack]:
    suite_packs = [pack for pack in packs if benchmark in (None, pack.manifest.suite)]
    if not suite_packs:
        raise ValueError(
            f"bench.rank: benchmark {benchmark!r}: the leaderboard has no pack of it; choose "
            "another benchmark, or another series of packs"
        )
    return suite_packs


def _reference_scores(
    packs: Sequence[Pack], against: str | Path | None, series: str
) -> list[PackScores]:
    """Return the stored scores on packs: the scores that ship with the library, and the scores in
    ``against``."""
    manifests = {pack.manifest.identity: pack.manifest.sha256 for pack in packs}
    files = () if against is None else (against,)
    scores = newest_scores(read_all_scores(*files, packs=series))
    return [s for s in scores if manifests.get(s.pack) == s.manifest]


def _measure_rank_record(standing: MeasureRank) -> dict[str, Any]:
    """Return a measure's rank as a JSON document, with named entries instead of tuples."""
    document = standing._asdict()
    document["place"] = standing.place and _serialize_rank_interval(standing.place)
    for side in ("above", "below"):
        document[side] = [_serialize_rank_interval(place) for place in getattr(standing, side)]
    document["suites"] = [suite._asdict() for suite in standing.suites]
    return document


def _serialize_rank_interval(place: Place) -> dict[str, Any]:
    return {name: getattr(place, name) for name in PLACE_NAMES}
