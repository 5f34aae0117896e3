"""The board in words: places, views of it, and what measures claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..citations import PAPERS_OF
from ..claims import INVARIANCES
from ..report.numbers import counted, number
from ..results.headlines import headline, listed, without_each
from ..results.standing import place_words
from ..significance import SETTLING, Place
from ..suites import SUITES
from ..suites.reliability import LEAST_RELIABILITY
from .score_files import MeasureCard
from .views import View


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
    ends = f"95 %: {place.low:.1f} to {place.high:.1f}"
    return (
        f"Place {place_words(place)} of {count}, with a mean rank of {place.mean:.2f} ({ends}). "
        f"A measure that guesses has about {(count + 1) / 2:g}."
    )


def view_words(view: View, labels: Mapping[str, str]) -> str:
    """Return what a view shows: which measure leads there, or why there is no order."""
    cells = sum(view.counts.values())
    if view.is_settled:
        parts = (headline(view.places, labels), without_each(view.places, labels), _counts(view))
        return " ".join(filter(None, (*parts, unranked_words(view))))
    if max(view.counts.values(), default=0) < SETTLING:
        have = "cell tells" if cells == 1 else "cells tell"
        return (
            f"Too few cells for an order: {cells} {have} these measures apart, and with fewer than "
            f"{SETTLING} of a suite even the first in all of them may be so by chance. "
            f"{unranked_words(view)}"
        ).rstrip()
    return "There are not two measures with scores here, so there is no order."


def unranked_words(view: View) -> str:
    """Return how many cells are shown and not ranked, and why; nothing of none."""
    if not view.unranked:
        return ""
    return (
        f"Shown, but not ranked: {counted(view.unranked, 'cell')} whose expected differences do "
        f"not repeat on other inputs (reliability below {LEAST_RELIABILITY})."
    )


def _counts(view: View) -> str:
    if len(view.counts) < 2:
        return ""
    parts = [f"{count} in {suite}" for suite, count in view.counts.items()]
    return f"Cells: {listed(parts)}; every suite that decides counts alike."


def own_suites(card: MeasureCard) -> tuple[str, ...]:
    """Return the suites that are from the paper of a measure, which may be good at them for that
    reason."""
    return tuple(suite for suite in SUITES if card.reference in PAPERS_OF[suite])


def own_words(cards: Iterable[MeasureCard], labels: Mapping[str, str]) -> str:
    """Return what a star at a measure means, and at which it is; nothing of none."""
    suites = {labels[card.spec]: own_suites(card) for card in cards}
    names = [f"{label} ({', '.join(of)})" for label, of in suites.items() if of]
    return f"* One of the suites is from its own paper: {', '.join(names)}." if names else ""
