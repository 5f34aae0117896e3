"""How the measures of a suite rank: in every cell, and over all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..comparison import MeasureInfo
from ..measure import Measure
from ..results.ranks import Scores, rank_cell
from ..results.sections import RankRule, Section
from ..results.values import distinct, known
from ..significance import Places, places
from .case import Case, Score, cell_name
from .reliability import is_reliable

Cell = tuple[str, ...]  # the test, and the words of a case
RankedCells = Mapping[Cell, tuple[Scores, RankRule]]  # scores, and how they are ranked


class Overview(NamedTuple):
    """The scores of a run, with what follows from their ranks.

    ``cells``: those in which measures are ranked. ``names``: by specification, what a measure is
    called here. ``order``: of the measures on a page: best mean rank first, those without a rank
    last; of a trial, whose order says nothing, as they were given. ``usual``: specifications and
    labels of the suite's own measures; others are marked. ``is_sure``: intervals and ties mean
    something, as they do neither in a trial nor in too few cells.
    """

    scores: tuple[Score, ...]
    measures: tuple[MeasureInfo, ...]
    cells: RankedCells
    ranks: Mapping[Cell, Mapping[str, float]]
    places: Places
    names: Mapping[str, str]
    order: tuple[str, ...]
    usual: frozenset[tuple[str, str]]
    is_trial: bool
    is_sure: bool

    @property
    def worst(self) -> float:
        """The largest rank on the page."""
        ranks = (rank for cell in self.ranks.values() for rank in cell.values())
        return float(max([*ranks, len(self.names), 2]))


def overview_of(
    suite: str,
    scores: Iterable[Score],
    measures: Iterable[MeasureInfo],
    cells: RankedCells,
    usual: Iterable[Measure],
    *,
    is_trial: bool,
) -> Overview:
    """Return what pages show of the scores of a suite; ``cells``: see :func:`ranked_cells`."""
    infos = tuple(measures)
    names = distinct({m.spec: m.label for m in infos})
    by_cell = {cell: rank_cell(*ranked) for cell, ranked in cells.items()}
    ranks = {cell: of_measures for cell, of_measures in by_cell.items() if of_measures}
    standing = places({suite: ranks}, strata={suite: {c: cells[c][1].models for c in ranks}})
    ranked = [p.measure for p in standing.rows]
    if is_trial:
        ranked = [spec for spec in names if spec in set(ranked)]
    return Overview(
        tuple(scores),
        infos,
        cells,
        ranks,
        standing,
        names,
        (*ranked, *(spec for spec in names if spec not in set(ranked))),
        frozenset((m.spec, m.label) for m in usual),
        is_trial,
        standing.is_settling and not is_trial,
    )


def ranked_cells(cases: Iterable[Case], scores: Iterable[Score]) -> RankedCells:
    """Return the cells of cases that measures are ranked in, by test and words.

    A cell whose expected differences do not repeat on other inputs is not ranked.
    """
    by_cell: dict[Cell, list[Score]] = defaultdict(list)
    for score in scores:
        by_cell[score.key].append(score)
    cells = dict[Cell, tuple[Scores, RankRule]]()
    for case in cases:
        if is_reliable(case.reliability) and (some := by_cell[case.key]):
            rule = rank_rule(some, case.test, case.models, is_by_part=case.is_by_part)
            cells[case.key] = {s.measure: known(s.value) for s in some}, rule
    return cells


def rank_rule(
    scores: Sequence[Score],
    test: str,
    models: str,
    *,
    is_by_part: bool = True,
    failures: str = "last",
    is_shared: bool = False,
) -> RankRule:
    """Return how the measures of a cell are ranked by their scores there."""
    count = max(len(s.parts) for s in scores) if is_by_part else 1
    parts = tuple(
        {s.measure: known(s.parts[i]) if i < len(s.parts) else None for s in scores}
        for i in range(count if count > 1 else 0)  # the score of a single part is that of the cell
    )
    incomplete = tuple(s.measure for s in scores if s.failed)
    return RankRule(parts, incomplete, failures, is_shared, test, models)


def with_scores(section: Section, cells: RankedCells, words: int = 1) -> Section:
    """Return a section with the scores of cells, and the rules by which these are ranked; the first
    ``words`` of a cell, such as its test, are not part of its name."""
    return section._replace(
        scores={cell_name(cell[words:]): scores for cell, (scores, _) in cells.items()},
        rules={cell_name(cell[words:]): rule for cell, (_, rule) in cells.items()},
    )
