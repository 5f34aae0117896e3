"""The ranking of measures in a run of a suite: mean ranks, and the ranks in all tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.formatting import count_with_noun
from ..catalogue import get_measure
from ..report.chapters import mean_rank_chart
from ..sections.figures import Box, Boxes
from ..sections.headlines import TRIAL_WARNING
from ..sections.result import Result
from ._intervals import legend_above, named_rows, paint_bars
from ._style import COLORBLIND_PALETTE, SLATE_GRAY, Axes, draw_legend, matplotlib_setting

OTHER_FAMILY = "other"  # family of a measure missing from the catalogue
BOX_HALF_HEIGHT = 0.31  # half the height of a box, in rows


def ranks(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the mean rank of each measure over the tasks of a run, the best first; return the axes.

    Mean ranks are of these tasks alone, without intervals.

    Parameters
    ----------
    result : the return value of a suite or of :func:`resemblance.load`.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result, and for a result without ranks.
    """
    figure, rankings = mean_rank_chart(_require_result("ranks", result)), result.mean_ranks()
    if figure is None:
        raise ValueError(f"plot.ranks: no measure has a rank in this run of {result.suite}")
    cells = count_with_noun(max(len(r.ranks) for r in rankings), "task")
    figure = figure._replace(x=f"mean rank over {cells}; 1 is best")
    with paint_bars(figure, ax, entries=1) as (axes, marks):
        legend_above(axes, {"mean rank": marks.value})
        _format_rank_axis(axes, len(figure.bars))
        if result.is_trial:
            axes.set_title(TRIAL_WARNING, pad=18)
    return axes


def box(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the ranks of each measure in all tasks of a run as a box plot; return the axes.

    Boxes show the quartiles and the median, whiskers reach the farthest ranks within 1.5 box
    lengths, and points are ranks beyond the whiskers. The best median comes first. Colours are the
    families of measures.

    Parameters
    ----------
    result : the return value of a suite or of :func:`resemblance.load`.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result, and for a result without ranks.
    """
    boxes = _boxes_by_measure(_require_result("box", result))
    if not boxes:
        raise ValueError(f"plot.box: no measure has a rank in this run of {result.suite}")
    tasks = count_with_noun(max(len(b.values) for b in boxes), "task")
    title = TRIAL_WARNING if result.is_trial else ""
    span = (1.0, float(len(boxes)))
    figure = Boxes("ranks", title, f"rank in {tasks}; 1 is best", tuple(boxes), span=span)
    axes = paint_boxes(figure, ax)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return axes


def paint_boxes(figure: Boxes, ax: Axes | None = None) -> Axes:
    """Paint box plots in rows, row 0 on top, in a new figure or in ``ax``; return the axes.

    Groups get colours in alphabetical order; no group, or ``"other"``, is grey.
    """
    groups = sorted({b.group for b in figure.boxes} - {OTHER_FAMILY, ""})
    colors = {g: COLORBLIND_PALETTE[i % len(COLORBLIND_PALETTE)] for i, g in enumerate(groups)}
    with named_rows(ax, [b.name for b in figure.boxes]) as axes:
        marks = {
            b.group: _draw_box(axes, b, i, colors.get(b.group, SLATE_GRAY))
            for i, b in enumerate(figure.boxes)
        }
        names = [group.replace("_", " ") for group in marks]
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        draw_legend(axes, list(marks.values()), names, **place)
        values = [value for b in figure.boxes for value in b.values]
        low, high = figure.span or (min(values), max(values))
        axes.set_xlim(min(low, *values) - 0.5, max(high, *values) + 0.5)
        axes.set_xlabel(figure.x)
        axes.set_title(figure.title)
    return axes


def _require_result(function: str, result: Any) -> Result:
    if not isinstance(result, Result):
        raise ValueError(
            f"plot.{function} draws the Result of a suite; got {type(result).__name__}"
        )
    return result


def _format_rank_axis(ax: Axes, count: int) -> None:
    ax.set_xlim(0.5, count + 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)


def _boxes_by_measure(result: Result) -> list[Box]:
    cells: dict[str, list[float]] = {}
    for rank_by_measure in result.ranks().values():
        for measure, rank in rank_by_measure.items():
            cells.setdefault(measure, []).append(rank)
    boxes = [
        Box(result.labels.get(m, m), tuple(values), group=_measure_family(m))
        for m, values in cells.items()
    ]
    return sorted(boxes, key=lambda b: (np.median(b.values), np.mean(b.values), b.name))


def _measure_family(measure: str) -> str:
    try:
        return get_measure(measure).family
    except ValueError:
        return OTHER_FAMILY


def _draw_box(ax: Axes, box: Box, row: int, color: str) -> Any:
    ranks = np.array(box.values)
    lower, median, upper = np.percentile(ranks, [25, 50, 75])
    reach = 1.5 * (upper - lower)
    is_inside = (ranks >= lower - reach) & (ranks <= upper + reach)
    inliers, outliers = ranks[is_inside], ranks[~is_inside]
    ends = [(min(inliers.min(), lower), lower), (upper, max(inliers.max(), upper))]
    ax.hlines([row, row], *zip(*ends), color=color, linewidth=1)
    style = {"facecolor": color, "alpha": 0.45, "edgecolor": color, "linewidth": 0.9}
    (body,) = ax.barh(
        row, max(upper - lower, 0.02), 2 * BOX_HALF_HEIGHT, left=lower, zorder=2, **style
    )
    ax.vlines(
        median,
        row - BOX_HALF_HEIGHT,
        row + BOX_HALF_HEIGHT,
        color=matplotlib_setting("text.color"),
        linewidth=1.5,
        zorder=3,
    )
    ax.plot(outliers, np.full(len(outliers), row), ".", color=color, markersize=2.5)
    return body
