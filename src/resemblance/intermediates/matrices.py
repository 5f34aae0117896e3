"""Matrices of all pairs of samples, one per representation: many measures are functions of the
inner product of two such matrices.

A matrix is a light wrapper, created on request: the cache holds its numbers and arrays as
intermediates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..base.arrays import Array, as_float64, euclidean_norm, namespace, scalar, to_numpy
from ..data.representation import Representation, cached
from .distances import (
    centered_distance_entries,
    dissimilarity_entries,
    dissimilarity_summary,
    distance_centering_terms,
    distance_deviation,
    distances,
    double_centered_distances,
    mean_distance,
    rdm_vector,
    whitened_gram,
)
from .grams import (
    Estimator,
    GramKernel,
    MedianPairs,
    centered_directions,
    centered_kernel_entries,
    compares_gram_entries,
    distance_gram,
    gram_diagonal,
    gram_entries,
    gram_trace,
    hsic_norm,
    squared_gram_norm,
)
from .missing_pairs import require_no_missing_pairs
from .neighbor_kernels import double_centered_product, row_centered_product
from .points import preshape, size, unit
from .rank_bins import rank_bins, rank_entries
from .rectangles import (
    BlockFunction,
    MatrixBlock,
    block_function_of_matrix,
    is_blockwise,
    set_diagonal,
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

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LINEAR_KERNEL = GramKernel("linear")
FactorArrays = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class PairMatrix(ABC):
    """An (n, n) matrix A of a representation. Permuting the samples permutes the rows and columns
    of A.

    ``samples``: n. ``trace``: tr A. ``total``: the sum of all entries, 0 if A is centred.
    ``square``: <A, A>.
    """

    samples: int
    trace: float
    total: float = 0.0
    square: float

    @abstractmethod
    def dense(self) -> np.ndarray:
        """Return a copy of the entries in float64, shape (n, n)."""

    def factors(self, max_rank: int, column: np.ndarray | None = None) -> FactorArrays | None:
        """Return F, W and the diagonal of A, where A equals F W Fᵀ off the diagonal, as arrays that
        the caller may overwrite. None if unknown, or if F has more than ``max_rank`` columns of
        points.

        The columns of F are the points, a column of ones, then ``column``. W is the identity,
        except for its last rows and columns (for the ones and ``column``): only this part of W is
        returned.
        """
        return None


def expected_inner(a: PairMatrix, b: PairMatrix) -> float:
    r"""Return the mean of <A, B> over all n! permutations of the samples of B.

    .. math:: \frac{\operatorname{tr} A \operatorname{tr} B}{n} + \frac{\operatorname{off} A
        \operatorname{off} B}{n (n - 1)}

    with off the sum of the entries off the diagonal.
    """
    n = a.samples
    return a.trace * b.trace / n + (a.total - a.trace) * (b.total - b.trace) / (n * (n - 1))


def expected_cosine(a: PairMatrix, b: PairMatrix) -> float:
    """Return the mean cosine of A and B over all permutations of the samples of B."""
    return expected_inner(a, b) / math.sqrt(a.square * b.square)


@dataclass(frozen=True, kw_only=True)
class FactoredPairMatrix(PairMatrix):
    """The matrix P Pᵀ of points P, (n, d). ``points``, ``entries`` and ``on_diagonal`` return
    intermediates; ``entries`` is set where comparing entries is less work, ``on_diagonal`` where
    the diagonal is needed."""

    points: Callable[[], Array]
    entries: Callable[[], np.ndarray] | None = None
    on_diagonal: Callable[[], Array] | None = None

    def factors(self, max_rank: int, column: np.ndarray | None = None) -> FactorArrays | None:
        """Return the points, with extra columns of weight 0. None if the points are wider than
        ``max_rank``, or where entries are less work than wide points."""
        if self.entries or self.points().shape[1] > max_rank:
            return None
        points = as_float64(self.points())
        extra_columns = [np.ones(len(points)), *([] if column is None else [column])]
        last = np.zeros((len(extra_columns), len(extra_columns)))
        return np.column_stack([points, *extra_columns]), last, self.diagonal()

    def dense(self) -> np.ndarray:
        """Return a copy of the entries in float64, shape (n, n)."""
        if self.entries:
            return self.entries().copy()
        points = as_float64(self.points())
        return points @ points.T

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, shape (n,)."""
        if self.on_diagonal:
            return as_float64(self.on_diagonal())
        points = as_float64(self.points())
        return np.vecdot(points, points)

    def pieces(self) -> BlockFunction:
        """Return a block function for the entries in float64."""
        if self.entries:
            return block_function_of_matrix(self.entries())
        points = as_float64(self.points())
        return lambda tile: points[tile.rows] @ points[tile.columns].T

    def times(self, factors: np.ndarray) -> np.ndarray:
        """Return the product with a vector, shape (n,), or with columns, shape (n, columns)."""
        if self.entries:
            return self.entries() @ factors
        points = as_float64(self.points())
        return points @ (points.T @ factors)

    def inner_of_rows(self, other: Any) -> np.ndarray:
        """Return the inner products of the rows of this matrix and of ``other``, shape (n,)."""
        if self.entries and other.entries:
            return np.vecdot(self.entries(), other.entries())
        wide, narrow = (self, other) if self.entries else (other, self)
        points = as_float64(narrow.points())
        return np.vecdot(wide.times(points), points)


@dataclass(frozen=True, kw_only=True)
class StoredPairMatrix(PairMatrix):
    """A matrix with entries in memory, (n, n), or with ``blocks`` that are computed again for many
    samples.

    ``by_piece`` returns a block function in float64, if the blocks do not need all entries.
    """

    entries: Callable[[], Array]
    blocks: Callable[[], BlockFunction] | None = None
    by_piece: Callable[[], BlockFunction] | None = None
    factored: Callable[[int], FactorArrays | None] = lambda most: None

    def factors(self, max_rank: int, column: np.ndarray | None = None) -> FactorArrays | None:
        """Return the factors of the matrix off the diagonal, if that part has low rank."""
        return self.factored(max_rank) if column is None else None

    def dense(self) -> np.ndarray:
        """Return a copy of the entries in float64, shape (n, n)."""
        return np.array(to_numpy(self.entries()), dtype=np.float64)

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, shape (n,)."""
        return np.diagonal(as_float64(self.entries()))

    def pieces(self) -> BlockFunction:
        """Return a block function for the entries in float64."""
        return (
            self.by_piece()
            if self.by_piece
            else block_function_of_matrix(as_float64(self.entries()))
        )

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with a vector, shape (n,)."""
        return as_float64(self.entries()) @ vector

    def inner_of_rows(self, other: Any) -> np.ndarray:
        """Return the inner products of the rows of this matrix and of ``other``, shape (n,)."""
        return np.vecdot(as_float64(self.entries()), as_float64(other.entries()))


@dataclass(frozen=True, kw_only=True)
class SparsePairMatrix(PairMatrix):
    """A sparse matrix times ``factor``, with centred rows, centred rows and columns, or no
    centring."""

    kernel: csr_array
    centered: Literal["no", "rows", "both"] = "no"
    factor: float = 1.0

    def dense(self) -> np.ndarray:
        """Return a copy of the entries in float64, shape (n, n)."""
        matrix = np.asarray(self.kernel.toarray(), dtype=np.float64)
        if self.centered != "no":
            matrix -= matrix.mean(axis=1, keepdims=True)
        if self.centered == "both":
            matrix -= matrix.mean(axis=0)
        return matrix * self.factor

    def cosine(self, other: SparsePairMatrix) -> float:
        """Return the cosine of two centred matrices."""
        product = double_centered_product if self.centered == "both" else row_centered_product
        value = product(self.kernel, other.kernel) / math.sqrt(self.square * other.square)
        return float(np.clip(value, -1, 1))


# ------------------------------------------------------------------------ matrices of all samples


def kernel_gram(x: Representation, kernel: GramKernel) -> FactoredPairMatrix | StoredPairMatrix:
    """Return the centred Gram matrix of a kernel."""
    numbers: dict[str, Any] = {"samples": x.n_samples, "trace": scalar(gram_trace(x, kernel))}
    numbers["square"] = scalar(squared_gram_norm(x, kernel))
    diagonal = partial(gram_diagonal, x, kernel)
    if kernel.name == "linear" and compares_gram_entries(x, x) and not is_blockwise(x):
        entries = partial(gram_entries, x)
        return FactoredPairMatrix(
            **numbers, points=partial(unit, x), entries=entries, on_diagonal=diagonal
        )
    if kernel.name in ("linear", "cosine"):
        points = preshape if kernel.name == "linear" else centered_directions
        return FactoredPairMatrix(**numbers, points=partial(points, x), on_diagonal=diagonal)
    pieces = partial(centered_kernel_entries, x, kernel)
    return StoredPairMatrix(**numbers, entries=partial(distance_gram, x, kernel), blocks=pieces)


def centered_gram(
    x: Representation, kernel: str, estimator: Estimator, bandwidth: float, pairs: MedianPairs
) -> FactoredPairMatrix | StoredPairMatrix:
    """Return :func:`kernel_gram`; U-centred for the debiased estimator, with a zero diagonal for
    the estimator of Lange et al."""
    gram_kernel = GramKernel(kernel, bandwidth, pairs)
    gram = kernel_gram(x, gram_kernel)
    if estimator == "biased":
        return gram
    return StoredPairMatrix(
        samples=x.n_samples,
        trace=0.0,
        total=0.0 if estimator == "debiased" else -gram.trace,
        square=scalar(hsic_norm(x, gram_kernel, estimator)) ** 2,
        entries=lambda: _remove_diagonal(gram.dense(), gram_diagonal(x, gram_kernel), estimator),
        factored=lambda max_rank: _off_diagonal_factors(
            gram, gram_diagonal(x, gram_kernel), estimator, max_rank
        ),
        blocks=lambda: _off_diagonal_blocks(
            centered_kernel_entries(x, gram_kernel), gram_diagonal(x, gram_kernel), estimator
        ),
        by_piece=lambda: _off_diagonal_blocks(
            gram.pieces(), as_float64(gram_diagonal(x, gram_kernel)), estimator
        ),
    )


def _off_diagonal_factors(
    gram: FactoredPairMatrix | StoredPairMatrix,
    diagonal: Array,
    estimator: Estimator,
    max_rank: int,
) -> FactorArrays | None:
    """Return the factors of :func:`_remove_diagonal`."""
    k, n, last = as_float64(diagonal), gram.samples, np.zeros((2, 2))
    if estimator == "debiased":
        last = np.array([[-k.sum() / (n - 1), 1], [1, 0]]) / (n - 2)
    factors = gram.factors(max_rank, k)
    return factors and (factors[0], last, np.zeros(n))


def _remove_diagonal(matrix: np.ndarray, diagonal: Array, estimator: Estimator) -> np.ndarray:
    """Return a centred matrix without its diagonal, U-centred if ``estimator`` is "debiased". The
    input is overwritten.

    The rows of K sum to zero: without the diagonal k, the row sums are -k and the total is -sum k.
    """
    k, n = as_float64(diagonal), len(matrix)
    if estimator == "debiased":
        part = k / (n - 2)
        matrix += part[:, None] - k.sum() / ((n - 1) * (n - 2))
        matrix += part
    np.fill_diagonal(matrix, 0)
    return matrix


def _off_diagonal_blocks(entries: BlockFunction, k: Array, estimator: Estimator) -> BlockFunction:
    """Return a block function for the matrix of :func:`_remove_diagonal`."""
    n, total = k.shape[0], scalar(namespace(k).sum(k))
    part = k / (n - 2) - total / (2 * (n - 1) * (n - 2))

    def without(tile: MatrixBlock) -> Array:
        block = entries(tile)
        if estimator == "debiased":
            block += part[tile.rows, None]
            block += part[None, tile.columns]
        return set_diagonal(block) if tile.is_square else block

    return without


def linear_gram(x: Representation) -> FactoredPairMatrix | StoredPairMatrix:
    """Return the Gram matrix of the centred points in unit size."""
    return kernel_gram(x, LINEAR_KERNEL)


def _projection_on_basis(
    x: Representation, dimensions: int, basis: Callable[[], Array], total: float = 0.0
) -> FactoredPairMatrix:
    numbers: dict[str, Any] = {"trace": dimensions, "total": total, "square": dimensions}
    return FactoredPairMatrix(samples=x.n_samples, **numbers, points=basis)


def projection(x: Representation) -> FactoredPairMatrix:
    """Return the projection on the span of the centred columns."""
    return _projection_on_basis(x, numerical_rank(x), partial(orthonormal_basis, x))


def uncentered_projection(x: Representation) -> FactoredPairMatrix:
    """Return the projection on the span of the uncentred columns."""
    basis = partial(orthonormal_basis, x, centered=False)
    return _projection_on_basis(x, numerical_rank(x, centered=False), basis, basis_sum(x))


def leading_projection(x: Representation, k: int) -> FactoredPairMatrix:
    """Return the projection on the k leading principal components and the components tied with the
    last."""
    count = component_count_with_ties(x, count=k)
    return _projection_on_basis(x, count, lambda: decomposition(x).basis[:, :count])


@cached("scalar")
def basis_sum(x: Representation) -> float:
    """Return the sum of the entries of the projection on the uncentred columns: n if the span
    contains the constant."""
    if has_accurate_inverse(x, full=True):
        return x.n_samples * scalar(euclidean_norm(unspanned_direction(x)[0])) ** 2
    basis = orthonormal_basis(x, centered=False)
    sums = x.xp.sum(basis, axis=0)
    # A stream has fewer points than samples, so a point counts for several samples.
    scale = x.n_samples / int(basis.shape[0])
    return scalar(x.xp.sum(sums**2)) * scale


def ridge_smoother(x: Representation, ridge: float) -> FactoredPairMatrix:
    """Return the smoother matrix of ridge regression, from targets to predictions."""
    parts = decomposition(x)
    variance = as_float64(parts.singular) ** 2
    return _matrix_of_eigenvalues(x, parts, variance / (variance + ridge))


def leading_gram(x: Representation, k: int) -> FactoredPairMatrix:
    """Return the Gram matrix of the k leading principal components and the components tied with the
    last."""
    parts = decomposition(x)
    return _matrix_of_eigenvalues(
        x, parts, as_float64(parts.singular[: component_count_with_ties(x, count=k)]) ** 2
    )


def _matrix_of_eigenvalues(
    x: Representation, parts: Decomposition, weights: np.ndarray
) -> FactoredPairMatrix:
    """Return the matrix with eigenvalues ``weights`` for the leading singular vectors."""
    return FactoredPairMatrix(
        samples=x.n_samples,
        trace=float(weights.sum()),
        square=float(weights @ weights),
        points=lambda: as_float64(parts.basis[:, : len(weights)]) * np.sqrt(weights),
    )


def distance_pair_matrix(x: Representation) -> StoredPairMatrix:
    """Return the double-centred Euclidean distances."""
    n = x.n_samples
    if is_blockwise(x):
        margins = distance_centering_terms(x)
        trace, square = -n * margins.mean, margins.energy
    else:
        trace, square = -(n - 1) * scalar(mean_distance(x)), scalar(distance_deviation(x)) ** 2
    entries, pieces = partial(double_centered_distances, x), partial(centered_distance_entries, x)
    return StoredPairMatrix(samples=n, trace=trace, square=square, entries=entries, blocks=pieces)


def unscaled_distance_matrix(x: Representation) -> np.ndarray:
    """Return the Euclidean distances in the units of the activations."""
    length, n = scalar(size(x)), x.shape[0]
    return length * as_float64(distances(x)) if length else np.zeros((n, n))


def dissimilarity_pair_matrix(
    x: Representation, rdm: str, compare: str, variances: tuple[float, ...] | None = None
) -> StoredPairMatrix:
    """Return the dissimilarities, prepared for comparison, as a symmetric matrix with a zero
    diagonal; whitened dissimilarities as a centred matrix."""
    if compare.startswith("whitened"):
        gram = whitened_gram(x, rdm, compare, variances)
        trace, entry_sum = float(np.trace(gram)), float(gram.sum())
        return StoredPairMatrix(
            samples=len(gram), trace=trace, total=entry_sum, square=1.0, entries=gram.copy
        )
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

        vector = as_float64(rdm_vector(x, kind=rdm, compare=compare))
        return squareform(vector * math.sqrt(square / 2), checks=False)

    pieces = partial(comparable_entries, x, rdm, compare)
    return StoredPairMatrix(
        samples=n, trace=0.0, total=total, square=square, entries=entries, blocks=pieces
    )


@cached("scalar")
def dissimilarity_sum(x: Representation, kind: str) -> float:
    """Return the sum of all dissimilarities, over ordered pairs, where the vector of unordered
    pairs has norm 1."""
    return 2 * scalar(x.xp.sum(rdm_vector(x, kind=kind, compare="cosine")))


def comparable_entries(x: Representation, kind: str, compare: str) -> BlockFunction:
    """Return a block function for the compared form of the dissimilarities: mean ranks, or
    dissimilarities minus their mean; 0 on the diagonal."""
    if compare == "spearman":
        return rank_entries(x, kind)
    mean = dissimilarity_summary(x, kind=kind).mean if compare == "pearson" else 0.0
    entries = dissimilarity_entries(x, kind)

    def centered(tile: MatrixBlock) -> Array:
        block = entries(tile)
        block -= mean
        return set_diagonal(block) if tile.is_square else block

    return centered
