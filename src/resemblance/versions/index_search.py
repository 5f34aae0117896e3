"""Exact search for the nearest stored vectors, by distance, cosine or inner product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from .retrieval import (
    TIE_ROUNDING_FACTOR,
    RowBlocks,
    RowLookup,
    are_lost_neighbors,
    column_medians,
    find_nearest_rows,
)
from .stored import StoredRows

SearchMetric = Literal["euclidean", "cosine", "inner"]
SEARCH_METRICS = ("euclidean", "cosine", "inner")
SearchProgress = Callable[[float], None]
CENTER_SAMPLE_ROWS = 4096  # number of rows that define the centre
# Number of points per block of a search, and per block of a comparison with the retrieved rows.
POINTS_PER_SEARCH_BLOCK, POINTS_PER_COMPARISON = (500, 50)


def search_nearest_rows(
    points: np.ndarray,
    own_rows: np.ndarray,
    rows: StoredRows,
    k: int,
    metric: SearchMetric,
    tick: SearchProgress = lambda _: None,
) -> np.ndarray:
    """Return the indices of the k nearest rows of every point, (n_points, k), the nearest first,
    without the point's own row.

    ``points``: (n_points, d). ``own_rows``: the index of the own row of each point, (n_points,), -1
    for none. ``metric``: "inner" ranks by the inner product, other metrics by the Euclidean
    distance. ``tick`` is called after each block with the block's share of all rows.
    """
    n = len(rows.source)

    def blocks() -> Iterator[tuple[int, np.ndarray]]:
        for start, block in rows.blocks():
            yield start, block
            tick(len(block) / n)

    center = column_medians(rows.take(np.arange(min(n, CENTER_SAMPLE_ROWS))))
    return search_blocks(points, own_rows, blocks(), center, k, metric)


def search_blocks(
    points: np.ndarray,
    own_rows: np.ndarray,
    blocks: RowBlocks,
    center: np.ndarray,
    k: int,
    metric: SearchMetric,
) -> np.ndarray:
    """Return the indices of the k rows nearest to every point, (points, k), the nearest first,
    among blocks of rows, (index of the first row, rows).

    ``points``: (points, d). ``own_rows``: the index of the own row of every point, which is left
    out, (points,); -1 for none. ``center``: (d,), subtracted from the rows against rounding errors.
    ``metric``: "inner" ranks by the inner product, other metrics by the Euclidean distance.
    """
    if metric != "inner":
        return find_nearest_rows(points, own_rows, blocks, center, k)
    best, rows = np.full((len(points), k), -np.inf), np.zeros((len(points), k), dtype=np.int64)
    for start, block in blocks:
        centered = block - center
        for batch in (
            slice(i, i + POINTS_PER_SEARCH_BLOCK)
            for i in range(0, len(points), POINTS_PER_SEARCH_BLOCK)
        ):
            products = points[batch] @ centered.T
            own_columns = own_rows[batch] - start
            indices = np.flatnonzero((own_columns >= 0) & (own_columns < len(block)))
            products[indices, own_columns[indices]] = -np.inf
            _keep_largest(best[batch], rows[batch], products, start)
    return np.take_along_axis(rows, np.argsort(-best, axis=1, kind="stable"), axis=1)


def _keep_largest(best: np.ndarray, rows: np.ndarray, products: np.ndarray, start: int) -> None:
    """Merge the k largest products so far with the products of another block, in place.

    ``best``, ``rows``: the k largest products of each point and the indices of the rows, (n_points,
    k). ``products``: (n_points, rows of the block). ``start``: the index of the first row of the
    block.
    """
    k = best.shape[1]
    indices = np.broadcast_to(np.arange(start, start + products.shape[1]), products.shape)
    values = np.concatenate([best, products], axis=1)
    columns = np.argpartition(values, -k, axis=1)[:, -k:]
    best[:] = np.take_along_axis(values, columns, axis=1)
    rows[:] = np.take_along_axis(np.concatenate([rows, indices], axis=1), columns, axis=1)


def match_true_neighbors(
    points: np.ndarray,
    true: np.ndarray,
    retrieved: np.ndarray,
    take: RowLookup,
    metric: SearchMetric,
) -> np.ndarray:
    """Return which retrieved rows are as near as the farthest true neighbour, or nearer: booleans
    (n_points, depth).

    ``points``: (n_points, d). ``true``: the indices of the k nearest rows, (n_points, k).
    ``retrieved``: indices, (n_points, depth). ``take`` returns the rows at indices, in the version
    that decides. ``metric``: "inner" compares inner products, other metrics Euclidean distances.
    """
    if metric != "inner":
        return ~are_lost_neighbors(points, true, retrieved, take)
    is_match = np.empty(retrieved.shape, bool)
    for start in range(0, len(points), POINTS_PER_COMPARISON):
        batch = slice(start, start + POINTS_PER_COMPARISON)
        neighbors = take(true[batch])
        candidates = take(retrieved[batch])
        point = points[batch, None]
        center = np.median(neighbors, axis=1, keepdims=True)
        neighbors, candidates = neighbors - center, candidates - center
        products = (neighbors * point).sum(axis=2)
        last = np.take_along_axis(neighbors, products.argmin(axis=1)[:, None, None], axis=1)
        sizes = np.linalg.norm(candidates, axis=2) + np.linalg.norm(last, axis=2)
        slack = (
            TIE_ROUNDING_FACTOR * np.finfo(np.float64).eps * sizes * np.linalg.norm(point, axis=2)
        )
        is_match[batch] = ((candidates - last) * point).sum(axis=2) >= -slack
    return is_match


def recall_at_count(right: np.ndarray, count: int, k: int) -> np.ndarray:
    """Return, for each point, how many of the k correct rows are among the first ``count``
    retrieved rows, as a share of k: (n_points,). ``right``: whether each retrieved row is correct,
    (n_points, depth)."""
    return np.asarray(np.minimum(right[:, :count].sum(axis=1), k) / k)
