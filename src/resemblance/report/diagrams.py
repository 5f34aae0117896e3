"""Critical-difference diagrams as inline SVG: names on one axis, and bars over those that tie."""

from __future__ import annotations

from collections.abc import Sequence

from ..results.figures import Diagram
from .numbers import decimals, digits, listed, number
from .svg import (
    NOTHING,
    Axis,
    apart,
    axis_ticks,
    drawing,
    numbers_below,
    room,
    shortened,
    tag,
    text,
    title,
)

WIDTH = 480.0
NAMES, NUMBERS = 150.0, 40.0  # room on each side: for a name, and for its number
ROW, LEVEL = 16.0, 7.0  # heights of a name and of a bar
AXIS = 36.0  # height of what is above the axis
LONGEST = 22  # characters of a name
SPOKEN = 6  # names of a bar that the pointer reads; more are counted


def diagram(figure: Diagram) -> str:
    """Draw names at both sides, the better half at the left, each with a line to its value."""
    count = len(figure.names)
    if not count:
        return NOTHING
    better = (count + 1) // 2
    sides = figure.names[:better], figure.names[better:]
    left, right = (room(side, NAMES) + NUMBERS for side in sides)
    x = Axis(*apart(min(figure.values), max(figure.values)), left + 8, WIDTH - right - 8)
    levels = bar_levels(figure.groups)
    first = AXIS + LEVEL * (max(levels, default=-1) + 1) + ROW
    parts = _axis(figure, x)
    for i in range(count):
        row = i if i < better else count - 1 - i
        parts.append(_arm(figure, i, x, first + ROW * row, is_left=i < better))
    parts += [
        _bar(figure, group, x, AXIS + LEVEL * (level + 1))
        for group, level in zip(figure.groups, levels)
    ]
    return drawing(WIDTH, first + ROW * better, parts, _label(figure), class_="chart ties")


def bar_levels(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return on which level each bar is drawn, so that none touches another: 0 is the nearest to
    the axis."""
    ends, levels = list[int](), list[int]()
    for first, last in groups:
        level = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        levels.append(level)
    return levels


def _axis(figure: Diagram, x: Axis) -> list[str]:
    at = axis_ticks(x, 6)
    ticks = "".join(f"M{x(t):.1f} {AXIS - 5:g}V{AXIS:g}" for t in at)
    line = tag("path", d=f"M{x.start:.1f} {AXIS:g}H{x.end:.1f}{ticks}", class_="grid zero")
    middle = round((x.start + x.end) / 2, 1)
    return [line, *numbers_below(x, at, AXIS - 9), text(figure.x, middle, 11, class_="mid axis")]


def _are_tied(figure: Diagram, i: int, j: int) -> bool:
    """Whether a bar joins two different names."""
    low, high = min(i, j), max(i, j)
    return i != j and any(first <= low and high <= last for first, last in figure.groups)


def _arm(figure: Diagram, i: int, x: Axis, y: float, *, is_left: bool) -> str:
    """Draw the line from a value down to its name, which has the number at its side."""
    name, value, at = figure.names[i], figure.values[i], x(figure.values[i])
    end = x.start - 6 if is_left else x.end + 6
    d = f"M{at:.1f} {AXIS:g}V{y:g}H{end:.1f}"
    written, short = digits(value, decimals(figure.values)), shortened(name, LONGEST)
    kind, sign = ("end", -1) if is_left else ("start", 1)
    words = f"{name}: {figure.x} {number(value)}"
    tied = [figure.names[j] for j in range(len(figure.names)) if _are_tied(figure, i, j)]
    words += f"; not told from {listed(tied, SPOKEN, 1)}" if tied else "; told from all others"
    return tag(
        "g",
        title(words),
        tag("path", d=d, class_="reach"),
        tag("path", d=d),
        text(written, round(end + sign * 3, 1), y + 3.5, class_=kind),
        text(short, round(end + sign * NUMBERS, 1), y + 3.5, class_=f"{kind} name"),
        class_="branch arm",
    )


def _bar(figure: Diagram, group: tuple[int, int], x: Axis, y: float) -> str:
    first, last = group
    d = f"M{x(figure.values[first]) - 3:.1f} {y:g}H{x(figure.values[last]) + 3:.1f}"
    words = f"no two can be told apart: {listed(figure.names[first : last + 1], SPOKEN, 1)}"
    return tag("g", title(words), tag("path", d=d), class_="branch tie")


def _label(figure: Diagram) -> str:
    """Return a diagram in words: what is joined."""
    joined = "; ".join(listed(figure.names[a : b + 1], SPOKEN, 1) for a, b in figure.groups)
    return f"{figure.title}: {figure.x} of {len(figure.names)}; {joined or 'none are joined'}"
