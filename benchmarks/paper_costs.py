"""Measure what one pair costs each of the 24 measures at the sizes of the ReSi paper.

    python benchmarks/paper_costs.py           # measure what is missing, then write the tables
    python benchmarks/paper_costs.py --table   # only write docs/_generated/paper_costs.md
    python benchmarks/paper_costs.py --fit     # print COSTS of resemblance.suites.resi.costs

Every measure is timed alone, in a process of its own, on one thread: CPU seconds of a pair of which
nothing is known yet, and again when the views of both are there. Half of the difference is the cost
of a representation. The peak is that of the resident memory, less what the process had before. For
what is not measured, or takes longer than ``SECONDS`` or more memory than ``BYTES``, the tables
give what the powers in ``resemblance.suites.resi.costs`` make of smaller sizes, and say so.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import cpu_seconds, grid, machine, model_like, store, stored
from scipy.optimize import lsq_linear

import resemblance as rs
from resemblance.suites.resi.costs import COSTS, ROWS, WIDE, WIDTH, Law

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "paper_costs.csv"
TABLES = ROOT / "docs" / "_generated" / "paper_costs.md"
MADE = "<!-- made by benchmarks/paper_costs.py; change the code, not this file -->"
SECONDS, BYTES = 300, 12 * 2**30  # the limits of one process
NOISE = 5e-4  # seconds below which nothing is known of a time
TICKS = 0.3  # seconds that are long enough for the clock
RSM = ("cka", "distance_correlation", "rsa", "rsm_norm_difference")
NAMES = tuple(m.name for m in rs.preset("default"))
SMALL = 0.3e9  # bytes below which a peak may be that of what the process did before
FOLDED = (*RSM, "magnitude_difference", "concentricity_difference")


class Place(NamedTuple):
    """A size of the paper: where it occurs, samples, features, and measures (all if empty)."""

    title: str
    rows: int
    width: int
    measures: tuple[str, ...] = ()


PLACES = (
    Place("Cora", 1000, 64),
    Place("SST-2", 872, 768),
    Place("ImageNet-100", 5000, 512),
    Place("Flickr, arXiv", 10_000, 256),
    Place("CIFAR-100", 10_000, 512),
    Place("MNLI", 9815, 768),
    Place("smaller maps", 1000, 12_544, FOLDED),
    Place("maps of ResNet18", 5000, 25_088, FOLDED),
    Place("maps of ResNet101", 5000, 100_352, FOLDED),
)


class Cost(NamedTuple):
    """What was measured: seconds of a representation and of a pair, and bytes at the peak.

    ``outcome`` is "measured", "time" or "memory": which limit was not enough.
    """

    measure: str
    rows: int
    width: int
    representation: float
    pair: float
    peak: int
    outcome: str


def arrays(place: Place, folder: Path) -> list[Path]:
    """Write two representations of a size, in float32 like those of a study, once."""
    files = [folder / f"{place.rows}-{place.width}-{i}.npy" for i in range(2)]
    if not all(file.exists() for file in files):
        both = wide(place) if place.width > place.rows else model_like(place.rows, place.width, 2)
        for file, array in zip(files, both.values(), strict=True):
            np.save(file, array.astype(np.float32))
    return files


def wide(place: Place) -> dict[str, np.ndarray]:
    """Return two representations with more features than samples, made without a decomposition."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((place.rows, 32), dtype=np.float32)
    both = {}
    for i in range(2):
        hidden = latent @ rng.standard_normal((32, place.width), dtype=np.float32)
        hidden += rng.standard_normal(hidden.shape, dtype=np.float32)
        both[f"model {i}"] = np.maximum(hidden, 0)
    return both


def measure_here(name: str, files: list[str]) -> None:
    """Print the CPU seconds of a cold and of a warm pair, and the bytes of the peak."""
    m = rs.get_measure(name)
    small = model_like(60, 8, 2)
    m.evaluate(*(rs.Representation(array) for array in small.values()))  # what is compiled
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cold, warm = list[float](), list[float]()
    while sum(cold) < TICKS and len(cold) < 20:  # the clock of a process may be coarse
        x, y = map(rs.Representation, files)
        cold.append(cpu_seconds(lambda: m.evaluate(x, y)))  # noqa: B023
    while sum(warm) < TICKS and len(warm) < 100:
        warm.append(cpu_seconds(lambda: m.evaluate(x, y)))
    pair = sum(warm) / len(warm)
    whole = sum(cold) / len(cold)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(max(0.0, whole - pair) / 2, pair, 1024 * peak)


def cost_of(name: str, place: Place, files: list[Path]) -> Cost:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--one", name, *map(str, files)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    result = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True)
    if result.returncode == 0:
        representation, pair, peak = map(float, result.stdout.split())
        return Cost(name, place.rows, place.width, representation, pair, int(peak), "measured")
    outcome = "time" if result.returncode < 0 else "memory"
    if outcome == "memory" and "MemoryError" not in result.stderr:
        raise SystemExit(result.stderr)
    return Cost(name, place.rows, place.width, np.nan, np.nan, 0, outcome)


def measure_missing(widths: list[int]) -> None:
    """Measure what is not stored yet; every cost is written as soon as it is known."""
    costs = stored(MEASURED, Cost)
    known = {cost[:3] for cost in costs}
    where = MEASURED.read_text().partition("\n")[0].strip("# ") if costs else machine()
    with tempfile.TemporaryDirectory() as folder:
        for place in (p for p in PLACES if p.width in widths):
            for name in (n for n in NAMES if n in (place.measures or NAMES)):
                if (name, place.rows, place.width) not in known:
                    costs.append(cost_of(name, place, arrays(place, Path(folder))))
                    store(MEASURED, costs, where)
                    print(*costs[-1], flush=True)


# ----------------------------------------------------------------------------------- the cost laws


def fitted() -> str:
    """Return the table of costs: powers of samples and features, fitted to what was measured."""
    lines = []
    for name in NAMES:
        measured = [c for c in stored(MEASURED, Cost) if c.outcome == "measured"]
        narrow = [c for c in measured if c.measure == name and c.width <= c.rows]
        one = law([(c.rows, c.width, c.representation) for c in narrow])
        pair = law([(c.rows, c.width, c.pair) for c in narrow])
        wider = [c for c in measured if c.measure == name and c.width > c.rows]
        lines.append(f'    "{name}": Cost({one!r}, {pair!r}{reduction(one, wider)}),')
    return "\n".join(lines)


def law(points: list[tuple[int, int, float]]) -> Law:
    """Fit the logarithms of what is above the noise of the clock, long times above all."""
    points = [point for point in points if point[2] >= NOISE]
    if len(points) < 3:
        return Law(float(f"{max([seconds for *_, seconds in points] or [NOISE]):.2g}"), 0.0, 0.0)
    seconds = np.array([seconds for *_, seconds in points])
    sizes = [[1, np.log(n / ROWS), np.log(d / WIDTH)] for n, d, _ in points]
    weights = np.clip(np.sqrt(2 * seconds), 0.3, 1)
    bounds = ([-np.inf, 0, 0], [np.inf, 3, 3])
    powers = lsq_linear(sizes * weights[:, None], np.log(seconds) * weights, bounds).x
    return Law(float(f"{np.exp(powers[0]):.2g}"), *(round(float(p), 1) for p in powers[1:]))


def reduction(one: Law, wide: list[Cost]) -> str:
    """Return the law of what more features than samples cost besides, as text.

    It has the powers of n^2 d products, or of n d sums, and goes through the largest size.
    """
    if not wide:
        return ""
    c = max(wide, key=lambda c: c.rows * c.width)
    powers = (2.0 if c.measure.startswith(RSM) else 1.0, 1.0)
    more = max(NOISE, c.representation - one.at(c.rows, c.rows))
    seconds = more / Law(1.0, *powers).at(c.rows, c.width, WIDE)
    return f", {Law(float(f'{seconds:.2g}'), *powers)!r}"


# -------------------------------------------------------------------------------------- the tables


def tables() -> str:
    """Return the tables of seconds and of memory, in Markdown."""
    known = {(c.measure, c.rows, c.width): c for c in stored(MEASURED, Cost)}
    header = ["measure", *(f"{p.title}: {p.rows:,} x {p.width:,}" for p in PLACES)]
    seconds, memory = [], []
    for name in NAMES:
        costs = [known.get((name, place.rows, place.width)) for place in PLACES]
        seconds.append(
            [f"`{name}`", *(spent(name, *both) for both in zip(PLACES, costs, strict=True))]
        )
        if any(c is not None and (c.peak >= SMALL or c.outcome == "memory") for c in costs):
            memory.append([f"`{name}`", *map(taken, costs)])
    made_on = MEASURED.read_text().splitlines()[0].removeprefix("# ")
    about = (
        f"CPU seconds of a representation / of a pair, each measure alone ({made_on}; one thread). "
        "In italics: not measured but extrapolated from smaller sizes."
    )
    peaks = (
        "Peak memory of one pair in GB, of the measures that take at least 0.3 GB somewhere "
        "(–: less; empty: not measured)."
    )
    return "\n\n".join((MADE, about, grid(header, seconds), peaks, grid(header, memory))) + "\n"


def spent(name: str, place: Place, cost: Cost | None) -> str:
    if cost is not None and cost.outcome == "measured":
        return f"{brief(cost.representation)} / {brief(cost.pair)}"
    if name not in (place.measures or NAMES):
        return ""
    one, pair = (COSTS[name].seconds(*place[1:3], *counts) for counts in ((1, 0), (0, 1)))
    return f"*{brief(one)} / {brief(pair)}*"


def taken(cost: Cost | None) -> str:
    if cost is None or cost.outcome == "time":
        return ""
    if cost.outcome == "memory":
        return f"> {BYTES / 1e9:.0f}"
    return f"{cost.peak / 1e9:.1f}" if cost.peak >= SMALL else "–"


def brief(seconds: float) -> str:
    """Write seconds in two digits, without those that the clock cannot tell."""
    if seconds < 0.005:
        return "0"
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--widths", type=int, nargs="*", help="measure only at these widths")
    parser.add_argument("--fit", action="store_true", help="measure nothing, print the laws")
    parser.add_argument("--one", nargs=3, metavar=("MEASURE", "X", "Y"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure_here(options.one[0], options.one[1:])
        return
    if options.fit:
        print(fitted())
        return
    if not options.table:
        measure_missing(options.widths or [place.width for place in PLACES])
    TABLES.write_text(tables(), "utf-8")


if __name__ == "__main__":
    main()
