"""Columns of tables in text files and Parquet files, with errors that name the file."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ....extras import need

Columns = dict[str, list[Any]]
Wanted = Mapping[str, Sequence[str]]  # by the name in the result, the names it may have in a file


def rows_of(path: Path, wanted: Wanted) -> Columns:
    """Return columns of a table, by the names of ``wanted``, from a file of one of four kinds.

    ``.tsv``: UTF-8, tabs without quoting, a header; ``.csv``: UTF-8, commas with quoting, a header;
    ``.jsonl``: a JSON object in each line; ``.parquet`` (needs the package pyarrow). The entry of
    ``wanted`` says which names a column may have in the file; the first that is there is read.

    Raises ``ValueError`` that names the file when it is empty, not of its kind, damaged, or has no
    such column.
    """
    readers = {".tsv": _tabbed, ".csv": _quoted, ".jsonl": _objects, ".parquet": _parquet}
    columns = readers[path.suffix](path, wanted)
    if not columns or not len(next(iter(columns.values()))):
        raise ValueError(f"{path} has no rows; copy it again")
    return columns


def _tabbed(path: Path, wanted: Wanted) -> Columns:
    lines = text_of(path).split("\n")
    return _of_records(path, [line.rstrip("\r").split("\t") for line in lines if line], wanted)


def _quoted(path: Path, wanted: Wanted) -> Columns:
    try:
        records = list(csv.reader(io.StringIO(text_of(path), newline=""), strict=True))
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}") from error
    return _of_records(path, [record for record in records if record], wanted)


def _of_records(path: Path, records: Sequence[Sequence[str]], wanted: Wanted) -> Columns:
    """Return columns of a table whose first record is the header."""
    header = list(records[0]) if records else []
    places = {name: header.index(_column(path, header, names)) for name, names in wanted.items()}
    for i, record in enumerate(records, 1):
        if len(record) != len(header):
            raise ValueError(
                f"{path}: row {i} has {len(record)} fields, but the header has {len(header)}: "
                f"{', '.join(header)[:80]}"
            )
    return {name: [record[i] for record in records[1:]] for name, i in places.items()}


def _objects(path: Path, wanted: Wanted) -> Columns:
    columns: Columns = {name: [] for name in wanted}
    for i, line in enumerate(text_of(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: line {i} is not JSON: {error}") from error
        if not isinstance(record, dict):
            raise ValueError(f"{path}: line {i} is not a JSON object")
        for name, names in wanted.items():
            columns[name].append(record[_column(path, list(record), names)])
    return columns


def _parquet(path: Path, wanted: Wanted) -> Columns:
    damaged = need("pyarrow").ArrowException
    parquet = importlib.import_module("pyarrow.parquet")
    try:
        header = parquet.read_schema(path).names
        chosen = {name: _column(path, header, names) for name, names in wanted.items()}
        table = parquet.read_table(path, columns=list(chosen.values()))
    except (damaged, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error}") from error
    return {name: table.column(column).to_pylist() for name, column in chosen.items()}


def _column(path: Path, header: Sequence[str], names: Sequence[str]) -> str:
    for name in names:
        if name in header:
            return name
    raise ValueError(
        f"{path} has no column {' or '.join(names)}; its columns are {', '.join(header)[:80]!r}"
    )


def text_of(path: Path) -> str:
    """Return the text of a file in UTF-8, or raise ``ValueError``."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: {error}; convert it") from error
    if "\0" in text:
        raise ValueError(f"{path} is not a text file: it has zero bytes; copy it again")
    return text
