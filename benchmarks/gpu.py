"""Check every measure on tensors of a GPU against the CPU, and time many representations there.

    python benchmarks/gpu.py                             # on a machine with CUDA; writes gpu.csv
    python benchmarks/gpu.py --device cpu --samples 60 --features 8 --count 3 --out small.csv

First every measure of the catalogue, of one pair of 300 samples: on the device in float64 and in
float32, against NumPy in float64. Then the default measures, each alone with everything it needs:
seconds on the wall, with the device's queue empty before and after. A measure that would take more
than ``--limit`` seconds is timed on four representations only, and its time scaled to all pairs.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from bench import command, model_like

import resemblance as rs

FEW = 4  # representations from which the time of all is predicted
CHECKED = (300, 12, 8)  # samples, and features of the two representations of a check
CLOSE = {"float64": 1e-9, "float32": 1e-2}  # of the value, or of 1 where that is larger
LABELS = tuple(i % 3 for i in range(CHECKED[0]))


class Check(NamedTuple):
    """A measure of one pair on the device against NumPy; ``problem`` is empty if both agree."""

    measure: str
    precision: str
    difference: float
    problem: str


class Timing(NamedTuple):
    """Seconds of a measure for all pairs, and how they are known."""

    pairs: int
    seconds: float
    how: str
    failures: int


def main(
    device: str = "cuda",
    samples: int = 10_000,
    features: int = 1024,
    count: int = 50,
    precision: str = "float64",
    memory: str = "20GB",
    limit: float = 600.0,
    only: tuple[str, ...] = (),
    out: Path = Path("gpu.csv"),
) -> None:
    """``device``: any that PyTorch names, or cpu; ``count``: of representations; ``memory``: budget
    for views, on the device; ``limit``: seconds for one measure; ``only``: measures to time."""
    if precision not in CLOSE:
        raise SystemExit(f"--precision is {' or '.join(CLOSE)}")
    warnings.simplefilter("ignore", rs.UninformativeWarning)
    there, name = torch.device(device), "CPU"
    if there.type == "cuda":
        name = torch.cuda.get_device_name(there)
    print(f"{name}; PyTorch {torch.__version__}; resemblance {rs.__version__}")
    checks = list(checked(there))
    report(checks)
    differences = {(c.measure, c.precision): c.difference for c in checks}
    arrays = model_like(samples, features, count).values()
    tensors = [torch.as_tensor(a, dtype=getattr(torch, precision)).to(there) for a in arrays]
    with out.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        header = ["measure", "device", "precision", "samples", "features", "representations"]
        header += [*Timing._fields, *(f"difference in {p}" for p in CLOSE)]
        rows.writerow(header)
        for m in [m for m in rs.preset("default") if not only or m.name in only]:
            timing = time_of(m, tensors, memory, limit)
            print(f"{m.name:28s}{timing.seconds:12.2f} s  {timing.how}", flush=True)
            what = [m.name, name, precision, samples, features, count]
            rounded = timing._replace(seconds=float(f"{timing.seconds:.4g}"))
            rows.writerow([*what, *rounded, *(differences[m.name, p] for p in CLOSE)])
    print(f"wrote {out}")
    if any(check.problem for check in checks):
        raise SystemExit("some measures differ from the CPU")


# ------------------------------------------------------------------------------------------- checks


def checked(device: torch.device) -> Iterator[Check]:
    """Compare every measure of the catalogue on the device with NumPy, in both precisions."""
    n, wide, narrow = CHECKED
    alike = list(model_like(n, wide, 2).values())
    data = [alike[0], alike[1][:, :narrow]]
    for measure in rs.list_measures():
        m = measure.where(labels=LABELS) if measure.name == "accuracy_difference" else measure
        pair = alike if m.family == "outputs" else data  # outputs are of the same classes
        for precision in CLOSE:
            yield check(m, pair, precision, device)


def check(m: rs.Measure, pair: list[np.ndarray], precision: str, device: torch.device) -> Check:
    tensors = [torch.as_tensor(a, dtype=getattr(torch, precision)).to(device) for a in pair]
    try:
        value = float(m(*(rs.Representation(t, dtype=precision) for t in tensors)))
        expected = m(*pair)
    except Exception as error:  # whatever a device does is what this is for
        return Check(m.name, precision, float("nan"), f"{type(error).__name__}: {error}")
    difference = abs(value - expected) / max(1.0, abs(expected))
    return Check(m.name, precision, difference, "" if difference < CLOSE[precision] else "differs")


def report(checks: list[Check]) -> None:
    for precision in CLOSE:
        some = [c for c in checks if c.precision == precision]
        largest = max(some, key=lambda c: c.difference if c.difference >= 0 else -1)
        print(
            f"{precision}: {len(some)} measures, {sum(bool(c.problem) for c in some)} failures, "
            f"largest difference {largest.difference:.1e} ({largest.measure})"
        )
        for c in (c for c in some if c.problem):
            print(f"  {c.measure}: {c.problem} {c.difference:.1e}")


# ------------------------------------------------------------------------------------------- timing


def time_of(m: rs.Measure, tensors: list[torch.Tensor], memory: str, limit: float) -> Timing:
    """Time a measure for all pairs, or for those of a few representations if all take longer than
    the limit."""

    def run(count: int) -> tuple[float, int]:
        some = [rs.Representation(t, dtype=str(t.dtype)[6:]) for t in tensors[:count]]
        return seconds(lambda: rs.compare(some, **settings), tensors[0].device)

    settings = {"measures": [m], "memory": memory, "progress": False}
    run(2)  # the libraries of a device are loaded at their first use
    pairs, few = len(tensors) * (len(tensors) - 1) // 2, min(FEW, len(tensors))
    spent, failures = run(few)
    predicted = spent * pairs / (few * (few - 1) // 2)
    if predicted > limit:
        return Timing(pairs, predicted, f"scaled from {few} representations", failures)
    spent, failures = run(len(tensors))
    return Timing(pairs, spent, "measured", failures)


def seconds(function: Callable[[], rs.Comparison], device: torch.device) -> tuple[float, int]:
    """Return how long a comparison takes on the wall, and how many cells failed."""
    settle(device)
    start = time.perf_counter()
    result = function()
    settle(device)
    return time.perf_counter() - start, len(result.failures)


def settle(device: torch.device) -> None:
    """Wait until a GPU has done what it was asked."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    command(__doc__, main)
