"""Layers of models against each other, by depth."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.text import did_you_mean
from ..comparison.arrangements import DepthCurve, best_matches, equal_depth_curves, layers_by_model
from ..comparison.comparison import Comparison, MeasureInfo
from ..contracts._measure import Measure
from ..inference.result import Evidence
from ..report.svg import shorten_distinct_names, shorten_name
from ._style import (
    COLUMN_WIDTH_INCHES,
    POINTS_PER_INCH,
    SLATE_GRAY,
    Axes,
    axes_in_style,
    draw_legend,
    escape_matplotlib_name,
    escape_matplotlib_names,
    estimate_text_width,
    font_size_points,
    series_style,
)
from .arguments import (
    chance_of_pairs,
    comparison_and_evidence,
    measure_axis_label,
    measure_to_plot,
    reordered_comparison,
)

MAX_MARKED_POINTS = 24  # points of a line that are marked
MAX_LEGEND_LINES = 12  # lines with a legend
# of the height of axes: at least so much is left by the names below and above
MIN_AXES_HEIGHT_SHARE = 0.7
MAX_NAMED_LAYERS = 13  # layers named along the axis
ModelAndLayer = tuple[str, str]  # of a model, and of its layer


class PairLimits(NamedTuple):
    """What is known about the pairs of a comparison besides their values; NaN where nothing is."""

    chance: np.ndarray
    low: np.ndarray
    high: np.ndarray


def layers(
    comparison: Comparison | Evidence,
    measure: str | Measure | None = None,
    *,
    against: str | None = None,
    match: Literal["depth", "best"] = "depth",
    evidence: Evidence | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of one measure between layers of models, by depth; return the axes.

    Names are ``model/layer``. Dotted lines are the level of chance where it is known; bands are the
    intervals of an evidence.

    Parameters
    ----------
    comparison : a comparison or an evidence of layers of several models.
    measure : which of its measures; may be left out where there is one.
    against : the name of a model: draw it with each other model, by its own layers; by default
        every two models.
    match : "depth" compares layers of equal depth, or of the nearest relative depth; "best" each
        layer of the first model with the most similar layer of the other, which is named on one or
        two lines where there is room.
    evidence : the evidence on the comparison, if that is what is drawn.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``KeyError`` for a measure that the comparison has not, and ``ValueError`` for what is no
    comparison, for an unknown model, and where no two models can be matched.
    """
    data, sure = comparison_and_evidence("layers", comparison, evidence)
    info = measure_to_plot("layers", data, measure)
    curves = _curves_to_plot(data, info, against, match)
    limits = _pair_limits(data, sure, info)
    places = {_split_layer_name(n): i for i, n in enumerate(data.rows)}
    others = {_split_layer_name(n): j for j, n in enumerate(data.columns)}
    with axes_in_style(ax, COLUMN_WIDTH_INCHES, 2.3) as chosen:
        xs = _set_depth_axis(chosen, curves)
        lines = [
            _draw_curve(chosen, curve, x, i, _limits_along_curve(curve, limits, places, others))
            for i, (curve, x) in enumerate(zip(curves, xs))
        ]
        if match == "best":
            _label_matched_layers(chosen, curves, xs)
        _draw_curve_legend(chosen, curves, lines, against, bool(np.isfinite(limits.chance).any()))
        _label_value_axis(chosen, info, against)
    return chosen


def _split_layer_name(name: str) -> ModelAndLayer:
    model, _, layer = name.rpartition("/")
    return model, layer


def _curves_to_plot(
    data: Comparison, info: MeasureInfo, against: str | None, match: str
) -> tuple[DepthCurve, ...]:
    if match not in ("depth", "best"):
        raise ValueError(f"plot.layers: match must be 'depth' or 'best'; got {match!r}")
    rows, columns = layers_by_model(data.rows), layers_by_model(data.columns)
    models = [*rows, *(name for name in columns if name not in rows)]
    if against is not None and against not in models:
        raise ValueError(f"plot.layers: no model {against!r}{did_you_mean(against, models)}")
    if against in rows and data.rows == data.columns:
        rest = (i for model, members in rows.items() if model != against for i in members)
        data = reordered_comparison(data, info, [*rows[against], *rest])
    curves = (equal_depth_curves if match == "depth" else best_matches)(data, info.spec)
    curves = tuple(c for c in curves if against in (None, c.model, c.other))
    if not curves:
        counts = ", ".join(f"{model or 'no model'}: {len(i)}" for model, i in rows.items())
        raise ValueError(
            "plot.layers needs two models with several layers named 'model/layer'"
            f"; layers here: {counts}"
        )
    return curves


def _pair_limits(data: Comparison, evidence: Evidence | None, info: MeasureInfo) -> PairLimits:
    chance = chance_of_pairs(data, evidence, info)
    if evidence is None:
        return PairLimits(chance, *(np.full(chance.shape, np.nan) for _ in range(2)))
    return PairLimits(chance, evidence.low(info.spec), evidence.high(info.spec))


def _limits_along_curve(
    curve: DepthCurve,
    limits: PairLimits,
    rows: Mapping[ModelAndLayer, int],
    columns: Mapping[ModelAndLayer, int],
) -> PairLimits:
    """Return the limits at the points of a curve, in whichever order its pairs were compared."""
    i = [rows[curve.model, layer] for layer in curve.layers]
    j = [columns[curve.other, layer] for layer in curve.partners]
    return PairLimits(*(table[i, j] for table in limits))


def _set_depth_axis(ax: Axes, curves: Sequence[DepthCurve]) -> list[np.ndarray]:
    """Return where the layers are, and name the axis: by layer, or by the share of the depth of
    models with unlike numbers of layers."""
    counts = {len(curve.layers) for curve in curves}
    if len(counts) > 1:
        ax.set_xlabel("relative depth")
        return [np.linspace(0, 1, len(curve.layers)) for curve in curves]
    (count,) = counts
    ax.set_xlabel("layer")
    first = curves[0].layers
    if all(curve.layers == first for curve in curves):
        step = -(-count // MAX_NAMED_LAYERS)
        names = escape_matplotlib_names(first, 16)[::step]
        turned = 0 if _names_fit(ax, names, font_size_points("xtick.labelsize")) else 90
        ax.set_xticks(range(1, count + 1, step), names, rotation=turned)
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    return [np.arange(1, count + 1)] * len(curves)


def _names_fit(ax: Axes, names: Sequence[str], size: float) -> bool:
    """Say whether names of equal distance fit along the axis."""
    room = ax.get_window_extent().width * POINTS_PER_INCH / ax.figure.dpi
    return bool(max(estimate_text_width(name, size) for name in names) * len(names) <= 0.97 * room)


def _draw_curve(ax: Axes, curve: DepthCurve, x: np.ndarray, i: int, limits: PairLimits) -> Any:
    color, mark, dash = series_style(i)
    style = {"color": color, "marker": mark, "linestyle": dash}
    if len(x) > MAX_MARKED_POINTS:
        style["markevery"] = -(-len(x) // 8)
    (line,) = ax.plot(x, curve.values, zorder=3, **style)
    if np.isfinite(limits.chance).any():
        ax.plot(x, limits.chance, color=color, linestyle=":", linewidth=0.9, zorder=1)
    if np.isfinite(limits.low).any():
        band = {"color": color, "alpha": 0.15, "linewidth": 0, "zorder": 2}
        ax.fill_between(x, limits.low, limits.high, **band)
    return line


def _label_matched_layers(ax: Axes, curves: Sequence[DepthCurve], xs: Sequence[np.ndarray]) -> None:
    """Write the matched layer at each point of one or two lines, where there is room."""
    if len(curves) > 2:
        return
    highest = max(curves, key=lambda curve: np.nansum(curve.values))
    size = 0.85 * font_size_points("legend.fontsize")
    for i, (curve, x) in enumerate(zip(curves, xs)):
        short = dict(zip(curve.partners, escape_matplotlib_names(curve.partners, 12)))
        if not _names_fit(ax, list(short.values()), size):
            continue
        is_above = curve is highest
        for at, value, partner in zip(x, curve.values, curve.partners):
            if np.isnan(value):
                continue
            offset = {"xytext": (0, 4.5 if is_above else -4.5), "textcoords": "offset points"}
            va = "bottom" if is_above else "top"
            style = {"ha": "center", "va": va, "fontsize": size, "color": series_style(i).color}
            ax.annotate(short[partner], (at, value), **offset, **style)
    ax.margins(y=0.14)


def _label_value_axis(ax: Axes, info: MeasureInfo, against: str | None) -> None:
    """Name the axis of values and the direction of the measure, on as many lines as it needs."""
    label, _, which = measure_axis_label(info).rpartition(" (")
    label += f" with {shorten_name(against, 20)}" if against else ""
    tall = MIN_AXES_HEIGHT_SHARE * ax.get_window_extent().height * POINTS_PER_INCH / ax.figure.dpi
    letters = max(int(tall / estimate_text_width("m", font_size_points("axes.labelsize"))), 1)
    lines = [escape_matplotlib_name(label, 60), f"({which}"]
    if len(" ".join(lines)) <= letters:
        lines = [" ".join(lines)]
    wrapped = [part for line in lines for part in textwrap.wrap(line, letters)]
    ax.set_ylabel("\n".join(wrapped))


def _draw_curve_legend(
    ax: Axes,
    curves: Sequence[DepthCurve],
    lines: Sequence[Any],
    against: str | None,
    has_chance: bool,
) -> None:
    """Name the lines; of very many, only their number."""
    if against is None:
        models = list(dict.fromkeys(m for c in curves for m in (c.model, c.other)))
        short = dict(zip(models, shorten_distinct_names(models, 20)))
        names = [f"{short[c.model]} – {short[c.other]}" for c in curves]
    else:
        names = [c.other if c.model == against else c.model for c in curves]
    handles = list(lines)
    if len(lines) > MAX_LEGEND_LINES:
        names, handles = [f"{len(lines)} pairs of models"], handles[:1]
    if has_chance:
        color = series_style(0).color if len(lines) == 1 else SLATE_GRAY
        (dotted,) = ax.plot([], [], color=color, linestyle=":", linewidth=0.9)
        names, handles = [*names, "chance"], [*handles, dotted]
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    width = (
        max(estimate_text_width(name, font_size_points("legend.fontsize")) for name in names) + 30
    )
    room = ax.get_window_extent().width * POINTS_PER_INCH / ax.figure.dpi
    draw_legend(ax, handles, names, ncols=max(1, min(len(names), int(room / width))), **above)
