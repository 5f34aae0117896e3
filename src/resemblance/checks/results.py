"""Checks of a result: summary, tables, page, figures, files and mapping."""

from __future__ import annotations

import csv
import json
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np

from ..base.rendering import load_any_result
from ..base.results import BaseResult, MappingResult
from .trial import Outcome

SAVED_NAMES = ("result", "result.json", "result.comparison", "result.csv")
TABLE_NAMES = ("table.csv", "table.json", "table.md", "table.parquet", "table.tex", "table.txt")
UNKNOWN_NAME = "no such name"


def check_result(result: BaseResult) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a result, in a folder that is removed afterwards.

    A result has a summary, and its caveats are in the terminal table, the page and JSON. Records, a
    data frame and table files have the same rows. A figure can be drawn. A file with any suffix
    loads as an equal result; a damaged file gives a ``ValueError`` with the name of the file. A
    mapping has the entries that it lists. If an extra is not installed, its check decides nothing.
    Raises ``TypeError`` for an object that is not a result.
    """
    if not isinstance(result, BaseResult):
        raise TypeError(f"check_result: {type(result).__name__} is no class of results")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of suffixes and of drawings
        return tuple(_result_outcomes(result, Path(folder)))


def _result_outcomes(result: BaseResult, folder: Path) -> Iterator[Outcome]:
    checks: dict[str, Callable[[BaseResult, Path], str]] = {
        "a verdict in words": _problem_of_words,
        "records and a data frame": _problem_of_records,
        "tables": _problem_of_tables,
        "a page": _problem_of_page,
        "a figure": _problem_of_figure,
        "save and load": _problem_of_saved_file,
        "a damaged file": _problem_of_damaged_file,
    }
    if isinstance(result, MappingResult):
        checks["a mapping"] = _problem_of_mapping
    if hasattr(result, "to_xarray"):
        checks["a data set of xarray"] = _problem_of_dataset
    for name, problem_of in checks.items():
        try:
            problem = problem_of(result, folder)
        except ImportError as error:
            yield Outcome(name, "yes", None, str(error))
        except Exception as error:
            yield Outcome(name, "yes", False, f"{type(error).__name__}: {error}")
        else:
            yield Outcome(name, "yes", not problem, problem)


def _problem_of_words(result: BaseResult, folder: Path) -> str:
    summary, reasons = result.summary(), [getattr(f, "reason", None) for f in result.failures]
    if not (isinstance(summary, str) and summary.strip()) or repr(result) != summary:
        return f"the summary is {summary!r}, and its repr {result!r}"
    if not (isinstance(result.caveats, tuple) and all(isinstance(c, str) for c in result.caveats)):
        return f"the caveats are no texts: {result.caveats!r}"
    if not isinstance(result.failures, Sequence) or not all(reasons):
        return f"a failure has no reason: {result.failures!r}"
    notebook = result._repr_html_()
    return "" if "<" in notebook else f"a notebook shows {notebook!r}"


def _problem_of_records(result: BaseResult, folder: Path) -> str:
    records, frame = result.records(), result.to_pandas()
    columns = list(dict.fromkeys(name for record in records for name in record))
    if not records or list(frame.columns) != columns or len(frame) != len(records):
        return f"{len(records)} records of {columns}, and a frame of {list(frame.columns)}"
    for name in columns:
        cells = [record.get(name) for record in records]
        if not all(map(are_equal, cells, frame[name].tolist())):
            return f"the column {name} of the frame is not that of the records"
    return ""


def _problem_of_tables(result: BaseResult, folder: Path) -> str:
    for name in TABLE_NAMES:
        path = result.to_table(folder / name)
        if not path.is_file() or not path.stat().st_size:
            return f"{name} is empty"
    document = (folder / "table.json").read_text(encoding="utf-8")
    json.loads(document)
    words = " ".join((folder / "table.txt").read_text(encoding="utf-8").split())
    for caveat in result.caveats:
        if " ".join(caveat.split()) not in words:
            return f"the table of a terminal lacks the caveat {caveat!r}"
        if json.dumps(caveat, ensure_ascii=False)[1:-1] not in document:
            return f"JSON lacks the caveat {caveat!r}"
    return _problem_of_csv(result, folder / "table.csv")


def _problem_of_csv(result: BaseResult, path: Path) -> str:
    """Return the problem of a CSV table compared with the records of a result, in words, or "":
    another number of rows if the columns agree, or another number in a column of values."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    records = result.records()
    if not rows or (set(rows[0]) == set(records[0]) and len(rows) != len(records)):
        return f"{path.name} has {len(rows)} rows for {len(records)} records"
    columns = [name for name in rows[0] if name in ("value", "low", "high", "mean")]
    for row, record in zip(rows, records) if len(rows) == len(records) else ():
        for name in columns:
            number = math.nan if record.get(name) is None else record[name]
            if not np.isclose(float(row[name] or "nan"), number, atol=1e-9, equal_nan=True):
                return f"{path.name} has {name} {row[name]} where the record has {number}"
    return ""


def _problem_of_page(result: BaseResult, folder: Path) -> str:
    text = result.to_html(folder / "page.html").read_text(encoding="utf-8")
    words = " ".join(text.split())
    if "</html>" not in words:
        return "the page is no HTML"
    visible_text = unescape(words).replace("\N{MINUS SIGN}", "-")
    entries = [value for record in result.records() for value in record.values()]
    if not any(isinstance(value, str) and value in visible_text for value in entries):
        return "the page has nothing of the records"
    missing_caveats = [c for c in result.caveats if " ".join(c.split()) not in visible_text]
    return f"the page lacks the caveat {missing_caveats[0]!r}" if missing_caveats else ""


def _problem_of_figure(result: BaseResult, folder: Path) -> str:
    measure = None
    if isinstance(result, MappingResult) and hasattr(result, "measures"):
        measure = result.keys()[0]
    axes = result.plot(measure)
    axes.figure.clear()
    new_axes = axes.figure.add_subplot()
    if result.plot(measure, ax=new_axes) is not new_axes:
        return "it was not drawn into the axes"
    try:
        result.plot(kind=UNKNOWN_NAME)
    except ValueError:
        return ""
    return f"it draws the kind {UNKNOWN_NAME!r}"


def _problem_of_saved_file(result: BaseResult, folder: Path) -> str:
    for name in SAVED_NAMES:
        (folder / name).unlink(missing_ok=True)
        result.save(folder / name)
        copy = load_any_result(folder / name)
        if type(copy) is not type(result):
            return f"{name} gives back a {type(copy).__name__}"
        for part in ("summary", "records"):
            if not are_equal(getattr(copy, part)(), getattr(result, part)()):
                return f"{name} gives back other {part}"
        for part in ("caveats", "failures"):
            if not are_equal(tuple(getattr(copy, part)), tuple(getattr(result, part))):
                return f"{name} gives back other {part}"
    return ""


def _problem_of_damaged_file(result: BaseResult, folder: Path) -> str:
    path = folder / "damaged"
    result.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    try:
        load_any_result(path)
    except ValueError as error:
        return "" if str(path) in str(error) else f"the error does not name the file: {error}"
    return "half of the file is read without an error"


def _problem_of_mapping(result: BaseResult, folder: Path) -> str:
    assert isinstance(result, MappingResult)
    names = tuple(result.keys())
    if list(result) != list(names) or len(result) != len(names) or UNKNOWN_NAME in result:
        return f"the keys are {names}, and it lists {list(result)}"
    missing_names = [name for name in names if name not in result]
    for name in names:
        result[name]
    return f"{missing_names[0]!r} is not in it" if missing_names else ""


def _problem_of_dataset(result: BaseResult, folder: Path) -> str:
    data: Any = result
    variables = data.to_xarray().data_vars
    return "" if len(variables) else "it has no variables"


def are_equal(value: Any, other: Any) -> bool:
    """Return whether two values are exactly equal, entry by entry for arrays, lists and mappings. A
    missing value (None, NaN, <NA>) equals any other missing value; inside arrays NaN equals NaN."""
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(are_equal(value[k], other[k]) for k in value)
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(value, other, equal_nan=np.asarray(value).dtype.kind == "f")
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(are_equal, value, other))
    return bool(_is_missing(value) and _is_missing(other)) or bool(value == other)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value) == "<NA>"
