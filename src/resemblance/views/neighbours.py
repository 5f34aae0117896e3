"""Views of the k nearest neighbours of every sample: exact or approximate, with a stated order for ties."""

from __future__ import annotations

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


@view
def neighbours(x: Representation, k: int, metric: Affinity, index: Index = "exact") -> np.ndarray:
    """Indices of the k nearest other samples of every sample, nearest first, shape (n, k).

    Nearest by Euclidean distance, cosine, or inner product. The sample itself is left out by its index, so duplicates
    of it count as neighbours. Equal similarities, up to rounding, are ordered by index. A zero row has cosine 0 with
    every sample. Blocks of rows bound the memory; computed by NumPy.

    ``index="hnsw"``: those found by an approximate search, in the same order; ``recall.recall`` says how many of
    the nearest these are.
    """
    n = x.shape[0]
    if not 1 <= k < n:
        raise Undefined(f"neighbours of {title(x)}: k must be from 1 to {n - 1} for its {n} samples; got k={k}")
    not_constant(x)
    similarity = similarity_of(x, metric)
    if index == "hnsw":
        return _best_proposed(x, similarity, k)
    found = np.empty((n, k), dtype=np.int64)
    for start, stop in row_blocks(n):
        found[start:stop] = nearest_to(np.arange(start, stop), similarity, k)
    return found


def nearest_to(rows: np.ndarray, similarity: Similarity, k: int) -> np.ndarray:
    """The k nearest neighbours of these rows, by comparing them with all others, shape (len(rows), k)."""
    return largest(similarity.to_others(rows), k, similarity.terms[rows])


def _best_proposed(x: Representation, similarity: Similarity, k: int) -> np.ndarray:
    """The k nearest among somewhat more than k that an approximate search proposes."""
    n, more = x.shape[0], max(10, k // 10)  # what single precision cannot tell apart from the k-th
    listed = np.sort(proposed(similarity.points, min(n, k + 1 + more), inner=similarity.squares is None), axis=1)
    values = similarity.to_listed(listed)
    values[(listed < 0) | (listed == np.arange(n)[:, None])] = -np.inf
    few = np.count_nonzero(values > -np.inf, axis=1).min()
    if few < k:
        problem = f'the approximate search found {few} of {k} neighbours of a sample; take index="exact"'
        raise Undefined(f"neighbours of {title(x)}: {problem} (many duplicates cut its graph into parts)")
    return np.take_along_axis(listed, largest(values, k, similarity.terms), axis=1)


def largest(block: np.ndarray, k: int, terms: np.ndarray | float = 0.0) -> np.ndarray:
    """Column indices of the k largest entries of every row, largest first; entries equal up to rounding by index.

    ``terms``: magnitude of the numbers whose difference the entries of a row are, if larger than the entries. Without
    a tolerance rounding would order the many equal similarities of binary, categorical or duplicated data.
    """
    n = block.shape[1]
    columns = np.argpartition(block, n - k, axis=1)[:, n - k :]
    values = np.take_along_axis(block, columns, axis=1)
    rounding = 16 * np.finfo(block.dtype).eps * np.maximum(np.abs(values).max(axis=1), terms)
    enough = values.min(axis=1) - rounding
    # More entries reach the k-th largest value than there is room for: which of them the partition kept is arbitrary.
    crowded = (block >= enough[:, None]).sum(axis=1) > k
    for row in np.flatnonzero(crowded):
        candidates = np.flatnonzero(block[row] >= enough[row])
        columns[row] = candidates[_descending(block[row : row + 1, candidates], rounding[row : row + 1])[0, :k]]
    columns.sort(axis=1)
    order = _descending(np.take_along_axis(block, columns, axis=1), rounding)
    return np.asarray(np.take_along_axis(columns, order, axis=1))


def _descending(values: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Positions that sort every row, largest first, and leave values that differ by rounding only in their order."""
    order = np.argsort(-values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    group = np.cumsum(ordered[:, :-1] - ordered[:, 1:] > rounding[:, None], axis=1)
    order[:, 1:] += group * values.shape[1]  # the group first, then the position
    order.sort(axis=1)
    return np.asarray(order % values.shape[1])


class Similarity(NamedTuple):
    """What the nearest neighbours of a row are largest in, up to a constant of the row: computed block by block."""

    points: np.ndarray
    squares: np.ndarray | None  # squared lengths: of Euclidean distances only
    terms: np.ndarray  # magnitude, by row, of the numbers that are subtracted

    def to_others(self, rows: np.ndarray) -> np.ndarray:
        """Similarities of these rows to all rows, minus infinity to themselves, shape (len(rows), n)."""
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
    """Cosine similarities in x between every sample and the samples listed for it, shape of ``indices``."""
    return _products(to_numpy(unit_rows(x)), indices)


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


def ranks_of(x: Representation, indices: np.ndarray, metric: Metric) -> np.ndarray:
    """Rank in x of the samples listed for every sample, 1 for the nearest, shape of ``indices``.

    It is the place that :func:`neighbours` with k = n - 1 would give them, without sorting; among distances that
    differ by rounding only it may be another.
    """
    not_constant(x)
    similarity = similarity_of(x, metric)
    ranks = np.empty(indices.shape, dtype=np.int64)
    for start, stop in row_blocks(len(indices)):
        block = similarity.to_others(np.arange(start, stop))
        for column, listed in enumerate(indices[start:stop].T):
            ranks[start:stop, column] = _rank(block, listed, similarity.terms[start:stop])
    return ranks


def _rank(block: np.ndarray, listed: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Rank of one entry of every row among all, largest first; entries equal up to rounding by index."""
    values = np.take_along_axis(block, listed[:, None], axis=1)
    rounding = 16 * np.finfo(block.dtype).eps * np.maximum(np.abs(values), terms[:, None])
    earlier = np.arange(block.shape[1])[None, :] < listed[:, None]
    ahead = np.where(earlier, block >= values - rounding, block > values + rounding)
    return np.asarray(1 + ahead.sum(axis=1))


def not_constant(x: Representation) -> None:
    """Raise ``Undefined`` when no sample is nearer than another."""
    if scalar(size(x)) == 0:
        raise Undefined(f"{title(x)} is constant (all its rows are equal): no sample has nearest neighbours")
