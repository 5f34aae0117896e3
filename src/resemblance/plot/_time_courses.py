"""Scores of models over time, with the clusters of times."""

from __future__ import annotations

from ..inference import TimeCourses
from ..inference._time_courses import CLUSTER_LEVEL
from ..report.of_time_courses import time_course_chart
from ._style import Axes, series_style
from .arguments import check_result_to_plot
from .curves import paint_chart

CLUSTER_BAR_STEP = 0.04  # of the height of the axes, between the bars of two models


def time_courses(result: TimeCourses, *, ax: Axes | None = None) -> Axes:
    """Draw the mean score of each model at each time, with a band for the interval; return the
    axes.

    Bars below the curves are the clusters of times above 0 with p <= 0.05, in the colour of the
    model. Dotted lines are the lower and the upper noise ceiling; the dashed line is 0, for a
    measure with chance level 0.

    Parameters
    ----------
    result : the return value of :func:`resemblance.score_models_over_time`.
    ax : matplotlib axes to draw in; by default a new figure.

    Raises ``ValueError`` for any other type of result.
    """
    check_result_to_plot("time_courses", result, TimeCourses)
    chart = time_course_chart(result)
    clusters = [cluster for cluster in result.clusters if cluster.pvalue <= CLUSTER_LEVEL]
    label = f"time; bars: clusters, p ≤ {CLUSTER_LEVEL:g}" if clusters else "time"
    axes = paint_chart(chart._replace(x=label), ax)
    models = [model for model in result.models if model in {c.model for c in clusters}]
    low, high = axes.get_ylim()
    step = CLUSTER_BAR_STEP * (high - low)
    for cluster in clusters:
        row = low - step * models.index(cluster.model)
        color = series_style(result.models.index(cluster.model)).color
        axes.hlines(row, cluster.start, cluster.stop, color=color, linewidth=3, zorder=3)
    if models:
        axes.set_ylim(low - step * len(models), high)
    return axes
