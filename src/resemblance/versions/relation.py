"""Whether rows belong together at all: a test by permutation."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ..base.rng import generator
from .two_samples import to_typical_units

RELATION_PERMUTATIONS, RELATION_LEVEL = 199, 0.01
# a squared distance correlation, above chance, from which on nothing is permuted
MIN_DISTANCE_CORRELATION = 0.2
MIN_RELATION_ROWS = 50  # rows for a test of their relation


def is_related(x: np.ndarray, y: np.ndarray, seed: int) -> bool:
    """Whether distances between rows of x go with those of y more than in other orders, by the
    distance covariance (Székely, Rizzo and Bakirov 2007) and permutations of the rows."""
    a, b = (
        _double_centered_matrix(cdist(v, v)) for v in (to_typical_units(x), to_typical_units(y))
    )
    covariance, size = float((a * b).sum()), float(np.sqrt((a**2).sum() * (b**2).sum()))
    if size == 0:
        return True
    random, n = generator(seed, "orders of rows"), len(x)
    null_covariances = []
    for count in range(RELATION_PERMUTATIONS):
        order = random.permutation(n)
        null_covariances.append(float((a * b[order][:, order]).sum()))
        if count == 9 and (covariance - max(null_covariances)) / size > MIN_DISTANCE_CORRELATION:
            return True
    return (1 + sum(value >= covariance for value in null_covariances)) / (
        1 + RELATION_PERMUTATIONS
    ) <= RELATION_LEVEL


def _double_centered_matrix(distances: np.ndarray) -> np.ndarray:
    rows = distances.mean(axis=0)
    return np.asarray(distances - rows - rows[:, None] + rows.mean())
