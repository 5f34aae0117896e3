"""The one door through which results find the rooms that render them: ``plot`` and ``report``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE = __name__.partition(".")[0]
PLOT = ".plot"  # the part that draws
TABLES = frozenset({".csv", ".json", ".md", ".parquet", ".tex", ".txt"})  # suffixes of tables
WORDS = ".report.evidence_words"


def picture(thing: object) -> str:
    """Return a small picture of a result as SVG in HTML, which needs no other package."""
    return str(import_module(f"{PLOT}.notebook", PACKAGE).picture(thing))


def worded(thing: object) -> str:
    """Return a few lines of text about an evidence."""
    return str(import_module(WORDS, PACKAGE).text_of(thing))


def shown(thing: object) -> str:
    """Return a table and maps of an evidence as HTML."""
    return str(import_module(WORDS, PACKAGE).html_of(thing))


def drawn(thing: object, *arguments: Any, **options: Any) -> Any:
    """Return axes of matplotlib with a figure of a result: see :func:`resemblance.plot.draw`."""
    return import_module(PLOT, PACKAGE).draw(thing, *arguments, **options)


def written(thing: object, module: str, output: str, path: Path) -> None:
    """Write a result, whose output is made by a function of a module of ``report``, in the format
    that the suffix of the file names."""
    content = getattr(import_module(f".report.{module}", PACKAGE), output)(thing)
    import_module(".report.output", PACKAGE).save(content, path)


def tabled(thing: object, path: str | Path) -> bool:
    """Write a comparison or an evidence as a table if the file has the suffix of one; return
    whether it has."""
    is_table = Path(path).suffix.lower() in TABLES
    if is_table:
        import_module(".report.output", PACKAGE).save(thing, Path(path))
    return is_table
