"""Two-sample tests by permutation of the pooled rows: whether two sets of different samples have
the same distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..base.rng import generator
from .maps import cross_validation_folds, principal_variance_shares

# Permutations of tests by matrix products, and of tests that need an eigendecomposition.
PRODUCT_PERMUTATIONS, SPECTRUM_PERMUTATIONS = (999, 199)
MAX_POOLED_COMPONENTS = 100  # components of the pooled rows for the classifier and the spectra
CLASSIFIER_PENALTY = 0.1  # ridge penalty of the classifier, in variances of a component
MAX_ROW_LENGTH_RATIO = 10  # in typical lengths; farther rows are moved to this distance


class TwoSampleResult(NamedTuple):
    """A test statistic with the p-value, and the values under permutation."""

    value: float
    pvalue: float
    permuted: np.ndarray

    def limit(self, level: float) -> float:
        """Return the critical value: above this value the p-value is at most ``level``.

        Without enough permutations for the level, return the largest permuted value; no p-value
        then reaches the level.
        """
        # number of permuted values that may be as large
        index = int(level * (len(self.permuted) + 1)) - 1
        return float(np.sort(self.permuted)[::-1][max(0, index)])


def to_typical_units(x: np.ndarray) -> np.ndarray:
    """Return new rows (n, d) minus their median, in units of a typical row. Far rows move nearer,
    so no row decides alone."""
    centered = x - np.median(x, axis=0)
    max_values = np.abs(centered).max(axis=1)
    unit = float(np.median(max_values)) or float(max_values.max()) or 1.0
    size = np.maximum(max_values / unit, 1.0)
    centered = centered / unit
    lengths = np.linalg.norm(centered / size[:, None], axis=1) * size
    max_length = MAX_ROW_LENGTH_RATIO * (float(np.median(lengths)) or float(lengths.max()) or 1.0)
    return np.asarray(centered * (max_length / np.maximum(lengths, max_length))[:, None])


def energy_test(
    pooled: np.ndarray, n: int, seed: int, n_permutations: int = PRODUCT_PERMUTATIONS
) -> TwoSampleResult:
    """Return the test of the energy distance (Székely and Rizzo 2004) between the first n rows of
    ``pooled`` (rows, d) and the rest."""
    return _pairwise_similarity_test(-cdist(pooled, pooled), n, seed, n_permutations)


def mmd_test(
    pooled: np.ndarray, n: int, seed: int, n_permutations: int = PRODUCT_PERMUTATIONS
) -> TwoSampleResult:
    """Return the test of the maximum mean discrepancy (Gretton et al. 2012) between the first n
    rows of ``pooled`` (rows, d) and the rest, with a Gaussian kernel as wide as the median
    distance."""
    squares = cdist(pooled, pooled, "sqeuclidean")
    width = float(np.median(squares[np.triu_indices(len(pooled), 1)])) or 1.0
    squared = _pairwise_similarity_test(np.exp(-squares / width), n, seed, n_permutations)
    value, permuted = (np.sqrt(np.maximum(v, 0.0)) for v in (squared.value, squared.permuted))
    return TwoSampleResult(float(value), squared.pvalue, permuted)


def _pairwise_similarity_test(
    similarity: np.ndarray, n: int, seed: int, n_permutations: int
) -> TwoSampleResult:
    """Return the test of wᵀ S w with w = 1/n for the first n rows and -1/(N - n) for the rest: the
    similarity within sets minus the similarity between sets. ``similarity``: S, (N, N)."""
    m = len(similarity) - n
    weights = np.concatenate([np.full(n, 1 / n), np.full(m, -1 / m)])
    permuted_weights = weights[_pooled_permutations(n + m, n, n_permutations, seed)].T
    return permutation_test_result((permuted_weights * (similarity @ permuted_weights)).sum(axis=0))


def _pooled_permutations(total: int, n: int, permutations: int, seed: int) -> np.ndarray:
    """Return permutations of the pooled rows, (permutations + 1, total), the identity first. ``n``:
    the rows of the first set; the random numbers depend on n."""
    random = generator(seed, "pooled rows", n)
    orders = [np.arange(total), *(random.permutation(total) for _ in range(permutations))]
    return np.array(orders)


def permutation_test_result(values: np.ndarray) -> TwoSampleResult:
    """Return the test of a statistic: ``values`` holds the value of the data first, then the values
    under permutation.

    The p-value is the share of all values, the first included, that are at least as large as the
    first up to rounding.
    """
    slack = 1e-10 * float(np.abs(values).max(initial=0.0))
    p = float((values >= values[0] - slack).mean())
    return TwoSampleResult(float(values[0]), p, values[1:])


def pooled_components(pooled: np.ndarray) -> np.ndarray:
    """Return the leading principal components of the pooled rows, (rows, components): at most
    ``MAX_POOLED_COMPONENTS``, at most a quarter of the rows, and no components of rounding
    error."""
    u, s, _ = np.linalg.svd(pooled - pooled.mean(axis=0), full_matrices=False)
    n_components = min(
        MAX_POOLED_COMPONENTS, max(1, len(pooled) // 4), int((s > 1e-6 * s.max(initial=0.0)).sum())
    )
    return np.asarray(u[:, :n_components] * s[:n_components])


def classifier_test(
    components: np.ndarray, n: int, seed: int, n_permutations: int = PRODUCT_PERMUTATIONS
) -> TwoSampleResult:
    """Return the test of how well a linear classifier separates the two sets on held-out rows. The
    statistic is the share of pairs of rows in the right order, 0.5 for equal distributions (a
    classifier two-sample test, Lopez-Paz and Oquab 2017).

    ``components``: of the pooled rows, the first n rows from the first set. The classifier is a
    ridge regression of the membership on components of unit variance.
    """
    total = len(components)
    orders = _pooled_permutations(total, n, n_permutations, seed)
    members = (orders < n).T.astype(float)
    scores = np.empty_like(members)
    features = components / (components.std(axis=0) + (components.std(axis=0) == 0))
    for train, test in cross_validation_folds(total, seed):
        mean = features[train].mean(axis=0)
        a, b = features[train] - mean, features[test] - mean
        inverse = np.linalg.inv(a.T @ a / len(a) + CLASSIFIER_PENALTY * np.eye(a.shape[1]))
        share = members[train].mean(axis=0)
        scores[test] = b @ (inverse @ (a.T @ (members[train] - share) / len(a)))
    ranks = np.argsort(np.argsort(scores, axis=0), axis=0) + 1
    u_statistics = (ranks * members).sum(axis=0) - n * (n + 1) / 2
    return permutation_test_result(u_statistics / (n * (total - n)))


def spectrum_test(
    components: np.ndarray, n: int, value: Callable[[np.ndarray, np.ndarray], float], seed: int
) -> TwoSampleResult:
    """Return the test of ``value``, a function of the variance shares of the first n rows and of
    the rest; large means different. ``components``: principal components, (rows, components)."""
    values = [
        value(
            principal_variance_shares(components[order[:n]]),
            principal_variance_shares(components[order[n:]]),
        )
        for order in _pooled_permutations(len(components), n, SPECTRUM_PERMUTATIONS, seed)
    ]
    return permutation_test_result(np.array(values))


def class_shares_test(x_counts: np.ndarray, y_counts: np.ndarray, seed: int) -> TwoSampleResult:
    """Return the test of half the summed absolute difference of the class shares. ``x_counts``,
    ``y_counts``: the rows of each class in the two sets."""
    n, counts = int(x_counts.sum()), x_counts + y_counts
    random = generator(seed, "pooled labels", n)
    drawn_counts = random.multivariate_hypergeometric(counts, n, size=PRODUCT_PERMUTATIONS)
    sampled_counts = np.concatenate([x_counts[None], drawn_counts])
    other_shares = (counts - sampled_counts) / y_counts.sum()
    return permutation_test_result(np.abs(sampled_counts / n - other_shares).sum(axis=1) / 2)


def feature_tests(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Kolmogorov-Smirnov distance of every feature between x (n, d) and y (m, d), and
    p-values from the asymptotic distribution, each (d,)."""
    from scipy.stats import kstwo

    n, m = len(x), len(y)
    distances = np.array([_kolmogorov_smirnov(a, b) for a, b in zip(x.T, y.T)])
    return distances, np.clip(kstwo.sf(distances, round(n * m / (n + m))), 0, 1)


def _kolmogorov_smirnov(a: np.ndarray, b: np.ndarray) -> float:
    pooled = np.concatenate([a, b])
    cdf_a, cdf_b = (np.searchsorted(np.sort(v), pooled, side="right") / len(v) for v in (a, b))
    return float(np.abs(cdf_a - cdf_b).max())
