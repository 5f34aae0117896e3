"""Encode named tuples and dataclasses as JSON and decode JSON by type annotations: the only
serialisation of results."""

from __future__ import annotations

import base64
import math
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

NON_FINITE_NAMES = ("nan", "inf", "-inf")  # the words for floats without a JSON form
ARRAY_ENTRIES = {"dtype", "shape", "data"}  # the keys of an encoded array
KINDS_OF_NUMBERS = "biuf"  # dtype kinds of arrays in JSON: booleans, integers and floats


def encode_value(value: Any, tagged: Mapping[str, type] = {}) -> Any:
    """Return a value as JSON types: records as objects, arrays as base-64 text.

    ``value``: plain values, arrays, and named tuples, dataclasses, lists and mappings of these.
    ``tagged``: record types by class name; the encoded records of these types get an entry
    ``kind``, the class name. A mapping with keys other than text becomes a list of pairs. Raises
    ``TypeError`` for an array of objects.
    """
    if isinstance(value, Mapping):
        if all(isinstance(name, str) for name in value):
            return {name: encode_value(part, tagged) for name, part in value.items()}
        return [[encode_value(part, tagged) for part in pair] for pair in value.items()]
    if hasattr(value, "_fields") or is_dataclass(value):
        kind = type(value).__name__
        names = getattr(value, "_fields", None) or [f.name for f in fields(value)]
        entries = {name: encode_value(getattr(value, name), tagged) for name in names}
        return {"kind": kind, **entries} if kind in tagged else entries
    if isinstance(value, (tuple, list)):
        return [encode_value(part, tagged) for part in value]
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    return value.item() if isinstance(value, np.generic) else value


def _encode_array(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind not in KINDS_OF_NUMBERS:
        raise TypeError(f"an array of {array.dtype} cannot be saved")
    contiguous = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    text = base64.b64encode(contiguous.tobytes()).decode()
    return {"dtype": contiguous.dtype.str, "shape": list(array.shape), "data": text}


def _decode_array(entry: Mapping[str, Any]) -> np.ndarray:
    dtype = np.dtype(entry["dtype"])
    if dtype.kind not in KINDS_OF_NUMBERS:
        raise ValueError(f"an array of {dtype} is no array of numbers")
    array = np.frombuffer(base64.b64decode(entry["data"], validate=True), dtype)
    return array.reshape(entry["shape"]).astype(dtype.newbyteorder("="))


def spell_non_finite(value: Any) -> Any:
    """Return a copy of ``value``, an encoded value (mappings, lists, plain values), with non-finite
    floats replaced by the words "nan", "inf" and "-inf"."""
    if isinstance(value, Mapping):
        return {name: spell_non_finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [spell_non_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def decode_value(kind: Any, value: Any) -> Any:
    """Return the Python value of JSON types: the inverse of :func:`encode_value`. ``kind``: the
    type annotation of the Python value. ``value``: the parsed JSON.

    A value of a plain type is returned unchecked. Raises ``TypeError``, ``ValueError`` or
    ``KeyError`` where the JSON does not fit the type.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if isinstance(value, dict) and value.keys() == ARRAY_ENTRIES:
        return _decode_array(value)
    if origin in (Union, UnionType):
        return _decode_union(parts, value)
    if origin is tuple and isinstance(value, list):
        kinds = (parts[0],) * len(value) if parts[1:] == (...,) else parts
        return tuple(decode_value(part, entry) for part, entry in zip(kinds, value, strict=True))
    if origin is list and isinstance(value, list):
        return [decode_value(parts[0], entry) for entry in value]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pairs = value.items() if isinstance(value, Mapping) else value
        return {
            decode_value(parts[0], name): decode_value(parts[1], entry) for name, entry in pairs
        }
    if kind is float and value in NON_FINITE_NAMES:
        return float(value)
    if kind is Hashable and isinstance(value, list):
        return tuple(decode_value(Hashable, entry) for entry in value)
    if hasattr(kind, "_fields") or is_dataclass(kind):
        return _decode_entries(kind, value)
    return value


def _decode_entries(kind: Any, entries: Any) -> Any:
    """Return a named tuple or dataclass of the class ``kind``. ``entries``: the encoded fields by
    name, or a list in the order of the fields. Raises ``ValueError`` for an unknown field."""
    types = field_types(kind)
    if isinstance(entries, list):
        entries = dict(zip([*types][: len(entries)], entries, strict=True))
    arguments = {name: entry for name, entry in entries.items() if name != "kind" or name in types}
    if unknown_names := sorted(arguments.keys() - types):
        raise ValueError(f"it has an entry {unknown_names[0]!r}")
    return kind(**{name: decode_value(types[name], entry) for name, entry in arguments.items()})


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a named tuple or dataclass, by field name. ``kind``: the
    class."""
    types = get_type_hints(kind)
    if is_dataclass(kind):  # type hints also list annotated class constants
        return {f.name: types[f.name] for f in fields(kind)}
    return types


def _decode_union(kinds: tuple[Any, ...], value: Any) -> Any:
    records = [kind for kind in kinds if hasattr(kind, "_fields") or is_dataclass(kind)]
    if isinstance(value, dict) and len(records) == 1:
        return decode_value(records[0], value)
    if isinstance(value, dict) and records:
        name = value["kind"]
        by_name = {kind.__name__: kind for kind in records}
        if name not in by_name:
            raise ValueError(f"there is no kind {name!r}")
        return decode_value(by_name[name], value)
    if value in NON_FINITE_NAMES and float in kinds and str not in kinds:
        return float(value)
    nested = [kind for kind in kinds if get_origin(kind) is not None]
    if isinstance(value, list | dict) and nested:
        return decode_value(nested[0], value)
    return value
