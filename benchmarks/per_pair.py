"""Plain reference implementations of the 24 measures, one pair at a time, with NumPy, SciPy and
scikit-learn.

Every function computes all intermediates from two arrays, as a script would. The tests compare the
values of the library with these functions, and a benchmark compares the times. RTD uses Ripser on
the doubled distance matrix, like the authors' code.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, stats
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

Array = np.ndarray


def centered(x: Array) -> Array:
    return x - x.mean(axis=0)


def unit(x: Array) -> Array:
    return centered(x) / np.linalg.norm(centered(x))


def padded(x: Array, y: Array) -> tuple[Array, Array]:
    width = max(x.shape[1], y.shape[1])
    return tuple(np.pad(z, ((0, 0), (0, width - z.shape[1]))) for z in (x, y))  # type: ignore[return-value]


def basis(x: Array) -> Array:
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    return u[:, s > max(x.shape) * np.finfo(float).eps * s[0]]


def canonical(x: Array, y: Array) -> Array:
    return np.linalg.svd(basis(centered(x)).T @ basis(centered(y)), compute_uv=False).clip(0, 1)


def mean_cca(x: Array, y: Array) -> float:
    return canonical(x, y).mean()


def svcca(x: Array, y: Array) -> float:
    def reduced(z: Array) -> Array:
        u, s, _ = np.linalg.svd(centered(z), full_matrices=False)
        rank = np.searchsorted(np.cumsum(s**2) / (s**2).sum(), 0.99 - 1e-15) + 1
        return u[:, :rank]

    return np.linalg.svd(reduced(x).T @ reduced(y), compute_uv=False).clip(0, 1).mean()


def pwcca(x: Array, y: Array) -> float:
    bx = basis(centered(x))
    left, rho, _ = np.linalg.svd(bx.T @ basis(centered(y)), full_matrices=False)
    alpha = np.abs((bx @ left).T @ centered(x)).sum(axis=1)
    return (alpha * rho).sum() / alpha.sum()


def aligned_cosine(x: Array, y: Array) -> float:
    x, y = padded(x, y)
    aligned = x @ linalg.orthogonal_procrustes(x, y)[0]
    return np.mean([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(aligned, y)])


def angular_shape(x: Array, y: Array) -> float:
    return np.arccos(np.clip(linalg.orthogonal_procrustes(*padded(unit(x), unit(y)))[1], -1, 1))


def correlations(x: Array, y: Array) -> Array:
    return cosine_similarity(centered(x).T, centered(y).T)


def hard_correlation_match(x: Array, y: Array) -> float:
    c = correlations(x, y)
    return c[linear_sum_assignment(c, maximize=True)].mean()


def soft_correlation_match(x: Array, y: Array) -> float:
    c = correlations(x, y)
    return (c.max(axis=0).mean() + c.max(axis=1).mean()) / 2


def linear_regression(x: Array, y: Array) -> float:
    return (np.linalg.norm(basis(centered(x)).T @ centered(y)) / np.linalg.norm(centered(y))) ** 2


def procrustes_size_shape(x: Array, y: Array) -> float:
    x, y = padded(centered(x), centered(y))
    squared = (x**2).sum() + (y**2).sum() - 2 * linalg.orthogonal_procrustes(x, y)[1]
    return np.sqrt(max(squared, 0))


def procrustes(x: Array, y: Array) -> float:
    return procrustes_size_shape(unit(x), unit(y))


def permutation_procrustes(x: Array, y: Array) -> float:
    x, y = padded(x, y)
    rows, columns = linear_sum_assignment(x.T @ y, maximize=True)
    return np.linalg.norm(x[:, rows] - y[:, columns])


def cka(x: Array, y: Array) -> float:
    x, y = centered(x), centered(y)
    return np.linalg.norm(x.T @ y) ** 2 / np.linalg.norm(x.T @ x) / np.linalg.norm(y.T @ y)


def distance_correlation(x: Array, y: Array) -> float:
    def double_centered(z: Array) -> Array:
        d = cdist(z, z)
        return d - d.mean(axis=0) - d.mean(axis=1)[:, None] + d.mean()

    a, b = double_centered(x), double_centered(y)
    return np.sqrt((a * b).mean() / np.sqrt((a**2).mean() * (b**2).mean()))


def eigenspace_overlap(x: Array, y: Array) -> float:
    return np.linalg.norm(basis(x).T @ basis(y)) ** 2 / max(x.shape[1], y.shape[1])


def gulp(x: Array, y: Array) -> float:
    ranks = basis(centered(x)).shape[1] + basis(centered(y)).shape[1]
    return np.sqrt(max(ranks - 2 * (canonical(x, y) ** 2).sum(), 0))


def rsa(x: Array, y: Array) -> float:
    return stats.spearmanr(pdist(x, "correlation"), pdist(y, "correlation")).statistic


def rsm_norm_difference(x: Array, y: Array) -> float:
    return np.linalg.norm(cdist(x, x) - cdist(y, y))


def neighbors(x: Array, k: int, metric: str) -> Array:
    return NearestNeighbors(n_neighbors=k, metric=metric).fit(x).kneighbors(return_distance=False)


def jaccard(x: Array, y: Array) -> float:
    pairs = zip(neighbors(x, 10, "cosine"), neighbors(y, 10, "cosine"))
    return np.mean([len(set(a) & set(b)) / len(set(a) | set(b)) for a, b in pairs])


def rank_similarity(x: Array, y: Array) -> float:
    scores = []
    for a, b in zip(neighbors(x, 10, "cosine"), neighbors(y, 10, "cosine")):
        r, s = ({j: rank for rank, j in enumerate(indices, 1)} for indices in (a, b))
        rank_pairs = [(r[j], s[j]) for j in r if j in s]
        total = sum(2 / ((1 + abs(p - q)) * (p + q)) for p, q in rank_pairs)
        scores.append(
            total / sum(1 / i for i in range(1, len(rank_pairs) + 1)) if rank_pairs else 0.0
        )
    return float(np.mean(scores))


def second_order_cosine(x: Array, y: Array) -> float:
    sx, sy = cosine_similarity(x), cosine_similarity(y)
    values = []
    for i, (a, b) in enumerate(zip(neighbors(x, 10, "cosine"), neighbors(y, 10, "cosine"))):
        union = np.union1d(a, b)
        values.append(
            sx[i, union]
            @ sy[i, union]
            / np.linalg.norm(sx[i, union])
            / np.linalg.norm(sy[i, union])
        )
    return float(np.mean(values))


def imd(x: Array, y: Array) -> float:
    t = np.logspace(-1, 1, 256)

    def heat(z: Array) -> Array:
        a = np.zeros((len(z), len(z)))
        np.put_along_axis(a, neighbors(z, 5, "euclidean"), 1, axis=1)
        a = np.maximum(a, a.T)
        root = 1 / np.sqrt(a.sum(axis=0))
        return np.exp(-t[:, None] * (1 - np.linalg.eigvalsh(a * root * root[:, None]))).mean(axis=1)

    return 1e6 * np.max(np.exp(-2 * (t + 1 / t)) * np.abs(heat(x) - heat(y)))


def rtd(x: Array, y: Array) -> float:
    """Return RTD on one subset of at most 500 samples (the library's default is the mean over
    ten)."""
    from ripser import ripser

    a, b = (d / np.quantile(d, 0.9) for d in (cdist(z[:500], z[:500]) for z in (x, y)))
    total = 0.0
    for r in (a, b):
        doubled = np.block([[np.zeros_like(r), r], [r.T, np.minimum(a, b)]])
        bars = ripser(doubled, distance_matrix=True, maxdim=1)["dgms"][1]
        total += float((bars[:, 1] - bars[:, 0])[np.isfinite(bars[:, 1])].sum()) / 2
    return total


def concentricity_difference(x: Array, y: Array) -> float:
    a, b = (cosine_similarity(z, z.mean(axis=0)[None]).mean() for z in (x, y))
    return abs(a - b)


def magnitude_difference(x: Array, y: Array) -> float:
    return abs(np.linalg.norm(x.mean(axis=0)) - np.linalg.norm(y.mean(axis=0)))


def uniformity_difference(x: Array, y: Array) -> float:
    rows = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    a, b = (np.log(np.exp(-2 * cdist(z, z, "sqeuclidean")).mean()) for z in rows)
    return abs(a - b)
