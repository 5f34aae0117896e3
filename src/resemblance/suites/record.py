"""When, by which commands, on which machines and with which versions a study was run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..json_files import check_types, read_document, write_atomically
from ..provenance import machine_words, versions

NAME = "record.json"


class Record(NamedTuple):
    """What all runs of a study were, each once: a run that repeats another changes nothing.

    ``begun``: when the first ended, in UTC. ``versions``: of libraries, as "torch 2.13.0".
    """

    begun: str
    commands: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


def record_run(folder: Path, command: str) -> Record:
    """Note that a command ran a study here and now, and return all that is known of its runs."""
    known = _read(folder) or Record(datetime.now(UTC).isoformat(timespec="seconds"))
    with_run = Record(
        known.begun,
        _with(known.commands, command),
        _with(known.machines, machine_words()),
        _with(known.versions, *(f"{name} {number}" for name, number in versions().items())),
    )
    if with_run != known:
        write_atomically(folder / NAME, json.dumps(with_run._asdict(), ensure_ascii=False))
    return with_run


def provenance_of_runs(folder: Path) -> dict[str, str]:
    """Return what is known of the runs of a study, by the names that a page shows; nothing for a
    study without a record."""
    record = _read(folder)
    return {name: words for name, words in _lines(record) if words} if record else {}


def _lines(record: Record) -> Iterator[tuple[str, str]]:
    yield "date", record.begun
    yield "command" if len(record.commands) == 1 else "commands", "; ".join(record.commands)
    yield "machine", "; ".join(record.machines)
    yield "libraries", ", ".join(record.versions)


def _with(known: tuple[str, ...], *words: str) -> tuple[str, ...]:
    """Return words with more of them, each once, without empty ones."""
    return tuple(filter(None, dict.fromkeys((*known, *words))))


def _read(folder: Path) -> Record | None:
    if not (folder / NAME).exists():
        return None
    remedy = "remove it: it only says when and where the study was run"
    return read_document(folder / NAME, _record, "the record of the runs of a study", remedy)


def _record(document: Mapping[str, Any]) -> Record:
    lists = {name: tuple(document[name]) for name in Record._fields[1:]}
    record = Record(document["begun"], **lists)
    check_types(record, Record)
    return record
