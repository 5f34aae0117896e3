"""Peak memory of comparing large representations, under a byte budget or by each measure.

    python benchmarks/memory.py --samples 10000 --memory 2GB
    python benchmarks/memory.py --each memory_50000.csv --samples 50000 --count 2

The former prints the peak resident memory of the process, less what it had before the comparison.
The latter compares two representations by each measure of the catalogue in a process of its own
that may take ``LIMIT`` bytes, and writes a row of the table as soon as it has it; what the table
has already is not measured again.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import resemblance as rs

LIMIT = 16 * 10**9
VARIANTS = (
    "cka[kernel=rbf]",
    "cka[kernel=laplace]",
    "cka[estimator=debiased,kernel=rbf]",
    "cka[kernel=rbf,pairs=all]",
    "cka[kernel=cosine]",
    "rsm_norm_difference[norm=spectral]",
    "rsa[compare=pearson]",
    "rsa[compare=cosine]",
    "rsa[compare=kendall]",
    "rsa[rdm=euclidean]",
    "imd[estimator=stochastic]",
    "soft_matching[units=unit]",
    "uniformity_difference[rows=raw]",
)
COLUMNS = ("measure", "samples", "features", "cpu_seconds", "peak_bytes", "value", "failure")


def representations(samples: int, features: int, count: int) -> dict[str, np.ndarray]:
    """Return non-linear views of one latent space."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((samples, 20))
    return {str(i): np.tanh(latent @ rng.standard_normal((20, features))) for i in range(count)}


def peak() -> int:
    """Return the largest resident memory of the process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def compare_all(options: argparse.Namespace) -> None:
    """Print what a comparison of all representations takes."""
    reps = representations(options.samples, options.features, options.count)
    rs.compare({k: v[:50] for k, v in reps.items()}, measures=options.measures, progress=False)
    before, start = peak(), time.perf_counter()
    result = rs.compare(reps, measures=options.measures, memory=options.memory, progress=False)
    print(result)
    seconds = time.perf_counter() - start
    print(f"before {before / 1e9:.2f} GB, peak {peak() / 1e9:.2f} GB, {seconds:.0f} s wall")


def measured(spec: str, options: argparse.Namespace) -> rs.Measure:
    """Return a measure, with labels if it needs them."""
    if spec != "accuracy_difference":
        return rs.get_measure(spec)
    return rs.get_measure(spec).where(labels=tuple(i % 10 for i in range(options.samples)))


def measure_here(spec: str, options: argparse.Namespace) -> None:
    """Print CPU seconds, peak, value and failure of one measure for one pair."""
    m, reps = measured(spec, options), representations(options.samples, options.features, 2)
    x, y = reps.values()
    few = max(60, m.min_samples)
    if spec != "accuracy_difference":
        m.evaluate(rs.Representation(x[:few]), rs.Representation(y[:few]))  # imports, compilation
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    start = time.process_time()
    result = rs.compare({"x": x}, {"y": y}, measures=[m], progress=False)
    seconds = time.process_time() - start
    failure = result.failures[0].reason if result.failures else ""
    value = np.asarray(result[m]).item()
    csv.writer(sys.stdout).writerow([f"{seconds:.1f}", peak(), repr(value), failure])


def measure_each(options: argparse.Namespace) -> None:
    """Append the measures that are not in the table, each measured in a process of its own."""
    table = Path(options.each)
    if not table.exists():
        table.write_text(",".join(COLUMNS) + "\n")
    with table.open() as stream:
        known = {row["measure"] for row in csv.DictReader(stream)}
    specs = options.measures or [*(m.spec for m in rs.list_measures()), *VARIANTS]
    for spec in (s for s in specs if s not in known):
        command = [sys.executable, __file__, "--one", spec, f"--samples={options.samples}"]
        command += [f"--features={options.features}"]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        done = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True)
        row = next(csv.reader(done.stdout.splitlines()), None)
        if row is None:  # killed, or an error of another kind
            row = ["", "", "", (done.stderr.splitlines() or [f"exit {done.returncode}"])[-1]]
        with table.open("a", newline="") as stream:
            line = [spec, options.samples, options.features, *row]
            csv.writer(stream, lineterminator="\n").writerow(line)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--each", metavar="TABLE", help="measure each measure by itself")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--measures", nargs="*")
    options = parser.parse_args()
    if options.one:
        measure_here(options.one, options)
    elif options.each:
        measure_each(options)
    else:
        usual = [m.name for m in rs.preset("default") if m.name != "rtd"]
        options.measures = options.measures or usual
        compare_all(options)


if __name__ == "__main__":
    main()
