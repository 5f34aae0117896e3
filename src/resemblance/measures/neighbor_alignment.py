"""Alignment of neighbours: the measures of the platonic representation hypothesis, and how ranks
carry over.

Neighbours never include the sample itself. Samples that tie for the last places share them (see
:func:`mutual_knn`), so no value depends on the order of the samples. They are exact unless
``search`` says otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts._measure import measure
from ..contracts.claims import Product
from ..data.representation import Representation, cached
from ..intermediates.matrices import expected_cosine
from ..intermediates.neighbor_kernels import indicator_of_entries, neighbor_matrix
from ..intermediates.neighbor_matrices import (
    chance_scaled_weights,
    negative_ranks,
    neighbor_shares,
    neighbor_weights,
)
from ..intermediates.neighbors import NeighborSearch, Search, nearest
from ..intermediates.shared_neighbors import (
    mean_common_share,
    mean_product_of_draws,
    normalized_overlap,
    ranks_of_neighbors,
)
from ..intermediates.similarities import Affinity, NeighborMetric
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
from .leave_one_out.neighbors import leave_one_out_mutual_knn
from .neighbors import neighbor_search_claims


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
    distance, or by ``"inner"`` product of the rows as they are; ``search`` as in :func:`mka`. O(n^2
    d) time, O(n k) memory.

    *Ties.* Samples as near as the k-th nearest share the places that the nearer ones leave: with p
    places for t samples each is a neighbour with weight p/t, and a common neighbour counts by the
    product of its weights on both sides. That is the mean over all ways to break the ties, on each
    side by itself. It is divided by the geometric mean of what it is for X with itself and for Y
    with itself, 1 without ties, so the same neighbours have the value 1:

    .. math:: m = \frac{s(X, Y)}{\sqrt{s(X, X) \, s(Y, Y)}}, \qquad
        s(X, Y) = \frac{1}{nk} \sum_{ij} w^X_{ij} w^Y_{ij}

    If the samples of Y are permuted at random, m is c = k/(n - 1) on average, exactly; with ties
    :math:`c = k / ((n - 1) \sqrt{s(X, X) \, s(Y, Y)})`, which is more. ``corrected=True`` is (m -
    c)/(1 - c): 0 at chance, 1 for the same neighbours, never below -1; it needs n > k + 1. Raises
    ``UndefinedError`` for a constant representation, and when c is 1, as it is if all samples are
    equally far apart.

    Use it when you compare with the platonic-representation studies, or want the simplest overlap
    of neighbours.

    Beware. Chance is k/(n - 1), more with tied distances; ``corrected=True`` takes it out.

    Reference: Huh et al. 2024. Their code takes inner products of rows scaled to unit length, which
    is ``metric="cosine"``; of other features, ``metric="inner"``. It leaves open how ties are
    broken.
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
    """Fixed when all other samples are neighbours (k = n - 1); near for 0.8 (n - 1) of them."""
    share = k / (x.n_samples - 1)
    return (
        ""
        if corrected
        else warn_fixed_by_n(x.n_samples)
        if share == 1
        else warn_near_ceiling(x.n_samples, share)
    )


@mutual_knn.claim("claims_for")
def _mutual_claims(k: int, metric: Affinity, corrected: bool, search: Search) -> dict[str, Any]:
    """Return the claims that depend on the search, and on the correction for chance."""
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

    X is (n, d), Y is (n, e), n > k. Not symmetric. *X with itself is not 1*: a sample that is no
    neighbour of any of its neighbours does not return, and another Y may lead back more samples.
    ``metric`` and ``search`` as in :func:`mutual_knn`. Samples that tie for the last places share
    them as there, and m is the mean over all ways to break the ties, of every sample by itself.

    Chance is high, about 1 - (1 - k/n)^k. If the samples of Y are permuted at random, the mean is
    exactly

    .. math:: c = 1 - \frac{1}{n} \sum_i \prod_{t=0}^{k-1} \frac{n - 1 - r_i - t}{n - 1 - t}

    where :math:`r_i` is the number of samples that have i as a neighbour in X, and a negative
    factor counts as 0. With ties the product is the mean, over all sets of k other samples, of the
    probability that none of them has i as a neighbour. ``corrected=True`` is (m - c)/(1 - c).
    Raises ``UndefinedError`` for a constant representation, and when chance is 1.

    Use it when you want a lenient test of whether neighbourhoods lead back to the sample.

    Beware. It saturates: chance is high once k exceeds about the root of n. Compare with the chance
    level, or set ``corrected=True``.

    Reference: Huh et al. 2024, whose code has the arguments in this order.
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
    """The mean of :func:`return_probability` for the neighbours in X; 0 if above chance."""
    return 0.0 if corrected else return_probability(x, k=k, metric=metric, search=search)


@cycle_knn.claim("uninformative")
def uninformative_cycles(
    x: Representation, y: Representation, k: int, metric: Any, search: Any
) -> str:
    """Near when chance leads back anyway: k of about 1.3 times the root of n, or more."""
    n = x.n_samples
    if k == n - 1:
        return warn_fixed_by_n(n)
    if n > k * k:
        return ""
    return warn_near_ceiling(n, return_probability(x, k=k, metric=metric, search=search))


@cycle_knn.claim("claims_for")
def _cycle_claims(k: int, metric: Affinity, corrected: bool, search: Search) -> dict[str, Any]:
    """Return the claims that depend on the search, and on the correction for chance."""
    corrections = {"min_samples": k + 2, "range": (-np.inf, 1)} if corrected else {}
    return neighbor_search_claims(k, metric, search) | corrections


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

    where :math:`r^Y_{ij}` is 1 for the sample j nearest to i in Y, 2 for the next, up to n - 1.
    Near 0 when distances in X tell who is close in Y, 1 on average when the samples of Y are
    permuted at random. Not symmetric: X may tell about Y what Y does not tell about X.

    X is (n, d), Y is (n, e), n > k. *X with itself is not 0*: the smallest value, (k + 1)/n, is
    that of X = Y without ties. ``corrected=True`` is the linear function of it that is 0 there and
    keeps 1 for chance; it needs n > k + 1. ``metric``: ``"euclidean"`` or ``"cosine"``. O(n^2 d)
    time. Raises ``UndefinedError`` for a constant representation.

    Samples that tie for the last places in X share them (see :func:`mutual_knn`), and samples that
    are equally near in Y share their mean rank: the value is the mean over all ways to break the
    ties, on each side by itself. Chance is then still 1, but X with itself is more than (k + 1)/n,
    and more than 0 if corrected, where samples share places.

    Use it when you ask whether distances in X determine distances in Y, and whether the reverse
    holds.

    Beware. It has a direction by design; report both. 0 is the most similar value and about 1 is
    independence.

    Reference: Glielmo et al. 2022, with k = 1. There ties are not discussed.
    """
    n = x.shape[0]
    rank = float(np.mean(ranks_of_neighbors(y, nearest(x, k=k, metric=metric), metric=metric)))
    if not corrected:
        return 2 * rank / n
    return 1 - rescale_from_chance(2 * rank, chance=n, best=k + 1)


@information_imbalance.claim("uninformative")
def uninformative_mean_ranks(x: Representation, y: Representation, k: int, corrected: bool) -> str:
    """Fixed when all other samples are neighbours (k = n - 1)."""
    return warn_fixed_by_n(x.n_samples) if k == x.n_samples - 1 and not corrected else ""


@cached
def return_probability(x: Representation, k: int, metric: Affinity, search: Search) -> float:
    """Mean probability that a step to k of the other samples, drawn without order, and a step to a
    neighbour return."""
    neighbors, n = nearest(x, k=k, metric=metric, search=search), x.n_samples
    entries = neighbor_matrix(neighbors, np.ones((n, k))).T.tocoo()
    miss_probability = mean_product_of_draws(
        1 - entries.data, entries.coords[0], np.full(n, n - 1), np.full(n, k)
    )
    return float(np.mean(1 - miss_probability))


def _mean_return_share(a: Nearest, b: Nearest) -> float:
    """Mean probability that a step to a neighbour in b and a step to a neighbour in a lead back."""
    (n, k), ties = b.listed.shape, b.ties
    forward, backward = (
        neighbor_matrix(b, np.ones((n, k))),
        neighbor_matrix(a, np.ones((n, k))).T.tocsr(),
    )
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
    """Rows and weights of the entries of a sparse array."""
    entries = graph.tocoo()
    return entries.coords[0], entries.data
