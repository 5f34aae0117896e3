"""Ranks of measures over the cells of a benchmark, as in Figure 3 of Klabunde et al. 2025."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from ...significance import Ranking, rank_within, summarize
from .grading import FAILURES, Score, check_choice

# The qualities that count in a ranking: all but conformity.
RANKED = ("spearman_accuracy", "spearman_jsd", "spearman_disagreement", "auprc", "spearman")
Cell = tuple[str, ...]
Ranks = dict[Cell, dict[str, float]]


def cell_ranks(scores: Iterable[Score], *, failures: str = "last") -> Ranks:
    """Return, for every cell that counts for the ranking, the rank of each measure by its
    specification.

    1 is the best; equal scores share the best rank. In the test of layers measures are ranked for
    every model, and a measure's rank in the cell is its mean over models. A cell in which no
    measure has a value is left out. ``failures``: see
    :func:`resemblance.significance.rank_within`.
    """
    found = _ranks_by_cell(scores, failures)
    return {
        cell: {m: float(np.mean(own)) for m, own in ranks.items()} for cell, ranks in found.items()
    }


def _ranks_by_cell(scores: Iterable[Score], failures: str) -> dict[Cell, dict[str, list[float]]]:
    """Return in every cell the ranks of every measure, one per part."""
    check_choice("failures", failures, FAILURES)
    by_cell: dict[Cell, list[Score]] = defaultdict(list)
    for score in scores:
        if score.quality in RANKED:
            by_cell[score.cell].append(score)
    ranks = {cell: _ranks(members, failures) for cell, members in by_cell.items()}
    return {cell: found for cell, found in ranks.items() if found}


def _ranks(scores: list[Score], failures: str) -> dict[str, list[float]]:
    incomplete = [s.measure for s in scores if s.failed]
    ranks: dict[str, list[float]] = defaultdict(list)
    for part in range(max(len(s.parts) for s in scores)):
        values = {s.measure: s.parts[part] if part < len(s.parts) else np.nan for s in scores}
        if np.isnan(list(values.values())).all():
            continue  # nobody can be ranked where nobody has a value
        for measure, rank in rank_within(values, incomplete, failures=failures).items():
            ranks[measure].append(rank)
    return ranks


def ranking(
    ranks: Mapping[Cell, Mapping[str, float]], domain: str | None = None
) -> tuple[Ranking, ...]:
    """Return the standing of every measure over the cells of one domain, or of all."""
    cells: dict[Hashable, Mapping[str, float]] = {
        c: r for c, r in ranks.items() if domain in (None, c[2])
    }
    return summarize(cells)


def resi_code_ranks(scores: Iterable[Score]) -> Ranks:
    """Return ranks as the authors' notebook for Figure 3 aggregates them.

    It differs from :func:`cell_ranks` in three ways: measures without a value have no rank; in the
    test of layers the ranks of all measures and models are averaged, so that every measure gets the
    same number; of the poolings of one model only the first read is kept.
    """
    kept: Ranks = {}
    for cell, ranks in _ranks_by_cell(scores, "unranked").items():
        everyone = (
            float(np.mean([rank for own in ranks.values() for rank in own])) if ranks else np.nan
        )
        found = {
            m: everyone if cell[0] == "layers" else float(np.mean(own)) for m, own in ranks.items()
        }
        if all(known[:5] != cell[:5] for known in kept):
            kept[cell] = found
    return kept
