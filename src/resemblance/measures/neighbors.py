"""Neighbourhoods: do the same samples lie close to each other in both representations?

Neighbours never include the sample itself. Samples that tie for the last places share them (see
:func:`mutual_knn`), so no value depends on the order of the samples. They are exact unless
``search`` says otherwise.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from ..base.arrays import euclidean_norm, row_blocks, scalar
from ..base.exceptions import UndefinedError
from ..contracts._measure import measure
from ..contracts.claims import COSINE_INVARIANCES
from ..data.representation import Representation
from ..intermediates.neighbor_kernels import neighbor_matrix
from ..intermediates.neighbors import NeighborSearch, Search, nearest, neighbors, own_cosines
from ..intermediates.points import unit_rows
from ..intermediates.recall import pair_recall
from ..intermediates.shared_neighbors import (
    common_neighbor_weights,
    common_neighbors_by_blocks,
    group_lengths,
    group_starts,
    normalized_overlap,
)
from ..intermediates.similarities import (
    Affinity,
    NeighborMetric,
    cosines_of_pairs,
    cosines_to_listed,
)
from ..intermediates.ties import Nearest
from .inner_products import warn_fixed_by_n, warn_near_ceiling
from .leave_one_out.neighbors import leave_one_out_jaccard


@measure(
    label="Jaccard", family="neighbors", citation="wang2020towards", version=2,
    larger_is_more_similar=True, range=(0, 1), differentiable=False, limits={"k": (1, np.inf)},
    leave_one_out=leave_one_out_jaccard,
)  # fmt: skip
def jaccard(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: NeighborMetric = "cosine",
    search: Search = "exact",
) -> float:
    r"""Jaccard similarity: the mean overlap of the sets of k nearest neighbours.

    .. math:: \frac{1}{n} \sum_i \frac{|N_X(i) \cap N_Y(i)|}{|N_X(i) \cup N_Y(i)|}

    X is (n, d), Y is (n, e), n > k. Without ties independent representations overlap by about
    k/(2n). ``metric`` is ``"cosine"`` or ``"euclidean"``; ``search`` as in :func:`mka`. Raises
    ``UndefinedError`` for a constant representation, and when k >= n.

    With ties (see :func:`mutual_knn`) the size of the intersection is its mean over all ways to
    break them, and that of the union is 2k minus this. The mean over samples is divided by the
    geometric mean of what it is for X with itself and for Y with itself: 1 for the same neighbours,
    and for independent representations more than without ties.

    Use it when you ask whether the same samples are close to each other, as retrieval and
    clustering need.

    Beware. It uses cosines of rows as they are, so a common offset changes it. It depends on k/n:
    compare equal k and n only.

    Reference: Wang et al. 2022; Hryniowski and Wong 2020. The ReSi code drops the first neighbour
    instead of the sample itself, which differs when samples are duplicated.
    """
    return normalized_overlap(_jaccard_overlap, x, y, NeighborSearch(k, metric, search))


@jaccard.claim("uninformative")
def uninformative_neighbor_unions(x: Representation, y: Representation, k: int) -> str:
    """Fixed when all other samples are neighbours (k = n - 1); near for 0.9 (n - 1) of them."""
    share = k / (x.n_samples - 1)
    return (
        warn_fixed_by_n(x.n_samples)
        if share == 1
        else warn_near_ceiling(x.n_samples, share / (2 - share))
    )


@jaccard.claim("chance")
def chance_jaccard(
    x: Representation, y: Representation, k: int, metric: NeighborMetric, search: Search
) -> float:
    """The mean of m / (2k - m), m the number that two sets of k of the other samples share.

    Raises ``UndefinedError`` where samples tie for the last places.
    """
    nearest_rows = NeighborSearch(k, metric, search)
    if any(nearest(r, *nearest_rows).ties.crowded.any() for r in (x, y)):
        raise UndefinedError(
            "jaccard: no closed form of chance where samples tie for the last places"
        )
    shared, probability = shared_count_probabilities(x.n_samples, k)
    return float(probability @ (shared / (2 * k - shared)))


@measure(
    label="RankSim", family="neighbors", citation="wang2020towards", version=2,
    larger_is_more_similar=True, range=(0, 1), differentiable=False, limits={"k": (1, np.inf)},
)  # fmt: skip
def rank_similarity(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: NeighborMetric = "cosine",
    search: Search = "exact",
) -> float:
    r"""Rank similarity: how similarly common nearest neighbours are ranked, the closest counting
    most.

    .. math:: \frac{1}{n} \sum_i \frac{1}{H_{|J_i|}} \sum_{j \in J_i}
        \frac{2}{(1 + |r_j - s_j|)(r_j + s_j)}, \qquad J_i = N_X(i) \cap N_Y(i)

    where :math:`r_j, s_j` are the ranks (1 to k) of j in both neighbourhoods of i, and :math:`H_m =
    1 + 1/2 + \ldots + 1/m`. A sample without common neighbours contributes 0. X is (n, d), Y is (n,
    e), n > k. ``metric`` and ``search`` as in :func:`jaccard`.

    Normalised by the number of *common* neighbours: sharing only the nearest one already gives 1.
    Raises ``UndefinedError`` for a constant representation, and when k >= n.

    With ties, equally near samples share their mean rank, and common neighbours count by the
    product of their weights on both sides. :math:`H_m`, with m their total weight but at least 1,
    is the geometric mean over both sides of the largest sum of weights over ranks that a total
    weight of m allows. The mean over samples is divided as in :func:`jaccard`, so it is 1 for the
    same neighbours, and for independent representations more than without ties.

    Use it when near neighbours should count more than far ones.

    Beware. Only common neighbours are ranked, so few common neighbours make it noisy.

    Reference: Wang et al. 2022; Klabunde et al. 2025.
    """
    return normalized_overlap(_rank_agreement, x, y, NeighborSearch(k, metric, search))


@rank_similarity.claim("chance")
def chance_rank_similarity(
    x: Representation, y: Representation, k: int, metric: NeighborMetric, search: Search
) -> float:
    """The mean over what two lists of k of the other samples, in any order, share.

    m common neighbours have any m pairs of ranks, each with probability m / k². Raises
    ``UndefinedError`` where neighbours are equally near.
    """
    require_neighbor_order(x, y, NeighborSearch(k, metric, search), "rank_similarity")
    shared, probability = shared_count_probabilities(x.n_samples, k)
    rank_of = np.arange(1, k + 1)
    total = sum(float(np.sum(2 / ((1 + abs(r - rank_of)) * (r + rank_of)))) for r in rank_of)
    harmonic = np.concatenate([[1.0], np.cumsum(1 / rank_of)])
    return float(probability @ (shared * total / k**2 / harmonic[shared]))


@measure(
    label="2nd-Cos",
    family="neighbors",
    citation="hamilton2016cultural",
    version=3,
    larger_is_more_similar=True,
    range=(-1, 1),
    identity=False,
    differentiable=False,
    limits={"k": (1, np.inf)},
)
def second_order_cosine(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    of: Literal["similarity", "distance"] = "similarity",
    search: Search = "exact",
) -> float:
    r"""Second-order cosine: the similarity of the profiles of cosines that samples have to their
    neighbours.

    .. math:: \frac{1}{n} \sum_i \cos\left( \left( \cos(x_i, x_j) \right)_{j \in U_i},
        \left( \cos(y_i, y_j) \right)_{j \in U_i} \right), \qquad U_i = N_X(i) \cup N_Y(i)

    with the k nearest neighbours by cosine on each side. ``of="distance"`` compares the profiles of
    1 - cos instead, as the ReSi code does: those are all positive, so even independent
    representations score high (0.89 instead of -0.02 for Gaussian ones). A sample whose profile is
    all zero on one side contributes 0.

    X is (n, d), Y is (n, e), n > k. ``search`` as in :func:`mka`. Raises ``UndefinedError`` for a
    constant representation, and when k >= n. With ties every entry of the profiles counts by the
    probability that the sample is in :math:`U_i` when ties are broken at random.

    Use it when you compare word embeddings or other data that are read by cosine, around each
    sample.

    Beware. Profiles of positive cosines are similar in any case: unrelated data may score high. The
    ReSi code uses cosine distances, which raise the values further.

    Reference: Hamilton et al. 2016 ("Cultural shift or linguistic drift?"); Klabunde et al. 2025.
    """
    nearest_rows = NeighborSearch(k, "cosine", search)
    a, b = (nearest(r, *nearest_rows) for r in (x, y))
    u, v = _profiles(x, y, nearest_rows, of)
    lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    values = _divide_by_lengths(np.einsum("ij,ij->i", u, v), lengths)
    tied_rows = np.union1d(*(neighbors.ties.rows[neighbors.ties.crowded] for neighbors in (a, b)))
    if len(tied_rows):
        values[tied_rows] = _cosines_of_tied_rows(x, y, a, b, tied_rows, of)
    return float(np.mean(values))


@second_order_cosine.claim("uninformative")
def uninformative_profiles(
    x: Representation, y: Representation, k: int, of: str, search: Any
) -> str:
    """Near with ``of="distance"`` when 1 - cos varies little, for any number of samples."""
    if of == "similarity":
        return ""
    near_by = [1 - own_cosines(r, k=k, search=search) for r in (x, y)]
    # The mean over all pairs.
    overall = [1 - scalar(euclidean_norm(r.xp.mean(unit_rows(r), axis=0))) ** 2 for r in (x, y)]
    product = near_by[0].sum(axis=1) * overall[1] + near_by[1].sum(axis=1) * overall[0]
    lengths = [
        np.sqrt((cosines**2).sum(axis=1) + k * mean**2) for cosines, mean in zip(near_by, overall)
    ]
    return warn_near_ceiling(
        x.n_samples, float(np.mean(product / np.maximum(lengths[0] * lengths[1], 1e-300)))
    )


@jaccard.claim("claims_for")
@rank_similarity.claim("claims_for")
@second_order_cosine.claim("claims_for")
def neighbor_search_claims(
    k: int, metric: Affinity = "cosine", search: Search = "exact"
) -> dict[str, Any]:
    """Return the claims that depend on how neighbours are searched for."""
    unchanged_by = (
        COSINE_INVARIANCES | {"translation"} if metric == "euclidean" else COSINE_INVARIANCES
    )
    claims: dict[str, Any] = {"min_samples": k + 1, "invariant_to": unchanged_by}
    if search == "hnsw":  # what the search misses depends on the order of the samples
        claims |= {"requires": "neighbors", "product": None, "leave_one_out": None}
        claims["diagnostics"] = partial(pair_recall, metric=metric)
    return claims


def _jaccard_overlap(a: Nearest, b: Nearest) -> float:
    k, count = a.listed.shape[1], common_neighbor_weights(a, b)
    return float(np.mean(count / (2 * k - count)))


def _rank_agreement(a: Nearest, b: Nearest) -> float:
    rows = np.arange(len(a.listed))
    scores = np.empty(len(rows))
    for part, shared in common_neighbors_by_blocks(a, b, rows):
        first, second = (
            _mean_group_ranks(group_starts(neighbors, rows[part])) for neighbors in (a, b)
        )
        r, s = first[shared.row, shared.first], second[shared.row, shared.second]
        total, weight = (
            np.bincount(shared.row, weights=values, minlength=len(first))
            for values in (shared.weight * _rank_closeness(r, s), shared.weight)
        )
        scores[part] = total / np.sqrt(
            _largest_sum(1 / first, weight) * _largest_sum(1 / second, weight)
        )
    return float(np.mean(scores))


def _rank_closeness(r: np.ndarray, s: np.ndarray) -> np.ndarray:
    return 2 / ((1 + np.abs(r - s)) * (r + s))


def _mean_group_ranks(starts: np.ndarray) -> np.ndarray:
    """Mean rank of the group of every place; ``starts`` is the first place of that group."""
    return starts + (group_lengths(starts) + 1) / 2


def _largest_sum(decreasing: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sum of the first ``weight`` entries of every row, at least of the first one; of a fraction
    its share."""
    k = decreasing.shape[1]
    sums = np.concatenate([np.zeros((len(decreasing), 1)), np.cumsum(decreasing, axis=1)], axis=1)
    weight, rows = np.clip(weight, 1, k), np.arange(len(decreasing))
    n_whole = np.minimum(weight.astype(np.int64), k - 1)
    return sums[rows, n_whole] + (weight - n_whole) * decreasing[rows, n_whole]


def _profiles(
    x: Representation, y: Representation, nearest_rows: NeighborSearch, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Profiles of every sample in x and in y over the neighbours in either, shape (n, 2k).

    A sample that is a neighbour in both counts once.
    """
    a, b = (neighbors(r, *nearest_rows) for r in (x, y))
    in_x = np.concatenate(
        [own_cosines(x, nearest_rows.k, nearest_rows.method), cosines_to_listed(x, b)], axis=1
    )
    in_y = np.concatenate(
        [cosines_to_listed(y, a), own_cosines(y, nearest_rows.k, nearest_rows.method)], axis=1
    )
    is_new = ~(b[:, :, None] == a[:, None, :]).any(axis=2)
    mask = np.concatenate([np.ones_like(a, dtype=bool), is_new], axis=1)
    return _cosine_profile(in_x, kind) * mask, _cosine_profile(in_y, kind) * mask


def _cosines_of_tied_rows(
    x: Representation, y: Representation, a: Nearest, b: Nearest, rows: np.ndarray, kind: str
) -> np.ndarray:
    """Cosines of the profiles of rows where samples tie: every entry counts by its weight in the
    union."""
    values = np.empty(len(rows))
    graphs = [neighbor_matrix(neighbors, np.ones(neighbors.listed.shape)) for neighbors in (a, b)]
    for start, stop in row_blocks(len(rows)):
        w, v = (graph[rows[start:stop]] for graph in graphs)
        union = (w + v - w.multiply(v)).tocoo()
        entry_rows, samples = union.row, union.col
        p, q = (
            _cosine_profile(cosines_of_pairs(r, rows[start:stop][entry_rows], samples), kind)
            for r in (x, y)
        )
        products, first, second = (
            np.bincount(entry_rows, weights=union.data * part, minlength=stop - start)
            for part in (p * q, p * p, q * q)
        )
        values[start:stop] = _divide_by_lengths(products, np.sqrt(first) * np.sqrt(second))
    return values


def _cosine_profile(cosines: np.ndarray, kind: str) -> np.ndarray:
    if kind == "similarity":
        return cosines
    # A sample in the same direction is at distance 0, not at 1e-16.
    rounding = 8 * np.finfo(cosines.dtype).eps
    return np.where(1 - cosines <= rounding, 0, 1 - cosines)


def _divide_by_lengths(products: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)


# ------------------------------------------------------------------------------------------- chance


@lru_cache(maxsize=32)
def shared_count_probabilities(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """How many two sets of k of n - 1 samples can share, and the probability of each number."""
    shared = np.arange(max(0, 2 * k - n + 1), k + 1)
    counts = shared[:-1]
    ratios = (k - counts) ** 2 / ((counts + 1) * (n - 2 * k + counts))
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    weights = np.exp(logarithms - logarithms.max())
    return shared, weights / weights.sum()


def require_neighbor_order(
    x: Representation, y: Representation, nearest_rows: NeighborSearch, name: str
) -> None:
    if any(len(nearest(r, *nearest_rows).ties.rows) for r in (x, y)):
        raise UndefinedError(f"{name}: no closed form of chance where neighbours are equally near")
