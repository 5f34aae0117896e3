"""Intermediates for kernel alignment: centred Gram matrices, their norms and inner products
(HSIC)."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple

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
    safe_quotient,
    safe_sqrt,
    scalar,
    to_numpy,
)
from ..base.context_values import context_value
from ..base.exceptions import UndefinedError
from ..data.caveats import UNREMARKABLE_SHARE
from ..data.representation import (
    Representation,
    cached,
    cached_pair,
    is_large_array,
    keep_while_small,
    representation_title,
    stored_value,
)
from .distances import condensed_rdm, double_centered, full_matrix, upper_triangle
from .far_rows import inlier_centered_points
from .gram_products import has_large_gram, large_gram_products
from .points import (
    centered_scaled,
    cross_products,
    is_rotated,
    preshape,
    products_by_blocks,
    reduced_unit_rows,
    return_unchanged,
    size,
    transpose_matrix,
    unit,
    unit_blocks,
)
from .rectangles import (
    BlockFunction,
    CenteringTerms,
    MatrixBlock,
    centering_terms,
    double_centered_entries,
    is_blockwise,
    order_statistics,
    squared_distance_function,
    squared_row_norms,
    upper_triangle_vectors,
)

# Features per block where features outnumber samples; blocks hold at least 2 n features.
GRAM_FEATURES_PER_BLOCK = 2**12
DISTANCE_KERNELS = ("rbf", "laplace")
NARROW_KERNEL_MEAN = 0.01  # the mean kernel value of different samples under a narrow kernel
_SHARES_DISTANCES: ContextVar[bool] = ContextVar("shares distances", default=False)
MedianPairs = Literal["distinct", "all"]
Estimator = Literal["biased", "debiased", "lange", "features"]


class GramKernel(NamedTuple):
    """The kernel of a Gram matrix: "linear", "cosine", "rbf" or "laplace". The width of "rbf" and
    "laplace" is ``width``, in units of the data, or ``bandwidth`` times the median distance of
    ``pairs``."""

    name: str
    bandwidth: float = 1.0
    pairs: MedianPairs = "distinct"
    width: float | None = None


@cached("scalar")
def median_distance(x: Representation, pairs: MedianPairs = "distinct") -> Array:
    """Return the median Euclidean distance between samples in unit size (centred, Frobenius norm
    1), a 0-d array. ``pairs="all"`` also counts the zero distances of samples with themselves."""
    distances = to_numpy(condensed_rdm(x, "euclidean"))
    if pairs == "all":  # ordered pairs: every distance twice, and n zeros
        distances = np.concatenate([distances, distances, np.zeros(x.shape[0])])
    if records_gradient(x.source):
        return _differentiable_median(preshape(x), distances)
    return as_array_like(np.median(distances, overwrite_input=distances.flags.writeable), x.array)


def _differentiable_median(points: Array, distances: np.ndarray) -> Array:
    """Return the median of ``distances`` as a function of ``points``, recomputed from the one or
    two pairs of samples at the median, so that gradients pass.

    ``points``: (n, d). ``distances``: the list of the pairs above the diagonal, row by row; or this
    list, the same list again, and n zeros. The zeros count in the median.
    """
    xp, median = namespace(points), np.median(distances)
    ends = [distances[distances <= median].max(), distances[distances >= median].min()]
    positions, n = np.array([np.flatnonzero(distances == end)[0] for end in ends]), points.shape[0]
    # Distances may be listed twice, followed by n zeros of samples with themselves.
    i, j = (
        as_array_like(np.concatenate([a, a, np.arange(n)])[positions], points)
        for a in np.triu_indices(n, 1)
    )
    return xp.mean(euclidean_norm(xp.take(points, i, axis=0) - xp.take(points, j, axis=0), axis=1))


@cached("scalar")
def median_distance_by_selection(x: Representation, pairs: MedianPairs) -> float:
    """Return the median Euclidean distance between samples in unit size (centred, Frobenius norm
    1), selected in a few passes over the distances. ``pairs="all"`` also counts the zero distances
    of samples with themselves."""
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
    """Return the double-centred Gram matrix of a kernel of the distance d with width sigma, shape
    (n, n): "rbf" is exp(-d^2 / (2 sigma^2)), "laplace" is exp(-d / sigma)."""
    entries = kernel_entries(x, kernel, median_distance)
    return double_centered(full_matrix(entries, x.array))


@cached("n d")
def centered_directions(x: Representation) -> Array:
    """Return the unit-length rows minus their mean, in at most n columns. The inner products are
    the centred cosines."""
    rows = reduced_unit_rows(x)
    # The computed mean of equal numbers is inexact, so subtract a row first.
    shifted = rows - detach(rows[:1, :])
    centered = shifted - x.xp.mean(shifted, axis=0, keepdims=True)
    if scalar(euclidean_norm(centered)) <= 16 * epsilon(rows) * x.n_samples**0.5:
        raise UndefinedError(
            f"all samples of {representation_title(x)} have the same direction: their cosines do "
            "not differ"
        )
    return centered


def compares_gram_entries(x: Representation, y: Representation) -> bool:
    """Return whether to compare the linear Gram matrices of x and y entry by entry, or by products
    of features.

    Comparing entries costs O(n² d) per representation and O(n²) per pair. Comparing feature
    products costs O(n d e) per pair, plus a rotation when d > n. Samples of a stream have no
    entries.
    """
    n, widths = x.shape[0], (x.shape[1], y.shape[1])
    are_wide = max(widths) > n or 3 * min(widths) >= n
    return are_wide and not any(r.origin or records_gradient(r.source) for r in (x, y))


def supports_feature_blocks(x: Representation) -> bool:
    """Return whether :func:`gram_by_feature_blocks` can compute the products of x: more features
    than samples, in NumPy, not of a stream."""
    return is_rotated(x) and not x.origin and isinstance(x.source, np.ndarray)


@cached("pairs")
@keep_while_small(1.5)  # for 3 d >= n there are fewer than 1.5 n d numbers
def gram_condensed(x: Representation) -> Array:
    """Return the inner products of different centred points in unit size (Frobenius norm 1), row by
    row above the diagonal, shape (n (n - 1) / 2,)."""
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
@keep_while_small(1.5)  # kept as long as ``gram_condensed``, because the products are shared
def wide_diagonal(x: Representation) -> np.ndarray:
    """Return the squared lengths of the centred points of Frobenius norm 1, (n,), the diagonal of
    the linear Gram matrix, for data with more features than samples."""
    return gram_by_feature_blocks(x)[1]


@cached("pairs", "n")
def gram_by_feature_blocks(x: Representation) -> tuple[np.ndarray, np.ndarray]:
    """Return the inner products of different centred points of Frobenius norm 1, row by row above
    the diagonal, (n (n - 1) / 2,), and the squared lengths, (n,).

    For data with more features than samples: the function sums over separately centred blocks of
    features, without a copy of all data. Where unscaled products could overflow or underflow, the
    function scales the points first.
    """
    source, (n, d) = np.asarray(x.source), x.shape
    gram, width = np.zeros((n, n), dtype=x.dtype), max(GRAM_FEATURES_PER_BLOCK, 2 * n)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, d, width):
            columns = source[:, start : start + width]
            block = np.subtract(columns, columns[0], dtype=x.dtype, order="C")
            block -= block.mean(axis=0)
            gram += block @ block.T  # NumPy computes only a triangle of the product
    total = np.trace(gram)
    if not has_safe_squares(total):
        return _gram_condensed_by_rows(x), np.vecdot(unit(x), unit(x))
    pairs = np.concatenate([upper_triangle(gram[i:j, i:]) for i, j in row_blocks(n)])
    return pairs / total, np.diagonal(gram) / total


@cached("n n")
def gram_entries(x: Representation) -> np.ndarray:
    """Return the Gram matrix of the centred points, divided by their Frobenius norm, in float64,
    (n, n); its trace is 1."""
    from scipy.spatial.distance import squareform

    entries: np.ndarray = squareform(as_float64(gram_condensed(x)), checks=False)
    np.fill_diagonal(entries, as_float64(gram_diagonal(x, GramKernel("linear"))))
    return entries


def condensed_gram_blocks(x: Representation) -> BlockFunction:
    """Return a function that reads blocks of :func:`gram_entries`, on and above the diagonal, from
    :func:`gram_condensed`, in float64."""
    vector, n = as_float64(gram_condensed(x)), x.shape[0]
    diagonal = as_float64(gram_diagonal(x, GramKernel("linear")))

    def entries(tile: MatrixBlock) -> np.ndarray:
        first, last, stop = tile.rows.start, tile.columns.start, tile.columns.stop
        block = np.zeros((tile.rows.stop - first, stop - last))
        for i, row in enumerate(block, start=first):
            start = max(last, i + 1)
            position = i * (2 * n - i - 1) // 2 - i - 1  # of column 0
            row[start - last :] = vector[position + start : position + stop]
        if tile.is_square:
            block += block.T
            np.fill_diagonal(block, diagonal[tile.rows])
        return block

    return entries


def linear_gram_inner(x: Representation, y: Representation) -> Array:
    """Return the inner product of the linear Gram matrices of x and y (points centred, in unit
    size), computed from entries."""
    k, l = (gram_diagonal(r, GramKernel("linear")) for r in (x, y))
    return 2 * frobenius_inner(gram_condensed(x), gram_condensed(y)) + frobenius_inner(k, l)


@cached("n")
def gram_diagonal(x: Representation, kernel: GramKernel) -> Array:
    """Return the diagonal of the centred Gram matrix (n, n) of ``kernel``, shape (n,)."""
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
    """Return the trace of the centred Gram matrix of ``kernel``, a 0-d array."""
    return x.xp.sum(gram_diagonal(x, kernel))


@cached("scalar")
def energy(x: Representation) -> Array:
    """Return the Frobenius norm of the linear Gram matrix of the points, centred and in unit size:
    the self-similarity in linear CKA."""
    if is_large_array(x) and not is_rotated(x):
        gram = products_by_blocks(x, x)
        return frobenius_inner(gram, gram) ** 0.5
    points = preshape(x)
    n, d = points.shape
    gram = transpose_matrix(points) @ points if d < n else points @ transpose_matrix(points)
    return frobenius_inner(gram, gram) ** 0.5


def largest_share_bound(x: Representation) -> float:
    """Return an upper bound of the share of any feature or sample in the variance, from cached
    intermediates; infinity without a known bound, and for other arrays than NumPy arrays.

    The shares are the diagonals of the products PᵀP and PPᵀ of the centred points in unit size. The
    Frobenius norm of both products is the energy.
    """
    if not isinstance(x.source, np.ndarray):
        return math.inf
    norm, scaled = stored_value(x, energy), stored_value(x, centered_scaled)
    if norm is not None and norm < UNREMARKABLE_SHARE:
        return float(norm)
    if scaled is None:
        return math.inf
    features = np.einsum("ij,ij->j", scaled.points, scaled.points)
    samples = np.vecdot(scaled.points, scaled.points)
    return float(max(np.maximum.reduce(features), np.maximum.reduce(samples)))


@cached("scalar")
def squared_gram_norm(x: Representation, kernel: GramKernel) -> Array:
    """Return the squared Frobenius norm of the centred Gram matrix of ``kernel``, a 0-d array."""
    if kernel.name == "linear" and has_large_gram(x):
        return large_gram_products([x]).astype(x.dtype)[0, 0]
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
    """Return the root of the HSIC of x with itself, up to a factor that depends on n and the
    estimator alone.

    Raises ``UndefinedError`` where only rounding error is left of the estimate.
    """
    product = squared_gram_norm(x, kernel)
    if kernel.name in DISTANCE_KERNELS:
        _require_digits(x, scalar(product))
    squared = estimate_hsic(product, (x, x), kernel, estimator)
    if estimator == "features":
        squared = _feature_population_hsic(x, squared)
    if scalar(squared) <= 1e-12 * scalar(product):
        raise UndefinedError(_reason_without_self_similarity(x, kernel, estimator))
    return squared**0.5


def _reason_without_self_similarity(
    x: Representation, kernel: GramKernel, estimator: Estimator
) -> str:
    """Return why the estimate of the HSIC of a representation with itself is not positive."""
    title, (n, d) = representation_title(x), x.shape
    if estimator == "features":
        counts = f"{n} samples of {d} features"
        return f"cka: the features self-similarity is not positive ({counts} are too few)"
    # The mean kernel value of two different samples; K has ones on the diagonal before centring
    mean_similarity = 1 - scalar(gram_trace(x, kernel)) / (n - 1)
    if kernel.name in DISTANCE_KERNELS and mean_similarity < NARROW_KERNEL_MEAN:
        return (
            "cka: the kernel is so much narrower than the distances between samples of "
            f"{title} that every sample is similar to itself alone; take a larger width or "
            "bandwidth"
        )
    return (
        f"cka: the {estimator} self-similarity of {title} is not positive: without the diagonal of "
        "the Gram matrix, no pair of samples is more similar than other pairs, as for one-hot rows "
        "or one sample apart from equal samples; estimator='biased' keeps the diagonal"
    )


def _require_digits(x: Representation, squared_norm: float) -> None:
    """Raise ``UndefinedError`` if the kernel is so wide that subtracting the means of the kernel
    matrix costs half of the digits. ``squared_norm``: of the centred kernel matrix."""
    if squared_norm <= epsilon(x.array) * x.n_samples**2:
        raise UndefinedError(
            "cka: the kernel is so much wider than the distances between samples of "
            f"{representation_title(x)} that its values are 1 up to rounding; take a smaller width"
        )


def _feature_population_hsic(x: Representation, squared: Array) -> Array:
    """Return the estimate of the HSIC of a population of features with itself, from a sample of d
    features: remove the debiased HSIC of every feature with itself, and multiply the rest by d / (d
    - 1).

    ``squared``: the debiased HSIC of x with itself. Raises ``UndefinedError`` for d < 2.
    """
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
    """Return the estimate of HSIC, up to a factor that depends on n and the estimator alone, from
    the inner product of two centred Gram matrices.

    ``product``: the inner product of the Gram matrices of ``pair``. ``"biased"`` returns
    ``product``. ``"debiased"`` is Eq. 5 of Song et al. 2012, simplified for centred K and L with
    rows that sum to zero. ``"features"`` gives the same value as ``"debiased"``; for a
    representation with itself, the caller must remove the pairs of a feature with itself
    (:func:`_feature_population_hsic`). ``"lange"`` subtracts the inner product of the two
    diagonals.
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
    """Return the estimate of HSIC, up to a factor that depends on n and the estimator alone,
    without the terms of a sample with itself.

    ``product``: the inner product of two centred matrices. ``diagonal``: the inner product of their
    diagonals. ``traces``: the product of their traces. The three may be arrays of any common shape.
    ``estimator``: "debiased", "features" or "lange"; "biased" keeps the diagonals.
    """
    if estimator == "lange":
        return product - diagonal
    return product - diagonal * n / (n - 2) + traces / ((n - 1) * (n - 2))


# ---------------------------------------------------------------------------------------- of a pair


@cached_pair(swap=return_unchanged)
def gram_inner(x: Representation, y: Representation, kernel: GramKernel) -> Array:
    """Return the inner product of the centred Gram matrices of x and y, a 0-d array."""
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
    """Return the estimate of the Hilbert-Schmidt independence criterion of x and y, up to a factor
    that depends on n and the estimator alone (see :func:`resemblance.cka`)."""
    return estimate_hsic(gram_inner(x, y, kernel), (x, y), kernel, estimator)


# ------------------------------------------------------------------------------------- many samples


@cached("n n")
def squared_distances(x: Representation) -> Array:
    """Return the squared Euclidean distances between the samples in unit size (centred, Frobenius
    norm 1), shape (n, n)."""
    return full_matrix(squared_distance_function(inlier_centered_points(x)), x.array)


def shares_distances() -> bool:
    """Return whether the code runs inside :func:`share_distances`."""
    return _SHARES_DISTANCES.get()


def share_distances() -> AbstractContextManager[None]:
    """Inside this context, kernels of several widths share the squared distances, in one more
    matrix; for many samples, where no matrix is stored, the distances are computed again."""
    return context_value(_SHARES_DISTANCES, True)


def kernel_entries(
    x: Representation, kernel: GramKernel, median: Callable[[Representation, MedianPairs], Any]
) -> BlockFunction:
    """Return a function that computes blocks of the kernel matrix of :func:`~.grams.distance_gram`
    before centring.

    ``median``: the function that returns the median distance of a representation. Raises
    ``UndefinedError`` if the width is a multiple of a median of 0.
    """
    points, xp = inlier_centered_points(x), x.xp
    if kernel.width is None:
        sigma = kernel.bandwidth * median(x, kernel.pairs)
    else:
        sigma = safe_quotient(kernel.width, size(x), points)  # the points have unit size
    if scalar(sigma) == 0:
        raise UndefinedError(
            f"the median distance between samples of {representation_title(x)} is zero, so the "
            "kernel has no width"
        )
    if shares_distances() and not is_blockwise(x):
        matrix = squared_distances(x)
        squares: BlockFunction = lambda tile: matrix[tile.rows, tile.columns]  # noqa: E731
    else:
        squares = squared_distance_function(points)
    if kernel.name == "laplace":
        form = np.sqrt if isinstance(points, np.ndarray) else safe_sqrt  # no square is negative
        return lambda tile: xp.exp(form(squares(tile)) / -sigma)
    return lambda tile: xp.exp(squares(tile) / (-2 * sigma**2))


@cached("n", "scalar", "scalar")
def kernel_centering_terms(x: Representation, kernel: GramKernel) -> CenteringTerms:
    """Return the row means, the overall mean and the centred squared norm of the matrix of a
    kernel of distances."""
    return centering_terms(_uncentered_kernel_entries(x, kernel), x.shape[0])


def _uncentered_kernel_entries(x: Representation, kernel: GramKernel) -> BlockFunction:
    return kernel_entries(x, kernel, median_distance_by_selection)


def centered_kernel_entries(x: Representation, kernel: GramKernel) -> BlockFunction:
    """Return a function that computes blocks of the double-centred matrix of a kernel of
    distances."""
    return double_centered_entries(
        _uncentered_kernel_entries(x, kernel), kernel_centering_terms(x, kernel), preshape(x)
    )


def centered_kernel_diagonal(x: Representation, kernel: GramKernel) -> Array:
    """Return the diagonal of the double-centred matrix of a kernel of distances, shape (n,)."""
    margins = kernel_centering_terms(x, kernel)
    return as_array_like(1 - 2 * margins.means + margins.mean, x.array)
