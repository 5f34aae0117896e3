"""Sections of a result on a page: figures as markup, tables as cells, lines with colours; ranks."""

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
    Diagram,
    Figure,
    HeatMap,
    Strips,
    Switch,
)
from ..sections.headlines import RESAMPLING
from ..sections.result import Result
from ..sections.sections import Entry, Section, Table
from ..sections.standing import AXIS, JOINED, TIES, rank_bars, tie_diagram
from .cells import Grid, grid
from .charts import Key, chart, clouds
from .colours import limits
from .diagrams import dendrogram, diagram
from .maps import heat_map
from .numbers import counted
from .rows import bars, boxes, strips
from .svg import NOTHING, note

FEW, FIRST = 10, 8  # lines that are all shown at first; how many of more are


class Drawing(NamedTuple):
    """A figure with its place on the page, its parts as markup, and the names of the parts."""

    figure: Figure
    place: str
    kind: str
    parts: tuple[tuple[str, str], ...]


class Colours(NamedTuple):
    """What the colours of heat maps mean: the words at their ends, and what else there is.

    ``hatchings``: what hatched cells mean.
    """

    ends: tuple[tuple[str, str], ...]
    has_negative: bool
    has_gaps: bool
    hatchings: tuple[str, ...] = ()


class Chapter(NamedTuple):
    """What the page shows of a section; ``keys`` say how its lines are drawn.

    ``unshown``: the titles of figures and tables without a value, which are left out.
    """

    section: Section
    place: str
    keys: tuple[tuple[str, Key], ...]
    colours: Colours | None
    drawings: tuple[Drawing, ...]
    grids: tuple[Grid, ...]
    unshown: tuple[str, ...] = ()


def chapters(result: Result) -> tuple[Chapter, ...]:
    """Return what is shown of every section.

    A name has the same colour in all, as far as colours go.
    """
    numbers: dict[str, int] = {}
    return tuple(_chapter(section, i, numbers) for i, section in enumerate(result.sections))


def _chapter(section: Section, i: int, numbers: dict[str, int]) -> Chapter:
    keys = line_keys(section, numbers)
    place = f"section-{_slug(section.name) or i + 1}"
    drawn = [
        draw(figure, f"{place}-{_slug(figure.name) or j}", keys)
        for j, figure in enumerate(section.figures)
    ]
    drawings = tuple(d for d in drawn if d.parts != (("", NOTHING),))
    tables = [table for table in section.tables if not table.is_data]
    grids = tuple(grid(table) for table in tables if has_values(table))
    unshown = tuple(d.figure.title for d in drawn if d not in drawings)
    unshown += tuple(table.title for table in tables if not has_values(table))
    return Chapter(section, place, tuple(keys.items()), _colours(section), drawings, grids, unshown)


def has_values(table: Table) -> bool:
    """Return whether a table has more than names: an entry or a sign behind its first column."""
    entries = (entry for row in table.rows for entry in (row[1:] or row))
    return bool(table.signs) or any(_is_value(entry) for entry in entries)


def _is_value(entry: Entry) -> bool:
    if entry is None or isinstance(entry, str):
        return entry not in (None, "", "–")
    return math.isfinite(entry)


def _colours(section: Section) -> Colours | None:
    """Return what the colours of the maps of a section mean; None where none says so."""
    maps = [figure for figure in section.figures if isinstance(figure, HeatMap)]
    maps += [heat for f in section.figures if isinstance(f, Choice) for heat in f.maps]
    ends = tuple(dict.fromkeys(heat.ends for heat in maps if heat.ends is not None))
    if not ends:
        return None
    has_negative = any(heat.is_diverging and limits(heat)[0] < 0 for heat in maps)
    has_gaps = any(None in row for heat in maps for row in heat.values)
    hatchings = dict.fromkeys(heat.hatching for heat in maps if heat.hatched and heat.hatching)
    return Colours(ends, has_negative, has_gaps, tuple(hatchings))


def _slug(name: str) -> str:
    """Return a name as part of a link; nothing for one with other characters."""
    return name if re.fullmatch(r"[A-Za-z0-9_.-]+", name) else ""


def line_keys(section: Section, numbers: dict[str, int]) -> dict[str, Key]:
    """Return how the lines of a section are drawn, and note the numbers of names that are new."""
    inside = [part for f in section.figures if isinstance(f, Switch) for part in f.figures]
    charts = [figure for figure in (*section.figures, *inside) if isinstance(figure, Chart)]
    lines = {line.name: line for figure in reversed(charts) for line in reversed(figure.lines)}
    names = list(dict.fromkeys(line.name for figure in charts for line in figure.lines))
    taken: dict[str, int] = {}
    for name in names:
        if name in numbers and numbers[name] not in taken.values():
            taken[name] = numbers[name]
    for name in names:
        if name not in taken:
            taken[name] = next(i for i in range(2 * len(names) + 1) if i not in taken.values())
            numbers.setdefault(name, taken[name])
    first = len(names) if len(names) <= FEW else FIRST
    keys = {}
    for i, name in enumerate(names):
        line = lines[name]
        is_shown = i < first if line.is_shown is None else line.is_shown
        keys[name] = Key(taken[name], is_shown, line.is_dashed, line.note)
    return keys


def draw(figure: Figure, place: str, keys: Mapping[str, Key]) -> Drawing:
    """Return a figure as markup."""
    match figure:
        case Chart():
            return Drawing(figure, place, "chart", (("", chart(figure, keys)),))
        case Bars():
            return Drawing(figure, place, "bars", (("", bars(figure)),))
        case Boxes():
            return Drawing(figure, place, "boxes", (("", boxes(figure)),))
        case Strips():
            return Drawing(figure, place, "strips", (("", strips(figure)),))
        case HeatMap():
            return Drawing(figure, place, "map", (("", heat_map(figure, place)),))
        case Clouds():
            names = (cloud.name for cloud in figure.clouds)
            return Drawing(figure, place, "clouds", tuple(zip(names, clouds(figure))))
        case Dendrogram():
            return Drawing(figure, place, "tree", (("", dendrogram(figure)),))
        case Diagram():
            return Drawing(figure, place, "diagram", (("", diagram(figure)),))
        case Switch():
            parts = (draw(part, place, keys) for part in figure.figures)
            shown = (note(part.figure.note) + part.parts[0][1] for part in parts)
            return Drawing(figure, place, "switch", tuple(zip(figure.choices, shown)))
        case Choice():
            kind = "choice linked" if figure.is_linked else "choice"
            return Drawing(figure, place, kind, _static(figure, place))


def _static(choice: Choice, place: str) -> tuple[tuple[str, str], ...]:
    """Return the maps that are shown without a program, and in print."""
    parts = []
    for option in (choice.options[i] for i in choice.static if i < len(choice.options)):
        words = ", ".join(filter(None, option.choices))
        for i in option.maps:
            heat = choice.maps[i]
            parts.append((f"{heat.title} ({words})", heat_map(heat, f"{place}-{i}")))
    return tuple(parts)


def worth_a_legend(keys: Sequence[tuple[str, Key]]) -> bool:
    """Return whether a legend is of use: for several lines, or for one that is hidden at first."""
    return len(keys) > 1 or any(not key.is_shown for _, key in keys)


def common_legend(shown: Sequence[Chapter]) -> tuple[tuple[str, Key], ...]:
    """Return the lines of the whole page if several sections draw the same ones; else none."""
    legends = [dict(chapter.keys) for chapter in shown if chapter.keys]
    largest = max(legends, key=len, default={})
    is_common = len(legends) > 1 and all(
        largest.get(name) == key for legend in legends for name, key in legend.items()
    )
    return tuple(largest.items()) if is_common else ()


def standing(result: Result) -> Bars | None:
    """Return the mean ranks of the measures, best first; of a trial by name.

    With the intervals of differences from the leader where these mean anything.
    """
    places = result.places()
    if not places.rows:
        return None
    is_sure = places.is_settling and not result.is_trial
    order = [place.measure for place in places.rows]
    bars = list(rank_bars(places, result.labels, order, is_sure=is_sure))
    if result.is_trial:
        bars.sort(key=lambda bar: bar.name)
    note = (
        f"Rank among all measures, 1 for the best, averaged over {counted(places.cells, 'cell')} "
        "of this run; a measure without a value in a cell is ranked behind all that have one."
    )
    note = f"{note} {RESAMPLING} {TIES} {JOINED}" if is_sure else note
    level = places.rows[0].mean if is_sure else None
    span = (1.0, float(len(bars)))
    return Bars("standing", "Mean ranks", AXIS, tuple(bars), note, level, span, is_dotted=True)


def ties_of(result: Result) -> Diagram | None:
    """Return which measures of a result cannot be told apart; None of a trial, and where there are
    too few cells or measures."""
    return None if result.is_trial else tie_diagram(result.places(), result.labels)
