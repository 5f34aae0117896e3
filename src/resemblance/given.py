"""What is given to compare: arrays, tables, models with layers, and lists and mappings of them,
each with a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

from .inputs import holds_named, is_single
from .measure import Measure
from .representation import Representation, as_representation
from .subject import Subject


def named_sides(
    rows: Any, columns: Any = None
) -> tuple[list[Representation], list[Representation] | None]:
    """Return the representations of the rows, and of the columns if they are others, each with a
    name.

    The layers of a model are called ``model/layer``. Models of one name are numbered: "ResNet",
    "ResNet 2".
    """
    models = _Models()
    first = [_representation(*entry) for entry in _entries(rows, "x", models)]
    return first, None if columns is None else [
        _representation(*entry) for entry in _entries(columns, "y", models)
    ]


class _Models:
    """The models met so far, by name: what numbers those that share one."""

    def __init__(self) -> None:
        self._met: dict[str, list[Subject]] = {}

    def title(self, model: Subject) -> str:
        same = self._met.setdefault(model.name, [])
        if not any(known is model for known in same):
            same.append(model)
        position = next(i for i, known in enumerate(same) if known is model)
        return model.name if position == 0 else f"{model.name} {position + 1}"


def _entries(given: Any, prefix: str, models: _Models) -> Iterator[tuple[str, Any]]:
    """Yield a name for everything given, also those that have one."""
    if isinstance(given, Subject):
        yield from _layers(models.title(given), given)
        return
    given = dict(given) if holds_named(given) else given
    if isinstance(given, Mapping):
        for name, data in given.items():
            yield from _layers(str(name), data)
        return
    if is_single(given) or not isinstance(given, Iterable):
        given = [given]
    for position, data in enumerate(given):
        if isinstance(data, Measure):
            raise ValueError("measures go by keyword: compare(representations, measures=[...])")
        yield from _layers(
            models.title(data) if isinstance(data, Subject) else _own_name(data, prefix, position),
            data,
        )


def _layers(name: str, data: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a model, or of a mapping from layers to arrays; anything else as it
    is."""
    layers = data.layers if isinstance(data, Subject) else data
    if not isinstance(layers, Mapping):
        yield name, data
        return
    for layer, array in layers.items():
        yield f"{name}/{layer}", array


def _own_name(data: Any, prefix: str, position: int) -> str:
    if isinstance(data, Representation) and data.name:
        return data.name
    return Path(data).stem if isinstance(data, str | Path) else f"{prefix}{position}"


def _representation(name: str, data: Any) -> Representation:
    found = as_representation(data, name)
    if found.name != name:
        found = copy(found)  # without its views: the one that was given keeps its name
        found.name = name
    return found
