"""Encode named tuples and dataclasses as JSON and decode JSON by type annotations: the only
serialisation of results."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

NON_FINITE_NAMES = ("nan", "inf", "-inf")  # the words for floats without a JSON form
ARRAY_ENTRIES = {"dtype", "shape", "data"}  # the keys of an encoded array
PLAIN_TYPES = {type(None), str, bool, int, float}
KINDS_OF_NUMBERS = "biuf"  # dtype kinds of arrays in JSON: booleans, integers and floats


def encode_value(value: Any, tagged: Mapping[str, type] = {}) -> Any:
    """Return a value as JSON types: records as objects, arrays as base-64 text.

    ``value``: plain values, arrays, and named tuples, dataclasses, lists and mappings of these.
    ``tagged``: record types by class name; the encoded records of these types get an entry
    ``kind``, the class name. A mapping with keys other than text becomes a list of pairs. Raises
    ``TypeError`` for an array of objects.
    """
    if type(value) in PLAIN_TYPES:
        return value
    if isinstance(value, Mapping):
        if all(isinstance(name, str) for name in value):
            return {name: encode_value(part, tagged) for name, part in value.items()}
        return [[encode_value(part, tagged) for part in pair] for pair in value.items()]
    if _is_record(value):
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
    return _decoder(kind)(value)


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:
    """Return the function that decodes values of the type ``kind``; taking a type apart costs more
    than decoding a value."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _union_decoder(parts)
    if origin is tuple:
        return partial(_decode_tuple, parts)
    if origin is list:
        return partial(_decode_list, _decoder(parts[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return partial(_decode_mapping, _decoder(parts[0]), _decoder(parts[1]))
    if kind is float:
        return _decode_float
    if kind is Hashable:
        return _decode_hashable
    return partial(_decode_entries, kind) if _is_record(kind) else _decode_plain


def _is_record(kind: Any) -> bool:
    return hasattr(kind, "_fields") or is_dataclass(kind)


def _decode_plain(value: Any) -> Any:
    is_array = isinstance(value, dict) and value.keys() == ARRAY_ENTRIES
    return _decode_array(value) if is_array else value


def _decode_float(value: Any) -> Any:
    return float(value) if isinstance(value, str) and value in NON_FINITE_NAMES else value


def _decode_hashable(value: Any) -> Any:
    return tuple(map(_decode_hashable, value)) if isinstance(value, list) else value


def _decode_list(decode: Callable[[Any], Any], value: Any) -> Any:
    return [decode(entry) for entry in value] if isinstance(value, list) else value


def _decode_tuple(kinds: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, list):
        return value
    if kinds[1:] == (...,):
        return tuple(map(_decoder(kinds[0]), value))
    return tuple(_decoder(kind)(entry) for kind, entry in zip(kinds, value, strict=True))


def _decode_mapping(
    decode_name: Callable[[Any], Any], decode_entry: Callable[[Any], Any], value: Any
) -> dict[Any, Any]:
    pairs = value.items() if isinstance(value, Mapping) else value
    return {decode_name(name): decode_entry(entry) for name, entry in pairs}


def _decode_entries(kind: Any, entries: Any) -> Any:
    """Return a named tuple or dataclass of the class ``kind``. ``entries``: the encoded fields by
    name, or a list in the order of the fields. Raises ``ValueError`` for an unknown field."""
    types = field_types(kind)
    if isinstance(entries, list):
        entries = dict(zip([*types][: len(entries)], entries, strict=True))
    arguments = {name: entry for name, entry in entries.items() if name != "kind" or name in types}
    if unknown_names := sorted(arguments.keys() - types):
        raise ValueError(f"it has an entry {unknown_names[0]!r}")
    return kind(**{name: _decoder(types[name])(entry) for name, entry in arguments.items()})


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a named tuple or dataclass, by field name. ``kind``: the
    class."""
    types = get_type_hints(kind)
    if is_dataclass(kind):  # type hints also list annotated class constants
        return {f.name: types[f.name] for f in fields(kind)}
    return types


def _union_decoder(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Return the function that decodes values of one of the types ``kinds``."""
    records = {kind.__name__: kind for kind in kinds if _is_record(kind)}
    nested = [kind for kind in kinds if get_origin(kind) is not None]
    if sum(get_origin(kind) is not Literal for kind in nested) > 1:
        raise TypeError(f"a record may hold one of {nested} only, because lists do not tell which")
    decode_leaf = _decode_float if float in kinds and str not in kinds else _decode_plain

    def decode(value: Any) -> Any:
        if not isinstance(value, list | dict):
            return decode_leaf(value)
        if isinstance(value, dict) and value.keys() == ARRAY_ENTRIES:
            return _decode_array(value)
        if isinstance(value, dict) and records:
            return _decode_entries(_record_type(records, value), value)
        return _decoder(nested[0])(value) if nested else value

    return decode


def _record_type(records: Mapping[str, Any], entries: Mapping[str, Any]) -> Any:
    """Return the class of encoded fields: the only class in ``records``, or the class named by the
    entry ``kind``. Raises ``ValueError`` for an unknown name."""
    if len(records) == 1:
        return next(iter(records.values()))
    if entries["kind"] not in records:
        raise ValueError(f"there is no kind {entries['kind']!r}")
    return records[entries["kind"]]
