"""Intermediates of a random subset of the samples, equal for all representations with n samples:
distances, and the minimum spanning tree, with the lengths at which samples join into clusters."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.arrays import as_float64
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..data.representation import Representation, cached, representation_title
from .cross_barcode import SortedEdges, enclosing_radius
from .distances import distance_matrix
from .points import centered
from .similarities import take_rows


class SubsetDraw(NamedTuple):
    """A random subset of the samples: the number of samples in the subset, the seed, and the
    number of the trial."""

    subsample: int
    seed: int
    trial: int


def subset_draws(n: int, subsample: int, repeats: int, seed: int) -> list[SubsetDraw]:
    """Return the subsets to average over: ``repeats`` random subsets, or all n samples once if n is
    at most ``subsample``."""
    return [
        SubsetDraw(min(subsample, n), seed, trial)
        for trial in range(1 if n <= subsample else repeats)
    ]


def subset_indices(n: int, subsample: int, seed: int, trial: int) -> np.ndarray:
    """Return indices of ``subsample`` of n samples, drawn without replacement; all indices in order
    if ``subsample`` is at least n."""
    if subsample >= n:
        return np.arange(n)
    return generator(seed, "subset", n, trial).permutation(n)[:subsample]


@cached("anew")
def normalized_distances(x: Representation, draw: SubsetDraw) -> np.ndarray:
    """Return the Euclidean distances within a subset of m samples, divided by their 0.9 quantile
    (diagonal included), shape (m, m)."""
    return _normalized_subset_distances(x, draw)


@cached("anew")
def condensed_subset_distances(x: Representation, draw: SubsetDraw) -> np.ndarray:
    """Return the Euclidean distances within a subset of m samples, divided by their 0.9 quantile,
    above the diagonal, row by row, shape (m (m - 1) / 2,).

    The cache does not keep the square matrix.
    """
    from scipy.spatial.distance import squareform

    return squareform(_normalized_subset_distances(x, draw), checks=False)


@cached("anew")
def enclosing_subset_radius(x: Representation, draw: SubsetDraw) -> float:
    """Return the enclosing radius of a subset: the smallest distance, divided by the 0.9 quantile
    of all distances in the subset, within which a sample has all other samples."""
    return enclosing_radius(condensed_subset_distances(x, draw))


@cached("anew")
def sorted_edges(x: Representation, draw: SubsetDraw) -> SortedEdges:
    """Return the normalised distances within a subset, as the input of a cross-barcode.

    The lengths and the radius are separate intermediates: a permutation of the samples reorders the
    lengths and does not change the radius.
    """
    return SortedEdges(condensed_subset_distances(x, draw), enclosing_subset_radius(x, draw))


def _normalized_subset_distances(x: Representation, draw: SubsetDraw) -> np.ndarray:
    rows = subset_indices(x.shape[0], *draw)
    points = as_float64(take_rows(centered(x), rows))
    largest = np.abs(points).max()
    distances = distance_matrix(points / largest) if largest > 0 else np.zeros((len(rows),) * 2)
    quantile = np.quantile(distances, 0.9)
    if quantile == 0:
        raise UndefinedError(
            f"nine tenths of the distances in {representation_title(x)} are zero, so they have no "
            "scale"
        )
    return distances / quantile


def spanning_length(x: Representation, draw: SubsetDraw) -> float:
    """Return the length of the minimum spanning tree of the normalised distances within a subset of
    the samples: distances divided by their 0.9 quantile."""
    has_all = draw.subsample >= x.shape[0]
    return _spanning_length_of_all(x) if has_all else _spanning_length_of_subset(x, draw)


@cached("scalar")
def _spanning_length_of_all(x: Representation) -> float:
    """Return the length of the minimum spanning tree of all samples, with distances divided by
    their 0.9 quantile."""
    return tree_length(normalized_distances(x, SubsetDraw(x.shape[0], 0, 0)))


@cached("anew")
def _spanning_length_of_subset(x: Representation, draw: SubsetDraw) -> float:
    return tree_length(normalized_distances(x, draw))


def tree_length(*weights: np.ndarray) -> float:
    """Return the length of the minimum spanning tree of the elementwise minimum of distance
    matrices ``weights``, (n, n) each, in the units of the distances.

    Prim's algorithm on the full matrices takes O(n^2) time and O(n) additional memory. The sum is
    correctly rounded, so neither the order of the points nor ties change the length.
    """
    n = len(weights[0])
    reach = np.full(n, np.inf)  # distance of every point from the tree; NaN inside the tree
    edges, point = [], 0
    for _ in range(n - 1):
        for matrix in weights:
            np.minimum(reach, matrix[point], out=reach)
        reach[point] = np.nan
        point = int(np.nanargmin(reach))
        edges.append(float(reach[point]))
    return math.fsum(edges)
