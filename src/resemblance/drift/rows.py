"""Rows of a representation in blocks: a memory-mapped file is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, Undefined, title

VALUES, HEIGHT = 2**22, 2**13  # in a block, at most: 32 MB in double precision; and rows


class Rows(NamedTuple):
    """The rows as given, on disk if they are there, and the precision in which they count."""

    source: np.ndarray
    precision: str

    def take(self, indices: np.ndarray) -> np.ndarray:
        """These rows in double precision, shape (..., d) for indices of any shape."""
        rows = np.asarray(self.source[indices.ravel()]).astype(self.precision).astype(np.float64)
        return rows.reshape(*indices.shape, self.source.shape[1])

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield blocks: the index of the first row, and the rows in their own precision."""
        height = max(1, min(HEIGHT, VALUES // self.source.shape[1]))
        for start in range(0, len(self.source), height):
            yield (
                start,
                np.asarray(self.source[start : start + height]).astype(self.precision, copy=False),
            )


def same_rows(x: Rows, y: Rows) -> bool:
    """Whether both hold exactly the same rows, as often as each other, in whatever order."""
    return x.source.shape == y.source.shape and _total(x) == _total(y)


def _total(rows: Rows) -> int:
    """The sum of the digests of all rows, the same in any order."""
    return sum(
        int.from_bytes(blake2b(row.tobytes(), digest_size=32).digest(), "big")
        for _, block in rows.blocks()
        for row in block.astype(np.float64) + 0.0
    )


def rows_of(x: Representation) -> Rows:
    """Return the rows of a representation.

    Raises :class:`Undefined`, naming the first row with a NaN or an infinite value.
    """
    rows = Rows(to_numpy(x.source), x.precision)
    for start, block in rows.blocks():
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):
            row, column = (int(i) for i in np.argwhere(~np.isfinite(block))[0])
            where = f"the first at row {start + row}, column {column}"
            raise Undefined(
                f"{title(x)} has NaN or infinite values, {where}; leave those samples out or fill "
                "them in"
            )
    return rows
