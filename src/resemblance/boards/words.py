"""The board in words: places, views of it, and what measures claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..declared import INVARIANCES
from ..report.numbers import number
from ..results.headlines import headline, listed
from ..significance import SETTLING, Place
from .score_files import MeasureCard
from .views import View


def place_words(place: Place) -> str:
    """Return the place of a measure with its interval: "3" or "3 to 6"."""
    return f"{place.best}" if place.best == place.worst else f"{place.best} to {place.worst}"


def claims_of(card: MeasureCard) -> dict[str, str]:
    """Return what a measure claims, in sentences by their subject."""
    more = "larger" if card.larger_is_more_similar else "smaller"
    yes = [name for name in INVARIANCES if name in card.invariant_to]
    no = [name for name in INVARIANCES if name not in card.invariant_to]
    return {
        "direction": f"The {more} its value, the more alike two representations are.",
        "range": f"Its values lie between {_end(card.range[0], '−∞')} and "
        f"{_end(card.range[1], '∞')}.",
        "order": "The order of the two representations does not matter."
        if card.symmetric
        else "The order of the two representations matters.",
        "metric": "It is a metric: it obeys the triangle inequality."
        if card.metric
        else "It does not claim to be a metric.",
        "unchanged by": f"{_names(yes)}.",
        "changed by": f"{_names(no)}.",
        "gradients": "It is differentiable."
        if card.differentiable
        else "It does not claim to be differentiable.",
    }


def _end(value: float | None, missing: str) -> str:
    return missing if value is None else number(value)


def _names(names: Sequence[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names) or "nothing listed"


def place_sentence(place: Place, count: int) -> str:
    """Return where a measure stands: "Place 3 to 6 of 49, mean rank 8.41 (95 %: 7.9 to 9.0)."."""
    interval = f"95 %: {place.low:.1f} to {place.high:.1f}"
    return (
        f"Place {place_words(place)} of {count}, with a mean rank of {place.mean:.2f} ({interval})."
    )


def view_words(view: View, labels: Mapping[str, str]) -> str:
    """Return what a view shows: which measure leads there, or why there is no order."""
    cells = sum(view.counts.values())
    if view.is_settled:
        return f"{headline(view.places, labels)} {_counts(view)}".rstrip()
    if cells < SETTLING:
        have = "cell tells" if cells == 1 else "cells tell"
        return (
            f"Too few cells for an order: {cells} {have} these measures apart, and with fewer than "
            f"{SETTLING} even the first in all of them may be so by chance."
        )
    return "There are not two measures with scores here, so there is no order."


def _counts(view: View) -> str:
    if len(view.counts) < 2:
        return ""
    parts = [f"{count} in {suite}" for suite, count in view.counts.items()]
    return f"Cells: {listed(parts)}; every suite counts alike."


def letters(view: View) -> dict[str, str]:
    """Return in which groups of ties every measure is: "a", "c" to "f" as "c–f".

    Two measures that share a letter cannot be told apart.
    """
    places: dict[str, list[int]] = {}
    for i, group in enumerate(view.places.groups):
        for spec in group:
            places.setdefault(spec, []).append(i)
    return {spec: _run(numbers[0], numbers[-1]) for spec, numbers in places.items()}


def _run(first: int, last: int) -> str:
    return _letter(first) if first == last else f"{_letter(first)}–{_letter(last)}"


def _letter(i: int) -> str:
    return chr(97 + i) if i < 26 else f"{_letter(i // 26 - 1)}{chr(97 + i % 26)}"
