"""Canonical correlation analysis and the overlap of column spaces, without each sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.arrays import as_float64
from ...base.exceptions import UndefinedError
from ...data.representation import Representation, representation_title
from ...intermediates.spectra import orthonormal_basis
from .inner_products import (
    LEAVE_ONE_OUT_REMEDY,
    check_min_samples,
    leave_one_out_squared_sizes,
    recentering_factor,
)


def leave_one_out_squared_cca(x: Representation, y: Representation, divisor: str) -> np.ndarray:
    """Mean squared canonical correlation without each sample, exactly, shape (n,), in [0, 1].

    The rank of the other samples is that of all, less one where a sample has a direction for itself
    (all have when n <= d). Raises ``UndefinedError`` for a representation that is constant without
    some sample, or nearly has a rank less.
    """
    check_min_samples("mean_cca", x, 3)
    shared, ranks = leave_one_out_shared_spaces(x, y)
    divisors = np.minimum(*ranks) if divisor == "rank" else min(x.shape[1], y.shape[1])
    return np.minimum(shared / divisors, 1)


def leave_one_out_eigenspace(x: Representation, y: Representation) -> np.ndarray:
    """Eigenspace overlap without each sample, exactly, shape (n,), in [0, 1]; as
    :func:`leave_one_out_squared_cca`."""
    check_min_samples("eigenspace_overlap", x, 2)
    shared, _ = leave_one_out_shared_spaces(x, y, centered=False)
    return np.minimum(shared / max(x.shape[1], y.shape[1]), 1)


# of a direction that a sample has alone, up to rounding, nothing is left
MAX_SOLE_REMAINDER = 1e-12
MIN_CERTAIN_REMAINDER = 1e-7


class LeaveOneOutProjection(NamedTuple):
    r"""The projection on the columns of an orthonormal basis U without each sample.

    Without sample i, the products of what is left of the columns are :math:`I - a u_i u_i^\top`,
    with the pseudo-inverse :math:`I + g_i u_i u_i^\top`; ``gains`` are :math:`g_i`, and ``ranks``
    the dimensions that are left: one less where the sample has a direction for itself.
    """

    gains: np.ndarray
    ranks: np.ndarray


def leave_one_out_projection(x: Representation, centered: bool = True) -> LeaveOneOutProjection:
    """Return what becomes of the projection on the column space without each sample."""
    leave_one_out_squared_sizes(
        x, centered
    )  # a sample that dwarfs the others hides the directions that they span
    basis = as_float64(orthonormal_basis(x, centered=centered))
    n, rank = basis.shape
    a, squares = recentering_factor(n, centered), np.einsum("ij,ij->i", basis, basis)
    remainders = 1 - a * squares
    is_alone = remainders < MAX_SOLE_REMAINDER * n
    if (remainders[~is_alone] < MIN_CERTAIN_REMAINDER).any() or (rank == 1 and is_alone.any()):
        raise UndefinedError(
            f"{representation_title(x)}: without one of {n} samples a direction vanishes, or "
            f"nearly does; {LEAVE_ONE_OUT_REMEDY}"
        )
    gains = np.where(
        is_alone, -1 / np.where(is_alone, squares, 1), a / np.where(is_alone, 1, remainders)
    )
    return LeaveOneOutProjection(gains, rank - is_alone)


def leave_one_out_shared_spaces(
    x: Representation, y: Representation, centered: bool = True
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the sums of the squared cosines between both column spaces, and both ranks, without
    each sample."""
    bases = [as_float64(orthonormal_basis(r, centered=centered)) for r in (x, y)]
    p, q = (leave_one_out_projection(r, centered) for r in (x, y))
    shared = leave_one_out_squared_products(bases[0], bases[1], p.gains, q.gains, centered)
    return shared, (p.ranks, q.ranks)


def leave_one_out_squared_products(
    u: np.ndarray, v: np.ndarray, g: np.ndarray, h: np.ndarray, centered: bool
) -> np.ndarray:
    r"""Return the squared norms of the products of two sets of columns without each sample.

    .. math:: \operatorname{tr} (I + g\, u u^\top) M (I + h\, v v^\top) M^\top, \qquad
        M = U^\top V - a\, u v^\top
    """
    a, cross = recentering_factor(len(u), centered), u.T @ v
    to_v, to_u = u @ cross, v @ cross.T
    p, q, w = (np.einsum("ij,ij->i", *rows) for rows in ((u, u), (v, v), (to_v, v)))
    left = np.einsum("ij,ij->i", to_v, to_v) - 2 * a * p * w + (a * p) ** 2 * q  # |Mᵀu|²
    right = np.einsum("ij,ij->i", to_u, to_u) - 2 * a * q * w + (a * q) ** 2 * p  # |M v|²
    energy = np.einsum("ij,ij->", cross, cross) - 2 * a * w + a * a * p * q
    return energy + g * left + h * right + g * h * (w - a * p * q) ** 2
