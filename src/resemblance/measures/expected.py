"""What unrelated representations score: the exact mean of a value over all orders of the samples.

Each function here is the claim ``chance`` of some measures: a function of what they are functions
of. Most follow from one rule. For (n, n) matrices A and B the mean of the inner product of A and B
over all n! orders of the samples of B is tr A tr B / n + off A off B / (n (n - 1)), with tr the sum
on the diagonal and off that of the other entries; where these cancel, tr A tr B / (n - 1).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Array, inner, scalar, to_numpy
from ..representation import Representation, Undefined, view
from ..views.flatness import (
    basis_sum,
    dissimilarity_flatness,
    distance_flatness,
    gram_flatness,
    leading_flatness,
)
from ..views.grams import Estimator, GramKernel, Pairs, gram_trace, hsic_norm
from ..views.neighbour_kernels import (
    Kernel,
    KernelSize,
    affinity,
    fuzzy_size,
    kernel_graph,
    local_rbf_size,
    spread,
)
from ..views.neighbours import Index, NeighbourSearch, nearest
from ..views.shared_neighbours import attainable, mean_product, mean_share
from ..views.similarities import Affinity, Metric
from ..views.spectra import components_for, decomposition, energy, rank, with_tied

LONGEST = 24  # common entries of two lists whose mean order is computed
NEGLIGIBLE = 1e-15  # a probability that changes no digit


def above_chance(value: float, chance: float, best: float = 1.0) -> float:
    """Return (value - chance) / (best - chance): 0 at chance, 1 for the best value.

    Raises ``Undefined`` where chance is the best value.
    """
    if abs(best - chance) < 1e-9:
        raise Undefined(
            "nothing is left above chance: any order of the samples has the same similarity; take "
            "a smaller k"
        )
    return (value - chance) / (best - chance)


def zero(x: Representation, y: Representation, **_: Any) -> float:
    """0, as of every correlation."""
    return 0.0


def one(x: Representation, y: Representation, **_: Any) -> float:
    """1, in whose units the value is."""
    return 1.0


# ------------------------------------------------------------------------- matrices of similarities


def mean_of_grams(
    x: Representation,
    y: Representation,
    kernel: str,
    estimator: Estimator,
    bandwidth: float,
    pairs: Pairs,
) -> float:
    """tr K tr L / (n - 1), over the norms, for centred Gram matrices K and L; 0 if debiased."""
    n, gram = x.n_samples, GramKernel(kernel, bandwidth, pairs)
    if estimator == "biased":
        return gram_flatness(x, gram) * gram_flatness(y, gram)
    if estimator != "lange":
        return 0.0
    # Without the products of the diagonals, tr K tr L / n on average.
    shares = (scalar(gram_trace(r, gram) / hsic_norm(r, gram, estimator)) for r in (x, y))
    return next(shares) * next(shares) / (n * (n - 1))


def mean_of_shared_dimensions(x: Representation, y: Representation) -> float:
    """The product of both participation ratios over n - 1."""
    return 1 / ((x.n_samples - 1) * scalar(energy(x) ** 2 * energy(y) ** 2))


def mean_of_leading_grams(x: Representation, y: Representation, explained_variance: float) -> float:
    """tr K tr L / (n - 1), over the norms, for Gram matrices of the leading components."""
    count = min(components_for(r, explained_variance=explained_variance) for r in (x, y))
    shares = (leading_flatness(r, k=with_tied(r, count=count)) for r in (x, y))
    return next(shares) * next(shares)


def mean_of_distances(x: Representation, y: Representation, **_: Any) -> float:
    """tr A tr B / (n - 1), over the norms, for double-centred distances A and B."""
    return distance_flatness(x) * distance_flatness(y)


def mean_of_dissimilarities(x: Representation, y: Representation, rdm: str, **_: Any) -> float:
    """The product of the mean dissimilarities over their root mean squares."""
    return dissimilarity_flatness(x, kind=rdm) * dissimilarity_flatness(y, kind=rdm)


# ------------------------------------------------------------------------------------------- spaces


def mean_of_spans(x: Representation, y: Representation, divisor: str, **_: Any) -> float:
    """Squared canonical correlations sum to rank X rank Y / (n - 1)."""
    ranks = rank(x), rank(y)
    count = min(ranks) if divisor == "rank" else min(x.shape[1], y.shape[1])
    return ranks[0] * ranks[1] / (x.n_samples - 1) / count


def mean_of_components(x: Representation, y: Representation, k: int) -> float:
    """The smaller of both numbers of components over n - 1."""
    return min(with_tied(r, count=k) for r in (x, y)) / (x.n_samples - 1)


def mean_of_prediction(x: Representation, y: Representation, predict: str) -> float:
    """The rank of the predictor over n - 1."""
    return rank(x if predict == "second" else y) / (x.n_samples - 1)


def mean_of_column_spaces(x: Representation, y: Representation) -> float:
    """tr P tr Q / n + off P off Q / (n (n - 1)) for projections P and Q on the column spaces."""
    n, ranks = x.n_samples, [rank(r, centered=False) for r in (x, y)]
    off = [basis_sum(r) - dimensions for r, dimensions in zip((x, y), ranks)]
    shared = ranks[0] * ranks[1] / n + off[0] * off[1] / (n * (n - 1))
    return shared / max(x.shape[1], y.shape[1])


def mean_of_smoothers(x: Representation, y: Representation, ridge: float, **_: Any) -> float:
    """tr P² + tr Q² - 2 tr P tr Q / (n - 1) for the smoothers P and Q of ridge regression."""
    a, b = (_smoother(r, ridge) for r in (x, y))
    shared = 2 * scalar(x.xp.sum(a) * x.xp.sum(b)) / (x.n_samples - 1)
    return max(0.0, smoother_energy(x, ridge) + smoother_energy(y, ridge) - shared)


def smoother_energy(x: Representation, ridge: float) -> float:
    """tr P² for the smoother P of ridge regression."""
    smoother = _smoother(x, ridge)
    return scalar(inner(smoother, smoother))


def _smoother(x: Representation, ridge: float) -> Array:
    """Eigenvalues of the smoother."""
    variance = decomposition(x).singular ** 2
    return variance / (variance + ridge)


# --------------------------------------------------------------------------- kernels of neighbours


def mean_of_fuzzy_kernels(
    x: Representation,
    y: Representation,
    k: int,
    metric: Metric,
    symmetrize: bool,
    diagonal: bool,
    baseline: str,
    index: Index,
) -> float:
    """tr(KH) tr(LH) / (n - 1) over the norms; 0 if above chance."""
    if baseline == "permutation":
        return 0.0
    search = NeighbourSearch(k, metric, index)
    a, b = (fuzzy_size(r, search, symmetrize=symmetrize, diagonal=diagonal) for r in (x, y))
    return product_of_traces(a, b, x.n_samples)


def mean_of_local_kernels(
    x: Representation, y: Representation, k: int, variant: str, index: Index
) -> float:
    """tr(KH) tr(LH) / (n - 1) over the norms."""
    code, search = variant == "code", NeighbourSearch(k, "euclidean", index)
    a, b = (local_rbf_size(r, search, squared=code, diagonal=code) for r in (x, y))
    return product_of_traces(a, b, x.n_samples)


def product_of_traces(a: KernelSize, b: KernelSize, n: int) -> float:
    """The mean cosine of two kernels of n samples whose entries, centred, sum to zero."""
    return a.trace * b.trace / (a.norm * b.norm * (n - 1))


def mean_of_masked_kernels(
    x: Representation, y: Representation, k: int, kernel: Kernel, estimator: str, index: Index
) -> float:
    """The product of the sums of both masked kernels over n (n - 1), over the norms."""
    n, search = x.n_samples, NeighbourSearch(k, affinity(kernel), index)
    graphs = [kernel_graph(r, search, kernel=kernel, centered=True) for r in (x, y)]
    a, b = (float(g.sum()) / float(np.linalg.norm(g.data)) for g in graphs)
    return a * b / (n * (n - 1))


# ------------------------------------------------------------------------------- sets of neighbours


def mean_share_of_neighbours(
    x: Representation, y: Representation, k: int, metric: Affinity, corrected: bool, index: Index
) -> float:
    """k / (n - 1), over what ties allow; 0 if above chance."""
    if corrected:
        return 0.0
    return k / (x.n_samples - 1) / attainable(mean_share, x, y, NeighbourSearch(k, metric, index))


def mean_of_returns(
    x: Representation, y: Representation, k: int, metric: Affinity, corrected: bool, index: Index
) -> float:
    """The mean of :func:`chance_of_return` for the neighbours in X; 0 if above chance."""
    return 0.0 if corrected else chance_of_return(x, k=k, metric=metric, index=index)


@view
def chance_of_return(x: Representation, k: int, metric: Affinity, index: Index) -> float:
    """Mean probability that a step to k of the other samples, drawn without order, and a step to a
    neighbour return."""
    near, n = nearest(x, k=k, metric=metric, index=index), x.n_samples
    entries = spread(near, np.ones((n, k))).T.tocoo()
    missed = mean_product(1 - entries.data, entries.coords[0], np.full(n, n - 1), np.full(n, k))
    return float(np.mean(1 - missed))


def mean_of_unions(
    x: Representation, y: Representation, k: int, metric: Metric, index: Index
) -> float:
    """The mean of m / (2k - m), m the number that two sets of k of the other samples share.

    Raises ``Undefined`` where samples tie for the last places.
    """
    search = NeighbourSearch(k, metric, index)
    if any(nearest(r, *search).ties.crowded.any() for r in (x, y)):
        raise Undefined("jaccard: no closed form of chance where samples tie for the last places")
    shared, probability = _shared(x.n_samples, k)
    return float(probability @ (shared / (2 * k - shared)))


def mean_of_rankings(
    x: Representation, y: Representation, k: int, metric: Metric, index: Index
) -> float:
    """The mean over what two lists of k of the other samples, in any order, share.

    m common neighbours have any m pairs of ranks, each with probability m / k². Raises
    ``Undefined`` where neighbours are equally near.
    """
    _need_order(x, y, NeighbourSearch(k, metric, index), "rank_similarity")
    shared, probability = _shared(x.n_samples, k)
    rank_of = np.arange(1, k + 1)
    total = sum(float(np.sum(2 / ((1 + abs(r - rank_of)) * (r + rank_of)))) for r in rank_of)
    harmonic = np.concatenate([[1.0], np.cumsum(1 / rank_of)])
    return float(probability @ (shared * total / k**2 / harmonic[shared]))


def mean_of_orders(
    x: Representation, y: Representation, k: int, metric: Affinity, index: Index
) -> float:
    """The mean longest increasing subsequence of as many entries, in any order, as two lists of k
    of the other samples share.

    Raises ``Undefined`` where neighbours are equally near, and where lists so long share more than
    24 entries by chance.
    """
    _need_order(x, y, NeighbourSearch(k, metric, index), "lcs_knn")
    shared, probability = _shared(x.n_samples, k)
    if probability[shared > LONGEST].sum() > NEGLIGIBLE:
        raise Undefined(f"lcs_knn: chance is not computed where k={k} of {x.n_samples} samples")
    possible = (shared <= LONGEST) & (probability > NEGLIGIBLE / LONGEST)
    lengths = [_longest_increasing(int(m)) for m in shared[possible]]
    return float(probability[possible] @ np.array(lengths)) / k


def _need_order(x: Representation, y: Representation, search: NeighbourSearch, name: str) -> None:
    if any(len(nearest(r, *search).ties.rows) for r in (x, y)):
        raise Undefined(f"{name}: no closed form of chance where neighbours are equally near")


@lru_cache(maxsize=32)
def _shared(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """How many two sets of k of n - 1 samples can share, and the probability of each number."""
    shared = np.arange(max(0, 2 * k - n + 1), k + 1)
    before = shared[:-1]
    ratios = (k - before) ** 2 / ((before + 1) * (n - 2 * k + before))
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    weights = np.exp(logarithms - logarithms.max())
    return shared, weights / weights.sum()


@lru_cache(maxsize=LONGEST + 1)
def _longest_increasing(m: int) -> float:
    """Mean length of the longest increasing subsequence of m numbers in any order.

    By the Robinson-Schensted correspondence it is the mean first row of a Young diagram, which has
    as many permutations as the square of the number of its standard tableaux.
    """
    tableaux = _tableaux(m)
    total = sum(count**2 for count in tableaux.values())  # m!
    return sum(rows[0] * count**2 for rows, count in tableaux.items() if rows) / total


@lru_cache(maxsize=LONGEST + 1)
def _tableaux(m: int) -> dict[tuple[int, ...], int]:
    """Number of standard Young tableaux of each shape of m boxes."""
    if m == 0:
        return {(): 1}
    shapes: dict[tuple[int, ...], int] = {}
    for rows, count in _tableaux(m - 1).items():
        for i, length in enumerate((*rows, 0)):
            if i == 0 or rows[i - 1] > length:
                larger = (*rows[:i], length + 1, *rows[i + 1 :])
                shapes[larger] = shapes.get(larger, 0) + count
    return shapes


# ------------------------------------------------------------------------------------------ outputs


def predictions(x: Representation) -> Array:
    """The class of every sample, the first of those that are equally likely, shape (n,)."""
    return x.xp.argmax(x.array, axis=1)


def mean_of_predictions(x: Representation, y: Representation) -> float:
    """The probability that predictions for two samples, drawn one by one, differ."""
    classes = (to_numpy(predictions(r)) for r in (x, y))
    p, q = (np.bincount(c, minlength=x.shape[1]) / x.n_samples for c in classes)
    return float(1 - p @ q)
