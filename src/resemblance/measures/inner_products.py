"""Measures that are functions of an inner product of two matrices: what follows from these.

Each matrix is a function of one representation and the parameters of the measure. Where the value
divides by what is no sum of squares, the matrices are divided by the part of it that is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..claims import Product, cosine
from ..representation import Representation
from ..views.matrices import expected_inner


def compares(
    left: Callable[..., Any],
    right: Callable[..., Any] | None = None,
    *,
    value: Callable[[float, float, float], float] = cosine,
    **claims: Any,
) -> dict[str, Any]:
    """Return the claims that follow from the matrices that a measure compares: exact moments, and
    where the value is linear in their inner product, chance."""
    product = Product(left, right, value=value, **claims)
    return {"product": product, "chance": None if product.root else partial(mean_value, product)}


def mean_value(product: Product, x: Representation, y: Representation, **parameters: Any) -> float:
    """The mean over all orders of the samples of y, from traces and sums of both matrices."""
    a: Any = product.left(x, **parameters)
    b: Any = (product.right or product.left)(y, **parameters)
    sizes = (a.square, b.square)
    if product.scale:
        sizes = (product.scale(x, **parameters), product.scale(y, **parameters))
    return product.value(expected_inner(a, b), *sizes)


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


def width(x: Representation, **_: Any) -> float:
    """Return the number of features."""
    return float(x.shape[1])
