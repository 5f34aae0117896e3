"""Views that forget which sample is which: one number of a representation, how its samples spread,
and along how many directions."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import (
    Array,
    detach,
    device,
    has_safe_squares,
    inner,
    like,
    namespace,
    norm,
    scalar,
)
from ..base.rng import generator
from ..data.representation import Representation, view
from .digits import norm_of, resolution
from .distances import squared_distances_above
from .far_rows import near_points
from .points import centered, mean, mean_direction, size, unit_rows
from .spectra import decomposition

NEARLY = 1e-3  # of both lengths: a difference that is less loses digits


@view
def magnitude(x: Representation) -> Array:
    """Length of the mean row."""
    return norm(mean(x))


def magnitude_gap(x: Representation, y: Representation) -> Array:
    r"""The length of the mean row of x minus that of y.

    Of nearly equal lengths from :math:`(a - b)^\top (a + b) / (\lVert a \rVert + \lVert b
    \rVert)` and the distances from the first rows, so that a common offset costs no digits.
    """
    a, b = magnitude(x), magnitude(y)
    gap, total = scalar(a) - scalar(b), scalar(a) + scalar(b)
    if abs(gap) > NEARLY * total or x.origin or y.origin or not has_safe_squares(a * b):
        return a - b
    width = max(x.shape[1], y.shape[1])
    (f, m), (g, k) = ((wide(r.array[0, :], width), _shift(r, width)) for r in (x, y))
    return inner((f - g) + (m - k), (wide(mean(x), width) + wide(mean(y), width)) / (a + b))


def _shift(x: Representation, width: int) -> Array:
    """The mean row minus the first row, with zeros up to this width."""
    return wide(x.xp.mean(x.array - x.array[:1, :], axis=0), width)


@view
def concentricity(x: Representation) -> Array:
    """Mean cosine between the rows and the mean row; 0 where that is rounding only, as of centred
    points, and has no direction."""
    length, rounding = magnitude(x), 16 * float(np.finfo(x.precision).eps)
    rounding = max(rounding, 4 * resolution(x) / x.shape[0])  # of sums, and of what was stored
    sizes = (scalar(of(x)) for of in (norm_of, size))  # the second, never larger, takes long
    if all(scalar(length) <= rounding * s for s in sizes):
        return 0 * x.xp.sum(mean(x))  # with a gradient, of 0
    direction = mean(x) / length
    return inner(mean_direction(x), direction)


@view
def uniformity(x: Representation, unit: bool, self_pairs: bool) -> Array:
    """Logarithm of the mean Gaussian potential exp(-2 d^2) between samples.

    Summed in the log domain: samples far apart give a large negative number, not minus infinity.
    """
    xp, n = x.xp, x.shape[0]
    points, scale = (unit_rows(x), 2.0) if unit else _raw_points(x)
    blocks = (part for part in squared_distances_above(points) if part.shape[0])
    parts = [_log_sum_exp(-scale * part) for part in blocks]
    total = _log_sum_exp(xp.stack(parts)) + math.log(2)  # each pair once
    if self_pairs:
        total = _log_sum_exp(xp.stack([total, xp.full_like(total, math.log(n))]))
    return total - math.log(n * n if self_pairs else n * (n - 1))


def _raw_points(x: Representation) -> tuple[Array, Array]:
    """Points in unit size and the factor that brings 2 d^2 back, kept finite: a larger one changes
    nothing."""
    length = size(x)
    if scalar(length) == 0:
        return centered(x), length
    largest = x.xp.finfo(length.dtype).max ** 0.5 / 2
    bounded = x.xp.where(length > largest, x.xp.full_like(length, largest), length)
    return near_points(x), 2 * bounded * bounded


def _log_sum_exp(exponents: Array) -> Array:
    xp = namespace(exponents)
    peak = detach(xp.max(exponents))
    return xp.log(xp.sum(xp.exp(exponents - peak))) + peak


def projections_of(
    x: Representation, y: Representation, projections: int, seed: int
) -> tuple[Array, Array]:
    """The samples of both along random unit vectors, each direction sorted, shape (n, projections).

    The first row of x counts as the origin, so that a common offset costs no digits.
    """
    settings = {"projections": projections, "seed": seed}
    gap = detach(y.array[0, :] - x.array[0, :])  # as the origins below are
    along = gap @ like(_directions(x.shape[1], projections, seed), gap)
    return sorted_projections(x, **settings), sorted_projections(y, **settings) + along[None, :]


def wide(row: Array, width: int) -> Array:
    """A row with zeros up to this width."""
    xp, missing = namespace(row), width - row.shape[0]
    return xp.concat([row, xp.zeros(missing, dtype=row.dtype, device=device(row))])


def _directions(width: int, projections: int, seed: int) -> np.ndarray:
    drawn = generator(seed, "directions", width).standard_normal((width, projections))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=0))


@view
def sorted_projections(x: Representation, projections: int, seed: int) -> Array:
    """The samples minus the first one along random unit vectors, each direction sorted, shape (n,
    projections)."""
    unit = like(_directions(x.shape[1], projections, seed), x.array)
    return x.xp.sort((x.array - detach(x.array[:1, :])) @ unit, axis=0)


def spectra(x: Representation, y: Representation) -> tuple[Array, Array]:
    """Singular values of both, the shorter list filled up with zeros; squares sum to 1."""
    s, t = decomposition(x).singular, decomposition(y).singular
    length = max(s.shape[0], t.shape[0])
    return _filled(s, length), _filled(t, length)


def _filled(values: Array, length: int) -> Array:
    xp = namespace(values)
    zeros = xp.zeros(length - values.shape[0], dtype=values.dtype, device=device(values))
    return xp.concat([values, zeros])
