"""Exact moments: over all orders of the samples, of the measures that claim an inner product."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import pearson3

import resemblance as rs
from resemblance.base.exceptions import UndefinedError
from resemblance.contracts._measure import Measure
from resemblance.data.representation import Representation
from resemblance.inference import moments as exact_moments
from resemblance.inference.moments import (
    ExactNull,
    MomentProfile,
    PermutationMoments,
    class_pair_contributions,
    exact_null,
    has_continuous_tail,
    moment_profile,
    pearson3_upper_tail,
    permutation_moments,
    profile_from_matrix,
)
from resemblance.inference.nulls import EXACT_MOMENTS
from resemblance.intermediates.pair_matrix import (
    DenseMatrix,
    FactoredMatrix,
    Factors,
    PairMatrix,
    SparseMatrix,
)
from resemblance.intermediates.rectangles import MatrixBlock

VARIANTS = [
    "cka[estimator=debiased]", "cka[estimator=lange]", "cka[kernel=rbf]", "cka[kernel=laplace]",
    "cka[kernel=cosine]", "cka[estimator=debiased,kernel=rbf]",
    "cka[estimator=debiased,kernel=cosine]", "cka[estimator=lange,kernel=laplace,pairs=all]",
    "distance_correlation[squared=True]", "rsa[compare=pearson]",
    "rsa[compare=cosine,rdm=euclidean]", "rsa[rdm=sqeuclidean]", "rsa[rdm=cosine]",
    "mean_cca[aggregation=mean_squared]", "mean_cca[aggregation=mean_squared,divisor=width]",
    "gulp[ridge=0.1]", "gulp[squared=True]", "linear_regression[predict=first]",
    "subspace_overlap[k=2]", "mka[k=3]", "mka[k=3,symmetrize=True]", "mka[diagonal=False,k=3]",
    "mka[corrected=True,k=3]", "mka[corrected=True,k=3,symmetrize=True]",
    "mka[corrected=True,diagonal=False,k=3]", "mka[k=3,metric=cosine]", "kcka[k=3]",
    "kcka[k=3,variant=code]", "mutual_knn[k=2]", "mutual_knn[corrected=True,k=2]",
    "mutual_knn[k=2,metric=euclidean]", "mutual_knn[corrected=True,k=2,metric=inner]",
    "cknna[estimator=biased,k=2]", "cknna[estimator=biased,k=2,kernel=linear]",
    "information_imbalance[k=2]", "information_imbalance[corrected=True,k=2]",
    "information_imbalance[metric=cosine]",
]  # fmt: skip
DEFAULTS = [m for m in rs.list_measures() if m.product is not None]
CLAIMED = [*DEFAULTS, *map(rs.get_measure, VARIANTS)]
SMALL = [m for m in CLAIMED if m.min_samples <= 5]
SHAPES = {"tall": (9, 6), "square": (24, 24), "wide": (50, 40), "tied": (4, 3), "dead": (8, 6)}


def pair(kind: str, n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Two related representations: of some shape, with many ties, or with dead units."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    d, e = SHAPES[kind]
    x = rng.standard_normal((n, d)) + 0.5
    y = x[:, :2] @ rng.standard_normal((2, e)) + rng.standard_normal((n, e))
    if kind == "tied":
        return np.round(x), np.round(y / 2)
    if kind == "dead":
        x[:, :3], y[:, 2] = 0, y[:, 1]
    return x, y


def null_of(m: Measure, x: Representation, y: Representation) -> ExactNull:
    left, right = moment_profile(x, m, "left"), moment_profile(y, m, "right")
    return exact_null(m, float(m.evaluate(x, y)), left, right, x.shape[0])


def dense(matrix: np.ndarray) -> DenseMatrix:
    return DenseMatrix(len(matrix), lambda: matrix)


def moments_of(
    left: MomentProfile, right: MomentProfile, n: int, symmetric: bool
) -> PermutationMoments:
    """The moments of the inner product of the matrices as they are, not of norm 1."""
    mean, variance, skewness = permutation_moments(left, right, n, symmetric)
    size = np.sqrt(left.square) * np.sqrt(right.square)
    return PermutationMoments(size * mean, size**2 * variance, skewness)


# ------------------------------------------------------------------------------------ the moments


def test_moments_are_those_over_all_orders(rng, subtests):
    for n in [2, 3, 4, 5, 6]:
        for symmetric in [True, False]:
            with subtests.test(f"{n}, {symmetric}"):
                a, b = rng.standard_normal((2, n, n)) + 0.3
                if symmetric:
                    a, b = a + a.T, b + b.T
                values = np.array(
                    [np.vdot(a, b[np.ix_(p, p)]) for p in map(list, permutations(range(n)))]
                )
                moments = moments_of(
                    profile_from_matrix(dense(a), symmetric),
                    profile_from_matrix(dense(b), symmetric),
                    n,
                    symmetric,
                )
                assert moments.mean == pytest.approx(values.mean(), rel=1e-10)
                assert moments.variance == pytest.approx(values.var(), rel=1e-10, abs=1e-12)
                if n > 2:  # two orders of a symmetric matrix have one value
                    skewness = ((values - values.mean()) ** 3).mean() / values.std() ** 3
                    assert moments.skewness == pytest.approx(skewness, rel=1e-10, abs=1e-10)


def forms(rng: np.random.Generator, n: int = 30) -> dict[str, tuple[PairMatrix, bool]]:
    """Matrices in the two forms that are not dense, and whether the matrix is symmetric."""
    kept = csr_array(np.where(rng.random((n, n)) < 0.1, rng.standard_normal((n, n)), 0))
    left, right, ones = rng.random((n, 2)), rng.random((n, 2)), np.ones((n, 1))
    points = rng.standard_normal((n, 4))
    product = Factors(points, left, left, rng.random(n), 2)
    return {
        "sparse": (SparseMatrix(kept), False),
        "sparse, plus a constant": (SparseMatrix(kept, 0.3 * ones, ones), False),
        "sparse, plus columns": (SparseMatrix(kept, left, right), False),
        "sparse, symmetric": (SparseMatrix((kept + kept.T).tocsr(), -0.2 * ones, ones), True),
        "factors": (FactoredMatrix(n, lambda: Factors(points, left[:, :0], left[:, :0])), True),
        "factors with a diagonal": (FactoredMatrix(n, lambda: product), True),
    }


def test_a_matrix_has_the_same_numbers_and_blocks_in_all_forms(rng, subtests):
    columns, tile = rng.standard_normal((30, 2)), MatrixBlock(slice(3, 9), slice(3, None))
    for name, (form, symmetric) in forms(rng).items():
        with subtests.test(name):
            entries = dense(form.dense())
            assert np.allclose(form.dense(), form.dense().T) == symmetric
            for number in ("trace", "total", "square"):
                assert getattr(form, number) == pytest.approx(getattr(entries, number), rel=1e-12)
            assert np.allclose(form.diagonal(), entries.diagonal(), atol=1e-12)
            assert np.allclose(form @ columns, entries @ columns, atol=1e-12)
            assert np.allclose(form @ columns[:, 0], entries @ columns[:, 0], atol=1e-12)
            assert np.allclose(form.block(tile), entries.block(tile), atol=1e-12)
            products = form.row_products(dense(columns @ columns.T))
            assert np.allclose(products, (form.dense() * (columns @ columns.T)).sum(axis=1))
            rescaled = entries.dense() * 3 - 0.2 - 0.3 * np.eye(30)
            assert np.allclose(form.rescaled(3, 0.2, 0.5).dense(), rescaled, atol=1e-12)


def test_a_far_sample_costs_no_digits(rng, monkeypatch):
    m, points = rs.cka.with_parameters(estimator="debiased"), rng.standard_normal((150, 6))
    for far in (1, 1e3, 1e3):  # each time farther
        points[0] *= far
        few = moment_profile(rs.Representation(points), m, "left")
        with monkeypatch.context() as patch:
            patch.setattr(exact_moments, "MIN_SAMPLES_PER_FACTOR", 10**9)  # all entries
            whole = moment_profile(rs.Representation(points), m, "left")
        for actual, expected in zip(few, whole):
            assert actual == pytest.approx(expected, rel=1e-7, abs=1e-9)


def orders(n: int, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.permutation(n) for _ in range(count)]


def test_a_large_constant_costs_no_digits(rng):
    """Distances in many dimensions are nearly equal: what varies must not drown in their mean."""
    a, b = rng.standard_normal((2, 30, 30))
    a, b = a + a.T, b + b.T
    plain = moments_of(
        *(profile_from_matrix(dense(matrix.copy()), True) for matrix in (a, b)), 30, True
    )
    moved = moments_of(
        *(profile_from_matrix(dense(matrix + 1e5), True) for matrix in (a, b)), 30, True
    )
    assert moved.variance == pytest.approx(plain.variance, rel=1e-7)
    assert moved.skewness == pytest.approx(plain.skewness, rel=1e-6)


def test_the_tail_is_that_of_pearson_iii(subtests):
    for skewness in [-2.5, -0.7, 0.0, 1e-6, 0.01, 0.7, 3.0]:
        with subtests.test(str(skewness)):
            for z in (-3.0, -0.5, 0.0, 1.0, 4.0):
                assert pearson3_upper_tail(z, skewness) == pytest.approx(
                    pearson3.sf(z, skewness), abs=1e-6
                )


def test_the_value_is_a_function_of_the_inner_product(subtests):
    for m in CLAIMED:
        at = [m.product.value(inner, 0.8, 0.9) for inner in (0.1, 0.2, 0.3)]
        assert at[2] - at[1] == pytest.approx(at[1] - at[0])
        assert (at[2] > at[1]) == m.larger_is_more_similar
        for kind in SHAPES:
            with subtests.test(f"{m}, {kind}"):
                x, y = map(Representation, pair(kind, n=120 if m.min_samples > 24 else 24))
                value, claim = float(m.evaluate(x, y)), m.product
                a, b = claim.matrix(x, "left"), claim.matrix(y, "right")
                squares = claim.square(x, a), claim.square(y, b)
                expected = claim.value(float(np.vdot(a, b)), *squares)
                assert a.dtype == b.dtype == np.float64
                assert (value**2 if claim.root else value) == pytest.approx(
                    expected, abs=1e-8, rel=1e-8
                )
                if claim.symmetric:
                    assert np.allclose(a, a.T, atol=1e-12)
                    assert np.allclose(b, b.T, atol=1e-12)


# ----------------------------------------------------------------------------------------- the null


def test_chance_and_spread_are_those_over_all_orders(subtests):
    for m in [m for m in SMALL if not m.product.root]:
        with subtests.test(str(m)):
            rng = np.random.default_rng(3)
            x, y = Representation(rng.standard_normal((5, 2))), rng.standard_normal((5, 3))
            moved = (Representation(y[list(order)]) for order in permutations(range(5)))
            values = [float(m.evaluate(x, z)) for z in moved]
            null = null_of(m, x, Representation(y))
            assert null.chance == pytest.approx(np.mean(values), abs=1e-9)
            assert null.spread == pytest.approx(np.std(values), abs=1e-9)


def test_chance_and_spread_of_a_root_are_close(subtests):
    for m in [m for m in CLAIMED if m.product.root]:
        with subtests.test(str(m)):
            x, y = pair("tall", 40)
            fixed, draws = Representation(x), orders(40, 400)
            values = [float(m.evaluate(fixed, Representation(y[order]))) for order in draws]
            null, spread = null_of(m, fixed, Representation(y)), np.std(values)
            assert abs(null.chance - np.mean(values)) < 4 * spread / math.sqrt(len(draws))
            assert null.spread == pytest.approx(spread, rel=4 / math.sqrt(2 * len(draws)))


@pytest.mark.parametrize(
    "spec", ["linear_regression", "mean_cca[aggregation=mean_squared]", "gulp"]
)
def test_a_value_that_no_order_changes(spec, rng):
    """With n - 1 columns one side spans everything, so all orders have the same value."""
    m = rs.get_measure(spec)
    x = Representation(rng.standard_normal((9, 8)))
    y = Representation(rng.standard_normal((9, 3)))
    assert null_of(m, x, y) == (float(m.evaluate(x, y)), 0.0, 1.0)


def test_entries_that_cannot_be_squared_are_refused(rng):
    m = rs.get_measure("rsm_norm_difference")
    for factor in (1e-200, 1e200):
        with pytest.raises(
            UndefinedError, match="rsm_norm_difference: the entries of representation"
        ):
            moment_profile(Representation(factor * rng.standard_normal((7, 3)), "tiny"), m, "left")


def test_moments_are_not_trusted_where_one_sample_dominates_both_sides(rng):
    m, (x, y) = rs.get_measure("cka"), rng.standard_normal((2, 400, 20))
    plain = [moment_profile(Representation(data), m, "left") for data in (x, y)]
    x[0], y[1] = 8 * x[0], 8 * y[1]
    large = [moment_profile(Representation(data), m, "left") for data in (x, y)]
    assert has_continuous_tail(plain[0], plain[1], 400)
    assert has_continuous_tail(plain[0], large[1], 400)
    assert not has_continuous_tail(large[0], large[1], 400)


# ------------------------------------------------------------------------------------ the classes


def test_values_of_few_levels_have_pvalues_of_orders(rng, subtests):
    """P(T >= t) of a discrete value holds all of t's probability, a continuous tail half of it."""
    specs = ["cka", "cka[estimator=debiased]", "mutual_knn[k=5]", "linear_regression"]
    small, large = (np.eye(2)[(np.arange(14) < size).astype(int)] for size in (3, 7))
    tight = [np.eye(2)[rng.permutation(np.arange(30) < 6).astype(int)] for _ in range(2)]
    tight = [x + 0.01 * rng.standard_normal(x.shape) for x in tight]
    of_labels = rs.evidence({"X": small}, {"Y": large[::-1].copy()}, measures=specs, progress=False)
    of_clusters = rs.evidence(*tight, measures=specs[1], progress=False)
    of_noise = rs.evidence(*rng.standard_normal((2, 100, 9)), measures=specs[:2], progress=False)
    for spec in specs:
        with subtests.test(spec):
            assert of_labels.null_method(spec) == "999 permutations"
    # all three of one class lie in one of the other in 2 C(7, 3) / C(14, 3) of the orders
    assert of_labels.pvalue("cka")[0, 0] == pytest.approx(0.192, abs=0.04)
    assert of_clusters.null_method(specs[1]) == "999 permutations"
    assert of_noise.null_method(specs[0]) == of_noise.null_method(specs[1]) == EXACT_MOMENTS


def test_each_pair_of_classes_has_its_own_contribution():
    """Linear CKA: the inner product of both Gram matrices between the samples of two classes."""
    x, y = pair("tall", 30)
    labels = np.repeat([0, 1], 15)
    k, l = ((z - z.mean(0)) @ (z - z.mean(0)).T for z in (x, y))
    block = (k * l)[:15, 15:].sum() / np.linalg.norm(k) / np.linalg.norm(l)
    assert class_pair_contributions(rs.cka, x, y, labels)[0, 1] == pytest.approx(block, abs=1e-12)
    for spec in ("cka", "cka[estimator=debiased]", "mutual_knn", "ensd"):
        m = rs.get_measure(spec)
        shares = class_pair_contributions(m, x, y, labels)
        assert shares.sum() == pytest.approx(float(m(x, y)), abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "labels", "problem"),
    [
        *(
            (spec, np.arange(24) % 3, f"contributions: {spec.partition('[')[0]}")
            for spec in ("gulp", "distance_correlation", "mutual_knn[corrected=True]", "procrustes")
        ),
        ("cka", [0, 1, 2], r"one for each of the 24 samples; got shape .3,"),
    ],
)
def test_contributions_that_do_not_exist_are_refused(spec, labels, problem):
    with pytest.raises(ValueError, match=problem):
        class_pair_contributions(rs.get_measure(spec), *pair("tall"), labels)
