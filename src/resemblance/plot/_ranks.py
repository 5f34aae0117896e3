"""Where measures stand in a run of a suite: their mean ranks, and the ranks of all cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..catalogue import get_measure
from ..report.chapters import mean_rank_chart
from ..report.numbers import count_with_noun
from ..sections.figures import Box
from ..sections.headlines import TRIAL_WARNING
from ..sections.result import Result
from ._intervals import INTERVAL_BLUE, draw_interval_dots, legend_above, named_rows
from ._style import COLORBLIND_PALETTE, SLATE_GRAY, Axes, draw_legend, matplotlib_setting

TIED_BAND_COLOR = "#dfe5ea"
OTHER_FAMILY = "other"  # the family of a measure that the catalogue has not
BOX_HALF_HEIGHT = 0.31  # of the height of a box, in rows


def ranks(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the mean rank of each measure over the cells of a run, the best first; return the axes.

    Where there are enough cells, each measure has the 95 % interval of its difference from the
    leader, drawn from the mean rank of the leader, which is dashed; measures whose interval reaches
    it cannot be told from the leader, and are shaded. Elsewhere the dashed line is the mean of all
    measures, which is where measures would be that do not differ.

    Parameters
    ----------
    result : what a suite returns, or :func:`resemblance.sections.result.load_result` reads.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``ValueError`` for what is no result, and for one in which nothing is ranked.
    """
    figure, places = mean_rank_chart(_require_result("ranks", result)), result.places()
    if figure is None:
        raise ValueError(f"plot.ranks: no measure has a rank in this run of {result.suite}")
    with named_rows(ax, [bar.name for bar in figure.bars], 3) as chosen:
        spans = [
            (b.value, np.nan if b.low is None else b.low, np.nan if b.high is None else b.high)
            for b in figure.bars
        ]
        marks = [draw_interval_dots(chosen, range(len(spans)), spans, INTERVAL_BLUE)]
        is_sure = figure.threshold is not None
        mean = float(np.mean([place.mean for place in places.rows]))
        level = mean if figure.threshold is None else figure.threshold
        dashed = {
            "color": matplotlib_setting("text.color"),
            "linewidth": 0.9,
            "linestyle": (0, (4, 2)),
        }
        marks.append(chosen.axvline(level, zorder=1, **dashed))
        names = ["mean rank", "leader" if is_sure else "mean of all measures"]
        if is_sure:
            names[0] += ", 95 % interval of the difference"
            tied = [i for i, place in enumerate(places.rows) if place.is_tied]
            bands = [
                chosen.axhspan(i - 0.5, i + 0.5, color=TIED_BAND_COLOR, lw=0, zorder=-1)
                for i in tied
            ]
            marks, names = [*marks, bands[0]], [*names, "not told from the leader"]
        legend_above(chosen, marks, names)
        _format_rank_axis(
            chosen, len(spans), f"mean rank over {count_with_noun(places.cells, 'cell')}; 1 is best"
        )
        if result.is_trial:
            chosen.set_title(TRIAL_WARNING, pad=38)
    return chosen


def box(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the ranks of each measure in all cells of a run as a box; return the axes.

    Boxes are quartiles with the median, whiskers reach the farthest ranks within 1.5 box lengths,
    and points are those beyond. The best median comes first. Colours are the families of measures.

    Parameters
    ----------
    result : what a suite returns, or :func:`resemblance.sections.result.load_result` reads.
    ax : axes of matplotlib to draw in; by default those of a new figure.

    Raises ``ValueError`` for what is no result, and for one in which nothing is ranked.
    """
    boxes = _boxes_by_measure(_require_result("box", result))
    if not boxes:
        raise ValueError(f"plot.box: no measure has a rank in this run of {result.suite}")
    families = sorted({b.group for b in boxes} - {OTHER_FAMILY})
    colors = {
        f: COLORBLIND_PALETTE[i % len(COLORBLIND_PALETTE)] for i, f in enumerate(families)
    } | {OTHER_FAMILY: SLATE_GRAY}
    with named_rows(ax, [b.name for b in boxes]) as chosen:
        drawn = {
            b.group: _draw_rank_box(chosen, b, i, colors[b.group]) for i, b in enumerate(boxes)
        }
        names = [family.replace("_", " ") for family in drawn]
        draw_legend(
            chosen, list(drawn.values()), names, loc="center left", bbox_to_anchor=(1.0, 0.5)
        )
        cells = count_with_noun(max(len(b.values) for b in boxes), "cell")
        _format_rank_axis(chosen, len(boxes), f"rank in {cells}; 1 is best")
        if result.is_trial:
            chosen.set_title(TRIAL_WARNING)
    return chosen


def _require_result(function: str, result: Any) -> Result:
    if not isinstance(result, Result):
        raise ValueError(
            f"plot.{function} draws the Result of a suite; got {type(result).__name__}"
        )
    return result


def _format_rank_axis(ax: Axes, count: int, name: str) -> None:
    ax.set_xlim(0.5, count + 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel(name)


def _boxes_by_measure(result: Result) -> list[Box]:
    cells: dict[str, list[float]] = {}
    for of_cell in result.ranks().values():
        for measure, rank in of_cell.items():
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


def _draw_rank_box(ax: Axes, of: Box, at: int, color: str) -> Any:
    ranks = np.array(of.values)
    lower, median, upper = np.percentile(ranks, [25, 50, 75])
    reach = 1.5 * (upper - lower)
    is_inside = (ranks >= lower - reach) & (ranks <= upper + reach)
    inside, beyond = ranks[is_inside], ranks[~is_inside]
    ends = [(min(inside.min(), lower), lower), (upper, max(inside.max(), upper))]
    ax.hlines([at, at], *zip(*ends), color=color, linewidth=1)
    style = {"facecolor": color, "alpha": 0.45, "edgecolor": color, "linewidth": 0.9}
    (body,) = ax.barh(
        at, max(upper - lower, 0.02), 2 * BOX_HALF_HEIGHT, left=lower, zorder=2, **style
    )
    ax.vlines(
        median,
        at - BOX_HALF_HEIGHT,
        at + BOX_HALF_HEIGHT,
        color=matplotlib_setting("text.color"),
        linewidth=1.5,
        zorder=3,
    )
    ax.plot(beyond, np.full(len(beyond), at), ".", color=color, markersize=2.5)
    return body
