"""A graph whose nodes are classified, and what all readers of such data sets check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

MOST = 10_000  # nodes whose representations are compared
DRAW = 2024  # the seed of the authors' draw of these
LARGEST = 2**28  # entries of an array that a small file may unfold to


class GraphData(NamedTuple):
    """Nodes with features ``x`` (n, d) in float32 and ``labels`` (n,) from 0 to ``classes`` - 1,
    ``links`` (2, n_links) with each direction in a column, and the nodes of the published split.

    ``compared``: the test nodes whose representations are compared.
    """

    x: np.ndarray
    labels: np.ndarray
    links: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    compared: np.ndarray
    classes: int


class Origin(NamedTuple):
    """A data set: its title, where its files come from, one of the files, the folders below that of
    all data in which they may be, and what is in them: by name, how many."""

    title: str
    url: str
    file: str
    folders: tuple[str, ...]
    counts: dict[str, int]


@contextmanager
def reading(path: Path, origin: Origin) -> Iterator[Path]:
    """Turn whatever a missing or damaged file causes into a ``ValueError`` that names it."""
    if not path.is_file():
        raise ValueError(f"{path} is missing: {origin.title} needs it; get it from {origin.url}")
    try:
        yield path
    except Exception as error:  # damaged files raise all kinds
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{path} is not the file of {origin.title} ({reason}); get it from {origin.url}"
        ) from error


def check_size(entries: int) -> None:
    """Raise ``ValueError`` for an array of so many entries that no such data set has it: the file
    is small, but what it stands for would fill the memory."""
    if entries > LARGEST:
        raise ValueError(f"it stands for an array of {entries:,} entries; at most {LARGEST:,}")


def compared_nodes(test: np.ndarray) -> np.ndarray:
    """Return the test nodes whose representations are compared: all of them, or 10,000 drawn as in
    the authors' code, in the order in which they were drawn."""
    if len(test) <= MOST:
        return test
    return np.random.RandomState(DRAW).choice(test, MOST, replace=False)


def check(data: GraphData, links: int, folder: Path, origin: Origin, strict: bool) -> GraphData:
    """Return a data set if its parts fit together, and if ``strict``, have the published sizes.

    ``links``: how many the files have. Raises ``ValueError`` with the folder otherwise.
    """
    n = len(data.labels)
    split = np.concatenate([data.train, data.validation, data.test])
    problems = {
        f"features of {len(data.x)} nodes, classes of {n}": len(data.x) != n,
        f"classes outside 0 to {data.classes - 1}": not _within(data.labels, data.classes),
        f"links of nodes outside 0 to {n - 1}": not _within(data.links, n),
        f"a split with nodes outside 0 to {n - 1}": not _within(split, n),
        "nodes in two parts of the split": len(np.unique(split)) < len(split),
        "no nodes to train with or to test on": not (len(data.train) and len(data.test)),
        "features that are not finite": not np.isfinite(data.x).all(),
    }
    parts = (len(data.train), len(data.validation), len(data.test))
    sizes = (n, data.x.shape[1], links, data.classes, *parts)
    if strict:
        for (what, expected), size in zip(origin.counts.items(), sizes):
            problems[f"{size:,} {what}, expected {expected:,}"] = size != expected
    for problem, is_so in problems.items():
        if is_so:
            raise ValueError(f"{folder} is not {origin.title}: {problem}; get it from {origin.url}")
    return data


def _within(values: np.ndarray, end: int) -> bool:
    return values.size == 0 or (values.min() >= 0 and values.max() < end)
