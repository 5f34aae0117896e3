"""The largest entries of every row of a block of similarity scores, with ties.

Samples as near as the k-th nearest *tie* for the places left by the nearer samples, and share the
places equally: with p places for t samples, every tied sample is a neighbour with weight p / t, so
the weights of every row sum to k. The result then does not depend on the order of the samples.
Distances that differ only by rounding are equal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    array_library,
    as_array_like,
    device,
    namespace,
    scalar,
    take_in_rows,
    to_numpy,
)
from .chords import TIE_EPSILONS

COLUMNS_PER_GROUP = 4  # columns per group; only the groups with the largest maxima are searched
EXTRA_CANDIDATES = 6  # entries checked beyond the k largest: most ties involve fewer


class Ties(NamedTuple):
    """The rows with equally near neighbours; the arrays are empty without ties.

    ``begins`` (m, k): the first place of the group of equally near samples at every place.
    ``members``: the samples as near as the k-th nearest, one row after another.
    """

    rows: np.ndarray  # (m,), in order
    # (m, k): the first place, from 0, of the group of equally near samples at every place.
    begins: np.ndarray
    starts: np.ndarray  # (m + 1,): the start of every row in ``members``
    # For every row all samples as near as the k-th nearest, listed or not, in order of index.
    members: np.ndarray

    @property
    def certain(self) -> np.ndarray:
        """The number of samples nearer than the k-th nearest, for every row in ``rows``: (m,)."""
        return self.begins[:, -1]

    @property
    def sizes(self) -> np.ndarray:
        """The number of samples as near as the k-th nearest, which counts too, for every row in
        ``rows``: (m,)."""
        return np.diff(self.starts)

    @property
    def weights(self) -> np.ndarray:
        """The neighbour weight p / t of every sample as near as the k-th nearest, for every row in
        ``rows``: (m,)."""
        return (self.begins.shape[1] - self.certain) / self.sizes

    @property
    def crowded(self) -> np.ndarray:
        """Whether more samples tie with the k-th nearest than there are places, for every row in
        ``rows``: (m,)."""
        return np.asarray(self.sizes > self.begins.shape[1] - self.certain)


class Nearest(NamedTuple):
    """The nearest neighbours of every row, nearest first and equally near samples by index, shape
    (n, k); and the ties."""

    listed: np.ndarray
    ties: Ties
    redone: int = 0  # number of rows that single precision left undecided


def empty_ties(k: int) -> Ties:
    """Return the ``Ties`` of rows without equally near neighbours: arrays of length 0. ``k``: the
    number of neighbours."""
    rows = np.empty(0, dtype=np.int64)
    members, starts = np.empty(0, dtype=np.int32), np.empty((0, k), dtype=np.int32)
    return Ties(rows, starts, np.zeros(1, dtype=np.int64), members)


def stack_row_blocks(blocks: Iterable[Nearest]) -> Nearest:
    """Return the neighbours of consecutive blocks of rows as one; rows are numbered over all
    blocks, and ``redone`` is 0."""
    indices, ties, _ = zip(*blocks)
    firsts = np.cumsum([0] + [len(block) for block in indices])
    counts = np.concatenate([part.sizes for part in ties])
    return Nearest(
        np.concatenate(indices),
        Ties(
            np.concatenate([part.rows + first for part, first in zip(ties, firsts)]),
            np.concatenate([part.begins for part in ties]),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([part.members for part in ties]),
        ),
    )


def largest_with_ties(block: np.ndarray, k: int, terms: np.ndarray | float = 0.0) -> Nearest:
    """Return the columns of the k largest entries of every row of ``block``, (rows, k), with ties
    up to rounding.

    ``terms``: magnitude of the numbers subtracted to compute a row, if larger than the entries,
    (rows,). Without a tolerance, rounding would order the many equal similarities of binary,
    categorical or duplicated data.
    """
    columns = unordered_top_columns(block, k)
    level, rounding = _smallest_of_largest(take_in_rows(block, columns), terms)
    # More than k entries reach the k-th largest value: the partition kept an arbitrary choice.
    crowded = np.flatnonzero((block >= (level - rounding)[:, None]).sum(axis=1) > k)
    columns.sort(axis=1)
    order, firsts = _descending_order(take_in_rows(block, columns), rounding)
    columns = take_in_rows(columns, order)
    members = {}
    for row in crowded:
        columns[row], firsts[row], members[row] = _select_with_ties(
            block[row], k, level[row], rounding[row]
        )
    rows = np.flatnonzero(
        (firsts < np.arange(k)).any(axis=1) | np.isin(np.arange(len(block)), crowded)
    )
    groups = [
        members[row] if row in members else np.sort(columns[row, firsts[row, -1] :]) for row in rows
    ]
    starts = np.cumsum([0] + [len(group) for group in groups])
    flat_members = np.concatenate(
        [np.empty(0, dtype=np.int32), *groups], dtype=np.int32, casting="same_kind"
    )
    return Nearest(columns, Ties(rows, firsts[rows], starts, flat_members))


def largest_listed_with_ties(
    indices: np.ndarray, values: np.ndarray, k: int, terms: np.ndarray
) -> Nearest:
    """Return the k samples with the largest values of every row, with ties up to rounding.

    ``indices``: (rows, m), samples in ascending order; ``values``: (rows, m), their values.
    ``terms``: the magnitude of the numbers subtracted to compute a row, (rows,), if larger than the
    values.
    """
    columns, ties, _ = largest_with_ties(values, k, terms)
    members = indices[np.repeat(ties.rows, ties.sizes), ties.members].astype(np.int32)
    return Nearest(take_in_rows(indices, columns), ties._replace(members=members))


def largest_with_ties_on_device(block: Array, k: int, terms: np.ndarray) -> Nearest:
    """Return the columns of the k largest entries of every row of ``block``, (rows, k), an array of
    any library, with ties up to rounding.

    ``terms``: the magnitude of the numbers subtracted to compute a row, (rows,), if larger than the
    entries. Only the largest entries, and all entries tied with them, leave the device.
    """
    xp, n = namespace(block), block.shape[1]
    count = min(n, k + EXTRA_CANDIDATES)
    columns = unordered_top_columns(block, count)
    values = to_numpy(xp.take_along_axis(block, columns, axis=1))
    level, rounding = _smallest_of_largest(-np.partition(-values, k - 1, axis=1)[:, :k], terms)
    reach = level - rounding
    if count < n and (values.min(axis=1) >= reach).any():
        counts = xp.count_nonzero(block >= as_array_like(reach, block)[:, None], axis=1)
        columns = unordered_top_columns(block, max(count, int(scalar(xp.max(counts)))))
    indices = np.sort(to_numpy(columns), axis=1).astype(np.int64, copy=False)
    order = xp.asarray(indices, device=device(block))
    return largest_listed_with_ties(
        indices, to_numpy(xp.take_along_axis(block, order, axis=1)), k, terms
    )


def _smallest_of_largest(
    values: np.ndarray, terms: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest entry of every row of ``values``, (rows,), the k largest entries of a
    row; and the rounding error of the entries, (rows,).

    ``terms``: the magnitude of the numbers subtracted to compute a row, (rows,) or a number.
    """
    rounding = (
        TIE_EPSILONS * np.finfo(values.dtype).eps * np.maximum(np.abs(values).max(axis=1), terms)
    )
    return values.min(axis=1), rounding


def unordered_top_columns(block: Array, k: int) -> Array:
    """Return the column indices of the k largest entries of every row of ``block``, in any order,
    shape (rows, k); among equal entries the choice is arbitrary."""
    if isinstance(block, np.ndarray):
        return _top_columns_by_groups(block, k)
    kind = array_library(block)
    if kind == "torch":
        return block.topk(k, dim=1, sorted=False).indices
    if kind == "jax":
        return sys.modules["jax"].lax.top_k(block, k)[1]
    return namespace(block).argsort(block, axis=1, descending=True)[:, :k]


def _top_columns_by_groups(block: np.ndarray, k: int) -> np.ndarray:
    """Return the column indices of the k largest entries of every row of ``block``, in any order,
    (rows, k), avoiding the slow partition of whole rows.

    The function divides columns into groups. The k groups with the largest maxima hold the k
    largest entries: any other group has k entries before it that are at least as large.
    """
    rows, n = block.shape
    width = n // COLUMNS_PER_GROUP
    if width < 2 * k:
        return np.argpartition(block, n - k, axis=1)[:, n - k :]
    n_grouped = width * COLUMNS_PER_GROUP
    # Group i has the columns i, i + width, ...: maxima of adjacent columns would be slower.
    groups = _top_columns_by_groups(
        block[:, :n_grouped].reshape(rows, COLUMNS_PER_GROUP, width).max(axis=1), k
    )
    group_columns = (groups[:, None, :] + width * np.arange(COLUMNS_PER_GROUP)[:, None]).reshape(
        rows, -1
    )
    remaining_columns = np.broadcast_to(np.arange(n_grouped, n), (rows, n - n_grouped))
    columns = np.concatenate([group_columns, remaining_columns], axis=1)
    largest = np.argpartition(take_in_rows(block, columns), -k)[:, -k:]
    return take_in_rows(columns, largest)


def _select_with_ties(
    entries: np.ndarray, k: int, level: float, rounding: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for a row of ``entries``: the columns of the k largest entries, (k,); the first
    place of the group of equal entries at every place, (k,); and the columns of all entries equal
    to ``level``, the k-th largest, up to ``rounding``."""
    is_larger = entries > level + rounding
    larger_columns = np.flatnonzero(is_larger)
    equal_columns = np.flatnonzero((entries >= level - rounding) & ~is_larger)
    count = len(larger_columns)
    order, firsts = _descending_order(entries[None, larger_columns], np.array([rounding]))
    last = np.full(k - count, count)
    return (
        np.concatenate([larger_columns[order[0]], equal_columns[: k - count]]),
        np.concatenate([firsts[0], last]),
        equal_columns,
    )


def _descending_order(values: np.ndarray, rounding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions that sort every row of ``values``, (rows, m), largest first; values
    equal up to ``rounding``, (rows,), keep their order.

    The function also returns, for every place, the first place of the group of equal values, (rows,
    m).
    """
    order = np.argsort(-values, axis=1, kind="stable")
    sorted_values = take_in_rows(values, order)
    firsts = np.zeros(order.shape, dtype=np.int32)
    places = np.arange(1, values.shape[1], dtype=np.int32)
    firsts[:, 1:] = np.where(
        sorted_values[:, :-1] - sorted_values[:, 1:] > rounding[:, None], places, 0
    )
    np.maximum.accumulate(firsts, axis=1, out=firsts)
    order += firsts * np.int64(values.shape[1])  # the group first, then the position
    order.sort(axis=1)
    return np.asarray(order % values.shape[1]), firsts
