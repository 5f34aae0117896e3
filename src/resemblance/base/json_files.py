"""Read JSON files with errors that name the file, write files atomically, and record checksums of
the files in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin
from uuid import uuid4

from .codec import decode_value, field_types
from .text import replace_unencodable

# Exceptions of reading or decoding a damaged file or a file of another kind
DAMAGED_FILE_ERRORS: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError)
DAMAGED_FILE_ERRORS += (AttributeError, IndexError, RecursionError, OverflowError)
# JSON integers are unbounded; NumPy integers and floats are bounded
MAX_JSON_INTEGER, MAX_JSON_FLOAT = 2**63, sys.float_info.max
Content = TypeVar("Content")
FINGERPRINT_ENTRY = "xxh3_128"  # the name of the hash in the record of an array
CHECKSUM_FILE = "traits.json"  # the entry "files" has the records of the files in the folder


def read_document(
    path: Path, make: Callable[[Any], Content], kind: str, remedy: str = ""
) -> Content:
    """Return ``make(document)`` for the JSON document in a file. ``kind``: the expected kind of
    file, in words, such as "a lock". ``remedy``: what the user can do, in words.

    Raises ``ValueError`` with the path, ``kind`` and ``remedy``, for every problem of the file,
    also for an error that ``make`` raises.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except DAMAGED_FILE_ERRORS as error:
        raise _unreadable_error(str(path), kind, remedy, error) from error
    return parse_document(text, make, str(path), kind, remedy)


def parse_document(
    text: str, make: Callable[[Any], Content], source: str, kind: str, remedy: str = ""
) -> Content:
    """Return ``make(document)`` for a JSON text. ``make``: from the parsed document to the content.

    ``source``: the origin of the text, ``kind``: the noun for the content, and ``remedy``: the
    advice, in errors. Raises ``ValueError`` for a text that is no JSON, and for a document that
    ``make`` cannot read.
    """
    try:
        return make(json.loads(text))
    except DAMAGED_FILE_ERRORS as error:
        raise _unreadable_error(source, kind, remedy, error) from error


def _unreadable_error(source: str, kind: str, remedy: str, error: Exception) -> ValueError:
    problem = f"no entry {error}" if isinstance(error, KeyError) else str(error)
    ending = f"; {remedy}" if remedy else ""
    return ValueError(
        f"{source} is not {kind} that can be read ({problem or type(error).__name__}){ending}"
    )


def decode_record(kind: Any, value: Any, location: str = "") -> Any:
    """Return the Python value of ``value``, parsed JSON, with all types checked. ``kind``: the type
    annotation of the Python value. ``location``: the name of the value in errors.

    Objects, and lists of fields in order, become named tuples and dataclasses; other lists become
    tuples. In a union of several records, the entry "kind" of an object is the class name. Raises
    ``TypeError``, ``ValueError`` or ``KeyError`` where the JSON does not fit the type.
    """
    record = decode_value(kind, value)
    check_types(record, kind, location)
    return record


def check_types(value: Any, kind: Any, location: str = "") -> None:
    """Raise ``ValueError`` unless a value, and everything in the value, has the annotated type
    ``kind``. ``location``: the name of the value in errors.

    Supports the types of results: named tuples and dataclasses, tuples, mappings, unions, and plain
    values. An integer is also a float, unless the integer is too large; True and False are no
    numbers.
    """
    if problem := _type_check(kind)(value):
        message = f"{location}{problem}".removeprefix(".")
        raise ValueError(f"it{message}" if message.startswith(" ") else message)


@cache
def _type_check(kind: Any) -> Callable[[Any], str]:
    """Return the check of the type ``kind``: a function of a value that returns the location and
    the problem of the first part with another type, or "" without one.

    Taking a type apart costs more than checking a value, and no location is a text before a problem
    needs the text.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: ""
    if origin in (Union, UnionType):
        return partial(_problem_of_union, tuple(map(_type_check, parts)))
    if origin is Literal:
        return partial(_problem_of_choice, parts)
    if origin is list:
        return partial(_problem_of_sequence, list, _type_check(parts[0]))
    if origin is tuple and parts[1:] == (...,):
        return partial(_problem_of_sequence, tuple, _type_check(parts[0]))
    if origin is tuple:
        return partial(_problem_of_tuple, tuple(map(_type_check, parts)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return partial(_problem_of_mapping, _type_check(parts[0]), _type_check(parts[1]))
    return _wrong_type if origin is not None else partial(_problem_of_plain_type, kind)


def _wrong_type(value: Any) -> str:
    return f" cannot be {_describe_type(value)}"


def _problem_of_choice(choices: tuple[Any, ...], value: Any) -> str:
    is_plain = value is None or isinstance(value, str | int)  # an array equals no choice
    return "" if is_plain and value in choices else _wrong_type(value)


def _problem_of_union(checks: tuple[Callable[[Any], str], ...], value: Any) -> str:
    return "" if any(not check(value) for check in checks) else _wrong_type(value)


def _problem_of_sequence(
    kind: type[list[Any] | tuple[Any, ...]], check: Callable[[Any], str], value: Any
) -> str:
    if not isinstance(value, kind):
        return _wrong_type(value)
    for i, part in enumerate(value):
        if problem := check(part):
            return f"[{i}]{problem}"
    return ""


def _problem_of_tuple(checks: tuple[Callable[[Any], str], ...], value: Any) -> str:
    if not isinstance(value, tuple) or len(value) != len(checks):
        return _wrong_type(value)
    for i, check in enumerate(checks):
        if problem := check(value[i]):
            return f"[{i}]{problem}"
    return ""


def _problem_of_mapping(
    check_name: Callable[[Any], str], check_entry: Callable[[Any], str], value: Any
) -> str:
    if not isinstance(value, Mapping):
        return _wrong_type(value)
    for name, part in value.items():
        if problem := check_name(name):
            return f" has a key that{problem}"
        if problem := check_entry(part):
            return f"[{name!r}]{problem}"
    return ""


def _problem_of_plain_type(kind: Any, value: Any) -> str:
    if type(value) is kind and kind in (str, float, bool):
        return ""
    if not _has_builtin_type(value, kind):
        return _wrong_type(value)
    if hasattr(kind, "__annotations__"):
        for name, kind_of_field in field_types(kind).items():
            if problem := _type_check(kind_of_field)(getattr(value, name)):
                return f".{name}{problem}"
    return ""


def _describe_type(value: Any) -> str:
    is_large = isinstance(value, int) and abs(value) >= MAX_JSON_INTEGER
    return "so large a number" if is_large else type(value).__name__


def _has_builtin_type(value: Any, kind: Any) -> bool:
    if kind is None or kind is NoneType:
        return value is None
    if kind is Hashable:
        return isinstance(value, Hashable)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if isinstance(value, int):
        return kind in (int, float) and abs(value) < MAX_JSON_INTEGER
    return isinstance(value, kind)


def check_finite_json(value: Any, location: str = "") -> None:
    """Raise ``ValueError`` unless all numbers in a JSON document are finite, also as floats.
    ``location``: the name of the value in the error."""
    if place := _non_finite_number(value):
        place = f"{location}{place}".removeprefix(".").strip()
        raise ValueError(f"{place or 'it'} is not a finite number, or is too large")


def _non_finite_number(value: Any) -> str:
    """Return the location of a number that is not finite; a space for ``value`` itself, "" if all
    numbers are finite."""
    if isinstance(value, int | float):
        return "" if -MAX_JSON_FLOAT <= value <= MAX_JSON_FLOAT else " "
    if isinstance(value, Mapping):
        for name, part in value.items():
            if place := _non_finite_number(part):
                return f".{name}{place}"
    elif isinstance(value, list | tuple):
        for i, part in enumerate(value):
            if place := _non_finite_number(part):
                return f"[{i}]{place}"
    return ""


# ------------------------------------------------------------------------------------ atomic writes


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary file and, after the block, replace ``path`` by it, so readers never see a
    partial file.

    If writing fails, the old file stays unchanged, the temporary file is deleted, and an
    ``OSError`` names ``path``. A special file, such as ``/dev/stdout``, is written directly, and a
    link stays a link.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        try:
            yield path
        except OSError as error:
            if error.errno and error.filename is None:
                raise OSError(error.errno, error.strerror, str(path)) from error
            raise
        return
    # A random name, because processes on several machines or in containers can share an id
    partial = target.with_name(f".{target.name}-{uuid4().int}")
    try:
        yield partial
        os.replace(partial, target)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(partial)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old or the new file, never a partial file.

    Characters without a UTF-8 encoding become U+FFFD.
    """
    with atomic_write(path) as partial:
        partial.write_text(replace_unencodable(text), encoding="utf-8", newline="")


# ------------------------------------------------------------------- records of unchanged files


def checksum(path: Path) -> str:
    """Return the SHA-256 of the content of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_record(path: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a file: the checksum, the size in bytes, the modification time in
    nanoseconds, and the other ``facts``, by name."""
    state = path.stat()
    entries = {"sha256": checksum(path), "size": state.st_size, "mtime_ns": state.st_mtime_ns}
    return entries | dict(facts)


def read_file_records(folder: Path) -> dict[str, Any]:
    """Return the records of the files in a folder, by name; {} if the records are missing or
    damaged."""
    try:
        return read_document(
            folder / CHECKSUM_FILE, lambda document: dict(document["files"]), "a list of files"
        )
    except ValueError:
        return {}


def read_file_record(path: Path) -> dict[str, Any]:
    """Return the record of a file, stored in the file's folder; {} without a record."""
    entries = read_file_records(path.parent).get(path.name)
    return entries if isinstance(entries, dict) else {}


def is_unchanged(path: Path) -> bool:
    """Return whether the size and modification time of a file are equal to the recorded values;
    False without a record.

    The content of an unchanged file is trusted: a changed file with a forged modification time
    passes. A copy without preserved modification times counts as changed, and is read.
    """
    entries, state = read_file_record(path), path.stat()
    return (entries.get("size"), entries.get("mtime_ns")) == (state.st_size, state.st_mtime_ns)


def is_undamaged(path: Path, *, read: bool) -> bool:
    """Return whether a file has the recorded checksum; True without a recorded checksum.

    An unchanged file counts as undamaged without computing the checksum. ``read``: compute the
    checksum of every file, also of unchanged files.
    """
    expected = read_file_record(path).get("sha256")
    if expected is None or (not read and is_unchanged(path)):
        return True
    return bool(expected == checksum(path))


def recorded_fingerprint(path: Path) -> str | None:
    """Return the recorded hash of the array in a file; None without a recorded hash, or if the file
    changed since."""
    fingerprint = read_file_record(path).get(FINGERPRINT_ENTRY)
    return fingerprint if isinstance(fingerprint, str) and is_unchanged(path) else None
