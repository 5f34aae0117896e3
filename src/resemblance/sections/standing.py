"""The ranking of measures as figures: mean ranks, and statistical ties."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from ..base.formatting import join_words
from ..significance import Place, Places
from .figures import Bar, Bars, Diagram
from .headlines import MAX_NAMES_IN_HEADLINE

MEAN_RANK_AXIS = "mean rank, 1 is the best"
RANK_BARS_NOTE = (
    "The line of a measure is the 95 % interval of its difference from the leader, drawn from the "
    "leader's mean rank, which is dashed: a measure whose line reaches that is tied with the "
    "leader."
)
TIE_DIAGRAM_NOTE = (
    "A bar joins neighbours of which no two can be told apart; measures without a common bar may "
    "be tied as well."
)
RANK_INTERVALS_NOTE = (
    "A place runs over all measures that a measure cannot be told from: 3 to 6 is tied with three "
    "others."
)


def format_rank_interval(place: Place) -> str:
    """Return the rank interval of a measure: "3" or "3 to 6"."""
    return f"{place.best}" if place.best == place.worst else f"{place.best} to {place.worst}"


def mean_rank_bars(
    places: Places, names: Mapping[str, str], order: Iterable[str], *, is_sure: bool
) -> tuple[Bar, ...]:
    """Return the mean ranks of measures in an order.

    If the order ``is_sure``, bars have the simultaneous intervals of the differences from the
    leader, shifted to the leader's mean rank, and cut at the first and the last rank.
    """
    by_measure = {place.measure: place for place in places.rows}
    rows = [by_measure[measure] for measure in order]
    if not is_sure:
        return tuple(Bar(names.get(p.measure, p.measure), p.mean) for p in rows)
    return tuple(_mean_rank_bar(place, places, names) for place in rows)


def _mean_rank_bar(place: Place, places: Places, names: Mapping[str, str]) -> Bar:
    leader, name = places.rows[0], names.get(place.measure, place.measure)
    low, high = place.simultaneous
    words = f"{name}: mean rank {place.mean:.2f}"
    if place is leader or math.isnan(low):
        return Bar(name, place.mean, note=words)
    first, last = (min(max(1.0, leader.mean + end), len(places.rows)) for end in (low, high))
    lag = f"{low:.2f} to {high:.2f} behind {names.get(leader.measure, leader.measure)}"
    tie_note = ", tied with it" if place.is_tied else ""
    note = f"{words}, {lag.replace('-', '−')}{tie_note}"
    return Bar(name, place.mean, float(first), float(last), note)


def mean_rank_figures(
    places: Places,
    names: Mapping[str, str],
    order: Iterable[str],
    title: str,
    *,
    worst: float,
    is_sure: bool,
    note: str = "",
) -> Iterator[Bars | Diagram]:
    """Yield the mean ranks of measures in an order, and if the order ``is_sure``, the
    critical-difference diagram; ``worst``: the last rank of the axis."""
    bars = mean_rank_bars(places, names, order, is_sure=is_sure)
    words = " ".join(filter(None, (RANK_BARS_NOTE * is_sure, note)))
    leader = places.rows[0].mean if is_sure else None
    yield Bars(
        "mean ranks", title, MEAN_RANK_AXIS, bars, words, leader, (1.0, worst), is_dotted=True
    )
    if is_sure and (diagram := tie_diagram(places, names)):
        yield diagram


def tie_diagram(places: Places, names: Mapping[str, str]) -> Diagram | None:
    """Return the critical-difference diagram of a ranking; None with fewer than two measures, or
    too few tasks to separate any measures."""
    if len(places.rows) < 2 or not places.is_settling:
        return None
    position = {place.measure: i for i, place in enumerate(places.rows)}
    return Diagram(
        "ties",
        "Which measures cannot be told apart",
        MEAN_RANK_AXIS,
        tuple(names.get(place.measure, place.measure) for place in places.rows),
        tuple(place.mean for place in places.rows),
        tuple((position[g[0]], position[g[-1]]) for g in places.groups if len(g) > 1),
        TIE_DIAGRAM_NOTE,
    )


def format_tied_measures(places: Places, measure: str, names: Mapping[str, str]) -> str:
    """Return the measures statistically tied with a measure, in words: "CKA and RSA", or "none"."""
    tied_names = [names.get(other, other) for other in places.tied_with(measure)]
    if len(tied_names) == len(places.rows) - 1 > 1:
        return "all others"
    return join_words(tied_names, MAX_NAMES_IN_HEADLINE) if tied_names else "none"
