"""Views of neighbourhoods as sparse graphs: which samples they hold, and what a kernel says of
them.

Row i of a graph holds the k nearest neighbours of sample i, so it is not symmetric. Samples that
tie for the last places share what is in these places equally. The memory is O(n k), and one entry
for every tied sample. Computed by NumPy and SciPy.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, view
from .distances import gathered_blocks
from .neighbours import Affinity, Index, Nearest, nearest, neighbours
from .points import unit, unit_rows

Kernel = Literal["cosine", "linear"]


@view
def kernel_values(
    x: Representation, k: int, kernel: Kernel, centered: bool, index: Index = "exact"
) -> np.ndarray:
    """Values of a kernel at the nearest neighbours by it, shape (n, k).

    ``kernel``: inner products of the points in unit size ("linear") or of their directions
    ("cosine"). ``centered``: minus the mean of the row of the kernel, the value of the sample with
    itself included.
    """
    rows = to_numpy(unit_rows(x) if kernel == "cosine" else unit(x, centered=False))
    indices = neighbours(x, k=k, metric=affinity(kernel), index=index)
    values = np.empty(indices.shape, dtype=rows.dtype)
    for start, stop in gathered_blocks(len(indices), k * rows.shape[1]):
        values[start:stop] = np.einsum("ikd,id->ik", rows[indices[start:stop]], rows[start:stop])
    return np.asarray(values - (rows @ rows.mean(axis=0))[:, None] if centered else values)


def graph(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> Any:
    """Neighbour graph with weight 1, less for samples that tie, a sparse array of shape (n, n)."""
    return spread(nearest(x, k=k, metric=metric, index=index), np.ones((x.shape[0], k)))


def kernel_graph(
    x: Representation, k: int, kernel: Kernel, centered: bool, index: Index = "exact"
) -> Any:
    """Neighbour graph of a kernel: its values times the weights of :func:`graph`, a sparse array of
    shape (n, n)."""
    values = kernel_values(x, k=k, kernel=kernel, centered=centered, index=index)
    return spread(nearest(x, k=k, metric=affinity(kernel), index=index), values)


def affinity(kernel: Kernel) -> Affinity:
    """Return what the nearest neighbours of a kernel are nearest by."""
    return "cosine" if kernel == "cosine" else "inner"


def spread(near: Nearest, values: np.ndarray, samples: int = 0) -> Any:
    """Sparse array of these values at the nearest neighbours; samples that tie share those of their
    places equally.

    A row for every row of ``near``, a column for every one of the ``samples`` if these are others.
    """
    from scipy.sparse import csr_array

    (n, k), ties = near.listed.shape, near.ties
    shape = (n, samples or n)
    crowded = ties.crowded
    if not crowded.any():
        # A copy, because SciPy sorts the indices of a sparse array where they are, and the
        # neighbours have their order.
        starts = np.arange(0, n * k + 1, k)
        return csr_array((values.ravel(), near.listed.ravel(), starts), shape=shape, copy=True)
    rows, sizes, last = (
        ties.rows[crowded],
        ties.sizes[crowded],
        np.arange(k) >= ties.certain[crowded][:, None],
    )
    own = np.ones((n, k), dtype=bool)
    own[rows] = ~last
    shares = np.where(last, values[rows], 0).sum(axis=1) / sizes
    at = np.concatenate([np.nonzero(own)[0], np.repeat(rows, sizes)])
    columns = np.concatenate([near.listed[own], ties.members[np.repeat(crowded, ties.sizes)]])
    return csr_array(
        (np.concatenate([values[own], np.repeat(shares, sizes)]), (at, columns)), shape=shape
    )
