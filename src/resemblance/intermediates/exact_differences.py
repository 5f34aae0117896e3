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

from ..base.arrays import Array, detach, like, namespace, norm, reuse, scalar
from ..data.representation import Representation, lasting, view
from .differences import CLOSE, from_differences, on_diagonal
from .far_rows import far_rows, near_points, rows_that_are_near
from .points import is_rotated, size
from .rectangles import Entries, Rectangle, distances_of, rounding_of_sums, squared_distances_of

COLUMNS = 2**12  # features at a time of those that are more than the samples, or 2 n


class Shifted(NamedTuple):
    """Points minus a round number in each column, over a power of two; and the size of the centred
    points in this unit."""

    points: Array  # (n, d)
    size: Array  # 0-d


@view
def shifted(x: Representation) -> Shifted:
    """The points of which distances are compared for equality."""
    unit = power_of_two(x)
    return Shifted(_minus_round_means(x.array / unit, rows_that_are_near(x)), size(x) / unit)


@view
@lasting(1)
def shifted_gram(x: Representation) -> np.ndarray:
    """Inner products of the :func:`shifted` points of more features than samples, shape (n, n),
    added up over blocks of features: without a copy of all."""
    gram = _products_of_blocks(x, None)
    means = gram.mean(axis=0)
    is_far = far_rows(np.diagonal(gram) - 2 * means + means.mean())  # of lengths around the mean
    return gram if is_far is None else _products_of_blocks(x, ~is_far)


def _products_of_blocks(x: Representation, is_near: np.ndarray | None) -> np.ndarray:
    (n, d), unit = x.shape, power_of_two(x)
    gram, width = np.zeros((n, n), dtype=x.precision), max(COLUMNS, 2 * n)
    for start in range(0, d, width):
        block = _minus_round_means(x.array[:, start : start + width] / unit, is_near)
        gram += block @ block.T  # of which NumPy computes one triangle
    return gram


def has_gram(x: Representation) -> bool:
    """Say whether distances come from :func:`shifted_gram`: by the shape, and the library."""
    return is_rotated(x) and not x.origin and isinstance(x.source, np.ndarray)


def squared_distances_within(x: Representation) -> Entries:
    """Squared Euclidean distances between the samples in unit size; 0 on the diagonal and between
    samples that differ by rounding only."""
    factor = (power_of_two(x) / size(x)) ** 2 if scalar(size(x)) > 0 else 1.0
    entries = _from_gram(x) if has_gram(x) else squared_distances_of(shifted(x).points)
    return lambda at: reuse(namespace(x.array).multiply, entries(at), factor)


def distances_within(x: Representation) -> Entries:
    """Euclidean distances between the samples in unit size, which are not compared for equality: of
    more features than samples without a rotation, whose rounding would part equal samples."""
    if not has_gram(x):
        return distances_of(near_points(x))
    squares = squared_distances_within(x)
    return lambda at: np.sqrt(squares(at))


def _from_gram(x: Representation) -> Entries:
    """Squared distances from products; those that lost their digits come from differences."""
    gram = shifted_gram(x)
    lengths, rounding = np.diagonal(gram), rounding_of_sums(x.shape[1], x.array)
    near = CLOSE * rounding
    largest = 2 * lengths.max()

    def entries(at: Rectangle) -> Array:
        both = lengths[at.rows, None] + lengths[None, at.columns]
        block = -2 * gram[at.rows, at.columns]
        block += both
        if at.has_diagonal:
            on_diagonal(block, at[:2])[:] = np.inf
        if not block.min() > near * largest and (block <= near * both).any():
            points = x.array / power_of_two(x)
            from_differences(points, points)(block, both, at[:2], near)
        if at.has_diagonal:
            on_diagonal(block, at[:2])[:] = 0
        return block

    return entries


def power_of_two(x: Representation) -> float:
    """The largest power of two up to the size of the centred points; 1 for a size of 0."""
    length = scalar(size(x))
    return math.ldexp(1.0, math.frexp(length)[1] - 1) if length > 0 else 1.0


def _minus_round_means(columns: Array, is_near: np.ndarray | None) -> Array:
    """Columns minus a number near their mean that is a multiple of a power of two, which is at most
    their standard deviation; of the rows that are near, if others are far from them."""
    near = detach(columns) if is_near is None else detach(columns)[like(is_near, columns), :]
    xp, first = namespace(columns), near[:1, :]
    moved = near - first
    mean = xp.mean(moved, axis=0, keepdims=True)
    spread = norm(moved - mean, axis=0)[None, :] / near.shape[0] ** 0.5
    varies = spread > 0
    step = 2 ** xp.floor(xp.log2(xp.where(varies, spread, xp.ones_like(spread))))
    return columns - xp.where(varies, xp.round((mean + first) / step) * step, first)
