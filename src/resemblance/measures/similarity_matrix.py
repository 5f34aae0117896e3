"""Representational similarity matrices: compare how two representations see the similarities
between samples."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import (
    Array,
    at_least_zero,
    at_most_one,
    epsilon,
    inner,
    namespace,
    root,
    scalar,
    to_numpy,
)
from ..declared import when
from ..measure import measure
from ..representation import Representation, Undefined
from ..rng import generator
from ..views.distances import (
    distance_deviation,
    distance_norm,
    distances,
    double_centered_distances,
    rdm_vector,
    row_blocks,
)
from ..views.grams import Pairs, gram_diagonal, gram_energy
from ..views.pairs import basis_overlap, gram_inner, overlap_energy, principal_overlap
from ..views.points import size
from ..views.spectra import decomposition
from .chance import of_column_spaces, of_dissimilarities, of_distances, of_grams, of_smoothers

RIGID = {"orthogonal", "translation"}
Estimator = Literal["biased", "debiased", "lange"]


@measure(
    label="CKA",
    family="similarity_matrix",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="kornblith2019similarity",
    invariant_to=RIGID | {"isotropic_scaling"},
    limits={"bandwidth": (1e-6, 1e6)},
    changes=(
        when({"estimator": "debiased"}, range=(-1, 1), min_samples=4),
        when({"estimator": "lange"}, range=(-1, 1), min_samples=4),
        when({"kernel": "cosine"}, invariant_to={"orthogonal", "isotropic_scaling"}),
    ),
    uninformative=of_grams,
)
def cka(
    x: Representation,
    y: Representation,
    *,
    kernel: Literal["linear", "rbf", "laplace", "cosine"] = "linear",
    estimator: Estimator = "biased",
    bandwidth: float = 1.0,
    pairs: Pairs = "distinct",
) -> Array:
    r"""Centered kernel alignment: the cosine between two centred Gram matrices.

    .. math:: \frac{\operatorname{HSIC}(K, L)}{\sqrt{\operatorname{HSIC}(K, K)\,
    \operatorname{HSIC}(L, L)}}, \qquad
        \operatorname{HSIC}(K, L) = \langle HKH, HLH \rangle_F, \quad H = I - \tfrac{1}{n} 1 1^\top

    with HSIC up to a factor that cancels. ``kernel="linear"``: K = X Xᵀ, so that CKA =
    ‖XᵀY‖²/(‖XᵀX‖ ‖YᵀY‖) for centred X, Y. ``"rbf"``: K = exp(-d²/(2 σ²)) and ``"laplace"``: K =
    exp(-d/σ), where σ is ``bandwidth`` times the median distance between samples. ``"cosine"``:
    cosines between rows, 0 with a zero row; not translation invariant.

    ``estimator``: ``"biased"`` is the formula above; for independent representations it is far from
    0 unless n >> d (0.79 at n = 200, d = 768). ``"debiased"`` uses the unbiased HSIC of Song et al.
    2012 (U-centred Gram matrices), 0 on average for independent data. ``"lange"`` leaves out the
    diagonals of the centred Gram matrices (Lange et al. 2023). Both may be negative.

    X is (n, d), Y is (n, e). O(n d e) time with no n x n matrix for linear and cosine kernels when
    d, e <= n. Raises ``Undefined`` for a constant representation, or when an estimate of a
    self-similarity is not positive.

    Reference: Kornblith et al. 2019, Eqs. 3-4; Cortes et al. 2012. The width is a multiple of the
    median *distance* between different samples. ``pairs="all"`` takes the median of all n²
    distances, those of samples to themselves included, as the codes of google and of Islam et al.
    2025 do: nearly always the same within a thousandth, but with two equal clusters it decides
    between the distances within and between them. A width far below the distances between
    neighbours leaves the diagonal only, and a value near 1 for any two representations.
    """
    n = x.shape[0]
    k, l = (gram_diagonal(r, kernel=kernel, bandwidth=bandwidth, pairs=pairs) for r in (x, y))
    energy_x, energy_y = (
        gram_energy(r, kernel=kernel, bandwidth=bandwidth, pairs=pairs) for r in (x, y)
    )
    xy = _hsic(
        gram_inner(x, y, kernel=kernel, bandwidth=bandwidth, pairs=pairs), k, l, n, estimator
    )
    xx, yy = _hsic(energy_x, k, k, n, estimator), _hsic(energy_y, l, l, n, estimator)
    if scalar(xx) <= 1e-12 * scalar(energy_x) or scalar(yy) <= 1e-12 * scalar(
        energy_y
    ):  # nothing but rounding is left
        raise Undefined(
            f"cka: the {estimator} self-similarity is not positive ({n} samples are too few)"
        )
    return at_most_one(xy / (xx**0.5 * yy**0.5))


def _hsic(gram_product: Array, k: Array, l: Array, n: int, estimator: Estimator) -> Array:
    """HSIC up to a factor of n, from the inner product of two centred Gram matrices and their
    diagonals k, l."""
    if estimator == "biased":
        return gram_product
    xp, diagonal = namespace(k), inner(k, l)
    if estimator == "lange":
        return gram_product - diagonal
    # Song et al. 2012, Eq. 5, simplified for centred K and L: their rows sum to zero.
    return gram_product - diagonal * n / (n - 2) + xp.sum(k) * xp.sum(l) / ((n - 1) * (n - 2))


@measure(
    label="DistCorr",
    family="similarity_matrix",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="szekely2007measuring",
    invariant_to=RIGID | {"isotropic_scaling"},
    uninformative=of_distances,
)
def distance_correlation(x: Representation, y: Representation, *, squared: bool = False) -> Array:
    r"""Distance correlation: the correlation of two double-centred matrices of Euclidean distances.

    .. math:: \sqrt{\frac{\langle A, B \rangle_F}{\lVert A \rVert_F \lVert B \rVert_F}}, \qquad
        A = H D_X H, \; B = H D_Y H, \quad (D_X)_{ij} = \lVert x_i - x_j \rVert

    X is (n, d), Y is (n, e). In the population it is 0 only for independent variables; this
    (biased) sample version is well above 0 for independent data in many dimensions.
    ``squared=True`` leaves out the root. O(n^2 d) time, one n x n matrix per representation. Raises
    ``Undefined`` for a constant representation.

    Reference: Székely et al. 2007. The ReSi paper's Eq. 20 is the squared version; its code takes
    the root, like ours.
    """
    product = inner(double_centered_distances(x), double_centered_distances(y))
    value = product / (distance_deviation(x) * distance_deviation(y))
    value = at_most_one(at_least_zero(value))  # non-negative but for rounding
    return value if squared else root(value)


@measure(
    label="EOS",
    family="similarity_matrix",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="may2019downstream",
    invariant_to={"invertible_linear"},
    identity=False,
    uninformative=of_column_spaces,
)
def eigenspace_overlap(x: Representation, y: Representation) -> Array:
    r"""Eigenspace overlap score: how much of the column spaces two representations share.

    .. math:: \frac{1}{\max(d, e)} \lVert U_X^\top U_Y \rVert_F^2

    with :math:`U` an orthonormal basis of the columns, not centred. X is (n, d), Y is (n, e). The
    divisor is the number of columns, not the rank, so a representation with dead units scores
    rank/d with itself. Raises ``Undefined`` for an all-zero representation.

    Reference: May et al. 2019. The rank rule is NumPy's, as in the ReSi code.
    """
    return at_most_one(overlap_energy(x, y, centered=False) / max(x.shape[1], y.shape[1]))


@measure(
    label="GULP",
    family="similarity_matrix",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    version=2,
    metric=True,
    limits={"ridge": (0, np.inf)},
    reference="boixadsera2022gulp",
    invariant_to={"affine"},
    changes=(
        when({"squared": True}, metric=False),
        when({"ridge": lambda ridge: ridge > 0}, invariant_to=RIGID | {"isotropic_scaling"}),
    ),
    uninformative=of_smoothers,
)
def gulp(
    x: Representation, y: Representation, *, ridge: float = 0.0, squared: bool = False
) -> Array:
    r"""GULP: the distance between what ridge regressions on two representations predict, on average
    over targets.

    .. math:: d^2 = \operatorname{tr} \left[ ( \Sigma_X^{-\lambda} \Sigma_X )^2 \right]
        + \operatorname{tr} \left[ ( \Sigma_Y^{-\lambda} \Sigma_Y )^2 \right]
        - 2 \operatorname{tr} \left( \Sigma_X^{-\lambda} \Sigma_{XY} \Sigma_Y^{-\lambda} \Sigma_{YX}
          \right)

    where :math:`\Sigma^{-\lambda} = (\Sigma + \lambda I)^{-1}`, X and Y centred and scaled to mean
    squared row norm 1, and :math:`\lambda` = ``ridge``. At 0 the inverse is a pseudo-inverse:
    d² = rank X + rank Y - 2 times the sum of the squared canonical correlations.

    X is (n, d), Y is (n, e). ``ridge=0`` is invariant to invertible linear maps, a positive ridge
    only to rotation, scaling and translation. ``squared=True`` leaves out the root, as the ReSi
    code does, and is not a metric. Raises ``Undefined`` for a constant representation.

    Reference: Boix-Adserà et al. 2022. The ReSi code inverts covariances without a tolerance, so
    with dead units its value counts rounding noise; a rank tolerance is used here. Distances below
    1e-7 times the root of the ranks are not resolved and are 0.
    """
    # In the bases of singular vectors the regression smoothers are diagonal: tr[...]^2 = |a|^2 and
    # tr(Sigma_X^-1 Sigma_XY Sigma_Y^-1 Sigma_YX) = sum_ij a_i b_j O_ij^2, O the overlap of the
    # bases.
    a, b = _shrinkage(x, ridge), _shrinkage(y, ridge)
    bases = (
        principal_overlap(x, y) if ridge else basis_overlap(x, y)
    )  # without a ridge any bases will do
    overlap = root(a)[:, None] * bases * root(b)[None, :]
    total = inner(a, a) + inner(b, b)
    value = total - 2 * inner(overlap, overlap)
    value = x.xp.where(
        value <= 64 * epsilon(total) * total, x.xp.zeros_like(value), value
    )  # below is rounding
    return value if squared else root(value)


def _shrinkage(x: Representation, ridge: float) -> Array:
    """Eigenvalues of the ridge regression smoother, in [0, 1]; all 1 without a ridge."""
    variance = decomposition(x).singular ** 2
    return variance / (variance + ridge)


@measure(
    label="RSA",
    family="similarity_matrix",
    version=2,
    larger_is_more_similar=True,
    range=(-1, 1),
    symmetric=True,
    reference="kriegeskorte2008representational",
    invariant_to={"permutation", "isotropic_scaling"},
    min_samples=3,
    differentiable=False,
    changes=(
        when({"compare": "pearson"}, differentiable=True),
        when({"compare": "cosine"}, differentiable=True),
        when({"rdm": "cosine"}, invariant_to={"orthogonal", "isotropic_scaling"}),
        when({"rdm": "euclidean"}, invariant_to=RIGID | {"isotropic_scaling"}),
        when({"rdm": "sqeuclidean"}, invariant_to=RIGID | {"isotropic_scaling"}),
    ),
    uninformative=of_dissimilarities,
)
def rsa(
    x: Representation,
    y: Representation,
    *,
    rdm: Literal["correlation", "cosine", "euclidean", "sqeuclidean"] = "correlation",
    compare: Literal["spearman", "pearson", "cosine", "kendall"] = "spearman",
) -> Array:
    r"""Representational similarity analysis: the correlation of two matrices of dissimilarities
    between samples.

    .. math:: \operatorname{corr} \left( \operatorname{vec}_{i<j} D_X, \operatorname{vec}_{i<j} D_Y
    \right)

    ``rdm`` is the dissimilarity within a representation: ``"correlation"`` (1 - Pearson over
    features), ``"cosine"``, ``"euclidean"``, ``"sqeuclidean"``. ``compare`` is the correlation of
    the two upper triangles: ``"spearman"`` (average ranks for ties), ``"pearson"``, ``"cosine"``
    (uncentred), ``"kendall"`` (tau-b).

    X is (n, d), Y is (n, e), n >= 3. A row without direction (constant, for ``"correlation"``) has
    dissimilarity 1 to all others. With d = 1 and ``"correlation"`` no row has one. O(n^2 (d + log
    n)) time, n^2/2 numbers per representation. Raises ``Undefined`` when all dissimilarities of a
    representation are equal.

    Reference: Kriegeskorte et al. 2008. ``"correlation"`` depends on a common offset of the
    features unless it is the same for all of them, so it is not translation invariant, although it
    is listed as such in places.
    """
    if compare == "kendall":
        from scipy.stats import kendalltau  # takes as long to import as the rest of the library

        a, b = (to_numpy(rdm_vector(r, kind=rdm, compare=compare)) for r in (x, y))
        return float(kendalltau(a, b).statistic)
    value = inner(
        rdm_vector(x, kind=rdm, compare=compare), rdm_vector(y, kind=rdm, compare=compare)
    )
    return at_most_one(value)


@measure(
    label="RSMDiff",
    family="similarity_matrix",
    larger_is_more_similar=False,
    range=(0, np.inf),
    symmetric=True,
    metric=True,
    reference="shahbazi2021using",
    invariant_to=RIGID,
    changes=(when({"norm": "spectral"}, differentiable=False),),
)
def rsm_norm_difference(
    x: Representation, y: Representation, *, norm: Literal["frobenius", "spectral"] = "frobenius"
) -> Array:
    r"""RSM norm difference: the norm of the difference of two matrices of Euclidean distances.

    .. math:: \lVert D_X - D_Y \rVert, \qquad (D_X)_{ij} = \lVert x_i - x_j \rVert

    ``norm="frobenius"`` is the root of the summed squares over all n x n entries; ``"spectral"``
    the largest absolute eigenvalue, which is what the ReSi code computes.

    X is (n, d), Y is (n, e). In the units of the activations and growing with n. One n x n matrix
    per representation. Defined for all finite data (a constant representation has no distances). A
    metric between distance matrices.

    Reference: Shahbazi et al. 2021; Yin and Shen 2018 for matrices of inner products instead of
    distances.
    """
    a, b = size(x), size(y)
    if scalar(a) == 0 or scalar(b) == 0:
        return sum(
            s * _distance_norm(r, norm) for r, s in ((x, a), (y, b)) if scalar(s) > 0
        ) + 0.0 * (a + b)
    scale = x.xp.where(a > b, a, b)
    return scale * _difference_norm(x, y, a / scale, b / scale, norm)


def _difference_norm(x: Representation, y: Representation, a: Array, b: Array, norm: str) -> Array:
    """Norm of a D_X - b D_Y for distances in unit size."""
    if norm == "spectral":
        return _largest_eigenvalue(
            _difference(to_numpy(distances(x)), to_numpy(distances(y)), scalar(a), scalar(b))
        )
    p, q = a * distance_norm(x), b * distance_norm(y)
    product = a * b * inner(distances(x), distances(y))
    squared = (p - q) ** 2 + 2 * (p * q - product)
    if scalar(squared) > 1e-6 * scalar(p * q):
        return root(squared)
    # The formula above cancels for nearly equal matrices.
    blocks = (
        a * distances(x)[i:j, :] - b * distances(y)[i:j, :] for i, j in row_blocks(x.shape[0])
    )
    return root(sum(inner(block, block) for block in blocks))


def _difference(p: np.ndarray, q: np.ndarray, a: float, b: float) -> np.ndarray:
    """a P - b Q with one matrix of temporary memory, not three."""
    difference = a * p
    for start, stop in row_blocks(len(p)):
        difference[start:stop] -= b * q[start:stop]
    return difference


def _distance_norm(x: Representation, norm: str) -> Array:
    return distance_norm(x) if norm == "frobenius" else _largest_eigenvalue(to_numpy(distances(x)))


def _largest_eigenvalue(symmetric: np.ndarray) -> float:
    """Largest absolute eigenvalue: the 2-norm of a symmetric matrix, by Lanczos from a fixed
    start."""
    from scipy.sparse.linalg import ArpackError, eigsh

    n = symmetric.shape[0]
    if not symmetric.any():
        return 0.0
    if n < 20:
        return float(np.abs(np.linalg.eigvalsh(symmetric)).max())
    # A simple start can be orthogonal to the eigenvector of structured data; a random one is not.
    start: Any = generator(0, "largest eigenvalue", n).standard_normal(n)
    try:
        # The error of an eigenvalue is quadratic in that of its vector: a tolerance of 1e-8 gives
        # all digits.
        values = eigsh(
            symmetric, k=1, which="LM", v0=start, ncv=8, tol=1e-8, return_eigenvectors=False
        )
    except ArpackError:  # did not converge
        values = np.linalg.eigvalsh(symmetric)
    return float(np.abs(values).max())
