"""A reader of data files that are pickles, which runs nothing that such a file could ask for."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_ARRAY = "a stand-in for the class numpy.ndarray, which cannot be called"


def _new_array(kind: object, shape: object, code: object) -> np.ndarray:
    """Return the empty array that a pickled one starts as; its content follows in the file."""
    return np.empty(0, np.int8)


def _bytes(text: str, encoding: str) -> bytes:
    """Return bytes, which Python 3 writes as text in the protocols of Python 2."""
    return text.encode("latin1")


ARRAYS: Mapping[str, Any] = {  # what a pickle of NumPy arrays refers to
    "numpy.core.multiarray._reconstruct": _new_array,
    "numpy._core.multiarray._reconstruct": _new_array,
    "numpy.ndarray": _ARRAY,
    "numpy.dtype": np.dtype,
    "_codecs.encode": _bytes,
}


class _Reader(pickle.Unpickler):
    """Reads a pickle that may refer to some names only, each replaced by a value."""

    def __init__(self, content: bytes, allowed: Mapping[str, Any], encoding: str) -> None:
        super().__init__(io.BytesIO(content), encoding=encoding)
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full not in self._allowed:
            raise ValueError(f"it refers to {full}, which no such file needs")
        return self._allowed[full]


def read_pickle(path: Path, allowed: Mapping[str, Any] = ARRAYS, encoding: str = "latin1") -> Any:
    """Return what a pickle holds, if it refers to nothing but the names that are allowed.

    A pickle is a program that can call any function. Here it can only refer to the keys of
    ``allowed``, such as ``"numpy.dtype"``, and gets the values in their place, whatever these names
    mean in the installed packages. ``encoding``: of the strings of Python 2, as in
    ``pickle.loads``.

    Raises ``ValueError`` that names the file for any other name, and for a file that is damaged, is
    no pickle or needs more memory than there is; ``OSError`` if it cannot be read.
    """
    content = path.read_bytes()
    try:
        _check_places(content)
        return _Reader(content, allowed, encoding).load()
    except Exception as error:  # whatever a damaged or hostile file causes
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path} cannot be read as a pickle of plain data: {reason}") from error


def reason_of(error: Exception) -> str:
    """Return why a file could not be read, in a line.

    PyTorch explains how to read a file that asks for code to be run all the same; that is left out.
    """
    if isinstance(error, pickle.UnpicklingError):
        return "it is damaged, or asks for code to be run"
    return str(error).split("\n")[0] or type(error).__name__


def _check_places(content: bytes) -> None:
    """Raise ``ValueError`` for a pickle that numbers its objects far beyond its own length, for
    which a reader would reserve memory."""
    for code, argument, _ in pickletools.genops(content):
        puts = code.name in ("PUT", "BINPUT", "LONG_BINPUT")
        if puts and isinstance(argument, int) and argument > len(content):
            raise ValueError(f"it numbers an object {argument}, and has {len(content)} bytes")
