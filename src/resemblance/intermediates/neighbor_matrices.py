"""Neighbour matrices, one per representation: some measures are functions of the inner product of
two neighbour matrices."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..data.representation import Representation
from .matrices import SparsePairMatrix
from .neighbor_kernels import (
    Kernel,
    affinity,
    kernel_graph,
    local_rbf_kernel,
    local_rbf_size,
    neighbor_graph,
    umap_kernel_size,
    umap_weight_matrix,
)
from .neighbors import NeighborSearch, Search
from .shared_neighbors import mean_common_share, rank_matrix, self_overlap
from .similarities import Affinity, NeighborMetric


def neighbor_weights(
    x: Representation, k: int, metric: Affinity, search: Search = "exact"
) -> SparsePairMatrix:
    """Return the (n, n) matrix with the weight of every sample as a neighbour of every other
    sample."""
    nearest_rows, n = NeighborSearch(k, metric, search), x.shape[0]
    square = n * k * self_overlap(mean_common_share, x, x, nearest_rows)
    return SparsePairMatrix(
        samples=n, trace=0.0, total=n * k, square=square, kernel=neighbor_graph(x, nearest_rows)
    )


def chance_scaled_weights(
    x: Representation, k: int, metric: Affinity, search: Search
) -> np.ndarray:
    """Return :func:`neighbor_weights` scaled to the squared norm k / (n - 1) / s(X, X): the chance
    level over the self-similarity."""
    weights = neighbor_weights(x, k, metric, search)
    return scale_by_chance(weights.dense(), k / (weights.samples - 1) * weights.total)


def scale_by_chance(matrix: np.ndarray, part: float) -> np.ndarray:
    """Return a matrix scaled so that the squared norm s becomes ``part`` / s."""
    square = float(np.vdot(matrix, matrix))
    return matrix * (math.sqrt(part) / square)


def neighbor_shares(
    x: Representation, k: int, metric: NeighborMetric, corrected: bool
) -> np.ndarray:
    """Return :func:`neighbor_weights` times the factor of a rank in
    :func:`information_imbalance`."""
    n = x.shape[0]
    weights = neighbor_weights(x, k, metric).dense()
    return weights * (2 / ((n - k - 1 if corrected else n) * n * k))


def negative_ranks(
    x: Representation, k: int, metric: NeighborMetric, corrected: bool
) -> np.ndarray:
    """Return minus the rank of every sample for every other sample; if ``corrected``, plus (k + 1)
    / 2, the smallest possible mean rank."""
    matrix = (k + 1) / 2 * corrected - rank_matrix(x, metric)
    np.fill_diagonal(matrix, 0)
    return np.asarray(matrix)


def neighbor_kernel(x: Representation, k: int, kernel: Kernel, search: Search) -> SparsePairMatrix:
    """Return the row-centred kernel values at the nearest neighbours, times the neighbour
    weights."""
    nearest_rows = NeighborSearch(k, affinity(kernel), search)
    values = kernel_graph(x, nearest_rows, kernel=kernel, centered=True)
    total, square = float(values.sum()), float(values.data @ values.data)
    return SparsePairMatrix(
        samples=x.shape[0], trace=0.0, total=total, square=square, kernel=values
    )


def umap_kernel(
    x: Representation,
    k: int,
    metric: NeighborMetric,
    symmetrize: bool,
    diagonal: bool,
    search: Search,
) -> SparsePairMatrix:
    """Return the centred kernel of :func:`mka`."""
    nearest_rows = NeighborSearch(k, metric, search)
    return SparsePairMatrix(
        samples=x.shape[0],
        **umap_kernel_size(x, nearest_rows, symmetrize=symmetrize, diagonal=diagonal)._asdict(),
        kernel=umap_weight_matrix(x, nearest_rows, symmetrize=symmetrize, diagonal=diagonal),
        centered="both" if symmetrize else "rows",
    )


def chance_scaled_umap_kernel(
    x: Representation,
    k: int,
    metric: NeighborMetric,
    symmetrize: bool,
    diagonal: bool,
    search: Search,
) -> np.ndarray:
    """Return :func:`umap_kernel` scaled to the squared norm ``(tr K H)^2 / (n - 1) / |K H|^2``,
    with the chance part ``(tr K H)^2 / (n - 1)``."""
    kernel = umap_kernel(x, k, metric, symmetrize, diagonal, search)
    return scale_by_chance(kernel.dense(), kernel.trace**2 / (kernel.samples - 1))


def truncated_kernel(x: Representation, k: int, search: Search, variant: str) -> SparsePairMatrix:
    """Return the row-centred kernel of :func:`kcka`; for ``variant="code"`` H K H divided by the
    root of tr K H K H."""
    nearest_rows, code = NeighborSearch(k, "euclidean", search), variant == "code"
    trace, square = local_rbf_size(x, nearest_rows, squared=code, diagonal=code)
    return SparsePairMatrix(
        samples=x.shape[0],
        trace=trace / math.sqrt(square) if code else trace,
        square=1.0 if code else square,
        kernel=local_rbf_kernel(x, nearest_rows, squared=code, diagonal=code),
        centered="both" if code else "rows",
        factor=square**-0.5 if code else 1.0,
    )


def transposed_truncated_kernel(
    x: Representation, k: int, search: Search, variant: str
) -> SparsePairMatrix:
    """Return the transpose of :func:`truncated_kernel`: tr KHLH is <HKH, (HLH)'>."""
    matrix = truncated_kernel(x, k, search, variant)
    return replace(matrix, kernel=matrix.kernel.T.tocsr())
