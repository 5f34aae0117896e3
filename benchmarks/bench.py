"""What the benchmarks share: a clock, the machine, records in CSV, options, Markdown tables."""

from __future__ import annotations

import argparse
import csv
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

Record = TypeVar("Record", bound=NamedTuple)


def cpu_seconds(function: Callable[[], object], runs: int = 1, enough: float = math.inf) -> float:
    """Return the CPU seconds that this process spends in a call: the least of some runs, without
    more once one took ``enough``."""
    seconds = math.inf
    for _ in range(runs):
        start = time.process_time()
        function()
        seconds = min(seconds, time.process_time() - start)
        if seconds > enough:
            break
    return seconds


def machine() -> str:
    """Return the processor, its memory and the versions that the numbers depend on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GiB; {versions}"


def stored(path: Path, kind: type[Record]) -> list[Record]:
    """Return the records in a file; none without one. Lines that begin with # are comments."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("#")][1:]
    kinds = get_type_hints(kind)
    return [kind(*(of(word) for of, word in zip(kinds.values(), row, strict=True))) for row in rows]


def store(path: Path, records: Iterable[NamedTuple], comment: str = "") -> None:
    """Write records into a file, numbers in four digits."""
    records = list(records)
    with path.open("w", encoding="utf-8", newline="") as file:
        if comment:
            file.write(f"# {comment}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(type(records[0])._fields)
        for record in records:
            writer.writerow(f"{x:.4g}" if isinstance(x, float) else x for x in record)


def options(text: str, *flags: str, **defaults: Any) -> argparse.Namespace:
    """Return what the command line says: flags, and options of the kinds of their defaults."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in flags:
        parser.add_argument(f"--{name}", action="store_true")
    for name, default in defaults.items():
        kind = str if default is None else type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    return parser.parse_args()


def grid(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, with all columns but the first to the right."""
    cells = [header, ["---", *["---:"] * (len(header) - 1)], *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def model_like(n: int, d: int, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return ``count`` made representations of n samples, which look like those of trained models:
    noisy non-linear views of one clustered latent space.

    Full rank, with a power-law spectrum (condition numbers of 100 to 1000), the later ones noisier.
    """
    rng = np.random.default_rng(seed)
    latent = 2 * rng.standard_normal((10, 32))[rng.integers(10, size=n)] + rng.standard_normal(
        (n, 32)
    )
    made = {}
    for i in range(count):
        hidden = np.tanh(latent @ rng.standard_normal((32, 2 * d)) / 8)
        mixed = hidden @ rng.standard_normal((2 * d, d)) / np.sqrt(2 * d)
        u, s, vt = np.linalg.svd(
            mixed + 0.02 * (1 + i) * rng.standard_normal((n, d)), full_matrices=False
        )
        made[f"model {i}"] = (u * s * np.arange(1, d + 1) ** -0.5) @ vt + 0.1 * rng.standard_normal(
            d
        )
    return made
