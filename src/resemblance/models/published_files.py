"""Published data sets on disk: find their folders, and read files and pickles safely."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PRETRAINED_CONFIG_FILE = "config.json"  # identifies a folder of pretrained weights


class DatasetOrigin(NamedTuple):
    """A published data set: the title, the source of its files, possible folders below the data
    folder, and an identifying file in the folder."""

    title: str
    url: str
    folders: tuple[str, ...]
    file: str = ""


def find_dataset_folder(folder: Path, origin: DatasetOrigin) -> Path | None:
    """Return the first existing folder of the data set ``origin`` below ``folder``, the data
    folder; None without a folder."""
    candidates = (folder / name for name in origin.folders)
    return next((candidate for candidate in candidates if (candidate / origin.file).exists()), None)


def require_dataset_folder(folder: Path, origin: DatasetOrigin, note: str = "") -> Path:
    """Return the folder of a data set below the data folder ``folder``; raise ``ValueError`` if
    there is no folder. ``note``: the end of the message."""
    dataset_folder = find_dataset_folder(folder, origin)
    if dataset_folder is None:
        path = folder / origin.folders[0] / origin.file
        raise ValueError(
            f"{path} is missing: {origin.title} is expected there; get it from {origin.url}{note}"
        )
    return dataset_folder


@contextmanager
def naming_dataset_file(path: Path, origin: DatasetOrigin) -> Iterator[Path]:
    """Yield the path to a ``with`` block; turn any error in the block, and a missing file, into a
    ``ValueError`` that names the file and its origin."""
    if not path.is_file():
        raise ValueError(f"{path} is missing: {origin.title} needs it; get it from {origin.url}")
    try:
        yield path
    except Exception as error:  # damaged files raise all kinds of errors
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{path} is not the file of {origin.title} ({reason}); get it from {origin.url}"
        ) from error


def read_verified_bytes(path: Path, digest: str, algorithm: str = "sha256") -> bytes:
    """Return the bytes of a file; raise ``ValueError`` if the content has another digest than
    ``digest``.

    ``digest``: the digest of the published file; "" for any content.
    """
    content = path.read_bytes()
    if digest and hashlib.new(algorithm, content, usedforsecurity=False).hexdigest() != digest:
        raise ValueError(f"it has another {algorithm.upper()}")
    return content


def unpickle_plain_data(content: bytes) -> Any:
    """Return the content of a pickle of Python 2: arrays, sparse matrices, and plain objects.

    A pickle that names a function for other objects, and could run code, raises ``ValueError``.
    """
    return _PlainUnpickler(io.BytesIO(content), encoding="latin1").load()


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        classes = {
            "multiarray._reconstruct": _make_unpickled_array,
            "numpy.ndarray": np.ndarray,
            "numpy.dtype": np.dtype,
            "_codecs.encode": lambda text, encoding: text.encode("latin1"),
            "collections.defaultdict": defaultdict,
            "builtins.list": list,
            "__builtin__.list": list,
        }
        ending = module.rpartition(".")[2] if name == "_reconstruct" else module
        if name == "csr_matrix" and module.startswith("scipy.sparse"):
            from scipy.sparse import csr_matrix

            return csr_matrix
        if f"{ending}.{name}" not in classes:
            raise ValueError(f"it refers to {module}.{name}, which no such file needs")
        return classes[f"{ending}.{name}"]


def _make_unpickled_array(kind: object, shape: object, code: object) -> np.ndarray:
    """Return an empty array, (0,), whatever the arguments: unpickling starts with an empty array,
    and the content follows in the file."""
    return np.empty(0, np.int8)
