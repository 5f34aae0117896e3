"""What measures cost: CPU seconds measured once for some sizes, and what follows for others."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ..measure import Measure
from ..rng import generator

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

    samples: Sequence[int]
    features: Sequence[int]
    shares: Sequence[Sequence[Share]]

    def seconds(self, specs: Set[str], n: int, d: float) -> float:
        """Return the seconds of these measures together for n samples and d features.

        What two of them share is counted once. Between the sizes that were measured, and beyond,
        logarithms are linear.
        """
        totals = [_spent(shares, specs) for shares in self.shares]
        if not any(totals):
            return 0.0
        table = np.log(np.maximum(totals, LEAST)).reshape(len(self.samples), -1)
        by_samples = [_continued(self.features, row.tolist(), d, FEATURES) for row in table]
        return math.exp(_continued(self.samples, by_samples, n, SAMPLES))


def _spent(shares: Iterable[Share], specs: Set[str]) -> float:
    return sum(share.seconds for share in shares if specs & share.measures)


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

    ``names``: the specifications of the measures. ``yardstick``: the seconds of :func:`yardstick`
    there.
    """

    machine: str
    yardstick: float
    names: frozenset[str]
    grids: Mapping[Kind, CostGrid]

    def seconds(self, kind: Kind, measures: Iterable[Measure], n: int, d: float) -> float:
        """Return the seconds of this kind that measures take together, as far as they are known."""
        specs = set(filter(None, map(self.name_of, measures)))
        return self.grids[kind].seconds(specs, n, d) if kind in self.grids else 0.0

    def name_of(self, measure: Measure) -> str | None:
        """Return the name under which the costs of a measure are known: its specification, or else
        that without parameters; None for a measure that is not in the catalogue."""
        return next((name for name in (measure.spec, measure.name) if name in self.names), None)


@lru_cache(maxsize=1)
def cost_table() -> CostTable:
    """Return what was measured."""
    stored = json.loads(MEASURED.read_text("utf-8"))
    names, grids = stored["measures"], {}
    for kind, grid in stored["grids"].items():
        shares = [
            [Share(seconds, frozenset(names[i] for i in users)) for seconds, users in at]
            for at in grid["shares"]
        ]
        grids[kind] = CostGrid(grid["samples"], grid["features"], shares)
    return CostTable(stored["machine"], stored["yardstick"], frozenset(names), grids)


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
