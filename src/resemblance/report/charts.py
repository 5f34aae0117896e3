"""Lines and point clouds as inline SVG in the colours of the page, light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ..sections.figures import Chart, Cloud, Clouds, Line
from .numbers import number
from .svg import (
    CHARACTER,
    NOTHING,
    Axis,
    apart,
    axis_ticks,
    drawing,
    label_places,
    limit,
    log_axis,
    numbers_below,
    reach,
    tag,
    text,
    ticks,
    title,
)

WIDTH, HEIGHT = 480.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 12.0, 38.0
MOST_TITLES = 400  # points of a chart that say their values
FEW_PLACES = 12  # of a horizontal axis, at most so many have numbers of their own
MOST_MARKS = 30  # points of a line that are marked
MARKS = (  # from the middle of a point, for about equal areas
    "m-2.7 0a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0-5.4 0z", "m-2.4-2.4h4.8v4.8h-4.8z",
    "m0-3.4l3.2 5.6h-6.4z",
    "m0-3.5l3.5 3.5l-3.5 3.5l-3.5-3.5z", "m0 3.4l3.2-5.6h-6.4z",
)  # fmt: skip
DASHES = ("", "d1", "d2")  # of the tens of numbers
SMALL, LARGE = 150.0, 440.0  # sides of a cloud
CLOUD_COLOURS = 12
LETTERS = 11.0  # height of a label
Point = tuple[float, float]


class Key(NamedTuple):
    """How a line is drawn: its number, for colour, mark and dashes, and whether it is shown at
    first."""

    number: int
    is_shown: bool
    is_dashed: bool = False
    note: str = ""

    @property
    def mark(self) -> str:
        """The outline of its points."""
        return MARKS[self.number % len(MARKS)]

    @property
    def classes(self) -> str:
        """What the style sheet and the program know it by."""
        dash = "d1" if self.is_dashed else DASHES[self.number // 10 % len(DASHES)]
        shown = "" if self.is_shown else "off"
        return " ".join(filter(None, ("m", f"m{self.number}", dash, shown)))


class Frame(NamedTuple):
    """A chart with its axes, and whether its points are few enough to say their values."""

    chart: Chart
    x: Axis
    y: Axis
    are_few: bool


def chart(figure: Chart, keys: Mapping[str, Key]) -> str:
    """Draw lines, or clouds of points, with their intervals; the first line is on top.

    Raises ``ValueError`` for a negative value on a logarithmic axis.
    """
    lines = [known(line) for line in figure.lines]
    points = [p for line in lines for p in line.points]
    if not points:
        return NOTHING
    axes = (
        plane_axes(points) if figure.is_plane else (x_axis(points, figure), _y_axis(lines, figure))
    )
    frame = Frame(figure, *axes, len(points) <= MOST_TITLES)
    around = _box(figure) if figure.is_plane else [*_grid(frame.y), *_below(frame, points)]
    parts = list(around)
    if (at := figure.threshold) is not None:
        parts.append(limit(at, f"M{LEFT:g} {frame.y(at):.1f}H{WIDTH - RIGHT:g}"))
    parts += [_line(line, keys[line.name], frame) for line in reversed(figure.lines)]
    parts += _labels(lines, frame) if figure.is_labelled else []
    count = f"{len(lines)} {'line' if len(lines) == 1 else 'lines'}"
    return drawing(WIDTH, HEIGHT, parts, f"{figure.title}: {figure.y} by {figure.x}, {count}")


def known(line: Line) -> Line:
    """Return the points of a line that have both numbers, with their intervals and titles."""
    places = [i for i, point in enumerate(line.points) if _is_finite(point)]
    points = tuple(line.points[i] for i in places)
    titles = tuple(line.titles[i] for i in places) if line.titles else ()
    spans: tuple[Point, ...] = ()
    if line.intervals:
        intervals = [line.intervals[i] for i in places]
        spans = tuple(
            span if _is_finite(span) else (point[1], point[1])
            for span, point in zip(intervals, points)
        )
    return line._replace(points=points, intervals=spans, titles=titles)


def x_axis(points: Sequence[Point], figure: Chart) -> Axis:
    """Return the horizontal axis; on a logarithmic one 0 has a place of its own."""
    start, end = LEFT + 10, WIDTH - RIGHT - 10
    xs = [x for x, _ in points]
    if figure.log_x:
        return log_axis(xs, start, end, figure.name)
    return Axis(*apart(min(xs), max(xs)), start, end)


def plane_axes(points: Sequence[Point]) -> tuple[Axis, Axis]:
    """Return two axes on which a unit is equally long, with the points in the middle."""
    sides = (LEFT / 2, WIDTH - LEFT / 2 - 44), (HEIGHT - BOTTOM + 10, TOP + 8)
    spans = [apart(min(column), max(column)) for column in zip(*points)]
    unit = max((high - low) / abs(b - a) for (low, high), (a, b) in zip(spans, sides))
    unit *= 1.12
    x, y = (
        Axis((low + high - unit * abs(b - a)) / 2, (low + high + unit * abs(b - a)) / 2, a, b)
        for (low, high), (a, b) in zip(spans, sides)
    )
    return x, y


def _box(figure: Chart) -> list[str]:
    """Draw what is around a plane, whose axes have no numbers."""
    width, height = WIDTH - LEFT, HEIGHT - BOTTOM + 12
    outline = tag("rect", x=LEFT / 2, y=4, width=width, height=height, rx=6, class_="plane")
    return [outline, text(figure.x, WIDTH / 2, HEIGHT - 4, class_="mid axis")]


def _y_axis(lines: Sequence[Line], figure: Chart) -> Axis:
    ends = [y for line in lines for _, y in line.points]
    ends += [end for line in lines for pair in line.intervals for end in pair]
    ends += [] if figure.threshold is None else [figure.threshold]
    low, high = figure.span_y or reach(ends)
    return Axis(low, high, HEIGHT - BOTTOM, TOP)


def _grid(y: Axis) -> list[str]:
    parts = []
    for tick in ticks(y.low, y.high):
        kind = "grid zero" if tick == 0 else "grid"
        parts += [tag("path", d=f"M{LEFT:g} {y(tick):.1f}H{WIDTH - RIGHT:g}", class_=kind)]
        parts += [text(number(tick), LEFT - 7, round(y(tick) + 3.5, 1), class_="end")]
    return parts


def _below(frame: Frame, points: Iterable[Point]) -> list[str]:
    """Write numbers and name of the axis; lines through few places have their numbers there."""
    figure, x = frame.chart, frame.x
    places = sorted({a for a, _ in points})
    at = places if figure.joined and len(places) <= FEW_PLACES else axis_ticks(x)
    name = f"{figure.x} (logarithmic)" if figure.log_x else figure.x
    middle = (LEFT + WIDTH - RIGHT) / 2
    return [
        *numbers_below(x, at, HEIGHT - BOTTOM + 17),
        text(name, middle, HEIGHT - 4, class_="mid axis"),
    ]


def _line(line: Line, key: Key, frame: Frame) -> str:
    """Draw a line with gaps where there is no value, which nothing should hide."""
    x, y, joined = frame.x, frame.y, frame.chart.joined
    runs, line = _runs(line.points), known(line)
    places = [(x(a), y(b)) for a, b in line.points]
    spans = [(x(a), y(low), y(high)) for (a, _), (low, high) in zip(line.points, line.intervals)]
    parts = [title(line.name)]
    if spans:
        parts += [_band(spans[run]) for run in runs] if joined else [_spans(spans)]
    if joined and len(places) > 1:
        paths = ("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places[run]) for run in runs)
        parts.append(tag("path", d="".join(paths)))
    if not joined or len(places) <= MOST_MARKS:
        parts += _marks(line, key, frame, places)
    return tag("g", *parts, class_=f"{key.classes} joined" if joined else key.classes)


def _runs(points: Sequence[Point]) -> list[slice]:
    """Return where points without a gap between them are, among all with both numbers."""
    runs, start = [], 0
    for is_there, members in groupby(map(_is_finite, points)):
        if is_there:
            stop = start + len(list(members))
            runs.append(slice(start, stop))
            start = stop
    return runs


def _band(spans: Sequence[tuple[float, float, float]]) -> str:
    if len(spans) == 1:
        return _spans(spans)
    above = [f"{a:.1f} {high:.1f}" for a, _, high in spans]
    below = [f"{a:.1f} {low:.1f}" for a, low, _ in spans[::-1]]
    return tag("path", d=f"M{'L'.join([*above, *below])}Z", class_="band")


def _spans(spans: Sequence[tuple[float, float, float]]) -> str:
    d = "".join(f"M{a:.1f} {low:.1f}V{high:.1f}" for a, low, high in spans)
    return tag("path", d=d, class_="span")


def _marks(line: Line, key: Key, frame: Frame, places: Sequence[Point]) -> Iterator[str]:
    """Yield the points, each with what the pointer reads at it; of very many, all as one path."""
    if not frame.are_few:
        d = "".join(f"M{a:.1f} {b:.1f}{key.mark}" for a, b in places)
        yield tag("path", d=d, class_="marks")
        return
    for i, ((a, b), (x, y)) in enumerate(zip(places, line.points)):
        values = f"{frame.chart.y} {number(y)} at {frame.chart.x} {number(x)}"
        words = title(line.titles[i] if line.titles else f"{line.name}: {values}")
        yield tag("path", words, d=f"M{a:.1f} {b:.1f}{key.mark}", class_="marks")


def _labels(lines: Iterable[Line], frame: Frame) -> list[str]:
    """Write the titles of points, up to a colon, next to them, or where a line leads from them."""
    known = [(frame.x(a), frame.y(b), t) for line in lines for (a, b), t in _titled(line)]
    first, last = (LEFT / 2, WIDTH - LEFT / 2) if frame.chart.is_plane else (LEFT, WIDTH)
    widths = [CHARACTER * len(label) for _, _, label in known]
    box = (first, 4.0, last, HEIGHT - BOTTOM + 16)
    places = label_places([(x, y) for x, y, _ in known], widths, LETTERS, box)
    parts = []
    for (x, y, label), width, place in zip(known, widths, places):
        if place is not None:
            start, middle, is_led = place
            at = min(max(x, start), start + width)
            d = f"M{x:.1f} {y:.1f}L{at:.1f} {middle:.1f}"
            parts += [tag("path", d=d, class_="grid zero")] if is_led else []
            parts.append(text(label, round(start, 1), round(middle + 4, 1), class_="tick"))
    return parts


def _titled(line: Line) -> Iterable[tuple[Point, str]]:
    titles = line.titles or (line.name,) * len(line.points)
    return zip(line.points, (t.partition(":")[0] for t in titles))


def _is_finite(pair: tuple[float | None, float | None]) -> bool:
    return all(v is not None and math.isfinite(v) for v in pair)


# ------------------------------------------------------------------------------------------- clouds


def clouds(figure: Clouds) -> list[str]:
    """Draw every cloud as a square of its own, in the middle and as large as fits.

    Where points moved, all are on one scale and larger.
    """
    if any(cloud.origins for cloud in figure.clouds):
        farthest = _farthest(p for c in figure.clouds for p in (*c.points, *c.origins))
        return [_cloud(cloud, LARGE, (LARGE / 2 - 10) / farthest) for cloud in figure.clouds]
    middled = [cloud._replace(points=_middled(cloud.points)) for cloud in figure.clouds]
    return [_cloud(c, SMALL, (SMALL / 2 - 8) / _farthest(c.points)) for c in middled]


def _farthest(points: Iterable[Point]) -> float:
    return max([1e-12, *(abs(v) for point in points for v in point if math.isfinite(v))])


def _middled(points: Sequence[Point]) -> tuple[Point, ...]:
    """Move points so that the middle of what they span is at 0."""
    if not points:
        return ()
    x, y = ((min(column) + max(column)) / 2 for column in zip(*points))
    return tuple((a - x, b - y) for a, b in points)


def _cloud(cloud: Cloud, side: float, scale: float) -> str:
    ends, starts = ([_place(p, side, scale) for p in ps] for ps in (cloud.points, cloud.origins))
    groups = cloud.groups or (-1,) * len(ends)
    ways = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in zip(starts, ends))
    parts = [title(f"points: {cloud.name}")]
    parts += [tag("path", d=ways, class_="way"), _dots(starts, "p old")] if starts else []
    for group in dict.fromkeys(groups):
        members = [place for place, g in zip(ends, groups) if g == group]
        parts.append(_dots(members, f"p p{group % CLOUD_COLOURS}" if group >= 0 else "p new"))
    return drawing(side, side, parts, f"points: {cloud.name}", kind=f"cloud s{side:.0f}")


def _place(point: Point, side: float, scale: float) -> Point:
    return side / 2 + scale * point[0], side / 2 - scale * point[1]


def _dots(places: Iterable[Point], kind: str) -> str:
    return tag("path", d="".join(f"M{a:.1f} {b:.1f}h0" for a, b in places), class_=kind)
