"""Values with intervals in rows: scores of pairs and models, and drifts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..base.formatting import format_level, format_number
from ..base.results import BaseResult
from ..base.text import did_you_mean
from ..contracts._measure import Measure
from ..inference import ModelScores
from ..inference.result import Evidence
from ..inference.several_models import SCORE_TITLES
from ..report.evidence_words import ALPHA, describe_pair_result, result_of_measure
from ..report.of_drift import drift_result
from ..sections.figures import Bar, Bars
from ..sections.values import finite_or_none
from ..stability.screen import Perturbations
from ..versions import DriftReport
from ._style import (
    COLORBLIND_PALETTE,
    COLUMN_WIDTH_INCHES,
    POINTS_PER_INCH,
    SLATE_GRAY,
    Axes,
    axes_in_style,
    draw_legend,
    escape_matplotlib_name,
    escape_matplotlib_names,
    estimate_text_width,
    matplotlib_setting,
)
from .arguments import measure_axis_label, measure_to_plot

# Height of a row, and of the margins above and below all rows
INTERVAL_ROW_INCHES, INTERVAL_MARGIN_INCHES = 0.17, 0.62
MAX_PAIRS_PER_FIGURE = 120  # rows of a figure
MAX_CHARACTERS_PER_LINE = 40  # characters below an axis
MAX_MEASURE_NAME_LENGTH = 48  # characters of a measure name
# By class: the columns with the name of a record, and the column to draw
POINT_COLUMNS = {
    "IndexUpgrade": ("option target", "value"),
    "Forecast": ("measure", "values"),
    "Perturbations": ("perturbation", ""),
    "Clusters": ("name", "silhouette"),
    "Permanova": ("group", "value"),
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
    pairs : names of rows and columns; by default all pairs with a value.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``KeyError`` for a measure missing from the evidence, and ``ValueError`` for an unknown
    name, for any other type of result, and for none or more than 120 pairs.
    """
    if not isinstance(evidence, Evidence):
        remedy = "; plot.model_scores draws it" if isinstance(evidence, ModelScores) else ""
        raise ValueError(f"plot.intervals draws an Evidence; got {type(evidence).__name__}{remedy}")
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
        _bar(f"{p.x} – {p.y}", p.value, p.low, p.high, describe_pair_result(p)) for p in results
    )
    figure = Bars("intervals", info.title, measure_axis_label(info), bars, is_dotted=True)
    hollow = [i for i, p in enumerate(results) if p.is_tested and not p.is_beyond]
    chance = [(p.chance, i) for i, p in enumerate(results) if math.isfinite(p.chance)]
    names = (
        f"value, {format_level(evidence.confidence_level)} interval",
        f"not significantly above chance (p > {ALPHA:g})",
    )
    with paint_bars(figure, ax, entries=3, hollow=hollow) as (axes, marks):
        legend = {name: mark for name, mark in zip(names, marks) if mark is not None}
        if chance:
            style = {"marker": "|", "markersize": 9, "color": matplotlib_setting("text.color")}
            (legend["chance"],) = axes.plot(*zip(*chance), linestyle="none", **style)
        legend_above(axes, legend)
    return axes


def _bar(name: str, value: float, low: float, high: float, note: str = "") -> Bar:
    """Return a bar; without an interval if the ends are NaN."""
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
    if not isinstance(report, DriftReport):
        raise ValueError(f"plot.drift draws a DriftReport; got {type(report).__name__}")
    figure = next(f for f in drift_result(report)["drifts"].figures if isinstance(f, Bars))
    if not figure.bars:
        raise ValueError("plot.drift: no drift of this report has a value and a threshold")
    figure = figure._replace(x=f"{figure.x}{_drifts_without_threshold(report)}")
    with paint_bars(figure, ax, entries=2) as (axes, _):
        axes.set_title(escape_matplotlib_name(report.conclusion.partition(". ")[0].rstrip("."), 60))
    return axes


def model_scores(result: ModelScores, *, ax: Axes | None = None) -> Axes:
    """Draw the mean score of each model with its interval, the most similar first; return the axes.

    Small grey points are the subjects. Hollow points are not significantly above 0 (adjusted p
    above 0.05), for a measure with chance level 0. The band is the noise ceiling: from the score of
    each subject against the other subjects to the highest mean that a model can reach.

    Parameters
    ----------
    result : the return value of :func:`resemblance.score_models`.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result.
    """
    if not isinstance(result, ModelScores):
        raise ValueError(f"plot.model_scores draws ModelScores; got {type(result).__name__}")
    order, level = result.order, format_level(result.confidence_level)
    is_above = result.above_0() <= ALPHA if result.is_0_by_chance else np.full(len(order), True)
    spans = zip(result.mean[order], result.low[order], result.high[order])
    bars = tuple(_bar(result.models[i], *span) for i, span in zip(order, spans))
    label = escape_matplotlib_name(result.measure, MAX_MEASURE_NAME_LENGTH)
    label = label if result.score == "similarity" else f"{SCORE_TITLES[result.score]}\n{label}"
    label += f"\nmean over {len(result.subjects)} subjects"
    figure = Bars("model_scores", result.measure, label, bars, is_dotted=True)
    names = f"mean, {level} interval", f"not above 0 (p > {ALPHA:g})"
    with paint_bars(figure, ax, entries=4, hollow=np.flatnonzero(~is_above[order])) as rows:
        axes, marks = rows
        legend = {"a subject": _draw_subject_scores(axes, result.values[:, order])}
        legend |= {name: mark for name, mark in zip(names, marks) if mark is not None}
        if result.ceiling:
            low, _, high = result.ceiling
            band = axes.axvspan(low, high, color=SLATE_GRAY, alpha=0.3, zorder=0)
            legend["noise ceiling"] = band
        legend_above(axes, legend)
    return axes


def _draw_subject_scores(ax: Axes, values: np.ndarray) -> Any:
    """Draw the score of each subject in the row of each model; return the points."""
    places = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    style = {
        "marker": "o",
        "markersize": 2.5,
        "linestyle": "none",
        "color": SLATE_GRAY,
        "alpha": 0.6,
    }
    (points,) = ax.plot(values.ravel(), places.ravel(), zorder=1, **style)
    return points


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
    column : the number of the records to draw; by default the main number of the class.
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
    """The legend marks of bars: a value, a hollow value, and the threshold line."""

    value: Any
    hollow: Any
    threshold: Any


@contextmanager
def paint_bars(
    figure: Bars, ax: Axes | None = None, *, entries: int = 0, hollow: Collection[int] = ()
) -> Iterator[tuple[Axes, BarMarks]]:
    """Paint values in rows with their intervals; yield the axes, to which callers can add more, and
    the marks for a legend with ``entries`` entries.

    ``hollow``: the rows with hollow marks. Above a threshold that is a limit, marks are squares.
    """
    with named_rows(ax, [bar.name for bar in figure.bars], entries) as axes:
        level, is_over = figure.threshold, np.zeros(len(figure.bars), bool)
        if level is not None and figure.is_limit:
            is_over = np.array([bar.value > level for bar in figure.bars])
            for i, bar in enumerate(figure.bars):
                color = INTERVAL_RED if is_over[i] else INTERVAL_BLUE
                axes.hlines(i, level, bar.value, color=color, linewidth=3, alpha=0.25)
        is_hollow = np.isin(np.arange(len(figure.bars)), list(hollow))
        value = _draw_dots(axes, figure, ~is_over & ~is_hollow, INTERVAL_BLUE)
        hollow_marks = _draw_dots(axes, figure, is_hollow, INTERVAL_BLUE, is_hollow=True)
        _draw_dots(axes, figure, is_over & ~is_hollow, INTERVAL_RED, mark="s")
        line = None if level is None else _draw_threshold(axes, level)
        if figure.log_x:
            _format_log_axis(axes, figure.span)
        axes.set_xlabel(figure.x)
        yield axes, BarMarks(value, hollow_marks, line)


def _draw_dots(
    ax: Axes,
    figure: Bars,
    is_drawn: np.ndarray,
    color: str,
    *,
    is_hollow: bool = False,
    mark: str = "o",
) -> Any:
    """Draw the values of selected rows with their intervals; return the marks, or None without
    rows."""
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
    """Number the powers of ten of a span; smaller values are at the first tick."""
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
    """Yield axes with a row per name, the first on top, below a legend with ``entries`` entries."""
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
    """Put a legend of named marks above all rows."""
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    draw_legend(ax, list(marks.values()), list(marks), **place)


def _guide_style(ax: Axes) -> dict[str, Any]:
    style = {"color": SLATE_GRAY, "alpha": 0.25, "linewidth": 0.5, "zorder": 0}
    return style | {"transform": ax.get_yaxis_transform()}
