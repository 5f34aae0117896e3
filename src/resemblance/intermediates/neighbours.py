"""Views of the k nearest neighbours of every sample: exact or approximate, and which of them are
equally near."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..data.representation import Representation, Undefined, title, view, with_rows
from .approximate import proposed
from .lost_ties import need_separated
from .points import preshape
from .search import certainly_nearest, completed, search
from .similarities import Affinity, Similarity, cosines_to, similarity_of, take_rows
from .ties import Nearest, largest_of, no_ties

Index = Literal["exact", "hnsw"]
MORE_OF_ALL = 6  # times as many neighbours among all samples as are needed in a half of them
FEW = 8  # samples for each that is listed, below which searching the part is faster
_IN_PARTS: ContextVar[bool] = ContextVar("in_parts", default=False)


class NeighbourSearch(NamedTuple):
    """Which neighbours: how many, nearest by what, and searched how."""

    k: int
    metric: Affinity
    method: Index = "exact"


@view
def nearest(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> Nearest:
    """The k nearest other samples of every sample, with their ties.

    Nearest by Euclidean distance, cosine, or inner product. The sample itself is left out by its
    index, so duplicates of it count as neighbours. A zero row has cosine 0 with every sample.
    Blocks of rows bound the memory: it is O(n k) and one number for every sample that is as near as
    the k-th nearest. Products and the choice of the largest are computed in the library and on the
    device of the data; only the neighbours leave it.

    ``index="hnsw"``: those found by an approximate search; ``recall.recall`` says how many of the
    nearest these are. Only samples that the search proposes, somewhat more than k, can tie.
    """
    n = x.shape[0]
    if not 1 <= k < n:
        raise Undefined(
            f"neighbours of {title(x)}: k must be from 1 to {n - 1} for its {n} samples; got k={k}"
        )
    similarity = similarity_of(x, metric)
    if index != "exact":
        return _best_proposed(x, similarity, k)
    if _IN_PARTS.get() and _has_more(x, k, metric, index):
        listed = _certainly_nearest(x, k=MORE_OF_ALL * k, metric=metric)[:, :k].copy()
        near = completed(similarity, listed, listed[:, -1] < n)
    else:
        near = search(similarity, k)
    if metric != "inner":
        need_separated(x, similarity, near)
    return near


def neighbours(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> np.ndarray:
    """Indices of the k nearest other samples of every sample, nearest first, equally near ones by
    index, (n, k).

    Those that tie for the last places with others that are not listed have the smallest indices.
    """
    return nearest(x, k=k, metric=metric, index=index).listed


def nearest_in_part(
    x: Representation, rows: np.ndarray, k: int, metric: Affinity, index: Index
) -> Nearest | None:
    """:func:`nearest` of a representation of some rows, from the neighbours among all rows; None
    where these say too little.

    The first k of them that are in the part are its nearest, as a search there would find them, if
    no rounding can change their order. Other rows are searched in full. Euclidean distances are
    rounded by the mean of the part.
    """
    if not _has_more(x, k, metric, index):
        return None
    places = np.full(x.shape[0] + 1, -1)
    places[rows] = np.arange(len(rows))
    of_all = _certainly_nearest(x, k=MORE_OF_ALL * k, metric=metric)
    listed = places.take(of_all.take(rows, axis=0))
    inside = np.flatnonzero(listed >= 0)
    begins = np.searchsorted(inside, np.arange(0, listed.size + 1, listed.shape[1]))
    is_full = np.diff(begins) >= k
    if 2 * np.count_nonzero(is_full) < len(rows):
        return None
    first = np.zeros((len(rows), k), dtype=np.int64)
    first[is_full] = listed.take(inside[begins[:-1][is_full, None] + np.arange(k)])
    if is_full.all():
        return Nearest(first, no_ties(k))
    part = with_rows(x, take_rows(x.source, rows))
    return completed(similarity_of(part, metric), first, is_full)


@contextmanager
def searching_in_parts(is_needed: bool) -> Iterator[None]:
    """Search inside this block as parts of the samples need it, which then costs no other search,
    or as usual."""
    token = _IN_PARTS.set(is_needed)
    try:
        yield
    finally:
        _IN_PARTS.reset(token)


def _has_more(x: Representation, k: int, metric: Affinity, index: Index) -> bool:
    """Say whether there are neighbours enough to find those in a part among them."""
    is_exact = metric != "euclidean" and index == "exact" and x.precision == "float64"
    return is_exact and FEW * MORE_OF_ALL * k <= x.shape[0]


@view
def _certainly_nearest(x: Representation, k: int, metric: Affinity) -> np.ndarray:
    """The first of the k nearest other samples, which no rounding can reorder, and n for the
    others, (n, k)."""
    listed, certain = certainly_nearest(similarity_of(x, metric), k)
    return np.where(np.arange(k) < certain[:, None], listed, len(listed))


def _best_proposed(x: Representation, similarity: Similarity, k: int) -> Nearest:
    """The k nearest among somewhat more than k that an approximate search proposes."""
    n, more = x.shape[0], max(10, k // 10)  # what single precision cannot tell apart from the k-th
    inner = similarity.squares is None
    points = to_numpy(similarity.points if similarity.gram is None else preshape(x))
    listed = np.sort(proposed(points, min(n, k + 1 + more), inner=inner), axis=1)
    values = np.array(similarity.to_listed(np.arange(n), np.maximum(listed, 0)))
    values[(listed < 0) | (listed == np.arange(n)[:, None])] = -np.inf
    few = np.count_nonzero(values > -np.inf, axis=1).min()
    if few < k:
        problem = (
            f'the approximate search found {few} of {k} neighbours of a sample; take index="exact"'
        )
        raise Undefined(
            f"neighbours of {title(x)}: {problem} (many duplicates cut its graph into parts)"
        )
    return largest_of(listed, values, k, similarity.terms)


@view
def own_cosines(x: Representation, k: int, index: Index = "exact") -> np.ndarray:
    """Cosine similarities to the k nearest neighbours by cosine, shape (n, k)."""
    return cosines_to(x, neighbours(x, k=k, metric="cosine", index=index))
