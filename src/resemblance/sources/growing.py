"""Arrays on disk that grow batch by batch, and go on after a kill where they were."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..json_files import DAMAGED, check_types, read_document, write_atomically

PROGRESS = "progress.json"
PIECE = 2**24  # bytes of an array that are in memory at a time


class Written(NamedTuple):
    """What is on disk: the number of batches and of rows, the fingerprint of the samples that gave
    them, what was pooled, and of each array the width, the type and a hash of its rows."""

    batches: int = 0
    rows: int = 0
    digest: str = ""
    pooled: tuple[str, ...] = ()
    arrays: Mapping[str, tuple[int, str, str]] = {}


class GrowingArrays:
    """Arrays (n, d) in the ``.npy`` files of a folder, which all grow by the same samples.

    What is ``written`` is in a file that is replaced after the rows of each batch. When the folder
    is opened again, these rows stay, unless they have changed; then all begins anew.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.written = read_document(folder / PROGRESS, _written_of, "what is written")
            self._hashes = {name: _hash_of(self, name) for name in self.written.arrays}
        except DAMAGED:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self.written = Written()

    def path(self, name: str) -> Path:
        """Return the file of an array."""
        return self.folder / f"{name}.npy"

    def append(self, rows: Mapping[str, np.ndarray], digest: str, pooled: Iterable[str]) -> None:
        """Add the rows of a batch to all arrays.

        Raises ``ValueError``, and keeps the batches before, if these are not the arrays, widths and
        precisions of the first batch.
        """
        batches, before, _, words, arrays = self.written
        if batches:
            _check_alike(arrays, rows)
        else:
            self._hashes = {name: hashlib.sha256() for name in rows}
        total = before + len(next(iter(rows.values())))
        for name, part in rows.items():
            content = np.ascontiguousarray(part).data
            self._hashes[name].update(content)
            with self.path(name).open("r+b" if batches else "wb") as file:
                file.write(_head(total, part.shape[1], part.dtype))
                file.seek(before * part[:1].nbytes, os.SEEK_CUR)
                file.write(content)
                file.truncate()
        hashes = {name: digest.hexdigest() for name, digest in self._hashes.items()}
        arrays = {name: (p.shape[1], p.dtype.str, hashes[name]) for name, p in rows.items()}
        together = tuple(sorted({*words, *pooled}))
        self.written = Written(batches + 1, total, digest, together, arrays)
        write_atomically(self.folder / PROGRESS, json.dumps(self.written._asdict()) + "\n")


def _written_of(entries: dict[str, Any]) -> Written:
    entries["pooled"] = tuple(entries["pooled"])
    entries["arrays"] = {name: tuple(of) for name, of in entries["arrays"].items()}
    written = Written(**entries)
    check_types(written, Written)
    if not (written.batches > 0 < written.rows and written.arrays):
        raise ValueError("nothing is written")
    return written


def _hash_of(arrays: GrowingArrays, name: str) -> Any:
    """Return the hash of the rows of an array, to which more can be added; ``ValueError`` if they
    are not those that were written."""
    width, kind, expected = arrays.written.arrays[name]
    rows, dtype = arrays.written.rows, np.dtype(kind)
    left, digest = rows * width * dtype.itemsize, hashlib.sha256()
    with arrays.path(name).open("rb") as file:
        file.seek(len(_head(rows, width, dtype)))
        while piece := file.read(min(PIECE, left)):
            digest.update(piece)
            left -= len(piece)
    if digest.hexdigest() != expected:
        raise ValueError(f"{name} has other rows")
    return digest


def _head(rows: int, width: int, dtype: np.dtype[Any]) -> bytes:
    """Return the head of a ``.npy`` file, whose length does not depend on the number of rows."""
    file, description = io.BytesIO(), np.lib.format.dtype_to_descr(dtype)
    head = {"descr": description, "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(file, head)
    return file.getvalue()


def _check_alike(
    arrays: Mapping[str, tuple[int, str, str]], rows: Mapping[str, np.ndarray]
) -> None:
    if other := sorted(set(arrays) ^ set(rows)):
        raise ValueError(f"{other[0]} is not in all batches; leave that layer out")
    counts = {len(part) for part in rows.values()}
    if len(counts) > 1:
        raise ValueError(f"the layers of one batch have {sorted(counts)} rows; all must have each")
    for name, part in rows.items():
        width, kind, _ = arrays[name]
        if (part.shape[1], part.dtype.str) != (width, kind):
            raise ValueError(
                f"{name} gives {part.shape[1]} values of {part.dtype} per row, and {width} of "
                f"{np.dtype(kind)} in the batches before; give inputs of one size, or do not pool "
                '"flatten"'
            )
