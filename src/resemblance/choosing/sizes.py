"""What measures cost, and what they return by chance, for so many samples and features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..claims import CHANCE
from ..compare import compare
from ..comparison import Comparison
from ..engine.costs import seconds_of
from ..engine.scores import CAVEAT
from ..engine.view_sizes import pair_bytes
from ..inputs import TRANSPOSED
from ..measure import Measure
from ..rng import generator

DRAWN = 3  # independent Gaussian pairs, where chance has no closed form
PATIENCE = 2.0  # seconds for all measures of a pair, by the table of costs: others are not drawn
LARGEST = 2**23  # numbers of a representation that is drawn: 64 MB


class AtSize(NamedTuple):
    """What is known of a measure for n samples and d features.

    ``seconds``: CPU time of one pair, views of both sides included, on the machine of the table of
    costs; None where it is not known. ``memory``: bytes of its views of a pair. ``chance``: its
    mean value for unrelated Gaussian representations, None where it is not known; ``source`` says
    how it was computed. ``closeness``: how far that is on the way from the least to the most
    similar value, None for a measure without both. ``caveat``: why a value says little.
    """

    seconds: float | None
    memory: int | None
    chance: float | None = None
    source: str = ""
    closeness: float | None = None
    caveat: str = ""


def at_size(measures: Sequence[Measure], n: int, d: int) -> dict[str, AtSize]:
    """Return what is known of measures for n samples and d features, by specification.

    Chance is that of Gaussian representations: of one pair where it has a closed form, over all
    orders of the samples, and the mean over three pairs elsewhere, or one where three take too
    long. Measures that take too long for one have none.
    """
    known = {m.spec: AtSize(seconds_of([m], n, d), pair_bytes(m, n, d, d)) for m in measures}
    for drawn in _drawn(affordable(measures, n, d), n, d):
        for spec, (chance, source, caveat) in drawn.items():
            near = closeness(next(m for m in measures if m.spec == spec), chance)
            known[spec] = AtSize(*known[spec][:2], chance, source, near, caveat)
    return known


def affordable(measures: Iterable[Measure], n: int, d: int) -> list[Measure]:
    """Return the measures of which pairs can be drawn: as many as take no longer than that in all,
    the cheapest first, and none where a representation would be too large."""
    if n * d > LARGEST:
        return []
    costs = {m: seconds_of([m], n, d) for m in measures if not m.extra}  # what is compiled first
    chosen: list[Measure] = []
    for m in sorted((m for m, s in costs.items() if s is not None), key=lambda m: costs[m] or 0):
        if (seconds_of([*chosen, m], n, d) or 0) > PATIENCE:
            break
        chosen.append(m)
    return chosen


def closeness(measure: Measure, chance: float | None) -> float | None:
    """Return how far a value is on the way from the least to the most similar one, 0 to 1.

    Of a correlation, 0 is the least similar. None without a value, or where differences have no
    largest one.
    """
    low, high = measure.range
    if chance is None or not math.isfinite(high):
        return None
    share = chance / high if measure.larger_is_more_similar else 1 - (chance - low) / (high - low)
    return min(max(share, 0.0), 1.0)


def _drawn(
    measures: Sequence[Measure], n: int, d: int
) -> Iterable[Mapping[str, tuple[float, str, str]]]:
    """Yield the chance level of measures, how it was computed, and the caveat of a pair."""
    if not measures:
        return
    first = _compared(measures, n, d, 0)
    closed = {e.measure: float(e.value) for e in first.diagnostics if e.name == CHANCE}
    caveats = {e.measure: str(e.value) for e in first.diagnostics if e.name == CAVEAT}
    caveats = {spec: caveat.removesuffix(TRANSPOSED) for spec, caveat in caveats.items()}
    yield {s: (chance, "closed form", caveats.get(s, "")) for s, chance in closed.items()}
    open_ones = [m for m in measures if m.spec not in closed]
    is_cheap = DRAWN * (seconds_of(open_ones, n, d) or 0) <= PATIENCE
    draws = range(1, DRAWN if open_ones and is_cheap else 1)
    others = [_compared(open_ones, n, d, i) for i in draws]
    source = f"mean of {DRAWN} Gaussian pairs" if others else "one Gaussian pair"
    yield {
        m.spec: (mean, source, caveats.get(m.spec, ""))
        for m in open_ones
        if math.isfinite(mean := _mean(m.spec, [first, *others]))
    }


def _compared(measures: Sequence[Measure], n: int, d: int, draw: int) -> Comparison:
    rng = generator(0, "recommend", f"{n} x {d}", str(draw))
    x, y = rng.standard_normal((2, n, d))
    return compare({"x": x}, {"y": y}, measures=measures, progress=False)


def _mean(spec: str, comparisons: Iterable[Comparison]) -> float:
    return float(np.mean([c.values[spec][0, 0] for c in comparisons]))
