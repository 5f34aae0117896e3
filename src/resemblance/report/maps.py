"""Heat maps as inline SVG, and as numbers for the JavaScript of the page; missing values are
hatched."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.formatting import format_number, format_two_decimals
from ..sections.figures import Choice, HeatMap
from .colors import (
    MIN_DARK_LEVEL,
    N_COLOR_LEVELS,
    color_level,
    color_limits,
    css_class,
    needs_white_text,
    png_of_levels,
)
from .svg import (
    ElementStyle,
    css_class_style,
    round_ticks,
    shorten_distinct_names,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
)

MAP_WIDTH = 480.0
COLOR_SCALE_WIDTH = 62.0  # room for the colour scale at the right
AXIS_FONT_SIZE, MIN_AXIS_FONT_SIZE = 11.0, 9.0
MIN_CELL_FONT_SIZE = 8.5  # smallest font size of numbers in cells
MAX_SIDE_DRAWN_AS_PATHS = 40  # cells along a side; the cells of larger maps are an image
MAX_SIDE_WITH_TITLES = 20  # cells along a side; without JavaScript, larger maps have no tooltips
CHARACTER_WIDTH_RATIO = 0.56  # mean width of a character, relative to the font size
MAX_AXIS_NAME_LENGTH = 24  # characters of a name along an axis
MAX_HEIGHT_RATIO = 2.5  # height of all cells, relative to their width
COLOR_SCALE_STEPS = 32  # colours of a scale
SMALL_CELL_SIDE = 22.0
# Lines in a hatched cell: start (x, y) and length to the right and up, in units of cells
DIAGONAL_HATCHING = ((0.0, 1.0, 1),)
CORNER_HATCHING = ((0.0, 0.2, 0.2), (0.0, 0.4, 0.4), (0.6, 1.0, 0.4), (0.8, 1.0, 0.2))
ZERO_TOLERANCE = 1e-9  # relative to the colour span; smaller numbers are rounding noise around 0


class ModelSpan(NamedTuple):
    """Consecutive rows or columns of a model: name, first position, and position after the last."""

    name: str
    start: int
    stop: int

    @property
    def middle(self) -> float:
        """The position of the model name, in cells from the start of the axis."""
        return (self.start + self.stop - 1) / 2


class AxisName(NamedTuple):
    """A name along an axis: position in cells from 0, distance from the cells in pixels, and font
    size."""

    place: float
    name: str
    offset: float
    font: float
    is_upright: bool  # rotated by 90 degrees
    is_muted: bool = False


class AxisNames(NamedTuple):
    """The names along an axis, the positions where a new model begins, and the space for the names
    in pixels."""

    names: tuple[AxisName, ...]
    borders: tuple[int, ...]
    room: float


class CellGeometry(NamedTuple):
    """The position of the cells of a map in pixels: left edge, total width and height, width and
    height of a cell."""

    left: float
    width: float
    height: float
    pitch_x: float
    pitch_y: float


def heat_map_svg(heat: HeatMap, data: str) -> str:
    """Return a heat map as SVG for a page; ``data`` is the key of the map in the JSON data of the
    page, where the tooltips are."""
    squares = _cell_paths(heat, css_class_style)
    return _map_frame(heat, squares, color_limits(heat), css_class_style, data_map=data, tabindex=0)


def empty_map_svg(rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Return the SVG of an empty heat map, with names and the frame of the scale; JavaScript puts
    cells and numbers into the map."""
    heat = HeatMap("", "heat map", rows, columns, ())
    _, _, cells = _map_geometry(heat)
    places = f"{cells.left:.1f} {cells.pitch_x:.3f} {cells.pitch_y:.3f}"
    data = {"data_cells": places, "data_lines": json.dumps(_hatching_pattern(cells))}
    return _map_frame(heat, [], (0.0, 1.0), css_class_style, tabindex=0, **data)


def static_map_svg(heat: HeatMap, style: ElementStyle) -> str:
    """Return a heat map as SVG for viewers without JavaScript: cells have tooltips, unless a side
    has more than 20 cells.

    ``style``: the function that returns the attributes of a kind of element, such as "tick".
    """
    attributes = {"width": 1, "height": 1, "fill": "none", "pointer_events": "all"}
    cells = [(i, j, words) for i, row in enumerate(heat.titles) for j, words in enumerate(row)]
    if max(len(heat.rows), len(heat.columns)) > MAX_SIDE_WITH_TITLES:
        cells = []
    titles = [
        svg_element("rect", svg_title(words), x=j, y=i, **attributes)
        for i, j, words in cells
        if words
    ]
    return _map_frame(heat, [*_cell_paths(heat, style), *titles], color_limits(heat), style)


def _map_frame(
    heat: HeatMap,
    contents: list[str],
    ends: tuple[float, float],
    style: ElementStyle,
    **attributes: Any,
) -> str:
    """Return the SVG of a whole map: names, borders between models, hatching, numbers and the
    colour scale around ``contents``, the cells.

    ``ends``: the limits of the colours. ``style``: a function from the kind of an element to its
    attributes. ``attributes``: of the SVG element; without ``contents`` the cells have no numbers.
    """
    left, bottom, cells = _map_geometry(heat)
    transform = f"translate({cells.left:.2f} 4) scale({cells.pitch_x:.4f} {cells.pitch_y:.4f})"
    cursor = svg_element("path", **style("cursor"))
    contents = [*contents, *_hatching_lines(heat, cells, ends, style)]
    parts = [svg_element("g", *contents, cursor, **style("cells"), transform=transform)]
    parts += _cell_numbers(heat, cells, ends, style) if contents else []
    parts += [*_left_names_svg(left, cells, style), *_bottom_names_svg(bottom, cells, style)]
    parts += [
        *_model_borders(left, bottom, cells, style),
        *_color_scale_svg(heat, cells, ends, style),
    ]
    keys = "; arrow keys read single values" if "tabindex" in attributes else ""
    label = f"Heat map: {heat.title}{keys}"
    # The style sheet limits the size of a map with few columns
    attributes |= {"style_": f"--columns:{max(len(heat.columns), 1)}", "kind": "chart matrix"}
    return svg_figure(MAP_WIDTH, cells.height + 8 + bottom.room, parts, label, style, **attributes)


def _map_geometry(heat: HeatMap) -> tuple[AxisNames, AxisNames, CellGeometry]:
    """Return the names at the left, the names below, and the position of the cells."""
    rows, columns = max(len(heat.rows), 1), max(len(heat.columns), 1)
    left = fit_axis_names(heat.rows, (MAP_WIDTH - 130) / max(rows, columns), turn=False)
    width = MAP_WIDTH - left.room - COLOR_SCALE_WIDTH
    bottom = fit_axis_names(heat.columns, width / columns, turn=True)
    height = min(max(width * rows / columns, 24.0), MAX_HEIGHT_RATIO * width)
    return left, bottom, CellGeometry(left.room, width, height, width / columns, height / rows)


def _cell_paths(heat: HeatMap, style: ElementStyle) -> list[str]:
    """Return the cells as a path per colour, in units of cells; runs of equal neighbours are
    merged. The cells of a large map are an image, and only missing values are paths."""
    ends, paths = color_limits(heat), dict[str, list[str]]()
    levels = [[color_level(heat, value, ends) for value in row] for row in heat.values]
    is_large = max(len(levels), *map(len, levels), 0) > MAX_SIDE_DRAWN_AS_PATHS
    for i, row in enumerate(levels):
        kinds = [css_class(step) for step in row]
        for start, stop in _run_boundaries(kinds):
            if is_large and row[start] is not None:
                continue
            width = stop - start
            paths.setdefault(kinds[start], []).append(f"M{start} {i}h{width}v1h-{width}z")
    squares = [svg_element("path", d="".join(paths[kind]), **style(kind)) for kind in sorted(paths)]
    return [_cell_image(levels), *squares] if is_large else squares


def _cell_image(levels: Sequence[Sequence[int | None]]) -> str:
    """Return the cells as an SVG image with a pixel per cell, without smoothing. ``levels``: the
    colour level of every cell by row, None for a missing value."""
    size = {"width": len(levels[0]), "height": len(levels)}
    options = {"preserveAspectRatio": "none", "style": "image-rendering:pixelated"}
    return svg_element("image", href=png_of_levels(levels), **size, **options)


def _hatching_lines(
    heat: HeatMap, cells: CellGeometry, ends: tuple[float, float], style: ElementStyle
) -> list[str]:
    """Return the SVG lines across the corners of hatched cells. Small cells have a single diagonal.
    Lines on dark colours are white.

    ``ends``: the limits of the colours.
    """
    paths: dict[str, list[str]] = {}
    for i, j in heat.hatched:
        kind = "unsure"
        if needs_white_text(color_level(heat, heat.values[i][j], ends)):
            kind = "unsure light"
        lines = (f"M{j + x:g} {i + y:g}l{s} -{s}" for x, y, s in _hatching_pattern(cells))
        paths.setdefault(kind, []).extend(lines)
    return [svg_element("path", d="".join(paths[kind]), **style(kind)) for kind in sorted(paths)]


def _hatching_pattern(cells: CellGeometry) -> tuple[tuple[float, float, float], ...]:
    if min(cells.pitch_x, cells.pitch_y) < SMALL_CELL_SIDE:
        return DIAGONAL_HATCHING
    return CORNER_HATCHING


def _run_boundaries(kinds: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Yield (start, stop) of every run of equal entries in ``kinds``; ``stop`` is the position
    after the run."""
    starts = [i for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]
    return zip(starts, [*starts[1:], len(kinds)])


def _cell_numbers(
    heat: HeatMap, cells: CellGeometry, ends: tuple[float, float], style: ElementStyle
) -> list[str]:
    """Return the SVG texts with the numbers of the cells; [] unless all numbers fit. ``ends``: the
    limits of the colours."""
    words, font = _cell_texts(heat, cells, ends)
    parts = []
    for i, row in enumerate(heat.values if words else ()):
        for j, value in enumerate(row):
            x, y = cells.left + (j + 0.5) * cells.pitch_x, 4 + (i + 0.5) * cells.pitch_y + font / 3
            kind = "count light" if needs_white_text(color_level(heat, value, ends)) else "count"
            size = f"font-size:{font:.1f}px"
            if words[i][j]:
                attributes = {**style(kind), "style": size}
                parts.append(svg_text(words[i][j], round(x, 1), round(y, 1), **attributes))
    return parts


def _cell_texts(
    heat: HeatMap, cells: CellGeometry, ends: tuple[float, float]
) -> tuple[list[list[str]], float]:
    """Return the texts of the cells by row, and the font size in pixels; ([], 0) if cells are too
    small. ``ends``: the limits of the colours."""
    if 0.5 * cells.pitch_y < MIN_CELL_FONT_SIZE:
        return [], 0.0
    words = cell_texts(heat.values, ends)
    max_length = max((len(word) for row in words for word in row), default=0)
    room = CHARACTER_WIDTH_RATIO * max(max_length, len("1.00"))
    font = min(AXIS_FONT_SIZE, 0.5 * cells.pitch_y, 0.88 * cells.pitch_x / room)
    return (words, font) if font >= MIN_CELL_FONT_SIZE else ([], 0.0)


def cell_texts(
    values: Sequence[Sequence[float | None]], ends: tuple[float, float]
) -> list[list[str]]:
    """Return the texts of the cells of a map, "" for a missing value; ``ends`` are the limits of
    the colours."""
    rounding = ZERO_TOLERANCE * abs(ends[1] - ends[0])
    are_whole = all(
        float(value).is_integer() for row in values for value in row if value is not None
    )
    return [[_cell_text(value, rounding, are_whole) for value in row] for row in values]


def _cell_text(value: float | None, rounding: float, are_whole: bool) -> str:
    """Return the number in a cell as text: "" for a missing value, "0" for a magnitude below
    ``rounding``.

    Whole numbers from 2 on have no decimals; 1 becomes 1.00 unless all numbers of the map are whole
    (``are_whole``).
    """
    if value is None or not math.isfinite(value):
        return ""
    if abs(value) < rounding:
        return "0"
    if value == int(value) and (are_whole or abs(value) >= 2):
        return format_number(value)
    return format_two_decimals(value, digits=1)


# -------------------------------------------------------------------------------------------- names


def fit_axis_names(names: Sequence[str], pitch: float, *, turn: bool) -> AxisNames:
    """Return the names along an axis with ``pitch`` pixels per name: all names, or as many as fit.

    Names with a model before the last slash also get the model names, unless every model has a
    single name. With ``turn`` the axis is horizontal: cell names are upright if a name is wider
    than a cell, and model names are upright if too long.
    """
    groups = model_groups(names)
    if all(group.stop - group.start == 1 for group in groups):
        groups = ()
    font = max(MIN_AXIS_FONT_SIZE, min(AXIS_FONT_SIZE, 0.92 * pitch))
    places = _label_positions(groups or (ModelSpan("", 0, len(names)),), pitch, font)
    short_names = shorten_distinct_names(
        [n.rpartition("/")[2] if groups else n for n in names], MAX_AXIS_NAME_LENGTH
    )
    cells = [short_names[i] for i in places]
    width = max((estimate_name_width(name, font) for name in cells), default=0)
    is_upright = turn and width + 6 > pitch
    cell_names = [
        AxisName(i, name, 5, font, is_upright, bool(groups)) for i, name in zip(places, cells)
    ]
    depth = 5 + (font if turn and not is_upright else width)
    titles = []
    for group, name in zip(
        groups, shorten_distinct_names([group.name for group in groups], MAX_AXIS_NAME_LENGTH)
    ):
        length = (group.stop - group.start) * pitch
        is_long = turn and estimate_name_width(name, AXIS_FONT_SIZE) + 6 > length
        titles.append(AxisName(group.middle, name, depth + 6, AXIS_FONT_SIZE, is_long))
    title_depths = [
        estimate_name_width(t.name, AXIS_FONT_SIZE) if t.is_upright or not turn else AXIS_FONT_SIZE
        for t in titles
    ]
    room = depth + (6 + max(title_depths) if title_depths else 0) + 4
    return AxisNames((*cell_names, *titles), tuple(g.start for g in groups[1:]), room)


def _label_positions(groups: Sequence[ModelSpan], pitch: float, font: float) -> list[int]:
    """Return the positions of the names to write: all, or as many as fit without contact, counted
    from the first layer of every model.

    ``groups``: the rows or columns of each model. ``pitch``: the distance in pixels between
    neighbouring names. ``font``: the font size.
    """
    step = 1 if font <= 1.3 * pitch else math.ceil(1.1 * font / pitch)
    places = list[int]()
    for group in groups:
        for i in range(group.start, group.stop, step):
            if not places or (i - places[-1]) * pitch >= font / 1.3:
                places.append(i)
    return places


def model_groups(names: Sequence[str]) -> tuple[ModelSpan, ...]:
    """Return the runs of names with the same model, the part before the last slash.

    Return () unless every name has a model.
    """
    if not all(0 < name.rfind("/") < len(name) - 1 for name in names):
        return ()
    models = [name.rpartition("/")[0] for name in names]
    return tuple(ModelSpan(models[start], start, stop) for start, stop in _run_boundaries(models))


def estimate_name_width(name: str, font: float) -> float:
    """Return the approximate width of a name in pixels, in a font of size ``font``, in pixels."""
    return len(name) * font * CHARACTER_WIDTH_RATIO


def _left_names_svg(left: AxisNames, cells: CellGeometry, style: ElementStyle) -> list[str]:
    parts = []
    for name in left.names:
        y = 4 + (name.place + 0.5) * cells.pitch_y + name.font / 3
        parts.append(_axis_name_svg(name, cells.left - name.offset, y, "end", style))
    return parts


def _bottom_names_svg(bottom: AxisNames, cells: CellGeometry, style: ElementStyle) -> list[str]:
    parts = []
    for name in bottom.names:
        x = cells.left + (name.place + 0.5) * cells.pitch_x
        y = 4 + cells.height + name.offset
        if name.is_upright:
            x += name.font / 3
            rotation = f"rotate(-90 {x:.1f} {y:.1f})"
            parts.append(_axis_name_svg(name, x, y, "end", style, transform=rotation))
        else:
            parts.append(_axis_name_svg(name, x, y + name.font, "mid", style))
    return parts


def _axis_name_svg(
    name: AxisName, x: float, y: float, anchor: str, style: ElementStyle, **attributes: object
) -> str:
    kind = anchor if name.is_muted else f"{anchor} name"
    attributes = {**style(kind), "style": f"font-size:{name.font:.1f}px", **attributes}
    return svg_text(name.name, round(x, 1), round(y, 1), **attributes)


def _model_borders(
    left: AxisNames, bottom: AxisNames, cells: CellGeometry, style: ElementStyle
) -> list[str]:
    """Return the SVG lines between models; [] without models."""
    row_borders = [
        f"M{cells.left:.1f} {4 + i * cells.pitch_y:.2f}h{cells.width:.1f}" for i in left.borders
    ]
    column_borders = [
        f"M{cells.left + j * cells.pitch_x:.2f} 4v{cells.height:.1f}" for j in bottom.borders
    ]
    d = "".join([*row_borders, *column_borders])
    return [svg_element("path", d=d, **style(kind)) for kind in ("edge", "thread")] if d else []


def _color_scale_svg(
    heat: HeatMap, cells: CellGeometry, ends: tuple[float, float], style: ElementStyle
) -> list[str]:
    """Return the colour scale with numbers as SVG, dark on top. ``ends``: the limits of the
    colours."""
    x, height = cells.left + cells.width + 14, min(cells.height, 1.6 * cells.width)
    step_height = height / COLOR_SCALE_STEPS
    levels, ticks = _color_scale_marks(heat, height, ends)
    parts = [
        svg_element(
            "path",
            d=f"M{x:.1f} {4 + i * step_height:.2f}h10v{step_height + 0.25:.2f}h-10z",
            **style(css_class(step)),
        )
        for i, step in enumerate(levels)
    ]
    for y, words in ticks:
        parts.append(svg_text(words, round(x + 14, 1), y, **style("tick")))
    return [svg_element("g", *parts, **style("scale"))]


def _color_scale_marks(
    heat: HeatMap, height: float, ends: tuple[float, float]
) -> tuple[list[int | None], list[tuple[float, str]]]:
    """Return two lists: the colour levels of the scale from the top, and (vertical position in
    pixels, text) for the numbers beside the scale. A level is None without a colour.

    ``height``: the height of the scale in pixels. ``ends``: the limits of the colours. A scale that
    crosses 0 has round numbers between the two ends if the scale is high enough.
    """
    top, bottom = (ends[0], ends[1]) if heat.is_reversed else (ends[1], ends[0])
    steps = [top + (bottom - top) * (i + 0.5) / COLOR_SCALE_STEPS for i in range(COLOR_SCALE_STEPS)]
    n_ticks = 5 if height > 90 else 3 if height > 40 else 2
    numbers = [top + (bottom - top) * i / (n_ticks - 1) for i in range(n_ticks)]
    if ends[0] < 0 < ends[1] and n_ticks == 5:
        slack = (ends[1] - ends[0]) / 12
        inner = [v for v in round_ticks(*ends) if ends[0] + slack < v < ends[1] - slack]
        numbers = [top, *inner, bottom]
    ticks = []
    for number in numbers:
        share = (number - top) / (bottom - top) if bottom != top else 0.0
        y = 4 + max(8.0, min(height * share + 3.5, height))
        ticks.append((round(y, 1), format_number(number)))
    return [color_level(heat, value, ends) for value in steps], ticks


SIGNIFICANT_DIGITS = 4  # significant digits of a value, as in tooltips


class PageData(NamedTuple):
    """Data for the JavaScript of a page: numbers of maps and options of choices.

    ``frames``: by name, the empty maps into which the JavaScript puts cells.
    """

    document: dict[str, Any]
    frames: dict[str, str]


def page_data(figures: Iterable[tuple[str, HeatMap | Choice]]) -> PageData:
    """Return the numbers of heat maps and choices, by anchor, for the JavaScript of a page.

    ``figures``: pairs (anchor, figure). Equal maps are stored once.
    """
    figures = list(figures)
    choices = {place: figure for place, figure in figures if isinstance(figure, Choice)}
    heats = {place: figure for place, figure in figures if isinstance(figure, HeatMap)}
    choice_maps = dict[str, HeatMap]()
    for place, choice in choices.items():
        choice_maps |= {f"{place}-{i}": heat for i, heat in enumerate(choice.maps)}
    heats |= choice_maps
    axes = dict.fromkeys(names for heat in heats.values() for names in (heat.rows, heat.columns))
    numbers = {names: i for i, names in enumerate(axes)}
    if not heats:
        return PageData({}, {})
    titles: dict[tuple[tuple[str, ...], ...], str] = {}
    document: dict[str, Any] = {
        "levels": N_COLOR_LEVELS,
        "dark": MIN_DARK_LEVEL * N_COLOR_LEVELS,
        "names": list(axes),
        "maps": _deduplicate_maps(
            {
                place: _map_data(heat, numbers)
                | _titles_data(heat.titles, titles.setdefault(heat.titles, place), place)
                for place, heat in heats.items()
            }
        ),
        "choices": {place: _choice_data(choice) for place, choice in choices.items()},
    }
    frames = dict[str, str]()
    for place, heat in choice_maps.items():
        document["maps"][place] |= _painted_map_data(heat)
        name = f"frame-{numbers[heat.rows]}-{numbers[heat.columns]}"
        if name not in frames:
            frames[name] = empty_map_svg(heat.rows, heat.columns)
    return PageData(document, frames)


def _deduplicate_maps(maps: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the data of ``maps`` by anchor, smaller: a map that differs from an earlier map only
    in the title and the tooltips has the entry "like", the anchor of the earlier map, in place of
    the shared entries."""
    places, data = dict[str, str](), dict[str, dict[str, Any]]()
    for place, entries in maps.items():
        key_entries = {
            name: entry for name, entry in entries.items() if name not in ("title", "titles")
        }
        origin = places.setdefault(json.dumps([key_entries, "titles" in entries]), place)
        data[place] = entries
        if origin != place:
            data[place] = {n: e for n, e in entries.items() if n not in key_entries} | {
                "like": origin
            }
    return data


def _map_data(heat: HeatMap, numbers: Mapping[tuple[str, ...], int]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "title": heat.title,
        "rows": numbers[heat.rows],
        "columns": numbers[heat.columns],
        "values": _pack_symmetric(
            [
                [_round_significant(value, SIGNIFICANT_DIGITS) for value in row]
                for row in heat.values
            ]
        ),
    }
    if heat.chance:
        data["chance"] = _pack_symmetric(
            [[_round_significant(value, 2) for value in row] for row in heat.chance]
        )
    return data


def _painted_map_data(heat: HeatMap) -> dict[str, Any]:
    """Return the data to fill an empty map: colour levels of cells and scale as pairs of
    characters, numbers at the scale and in the cells, and positions of hatched cells."""
    ends, (_, _, cells) = color_limits(heat), _map_geometry(heat)
    levels = _pack_symmetric(
        [[_encode_level(color_level(heat, value, ends)) for value in row] for row in heat.values]
    )
    scale, ticks = _color_scale_marks(heat, min(cells.height, 1.6 * cells.width), ends)
    data: dict[str, Any] = {
        "levels": "".join(levels),
        "scale": "".join(map(_encode_level, scale)),
        "ticks": ticks,
    }
    words, font = _cell_texts(heat, cells, ends)
    hatched = [i * len(heat.columns) + j for i, j in heat.hatched]
    return data | {"texts": _pack_symmetric(words), "font": round(font, 1), "hatched": hatched}


def _encode_level(step: int | None) -> str:
    return "--" if step is None else f"{step + N_COLOR_LEVELS:02x}"


def _titles_data(titles: tuple[tuple[str, ...], ...], origin: str, place: str) -> dict[str, Any]:
    """Return {"titles": tooltips of the cells by "row,column"}; {} without tooltips. ``titles``:
    tooltips by row and column, "" for none.

    ``place``: the anchor of the map. ``origin``: the anchor of the first map with equal tooltips;
    if this is another map, "titles" is this anchor.
    """
    words = {f"{i},{j}": text for i, row in enumerate(titles) for j, text in enumerate(row) if text}
    if not words:
        return {}
    return {"titles": words if origin == place else origin}


def _choice_data(choice: Choice) -> dict[str, Any]:
    words = list(dict.fromkeys(word for option in choice.options for word in option.choices))
    numbers = {word: i for i, word in enumerate(words)}
    options = [
        ([numbers[word] for word in o.choices], o.maps, *((o.note,) if o.note else ()))
        for o in choice.options
    ]
    data = {"selectors": choice.selectors, "words": words, "options": options}
    return data | ({"groups": choice.groups} if choice.groups else {})


def _pack_symmetric(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the entries of the matrix ``rows`` as a flat list, row by row; of a symmetric matrix,
    only the upper triangle with the diagonal."""
    size = len(rows)
    is_square = size > 1 and all(len(row) == size for row in rows)
    is_same = is_square and list(map(tuple, rows)) == list(zip(*rows))
    return [entry for i, row in enumerate(rows) for entry in (row[i:] if is_same else row)]


def _round_significant(value: float | None, figures: int) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{figures}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
