"""The numbers of heat maps and the options of choices, as the program of a page reads them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..results.figures import Choice, HeatMap
from .colours import LEVELS, limits
from .maps import empty_map

FIGURES = 4  # significant digits of a value, as many as the pointer reads


class PageData(NamedTuple):
    """What the program of a page reads: numbers of maps and options of choices.

    And, by name, the empty maps into which it puts cells.
    """

    document: dict[str, Any]
    frames: dict[str, str]


def page_data(figures: Iterable[tuple[str, HeatMap | Choice]]) -> PageData:
    """Return the numbers of heat maps and choices by their places on a page.

    Equal ones are stored once.
    """
    figures = list(figures)
    choices = {place: figure for place, figure in figures if isinstance(figure, Choice)}
    heats = {place: figure for place, figure in figures if isinstance(figure, HeatMap)}
    for place, choice in choices.items():
        heats |= {f"{place}-{i}": heat for i, heat in enumerate(choice.maps)}
    axes = dict.fromkeys(names for heat in heats.values() for names in (heat.rows, heat.columns))
    numbers = {names: i for i, names in enumerate(axes)}
    if not heats:
        return PageData({}, {})
    titles: dict[tuple[tuple[str, ...], ...], str] = {}
    document = {
        "levels": LEVELS,
        "names": list(axes),
        "maps": _once(
            {
                place: _map_data(heat, numbers)
                | _titles(heat.titles, titles.setdefault(heat.titles, place), place)
                for place, heat in heats.items()
            }
        ),
        "choices": {place: _choice_data(choice) for place, choice in choices.items()},
    }
    frames = dict[str, str]()
    for heat in (heat for choice in choices.values() for heat in choice.maps):
        name = f"frame-{numbers[heat.rows]}-{numbers[heat.columns]}"
        if name not in frames:
            frames[name] = empty_map(heat.rows, heat.columns)
    return PageData(document, frames)


def _once(maps: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the data of maps; of those that differ in title only, all but the first name it."""
    places, data = dict[str, str](), dict[str, dict[str, Any]]()
    for place, entries in maps.items():
        rest = {name: entry for name, entry in entries.items() if name not in ("title", "titles")}
        first = places.setdefault(json.dumps([rest, "titles" in entries]), place)
        data[place] = entries
        if first != place:
            data[place] = {n: e for n, e in entries.items() if n not in rest} | {"like": first}
    return data


def _map_data(heat: HeatMap, numbers: Mapping[tuple[str, ...], int]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "title": heat.title,
        "rows": numbers[heat.rows],
        "columns": numbers[heat.columns],
        "span": [_brief(end, 6) for end in limits(heat)],
        "values": _packed(heat.values, FIGURES),
    }
    if heat.chance:
        data["chance"] = _packed(heat.chance, 2)
    hatched = [i * len(heat.columns) + j for i, j in heat.hatched]
    flags = {"diverging": heat.is_diverging, "reversed": heat.is_reversed, "hatched": hatched}
    return data | {name: flag for name, flag in flags.items() if flag}


def _titles(titles: tuple[tuple[str, ...], ...], first: str, place: str) -> dict[str, Any]:
    """Return what the pointer reads in the cells of a map, or the ``first`` map with the same."""
    words = {f"{i},{j}": text for i, row in enumerate(titles) for j, text in enumerate(row) if text}
    if not words:
        return {}
    return {"titles": words if first == place else first}


def _choice_data(choice: Choice) -> dict[str, Any]:
    words = list(dict.fromkeys(word for option in choice.options for word in option.choices))
    numbers = {word: i for i, word in enumerate(words)}
    options = [
        ([numbers[word] for word in o.choices], o.maps, *((o.note,) if o.note else ()))
        for o in choice.options
    ]
    data = {"selectors": choice.selectors, "words": words, "options": options}
    return data | ({"groups": choice.groups} if choice.groups else {})


def _packed(values: Sequence[Sequence[float | None]], figures: int) -> list[float | int | None]:
    """Return the values in one row, of a symmetric map those from the diagonal up."""
    size = len(values)
    is_square = size > 1 and all(len(row) == size for row in values)
    if is_square and tuple(map(tuple, values)) == tuple(zip(*values)):
        return [_brief(value, figures) for i, row in enumerate(values) for value in row[i:]]
    rows = [[_brief(value, figures) for value in row] for row in values]
    is_same = is_square and all(rows[i][j] == rows[j][i] for i in range(size) for j in range(i))
    return [value for i, row in enumerate(rows) for value in (row[i:] if is_same else row)]


def _brief(value: float | None, figures: int) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{figures}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
