"""Critical-difference diagrams: measures on an axis of mean ranks, with bars over tied measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.formatting import count_with_noun
from ..report.diagrams import tie_bar_levels
from ..sections.figures import Diagram
from ..sections.result import Result
from ..sections.standing import tie_diagram
from ..significance import SETTLING, Places
from ._style import (
    COLUMN_WIDTH_INCHES,
    POINTS_PER_INCH,
    Axes,
    axes_in_style,
    escape_matplotlib_name,
    escape_matplotlib_names,
    estimate_text_width,
    matplotlib_setting,
)

# Height of a name, of a tie bar, and of the area above the axis
NAME_ROW_INCHES, TIE_BAR_INCHES, ABOVE_AXIS_INCHES = 0.16, 0.075, 0.5


def critical_difference(
    result: Result | Places, *, labels: Mapping[str, str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a critical-difference diagram: measures on an axis of mean ranks, with bars over ties;
    return the axes.

    A bar joins measures without any significant difference: the simultaneous 95 % intervals of all
    differences contain 0 (:func:`resemblance.significance.places`). As in Demšar 2006, the better
    half is at the left. Unlike there, the distance that makes a difference significant varies
    between pairs.

    Parameters
    ----------
    result : the return value of a suite or of :func:`resemblance.bench.combine`, or places.
    labels : the usual name of each measure, by specification; by default the labels of the result.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result, for a trial, and with fewer than two
    measures or too few tasks to separate any measures.
    """
    return paint_diagram(_diagram_from_result(result, labels), ax)


def paint_diagram(figure: Diagram, ax: Axes | None = None) -> Axes:
    """Paint a critical-difference diagram in a new figure or in ``ax``; return the axes."""
    better = (len(figure.names) + 1) // 2
    levels = tie_bar_levels(figure.groups)
    bars = TIE_BAR_INCHES * (max(levels, default=-1) + 2)
    sides = figure.names[:better], figure.names[better:]
    room = sum(
        max(estimate_text_width(escape_matplotlib_name(name), 7) for name in side) / POINTS_PER_INCH
        for side in sides
    )
    height = bars + NAME_ROW_INCHES * (better + 0.5)
    with axes_in_style(
        ax, max(COLUMN_WIDTH_INCHES, room + 1.8), ABOVE_AXIS_INCHES + height
    ) as axes:
        _format_top_axis(axes, figure, height)
        for i in range(len(figure.names)):
            row = i if i < better else len(figure.names) - 1 - i
            _draw_measure_arm(
                axes, figure, i, -bars - NAME_ROW_INCHES * (row + 0.5), is_left=i < better
            )
        for (first, last), level in zip(figure.groups, levels):
            ends = figure.values[first], figure.values[last]
            style = {"linewidth": 2.6, "solid_capstyle": "round", "zorder": 3}
            y = -TIE_BAR_INCHES * (level + 1)
            axes.plot(ends, (y, y), color=matplotlib_setting("text.color"), **style)
    return axes


def _diagram_from_result(result: Any, labels: Mapping[str, str] | None) -> Diagram:
    """Return the diagram stored in a result, or a diagram of its ranking."""
    if isinstance(result, Result):
        if result.is_trial:
            raise ValueError(
                f"plot.critical_difference: this run of {result.suite} is a trial, which orders "
                "nothing; run a larger size"
            )
        figures = [figure for section in result.sections for figure in section.figures]
        stored = [figure for figure in figures if isinstance(figure, Diagram)]
        if stored and labels is None:
            return stored[0]
        labels = result.labels if labels is None else labels
        result = result.places()
    if not isinstance(result, Places):
        raise ValueError(
            "plot.critical_difference draws the Result of a suite, or Places; got "
            f"{type(result).__name__}"
        )
    figure = tie_diagram(result, labels or {})
    if figure is None:
        raise ValueError(
            f"plot.critical_difference needs two measures and {SETTLING} cells; got "
            f"{count_with_noun(len(result.rows), 'measure')} and "
            f"{count_with_noun(result.cells, 'cell')}"
        )
    return figure


def _format_top_axis(ax: Axes, figure: Diagram, height: float) -> None:
    """Put the axis on top, with room at the two ends."""
    low, high = figure.values[0], figure.values[-1]
    slack = 0.04 * (high - low) or 0.5
    ax.set_xlim(low - slack, high + slack)
    ax.set_ylim(-height, 0.0)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel(figure.x)
    ax.set_yticks([])
    for side in ("left", "right", "bottom"):
        ax.spines[side].set_visible(False)
    ax.spines["top"].set_visible(True)


def _draw_measure_arm(ax: Axes, figure: Diagram, i: int, y: float, *, is_left: bool) -> None:
    """Draw the line from a value down to its name."""
    value, end = figure.values[i], ax.get_xlim()[0 if is_left else 1]
    ax.plot((value, value, end), (0.0, y, y), color=matplotlib_setting("text.color"), linewidth=0.7)
    name = escape_matplotlib_names(figure.names)[i]
    ax.annotate(
        f"{name} {value:.2f}" if is_left else f"{value:.2f} {name}",
        (end, y),
        xytext=(-3 if is_left else 3, 0),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va="center",
        fontsize=matplotlib_setting("xtick.labelsize"),
        annotation_clip=False,
    )
