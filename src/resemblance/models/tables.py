"""Tables in files: tab-separated, comma-separated, JSON lines, and Parquet, with errors that name
the line; and the texts in tables, or in the lines of a file."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.extras import import_optional
from .samples import Samples, samples_from_texts

# Letters of a cell; documents are longer than the limit of the csv module
MAX_CELL_LETTERS = 2**31 - 1
# Names of columns, rows, line numbers of rows
NamedTableRows = tuple[list[str], list[Sequence[Any]], list[int]]


def read_rows(path: Path) -> NamedTableRows:
    """Return the names of the columns of a table, its rows, and the line number of each row.

    ``.tsv``: UTF-8, tabs without quoting, a header; ``.csv``: UTF-8, commas with quoting, a header;
    ``.jsonl``: a JSON object, or a text, in each line, with the entries of the first line as
    columns. Blank lines are blank rows.

    Raises ``ValueError``, naming the file and the line, for other content.
    """
    return _TABLE_READERS[path.suffix](path)


def read_parquet(
    path: Path, choose: Callable[[Mapping[str, str]], Sequence[str]]
) -> dict[str, list[Any]]:
    """Return the values of the columns of a Parquet file by name; columns not chosen have [].

    ``choose``: the function that chooses the columns to read, given the column types by name. Needs
    the package pyarrow. Raises ``ValueError``, naming the file, for an unreadable file, and for a
    file without rows.
    """
    parquet = import_optional("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
        fields = {field.name: str(field.type) for field in file.schema_arrow}
        columns = list(choose(fields))
        table = file.read(columns=columns)
    except (OSError, import_optional("pyarrow").ArrowException) as error:
        raise ValueError(f"{path} cannot be read: {error}; write it again") from error
    if not table.num_rows:
        raise ValueError(f"{path} has no row; add samples")
    return {name: table.column(name).to_pylist() if name in columns else [] for name in fields}


def _decode_table_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 (byte {error.start}); save it in that encoding"
        ) from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; name another") from error


def read_table_lines(path: Path) -> list[str]:
    """Return the lines of a file; only line feeds end a line."""
    lines = _decode_table_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _from_tsv(path: Path) -> NamedTableRows:
    lines = read_table_lines(path)
    names = lines[0].split("\t") if lines else []
    rows = [line.split("\t") if line.strip() else [""] * len(names) for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        _check_width(path, number, row, names)
    return names, list(rows), list(range(2, len(rows) + 2))


def read_csv_rows(path: Path, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row of a CSV file with quoting; a blank line has
    no cell.

    Raises ``ValueError``, naming the file and the line, for other content.
    """
    limit = csv.field_size_limit(MAX_CELL_LETTERS)
    text = io.StringIO(_decode_table_text(path), newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        line = reader.line_num
        raise ValueError(f"line {line} of {path} is no CSV: {error}; mend it") from error
    finally:
        csv.field_size_limit(limit)


def _from_csv(path: Path) -> NamedTableRows:
    (_, names), *table = [*read_csv_rows(path)] or [(1, [])]
    rows = [row or [""] * len(names) for _, row in table]
    for (line, _), row in zip(table, rows):
        _check_width(path, line, row, names)
    return names, list(rows), [line for line, _ in table]


def _check_width(path: Path, line: int, row: Sequence[str], names: Sequence[str]) -> None:
    if len(row) != len(names):
        hint = "save it as .csv, where cells may be quoted" if path.suffix == ".tsv" else "mend it"
        raise ValueError(
            f"line {line} of {path} has {len(row)} cells, and the header {len(names)}; {hint}"
        )


def _from_jsonl(path: Path) -> NamedTableRows:
    lines = [(number, line) for number, line in enumerate(read_table_lines(path), 1)]
    entries = {
        number: _parse_json_line(path, number, line) for number, line in lines if line.strip()
    }
    names = list(next(iter(entries.values()), {}))
    for number, entry in entries.items():
        if not set(names) <= set(entry):
            raise ValueError(
                f"line {number} of {path} lacks the entries "
                f"{', '.join(sorted(set(names) - set(entry)))} of the first line"
            )
    rows: list[Sequence[Any]] = [
        [entries.get(number, {}).get(name) for name in names] for number, _ in lines
    ]
    return names, rows, [number for number, _ in lines]


def _parse_json_line(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {line} of {path} is no JSON: {error}; mend it") from error
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, dict):
        raise ValueError(
            f"line {line} of {path} must be an object or a text; got {type(value).__name__}"
        )
    return value


_TABLE_READERS = {".tsv": _from_tsv, ".csv": _from_csv, ".jsonl": _from_jsonl}


TEXT_COLUMNS = ("sentence", "text")
IMAGE_COLUMNS = ("image", "img")
LABEL_COLUMNS = ("label", "labels")


def find_sample_column(
    columns: Mapping[str, Sequence[Any]],
    column: str | None,
    source: str,
    preferred: Sequence[str] = TEXT_COLUMNS,
) -> str:
    """Return the name of the column with the samples: the requested column, the first name of
    ``preferred`` among the columns, or the only column of texts.

    ``columns``: the values by name; a column without values holds no texts. ``column``: the
    request; None for none. ``source``: the table in messages. Raises ``ValueError``, naming the
    columns, for an unknown column, and if you must choose a column.
    """
    names = [str(name) for name in columns]
    column_list = ", ".join(map(repr, names)) or "none"
    if column is not None:
        if column not in names:
            raise ValueError(
                f"load_samples: {source} has no column {column!r}; it has {column_list}"
            )
        return column
    for name in preferred:
        if name in names:
            return name
    texts = [str(name) for name, values in columns.items() if _are_texts(values)]
    if len(texts) != 1:
        raise ValueError(
            f"load_samples: {source} has {len(texts)} columns of texts; choose one of "
            f"{column_list} by column"
        )
    return texts[0]


def find_label_column(columns: Mapping[str, Sequence[Any]]) -> np.ndarray | None:
    """Return the classes in the column "label", or else "labels", as integers, (rows,); None
    without such a column, or if a label is no whole number. ``columns``: the cells by column
    name."""
    values = next((columns[name] for name in LABEL_COLUMNS if name in columns), None)
    return None if values is None else to_integer_labels(values)


def to_integer_labels(values: Any) -> np.ndarray | None:
    """Return classes as an array of integers, (n,); whole numbers as texts count. None for values
    other than whole numbers, and for no values."""
    try:
        numbers = np.array([int(str(value)) for value in values], dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if numbers.ndim == 1 and len(numbers) else None


def is_blank(value: Any) -> bool:
    """Return whether a cell is None or a text without letters."""
    return value is None or (isinstance(value, str) and not value.strip())


def is_numeric_text(text: str) -> bool:
    """Return whether ``float`` can read a text."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _are_texts(values: Sequence[Any]) -> bool:
    """Return whether more than half of the cells of a column that are not blank are texts other
    than numbers."""
    cells = [value for value in values if not is_blank(value)]
    return 2 * sum(isinstance(cell, str) and not is_numeric_text(cell) for cell in cells) > len(
        cells
    )


# Signs of a text instead of the name of a column
MIN_TEXT_WORDS, SENTENCE_ENDS = 5, (".", "!", "?")
MAX_HEADER_LETTERS = 40  # letters of a header in a warning
USUAL_COLUMN_NAMES = {*TEXT_COLUMNS, *LABEL_COLUMNS}
TEXT_SUFFIXES = (".txt", ".parquet", ".tsv", ".csv", ".jsonl")


def read_texts(path: Path, column: str | None) -> Samples:
    """Return the texts of a file as samples: the lines of a ``.txt`` file, or a column of a table.
    ``column``: the name of the column; None for the usual columns. Raises ``ValueError`` for a file
    without texts."""
    if path.suffix == ".txt":
        return _texts_from_lines(path, column)
    if path.suffix == ".parquet":
        return _texts_from_parquet(path, column)
    names, rows, lines = read_rows(path)
    if not rows:
        raise ValueError(f"load_samples: {path} has no row below its header; add samples")
    columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    sample_column = find_sample_column(columns, column, str(path))
    if names.count(sample_column) > 1:
        raise ValueError(f"load_samples: {path} has two columns {sample_column!r}; rename one")
    if column is None and path.suffix != ".jsonl":
        _warn_of_header(path, names, sample_column)
    return _samples_from_column(path, columns, sample_column, lines)


def _samples_from_column(
    path: Path, columns: Mapping[str, Sequence[Any]], sample_column: str, lines: Sequence[int]
) -> Samples:
    """Return the column ``sample_column`` as samples, with the classes in a label column.

    Blank cells are left out and counted. ``lines``: the line number of each row.
    """
    texts = columns[sample_column]
    indices = [index for index, text in enumerate(texts) if not is_blank(text)]
    if not indices:
        raise ValueError(f"load_samples: {path} holds no text; add samples")
    for index in indices:
        if not isinstance(texts[index], str):
            raise ValueError(
                f"load_samples: line {lines[index]} of {path} holds a "
                f"{type(texts[index]).__name__}, not a text"
            )
    labeled = [name for name in LABEL_COLUMNS if name in columns]
    labels = {name: [columns[name][i] for i in indices] for name in labeled}
    facts: dict[str, Any] = {"file": path.name} | (
        {"column": sample_column} if sample_column else {}
    )
    facts |= {"blank left out": len(texts) - len(indices)} if len(indices) < len(texts) else {}
    sample_texts = [texts[index] for index in indices]
    return samples_from_texts(
        sample_texts, path.stem, labels=find_label_column(labels), facts=facts
    )


def _warn_of_header(path: Path, names: Sequence[str], sample_column: str) -> None:
    """Warn if the first line, read as the names of columns, looks like a sample: a sentence in
    place of the name ``sample_column``, or a number."""
    is_text = len(sample_column.split()) >= MIN_TEXT_WORDS or sample_column.rstrip().endswith(
        SENTENCE_ENDS
    )
    cause = sample_column if is_text else next(filter(is_numeric_text, names), "")
    if cause:
        warnings.warn(
            f"load_samples: the first line of {path} names its columns, and looks like a sample "
            f"({cause[:MAX_HEADER_LETTERS]!r}); write a line such as {TEXT_COLUMNS[0]} above it",
            stacklevel=2,
        )


def _warn_of_table(path: Path, texts: Sequence[str]) -> None:
    cells, *rows = (re.split(r"[\t,;]", text) for text in texts)
    is_header = len(cells) > 1 and bool(
        {cell.strip().lower() for cell in cells} & USUAL_COLUMN_NAMES
    )
    is_header &= 2 * sum(len(row) >= len(cells) for row in rows) > len(rows)
    tabs = {text.count("\t") for text in texts}
    if is_header or (len(texts) > 1 and len(tabs) == 1 and tabs != {0}):
        warnings.warn(
            f"load_samples: {path} looks like a table, and each of its lines is read as one text, "
            "header and other columns included; save it as .tsv or .csv",
            stacklevel=2,
        )


def _texts_from_lines(path: Path, column: str | None) -> Samples:
    if column is not None:
        raise ValueError(f"load_samples: {path} has no columns; leave column={column!r} out")
    lines = read_table_lines(path)
    samples = _samples_from_column(path, {"": lines}, "", range(1, len(lines) + 1))
    _warn_of_table(path, samples.batch(0, len(samples)))
    return samples


def _texts_from_parquet(path: Path, column: str | None) -> Samples:
    def choose(fields: Mapping[str, str]) -> list[str]:
        text_column = column or next((name for name in TEXT_COLUMNS if name in fields), None)
        if text_column:
            texts = [text_column]
        else:
            texts = [name for name, kind in fields.items() if "string" in kind]
        return [name for name in fields if name in (*texts, *LABEL_COLUMNS)]

    values = read_parquet(path, choose)
    sample_column = find_sample_column(values, column, str(path))
    return _samples_from_column(
        path, values, sample_column, range(1, len(values[sample_column]) + 1)
    )
