"""Checks of a function that reads a user's file: the right value, or an error with a remedy."""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .results import are_equal
from .trial import Outcome

# A clause of a message that states a remedy.
REMEDY_PATTERN = re.compile(
    r"(?:^|[;:.,(]|\b(?:and|or|may|you|please)) ?(?:add|be|call|check|choose|convert|copy|delete"
    r"|download|extract|get|give|install|list|load|make|mean|mend|name|open|pass|read|remove"
    r"|rename|repair|replace|run|save|set|try|unpack|use|wait|write)\b",
    re.IGNORECASE,
)
PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe" + bytes(range(256)) * 4
PAGE = b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n" * 20
MISSING_NAME = "is not there"
IT_RETURNS = "it returns"


class _Reading(NamedTuple):
    """A reader, a good file or folder alone in a separate folder, the expected return value, and
    whether a file of any lines counts as good."""

    read: Callable[[Any], Any]
    path: Path
    expected: Any
    has_lines: bool


class _Undecided(Exception):
    """The reason why a check decides nothing."""


def check_reader(
    read: Callable[[Any], Any], path: str | Path, expected: Any, *, has_lines: bool = False
) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a function that reads a user's file or folder.

    The file is copied into a folder that is removed afterwards. The reader returns ``expected``,
    from a path as text and as ``Path``, and a second time. The reader raises a ``ValueError`` (or
    ``FileNotFoundError``, if the path does not exist) with the path and a remedy for a missing
    file, a folder in place of the file, an empty file, half of the file, a picture and a page of
    HTML under the same name, and a file without read permission. In a folder every file is damaged
    separately. The reader changes no files and leaves no files behind.

    ``read``: called with the path alone; returns comparable values: numbers, texts, arrays, and
    lists, tuples and dictionaries of comparable values. A reader that loads data lazily must load
    the data in ``read``. ``has_lines``: any lines are a good file, so half of the file, or a page,
    decides nothing if the reader accepts the content. The permission check decides nothing for a
    user who may read every file.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of damaged files
        return tuple(_reader_outcomes(read, Path(path), expected, has_lines, Path(folder)))


def _reader_outcomes(
    read: Callable[[Any], Any], source: Path, expected: Any, has_lines: bool, folder: Path
) -> Iterator[Outcome]:
    checks: dict[str, Callable[[_Reading], str]] = {
        "the value": _problem_of_value,
        "a path as text": _problem_of_text,
        "reading twice": _problem_of_second_reading,
        "nothing there": _problem_of_missing_file,
        "a file for a folder" if source.is_dir() else "a folder for a file": _problem_of_kind,
        "an empty file": _problem_of_empty_file,
        "half of a file": _problem_of_half,
        "another format": _problem_of_another_format,
        "no permission": _problem_of_permission,
    }
    for number, (name, problem_of) in enumerate(checks.items()):
        place = folder / str(number)
        place.mkdir()
        copy = Path(
            shutil.copytree(source, place / source.name)
            if source.is_dir()
            else shutil.copy(source, place)
        )
        try:
            problem = problem_of(_Reading(read, copy, expected, has_lines))
        except (_Undecided, ImportError) as reason:
            yield Outcome(name, "yes", None, str(reason))
        except Exception as error:
            yield Outcome(name, "yes", False, f"{type(error).__name__}: {error}")
        else:
            yield Outcome(name, "yes", not problem, problem)


def _problem_of_value(reading: _Reading, path: str | Path | None = None) -> str:
    before = _content_of(reading.path.parent)
    value = reading.read(path or reading.path)
    if not are_equal(value, reading.expected):
        return f"{IT_RETURNS} {value!r:.200}"
    return _problem_of_traces(reading.path.parent, before)


def _problem_of_text(reading: _Reading) -> str:
    return _problem_of_value(reading, str(reading.path))


def _problem_of_second_reading(reading: _Reading) -> str:
    return _problem_of_value(reading) or _problem_of_value(reading)


def _problem_of_missing_file(reading: _Reading) -> str:
    path = reading.path.with_name(f"{MISSING_NAME}{reading.path.suffix}")
    return _problem_of_reading_error(reading, path, missing=True)


def _problem_of_kind(reading: _Reading) -> str:
    path = reading.path
    if path.is_dir():
        shutil.rmtree(path)
        path.write_bytes(PICTURE)
    else:
        path.unlink()
        path.mkdir()
    return _problem_of_reading_error(reading, path)


def _problem_of_empty_file(reading: _Reading) -> str:
    return _problem_of_content(reading, "an empty", lambda content: b"")


def _problem_of_half(reading: _Reading) -> str:
    half = _problem_of_content(reading, "half of", lambda content: content[: len(content) // 2])
    return _only_of_files_without_lines(reading, half)


def _problem_of_another_format(reading: _Reading) -> str:
    problem = _problem_of_content(reading, "a picture as", lambda content: PICTURE)
    page = _problem_of_content(reading, "a page of HTML as", lambda content: PAGE)
    return problem or _only_of_files_without_lines(reading, page)


def _problem_of_content(reading: _Reading, title: str, change: Callable[[bytes], bytes]) -> str:
    """Return the problem of reading if a single file has the content ``change(content)``, for every
    file in turn, or "". The files are restored. ``title``: the words before the name of the file in
    the problem, such as "half of"."""
    for file in _files_of(reading.path):
        content = file.read_bytes()
        file.write_bytes(change(content))
        problem = _problem_of_reading_error(reading, reading.path)
        file.write_bytes(content)
        if problem:
            return f"{title} {file.name}: {problem}"
    return ""


def _only_of_files_without_lines(reading: _Reading, problem: str) -> str:
    if reading.has_lines and IT_RETURNS in problem:
        raise _Undecided(f"{problem}, as any lines are a good file")
    return problem


def _problem_of_permission(reading: _Reading) -> str:
    file = _files_of(reading.path)[0]
    file.chmod(0)
    try:
        try:
            file.read_bytes()
        except OSError:
            return _problem_of_reading_error(reading, reading.path)
        raise _Undecided("this user may read every file")
    finally:
        file.chmod(0o600)


def _problem_of_reading_error(reading: _Reading, path: Path, missing: bool = False) -> str:
    """Return the problem with the error that reading ``path`` raises, in words, or "". No error,
    and an error without path or remedy, are problems. ``missing``: whether the path does not exist,
    so that ``FileNotFoundError`` is good too."""
    before = _content_of(path.parent)
    try:
        value = reading.read(path)
    except ValueError as error:
        message = str(error)
    except FileNotFoundError as error:
        if not missing:
            return f"FileNotFoundError: {error}"
        message = f"{error}; name another"
    else:
        return f"{IT_RETURNS} {value!r:.200}"
    if str(path) not in message:
        return f"the error does not name the path: {message}"
    if not REMEDY_PATTERN.search(message.replace(str(path), "PATH")):
        return f"the error has no remedy: {message}"
    return _problem_of_traces(path.parent, before)


def _files_of(path: Path) -> list[Path]:
    """Return the file ``path`` alone, or, for a folder, the sorted files at any depth except hidden
    files."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("[!.]*") if file.is_file())
    return sorted(files)


def _content_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return (modification time in nanoseconds, content) of all files and folders in a folder, by
    path inside the folder; the content of a folder or an unreadable file is empty."""
    files = {}
    for path in folder.rglob("*"):
        content = b""
        with suppress(OSError):  # a folder, or a file without read permission
            content = path.read_bytes()
        files[path.relative_to(folder).as_posix()] = (path.stat().st_mtime_ns, content)
    return files


def _problem_of_traces(folder: Path, before: dict[str, tuple[int, bytes]]) -> str:
    after = _content_of(folder)
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return f"reading changes {', '.join(changed)}" if changed else ""
