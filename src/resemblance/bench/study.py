"""A study: a folder that records its purpose, is locked by one process at a time, and can always be
continued.

::

    study/
      study.json                       the purpose: see Purpose
      models/<domain>/.../seed0/     a trained model: traits, weights, outputs, labels, layers
      checkpoints/                     of trainings in progress
      canary/<hash>.npy                layers of a perturbed model, and a description (.json)
      probes/<hash>.json               the results of the probes of a model
      comparisons.db                   every comparison, by measure, version and data
      result.json                      the result of the last run
      record.json                      dates, machines and commands of the runs
      log.txt                          every step, with its time
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
StageProgress = Callable[[str, int, int], None]  # stage, amount done, total amount
ClaimJudge = Callable[[Any], Iterable[Claim]]  # maps the facts of a section to judged claims
# Files that remain if a run is killed at its start.
LOCK_FILE_PATTERN = re.compile(r"\.lock(-journal)?|\.held(-removal)?|\.study\.json-\d+")
# Unfinished files that a killed process leaves behind, and their locations.
UNFINISHED_FILE_PATTERN = re.compile(
    r"\.(partial-seed\d+|rows|[0-9a-f]{24}\.(json|npy)|(study|result|record)\.json|index\.html)-\d+"
)
UNFINISHED_FILE_GLOBS = (".*-*", "models/**/.*-*", "canary/.*-*", "probes/.*-*")


# ----------------------------------------------------------------------------- what a study is for


class Purpose(NamedTuple):
    """The purpose of a study: a suite, a size, and the origin of the models.

    ``models``: the folder of a user's own models, or the name of a pack; None if the study trains
    its models, or needs no models. ``size``: empty if the user's own models leave no choice.
    ``more``: further entries that a suite stores, JSON-serialisable.
    """

    suite: str
    size: str = ""
    models: str | None = None
    more: Mapping[str, Any] = {}


# Joins the stored purpose of a study with the purpose of a run.
JoinPurposes = Callable[[Purpose, Purpose], Purpose]


def keep_wanted_purpose(study_purpose: Purpose, run_purpose: Purpose) -> Purpose:
    """Return ``run_purpose``: with the same suite and models, any run may use the same folder."""
    return run_purpose


def purpose(folder: str | Path) -> Purpose:
    """Read the purpose of a study from its folder; ``ValueError`` for a folder that is not a
    study."""
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
    """Save the purpose of a study, joined with the stored purpose, and return the joined purpose.

    ``join``: maps the stored purpose and the purpose of the run to the joined purpose. Raises
    ``ValueError`` if the run needs another folder.
    """
    study_purpose = join_purpose(folder, run_purpose, join)
    text = json.dumps({"format": STUDY_FORMAT, **study_purpose._asdict()}, ensure_ascii=False)
    write_atomically(folder / "study.json", text + "\n")
    return study_purpose


def join_purpose(
    folder: Path, run_purpose: Purpose, join: JoinPurposes = keep_wanted_purpose
) -> Purpose:
    """Return the stored purpose of a study joined with the purpose of a run; the purpose of the run
    if nothing is stored.

    ``join``: maps both purposes, with equal suite and models, to the joined purpose. Raises
    ``ValueError`` if the run needs another folder, because the suite or the models differ, or
    because ``join`` says so.
    """
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
    """Raise ``ValueError`` if ``old``, the stored entry of a purpose (a suite, or the origin of the
    models), differs from ``new``, the entry of the run. None: the study trains its models."""
    if old != new:
        raise ValueError(
            f"is a study of {old or 'trained models'}; use another folder for "
            f"{new or 'trained models'}"
        )


def check_folder(folder: Path) -> None:
    """Check before a run that a folder can hold a study: the folder is a study, is empty, or does
    not exist.

    Raises ``ValueError`` for a folder with other files, which a study could overwrite, and for a
    path that cannot be encoded as UTF-8.
    """
    try:
        str(folder.absolute()).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the path {str(folder)!r} cannot be written as UTF-8; give another folder"
        ) from error
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give a new or an empty folder for the study")
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
    """Return a copy of the result with judged claims in its sections.

    ``judges``, ``facts``: by the name of a section; the judge of a section is called with the facts
    and returns claims. A section without a judge or without facts gets no claims.

    Raises ``ValueError`` if a judge returns anything but claims.
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
    """Prepare the folder of a study for a run: check, create and lock the folder, save the purpose,
    remove unfinished files. Yield the absolute path and the joined purpose.

    ``join``: a function of the stored and the wanted purpose that returns the purpose to store.
    Without a folder, a temporary folder is used, and the purpose is ``run_purpose``. Raises
    ``ValueError`` for a folder that is in use, holds other files, or is a study with another
    purpose.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary), run_purpose
        return
    # The path is absolute because workers may have another working folder. Links stay unresolved
    # because the target may have another name on another machine.
    path = Path(folder).absolute()
    check_folder(path)
    path.mkdir(parents=True, exist_ok=True)
    with lock_folder(path):
        study_purpose = save_purpose(path, run_purpose, join)
        remove_unfinished_files(path)
        yield path, study_purpose


def is_running(folder: Path) -> bool:
    """Return whether a process holds the lock of a study; False in a read-only folder."""
    try:
        with lock_folder(folder, patience=0):
            return False
    except ValueError:
        return True
    except (sqlite3.OperationalError, OSError):  # the folder is read-only
        return False


def remove_unfinished_files(folder: Path) -> None:
    """Remove unfinished files of killed processes: only file names that a study creates, only in
    their usual places."""
    for pattern in UNFINISHED_FILE_GLOBS:
        parent, _, suffix = pattern.partition("/")
        if suffix and (folder / parent).is_symlink():
            continue
        for path in folder.glob(pattern):
            if UNFINISHED_FILE_PATTERN.fullmatch(path.name) and not path.is_symlink():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def append_to_log(folder: Path, line: str) -> None:
    """Append a line with a timestamp to the log of a study."""
    with (folder / "log.txt").open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}\n")
