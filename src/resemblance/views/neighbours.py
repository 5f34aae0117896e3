"""Views of the k nearest neighbours of every sample: exact, and with a stated order for ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, Undefined, title, view
from .distances import row_blocks
from .points import preshape, unit_rows

Metric = Literal["cosine", "euclidean"]
GRID = 2.0**42  # steps per unit of similarity; single precision is coarser than that, and not rounded further


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
    similarity = _similarity(x, metric)
    found = np.empty((n, k), dtype=np.int64)
    for start, stop in row_blocks(n):
        block = similarity(start, stop)
        block[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        found[start:stop] = largest(block, k)
    return found


def largest(block: np.ndarray, k: int) -> np.ndarray:
    """Column indices of the k largest entries of every row, largest first, ties by index."""
    n = block.shape[1]
    columns = np.argpartition(block, n - k, axis=1)[:, n - k :]
    values = np.take_along_axis(block, columns, axis=1)
    # More entries reach the k-th largest value than there is room for: which of them the partition kept is arbitrary.
    crowded = (block >= values.min(axis=1, keepdims=True)).sum(axis=1) > k
    for row in np.flatnonzero(crowded):
        candidates = np.flatnonzero(block[row] >= values[row].min())
        columns[row] = candidates[np.argsort(-block[row, candidates], kind="stable")[:k]]
    columns.sort(axis=1)
    order = np.argsort(-np.take_along_axis(block, columns, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(columns, order, axis=1))


def _similarity(x: Representation, metric: Metric) -> Callable[[int, int], np.ndarray]:
    """Return the function that gives the similarities of rows start..stop to all rows, rounded to a grid.

    The grid is a thousand rounding errors wide. Without it rounding would order the many equal similarities of binary,
    categorical or duplicated data, and permuting their columns would change their neighbours.
    """
    points = to_numpy(unit_rows(x) if metric == "cosine" else preshape(x))
    if metric == "cosine":
        return lambda start, stop: _rounded(GRID * points[start:stop] @ points.T)
    squares = np.einsum("ij,ij->i", points, points)
    scale = GRID / np.maximum(squares, 1e-15 * squares.max())[:, None]  # a sample near the mean has near neighbours
    return lambda start, stop: _rounded(
        (2 * scale[start:stop] * points[start:stop]) @ points.T - scale[start:stop] * squares
    )


def _rounded(block: np.ndarray) -> np.ndarray:
    np.rint(block, out=block)
    return block


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
