"""Dendrograms as inline SVG."""

from __future__ import annotations

from typing import NamedTuple

from ..base.formatting import format_number, list_names
from ..sections.figures import Dendrogram
from .svg import (
    EMPTY_FIGURE_HTML,
    AxisScale,
    axis_ticks,
    name_column_width,
    row_name_svg,
    separated_ends,
    shorten_distinct_names,
    svg_element,
    svg_figure,
    svg_title,
    vertical_grid,
)

DIAGRAM_WIDTH = 480.0


# Heights of a leaf in a tree with few and with many leaves
LEAF_HEIGHT, MIN_LEAF_HEIGHT = 17.0, 10.5
MAX_LEAVES_AT_FULL_HEIGHT = 40
LEAF_NAME_MARGIN = 190.0  # room for names at the left
MAX_LEAVES_IN_TOOLTIP = 3  # names below a branch; more names are only counted


class Branch(NamedTuple):
    """A leaf or a merge in the drawing: its position in pixels (x for the height of the merge, y
    for the row), and the names of the leaves below."""

    x: float
    y: float
    leaves: tuple[str, ...]


def dendrogram_svg(figure: Dendrogram) -> str:
    """Return a dendrogram as SVG: two branches meet at the height of their merge. With fewer than
    two leaves, return a note."""
    if len(figure.leaves) < 2:
        return EMPTY_FIGURE_HTML
    pitch = LEAF_HEIGHT if len(figure.leaves) <= MAX_LEAVES_AT_FULL_HEIGHT else MIN_LEAF_HEIGHT
    height, names = pitch * len(figure.leaves), name_column_width(figure.leaves, LEAF_NAME_MARGIN)
    high = separated_ends(0.0, max(merge.height for merge in figure.merges))[1]
    x = AxisScale(0.0, high, names + 4, DIAGRAM_WIDTH - 12)
    parts = vertical_grid(x, axis_ticks(x, 5), height, figure.x)
    branches: list[Branch] = [Branch(x.start, 0.0, ())] * len(figure.leaves)
    short_names = shorten_distinct_names(figure.leaves)
    for place, leaf in enumerate(figure.order):
        name, y = figure.leaves[leaf], pitch * (place + 0.5)
        branches[leaf] = Branch(x.start, y, (name,))
        parts.append(row_name_svg(name, names - 4, y + 3.6, short_names[leaf]))
    for merge in figure.merges:
        left, right = branches[merge.left], branches[merge.right]
        x_merge = x(merge.height)
        parts.append(_merge_lines(figure, left, right, x_merge, merge.height))
        branches.append(Branch(x_merge, (left.y + right.y) / 2, (*left.leaves, *right.leaves)))
    kind = "chart tree" if pitch == LEAF_HEIGHT else "chart tree dense"
    return svg_figure(DIAGRAM_WIDTH, height + 42, parts, describe_tree(figure), kind=kind)


def describe_tree(figure: Dendrogram) -> str:
    """Return a dendrogram in words: the number of leaves, and the leaves of the two branches of the
    last merge."""
    last_merge = figure.merges[-1]
    left, right = (
        list_names(_leaf_names(figure, side), MAX_LEAVES_IN_TOOLTIP) for side in last_merge[:2]
    )
    return (
        f"{figure.title}: tree of {len(figure.leaves)}; joined last, at "
        f"{format_number(last_merge.height)}: {left}, and {right}"
    )


def _leaf_names(figure: Dendrogram, branch: int) -> tuple[str, ...]:
    """Return the names of the leaves below a branch: a leaf by its number, a merge by the number of
    leaves plus its index."""
    names, waiting = list[str](), [branch]
    while waiting:
        index = waiting.pop() - len(figure.leaves)
        if index < 0:
            names.append(figure.leaves[index + len(figure.leaves)])
        else:
            waiting += [figure.merges[index].right, figure.merges[index].left]
    return tuple(names)


def _merge_lines(
    figure: Dendrogram, left: Branch, right: Branch, x_merge: float, height: float
) -> str:
    """Return the lines of a merge as SVG, with wide invisible lines for the pointer unless leaves
    are many.

    ``left``, ``right``: the merged branches. ``x_merge``: the place of the merge in pixels.
    ``height``: the height of the merge, for the tooltip.
    """
    d = f"M{left.x:.1f} {left.y:.1f}H{x_merge:.1f}V{right.y:.1f}H{right.x:.1f}"
    left_names, right_names = (
        list_names(branch.leaves, MAX_LEAVES_IN_TOOLTIP) for branch in (left, right)
    )
    words = f"{left_names}  with  {right_names}: {figure.x} {format_number(height)}"
    if len(figure.leaves) <= MAX_LEAVES_AT_FULL_HEIGHT:
        reach_lines = [svg_element("path", d=d, class_="reach")]
    else:
        reach_lines = []
    return svg_element(
        "g", svg_title(words), *reach_lines, svg_element("path", d=d), class_="branch"
    )
