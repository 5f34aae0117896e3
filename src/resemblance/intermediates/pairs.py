"""Intermediates of a pair: cross products and basis overlaps, shared by all measures of the
pair."""

from __future__ import annotations

import numpy as np

from ..base.arrays import (
    Array,
    clip_above_one,
    detach,
    epsilon,
    euclidean_norm,
    frobenius_inner,
    namespace,
    records_gradient,
    safe_sqrt,
    scalar,
    singular_values,
    svd,
    to_numpy,
)
from ..data.representation import Representation, cached_pair, representation_title
from .points import (
    column_norms,
    cross_products,
    feature_products,
    preshape,
    reduced_unit_rows,
    return_unchanged,
    size,
    transpose_matrix,
)
from .spectra import (
    decomposition,
    has_accurate_inverse,
    orthonormal_basis,
    principal_directions,
    require_derivative,
    unspanned_direction,
)


@cached_pair(swap=transpose_matrix)
def correlations(x: Representation, y: Representation) -> Array:
    """Return the Pearson correlations between the columns of x and y, shape (d_x, d_y); 0 with a
    constant column."""
    products = feature_products(x, y)  # 0 with a constant column
    return clip_above_one(products / _column_scales(x)[:, None] / _column_scales(y)[None, :])


def _column_scales(x: Representation) -> Array:
    scales = column_norms(x) / size(x)
    return x.xp.where(scales > 0, scales, x.xp.ones_like(scales))


@cached_pair(swap=return_unchanged)
def nuclear_norm(x: Representation, y: Representation) -> Array:
    """Return the sum of the singular values of X' Y, for centred X, Y of Frobenius norm 1: the
    cosine after the best rotation, in [0, 1]."""
    xp = x.xp
    total = xp.sum(singular_values(cross_products(x, y)))
    return clip_above_one(total)


@cached_pair(swap=transpose_matrix)
def basis_overlap(x: Representation, y: Representation, centered: bool = True) -> Array:
    """Return the inner products between orthonormal bases of the column spaces of x and y, shape
    (rank_x, rank_y). ``centered``: whether the columns are centred."""
    return transpose_matrix(orthonormal_basis(x, centered=centered)) @ orthonormal_basis(
        y, centered=centered
    )


def principal_overlap(x: Representation, y: Representation) -> Array:
    """Return the inner products between the normalised principal components of x and of y, each in
    order of variance, (rank_x, rank_y)."""
    if not (records_gradient(x.source) or records_gradient(y.source)):
        return basis_overlap(x, y)
    return leading_overlap(x, y, None, None)


def leading_overlap(x: Representation, y: Representation, k: int | None, l: int | None) -> Array:
    """Return the inner products between the first k normalised principal components of x and the
    first l of y, in order of variance, (k, l); None for all components."""
    left, right = principal_directions(x).basis[:, :k], principal_directions(y).basis[:, :l]
    return transpose_matrix(left) @ right


def _swap_sides(parts: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    left, rho, right = parts
    return transpose_matrix(right), rho, transpose_matrix(left)


@cached_pair(swap=_swap_sides)
def canonical_decomposition(x: Representation, y: Representation) -> tuple[Array, Array, Array]:
    """Return the thin SVD (U, rho, V') of the overlap Q_x' Q_y, of shapes (rank_x, k), (k,), (k,
    rank_y).

    Q_x (n, rank_x) and Q_y (n, rank_y) are orthonormal bases of the centred points; k is the
    smaller rank. rho holds the canonical correlations. The canonical variates are the columns of
    Q_x U and Q_y V.
    """
    left, rho, right = svd(principal_overlap(x, y))
    if records_gradient(x.source) or records_gradient(y.source):
        require_derivative(
            rho, f"the overlap of {representation_title(x)} and {representation_title(y)}"
        )
    return left, clip_above_one(rho), right


@cached_pair(swap=return_unchanged)
def squared_overlap(x: Representation, y: Representation, centered: bool = True) -> Array:
    """Return the sum of the squared inner products between orthonormal bases of the column spaces
    of x and y, a 0-d array: the sum of the squared canonical correlations if ``centered``."""
    if not centered and all(has_accurate_inverse(r, full=True) for r in (x, y)):
        return _uncentered_squared_overlap(x, y)
    overlap = basis_overlap(x, y, centered=centered)
    return frobenius_inner(overlap, overlap)


def _uncentered_squared_overlap(x: Representation, y: Representation) -> Array:
    """Return the sum of the squared inner products between orthonormal bases of the uncentred
    columns of x and y, from the overlap of the centred columns and the constant.

    The centred columns and the constant span d + 1 directions, the uncentred columns all but one;
    the correction removes the missing direction of x and of y.
    """
    overlap = basis_overlap(x, y)
    (u, a), (v, b) = unspanned_direction(x), unspanned_direction(y)
    to_right, to_left = transpose_matrix(overlap) @ u, overlap @ v
    cross_term = frobenius_inner(u, to_left) + a * b
    correction = (
        frobenius_inner(to_right, to_right) + a * a + frobenius_inner(to_left, to_left) + b * b
    )
    return frobenius_inner(overlap, overlap) + 1 - correction + cross_term * cross_term


def explained_squared_norm(x: Representation, y: Representation) -> Array:
    """Return the squared Frobenius norm of the projection of Y on the column space of X, for
    centred X, Y and Y of norm 1.

    Where the inverse singular values of x cost no digits, the norm comes from the cross products,
    which other measures need too.
    """
    if has_accurate_inverse(x):
        parts = decomposition(x)
        explained = (parts.directions @ cross_products(x, y)) / parts.singular[:, None]
    else:
        explained = transpose_matrix(orthonormal_basis(x)) @ preshape(y)
    return frobenius_inner(explained, explained)


@cached_pair(swap=transpose_matrix)
def row_direction_products(x: Representation, y: Representation) -> Array:
    """Return the inner products between the columns of the points with unit rows, (d, e), in
    coordinates of at most n columns: the coordinates of ``cross_products(x, y,
    centered=False)``."""
    return transpose_matrix(reduced_unit_rows(x)) @ reduced_unit_rows(y)


@cached_pair(swap=return_unchanged)
def rotated_residual(x: Representation, y: Representation) -> Array:
    """Return |A Q - B|, the distance of the centred points A, B of Frobenius norm 1 after the best
    rotation, computed from the difference itself."""
    a, b = preshape(x), preshape(y)
    if a.shape[1] > b.shape[1]:
        a, b = b, a
    u, _, vt = svd(transpose_matrix(a) @ b)
    # At its minimum the residual does not change with the rotation.
    return euclidean_norm(a @ detach(u @ vt) - b)


def rotated_chord(a: Array, b: Array) -> Array:
    """Return the distance |a Q - b| of two matrices of Frobenius norm 1, (n, d) and (n, e), after
    the best rotation, the narrower matrix padded with zero columns."""
    xp = namespace(a)
    if a.shape[1] > b.shape[1]:
        a, b = b, a
    cross = xp.matrix_transpose(a) @ b
    squared = 2 - 2 * xp.sum(singular_values(cross))
    if scalar(squared) > epsilon(squared) ** 0.4:
        return safe_sqrt(squared)
    u, _, vt = svd(detach(cross))  # near zero the formula above cancels
    residual = euclidean_norm(a @ (u @ vt) - b)
    # Rounding has no direction.
    return xp.where(residual <= 64 * epsilon(residual), xp.zeros_like(residual), residual)


def max_weight_assignment(weights: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the one-to-one matching of largest total weight (leaves the
    array API). ``weights``: (d, e); the smaller side is matched completely."""
    # SciPy's optimize takes longer to import than the rest of the library.
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(to_numpy(weights), maximize=True)
