"""The figures behind ``.plot()``: the plot functions for each type of result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from ..base.results import BaseResult
from ..base.text import did_you_mean
from ..comparison.comparison import Comparison
from ..engine._scale_curve import ScaleCurve
from ..inference import ModelScores, TimeCourses
from ..inference.result import Evidence
from ..sections.figures import Bars, Boxes, Chart, Dendrogram, Figure, HeatMap
from ..sections.result import Result
from ..versions import DriftReport
from ._intervals import drift, intervals, model_scores, paint_bars, points
from ._ranks import box, paint_boxes, ranks
from ._style import Axes
from ._time_courses import time_courses
from .curves import layers, paint_chart, scale_curve
from .embeddings import mds, paint_plane, paint_tree, tree
from .maps import heatmap, paint_heat_map

PAIR_PLOTS: Mapping[str, Callable[..., Axes]] = {
    "heatmap": heatmap, "layers": layers, "mds": mds, "tree": tree,
}  # fmt: skip
PLOTS_BY_TYPE: Mapping[type, Mapping[str, Callable[..., Axes]]] = {
    Comparison: PAIR_PLOTS,
    Evidence: {**PAIR_PLOTS, "intervals": intervals},
    Result: {"ranks": ranks, "box": box},
    DriftReport: {"drift": drift},
    ModelScores: {"model_scores": model_scores},
    TimeCourses: {"time_courses": time_courses},
    ScaleCurve: {"scale_curve": scale_curve},
}


def draw(result: Any, *arguments: Any, kind: str | None = None, **options: Any) -> Axes:
    """Draw a result with one of the plot functions for its type; return the axes.

    ``kind`` is the name of a function of this module, for example "heatmap"; by default the first
    for the type of the result. The other arguments are passed to the function.

    Raises ``ValueError`` for anything but a result, for an unknown kind, and for a measure of a
    kind that draws no choice of measures.
    """
    if not isinstance(result, BaseResult):
        raise ValueError(f"plot.draw draws results; got {type(result).__name__}")
    default_kinds = {"points": points}
    kinds = next(
        (plots for type_, plots in PLOTS_BY_TYPE.items() if isinstance(result, type_)),
        default_kinds,
    )
    choice = next(iter(kinds)) if kind is None else kind
    if choice not in kinds:
        name = type(result).__name__
        raise ValueError(f"no kind of figure {choice!r} of a {name}{did_you_mean(choice, kinds)}")
    kinds_of_argument = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    parameters = signature(kinds[choice]).parameters.values()
    if len(arguments) >= sum(p.kind in kinds_of_argument for p in parameters):
        raise ValueError(
            f"plot.{choice} draws the whole {type(result).__name__}, and takes no measure; leave "
            f"{arguments[-1]!r} out"
        )
    return kinds[choice](result, *arguments, **options)


def paint(figure: Figure, ax: Axes | None = None) -> Axes:
    """Paint a figure of a page in a new figure or in ``ax``; return the axes.

    Raises ``ValueError`` for a kind of figure that only pages draw.
    """
    match figure:
        case Chart():
            return paint_plane(figure, ax) if figure.is_plane else paint_chart(figure, ax)
        case Bars():
            with paint_bars(figure, ax) as (axes, _):
                return axes
        case Boxes():
            return paint_boxes(figure, ax)
        case HeatMap():
            return paint_heat_map(figure, ax, scale=figure.title)
        case Dendrogram():
            return paint_tree(figure, ax)
    raise ValueError(f"plot: only a page draws a {type(figure).__name__}")
