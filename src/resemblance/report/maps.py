"""Heat maps as inline SVG, and as numbers for the page; missing values are hatched."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..sections.figures import Choice, HeatMap
from .colours import DARK, LEVELS, css_class, is_dark, level, limits, picture
from .numbers import number
from .svg import Style, distinct_names, drawing, page_style, tag, text, title

WIDTH = 480.0
SCALE = 62.0  # room for the colour scale at the right
FONT, SMALLEST_FONT = 11.0, 9.0
SMALLEST_NUMBER = 8.5  # font of numbers in cells
MOST_SQUARES = 40  # along a side; the cells of larger maps are a picture
MOST_READ = 20  # along a side of a map whose cells have titles
CHARACTER = 0.56  # of the font size: mean width of a character
LONGEST = 24  # characters of a name along an axis
TALLEST = 2.5  # of the width of the cells
STEPS = 32  # colours of a scale
SMALL_CELL = 22.0
# of the lines in a hatched cell: where they begin, in cells, and how far they go right and up
ACROSS = ((0.0, 1.0, 1),)
CORNERS = ((0.0, 0.2, 0.2), (0.0, 0.4, 0.4), (0.6, 1.0, 0.4), (0.8, 1.0, 0.2))
TINY = 1e-9  # of the span of the colours: smaller numbers are 0 but for rounding


class ModelSpan(NamedTuple):
    """Consecutive rows or columns of one model: its name, the first position, one past the last."""

    name: str
    start: int
    stop: int

    @property
    def middle(self) -> float:
        """Where its name is."""
        return (self.start + self.stop - 1) / 2


class Name(NamedTuple):
    """A name along an axis: its place in cells, its distance from them, and how it is written."""

    place: float
    name: str
    offset: float
    font: float
    is_upright: bool  # against the direction of the axis
    is_muted: bool = False


class Names(NamedTuple):
    """What is written along one axis, where a new model begins, and the room it takes."""

    names: tuple[Name, ...]
    borders: tuple[int, ...]
    room: float


class Cells(NamedTuple):
    """Where the cells of a map are: left, top, width and height of all, and of one."""

    left: float
    width: float
    height: float
    pitch_x: float
    pitch_y: float


def heat_map(heat: HeatMap, data: str) -> str:
    """Draw a heat map; ``data`` is the name of its numbers in the data of the page."""
    squares = _squares(heat, page_style)
    return _frame(heat, squares, limits(heat), page_style, data_map=data, tabindex=0)


def empty_map(rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Draw the names and the scale of a heat map into which the page puts cells and numbers."""
    heat = HeatMap("", "heat map", rows, columns, ())
    _, _, cells = _geometry(heat)
    places = f"{cells.left:.1f} {cells.pitch_x:.3f} {cells.pitch_y:.3f}"
    data = {"data_cells": places, "data_lines": json.dumps(_lines(cells))}
    return _frame(heat, [], (0.0, 1.0), page_style, tabindex=0, **data)


def still_map(heat: HeatMap, style: Style) -> str:
    """Draw a heat map where no program reads it: the pointer reads the titles of the cells, unless
    they are many."""
    unseen = {"width": 1, "height": 1, "fill": "none", "pointer_events": "all"}
    cells = [(i, j, words) for i, row in enumerate(heat.titles) for j, words in enumerate(row)]
    if max(len(heat.rows), len(heat.columns)) > MOST_READ:
        cells = []
    titles = [tag("rect", title(words), x=j, y=i, **unseen) for i, j, words in cells if words]
    return _frame(heat, [*_squares(heat, style), *titles], limits(heat), style)


def _frame(
    heat: HeatMap, inside: list[str], ends: tuple[float, float], style: Style, **attributes: Any
) -> str:
    """Draw names, borders between models, and the scale around cells."""
    left, bottom, cells = _geometry(heat)
    transform = f"translate({cells.left:.2f} 4) scale({cells.pitch_x:.4f} {cells.pitch_y:.4f})"
    cursor = tag("path", **style("cursor"))
    inside = [*inside, *_hatching(heat, cells, ends, style)]
    parts = [tag("g", *inside, cursor, **style("cells"), transform=transform)]
    parts += _written(heat, cells, ends, style) if inside else []
    parts += [*_left(left, cells, style), *_below(bottom, cells, style)]
    parts += [*_borders(left, bottom, cells, style), *_scale(heat, cells, ends, style)]
    keys = "; arrow keys read single values" if "tabindex" in attributes else ""
    label = f"Heat map: {heat.title}{keys}"
    # Few cells are not drawn large
    attributes |= {"style_": f"--columns:{max(len(heat.columns), 1)}", "kind": "chart matrix"}
    return drawing(WIDTH, cells.height + 8 + bottom.room, parts, label, style, **attributes)


def _geometry(heat: HeatMap) -> tuple[Names, Names, Cells]:
    """Return the names at the left and below, and where the cells are."""
    rows, columns = max(len(heat.rows), 1), max(len(heat.columns), 1)
    left = axis_names(heat.rows, (WIDTH - 130) / max(rows, columns), turn=False)
    width = WIDTH - left.room - SCALE
    bottom = axis_names(heat.columns, width / columns, turn=True)
    height = min(max(width * rows / columns, 24.0), TALLEST * width)
    return left, bottom, Cells(left.room, width, height, width / columns, height / rows)


def _squares(heat: HeatMap, style: Style) -> list[str]:
    """Return the cells in units of cells, a path for every colour; equal neighbours are one."""
    ends, paths = limits(heat), dict[str, list[str]]()
    levels = [[level(heat, value, ends) for value in row] for row in heat.values]
    is_large = max(len(levels), *map(len, levels), 0) > MOST_SQUARES
    for i, row in enumerate(levels):
        kinds = [css_class(step) for step in row]
        for start, stop in _runs(kinds):
            if is_large and row[start] is not None:
                continue
            width = stop - start
            paths.setdefault(kinds[start], []).append(f"M{start} {i}h{width}v1h-{width}z")
    squares = [tag("path", d="".join(paths[kind]), **style(kind)) for kind in sorted(paths)]
    return [_picture(levels), *squares] if is_large else squares


def _picture(levels: Sequence[Sequence[int | None]]) -> str:
    """Return the cells as a picture without smooth edges."""
    size = {"width": len(levels[0]), "height": len(levels)}
    more = {"preserveAspectRatio": "none", "style": "image-rendering:pixelated"}
    return tag("image", href=picture(levels), **size, **more)


def _hatching(heat: HeatMap, cells: Cells, ends: tuple[float, float], style: Style) -> list[str]:
    """Draw lines across the corners of hatched cells, so that their numbers can be read; in small
    cells one line across the middle. Lines are white on dark colours."""
    paths: dict[str, list[str]] = {}
    for i, j in heat.hatched:
        kind = "unsure light" if is_dark(level(heat, heat.values[i][j], ends)) else "unsure"
        lines = (f"M{j + x:g} {i + y:g}l{s} -{s}" for x, y, s in _lines(cells))
        paths.setdefault(kind, []).extend(lines)
    return [tag("path", d="".join(paths[kind]), **style(kind)) for kind in sorted(paths)]


def _lines(cells: Cells) -> tuple[tuple[float, float, float], ...]:
    return ACROSS if min(cells.pitch_x, cells.pitch_y) < SMALL_CELL else CORNERS


def _runs(kinds: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Yield the first position of every run of equal entries, and one past the last."""
    starts = [i for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]
    return zip(starts, [*starts[1:], len(kinds)])


def _written(heat: HeatMap, cells: Cells, ends: tuple[float, float], style: Style) -> list[str]:
    """Write the numbers into the cells if all have room."""
    words, font = _cell_texts(heat, cells, ends)
    parts = []
    for i, row in enumerate(heat.values if words else ()):
        for j, value in enumerate(row):
            x, y = cells.left + (j + 0.5) * cells.pitch_x, 4 + (i + 0.5) * cells.pitch_y + font / 3
            kind = "count light" if is_dark(level(heat, value, ends)) else "count"
            size = f"font-size:{font:.1f}px"
            if words[i][j]:
                looks = {**style(kind), "style": size}
                parts.append(text(words[i][j], round(x, 1), round(y, 1), **looks))
    return parts


def _cell_texts(
    heat: HeatMap, cells: Cells, ends: tuple[float, float]
) -> tuple[list[list[str]], float]:
    """Return what is written into the cells, and the size of its font; nothing without room."""
    tiny = TINY * abs(ends[1] - ends[0])
    if 0.5 * cells.pitch_y < SMALLEST_NUMBER:
        return [], 0.0
    values = (value for row in heat.values for value in row if value is not None)
    are_whole = all(float(value).is_integer() for value in values)
    words = [[cell_text(value, tiny, are_whole) for value in row] for row in heat.values]
    longest = max((len(word) for row in words for word in row), default=0)
    room = CHARACTER * max(longest, len("1.00"))
    font = min(FONT, 0.5 * cells.pitch_y, 0.88 * cells.pitch_x / room)
    return (words, font) if font >= SMALLEST_NUMBER else ([], 0.0)


def cell_text(value: float | None, tiny: float, are_whole: bool = False) -> str:
    """Write a number into a cell; what is only rounding on this scale is 0, and 1 is 1.00 unless
    all numbers of the map ``are_whole``."""
    if value is None or not math.isfinite(value):
        return ""
    if abs(value) < tiny:
        return "0"
    if value == int(value) and (are_whole or abs(value) >= 2):
        return number(value)
    if abs(value) < 0.01:
        return number(value, 1)
    return f"{value:.2f}".replace("-", "−") if abs(value) < 10 else number(value)


# -------------------------------------------------------------------------------------------- names


def axis_names(names: Sequence[str], pitch: float, *, turn: bool) -> Names:
    """Choose what fits along an axis with ``pitch`` per name.

    All names, or some of them; with those of models where the names have any.

    With ``turn`` the axis is horizontal, so names of cells are upright, and those of models where
    they do not fit.
    """
    groups = model_groups(names)
    if all(group.stop - group.start == 1 for group in groups):
        groups = ()
    font = max(SMALLEST_FONT, min(FONT, 0.92 * pitch))
    places = _places(groups or (ModelSpan("", 0, len(names)),), pitch, font)
    short = distinct_names([n.rpartition("/")[2] if groups else n for n in names], LONGEST)
    cells = [short[i] for i in places]
    written = [Name(i, name, 5, font, turn, bool(groups)) for i, name in zip(places, cells)]
    depth = max((text_width(name, font) for name in cells), default=0) + 5
    titles = []
    for group, name in zip(groups, distinct_names([group.name for group in groups], LONGEST)):
        length = (group.stop - group.start) * pitch
        is_upright = turn and text_width(name, FONT) + 6 > length
        titles.append(Name(group.middle, name, depth + 6, FONT, is_upright))
    across = [text_width(t.name, FONT) if t.is_upright or not turn else FONT for t in titles]
    room = depth + (6 + max(across) if across else 0) + 4
    return Names((*written, *titles), tuple(g.start for g in groups[1:]), room)


def _places(groups: Sequence[ModelSpan], pitch: float, font: float) -> list[int]:
    """Return which names are written: all, or so many that they do not touch, the first of each
    model among them."""
    step = 1 if font <= 1.3 * pitch else math.ceil(1.1 * font / pitch)
    places = list[int]()
    for group in groups:
        for i in range(group.start, group.stop, step):
            if not places or (i - places[-1]) * pitch >= font / 1.3:
                places.append(i)
    return places


def model_groups(names: Sequence[str]) -> tuple[ModelSpan, ...]:
    """Return the runs of names with the same part before their last slash.

    None unless all names have one.
    """
    if not all(0 < name.rfind("/") < len(name) - 1 for name in names):
        return ()
    models = [name.rpartition("/")[0] for name in names]
    return tuple(ModelSpan(models[start], start, stop) for start, stop in _runs(models))


def text_width(name: str, font: float) -> float:
    """Estimate the length of a name."""
    return len(name) * font * CHARACTER


def _left(left: Names, cells: Cells, style: Style) -> list[str]:
    parts = []
    for name in left.names:
        y = 4 + (name.place + 0.5) * cells.pitch_y + name.font / 3
        parts.append(_name(name, cells.left - name.offset, y, "end", style))
    return parts


def _below(bottom: Names, cells: Cells, style: Style) -> list[str]:
    parts = []
    for name in bottom.names:
        x = cells.left + (name.place + 0.5) * cells.pitch_x
        y = 4 + cells.height + name.offset
        if name.is_upright:
            x += name.font / 3
            turned = f"rotate(-90 {x:.1f} {y:.1f})"
            parts.append(_name(name, x, y, "end", style, transform=turned))
        else:
            parts.append(_name(name, x, y + name.font, "mid", style))
    return parts


def _name(name: Name, x: float, y: float, anchor: str, style: Style, **attributes: object) -> str:
    kind = anchor if name.is_muted else f"{anchor} name"
    attributes = {**style(kind), "style": f"font-size:{name.font:.1f}px", **attributes}
    return text(name.name, round(x, 1), round(y, 1), **attributes)


def _borders(left: Names, bottom: Names, cells: Cells, style: Style) -> list[str]:
    """Draw lines between models."""
    across = [
        f"M{cells.left:.1f} {4 + i * cells.pitch_y:.2f}h{cells.width:.1f}" for i in left.borders
    ]
    down = [f"M{cells.left + j * cells.pitch_x:.2f} 4v{cells.height:.1f}" for j in bottom.borders]
    d = "".join([*across, *down])
    return [tag("path", d=d, **style(kind)) for kind in ("edge", "thread")] if d else []


def _scale(heat: HeatMap, cells: Cells, ends: tuple[float, float], style: Style) -> list[str]:
    """Draw the colours with their numbers, dark on top."""
    x, tall = cells.left + cells.width + 14, min(cells.height, 1.6 * cells.width)
    tall_step = tall / STEPS
    levels, ticks = _scale_marks(heat, tall, ends)
    parts = [
        tag(
            "path",
            d=f"M{x:.1f} {4 + i * tall_step:.2f}h10v{tall_step + 0.25:.2f}h-10z",
            **style(css_class(step)),
        )
        for i, step in enumerate(levels)
    ]
    for i, words in enumerate(ticks):
        y = 4 + max(8.0, min(tall * i / (len(ticks) - 1) + 3.5, tall))
        parts.append(text(words, round(x + 14, 1), round(y, 1), **style("tick")))
    return [tag("g", *parts, **style("scale"))]


def _scale_marks(
    heat: HeatMap, tall: float, ends: tuple[float, float]
) -> tuple[list[int | None], list[str]]:
    """Return the levels of a scale from the top, and the numbers at it."""
    top, bottom = (ends[0], ends[1]) if heat.is_reversed else (ends[1], ends[0])
    steps = [top + (bottom - top) * (i + 0.5) / STEPS for i in range(STEPS)]
    few = 5 if tall > 90 else 3 if tall > 40 else 2
    ticks = [number(top + (bottom - top) * i / (few - 1)) for i in range(few)]
    return [level(heat, value, ends) for value in steps], ticks


FIGURES = 4  # significant digits of a value, as many as the pointer reads


class PageData(NamedTuple):
    """What the program of a page reads: numbers of maps and options of choices.

    And, by name, the empty maps into which it puts cells.
    """

    document: dict[str, Any]
    frames: dict[str, str]


def page_data(figures: Iterable[tuple[str, HeatMap | Choice]]) -> PageData:
    """Return the numbers of heat maps and choices by their places on a page.

    Equal ones are stored once.
    """
    figures = list(figures)
    choices = {place: figure for place, figure in figures if isinstance(figure, Choice)}
    heats = {place: figure for place, figure in figures if isinstance(figure, HeatMap)}
    chosen = dict[str, HeatMap]()
    for place, choice in choices.items():
        chosen |= {f"{place}-{i}": heat for i, heat in enumerate(choice.maps)}
    heats |= chosen
    axes = dict.fromkeys(names for heat in heats.values() for names in (heat.rows, heat.columns))
    numbers = {names: i for i, names in enumerate(axes)}
    if not heats:
        return PageData({}, {})
    titles: dict[tuple[tuple[str, ...], ...], str] = {}
    document: dict[str, Any] = {
        "levels": LEVELS,
        "dark": DARK * LEVELS,
        "names": list(axes),
        "maps": _once(
            {
                place: _map_data(heat, numbers)
                | _titles(heat.titles, titles.setdefault(heat.titles, place), place)
                for place, heat in heats.items()
            }
        ),
        "choices": {place: _choice_data(choice) for place, choice in choices.items()},
    }
    frames = dict[str, str]()
    for place, heat in chosen.items():
        document["maps"][place] |= _painted(heat)
        name = f"frame-{numbers[heat.rows]}-{numbers[heat.columns]}"
        if name not in frames:
            frames[name] = empty_map(heat.rows, heat.columns)
    return PageData(document, frames)


def _once(maps: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the data of maps; of those that differ in title only, all but the first name it."""
    places, data = dict[str, str](), dict[str, dict[str, Any]]()
    for place, entries in maps.items():
        rest = {name: entry for name, entry in entries.items() if name not in ("title", "titles")}
        first = places.setdefault(json.dumps([rest, "titles" in entries]), place)
        data[place] = entries
        if first != place:
            data[place] = {n: e for n, e in entries.items() if n not in rest} | {"like": first}
    return data


def _map_data(heat: HeatMap, numbers: Mapping[tuple[str, ...], int]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "title": heat.title,
        "rows": numbers[heat.rows],
        "columns": numbers[heat.columns],
        "values": _packed([[_brief(value, FIGURES) for value in row] for row in heat.values]),
    }
    if heat.chance:
        data["chance"] = _packed([[_brief(value, 2) for value in row] for row in heat.chance])
    return data


def _painted(heat: HeatMap) -> dict[str, Any]:
    """Return what is painted into an empty map: the levels of cells and of the scale as pairs of
    characters, the numbers at the scale and in the cells, and which cells are hatched."""
    ends, (_, _, cells) = limits(heat), _geometry(heat)
    levels = _packed([[_code(level(heat, value, ends)) for value in row] for row in heat.values])
    scale, ticks = _scale_marks(heat, min(cells.height, 1.6 * cells.width), ends)
    data: dict[str, Any] = {
        "levels": "".join(levels),
        "scale": "".join(map(_code, scale)),
        "ticks": ticks,
    }
    words, font = _cell_texts(heat, cells, ends)
    hatched = [i * len(heat.columns) + j for i, j in heat.hatched]
    return data | {"texts": _packed(words), "font": round(font, 1), "hatched": hatched}


def _code(step: int | None) -> str:
    return "--" if step is None else f"{step + LEVELS:02x}"


def _titles(titles: tuple[tuple[str, ...], ...], first: str, place: str) -> dict[str, Any]:
    """Return what the pointer reads in the cells of a map, or the ``first`` map with the same."""
    words = {f"{i},{j}": text for i, row in enumerate(titles) for j, text in enumerate(row) if text}
    if not words:
        return {}
    return {"titles": words if first == place else first}


def _choice_data(choice: Choice) -> dict[str, Any]:
    words = list(dict.fromkeys(word for option in choice.options for word in option.choices))
    numbers = {word: i for i, word in enumerate(words)}
    options = [
        ([numbers[word] for word in o.choices], o.maps, *((o.note,) if o.note else ()))
        for o in choice.options
    ]
    data = {"selectors": choice.selectors, "words": words, "options": options}
    return data | ({"groups": choice.groups} if choice.groups else {})


def _packed(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the entries in one row, of a symmetric map those from the diagonal up."""
    size = len(rows)
    is_square = size > 1 and all(len(row) == size for row in rows)
    is_same = is_square and list(map(tuple, rows)) == list(zip(*rows))
    return [entry for i, row in enumerate(rows) for entry in (row[i:] if is_same else row)]


def _brief(value: float | None, figures: int) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{figures}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
