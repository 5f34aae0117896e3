"""Representational similarity matrices: compare how two representations see the similarities
between samples."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ..arrays import Array, at_least_zero, at_most_one, inner, root, scalar, to_numpy
from ..claims import COLUMNS, COSINE, RIGID, ROTATION, SHAPE, AllPairs, Product
from ..measure import measure
from ..representation import Representation
from ..rng import generator
from ..views.distances import (
    GATHERED,
    deviation_norm,
    distance_deviation,
    distance_deviations,
    distances,
    double_centred_inner,
    mean_distance,
    rdm_vector,
    row_blocks,
    whitened_gram,
)
from ..views.grams import Estimator, GramKernel, Pairs, hsic_norm
from ..views.matrices import actual_distances, centred_distances, centred_gram, dissimilarities
from ..views.pairs import hsic
from ..views.points import size
from ..views.rectangles import ABOVE
from .all_pairs.alignments import linear_alignments
from .all_pairs.dissimilarities import dissimilarity_correlations, rank_error
from .all_pairs.distances import distance_correlations, rsm_norm_differences
from .all_pairs.grams import kernel_alignments
from .chance import of_dissimilarities, of_distances, of_grams
from .expected import zero
from .inner_products import squared_distance
from .leaving_out.dissimilarities import rsa_without, rsm_norm_without
from .leaving_out.products import cka_without, distance_correlation_without

Comparing = Literal[
    "spearman",
    "pearson",
    "cosine",
    "kendall",
    "kendall_a",
    "rho_a",
    "whitened_cosine",
    "whitened_pearson",
]


def _cka_claims(kernel: str, estimator: Estimator) -> dict[str, Any]:
    """Return the claims that depend on the kernel and the estimator."""
    if estimator == "features":
        faces = {"invariant_to": COLUMNS, "compares": None, "chance": zero, "left_out": None}
        return faces | {"range": (-np.inf, np.inf), "min_samples": 4, "identity": False}
    claims = {} if estimator == "biased" else {"range": (-1, 1), "min_samples": 4}
    if kernel == "cosine":
        return claims | {"invariant_to": COSINE, "streams_with": "directions"}
    if kernel != "linear":
        return claims | {"invariant_to": SHAPE, "all_pairs": AllPairs(kernel_alignments, ABOVE)}
    if estimator != "biased":
        return claims | {"invariant_to": SHAPE, "streams_with": "squares"}
    return {"invariant_to": SHAPE | ROTATION, "all_pairs": AllPairs(linear_alignments)}


@measure(
    label="CKA", family="similarity_matrix", reference="kornblith2019similarity", version=3,
    larger_is_more_similar=True, range=(0, 1), limits={"bandwidth": (1e-6, 1e6)},
    compares=Product(centred_gram), left_out=cka_without, uninformative=of_grams,
    changes=_cka_claims,
)  # fmt: skip
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

    ``"features"`` is for features that are a random sample from a population, such as recorded
    neurons (Chun et al. 2025): it estimates what the debiased value would be for all features of
    both populations. A feature should be compared with others only, so

    .. math:: \operatorname{HSIC}(K, K) \;\text{becomes}\; \frac{d}{d - 1} \left(
        \operatorname{HSIC}(K, K) - \sum_a \operatorname{HSIC}(x_a x_a^\top, x_a x_a^\top) \right)

    with the unbiased HSIC everywhere and :math:`x_a` the columns of X, d >= 2. Few features lower
    the other values: with 30 of 3,000 on each side and a true value of 0.154 the debiased one is
    0.068 on average and this one 0.152. With 10 it is a fifth too large on average and has a
    standard deviation of 0.08. It takes the linear kernel, has no bounds, is more than 1 for X with
    itself, and changes when the features are rotated.

    X is (n, d), Y is (n, e). O(n d e) time with no n x n matrix for linear and cosine kernels when
    d, e <= n. The linear kernel takes n^2/2 numbers and O(n^2 d) time per representation, and
    O(n^2) per pair, where 3 min(d, e) >= n or one is wider than n: n and the widths decide, so to
    the last bit a value depends on nothing else. The other kernels take O(n^2 d) time, one n x n
    matrix per representation, and none for more than 4096 samples: then the matrices are computed
    again, piece by piece, in four passes. Raises ``Undefined`` for a constant representation, or
    when an estimate of a self-similarity is not positive, and ``ValueError`` for ``"features"``
    with another kernel.

    Use it when you want the measure that most papers report, for the geometry of the directions of
    large variance. Use ``estimator="debiased"`` unless n is much larger than d.

    Beware. The biased default is high for unrelated data when d is large against n. A few
    directions of large variance, or a few outliers, decide the value.

    Reference: Kornblith et al. 2019, Eqs. 3-4; Cortes et al. 2012. The width is a multiple of the
    median *distance* between different samples. ``pairs="all"`` takes the median of all n²
    distances, those of samples to themselves included, as the codes of google and of Islam et al.
    2025 do: nearly always the same within a thousandth, but with two equal clusters it decides
    between the distances within and between them. A width far below the distances between
    neighbours leaves the diagonal only, and a value near 1 for any two representations.
    """
    if estimator == "features" and kernel != "linear":
        raise ValueError(
            f"cka: estimator='features' takes kernel='linear', not kernel={kernel!r}, which is no "
            "sum over features; estimator='debiased' takes any kernel"
        )
    gram = GramKernel(kernel, bandwidth, pairs)
    x_norm, y_norm = (hsic_norm(r, gram, estimator) for r in (x, y))
    value = hsic(x, y, gram, estimator) / (x_norm * y_norm)
    return value if estimator == "features" else at_most_one(value)


@measure(
    label="DistCorr", family="similarity_matrix", reference="szekely2007measuring", version=3,
    larger_is_more_similar=True, range=(0, 1), invariant_to=SHAPE,
    left_out=distance_correlation_without, uninformative=of_distances,
    all_pairs=AllPairs(distance_correlations, ABOVE),
    changes=lambda squared: {"compares": Product(centred_distances, root=not squared)},
)  # fmt: skip
def distance_correlation(x: Representation, y: Representation, *, squared: bool = False) -> Array:
    r"""Distance correlation: the correlation of two double-centred matrices of Euclidean distances.

    .. math:: \sqrt{\frac{\langle A, B \rangle_F}{\lVert A \rVert_F \lVert B \rVert_F}}, \qquad
        A = H D_X H, \; B = H D_Y H, \quad (D_X)_{ij} = \lVert x_i - x_j \rVert

    X is (n, d), Y is (n, e). In the population it is 0 only for independent variables; this
    (biased) sample version is well above 0 for independent data in many dimensions.
    ``squared=True`` leaves out the root. O(n^2 d) time, n^2/2 numbers per representation; none
    for more than 4096 samples, in two passes over the pairs. Raises ``Undefined`` for a constant
    representation.

    Use it when you want to detect any dependence between all pairwise distances, not only a linear
    one.

    Beware. The biased estimate is well above 0 for unrelated data of many features. Read it against
    its chance level.

    Reference: Székely et al. 2007. The ReSi paper's Eq. 20 is the squared version; its code takes
    the root, like ours.
    """
    value = double_centred_inner(x, y) / (distance_deviation(x) * distance_deviation(y))
    value = at_most_one(at_least_zero(value))  # non-negative but for rounding
    return value if squared else root(value)


def _rsa_claims(rdm: str, compare: Comparing) -> dict[str, Any]:
    """Return the claims that depend on the dissimilarities and how they are compared."""
    unchanged_by = {"correlation": {"permutation", "isotropic_scaling"}, "cosine": COSINE}
    claims: dict[str, Any] = {"invariant_to": unchanged_by.get(rdm, SHAPE)}
    if compare in ("pearson", "cosine"):
        claims["differentiable"] = True
    if compare in ("kendall", "kendall_a", "rho_a"):
        claims |= {"compares": None, "chance": zero, "left_out": None}
    if compare not in ("spearman", "pearson", "cosine", "kendall"):
        claims["all_pairs"] = None
    if compare in ("kendall_a", "rho_a"):  # ties bring it below 1, for X with itself, too
        claims["identity"] = False
    return claims


@measure(
    label="RSA", family="similarity_matrix", version=3, larger_is_more_similar=True, range=(-1, 1),
    reference="kriegeskorte2008representational", min_samples=3, differentiable=False,
    reads="dissimilarities", compares=Product(dissimilarities), left_out=rsa_without,
    all_pairs=AllPairs(dissimilarity_correlations, ABOVE), diagnostics=rank_error,
    uninformative=of_dissimilarities, changes=_rsa_claims,
)  # fmt: skip
def rsa(
    x: Representation,
    y: Representation,
    *,
    rdm: Literal["correlation", "cosine", "euclidean", "sqeuclidean"] = "correlation",
    compare: Comparing = "spearman",
    variances: tuple[float, ...] | None = None,
) -> Array:
    r"""Representational similarity analysis: the correlation of two matrices of dissimilarities
    between samples.

    .. math:: \operatorname{corr} \left( \operatorname{vec}_{i<j} D_X, \operatorname{vec}_{i<j} D_Y
        \right)

    ``rdm`` is the dissimilarity within a representation: ``"correlation"`` (1 - Pearson over
    features), ``"cosine"``, ``"euclidean"``, ``"sqeuclidean"``. ``compare`` is the correlation of
    the two upper triangles: ``"spearman"`` (average ranks for ties), ``"pearson"``, ``"cosine"``
    (uncentred), ``"kendall"`` (tau-b). For ties in a model ``"kendall_a"`` (concordant minus
    discordant over all pairs) and ``"rho_a"`` (the covariance of ranks times 12 / (p³ - p) for p
    pairs), which are less than 1 where there are ties (Schütt et al. 2023).

    ``"whitened_cosine"`` and ``"whitened_pearson"`` allow for the dependence of dissimilarities
    that share a sample (Diedrichsen et al. 2021):

    .. math:: \frac{d_X^\top V^{-1} d_Y}{\sqrt{d_X^\top V^{-1} d_X \; d_Y^\top V^{-1} d_Y}},
        \qquad V = (C S C^\top) \circ (C S C^\top)

    with C the contrasts of all pairs and S the diagonal matrix of ``variances``, a number for each
    sample such as 1 / trials, by default equal. With equal ones and ``rdm="sqeuclidean"``
    ``"whitened_cosine"`` is linear ``cka``. ``"whitened_pearson"`` removes before, in the same
    metric, what equal dissimilarities explain. No matrix of pairs by pairs is formed.

    Either side may hold given dissimilarities (:func:`~resemblance.from_dissimilarities`,
    :func:`~resemblance.dissimilarities`), whatever ``rdm`` is.

    X is (n, d), Y is (n, e), n >= 3. A row without direction (constant, for ``"correlation"``) has
    dissimilarity 1 to all others. With d = 1 and ``"correlation"`` no row has one. O(n^2 (d + log
    n)) time, n^2/2 numbers per representation. Raises ``Undefined`` when all dissimilarities of a
    representation are equal, and ``ValueError`` for ``variances`` that are not n positive numbers,
    or with a comparison that is not whitened.

    For more than 4096 samples O(n^2 d) time and O(n d) memory. Pearson and cosine stay exact. For
    ``"spearman"`` 2^18 bins have a rank each, and for ``"kendall"`` pairs in the same one of 2048
    bins are left out; results record as ``rank_error`` how far the value can be from the exact one.
    Usually the bounds are 1e-5 and 1.5e-3, and the errors 1e-9 and 2e-4. The others are computed as
    for few samples.

    Use it when you compare with studies of brains or behaviour, or only dissimilarities are known.

    Beware. The default, correlation distance with Spearman correlation, is changed by an offset.
    Pairs of samples are not independent: test by permuting samples, never pairs.

    Reference: Kriegeskorte et al. 2008. ``"correlation"`` depends on a common offset of the
    features unless it is the same for all of them, so it is not translation invariant, although it
    is listed as such in places.
    """
    if variances is not None and not compare.startswith("whitened"):
        raise ValueError(f"rsa: variances are for whitened comparisons, not {compare!r}")
    if compare.startswith("whitened"):
        a, b = (whitened_gram(r, rdm, compare, variances) for r in (x, y))
        return min(1.0, float(np.vdot(a, b)))
    a, b = (rdm_vector(r, kind=rdm, compare=compare) for r in (x, y))
    return kendall(a, b, compare) if compare.startswith("kendall") else at_most_one(inner(a, b))


def kendall(x_ranks: Array, y_ranks: Array, compare: str) -> float:
    """Kendall's tau-b, or for ``"kendall_a"`` tau-a: times the root of both shares of pairs of
    entries that are not tied."""
    from scipy.stats import kendalltau  # takes as long to import as the rest of the library

    ranks = to_numpy(x_ranks), to_numpy(y_ranks)
    tau = float(kendalltau(*ranks).statistic)
    if compare == "kendall":
        return tau
    pairs = len(ranks[0]) * (len(ranks[0]) - 1)
    uses = (np.unique(r, return_counts=True)[1].astype(float) for r in ranks)
    return tau * math.prod(math.sqrt(1 - float((k * (k - 1)).sum()) / pairs) for k in uses)


@measure(
    label="RSMDiff", family="similarity_matrix", reference="shahbazi2021using", version=2,
    larger_is_more_similar=False, range=(0, np.inf), metric=True, invariant_to=RIGID,
    compares=Product(actual_distances, value=squared_distance, root=True),
    left_out=rsm_norm_without, all_pairs=AllPairs(rsm_norm_differences, ABOVE),
    changes=lambda norm: (
        {"differentiable": False, "compares": None, "left_out": None} if norm == "spectral" else {}
    ),
)  # fmt: skip
def rsm_norm_difference(
    x: Representation, y: Representation, *, norm: Literal["frobenius", "spectral"] = "frobenius"
) -> Array:
    r"""RSM norm difference: the norm of the difference of two matrices of Euclidean distances.

    .. math:: \lVert D_X - D_Y \rVert, \qquad (D_X)_{ij} = \lVert x_i - x_j \rVert

    ``norm="frobenius"`` is the root of the summed squares over all n x n entries; ``"spectral"``
    the largest absolute eigenvalue, which is what the ReSi code computes.

    X is (n, d), Y is (n, e). In the units of the activations and growing with n. O(n^2 d) time,
    n^2/2 numbers per representation, n^2 for ``"spectral"``; none for more than 4096 samples, in
    one pass over the pairs, or ten to twenty for the spectral norm. Defined for all finite data (a
    constant representation has no distances). A metric between distance matrices.

    Use it when you want the plain difference between two matrices of distances, sizes included.

    Beware. It grows with n and with scale. The largest distances decide, so outliers do.

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
    pairs = distance_deviations(x).shape[0]
    means = a * mean_distance(x) - b * mean_distance(y)
    return root(2 * (_deviations_apart(x, y, a, b) + pairs * means**2))


def _deviations_apart(x: Representation, y: Representation, a: Array, b: Array) -> Array:
    """Squared norm of a d - b e for the deviations d and e of distances from their mean."""
    d, e = distance_deviations(x), distance_deviations(y)
    p, q = a * deviation_norm(x), b * deviation_norm(y)
    squared = (p - q) ** 2 + 2 * (p * q - a * b * inner(d, e))
    if scalar(squared) > 1e-6 * scalar(p * q):
        return squared
    # The formula above cancels for nearly equal matrices.
    blocks = (a * d[i:j] - b * e[i:j] for i, j in row_blocks(d.shape[0], GATHERED))
    return sum(inner(block, block) for block in blocks)


def _difference(p: np.ndarray, q: np.ndarray, a: float, b: float) -> np.ndarray:
    """a P - b Q with one matrix of temporary memory, not three."""
    difference = a * p
    for start, stop in row_blocks(len(p)):
        difference[start:stop] -= b * q[start:stop]
    return difference


def _distance_norm(x: Representation, norm: str) -> Array:
    if norm == "spectral":
        return _largest_eigenvalue(to_numpy(distances(x)))
    pairs = distance_deviations(x).shape[0]
    return root(2 * (deviation_norm(x) ** 2 + pairs * mean_distance(x) ** 2))


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
