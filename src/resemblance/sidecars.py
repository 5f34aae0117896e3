"""What is recorded of a file in the JSON file beside it, so that it need not be read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .documents import read_document


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record(path: Path, facts: Mapping[str, Any]) -> None:
    """Write the checksum, size and time of change of a file beside it, with other facts."""
    state = path.stat()
    entries = {"sha256": checksum(path), "size": state.st_size, "mtime_ns": state.st_mtime_ns}
    path.with_suffix(".json").write_text(json.dumps(entries | dict(facts)) + "\n")


def recorded(path: Path) -> dict[str, Any]:
    """Return what is recorded of a file; nothing where the JSON file is missing or another's."""
    try:
        return read_document(path.with_suffix(".json"), dict, "what is recorded of an array")
    except ValueError:
        return {}


def is_unchanged(path: Path) -> bool:
    """Return whether a file has the size and the time of change that are recorded of it.

    Its content is then taken to be as it was: who changes it and sets back its time deceives us. A
    copy without the times of its files counts as changed, and is read.
    """
    entries, state = recorded(path), path.stat()
    return (entries.get("size"), entries.get("mtime_ns")) == (state.st_size, state.st_mtime_ns)


def is_undamaged(path: Path, *, read: bool) -> bool:
    """Return whether a file has the checksum that is recorded of it, if one is.

    ``read``: compute it in any case, not only for a file that is changed.
    """
    expected = recorded(path).get("sha256")
    if expected is None or (not read and is_unchanged(path)):
        return True
    return bool(expected == checksum(path))


def recorded_fingerprint(path: Path) -> str | None:
    """Return the fingerprint that was recorded of an array in a file that is unchanged since."""
    fingerprint = recorded(path).get("fingerprint")
    return fingerprint if isinstance(fingerprint, str) and is_unchanged(path) else None
