"""Write a comparison: as a table for a person, as JSON, CSV or Parquet for a program."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..comparison import Comparison, describe
from ..store import COLUMNS

FORMATS = ("table", "json", "csv", "parquet")


def emit(comparison: Comparison, kind: str, output: Path | None) -> None:
    """Write a comparison in one of ``FORMATS``, to a file or to standard output."""
    from .terminal import comparison_tables

    if kind == "parquet":
        comparison.to_pandas().to_parquet(output)
    elif output is None and kind == "table":
        show(comparison_tables(comparison))
    else:
        text = {"table": as_table, "json": as_json, "csv": as_csv}[kind](comparison)
        deliver(text, output)


def deliver(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output when there is none."""
    if output:
        output.write_text(text, encoding="utf-8", newline="")
    else:
        print(text, end="")


def as_table(comparison: Comparison) -> str:
    """Return the tables of a terminal as text."""
    from .terminal import comparison_tables

    target = io.StringIO()
    show(comparison_tables(comparison), target)
    return target.getvalue()


def as_json(comparison: Comparison) -> str:
    """Return the records with the measures and the provenance; a missing value is null and has a reason."""
    head = describe(comparison.rows, comparison.columns, comparison.measures, comparison.provenance)
    document = head | {"seconds": dict(comparison.seconds), "records": comparison.records()}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_csv(comparison: Comparison) -> str:
    """Return the records as comma-separated values; a missing value is empty and has a reason."""
    target = io.StringIO()
    names = sorted({remark.name for remark in comparison.remarks})
    writer = csv.DictWriter(target, [*COLUMNS, *names], lineterminator="\n")
    writer.writeheader()
    writer.writerows(comparison.records())
    return target.getvalue()


def show(parts: Sequence[Any], target: Any = None) -> None:
    """Print texts and tables, by default to standard output. Rows are never folded, so each can be searched for."""
    from rich.console import Console

    console = Console(file=target or sys.stdout, width=10_000, markup=False, emoji=False, highlight=False)
    for part in parts:
        console.print(printable(part) if isinstance(part, str) else part)


def printable(text: str) -> str:
    """Return a text without the characters by which a name could command the terminal; line ends and tabs stay."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")
