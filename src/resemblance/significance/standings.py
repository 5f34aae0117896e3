"""Ranks of measures within a benchmark task, and rank intervals of measures over many tasks."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..base.text import check_choice
from .resampling import known_mean, percentile_interval
from .standings_gaps import (
    BootstrapTasks,
    TaskRanks,
    TaskStrata,
    bootstrap_gaps,
    bootstrap_tasks,
    measure_pairs,
    simultaneous_half_widths,
)

DECIMALS = 9  # decimals of ranks, so that values with a difference of rounding are equal
# Fewest tasks. In five tasks a measure may rank first everywhere by chance: 2 * 0.5**5 > 0.05.
SETTLING = 6
GapInterval: TypeAlias = tuple[float, float]


class Ranking(NamedTuple):
    """The ranks of a measure over many tasks: mean, median, and all ranks."""

    measure: str
    mean: float
    median: float
    ranks: tuple[float, ...]


def rank_within(
    values: Mapping[str, float], incomplete: Iterable[str] = (), *, failures: str = "last"
) -> dict[str, float]:
    """Rank measures within one task, 1 for the largest value; values equal to 1e-9 share the best
    rank.

    ``incomplete`` are measures with failed comparisons. ``failures="last"``: incomplete measures,
    and measures without a value (NaN), rank behind all others, so a failure on a hard case gains
    nothing. ``"unranked"``: a measure without a value has no rank, and an incomplete measure is
    ranked as if no comparison were missing (the authors' way).
    """
    check_choice("failures", failures, ("last", "unranked"))
    last_measures = {m for m, v in values.items() if np.isnan(v)} | (
        set(incomplete) if failures == "last" else set()
    )
    # Ignore differences of rounding.
    scores = {m: round(v, DECIMALS) for m, v in values.items() if m not in last_measures}
    ranks = {m: 1.0 + sum(score > v for score in scores.values()) for m, v in scores.items()}
    if failures == "last":
        ranks |= dict.fromkeys((m for m in values if m in last_measures), 1.0 + len(scores))
    return ranks


def summarize(cells: Mapping[Any, Mapping[str, float]]) -> tuple[Ranking, ...]:
    """Return the ranks of every measure over tasks (``cells``), best median first, then best mean.

    A measure without any rank is left out. :func:`resemblance.significance.places` tests which
    differences are significant.
    """
    names = dict.fromkeys(m for ranks in cells.values() for m in ranks)
    rankings = []
    for name in names:
        ranks = [cell_ranks[name] for cell_ranks in cells.values() if name in cell_ranks]
        if known_ranks := tuple(rank for rank in ranks if not math.isnan(rank)):
            rankings.append(
                Ranking(
                    name, float(np.mean(known_ranks)), float(np.median(known_ranks)), known_ranks
                )
            )
    return tuple(sorted(rankings, key=lambda r: (r.median, r.mean, r.measure)))


class Duel(NamedTuple):
    """The number of tasks in which one measure ranks before another, the number of ties, and the
    number of tasks in which the two measures have a rank."""

    better: int
    tied: int
    cells: int


def duels(cells: Mapping[Hashable, Mapping[str, float]]) -> dict[tuple[str, str], Duel]:
    """Return, for every ordered pair of measures (a, b), the number of tasks in which a beats b."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for ranks in cells.values():
        for a, b in itertools.permutations(ranks, 2):
            count = counts[a, b]
            count[0] += ranks[a] < ranks[b]
            count[1] += ranks[a] == ranks[b]
            count[2] += 1
    return {pair: Duel(*count) for pair, count in counts.items()}


class Place(NamedTuple):
    """The rank of a measure: the mean over groups of tasks of its mean rank, 1 for the best, with a
    95 % interval.

    ``position``: 1 for the best mean rank. ``best`` and ``worst``: the rank interval. The best rank
    follows all measures that are significantly better, the worst rank precedes all measures that
    are significantly worse, so the interval widens with the number of tied measures. ``behind``:
    the difference between the ranks of the measure and of the leader, averaged over the tasks where
    the two have a rank, with its own 95 % interval. ``simultaneous``: the interval of the same
    difference, wide enough that the intervals of all pairs of measures hold together with a
    confidence of 95 %; two NaN if the two measures share too few tasks. ``is_tied``: the measure is
    statistically tied with the leader, because ``simultaneous`` contains 0 or is unknown.
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
    simultaneous: GapInterval
    is_tied: bool


class Places(NamedTuple):
    """The ranks of all measures, best first.

    ``before``: for two measures, the share of the bootstrap samples in which the first measure has
    the better mean rank; a tie counts one half. ``by_group``: mean ranks in every group. ``few``:
    the groups with too few tasks to decide. ``cells``: the number of tasks in the deciding groups,
    or in all groups if no group decides. ``differences``: for two measures, the simultaneous
    interval of the rank of the first minus the rank of the second. ``groups``: the largest sets of
    consecutive measures in this order that are pairwise tied; every measure is in at least one set.
    """

    rows: tuple[Place, ...]
    before: Mapping[tuple[str, str], float]
    by_group: Mapping[str, Mapping[str, float]]
    cells: int
    differences: Mapping[tuple[str, str], GapInterval] = {}
    groups: tuple[tuple[str, ...], ...] = ()
    few: tuple[str, ...] = ()

    @property
    def is_settling(self) -> bool:
        """Whether there are enough tasks for any order to be significant."""
        return len(self.few) < len(self.by_group)

    def leader_without(self, group: str) -> tuple[str, ...]:
        """Return the measures with the best mean rank over the deciding groups except ``group``;
        none if there is no other deciding group."""
        group_ranks = [
            ranks for g, ranks in self.by_group.items() if g != group and g not in self.few
        ]
        if not group_ranks:
            return ()
        means = {p.measure: sum(ranks[p.measure] for ranks in group_ranks) for p in self.rows}
        lowest = min(means.values())
        return tuple(m for m, mean in means.items() if math.isclose(mean, lowest))

    def tied_with(self, measure: str) -> tuple[str, ...]:
        """Return the other measures that are statistically tied with a measure, best first; raise
        ``ValueError`` for a measure without a rank."""
        names = [place.measure for place in self.rows]
        if measure not in names:
            raise ValueError(f"no place for {measure!r}; there are {', '.join(names) or 'none'}")
        return tuple(
            m for m in names if m != measure and _contains_zero(self.differences[m, measure])
        )


def places(
    groups: Mapping[str, TaskRanks],
    *,
    strata: Mapping[str, TaskStrata] | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Places:
    """Rank measures over the tasks of one group, or of several groups with equal weight, such as
    suites.

    The bootstrap resamples tasks: each of ``n_resamples`` samples draws, with replacement, as many
    tasks of every stratum as the stratum has, and keeps the ranks of all measures in a task
    together. Two measures are therefore compared in the same tasks, by the interval of their
    difference; an overlap of their own intervals says nothing. The intervals of all differences
    hold simultaneously with a confidence of 95 % (see
    ``resemblance.significance.standings_gaps.simultaneous_half_widths``), and a pair whose interval
    contains 0 is tied. The intervals generalise to other tasks of the same models; other models may
    order the measures differently.

    ``groups``: by name, the ranks of every measure in every task; a measure without a rank is
    absent from the task, or NaN. Measures without any rank in some group are left out. ``strata``:
    by group, the models of every task. Tasks of the same models form a stratum; a group outside
    ``strata`` is a single stratum. Tasks that are the only tasks of their models share a stratum.

    Groups of fewer than six tasks have mean ranks but do not decide, because few tasks say nothing
    about other tasks: treated as exact, such groups would make intervals too narrow, and their own
    spread is unknown. If all groups are small, all measures are tied. No number depends on the
    order of tasks or measures.

    Raises ``ValueError`` for strata of an unknown group, or strata that lack a task of their group.
    """
    strata = strata or {}
    if unknown := sorted(set(strata) - set(groups)):
        raise ValueError(f"places: strata of {unknown[0]!r}; groups: {', '.join(groups) or 'none'}")
    filled_groups = {name: cells for name, cells in groups.items() if cells}
    names = _measures_in_every_group(filled_groups.values())
    small_groups = tuple(name for name, cells in filled_groups.items() if len(cells) < SETTLING)
    deciding_groups = (
        tuple(name for name in filled_groups if name not in small_groups) or small_groups
    )
    count = sum(len(filled_groups[name]) for name in deciding_groups)
    if not names:
        return Places((), {}, {}, count)
    tables = {
        group: bootstrap_tasks(
            group, group_cells, names, strata.get(group), n_resamples=n_resamples, seed=seed
        )
        for group, group_cells in filled_groups.items()
    }
    means = _mean_ranks_over_groups(tables[g] for g in deciding_groups).round(DECIMALS)
    order = sorted(range(len(names)), key=lambda i: (means[i], names[i]))
    sorted_tables = {g: table._replace(ranks=table.ranks[:, order]) for g, table in tables.items()}
    samples = [sorted_tables[g] for g in deciding_groups]
    result = _places_in_order(
        [names[i] for i in order], samples, count, is_settling=deciding_groups != small_groups
    )
    mean_ranks = {
        g: dict(
            zip(
                (p.measure for p in result.rows),
                _mean_ranks_over_groups([t]).round(DECIMALS).tolist(),
            )
        )
        for g, t in sorted_tables.items()
    }
    return result._replace(by_group=mean_ranks, few=small_groups)


def _measures_in_every_group(groups: Iterable[TaskRanks]) -> list[str]:
    """Return the measures with a rank in every group, sorted by name."""
    ranked = [set(_ranked_measures(cells)) for cells in groups]
    return sorted(set.intersection(*ranked)) if ranked else []


def _ranked_measures(cells: TaskRanks) -> Iterator[str]:
    """Yield every measure that has a rank, once per rank."""
    for ranks in cells.values():
        yield from (m for m, rank in ranks.items() if not math.isnan(rank))


def _places_in_order(
    names: Sequence[str], samples: Sequence[BootstrapTasks], count: int, *, is_settling: bool
) -> Places:
    """Return the ranks of measures that are already in order."""
    pairs = measure_pairs(samples)
    gaps = pairs.gap.round(DECIMALS)
    is_settled = (pairs.common >= SETTLING) & ~np.isnan(gaps) & is_settling
    margin = simultaneous_half_widths(samples, pairs, is_settled)
    # Round both ends away from -0, so that the intervals of (a, b) and (b, a) are mirror images.
    low, high = (gaps - margin).round(DECIMALS) + 0.0, (gaps + margin).round(DECIMALS) + 0.0
    shares, leading = np.empty(len(gaps)), np.zeros((len(samples[0].times), 1))
    for part, gap_draws in bootstrap_gaps(samples, pairs):
        gap_draws = gap_draws.round(DECIMALS)
        shares[part] = _share_of_positive_gaps(gap_draws)
        leading = np.hstack([leading, gap_draws]) if part.start == 0 else leading
    probabilities, differences = {}, {}
    for i, j, share, lower, upper in zip(pairs.first, pairs.second, shares, low, high):
        name, other = names[i], names[j]
        probabilities[name, other], probabilities[other, name] = float(share), float(1 - share)
        differences[other, name] = float(lower), float(upper)
        differences[name, other] = -float(upper) + 0.0, -float(lower) + 0.0
    rows = _place_rows(names, samples, gaps, leading, differences)
    return Places(rows, probabilities, {}, count, differences, _tied_runs(names, differences))


def _place_rows(
    names: Sequence[str],
    samples: Sequence[BootstrapTasks],
    gaps: np.ndarray,
    leading: np.ndarray,
    differences: Mapping[tuple[str, str], GapInterval],
) -> tuple[Place, ...]:
    """Return the rows of the table; the first row is the leader."""
    means, mean_draws = (
        _mean_ranks_over_groups(samples).round(DECIMALS),
        _bootstrap_mean_ranks(samples).round(DECIMALS),
    )
    leader_gaps = np.append(0.0, gaps[: len(names) - 1])
    rows = []
    for i, name in enumerate(names):
        intervals = [differences[name, other] for other in names if other != name]
        best = 1 + sum(low > 0 for low, _ in intervals)
        worst = len(names) - sum(high < 0 for _, high in intervals)
        position = 1 + int((means < means[i]).sum())
        entry = (name, float(means[i]), *percentile_interval(mean_draws[:, i]), position)
        difference = (float(leader_gaps[i]), *percentile_interval(leading[:, i]))
        interval = differences.get((name, names[0]), (0.0, 0.0))
        rows.append(Place(*entry, best, worst, *difference, interval, _contains_zero(interval)))
    return tuple(rows)


def _mean_ranks_over_groups(tables: Iterable[BootstrapTasks]) -> np.ndarray:
    """Return the mean over groups of the mean ranks over tasks, (measures,)."""
    return np.mean([known_mean(table.ranks) for table in tables], axis=0)


def _bootstrap_mean_ranks(tables: Iterable[BootstrapTasks]) -> np.ndarray:
    """Return the mean ranks over groups in every bootstrap sample, (draws, measures); NaN if a
    sample has no rank."""
    means = []
    for table in tables:
        is_known = ~np.isnan(table.ranks)
        with np.errstate(invalid="ignore"):
            means.append(
                (table.times @ np.where(is_known, table.ranks, 0)) / (table.times @ is_known)
            )
    return np.mean(means, axis=0)


def _share_of_positive_gaps(gaps: np.ndarray) -> np.ndarray:
    """Return the share of the bootstrap samples with a positive gap, zeros counting one half; NaN
    if no gap is known."""
    return known_mean((1 + np.sign(gaps)) / 2)


def _tied_runs(
    names: Sequence[str], differences: Mapping[tuple[str, str], GapInterval]
) -> tuple[tuple[str, ...], ...]:
    """Return the largest runs of measures that are pairwise tied."""
    groups, end = [], 0
    for start in range(len(names)):
        stop = max(end, start + 1)
        while stop < len(names) and all(
            _contains_zero(differences[names[stop], name]) for name in names[start:stop]
        ):
            stop += 1
        if stop > end:
            groups.append(tuple(names[start:stop]))
        end = stop
    return tuple(groups)


def _contains_zero(interval: GapInterval) -> bool:
    """Return whether an interval does not exclude 0; an unknown interval does not."""
    low, high = interval
    return not (low > 0 or high < 0)
