"""``.npy`` files of one array, memory-mapped until the values are needed."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from ..base.arrays import array_library, is_on_cpu, is_torch, to_numpy

BYTES_PER_READ = 2**20
ROWS_PER_HASHED_BLOCK = 2048
SAMPLED_ROWS = 8


def npy_path(path: str | Path) -> Path:
    """Return the absolute path of a ``.npy`` file, existing or not; raise ``ValueError`` for
    another name."""
    if Path(path).suffix != ".npy" or "\0" in str(path):
        remedy = "open it and pass the array"
        if Path(path, "traits.json").is_file():
            remedy = f"rs.open_features({str(path)!r})"
        elif Path(path).is_dir():
            remedy = f"pass {{p.stem: p for p in pathlib.Path({str(path)!r}).glob('*.npy')}}"
        raise ValueError(f"{str(path)!r} is not a .npy file; {remedy}")
    return Path(os.path.realpath(path))  # Path.resolve would raise RuntimeError for a loop of links


def open_npy(path: Path) -> np.ndarray:
    """Return the array in a ``.npy`` file as a memory map.

    Raises ``ValueError`` if the file contains no array, or bytes after the array, and for a pipe.
    """
    refuse_special_file(path)
    with name_file_in_errors(str(path)):
        with path.open("rb") as file:
            np.lib.format.read_magic(file)
        try:
            array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
        except TypeError as error:  # the header has an invalid shape
            raise ValueError(f"its header is damaged ({error})") from error
        n_extra = path.stat().st_size - getattr(array, "offset", 0) - array.nbytes
    if n_extra > 0 and isinstance(array, np.memmap):
        raise ValueError(
            f"{path} holds {n_extra} bytes after its array {array.shape}; save each array to a "
            f"file of its own, or the first alone: np.save({str(path)!r}, np.load({str(path)!r}))"
        )
    return array


def refuse_special_file(path: Path) -> None:
    """Raise ``ValueError`` for a pipe or a device, because reading could block forever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is a pipe or a device; write its content to a file, and name it")


@contextmanager
def name_file_in_errors(title: str) -> Iterator[None]:
    """Convert errors of reading a file inside the ``with`` block to a ``ValueError`` that begins
    with ``title``; a missing file stays ``FileNotFoundError``.

    The message ends with a remedy: the text after a semicolon in the original error, or the advice
    to write the file again.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError, OverflowError, zipfile.BadZipFile, zlib.error) as error:
        text = str(error)
        reason = text.partition(". To allow loading")[0].partition("\n")[0]
        if "Object arrays" in text or "Python objects" in text:
            reason = (
                "it holds Python objects, not numbers, and reading them can run code; if you trust "
                "the file, save numbers: np.save(path, np.array(np.load(path, "
                "allow_pickle=True).tolist(), dtype=float))"
            )
        reason = reason.partition("; expected b'")[0]  # drops the magic bytes of the format
        remedy = "" if ";" in reason else "; write it again, or name another"
        raise ValueError(f"{title} cannot be read: {reason}{remedy}") from error


def memmap_layout(array: np.memmap) -> dict[str, Any]:
    """Return the arguments of ``numpy.memmap`` for mapping the array of a file again.

    The layout avoids a second reading of the header, which can fail in threads of Python 3.11.
    """
    layout = {"dtype": array.dtype, "shape": array.shape, "offset": array.offset, "mode": "r"}
    return layout | {"order": "C" if array.flags.c_contiguous else "F"}


def hash_values(array: np.ndarray, path: Path | None = None) -> bytes:
    """Return the 128-bit hash (XXH3) of the bytes of an array in row-major order.

    ``path``: the file of a memory map; the bytes are read from the file in blocks, because a memory
    map would keep the whole array in memory.
    """
    digest = xxhash.xxh3_128()
    if path is not None and isinstance(array, np.memmap) and array.flags.c_contiguous:
        with path.open("rb") as file:
            file.seek(array.offset)
            while block := file.read(BYTES_PER_READ):
                digest.update(block)
    elif array.size:
        # A few rows at a time, so that no copy of a whole array is made.
        height = len(array) if array.flags.c_contiguous else ROWS_PER_HASHED_BLOCK
        for start in range(0, len(array), height):
            rows = np.ascontiguousarray(array[start : start + height])
            digest.update(rows.reshape(-1).view(np.uint8).data)
    return digest.digest()


def file_version(path: str | Path) -> tuple[int, int] | None:
    """Return (size in bytes, time of modification) of a file; None for a removed file."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def sample_bytes(array: Any) -> bytes:
    """Return the bytes of about 64 values of ``array``, a matrix of any library, from rows and
    columns at even distances."""
    rows, columns = (slice(None, None, -(-size // SAMPLED_ROWS) or 1) for size in array.shape)
    return to_numpy(array[rows, columns]).tobytes()


def map_version(array: np.ndarray, path: Path) -> tuple[int, int, bytes] | None:
    """Return (size, time of modification, bytes of a sample of the values) of the file ``path`` of
    the memory map ``array``; None for a removed file.

    The sample shows that another memory map of the file has replaced the values. The time of
    modification does not show this: the system records the first write to a page of a memory map,
    and records another write only after the page is on the disk.
    """
    version = file_version(path)
    return version and (*version, sample_bytes(array))


def content_version(source: Any) -> Hashable:
    """Return a value that changes with the values of ``source``, an array of any library; None if
    no change can be noticed.

    For a read-only memory map the value is :func:`map_version`. A tensor on an accelerator counts
    as changed when PyTorch has advanced the version counter of the tensor; writes through
    ``tensor.data`` do not advance the counter. Arrays of JAX do not change. An array in memory is
    hashed, at the speed of memory.
    """
    if isinstance(source, np.memmap) and source.mode == "r" and source.filename:
        return map_version(source, Path(source.filename))
    if isinstance(source, np.ndarray):
        return hash_values(source)
    if array_library(source) == "jax":
        return "immutable"
    if is_on_cpu(source):
        return hash_values(to_numpy(source))
    if is_torch(source) and not source.is_inference():
        return source.data_ptr(), source._version
    return None
