"""Intermediates of the k nearest neighbours of every sample: exact or approximate, and which of
them are equally near."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, cached, replace_rows, representation_title
from .approximate import hnsw_candidates
from .lost_ties import require_separated_neighbors
from .points import preshape
from .search import fill_missing_neighbors, search_nearest, stable_neighbors
from .similarities import Affinity, Similarity, cosines_to_listed, neighbor_similarity, take_rows
from .ties import Nearest, empty_ties, largest_listed_with_ties

Search = Literal["exact", "hnsw"]
# times as many neighbours among all samples as are needed in a half of them
SUBSET_NEIGHBOR_FACTOR = 6
# samples for each that is listed, below which searching the part is faster
MIN_SAMPLES_PER_NEIGHBOR = 8
_SEARCHES_SUBSETS: ContextVar[bool] = ContextVar("in_parts", default=False)


class NeighborSearch(NamedTuple):
    """Which neighbours: how many, nearest by what, and searched how."""

    k: int
    metric: Affinity
    method: Search = "exact"


@cached("neighbors")
def nearest(x: Representation, k: int, metric: Affinity, search: Search = "exact") -> Nearest:
    """The k nearest other samples of every sample, with their ties.

    Nearest by Euclidean distance, cosine, or inner product. The sample itself is left out by its
    index, so duplicates of it count as neighbours. A zero row has cosine 0 with every sample.
    Blocks of rows bound the memory: it is O(n k) and one number for every sample that is as near as
    the k-th nearest. Products and the choice of the largest are computed in the library and on the
    device of the data; only the neighbours leave it.

    ``search="hnsw"``: those found by an approximate search; ``recall.recall`` says how many of the
    nearest these are. Only samples that the search proposes, somewhat more than k, can tie.
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
    if _SEARCHES_SUBSETS.get() and _has_enough_neighbors(x, k, metric, search):
        indices = _stable_neighbor_order(x, k=SUBSET_NEIGHBOR_FACTOR * k, metric=metric)[
            :, :k
        ].copy()
        nearest_samples = fill_missing_neighbors(similarity, indices, indices[:, -1] < n)
    else:
        nearest_samples = search_nearest(similarity, k)
    if metric != "inner":
        require_separated_neighbors(x, similarity, nearest_samples)
    return nearest_samples


def neighbors(x: Representation, k: int, metric: Affinity, search: Search = "exact") -> np.ndarray:
    """Indices of the k nearest other samples of every sample, nearest first, equally near ones by
    index, (n, k).

    Those that tie for the last places with others that are not listed have the smallest indices.
    """
    return nearest(x, k=k, metric=metric, search=search).listed


def nearest_in_subset(
    x: Representation, rows: np.ndarray, k: int, metric: Affinity, search: Search
) -> Nearest | None:
    """:func:`nearest` of a representation of some rows, from the neighbours among all rows; None
    where these say too little.

    The first k of them that are in the part are its nearest, as a search there would find them, if
    no rounding can change their order. Other rows are searched in full. Euclidean distances are
    rounded by the mean of the part.
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


@contextmanager
def reuse_neighbors_in_subsets(is_needed: bool) -> Iterator[None]:
    """Search inside this block as parts of the samples need it, which then costs no other search,
    or as usual."""
    token = _SEARCHES_SUBSETS.set(is_needed)
    try:
        yield
    finally:
        _SEARCHES_SUBSETS.reset(token)


def _has_enough_neighbors(x: Representation, k: int, metric: Affinity, search: Search) -> bool:
    """Say whether there are neighbours enough to find those in a part among them."""
    is_exact = metric != "euclidean" and search == "exact" and x.dtype == "float64"
    return is_exact and MIN_SAMPLES_PER_NEIGHBOR * SUBSET_NEIGHBOR_FACTOR * k <= x.shape[0]


@cached("anew")
def _stable_neighbor_order(x: Representation, k: int, metric: Affinity) -> np.ndarray:
    """The first of the k nearest other samples, which no rounding can reorder, and n for the
    others, (n, k)."""
    indices, certain = stable_neighbors(neighbor_similarity(x, metric), k)
    return np.where(np.arange(k) < certain[:, None], indices, len(indices))


def _best_candidates(x: Representation, similarity: Similarity, k: int) -> Nearest:
    """The k nearest among somewhat more than k that an approximate search proposes."""
    n, extra = x.shape[0], max(10, k // 10)  # what single precision cannot tell apart from the k-th
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
    """Cosine similarities to the k nearest neighbours by cosine, shape (n, k)."""
    return cosines_to_listed(x, neighbors(x, k=k, metric="cosine", search=search))
