"""Ranks of measures over many cells, with intervals: where each measure stands, and which of two is
ahead."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..rng import generator
from .estimates import known_mean, percentile_interval

DECIMALS = 9  # of ranks: what differs by rounding is equal
# cells: with fewer, a measure may come first in all of them by chance, with p > 0.05, as 2 * 0.5**5
# is
SETTLING = 6
Cells = Mapping[Any, Mapping[str, float]]  # by cell, the ranks of measures in it


class Ranking(NamedTuple):
    """The ranks of a measure over many cells: their mean with a 95 % interval, their median, and
    all of them."""

    measure: str
    mean: float
    low: float
    high: float
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
    complete = {m: round(v, 9) for m, v in values.items() if m not in behind}
    ranks = {m: 1.0 + sum(other > v for other in complete.values()) for m, v in complete.items()}
    if failures == "last":
        ranks |= dict.fromkeys((m for m in values if m in behind), 1.0 + len(complete))
    return ranks


def summarize(
    cells: Mapping[Hashable, Mapping[str, float]], *, draws: int = 2000, seed: int = 0
) -> tuple[Ranking, ...]:
    """Return the standing of every measure over cells of ranks, best median first, then best mean.

    The interval is the 2.5 and 97.5 percentile of the mean rank over bootstrap samples of the
    cells; all measures see the same samples. A measure without any rank is left out.
    """
    names = list(dict.fromkeys(m for ranks in cells.values() for m in ranks))
    table = np.array([[ranks.get(m, np.nan) for m in names] for ranks in cells.values()])
    if not names:
        return ()
    drawn = generator(seed, "bootstrap", len(table)).integers(len(table), size=(draws, len(table)))
    rankings = []
    for position, name in enumerate(names):
        column = table[:, position]
        ranks = column[~np.isnan(column)]
        low, high = percentile_interval(known_mean(column[drawn], axis=-1))
        mean, median = float(ranks.mean()), float(np.median(ranks))
        rankings.append(Ranking(name, mean, low, high, median, tuple(ranks)))
    return tuple(sorted(rankings, key=lambda r: (r.median, r.mean, r.measure)))


class Place(NamedTuple):
    """The place of a measure: the mean over groups of cells of its mean rank, 1 for the best, with
    a 95 % interval.

    ``position``: 1 for the best, with the interval that samples of the cells give. ``behind``: how
    far its rank is behind that of the leader, on the mean over the cells where both have one, with
    its 95 % interval. ``is_tied``: it cannot be told from the leader, because that interval holds 0
    or they have too few cells in common to settle that.
    """

    measure: str
    mean: float
    low: float
    high: float
    position: int
    best: int
    worst: int
    behind: float
    behind_low: float
    behind_high: float
    is_tied: bool


class Places(NamedTuple):
    """The places of all measures, best first.

    ``before``: by two measures, the share of the samples of the cells in which the first has the
    better mean rank, equal ones half. ``by_group``: mean ranks in every group. ``cells``: how many
    there are in all groups.
    """

    rows: tuple[Place, ...]
    before: Mapping[tuple[str, str], float]
    by_group: Mapping[str, Mapping[str, float]]
    cells: int

    @property
    def is_settling(self) -> bool:
        """Whether there are enough cells for any order to be more than chance."""
        return self.cells >= SETTLING


def places(groups: Mapping[str, Cells], *, draws: int = 2000, seed: int = 0) -> Places:
    """Return where measures stand over the cells of one group, or of several that count alike, such
    as suites.

    What is resampled are cells: each of ``draws`` samples takes as many cells of every group as
    there are, with replacement, and with each cell the ranks of all measures in it. So two measures
    are compared in the same cells, by the interval of their difference; that their own intervals
    overlap says nothing. Intervals are not corrected for the number of measures, and are too narrow
    where cells share models, which makes them depend on each other.

    ``groups``: by name, the ranks of every measure in every cell; a measure without a rank is
    missing there. Measures without any rank in some group are left out.
    """
    named = {name: list(cells.values()) for name, cells in groups.items() if cells}
    ranked = [set().union(*cells) for cells in named.values()]
    names = sorted(set.intersection(*ranked)) if ranked else []
    tables = {
        g: np.array([[ranks.get(m, np.nan) for m in names] for ranks in cells])
        for g, cells in named.items()
    }
    count = sum(map(len, named.values()))
    if not names:
        return Places((), {}, {}, count)
    once = {g: np.ones((1, len(table))) for g, table in tables.items()}
    times = {g: _times(len(table), draws, seed, g) for g, table in tables.items()}
    whole = _means(tables, once)[0]
    order = sorted(range(len(names)), key=lambda i: (whole[i], names[i]))
    gaps = [{g: table - table[:, [i]] for g, table in tables.items()} for i in range(len(names))]
    drawn = [_means(gap, times) for gap in gaps]
    first = gaps[order[0]]
    common = np.sum([(~np.isnan(gap)).sum(axis=0) for gap in first.values()], axis=0)
    rows = _rows(
        names, whole, _means(tables, times), _means(first, once)[0], drawn[order[0]], common
    )
    before = {
        (a, b): _share_before(drawn[j][:, i])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i != j
    }
    by_group = {
        g: dict(zip(names, _means({g: table}, once)[0].tolist())) for g, table in tables.items()
    }
    return Places(tuple(rows[i] for i in order), before, by_group, count)


def _rows(
    names: Sequence[str],
    whole: np.ndarray,
    drawn: np.ndarray,
    behind: np.ndarray,
    gaps: np.ndarray,
    common: np.ndarray,
) -> list[Place]:
    from scipy.stats import rankdata

    positions = rankdata(drawn, method="min", axis=1, nan_policy="omit")
    rows = []
    for i, name in enumerate(names):
        low, high = percentile_interval(drawn[:, i])
        near, far = percentile_interval(gaps[:, i])
        best, worst = percentile_interval(positions[:, i], method="nearest")
        position = 1 + int((whole < whole[i]).sum())
        is_tied = bool(common[i] < SETTLING or not near > 0)
        standing = (name, float(whole[i]), low, high, position, int(best), int(worst))
        rows.append(Place(*standing, float(behind[i]), near, far, is_tied))
    return rows


def _times(count: int, draws: int, seed: int, group: str) -> np.ndarray:
    """How often each cell of a group is in each sample, (draws, cells)."""
    times: np.ndarray = generator(seed, "joint", group).multinomial(
        count, np.full(count, 1 / count), size=draws
    )
    return times


def _means(tables: Mapping[str, np.ndarray], times: Mapping[str, np.ndarray]) -> np.ndarray:
    """Mean over groups of the mean over the cells of every sample, (draws, measures); NaN where a
    sample has none."""
    means = []
    for group, table in tables.items():
        known = ~np.isnan(table)
        with np.errstate(invalid="ignore"):
            means.append((times[group] @ np.where(known, table, 0.0)) / (times[group] @ known))
    mean: np.ndarray = np.mean(means, axis=0).round(DECIMALS)
    return mean


def _share_before(gaps: np.ndarray) -> float:
    """Share of differences of ranks that are negative, zeros half."""
    known = gaps[~np.isnan(gaps)]
    return float(np.mean((1 - np.sign(known)) / 2)) if len(known) else np.nan


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
