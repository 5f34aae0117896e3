"""The pairs to test: all pairs of two lists, or all pairs of different entries of one list."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..contracts._measure import Measure
from ..data.inputs import stimulus_of_each_row
from ..data.representation import Representation, fingerprint

# Positions of x and y among all representations; the samples of y are permuted.
IndexPair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class InferencePairs:
    """Representations with the pairs to test.

    The representations have no sample ids, because permutations would contradict the ids. Ids that
    mark repeats of a stimulus are kept, and stay in place.
    """

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...] | None

    @property
    def is_square(self) -> bool:
        """Whether all pairs of a single list are tested."""
        return self.columns is None

    @cached_property
    def all(self) -> tuple[Representation, ...]:
        """The representations of the rows, then the columns if there are separate columns."""
        return self.rows + (self.columns or ())

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.rows[0].shape[0]

    @property
    def widest(self) -> int:
        """The largest number of features of a representation."""
        return max(r.shape[1] for r in self.all)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The identifiers of the representations: their fingerprints. In a single list the
        fingerprints of equal data are numbered, because the permutations follow from the
        identifiers, and equal data need different permutations.
        """
        counts: dict[str, int] = {}
        tokens = []
        for r in self.all:
            name = fingerprint(r)
            counts[name] = counts.get(name, -1) + 1
            tokens.append(f"{name} {counts[name]}" if counts[name] and self.is_square else name)
        return tuple(tokens)

    @property
    def first_column(self) -> int:
        """The position in ``all`` of the first column; 0 for a single list."""
        return 0 if self.columns is None else len(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.rows), len(self.rows if self.columns is None else self.columns)

    @property
    def movable(self) -> range:
        """The positions in ``all`` of the representations with permuted samples: the columns, or
        all of a single list."""
        return range(self.first_column, len(self.all))

    def pairs(self, measure: Measure) -> list[IndexPair]:
        """Return the pairs (i, j) to compute, as positions in ``all``.

        With separate columns: every row with every column. In a square: every i < j, and every i >
        j if the measure is not symmetric; never i = j.
        """
        return [
            (i, j)
            for j in self.movable
            for i in range(len(self.rows))
            if not self.is_square or i < j or (i > j and not measure.symmetric)
        ]

    def with_values(self, measure: Measure, values: np.ndarray) -> list[IndexPair]:
        """Return the pairs (i, j) to compute, as positions in ``all``, without pairs whose entry in
        the matrix ``values``, (rows, columns), is NaN."""
        pairs = self.pairs(measure)
        return [pair for pair in pairs if not np.isnan(values[self.cells(measure, pair)[0]])]

    def cells(self, measure: Measure, pair: IndexPair) -> list[IndexPair]:
        """Return the (row, column) positions of a pair in the matrix of values: two for a
        symmetric measure in a square, else one."""
        i, j = pair[0], pair[1] - self.first_column
        return [(i, j), (j, i)] if self.is_square and measure.symmetric else [(i, j)]


def make_inference_pairs(
    rows: Sequence[Representation], columns: Sequence[Representation] | None
) -> InferencePairs:
    """Return the pairs of these representations, without sample ids; ``columns`` None for all
    pairs of ``rows``.

    Raises ``ValueError`` for a single representation.
    """
    if columns is None and len(rows) < 2:
        raise ValueError(
            "evidence: two representations are needed; pass a dictionary of several "
            "representations, or the second representation as second argument"
        )
    first = tuple(map(_drop_sample_ids, rows))
    return InferencePairs(first, None if columns is None else tuple(map(_drop_sample_ids, columns)))


def _drop_sample_ids(x: Representation) -> Representation:
    if x.order is None or stimulus_of_each_row(x.ids):
        return x
    duplicate = copy(x)
    duplicate.order = None
    return duplicate
