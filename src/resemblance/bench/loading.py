"""Load all saved results: score files, JSON documents and study folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ..base.results import (
    DAMAGED_REMEDY,
    FORMAT_ENTRY,
    SAVE_REMEDY,
    BaseResult,
    class_of_format,
    result_from_document,
    unreadable_error,
)
from ..sections.result import Result, read_result_document

# Magic bytes of score files (SQLite), and of saved streams and maps of an index (ZIP).
SQLITE_MAGIC, ZIP_MAGIC = b"SQLite format 3\0", b"PK\3\4"
STUDY_RESULT_FILE = "result.json"  # in the folder of a study
STUDY_REMEDY = "remove it and run the suite again: what was computed is kept"
# By class name, the module of every result with a JSON document.
RESULT_MODULES: Mapping[str, str] = {
    "ErrorConsistency": "inference",
    "ModelScores": "inference",
    "TimeCourses": "inference",
    "Clusters": "comparison.populations",
    "DriftReport": "versions",
    "Forecast": "engine.forecast",
    "ScaleCurve": "engine._scale_curve",
    "Permanova": "comparison.populations",
    "Interval": "stability.resampling",
    "LayerPatches": "models.patching",
    "Leaderboard": "bench.ranking.leaderboard",
    "RankedMeasures": "bench.ranking.verdicts",
    "Null": "stability.resampling",
    "Perturbations": "stability.screen",
    "IndexUpgrade": "versions",
}


def load(path: str | Path) -> Any:
    """Load a result, a stream or a map of an index that ``save`` (or ``save=`` in a call) wrote.

    If ``path`` is the folder of a study, the result of the study is returned. The content of a file
    determines the type of the result, not the suffix. Opening a file never runs code. An
    interrupted comparison lists the missing pairs in ``failures``.

    Raises ``ValueError`` for a path without a file, and for a file that is damaged, of another
    version, or of another program.
    """
    path = Path(path)
    if path.is_dir():
        return load_study(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}; check the path")
    try:
        with path.open("rb") as file:
            magic = file.read(len(SQLITE_MAGIC))
    except OSError as error:
        raise unreadable_error(str(path), error.strerror, SAVE_REMEDY) from error
    if not magic:
        raise unreadable_error(str(path), "it is empty", SAVE_REMEDY)
    if magic == SQLITE_MAGIC:
        from ..inference.loading import load_scores

        return load_scores(path)
    if magic.startswith(ZIP_MAGIC):
        from ..stream import Stream
        from ..versions.index_maps import is_index_map_file, load_index_map

        if is_index_map_file(path):
            return load_index_map(path)
        return Stream.load(path)
    return _result_from_text(path)


def load_study(study: str | Path) -> Any:
    """Load the result of a study from its folder.

    Raises ``ValueError`` for a folder without a result, and for a result that cannot be read.
    """
    folder = Path(study)
    if (folder / STUDY_RESULT_FILE).exists():
        return _result_from_text(folder / STUDY_RESULT_FILE, STUDY_REMEDY)
    if any(folder.glob("**/traits.json")):
        raise ValueError(f"{folder} has features of a model; open them with rs.open_features")
    comparison_file = next(folder.glob("*.comparison"), None)
    remedy = (
        f"it has {comparison_file}"
        if comparison_file
        else f"run a benchmark there: resemblance bench run resi {folder}"
    )
    raise ValueError(f"{folder} has no results yet; {remedy}")


def _result_from_text(path: Path, remedy: str = "") -> BaseResult:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        entry = document[FORMAT_ENTRY]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise unreadable_error(str(path), error, remedy or SAVE_REMEDY) from error
    name, remedy = class_of_format(entry, str(path), remedy), remedy or DAMAGED_REMEDY
    if name == Result.__name__:
        return read_result_document(document, str(path), remedy)
    if name not in RESULT_MODULES:
        raise unreadable_error(str(path), f"there is no class {name!r} of results", remedy)
    package = __name__.partition(".")[0]
    kind: type[BaseResult] = getattr(import_module(f"{package}.{RESULT_MODULES[name]}"), name)
    return result_from_document(kind, document, str(path), remedy)
