"""Alignment: how close two representations come when one is rotated onto the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.arrays import (
    Array,
    as_float64,
    clip_above_one,
    detach,
    epsilon,
    euclidean_norm,
    frobenius_inner,
    namespace,
    records_gradient,
    safe_sqrt,
    scalar,
    svd,
    to_numpy,
)
from ..base.exceptions import UndefinedError
from ..contracts._measure import measure, no_diagnostics
from ..contracts.claims import (
    COSINE_INVARIANCES,
    RIGID_INVARIANCES,
    SAMPLE_ROTATION,
    SHAPE_INVARIANCES,
)
from ..contracts.streamed import whitening_error
from ..data.representation import Representation, representation_title
from ..intermediates.pairs import (
    nuclear_norm,
    rotated_chord,
    rotated_residual,
    row_direction_products,
)
from ..intermediates.points import cross_products, directed, preshape, size
from ..intermediates.spectra import (
    direction_flatness,
    partially_whitened_points,
    require_derivative,
    root_flatness,
)
from .cca import uninformative_spans
from .inner_products import (
    LEAVE_ONE_OUT_REMEDY,
    has_low_dimension,
    leave_one_out_squared_sizes,
    warn_near_ceiling,
)


def uninformative_rotations(x: Representation, y: Representation, alpha: float = 1.0) -> str:
    """Near when the singular values of both sides are n - 1 nearly equal ones, as for n <= d; fixed
    if whitened."""
    if alpha == 0:
        return uninformative_spans(x, y)
    if has_low_dimension(x, y) or not all(scalar(size(r)) for r in (x, y)):
        return ""
    return warn_near_ceiling(
        x.n_samples, root_flatness(x, alpha=alpha) * root_flatness(y, alpha=alpha)
    )


def uninformative_row_directions(x: Representation, y: Representation) -> str:
    """Near when the rows of both sides point in nearly orthogonal directions, as for n below d."""
    return (
        ""
        if has_low_dimension(x, y)
        else warn_near_ceiling(x.n_samples, direction_flatness(x) * direction_flatness(y))
    )


@measure(
    label="AlignCos", family="alignment", citation="hamilton2016diachronic", version=4,
    larger_is_more_similar=True, range=(-1, 1), invariant_to=COSINE_INVARIANCES,
    streams_with="directions", uninformative=uninformative_row_directions,
)  # fmt: skip
def aligned_cosine(x: Representation, y: Representation) -> Array:
    r"""Aligned cosine similarity: mean cosine between corresponding rows after the best rotation.

    .. math:: \frac{1}{n} \sum_i \cos\left( (XQ)_i, Y_i \right), \qquad
        Q = \arg\min_{Q^\top Q = I} \lVert XQ - Y \rVert_F

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. Nothing is centred. Rows
    that are all zero on either side have no direction and are left out of the mean. Raises
    ``UndefinedError`` when no row is left. Raises ``UndefinedError`` when it is left to rounding
    how the best rotation turns the rows, which is so when rows are of very different sizes, and, if
    a gradient is asked for, also when it may turn something else anywhere (dead units on both
    sides) or singular values of the product of both are equal.

    Use it when you ask how well a rotation maps each sample onto its counterpart, sample by sample.

    Beware. A common offset, as ReLU layers have, makes unrelated representations similar. Subtract
    the column means first if the offset should not count.

    Reference: Hamilton et al. 2016 ("Diachronic word embeddings"). It rewards a common offset: two
    unrelated representations with large means are similar under it.
    """
    count = round(scalar(frobenius_inner(directed(x), directed(y))))
    if count == 0:
        raise UndefinedError(
            "aligned_cosine: no sample has a direction (a non-zero row) in both representations"
        )
    return clip_above_one(
        frobenius_inner(_best_rotation(x, y), row_direction_products(x, y)) / count
    )


def _best_rotation(x: Representation, y: Representation) -> Array:
    """The best rotation of the rows as they are, on the directions that it is determined on.

    Raises :class:`UndefinedError` when another rotation, as good but for rounding, would turn the
    directions of the rows.
    """
    cross, rows = cross_products(x, y, centered=False), row_direction_products(x, y)
    u, s, vt = svd(cross)
    rank = int(to_numpy(s > max(cross.shape) * epsilon(s) * s[0]).sum())
    if records_gradient(cross):
        require_derivative(
            s, f"the product of {representation_title(x)} and {representation_title(y)}"
        )
    u, vt = u[:, :rank], vt[:rank, :]
    _require_certain_rotation(x, u, s[:rank], vt, rows)
    if rank < s.shape[0]:
        free = rows - u @ (x.xp.matrix_transpose(u) @ rows)
        free = detach(free - (free @ x.xp.matrix_transpose(vt)) @ vt)
        if scalar(euclidean_norm(free)) > epsilon(free) ** 0.4 * x.n_samples:
            raise UndefinedError(UNCERTAIN_ROTATION)
    return u @ vt


UNCERTAIN_ROTATION = (
    "aligned_cosine: rounding decides on the best rotation (scales too far apart, or no overlap); "
    "scale rows, or features, to comparable size first"
)


def _require_certain_rotation(
    x: Representation, u: Array, s: Array, vt: Array, rows: Array
) -> None:
    r"""Raise :class:`UndefinedError` where rounding of the product turns the rows by more than a
    little.

    Rounding by :math:`\delta` turns the rotation in the plane of directions i and j by up to
    :math:`\delta / (s_i + s_j)`, and the sum of cosines by that times :math:`|m_{ij} - m_{ji}|`,
    where m has the products of directions in the bases of the rotation.
    """
    xp, limit = x.xp, MAX_COSINE_CHANGE * x.n_samples
    error = 4 * epsilon(s) * scalar(s[0]) * max(rows.shape) ** 0.5
    s, u, vt, rows = (detach(a) for a in (s, u, vt, rows))
    if error / (2 * scalar(s[-1])) * scalar(euclidean_norm(rows)) * s.shape[0] <= limit:
        return
    m = xp.matrix_transpose(u) @ rows @ xp.matrix_transpose(vt)
    angles = clip_above_one(error / (s[:, None] + s[None, :]))
    if scalar(frobenius_inner(xp.abs(m - xp.matrix_transpose(m)), angles)) / 2 > limit:
        raise UndefinedError(UNCERTAIN_ROTATION)


@measure(
    label="AngShape", family="alignment", citation="williams2021generalized", version=2,
    larger_is_more_similar=False, range=(0, np.pi / 2), metric=True,
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION, uninformative=uninformative_rotations,
)  # fmt: skip
def angular_shape(x: Representation, y: Representation) -> Array:
    r"""Angular shape distance: the angle, in radians, between two representations after the best
    rotation.

    .. math:: \arccos \frac{\lVert X^\top Y \rVert_*}{\lVert X \rVert_F \lVert Y \rVert_F}
        \qquad (X, Y \text{ centered})

    X is (n, d), Y is (n, e). It is the Riemannian distance of Kendall's shape space, 0 for shapes
    that are rotations of each other and pi/2 when no column of one correlates with any of the
    other. Raises ``UndefinedError`` for a constant representation.

    Use it when you need a true distance between shapes: triangle inequality, no units, rotation and
    size removed.

    Beware. Directions of large variance dominate. With n near or below d, unrelated data look
    close.

    Reference: Williams et al. 2021. A monotone function of :func:`procrustes`: both rank pairs
    alike. Computed as 2 arcsin of half the chord, which keeps its digits for nearly equal shapes
    where arccos loses half.
    """
    return 2 * x.xp.asin(_preshape_chord(x, y) / 2)


@measure(
    label="OrthProc", family="alignment", citation="ding2021grounding", version=2,
    larger_is_more_similar=False, range=(0, 2**0.5), metric=True,
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION, uninformative=uninformative_rotations,
    claims_for=lambda squared: {"range": (0, 2), "metric": False} if squared else {},
)  # fmt: skip
def procrustes(x: Representation, y: Representation, *, squared: bool = False) -> Array:
    r"""Orthogonal Procrustes distance: how far two shapes of unit size are apart after the best
    rotation.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centered}, \lVert X \rVert_F = \lVert Y \rVert_F = 1)

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. ``squared=True`` is the
    squared distance of Ding et al., which is not a metric. Raises ``UndefinedError`` for a constant
    representation.

    Use it when you want one distance between geometries as a default: a metric, in fixed units,
    without rotation, offset and size.

    Beware. It is insensitive to directions of small variance, and unrelated data look closer when n
    is near or below d.

    Reference: Williams et al. 2021; Ding et al. 2021, Section 2. For nearly equal shapes the
    formula above loses half the digits, so the residual XQ - Y itself is computed then.
    """
    chord = _preshape_chord(x, y)
    return chord**2 if squared else chord


@measure(
    label="ProcDist", family="alignment", citation="williams2021generalized", version=2,
    larger_is_more_similar=False, range=(0, np.inf), metric=True,
    invariant_to=RIGID_INVARIANCES | SAMPLE_ROTATION, uninformative=uninformative_rotations,
)  # fmt: skip
def procrustes_size_shape(x: Representation, y: Representation) -> Array:
    r"""Procrustes size-and-shape distance: the distance after the best rotation, sizes kept.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{\lVert X \rVert_F^2 + \lVert Y \rVert_F^2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centered})

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. In the units of the
    activations; a constant representation is at the distance of its size from any other. Defined
    for all finite data.

    Use it when sizes should count: the distance after the best rotation, in the units of the
    activations.

    Beware. It grows with the number of samples and the scale of the data. Compare values only
    between equal n and equal scales.

    Reference: Williams et al. 2021.
    """
    a, b = size(x), size(y)
    if scalar(a) == 0 or scalar(b) == 0:
        return a + b
    return size_and_shape_distance(_preshape_chord(x, y), a, b)


def _shape_claims(alpha: float) -> dict[str, Any]:
    """Return the claims that depend on how much is whitened."""
    if alpha == 0:
        return {"invariant_to": {"affine"} | SAMPLE_ROTATION}
    return {"diagnostics": no_diagnostics} if alpha == 1 else {}


@measure(
    label="Shape",
    family="alignment",
    citation="williams2021generalized",
    version=3,
    larger_is_more_similar=False,
    range=(0, np.pi / 2),
    metric=True,
    limits={"alpha": (0, 1)},
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    diagnostics=whitening_error,
    uninformative=uninformative_rotations,
    claims_for=_shape_claims,
)
def shape_distance(x: Representation, y: Representation, *, alpha: float = 0.5) -> Array:
    r"""Partial-whitening shape distance: the angle after the best rotation between partly whitened
    representations.

    .. math:: \arccos \frac{\lVert A^\top B \rVert_*}{\lVert A \rVert_F \lVert B \rVert_F},
        \qquad A = X \left( \alpha I + (1 - \alpha) (X^\top X)^{-1/2} \right)
        \qquad (X \text{ centered}, \lVert X \rVert_F^2 = \operatorname{rank} X)

    in radians, with B from Y likewise. ``alpha=1`` is :func:`angular_shape`. ``alpha=0`` whitens:
    the cosine is then the sum of the canonical correlations over the root of the product of the
    ranks, for equal ranks :func:`mean_cca`. A metric for every alpha.

    X is (n, d), Y is (n, e). The inverse root is that of the numerical rank. Raises
    ``UndefinedError`` for a constant representation.

    Use it when you want to choose between the geometry of Procrustes and the linear information of
    CCA by one parameter.

    Beware. Whitening lets directions of small variance count, which needs more samples. State alpha
    with the value.

    Reference: Williams et al. 2021. In the paper X keeps its own size, so the effect of alpha
    depends on the units of the activations; here the mean squared singular value is 1 first, so it
    does not. At 0 and 1 there is no difference.
    """
    chord = rotated_chord(
        partially_whitened_points(x, alpha=alpha), partially_whitened_points(y, alpha=alpha)
    )
    return 2 * x.xp.asin(chord / 2)


def _preshape_chord(x: Representation, y: Representation) -> Array:
    """Distance between two pre-shapes after the best rotation."""
    return _accurate_chord(2 - 2 * nuclear_norm(x, y), lambda: rotated_residual(x, y))


def _accurate_chord(squared: Array, residual: Callable[[], Array]) -> Array:
    """Root of a squared distance between unit vectors; near zero, where it cancels, the residual
    itself."""
    return residual() if scalar(squared) < epsilon(squared) ** 0.4 else safe_sqrt(squared)


def size_and_shape_distance(chord: Array, a: Array, b: Array) -> Array:
    """Distance between shapes of sizes a and b whose unit shapes are ``chord`` apart.

    |aX - bY|^2 = (a - b)^2 + a b |X - Y|^2 for unit X and Y: nothing overflows and nothing cancels.
    """
    return euclidean_norm(namespace(a).stack([a - b, safe_sqrt(a) * safe_sqrt(b) * chord]))


# --------------------------------------------------------------------------------- without a sample

INTEGRATION_STEP = 0.3  # of the logarithm of t; the error of the sum is about exp(-pi^2 / STEP)
INTEGRATION_RANGE = (1e-13, 1e4)  # of t, in units of the largest singular value
MAX_COSINE_CHANGE = 1e-4  # of a mean cosine: what rounding may change
MIN_SQUARED_CHORD = 1e-6  # squared chord below which 2 - 2 cos loses too many digits


def leave_one_out_nbs(x: Representation, y: Representation) -> np.ndarray:
    r"""Normalized Bures similarity without each sample, shape (n,), in [0, 1].

    Exact but for a quadrature, to about 1e-12: see :func:`leave_one_out_nuclear_norms`. About 120 n
    times the narrower width multiplications, and a singular value decomposition with vectors.
    Raises ``UndefinedError`` for a representation that is constant, or nearly so, without some
    sample.
    """
    sizes = np.sqrt(leave_one_out_squared_sizes(x) * leave_one_out_squared_sizes(y))
    points = [as_float64(preshape(r)) for r in (x, y)]
    nuclear = leave_one_out_nuclear_norms(as_float64(cross_products(x, y)), *points)
    return np.clip(nuclear / sizes, 0, 1)


@procrustes.claim("leave_one_out")
def leave_one_out_procrustes(
    x: Representation, y: Representation, squared: bool = False
) -> np.ndarray:
    """Procrustes distance without each sample, shape (n,), as exact as :func:`leave_one_out_nbs`.

    Raises ``UndefinedError`` also for nearly equal shapes, less than 0.001 apart, of which the
    formula keeps too few digits.
    """
    squares = 2 - 2 * leave_one_out_nbs(x, y)
    if squares.min() < MIN_SQUARED_CHORD:
        raise UndefinedError(
            f"procrustes: without one of {x.shape[0]} samples both shapes are nearly equal; "
            f"{LEAVE_ONE_OUT_REMEDY}"
        )
    return squares if squared else np.sqrt(squares)


@angular_shape.claim("leave_one_out")
def leave_one_out_angular_shape(x: Representation, y: Representation) -> np.ndarray:
    """Angular shape distance without each sample, shape (n,); as
    :func:`leave_one_out_procrustes`."""
    return 2 * np.arcsin(leave_one_out_procrustes(x, y) / 2)


@procrustes_size_shape.claim("leave_one_out")
def leave_one_out_size_shape(x: Representation, y: Representation) -> np.ndarray:
    """Procrustes size-and-shape distance without each sample, shape (n,); as
    :func:`leave_one_out_procrustes`."""
    squares = leave_one_out_procrustes(x, y, squared=True)
    a, b = (scalar(size(r)) * np.sqrt(leave_one_out_squared_sizes(r)) for r in (x, y))
    return np.hypot(a - b, np.sqrt(a) * np.sqrt(b) * np.sqrt(squares))


def leave_one_out_nuclear_norms(
    cross: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
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
    t = (
        s[0]
        * np.exp(
            np.arange(np.log(INTEGRATION_RANGE[0]), np.log(INTEGRATION_RANGE[1]), INTEGRATION_STEP)
        )
        if s[0] > 0
        else None
    )
    if t is None:  # nothing in common: the norm of one product
        return a * np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    weights = 1 / (t**2 + s[:, None] ** 2)
    gamma = (p * q * s) @ weights
    alpha = (p * p) @ weights + _squared_lengths_outside(left, p)[:, None] / t**2
    beta = (q * q) @ weights + _squared_lengths_outside(right, q)[:, None] / t**2
    second = (a * t) ** 2 * alpha * beta
    change = a * gamma * (a * gamma - 2) + second  # keeps its digits near 0, and the other near -1
    ratio = np.maximum((1 - a * gamma) ** 2 + second, np.finfo(float).tiny)
    logs = np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log(ratio)) * t
    # Beyond the ends the terms are geometric series: as t below, and as 1 / t above.
    ends = (logs[:, 0] + logs[:, -1]) / np.expm1(INTEGRATION_STEP)
    return np.asarray(s.sum() + (logs.sum(axis=1) + ends) * INTEGRATION_STEP / np.pi).reshape(n)


def _squared_lengths_outside(rows: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Return the squared lengths of rows outside the singular vectors, shape (n,)."""
    if rows.shape[1] == coordinates.shape[1]:
        return np.zeros(len(rows))
    squares = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", coordinates, coordinates)
    return np.maximum(squares, 0)
