"""Representations in a plane, and as a tree, by how they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.extras import import_optional
from ..comparison import arrangements
from ..comparison.arrangements import PlaneEmbedding, layers_by_model
from ..comparison.comparison import Comparison, MeasureInfo
from ..contracts._measure import Measure
from ..inference.result import Evidence
from ..report.numbers import format_number
from ..report.svg import place_labels
from ._style import (
    COLUMN_WIDTH_INCHES,
    POINTS_PER_INCH,
    Axes,
    axes_in_style,
    draw_legend,
    escape_matplotlib_name,
    escape_matplotlib_names,
    estimate_text_width,
    figure_width,
    font_size_points,
    matplotlib_setting,
    series_style,
)
from .arguments import comparison_and_evidence, measure_to_plot

MAX_LABELED_POINTS = 60  # points that are named
LEAF_INCHES = 0.135  # inches of a leaf


def mds(
    comparison: Comparison | Evidence,
    measure: str | Measure | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw all representations as points whose distances show how they differ; return the axes.

    By classical multidimensional scaling. The layers of a model are joined and numbered in order.
    The title gives how much of all differences the plane shows.

    Parameters
    ----------
    comparison : a comparison or an evidence of all pairs of one list.
    measure : which of its measures; may be left out where there is one.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``KeyError`` for a measure that the comparison has not, and ``ValueError`` for what is no
    comparison, for one list against another, and for fewer than three representations.
    """
    data, _ = comparison_and_evidence("mds", comparison)
    info = measure_to_plot("mds", data, measure)
    plane = arrangements.plane_embedding(data, info.spec)
    models = layers_by_model(plane.names)
    side = figure_width() or COLUMN_WIDTH_INCHES
    with axes_in_style(ax, side, side) as chosen:
        handles = [_draw_model_path(chosen, plane, i, at) for i, at in enumerate(models.values())]
        if len(models) > 1:
            draw_legend(chosen, handles, [name or "other" for name in models])
        chosen.set_title(_plane_axis_label(info, plane, len(data.rows) - len(plane.names)))
        chosen.set_aspect("equal", adjustable="datalim")
        chosen.set(xticks=[], yticks=[])
        chosen.margins(0.08)
        chosen.spines[:].set_visible(False)
        if len(plane.names) <= MAX_LABELED_POINTS:
            _label_points(chosen, plane, list(models.values()))
    return chosen


def _plane_axis_label(info: MeasureInfo, plane: PlaneEmbedding, left_out: int) -> str:
    """Say how much of the differences the plane shows, and of how many representations none."""
    more = f"\n({left_out} without some value left out)" if left_out else ""
    return (
        f"{escape_matplotlib_name(info.title)}: {100 * plane.share:.0f} % of the differences "
        f"shown{more}"
    )


def _draw_model_path(ax: Axes, plane: PlaneEmbedding, i: int, at: list[int]) -> Any:
    """Draw the layers of a model in their order, or single representations."""
    points, names = plane.points[at], [plane.names[k] for k in at]
    is_model = "/" in names[0]
    color, mark, dash = series_style(i)
    style = {"color": color, "marker": mark, "linestyle": dash if is_model else "none"}
    edge = {"markeredgecolor": matplotlib_setting("axes.facecolor"), "markeredgewidth": 0.5}
    (line,) = ax.plot(*points.T, linewidth=0.9, markersize=5, **style, **edge)
    return line


def _label_points(ax: Axes, plane: PlaneEmbedding, models: list[list[int]]) -> None:
    """Write the numbers of layers, or names, where they cover neither points nor each other."""
    texts, colors = dict[int, str](), dict[int, Any]()
    short = escape_matplotlib_names(plane.names, 20)
    for i, at in enumerate(models):
        is_model = "/" in plane.names[at[0]]
        texts |= {j: str(k + 1) if is_model else short[j] for k, j in enumerate(at)}
        colors |= dict.fromkeys(at, series_style(i)[0])
    ax.apply_aspect()
    size, unit = 0.85 * font_size_points("legend.fontsize"), POINTS_PER_INCH / ax.figure.dpi
    points = unit * ax.transData.transform(plane.points) * (1, -1)  # down, as on a page
    (left, low), (right, high) = unit * ax.bbox.get_points()
    order = sorted(texts)
    widths = [estimate_text_width(texts[j], size) for j in order]
    box = (left - size, -high - size, right + 4 * size, -low + size)
    places = place_labels([tuple(points[j]) for j in order], widths, size, box)
    for j, width, place in zip(order, widths, places):
        if place is not None:
            start, middle, is_led = place
            x, y = points[j]
            end = min(max(x, start), start + width)
            style = {"fontsize": size, "color": colors[j], "textcoords": "offset points"}
            offset = (start - x, y - middle)
            ax.annotate(texts[j], plane.points[j], xytext=offset, va="center", **style)
            if is_led:
                arrow = {"arrowstyle": "-", "linewidth": 0.4, "color": colors[j], "shrinkB": 0}
                style = {"textcoords": "offset points", "arrowprops": arrow}
                ax.annotate("", plane.points[j], xytext=(end - x, y - middle), **style)


def tree(
    comparison: Comparison | Evidence,
    measure: str | Measure | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw all representations as the leaves of a tree that joins the most similar first; return
    the axes.

    By average linkage: two branches meet at the mean difference between their leaves.

    Parameters
    ----------
    comparison : a comparison or an evidence of all pairs of one list.
    measure : which of its measures; may be left out where there is one.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises as :func:`mds` does.
    """
    data, _ = comparison_and_evidence("tree", comparison)
    info = measure_to_plot("tree", data, measure)
    branches = arrangements.linkage_tree(data, info.spec)
    names = [branches.names[i] for i in branches.order]
    room = estimate_text_width("m" * min(max(map(len, names)), 32), 7) / POINTS_PER_INCH
    with axes_in_style(
        ax, max(COLUMN_WIDTH_INCHES, room + 1.9), 0.45 + LEAF_INCHES * len(names)
    ) as chosen:
        _draw_branches(chosen, branches.merges, branches.order)
        _label_leaves(chosen, names, list(layers_by_model(branches.names)))
        chosen.set_xlabel(_difference_axis_label(info))
        chosen.spines[["left", "right", "top"]].set_visible(False)
    return chosen


def _draw_branches(ax: Axes, merges: np.ndarray, order: tuple[int, ...]) -> None:
    """Draw a bracket for each merge, between the places of its two branches."""
    places = {leaf: (float(row), 0.0) for row, leaf in enumerate(order)}
    lines = []
    for k, (one, other, height, _) in enumerate(merges):
        (y, x), (other_y, other_x) = places[int(one)], places[int(other)]
        lines.append([(x, y), (height, y), (height, other_y), (other_x, other_y)])
        places[len(order) + k] = (y + other_y) / 2, float(height)
    collection = import_optional("matplotlib.collections").LineCollection
    ax.add_collection(collection(lines, colors=matplotlib_setting("text.color"), linewidths=0.9))
    highest = float(merges[:, 2].max()) or 1.0
    ax.set(xlim=(1.03 * highest, 0.0), ylim=(len(order) - 0.5, -0.5))


def _label_leaves(ax: Axes, names: list[str], models: list[str]) -> None:
    """Name the leaves at the right, those of a model in its colour and with its mark."""
    size = min(font_size_points("ytick.labelsize"), 8.5)
    ax.set_yticks(range(len(names)), escape_matplotlib_names(names), fontsize=size)
    ax.yaxis.tick_right()
    ax.tick_params("y", length=0, pad=7)
    for row, (label, name) in enumerate(zip(ax.get_yticklabels(), names)):
        model = name.rpartition("/")[0]
        if len(models) > 1:
            color, mark, _ = series_style(models.index(model))
            label.set_color(color)
            ax.plot([0], [row], marker=mark, color=color, markersize=3.5, clip_on=False)


def _difference_axis_label(info: MeasureInfo) -> str:
    if not info.larger_is_more_similar:
        return f"difference: {info.title}"
    most = info.range[1]
    return (
        f"difference: {format_number(most)} − {info.title}" if np.isfinite(most) else "difference"
    )
