"""Comparisons put together from cells: those just computed, or those in a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from .catalogue import get_measure
from .claims import SLACK, outside
from .columns import CAVEAT, Column, Matrix
from .comparison import NOT_COMPUTED, Comparison, Diagnostic, Failures, MeasureInfo
from .representation import title
from .store import Store, reading


def load(path: str | Path) -> Comparison:
    """Read a saved comparison; pairs that an interrupted one lacks are in its ``failures``.

    Raises ``ValueError`` for a file that does not exist or is not a comparison.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no comparison at {path}")
    with Store(path, read_only=True) as store, reading(path):
        description = store.description()
        infos = tuple(_info_from(entry) for entry in description["measures"])
        rows, columns, provenance = (description[k] for k in ("rows", "columns", "provenance"))
        data = [
            list(dict.fromkeys(_fingerprints(provenance, side).values()))
            for side in ("rows", "columns")
        ]
        matrices = {(m.spec, m.version): Matrix(data[0], data[1], m.symmetric) for m in infos}
        check = range_check(infos, path)
        for column in store.columns():
            check(column)
            if matrix := matrices.get((column.measure, column.version)):
                matrix.put(column)
        by_spec = {spec: matrix for (spec, _), matrix in matrices.items()}
        return assemble(rows, columns, infos, by_spec, provenance)


def _info_from(entry: dict[str, Any]) -> MeasureInfo:
    low, high = entry["range"]
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    return MeasureInfo(**(entry | {"range": bounds}))


def range_check(infos: Iterable[MeasureInfo], path: Path) -> Callable[[Column], None]:
    """Return a function that raises ``ValueError`` for values in a file that its measure cannot
    have.

    The range is the one that this library declares; for a user's own measure, that in the file.
    """
    ranges = {(m.spec, m.version): _declared_range(m) for m in infos}

    def check(column: Column) -> None:
        ends = ranges.get((column.measure, column.version))
        values = column.values[np.isfinite(column.values)]
        if ends is None or not values.size:
            return
        for value in (float(values.min()), float(values.max())):
            if outside(value, ends, max(SLACK.values())):
                raise ValueError(f"{path} is damaged: {column.measure} cannot be {value:g}")

    return check


def _declared_range(info: MeasureInfo) -> tuple[float, float]:
    try:
        measure = get_measure(info.spec)
    except ValueError:  # a user's own
        return info.range
    is_same = (measure.label, measure.version) == (info.label, info.version)
    return measure.range if is_same else info.range


def assemble(
    rows: Iterable[str],
    columns: Iterable[str],
    infos: tuple[MeasureInfo, ...],
    matrices: Mapping[str, Matrix],
    provenance: Mapping[str, Any],
    absent: Mapping[str, str] | None = None,
) -> Comparison:
    """Put scores into one matrix per measure, looked up by the fingerprints of both sides.

    ``absent``: why measures without a matrix were not computed.
    """
    names = tuple(rows), tuple(columns)
    prints = [
        [_fingerprints(provenance, side)[name] for name in of_side]
        for side, of_side in zip(("rows", "columns"), names)
    ]
    values, numbers = dict[str, np.ndarray](), dict[str, dict[str, np.ndarray]]()
    seconds, caveats = dict[str, float](), list[Diagnostic]()
    reasons = dict[str, dict[tuple[int, int], str]]()
    for m in infos:
        matrix = matrices.get(m.spec) or Matrix([], [], m.symmetric)
        places = [
            np.array([of.get(name, -1) for name in of_side], dtype=np.intp)
            for of, of_side in zip((matrix.rows, matrix.columns), prints)
        ]
        values[m.spec] = _spread(matrix.values, *places)
        numbers[m.spec] = {name: _spread(of, *places) for name, of in matrix.numbers.items()}
        seconds[m.spec] = matrix.seconds
        reasons[m.spec] = _reasons(matrix, places, prints, names)
        caveats += _caveats(m, matrix, places, names)
    others = {m.spec: (absent or {}).get(m.spec, NOT_COMPUTED) for m in infos}
    failures = Failures(*names, values, reasons, others)
    return Comparison(*names, infos, values, seconds, failures, provenance, numbers, tuple(caveats))


def _spread(matrix: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the entries of distinct data for each name; NaN for data that are not among them."""
    rows, columns = matrix.shape
    is_same = np.array_equal(i, np.arange(rows)) and np.array_equal(j, np.arange(columns))
    if not is_same:
        padded = np.full((rows + 1, columns + 1), np.nan)  # -1 finds NaN
        padded[:-1, :-1] = matrix
        matrix = padded[np.ix_(i, j)]
    matrix.flags.writeable = False
    return matrix


def _caveats(
    m: MeasureInfo,
    matrix: Matrix,
    places: Sequence[np.ndarray],
    names: tuple[tuple[str, ...], tuple[str, ...]],
) -> Iterator[Diagnostic]:
    """Yield the caveats of a measure by the names of the data, in the order of the pairs."""
    if matrix.caveats:
        for (i, x), (j, y) in product(enumerate(names[0]), enumerate(names[1])):
            if words := matrix.caveats.get((int(places[0][i]), int(places[1][j]))):
                yield Diagnostic(m.spec, x, y, CAVEAT, words)


def _reasons(
    matrix: Matrix,
    places: Sequence[np.ndarray],
    prints: Sequence[Sequence[str]],
    names: tuple[tuple[str, ...], tuple[str, ...]],
) -> dict[tuple[int, int], str]:
    """Return the reasons of failed pairs by row and column, with names in place of the fingerprints
    of the data."""
    reasons = {}
    rows, columns = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for positions, of_side in zip((rows, columns), places):
        for i, place in enumerate(of_side.tolist()):
            positions[place].append(i)
    for (a, b), words in matrix.reasons.items():
        for i, j in product(rows[a], columns[b]):
            named = words.replace(f"{{{prints[0][i]}}}", title(names[0][i]))
            reasons[i, j] = named.replace(f"{{{prints[1][j]}}}", title(names[1][j]))
    return reasons


def _fingerprints(provenance: Mapping[str, Any], side: str) -> dict[str, str]:
    return {name: identity["fingerprint"] for name, identity in provenance[side].items()}
