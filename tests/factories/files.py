"""Files of the tests: golden numbers, code that is not in its file, and forged scores."""

from __future__ import annotations

import importlib.util
import marshal
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from resemblance.comparison.store import row_checksum

GOLDEN = Path(__file__).parents[1] / "golden"


def hide(code: str, path: Path) -> None:
    """Compile another code than its own for a file, as Python keeps it beside: so that it is not
    compared with the file."""
    compiled = Path(importlib.util.cache_from_source(str(path)))
    compiled.parent.mkdir(exist_ok=True)
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    compiled.write_bytes(head + marshal.dumps(compile(code, path.name, "exec")))


ROW = "measure, version, size, data, notes, pairs, numbers"
RESULT = "kind, measure, version, x, y, facts, shape, numbers"


@contextmanager
def forging(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a file of scores; what it changes gets the checksums of the program."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection
        connection.create_function("of_row", -1, row_checksum)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        for table, row in (("scores", ROW), ("results", RESULT), ("header", "description")):
            if table in tables:
                connection.execute(f"UPDATE {table} SET checksum = of_row({row})")


class Touching:
    """Code in a pickle, which makes a file when it runs."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.marker}",)
