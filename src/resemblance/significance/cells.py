"""Samples of cells, of which those that share models are drawn together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..rng import generator

Cells: TypeAlias = Mapping[Any, Mapping[str, float]]  # by cell, the ranks of measures in it
Strata: TypeAlias = Mapping[Any, str]  # by cell, the models that it is of

MISSING = -1.0  # in place of a rank, while cells are put in order


class Sampled(NamedTuple):
    """The cells of a group, those of a stratum next to each other.

    ``ranks``: (cells, measures), NaN where a measure has none. ``starts``: the first cell of every
    stratum. ``times``: how often each cell is in each sample, (draws, cells).
    """

    ranks: np.ndarray
    starts: np.ndarray
    times: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The cells of every stratum, (strata,)."""
        return np.diff(np.append(self.starts, len(self.ranks)))

    @property
    def is_complete(self) -> bool:
        """Whether every measure has a rank in every cell."""
        return not np.isnan(self.ranks).any()

    def of_strata(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values of cells over every stratum, (strata, ...)."""
        sums: np.ndarray = np.add.reduceat(values, self.starts, axis=0)
        return sums


def sampled(
    group: str, cells: Cells, names: Sequence[str], strata: Strata | None, *, draws: int, seed: int
) -> Sampled:
    """Draw as many cells of every stratum as it has, with replacement.

    Cells that are the only ones of their models share a stratum; if there is just one, it joins
    the smallest other. Cells of a stratum are put in the order of their ranks, so that nothing
    depends on their names, or on the order in which they come. Raises
    ``ValueError`` for a cell without a stratum.
    """
    stratum = _pooled({cell: _stratum(group, cell, strata) for cell in cells})
    rows = sorted((stratum[cell], _row(ranks, names)) for cell, ranks in cells.items())
    ranks = np.array([row for _, row in rows])
    sizes = Counter(name for name, _ in rows)
    times = [
        generator(seed, "places", group, name).multinomial(n, np.full(n, 1 / n), size=draws)
        for name, n in sizes.items()
    ]
    starts = np.cumsum([0, *sizes.values()])[:-1]
    missing = np.where(ranks == MISSING, np.nan, ranks)
    return Sampled(missing, starts, np.concatenate(times, axis=1).astype(float))


def _row(ranks: Mapping[str, float], names: Sequence[str]) -> tuple[float, ...]:
    """The ranks of a cell, which can be ordered also where some are missing."""
    values = (ranks.get(name, np.nan) for name in names)
    return tuple(MISSING if np.isnan(value) else float(value) for value in values)


def _stratum(group: str, cell: Hashable, strata: Strata | None) -> str:
    if strata is None:
        return ""
    if cell not in strata:
        raise ValueError(
            f"places: strata of {group!r} lack the cell {cell!r}; name its models, or leave the "
            "group out of strata"
        )
    return strata[cell]


def _pooled(strata: Strata) -> dict[Hashable, str]:
    """Return strata without any of a single cell, unless there is only one cell."""
    sizes = Counter(strata.values())
    lone = sorted(name for name, n in sizes.items() if n == 1)
    larger = sorted((n, name) for name, n in sizes.items() if n > 1)
    host = larger[0][1] if len(lone) == 1 and larger else lone[0] if lone else ""
    return {cell: host if name in lone else name for cell, name in strata.items()}
