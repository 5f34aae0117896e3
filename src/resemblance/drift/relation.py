"""Whether rows belong together at all, and whether two sets of rows have one distribution: tests by
permutation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..rng import generator

PERMUTATIONS, LEVEL = 199, 0.01
NEARER = 10  # typical lengths
RELATED = 0.2  # a squared distance correlation, above chance, from which on nothing is permuted
FEWEST = 50  # rows for a test of their relation


def is_related(x: np.ndarray, y: np.ndarray, seed: int) -> bool:
    """Whether distances between rows of x go with those of y more than in other orders, by the
    distance covariance (Székely, Rizzo and Bakirov 2007) and permutations of the rows."""
    a, b = (_centred(cdist(v, v)) for v in (_in_unit(x), _in_unit(y)))
    observed, size = float((a * b).sum()), float(np.sqrt((a**2).sum() * (b**2).sum()))
    if size == 0:
        return True
    random, n = generator(seed, "orders of rows"), len(x)
    drawn = []
    for count in range(PERMUTATIONS):
        order = random.permutation(n)
        drawn.append(float((a * b[order][:, order]).sum()))
        if count == 9 and (observed - max(drawn)) / size > RELATED:
            return True
    return (1 + sum(value >= observed for value in drawn)) / (1 + PERMUTATIONS) <= LEVEL


def _centred(distances: np.ndarray) -> np.ndarray:
    rows = distances.mean(axis=0)
    return np.asarray(distances - rows - rows[:, None] + rows.mean())


def _in_unit(x: np.ndarray) -> np.ndarray:
    """Rows about their middle in units of a typical row; far rows are brought to ``NEARER``, so
    that none decides alone."""
    away = x - np.median(x, axis=0)
    largest = np.abs(away).max(axis=1)
    unit = float(np.median(largest)) or float(largest.max()) or 1.0
    away = away / unit
    lengths = np.linalg.norm(away / np.maximum(largest / unit, 1.0)[:, None], axis=1)
    lengths *= np.maximum(largest / unit, 1.0)
    most = NEARER * (float(np.median(lengths)) or float(lengths.max()) or 1.0)
    return np.asarray(away * (most / np.maximum(lengths, most))[:, None])


class Tested(NamedTuple):
    """A statistic of two samples and its p-value by permutation of the pooled rows."""

    value: float
    p: float


def energy_test(x: np.ndarray, y: np.ndarray, permutations: int, seed: int) -> Tested:
    """The energy distance (Székely and Rizzo 2004) and its p-value; (n, d) and (m, d)."""
    pooled = _in_unit(np.concatenate([x, y]))
    return two_samples(-cdist(pooled, pooled), len(x), permutations, seed)


def two_samples(similarity: np.ndarray, n: int, permutations: int, seed: int) -> Tested:
    """The difference of similarities inside and between the first n rows and the others, and how
    often permuted rows differ as much.

    ``similarity`` is (N, N). The statistic is that of all pairs, wᵀ S w with w = 1/n for the first
    rows and -1/(N - n) for the others.
    """
    total, random = len(similarity), generator(seed, "pooled rows", n)
    weights = np.concatenate([np.full(n, 1 / n), np.full(total - n, -1 / (total - n))])
    orders = [np.arange(total), *(random.permutation(total) for _ in range(permutations))]
    drawn = weights[np.array(orders)].T
    values = (drawn * (similarity @ drawn)).sum(axis=0)
    return tested(values)


def tested(values: np.ndarray) -> Tested:
    """The first value, with the share of all that are as large, which rounding does not change."""
    slack = 1e-10 * float(np.abs(values).max(initial=0.0))
    return Tested(float(values[0]), float((values >= values[0] - slack).mean()))
