"""Names that are joined, as inline SVG: diagrams with bars over those that tie, and trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..sections.figures import Dendrogram, Diagram
from .numbers import decimals, digits, listed, number
from .svg import (
    NOTHING,
    Axis,
    apart,
    axis_ticks,
    columns,
    distinct_names,
    drawing,
    numbers_below,
    room,
    row_name,
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
    names = distinct_names(figure.names, LONGEST)
    for i in range(count):
        row = i if i < better else count - 1 - i
        parts.append(_arm(figure, i, names[i], x, first + ROW * row, is_left=i < better))
    parts += [
        _bar(figure, group, x, AXIS + LEVEL * (level + 1))
        for group, level in zip(figure.groups, levels)
    ]
    return drawing(WIDTH, first + ROW * better, parts, _label(figure), kind="chart ties")


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


def _arm(figure: Diagram, i: int, short: str, x: Axis, y: float, *, is_left: bool) -> str:
    """Draw the line from a value down to its name, which has the number at its side."""
    name, value, at = figure.names[i], figure.values[i], x(figure.values[i])
    end = x.start - 6 if is_left else x.end + 6
    d = f"M{at:.1f} {AXIS:g}V{y:g}H{end:.1f}"
    written = digits(value, decimals(figure.values))
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


LEAF, LEAST = 17.0, 10.5  # heights of a leaf: of few leaves, of many
FEW_LEAVES = 40  # leaves
LEAF_NAMES = 190.0  # room at the left
SPOKEN_LEAVES = 3  # names of a branch that the pointer reads; more are counted


class Branch(NamedTuple):
    """A leaf or a merge where it is drawn: its height, its place, and its leaves."""

    x: float
    y: float
    leaves: tuple[str, ...]


def dendrogram(figure: Dendrogram) -> str:
    """Draw a tree: two branches meet at the height at which they are joined."""
    if len(figure.leaves) < 2:
        return NOTHING
    pitch = LEAF if len(figure.leaves) <= FEW_LEAVES else LEAST
    tall, names = pitch * len(figure.leaves), room(figure.leaves, LEAF_NAMES)
    high = apart(0.0, max(merge.height for merge in figure.merges))[1]
    x = Axis(0.0, high, names + 4, WIDTH - 12)
    parts = columns(x, axis_ticks(x, 5), tall, figure.x)
    branches: list[Branch] = [Branch(x.start, 0.0, ())] * len(figure.leaves)
    short = distinct_names(figure.leaves)
    for place, leaf in enumerate(figure.order):
        name, y = figure.leaves[leaf], pitch * (place + 0.5)
        branches[leaf] = Branch(x.start, y, (name,))
        parts.append(row_name(name, names - 4, y + 3.6, short[leaf]))
    for merge in figure.merges:
        one, other = branches[merge.left], branches[merge.right]
        at = x(merge.height)
        parts.append(_joined(figure, one, other, at, merge.height))
        branches.append(Branch(at, (one.y + other.y) / 2, (*one.leaves, *other.leaves)))
    kind = "chart tree" if pitch == LEAF else "chart tree dense"
    return drawing(WIDTH, tall + 42, parts, label_of(figure), kind=kind)


def label_of(figure: Dendrogram) -> str:
    """Return a tree in words: which branches are joined last."""
    last = figure.merges[-1]
    one, other = (listed(_leaves(figure, side), SPOKEN_LEAVES, 1) for side in last[:2])
    return (
        f"{figure.title}: tree of {len(figure.leaves)}; joined last, at {number(last.height)}: "
        f"{one}, and {other}"
    )


def _leaves(figure: Dendrogram, branch: int) -> tuple[str, ...]:
    """Return the names below a branch."""
    names, waiting = list[str](), [branch]
    while waiting:
        at = waiting.pop() - len(figure.leaves)
        if at < 0:
            names.append(figure.leaves[at + len(figure.leaves)])
        else:
            waiting += [figure.merges[at].right, figure.merges[at].left]
    return tuple(names)


def _joined(figure: Dendrogram, one: Branch, other: Branch, at: float, height: float) -> str:
    """Draw the lines of a merge, with broad ones for the pointer."""
    d = f"M{one.x:.1f} {one.y:.1f}H{at:.1f}V{other.y:.1f}H{other.x:.1f}"
    first, second = (listed(branch.leaves, SPOKEN_LEAVES, 1) for branch in (one, other))
    words = f"{first}  with  {second}: {figure.x} {number(height)}"
    wide = [tag("path", d=d, class_="reach")] if len(figure.leaves) <= FEW_LEAVES else []
    return tag("g", title(words), *wide, tag("path", d=d), class_="branch")
