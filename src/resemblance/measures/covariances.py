"""Covariances: distances and similarities of centred Gram matrices, computed from the points."""

from __future__ import annotations

import numpy as np

from ..base.arrays import (
    Array,
    clip_above_one,
    detach,
    device,
    epsilon,
    euclidean_norm,
    frobenius_inner,
    namespace,
    records_gradient,
    scalar,
)
from ..contracts._measure import measure
from ..contracts.claims import RIGID_INVARIANCES, SAMPLE_ROTATION, SHAPE_INVARIANCES, Product
from ..contracts.streamed import shrinkage_whitening_error
from ..data.representation import Representation
from ..intermediates.grams import gram_inner, squared_gram_norm
from ..intermediates.matrices import LINEAR_KERNEL, leading_gram, linear_gram
from ..intermediates.pair_matrix import expected_cosine
from ..intermediates.pairs import basis_overlap, leading_overlap, nuclear_norm
from ..intermediates.points import preshape
from ..intermediates.spectra import (
    component_count_with_ties,
    components_for_variance,
    decomposition,
    smallest_singular,
)
from .alignment import procrustes_size_shape, uninformative_rotations
from .inner_products import has_low_dimension, product_over_squared_norms, warn_near_ceiling
from .kernel_alignment import uninformative_grams
from .leave_one_out.alignment import leave_one_out_nbs, leave_one_out_size_shape
from .leave_one_out.covariances import leave_one_out_ensd


@measure(
    label="NBS", family="similarity_matrix", citation="tang2020similarity", version=2,
    larger_is_more_similar=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    leave_one_out=leave_one_out_nbs, uninformative=uninformative_rotations, takes="distances",
)  # fmt: skip
def nbs(x: Representation, y: Representation) -> Array:
    r"""Normalized Bures similarity: the fidelity of two centred Gram matrices.

    .. math:: \frac{\operatorname{tr} (K^{1/2} L K^{1/2})^{1/2}}{\sqrt{\operatorname{tr} K
        \operatorname{tr} L}}
        = \frac{\lVert X^\top Y \rVert_*}{\lVert X \rVert_F \lVert Y \rVert_F}
        \qquad (X, Y \text{ centered}, K = X X^\top, L = Y Y^\top)

    X is (n, d), Y is (n, e); either may hold given squared distances D between samples
    (:func:`~resemblance.from_dissimilarities`), with K = -H D H / 2 for the centring matrix H. The
    code forms no n x n matrix. The value is the cosine of :func:`angular_shape`, and 1 minus half
    the squared :func:`procrustes`, so all three measures rank pairs alike. Raises
    ``UndefinedError`` for a constant representation, and for dissimilarities that are no squared
    Euclidean distances.

    Use it when you want a similarity between 0 and 1 that corresponds to the Procrustes distance.

    Beware. The value is the cosine of the angular shape distance, so the two measures carry the
    same information. Unrelated data with n near or below d score high.

    Reference: Tang et al. 2020; Harvey et al. 2024 for the equality.
    """
    return nuclear_norm(x, y)


@measure(
    label="Bures",
    family="similarity_matrix",
    citation="harvey2024duality",
    version=2,
    larger_is_more_similar=False,
    range=(0, np.inf),
    metric=True,
    invariant_to=RIGID_INVARIANCES | SAMPLE_ROTATION,
    leave_one_out=leave_one_out_size_shape,
    uninformative=uninformative_rotations,
    takes="distances",
)
def bures(x: Representation, y: Representation) -> Array:
    r"""Bures distance: the Wasserstein distance between normal distributions with the centred Gram
    matrices.

    .. math:: \sqrt{\operatorname{tr} K + \operatorname{tr} L - 2 \operatorname{tr} (K^{1/2} L
        K^{1/2})^{1/2}}
        \qquad (X, Y \text{ centered}, K = X X^\top, L = Y Y^\top)

    X is (n, d), Y is (n, e); either may hold given squared distances, as for :func:`nbs`. The value
    is in the units of the activations; ``bures_metric`` of rsatoolbox is its square. It equals
    :func:`procrustes_size_shape`, and the code computes the two measures in the same way; for Gram
    matrices scaled to trace 1 the value equals :func:`procrustes`. Defined for all finite data.

    Use it when you compare covariances between samples with a metric that keeps sizes.

    Beware. The value equals the Procrustes size-and-shape distance; a table with the two measures
    counts one measure twice. The distance grows with n and with scale.

    Reference: Harvey et al. 2024, who show the equality; Bhatia et al. 2019.
    """
    return procrustes_size_shape.function(x, y)


@measure(
    label="Riemann",
    family="similarity_matrix",
    citation="shahbazi2021using",
    version=2,
    larger_is_more_similar=False,
    range=(0, np.inf),
    metric=True,
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    limits={"shrinkage": (1e-6, 1)},
    diagnostics=shrinkage_whitening_error,
    takes="distances",
)
def riemannian(x: Representation, y: Representation, *, shrinkage: float = 0.1) -> Array:
    r"""Riemannian distance: the affine-invariant distance between two centred Gram matrices, made
    regular.

    .. math:: \left\lVert \log \left( K_\lambda^{-1/2} L_\lambda K_\lambda^{-1/2} \right)
        \right\rVert_F, \qquad
        K_\lambda = (1 - \lambda) \frac{n}{\lVert X \rVert_F^2} X X^\top + \lambda I \qquad (X
        \text{ centered})

    with :math:`\lambda` = ``shrinkage``. X is (n, d), Y is (n, e); either may hold given squared
    distances, as for :func:`nbs`. The distance is the root of the
    summed squared logarithms of the generalised eigenvalues, computed in the joint span of X and Y:
    O((d + e)^3) time besides the two decompositions and one product, no n x n matrix when d, e < n.
    Raises ``UndefinedError`` for a constant representation.

    Use it when you compare Gram matrices with a distance in which small eigenvalues count as much
    as large ones.

    Beware. Small eigenvalues are the least certain, and the regularisation decides how much weight
    small eigenvalues have. Report ``shrinkage``.

    Reference: Shahbazi et al. 2021. A centred Gram matrix is singular and the distance between two
    singular matrices is infinite, so any use needs some regularisation, and values depend on the
    choice. The regularisation here first scales the mean eigenvalue to 1. ``neg_riem_dist`` of
    rsatoolbox drops the first sample, so values depend on the order of samples, and adds a multiple
    of the identity to X alone, fitted to make the distance small.
    """
    if _share_directions(x, y):
        a, b = _shrunk_grams(x, y, shrinkage)
        ratios = _generalized_eigenvalues(a, b), _generalized_eigenvalues(b, a)
    else:
        ratios = _shared_eigenvalues(x, y, shrinkage), _shared_eigenvalues(y, x, shrinkage)
    return euclidean_norm(_log_eigenvalues(*ratios))


@riemannian.claim("uninformative")
def uninformative_shrunk_grams(x: Representation, y: Representation, shrinkage: float) -> str:
    """Near an extreme when the effective dimensions of both Gram matrices approach n - 1, as for n
    well below d.

    In this case the value of the pair is near the value of equal data, whatever the data; two
    samples fix the value. The function then returns a warning as text, otherwise "". ``shrinkage``
    is not used.
    """
    return uninformative_grams(x, y)


@measure(
    label="ENSD",
    family="similarity_matrix",
    citation="giaffar2024effective",
    version=2,
    larger_is_more_similar=True,
    range=(0, np.inf),
    invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    identity=False,
    compares=Product(linear_gram, value=product_over_squared_norms),
    uninformative=uninformative_grams,
    leave_one_out=leave_one_out_ensd,
)
def ensd(x: Representation, y: Representation) -> Array:
    r"""Effective number of shared dimensions: linear CKA in units of dimensions.

    .. math:: \frac{\operatorname{tr}(KL) \operatorname{tr} K \operatorname{tr} L}
        {\operatorname{tr}(K^2) \operatorname{tr}(L^2)} \qquad (X, Y \text{ centered}, K = X X^\top,
        L = Y Y^\top)

    The value is linear CKA times the geometric mean of the participation ratios
    :math:`(\operatorname{tr} K)^2 / \operatorname{tr}(K^2)`. The value of X with X is the
    participation ratio, the effective dimension of X. The effective dimension is not an upper
    bound: a representation X with many faint dimensions can share more dimensions with a
    low-dimensional Y than Y has.

    X is (n, d), Y is (n, e). O(n d e) time, no n x n matrix when d, e <= n. Raises
    ``UndefinedError`` for a constant representation.

    Use it when you want the similarity as a number of shared dimensions rather than a fraction.

    Beware. The value has no fixed maximum: X with itself gives the effective dimension of X. Report
    the self-similarities of X and of Y with the value.

    Reference: Giaffar et al. 2024. The authors' code leaves centring to the user.
    """
    # The points have size 1, so tr K = tr L = 1.
    return gram_inner(x, y, LINEAR_KERNEL) / (
        squared_gram_norm(x, LINEAR_KERNEL) * squared_gram_norm(y, LINEAR_KERNEL)
    )


@measure(
    label="PWCKA", family="similarity_matrix", citation="raju2026geometric", version=3,
    larger_is_more_similar=True, range=(0, 1), invariant_to=SHAPE_INVARIANCES | SAMPLE_ROTATION,
    limits={"explained_variance": (0, 1)},
)  # fmt: skip
def pwcka(x: Representation, y: Representation, *, explained_variance: float = 0.99) -> Array:
    r"""Principal-component CKA: linear CKA of the leading principal components.

    .. math:: \frac{\lVert S_X U_X^\top U_Y S_Y \rVert_F^2}{\lVert S_X^2 \rVert_F \, \lVert S_Y^2
        \rVert_F}

    where :math:`U_X S_X` are the scores of the k leading components of X, likewise for Y. Here k is
    the smallest number of components that explains at least ``explained_variance`` of the variance
    of X, or of Y if Y needs fewer components. Components tied with the k-th component are included
    on either side. X is (n, d), Y is (n, e). With all components the value is ``cka``. Raises
    ``UndefinedError`` for a constant representation.

    Use it when you want CKA of the leading principal components only.

    Beware. The leading components dominate linear CKA anyway, so linear CKA and this measure mostly
    agree.

    Reference: Raju 2026, who calls the measure PWCKA. Despite the name, and the citation of PWCCA,
    the author's code contains no projection weights: components weigh by variance, as in CKA, and
    the remaining components are cut off.
    """
    count = min(components_for_variance(r, explained_variance=explained_variance) for r in (x, y))
    k, l = component_count_with_ties(x, count=count), component_count_with_ties(y, count=count)
    s, t = decomposition(x).singular[:k], decomposition(y).singular[:l]
    scores = s[:, None] * leading_overlap(x, y, k, l) * t[None, :]
    return clip_above_one(
        frobenius_inner(scores, scores)
        / (frobenius_inner(s**2, s**2) * frobenius_inner(t**2, t**2)) ** 0.5
    )


@pwcka.claim("chance")
def chance_pwcka(x: Representation, y: Representation, explained_variance: float) -> float:
    """Return the mean value over all permutations of the samples, tr K tr L / ((n - 1) |K| |L|),
    for the centred Gram matrices K, L of the leading components."""
    count = min(components_for_variance(r, explained_variance=explained_variance) for r in (x, y))
    return expected_cosine(leading_gram(x, count), leading_gram(y, count))


@pwcka.claim("uninformative")
def uninformative_leading_grams(
    x: Representation, y: Representation, explained_variance: float
) -> str:
    """Near an extreme when the effective dimensions of the leading components approach n - 1, as
    for n well below d.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    if has_low_dimension(x, y):
        return ""
    return warn_near_ceiling(x.n_samples, chance_pwcka(x, y, explained_variance=explained_variance))


def _share_directions(x: Representation, y: Representation) -> bool:
    """Return whether the column spaces of x and y nearly share a direction.

    Shared means that 1 minus the squared cosine keeps too few digits. Also True where a derivative
    is recorded, and if a representation varies too little to have directions.
    """
    if any(records_gradient(r.source) or smallest_singular(r) == 0 for r in (x, y)):
        return True
    residual = _products_beyond_basis(basis_overlap(x, y))
    smallest = namespace(residual).linalg.eigvalsh(residual)[0]
    return bool(scalar(smallest) < epsilon(residual) ** 0.4)


def _products_beyond_basis(overlap: Array) -> Array:
    """Return I - P' P, (rank_y, rank_y): the inner products of the basis vectors of y minus their
    projections on the space of x.

    ``overlap``: P = Q_x' Q_y, (rank_x, rank_y), the products of the two orthonormal bases.
    """
    xp = namespace(overlap)
    return _identity_matrix(overlap, overlap.shape[1]) - xp.matrix_transpose(overlap) @ overlap


def _shared_eigenvalues(x: Representation, y: Representation, shrinkage: float) -> Array:
    """Return the generalised eigenvalues of the shrunk Gram matrix of y against the shrunk Gram
    matrix of x, ascending, (rank_x + rank_y,).

    The function needs spaces of x and y without a common direction. The coordinates are the basis
    of x, where the Gram matrix of x is diagonal, and the part of the basis of y outside the basis
    of x.
    """
    xp, n, overlap = x.xp, x.n_samples, basis_overlap(x, y)
    s, t = decomposition(x).singular, decomposition(y).singular
    residual = xp.matrix_transpose(xp.linalg.cholesky(_products_beyond_basis(overlap)))
    gram = _shrunk_gram(xp.concat([overlap, residual], axis=0) * t[None, :], n, shrinkage)
    diagonal = xp.concat([(1 - shrinkage) * n * s**2, xp.zeros_like(t)]) + shrinkage
    scale = diagonal**-0.5
    return xp.linalg.eigvalsh(scale[:, None] * gram * scale[None, :])


def _shrunk_grams(x: Representation, y: Representation, shrinkage: float) -> tuple[Array, Array]:
    """Return the Gram matrices of x and of y, shrunk towards the identity, (k, k) each, in
    coordinates of the space that the columns of x and y span together."""
    xp, points = x.xp, [preshape(r) for r in (x, y)]
    basis = xp.linalg.qr(xp.concat([detach(p) for p in points], axis=1))[0]
    a, b = (_shrunk_gram(xp.matrix_transpose(basis) @ p, x.n_samples, shrinkage) for p in points)
    return a, b


def _shrunk_gram(points: Array, n: int, shrinkage: float) -> Array:
    """Return (1 - shrinkage) n P P' + shrinkage I for ``points`` P, (rows, rows); ``n`` is the
    number of samples, which may differ from the number of rows."""
    gram = points @ namespace(points).matrix_transpose(points)
    return (1 - shrinkage) * n * gram + shrinkage * _identity_matrix(points, points.shape[0])


def _identity_matrix(like: Array, size: int) -> Array:
    return namespace(like).eye(size, dtype=like.dtype, device=device(like))


def _log_eigenvalues(ratios: Array, reverse_ratios: Array) -> Array:
    """Return the logarithms of the eigenvalues ``ratios``, in the same order.

    ``ratios`` are the generalised eigenvalues of b against a, ``reverse_ratios`` of a against b,
    both ascending. An eigenvalue of b against a is the reciprocal of an eigenvalue of a against b,
    and only the larger of the two is accurate.
    """
    xp = namespace(ratios, reverse_ratios)
    up, down = ratios, xp.flip(reverse_ratios, axis=0)
    larger = ~(up <= 1)  # NaN stays NaN
    ones = xp.ones_like(up)
    return xp.log(xp.where(larger, up, ones)) - xp.log(xp.where(larger, ones, down))


def _generalized_eigenvalues(a: Array, b: Array) -> Array:
    """Return the generalised eigenvalues v of B u = v A u, ascending, for positive definite ``a``
    and symmetric ``b``."""
    xp = namespace(a, b)
    root_of_a = xp.linalg.cholesky(a)
    half = xp.linalg.solve(root_of_a, b)
    return xp.linalg.eigvalsh(xp.linalg.solve(root_of_a, xp.matrix_transpose(half)))
