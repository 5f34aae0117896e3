"""Chapters of a page from the sections of a result: SVG figures, table cells, line styles and
ranks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..sections.figures import (
    Bars,
    Boxes,
    Chart,
    Choice,
    Clouds,
    Dendrogram,
    Figure,
    HeatMap,
    Strips,
    Switch,
)
from ..sections.mean_ranks import mean_rank_bars
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry
from .cells import TableGrid, table_grid
from .charts import LineStyle, line_chart, point_cloud_row
from .diagrams import dendrogram_svg
from .maps import heat_map_svg
from .rows import bar_rows_svg, box_rows_svg, strip_rows_svg
from .svg import EMPTY_FIGURE_HTML, figure_note

REFERENCE_NAMES = ("chance", "noise ceiling")  # dashed lines that are levels, not results
# Up to 10 lines are all visible at first; of more lines, the first 8
MAX_LINES_ALL_VISIBLE, INITIALLY_VISIBLE_LINES = 10, 8


class PlacedFigure(NamedTuple):
    """A figure with an anchor on the page (``place``), the kind in CSS, and parts: pairs (name,
    markup); the name of a single part is ""."""

    figure: Figure
    place: str
    kind: str
    parts: tuple[tuple[str, str], ...]


class ColorMeaning(NamedTuple):
    """The legend of the cells that the colour bar of a heat map does not explain.

    ``hatchings``: the meanings of hatched cells; ``has_gaps``: whether cells lack a value.
    """

    has_gaps: bool
    hatchings: tuple[str, ...] = ()


class Chapter(NamedTuple):
    """A section as it appears on the page.

    ``place``: the anchor. ``keys``: name and style of each line. ``colors``: the legend of the heat
    maps. ``unshown``: titles of the figures and tables without a value, which the page omits.
    """

    section: Section
    place: str
    keys: tuple[tuple[str, LineStyle], ...]
    colors: ColorMeaning | None
    drawings: tuple[PlacedFigure, ...]
    grids: tuple[TableGrid, ...]
    unshown: tuple[str, ...] = ()


def chapters(result: Result) -> tuple[Chapter, ...]:
    """Return the chapters of a page, a chapter per section.

    Lines with the same name have the same colour in all chapters, as far as colours suffice.
    """
    numbers: dict[str, int] = {}
    return tuple(
        _chapter_of_section(section, i, numbers) for i, section in enumerate(result.sections)
    )


def _chapter_of_section(section: Section, i: int, numbers: dict[str, int]) -> Chapter:
    keys = line_keys(section, numbers)
    place = f"section-{_link_slug(section.name) or i + 1}"
    placements = [
        figure_markup(figure, f"{place}-{_link_slug(figure.name) or j}", keys)
        for j, figure in enumerate(section.figures)
    ]
    drawings = tuple(d for d in placements if d.parts != (("", EMPTY_FIGURE_HTML),))
    tables = [table for table in section.tables if not table.is_data]
    grids = tuple(table_grid(table) for table in tables if has_values(table))
    empty_titles = tuple(d.figure.title for d in placements if d not in drawings)
    empty_titles += tuple(table.title for table in tables if not has_values(table))
    return Chapter(
        section, place, tuple(keys.items()), _color_meaning(section), drawings, grids, empty_titles
    )


def has_values(table: Table) -> bool:
    """Return whether a table has a sign, or an entry after the first column."""
    entries = (entry for row in table.rows for entry in (row[1:] or row))
    return bool(table.signs) or any(_is_nonempty_entry(entry) for entry in entries)


def _is_nonempty_entry(entry: TableEntry) -> bool:
    if entry is None or isinstance(entry, str):
        return entry not in (None, "", "–")
    return math.isfinite(entry)


def _color_meaning(section: Section) -> ColorMeaning | None:
    """Return the legend of the heat maps in a section; None if every cell has only a colour."""
    maps = [figure for figure in section.figures if isinstance(figure, HeatMap)]
    maps += [heat for f in section.figures if isinstance(f, Choice) for heat in f.maps]
    has_gaps = any(None in row for heat in maps for row in heat.values)
    hatchings = dict.fromkeys(heat.hatching for heat in maps if heat.hatched and heat.hatching)
    return ColorMeaning(has_gaps, tuple(hatchings)) if has_gaps or hatchings else None


def _link_slug(name: str) -> str:
    """Return a name as part of an anchor; "" for a name with unsafe characters."""
    return name if re.fullmatch(r"[A-Za-z0-9_.-]+", name) else ""


def line_keys(section: Section, numbers: dict[str, int]) -> dict[str, LineStyle]:
    """Return the style of every line in the charts of a section, by name.

    The number of a line selects the colour, the marker and the dashes. A name keeps the number in
    ``numbers``, so a name looks the same in all sections. A name without a number, or with a number
    that an earlier line of the section has, gets the smallest number that no line of the section
    has. The function writes the number of a new name into ``numbers``.
    """
    inner_figures = [part for f in section.figures if isinstance(f, Switch) for part in f.figures]
    charts = [figure for figure in (*section.figures, *inner_figures) if isinstance(figure, Chart)]
    lines = {line.name: line for figure in reversed(charts) for line in reversed(figure.lines)}
    names = list(dict.fromkeys(line.name for figure in charts for line in figure.lines))
    names_in_planes = {line.name for figure in charts if figure.is_plane for line in figure.lines}
    names_in_planes -= {line.name for f in charts if not f.is_plane for line in f.lines}
    line_numbers: dict[str, int] = {}
    for name in names:
        if name in numbers and numbers[name] not in line_numbers.values():
            line_numbers[name] = numbers[name]
    for name in names:
        if name not in line_numbers:
            line_numbers[name] = next(
                i for i in range(2 * len(names) + 1) if i not in line_numbers.values()
            )
            numbers.setdefault(name, line_numbers[name])
    n_visible = len(names) if len(names) <= MAX_LINES_ALL_VISIBLE else INITIALLY_VISIBLE_LINES
    keys = {}
    for i, name in enumerate(names):
        line = lines[name]
        is_shown = i < n_visible if line.is_shown is None else line.is_shown
        has_label = name in names_in_planes and line.is_shown is True
        keys[name] = LineStyle(
            line_numbers[name],
            is_shown,
            line.is_dashed,
            line.note,
            not has_label,
            line.is_dashed and name in REFERENCE_NAMES,
        )
    return keys


def figure_markup(figure: Figure, place: str, keys: Mapping[str, LineStyle]) -> PlacedFigure:
    """Return a figure as markup: SVG, and HTML notes. A figure with choices has a part for each
    choice.

    ``place``: the anchor of the figure. ``keys``: the style of each line by name.
    """
    match figure:
        case Chart():
            return PlacedFigure(figure, place, "chart", (("", line_chart(figure, keys)),))
        case Bars():
            return PlacedFigure(figure, place, "bars", (("", bar_rows_svg(figure)),))
        case Boxes():
            return PlacedFigure(figure, place, "boxes", (("", box_rows_svg(figure)),))
        case Strips():
            return PlacedFigure(figure, place, "strips", (("", strip_rows_svg(figure)),))
        case HeatMap():
            return PlacedFigure(figure, place, "map", (("", heat_map_svg(figure, place)),))
        case Clouds():
            names = (cloud.name for cloud in figure.clouds)
            return PlacedFigure(figure, place, "clouds", tuple(zip(names, point_cloud_row(figure))))
        case Dendrogram():
            return PlacedFigure(figure, place, "tree", (("", dendrogram_svg(figure)),))
        case Switch():
            parts = (figure_markup(part, place, keys) for part in figure.figures)
            markup = (figure_note(part.figure.note) + part.parts[0][1] for part in parts)
            return PlacedFigure(figure, place, "switch", tuple(zip(figure.choices, markup)))
        case Choice():
            kind = "choice linked" if figure.is_linked else "choice"
            return PlacedFigure(figure, place, kind, _static_maps(figure, place))


def standalone_parts(figure: Figure) -> tuple[tuple[str, str], ...]:
    """Return (name, markup) for each part of a figure outside a page."""
    keys = line_keys(Section("figure", "", "", figures=(figure,)), {})
    return figure_markup(figure, "figure", keys).parts


def _static_maps(choice: Choice, place: str) -> tuple[tuple[str, str], ...]:
    """Return (title, SVG) of the maps that a page shows without JavaScript and in print. ``place``:
    the anchor of the figure."""
    parts = []
    for option in (choice.options[i] for i in choice.static if i < len(choice.options)):
        words = ", ".join(filter(None, option.choices))
        for i in option.maps:
            heat = choice.maps[i]
            parts.append((f"{heat.title} ({words})", heat_map_svg(heat, f"{place}-{i}")))
    return tuple(parts)


def needs_legend(keys: Sequence[tuple[str, LineStyle]]) -> bool:
    """Return whether a legend is useful: for several lines, or for a line that is hidden at first.
    ``keys``: (name, style) of each line. Lines with a name beside the line do not count."""
    keys = [(name, key) for name, key in keys if key.is_in_legend]
    return len(keys) > 1 or any(not key.is_shown for _, key in keys)


def common_legend(page_chapters: Sequence[Chapter]) -> tuple[tuple[str, LineStyle], ...]:
    """Return the largest legend of the page, as (name, style) pairs, if several sections have lines
    and every line has the style of the largest legend; otherwise ()."""
    legends = [dict(chapter.keys) for chapter in page_chapters if chapter.keys]
    largest = max(legends, key=len, default={})
    is_common = len(legends) > 1 and all(
        largest.get(name) == key for legend in legends for name, key in legend.items()
    )
    return tuple(largest.items()) if is_common else ()


def mean_rank_chart(result: Result) -> Bars | None:
    """Return the mean ranks of the measures, best first; in a trial run, sorted by name. None
    without ranks."""
    rankings = result.mean_ranks()
    if not rankings:
        return None
    if result.is_trial:
        rankings = tuple(sorted(rankings, key=lambda r: result.labels.get(r.measure, r.measure)))
    span = float(len(rankings))
    return mean_rank_bars(rankings, result.labels, name="standing", worst=span)
