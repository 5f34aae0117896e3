"""Arrays on disk that grow batch by batch, and go on after a kill where they were."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..json_files import DAMAGED, check_types, write_atomically
from .models.samples import digest_after

JOURNAL = "batches.jsonl"


class WrittenBatch(NamedTuple):
    """A batch whose rows are all on disk: their number, a hash of what the model received, and one
    of that and the rows."""

    rows: int
    digest: str
    written: str


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

    A line of a journal follows the rows of each batch. When the folder is opened again, the batches
    whose rows are those of the journal stay, up to the first that was cut short or changed. To be
    used in a ``with`` statement.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.batches: list[WrittenBatch] = []
        self._arrays: dict[str, ArrayFile] = {}
        self._stack = ExitStack()

    def __enter__(self) -> GrowingArrays:
        self.folder.mkdir(parents=True, exist_ok=True)
        journal = self.folder / JOURNAL
        with ExitStack() as stack:
            for path in self.folder.glob("*.npy"):
                if array := _opened(stack.enter_context(path.open("r+b"))):
                    self._arrays[path.stem] = array
            self.batches = _complete(_lines(journal), self._arrays)
            if not self.batches:  # the first one begins all files anew
                stack.close()
                self._arrays = {}
                shutil.rmtree(self.folder)
                self.folder.mkdir()
            for array in self._arrays.values():
                array.file.truncate(array.start + self.n_rows * array.row)
                array.file.seek(0, 2)
            write_atomically(journal, "".join(map(_line, self.batches)))
            self._journal = stack.enter_context(journal.open("a"))
            self._stack = stack.pop_all()
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
        count = len(next(iter(rows.values())))
        batch = WrittenBatch(count, digest, digest_after(digest, rows))
        self._journal.write(_line(batch))
        self._journal.flush()
        self.batches.append(batch)

    def finish(self) -> dict[str, Path]:
        """Write the final shapes, close the files, and return the file of each array.

        All is on the disk then, so that no loss of power changes what is taken to be complete.
        """
        for array in self._arrays.values():
            array.file.seek(0)
            _write_head(array.file, (self.n_rows, array.width), array.dtype)
            array.file.flush()
            os.fsync(array.file.fileno())
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


def _opened(file: BinaryIO) -> ArrayFile | None:
    """Return the array in a file that may have been cut short; None where it is no array."""
    try:
        np.lib.format.read_magic(file)
        (_, width), by_column, dtype = np.lib.format.read_array_header_1_0(file)
    except DAMAGED:
        return None
    is_plain = width >= 0 and not by_column and dtype.kind in "biufc"
    return ArrayFile(file, dtype, width, file.tell()) if is_plain else None


def _complete(batches: list[WrittenBatch], arrays: Mapping[str, ArrayFile]) -> list[WrittenBatch]:
    """Return the batches, from the first on, whose rows are in the files as they were written."""
    sizes = {name: os.fstat(array.file.fileno()).st_size for name, array in arrays.items()}
    total = 0
    for k, batch in enumerate(batches):
        total += batch.rows
        if not arrays or any(a.start + total * a.row > sizes[name] for name, a in arrays.items()):
            return batches[:k]
        rows = {name: _read(array, batch.rows) for name, array in arrays.items()}
        if digest_after(batch.digest, rows) != batch.written:
            return batches[:k]
    return batches


def _read(array: ArrayFile, rows: int) -> np.ndarray:
    """Return the next rows of an array."""
    content = np.frombuffer(array.file.read(rows * array.row), array.dtype)
    return content.reshape(rows, array.width)


def _line(batch: WrittenBatch) -> str:
    return json.dumps(batch) + "\n"


def _lines(journal: Path) -> list[WrittenBatch]:
    """Return the batches of a journal up to a line that was cut short or is damaged."""
    batches = list[WrittenBatch]()
    text = journal.read_text(encoding="utf-8", errors="replace") if journal.exists() else ""
    for line in text.splitlines():
        try:
            batch = WrittenBatch(*json.loads(line))
            check_types(batch, WrittenBatch)
        except DAMAGED:
            break
        if batch.rows < 1 or not batch.digest.isascii():
            break
        batches.append(batch)
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
