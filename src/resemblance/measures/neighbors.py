"""Neighbourhoods: do the same samples lie close to each other in both representations?

A sample is not a neighbour of itself. Samples that tie for the last places share the places (see
:func:`mutual_knn`), so no value depends on the order of the samples. The neighbours are exact
unless ``search`` says otherwise.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from ..base.arrays import euclidean_norm, row_blocks, scalar
from ..base.exceptions import UndefinedError
from ..contracts._measure import measure
from ..contracts.claims import COSINE_INVARIANCES, Product
from ..data.representation import Representation, cached
from ..intermediates.neighbor_kernels import indicator_of_entries, neighbor_matrix
from ..intermediates.neighbor_matrices import (
    chance_scaled_weights,
    negative_ranks,
    neighbor_shares,
    neighbor_weights,
)
from ..intermediates.neighbors import NeighborSearch, Search, nearest, neighbors, own_cosines
from ..intermediates.pair_matrix import expected_cosine
from ..intermediates.points import unit_rows
from ..intermediates.recall import pair_recall
from ..intermediates.shared_neighbors import (
    common_neighbor_weights,
    common_neighbors_by_blocks,
    group_lengths,
    group_starts,
    mean_common_share,
    mean_product_of_draws,
    normalized_overlap,
    ranks_of_neighbors,
)
from ..intermediates.similarities import (
    Affinity,
    NeighborMetric,
    cosine_distances_of_pairs,
    cosines_of_pairs,
    cosines_to_listed,
)
from ..intermediates.ties import Nearest
from .inner_products import (
    chance_corrected_cosine,
    constant_one,
    constant_zero,
    negated_product,
    rescale_from_chance,
    warn_fixed_by_n,
    warn_near_ceiling,
)
from .leave_one_out.neighbors import leave_one_out_jaccard, leave_one_out_mutual_knn


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

    X is (n, d), Y is (n, e), n > k. Without ties the value of independent representations is about
    k/(2n). ``metric`` is ``"cosine"`` or ``"euclidean"``; ``search`` as in :func:`mka`. Raises
    ``UndefinedError`` for a constant representation, and when k >= n.

    With ties (see :func:`mutual_knn`) the size of the intersection is the mean over all ways to
    break the ties, and the size of the union is 2k minus that mean. The mean over samples is
    divided by the geometric mean of the values of X with X and of Y with Y. The result is 1 for
    equal neighbours, and for independent representations more than without ties.

    Use it when you ask whether the same samples are close to each other, as retrieval and
    clustering need.

    Beware. The measure uses cosines of the unchanged rows, so a common offset changes the value.
    The value depends on k/n: compare equal k and n only.

    Reference: Wang et al. 2022; Hryniowski and Wong 2020. The ReSi code drops the first neighbour
    instead of the sample itself, which gives another value when samples are duplicated.
    """
    return normalized_overlap(_jaccard_overlap, x, y, NeighborSearch(k, metric, search))


@jaccard.claim("claims_for")
def neighbor_search_claims(
    k: int, metric: Affinity = "cosine", search: Search = "exact"
) -> dict[str, Any]:
    """Return the claims of a neighbour measure that depend on k, the metric and the search:
    minimum of samples, invariances, and for "hnsw" the required extra and the recall."""
    unchanged_by = (
        COSINE_INVARIANCES | {"translation"} if metric == "euclidean" else COSINE_INVARIANCES
    )
    claims: dict[str, Any] = {"min_samples": k + 1, "invariant_to": unchanged_by}
    if search == "hnsw":  # the missed neighbours depend on the order of the samples
        claims |= {"requires": "neighbors", "product": None, "leave_one_out": None}
        claims["diagnostics"] = partial(pair_recall, metric=metric)
    return claims


@jaccard.claim("uninformative")
def uninformative_neighbor_unions(x: Representation, y: Representation, k: int) -> str:
    """Fixed when all other samples are neighbours (k = n - 1); near an extreme for 0.9 (n - 1) of
    them.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "".
    """
    share = k / (x.n_samples - 1)
    if share == 1:
        return warn_fixed_by_n(x.n_samples)
    return warn_near_ceiling(x.n_samples, share / (2 - share))


@jaccard.claim("chance")
def chance_jaccard(
    x: Representation, y: Representation, k: int, metric: NeighborMetric, search: Search
) -> float:
    """Return the mean of m / (2k - m), from 0 to 1, for the overlap m of two random sets of k other
    samples.

    Raises ``UndefinedError`` if samples tie for the last places.
    """
    nearest_rows = NeighborSearch(k, metric, search)
    if any(nearest(r, *nearest_rows).ties.crowded.any() for r in (x, y)):
        raise UndefinedError(
            "jaccard: no closed form of chance where samples tie for the last places"
        )
    shared, probability = shared_count_probabilities(x.n_samples, k)
    return float(probability @ (shared / (2 * k - shared)))


@measure(
    label="MutualKNN", family="neighbors", citation="huh2024platonic", version=2,
    larger_is_more_similar=True, range=(0, 1), differentiable=False, limits={"k": (1, np.inf)},
    compares=Product(neighbor_weights, symmetric=False), leave_one_out=leave_one_out_mutual_knn,
)  # fmt: skip
def mutual_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    corrected: bool = False,
    search: Search = "exact",
) -> float:
    r"""Mutual nearest neighbours: the mean fraction of the k nearest neighbours that two
    representations share.

    .. math:: m = \frac{1}{nk} \sum_i |N_X(i) \cap N_Y(i)|

    X is (n, d), Y is (n, e), n > k. ``metric``: neighbours by ``"cosine"``, by ``"euclidean"``
    distance, or by ``"inner"`` product of the unchanged rows; ``search`` as in :func:`mka`. O(n^2
    d) time, O(n k) memory.

    *Ties.* Samples as near as the k-th nearest share the places that the nearer samples leave: if t
    samples tie for p places, every tied sample is a neighbour with weight p/t. A common neighbour
    counts with the product of the weights in X and in Y. The weighted sum is the mean over all ways
    to break the ties, independently in X and in Y. The sum is divided by the geometric mean of the
    sums of X with X and of Y with Y, which is 1 without ties. Equal neighbours therefore have the
    value 1:

    .. math:: m = \frac{s(X, Y)}{\sqrt{s(X, X) \, s(Y, Y)}}, \qquad
        s(X, Y) = \frac{1}{nk} \sum_{ij} w^X_{ij} w^Y_{ij}

    If the samples of Y are permuted at random, the mean of m is exactly c = k/(n - 1); with ties
    :math:`c = k / ((n - 1) \sqrt{s(X, X) \, s(Y, Y)})`, which is more. ``corrected=True`` is (m -
    c)/(1 - c): 0 at chance, 1 for equal neighbours, never below -1. The correction needs n > k + 1.
    Raises ``UndefinedError`` for a constant representation, and when c is 1, as when all samples
    are equally far apart.

    Use it when you compare with the platonic-representation studies, or want the simplest overlap
    of neighbours.

    Beware. The chance level is k/(n - 1), more with tied distances; ``corrected=True`` subtracts
    chance.

    Reference: Huh et al. 2024. The authors' code takes inner products. For rows scaled to unit
    length the code corresponds to ``metric="cosine"``; for other features, to ``metric="inner"``.
    The code does not define how ties are broken.
    """
    value = normalized_overlap(mean_common_share, x, y, NeighborSearch(k, metric, search))
    if not corrected:
        return value
    K, L = (neighbor_weights(r, k, metric, search) for r in (x, y))
    return rescale_from_chance(value, expected_cosine(K, L))


@mutual_knn.claim("uninformative")
def uninformative_neighbor_sets(
    x: Representation, y: Representation, k: int, corrected: bool = False
) -> str:
    """Fixed when all other samples are neighbours (k = n - 1); near an extreme for 0.8 (n - 1) of
    them.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "", and always "" if the value is
    ``corrected`` for chance.
    """
    share = k / (x.n_samples - 1)
    if corrected:
        return ""
    if share == 1:
        return warn_fixed_by_n(x.n_samples)
    return warn_near_ceiling(x.n_samples, share)


@mutual_knn.claim("claims_for")
def _mutual_claims(k: int, metric: Affinity, corrected: bool, search: Search) -> dict[str, Any]:
    """Return the claims of ``mutual_knn`` that depend on the search and on the correction for
    chance."""
    claims = neighbor_search_claims(k, metric, search)
    if corrected:
        claims |= {"min_samples": k + 2, "range": (-1, 1), "chance": constant_zero}
        claims["compares"] = Product(
            chance_scaled_weights, symmetric=False, value=chance_corrected_cosine
        )
    return claims


@measure(
    label="CycleKNN", family="neighbors", citation="huh2024platonic", version=2,
    larger_is_more_similar=True, range=(0, 1), symmetric=False, identity=False,
    differentiable=False, limits={"k": (1, np.inf)},
)  # fmt: skip
def cycle_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    corrected: bool = False,
    search: Search = "exact",
) -> float:
    r"""Cycle consistency: how often a step to a neighbour in Y and a step to a neighbour in X lead
    back.

    .. math:: m = \frac{1}{n} \sum_i \left[ i \in N_X(j) \text{ for some } j \in N_Y(i) \right]

    X is (n, d), Y is (n, e), n > k. Not symmetric. *X with itself is not 1*: a sample does not
    return if none of the neighbours lists the sample as a neighbour, and another Y may lead back
    more samples. ``metric`` and ``search`` as in :func:`mutual_knn`. Samples that tie for the last
    places share the places as in :func:`mutual_knn`, and m is the mean over all ways to break the
    ties, independently for every sample.

    The chance level is high, about 1 - (1 - k/n)^k. If the samples of Y are permuted at random, the
    mean is exactly

    .. math:: c = 1 - \frac{1}{n} \sum_i \prod_{t=0}^{k-1} \frac{n - 1 - r_i - t}{n - 1 - t}

    where :math:`r_i` is the number of samples that have i as a neighbour in X, and a negative
    factor counts as 0. With ties the product is the mean, over all sets of k other samples, of the
    probability that no sample of the set has i as a neighbour. ``corrected=True`` is (m - c)/(1 -
    c). Raises ``UndefinedError`` for a constant representation, and when chance is 1.

    Use it when you want a lenient test of whether neighbourhoods lead back to the sample.

    Beware. The measure saturates: chance is high once k exceeds about the root of n. Compare with
    the chance level, or set ``corrected=True``.

    Reference: Huh et al. 2024; the authors' code has the arguments in this order.
    """
    a, b = (nearest(r, k, metric, search) for r in (x, y))
    value = _mean_return_share(a, b)
    if not corrected:
        return value
    return rescale_from_chance(value, return_probability(x, k=k, metric=metric, search=search))


@cycle_knn.claim("chance")
def chance_of_cycles(
    x: Representation, y: Representation, k: int, metric: Affinity, corrected: bool, search: Search
) -> float:
    """Return the mean value of :func:`cycle_knn` over all permutations of the samples of y: 0 if
    ``corrected``, otherwise the :func:`return_probability` of x, from 0 to 1. ``y`` is not used."""
    return 0.0 if corrected else return_probability(x, k=k, metric=metric, search=search)


@cycle_knn.claim("uninformative")
def uninformative_cycles(
    x: Representation, y: Representation, k: int, metric: Any, search: Any
) -> str:
    """Near an extreme when chance leads back anyway: k of about 1.3 times the root of n, or
    more.

    In these cases the value of the pair is fixed, or near the value of equal data, whatever the
    data. The function then returns a warning as text, otherwise "". ``metric``, ``search``: the
    kind of neighbours and of their search, as words.
    """
    n = x.n_samples
    if k == n - 1:
        return warn_fixed_by_n(n)
    if n > k * k:
        return ""
    return warn_near_ceiling(n, return_probability(x, k=k, metric=metric, search=search))


@cycle_knn.claim("claims_for")
def _cycle_claims(k: int, metric: Affinity, corrected: bool, search: Search) -> dict[str, Any]:
    """Return the claims of ``cycle_knn`` that depend on the search and on the correction for
    chance."""
    corrections = {"min_samples": k + 2, "range": (-np.inf, 1)} if corrected else {}
    return neighbor_search_claims(k, metric, search) | corrections


@measure(
    label="RankSim", family="neighbors", citation="wang2020towards", version=2,
    larger_is_more_similar=True, range=(0, 1), differentiable=False, limits={"k": (1, np.inf)},
    claims_for=neighbor_search_claims,
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

    The value is normalised by the number of *common* neighbours: if X and Y share only the nearest
    neighbour, the value is already 1. Raises ``UndefinedError`` for a constant representation, and
    when k >= n.

    With ties, equally near samples share the mean of the ranks, and common neighbours count with
    the product of the weights in X and in Y. Let m be the total weight of the common neighbours,
    but at least 1. For a total weight of m there is a largest sum of weights over ranks in X and in
    Y; :math:`H_m` is the geometric mean of the two largest sums. The mean over samples is divided
    as in :func:`jaccard`. The result is 1 for equal neighbours, and for independent representations
    more than without ties.

    Use it when near neighbours should count more than far neighbours.

    Beware. The measure ranks only common neighbours, so few common neighbours give a noisy value.

    Reference: Wang et al. 2022; Klabunde et al. 2025.
    """
    return normalized_overlap(_rank_agreement, x, y, NeighborSearch(k, metric, search))


@rank_similarity.claim("chance")
def chance_rank_similarity(
    x: Representation, y: Representation, k: int, metric: NeighborMetric, search: Search
) -> float:
    """Return the mean rank similarity of two random lists of k other samples, from 0 to 1.

    m common neighbours have any m pairs of ranks, and a pair of ranks has probability m / k².
    Raises ``UndefinedError`` if neighbours are equally near.
    """
    require_neighbor_order(x, y, NeighborSearch(k, metric, search), "rank_similarity")
    shared, probability = shared_count_probabilities(x.n_samples, k)
    rank_of = np.arange(1, k + 1)
    total = sum(float(np.sum(2 / ((1 + abs(r - rank_of)) * (r + rank_of)))) for r in rank_of)
    harmonic = np.concatenate([[1.0], np.cumsum(1 / rank_of)])
    return float(probability @ (shared * total / k**2 / harmonic[shared]))


@measure(
    label="InfImb",
    family="neighbors",
    citation="glielmo2022ranking",
    version=2,
    larger_is_more_similar=False,
    range=(0, 2),
    symmetric=False,
    identity=False,
    differentiable=False,
    limits={"k": (1, np.inf)},
    chance=constant_one,
    product=Product(neighbor_shares, negative_ranks, symmetric=False, value=negated_product),
    claims_for=lambda k, metric, corrected: neighbor_search_claims(k + corrected, metric),
)
def information_imbalance(
    x: Representation,
    y: Representation,
    *,
    k: int = 1,
    metric: NeighborMetric = "euclidean",
    corrected: bool = False,
) -> float:
    r"""Information imbalance: how far away in Y the nearest neighbours in X are, by rank.

    .. math:: \frac{2}{n} \cdot \frac{1}{nk} \sum_i \sum_{j \in N_X(i)} r^Y_{ij}

    where :math:`r^Y_{ij}` is 1 for the sample j nearest to i in Y, 2 for the next, up to n - 1. The
    value is near 0 when distances in X predict the neighbours in Y, and 1 on average when the
    samples of Y are permuted at random. Not symmetric: X may predict the neighbours in Y where Y
    does not predict the neighbours in X.

    X is (n, d), Y is (n, e), n > k. *X with itself is not 0*: the smallest value, (k + 1)/n,
    belongs to X = Y without ties. ``corrected=True`` is a linear function of the value that maps (k
    + 1)/n to 0 and chance to 1; the correction needs n > k + 1. ``metric``: ``"euclidean"`` or
    ``"cosine"``. O(n^2 d) time. Raises ``UndefinedError`` for a constant representation.

    Samples that tie for the last places in X share the places (see :func:`mutual_knn`), and samples
    that are equally near in Y share the mean of the ranks. The value is the mean over all ways to
    break the ties, independently in X and in Y. With ties chance is still 1. Where samples share
    places, X with itself is more than (k + 1)/n, and more than 0 if corrected.

    Use it when you ask whether distances in X determine distances in Y, and whether the reverse
    holds.

    Beware. The measure is directional by design; report both directions. 0 is the most similar
    value and about 1 is independence.

    Reference: Glielmo et al. 2022, with k = 1. The paper does not discuss ties.
    """
    n = x.shape[0]
    rank = float(np.mean(ranks_of_neighbors(y, nearest(x, k=k, metric=metric), metric=metric)))
    if not corrected:
        return 2 * rank / n
    return 1 - rescale_from_chance(2 * rank, chance=n, best=k + 1)


@information_imbalance.claim("uninformative")
def uninformative_mean_ranks(x: Representation, y: Representation, k: int, corrected: bool) -> str:
    """Fixed when all other samples are neighbours (k = n - 1).

    In this case the value of the pair is the same for all data. The function then returns a warning
    as text, otherwise "", and always "" if the value is ``corrected`` for chance.
    """
    return warn_fixed_by_n(x.n_samples) if k == x.n_samples - 1 and not corrected else ""


@measure(
    label="2nd-Cos",
    family="neighbors",
    citation="hamilton2016cultural",
    version=4,
    larger_is_more_similar=True,
    range=(-1, 1),
    identity=False,
    differentiable=False,
    limits={"k": (1, np.inf)},
    claims_for=neighbor_search_claims,
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
    1 - cos instead, like the ReSi code: all entries are positive, so even independent
    representations score high (0.89 instead of -0.02 for Gaussian data). A sample with an all-zero
    profile in X or in Y contributes 0.

    X is (n, d), Y is (n, e), n > k. ``search`` as in :func:`mka`. Raises ``UndefinedError`` for a
    constant representation, and when k >= n. With ties every entry of the profiles has as weight
    the probability that the sample is in :math:`U_i` when ties are broken at random.

    Use it when you compare the surroundings of samples in word embeddings or other data compared by
    cosine.

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
    """Near an extreme with ``of="distance"`` when 1 - cos varies little, for any number of
    samples.

    In this case the value of the pair is near the value of equal data, whatever the data. The
    function then returns a warning as text, otherwise "", and always "" for ``of="similarity"``.
    ``search``: the kind of search, as a word.
    """
    if of == "similarity":
        return ""
    near_by = [1 - own_cosines(r, k=k, search=search) for r in (x, y)]
    # Mean of 1 - cos over all pairs of samples.
    overall = [1 - scalar(euclidean_norm(r.xp.mean(unit_rows(r), axis=0))) ** 2 for r in (x, y)]
    product = near_by[0].sum(axis=1) * overall[1] + near_by[1].sum(axis=1) * overall[0]
    lengths = [
        np.sqrt((cosines**2).sum(axis=1) + k * mean**2) for cosines, mean in zip(near_by, overall)
    ]
    return warn_near_ceiling(
        x.n_samples, float(np.mean(product / np.maximum(lengths[0] * lengths[1], 1e-300)))
    )


def _jaccard_overlap(a: Nearest, b: Nearest) -> float:
    k, count = a.listed.shape[1], common_neighbor_weights(a, b)
    return float(np.mean(count / (2 * k - count)))


@cached("scalar")
def return_probability(x: Representation, k: int, metric: Affinity, search: Search) -> float:
    """Return the mean over samples of the probability that a sample is a neighbour, in ``x``, of
    at least one of k other samples drawn at random."""
    neighbors, n = nearest(x, k=k, metric=metric, search=search), x.n_samples
    entries = neighbor_matrix(neighbors, np.ones((n, k))).T.tocoo()
    miss_probability = mean_product_of_draws(
        1 - entries.data, entries.coords[0], np.full(n, n - 1), np.full(n, k)
    )
    return float(np.mean(1 - miss_probability))


def _mean_return_share(a: Nearest, b: Nearest) -> float:
    """Return the mean over samples i of the probability that i is a neighbour, in a, of some
    neighbour of i in b; ties are broken at random."""
    (n, k), ties = b.listed.shape, b.ties
    forward = neighbor_matrix(b, np.ones((n, k)))
    backward = neighbor_matrix(a, np.ones((n, k))).T.tocsr()
    miss_probability = np.ones(n)
    if not (a.ties.crowded.any() or ties.crowded.any()):
        return float(np.mean(np.asarray(forward.multiply(backward).sum(axis=1)) > 0))
    row, weight = _sparse_entries(
        indicator_of_entries(forward, forward.data == 1).multiply(backward)
    )
    np.multiply.at(miss_probability, row, 1 - weight)
    if ties.crowded.any():
        row, weight = _sparse_entries(
            indicator_of_entries(forward, forward.data < 1).multiply(backward)
        )
        total, n_drawn = np.zeros((2, n), dtype=np.int64)
        total[ties.rows[ties.crowded]] = ties.sizes[ties.crowded]
        n_drawn[ties.rows[ties.crowded]] = k - ties.certain[ties.crowded]
        miss_probability *= mean_product_of_draws(1 - weight, row, total, n_drawn)
    return float(np.mean(1 - miss_probability))


def _sparse_entries(graph: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the row index and the value of every stored entry of a sparse array ``graph``,
    (entries,) each."""
    entries = graph.tocoo()
    return entries.coords[0], entries.data


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
    """Return the mean rank (from 1) of the tied group of every place in a list of neighbours,
    (rows, k). ``starts``: (rows, k), the first place (from 0) of the group."""
    return starts + (group_lengths(starts) + 1) / 2


def _largest_sum(decreasing: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return, for every row, the sum of the first ``weight`` entries, at least of the first entry,
    and at most of all entries.

    ``decreasing``: (rows, k), the largest entry first. ``weight``: (rows,); a fractional weight
    adds the same fraction of the next entry.
    """
    k = decreasing.shape[1]
    sums = np.concatenate([np.zeros((len(decreasing), 1)), np.cumsum(decreasing, axis=1)], axis=1)
    weight, rows = np.clip(weight, 1, k), np.arange(len(decreasing))
    n_whole = np.minimum(weight.astype(np.int64), k - 1)
    return sums[rows, n_whole] + (weight - n_whole) * decreasing[rows, n_whole]


def _profiles(
    x: Representation, y: Representation, nearest_rows: NeighborSearch, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the profiles of every sample in x and in y, each (n, 2k), for samples without ties.

    A profile holds the cosines to the neighbours in x and then in y, or 1 - cos for
    ``kind="distance"``. A neighbour in both counts once: its second place is 0.
    """
    a, b = (neighbors(r, *nearest_rows) for r in (x, y))
    is_new = ~(b[:, :, None] == a[:, None, :]).any(axis=2)
    mask = np.concatenate([np.ones_like(a, dtype=bool), is_new], axis=1)
    if kind == "distance":
        second = np.concatenate([a, b], axis=1).reshape(-1)
        first = np.repeat(np.arange(len(a)), mask.shape[1])
        in_x, in_y = (
            cosine_distances_of_pairs(r, first, second).reshape(mask.shape) for r in (x, y)
        )
        return in_x * mask, in_y * mask
    of_x, of_y = (own_cosines(r, nearest_rows.k, nearest_rows.method) for r in (x, y))
    in_x = np.concatenate([of_x, cosines_to_listed(x, b)], axis=1)
    in_y = np.concatenate([cosines_to_listed(y, a), of_y], axis=1)
    return in_x * mask, in_y * mask


def _cosines_of_tied_rows(
    x: Representation, y: Representation, a: Nearest, b: Nearest, rows: np.ndarray, kind: str
) -> np.ndarray:
    """Return the cosines between the profiles in x and in y of the samples ``rows``, which have
    ties, (rows,).

    ``a``, ``b``: the neighbours in x and in y. ``kind``: "similarity" or "distance". An entry
    counts with the probability that the sample is a neighbour in x or in y when ties are broken at
    random.
    """
    values = np.empty(len(rows))
    entries_of = cosine_distances_of_pairs if kind == "distance" else cosines_of_pairs
    graphs = [neighbor_matrix(neighbors, np.ones(neighbors.listed.shape)) for neighbors in (a, b)]
    for start, stop in row_blocks(len(rows)):
        w, v = (graph[rows[start:stop]] for graph in graphs)
        union = (w + v - w.multiply(v)).tocoo()
        entry_rows, samples = union.row, union.col
        p, q = (entries_of(r, rows[start:stop][entry_rows], samples) for r in (x, y))
        products, first, second = (
            np.bincount(entry_rows, weights=union.data * part, minlength=stop - start)
            for part in (p * q, p * p, q * q)
        )
        values[start:stop] = _divide_by_lengths(products, np.sqrt(first) * np.sqrt(second))
    return values


def _divide_by_lengths(products: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)


# ------------------------------------------------------------------------------------------- chance


@lru_cache(maxsize=32)
def shared_count_probabilities(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the possible numbers of common entries of two random sets of ``k`` of the n - 1 other
    samples, and their probabilities."""
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
