"""Overlap of the nearest neighbours of two representations, with ties. NumPy computes the overlap
of a pair from the neighbour lists; ranks among all samples are computed on the device of the
data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..base.arrays import Array, as_array_like, device, epsilon, namespace, row_blocks, to_numpy
from ..data.representation import Representation, cached
from .chords import TIE_EPSILONS
from .neighbor_kernels import neighbor_matrix
from .neighbors import NeighborSearch, nearest
from .similarities import NeighborMetric, neighbor_similarity
from .ties import Nearest, Ties

MAX_COMPARED_ENTRIES = 2**21  # entries of rows compared at a time
NeighborhoodScore = Callable[[Nearest, Nearest], float]


def normalized_overlap(
    score: NeighborhoodScore, x: Representation, y: Representation, search: NeighborSearch
) -> float:
    """Return ``score`` of the neighbourhoods of x and y, divided by the geometric mean of the
    scores of x with x and of y with y, which are 1 without ties; at most 1."""
    a, b = (nearest(r, *search) for r in (x, y))
    return min(1.0, score(a, b) / self_overlap(score, x, y, search))


def self_overlap(
    score: NeighborhoodScore, x: Representation, y: Representation, search: NeighborSearch
) -> float:
    """Return the geometric mean of ``score`` of x with x and of y with y: the largest score that
    ties allow."""
    # The root of a square is exact, so the overlap of X with itself is exactly 1.
    return math.sqrt(_self_score(x, score, search) * _self_score(y, score, search))


@cached("scalar")
def _self_score(x: Representation, score: NeighborhoodScore, search: NeighborSearch) -> float:
    neighbors = nearest(x, *search)
    return score(neighbors, neighbors) if len(neighbors.ties.rows) else 1.0


def common_neighbor_weights(a: Nearest, b: Nearest) -> np.ndarray:
    """Return the total weight of the common neighbours of every sample, shape (n,). The weight of
    a common neighbour is the product of the weights in a and b."""
    n, k = a.listed.shape
    # All rows at once, unless many samples tie.
    height = max(1, MAX_COMPARED_ENTRIES // (k + _max_tied_samples(a, b)))
    blocks = row_blocks(n, height)
    return np.concatenate(
        [
            _common_weights_of_block(
                nearest_of_row_range(a, start, stop), nearest_of_row_range(b, start, stop), n
            )
            for start, stop in blocks
        ]
    )


def _common_weights_of_block(a: Nearest, b: Nearest, n: int) -> np.ndarray:
    if not (len(a.ties.rows) or len(b.ties.rows)):  # no ties: count without sparse arrays
        indices = np.sort(np.concatenate([a.listed, b.listed], axis=1), axis=1)
        return np.count_nonzero(indices[:, 1:] == indices[:, :-1], axis=1).astype(float)
    w, v = (neighbor_matrix(neighbors, np.ones(neighbors.listed.shape), n) for neighbors in (a, b))
    return w.multiply(v).sum(axis=1)


def nearest_of_row_range(neighbors: Nearest, start: int, stop: int) -> Nearest:
    """Return the neighbours of the rows ``start`` to ``stop``, rows numbered from 0; neighbours
    keep their indices."""
    ties = neighbors.ties
    first, last = np.searchsorted(ties.rows, (start, stop))
    members = ties.members[ties.starts[first] : ties.starts[last]]
    starts = ties.starts[first : last + 1] - ties.starts[first]
    return Nearest(
        neighbors.listed[start:stop],
        Ties(ties.rows[first:last] - start, ties.begins[first:last], starts, members),
    )


def _max_tied_samples(a: Nearest, b: Nearest) -> int:
    """Return the largest number of samples that tie in a row of a or of b."""
    return int(max(neighbors.ties.sizes.max(initial=0) for neighbors in (a, b)))


def mean_common_share(a: Nearest, b: Nearest) -> float:
    """Return the mean over the samples of the weight of common neighbours, divided by k."""
    return float(common_neighbor_weights(a, b).sum() / a.listed.size)


class CommonNeighbors(NamedTuple):
    """Samples that are neighbours of the same sample in x and in y, for some rows."""

    row: np.ndarray  # position of the row, from 0
    weight: np.ndarray  # weight in x times weight in y
    first: np.ndarray  # first place, from 0, of the group of equally near samples in x
    second: np.ndarray  # first place of the group in y


def rows_with_ties(a: Nearest, b: Nearest) -> np.ndarray:
    """Return the sorted indices of the rows with equally near neighbours in a or in b."""
    return np.union1d(a.ties.rows, b.ties.rows)


def common_neighbors_by_blocks(
    a: Nearest, b: Nearest, rows: np.ndarray
) -> Iterator[tuple[slice, CommonNeighbors]]:
    """Yield, for blocks of ``rows``, the slice of ``rows`` and the common neighbours; ``row`` of
    the common neighbours counts within the block. Blocks are small enough for memory and for tables
    of k by k places."""
    for start, stop in row_blocks(
        len(rows),
        max(1, MAX_COMPARED_ENTRIES // (a.listed.shape[1] ** 2 + _max_tied_samples(a, b))),
    ):
        yield slice(start, stop), find_common_neighbors(a, b, rows[start:stop])


def find_common_neighbors(a: Nearest, b: Nearest, rows: np.ndarray) -> CommonNeighbors:
    """Return the common neighbours of the samples ``rows`` in a and b, with their weights."""
    (keys, first, left), (other_keys, second, right) = (
        _group_members(neighbors, rows) for neighbors in (a, b)
    )
    common_keys, i, j = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
    return CommonNeighbors(common_keys // len(a.listed), left[i] * right[j], first[i], second[j])


def _group_members(
    neighbors: Nearest, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all neighbours of the samples ``rows``, as three arrays of one length, an entry per
    row and neighbour: the number p * n + neighbour, with p the position in ``rows``; the first
    place of the group of equally near samples; and the weight."""
    (n, k), ties = neighbors.listed.shape, neighbors.ties
    _, tie_rows, row_positions = np.intersect1d(
        ties.rows, rows, assume_unique=True, return_indices=True
    )
    group_firsts, certain = group_starts(neighbors, rows), np.full(len(rows), k)
    certain[row_positions] = ties.certain[tie_rows]
    untied = np.arange(k) < certain[:, None]
    sizes = ties.sizes[tie_rows]
    positions = np.arange(sizes.sum()) + np.repeat(
        ties.starts[tie_rows] - np.cumsum(sizes) + sizes, sizes
    )
    row = np.concatenate([np.nonzero(untied)[0], np.repeat(row_positions, sizes)])
    sample = np.concatenate([neighbors.listed[rows][untied], ties.members[positions]])
    first = np.concatenate([group_firsts[untied], np.repeat(ties.certain[tie_rows], sizes)])
    weight = np.concatenate([np.ones(untied.sum()), np.repeat(ties.weights[tie_rows], sizes)])
    return row * n + sample, first, weight


def group_starts(neighbors: Nearest, rows: np.ndarray) -> np.ndarray:
    """Return, for every place in the neighbour lists of the samples ``rows``, the first place,
    from 0, of the group of equally near samples, shape (rows, k)."""
    starts = np.tile(np.arange(neighbors.listed.shape[1]), (len(rows), 1))
    _, tie_rows, row_positions = np.intersect1d(
        neighbors.ties.rows, rows, assume_unique=True, return_indices=True
    )
    starts[row_positions] = neighbors.ties.begins[tie_rows]
    return starts


def group_lengths(starts: np.ndarray) -> np.ndarray:
    """Return the number of places in the group of every place, in the shape of ``starts``, (rows,
    k), the first place of the group."""
    indices = (np.arange(len(starts))[:, None] * starts.shape[1] + starts).ravel()
    return np.bincount(indices, minlength=starts.size)[indices].reshape(starts.shape)


def common_weight_table(common: CommonNeighbors, rows: int, k: int) -> np.ndarray:
    """Return, for every row, a table with the total weight of the common neighbours whose group
    begins at place p in x and at place q in y, shape (rows, k, k). ``rows``: the number of rows."""
    indices = (common.row * k + common.first) * k + common.second
    return np.bincount(indices, weights=common.weight, minlength=rows * k * k).reshape(rows, k, k)


def ranks_of_neighbors(x: Representation, neighbors: Nearest, metric: NeighborMetric) -> np.ndarray:
    """Return the ranks in x, from 1 for the nearest sample to n - 1, of the samples in the lists
    ``neighbors``, shape (n, k).

    Equally near samples share their mean rank. Places with tied neighbours have the mean rank of
    all tied samples.
    """
    similarity, ties = neighbor_similarity(x, metric), neighbors.ties
    ranks, crowded = np.empty(neighbors.listed.shape), np.flatnonzero(ties.crowded)
    for start, stop in row_blocks(len(ranks)):
        block, terms = similarity.to_others(np.arange(start, stop)), similarity.terms[start:stop]
        ranks[start:stop] = _tie_averaged_ranks(block, neighbors.listed[start:stop], terms)
        first, last = np.searchsorted(ties.rows[crowded], (start, stop))
        for tie in crowded[first:last]:
            row, members = ties.rows[tie], ties.members[ties.starts[tie] : ties.starts[tie + 1]]
            ranks[row, ties.certain[tie] :] = _ranks_by_sorting(
                block[row - start, :], members, terms[row - start]
            ).mean()
    return ranks


def rank_matrix(x: Representation, metric: NeighborMetric) -> np.ndarray:
    """Return the rank of sample j (column) as a neighbour of sample i (row) in x, from 1 for the
    nearest, 0 on the diagonal, shape (n, n); equally near samples share their mean rank."""
    similarity, n = neighbor_similarity(x, metric), x.shape[0]
    ranks = np.zeros((n, n))
    for start, stop in row_blocks(n):
        block = to_numpy(similarity.to_others(np.arange(start, stop)))
        for row, entries in zip(range(start, stop), block):
            columns = np.delete(np.arange(n), row)
            ranks[row, columns] = _ranks_by_sorting(entries, columns, similarity.terms[row])
    return ranks


def _tie_averaged_ranks(block: Array, indices: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return the ranks, from 1, of the entries of ``block`` at ``indices``, (rows, k), among all
    entries of the row, largest first; entries equal up to rounding share their mean rank.

    ``terms``: magnitude of the numbers subtracted to compute a row, (rows,). The function counts
    for all rows a place at a time, so only the counts leave the device.
    """
    xp = namespace(block)
    values = xp.take_along_axis(block, xp.asarray(indices, device=device(block)), axis=1)
    scales = as_array_like(terms, block)[:, None]
    rounding = (
        TIE_EPSILONS * epsilon(block) * xp.where(xp.abs(values) > scales, xp.abs(values), scales)
    )
    places = []
    for place in range(indices.shape[1]):
        value, error = values[:, place : place + 1], rounding[:, place : place + 1]
        n_larger = xp.count_nonzero(block > value + error, axis=1)
        places.append(n_larger + xp.count_nonzero(block >= value - error, axis=1))
    return (to_numpy(xp.stack(places, axis=1)) + 1) / 2


def _ranks_by_sorting(entries: Array, indices: np.ndarray, terms: float) -> np.ndarray:
    """Return the ranks, from 1, of the entries at ``indices`` among all ``entries`` of a single
    row, largest first, (len(indices),), by sorting the row; entries equal up to rounding share
    their mean rank. ``terms``: the magnitude of the numbers subtracted to compute the row."""
    xp = namespace(entries)
    sorted_entries = xp.sort(entries)
    values = xp.take(entries, xp.asarray(indices, device=device(entries)))
    scales = xp.where(xp.abs(values) > terms, xp.abs(values), terms)
    rounding = TIE_EPSILONS * epsilon(entries) * scales
    n_no_larger = xp.searchsorted(sorted_entries, values + rounding, side="right")
    n_less = xp.searchsorted(sorted_entries, values - rounding, side="left")
    return (2 * entries.shape[0] - to_numpy(n_no_larger + n_less) + 1) / 2


def mean_product_of_draws(
    values: np.ndarray, rows: np.ndarray, total: np.ndarray, n_drawn: np.ndarray
) -> np.ndarray:
    """Return, per row, the mean product of numbers in [0, 1] drawn without replacement, (rows,).

    ``n_drawn`` of the ``total`` numbers of a row are drawn, (rows,) each. ``values`` lists the
    numbers other than 1 of all rows, and ``rows`` the row of every number. The mean is exact. The
    mean over subsets of size m of the first r numbers is (r - m) / r times the mean over subsets of
    size m of the first r - 1, plus m / r times the r-th number times the mean over subsets of size
    m - 1 of the first r - 1.
    """
    n_zero = np.bincount(rows[values == 0], minlength=len(total))
    draws = np.arange(n_drawn.max(initial=1))
    avoided = np.clip(
        (total[:, None] - n_zero[:, None] - draws) / np.maximum(total[:, None] - draws, 1), 0, None
    )
    means = np.prod(np.where(draws < n_drawn[:, None], avoided, 1), axis=1)
    is_possible = means > 0
    mask = (values > 0) & is_possible[rows]
    if mask.any():
        n_nonzero, n_drawn = (
            np.where(is_possible, count, 0) for count in (total - n_zero, n_drawn)
        )
        means *= _mean_product_of_fractions(values[mask], rows[mask], n_nonzero, n_drawn)
    return np.asarray(means)


def _mean_product_of_fractions(
    values: np.ndarray, rows: np.ndarray, total: np.ndarray, n_drawn: np.ndarray
) -> np.ndarray:
    """Return, per row, the mean product of numbers in (0, 1] drawn without replacement, (rows,).

    ``n_drawn`` of the ``total`` numbers of a row are drawn, (rows,) each. ``values`` lists the
    numbers other than 1 of all rows, and ``rows`` the row of every number. The mean is over the
    count of drawn numbers below 1, and over the subsets of that size.
    """
    from scipy.stats import hypergeom  # a slow import: as long as the rest of the library

    counts = np.bincount(rows, minlength=len(total))
    order = np.argsort(-counts, kind="stable")
    ends = np.cumsum(counts[order])
    values = values[np.argsort(np.argsort(order)[rows], kind="stable")]
    sizes = np.arange(n_drawn.max(initial=1) + 1)
    means = np.zeros((len(total), len(sizes)))
    means[:, 0] = 1
    for r in range(1, counts.max() + 1):
        active = np.count_nonzero(counts >= r)
        number = values[ends[:active] - counts[order[:active]] + r - 1]
        previous = means[:active]
        means[:active, 1:] = (
            (r - sizes[1:]) * previous[:, 1:] + sizes[1:] * number[:, None] * previous[:, :-1]
        ) / r
    counts, total, n_drawn = (number[order, None] for number in (counts, total, n_drawn))
    chances = hypergeom.pmf(sizes, np.maximum(total, 1), counts, n_drawn)
    result = np.empty(len(total))
    result[order] = (chances * means).sum(axis=1)
    return result
