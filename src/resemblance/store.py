"""The only serialisation: comparisons in one SQLite file that survives a kill and can be resumed.
No pickle."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = 3
READABLE = (1, 2, 3)  # format 1 had no remarks, format 2 no caveats
# The columns of the records, of which no remark may have the name.
CAVEAT = "caveat"  # the name of the remark that says why a value means little
COLUMNS = ("measure", "label", "x", "y", "value", "reason")
# How the reason begins of what failed for lack of memory: it depends on the machine, so it is tried
# again.
NO_MEMORY = "not enough memory"
INSERT = "INSERT INTO cells (measure, version, x, y, value, seconds, reason, remarks)"
UNLESS_KNOWN = f"""ON CONFLICT (measure, version, x, y) DO UPDATE
  SET value = excluded.value, seconds = excluded.seconds,
      reason = excluded.reason, remarks = excluded.remarks
  WHERE cells.reason LIKE '{NO_MEMORY}%'"""
# The tables, as SQLite writes them down: of this format, and of the first.
_OLD = "measure TEXT, version INTEGER, x TEXT, y TEXT, value REAL, seconds REAL, reason TEXT"
_KEY = "PRIMARY KEY (measure, version, x, y)"
CELLS = (
    f"CREATE TABLE cells ({_OLD}, remarks TEXT, {_KEY}) WITHOUT ROWID",
    f"CREATE TABLE cells ({_OLD}, {_KEY}) WITHOUT ROWID",
)
HEADER = "CREATE TABLE header (id INTEGER PRIMARY KEY CHECK (id = 0), description TEXT)"
TIMEOUT = 60.0  # seconds to wait for another process


class Cell(NamedTuple):
    """One computed value: the measure with its version, the fingerprints of both sides, and the
    value or the reason.

    ``remarks``: extra diagnostics that the measure reports, as a JSON object of named numbers and
    perhaps a caveat.
    """

    measure: str
    version: int
    x: str
    y: str
    value: float | None
    seconds: float
    reason: str | None
    remarks: str | None = None


Key = tuple[str, int, str, str]


def key_of(cell: Cell) -> Key:
    """Return what a value is of: the measure, its version, and the data of both sides."""
    return cell[:4]


def remarks_of(cell: Cell) -> dict[str, float | str]:
    """Return the remarks of a cell: finite numbers by names that are no column's, and perhaps a
    caveat, a text.

    Raises ``ValueError`` for anything else.
    """
    if cell.remarks is None:
        return {}
    try:
        found = json.loads(cell.remarks)
        numbers = {
            name: float(value) for name, value in found.items() if type(value) in (int, float)
        }
        caveat = {
            name: value for name, value in found.items() if name == CAVEAT and type(value) is str
        }
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"these remarks are no named numbers: {cell.remarks!r}") from error
    known = len(numbers) + len(caveat) == len(found) and not numbers.keys() & {*COLUMNS, CAVEAT}
    if not known or not all(map(math.isfinite, numbers.values())):
        raise ValueError(
            f"these remarks are no finite numbers by names of their own: {cell.remarks!r}"
        )
    return {**numbers, **caveat}


class Store:
    """A file of cells, keyed by what they were computed from, and the description of the last
    comparison.

    A cell is found again whenever the same measure, version and data are asked for, in whatever
    comparison. Writes are atomic (SQLite in WAL mode), so a process killed at any moment leaves a
    file that can be read and continued, and two processes may write at once. On network file
    systems, which WAL does not support, use one process. While it is open, and after a kill, what
    was written last is in a second file, ``-wal``, which the next one to open it takes in.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False):
        self.path = Path(path)
        self._read_only = read_only
        self._pending: list[Cell] = []
        self._written = 0.0
        with reading(self.path):
            self._db = open_to_read(self.path) if read_only else _connected(self.path)
            self._check_format()
            if not read_only:
                self._write_ahead()
                self._create()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            if self._pending:
                self.flush()
        finally:
            if not self._read_only:
                self._leave_one_file()
            self._db.close()

    def describe(self, description: dict[str, Any]) -> None:
        """Say which comparison the cells are for (the last description counts)."""
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
            found: dict[str, Any] = json.loads(row[0])
            return {name: found[name] for name in ("rows", "columns", "measures", "provenance")}

    def put(self, cells: Iterable[Cell]) -> None:
        """Add cells; a value that is already there stays as it is. They are on disk within half a
        second of work."""
        self._pending.extend(cells)
        if time.monotonic() - self._written > 0.5:
            self.flush()

    def flush(self) -> None:
        """Write what was put, in one transaction."""
        with self._writing():
            self._db.executemany(
                f"{INSERT} VALUES (?, ?, ?, ?, ?, ?, ?, ?) {UNLESS_KNOWN}", self._pending
            )
        self._pending, self._written = [], time.monotonic()

    def cells(self, of: Iterable[str] | None = None) -> list[Cell]:
        """Return all cells, or those whose two sides are both among the fingerprints ``of``.

        Raises ``ValueError`` for what cannot be a cell.
        """
        query = "SELECT * FROM cells"
        sides: tuple[str, ...] = ()
        if of is not None:
            among = "IN (SELECT value FROM json_each(?))"
            query, sides = (
                f"{query} WHERE x {among} AND y {among}",
                (json.dumps(sorted(set(of))),) * 2,
            )
        with reading(self.path):
            cells = [Cell(*row) for row in self._db.execute(query, sides)]
            for cell in cells:
                _check(cell)
        return cells

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction; a full disk or a file that cannot be written is named."""
        try:
            with self._db:
                yield
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path} cannot be written: {error}") from error

    def _check_format(self) -> None:
        """Refuse what another version, or another program, has made: also statements that would run
        in a query."""
        # One statement reads one state of the file, even while another process creates it.
        query = (
            "SELECT (SELECT json_group_array(sql) FROM sqlite_master), (SELECT user_version FROM "
            "pragma_user_version)"
        )
        schema, version = self._db.execute(query).fetchone()
        made = {" ".join((sql or "").split()) for sql in json.loads(schema)}
        if made and version not in READABLE:
            known = " and ".join(map(str, READABLE))
            raise ValueError(
                f"{self.path} has format {version}; this version of resemblance reads formats "
                f"{known}"
            )
        if self._read_only and not made:
            raise ValueError(f"{self.path} is empty: it holds no comparison")
        if foreign := sorted(made - {*CELLS, HEADER}):
            raise ValueError(
                f"{self.path} holds what resemblance does not write there: {foreign[0][:80]}"
            )

    def _write_ahead(self) -> None:
        """Switch to WAL. SQLite does not wait for the lock this takes, so processes that open a new
        file must retry."""
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
        """Switch back from WAL, so that the file alone can be copied, and read where nothing can be
        written."""
        try:
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError:  # another process has it open: the last one does it
            return

    def _create(self) -> None:
        """Make the tables and state the format in one transaction, so that no process sees one
        without the other."""
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:
            if self._db.execute("PRAGMA user_version").fetchone() == (1,):
                self._db.execute("ALTER TABLE cells ADD COLUMN remarks TEXT")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in (CELLS[0], HEADER):
                self._db.execute(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged comparison file leads to into a ``ValueError`` that names it."""
    try:
        yield
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be used as a comparison file: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        what = error if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        raise ValueError(f"{path} is damaged: {what}") from error


def _connected(path: Path, mode: str = "") -> sqlite3.Connection:
    connection = sqlite3.connect(
        path.resolve().as_uri() + mode, uri=True, timeout=TIMEOUT, check_same_thread=False
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a file that is perhaps being written, or that is where nothing can be written."""
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


def _check(cell: Cell) -> None:
    """Raise ``ValueError`` for what cannot be a cell."""
    number, reason = 0.0 if cell.value is None else cell.value, cell.reason or ""
    kinds: tuple[type, ...] = (str, int, str, str, float, float, str)
    if not all(map(isinstance, (*cell[:4], number, cell.seconds, reason), kinds)):
        raise ValueError(f"this is no value of a measure: {tuple(cell)!r}")
    if not (math.isfinite(number) and math.isfinite(cell.seconds)):
        raise ValueError(f"this is no finite value: {tuple(cell)!r}")
    remarks_of(cell)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write that takes the place of another when all is written: a reader never
    sees a part.

    The old file stays as it is, and nothing else is left, when writing fails. What is no plain
    file, such as ``/dev/stdout``, is written itself, and a link stays a link.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield path
        return
    partial = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        yield partial
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old or the new one, never a part."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")
