"""Minimum spanning trees: at which distances the samples join into clusters."""

from __future__ import annotations

import math

import numpy as np

from ..representation import Representation, view
from .samples import normalized_distances


@view
def spanning_length(x: Representation, sample: int, seed: int, trial: int) -> float:
    """Length of the minimum spanning tree of the normalised distances within a subset of the
    samples."""
    return tree_length(normalized_distances(x, sample=sample, seed=seed, trial=trial))


def tree_length(*weights: np.ndarray) -> float:
    """Length of the minimum spanning tree of the smallest of one or more matrices of distances.

    Prim's algorithm on the full matrices: O(n^2) time and O(n) memory besides them. The sum is
    correctly rounded, so it depends neither on the order of the points nor on ties.
    """
    n = len(weights[0])
    reach = np.full(n, np.inf)  # distance of every point from the tree; NaN for those in it
    edges, point = [], 0
    for _ in range(n - 1):
        for matrix in weights:
            np.minimum(reach, matrix[point], out=reach)
        reach[point] = np.nan
        point = int(np.nanargmin(reach))
        edges.append(float(reach[point]))
    return math.fsum(edges)
