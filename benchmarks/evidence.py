"""Time inference: 999 orders of each measure by calls, by carried views and by exact moments, and a
map of layers with evidence against the values alone.

    python benchmarks/evidence.py                     # all, then write the tables
    python benchmarks/evidence.py --samples 500 --features 64 --layers 6  # smaller; writes nothing
    python benchmarks/evidence.py --table             # only write docs/_generated/evidence-costs.md

CPU seconds of one thread in one process. Orders are timed on as many as fit a few seconds and
scaled to 999; a call gets Y in another order as a new array, while X keeps its views.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import cpu_seconds, grid, model_like, store, stored
from threadpoolctl import threadpool_limits
from validity_tables import MADE

import resemblance as rs
from resemblance.inference.moments import exact_null, profile
from resemblance.inference.reordered_views import moves_of, reordered
from resemblance.inference.tasks import CHUNK
from resemblance.representation import Representation

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "evidence_costs.csv"
TABLES = ROOT / "docs" / "_generated" / "evidence-costs.md"
ORDERS = 999
SECONDS = 2  # of calls, and of carried views, after which the rest of 999 is scaled
WARM = 150  # samples of a pair that is not timed, in which everything is loaded and compiled
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
    "cknna[estimator=centered]",
)
OF_MAPS = ("cka[estimator=debiased]", "rsa", "mutual_knn")


class Cost(NamedTuple):
    """CPU seconds of three things, of which the last may not exist (NaN).

    Of a measure: 999 orders by calls and by carried views, and exact moments; and how many orders
    were timed of the first two. Of a map: its values, its chance levels and p-values, its
    intervals; and how many rows and columns it has.
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


class Repeated(NamedTuple):
    """The seconds of one call of many, and how many were timed."""

    seconds: float
    timed: int


def repeated(function: Callable[[np.ndarray], object], orders: Iterable[np.ndarray]) -> Repeated:
    """Time calls for orders, at least three, until they took a few seconds."""
    spent, count = 0.0, 0
    for order in orders:
        spent += cpu_seconds(lambda: function(order))  # noqa: B023
        count += 1
        if spent > SECONDS and count >= 3:
            break
    return Repeated(spent / count, count)


def of_orders(spec: str, x: np.ndarray, y: np.ndarray) -> Cost:
    """Time 999 orders of a measure in three ways; what is compiled is compiled before."""
    m, rng = rs.get_measure(spec), np.random.default_rng(0)
    orders = [rng.permutation(len(x)) for _ in range(ORDERS)]
    few = [Representation(side[:WARM]) for side in (x, y)]
    m.evaluate(*few)
    moves = moves_of(m)
    a, b = Representation(x), Representation(y)
    value = float(m.evaluate(a, b))  # the views of both, which the value needs anyway
    calls = repeated(lambda order: m.evaluate(a, Representation(y[order])), orders)
    m.evaluate(a, reordered(b, orders[0], moves))
    carried = repeated(lambda order: m.evaluate(a, reordered(b, order, moves)), orders)
    exact = np.nan
    if m.product is not None:
        n = len(x)
        exact_null(m, value, *(profile(side, m, "left") for side in few), WARM)
        exact = cpu_seconds(
            lambda: exact_null(m, value, profile(a, m, "left"), profile(b, m, "right"), n)
        )
    seconds = calls.seconds * ORDERS, carried.seconds * ORDERS, exact
    return Cost("orders", spec, *x.shape, *seconds, calls.timed, carried.timed)


def of_map(spec: str, layers: int, n: int, d: int) -> Cost:
    """Time the values of a map of layers, their chance and p-values, and their intervals."""
    reps = list(model_like(n, d, 2 * layers).values())
    sides = [dict(zip(map(str, range(layers)), half)) for half in (reps[:layers], reps[layers:])]
    few = [{name: next(iter(side.values()))[:WARM]} for name, side in zip("xy", sides)]
    rs.evidence(*few, measures=[spec], progress=False)
    values = cpu_seconds(lambda: rs.compare(*sides, measures=[spec], progress=False))
    seconds_at: dict[int, float] = {}
    start = time.process_time()

    def note(done: int, _: int) -> None:
        seconds_at.setdefault(done, time.process_time() - start)

    rs.evidence(*sides, measures=[spec], progress=note)
    # Each pair counts for its value, then for each chunk of draws, then for its interval.
    steps = layers**2, layers**2 * (1 + math.ceil(ORDERS / CHUNK)), max(seconds_at)
    ends = [min(at for done, at in seconds_at.items() if done >= step) for step in steps]
    return Cost("map", spec, n, d, values, ends[1] - ends[0], ends[2] - ends[1], layers, layers)


# -------------------------------------------------------------------------------------- the tables


def tables(costs: list[Cost]) -> str:
    """Return the tables of costs, in Markdown."""
    orders = [cost for cost in costs if cost.kind == "orders"]
    maps = [cost for cost in costs if cost.kind == "map"]
    about = (
        f"CPU seconds of {ORDERS} orders of one pair, n = {orders[0].samples:,}, d = "
        f"{orders[0].features}, one thread. Calls and carried views were timed on some orders and "
        "scaled; in a call X keeps its views and Y is a new array. Exact moments are those of both "
        "representations and the pair, beyond the value."
    )
    header = ["measure", "calls", "carried views", "ratio", "exact moments", "orders timed"]
    more = (
        f"CPU seconds of a map of {maps[0].first_timed} x {maps[0].first_timed} layers, n = "
        f"{maps[0].samples:,}, d = {maps[0].features}, one thread: what `evidence` adds to the "
        "values."
    )
    of_map = ["measure", "values", "chance and p-values", "intervals"]
    parts = (MADE.replace("validity", "evidence"), about, grid(header, list(map(line, orders))))
    return "\n\n".join((*parts, more, grid(of_map, list(map(map_line, maps))))) + "\n"


def line(cost: Cost) -> list[str]:
    """Return the cells of a measure."""
    seconds = [brief(cost.first), brief(cost.second)]
    exact = "–" if np.isnan(cost.third) else brief(cost.third)
    ratio = f"{cost.first / cost.second:.1f}"
    return [f"`{cost.name}`", *seconds, ratio, exact, f"{cost.first_timed}, {cost.second_timed}"]


def map_line(cost: Cost) -> list[str]:
    """Return the cells of a map."""
    return [f"`{cost.name}`", brief(cost.first), brief(cost.second), brief(cost.third)]


def brief(seconds: float) -> str:
    """Write seconds in two or three digits."""
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.table:
        x, y = model_like(options.samples, options.features, 2).values()
        costs = []
        with threadpool_limits(1):
            for spec in MEASURES:
                costs.append(of_orders(spec, x, y))
                print(*line(costs[-1]), flush=True)
            for spec in OF_MAPS:
                costs.append(of_map(spec, options.layers, MAP_SAMPLES, MAP_FEATURES))
                print(*map_line(costs[-1]), flush=True)
        if (options.samples, options.features, options.layers) == (SAMPLES, FEATURES, LAYERS):
            store(MEASURED, costs)
    if MEASURED.exists():
        TABLES.write_text(tables(stored(MEASURED, Cost)), encoding="utf-8")


if __name__ == "__main__":
    main()
