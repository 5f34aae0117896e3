"""Intermediates from decompositions of a representation: singular values, bases, principal
components, and the flatness of the spectrum."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    detach,
    epsilon,
    euclidean_norm,
    frobenius_inner,
    namespace,
    records_gradient,
    safe_sqrt,
    scalar,
    svd,
    to_numpy,
)
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, representation_title
from .digits import below_rounding_message, input_precision, resolution, uncentered_norm
from .points import is_rotated, preshape, reduced_unit_rows, size, size_and_scaled_mean, unit


class Decomposition(NamedTuple):
    """Thin singular value decomposition of the pre-shape, restricted to the numerical rank r.

    ``basis`` (n, r) has orthonormal columns; ``singular`` (r,) decreases, and the squares sum to 1;
    ``directions`` (r, min(n, d)) has orthonormal rows. ``basis * singular @ directions`` is the
    pre-shape.
    """

    basis: Array
    singular: Array
    directions: Array


@cached("n k", "k", "k d")
def decomposition(x: Representation, centered: bool = True) -> Decomposition:
    """Return the thin SVD of :func:`~.points.preshape`, the points in unit size and at most n
    columns, cut at the numerical rank.

    A singular value counts when it exceeds max(n, d) * eps * (the largest singular value), NumPy's
    ``matrix_rank`` rule, and the rounding noise of the input precision: dead directions of float32
    data stay dead in float64. If no singular value counts, as in a saturated layer in half
    precision, the function raises ``UndefinedError``. The covariance is never formed, so the error
    grows with the condition number kappa, not with kappa squared.
    """
    points = preshape(x, centered=centered)
    u, s, vt = svd(points)
    tolerance = max(
        max(x.n_samples, x.shape[1]) * epsilon(s) * scalar(s[0]), _rounding_noise(x, centered)
    )
    _require_spread_around_mean(x, tolerance, centered)
    rank = int(to_numpy(s > tolerance).sum())
    if rank == 0:
        raise UndefinedError(
            f"{representation_title(x)} varies by no more than the rounding of "
            f"{input_precision(x)}: it has no directions"
        )
    if rank < s.shape[0] and records_gradient(points):
        # The derivative of an SVD divides by all singular values, so the points are projected on
        # the directions with variance.
        directions = detach(vt[:rank, :])
        u, s, vt = svd(points @ x.xp.matrix_transpose(directions))
        vt = vt @ directions
    return Decomposition(u[:, :rank], s[:rank], vt[:rank, :])


def _require_spread_around_mean(x: Representation, tolerance: float, centered: bool) -> None:
    """Raise ``UndefinedError`` where the mean row of uncentred points hides the differences
    between the samples: only the direction of the mean row would remain. ``tolerance``: the
    smallest singular value that counts."""
    if centered or x.origin or x.signed or not (spread := scalar(size(x))):
        return
    if spread / scalar(uncentered_norm(x)) <= 2 * min(x.shape) ** 0.5 * tolerance:
        raise UndefinedError(below_rounding_message(x))


def _rounding_noise(x: Representation, centered: bool) -> float:
    """Return the largest singular value of a matrix of rounding errors of the data, relative to
    the Frobenius norm of the data, or of the centred data if ``centered``.

    Entries of root mean square r have errors of about r eps / sqrt(12) in the input precision, and
    n x d independent errors of size 1 have a spectral norm of about sqrt(n) + sqrt(d). The estimate
    omits the factor of 1 / sqrt(12), as a margin.
    """
    n, d, length = x.n_samples, x.shape[1], scalar(uncentered_norm(x))
    relative = length / scalar(size(x) if centered else uncentered_norm(x))
    return float(resolution(x) * relative * (n**-0.5 + d**-0.5))


def require_derivative(singular: Array, title: str) -> None:
    """Raise :class:`UndefinedError` where singular vectors have no derivative, because singular
    values are equal or zero.

    ``singular``: the singular values, largest first. ``title``: the matrix, for the error.
    Functions of the vectors then have a value, but PyTorch and JAX give NaN for the gradient.
    """
    gaps = -np.diff(to_numpy(singular), append=0)
    if gaps.min() <= 64 * epsilon(singular) * scalar(singular[0]):
        raise UndefinedError(
            f"{title} has equal or zero singular values, where there is no gradient; detach it or "
            "add noise"
        )


def principal_directions(x: Representation) -> Decomposition:
    """Return the thin SVD of :func:`decomposition`, for functions of the individual singular
    vectors. Raises ``UndefinedError`` if gradients pass and the vectors have no derivative."""
    parts = decomposition(x)
    if records_gradient(x.source):
        require_derivative(parts.singular, representation_title(x))
    return parts


@cached("n k")
def orthonormal_basis(x: Representation, centered: bool = True) -> Array:
    """Return an orthonormal basis (n, rank) of the column space: the basis of the decomposition,
    or a differentiable basis if gradients must pass.

    The derivative of singular vectors is infinite where singular values coincide (whitened data);
    the derivative of the space is finite. With gradients, the basis comes from a QR factorisation
    in fixed coordinates of the row space.
    """
    parts = decomposition(x, centered=centered)
    if not records_gradient(x.source):
        return parts.basis
    directions = x.xp.matrix_transpose(detach(parts.directions))
    return x.xp.linalg.qr(preshape(x, centered=centered) @ directions)[0]


@cached("k d")
def basis_coordinates(x: Representation) -> Array:
    """Return the centred columns in the coordinates of the orthonormal basis, in unit size
    (centred, Frobenius norm 1), shape (r, d)."""
    return x.xp.matrix_transpose(decomposition(x).basis) @ unit(x)


def numerical_rank(x: Representation, centered: bool = True) -> int:
    """Return the number of singular values of the points, centred by default, above the threshold
    of :func:`decomposition`: max(n, d) machine epsilons of the largest, and the rounding noise of
    the input."""
    if not centered and has_accurate_inverse(x, full=True):
        return x.shape[1]  # adding the mean row to independent columns removes no direction
    return int(decomposition(x, centered=centered).singular.shape[0])


def has_accurate_inverse(x: Representation, full: bool = False) -> bool:
    """Return whether products with inverse singular values keep twelve digits. With ``full``, the
    centred columns must be linearly independent and fewer than n, and the uncentred columns must
    keep the digits too.

    False where gradients pass, and where there is no decomposition.
    """
    if records_gradient(x.source) or scalar(size(x)) == 0 or (full and is_rotated(x)):
        return False
    smallest = smallest_singular(x)
    threshold = epsilon(x.array) ** 0.25
    if full:
        relative = smallest * scalar(size(x) / uncentered_norm(x))
        return bool(min(smallest, relative) > threshold and numerical_rank(x) == x.shape[1])
    return bool(smallest > threshold)


@cached("scalar")
def smallest_singular(x: Representation) -> float:
    """Return the smallest singular value of the decomposition; 0 where there is no
    decomposition."""
    try:
        return scalar(decomposition(x).singular[-1])
    except UndefinedError:
        return 0.0


@cached("k", "scalar")
def unspanned_direction(x: Representation) -> tuple[Array, Array]:
    """Return the unit vector that the uncentred columns do not span, within the span of the
    centred columns and the constant vector: its coordinates in the basis of the centred columns,
    (d,), and its coordinate along the constant vector, a 0-d array.

    With U S V' the decomposition and m the mean row, the columns are U S V' + 1 m'. The d centred
    columns and the constant span d + 1 directions, the uncentred columns only d.
    """
    parts = decomposition(x)
    scale, row = size_and_scaled_mean(x)
    coefficients = (parts.directions @ row) / (parts.singular * scale)
    length = (1 + frobenius_inner(coefficients, coefficients)) ** 0.5
    return -coefficients / length, 1 / length


@cached("scalar")
def component_count_with_ties(x: Representation, count: int) -> int:
    """Return the number of leading principal components, at least ``count`` (or all), including
    every component tied with the last.

    Within components of equal singular value every rotation is valid, so a cut among the components
    would be arbitrary.
    """
    singular = to_numpy(decomposition(x).singular)
    last = singular[min(count, len(singular)) - 1]
    return int(np.count_nonzero(singular >= last - 64 * np.finfo(singular.dtype).eps * singular[0]))


@cached("scalar")
def components_for_variance(x: Representation, explained_variance: float) -> int:
    """Return the smallest number of principal components with at least the fraction
    ``explained_variance`` of the total variance, ties aside."""
    variance = decomposition(x).singular ** 2
    explained = x.xp.cumulative_sum(variance) / x.xp.sum(variance)
    # A fraction of 1 asks for all components; rounding must not ask for more.
    missing = to_numpy(explained < explained_variance - 8 * epsilon(variance))
    return min(int(missing.sum()) + 1, numerical_rank(x))


@cached("n k")
def principal_coordinates(x: Representation) -> Array:
    """Return the centred points in the basis of the principal directions, widest first, in the
    units of the data, shape (n, min(n, d)).

    In every column the entry with the largest magnitude is positive, so the result does not depend
    on the signs chosen by the linear algebra library.
    """
    xp = x.xp
    u, s, _ = svd(unit(x))
    points = u * (s * size(x))
    largest = xp.max(points, axis=0) >= -xp.min(points, axis=0)
    return points * xp.where(largest, xp.ones_like(s), -xp.ones_like(s))


@cached("n k")
def partially_whitened_points(x: Representation, alpha: float) -> Array:
    """Return the centred points with every singular value s replaced by alpha s + (1 - alpha), in
    unit size, shape (n, at most n): ``alpha=1`` changes nothing, ``alpha=0`` whitens.

    s is in units of the root mean square over the rank. The points are defined up to a rotation of
    the columns.
    """
    if alpha == 1:
        return preshape(x)
    if alpha == 0:
        basis = orthonormal_basis(x)
        return basis / basis.shape[1] ** 0.5
    parts = principal_directions(x)
    singular = parts.singular * parts.singular.shape[0] ** 0.5
    points = parts.basis * (alpha * singular + (1 - alpha))[None, :]
    return points / euclidean_norm(points)


# -------------------------------------------------------------------------- roots of Gram matrices


@cached("scalar")
def root_flatness(x: Representation, alpha: float = 1.0) -> float:
    """Return the flatness tr A / (√(n - 1) ‖A‖) of the root A of the Gram matrix of the centred
    points, from 0 for a single direction to 1 for equal singular values. Points are partially
    whitened unless ``alpha`` is 1.

    The trace of A is the sum of the singular values. The sum of the singular values of A B is at
    least tr A B, so the product of the flatness of x and the flatness of y is at most the mean of
    the best cosine after a rotation, over all permutations of the samples.
    """
    points = preshape(x) if alpha == 1 else partially_whitened_points(x, alpha=alpha)
    return _trace_of_root(points) / math.sqrt(x.n_samples - 1)


@cached("scalar")
def direction_flatness(x: Representation) -> float:
    """Return the flatness of the uncentred unit rows, the sum of the singular values of the unit
    rows divided by n, from 0 to 1."""
    return _trace_of_root(reduced_unit_rows(x)) / x.n_samples


@cached("scalar", "scalar")
def root_flatness_bounds(x: Representation) -> tuple[float, float]:
    """Return a lower and an upper bound of :func:`root_flatness` for ``alpha`` 1, from two matrix
    products.

    The flatness is a multiple of the mean root of the eigenvalues of the Gram matrix. The traces of
    the first four powers of the matrix are the moments of the eigenvalues. Odd derivatives of the
    root are positive and even derivatives are negative, so the Gauss rule with two nodes is an
    upper bound of the mean root, and the Gauss-Radau rule with three nodes, of which one is 0, is a
    lower bound (Golub and Meurant 2010, "Matrices, moments and quadrature"). A margin for rounding
    widens the bounds.
    """
    products = _smaller_products(preshape(x))
    squares = x.xp.matrix_transpose(products) @ products
    rank = min(x.n_samples - 1, *x.shape)  # at most this many eigenvalues are positive
    spread, third, fourth = (
        rank**power * scalar(frobenius_inner(a, b))
        for power, (a, b) in enumerate(
            ((products, products), (products, squares), (squares, squares)), start=1
        )
    )
    # The eigenvalues times the rank have mean 1; the Jacobi matrix of their moments is tridiagonal
    variance, rounding = spread - 1, epsilon(products) ** 0.5
    low, high = spread**-0.5, 1.0
    if variance > rounding**0.5:
        center = (third - 2 * spread + 1) / variance
        constant = center - variance  # the second orthogonal polynomial at 0
        high = _gauss_mean_root([1, center], [variance])
        if constant > rounding * center:
            rest = fourth - (1 + center) * third + constant * spread
            coupling = max(rest, 0.0) / variance
            low = _gauss_mean_root([1, center, coupling / constant], [variance, coupling])
    scale = math.sqrt(rank / (x.n_samples - 1))
    return scale * low * (1 - rounding), scale * high * (1 + rounding)


def _gauss_mean_root(diagonal: list[float], squares: list[float]) -> float:
    """Return the mean of the square root by the Gauss rule of a tridiagonal Jacobi matrix, from
    its ``diagonal`` and the ``squares`` of its entries beside the diagonal."""
    sides = np.sqrt(squares)
    nodes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(sides, 1) + np.diag(sides, -1))
    return float(vectors[0] ** 2 @ np.sqrt(np.maximum(nodes, 0)))


def _trace_of_root(points: Array) -> float:
    """Return the sum of the singular values of ``points`` (n, d), from the eigenvalues of the
    smaller matrix of inner products."""
    xp = namespace(points)
    return scalar(xp.sum(safe_sqrt(xp.linalg.eigvalsh(_smaller_products(points)))))


def _smaller_products(points: Array) -> Array:
    """Return the inner products of the columns of ``points``, or of the rows if there are no more
    rows than columns."""
    transposed = namespace(points).matrix_transpose(points)
    return transposed @ points if points.shape[1] < points.shape[0] else points @ transposed
