"""Views that are one number: what a statistic says of one representation."""

from __future__ import annotations

import math

from ..arrays import Array, detach, device, namespace, norm, scalar
from ..representation import Representation, view
from .distances import row_blocks, squared_distance_block
from .points import centered, mean, preshape, size, unit_rows


@view
def magnitude(x: Representation) -> Array:
    """Length of the mean row."""
    return norm(mean(x))


@view
def concentricity(x: Representation) -> Array:
    """Mean cosine between the rows and the mean row."""
    length = magnitude(x)
    direction = mean(x) / x.xp.where(length > 0, length, x.xp.ones_like(length))
    return x.xp.mean(unit_rows(x) @ direction)


@view
def uniformity(x: Representation, unit: bool, self_pairs: bool) -> Array:
    """Logarithm of the mean Gaussian potential exp(-2 d^2) between samples.

    Summed in the log domain: samples far apart give a large negative number, not minus infinity.
    """
    xp, n = x.xp, x.shape[0]
    points, scale = (unit_rows(x), 2.0) if unit else _raw_points(x)
    index = xp.arange(n, device=device(points))
    parts = []
    for start, stop in row_blocks(n):
        exponent = -scale * squared_distance_block(points, start, stop)
        if not self_pairs:
            itself = index[None, :] == index[start:stop, None]
            exponent = xp.where(itself, xp.full_like(exponent, -math.inf), exponent)
        parts.append(_log_sum_exp(exponent))
    return _log_sum_exp(xp.stack(parts)) - math.log(n * n if self_pairs else n * (n - 1))


def _raw_points(x: Representation) -> tuple[Array, Array]:
    """Points in unit size and the factor that brings 2 d^2 back, kept finite: a larger one changes
    nothing."""
    length = size(x)
    if scalar(length) == 0:
        return centered(x), length
    largest = x.xp.finfo(length.dtype).max ** 0.5 / 2
    bounded = x.xp.where(length > largest, x.xp.full_like(length, largest), length)
    return preshape(x), 2 * bounded * bounded


def _log_sum_exp(exponents: Array) -> Array:
    xp = namespace(exponents)
    peak = detach(xp.max(exponents))
    return xp.log(xp.sum(xp.exp(exponents - peak))) + peak
