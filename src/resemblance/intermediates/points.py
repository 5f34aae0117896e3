"""Intermediates of the points: centred, scaled, and rotated into the dimensions that the points
span."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    apply_in_place,
    column_means,
    concatenate_blocks,
    detach,
    epsilon,
    euclidean_norm,
    has_safe_squares,
    namespace,
    row_blocks,
    scalar,
    sum_of_squares,
)
from ..base.exceptions import UndefinedError
from ..data.representation import (
    ROWS_PER_COPIED_BLOCK,
    Representation,
    cached,
    cached_pair,
    is_large_array,
    keep_while_small,
    representation_title,
    working_value_blocks,
)
from .digits import resolution, uncentered_norm

# Rows are converted and centred in blocks of this many numbers, which fit in a processor's cache.
NUMBERS_IN_CACHE = 2**16


@cached("d")
def mean(x: Representation) -> Array:
    """Return the mean row, shape (d,), accumulated relative to the first row so that a large common
    offset costs no digits."""
    first = detach(x.array[:1, :])
    return (column_means(x.array - first) + first)[0, :]


@cached("n d")
def centered(x: Representation) -> Array:
    """Return the rows minus the mean row, shape (n, d); a constant column becomes exactly zero."""
    return _center_with_mean(x)[0]


def _center_with_mean(x: Representation) -> tuple[Array, Array]:
    """Return the rows minus the mean row, (n, d), and the mean row, (d,)."""
    if is_large_array(x):
        points = concatenate_blocks(_centered_row_blocks(x), np.empty(x.shape, dtype=x.dtype))
        return points, np.sum(_first_row_and_offset(x), axis=0)
    points = x.array
    first = detach(points[:1, :])
    shifted = points - first
    row = column_means(shifted)
    return apply_in_place(x.xp.subtract, shifted, row), (row + first)[0, :]


@cached("d", "d")
def _first_row_and_offset(x: Representation) -> tuple[Array, Array]:
    """Return the first row, (d,), and the mean of the rows minus the first row, (d,), computed in
    blocks of rows."""
    first = next(working_value_blocks(x))[0].copy()  # a view would keep the block in memory
    total = np.zeros(x.shape[1], dtype=x.dtype)
    for block in working_value_blocks(x):
        shifted = block - first
        shifted[0] += total  # adds up in the same order as a single sum
        total = shifted.sum(axis=0)
    return first, total / x.shape[0]


def _centered_row_blocks(x: Representation) -> Iterator[Array]:
    """Yield the rows minus the mean row in blocks of rows, (rows of the block, d), with the same
    digits as :func:`centered`."""
    first, mean = _first_row_and_offset(x)
    return (apply_in_place(np.subtract, block - first, mean) for block in working_value_blocks(x))


# A row is constant if its entries differ by at most this many roundings of the largest entry.
MAX_CONSTANT_ROUNDINGS = 4


class ScaledPoints(NamedTuple):
    """Centred points in unit size, (n, d); ``size``, their Frobenius norm before scaling; and the
    mean row, (d,)."""

    points: Array
    size: Array
    mean: Array


@cached("n d", "scalar", "d")
def centered_scaled(x: Representation) -> ScaledPoints:
    """Return the centred points in unit size (divided by the Frobenius norm), the norm, and the
    mean row; points of size 0 stay 0.

    The centred points are a separate intermediate, so that functions of the centred points alone
    store one array less.
    """
    if x.origin:  # a stream has fewer rows than samples, so a row has a larger mean
        return ScaledPoints(
            centered(x) / _nonzero_divisor(euclidean_norm(centered(x))),
            euclidean_norm(centered(x)),
            mean(x),
        )
    points, row = _center_with_mean(x)
    length = euclidean_norm(points)
    return ScaledPoints(apply_in_place(x.xp.divide, points, _nonzero_divisor(length)), length, row)


def _nonzero_divisor(length: Array) -> Array:
    """Return ``length``, with 1 where the length is 0."""
    if type(length) is np.float64:
        return length or np.float64(1)
    xp = namespace(length)
    return xp.where(length > 0, length, xp.ones_like(length))


def size(x: Representation) -> Array:
    """Return the Frobenius norm of the centred points (Kendall's centroid size)."""
    return _centered_norm_by_blocks(x) if is_large_array(x) else centered_scaled(x).size


@cached("scalar")
def _centered_norm_by_blocks(x: Representation) -> Array:
    squares = np.concatenate([sum_of_squares(b, axis=1) for b in _centered_row_blocks(x)]).sum()
    return (
        np.sqrt(squares) if has_safe_squares(squares) else euclidean_norm(_center_with_mean(x)[0])
    )


@cached("scalar", "d")
def size_and_scaled_mean(x: Representation) -> tuple[Array, Array]:
    """Return, for the uncentred points scaled to Frobenius norm 1, the norm of the centred points,
    and the mean row times the root of n, (d,)."""
    length = uncentered_norm(x)
    return size(x) / length, centered_scaled(x).mean / length * x.n_samples**0.5


@cached("n d")
def unit(x: Representation, centered: bool = True) -> Array:
    """Return the points divided by their Frobenius norm, (n, d), centred first by default. Raise
    ``UndefinedError`` when the norm is 0."""
    length = _positive_norm(x, centered)
    return centered_scaled(x).points if centered else x.array / length


def _positive_norm(x: Representation, centered: bool) -> Array:
    length = size(x) if centered else uncentered_norm(x)
    if scalar(length) == 0:
        problem = "is constant (all its rows are equal)" if centered else "is all zero"
        raise UndefinedError(f"{representation_title(x)} {problem}: it has no shape to compare")
    return length


def unit_rows_between(x: Representation, rows: slice, scratch: np.ndarray) -> Array:
    """Return the given rows of the centred points of Frobenius norm 1, (rows, d); of large data
    only these rows are in memory, as a view of the flat array ``scratch``, which the function
    overwrites."""
    if not is_large_array(x):
        return unit(x)[rows, :]
    first, mean = _first_row_and_offset(x)
    length, source = _positive_norm(x, centered=True), x.source[rows]
    points = scratch[: source.size].reshape(source.shape)
    for start, stop in row_blocks(len(points), max(1, NUMBERS_IN_CACHE // x.shape[1])):
        part = points[start:stop]
        with np.errstate(over="ignore"):
            part[...] = source[start:stop]
            part -= first
        part -= mean
        part /= length
    return points


def unit_blocks(x: Representation) -> Iterator[Array]:
    """Yield the rows of the centred points of Frobenius norm 1 in blocks; for large data only a
    block of rows is in memory."""
    length = _positive_norm(x, centered=True)
    if is_large_array(x):
        yield from (apply_in_place(np.divide, block, length) for block in _centered_row_blocks(x))
    else:
        points, n = unit(x), x.shape[0]
        yield from (
            points[i : min(i + ROWS_PER_COPIED_BLOCK, n), :]
            for i in range(0, n, ROWS_PER_COPIED_BLOCK)
        )


def products_by_blocks(x: Representation, y: Representation) -> np.ndarray:
    """Return the inner products between the columns of x and y, centred and in unit size (Frobenius
    norm 1), (d_x, d_y), added up over blocks of rows."""
    products = np.zeros((x.shape[1], y.shape[1]), dtype=x.dtype)
    blocks = zip(unit_blocks(x), unit_blocks(y)) if y is not x else ((b, b) for b in unit_blocks(x))
    for a, b in blocks:
        products += a.T @ b
    return products


@cached("n d")
@keep_while_small(1)
def preshape(x: Representation, centered: bool = True) -> Array:
    """Return the points divided by their Frobenius norm, centred first by default, in at most n
    columns, (n, min(n, d)): rotated into the dimensions that the points span when d > n.

    A rotation changes neither distances nor inner products between samples, so rotation-invariant
    measures may use this intermediate, and never compute a product wider than n. Raises
    ``UndefinedError`` when the norm is 0.
    """
    points = unit(x, centered=centered)
    if not is_rotated(x):
        return points
    if isinstance(points, np.ndarray):  # Pᵀ = Q R, so P Q = Rᵀ: skipping Q halves the work
        triangle: Any = np.linalg.qr(points.T, mode="r")
        return np.ascontiguousarray(triangle.T)
    # The basis needs no gradient: a rotation-invariant function does not change, to first order,
    # along directions outside the row space.
    return points @ x.xp.linalg.qr(x.xp.matrix_transpose(detach(points)))[0]


def is_rotated(x: Representation) -> bool:
    """Return whether :func:`preshape` rotates the points: more features than samples."""
    n, d = x.shape
    return d > n


@cached("n")
def row_norms(x: Representation) -> Array:
    """Return the Euclidean norm of every row, shape (n,)."""
    return euclidean_norm(x.array, axis=1)


@cached("n d")
def unit_rows(x: Representation) -> Array:
    """Return the rows scaled to unit length, shape (n, d); a zero row stays zero."""
    return unit_rows_of_array(x.array)


@cached("n")
def directed(x: Representation) -> Array:
    """Return 1 for every row with a direction, 0 for a zero row, shape (n,)."""
    return x.xp.astype(row_norms(x) > 0, x.array.dtype)


@cached("d")
def mean_direction(x: Representation) -> Array:
    """Return the mean of the rows scaled to unit length, (d,). Zero rows count as zero."""
    return x.xp.mean(unit_rows(x), axis=0)


@cached("n d")
def reduced_unit_rows(x: Representation) -> Array:
    """Return the rows scaled to unit length, in the coordinates of ``preshape(x, centered=False)``,
    (n, min(n, d))."""
    return unit_rows(x) if not is_rotated(x) else unit_rows_of_array(preshape(x, centered=False))


@cached("n d")
def standardized_rows(x: Representation) -> Array:
    """Return the rows minus their own mean over the features, at unit length. A row becomes zero if
    the row is constant, or varies by no more than the rounding of the stored numbers."""
    return normalize_rows(x.array, "correlation", resolution(x))


def normalize_rows(rows: Array, kind: str, rtol: float = 0.0) -> Array:
    """Return new rows scaled so that the inner products are the cosines ("cosine") or the Pearson
    correlations over features ("correlation") of the input rows.

    A row without direction becomes zero: a zero row, or for "correlation" a row with entries equal
    up to rounding. ``rtol``: the relative rounding of the stored numbers, if coarser than the
    rounding of the array.
    """
    if kind == "cosine":
        return unit_rows_of_array(rows)
    xp, eps = namespace(rows), max(rtol, epsilon(rows))
    shifted = rows - detach(rows[:, :1])
    varies = xp.max(xp.abs(shifted), axis=1) > MAX_CONSTANT_ROUNDINGS * eps * xp.max(
        xp.abs(rows), axis=1
    )
    shifted = shifted - xp.mean(shifted, axis=1, keepdims=True)
    return unit_rows_of_array(xp.where(detach(varies)[:, None], shifted, xp.zeros_like(shifted)))


def unit_rows_of_array(rows: Array) -> Array:
    """Return the rows of an array scaled to unit length; a zero row stays zero."""
    xp, lengths = namespace(rows), euclidean_norm(rows, axis=1)[:, None]
    return rows / xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def comparable_columns(x: Representation, y: Representation) -> tuple[Array, Array, Array]:
    """Return x and y, uncentred, divided by the larger Frobenius norm of the two against overflow
    and underflow; and the norm, 0 if both are all zero."""
    sizes = detach(uncentered_norm(x)), detach(uncentered_norm(y))
    scale = x.xp.where(sizes[0] > sizes[1], *sizes)
    divisor = x.xp.where(scale > 0, scale, x.xp.ones_like(scale))
    return x.array / divisor, y.array / divisor, scale


@cached("d")
def column_norms(x: Representation) -> Array:
    """Return the Euclidean norm of every centred column, shape (d,)."""
    return euclidean_norm(centered_scaled(x).points, axis=0) * size(x)


# ---------------------------------------------------------------------------------- products of two


def transpose_matrix(matrix: Array) -> Array:
    if isinstance(matrix, np.ndarray):
        return matrix.T
    return namespace(matrix).matrix_transpose(matrix)


def return_unchanged(value: Array) -> Array:
    return value


@cached_pair(swap=transpose_matrix)
def feature_products(x: Representation, y: Representation, centered: bool = True) -> Array:
    """Return the inner products between the columns of x and y, both in unit size (Frobenius norm
    1), centred by default, shape (d_x, d_y)."""
    if not centered and all(scalar(size(r)) > 0 for r in (x, y)):
        # Products of the centred points, which other measures need too, plus products of the means.
        (a, m), (b, k) = size_and_scaled_mean(x), size_and_scaled_mean(y)
        return feature_products(x, y) * (a * b) + m[:, None] * k[None, :]
    if centered and (is_large_array(x) or is_large_array(y)):
        return products_by_blocks(x, y)
    return transpose_matrix(unit(x, centered=centered)) @ unit(y, centered=centered)


@cached_pair(swap=transpose_matrix)
def cross_products(x: Representation, y: Representation, centered: bool = True) -> Array:
    """Return ``feature_products`` up to rotations of x and y, with at most n rows and columns:
    products of :func:`preshape`."""
    if is_rotated(x) or is_rotated(y):
        return transpose_matrix(preshape(x, centered=centered)) @ preshape(y, centered=centered)
    return feature_products(x, y, centered=centered)
