"""One ranking of measures over several suites, and which conclusions of their papers hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..grounding import spearman
from ..rng import generator
from ..significance import summarize
from .claims import NO_DATA, NOT, PARTLY, REPRODUCED
from .contests import SUITES, Contest, Ranks, read_contest
from .findings import Bar, Bars, Entry, Findings, Section, Table, distinct, known

DRAWS = 2000


class Place(NamedTuple):
    """Where a measure stands over all suites: the mean over suites of its mean rank, with 95 % intervals.

    ``position``: 1 for the best, with the interval that bootstrap samples of the cells give. ``by_suite``: mean ranks.
    """

    measure: str
    label: str
    mean: float
    low: float
    high: float
    position: int
    best: int
    worst: int
    by_suite: Mapping[str, float]


def joint(folders: Iterable[str | Path]) -> Findings:
    """Return one ranking of measures over the studies in several folders, each of another suite.

    Measures that take part in all of them are ranked anew among each other in every cell (of equal values all have the
    best rank, and those without a value stand last). A suite counts as much as any other, however many cells it has: a
    measure's place is the mean over suites of its mean rank over cells. Intervals come from 2000 samples of the cells
    of every suite with replacement; cells of one suite share models, so they are rather too narrow than too wide.

    Raises ``ValueError`` for fewer than two suites, two studies of the same suite, a folder without a result, and when
    fewer than two measures take part in all.
    """
    contests = [read_contest(folder) for folder in folders]
    _check(contests)
    among = set.intersection(*(set(c.labels) for c in contests))
    ranks = {c.suite: c.ranks(among) for c in contests}
    found = places(contests, ranks)
    by_suite = (_of_suite(c, ranks[c.suite], found) for c in contests)
    sections = (_standing(found, contests, among), _agreement(found, contests), *by_suite)
    labels = {place.measure: place.label for place in found}
    return Findings("joint", " + ".join(c.suite for c in contests), sections, labels)


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


def places(contests: Sequence[Contest], ranks: Mapping[str, Ranks], *, seed: int = 0) -> tuple[Place, ...]:
    """Return where every measure stands, best first. ``ranks``: by suite, of the same measures in every cell."""
    names = sorted(next(iter(next(iter(ranks.values())).values())))
    tables = {s: np.array([[own[m] for m in names] for own in cells.values()]) for s, cells in ranks.items()}
    means = {suite: table.mean(axis=0) for suite, table in tables.items()}
    whole = np.mean(list(means.values()), axis=0)
    drawn = np.mean([_resampled(table, suite, seed) for suite, table in tables.items()], axis=0)
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    positions = 1 + (drawn[:, None, :] < drawn[:, :, None]).sum(axis=2)
    best, worst = np.percentile(positions, [2.5, 97.5], axis=0, method="nearest")
    labels = {spec: label for c in contests for spec, label in c.labels.items()}
    shown = distinct({m: labels[m] for m in names})
    found = [
        Place(m, shown[m], float(whole[i]), float(low[i]), float(high[i]), 1 + int((whole < whole[i]).sum()),
              int(best[i]), int(worst[i]), {s: float(own[i]) for s, own in means.items()})
        for i, m in enumerate(names)
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda p: (p.mean, p.measure)))


def _resampled(table: np.ndarray, suite: str, seed: int) -> np.ndarray:
    """Mean rank of every measure over samples of the cells of a suite, (draws, measures)."""
    chosen = generator(seed, "joint", suite).integers(len(table), size=(DRAWS, len(table)))
    means: np.ndarray = table[chosen].mean(axis=1)
    return means


# ------------------------------------------------------------------------------------------------------- the sections


def _standing(found: Sequence[Place], contests: Sequence[Contest], among: set[str]) -> Section:
    about = (
        f"{len(found)} measures take part in all of {len(contests)} suites and are ranked among each other in every "
        "cell of every suite, 1 for the best. A suite counts as much as any other. Intervals (95 %) come from samples "
        "of the cells with replacement; where they overlap, the order of two measures is not settled."
    )
    suites = [c.suite for c in contests]
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (p.label, p.mean, f"{p.low:.1f} to {p.high:.1f}", p.position, f"{p.best} to {p.worst}",
         *(p.by_suite[s] for s in suites))
        for p in found
    )  # fmt: skip
    columns = ("measure", "mean rank", "95 %", "position", "95 %", *suites)
    bars = tuple(Bar(p.label, p.mean, p.low, p.high) for p in found)
    middle = (len(found) + 1) / 2
    figure = Bars("mean ranks", "Mean rank over suites", "mean rank, 1 is the best", bars,
                  "The line is the rank of a measure that guesses.", middle)  # fmt: skip
    absent = {
        label: f"takes no part in {', '.join(o.suite for o in contests if spec not in o.labels)}"
        for c in contests
        for spec, label in c.labels.items()
        if spec not in among
    }
    tables = (Table("places", "Where measures stand", columns, rows, "Columns of suites: mean rank over its cells."),)
    return Section("standing", "All suites together", about, tables, (figure,), reasons=absent)


def _agreement(found: Sequence[Place], contests: Sequence[Contest]) -> Section:
    suites = [c.suite for c in contests]
    rows: list[tuple[Entry, ...]] = []
    for one in suites:
        correlations = [1.0 if one == other else _correlation(found, one, other) for other in suites]
        rows.append((one, *map(known, correlations)))
    lowest = min((_correlation(found, a, b), a, b) for a, b in combinations(suites, 2))
    about = (
        "Spearman's correlation of the mean ranks that two suites give to the same measures: 1 when they put them in "
        f"the same order, 0 when they have nothing in common. Least alike are {lowest[1]} and {lowest[2]} "
        f"({lowest[0]:.2f}): a measure chosen by the one is not one that the other would choose."
    )
    table = Table("agreement", "Do the suites agree?", ("", *suites), tuple(rows))
    return Section("agreement", "Agreement of the suites", about, (table,))


def _correlation(found: Sequence[Place], one: str, other: str) -> float:
    sides = (np.array([p.by_suite[suite] for p in found]) for suite in (one, other))
    return float(spearman(*sides).value)


def _of_suite(contest: Contest, ranks: Ranks, found: Sequence[Place]) -> Section:
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
    about = f"Cells: {len(ranks)}. Conclusions of the paper on the models and data here: {said or 'none judged'}."
    table = Table("ranks", "Mean rank by test", columns, rows, "In brackets: the number of cells.")
    return Section(contest.suite, SUITES[contest.suite], about, (table,), claims=contest.claims)
