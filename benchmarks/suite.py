"""Time the engine against a plain per-pair implementation of the same formulas, side by side in one
process, or against another checkout of this library.

    python benchmarks/suite.py                      # 15 of 2,000 samples and 256 features
    python benchmarks/suite.py --samples 500 --features 64 --count 6 --rtd
    python benchmarks/suite.py --against ../other   # the same list, by the code in ../other/src
    python benchmarks/suite.py --samples 1000 --features 128 --count 10 --pairs 2 --write

CPU seconds of one thread (all thread pools pinned to one). Every measure is timed alone, with
everything it needs, and the whole list together. The twin is timed on a few pairs between the
stages of the engine and scaled to all pairs. A single pair is a call with two fresh arrays, in
milliseconds, next to the twin.

``--write`` keeps the times in ``benchmarks/suite.csv`` for the table of the README
(``docs/write_tables.py``), with the seconds that ReSi's code took for two arrays of 200 x 32, as
recorded with its values, and ours for the same arrays.

``--against`` times the list of all 24, RTD included, by turns in processes of their own, as no
process can import both; the fastest run of each counts.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import per_pair
from bench import cpu_seconds, model_like
from threadpoolctl import threadpool_limits

import resemblance as rs

HERE = Path(__file__).resolve().parent.parent


class Timing(NamedTuple):
    """CPU seconds of a measure for all pairs, by the twin and by the engine, those of a single pair
    by both, and the largest relative difference of their values."""

    theirs: float
    ours: float
    single_theirs: float
    single_ours: float
    error: float


def main() -> None:
    options = parse()
    if options.listed:
        print(cpu_seconds_of_list(options), rs.__file__)
    elif options.against:
        compare_checkouts(options)
    else:
        compare_with_twin(options)


def compare_with_twin(options: argparse.Namespace) -> None:
    """Print a line for each measure, and one for all together."""
    reps = model_like(options.samples, options.features, options.count)
    measures = [m for m in rs.preset("default") if options.rtd or m.name != "rtd"]
    pairs = list(combinations(reps, 2))
    print(
        f"{options.samples} samples, {options.features} features, {len(reps)} representations, "
        f"{len(pairs)} pairs"
    )
    print(
        f"{'CPU seconds':28s}{'per pair':>12s}{'engine':>12s}{'ratio':>9s}"
        f"{'single pair, ms':>30s}{'ratio':>9s}   largest relative difference"
    )
    theirs_total = 0.0
    rows = list[tuple[object, ...]]()
    for m in [m for m in measures if m.name in options.only] or measures:
        timing = timed(m, reps, pairs, options)
        theirs_total += timing.theirs * (10 if m.name == "rtd" else 1)
        note = "  (other subset)" if m.name == "rtd" else ""
        print(line_of(m.name, timing.theirs, timing.ours) + single_of(timing) + note, flush=True)
        rows.append((m.name, timing.theirs, timing.ours, *authors_and_ours(m, options)))
    if not options.only:
        together = cpu_seconds(lambda: rs.compare(reps, measures=measures, progress=False))
        print(line_of("all together", theirs_total, together))
        rows.append(("all together", theirs_total, together, "", ""))
    if options.write:
        words = [rs.__version__, options.samples, options.features, len(reps), len(pairs)]
        with (HERE / "benchmarks" / "suite.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("version", "samples", "features", "representations", "pairs"))
            writer.writerow(words)
            writer.writerow(("measure", "per_pair", "engine", "authors_single", "engine_single"))
            writer.writerows(rows)


def authors_and_ours(m: rs.Measure, options: argparse.Namespace) -> tuple[float, float]:
    """Return the seconds for one pair that are recorded of ReSi's code, and ours in CPU seconds."""
    folder, case = HERE / "tests" / "golden", "pub02_rot_noise"
    recorded = json.loads((folder / "resi_outputs.json").read_text())["measures"][case]["measures"]
    theirs = next(e["R_Rp"]["seconds"] for e in recorded.values() if e["paper_name"] == m.label)
    with np.load(folder / "resi_inputs.npz") as arrays:
        x, y = arrays[f"{case}__R"], arrays[f"{case}__Rp"]
    return theirs, fastest(m, x, y, options)


def timed(
    m: rs.Measure,
    reps: Mapping[str, np.ndarray],
    pairs: Sequence[tuple[str, str]],
    options: argparse.Namespace,
) -> Timing:
    """Time a measure alone, for all pairs and for one; its twin on some of them."""
    twin = getattr(per_pair, m.name)
    single = m.where(trials=1) if m.name == "rtd" else m  # the twin computes one trial
    some = [pairs[i] for i in np.linspace(0, len(pairs) - 1, options.pairs).astype(int)]
    values = list[float]()
    theirs = [cpu_seconds(lambda x=x, y=y: values.append(twin(reps[x], reps[y]))) for x, y in some]
    results = list[rs.Comparison]()
    ours = min(
        cpu_seconds(lambda: results.append(rs.compare(reps, measures=[single], progress=False)))
        for _ in range(options.repeats)
    )
    names = list(reps)
    found = [results[-1][single.spec][names.index(x), names.index(y)] for x, y in some]
    error = max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(found, values, strict=True))
    calls = [fastest(f, reps[some[0][0]], reps[some[0][1]], options) for f in (twin, single)]
    return Timing(sum(theirs) * len(pairs) / len(some), ours, *calls, error)


def fastest(
    function: Callable[..., object], x: np.ndarray, y: np.ndarray, options: argparse.Namespace
) -> float:
    """CPU seconds of the fastest of a few calls: of as many as a second has room for."""
    first = cpu_seconds(lambda: function(x, y))
    calls = max(options.repeats, min(10, int(1 / first)))
    return min(cpu_seconds(lambda: function(x, y)) for _ in range(calls))


def compare_checkouts(options: argparse.Namespace) -> None:
    """Print the CPU seconds of the whole list by another checkout and by this one, and the
    ratio."""
    seconds = list[tuple[float, float]]()
    for turn in range(options.repeats):
        theirs, ours = (seconds_elsewhere(Path(c), options) for c in (options.against, HERE))
        seconds.append((theirs, ours))
        print(f"run {turn + 1}: {theirs:.2f} by {options.against}, {ours:.2f} here", flush=True)
    theirs, ours = (min(column) for column in zip(*seconds))
    print(line_of("all 24, against another", theirs, ours))


def seconds_elsewhere(checkout: Path, options: argparse.Namespace) -> float:
    """CPU seconds of the list by the code of a checkout, in a process of its own."""
    if not (checkout / "src" / "resemblance").is_dir():
        raise SystemExit(f"{checkout} holds no src/resemblance: give the root of a checkout")
    numbers = {"samples": options.samples, "features": options.features, "count": options.count}
    arguments = [word for name, n in numbers.items() for word in (f"--{name}", str(n))]
    path = os.pathsep.join([str(checkout.resolve() / "src"), str(HERE / "benchmarks")])
    process = subprocess.run(
        [sys.executable, __file__, "--listed", *arguments, "--only", *options.only],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, file = process.stdout.split(maxsplit=1)
    if not Path(file.strip()).is_relative_to(checkout.resolve()):
        raise SystemExit(f"the code that ran is {file.strip()}, not that of {checkout}")
    return float(seconds)


def cpu_seconds_of_list(options: argparse.Namespace) -> float:
    """CPU seconds of all pairs and measures, RTD included, by the library that this process
    imports; compiled code is ready before."""
    measures = [m for m in rs.preset("default") if not options.only or m.name in options.only]
    few = model_like(600, 8, 2)
    rs.compare(few, measures=measures, progress=False)
    reps = model_like(options.samples, options.features, options.count)
    return cpu_seconds(lambda: rs.compare(reps, measures=measures, progress=False))


def line_of(name: str, theirs: float, ours: float) -> str:
    return f"{name:28s}{theirs:12.2f}{ours:12.2f}{theirs / ours:8.1f}x"


def single_of(timing: Timing) -> str:
    theirs, ours = timing.single_theirs, timing.single_ours
    columns = f"{1e3 * theirs:18.2f}{1e3 * ours:12.2f}{theirs / ours:8.2f}x"
    return f"{columns}   {timing.error:.1e}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--count", type=int, default=15, help="number of representations")
    parser.add_argument(
        "--pairs", type=int, default=3, help="pairs on which the per-pair twin is timed"
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="runs of the engine of which the fastest counts"
    )
    parser.add_argument("--write", action="store_true", help="write benchmarks/suite.csv")
    parser.add_argument("--rtd", action="store_true", help="include RTD (minutes)")
    parser.add_argument("--only", nargs="*", default=[], help="names of measures to time")
    parser.add_argument("--against", help="another checkout of this library to time by turns")
    parser.add_argument("--listed", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    warnings.simplefilter("ignore", getattr(rs, "UninformativeWarning", UserWarning))
    with threadpool_limits(limits=1):
        main()
