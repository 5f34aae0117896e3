"""Leave-one-out canonical correlation analysis and overlap of column spaces."""

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
    """Return the leave-one-out mean squared canonical correlation, shape (n,), in [0, 1]; exact.

    ``divisor`` of the sum of squares: "rank" for the smaller rank without the sample, "width" for
    the smaller number of columns. Leaving out a sample reduces the rank by one if the sample alone
    spans a direction (as every sample does when n <= d); otherwise the rank stays. Raises
    ``UndefinedError`` if a representation is constant without some sample, or if the rank nearly
    falls by one.
    """
    check_min_samples("mean_cca", x, 3)
    shared, ranks = leave_one_out_shared_spaces(x, y)
    divisors = np.minimum(*ranks) if divisor == "rank" else min(x.shape[1], y.shape[1])
    return np.minimum(shared / divisors, 1)


def leave_one_out_eigenspace(x: Representation, y: Representation) -> np.ndarray:
    """Return ``eigenspace_overlap`` without each sample, (n,), in [0, 1]; exact.

    The overlap is of the uncentred column spaces, divided by the larger number of columns. Raises
    ``UndefinedError`` if, without some sample, a representation is zero or its rank nearly falls by
    one.
    """
    check_min_samples("eigenspace_overlap", x, 2)
    shared, _ = leave_one_out_shared_spaces(x, y, centered=False)
    return np.minimum(shared / max(x.shape[1], y.shape[1]), 1)


# Without the only sample that spans a direction, the remainder of the direction is rounding error.
MAX_SOLE_REMAINDER = 1e-12
MIN_CERTAIN_REMAINDER = 1e-7


class LeaveOneOutProjection(NamedTuple):
    r"""The projection on the columns of an orthonormal basis U without each sample.

    Without sample i the columns of U have the Gram matrix :math:`I - a u_i u_i^\top`. The
    pseudo-inverse of the Gram matrix is :math:`I + g_i u_i u_i^\top`. ``gains`` holds
    :math:`g_i`. ``ranks`` holds the remaining dimensions: one less where the sample alone spans a
    direction.
    """

    gains: np.ndarray
    ranks: np.ndarray


def leave_one_out_projection(x: Representation, centered: bool = True) -> LeaveOneOutProjection:
    """Return the gains (n,) and the ranks (n,) of the projection on the column space of ``x``
    without each sample.

    ``centered``: whether the columns are centred. The rank falls by one without a sample that alone
    spans a direction. Raises ``UndefinedError`` if the rank falls to 0, or if a direction nearly
    vanishes, but not exactly, without some sample.
    """
    # This check raises if a sample is so large that it hides the directions of the other samples.
    leave_one_out_squared_sizes(x, centered)
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
    """Return, without each sample, the sum of squared cosines between the column spaces of x and
    y, (n,), and the ranks of x and of y, (n,) each. ``centered``: whether the columns are centred.
    """
    bases = [as_float64(orthonormal_basis(r, centered=centered)) for r in (x, y)]
    p, q = (leave_one_out_projection(r, centered) for r in (x, y))
    shared = leave_one_out_squared_products(bases[0], bases[1], p.gains, q.gains, centered)
    return shared, (p.ranks, q.ranks)


def leave_one_out_squared_products(
    u: np.ndarray, v: np.ndarray, g: np.ndarray, h: np.ndarray, centered: bool
) -> np.ndarray:
    r"""Return the squared norm of the product of two sets of columns without each sample, shape
    (n,).

    .. math:: \operatorname{tr} (I + g\, u u^\top) M (I + h\, v v^\top) M^\top, \qquad
        M = U^\top V - a\, u v^\top

    ``u`` (n, r) and ``v`` (n, s) hold U and V; u and v in the formula are the rows of the left-out
    sample. ``g``, ``h``: (n,), the gains of :class:`LeaveOneOutProjection`, or 0 for columns that
    are not orthonormalised again. ``centered``: whether U and V are centred, and again without the
    sample.
    """
    a, cross = recentering_factor(len(u), centered), u.T @ v
    to_v, to_u = u @ cross, v @ cross.T
    p, q, w = (np.einsum("ij,ij->i", *rows) for rows in ((u, u), (v, v), (to_v, v)))
    left = np.einsum("ij,ij->i", to_v, to_v) - 2 * a * p * w + (a * p) ** 2 * q  # |Mᵀu|²
    right = np.einsum("ij,ij->i", to_u, to_u) - 2 * a * q * w + (a * q) ** 2 * p  # |M v|²
    energy = np.einsum("ij,ij->", cross, cross) - 2 * a * w + a * a * p * q
    return energy + g * left + h * right + g * h * (w - a * p * q) ** 2
