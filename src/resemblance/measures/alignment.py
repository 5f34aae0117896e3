"""Alignment: how close two representations come when one is rotated onto the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import (
    Array,
    at_most_one,
    carries_gradient,
    detach,
    epsilon,
    inner,
    namespace,
    norm,
    root,
    scalar,
    svd,
    to_numpy,
)
from ..claims import COSINE, RIGID, ROTATION, SHAPE
from ..measure import measure, no_diagnostics
from ..representation import Representation, Undefined, title
from ..streamed import conditioning
from ..views.pairs import (
    cross_products,
    nuclear_norm,
    rotated_chord,
    rotated_residual,
    row_direction_products,
)
from ..views.points import directed, size
from ..views.spectra import need_derivative, partly_whitened
from .chance import of_rotations, of_row_directions
from .leaving_out.rotations import angular_shape_without, procrustes_without, size_and_shape_without


@measure(
    label="AlignCos", family="alignment", reference="hamilton2016diachronic", version=4,
    larger_is_more_similar=True, range=(-1, 1), invariant_to=COSINE,
    streams_with="directions", uninformative=of_row_directions,
)  # fmt: skip
def aligned_cosine(x: Representation, y: Representation) -> Array:
    r"""Aligned cosine similarity: mean cosine between corresponding rows after the best rotation.

    .. math:: \frac{1}{n} \sum_i \cos\left( (XQ)_i, Y_i \right), \qquad
        Q = \arg\min_{Q^\top Q = I} \lVert XQ - Y \rVert_F

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. Nothing is centred. Rows
    that are all zero on either side have no direction and are left out of the mean. Raises
    ``Undefined`` when no row is left. Raises ``Undefined`` when it is left to rounding how the best
    rotation turns the rows, which is so when rows are of very different sizes, and, if a gradient
    is asked for, also when it may turn something else anywhere (dead units on both sides) or
    singular values of the product of both are equal.

    Use it when you ask how well a rotation maps each sample onto its counterpart, sample by sample.

    Beware. A common offset, as ReLU layers have, makes unrelated representations similar. Subtract
    the column means first if the offset should not count.

    Reference: Hamilton et al. 2016 ("Diachronic word embeddings"). It rewards a common offset: two
    unrelated representations with large means are similar under it.
    """
    count = round(scalar(inner(directed(x), directed(y))))
    if count == 0:
        raise Undefined(
            "aligned_cosine: no sample has a direction (a non-zero row) in both representations"
        )
    return at_most_one(inner(_best_rotation(x, y), row_direction_products(x, y)) / count)


def _best_rotation(x: Representation, y: Representation) -> Array:
    """The best rotation of the rows as they are, on the directions that it is determined on.

    Raises :class:`Undefined` when another rotation, as good but for rounding, would turn the
    directions of the rows.
    """
    cross, rows = cross_products(x, y, centered=False), row_direction_products(x, y)
    u, s, vt = svd(cross)
    rank = int(to_numpy(s > max(cross.shape) * epsilon(s) * s[0]).sum())
    if carries_gradient(cross):
        need_derivative(s, f"the product of {title(x)} and {title(y)}")
    u, vt = u[:, :rank], vt[:rank, :]
    if rank < s.shape[0]:
        free = rows - u @ (x.xp.matrix_transpose(u) @ rows)
        free = detach(free - (free @ x.xp.matrix_transpose(vt)) @ vt)
        if scalar(norm(free)) > epsilon(free) ** 0.4 * x.n_samples:
            raise Undefined(
                "aligned_cosine: rounding decides on the best rotation (scales too far apart, or "
                "no overlap)"
            )
    return u @ vt


@measure(
    label="AngShape", family="alignment", reference="williams2021generalized", version=2,
    larger_is_more_similar=False, range=(0, np.pi / 2), metric=True,
    invariant_to=SHAPE | ROTATION, left_out=angular_shape_without, uninformative=of_rotations,
)  # fmt: skip
def angular_shape(x: Representation, y: Representation) -> Array:
    r"""Angular shape distance: the angle, in radians, between two representations after the best
    rotation.

    .. math:: \arccos \frac{\lVert X^\top Y \rVert_*}{\lVert X \rVert_F \lVert Y \rVert_F}
        \qquad (X, Y \text{ centred})

    X is (n, d), Y is (n, e). It is the Riemannian distance of Kendall's shape space, 0 for shapes
    that are rotations of each other and pi/2 when no column of one correlates with any of the
    other. Raises ``Undefined`` for a constant representation.

    Use it when you need a true distance between shapes: triangle inequality, no units, rotation and
    size removed.

    Beware. Directions of large variance dominate. With n near or below d, unrelated data look
    close.

    Reference: Williams et al. 2021. A monotone function of :func:`procrustes`: both rank pairs
    alike. Computed as 2 arcsin of half the chord, which keeps its digits for nearly equal shapes
    where arccos loses half.
    """
    return 2 * x.xp.asin(_chord(x, y) / 2)


@measure(
    label="OrthProc", family="alignment", reference="ding2021grounding", version=2,
    larger_is_more_similar=False, range=(0, 2**0.5), metric=True,
    invariant_to=SHAPE | ROTATION, left_out=procrustes_without, uninformative=of_rotations,
    changes=lambda squared: {"range": (0, 2), "metric": False} if squared else {},
)  # fmt: skip
def procrustes(x: Representation, y: Representation, *, squared: bool = False) -> Array:
    r"""Orthogonal Procrustes distance: how far two shapes of unit size are apart after the best
    rotation.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centred}, \lVert X \rVert_F = \lVert Y \rVert_F = 1)

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. ``squared=True`` is the
    squared distance of Ding et al., which is not a metric. Raises ``Undefined`` for a constant
    representation.

    Use it when you want one distance between geometries as a default: a metric, in fixed units,
    without rotation, offset and size.

    Beware. It is insensitive to directions of small variance, and unrelated data look closer when n
    is near or below d.

    Reference: Williams et al. 2021; Ding et al. 2021, Section 2. For nearly equal shapes the
    formula above loses half the digits, so the residual XQ - Y itself is computed then.
    """
    chord = _chord(x, y)
    return chord**2 if squared else chord


@measure(
    label="ProcDist", family="alignment", reference="williams2021generalized", version=2,
    larger_is_more_similar=False, range=(0, np.inf), metric=True,
    invariant_to=RIGID | ROTATION, left_out=size_and_shape_without, uninformative=of_rotations,
)  # fmt: skip
def procrustes_size_shape(x: Representation, y: Representation) -> Array:
    r"""Procrustes size-and-shape distance: the distance after the best rotation, sizes kept.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{\lVert X \rVert_F^2 + \lVert Y \rVert_F^2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centred})

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
    return with_sizes(_chord(x, y), a, b)


def _shape_claims(alpha: float) -> dict[str, Any]:
    """Return the claims that depend on how much is whitened."""
    if alpha == 0:
        return {"invariant_to": {"affine"} | ROTATION}
    return {"diagnostics": no_diagnostics} if alpha == 1 else {}


@measure(
    label="Shape", family="alignment", reference="williams2021generalized", version=3,
    larger_is_more_similar=False, range=(0, np.pi / 2), metric=True, limits={"alpha": (0, 1)},
    invariant_to=SHAPE | ROTATION, diagnostics=conditioning, uninformative=of_rotations,
    changes=_shape_claims,
)  # fmt: skip
def shape(x: Representation, y: Representation, *, alpha: float = 0.5) -> Array:
    r"""Partial-whitening shape distance: the angle after the best rotation between partly whitened
    representations.

    .. math:: \arccos \frac{\lVert A^\top B \rVert_*}{\lVert A \rVert_F \lVert B \rVert_F},
        \qquad A = X \left( \alpha I + (1 - \alpha) (X^\top X)^{-1/2} \right)
        \qquad (X \text{ centred}, \lVert X \rVert_F^2 = \operatorname{rank} X)

    in radians, with B from Y likewise. ``alpha=1`` is :func:`angular_shape`. ``alpha=0`` whitens:
    the cosine is then the sum of the canonical correlations over the root of the product of the
    ranks, for equal ranks :func:`mean_cca`. A metric for every alpha.

    X is (n, d), Y is (n, e). The inverse root is that of the numerical rank. Raises ``Undefined``
    for a constant representation.

    Use it when you want to choose between the geometry of Procrustes and the linear information of
    CCA by one parameter.

    Beware. Whitening lets directions of small variance count, which needs more samples. State alpha
    with the value.

    Reference: Williams et al. 2021. In the paper X keeps its own size, so the effect of alpha
    depends on the units of the activations; here the mean squared singular value is 1 first, so it
    does not. At 0 and 1 there is no difference.
    """
    chord = rotated_chord(partly_whitened(x, alpha=alpha), partly_whitened(y, alpha=alpha))
    return 2 * x.xp.asin(chord / 2)


def _chord(x: Representation, y: Representation) -> Array:
    """Distance between two pre-shapes after the best rotation."""
    return _distance(2 - 2 * nuclear_norm(x, y), lambda: rotated_residual(x, y))


def _distance(squared: Array, residual: Callable[[], Array]) -> Array:
    """Root of a squared distance between unit vectors; near zero, where it cancels, the residual
    itself."""
    return residual() if scalar(squared) < epsilon(squared) ** 0.4 else root(squared)


def with_sizes(chord: Array, a: Array, b: Array) -> Array:
    """Distance between shapes of sizes a and b whose unit shapes are ``chord`` apart.

    |aX - bY|^2 = (a - b)^2 + a b |X - Y|^2 for unit X and Y: nothing overflows and nothing cancels.
    """
    return norm(namespace(a).stack([a - b, root(a) * root(b) * chord]))
