"""Bars, boxes and dots as inline SVG: a row for each name, on a common axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..base.formatting import (
    count_with_noun,
    decimals_for_column,
    format_decimals,
    format_number,
    format_range,
)
from ..sections.figures import Bar, Bars, Box, Boxes, Bracket, Strip, Strips
from .svg import (
    EMPTY_FIGURE_HTML,
    LABEL_CHARACTER_WIDTH,
    AxisScale,
    ElementStyle,
    axis_ticks,
    css_class_style,
    name_column_width,
    padded_range,
    positive_range,
    row_name_svg,
    separated_ends,
    shorten_distinct_names,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
    threshold_line,
    vertical_grid,
)

ROW_CHART_WIDTH = 480.0
BAR_ROW_HEIGHT, BOX_ROW_HEIGHT, STRIP_ROW_HEIGHT = 21.0, 24.0, 24.0  # heights of a row
N_GROUP_COLORS, LEGEND_NAMES_PER_LINE = 10, 3  # colours of groups, and names per line of the legend
ROW_NAME_MARGIN, ROW_NUMBER_MARGIN = 184.0, 46.0  # room at the left and at the right
BRACKET_WIDTH = 19.0  # room of a bracket with its text, which is upright


def bar_rows_svg(figure: Bars, style: ElementStyle = css_class_style) -> str:
    """Return estimates as SVG, a row for each in the given order, with intervals and numbers.
    Without a value, return a note.

    ``style``: the function that returns the attributes of a kind of element. Raises ``ValueError``
    for a negative value on a logarithmic axis.
    """
    finite_bars = [bar for bar in figure.bars if math.isfinite(bar.value)]
    if not finite_bars:
        return EMPTY_FIGURE_HTML
    x = _bar_value_axis(figure, finite_bars)
    base = math.inf if figure.is_dotted else _bar_baseline(figure, x)
    height = BAR_ROW_HEIGHT * len(figure.bars)
    parts = [] if figure.band is None else [_band(figure.band, x, height, style)]
    parts += _bar_axis_lines(x, height, figure.x, base, style, has_ends=figure.span is not None)
    if figure.threshold is not None:
        parts.append(
            threshold_line(figure.threshold, f"M{x(figure.threshold):.1f} 0V{height:g}", style)
        )
    places = decimals_for_column([abs(bar.value) for bar in finite_bars])
    names = shorten_distinct_names([bar.name for bar in figure.bars])
    for i, (bar, name) in enumerate(zip(figure.bars, names)):
        value, kind = _bar_number(bar.value, figure, places), _bar_class(bar, figure)
        parts.append(_bar_row(bar, name, x, BAR_ROW_HEIGHT * i, value, base, kind, style))
    parts += _bracket_parts(figure.brackets, x.end + 8, style)
    label = f"{figure.title}: {figure.x} of {len(figure.bars)}"
    return svg_figure(ROW_CHART_WIDTH, height + 42, parts, label, style)


def _bar_value_axis(figure: Bars, bars: Sequence[Bar]) -> AxisScale:
    ends = [v for b in bars for v in (b.value, b.low, b.high, *b.points) if v is not None]
    ends += figure.band or ()
    ends = [v for v in ends if math.isfinite(v)]
    level = [] if figure.threshold is None else [figure.threshold]
    names = name_column_width((bar.name for bar in figure.bars), ROW_NAME_MARGIN)
    lanes = 1 + max(bracket_lanes(figure.brackets, BAR_ROW_HEIGHT), default=-1)
    start, end = names, ROW_CHART_WIDTH - ROW_NUMBER_MARGIN - 10 - BRACKET_WIDTH * lanes
    if figure.log_x:
        return _log_bar_axis(figure, [*ends, *level], start, end)
    low, high = figure.span or padded_range([*ends, *level])
    return AxisScale(*separated_ends(min(low, *ends), max(high, *ends)), start, end)


def _log_bar_axis(figure: Bars, ends: Sequence[float], start: float, end: float) -> AxisScale:
    low_power, high_power = map(math.log10, positive_range(ends, f"bars {figure.name!r}"))
    low, high = figure.span or (10.0 ** math.floor(low_power), 10.0 ** math.ceil(high_power))
    return AxisScale(low, high if high > low else 10 * low, start, end, True)


def bracket_lanes(brackets: Sequence[Bracket], row_height: float) -> list[int]:
    """Return the lane of each bracket, 0 next to the rows, such that neither brackets nor their
    upright texts touch in a lane. ``row_height``: the height of a row in pixels."""
    lanes: list[list[tuple[float, float]]] = []
    numbers = []
    for bracket in brackets:
        low, high = sorted((bracket.first, bracket.second))
        middle, half = (low + high) / 2, LABEL_CHARACTER_WIDTH * len(bracket.text) / 2 / row_height
        span = min(low, middle - half) - 0.2, max(high, middle + half) + 0.2
        fits = (all(span[1] <= a or b <= span[0] for a, b in lane) for lane in lanes)
        number = next((i for i, is_free in enumerate(fits) if is_free), len(lanes))
        lanes += [[]] if number == len(lanes) else []
        lanes[number].append(span)
        numbers.append(number)
    return numbers


def _bracket_parts(brackets: Sequence[Bracket], start: float, style: ElementStyle) -> Iterator[str]:
    for bracket, lane in zip(brackets, bracket_lanes(brackets, BAR_ROW_HEIGHT)):
        x = start + BRACKET_WIDTH * lane
        first, second = (BAR_ROW_HEIGHT * (i + 0.5) for i in (bracket.first, bracket.second))
        d = f"M{x:.1f} {first:g}h4V{second:g}h-4"
        yield svg_element("path", d=d, **style("bracket"))
        y, text_x = round((first + second) / 2, 1), round(x + 14, 1)
        turn = f"rotate(-90 {text_x} {y})"
        yield svg_text(bracket.text, text_x, y, **style("mid level"), transform=turn)


def _band(ends: tuple[float, float], x: AxisScale, height: float, style: ElementStyle) -> str:
    low, high = sorted(x(end) for end in ends)
    words = svg_title(f"band {format_range(*ends)}")
    size = {"width": round(max(high - low, 0.1), 1), "height": height}
    return svg_element("rect", words, x=round(low, 1), y=0, **size, **style("ceiling"))


def _bar_baseline(figure: Bars, x: AxisScale) -> float:
    """Return the value at which bars begin, in the unit of the axis: a threshold that is a limit,
    the lower end of a logarithmic axis or of the span, or 0."""
    if figure.is_limit and figure.threshold is not None:
        return figure.threshold
    if figure.log_x:
        return x.low
    return figure.span[0] if figure.span else 0.0


def _bar_class(bar: Bar, figure: Bars) -> str:
    is_over = figure.is_limit and figure.threshold is not None and bar.value > figure.threshold
    return " ".join(
        [
            "row",
            *(["over"] if is_over else []),
            *(["own"] if bar.is_marked else []),
            *(["hollow"] if bar.is_hollow else []),
        ]
    )


def _bar_number(value: float, figure: Bars, places: int | None) -> str:
    """Return a value as text with ``places`` decimals (None: any number of decimals); on a
    logarithmic axis with a span, a value at the lower end is "≤ end"."""
    if figure.log_x and figure.span is not None and value <= figure.span[0]:
        return f"≤ {format_number(figure.span[0])}"
    return format_decimals(value, places)


def _bar_axis_lines(
    x: AxisScale,
    height: float,
    name: str,
    base: float,
    style: ElementStyle = css_class_style,
    *,
    has_ends: bool = False,
) -> list[str]:
    """Return the grid lines of the axis as SVG, with a line at ``base`` where bars begin, and the
    numbers and ``name`` below.

    ``height``: of the lines, in pixels. An infinite ``base`` means no bars, as for ranks: the two
    ends of the axis have a line if ``has_ends``.
    """
    width = (x.high - x.low) / 8
    ticks = axis_ticks(x)
    if math.isinf(base) and has_ends:
        ticks = [x.low, *(t for t in ticks if x.low + width / 2 < t < x.high - width / 2), x.high]
    elif base and math.isfinite(base) and not x.is_log:
        ticks = [base, *(t for t in ticks if t > base + width / 2)]
    return vertical_grid(x, ticks, height, name, base, style)


def _bar_row(
    bar: Bar,
    name: str,
    x: AxisScale,
    top: float,
    value: str,
    base: float,
    kind: str,
    style: ElementStyle,
) -> str:
    middle, has_value = top + BAR_ROW_HEIGHT / 2, math.isfinite(bar.value)
    interval = ""
    if bar.low is not None and bar.high is not None:
        interval = f", {format_range(bar.low, bar.high)}"
    parts = [svg_title(bar.note or f"{bar.name}: {format_number(bar.value)}{interval}")]
    parts += [svg_text(name, round(x.start - 12, 1), middle + 3.5, **style("end name"))]
    if has_value and x.low <= base <= x.high:
        stem = f"M{x(base):.1f} {middle:g}H{x(bar.value):.1f}"
        parts.append(svg_element("path", d=stem, **style("stem", kind)))
    if has_value and bar.low is not None and bar.high is not None:
        parts.append(_interval_line(x(bar.low), x(bar.high), middle, style))
    for point in bar.points:
        words = svg_title(f"{bar.name}: {format_number(point, 3)}")
        place = {"cx": round(x(point), 1), "cy": middle, "r": 2.4}
        parts.append(svg_element("circle", words, **place, **style("point")))
    if has_value:
        place = {"cx": round(x(bar.value), 1), "cy": middle, "r": 3.6}
        parts.append(svg_element("circle", **place, **style("dot", kind)))
    parts.append(svg_text(value, ROW_CHART_WIDTH - 4, middle + 3.5, **style("end name")))
    return svg_element("g", *parts, **style(kind))


def _interval_line(low: float, high: float, y: float, style: ElementStyle) -> str:
    caps = f"M{low:.1f} {y - 3:g}v6M{high:.1f} {y - 3:g}v6"
    return svg_element("path", d=f"M{low:.1f} {y:g}H{high:.1f}{caps}", **style("range"))


# -------------------------------------------------------------------------------------------- boxes


def box_rows_svg(figure: Boxes) -> str:
    """Return a box for every sample of values as SVG: quartiles, whiskers to 1.5 interquartile
    ranges, and every value as a point. Without values, return a note."""
    values = [v for box in figure.boxes for v in box.values]
    if not values:
        return EMPTY_FIGURE_HTML
    low, high = figure.span or (min(values), max(values))
    ends = separated_ends(min(low, *values), max(high, *values))
    x = AxisScale(
        *ends,
        name_column_width((b.name for b in figure.boxes), ROW_NAME_MARGIN),
        ROW_CHART_WIDTH - 16,
    )
    height = BOX_ROW_HEIGHT * len(figure.boxes)
    parts = _bar_axis_lines(x, height, figure.x, figure.span[0] if figure.span else 0.0)
    groups = sorted({box.group for box in figure.boxes} - {""})
    names = shorten_distinct_names([box.name for box in figure.boxes])
    for i, (box, name) in enumerate(zip(figure.boxes, names)):
        kind = f"box c{groups.index(box.group) % N_GROUP_COLORS}" if box.group else "box"
        parts.append(_box_row(box, name, x, BOX_ROW_HEIGHT * (i + 0.5), figure.x, kind))
    if len(groups) > 1:  # a legend of one entry explains nothing
        parts += _group_legend(groups, height + 56)
        height += 16 * math.ceil(len(groups) / LEGEND_NAMES_PER_LINE)
    return svg_figure(
        ROW_CHART_WIDTH, height + 42, parts, f"{figure.title}: {figure.x} of {len(figure.boxes)}"
    )


def _group_legend(groups: Sequence[str], top: float) -> list[str]:
    """Return the colours of groups with the names as SVG, side by side. ``top``: the position of
    the first line in pixels."""
    parts = []
    for i, name in enumerate(groups):
        place = ROW_CHART_WIDTH / LEGEND_NAMES_PER_LINE * (i % LEGEND_NAMES_PER_LINE)
        y = top + 16 * (i // LEGEND_NAMES_PER_LINE)
        mark = svg_element(
            "rect", x=place, y=y - 9, width=12, height=9, class_=f"box c{i % N_GROUP_COLORS}"
        )
        parts += [mark, svg_text(name, round(place + 18, 1), y, class_="name")]
    return parts


def _box_row(box: Box, name: str, x: AxisScale, y: float, unit: str, kind: str) -> str:
    label = svg_text(name, round(x.start - 12, 1), y + 3.5, class_="end name")
    if not box.values:
        return svg_element("g", svg_title(f"{box.name}: no value"), label)
    lower, median, upper = (float(q) for q in np.percentile(box.values, [25, 50, 75]))
    slack = 1.5 * (upper - lower)
    inliers = [v for v in box.values if lower - slack <= v <= upper + slack]
    whisker_low, whisker_high = min([*inliers, lower]), max([*inliers, upper])
    mean = math.fsum(box.values) / len(box.values)
    summary = (
        f"median {format_number(median)}, mean {format_number(mean)}, "
        f"{count_with_noun(len(box.values), 'value')}"
    )
    whisker = (
        f"M{x(whisker_low):.1f} {y:g}H{x(lower):.1f}M{x(upper):.1f} {y:g}H{x(whisker_high):.1f}"
    )
    size = {"width": round(max(x(upper) - x(lower), 0.1), 1), "height": 14}
    parts = [
        svg_title(f"{box.name}: {summary}"),
        label,
        svg_element("path", d=whisker, class_="whisker"),
        svg_element("rect", x=round(x(lower), 1), y=y - 7, **size, class_=kind),
        svg_element("path", d=f"M{x(median):.1f} {y - 7:g}v14", class_="median"),
    ]
    return svg_element("g", *parts, *_box_points(box, x, y, unit))


def _box_points(box: Box, x: AxisScale, y: float, unit: str) -> list[str]:
    """Return every value of a box as a point in SVG, at five heights around ``y`` so that equal
    values stay visible. ``unit``: the name of the value in tooltips."""
    points = []
    for i, value in enumerate(box.values):
        place = f" in {box.points[i]}" if box.points else ""
        words = svg_title(f"{box.name}: {unit} {format_number(value, 4)}{place}")
        height = y + (i % 5 - 2) * 2.4
        points.append(svg_element("circle", words, cx=x(value), cy=height, r=2.2, class_="point"))
    return points


# ------------------------------------------------------------------------------------------- strips


def strip_rows_svg(figure: Strips) -> str:
    """Return the values of every group as SVG, dots in a row; unused groups are grey."""
    values = [v for strip in figure.strips for v in strip.values] or [0.0, 1.0]
    low, high = separated_ends(min(values), max(values))
    slack = 0.06 * (high - low)
    x = AxisScale(
        low - slack,
        high + slack,
        name_column_width((s.name for s in figure.strips), ROW_NAME_MARGIN),
        ROW_CHART_WIDTH - 16,
    )
    height = STRIP_ROW_HEIGHT * len(figure.strips)
    parts = _bar_axis_lines(x, height, figure.x, 0.0)
    names = shorten_distinct_names([strip.name for strip in figure.strips])
    parts += [
        _strip_row(strip, name, x, STRIP_ROW_HEIGHT * (i + 0.5), figure.x)
        for i, (strip, name) in enumerate(zip(figure.strips, names))
    ]
    return svg_figure(
        ROW_CHART_WIDTH, height + 42, parts, f"{figure.title}: {figure.x} of {len(figure.strips)}"
    )


def _strip_row(strip: Strip, name: str, x: AxisScale, y: float, unit: str) -> str:
    note = "" if strip.is_used else ", left out"
    places = [x(v) for v in strip.values]
    parts = [row_name_svg(strip.name, x.start - 12, y + 4, name)]
    if places:
        d = f"M{min(places):.1f} {y:.1f}H{max(places):.1f}"
        parts.append(svg_element("path", d=d, class_="range"))
    for place, value in zip(places, strip.values):
        words = svg_title(f"{strip.name}: {unit} {format_number(value)}{note}")
        parts.append(svg_element("circle", words, cx=place, cy=y, r=4, class_="dot"))
    return svg_element("g", *parts, class_="row" if strip.is_used else "row unused")
