"""Which inner product of two matrices a measure is a function of: the claims ``product``.

Each matrix is a function of one representation and the parameters of the measure, shape (n, n),
float64. Where the value divides by what is no sum of squares, the matrices are divided by the part
of it that is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array, scalar, to_numpy
from ..claims import Product
from ..representation import Representation
from ..views.distances import distances, double_centered_distances, rdm_vector
from ..views.grams import Estimator, GramKernel, centered_directions, distance_gram, gram_diagonal
from ..views.neighbour_kernels import (
    Kernel,
    affinity,
    centered_trace,
    fuzzy_kernel,
    graph,
    kernel_graph,
    local_rbf_kernel,
)
from ..views.neighbours import Index, NeighbourSearch
from ..views.points import preshape, size
from ..views.shared_neighbours import rank_matrix
from ..views.similarities import Affinity, Metric
from ..views.spectra import decomposition, orthonormal_basis, with_tied


def itself(product: float, x_square: float, y_square: float) -> float:
    """Return the value of a measure that is the inner product itself."""
    return product


def minus_itself(product: float, x_square: float, y_square: float) -> float:
    """Return the value of a measure that is minus the inner product."""
    return -product


def squared_distance(product: float, x_square: float, y_square: float) -> float:
    """Return the squared distance of two matrices: |A|^2 + |B|^2 - 2 <A, B>."""
    return x_square + y_square - 2 * product


def beyond_chance(product: float, x_square: float, y_square: float) -> float:
    """Return (m - c) / (1 - c) of matrices with the cosine m and, on average over all orders, the
    cosine c = |A| |B|."""
    chance = math.sqrt(x_square * y_square)
    return (product / chance - chance) / (1 - chance)


def of_smaller(product: float, x_scale: float, y_scale: float) -> float:
    """Return the share that the inner product is of the smaller of two numbers."""
    return product / min(x_scale, y_scale)


def of_larger(product: float, x_scale: float, y_scale: float) -> float:
    """Return the share that the inner product is of the larger of two numbers."""
    return product / max(x_scale, y_scale)


def over_both_squares(product: float, x_square: float, y_square: float) -> float:
    """Return <A, B> / (<A, A> <B, B>)."""
    return product / (x_square * y_square)


def width(x: Representation, **_: Any) -> float:
    """Return the number of features."""
    return float(x.shape[1])


# ------------------------------------------------------------------------ matrices of all samples


def gram(
    x: Representation, kernel: str, estimator: Estimator, bandwidth: float, pairs: Any
) -> np.ndarray:
    """Return the centred Gram matrix of a kernel; U-centred for the debiased estimator, without its
    diagonal for that of Lange et al."""
    of = GramKernel(kernel, bandwidth, pairs)
    if kernel in ("linear", "cosine"):
        matrix = _outer(preshape(x) if kernel == "linear" else centered_directions(x))
    else:
        matrix = _double(distance_gram(x, of)).copy()
    if estimator == "biased":
        return matrix
    # The rows of K sum to zero: without the diagonal k they sum to -k, and all of it to -sum k.
    k, n = _double(gram_diagonal(x, of)), len(matrix)
    if estimator == "debiased":
        matrix += (k[:, None] + k[None, :]) / (n - 2) - k.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(matrix, 0)
    return matrix


def linear_gram(x: Representation, **_: Any) -> np.ndarray:
    """Return the Gram matrix of the centred points in unit size."""
    return _outer(preshape(x))


def projection(x: Representation, **_: Any) -> np.ndarray:
    """Return the projection on the span of the centred columns."""
    return _outer(orthonormal_basis(x))


def uncentred_projection(x: Representation) -> np.ndarray:
    """Return the projection on the span of the columns as they are."""
    return _outer(orthonormal_basis(x, centered=False))


def leading_projection(x: Representation, k: int) -> np.ndarray:
    """Return the projection on the k leading principal components and those tied with the last."""
    return _outer(decomposition(x).basis[:, : with_tied(x, count=k)])


def smoother(x: Representation, ridge: float, **_: Any) -> np.ndarray:
    """Return the matrix that takes a target to what ridge regression predicts of it."""
    parts = decomposition(x)
    variance = _double(parts.singular) ** 2
    return _outer(_double(parts.basis) * np.sqrt(variance / (variance + ridge)))


def centred_distances(x: Representation, **_: Any) -> np.ndarray:
    """Return the double-centred Euclidean distances."""
    return _double(double_centered_distances(x))


def actual_distances(x: Representation, **_: Any) -> np.ndarray:
    """Return the Euclidean distances in the units of the activations."""
    length = scalar(size(x))
    n = x.shape[0]
    return length * _double(distances(x)) if length else np.zeros((n, n))


def dissimilarities(x: Representation, rdm: str, compare: str) -> np.ndarray:
    """Return the dissimilarities, ready to be compared, on both sides of a zero diagonal."""
    n = x.shape[0]
    matrix = np.zeros((n, n))
    matrix[np.triu(np.ones((n, n), dtype=bool), 1)] = _double(
        rdm_vector(x, kind=rdm, compare=compare)
    )
    return matrix + matrix.T


# -------------------------------------------------------------------------- matrices of neighbours


def neighbour_weights(
    x: Representation, k: int, metric: Affinity, index: Index = "exact", **_: Any
) -> np.ndarray:
    """Return the weight of every sample as a neighbour of every other one."""
    return _dense(graph(x, NeighbourSearch(k, metric, index)))


def neighbour_weights_in_chance(x: Representation, k: int, **parameters: Any) -> np.ndarray:
    """Return :func:`neighbour_weights` with the square of its part of chance, k / (n - 1) over s(X,
    X)."""
    weights = neighbour_weights(x, k, **parameters)
    square = float(np.vdot(weights, weights))
    with_itself = square / (len(weights) * k)
    return weights * math.sqrt(k / (len(weights) - 1) / with_itself / square)


def neighbour_shares(x: Representation, k: int, metric: Metric, corrected: bool) -> np.ndarray:
    """Return :func:`neighbour_weights` times what a rank counts in
    :func:`information_imbalance`."""
    n = x.shape[0]
    return neighbour_weights(x, k, metric) * (2 / ((n - k - 1 if corrected else n) * n * k))


def nearness(x: Representation, k: int, metric: Metric, corrected: bool) -> np.ndarray:
    """Return minus the rank of every sample for every other one, if corrected beyond the smallest
    mean rank, (k + 1) / 2."""
    matrix = (k + 1) / 2 * corrected - rank_matrix(x, metric)
    np.fill_diagonal(matrix, 0)
    return np.asarray(matrix)


def neighbour_kernel(
    x: Representation, k: int, kernel: Kernel, index: Index, **_: Any
) -> np.ndarray:
    """Return the row-centred kernel values at the nearest neighbours times their weights."""
    search = NeighbourSearch(k, affinity(kernel), index)
    return _dense(kernel_graph(x, search, kernel=kernel, centered=True))


def fuzzy(
    x: Representation,
    k: int,
    metric: Metric,
    symmetrize: bool,
    diagonal: bool,
    index: Index,
    baseline: str,
) -> np.ndarray:
    """Return the centred kernel of :func:`mka`, for a baseline with the square of its part of
    chance, (tr K H)^2 / (n - 1) over |K H|^2."""
    search = NeighbourSearch(k, metric, index)
    kernel = _dense(fuzzy_kernel(x, search, symmetrize=symmetrize, diagonal=diagonal))
    trace = float(np.trace(kernel) - kernel.sum() / len(kernel))
    kernel = _rows_centred(kernel)
    if symmetrize:
        kernel -= kernel.mean(axis=0)
    if baseline == "none":
        return kernel
    return kernel * (abs(trace) / math.sqrt(len(kernel) - 1) / float(np.vdot(kernel, kernel)))


def cut_kernel(x: Representation, k: int, index: Index, **_: Any) -> np.ndarray:
    """Return the row-centred kernel of :func:`kcka`."""
    search = NeighbourSearch(k, "euclidean", index)
    return _rows_centred(_dense(local_rbf_kernel(x, search, squared=False, diagonal=False)))


def cut_kernel_of_code(x: Representation, k: int, index: Index, **_: Any) -> np.ndarray:
    """Return H K H over the root of tr K H K H."""
    search = NeighbourSearch(k, "euclidean", index)
    kernel = local_rbf_kernel(x, search, squared=True, diagonal=True)
    matrix = _rows_centred(_dense(kernel))
    return np.asarray((matrix - matrix.mean(axis=0)) / math.sqrt(centered_trace(kernel, kernel)))


def cut_kernel_of_code_transposed(x: Representation, **parameters: Any) -> np.ndarray:
    """Return the transpose of :func:`cut_kernel_of_code`: tr KHLH is <HKH, (HLH)'>."""
    return np.ascontiguousarray(cut_kernel_of_code(x, **parameters).T)


def _double(values: Array) -> np.ndarray:
    return np.asarray(to_numpy(values), dtype=np.float64)


def _outer(points: Array) -> np.ndarray:
    """Return P P'."""
    rows = _double(points)
    return np.asarray(rows @ rows.T)


def _dense(kernel: Any) -> np.ndarray:
    return np.asarray(kernel.toarray(), dtype=np.float64)


def _rows_centred(matrix: np.ndarray) -> np.ndarray:
    return np.asarray(matrix - matrix.mean(axis=1, keepdims=True))


# ------------------------------------------------------------------------------------------ claims


def of_neighbours(matrix: Callable[..., np.ndarray], **claims: Any) -> Product:
    """Return the claim for matrices whose rows are about the neighbours of one sample."""
    return Product(matrix, symmetric=False, **claims)


GRAMS = Product(gram)
SHARED_DIMENSIONS = Product(linear_gram, value=over_both_squares)
SPANS = Product(projection, value=of_smaller)
SPANS_OF_COLUMNS = Product(projection, value=of_smaller, scale=width)
UNCENTRED_SPANS = Product(uncentred_projection, value=of_larger, scale=width)
LEADING_SPANS = Product(leading_projection, value=of_larger)
EXPLAINED = Product(projection, linear_gram, value=itself)
EXPLAINED_BACKWARDS = Product(linear_gram, projection, value=itself)
SQUARED_SMOOTHERS = Product(smoother, value=squared_distance)
SMOOTHERS = SQUARED_SMOOTHERS._replace(root=True)
SQUARED_DISTANCES = Product(centred_distances)
DISTANCES = SQUARED_DISTANCES._replace(root=True)
ACTUAL_DISTANCES = Product(actual_distances, value=squared_distance, root=True)
DISSIMILARITIES = Product(dissimilarities)
NEIGHBOURS = of_neighbours(neighbour_weights)
NEIGHBOURS_BEYOND_CHANCE = of_neighbours(neighbour_weights_in_chance, value=beyond_chance)
NEIGHBOURS_AND_RANKS = of_neighbours(neighbour_shares, right=nearness, value=minus_itself)
NEIGHBOUR_KERNELS = of_neighbours(neighbour_kernel)
FUZZY_KERNELS = of_neighbours(fuzzy)
FUZZY_KERNELS_BEYOND_CHANCE = of_neighbours(fuzzy, value=beyond_chance)
CUT_KERNELS = of_neighbours(cut_kernel)
CUT_KERNELS_OF_CODE = of_neighbours(
    cut_kernel_of_code, right=cut_kernel_of_code_transposed, value=itself
)
