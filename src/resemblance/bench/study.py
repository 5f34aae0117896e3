"""A study: a folder that remembers what it is for, is used by one process at a time, and can always
be continued.

::

    study/
      study.json                       what it is for: see Purpose
      models/<domain>/.../seed0/     a trained model: traits, weights, outputs, labels, layers
      checkpoints/                     of trainings in progress
      canary/<hash>.npy                layers of a disturbed model, and what they are (.json)
      probes/<hash>.json               what the probes of a model answer
      comparisons.db                   every comparison, by measure, version and data
      result.json                      the result of the last run
      record.json                      when, where and by which commands it was run
      log.txt                          when what was done
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..base.formatting import list_names
from ..base.json_files import decode_record, read_document, write_atomically
from ..base.locks import lock_folder
from ..sections.claims import Claim
from ..sections.result import Result

STUDY_FORMAT = 3
StageProgress = Callable[[str, int, int], None]  # stage, how much is done, of how much
ClaimJudge = Callable[[Any], Iterable[Claim]]  # what judges the claims of a section from its facts
# What a run leaves that is killed at its start.
LOCK_FILE_PATTERN = re.compile(r"\.lock(-journal)?|\.held(-removal)?|\.study\.json-\d+")
# What a killed process leaves unfinished, and where.
UNFINISHED_FILE_PATTERN = re.compile(
    r"\.(partial-seed\d+|rows|[0-9a-f]{24}\.(json|npy)|(study|result|record)\.json|index\.html)-\d+"
)
UNFINISHED_FILE_GLOBS = (".*-*", "models/**/.*-*", "canary/.*-*", "probes/.*-*")


# ----------------------------------------------------------------------------- what a study is for


class Purpose(NamedTuple):
    """What a study is for: a suite at a size, with models that it trains or those in a folder.

    ``models``: the folder of a user's own models, or the name of a pack; None when the study trains
    its models, or needs none. ``size``: empty where models of a user's own leave no choice.
    ``more``: what else a suite remembers, as JSON can hold it.
    """

    suite: str
    size: str = ""
    models: str | None = None
    more: Mapping[str, Any] = {}


JoinPurposes = Callable[
    [Purpose, Purpose], Purpose
]  # what a study was for, and what it is wanted for


def keep_wanted_purpose(study_purpose: Purpose, run_purpose: Purpose) -> Purpose:
    """Return what is wanted: nothing else of the same suite and models needs another folder."""
    return run_purpose


def purpose(folder: str | Path) -> Purpose:
    """Return what a study is for; ``ValueError`` for a folder that is no study."""
    if not (Path(folder) / "study.json").exists():
        raise ValueError(f"{folder} is not a study: it has no study.json")

    def ours(document: dict[str, Any]) -> Purpose:
        if document["format"] != STUDY_FORMAT:
            raise ValueError(
                f"it has another format than {STUDY_FORMAT}, that of this version of resemblance"
            )
        entries = {name: document[name] for name in Purpose._fields if name in document}
        result: Purpose = decode_record(Purpose, entries)
        return result

    remedy = "give a new folder, and run the suite there"
    return read_document(Path(folder) / "study.json", ours, "the description of a study", remedy)


def save_purpose(
    folder: Path, run_purpose: Purpose, join: JoinPurposes = keep_wanted_purpose
) -> Purpose:
    """Note what a study is for, and return it, joined with what it was for before; ``ValueError``
    where another folder is needed."""
    study_purpose = join_purpose(folder, run_purpose, join)
    text = json.dumps({"format": STUDY_FORMAT, **study_purpose._asdict()}, ensure_ascii=False)
    write_atomically(folder / "study.json", text + "\n")
    return study_purpose


def join_purpose(
    folder: Path, run_purpose: Purpose, join: JoinPurposes = keep_wanted_purpose
) -> Purpose:
    """Return what a study is for with what is wanted; ``ValueError`` where another folder is
    needed, as for another suite, and for other models."""
    if not (folder / "study.json").exists():
        return run_purpose
    study_purpose = purpose(folder)
    try:
        check_equal_purpose(study_purpose.suite, run_purpose.suite)
        check_equal_purpose(study_purpose.models, run_purpose.models)
        return join(study_purpose, run_purpose)
    except ValueError as error:
        raise ValueError(f"{folder} {error}") from error


def check_equal_purpose(old: str | None, new: str | None) -> None:
    """Raise ``ValueError`` where a study of one thing is asked for another."""
    if old != new:
        raise ValueError(
            f"is a study of {old or 'trained models'}; use another folder for "
            f"{new or 'trained models'}"
        )


def check_folder(folder: Path) -> None:
    """Check before the work that a folder can hold a study: it is one, is empty, or does not exist.

    Raises ``ValueError`` for a folder with somebody else's files, which a study would overwrite,
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
        purpose(folder)
    elif folder.is_dir():
        names = sorted(p.name for p in folder.iterdir() if not LOCK_FILE_PATTERN.fullmatch(p.name))
        if names:
            raise ValueError(
                f"{folder} is not a study, but holds {list_names(names, 3)}: give a "
                "new or an empty folder"
            )


def add_claims(
    result: Result, judges: Mapping[str, ClaimJudge] | None, facts: Mapping[str, Any]
) -> Result:
    """Return a result whose sections have the claims that are judged by their facts.

    ``judges``, ``facts``: by the name of a section; one without both has no claims.

    Raises ``ValueError`` when a judge returns anything but claims.
    """
    judges = judges or {}
    sections = [
        s._replace(
            claims=(*s.claims, *_check_section_claims(s.name, judges[s.name](facts[s.name])))
        )
        if s.name in judges and s.name in facts
        else s
        for s in result.sections
    ]
    return replace(result, sections=tuple(sections))


def _check_section_claims(section: str, claims: object) -> tuple[Claim, ...]:
    if isinstance(claims, Iterable):
        claims = tuple(claims)
    if not isinstance(claims, tuple) or not all(isinstance(c, Claim) for c in claims):
        raise ValueError(
            f"what judges section {section!r} must return a list of "
            f"resemblance.sections.Claim; got {claims!r:.80}"
        )
    return claims


# ---------------------------------------------------------------------------------- use of a folder


@contextmanager
def study_folder(
    folder: str | Path | None, run_purpose: Purpose, join: JoinPurposes = keep_wanted_purpose
) -> Iterator[tuple[Path, Purpose]]:
    """Hold a study for a run: check it, make it, lock it, remember what it is for and clean up.

    Without a folder it is a temporary one. Raises ``ValueError`` as ``check_folder``,
    ``lock_folder`` and ``save_purpose`` do.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary), run_purpose
        return
    # absolute, for workers may have another working folder; links in it stay, for the place that
    # they lead to may have another name on another machine
    path = Path(folder).absolute()
    check_folder(path)
    path.mkdir(parents=True, exist_ok=True)
    with lock_folder(path):
        study_purpose = save_purpose(path, run_purpose, join)
        remove_unfinished_files(path)
        yield path, study_purpose


def is_running(folder: Path) -> bool:
    """Return whether a process holds the lock of a study."""
    try:
        with lock_folder(folder, patience=0):
            return False
    except ValueError:
        return True
    except (sqlite3.OperationalError, OSError):  # in a folder that nobody can write to
        return False


def remove_unfinished_files(folder: Path) -> None:
    """Remove what killed processes left unfinished: only names that we give, where we give them."""
    for pattern in UNFINISHED_FILE_GLOBS:
        parent, _, suffix = pattern.partition("/")
        if suffix and (folder / parent).is_symlink():
            continue
        for path in folder.glob(pattern):
            if UNFINISHED_FILE_PATTERN.fullmatch(path.name) and not path.is_symlink():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def append_to_log(folder: Path, line: str) -> None:
    """Add a line to the log of a study."""
    with (folder / "log.txt").open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}\n")
