"""Tables in files: tab-separated, comma-separated, JSON a line, and Parquet, with errors that name
the line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..extras import need

LARGEST = 2**31 - 1  # letters of a cell: documents are longer than what the csv module takes
Rows = tuple[list[str], list[Sequence[Any]], list[int]]  # names of columns, rows, their lines


def read_rows(path: Path) -> Rows:
    """Return the names of the columns of a table, its rows, and the line of each.

    ``.tsv``: UTF-8, tabs without quoting, a header; ``.csv``: UTF-8, commas with quoting, a header;
    ``.jsonl``: a JSON object, or a text, in each line. Blank lines are blank rows.

    Raises ``ValueError`` that names the file, and the line, for what is none of these.
    """
    return _READERS[path.suffix](path)


def read_parquet(
    path: Path, choose: Callable[[Mapping[str, str]], Sequence[str]]
) -> dict[str, list[Any]]:
    """Return the values of the columns of a Parquet file by name, empty for those not chosen.

    ``choose``: which to read, given their types by name. Needs the package pyarrow. Raises
    ``ValueError`` that names the file when it has no row, or cannot be read.
    """
    parquet = need("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
        fields = {field.name: str(field.type) for field in file.schema_arrow}
        wanted = list(choose(fields))
        table = file.read(columns=wanted)
    except (OSError, need("pyarrow").ArrowException) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not table.num_rows:
        raise ValueError(f"{path} has no row")
    return {name: table.column(name).to_pylist() if name in wanted else [] for name in fields}


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 (byte {error.start}); save it in that encoding"
        ) from error


def lines_of(path: Path) -> list[str]:
    """Return the lines; only line feeds end them, as texts may hold the other separators."""
    lines = _decoded(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _from_tsv(path: Path) -> Rows:
    """Return the rows of a table without quoting."""
    lines = lines_of(path)
    names = lines[0].split("\t") if lines else []
    rows = [line.split("\t") if line.strip() else [""] * len(names) for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        _check_width(path, number, row, names)
    return names, list(rows), list(range(2, len(rows) + 2))


def _from_csv(path: Path) -> Rows:
    rows, lines = [], []
    limit = csv.field_size_limit(LARGEST)
    reader = csv.reader(io.StringIO(_decoded(path), newline=""), strict=True)
    try:
        names = next(reader, [])
        for row in reader:
            cells = row or [""] * len(names)
            _check_width(path, reader.line_num, cells, names)
            rows.append(cells)
            lines.append(reader.line_num)
    except csv.Error as error:
        line = reader.line_num
        raise ValueError(f"line {line} of {path} is no CSV: {error}") from error
    finally:
        csv.field_size_limit(limit)
    return names, list(rows), lines


def _check_width(path: Path, line: int, row: Sequence[str], names: Sequence[str]) -> None:
    if len(row) != len(names):
        hint = "save it as .csv, where cells may be quoted" if path.suffix == ".tsv" else "mend it"
        raise ValueError(
            f"line {line} of {path} has {len(row)} cells, and the header {len(names)}; {hint}"
        )


def _from_jsonl(path: Path) -> Rows:
    lines = [(number, line) for number, line in enumerate(lines_of(path), 1)]
    entries = {number: _entry(path, number, line) for number, line in lines if line.strip()}
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


def _entry(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {line} of {path} is no JSON: {error}") from error
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, dict):
        raise ValueError(
            f"line {line} of {path} must be an object or a text; got {type(value).__name__}"
        )
    return value


_READERS = {".tsv": _from_tsv, ".csv": _from_csv, ".jsonl": _from_jsonl}
