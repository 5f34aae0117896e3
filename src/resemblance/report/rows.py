"""Bars, boxes and dots with one row for each name, as inline SVG on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..sections.figures import Bar, Bars, Box, Boxes, Strip, Strips
from .numbers import counted, decimals, digits, number, span
from .svg import (
    NOTHING,
    Axis,
    Style,
    apart,
    axis_ticks,
    columns,
    distinct_names,
    drawing,
    limit,
    page_style,
    positive_ends,
    reach,
    room,
    row_name,
    tag,
    text,
    title,
)

WIDTH = 480.0
ROW, BOX, STRIP = 21.0, 24.0, 24.0  # heights of a row
COLOURS, ACROSS = 10, 3  # colours of groups, and their names side by side
NAMES, NUMBERS = 184.0, 46.0  # room at the left and at the right


def bars(figure: Bars, style: Style = page_style) -> str:
    """Draw estimates below each other in their order, each with its interval and its number.

    Raises ``ValueError`` for a negative value on a logarithmic axis.
    """
    shown = [bar for bar in figure.bars if math.isfinite(bar.value)]
    if not shown:
        return NOTHING
    x = _bar_axis(figure, shown)
    base = math.inf if figure.is_dotted else _base(figure, x)
    tall = ROW * len(figure.bars)
    parts = _columns(x, tall, figure.x, base, style)
    if figure.threshold is not None:
        parts.append(limit(figure.threshold, f"M{x(figure.threshold):.1f} 0V{tall:g}", style))
    places = decimals([abs(bar.value) for bar in shown])
    names = distinct_names([bar.name for bar in figure.bars])
    for i, (bar, name) in enumerate(zip(figure.bars, names)):
        value, kind = digits(bar.value, places), _kind(bar, figure)
        parts.append(_bar(bar, name, x, ROW * i, value, base, kind, style))
    label = f"{figure.title}: {figure.x} of {len(figure.bars)}"
    return drawing(WIDTH, tall + 42, parts, label, style)


def _bar_axis(figure: Bars, shown: Sequence[Bar]) -> Axis:
    ends = [v for b in shown for v in (b.value, b.low, b.high) if v is not None]
    ends = [v for v in ends if math.isfinite(v)]
    level = [] if figure.threshold is None else [figure.threshold]
    names = room((bar.name for bar in figure.bars), NAMES)
    start, end = names, WIDTH - NUMBERS - 10
    if figure.log_x:
        return _log_axis(figure, [*ends, *level], start, end)
    low, high = figure.span or reach([*ends, *level])
    return Axis(*apart(min(low, *ends), max(high, *ends)), start, end)


def _log_axis(figure: Bars, ends: Sequence[float], start: float, end: float) -> Axis:
    least, most = map(math.log10, positive_ends(ends, f"bars {figure.name!r}"))
    low, high = figure.span or (10.0 ** math.floor(least), 10.0 ** math.ceil(most))
    return Axis(low, high if high > low else 10 * low, start, end, True)


def _base(figure: Bars, x: Axis) -> float:
    """Return where bars begin."""
    if figure.is_limit and figure.threshold is not None:
        return figure.threshold
    if figure.log_x:
        return x.low
    return figure.span[0] if figure.span else 0.0


def _kind(bar: Bar, figure: Bars) -> str:
    is_over = figure.is_limit and figure.threshold is not None and bar.value > figure.threshold
    return "row over" if is_over else "row"


def _columns(x: Axis, tall: float, name: str, base: float, style: Style = page_style) -> list[str]:
    """Draw the lines of the axis, with one where bars begin, and the numbers below.

    Without bars, as for ranks, where ``base`` is infinite, both ends of the axis have one.
    """
    width = (x.high - x.low) / 8
    at = axis_ticks(x)
    if math.isinf(base):
        at = [x.low, *(t for t in at if x.low + width / 2 < t < x.high - width / 2), x.high]
    elif base and not x.is_log:
        at = [base, *(t for t in at if t > base + width / 2)]
    return columns(x, at, tall, name, base, style)


def _bar(
    bar: Bar, name: str, x: Axis, top: float, value: str, base: float, kind: str, style: Style
) -> str:
    middle, has_value = top + ROW / 2, math.isfinite(bar.value)
    ends = f", {span(bar.low, bar.high)}" if bar.low is not None and bar.high is not None else ""
    parts = [title(bar.note or f"{bar.name}: {number(bar.value)}{ends}")]
    parts += [text(name, round(x.start - 12, 1), middle + 3.5, **style("end name"))]
    if has_value and x.low <= base <= x.high:
        stem = f"M{x(base):.1f} {middle:g}H{x(bar.value):.1f}"
        parts.append(tag("path", d=stem, **style("stem", kind)))
    if has_value and bar.low is not None and bar.high is not None:
        parts.append(_range(x(bar.low), x(bar.high), middle, style))
    if has_value:
        place = {"cx": round(x(bar.value), 1), "cy": middle, "r": 3.6}
        parts.append(tag("circle", **place, **style("dot", kind)))
    parts.append(text(value, WIDTH - 4, middle + 3.5, **style("end name")))
    return tag("g", *parts, **style(kind))


def _range(low: float, high: float, y: float, style: Style) -> str:
    ends = f"M{low:.1f} {y - 3:g}v6M{high:.1f} {y - 3:g}v6"
    return tag("path", d=f"M{low:.1f} {y:g}H{high:.1f}{ends}", **style("range"))


# -------------------------------------------------------------------------------------------- boxes


def boxes(figure: Boxes) -> str:
    """Draw a box for every sample: quartiles, whiskers to 1.5 spans, and every value as a point."""
    values = [v for box in figure.boxes for v in box.values]
    if not values:
        return NOTHING
    low, high = figure.span or (min(values), max(values))
    ends = apart(min(low, *values), max(high, *values))
    x = Axis(*ends, room((b.name for b in figure.boxes), NAMES), WIDTH - 16)
    tall = BOX * len(figure.boxes)
    parts = _columns(x, tall, figure.x, figure.span[0] if figure.span else 0.0)
    groups = sorted({box.group for box in figure.boxes} - {""})
    names = distinct_names([box.name for box in figure.boxes])
    for i, (box, name) in enumerate(zip(figure.boxes, names)):
        kind = f"box c{groups.index(box.group) % COLOURS}" if box.group else "box"
        parts.append(_box(box, name, x, BOX * (i + 0.5), figure.x, kind))
    if len(groups) > 1:  # a legend of one entry explains nothing
        parts += _groups(groups, tall + 56)
        tall += 16 * math.ceil(len(groups) / ACROSS)
    return drawing(WIDTH, tall + 42, parts, f"{figure.title}: {figure.x} of {len(figure.boxes)}")


def _groups(groups: Sequence[str], top: float) -> list[str]:
    """Draw the colours of groups with their names, side by side."""
    parts = []
    for i, name in enumerate(groups):
        place, y = WIDTH / ACROSS * (i % ACROSS), top + 16 * (i // ACROSS)
        mark = tag("rect", x=place, y=y - 9, width=12, height=9, class_=f"box c{i % COLOURS}")
        parts += [mark, text(name, round(place + 18, 1), y, class_="name")]
    return parts


def _box(box: Box, name: str, x: Axis, y: float, unit: str, kind: str) -> str:
    label = text(name, round(x.start - 12, 1), y + 3.5, class_="end name")
    if not box.values:
        return tag("g", title(f"{box.name}: no value"), label)
    lower, median, upper = (float(q) for q in np.percentile(box.values, [25, 50, 75]))
    slack = 1.5 * (upper - lower)
    inside = [v for v in box.values if lower - slack <= v <= upper + slack]
    least, most = min([*inside, lower]), max([*inside, upper])
    mean = math.fsum(box.values) / len(box.values)
    summary = f"median {number(median)}, mean {number(mean)}, {counted(len(box.values), 'value')}"
    whisker = f"M{x(least):.1f} {y:g}H{x(lower):.1f}M{x(upper):.1f} {y:g}H{x(most):.1f}"
    size = {"width": round(max(x(upper) - x(lower), 0.1), 1), "height": 14}
    parts = [
        title(f"{box.name}: {summary}"),
        label,
        tag("path", d=whisker, class_="whisker"),
        tag("rect", x=round(x(lower), 1), y=y - 7, **size, class_=kind),
        tag("path", d=f"M{x(median):.1f} {y - 7:g}v14", class_="median"),
    ]
    return tag("g", *parts, *_box_points(box, x, y, unit))


def _box_points(box: Box, x: Axis, y: float, unit: str) -> list[str]:
    """Draw every value, those that would hide each other at five heights."""
    points = []
    for i, value in enumerate(box.values):
        where = f" in {box.points[i]}" if box.points else ""
        words = title(f"{box.name}: {unit} {number(value, 4)}{where}")
        height = y + (i % 5 - 2) * 2.4
        points.append(tag("circle", words, cx=x(value), cy=height, r=2.2, class_="point"))
    return points


# ------------------------------------------------------------------------------------------- strips


def strips(figure: Strips) -> str:
    """Draw the values of every group as dots in a row; groups that are not used are grey."""
    values = [v for strip in figure.strips for v in strip.values] or [0.0, 1.0]
    low, high = apart(min(values), max(values))
    slack = 0.06 * (high - low)
    x = Axis(low - slack, high + slack, room((s.name for s in figure.strips), NAMES), WIDTH - 16)
    tall = STRIP * len(figure.strips)
    parts = _columns(x, tall, figure.x, 0.0)
    names = distinct_names([strip.name for strip in figure.strips])
    parts += [
        _strip(strip, name, x, STRIP * (i + 0.5), figure.x)
        for i, (strip, name) in enumerate(zip(figure.strips, names))
    ]
    return drawing(WIDTH, tall + 42, parts, f"{figure.title}: {figure.x} of {len(figure.strips)}")


def _strip(strip: Strip, name: str, x: Axis, y: float, unit: str) -> str:
    more = "" if strip.is_used else ", left out"
    places = [x(v) for v in strip.values]
    parts = [row_name(strip.name, x.start - 12, y + 4, name)]
    if places:
        d = f"M{min(places):.1f} {y:.1f}H{max(places):.1f}"
        parts.append(tag("path", d=d, class_="range"))
    for place, value in zip(places, strip.values):
        words = title(f"{strip.name}: {unit} {number(value)}{more}")
        parts.append(tag("circle", words, cx=place, cy=y, r=4, class_="dot"))
    return tag("g", *parts, class_="row" if strip.is_used else "row unused")
