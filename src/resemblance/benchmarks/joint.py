"""One ranking of measures over several suites, and which conclusions of their papers hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from ..catalogue import get_measure
from ..comparison import environment
from ..grounding import spearman
from ..rng import generator
from ..significance import summarize
from .claims import NO_DATA, NOT, PARTLY, REPRODUCED
from .contests import SUITES, Contest, Ranks, read_contest
from .findings import Bar, Bars, Entry, Findings, Section, Table, distinct, known

DRAWS = 2000
DECIMALS = 9  # of ranks: what differs by rounding is equal


class Place(NamedTuple):
    """Where a measure stands over all suites: the mean over suites of its mean rank, with 95 % intervals.

    ``position``: 1 for the best, with the interval that bootstrap samples of the cells give. ``before``: the share of
    the samples in which it stands before the next one, equal places half; None for the last. ``by_suite``: mean ranks.
    """

    measure: str
    label: str
    mean: float
    low: float
    high: float
    position: int
    best: int
    worst: int
    before: float | None
    by_suite: Mapping[str, float]


def joint(folders: Iterable[str | Path]) -> Findings:
    """Return one ranking of measures over the studies in several folders, each of another suite.

    Measures that take part in all of them are ranked anew among each other in every cell: equal values share the mean
    of their ranks, and measures without a value stand last. Cells in which all are equal do not count. A suite has
    the same weight as any other, however many cells it has: a measure's place is the mean over suites of its mean
    rank over cells.

    Intervals come from 2000 samples of the cells of every suite with replacement, the same for all measures. They say
    how far a place depends on which cells were asked. They are too narrow for other models and data, since cells of
    one suite share models, and for a suite of few cells (the manifold suite has three).

    Raises ``ValueError`` for fewer than two suites, two studies of the same suite, a folder without a result, a suite
    without a cell that tells measures apart, and when fewer than two measures take part in all.
    """
    contests = [read_contest(folder) for folder in folders]
    _check(contests)
    among = set.intersection(*(set(c.labels) for c in contests))
    ranks = {c.suite: c.ranks(among) for c in contests}
    shared = {suite: _shared(suite, own) for suite, own in ranks.items()}
    found = places(contests, shared)
    by_suite = (_of_suite(c, shared[c.suite], len(ranks[c.suite]), found) for c in contests)
    sections = (_standing(found, contests, shared, among), _agreement(found, contests), *by_suite)
    labels = {place.measure: place.label for place in found}
    return Findings("joint", " + ".join(c.suite for c in contests), sections, labels, {}, environment())


def _check(contests: Sequence[Contest]) -> None:
    suites = [c.suite for c in contests]
    if len(suites) < 2:
        raise ValueError("a joint ranking needs the studies of at least two suites")
    for suite in suites:
        if suites.count(suite) > 1:
            raise ValueError(f"two studies are of {suite!r}; give one of each suite")
    among = set.intersection(*(set(c.labels) for c in contests))
    if len(among) < 2:
        raise ValueError("fewer than two measures take part in all suites: run them again with common --measures")


def _shared(suite: str, ranks: Ranks) -> Ranks:
    """Return ranks of which equal ones share their mean, so that chance has the middle; cells without any order go."""
    found = {}
    for cell, own in ranks.items():
        shared = rankdata(np.round(list(own.values()), DECIMALS))
        if np.ptp(shared) > 0:
            found[cell] = dict(zip(own, shared.tolist()))
    if not found:
        raise ValueError(f"no cell of the {suite} study tells the measures apart that all suites have in common")
    return found


def places(contests: Sequence[Contest], ranks: Mapping[str, Ranks], *, seed: int = 0) -> tuple[Place, ...]:
    """Return where every measure stands, best first. ``ranks``: by suite, of the same measures in every cell."""
    names = sorted(next(iter(next(iter(ranks.values())).values())))
    tables = {s: np.array([[own[m] for m in names] for own in cells.values()]) for s, cells in ranks.items()}
    means = {suite: table.mean(axis=0) for suite, table in tables.items()}
    whole = np.mean(list(means.values()), axis=0).round(DECIMALS)
    drawn = np.mean([_resampled(table, suite, seed) for suite, table in tables.items()], axis=0).round(DECIMALS)
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    positions = rankdata(drawn, method="min", axis=1)
    best, worst = np.percentile(positions, [2.5, 97.5], axis=0, method="nearest")
    labels = distinct({spec: _label(spec, told) for c in contests for spec, told in c.labels.items() if spec in names})
    order = sorted(range(len(names)), key=lambda i: (whole[i], names[i]))
    before = [float(np.mean((1 + np.sign(drawn[:, j] - drawn[:, i])) / 2)) for i, j in pairwise(order)]
    return tuple(
        Place(names[i], labels[names[i]], float(whole[i]), float(low[i]), float(high[i]),
              1 + int((whole < whole[i]).sum()), int(best[i]), int(worst[i]), ahead,
              {suite: float(own[i]) for suite, own in means.items()})
        for i, ahead in zip(order, [*before, None])
    )  # fmt: skip


def _label(spec: str, told: str) -> str:
    """Return what the catalogue calls a measure, since suites differ, or what a suite calls one that is not in it."""
    try:
        return get_measure(spec).label
    except ValueError:
        return told


def _resampled(table: np.ndarray, suite: str, seed: int) -> np.ndarray:
    """Mean rank of every measure over samples of the cells of a suite, (draws, measures)."""
    count = len(table)
    times = generator(seed, "joint", suite).multinomial(count, np.full(count, 1 / count), size=DRAWS)
    means: np.ndarray = times @ table / count
    return means


# ------------------------------------------------------------------------------------------------------- the sections


def _standing(
    found: Sequence[Place], contests: Sequence[Contest], ranks: Mapping[str, Ranks], among: set[str]
) -> Section:
    counts = ", ".join(f"{len(own)} in {suite}" for suite, own in ranks.items())
    about = (
        f"{len(found)} measures take part in all of {len(contests)} suites and are ranked among each other in every "
        f"cell, 1 for the best; equal ones share the mean of their ranks. Cells that tell measures apart: {counts}. "
        "Every suite has the same weight. Intervals (95 %) come from samples of the cells with replacement: they say "
        "how far a place depends on which cells were asked. For other models and data they are too narrow, since cells "
        "share models, and for a suite of few cells."
    )
    suites = [c.suite for c in contests]
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (p.label, p.mean, f"{p.low:.1f} to {p.high:.1f}", p.position, f"{p.best} to {p.worst}",
         None if p.before is None else f"{p.before:.0%}", *(p.by_suite[s] for s in suites))
        for p in found
    )  # fmt: skip
    columns = ("measure", "mean rank", "95 %", "position", "95 %", "before the next", *suites)
    note = (
        "Before the next: in how many samples of the cells a measure stands before the one below, equal places half; "
        "50 % is no order. "
        "Columns of suites: mean rank over its cells."
    )
    figure = Bars("mean ranks", "Mean rank over suites", "mean rank, 1 is the best",
                  tuple(Bar(p.label, p.mean, p.low, p.high) for p in found),
                  "The line is the mean rank of a measure that guesses.", (len(found) + 1) / 2,
                  (1.0, float(len(found))))  # fmt: skip
    absent = {
        f"{label} ({spec})": f"takes no part in {', '.join(o.suite for o in contests if spec not in o.labels)}"
        for c in contests
        for spec, label in c.labels.items()
        if spec not in among
    }
    table = Table("places", "Where measures stand", columns, rows, note)
    return Section("standing", "All suites together", about, (table,), (figure,), reasons=absent)


def _agreement(found: Sequence[Place], contests: Sequence[Contest]) -> Section:
    suites = [c.suite for c in contests]
    rows: list[tuple[Entry, ...]] = []
    for one in suites:
        correlations = [1.0 if one == other else _correlation(found, one, other) for other in suites]
        rows.append((one, *map(known, correlations)))
    about = (
        "Spearman's correlation of the mean ranks that two suites give to the same measures: 1 when they put them in "
        "the same order, 0 when they have nothing in common, below 0 when what is good in the one is bad in the other."
    )
    table = Table("agreement", "Do the suites agree?", ("", *suites), tuple(rows))
    return Section("agreement", "Agreement of the suites", about, (table,))


def _correlation(found: Sequence[Place], one: str, other: str) -> float:
    sides = (np.array([p.by_suite[suite] for p in found]) for suite in (one, other))
    return float(spearman(*sides).value)


def _of_suite(contest: Contest, ranks: Ranks, asked: int, found: Sequence[Place]) -> Section:
    tests: dict[str, dict[Hashable, Mapping[str, float]]] = defaultdict(dict)
    for cell, own in ranks.items():
        tests[cell[0]][cell] = own
    standings = {test: {r.measure: r.mean for r in summarize(cells)} for test, cells in tests.items()}
    order = sorted(found, key=lambda p: p.by_suite[contest.suite])
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (p.label, p.by_suite[contest.suite], *(standings[t][p.measure] for t in tests)) for p in order
    )
    columns = ("measure", "all", *(f"{test} ({len(cells)})" for test, cells in tests.items()))
    counts = {v: sum(c.verdict == v for c in contest.claims) for v in (REPRODUCED, PARTLY, NOT, NO_DATA)}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    tied = f" (in {asked - len(ranks)} more all measures are equal)" if asked > len(ranks) else ""
    about = (
        f"Cells: {len(ranks)}{tied}. {contest.about} Conclusions of the paper on the models and data here: "
        f"{said or 'none judged'}."
    )
    table = Table("ranks", "Mean rank by test", columns, rows, "In brackets: the number of cells.")
    return Section(contest.suite, SUITES[contest.suite], about, (table,), claims=contest.claims)
