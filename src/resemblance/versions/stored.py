"""Stored vectors and the changes before a search: a unit, normalisation, a cut, a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from ..base.exceptions import UndefinedError
from .retrieval import Rows

RowChange = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (rows, positions) -> changed rows
MIN_SAFE_SIZE, MAX_SAFE_SIZE = 1e-50, 1e50  # sizes whose squares neither overflow nor underflow
UNIT_CHECK_ROWS, UNIT_LENGTH_TOLERANCE, NEARLY_ALL_SHARE = 200, 0.01, 0.95
EQUAL_LENGTH_TOLERANCE = 64 * np.finfo(np.float64).eps


class ChangedRows(NamedTuple):
    """Rows of a version, changed block by block on reading."""

    rows: StoredRows
    change: RowChange
    width: int

    @property
    def source(self) -> np.ndarray:
        """The unchanged rows, (n, d), as given."""
        return self.rows.source

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return the changed rows at ``indices`` of any shape, with shape (..., width)."""
        flat_indices = indices.ravel()
        changed_rows = self.change(self.rows.take(flat_indices), flat_indices)
        return changed_rows.reshape(*indices.shape, self.width)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield pairs: the index of the first row, and a block of changed rows."""
        for start, block in self.rows.blocks():
            yield start, self.change(block, np.arange(start, start + len(block)))


StoredRows: TypeAlias = "Rows | ChangedRows"


def unchanged_rows(rows: StoredRows) -> Rows:
    """Return the rows without changes, in their unit."""
    return unchanged_rows(rows.rows) if isinstance(rows, ChangedRows) else rows


def scale_to_unit_length(rows: np.ndarray, positions: np.ndarray | None = None) -> np.ndarray:
    """Return new ``rows`` (n, d) scaled to length 1; rows of zeros stay zero. ``positions`` is
    ignored."""
    max_values = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(max_values > 0, max_values, 1.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def normalize_stored_rows(rows: StoredRows) -> ChangedRows:
    """Return stored rows that are scaled to length 1 on reading.

    Raises :class:`UndefinedError` if the directions of different rows differ by rounding only.
    """
    normalized = ChangedRows(rows, scale_to_unit_length, rows.width)
    indices = np.linspace(0, len(rows.source) - 1, UNIT_CHECK_ROWS).astype(int)
    original, unit = rows.take(indices), normalized.take(indices)
    spread = np.abs(unit - unit[:1]).max()
    if spread <= EQUAL_LENGTH_TOLERANCE and len(np.unique(original, axis=0)) > 1:
        raise UndefinedError(
            "upgrade_index: the directions of the vectors differ by less than rounding; centre the "
            "vectors first: subtract the mean of the documents of a model from its documents and "
            "queries"
        )
    return normalized


def power_of_two_unit(size: float) -> float:
    """Return a unit for values of magnitude ``size``: 1, or a power of two near ``size`` if the
    square of ``size`` would overflow or underflow."""
    if size == 0 or MIN_SAFE_SIZE <= size <= MAX_SAFE_SIZE:
        return 1.0
    return float(2.0 ** np.clip(np.frexp(size)[1], -1021, 1021))


def are_normalized(rows: StoredRows | np.ndarray) -> bool:
    """Return whether nearly all rows have length 1, judged on 200 rows of stored vectors."""
    if not isinstance(rows, np.ndarray):
        rows = rows.take(np.linspace(0, len(rows.source) - 1, UNIT_CHECK_ROWS).astype(int))
    return bool(
        (abs(np.linalg.norm(rows, axis=1) - 1) < UNIT_LENGTH_TOLERANCE).mean() > NEARLY_ALL_SHARE
    )
