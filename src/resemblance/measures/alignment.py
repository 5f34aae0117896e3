"""Alignment: how close two representations come when one is rotated, matched or regressed onto the
other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ..arrays import (
    Array,
    at_most_one,
    carries_gradient,
    detach,
    epsilon,
    inner,
    like,
    namespace,
    norm,
    root,
    scalar,
    svd,
    to_numpy,
)
from ..declared import when
from ..measure import measure
from ..representation import Representation, Undefined, title
from ..views.pairs import (
    assignment,
    correlations,
    cross_products,
    feature_products,
    nuclear_norm,
    rotated_residual,
    row_direction_products,
)
from ..views.points import comparable_columns, norm_of, preshape, row_norms, size
from ..views.spectra import need_derivative, orthonormal_basis
from .chance import of_matched_columns, of_predictor, of_rotations, of_row_directions

RIGID = {"orthogonal", "translation"}


@measure(
    label="AlignCos",
    family="alignment",
    larger_is_more_similar=True,
    range=(-1, 1),
    symmetric=True,
    reference="hamilton2016diachronic",
    invariant_to={"orthogonal", "isotropic_scaling"},
    version=3,
    uninformative=of_row_directions,
)
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

    Reference: Hamilton et al. 2016 ("Diachronic word embeddings"). It rewards a common offset: two
    unrelated representations with large means are similar under it.
    """
    directed = (row_norms(x) > 0) & (row_norms(y) > 0)
    count = int(to_numpy(directed).sum())
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
        if scalar(norm(free)) > epsilon(free) ** 0.4 * x.shape[0]:
            raise Undefined(
                "aligned_cosine: rounding decides on the best rotation (scales too far apart, or "
                "no overlap)"
            )
    return u @ vt


@measure(
    label="AngShape",
    family="alignment",
    larger_is_more_similar=False,
    range=(0, np.pi / 2),
    symmetric=True,
    metric=True,
    reference="williams2021generalized",
    invariant_to=RIGID | {"isotropic_scaling"},
    uninformative=of_rotations,
)
def angular_shape(x: Representation, y: Representation) -> Array:
    r"""Angular shape distance: the angle, in radians, between two representations after the best
    rotation.

    .. math:: \arccos \frac{\lVert X^\top Y \rVert_*}{\lVert X \rVert_F \lVert Y \rVert_F}
        \qquad (X, Y \text{ centred})

    X is (n, d), Y is (n, e). It is the Riemannian distance of Kendall's shape space, 0 for shapes
    that are rotations of each other and pi/2 when no column of one correlates with any of the
    other. Raises ``Undefined`` for a constant representation.

    Reference: Williams et al. 2021. A monotone function of :func:`procrustes`: both rank pairs
    alike. Computed as 2 arcsin of half the chord, which keeps its digits for nearly equal shapes
    where arccos loses half.
    """
    return 2 * x.xp.asin(_chord(x, y) / 2)


@measure(
    label="HardCorr",
    family="alignment",
    version=2,
    larger_is_more_similar=True,
    range=(-1, 1),
    symmetric=True,
    reference="li2015convergent",
    invariant_to={"permutation", "isotropic_scaling", "translation"},
    identity=False,
    uninformative=of_matched_columns,
)
def hard_correlation_match(
    x: Representation, y: Representation, *, matching: Literal["optimal", "greedy"] = "optimal"
) -> Array:
    r"""Hard correlation match: mean correlation of neurons matched one to one.

    .. math:: \frac{1}{\min(d, e)} \max_{\pi} \sum_i \operatorname{corr}\left( x_i, y_{\pi(i)}
    \right)

    X is (n, d), Y is (n, e); with different widths the neurons left over on the wider side are not
    matched. A constant (dead) column correlates 0 with every other, and with itself.
    ``matching="optimal"`` solves the assignment problem; ``"greedy"`` takes the largest remaining
    correlation again and again (ties: first in row-major order).

    Reference: Li et al. 2015. The ReSi paper says greedy and its code solves the assignment.
    """
    c = correlations(x, y)
    rows, columns = assignment(c) if matching == "optimal" else _greedy(to_numpy(c))
    return _sum_at(c, rows, columns) / len(rows)


@measure(
    label="LinReg",
    family="alignment",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=False,
    reference="kornblith2019similarity",
    invariant_to=RIGID | {"isotropic_scaling"},
    uninformative=of_predictor,
)
def linear_regression(
    x: Representation, y: Representation, *, predict: Literal["second", "first"] = "second"
) -> Array:
    r"""Linear regression: the fraction of the variance of Y that a linear map of X explains (R
    squared, in sample).

    .. math:: R^2 = \frac{\lVert U_X^\top Y \rVert_F^2}{\lVert Y \rVert_F^2}
        \qquad (X, Y \text{ centred, } U_X \text{ an orthonormal basis of the columns of } X)

    X is (n, d), Y is (n, e). ``predict="second"`` predicts Y from X; ``"first"`` predicts X from Y.
    In sample, so it is 1 whenever the predictor has n - 1 independent columns. No invertible linear
    map of the predictor changes it; claimed is what holds for both arguments. Raises ``Undefined``
    for a constant representation.

    Reference: Kornblith et al. 2019, Section 4. Their Eq. 5 and the ReSi code predict the first
    argument from the second; here it is the second from the first unless asked for, as X predicts Y
    everywhere else. The ReSi code inverts a covariance: with dead units it fails or exceeds 1 where
    the basis used here gives the exact value.
    """
    if predict == "first":
        x, y = y, x
    explained = x.xp.matrix_transpose(orthonormal_basis(x)) @ preshape(y)  # |Y| = 1 in unit size
    value = inner(explained, explained)
    return at_most_one(value)


@measure(
    label="OrthProc",
    family="alignment",
    larger_is_more_similar=False,
    range=(0, 2**0.5),
    symmetric=True,
    metric=True,
    reference="ding2021grounding",
    invariant_to=RIGID | {"isotropic_scaling"},
    changes=(when({"squared": True}, metric=False, range=(0, 2)),),
    uninformative=of_rotations,
)
def procrustes(x: Representation, y: Representation, *, squared: bool = False) -> Array:
    r"""Orthogonal Procrustes distance: how far two shapes of unit size are apart after the best
    rotation.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centred}, \lVert X \rVert_F = \lVert Y \rVert_F = 1)

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. ``squared=True`` is the
    squared distance of Ding et al., which is not a metric. Raises ``Undefined`` for a constant
    representation.

    Reference: Williams et al. 2021; Ding et al. 2021, Section 2. For nearly equal shapes the
    formula above loses half the digits, so the residual XQ - Y itself is computed then.
    """
    chord = _chord(x, y)
    return chord**2 if squared else chord


@measure(
    label="PermProc",
    family="alignment",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    version=2,
    reference="williams2021generalized",
    invariant_to={"permutation"},
)
def permutation_procrustes(x: Representation, y: Representation) -> Array:
    r"""Permutation Procrustes distance: how far two representations are apart after the best
    matching of neurons.

    .. math:: \min_{P \in \text{permutations}} \lVert XP - Y \rVert_F

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. Nothing is centred or
    scaled, so the value is in the units of the activations. Defined for all finite data.

    Reference: Williams et al. 2021.
    """
    sizes = norm_of(x), norm_of(y)
    if 0 in map(scalar, sizes):
        return sum(sizes)
    products = feature_products(x, y, centered=False)
    squared = 2 - 2 * _sum_at(products, *assignment(products))
    return (
        _after_matching(x, y)
        if scalar(squared) < epsilon(squared) ** 0.25
        else _with_sizes(root(squared), *sizes)
    )


def _after_matching(x: Representation, y: Representation) -> Array:
    """The same from the differences themselves: slower, and right also where the products of all
    columns are alike."""
    a, b, scale = comparable_columns(x, y)
    return scale * _matched_residual(a, b, *assignment(_gains(to_numpy(a), to_numpy(b))))


@measure(
    label="ProcDist",
    family="alignment",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    reference="williams2021generalized",
    invariant_to=RIGID,
    uninformative=of_rotations,
)
def procrustes_size_shape(x: Representation, y: Representation) -> Array:
    r"""Procrustes size-and-shape distance: the distance after the best rotation, sizes kept.

    .. math:: \min_{Q^\top Q = I} \lVert XQ - Y \rVert_F
        = \sqrt{\lVert X \rVert_F^2 + \lVert Y \rVert_F^2 - 2 \lVert X^\top Y \rVert_*}
        \qquad (X, Y \text{ centred})

    X is (n, d), Y is (n, e); the narrower one is padded with zero columns. In the units of the
    activations; a constant representation is at the distance of its size from any other. Defined
    for all finite data.

    Reference: Williams et al. 2021.
    """
    a, b = size(x), size(y)
    if scalar(a) == 0 or scalar(b) == 0:
        return a + b
    return _with_sizes(_chord(x, y), a, b)


@measure(
    label="SoftCorr",
    family="alignment",
    version=2,
    larger_is_more_similar=True,
    range=(-1, 1),
    symmetric=True,
    reference="li2015convergent",
    invariant_to={"permutation", "isotropic_scaling", "translation"},
    identity=False,
    uninformative=of_matched_columns,
)
def soft_correlation_match(x: Representation, y: Representation) -> Array:
    r"""Soft correlation match: mean of every neuron's best correlation on the other side, over both
    sides.

    .. math:: \frac{1}{2} \left( \frac{1}{d} \sum_i \max_j \operatorname{corr}(x_i, y_j)
        + \frac{1}{e} \sum_j \max_i \operatorname{corr}(x_i, y_j) \right)

    X is (n, d), Y is (n, e). Correlations are signed. A constant (dead) column correlates 0 with
    every other.

    Reference: Li et al. 2015. Not the "soft matching" distance of Khosla and Williams (2024), which
    some packages give the same name.
    """
    xp, c = x.xp, correlations(x, y)
    return (xp.mean(xp.max(c, axis=1)) + xp.mean(xp.max(c, axis=0))) / 2


def _chord(x: Representation, y: Representation) -> Array:
    """Distance between two pre-shapes after the best rotation."""
    return _distance(2 - 2 * nuclear_norm(x, y), lambda: rotated_residual(x, y))


def _distance(squared: Array, residual: Callable[[], Array]) -> Array:
    """Root of a squared distance between unit vectors; near zero, where it cancels, the residual
    itself."""
    return residual() if scalar(squared) < epsilon(squared) ** 0.4 else root(squared)


def _with_sizes(chord: Array, a: Array, b: Array) -> Array:
    """Distance between shapes of sizes a and b whose unit shapes are ``chord`` apart.

    |aX - bY|^2 = (a - b)^2 + a b |X - Y|^2 for unit X and Y: nothing overflows and nothing cancels.
    """
    return norm(namespace(a).stack([a - b, root(a) * root(b) * chord]))


def _greedy(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    c, pairs = c.copy(), []
    for _ in range(min(c.shape)):
        row, column = np.unravel_index(np.argmax(c), c.shape)
        pairs.append((row, column))
        c[row, :], c[:, column] = -np.inf, -np.inf
    rows, columns = zip(*pairs, strict=True)
    return np.asarray(rows), np.asarray(columns)


def _sum_at(matrix: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """Sum of the entries at (rows, columns), written as a mask so that gradients pass."""
    chosen = np.zeros(tuple(matrix.shape))
    chosen[rows, columns] = 1
    return inner(matrix, like(chosen, matrix))


def _gains(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Inner products of all columns, up to what every matching has: that of a common offset would
    drown the rest.

    All columns of the narrower side are matched, so that its products with what is subtracted are
    in every matching.
    """
    common = (a.mean(axis=1) + b.mean(axis=1))[:, None] / 2
    left = a - common if a.shape[1] >= b.shape[1] else a
    right = b - common if b.shape[1] >= a.shape[1] else b
    return np.asarray(left.T @ right)


def _matched_residual(a: Array, b: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
    """Norm of the difference of the matched columns, unmatched ones included."""
    xp = namespace(a, b)
    difference = xp.take(a, like(rows, a), axis=1) - xp.take(b, like(columns, b), axis=1)
    wide, used = (a, rows) if a.shape[1] > b.shape[1] else (b, columns)
    left_over = np.setdiff1d(np.arange(wide.shape[1]), used)
    return norm(xp.concat([difference, xp.take(wide, like(left_over, wide), axis=1)], axis=1))
