"""Intermediates of the distances between samples, in unit size: multiply by ``size(x)`` for
distances in the units of the data.

Matrices are built in blocks of rows of a fixed height. Only the result and a block are in memory,
and the numbers do not depend on the available memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from ..base.arrays import (
    Array,
    apply_in_place,
    as_float64,
    concatenate_blocks,
    device,
    epsilon,
    frobenius_inner,
    namespace,
    row_blocks,
    safe_sqrt,
    scalar,
    to_numpy,
)
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, representation_title
from ..significance import average_ranks
from ..significance.ranks import MIN_COMPILED_LENGTH
from .chords import TIE_EPSILONS, TIE_SHARE
from .exact_differences import exact_squared_distances, unit_size_distances
from .far_rows import inlier_centered_points
from .missing_pairs import has_missing_pairs, missing_pairs, require_no_missing_pairs
from .points import unit
from .rectangles import (
    BlockFunction,
    CenteringTerms,
    MatrixBlock,
    RunningMoments,
    centering_terms,
    diagonal_mask,
    dissimilar_points,
    dissimilarity_function,
    distance_function,
    double_centered_entries,
    row_blocks_from_column,
    squared_distance_function,
    squared_distance_rounding,
    squared_row_norms,
    upper_blocks,
)

# Dissimilarities above this multiple of the mean do not raise the tolerance for ties.
MAX_MEAN_MULTIPLE = 8.0
MIN_SHARED_PAIRS = 3  # two shared pairs always correlate by 1 or -1
# Of the errors of samples: equal variances, a variance for each sample, or rows of a matrix
SampleCovariance: TypeAlias = tuple[float, ...] | tuple[tuple[float, ...], ...] | None
# Numbers gathered at a time: few enough for the processor's cache.
MAX_GATHERED_NUMBERS = 2**17


def gathering_row_ranges(n: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive blocks of n rows with at most about
    ``MAX_GATHERED_NUMBERS`` numbers per block, where every row gathers ``width`` numbers."""
    return row_blocks(n, max(1, MAX_GATHERED_NUMBERS // width))


def squared_distance_blocks(points: Array, height: int | None = None) -> Iterator[Array]:
    """Yield the squared Euclidean distances from a block of rows of ``points`` to all rows, (rows
    of the block, n). ``height``: the rows per block (:func:`row_blocks`)."""
    entries = squared_distance_function(points)
    return (entries(row_blocks_from_column(i, j)) for i, j in row_blocks(points.shape[0], height))


def condensed_squared_distances(points: Array) -> Iterator[Array]:
    """Yield, per block of rows of ``points``, the squared distances from every row to all later
    rows, row by row, as a vector: half the work of :func:`squared_distance_blocks`."""
    entries = squared_distance_function(points)
    return (
        upper_triangle(entries(row_blocks_from_column(i, j, i)))
        for i, j in row_blocks(points.shape[0])
    )


def upper_triangle(block: Array) -> Array:
    """Return, as a vector row by row, the entries of ``block`` above the diagonal of the whole
    matrix. ``block``: some rows, all columns from the diagonal entry of the first row on."""
    if isinstance(block, np.ndarray):
        return np.concatenate([row[i:] for i, row in enumerate(block, 1)])
    row, column = (namespace(block).arange(k, device=device(block)) for k in block.shape)
    return block[column[None, :] > row[:, None]]


def distance_matrix(points: Array) -> Array:
    """Return the Euclidean distances between all rows of ``points``, shape (n, n)."""
    return full_matrix(distance_function(points), points)


def full_matrix(entries: BlockFunction, points: Array) -> Array:
    """Return the (n, n) matrix whose blocks ``entries`` computes, n and the precision as in
    ``points``."""
    xp, n = namespace(points), points.shape[0]
    blocks = (entries(row_blocks_from_column(i, j)) for i, j in row_blocks(n))
    return concatenate_blocks(blocks, xp.empty((n, n), dtype=points.dtype, device=device(points)))


@cached("n n")
def distances(x: Representation) -> Array:
    """Return the Euclidean distances between the samples in unit size (centred, Frobenius norm 1),
    shape (n, n)."""
    return full_matrix(unit_size_distances(x), x.array)


@cached("n n")
def double_centered_distances(x: Representation) -> Array:
    """Return the distances of the samples in unit size (centred, Frobenius norm 1) minus the row
    and column means plus the overall mean, shape (n, n)."""
    if not isinstance(x.source, np.ndarray):
        return double_centered(distance_matrix(inlier_centered_points(x)))
    from scipy.spatial.distance import squareform

    # The value of the measure needs the same intermediate.
    deviations, sums, mean = centered_condensed_distances(x)
    n = x.shape[0]
    shift = (mean / 2 - sums) / n
    matrix: np.ndarray = squareform(deviations, checks=False)
    for start, stop in row_blocks(n):
        matrix[start:stop] += shift[start:stop, None]
        matrix[start:stop] += shift
    np.fill_diagonal(matrix, 2 * shift - mean)
    return matrix


def double_centered(a: Array) -> Array:
    """Return a symmetric matrix minus the row and column means plus the overall mean; ``a`` is
    overwritten where the library allows."""
    xp = namespace(a)
    means = xp.mean(a, axis=0)
    offsets = (means - xp.mean(means))[None, :]
    return concatenate_blocks(
        (a[i:j, :] - means[i:j, None] - offsets for i, j in row_blocks(a.shape[0])), a
    )


# ------------------------------------------------------------------------ distances of all pairs


class CenteredDistances(NamedTuple):
    """Distances between n samples, every pair once, minus their mean; and the mean."""

    deviations: Array  # (n (n - 1) / 2,): distances minus the mean, row by row above the diagonal
    sums: Array  # (n,): sum of the deviations over the pairs of a sample
    mean: Array  # 0-d


def centered_condensed_distances(x: Representation) -> CenteredDistances:
    """Return the Euclidean distances between the samples in unit size (centred, Frobenius norm 1),
    minus their mean."""
    return CenteredDistances(distance_deviations(x), deviation_sums(x), mean_distance(x))


@cached("pairs")
def distance_deviations(x: Representation) -> Array:
    """Return the distances between the samples in unit size (centred, Frobenius norm 1) minus the
    mean distance, row by row above the diagonal, shape (n (n - 1) / 2,)."""
    return _condensed_distance_parts(x).deviations


@cached("n")
def deviation_sums(x: Representation) -> Array:
    """Return the sums of :func:`distance_deviations` over the pairs of every sample, shape (n,)."""
    return _condensed_distance_parts(x).sums


@cached("scalar")
def mean_distance(x: Representation) -> Array:
    """Return the mean distance between two different samples in unit size (centred, Frobenius norm
    1), a 0-d array."""
    return _condensed_distance_parts(x).mean


@cached("pairs", "n", "scalar")
def _condensed_distance_parts(x: Representation) -> CenteredDistances:
    """Return the distances of all pairs of samples minus their mean, (n (n - 1) / 2,), the sums of
    these deviations by sample, (n,), and the mean.

    The points are centred and have Frobenius norm 1. The parts are also cached separately, because
    a permutation of the samples acts differently on each part.
    """
    points, sums = x.array, x.xp.zeros_like(x.array[:, 0])
    n, entries, totals = x.shape[0], unit_size_distances(x), [sums]

    def pieces() -> Iterator[Array]:
        for start, stop in row_blocks(n):
            block = entries(row_blocks_from_column(start, stop, start))
            totals[0] = totals[0] + _pair_sums_by_sample(block, sums[:start])
            yield upper_triangle(block)

    length = n * (n - 1) // 2
    vector = concatenate_blocks(
        pieces(), x.xp.empty(length, dtype=points.dtype, device=device(points))
    )
    mean = x.xp.sum(totals[0]) / (2 * length)
    return CenteredDistances(
        apply_in_place(x.xp.subtract, vector, mean), totals[0] - (n - 1) * mean, mean
    )


def _pair_sums_by_sample(block: Array, padding: Array) -> Array:
    """Return, per sample, the sum of the entries above the diagonal in ``block`` over all pairs
    with the sample, (n,).

    ``block``: some rows of the matrix, all columns from the diagonal entry of the first row on.
    ``padding``: zeros for the samples before the block.
    """
    xp, height = namespace(block), block.shape[0]
    square, rectangle = xp.triu(block[:, :height], k=1), block[:, height:]
    rows = xp.sum(square, axis=0) + xp.sum(square, axis=1) + xp.sum(rectangle, axis=1)
    return xp.concat([padding, rows, xp.sum(rectangle, axis=0)])


def double_centered_inner(x: Representation, y: Representation) -> Array:
    r"""Return the inner product of the double-centred distances of two representations, without
    forming the matrices.

    .. math:: 2 \sum_{i<j} a_{ij} b_{ij} - \tfrac{2}{n} \sum_i a_i b_i + (n - 1) \bar{d} \bar{e}

    for distances d, e with means :math:`\bar{d}`, :math:`\bar{e}`, deviations a, b from the means,
    and sums :math:`a_i`, :math:`b_i` of the deviations: H (d + a) H with d off a zero diagonal is H
    a H - d H.
    """
    a, a_sums, d = centered_condensed_distances(x)
    b, b_sums, e = centered_condensed_distances(y)
    n = x.shape[0]
    return 2 * frobenius_inner(a, b) - 2 / n * frobenius_inner(a_sums, b_sums) + (n - 1) * d * e


@cached("scalar")
def distance_deviation(x: Representation) -> Array:
    """Return the Frobenius norm of the double-centred distances between the samples in unit size
    (n times the distance standard deviation)."""
    return double_centered_inner(x, x) ** 0.5


def u_centered_inner(x: Representation, y: Representation) -> Array:
    r"""Return the inner product of the U-centred distances of two representations.

    .. math:: \sum_{i \ne j} A_{ij} B_{ij}
    """
    return 2 * frobenius_inner(u_centered_distances(x), u_centered_distances(y))


@cached("pairs")
def u_centered_distances(x: Representation) -> Array:
    r"""Return the U-centred distances of all pairs of samples, shape (n (n - 1) / 2,).

    .. math:: A_{ij} = a_{ij} - \frac{a_i + a_j}{n - 2} + \frac{\sum_i a_i}{(n - 1)(n - 2)}

    for deviations a of the distances from their mean, and sums :math:`a_i` of the deviations:
    U-centring removes a constant. A difference of sums of products instead of these entries would
    lose the digits that an outlier takes.
    """
    n, sums = x.shape[0], deviation_sums(x)
    terms = sums / (n - 2) - x.xp.sum(sums) / (2 * (n - 1) * (n - 2))
    pieces = (upper_triangle(terms[i:j, None] + terms[None, i:]) for i, j in row_blocks(n))
    out = x.xp.empty(n * (n - 1) // 2, dtype=terms.dtype, device=device(terms))
    return distance_deviations(x) - concatenate_blocks(pieces, out)


@cached("scalar")
def u_centered_norm(x: Representation) -> Array:
    """Return the norm of the U-centred distances; raise ``UndefinedError`` where only rounding
    error is left."""
    squared = u_centered_inner(x, x)
    require_u_centered(x, scalar(squared), scalar(distance_deviation(x)) ** 2)
    return squared**0.5


def require_u_centered(x: Representation, squared: float, total: float) -> None:
    """Raise ``UndefinedError`` if ``squared``, the squared norm of the U-centred distances of x,
    is rounding error against ``total``, the squared norm of the double-centred distances."""
    if squared <= 1e-12 * total:
        raise UndefinedError(
            f"the distances of {representation_title(x)} do not differ beyond the means of its "
            "samples: their debiased correlation is 0 / 0"
        )


@cached("scalar")
def deviation_norm(x: Representation) -> Array:
    """Return the norm of the vector of :func:`distance_deviations`."""
    a = distance_deviations(x)
    return frobenius_inner(a, a) ** 0.5


# ---------------------------------------------------------- representational dissimilarity matrices


def condensed_rdm(x: Representation, kind: str) -> Array:
    """Return the dissimilarities between samples, row by row above the diagonal, shape (n (n - 1) /
    2,).

    ``kind``: "correlation" (1 - Pearson correlation over features), "cosine" (1 - cosine),
    "euclidean", "sqeuclidean", both in unit size (centred, Frobenius norm 1). A row without
    direction (zero, or constant for "correlation") has dissimilarity 1 to all other rows. Missing
    pairs of given dissimilarities are NaN.
    """
    entries, n = dissimilarity_entries(x, kind), x.shape[0]
    pieces = (upper_triangle(entries(row_blocks_from_column(i, j, i))) for i, j in row_blocks(n))
    out = x.xp.empty(n * (n - 1) // 2, dtype=x.array.dtype, device=device(x.array))
    vector, missing = concatenate_blocks(pieces, out), missing_pairs(x)
    if missing.size:
        vector[missing] = np.nan
    return vector


@cached("pairs")
def rdm_vector(x: Representation, kind: str, compare: str) -> Array:
    """Return the dissimilarities of ``kind``, (n (n - 1) / 2,), prepared so that an inner product
    compares two representations.

    ``compare``: "pearson" (centred, unit norm), "spearman" (average ranks, centred, unit norm),
    "cosine" (unit norm), "rho_a" (centred ranks divided by the norm that untied ranks have),
    "kendall" and "kendall_a" (average ranks). Raises ``UndefinedError`` when all dissimilarities
    are equal, and for given dissimilarities with missing pairs.
    """
    require_no_missing_pairs(x)
    return _prepare_dissimilarities(x, condensed_rdm(x, kind), kind, compare)


def rdm_vectors(x: Representation, y: Representation, kind: str, compare: str) -> list[Array]:
    """Return two vectors (pairs,), the dissimilarities of ``kind`` of x and of y, prepared for the
    comparison ``compare`` (:func:`rdm_vector`). If x or y lacks pairs, the vectors cover the shared
    pairs. Raises ``UndefinedError`` for fewer than three shared pairs."""
    if not (has_missing_pairs(x) or has_missing_pairs(y)):
        return [rdm_vector(r, kind=kind, compare=compare) for r in (x, y)]
    shared = shared_pairs(x, y)
    if (count := int(shared.sum())) < MIN_SHARED_PAIRS:
        raise UndefinedError(
            f"rsa: {representation_title(x)} and {representation_title(y)} both have {count} of "
            f"{len(shared)} dissimilarities, "
            f"and a comparison takes at least {MIN_SHARED_PAIRS}; measure more pairs in common"
        )
    return [
        _prepare_dissimilarities(r, condensed_rdm(r, kind)[shared], kind, compare) for r in (x, y)
    ]


def shared_pairs(x: Representation, y: Representation) -> np.ndarray:
    """Return a mask (n (n - 1) / 2,) of the pairs of samples with a dissimilarity in x and in y,
    row by row above the diagonal."""
    shared = np.ones(x.shape[0] * (x.shape[0] - 1) // 2, dtype=bool)
    for missing in (missing_pairs(x), missing_pairs(y)):
        if missing.size:
            shared &= ~missing
    return shared


def _prepare_dissimilarities(x: Representation, vector: Array, kind: str, compare: str) -> Array:
    """Return the dissimilarities ``vector`` of x, (pairs,), prepared so that an inner product
    compares two representations; ``vector`` may be overwritten.

    ``kind``: the dissimilarity, which sets the rounding error. ``compare``: "pearson" (centred,
    unit norm), "spearman" (average ranks, centred, unit norm), "cosine" (unit norm), "rho_a"
    (centred ranks divided by the norm that untied ranks have), "kendall" and "kendall_a" (average
    ranks). Raises ``UndefinedError`` if all dissimilarities are equal.
    """
    low, high = scalar(x.xp.min(vector)), scalar(x.xp.max(vector))
    require_distinct_values(x, kind, low, high, epsilon(vector))
    if compare not in ("pearson", "cosine"):
        vector = average_ranks_in_range(vector, low, high)
    if compare.startswith("kendall"):
        return vector
    if compare != "cosine":
        vector = apply_in_place(x.xp.subtract, vector, x.xp.mean(vector))
    if compare == "rho_a":
        p = vector.shape[0]
        return vector * (12 / (p**3 - p)) ** 0.5
    return apply_in_place(x.xp.divide, vector, frobenius_inner(vector, vector) ** 0.5)


def average_ranks_in_range(
    vector: Array, low: float, high: float, compiled: int = MIN_COMPILED_LENGTH
) -> Array:
    """Return the average ranks, from 1, of dissimilarities ``vector``, where equal up to rounding
    is tied.

    ``low``, ``high``: the least and the largest entry. ``compiled``: the number of values from
    which compiled code computes the ranks. The tolerance for ties is large enough that rounding
    does not order equal dissimilarities, and small enough not to tie all close dissimilarities in
    single precision.
    """
    reach = max(high, -low)
    # A few dissimilarities may be far larger than the rest.
    if reach > MAX_MEAN_MULTIPLE * abs(scalar(namespace(vector).mean(vector))):
        reach = min(reach, MAX_MEAN_MULTIPLE * float(np.median(np.abs(to_numpy(vector)))) or reach)
    largest = max(TIE_EPSILONS * epsilon(vector), TIE_SHARE) * reach
    return average_ranks(vector, min(largest, 1e-3 * (high - low) / vector.shape[0]), compiled)


def require_distinct_values(
    x: Representation, kind: str, low: float, high: float, eps: float
) -> None:
    """Raise ``UndefinedError`` if the least and the largest dissimilarity are equal up to
    rounding: high - low <= ``TIE_EPSILONS`` * eps * size.

    ``size`` is ``high`` for (squared) Euclidean distances; min(1, sqrt(2 high)), the distance
    between unit rows, for cosines and correlations; and max(1, n / 8) times the largest magnitude
    for given dissimilarities. ``eps``: the machine epsilon of the dissimilarities.
    """
    magnitude = min(1.0, math.sqrt(2 * max(high, 0.0)))
    if x.signed or kind in ("euclidean", "sqeuclidean"):
        magnitude = max(high, -low) * (max(1.0, x.shape[0] / 8) if x.signed else 1.0)
    kind = x.signed.kind if x.signed else kind
    if high - low <= TIE_EPSILONS * eps * magnitude:
        raise UndefinedError(
            f"all {kind} dissimilarities between samples of {representation_title(x)} are equal: "
            "nothing to correlate"
        )


def dissimilarity_entries(x: Representation, kind: str) -> BlockFunction:
    """Return a function that computes blocks of the matrix (n, n) of dissimilarities of ``kind``;
    diagonal entries have no meaning. Distances are in unit size (centred, Frobenius norm 1). For
    given dissimilarities ``kind`` is ignored."""
    if x.signed:
        # Columns with sign 0 encode the missing pairs.
        count = int(np.count_nonzero(x.signed.signs))
        return _signed_entries(unit(x)[:, :count], x.xp.asarray(x.signed.signs[:count]))
    if kind in ("euclidean", "sqeuclidean"):
        squares = exact_squared_distances(x)
        return squares if kind == "sqeuclidean" else lambda tile: safe_sqrt(squares(tile))
    return dissimilarity_function(dissimilar_points(x, kind))


def _signed_entries(points: Array, signs: Array) -> BlockFunction:
    """Return a function that computes blocks of the dissimilarities sum_a s_a (p_ia - p_ja)^2.
    ``points``: p, (n, r). ``signs``: s, (r,), 1 or -1."""
    xp, signed = namespace(points), points * signs
    squares, lengths = xp.sum(signed * points, axis=1), squared_row_norms(points)

    def entries(tile: MatrixBlock) -> Array:
        products = signed[tile.rows, :] @ xp.matrix_transpose(points[tile.columns, :])
        block = squares[tile.rows, None] + squares[None, tile.columns] - 2 * products
        slack = squared_distance_rounding(points) * (
            lengths[tile.rows, None] + lengths[None, tile.columns]
        )
        return xp.where(xp.abs(block) <= slack, xp.zeros_like(block), block)

    return entries


def dissimilarity_matrix(x: Representation, kind: str) -> np.ndarray:
    """Return the dissimilarities between samples as a square matrix, shape (n, n);
    :func:`condensed_rdm` returns the upper triangle."""
    from scipy.spatial.distance import squareform

    return squareform(as_float64(condensed_rdm(x, kind)), checks=False)


@cached("n n")
def whitened_gram(
    x: Representation, kind: str, compare: str, covariance: SampleCovariance
) -> np.ndarray:
    r"""Return the dissimilarities D, prepared for a comparison in the metric of their errors, shape
    (n, n).

    .. math:: L^{-1} (I - 1 w^\top) (-\tfrac{1}{2} D) (I - w 1^\top) L^{-\top}, \qquad w = S^{-1}
        1 / 1^\top S^{-1} 1

    for the ``covariance`` S = L L' of the errors of the samples, scaled to norm 1.
    ``"whitened_pearson"`` also removes the part explained by equal dissimilarities. The inner
    product of two such matrices equals the inner product of the vectors of dissimilarities with the
    inverse of :math:`(C S C^\top) \circ (C S C^\top)`, where C has the contrasts of all pairs.
    Raises ``UndefinedError`` when all dissimilarities are equal, and for given dissimilarities with
    missing pairs.
    """
    require_no_missing_pairs(x)
    matrix = dissimilarity_matrix(x, kind)
    dissimilarities = matrix[np.triu_indices(len(matrix), 1)]
    require_distinct_values(
        x, kind, float(dissimilarities.min()), float(dissimilarities.max()), epsilon(matrix)
    )
    whitening = sample_whitening(x.shape[0], covariance)
    gram = whiten_dissimilarities(matrix, whitening)
    if compare == "whitened_pearson":
        constant = whiten_dissimilarities(1 - np.eye(len(matrix)), whitening)
        gram = gram - constant * (np.vdot(gram, constant) / np.vdot(constant, constant))
    return gram / np.linalg.norm(gram)


def sub_covariance(covariance: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the covariance of the samples ``rows``. ``covariance``: variances (n,), or a matrix
    (n, n); the result is (rows,) or (rows, rows)."""
    return np.asarray(covariance[rows] if covariance.ndim == 1 else covariance[np.ix_(rows, rows)])


class SampleWhitening(NamedTuple):
    """The covariance S of the errors of samples, prepared to whiten dissimilarities.

    ``weights``: the weights of the samples in their best mean, S⁻¹ 1 / 1' S⁻¹ 1, (n,). ``root``:
    the inverse of the Cholesky factor of S times the square root of 1' S⁻¹ 1; (n,) for independent
    errors, otherwise (n, n).
    """

    weights: np.ndarray
    root: np.ndarray

    def root_times(self, matrix: np.ndarray) -> np.ndarray:
        """Return the product R' M of the transposed root and ``matrix`` M, (n, columns)."""
        root = self.root
        return np.asarray(root[:, None] * matrix if root.ndim == 1 else root.T @ matrix)

    @property
    def precisions(self) -> np.ndarray:
        """The precision of each sample relative to the mean, (n,): the diagonal of S⁻¹ - S⁻¹ 1 1'
        S⁻¹ / 1' S⁻¹ 1, times 1 / 1' S⁻¹ 1."""
        squares = self.root**2 if self.root.ndim == 1 else (self.root**2).sum(axis=0)
        return np.asarray(squares - self.weights**2)


def sample_whitening(n: int, covariance: SampleCovariance | np.ndarray) -> SampleWhitening:
    """Return the whitening for n samples from the covariance of the errors: None for equal
    variances, n variances, or an (n, n) matrix.

    Raises ``ValueError`` for anything else.
    """
    S = np.ones(n) if covariance is None else np.asarray(covariance, dtype=float)
    if S.shape == (n,) and (np.isfinite(S) & (S > 0)).all():
        weights = 1 / S / (1 / S).sum()
        return SampleWhitening(weights, np.sqrt(weights))
    remedy = f"rsa: covariance of {n} samples is {n} positive numbers, or a symmetric ({n}, {n})"
    if S.shape != (n, n) or not np.isfinite(S).all() or not np.allclose(S, S.T):
        raise ValueError(f"{remedy} matrix; got shape {S.shape}, or other numbers")
    try:
        factor = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{remedy} matrix that is positive definite; shrink it: rs.noise_covariance"
        ) from None
    root = np.linalg.inv(factor)
    sums = root.sum(axis=1)
    total = sums @ sums
    return SampleWhitening(root.T @ sums / total, root / np.sqrt(total))


def whiten_dissimilarities(matrix: np.ndarray, whitening: SampleWhitening) -> np.ndarray:
    """Return the matrix of :func:`whitened_gram` for the dissimilarities ``matrix`` (n, n), up to
    a factor; without removing equal dissimilarities."""
    weights, root = whitening
    means = weights @ matrix
    centered = matrix - means - means[:, None] + weights @ means
    if root.ndim == 1:
        return np.asarray(-0.5 * centered * np.outer(root, root))
    return np.asarray(-0.5 * root @ centered @ root.T)


# ------------------------------------------------------------------------------------- many samples


@cached("n", "scalar", "scalar")
def distance_centering_terms(x: Representation) -> CenteringTerms:
    """Return the row means, the overall mean, and the squared norm after double-centring of the
    distances between the samples in unit size (centred, Frobenius norm 1)."""
    return centering_terms(unit_size_distances(x), x.shape[0])


def centered_distance_entries(x: Representation) -> BlockFunction:
    """Return a function that computes blocks of the double-centred distances between the samples in
    unit size (Frobenius norm 1)."""
    return double_centered_entries(unit_size_distances(x), distance_centering_terms(x), x.array)


class DissimilaritySummary(NamedTuple):
    """Minimum, maximum, mean, and summed squared deviations from the mean, of the dissimilarities
    of all ordered pairs of different samples."""

    low: float
    high: float
    mean: float
    squares: float


@cached("scalar")
def dissimilarity_summary(x: Representation, kind: str) -> DissimilaritySummary:
    """Return the summary of the dissimilarities of ``kind``; raise ``UndefinedError`` when all are
    equal."""
    entries, deviations = dissimilarity_entries(x, kind), RunningMoments()
    for tile in upper_blocks(x.shape[0]):
        block = entries(tile)
        if not tile.is_square:
            deviations.add(block, 2)
        elif block.shape[0] > 1:
            deviations.add(block[~diagonal_mask(block)], 1)
    require_distinct_values(x, kind, deviations.low, deviations.high, epsilon(x.array))
    return DissimilaritySummary(
        deviations.low, deviations.high, deviations.mean, deviations.squares
    )
