"""Distances between the pooled samples of two representations, computed by NumPy. No array of shape
(n, n) is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..base.arrays import euclidean_norm, scalar, to_numpy
from ..data.representation import Representation, cached_pair
from .far_rows import outlier_row_mask
from .grams import shares_distances
from .points import return_unchanged
from .rectangles import (
    BlockFunction,
    ExactSum,
    MatrixBlock,
    covering_blocks,
    is_blockwise,
    matrix_entry_vectors,
    order_statistics,
    squared_distance_function,
    upper_blocks,
    upper_triangle_vectors,
)


class PooledSquares(NamedTuple):
    """Block functions of the squared distances within x, within y, and between x and y, divided by
    ``scale`` squared. ``samples``: n of x and of y. ``top``: an upper bound of all entries."""

    within: tuple[BlockFunction, BlockFunction]
    between: BlockFunction
    samples: int
    top: float
    scale: float

    def numbers(self) -> Iterator[np.ndarray]:
        """Yield the squared distances of all n (2n - 1) pairs of the 2n samples, in vectors."""
        n = self.samples
        for entries in self.within:
            yield from upper_triangle_vectors(entries, n)()
        yield from matrix_entry_vectors(self.between, n, n)()


def pooled_squares(x: Representation, y: Representation) -> PooledSquares:
    """Return functions that compute blocks of the squared distances within x, within y, and between
    x and y, divided by the square of ``scale``.

    ``scale`` is the larger Frobenius norm of x and y after subtracting the common mean. The
    narrower representation is padded with zero columns. Inside :func:`~.grams.share_distances` the
    distances are stored for the pair.
    """
    if shares_distances() and not is_blockwise(x):
        return _stored_squares(x, y)
    return _computed_squares(x, y)


def _swap_squares(squares: PooledSquares) -> PooledSquares:
    between = squares.between

    def swapped(tile: MatrixBlock) -> np.ndarray:
        return np.ascontiguousarray(between(MatrixBlock(tile.columns, tile.rows)).T)

    return squares._replace(within=squares.within[::-1], between=swapped)


@cached_pair(swap=_swap_squares)
def _stored_squares(x: Representation, y: Representation) -> PooledSquares:
    """Return the squared distances of :func:`pooled_squares`, stored in three matrices (n, n); the
    functions for blocks copy from the matrices."""
    squares = _computed_squares(x, y)
    everything = MatrixBlock(slice(0, squares.samples), slice(0, squares.samples))

    def stored(entries: BlockFunction) -> BlockFunction:
        matrix = entries(everything)
        return lambda tile: matrix[tile.rows, tile.columns].copy()

    first, second = map(stored, squares.within)
    return squares._replace(within=(first, second), between=stored(squares.between))


@cached_pair(swap=return_unchanged)
def pooled_median_distance(x: Representation, y: Representation) -> float:
    """Return the median distance between all 2n samples of x and y, divided by ``scale`` of
    :func:`pooled_squares`."""
    return pooled_median(pooled_squares(x, y))


def _computed_squares(x: Representation, y: Representation) -> PooledSquares:
    """Return the squared distances of :func:`pooled_squares`; the functions compute a block at each
    call."""
    a, b = common_points(x, y)
    scale = max(scalar(euclidean_norm(points)) for points in (a, b)) or 1.0
    a, b = a / scale, b / scale
    max_length = max(float((points * points).sum(axis=1).max()) for points in (a, b))
    within = squared_distance_function(a), squared_distance_function(b)
    # Distances from differences have other rounding errors, hence the margin.
    top = 4 * max_length * (1 + 1e-9) + np.finfo(float).tiny
    return PooledSquares(within, squared_distance_function(a, b), x.shape[0], top, scale)


def common_points(x: Representation, y: Representation) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of x and y minus their common mean, or their median if some rows are
    outliers, so that a common offset costs no digits of the distances: new arrays (n, width).

    The narrower representation is padded with zero columns.
    """
    width = max(x.shape[1], y.shape[1])
    # NumPy, because the norms of other libraries differ in the last digits.
    arrays = [to_numpy(r.array) for r in (x, y)]
    a, b = (np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays)
    first = a[:1].copy()
    a -= first
    b -= first
    middle = (a.mean(axis=0) + b.mean(axis=0)) / 2
    with np.errstate(over="ignore"):
        squares = ((np.concatenate([a, b]) - middle) ** 2).sum(axis=1)
    if outlier_row_mask(squares) is not None:  # outliers move the mean, so take the median
        middle = np.median(np.concatenate([a, b]), axis=0)
    a -= middle
    b -= middle
    return a, b


def pooled_median(squares: PooledSquares) -> float:
    """Return the median distance between all 2n samples, divided by ``squares.scale``."""
    count = squares.samples * (2 * squares.samples - 1)
    middle = (count - 1) // 2, count // 2
    return float(np.sqrt(order_statistics(squares.numbers, count, middle, squares.top)).mean())


def mean_kernels(squares: PooledSquares, sigma: float) -> tuple[float, float]:
    r"""Return the mean of k over different samples within x plus the same mean within y, at most 2;
    and the mean of k between x and y, at most 1.

    .. math:: k(a, b) = \exp(-\lVert a - b \rVert^2 / 2 \sigma^2)

    ``sigma``: a distance, divided by ``squares.scale``.
    """
    n, factor = squares.samples, -0.5 / sigma**2
    pairs = [(tile, tile.weight) for tile in upper_blocks(n)]
    sums = [_gaussian_kernel_sum(entries, pairs, factor) - n for entries in squares.within]
    between = _gaussian_kernel_sum(
        squares.between, ((tile, 1) for tile in covering_blocks(n, n)), factor
    )
    return sum(sums) / (n * (n - 1)), between / n**2


def _gaussian_kernel_sum(
    entries: BlockFunction, pieces: Iterable[tuple[MatrixBlock, int]], factor: float
) -> float:
    """Return the sum over ``pieces``, pairs of a block and a weight, of the weight times
    exp(``factor`` * square) of all squared distances that ``entries`` computes in the block."""
    total = ExactSum()
    for tile, weight in pieces:
        block = entries(tile)
        block *= factor
        total.add(weight * float(np.exp(block, out=block).sum()))
    return float(total.value)
