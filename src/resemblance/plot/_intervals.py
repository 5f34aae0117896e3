"""Values with intervals in rows: scores of pairs and models, and drifts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.extras import import_optional
from ..base.formatting import format_level, format_number
from ..base.results import BaseResult
from ..base.text import did_you_mean
from ..comparison.comparison import unique_measure_title
from ..contracts._measure import Measure
from ..inference import ModelScores
from ..inference.result import Evidence
from ..report.evidence_words import ALPHA, describe_pair_result, result_of_measure
from ..report.of_drift import drift_result
from ..report.of_model_scores import model_scores_bars
from ..report.rows import bracket_lanes
from ..sections.figures import Bar, Bars
from ..sections.values import finite_or_none
from ..stability.screen import Perturbations
from ..versions import DriftReport
from ._style import (
    COLORBLIND_PALETTE,
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
)
from .arguments import check_result_to_plot, measure_axis_label, measure_to_plot

# Height of a row, and of the margins above and below all rows
INTERVAL_ROW_INCHES, INTERVAL_MARGIN_INCHES = 0.17, 0.62
MAX_PAIRS_PER_FIGURE = 120  # rows of a figure
MAX_CHARACTERS_PER_LINE = 40  # characters below an axis
MAX_LABEL_CHARACTERS = 50  # characters of a line of the label of an axis
BRACKET_LANE_POINTS, BRACKET_LINE_WIDTH = 12.0, 0.8
# By class: the columns with the name of a record, and the column to draw
POINT_COLUMNS = {
    "ErrorConsistency": ("x y", "value"),
    "IndexUpgrade": ("option target", "value"),
    "Forecast": ("measure", "values"),
    "Perturbations": ("perturbation", ""),
    "Clusters": ("name", "silhouette"),
    "Permanova": ("group", "value"),
    "LayerPatches": ("layer", "moved"),
    "Leaderboard": ("label", "training"),
    "RankedMeasures": ("label question", "difference"),
}
INTERVAL_BLUE, INTERVAL_RED = COLORBLIND_PALETTE[0], COLORBLIND_PALETTE[3]


def intervals(
    evidence: Evidence,
    measure: str | Measure | None = None,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of pairs with their intervals, the most similar first; return the axes.

    A vertical tick marks the chance level. Hollow points are not significantly above chance
    (adjusted p above 0.05).

    Parameters
    ----------
    evidence : the return value of :func:`resemblance.evidence`.
    measure : the measure to draw; optional if the evidence has a single measure.
    pairs : (row, column) names of the pairs to draw; by default all pairs with a value.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``KeyError`` for a measure missing from the evidence, and ``ValueError`` for an unknown
    name, for any other type of result, and for none or more than 120 pairs.
    """
    remedy = "; plot.model_scores draws it" if isinstance(evidence, ModelScores) else ""
    check_result_to_plot("intervals", evidence, Evidence, remedy)
    info = measure_to_plot("intervals", evidence.comparison, measure)
    reading = result_of_measure(evidence, info)
    results = [p for p in reading.pairs if not p.is_self and math.isfinite(p.value)]
    if pairs is not None:
        places = [(evidence.rows.index(x), evidence.columns.index(y)) for x, y in pairs]
        results = [reading.cells[i][j] for i, j in places]
    if not 1 <= len(results) <= MAX_PAIRS_PER_FIGURE:
        raise ValueError(
            f"plot.intervals draws from 1 to {MAX_PAIRS_PER_FIGURE} pairs with values; got "
            f"{len(results)}; choose some by pairs=[(row, column), ...]"
        )
    sign = -1 if info.larger_is_more_similar else 1
    results.sort(key=lambda pair: sign * pair.value)
    bars = tuple(
        _bar(f"{p.x} – {p.y}", p.value, p.low, p.high, describe_pair_result(p))._replace(
            is_hollow=p.is_tested and not p.is_beyond
        )
        for p in results
    )
    title = unique_measure_title(evidence.comparison, info)
    axis = measure_axis_label(evidence.comparison, info)
    figure = Bars("intervals", title, axis, bars, is_dotted=True)
    chance = [(p.chance, i) for i, p in enumerate(results) if math.isfinite(p.chance)]
    names = (
        f"value, {format_level(evidence.confidence_level)} interval",
        f"not significantly above chance (p > {ALPHA:g})",
    )
    with paint_bars(figure, ax, entries=3) as (axes, marks):
        legend = {name: mark for name, mark in zip(names, marks) if mark is not None}
        if chance:
            style = {"marker": "|", "markersize": 9, "color": matplotlib_setting("text.color")}
            (legend["chance"],) = axes.plot(*zip(*chance), linestyle="none", **style)
        legend_above(axes, legend)
    return axes


def _bar(name: str, value: float, low: float, high: float, note: str = "") -> Bar:
    """Return a bar in a row named ``name``, with the interval from ``low`` to ``high``; without an
    end that is NaN. ``note``: the tooltip."""
    return Bar(name, value, finite_or_none(low), finite_or_none(high), note)


def drift(report: DriftReport, *, ax: Axes | None = None) -> Axes:
    """Draw the ratio of every drift to its threshold; return the axes.

    The axis is logarithmic; the line at 1 is the threshold. Squares are drifts beyond the
    threshold. Thin lines are 95 % intervals. The label of the axis lists drifts without a value or
    a threshold.

    Parameters
    ----------
    report : the return value of :func:`resemblance.drift`.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result, and if no drift has a threshold.
    """
    check_result_to_plot("drift", report, DriftReport)
    figure = next(f for f in drift_result(report)["drifts"].figures if isinstance(f, Bars))
    if not figure.bars:
        raise ValueError("plot.drift: no drift of this report has a value and a threshold")
    figure = figure._replace(x=f"{figure.x}{_drifts_without_threshold(report)}")
    with paint_bars(figure, ax, entries=2) as (axes, _):
        axes.set_title(escape_matplotlib_name(report.conclusion.partition(". ")[0].rstrip("."), 60))
    return axes


def model_scores(
    result: ModelScores,
    *,
    marks: Literal["points", "bars"] = "points",
    brackets: Sequence[tuple[str, str]] | Literal["significant", "neighbors"] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean score of each model with its interval, the most similar first; return the axes.

    Small grey points are the subjects. Hollow points are not significantly above 0 (adjusted p
    above 0.05), for a measure with chance level 0. The band is the noise ceiling: from the score of
    each subject against the other subjects to the highest mean that a model can reach.

    Parameters
    ----------
    result : the return value of :func:`resemblance.score_models`.
    marks : "points", or "bars" that begin at 0.
    brackets : the pairs of models to join by a bracket with the p-value of the difference, adjusted
        for all pairs of models (Holm): names of models, "significant" for all pairs with an
        adjusted p of at most 0.05, or "neighbors" for models in adjacent rows; by default none.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result, other marks, unknown or equal names in
    ``brackets``, and more than 15 brackets.
    """
    check_result_to_plot("model_scores", result, ModelScores)
    figure = model_scores_bars(result, marks=marks, brackets=brackets)
    level = format_level(result.confidence_level)
    names = f"mean, {level} interval", f"not above 0 (p > {ALPHA:g})"
    with paint_bars(figure, ax, entries=4) as (axes, drawn):
        legend = {"a subject": drawn.points} if drawn.points is not None else {}
        legend |= {name: mark for name, mark in zip(names, drawn) if mark is not None}
        legend |= {"noise ceiling": drawn.band} if drawn.band is not None else {}
        legend_above(axes, legend)
    return axes


def _drifts_without_threshold(report: DriftReport) -> str:
    names = [d.name.replace("_", " ") for d in report.drifts if d.value is None or not d.threshold]
    words = (
        textwrap.wrap(f"not judged: {', '.join(names)}", MAX_CHARACTERS_PER_LINE) if names else []
    )
    return "".join(f"\n{line}" for line in words)


def points(result: BaseResult, column: str = "", *, ax: Axes | None = None) -> Axes:
    """Draw a number of each record of a result, with its interval if known; return the axes.

    Parameters
    ----------
    result : any result with records.
    column : the column of the records with the number to draw; by default the main number of the
        class.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for a column missing from the records, and for none or more than 120
    records with a number.
    """
    name, number = POINT_COLUMNS.get(type(result).__name__, ("measure", "value"))
    records, column = result.records(), column or number
    if isinstance(result, Perturbations):
        column = column or result.statistics[0]
    columns = list(dict.fromkeys(key for record in records for key in record))
    if column not in columns:
        raise ValueError(f"plot.points: no column {column!r}{did_you_mean(column, columns)}")
    rows = [record for record in records if isinstance(record[column], int | float)]
    if not 1 <= len(rows) <= MAX_PAIRS_PER_FIGURE:
        raise ValueError(
            f"plot.points draws from 1 to {MAX_PAIRS_PER_FIGURE} records with a number; "
            f"{len(rows)} have {column}"
        )
    has_ends = column == number and {"low", "high"} <= set(columns)
    spans = []
    for row in rows:
        ends = (row["low"], row["high"]) if has_ends else (None, None)
        spans.append((row[column], *(math.nan if end is None else end for end in ends)))
    names = [" ".join(str(row[key]) for key in name.split()) for row in rows]
    bars = tuple(
        _bar(*arguments) for arguments in ((name, *span) for name, span in zip(names, spans))
    )
    label = escape_matplotlib_name(column.replace("_", " "))
    with paint_bars(Bars("points", label, label, bars, is_dotted=True), ax) as (axes, _):
        return axes


# ------------------------------------------------------------------------------------------ painter


class BarMarks(NamedTuple):
    """The legend marks of bars: a value, a hollow value, the threshold line, the values behind the
    estimates, and the band, as matplotlib artists; None for a mark that the figure lacks."""

    value: Any
    hollow: Any
    threshold: Any
    points: Any
    band: Any


@contextmanager
def paint_bars(
    figure: Bars, ax: Axes | None = None, *, entries: int = 0
) -> Iterator[tuple[Axes, BarMarks]]:
    """Draw a row with a value and an interval for every bar of ``figure``, in ``ax`` or a new
    figure. Yield the axes and the marks of the legend.

    The function draws no legend. ``entries``: the number of legend entries for which a new figure
    is made taller. If ``figure.is_limit`` is set, bars begin at the threshold, and values above the
    threshold are red squares.
    """
    with named_rows(ax, [bar.name for bar in figure.bars], entries) as axes:
        level, is_over = figure.threshold, np.zeros(len(figure.bars), bool)
        if level is not None and figure.is_limit:
            is_over = np.array([bar.value > level for bar in figure.bars])
            for i, bar in enumerate(figure.bars):
                color = INTERVAL_RED if is_over[i] else INTERVAL_BLUE
                axes.hlines(i, level, bar.value, color=color, linewidth=3, alpha=0.25)
        elif not figure.is_dotted and not figure.log_x:
            base = figure.span[0] if figure.span else 0.0
            values = [bar.value for bar in figure.bars]
            rows = range(len(values))
            axes.hlines(rows, base, values, color=INTERVAL_BLUE, linewidth=6, alpha=0.25, zorder=1)
        for bar, label in zip(figure.bars, axes.get_yticklabels()):
            label.set_fontweight("bold" if bar.is_marked else "normal")
        is_hollow = np.array([bar.is_hollow for bar in figure.bars], dtype=bool)
        value = _draw_dots(axes, figure, ~is_over & ~is_hollow, INTERVAL_BLUE)
        hollow_marks = _draw_dots(axes, figure, is_hollow, INTERVAL_BLUE, is_hollow=True)
        _draw_dots(axes, figure, is_over & ~is_hollow, INTERVAL_RED, mark="s")
        line = None if level is None else _draw_threshold(axes, level)
        if figure.log_x:
            _format_log_axis(axes, figure.span)
        lines = [textwrap.wrap(x, MAX_LABEL_CHARACTERS) for x in figure.x.split("\n")]
        axes.set_xlabel("\n".join(line for part in lines for line in part))
        band = None
        if figure.band is not None:
            band = axes.axvspan(*figure.band, color=SLATE_GRAY, alpha=0.3, linewidth=0, zorder=0)
        points = _draw_points(axes, figure)
        _draw_brackets(axes, figure)
        yield axes, BarMarks(value, hollow_marks, line, points, band)


def _draw_points(ax: Axes, figure: Bars) -> Any:
    """Draw the values behind the estimates of ``figure`` as small points; return the matplotlib
    points, or None without values."""
    places = [(point, i) for i, bar in enumerate(figure.bars) for point in bar.points]
    if not places:
        return None
    style = {"marker": "o", "markersize": 2.5, "linestyle": "none", "alpha": 0.6, "zorder": 1}
    (points,) = ax.plot(*zip(*places), color=SLATE_GRAY, **style)
    return points


def _draw_brackets(ax: Axes, figure: Bars) -> None:
    """Draw the brackets of a figure at the right of the axes, with upright texts."""
    if not figure.brackets:
        return
    transforms = import_optional("matplotlib.transforms")
    line_collection = import_optional("matplotlib.collections").LineCollection
    ink = matplotlib_setting("text.color")
    lanes = bracket_lanes(figure.brackets, POINTS_PER_INCH * INTERVAL_ROW_INCHES)
    for bracket, lane in zip(figure.brackets, lanes):
        offset = (4 + BRACKET_LANE_POINTS * lane) / POINTS_PER_INCH
        place = ax.get_yaxis_transform() + transforms.ScaledTranslation(
            offset, 0, ax.figure.dpi_scale_trans
        )
        rows = [bracket.first, bracket.second]
        style = {"linewidths": BRACKET_LINE_WIDTH, "colors": ink, "transform": place}
        lines = line_collection([[(1, row) for row in rows]], clip_on=False, **style)
        ax.add_collection(lines, autolim=False)
        caps = {"marker": 0, "s": 8, "linewidths": BRACKET_LINE_WIDTH, "color": ink}  # to the left
        ax.scatter([1, 1], rows, clip_on=False, transform=place, **caps)
        ax.annotate(
            bracket.text,
            (1, sum(rows) / 2),
            xycoords=ax.get_yaxis_transform(),
            xytext=(POINTS_PER_INCH * offset + 2, 0),
            textcoords="offset points",
            rotation=90,
            va="center",
            ha="left",
            fontsize=0.85 * font_size_points("ytick.labelsize"),
            annotation_clip=False,
        )


def _draw_dots(
    ax: Axes,
    figure: Bars,
    is_drawn: np.ndarray,
    color: str,
    *,
    is_hollow: bool = False,
    mark: str = "o",
) -> Any:
    """Draw the values of the rows in the mask ``is_drawn`` (rows,), with their intervals; return
    the matplotlib marks, or None without rows. ``color``: of marks and intervals. ``is_hollow``:
    fill the marks with the background. ``mark``: the matplotlib marker."""
    rows = np.flatnonzero(is_drawn)
    if not rows.size:
        return None
    bars = [figure.bars[i] for i in rows]
    low, high = (np.array(ends, dtype=float) for ends in zip(*((b.low, b.high) for b in bars)))
    ax.hlines(rows, low, high, color=color, linewidth=1.2, zorder=2)
    face = matplotlib_setting("axes.facecolor") if is_hollow else color
    style = {"marker": mark, "linestyle": "none", "color": color, "markerfacecolor": face}
    (marks,) = ax.plot([bar.value for bar in bars], rows, zorder=3, **style)
    return marks


def _draw_threshold(ax: Axes, level: float) -> Any:
    dashed = {"color": matplotlib_setting("text.color"), "linestyle": (0, (4, 2))}
    return ax.axvline(level, linewidth=0.9, zorder=1, **dashed)


def _format_log_axis(ax: Axes, span: tuple[float, float] | None) -> None:
    """Make the horizontal axis logarithmic, and number the powers of ten from the low to the high
    end of ``span``; the first number is "≤ low", for smaller values. None: leave the numbers to
    matplotlib."""
    ax.set_xscale("log")
    if span is None:
        return
    low, high = span
    powers = 10.0 ** np.arange(round(np.log10(low)), round(np.log10(high)) + 1)
    ax.set_xticks(powers, [f"≤ {format_number(low)}", *(format_number(p) for p in powers[1:])])
    ax.set_xticks([], minor=True)
    ax.set_xlim(0.8 * low, 1.25 * high)


@contextmanager
def named_rows(ax: Axes | None, names: Sequence[str], entries: int = 0) -> Iterator[Axes]:
    """Yield axes with a row per name, row 0 on top: ``ax``, or the axes of a new figure with room
    for ``names`` and for a legend with ``entries`` entries above."""
    texts = escape_matplotlib_names(names)
    room = max(estimate_text_width(text, 7) for text in texts) / POINTS_PER_INCH
    with axes_in_style(
        ax,
        max(COLUMN_WIDTH_INCHES, room + 2.2),
        INTERVAL_MARGIN_INCHES + INTERVAL_ROW_INCHES * len(names) + 0.13 * entries,
    ) as axes:
        axes.set_yticks(range(len(names)), texts)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params("y", length=0)
        axes.spines["left"].set_visible(False)
        axes.hlines(range(len(names)), 0, 1, **_guide_style(axes))
        yield axes


def legend_above(ax: Axes, marks: Mapping[str, Any]) -> None:
    """Put a legend above all rows. ``marks``: matplotlib artists by name."""
    draw_legend(ax, list(marks.values()), list(marks), **LEGEND_ABOVE)


def _guide_style(ax: Axes) -> dict[str, Any]:
    style = {"color": SLATE_GRAY, "alpha": 0.25, "linewidth": 0.5, "zorder": 0}
    return style | {"transform": ax.get_yaxis_transform()}
