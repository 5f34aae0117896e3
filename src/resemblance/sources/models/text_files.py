"""Files of texts: one per line, or a column of a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...extras import need
from .columns import LABELS, column_of, labels_in
from .samples import Samples, checked_texts, of_texts

Rows = tuple[list[str], list[Sequence[Any]], list[int]]  # names of columns, rows, their lines


def read_texts(path: Path, column: str | None) -> Samples:
    """Return the texts of a file; see :func:`resemblance.sources.models.load_samples`."""
    if path.suffix == ".txt":
        return _of_lines(path, column)
    if path.suffix == ".parquet":
        return _of_parquet(path, column)
    names, rows, lines = _readers[path.suffix](path)
    if not rows:
        raise ValueError(f"load_samples: {path} has no row below its header; add samples")
    chosen = column_of(dict(zip(names, rows[0])), column, str(path))
    index = names.index(chosen)
    texts = [row[index] for row in rows]
    _check_lines(path, texts, lines)
    labelled = [(name, names.index(name)) for name in LABELS if name in names]
    values = {name: [row[place] for row in rows] for name, place in labelled}
    return _samples(path, texts, chosen, labels_in(values))


def _samples(
    path: Path, texts: list[str], column: str | None = None, labels: np.ndarray | None = None
) -> Samples:
    """Return texts as samples with their classes and what is recorded of them."""
    facts = {"file": path.name} | ({} if column is None else {"column": column})
    return of_texts(texts, path.stem, labels=labels, facts=facts)


def _check_lines(path: Path, texts: list[Any], lines: list[int]) -> None:
    """Raise ``ValueError`` that names the line of a text that is none or blank."""
    for line, text in zip(lines, texts):
        if not isinstance(text, str):
            raise ValueError(
                f"load_samples: line {line} of {path} holds a {type(text).__name__}, not a text"
            )
        if not text.strip():
            raise ValueError(
                f"load_samples: line {line} of {path} is blank, and a model has nothing to read "
                "there; remove it"
            )


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"load_samples: {path} is not UTF-8 (byte {error.start}); save it in that encoding"
        ) from error


def _lines(path: Path) -> list[str]:
    """Return the lines; only line feeds end them, as texts may hold the other separators."""
    lines = _decoded(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _of_lines(path: Path, column: str | None) -> Samples:
    if column is not None:
        raise ValueError(f"load_samples: {path} has no columns; leave column={column!r} out")
    texts = _lines(path)
    _check_lines(path, texts, list(range(1, len(texts) + 1)))
    return _samples(path, checked_texts(texts, str(path)))


def _from_tsv(path: Path) -> Rows:
    """Return the rows of a table without quoting."""
    lines = _lines(path)
    names = lines[0].split("\t") if lines else []
    rows = [line.split("\t") for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        _check_width(path, number, row, names)
    return names, list(rows), list(range(2, len(rows) + 2))


def _from_csv(path: Path) -> Rows:
    reader = csv.reader(io.StringIO(_decoded(path), newline=""), strict=True)
    rows, lines = [], []
    try:
        names = next(reader, [])
        for row in reader:
            _check_width(path, reader.line_num, row, names)
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        line = reader.line_num
        raise ValueError(f"load_samples: line {line} of {path} is no CSV: {error}") from error
    return names, list(rows), lines


def _check_width(path: Path, line: int, row: Sequence[str], names: Sequence[str]) -> None:
    if len(row) != len(names):
        hint = "save it as .csv, where cells may be quoted" if path.suffix == ".tsv" else "mend it"
        raise ValueError(
            f"load_samples: line {line} of {path} has {len(row)} cells, and the header "
            f"{len(names)}; {hint}"
        )


def _from_jsonl(path: Path) -> Rows:
    entries = [_entry(path, number, line) for number, line in enumerate(_lines(path), 1)]
    names = list(entries[0]) if entries else []
    for number, entry in enumerate(entries, 1):
        if not set(names) <= set(entry):
            raise ValueError(
                f"load_samples: line {number} of {path} lacks the entries "
                f"{', '.join(sorted(set(names) - set(entry)))} of the first line"
            )
    rows: list[Sequence[Any]] = [[entry[name] for name in names] for entry in entries]
    return names, rows, list(range(1, len(rows) + 1))


def _entry(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"load_samples: line {line} of {path} is no JSON: {error}") from error
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, dict):
        raise ValueError(
            f"load_samples: line {line} of {path} must be an object or a text; got "
            f"{type(value).__name__}"
        )
    return value


def _of_parquet(path: Path, column: str | None) -> Samples:
    parquet = need("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
        first: Iterator[Any] = file.iter_batches(batch_size=1)
        head = next(first, None)
        if head is None or not head.num_rows:
            raise ValueError("it has no row")
        chosen = column_of(head.to_pylist()[0], column, str(path))
        columns = [chosen, *(n for n in LABELS if n in file.schema_arrow.names and n != chosen)]
        table = file.read(columns=columns)
    except (OSError, need("pyarrow").ArrowInvalid) as error:
        raise ValueError(f"load_samples: {path} cannot be read: {error}") from error
    values = {name: table.column(name).to_pylist() for name in columns}
    texts = checked_texts(values.pop(chosen), str(path), "row")
    return _samples(path, texts, chosen, labels_in(values))


_readers = {".tsv": _from_tsv, ".csv": _from_csv, ".jsonl": _from_jsonl}
TEXT_SUFFIXES = (".txt", ".parquet", *_readers)
