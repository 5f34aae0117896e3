"""Small pictures for notebooks, as SVG inside HTML: maps, and rows of dots.

They need no package, no style sheet and no program; letters have the colour of the notebook.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

from ..comparison import Comparison, MeasureInfo, label_of
from ..drift import DriftReport
from ..inference.result import Evidence
from ..report.colours import LEVELS, colour_table, level
from ..report.comparing.maps import heat_map, marked
from ..report.data import chance_words
from ..report.evidence_words import ALPHA, readings_of
from ..report.numbers import number
from ..report.of_drift import drift_result
from ..report.standing import standing
from ..report.svg import Axis, reach, shortened, tag, text, title
from ..results.figures import Bar, Bars, HeatMap
from ..results.result import Result
from .names import SideNames, side_names
from .style import COLOURS

MOST_CELLS = 4096  # of all maps together: a notebook keeps what it shows
MOST_MAPS, MOST_ROWS = 4, 10
LARGEST_READ = 20  # rows and columns of a map whose cells the pointer reads
SIDE, LETTERS = 210.0, 9.0  # of a map and of letters, in pixels
SCALE = 56.0  # room for the colour scale
WIDTH, NAMES, ROW = 440.0, 130.0, 18.0
# of strokes that are cells: no thin lines between them
CELLS = {
    "stroke_width": 1, "transform": "translate(0 .5)", "shape_rendering": "crispEdges"
}  # fmt: skip
UNSEEN = {"width": 1, "height": 1, "fill": "none", "pointer_events": "all"}
FONT = "font-family:sans-serif;max-width:100%;height:auto"


def picture(thing: Any) -> str:
    """Return maps of a comparison or an evidence, ranks of a result, drifts of a report."""
    if isinstance(thing, Comparison | Evidence):
        return "".join(_maps(thing))
    if isinstance(thing, Result):
        return _standing(thing)
    if isinstance(thing, DriftReport):
        figures = drift_result(thing)["drifts"].figures
        return "".join(dots(figure) for figure in figures if isinstance(figure, Bars))
    raise ValueError(f"there is no picture of a {type(thing).__name__}")


# --------------------------------------------------------------------------------------------- maps


def _maps(thing: Comparison | Evidence) -> Iterator[str]:
    """Yield the maps of the first measures, and what is not shown."""
    comparison = thing.comparison if isinstance(thing, Evidence) else thing
    cells = len(comparison.rows) * len(comparison.columns)
    count = min(MOST_MAPS, MOST_CELLS // max(cells, 1), len(comparison.measures))
    count = 0 if cells <= 1 else count
    for info in comparison.measures[:count]:
        heat = heat_map(comparison, info)
        if isinstance(thing, Evidence):
            heat = marked(heat, readings_of(thing, info))
        yield (
            "<div style='display:inline-block;margin:8px 16px 0 0;vertical-align:top'>"
            f"<b>{escape(label_of(comparison, info))}</b><br>{map_svg(heat)}<br>"
            f"<small>{escape(_reading(comparison, info))}</small></div>"
        )
    rest = comparison.measures[count:]
    hatched = isinstance(thing, Evidence) and count
    notes = [f"Lines across: not beyond chance (adjusted p > {ALPHA:g})."] if hatched else []
    if rest and cells > 1:
        notes.append(f".plot({rest[0].spec!r}) draws the map of a measure; {len(rest)} not here.")
    yield f"<p><small>{escape(' '.join(notes))}</small></p>" if notes else ""


def _reading(comparison: Comparison, info: MeasureInfo) -> str:
    chance = chance_words(comparison, info)
    which = "larger" if info.larger_is_more_similar else "smaller"
    return f"{which} is more similar{f'; chance is {chance}' if chance else ''}"


def map_svg(heat: HeatMap) -> str:
    """Draw a map with its names and the scale of its colours."""
    rows, columns = len(heat.rows), len(heat.columns)
    pitch = SIDE / max(rows, columns)
    left = side_names(heat.rows, pitch, LETTERS, is_below=False)
    bottom = side_names(heat.columns, pitch, LETTERS, is_below=True)
    width, height = columns * pitch, rows * pitch
    borders = [f"M0 {at + 0.5:g}h{columns}" for at in left.borders]
    borders += [f"M{at + 0.5:g} 0v{rows}" for at in bottom.borders]
    lines = "".join(f"M{j} {i + 1}l1 -1" for i, j in heat.hatched)
    thin = {"fill": "none", "vector_effect": "non-scaling-stroke"}
    inside = [
        tag("rect", width=columns, height=rows, fill="#8884"),
        tag("g", *_cells(heat), **CELLS),
        tag("path", d=lines, stroke="#1c2530", stroke_width=0.7, **thin),
        tag("path", d="".join(borders), stroke="#fff", stroke_width=1.5, **thin),
        *_titles(heat),
    ]
    move = f"translate({left.room:.1f} 2) scale({pitch:.3f})"
    parts = [
        tag("g", *inside, transform=move),
        *_left(left, pitch),
        *_below(bottom, left.room, pitch, height + 2),
        *_scale(heat, left.room + width + 10, max(height, 30.0)),
    ]
    size = left.room + width + SCALE, max(height, 30.0) + 4 + bottom.room
    return _drawn(*size, parts, f"Heat map: {heat.title}")


def _drawn(width: float, height: float, parts: Sequence[str], label: str) -> str:
    about: dict[str, object] = {"role": "img", "aria_label": label, "style": FONT}
    about |= {"viewBox": f"0 0 {width:.0f} {height:.0f}", "fill": "currentColor"}
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}", "font_size": LETTERS}
    return tag("svg", *parts, **about, **size)


def _cells(heat: HeatMap) -> Iterator[str]:
    """Yield a path for each colour: strokes one cell high; equal neighbours are one."""
    ends, paths = heat.span or (0.0, 1.0), dict[int, list[str]]()
    for i, row in enumerate(heat.values):
        j = 0
        for step, run in groupby(level(heat, value, ends) for value in row):
            count = len(list(run))
            if step is not None:
                paths.setdefault(step, []).append(f"M{j} {i}h{count}")
            j += count
    for step, strokes in sorted(paths.items()):
        yield tag("path", d="".join(strokes), stroke=_colour(step))


def _titles(heat: HeatMap) -> Iterator[str]:
    """Yield what the pointer reads in the cells of a small map."""
    if max(len(heat.rows), len(heat.columns)) <= LARGEST_READ:
        for i, row in enumerate(heat.titles):
            for j, words in ((j, words) for j, words in enumerate(row) if words):
                yield tag("rect", title(words), x=j, y=i, **UNSEEN)


def _colour(step: int) -> str:
    table = colour_table(LEVELS, opposite=step < 0)
    return "#" + "".join(f"{round(255 * part):02x}" for part in table[abs(step)])


def _left(names: SideNames, pitch: float) -> Iterator[str]:
    for place, name in names.cells:
        y = 2 + (place + 0.5) * pitch + names.size / 3
        at = round(names.room - 4, 1), round(y, 1)
        yield text(name, *at, text_anchor="end", font_size=round(names.size, 1))
    for run in names.models:
        x, y = names.room - names.offset, 2 + (run.middle + 0.5) * pitch
        yield _model(run.name, x, y, names, "middle" if names.are_models_turned else "end")


def _below(names: SideNames, start: float, pitch: float, top: float) -> Iterator[str]:
    for place, name in names.cells:
        x, y = start + (place + 0.5) * pitch, top + 4
        if names.are_turned:
            turn = f"rotate(-90 {x + names.size / 3:.1f} {y:.1f})"
            options = {"text_anchor": "end", "transform": turn}
            x += names.size / 3
        else:
            options, y = {"text_anchor": "middle"}, y + names.size
        yield text(name, round(x, 1), round(y, 1), font_size=round(names.size, 1), **options)
    for run in names.models:
        x, y = start + (run.middle + 0.5) * pitch, top + names.offset + names.model_size
        yield _model(run.name, x, y, names, "end" if names.are_models_turned else "middle")


def _model(name: str, x: float, y: float, names: SideNames, anchor: str) -> str:
    options: dict[str, object] = {"text_anchor": anchor, "font_size": round(names.model_size, 1)}
    if names.are_models_turned:
        options["transform"] = f"rotate(-90 {x:.1f} {y:.1f})"
    return text(shortened(name, 24), round(x, 1), round(y, 1), font_weight=600, **options)


def _scale(heat: HeatMap, x: float, height: float) -> Iterator[str]:
    """Yield the colours with the numbers at their ends, the similar end on top."""
    low, high = heat.span or (0.0, 1.0)
    top, bottom = (low, high) if heat.is_reversed else (high, low)
    steps = 24
    for i in range(steps):
        step = level(heat, top + (bottom - top) * (i + 0.5) / steps, (low, high)) or 0
        y, tall = round(2 + height * i / steps, 1), round(height / steps + 0.3, 1)
        yield tag("rect", x=round(x, 1), y=y, width=8, height=tall, fill=_colour(step))
    yield text(number(top), round(x + 12, 1), 10)
    yield text(number(bottom), round(x + 12, 1), round(height + 1, 1))


# --------------------------------------------------------------------------------------------- rows


def _standing(result: Result) -> str:
    """Return the headline, and the mean ranks of the first ten measures."""
    headline = result.headline()
    lines = "".join(f"<p>{escape(line)}</p>" for line in headline.splitlines()[:1])
    figure = standing(result)
    if figure is None:
        return lines
    rest = len(figure.bars) - MOST_ROWS
    more = f"<p><small>{rest} more: .plot() draws all.</small></p>" if rest > 0 else ""
    return f"{lines}{dots(figure._replace(bars=figure.bars[:MOST_ROWS]))}{more}"


def dots(figure: Bars) -> str:
    """Draw values below each other with their intervals and numbers."""
    bars = [bar for bar in figure.bars if math.isfinite(bar.value)]
    if not bars:
        return ""
    ends = [v for b in bars for v in (b.value, b.low, b.high) if v is not None]
    low, high = figure.span or reach(ends)
    x = Axis(low, high if high > low else low + 1, NAMES, WIDTH - 60, figure.log_x)
    tall = ROW * len(bars)
    parts = [_row(bar, x, ROW * (i + 0.5), figure) for i, bar in enumerate(bars)]
    if figure.threshold is not None:
        at = f"M{x(figure.threshold):.1f} 0V{tall:g}"
        line = {"stroke": "currentColor", "stroke_dasharray": "4 3", "fill": "none"}
        parts.append(tag("path", d=at, **line))
    for place, anchor in ((x.low, "start"), (x.high, "end")):
        parts.append(text(number(place), round(x(place), 1), tall + 11, text_anchor=anchor))
    middle = {"text_anchor": "middle"}
    parts.append(text(figure.x, round((x.start + x.end) / 2, 1), tall + 24, **middle))
    return _drawn(WIDTH, tall + 30, parts, f"{figure.title}: {figure.x}")


def _row(bar: Bar, x: Axis, y: float, figure: Bars) -> str:
    is_over = figure.is_limit and figure.threshold is not None and bar.value > figure.threshold
    colour = COLOURS[3] if is_over else COLOURS[4]
    guide = {"stroke": "currentColor", "stroke_opacity": 0.2}
    parts = [
        text(shortened(bar.name, 22), NAMES - 10, round(y + 3, 1), text_anchor="end"),
        tag("path", d=f"M{x.start:.1f} {y:g}H{x.end:.1f}", **guide),
    ]
    if bar.low is not None and bar.high is not None:
        d = f"M{x(bar.low):.1f} {y:g}H{x(bar.high):.1f}"
        parts.append(tag("path", d=d, stroke=colour, stroke_width=2))
    parts.append(tag("circle", cx=round(x(bar.value), 1), cy=y, r=4, fill=colour))
    return tag("g", *parts, text(number(bar.value), round(x.end + 12, 1), round(y + 3, 1)))
