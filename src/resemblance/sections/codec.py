"""Named tuples as JSON and back, by their annotations: the one way in which results are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from .figures import FIGURE_TYPES

NON_FINITE_NAMES = ("nan", "inf", "-inf")  # what is written for numbers that JSON cannot hold


def encode_value(value: Any) -> Any:
    """Return a value as JSON can hold it: named tuples as objects, figures with their kind."""
    if isinstance(value, Mapping):
        return {name: encode_value(part) for name, part in value.items()}
    if hasattr(value, "_fields"):
        kind = type(value).__name__
        fields = {name: encode_value(part) for name, part in value._asdict().items()}
        return {"kind": kind, **fields} if kind in FIGURE_TYPES else fields
    if isinstance(value, (tuple, list)):
        return [encode_value(part) for part in value]
    return value


def spell_non_finite(value: Any) -> Any:
    """Return an encoded value in which numbers that JSON cannot hold are words: "nan", "inf" and
    "-inf"."""
    if isinstance(value, Mapping):
        return {name: spell_non_finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [spell_non_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def decode_value(kind: Any, value: Any) -> Any:
    """Return what was encoded as a value of its kind.

    Raises ``TypeError``, ``ValueError`` or ``KeyError`` for anything that is not of this kind.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _decode_union(parts, value)
    if origin is tuple and isinstance(value, list):
        kinds = (parts[0],) * len(value) if parts[1:] == (...,) else parts
        return tuple(decode_value(part, entry) for part, entry in zip(kinds, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: decode_value(parts[1], entry) for name, entry in value.items()}
    if kind is float and value in NON_FINITE_NAMES:
        return float(value)
    if hasattr(kind, "_fields"):
        hints = _field_types(kind)
        entries = {name: entry for name, entry in value.items() if name != "kind"}
        return kind(**{name: decode_value(hints[name], entry) for name, entry in entries.items()})
    return value


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode_union(kinds: tuple[Any, ...], value: Any) -> Any:
    records = [kind for kind in kinds if hasattr(kind, "_fields")]
    if isinstance(value, dict) and len(records) == 1:
        return decode_value(records[0], value)
    if isinstance(value, dict):
        name = value["kind"]
        if name not in FIGURE_TYPES:
            raise ValueError(f"there is no figure of the kind {name!r}")
        return decode_value(FIGURE_TYPES[name], value)
    nested = [kind for kind in kinds if get_origin(kind) is not None]
    return decode_value(nested[0], value) if isinstance(value, list) and nested else value
