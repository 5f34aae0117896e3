"""Inner products of the linear Gram matrices of many representations, for more samples than an
n x n matrix allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.progress import count_partial_work
from ..data.representation import Representation
from .points import is_rotated, unit_rows_between
from .rectangles import is_blockwise, upper_blocks

# Rows and columns of a block of every Gram matrix. A larger block converts fewer rows per entry,
# and takes more memory. The size is a property of the algorithm: another size changes rounding.
BLOCK_SIDE = 1024
# The bytes of a block, for every representation. A block of rows and a block of columns, of one
# representation at a time, come on top.
GRAM_BLOCK_BYTES = 8 * BLOCK_SIDE**2
# Numbers of a block whose inner products are computed at a time, so that the numbers of all
# representations stay in the cache of the processor. Another number changes rounding.
NUMBERS_PER_PRODUCT = 2**13


def has_large_gram(x: Representation) -> bool:
    """Return whether to compare x with a representation of the same shape by blocks of Gram
    matrices that are too large to store: many samples, and between n / 3 and n features."""
    n, d = x.shape
    is_wide = 3 * d >= n and not is_rotated(x)
    return is_wide and isinstance(x.source, np.ndarray) and is_blockwise(x)


def large_gram_products(
    representations: Sequence[Representation], reported_pairs: int = 0
) -> np.ndarray:
    """Return the inner products <XXᵀ, YYᵀ> of all pairs, for centred points in unit size (Frobenius
    norm 1), shape (count, count).

    All Gram matrices are computed together, block by block, and each block is computed once: O(n²
    d) time per representation and O(n²) per pair. A block of every Gram matrix is in memory, and
    no n x n matrix. A value does not depend on the other representations.
    ``reported_pairs``: the number of pairs that the progress bar counts during the work.
    """
    count, n = len(representations), representations[0].shape[0]
    side, dtype = min(BLOCK_SIDE, n), representations[0].dtype
    products, entries = np.zeros((count, count)), np.empty(count * side**2, dtype=dtype)
    scratch = np.empty((2, side * max(x.shape[1] for x in representations)), dtype=dtype)
    for tile in upper_blocks(n, width=side, height=side):
        height, width = (part.stop - part.start for part in tile)
        blocks = entries[: count * height * width].reshape(count, height, width)
        for x, block in zip(representations, blocks):
            rows = columns = unit_rows_between(x, tile.rows, scratch[0])
            if not tile.is_square:
                columns = unit_rows_between(x, tile.columns, scratch[1])
            np.matmul(rows, columns.T, out=block)
        _add_inner_products(products, blocks, tile.weight)
        count_partial_work(reported_pairs * tile.weight * height * width / n**2)
    return np.triu(products) + np.triu(products, 1).T


def _add_inner_products(products: np.ndarray, blocks: np.ndarray, weight: int) -> None:
    """Add ``weight`` times the inner products of all pairs of blocks to the upper triangle of
    ``products``, in place. ``blocks``: (count, rows, columns), a block per Gram matrix;
    ``products``: (count, count)."""
    count, height, width = blocks.shape
    rows_at_a_time = max(1, NUMBERS_PER_PRODUCT // width)
    for start in range(0, height, rows_at_a_time):
        rows = blocks[:, start : start + rows_at_a_time].reshape(count, -1)
        for i, row in enumerate(rows):
            products[i, i:] += weight * np.vecdot(row, rows[i:])
