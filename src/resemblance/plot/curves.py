"""Layers of models against each other, by depth."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.text import did_you_mean
from ..comparison.arrangements import Curve, best_matches, by_depth, models_of
from ..comparison.comparison import Comparison, MeasureInfo
from ..contracts._measure import Measure
from ..inference.result import Evidence
from ..report.svg import distinct_names, shortened
from ._style import (
    GREY,
    POINTS,
    WIDTH,
    Axes,
    axes,
    legend,
    letter_size,
    look,
    plain,
    plain_names,
    text_width,
)
from .arguments import chance_level, compared, direction, measure_of, taken

MOST_MARKED = 24  # points of a line that are marked
MOST_LEGEND = 12  # lines with a legend
LAID_OUT = 0.7  # of the height of axes: at least so much is left by the names below and above
MOST_TICKS = 13  # layers named along the axis
Name = tuple[str, str]  # of a model, and of its layer


class Limits(NamedTuple):
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
    data, sure = compared("layers", comparison, evidence)
    info = measure_of("layers", data, measure)
    curves = _curves(data, info, against, match)
    limits = _limits(data, sure, info)
    places = {_split(n): i for i, n in enumerate(data.rows)}
    others = {_split(n): j for j, n in enumerate(data.columns)}
    with axes(ax, WIDTH, 2.3) as chosen:
        xs = _depths(chosen, curves)
        lines = [
            _curve(chosen, curve, x, i, _of(curve, limits, places, others))
            for i, (curve, x) in enumerate(zip(curves, xs))
        ]
        if match == "best":
            _name_partners(chosen, curves, xs)
        _legend(chosen, curves, lines, against, bool(np.isfinite(limits.chance).any()))
        _name_values(chosen, info, against)
    return chosen


def _split(name: str) -> Name:
    model, _, layer = name.rpartition("/")
    return model, layer


def _curves(
    data: Comparison, info: MeasureInfo, against: str | None, match: str
) -> tuple[Curve, ...]:
    if match not in ("depth", "best"):
        raise ValueError(f"plot.layers: match must be 'depth' or 'best'; got {match!r}")
    rows, columns = models_of(data.rows), models_of(data.columns)
    models = [*rows, *(name for name in columns if name not in rows)]
    if against is not None and against not in models:
        raise ValueError(f"plot.layers: no model {against!r}{did_you_mean(against, models)}")
    if against in rows and data.rows == data.columns:
        rest = (i for model, members in rows.items() if model != against for i in members)
        data = taken(data, info, [*rows[against], *rest])
    curves = (by_depth if match == "depth" else best_matches)(data, info.spec)
    curves = tuple(c for c in curves if against in (None, c.model, c.other))
    if not curves:
        counts = ", ".join(f"{model or 'no model'}: {len(i)}" for model, i in rows.items())
        raise ValueError(
            "plot.layers needs two models with several layers named 'model/layer'"
            f"; layers here: {counts}"
        )
    return curves


def _limits(data: Comparison, evidence: Evidence | None, info: MeasureInfo) -> Limits:
    chance = chance_level(data, evidence, info)
    if evidence is None:
        return Limits(chance, *(np.full(chance.shape, np.nan) for _ in range(2)))
    return Limits(chance, evidence.low(info.spec), evidence.high(info.spec))


def _of(
    curve: Curve, limits: Limits, rows: Mapping[Name, int], columns: Mapping[Name, int]
) -> Limits:
    """Return the limits at the points of a curve, in whichever order its pairs were compared."""
    i = [rows[curve.model, layer] for layer in curve.layers]
    j = [columns[curve.other, layer] for layer in curve.partners]
    return Limits(*(table[i, j] for table in limits))


def _depths(ax: Axes, curves: Sequence[Curve]) -> list[np.ndarray]:
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
        step = -(-count // MOST_TICKS)
        names = plain_names(first, 16)[::step]
        turned = 0 if _fit(ax, names, letter_size("xtick.labelsize")) else 90
        ax.set_xticks(range(1, count + 1, step), names, rotation=turned)
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    return [np.arange(1, count + 1)] * len(curves)


def _fit(ax: Axes, names: Sequence[str], size: float) -> bool:
    """Say whether names of equal distance fit along the axis."""
    room = ax.get_window_extent().width * POINTS / ax.figure.dpi
    return bool(max(text_width(name, size) for name in names) * len(names) <= 0.97 * room)


def _curve(ax: Axes, curve: Curve, x: np.ndarray, i: int, limits: Limits) -> Any:
    colour, mark, dash = look(i)
    style = {"color": colour, "marker": mark, "linestyle": dash}
    if len(x) > MOST_MARKED:
        style["markevery"] = -(-len(x) // 8)
    (line,) = ax.plot(x, curve.values, zorder=3, **style)
    if np.isfinite(limits.chance).any():
        ax.plot(x, limits.chance, color=colour, linestyle=":", linewidth=0.9, zorder=1)
    if np.isfinite(limits.low).any():
        band = {"color": colour, "alpha": 0.15, "linewidth": 0, "zorder": 2}
        ax.fill_between(x, limits.low, limits.high, **band)
    return line


def _name_partners(ax: Axes, curves: Sequence[Curve], xs: Sequence[np.ndarray]) -> None:
    """Write the matched layer at each point of one or two lines, where there is room."""
    if len(curves) > 2:
        return
    highest = max(curves, key=lambda curve: np.nansum(curve.values))
    size = 0.85 * letter_size("legend.fontsize")
    for i, (curve, x) in enumerate(zip(curves, xs)):
        short = dict(zip(curve.partners, plain_names(curve.partners, 12)))
        if not _fit(ax, list(short.values()), size):
            continue
        is_above = curve is highest
        for at, value, partner in zip(x, curve.values, curve.partners):
            if np.isnan(value):
                continue
            offset = {"xytext": (0, 4.5 if is_above else -4.5), "textcoords": "offset points"}
            va = "bottom" if is_above else "top"
            style = {"ha": "center", "va": va, "fontsize": size, "color": look(i).colour}
            ax.annotate(short[partner], (at, value), **offset, **style)
    ax.margins(y=0.14)


def _name_values(ax: Axes, info: MeasureInfo, against: str | None) -> None:
    """Name the axis of values and the direction of the measure, on as many lines as it needs."""
    label, _, which = direction(info).rpartition(" (")
    label += f" with {shortened(against, 20)}" if against else ""
    tall = LAID_OUT * ax.get_window_extent().height * POINTS / ax.figure.dpi
    letters = max(int(tall / text_width("m", letter_size("axes.labelsize"))), 1)
    lines = [plain(label, 60), f"({which}"]
    if len(" ".join(lines)) <= letters:
        lines = [" ".join(lines)]
    wrapped = [part for line in lines for part in textwrap.wrap(line, letters)]
    ax.set_ylabel("\n".join(wrapped))


def _legend(
    ax: Axes, curves: Sequence[Curve], lines: Sequence[Any], against: str | None, has_chance: bool
) -> None:
    """Name the lines; of very many, only their number."""
    if against is None:
        models = list(dict.fromkeys(m for c in curves for m in (c.model, c.other)))
        short = dict(zip(models, distinct_names(models, 20)))
        names = [f"{short[c.model]} – {short[c.other]}" for c in curves]
    else:
        names = [c.other if c.model == against else c.model for c in curves]
    handles = list(lines)
    if len(lines) > MOST_LEGEND:
        names, handles = [f"{len(lines)} pairs of models"], handles[:1]
    if has_chance:
        colour = look(0).colour if len(lines) == 1 else GREY
        (dotted,) = ax.plot([], [], color=colour, linestyle=":", linewidth=0.9)
        names, handles = [*names, "chance"], [*handles, dotted]
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    width = max(text_width(name, letter_size("legend.fontsize")) for name in names) + 30
    room = ax.get_window_extent().width * POINTS / ax.figure.dpi
    legend(ax, handles, names, ncols=max(1, min(len(names), int(room / width))), **above)
