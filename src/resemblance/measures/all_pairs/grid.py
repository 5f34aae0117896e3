"""The pairs of rows and columns, each representation and each unordered pair of them once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...claims import Scores
from ...representation import Representation


class PairGrid(NamedTuple):
    """Representations, pairs of positions in them, and which pair each row and column makes."""

    representations: tuple[Representation, ...]
    pairs: list[tuple[int, int]]
    places: np.ndarray

    @property
    def samples(self) -> int:
        """The number of samples."""
        return self.representations[0].shape[0]

    def scores(self, values: np.ndarray, **diagnostics: np.ndarray) -> Scores:
        """Return the scores from the values of all pairs, and numbers to be recorded with them."""
        return Scores(values[self.places], {k: v[self.places] for k, v in diagnostics.items()})

    def ends(self, numbers: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """Return a number of each representation for the first and the second of all pairs."""
        i, j = np.array(self.pairs).T
        return np.asarray(numbers)[i], np.asarray(numbers)[j]


def grid_of(xs: Sequence[Representation], ys: Sequence[Representation]) -> PairGrid:
    """Return all pairs of rows and columns."""
    each = {id(r): r for r in (*xs, *ys)}
    index = {key: i for i, key in enumerate(each)}
    places: dict[tuple[int, int], int] = {}
    table = np.empty((len(xs), len(ys)), dtype=np.int64)
    for row, x in enumerate(xs):
        for column, y in enumerate(ys):
            i, j = sorted((index[id(x)], index[id(y)]))
            table[row, column] = places.setdefault((i, j), len(places))
    return PairGrid(tuple(each.values()), list(places), table)
