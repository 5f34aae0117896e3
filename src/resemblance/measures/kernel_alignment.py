"""Centred kernel alignment: the cosine between two centred Gram matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ..base.arrays import Array, as_float64, clip_above_one, frobenius_inner, scalar
from ..contracts._measure import measure
from ..contracts.claims import (
    CHANCE_KEY,
    COLUMN_INVARIANCES,
    COSINE_INVARIANCES,
    RIGID_INVARIANCES,
    SAMPLE_ROTATION,
    SHAPE_INVARIANCES,
    AllPairs,
    Product,
    Scores,
)
from ..data.representation import Representation, is_large_array, store_value
from ..intermediates.gram_products import GRAM_BLOCK_BYTES, has_large_gram, large_gram_products
from ..intermediates.grams import (
    DISTANCE_KERNELS,
    Estimator,
    GramKernel,
    MedianPairs,
    compares_gram_entries,
    gram_diagonal,
    gram_inner,
    gram_trace,
    hsic,
    hsic_norm,
    hsic_without_diagonal,
    squared_gram_norm,
)
from ..intermediates.matrices import LINEAR_KERNEL, centered_gram, gram_row_products
from ..intermediates.pair_matrix import expected_cosine
from ..intermediates.points import is_rotated, preshape
from .inner_products import (
    constant_zero,
    has_low_dimension,
    prefers_batched_wide_products,
    warn_fixed_by_n,
    warn_near_ceiling,
)
from .leave_one_out.kernel_alignment import leave_one_out_cka


@measure(
    label="CKA", family="similarity_matrix", citation="kornblith2019similarity", version=3,
    larger_is_more_similar=True, range=(0, 1),
    limits={"bandwidth": (1e-6, 1e6), "width": (1e-100, 1e100)},
    excludes={"width": ("bandwidth", "pairs")},
    compares=Product(
        centered_gram, by_rows=prefers_batched_wide_products, rows_of=gram_row_products
    ),
    leave_one_out=leave_one_out_cka,
)  # fmt: skip
def cka(
    x: Representation,
    y: Representation,
    *,
    kernel: Literal["linear", "rbf", "laplace", "cosine"] = "linear",
    estimator: Estimator = "biased",
    bandwidth: float = 1.0,
    pairs: MedianPairs = "distinct",
    width: float | None = None,
) -> Array:
    r"""Centered kernel alignment: the cosine between two centred Gram matrices.

    .. math:: \frac{\operatorname{HSIC}(K, L)}{\sqrt{\operatorname{HSIC}(K, K)\,
        \operatorname{HSIC}(L, L)}}, \qquad
        \operatorname{HSIC}(K, L) = \langle HKH, HLH \rangle_F, \quad H = I - \tfrac{1}{n} 1 1^\top

    with HSIC up to a factor that cancels. ``kernel="linear"``: K = X Xᵀ, so that CKA =
    ‖XᵀY‖²/(‖XᵀX‖ ‖YᵀY‖) for centred X, Y. ``"rbf"``: K = exp(-d²/(2 σ²)) and ``"laplace"``: K =
    exp(-d/σ), where d is the Euclidean distance between two samples, and σ is ``bandwidth`` times
    the median distance between samples. ``"cosine"``: cosines between rows, 0 with a zero row; not
    translation invariant.

    ``width``: σ itself, in the units of the activations, the same for X and Y, instead of
    ``bandwidth``: K = exp(-d²/(2 width²)) and K = exp(-d/width). The value then changes with the
    scale of X and of Y. ``width`` is ``sigma`` of thingsvision and of similarity-repository, and
    ``rbf_sigma`` of platonic-rep. ``gamma`` of scikit-learn and of platonic-universe is
    1/(2 width²) for ``"rbf"`` and, for a Laplace kernel of the Euclidean distance, 1/width.
    ``laplacian_kernel`` of scikit-learn takes the sum of absolute differences, so the value
    differs. ``Laplace(length_scale)`` of repsim is ``width=length_scale``, and
    ``SquaredExponential(length_scale)`` is ``width=length_scale/2**0.5``.

    ``estimator``: ``"biased"`` is the formula above; for independent representations the value is
    far from 0 unless n >> d (0.79 at n = 200, d = 768). ``"debiased"`` uses the unbiased HSIC of
    Song et al. 2012 (U-centred Gram matrices), 0 on average for independent data. ``"lange"``
    leaves out the diagonals of the centred Gram matrices (Lange et al. 2023). Debiased and Lange
    values may be negative.

    ``"features"`` is for features that are a random sample from a population, such as recorded
    neurons (Chun et al. 2025). This estimator estimates the debiased value that all features of the
    two populations would give. The estimate must not compare a feature with itself, so

    .. math:: \operatorname{HSIC}(K, K) \;\text{becomes}\; \frac{d}{d - 1} \left(
        \operatorname{HSIC}(K, K) - \sum_a \operatorname{HSIC}(x_a x_a^\top, x_a x_a^\top) \right)

    with the unbiased HSIC everywhere and :math:`x_a` the columns of X, d >= 2. Few features lower
    the values of the other estimators: with 30 of 3,000 features on each side and a true value of
    0.154, the debiased value is 0.068 on average and the ``"features"`` value 0.152. With 10
    features the ``"features"`` value is a fifth too large on average and has a standard deviation
    of 0.08. This estimator needs the linear kernel, has no bounds, is more than 1 for X with X, and
    changes when the features are rotated.

    X is (n, d), Y is (n, e). O(n d e) time with no n x n matrix for linear and cosine kernels when
    d, e <= n. Where 3 min(d, e) >= n, or where X or Y is wider than n, the linear kernel instead
    uses n^2/2 numbers and O(n^2 d) time per representation, and O(n^2) time per pair. Only n and
    the widths decide between the two methods, so nothing else changes the last bit of a value. The
    other kernels need O(n^2 d) time and one n x n matrix per representation. For more than 4096
    samples the code stores no n x n matrix: the other kernels recompute the matrices in blocks, in
    four passes; the linear kernel computes the blocks of all representations of a comparison
    together, once each. The exception is the linear kernel with more features than samples. Raises
    ``UndefinedError`` for a constant representation, or when an estimate of a self-similarity is
    not positive, or when the width of a kernel is so far above all distances that only rounding
    errors distinguish the kernel values. Raises ``ValueError`` for ``"features"`` with another
    kernel, for ``width`` together with ``bandwidth`` or ``pairs``, and for one of the three with a
    kernel without a width.

    Use it when you want the measure that most papers report, for the geometry of the directions of
    large variance. Use ``estimator="debiased"`` unless n is much larger than d.

    Beware. The biased default is high for unrelated data when d is large against n. A few
    directions of large variance, or a few outliers, decide the value.

    Reference: Kornblith et al. 2019, Eqs. 3-4; Cortes et al. 2012. The width is a multiple of the
    median *distance* between different samples. ``pairs="all"`` takes the median of all n²
    distances, including the zero distance from each sample to itself, like the codes of google and
    of Islam et al. 2025. The two medians nearly always agree within a thousandth, but with two
    equal clusters the choice decides between the distances within clusters and between clusters. A
    width far below the distances between neighbours leaves only the diagonal, and a value near 1
    for any two representations.
    """
    gram = GramKernel(kernel, bandwidth, pairs, width)
    x_norm, y_norm = (hsic_norm(r, gram, estimator) for r in (x, y))
    value = hsic(x, y, gram, estimator) / (x_norm * y_norm)
    return value if estimator == "features" else clip_above_one(value)


# In 300 samples of 50 x 4 features with a true value of 0.35 the features estimator had the mean
# 0.57, the standard deviation 0.59 and 11 % of the values above 1; with 10 features 0.39, 0.12, 0 %
FEWEST_FEATURES = 10


@cka.claim("uninformative")
def uninformative_grams(
    x: Representation,
    y: Representation,
    kernel: str = "linear",
    estimator: Estimator = "biased",
    bandwidth: float = 1.0,
    pairs: MedianPairs = "distinct",
    width: float | None = None,
) -> str:
    """Near an extreme when the effective dimensions of both Gram matrices approach n - 1, as for n
    well below d or a narrow kernel, but not with ``estimator="debiased"``. Noisy for few sampled
    features.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "". All arguments after y are the
    parameters of :func:`cka`.
    """
    n, has_width = x.n_samples, kernel in DISTANCE_KERNELS
    if n == 2:
        return warn_fixed_by_n(2)
    if estimator == "biased" and not has_width and has_low_dimension(x, y):
        return ""
    if estimator == "features" and (d := min(x.shape[1], y.shape[1])) < FEWEST_FEATURES:
        return (
            f"a ratio of noisy estimates: values of {d} sampled features are too large on average, "
            f"and without bounds; sample {FEWEST_FEATURES} or more features"
        )
    if estimator != "biased" and not (estimator == "lange" and has_width):
        return ""
    K, L = (centered_gram(r, kernel, estimator, bandwidth, pairs, width) for r in (x, y))
    caveat = warn_near_ceiling(n, expected_cosine(K, L))
    return f"{caveat}; a wider kernel lowers this share" if caveat and has_width else caveat


@cka.claim("claims_for")
def _cka_claims(
    kernel: str, estimator: Estimator, bandwidth: float, pairs: MedianPairs, width: float | None
) -> dict[str, Any]:
    """Return the claims of ``cka`` that differ from the declared claims, for the parameters of
    ``cka``. Raises ``ValueError`` for parameters that do not go together."""
    if estimator == "features" and kernel != "linear":
        raise ValueError(
            f"cka: estimator='features' takes kernel='linear', not kernel={kernel!r}, which is no "
            "sum over features; estimator='debiased' takes any kernel"
        )
    given = {"width": (width, None), "bandwidth": (bandwidth, 1), "pairs": (pairs, "distinct")}
    for name, (value, default) in given.items() if kernel not in DISTANCE_KERNELS else ():
        if value != default:
            raise ValueError(
                f"cka: kernel={kernel!r} has no width; {name}={value} goes with kernel='rbf' or "
                "kernel='laplace'"
            )
    if kernel == "linear" and estimator == "biased":
        return {"invariant_to": SHAPE_INVARIANCES | SAMPLE_ROTATION}
    claims: dict[str, Any] = {"invariant_to": SHAPE_INVARIANCES}
    if kernel != "linear":
        claims["all_pairs"] = None
    if estimator != "biased":
        claims |= {"range": (-1, 1), "min_samples": 4}
    if estimator == "lange":  # the estimator needs diagonals, and its own matrices have none
        claims |= {"compares": Product(centered_gram)}
    if estimator == "features":
        claims |= {
            "invariant_to": COLUMN_INVARIANCES,
            "range": (-np.inf, np.inf),
            "identity": False,
        }
        compared = Product(centered_gram, scale=_feature_population_square)
        return claims | {"compares": compared, "chance": constant_zero, "leave_one_out": None}
    if kernel == "linear":
        return claims | {"streams_with": "squares"}
    if kernel == "cosine":
        return claims | {"invariant_to": COSINE_INVARIANCES, "streams_with": "directions"}
    if width is not None:
        claims["invariant_to"] = RIGID_INVARIANCES
    return claims | {"compares": Product(centered_gram, blocks=True)}


def _feature_population_square(x: Representation) -> float:
    """Return the squared norm of the "features" estimator: the estimated HSIC of x with itself for
    the population of features."""
    return scalar(hsic_norm(x, LINEAR_KERNEL, "features")) ** 2


# --------------------------------------------------------------------------------------- many pairs


MAX_STACKED_PRODUCTS = 2**22  # numbers in all products in memory at the same time
# In arrays up to this size, a product takes no longer than a function call.
MAX_SMALL_PRODUCT = 2**16


@cka.claim("all_pairs")
@partial(AllPairs, replaces=has_large_gram, block_bytes=GRAM_BLOCK_BYTES)
def linear_alignments(
    xs: Sequence[Representation], ys: Sequence[Representation], estimator: Estimator = "biased"
) -> Scores:
    """Return linear CKA for all pairs of ``xs`` and ``ys``, (rows, columns), with the chance
    levels.

    The inner products equal the inner products of single calls; the remaining steps are computed
    for all pairs at once.
    """
    sides, xp = (xs, ys), xs[0].xp
    values = _linear_gram_products(xs, ys)  # before the norms: some norms come with the products
    x_norms, y_norms = (
        xp.stack([hsic_norm(r, LINEAR_KERNEL, estimator) for r in s]) for s in sides
    )
    if estimator != "biased":
        x_traces, y_traces = (xp.stack([gram_trace(r, LINEAR_KERNEL) for r in s]) for s in sides)
        traces, diagonals = (
            x_traces[:, None] * y_traces,
            _apply_to_pairs(_inner_of_diagonals, xs, ys),
        )
        values = hsic_without_diagonal(values, diagonals, traces, xs[0].n_samples, estimator)
    values = values / (x_norms[:, None] * y_norms)
    values = as_float64(values if estimator == "features" else clip_above_one(values))
    if estimator == "biased":
        needs_asking = not all(has_low_dimension(r, r) for r in (*xs, *ys))
    else:
        # A square array may hold dissimilarities.
        needs_asking = any(r.shape[0] == r.shape[1] for r in (*xs, *ys))
    return Scores(
        values, {CHANCE_KEY: _chance_alignments(xs, ys, estimator)}, None if needs_asking else {}
    )


def _chance_alignments(
    xs: Sequence[Representation], ys: Sequence[Representation], estimator: Estimator
) -> np.ndarray:
    chances = np.zeros((len(xs), len(ys)))
    if estimator != "features":
        grams = [[centered_gram(r, "linear", estimator) for r in side] for side in (xs, ys)]
        chances[:] = [[expected_cosine(a, b) for b in grams[1]] for a in grams[0]]
    chances[[[x is y for y in ys] for x in xs]] = math.nan
    return chances


def _linear_gram_products(xs: Sequence[Representation], ys: Sequence[Representation]) -> Array:
    """Return the inner products <X X', Y Y'> of linear Gram matrices of centred points in unit size
    (Frobenius norm 1), for every x in ``xs`` and y in ``ys``, shape (rows, columns).

    NumPy multiplies a stack of matrices one matrix at a time, in the same way as two matrices, so
    the products equal the products of single pairs to the last bit.
    """
    if not isinstance(xs[0].source, np.ndarray):
        return _apply_to_pairs(_inner_of_grams, xs, ys)
    if any(map(has_large_gram, (*xs, *ys))):
        return _apply_to_pairs(_large_gram_inner(xs, ys), xs, ys)
    products, is_square = np.empty((len(xs), len(ys)), dtype=xs[0].dtype), ys is xs
    stacks = _stack_by_width(ys)
    for i, x in enumerate(xs):
        for members, points in stacks:
            columns = members[sum(j < i for j in members) if is_square else 0 :]
            if points is None or is_large_array(x) or compares_gram_entries(x, ys[members[0]]):
                products[i, columns] = [gram_inner(x, ys[j], LINEAR_KERNEL) for j in columns]
            else:
                _fill_squared_norms(
                    products[i], preshape(x).T, columns, points[len(members) - len(columns) :]
                )
        for j in (j for j, y in enumerate(ys) if y is x):
            products[i, j] = gram_inner(x, x, LINEAR_KERNEL)
    return np.triu(products) + np.triu(products, 1).T if is_square else products


def _large_gram_inner(
    xs: Sequence[Representation], ys: Sequence[Representation]
) -> Callable[[Representation, Representation], Array]:
    """Return a function of two representations that returns the inner product of their linear Gram
    matrices.

    The products of all large Gram matrices of ``xs`` and ``ys``, and the squared norms, are
    computed here, together; the squared norms go to the caches of the representations.
    """
    large = list({id(r): r for r in (*xs, *ys) if has_large_gram(r)}.values())
    pairs = len(xs) * (len(xs) + 1) // 2 if ys is xs else len(xs) * len(ys)
    products = large_gram_products(large, pairs).astype(large[0].dtype)
    places = {id(r): place for place, r in enumerate(large)}
    for place, r in enumerate(large):
        store_value(r, squared_gram_norm, products[place, place], LINEAR_KERNEL)

    def inner(x: Representation, y: Representation) -> Array:
        if id(x) in places and id(y) in places:
            return products[places[id(x)], places[id(y)]]
        return gram_inner(x, y, LINEAR_KERNEL)

    return inner


def _inner_of_grams(x: Representation, y: Representation) -> Array:
    return gram_inner(x, y, LINEAR_KERNEL)


def _inner_of_diagonals(x: Representation, y: Representation) -> Array:
    return frobenius_inner(gram_diagonal(x, LINEAR_KERNEL), gram_diagonal(y, LINEAR_KERNEL))


def _apply_to_pairs(
    function: Callable[[Representation, Representation], Array],
    xs: Sequence[Representation],
    ys: Sequence[Representation],
) -> Array:
    """Return ``function(x, y)``, a 0-d array, for all pairs, shape (rows, columns). If ``ys is
    xs``, only pairs with j >= i are computed, and mirrored."""
    rows: list[list[Array]] = []
    for i, x in enumerate(xs):
        mirrored_values = [row[i] for row in rows] if ys is xs else []
        rows.append([*mirrored_values, *(function(x, y) for y in ys[len(mirrored_values) :])])
    return xs[0].xp.stack([xs[0].xp.stack(row) for row in rows])


def _stack_by_width(
    representations: Sequence[Representation],
) -> list[tuple[list[int], np.ndarray | None]]:
    """Return, per width d, the positions in ``representations``, and the centred points in unit
    size, (representations, n, d).

    The points are None if the representations of the width have more features than samples, or are
    too large for a copy to save time.
    """
    members: dict[int, list[int]] = {}
    for j, r in enumerate(representations):
        members.setdefault(r.shape[1], []).append(j)
    return [
        (
            positions,
            None
            if is_rotated(r) or math.prod(r.shape) > MAX_SMALL_PRODUCT
            else _stacked_points(representations, positions),
        )
        for positions in members.values()
        for r in [representations[positions[0]]]
    ]


def _stacked_points(representations: Sequence[Representation], places: Sequence[int]) -> np.ndarray:
    return np.stack([preshape(representations[j]) for j in places])


def _fill_squared_norms(
    row: np.ndarray, x: np.ndarray, members: Sequence[int], points: np.ndarray
) -> None:
    """Write into ``row``, at ``members``, the squared norms of the products of ``x`` (d, n),
    transposed points, with every matrix of ``points`` (members, n, e)."""
    step = max(1, MAX_STACKED_PRODUCTS // (x.shape[0] * points.shape[2]))
    for start in range(0, len(members), step):
        products = np.matmul(x, points[start : start + step])
        vectors = products.reshape(len(products), -1)
        row[members[start : start + step]] = np.vecdot(vectors, vectors)
