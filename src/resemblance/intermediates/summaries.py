"""Intermediates that forget which sample is which: one number of a representation, how its samples
spread, and along how many directions."""

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

MIN_RELATIVE_GAP = 1e-3  # of both lengths: a difference that is less loses digits


@cached("scalar")
def mean_row_norm(x: Representation) -> Array:
    """Length of the mean row."""
    return euclidean_norm(mean(x))


def mean_row_norm_difference(x: Representation, y: Representation) -> Array:
    r"""The length of the mean row of x minus that of y.

    Of nearly equal lengths from :math:`(a - b)^\top (a + b) / (\lVert a \rVert + \lVert b
    \rVert)` and the distances from the first rows, so that a common offset costs no digits.
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
    """The mean row minus the first row, with zeros up to this width."""
    return pad_row_with_zeros(x.xp.mean(x.array - x.array[:1, :], axis=0), width)


@cached("scalar")
def concentricity(x: Representation) -> Array:
    """Mean cosine between the rows and the mean row; 0 where that is rounding only, as of centred
    points, and has no direction."""
    length, rounding = mean_row_norm(x), 16 * float(np.finfo(x.dtype).eps)
    rounding = max(rounding, 4 * resolution(x) / x.shape[0])  # of sums, and of what was stored
    sizes = (
        scalar(norm(x)) for norm in (uncentered_norm, size)
    )  # the second, never larger, takes long
    if all(scalar(length) <= rounding * s for s in sizes):
        return 0 * x.xp.sum(mean(x))  # with a gradient, of 0
    direction = mean(x) / length
    return frobenius_inner(mean_direction(x), direction)


@cached("scalar")
def uniformity(x: Representation, unit: bool, self_pairs: bool) -> Array:
    """Logarithm of the mean Gaussian potential exp(-2 d^2) between samples.

    Summed in the log domain: samples far apart give a large negative number, not minus infinity.
    """
    xp, n = x.xp, x.shape[0]
    points, scale = (unit_rows(x), 2.0) if unit else _raw_points(x)
    blocks = (part for part in condensed_squared_distances(points) if part.shape[0])
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
    return inlier_centered_points(x), 2 * bounded * bounded


def _log_sum_exp(exponents: Array) -> Array:
    xp = namespace(exponents)
    peak = detach(xp.max(exponents))
    return xp.log(xp.sum(xp.exp(exponents - peak))) + peak


def random_projections(
    x: Representation, y: Representation, projections: int, seed: int
) -> tuple[Array, Array]:
    """The samples of both along random unit vectors, each direction sorted, shape (n, projections).

    The first row of x counts as the origin, so that a common offset costs no digits.
    """
    settings = {"projections": projections, "seed": seed}
    gap = detach(y.array[0, :] - x.array[0, :])  # as the origins below are
    shift = gap @ as_array_like(_random_unit_directions(x.shape[1], projections, seed), gap)
    return sorted_projections(x, **settings), sorted_projections(y, **settings) + shift[None, :]


def pad_row_with_zeros(row: Array, width: int) -> Array:
    """A row with zeros up to this width."""
    xp, missing = namespace(row), width - row.shape[0]
    return xp.concat([row, xp.zeros(missing, dtype=row.dtype, device=device(row))])


def _random_unit_directions(width: int, projections: int, seed: int) -> np.ndarray:
    directions = generator(seed, "directions", width).standard_normal((width, projections))
    return np.asarray(directions / np.linalg.norm(directions, axis=0))


@cached("anew")
def sorted_projections(x: Representation, projections: int, seed: int) -> Array:
    """The samples minus the first one along random unit vectors, each direction sorted, shape (n,
    projections)."""
    unit = as_array_like(_random_unit_directions(x.shape[1], projections, seed), x.array)
    return x.xp.sort((x.array - detach(x.array[:1, :])) @ unit, axis=0)


def padded_spectra(x: Representation, y: Representation) -> tuple[Array, Array]:
    """Singular values of both, the shorter list filled up with zeros; squares sum to 1."""
    s, t = decomposition(x).singular, decomposition(y).singular
    length = max(s.shape[0], t.shape[0])
    return _append_zeros(s, length), _append_zeros(t, length)


def _append_zeros(values: Array, length: int) -> Array:
    xp = namespace(values)
    zeros = xp.zeros(length - values.shape[0], dtype=values.dtype, device=device(values))
    return xp.concat([values, zeros])
