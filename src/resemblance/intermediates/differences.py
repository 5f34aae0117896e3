"""Squared distances between rows from differences, where inner products have lost the digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base.arrays import (
    Array,
    as_array_like,
    epsilon,
    is_torch,
    namespace,
    records_gradient,
    scalar,
    to_numpy,
)
from ..base.rng import generator

# A squared distance below this multiple of its rounding error has lost digits.
MIN_DISTANCE_ROUNDINGS = 2.0**12
EQUAL_ROW_ROUNDINGS = 16  # rows are equal if they differ by less than this many rounding errors
MAX_DIFFERENCES_IN_MEMORY = 2**20  # differences in memory at a time


def can_correct_in_place(points: Array) -> bool:
    """Return whether the library of ``points`` can write into arrays, and no gradient forbids
    writing."""
    return isinstance(points, np.ndarray) or (is_torch(points) and not records_gradient(points))


def cancellation_corrector(
    points: Array, targets: Array
) -> Callable[[Array, Array, tuple[slice, slice], float], None]:
    """Return a function that recomputes, in a block of the squared distances from ``points`` (n,
    d) to ``targets`` (m, d), the entries that lost their digits.

    The function takes the block, the sums of the squared lengths of the two rows of every entry,
    the place of the block as two slices, and the share of the sums below which digits are lost. The
    function overwrites the block and the sums. Entries on the diagonal of the whole matrix must be
    infinite. A projection on a random direction shows which rows are equal up to rounding, such as
    copies: equal rows are at distance 0.
    """
    xp, eps = namespace(points), epsilon(points)
    ends: list[Array] = []

    def mend(block: Array, sums: Array, tile: tuple[slice, slice], threshold: float) -> None:
        sums *= threshold
        are_close = block <= sums
        if not scalar(xp.any(are_close)):
            return
        if not ends:
            direction = as_array_like(
                generator(0, "direction").standard_normal(points.shape[1]), points
            )
            ends.extend(xp.sum(a * direction[None, :], axis=1) for a in (points, targets))
        is_near = to_numpy(are_close)
        row, column = np.divmod(np.flatnonzero(is_near), is_near.shape[1])
        rows, columns = row + (tile[0].start or 0), column + (tile[1].start or 0)
        scale = (to_numpy(sums)[row, column] / threshold) ** 0.5
        gaps = np.abs(to_numpy(ends[0])[rows] - to_numpy(ends[1])[columns])
        differs = gaps > EQUAL_ROW_ROUNDINGS * eps * scale
        values = np.zeros(len(row), dtype=gaps.dtype)
        values[differs] = _squared_distances_of_pairs(
            points, targets, rows[differs], columns[differs]
        )
        block[row, column] = as_array_like(values, block)

    return mend


def diagonal_view(block: Array, tile: tuple[slice, slice]) -> Array:
    """Return a writable view (rows,) of the entries of ``block`` on the diagonal of the whole
    matrix.

    ``block``: contiguous; its columns begin at or before its rows. ``tile``: the rows and the
    columns of the block.
    """
    offset, (height, width) = (tile[0].start or 0) - (tile[1].start or 0), block.shape
    return block.reshape(-1)[offset : offset + height * width : width + 1]


def _squared_distances_of_pairs(
    points: Array, targets: Array, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the squared distances between ``points[rows]`` and ``targets[columns]``, pair by
    pair, (pairs,), computed from differences."""
    xp, parts = namespace(points), [np.zeros(0)]
    pairs = max(1, MAX_DIFFERENCES_IN_MEMORY // points.shape[1])
    for start in range(0, len(rows), pairs):
        a = xp.take(points, as_array_like(rows[start : start + pairs], points), axis=0)
        b = xp.take(targets, as_array_like(columns[start : start + pairs], points), axis=0)
        parts.append(to_numpy(xp.sum((a - b) ** 2, axis=1)))
    return np.concatenate(parts)
