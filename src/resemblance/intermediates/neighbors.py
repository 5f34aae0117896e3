"""Intermediates of the k nearest neighbours of every sample, from an exact or an approximate
search, with ties."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.context_values import context_value
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, replace_rows, representation_title
from .approximate import hnsw_candidates
from .lost_ties import require_separated_neighbors
from .points import preshape
from .search import fill_missing_neighbors, search_nearest, stable_neighbors
from .similarities import Affinity, Similarity, cosines_to_listed, neighbor_similarity, take_rows
from .ties import Nearest, empty_ties, largest_listed_with_ties

Search = Literal["exact", "hnsw"]
# Neighbours to search among all samples, per neighbour needed within half of the samples.
SUBSET_NEIGHBOR_FACTOR = 6
# Minimum samples per listed neighbour: with fewer, a search within the subset is faster.
MIN_SAMPLES_PER_NEIGHBOR = 8
_SEARCHES_SUBSETS: ContextVar[bool] = ContextVar("in_parts", default=False)
_MOST_NEIGHBORS: ContextVar[int] = ContextVar("most neighbours", default=0)


class NeighborSearch(NamedTuple):
    """The parameters of a neighbour search: number of neighbours, metric and search method."""

    k: int
    metric: Affinity
    method: Search = "exact"


@cached("neighbors")
def nearest(x: Representation, k: int, metric: Affinity, search: Search = "exact") -> Nearest:
    """Return the k nearest other samples of every sample, with their ties.

    ``metric``: Euclidean distance, cosine, or inner product. The sample itself is left out by
    index, so duplicates of the sample count as neighbours. A zero row has cosine 0 with every
    sample. Blocks of rows bound the memory to O(n k), plus a number for every sample tied with the
    k-th nearest. The library computes products and selects the largest on the device of the data;
    only the neighbours leave the device.

    ``search="hnsw"``: neighbours from an approximate search; ``recall.mean_neighbor_recall``
    estimates the share of correct neighbours. Only the candidates of the search, somewhat more than
    k, can tie.
    """
    n = x.shape[0]
    if not 1 <= k < n:
        raise UndefinedError(
            f"neighbours of {representation_title(x)}: k must be from 1 to {n - 1} for its {n} "
            f"samples; got k={k}"
        )
    similarity = neighbor_similarity(x, metric)
    if search != "exact":
        return _best_candidates(x, similarity, k)
    if k <= (most := min(_MOST_NEIGHBORS.get(), n - 1)):
        nearest_samples = _first_of_nearest(similarity, _searched_nearest(x, most, metric), k)
    elif _SEARCHES_SUBSETS.get() and _has_enough_neighbors(x, k, metric, search):
        indices = _stable_neighbor_order(x, k=SUBSET_NEIGHBOR_FACTOR * k, metric=metric)[
            :, :k
        ].copy()
        nearest_samples = fill_missing_neighbors(similarity, indices, indices[:, -1] < n)
    else:
        nearest_samples = search_nearest(similarity, k)
    if metric != "inner":
        require_separated_neighbors(x, similarity, nearest_samples)
    return nearest_samples


@cached("neighbors")
def _searched_nearest(x: Representation, k: int, metric: Affinity) -> Nearest:
    """Return the k nearest other samples of every sample, whether or not rounding decides which
    these are."""
    return search_nearest(neighbor_similarity(x, metric), k)


def _first_of_nearest(similarity: Similarity, nearest_samples: Nearest, k: int) -> Nearest:
    """Return the first k of the neighbours in ``nearest_samples``: exactly the result of a search
    for k neighbours with ``similarity``.

    In a row without equally near samples among the neighbours, no search for fewer neighbours finds
    equally near samples either. The function searches the other rows again.
    """
    if k == nearest_samples.listed.shape[1]:
        return nearest_samples
    is_certain = np.ones(len(nearest_samples.listed), dtype=bool)
    is_certain[nearest_samples.ties.rows] = False
    return fill_missing_neighbors(similarity, nearest_samples.listed[:, :k].copy(), is_certain)


def search_most_neighbors(k: int) -> AbstractContextManager[None]:
    """Inside this context, an exact search for fewer than k neighbours takes the first of the k
    nearest, which are searched once; the result is the same."""
    return context_value(_MOST_NEIGHBORS, k)


def neighbors(x: Representation, k: int, metric: Affinity, search: Search = "exact") -> np.ndarray:
    """Return the indices of the k nearest other samples of every sample, nearest first, equally
    near samples by index, shape (n, k).

    Of the samples that tie for the last places, the array lists the samples with the smallest
    indices.
    """
    return nearest(x, k=k, metric=metric, search=search).listed


def nearest_in_subset(
    x: Representation, rows: np.ndarray, k: int, metric: Affinity, search: Search
) -> Nearest | None:
    """Return the k nearest neighbours, with ties, within the subset ``rows`` of samples, from the
    neighbours among all samples; None if too few of the neighbours are in the subset.

    Row and neighbour numbers in the result are positions in ``rows``. For a row, the first k listed
    neighbours inside the subset are the nearest within the subset, exactly as a search of the
    subset would find, if rounding cannot change their order. The function searches the remaining
    rows in full. Euclidean distances are excluded, because their rounding depends on the mean of
    the subset.
    """
    if not _has_enough_neighbors(x, k, metric, search):
        return None
    places = np.full(x.shape[0] + 1, -1)
    places[rows] = np.arange(len(rows))
    candidates = _stable_neighbor_order(x, k=SUBSET_NEIGHBOR_FACTOR * k, metric=metric)
    indices = places.take(candidates.take(rows, axis=0))
    positions = np.flatnonzero(indices >= 0)
    starts = np.searchsorted(positions, np.arange(0, indices.size + 1, indices.shape[1]))
    is_full = np.diff(starts) >= k
    if 2 * np.count_nonzero(is_full) < len(rows):
        return None
    first = np.zeros((len(rows), k), dtype=np.int64)
    first[is_full] = indices.take(positions[starts[:-1][is_full, None] + np.arange(k)])
    if is_full.all():
        return Nearest(first, empty_ties(k))
    part = replace_rows(x, take_rows(x.source, rows))
    return fill_missing_neighbors(neighbor_similarity(part, metric), first, is_full)


def reuse_neighbors_in_subsets(is_needed: bool) -> AbstractContextManager[None]:
    """Inside this context, if ``is_needed``, search enough neighbours for later searches in
    subsets of the samples, which then need no search of their own; otherwise search as usual."""
    return context_value(_SEARCHES_SUBSETS, is_needed)


def _has_enough_neighbors(x: Representation, k: int, metric: Affinity, search: Search) -> bool:
    """Return whether an exact search among all samples can list enough neighbours to find k
    neighbours within a subset."""
    is_exact = metric != "euclidean" and search == "exact" and x.dtype == "float64"
    return is_exact and MIN_SAMPLES_PER_NEIGHBOR * SUBSET_NEIGHBOR_FACTOR * k <= x.shape[0]


@cached("anew")
def _stable_neighbor_order(x: Representation, k: int, metric: Affinity) -> np.ndarray:
    """Return, for every sample, the first of its k nearest neighbours whose order rounding cannot
    change, nearest first; the number n fills the remaining places, shape (n, k)."""
    indices, certain = stable_neighbors(neighbor_similarity(x, metric), k)
    return np.where(np.arange(k) < certain[:, None], indices, len(indices))


def _best_candidates(x: Representation, similarity: Similarity, k: int) -> Nearest:
    """Return the k nearest among the candidates of an approximate search, somewhat more than k.
    Raises ``UndefinedError`` if a sample has fewer than k candidates."""
    # Extra candidates, for samples that single precision cannot distinguish from the k-th.
    n, extra = x.shape[0], max(10, k // 10)
    inner = similarity.squares is None
    points = to_numpy(similarity.points if similarity.gram is None else preshape(x))
    indices = np.sort(hnsw_candidates(points, min(n, k + 1 + extra), inner=inner), axis=1)
    values = np.array(similarity.to_listed(np.arange(n), np.maximum(indices, 0)))
    values[(indices < 0) | (indices == np.arange(n)[:, None])] = -np.inf
    m = np.count_nonzero(values > -np.inf, axis=1).min()
    if m < k:
        problem = (
            f'the approximate search found {m} of {k} neighbours of a sample; take search="exact"'
        )
        raise UndefinedError(
            f"neighbours of {representation_title(x)}: {problem} (many duplicates cut its graph "
            "into parts)"
        )
    return largest_listed_with_ties(indices, values, k, similarity.terms)


@cached("n k")
def own_cosines(x: Representation, k: int, search: Search = "exact") -> np.ndarray:
    """Return the cosine similarities of every sample to its k nearest neighbours by cosine,
    nearest first, shape (n, k)."""
    return cosines_to_listed(x, neighbors(x, k=k, metric="cosine", search=search))
