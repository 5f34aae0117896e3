"""The only serialisation: comparisons in one SQLite file that survives a kill and can be resumed. No pickle."""

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
# How the reason begins of what failed for lack of memory: it depends on the machine, so it is tried again.
NO_MEMORY = "not enough memory"
INSERT = "INSERT INTO cells (measure, version, x, y, value, seconds, reason, remarks)"
UNLESS_KNOWN = f"""ON CONFLICT (measure, version, x, y) DO UPDATE
  SET value = excluded.value, seconds = excluded.seconds, reason = excluded.reason, remarks = excluded.remarks
  WHERE cells.reason LIKE '{NO_MEMORY}%'"""
TIMEOUT = 60.0  # seconds to wait for another process


class Cell(NamedTuple):
    """One computed value: the measure with its version, the fingerprints of both sides, and the value or the reason.

    ``remarks``: a JSON object of named numbers, and a caveat, if the measure has something to say of the value.
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
    """Return the remarks of a cell: finite numbers by names that are no column's, and perhaps a caveat, a text.

    Raises ``ValueError`` for anything else.
    """
    if cell.remarks is None:
        return {}
    try:
        found = json.loads(cell.remarks)
        numbers = {name: float(value) for name, value in found.items() if type(value) in (int, float)}
        caveat = {name: value for name, value in found.items() if name == CAVEAT and type(value) is str}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"these remarks are no named numbers: {cell.remarks!r}") from error
    known = len(numbers) + len(caveat) == len(found) and not numbers.keys() & {*COLUMNS, CAVEAT}
    if not known or not all(map(math.isfinite, numbers.values())):
        raise ValueError(f"these remarks are no finite numbers by names of their own: {cell.remarks!r}")
    return {**numbers, **caveat}


class Store:
    """A file of cells, keyed by what they were computed from, and the description of the last comparison.

    A cell is found again whenever the same measure, version and data are asked for, in whatever comparison. Writes are
    atomic (SQLite in WAL mode), so a process killed at any moment leaves a file that can be read and continued, and two
    processes may write at once. On network file systems, which WAL does not support, use one process.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False):
        self.path = Path(path)
        self._pending: list[Cell] = []
        self._written = 0.0
        try:
            location = self.path.resolve().as_uri() + ("?mode=ro" if read_only else "")
            self._db = sqlite3.connect(location, uri=True, timeout=TIMEOUT, check_same_thread=False)
            self._check_format()
            if read_only:
                return
            self._write_ahead()
            self._create()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} cannot be used as a comparison file: {error}") from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pending:
            self.flush()
        self._db.close()

    def describe(self, description: dict[str, Any]) -> None:
        """Say which comparison the cells are for (the last description counts)."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO header VALUES (0, ?)", [json.dumps(description)])

    def description(self) -> dict[str, Any]:
        """Return the description; ``ValueError`` if the file has none."""
        row = self._db.execute("SELECT description FROM header").fetchone()
        if row is None:
            raise ValueError(f"{self.path} holds no comparison")
        try:
            found: dict[str, Any] = json.loads(row[0])
            return {name: found[name] for name in ("rows", "columns", "measures", "provenance")}
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{self.path} is damaged: it does not say what it compares") from error

    def put(self, cells: Iterable[Cell]) -> None:
        """Add cells; a value that is already there stays as it is. They are on disk within half a second of work."""
        self._pending.extend(cells)
        if time.monotonic() - self._written > 0.5:
            self.flush()

    def flush(self) -> None:
        """Write what was put, in one transaction."""
        with self._db:
            self._db.executemany(f"{INSERT} VALUES (?, ?, ?, ?, ?, ?, ?, ?) {UNLESS_KNOWN}", self._pending)
        self._pending, self._written = [], time.monotonic()

    def cells(self, of: Iterable[str] | None = None) -> list[Cell]:
        """Return all cells, or those whose two sides are both among the fingerprints ``of``.

        Raises ``ValueError`` if their remarks cannot be read.
        """
        if of is None:
            return self._checked(self._db.execute("SELECT * FROM cells"))
        sides = json.dumps(sorted(set(of)))
        among = "IN (SELECT value FROM json_each(?))"
        query = f"SELECT * FROM cells WHERE x {among} AND y {among}"
        return self._checked(self._db.execute(query, [sides, sides]))

    def _checked(self, found: Iterable[tuple[Any, ...]]) -> list[Cell]:
        cells = [Cell(*row) for row in found]
        try:
            for cell in cells:
                remarks_of(cell)
        except ValueError as error:
            raise ValueError(f"{self.path} is damaged: {error}") from error
        return cells

    def _check_format(self) -> None:
        # One statement reads one state of the file, even while another process creates it.
        query = "SELECT (SELECT count(*) FROM sqlite_master), (SELECT user_version FROM pragma_user_version)"
        tables, version = self._db.execute(query).fetchone()
        if tables and version not in READABLE:
            known = " and ".join(map(str, READABLE))
            raise ValueError(f"{self.path} has format {version}; this version of resemblance reads formats {known}")

    def _write_ahead(self) -> None:
        """Switch to WAL. SQLite does not wait for the lock this takes, so processes that open a new file must retry."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _create(self) -> None:
        """Make the tables and state the format in one transaction, so that no process sees one without the other."""
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:
            if self._db.execute("PRAGMA user_version").fetchone() == (1,):
                self._db.execute("ALTER TABLE cells ADD COLUMN remarks TEXT")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
            self._db.execute(
                """CREATE TABLE IF NOT EXISTS cells (measure TEXT, version INTEGER, x TEXT, y TEXT, value REAL,
                     seconds REAL, reason TEXT, remarks TEXT, PRIMARY KEY (measure, version, x, y)) WITHOUT ROWID"""
            )
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS header (id INTEGER PRIMARY KEY CHECK (id = 0), description TEXT)"
            )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write that takes the place of another when all is written: a reader never sees a part.

    The old file stays as it is, and nothing else is left, when writing fails. What is no plain file, such as
    ``/dev/stdout``, is written itself, and a link stays a link.
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
