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
# What is paid for: the views of a representation, the views and the value of a pair, and the value
# of a pair among many computed together.
Kind = Literal["views", "pair views", "values", "together"]
# The largest powers of samples and features beyond the sizes that were measured: no measure is
# steeper, only caches make it look so.
SAMPLES, FEATURES = 2.1, 3.0
QUADRATIC = 2.0  # the power of samples of what is computed in blocks of them
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

        What two of them share is counted once. With more features than samples, and than were
        measured, seconds grow with the features as those of the fewest samples do.
        """
        totals = [_spent(shares, specs) for shares in self.shares]
        if not any(totals):
            return 0.0
        count, by_samples = len(self.features), []
        for i, samples in enumerate(self.samples):
            row, narrow = totals[i * count : (i + 1) * count], max(samples, self.features[-1])
            seconds = _continued(self.features, row, min(d, narrow), FEATURES)
            by_samples.append(seconds * self._growth(totals[:count], narrow, max(d, narrow)))
        return _continued(self.samples, by_samples, n, SAMPLES)

    def _growth(self, fewest: Sequence[float], narrow: float, wide: float) -> float:
        """Return how many times as long ``wide`` as ``narrow`` features take of few samples."""
        low, high = (_continued(self.features, fewest, d, FEATURES) for d in (narrow, wide))
        return high / low if low else wide / narrow


def _spent(shares: Iterable[Share], specs: Set[str]) -> float:
    return sum(share.seconds for share in shares if specs & share.measures)


def _continued(
    sizes: Sequence[int], seconds: Sequence[float], size: float, steepest: float
) -> float:
    """Return the seconds at a size from those at the sizes next to it.

    They are a power of the size, or a straight line where one of the two costs nothing; beyond the
    largest size, whichever of both is more: a sum of powers grows at least as fast.
    """
    right = min(max(int(np.searchsorted(sizes, size)), 1), len(sizes) - 1)
    left = right - 1
    low, high = seconds[left], seconds[right]
    share = (size - sizes[left]) / (sizes[right] - sizes[left])
    line = max(0.0, low + max(share, 0.0) * (high - low))
    if not low or not high:
        return line
    slope = math.log(high / low) / math.log(sizes[right] / sizes[left])
    if not sizes[0] <= size <= sizes[-1]:
        slope = min(max(slope, 0.0), steepest)
    power = (low if share < 1 else high) * (size / sizes[left if share < 1 else right]) ** slope
    return max(power, line) if share > 1 else float(power)


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
        """Return the seconds of this kind that measures take together, as far as they are known.

        Those that are computed in blocks of samples cost what the plain function does for as many
        samples as it takes, times the number of pairs of samples.
        """
        by_size: dict[int, set[str]] = {}
        for m in measures:
            plain = m.all_pairs.above if m.all_pairs and m.takes_blocks(n) else n
            by_size.setdefault(plain or n, set()).update(filter(None, [self.name_of(m)]))
        grid = self.grids[kind]
        return sum((n / m) ** QUADRATIC * grid.seconds(of, m, d) for m, of in by_size.items())

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


def seconds_of(
    measures: Iterable[Measure],
    n: int,
    d: float,
    *,
    pairs: float = 1,
    representations: float | None = None,
    both_ways: bool = False,
) -> float | None:
    """Return the CPU seconds that measures take together for pairs of n samples and d features, on
    the machine of the table of costs; None if it lacks one of the measures.

    ``representations``: by default as few as have so many pairs. ``both_ways``: a measure that is
    not symmetric takes each pair in both orders.
    """
    table, measures = cost_table(), list(measures)
    if None in map(table.name_of, measures):
        return None
    if representations is None:
        representations = math.ceil((1 + math.sqrt(1 + 8 * pairs)) / 2)
    turned = [m for m in measures if both_ways and not m.symmetric]
    of_a_pair = sum(table.seconds("values", some, n, d) for some in (measures, turned))
    of_a_pair += table.seconds("pair views", measures, n, d)
    return representations * table.seconds("views", measures, n, d) + pairs * of_a_pair


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
