"""Peak memory of comparing large representations, of each measure alone, and of very many.

    python benchmarks/memory.py budget --samples 10000 --memory 2GB
    python benchmarks/memory.py each memory_50000.csv --samples 50000
    python benchmarks/memory.py table                     # only write the table of docs/how-big.md
    python benchmarks/memory.py many --count 10000        # of 200 x 32: 50 million pairs
    python benchmarks/memory.py many --count 1000 --kill

``budget`` compares a few representations under a byte budget. ``each`` compares two representations
by every measure of the catalogue. Every measure runs in a separate process with at most ``LIMIT``
bytes, and its row is written at once; measures that the table already contains are not measured
again. ``table`` writes the page's table from the rows of 50,000 samples. ``many`` compares by
linear CKA into a file; with ``--kill`` the process is killed once half of the pairs are in the
file, and a second process resumes.
"""

from __future__ import annotations

import csv
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import GENERATED, alone, clocked, command, grid, measured, peak

import resemblance as rs
from resemblance.checks.data import with_repeats
from resemblance.comparison.store import ScoreFile

LIMIT = 16 * 10**9
LARGE = Path(__file__).with_name("memory_50000.csv")
ABOUT = (
    "CPU seconds of one thread, on AMD EPYC, 2 cores, 24 GiB; Python 3.11.7, NumPy 2.4.6: one pair "
    "of 50,000 x 64."
)
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


class Taken(NamedTuple):
    """Time and memory of a measure for one pair, as text; ``failure`` is the reason for a missing
    value."""

    measure: str
    samples: int
    features: int
    cpu_seconds: str
    peak_bytes: str
    value: str
    failure: str


def representations(samples: int, features: int, count: int) -> dict[str, np.ndarray]:
    """Return ``count`` non-linear maps of one latent space."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((samples, 20))
    return {str(i): np.tanh(latent @ rng.standard_normal((20, features))) for i in range(count)}


def budget(
    samples: int = 10_000,
    features: int = 64,
    count: int = 3,
    memory: str = "2GB",
    measures: tuple[str, ...] = (),
) -> None:
    """Print the peak memory of a comparison, and the peak before the comparison."""
    reps = representations(samples, features, count)
    names = measures or [m.name for m in rs.preset("default") if m.name != "rtd"]
    rs.compare({k: v[:50] for k, v in reps.items()}, measures=names, progress=False)
    start_peak, start_time = peak(), time.perf_counter()
    print(rs.compare(reps, measures=names, memory=memory, progress=False))
    seconds = time.perf_counter() - start_time
    print(f"before {start_peak / 1e9:.2f} GB, peak {peak() / 1e9:.2f} GB, {seconds:.0f} s wall")


# ------------------------------------------------------------------------------------ each measure


def each(
    table: str, samples: int = 10_000, features: int = 64, measures: tuple[str, ...] = ()
) -> None:
    """Measure the measures that are missing in a table, and append their rows."""
    specs = measures or [*(m.spec for m in rs.list_measures()), *VARIANTS]
    cases = {(spec,): partial(taken, spec, samples, features) for spec in specs}
    measured(cases, Path(table), Taken)


def taken(spec: str, samples: int, features: int) -> Taken:
    """Return the time and memory of a measure, from a separate process."""
    process = alone(__file__, "one", spec, "--samples", samples, "--features", features)
    row = next(csv.reader(process.stdout.splitlines()), None)
    if row is None:  # the process was killed or failed
        row = ["", "", "", (process.stderr.splitlines() or [f"exit {process.returncode}"])[-1]]
    return Taken(spec, samples, features, *row)


def one(spec: str, samples: int = 10_000, features: int = 64) -> None:
    """Print CPU seconds, peak memory, value and failure of one measure for one pair."""
    m, n_small = rs.get_measure(spec), max(60, rs.get_measure(spec).min_samples)
    x, y = representations(samples, features, 2).values()
    if spec == "accuracy_difference":
        m = m.with_parameters(labels=tuple(i % 10 for i in range(samples)))
    else:
        small_pair = (with_repeats(m, rs.Representation(z[:n_small])) for z in (x, y))
        m.evaluate(*small_pair)  # imports, compilation
    x, y = (with_repeats(m, z) for z in (x, y))
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    seconds, result = clocked(lambda: rs.compare({"x": x}, {"y": y}, measures=[m], progress=False))
    failure = result.failures[0].reason if result.failures else ""
    value = np.asarray(result[m]).item()
    csv.writer(sys.stdout).writerow([f"{seconds:.1f}", peak(), repr(value), failure])


def table() -> None:
    """Write the table of the time and memory of every measure for one pair of 50,000 samples."""
    with LARGE.open() as stream:
        rows = sorted(csv.DictReader(stream), key=lambda row: row["measure"])
    lines = [
        [
            f"`{row['measure']}`",
            row["failure"] or f"{float(row['cpu_seconds']):.1f}",
            f"{int(row['peak_bytes'] or 0) / 1e9:.2f}",
        ]
        for row in rows
    ]
    text = grid(["measure", "CPU seconds", "peak memory of the process, GB"], lines)
    notice = "<!-- made by benchmarks/memory.py; change the code, not this file -->"
    (GENERATED / "how-big-large.md").write_text(f"{notice}\n\n{ABOUT}\n\n{text}\n", "utf-8")


# --------------------------------------------------------------------------------------- very many


def many(
    count: int = 1000,
    samples: int = 200,
    features: int = 32,
    memory: str = "2GB",
    kill: bool = False,
    save: str = "",
) -> None:
    """Compare many small representations in a separate process, and report the file of scores.

    The separate process prints its CPU seconds, the peak of its private memory, and its peak memory
    including pages of temporary files. ``save`` is set in the separate process only.
    """
    if save:
        into(save, count, samples, features, memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "many.comparison"
        numbers = {"count": count, "samples": samples, "features": features, "memory": memory}
        arguments = [argument for name, n in numbers.items() for argument in (f"--{name}", str(n))]
        command = [sys.executable, __file__, "many", "--save", str(file), *arguments]
        for kill_at in (count**2 // 4, None) if kill else (None,):
            process = subprocess.Popen(command)
            while process.poll() is None:
                time.sleep(0.5)
                if kill_at is not None and file.exists() and values_in(file) >= kill_at:
                    os.kill(process.pid, signal.SIGKILL)
                    process.wait()
                    print("killed", flush=True)
            print(f"{values_in(file)} values, {file.stat().st_size / 1e6:.0f} MB in the file")


def into(save: str, count: int, samples: int, features: int, memory: str) -> None:
    """Compare many small representations into a file, and print the CPU seconds and the peak
    memory."""
    max_kilobytes = [0]
    threading.Thread(target=watch, args=[max_kilobytes], daemon=True).start()
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((samples, 20))
    maps = rng.standard_normal((count, 20, features)).astype(np.float32)
    reps = {f"r{i}": np.tanh(latent @ maps[i]) for i in range(count)}
    seconds, result = clocked(
        lambda: rs.compare(reps, measures="cka", save=save, memory=memory, progress=False)
    )
    print(
        f"{count} representations, {np.isfinite(result['cka']).sum()} values, "
        f"{seconds:.0f} CPU s, {max_kilobytes[0] / 1e6:.2f} GB of its own at the peak, "
        f"{peak() / 1e9:.2f} GB with pages of files",
        flush=True,
    )


def watch(max_kilobytes: list[int]) -> None:
    """Record the largest private memory of this process, sampled twenty times a second."""
    while True:
        lines = Path("/proc/self/status").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
        max_kilobytes[0] = max(max_kilobytes[0], kilobytes)
        time.sleep(0.05)


def values_in(save: Path) -> int:
    """Return the number of values in a file of scores; 0 while the file is being created."""
    try:
        with ScoreFile(save, read_only=True) as store:
            return store.count()
    except ValueError:
        return 0


if __name__ == "__main__":
    command(__doc__, budget, each, many, one, table)
