"""Values below each other with their intervals: scores of pairs, and drifts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..contracts._measure import Measure
from ..inference import ModelScores
from ..inference.result import Evidence
from ..report.evidence_words import ALPHA, PairResult, format_level, measure_results
from ..report.numbers import format_number
from ..report.of_drift import drift_result
from ..sections.figures import Bar, Bars
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

INTERVAL_ROW_INCHES, INTERVAL_MARGIN_INCHES = (
    0.17,
    0.62,
)  # inches of a row, and of what is above and below all
MAX_PAIRS_PER_FIGURE = 120  # in one figure
MAX_CHARACTERS_PER_LINE = 40  # characters below an axis
MAX_MEASURE_NAME_LENGTH = 48  # characters of the name of a measure
INTERVAL_BLUE, INTERVAL_RED = COLORBLIND_PALETTE[0], COLORBLIND_PALETTE[3]


def intervals(
    evidence: Evidence,
    measure: str | Measure | None = None,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of pairs with their intervals, the most similar first; return the axes.

    A line across marks chance. Hollow points are not beyond chance (adjusted p above 0.05).

    Parameters
    ----------
    evidence : what :func:`resemblance.evidence` returns.
    measure : which of its measures; may be left out where there is one.
    pairs : names of rows and columns; by default all pairs that are tested.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``KeyError`` for a measure or a name that the evidence has not, and ``ValueError`` for
    what is no evidence, and for none or more than 120 pairs.
    """
    if not isinstance(evidence, Evidence):
        remedy = "; plot.across draws it" if isinstance(evidence, ModelScores) else ""
        raise ValueError(f"plot.intervals draws an Evidence; got {type(evidence).__name__}{remedy}")
    info = measure_to_plot("intervals", evidence.comparison, measure)
    known = next(of for of in measure_results(evidence) if of.info == info)
    chosen = [p for p in known.pairs if not p.is_self and math.isfinite(p.value)]
    if pairs is not None:
        at = [evidence.place(*pair) for pair in pairs]
        chosen = [known.cells[i][j] for i, j in at]
    if not 1 <= len(chosen) <= MAX_PAIRS_PER_FIGURE:
        raise ValueError(
            f"plot.intervals draws from 1 to {MAX_PAIRS_PER_FIGURE} pairs with values; got "
            f"{len(chosen)}; choose some by pairs=[(row, column), ...]"
        )
    sign = -1 if info.larger_is_more_similar else 1
    chosen.sort(key=lambda pair: sign * pair.value)
    names = [f"{pair.x} – {pair.y}" for pair in chosen]
    with named_rows(ax, names, 3) as drawn:
        _draw_pair_scores(drawn, chosen, format_level(evidence))
        drawn.set_xlabel(measure_axis_label(info))
    return drawn


def _draw_pair_scores(ax: Axes, pairs: Sequence[PairResult], level: str) -> None:
    marks, labels = list[Any](), list[str]()
    words = {True: f"value, {level} interval", False: f"not beyond chance (p > {ALPHA:g})"}
    for is_sure in (True, False):
        at = [i for i, p in enumerate(pairs) if (p.is_beyond or not p.is_tested) == is_sure]
        if at:
            spans = [(pairs[i].value, pairs[i].low, pairs[i].high) for i in at]
            marks.append(draw_interval_dots(ax, at, spans, INTERVAL_BLUE, is_hollow=not is_sure))
            labels.append(words[is_sure])
    chance = [(p.chance, i) for i, p in enumerate(pairs) if math.isfinite(p.chance)]
    if chance:
        style = {"marker": "|", "markersize": 9, "color": matplotlib_setting("text.color")}
        (mark,) = ax.plot(*zip(*chance), linestyle="none", **style)
        marks, labels = [*marks, mark], [*labels, "chance"]
    legend_above(ax, marks, labels)


def drift(report: DriftReport, *, ax: Axes | None = None) -> Axes:
    """Draw how many times its threshold each drift of a report is; return the axes.

    The axis is logarithmic; the line at 1 is the threshold. Drifts beyond it are squares. The
    thin line of a drift is its 95 % interval. Drifts that have no value, or no threshold, are named
    below the axis.

    Parameters
    ----------
    report : what :func:`resemblance.drift` returns.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``ValueError`` for what is no report of drift, and where no drift has a threshold.
    """
    if not isinstance(report, DriftReport):
        raise ValueError(f"plot.drift draws a DriftReport; got {type(report).__name__}")
    figure = next(f for f in drift_result(report)["drifts"].figures if isinstance(f, Bars))
    if not figure.bars:
        raise ValueError("plot.drift: no drift of this report has a value and a threshold")
    with named_rows(ax, [bar.name for bar in figure.bars], 2) as chosen:
        _draw_drift_ratios(chosen, figure.bars)
        low, high = figure.span or (0.1, 100.0)
        chosen.set_xscale("log")
        powers = 10.0 ** np.arange(round(np.log10(low)), round(np.log10(high)) + 1)
        chosen.set_xticks(
            powers, [f"≤ {format_number(low)}", *(format_number(p) for p in powers[1:])]
        )
        chosen.set_xticks([], minor=True)
        chosen.set_xlim(0.8 * low, 1.25 * high)
        chosen.set_xlabel(f"{figure.x}{_drifts_without_threshold(report)}")
        chosen.set_title(escape_matplotlib_name(report.verdict.partition(". ")[0].rstrip("."), 60))
    return chosen


def across(result: ModelScores, *, ax: Axes | None = None) -> Axes:
    """Draw the mean score of each model with its interval, the most similar first; return the axes.

    Small grey points are the subjects. Hollow points are not above 0 (adjusted p above 0.05), by a
    measure for which that is chance. The band is the noise ceiling, from the scores of subjects
    with the others to the highest mean that a model can reach.

    Parameters
    ----------
    result : what :func:`resemblance.score_models` returns.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``ValueError`` for what is no result of ``across``.
    """
    if not isinstance(result, ModelScores):
        raise ValueError(f"plot.across draws an ModelScores; got {type(result).__name__}")
    order, is_above = result.order, np.ones(len(result.mean), bool)
    if result.is_0_by_chance:
        is_above = result.above_0() <= ALPHA
    words = {
        True: f"mean, {result.confidence_level * 100:g} % interval",
        False: f"not above 0 (p > {ALPHA:g})",
    }
    marks, labels = list[Any](), list[str]()
    with named_rows(ax, [result.models[i] for i in order], 4) as drawn:
        marks.append(_draw_subject_scores(drawn, result.values[:, order]))
        labels.append("a subject")
        for is_sure in (True, False):
            at = np.flatnonzero(is_above[order] == is_sure)
            if len(at):
                spans = [(result.mean[i], result.low[i], result.high[i]) for i in order[at]]
                marks.append(
                    draw_interval_dots(drawn, at, spans, INTERVAL_BLUE, is_hollow=not is_sure)
                )
                labels.append(words[is_sure])
        if result.ceiling:
            low, _, high = result.ceiling
            marks.append(drawn.axvspan(low, high, color=SLATE_GRAY, alpha=0.3, zorder=0))
            labels.append("noise ceiling")
        legend_above(drawn, marks, labels)
        of_subjects = f"mean over {len(result.subjects)} subjects"
        drawn.set_xlabel(
            f"{escape_matplotlib_name(result.measure, MAX_MEASURE_NAME_LENGTH)}\n{of_subjects}"
        )
    return drawn


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


def _draw_drift_ratios(ax: Axes, bars: Sequence[Bar]) -> None:
    ax.axvline(
        1.0, color=matplotlib_setting("text.color"), linewidth=0.9, linestyle=(0, (4, 2)), zorder=1
    )
    for is_over, color, mark in ((False, INTERVAL_BLUE, "o"), (True, INTERVAL_RED, "s")):
        at = [i for i, bar in enumerate(bars) if (bar.value > 1) == is_over]
        if at:
            spans = [(bars[i].value, *_bar_interval(bars[i])) for i in at]
            ax.hlines(at, 1.0, [span[0] for span in spans], color=color, linewidth=3, alpha=0.25)
            draw_interval_dots(ax, at, spans, color, mark=mark)


def _bar_interval(bar: Bar) -> tuple[float, float]:
    return (math.nan, math.nan) if bar.low is None or bar.high is None else (bar.low, bar.high)


def _drifts_without_threshold(report: DriftReport) -> str:
    names = [d.name.replace("_", " ") for d in report.drifts if d.value is None or not d.threshold]
    words = (
        textwrap.wrap(f"not judged: {', '.join(names)}", MAX_CHARACTERS_PER_LINE) if names else []
    )
    return "".join(f"\n{line}" for line in words)


# ------------------------------------------------------------------------------------------- shared


@contextmanager
def named_rows(ax: Axes | None, names: Sequence[str], entries: int = 0) -> Iterator[Axes]:
    """Yield axes with a row per name, the first on top, below a legend of so many entries."""
    texts = escape_matplotlib_names(names)
    room = max(estimate_text_width(text, 7) for text in texts) / POINTS_PER_INCH
    with axes_in_style(
        ax,
        max(COLUMN_WIDTH_INCHES, room + 2.2),
        INTERVAL_MARGIN_INCHES + INTERVAL_ROW_INCHES * len(names) + 0.13 * entries,
    ) as chosen:
        chosen.set_yticks(range(len(names)), texts)
        chosen.set_ylim(len(names) - 0.4, -0.6)
        chosen.tick_params("y", length=0)
        chosen.spines["left"].set_visible(False)
        chosen.hlines(range(len(names)), 0, 1, **_guide_style(chosen))
        yield chosen


def legend_above(ax: Axes, marks: Sequence[Any], names: Sequence[str]) -> None:
    """Put a legend on top of all rows."""
    draw_legend(ax, marks, names, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)


def _guide_style(ax: Axes) -> dict[str, Any]:
    style = {"color": SLATE_GRAY, "alpha": 0.25, "linewidth": 0.5, "zorder": 0}
    return style | {"transform": ax.get_yaxis_transform()}


def draw_interval_dots(
    ax: Axes,
    at: Sequence[int] | np.ndarray,
    spans: Sequence[tuple[float, float, float]],
    color: str,
    *,
    is_hollow: bool = False,
    mark: str = "o",
) -> Any:
    """Draw a value with its interval in each of some rows; return the marks."""
    values, low, high = zip(*spans)
    ax.hlines(at, low, high, color=color, linewidth=1.2, zorder=2)
    face = matplotlib_setting("axes.facecolor") if is_hollow else color
    style = {"marker": mark, "linestyle": "none", "color": color, "markerfacecolor": face}
    (marks,) = ax.plot(values, at, zorder=3, **style)
    return marks
