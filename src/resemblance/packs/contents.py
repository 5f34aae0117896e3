"""What is recorded of a file of a pack, from its content in chunks."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from .manifest import PackedFile
from .reading import CHUNK

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def described(path: Path, name: str) -> PackedFile:
    """Return what is recorded of a file; ``name``: its path in the pack, for errors."""
    return packed_file(name, _chunks(path))


def packed_file(name: str, chunks: Iterable[bytes]) -> PackedFile:
    """Return what is recorded of a file with this content.

    Raises ``ValueError`` for a ``.npy`` file that is damaged, that holds objects, which only pickle
    can read, or whose header promises more or less than follows.
    """
    digest, size, first = hashlib.sha256(), 0, b""
    for chunk in chunks:
        first = first or chunk
        digest.update(chunk)
        size += len(chunk)
    if not name.endswith(".npy"):
        return PackedFile(digest.hexdigest(), size)
    return PackedFile(digest.hexdigest(), size, *_array(name, first, size))


def check_size(name: str, size: int, expected: PackedFile) -> None:
    """Raise ``ValueError`` for a file of another size than its manifest lists."""
    if size != expected.size:
        raise ValueError(f"{name} has {size:,} bytes, but its manifest lists {expected.size:,}")


def check_same(name: str, actual: PackedFile, expected: PackedFile) -> None:
    """Raise ``ValueError`` for a file that differs from what its manifest lists."""
    if actual.sha256 != expected.sha256:
        raise ValueError(f"{name} has another content than its manifest lists")
    if actual != expected:
        raise ValueError(
            f"{name} is an array of {actual.dtype or 'nothing'} of shape {actual.shape}, but its "
            f"manifest lists {expected.dtype or 'nothing'} of shape {expected.shape}"
        )


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _array(name: str, first: bytes, size: int) -> tuple[tuple[int, ...], str]:
    """Return the shape and the type of the array whose file begins with ``first``."""
    file = io.BytesIO(first)
    try:
        version = np.lib.format.read_magic(file)
        shape, _, dtype = HEADERS[version](file)
    except Exception as error:  # whatever a damaged or hostile header causes
        raise ValueError(f"{name} is no .npy file, or is damaged") from error
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects; a pack holds numbers only")
    if min(shape, default=0) < 0 or file.tell() + math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{name} has {size:,} bytes, which is not what its header promises")
    return tuple(map(int, shape)), dtype.str
