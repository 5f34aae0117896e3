"""Exact identities between measures, and values of other libraries, on generic data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import orthogonal_procrustes as scipy_procrustes
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import rel_entr
from sklearn.metrics import accuracy_score, jaccard_score
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.neighbors import NearestNeighbors

import resemblance as rs

pytestmark = [
    pytest.mark.usefixtures("any_blocks"),
    pytest.mark.filterwarnings(
        "ignore::resemblance.UninformativeWarning"
    ),  # they hold where values mean little, too
]

SHAPES = [(50, 6, 6), (50, 4, 9), (20, 30, 25), (12, 30, 5)]


@pytest.fixture(params=SHAPES, ids=str)
def pair(request) -> tuple[np.ndarray, np.ndarray]:
    n, d, e = request.param
    rng = np.random.default_rng(n + d)
    x = rng.standard_normal((n, d)) + rng.uniform(1, 2, d)
    y = x[:, : min(d, e)] @ rng.standard_normal((min(d, e), e)) + rng.standard_normal((n, e))
    return x, y


def centred(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=0)


def gram(x: np.ndarray) -> np.ndarray:
    return centred(x) @ centred(x).T


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def test_linear_cka_is_the_cosine_of_centred_grams_and_the_rv_coefficient(pair):
    x, y = pair
    assert rs.cka(x, y) == pytest.approx(cosine(gram(x), gram(y)), rel=1e-12)
    cross = centred(x).T @ centred(y)
    rv = (cross**2).sum() / np.sqrt(
        ((centred(x).T @ centred(x)) ** 2).sum() * ((centred(y).T @ centred(y)) ** 2).sum()
    )
    assert rs.cka(x, y) == pytest.approx(rv, rel=1e-12)


def u_centred(k: np.ndarray) -> np.ndarray:
    """Székely and Rizzo 2014: the U-centred matrix, diagonal zero."""
    n = len(k)
    k = k - np.diag(np.diag(k))
    rows = k.sum(axis=0) / (n - 2)
    u = k - rows[None, :] - rows[:, None] + k.sum() / ((n - 1) * (n - 2))
    return u - np.diag(np.diag(u))


def test_debiased_cka_is_the_cosine_of_u_centred_grams(pair, subtests):
    for kernel in ["linear", "rbf"]:
        with subtests.test(str(kernel)):
            grams = []
            for z in pair:
                sigma = np.median(pdist(z))
                grams.append(
                    z @ z.T if kernel == "linear" else rbf_kernel(z, gamma=1 / (2 * sigma**2))
                )
            value = rs.cka(*pair, kernel=kernel, estimator="debiased")
            assert value == pytest.approx(cosine(*map(u_centred, grams)), rel=1e-10, abs=1e-12)


def test_lange_cka_leaves_out_the_diagonals_of_centred_grams(pair):
    off = [g - np.diag(np.diag(g)) for g in map(gram, pair)]
    assert rs.cka(*pair, estimator="lange") == pytest.approx(cosine(*off), rel=1e-10)


def test_rbf_cka_with_scikit_learn_kernels(pair):
    n = len(pair[0])
    h = np.eye(n) - 1 / n
    grams = [h @ rbf_kernel(z, gamma=1 / (2 * (0.7 * np.median(pdist(z))) ** 2)) @ h for z in pair]
    assert rs.cka(*pair, kernel="rbf", bandwidth=0.7) == pytest.approx(cosine(*grams), rel=1e-10)


def test_debiased_cka_of_independent_noise_is_zero_on_average_and_biased_cka_is_not():
    values = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((60, 200)), rng.standard_normal((60, 200))
        values.append([rs.cka(x, y, estimator=e) for e in ("biased", "debiased")])
    biased, debiased = np.mean(values, axis=0)
    assert biased > 0.7
    assert abs(debiased) < 0.01


def test_mean_squared_cca_is_eigenspace_overlap_of_centred_data(pair):
    x, y = map(centred, pair)
    ranks = [np.linalg.matrix_rank(z) for z in (x, y)]
    overlap = rs.eigenspace_overlap(x, y) * max(x.shape[1], y.shape[1])
    assert rs.mean_cca(*pair, aggregation="mean_squared") * min(ranks) == pytest.approx(
        overlap, rel=1e-9
    )


FULL = [
    shape for shape in SHAPES if shape[0] - 1 <= max(shape[1:])
]  # centred, one of them spans every direction


@pytest.mark.parametrize(
    "pair", [shape for shape in SHAPES if shape not in FULL], ids=str, indirect=True
)
def test_canonical_correlations_are_cosines_of_subspace_angles(pair):
    x, y = map(centred, pair)
    assert rs.mean_cca(*pair) == pytest.approx(np.cos(subspace_angles(x, y)).mean(), rel=1e-9)


@pytest.mark.parametrize("pair", FULL, ids=str, indirect=True)
def test_canonical_correlations_are_one_where_one_representation_spans_all_directions(pair):
    assert rs.mean_cca(*pair) == pytest.approx(1, rel=1e-12)


def test_svcca_with_all_variance_is_mean_cca(pair):
    assert rs.svcca(*pair, explained_variance=1.0) == pytest.approx(rs.mean_cca(*pair), rel=1e-9)


def test_gulp_zero_from_canonical_correlations(pair):
    ranks = [np.linalg.matrix_rank(centred(z)) for z in pair]
    squares = rs.mean_cca(*pair, aggregation="mean_squared") * min(ranks)
    assert rs.gulp(*pair, squared=True) == pytest.approx(
        sum(ranks) - 2 * squares, rel=1e-8, abs=1e-10
    )
    assert rs.gulp(*pair) ** 2 == pytest.approx(rs.gulp(*pair, squared=True), abs=1e-12)


def test_gulp_with_ridge_is_its_definition(pair):
    n, ridge = len(pair[0]), 0.03
    x, y = (centred(z) / np.sqrt((centred(z) ** 2).sum() / n) for z in pair)
    sx, sy, sxy = x.T @ x / n, y.T @ y / n, x.T @ y / n
    ix, iy = (np.linalg.inv(s + ridge * np.eye(len(s))) for s in (sx, sy))
    expected = (
        np.trace(ix @ sx @ ix @ sx)
        + np.trace(iy @ sy @ iy @ sy)
        - 2 * np.trace(ix @ sxy @ iy @ sxy.T)
    )
    assert rs.gulp(*pair, ridge=ridge, squared=True) == pytest.approx(expected, rel=1e-9)


def test_procrustes_against_scipy_and_the_angle(pair):
    x, y = (centred(z) / np.linalg.norm(centred(z)) for z in pair)
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(z, ((0, 0), (0, width - z.shape[1]))) for z in (x, y))
    rotation, nuclear = scipy_procrustes(x, y)
    assert rs.procrustes(*pair) == pytest.approx(np.linalg.norm(x @ rotation - y), rel=1e-10)
    assert rs.procrustes(*pair) ** 2 == pytest.approx(
        2 - 2 * np.cos(rs.angular_shape(*pair)), rel=1e-10
    )
    assert rs.angular_shape(*pair) == pytest.approx(np.arccos(nuclear), rel=1e-8)
    assert rs.procrustes(*pair, squared=True) == pytest.approx(rs.procrustes(*pair) ** 2)


def test_size_and_shape_against_scipy(pair):
    x, y = map(centred, pair)
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(z, ((0, 0), (0, width - z.shape[1]))) for z in (x, y))
    rotation, _ = scipy_procrustes(x, y)
    assert rs.procrustes_size_shape(*pair) == pytest.approx(
        np.linalg.norm(x @ rotation - y), rel=1e-10
    )


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
    from itertools import permutations

    x, y = rng.standard_normal((10, 4)) + 1, rng.standard_normal((10, 5))
    padded = np.hstack([x, np.zeros((10, 1))])
    best = min(np.linalg.norm(padded[:, list(p)] - y) for p in permutations(range(5)))
    assert rs.permutation_procrustes(x, y) == pytest.approx(best, rel=1e-12)


def test_distance_correlation_without_centring(pair):
    """The form S1 + S2 - 2 S3 of Székely et al. 2007, Theorem 1, in which no matrix is centred."""
    x, y = (squareform(pdist(r)) for r in pair)

    def covariance(a, b):
        return (a * b).mean() + a.mean() * b.mean() - 2 * (a.mean(axis=0) * b.mean(axis=0)).mean()

    squared = covariance(x, y) / np.sqrt(covariance(x, x) * covariance(y, y))
    assert rs.distance_correlation(*pair, squared=True) == pytest.approx(squared, rel=1e-9)
    assert rs.distance_correlation(*pair) == pytest.approx(np.sqrt(squared), rel=1e-9)


def test_rsa_against_scipy(pair, subtests):
    for kind in ["correlation", "cosine", "euclidean", "sqeuclidean"]:
        with subtests.test(str(kind)):
            a, b = (pdist(z, kind) for z in pair)
            assert rs.rsa(*pair, rdm=kind) == pytest.approx(
                stats.spearmanr(a, b).statistic, rel=1e-9
            )
            assert rs.rsa(*pair, rdm=kind, compare="pearson") == pytest.approx(
                stats.pearsonr(a, b).statistic, rel=1e-9
            )
            assert rs.rsa(*pair, rdm=kind, compare="cosine") == pytest.approx(
                cosine(a, b), rel=1e-9
            )
            assert rs.rsa(*pair, rdm=kind, compare="kendall") == pytest.approx(
                stats.kendalltau(a, b).statistic, rel=1e-9
            )


def test_ranks_with_ties_against_scipy(rng):
    from resemblance.significance import average_ranks

    for high in (1, 2, 5, 1000):
        values = rng.integers(high, size=300).astype(float)
        assert np.array_equal(average_ranks(values), stats.rankdata(values))


def test_rsm_norm_difference_against_scipy(pair):
    a, b = (squareform(pdist(z)) for z in pair)
    assert rs.rsm_norm_difference(*pair) == pytest.approx(np.linalg.norm(a - b), rel=1e-10)
    assert rs.rsm_norm_difference(*pair, norm="spectral") == pytest.approx(
        np.linalg.norm(a - b, ord=2), rel=1e-9
    )


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
        with pytest.raises(rs.Undefined, match="self-similarity is not positive"):
            rs.cka(np.eye(6), 3 * np.eye(6) + 1, kernel=kernel, estimator="debiased")


def test_dead_directions_of_float32_data_stay_dead():
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((300, 5))
    x, y = (latent @ rng.standard_normal((5, 40)) for _ in range(2))
    rough = rs.gulp(x.astype(np.float32), rng.standard_normal((300, 3)), squared=True)
    assert rough < 9  # ranks 5 and 3, not 40 and 3
    assert rs.mean_cca(x.astype(np.float32), y.astype(np.float32)) == pytest.approx(1, abs=1e-5)


def test_correlation_matches_against_numpy(pair):
    from scipy.optimize import linear_sum_assignment

    x, y = pair
    c = np.corrcoef(x.T, y.T)[: x.shape[1], x.shape[1] :]
    assert rs.hard_correlation_match(x, y) == pytest.approx(
        c[linear_sum_assignment(-c)].mean(), rel=1e-10
    )
    assert rs.soft_correlation_match(x, y) == pytest.approx(
        (c.max(0).mean() + c.max(1).mean()) / 2, rel=1e-10
    )
    assert (
        rs.hard_correlation_match(x, y, matching="greedy")
        <= rs.hard_correlation_match(x, y) + 1e-12
    )


def test_greedy_match_takes_the_largest_correlation_first():
    """Columns chosen so that greed gives up 0.9 + 0.0 for the optimal 0.8 + 0.8."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(centred(rng.standard_normal((20, 4))))[0]
    a, b, c, d = basis.T
    x = np.stack([a, 0.8 * a + 0.6 * b], axis=1)
    y = np.stack([0.9 * x[:, 0] + np.sqrt(1 - 0.81) * c, a * 0.8 + 0.6 * d], axis=1)
    correlations = np.corrcoef(x.T, y.T)[:2, 2:]
    first = correlations.max()
    i, j = np.unravel_index(correlations.argmax(), (2, 2))
    assert rs.hard_correlation_match(x, y, matching="greedy") == pytest.approx(
        (first + correlations[1 - i, 1 - j]) / 2
    )


def test_linear_regression_is_r_squared_of_least_squares(pair):
    x, y = map(centred, pair)
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    assert rs.linear_regression(*pair) == pytest.approx(
        1 - (residual**2).sum() / (y**2).sum(), rel=1e-9
    )
    assert rs.linear_regression(*pair, predict="first") == pytest.approx(
        rs.linear_regression(*pair[::-1]), rel=1e-12
    )


def test_aligned_cosine_by_its_definition(pair):
    width = max(z.shape[1] for z in pair)
    x, y = (np.pad(z, ((0, 0), (0, width - z.shape[1]))) for z in pair)
    aligned = x @ scipy_procrustes(x, y)[0]
    expected = np.mean([cosine(a, b) for a, b in zip(aligned, y, strict=True)])
    assert rs.aligned_cosine(*pair) == pytest.approx(expected, rel=1e-9)


def test_neighbours_against_scikit_learn(pair, subtests):
    for metric in ["cosine", "euclidean"]:
        with subtests.test(str(metric)):
            found = [
                NearestNeighbors(n_neighbors=4, metric=metric)
                .fit(z)
                .kneighbors(return_distance=False)
                for z in pair
            ]
            a, b = ([set(row) for row in rows] for rows in found)
            expected = np.mean([len(p & q) / len(p | q) for p, q in zip(a, b, strict=True)])
            assert rs.jaccard(*pair, k=4, metric=metric) == pytest.approx(expected, rel=1e-12)
            scores = []
            for p, q in zip(*found, strict=True):
                ranks = [(list(p).index(j) + 1, list(q).index(j) + 1) for j in set(p) & set(q)]
                total = sum(2 / ((1 + abs(r - s)) * (r + s)) for r, s in ranks)
                scores.append(total / sum(1 / i for i in range(1, len(ranks) + 1)) if ranks else 0)
            assert rs.rank_similarity(*pair, k=4, metric=metric) == pytest.approx(
                np.mean(scores), rel=1e-12
            )


def test_second_order_cosine_by_its_definition(pair):
    similarity = [cosine_similarity(z) for z in pair]
    found = [
        NearestNeighbors(n_neighbors=4, metric="cosine").fit(z).kneighbors(return_distance=False)
        for z in pair
    ]
    values = []
    for i, (p, q) in enumerate(zip(*found, strict=True)):
        union = sorted(set(p) | set(q))
        values.append(cosine(similarity[0][i, union], similarity[1][i, union]))
    assert rs.second_order_cosine(*pair, k=4) == pytest.approx(np.mean(values), rel=1e-10)


def test_duplicates_are_neighbours_and_equally_near_ones_are_listed_by_index():
    from resemblance.views.neighbours import nearest, neighbours

    x = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = neighbours(rs.Representation(x), k=3, metric="cosine")
    assert found.tolist() == [[1, 2, 4], [0, 2, 4], [0, 1, 4], [4, 0, 1], [0, 1, 2]]
    ties = nearest(rs.Representation(x), k=3, metric="cosine").ties
    assert ties.rows.tolist() == [0, 1, 2, 3, 4]
    assert np.split(ties.members, ties.starts[1:-1])[3].tolist() == [
        0,
        1,
        2,
    ]  # three samples for two places
    assert np.split(ties.members, ties.starts[1:-1])[4].tolist() == [0, 1, 2, 3]


def test_heat_trace_is_that_of_the_eigenvalues(rng):
    from resemblance.views.heat import TEMPERATURES, heat_trace, neighbour_operator

    x = rs.Representation(rng.standard_normal((150, 6)))
    a = neighbour_operator(x, 5).toarray()
    exact = np.exp(-TEMPERATURES[:, None] * (1 - np.linalg.eigvalsh(a))).mean(axis=1)
    weight = np.exp(-2 * (TEMPERATURES + 1 / TEMPERATURES))
    assert np.max(weight * np.abs(heat_trace(x, k=5) - exact)) < 1e-15
    degree = (a > 0).sum(axis=0)
    assert np.array_equal(a > 0, (a > 0).T)
    assert degree.min() >= 5


def test_statistics_by_their_definitions(pair):
    x, y = pair
    concentricity = [np.mean([cosine(row, z.mean(axis=0)) for row in z]) for z in pair]
    assert rs.concentricity_difference(x, y) == pytest.approx(
        abs(concentricity[0] - concentricity[1]), rel=1e-9
    )
    norms = [np.linalg.norm(z.mean(axis=0)) for z in pair]
    assert rs.magnitude_difference(x, y) == pytest.approx(abs(norms[0] - norms[1]), rel=1e-9)
    unit = [z / np.linalg.norm(z, axis=1, keepdims=True) for z in pair]
    for self_pairs in (True, False):
        u = [np.exp(-2 * squareform(pdist(z)) ** 2) for z in unit]
        means = [
            v.mean() if self_pairs else (v.sum() - len(v)) / (len(v) * (len(v) - 1)) for v in u
        ]
        expected = abs(np.log(means[0]) - np.log(means[1]))
        assert rs.uniformity_difference(x, y, self_pairs=self_pairs) == pytest.approx(
            expected, rel=1e-9
        )


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
    m = rs.uniformity_difference.where(rows="raw", self_pairs=False)
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
        found = (
            NearestNeighbors(n_neighbors=5, metric="cosine")
            .fit(z)
            .kneighbors(return_distance=False)
        )
        indicators.append(np.zeros((25, 25), dtype=int))
        np.put_along_axis(indicators[-1], found, 1, axis=1)
    assert rs.jaccard(x, y, k=5) == pytest.approx(jaccard_score(*indicators, average="samples"))


def test_a_second_driver_decomposes_what_the_first_does_not(monkeypatch, rng):
    x, y = rng.standard_normal((40, 6)), rng.standard_normal((40, 6))
    names = ("aligned_cosine", "procrustes", "svcca", "pwcka", "shape")
    before = {name: float(rs.get_measure(name)(x, y)) for name in names}

    def fails(*args, **options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fails)
    monkeypatch.setattr(np.linalg, "svdvals", fails, raising=False)
    for name, value in before.items():
        assert float(rs.get_measure(name)(x, y)) == pytest.approx(value, abs=1e-10), name


def rbf_gram(x: np.ndarray, width: float) -> np.ndarray:
    gram = np.exp(-(cdist(x, x) ** 2) / (2 * (width * np.median(cdist(x, x))) ** 2))
    return gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()


@pytest.mark.parametrize("width", [0.2, 1.0])
def test_the_width_of_a_kernel_may_count_the_zero_distances_of_samples_to_themselves(width):
    """Two clusters of equal size: the median falls between the distances within and between
    them."""
    rng = np.random.default_rng(0)
    x = np.repeat([[0.0, 0.0], [9.0, 0.0]], 20, axis=0) + rng.standard_normal((40, 2))
    y = np.repeat([[0.0, 0.0, 0.0], [0.0, 7.0, 0.0]], 20, axis=0) + rng.standard_normal((40, 3))
    k, l = rbf_gram(x, width), rbf_gram(y, width)
    expected = (k * l).sum() / np.sqrt((k * k).sum() * (l * l).sum())
    m = rs.cka.where(kernel="rbf", bandwidth=width)
    assert m(x, y, pairs="all") == pytest.approx(expected, rel=1e-12)
    assert m(x, y) != pytest.approx(expected, rel=1e-2)
