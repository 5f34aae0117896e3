"""Layers of models against each other, by depth."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..base.text import check_choice, did_you_mean
from ..comparison.arrangements import DepthCurve, best_matches, equal_depth_curves, layers_by_model
from ..comparison.comparison import Comparison, MeasureInfo
from ..contracts._measure import Measure
from ..engine._scale_curve import ScaleCurve
from ..inference.result import Evidence
from ..report.comparing.figures import (
    CHANCE_DIAGNOSTIC,
    has_relative_depth,
    layer_lines,
    mean_chance_line,
)
from ..report.comparing.stats import PageContext
from ..report.svg import shorten_distinct_names, shorten_name
from ..sections.figures import Chart, Line
from ._style import (
    COLUMN_WIDTH_INCHES,
    LEGEND_ABOVE,
    POINTS_PER_INCH,
    SLATE_GRAY,
    Axes,
    axes_in_style,
    draw_legend,
    escape_matplotlib_name,
    escape_matplotlib_names,
    estimate_text_width,
    font_size_points,
    matplotlib_setting,
    series_style,
)
from .arguments import (
    check_result_to_plot,
    measure_axis_label,
    page_context_to_plot,
    reordered_comparison,
)

CHART_HEIGHT_INCHES = 2.3  # without the upright names and the further rows of the legend
LEGEND_LINE_HEIGHT = 1.5  # height of a row of a legend, relative to the font size
MAX_MARKED_POINTS = 24  # a line with more points has markers on some points only
MAX_LEGEND_LINES = 12  # lines named in a legend
# Smallest share of the height that the names below and above leave to the axes
MIN_AXES_HEIGHT_SHARE = 0.7
LOG_SCALE_RATIO = 20  # of the largest to the smallest scale, from which an axis is logarithmic
MAX_NAMED_LAYERS = 13  # layer names along the axis


def layers(
    comparison: Comparison | Evidence,
    measure: str | Measure | None = None,
    *,
    against: str | None = None,
    match: Literal["depth", "best"] = "depth",
    evidence: Evidence | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of a measure between the layers of models, by depth; return the axes.

    Names are ``model/layer``. Dotted lines are chance levels, where known; bands are the intervals
    of an evidence.

    Parameters
    ----------
    comparison : a comparison or an evidence of layers of several models.
    measure : the measure to draw; optional if there is a single measure.
    against : the name of a model; draw it with each other model, along its own layers; by default
        draw every two models.
    match : "depth" compares layers of equal depth, or of the nearest relative depth; "best"
        compares each layer of the first model with the most similar layer of the other model, and
        names the matched layers on one or two lines where there is room.
    evidence : the evidence on the comparison, if ``comparison`` is a comparison.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``KeyError`` for a measure missing from the comparison, and ``ValueError`` for any other
    type of result, for an unknown model, and if no two models can be matched.
    """
    context = page_context_to_plot("layers", comparison, measure, evidence)
    curves = _curves_to_plot(context.comparison, context.leading, against, match)
    chart = _layer_chart(context, curves, against, is_best=match == "best")
    first = curves[0].layers
    ticks = first if all(curve.layers == first for curve in curves) else ()
    return paint_chart(chart, ax, ticks=ticks, unit="pairs of models")


def _curves_to_plot(
    data: Comparison, info: MeasureInfo, against: str | None, match: str
) -> tuple[DepthCurve, ...]:
    check_choice("plot.layers: match", match, ("depth", "best"))
    rows, columns = layers_by_model(data.rows), layers_by_model(data.columns)
    models = [*rows, *(name for name in columns if name not in rows)]
    if against is not None and against not in models:
        raise ValueError(f"plot.layers: no model {against!r}{did_you_mean(against, models)}")
    if against in rows and data.rows == data.columns:
        remaining_layers = (
            i for model, members in rows.items() if model != against for i in members
        )
        data = reordered_comparison(data, info, [*rows[against], *remaining_layers])
    curves = (equal_depth_curves if match == "depth" else best_matches)(data, info.spec)
    curves = tuple(c for c in curves if against in (None, c.model, c.other))
    if not curves:
        counts = ", ".join(f"{model or 'no model'}: {len(i)}" for model, i in rows.items())
        raise ValueError(
            "plot.layers needs two models with several layers named 'model/layer'"
            f"; layers here: {counts}"
        )
    return curves


def _layer_chart(
    context: PageContext, curves: Sequence[DepthCurve], against: str | None, *, is_best: bool
) -> Chart:
    """Return a chart with a line for each of ``curves``, followed by its chance level if known. For
    best matches (``is_best``), the titles of the points are the matched layers. ``against``: the
    model that all curves share, or None."""
    info, is_relative = context.leading, has_relative_depth(curves)
    names, lines = _curve_names(curves, against), list[Line]()
    for curve, line in zip(curves, layer_lines(context, info, curves, names)):
        lines.append(line._replace(titles=curve.partners) if is_best else line)
        dotted = mean_chance_line(context, info, [curve], line.name, is_relative=is_relative)
        lines += [dotted] if dotted else []
    label, _, direction = measure_axis_label(context.comparison, info).rpartition(" (")
    label += f" with {shorten_name(against, 20)}" if against else ""
    axis = "relative depth" if is_relative else "layer"
    return Chart(
        "layers",
        context.label(info),
        axis,
        f"{label} ({direction}",
        tuple(lines),
        is_labeled=is_best,
    )


def _curve_names(curves: Sequence[DepthCurve], against: str | None) -> list[str]:
    """Return a name for each curve: its two models, or with ``against`` the other model."""
    if against is not None:
        return [c.other if c.model == against else c.model for c in curves]
    models = list(dict.fromkeys(m for c in curves for m in (c.model, c.other)))
    short_names = dict(zip(models, shorten_distinct_names(models, 20)))
    return [f"{short_names[c.model]} – {short_names[c.other]}" for c in curves]


def scale_curve(curve: ScaleCurve, *, ax: Axes | None = None) -> Axes:
    """Draw the values of a measure over the scale; return the axes.

    The dotted line is the chance level, where known. The axis of the scale is logarithmic if the
    largest scale is at least 20 times the smallest.

    Parameters
    ----------
    curve : the return value of :func:`resemblance.scale_curve`.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result, and if no scale has a value.
    """
    check_result_to_plot("scale_curve", curve, ScaleCurve)
    points = [point for point in curve.points if not point.reason]
    if not points:
        raise ValueError(f"plot.scale_curve: no scale has a value; {curve.failures[0].reason}")
    name = f"{curve.x} – {curve.y}"
    lines = [Line(name, tuple((p.scale, p.value) for p in points))]
    if chance := tuple((p.scale, p.chance) for p in points if not np.isnan(p.chance)):
        lines.append(Line(CHANCE_DIAGNOSTIC, chance, is_dashed=True))
    direction = "larger" if curve.larger_is_more_similar else "smaller"
    chart = Chart(
        "scale_curve",
        curve.title,
        curve.parameter,
        f"{curve.title} ({direction} = more similar)",
        tuple(lines),
        log_x=points[-1].scale >= LOG_SCALE_RATIO * points[0].scale,
    )
    return paint_chart(chart, ax)


# ------------------------------------------------------------------------------------------ painter


def paint_chart(
    chart: Chart, ax: Axes | None = None, *, ticks: Sequence[str] = (), unit: str = "lines"
) -> Axes:
    """Paint the lines of a chart with their intervals in a new figure or in ``ax``; return the
    axes.

    Dashed lines of the chart, for example of chance, are drawn dotted, in the colour of the line
    with the same name. ``ticks``: the names of the positions 1, 2, ... of the horizontal axis.
    ``unit``: the noun for a count of lines, if a legend has no room for names.
    """
    lines = [line for line in chart.lines if not line.is_dashed]
    with axes_in_style(ax, COLUMN_WIDTH_INCHES, CHART_HEIGHT_INCHES) as axes:
        names_height = _format_horizontal_axis(axes, chart, ticks)
        colors, handles = dict[str, str](), list[Any]()
        for line in chart.lines:
            if line.is_dashed:
                _draw_dotted_line(axes, line, colors.get(line.name, SLATE_GRAY))
            else:
                colors[line.name] = series_style(len(handles)).color
                handles.append(_draw_line(axes, line, len(handles), chart.joined))
        if chart.threshold is not None:
            dashed = {"color": matplotlib_setting("text.color"), "linestyle": (0, (4, 2))}
            axes.axhline(chart.threshold, linewidth=0.9, zorder=1, **dashed)
        if chart.span_y is not None:
            axes.set_ylim(*chart.span_y)
        if chart.is_labeled:
            _label_line_points(axes, lines)
        legend_height = _draw_line_legend(axes, chart, handles, unit)
        _label_value_axis(axes, chart.y)
        if ax is None:
            inches = (names_height + legend_height) / POINTS_PER_INCH
            axes.figure.set_figheight(CHART_HEIGHT_INCHES + inches)
    return axes


def _format_horizontal_axis(ax: Axes, chart: Chart, ticks: Sequence[str]) -> float:
    """Set the scale and the name of the horizontal axis, and name the positions 1, 2, ... by
    ``ticks``, as many as there is room for; return the height of upright names in points, 0 for
    horizontal names."""
    ax.set_xlabel(chart.x)
    if chart.log_x:
        positive = [x for line in chart.lines for x, _ in line.points if x > 0]
        # 0 has a separate position
        ax.set_xscale("symlog", linthresh=min(positive, default=1.0))
    places = {x for line in chart.lines for x, _ in line.points}
    if ticks:
        step = -(-len(ticks) // MAX_NAMED_LAYERS)
        names = escape_matplotlib_names(ticks, 16)[::step]
        size = font_size_points("xtick.labelsize")
        rotation = 0 if _names_fit(ax, names, size) else 90
        ax.set_xticks(range(1, len(ticks) + 1, step), names, rotation=rotation)
        return max(estimate_text_width(name, size) for name in names) if rotation else 0.0
    if not chart.log_x and all(place == round(place) for place in places):
        ax.xaxis.get_major_locator().set_params(integer=True)
    return 0.0


def _names_fit(ax: Axes, names: Sequence[str], size: float) -> bool:
    """Return whether equally spaced ``names`` in a font of ``size`` points fit along the horizontal
    axis."""
    room = ax.get_window_extent().width * POINTS_PER_INCH / ax.figure.dpi
    return bool(max(estimate_text_width(name, size) for name in names) * len(names) <= 0.97 * room)


def _draw_line(ax: Axes, line: Line, i: int, is_joined: bool) -> Any:
    color, mark, dash = series_style(i)
    style = {"color": color, "marker": mark, "linestyle": dash if is_joined else "none"}
    if len(line.points) > MAX_MARKED_POINTS:
        style["markevery"] = -(-len(line.points) // 8)
    (handle,) = ax.plot(*zip(*line.points), zorder=3, **style)
    if np.isfinite(line.intervals).any():
        places, (low, high) = [x for x, _ in line.points], zip(*line.intervals)
        if is_joined:
            band = {"color": color, "alpha": 0.15, "linewidth": 0, "zorder": 2}
            ax.fill_between(places, low, high, **band)
        else:
            ax.vlines(places, low, high, color=color, linewidth=1.2, zorder=2)
    return handle


def _draw_dotted_line(ax: Axes, line: Line, color: str) -> None:
    ax.plot(*zip(*line.points), color=color, linestyle=":", linewidth=0.9, zorder=1)


def _label_line_points(ax: Axes, lines: Sequence[Line]) -> None:
    """Write the titles at the points of one or two lines, if all titles of a line have room: above
    the higher line, and below the other. With more lines, write nothing."""
    if len(lines) > 2:
        return
    highest = max(lines, key=lambda line: np.nansum([y for _, y in line.points]))
    size = 0.85 * font_size_points("legend.fontsize")
    for i, line in enumerate(lines):
        titles = [title.partition(":")[0] for title in line.titles]
        short_names = dict(zip(titles, escape_matplotlib_names(titles, 12)))
        if not _names_fit(ax, list(short_names.values()), size):
            continue
        is_above = line is highest
        for point, title in zip(line.points, titles):
            if np.isnan(point[1]):
                continue
            offset = {"xytext": (0, 4.5 if is_above else -4.5), "textcoords": "offset points"}
            va = "bottom" if is_above else "top"
            style = {"ha": "center", "va": va, "fontsize": size, "color": series_style(i).color}
            ax.annotate(short_names[title], point, **offset, **style)
    ax.margins(x=0.09, y=0.14)


def _label_value_axis(ax: Axes, name: str) -> None:
    """Name the value axis with the direction of the measure, on as many lines as the label
    needs."""
    label, _, direction = name.rpartition(" (")
    height = MIN_AXES_HEIGHT_SHARE * ax.get_window_extent().height * POINTS_PER_INCH / ax.figure.dpi
    letters = max(int(height / estimate_text_width("m", font_size_points("axes.labelsize"))), 1)
    lines = [escape_matplotlib_name(label, 60), f"({direction}"] if label else [name]
    if len(" ".join(lines)) <= letters:
        lines = [" ".join(lines)]
    wrapped_lines = [part for line in lines for part in textwrap.wrap(line, letters)]
    ax.set_ylabel("\n".join(wrapped_lines))


def _draw_line_legend(ax: Axes, chart: Chart, handles: Sequence[Any], unit: str) -> float:
    """Draw the legend of the lines; return the height of all rows but the first, in points.
    ``handles``: the drawn lines. ``unit``: the noun for lines. With more than 12 lines the legend
    has only their number. All dotted lines share an entry."""
    dashed = [line.name for line in chart.lines if line.is_dashed]
    names = [line.name for line in chart.lines if not line.is_dashed]
    own_names = [name for name in dict.fromkeys(dashed) if name not in names]
    marks = list(handles)
    if len(marks) > MAX_LEGEND_LINES:
        names, marks = [f"{len(marks)} {unit}"], marks[:1]
    if dashed:
        color = series_style(0).color if len(handles) == 1 else SLATE_GRAY
        (dotted,) = ax.plot([], [], color=color, linestyle=":", linewidth=0.9)
        names, marks = [*names, ", ".join(own_names) or CHANCE_DIAGNOSTIC], [*marks, dotted]
    size = font_size_points("legend.fontsize")
    width = max(estimate_text_width(name, size) for name in names) + 30
    room = ax.get_window_extent().width * POINTS_PER_INCH / ax.figure.dpi
    n_columns = max(1, min(len(names), int(room / width)))
    draw_legend(ax, marks, names, ncols=n_columns, **LEGEND_ABOVE)
    return LEGEND_LINE_HEIGHT * size * (-(-len(names) // n_columns) - 1)
