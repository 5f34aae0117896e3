"""Scores of a measure for pairs of data: score batches, and score matrices filled from batches."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from typing import Any, NamedTuple, Protocol

import numpy as np

# Bytes. A larger matrix is a memory-mapped file, so only the pages in use are in memory.
MAX_MATRIX_BYTES_IN_MEMORY = 2**28
SCORES_PER_BATCH = 2**20  # approximate size of a batch that a matrix yields
MAX_COALESCED_SCORES = 512  # smaller batches are joined
CAVEAT_KEY = "caveat"  # the name of the diagnostic with the caveat about a value
# Names that no diagnostic may have.
RECORD_COLUMNS = ("measure", "label", "x", "y", "value", "reason")
# The start of the reason for a lack of memory. Memory depends on the machine, so another run tries
# such pairs again.
NO_MEMORY_REASON = "not enough memory"
RETRY, PERMANENT = 1, 2  # kinds of failure: lack of memory, or any other reason


PairIndices = tuple[np.ndarray, np.ndarray]  # positions of rows, positions of columns


class ScoreBatch(NamedTuple):
    """Scores of a measure for pairs of data, an entry per pair.

    ``data`` are fingerprints; ``x`` and ``y`` are positions in ``data``, the pair of an entry. An
    entry without a value is NaN; ``reasons`` contains the reason by entry. ``numbers`` are the
    diagnostics, arrays by name, NaN for entries without the diagnostic; ``caveats`` are the reasons
    why values mean little, by entry. ``seconds`` is the time for all entries together.
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


class StoredResult(NamedTuple):
    """A result of inference in a file of scores.

    ``kind`` is the name of the type of the result; ``x`` and ``y`` identify the data. ``facts`` are
    the fields of the result besides the values, by name, in types of JSON.
    """

    kind: str
    measure: str
    version: int
    x: str
    y: str
    facts: Mapping[str, Any]
    values: np.ndarray


class InferenceResult(Protocol):
    """A result that a file of scores can keep."""

    def stored(self) -> StoredResult:
        """Return the result in the form in which a file of scores keeps results."""
        ...


class PairScore(NamedTuple):
    """A value of a measure for the data at two positions, or None and the reason, with diagnostics,
    a caveat if there is one, and the time in seconds."""

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
    """Return the scores of a measure as a batch. ``data``: the fingerprints that ``x`` and ``y``
    of the scores index."""
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
    """Yield the entries of the score batches ``columns`` in larger batches: consecutive small
    batches of a measure and version are joined."""
    for _, group in groupby(columns, key=lambda c: c[:2]):
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
    """Return ``columns``, batches of the same measure and version, joined into a single batch."""
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
    """Return a new matrix of NaN, (``rows``, ``columns``); a large matrix is a private temporary
    file.

    If the disk has no room, the matrix is in memory: writing to a mapped file that cannot grow
    kills the process.
    """
    size = 8 * rows * columns
    if size > MAX_MATRIX_BYTES_IN_MEMORY:
        with (
            suppress(OSError),
            tempfile.TemporaryFile(prefix="resemblance-") as file,  # the memory map keeps the file
        ):
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            matrix: np.ndarray = np.memmap(file, dtype=np.float64, mode="r+", shape=(rows, columns))
            matrix[:] = np.nan
            return matrix
    return np.full((rows, columns), np.nan)


class ScoreMatrix:
    """The scores of a measure between distinct data, filled from score batches.

    ``rows`` and ``columns`` are fingerprints without repetition. A symmetric measure of a single
    list of data has every score at (i, j) and at (j, i). A value is never replaced. A failure is
    permanent unless memory was short.
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
        self._failed: np.ndarray | None = None  # RETRY and PERMANENT, from the first failure on
        self._last: tuple[tuple[str, ...], np.ndarray, np.ndarray] | None = None

    @property
    def data(self) -> tuple[str, ...]:
        """The fingerprints of rows and columns, without repetition."""
        return tuple(dict.fromkeys([*self.rows, *self.columns]))

    def emptied(self) -> ScoreMatrix:
        """Return a new matrix without scores for the same measure and data."""
        return ScoreMatrix(self.measure, self.version, self.symmetric, self.rows, self.columns)

    def put(self, column: ScoreBatch) -> None:
        """Add the entries of a batch that belong to the measure and the data of the matrix, for a
        symmetric measure also at the mirrored places. Entries that have a value, or failed for
        good, stay as they are."""
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
        """Add the entries of a batch; return the number of added entries, failures included.

        ``x``, ``y``: the positions in ``column.data`` of the row and of the column of every entry.
        Entries outside the matrix, with a value, or with a permanent failure are left out. The
        mirrored places stay empty.
        """
        rows, columns = self._places(column.data)
        i, j = rows[x], columns[y]
        entries = np.flatnonzero((i >= 0) & (j >= 0))
        entries = entries[np.isnan(self.values[i[entries], j[entries]])]
        if self._failed is not None:
            entries = entries[self._failed[i[entries], j[entries]] != PERMANENT]
        if not len(entries):
            return 0
        entries = entries[::-1]  # the first of two entries for one pair counts
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
        """Return, for every fingerprint in ``data``, the row and the column of the matrix,
        (len(data),) each, -1 for none. Return empty arrays if no entry can belong to the matrix.
        The result is cached, because consecutive batches share ``data``."""
        if self._last is None or self._last[0] is not data:
            rows = _positions_of_data(self.rows, data)
            columns = _positions_of_data(self.columns, data)
            if max(rows, default=-1) < 0 or max(columns, default=-1) < 0:
                rows, columns = rows[:0], columns[:0]
            self._last = data, rows, columns
        return self._last[1:]

    def missing(self) -> np.ndarray:
        """Return a mask (rows, columns) of the entries that need computation: entries without a
        value that did not fail, or failed for lack of memory."""
        missing: np.ndarray = np.isnan(self.values)
        return missing if self._failed is None else missing & (self._failed != PERMANENT)

    def columns_without(self, reference: ScoreMatrix | None = None) -> Iterator[ScoreBatch]:
        """Yield the scores and the failures of every pair of data once, in batches. With
        ``reference``, a matrix of the same data, only pairs that are missing in ``reference``."""
        data = self.data
        places = {fingerprint: place for place, fingerprint in enumerate(data)}
        x, y = _positions_of_data(places, self.rows), _positions_of_data(places, self.columns)
        missing = None if reference is None else reference.missing()
        # The first batch carries the time of all batches.
        step, seconds = (max(1, SCORES_PER_BATCH // max(1, len(y))), self.seconds)
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
        """Return the scores at ``places``, rows and columns of the matrix, as a batch; ``sides``:
        the positions in ``data`` of all rows and of all columns."""
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
    """Return the positions in ``entries`` of the entry numbers that have a text; ``texts``: by
    entry number."""
    return np.flatnonzero(np.isin(entries, list(texts))).tolist() if texts else []


def _texts_at_positions(
    texts: Mapping[tuple[int, int], str], places: PairIndices
) -> dict[int, str]:
    """Return the texts at ``places``, keyed by their position in ``places``. ``texts``: by (row,
    column). ``places``: row numbers and column numbers."""
    pairs = zip(*(side.tolist() for side in places)) if texts else ()
    return {entry: texts[pair] for entry, pair in enumerate(pairs) if pair in texts}
