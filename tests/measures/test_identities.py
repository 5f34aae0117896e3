"""Exact identities between measures, and values of other libraries, on generic data."""

from __future__ import annotations

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import orthogonal_procrustes as scipy_procrustes
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import rel_entr
from sklearn.metrics import accuracy_score, jaccard_score
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


def unit(x: np.ndarray) -> np.ndarray:
    return centered(x) / np.linalg.norm(centered(x))


def gram(x: np.ndarray) -> np.ndarray:
    return centered(x) @ centered(x).T


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def rbf(x: np.ndarray, width: float) -> np.ndarray:
    return rbf_kernel(x, gamma=1 / (2 * width**2))


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


def rv_coefficient(x, y):
    x, y = centered(x), centered(y)
    squares = [((a.T @ b) ** 2).sum() for a, b in ((x, y), (x, x), (y, y))]
    return squares[0] / np.sqrt(squares[1] * squares[2])


def ranks(x, y):
    return [np.linalg.matrix_rank(centered(z)) for z in (x, y)]


def mean_square_of_overlap(x, y):
    overlap = rs.eigenspace_overlap(centered(x), centered(y)) * max(x.shape[1], y.shape[1])
    return overlap / min(ranks(x, y))


def gulp_of_correlations(x, y):
    squares = rs.mean_cca(x, y, aggregation="mean_squared") * min(ranks(x, y))
    return sum(ranks(x, y)) - 2 * squares


def gulp_with_ridge(x, y, ridge=0.03):
    n = len(x)
    x, y = (centered(z) / np.sqrt((centered(z) ** 2).sum() / n) for z in (x, y))
    sx, sy, sxy = x.T @ x / n, y.T @ y / n, x.T @ y / n
    ix, iy = (np.linalg.inv(s + ridge * np.eye(len(s))) for s in (sx, sy))
    squares = np.trace(ix @ sx @ ix @ sx) + np.trace(iy @ sy @ iy @ sy)
    return squares - 2 * np.trace(ix @ sxy @ iy @ sxy.T)


def aligned(x, y):
    """Both of one width, X turned by SciPy onto Y."""
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(z, ((0, 0), (0, width - z.shape[1]))) for z in (x, y))
    return x @ scipy_procrustes(x, y)[0], y


def distance_when_aligned(x, y):
    return np.linalg.norm(np.subtract(*aligned(x, y)))


def distance_covariances(x, y):
    """The form S1 + S2 - 2 S3 of Székely et al. 2007, Theorem 1, in which no matrix is centred."""
    x, y = (squareform(pdist(z)) for z in (x, y))

    def covariance(a, b):
        return (a * b).mean() + a.mean() * b.mean() - 2 * (a.mean(axis=0) * b.mean(axis=0)).mean()

    return covariance(x, y) / np.sqrt(covariance(x, x) * covariance(y, y))


def correlations(x, y):
    return np.corrcoef(x.T, y.T)[: x.shape[1], x.shape[1] :]


def best_match(x, y):
    c = correlations(x, y)
    return c[linear_sum_assignment(-c)].mean()


def largest_correlations(x, y):
    c = correlations(x, y)
    return (c.max(0).mean() + c.max(1).mean()) / 2


def share_explained(x, y):
    x, y = centered(x), centered(y)
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return 1 - (residual**2).sum() / (y**2).sum()


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


def second_order_cosine(x, y):
    a, b = cosine_similarity(x), cosine_similarity(y)
    pairs = zip(nearest(x, 4, "cosine"), nearest(y, 4, "cosine"))
    unions = [sorted({*p} | {*q}) for p, q in pairs]
    return np.mean([cosine(a[i, union], b[i, union]) for i, union in enumerate(unions)])


def uniformity(x, *, self_pairs: bool):
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    values, n = np.exp(-2 * squareform(pdist(unit)) ** 2), len(x)
    return np.log(values.mean() if self_pairs else (values.sum() - n) / (n * (n - 1)))


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
DEFINED = [  # a measure, the relative tolerance, and what it is equal to
    (rs.cka, 1e-12, of(cosine, gram)),
    (rs.cka, 1e-12, rv_coefficient),
    (
        rs.cka.with_parameters(estimator="lange"),
        1e-10,
        of(cosine, lambda x: without_diagonal(gram(x))),
    ),
    (
        rs.cka.with_parameters(estimator="debiased"),
        1e-10,
        of(cosine, lambda x: u_centered(x @ x.T)),
    ),
    (
        rs.cka.with_parameters(kernel="rbf", estimator="debiased"),
        1e-10,
        of(cosine, lambda x: u_centered(rbf(x, np.median(pdist(x))))),
    ),
    (
        rs.cka.with_parameters(kernel="rbf", bandwidth=0.7),
        1e-10,
        of(cosine, lambda x: twice_centered(rbf(x, 0.7 * np.median(pdist(x))))),
    ),
    (rs.mean_cca, 1e-9, of(lambda a, b: np.cos(subspace_angles(a, b)).mean(), centered)),
    (rs.mean_cca.with_parameters(aggregation="mean_squared"), 1e-9, mean_square_of_overlap),
    (rs.svcca.with_parameters(explained_variance=1.0), 1e-9, rs.mean_cca),
    (rs.gulp.with_parameters(squared=True), 1e-8, gulp_of_correlations),
    (rs.gulp.with_parameters(squared=True), 1e-12, lambda x, y: rs.gulp(x, y) ** 2),
    (rs.gulp.with_parameters(ridge=0.03, squared=True), 1e-9, gulp_with_ridge),
    (rs.angular_shape, 1e-8, of(lambda a, b: np.arccos(cosine(*aligned(a, b))), centered)),
    (rs.procrustes, 1e-10, of(distance_when_aligned, unit)),
    (rs.procrustes.with_parameters(squared=True), 1e-10, lambda x, y: rs.procrustes(x, y) ** 2),
    (
        rs.procrustes.with_parameters(squared=True),
        1e-10,
        lambda x, y: 2 - 2 * np.cos(rs.angular_shape(x, y)),
    ),
    (rs.procrustes_size_shape, 1e-10, of(distance_when_aligned, centered)),
    (rs.aligned_cosine, 1e-9, lambda x, y: np.mean(list(map(cosine, *aligned(x, y))))),
    (rs.distance_correlation.with_parameters(squared=True), 1e-9, distance_covariances),
    (rs.distance_correlation, 1e-9, lambda x, y: np.sqrt(distance_covariances(x, y))),
    *(
        (
            rs.rsa.with_parameters(rdm=kind, compare=name),
            1e-9,
            of(compare, lambda x, kind=kind: pdist(x, kind)),
        )
        for kind in ("correlation", "cosine", "euclidean", "sqeuclidean")
        for name, compare in COMPARED.items()
    ),
    (rs.rsm_norm_difference, 1e-10, lambda x, y: np.linalg.norm(cdist(x, x) - cdist(y, y))),
    (
        rs.rsm_norm_difference.with_parameters(norm="spectral"),
        1e-9,
        lambda x, y: np.linalg.norm(cdist(x, x) - cdist(y, y), ord=2),
    ),
    (rs.hard_correlation_match, 1e-10, best_match),
    (rs.soft_correlation_match, 1e-10, largest_correlations),
    (rs.linear_regression, 1e-9, share_explained),
    (
        rs.linear_regression.with_parameters(predict="first"),
        1e-12,
        lambda x, y: rs.linear_regression(y, x),
    ),
    *(
        (m.with_parameters(k=4, metric=metric), 1e-12, mean_over_neighbors(score, metric))
        for m, score in ((rs.jaccard, jaccard), (rs.rank_similarity, rank_similarity))
        for metric in ("cosine", "euclidean")
    ),
    (rs.second_order_cosine.with_parameters(k=4), 1e-10, second_order_cosine),
    (
        rs.concentricity_difference,
        1e-9,
        of(gap, lambda x: np.mean([cosine(row, x.mean(axis=0)) for row in x])),
    ),
    (rs.magnitude_difference, 1e-9, of(gap, lambda x: np.linalg.norm(x.mean(axis=0)))),
    (rs.uniformity_difference, 1e-9, of(gap, lambda x: uniformity(x, self_pairs=True))),
    (
        rs.uniformity_difference.with_parameters(self_pairs=False),
        1e-9,
        of(gap, lambda x: uniformity(x, self_pairs=False)),
    ),
]


def test_values_equal_definitions_and_other_libraries(subtests):
    for n, d, e in [(50, 6, 6), (50, 4, 9), (20, 30, 25), (12, 30, 5)]:
        rng = np.random.default_rng(n + d)
        x = rng.standard_normal((n, d)) + rng.uniform(1, 2, d)
        y = x[:, : min(d, e)] @ rng.standard_normal((min(d, e), e)) + rng.standard_normal((n, e))
        for measure, tolerance, definition in DEFINED:
            with subtests.test(f"{measure} of {n, d, e}"):
                # of GULP: twice the rank, less a sum that is as large where all is shared
                rounding = 1e-10 if definition is gulp_of_correlations else 1e-12
                expected = pytest.approx(definition(x, y), rel=tolerance, abs=rounding)
                assert measure(x, y) == expected
        greedy = rs.hard_correlation_match(x, y, matching="greedy")
        assert greedy <= rs.hard_correlation_match(x, y) + 1e-12


# ---------------------------------------------------------------------------------- what is special


def test_debiased_cka_of_independent_noise_is_zero_on_average_and_biased_cka_is_not():
    values = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((60, 200)), rng.standard_normal((60, 200))
        values.append([rs.cka(x, y, estimator=e) for e in ("biased", "debiased")])
    biased, debiased = np.mean(values, axis=0)
    assert biased > 0.7
    assert abs(debiased) < 0.01


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


def test_permutation_procrustes_finds_a_hidden_permutation(rng):
    x = rng.standard_normal((30, 8))
    assert rs.permutation_procrustes(x, x[:, rng.permutation(8)]) == 0
    assert rs.permutation_procrustes(x, 0 * x) == pytest.approx(np.linalg.norm(x))


def test_permutation_procrustes_by_trying_all(rng):
    x, y = rng.standard_normal((10, 4)) + 1, rng.standard_normal((10, 5))
    padded = np.hstack([x, np.zeros((10, 1))])
    best = min(np.linalg.norm(padded[:, list(p)] - y) for p in permutations(range(5)))
    assert rs.permutation_procrustes(x, y) == pytest.approx(best, rel=1e-12)


def test_ranks_with_ties_against_scipy(rng):
    from resemblance.significance import average_ranks

    for high in (1, 2, 5, 1000):
        values = rng.integers(high, size=300).astype(float)
        assert np.array_equal(average_ranks(values), stats.rankdata(values))


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
        with pytest.raises(rs.UndefinedError, match="self-similarity is not positive"):
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


def test_duplicates_are_neighbors_and_equally_near_ones_are_listed_by_index():
    from resemblance.intermediates import neighbors as intermediates

    x = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = intermediates.neighbors(rs.Representation(x), k=3, metric="cosine")
    assert found.tolist() == [[1, 2, 4], [0, 2, 4], [0, 1, 4], [4, 0, 1], [0, 1, 2]]
    ties = intermediates.nearest(rs.Representation(x), k=3, metric="cosine").ties
    assert ties.rows.tolist() == [0, 1, 2, 3, 4]
    assert np.split(ties.members, ties.starts[1:-1])[3].tolist() == [
        0,
        1,
        2,
    ]  # three samples for two places
    assert np.split(ties.members, ties.starts[1:-1])[4].tolist() == [0, 1, 2, 3]


def test_heat_trace_is_that_of_the_eigenvalues(rng):
    from resemblance.intermediates.heat import TEMPERATURES, heat_trace, neighbor_operator

    x = rs.Representation(rng.standard_normal((150, 6)))
    a = neighbor_operator(x, 5).toarray()
    exact = np.exp(-TEMPERATURES[:, None] * (1 - np.linalg.eigvalsh(a))).mean(axis=1)
    weight = np.exp(-2 * (TEMPERATURES + 1 / TEMPERATURES))
    assert np.max(weight * np.abs(heat_trace(x, k=5) - exact)) < 1e-15
    degree = (a > 0).sum(axis=0)
    assert np.array_equal(a > 0, (a > 0).T)
    assert degree.min() >= 5


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


def test_outputs_against_scipy_and_scikit_learn(rng):
    x, y = 3 * rng.standard_normal((2, 50, 4))
    labels = rng.integers(4, size=50)
    p, q = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in (x, y))
    m = (p + q) / 2
    expected = ((rel_entr(p, m) + rel_entr(q, m)).sum(axis=1) / 2 / np.log(2)).mean()
    assert rs.jensen_shannon(x, y) == pytest.approx(expected, rel=1e-10)
    assert rs.jensen_shannon(p, q, outputs="probabilities") == pytest.approx(expected, rel=1e-10)
    a, b = (accuracy_score(labels, z.argmax(axis=1)) for z in (x, y))
    assert rs.accuracy_difference(x, y, labels=labels) == pytest.approx(abs(a - b))
    assert rs.disagreement(x, y) == pytest.approx(
        1 - accuracy_score(x.argmax(axis=1), y.argmax(axis=1))
    )
    certain = np.eye(4)[labels]
    assert rs.jensen_shannon(
        certain, np.roll(certain, 1, axis=1), outputs="probabilities"
    ) == pytest.approx(1)


def test_the_accuracy_difference_takes_numbers_of_columns(subtests):
    for labels in [3, None, ("cat", "dog"), (0.0, 1.0), (True, False), (0, -1), (0, 1, 0)]:
        with subtests.test(str(labels)), pytest.raises(ValueError, match="accuracy_difference"):
            rs.accuracy_difference(np.eye(2), np.eye(2), labels=labels)


def test_scikit_learn_jaccard_on_indicator_vectors(rng):
    x, y = rng.standard_normal((2, 25, 3))
    indicators = []
    for z in (x, y):
        indicators.append(np.zeros((25, 25), dtype=int))
        np.put_along_axis(indicators[-1], nearest(z, 5, "cosine"), 1, axis=1)
    assert rs.jaccard(x, y, k=5) == pytest.approx(jaccard_score(*indicators, average="samples"))


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


@pytest.mark.parametrize("width", [0.2, 1.0])
def test_the_width_of_a_kernel_may_count_the_zero_distances_of_samples_to_themselves(width):
    """Two clusters of equal size: the median falls between the distances within and between
    them."""
    rng = np.random.default_rng(0)
    x = np.repeat([[0.0, 0.0], [9.0, 0.0]], 20, axis=0) + rng.standard_normal((40, 2))
    y = np.repeat([[0.0, 0.0, 0.0], [0.0, 7.0, 0.0]], 20, axis=0) + rng.standard_normal((40, 3))
    grams = [twice_centered(rbf(z, width * np.median(cdist(z, z)))) for z in (x, y)]
    expected = cosine(*grams)
    m = rs.cka.with_parameters(kernel="rbf", bandwidth=width)
    assert m(x, y, pairs="all") == pytest.approx(expected, rel=1e-12)
    assert m(x, y) != pytest.approx(expected, rel=1e-2)
