"""What unrelated representations score: the exact mean of a value over all orders of the samples.

Each function here is the claim ``chance`` of some measures: a function of what they are functions
of. That of a measure which compares two matrices follows from these (:mod:`.inner_products`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arrays import Array, to_numpy
from ..representation import Representation, Undefined, view
from ..views.matrices import expected_cosine, leading_gram
from ..views.neighbour_kernels import spread
from ..views.neighbours import Index, NeighbourSearch, nearest
from ..views.shared_neighbours import mean_product
from ..views.similarities import Affinity, Metric
from ..views.spectra import components_for

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


def zero(x: Representation, y: Representation) -> float:
    """0, as of every correlation."""
    return 0.0


def one(x: Representation, y: Representation) -> float:
    """1, in whose units the value is."""
    return 1.0


def mean_of_leading_grams(x: Representation, y: Representation, explained_variance: float) -> float:
    """tr K tr L / (n - 1), over the norms, for Gram matrices of the leading components."""
    count = min(components_for(r, explained_variance=explained_variance) for r in (x, y))
    return expected_cosine(leading_gram(x, count), leading_gram(y, count))


# ------------------------------------------------------------------------------- sets of neighbours


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
