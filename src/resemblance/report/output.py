"""Write a comparison: as a table for a person, as JSON, CSV or Parquet for a program."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..comparison import Comparison, describe
from ..store import COLUMNS, replacing, write_atomically
from ..texts import printable
from .tables import Table, fold, measured, render

FORMATS = ("table", "json", "csv", "parquet")
USUAL_WIDTH = 80  # of a terminal that does not say its own
FORMULAS = ("=", "+", "-", "@")  # how a formula begins in a spreadsheet


def emit(comparison: Comparison, kind: str, output: Path | None) -> None:
    """Write a comparison in one of ``FORMATS``, to a file or to standard output."""
    from .terminal import comparison_tables

    if kind == "parquet":
        write_parquet(comparison.to_pandas(), output)
    elif kind == "table" and output is None:
        show(comparison_tables(comparison))
    else:
        deliver({"table": as_table, "json": as_json, "csv": as_csv}[kind](comparison), output)


def deliver(text: str, output: Path | None) -> None:
    """Write a text to a file, of which a reader never sees a part, or to standard output when there
    is none."""
    if output:
        write_atomically(output, text)
    else:
        with _while_read():
            print(text, end="")


@contextmanager
def _while_read() -> Iterator[None]:
    """Let the reader of a pipe go, as ``head`` does: the rest is not printed, and the command ends
    as it would have."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except SystemExit:  # of rich, which has done the same
        pass


def deliver_tables(parts: Sequence[Any], output: Path | None) -> None:
    """Write texts and tables to a file, one line per row, or show them."""
    if output is None:
        show(parts)
    else:
        deliver(as_text(parts), output)


def as_text(parts: Sequence[Any]) -> str:
    """Return texts and tables as text, one line per row."""
    target = io.StringIO()
    show(parts, target)
    return target.getvalue()


def as_table(comparison: Comparison) -> str:
    """Return the tables of a terminal as text, one line per row."""
    from .terminal import comparison_tables

    return as_text(comparison_tables(comparison))


def write_parquet(frame: Any, output: Path | None, **options: Any) -> None:
    """Write a frame to a file of which a reader never sees a part."""
    if output is None:
        raise ValueError("Parquet needs a file: it is not text")
    with replacing(output) as partial:
        frame.to_parquet(partial, **options)


def as_json(comparison: Comparison) -> str:
    """Return the records with the measures and the provenance; a missing value is null and has a
    reason."""
    head = describe(comparison.rows, comparison.columns, comparison.measures, comparison.provenance)
    document = head | {"seconds": dict(comparison.seconds), "records": comparison.records()}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_csv(comparison: Comparison) -> str:
    """Return the records as comma-separated values; a missing value is empty and has a reason."""
    names = sorted({remark.name for remark in comparison.remarks})
    return csv_text([*COLUMNS, *names], comparison.records())


def csv_text(columns: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as comma-separated values.

    A text that a spreadsheet would run as a formula, since it begins with ``=``, ``+``, ``-`` or
    ``@`` and is not a number, has an apostrophe before it.
    """
    target = io.StringIO()
    writer = csv.DictWriter(target, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: _harmless(value) for name, value in record.items()} for record in records
    )
    return target.getvalue()


def _harmless(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(FORMULAS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def show(parts: Sequence[Any], target: Any = None) -> None:
    """Print texts and tables, by default to standard output.

    On a terminal they are as wide as it is (``COLUMNS`` counts); elsewhere every row is one line
    that can be searched for. Control characters, such as a file name may have, are written as
    escapes.
    """
    from rich.console import Console

    stream = target or sys.stdout
    width = _width(stream)
    console = Console(file=stream, markup=False, emoji=False, highlight=False)
    before = "" if width is None else None
    with _while_read():
        for line in (line for part in parts for line in _lines(part, width)):
            if line.plain or before != "":  # two empty lines are one
                console.print(line, soft_wrap=True)
            before = line.plain


def _width(stream: Any) -> int | None:
    """Return how many columns a terminal has, ``COLUMNS`` if that is set; None for what is no
    terminal."""
    if not stream.isatty():
        return None
    said = os.environ.get("COLUMNS", "")
    try:
        return (
            (int(said) if said.isdigit() else 0)
            or os.get_terminal_size(stream.fileno()).columns
            or USUAL_WIDTH
        )
    except OSError:
        return USUAL_WIDTH


def _lines(part: Any, width: int | None) -> Iterator[Any]:
    from rich.text import Text

    if isinstance(part, Table):
        yield from (
            Text(line.text, style="bold" if line.is_heading else "") for line in render(part, width)
        )
        return
    style = part.style if isinstance(part, Text) else ""
    for line in printable(str(part), keep="\n").split("\n"):
        yield from (Text(text, style=style) for text in _folded(line, width))


def _folded(line: str, width: int | None) -> list[str]:
    """Return a line of text as it is where it fits, else broken between words with its indentation.

    A word that is wider, such as a path, is left to the terminal: so it can be copied.
    """
    if width is None or measured(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return [indent + text for text in fold(line, max(width - len(indent), 1), cut=False)]
