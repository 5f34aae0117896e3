"""Files of texts: one per line, or a column of a table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..tables import lines_of, read_parquet, read_rows
from .samples import Samples, of_texts

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


WORDS, ENDS = 5, (".", "!", "?")  # of what looks more like a text than like the name of a column
SHOWN = 40  # letters of a header in a warning
USUAL = {*TEXTS, *LABELS}
TEXT_SUFFIXES = (".txt", ".parquet", ".tsv", ".csv", ".jsonl")


def read_texts(path: Path, column: str | None) -> Samples:
    """Return the texts of a file; see :func:`resemblance.sources.models.load_samples`."""
    if path.suffix == ".txt":
        return _of_lines(path, column)
    if path.suffix == ".parquet":
        return _of_parquet(path, column)
    names, rows, lines = read_rows(path)
    if not rows:
        raise ValueError(f"load_samples: {path} has no row below its header; add samples")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    chosen = column_of(columns, column, str(path))
    if names.count(chosen) > 1:
        raise ValueError(f"load_samples: {path} has two columns {chosen!r}; rename one")
    if column is None and path.suffix != ".jsonl":
        _warn_of_header(path, names, chosen)
    return _samples(path, columns, chosen, lines)


def _samples(
    path: Path, columns: Mapping[str, Sequence[Any]], chosen: str, lines: Sequence[int]
) -> Samples:
    """Return a column as samples with their classes; the blank ones are left out and counted."""
    texts = columns[chosen]
    places = [place for place, text in enumerate(texts) if not is_blank(text)]
    if not places:
        raise ValueError(f"load_samples: {path} holds no text")
    for place in places:
        if not isinstance(texts[place], str):
            raise ValueError(
                f"load_samples: line {lines[place]} of {path} holds a "
                f"{type(texts[place]).__name__}, not a text"
            )
    labelled = [name for name in LABELS if name in columns]
    labels = {name: [columns[name][i] for i in places] for name in labelled}
    facts: dict[str, Any] = {"file": path.name} | ({"column": chosen} if chosen else {})
    facts |= {"blank left out": len(texts) - len(places)} if len(places) < len(texts) else {}
    legible = [texts[place] for place in places]
    return of_texts(legible, path.stem, labels=labels_in(labels), facts=facts)


def _warn_of_header(path: Path, names: Sequence[str], chosen: str) -> None:
    """Warn of a first line that is read as the names of columns and looks like a sample."""
    is_text = len(chosen.split()) >= WORDS or chosen.rstrip().endswith(ENDS)
    cause = chosen if is_text else next(filter(is_number, names), "")
    if cause:
        warnings.warn(
            f"load_samples: the first line of {path} names its columns, and looks like a sample "
            f"({cause[:SHOWN]!r}); write a line such as {TEXTS[0]} above it",
            stacklevel=2,
        )


def _warn_of_table(path: Path, texts: Sequence[str]) -> None:
    """Warn of lines that look like the rows of a table."""
    cells, *rows = (re.split(r"[\t,;]", text) for text in texts)
    is_header = len(cells) > 1 and bool({cell.strip().lower() for cell in cells} & USUAL)
    is_header &= 2 * sum(len(row) >= len(cells) for row in rows) > len(rows)
    tabs = {text.count("\t") for text in texts}
    if is_header or (len(texts) > 1 and len(tabs) == 1 and tabs != {0}):
        warnings.warn(
            f"load_samples: {path} looks like a table, and each of its lines is read as one text, "
            "header and other columns included; save it as .tsv or .csv",
            stacklevel=2,
        )


def _of_lines(path: Path, column: str | None) -> Samples:
    if column is not None:
        raise ValueError(f"load_samples: {path} has no columns; leave column={column!r} out")
    lines = lines_of(path)
    samples = _samples(path, {"": lines}, "", range(1, len(lines) + 1))
    _warn_of_table(path, samples.batch(0, len(samples)))
    return samples


def _of_parquet(path: Path, column: str | None) -> Samples:
    def choose(fields: Mapping[str, str]) -> list[str]:
        known = column or next((name for name in TEXTS if name in fields), None)
        texts = [known] if known else [name for name, kind in fields.items() if "string" in kind]
        return [name for name in fields if name in (*texts, *LABELS)]

    values = read_parquet(path, choose)
    chosen = column_of(values, column, str(path))
    return _samples(path, values, chosen, range(1, len(values[chosen]) + 1))
