"""Views of the k nearest neighbours of every sample: exact or approximate, and which of them are
equally near.

Samples as near as the k-th nearest *tie* for the places that the nearer ones leave, and share them
equally: with p places for t samples each is a neighbour with weight p / t, so the weights of every
row sum to k. No order of the samples then makes a difference. Distances that differ by rounding
only are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from ..arrays import scalar, to_numpy
from ..representation import Representation, Undefined, title, view
from .approximate import proposed
from .distances import gathered_blocks, row_blocks
from .points import preshape, size, unit, unit_rows

Metric = Literal["cosine", "euclidean"]
Affinity = Literal["cosine", "euclidean", "inner"]
Index = Literal["exact", "hnsw"]


class NeighbourSearch(NamedTuple):
    """Which neighbours: how many, nearest by what, and searched how."""

    k: int
    metric: Affinity
    method: Index = "exact"


class Ties(NamedTuple):
    """The rows that have equally near neighbours; all of it is empty without any."""

    rows: np.ndarray  # (m,), in order
    # (m, k): the place, from 0, where the group of equally near samples of every place begins.
    begins: np.ndarray
    starts: np.ndarray  # (m + 1,): where the members of every row start
    # For every row all samples as near as the k-th nearest, listed or not, in order of index.
    members: np.ndarray

    @property
    def certain(self) -> np.ndarray:
        """How many samples are nearer than the k-th nearest."""
        return np.asarray(self.begins[:, -1])

    @property
    def sizes(self) -> np.ndarray:
        """How many samples are as near as the k-th nearest."""
        return np.diff(self.starts)

    @property
    def weights(self) -> np.ndarray:
        """How much of a neighbour each of them is."""
        return np.asarray((self.begins.shape[1] - self.certain) / self.sizes)

    @property
    def crowded(self) -> np.ndarray:
        """Whether there are more of them than places."""
        return np.asarray(self.sizes > self.begins.shape[1] - self.certain)


class Nearest(NamedTuple):
    """The nearest neighbours of every row, nearest first and equally near ones by index, shape (n,
    k); and the ties."""

    listed: np.ndarray
    ties: Ties


@view
def nearest(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> Nearest:
    """The k nearest other samples of every sample, with their ties.

    Nearest by Euclidean distance, cosine, or inner product. The sample itself is left out by its
    index, so duplicates of it count as neighbours. A zero row has cosine 0 with every sample.
    Blocks of rows bound the memory: it is O(n k) and one number for every sample that is as near as
    the k-th nearest. Computed by NumPy.

    ``index="hnsw"``: those found by an approximate search; ``recall.recall`` says how many of the
    nearest these are. Only samples that the search proposes, somewhat more than k, can tie.
    """
    n = x.shape[0]
    if not 1 <= k < n:
        raise Undefined(
            f"neighbours of {title(x)}: k must be from 1 to {n - 1} for its {n} samples; got k={k}"
        )
    not_constant(x)
    similarity = similarity_of(x, metric)
    if index == "hnsw":
        return _best_proposed(x, similarity, k)
    return _stacked(
        nearest_to(np.arange(start, stop), similarity, k) for start, stop in row_blocks(n)
    )


def neighbours(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> np.ndarray:
    """Indices of the k nearest other samples of every sample, nearest first, equally near ones by
    index, (n, k).

    Those that tie for the last places with others that are not listed have the smallest indices.
    """
    return nearest(x, k=k, metric=metric, index=index).listed


def nearest_to(rows: np.ndarray, similarity: Similarity, k: int) -> Nearest:
    """The k nearest neighbours of these rows, by comparing them with all others; rows are numbered
    as listed here."""
    return largest(similarity.to_others(rows), k, similarity.terms[rows])


def _stacked(blocks: Iterable[Nearest]) -> Nearest:
    """Put blocks of rows together."""
    listed, ties = zip(*blocks)
    firsts = np.cumsum([0] + [len(block) for block in listed])
    counts = np.concatenate([part.sizes for part in ties])
    return Nearest(
        np.concatenate(listed),
        Ties(
            np.concatenate([part.rows + first for part, first in zip(ties, firsts)]),
            np.concatenate([part.begins for part in ties]),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([part.members for part in ties]),
        ),
    )


def _best_proposed(x: Representation, similarity: Similarity, k: int) -> Nearest:
    """The k nearest among somewhat more than k that an approximate search proposes."""
    n, more = x.shape[0], max(10, k // 10)  # what single precision cannot tell apart from the k-th
    listed = np.sort(
        proposed(similarity.points, min(n, k + 1 + more), inner=similarity.squares is None), axis=1
    )
    values = similarity.to_listed(listed)
    values[(listed < 0) | (listed == np.arange(n)[:, None])] = -np.inf
    few = np.count_nonzero(values > -np.inf, axis=1).min()
    if few < k:
        problem = (
            f'the approximate search found {few} of {k} neighbours of a sample; take index="exact"'
        )
        raise Undefined(
            f"neighbours of {title(x)}: {problem} (many duplicates cut its graph into parts)"
        )
    columns, ties = largest(values, k, similarity.terms)
    members = listed[np.repeat(ties.rows, ties.sizes), ties.members].astype(np.int32)
    return Nearest(np.take_along_axis(listed, columns, axis=1), ties._replace(members=members))


def largest(block: np.ndarray, k: int, terms: np.ndarray | float = 0.0) -> Nearest:
    """Columns of the k largest entries of every row, and which entries are equal up to rounding.

    ``terms``: magnitude of the numbers whose difference the entries of a row are, if larger than
    the entries. Without a tolerance rounding would order the many equal similarities of binary,
    categorical or duplicated data.
    """
    n = block.shape[1]
    columns = np.argpartition(block, n - k, axis=1)[:, n - k :]
    values = np.take_along_axis(block, columns, axis=1)
    rounding = 16 * np.finfo(block.dtype).eps * np.maximum(np.abs(values).max(axis=1), terms)
    level = values.min(axis=1)
    # More entries reach the k-th largest value than there is room for: which of them the partition
    # kept is arbitrary.
    crowded = np.flatnonzero((block >= (level - rounding)[:, None]).sum(axis=1) > k)
    columns.sort(axis=1)
    order, begins = _descending(np.take_along_axis(block, columns, axis=1), rounding)
    columns = np.take_along_axis(columns, order, axis=1)
    members = {}
    for row in crowded:
        columns[row], begins[row], members[row] = _with_ties(
            block[row], k, level[row], rounding[row]
        )
    rows = np.flatnonzero(
        (begins < np.arange(k)).any(axis=1) | np.isin(np.arange(len(block)), crowded)
    )
    groups = [
        members[row] if row in members else np.sort(columns[row, begins[row, -1] :]) for row in rows
    ]
    starts = np.cumsum([0] + [len(group) for group in groups])
    flat = np.concatenate(
        [np.empty(0, dtype=np.int32), *groups], dtype=np.int32, casting="same_kind"
    )
    return Nearest(columns, Ties(rows, begins[rows], starts, flat))


def _with_ties(
    entries: np.ndarray, k: int, level: float, rounding: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest entries, where their groups begin, and all that equal the k-th largest, which
    is ``level``."""
    is_larger = entries > level + rounding
    larger = np.flatnonzero(is_larger)
    equal = np.flatnonzero((entries >= level - rounding) & ~is_larger)
    count = len(larger)
    order, begins = _descending(entries[None, larger], np.array([rounding]))
    last = np.full(k - count, count)
    return (
        np.concatenate([larger[order[0]], equal[: k - count]]),
        np.concatenate([begins[0], last]),
        equal,
    )


def _descending(values: np.ndarray, rounding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions that sort every row, largest first, and leave values that differ by rounding only
    in their order.

    Also the place where the group of such values begins, of every place.
    """
    order = np.argsort(-values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    begins = np.zeros(order.shape, dtype=np.int32)
    places = np.arange(1, values.shape[1], dtype=np.int32)
    begins[:, 1:] = np.where(ordered[:, :-1] - ordered[:, 1:] > rounding[:, None], places, 0)
    np.maximum.accumulate(begins, axis=1, out=begins)
    order += begins * np.int64(values.shape[1])  # the group first, then the position
    order.sort(axis=1)
    return np.asarray(order % values.shape[1]), begins


class Similarity(NamedTuple):
    """What the nearest neighbours of a row are largest in, up to a constant of the row: computed
    block by block."""

    points: np.ndarray
    squares: np.ndarray | None  # squared lengths: of Euclidean distances only
    terms: np.ndarray  # magnitude, by row, of the numbers that are subtracted

    def to_others(self, rows: np.ndarray) -> np.ndarray:
        """Similarities of these rows to all rows, minus infinity to themselves, shape (len(rows),
        n)."""
        block = self._of(self.points[rows] @ self.points.T, slice(None))
        block[np.arange(len(rows)), rows] = -np.inf
        return block

    def to_listed(self, indices: np.ndarray) -> np.ndarray:
        """Similarities of every row to the rows listed for it, shape of ``indices``."""
        return self._of(_products(self.points, indices), indices)

    def _of(self, products: np.ndarray, columns: np.ndarray | slice) -> np.ndarray:
        return products if self.squares is None else 2 * products - self.squares[columns]


def similarity_of(x: Representation, metric: Affinity) -> Similarity:
    """Return what the nearest neighbours are largest in."""
    if metric == "inner":
        rows = to_numpy(unit(x, centered=False))
        lengths = np.linalg.norm(rows, axis=1)
        return Similarity(rows, None, lengths * lengths.max())
    points = to_numpy(unit_rows(x) if metric == "cosine" else preshape(x))
    squares = np.einsum("ij,ij->i", points, points)
    return Similarity(points, None if metric == "cosine" else squares, squares)


def cosines_to(x: Representation, indices: np.ndarray) -> np.ndarray:
    """Cosine similarities in x between every sample and the samples listed for it, shape of
    ``indices``."""
    return _products(to_numpy(unit_rows(x)), indices)


def cosines_of(x: Representation, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosine similarities in x between pairs of samples."""
    rows = to_numpy(unit_rows(x))
    cosines = np.empty(len(first), dtype=rows.dtype)
    for start, stop in gathered_blocks(len(first), rows.shape[1]):
        cosines[start:stop] = np.einsum(
            "ij,ij->i", rows[first[start:stop]], rows[second[start:stop]]
        )
    return cosines


def _products(rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Inner products of every row with the rows listed for it, shape of ``indices``."""
    products = np.empty(indices.shape, dtype=rows.dtype)
    for start, stop in gathered_blocks(len(indices), indices.shape[1] * rows.shape[1]):
        gathered = rows[indices[start:stop]]
        products[start:stop] = np.matmul(gathered, rows[start:stop, :, None])[:, :, 0]
    return products


@view
def own_cosines(x: Representation, k: int, index: Index = "exact") -> np.ndarray:
    """Cosine similarities to the k nearest neighbours by cosine, shape (n, k)."""
    return cosines_to(x, neighbours(x, k=k, metric="cosine", index=index))


def not_constant(x: Representation) -> None:
    """Raise ``Undefined`` when no sample is nearer than another."""
    if scalar(size(x)) == 0:
        raise Undefined(
            f"{title(x)} is constant (all its rows are equal): no sample has nearest neighbours"
        )
