"""Ranks of measures within a cell, and what they are over many cells."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

DECIMALS = 9  # of ranks: what differs by rounding is equal


class Ranking(NamedTuple):
    """The ranks of a measure over many cells: their mean, their median, and all of them."""

    measure: str
    mean: float
    median: float
    ranks: tuple[float, ...]


def rank_within(
    values: Mapping[str, float], incomplete: Iterable[str] = (), *, failures: str = "last"
) -> dict[str, float]:
    """Rank measures within one cell, 1 for the largest value; values equal to 1e-9 share the best
    rank.

    ``incomplete`` are measures with failed comparisons. ``failures="last"``: they, and measures
    without a value (NaN), rank behind all others, so that failing on hard cases gains nothing.
    ``"unranked"``: a measure without a value has no rank, one with fewer comparisons is ranked as
    if nothing were missing (the authors' way).
    """
    if failures not in ("last", "unranked"):
        raise ValueError(f"failures must be 'last' or 'unranked'; got {failures!r}")
    behind = {m for m, v in values.items() if np.isnan(v)} | (
        set(incomplete) if failures == "last" else set()
    )
    # Rounding must not decide.
    complete = {m: round(v, DECIMALS) for m, v in values.items() if m not in behind}
    ranks = {m: 1.0 + sum(other > v for other in complete.values()) for m, v in complete.items()}
    if failures == "last":
        ranks |= dict.fromkeys((m for m in values if m in behind), 1.0 + len(complete))
    return ranks


def summarize(cells: Mapping[Hashable, Mapping[str, float]]) -> tuple[Ranking, ...]:
    """Return the ranks of every measure over cells, best median first, then best mean.

    A measure without any rank is left out. Which differences are more than chance, says
    :func:`resemblance.significance.places`.
    """
    names = dict.fromkeys(m for ranks in cells.values() for m in ranks)
    rankings = []
    for name in names:
        ranks = [of_cell[name] for of_cell in cells.values() if name in of_cell]
        if known := tuple(rank for rank in ranks if not math.isnan(rank)):
            rankings.append(Ranking(name, float(np.mean(known)), float(np.median(known)), known))
    return tuple(sorted(rankings, key=lambda r: (r.median, r.mean, r.measure)))


class Duel(NamedTuple):
    """In how many cells one measure is ranked before another, of those in which both have a
    rank."""

    better: int
    tied: int
    cells: int


def duels(cells: Mapping[Hashable, Mapping[str, float]]) -> dict[tuple[str, str], Duel]:
    """Return for every ordered pair of measures (a, b) in how many cells a beats b."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for ranks in cells.values():
        for a, b in itertools.permutations(ranks, 2):
            count = counts[a, b]
            count[0] += ranks[a] < ranks[b]
            count[1] += ranks[a] == ranks[b]
            count[2] += 1
    return {pair: Duel(*count) for pair, count in counts.items()}
