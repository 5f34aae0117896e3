"""Neighbour matrices, one per representation: some measures are functions of the inner product of
two neighbour matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..data.representation import Representation
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
from .pair_matrix import SparseMatrix
from .shared_neighbors import mean_common_share, rank_matrix, self_overlap
from .similarities import Affinity, NeighborMetric

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def neighbor_weights(
    x: Representation, k: int, metric: Affinity, search: Search = "exact"
) -> SparseMatrix:
    """Return the (n, n) matrix with the weight of sample j (column) as a neighbour of sample i
    (row), 0 for samples that are no neighbours."""
    nearest_rows, n = NeighborSearch(k, metric, search), x.shape[0]
    square = n * k * self_overlap(mean_common_share, x, x, nearest_rows)
    return SparseMatrix(neighbor_graph(x, nearest_rows), trace=0.0, total=n * k, square=square)


def chance_scaled_weights(
    x: Representation, k: int, metric: Affinity, search: Search
) -> SparseMatrix:
    """Return the (n, n) matrix of neighbour weights times a factor, with the squared norm k / (n -
    1) / s(X, X), where s(X, X) = ``square`` / (n k): the chance level over the self-similarity."""
    weights = neighbor_weights(x, k, metric, search)
    return scale_by_chance(weights, k / (weights.samples - 1) * weights.total)


def scale_by_chance(matrix: SparseMatrix, part: float) -> SparseMatrix:
    """Return the matrix M with squared norm s = ``matrix.square``, times sqrt(part) / s: the new
    squared norm is ``part`` / s."""
    return matrix.rescaled(math.sqrt(part) / matrix.square, 0.0, 0.0)


def neighbor_shares(
    x: Representation, k: int, metric: NeighborMetric, corrected: bool
) -> SparseMatrix:
    """Return the (n, n) matrix of neighbour weights times a factor. The inner product with the
    ranks (of y) is :func:`information_imbalance`.

    ``corrected``: whether the imbalance is rescaled to 0 for the smallest possible mean rank, (k +
    1) / 2.
    """
    n = x.shape[0]
    factor = 2 / ((n - k - 1 if corrected else n) * n * k)
    return neighbor_weights(x, k, metric).rescaled(factor, 0.0, 0.0)


def negative_ranks(
    x: Representation, k: int, metric: NeighborMetric, corrected: bool
) -> np.ndarray:
    """Return minus the rank of sample j (column) as a neighbour of sample i (row), (n, n), 0 on
    the diagonal; if ``corrected``, plus (k + 1) / 2, the smallest possible mean rank."""
    matrix = (k + 1) / 2 * corrected - rank_matrix(x, metric)
    np.fill_diagonal(matrix, 0)
    return np.asarray(matrix)


def neighbor_kernel(x: Representation, k: int, kernel: Kernel, search: Search) -> SparseMatrix:
    """Return the sparse (n, n) matrix of kernel values minus the mean of the row of the kernel, at
    the nearest neighbours, times the neighbour weights."""
    nearest_rows = NeighborSearch(k, affinity(kernel), search)
    values = kernel_graph(x, nearest_rows, kernel=kernel, centered=True)
    total, square = float(values.sum()), float(values.data @ values.data)
    return SparseMatrix(values, trace=0.0, total=total, square=square)


def _centered(kernel: csr_array, columns: bool, trace: float, square: float) -> SparseMatrix:
    """Return the sparse ``kernel`` (n, n) with centred rows, and with centred columns if
    ``columns``. ``trace``, ``square``: the trace and the squared norm of the result."""
    n = kernel.shape[0]
    means, ones = kernel.sum(axis=1) / n, np.ones((n, 1))
    left, right = -means[:, None], ones
    if columns:
        left = np.column_stack([left, ones])
        right = np.column_stack([ones, means.mean() - kernel.sum(axis=0) / n])
    return SparseMatrix(kernel, left, right, trace=trace, total=0.0, square=square)


def umap_kernel(
    x: Representation,
    k: int,
    metric: NeighborMetric,
    symmetrize: bool,
    diagonal: bool,
    search: Search,
) -> SparseMatrix:
    """Return the UMAP weights of the k nearest neighbours, (n, n), centred by rows, or by rows and
    columns if ``symmetrize``; ``diagonal``: every sample has weight 1 with itself."""
    nearest_rows = NeighborSearch(k, metric, search)
    kernel = umap_weight_matrix(x, nearest_rows, symmetrize=symmetrize, diagonal=diagonal)
    size = umap_kernel_size(x, nearest_rows, symmetrize=symmetrize, diagonal=diagonal)
    return _centered(kernel, symmetrize, *size)


def chance_scaled_umap_kernel(
    x: Representation,
    k: int,
    metric: NeighborMetric,
    symmetrize: bool,
    diagonal: bool,
    search: Search,
) -> SparseMatrix:
    """Return the centred UMAP weights M of the k nearest neighbours, (n, n), times a factor, with
    the squared norm ``(tr M)^2 / (n - 1) / |M|^2``. M is centred by rows, or by rows and columns if
    ``symmetrize``; ``diagonal``: every sample has weight 1 with itself."""
    kernel = umap_kernel(x, k, metric, symmetrize, diagonal, search)
    return scale_by_chance(kernel, kernel.trace**2 / (kernel.samples - 1))


def truncated_kernel(x: Representation, k: int, search: Search, variant: str) -> SparseMatrix:
    """Return the RBF kernel K at the k nearest neighbours, (n, n), with centred rows; for
    ``variant="code"`` H K H divided by the root of tr K H K H."""
    nearest_rows, code = NeighborSearch(k, "euclidean", search), variant == "code"
    trace, square = local_rbf_size(x, nearest_rows, squared=code, diagonal=code)
    kernel = local_rbf_kernel(x, nearest_rows, squared=code, diagonal=code)
    if not code:
        return _centered(kernel, False, trace, square)
    root = math.sqrt(square)
    return _centered((kernel / root).tocsr(), True, trace / root, 1.0)


def transposed_truncated_kernel(
    x: Representation, k: int, search: Search, variant: str
) -> SparseMatrix:
    """Return the transpose of :func:`truncated_kernel`, (n, n): the inner product of the kernel of
    x and this matrix of y is tr K H L H, up to a factor."""
    return truncated_kernel(x, k, search, variant).transposed()
