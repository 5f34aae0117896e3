"""Figures of findings as inline SVG whose colours are those of the page, in light and in dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..results.figures import Bar, Bars, Chart, Line
from .numbers import decimals, digits, number
from .svg import tag, text, title

WIDTH, HEIGHT = 480.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 12.0, 38.0
ROW, NAMES, NUMBERS = 21.0, 184.0, 46.0  # of bars: height of one, room at the left and at the right
LONGEST = 28  # characters of the name of a bar
CHARACTER = 5.8  # mean width of a character
MOST_TITLES, MOST_MARKS = (
    400,
    30,
)  # points of a chart that say their values; points of a line that are marked
MARKS = (  # from the middle of a point, for about equal areas
    "m-2.7 0a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0-5.4 0z", "m-2.4-2.4h4.8v4.8h-4.8z",
    "m0-3.4l3.2 5.6h-6.4z",
    "m0-3.5l3.5 3.5l-3.5 3.5l-3.5-3.5z", "m0 3.4l3.2-5.6h-6.4z",
)  # fmt: skip
DASHES = ("", "d1", "d2")  # of the tens of numbers


class Key(NamedTuple):
    """How a line is drawn: its number, for colour, mark and dashes, and whether it is shown at
    first."""

    number: int
    is_shown: bool

    @property
    def mark(self) -> str:
        """The outline of its points."""
        return MARKS[self.number % len(MARKS)]

    @property
    def classes(self) -> str:
        """What the style sheet and the program know it by."""
        dash = DASHES[self.number // 10 % len(DASHES)]
        return " ".join(
            filter(None, ("m", f"m{self.number}", dash, "" if self.is_shown else "off"))
        )


class Axis(NamedTuple):
    """From values to places: ``low`` is at ``start``, ``high`` at ``end``.

    With ``zero`` it is logarithmic, and values of 0 are at ``zero``, before the others.
    """

    low: float
    high: float
    start: float
    end: float
    zero: float | None = None

    def __call__(self, value: float) -> float:
        """Return where a value is."""
        if self.zero is not None and value == 0:
            return self.zero
        low, high, here = (
            math.log10(v) if self.zero is not None else v for v in (self.low, self.high, value)
        )
        return self.start + (here - low) / (high - low) * (self.end - self.start)


# -------------------------------------------------------------------------------------------- lines


def chart(found: Chart, keys: Mapping[str, Key]) -> str:
    """Draw lines, or clouds of points, with their intervals; the first line is on top.

    Raises ``ValueError`` for a negative value on a logarithmic axis.
    """
    lines = [known(line) for line in found.lines]
    points = [p for line in lines for p in line.points]
    if not points:
        return '<p class="note">There is nothing to draw: nothing has a value.</p>'
    x = x_axis([p[0] for p in points], found)
    spans = [end for line in lines for pair in line.intervals for end in pair]
    level = () if found.threshold is None else (found.threshold,)
    low, high = reach([*(p[1] for p in points), *spans, *level])
    y = Axis(low, high, HEIGHT - BOTTOM, TOP)
    parts = [*_grid(y), *_below(x, found), *(_threshold_across(y, t) for t in level)]
    are_few = len(points) <= MOST_TITLES
    parts += [_line(line, keys[line.name], found, x, y, are_few) for line in reversed(lines)]
    said = (
        f"{found.title}: {found.y} by {found.x}, {len(lines)} "
        f"{'line' if len(lines) == 1 else 'lines'}"
    )
    return _svg(WIDTH, HEIGHT, parts, said)


def known(line: Line) -> Line:
    """Return the points of a line that have both numbers, with their intervals."""
    places = [i for i, point in enumerate(line.points) if _is_finite(point)]
    spans = (
        [
            line.intervals[i] if _is_finite(line.intervals[i]) else (line.points[i][1],) * 2
            for i in places
        ]
        if line.intervals
        else []
    )
    return Line(line.name, tuple(line.points[i] for i in places), tuple(spans))


def x_axis(xs: Sequence[float], found: Chart) -> Axis:
    """Return the horizontal axis; on a logarithmic one 0 has a place of its own."""
    start, end = LEFT + 10, WIDTH - RIGHT - 10
    if not found.log_x:
        return Axis(*apart(min(xs), max(xs)), start, end)
    if min(xs) < 0:
        raise ValueError(f"chart {found.name!r}: {min(xs):g} cannot be on a logarithmic axis")
    positive = [v for v in xs if v > 0] or [1.0]
    low, high = min(positive), max(positive)
    zero, start = start, start + 34 if 0 in xs else start
    return (
        Axis(low, high, start, end, zero)
        if high > 1.001 * low
        else Axis(low / 3, high * 3, start, end, zero)
    )


def reach(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis for values: with 0, and with 1 for shares, where these are near,
    and a little room."""
    low, high = min(values), max(values)
    low = 0.0 if 0 < low <= 0.6 * high else low
    high = (
        1.0
        if low >= -1 and 0.75 <= high < 1
        else 0.0
        if low < 0 and 0.6 * low <= high < 0
        else high
    )
    if apart(low, high) != (low, high):
        return apart(low, high)
    room = 0.05 * (high - low)
    return (low if low in (0, 1) else low - room), (high if high in (0, 1) else high + room)


def apart(low: float, high: float) -> tuple[float, float]:
    """Return two ends of an axis, moved apart if they are nearly the same."""
    size = max(abs(low), abs(high))
    if high - low > 1e-9 * size and size > 1e-290:
        return low, high
    room = 0.5 * size if size > 1e-290 else 0.5
    return low - room, high + room


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers (1, 2 or 5 times a power of ten apart) from low to high, at most so
    many."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten from low to high; with few of them also their multiples by 2 and
    5."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = max(1, math.ceil(len(powers) / 8))
    factors = (1, 2, 5) if len(powers) <= 3 else (1,)
    found = [float(f"{f}e{p}") for p in powers if p % every == 0 for f in factors]
    return [t for t in found if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def _grid(y: Axis) -> list[str]:
    parts = []
    for tick in ticks(y.low, y.high):
        kind = "grid zero" if tick == 0 else "grid"
        parts += [tag("path", d=f"M{LEFT:g} {y(tick):.1f}H{WIDTH - RIGHT:g}", class_=kind)]
        parts += [text(number(tick), LEFT - 7, round(y(tick) + 3.5, 1), class_="end")]
    return parts


def _below(x: Axis, found: Chart) -> list[str]:
    at = log_ticks(x.low, x.high) if found.log_x else ticks(x.low, x.high, 8)
    at = [0.0, *at] if found.log_x and x.zero != x.start else at
    parts, end = [], -math.inf
    for tick in at:
        place, half = x(tick), CHARACTER * len(number(tick)) / 2
        if place - half > end + 5:  # numbers that would touch the one before are left out
            parts.append(text(number(tick), round(place, 1), HEIGHT - BOTTOM + 17, class_="mid"))
            end = place + half
    axis = f"{found.x} (logarithmic)" if found.log_x else found.x
    return [*parts, text(axis, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, class_="mid axis")]


def _threshold_across(y: Axis, at: float) -> str:
    return _limit(at, f"M{LEFT:g} {y(at):.1f}H{WIDTH - RIGHT:g}")


def _line(line: Line, key: Key, found: Chart, x: Axis, y: Axis, are_few: bool) -> str:
    places = [(x(a), y(b)) for a, b in line.points]
    spans = [(x(a), y(low), y(high)) for (a, _), (low, high) in zip(line.points, line.intervals)]
    parts = [title(line.name)]
    if spans and found.joined:
        border = [
            *(f"{a:.1f} {high:.1f}" for a, _, high in spans),
            *(f"{a:.1f} {low:.1f}" for a, low, _ in spans[::-1]),
        ]
        parts.append(tag("path", d=f"M{'L'.join(border)}Z", class_="band"))
    elif spans:
        parts.append(
            tag(
                "path",
                d="".join(f"M{a:.1f} {low:.1f}V{high:.1f}" for a, low, high in spans),
                class_="span",
            )
        )
    if found.joined and len(places) > 1:
        parts.append(tag("path", d="M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places)))
    if not found.joined or len(places) <= MOST_MARKS:
        parts += _marks(line, key, found, places, are_few)
    return tag("g", *parts, class_=f"{key.classes} joined" if found.joined else key.classes)


def _marks(
    line: Line, key: Key, found: Chart, places: Iterable[tuple[float, float]], are_few: bool
) -> Iterable[str]:
    """Yield the points, each with what it says when the pointer rests on it; of very many, all as
    one path."""
    if not are_few:
        yield tag(
            "path", d="".join(f"M{a:.1f} {b:.1f}{key.mark}" for a, b in places), class_="marks"
        )
        return
    for (a, b), (x, y) in zip(places, line.points):
        said = title(f"{line.name}: {found.y} {number(y)} at {found.x} {number(x)}")
        yield tag("path", said, d=f"M{a:.1f} {b:.1f}{key.mark}", class_="marks")


# --------------------------------------------------------------------------------------------- bars


def bars(found: Bars) -> str:
    """Draw estimates below each other in their order, each with its interval and its number."""
    shown = [bar for bar in found.bars if math.isfinite(bar.value)]
    if not shown:
        return '<p class="note">There is nothing to draw: nothing has a value.</p>'
    ends = [
        v for b in shown for v in (b.value, b.low, b.high) if v is not None and math.isfinite(v)
    ]
    level = () if found.threshold is None else (found.threshold,)
    names = min(NAMES, 20 + CHARACTER * max(len(shortened(b.name)) for b in found.bars))
    low, high = found.span or reach([*ends, *level])
    x = Axis(*apart(min(low, *ends), max(high, *ends)), names, WIDTH - NUMBERS - 10)
    tall = ROW * len(found.bars)
    base = found.span[0] if found.span else 0.0
    parts = _columns(x, tall, found.x, base) + [_threshold_down(x, t, tall) for t in level]
    places = decimals([abs(bar.value) for bar in shown])
    parts += [
        _bar(bar, x, ROW * i, digits(bar.value, places), base) for i, bar in enumerate(found.bars)
    ]
    return _svg(WIDTH, tall + 42, parts, f"{found.title}: {found.x} of {len(found.bars)}")


def shortened(name: str) -> str:
    """Cut the middle out of a long name."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[1 - LONGEST // 2 :]}"


def _columns(x: Axis, tall: float, name: str, base: float) -> list[str]:
    parts, width = [], (x.high - x.low) / 8
    for tick in [base] * bool(base) + [
        t for t in ticks(x.low, x.high, 8) if not base or t > base + width / 2
    ]:
        kind = "grid zero" if tick == base else "grid"
        parts += [tag("path", d=f"M{x(tick):.1f} 0V{tall:g}", class_=kind)]
        parts += [text(number(tick), round(x(tick), 1), tall + 16, class_="mid")]
    return [*parts, text(name, round((x.start + x.end) / 2, 1), tall + 36, class_="mid axis")]


def _threshold_down(x: Axis, at: float, tall: float) -> str:
    return _limit(at, f"M{x(at):.1f} 0V{tall:g}")


def _limit(at: float, d: str) -> str:
    """Draw the line of a threshold, and a broad one that is not seen, which the pointer finds more
    easily."""
    wide = tag("path", d=d, class_="reach")
    return tag("g", title(f"threshold {number(at)}"), wide, tag("path", d=d), class_="limit")


def _bar(bar: Bar, x: Axis, top: float, told: str, base: float) -> str:
    middle, has_value = top + ROW / 2, math.isfinite(bar.value)
    has_span = bar.low is not None and bar.high is not None
    span = f", {number(bar.low)} to {number(bar.high)}" if has_span else ""
    parts = [title(f"{bar.name}: {number(bar.value)}{span}")]
    parts += [text(shortened(bar.name), round(x.start - 12, 1), middle + 3.5, class_="end name")]
    if has_value and x.low <= base <= x.high:
        parts.append(tag("path", d=f"M{x(base):.1f} {middle:g}H{x(bar.value):.1f}", class_="stem"))
    if has_value and bar.low is not None and bar.high is not None:
        low, high = x(bar.low), x(bar.high)
        ends = f"M{low:.1f} {middle - 3:g}v6M{high:.1f} {middle - 3:g}v6"
        parts.append(tag("path", d=f"M{low:.1f} {middle:g}H{high:.1f}{ends}", class_="range"))
    if has_value:
        parts.append(tag("circle", cx=round(x(bar.value), 1), cy=middle, r=3.6, class_="dot"))
    return tag("g", *parts, text(told, WIDTH - 4, middle + 3.5, class_="end name"))


# ------------------------------------------------------------------------------------------- shared


def _is_finite(pair: tuple[float | None, float | None]) -> bool:
    return all(v is not None and math.isfinite(v) for v in pair)


def _svg(width: float, height: float, parts: Iterable[str], said: str) -> str:
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        class_="chart",
        role="img",
        aria_label=said,
    )
