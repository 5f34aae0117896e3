"""Comparisons put together from cells: those just computed, or those in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from .catalogue import get_measure
from .comparison import Comparison, Diagnostic, Failure, MeasureInfo
from .declared import SLACK, outside
from .representation import title
from .store import Cell, Key, Store, diagnostics_of, key_of, reading


def load(path: str | Path) -> Comparison:
    """Read a saved comparison; pairs that an interrupted one lacks are in its ``failures``.

    Raises ``ValueError`` for a file that does not exist or is not a comparison.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no comparison at {path}")
    with Store(path, read_only=True) as store, reading(path):
        description, cells = store.description(), store.cells()
        infos = tuple(_info_from(entry) for entry in description["measures"])
        check_ranges(cells, infos, path)
        return assemble(
            description["rows"],
            description["columns"],
            infos,
            {key_of(cell): cell for cell in cells},
            description["provenance"],
        )


def _info_from(entry: dict[str, Any]) -> MeasureInfo:
    low, high = entry["range"]
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    return MeasureInfo(**(entry | {"range": bounds}))


def check_ranges(cells: Iterable[Cell], infos: Iterable[MeasureInfo], path: Path) -> None:
    """Raise ``ValueError`` for a value in a file that its measure cannot have.

    The range is the one that this library declares; for a user's own measure, that in the file.
    """
    ranges = {(m.spec, m.version): _declared_range(m) for m in infos}
    for cell in cells:
        ends = ranges.get(cell[:2])
        if ends and cell.value is not None and outside(cell.value, ends, max(SLACK.values())):
            raise ValueError(f"{path} is damaged: {cell.measure} cannot be {cell.value:g}")


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
    cells: Mapping[Key, Cell],
    provenance: Mapping[str, Any],
    absent: Mapping[str, str] | None = None,
) -> Comparison:
    """Put cells into one matrix per measure, looked up by the fingerprints of both sides.

    ``absent``: why measures without any cell were not computed.
    """
    rows, columns = tuple(rows), tuple(columns)
    of_row, of_column = _fingerprints(provenance, "rows"), _fingerprints(provenance, "columns")
    values = {m.spec: np.full((len(rows), len(columns)), np.nan) for m in infos}
    seconds = dict.fromkeys(values, 0.0)
    failures, diagnostics, used = list[Failure](), list[Diagnostic](), dict[Cell, None]()
    for m in infos:
        reason = (absent or {}).get(m.spec, "not computed")
        cells_of_measure = dict[Cell, None]()  # a pair and its mirror image may share one
        for (i, x), (j, y) in product(enumerate(rows), enumerate(columns)):
            a, b = of_row[x], of_column[y]
            cell = _cell_of(m, a, b, cells)
            if cell is None:
                failures.append(Failure(m.spec, x, y, reason))
                continue
            cells_of_measure[cell] = None
            diagnostics += [
                Diagnostic(m.spec, x, y, *named) for named in diagnostics_of(cell).items()
            ]
            if cell.value is None:
                failures.append(Failure(m.spec, x, y, _reason(cell, (a, x), (b, y))))
            else:
                values[m.spec][i, j] = cell.value
        seconds[m.spec] = sum(cell.seconds for cell in cells_of_measure)
        values[m.spec].flags.writeable = False
        used |= cells_of_measure
    matrices = (rows, columns, infos, values, seconds)
    return Comparison(*matrices, tuple(failures), provenance, tuple(used), tuple(diagnostics))


def _cell_of(m: MeasureInfo, x: str, y: str, cells: Mapping[Key, Cell]) -> Cell | None:
    """Return the cell of a pair of fingerprints; of a symmetric measure in either order."""
    cell = cells.get((m.spec, m.version, x, y))
    return cells.get((m.spec, m.version, y, x)) if cell is None and m.symmetric else cell


def _reason(cell: Cell, *sides: tuple[str, str]) -> str:
    """Return the reason of a failed cell, with names in place of the fingerprints of the data."""
    reason = cell.reason or ""
    for fingerprint, name in sides:
        reason = reason.replace(f"{{{fingerprint}}}", title(name))
    return reason


def _fingerprints(provenance: Mapping[str, Any], side: str) -> dict[str, str]:
    return {name: identity["fingerprint"] for name, identity in provenance[side].items()}
