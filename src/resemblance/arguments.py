"""The arguments of compare: representations, each with a name, and measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

from .arrays import library
from .catalogue import get_measures, list_measures, preset
from .inputs import hint_of_counts, holds_named, is_single, transposition
from .measure import Measure, require
from .representation import Representation, as_representation, check_same_samples
from .subject import Subject


class Sides(NamedTuple):
    """The representations of the rows, and of the columns if they are others, each with a name."""

    rows: list[Representation]
    columns: list[Representation] | None

    @property
    def all(self) -> list[Representation]:
        """The representations of both sides."""
        return self.rows + (self.columns or [])


class Selection(NamedTuple):
    """The measures to compute, and those whose optional dependency is not installed."""

    measures: list[Measure]
    uninstalled: list[Measure]


def sides_of(rows: Any, columns: Any = None) -> Sides:
    """Return what is compared as representations with unique names.

    The layers of a model are called ``model/layer``. Models of one name are numbered: "ResNet",
    "ResNet 2".

    Raises ``ValueError`` when there is nothing to compare, when two have the same name, and when
    numbers of samples, sample ids or array libraries differ.
    """
    models = _Models()
    first = [_representation(*entry) for entry in _entries(rows, "x", models)]
    if columns is None:
        sides = Sides(first, None)
    else:
        sides = Sides(first, [_representation(*e) for e in _entries(columns, "y", models)])
    _check_names(sides)
    _check_samples(sides.all)
    return sides


def select_measures(measures: Any) -> Selection:
    """Return the measures asked for, or the default ones, of which some may not be installed.

    Raises ``ValueError`` for none, and for names or labels of two; ``ImportError`` for a measure
    asked for whose optional dependency is not installed.
    """
    if measures is None:
        default = preset("default")
        usable = [m for m in default if not m.extra or _is_installed(m)]
        return Selection(usable, [m for m in default if m not in usable])
    selected = get_measures([measures] if isinstance(measures, str | Measure) else measures)
    if not selected:
        raise ValueError("compare: measures is empty")
    for m in selected:
        require(m)
        _check_unique(m, selected)
    return Selection(selected, [])


# ------------------------------------------------------------------------------------------ entries


class _Models:
    """The models so far by name, so that those of one name can be numbered."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Subject]] = {}

    def title(self, model: Subject) -> str:
        namesakes = self._by_name.setdefault(model.name, [])
        if not any(other is model for other in namesakes):
            namesakes.append(model)
        position = next(i for i, other in enumerate(namesakes) if other is model)
        return model.name if position == 0 else f"{model.name} {position + 1}"


def _entries(argument: Any, prefix: str, models: _Models) -> Iterator[tuple[str, Any]]:
    """Yield each entry of an argument with its name, or with one made of the prefix."""
    if isinstance(argument, Subject):
        yield from _layers(models.title(argument), argument)
        return
    argument = dict(argument) if holds_named(argument) else argument
    if isinstance(argument, Mapping):
        for name, data in argument.items():
            yield from _layers(str(name), data)
        return
    if is_single(argument) or not isinstance(argument, Iterable):
        argument = [argument]
    for position, data in enumerate(argument):
        if isinstance(data, Measure):
            raise ValueError("measures go by keyword: compare(representations, measures=[...])")
        is_model = isinstance(data, Subject)
        name = models.title(data) if is_model else _default_name(data, f"{prefix}{position}")
        yield from _layers(name, data)


def _layers(name: str, data: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a model or of a mapping to arrays by name; anything else unchanged."""
    layers = data.layers if isinstance(data, Subject) else data
    if not isinstance(layers, Mapping):
        yield name, data
        return
    for layer, array in layers.items():
        yield f"{name}/{layer}", array


def _default_name(data: Any, fallback: str) -> str:
    if isinstance(data, Representation) and data.name:
        return data.name
    return Path(data).stem if isinstance(data, str | Path) else fallback


def _representation(name: str, data: Any) -> Representation:
    representation = as_representation(data, name)
    if representation.name != name:
        representation = copy(representation)  # without views: the caller's own keeps its name
        representation.name = name
    return representation


# ----------------------------------------------------------------------------------------- checking


def _check_names(sides: Sides) -> None:
    if not sides.rows or sides.columns == []:
        raise ValueError("compare: there is nothing to compare")
    for side in (sides.rows, sides.columns or []):
        names = [r.name for r in side]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"compare: two representations are called {twice[0]!r}; names must be unique"
            )


def _check_samples(representations: Sequence[Representation]) -> None:
    first = representations[0]
    with_ids = next((r for r in representations if r.ids is not None), first)
    for r in representations:
        if r.shape[0] != first.shape[0]:
            hint = transposition(first.shape, r.shape, (repr(first.name), repr(r.name)))
            hint = hint_of_counts(r.shape[0], first.shape[0]) or hint
            raise ValueError(
                f"compare: {first.name!r} has {first.shape[0]} samples (rows) and {r.name!r} has "
                f"{r.shape[0]}; all must be representations of the same samples{hint}"
            )
        check_same_samples("compare", with_ids, r)
        one, another = (f"{library(s.source)} in {s.precision}" for s in (first, r))
        if one != another:
            raise ValueError(
                f"compare: {first.name!r} is computed by {one} and {r.name!r} by {another}; "
                "convert one"
            )


def _check_unique(m: Measure, selected: Sequence[Measure]) -> None:
    """Raise ``ValueError`` if another measure has the name or the label of this one."""
    namesake = next((other for other in [*list_measures(), *selected] if other.name == m.name), m)
    if namesake.function is not m.function:
        raise ValueError(
            f"compare: {m.function.__module__} has a measure called {m.name!r}, a name that is "
            "taken"
        )
    other = next((o for o in selected if o.label == m.label and o.name != m.name), None)
    if other:
        raise ValueError(
            f"compare: {m.name} and {other.name} are both labelled {m.label!r}; give one of them "
            "another label"
        )


def _is_installed(m: Measure) -> bool:
    try:
        require(m)
    except ImportError:
        return False
    return True
