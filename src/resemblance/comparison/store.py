"""Scores in a single SQLite file that survives a kill and that a later run can continue, without
pickle."""

from __future__ import annotations

import json
import math
import sqlite3
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import groupby, repeat
from pathlib import Path
from typing import Any

import numpy as np

from ..base.locks import has_locks, soft_lock
from ..base.results import FORMAT_ENTRY, OTHER_WRITERS, WRITER_CALLS, class_of_format, format_of
from .scores import (
    CAVEAT_KEY,
    MAX_COALESCED_SCORES,
    NO_MEMORY_REASON,
    RECORD_COLUMNS,
    InferenceResult,
    ScoreBatch,
    StoredResult,
    coalesce_batches,
)

SCORE_FILE_FORMAT = 10
MAX_ROW_SCORES = 2**22  # entries of a row, as SQLite limits values to 1 GB
MIN_SHORT_ROWS_TO_JOIN = 16  # fewest short rows that closing the file joins
EVIDENCE_KEY = "evidence"  # the entry of a description with the settings of inference
ERRORS_KEY = "error_consistency"  # the entry with the errors of the compared classifiers
# Stands for the data of results computed from all data, in the order of the description.
GLOBAL_KEY = ""
# The tables as SQLite records the statements. A row contains the entries of a batch. Blobs come
# last, so that a query for other columns does not read blobs.
SCORES_TABLE_SQL = (
    "CREATE TABLE scores (id INTEGER PRIMARY KEY, checksum INTEGER, measure TEXT, "
    "version INTEGER, size INTEGER, data TEXT, notes TEXT, pairs BLOB, numbers BLOB)"
)
# A row contains a result of inference.
RESULTS_TABLE_SQL = (
    "CREATE TABLE results (id INTEGER PRIMARY KEY, checksum INTEGER, kind TEXT, measure TEXT, "
    "version INTEGER, x TEXT, y TEXT, facts TEXT, shape TEXT, numbers BLOB)"
)
HEADER_TABLE_SQL = (
    "CREATE TABLE header (id INTEGER PRIMARY KEY CHECK (id = 0), checksum INTEGER, "
    "description TEXT)"
)
TABLES_SQL = (SCORES_TABLE_SQL, RESULTS_TABLE_SQL, HEADER_TABLE_SQL)
RECOMPUTE_REMEDY = "delete the file, and compute its scores again"
# Remedies for errors of SQLite, by words of the error.
SQLITE_REMEDIES = {
    "malformed": f"; {RECOMPUTE_REMEDY}",
    "disk": "; is the disk full, or a quota used up?",
    "readonly": "; its folder cannot be written: rs.load reads the file there, or copy it",
}
LOCK_TIMEOUT_SECONDS = 60.0  # seconds to wait for another process
LOCKLESS_VFS = "?vfs=unix-none"  # the SQLite interface to files without locks


class ScoreFile:
    """A file of scores keyed by measure, version and data fingerprints, plus the description of a
    comparison.

    A score is reused for the same measure, version and data in any comparison; the description is
    the description of the last comparison. Writes are atomic (SQLite in WAL mode), so a process
    killed at any moment leaves a file that a later run can read and continue, and two processes on
    the same machine may write at once. While the file is open, and after a kill, the latest scores
    are in a second file, ``-wal``, which the next process that opens the file merges.

    If the file system has no locks, a file ``-held`` beside the score file gives only a single
    process access at a time, and there is no second file: see :mod:`resemblance.base.locks`.
    ``is_shared`` says whether other processes can write meanwhile. ``any_suffix``: the suffix may
    be the suffix of a table, a page or a figure.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False, any_suffix: bool = False):
        self.path = Path(path)
        kind = OTHER_WRITERS.get(self.path.suffix.lower(), "")
        if kind and not (read_only or any_suffix):
            raise ValueError(
                f"{path}: scores are saved in a file of their own format, such as "
                f"{self.path.with_suffix('.comparison').name}; {WRITER_CALLS[kind]}"
            )
        if self.path.is_dir():
            raise ValueError(f"{path} is a folder; name a file in it: {path}/scores.comparison")
        if not self.path.parent.is_dir():
            raise ValueError(f"{path}: there is no folder {self.path.parent}; create it first")
        self._read_only = read_only
        self._pending: list[ScoreBatch] = []
        self._pending_results: list[StoredResult] = []
        self._written = 0.0
        self.is_shared = read_only or has_locks(self.path.parent)
        with ExitStack() as stack:
            if not self.is_shared:
                holder = self.path.with_name(f"{self.path.name}-held")
                stack.enter_context(soft_lock(holder, str(self.path)))
            with name_damaged_score_file(self.path):
                connect = (
                    open_score_file_read_only if read_only else partial(_connect, mode=self._mode)
                )
                self._db = connect(self.path)
                stack.callback(self._db.close)
                self._check_format()
                if not read_only:
                    # Create the tables before the log, so that no process sees a file without
                    # tables.
                    self._create()
                    self._write_ahead()
            self._open = stack.pop_all()

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._open:
            try:
                if self._pending or self._pending_results:
                    self.flush()
                if not self._read_only:
                    self._join_rows()
            finally:
                if not self._read_only:
                    self._leave_one_file()

    @property
    def _mode(self) -> str:
        return "" if self.is_shared else LOCKLESS_VFS

    def describe(
        self,
        description: dict[str, Any],
        results: Iterable[StoredResult] = (),
        name: str = "Comparison",
    ) -> None:
        """Record the comparison that the scores are for, and results computed from all scores.

        ``description``: values of JSON by name. A new description replaces the old description and
        the old ``results``. The file stores ``results`` under ``GLOBAL_KEY``. ``name``: the class
        of the result in the file.
        """
        with self._writing():
            self._db.execute("DELETE FROM results WHERE x = ?", [GLOBAL_KEY])
            text = json.dumps({FORMAT_ENTRY: format_of(name), **description})
            self._db.execute(
                "INSERT OR REPLACE INTO header VALUES (0, ?, ?)", [row_checksum(text), text]
            )
            self._insert_results(results)

    def description(self) -> dict[str, Any]:
        """Return the description of the comparison, values of JSON by name; raise ``ValueError``
        if the file has none."""
        with name_damaged_score_file(self.path):
            entries = self._header()
            names = ["rows", "columns", "measures", "provenance"]
            names += [key for key in (EVIDENCE_KEY, ERRORS_KEY) if key in entries]
            return {name: entries[name] for name in names}

    def class_name(self) -> str:
        """Return the name of the class of the result in the file.

        Raises ``ValueError`` if the file has no description.
        """
        with name_damaged_score_file(self.path):
            return class_of_format(self._header()[FORMAT_ENTRY], str(self.path))

    def _header(self) -> dict[str, Any]:
        row = self._db.execute("SELECT checksum, description FROM header").fetchone()
        if row is None:
            raise ValueError(f"{self.path} holds no comparison")
        (text,) = _verified_row(*row)
        entries: dict[str, Any] = json.loads(text)
        return entries

    def put(self, entries: Iterable[ScoreBatch | InferenceResult]) -> None:
        """Add scores or results of inference.

        If 0.3 seconds have passed since the last write, all added entries are written to disk. The
        first of two scores for the same data counts, unless the first failed for lack of memory.
        """
        for entry in entries:
            if isinstance(entry, ScoreBatch):
                self._pending.append(entry)
            else:
                self._pending_results.append(entry.stored())
        if time.monotonic() - self._written > 0.3:
            self.flush()

    def flush(self) -> None:
        """Write the pending entries in one transaction."""
        with self._writing():
            self._insert(coalesce_batches(sorted(self._pending, key=lambda c: c.measure)))
            self._insert_results(self._pending_results)
        self._pending, self._pending_results, self._written = [], [], time.monotonic()

    def _insert(
        self, columns: Iterable[ScoreBatch], numbers: Iterable[int | None] = repeat(None)
    ) -> None:
        """Write the batches ``columns`` as new rows, or in place of the rows with ``numbers``, a
        row number or None for each batch."""
        parts = map(_row_from_batch, columns)
        rows = ((number, row_checksum(*row), *row) for row, number in zip(parts, numbers))
        places = ", ".join("?" * 9)
        self._db.executemany(f"INSERT OR REPLACE INTO scores VALUES ({places})", rows)

    def _insert_results(self, results: Iterable[StoredResult]) -> None:
        rows = ((None, row_checksum(*row), *row) for row in map(_row_from_result, results))
        places = ", ".join("?" * 10)
        self._db.executemany(f"INSERT INTO results VALUES ({places})", rows)

    def _join_rows(self) -> None:
        """Join consecutive short rows of a measure, in one transaction.

        Slow scores arrive separately, and reading a row with a single score takes as long as
        reading a row with hundreds. Unreadable rows stay; the functions that read scores report the
        error.
        """
        kinds = (
            "SELECT measure, version FROM scores WHERE size < ? "
            "GROUP BY measure, version HAVING count(*) >= ?"
        )
        rows = "SELECT id, size FROM scores WHERE (measure, version) = (?, ?) ORDER BY id"
        with suppress(ValueError), name_damaged_score_file(self.path):
            if (
                self._db.execute(kinds, [MAX_COALESCED_SCORES, MIN_SHORT_ROWS_TO_JOIN]).fetchone()
                is None
            ):
                return
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")  # another process that closes the file waits
                for kind in self._db.execute(
                    kinds, [MAX_COALESCED_SCORES, MIN_SHORT_ROWS_TO_JOIN]
                ).fetchall():
                    entries = self._db.execute(rows, kind).fetchall()
                    for is_small, run in groupby(
                        entries, lambda row: row[1] < MAX_COALESCED_SCORES
                    ):
                        if is_small:
                            self._join([number for number, _ in run])

    def _join(self, numbers: Sequence[int]) -> None:
        """Write the entries of the rows with ``numbers`` into the first of the rows, or the first
        few; delete the other rows."""
        ids = iter(numbers)
        self._insert(coalesce_batches(map(self._column, numbers)), ids)
        self._db.executemany("DELETE FROM scores WHERE id = ?", ([number] for number in ids))

    def columns(self, ids: Iterable[str] | None = None) -> Iterator[ScoreBatch]:
        """Yield all scores in batches; with ``ids``, only batches that contain a fingerprint among
        ``ids``.

        Raises ``ValueError`` for rows that cannot be scores.
        """
        with name_damaged_score_file(self.path):
            for column in coalesce_batches(self._read(None if ids is None else set(ids))):
                _check_batch_values(column)
                yield column

    def results(self, ids: Iterable[str]) -> Iterator[StoredResult]:
        """Yield the results of inference about pairs of data whose fingerprints are both among
        ``ids``.

        Raises ``ValueError`` for rows that cannot be results.
        """
        data = set(ids)
        with name_damaged_score_file(self.path):
            query = "SELECT id, x, y FROM results ORDER BY id"
            for number, x, y in self._db.execute(query).fetchall():
                if x in data and y in data:
                    yield self._result(number)

    def _read(self, data: set[str] | None) -> Iterator[ScoreBatch]:
        """Yield the stored batches that contain any fingerprint in ``data``, complete, with scores
        of other data too; all batches for None."""
        query = "SELECT id, data FROM scores ORDER BY measure, id"
        # Fetch all rows now: an open statement, left by a caller that stops early, would lock the
        # file.
        for number, names in self._db.execute(query).fetchall():
            if data is None or not data.isdisjoint(json.loads(names)):
                yield self._column(number)

    def check_rows(self) -> None:
        """Raise ``ValueError`` if the file is damaged in a place that score queries miss: a row
        with a changed kind or changed data is not found, and neither is a row missing from its
        page."""
        with name_damaged_score_file(self.path):
            (state,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise ValueError(state.replace("\n", " "))
            for (number,) in self._db.execute("SELECT id FROM scores").fetchall():
                self._column(number)
            for (number,) in self._db.execute("SELECT id FROM results").fetchall():
                self._result(number)

    def _column(self, number: int) -> ScoreBatch:
        row = self._db.execute("SELECT * FROM scores WHERE id = ?", [number]).fetchone()
        return _batch_from_row(*_verified_row(*row[1:]))

    def _result(self, number: int) -> StoredResult:
        row = self._db.execute("SELECT * FROM results WHERE id = ?", [number]).fetchone()
        return _result_from_row(*_verified_row(*row[1:]))

    def count(self, *, self_pairs: bool = False) -> int:
        """Return the number of different scores in the file; ``self_pairs``: only scores of data
        with themselves.

        Failures for lack of memory do not count. A score computed by two processes counts once.
        """
        names, pairs = dict[str, int](), defaultdict[tuple[str, int], list[np.ndarray]](list)
        for column in self.columns():
            data = np.array([names.setdefault(name, len(names)) for name in column.data])
            mask = column.x == column.y if self_pairs else np.ones(column.size, dtype=bool)
            positions = [k for k, why in column.reasons.items() if why.startswith(NO_MEMORY_REASON)]
            mask[positions] = False
            pair_codes = data[column.x[mask]] << 32 | data[column.y[mask]]
            pairs[column.measure, column.version].append(pair_codes)
        return sum(len(np.unique(np.concatenate(parts))) for parts in pairs.values())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write in one transaction; raise ``OSError`` with the name of the file if writing
        fails."""
        try:
            with self._db:
                yield
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path} cannot be written: {error}") from error

    def _check_format(self) -> None:
        """Raise ``ValueError`` for a file of another version or program: a query might run
        statements stored in the file."""
        # A single statement reads a consistent state, even while another process creates the file.
        statements = "SELECT json_group_array(sql) FROM sqlite_master"
        number = "SELECT user_version FROM pragma_user_version"
        schema, version = self._db.execute(f"SELECT ({statements}), ({number})").fetchone()
        tables = {" ".join((sql or "").split()) for sql in json.loads(schema)}
        if tables and version != SCORE_FILE_FORMAT:
            raise ValueError(
                f"{self.path} has format {version}; this version reads format {SCORE_FILE_FORMAT}. "
                "Compare again, and save to a new file"
            )
        if self._read_only and not tables:
            raise ValueError(f"{self.path} is empty: it holds no comparison")
        if foreign := sorted(tables - {*TABLES_SQL}):
            raise ValueError(
                f"{self.path} contains an entry that resemblance does not write: {foreign[0][:80]}"
            )

    def _write_ahead(self) -> None:
        """Switch the file to WAL, or without locks to a rollback journal; retry until no other
        process holds the lock.

        SQLite does not wait for this lock itself, and several processes may want the lock of a new
        file.
        """
        if not self.is_shared:  # a log needs memory shared between processes
            self._db.execute("PRAGMA journal_mode=DELETE")
            return
        deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _leave_one_file(self) -> None:
        """Switch the file back from WAL, unless another process has the file open: a single file
        can be copied, and read in a read-only folder."""
        try:
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError:  # the last process that has the file open switches
            return

    def _create(self) -> None:
        """Create the tables and set the format in one transaction, so that a kill leaves all or
        nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:
            self._db.execute(f"PRAGMA user_version = {SCORE_FILE_FORMAT}")
            for statement in TABLES_SQL:
                self._db.execute(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))


@contextmanager
def name_damaged_score_file(path: Path) -> Iterator[None]:
    """Turn any error caused by a damaged comparison file into a ``ValueError`` with the name of the
    file."""
    try:
        yield
    except sqlite3.Error as error:
        remedy = next((text for words, text in SQLITE_REMEDIES.items() if words in str(error)), "")
        raise ValueError(f"{path} cannot be used as a comparison file: {error}{remedy}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        problem = error if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        raise ValueError(f"{path} is damaged: {problem}; {RECOMPUTE_REMEDY}") from error


def _connect(path: Path, mode: str = "") -> sqlite3.Connection:
    connection = sqlite3.connect(
        path.resolve().as_uri() + mode,
        uri=True,
        timeout=LOCK_TIMEOUT_SECONDS,
        check_same_thread=False,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    # Exclusive mode lets SQLite read a log left by a kill.
    if LOCKLESS_VFS in mode:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def open_score_file_read_only(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a file that another process may be writing, or that is in a
    read-only folder. Raises ``ValueError`` for a file that was not closed and cannot be completed.
    """
    if not has_locks(path.parent):
        return _connect(path, f"{LOCKLESS_VFS}&mode=ro")
    connection = _connect(path, "?mode=ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.OperationalError as error:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise ValueError(
                f"{path} was not closed: copy it with {log.name} to a folder that can be written"
            ) from error
    return _connect(path, "?mode=ro&immutable=1")


# --------------------------------------------------------------------------------------------- rows


def row_checksum(*row: Any) -> int:
    """Return a checksum of the entries of a row, to detect a changed byte."""
    total = 0
    for entry in row:
        total = zlib.crc32(entry if isinstance(entry, bytes) else repr(entry).encode(), total)
    return total


def _verified_row(checksum: Any, *row: Any) -> tuple[Any, ...]:
    """Return ``row`` unchanged; raise ``ValueError`` if its checksum is not ``checksum``."""
    if checksum != row_checksum(*row):
        raise ValueError("a row has changed since it was written")
    return row


def _row_from_batch(column: ScoreBatch) -> tuple[Any, ...]:
    """Return a batch as a row of the table, without number and checksum: pairs and numbers as
    bytes, all other fields as JSON."""
    pairs, places = np.stack([column.x, column.y]), dict[str, int]()
    index = np.full(len(column.data), -1, dtype="<i4")
    index[pairs] = 0
    for k in np.flatnonzero(index == 0).tolist():
        index[k] = places.setdefault(column.data[k], len(places))
    pairs = index[pairs]
    notes = {
        "seconds": column.seconds,
        "names": list(column.numbers),
        "reasons": column.reasons,
        "caveats": column.caveats,
    }
    numbers = np.stack([column.values, *column.numbers.values()]).astype("<f8")
    return (
        column.measure,
        column.version,
        column.size,
        json.dumps(list(places)),
        json.dumps(notes, allow_nan=False),
        zlib.compress(pairs.tobytes(), 1),
        numbers.tobytes(),
    )


def _batch_from_row(*row: Any) -> ScoreBatch:
    """Return a row of the table of scores, without number and checksum, as a batch; raise
    ``ValueError`` for a row that cannot be a batch."""
    measure, version, size, data, notes, pairs, numbers = row
    kinds: tuple[type, ...] = (str, int, int, str, str, bytes, bytes)
    if not all(map(isinstance, row, kinds)) or not 0 < size <= MAX_ROW_SCORES:
        raise ValueError(f"this is not a row of scores: {measure!r}")
    entry = json.loads(notes)
    names, fingerprints = [*map(str, entry["names"])], tuple(map(str, json.loads(data)))
    x, y = _unpack_positions(pairs, size, len(fingerprints))
    values, *extra_values = np.frombuffer(numbers, dtype="<f8").reshape(1 + len(names), size)
    return ScoreBatch(
        measure,
        version,
        fingerprints,
        x,
        y,
        values,
        float(entry["seconds"]),
        _texts_by_position(entry["reasons"], size),
        dict(zip(names, extra_values, strict=True)),
        _texts_by_position(entry["caveats"], size),
    )


def _row_from_result(result: StoredResult) -> tuple[Any, ...]:
    values = np.asarray(result.values, dtype="<f8")
    facts = json.dumps(dict(result.facts), allow_nan=False)
    return (*result[:5], facts, json.dumps(values.shape), values.tobytes())


def _result_from_row(*row: Any) -> StoredResult:
    """Return a row of the table of results, without number and checksum, as a result; raise
    ``ValueError`` for a row that cannot be a result."""
    kind, measure, version, x, y, facts, shape, numbers = row
    kinds: tuple[type, ...] = (str, str, int, str, str, str, str, bytes)
    if not all(map(isinstance, row, kinds)):
        raise ValueError(f"this is not a row of results: {kind!r}")
    values = np.frombuffer(numbers, dtype="<f8").reshape(json.loads(shape))
    return StoredResult(kind, measure, version, x, y, json.loads(facts), values)


def _unpack_positions(pairs: bytes, size: int, count: int) -> np.ndarray:
    """Return the positions of x and of y in the data of a row, shape (2, ``size``), from
    compressed bytes. Raises ``ValueError`` for unreadable bytes, and for positions that are not
    from 0 to ``count`` - 1."""
    try:
        buffer = zlib.decompressobj().decompress(pairs, 8 * size + 1)
    except zlib.error as error:
        raise ValueError(f"the pairs of a row cannot be read: {error}") from error
    positions = np.frombuffer(buffer, dtype="<i4").reshape(2, size)
    if positions.min() < 0 or positions.max() >= count:
        raise ValueError("a row has scores without the names of the data")
    return positions


def _texts_by_position(entry: Any, size: int) -> dict[int, str]:
    texts = {int(i): text for i, text in entry.items()}
    if not all(isinstance(text, str) and 0 <= i < size for i, text in texts.items()):
        raise ValueError("a row has reasons or caveats for other entries")
    return texts


def _check_batch_values(column: ScoreBatch) -> None:
    """Raise ``ValueError`` unless every entry has either a finite value or a reason."""
    has_reason = np.zeros(column.size, dtype=bool)
    has_reason[list(column.reasons)] = True
    is_finite = math.isfinite(column.seconds) and not any(
        np.isinf(numbers).any() for numbers in column.numbers.values()
    )
    if not is_finite or not np.array_equal(np.isfinite(column.values), ~has_reason):
        raise ValueError(f"a row of {column.measure} has values that are not finite")
    if column.numbers.keys() & {*RECORD_COLUMNS, CAVEAT_KEY}:
        raise ValueError(f"a row of {column.measure} has a diagnostic with the name of a column")
