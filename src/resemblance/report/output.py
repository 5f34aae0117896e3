"""Write comparisons, evidence and results: as tables for a person, as JSON, CSV or Parquet for
programs."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.json_files import replacing, write_atomically
from ..base.text import frame_of, printable, without_rounding
from ..comparison.comparison import Comparison, MeasureInfo, describe
from ..comparison.scores import COLUMNS
from ..inference.result import Evidence
from ..sections.result import Result
from ..sections.sections import Table
from .evidence_words import caveats_in_words
from .markup import as_latex, as_markdown
from .tables import TONES, USUAL_WIDTH, TextTable, measured, render

RESULT_COLUMNS = (
    "section", "kind", "name", "measure", "value", "rank", "claim", "theirs", "ours", "verdict",
    "note", "trial",
)  # fmt: skip
FORMATS = ("table", "json", "csv", "parquet", "markdown", "latex")
SUFFIXES = {"md": "markdown", "tex": "latex"}  # of files, by the format that they mean
MARKUP: Mapping[str, Callable[[Sequence[Any]], str]] = {"markdown": as_markdown, "latex": as_latex}
FORMULAS = (*"=+-@＝＋－＠",)  # how a formula begins in a spreadsheet; the wide ones in East Asia


class Output(NamedTuple):
    """What a command writes: ``tables`` for a person, a ``document`` for JSON and ``records`` for
    the rows of other formats, the content of a ``page``, and the exit ``code``.

    ``of``: in place of tables, document and records, what is written otherwise; ``shown`` comes
    before it on standard output.
    """

    tables: Sequence[Any] = ()
    document: Any = None
    records: Sequence[Mapping[str, Any]] = ()
    page: Any = None
    code: int = 0
    of: Comparison | Evidence | None = None
    shown: Sequence[Any] = ()


Content = Comparison | Evidence | Result | Output


def emit(content: Content, kind: str, output: Path | None, table: str = "") -> None:
    """Write a comparison, an evidence, a result or another output in one of ``FORMATS``, to a file
    or to standard output.

    A terminal has a summary of many pairs; text in a file, Markdown and LaTeX have a line for each
    pair. JSON has everything. CSV of a
    result has the shortest table of data and Parquet the longest, those with the same columns being
    one; without such tables both have a line per claim and per score, of the ``kind`` "claim" or
    "score". With ``table`` they have the rows of the tables of this name or title.

    Raises ``ValueError`` for a table that the result does not have.
    """
    if isinstance(content, Output) and content.of is not None:
        if kind == "table" and output is None:
            show(content.shown)
        emit(content.of, kind, output)
    elif kind == "table":
        deliver_tables(_tables_of(content, is_whole=output is not None), output)
    elif kind == "json":
        deliver(as_json(content), output)
    elif kind in MARKUP:
        deliver(MARKUP[kind](_tables_of(content, is_whole=True)), output)
    else:
        columns, records = _records_of(content, table, kind)
        if kind == "csv":
            deliver(csv_text(columns, records), output)
        else:
            write_parquet(_frame_of(content, columns, records), output, index=False)


def save(content: Content, path: Path) -> None:
    """Write a content to a file in the format that its suffix names."""
    suffix = path.suffix.removeprefix(".").lower()
    kind = {**SUFFIXES, "txt": "table"}.get(suffix, suffix)
    if kind not in FORMATS:
        known = ", ".join(f".{name}" for name in ("csv", "json", "parquet", "txt", *SUFFIXES))
        raise ValueError(f"{path}: results are written as {known}; got .{suffix}")
    emit(content, kind, path)


def _tables_of(content: Content, *, is_whole: bool) -> list[Any]:
    from .terminal import comparison_tables, evidence_tables, result_tables

    if isinstance(content, Output):
        return list(content.tables)
    if isinstance(content, Comparison):
        return comparison_tables(content, is_whole=is_whole)
    if isinstance(content, Evidence):
        return evidence_tables(content, is_whole=is_whole)
    return result_tables(content, is_whole=True)


def _records_of(
    content: Content, table: str, kind: str
) -> tuple[Sequence[str], Sequence[Mapping[str, Any]]]:
    if isinstance(content, Comparison | Evidence):
        infos = {info.spec: info for info in content.measures}
        records = [_rounded(record, infos[record["measure"]]) for record in content.records()]
        if isinstance(content, Evidence):
            return list(records[0]), records
        names = sorted({diagnostic.name for diagnostic in content.diagnostics})
        return [*COLUMNS, *names], records
    if isinstance(content, Output):
        return list(content.records[0]), content.records
    if table:
        return table_records(content, table)
    data: dict[tuple[str, ...], list[Table]] = {}
    for part in (t for section in content.sections for t in section.tables if t.is_data):
        data.setdefault(part.columns, []).append(part)
    if not data:
        return RESULT_COLUMNS, result_records(content)
    ordered = sorted(data.values(), key=lambda tables: sum(len(t.rows) for t in tables))
    return _rows_of(content, ordered[0 if kind == "csv" else -1])


def _rounded(record: Mapping[str, Any], info: MeasureInfo) -> dict[str, Any]:
    value = record["value"]
    value = value if value is None else float(without_rounding(np.asarray(value), info))
    return {**record, "value": value}


def _frame_of(
    content: Content, columns: Sequence[str], records: Sequence[Mapping[str, Any]]
) -> Any:
    if isinstance(content, Comparison | Evidence):
        return content.to_pandas()
    frame = frame_of(records).reindex(columns=list(columns))
    if isinstance(content, Output):
        return frame
    return frame.astype({name: float for name in ("value", "rank") if name in frame})


def result_records(result: Result) -> list[dict[str, Any]]:
    """Return a record per claim and per score; a field that does not apply is None.

    A trial has no ranks.
    """
    ranks, records = {} if result.is_trial else result.ranks(), list[dict[str, Any]]()
    for section in result.sections:
        where = {"section": section.name}
        for claim in section.claims:
            facts = claim._asdict()
            records.append({**where, "kind": "claim", "name": facts.pop("number"), **facts})
        for cell, scores in section.scores.items():
            places = ranks.get(section.key(cell), {})
            for measure, value in scores.items():
                facts = {"measure": measure, "value": value, "rank": places.get(measure)}
                records.append({**where, "kind": "score", "name": cell, **facts})
    blank: dict[str, Any] = dict.fromkeys(RESULT_COLUMNS)
    return [{**blank, **record, "trial": result.is_trial} for record in records]


def table_records(result: Result, name: str) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the columns and the rows of all tables of a name or title.

    Raises ``ValueError`` if there is none, or if their columns differ.
    """
    tables = [t for section in result.sections for t in section.tables]
    matches = [t for t in tables if name.casefold() in (t.name.casefold(), t.title.casefold())]
    if not matches:
        names = ", ".join(dict.fromkeys(t.name for t in tables))
        raise ValueError(f"the result has no table {name!r}; it has {names or 'none'}")
    if any(t.columns != matches[0].columns for t in matches):
        raise ValueError(f"the tables called {name!r} have different columns; name one of them")
    return _rows_of(result, matches)


def _rows_of(
    result: Result, tables: Sequence[Table]
) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the columns and the rows of tables with the same columns.

    Every row says whether it is of a trial.
    """
    columns = tables[0].columns
    rows = [dict(zip(columns, row)) for t in tables for row in t.rows]
    return (*columns, "trial"), [{**row, "trial": result.is_trial} for row in rows]


def deliver(text: str, output: Path | None) -> None:
    """Write a text to a file at once, or to standard output when there is none.

    A reader never sees a part of the file.
    """
    if output:
        write_atomically(output, text)
    else:
        with _while_read():
            print(text, end="")


@contextmanager
def _while_read() -> Iterator[None]:
    """Let the reader of a pipe go, as ``head`` does.

    The rest is not printed, and the command ends as it would have.
    """
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


def write_parquet(frame: Any, output: Path | None, **options: Any) -> None:
    """Write a frame to a file of which a reader never sees a part."""
    if output is None:
        raise ValueError("Parquet needs a file: it is not text")
    with replacing(output) as partial:
        frame.to_parquet(partial, **options)


def as_json(content: Content) -> str:
    """Return everything as JSON; a missing value is null and has a reason."""
    if isinstance(content, Output):
        document = content.document
    elif isinstance(content, Result):
        document = {**content.document(), "trial": content.is_trial}
    elif isinstance(content, Evidence):
        document = _evidence_document(content)
    else:
        document = describe(content) | {
            "seconds": dict(content.seconds),
            "records": content.records(),
        }
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False, default=dict)
    return text + "\n"


def _evidence_document(evidence: Evidence) -> dict[str, Any]:
    """Return an evidence with its design in words and in numbers."""
    comparison, design = evidence.comparison, evidence.design
    orders = {
        "words": design.words,
        "draws": design.total,
        "seed": design.seed,
        "attainable": design.attainable,
    }
    return describe(comparison) | {
        "seconds": dict(comparison.seconds),
        "level": evidence.level,
        "design": orders,
        "cautions": caveats_in_words(evidence),
        "records": evidence.records(),
    }


def csv_text(columns: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as comma-separated values.

    A text that a spreadsheet would run as a formula, since it begins with ``=``, ``+``, ``-`` or
    ``@`` and is not a number, has an apostrophe before it. Control characters are escapes, but for
    the end of a line.
    """
    target = io.StringIO()
    writer = csv.DictWriter(target, columns, lineterminator="\n")
    for record in ({name: name for name in columns}, *records):
        writer.writerow({name: _harmless(value) for name, value in record.items()})
    return target.getvalue()


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value, keep="\n")
    if not value.lstrip().startswith(FORMULAS):
        return text
    try:
        float(value)
    except ValueError:
        return f"'{text}"
    return text


def show(parts: Sequence[Any], target: Any = None) -> None:
    """Print texts and tables, by default to standard output.

    On a terminal they are as wide as it is (``COLUMNS`` counts), and verdicts are coloured unless
    ``NO_COLOR`` is set; elsewhere every row is one line that can be searched for, without colours
    unless ``FORCE_COLOR`` is set. Control characters, such as a file name may have, are written as
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


def toned(text: str, tone: str) -> Any:
    """Return a text in the colour of a tone, "good", "warning" or "bad"."""
    from rich.text import Text

    return Text(text, style=TONES[tone])


def _width(stream: Any) -> int | None:
    """Return how many columns a terminal has, or ``COLUMNS``; None for what is no terminal."""
    if not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    try:
        return (
            (int(columns) if columns.isdigit() else 0)
            or os.get_terminal_size(stream.fileno()).columns
            or USUAL_WIDTH
        )
    except OSError:
        return USUAL_WIDTH


def _lines(part: Any, width: int | None) -> Iterator[Any]:
    from rich.text import Text

    if isinstance(part, TextTable):
        yield from render(part, width)
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
    lines = [""]
    for word in line.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        fits = measured(joined) <= width - len(indent) or not lines[-1]
        lines[-1:] = [joined] if fits else [lines[-1], word]
    return [indent + text for text in lines]
