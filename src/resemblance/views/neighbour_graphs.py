"""Views of neighbourhoods as sparse graphs, in O(n k) memory: which samples they hold, and what a kernel says of them.

Row i of a graph holds the k nearest neighbours of sample i, so it is not symmetric. Computed by NumPy and SciPy.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, view
from .distances import row_blocks
from .neighbours import largest, neighbours, not_constant
from .points import unit, unit_rows

Affinity = Literal["cosine", "euclidean", "inner"]
Kernel = Literal["cosine", "linear"]


def nearest(x: Representation, k: int, metric: Affinity) -> np.ndarray:
    """:func:`neighbours`, or with ``metric="inner"`` those of largest inner product, shape (n, k)."""
    return inner_neighbours(x, k=k) if metric == "inner" else neighbours(x, k=k, metric=metric)


@view
def inner_neighbours(x: Representation, k: int) -> np.ndarray:
    """Indices of the k other samples of largest inner product, largest first, then by index, shape (n, k)."""
    not_constant(x)
    rows = to_numpy(unit(x, centered=False))
    lengths = np.linalg.norm(rows, axis=1)
    found = np.empty((len(rows), k), dtype=np.int64)
    for start, stop in row_blocks(len(rows)):
        block = rows[start:stop] @ rows.T
        block[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        found[start:stop] = largest(block, k, lengths[start:stop] * lengths.max())
    return found


def in_degrees(x: Representation, k: int, metric: Affinity) -> np.ndarray:
    """How many samples have each sample among their neighbours, shape (n,)."""
    return np.bincount(nearest(x, k=k, metric=metric).ravel(), minlength=x.shape[0])


@view
def kernel_values(x: Representation, k: int, kernel: Kernel, centered: bool) -> np.ndarray:
    """Values of a kernel at the nearest neighbours by it, shape (n, k).

    ``kernel``: inner products of the points in unit size ("linear") or of their directions ("cosine").
    ``centered``: minus the mean of the row of the kernel, the value of the sample with itself included.
    """
    rows = to_numpy(unit_rows(x) if kernel == "cosine" else unit(x, centered=False))
    indices = nearest(x, k=k, metric=affinity(kernel))
    values = np.empty(indices.shape, dtype=rows.dtype)
    height = max(1, 2**17 // (k * rows.shape[1]))  # gathered rows stay in the processor's cache
    for start, stop in row_blocks(len(indices), height):
        values[start:stop] = np.einsum("ikd,id->ik", rows[indices[start:stop]], rows[start:stop])
    return np.asarray(values - (rows @ rows.mean(axis=0))[:, None] if centered else values)


def graph(x: Representation, k: int, metric: Affinity) -> Any:
    """Neighbour graph with weight 1, a sparse array of shape (n, n)."""
    return _sparse(nearest(x, k=k, metric=metric), np.ones((x.shape[0], k)))


def kernel_graph(x: Representation, k: int, kernel: Kernel, centered: bool) -> Any:
    """Neighbour graph of a kernel with its values as weights, a sparse array of shape (n, n)."""
    values = kernel_values(x, k=k, kernel=kernel, centered=centered)
    return _sparse(nearest(x, k=k, metric=affinity(kernel)), values)


def affinity(kernel: Kernel) -> Affinity:
    """Return what the nearest neighbours of a kernel are nearest by."""
    return "cosine" if kernel == "cosine" else "inner"


def _sparse(indices: np.ndarray, values: np.ndarray) -> Any:
    from scipy.sparse import csr_array

    n, k = indices.shape
    # A copy, because SciPy sorts the indices of a sparse array where they are, and the neighbours have their order.
    return csr_array((values.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n), copy=True)
