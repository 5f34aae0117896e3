"""Heat maps as inline SVG: dark blue is similar, whatever the direction of the measure; no value is
striped."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..extras import need
from .data import HeatMap, spans

WIDTH = 350.0  # points; a page scales the figure
SCALE = 54.0  # room for the colour scale at the right
FONT, SMALLEST_FONT = 7.5, 3.6
CHARACTER = 0.6  # of the font size: mean width of a character of the usual sans-serif fonts
LONGEST = 24  # characters of a label
INK, MUTED = "#1f2933", "#7b8794"
STRIPES = ((0.91, 0.92, 0.93), (0.74, 0.76, 0.79))

INLINE = (  # what turns an SVG file into an element of an HTML page: see _svg
    (
        r"(?s)^.*?(?=<svg)|<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>|<g[^>]*>\s*</g>\s*",
        "",
    ),
    (r'<svg[^>]*(viewBox="[^"]*")[^>]*>', r"<svg \1>"),
    (r'<g id="[^"]*"', "<g"),
    (r"xlink:href", "href"),
    (r'font-family: [^;"]*', "font-family: inherit"),
)


class Box(NamedTuple):
    """Where the cells are: left, top, width and height as fractions of the figure."""

    left: float
    top: float
    width: float
    height: float


class Figure(NamedTuple):
    """An SVG element and where in it the cells are."""

    svg: str
    box: Box


class Text(NamedTuple):
    """A name along an axis: its position in cells, its distance from them in points, and how it is
    written."""

    place: float
    name: str
    offset: float
    font: float
    colour: str
    is_upright: bool  # against the direction of the axis


class Labels(NamedTuple):
    """What is written along one axis, where a new model begins, and the room it takes in points."""

    texts: tuple[Text, ...]
    lines: tuple[int, ...]
    room: float


def draw(heat_map: HeatMap) -> Figure:
    """Draw a heat map: cells, names, thin lines between models, and a scale whose dark end is on
    top."""
    plt = _matplotlib()
    rows, columns = heat_map.values.shape
    left = axis_labels(heat_map.rows, (WIDTH - 130) / columns, turn=False)
    bottom = axis_labels(heat_map.columns, (WIDTH - 130) / columns, turn=True)
    side = WIDTH - left.room - SCALE
    tall = min(max(side * rows / columns, 20), 3 * WIDTH)
    height = tall + bottom.room + 8
    box = Box(left.room / WIDTH, 6 / height, side / WIDTH, tall / height)
    figure = plt.figure.Figure(figsize=(WIDTH / 72, height / 72))
    axes = figure.add_axes((box.left, 1 - box.top - box.height, box.width, box.height))
    _cells(axes, heat_map, side, tall)
    _write_left(axes, left, rows, side)
    _write_below(axes, bottom, columns, tall)
    _scale(figure, heat_map, box)
    return Figure(_svg(plt, figure, heat_map.name), box)


def axis_labels(names: Sequence[str], pitch: float, *, turn: bool) -> Labels:
    """Choose what fits along an axis with ``pitch`` points per name: layers and models, models, or
    names in small.

    With ``turn`` the axis is horizontal, so names of cells stand upright, and those of models where
    they do not fit.
    """
    groups = spans(names)
    if all(span.stop - span.start == 1 for span in groups):
        groups = ()
    font = max(SMALLEST_FONT, min(FONT, 0.92 * pitch))
    every = 1 if font <= 1.3 * pitch else int(np.ceil(1.1 * font / pitch))
    shown = [] if groups and font < 5 else range(0, len(names), every)
    cells = [shortened(names[i].rpartition("/")[2] if groups else names[i]) for i in shown]
    colour = MUTED if groups else INK
    texts = [Text(i, name, 4, font, colour, turn) for i, name in zip(shown, cells)]
    depth = max((text_width(name, font) for name in cells), default=0) + 4
    titles = []
    for start, stop, name in ((g.start, g.stop, shortened(g.name)) for g in groups):
        is_upright = turn and text_width(name, FONT) > (stop - start) * pitch
        titles.append(Text((start + stop - 1) / 2, name, depth + 4, FONT, INK, is_upright))
    across = [text_width(t.name, t.font) if t.is_upright or not turn else FONT for t in titles]
    room = depth + 4 + max(across, default=-4) + 4
    return Labels((*texts, *titles), tuple(g.start for g in groups[1:]), room)


def text_width(name: str, font: float) -> float:
    """Estimate the length of a name in points."""
    return len(name) * font * CHARACTER


def shortened(name: str) -> str:
    """Cut the middle out of a long name."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2 - 1]}…{name[-LONGEST // 2 :]}"


def colours(heat_map: HeatMap) -> np.ndarray:
    """Return the colour of every cell, (rows, columns, 3) in 0..1: the darker, the more similar."""
    return shades(
        heat_map.values,
        heat_map.scale.limits,
        larger_is_more_similar=heat_map.larger_is_more_similar,
    )


def shades(
    values: np.ndarray, limits: tuple[float, float], *, larger_is_more_similar: bool
) -> np.ndarray:
    """Return the colours of values on a scale, (..., 3) in 0..1.

    Where the scale crosses 0, colours go from 0 both ways, blue for similar and brown for opposite,
    with equal steps: that few values are below 0 takes nothing from the contrast of the others.
    """
    low, high = limits
    direction = 1 if larger_is_more_similar else -1
    if low < 0 < high:
        position = direction * values / max(-low, high)
    else:
        position = np.clip((values - low) / (high - low), 0, 1)
        position = position if larger_is_more_similar else 1 - position
    position = np.nan_to_num(np.clip(position, -1, 1))
    similar, opposite = colour_table(), colour_table(opposite=True)
    level = np.rint(np.abs(position) * (len(similar) - 1)).astype(int)
    chosen: np.ndarray = np.where((position < 0)[..., None], opposite[level], similar[level])
    return chosen


def colour_table(size: int = 256, *, opposite: bool = False) -> np.ndarray:
    """Return colours from pale sand by green to deep blue whose lightness falls evenly, (size, 3)
    in 0..1.

    Even in the perceptual space Oklab (Ottosson 2020), so that equal steps look equal, also in grey
    and in print. With ``opposite``, from the same sand to brown.
    """
    t = np.linspace(0, 1, size)
    lightness, chroma, hue = (
        0.975 - 0.685 * t,
        0.025 + 0.2 * t * (1 - t) + 0.06 * t,
        np.radians(100 + 165 * t),
    )
    if opposite:
        lightness, chroma, hue = (
            0.975 - 0.575 * t,
            0.025 + 0.2 * t * (1 - t) + 0.075 * t,
            np.radians(100 - 55 * t),
        )
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    to_cones = np.array(
        [
            [1, 0.3963377774, 0.2158037573],
            [1, -0.1055613458, -0.0638541728],
            [1, -0.0894841775, -1.2914855480],
        ]
    )
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip((lab @ to_cones.T) ** 3 @ to_rgb.T, 0, 1)
    encoded: np.ndarray = np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return encoded


def _cells(axes: Any, heat_map: HeatMap, width: float, height: float) -> None:
    """Paint the cells as one picture, enlarged beforehand so that no viewer blurs it."""
    rows, columns = heat_map.values.shape
    zoom = max(1, round(720 / max(rows, columns)))
    picture = np.kron(colours(heat_map), np.ones((zoom, zoom, 1)))
    missing = np.kron(np.isnan(heat_map.values), np.ones((zoom, zoom), dtype=bool))
    i, j = np.indices(missing.shape)
    stripes = np.array(STRIPES)[((i + j) // 8) % 2]
    picture = np.where(missing[..., None], stripes, picture)
    axes.imshow(
        picture, extent=(-0.5, columns - 0.5, rows - 0.5, -0.5), aspect="auto", interpolation="none"
    )
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=MUTED, linewidth=0.5)
    if max(rows, columns) <= 8:
        _write_values(axes, heat_map, min(FONT, 0.3 * min(width / columns, height / rows)))


def _write_values(axes: Any, heat_map: HeatMap, font: float) -> None:
    dark = colours(heat_map) @ np.array([0.3, 0.59, 0.11]) < 0.6
    for (i, j), value in np.ndenumerate(heat_map.values):
        if np.isfinite(value):
            colour = "white" if dark[i, j] else INK
            axes.text(
                j,
                i,
                brief(value, heat_map.scale.limits),
                ha="center",
                va="center",
                fontsize=font,
                color=colour,
                rotation_mode="anchor",
            )


def brief(value: float, limits: tuple[float, float]) -> str:
    """Write a number in three significant digits; what is only rounding on this scale is 0."""
    if abs(value) < 1e-9 * (limits[1] - limits[0]):
        return "0"
    return f"{value:.2f}" if 0.01 <= abs(value) < 10 else f"{value:.3g}"


def _write_left(axes: Any, labels: Labels, rows: int, width: float) -> None:
    for text in labels.texts:
        _write(
            axes,
            text,
            (-text.offset / width, 1 - (text.place + 0.5) / rows),
            ha="right",
            va="center",
            rotation=0,
        )
    _draw_borders(axes.axhline, labels.lines)


def _write_below(axes: Any, labels: Labels, columns: int, height: float) -> None:
    for text in labels.texts:
        how = ("right", "center", 90) if text.is_upright else ("center", "top", 0)
        position = ((text.place + 0.5) / columns, -text.offset / height)
        _write(axes, text, position, **dict(zip(("ha", "va", "rotation"), how)))
    _draw_borders(axes.axvline, labels.lines)


def _draw_borders(draw_line: Any, starts: Sequence[int]) -> None:
    for start in starts:  # white shows on dark cells, the thin line inside it on pale ones
        draw_line(start - 0.5, color="white", linewidth=1.8)
        draw_line(start - 0.5, color=MUTED, linewidth=0.4)


def _write(axes: Any, text: Text, position: tuple[float, float], **alignment: Any) -> None:
    axes.text(
        *position,
        text.name,
        fontsize=text.font,
        color=text.colour,
        transform=axes.transAxes,
        rotation_mode="anchor",
        parse_math=False,
        **alignment,
    )


def _scale(figure: Any, heat_map: HeatMap, box: Box) -> None:
    """Draw the colour scale at the right with the numbers at its ends, the similar one on top, and
    what it spans."""
    tall = min(box.height, 1.6 * box.width * WIDTH / (figure.get_figheight() * 72))
    axes = figure.add_axes((box.left + box.width + 8 / WIDTH, 1 - box.top - tall, 8 / WIDTH, tall))
    low, high = (
        heat_map.scale.limits if heat_map.larger_is_more_similar else heat_map.scale.limits[::-1]
    )
    numbers = np.linspace(low, high, 256)[:, None]
    bar = shades(
        numbers, heat_map.scale.limits, larger_is_more_similar=heat_map.larger_is_more_similar
    )
    axes.imshow(bar, aspect="auto", origin="lower", extent=(0, 1, low, high), interpolation="none")
    points = tall * figure.get_figheight() * 72
    ticks = np.linspace(low, high, 5 if points > 70 else 3 if points > 36 else 2)
    axes.set(xticks=[])
    axes.set_yticks(ticks, [f"{tick:.3g}".replace("-", "−") for tick in ticks])
    axes.yaxis.tick_right()
    axes.tick_params(length=2, width=0.5, pad=2, labelsize=FONT - 0.5, color=MUTED, labelcolor=INK)
    if heat_map.scale.note:
        font = min(FONT - 1, points / (CHARACTER * len(heat_map.scale.note)))
        place = {"ha": "right", "va": "top", "rotation": 270, "fontsize": font, "color": MUTED}
        figure.text(1 - 2 / WIDTH, 1 - box.top, heat_map.scale.note, **place)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _svg(plt: Any, figure: Any, name: str) -> str:
    """Render to an SVG element that stands in HTML: no prologue, no namespaces, no metadata, text
    as text."""
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": ["sans-serif"]}
    target = io.StringIO()
    with plt.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the browser has the glyph
        figure.savefig(
            target, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    svg = target.getvalue()
    for pattern, replacement in INLINE:
        svg = re.sub(pattern, replacement, svg)
    return svg


def _matplotlib() -> Any:
    need("matplotlib.figure")
    return need("matplotlib")
