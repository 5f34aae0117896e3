"""Lists of neighbours: do two representations list the nearest neighbours in the same order?

A sample is not a neighbour of itself. Samples that tie for the last places share the places (see
:func:`mutual_knn`), so no value depends on the order of the samples. The lists are exact unless
``search`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._measure import measure
from ..data.representation import Representation
from ..intermediates.neighbors import NeighborSearch, Search
from ..intermediates.shared_neighbors import (
    common_neighbors_by_blocks,
    common_weight_table,
    group_lengths,
    group_starts,
    normalized_overlap,
    rows_with_ties,
)
from ..intermediates.similarities import Affinity
from ..intermediates.ties import Nearest
from .neighbors import neighbor_search_claims, require_neighbor_order, shared_count_probabilities


@measure(
    label="LCSKNN", family="neighbors", citation="huh2024platonic", version=2,
    larger_is_more_similar=True, range=(0, 1), differentiable=False, limits={"k": (1, np.inf)},
    claims_for=neighbor_search_claims,
)  # fmt: skip
def lcs_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    search: Search = "exact",
) -> float:
    r"""Longest common subsequence: how many nearest neighbours two representations list in the same
    order.

    .. math:: \frac{1}{nk} \sum_i \operatorname{LCS}\left( N_X(i), N_Y(i) \right)

    where LCS is the length of the longest common subsequence of the two lists of k neighbours,
    nearest first: the longest sequence that remains of both lists after striking out entries. X is
    (n, d), Y is (n, e), n > k. ``metric`` and ``search`` as in :func:`mutual_knn`, which is never
    smaller. O(n k^2) time besides the neighbours. Raises ``UndefinedError`` for a constant
    representation.

    Equally near samples have no order, so the measure accepts any order of such samples in the
    other list. Samples that tie for the last places count with the weights of :func:`mutual_knn`,
    and the mean is divided as there. LCS is then the largest total weight of a set of common
    neighbours in which no two neighbours are in opposite orders.

    Use it when you ask how much of the order of the neighbours is kept.

    Beware. The measure is strict and depends on k. Ties are resolved by convention.

    Reference: Huh et al. 2024. The authors' code returns the mean length, k times the value here.
    """
    return normalized_overlap(_common_order_share, x, y, NeighborSearch(k, metric, search))


@lcs_knn.claim("chance")
def chance_of_common_order(
    x: Representation, y: Representation, k: int, metric: Affinity, search: Search
) -> float:
    """Return the expected length of the longest common subsequence of two random lists, over k.

    A list is k of the n - 1 other samples in random order. The longest common subsequence of two
    lists with m common entries has the length of the longest increasing subsequence of m numbers in
    random order. Raises ``UndefinedError`` if neighbours are equally near, and if two lists share
    more than 24 entries by chance.
    """
    require_neighbor_order(x, y, NeighborSearch(k, metric, search), "lcs_knn")
    shared, probability = shared_count_probabilities(x.n_samples, k)
    if probability[shared > MAX_COMMON_ENTRIES].sum() > NEGLIGIBLE_PROBABILITY:
        raise UndefinedError(
            f"lcs_knn: chance is not computed where k={k} of {x.n_samples} samples"
        )
    mask = (shared <= MAX_COMMON_ENTRIES) & (
        probability > NEGLIGIBLE_PROBABILITY / MAX_COMMON_ENTRIES
    )
    lengths = [_longest_increasing(int(m)) for m in shared[mask]]
    return float(probability[mask] @ np.array(lengths)) / k


@measure(
    label="EditKNN", family="neighbors", citation="huh2024platonic", version=2,
    larger_is_more_similar=True, range=(0, 1), differentiable=False, limits={"k": (1, np.inf)},
    claims_for=neighbor_search_claims,
)  # fmt: skip
def edit_distance_knn(
    x: Representation,
    y: Representation,
    *,
    k: int = 10,
    metric: Affinity = "cosine",
    search: Search = "exact",
) -> float:
    r"""Edit distance of neighbours: how few edits turn one list of nearest neighbours into the
    other, as a similarity.

    .. math:: 1 - \frac{1}{nk} \sum_i \operatorname{Lev}\left( N_X(i), N_Y(i) \right)

    where Lev is the Levenshtein distance, the smallest number of insertions, deletions and
    substitutions, between the lists of k neighbours, nearest first. X is (n, d), Y is (n, e), n >
    k. ``metric`` and ``search`` as in :func:`mutual_knn`. O(n k^2) time besides the neighbours.
    Raises ``UndefinedError`` for a constant representation.

    With ties a substitution costs the probability that two places hold different samples when ties
    are broken at random, independently in X and in Y. The mean is divided as in :func:`mutual_knn`,
    so equal lists have the value 1.

    Use it when the order of the neighbours matters in addition to the set.

    Beware. The measure is strict: 10 % of noise lowers the value a lot. Use the measure for nearly
    equal representations.

    Reference: Huh et al. 2024. Larger is more similar, in spite of the name.
    """
    return normalized_overlap(_unedited_share, x, y, NeighborSearch(k, metric, search))


def _common_order_share(a: Nearest, b: Nearest) -> float:
    """Return the mean over samples of the length of the longest common subsequence of the
    neighbour lists in a and b, over k; with ties, of the largest total weight of an order."""
    (n, k), tied_rows = a.listed.shape, rows_with_ties(a, b)
    lengths, is_untied = np.empty(n), np.ones(n, dtype=bool)
    is_untied[tied_rows] = False
    lengths[is_untied] = _common_lengths(a.listed[is_untied], b.listed[is_untied])
    for part, shared in common_neighbors_by_blocks(a, b, tied_rows):
        lengths[tied_rows[part]] = _common_weights(
            common_weight_table(shared, part.stop - part.start, k)
        )
    return float(np.mean(lengths) / k)


def _common_lengths(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the length of the longest common subsequence of every row of a with the same row of
    b, (n,).

    ``a``, ``b``: (n, k), the neighbours, nearest first. Computes one row of the dynamic-programming
    table at a time, for all samples.
    """
    lengths = np.zeros((a.shape[0], a.shape[1] + 1), dtype=np.int64)
    for entry in a.T:
        extended = lengths[:, :-1] + (entry[:, None] == b)
        lengths[:, 1:] = np.maximum.accumulate(np.maximum(lengths[:, 1:], extended), axis=1)
    return lengths[:, -1]


def _common_weights(tables: np.ndarray) -> np.ndarray:
    """Return, for every table, the largest sum of entries on a path that never steps back in rows
    or columns, (tables,).

    ``tables``: (tables, k, k); entry (p, q) is the weight of the common neighbours at place p in
    the first list and at place q in the second. Computes one row of the tables at a time.
    """
    totals = np.zeros(tables.shape[::2])
    for entries in tables.transpose(1, 0, 2):
        sums = np.cumsum(entries, axis=1)
        totals = sums + np.maximum.accumulate(totals - (sums - entries), axis=1)
    return totals[:, -1]


def _unedited_share(a: Nearest, b: Nearest) -> float:
    """Return 1 minus the mean, over samples, of the number of edits that turn the list of
    neighbours in a into the list in b, over k."""
    (n, k), tied_rows = a.listed.shape, rows_with_ties(a, b)
    edits, is_untied = np.empty(n), np.ones(n, dtype=bool)
    is_untied[tied_rows] = False
    left, right = (
        neighbors.listed[is_untied] if len(tied_rows) else neighbors.listed for neighbors in (a, b)
    )
    edits[is_untied] = _least_edit_costs(
        (entry[:, None] != right for entry in left.T), n - len(tied_rows), k, np.int64
    )
    for part, shared in common_neighbors_by_blocks(a, b, tied_rows):
        first, second = (group_starts(neighbors, tied_rows[part]) for neighbors in (a, b))
        match_weights = (
            common_weight_table(shared, len(first), k)
            / group_lengths(first)[:, :, None]
            / group_lengths(second)[:, None, :]
        )
        rows = np.arange(len(first))[:, None]
        costs = (1 - match_weights[rows, place[:, None], second] for place in first.T)
        edits[tied_rows[part]] = _least_edit_costs(costs, len(first), k, np.float64)
    return float(1 - np.mean(edits) / k)


def _least_edit_costs(
    costs: Iterable[np.ndarray], n: int, k: int, kind: type[np.number[Any]]
) -> np.ndarray:
    """Return the lowest total cost, (n,), of turning n lists of k entries into n other lists by
    insertions and deletions, of cost 1, and substitutions.

    ``costs`` yields, for every entry of the first list in order, the costs (n, k) of its
    substitution by the entries of the other list. ``kind``: the dtype of the result.
    """
    steps = np.arange(k + 1)
    totals = np.tile(steps.astype(kind), (n, 1))
    for cost in costs:
        replacement_costs = totals[:, :-1] + cost
        totals += 1  # delete the entry
        totals[:, 1:] = np.minimum(totals[:, 1:], replacement_costs)
        # Insert entries of the other list.
        totals = np.minimum.accumulate(totals - steps, axis=1) + steps
    return totals[:, -1]


# ------------------------------------------------------------------------------------------- chance


MAX_COMMON_ENTRIES = 24  # largest number of common entries in the computation of chance
NEGLIGIBLE_PROBABILITY = 1e-15  # a smaller probability changes no digit


@lru_cache(maxsize=MAX_COMMON_ENTRIES + 1)
def _longest_increasing(m: int) -> float:
    """Return the mean length of the longest increasing subsequence of m numbers in random order.

    By the Robinson-Schensted correspondence, this mean is the mean first row of a Young diagram,
    where a diagram has as many permutations as the squared number of its standard tableaux.
    """
    tableaux = _young_tableau_counts(m)
    total = sum(count**2 for count in tableaux.values())  # m!
    return sum(rows[0] * count**2 for rows, count in tableaux.items() if rows) / total


@lru_cache(maxsize=MAX_COMMON_ENTRIES + 1)
def _young_tableau_counts(m: int) -> dict[tuple[int, ...], int]:
    """Return the number of standard Young tableaux for every shape of ``m`` boxes; a shape is the
    lengths of the rows, longest first."""
    if m == 0:
        return {(): 1}
    shapes: dict[tuple[int, ...], int] = {}
    for rows, count in _young_tableau_counts(m - 1).items():
        for i, length in enumerate((*rows, 0)):
            if i == 0 or rows[i - 1] > length:
                larger_shape = (*rows[:i], length + 1, *rows[i + 1 :])
                shapes[larger_shape] = shapes.get(larger_shape, 0) + count
    return shapes
