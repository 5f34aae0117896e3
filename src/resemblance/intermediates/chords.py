"""Rows in nearly one direction: distances between their ends at unit length, in place of cosines
that are close to 1.

A cosine is 1 minus half of the squared distance between the ends. Around their mean, the ends keep
the digits that such cosines lose.
"""

from __future__ import annotations

from typing import NamedTuple

from ..base.arrays import Array, epsilon, euclidean_norm, namespace, scalar, to_numpy
from ..base.exceptions import UndefinedError

TIE_EPSILONS = 16  # times the machine epsilon: values that differ by less tie
# rounding of cosines close to 1, relative to how far these are from 1
MAX_COSINE_DISTANCE_ROUNDING = 1e-5
# rounding of distances, relative to these: with more, rounding decides who is near
MAX_DISTANCE_ROUNDING = 1e-3
EQUAL_ROW_EPSILONS = 8  # times the machine epsilon: rows that differ by less are equal


class Chords(NamedTuple):
    """Ends of unit rows around their mean, and 1 for each row that has a direction, else 0."""

    points: Array
    is_row: Array


def cosines_lose_digits(variance: float, eps: float) -> bool:
    """Say whether cosines lose digits: those of unit rows with this variance around their mean."""
    return TIE_EPSILONS * eps > MAX_COSINE_DISTANCE_ROUNDING * variance


def direction_variance(mean_direction: Array, share: float) -> float:
    """Variance of unit rows around their mean, from the mean of all rows of which this share is not
    zero."""
    return 1 - scalar(euclidean_norm(mean_direction)) ** 2 / (share or 1.0) ** 2


def unit_row_chords(rows: Array, problem: str) -> Chords | None:
    """Return the chords of unit rows that are narrow; None where all have one direction.

    Raises ``UndefinedError``, with ``problem``, where rounding decides which are near.
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
