"""Shared neighbours without each sample: where it was a neighbour, the next nearest takes its
place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...representation import Representation, Undefined, title, view
from ...views.neighbour_kernels import selected, spread
from ...views.neighbours import NeighbourSearch, nearest
from ...views.similarities import Affinity, Metric
from .digits import REMEDY, is_constant_without, need_samples, size_without

Score = Callable[[np.ndarray], np.ndarray]  # of the weight of the common neighbours of a row


class Replacements(NamedTuple):
    """Weights of neighbours, sparse arrays (n, n), by what the sample that is left out was.

    ``weights``: as they are, for no neighbour; with k + 1 neighbours, for one with weight 1; with
    the places of those that tie for the last of them shared by one less, for one of these.
    ``entries``: which samples have these weights; the first is None.
    """

    weights: tuple[Any, ...]
    entries: tuple[Any, ...]


def mutual_knn_without(
    x: Representation, y: Representation, k: int, metric: Affinity, corrected: bool
) -> np.ndarray:
    """Mutual nearest neighbours without each sample, shape (n,): exactly, with ties, too.

    A search of k + 1 neighbours and O(n k) time more. Raises ``Undefined`` for a representation
    that is constant without some sample, and when nothing is left above chance.
    """
    need_samples("mutual_knn", x, k + 1 + corrected)
    search = NeighbourSearch(k, metric)
    n, whole = x.shape[0], _attainable(x, y, search, "share")
    value: np.ndarray = np.minimum(_mean_without(x, y, search, "share") / whole, 1)
    if not corrected:
        return value
    chance = k / (n - 2) / whole
    if (chance >= 1 - 1e-12).any():
        raise Undefined(f"mutual_knn: without one of {n} samples chance is 1; take a smaller k")
    return (value - chance) / (1 - chance)


def jaccard_without(x: Representation, y: Representation, k: int, metric: Metric) -> np.ndarray:
    """Jaccard similarity without each sample, shape (n,): as :func:`mutual_knn_without`."""
    need_samples("jaccard", x, k + 1)
    search = NeighbourSearch(k, metric)
    whole = _attainable(x, y, search, "overlap")
    return np.minimum(_mean_without(x, y, search, "overlap") / whole, 1)


def _attainable(
    x: Representation, y: Representation, search: NeighbourSearch, score: str
) -> np.ndarray:
    """The largest score that ties allow, without each sample."""
    return np.sqrt(_with_itself(x, search, score) * _with_itself(y, search, score))


@view
def _with_itself(x: Representation, search: NeighbourSearch, score: str) -> np.ndarray:
    crowded = [nearest(x, k, *search[1:]).ties.crowded.any() for k in (search.k, search.k + 1)]
    return _mean_without(x, x, search, score) if any(crowded) else np.ones(x.shape[0])


def _mean_without(
    x: Representation, y: Representation, search: NeighbourSearch, score: str
) -> np.ndarray:
    """Mean score of the rows without each sample, shape (n,)."""
    a, b = replacements(x, search), replacements(y, search)
    n, k = x.shape[0], search.k
    of_row: Score = (lambda c: c / k) if score == "share" else (lambda c: c / (2 * k - c))
    before = of_row(_common(a.weights[0], b.weights[0]))
    total = before.sum() - before
    for i, j in np.ndindex(len(a.entries), len(b.entries)):
        if (i, j) == (0, 0):
            continue
        rows, samples, itself = _cases(a, b, i, j)
        if len(rows):
            shared = _common(a.weights[i], b.weights[j])[rows] - itself
            changes = of_row(shared) - before[rows]
            total += np.bincount(samples, weights=changes, minlength=n)
    return total / (n - 1)


def _common(v: Any, w: Any) -> np.ndarray:
    """Weight of the common neighbours of every row, shape (n,)."""
    return np.asarray(v.multiply(w).sum(axis=1)).ravel()


def _cases(
    a: Replacements, b: Replacements, i: int, j: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
    """Rows and samples where the sample is the i-th kind of neighbour on the left and the j-th on
    the right, and the product of its own weights there."""
    if i and j:
        which = a.entries[i].multiply(b.entries[j]).tocoo()
        itself = which.multiply(a.weights[i]).multiply(b.weights[j]).tocsr()
        rows, samples = which.coords
        return rows, samples, np.asarray(itself[rows, samples]).ravel()
    mine, others = (a.entries[i], b.entries) if i else (b.entries[j], a.entries)
    alone = mine - mine.multiply(sum(others[1:]))
    alone.eliminate_zeros()
    rows, samples = alone.tocoo().coords
    return rows, samples, 0.0


@view
def replacements(x: Representation, search: NeighbourSearch) -> Replacements:
    """Return the weights of neighbours before and after a sample is left out."""
    n, k, ties = x.shape[0], search.k, nearest(x, *search).ties
    if search.metric == "euclidean":
        size_without(x)
    if is_constant_without(x):
        raise Undefined(
            f"{title(x)} is constant without one of {n} samples: none has nearest neighbours; "
            f"{REMEDY}"
        )
    graph = spread(nearest(x, *search), np.ones((n, k)))
    longer = spread(nearest(x, search.k + 1, *search[1:]), np.ones((n, k + 1)))
    sizes = np.full(n, 2)
    sizes[ties.rows[ties.crowded]] = ties.sizes[ties.crowded]
    tied = selected(graph, graph.data < 1)
    shared = graph + tied.multiply(graph).multiply((1 / (sizes - 1))[:, None])
    entries = (None, selected(graph, graph.data == 1), tied)
    return Replacements((graph, longer, shared.tocsr()), entries)
