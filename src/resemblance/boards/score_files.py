"""Score files: the scores of one version of one measure on one pack, in one file.

::

    results/
      resi-compact@1/
        cka@v1.json
        cka[estimator=debiased]@v1.json
      sensitivity-compact@1/
        cka@v1.json

A file holds everything that ranks need, so that adding one touches no other: measures are ranked
when files are joined.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ..json_files import check_finite, check_types, parse_document, read_document, write_atomically
from ..results.codec import decode, encode

FORMAT = 1
SAFE = "[]=,.-_+ "  # characters that a specification may have and every file system takes
PLACES = "*@*/*.json"  # of score files in a folder of results
REMEDY = "compute it again: resemblance submit"


class MeasureCard(NamedTuple):
    """What a score file says of its measure: its name, its version and its claims."""

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
    reference: str
    summary: str = ""


class ScoredCell(NamedTuple):
    """The score of a measure in one cell; larger is better, None with a reason where it has none.

    ``parts``: scores in parts of the cell, such as single models. ``is_incomplete``: some of its
    comparisons failed there. ``models``: that the cell is of.
    """

    test: str
    cell: str
    value: float | None
    parts: tuple[float | None, ...] = ()
    is_incomplete: bool = False
    models: str = ""
    reason: str = ""


class ScoreFile(NamedTuple):
    """The scores of one version of one measure on one pack.

    ``pack``: "resi-compact@1"; ``manifest``: the SHA-256 of its manifest, so that scores on other
    data of the same name are never mixed. ``code``: the SHA-256 of what computes the measure.
    ``seconds``: CPU time of the whole run. ``environment``: versions of libraries and the machine.
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
    def path(self) -> Path:
        """Where the file lies in a folder of results."""
        return Path(self.pack) / file_name(self.measure.spec, self.measure.version)

    @property
    def has_values(self) -> bool:
        """Whether the measure has a score in any cell."""
        return any(cell.value is not None for cell in self.cells)

    @property
    def pack_version(self) -> int:
        """The version of the pack: 1 of "resi-compact@1"; 0 where there is none."""
        version = self.pack.rpartition("@")[2]
        return int(version) if version.isdecimal() else 0


def file_name(spec: str, version: int) -> str:
    """Return the name of the score file of a version of a measure."""
    return f"{quote(spec, safe=SAFE)}@v{version}.json"


def measure_in(name: str) -> str:
    """Return the name of the measure of a score file, by the name of the file."""
    return re.split(r"[\[@]", name, maxsplit=1)[0]


def write_scores(folder: str | Path, scores: ScoreFile) -> Path:
    """Write a score file to its place in a folder of results, at once; return its path."""
    path = Path(folder) / scores.path
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, scores_text(scores))
    return path


def scores_text(scores: ScoreFile) -> str:
    """Return the content of a score file."""
    document = _document(scores)
    return _text({**document, "sha256": _digest(document)})


def read_scores(path: str | Path) -> ScoreFile:
    """Read a score file.

    Raises ``ValueError`` for one that was changed since it was written, is of another format, or
    lies where another should.
    """
    file = Path(path)
    scores = read_document(file, _scores_of, "a score file", REMEDY)
    expected = scores.path.parts
    if file.parts[-2:] != expected:
        raise ValueError(f"{file} holds the scores of {'/'.join(expected)}, which is its place")
    return scores


def scores_in(text: str) -> ScoreFile:
    """Return the scores in the content of a score file; ``ValueError`` as :func:`read_scores`."""
    return parse_document(text, _scores_of, "a text", "the content of a score file")


def _document(scores: ScoreFile) -> dict[str, Any]:
    return {"format": FORMAT, **encode(scores), "cells": [list(cell) for cell in scores.cells]}


def _scores_of(document: dict[str, Any]) -> ScoreFile:
    if document.get("format") != FORMAT:
        raise ValueError("it has another format")
    digest = document.pop("sha256")
    if digest != _digest(document):
        raise ValueError("it was changed after it was written: its checksum is another")
    check_finite(document)
    entries = {name: value for name, value in document.items() if name != "format"}
    cells = tuple(_cell(*cell) for cell in entries.pop("cells"))
    scores: ScoreFile = decode(ScoreFile, {**entries, "cells": []})
    scores = scores._replace(cells=cells)
    check_types(scores, ScoreFile)
    return scores


def _cell(
    test: str, cell: str, value: float | None, parts: Iterable[Any], *more: Any
) -> ScoredCell:
    return ScoredCell(test, cell, value, tuple(parts), *more)


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(document).encode()).hexdigest()


def _text(document: Mapping[str, Any]) -> str:
    """Return a document as JSON with one cell a line, so that a change of one shows as one."""
    lines = [
        f"{json.dumps(name)}: {_rows(value) if name == 'cells' else _plain(value)}"
        for name, value in sorted(document.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _rows(cells: Iterable[Any]) -> str:
    return "[\n" + ",\n".join(map(_plain, cells)) + "\n]"


def _plain(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, sort_keys=True)


def has_scores(folder: Path) -> bool:
    """Return whether a folder of results has any score file."""
    return next(folder.glob(PLACES), None) is not None


def score_files(folder: str | Path) -> tuple[Path, ...]:
    """Return the score files in a folder of results, in their order; ``ValueError`` for one that
    has none."""
    files = tuple(sorted(Path(folder).glob(PLACES)))
    if not files:
        raise ValueError(f"{folder} holds no score files (PACK@VERSION/MEASURE@vVERSION.json)")
    return files
