"""The scores of a comparison as columns, ready to be saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .columns import Column
from .comparison import NOT_COMPUTED, Comparison, MeasureInfo
from .extras import NEEDS
from .representation import title

ENTRIES = 2**20  # of a column, about


def columns_of(comparison: Comparison) -> Iterator[Column]:
    """Yield what was computed, by the fingerprints of the data: each pair of data once."""
    sides = _sides(comparison)
    step = max(1, ENTRIES // max(1, len(comparison.columns)))
    reasons = _reasons(comparison, sides)
    for m in comparison.measures:
        words = reasons[m.spec], _caveats(comparison, m)
        seconds = comparison.seconds.get(m.spec, 0.0)  # with the first column
        for start in range(0, len(comparison.rows), step):
            column = _column(comparison, m, sides, words, slice(start, start + step))
            if column.size:
                yield column._replace(seconds=seconds)
                seconds = 0.0


class DataSides(NamedTuple):
    """All data, and which of them the rows and the columns of a comparison are."""

    data: tuple[str, ...]
    rows: np.ndarray
    columns: np.ndarray

    def first(self, rows: slice, symmetric: bool) -> np.ndarray:
        """Say for some rows and all columns whether a pair is the first of these data."""
        x, y = self.rows, self.columns
        is_first = [np.zeros(len(side), dtype=bool) for side in (x, y)]
        for side, mask in zip((x, y), is_first):
            mask[np.unique(side, return_index=True)[1]] = True
        firsts: np.ndarray = is_first[0][rows, None] & is_first[1][None, :]
        if not symmetric:
            return firsts
        has_mirror = np.isin(x, y)[rows, None] & np.isin(y, x)[None, :]
        firsts &= ~(has_mirror & (x[rows, None] > y[None, :]))
        return firsts


def _sides(comparison: Comparison) -> DataSides:
    prints = [
        [identities[name]["fingerprint"] for name in names]
        for identities, names in (
            (comparison.provenance["rows"], comparison.rows),
            (comparison.provenance["columns"], comparison.columns),
        )
    ]
    data = tuple(dict.fromkeys(prints[0] + prints[1]))
    place = {fingerprint: i for i, fingerprint in enumerate(data)}
    rows, columns = (np.array([place[name] for name in side], np.int32) for side in prints)
    return DataSides(data, rows, columns)


def _reasons(comparison: Comparison, sides: DataSides) -> dict[str, dict[tuple[int, int], str]]:
    """Return the reasons of what failed, by measure, row and column."""
    rows, columns = _positions(comparison)
    reasons: dict[str, dict[tuple[int, int], str]] = {m.spec: {} for m in comparison.measures}
    for spec, x, y, reason in comparison.failures:
        if reason != NOT_COMPUTED and not reason.startswith(NEEDS):
            i, j = rows[x], columns[y]
            for name, place in ((x, sides.rows[i]), (y, sides.columns[j])):
                reason = reason.replace(title(name), f"{{{sides.data[place]}}}")
            reasons[spec][i, j] = reason
    return reasons


def _caveats(comparison: Comparison, m: MeasureInfo) -> dict[tuple[int, int], str]:
    """Return the caveats of a measure by row and column."""
    rows, columns = _positions(comparison)
    caveats = (c for c in comparison.caveats if c.measure == m.spec)
    return {(rows[c.x], columns[c.y]): str(c.value) for c in caveats}


def _positions(comparison: Comparison) -> tuple[dict[str, int], dict[str, int]]:
    rows = {name: i for i, name in enumerate(comparison.rows)}
    return rows, {name: j for j, name in enumerate(comparison.columns)}


def _column(
    comparison: Comparison,
    m: MeasureInfo,
    sides: DataSides,
    words: tuple[dict[tuple[int, int], str], dict[tuple[int, int], str]],
    rows: slice,
) -> Column:
    """Return what was computed of some rows."""
    values = comparison.values[m.spec][rows]
    is_there = ~np.isnan(values)
    for row, column in words[0]:
        if rows.start <= row < rows.stop:
            is_there[row - rows.start, column] = True
    i, j = np.nonzero(is_there & sides.first(rows, m.symmetric))
    texts: list[dict[int, str]] = [{}, {}]
    if any(words):
        for entry, (a, b) in enumerate(zip(i.tolist(), j.tolist())):
            for of, text in zip(texts, words):
                if (a + rows.start, b) in text:
                    of[entry] = text[a + rows.start, b]
    numbers = {name: of[rows][i, j] for name, of in comparison.numbers.get(m.spec, {}).items()}
    x, y = sides.rows[rows][i], sides.columns[j]
    done = Column(m.spec, m.version, sides.data, x, y, values[i, j])
    return done._replace(reasons=texts[0], numbers=numbers, caveats=texts[1])
