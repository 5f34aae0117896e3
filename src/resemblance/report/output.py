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

from ..base.json_files import atomic_write, write_atomically
from ..base.results import BaseResult
from ..base.text import escape_control_characters, records_to_frame, snap_to_bounds, warn
from ..comparison.comparison import Comparison, MeasureInfo, comparison_description
from ..comparison.scores import RECORD_COLUMNS
from ..inference.result import Evidence
from ..sections.result import RESULT_COLUMNS, Result, result_document
from ..sections.sections import Table
from .evidence_words import describe_caveats
from .markup import tables_to_latex, tables_to_markdown
from .tables import DEFAULT_TERMINAL_WIDTH, TONE_COLORS, TextTable, display_width, render_table

OUTPUT_FORMATS = ("table", "json", "csv", "parquet", "markdown", "latex")
FORMAT_BY_SUFFIX = {"md": "markdown", "tex": "latex"}  # formats of file suffixes with another name
MARKUP_WRITERS: Mapping[str, Callable[[Sequence[Any]], str]] = {
    "markdown": tables_to_markdown,
    "latex": tables_to_latex,
}
# Start of a formula in a spreadsheet; the wide characters are for East Asia
FORMULA_PREFIXES = (*"=+-@＝＋－＠",)


class Output(NamedTuple):
    """The output of a command: ``tables`` (texts and tables) for a person, a ``document`` for JSON,
    ``records`` for the rows of other formats, the content of a ``page``, and the exit ``code``.

    ``of``: a comparison or evidence to write in place of tables, document and records. ``beside``:
    other results by name; JSON has an entry for each, texts, Markdown and LaTeX have their tables.
    ``shown``: parts to print before the table of ``of`` on standard output.
    """

    tables: Sequence[Any] = ()
    document: Any = None
    records: Sequence[Mapping[str, Any]] = ()
    page: Any = None
    code: int = 0
    of: Comparison | Evidence | None = None
    beside: Mapping[str, BaseResult] = {}
    shown: Sequence[Any] = ()


WritableContent = Comparison | Evidence | Result | Output


def write_output(
    answer: BaseResult | Output,
    kind: str,
    output: Path | None,
    table: str = "",
    layout: str | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Write ``answer``, a result or another output, in a format of ``OUTPUT_FORMATS``, ``kind``, to
    the file ``output`` or to standard output.

    A terminal shows a summary of many pairs; text files, Markdown and LaTeX have a line per pair.
    JSON has everything. For a result, CSV has the shortest data table and Parquet the longest;
    tables with the same columns are joined. Without data tables, CSV and Parquet have a line per
    claim and score, with "claim" or "score" in the column ``kind``. With ``table``, CSV and Parquet
    have the rows of all tables of this name or title. ``layout``: "pairs", "depth" or "matrix", or
    None. ``columns``: the names of the columns to write, () for all.

    Raises ``ValueError`` for a table missing from the result, and for a layout or columns that the
    result or the format does not have.
    """
    if layout or columns:
        write_arranged_tables(answer, kind, output, layout, columns)
        return
    content = _writable_content(answer)
    if kind == "table":
        if output is None and isinstance(content, Output):
            print_tables(content.shown)
        write_tables(_terminal_parts(content, is_whole=output is not None), output)
    elif kind == "json":
        write_text(content_to_json(content), output)
    elif kind in MARKUP_WRITERS:
        write_text(MARKUP_WRITERS[kind](_terminal_parts(content, is_whole=True)), output)
    else:
        if isinstance(content, Output) and content.of is not None:
            if content.beside:
                names = " and ".join(content.beside)
                warn(f"the {names} are in .json, .txt, .md, .tex and --html, not in {kind}")
            content = content.of
        columns, records = _columns_and_records(content, table, kind)
        if kind == "csv":
            write_text(records_to_csv(columns, records), output)
        else:
            write_parquet(_data_frame_of(content, columns, records), output, index=False)


def write_arranged_tables(
    answer: BaseResult | Output,
    kind: str,
    output: Path | None,
    layout: str | None,
    columns: Sequence[str],
) -> None:
    """Write the tables of ``answer`` in a layout ("pairs", "depth", "matrix", or None) with chosen
    columns (() for all), as text, Markdown or LaTeX, to the file ``output`` or to standard output;
    raise ``ValueError`` for other formats."""
    from .arranged import arranged_tables, with_columns

    if kind not in ("table", *MARKUP_WRITERS):
        raise ValueError(f"a layout and columns are for .txt, .md and .tex; a {kind} file has all")
    result = answer.of if isinstance(answer, Output) and answer.of is not None else answer
    if layout:
        parts = arranged_tables(result, layout)
    else:
        parts = _terminal_parts(_writable_content(result), is_whole=True)
    parts = with_columns(parts, columns) if columns else parts
    if isinstance(answer, Output):
        parts = [*parts, *_parts_beside(answer.beside.values())]
    if kind == "table":
        write_tables(parts, output)
    else:
        write_text(MARKUP_WRITERS[kind](parts), output)


def _writable_content(answer: BaseResult | Output) -> WritableContent:
    if isinstance(answer, Comparison | Evidence | Result | Output):
        return answer
    return _output_of(answer)


def _output_of(result: BaseResult) -> Output:
    from .outputs import output_of_result

    return output_of_result(result)


def save(
    content: BaseResult | Output,
    path: Path,
    kind: str | None = None,
    layout: str | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Write a content to a file, in the format ``kind`` of ``OUTPUT_FORMATS`` or, by default, the
    format of the file suffix.

    ``layout``: "pairs", "depth" or "matrix", or None. ``columns``: the names of the columns to
    write, () for all. Raises ``ValueError`` for another format.
    """
    suffix = path.suffix.removeprefix(".").lower()
    if kind is not None and kind not in OUTPUT_FORMATS:
        raise ValueError(f"{path}: formats are {', '.join(OUTPUT_FORMATS)}; got {kind!r}")
    kind = kind or {**FORMAT_BY_SUFFIX, "txt": "table"}.get(suffix, suffix)
    if kind not in OUTPUT_FORMATS:
        suffixes = ", ".join(
            f".{name}" for name in ("csv", "json", "parquet", "txt", *FORMAT_BY_SUFFIX)
        )
        raise ValueError(f"{path}: results are written as {suffixes}; got .{suffix}")
    write_output(content, kind, path, layout=layout, columns=columns)


def _terminal_parts(content: WritableContent, *, is_whole: bool) -> list[Any]:
    from .terminal import comparison_tables, evidence_tables, result_tables

    if isinstance(content, Output) and content.of is not None:
        others = content.beside.values() if is_whole else ()
        return [*_terminal_parts(content.of, is_whole=is_whole), *_parts_beside(others)]
    if isinstance(content, Output):
        return list(content.tables)
    if isinstance(content, Comparison):
        return comparison_tables(content, is_whole=is_whole)
    if isinstance(content, Evidence):
        return evidence_tables(content, is_whole=is_whole)
    return result_tables(content, is_whole=True)


def _parts_beside(others: Iterable[BaseResult]) -> list[Any]:
    return [part for other in others for part in ("", *_output_of(other).tables)]


def _columns_and_records(
    content: WritableContent, table: str, kind: str
) -> tuple[Sequence[str], Sequence[Mapping[str, Any]]]:
    if isinstance(content, Comparison | Evidence):
        infos = {info.spec: info for info in content.measures}
        records = [_round_record(record, infos[record["measure"]]) for record in content.records()]
        if isinstance(content, Evidence):
            return list(records[0]), records
        names = sorted({diagnostic.name for diagnostic in content.diagnostics})
        return [*RECORD_COLUMNS, *names], records
    if isinstance(content, Output):
        return list(content.records[0]), content.records
    if table:
        return table_records(content, table)
    data: dict[tuple[str, ...], list[Table]] = {}
    for part in (t for section in content.sections for t in section.tables if t.is_data):
        data.setdefault(part.columns, []).append(part)
    if not data:
        return RESULT_COLUMNS, content.records()
    ordered = sorted(data.values(), key=lambda tables: sum(len(t.rows) for t in tables))
    return _columns_and_rows(content, ordered[0 if kind == "csv" else -1])


def _round_record(record: Mapping[str, Any], info: MeasureInfo) -> dict[str, Any]:
    value = record["value"]
    value = value if value is None else float(snap_to_bounds(np.asarray(value), info))
    return {**record, "value": value}


def _data_frame_of(
    content: WritableContent, columns: Sequence[str], records: Sequence[Mapping[str, Any]]
) -> Any:
    if isinstance(content, Comparison | Evidence):
        return content.to_pandas()
    frame = records_to_frame(records).reindex(columns=list(columns))
    if isinstance(content, Output):
        return frame
    return frame.astype({name: float for name in ("value", "rank") if name in frame})


def table_records(result: Result, name: str) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the columns and the rows of all tables with this name or title, whatever the case of
    letters.

    Raises ``ValueError`` for an unknown name, and if the columns of the tables differ.
    """
    tables = [t for section in result.sections for t in section.tables]
    matches = [t for t in tables if name.casefold() in (t.name.casefold(), t.title.casefold())]
    if not matches:
        names = ", ".join(dict.fromkeys(t.name for t in tables))
        raise ValueError(f"the result has no table {name!r}; it has {names or 'none'}")
    if any(t.columns != matches[0].columns for t in matches):
        raise ValueError(f"the tables called {name!r} have different columns; name one of them")
    return _columns_and_rows(result, matches)


def _columns_and_rows(
    result: Result, tables: Sequence[Table]
) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the columns and the rows of tables with equal columns.

    The last column, ``trial``, marks the rows of a trial.
    """
    columns = tables[0].columns
    rows = [dict(zip(columns, row)) for t in tables for row in t.rows]
    return (*columns, "trial"), [{**row, "trial": result.is_trial} for row in rows]


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file atomically, or to standard output if ``output`` is None.

    Readers never see a part of the file.
    """
    if output:
        write_atomically(output, text)
    else:
        with _tolerate_closed_pipe():
            print(text, end="")


@contextmanager
def _tolerate_closed_pipe() -> Iterator[None]:
    """Ignore a pipe that the reader closes inside the ``with`` block, for example ``head``.

    The rest is not printed, and the command ends as usual.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except SystemExit:  # rich handles a closed pipe in the same way, then exits
        pass


def write_tables(parts: Sequence[Any], output: Path | None) -> None:
    """Write texts and tables to a file, a line per row; without a file, print everything.
    ``parts``: texts and :class:`TextTable` objects, in order."""
    if output is None:
        print_tables(parts)
    else:
        write_text(tables_to_text(parts), output)


def tables_to_text(parts: Sequence[Any]) -> str:
    """Return texts and tables as plain text, a line per row."""
    target = io.StringIO()
    print_tables(parts, target)
    return target.getvalue()


def write_parquet(frame: Any, output: Path | None, **options: Any) -> None:
    """Write a data frame to a Parquet file atomically: readers never see a part. Raises
    ``ValueError`` without a file."""
    if output is None:
        raise ValueError("Parquet is not text; name a file")
    with atomic_write(output) as partial:
        frame.to_parquet(partial, **options)


def content_to_json(content: WritableContent) -> str:
    """Return a content with all values as a JSON text; a missing value is null and has a reason."""
    document = _json_document(content)
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False, default=dict)
    return text + "\n"


def _json_document(content: WritableContent) -> Any:
    if isinstance(content, Output) and content.of is not None:
        others = {name: _output_of(other).document for name, other in content.beside.items()}
        return _json_document(content.of) | others
    if isinstance(content, Output):
        return content.document
    if isinstance(content, Result):
        return {**result_document(content), "trial": content.is_trial}
    if isinstance(content, Evidence):
        return _evidence_document(content)
    return comparison_description(content) | {
        "seconds": dict(content.seconds),
        "records": content.records(),
    }


def _evidence_document(evidence: Evidence) -> dict[str, Any]:
    """Return an evidence as data for JSON, with the design in words and in numbers."""
    comparison, design = evidence.comparison, evidence.design
    orders = {
        "words": design.words,
        "n_permutations": design.total,
        "seed": design.seed,
        "min_pvalue": design.attainable,
    }
    return comparison_description(comparison) | {
        "seconds": dict(comparison.seconds),
        "confidence_level": evidence.confidence_level,
        "design": orders,
        "caveats": describe_caveats(evidence),
        "records": evidence.records(),
    }


def records_to_csv(columns: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as comma-separated values, a line of names first. ``columns``: the names of
    the entries to write, in this order.

    A text that a spreadsheet would run as a formula gets a leading apostrophe: a text that begins
    with ``=``, ``+``, ``-`` or ``@`` and is not a number. Control characters except line breaks
    become escapes.
    """
    target = io.StringIO()
    writer = csv.DictWriter(target, columns, lineterminator="\n")
    for record in ({name: name for name in columns}, *records):
        writer.writerow({name: _escape_formula(value) for name, value in record.items()})
    return target.getvalue()


def _escape_formula(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = escape_control_characters(value, keep="\n")
    if not value.lstrip().startswith(FORMULA_PREFIXES):
        return text
    try:
        float(value)
    except ValueError:
        return f"'{text}"
    return text


def print_tables(parts: Sequence[Any], target: Any = None) -> None:
    """Print texts and tables, by default to standard output.

    On a terminal, tables fit the width of the terminal (``COLUMNS`` overrides the width), and
    verdicts are coloured unless ``NO_COLOR`` is set. Elsewhere every row is a single searchable
    line, without colours unless ``FORCE_COLOR`` is set. Control characters, for example in file
    names, become escapes.
    """
    from rich.console import Console

    stream = target or sys.stdout
    width = _terminal_width(stream)
    console = Console(file=stream, markup=False, emoji=False, highlight=False)
    previous = "" if width is None else None
    with _tolerate_closed_pipe():
        for line in (line for part in parts for line in _printable_lines(part, width)):
            if line.plain or previous != "":  # merge empty lines
                console.print(line, soft_wrap=True)
            previous = line.plain


def color_by_tone(text: str, tone: str) -> Any:
    """Return a text of rich in the colour of a tone: "good", "warning" or "bad"."""
    from rich.text import Text

    return Text(text, style=TONE_COLORS[tone])


def _terminal_width(stream: Any) -> int | None:
    """Return the number of columns of a terminal, or the number in the environment variable
    ``COLUMNS``; None if the stream is no terminal."""
    if not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    try:
        return (
            (int(columns) if columns.isdigit() else 0)
            or os.get_terminal_size(stream.fileno()).columns
            or DEFAULT_TERMINAL_WIDTH
        )
    except OSError:
        return DEFAULT_TERMINAL_WIDTH


def _printable_lines(part: Any, width: int | None) -> Iterator[Any]:
    from rich.text import Text

    if isinstance(part, TextTable):
        yield from render_table(part, width)
        if not part.note:
            return
        part = part.note
    style = part.style if isinstance(part, Text) else ""
    for line in escape_control_characters(str(part), keep="\n").split("\n"):
        yield from (Text(text, style=style) for text in _fold_line(line, width))


def _fold_line(line: str, width: int | None) -> list[str]:
    """Return the parts of a line, broken between words at ``width`` terminal columns, with the
    indentation repeated; a short line, and any line if ``width`` is None, stays whole.

    A word wider than the terminal, for example a path, stays whole.
    """
    if width is None or display_width(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    lines = [""]
    for word in line.split():
        joined_line = f"{lines[-1]} {word}" if lines[-1] else word
        fits = display_width(joined_line) <= width - len(indent) or not lines[-1]
        lines[-1:] = [joined_line] if fits else [lines[-1], word]
    return [indent + text for text in lines]
