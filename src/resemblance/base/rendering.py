"""The only module through which results import ``plot`` and ``report``, at run time, and the reader
of all saved results."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE_NAME = __name__.partition(".")[0]
PLOT_PACKAGE = ".plot"
EVIDENCE_WORDS_MODULE = ".report.evidence_words"


def thumbnail(result: object) -> str:
    """Return a small picture of a result as HTML with SVG, which needs no other package; "" for a
    class of results without a picture."""
    return str(import_module(f"{PLOT_PACKAGE}.notebook", PACKAGE_NAME).picture(result))


def to_text(result: object) -> str:
    """Return a summary of ``result``, an evidence, in a few lines of text."""
    return str(import_module(EVIDENCE_WORDS_MODULE, PACKAGE_NAME).text_of(result))


def to_html(result: object) -> str:
    """Return a table and heat maps of ``result``, an evidence, as HTML."""
    return str(import_module(EVIDENCE_WORDS_MODULE, PACKAGE_NAME).html_of(result))


def plot_result(result: object, *arguments: Any, **options: Any) -> Any:
    """Return matplotlib axes with a figure of ``result``. ``arguments``, ``options``: of
    :func:`resemblance.plot.draw`, such as the kind of the figure and the measure."""
    return import_module(PLOT_PACKAGE, PACKAGE_NAME).draw(result, *arguments, **options)


def figure_types() -> Mapping[str, type]:
    """Return the classes of the figures of a page, by class name."""
    types: Mapping[str, type] = import_module(".sections.figures", PACKAGE_NAME).FIGURE_TYPES
    return types


def figure_svgs(figure: object) -> tuple[tuple[str, str], ...]:
    """Return pairs (name, SVG) of every part of ``figure``, a figure of a page, as the page shows
    the figure."""
    parts: tuple[tuple[str, str], ...] = import_module(
        ".report.chapters", PACKAGE_NAME
    ).standalone_parts(figure)
    return parts


def paint_figure(figure: object) -> Any:
    """Return new matplotlib axes with ``figure``, a figure of a page."""
    return import_module(f"{PLOT_PACKAGE}.drawing", PACKAGE_NAME).paint(figure)


def cell_colors() -> Mapping[str, Any]:
    """Return the colours of heat-map cells, arrays (3,) of red, green and blue from 0 to 1, by CSS
    class."""
    colors: Mapping[str, Any] = import_module(".report.colors", PACKAGE_NAME).colors_by_class()
    return colors


def write_table(
    result: object,
    path: Path,
    kind: str | None = None,
    layout: str | None = None,
    columns: tuple[str, ...] = (),
) -> Path:
    """Write a result as a table to ``path``; return the path.

    ``kind``: the format, by default the format of the suffix. ``layout``: "pairs", "depth" or
    "matrix", or None. ``columns``: the names of the columns to write, () for all.
    """
    import_module(".report.output", PACKAGE_NAME).save(result, path, kind, layout, columns)
    return path


def write_page(result: object, path: Path, is_opened: bool, options: Mapping[str, Any]) -> Path:
    """Write a result as an HTML page, and open the page in the browser if ``is_opened``; return the
    path. ``options``: the options of :func:`resemblance.report.write_page`."""
    page = import_module(".report.page", PACKAGE_NAME)
    page.write_page(result, path, **options)
    if is_opened:
        page.open_page(path)
    return path


def load_any_result(path: Path) -> Any:
    """Return the result in a file or in the folder of a study."""
    return import_module(".bench.loading", PACKAGE_NAME).load(path)
