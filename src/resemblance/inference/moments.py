"""Mean, variance and skewness of <A, B> over all orders of the samples of B, exactly."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._measure import Measure
from ..contracts.claims import Product
from ..contracts.streamed import require_samples
from ..data.representation import (
    Representation,
    as_representation,
    cached,
    representation_title,
    without_gradient,
)
from ..intermediates.matrices import PairMatrix, SparsePairMatrix
from .graph_sums import (
    ENTRY_POWERS,
    SQUARED_COLUMN_BRANCH,
    SQUARED_ROW_BRANCH,
    FactoredMatrix,
    SparsePlusConstant,
    SummableMatrix,
    contract_branch,
    distinct_sums,
    graph_expansion,
    mean_inner_product_power,
    self_product,
    subtract_means,
)

MatrixSide = Literal["left", "right"]

NULL_QUANTILE_COUNT = 1000  # of the distribution of an inner product, to average its root over
MIN_NULL_SPREAD = 1e-12  # of the norms of both matrices: a spread as small as this is rounding
# times as many entries as differ from the most common one: sparse sums are faster
MIN_SPARSITY = 20
# of the mean distance between sorted entries: half of them are closer in clumps
CLUMP_DISTANCE_RATIO = 0.1
CLUMP_SAMPLE_SIZE = 200  # samples whose entries say whether they lie in clumps
PROBE_PERMUTATIONS = 60  # orders drawn to see whether a value is one of few
LEVEL_INTERVALS, MIN_OCCUPIED_INTERVALS = (
    24,
    15,
)  # of equal probability; 60 continuous values reach 22 of them
# times the squares that are left on a diagonal: where it is more, digits cancel
MAX_DIAGONAL_CANCELLATION = 1e4
# times fewer dimensions than samples: from there on, sums over factors are faster
MIN_SAMPLES_PER_FACTOR = 3
# skewness below which Pearson III is the normal distribution, to as many digits
MAX_NORMAL_SKEWNESS = 1e-5


class MomentProfile(NamedTuple):
    """What the moments need of one matrix A.

    ``sums``: over distinct samples, for each multigraph of one to three edges
    (:mod:`~.graph_sums`), of A / |A|; of those with two and three edges, the means of its diagonal
    and of its other entries are subtracted first, which moves <A, B> by the same in all orders.
    ``square``: <A, A>. ``share``: the largest part that one sample has of the squares of these
    centred entries, 0 where nothing is left of them, and ``sample`` the number of that sample.
    ``scale``: what the value takes of the representation in place of <A, A>; the same for most
    measures. ``is_clumped``: half of the entries are as close to others as those of classes, tight
    clusters or lists of neighbours.
    """

    sums: np.ndarray
    square: float
    share: float
    scale: float
    is_clumped: bool
    sample: int = 0


class PermutationMoments(NamedTuple):
    """Mean, variance and skewness over all orders of the samples."""

    mean: float
    variance: float
    skewness: float


class ExactNull(NamedTuple):
    """A measure under the null hypothesis: mean and standard deviation of its value, p-value."""

    chance: float
    spread: float
    pvalue: float


# ------------------------------------------------------------------------------------ of one side


def moment_profile(x: Representation, measure: Measure, side: MatrixSide) -> MomentProfile:
    """Return the profile of the matrix that a measure has of a representation.

    It is numbers only and cached; the matrix is dropped. O(n^3) time for one product of the
    matrix with itself, a third of it if it is symmetric; O(n^2 r) if it has r factors, and less if
    it is sparse.

    Raises ``ValueError`` for a measure without the claim ``product``, and ``UndefinedError`` where
    the squares of the entries are too large or too small for a float.
    """
    is_shared = require_inner_product(measure, "profile").right is None
    return _compute_moment_profile(
        without_gradient(x), measure=measure, side="left" if is_shared else side
    )


@cached("anew")
def _compute_moment_profile(x: Representation, measure: Measure, side: MatrixSide) -> MomentProfile:
    product = require_inner_product(measure, "profile")
    source = product.of(x, side)
    matrix = _cheapest_matrix_form(source, product.symmetric)
    profile = profile_from_matrix(matrix, product.symmetric)
    is_lost = profile.square == 0 and isinstance(matrix, np.ndarray) and matrix.any()
    if is_lost or not math.isfinite(profile.square):
        raise UndefinedError(
            f"{measure}: the entries of {representation_title(x)} are too large or too small to "
            "be squared; rescale them"
        )
    return profile._replace(scale=product.square(x, source)) if product.scale else profile


def _cheapest_matrix_form(source: np.ndarray | PairMatrix, symmetric: bool) -> SummableMatrix:
    """Return a matrix in the form whose sums take least, which may be overwritten."""
    if isinstance(source, SparsePairMatrix) and source.centered == "no":
        return SparsePlusConstant(source.kernel * source.factor, 0.0)
    if isinstance(source, PairMatrix):
        factors = source.factors(source.samples // MIN_SAMPLES_PER_FACTOR) if symmetric else None
        if factors:
            form = FactoredMatrix(*factors)
            difference = form.on_diagonal - form.rest
            if difference @ difference < MAX_DIAGONAL_CANCELLATION * self_product(form):
                return form
        matrix = source.dense()
    else:
        matrix = np.array(source, dtype=np.float64)
    constant, sample = float(np.median(matrix[0])), matrix[:: -(-len(matrix) // CLUMP_SAMPLE_SIZE)]
    if np.count_nonzero(sample != constant) * MIN_SPARSITY >= sample.size:
        return matrix
    from scipy.sparse import csr_array

    return SparsePlusConstant(csr_array(matrix - constant), constant)


def require_inner_product(measure: Measure, caller: str) -> Product:
    """Return the claim ``product``; ``ValueError`` for a measure without it."""
    if measure.product is None:
        raise ValueError(
            f"{caller}: {measure} is no function of an inner product of two matrices; draw orders"
        )
    return measure.product


def profile_from_matrix(matrix: SummableMatrix, symmetric: bool) -> MomentProfile:
    """Return the profile of an (n, n) matrix; an array is overwritten, if it has a norm."""
    square, n, memo = self_product(matrix), len(matrix), dict[Any, Any]()
    lengths = [len(graph_expansion(power, symmetric).graphs) for power in ENTRY_POWERS]
    if not 0 < square < math.inf:
        return MomentProfile(np.zeros(sum(lengths)), square, 0.0, square, True)
    size = 1 / math.sqrt(square)
    first = distinct_sums(matrix, 1, symmetric, {}) * size  # of the diagonal, and off it
    unit = subtract_means(matrix, size, float(first[1]) / (n * (n - 1)), float(first[0]) / n)
    rows = contract_branch(SQUARED_ROW_BRANCH, unit, symmetric, memo)
    columns = rows if symmetric else contract_branch(SQUARED_COLUMN_BRANCH, unit, symmetric, memo)
    total = float(rows.sum())
    if total <= MIN_NULL_SPREAD**2:
        padding = np.zeros(sum(lengths[1:]))
        return MomentProfile(np.concatenate([first, padding]), square, 0.0, square, True)
    sums = [first, *(distinct_sums(unit, power, symmetric, memo) for power in ENTRY_POWERS[1:])]
    sums_by_sample = rows + columns
    sample = int(sums_by_sample.argmax())
    share = float(sums_by_sample[sample]) / (2 * total)
    return MomentProfile(
        np.concatenate(sums), square, share, square, _has_clumped_entries(unit), sample
    )


def _has_clumped_entries(matrix: SummableMatrix) -> bool:
    """Say whether half of the distances between sorted entries are far below their mean.

    Of the entries between evenly spaced samples, above the diagonal; the mean leaves out the
    largest and the smallest twentieth.
    """
    step = slice(None, None, -(-len(matrix) // CLUMP_SAMPLE_SIZE))
    sample = matrix[step, step]
    entries = np.sort(sample[np.triu_indices(len(sample), 1)])
    low, high = np.quantile(entries, [0.05, 0.95])
    is_close = np.diff(entries) <= CLUMP_DISTANCE_RATIO * (high - low) / (0.9 * len(entries))
    return bool(2 * is_close.sum() >= len(is_close))


def has_continuous_tail(left: MomentProfile, right: MomentProfile, n: int) -> bool:
    """Say whether three moments describe a continuous tail: no sample dominates both matrices.

    That is n share_x share_y <= 1. Over 312 pairs (8 measures, 50 to 200 samples, one of them up to
    ten times as large as the others on one side or both, or a neighbour of nearly all others) a
    test at 5 % then rejects 3 to 7 % of the orders, else 0.6 to 7.5 %. Whether the tail is
    continuous :func:`takes_few_values` says.
    """
    return n * left.share * right.share <= 1


def takes_few_values(
    measure: Measure, values: np.ndarray, left: MomentProfile, right: MomentProfile, n: int
) -> bool:
    """Say whether a value has too few levels for the tail of a continuous distribution.

    P(T >= t) of such a value holds all of the probability of t, and the tail about half of it.
    ``values``: the values in :data:`PROBE_PERMUTATIONS` orders. If they fall into fewer than 15 of
    24 intervals of equal probability, they are few. Of 1,393 pairs of labellings with two classes
    (n = 14 to 200), at 5 % of which moments reject up to 19 %, all do; of continuous values none
    did.
    """
    product = require_inner_product(measure, "takes_few_values")
    constant, slope = _linear_coefficients(product, left, right)
    mean, variance, skewness = permutation_moments(left, right, n, product.symmetric)
    if variance == 0 or slope == 0:
        return False
    products = (values**2 if product.root else values) - constant
    z = (products / slope - mean) / math.sqrt(variance)
    levels = [pearson3_upper_tail(float(value), skewness) for value in z[~np.isnan(z)]]
    return len({math.ceil(level * LEVEL_INTERVALS) for level in levels}) < MIN_OCCUPIED_INTERVALS


# ------------------------------------------------------------------------------------ of two sides


def permutation_moments(
    left: MomentProfile, right: MomentProfile, n: int, symmetric: bool
) -> PermutationMoments:
    """Return the moments of <A, P B P'> / (|A| |B|) over all n! permutation matrices P, exactly.

    ``symmetric``: both matrices are. The variance is 0 where it is nothing but rounding.
    """
    ends = np.cumsum([len(graph_expansion(power, symmetric).graphs) for power in ENTRY_POWERS])
    a, b = (np.split(side.sums, ends[:-1]) for side in (left, right))
    mean, second, third_moment = (
        mean_inner_product_power(a[i], b[i], n, power, symmetric)
        for i, power in enumerate(ENTRY_POWERS)
    )
    if second <= MIN_NULL_SPREAD**2:
        return PermutationMoments(mean, 0.0, 0.0)
    return PermutationMoments(mean, second, third_moment / second**1.5)


def exact_null(
    measure: Measure, value: float, left: MomentProfile, right: MomentProfile, n: int
) -> ExactNull:
    """Return chance, spread and p-value of a value of a measure with a product.

    The value, or its square, is c + s T with T = <A, B> / (|A| |B|), so T follows from the value.
    p is P(T' >= T), T' from the Pearson type III distribution with the mean, variance and skewness
    that T has over all n! orders; for values that are continuous, or nearly
    (:func:`takes_few_values`). The tail has been checked down to 1e-4; a smaller p says no more
    than that, but may be multiplied by a number of tests: of 1.5 million orders a share of up to
    2e-5 had a p of 1e-5 or less. It is 1 if T is the same in all orders. Chance and spread are the
    exact mean and standard deviation of the value over all orders where it is linear in T. Where
    its square is, they are those of the root over the quantiles of this distribution, an
    approximation: the exact moments are of the square.

    Reference: Kazi-Aoual et al. 1995, three moments of inner products of centred matrices; here
    the matrices are any.
    """
    product = require_inner_product(measure, "exact_null")
    constant, slope = _linear_coefficients(product, left, right)
    mean, variance, skewness = permutation_moments(left, right, n, product.symmetric)
    if variance == 0 or slope == 0:
        return ExactNull(value, 0.0, 1.0)
    spread = math.sqrt(variance)
    product_value = (value**2 if product.root else value) - constant
    p = pearson3_upper_tail((product_value / slope - mean) / spread, skewness)
    chance, deviation = constant + slope * mean, abs(slope) * spread
    if product.root:
        squares = chance + slope * spread * _pearson3_quantiles(skewness)
        roots = np.sqrt(np.maximum(squares, 0))
        chance, deviation = float(roots.mean()), float(roots.std())
    return ExactNull(chance, deviation, p)


def _linear_coefficients(
    product: Product, left: MomentProfile, right: MomentProfile
) -> tuple[float, float]:
    """Return c and s: the value, or its square, is c + s <A, B> / (|A| |B|)."""
    size = math.sqrt(left.square) * math.sqrt(right.square)
    if size == 0:
        return 0.0, 0.0
    constant, end_value = (product.value(t, left.scale, right.scale) for t in (0.0, size))
    return constant, end_value - constant


def pearson3_upper_tail(z: float, skewness: float) -> float:
    """Return P(Z >= z) of the Pearson type III distribution with mean 0, variance 1 and a skewness.

    Z = (G - a) g / 2 with g the skewness, a = 4 / g^2 and G from the gamma distribution of shape a.
    """
    from scipy.special import gammainc, gammaincc, ndtr

    if abs(skewness) < MAX_NORMAL_SKEWNESS:
        return float(ndtr(-z))
    shape = 4 / skewness**2
    bound = max(shape + 2 * z / skewness, 0.0)
    return float((gammaincc if skewness > 0 else gammainc)(shape, bound))


def _pearson3_quantiles(skewness: float) -> np.ndarray:
    """Return equally likely values from this distribution, with mean 0 and variance 1 exactly."""
    from scipy.special import gammaincinv, ndtri

    levels = (np.arange(NULL_QUANTILE_COUNT) + 0.5) / NULL_QUANTILE_COUNT
    if abs(skewness) < MAX_NORMAL_SKEWNESS:
        values = ndtri(levels)
    else:
        values = gammaincinv(4 / skewness**2, levels) * skewness / 2
    centered = values - values.mean()
    return np.asarray(centered / centered.std())


# ------------------------------------------------------------------------------------ of classes


def class_pair_contributions(measure: Measure, x: Any, y: Any, labels: Any) -> np.ndarray:
    """Return what each pair of classes contributes to the value of a measure, shape (classes,
    classes).

    The value is proportional to <A, B> = sum over classes a, b of <A_ab, B_ab>, where A_ab is what
    is between the samples of a (rows) and those of b (columns); so the contributions add up to it.
    ``labels`` (n,): the class of every sample; classes are in sorted order.

    Raises ``ValueError`` for a measure that is not proportional to an inner product of two
    matrices, for labels that do not fit, and what the measure raises.
    """
    x, y = (without_gradient(as_representation(data)) for data in (x, y))
    require_samples("contributions", x, y)
    classes = np.asarray(labels)
    if classes.shape != (x.shape[0],):
        raise ValueError(
            f"contributions: labels must be one for each of the {x.shape[0]} samples; got shape "
            f"{classes.shape}"
        )
    product = require_inner_product(measure, "contributions")
    measure.evaluate(x, y)  # raises where there is no value
    left, right = product.matrix(x, "left"), product.matrix(y, "right")
    squares = [product.square(r, m) for r, m in ((x, left), (y, right))]
    constant, end_value = (product.value(t, *squares) for t in (0.0, 1.0))
    if product.root or constant:
        raise ValueError(
            f"contributions: {measure} is not proportional to an inner product of two matrices; "
            "use one that is, such as cka"
        )
    home = np.unique(classes, return_inverse=True)[1]
    member = (home[:, None] == np.arange(home.max() + 1)).astype(float)
    return np.asarray(end_value * (member.T @ (left * right) @ member))
