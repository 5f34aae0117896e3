"""Comparisons in one SQLite file that survives a kill and can be continued, without pickle."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .columns import NO_MEMORY, Column
from .locks import has_locks, held
from .packing import PACKED, TILE, cells_of, column_of, columns_of, tile_rows

FORMAT = 6
EVIDENCE = "evidence"  # the entry of a description that says how inference was made
INSERT = "INSERT INTO cells (measure, version, x, y, value, seconds, reason, diagnostics)"
INSERT_TILE = f"INSERT INTO tiles ({', '.join(TILE)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
UNLESS_KNOWN = f"""ON CONFLICT (measure, version, x, y) DO UPDATE
  SET value = excluded.value, seconds = excluded.seconds,
      reason = excluded.reason, diagnostics = excluded.diagnostics
  WHERE cells.reason LIKE '{NO_MEMORY}%'"""
# The tables as SQLite records them.
CELLS = (
    "CREATE TABLE cells (measure TEXT, version INTEGER, x TEXT, y TEXT, value REAL, seconds REAL, "
    "reason TEXT, diagnostics TEXT, PRIMARY KEY (measure, version, x, y)) WITHOUT ROWID"
)
HEADER = "CREATE TABLE header (id INTEGER PRIMARY KEY CHECK (id = 0), description TEXT)"
VECTORS = (
    "CREATE TABLE vectors (measure TEXT, version INTEGER, x TEXT, y TEXT, kind TEXT, "
    "start INTEGER, numbers BLOB, note TEXT, "
    "PRIMARY KEY (measure, version, x, y, kind, start)) WITHOUT ROWID"
)
TILES = (
    "CREATE TABLE tiles (id INTEGER PRIMARY KEY, measure TEXT, version INTEGER, size INTEGER, "
    "alone INTEGER, data TEXT, pairs BLOB, numbers BLOB, notes TEXT)"
)
TIMEOUT = 60.0  # seconds to wait for another process
WITHOUT_LOCKS = "?vfs=unix-none"  # the name that SQLite has for its way to files without locks


class Vector(NamedTuple):
    """Numbers that inference computed of a measure for the data x and y (see ``inference``).

    ``kind``: what they are, such as the values in the orders of a design; ``start``: the position
    of the first, where they are stored in pieces; ``note``: words about them.
    """

    measure: str
    version: int
    x: str
    y: str
    kind: str
    start: int
    numbers: np.ndarray
    note: str | None = None


VectorKey = tuple[str, int, str, str, str, int]


class Store:
    """A file of cells, keyed by what they were computed from, and a description of a comparison.

    A cell is found again whenever the same measure, version and data are asked for, in whatever
    comparison; the description is that of the last one. Writes are atomic (SQLite in WAL mode), so
    a process killed at any moment leaves a file that can be read and continued, and two processes
    on one machine may write at once. While the file is open, and after a kill, the latest cells are
    in a second file, ``-wal``, which the next process to open it takes in.

    Where the file system has no locks, a file ``-held`` beside it lets one process have it at a
    time, and there is no second file: see :mod:`resemblance.locks`. ``is_shared`` says whether
    others can write meanwhile.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False):
        self.path = Path(path)
        self._read_only = read_only
        self._pending: list[Column] = []
        self._written = 0.0
        self.is_shared = read_only or has_locks(self.path.parent)
        with ExitStack() as stack:
            if not self.is_shared:
                holder = self.path.with_name(f"{self.path.name}-held")
                stack.enter_context(held(holder, str(self.path)))
            with reading(self.path):
                connect = open_to_read if read_only else partial(_connected, mode=self._mode)
                self._db = connect(self.path)
                stack.callback(self._db.close)
                self._check_format()
                if not read_only:
                    # The tables come before the log, so that nobody sees a file that lacks them.
                    self._create()
                    self._write_ahead()
            self._open = stack.pop_all()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._open:
            try:
                if self._pending:
                    self.flush()
            finally:
                if not self._read_only:
                    self._leave_one_file()

    @property
    def _mode(self) -> str:
        return "" if self.is_shared else WITHOUT_LOCKS

    def describe(self, description: dict[str, Any]) -> None:
        """Record which comparison the cells are for (the last description counts)."""
        with self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO header VALUES (0, ?)", [json.dumps(description)]
            )

    def description(self) -> dict[str, Any]:
        """Return the description; ``ValueError`` if the file has none."""
        with reading(self.path):
            row = self._db.execute("SELECT description FROM header").fetchone()
            if row is None:
                raise ValueError(f"{self.path} holds no comparison")
            entries: dict[str, Any] = json.loads(row[0])
            names = ["rows", "columns", "measures", "provenance"]
            return {name: entries[name] for name in [*names, *({EVIDENCE} & entries.keys())]}

    def put(self, columns: Iterable[Column]) -> None:
        """Add scores, which are on disk within half a second of work.

        A value that is already there stays as it is. A column of many entries is kept as it is, one
        of few as its cells, which can be looked at one by one.
        """
        self._pending.extend(columns)
        if time.monotonic() - self._written > 0.3:
            self.flush()

    def flush(self) -> None:
        """Write the columns that were added, in one transaction."""
        few = (column for column in self._pending if column.size < PACKED)
        many = (column for column in self._pending if column.size >= PACKED)
        with self._writing():
            self._db.executemany(
                f"{INSERT} VALUES (?, ?, ?, ?, ?, ?, ?, ?) {UNLESS_KNOWN}",
                (cell for column in few for cell in cells_of(column)),
            )
            self._db.executemany(INSERT_TILE, (row for c in many for row in tile_rows(c)))
        self._pending, self._written = [], time.monotonic()

    def columns(self, of: Iterable[str] | None = None) -> Iterator[Column]:
        """Yield all scores, or those about data among the fingerprints ``of``, and perhaps others.

        Raises ``ValueError`` for what cannot be a score.
        """
        query, sides = "SELECT * FROM cells", tuple[str, ...]()
        if of is not None:
            among = "IN (SELECT value FROM json_each(?))"
            query += f" WHERE x {among} AND y {among}"
            sides = (json.dumps(sorted(set(of))),) * 2
        with reading(self.path):
            # Statements end here, also when the caller stops: an open one keeps the file locked.
            cells = self._db.execute(f"{query} ORDER BY measure, version", sides).fetchall()
            yield from columns_of(cells)
            for (number,) in self._db.execute("SELECT id FROM tiles ORDER BY id").fetchall():
                tile = f"SELECT {', '.join(TILE)} FROM tiles WHERE id = ?"
                yield column_of(*self._db.execute(tile, [number]).fetchone())

    def count(self, *, alone: bool = False) -> int:
        """Return how many scores there are; ``alone``: of data with themselves."""
        numbers = ("sum(x = y)", "sum(alone)") if alone else ("count(*)", "sum(size)")
        cells, tiles = (f"(SELECT coalesce({n}, 0) FROM {{}})" for n in numbers)
        with reading(self.path):
            query = f"SELECT {cells.format('cells')} + {tiles.format('tiles')}"
            return int(self._db.execute(query).fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write in one transaction; ``OSError``, naming the file, if it cannot be written."""
        try:
            with self._db:
                yield
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path} cannot be written: {error}") from error

    def put_vectors(self, vectors: Iterable[Vector]) -> None:
        """Write vectors at once, in place of those that are there."""
        rows = [(*v[:6], np.asarray(v.numbers, dtype="<f8").tobytes(), v.note) for v in vectors]
        with self._writing():
            self._db.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows
            )

    def vectors(self, of: Iterable[str]) -> list[Vector]:
        """Return the vectors whose two sides are both among ``of``.

        Raises ``ValueError`` for what cannot be a vector.
        """
        among = "IN (SELECT value FROM json_each(?))"
        sides = (json.dumps(sorted(set(of))),) * 2
        query = f"SELECT * FROM vectors WHERE x {among} AND y {among}"
        with reading(self.path):
            # A statement left open by a damaged row would keep the file locked.
            return [_vector(*row) for row in self._db.execute(query, sides).fetchall()]

    def _check_format(self) -> None:
        """Refuse the file of another version or program, whose statements might run in a query."""
        # One statement reads one state of the file, even while another process creates it.
        statements = "SELECT json_group_array(sql) FROM sqlite_master"
        number = "SELECT user_version FROM pragma_user_version"
        schema, version = self._db.execute(f"SELECT ({statements}), ({number})").fetchone()
        tables = {" ".join((sql or "").split()) for sql in json.loads(schema)}
        if tables and version != FORMAT:
            raise ValueError(
                f"{self.path} has format {version}, and {FORMAT} is read here; compare again, "
                "saving to a new file"
            )
        if self._read_only and not tables:
            raise ValueError(f"{self.path} is empty: it holds no comparison")
        if foreign := sorted(tables - {CELLS, HEADER, VECTORS, TILES}):
            raise ValueError(
                f"{self.path} holds what resemblance does not write there: {foreign[0][:80]}"
            )

    def _write_ahead(self) -> None:
        """Switch to WAL, again and again until no other process holds the lock.

        SQLite does not wait for this lock itself, which several processes may want in a new file.
        """
        if not self.is_shared:  # a log needs memory that processes share
            self._db.execute("PRAGMA journal_mode=DELETE")
            return
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _leave_one_file(self) -> None:
        """Switch back from WAL, so that one file can be copied, and read in a read-only folder."""
        try:
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError:  # another process has it open: the last one does it
            return

    def _create(self) -> None:
        """Create the tables and set the format in one transaction, so that neither comes alone."""
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in (CELLS, HEADER, VECTORS, TILES):
                self._db.execute(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn any error that a damaged comparison file causes into a ``ValueError`` that names it."""
    try:
        yield
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be used as a comparison file: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        problem = error if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        raise ValueError(f"{path} is damaged: {problem}") from error


def _connected(path: Path, mode: str = "") -> sqlite3.Connection:
    connection = sqlite3.connect(
        path.resolve().as_uri() + mode, uri=True, timeout=TIMEOUT, check_same_thread=False
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    if WITHOUT_LOCKS in mode:  # so SQLite can read what a log holds that was left by a kill
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a file that another process may be writing, or that is in a read-only folder."""
    if not has_locks(path.parent):
        return _connected(path, f"{WITHOUT_LOCKS}&mode=ro")
    connection = _connected(path, "?mode=ro")
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
    return _connected(path, "?mode=ro&immutable=1")


def _vector(*row: Any) -> Vector:
    """Return a row of the table of vectors; ``ValueError`` for what cannot be one."""
    *names, numbers, note = row
    kinds: tuple[type, ...] = (str, int, str, str, str, int, bytes, str)
    if not all(map(isinstance, (*names, numbers, note or ""), kinds)) or len(numbers) % 8:
        raise ValueError(f"this is not a vector of numbers: {names!r}")
    measure, version, x, y, kind, start = names
    values = np.frombuffer(numbers, dtype="<f8")
    return Vector(measure, version, x, y, kind, start, values, note)
