"""Permutation test of whether the rows of two arrays are related."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ..base.rng import generator
from .two_samples import to_typical_units

RELATION_PERMUTATIONS, RELATION_LEVEL = 199, 0.01
# squared distance correlation above chance that ends the permutations early
MIN_DISTANCE_CORRELATION = 0.2
MIN_RELATION_ROWS = 50  # fewest rows for the test


def is_related(x: np.ndarray, y: np.ndarray, seed: int) -> bool:
    """Return whether the distances between rows of x correlate with the distances between rows of
    y, the same n samples, more than under permutation, by the distance covariance (Székely, Rizzo
    and Bakirov 2007). A high correlation ends the test early. The value is True if all rows of x or
    of y are equal."""
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
