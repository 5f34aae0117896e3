"""Chords: distances between unit rows in nearly the same direction, in place of cosines close to 1.

A cosine is 1 minus half of the squared distance between two unit rows. Unit rows minus their mean
keep the digits that cosines close to 1 lose.
"""

from __future__ import annotations

from typing import NamedTuple

from ..base.arrays import Array, epsilon, euclidean_norm, namespace, scalar, to_numpy
from ..base.exceptions import UndefinedError

TIE_EPSILONS = 16  # values tie if they differ by less than this many machine epsilons
# Dissimilarities tie if they differ by less than this share of the largest dissimilarity, also if
# TIE_EPSILONS is less: a sum of d equal products loses up to d / 2 machine epsilons.
TIE_SHARE = 1e-12
# Largest rounding error of a cosine close to 1, relative to 1 minus the cosine.
MAX_COSINE_DISTANCE_ROUNDING = 1e-5
# Largest relative rounding error of distances; above, rounding decides which samples are near.
MAX_DISTANCE_ROUNDING = 1e-3
EQUAL_ROW_EPSILONS = 8  # rows are equal if they differ by less than this many machine epsilons


class Chords(NamedTuple):
    """Unit rows minus their mean, (n, d), 0 for a zero row; and ``is_row``, (n,), 1 for every row
    with a direction, else 0."""

    points: Array
    is_row: Array


def cosines_lose_digits(variance: float, eps: float) -> bool:
    """Return whether the cosines between unit rows lose digits. ``variance``: of the unit rows
    around their mean, from 0 to 1. ``eps``: the machine epsilon of the rows."""
    return TIE_EPSILONS * eps > MAX_COSINE_DISTANCE_ROUNDING * variance


def direction_variance(mean_direction: Array, share: float) -> float:
    """Return the variance of unit rows around their mean, 1 - |m|² / share².

    ``mean_direction``: m, the mean over all rows, zero rows included. ``share``: the share of
    nonzero rows.
    """
    return 1 - scalar(euclidean_norm(mean_direction)) ** 2 / (share or 1.0) ** 2


def unit_row_chords(rows: Array, problem: str) -> Chords | None:
    """Return the unit ``rows`` minus their mean, and 1 for every row with a direction, for rows
    that point in nearly the same direction; None if all directions are equal.

    A row of zeros stays zero and counts in no mean. Raises ``UndefinedError``, with the message
    ``problem``, where rounding decides which rows are near.
    """
    xp, eps = namespace(rows), epsilon(rows)
    is_row = xp.astype(euclidean_norm(rows, axis=1) > 0, rows.dtype)
    count = xp.sum(is_row)
    first = rows[int(to_numpy(xp.argmax(is_row))), :]
    points = (rows - first[None, :]) * is_row[:, None]
    points = (points - (xp.sum(points, axis=0) / count)[None, :]) * is_row[:, None]
    spread = scalar(euclidean_norm(points)) / scalar(count) ** 0.5
    if spread <= EQUAL_ROW_EPSILONS * eps:
        return None
    if TIE_EPSILONS * eps > MAX_DISTANCE_ROUNDING * spread:
        raise UndefinedError(problem)
    return Chords(points, is_row)
