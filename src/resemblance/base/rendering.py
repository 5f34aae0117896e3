"""The one door through which results find the rooms that render them: ``plot`` and ``report``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE_NAME = __name__.partition(".")[0]
PLOT_PACKAGE = ".plot"  # the part that draws
TABLE_SUFFIXES = frozenset(
    {".csv", ".json", ".md", ".parquet", ".tex", ".txt"}
)  # suffixes of tables
EVIDENCE_WORDS_MODULE = ".report.evidence_words"


def thumbnail(thing: object) -> str:
    """Return a small picture of a result as SVG in HTML, which needs no other package."""
    return str(import_module(f"{PLOT_PACKAGE}.notebook", PACKAGE_NAME).picture(thing))


def to_text(thing: object) -> str:
    """Return a few lines of text about an evidence."""
    return str(import_module(EVIDENCE_WORDS_MODULE, PACKAGE_NAME).text_of(thing))


def to_html(thing: object) -> str:
    """Return a table and maps of an evidence as HTML."""
    return str(import_module(EVIDENCE_WORDS_MODULE, PACKAGE_NAME).html_of(thing))


def plot_result(thing: object, *arguments: Any, **options: Any) -> Any:
    """Return axes of matplotlib with a figure of a result: see :func:`resemblance.plot.draw`."""
    return import_module(PLOT_PACKAGE, PACKAGE_NAME).draw(thing, *arguments, **options)


def export_result(thing: object, module: str, output: str, path: Path) -> None:
    """Write a result, whose output is made by a function of a module of ``report``, in the format
    that the suffix of the file names."""
    content = getattr(import_module(f".report.{module}", PACKAGE_NAME), output)(thing)
    import_module(".report.output", PACKAGE_NAME).save(content, path)


def save_table(thing: object, path: str | Path) -> bool:
    """Write a comparison or an evidence as a table if the file has the suffix of one; return
    whether it has."""
    is_table = Path(path).suffix.lower() in TABLE_SUFFIXES
    if is_table:
        import_module(".report.output", PACKAGE_NAME).save(thing, Path(path))
    return is_table
