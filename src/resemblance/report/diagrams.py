"""Critical-difference diagrams, with bars over tied names, and dendrograms, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..base.formatting import decimals_for_column, format_decimals, format_number, list_names
from ..sections.figures import Dendrogram, Diagram
from .svg import (
    EMPTY_FIGURE_HTML,
    AxisScale,
    axis_numbers,
    axis_ticks,
    name_column_width,
    row_name_svg,
    separated_ends,
    shorten_distinct_names,
    svg_element,
    svg_figure,
    svg_text,
    svg_title,
    vertical_grid,
)

DIAGRAM_WIDTH = 480.0
NAME_MARGIN, NUMBER_MARGIN = 150.0, 40.0  # room for a name and for a number, on each side
NAME_ROW_HEIGHT, TIE_BAR_SPACING = 16.0, 7.0  # heights of a name and a bar
AXIS_AREA_HEIGHT = 36.0  # height of the area above the axis
MAX_DIAGRAM_NAME_LENGTH = 22  # characters of a name
MAX_NAMES_IN_TOOLTIP = 6  # names under a bar; more names are only counted


def critical_difference_svg(figure: Diagram) -> str:
    """Draw a critical-difference diagram: names at two sides, the better half at the left, and a
    line from each name to its value."""
    count = len(figure.names)
    if not count:
        return EMPTY_FIGURE_HTML
    better = (count + 1) // 2
    sides = figure.names[:better], figure.names[better:]
    left, right = (name_column_width(side, NAME_MARGIN) + NUMBER_MARGIN for side in sides)
    x = AxisScale(
        *separated_ends(min(figure.values), max(figure.values)), left + 8, DIAGRAM_WIDTH - right - 8
    )
    levels = tie_bar_levels(figure.groups)
    top = AXIS_AREA_HEIGHT + TIE_BAR_SPACING * (max(levels, default=-1) + 1) + NAME_ROW_HEIGHT
    parts = _rank_axis(figure, x)
    names = shorten_distinct_names(figure.names, MAX_DIAGRAM_NAME_LENGTH)
    for i in range(count):
        row = i if i < better else count - 1 - i
        parts.append(
            _measure_arm(figure, i, names[i], x, top + NAME_ROW_HEIGHT * row, is_left=i < better)
        )
    parts += [
        _tie_bar(figure, group, x, AXIS_AREA_HEIGHT + TIE_BAR_SPACING * (level + 1))
        for group, level in zip(figure.groups, levels)
    ]
    return svg_figure(
        DIAGRAM_WIDTH,
        top + NAME_ROW_HEIGHT * better,
        parts,
        _describe_ties(figure),
        kind="chart ties",
    )


def tie_bar_levels(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return the level of every tie bar, so that no two bars touch; level 0 is nearest to the
    axis."""
    ends, levels = list[int](), list[int]()
    for first, last in groups:
        level = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        levels.append(level)
    return levels


def _rank_axis(figure: Diagram, x: AxisScale) -> list[str]:
    tick_values = axis_ticks(x, 6)
    ticks = "".join(
        f"M{x(t):.1f} {AXIS_AREA_HEIGHT - 5:g}V{AXIS_AREA_HEIGHT:g}" for t in tick_values
    )
    line = svg_element(
        "path", d=f"M{x.start:.1f} {AXIS_AREA_HEIGHT:g}H{x.end:.1f}{ticks}", class_="grid zero"
    )
    middle = round((x.start + x.end) / 2, 1)
    return [
        line,
        *axis_numbers(x, tick_values, AXIS_AREA_HEIGHT - 9),
        svg_text(figure.x, middle, 11, class_="mid axis"),
    ]


def _are_tied(figure: Diagram, i: int, j: int) -> bool:
    """Return whether a tie bar joins two different names."""
    low, high = min(i, j), max(i, j)
    return i != j and any(first <= low and high <= last for first, last in figure.groups)


def _measure_arm(
    figure: Diagram, i: int, short_name: str, x: AxisScale, y: float, *, is_left: bool
) -> str:
    """Draw the line from a value down to the name, with the number beside the name."""
    name, value, x_value = figure.names[i], figure.values[i], x(figure.values[i])
    end = x.start - 6 if is_left else x.end + 6
    d = f"M{x_value:.1f} {AXIS_AREA_HEIGHT:g}V{y:g}H{end:.1f}"
    text = format_decimals(value, decimals_for_column(figure.values))
    kind, sign = ("end", -1) if is_left else ("start", 1)
    words = f"{name}: {figure.x} {format_number(value)}"
    tied_names = [figure.names[j] for j in range(len(figure.names)) if _are_tied(figure, i, j)]
    words += (
        f"; not told from {list_names(tied_names, MAX_NAMES_IN_TOOLTIP)}"
        if tied_names
        else "; told from all others"
    )
    return svg_element(
        "g",
        svg_title(words),
        svg_element("path", d=d, class_="reach"),
        svg_element("path", d=d),
        svg_text(text, round(end + sign * 3, 1), y + 3.5, class_=kind),
        svg_text(short_name, round(end + sign * NUMBER_MARGIN, 1), y + 3.5, class_=f"{kind} name"),
        class_="branch arm",
    )


def _tie_bar(figure: Diagram, group: tuple[int, int], x: AxisScale, y: float) -> str:
    first, last = group
    d = f"M{x(figure.values[first]) - 3:.1f} {y:g}H{x(figure.values[last]) + 3:.1f}"
    words = (
        "no two can be told apart: "
        f"{list_names(figure.names[first : last + 1], MAX_NAMES_IN_TOOLTIP)}"
    )
    return svg_element("g", svg_title(words), svg_element("path", d=d), class_="branch tie")


def _describe_ties(figure: Diagram) -> str:
    """Describe a diagram in words: the names under every tie bar."""
    group_texts = "; ".join(
        list_names(figure.names[a : b + 1], MAX_NAMES_IN_TOOLTIP) for a, b in figure.groups
    )
    return f"{figure.title}: {figure.x} of {len(figure.names)}; {group_texts or 'none are joined'}"


# Heights of a leaf in a tree with few and with many leaves
LEAF_HEIGHT, MIN_LEAF_HEIGHT = 17.0, 10.5
MAX_LEAVES_AT_FULL_HEIGHT = 40
LEAF_NAME_MARGIN = 190.0  # room for names at the left
MAX_LEAVES_IN_TOOLTIP = 3  # names below a branch; more names are only counted


class Branch(NamedTuple):
    """A leaf or a merge in the drawing: height (x), row (y), and names of the leaves below."""

    x: float
    y: float
    leaves: tuple[str, ...]


def dendrogram_svg(figure: Dendrogram) -> str:
    """Draw a dendrogram: two branches meet at the height of their merge."""
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
    """Describe a dendrogram in words: the two branches of the last merge."""
    last_merge = figure.merges[-1]
    left, right = (
        list_names(_leaf_names(figure, side), MAX_LEAVES_IN_TOOLTIP) for side in last_merge[:2]
    )
    return (
        f"{figure.title}: tree of {len(figure.leaves)}; joined last, at "
        f"{format_number(last_merge.height)}: {left}, and {right}"
    )


def _leaf_names(figure: Dendrogram, branch: int) -> tuple[str, ...]:
    """Return the names of the leaves below a branch."""
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
    """Draw the lines of a merge, with wide invisible lines for the pointer unless leaves are
    many."""
    d = f"M{left.x:.1f} {left.y:.1f}H{x_merge:.1f}V{right.y:.1f}H{right.x:.1f}"
    left_names, right_names = (
        list_names(branch.leaves, MAX_LEAVES_IN_TOOLTIP) for branch in (left, right)
    )
    words = f"{left_names}  with  {right_names}: {figure.x} {format_number(height)}"
    reach_lines = (
        [svg_element("path", d=d, class_="reach")]
        if len(figure.leaves) <= MAX_LEAVES_AT_FULL_HEIGHT
        else []
    )
    return svg_element(
        "g", svg_title(words), *reach_lines, svg_element("path", d=d), class_="branch"
    )
