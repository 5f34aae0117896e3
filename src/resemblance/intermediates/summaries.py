"""Intermediates that ignore the correspondence between samples: a scalar of a representation,
sorted projections of the samples, and the spectrum."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import (
    Array,
    as_array_like,
    detach,
    device,
    euclidean_norm,
    frobenius_inner,
    has_safe_squares,
    namespace,
    scalar,
)
from ..base.rng import generator
from ..data.representation import Representation, cached
from .digits import resolution, uncentered_norm
from .distances import condensed_squared_distances
from .far_rows import inlier_centered_points
from .points import centered, mean, mean_direction, size, unit_rows
from .spectra import decomposition

MIN_RELATIVE_GAP = 1e-3  # a smaller difference, relative to the sum of the lengths, loses digits


@cached("scalar")
def mean_row_norm(x: Representation) -> Array:
    """Return the length of the mean row."""
    return euclidean_norm(mean(x))


def mean_row_norm_difference(x: Representation, y: Representation) -> Array:
    r"""Return the length of the mean row of x minus the length of the mean row of y.

    Nearly equal lengths differ by :math:`(a - b)^\top (a + b) / (\lVert a \rVert + \lVert b
    \rVert)`, with means relative to the first rows, so that a common offset costs no digits.
    """
    a, b = mean_row_norm(x), mean_row_norm(y)
    gap, total = scalar(a) - scalar(b), scalar(a) + scalar(b)
    if abs(gap) > MIN_RELATIVE_GAP * total or x.origin or y.origin or not has_safe_squares(a * b):
        return a - b
    width = max(x.shape[1], y.shape[1])
    (f, m), (g, k) = (
        (pad_row_with_zeros(r.array[0, :], width), _mean_shift(r, width)) for r in (x, y)
    )
    return frobenius_inner(
        (f - g) + (m - k),
        (pad_row_with_zeros(mean(x), width) + pad_row_with_zeros(mean(y), width)) / (a + b),
    )


def _mean_shift(x: Representation, width: int) -> Array:
    """Return the mean row minus the first row, padded with zeros to (``width``,)."""
    return pad_row_with_zeros(x.xp.mean(x.array - x.array[:1, :], axis=0), width)


@cached("scalar")
def concentricity(x: Representation) -> Array:
    """Return the mean cosine between the rows and the mean row, a 0-d array; 0 where the mean row
    is only rounding error without a direction, for example after centring."""
    length, rounding = mean_row_norm(x), 16 * float(np.finfo(x.dtype).eps)
    # Rounding of the sums, and of the stored numbers.
    rounding = max(rounding, 4 * resolution(x) / x.shape[0])
    # The centred norm is never larger and takes long, so it comes second.
    sizes = (scalar(norm(x)) for norm in (uncentered_norm, size))
    if all(scalar(length) <= rounding * s for s in sizes):
        return 0 * x.xp.sum(mean(x))  # keeps a gradient, equal to 0
    direction = mean(x) / length
    return frobenius_inner(mean_direction(x), direction)


@cached("scalar")
def uniformity(x: Representation, unit: bool, self_pairs: bool) -> Array:
    """Return the logarithm of the mean Gaussian potential exp(-2 d^2) between samples, at most 0, a
    0-d array.

    ``unit``: between the rows at unit length, not between the data. ``self_pairs``: pairs of a
    sample with itself count. The sum is computed in the log domain: distant samples give a large
    negative number, not minus infinity.
    """
    xp, n = x.xp, x.shape[0]
    points, scale = (unit_rows(x), 2.0) if unit else _raw_points(x)
    blocks = (part for part in condensed_squared_distances(points) if part.shape[0])
    parts = [_log_sum_exp(-scale * part) for part in blocks]
    total = _log_sum_exp(xp.stack(parts)) + math.log(2)  # blocks hold every pair once
    if self_pairs:
        total = _log_sum_exp(xp.stack([total, xp.full_like(total, math.log(n))]))
    return total - math.log(n * n if self_pairs else n * (n - 1))


def _raw_points(x: Representation) -> tuple[Array, Array]:
    """Return the points in unit size, and the factor c with c times their squared distance = 2 d^2
    for distances d in the data. The factor is capped to stay finite; a larger factor changes
    nothing."""
    length = size(x)
    if scalar(length) == 0:
        return centered(x), length
    largest = x.xp.finfo(length.dtype).max ** 0.5 / 2
    bounded = x.xp.where(length > largest, x.xp.full_like(length, largest), length)
    return inlier_centered_points(x), 2 * bounded * bounded


def _log_sum_exp(exponents: Array) -> Array:
    xp = namespace(exponents)
    peak = detach(xp.max(exponents))
    return xp.log(xp.sum(xp.exp(exponents - peak))) + peak


def random_projections(
    x: Representation, y: Representation, projections: int, seed: int
) -> tuple[Array, Array]:
    """Return the samples of x and of y projected on the same random unit vectors, sorted per
    direction, (n, projections) each.

    The first row of x is the origin, so that a common offset costs no digits.
    """
    settings = {"projections": projections, "seed": seed}
    gap = detach(y.array[0, :] - x.array[0, :])  # detached, like the origins below
    shift = gap @ as_array_like(_random_unit_directions(x.shape[1], projections, seed), gap)
    return sorted_projections(x, **settings), sorted_projections(y, **settings) + shift[None, :]


def pad_row_with_zeros(row: Array, width: int) -> Array:
    """Return a new row (width,): ``row`` followed by zeros."""
    xp, missing = namespace(row), width - row.shape[0]
    return xp.concat([row, xp.zeros(missing, dtype=row.dtype, device=device(row))])


def _random_unit_directions(width: int, projections: int, seed: int) -> np.ndarray:
    directions = generator(seed, "directions", width).standard_normal((width, projections))
    return np.asarray(directions / np.linalg.norm(directions, axis=0))


@cached("anew")
def sorted_projections(x: Representation, projections: int, seed: int) -> Array:
    """Return the samples minus the first sample, projected on random unit vectors and sorted per
    direction, shape (n, projections)."""
    unit = as_array_like(_random_unit_directions(x.shape[1], projections, seed), x.array)
    return x.xp.sort((x.array - detach(x.array[:1, :])) @ unit, axis=0)


def padded_spectra(x: Representation, y: Representation) -> tuple[Array, Array]:
    """Return the singular values of the centred x and y, largest first, the shorter list padded
    with zeros; the squares of a list sum to 1."""
    s, t = decomposition(x).singular, decomposition(y).singular
    length = max(s.shape[0], t.shape[0])
    return _append_zeros(s, length), _append_zeros(t, length)


def _append_zeros(values: Array, length: int) -> Array:
    xp = namespace(values)
    zeros = xp.zeros(length - values.shape[0], dtype=values.dtype, device=device(values))
    return xp.concat([values, zeros])
