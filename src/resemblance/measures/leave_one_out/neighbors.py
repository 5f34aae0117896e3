"""Leave-one-out overlaps of sets of nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...base.exceptions import UndefinedError
from ...data.representation import Representation, cached, representation_title
from ...intermediates.neighbor_kernels import indicator_of_entries, neighbor_matrix
from ...intermediates.neighbors import NeighborSearch, nearest
from ...intermediates.similarities import Affinity, NeighborMetric
from .inner_products import (
    LEAVE_ONE_OUT_REMEDY,
    check_min_samples,
    has_single_deviating_sample,
    leave_one_out_squared_sizes,
)


def leave_one_out_jaccard(
    x: Representation, y: Representation, k: int, metric: NeighborMetric
) -> np.ndarray:
    """Return the leave-one-out Jaccard similarity, shape (n,), in [0, 1]; exact, also with ties.

    Costs a search of k + 1 neighbours and O(n k) further time. Raises ``UndefinedError`` if a
    representation is constant without some sample.
    """
    check_min_samples("jaccard", x, k + 1)
    nearest_rows = NeighborSearch(k, metric)
    largest_score = leave_one_out_largest_score(x, y, nearest_rows, "overlap")
    return np.minimum(leave_one_out_mean_score(x, y, nearest_rows, "overlap") / largest_score, 1)


def leave_one_out_mutual_knn(
    x: Representation, y: Representation, k: int, metric: Affinity, corrected: bool
) -> np.ndarray:
    """Return the leave-one-out mutual nearest neighbours, shape (n,); exact, also with ties.

    Costs a search of k + 1 neighbours and O(n k) further time. Raises ``UndefinedError`` if a
    representation is constant without some sample, or, with ``corrected``, if the chance level
    without some sample is 1.
    """
    check_min_samples("mutual_knn", x, k + 1 + corrected)
    nearest_rows = NeighborSearch(k, metric)
    n, largest_score = x.shape[0], leave_one_out_largest_score(x, y, nearest_rows, "share")
    value: np.ndarray = np.minimum(
        leave_one_out_mean_score(x, y, nearest_rows, "share") / largest_score, 1
    )
    if not corrected:
        return value
    chance = k / (n - 2) / largest_score
    if (chance >= 1 - 1e-12).any():
        raise UndefinedError(
            f"mutual_knn: without one of {n} samples chance is 1; take a smaller k"
        )
    return (value - chance) / (1 - chance)


def leave_one_out_largest_score(
    x: Representation, y: Representation, nearest_rows: NeighborSearch, score: str
) -> np.ndarray:
    """Return the largest mean score that ties allow, without each sample, shape (n,): the geometric
    mean of the scores of x with x and of y with y.

    ``score``: "share", the weight of the common neighbours of a row over k, or "overlap", the
    weight of the common neighbours over the weight of all neighbours in x or y.
    """
    return np.sqrt(
        _leave_one_out_self_score(x, nearest_rows, score)
        * _leave_one_out_self_score(y, nearest_rows, score)
    )


@cached("n")
def _leave_one_out_self_score(
    x: Representation, nearest_rows: NeighborSearch, score: str
) -> np.ndarray:
    crowded = [
        nearest(x, k, *nearest_rows[1:]).ties.crowded.any()
        for k in (nearest_rows.k, nearest_rows.k + 1)
    ]
    return (
        leave_one_out_mean_score(x, x, nearest_rows, score) if any(crowded) else np.ones(x.shape[0])
    )


RowScore = Callable[[np.ndarray], np.ndarray]  # scores rows by the weight of common neighbours


def leave_one_out_mean_score(
    x: Representation, y: Representation, nearest_rows: NeighborSearch, score: str
) -> np.ndarray:
    """Return the mean score of the remaining rows without each sample, shape (n,), in [0, 1].

    ``score``: "share", the weight of the common neighbours of a row over k, or "overlap", the
    weight of the common neighbours over the weight of all neighbours in x or y.
    """
    a, b = replacements(x, nearest_rows), replacements(y, nearest_rows)
    n, k = x.shape[0], nearest_rows.k
    score_of_row: RowScore = (lambda c: c / k) if score == "share" else (lambda c: c / (2 * k - c))
    scores = score_of_row(_common_weight_of_rows(a.weights[0], b.weights[0]))
    total = scores.sum() - scores
    for i, j in np.ndindex(len(a.entries), len(b.entries)):
        if (i, j) == (0, 0):
            continue
        rows, samples, own_weights = _replacement_cases(a, b, i, j)
        if len(rows):
            shared = _common_weight_of_rows(a.weights[i], b.weights[j])[rows] - own_weights
            changes = score_of_row(shared) - scores[rows]
            total += np.bincount(samples, weights=changes, minlength=n)
    return total / (n - 1)


def _common_weight_of_rows(v: Any, w: Any) -> np.ndarray:
    """Return, for every row, the sum of the products v_ij w_ij of the weights in two sparse (n, n)
    arrays ``v`` and ``w``, shape (n,)."""
    return np.asarray(v.multiply(w).sum(axis=1)).ravel()


class Replacements(NamedTuple):
    """Neighbour weights, sparse (n, n) arrays, after leaving out a sample, in three cases.

    ``weights``, case 0: the sample is not a neighbour of a row, and the weights stay. Case 1: the
    sample is a neighbour with weight 1, and the row has the weights of k + 1 neighbours. Case 2:
    the sample ties for the last places, and the other tied samples share the places. ``entries``:
    sparse (n, n) arrays with 1 at the (row, left-out sample) of the cases 1 and 2; the first is
    None.
    """

    weights: tuple[Any, ...]
    entries: tuple[Any, ...]


def _replacement_cases(
    a: Replacements, b: Replacements, i: int, j: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
    """Return rows, left-out samples, and products of the weights of the sample in ``a`` and in
    ``b`` for a pair of cases; the products are 0.0 if ``i`` or ``j`` is 0.

    The sample is in the i-th case of :class:`Replacements` in ``a`` and in the j-th case in ``b``;
    not both 0.
    """
    if i and j:
        entries = a.entries[i].multiply(b.entries[j]).tocoo()
        own_weights = entries.multiply(a.weights[i]).multiply(b.weights[j]).tocsr()
        rows, samples = entries.coords
        return rows, samples, np.asarray(own_weights[rows, samples]).ravel()
    graph, other_graphs = (a.entries[i], b.entries) if i else (b.entries[j], a.entries)
    unshared = graph - graph.multiply(sum(other_graphs[1:]))
    unshared.eliminate_zeros()
    rows, samples = unshared.tocoo().coords
    return rows, samples, 0.0


@cached("anew")
def replacements(x: Representation, nearest_rows: NeighborSearch) -> Replacements:
    """Return the neighbour weights, sparse (n, n) arrays, after leaving out a sample, in three
    cases: the sample is no neighbour of a row; the sample is a neighbour with weight 1; the sample
    ties for the last places.

    ``nearest_rows``: k, the metric and the search. Raises ``UndefinedError`` if the representation
    is constant without some sample.
    """
    n, k, ties = x.shape[0], nearest_rows.k, nearest(x, *nearest_rows).ties
    if nearest_rows.metric == "euclidean":
        leave_one_out_squared_sizes(x)
    if has_single_deviating_sample(x):
        raise UndefinedError(
            f"{representation_title(x)} is constant without one of {n} samples: no sample has "
            f"nearest neighbours; {LEAVE_ONE_OUT_REMEDY}"
        )
    graph = neighbor_matrix(nearest(x, *nearest_rows), np.ones((n, k)))
    longer = neighbor_matrix(nearest(x, nearest_rows.k + 1, *nearest_rows[1:]), np.ones((n, k + 1)))
    sizes = np.full(n, 2)
    sizes[ties.rows[ties.crowded]] = ties.sizes[ties.crowded]
    tied_entries = indicator_of_entries(graph, graph.data < 1)
    shared = graph + tied_entries.multiply(graph).multiply((1 / (sizes - 1))[:, None])
    entries = (None, indicator_of_entries(graph, graph.data == 1), tied_entries)
    return Replacements((graph, longer, shared.tocsr()), entries)
