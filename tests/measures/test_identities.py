"""Exact identities between measures, and values of other libraries, on generic data."""

from __future__ import annotations

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.neighbors import NearestNeighbors

import resemblance as rs

pytestmark = [
    pytest.mark.usefixtures("any_blocks"),
    # They hold where values mean little, too.
    pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning"),
]


# ------------------------------------------------------------------ definitions and other libraries


def centered(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=0)


def gram(x: np.ndarray) -> np.ndarray:
    return centered(x) @ centered(x).T


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def rbf(x: np.ndarray, width: float) -> np.ndarray:
    """Kernel whose width is in units of the median distance."""
    return rbf_kernel(x, gamma=1 / (2 * (width * np.median(pdist(x))) ** 2))


def laplace(x: np.ndarray) -> np.ndarray:
    """Kernel whose width is 0.7 of the median distance."""
    return np.exp(-cdist(x, x) / (0.7 * np.median(pdist(x))))


def twice_centered(k: np.ndarray) -> np.ndarray:
    return k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()


def u_centered(k: np.ndarray) -> np.ndarray:
    """Székely and Rizzo 2014: the U-centred matrix, diagonal zero."""
    n = len(k)
    k = without_diagonal(k)
    rows = k.sum(axis=0) / (n - 2)
    return without_diagonal(k - rows[None, :] - rows[:, None] + k.sum() / ((n - 1) * (n - 2)))


def without_diagonal(k: np.ndarray) -> np.ndarray:
    return k - np.diag(np.diag(k))


def gulp_with_ridge(x, y, ridge=0.03):
    n = len(x)
    x, y = (centered(z) / np.sqrt((centered(z) ** 2).sum() / n) for z in (x, y))
    sx, sy, sxy = x.T @ x / n, y.T @ y / n, x.T @ y / n
    ix, iy = (np.linalg.inv(s + ridge * np.eye(len(s))) for s in (sx, sy))
    squares = np.trace(ix @ sx @ ix @ sx) + np.trace(iy @ sy @ iy @ sy)
    return squares - 2 * np.trace(ix @ sxy @ iy @ sxy.T)


def correlations(x, y):
    return np.corrcoef(x.T, y.T)[: x.shape[1], x.shape[1] :]


def nearest(x, k: int, metric: str) -> np.ndarray:
    search = NearestNeighbors(n_neighbors=k, metric=metric).fit(x)
    return search.kneighbors(return_distance=False)


def mean_over_neighbors(score, metric):
    """The mean of what a function gives for the four neighbours of each sample on both sides."""
    return lambda x, y: np.mean(
        [score(list(p), list(q)) for p, q in zip(nearest(x, 4, metric), nearest(y, 4, metric))]
    )


def jaccard(p, q):
    return len({*p} & {*q}) / len({*p} | {*q})


def rank_similarity(p, q):
    places = [(p.index(j) + 1, q.index(j) + 1) for j in {*p} & {*q}]
    total = sum(2 / ((1 + abs(r - s)) * (r + s)) for r, s in places)
    return total / sum(1 / i for i in range(1, len(places) + 1)) if places else 0


def uniformity(x):
    return np.log(np.exp(-2 * pdist(x / np.linalg.norm(x, axis=1, keepdims=True)) ** 2).mean())


def of(combine, intermediate):
    """What a function makes of one intermediate of each representation."""
    return lambda x, y: combine(intermediate(x), intermediate(y))


def gap(a, b):
    return abs(a - b)


COMPARED = {
    "spearman": lambda a, b: stats.spearmanr(a, b).statistic,
    "pearson": lambda a, b: stats.pearsonr(a, b).statistic,
    "kendall": lambda a, b: stats.kendalltau(a, b).statistic,
    "cosine": cosine,
}
# A measure, the relative tolerance, and what it is equal to. Others: see the authors' code in
# test_golden and the printed numbers in test_printed_elsewhere.
DEFINED = [
    ("cka[estimator=lange]", 1e-10, of(cosine, lambda x: without_diagonal(gram(x)))),
    ("cka[estimator=debiased]", 1e-10, of(cosine, lambda x: u_centered(x @ x.T))),
    ("cka[estimator=debiased,kernel=rbf]", 1e-10, of(cosine, lambda x: u_centered(rbf(x, 1.0)))),
    ("cka[bandwidth=0.7,kernel=rbf]", 1e-10, of(cosine, lambda x: twice_centered(rbf(x, 0.7)))),
    ("cka[bandwidth=0.7,kernel=laplace]", 1e-9, of(cosine, lambda x: twice_centered(laplace(x)))),
    ("cka[kernel=cosine]", 1e-9, of(cosine, lambda x: twice_centered(cosine_similarity(x)))),
    (
        "cka[estimator=lange,kernel=cosine]",
        1e-9,
        of(cosine, lambda x: without_diagonal(twice_centered(cosine_similarity(x)))),
    ),
    ("svcca[explained_variance=1.0]", 1e-9, rs.mean_cca),
    ("gulp[squared=True]", 1e-12, lambda x, y: rs.gulp(x, y) ** 2),
    ("gulp[ridge=0.03,squared=True]", 1e-9, gulp_with_ridge),
    ("procrustes[squared=True]", 1e-10, lambda x, y: rs.procrustes(x, y) ** 2),
    ("procrustes[squared=True]", 1e-10, lambda x, y: 2 - 2 * np.cos(rs.angular_shape(x, y))),
    *(
        (f"rsa[compare={name},rdm={kind}]", 1e-9, of(compare, lambda x, kind=kind: pdist(x, kind)))
        for kind in ("correlation", "cosine", "euclidean", "sqeuclidean")
        for name, compare in COMPARED.items()
    ),
    ("linear_regression[predict=first]", 1e-12, lambda x, y: rs.linear_regression(y, x)),
    *(
        (f"{name}[k=4,metric={metric}]", 1e-12, mean_over_neighbors(score, metric))
        for name, score in (("jaccard", jaccard), ("rank_similarity", rank_similarity))
        for metric in ("cosine", "euclidean")
    ),
    ("uniformity_difference[self_pairs=False]", 1e-9, of(gap, uniformity)),
]


def test_values_equal_definitions_and_other_libraries(subtests):
    for n, d, e in [(50, 6, 6), (50, 4, 9), (20, 30, 25), (12, 30, 5)]:
        rng = np.random.default_rng(n + d)
        x = rng.standard_normal((n, d)) + rng.uniform(1, 2, d)
        y = x[:, : min(d, e)] @ rng.standard_normal((min(d, e), e)) + rng.standard_normal((n, e))
        for spec, tolerance, definition in DEFINED:
            with subtests.test(f"{spec} of {n, d, e}"):
                expected = pytest.approx(definition(x, y), rel=tolerance, abs=1e-12)
                assert rs.get_measure(spec)(x, y) == expected
        greedy = rs.hard_correlation_match(x, y, matching="greedy")
        assert greedy <= rs.hard_correlation_match(x, y) + 1e-12


# ---------------------------------------------------------------------------------- what is special


def test_cka_of_more_features_than_samples_needs_no_copy_of_them(rng, subtests):
    n, d = 40, 100_000
    common = rng.standard_normal((n, 3))
    wide = common @ rng.standard_normal((3, d)) + rng.standard_normal((n, d)) + 100
    wide = wide.astype(np.float32)
    off_diagonal = ~np.eye(n, dtype=bool)
    products = [gram(x.astype(np.float64))[off_diagonal] for x in (wide, common)]
    expected = np.dot(*products) / np.prod([np.linalg.norm(product) for product in products])
    cka = rs.cka.with_parameters(estimator="lange")
    large = wide.astype(np.float64)
    kinds = {
        "single": rs.Representation(wide, dtype="float32"),
        "double of single": rs.Representation(wide),
        "columns": rs.Representation(np.asfortranarray(large)),
        "large": rs.Representation(1e200 * large),
        "small": rs.Representation(1e-200 * large),
    }
    for kind, x in kinds.items():
        with subtests.test(kind):
            y = rs.Representation(common, dtype=x.dtype)
            tracemalloc.start()
            value = cka(x, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert value == pytest.approx(expected, rel=1e-5 if x.dtype else 1e-12)
            assert peak < wide.nbytes / 2 or kind in ("columns", "large", "small")
            x.clear_cache()
            assert cka(x, y) == value
    for constant in (0, 1e200):
        with pytest.raises(rs.UndefinedError, match="constant"):
            cka(np.full((n, 50), constant), common)


def test_small_distances_keep_their_digits(subtests):
    """Y = R + distance * E, with E orthogonal to all infinitesimal rotations of R: the distance is
    known."""
    for distance in [0.0, 1e-12, 1e-9, 1e-6, 1e-3]:
        with subtests.test(str(distance)):
            rng = np.random.default_rng(0)
            x = np.linalg.qr(rng.standard_normal((40, 5)) - 0)[0]
            x = x - x.mean(axis=0)
            e = rng.standard_normal((40, 5))
            e -= e.mean(axis=0)
            e -= x @ np.linalg.lstsq(x, e, rcond=None)[0]
            e /= np.linalg.norm(e)
            q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
            assert rs.procrustes_size_shape(x @ q, x + distance * e) == pytest.approx(
                distance, rel=1e-3, abs=1e-14
            )
            assert rs.permutation_procrustes(x[:, ::-1], x + distance * e) == pytest.approx(
                distance, rel=1e-3, abs=1e-15
            )


def test_permutation_procrustes_by_trying_all(rng):
    x, y = rng.standard_normal((10, 4)) + 1, rng.standard_normal((10, 5))
    padded = np.hstack([x, np.zeros((10, 1))])
    best = min(np.linalg.norm(padded[:, list(p)] - y) for p in permutations(range(5)))
    assert rs.permutation_procrustes(x, y) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.repeat(np.eye(2), 60, axis=0), np.tile(np.eye(2), (60, 1))),
        (
            np.unpackbits(np.arange(128, dtype=np.uint8)[:, None], axis=1)[:, 1:],
            np.unpackbits(
                (np.arange(128) ^ (np.arange(128) >> 1)).astype(np.uint8)[:, None], axis=1
            )[:, 1:],
        ),
    ],
    ids=["block designs", "hypercube and Gray code"],
)
def test_spectral_norm_of_structured_data(x, y):
    """The eigenvector of such differences is orthogonal to the vector of ones."""
    expected = np.abs(np.linalg.eigvalsh(squareform(pdist(x)) - squareform(pdist(y)))).max()
    assert rs.rsm_norm_difference(x, y, norm="spectral") == pytest.approx(expected, rel=1e-9)


def test_pwcca_does_not_depend_on_the_basis_where_correlations_tie():
    """With shared columns several canonical correlations are 1, and their variates are not
    unique."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 10))
    y = np.hstack([x[:, :5], rng.standard_normal((200, 5))])
    expected = rs.pwcca(x, y)
    for other in (y[:, rng.permutation(10)], y + 5, 0.01 * y, y @ rng.standard_normal((10, 10))):
        assert rs.pwcca(x, other) == pytest.approx(expected, rel=1e-9)
    assert rs.pwcca(x[:, rng.permutation(10)], y) == pytest.approx(expected, rel=1e-9)


def test_debiased_cka_of_exchangeable_samples_is_undefined():
    """All samples are equally far apart: nothing but the diagonal distinguishes the Gram matrix
    from a constant."""
    for kernel in ("linear", "rbf"):
        with pytest.raises(rs.UndefinedError, match="is not positive: without the diagonal"):
            rs.cka(np.eye(6), 3 * np.eye(6) + 1, kernel=kernel, estimator="debiased")


def test_dead_directions_of_float32_data_stay_dead():
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((300, 5))
    x, y = (latent @ rng.standard_normal((5, 40)) for _ in range(2))
    rough = rs.gulp(x.astype(np.float32), rng.standard_normal((300, 3)), squared=True)
    assert rough < 9  # ranks 5 and 3, not 40 and 3
    assert rs.mean_cca(x.astype(np.float32), y.astype(np.float32)) == pytest.approx(1, abs=1e-5)


def test_greedy_match_takes_the_largest_correlation_first():
    """Columns chosen so that greed gives up 0.9 + 0.0 for the optimal 0.8 + 0.8."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(centered(rng.standard_normal((20, 4))))[0]
    a, b, c, d = basis.T
    x = np.stack([a, 0.8 * a + 0.6 * b], axis=1)
    y = np.stack([0.9 * x[:, 0] + np.sqrt(1 - 0.81) * c, a * 0.8 + 0.6 * d], axis=1)
    c = correlations(x, y)
    i, j = np.unravel_index(c.argmax(), (2, 2))
    expected = pytest.approx((c.max() + c[1 - i, 1 - j]) / 2)
    assert rs.hard_correlation_match(x, y, matching="greedy") == expected


def test_a_large_common_offset_costs_the_mean_no_digits():
    """In single precision the plain sum of 20,000 numbers near 1000.1 is wrong in the fourth
    digit."""
    rows = (1000.1 + 0.001 * np.random.default_rng(0).standard_normal((20_000, 3))).astype(
        np.float32
    )
    x, y = rs.Representation(rows, dtype="float32"), rs.Representation(0 * rows, dtype="float32")
    expected = np.linalg.norm(rows.astype(np.float64).mean(axis=0))
    assert rs.magnitude_difference(x, y) == pytest.approx(expected, rel=1e-6)


def test_uniformity_of_far_apart_samples_is_exact_not_minus_infinity():
    """Two samples at distance r without self pairs: u = -2 r^2, also where exp(-2 r^2) is 0."""
    x, y = np.array([[0.0], [40.0]]), np.array([[0.0], [1.0]])
    m = rs.uniformity_difference.with_parameters(rows="raw", self_pairs=False)
    assert m(x, y) == pytest.approx(2 * 1600 - 2)


@pytest.mark.parametrize(("dtype", "smallest"), [(np.float64, -745.1), (np.float32, -103.2)])
def test_divergence_of_a_probability_of_which_there_is_no_half(dtype, smallest):
    """One class has the smallest number there is in one output, and zero in the other."""
    x, y = np.array([[0, smallest]], dtype), np.array([[0, 3 * smallest]], dtype)
    assert 0 < np.exp(x[0, 1]) < np.finfo(dtype).tiny
    x, y = (np.repeat(z, 3, axis=0) for z in (x, y))
    assert rs.jensen_shannon(x, y) == pytest.approx(0, abs=1e-30)


def test_the_accuracy_difference_takes_numbers_of_columns(subtests):
    for labels in [3, None, ("cat", "dog"), (0.0, 1.0), (True, False), (0, -1), (0, 1, 0)]:
        with subtests.test(str(labels)), pytest.raises(ValueError, match="accuracy_difference"):
            rs.accuracy_difference(np.eye(2), np.eye(2), labels=labels)


def test_a_second_driver_decomposes_what_the_first_does_not(monkeypatch, rng):
    x, y = rng.standard_normal((40, 6)), rng.standard_normal((40, 6))
    names = ("aligned_cosine", "procrustes", "svcca", "pwcka", "shape_distance")
    before = {name: float(rs.get_measure(name)(x, y)) for name in names}

    def fails(*args, **options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fails)
    monkeypatch.setattr(np.linalg, "svdvals", fails, raising=False)
    for name, value in before.items():
        assert float(rs.get_measure(name)(x, y)) == pytest.approx(value, abs=1e-10), name
