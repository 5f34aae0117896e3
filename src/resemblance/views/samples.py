"""Views of a random subset of the samples, the same subset for every representation of n
samples."""

from __future__ import annotations

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, Undefined, title, view
from ..rng import generator
from .distances import distance_matrix
from .points import centered


def subset(n: int, sample: int, seed: int, trial: int) -> np.ndarray:
    """Indices of ``sample`` of n samples without replacement; all of them in order when sample =
    n."""
    if sample >= n:
        return np.arange(n)
    return generator(seed, "subset", n, trial).permutation(n)[:sample]


@view
def normalized_distances(x: Representation, sample: int, seed: int, trial: int) -> np.ndarray:
    """Euclidean distances within a subset over their 0.9 quantile (diagonal included), shape
    (sample, sample)."""
    points = np.asarray(to_numpy(centered(x)), dtype=np.float64)[
        subset(x.shape[0], sample, seed, trial)
    ]
    largest = np.abs(points).max()
    distances = (
        distance_matrix(points / largest) if largest > 0 else np.zeros((len(points), len(points)))
    )
    quantile = np.quantile(distances, 0.9)
    if quantile == 0:
        raise Undefined(
            f"nine tenths of the distances in {title(x)} are zero, so they have no scale"
        )
    return np.asarray(distances / quantile)
