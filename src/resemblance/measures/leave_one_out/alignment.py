"""Leave-one-out Procrustes distances and normalized Bures similarity."""

from __future__ import annotations

import numpy as np

from ...base.arrays import as_float64, scalar, svd
from ...base.exceptions import UndefinedError
from ...data.representation import Representation
from ...intermediates.points import cross_products, preshape, size
from .inner_products import LEAVE_ONE_OUT_REMEDY, leave_one_out_squared_sizes

# Below this squared chord, 2 - 2 cos loses too many digits.
MIN_SQUARED_CHORD = 1e-6


def leave_one_out_nbs(x: Representation, y: Representation) -> np.ndarray:
    r"""Return the leave-one-out normalized Bures similarity, shape (n,), in [0, 1].

    Exact except for the error of a quadrature, about 1e-12: see
    :func:`leave_one_out_nuclear_norms`. Costs about 120 n times the narrower width
    multiplications, and a singular value decomposition with vectors. Raises ``UndefinedError`` if
    a representation is constant, or nearly constant, without some sample.
    """
    sizes = np.sqrt(leave_one_out_squared_sizes(x) * leave_one_out_squared_sizes(y))
    points = [as_float64(preshape(r)) for r in (x, y)]
    nuclear = leave_one_out_nuclear_norms(as_float64(cross_products(x, y)), *points)
    return np.clip(nuclear / sizes, 0, 1)


def leave_one_out_procrustes(
    x: Representation, y: Representation, squared: bool = False
) -> np.ndarray:
    """Return the leave-one-out Procrustes distance, or with ``squared`` the squared distance, shape
    (n,).

    Exact except for the error of a quadrature, about 1e-12. Raises ``UndefinedError`` if a
    representation is constant, or nearly constant, without some sample; and if two shapes are
    nearly equal (less than 0.001 apart), because the formula then keeps too few digits.
    """
    squares = 2 - 2 * leave_one_out_nbs(x, y)
    if squares.min() < MIN_SQUARED_CHORD:
        raise UndefinedError(
            f"procrustes: without one of {x.shape[0]} samples both shapes are nearly equal; "
            f"{LEAVE_ONE_OUT_REMEDY}"
        )
    return squares if squared else np.sqrt(squares)


def leave_one_out_angular_shape(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out angular shape distance, in radians, shape (n,).

    Exactness and exceptions are those of :func:`leave_one_out_procrustes`.
    """
    return 2 * np.arcsin(leave_one_out_procrustes(x, y) / 2)


def leave_one_out_size_shape(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out Procrustes size-and-shape distance, in the units of the data, shape
    (n,).

    Exactness and exceptions are those of :func:`leave_one_out_procrustes`.
    """
    squares = leave_one_out_procrustes(x, y, squared=True)
    a, b = (scalar(size(r)) * np.sqrt(leave_one_out_squared_sizes(r)) for r in (x, y))
    return np.hypot(a - b, np.sqrt(a) * np.sqrt(b) * np.sqrt(squares))


# Step of log t. The error of the sum is about exp(-pi^2 / INTEGRATION_STEP).
INTEGRATION_STEP = 0.3
# Range of t in units of the largest singular value.
INTEGRATION_RANGE = (1e-13, 1e4)


def leave_one_out_nuclear_norms(
    cross: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    r"""Return the nuclear norm of C - a x yᵀ for every row x of ``left`` and the same row y of
    ``right``, shape (n,).

    .. math:: \lVert C - a\, x_i y_i^\top \rVert_* - \lVert C \rVert_*
        = \frac{1}{\pi} \int_0^\infty \log \left( (1 - a \gamma_i)^2 + a^2 t^2 \alpha_i \beta_i
        \right) dt

    with :math:`\alpha = x^\top (t^2 + C C^\top)^{-1} x`, :math:`\beta = y^\top (t^2 + C^\top
    C)^{-1} y` and :math:`\gamma = x^\top C (t^2 + C^\top C)^{-1} y`. The reason: the integral of
    :math:`\log (t^2 + s^2)` differs by :math:`\pi` times the difference of singular values s. The
    change has rank two, so its determinant is the determinant of a 2 x 2 matrix. The trapezoidal
    rule in log t converges exponentially.

    ``left`` (n, d) and ``right`` (n, e) have centred rows. ``cross`` is C = ``left.T @ right``, (d,
    e), and a = n / (n - 1).
    """
    u, s, vt = svd(cross)
    n, a = len(left), len(left) / (len(left) - 1)
    p, q = left @ u, right @ vt.T
    t = None
    if s[0] > 0:
        t = s[0] * np.exp(
            np.arange(np.log(INTEGRATION_RANGE[0]), np.log(INTEGRATION_RANGE[1]), INTEGRATION_STEP)
        )
    if t is None:  # C is zero, so the norm is the norm of one outer product
        return a * np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    weights = 1 / (t**2 + s[:, None] ** 2)
    gamma = (p * q * s) @ weights
    alpha = (p * p) @ weights + _squared_lengths_outside(left, p)[:, None] / t**2
    beta = (q * q) @ weights + _squared_lengths_outside(right, q)[:, None] / t**2
    second = (a * t) ** 2 * alpha * beta
    # ``change`` and ``ratio`` = 1 + ``change`` both keep their digits near 0.
    change = a * gamma * (a * gamma - 2) + second
    ratio = np.maximum((1 - a * gamma) ** 2 + second, np.finfo(float).tiny)
    logs = np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log(ratio)) * t
    # Outside the range the terms are geometric series: as t below the range, as 1 / t above.
    ends = (logs[:, 0] + logs[:, -1]) / np.expm1(INTEGRATION_STEP)
    return np.asarray(s.sum() + (logs.sum(axis=1) + ends) * INTEGRATION_STEP / np.pi).reshape(n)


def _squared_lengths_outside(rows: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Return the squared lengths of the parts of ``rows`` (n, d) orthogonal to k singular vectors,
    shape (n,). ``coordinates``: the products of the rows with the singular vectors, (n, k)."""
    if rows.shape[1] == coordinates.shape[1]:
        return np.zeros(len(rows))
    squares = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", coordinates, coordinates)
    return np.maximum(squares, 0)
