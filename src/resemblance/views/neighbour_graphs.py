"""Views of neighbourhoods as sparse graphs, in O(n k) memory: which samples they hold, and what a kernel says of them.

Row i of a graph holds the k nearest neighbours of sample i, so it is not symmetric. Computed by NumPy and SciPy.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, view
from .distances import gathered_blocks
from .neighbours import Affinity, Index, neighbours
from .points import unit, unit_rows

Kernel = Literal["cosine", "linear"]


def in_degrees(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> np.ndarray:
    """How many samples have each sample among their neighbours, shape (n,)."""
    return np.bincount(neighbours(x, k=k, metric=metric, index=index).ravel(), minlength=x.shape[0])


@view
def kernel_values(x: Representation, k: int, kernel: Kernel, centered: bool, index: Index = "exact") -> np.ndarray:
    """Values of a kernel at the nearest neighbours by it, shape (n, k).

    ``kernel``: inner products of the points in unit size ("linear") or of their directions ("cosine").
    ``centered``: minus the mean of the row of the kernel, the value of the sample with itself included.
    """
    rows = to_numpy(unit_rows(x) if kernel == "cosine" else unit(x, centered=False))
    indices = neighbours(x, k=k, metric=affinity(kernel), index=index)
    values = np.empty(indices.shape, dtype=rows.dtype)
    for start, stop in gathered_blocks(len(indices), k * rows.shape[1]):
        values[start:stop] = np.einsum("ikd,id->ik", rows[indices[start:stop]], rows[start:stop])
    return np.asarray(values - (rows @ rows.mean(axis=0))[:, None] if centered else values)


def graph(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> Any:
    """Neighbour graph with weight 1, a sparse array of shape (n, n)."""
    return _sparse(neighbours(x, k=k, metric=metric, index=index), np.ones((x.shape[0], k)))


def kernel_graph(x: Representation, k: int, kernel: Kernel, centered: bool, index: Index = "exact") -> Any:
    """Neighbour graph of a kernel with its values as weights, a sparse array of shape (n, n)."""
    values = kernel_values(x, k=k, kernel=kernel, centered=centered, index=index)
    return _sparse(neighbours(x, k=k, metric=affinity(kernel), index=index), values)


def affinity(kernel: Kernel) -> Affinity:
    """Return what the nearest neighbours of a kernel are nearest by."""
    return "cosine" if kernel == "cosine" else "inner"


def _sparse(indices: np.ndarray, values: np.ndarray) -> Any:
    from scipy.sparse import csr_array

    n, k = indices.shape
    # A copy, because SciPy sorts the indices of a sparse array where they are, and the neighbours have their order.
    return csr_array((values.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n), copy=True)
