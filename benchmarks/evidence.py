"""Time inference: 999 permutations of each measure by calls, reordered intermediates and exact
moments, and a map of layers with evidence against the values alone.

    python benchmarks/evidence.py                     # all, then write the tables
    python benchmarks/evidence.py --samples 500 --features 64 --layers 6  # smaller; writes nothing
    python benchmarks/evidence.py --table             # only write docs/_generated/evidence-costs.md

Times are CPU seconds of one thread in one process. As many permutations as fit into a few seconds
are timed, and the time is scaled to 999. For a call, the permuted Y is a new array, while X keeps
its intermediates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import (
    GENERATED,
    command,
    cpu_seconds,
    document,
    grid,
    measured,
    model_like,
    store,
    stored,
)

import resemblance as rs
from resemblance.data.representation import Representation
from resemblance.inference.moments import exact_null, moment_profile
from resemblance.inference.reorder import permute_representation
from resemblance.inference.tasks import DRAWS_PER_CHUNK

MEASURED = Path(__file__).with_name("evidence_costs.csv")
TABLES = GENERATED / "evidence-costs.md"
ORDERS = 999
# Timing stops after this many seconds, and the time is scaled to 999 permutations.
SECONDS = 2
WARM = 150  # samples of the untimed pair that loads and compiles everything
SAMPLES, FEATURES = 2000, 256
LAYERS, MAP_SAMPLES, MAP_FEATURES = 24, 300, 64
MEASURES = (
    "cka",
    "cka[estimator=debiased]",
    "cka[kernel=rbf]",
    "procrustes",
    "mean_cca",
    "svcca",
    "linear_regression",
    "rsa",
    "distance_correlation",
    "mutual_knn",
    "mka",
    "cknna[estimator=biased]",
)
OF_MAPS = ("cka[estimator=debiased]", "rsa", "mutual_knn")


class Cost(NamedTuple):
    """Three times in CPU seconds; the third is NaN if it does not exist.

    For a measure: 999 permutations by calls, 999 permutations by reordered intermediates, and exact
    moments; ``first_timed`` and ``second_timed`` are the numbers of timed permutations. For a map
    of layers: values, chance levels with p-values, and intervals; ``first_timed`` and
    ``second_timed`` are the numbers of rows and columns.
    """

    kind: str
    name: str
    samples: int
    features: int
    first: float
    second: float
    third: float
    first_timed: int
    second_timed: int


def repeated(
    function: Callable[[np.ndarray], object], orders: Iterable[np.ndarray]
) -> tuple[float, int]:
    """Time calls for permutations; return the seconds scaled to all permutations, and the number of
    timed calls.

    Timing stops after a few seconds, but not before three calls.
    """
    seconds, count = 0.0, 0
    for order in orders:
        seconds += cpu_seconds(lambda: function(order))  # noqa: B023
        count += 1
        if seconds > SECONDS and count >= 3:
            break
    return seconds / count * ORDERS, count


def of_orders(spec: str, x: np.ndarray, y: np.ndarray) -> Cost:
    """Time 999 permutations of a measure in three ways. Compilation happens before and is not
    timed."""
    m, rng = rs.get_measure(spec), np.random.default_rng(0)
    orders = [rng.permutation(len(x)) for _ in range(ORDERS)]
    small_pair = [Representation(z[:WARM]) for z in (x, y)]
    m.evaluate(*small_pair)
    a, b = Representation(x), Representation(y)
    value = float(m.evaluate(a, b))  # caches the intermediates, which the value needs anyway
    calls = repeated(lambda order: m.evaluate(a, Representation(y[order])), orders)
    m.evaluate(a, permute_representation(b, orders[0]))
    reordered = repeated(lambda order: m.evaluate(a, permute_representation(b, order)), orders)
    exact = np.nan
    if m.product is not None:
        n = len(x)
        exact_null(m, value, *(moment_profile(z, m, "left") for z in small_pair), WARM)
        exact = cpu_seconds(
            lambda: exact_null(
                m, value, moment_profile(a, m, "left"), moment_profile(b, m, "right"), n
            )
        )
    seconds = calls[0], reordered[0], exact
    return Cost("orders", spec, *x.shape, *seconds, calls[1], reordered[1])


def of_map(spec: str, layers: int, n: int, d: int) -> Cost:
    """Time a map of layers: the values, the chance levels and p-values, and the intervals."""
    reps = list(model_like(n, d, 2 * layers).values())
    sides = [dict(zip(map(str, range(layers)), half)) for half in (reps[:layers], reps[layers:])]
    small_sides = [{name: next(iter(side.values()))[:WARM]} for name, side in zip("xy", sides)]
    rs.evidence(*small_sides, measures=[spec], progress=False)
    values = cpu_seconds(lambda: rs.compare(*sides, measures=[spec], progress=False))
    seconds_at: dict[int, float] = {}
    start_time = time.process_time()

    def note(n_done: int, _: int) -> None:
        seconds_at.setdefault(n_done, time.process_time() - start_time)

    rs.evidence(*sides, measures=[spec], progress=note)
    # Every pair adds steps for its value, then for its chunks of draws, then for its interval.
    steps = layers**2, layers**2 * (1 + math.ceil(ORDERS / DRAWS_PER_CHUNK)), max(seconds_at)
    ends = [
        min(elapsed for n_done, elapsed in seconds_at.items() if n_done >= step) for step in steps
    ]
    return Cost("map", spec, n, d, values, ends[1] - ends[0], ends[2] - ends[1], layers, layers)


# -------------------------------------------------------------------------------------- the tables


def tables(costs: list[Cost]) -> str:
    """Return the tables of costs, in Markdown."""
    orders = [cost for cost in costs if cost.kind == "orders"]
    maps = [cost for cost in costs if cost.kind == "map"]
    intro = (
        f"CPU seconds of {ORDERS} permutations of one pair, n = {orders[0].samples:,}, d = "
        f"{orders[0].features}, one thread. Calls and reordered intermediates were timed on some "
        "orders and "
        "scaled; in a call X keeps its intermediates and Y is a new array. Exact moments are "
        "those of both representations and the pair, beyond the value."
    )
    header = [
        "measure",
        "calls",
        "reordered intermediates",
        "ratio",
        "exact moments",
        "orders timed",
    ]
    lines = []
    for c in orders:
        calls, reordered, exact = seconds_of(c)
        counts = f"{c.first_timed}, {c.second_timed}"
        lines.append([f"`{c.name}`", calls, reordered, f"{c.first / c.second:.1f}", exact, counts])
    map_intro = (
        f"CPU seconds of a map of {maps[0].first_timed} x {maps[0].first_timed} layers, n = "
        f"{maps[0].samples:,}, d = {maps[0].features}, one thread: what `evidence` adds to the "
        "values."
    )
    map_header = ["measure", "values", "chance and p-values", "intervals"]
    rows = [[f"`{c.name}`", *seconds_of(c)] for c in maps]
    return document(__file__, intro, grid(header, lines), map_intro, grid(map_header, rows))


def seconds_of(cost: Cost) -> list[str]:
    """Return the three times with two or three digits, and a dash for NaN."""
    times = cost.first, cost.second, cost.third
    return ["–" if math.isnan(t) else f"{t:.0f}" if t >= 100 else f"{t:.2g}" for t in times]


def main(
    samples: int = SAMPLES, features: int = FEATURES, layers: int = LAYERS, table: bool = False
) -> None:
    """Measure unless only the tables are wanted, and write the tables. Measurements with other
    sizes than the defaults are not stored."""
    if not table:
        x, y = model_like(samples, features, 2).values()
        cases = {("orders", spec): partial(of_orders, spec, x, y) for spec in MEASURES}
        for spec in OF_MAPS:
            cases["map", spec] = partial(of_map, spec, layers, MAP_SAMPLES, MAP_FEATURES)
        costs = measured(cases)
        if (samples, features, layers) == (SAMPLES, FEATURES, LAYERS):
            store(MEASURED, costs)
    TABLES.write_text(tables(stored(MEASURED, Cost)), encoding="utf-8")


if __name__ == "__main__":
    command(__doc__, main)
