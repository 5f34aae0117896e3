"""A study: a directory of trained models, their representations, comparisons and scores that can
always be continued.

::

    study/
      study.json                     which suite, domains and options it is for
      subjects/<domain>/.../seed0/   one trained model: traits.json, weights.npz, outputs.npy,
      labels.npy, layers comparisons.db                 every comparison (SQLite), keyed by measure,
      version and data comparisons.parquet            the same as one table
      result.json                    scores and all that the report shows
      log.txt                        what was done when
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ..documents import read_document
from ..store import write_atomically

FORMAT = 1
Progress = Callable[[str, int, int], None]  # stage, how much is done, of how much
Made = TypeVar("Made")
BEGUN = re.compile(
    r"\.lock(-journal)?|\.study\.json-\d+"
)  # what a run that was killed at its start leaves
# where a process that is killed leaves unfinished work, and the names that we give it
UNFINISHED = (
    ("subjects", "**/.partial-*", re.compile(r"\.partial-seed\d+-\d+")),
    ("parts", "*/.*.json-*", re.compile(r"\.[0-9a-f]{24}\.json-\d+")),
    ("probes", ".*.json-*", re.compile(r"\.[0-9a-f]{24}\.json-\d+")),
    (
        "",
        ".*",
        re.compile(
            r"\.(study\.json|facts\.json|result\.json|index\.html)-\d+|\.comparisons-\d+\.parquet"
        ),
    ),
)


def read_study(folder: Path, make: Callable[[dict[str, Any]], Made]) -> Made:
    """Return what ``make`` makes of the study.json in a folder; ``ValueError`` when it is not one
    of ours."""

    def ours(found: dict[str, Any]) -> Made:
        if found["format"] != FORMAT:
            raise ValueError("it has another format")
        return make(found)

    return read_document(
        folder / "study.json", ours, "the description of a study", "give another folder"
    )


def check_folder(folder: Path) -> None:
    """Find out before the work whether a folder can hold a study: it must be one of ours, empty, or
    not there.

    Raises ``ValueError`` for a folder with files of somebody else, which a study would overwrite,
    and for a path that no file and no page could name.
    """
    try:
        str(folder.absolute()).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the path {str(folder)!r} cannot be written as UTF-8; give another folder"
        ) from error
    if folder.exists() and not folder.is_dir():
        raise ValueError(
            f"{folder} is a file; give a folder for the study, which may not be there yet"
        )
    if (folder / "study.json").exists():
        read_study(folder, lambda found: found["suite"])
    elif folder.is_dir():
        strange = sorted(p.name for p in folder.iterdir() if not BEGUN.fullmatch(p.name))
        if strange:
            few = ", ".join(strange[:3]) + (", ..." if len(strange) > 3 else "")
            raise ValueError(
                f"{folder} is not a study, but holds {few}: give a new or an empty folder"
            )


def remember_suite(folder: Path, suite: str, size: str) -> None:
    """Note what the folder is for; another suite needs another folder, another size does not."""
    file = folder / "study.json"
    if file.exists() and (had := read_study(folder, lambda found: found["suite"])) != suite:
        raise ValueError(f"{folder} is a study of {had}; use another folder for {suite}")
    write_atomically(file, json.dumps({"format": FORMAT, "suite": suite, "size": size}) + "\n")


def clean(folder: Path) -> None:
    """Remove what processes that were killed left unfinished: only what has a name that we give,
    where we give it."""
    for inside, pattern, name in UNFINISHED:
        if not inside or not (folder / inside).is_symlink():
            for left in (folder / inside).glob(pattern):
                if name.fullmatch(left.name) and not left.is_symlink():
                    shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextmanager
def alone(folder: Path, patience: float = 2.0) -> Iterator[None]:
    """Hold the lock of a study, which ends with the process, however it ends; ``ValueError`` if
    another holds it."""
    database = sqlite3.connect(folder / ".lock", timeout=patience, isolation_level=None)
    try:
        database.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        database.close()
        if "locked" not in str(error):
            raise
        raise ValueError(
            f"another process is working on {folder}; wait until it is done, or stop it"
        ) from error
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{folder / '.lock'} is no lock of ours ({error}): remove it") from error
    try:
        yield
    finally:
        database.close()


def is_running(folder: Path) -> bool:
    try:
        with alone(folder, patience=0):
            return False
    except ValueError:
        return True
    except sqlite3.OperationalError:  # a folder that nobody can write to
        return False
