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
    """The rows of a version as given, on disk if they are there, and how they count: in which
    precision, unit, and width."""

    source: np.ndarray
    precision: str
    unit: float
    width: int

    def take(self, indices: np.ndarray) -> np.ndarray:
        """These rows, shape (..., width) for indices of any shape."""
        return self._counted(self.source[indices.ravel()]).reshape(*indices.shape, self.width)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the index of the first row and the rows of one block after the other."""
        height = max(1, min(HEIGHT, VALUES // self.source.shape[1]))
        for start in range(0, len(self.source), height):
            yield start, self._counted(self.source[start : start + height])

    def _counted(self, rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows).astype(self.precision, copy=False).astype(np.float64, copy=False)
        missing = self.width - rows.shape[1]
        return (np.pad(rows, [(0, 0), (0, missing)]) if missing else rows) / self.unit


def same_rows(x: Rows, y: Rows) -> bool:
    """Whether both hold exactly the same rows, as often as each other, in whatever order."""
    return x.source.shape == y.source.shape and _total(x) == _total(y)


def _total(rows: Rows) -> int:
    """The sum of the digests of all rows, the same in any order."""
    return sum(
        int.from_bytes(blake2b(row.tobytes(), digest_size=32).digest(), "big")
        for _, block in rows._replace(unit=1.0).blocks()
        for row in block + 0.0
    )


def rows_of(x: Representation) -> Rows:
    """Return the rows of a representation; raise :class:`Undefined`, naming the first row with a
    NaN or an infinite value."""
    rows = Rows(to_numpy(x.source), x.precision, 1.0, x.shape[1])
    for start, block in rows.blocks():
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):
            row, column = (int(i) for i in np.argwhere(~np.isfinite(block))[0])
            where = f"the first at row {start + row}, column {column}"
            raise Undefined(
                f"{title(x)} has NaN or infinite values, {where}; leave those samples out or fill "
                "them in"
            )
    return rows
