"""Measures that are functions of an inner product of two matrices: what follows from these.

Each matrix is a function of one representation and the parameters of the measure. Where the value
divides by what is no sum of squares, the matrices are divided by the part of it that is theirs.
"""

from __future__ import annotations

import math

from ..representation import Representation


def itself(product: float, x_square: float, y_square: float) -> float:
    """Return the value of a measure that is the inner product itself."""
    return product


def minus_itself(product: float, x_square: float, y_square: float) -> float:
    """Return the value of a measure that is minus the inner product."""
    return -product


def squared_distance(product: float, x_square: float, y_square: float) -> float:
    """Return the squared distance of two matrices: |A|^2 + |B|^2 - 2 <A, B>."""
    return x_square + y_square - 2 * product


def beyond_chance(product: float, x_square: float, y_square: float) -> float:
    """Return (m - c) / (1 - c) of matrices with the cosine m and, on average over all orders, the
    cosine c = |A| |B|."""
    chance = math.sqrt(x_square * y_square)
    return (product / chance - chance) / (1 - chance)


def of_smaller(product: float, x_scale: float, y_scale: float) -> float:
    """Return the share that the inner product is of the smaller of two numbers."""
    return product / min(x_scale, y_scale)


def of_larger(product: float, x_scale: float, y_scale: float) -> float:
    """Return the share that the inner product is of the larger of two numbers."""
    return product / max(x_scale, y_scale)


def over_both_squares(product: float, x_square: float, y_square: float) -> float:
    """Return <A, B> / (<A, A> <B, B>)."""
    return product / (x_square * y_square)


def width(x: Representation) -> float:
    """Return the number of features."""
    return float(x.shape[1])
