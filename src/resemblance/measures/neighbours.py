"""Neighbourhoods: do the same samples lie close to each other in both representations?

Neighbours never include the sample itself, and are ordered by decreasing similarity, then by index. They are exact
unless ``index`` says otherwise.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from ..measure import measure, when
from ..representation import Representation
from ..views.neighbours import Index, Metric, cosines_to, neighbours, own_cosines
from ..views.recall import recall_of_both

APPROXIMATE = when({"index": "hnsw"}, extra="neighbours")
COSINE = {"orthogonal", "isotropic_scaling"}


@measure(
    label="Jaccard", family="neighbours", version=2, larger_is_more_similar=True, range=(0, 1), symmetric=True,
    reference="wang2020towards", invariant_to=COSINE, differentiable=False,
    min_samples=lambda k, **_: k + 1, limits={"k": (1, np.inf)},
    changes=(when({"metric": "euclidean"}, invariant_to=COSINE | {"translation"}), APPROXIMATE),
    remarks=recall_of_both,
)  # fmt: skip
def jaccard(
    x: Representation, y: Representation, *, k: int = 10, metric: Metric = "cosine", index: Index = "exact"
) -> float:
    r"""Jaccard similarity: the mean overlap of the sets of k nearest neighbours.

    .. math:: \frac{1}{n} \sum_i \frac{|N_X(i) \cap N_Y(i)|}{|N_X(i) \cup N_Y(i)|}

    X is (n, d), Y is (n, e), n > k. For independent representations the expected overlap is about k/(2n).
    ``metric`` is ``"cosine"`` or ``"euclidean"``; ``index`` as in :func:`mka`. Raises ``Undefined`` when k >= n.

    Reference: Wang et al. 2022; Hryniowski and Wong 2020. The ReSi code drops the first neighbour instead of the sample
    itself, which differs when samples are duplicated.
    """
    shared = _positions(x, y, k, metric, index)[0].any(axis=2).sum(axis=1)
    return float(np.mean(shared / (2 * k - shared)))


@measure(
    label="RankSim", family="neighbours", version=2, larger_is_more_similar=True, range=(0, 1), symmetric=True,
    reference="wang2020towards", invariant_to=COSINE, differentiable=False,
    min_samples=lambda k, **_: k + 1, limits={"k": (1, np.inf)},
    changes=(when({"metric": "euclidean"}, invariant_to=COSINE | {"translation"}), APPROXIMATE),
    remarks=recall_of_both,
)  # fmt: skip
def rank_similarity(
    x: Representation, y: Representation, *, k: int = 10, metric: Metric = "cosine", index: Index = "exact"
) -> float:
    r"""Rank similarity: how similarly common nearest neighbours are ranked, the closest counting most.

    .. math:: \frac{1}{n} \sum_i \frac{1}{H_{|J_i|}} \sum_{j \in J_i}
        \frac{2}{(1 + |r_j - s_j|)(r_j + s_j)}, \qquad J_i = N_X(i) \cap N_Y(i)

    where :math:`r_j, s_j` are the ranks (1 to k) of j in both neighbourhoods of i, and
    :math:`H_m = 1 + 1/2 + \ldots + 1/m`.
    A sample without common neighbours contributes 0. X is (n, d), Y is (n, e), n > k. ``metric`` and ``index`` as in
    :func:`jaccard`.

    Normalised by the number of *common* neighbours: sharing only the nearest one already gives 1.
    Raises ``Undefined`` when k >= n.

    Reference: Wang et al. 2022; Klabunde et al. 2025.
    """
    match, ranks = _positions(x, y, k, metric, index)
    r, s = ranks[None, :, None], ranks[None, None, :]
    score = np.where(match, 2 / ((1 + np.abs(r - s)) * (r + s)), 0).sum(axis=(1, 2))
    harmonic = np.concatenate([[1.0], np.cumsum(1 / ranks)])  # no common neighbour: score 0 over 1
    return float(np.mean(score / harmonic[match.any(axis=2).sum(axis=1)]))


@measure(
    label="2nd-Cos", family="neighbours", version=2, larger_is_more_similar=True, range=(-1, 1), symmetric=True,
    reference="hamilton2016cultural", invariant_to=COSINE, identity=False, differentiable=False,
    min_samples=lambda k, **_: k + 1, limits={"k": (1, np.inf)}, changes=(APPROXIMATE,),
    remarks=partial(recall_of_both, metric="cosine"),
)  # fmt: skip
def second_order_cosine(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    of: Literal["similarity", "distance"] = "similarity",
    index: Index = "exact",
) -> float:
    r"""Second-order cosine: the similarity of the profiles of cosines that samples have to their neighbours.

    .. math:: \frac{1}{n} \sum_i \cos\left( \left( \cos(x_i, x_j) \right)_{j \in U_i},
        \left( \cos(y_i, y_j) \right)_{j \in U_i} \right), \qquad U_i = N_X(i) \cup N_Y(i)

    with the k nearest neighbours by cosine on each side. ``of="distance"`` compares the profiles of 1 - cos instead,
    as the ReSi code does: those are all positive, so even independent representations score high (0.89 instead of
    -0.02 for Gaussian ones). A sample whose profile is all zero on one side contributes 0.

    X is (n, d), Y is (n, e), n > k. ``index`` as in :func:`mka`. Raises ``Undefined`` when k >= n.

    Reference: Hamilton et al. 2016 ("Cultural shift or linguistic drift?"); Klabunde et al. 2025.
    """
    a, b = (neighbours(r, k=k, metric="cosine", index=index) for r in (x, y))
    in_x = np.concatenate([own_cosines(x, k=k, index=index), cosines_to(x, b)], axis=1)
    in_y = np.concatenate([cosines_to(y, a), own_cosines(y, k=k, index=index)], axis=1)
    if of == "distance":
        rounding = 8 * np.finfo(in_x.dtype).eps  # a sample in the same direction is at distance 0, not at 1e-16
        in_x, in_y = (np.where(1 - c <= rounding, 0, 1 - c) for c in (in_x, in_y))
    counted = np.concatenate([np.ones_like(a, dtype=bool), ~(b[:, :, None] == a[:, None, :]).any(axis=2)], axis=1)
    in_x, in_y = in_x * counted, in_y * counted  # a common neighbour counts once
    lengths = np.linalg.norm(in_x, axis=1) * np.linalg.norm(in_y, axis=1)
    products = np.einsum("ij,ij->i", in_x, in_y)
    return float(np.mean(np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)))


def _positions(
    x: Representation, y: Representation, k: int, metric: Metric, index: Index
) -> tuple[np.ndarray, np.ndarray]:
    """Return which neighbour of x is which neighbour of y, shape (n, k, k), and the ranks 1..k."""
    a, b = (neighbours(r, k=k, metric=metric, index=index) for r in (x, y))
    return a[:, :, None] == b[:, None, :], np.arange(1, k + 1)
