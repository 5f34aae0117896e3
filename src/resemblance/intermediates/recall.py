"""Recall of an approximate search: the share of the nearest neighbours that the search finds."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from ..base.arrays import row_blocks
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..base.text import check_choice
from ..data.representation import (
    Representation,
    as_representation,
    cached,
    check_all_finite,
    representation_title,
)
from .neighbors import Search, neighbors
from .search import nearest_by_full_comparison
from .similarities import Affinity, neighbor_similarity
from .ties import Nearest

# Number of samples with an additional exact search: the standard error is at most 0.016.
RECALL_SAMPLES = 1000


def neighbor_recall(
    X: Any, *, k: int, metric: Affinity = "euclidean", search: Search = "hnsw"
) -> float:
    r"""Return the recall of a neighbour search: the share of the exact nearest neighbours that an
    approximate search finds on these data.

    .. math:: \frac{1}{|S| k} \sum_{i \in S} |N(i) \cap \tilde N(i)|

    with the exact k nearest neighbours :math:`N(i)` and the neighbours :math:`\tilde N(i)` of the
    search, over 1,000 samples drawn without replacement (all samples if there are fewer). Data with
    equal n use the same samples. A recall of 1 means that the search found every neighbour. If
    several samples tie with the k-th neighbour, any of the tied samples is correct, up to the
    number of remaining places; so 1 does not mean that the search found all tied samples.

    X is (n, d), n > k; the result is a float. ``metric``: ``"euclidean"``, ``"cosine"`` or
    ``"inner"`` product; ``search``: the search method, as in the measures with this parameter.
    :func:`compare` records the recall with the values of such measures. Raises ``ValueError`` for
    another metric or index or a k that is no integer, and ``UndefinedError`` for data without
    neighbours.
    """
    for name, value, choices in (
        ("metric", metric, get_args(Affinity)),
        ("search", search, get_args(Search)),
    ):
        check_choice(f"neighbor_recall: {name}", value, choices)
    if not isinstance(k, int | np.integer) or isinstance(k, bool):
        raise ValueError(f"neighbor_recall: k must be an integer; got {k!r}")
    x = as_representation(X)
    if x.origin or x.signed:
        raise UndefinedError(
            f"neighbor_recall needs the samples, and {representation_title(x)} is of a stream"
        )
    check_all_finite(x)
    return mean_neighbor_recall(x, k=k, metric=metric, search=search)


@cached("scalar")
def mean_neighbor_recall(x: Representation, k: int, metric: Affinity, search: Search) -> float:
    """Return the share of the k exact nearest neighbours that the search finds, from 0 to 1, as a
    mean over a random sample of the rows; 1 for ``search="exact"``."""
    indices = neighbors(x, k=k, metric=metric, search=search)
    if search == "exact":
        return 1.0
    n, similarity = x.shape[0], neighbor_similarity(x, metric)
    sample = np.sort(generator(0, "recall").choice(n, size=min(n, RECALL_SAMPLES), replace=False))
    shared = 0
    for start, stop in row_blocks(len(sample)):
        rows = sample[start:stop]
        shared += _found_neighbor_count(
            nearest_by_full_comparison(rows, similarity, k), indices[rows], n
        )
    return shared / (len(sample) * k)


def _found_neighbor_count(exact: Nearest, indices: np.ndarray, n: int) -> int:
    """Return how many of the k nearest places of all rows a search filled with a correct sample.
    ``exact``: the exact neighbours of the rows. ``indices``: (rows, k), the neighbours of the
    search. ``n``: the number of samples."""
    ties, k = exact.ties, indices.shape[1]
    crowded = ties.crowded
    is_nearest, is_tied = np.zeros((2, len(indices), n), dtype=bool)
    np.put_along_axis(is_nearest, exact.listed, True, axis=1)
    positions = np.repeat(ties.rows, ties.sizes), ties.members
    is_tied[positions] = np.repeat(crowded, ties.sizes)
    places = np.zeros(len(indices), dtype=np.int64)
    places[ties.rows[crowded]] = k - ties.certain[crowded]
    hits = (
        np.count_nonzero(np.take_along_axis(part, indices, axis=1), axis=1)
        for part in (is_nearest & ~is_tied, is_tied)
    )
    return int((next(hits) + np.minimum(next(hits), places)).sum())


def pair_recall(
    x: Representation, y: Representation, *, k: int, search: Search, metric: Affinity
) -> dict[str, float]:
    """Return {"neighbor_recall": the lower recall of x and y}, the diagnostic of a pair."""
    return {
        "neighbor_recall": min(
            mean_neighbor_recall(r, k=k, metric=metric, search=search) for r in (x, y)
        )
    }
