"""Distances of each pair of samples once: against square matrices, where digits are easily lost."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

import resemblance as rs
from resemblance.intermediates.distances import dissimilarity_summary, rdm_vector
from resemblance.significance import average_ranks

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")


def centered(d):
    return d - d.mean(axis=0) - d.mean(axis=1)[:, None] + d.mean()


def data(kind):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 300, 64))
    y += x
    if kind == "outlier":
        x[0] *= 1e3
    if kind == "line":
        x, y = x[:, :1], y[:, :1]
    if kind == "duplicates":
        x[150:] = x[:150]
    if kind == "simplex":
        x = np.eye(300)
    if kind == "two":
        x, y = x[:2], y[:2]
    return x, y


KINDS = ("plain", "outlier", "line", "duplicates", "simplex", "two")


@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_pairs_give_what_square_matrices_give(kind):
    x, y = data(kind)
    d, e = cdist(x, x), cdist(y, y)
    a, b = centered(d), centered(e)
    squared = np.vdot(a, b) / np.sqrt(np.vdot(a, a) * np.vdot(b, b))
    assert rs.distance_correlation(x, y, squared=True) == pytest.approx(squared, rel=1e-12)
    assert rs.rsm_norm_difference(x, y) == pytest.approx(np.linalg.norm(d - e), rel=1e-12)


def test_a_small_difference_of_distances_keeps_its_digits():
    x, y = data("plain")
    moved = x + 1e-6 * y
    expected = np.linalg.norm(cdist(x, x) - cdist(moved, moved))
    assert rs.rsm_norm_difference(x, moved) == pytest.approx(expected, rel=1e-8)
    assert rs.rsm_norm_difference(x, x.copy()) == 0


@pytest.mark.parametrize("largest", [1.0, 1e3, 1e6, 1e9, 1e15])
@pytest.mark.parametrize("decimals", [0, 3, 16])
def test_compiled_ranks_are_the_others_however_far_the_largest_is(largest, decimals):
    values = np.round(np.random.default_rng(2).standard_normal(20_000), decimals)
    values[7] = largest * 10
    compiled, plain = (average_ranks(values, 0.0, compiled=size) for size in (1, 10**9))
    assert np.array_equal(plain, rankdata(values))
    assert np.array_equal(compiled, plain)
    rounded = (average_ranks(values, 1e-4, compiled=size) for size in (1, 10**9))
    assert np.array_equal(*rounded)


@pytest.mark.parametrize("reach", [1e-310, 5e-324, 1.5e308])
def test_a_span_as_small_or_large_as_numbers_can_have_is_no_obstacle(reach):
    values = np.random.default_rng(3).random(1000) * reach
    assert np.array_equal(average_ranks(values, compiled=1), rankdata(values))


@pytest.mark.parametrize("kind", ["euclidean", "sqeuclidean"])
def test_nearly_equal_distances_are_equal_only_up_to_rounding(kind, rng, subtests):
    many = np.eye(500) + 2e-5 * rng.standard_normal((500, 500))
    other = many + 2e-5 * rng.standard_normal((500, 500))
    for dtype in ("float32", "float64"):
        with subtests.test("they differ", dtype=dtype):
            x, y = (rs.Representation(a, dtype=dtype) for a in (many, other))
            assert rs.rsa(x, y, rdm=kind) == pytest.approx(rs.rsa(many, other, rdm=kind), abs=0.02)
            assert dissimilarity_summary(x, kind=kind).squares > 0
        for n, d in ((5, 5), (50, 50), (50, 60), (100, 400)):
            turned = np.linalg.qr(rng.standard_normal((d, d)))[0][:n]
            for points in (np.eye(d)[:n] / 3, turned, turned + 0.1):
                x = rs.Representation(points, dtype=dtype)
                with subtests.test("they are equal", n=n, d=d, dtype=dtype):
                    with pytest.raises(rs.UndefinedError, match="are equal"):
                        rdm_vector(x, kind=kind, compare="pearson")
                    with pytest.raises(rs.UndefinedError, match="are equal"):
                        dissimilarity_summary(x, kind=kind)
