"""Views of the k nearest neighbours of every sample: exact, and with a stated order for ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ..arrays import scalar, to_numpy
from ..representation import Representation, Undefined, title, view
from .distances import row_blocks
from .points import preshape, size, unit_rows

Metric = Literal["cosine", "euclidean"]


@view
def neighbours(x: Representation, k: int, metric: Metric) -> np.ndarray:
    """Indices of the k nearest other samples of every sample, nearest first, shape (n, k).

    The sample itself is left out by its index, so duplicates of it count as neighbours. Equal similarities, up to
    rounding, are ordered by index. A zero row has cosine 0 with every sample. Blocks of rows bound the memory;
    computed by NumPy.
    """
    n = x.shape[0]
    if not 1 <= k < n:
        raise Undefined(f"neighbours of {title(x)}: k must be from 1 to {n - 1} for its {n} samples; got k={k}")
    if scalar(size(x)) == 0:
        raise Undefined(f"{title(x)} is constant (all its rows are equal): no sample has nearest neighbours")
    similarity, terms = _similarity(x, metric)
    found = np.empty((n, k), dtype=np.int64)
    for start, stop in row_blocks(n):
        block = similarity(start, stop)
        block[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        found[start:stop] = largest(block, k, terms[start:stop])
    return found


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


def _similarity(x: Representation, metric: Metric) -> tuple[Callable[[int, int], np.ndarray], np.ndarray]:
    """Return what gives the similarities of rows start..stop to all rows, and the magnitude of their terms by row."""
    points = to_numpy(unit_rows(x) if metric == "cosine" else preshape(x))
    squares = np.einsum("ij,ij->i", points, points)
    if metric == "cosine":
        return lambda start, stop: points[start:stop] @ points.T, squares
    return lambda start, stop: 2 * (points[start:stop] @ points.T) - squares[None, :], squares


def cosines_to(x: Representation, indices: np.ndarray) -> np.ndarray:
    """Cosine similarities in x between every sample and the samples listed for it, shape of ``indices``."""
    rows = to_numpy(unit_rows(x))
    cosines = np.empty(indices.shape, dtype=rows.dtype)
    height = max(1, 2**17 // (indices.shape[1] * rows.shape[1]))  # gathered rows stay in the processor's cache
    for start, stop in row_blocks(len(indices), height):
        gathered = rows[indices[start:stop]]
        cosines[start:stop] = np.matmul(gathered, rows[start:stop, :, None])[:, :, 0]
    return cosines


@view
def own_cosines(x: Representation, k: int) -> np.ndarray:
    """Cosine similarities to the k nearest neighbours by cosine, shape (n, k)."""
    return cosines_to(x, neighbours(x, k=k, metric="cosine"))


def ranks_of(x: Representation, indices: np.ndarray, metric: Metric) -> np.ndarray:
    """Rank in x of the samples listed for every sample, 1 for the nearest, shape of ``indices``.

    It is the place that :func:`neighbours` with k = n - 1 would give them, without sorting; among distances that
    differ by rounding only it may be another.
    """
    not_constant(x)
    similarity, terms = _similarity(x, metric)
    ranks = np.empty(indices.shape, dtype=np.int64)
    for start, stop in row_blocks(len(indices)):
        block = similarity(start, stop)
        block[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        for column, listed in enumerate(indices[start:stop].T):
            ranks[start:stop, column] = _rank(block, listed, terms[start:stop])
    return ranks


def _rank(block: np.ndarray, listed: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Rank of one entry of every row among all, largest first; entries equal up to rounding by index."""
    values = np.take_along_axis(block, listed[:, None], axis=1)
    rounding = 16 * np.finfo(block.dtype).eps * np.maximum(np.abs(values), terms[:, None])
    earlier = np.arange(block.shape[1])[None, :] < listed[:, None]
    ahead = np.where(earlier, block >= values - rounding, block > values + rounding)
    return np.asarray(1 + ahead.sum(axis=1))


def not_constant(x: Representation) -> None:
    """Raise :class:`Undefined` when no sample is nearer than another."""
    if scalar(size(x)) == 0:
        raise Undefined(f"{title(x)} is constant (all its rows are equal): no sample has nearest neighbours")
