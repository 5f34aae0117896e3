"""Alignment: the distance or similarity of two representations after the best rotation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.arrays import (
    Array,
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
from ..contracts.folds import Fit
from ..contracts.streamed import whitening_error
from ..data.representation import Representation, representation_title
from ..intermediates.pairs import (
    nuclear_norm,
    rotated_chord,
    rotated_residual,
    row_direction_products,
)
from ..intermediates.points import cross_products, directed, size
from ..intermediates.spectra import (
    direction_flatness,
    partially_whitened_points,
    require_derivative,
    root_flatness,
    root_flatness_bounds,
)
from .cca import uninformative_spans
from .fits import angle_maps, direction_maps, rotation_maps, unit_rotation_maps, whitened_angle_maps
from .inner_products import MIN_CEILING_SHARE, has_low_dimension, warn_near_ceiling
from .leave_one_out.alignment import (
    leave_one_out_angular_shape,
    leave_one_out_procrustes,
    leave_one_out_size_shape,
)


@measure(
    label="AlignCos", family="alignment", citation="hamilton2016diachronic", version=4,
    larger_is_more_similar=True, range=(-1, 1), invariant_to=COSINE_INVARIANCES,
    streams_with="directions", fit=Fit(direction_maps, (-1, 1), centers=False),
)  # fmt: skip
def aligned_cosine(x: Representation, y: Representation) -> Array:
    r"""Aligned cosine similarity: mean cosine between corresponding rows after the best rotation.

    .. math:: \frac{1}{n} \sum_i \cos\left( (XQ)_i, Y_i \right), \qquad
        Q = \arg\min_{Q^\top Q = I} \lVert XQ - Y \rVert_F

    X is (n, d), Y is (n, e); the narrower array is padded with zero columns. The data are not
    centred. A row that is zero in X or in Y has no direction, and the mean leaves the sample out.
    Raises ``UndefinedError`` when no row is left. Raises ``UndefinedError`` when rounding decides
    how the best rotation turns the rows, as for rows of very different sizes. If you ask for a
    gradient, also raises when the rotation is not unique in some direction, even a direction
    without data (dead units in X and in Y), or when the product of X and Y has equal singular
    values.

    Use it when you ask how well a rotation maps the samples onto their counterparts, sample by
    sample.

    Beware. A common offset, as in ReLU layers, makes unrelated representations similar. Subtract
    the column means first if the offset should not count.

    Reference: Hamilton et al. 2016 ("Diachronic word embeddings"). The measure rewards a common
    offset: two unrelated representations with large means score as similar.
    """
    count = round(scalar(frobenius_inner(directed(x), directed(y))))
    if count == 0:
        raise UndefinedError(
            "aligned_cosine: no sample has a direction (a non-zero row) in both representations"
        )
    return clip_above_one(
        frobenius_inner(_best_rotation(x, y), row_direction_products(x, y)) / count
    )


@aligned_cosine.claim("uninformative")
def uninformative_row_directions(x: Representation, y: Representation) -> str:
    """Near an extreme when the rows of both sides point in nearly orthogonal directions, as for n
    below d.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    if has_low_dimension(x, y):
        return ""
    return warn_near_ceiling(x.n_samples, direction_flatness(x) * direction_flatness(y))


@measure(
    label="AngShape", family="alignment", citation="williams2021generalized", version=2,
    larger_is_more_similar=False, range=(0, np.pi / 2), metric=True,
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION, leave_one_out=leave_one_out_angular_shape,
    fit=Fit(angle_maps, (0, np.pi)),
)  # fmt: skip
def angular_shape(x: Representation, y: Representation) -> Array:
    r"""Angular shape distance: the angle, in radians, between two representations after the best
    rotation.

    .. math:: \arccos \frac{\lVert X^\top Y \rVert_*}{\lVert X \rVert_F \lVert Y \rVert_F}
        \qquad (X, Y \text{ centered})

    X is (n, d), Y is (n, e). The value is the Riemannian distance of Kendall's shape space: 0 for
    shapes that are rotations of each other, and pi/2 when no column of X correlates with any column
    of Y. Raises ``UndefinedError`` for a constant representation.

    Use it when you need a metric between shapes: the triangle inequality holds, and units, rotation
    and size do not count.

    Beware. Directions of large variance dominate. With n near or below d, unrelated data look
    close.

    Reference: Williams et al. 2021. The distance is a monotone function of :func:`procrustes`: the
    two measures rank pairs alike. The code computes 2 arcsin of half the chord, which keeps all
    digits for nearly equal shapes, where arccos loses half of the digits.
    """
    return 2 * x.xp.asin(_preshape_chord(x, y) / 2)


@measure(
    label="OrthProc", family="alignment", citation="ding2021grounding", version=2,
    larger_is_more_similar=False, range=(0, 2**0.5), metric=True,
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    claims_for=lambda squared: (
        {"range": (0, 2), "metric": False, "fit": Fit(unit_rotation_maps, (0, 4))}
        if squared else {}
    ),
    leave_one_out=leave_one_out_procrustes, fit=Fit(unit_rotation_maps, (0, 2)),
)  # fmt: skip
def procrustes(x: Representation, y: Representation, *, squared: bool = False) -> Array:
    r"""Orthogonal Procrustes distance: how far two shapes of unit size are apart after the best
    rotation.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centered}, \lVert X \rVert_F = \lVert Y \rVert_F = 1)

    X is (n, d), Y is (n, e); the narrower array is padded with zero columns. ``squared=True`` gives
    the squared distance of Ding et al., which is not a metric. Raises ``UndefinedError`` for a
    constant representation.

    Use it when you want one default distance between geometries: a metric, in fixed units, that
    ignores rotation, offset and size.

    Beware. The distance is insensitive to directions of small variance, and unrelated data look
    closer when n is near or below d.

    Reference: Williams et al. 2021; Ding et al. 2021, Section 2. For nearly equal shapes the
    formula above loses half of the digits, so the code then computes the residual XQ - Y.
    """
    chord = _preshape_chord(x, y)
    return chord**2 if squared else chord


@measure(
    label="ProcDist", family="alignment", citation="williams2021generalized", version=2,
    larger_is_more_similar=False, range=(0, np.inf), metric=True,
    invariant_to=RIGID_INVARIANCES | SAMPLE_ROTATION, leave_one_out=leave_one_out_size_shape,
    fit=Fit(rotation_maps, (0, np.inf), keeps_units=True),
)  # fmt: skip
def procrustes_size_shape(x: Representation, y: Representation) -> Array:
    r"""Procrustes size-and-shape distance: the distance after the best rotation, sizes kept.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{\lVert X \rVert_F^2 + \lVert Y \rVert_F^2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centered})

    X is (n, d), Y is (n, e); the narrower array is padded with zero columns. The value is in the
    units of the activations. The distance from a constant representation to any Y is the size of Y.
    Defined for all finite data.

    Use it when sizes should count: the distance after the best rotation, in the units of the
    activations.

    Beware. The distance grows with the number of samples and the scale of the data. Compare values
    only between equal n and equal scales.

    Reference: Williams et al. 2021.
    """
    a, b = size(x), size(y)
    if scalar(a) == 0 or scalar(b) == 0:
        return a + b
    return size_and_shape_distance(_preshape_chord(x, y), a, b)


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
    fit=Fit(whitened_angle_maps, (0, np.pi)),
)
def shape_distance(x: Representation, y: Representation, *, alpha: float = 0.5) -> Array:
    r"""Partial-whitening shape distance: the angle after the best rotation between partly whitened
    representations.

    .. math:: \arccos \frac{\lVert A^\top B \rVert_*}{\lVert A \rVert_F \lVert B \rVert_F},
        \qquad A = X \left( \alpha I + (1 - \alpha) (X^\top X)^{-1/2} \right)
        \qquad (X \text{ centered}, \lVert X \rVert_F^2 = \operatorname{rank} X)

    in radians, with B computed from Y in the same way. ``alpha=1`` is :func:`angular_shape`.
    ``alpha=0`` whitens: the cosine is then the sum of the canonical correlations, divided by the
    root of the product of the ranks; for equal ranks the cosine is :func:`mean_cca`. The distance
    is a metric for every alpha.

    X is (n, d), Y is (n, e). The inverse root uses the numerical rank. Raises ``UndefinedError``
    for a constant representation.

    Use it when you want a parameter between the geometry of Procrustes and the linear information
    of CCA.

    Beware. Whitening gives weight to directions of small variance, and then the measure needs more
    samples. State alpha with the value.

    Reference: Williams et al. 2021. In the paper X keeps the size of the data, so the effect of
    alpha depends on the units of the activations. Here X is first scaled to a mean squared singular
    value of 1, so units have no effect. At 0 and 1 the two definitions agree.
    """
    chord = rotated_chord(
        partially_whitened_points(x, alpha=alpha), partially_whitened_points(y, alpha=alpha)
    )
    return 2 * x.xp.asin(chord / 2)


@angular_shape.claim("uninformative")
@procrustes.claim("uninformative")
@procrustes_size_shape.claim("uninformative")
@shape_distance.claim("uninformative")
def uninformative_rotations(x: Representation, y: Representation, alpha: float = 1.0) -> str:
    """Near an extreme when the singular values of both sides are n - 1 nearly equal ones, as for n
    <= d; fixed if whitened.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "". ``alpha``: the parameter of
    :func:`shape_distance`, from 0 for whitened points to 1 for scaled points. With ``alpha`` 1 a
    pair with a best cosine below ``MIN_CEILING_SHARE`` gets no warning: chance near the ceiling
    would give more. Bounds of the flatness then usually decide, without eigenvalues.
    """
    if alpha == 0:
        return uninformative_spans(x, y)
    if has_low_dimension(x, y) or not all(scalar(size(r)) for r in (x, y)):
        return ""
    n = x.n_samples
    if alpha == 1:
        if scalar(nuclear_norm(x, y)) < MIN_CEILING_SHARE:
            return ""
        bounds = zip(root_flatness_bounds(x), root_flatness_bounds(y))
        low, high = (warn_near_ceiling(n, a * b) for a, b in bounds)
        if low == high:
            return low
    return warn_near_ceiling(n, root_flatness(x, alpha=alpha) * root_flatness(y, alpha=alpha))


@shape_distance.claim("claims_for")
def _shape_claims(alpha: float) -> dict[str, Any]:
    """Return, by name, the claims of ``shape_distance`` that differ from the declared claims: other
    invariances if ``alpha`` is 0, and no diagnostics if ``alpha`` is 1."""
    if alpha == 0:
        return {"invariant_to": {"affine"} | SAMPLE_ROTATION}
    return {"diagnostics": no_diagnostics} if alpha == 1 else {}


MAX_COSINE_CHANGE = 1e-4  # largest change of a mean cosine that rounding may cause
UNCERTAIN_ROTATION = (
    "aligned_cosine: rounding decides on the best rotation (scales too far apart, or no overlap); "
    "scale rows, or features, to comparable size first"
)


def _best_rotation(x: Representation, y: Representation) -> Array:
    """Return the matrix Q (d, e), U V' of the SVD X' Y = U S V', for which the uncentred rows x Q
    are nearest to the rows of y.

    Singular vectors with a singular value of 0 are left out, so Q is a rotation only of the
    directions that X' Y determines. Raises :class:`UndefinedError` if another rotation fits equally
    well up to rounding and would turn the directions of the rows.
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


def _require_certain_rotation(
    x: Representation, u: Array, s: Array, vt: Array, rows: Array
) -> None:
    r"""Raise :class:`UndefinedError` if rounding of X' Y = U diag(s) V' can change the mean cosine
    of the rotated rows by more than ``MAX_COSINE_CHANGE``.

    ``u`` (d, r), ``s`` (r,), ``vt`` (r, e): the SVD. ``rows``: the product (d, e) of the points
    with unit rows. ``x``: gives n. With an error :math:`\delta` of X' Y and m = U' rows V, the sum
    of the cosines changes by at most

    .. math:: \sum_{i < j} |m_{ij} - m_{ji}| \, \delta / (s_i + s_j)
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


def _preshape_chord(x: Representation, y: Representation) -> Array:
    """Return the distance, from 0 to sqrt(2), between x and y after centring, division by the
    Frobenius norms and the best rotation."""
    return _accurate_chord(2 - 2 * nuclear_norm(x, y), lambda: rotated_residual(x, y))


def _accurate_chord(squared: Array, residual: Callable[[], Array]) -> Array:
    """Return the root of ``squared``, the squared distance between two unit vectors.

    Near zero, where the subtraction behind ``squared`` loses digits, return ``residual()`` instead.
    ``residual`` computes the distance, not squared, from differences.
    """
    return residual() if scalar(squared) < epsilon(squared) ** 0.4 else safe_sqrt(squared)


def size_and_shape_distance(chord: Array, a: Array, b: Array) -> Array:
    """Return the distance |aX - bY| between shapes of sizes ``a`` and ``b``, where ``chord`` is
    the distance |X - Y| between the unit shapes.

    |aX - bY|^2 = (a - b)^2 + a b |X - Y|^2 for unit X and Y: the formula neither overflows nor
    loses digits.
    """
    return euclidean_norm(namespace(a).stack([a - b, safe_sqrt(a) * safe_sqrt(b) * chord]))
