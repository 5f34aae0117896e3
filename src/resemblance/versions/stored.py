"""Stored vectors and what is done to them before a search: a unit, a length of 1, a cut, a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from ..data.representation import Undefined
from .retrieval import Rows

Change = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of rows, at their positions
SMALLEST, LARGEST = 1e-50, 1e50  # sizes whose squares keep their digits
LOOKED_AT, NEARLY, NEARLY_ALL = 200, 0.01, 0.95
ROUNDING = 64 * np.finfo(np.float64).eps


class ChangedRows(NamedTuple):
    """Rows of a version that are changed as they are read, block by block."""

    rows: Stored
    change: Change
    width: int

    @property
    def source(self) -> np.ndarray:
        """The rows as they were given."""
        return self.rows.source

    def take(self, indices: np.ndarray) -> np.ndarray:
        """These rows, shape (..., width) for indices of any shape."""
        flat = indices.ravel()
        changed = self.change(self.rows.take(flat), flat)
        return changed.reshape(*indices.shape, self.width)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the index of the first row and the rows of one block after the other."""
        for start, block in self.rows.blocks():
            yield start, self.change(block, np.arange(start, start + len(block)))


Stored: TypeAlias = "Rows | ChangedRows"


def as_given(rows: Stored) -> Rows:
    """Return rows without a change, in their unit."""
    return as_given(rows.rows) if isinstance(rows, ChangedRows) else rows


def to_unit(rows: np.ndarray, positions: np.ndarray | None = None) -> np.ndarray:
    """Return rows of length 1; rows of zeros stay."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def normalised(rows: Stored) -> ChangedRows:
    """Return rows of length 1.

    Raises :class:`Undefined` where the directions of different rows differ by rounding only.
    """
    changed = ChangedRows(rows, to_unit, rows.width)
    some = np.linspace(0, len(rows.source) - 1, LOOKED_AT).astype(int)
    original, unit = rows.take(some), changed.take(some)
    spread = np.abs(unit - unit[:1]).max()
    if original.std(axis=0).any() and spread <= ROUNDING and len(np.unique(original, axis=0)) > 1:
        raise Undefined(
            "upgrade: the directions of the vectors differ by less than rounding; centre the "
            "vectors first: subtract the mean of the documents of a model from its documents and "
            "queries"
        )
    return changed


def unit_of_size(size: float) -> float:
    """Return 1, or a power of two near a size whose square would lose its digits."""
    if size == 0 or SMALLEST <= size <= LARGEST:
        return 1.0
    return float(2.0 ** np.clip(np.frexp(size)[1], -1021, 1021))


def are_unit(rows: Stored | np.ndarray) -> bool:
    """Return whether nearly all of some rows have length 1."""
    if not isinstance(rows, np.ndarray):
        rows = rows.take(np.linspace(0, len(rows.source) - 1, LOOKED_AT).astype(int))
    return bool((abs(np.linalg.norm(rows, axis=1) - 1) < NEARLY).mean() > NEARLY_ALL)
