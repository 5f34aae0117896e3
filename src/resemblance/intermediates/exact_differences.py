"""Squared distances between samples that are equal to the last digit where the data say so.

Distances that are compared for equality (nearest neighbours, ranks) must not depend on the order of
the samples or on the basis of the features. A rotation breaks exact ties by its rounding, and so
does a centre that is no round number. Here no rotation is made, the centre of a column is a round
number near its mean, and the unit is a power of two: differences of counts, bits and other numbers
of few digits lose none of them, nor do the sums of their squares.
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

SHIFTED_FEATURES_PER_BLOCK = (
    2**12
)  # features at a time of those that are more than the samples, or 2 n


class ShiftedPoints(NamedTuple):
    """Points minus a round number in each column, over a power of two; and the size of the centred
    points in this unit."""

    points: Array  # (n, d)
    size: Array  # 0-d


@cached("n d", "scalar")
def round_shifted_points(x: Representation) -> ShiftedPoints:
    """The points of which distances are compared for equality."""
    unit = power_of_two_below_norm(x)
    return ShiftedPoints(_subtract_round_means(x.array / unit, inlier_row_mask(x)), size(x) / unit)


@cached("n n")
@keep_while_small(1)
def shifted_gram(x: Representation) -> np.ndarray:
    """Inner products of the :func:`round_shifted_points` points of more features than samples,
    shape (n, n), added up over blocks of features: without a copy of all."""
    gram = _shifted_gram_by_blocks(x, None)
    means = gram.mean(axis=0)
    is_far = outlier_row_mask(
        np.diagonal(gram) - 2 * means + means.mean()
    )  # of lengths around the mean
    return gram if is_far is None else _shifted_gram_by_blocks(x, ~is_far)


def _shifted_gram_by_blocks(x: Representation, is_near: np.ndarray | None) -> np.ndarray:
    (n, d), unit = x.shape, power_of_two_below_norm(x)
    gram, width = np.zeros((n, n), dtype=x.dtype), max(SHIFTED_FEATURES_PER_BLOCK, 2 * n)
    for start in range(0, d, width):
        block = _subtract_round_means(x.array[:, start : start + width] / unit, is_near)
        gram += block @ block.T  # of which NumPy computes one triangle
    return gram


def supports_shifted_gram(x: Representation) -> bool:
    """Say whether distances come from :func:`shifted_gram`: by the shape, and the library."""
    return is_rotated(x) and not x.origin and isinstance(x.source, np.ndarray)


def exact_squared_distances(x: Representation) -> BlockFunction:
    """Squared Euclidean distances between the samples in unit size; 0 on the diagonal and between
    samples that differ by rounding only."""
    factor = (power_of_two_below_norm(x) / size(x)) ** 2 if scalar(size(x)) > 0 else 1.0
    entries = (
        _squared_distances_from_gram(x)
        if supports_shifted_gram(x)
        else squared_distance_function(round_shifted_points(x).points)
    )
    return lambda tile: apply_in_place(namespace(x.array).multiply, entries(tile), factor)


def unit_size_distances(x: Representation) -> BlockFunction:
    """Euclidean distances between the samples in unit size, which are not compared for equality: of
    more features than samples without a rotation, whose rounding would part equal samples."""
    if not supports_shifted_gram(x):
        return distance_function(inlier_centered_points(x))
    squares = exact_squared_distances(x)
    return lambda tile: np.sqrt(squares(tile))


def _squared_distances_from_gram(x: Representation) -> BlockFunction:
    """Squared distances from products; those that lost their digits come from differences."""
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
    """The largest power of two up to the size of the centred points; 1 for a size of 0."""
    length = scalar(size(x))
    return math.ldexp(1.0, math.frexp(length)[1] - 1) if length > 0 else 1.0


def _subtract_round_means(columns: Array, is_near: np.ndarray | None) -> Array:
    """Columns minus a number near their mean that is a multiple of a power of two, which is at most
    their standard deviation; of the rows that are near, if others are far from them."""
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
