"""Columns of scores as the rows of a file: a row for each score, or one for a whole tile."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from .columns import CAVEAT, COLUMNS, Column, Entries, Scored, split

PACKED = 512  # a column of so many entries is one row
LONGEST = 2**22  # entries of a row: SQLite has no values of more than 1 GB
TILE = ("measure", "version", "size", "alone", "data", "pairs", "numbers", "notes")


class Cell(NamedTuple):
    """One computed value of a measure for the data with fingerprints x and y, or why there is none.

    ``diagnostics``: what the measure reports besides, as a JSON object of named numbers, and a
    caveat if there is one.
    """

    measure: str
    version: int
    x: str
    y: str
    value: float | None
    seconds: float
    reason: str | None
    diagnostics: str | None = None


def cells_of(column: Column) -> Iterator[Cell]:
    """Yield the entries of a column, each with its share of the time."""
    seconds = column.seconds / max(1, column.size)
    for i in range(column.size):
        words: dict[str, float | str] = {
            name: float(numbers[i])
            for name, numbers in column.numbers.items()
            if not np.isnan(numbers[i])
        }
        if i in column.caveats:
            words[CAVEAT] = column.caveats[i]
        value = None if i in column.reasons else float(column.values[i])
        yield Cell(
            column.measure,
            column.version,
            column.data[column.x[i]],
            column.data[column.y[i]],
            value,
            seconds,
            column.reasons.get(i),
            json.dumps(words, allow_nan=False) if words else None,
        )


def columns_of(rows: Iterable[tuple[Any, ...]]) -> Iterator[Column]:
    """Yield the columns of cells that are ordered by measure and version.

    Raises ``ValueError`` for what cannot be a cell.
    """
    cells = (_checked(Cell(*row)) for row in rows)
    for (measure, version), group in groupby(cells, lambda cell: cell[:2]):
        entries, places = Entries(), dict[str, int]()
        for cell in group:
            numbers = dict(diagnostics_of(cell))
            caveat = str(numbers.pop(CAVEAT, ""))
            score = Scored(cell.value, cell.reason, numbers, caveat)  # type: ignore[arg-type]
            x, y = (places.setdefault(name, len(places)) for name in (cell.x, cell.y))
            entries.add(x, y, score, cell.seconds)
        yield entries.column(measure, version, tuple(places))


def diagnostics_of(cell: Cell) -> dict[str, float | str]:
    """Return the diagnostics of a cell: finite numbers by name, and perhaps a caveat (a text).

    Raises ``ValueError`` for anything else, and for a number with the name of a column.
    """
    if cell.diagnostics is None:
        return {}
    try:
        values = dict(json.loads(cell.diagnostics).items())
        caveat = {CAVEAT: values.pop(CAVEAT)} if type(values.get(CAVEAT)) is str else {}
        are_numbers = all(type(value) in (int, float) for value in values.values())
        are_finite = are_numbers and all(map(math.isfinite, values.values()))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        problem = "diagnostics must be numbers by name"
        raise ValueError(f"{problem}; got {cell.diagnostics!r}") from error
    if not are_finite or values.keys() & {*COLUMNS, CAVEAT}:
        problem = "diagnostics must be finite numbers, none with the name of a column"
        raise ValueError(f"{problem}; got {cell.diagnostics!r}")
    return {**{name: float(value) for name, value in values.items()}, **caveat}


def _checked(cell: Cell) -> Cell:
    """Return a cell; ``ValueError`` for what cannot be one."""
    number, reason = 0.0 if cell.value is None else cell.value, cell.reason or ""
    kinds: tuple[type, ...] = (str, int, str, str, float, float, str)
    if not all(map(isinstance, (*cell[:4], number, cell.seconds, reason), kinds)):
        raise ValueError(f"this is not a value of a measure: {tuple(cell)!r}")
    if not (math.isfinite(number) and math.isfinite(cell.seconds)):
        raise ValueError(f"this value is not finite: {tuple(cell)!r}")
    return cell


# -------------------------------------------------------------------------------------------- tiles


def tile_rows(column: Column) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a column of many entries: as arrays, with everything rare as JSON."""
    for part in split(column, LONGEST):
        notes = {
            "seconds": part.seconds,
            "names": list(part.numbers),
            "reasons": part.reasons,
            "caveats": part.caveats,
        }
        pairs = np.stack([part.x, part.y]).astype("<i4")
        numbers = np.stack([part.values, *part.numbers.values()]).astype("<f8")
        yield (
            part.measure,
            part.version,
            part.size,
            int((part.x == part.y).sum()),
            json.dumps(part.data),
            zlib.compress(pairs.tobytes(), 1),
            numbers.tobytes(),
            json.dumps(notes, allow_nan=False),
        )


def column_of(*row: Any) -> Column:
    """Return the column of a row of tiles; ``ValueError`` for what cannot be one."""
    measure, version, size, _, data, pairs, numbers, notes = row
    kinds: tuple[type, ...] = (str, int, int, int, str, bytes, bytes, str)
    if not all(map(isinstance, row, kinds)) or not 0 < size <= LONGEST:
        raise ValueError(f"this is not a tile of scores: {measure!r}")
    entry = json.loads(notes)
    names, fingerprints = [*map(str, entry["names"])], tuple(map(str, json.loads(data)))
    x, y = _positions(pairs, size, len(fingerprints))
    values, *more = np.frombuffer(numbers, dtype="<f8").reshape(1 + len(names), size)
    column = Column(
        measure,
        version,
        fingerprints,
        x,
        y,
        values,
        float(entry["seconds"]),
        _texts(entry["reasons"], size),
        dict(zip(names, more, strict=True)),
        _texts(entry["caveats"], size),
    )
    _check_numbers(column)
    return column


def _positions(pairs: bytes, size: int, count: int) -> np.ndarray:
    """Return the positions of both sides, shape (2, size)."""
    try:
        unpacked = zlib.decompressobj().decompress(pairs, 8 * size + 1)
    except zlib.error as error:
        raise ValueError(f"the pairs of a tile cannot be read: {error}") from error
    positions = np.frombuffer(unpacked, dtype="<i4").reshape(2, size)
    if positions.min() < 0 or positions.max() >= count:
        raise ValueError("a tile has scores of data that it does not name")
    return positions


def _texts(entry: Any, size: int) -> dict[int, str]:
    texts = {int(i): text for i, text in entry.items()}
    if not all(isinstance(text, str) and 0 <= i < size for i, text in texts.items()):
        raise ValueError("a tile has reasons or caveats that are not those of its entries")
    return texts


def _check_numbers(column: Column) -> None:
    """Raise ``ValueError`` unless each entry has a finite value or a reason, not both."""
    without = np.zeros(column.size, dtype=bool)
    without[list(column.reasons)] = True
    is_finite = math.isfinite(column.seconds) and not any(
        np.isinf(numbers).any() for numbers in column.numbers.values()
    )
    if not is_finite or not np.array_equal(np.isfinite(column.values), ~without):
        raise ValueError(f"a tile of {column.measure} has values that are not finite")
    if column.numbers.keys() & {*COLUMNS, CAVEAT}:
        raise ValueError(f"a tile of {column.measure} has a diagnostic with the name of a column")
