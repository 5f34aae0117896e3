"""Files with a label for every sample: its class, trial, document or subject."""

from __future__ import annotations

import csv
import zipfile
import zlib
from pathlib import Path

import numpy as np

NUMPY, TEXT = (".npy", ".npz"), (".csv", ".txt")
SAVE = 'np.save("labels.npy", labels)'


def read_labels(path: Path | None, option: str) -> np.ndarray | None:
    """Return the labels in a file, one per sample; None for no file.

    ``.npy`` holds them as one array, ``.npz`` as its only array; ``.csv`` and ``.txt`` have one
    label a line and no header. Raises ``ValueError``, naming the option, the file and the remedy,
    for anything else.
    """
    if path is None:
        return None
    if path.suffix.lower() not in NUMPY + TEXT:
        known = ", ".join(NUMPY + TEXT)
        raise ValueError(f"{option} {path}: labels are read from {known}; save them by {SAVE}")
    if not path.is_file():
        raise ValueError(f"{option} {path} does not exist")
    labels = _lines(path, option) if path.suffix.lower() in TEXT else _array(path, option)
    if labels.ndim != 1:
        raise ValueError(
            f"{option} {path} must be one label per sample, of shape (n_samples,); got "
            f"{labels.shape}; save one column, such as labels[:, 0]"
        )
    return labels


def check_count(labels: np.ndarray | None, n: int, path: Path | None, option: str) -> None:
    """Raise ``ValueError``, naming the option and the file, unless there is a label per sample."""
    if labels is None or path is None or len(labels) == n:
        return
    remedy = "save one label per sample, in the order of the samples"
    if path.suffix.lower() in TEXT and len(labels) == n + 1:
        remedy = f"if its first line, {str(labels[0])!r}, is a header, delete that line"
    raise ValueError(
        f"{option} {path} has {len(labels)} labels for {n} samples (rows of the representations); "
        f"{remedy}"
    )


def _array(path: Path, option: str) -> np.ndarray:
    try:
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if not isinstance(content, np.lib.npyio.NpzFile):
                return content
            if len(content.files) == 1:
                return content[content.files[0]]
            names = ", ".join(content.files) or "none"
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{option} {path} cannot be read: an array of one number or word per sample is "
            f"needed; save it by {SAVE}"
        ) from error
    raise ValueError(
        f"{option} {path} must hold one array; it has {names}; save the labels alone by {SAVE}"
    )


def _lines(path: Path, option: str) -> np.ndarray:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            is_table = path.suffix.lower() == ".csv"
            rows = list(csv.reader(file)) if is_table else [[line.strip()] for line in file]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{option} {path} is not text in UTF-8 ({error})") from error
    while rows and not any(rows[-1]):
        rows.pop()
    for number, row in enumerate(rows, 1):
        if len(row) > 1:
            raise ValueError(
                f"{option} {path}, line {number}: {len(row)} columns; leave only the column with "
                "the labels"
            )
        if not any(row):
            raise ValueError(f"{option} {path}, line {number} is empty: every sample needs a label")
    if not rows:
        raise ValueError(f"{option} {path} is empty: every sample needs a label, one a line")
    return np.array([row[0] for row in rows])
