"""Clusters of neighbouring times with a mean beyond 0, tested by sign flips over subjects."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..base.rng import generator
from .permutation import count_at_least
from .resampling import check_positive_integers

FLIPS_PER_BATCH = 256
MIN_RELATIVE_VARIANCE = 1e-12  # of the mean square: a smaller variance over subjects is rounding


class Cluster(NamedTuple):
    """Times ``start`` to ``stop`` (positions, both included) of a column with t beyond the
    threshold.

    ``mass``: the sum of t. ``pvalue``: the p-value of the cluster, adjusted for all times and
    columns.
    """

    column: int
    start: int
    stop: int
    mass: float
    pvalue: float


class SignFlips(NamedTuple):
    """The clusters of a test, in order of column and time, the number of sign patterns, and the
    smallest p-value that the test can have."""

    clusters: tuple[Cluster, ...]
    n_patterns: int
    min_pvalue: float


def sign_flip_clusters(
    values: np.ndarray,
    *,
    alpha: float = 0.05,
    two_sided: bool = False,
    n_permutations: int = 9999,
    seed: int = 0,
) -> SignFlips:
    r"""Return clusters of neighbouring times with a mean over subjects above 0, with p-values.

    ``values``: (times, subjects, columns), for example of models. The statistic is Student's t over
    subjects at each time. Neighbouring times with t above the quantile of ``alpha`` form a cluster,
    and the mass of a cluster is the sum of t. ``two_sided``: clusters of t above the quantile of
    ``alpha`` / 2, and clusters of t below minus this quantile. Under the null hypothesis the
    values of each subject are symmetric around 0, so the sign of all values of a subject may flip.
    The p-value of a cluster is the share of sign patterns with a largest mass, over all times and
    columns, at least as large:

    .. math:: p = \frac{1 + \#\{b : \max_c |m_c^{(b)}| \ge |m|\}}{1 + \mathrm{n\_permutations}}

    With :math:`2^S` \le ``n_permutations`` for S subjects, the function visits all sign patterns,
    and the p-value is exact, without the added ones. The probability of a cluster with p <= 0.05 is
    at most 0.05 if the null hypothesis holds at all times and columns; alpha changes the power, not
    this probability. A p-value is about the cluster as a whole, and its start and stop are no
    tested onsets.

    Raises ``ValueError`` for fewer than two subjects, values that are not finite, and alpha outside
    (0, 0.5).

    Reference: Maris and Oostenveld 2007; Sassenhagen and Draschkow 2019 on onsets.
    """
    check_positive_integers("sign_flip_clusters", n_permutations=n_permutations)
    if not 0 < alpha < 0.5:
        raise ValueError(f"sign_flip_clusters: alpha must be between 0 and 0.5; got {alpha!r}")
    if values.ndim != 3 or values.shape[1] < 2 or not np.isfinite(values).all():
        raise ValueError(
            "sign_flip_clusters: values must be finite, (times, subjects, columns), of two "
            f"subjects or more; got shape {values.shape}"
        )
    threshold = _t_threshold(alpha / (1 + two_sided), values.shape[1])
    is_exact = 2 ** values.shape[1] <= n_permutations
    observed = _t_values(np.ones((1, values.shape[1])), values)[0]
    found = _clusters_above(observed, threshold)
    if two_sided:
        below = _clusters_above(-observed, threshold)
        found += [(column, start, stop, -mass) for column, start, stop, mass in below]
    found.sort()
    largest = np.concatenate(
        [
            _largest_masses(_t_values(signs, values), threshold, two_sided)
            for signs in _sign_patterns(values.shape[1], n_permutations, seed, is_exact)
        ]
    )
    added = 0 if is_exact else 1
    pvalues = [
        (added + count_at_least(abs(mass), largest)) / (added + len(largest)) for *_, mass in found
    ]
    clusters = tuple(Cluster(*place, float(p)) for place, p in zip(found, pvalues))
    smallest = (1 + two_sided) / len(largest) if is_exact else 1 / (1 + len(largest))
    return SignFlips(clusters, len(largest), smallest)


def _t_threshold(tail: float, subjects: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(subjects - 1, 1 - tail))


def _sign_patterns(
    subjects: int, n_permutations: int, seed: int, is_exact: bool
) -> Iterator[np.ndarray]:
    """Yield batches of sign patterns, (batch, subjects), of 1 and -1: all 2^subjects patterns if
    ``is_exact``, else ``n_permutations`` random patterns."""
    if is_exact:
        patterns = np.array(list(itertools.product((1.0, -1.0), repeat=subjects)))
    else:
        draws = generator(seed, "sign flips").integers(0, 2, (n_permutations, subjects))
        patterns = 1.0 - 2.0 * draws
    for start in range(0, len(patterns), FLIPS_PER_BATCH):
        yield patterns[start : start + FLIPS_PER_BATCH]


def _t_values(signs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return Student's t over subjects for each sign pattern, (patterns, times, columns); 0 where
    all values are 0.

    ``signs``: (patterns, subjects), 1 or -1. ``values``: (times, subjects, columns). A flip changes
    the mean over subjects and not the mean square.
    """
    count = values.shape[1]
    means = np.einsum("ps,tsc->ptc", signs, values, optimize=True) / count
    squares = (values**2).mean(axis=1)
    variances = np.maximum(squares - means**2, MIN_RELATIVE_VARIANCE * squares) / (count - 1)
    t: np.ndarray = np.divide(
        means, np.sqrt(variances), out=np.zeros_like(means), where=variances > 0
    )
    return t


def _clusters_above(t: np.ndarray, threshold: float) -> list[tuple[int, int, int, float]]:
    """Return (column, first time, last time, mass) of each cluster of ``t``, (times, columns),
    above ``threshold``; times as positions, the last included."""
    clusters = []
    for column, values in enumerate(t.T):
        edges = np.diff(np.concatenate([[0], values > threshold, [0]]).astype(int))
        for start, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)):
            clusters.append((column, int(start), int(stop) - 1, float(values[start:stop].sum())))
    return clusters


def _largest_masses(t: np.ndarray, threshold: float, two_sided: bool) -> np.ndarray:
    """Return the largest mass of a cluster over times and columns for each pattern, (patterns,); 0
    without a cluster.

    ``t``: (patterns, times, columns). ``two_sided``: clusters of -t count as well.
    """
    largest = np.zeros(len(t))
    for side in (t, -t) if two_sided else (t,):
        is_above = side > threshold
        sums = np.cumsum(np.where(is_above, side, 0.0), axis=1)
        # The sum up to the last time below the threshold; sums never fall.
        before = np.maximum.accumulate(np.where(is_above, 0.0, sums), axis=1)
        largest = np.maximum(largest, (sums - before).max(axis=(1, 2)))
    return largest
