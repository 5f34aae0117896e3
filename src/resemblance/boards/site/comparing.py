"""Pairs of measures: how far their mean ranks are apart, and in how many cells each is ahead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...results.values import known
from ...significance import Duel, duels
from .content import Content

DECIMALS = 3  # of scores and ranks that the page holds


class Neighbour(NamedTuple):
    """A measure near another in the ranking: how far it is behind, with the interval that holds for
    all pairs at once, and whether the two cannot be told apart."""

    spec: str
    behind: float
    low: float
    high: float
    is_tied: bool


def neighbours(content: Content, spec: str, most: int) -> tuple[Neighbour, ...]:
    """Return the nearest measures in the ranking, at most so many on either side."""
    order = list(content.places)
    at = order.index(spec)
    near = [*order[max(at - most, 0) : at], *order[at + 1 : at + 1 + most]]
    return tuple(_neighbour(content, spec, other) for other in near)


def _neighbour(content: Content, spec: str, other: str) -> Neighbour:
    places = content.board.ranks.places
    low, high = places.differences[other, spec]
    behind = content.places[other].mean - content.places[spec].mean
    return Neighbour(other, behind, low, high, other in places.tied_with(spec))


def pairs_page(content: Content) -> dict[str, Any]:
    """Return what the page of pairs shows: the data from which its script selects."""
    order = list(content.places)
    keys = [(suite, *key) for suite, cells in content.board.ranks.cells.items() for key in cells]
    cells = content.board.ranks.cells
    counts = duels({key: cells[key[0]][key[1:]] for key in keys})
    scores = {suite: result.scores() for suite, result in content.board.results.items()}
    return {
        "count": len(order),
        "options": [(content.slugs[s], content.labels[s]) for s in order],
        "data": {
            "slugs": [content.slugs[s] for s in order],
            "labels": [content.labels[s] for s in order],
            "cells": keys,
            "ranks": [_rounded(cells[key[0]][key[1:]][s] for s in order) for key in keys],
            "scores": [_rounded(scores[key[0]][key[1:]].get(s) for s in order) for key in keys],
            "pairs": [
                _pair(content, one, other, counts[one, other], counts[other, one])
                for i, one in enumerate(order)
                for other in order[i + 1 :]
            ],
        },
    }


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    numbers = map(known, values)
    return [None if value is None else round(value, DECIMALS) for value in numbers]


def _pair(content: Content, one: str, other: str, won: Duel, lost: Duel) -> list[float | None]:
    """Return how far the second is behind the first, the interval of that, and in how many cells
    the first is better, equal and worse."""
    low, high = content.board.ranks.places.differences[other, one]
    behind = content.places[other].mean - content.places[one].mean
    return [*_rounded([behind, low, high]), won.better, won.tied, lost.better]
