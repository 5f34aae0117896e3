"""The base class of all results, and the file format of saved results: JSON with the class name."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from .codec import encode_value, spell_non_finite
from .json_files import DAMAGED_FILE_ERRORS, decode_record, write_atomically
from .rendering import plot_result, thumbnail, write_page, write_table
from .text import records_to_frame, warn

FORMAT_ENTRY, FORMAT_NAME, FORMAT_VERSION = "format", "resemblance", 1
DAMAGED_REMEDY = "compute the result again, and save it"
SAVE_REMEDY = "result.save(path) writes the files that rs.load reads"
# Suffixes of files with another writer than save()
OTHER_WRITERS: Mapping[str, str] = {
    **dict.fromkeys((".csv", ".md", ".parquet", ".tex", ".txt", ".tsv", ".xls", ".xlsx"), "table"),
    **dict.fromkeys((".htm", ".html"), "page"),
    **dict.fromkeys((".pdf", ".png", ".svg"), "figure"),
}
WRITER_CALLS: Mapping[str, str] = {
    "table": "result.to_table(path) writes a table: .csv, .json, .md, .parquet, .tex or .txt",
    "page": "result.to_html(path) writes a page",
    "figure": "result.plot().figure.savefig(path) writes a figure",
}
AnyResult = TypeVar("AnyResult", bound="BaseResult")


class BaseResult(ABC):
    """The methods of all results.

    A subclass is a frozen dataclass with ``summary``, ``records``, ``caveats`` (texts about
    doubtful data or values) and ``failures`` (records of missing values, with a ``reason``).
    """

    caveats: Any
    failures: Any
    _derived: ClassVar[tuple[str, ...]] = ()  # properties saved only for other programs
    _tagged: ClassVar[Mapping[str, type]] = {}  # record types saved with an entry "kind"

    @abstractmethod
    def summary(self) -> str:
        """Return the verdict in a few lines of text."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the long table, as mappings from column names to entries."""

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        lines = self.summary().splitlines()
        return "".join(f"<p>{escape(line)}</p>" for line in lines) + thumbnail(self)

    def _table_parts(self) -> list[Any]:
        """Return the texts and tables to print in the terminal; [] where the records are the
        table."""
        return []

    def _page(self) -> Any:
        """Return the sections of the page; None where the page shows the records."""
        return None

    def _document(self) -> dict[str, Any]:
        """Return the content of a JSON table, as JSON types."""
        reasons = [str(getattr(failure, "reason", failure)) for failure in self.failures]
        header = {"summary": self.summary(), "caveats": list(self.caveats), "failures": reasons}
        return {**header, "records": self.records()}

    def to_pandas(self) -> Any:
        """Return the records as a ``pandas.DataFrame`` (extra ``frames``)."""
        return records_to_frame(self.records())

    def to_table(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        layout: Literal["pairs", "depth", "matrix"] | None = None,
        columns: Sequence[str] = (),
    ) -> Path:
        """Write a table, as the command does with ``-o``; return the path.

        ``format``: "table", "json", "csv", "parquet", "markdown" or "latex"; by default the format
        of the suffix: .txt, .json, .csv, .parquet, .md or .tex. The other options are for texts,
        Markdown and LaTeX. ``layout``, of a comparison or an evidence: a row per pair ("pairs"), a
        row per pair of layers of equal depth ("depth"), or a matrix per measure ("matrix"; for two
        models, rows are the layers of the first and columns of the second); of scores of models: a
        row per pair of models ("pairs"), or a row per subject and a column per model ("matrix").
        ``columns``: the columns to write, in this order; "interval" is the column with the
        interval.

        Raises ``ValueError`` for another format, another layout, a layout of a result without
        pairs or without models, and an unknown column.
        """
        return write_table(self, Path(path), format, layout, tuple(columns))

    def to_html(self, path: str | Path, *, open: bool = False, **options: Any) -> Path:
        """Write an HTML page, as the command does with ``--html``; return the path.

        ``open``: open the page in the browser. ``options``: the options of
        :func:`resemblance.report.write_page`. Needs the extra ``report``.
        """
        return write_page(self, Path(path), open, options)

    def plot(
        self, measure: Any = None, *, kind: str | None = None, ax: Any = None, **options: Any
    ) -> Any:
        """Draw a figure with a function of :mod:`resemblance.plot`; return the axes (extra
        ``plot``).

        ``measure``: the measure to draw, if there are several, or the name of a number in the
        records. ``kind``: the name of the plotting function, by default the first name of the
        result's list: "heatmap", "layers", "mds" or "tree" for a comparison and evidence, also
        "intervals" for evidence; "ranks" or "box" for a benchmark; "model_scores", "time_courses",
        "drift", or "points" for other results. ``ax``: the axes to draw into.
        ``options``: the options of the plotting function.
        """
        arguments = () if measure is None else (measure,)
        return plot_result(self, *arguments, kind=kind, ax=ax, **options)

    def save(self, path: str | Path) -> None:
        """Write a file for :func:`resemblance.load`, whatever the suffix."""
        warn_of_suffix(path)
        write_atomically(Path(path), saved_text(self))


class MappingResult(BaseResult):
    """A result with named entries, such as the measures of a comparison."""

    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """Return the names of the entries."""

    @abstractmethod
    def __getitem__(self, key: Any) -> Any: ...

    def __contains__(self, key: object) -> bool:
        try:
            self[key]
        except (KeyError, TypeError, ValueError):
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __bool__(self) -> bool:
        return True


def warn_of_suffix(path: str | Path) -> None:
    """Warn if the suffix of a saved result is the suffix of a table, a page or a figure."""
    suffix = Path(path).suffix.lower()
    if suffix in OTHER_WRITERS:
        kind = OTHER_WRITERS[suffix]
        warn(f"{path} holds a saved result, which only rs.load reads; {WRITER_CALLS[kind]}")


def format_of(name: str) -> str:
    """Return the entry ``format`` in the saved results of the class ``name``."""
    return f"{FORMAT_NAME} {name} {FORMAT_VERSION}"


def class_of_format(entry: object, source: str, remedy: str = "") -> str:
    """Return the class name in ``entry``, the entry ``format`` of the file ``source``.

    Raises ``ValueError``, with the ``remedy``, for an entry of another version or program.
    """
    words = entry.split(" ") if isinstance(entry, str) else []
    if len(words) != 3 or words[0] != FORMAT_NAME:
        raise unreadable_error(source, f"its format is {entry!r}", remedy or SAVE_REMEDY)
    if words[2] != str(FORMAT_VERSION):
        problem = f"it has version {words[2]} of the format, and {FORMAT_VERSION} is read here"
        raise unreadable_error(source, problem, remedy or DAMAGED_REMEDY)
    return words[1]


def saved_document(result: BaseResult) -> dict[str, Any]:
    """Return all fields of a result, and the properties saved for other programs, as a JSON
    document."""
    names = [f.name for f in fields(result)]  # type: ignore[arg-type]
    entries = {name: getattr(result, name) for name in (*names, *result._derived)}
    contents = {
        name: spell_non_finite(encode_value(part, result._tagged)) for name, part in entries.items()
    }
    return {FORMAT_ENTRY: format_of(type(result).__name__), **contents}


def saved_text(result: BaseResult) -> str:
    """Return the text of the file of a saved result, in JSON."""
    document = saved_document(result)
    options: dict[str, Any] = {"ensure_ascii": False, "indent": 1, "default": str}
    return json.dumps(document, allow_nan=False, **options) + "\n"


def unreadable_error(source: str, problem: object, remedy: str) -> ValueError:
    """Return, without raising, the error for a file or document without a readable result.
    ``source``: the path. ``problem``: the exception, or words. ``remedy``: what the user can do, in
    words."""
    words = f"no entry {problem}" if isinstance(problem, KeyError) else str(problem)
    return ValueError(f"{source} is not a saved result that can be read ({words}); {remedy}")


def result_from_document(
    kind: type[AnyResult], document: Mapping[str, Any], source: str, remedy: str = DAMAGED_REMEDY
) -> AnyResult:
    """Return the result of the class ``kind`` from ``document``, a parsed JSON document.
    ``source``: the path, for the error. ``remedy``: the advice to the user, for the error.

    Raises ``ValueError`` for a document that does not fit the class.
    """
    extra_names = {FORMAT_ENTRY, *kind._derived}
    entries = {name: entry for name, entry in document.items() if name not in extra_names}
    try:
        result: AnyResult = decode_record(kind, entries)
    except DAMAGED_FILE_ERRORS as error:
        raise unreadable_error(source, error, remedy) from error
    return result
