"""Shapes: distances between point clouds or their Gram matrices, and what one representation
predicts of the other."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import (
    Array,
    at_least_zero,
    at_most_one,
    detach,
    device,
    inner,
    like,
    namespace,
    norm,
    scalar,
    to_numpy,
)
from ..declared import when
from ..measure import measure
from ..representation import Representation
from ..views.pairs import cross_products, nuclear_norm
from ..views.points import centered, column_norms, comparable_columns, preshape, size
from ..views.spectra import decomposition, energy
from ..views.transport import transport_plan
from ..views.whitening import partly_whitened, rotated_chord
from .alignment import procrustes_size_shape
from .chance import of_grams, of_rotations, of_shrunk_grams

SHAPE = {"orthogonal", "isotropic_scaling", "translation"}
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # penalties, in units of the total variance


@measure(
    label="NBS",
    family="similarity_matrix",
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="tang2020similarity",
    invariant_to=SHAPE,
    uninformative=of_rotations,
)
def nbs(x: Representation, y: Representation) -> Array:
    r"""Normalized Bures similarity: the fidelity of two centred Gram matrices.

    .. math:: \frac{\operatorname{tr} (K^{1/2} L K^{1/2})^{1/2}}{\sqrt{\operatorname{tr} K
    \operatorname{tr} L}}
        = \frac{\lVert X^\top Y \rVert_*}{\lVert X \rVert_F \lVert Y \rVert_F}
        \qquad (X, Y \text{ centred}, K = X X^\top, L = Y Y^\top)

    X is (n, d), Y is (n, e). No n x n matrix is formed. The cosine of :func:`angular_shape`, and 1
    minus half the squared :func:`procrustes`, so all three rank pairs alike. Raises ``Undefined``
    for a constant representation.

    Reference: Tang et al. 2020; Harvey et al. 2024 for the equality.
    """
    return nuclear_norm(x, y)


@measure(
    label="Bures",
    family="similarity_matrix",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    reference="harvey2024duality",
    invariant_to={"orthogonal", "translation"},
    uninformative=of_rotations,
)
def bures(x: Representation, y: Representation) -> Array:
    r"""Bures distance: the Wasserstein distance between normal distributions with the centred Gram
    matrices.

    .. math:: \sqrt{\operatorname{tr} K + \operatorname{tr} L - 2 \operatorname{tr} (K^{1/2} L
    K^{1/2})^{1/2}}
        \qquad (X, Y \text{ centred}, K = X X^\top, L = Y Y^\top)

    X is (n, d), Y is (n, e). In the units of the activations. It is the same number as
    :func:`procrustes_size_shape` and computed like it; for Gram matrices scaled to trace 1 it is
    :func:`procrustes`. Defined for all finite data.

    Reference: Harvey et al. 2024, who show the equality; Bhatia et al. 2019.
    """
    return procrustes_size_shape.function(x, y)


@measure(
    label="Riemann",
    family="similarity_matrix",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    reference="shahbazi2021using",
    invariant_to=SHAPE,
    limits={"shrinkage": (1e-6, 1)},
    uninformative=of_shrunk_grams,
)
def riemannian(x: Representation, y: Representation, *, shrinkage: float = 0.1) -> Array:
    r"""Riemannian distance: the affine-invariant distance between two centred Gram matrices, made
    regular.

    .. math:: \left\lVert \log \left( K_\lambda^{-1/2} L_\lambda K_\lambda^{-1/2} \right)
    \right\rVert_F, \qquad
        K_\lambda = (1 - \lambda) \frac{n}{\lVert X \rVert_F^2} X X^\top + \lambda I \qquad (X
        \text{ centred})

    with :math:`\lambda` = ``shrinkage``. X is (n, d), Y is (n, e). It is the root of the summed
    squared logarithms of the generalised eigenvalues, computed in the space that both
    representations span: O(n (d + e)^2) time, no n x n matrix when d + e < n. Raises ``Undefined``
    for a constant representation.

    Reference: Shahbazi et al. 2021. A centred Gram matrix is singular and the distance of two
    singular ones infinite, so some regularisation is part of any use, and values depend on it; this
    one makes the mean eigenvalue 1 first.
    """
    xp, n = x.xp, x.shape[0]
    points = [preshape(r) for r in (x, y)]
    spanned = xp.linalg.qr(xp.concat([detach(p) for p in points], axis=1))[0]
    a, b = (_shrunk(xp.matrix_transpose(spanned) @ p, n, shrinkage) for p in points)
    up, down = _ratios(a, b), xp.flip(_ratios(b, a), axis=0)
    larger = ~(
        up <= 1
    )  # of two reciprocal eigenvalues only the larger one is accurate; NaN is neither
    one = xp.ones_like(up)
    return norm(xp.log(xp.where(larger, up, one)) - xp.log(xp.where(larger, one, down)))


def _ratios(a: Array, b: Array) -> Array:
    """Generalised eigenvalues of b against a, ascending."""
    xp = namespace(a, b)
    root_of_a = xp.linalg.cholesky(a)
    half = xp.linalg.solve(root_of_a, b)
    ratios: Array = xp.linalg.eigvalsh(xp.linalg.solve(root_of_a, xp.matrix_transpose(half)))
    return ratios


def _shrunk(points: Array, n: int, shrinkage: float) -> Array:
    """(1 - shrinkage) n P P^T + shrinkage I: the Gram matrix in the coordinates of the points."""
    xp = namespace(points)
    identity = xp.eye(points.shape[0], dtype=points.dtype, device=device(points))
    return (1 - shrinkage) * n * (points @ xp.matrix_transpose(points)) + shrinkage * identity


@measure(
    label="SoftMatch",
    family="alignment",
    version=2,
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    reference="khosla2024soft",
    invariant_to={"permutation"},
    changes=(
        when(
            {"units": "unit"},
            invariant_to={"permutation", "isotropic_scaling", "translation"},
            range=(0, 2),
        ),
    ),
)
def soft_matching(
    x: Representation, y: Representation, *, units: Literal["raw", "unit"] = "raw"
) -> Array:
    r"""Soft matching distance: how far neurons must move to become those of the other
    representation.

    .. math:: \min_{P \ge 0} \sqrt{\sum_{ij} P_{ij} \lVert x_i - y_j \rVert^2}
        \quad \text{with} \quad \sum_j P_{ij} = \tfrac{1}{d}, \quad \sum_i P_{ij} = \tfrac{1}{e}

    with columns :math:`x_i, y_j`: optimal transport between neurons, where a neuron may be shared
    out. For d = e the best plan is a permutation, and the value that of
    :func:`permutation_procrustes` over :math:`\sqrt{d}`.

    X is (n, d), Y is (n, e). ``units="raw"`` takes the columns as they are, in the units of the
    activations; ``"unit"`` centres them and scales them to length 1 first, a constant column
    becoming 0. Exact: an assignment for d = e, otherwise a linear program with d e unknowns (a
    second for 256 and 300, five for 512 and 768). Defined for all finite data.

    Reference: Khosla and Williams 2024. Not :func:`soft_correlation_match`.
    """
    a, b, scale = _columns(x, y, units)
    if scalar(scale) == 0:
        return scale
    rows, columns, masses = transport_plan(_squared_distances(to_numpy(a), to_numpy(b)))
    moved = x.xp.take(a, like(rows, a), axis=1) - x.xp.take(b, like(columns, b), axis=1)
    return scale * norm(
        moved * like(masses**0.5, a)[None, :]
    )  # at its minimum it does not change with the plan


def _columns(x: Representation, y: Representation, units: str) -> tuple[Array, Array, Array]:
    """Columns of both in a size that neither overflows nor underflows, and the factor that brings
    it back."""
    if units == "raw":
        return comparable_columns(x, y)
    a, b = (centered(r) / _nonzero(column_norms(r)) for r in (x, y))
    return a, b, x.xp.ones_like(size(x))


def _nonzero(lengths: Array) -> Array:
    xp = namespace(lengths)
    return xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def _squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances between columns, from what is left of them without a common
    offset."""
    common = (a.mean(axis=1) + b.mean(axis=1))[:, None] / 2
    a, b = a - common, b - common
    squares = (a * a).sum(axis=0)[:, None] + (b * b).sum(axis=0)[None, :] - 2 * (a.T @ b)
    return np.asarray(np.maximum(squares, 0))


@measure(
    label="Shape",
    family="alignment",
    version=2,
    larger_is_more_similar=False,
    range=(0, np.pi / 2),
    symmetric=True,
    metric=True,
    reference="williams2021generalized",
    invariant_to=SHAPE,
    limits={"alpha": (0, 1)},
    changes=(when({"alpha": 0}, invariant_to={"affine"}),),
    uninformative=of_rotations,
)
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

    Reference: Williams et al. 2021. In the paper X keeps its own size, so the effect of alpha
    depends on the units of the activations; here the mean squared singular value is 1 first, so it
    does not. At 0 and 1 there is no difference.
    """
    chord = rotated_chord(partly_whitened(x, alpha=alpha), partly_whitened(y, alpha=alpha))
    return 2 * x.xp.asin(chord / 2)


@measure(
    label="ENSD",
    family="similarity_matrix",
    larger_is_more_similar=True,
    range=(0, np.inf),
    symmetric=True,
    reference="giaffar2024effective",
    invariant_to=SHAPE,
    identity=False,
    uninformative=of_grams,
)
def ensd(x: Representation, y: Representation) -> Array:
    r"""Effective number of shared dimensions: linear CKA in units of dimensions.

    .. math:: \frac{\operatorname{tr}(KL) \operatorname{tr} K \operatorname{tr} L}
        {\operatorname{tr}(K^2) \operatorname{tr}(L^2)} \qquad (X, Y \text{ centred}, K = X X^\top,
        L = Y Y^\top)

    It is linear CKA times the geometric mean of the participation ratios :math:`(\operatorname{tr}
    K)^2 / \operatorname{tr}(K^2)`; of a representation with itself it is that ratio, its effective
    dimension. That is not an upper bound: one with many faint dimensions can share more with a poor
    one than the poor one has.

    X is (n, d), Y is (n, e). O(n d e) time, no n x n matrix when d, e <= n. Raises ``Undefined``
    for a constant representation.

    Reference: Giaffar et al. 2024. Their code leaves centring to the user.
    """
    products = cross_products(x, y)  # of points with tr K = tr L = 1
    return inner(products, products) / (energy(x) ** 2 * energy(y) ** 2)


@measure(
    label="LinPred",
    family="alignment",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=False,
    reference="schrimpf2018brainscore",
    invariant_to=SHAPE,
    identity=False,
    differentiable=False,
)
def linear_predictivity(x: Representation, y: Representation) -> Array:
    r"""Linear predictivity: the variance of left-out samples of Y that ridge regression on X
    explains.

    .. math:: \max_{\lambda} 1 - \frac{\sum_i \lVert y_i - f_i(x_i) \rVert^2}{\sum_i \lVert y_i -
    m_i \rVert^2}

    where :math:`f_i` is the regression (with an intercept) of Y on X over all samples but i, and
    :math:`m_i` the mean of Y over them. The penalty :math:`\lambda` is the best of 1e-6, 1e-5, ...,
    1 times the total variance of X, and infinity, which predicts the mean: so the value is in [0,
    1], and near 0 for independent representations, where :func:`linear_regression` is in sample and
    rises to 1 with the number of columns.

    X is (n, d), Y is (n, e). Every sample is left out once, in closed form, so there are no folds
    to choose, no seed, and no effect of the order. Raises ``Undefined`` for a constant
    representation.

    Reference: Schrimpf et al. 2018, and the practice of encoding models before it. Codes differ in
    folds (shuffled or not), penalties, intercept, and in R² against correlation, and so in their
    values.
    """
    parts, targets, n = decomposition(x), preshape(y), x.shape[0]
    mean_error = (n / (n - 1)) ** 2  # of predicting the mean, for targets in unit size
    errors = [
        _left_out_error(parts.basis, parts.singular, targets, ridge) / mean_error
        for ridge in RIDGES
    ]
    explained = x.xp.max(1 - x.xp.stack(errors))
    return at_most_one(at_least_zero(explained))


def _left_out_error(basis: Array, singular: Array, targets: Array, ridge: float) -> Array:
    """Summed squared errors of the predictions of left-out samples, from the residuals and
    leverages of the fit."""
    xp, n = namespace(basis), basis.shape[0]
    shrunk = basis * (singular**2 / (singular**2 + ridge))[None, :]
    leverage = xp.sum(shrunk * basis, axis=1) + 1 / n
    residual = (targets - shrunk @ (xp.matrix_transpose(basis) @ targets)) / (1 - leverage)[:, None]
    return inner(residual, residual)
