"""Scores of one measure for pairs of data: columns of entries, and matrices that they fill in."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np

MAX_MATRIX_BYTES_IN_MEMORY = (
    2**28
)  # bytes; a larger matrix is in a file, of which memory holds what is in use
SCORES_PER_BATCH = 2**20  # of a column that a matrix yields, about
MAX_COALESCED_SCORES = 512  # columns of fewer entries are joined
VALUE_KIND = "value"  # the kind of what a measure returns; inference has other kinds
CAVEAT_KEY = "caveat"  # the name of the diagnostic that says why a value means little
RECORD_COLUMNS = (
    "measure",
    "label",
    "x",
    "y",
    "value",
    "reason",
)  # no diagnostic may have these names
# The start of the reason for a lack of memory: it depends on the machine, so another run tries
# again.
NO_MEMORY_REASON = "not enough memory"
RETRY, PERMANENT = 1, 2  # how a pair failed: for lack of memory, or otherwise


PairIndices = tuple[np.ndarray, np.ndarray]  # of rows and of columns


class ScoreBatch(NamedTuple):
    """Scores of a measure for pairs of data, an entry for each pair.

    ``data`` are fingerprints; ``x`` and ``y`` say which of them each entry is for. A value is NaN
    where there is none, and ``reasons`` says why, by entry. ``numbers`` are the diagnostics, an
    array for each name, NaN where an entry has none; ``caveats`` say why values mean little.
    ``seconds`` is the time for all entries together. Numbers of another ``kind``, which inference
    computes, such as values in the orders of a design, have shape (entries, numbers of each).
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
    kind: str = VALUE_KIND

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.values)


class PairScore(NamedTuple):
    """One value of a measure for the data at two positions, or None and the reason, with its
    diagnostics, its caveat if it has one, and the seconds it took."""

    x: int
    y: int
    value: float | None
    reason: str | None = None
    numbers: Mapping[str, float] = {}
    caveat: str = ""
    seconds: float = 0.0


def score_batch(
    measure: str, version: int, data: tuple[str, ...], scores: Sequence[PairScore]
) -> ScoreBatch:
    """Return scores as a column."""
    names = dict.fromkeys(name for score in scores for name in score.numbers)
    values = [math.nan if score.value is None else score.value for score in scores]
    x, y = np.array([score[:2] for score in scores], dtype=np.int32).reshape(-1, 2).T
    return ScoreBatch(
        measure,
        version,
        data,
        x,
        y,
        np.array(values, dtype=np.float64),
        sum(score.seconds for score in scores),
        {i: score.reason for i, score in enumerate(scores) if score.reason is not None},
        {name: np.array([s.numbers.get(name, math.nan) for s in scores]) for name in names},
        {i: score.caveat for i, score in enumerate(scores) if score.caveat},
    )


def coalesce_batches(columns: Iterable[ScoreBatch]) -> Iterator[ScoreBatch]:
    """Yield columns, consecutive ones of a measure that have few entries joined."""
    for _, group in groupby(columns, key=lambda c: (*c[:2], c.kind, c.values.shape[1:])):
        batch, size = list[ScoreBatch](), 0
        for column in group:
            batch.append(column)
            size += column.size
            if size >= MAX_COALESCED_SCORES:
                yield _concatenate_batches(batch)
                batch, size = [], 0
        if batch:
            yield _concatenate_batches(batch)


def _concatenate_batches(columns: Sequence[ScoreBatch]) -> ScoreBatch:
    """Return the entries of columns of one measure and kind as one column."""
    if len(columns) == 1:
        return columns[0]
    starts = np.cumsum([0, *(c.size for c in columns)]).tolist()
    places = np.cumsum([0, *(len(c.data) for c in columns)]).tolist()
    names = dict.fromkeys(chain.from_iterable(c.numbers for c in columns))
    return columns[0]._replace(
        data=tuple(chain.from_iterable(c.data for c in columns)),
        x=np.concatenate([c.x + place for c, place in zip(columns, places)]),
        y=np.concatenate([c.y + place for c, place in zip(columns, places)]),
        values=np.concatenate([c.values for c in columns]),
        seconds=sum(c.seconds for c in columns),
        reasons={i + k: c.reasons[k] for c, i in zip(columns, starts) for k in c.reasons},
        numbers={
            name: np.concatenate([c.numbers.get(name, np.full(c.size, np.nan)) for c in columns])
            for name in names
        },
        caveats={i + k: c.caveats[k] for c, i in zip(columns, starts) for k in c.caveats},
    )


def nan_matrix(rows: int, columns: int) -> np.ndarray:
    """Return a matrix of NaN; a large one is in a temporary file that nobody else sees.

    It is in memory where the disk has no room: a map of a file that cannot grow ends the process.
    """
    size = 8 * rows * columns
    if size > MAX_MATRIX_BYTES_IN_MEMORY:
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


class ScoreMatrix:
    """The scores of a measure between distinct data, which columns fill in.

    ``rows`` and ``columns`` are fingerprints, each of which counts once. A symmetric measure of one
    list of data has each score in both places. An entry that has a value keeps it, and one that
    failed fails for good unless memory was short.
    """

    def __init__(
        self,
        measure: str,
        version: int,
        symmetric: bool,
        rows: Iterable[str],
        columns: Iterable[str],
    ):
        self.measure, self.version, self.symmetric = measure, version, symmetric
        self.rows = {fingerprint: i for i, fingerprint in enumerate(dict.fromkeys(rows))}
        self.columns = {fingerprint: j for j, fingerprint in enumerate(dict.fromkeys(columns))}
        self.values = nan_matrix(len(self.rows), len(self.columns))
        self.numbers: dict[str, np.ndarray] = {}
        self.reasons: dict[tuple[int, int], str] = {}
        self.caveats: dict[tuple[int, int], str] = {}
        self.seconds = 0.0
        self._failed: np.ndarray | None = None  # AGAIN and FOR_GOOD, from the first failure on
        self._last: tuple[tuple[str, ...], np.ndarray, np.ndarray] | None = None

    @property
    def data(self) -> tuple[str, ...]:
        """The data of rows and columns, each once."""
        return tuple(dict.fromkeys([*self.rows, *self.columns]))

    def emptied(self) -> ScoreMatrix:
        """Return a matrix for the same scores without any."""
        return ScoreMatrix(self.measure, self.version, self.symmetric, self.rows, self.columns)

    def put(self, column: ScoreBatch) -> None:
        """Take in the entries of a column that are about this measure and these data."""
        if (column.measure, column.version) != (self.measure, self.version):
            return
        if not len(self._places(column.data)[0]):
            return
        n_entries = self._put(column, column.x, column.y)
        if self.symmetric:
            n_mirrored = self._put(column, column.y, column.x)
            n_entries = n_entries or n_mirrored
        self.seconds += column.seconds * n_entries / max(1, column.size)

    def _put(self, column: ScoreBatch, x: np.ndarray, y: np.ndarray) -> int:
        """Take in entries in these places; return their number."""
        rows, columns = self._places(column.data)
        i, j = rows[x], columns[y]
        entries = np.flatnonzero((i >= 0) & (j >= 0))
        entries = entries[np.isnan(self.values[i[entries], j[entries]])]
        if self._failed is not None:
            entries = entries[self._failed[i[entries], j[entries]] != PERMANENT]
        if not len(entries):
            return 0
        entries = entries[::-1]  # of two entries for one pair the first counts
        i, j, values = i[entries], j[entries], column.values[entries]
        has_value = ~np.isnan(values)
        places = i[has_value], j[has_value]
        self.values[places] = values[has_value]
        for name, numbers in column.numbers.items():
            if name not in self.numbers:
                self.numbers[name] = nan_matrix(*self.values.shape)
            self.numbers[name][places] = numbers[entries[has_value]]
        for k in _positions_with_text(entries, column.caveats):
            self.caveats[int(i[k]), int(j[k])] = column.caveats[int(entries[k])]
        for k in _positions_with_text(entries, column.reasons):
            if np.isnan(self.values[i[k], j[k]]):
                self._fail(int(i[k]), int(j[k]), column.reasons[int(entries[k])])
        if self._failed is not None:
            is_retried = has_value & (self._failed[i, j] == RETRY)
            for place in zip(i[is_retried].tolist(), j[is_retried].tolist()):
                self.reasons.pop(place, None)
        return len(entries)

    def _fail(self, i: int, j: int, reason: str) -> None:
        if self._failed is None:
            self._failed = np.zeros(self.values.shape, dtype=np.uint8)
        self._failed[i, j] = RETRY if reason.startswith(NO_MEMORY_REASON) else PERMANENT
        self.reasons[i, j] = reason

    def _places(self, data: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the row and the column of each of these data, -1 for none; empty arrays where no
        entry is about them, as in most of many comparisons. Many columns in turn have the same."""
        if self._last is None or self._last[0] is not data:
            rows, columns = (
                _positions_of_data(self.rows, data),
                _positions_of_data(self.columns, data),
            )
            if max(rows, default=-1) < 0 or max(columns, default=-1) < 0:
                rows, columns = rows[:0], columns[:0]
            self._last = data, rows, columns
        return self._last[1:]

    def missing(self) -> np.ndarray:
        """Say for each entry whether it is to be computed: it has no value, and did not fail, or
        failed for lack of memory."""
        missing: np.ndarray = np.isnan(self.values)
        return missing if self._failed is None else missing & (self._failed != PERMANENT)

    def columns_without(self, reference: ScoreMatrix | None = None) -> Iterator[ScoreBatch]:
        """Yield the scores of each pair of data once, without those that another matrix has."""
        data = self.data
        places = {fingerprint: place for place, fingerprint in enumerate(data)}
        x, y = _positions_of_data(places, self.rows), _positions_of_data(places, self.columns)
        missing = None if reference is None else reference.missing()
        step, seconds = (
            max(1, SCORES_PER_BATCH // max(1, len(y))),
            self.seconds,
        )  # with the first column
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            is_settled = ~np.isnan(self.values[rows])
            if self._failed is not None:
                is_settled |= self._failed[rows] > 0
            if missing is not None:
                is_settled &= missing[rows]
            if self.symmetric:
                has_mirror = np.isin(x[rows], y)[:, None] & np.isin(y, x)
                is_settled &= ~(has_mirror & (x[rows, None] > y))
            i, j = np.nonzero(is_settled)
            if len(i):
                yield self._column(data, (x, y), (i + start, j))._replace(seconds=seconds)
                seconds = 0.0

    def _column(self, data: tuple[str, ...], sides: PairIndices, places: PairIndices) -> ScoreBatch:
        """Return the scores in these places; ``sides``: which of the data rows and columns are."""
        return ScoreBatch(
            self.measure,
            self.version,
            data,
            sides[0][places[0]].astype(np.int32),
            sides[1][places[1]].astype(np.int32),
            self.values[places],
            reasons=_texts_at_positions(self.reasons, places),
            numbers={name: numbers[places] for name, numbers in self.numbers.items()},
            caveats=_texts_at_positions(self.caveats, places),
        )


def _positions_of_data(positions: Mapping[str, int], data: Iterable[str]) -> np.ndarray:
    return np.array([positions.get(fingerprint, -1) for fingerprint in data], dtype=np.intp)


def _positions_with_text(entries: np.ndarray, texts: Mapping[int, str]) -> list[int]:
    """Return where entries are that have a text."""
    return np.flatnonzero(np.isin(entries, list(texts))).tolist() if texts else []


def _texts_at_positions(
    texts: Mapping[tuple[int, int], str], places: PairIndices
) -> dict[int, str]:
    """Return the texts in these places by their order."""
    pairs = zip(*(side.tolist() for side in places)) if texts else ()
    return {entry: texts[pair] for entry, pair in enumerate(pairs) if pair in texts}
