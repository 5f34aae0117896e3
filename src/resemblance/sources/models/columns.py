"""Which column of a table holds the samples, and which their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

TEXTS = ("sentence", "text")
IMAGES = ("image", "img")
LABELS = ("label", "labels")


def column_of(
    first: Mapping[str, Any], column: str | None, where: str, preferred: Sequence[str] = TEXTS
) -> str:
    """Return the column with the samples of a table, whose first row is given.

    Raises ``ValueError`` with the names of the columns where it must be chosen.
    """
    names = [str(name) for name in first]
    listed = ", ".join(map(repr, names)) or "none"
    if column is not None:
        if column not in names:
            raise ValueError(f"load_samples: {where} has no column {column!r}; it has {listed}")
        return column
    for name in preferred:
        if name in names:
            return name
    texts = [str(name) for name, value in first.items() if _is_text(value)]
    if len(texts) != 1:
        raise ValueError(
            f"load_samples: {where} has {len(texts)} columns of texts; choose one of {listed} by "
            "column"
        )
    return texts[0]


def labels_in(columns: Mapping[str, Sequence[Any]]) -> np.ndarray | None:
    """Return the classes in a table by column, if they are whole numbers."""
    values = next((columns[name] for name in LABELS if name in columns), None)
    return None if values is None else as_labels(values)


def as_labels(values: Any) -> np.ndarray | None:
    """Return classes as an array of integers, or None for what are not whole numbers."""
    try:
        numbers = np.array([int(str(value)) for value in values], dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if numbers.ndim == 1 and len(numbers) else None


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False
