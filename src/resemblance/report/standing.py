"""The mean ranks of the measures over all cells of a result, as bars for a page."""

from __future__ import annotations

from ..results.figures import Bar, Bars
from ..results.headlines import RESAMPLING
from ..results.result import Result
from ..significance import Place
from .numbers import counted


def standing(result: Result) -> Bars | None:
    """Return the mean ranks of the measures, best first; of a trial by name.

    With intervals where these mean anything.
    """
    places = result.places()
    if not places.rows:
        return None
    is_sure = places.is_settling and not result.is_trial
    bars = [
        _bar(place, result.labels.get(place.measure, place.measure), is_sure)
        for place in places.rows
    ]
    if result.is_trial:
        bars.sort(key=lambda bar: bar.name)
    note = (
        f"Rank among all measures, 1 for the best, averaged over {counted(places.cells, 'cell')} "
        "of this run; a measure without a value in a cell is ranked behind all that have one."
    )
    note = f"{note} {RESAMPLING}" if is_sure else note
    axis, span = "mean rank, 1 is the best", (1.0, float(len(bars)))
    return Bars("standing", "Mean ranks", axis, tuple(bars), note, span=span, is_dotted=True)


def _bar(place: Place, label: str, is_sure: bool) -> Bar:
    return Bar(label, place.mean, place.low, place.high) if is_sure else Bar(label, place.mean)
