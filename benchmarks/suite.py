"""Time the engine against a plain per-pair implementation of the same formulas, side by side in one
process.

    python benchmarks/suite.py                      # 15 representations of 2,000 samples and 256
    features python benchmarks/suite.py --samples 500 --features 64 --count 6 --rtd

CPU seconds of one thread (all thread pools pinned to one). Every measure is timed alone, with
everything it needs, and the whole list together. The twin is timed on a few pairs between the
stages of the engine and scaled to all pairs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import per_pair
from data import model_like
from threadpoolctl import threadpool_limits

import resemblance as rs


def cpu_seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


class Timing(NamedTuple):
    """CPU seconds of a measure for all pairs, by the twin and by the engine, and the largest
    relative difference of their values."""

    theirs: float
    ours: float
    error: float


def main() -> None:
    options = parse()
    reps = model_like(options.samples, options.features, options.count)
    measures = [m for m in rs.preset("default") if options.rtd or m.name != "rtd"]
    pairs = list(combinations(reps, 2))
    print(
        f"{options.samples} samples, {options.features} features, {len(reps)} representations, "
        f"{len(pairs)} pairs"
    )
    print(
        f"{'CPU seconds':28s}{'per pair':>12s}{'engine':>12s}{'ratio':>9s}   largest relative "
        "difference"
    )
    theirs_total = 0.0
    for m in [m for m in measures if m.name in options.only] or measures:
        timing = timed(m, reps, pairs, options)
        theirs_total += timing.theirs * (10 if m.name == "rtd" else 1)
        note = "  (other subset)" if m.name == "rtd" else ""
        print(
            f"{line_of(m.name, timing.theirs, timing.ours)}   {timing.error:.1e}{note}", flush=True
        )
    if not options.only:
        together = cpu_seconds(lambda: rs.compare(reps, measures=measures, progress=False))
        print(line_of("all together", theirs_total, together))


def timed(
    m: rs.Measure,
    reps: Mapping[str, np.ndarray],
    pairs: Sequence[tuple[str, str]],
    options: argparse.Namespace,
) -> Timing:
    """Time a measure alone, for all pairs; its twin on some of them."""
    twin = getattr(per_pair, m.name)
    single = m.where(trials=1) if m.name == "rtd" else m  # the twin computes one trial
    some = [pairs[i] for i in np.linspace(0, len(pairs) - 1, options.pairs).astype(int)]
    values = list[float]()
    theirs = sum(
        cpu_seconds(lambda x=x, y=y: values.append(twin(reps[x], reps[y]))) for x, y in some
    )
    results = list[rs.Comparison]()
    ours = min(
        cpu_seconds(lambda: results.append(rs.compare(reps, measures=[single], progress=False)))
        for _ in range(options.repeats)
    )
    names = list(reps)
    found = [results[-1][single.spec][names.index(x), names.index(y)] for x, y in some]
    error = max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(found, values, strict=True))
    return Timing(theirs * len(pairs) / len(some), ours, error)


def line_of(name: str, theirs: float, ours: float) -> str:
    return f"{name:28s}{theirs:12.2f}{ours:12.2f}{theirs / ours:8.1f}x"


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
    parser.add_argument("--rtd", action="store_true", help="include RTD (minutes)")
    parser.add_argument("--only", nargs="*", default=[], help="names of measures to time")
    return parser.parse_args()


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main()
