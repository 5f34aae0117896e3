"""Check every measure on tensors of a GPU against the CPU, and time many representations there.

    python benchmarks/gpu.py                             # on a machine with CUDA; writes gpu.csv
    python benchmarks/gpu.py --device cpu --samples 60 --features 8 --count 3 --out small.csv

First every measure of the catalogue, of one pair of 300 samples: on the device in float64 and in
float32, against NumPy in float64. Then the default measures, each alone with everything it needs:
seconds on the wall, with the device's queue empty before and after. A measure that would take more
than ``--limit`` seconds is timed on four representations only, and its time scaled to all pairs.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from bench import model_like

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

    measure: str
    pairs: int
    seconds: float
    how: str
    failures: int


def main() -> None:
    options = parse()
    device = torch.device(options.device)
    print(f"{name_of(device)}; PyTorch {torch.__version__}; resemblance {rs.__version__}")
    checks = list(checked(device))
    report(checks)
    timings = list(timed(device, options))
    write(options, device, checks, timings)
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


def timed(device: torch.device, options: argparse.Namespace) -> Iterator[Timing]:
    """Time the default measures on the device, each alone."""
    arrays = model_like(options.samples, options.features, options.count)
    dtype = getattr(torch, options.precision)
    tensors = {k: torch.as_tensor(a, dtype=dtype).to(device) for k, a in arrays.items()}
    measures = [m for m in rs.preset("default") if not options.only or m.name in options.only]
    for m in measures:
        timing = time_of(m, tensors, device, options)
        print(f"{timing.measure:28s}{timing.seconds:12.2f} s  {timing.how}", flush=True)
        yield timing


def time_of(
    m: rs.Measure,
    tensors: dict[str, torch.Tensor],
    device: torch.device,
    options: argparse.Namespace,
) -> Timing:
    def run(count: int) -> tuple[float, int]:
        some = dict(list(tensors.items())[:count])
        return seconds(lambda: rs.compare(wrapped(some, options), **settings), device)

    settings = {"measures": [m], "memory": options.memory, "progress": False}
    run(2)  # the libraries of a device are loaded at their first use
    pairs = len(tensors) * (len(tensors) - 1) // 2
    few = min(FEW, len(tensors))
    spent, failures = run(few)
    predicted = spent * pairs / (few * (few - 1) // 2)
    if predicted > options.limit:
        return Timing(m.name, pairs, predicted, f"scaled from {few} representations", failures)
    spent, failures = run(len(tensors))
    return Timing(m.name, pairs, spent, "measured", failures)


def wrapped(
    tensors: dict[str, torch.Tensor], options: argparse.Namespace
) -> dict[str, rs.Representation]:
    """Representations that remember no view yet."""
    return {k: rs.Representation(t, dtype=options.precision) for k, t in tensors.items()}


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


# ------------------------------------------------------------------------------------------- output


def write(
    options: argparse.Namespace, device: torch.device, checks: list[Check], timings: list[Timing]
) -> None:
    """Write one line for each timing, with the differences of the measure where it was checked."""
    differences = {(c.measure, c.precision): c.difference for c in checks}
    header = ["measure", "device", "precision", "samples", "features", "representations"]
    header += ["pairs", "seconds", "how", "failures"]
    with options.out.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(header + [f"difference in {precision}" for precision in CLOSE])
        for t in timings:
            size = [options.samples, options.features, options.count]
            what = [t.measure, name_of(device), options.precision, *size]
            errors = [differences[t.measure, precision] for precision in CLOSE]
            rows.writerow([*what, t.pairs, f"{t.seconds:.4g}", t.how, t.failures, *errors])
    print(f"wrote {options.out}")


def name_of(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="any that PyTorch names, or cpu")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--count", type=int, default=50, help="number of representations")
    parser.add_argument("--precision", choices=list(CLOSE), default="float64")
    parser.add_argument("--memory", default="20GB", help="budget for views, on the device")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one measure")
    parser.add_argument("--only", nargs="*", default=[], help="names of measures to time")
    parser.add_argument("--out", type=Path, default=Path("gpu.csv"))
    return parser.parse_args()


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.UninformativeWarning)
        main()
