"""The reader of CIFAR-100 in its release for Python."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ..pickles import read_pickle
from .pictures import Pictures, PictureTask

ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar.html"
CLASSES, SIDE, CHANNELS = 100, 32, 3
MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}
COUNTS = {"train": 50_000, "test": 10_000}


def read_cifar100(folder: Path, strict: bool) -> PictureTask:
    """Return CIFAR-100 from the folder with the files ``train``, ``test`` and ``meta``.

    The files are pickles; they are read without running anything that a pickle may ask for. Images
    are (n, 32, 32, 3) from 0 to 255, in the order of the files; classes are the 100 fine ones.
    ``strict``: whether the files must be those of the release, by their MD5.

    Raises ``ValueError`` that names the file if it is missing, damaged or another one.
    """
    for name in MD5:
        _check(folder / name, name, strict)
    classes = _entry(folder / "meta", read_pickle(folder / "meta"), "fine_label_names")
    if not isinstance(classes, list) or len(classes) != CLASSES:
        raise _wrong(folder / "meta", f"{CLASSES} names of classes", _length(classes))
    return PictureTask(_part(folder / "train"), _part(folder / "test"), CLASSES)


def _check(file: Path, name: str, strict: bool) -> None:
    if not file.is_file():
        raise ValueError(f"{file} is missing: take {name} of cifar-100-python.tar.gz from {ORIGIN}")
    if strict:
        with file.open("rb") as stream:
            got = hashlib.file_digest(
                stream, lambda: hashlib.md5(usedforsecurity=False)
            ).hexdigest()
        if got != MD5[name]:
            raise _wrong(file, f"the MD5 {MD5[name]}", got)


def _part(file: Path) -> Pictures:
    content = read_pickle(file)
    data, labels = _entry(file, content, "data"), _entry(file, content, "fine_labels")
    width = CHANNELS * SIDE * SIDE
    is_array = isinstance(data, np.ndarray) and data.dtype == np.uint8 and data.ndim == 2
    if not is_array or data.shape[1] != width:
        got = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise _wrong(file, f"data of uint8 (n, {width})", got)
    if not isinstance(labels, list) or not all(isinstance(label, int) for label in labels):
        raise _wrong(file, "fine_labels as a list of numbers", type(labels).__name__)
    if len(labels) != len(data) or not labels:
        raise _wrong(file, f"a label for each of {len(data)} images", str(len(labels)))
    if min(labels) < 0 or max(labels) >= CLASSES:
        raise _wrong(file, f"labels from 0 to {CLASSES - 1}", f"{min(labels)} to {max(labels)}")
    images = data.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
    return Pictures(np.ascontiguousarray(images), np.array(labels, np.int64))


def _entry(file: Path, content: Any, name: str) -> Any:
    if not isinstance(content, dict) or name not in content:
        raise _wrong(file, f"an entry {name!r}", _length(content))
    return content[name]


def _length(content: Any) -> str:
    kind = type(content).__name__
    return f"{kind} of {len(content)}" if hasattr(content, "__len__") else kind


def _wrong(file: Path, expected: str, got: str) -> ValueError:
    return ValueError(
        f"{file} is not CIFAR-100: expected {expected}, got {got}; get it from {ORIGIN}"
    )
