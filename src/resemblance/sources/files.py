"""Files: .npy arrays, .npz archives and folders of them, as named representations."""

from __future__ import annotations

import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..inputs import explained, open_array
from ..representation import Representation

SUFFIXES = (".npy", ".npz")


class Found(NamedTuple):
    """An array in a file: its name, a longer one in case another is called the same, and the key in an archive."""

    name: str
    longer: str
    path: Path
    key: str | None = None


def read_files(paths: Iterable[str | Path]) -> dict[str, Representation]:
    """Return the representations in files and folders, by name, in the order given.

    A ``.npy`` file is one representation, named after it, and stays on disk until it is needed. An ``.npz`` archive
    holds one per array, named "archive/key". A folder stands for all such files inside it, in natural order ("conv2"
    before "conv10"), named by their path inside the folder. Names leave the suffix out; those that would be used twice
    become the path as it was given. Files with Python objects are refused, because reading them would run code.

    Raises ``ValueError``, naming the file, for what cannot be read as (n_samples, n_features) numbers.
    """
    found = [one for path in paths for one in _found(Path(path))]
    uses = Counter(one.name for one in found)
    representations: dict[str, Representation] = {}
    for one in found:
        name = printable(one.name if uses[one.name] == 1 else one.longer)
        if name in representations:
            raise ValueError(f"{one.path} is given twice, or two inputs are called {name!r}")
        representations[name] = _read(one, name)
    return representations


def printable(name: str) -> str:
    """Replace what cannot be printed or encoded: control characters, and bytes that are not UTF-8."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _found(path: Path) -> Iterator[Found]:
    if path.is_dir():
        inside = sorted((p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file()), key=natural)
        if not inside:
            raise ValueError(f"{path} holds no .npy or .npz file")
        for file in inside:
            yield from _in_file(file, file.relative_to(path).with_suffix("").as_posix())
    elif not path.exists():
        raise ValueError(f"{path} does not exist")
    elif path.suffix not in SUFFIXES:
        raise ValueError(f"{path} is neither a .npy nor a .npz file nor a folder")
    else:
        yield from _in_file(path, path.stem)


def _in_file(path: Path, name: str) -> Iterator[Found]:
    longer = path.with_suffix("").as_posix()
    if path.suffix == ".npy":
        yield Found(name, longer, path)
        return
    keys = _archive_keys(path)
    if not keys:
        raise ValueError(f"{path} is an empty archive")
    for key in keys:
        yield Found(f"{name}/{key}", f"{longer}/{key}", path, key)


def _archive_keys(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except (zipfile.BadZipFile, OSError) as error:
        raise ValueError(f"{path} is not a readable .npz archive: {error}") from error


def _read(one: Found, name: str) -> Representation:
    if one.key is None:
        return Representation(readable(one.path), name)
    with explained(f"{one.path}, array {one.key!r},"):
        return Representation(_from_archive(one.path, one.key), name)


def readable(path: Path) -> Path:
    """Return the path of a ``.npy`` file if it holds numbers; ``ValueError``, naming the file, if it does not."""
    open_array(path)
    return path


def _from_archive(path: Path, key: str) -> np.ndarray:
    with np.load(path, allow_pickle=False) as archive:
        data: np.ndarray = archive[key]
        return data


def natural(path: Path) -> list[tuple[int, int, str]]:
    """Sort key under which numbers inside names count as numbers."""
    parts = re.split(r"(\d+)", path.as_posix())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]
