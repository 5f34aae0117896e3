"""Inner products of the linear Gram matrices of many representations, for more samples than an
n x n matrix allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.progress import count_partial_work
from ..data.representation import Representation
from .points import is_rotated, unit_rows_between
from .rectangles import BLOCK_COLUMNS, BLOCK_ROWS, is_blockwise, upper_blocks

# Rows of a block whose inner products are computed at a time, so that the rows of all
# representations stay in the cache of the processor. Another number changes rounding.
ROWS_PER_PRODUCT = 16


def has_large_gram(x: Representation) -> bool:
    """Return whether to compare x with a representation of the same shape by blocks of Gram
    matrices that are too large to store: many samples, and between n / 3 and n features."""
    n, d = x.shape
    is_wide = 3 * d >= n and not is_rotated(x)
    return is_wide and isinstance(x.source, np.ndarray) and is_blockwise(x)


def gram_block_bytes(d: int) -> int:
    """Return the bytes that :func:`large_gram_products` holds for a representation with d features:
    a block of rows, and a block of the Gram matrix. A block of columns, of one representation at a
    time, comes on top."""
    return 8 * BLOCK_ROWS * (d + BLOCK_COLUMNS)


def large_gram_products(
    representations: Sequence[Representation], reported_pairs: int = 0
) -> np.ndarray:
    """Return the inner products <XXᵀ, YYᵀ> of all pairs, for centred points in unit size (Frobenius
    norm 1), shape (count, count).

    All Gram matrices are computed together, block by block, and each block is computed once: O(n²
    d) time per representation and O(n²) per pair. A block of rows of every representation is in
    memory, and no n x n matrix. A value does not depend on the other representations.
    ``reported_pairs``: the number of pairs that the progress bar counts during the work.
    """
    count, n = len(representations), representations[0].shape[0]
    products, strips = np.zeros((count, count)), list[np.ndarray]()
    entries = np.empty(count * BLOCK_ROWS * BLOCK_COLUMNS, dtype=representations[0].dtype)
    for tile in upper_blocks(n):
        height, width = (side.stop - side.start for side in tile)
        if tile.is_square:
            strips = [
                unit_rows_between(x, tile.rows.start, tile.rows.stop) for x in representations
            ]
        blocks = entries[: count * height * width].reshape(count, height, width)
        for x, rows, block in zip(representations, strips, blocks):
            columns = rows
            if not tile.is_square:
                columns = unit_rows_between(x, tile.columns.start, tile.columns.stop)
            np.matmul(rows, columns.T, out=block)
        _add_inner_products(products, blocks, tile.weight)
        count_partial_work(reported_pairs * tile.weight * height * width / n**2)
    return np.triu(products) + np.triu(products, 1).T


def _add_inner_products(products: np.ndarray, blocks: np.ndarray, weight: int) -> None:
    """Add ``weight`` times the inner products of all pairs of blocks to the upper triangle of
    ``products``, in place. ``blocks``: (count, rows, columns), a block per Gram matrix;
    ``products``: (count, count)."""
    count, height, _ = blocks.shape
    for start in range(0, height, ROWS_PER_PRODUCT):
        rows = blocks[:, start : start + ROWS_PER_PRODUCT].reshape(count, -1)
        for i, row in enumerate(rows):
            products[i, i:] += weight * np.vecdot(row, rows[i:])
