"""Ranks of measures over the cells of a benchmark, as in Figure 3 of Klabunde et al. 2025."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping

from ...results.ranks import Scores, rank_cell
from ...results.sections import RankRule
from ...results.values import known
from ...significance import Ranking, summarize
from ..case import Score
from ..reliability import is_reliable
from .rules import FAILURES, check_choice

# The qualities that count in a ranking: all but conformity.
RANKED = ("spearman_accuracy", "spearman_jsd", "spearman_disagreement", "auprc", "spearman")
Cell = tuple[str, ...]
Ranks = dict[Cell, dict[str, float]]


def ranked_cells(
    scores: Iterable[Score], *, protocol: str = "paper", failures: str = "last"
) -> Iterator[tuple[Cell, Scores, RankRule]]:
    """Yield the cells that count for the ranking, with their scores and how these are ranked.

    In the test of layers measures are ranked for every model, and a measure's rank in the cell is
    its mean over models. A cell whose expected differences do not repeat on other inputs is not
    ranked. ``protocol="resi-code"``: as the authors' notebook for Figure 3 aggregates ranks, which
    differs in four ways: measures without a value have no rank; in the test of layers the ranks of
    all measures and models are averaged, so that every measure gets the same number; of the
    poolings of one model only the first read counts; all cells are ranked. ``failures``: see
    :func:`resemblance.significance.rank_within`.
    """
    check_choice("failures", failures, FAILURES)
    is_code = protocol == "resi-code"
    members: dict[Cell, list[Score]] = defaultdict(list)
    for score in scores:
        if score.cell[1] in RANKED and (is_code or is_reliable(score.reliability)):
            members[score.cell].append(score)
    first: dict[Cell, Cell] = {}
    for cell, of_cell in members.items():
        if not is_code or any(known(value) is not None for s in of_cell for value in s.parts):
            first.setdefault(cell[:5] if is_code else cell, cell)
    failures = "unranked" if is_code else failures
    for cell in first.values():
        rule = _rule(members[cell], failures, is_shared=is_code and cell[0] == "layers")
        yield cell, {s.measure: known(s.value) for s in members[cell]}, rule


def models_of(cell: Cell) -> str:
    """Return the models of a cell: their domain, data set and architecture, whatever is read of
    them."""
    return "/".join(cell[2:5])


def _rule(scores: list[Score], failures: str, *, is_shared: bool) -> RankRule:
    count = max(len(s.parts) for s in scores)
    parts = tuple(
        {s.measure: known(s.parts[i]) if i < len(s.parts) else None for s in scores}
        for i in range(count if count > 1 else 0)  # the score of a single part is that of the cell
    )
    incomplete = tuple(s.measure for s in scores if s.failed)
    first = scores[0]
    return RankRule(parts, incomplete, failures, is_shared, first.test, models_of(first.cell))


def cell_ranks(
    scores: Iterable[Score], *, protocol: str = "paper", failures: str = "last"
) -> Ranks:
    """Return the rank of each measure, by specification, for every cell that is ranked.

    1 is the best; equal scores share the best rank. A cell in which no measure has a value is left
    out. ``protocol``, ``failures``: see :func:`ranked_cells`.
    """
    cells = ranked_cells(scores, protocol=protocol, failures=failures)
    ranks = {cell: rank_cell(of_cell, rule) for cell, of_cell, rule in cells}
    return {cell: of_measures for cell, of_measures in ranks.items() if of_measures}


def ranking(
    ranks: Mapping[Cell, Mapping[str, float]], domain: str | None = None
) -> tuple[Ranking, ...]:
    """Return the standing of every measure over the cells of one domain, or of all."""
    cells: dict[Hashable, Mapping[str, float]] = {
        c: r for c, r in ranks.items() if domain in (None, c[2])
    }
    return summarize(cells)
