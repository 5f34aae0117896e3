"""Which column of a table holds the samples, and which their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

TEXTS = ("sentence", "text")
IMAGES = ("image", "img")
LABELS = ("label", "labels")


def column_of(
    columns: Mapping[str, Sequence[Any]],
    column: str | None,
    where: str,
    preferred: Sequence[str] = TEXTS,
) -> str:
    """Return the column with the samples of a table: the one asked for, or the one with texts.

    ``columns``: the values by name; a column without values holds no texts. Raises ``ValueError``
    with the names of the columns where it must be chosen.
    """
    names = [str(name) for name in columns]
    listed = ", ".join(map(repr, names)) or "none"
    if column is not None:
        if column not in names:
            raise ValueError(f"load_samples: {where} has no column {column!r}; it has {listed}")
        return column
    for name in preferred:
        if name in names:
            return name
    texts = [str(name) for name, values in columns.items() if _are_texts(values)]
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


def is_blank(value: Any) -> bool:
    """Return whether a cell has nothing to read."""
    return value is None or (isinstance(value, str) and not value.strip())


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _are_texts(values: Sequence[Any]) -> bool:
    """Return whether most cells of a column are texts; a text may also be a number."""
    cells = [value for value in values if not is_blank(value)]
    return 2 * sum(isinstance(cell, str) and not is_number(cell) for cell in cells) > len(cells)
