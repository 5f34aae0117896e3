"""Scores as columns: those of one measure for many pairs of data, an entry for each pair."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

LARGE = 2**28  # bytes; a larger matrix is in a file, of which memory holds what is in use
CAVEAT = "caveat"  # the name of the diagnostic that says why a value means little
CHANCE = "chance"  # the name of that which is the mean over all orders of the samples
COLUMNS = ("measure", "label", "x", "y", "value", "reason")  # no diagnostic may have these names
# The start of the reason for a lack of memory: it depends on the machine, so another run tries
# again.
NO_MEMORY = "not enough memory"
AGAIN, FOR_GOOD = 1, 2  # how a pair failed: for lack of memory, or otherwise


class Column(NamedTuple):
    """Scores of a measure for pairs of data, an entry for each pair.

    ``data`` are fingerprints; ``x`` and ``y`` say which of them each entry is for. A value is NaN
    where there is none, and ``reasons`` says why, by entry. ``numbers`` are the diagnostics, an
    array for each name, NaN where an entry has none; ``caveats`` say why values mean little.
    ``seconds`` is the time for all entries together.
    """

    measure: str
    version: int
    data: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    seconds: float = 0.0
    reasons: Mapping[int, str] = {}
    numbers: Mapping[str, np.ndarray] = {}
    caveats: Mapping[int, str] = {}

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.values)

    def take(self, entries: np.ndarray) -> Column:
        """Return some entries, in this order, and their share of the time."""
        of = {int(entry): place for place, entry in enumerate(entries)}
        return self._replace(
            x=self.x[entries],
            y=self.y[entries],
            values=self.values[entries],
            seconds=self.seconds * len(entries) / max(1, self.size),
            reasons=_renumbered(self.reasons, of),
            numbers={name: numbers[entries] for name, numbers in self.numbers.items()},
            caveats=_renumbered(self.caveats, of),
        )


def _renumbered(texts: Mapping[int, str], of: Mapping[int, int]) -> dict[int, str]:
    return {of[entry]: words for entry, words in texts.items() if entry in of}


class Scored(NamedTuple):
    """One value, or None and the reason, with its diagnostics and its caveat if it has one."""

    value: float | None
    reason: str | None = None
    numbers: Mapping[str, float] = {}
    caveat: str = ""


@dataclass(eq=False)
class Entries:
    """Scores of a measure that come one at a time and become a column."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    scores: list[Scored] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, x: int, y: int, score: Scored, seconds: float = 0.0) -> None:
        """Add a score of the data at two positions."""
        self.pairs.append((x, y))
        self.scores.append(score)
        self.seconds += seconds

    def column(self, measure: str, version: int, data: tuple[str, ...]) -> Column:
        """Return them as a column."""
        scores = self.scores
        names = dict.fromkeys(name for score in scores for name in score.numbers)
        values = [math.nan if score.value is None else score.value for score in scores]
        x, y = np.array(self.pairs, dtype=np.int32).reshape(-1, 2).T
        column = Column(measure, version, data, x, y, np.array(values, np.float64), self.seconds)
        return column._replace(
            reasons={i: score.reason for i, score in enumerate(scores) if score.reason is not None},
            numbers={name: _numbers(name, scores) for name in names},
            caveats={i: score.caveat for i, score in enumerate(scores) if score.caveat},
        )


def _numbers(name: str, scores: Sequence[Scored]) -> np.ndarray:
    return np.array([score.numbers.get(name, math.nan) for score in scores])


def empty_matrix(rows: int, columns: int) -> np.ndarray:
    """Return a matrix of NaN; a large one is in a temporary file that nobody else sees.

    It is in memory where the disk has no room: a map of a file that cannot grow ends the process.
    """
    size = 8 * rows * columns
    if size > LARGE:
        with (
            suppress(OSError),
            tempfile.TemporaryFile(prefix="resemblance-") as file,  # the map keeps it
        ):
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            matrix: np.ndarray = np.memmap(file, dtype=np.float64, mode="r+", shape=(rows, columns))
            matrix[:] = np.nan
            return matrix
    return np.full((rows, columns), np.nan)


class Matrix:
    """The scores of a measure between distinct data, which columns fill in.

    ``rows`` and ``columns`` are fingerprints, each of which counts once. A symmetric measure of one
    list of data has each score in both places. An entry that has a value keeps it, and one that
    failed fails for good unless memory was short.
    """

    def __init__(self, rows: Sequence[str], columns: Sequence[str], symmetric: bool):
        self.rows = {fingerprint: i for i, fingerprint in enumerate(dict.fromkeys(rows))}
        self.columns = {fingerprint: j for j, fingerprint in enumerate(dict.fromkeys(columns))}
        self.values = empty_matrix(len(self.rows), len(self.columns))
        self.numbers: dict[str, np.ndarray] = {}
        self.reasons: dict[tuple[int, int], str] = {}
        self.caveats: dict[tuple[int, int], str] = {}
        self.seconds = 0.0
        self._symmetric = symmetric
        self._failed: np.ndarray | None = None  # AGAIN and FOR_GOOD, from the first failure on
        self._last: tuple[tuple[str, ...], np.ndarray, np.ndarray] | None = None

    def put(self, column: Column) -> None:
        """Take in the entries of a column that are about these data."""
        taken = self._put(column, column.x, column.y)
        if self._symmetric:
            mirrored = self._put(column, column.y, column.x)
            taken = taken or mirrored
        self.seconds += column.seconds * taken / max(1, column.size)

    def _put(self, column: Column, x: np.ndarray, y: np.ndarray) -> int:
        """Take in entries in these places; return their number."""
        rows, columns = self._places(column.data)
        i, j = rows[x], columns[y]
        entries = np.flatnonzero((i >= 0) & (j >= 0))
        entries = entries[np.isnan(self.values[i[entries], j[entries]])]
        if self._failed is not None:
            entries = entries[self._failed[i[entries], j[entries]] != FOR_GOOD]
        if not len(entries):
            return 0
        i, j = i[entries], j[entries]
        self.values[i, j] = column.values[entries]
        for name, numbers in column.numbers.items():
            if name not in self.numbers:
                self.numbers[name] = empty_matrix(*self.values.shape)
            self.numbers[name][i, j] = numbers[entries]
        self._put_words(column, entries, i, j)
        return len(entries)

    def _places(self, data: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the row and the column of each of these data, -1 for none; many columns in turn
        have the same."""
        if self._last is None or self._last[0] is not data:
            self._last = data, _positions(self.rows, data), _positions(self.columns, data)
        return self._last[1:]

    def _put_words(self, column: Column, entries: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        for texts, of in ((column.reasons, self.reasons), (column.caveats, self.caveats)):
            for k in np.flatnonzero(np.isin(entries, list(texts))).tolist() if texts else ():
                of[int(i[k]), int(j[k])] = texts[int(entries[k])]
                if of is self.reasons:
                    self._fail(int(i[k]), int(j[k]))
        if self._failed is not None:
            again = (self._failed[i, j] == AGAIN) & ~np.isnan(column.values[entries])
            for place in zip(i[again].tolist(), j[again].tolist()):
                self.reasons.pop(place, None)

    def _fail(self, i: int, j: int) -> None:
        if self._failed is None:
            self._failed = np.zeros(self.values.shape, dtype=np.uint8)
        self._failed[i, j] = AGAIN if self.reasons[i, j].startswith(NO_MEMORY) else FOR_GOOD

    def missing(self) -> np.ndarray:
        """Say for each entry whether it is to be computed: it has no value, and did not fail, or
        failed for lack of memory."""
        missing: np.ndarray = np.isnan(self.values)
        return missing if self._failed is None else missing & (self._failed != FOR_GOOD)


def _positions(of: Mapping[str, int], data: Sequence[str]) -> np.ndarray:
    return np.array([of.get(fingerprint, -1) for fingerprint in data], dtype=np.intp)


def split(column: Column, size: int) -> Iterator[Column]:
    """Yield a column in pieces of at most so many entries."""
    for start in range(0, column.size, size):
        yield column.take(np.arange(start, min(start + size, column.size)))
