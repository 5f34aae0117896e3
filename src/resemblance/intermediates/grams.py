"""Intermediates of centred Gram matrices: what kernel alignment compares."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    as_array_like,
    as_float64,
    concatenate_blocks,
    detach,
    device,
    epsilon,
    euclidean_norm,
    frobenius_inner,
    has_safe_squares,
    namespace,
    records_gradient,
    row_blocks,
    scalar,
    to_numpy,
)
from ..base.exceptions import UndefinedError
from ..data.representation import (
    Representation,
    cached,
    cached_pair,
    is_large_array,
    keep_while_small,
    representation_title,
)
from .distances import condensed_rdm, double_centered, upper_triangle
from .far_rows import inlier_centered_points
from .points import (
    cross_products,
    is_rotated,
    preshape,
    products_by_blocks,
    reduced_unit_rows,
    return_unchanged,
    transpose_matrix,
    unit,
    unit_blocks,
)
from .rectangles import (
    BlockFunction,
    CenteringTerms,
    centering_terms,
    distance_function,
    double_centered_entries,
    is_blockwise,
    order_statistics,
    row_blocks_from_column,
    squared_distance_function,
    squared_row_norms,
    upper_triangle_vectors,
)

GRAM_FEATURES_PER_BLOCK = (
    2**12
)  # features at a time of those that are more than the samples, or 2 n
MedianPairs = Literal["distinct", "all"]
Estimator = Literal["biased", "debiased", "lange", "features"]


class GramKernel(NamedTuple):
    """The kernel of a Gram matrix: "linear", "cosine", "rbf" or "laplace", and the width of the
    latter two, as a multiple of the median distance of these pairs."""

    name: str
    bandwidth: float = 1.0
    pairs: MedianPairs = "distinct"


@cached("scalar")
def median_distance(x: Representation, pairs: MedianPairs = "distinct") -> Array:
    """Median Euclidean distance between samples of the pre-shape, a 0-d array; of all pairs also
    with themselves."""
    distances = to_numpy(condensed_rdm(x, "euclidean"))
    if pairs == "all":  # every pair twice, and n zeros
        distances = np.concatenate([distances, distances, np.zeros(x.shape[0])])
    if records_gradient(x.source):
        return _differentiable_median(preshape(x), distances)
    return as_array_like(np.median(distances, overwrite_input=distances.flags.writeable), x.array)


def _differentiable_median(points: Array, distances: np.ndarray) -> Array:
    """The median again, from the one or two pairs of samples that have it, so that gradients
    pass."""
    xp, median = namespace(points), np.median(distances)
    ends = [distances[distances <= median].max(), distances[distances >= median].min()]
    positions, n = np.array([np.flatnonzero(distances == end)[0] for end in ends]), points.shape[0]
    # Pairs may be listed twice, and followed by those of samples with themselves.
    i, j = (
        as_array_like(np.concatenate([a, a, np.arange(n)])[positions], points)
        for a in np.triu_indices(n, 1)
    )
    return xp.mean(euclidean_norm(xp.take(points, i, axis=0) - xp.take(points, j, axis=0), axis=1))


@cached("scalar")
def median_distance_by_selection(x: Representation, pairs: MedianPairs) -> float:
    """The median of :func:`~.grams.median_distance`, selected in a few passes."""
    points, n = inlier_centered_points(x), x.shape[0]
    count = n * (n - 1) // 2
    places = (count - 1) // 2, count // 2
    if pairs == "all":  # n zeros come first, then every distance twice
        places = max(((n * n - 1) // 2 - n) // 2, -1), max((n * n // 2 - n) // 2, -1)
    top = 4 * scalar(x.xp.max(squared_row_norms(points))) + np.finfo(float).tiny
    numbers = upper_triangle_vectors(squared_distance_function(points), n)
    squares = order_statistics(numbers, count, (max(places[0], 0), max(places[1], 0)), top)
    values = [0.0 if place < 0 else math.sqrt(s) for place, s in zip(places, squares)]
    return sum(values) / 2


@cached("n n")
def distance_gram(x: Representation, kernel: GramKernel) -> Array:
    """Centred Gram matrix of a kernel of the distance d, sigma = bandwidth * median distance, shape
    (n, n): "rbf" is exp(-d^2 / (2 sigma^2)), "laplace" is exp(-d / sigma)."""
    entries, n = kernel_entries(x, kernel, median_distance(x, kernel.pairs)), x.shape[0]
    gram = x.xp.empty((n, n), dtype=x.array.dtype, device=device(x.array))
    blocks = (entries(row_blocks_from_column(start, stop)) for start, stop in row_blocks(n))
    return double_centered(concatenate_blocks(blocks, gram))


@cached("n d")
def centered_directions(x: Representation) -> Array:
    """Rows at unit length minus their mean, never wider than n: their inner products are the
    centred cosines."""
    rows = reduced_unit_rows(x)
    shifted = rows - detach(rows[:1, :])  # a mean of many equal numbers is not exactly that number
    centered = shifted - x.xp.mean(shifted, axis=0, keepdims=True)
    if scalar(euclidean_norm(centered)) <= 16 * epsilon(rows) * x.n_samples**0.5:
        raise UndefinedError(
            f"all samples of {representation_title(x)} have the same direction: their cosines do "
            "not differ"
        )
    return centered


def compares_gram_entries(x: Representation, y: Representation) -> bool:
    """Say whether linear Gram matrices of two representations are compared by their entries.

    That takes n² d operations for each representation and n² for a pair, their products of features
    n d e for a pair, and a rotation of those wider than n. Samples of a stream have no entries.
    """
    if any(r.origin or records_gradient(r.source) for r in (x, y)):
        return False
    return is_rotated(x) or is_rotated(y) or 3 * min(x.shape[1], y.shape[1]) >= x.shape[0]


def supports_feature_blocks(x: Representation) -> bool:
    """Say whether :func:`gram_by_feature_blocks` serves: by the shape, and the library."""
    return is_rotated(x) and not x.origin and isinstance(x.source, np.ndarray)


@cached("pairs")
@keep_while_small(1.5)  # n (n - 1) / 2 numbers are fewer than that for 3 d >= n
def gram_condensed(x: Representation) -> Array:
    """Inner products of all pairs of different centred points in unit size, shape (n (n - 1) /
    2,)."""
    return (
        gram_by_feature_blocks(x)[0] if supports_feature_blocks(x) else _gram_condensed_by_rows(x)
    )


def _gram_condensed_by_rows(x: Representation) -> Array:
    points, n = unit(x), x.shape[0]
    columns = x.xp.matrix_transpose(points)
    pieces = (upper_triangle(points[i:j, :] @ columns[:, i:]) for i, j in row_blocks(n))
    out = x.xp.empty(n * (n - 1) // 2, dtype=points.dtype, device=device(points))
    return concatenate_blocks(pieces, out)


@cached("n")
@keep_while_small(1.5)  # as long as those of pairs, which come from the same products
def wide_diagonal(x: Representation) -> np.ndarray:
    """:func:`gram_diagonal` of more features than samples."""
    return gram_by_feature_blocks(x)[1]


@cached("pairs", "n")
def gram_by_feature_blocks(x: Representation) -> tuple[np.ndarray, np.ndarray]:
    """:func:`gram_condensed` and :func:`gram_diagonal` of more features than samples, added up over
    blocks of features, each of which is centred by itself: without a copy of all.

    Where unscaled products could over- or underflow, the points are scaled first.
    """
    source, (n, d) = np.asarray(x.source), x.shape
    gram, width = np.zeros((n, n), dtype=x.dtype), max(GRAM_FEATURES_PER_BLOCK, 2 * n)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, d, width):
            block = source[:, start : start + width].astype(x.dtype, order="C")
            block -= block[0].copy()
            block -= block.mean(axis=0)
            gram += block @ block.T  # of which NumPy computes one triangle
    total = np.trace(gram)
    if not has_safe_squares(total):
        return _gram_condensed_by_rows(x), np.vecdot(unit(x), unit(x))
    pairs = np.concatenate([upper_triangle(gram[i:j, i:]) for i, j in row_blocks(n)])
    return pairs / total, np.diagonal(gram) / total


@cached("n n")
def gram_entries(x: Representation) -> np.ndarray:
    """Inner products of all centred points in unit size, in float64, shape (n, n)."""
    from scipy.spatial.distance import squareform

    entries: np.ndarray = squareform(as_float64(gram_condensed(x)), checks=False)
    np.fill_diagonal(entries, as_float64(gram_diagonal(x, GramKernel("linear"))))
    return entries


def linear_gram_inner(x: Representation, y: Representation) -> Array:
    """Inner product of the linear Gram matrices, from their entries."""
    k, l = (gram_diagonal(r, GramKernel("linear")) for r in (x, y))
    return 2 * frobenius_inner(gram_condensed(x), gram_condensed(y)) + frobenius_inner(k, l)


@cached("n")
def gram_diagonal(x: Representation, kernel: GramKernel) -> Array:
    """Diagonal of the centred Gram matrix, shape (n,)."""
    if kernel.name == "linear" and supports_feature_blocks(x):
        return wide_diagonal(x)
    if kernel.name in ("linear", "cosine"):
        blocks = unit_blocks(x) if kernel.name == "linear" else [centered_directions(x)]
        return x.xp.concat([x.xp.vecdot(points, points) for points in blocks])
    if is_blockwise(x):
        return centered_kernel_diagonal(x, kernel)
    return x.xp.linalg.diagonal(distance_gram(x, kernel))


@cached("scalar")
def gram_trace(x: Representation, kernel: GramKernel) -> Array:
    """Trace of the centred Gram matrix."""
    return x.xp.sum(gram_diagonal(x, kernel))


@cached("scalar")
def energy(x: Representation) -> Array:
    """Frobenius norm of the linear Gram matrix of the pre-shape: the self-similarity in linear
    CKA."""
    if is_large_array(x) and not is_rotated(x):
        gram = products_by_blocks(x, x)
        return frobenius_inner(gram, gram) ** 0.5
    points = preshape(x)
    n, d = points.shape
    gram = (
        x.xp.matrix_transpose(points) @ points if d < n else points @ x.xp.matrix_transpose(points)
    )
    return frobenius_inner(gram, gram) ** 0.5


@cached("scalar")
def squared_gram_norm(x: Representation, kernel: GramKernel) -> Array:
    """Squared Frobenius norm of the centred Gram matrix."""
    if kernel.name == "linear":
        return linear_gram_inner(x, x) if compares_gram_entries(x, x) else energy(x) ** 2
    if kernel.name == "cosine":
        points = centered_directions(x)
        gram = x.xp.matrix_transpose(points) @ points
    elif is_blockwise(x):
        return as_array_like(kernel_centering_terms(x, kernel).energy, x.array)
    else:
        gram = distance_gram(x, kernel)
    return frobenius_inner(gram, gram)


@cached("scalar")
def hsic_norm(x: Representation, kernel: GramKernel, estimator: Estimator) -> Array:
    """Root of the HSIC of a representation with itself, up to a factor of n.

    Raises ``UndefinedError`` where nothing but rounding is left of the estimate.
    """
    product = squared_gram_norm(x, kernel)
    squared = estimate_hsic(product, (x, x), kernel, estimator)
    if estimator == "features":
        squared = _feature_population_hsic(x, squared)
    if scalar(squared) <= 1e-12 * scalar(product):
        n, d = x.n_samples, x.shape[1]
        counts = f"{n} samples" + (f" of {d} features" if estimator == "features" else "")
        raise UndefinedError(
            f"cka: the {estimator} self-similarity is not positive ({counts} are too few)"
        )
    return squared**0.5


def _feature_population_hsic(x: Representation, squared: Array) -> Array:
    """Estimate the HSIC of a population of features with itself from that of d of them: d / (d - 1)
    times what is left without the debiased HSIC of each feature with itself."""
    n, d = x.shape
    if d < 2:
        raise UndefinedError(
            f"cka: estimator='features' needs at least 2 features; {representation_title(x)} has "
            f"{d}"
        )
    squares = unit(x) ** 2
    norms, fourth = x.xp.sum(squares, axis=0), x.xp.sum(squares**2)
    self_product = frobenius_inner(norms, norms) * (1 + 1 / ((n - 1) * (n - 2))) - fourth * n / (
        n - 2
    )
    return (squared - self_product) * d / (d - 1)


def estimate_hsic(
    product: Array,
    pair: tuple[Representation, Representation],
    kernel: GramKernel,
    estimator: Estimator,
) -> Array:
    """Estimate HSIC, up to a factor of n, from the inner product of two centred Gram matrices.

    ``"debiased"`` is Eq. 5 of Song et al. 2012, simplified for centred K and L: their rows sum to
    zero; ``"features"`` is the same for different features. ``"lange"`` leaves out the diagonals.
    """
    if estimator == "biased":
        return product
    k, l = (gram_diagonal(r, kernel) for r in pair)
    traces = gram_trace(pair[0], kernel) * gram_trace(pair[1], kernel)
    return hsic_without_diagonal(
        product, frobenius_inner(k, l), traces, pair[0].n_samples, estimator
    )


def hsic_without_diagonal(
    product: Array, diagonal: Array, traces: Array, n: int, estimator: Estimator
) -> Array:
    """Return :func:`estimate_hsic` HSIC from the inner products of two matrices and of their
    diagonals, and the product of their traces; of one pair or of many."""
    if estimator == "lange":
        return product - diagonal
    return product - diagonal * n / (n - 2) + traces / ((n - 1) * (n - 2))


# ---------------------------------------------------------------------------------------- of a pair


@cached_pair(swap=return_unchanged)
def gram_inner(x: Representation, y: Representation, kernel: GramKernel) -> Array:
    """Inner product of the centred Gram matrices."""
    if kernel.name == "linear" and compares_gram_entries(x, y):
        return linear_gram_inner(x, y)
    if kernel.name in ("linear", "cosine"):
        is_linear = kernel.name == "linear"
        c = cross_products(x, y) if is_linear else _centered_direction_products(x, y)
        return frobenius_inner(c, c)
    return frobenius_inner(distance_gram(x, kernel), distance_gram(y, kernel))


def _centered_direction_products(x: Representation, y: Representation) -> Array:
    return transpose_matrix(centered_directions(x)) @ centered_directions(y)


@cached_pair(swap=return_unchanged)
def hsic(x: Representation, y: Representation, kernel: GramKernel, estimator: Estimator) -> Array:
    """Hilbert-Schmidt independence criterion of a kernel, up to a factor of n (see
    :func:`resemblance.cka`)."""
    return estimate_hsic(gram_inner(x, y, kernel), (x, y), kernel, estimator)


# ------------------------------------------------------------------------------------- many samples


def kernel_entries(x: Representation, kernel: GramKernel, median: Array) -> BlockFunction:
    """Entries of the kernel matrix of :func:`~.grams.distance_gram`, not centred."""
    sigma = kernel.bandwidth * median
    if scalar(sigma) == 0:
        raise UndefinedError(
            f"the median distance between samples of {representation_title(x)} is zero, so the "
            "kernel has no width"
        )
    points, xp = inlier_centered_points(x), x.xp
    if kernel.name == "laplace":
        distances = distance_function(points)
        return lambda tile: xp.exp(distances(tile) / -sigma)
    squares = squared_distance_function(points)
    return lambda tile: xp.exp(squares(tile) / (-2 * sigma**2))


@cached("n", "scalar", "scalar")
def kernel_centering_terms(x: Representation, kernel: GramKernel) -> CenteringTerms:
    """Margins of the kernel matrix."""
    return centering_terms(_uncentered_kernel_entries(x, kernel), x.shape[0])


def _uncentered_kernel_entries(x: Representation, kernel: GramKernel) -> BlockFunction:
    return kernel_entries(x, kernel, median_distance_by_selection(x, kernel.pairs))


def centered_kernel_entries(x: Representation, kernel: GramKernel) -> BlockFunction:
    """Entries of the double-centred kernel matrix."""
    return double_centered_entries(
        _uncentered_kernel_entries(x, kernel), kernel_centering_terms(x, kernel), preshape(x)
    )


def centered_kernel_diagonal(x: Representation, kernel: GramKernel) -> Array:
    """Diagonal of the double-centred kernel matrix, shape (n,)."""
    margins = kernel_centering_terms(x, kernel)
    return as_array_like(1 - 2 * margins.means + margins.mean, x.array)
