"""Intermediates of kernels limited to nearest neighbours: sparse matrices with n k entries, and
more with ties.

Row i holds the k nearest neighbours of sample i, so a matrix need not be symmetric. Samples that
tie for the last places share the weight of these places equally. Kernels do not depend on the size
of a representation: distances are in unit size, and every width is relative to the distances. The
array library computes distances and products on the device of the data; NumPy and SciPy compute the
rest from the neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..base.arrays import detach, epsilon, euclidean_norm, row_blocks, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, representation_title
from .chords import TIE_EPSILONS
from .neighbors import NeighborSearch, nearest, neighbors
from .points import unit, unit_rows
from .similarities import (
    Affinity,
    distances_to_listed,
    precise_unit_rows,
    products_with_listed,
    squared_distances_to_listed,
)
from .ties import Nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Kernel = Literal["cosine", "linear"]
SparseProduct = Callable[["csr_array", "csr_array"], float]
# The share of the differences between kernel values that rounding may change.
MAX_KERNEL_ROUNDING_SHARE = 1e-3


# ------------------------------------------------------------------------------- neighbour graphs


def neighbor_graph(x: Representation, nearest_rows: NeighborSearch) -> Any:
    """Return the sparse (n, n) array with 1 at the nearest neighbours of every row; tied samples
    share the weights of the last places."""
    return neighbor_matrix(nearest(x, *nearest_rows), np.ones((x.shape[0], nearest_rows.k)))


def kernel_graph(
    x: Representation, nearest_rows: NeighborSearch, kernel: Kernel, centered: bool
) -> Any:
    """Return the sparse (n, n) array of :func:`kernel_values` at the nearest neighbours of every
    row; tied samples share the values of the last places."""
    return neighbor_matrix(
        nearest(x, *nearest_rows), kernel_values(x, nearest_rows, kernel, centered)
    )


@cached("n k")
def kernel_values(
    x: Representation, nearest_rows: NeighborSearch, kernel: Kernel, centered: bool
) -> np.ndarray:
    """Return the values of a kernel at the nearest neighbours of every sample, shape (n, k).

    ``nearest_rows``: the search, with the metric of the kernel. ``kernel``: inner products of the
    points in unit size ("linear") or of their directions ("cosine"). ``centered``: subtract the
    mean of the row of the kernel, including the value of the sample with itself. Raises
    ``UndefinedError`` where the mean hides the differences between the kernel values, so that
    rounding would decide.
    """
    rows = detach(unit_rows(x) if kernel == "cosine" else unit(x, centered=False))
    values = products_with_listed(rows, np.arange(x.shape[0]), neighbors(x, *nearest_rows))
    if not centered:
        return values
    means = to_numpy(rows @ x.xp.mean(rows, axis=0))
    differences = values - means[:, None]
    rounding = epsilon(rows) * np.abs(means).max()
    if rounding > MAX_KERNEL_ROUNDING_SHARE * np.sqrt(np.mean(differences**2)) > 0:
        raise UndefinedError(
            f"the {kernel} kernel of {representation_title(x)} differs between samples by rounding "
            "alone: subtract the mean of each feature first"
        )
    return differences


def affinity(kernel: Kernel) -> Affinity:
    """Return the neighbour metric of a kernel: "cosine" for "cosine", "inner" for "linear"."""
    return "cosine" if kernel == "cosine" else "inner"


def neighbor_matrix(knn: Nearest, values: np.ndarray, samples: int = 0) -> Any:
    """Return a sparse array with ``values``, (rows, k), at the nearest neighbours; tied samples
    share the values of their places equally.

    The array has a row for every row of ``knn``, and ``samples`` columns (by default as many as
    rows).
    """
    from scipy.sparse import csr_array

    (n, k), ties = knn.listed.shape, knn.ties
    shape, crowded = (n, samples or n), ties.crowded
    if not crowded.any():
        # A copy, because SciPy sorts the indices of a sparse array in place, and the neighbours
        # must stay in order of distance.
        starts = np.arange(0, n * k + 1, k)
        return csr_array((values.ravel(), knn.listed.ravel(), starts), shape=shape, copy=True)
    rows, sizes = ties.rows[crowded], ties.sizes[crowded]
    last = np.arange(k) >= ties.certain[crowded][:, None]
    untied = np.ones((n, k), dtype=bool)
    untied[rows] = ~last
    shares = np.where(last, values[rows], 0).sum(axis=1) / sizes
    entries = np.concatenate([values[untied], np.repeat(shares, sizes)])
    entry_rows = np.concatenate([np.nonzero(untied)[0], np.repeat(rows, sizes)])
    columns = np.concatenate([knn.listed[untied], ties.members[np.repeat(crowded, ties.sizes)]])
    return csr_array((entries, (entry_rows, columns)), shape=shape)


def indicator_of_entries(graph: Any, mask: np.ndarray) -> Any:
    """Return a sparse array with 1 at the stored entries of ``graph`` that ``mask`` selects, and
    nothing elsewhere. ``mask``: (nnz,), in the order of ``graph.data``."""
    array = type(graph)((mask.astype(float), graph.indices, graph.indptr), graph.shape, copy=True)
    array.eliminate_zeros()
    return array


# ---------------------------------------------------------------------- kernels of the distances


@cached("n k")
def neighbor_distances(x: Representation, nearest_rows: NeighborSearch) -> np.ndarray:
    """Return the distances to the k nearest neighbours, in the order of :func:`neighbors`, shape
    (n, k), in float64.

    ``nearest_rows``: k and the metric. Distances are Euclidean in unit size (centred, Frobenius
    norm 1), or 1 - cosine. Distances are norms of differences of rows, so small distances keep
    their digits. A distance within rounding of the smallest distance of the row, or of 0, is set
    equal to that value. If more samples tie than there are places, the tied places have their mean
    distance.
    """
    knn = nearest(x, *nearest_rows)
    if nearest_rows.metric == "cosine":
        rows = precise_unit_rows(x)
        squares = np.asarray(squared_distances_to_listed(rows, knn.listed), dtype=np.float64)
        # A zero row has cosine 0 with all rows.
        missing = (to_numpy(euclidean_norm(rows, axis=1)) == 0) / 2
        distances = squares / 2 + missing[:, None] + missing[knn.listed]
        lengths, eps = np.ones(x.shape[0]), epsilon(rows)
    else:
        distances, lengths = distances_to_listed(x, knn.listed)
        eps = epsilon(x.array)
    rounding = TIE_EPSILONS * eps * (lengths[:, None] + distances)
    distances = _average_tied_values(np.where(distances <= rounding, 0, distances), knn)
    smallest = distances.min(axis=1, keepdims=True)
    return np.where(distances - smallest <= rounding, smallest, distances)


def _average_tied_values(values: np.ndarray, knn: Nearest) -> np.ndarray:
    """Replace ``values``, (n, k), at tied places by their mean, where more samples tie than there
    are places; in place, and return ``values``."""
    crowded = knn.ties.crowded
    rows, certain = knn.ties.rows[crowded], knn.ties.certain[crowded]
    last = np.arange(values.shape[1]) >= certain[:, None]
    means = np.where(last, values[rows], 0).sum(axis=1) / (values.shape[1] - certain)
    values[rows] = np.where(last, means[:, None], values[rows])
    return values


@cached("n n")
def umap_weight_matrix(
    x: Representation, nearest_rows: NeighborSearch, symmetrize: bool, diagonal: bool
) -> csr_array:
    """Return the weights exp(-(d - rho) / sigma) of the k nearest neighbours, 0 elsewhere, shape
    (n, n).

    rho is the distance to the nearest neighbour, sigma the bandwidth of :func:`umap_bandwidths`.
    ``diagonal``: every sample has weight 1 with itself. ``symmetrize``: K + K' - K * K', the
    probability that at least one of two edges exists.
    """
    distances = neighbor_distances(x, nearest_rows)
    weights = np.empty_like(distances)
    for start, stop in row_blocks(len(distances)):
        weights[start:stop] = umap_weights(distances[start:stop])
    kernel = _neighbor_weight_matrix(nearest(x, *nearest_rows), weights, diagonal)
    return (kernel + kernel.T - kernel.multiply(kernel.T)).tocsr() if symmetrize else kernel


def umap_weights(distances: np.ndarray) -> np.ndarray:
    """Return the weights exp(-(d - rho) / sigma) of the neighbours at ``distances`` d, shape (n,
    k): 1 for the nearest. The sum of a row is log2 k, or the number of nearest neighbours if at
    least log2 k tie."""
    excess = distances - distances.min(axis=1, keepdims=True)
    sigma = umap_bandwidths(excess)[:, None]
    # In a row without a bandwidth the nearest neighbours have weight 1 and the rest weight 0.
    scaled = np.divide(excess, sigma, out=np.where(excess > 0, np.inf, 0.0), where=sigma > 0)
    return np.exp(-scaled)


def umap_bandwidths(excess: np.ndarray) -> np.ndarray:
    """Return the sigma of every row with a sum of exp(-excess / sigma) equal to log2 k, shape
    (n,), to the last digit.

    ``excess``: (n, k), the distances to the neighbours minus the smallest distance of the row.
    sigma is 0 where no sigma is small enough: at least log2 k neighbours tie at the smallest
    distance (ties and duplicates). For k <= 2 sigma is always 0.
    """
    target = np.log2(excess.shape[1])
    sigma = np.zeros(len(excess))
    has_solution = np.count_nonzero(excess == 0, axis=1) < target
    if has_solution.any():
        sigma[has_solution] = _bisection(excess[has_solution], target)
    return sigma


def _bisection(excess: np.ndarray, target: float) -> np.ndarray:
    """Return the sigma of every row with a sum of exp(-excess / sigma) equal to ``target``, (n,),
    by bisection, in units of the largest excess, from a bracket that is doubled and halved as
    needed."""
    largest = excess.max(axis=1)
    relative = -excess / largest[:, None]
    high = np.ones(len(excess))
    while (too_small := _umap_weight_sum(relative, high) < target).any():
        high[too_small] *= 2
    low = high / 2
    while (too_large := _umap_weight_sum(relative, low) > target).any():
        low[too_large] /= 2
    high = np.minimum(high, 2 * low)
    while (((middle := (low + high) / 2) > low) & (middle < high)).any():
        too_large = _umap_weight_sum(relative, middle) > target
        high[too_large], low[~too_large] = middle[too_large], middle[~too_large]
    return low * largest


def _umap_weight_sum(exponents: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    scaled = exponents / sigma[:, None]
    return np.exp(scaled, out=scaled).sum(axis=1)


@cached("n n")
def local_rbf_kernel(
    x: Representation, nearest_rows: NeighborSearch, squared: bool, diagonal: bool
) -> csr_array:
    """Return the weights exp(-d / (2 sigma)) of the k nearest neighbours, shape (n, n), where sigma
    is the median of the n k distances.

    ``squared``: use d^2 and the median of d^2. ``diagonal``: every sample has weight 1 with itself.
    """
    distances = neighbor_distances(x, nearest_rows)
    distances = distances**2 if squared else distances
    sigma = np.median(distances)
    if sigma == 0:
        raise UndefinedError(
            f"the median distance to {nearest_rows.k} nearest neighbours in "
            f"{representation_title(x)} is zero: the kernel has no width"
        )
    knn = nearest(x, *nearest_rows)
    return _neighbor_weight_matrix(knn, np.exp(distances / (-2 * sigma)), diagonal)


def _neighbor_weight_matrix(knn: Nearest, weights: np.ndarray, diagonal: bool) -> csr_array:
    """Return the sparse (n, n) matrix with ``weights``, (n, k), at the neighbours, columns in
    order; if ``diagonal``, with 1 on the diagonal."""
    from scipy.sparse import csr_array, eye_array

    indices, n = knn.listed, len(knn.listed)
    if knn.ties.crowded.any():
        kernel: csr_array = neighbor_matrix(knn, weights)
        return (kernel + eye_array(n, format="csr")).tocsr() if diagonal else kernel
    if diagonal:
        indices = np.concatenate([np.arange(n)[:, None], indices], axis=1)
        weights = np.concatenate([np.ones((n, 1)), weights], axis=1)
    order = np.argsort(indices, axis=1)
    columns, values = (
        np.take_along_axis(part, order, axis=1).ravel() for part in (indices, weights)
    )
    starts = np.arange(0, columns.size + 1, indices.shape[1])
    kind = np.int32 if columns.size < 2**31 else np.int64
    return csr_array((values, columns.astype(kind), starts.astype(kind)), shape=(n, n))


# ---------------------------------------------------------------------- products of centred kernels


def row_centered_product(k: csr_array, l: csr_array) -> float:
    """Return the inner product of the kernels K H and L H with centred rows, for sparse (n, n)
    kernels, without forming the dense matrices."""
    return sparse_inner_product(k, l) - float(k.sum(axis=1) @ l.sum(axis=1)) / k.shape[0]


def double_centered_product(k: csr_array, l: csr_array) -> float:
    """Return the inner product of H K H and H L H for symmetric sparse (n, n) kernels."""
    n, rows_k, rows_l = k.shape[0], k.sum(axis=1), l.sum(axis=1)
    return (
        sparse_inner_product(k, l)
        - 2 * float(rows_k @ rows_l) / n
        + float(rows_k.sum() * rows_l.sum()) / n**2
    )


def centered_trace(k: csr_array, l: csr_array) -> float:
    """Return the trace of K H L H: the inner product of H K H and the transpose of H L H. For
    symmetric kernels the trace is the double-centred inner product."""
    n = k.shape[0]
    margins = float(k.sum(axis=0) @ l.sum(axis=1) + k.sum(axis=1) @ l.sum(axis=0))
    return sparse_inner_product(k, l.T.tocsr()) - margins / n + float(k.sum() * l.sum()) / n**2


def sparse_inner_product(k: csr_array, l: csr_array) -> float:
    """Return the sum of k_ij l_ij over all entries, from the intersection of sorted columns in O(n
    k)."""
    return float(k.data @ k.data) if k is l else float(k.multiply(l).sum())


class CenteredKernelSize(NamedTuple):
    """Trace and squared norm of a kernel after centring, for any kind of centring."""

    trace: float
    square: float


@cached("scalar")
def umap_kernel_size(
    x: Representation, nearest_rows: NeighborSearch, symmetrize: bool, diagonal: bool
) -> CenteredKernelSize:
    """Return trace and squared norm of :func:`umap_weight_matrix` after centring the rows, or rows
    and columns if ``symmetrize``."""
    kernel = umap_weight_matrix(x, nearest_rows, symmetrize=symmetrize, diagonal=diagonal)
    return _centered_kernel_size(
        kernel, double_centered_product if symmetrize else row_centered_product, "mka"
    )


@cached("scalar")
def local_rbf_size(
    x: Representation, nearest_rows: NeighborSearch, squared: bool, diagonal: bool
) -> CenteredKernelSize:
    """Return trace and squared norm of :func:`local_rbf_kernel` after centring the rows; with
    ``squared``, :func:`centered_trace` of the kernel with itself in place of the squared norm."""
    kernel = local_rbf_kernel(x, nearest_rows, squared=squared, diagonal=diagonal)
    return _centered_kernel_size(
        kernel, centered_trace if squared else row_centered_product, "kcka"
    )


def _centered_kernel_size(
    kernel: csr_array, product: SparseProduct, name: str
) -> CenteredKernelSize:
    squared = product(kernel, kernel)
    if squared / float(kernel.data @ kernel.data) < 1e-12:  # only rounding error is left
        raise UndefinedError(
            f"{name}: the self-similarity of a kernel is not positive (too few samples for so "
            "large a k)"
        )
    trace = float(kernel.trace()) - float(kernel.sum()) / kernel.shape[0]
    return CenteredKernelSize(trace, squared)
