"""The first page: the joint ranking, and every other view of the board that a reader can select."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...report.numbers import duration
from ...results.standing import PLACES, place_words, tie_diagram
from ...significance import Place
from ...suites import SUITES
from ..views import ALL, CellSet, MeasureSet, View, cell_sets, measure_sets, seconds_of
from ..words import own_suites, own_words, view_words
from .content import Content
from .tables import drawn

SEPARATOR = "|"  # between the keys of a view
FIGURES = 2  # decimals of ranks


class Ranked(NamedTuple):
    """A row of the ranking: a measure, and where it stands; without ``at`` it has no place.

    ``at``: its mean rank and the ends of the interval, in percent of the axis.
    """

    number: int
    spec: str
    label: str
    address: str
    family: str
    cost: str
    seconds: float
    place: Place | None
    words: str
    own: str
    at: tuple[float, float, float] | None


class Menu(NamedTuple):
    """The options of a switch below one heading: pairs of a key and a name."""

    heading: str
    options: tuple[tuple[str, str], ...]


def ranking_page(content: Content, views: Sequence[View]) -> dict[str, Any]:
    """Return what the first page shows: the view of all, and the others to select."""
    whole = next(v for v in views if v.cells.key == v.measures.key == ALL)
    ties = tie_diagram(whole.places, content.labels)
    return {
        "ties": ties and drawn(ties),
        "reading": PLACES,
        "own": own_words([content.board.cards[spec] for spec in content.order], content.labels),
        "rows": tuple(_rows(content, whole)),
        "words": view_words(whole, content.labels),
        "is_settled": whole.is_settled,
        "count": len(whole.places.rows),
        "cells": sum(whole.counts.values()),
        "menus": {
            "cells": menus(cell_sets(content.board)),
            "measures": menus(measure_sets(content.board)),
        },
        "views": {key_of(v): _data(v, content) for v in views},
        "suites": [(suite, SUITES[suite]) for suite in content.board.results],
        "absent": _absent(content),
    }


def _rows(content: Content, whole: View) -> Iterator[Ranked]:
    for i, spec in enumerate(content.order):
        place, seconds = content.places.get(spec), seconds_of(content.board, spec)
        yield Ranked(
            i,
            spec,
            content.labels[spec],
            content.address(spec),
            content.board.cards[spec].family.replace("_", " "),
            duration(seconds),
            seconds,
            place,
            place_words(place) if place else "–",
            ", ".join(own_suites(content.board.cards[spec])),
            place and _at(place, len(whole.places.rows)),
        )


def _at(place: Place, count: int) -> tuple[float, float, float]:
    mean, low, high = (round(100 * (rank - 1) / max(count - 1, 1), 1) for rank in place[1:4])
    return mean, low, high


def menus(choices: Sequence[CellSet | MeasureSet]) -> tuple[Menu, ...]:
    """Return the options of a switch below their headings."""
    options: dict[str, list[tuple[str, str]]] = {}
    for choice in choices:
        options.setdefault(choice.group, []).append((choice.key, choice.name))
    return tuple(Menu(heading, tuple(pairs)) for heading, pairs in options.items())


def key_of(view: View) -> str:
    """Return the key of a view in the page."""
    return f"{view.cells.key}{SEPARATOR}{view.measures.key}"


def _data(view: View, content: Content) -> dict[str, Any]:
    """Return a view as the page stores it: its words, and a list for every place."""
    numbers = {spec: i for i, spec in enumerate(content.order)}
    rows = view.places.rows if view.is_settled else ()
    return {
        "words": view_words(view, content.labels),
        "rows": [_entries(p, numbers[p.measure]) for p in rows],
    }


def _entries(place: Place, i: int) -> list[Any]:
    ranks = [round(rank, FIGURES) for rank in (place.mean, place.low, place.high)]
    return [i, *ranks, place.position, place_words(place), int(place.is_tied)]


def _absent(content: Content) -> list[tuple[str, str, str]]:
    """Return the measures without a joint place: their address, name and suites without scores."""
    labels, files = content.board.ranks.labels, content.board.files
    absent = []
    for spec in (s for s in content.order if s not in labels):
        missing = ", ".join(suite for suite, of_suite in files.items() if spec not in of_suite)
        absent.append((content.address(spec), content.labels[spec], missing))
    return absent
