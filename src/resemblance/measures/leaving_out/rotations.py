"""Distances after the best rotation without each sample: nuclear norms minus a product of two
rows."""

from __future__ import annotations

import numpy as np

from ...arrays import as_float64, scalar, svd
from ...representation import Representation, Undefined
from ...views.pairs import cross_products
from ...views.points import preshape, size
from .digits import REMEDY, size_without

STEP = 0.3  # of the logarithm of t; the error of the sum is about exp(-pi^2 / STEP)
REACH = (1e-13, 1e4)  # of t, in units of the largest singular value
CLOSE = 1e-6  # squared chord below which 2 - 2 cos loses too many digits


def nbs_without(x: Representation, y: Representation) -> np.ndarray:
    r"""Normalized Bures similarity without each sample, shape (n,), in [0, 1].

    Exact but for a quadrature, to about 1e-12: see :func:`nuclear_without`. About 120 n times the
    narrower width multiplications, and a singular value decomposition with vectors. Raises
    ``Undefined`` for a representation that is constant, or nearly so, without some sample.
    """
    sizes = np.sqrt(size_without(x) * size_without(y))
    points = [as_float64(preshape(r)) for r in (x, y)]
    nuclear = nuclear_without(as_float64(cross_products(x, y)), *points)
    return np.clip(nuclear / sizes, 0, 1)


def procrustes_without(x: Representation, y: Representation, squared: bool = False) -> np.ndarray:
    """Procrustes distance without each sample, shape (n,), as exact as :func:`nbs_without`.

    Raises ``Undefined`` also for nearly equal shapes, less than 0.001 apart, of which the formula
    keeps too few digits.
    """
    squares = 2 - 2 * nbs_without(x, y)
    if squares.min() < CLOSE:
        raise Undefined(
            f"procrustes: without one of {x.shape[0]} samples both shapes are nearly equal; "
            f"{REMEDY}"
        )
    return squares if squared else np.sqrt(squares)


def angular_shape_without(x: Representation, y: Representation) -> np.ndarray:
    """Angular shape distance without each sample, shape (n,); as :func:`procrustes_without`."""
    return 2 * np.arcsin(procrustes_without(x, y) / 2)


def size_and_shape_without(x: Representation, y: Representation) -> np.ndarray:
    """Procrustes size-and-shape distance without each sample, shape (n,); as
    :func:`procrustes_without`."""
    squares = procrustes_without(x, y, squared=True)
    a, b = (scalar(size(r)) * np.sqrt(size_without(r)) for r in (x, y))
    return np.hypot(a - b, np.sqrt(a) * np.sqrt(b) * np.sqrt(squares))


def nuclear_without(cross: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    r"""Return the nuclear norms of C minus a times the product of each pair of rows, shape (n,).

    .. math:: \lVert C - a\, x_i y_i^\top \rVert_* - \lVert C \rVert_*
        = \frac{1}{\pi} \int_0^\infty \log \left( (1 - a \gamma_i)^2 + a^2 t^2 \alpha_i \beta_i
        \right) dt

    with :math:`\alpha = x^\top (t^2 + C C^\top)^{-1} x`, :math:`\beta = y^\top (t^2 + C^\top
    C)^{-1} y` and :math:`\gamma = x^\top C (t^2 + C^\top C)^{-1} y`: the integral of
    :math:`\log (t^2 + s^2)` differs by :math:`\pi` times the difference of singular values s, and
    the rank of the change is two, so its determinant is that of a 2 x 2 matrix. The trapezoidal
    rule in log t converges exponentially.

    C is (d, e) = ``left``ᵀ ``right``, which are (n, d) and (n, e), with centred rows.
    """
    u, s, vt = svd(cross)
    n, a = len(left), len(left) / (len(left) - 1)
    p, q = left @ u, right @ vt.T
    t = s[0] * np.exp(np.arange(np.log(REACH[0]), np.log(REACH[1]), STEP)) if s[0] > 0 else None
    if t is None:  # nothing in common: the norm of one product
        return a * np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    weights = 1 / (t**2 + s[:, None] ** 2)
    gamma = (p * q * s) @ weights
    alpha = (p * p) @ weights + _outside(left, p)[:, None] / t**2
    beta = (q * q) @ weights + _outside(right, q)[:, None] / t**2
    second = (a * t) ** 2 * alpha * beta
    change = a * gamma * (a * gamma - 2) + second  # keeps its digits near 0, and the other near -1
    ratio = np.maximum((1 - a * gamma) ** 2 + second, np.finfo(float).tiny)
    logs = np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log(ratio)) * t
    # Beyond the ends the terms are geometric series: as t below, and as 1 / t above.
    ends = (logs[:, 0] + logs[:, -1]) / np.expm1(STEP)
    return np.asarray(s.sum() + (logs.sum(axis=1) + ends) * STEP / np.pi).reshape(n)


def _outside(rows: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Return the squared lengths of rows outside the singular vectors, shape (n,)."""
    if rows.shape[1] == coordinates.shape[1]:
        return np.zeros(len(rows))
    squares = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", coordinates, coordinates)
    return np.maximum(squares, 0)
