"""Alignment of neighbours: the measures of the platonic representation hypothesis, and how ranks
carry over.

Neighbours never include the sample itself. Samples that tie for the last places share them (see
:func:`mutual_knn`), so no value depends on the order of the samples. They are exact unless
``index`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from ..declared import when
from ..measure import measure
from ..representation import Representation, Undefined
from ..views.neighbour_graphs import Kernel, affinity, graph, kernel_graph, spread
from ..views.neighbours import Affinity, Index, Metric, Nearest, nearest, ranks_of
from ..views.recall import recall_of_both
from ..views.shared_neighbours import (
    attainable,
    begins_of,
    common_of,
    lengths_of,
    mean_product,
    mean_share,
    relative,
    table,
    tied_rows,
)
from .chance import chance_of_return, of_mean_ranks, of_neighbour_sets, of_returns
from .neighbours import APPROXIMATE

COSINE = {"orthogonal", "isotropic_scaling"}
EUCLIDEAN = when({"metric": "euclidean"}, invariant_to=COSINE | {"translation"})


@measure(
    label="MutualKNN",
    family="neighbours",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="huh2024platonic",
    invariant_to=COSINE,
    differentiable=False,
    min_samples=lambda k, corrected, **_: k + 1 + corrected,
    limits={"k": (1, np.inf)},
    changes=(EUCLIDEAN, when({"corrected": True}, range=(-1, 1)), APPROXIMATE),
    remarks=recall_of_both,
    uninformative=of_neighbour_sets,
)
def mutual_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    corrected: bool = False,
    index: Index = "exact",
) -> float:
    r"""Mutual nearest neighbours: the mean fraction of the k nearest neighbours that two
    representations share.

    .. math:: m = \frac{1}{nk} \sum_i |N_X(i) \cap N_Y(i)|

    X is (n, d), Y is (n, e), n > k. ``metric``: neighbours by ``"cosine"``, by ``"euclidean"``
    distance, or by ``"inner"`` product of the rows as they are; ``index`` as in :func:`mka`. O(n^2
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
    ``Undefined`` for a constant representation, and when c is 1, as it is if all samples are
    equally far apart.

    Reference: Huh et al. 2024. Their code takes inner products of rows scaled to unit length, which
    is ``metric="cosine"``; of other features, ``metric="inner"``. It leaves open how ties are
    broken.
    """
    value = relative(mean_share, x, y, k, metric, index)
    if not corrected:
        return value
    return _above_chance(
        value, k / (x.shape[0] - 1) / attainable(mean_share, x, y, k, metric, index)
    )


@measure(
    label="CycleKNN",
    family="neighbours",
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=False,
    identity=False,
    reference="huh2024platonic",
    invariant_to=COSINE,
    differentiable=False,
    version=2,
    min_samples=lambda k, corrected, **_: k + 1 + corrected,
    limits={"k": (1, np.inf)},
    changes=(EUCLIDEAN, when({"corrected": True}, range=(-np.inf, 1)), APPROXIMATE),
    remarks=recall_of_both,
    uninformative=of_returns,
)
def cycle_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    corrected: bool = False,
    index: Index = "exact",
) -> float:
    r"""Cycle consistency: how often a step to a neighbour in Y and a step to a neighbour in X lead
    back.

    .. math:: m = \frac{1}{n} \sum_i \left[ i \in N_X(j) \text{ for some } j \in N_Y(i) \right]

    X is (n, d), Y is (n, e), n > k. Not symmetric. *X with itself is not 1*: a sample that is no
    neighbour of any of its neighbours does not return, and another Y may lead back more samples.
    ``metric`` and ``index`` as in
    :func:`mutual_knn`. Samples that tie for the last places share them as there, and m is the mean
    over all ways to break the ties, of every sample by itself.

    Chance is high, about 1 - (1 - k/n)^k. If the samples of Y are permuted at random, the mean is
    exactly

    .. math:: c = 1 - \frac{1}{n} \sum_i \prod_{t=0}^{k-1} \frac{n - 1 - r_i - t}{n - 1 - t}

    where :math:`r_i` is the number of samples that have i as a neighbour in X, and a negative
    factor counts as 0. With ties the product is the mean, over all sets of k other samples, of the
    probability that none of them has i as a neighbour. ``corrected=True`` is (m - c)/(1 - c).
    Raises ``Undefined`` for a constant representation, and when chance is 1.

    Reference: Huh et al. 2024, whose code has the arguments in this order.
    """
    a, b = (nearest(r, k=k, metric=metric, index=index) for r in (x, y))
    value = _returning(a, b)
    return _above_chance(value, chance_of_return(a)) if corrected else value


def _returning(a: Nearest, b: Nearest) -> float:
    """Mean probability that a step to a neighbour in b and a step to a neighbour in a lead back."""
    (n, k), ties = b.listed.shape, b.ties
    there, back = spread(b, np.ones((n, k))), spread(a, np.ones((n, k))).T.tocsr()
    missed = np.ones(n)
    if not (a.ties.crowded.any() or ties.crowded.any()):
        return float(np.mean(np.asarray(there.multiply(back).sum(axis=1)) > 0))
    row, weight = _entries(_where(there, there.data == 1).multiply(back))
    np.multiply.at(missed, row, 1 - weight)
    if ties.crowded.any():
        row, weight = _entries(_where(there, there.data < 1).multiply(back))
        total, drawn = np.zeros((2, n), dtype=np.int64)
        total[ties.rows[ties.crowded]] = ties.sizes[ties.crowded]
        drawn[ties.rows[ties.crowded]] = k - ties.certain[ties.crowded]
        missed *= mean_product(1 - weight, row, total, drawn)
    return float(np.mean(1 - missed))


def _where(graph: Any, which: np.ndarray) -> Any:
    """The same graph with weight 1 at these entries and 0 at the others."""
    return type(graph)(
        (which.astype(float), graph.indices, graph.indptr), shape=graph.shape, copy=True
    )


def _entries(graph: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows and weights of the entries of a sparse array."""
    entries = graph.tocoo()
    return entries.coords[0], entries.data


@measure(
    label="LCSKNN",
    family="neighbours",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="huh2024platonic",
    invariant_to=COSINE,
    differentiable=False,
    min_samples=lambda k, **_: k + 1,
    limits={"k": (1, np.inf)},
    changes=(EUCLIDEAN, APPROXIMATE),
    remarks=recall_of_both,
)
def lcs_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    index: Index = "exact",
) -> float:
    r"""Longest common subsequence: how many nearest neighbours two representations list in the same
    order.

    .. math:: \frac{1}{nk} \sum_i \operatorname{LCS}\left( N_X(i), N_Y(i) \right)

    where LCS is the length of the longest sequence that can be left of both lists of k neighbours,
    nearest first, by striking out entries. X is (n, d), Y is (n, e), n > k. ``metric`` and
    ``index`` as in :func:`mutual_knn`, which is never smaller. O(n k^2) time besides the
    neighbours. Raises ``Undefined`` for a constant representation.

    Equally near samples are in no order, so they are in the right one whatever the other list says.
    Those that tie for the last places count by their weights, and the mean is divided, as in
    :func:`mutual_knn`: LCS is then the largest total weight of common neighbours of which no two
    are in opposite orders.

    Reference: Huh et al. 2024. Their code gives the mean length, k times the value here.
    """
    return relative(_in_order, x, y, k, metric, index)


def _in_order(a: Nearest, b: Nearest) -> float:
    (n, k), tied = a.listed.shape, tied_rows(a, b)
    lengths, plain = np.empty(n), np.ones(n, dtype=bool)
    plain[tied] = False
    lengths[plain] = _common_lengths(a.listed[plain], b.listed[plain])
    for part, found in common_of(a, b, tied):
        lengths[tied[part]] = _common_weights(table(found, part.stop - part.start, k))
    return float(np.mean(lengths) / k)


@measure(
    label="EditKNN",
    family="neighbours",
    version=2,
    larger_is_more_similar=True,
    range=(0, 1),
    symmetric=True,
    reference="huh2024platonic",
    invariant_to=COSINE,
    differentiable=False,
    min_samples=lambda k, **_: k + 1,
    limits={"k": (1, np.inf)},
    changes=(EUCLIDEAN, APPROXIMATE),
    remarks=recall_of_both,
)
def edit_distance_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    index: Index = "exact",
) -> float:
    r"""Edit distance of neighbours: how few edits turn one list of nearest neighbours into the
    other, as a similarity.

    .. math:: 1 - \frac{1}{nk} \sum_i \operatorname{Lev}\left( N_X(i), N_Y(i) \right)

    where Lev is the Levenshtein distance, the smallest number of insertions, deletions and
    substitutions, between the lists of k neighbours, nearest first. X is (n, d), Y is (n, e), n >
    k. ``metric`` and ``index`` as in
    :func:`mutual_knn`. O(n k^2) time besides the neighbours. Raises ``Undefined`` for a constant
    representation.

    With ties a substitution costs the probability that two places hold different samples when ties
    are broken at random, on each side by itself. The mean is divided as in :func:`mutual_knn`, so
    it is 1 for the same lists.

    Reference: Huh et al. 2024. Larger is more similar, in spite of its name.
    """
    return relative(_unedited, x, y, k, metric, index)


def _unedited(a: Nearest, b: Nearest) -> float:
    (n, k), tied = a.listed.shape, tied_rows(a, b)
    edits, plain = np.empty(n), np.ones(n, dtype=bool)
    plain[tied] = False
    left, right = (near.listed[plain] if len(tied) else near.listed for near in (a, b))
    edits[plain] = _edits((entry[:, None] != right for entry in left.T), n - len(tied), k, np.int64)
    for part, found in common_of(a, b, tied):
        first, second = (begins_of(near, tied[part]) for near in (a, b))
        same = (
            table(found, len(first), k)
            / lengths_of(first)[:, :, None]
            / lengths_of(second)[:, None, :]
        )
        rows = np.arange(len(first))[:, None]
        costs = (1 - same[rows, place[:, None], second] for place in first.T)
        edits[tied[part]] = _edits(costs, len(first), k, np.float64)
    return float(1 - np.mean(edits) / k)


@measure(
    label="CKNNA",
    family="neighbours",
    larger_is_more_similar=True,
    range=(-np.inf, np.inf),
    symmetric=False,
    version=2,
    identity=False,
    reference="huh2024platonic",
    invariant_to=COSINE,
    differentiable=False,
    min_samples=lambda k, **_: max(k + 1, 4),
    limits={"k": (1, np.inf)},
    changes=(
        when({"estimator": "centered"}, symmetric=True, range=(-1, 1), identity=True),
        APPROXIMATE,
    ),
    remarks=lambda x, y, kernel, **parameters: recall_of_both(
        x, y, metric=affinity(kernel), **parameters
    ),
)
def cknna(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    kernel: Kernel = "cosine",
    estimator: Literal["unbiased", "centered"] = "unbiased",
    index: Index = "exact",
) -> float:
    r"""Centered kernel nearest-neighbour alignment: CKA that looks at mutual nearest neighbours
    only.

    .. math:: \frac{s(K, L)}{\sqrt{s(K, K)\, s(L, L)}}, \qquad
        s(K, L) = \operatorname{HSIC}(\alpha K, \alpha L), \quad
        \alpha_{ij} = 1 \text{ if } j \in N_X(i) \cap N_Y(i) \text{, else } 0

    multiplied entry by entry; with ties :math:`\alpha_{ij}` is the geometric mean of the weights of
    j on both sides (see :func:`mutual_knn`). K and L are inner products of the rows, at unit length
    (``kernel="cosine"``) or not (``"linear"``); the neighbours are those of largest inner product,
    and in s(K, K) those of K alone.

    ``estimator="unbiased"`` is the unbiased HSIC of Song et al. 2012 of the masked kernels, as in
    the authors' code. These are not symmetric, so neither is the value, by little, and it has no
    bounds. ``"centered"`` is the formula of the paper: the sum of the products of kernel values,
    each minus the mean of its row, over mutual neighbours; symmetric, in [-1, 1].

    X is (n, d), Y is (n, e), n > k. With k = n - 1 and the linear kernel it is debiased linear CKA.
    ``index`` as in
    :func:`mka`. O(n^2 d) time, O(n k) memory. Raises ``Undefined`` for a constant representation
    and when a self-similarity is not positive.

    Chance is not 0 but grows with k/n. For independent Gaussian data (n = 300 and 1000, d = 20 and
    200) it is 0.8 to 0.9 k/n with k = 10 and 0.9 to 1.0 k/n with k = 30 and 100. With the linear
    kernel it is less, down to 0.5 k/n (n = 1000, d = 20, k = 10); with ``estimator="centered"`` it
    is k/n, and less where k is a good part of n (0.8 k/n for k = n/3).

    Reference: Huh et al. 2024. Their code adds 1e-6 to the denominator, which costs up to 6e-4 of
    the value for 100 samples of unit length; nothing is added here.
    """
    a, b = (graph(r, k=k, metric=affinity(kernel), index=index) for r in (x, y))
    centered = estimator == "centered"
    p, q = (kernel_graph(r, k=k, kernel=kernel, centered=centered, index=index) for r in (x, y))
    product = _masked_product if centered else _masked_hsic
    xy, xx, yy = product(_masked(p, a, b), _masked(q, b, a)), product(p, p), product(q, q)
    if (
        xx <= 1e-12 * p.multiply(p).sum() or yy <= 1e-12 * q.multiply(q).sum()
    ):  # nothing but rounding is left
        raise Undefined(
            f"cknna: the self-similarity of the {k} nearest neighbours is not positive; take a "
            "larger k"
        )
    value: float = xy / xx**0.5 / yy**0.5
    return float(np.clip(value, -1, 1)) if centered else value


@measure(
    label="InfImb",
    family="neighbours",
    larger_is_more_similar=False,
    range=(0, 2),
    symmetric=False,
    identity=False,
    reference="glielmo2022ranking",
    invariant_to=COSINE | {"translation"},
    differentiable=False,
    version=2,
    min_samples=lambda k, corrected, **_: k + 1 + corrected,
    limits={"k": (1, np.inf)},
    changes=(when({"metric": "cosine"}, invariant_to=COSINE),),
    uninformative=of_mean_ranks,
)
def information_imbalance(
    x: Representation,
    y: Representation,
    *,
    k: int = 1,
    metric: Metric = "euclidean",
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
    time. Raises ``Undefined`` for a constant representation.

    Samples that tie for the last places in X share them (see :func:`mutual_knn`), and samples that
    are equally near in Y share their mean rank: the value is the mean over all ways to break the
    ties, on each side by itself. Chance is then still 1, but X with itself is more than (k + 1)/n,
    and more than 0 if corrected, where samples share places.

    Reference: Glielmo et al. 2022, with k = 1. There ties are not discussed.
    """
    n = x.shape[0]
    rank = float(np.mean(ranks_of(y, nearest(x, k=k, metric=metric), metric=metric)))
    return (2 * rank - k - 1) / (n - k - 1) if corrected else 2 * rank / n


def _above_chance(value: float, chance: float) -> float:
    if chance >= 1 - 1e-12:
        raise Undefined(
            "nothing is left above chance, which is 1 for these neighbours; take a smaller k"
        )
    return (value - chance) / (1 - chance)


def _common_lengths(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Length of the longest common subsequence of every row of a with that of b: one row of the
    table at a time."""
    lengths = np.zeros((a.shape[0], a.shape[1] + 1), dtype=np.int64)
    for entry in a.T:
        extended = lengths[:, :-1] + (entry[:, None] == b)
        lengths[:, 1:] = np.maximum.accumulate(np.maximum(lengths[:, 1:], extended), axis=1)
    return lengths[:, -1]


def _common_weights(tables: np.ndarray) -> np.ndarray:
    """Largest total of the entries on a way through every table that never goes back: one row of it
    at a time."""
    totals = np.zeros(tables.shape[::2])
    for entries in tables.transpose(1, 0, 2):
        sums = np.cumsum(entries, axis=1)
        totals = sums + np.maximum.accumulate(totals - (sums - entries), axis=1)
    return np.asarray(totals[:, -1])


def _edits(costs: Iterable[np.ndarray], n: int, k: int, kind: type[np.number[Any]]) -> np.ndarray:
    """Least total cost of turning n lists of k entries into others, given the costs of substitution
    of every entry."""
    steps = np.arange(k + 1)
    totals = np.tile(steps.astype(kind), (n, 1))
    for cost in costs:
        replaced = totals[:, :-1] + cost
        totals += 1  # strike out the entry
        totals[:, 1:] = np.minimum(totals[:, 1:], replaced)
        totals = (
            np.minimum.accumulate(totals - steps, axis=1) + steps
        )  # insert entries of the other
    return np.asarray(totals[:, -1])


def _masked(kernel: Any, own: Any, other: Any) -> Any:
    """A kernel times its own weights, times the root of the weights of the other side over the root
    of its own."""
    if min(own.data.min(), other.data.min()) == 1:
        return kernel.multiply(other)
    scaled = type(kernel)(
        (kernel.data / np.sqrt(own.data), kernel.indices, kernel.indptr), shape=kernel.shape
    )
    return scaled.multiply(other.sqrt())


def _masked_product(k: Any, l: Any) -> float:
    """Sum of the products of the entries of two sparse matrices."""
    return float(k.multiply(l).sum())


def _masked_hsic(k: Any, l: Any) -> float:
    """Unbiased HSIC of two sparse matrices without diagonal, up to a factor of n (Song et al. 2012,
    Eq. 5)."""
    n = k.shape[0]
    paths = float(np.asarray(k.sum(axis=0)) @ np.asarray(l.sum(axis=1)))
    return float(
        k.multiply(l.T).sum() + k.sum() * l.sum() / ((n - 1) * (n - 2)) - 2 * paths / (n - 2)
    )
