"""What evidence will take, from a few values of random data of the same size."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from ..measure import Measure
from ..representation import Representation, Undefined
from ..rng import generator
from ..significance.orders import design_of
from .exact_pairs import MOST_SAMPLES
from .intervals import CHUNK as PARTS_OF_STEP
from .intervals import kind_of, steps_of
from .moments import profile
from .reorder import Permutation
from .reordered_views import moves_of, reordered

MOST_TRIED = 1000  # samples of the data that are timed; more are extrapolated
TRIES = 3  # permuted values that are timed


class EvidenceSeconds(NamedTuple):
    """CPU seconds of the evidence of one measure.

    ``usual``: with exact moments where the measure has them, else with all pairs permuted.
    ``permuted``: with all pairs permuted, as where one sample dominates each of them.
    """

    usual: float
    permuted: float


def evidence_seconds(
    measure: Measure, samples: int, features: int, representations: int, draws: int, *, free: bool
) -> EvidenceSeconds | None:
    """Return what evidence of all pairs will take; None for a measure without a value on noise.

    ``free``: all orders of the samples are allowed, so that moments can be exact. Expect a factor
    of two.
    """
    sizes = [min(samples, MOST_TRIED)]
    if samples > MOST_TRIED:
        sizes = [MOST_TRIED // 2, MOST_TRIED]
    try:
        tries = [_tried(measure, n, features) for n in sizes]
    except (Undefined, ValueError):
        return None
    value, moments = (_extrapolated(times, sizes, samples) for times in zip(*tries))
    pairs = representations * (representations - 1) / (2 if measure.symmetric else 1)
    design = design_of(samples, draws=draws)
    kind = kind_of(measure, design, features)
    parts = 1 if kind == "left_out" else steps_of(kind, design) * PARTS_OF_STEP
    intervals = pairs * parts * value
    permuted = pairs * draws * value + intervals
    if measure.product is None or not free or samples > MOST_SAMPLES:
        return EvidenceSeconds(permuted, permuted)
    return EvidenceSeconds(representations * moments + intervals, permuted)


def _tried(measure: Measure, n: int, d: int) -> tuple[float, float]:
    """Return the seconds of a permuted value, and of the moments of one representation."""
    random = generator(0, "seconds", n, d)
    x, y = (Representation(random.standard_normal((n, d))) for _ in range(2))
    moves, start, first = moves_of(measure), 0.0, True
    for _ in range(1 + TRIES):
        measure.evaluate(x, reordered(y, Permutation(random.permutation(n)), moves))
        start, first = (time.process_time(), False) if first else (start, first)
    value = (time.process_time() - start) / TRIES
    start = time.process_time()
    if measure.product:
        profile(x, measure, "left")
    return value, time.process_time() - start


def _extrapolated(times: tuple[float, ...], sizes: list[int], n: int) -> float:
    """Return the time for n samples, by a power of their number."""
    if len(sizes) == 1:
        return times[0]
    small, large = (max(t, 1e-7) for t in times)
    power = float(np.clip(math.log2(large / small), 1, 3))
    return large * (n / sizes[-1]) ** power
