"""The pair matrices of the measures: Gram matrices, projections, distances and dissimilarities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base.arrays import (
    Array,
    as_array_like,
    as_float64,
    euclidean_norm,
    frobenius_inner,
    namespace,
    scalar,
)
from ..data.representation import Representation, cached, store_value
from .distances import (
    SampleCovariance,
    centered_distance_entries,
    deviation_sums,
    dissimilarity_entries,
    dissimilarity_summary,
    distance_centering_terms,
    distance_deviation,
    distances,
    double_centered_distances,
    mean_distance,
    rdm_vector,
    require_u_centered,
    u_centered_norm,
    whitened_gram,
)
from .grams import (
    DISTANCE_KERNELS,
    Estimator,
    GramKernel,
    MedianPairs,
    centered_directions,
    centered_kernel_entries,
    compares_gram_entries,
    condensed_gram_blocks,
    distance_gram,
    gram_diagonal,
    gram_entries,
    gram_trace,
    hsic_norm,
    squared_gram_norm,
)
from .missing_pairs import require_no_missing_pairs
from .pair_matrix import DenseMatrix, FactoredMatrix, Factors
from .points import is_rotated, preshape, size
from .rank_bins import rank_bins, rank_entries
from .rectangles import (
    BlockFunction,
    MatrixBlock,
    is_blockwise,
    row_inner_products,
    set_diagonal,
    upper_blocks,
)
from .spectra import (
    Decomposition,
    component_count_with_ties,
    decomposition,
    has_accurate_inverse,
    numerical_rank,
    orthonormal_basis,
    unspanned_direction,
)

LINEAR_KERNEL = GramKernel("linear")


def _entries_or_blocks(
    x: Representation,
    entries: Callable[[], Array],
    blocks: Callable[[], BlockFunction],
    **numbers: Any,
) -> DenseMatrix:
    """Return a matrix of x with the entries ``entries()``; for many samples with ``blocks()``, a
    block function that computes entries again in every pass. ``numbers``: the known trace, total
    and square."""
    if is_blockwise(x):
        return DenseMatrix(x.n_samples, blocks=blocks, **numbers)
    return DenseMatrix(x.n_samples, entries, **numbers)


def _gram_of_points(
    x: Representation, points: Callable[[], Array], **numbers: Any
) -> FactoredMatrix:
    """Return the matrix P P' of the inner products of ``points()`` = P (n, r). ``points`` is
    called when the matrix is read. ``numbers``: the known trace, total and square."""

    def factors() -> Factors:
        matrix = as_float64(points())
        return Factors(matrix, matrix[:, :0], matrix[:, :0])

    return FactoredMatrix(x.n_samples, factors, **numbers)


def kernel_gram(x: Representation, kernel: GramKernel) -> DenseMatrix | FactoredMatrix:
    """Return the centred Gram matrix of ``kernel``, (n, n)."""
    numbers: dict[str, Any] = {"trace": scalar(gram_trace(x, kernel)), "total": 0.0}
    numbers["square"] = scalar(squared_gram_norm(x, kernel))
    if kernel.name == "linear" and compares_gram_entries(x, x) and not is_blockwise(x):
        return DenseMatrix(x.n_samples, partial(gram_entries, x), **numbers)
    if kernel.name in ("linear", "cosine"):
        points = preshape if kernel.name == "linear" else centered_directions
        return _gram_of_points(x, lambda: points(x), **numbers)
    blocks = partial(centered_kernel_entries, x, kernel)
    return _entries_or_blocks(x, partial(distance_gram, x, kernel), blocks, **numbers)


def centered_gram(
    x: Representation,
    kernel: str,
    estimator: Estimator,
    bandwidth: float = 1.0,
    pairs: MedianPairs = "distinct",
    width: float | None = None,
) -> DenseMatrix | FactoredMatrix:
    """Return the Gram matrix (n, n) of the kernel on the samples, centred: doubly for the estimator
    "biased", U-centred for "debiased" and "features", doubly and then with a zero diagonal for
    "lange".

    ``bandwidth`` (a multiple of the median distance over ``pairs``) or ``width`` is the width of a
    kernel of distances.
    """
    gram_kernel = GramKernel(kernel, bandwidth, pairs, width)
    gram, n = kernel_gram(x, gram_kernel), x.n_samples
    numbers: dict[str, Any] = {"trace": gram.trace, "total": 0.0, "square": gram.square}
    if estimator != "biased":
        own = "debiased" if estimator == "features" else estimator
        square = scalar(hsic_norm(x, gram_kernel, own)) ** 2
        total = -gram.trace if estimator == "lange" else 0.0
        numbers = {"trace": 0.0, "total": total, "square": square}
    if kernel in ("linear", "cosine") and not is_rotated(x):
        factors = partial(_gram_factors, x, gram_kernel, estimator)
        return FactoredMatrix(n, factors, partial(gram_powers, x, kernel, estimator), **numbers)
    if estimator == "biased":
        return gram
    blocks = partial(_centered_gram_blocks, x, gram_kernel, estimator)
    return DenseMatrix(n, blocks=blocks, **numbers)


def _gram_factors(x: Representation, kernel: GramKernel, estimator: Estimator) -> Factors:
    """Return the parts of :func:`centered_gram` for a linear or a cosine kernel."""
    points = as_float64((preshape if kernel.name == "linear" else centered_directions)(x))
    if estimator == "biased":
        return Factors(points, points[:, :0], points[:, :0])
    u, ones = as_float64(_centering_terms(x, kernel, estimator)), np.ones(len(points))
    left, right = np.column_stack([u, ones]), np.column_stack([ones, u])
    return Factors(points, left, right, np.zeros(len(points)))


def _centered_gram_blocks(
    x: Representation, kernel: GramKernel, estimator: Estimator
) -> BlockFunction:
    """Return a function that computes blocks of :func:`centered_gram`, on and above the
    diagonal."""
    if kernel.name == "linear" and compares_gram_entries(x, x) and not is_blockwise(x):
        entries = condensed_gram_blocks(x)
    else:
        entries = kernel_gram(x, kernel).block
    if estimator == "biased":
        return entries
    return _off_diagonal_blocks(entries, _centering_terms(x, kernel, estimator))


def gram_row_products(
    representations: Sequence[Representation],
    positions: Sequence[tuple[int, int]],
    kernel: str = "linear",
    estimator: Estimator = "biased",
) -> np.ndarray:
    """Return the inner products of the rows of :func:`centered_gram`, linear or cosine, for pairs
    of ``positions`` in ``representations``, shape (pairs, n).

    Each block of a matrix is computed once, for all pairs and for :func:`gram_powers`, which the
    function stores in the caches.
    """
    gram_kernel = GramKernel(kernel)
    matrices = [_centered_gram_blocks(r, gram_kernel, estimator) for r in representations]
    products, powers = row_inner_products(matrices, positions, representations[0].n_samples)
    for r, sums in zip(representations, powers):
        store_value(r, gram_powers, sums, kernel, estimator)
    return products


@cached("k n")
def gram_powers(x: Representation, kernel: str, estimator: Estimator) -> np.ndarray:
    """Return the sums of squares and the sums of cubes of the entries of every row of
    :func:`centered_gram`, linear or cosine, off the diagonal, (2, n)."""
    matrix = _centered_gram_blocks(x, GramKernel(kernel), estimator)
    return row_inner_products([matrix], [], x.n_samples)[1][0]


def _centering_terms(x: Representation, kernel: GramKernel, estimator: Estimator) -> Array:
    diagonal = gram_diagonal(x, kernel)
    if kernel.name not in DISTANCE_KERNELS or not is_blockwise(x):
        diagonal = as_float64(diagonal)
    return _u_centering_terms(diagonal) * (estimator != "lange")


def _u_centering_terms(k: Array) -> Array:
    """Return u, shape (n,): K + u 1ᵀ + 1 uᵀ with a zero diagonal is the U-centred matrix of a
    centred K with the diagonal ``k``.

    The rows of K sum to zero: without the diagonal k, the row sums are -k and the total is -sum k.
    """
    n = k.shape[0]
    return k / (n - 2) - namespace(k).sum(k) / (2 * (n - 1) * (n - 2))


def _off_diagonal_blocks(entries: BlockFunction, terms: Array) -> BlockFunction:
    """Return a function that computes blocks of K + u 1ᵀ + 1 uᵀ with a zero diagonal, where
    ``entries`` computes blocks of K and ``terms`` is u, (n,)."""

    def off_diagonal(tile: MatrixBlock) -> Array:
        block = entries(tile)
        block += terms[tile.rows, None]
        block += terms[None, tile.columns]
        return set_diagonal(block) if tile.is_square else block

    return off_diagonal


def linear_gram(x: Representation) -> DenseMatrix | FactoredMatrix:
    """Return the Gram matrix (n, n) of the centred points in unit size (Frobenius norm 1)."""
    return kernel_gram(x, LINEAR_KERNEL)


def _projection_on_basis(
    x: Representation, dimensions: int, basis: Callable[[], Array], total: float = 0.0
) -> FactoredMatrix:
    numbers: dict[str, Any] = {"trace": dimensions, "total": total, "square": dimensions}
    return _gram_of_points(x, basis, **numbers)


def projection(x: Representation) -> FactoredMatrix:
    """Return the projection (n, n) on the span of the centred columns."""
    return _projection_on_basis(x, numerical_rank(x), partial(orthonormal_basis, x))


def uncentered_projection(x: Representation) -> FactoredMatrix:
    """Return the projection (n, n) on the span of the uncentred columns."""
    basis = partial(orthonormal_basis, x, centered=False)
    return _projection_on_basis(x, numerical_rank(x, centered=False), basis, basis_sum(x))


def leading_projection(x: Representation, k: int) -> FactoredMatrix:
    """Return the projection (n, n) on the k leading principal components and the components tied
    with the last."""
    count = component_count_with_ties(x, count=k)
    return _projection_on_basis(x, count, lambda: decomposition(x).basis[:, :count])


@cached("scalar")
def basis_sum(x: Representation) -> float:
    """Return the sum of all n² entries of the projection (n, n) on the uncentred columns: n if the
    span contains the constant, otherwise less."""
    if has_accurate_inverse(x, full=True):
        return x.n_samples * scalar(euclidean_norm(unspanned_direction(x)[0])) ** 2
    basis = orthonormal_basis(x, centered=False)
    sums = x.xp.sum(basis, axis=0)
    # A stream has fewer points than samples, so a point counts for several samples.
    scale = x.n_samples / int(basis.shape[0])
    return scalar(x.xp.sum(sums**2)) * scale


def ridge_smoother(x: Representation, ridge: float) -> FactoredMatrix:
    """Return the smoother matrix (n, n) of ridge regression, from centred targets to predictions.
    ``ridge``: in the squared units of the points in unit size (centred, Frobenius norm 1)."""
    parts = decomposition(x)
    variance = as_float64(parts.singular) ** 2
    return _matrix_of_eigenvalues(x, parts, variance / (variance + ridge))


def leading_gram(x: Representation, k: int) -> FactoredMatrix:
    """Return the Gram matrix (n, n) of the k leading principal components and the components tied
    with the last."""
    parts = decomposition(x)
    return _matrix_of_eigenvalues(
        x, parts, as_float64(parts.singular[: component_count_with_ties(x, count=k)]) ** 2
    )


def _matrix_of_eigenvalues(
    x: Representation, parts: Decomposition, weights: np.ndarray
) -> FactoredMatrix:
    """Return U diag(weights) U', where U holds the leading ``len(weights)`` left singular vectors
    of ``parts``."""
    numbers: dict[str, Any] = {
        "trace": float(weights.sum()),
        "total": 0.0,
        "square": float(weights @ weights),
    }
    basis = parts.basis[:, : len(weights)]
    return _gram_of_points(x, lambda: as_float64(basis) * np.sqrt(weights), **numbers)


def distance_pair_matrix(x: Representation) -> DenseMatrix:
    """Return the double-centred Euclidean distances between the samples in unit size (Frobenius
    norm 1), (n, n)."""
    n = x.n_samples
    if is_blockwise(x):
        margins = distance_centering_terms(x)
        trace, square = -n * margins.mean, margins.energy
    else:
        trace, square = -(n - 1) * scalar(mean_distance(x)), scalar(distance_deviation(x)) ** 2
    entries, blocks = partial(double_centered_distances, x), partial(centered_distance_entries, x)
    return _entries_or_blocks(x, entries, blocks, trace=trace, total=0.0, square=square)


def u_centered_distance_matrix(x: Representation) -> DenseMatrix:
    """Return the U-centred Euclidean distances between the samples in unit size (Frobenius norm 1),
    (n, n), with a zero diagonal."""
    matrix, n = distance_pair_matrix(x), x.n_samples
    if is_blockwise(x):
        margins = distance_centering_terms(x)
        diagonal = as_array_like(margins.mean - 2 * margins.means, x.array)
    else:
        mean = mean_distance(x)
        diagonal = as_float64((mean - 2 * deviation_sums(x)) / n - mean)
    entries = _off_diagonal_blocks(matrix.block, _u_centering_terms(diagonal))
    if is_blockwise(x):  # a difference of sums would lose the digits that an outlier takes
        parts = ((tile.weight, entries(tile)) for tile in upper_blocks(n))
        square = math.fsum(weight * float(frobenius_inner(b, b)) for weight, b in parts)
        require_u_centered(x, square, matrix.square)
    else:
        square = scalar(u_centered_norm(x)) ** 2
    return DenseMatrix(n, blocks=lambda: entries, trace=0.0, total=0.0, square=square)


def unscaled_distance_matrix(x: Representation) -> np.ndarray:
    """Return the Euclidean distances in the units of the activations, (n, n) in float64."""
    length, n = scalar(size(x)), x.shape[0]
    return length * as_float64(distances(x)) if length else np.zeros((n, n))


def dissimilarity_pair_matrix(
    x: Representation, rdm: str, compare: str, covariance: SampleCovariance = None
) -> DenseMatrix:
    """Return the dissimilarities ``rdm`` between the samples, prepared for the comparison
    ``compare``, as a symmetric matrix (n, n) with a zero diagonal; whitened dissimilarities as a
    centred matrix.

    ``covariance`` of the errors of the samples, for whitened dissimilarities: None for equal
    variances, n variances, or an (n, n) matrix.
    """
    if compare.startswith("whitened"):
        gram = whitened_gram(x, rdm, compare, covariance)
        return DenseMatrix(len(gram), lambda: gram, square=1.0)
    require_no_missing_pairs(x)
    n, total, square = x.shape[0], 0.0, 2.0
    if is_blockwise(x):
        spread = dissimilarity_summary(x, kind=rdm)
        total = n * (n - 1) * spread.mean if compare == "cosine" else 0.0
        square = spread.squares + total * spread.mean
        square = rank_bins(x, kind=rdm).energy if compare == "spearman" else square
    elif compare == "cosine":
        total = dissimilarity_sum(x, kind=rdm)

    def entries() -> np.ndarray:
        from scipy.spatial.distance import squareform

        return squareform(as_float64(rdm_vector(x, kind=rdm, compare=compare)), checks=False)

    blocks = partial(comparable_entries, x, rdm, compare)
    return _entries_or_blocks(x, entries, blocks, trace=0.0, total=total, square=square)


@cached("scalar")
def dissimilarity_sum(x: Representation, kind: str) -> float:
    """Return the sum over ordered pairs of the dissimilarities of ``kind``, scaled so that the
    vector of unordered pairs has norm 1."""
    return 2 * scalar(x.xp.sum(rdm_vector(x, kind=kind, compare="cosine")))


def comparable_entries(x: Representation, kind: str, compare: str) -> BlockFunction:
    """Return a function that computes blocks of the compared form of the dissimilarities, 0 on the
    diagonal: centred mean ranks for "spearman", dissimilarities minus their mean for "pearson",
    else the dissimilarities."""
    if compare == "spearman":
        return rank_entries(x, kind)
    mean = dissimilarity_summary(x, kind=kind).mean if compare == "pearson" else 0.0
    entries = dissimilarity_entries(x, kind)

    def centered(tile: MatrixBlock) -> Array:
        block = entries(tile)
        block -= mean
        return set_diagonal(block) if tile.is_square else block

    return centered
