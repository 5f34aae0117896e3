"""Progress of a study, and the record of its runs: dates, commands, machines and library
versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..base.json_files import decode_record, read_document, write_atomically
from ..comparison.provenance import describe_machine, library_versions
from ..comparison.store import ScoreFile
from ..models.model_folder import TRAITS_FILE
from ..models.recipe import Recipe
from .loading import load_study
from .study import Purpose, is_running, purpose
from .study_models import model_folder


class StudyStatus(NamedTuple):
    """The progress of a study.

    ``suite``, ``size``, ``models``: see :class:`.Purpose`. ``running``: whether a process works on
    the study. ``trained``: the number of trained models. ``planned``: the number of models in the
    plan; 0 if unknown. ``parts``: finished pieces of other work, for example perturbed models.
    ``comparisons``: the number of stored comparisons. ``alone``: the number of ``comparisons`` of a
    representation with itself; pages do not count these comparisons. ``scores``: the number of
    scores of measures in tasks, in the result. ``last``: the last line of the log.
    """

    suite: str
    size: str
    models: str | None
    running: bool
    trained: int
    planned: int
    parts: int
    comparisons: int
    alone: int
    scores: int
    last: str


def status(
    folder: str | Path, plan: Callable[[Purpose], Sequence[Recipe]] | None = None
) -> StudyStatus:
    """Return the progress of a study.

    ``plan``: a function from the purpose of the study to the recipes of the planned models. Raises
    ``ValueError`` for a folder without a study.
    """
    path, study_purpose = Path(folder), purpose(folder)
    recipes = plan(study_purpose) if plan and study_purpose.models is None else ()
    if recipes:
        n_trained = sum((model_folder(path, recipe) / TRAITS_FILE).exists() for recipe in recipes)
    else:
        n_trained = sum(1 for _ in path.glob(f"models/**/seed*/{TRAITS_FILE}"))
    comparisons, n_self_pairs, store = 0, 0, path / "comparisons.db"
    if store.exists() and store.stat().st_size:  # the file has content
        with ScoreFile(store, read_only=True) as score_file:
            comparisons, n_self_pairs = score_file.count(), score_file.count(self_pairs=True)
    has_result, lines = (path / "result.json").exists(), list[str]()
    if (path / "log.txt").exists():
        text = (path / "log.txt").read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines()
    return StudyStatus(
        study_purpose.suite,
        study_purpose.size,
        study_purpose.models,
        is_running(path),
        n_trained,
        len(recipes),
        sum(1 for folder in ("canary", "probes") for _ in path.glob(f"{folder}/*.json")),
        comparisons,
        n_self_pairs,
        sum(map(len, load_study(path).scores().values())) if has_result else 0,
        lines[-1] if lines else "",
    )


# ------------------------------------------------------------------------------- what its runs were


RUN_RECORD_FILE = "record.json"


class RunRecord(NamedTuple):
    """The record of all runs of a study, without repetition: repeating a run changes nothing.

    ``begun``: the end of the first run, in UTC. ``versions``: of libraries, such as "torch 2.13.0".
    """

    begun: str
    commands: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


def record_run(folder: Path, command: str) -> RunRecord:
    """Record a run with this command line on the current machine; return the whole record of the
    study. ``folder``: of the study.

    The record gets the command, the machine and the versions of libraries, each only if it is new.
    The first run also sets ``begun``. The file stays as it is if nothing is new.
    """
    record = _read_run_record(folder) or RunRecord(datetime.now(UTC).isoformat(timespec="seconds"))
    new_record = RunRecord(
        record.begun,
        _append_words(record.commands, command),
        _append_words(record.machines, describe_machine()),
        _append_words(
            record.versions, *(f"{name} {number}" for name, number in library_versions().items())
        ),
    )
    if new_record != record:
        write_atomically(
            folder / RUN_RECORD_FILE, json.dumps(new_record._asdict(), ensure_ascii=False)
        )
    return new_record


def provenance_of_runs(folder: Path) -> dict[str, str]:
    """Return the record of the runs of a study, by the headings of a page; empty without a
    record."""
    if (record := _read_run_record(folder)) is None:
        return {}
    words = {
        "date": record.begun,
        "command" if len(record.commands) == 1 else "commands": "; ".join(record.commands),
        "machine": "; ".join(record.machines),
        "libraries": ", ".join(record.versions),
    }
    return {name: text for name, text in words.items() if text}


def _append_words(entries: tuple[str, ...], *words: str) -> tuple[str, ...]:
    """Return ``entries`` followed by ``words``, without duplicates and empty words."""
    return tuple(filter(None, dict.fromkeys((*entries, *words))))


def _read_run_record(folder: Path) -> RunRecord | None:
    if not (folder / RUN_RECORD_FILE).exists():
        return None
    remedy = "remove it: it only says when and where the study was run"
    return read_document(
        folder / RUN_RECORD_FILE,
        partial(decode_record, RunRecord),
        "the record of the runs of a study",
        remedy,
    )
