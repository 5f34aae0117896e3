"""Regressions and overlaps of column spaces without each sample: projections that lose a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import as_float64
from ...representation import Representation, Undefined, title
from ...views.points import preshape
from ...views.spectra import orthonormal_basis
from .digits import REMEDY, factor, need_samples, size_without

ALONE = 1e-12  # of a direction that a sample has alone, up to rounding, nothing is left
DOUBTFUL = 1e-7


class Projection(NamedTuple):
    r"""The projection on the columns of an orthonormal basis U without each sample.

    Without sample i, the products of what is left of the columns are :math:`I - a u_i u_i^\top`,
    with the pseudo-inverse :math:`I + g_i u_i u_i^\top`; ``gains`` are :math:`g_i`, and ``ranks``
    the dimensions that are left: one less where the sample has a direction for itself.
    """

    gains: np.ndarray
    ranks: np.ndarray


def squared_cca_without(x: Representation, y: Representation, divisor: str) -> np.ndarray:
    """Mean squared canonical correlation without each sample, exactly, shape (n,), in [0, 1].

    The rank of the other samples is that of all, less one where a sample has a direction for itself
    (all have when n <= d). Raises ``Undefined`` for a representation that is constant without some
    sample, or nearly has a rank less.
    """
    need_samples("mean_cca", x, 3)
    shared, ranks = _shared_without(x, y)
    divisors = np.minimum(*ranks) if divisor == "rank" else min(x.shape[1], y.shape[1])
    return np.minimum(shared / divisors, 1)


def eigenspace_overlap_without(x: Representation, y: Representation) -> np.ndarray:
    """Eigenspace overlap without each sample, exactly, shape (n,), in [0, 1]; as
    :func:`squared_cca_without`."""
    need_samples("eigenspace_overlap", x, 2)
    shared, _ = _shared_without(x, y, centered=False)
    return np.minimum(shared / max(x.shape[1], y.shape[1]), 1)


def gulp_without(x: Representation, y: Representation, ridge: float, squared: bool) -> np.ndarray:
    """GULP without a ridge without each sample, exactly, shape (n,); as
    :func:`squared_cca_without`."""
    need_samples("gulp", x, 2)
    shared, ranks = _shared_without(x, y)
    total = ranks[0] + ranks[1]
    distance = np.where(total - 2 * shared <= 1e-12 * total, 0, total - 2 * shared)
    return distance if squared else np.sqrt(distance)


def regression_without(x: Representation, y: Representation, predict: str) -> np.ndarray:
    """Linear regression without each sample, exactly, shape (n,), in [0, 1]; as
    :func:`squared_cca_without`."""
    need_samples("linear_regression", x, 2)
    if predict == "first":
        x, y = y, x
    basis, targets = as_float64(orthonormal_basis(x)), as_float64(preshape(y))
    gains = projection_without(x).gains
    explained = _energy_without(basis, targets, gains, np.zeros(len(gains)), centered=True)
    return np.minimum(explained / size_without(y), 1)


def projection_without(x: Representation, centered: bool = True) -> Projection:
    """Return what becomes of the projection on the column space without each sample."""
    size_without(x, centered)  # a sample that dwarfs the others hides the directions that they span
    basis = as_float64(orthonormal_basis(x, centered=centered))
    n, rank = basis.shape
    a, squares = factor(n, centered), np.einsum("ij,ij->i", basis, basis)
    rest = 1 - a * squares
    is_alone = rest < ALONE * n
    if (rest[~is_alone] < DOUBTFUL).any() or (rank == 1 and is_alone.any()):
        raise Undefined(
            f"{title(x)}: without one of {n} samples a direction vanishes, or nearly does; {REMEDY}"
        )
    gains = np.where(is_alone, -1 / np.where(is_alone, squares, 1), a / np.where(is_alone, 1, rest))
    return Projection(gains, rank - is_alone)


def _shared_without(
    x: Representation, y: Representation, centered: bool = True
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the sums of the squared cosines between both column spaces, and both ranks, without
    each sample."""
    bases = [as_float64(orthonormal_basis(r, centered=centered)) for r in (x, y)]
    p, q = (projection_without(r, centered) for r in (x, y))
    shared = _energy_without(bases[0], bases[1], p.gains, q.gains, centered)
    return shared, (p.ranks, q.ranks)


def _energy_without(
    u: np.ndarray, v: np.ndarray, g: np.ndarray, h: np.ndarray, centered: bool
) -> np.ndarray:
    r"""Return the squared norms of the products of two sets of columns without each sample.

    .. math:: \operatorname{tr} (I + g\, u u^\top) M (I + h\, v v^\top) M^\top, \qquad
        M = U^\top V - a\, u v^\top
    """
    a, cross = factor(len(u), centered), u.T @ v
    to_v, to_u = u @ cross, v @ cross.T
    p, q, w = (np.einsum("ij,ij->i", *rows) for rows in ((u, u), (v, v), (to_v, v)))
    left = np.einsum("ij,ij->i", to_v, to_v) - 2 * a * p * w + (a * p) ** 2 * q  # |Mᵀu|²
    right = np.einsum("ij,ij->i", to_u, to_u) - 2 * a * q * w + (a * q) ** 2 * p  # |M v|²
    energy = np.einsum("ij,ij->", cross, cross) - 2 * a * w + a * a * p * q
    return energy + g * left + h * right + g * h * (w - a * p * q) ** 2
