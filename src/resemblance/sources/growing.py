"""Arrays on disk that grow batch by batch, and go on after a kill where they were."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .files import natural

JOURNAL = "batches.jsonl"
NEVER = 2**62  # where the rows of a file without a head begin


class WrittenBatch(NamedTuple):
    """A batch whose rows are all on disk: their number, and a hash of what the model received."""

    rows: int
    digest: str


class ArrayFile(NamedTuple):
    """The file of a growing array, the type and number of its columns, and where its rows begin."""

    file: BinaryIO
    dtype: np.dtype[Any]
    width: int
    start: int

    @property
    def row(self) -> int:
        """The bytes of a row."""
        return self.width * self.dtype.itemsize


class GrowingArrays:
    """Arrays (n, d) in the ``.npy`` files of a folder, which all grow by the same samples.

    A line of a journal follows the rows of each batch. Rows without one belong to a batch that was
    cut short, and are dropped when the folder is opened again. To be used in a ``with`` statement.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.batches: list[WrittenBatch] = []
        self._arrays: dict[str, ArrayFile] = {}
        self._stack = ExitStack()

    def __enter__(self) -> GrowingArrays:
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self.folder.glob("*.npy"), key=natural):
            self._arrays[path.stem] = _opened(self._stack.enter_context(path.open("r+b")))
        self.batches = _complete(_lines(self.folder / JOURNAL), self._arrays.values())
        if not self.batches:
            self._arrays = {}  # the first batch begins their files anew
        for array in self._arrays.values():
            array.file.truncate(array.start + self.n_rows * array.row)
            array.file.seek(0, 2)
        self._journal = self._stack.enter_context((self.folder / JOURNAL).open("w"))
        self._journal.writelines(map(_line, self.batches))
        self._journal.flush()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def n_rows(self) -> int:
        """The number of rows of every array."""
        return sum(batch.rows for batch in self.batches)

    def append(self, rows: Mapping[str, np.ndarray], digest: str) -> None:
        """Add the rows of a batch to all arrays.

        Raises ``ValueError``, and keeps the batches before, if these are not the arrays, widths and
        precisions of the first batch.
        """
        if not self.batches:
            self._arrays = {name: self._begun(name, part) for name, part in rows.items()}
        _check_alike(self._arrays, rows)
        for name, part in rows.items():
            self._arrays[name].file.write(np.ascontiguousarray(part).data)
            self._arrays[name].file.flush()
        batch = WrittenBatch(len(next(iter(rows.values()))), digest)
        self._journal.write(_line(batch))
        self._journal.flush()
        self.batches.append(batch)

    def finish(self) -> dict[str, Path]:
        """Write the final shapes, close the files, and return the file of each array."""
        for array in self._arrays.values():
            array.file.seek(0)
            _write_head(array.file, (self.n_rows, array.width), array.dtype)
        self._stack.close()
        return {name: self.folder / f"{name}.npy" for name in self._arrays}

    def _begun(self, name: str, part: np.ndarray) -> ArrayFile:
        file = self._stack.enter_context((self.folder / f"{name}.npy").open("w+b"))
        _write_head(file, (0, part.shape[1]), part.dtype)
        return ArrayFile(file, part.dtype, part.shape[1], file.tell())


def _write_head(file: BinaryIO, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """Write the head of a ``.npy`` file, whose length does not depend on the number of rows."""
    description = np.lib.format.dtype_to_descr(dtype)
    head = {"descr": description, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, head)


def _opened(file: BinaryIO) -> ArrayFile:
    """Return the array in a file that may have been cut short; without a head it has no rows."""
    try:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    except ValueError:
        return ArrayFile(file, np.dtype(np.float32), 1, NEVER)
    return ArrayFile(file, dtype, shape[1], file.tell())


def _complete(batches: list[WrittenBatch], arrays: Any) -> list[WrittenBatch]:
    """Return the batches, from the first on, whose rows every file has."""
    rows = min(((a.file.seek(0, 2) - a.start) // a.row for a in arrays), default=0)
    total, count = 0, 0
    for batch in batches:
        total += batch.rows
        if total > rows:
            break
        count += 1
    return batches[:count]


def _line(batch: WrittenBatch) -> str:
    return json.dumps(batch) + "\n"


def _lines(journal: Path) -> list[WrittenBatch]:
    """Return the batches of a journal up to a line that was cut short."""
    batches = list[WrittenBatch]()
    for line in journal.read_text().splitlines() if journal.exists() else ():
        try:
            rows, digest = json.loads(line)
            batches.append(WrittenBatch(int(rows), str(digest)))
        except (ValueError, TypeError):
            break
    return batches


def _check_alike(arrays: Mapping[str, ArrayFile], rows: Mapping[str, np.ndarray]) -> None:
    if other := sorted(set(arrays) ^ set(rows)):
        raise ValueError(f"{other[0]} is not in all batches; leave that layer out")
    counts = {len(part) for part in rows.values()}
    if len(counts) > 1:
        raise ValueError(f"the layers of one batch have {sorted(counts)} rows; all must have each")
    for name, part in rows.items():
        array = arrays[name]
        if (part.shape[1], part.dtype) != (array.width, array.dtype):
            raise ValueError(
                f"{name} gives {part.shape[1]} values of {part.dtype} per row, and {array.width} "
                f"of {array.dtype} in the batches before; give inputs of one size, or do not pool "
                '"flatten"'
            )
