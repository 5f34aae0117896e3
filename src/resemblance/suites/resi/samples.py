"""Comparisons on fewer samples than the models were seen on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...arrays import like
from ...representation import Representation
from ...rng import generator
from ..case import Case
from ..families import ModelFamily

FEWEST = 2
BLOCK = 256  # samples copied at a time


def check_samples(samples: int | None) -> None:
    """Raise ``ValueError`` for what is no number of samples."""
    is_whole = isinstance(samples, int) and not isinstance(samples, bool)
    if samples is not None and not (is_whole and samples >= FEWEST):
        raise ValueError(f"samples must be a whole number of at least {FEWEST}; got {samples!r}")


def drawn(dataset: str, n: int, samples: int) -> np.ndarray:
    """Return which of n samples of a data set are compared, in their order, none twice.

    The same for all models: the draw depends on the name of the data set and the numbers only.
    """
    g = generator(0, "resi", "samples", dataset)
    return np.sort(g.choice(n, min(samples, n), replace=False))


def on_samples(
    cases: Sequence[Case], samples: int | None, folder: Path | None = None
) -> tuple[Case, ...]:
    """Return cases whose representations have at most so many samples.

    What is expected stays as it is: accuracies and outputs are those of all samples, since they
    are what a measure is held to, not what it sees. A representation with no more samples stays,
    too. ``folder``: where the others are kept; without it they stay in memory.
    """
    if samples is None:
        return tuple(cases)
    smaller: dict[Representation, Representation] = {}
    for case in cases:
        for x in (x for part in case.parts for x in part.rows.values()):
            if x.shape[0] > samples and x not in smaller:
                file = folder and folder / f"samples-{len(smaller)}.npy"
                rows = drawn(ModelFamily(*case.cell[2:]).dataset, x.shape[0], samples)
                smaller[x] = _taken(x, rows, file)
    return tuple(_with(case, smaller) for case in cases)


def _with(case: Case, smaller: Mapping[Representation, Representation]) -> Case:
    parts = (
        part._replace(rows={name: smaller.get(x, x) for name, x in part.rows.items()})
        for part in case.parts
    )
    return case._replace(parts=tuple(parts))


def _taken(x: Representation, rows: np.ndarray, file: Path | None) -> Representation:
    """Return some rows of a representation, copied in blocks to a file if there is one."""
    ids = None if x.ids is None else [x.ids[row] for row in rows]
    if file is None or not isinstance(x.source, np.ndarray):
        chosen = x.xp.take(x.source, like(rows, x.source), axis=0)
        return Representation(chosen, x.name, ids=ids, dtype=x.dtype)
    shape = (len(rows), x.shape[1])
    copy = np.lib.format.open_memmap(file, "w+", dtype=x.source.dtype, shape=shape)
    for start in range(0, len(rows), BLOCK):
        copy[start : start + BLOCK] = x.source[rows[start : start + BLOCK]]
    copy.flush()
    return Representation(file, x.name, ids=ids, dtype=x.dtype)
