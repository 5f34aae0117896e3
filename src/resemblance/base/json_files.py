"""The one reader of JSON files, our own or a user's, whose errors name the file; files that are
written at once; and what is recorded of the files of a folder."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin
from uuid import uuid4

from .codec import decode_value, field_types
from .text import replace_unencodable

# What a file that is damaged or of another kind can raise, when it is read or turned into an object
DAMAGED_FILE_ERRORS: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError)
DAMAGED_FILE_ERRORS += (AttributeError, IndexError, RecursionError, OverflowError)
# Whole numbers of JSON have no limit: NumPy's has one, and a larger one is no float.
MAX_JSON_INTEGER, MAX_JSON_FLOAT = 2**63, sys.float_info.max
Content = TypeVar("Content")
CHECKSUM_FILE = "traits.json"  # whose entry "files" has what is recorded of files in its folder


def read_document(
    path: Path, make: Callable[[Any], Content], kind: str, remedy: str = ""
) -> Content:
    """Return what ``make`` builds from the JSON in a file.

    Raises ``ValueError`` with the file, what it should be, and the remedy, whatever is wrong with
    it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except DAMAGED_FILE_ERRORS as error:
        raise _unreadable_error(str(path), kind, remedy, error) from error
    return parse_document(text, make, str(path), kind, remedy)


def parse_document(
    text: str, make: Callable[[Any], Content], source: str, kind: str, remedy: str = ""
) -> Content:
    """Return what ``make`` builds from a text of JSON; ``source``: its origin, for the error.

    Raises ``ValueError`` as ``read_document`` does.
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
    """Return what JSON holds as a value of an annotated type, after a check of all types in it.

    Objects, and lists of the fields in their order, become named tuples and dataclasses; other
    lists become tuples. In a union of several records, the entry "kind" of an object is the name of
    its class. ``location``: the name of the value in errors.

    Raises ``TypeError``, ``ValueError`` or ``KeyError`` for anything that is not of this type.
    """
    record = decode_value(kind, value)
    check_types(record, kind, location)
    return record


def check_types(value: Any, kind: Any, location: str = "") -> None:
    """Raise ``ValueError`` unless a value, and everything in it, has its annotated type.

    Knows what results consist of: named tuples and dataclasses, tuples, mappings, unions, and plain
    values. A whole number is also a float, unless it is too large; True and False are no numbers.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin in (Union, UnionType):
        return _check_any(value, parts, location)
    if origin is Literal and value in parts:
        return
    if origin is list and isinstance(value, list):
        for i, part in enumerate(value):
            check_types(part, parts[0], f"{location}[{i}]")
        return
    if origin is tuple and isinstance(value, tuple):
        kinds = (parts[0],) * len(value) if parts[1:] == (...,) else parts
        if len(kinds) == len(value):
            for i, (part, kind_of_part) in enumerate(zip(value, kinds)):
                check_types(part, kind_of_part, f"{location}[{i}]")
            return
    elif origin is not None and isinstance(value, Mapping) and issubclass(origin, Mapping):
        for name, part in value.items():
            check_types(name, parts[0], f"{location} key")
            check_types(part, parts[1], f"{location}[{name!r}]")
        return
    elif origin is None and _has_builtin_type(value, kind):
        types = field_types(kind) if hasattr(kind, "__annotations__") else {}
        for name, kind_of_field in types.items():
            check_types(
                getattr(value, name), kind_of_field, f"{location}.{name}" if location else name
            )
        return
    raise ValueError(f"{location or 'it'} cannot be {_describe_type(value)}")


def _check_any(value: Any, kinds: tuple[Any, ...], location: str) -> None:
    for kind in kinds:
        try:
            return check_types(value, kind, location)
        except ValueError:
            continue
    raise ValueError(f"{location or 'it'} cannot be {_describe_type(value)}")


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
    """Raise ``ValueError`` unless all numbers in what JSON holds are finite, as floats too."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            check_finite_json(part, f"{location}.{name}" if location else str(name))
    elif isinstance(value, list | tuple):
        for i, part in enumerate(value):
            check_finite_json(part, f"{location}[{i}]")
    elif isinstance(value, int | float) and not -MAX_JSON_FLOAT <= value <= MAX_JSON_FLOAT:
        raise ValueError(f"{location or 'it'} is not a finite number, or is too large")


# ---------------------------------------------------------------------------- files written at once


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a file to write that replaces another once it is complete, so no reader sees a part.

    When writing fails, the old file stays as it is and nothing else is left; an ``OSError`` names
    it. Something other than a plain file, such as ``/dev/stdout``, is written directly, and a link
    stays a link.
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
    # Processes of several machines, or containers, may have one number.
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
    """Write a text file so that a reader sees the old or the new one, never a part.

    U+FFFD is in place of what UTF-8 cannot encode.
    """
    with atomic_write(path) as partial:
        partial.write_text(replace_unencodable(text), encoding="utf-8", newline="")


# -------------------------------------------------- what is recorded, so that it is not read again


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_record(path: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checksum, size and time of change of a file, with other facts."""
    state = path.stat()
    entries = {"sha256": checksum(path), "size": state.st_size, "mtime_ns": state.st_mtime_ns}
    return entries | dict(facts)


def read_file_records(folder: Path) -> dict[str, Any]:
    """Return what is recorded of files, by name; nothing where that is missing or damaged."""
    try:
        return read_document(
            folder / CHECKSUM_FILE, lambda document: dict(document["files"]), "a list of files"
        )
    except ValueError:
        return {}


def read_file_record(path: Path) -> dict[str, Any]:
    """Return what is recorded of a file in its folder."""
    entries = read_file_records(path.parent).get(path.name)
    return entries if isinstance(entries, dict) else {}


def is_unchanged(path: Path) -> bool:
    """Return whether a file has the size and the time of change that are recorded of it.

    Its content is then taken to be as it was: who changes it and sets back its time deceives us. A
    copy without the times of its files counts as changed, and is read.
    """
    entries, state = read_file_record(path), path.stat()
    return (entries.get("size"), entries.get("mtime_ns")) == (state.st_size, state.st_mtime_ns)


def is_undamaged(path: Path, *, read: bool) -> bool:
    """Return whether a file has the checksum that is recorded of it, if one is.

    ``read``: compute it in any case, not only for a file that is changed.
    """
    expected = read_file_record(path).get("sha256")
    if expected is None or (not read and is_unchanged(path)):
        return True
    return bool(expected == checksum(path))


def recorded_fingerprint(path: Path) -> str | None:
    """Return the fingerprint that was recorded of an array in a file that is unchanged since."""
    fingerprint = read_file_record(path).get("fingerprint")
    return fingerprint if isinstance(fingerprint, str) and is_unchanged(path) else None
