"""Conclusions about measures in the ReSi paper, and in the MKA paper on the same tests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from papers.judging import Claims, Evidence, NoData, claim, judged
from papers.published import compare_published, published_ranks
from resemblance.base.rng import generator
from resemblance.bench.grounding import spearman
from resemblance.bench.ranks import TaskKey
from resemblance.bench.resi import Evaluation
from resemblance.sections.claims import Claim

STATISTICS = ("magnitude_difference", "concentricity_difference", "uniformity_difference")
FEWEST = 10  # minimum number of measures for a meaningful position in a ranking
DRAWS, LEVEL = 999, 0.05
_CLAIMS: Claims = []
conclusion = partial(claim, _CLAIMS)


class PaperRanks(NamedTuple):
    """A run, and the ranks of the measures of the ReSi paper among each other: a table (tasks,
    measures)."""

    evaluation: Evaluation
    cells: tuple[TaskKey, ...]
    measures: tuple[str, ...]
    table: np.ndarray

    @property
    def domains(self) -> np.ndarray:
        """Domain of every task."""
        return np.array([cell[2] for cell in self.cells])

    def label(self, measure: str) -> str:
        """Return the name of a measure in the papers."""
        return {m.spec: m.label for m in self.evaluation.measures}[measure]


def conclusions(evaluation: Evaluation) -> tuple[Claim, ...]:
    """Return the conclusions of Klabunde et al. 2025 and Islam et al. 2025 from the six tests, with
    verdicts from a run.

    ``theirs`` are mean ranks over the printed tables (:func:`~papers.published.published_ranks`) of
    the first version of the ReSi paper.
    """
    printed, first = published_ranks(), dict[str, str]()
    # The first variant of a label is the definition of the paper.
    for m in evaluation.measures:
        if m.label in printed:
            first.setdefault(m.label, m.spec)
    measures = tuple(first.values())
    ranks = evaluation.among(measures).ranks()
    table = np.array([[of_cell.get(m, np.nan) for m in measures] for of_cell in ranks.values()])
    table = table.reshape(len(ranks), len(measures))
    return judged(_CLAIMS, PaperRanks(evaluation, tuple(ranks), measures, table))


CLAIMS = {"ranking": conclusions}  # functions that judge claims, by section of the suite


def _order(ranks: PaperRanks, domain: str = "") -> list[str]:
    """Return the measures sorted by mean rank over the tasks of a domain, or of all domains, best
    first."""
    if len(ranks.measures) < FEWEST:
        raise NoData(
            f"{len(ranks.measures)} measures of the paper took part; {FEWEST} would be needed"
        )
    table = ranks.table[ranks.domains == domain] if domain else ranks.table
    return [ranks.measures[i] for i in np.argsort(np.nanmean(table, axis=0), kind="stable")]


def _domains(ranks: PaperRanks) -> list[str]:
    domains = list(dict.fromkeys(ranks.domains.tolist()))
    if len(domains) < 2:
        raise NoData("the run has one domain")
    return domains


@conclusion(
    "R1",
    "No measure is the best everywhere (the leader is first in less than half of the cells)",
    "DistCorr leads with a mean rank of 7.3 of 24; best on graphs 2nd-Cos, on language DistCorr, "
    "on vision Jaccard",
)
def none_is_best(ranks: PaperRanks) -> Evidence:
    best = {domain: _order(ranks, domain)[0] for domain in _domains(ranks)}
    leader = _order(ranks)[0]
    column = ranks.table[:, ranks.measures.index(leader)]
    first = float(np.mean(column == 1))
    leaders = ", ".join(f"{domain} {ranks.label(measure)}" for domain, measure in best.items())
    ours = (
        f"{ranks.label(leader)} leads with a mean rank of {np.nanmean(column):.1f} of "
        f"{len(ranks.measures)} and is first in {first:.0%} of the cells; best on {leaders}"
    )
    return Evidence(ours, (len(set(best.values())) > 1, first < 0.5))


@conclusion(
    "R2",
    "Which measures are good depends on the domain",
    "correlation of mean ranks: graphs and language 0.50, graphs and vision 0.74, language and "
    "vision 0.61",
)
def depends_on_domain(ranks: PaperRanks) -> Evidence:
    """Judge that domains rank the measures more differently than random groups of tasks.

    A random group has tasks of the same tests and qualities as a domain, sampled without regard to
    the domain.
    """
    _order(ranks)
    names = _domains(ranks)
    table = ranks.table[:, ~np.isnan(ranks.table).any(axis=0)]
    domains, kinds = ranks.domains, np.array(["/".join(cell[:2]) for cell in ranks.cells])
    random = generator(0, "resi claims")

    def between(of: np.ndarray) -> dict[tuple[str, str], float]:
        means = {name: table[of == name].mean(axis=0) for name in names}
        pairs = combinations(names, 2)
        return {(a, b): float(spearman(means[a], means[b]).value) for a, b in pairs}

    def shuffled() -> np.ndarray:
        drawn = domains.copy()
        for kind in np.unique(kinds):
            drawn[kinds == kind] = random.permutation(drawn[kinds == kind])
        return drawn

    correlations = between(domains)
    drawn = [float(np.mean(list(between(shuffled()).values()))) for _ in range(DRAWS)]
    mean = np.mean(list(correlations.values()))
    pvalue = (1 + sum(d <= mean for d in drawn)) / (1 + DRAWS)
    pairs = ", ".join(f"{a} and {b} {value:.2f}" for (a, b), value in correlations.items())
    ours = (
        f"correlation of mean ranks: {pairs}; {np.mean(drawn):.2f} between cells drawn without "
        f"regard to the domain (p = {pvalue:.3f})"
    )
    return Evidence(ours, (pvalue <= LEVEL,))


@conclusion(
    "R3",
    "Measures that compare one number of each representation come last (in the last third)",
    "ConcDiff and MagDiff are the last two of 24 over all, UnifDiff 22nd",
)
def statistics_are_last(ranks: PaperRanks) -> Evidence:
    order = _order(ranks)
    places = {m: order.index(m) + 1 for m in STATISTICS if m in order}
    if len(places) < len(STATISTICS):
        raise NoData("the run lacks one of the three statistics")
    ours = ", ".join(f"{ranks.label(m)} {place}" for m, place in places.items())
    last_third = tuple(place > 2 * len(order) / 3 for place in places.values())
    return Evidence(f"{ours} of {len(order)}", last_third)


@conclusion(
    "K1",
    "MKA is among the best measures of the six tests (in the first sixth)",
    "mean rank 10.7 of 32, fifth; first on vision (8.2)",
)
def mka_is_near_the_top(ranks: PaperRanks) -> Evidence:
    cells: Mapping[TaskKey, Mapping[str, float]] = ranks.evaluation.ranks()
    everywhere = set.intersection(*map(set, cells.values())) if cells else set()
    if "mka" not in everywhere:
        raise NoData("MKA took no part")
    means = {m: float(np.mean([of_cell[m] for of_cell in cells.values()])) for m in everywhere}
    rows = compare_published(means, paper="mka")
    if len(rows) < FEWEST:
        raise NoData(f"{len(rows)} measures of the MKA paper took part; {FEWEST} would be needed")
    mka = next(row for row in rows if row.label == "mka")
    ours = (
        f"position {mka.position} of {len(rows)} (in their tables, of the same measures: "
        f"{mka.position_published})"
    )
    return Evidence(ours, (mka.position <= len(rows) / 6,))
