"""What the ReSi paper, and the MKA paper on the same tests, say of measures, and what a run says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ..grounding import spearman
from .claims import Claim, Found, NoData, judged
from .evaluate import Result
from .published import compare_published, order_agreement, published_ranks
from .ranking import ranking

STATISTICS = ("magnitude_difference", "concentricity_difference", "uniformity_difference")


def claims(result: Result) -> tuple[Claim, ...]:
    """Return what Klabunde et al. 2025 and Islam et al. 2025 conclude from the six tests, beside a run.

    ``theirs`` are mean ranks over the tables that ship with the package (:func:`~resemblance.benchmarks.published`):
    those of the first version of the ReSi paper.
    """
    return judged(_CLAIMS, result)


def _means(result: Result, domain: str | None = None) -> dict[str, float]:
    """Return the mean rank of every measure of the paper, by its specification, best first."""
    own = {m.spec for m in result.measures if m.label in published_ranks()}
    found = [(r.mean, r.measure) for r in ranking(result.ranks(), domain) if r.measure in own]
    if len(found) < 3:
        raise NoData("too few measures of the paper")
    return {measure: mean for mean, measure in sorted(found)}


def _by_domain(result: Result) -> dict[str, dict[str, float]]:
    domains = list(dict.fromkeys(cell[2] for cell in result.ranks()))
    if len(domains) < 2:
        raise NoData("the run has one domain")
    return {domain: _means(result, domain) for domain in domains}


def _none_is_best(result: Result) -> Found:
    best = {domain: next(iter(means)) for domain, means in _by_domain(result).items()}
    whole = _means(result)
    first = next(iter(whole))
    labels = {m.spec: m.label for m in result.measures}
    said = f"{labels[first]} leads with a mean rank of {whole[first]:.1f} of {len(whole)}; best in "
    said += ", ".join(f"{domain}: {labels[spec]}" for domain, spec in best.items())
    return Found(said, (len(set(best.values())) > 1, whole[first] > 2))


def _depends_on_domain(result: Result) -> Found:
    found = {pair: _correlation(*orders) for pair, orders in _pairs(_by_domain(result))}
    said = ", ".join(f"{a} and {b} {value:.2f}" for (a, b), value in found.items())
    return Found(f"correlation of mean ranks: {said}", tuple(value < 0.9 for value in found.values()))


def _pairs(
    orders: Mapping[str, Mapping[str, float]],
) -> Sequence[tuple[tuple[str, str], tuple[Mapping[str, float], Mapping[str, float]]]]:
    return [((a, b), (orders[a], orders[b])) for a, b in combinations(orders, 2)]


def _correlation(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    both = [m for m in one if m in other]
    return float(spearman(np.array([one[m] for m in both]), np.array([other[m] for m in both])).value)


def _statistics_are_last(result: Result) -> Found:
    order = list(_means(result))
    if not set(STATISTICS) <= set(order):
        raise NoData("the run lacks a measure that compares one number of each representation")
    places = {m: order.index(m) + 1 for m in STATISTICS}
    labels = {m.spec: m.label for m in result.measures}
    said = ", ".join(f"{labels[m]} {place}" for m, place in places.items())
    return Found(f"{said} of {len(order)}", tuple(place > 2 * len(order) / 3 for place in places.values()))


def _same_order(result: Result) -> Found:
    labels = {m.spec: m.label for m in result.measures}
    agreement = order_agreement(compare_published({labels[m]: mean for m, mean in _means(result).items()}))
    if agreement is None:
        raise NoData("too few measures of the paper for an order")
    return Found(f"correlation with the order of the tables: {agreement:.2f}", (agreement > 0.5,))


def _mka_is_near_the_top(result: Result) -> Found:
    ranks = {r.measure: r.mean for r in ranking(result.ranks())}
    rows = compare_published(ranks, paper="mka")
    own = next(row for row in rows if row.label == "mka") if "mka" in ranks else None
    if own is None:
        raise NoData("the run lacks MKA")
    said = f"position {own.position} of {len(rows)} (in their tables, of the same measures: {own.position_published})"
    return Found(said, (own.position <= 5,))


_CLAIMS = (
    ("R1", "No measure is the best everywhere",
     "DistCorr leads with a mean rank of 7.3 of 24; best on graphs 2nd-Cos, on language DistCorr, on vision Jaccard",
     _none_is_best),
    ("R2", "Which measures are good depends on the domain",
     "correlation of mean ranks: graphs and language 0.50, graphs and vision 0.74, language and vision 0.61",
     _depends_on_domain),
    ("R3", "Measures that compare one number of each representation come last",
     "ConcDiff and MagDiff are the last two of 24 over all, UnifDiff 22nd", _statistics_are_last),
    ("R4", "The order of the measures carries over to other models (those of this study)",
     "six tests on each of three domains; no number", _same_order),
    ("K1", "MKA is among the best measures of the six tests",
     "mean rank 10.7 of 32, fifth; first on vision (8.2)", _mka_is_near_the_top),
)  # fmt: skip
