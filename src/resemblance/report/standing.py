"""The mean ranks of the measures over all cells of a result, as figures for a page."""

from __future__ import annotations

from ..results.figures import Bars, Diagram
from ..results.headlines import RESAMPLING
from ..results.result import Result
from ..results.standing import AXIS, JOINED, TIES, rank_bars, tie_diagram
from .numbers import counted


def standing(result: Result) -> Bars | None:
    """Return the mean ranks of the measures, best first; of a trial by name.

    With the intervals of differences from the leader where these mean anything.
    """
    places = result.places()
    if not places.rows:
        return None
    is_sure = places.is_settling and not result.is_trial
    order = [place.measure for place in places.rows]
    bars = list(rank_bars(places, result.labels, order, is_sure=is_sure))
    if result.is_trial:
        bars.sort(key=lambda bar: bar.name)
    note = (
        f"Rank among all measures, 1 for the best, averaged over {counted(places.cells, 'cell')} "
        "of this run; a measure without a value in a cell is ranked behind all that have one."
    )
    note = f"{note} {RESAMPLING} {TIES} {JOINED}" if is_sure else note
    level = places.rows[0].mean if is_sure else None
    span = (1.0, float(len(bars)))
    return Bars("standing", "Mean ranks", AXIS, tuple(bars), note, level, span, is_dotted=True)


def ties_of(result: Result) -> Diagram | None:
    """Return which measures of a result cannot be told apart; None of a trial, and where there are
    too few cells or measures."""
    return None if result.is_trial else tie_diagram(result.places(), result.labels)
