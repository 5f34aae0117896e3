"""Score files: the scores of measures on packs, a line per measure.

::

    {"pack": "resi-compact@1", "manifest": "7d87…", "suite": "resi", "cells": [["labels", …], …],
     "units": [["0", "1", …], …]}
    {"measure": {"spec": "cka", …}, "code": "b1c2…", "scores": {"resi-compact@1": {…}}}

The lines of packs come first and name the tasks and their seeds. The line of a measure has its
scores in these tasks, and the scores without each seed. Measures are compared when files are read,
so a new measure changes a single line.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.base.codec import encode_value
from resemblance.base.json_files import (
    DAMAGED_FILE_ERRORS,
    check_finite_json,
    check_types,
    decode_record,
    write_atomically,
)

SCORE_FILE_REMEDY = "make it by resemblance rank NAME --save FILE"


class MeasureCard(NamedTuple):
    """The name, the version and the declared properties of a measure."""

    spec: str
    label: str
    name: str
    version: int
    family: str
    larger_is_more_similar: bool
    range: tuple[float | None, float | None]
    symmetric: bool
    metric: bool
    differentiable: bool
    invariant_to: tuple[str, ...]
    citation: str


class ScoredCell(NamedTuple):
    """The score ``value`` of a measure in a task; larger is better; None if the measure has no
    score.

    ``cell``: the name of the task, with slashes. ``parts``: scores in parts of the task, such as
    single models. ``is_incomplete``: some comparisons of the task failed. ``models``: the models of
    the task. ``reason``: why comparisons or the score are missing. ``reliability``: how well the
    expected differences of the task repeat on other inputs; None if unknown, or if the expectation
    does not depend on inputs. ``without``: by seed, the score without the models of the seed.
    """

    test: str
    cell: str
    value: float | None
    parts: tuple[float | None, ...] = ()
    is_incomplete: bool = False
    models: str = ""
    reason: str = ""
    reliability: float | None = None
    without: Mapping[str, float | None] = {}


class PackScores(NamedTuple):
    """The scores of a version of a measure on a pack.

    ``pack``: such as "resi-compact@1". ``manifest``: the SHA-256 of the manifest of the pack, so
    that scores on different data of the same name are never mixed. ``code``: the SHA-256 of the
    code of the measure. ``seconds``: CPU time of the whole run. ``environment``: versions of
    libraries and the machine.
    """

    pack: str
    manifest: str
    suite: str
    measure: MeasureCard
    code: str
    seconds: float
    environment: Mapping[str, str]
    cells: tuple[ScoredCell, ...]

    @property
    def pack_version(self) -> int:
        """The version of the pack: 1 for "resi-compact@1"; 0 without a version."""
        version = self.pack.rpartition("@")[2]
        return int(version) if version.isdecimal() else 0


class PackWithTasks(NamedTuple):
    """A pack and its tasks: the line of a pack in a score file.

    ``cells``: test, name and models of every task. ``reliability``: of tasks with known
    reliability, by test and name. ``units``: of every task, the seeds of the models.
    """

    pack: str
    manifest: str
    suite: str
    cells: tuple[tuple[str, str, str], ...]
    reliability: tuple[tuple[str, str, float], ...] = ()
    units: tuple[tuple[str, ...], ...] = ()


# ------------------------------------------------------------------------------------------ reading


def read_scores(path: str | Path) -> tuple[PackScores, ...]:
    """Read the scores in a file, in the order of the file: :func:`write_scores` sorts by measure
    and then by pack.

    Raises ``ValueError`` with the file and the line for any other content.
    """
    file = Path(path)
    try:
        lines = file.read_text(encoding="utf-8").strip().split("\n")
    except DAMAGED_FILE_ERRORS as error:
        raise ValueError(
            f"{file} is not a score file that can be read ({error}); {SCORE_FILE_REMEDY}"
        ) from error
    packs, scores = dict[str, PackWithTasks](), list[PackScores]()
    for number, line in enumerate(lines, start=1):
        try:
            document = json.loads(line)
            check_finite_json(document)
            if "pack" in document:
                pack: PackWithTasks = decode_record(PackWithTasks, document)
                packs[pack.pack] = pack
            else:
                scores += _parse_measure_scores(document, packs, {s.measure.spec for s in scores})
        except DAMAGED_FILE_ERRORS as error:
            problem = f"no entry {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(
                f"line {number} of {file} has no scores ({problem}); {SCORE_FILE_REMEDY}"
            ) from error
    if not scores:
        raise ValueError(f"{file} holds no scores of measures; {SCORE_FILE_REMEDY}")
    return tuple(scores)


def _parse_measure_scores(
    document: dict[str, Any], packs: Mapping[str, PackWithTasks], specs: Container[str]
) -> Iterator[PackScores]:
    measure: MeasureCard = decode_record(MeasureCard, document["measure"])
    if measure.spec in specs:
        raise ValueError(f"an earlier line has scores of {measure.spec}")
    for name, entry in document["scores"].items():
        pack, reliability = packs[name], {}
        for test, cell, r in pack.reliability:
            reliability[test, cell] = r
        run_info = document["code"], entry["seconds"], entry["environment"]
        scores = PackScores(name, pack.manifest, pack.suite, measure, *run_info, cells=())
        check_types(scores, PackScores)
        cells = (
            _parse_task_score(*key, value, reliability.get(key[:2]))
            for key, value in zip(pack.cells, entry["values"], strict=True)
        )
        without = (
            _parse_scores_without(units, values)
            for units, values in zip(pack.units, entry["without"], strict=True)
        )
        yield scores._replace(
            cells=tuple(c._replace(without=w) for c, w in zip(cells, without, strict=True))
        )


def _parse_scores_without(units: tuple[str, ...], values: Any) -> dict[str, float | None]:
    scores = dict(zip(units, values, strict=True))
    if wrong := [v for v in scores.values() if not isinstance(v, float | None)]:
        raise ValueError(f"a score without a seed cannot be {wrong[0]!r}")
    return scores


def _parse_task_score(
    test: str, cell: str, models: str, value: Any, reliability: float | None
) -> ScoredCell:
    # Nearly all scores are plain numbers.
    if isinstance(value, float):
        return ScoredCell(test, cell, value, models=models, reliability=reliability)
    score, parts, is_incomplete, reason = value
    scored_cell = ScoredCell(
        test, cell, score, tuple(parts), is_incomplete, models, reason, reliability
    )
    check_types(scored_cell, ScoredCell)
    return scored_cell


# ------------------------------------------------------------------------------------------ writing


def write_scores(path: str | Path, scores: Iterable[PackScores]) -> Path:
    """Add scores to a file in one atomic write; return the path.

    The new line of a measure replaces the old line; old scores on other packs stay if the same code
    computed them.

    Raises ``ValueError`` for a file of another kind, and if the file has scores on a different pack
    of the same name.
    """
    file, new_scores = Path(path), {(s.measure.spec, s.pack): s for s in scores}
    codes = {s.measure.spec: (s.measure, s.code) for s in new_scores.values()}
    old_scores = {
        (s.measure.spec, s.pack): s
        for s in read_scores_if_any(file)
        if codes.get(s.measure.spec, (s.measure, s.code)) == (s.measure, s.code)
    }
    write_atomically(
        file,
        "".join(map(_json_line, _score_documents({**old_scores, **new_scores}.values(), file))),
    )
    return file


def read_scores_if_any(path: str | Path) -> tuple[PackScores, ...]:
    """Read the scores in a file; no scores if the file does not exist yet, or is empty."""
    file = Path(path)
    return read_scores(file) if file.exists() and file.stat().st_size else ()


def _score_documents(scores: Iterable[PackScores], file: Path) -> Iterator[dict[str, Any]]:
    """Yield the documents of a score file in order: packs by name, then measures by specification.
    ``file``: the path in errors."""
    packs, measures = dict[str, PackWithTasks](), dict[str, list[PackScores]]()
    for entry in sorted(scores, key=lambda s: (s.measure.spec, s.pack)):
        packs[entry.pack] = _join_pack_tasks(packs.get(entry.pack), _pack_with_tasks(entry), file)
        measures.setdefault(entry.measure.spec, []).append(entry)
    for _, pack in sorted(packs.items()):
        yield encode_value(pack)
    for measure_scores in measures.values():
        first = measure_scores[0]
        values = {s.pack: _measure_entry(s) for s in measure_scores}
        yield {"measure": encode_value(first.measure), "code": first.code, "scores": values}


def _pack_with_tasks(scores: PackScores) -> PackWithTasks:
    return PackWithTasks(
        scores.pack,
        scores.manifest,
        scores.suite,
        tuple((c.test, c.cell, c.models) for c in scores.cells),
        tuple((c.test, c.cell, c.reliability) for c in scores.cells if c.reliability is not None),
        tuple(tuple(c.without) for c in scores.cells),
    )


def _join_pack_tasks(pack: PackWithTasks | None, other: PackWithTasks, file: Path) -> PackWithTasks:
    """Merge two records of the same pack, with all known reliabilities of its tasks; ``pack`` None
    gives ``other``. Raises ``ValueError`` for another manifest or other tasks; ``file``: the path
    in errors."""
    if pack is None:
        return other
    if (pack[:4], pack.units) != (other[:4], other.units):
        raise ValueError(
            f"{file} has scores on another pack {pack.pack} (manifest {pack.manifest[:12]}, here "
            f"{other.manifest[:12]}): give a new file"
        )
    reliabilities = {entry[:2]: entry for entry in (*pack.reliability, *other.reliability)}
    return pack._replace(reliability=tuple(reliabilities.values()))


def _measure_entry(scores: PackScores) -> dict[str, Any]:
    """Return the document of the scores of a measure on a pack: "seconds", "environment", "values"
    and "without".

    "values" has an entry per task: a number, or the list [score, parts, is incomplete, reason] if
    the score is missing or has parts, failures or a reason. "without" has, per task, the list of
    the scores without a seed.
    """
    values = [
        [c.value, list(c.parts), c.is_incomplete, c.reason]
        if c.parts or c.is_incomplete or c.reason or c.value is None
        else c.value
        for c in scores.cells
    ]
    environment = dict(sorted(scores.environment.items()))
    without = [list(c.without.values()) for c in scores.cells]
    return {
        "seconds": scores.seconds,
        "environment": environment,
        "values": values,
        "without": without,
    }


def _json_line(document: Mapping[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, ensure_ascii=False) + "\n"
