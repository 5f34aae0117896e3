"""Squared distances that are exactly equal where the distances in the data are equal.

Distances compared for equality (nearest neighbours, ranks) must not depend on the order of the
samples or on the basis of the features. The rounding of a rotation breaks exact ties, and so does a
column centre with many digits. This module makes no rotation, centres every column at a round
number near its mean, and uses a power of two as the unit. Differences of counts, bits and other
numbers with few digits then lose no digits, nor do the sums of squared differences.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    apply_in_place,
    as_array_like,
    detach,
    euclidean_norm,
    namespace,
    scalar,
)
from ..data.representation import Representation, cached, keep_while_small
from .differences import MIN_DISTANCE_ROUNDINGS, cancellation_corrector, diagonal_view
from .far_rows import inlier_centered_points, inlier_row_mask, outlier_row_mask
from .points import is_rotated, size
from .rectangles import (
    BlockFunction,
    MatrixBlock,
    distance_function,
    product_sum_rounding,
    squared_distance_function,
)

# Features per block where features outnumber samples; blocks hold at least 2 n features.
SHIFTED_FEATURES_PER_BLOCK = 2**12


class ShiftedPoints(NamedTuple):
    """Points minus a round number per column, divided by a power of two; and the Frobenius norm of
    the centred points in the same unit."""

    points: Array  # (n, d)
    size: Array  # 0-d


@cached("n d", "scalar")
def round_shifted_points(x: Representation) -> ShiftedPoints:
    """Return the points minus a round number per column, divided by a power of two: two distances
    between the points are exactly equal where the distances in the data are equal."""
    unit = power_of_two_below_norm(x)
    return ShiftedPoints(_subtract_round_means(x.array / unit, inlier_row_mask(x)), size(x) / unit)


@cached("n n")
@keep_while_small(1)
def shifted_gram(x: Representation) -> np.ndarray:
    """Return the inner products of the points of :func:`round_shifted_points`, of data with more
    features than samples, shape (n, n). The function adds up blocks of features and never copies
    all data."""
    gram = _shifted_gram_by_blocks(x, None)
    means = gram.mean(axis=0)
    # The argument holds the squared lengths of the rows minus the mean row.
    is_far = outlier_row_mask(np.diagonal(gram) - 2 * means + means.mean())
    return gram if is_far is None else _shifted_gram_by_blocks(x, ~is_far)


def _shifted_gram_by_blocks(x: Representation, is_near: np.ndarray | None) -> np.ndarray:
    (n, d), unit = x.shape, power_of_two_below_norm(x)
    gram, width = np.zeros((n, n), dtype=x.dtype), max(SHIFTED_FEATURES_PER_BLOCK, 2 * n)
    for start in range(0, d, width):
        block = _subtract_round_means(x.array[:, start : start + width] / unit, is_near)
        gram += block @ block.T  # NumPy computes only a triangle of the product
    return gram


def supports_shifted_gram(x: Representation) -> bool:
    """Return whether the distances of x can come from :func:`shifted_gram`: more features than
    samples, in NumPy, not of a stream."""
    return is_rotated(x) and not x.origin and isinstance(x.source, np.ndarray)


def exact_squared_distances(x: Representation) -> BlockFunction:
    """Return a function that computes blocks of squared Euclidean distances between the samples in
    unit size (centred, Frobenius norm 1); 0 on the diagonal and between samples that are equal up
    to rounding."""
    factor = (power_of_two_below_norm(x) / size(x)) ** 2 if scalar(size(x)) > 0 else 1.0
    if supports_shifted_gram(x):
        entries = _squared_distances_from_gram(x)
    else:
        entries = squared_distance_function(round_shifted_points(x).points)
    return lambda tile: apply_in_place(namespace(x.array).multiply, entries(tile), factor)


def unit_size_distances(x: Representation) -> BlockFunction:
    """Return a function that computes blocks of Euclidean distances between the samples in unit
    size (centred, Frobenius norm 1), not for comparison by equality.

    If features outnumber samples, the function uses :func:`exact_squared_distances`, because the
    rounding of a rotation would separate equal samples.
    """
    if not supports_shifted_gram(x):
        return distance_function(inlier_centered_points(x))
    squares = exact_squared_distances(x)
    return lambda tile: np.sqrt(squares(tile))


def _squared_distances_from_gram(x: Representation) -> BlockFunction:
    """Return a function that computes blocks of squared distances from inner products, divided by
    the square of :func:`power_of_two_below_norm`; distances that lost their digits come from
    differences."""
    gram = shifted_gram(x)
    lengths, rounding = np.diagonal(gram), product_sum_rounding(x.shape[1], x.array)
    threshold = MIN_DISTANCE_ROUNDINGS * rounding
    largest = 2 * lengths.max()

    def entries(tile: MatrixBlock) -> Array:
        sums = lengths[tile.rows, None] + lengths[None, tile.columns]
        block = -2 * gram[tile.rows, tile.columns]
        block += sums
        if tile.has_diagonal:
            diagonal_view(block, tile[:2])[:] = np.inf
        if not block.min() > threshold * largest and (block <= threshold * sums).any():
            points = x.array / power_of_two_below_norm(x)
            cancellation_corrector(points, points)(block, sums, tile[:2], threshold)
        if tile.has_diagonal:
            diagonal_view(block, tile[:2])[:] = 0
        return block

    return entries


def power_of_two_below_norm(x: Representation) -> float:
    """Return the largest power of two up to the Frobenius norm of the centred points; 1 for a norm
    of 0."""
    length = scalar(size(x))
    return math.ldexp(1.0, math.frexp(length)[1] - 1) if length > 0 else 1.0


def _subtract_round_means(columns: Array, is_near: np.ndarray | None) -> Array:
    """Return new columns (n, d) minus a number near the mean of every column: a multiple of the
    largest power of two up to the standard deviation of the column. With ``is_near``, a mask (n,),
    mean and deviation use the marked rows only. A constant column becomes 0."""
    rows = (
        detach(columns) if is_near is None else detach(columns)[as_array_like(is_near, columns), :]
    )
    xp, first = namespace(columns), rows[:1, :]
    shifted = rows - first
    mean = xp.mean(shifted, axis=0, keepdims=True)
    spread = euclidean_norm(shifted - mean, axis=0)[None, :] / rows.shape[0] ** 0.5
    varies = spread > 0
    step = 2 ** xp.floor(xp.log2(xp.where(varies, spread, xp.ones_like(spread))))
    return columns - xp.where(varies, xp.round((mean + first) / step) * step, first)
