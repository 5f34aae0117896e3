"""Representations in a plane, and as a tree, according to their dissimilarities."""

from __future__ import annotations

from typing import Any

from ..base.extras import import_optional
from ..comparison import arrangements
from ..comparison.arrangements import layers_by_model
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure
from ..inference.result import Evidence
from ..report.charts import finite_points
from ..report.comparing.figures import difference_in_measure, plane_chart, tree_figure
from ..report.svg import place_labels
from ..sections.figures import Chart, Dendrogram, Line
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
from .arguments import page_context_to_plot

MAX_LABELED_POINTS = 60  # points with labels
LEAF_INCHES = 0.135  # height of a leaf


def mds(
    comparison: Comparison | Evidence,
    measure: str | Measure | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw all representations as points; distances approximate dissimilarities; return the axes.

    The method is classical multidimensional scaling. The layers of a model are joined and numbered
    in order. The title states the share of all differences that the plane shows.

    Parameters
    ----------
    comparison : a comparison or an evidence of all pairs of one list.
    measure : the measure to draw; optional if there is a single measure.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``KeyError`` for a measure missing from the comparison, and ``ValueError`` for any other
    type of result, for a comparison of two lists, and for fewer than three representations.
    """
    context = page_context_to_plot("mds", comparison, measure)
    info, n_all = context.leading, len(context.comparison.rows)
    plane = arrangements.plane_embedding(context.comparison, info.spec)
    n_omitted = n_all - len(plane.names)
    title = (
        f"{escape_matplotlib_name(context.label(info))}: {100 * plane.share:.0f} % of the "
        "differences shown"
    )
    title += f"\n({n_omitted} without some value left out)" if n_omitted else ""
    return paint_plane(plane_chart(plane, n_omitted), ax, title=title)


def paint_plane(chart: Chart, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Paint a plane, with the same scale on the two axes, in a new figure or in ``ax``; return the
    axes. ``title``: in place of the title of the chart.

    With up to 60 points, joined points are numbered and other points are named.
    """
    side = figure_width() or COLUMN_WIDTH_INCHES
    with axes_in_style(ax, side, side) as axes:
        handles = [_draw_layer_path(axes, chart, i) for i in range(len(chart.lines))]
        if len(handles) > 1:
            draw_legend(axes, handles, [line.name for line in chart.lines])
        axes.set_title(title or chart.title)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xticks=[], yticks=[])
        axes.margins(0.08)
        axes.spines[:].set_visible(False)
        if sum(len(finite_points(line).points) for line in chart.lines) <= MAX_LABELED_POINTS:
            _label_plane_points(axes, chart)
    return axes


def _is_path(chart: Chart, line: Line) -> bool:
    """Return whether the points of a line are joined, as are the layers of a model, without
    gaps."""
    return chart.joined and len(finite_points(line).points) == len(line.points)


def _draw_layer_path(ax: Axes, chart: Chart, i: int) -> Any:
    """Draw line ``i`` of a chart, from 0: the layers of a model in order, or single
    representations; return the matplotlib line."""
    line = chart.lines[i]
    color, mark, dash = series_style(i)
    style = {"color": color, "marker": mark, "linestyle": dash if _is_path(chart, line) else "none"}
    edge = {"markeredgecolor": matplotlib_setting("axes.facecolor"), "markeredgewidth": 0.5}
    (path,) = ax.plot(*zip(*line.points), linewidth=0.9, markersize=5, **style, **edge)
    return path


def _label_plane_points(ax: Axes, chart: Chart) -> None:
    """Write layer numbers, or names, where a label covers neither points nor other labels."""
    lines = [finite_points(line) for line in chart.lines]
    names = [title for line in lines for title in line.titles]
    short_names = dict(zip(names, escape_matplotlib_names(names, 20)))
    labels = [
        (point, str(k + 1) if _is_path(chart, chart.lines[i]) else short_names[line.titles[k]], i)
        for i, line in enumerate(lines)
        for k, point in enumerate(line.points)
    ]
    ax.apply_aspect()
    size, unit = 0.85 * font_size_points("legend.fontsize"), POINTS_PER_INCH / ax.figure.dpi
    points = unit * ax.transData.transform([point for point, _, _ in labels])
    points *= (1, -1)  # y points down, as on a page
    (left, low), (right, high) = unit * ax.bbox.get_points()
    widths = [estimate_text_width(text, size) for _, text, _ in labels]
    box = (left - size, -high - size, right + 4 * size, -low + size)
    places = place_labels([tuple(point) for point in points], widths, size, box)
    for (point, text, i), (x, y), width, place in zip(labels, points, widths, places):
        if place is not None:
            start, middle, is_led = place
            color = series_style(i).color
            end = min(max(x, start), start + width)
            style = {"fontsize": size, "color": color, "textcoords": "offset points"}
            ax.annotate(text, point, xytext=(start - x, y - middle), va="center", **style)
            if is_led:
                arrow = {"arrowstyle": "-", "linewidth": 0.4, "color": color, "shrinkB": 0}
                style = {"textcoords": "offset points", "arrowprops": arrow}
                ax.annotate("", point, xytext=(end - x, y - middle), **style)


def tree(
    comparison: Comparison | Evidence,
    measure: str | Measure | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw all representations as the leaves of a tree that joins the most similar first; return
    the axes.

    The method is average linkage: two branches meet at the mean difference between their leaves.

    Parameters
    ----------
    comparison : a comparison or an evidence of all pairs of one list.
    measure : the measure to draw; optional if there is a single measure.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises the same errors as :func:`mds`.
    """
    context = page_context_to_plot("tree", comparison, measure)
    info = context.leading
    branches = arrangements.linkage_tree(context.comparison, info.spec)
    difference = difference_in_measure(info, context.label(info))
    return paint_tree(tree_figure(branches, f"difference: {difference}"), ax)


def paint_tree(figure: Dendrogram, ax: Axes | None = None) -> Axes:
    """Paint a tree in a new figure or in ``ax``; return the axes.

    If there are several models, the leaves of a model, named ``model/layer``, share a colour and a
    marker.
    """
    names = [figure.leaves[i] for i in figure.order]
    room = estimate_text_width("m" * min(max(map(len, names)), 32), 7) / POINTS_PER_INCH
    with axes_in_style(
        ax, max(COLUMN_WIDTH_INCHES, room + 1.9), 0.45 + LEAF_INCHES * len(names)
    ) as axes:
        _draw_branches(axes, figure)
        _label_leaves(axes, names, list(layers_by_model(figure.leaves)))
        axes.set_xlabel(figure.x)
        axes.spines[["left", "right", "top"]].set_visible(False)
    return axes


def _draw_branches(ax: Axes, figure: Dendrogram) -> None:
    """Draw a bracket for each merge, between the positions of the two branches."""
    places = {leaf: (float(row), 0.0) for row, leaf in enumerate(figure.order)}
    lines = []
    for k, (left, right, height) in enumerate(figure.merges):
        (y, x), (other_y, other_x) = places[left], places[right]
        lines.append([(x, y), (height, y), (height, other_y), (other_x, other_y)])
        places[len(figure.order) + k] = (y + other_y) / 2, height
    collection = import_optional("matplotlib.collections").LineCollection
    ax.add_collection(collection(lines, colors=matplotlib_setting("text.color"), linewidths=0.9))
    highest = max(merge.height for merge in figure.merges) or 1.0
    ax.set(xlim=(1.03 * highest, 0.0), ylim=(len(figure.order) - 0.5, -0.5))


def _label_leaves(ax: Axes, names: list[str], models: list[str]) -> None:
    """Name the leaves at the right, with several models in the colour and with the marker of the
    model. ``names``: the leaves from the top. ``models``: the names of all models."""
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
