"""What measures cost: CPU seconds measured once for some sizes, and what follows for others."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .measure import Measure
from .rng import generator

MEASURED = Path(__file__).with_name("costs.json")  # written by benchmarks/costs.py
# What is paid for: the views of a representation, the views and the value of a pair, the value of
# a pair among many computed together, and both for what is computed in blocks of samples.
Kind = Literal["views", "pair views", "values", "together", "block views", "block values"]
# The largest powers of samples and features beyond the sizes that were measured: no measure is
# steeper, only caches make it look so.
SAMPLES, FEATURES = 2.1, 3.0
QUADRATIC = 2.0  # that of samples where only one number of them was measured
LEAST = 1e-9  # seconds, so that there is a logarithm
REPEATS = 5


class Share(NamedTuple):
    """Seconds that are spent once if any of these measures is computed."""

    seconds: float
    measures: frozenset[str]


class CostGrid(NamedTuple):
    """The shares at each of some numbers of samples and, the fastest to change, of features."""

    samples: tuple[int, ...]
    features: tuple[int, ...]
    shares: tuple[tuple[Share, ...], ...]

    @property
    def measures(self) -> frozenset[str]:
        """The specifications of the measures that it knows."""
        return frozenset().union(*(share.measures for at in self.shares for share in at))

    def seconds(self, specs: frozenset[str], n: int, d: float) -> float:
        """Return the seconds of these measures together for n samples and d features.

        What two of them share is counted once. Between the sizes that were measured, and beyond,
        logarithms are linear.
        """
        totals = [_spent(at, specs) for at in self.shares]
        if not any(totals):
            return 0.0
        table = np.log(np.maximum(totals, LEAST)).reshape(len(self.samples), -1)
        by_samples = [_continued(self.features, row.tolist(), d, FEATURES) for row in table]
        return math.exp(_continued(self.samples, by_samples, n, SAMPLES))


def _spent(shares: Iterable[Share], specs: frozenset[str]) -> float:
    return sum(share.seconds for share in shares if not specs.isdisjoint(share.measures))


def _continued(
    sizes: Sequence[int], logarithms: Sequence[float], size: float, steepest: float
) -> float:
    """Return the logarithm at a size: piecewise linear in that of the size, also outside."""
    if len(sizes) == 1:
        return logarithms[0] + QUADRATIC * math.log(size / sizes[0])
    right = min(max(int(np.searchsorted(sizes, size)), 1), len(sizes) - 1)
    left = right - 1
    slope = (logarithms[right] - logarithms[left]) / math.log(sizes[right] / sizes[left])
    if not sizes[0] <= size <= sizes[-1]:
        slope = min(max(slope, 0.0), steepest)
    nearest = left if size < sizes[right] else right
    return logarithms[nearest] + slope * math.log(size / sizes[nearest])


class CostTable(NamedTuple):
    """What was measured, on one machine.

    ``yardstick``: the seconds of :func:`yardstick` there.
    """

    machine: str
    yardstick: float
    grids: dict[Kind, CostGrid]

    def seconds(self, kind: Kind, specs: Iterable[str], n: int, d: float) -> float:
        """Return the seconds of this kind that measures take together."""
        grid = self.grids.get(kind)
        return grid.seconds(frozenset(specs), n, d) if grid else 0.0

    def name_of(self, measure: Measure) -> str | None:
        """Return the name under which the costs of a measure are known: its specification, or else
        that without parameters; None for a measure that is not in the catalogue."""
        names = (measure.spec, measure.name)
        return next((name for name in names if name in self.grids["values"].measures), None)


@lru_cache(maxsize=1)
def cost_table() -> CostTable:
    """Return what was measured."""
    stored = json.loads(MEASURED.read_text("utf-8"))
    names = stored["measures"]
    grids = {kind: _grid(names, **entries) for kind, entries in stored["grids"].items()}
    return CostTable(stored["machine"], stored["yardstick"], grids)


def _grid(
    names: Sequence[str],
    samples: list[int],
    features: list[int],
    shares: list[list[tuple[float, list[int]]]],
) -> CostGrid:
    at = (
        tuple(Share(s, frozenset(names[i] for i in users)) for s, users in place)
        for place in shares
    )
    return CostGrid(tuple(samples), tuple(features), tuple(at))


def yardstick() -> float:
    """Return the CPU seconds that this machine takes for some work of the kinds that measures do.

    Products of matrices, sorting and exponentials, the fastest of a few runs: about 0.05 s in all.
    """
    noise = generator(0, "yardstick").standard_normal((300, 300))
    with threadpool_limits(limits=1):
        return min(_timed(noise) for _ in range(REPEATS))


def _timed(noise: np.ndarray) -> float:
    start = time.process_time()
    for _ in range(3):
        noise @ noise
    np.sort(noise, axis=None)
    np.exp(noise)
    return time.process_time() - start


@lru_cache(maxsize=1)
def slowness() -> float:
    """Return how many seconds this machine takes for one of that on which costs were measured."""
    return yardstick() / cost_table().yardstick
