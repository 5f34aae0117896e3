"""Views that forget which sample is which: one number of a representation, how its samples spread,
and along how many directions."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, detach, device, inner, like, namespace, norm, scalar, to_numpy
from ..representation import Representation, view
from ..rng import generator
from .distances import distance_matrix, row_blocks, squared_distance_blocks
from .points import centered, mean, mean_direction, norm_of, preshape, size, unit_rows
from .spectra import decomposition


@view
def magnitude(x: Representation) -> Array:
    """Length of the mean row."""
    return norm(mean(x))


@view
def concentricity(x: Representation) -> Array:
    """Mean cosine between the rows and the mean row."""
    length = magnitude(x)
    direction = mean(x) / x.xp.where(length > 0, length, x.xp.ones_like(length))
    return inner(mean_direction(x), direction)


@view
def uniformity(x: Representation, unit: bool, self_pairs: bool) -> Array:
    """Logarithm of the mean Gaussian potential exp(-2 d^2) between samples.

    Summed in the log domain: samples far apart give a large negative number, not minus infinity.
    """
    xp, n = x.xp, x.shape[0]
    points, scale = (unit_rows(x), 2.0) if unit else _raw_points(x)
    index = xp.arange(n, device=device(points))
    parts = []
    for (start, stop), block in zip(row_blocks(n), squared_distance_blocks(points)):
        exponent = -scale * block
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


@view
def sorted_projections(x: Representation, width: int, projections: int, seed: int) -> Array:
    """The samples along random directions, each direction sorted, shape (n, projections).

    The directions are unit vectors of ``width`` >= d dimensions: x is taken to have zeros in those
    it lacks.
    """
    drawn = generator(seed, "directions", width).standard_normal((width, projections))
    unit = drawn / np.linalg.norm(drawn, axis=0)
    return x.xp.sort(x.array @ like(unit[: x.shape[1]], x.array), axis=0)


def pooled_distances(x: Representation, y: Representation) -> np.ndarray:
    """Euclidean distances between the samples of both, x first, in units of the larger one, shape
    (2n, 2n).

    The narrower one is padded with zero columns. Computed by NumPy.
    """
    width = max(x.shape[1], y.shape[1])
    scale = max(scalar(norm_of(r)) for r in (x, y)) or 1.0
    padded = (np.pad(to_numpy(r.array) / scale, ((0, 0), (0, width - r.shape[1]))) for r in (x, y))
    return np.asarray(distance_matrix(np.concatenate(list(padded))))


@view
def participation_ratio(x: Representation) -> Array:
    """Number of directions that hold the variance: (sum of variances)^2 / sum of their squares,
    from 1 to the rank."""
    variance = decomposition(x).singular ** 2
    return x.xp.sum(variance) ** 2 / x.xp.sum(variance**2)


@view
def effective_rank(x: Representation) -> Array:
    """Exponential of the entropy of the shares of variance of the principal directions, from 1 to
    the rank."""
    variance = decomposition(x).singular ** 2
    share = variance / x.xp.sum(variance)
    return x.xp.exp(-x.xp.sum(share * x.xp.log(share)))


def spectra(x: Representation, y: Representation) -> tuple[Array, Array]:
    """Singular values of both, the shorter list filled up with zeros; squares sum to 1."""
    s, t = decomposition(x).singular, decomposition(y).singular
    length = max(s.shape[0], t.shape[0])
    return _filled(s, length), _filled(t, length)


def _filled(values: Array, length: int) -> Array:
    xp = namespace(values)
    zeros = xp.zeros(length - values.shape[0], dtype=values.dtype, device=device(values))
    return xp.concat([values, zeros])
