"""Trees of names that are joined step by step, as inline SVG: leaves at the left, heights right."""

from __future__ import annotations

from typing import NamedTuple

from ..results.figures import Dendrogram
from .numbers import listed, number
from .svg import (
    NOTHING,
    Axis,
    apart,
    axis_ticks,
    columns,
    drawing,
    room,
    shortened,
    tag,
    text,
    title,
)

WIDTH = 480.0
LEAF, LEAST = 17.0, 10.5  # heights of a leaf: of few leaves, of many
FEW = 40  # leaves
NAMES = 190.0  # room at the left
SPOKEN = 3  # names of a branch that the pointer reads; more are counted


class Branch(NamedTuple):
    """A leaf or a merge where it is drawn: its height, its place, and its leaves."""

    x: float
    y: float
    leaves: tuple[str, ...]


def dendrogram(figure: Dendrogram) -> str:
    """Draw a tree: two branches meet at the height at which they are joined."""
    if len(figure.leaves) < 2:
        return NOTHING
    pitch = LEAF if len(figure.leaves) <= FEW else LEAST
    tall, names = pitch * len(figure.leaves), room(figure.leaves, NAMES)
    high = apart(0.0, max(merge.height for merge in figure.merges))[1]
    x = Axis(0.0, high, names + 4, WIDTH - 12)
    parts = columns(x, axis_ticks(x, 5), tall, figure.x)
    branches: list[Branch] = [Branch(x.start, 0.0, ())] * len(figure.leaves)
    for place, leaf in enumerate(figure.order):
        name, y = figure.leaves[leaf], pitch * (place + 0.5)
        branches[leaf] = Branch(x.start, y, (name,))
        parts.append(_leaf(name, names - 4, y + 3.6))
    for merge in figure.merges:
        one, other = branches[merge.left], branches[merge.right]
        at = x(merge.height)
        parts.append(_joined(figure, one, other, at, merge.height))
        branches.append(Branch(at, (one.y + other.y) / 2, (*one.leaves, *other.leaves)))
    kind = "chart tree" if pitch == LEAF else "chart tree dense"
    return drawing(WIDTH, tall + 42, parts, label_of(figure), class_=kind)


def _leaf(name: str, x: float, y: float) -> str:
    """Write a name; of one that is cut, the pointer reads all."""
    short = shortened(name)
    words = text(short, round(x, 1), round(y, 1), class_="end name")
    return words if short == name else tag("g", title(name), words)


def label_of(figure: Dendrogram) -> str:
    """Return a tree in words: which branches are joined last."""
    last = figure.merges[-1]
    one, other = (listed(_leaves(figure, side), SPOKEN, 1) for side in last[:2])
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
    first, second = (listed(branch.leaves, SPOKEN, 1) for branch in (one, other))
    words = f"{first}  with  {second}: {figure.x} {number(height)}"
    wide = [tag("path", d=d, class_="reach")] if len(figure.leaves) <= FEW else []
    return tag("g", title(words), *wide, tag("path", d=d), class_="branch")
