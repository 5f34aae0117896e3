"""What the ReSi paper, and the MKA paper on the same tests, say of measures, and what a run says of
it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...grounding import spearman
from ...results.claims import Claim, Found, NoData, judged
from ...results.headlines import without_verdicts
from ...rng import generator
from ..published import compare_published, published_ranks
from .evaluation import ResiResult
from .ranking import Cell, Ranks

STATISTICS = ("magnitude_difference", "concentricity_difference", "uniformity_difference")
FEWEST = 10  # measures without which a place in an order says little
DRAWS, LEVEL = 999, 0.05


class Facts(NamedTuple):
    """A run, and the ranks of the measures of the ReSi paper among each other as a table, (cells,
    measures)."""

    result: ResiResult
    cells: tuple[Cell, ...]
    measures: tuple[str, ...]
    table: np.ndarray

    @property
    def domains(self) -> np.ndarray:
        """The domain of every cell."""
        return np.array([cell[2] for cell in self.cells])

    def label(self, measure: str) -> str:
        """What papers call a measure."""
        return {m.spec: m.label for m in self.result.measures}[measure]


def claims(result: ResiResult) -> tuple[Claim, ...]:
    """Return what Klabunde et al. 2025 and Islam et al. 2025 conclude from the six tests, beside a
    run.

    ``theirs`` are mean ranks over the tables that ship with the package
    (:func:`~resemblance.suites.published`): those of the first version of the ReSi paper.
    """
    printed, first = published_ranks(), dict[str, str]()
    for m in (
        result.measures
    ):  # of several variants under one label the first, which is the definition of the paper
        if m.label in printed:
            first.setdefault(m.label, m.spec)
    own = tuple(first.values())
    ranks = result.among(own).ranks()
    table = np.array([[found.get(m, np.nan) for m in own] for found in ranks.values()])
    found = judged(_CLAIMS, Facts(result, tuple(ranks), own, table.reshape(len(ranks), len(own))))
    return without_verdicts(found) if result.is_trial else found


def _order(facts: Facts, cells: Iterable[bool] | None = None) -> list[str]:
    """Return the measures by their mean rank over some cells, or all, best first."""
    if len(facts.measures) < FEWEST:
        raise NoData(
            f"{len(facts.measures)} measures of the paper took part; {FEWEST} would be needed"
        )
    table = facts.table if cells is None else facts.table[list(cells)]
    means = np.nanmean(table, axis=0)
    return [facts.measures[i] for i in np.lexsort((np.arange(len(means)), means))]


def _known_domains(facts: Facts) -> list[str]:
    found = list(dict.fromkeys(facts.domains.tolist()))
    if len(found) < 2:
        raise NoData("the run has one domain")
    return found


def _none_is_best(facts: Facts) -> Found:
    best = {d: _order(facts, facts.domains == d)[0] for d in _known_domains(facts)}
    first = _order(facts)[0]
    column = facts.table[:, facts.measures.index(first)]
    said = (
        f"{facts.label(first)} leads with a mean rank of {np.nanmean(column):.1f} of "
        f"{len(facts.measures)} and is "
    )
    said += f"first in {np.mean(column == 1):.0%} of the cells; best on "
    said += ", ".join(f"{domain} {facts.label(measure)}" for domain, measure in best.items())
    return Found(said, (len(set(best.values())) > 1, float(np.mean(column == 1)) < 0.5))


def _depends_on_domain(facts: Facts) -> Found:
    """Domains order the measures more differently than groups of cells drawn without regard to the
    domain."""
    _order(facts)
    names = _known_domains(facts)
    table = facts.table[:, ~np.isnan(facts.table).any(axis=0)]
    found = _between(table, facts.domains, names)
    kinds = np.array(["/".join(cell[:2]) for cell in facts.cells])
    random = generator(0, "resi claims")
    drawn = [
        _mean_between(table, _shuffled(facts.domains, kinds, random), names) for _ in range(DRAWS)
    ]
    p_value = (1 + sum(d <= np.mean(list(found.values())) for d in drawn)) / (1 + DRAWS)
    said = ", ".join(f"{a} and {b} {value:.2f}" for (a, b), value in found.items())
    said += (
        f"; {np.mean(drawn):.2f} between cells drawn without regard to the domain (p = "
        f"{p_value:.3f})"
    )
    return Found(f"correlation of mean ranks: {said}", (p_value <= LEVEL,))


def _shuffled(domains: np.ndarray, kinds: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Exchange the domains of cells of the same test and quality."""
    drawn = domains.copy()
    for kind in np.unique(kinds):
        drawn[kinds == kind] = random.permutation(domains[kinds == kind])
    return drawn


def _between(
    table: np.ndarray, domains: np.ndarray, names: list[str]
) -> Mapping[tuple[str, str], float]:
    means = {name: table[domains == name].mean(axis=0) for name in names}
    return {(a, b): float(spearman(means[a], means[b]).value) for a, b in combinations(names, 2)}


def _mean_between(table: np.ndarray, domains: np.ndarray, names: list[str]) -> float:
    return float(np.mean(list(_between(table, domains, names).values())))


def _statistics_are_last(facts: Facts) -> Found:
    order = _order(facts)
    places = {m: order.index(m) + 1 for m in STATISTICS if m in order}
    if len(places) < len(STATISTICS):
        raise NoData("the run lacks one of the three statistics")
    said = ", ".join(f"{facts.label(m)} {place}" for m, place in places.items())
    return Found(
        f"{said} of {len(order)}", tuple(place > 2 * len(order) / 3 for place in places.values())
    )


def _mka_is_near_the_top(facts: Facts) -> Found:
    ranks = facts.result.ranks()
    means = {m: float(np.mean([r[m] for r in ranks.values()])) for m in _everywhere(ranks)}
    if "mka" not in means:
        raise NoData("MKA took no part")
    rows = compare_published(means, paper="mka")
    if len(rows) < FEWEST:
        raise NoData(f"{len(rows)} measures of the MKA paper took part; {FEWEST} would be needed")
    own = next(row for row in rows if row.label == "mka")
    said = (
        f"position {own.position} of {len(rows)} (in their tables, of the same measures: "
        f"{own.position_published})"
    )
    return Found(said, (own.position <= len(rows) / 6,))


def _everywhere(ranks: Ranks) -> set[str]:
    """Measures that have a rank in every cell."""
    return set.intersection(*(set(own) for own in ranks.values())) if ranks else set()


_CLAIMS = (
    ("R1", "No measure is the best everywhere (the leader is first in less than half of the cells)",
     "DistCorr leads with a mean rank of 7.3 of 24; best on graphs 2nd-Cos, on language DistCorr, "
     "on vision Jaccard",
     _none_is_best),
    ("R2", "Which measures are good depends on the domain",
     "correlation of mean ranks: graphs and language 0.50, graphs and vision 0.74, language and "
     "vision 0.61",
     _depends_on_domain),
    ("R3", "Measures that compare one number of each representation come last (in the last third)",
     "ConcDiff and MagDiff are the last two of 24 over all, UnifDiff 22nd", _statistics_are_last),
    ("K1", "MKA is among the best measures of the six tests (in the first sixth)",
     "mean rank 10.7 of 32, fifth; first on vision (8.2)", _mka_is_near_the_top),
)  # fmt: skip
