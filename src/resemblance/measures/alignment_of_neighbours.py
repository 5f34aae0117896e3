"""Alignment of neighbours: the measures of the platonic representation hypothesis, and how ranks carry over.

Neighbours never include the sample itself, and are ordered by decreasing similarity, then by index. They are exact
unless ``index`` says otherwise.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..measure import measure, when
from ..representation import Representation, Undefined
from ..views.neighbour_graphs import Kernel, affinity, graph, in_degrees, kernel_graph
from ..views.neighbours import Affinity, Index, Metric, neighbours, ranks_of
from ..views.recall import recall_of_both
from .neighbours import APPROXIMATE

COSINE = {"orthogonal", "isotropic_scaling"}
EUCLIDEAN = when({"metric": "euclidean"}, invariant_to=COSINE | {"translation"})


@measure(
    label="MutualKNN", family="neighbours", version=2, larger_is_more_similar=True, range=(0, 1), symmetric=True,
    reference="huh2024platonic", invariant_to=COSINE, differentiable=False,
    min_samples=lambda k, corrected, **_: k + 1 + corrected, limits={"k": (1, np.inf)},
    changes=(EUCLIDEAN, when({"corrected": True}, range=(-1, 1)), APPROXIMATE), remarks=recall_of_both,
)  # fmt: skip
def mutual_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    corrected: bool = False,
    index: Index = "exact",
) -> float:
    r"""Mutual nearest neighbours: the mean fraction of the k nearest neighbours that two representations share.

    .. math:: m = \frac{1}{nk} \sum_i |N_X(i) \cap N_Y(i)|

    X is (n, d), Y is (n, e), n > k. ``metric``: neighbours by ``"cosine"``, by ``"euclidean"`` distance, or by
    ``"inner"`` product of the rows as they are; ``index`` as in :func:`mka`. O(n^2 d) time, O(n k) memory.

    If the samples of Y are permuted at random, m is c = k/(n - 1) on average, exactly. ``corrected=True`` is
    (m - c)/(1 - c): 0 at chance, 1 for the same neighbours, never below -1; it needs n > k + 1. Raises ``Undefined``
    for a constant representation.

    Reference: Huh et al. 2024. Their code takes inner products of rows scaled to unit length, which is
    ``metric="cosine"``; of other features, ``metric="inner"``. It leaves open how ties are broken.
    """
    shared = graph(x, k=k, metric=metric, index=index).multiply(graph(y, k=k, metric=metric, index=index)).sum()
    value = float(shared / (x.shape[0] * k))
    return _above_chance(value, k / (x.shape[0] - 1)) if corrected else value


@measure(
    label="CycleKNN", family="neighbours", larger_is_more_similar=True, range=(0, 1), symmetric=False, identity=False,
    version=2, reference="huh2024platonic", invariant_to=COSINE, differentiable=False,
    min_samples=lambda k, corrected, **_: k + 1 + corrected, limits={"k": (1, np.inf)},
    changes=(EUCLIDEAN, when({"corrected": True}, range=(-np.inf, 1)), APPROXIMATE), remarks=recall_of_both,
)  # fmt: skip
def cycle_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    corrected: bool = False,
    index: Index = "exact",
) -> float:
    r"""Cycle consistency: how often a step to a neighbour in Y and a step to a neighbour in X lead back.

    .. math:: m = \frac{1}{n} \sum_i \left[ i \in N_X(j) \text{ for some } j \in N_Y(i) \right]

    X is (n, d), Y is (n, e), n > k. Not symmetric. A sample that is no neighbour of any of its neighbours does not
    return even when X = Y. ``metric`` and ``index`` as in :func:`mutual_knn`.

    Chance is high, about 1 - (1 - k/n)^k. If the samples of Y are permuted at random, the mean is exactly

    .. math:: c = 1 - \frac{1}{n} \sum_i \prod_{t=0}^{k-1} \frac{n - 1 - r_i - t}{n - 1 - t}

    where :math:`r_i` is the number of samples that have i as a neighbour in X, and a negative factor counts as 0.
    ``corrected=True`` is (m - c)/(1 - c). Raises ``Undefined`` for a constant representation, and when chance is 1.

    Reference: Huh et al. 2024, whose code has the arguments in this order.
    """
    back = graph(y, k=k, metric=metric, index=index).multiply(graph(x, k=k, metric=metric, index=index).T)
    value = float(np.mean(np.asarray(back.sum(axis=1)) > 0))
    if not corrected:
        return value
    return _above_chance(value, _chance_of_return(in_degrees(x, k=k, metric=metric, index=index), k))


@measure(
    label="LCSKNN", family="neighbours", version=2, larger_is_more_similar=True, range=(0, 1), symmetric=True,
    reference="huh2024platonic", invariant_to=COSINE, differentiable=False,
    min_samples=lambda k, **_: k + 1, limits={"k": (1, np.inf)}, changes=(EUCLIDEAN, APPROXIMATE),
    remarks=recall_of_both,
)  # fmt: skip
def lcs_knn(
    x: Representation, y: Representation, *, k: int = 10, metric: Affinity = "cosine", index: Index = "exact"
) -> float:
    r"""Longest common subsequence: how many nearest neighbours two representations list in the same order.

    .. math:: \frac{1}{nk} \sum_i \operatorname{LCS}\left( N_X(i), N_Y(i) \right)

    where LCS is the length of the longest sequence that can be left of both lists of k neighbours, nearest first, by
    striking out entries. X is (n, d), Y is (n, e), n > k. ``metric`` and ``index`` as in :func:`mutual_knn`, which is
    never smaller. O(n k^2) time besides the neighbours. Raises ``Undefined`` for a constant representation.

    Reference: Huh et al. 2024. Their code gives the mean length, k times the value here.
    """
    lengths = _common_lengths(*(neighbours(r, k=k, metric=metric, index=index) for r in (x, y)))
    return float(np.mean(lengths) / k)


@measure(
    label="EditKNN", family="neighbours", version=2, larger_is_more_similar=True, range=(0, 1), symmetric=True,
    reference="huh2024platonic", invariant_to=COSINE, differentiable=False,
    min_samples=lambda k, **_: k + 1, limits={"k": (1, np.inf)}, changes=(EUCLIDEAN, APPROXIMATE),
    remarks=recall_of_both,
)  # fmt: skip
def edit_distance_knn(
    x: Representation, y: Representation, *, k: int = 10, metric: Affinity = "cosine", index: Index = "exact"
) -> float:
    r"""Edit distance of neighbours: how few edits turn one list of nearest neighbours into the other, as a similarity.

    .. math:: 1 - \frac{1}{nk} \sum_i \operatorname{Lev}\left( N_X(i), N_Y(i) \right)

    where Lev is the Levenshtein distance, the smallest number of insertions, deletions and substitutions, between the
    lists of k neighbours, nearest first. X is (n, d), Y is (n, e), n > k. ``metric`` and ``index`` as in
    :func:`mutual_knn`. O(n k^2) time besides the neighbours. Raises ``Undefined`` for a constant representation.

    Reference: Huh et al. 2024. Larger is more similar, in spite of its name.
    """
    edits = _edits(*(neighbours(r, k=k, metric=metric, index=index) for r in (x, y)))
    return float(1 - np.mean(edits) / k)


@measure(
    label="CKNNA", family="neighbours", larger_is_more_similar=True, range=(-np.inf, np.inf), symmetric=False,
    version=2, identity=False,
    reference="huh2024platonic", invariant_to=COSINE, differentiable=False,
    min_samples=lambda k, **_: max(k + 1, 4), limits={"k": (1, np.inf)},
    changes=(when({"estimator": "centered"}, symmetric=True, range=(-1, 1), identity=True), APPROXIMATE),
    remarks=lambda x, y, kernel, **parameters: recall_of_both(x, y, metric=affinity(kernel), **parameters),
)  # fmt: skip
def cknna(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    kernel: Kernel = "cosine",
    estimator: Literal["unbiased", "centered"] = "unbiased",
    index: Index = "exact",
) -> float:
    r"""Centered kernel nearest-neighbour alignment: CKA that looks at mutual nearest neighbours only.

    .. math:: \frac{s(K, L)}{\sqrt{s(K, K)\, s(L, L)}}, \qquad
        s(K, L) = \operatorname{HSIC}(\alpha K, \alpha L), \quad
        \alpha_{ij} = 1 \text{ if } j \in N_X(i) \cap N_Y(i) \text{, else } 0

    multiplied entry by entry. K and L are inner products of the rows, at unit length (``kernel="cosine"``) or not
    (``"linear"``); the neighbours are those of largest inner product, and in s(K, K) those of K alone.

    ``estimator="unbiased"`` is the unbiased HSIC of Song et al. 2012 of the masked kernels, as in the authors' code.
    These are not symmetric, so neither is the value, by little, and it has no bounds. ``"centered"`` is the formula of
    the paper: the sum of the products of kernel values, each minus the mean of its row, over mutual neighbours;
    symmetric, in [-1, 1].

    X is (n, d), Y is (n, e), n > k. With k = n - 1 and the linear kernel it is debiased linear CKA. Chance is about
    k/n for k well below n, not 0. ``index`` as in :func:`mka`. O(n^2 d) time, O(n k) memory. Raises
    ``Undefined`` for a constant representation and when a self-similarity is not positive.

    Reference: Huh et al. 2024. Their code adds 1e-6 to the denominator, which costs up to 6e-4 of the value for
    100 samples of unit length; nothing is added here.
    """
    a, b = (graph(r, k=k, metric=affinity(kernel), index=index) for r in (x, y))
    centered = estimator == "centered"
    p, q = (kernel_graph(r, k=k, kernel=kernel, centered=centered, index=index) for r in (x, y))
    product = _masked_product if centered else _masked_hsic
    xy, xx, yy = product(p.multiply(b), q.multiply(a)), product(p, p), product(q, q)
    if xx <= 1e-12 * p.multiply(p).sum() or yy <= 1e-12 * q.multiply(q).sum():  # nothing but rounding is left
        raise Undefined(f"cknna: the self-similarity of the {k} nearest neighbours is not positive; take a larger k")
    value: float = xy / xx**0.5 / yy**0.5
    return float(np.clip(value, -1, 1)) if centered else value


@measure(
    label="InfImb", family="neighbours", larger_is_more_similar=False, range=(0, 2), symmetric=False, identity=False,
    version=2, reference="glielmo2022ranking", invariant_to=COSINE | {"translation"}, differentiable=False,
    min_samples=lambda k, corrected, **_: k + 1 + corrected, limits={"k": (1, np.inf)},
    changes=(when({"metric": "cosine"}, invariant_to=COSINE), when({"corrected": True}, identity=True)),
)  # fmt: skip
def information_imbalance(
    x: Representation, y: Representation, *, k: int = 1, metric: Metric = "euclidean", corrected: bool = False
) -> float:
    r"""Information imbalance: how far away in Y the nearest neighbours in X are, by rank.

    .. math:: \frac{2}{n} \cdot \frac{1}{nk} \sum_i \sum_{j \in N_X(i)} r^Y_{ij}

    where :math:`r^Y_{ij}` is 1 for the sample j nearest to i in Y, 2 for the next, up to n - 1. Near 0 when distances
    in X tell who is close in Y, 1 on average when the samples of Y are permuted at random. Not symmetric: X may tell
    about Y what Y does not tell about X.

    X is (n, d), Y is (n, e), n > k. The smallest value, that of X = Y, is (k + 1)/n, not 0. ``corrected=True`` is the
    linear function of it that is 0 there and keeps 1 for chance; it needs n > k + 1. ``metric``: ``"euclidean"`` or
    ``"cosine"``. O(n^2 d) time. Raises ``Undefined`` for a constant representation.

    Reference: Glielmo et al. 2022, with k = 1. There ties are not discussed; here they are ordered by index.
    """
    n = x.shape[0]
    rank = float(np.mean(ranks_of(y, neighbours(x, k=k, metric=metric), metric=metric)))
    return (2 * rank - k - 1) / (n - k - 1) if corrected else 2 * rank / n


def _above_chance(value: float, chance: float) -> float:
    if chance >= 1 - 1e-12:
        raise Undefined("nothing is left above chance, which is 1 for these neighbours; take a smaller k")
    return (value - chance) / (1 - chance)


def _chance_of_return(in_degree: np.ndarray, k: int) -> float:
    """Mean probability that k of the n - 1 other samples, drawn without order, hold one of ``in_degree`` samples."""
    others = len(in_degree) - 1
    draws = np.arange(k)
    missed = np.clip((others - in_degree[:, None] - draws) / (others - draws), 0, None)
    return float(np.mean(1 - np.prod(missed, axis=1)))


def _common_lengths(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Length of the longest common subsequence of every row of a with that of b: one row of the table at a time."""
    lengths = np.zeros((a.shape[0], a.shape[1] + 1), dtype=np.int64)
    for entry in a.T:
        extended = lengths[:, :-1] + (entry[:, None] == b)
        lengths[:, 1:] = np.maximum.accumulate(np.maximum(lengths[:, 1:], extended), axis=1)
    return lengths[:, -1]


def _edits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Levenshtein distance of every row of a to that of b: one row of the table at a time."""
    steps = np.arange(a.shape[1] + 1)
    costs = np.repeat(steps[None, :], len(a), axis=0)
    for entry in a.T:
        replaced = costs[:, :-1] + (entry[:, None] != b)
        costs += 1  # strike out the entry
        costs[:, 1:] = np.minimum(costs[:, 1:], replaced)
        costs = np.minimum.accumulate(costs - steps, axis=1) + steps  # insert entries of b
    return costs[:, -1]


def _masked_product(k: Any, l: Any) -> float:
    """Sum of the products of the entries of two sparse matrices."""
    return float(k.multiply(l).sum())


def _masked_hsic(k: Any, l: Any) -> float:
    """Unbiased HSIC of two sparse matrices without diagonal, up to a factor of n (Song et al. 2012, Eq. 5)."""
    n = k.shape[0]
    paths = float(np.asarray(k.sum(axis=0)) @ np.asarray(l.sum(axis=1)))
    return float(k.multiply(l.T).sum() + k.sum() * l.sum() / ((n - 1) * (n - 2)) - 2 * paths / (n - 2))
