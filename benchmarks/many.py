"""Compare very many small representations in one process, be killed half way, and go on.

    python benchmarks/many.py --count 10000           # 10,000 of 200 x 32: 50 million pairs
    python benchmarks/many.py --count 1000 --kill

A child process compares them by linear CKA into a file; with ``--kill`` it is killed once half of
the pairs are in the file, and a second one goes on. Prints, for each, CPU seconds and the peak of
the memory that the process had to itself, and of all with the pages of its temporary files.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from bench import options

import resemblance as rs
from resemblance.engine.store import Store


def made(count: int, samples: int, features: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((samples, 20))
    maps = rng.standard_normal((count, 20, features)).astype(np.float32)
    return {f"r{i}": np.tanh(latent @ maps[i]) for i in range(count)}


def watch(peak: list[int]) -> None:
    """Take the largest memory that this process had to itself, twenty times a second."""
    while True:
        lines = Path("/proc/self/status").read_text().splitlines()
        own = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
        peak[0] = max(peak[0], own)
        time.sleep(0.05)


def child(options: argparse.Namespace) -> None:
    peak = [0]
    threading.Thread(target=watch, args=[peak], daemon=True).start()
    reps = made(options.count, options.samples, options.features)
    start = time.process_time()
    result = rs.compare(
        reps, measures="cka", save=options.save, memory=options.memory, progress=False
    )
    everything = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{options.count} representations, {np.isfinite(result['cka']).sum()} values, "
        f"{time.process_time() - start:.0f} CPU s, {peak[0] / 1e6:.2f} GB of its own at the peak, "
        f"{everything / 1e6:.2f} GB with pages of files",
        flush=True,
    )


def run(options: argparse.Namespace, save: Path, kill_at: int | None) -> None:
    names = ("count", "samples", "features", "memory")
    flags = [word for name in names for word in (f"--{name}", str(getattr(options, name)))]
    process = subprocess.Popen([sys.executable, __file__, "--save", str(save), *flags])
    while process.poll() is None:
        time.sleep(0.5)
        if kill_at is not None and save.exists() and stored(save) >= kill_at:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            print(f"killed with {stored(save)} values in the file", flush=True)
            return
    print(f"{stored(save)} values, {save.stat().st_size / 1e6:.0f} MB in the file")


def stored(save: Path) -> int:
    try:
        with Store(save, read_only=True) as store:
            return store.count()
    except ValueError:  # it is just being made
        return 0


def main() -> None:
    chosen = options(__doc__, "kill", count=1000, samples=200, features=32, memory="2GB", save=None)
    if chosen.save:
        child(chosen)
        return
    with tempfile.TemporaryDirectory() as folder:
        save = Path(folder) / "many.comparison"
        if chosen.kill:
            run(chosen, save, chosen.count**2 // 4)
        run(chosen, save, None)


if __name__ == "__main__":
    main()
