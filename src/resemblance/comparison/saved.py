"""Comparisons read from score files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..catalogue import get_measure
from ..contracts.claims import RANGE_TOLERANCE, is_outside_range
from .comparison import NOT_COMPUTED, Comparison, MeasureInfo
from .provenance import fingerprints_by_name
from .scores import ScoreBatch, ScoreMatrix
from .store import RECOMPUTE_REMEDY, ScoreFile, name_damaged_score_file


def load_comparison(path: str | Path) -> Comparison:
    """Read a saved comparison; pairs that an interrupted run did not reach are in its ``failures``.

    Raises ``ValueError`` for a file that does not exist or is not a comparison.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no comparison at {path}")
    with ScoreFile(path, read_only=True) as store, name_damaged_score_file(path):
        description = store.description()
        infos = tuple(map(_measure_info_from_json, description["measures"]))
        rows, columns, provenance = (description[k] for k in ("rows", "columns", "provenance"))
        data = fingerprints_by_name(rows, columns, provenance)
        matrices = {m.spec: ScoreMatrix(m.spec, m.version, m.symmetric, *data) for m in infos}
        check = range_checker(infos, path)
        for column in store.columns():
            check(column)
            if column.measure in matrices:
                matrices[column.measure].put(column)
        comparison = Comparison(tuple(rows), tuple(columns), infos, matrices, provenance)
        if any(failure.reason == NOT_COMPUTED for failure in comparison.failures):
            store.check_rows()  # a damaged file lacks scores too
        return comparison


def _measure_info_from_json(entry: dict[str, Any]) -> MeasureInfo:
    low, high = entry["range"]
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    return MeasureInfo(**(entry | {"range": bounds}))


def range_checker(infos: Iterable[MeasureInfo], path: Path) -> Callable[[ScoreBatch], None]:
    """Return a function that takes a batch and raises ``ValueError`` for values outside the range
    of the measure. ``path``: the file, for the error.

    The range is the declared range of this library; for a user's own measure, the range in
    ``infos``.
    """
    ranges = {(m.spec, m.version): _measure_range(m) for m in infos}

    def check(column: ScoreBatch) -> None:
        ends = ranges.get((column.measure, column.version))
        values = column.values[np.isfinite(column.values)]
        if ends is None or not values.size:
            return
        for value in (float(values.min()), float(values.max())):
            if is_outside_range(value, ends, max(RANGE_TOLERANCE.values())):
                raise ValueError(
                    f"{path} is damaged: {column.measure} cannot be {value:g}; {RECOMPUTE_REMEDY}"
                )

    return check


def _measure_range(info: MeasureInfo) -> tuple[float, float]:
    try:
        measure = get_measure(info.spec)
    except ValueError:  # a user's own measure
        return info.range
    is_same = (measure.label, measure.version) == (info.label, info.version)
    return measure.range if is_same else info.range
