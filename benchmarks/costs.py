"""Measure what views and pairs cost every measure, from which ``rs.plan`` tells what work takes.

    python benchmarks/costs.py              # measure all (twenty minutes), check, write tables
    python benchmarks/costs.py --small      # few sizes, into a temporary file: tries the script
    python benchmarks/costs.py --check      # only repeat the checks, predicted against measured
    python benchmarks/costs.py --table      # measure nothing; only write the tables of docs/

CPU seconds of one thread, each the minimum of at least two. At every size all measures run on one
pair of representations, cold and warm, and a clock in the place of the dictionary of views tells
what each view takes without the views that it asks for, and which measures need it. So the cost of
any list of measures is a sum over what they need, each part once. What would take more than
``LONGEST`` seconds at a size is continued from two smaller numbers of samples by a power.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import costs_tables
import numpy as np
from bench import cpu_seconds, machine, model_like, options
from threadpoolctl import threadpool_limits
from view_clock import Ledger, timed_pair

import resemblance as rs
from resemblance.engine.costs import MEASURED, cost_table, yardstick
from resemblance.engine.costs import SAMPLES as STEEPEST
from resemblance.measure import Measure

SAMPLES, FEATURES = (250, 500, 501, 1000, 4000), (16, 128, 768, 3072)  # RTD draws subsets of 500
SMALL_SAMPLES, SMALL_FEATURES = (120, 240), (8, 32)
MANY = 8  # representations on each side, where pairs are computed together
LONGEST = 20.0  # seconds
MORE = (
    "cka[kernel=rbf]", "cka[kernel=laplace]", "cka[estimator=debiased]", "rsa[compare=pearson]",
    "mutual_knn[corrected=True]",
)  # fmt: skip
CHECKS = (
    (100, 8, 60, ("cka", "procrustes", "jaccard", "rsa")),
    (600, 64, 8, ("default",)),
    (2000, 256, 6, ("cka", "svcca", "rsa", "jaccard", "procrustes")),
    (1500, 512, 3, ("default",)),
    (300, 32, 40, ("cka", "procrustes", "mutual_knn")),
    (5000, 512, 2, ("rsa", "distance_correlation")),
    (512, 4096, 4, ("default",)),
    (200, 8192, 4, ("cka", "procrustes", "rsa", "jaccard")),
)  # samples, features, representations, measures
KINDS = ("views", "pair views", "values")


class Size(NamedTuple):
    """What was measured at a size: seconds by kind and part, and who needs each part."""

    ledger: Ledger
    together: dict[str, float]
    continued: dict[str, dict[str, float]]  # seconds by kind, of measures that were left out


def measures() -> list[Measure]:
    """Return the measures of the catalogue and of the presets, and some with other parameters."""
    presets = [m for name in ("default", "resi") for m in rs.preset(name)]
    more = map(rs.get_measure, MORE)
    return list(dict.fromkeys([*rs.list_measures(), *presets, *more]))


def arrays(n: int, d: int, is_output: bool = False) -> list[np.ndarray]:
    """Return two representations of one latent space, of full rank, with decaying spectra."""
    rng = np.random.default_rng(0)
    latent = 2 * rng.standard_normal((10, 32))[rng.integers(10, size=n)]
    latent += rng.standard_normal((n, 32))
    both = []
    for noise in (0.02, 0.1):
        hidden = np.tanh(latent @ rng.standard_normal((32, d)) / 8) * np.arange(1, d + 1) ** -0.5
        array = hidden @ rng.standard_normal((d, d)) / np.sqrt(d)
        both.append(array + noise * rng.standard_normal((n, d)) / np.sqrt(np.arange(1, d + 1)))
    if is_output:
        both = [np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in both]
    return both


# --------------------------------------------------------------------------------------- measuring


def measured(
    n: int, d: int, before: Mapping[int, Size], narrower: Size | None, some: Sequence[Measure]
) -> Size:
    """Measure at a size; ``before`` has those of fewer samples and as many features, ``narrower``
    that of as many samples and fewer features."""
    continued = {m.spec: costs for m in some if (costs := left_out(m.spec, n, before))}
    ledger, together, undefined = Ledger(), dict[str, float](), set[str]()
    for is_output in (False, True):
        chosen = [m for m in some if m.spec not in continued]
        chosen = [m for m in chosen if (m.family == "outputs") == is_output]
        both = arrays(n, d, is_output)
        start = time.process_time()
        for _ in range(5):
            undefined |= timed_pair([labelled(m, n) for m in chosen], both, ledger)
            if time.process_time() - start > 1:  # enough for small sizes, the least for large ones
                break
        chosen = [m for m in chosen if m.spec not in undefined]
        together |= {m.spec: s for m in chosen if (s := seconds_together(m, both)) is not None}
    print(
        f"n={n} d={d}: {time.process_time():.0f} s so far; left out: {[*continued, *undefined]}",
        flush=True,
    )
    if narrower:  # that have no value with as many features cost what they do with fewer
        continued |= {spec: alone(narrower, spec) for spec in undefined}
    return Size(ledger, together, continued)


def labelled(m: Measure, n: int) -> Measure:
    """Return the measure with labels, if it needs them."""
    return m.where(labels=tuple(i % 2 for i in range(n))) if "labels" in m.defaults else m


def left_out(spec: str, n: int, before: Mapping[int, Size]) -> dict[str, float]:
    """Return what a measure costs by kind, if that is too long to be measured: continued by the
    power of samples between the last two sizes."""
    if len(before) < 2:
        return {}
    (fewer, smaller), (last, size) = list(before.items())[-2:]
    less, grown = alone(smaller, spec), dict(alone(size, spec))
    for kind, seconds in grown.items():
        power = math.log(max(seconds, 1e-6) / max(less[kind], 1e-6)) / math.log(last / fewer)
        grown[kind] = seconds * (n / last) ** min(max(power, 0), STEEPEST)
    return grown if total(grown) > LONGEST else {}


def alone(size: Size, spec: str) -> dict[str, float]:
    """Return the seconds of a measure by kind."""
    if spec in size.continued:
        return size.continued[spec]
    return {
        kind: sum(s for s, users in size.ledger.shares(kind) if spec in users) for kind in KINDS
    }


def total(costs: dict[str, float]) -> float:
    return 2 * costs["views"] + costs["pair views"] + costs["values"]


def seconds_together(m: Measure, both: Sequence[np.ndarray]) -> float | None:
    """Return the seconds of a pair among many that are computed together, if they can be."""
    if m.all_pairs is None or m.all_pairs.above is not None:
        return None
    xs, ys = ([rs.Representation(array) for _ in range(MANY)] for array in both)
    m.all_pairs(xs, ys)  # the views
    return cpu_seconds(lambda: m.all_pairs(xs, ys), 2, 5) / MANY**2


# ----------------------------------------------------------------------------------------- storing


def measure_all(samples: Sequence[int], features: Sequence[int]) -> dict[str, Any]:
    """Return everything that is stored, but the checks."""
    some = measures()
    for both in (False, True):  # what is compiled or imported at the first call
        chosen = [labelled(m, 120) for m in some if (m.family == "outputs") == both]
        timed_pair(chosen, arrays(120, 8, both), Ledger())
    sizes = {(n, d): None for n in samples for d in features}
    for n, d in sizes:
        before = {m: sizes[m, d] for m in samples if m < n}
        narrower = [sizes[n, e] for e in features if e < d]
        sizes[n, d] = measured(n, d, before, narrower[-1] if narrower else None, some)
    specs = [m.spec for m in some]
    grids = {
        kind: grid(samples, features, shares_at(list(sizes.values()), kind), specs)
        for kind in KINDS
    }
    at = [[(s, [spec]) for spec, s in size.together.items()] for size in sizes.values()]
    grids["together"] = grid(samples, features, at, specs)
    names = {
        f"{n} x {d}": sorted(size.continued) for (n, d), size in sizes.items() if size.continued
    }
    entries = {"machine": machine(), "yardstick": brief(yardstick())}
    return entries | {"measures": specs, "continued": names, "grids": grids}


def shares_at(sizes: Sequence[Size], kind: str) -> list[list[tuple[float, list[str]]]]:
    """Return for each size the seconds of a kind with those who need them."""
    places = []
    for size in sizes:
        shares = [(s, sorted(users)) for s, users in size.ledger.shares(kind)]
        shares += [(costs[kind], [spec]) for spec, costs in size.continued.items()]
        places.append(shares)
    return places


def grid(
    samples: Sequence[int], features: Sequence[int], at: Any, specs: Sequence[str]
) -> dict[str, Any]:
    shares = [
        [(brief(s), [specs.index(u) for u in users]) for s, users in place if s > 1e-7]
        for place in at
    ]
    return {"samples": list(samples), "features": list(features), "shares": shares}


def brief(seconds: float) -> float:
    return float(f"{seconds:.3g}")


def store(content: dict[str, Any], path: Path) -> None:
    """Write a file whose lines are the sizes, so that it can be read and compared."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    path.write_text(text.replace("]]],[[", "]]],\n[[").replace('},"', '},\n"') + "\n", "utf-8")
    cost_table.cache_clear()


# ---------------------------------------------------------------------------------------- checking


def checked() -> Iterator[tuple[int, int, int, str, float, float]]:
    """Yield what was predicted for sizes that are not in the table, and what it took."""
    for n, d, count, specs in CHECKS:
        reps = model_like(n, d, count)
        predicted = rs.plan(reps, measures=specs).seconds
        taken = cpu_seconds(lambda: rs.compare(reps, measures=specs, progress=False), 2, 5)  # noqa: B023
        print(
            f"n={n} d={d} M={count} {specs}: predicted {predicted:.2f} s, took {taken:.2f} s",
            flush=True,
        )
        yield n, d, count, ", ".join(specs), brief(predicted), brief(taken)


def main() -> None:
    chosen = options(__doc__, "table", "check", "small")
    if chosen.small:
        with tempfile.TemporaryDirectory() as folder:
            content = measure_all(SMALL_SAMPLES, SMALL_FEATURES)
            store(content, Path(folder) / MEASURED.name)
            print((Path(folder) / MEASURED.name).stat().st_size, "bytes")
        return
    if not chosen.table and not chosen.check:
        store(measure_all(SAMPLES, FEATURES), MEASURED)
    if not chosen.table:
        content = json.loads(MEASURED.read_text("utf-8"))
        store(content | {"checks": list(checked())}, MEASURED)
    costs_tables.write()


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main()
