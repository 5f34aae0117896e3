"""Bootstrap samples of tasks, and differences of mean ranks with simultaneous intervals for all
pairs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..base.rng import generator

TaskRanks: TypeAlias = Mapping[Any, Mapping[str, float]]  # by task, the ranks of measures
TaskStrata: TypeAlias = Mapping[Any, str]  # by task, the models of the task
GapFunction: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (draws, pairs)

MISSING_RANK = -1.0  # stands for a missing rank while tasks are sorted
# degrees of freedom that the variance of a pair borrows from all pairs
PRIOR_DEGREES_OF_FREEDOM = 4.0
SIMULTANEOUS_CONFIDENCE = 0.95  # share of the samples in which all intervals hold
MIN_RANK_SPREAD = 1e-9  # smallest spread of mean ranks above rounding


class BootstrapTasks(NamedTuple):
    """The tasks of a group, with the tasks of a stratum next to each other, and their bootstrap
    samples.

    ``ranks``: (tasks, measures), NaN for a missing rank. ``starts``: the first task of every
    stratum. ``times``: how often every task is in every bootstrap sample, (draws, tasks).
    """

    ranks: np.ndarray
    starts: np.ndarray
    times: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The number of tasks of every stratum, (strata,)."""
        return np.diff(np.append(self.starts, len(self.ranks)))

    @property
    def is_complete(self) -> bool:
        """Whether every measure has a rank in every task."""
        return not np.isnan(self.ranks).any()

    def of_strata(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values of tasks over every stratum, (strata, ...)."""
        return np.add.reduceat(values, self.starts, axis=0)


def bootstrap_tasks(
    group: str,
    cells: TaskRanks,
    names: Sequence[str],
    strata: TaskStrata | None,
    *,
    n_resamples: int,
    seed: int,
) -> BootstrapTasks:
    """Draw, with replacement, as many tasks of every stratum as the stratum has.

    Tasks that are the only tasks of their models share a stratum; a single such task joins the
    smallest other stratum. Tasks of a stratum are sorted by their ranks, so that the result does
    not depend on the names or the order of tasks. Raises ``ValueError`` for a task without a
    stratum.
    """
    stratum = _pool_single_task_strata(
        {cell: _stratum_of_task(group, cell, strata) for cell in cells}
    )
    rows = sorted(
        (stratum[cell], _sortable_rank_row(ranks, names)) for cell, ranks in cells.items()
    )
    ranks = np.array([row for _, row in rows])
    sizes = Counter(name for name, _ in rows)
    times = [
        generator(seed, "places", group, name).multinomial(n, np.full(n, 1 / n), size=n_resamples)
        for name, n in sizes.items()
    ]
    starts = np.cumsum([0, *sizes.values()])[:-1]
    missing = np.where(ranks == MISSING_RANK, np.nan, ranks)
    return BootstrapTasks(missing, starts, np.concatenate(times, axis=1).astype(float))


def _sortable_rank_row(ranks: Mapping[str, float], names: Sequence[str]) -> tuple[float, ...]:
    """Return the ranks of a task as a tuple that can be sorted even if some ranks are missing."""
    values = (ranks.get(name, np.nan) for name in names)
    return tuple(MISSING_RANK if np.isnan(value) else float(value) for value in values)


def _stratum_of_task(group: str, cell: Hashable, strata: TaskStrata | None) -> str:
    if strata is None:
        return ""
    if cell not in strata:
        raise ValueError(
            f"places: strata of {group!r} lack the cell {cell!r}; name its models, or leave the "
            "group out of strata"
        )
    return strata[cell]


def _pool_single_task_strata(strata: TaskStrata) -> dict[Hashable, str]:
    """Return strata with at least two tasks each, unless there is only one task."""
    sizes = Counter(strata.values())
    single_strata = sorted(name for name, n in sizes.items() if n == 1)
    larger_strata = sorted((n, name) for name, n in sizes.items() if n > 1)
    host = (
        larger_strata[0][1]
        if len(single_strata) == 1 and larger_strata
        else single_strata[0]
        if single_strata
        else ""
    )
    return {cell: host if name in single_strata else name for cell, name in strata.items()}


class MeasurePairs(NamedTuple):
    """Every pair of measures, the first before the second in the order of names.

    ``gap``: the rank of the second measure minus the rank of the first, averaged over the tasks
    where the two have a rank, then over groups; NaN if a group has no such task. ``variance``: the
    variance of ``gap``, from the spread within strata; ``freedom``: the degrees of freedom of
    ``variance``; ``scale``: the variance if every task had variance 1. ``common``: the number of
    tasks where the two measures have a rank.
    """

    first: np.ndarray
    second: np.ndarray
    gap: np.ndarray
    variance: np.ndarray
    freedom: np.ndarray
    scale: np.ndarray
    common: np.ndarray


def measure_pairs(tables: Sequence[BootstrapTasks]) -> MeasurePairs:
    """Return the gaps of all pairs and their variances, without bootstrap samples."""
    first, second = np.triu_indices(tables[0].ranks.shape[1], 1)
    gap, variance, squared, scale, common = np.zeros((5, len(first)))
    for table in tables:
        parts = _linear_gaps(table, first, second)
        sizes = table.sizes[:, None]
        stratum_variances = (
            table.of_strata(_center_in_strata(table, parts.linear) ** 2)
            * sizes
            / _degrees_of_freedom(sizes)
        )
        gap += parts.mean / len(tables)
        variance += stratum_variances.sum(axis=0) / len(tables) ** 2
        squared += (stratum_variances**2 / _degrees_of_freedom(sizes)).sum(axis=0) / len(
            tables
        ) ** 4
        scale += 1 / np.maximum(parts.counts, 1) / len(tables) ** 2
        common += parts.counts
    with np.errstate(invalid="ignore"):
        return MeasurePairs(first, second, gap, variance, variance**2 / squared, scale, common)


class LinearGaps(NamedTuple):
    """The mean gap of every pair over the tasks of a group where the two measures have a rank, the
    number of these tasks, and the contributions of the tasks to deviations of the mean, (tasks,
    pairs).

    If ranks are missing, the mean is a ratio, and the contributions are the terms of its
    linearisation.
    """

    mean: np.ndarray
    counts: np.ndarray
    linear: np.ndarray


def _linear_gaps(table: BootstrapTasks, first: np.ndarray, second: np.ndarray) -> LinearGaps:
    gaps = _rank_differences(table.ranks, first, second)
    is_known = ~np.isnan(gaps)
    counts = is_known.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(is_known, gaps, 0).sum(axis=0) / counts
        return LinearGaps(mean, counts, np.where(is_known, gaps - mean, 0) / np.maximum(counts, 1))


def _center_in_strata(table: BootstrapTasks, values: np.ndarray) -> np.ndarray:
    """Return the values of tasks minus the mean over their stratum."""
    means = table.of_strata(values) / table.sizes[:, None]
    return values - np.repeat(means, table.sizes, axis=0)


def _degrees_of_freedom(sizes: np.ndarray) -> np.ndarray:
    return np.maximum(sizes - 1, 1)


def simultaneous_half_widths(
    tables: Sequence[BootstrapTasks], pairs: MeasurePairs, is_settled: np.ndarray
) -> np.ndarray:
    r"""Return the half-widths of simultaneous 95 % intervals of all gaps; NaN for pairs that are
    not ``is_settled``.

    .. math:: |d_{ij} - \mathrm{E}\, d_{ij}| \le s_{ij}\, t^{-1}_{\nu_{ij}}(\Phi(q)), \qquad
        q = Q_{0.95}\Bigl(\max_{i<j} \frac{|d^*_{ij} - d_{ij}|}{s_{ij}}\Bigr)

    d is the gap of a pair, d* the gap in a bootstrap sample, s the standard error and ν the degrees
    of freedom of s. The quantile q of the largest deviation over all pairs allows for any
    dependence of the pairs. Student's t replaces the normal distribution, because standard errors
    of few tasks are uncertain. Strata of few tasks vary too little in bootstrap samples, by (n - 1)
    / n; the deviations are corrected for this factor. If a difference is the same in all tasks, its
    half-width comes from the borrowed variance; the half-width is 0 if no pair varies.
    """
    from scipy.stats import norm, t

    error, freedom = _moderated_standard_errors(pairs, is_settled)
    varies = is_settled & (error > MIN_RANK_SPREAD)
    largest = np.zeros(len(tables[0].times))
    for part, deviations in _mean_over_groups(
        [_bootstrap_deviations(table) for table in tables], pairs
    ):
        relative = np.abs(deviations[:, varies[part]]) / error[part][varies[part]]
        largest = np.maximum(largest, relative.max(axis=1, initial=0.0))
    tail = norm.sf(np.quantile(largest, SIMULTANEOUS_CONFIDENCE))
    return np.where(is_settled, np.where(varies, t.isf(tail, freedom) * error, 0.0), np.nan)


def _moderated_standard_errors(
    pairs: MeasurePairs, is_settled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard error of every pair, and its degrees of freedom.

    Among many pairs some have a small spread over few tasks by chance. The variance of a pair is
    therefore averaged with the mean over all pairs, which has the weight of
    ``PRIOR_DEGREES_OF_FREEDOM`` degrees of freedom (the moderated t of Smyth 2004).
    """
    varies = is_settled & (pairs.variance > MIN_RANK_SPREAD**2)
    if not varies.any():
        return np.zeros(len(is_settled)), np.ones(len(is_settled))
    variance, squared = pairs.variance[varies], pairs.variance[varies] ** 2 / pairs.freedom[varies]
    mean_freedom = float(variance.mean() ** 2 / squared.mean())
    relative = pairs.variance / pairs.scale
    mean_relative = float(relative[is_settled].mean())
    prior_weight = PRIOR_DEGREES_OF_FREEDOM / (PRIOR_DEGREES_OF_FREEDOM + mean_freedom)
    error = np.sqrt(pairs.scale * ((1 - prior_weight) * relative + prior_weight * mean_relative))
    freedom = np.where(varies, np.minimum(pairs.freedom, mean_freedom), mean_freedom)
    return np.where(is_settled, error, 0.0), freedom + PRIOR_DEGREES_OF_FREEDOM


def bootstrap_gaps(
    tables: Sequence[BootstrapTasks], pairs: MeasurePairs
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield pairs and their gaps in every bootstrap sample, (draws, pairs); NaN if a sample has no
    gap."""
    return _mean_over_groups([_gap_function(table) for table in tables], pairs)


def _gap_function(table: BootstrapTasks) -> GapFunction:
    """Return the function that computes the mean gaps of pairs in every bootstrap sample; if no
    rank is missing, from the mean ranks."""
    if table.is_complete:
        return partial(_rank_differences, table.times @ table.ranks / len(table.ranks))
    return partial(_bootstrap_pair_gaps, table)


def _bootstrap_pair_gaps(
    table: BootstrapTasks, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    gaps = _rank_differences(table.ranks, first, second)
    is_known = ~np.isnan(gaps)
    with np.errstate(invalid="ignore"):
        means: np.ndarray = (table.times @ np.where(is_known, gaps, 0)) / (table.times @ is_known)
    return means


def _bootstrap_deviations(table: BootstrapTasks) -> GapFunction:
    """Return the function that computes the deviations of bootstrap gaps from the gaps over all
    tasks, to first order."""
    if table.is_complete:
        return partial(
            _rank_differences, _stratified_deviations(table, table.ranks / len(table.ranks))
        )
    return lambda *pair: _stratified_deviations(table, _linear_gaps(table, *pair).linear)


def _stratified_deviations(table: BootstrapTasks, parts: np.ndarray) -> np.ndarray:
    """Return the deviations of bootstrap sums over tasks from the sum over all tasks, (draws, ...),
    scaled to the variance of independent tasks."""
    sizes = np.repeat(table.sizes, table.sizes)[:, None]
    return table.times @ (
        _center_in_strata(table, parts) * np.sqrt(sizes / _degrees_of_freedom(sizes))
    )


def _rank_differences(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the values of the second measures minus the values of the first, by row."""
    return values[:, second] - values[:, first]


def _mean_over_groups(
    gap_functions: Sequence[GapFunction], pairs: MeasurePairs
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the pairs first measure by first measure, with the mean over groups of their gaps or
    deviations in every bootstrap sample. Yielding by measure bounds the memory."""
    for part in _pairs_by_first_measure(pairs):
        places = pairs.first[part], pairs.second[part]
        yield part, np.mean([gap_function(*places) for gap_function in gap_functions], axis=0)


def _pairs_by_first_measure(pairs: MeasurePairs) -> Iterator[slice]:
    """Yield the slice of the pairs of every first measure."""
    edges = np.flatnonzero(np.diff(pairs.first, prepend=-1, append=-1))
    for start, stop in itertools.pairwise(edges):
        yield slice(int(start), int(stop))
