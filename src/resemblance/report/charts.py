"""Lines and point clouds as inline SVG in the colours of the page, light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ..base.formatting import format_number
from ..sections.figures import Chart, Cloud, Clouds, Line
from .svg import (
    EMPTY_FIGURE_HTML,
    LABEL_CHARACTER_WIDTH,
    AxisScale,
    axis_numbers,
    axis_ticks,
    log_axis,
    padded_range,
    place_labels,
    round_ticks,
    separated_ends,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
    threshold_line,
)

CHART_WIDTH, CHART_HEIGHT = 480.0, 290.0
MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 46.0, 12.0, 12.0, 38.0
MAX_POINTS_WITH_TITLES = 400  # points of a chart with tooltips
MAX_LABELED_POSITIONS = 12  # x values that are all numbered on the axis
MAX_POINTS_ALL_LABELED = 6  # points of a line that all have labels
MAX_POINTS_WITH_MARKERS = 30  # points of a line with markers
MARKER_PATHS = (  # around the middle of a point, with about equal areas
    "m-2.7 0a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0-5.4 0z", "m-2.4-2.4h4.8v4.8h-4.8z",
    "m0-3.4l3.2 5.6h-6.4z",
    "m0-3.5l3.5 3.5l-3.5 3.5l-3.5-3.5z", "m0 3.4l3.2-5.6h-6.4z",
)  # fmt: skip
DASH_CLASSES = ("", "d1", "d2")  # by the tens of the line number
SMALL_CLOUD_SIDE, LARGE_CLOUD_SIDE = 150.0, 440.0  # sides of a cloud
CLOUD_COLORS = 12
POINT_LABEL_HEIGHT = 11.0  # height of a label
Point = tuple[float, float]


class LineStyle(NamedTuple):
    """The style of a line: ``number`` selects colour, marker and dashes; ``is_shown``: whether the
    line is visible at first; ``is_in_legend``: false for a line with its name beside it.
    ``is_reference``: a level to compare the other lines with, in grey."""

    number: int
    is_shown: bool
    is_dashed: bool = False
    note: str = ""
    is_in_legend: bool = True
    is_reference: bool = False

    @property
    def mark(self) -> str:
        """The SVG path of the marker."""
        return MARKER_PATHS[self.number % len(MARKER_PATHS)]

    @property
    def classes(self) -> str:
        """The CSS classes of the line, for the style sheet and the JavaScript."""
        dash = "d1" if self.is_dashed else DASH_CLASSES[self.number // 10 % len(DASH_CLASSES)]
        visibility = "" if self.is_shown else "off"
        kind = "reference" if self.is_reference else ""
        return " ".join(filter(None, ("m", f"m{self.number}", kind, dash, visibility)))


class ChartFrame(NamedTuple):
    """A chart with two axes; ``are_few``: whether the points are few enough for tooltips."""

    chart: Chart
    x: AxisScale
    y: AxisScale
    are_few: bool


def line_chart(figure: Chart, keys: Mapping[str, LineStyle]) -> str:
    """Return lines or points with intervals as SVG; the first line is on top. Without points,
    return a note in HTML.

    ``keys``: the style of each line by name. Raises ``ValueError`` for a negative value on a
    logarithmic axis.
    """
    lines = [finite_points(line) for line in figure.lines]
    points = [p for line in lines for p in line.points]
    if not points:
        return EMPTY_FIGURE_HTML
    axes = (
        plane_axes(points) if figure.is_plane else (x_axis(points, figure), _y_axis(lines, figure))
    )
    frame = ChartFrame(figure, *axes, len(points) <= MAX_POINTS_WITH_TITLES)
    if figure.is_plane:
        background = _plane_outline(figure)
    else:
        background = [*_horizontal_grid_lines(frame.y), *_x_axis_labels(frame, points)]
    parts = list(background)
    if (threshold := figure.threshold) is not None:
        parts.append(
            threshold_line(
                threshold,
                f"M{MARGIN_LEFT:g} {frame.y(threshold):.1f}H{CHART_WIDTH - MARGIN_RIGHT:g}",
            )
        )
    parts += [_line_markup(line, keys[line.name], frame) for line in reversed(figure.lines)]
    parts += _point_labels(lines, frame) if figure.is_labeled else []
    count = f"{len(lines)} {'line' if len(lines) == 1 else 'lines'}"
    axis_names = figure.x if figure.is_plane else f"{figure.y} by {figure.x}"
    return svg_figure(CHART_WIDTH, CHART_HEIGHT, parts, f"{figure.title}: {axis_names}, {count}")


def finite_points(line: Line) -> Line:
    """Return a line without points that lack a coordinate; intervals and titles stay aligned. A
    missing interval becomes the value of the point, twice."""
    places = [i for i, point in enumerate(line.points) if _is_finite_point(point)]
    points = tuple(line.points[i] for i in places)
    titles = tuple(line.titles[i] for i in places) if line.titles else ()
    spans: tuple[Point, ...] = ()
    if line.intervals:
        intervals = [line.intervals[i] for i in places]
        spans = tuple(
            span if _is_finite_point(span) else (point[1], point[1])
            for span, point in zip(intervals, points)
        )
    return line._replace(points=points, intervals=spans, titles=titles)


def x_axis(points: Sequence[Point], figure: Chart) -> AxisScale:
    """Return the horizontal axis of a chart, from data to pixels; a logarithmic axis has a separate
    position for 0. ``points``: the finite points of all lines."""
    start, end = MARGIN_LEFT + 10, CHART_WIDTH - MARGIN_RIGHT - 10
    xs = [x for x, _ in points]
    if figure.log_x:
        return log_axis(xs, start, end, figure.name)
    return AxisScale(*separated_ends(min(xs), max(xs)), start, end)


def plane_axes(points: Sequence[Point]) -> tuple[AxisScale, AxisScale]:
    """Return the horizontal and the vertical axis of a plane, with the same number of pixels per
    unit and the points in the middle. ``points``: pairs (x, y), at least one."""
    sides = (
        (MARGIN_LEFT / 2, CHART_WIDTH - MARGIN_LEFT / 2 - 44),
        (CHART_HEIGHT - MARGIN_BOTTOM + 10, MARGIN_TOP + 8),
    )
    spans = [separated_ends(min(column), max(column)) for column in zip(*points)]
    unit = max((high - low) / abs(b - a) for (low, high), (a, b) in zip(spans, sides))
    unit *= 1.12
    x, y = (
        AxisScale((low + high - unit * abs(b - a)) / 2, (low + high + unit * abs(b - a)) / 2, a, b)
        for (low, high), (a, b) in zip(spans, sides)
    )
    return x, y


def _plane_outline(figure: Chart) -> list[str]:
    """Return the SVG of the frame and the caption of a plane; the axes of a plane have no
    numbers."""
    width, height = CHART_WIDTH - MARGIN_LEFT, CHART_HEIGHT - MARGIN_BOTTOM + 12
    outline = svg_element(
        "rect", x=MARGIN_LEFT / 2, y=4, width=width, height=height, rx=6, class_="plane"
    )
    return [outline, svg_text(figure.x, CHART_WIDTH / 2, CHART_HEIGHT - 4, class_="mid axis")]


def _y_axis(lines: Sequence[Line], figure: Chart) -> AxisScale:
    values = [y for line in lines for _, y in line.points]
    values += [end for line in lines for pair in line.intervals for end in pair]
    values += [] if figure.threshold is None else [figure.threshold]
    low, high = figure.span_y or padded_range(values)
    return AxisScale(low, high, CHART_HEIGHT - MARGIN_BOTTOM, MARGIN_TOP)


def _horizontal_grid_lines(y: AxisScale) -> list[str]:
    parts = []
    for tick in round_ticks(y.low, y.high):
        kind = "grid zero" if tick == 0 else "grid"
        parts += [
            svg_element(
                "path",
                d=f"M{MARGIN_LEFT:g} {y(tick):.1f}H{CHART_WIDTH - MARGIN_RIGHT:g}",
                class_=kind,
            )
        ]
        parts += [
            svg_text(format_number(tick), MARGIN_LEFT - 7, round(y(tick) + 3.5, 1), class_="end")
        ]
    return parts


def _x_axis_labels(frame: ChartFrame, points: Iterable[Point]) -> list[str]:
    """Return the SVG of the numbers and the name of the horizontal axis. If joined lines have few x
    values, the numbers are these values."""
    figure, x = frame.chart, frame.x
    places = sorted({a for a, _ in points})
    ticks = places if figure.joined and len(places) <= MAX_LABELED_POSITIONS else axis_ticks(x)
    name = f"{figure.x} (logarithmic)" if figure.log_x else figure.x
    middle = (MARGIN_LEFT + CHART_WIDTH - MARGIN_RIGHT) / 2
    return [
        *axis_numbers(x, ticks, CHART_HEIGHT - MARGIN_BOTTOM + 17),
        svg_text(name, middle, CHART_HEIGHT - 4, class_="mid axis"),
    ]


def _line_markup(line: Line, key: LineStyle, frame: ChartFrame) -> str:
    """Return the SVG of a line with intervals and markers, and with a gap at every missing
    value."""
    x, y, is_joined = frame.x, frame.y, frame.chart.joined
    runs, line = _contiguous_slices(line.points), finite_points(line)
    places = [(x(a), y(b)) for a, b in line.points]
    spans = [(x(a), y(low), y(high)) for (a, _), (low, high) in zip(line.points, line.intervals)]
    parts = [svg_title(line.name)]
    if spans:
        parts += (
            [_interval_band(spans[run]) for run in runs] if is_joined else [_interval_bars(spans)]
        )
    if is_joined and len(places) > 1:
        paths = ("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places[run]) for run in runs)
        parts.append(svg_element("path", d="".join(paths)))
    if not is_joined or len(places) <= MAX_POINTS_WITH_MARKERS:
        parts += _point_markers(line, key, frame, places)
    return svg_element("g", *parts, class_=f"{key.classes} joined" if is_joined else key.classes)


def _contiguous_slices(points: Sequence[Point]) -> list[slice]:
    """Return a slice for each run of ``points`` (x, y) without a gap, a point that is not finite;
    the slices index the finite points."""
    runs, start = [], 0
    for is_there, members in groupby(map(_is_finite_point, points)):
        if is_there:
            stop = start + len(list(members))
            runs.append(slice(start, stop))
            start = stop
    return runs


def _interval_band(spans: Sequence[tuple[float, float, float]]) -> str:
    if len(spans) == 1:
        return _interval_bars(spans)
    upper_edge = [f"{a:.1f} {high:.1f}" for a, _, high in spans]
    lower_edge = [f"{a:.1f} {low:.1f}" for a, low, _ in spans[::-1]]
    return svg_element("path", d=f"M{'L'.join([*upper_edge, *lower_edge])}Z", class_="band")


def _interval_bars(spans: Sequence[tuple[float, float, float]]) -> str:
    d = "".join(f"M{a:.1f} {low:.1f}V{high:.1f}" for a, low, high in spans)
    return svg_element("path", d=d, class_="span")


def _point_markers(
    line: Line, key: LineStyle, frame: ChartFrame, places: Sequence[Point]
) -> Iterator[str]:
    """Yield a marker with a tooltip for every point of a line; in a chart with many points, yield
    one path with all markers and no tooltips.

    ``line``: a line without missing values. ``places``: the points in pixels.
    """
    if not frame.are_few:
        d = "".join(f"M{a:.1f} {b:.1f}{key.mark}" for a, b in places)
        yield svg_element("path", d=d, class_="marks")
        return
    for i, ((a, b), (x, y)) in enumerate(zip(places, line.points)):
        values = f"{frame.chart.y} {format_number(y)} at {frame.chart.x} {format_number(x)}"
        words = svg_title(line.titles[i] if line.titles else f"{line.name}: {values}")
        yield svg_element("path", words, d=f"M{a:.1f} {b:.1f}{key.mark}", class_="marks")


def _point_labels(lines: Iterable[Line], frame: ChartFrame) -> list[str]:
    """Return the markup of point titles, up to a colon, beside the points of ``lines``. A leader
    line connects a distant title. A title without room is left out."""
    labels = [
        (frame.x(a), frame.y(b), label)
        for line in lines
        for (a, b), label in _points_with_labels(line, is_joined=frame.chart.joined)
    ]
    if frame.chart.is_plane:
        x_min, x_max = MARGIN_LEFT / 2, CHART_WIDTH - MARGIN_LEFT / 2
    else:
        x_min, x_max = MARGIN_LEFT, CHART_WIDTH
    widths = [LABEL_CHARACTER_WIDTH * len(label) for _, _, label in labels]
    box = (x_min, 4.0, x_max, CHART_HEIGHT - MARGIN_BOTTOM + 16)
    places = place_labels([(x, y) for x, y, _ in labels], widths, POINT_LABEL_HEIGHT, box)
    parts = []
    for (x, y, label), width, place in zip(labels, widths, places):
        if place is not None:
            start, middle, is_led = place
            anchor = min(max(x, start), start + width)
            d = f"M{x:.1f} {y:.1f}L{anchor:.1f} {middle:.1f}"
            parts += [svg_element("path", d=d, class_="grid zero")] if is_led else []
            parts.append(svg_text(label, round(start, 1), round(middle + 4, 1), class_="tick"))
    return parts


def _points_with_labels(line: Line, *, is_joined: bool) -> Iterable[tuple[Point, str]]:
    """Return pairs (point, label): the two ends of a long joined line, otherwise all points. The
    label is the title up to a colon, or the name of the line."""
    titles = line.titles or (line.name,) * len(line.points)
    labels = list(zip(line.points, (t.partition(":")[0] for t in titles)))
    is_long = is_joined and len(labels) > MAX_POINTS_ALL_LABELED
    return [labels[0], labels[-1]] if is_long else labels


def _is_finite_point(pair: tuple[float | None, float | None]) -> bool:
    return all(v is not None and math.isfinite(v) for v in pair)


# ------------------------------------------------------------------------------------------- clouds


def point_cloud_row(figure: Clouds) -> list[str]:
    """Return a square SVG of every cloud, centred and as large as fits.

    If points moved (a cloud has origins), all clouds share a scale, are larger, and are not
    centred.
    """
    if any(cloud.origins for cloud in figure.clouds):
        extent = _max_abs_coordinate(p for c in figure.clouds for p in (*c.points, *c.origins))
        return [
            _cloud_markup(cloud, LARGE_CLOUD_SIDE, (LARGE_CLOUD_SIDE / 2 - 10) / extent)
            for cloud in figure.clouds
        ]
    centered_clouds = [
        cloud._replace(points=_centered_points(cloud.points)) for cloud in figure.clouds
    ]
    return [
        _cloud_markup(
            c, SMALL_CLOUD_SIDE, (SMALL_CLOUD_SIDE / 2 - 8) / _max_abs_coordinate(c.points)
        )
        for c in centered_clouds
    ]


def _max_abs_coordinate(points: Iterable[Point]) -> float:
    return max([1e-12, *(abs(v) for point in points for v in point if math.isfinite(v))])


def _centered_points(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return points (x, y), moved so that the middle of the range of each coordinate is at 0; ()
    without points."""
    if not points:
        return ()
    x, y = ((min(column) + max(column)) / 2 for column in zip(*points))
    return tuple((a - x, b - y) for a, b in points)


def _cloud_markup(cloud: Cloud, side: float, scale: float) -> str:
    ends, starts = (
        [(side / 2 + scale * p[0], side / 2 - scale * p[1]) for p in ps]
        for ps in (cloud.points, cloud.origins)
    )
    groups = cloud.groups or (-1,) * len(ends)
    ways = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in zip(starts, ends))
    parts = [svg_title(f"points: {cloud.name}")]
    if starts:
        parts += [svg_element("path", d=ways, class_="way"), _cloud_dots(starts, "p old")]
    for group in dict.fromkeys(groups):
        members = [place for place, g in zip(ends, groups) if g == group]
        parts.append(_cloud_dots(members, f"p p{group % CLOUD_COLORS}" if group >= 0 else "p new"))
    return svg_figure(side, side, parts, f"points: {cloud.name}", kind=f"cloud s{side:.0f}")


def _cloud_dots(places: Iterable[Point], kind: str) -> str:
    return svg_element("path", d="".join(f"M{a:.1f} {b:.1f}h0" for a, b in places), class_=kind)
