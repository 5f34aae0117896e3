"""Check every measure on a GPU against the CPU, and time measures and maps of layers on both.

    python benchmarks/gpu.py                 # on a machine with CUDA; writes gpu.csv
    python benchmarks/gpu.py --device cpu    # the times of the CPU, into the same file
    python benchmarks/gpu.py --table         # the table of the docs, from the file

Values: every measure of one pair, in float64 and float32, against NumPy in float64. The arrays are
PyTorch tensors; ``--libraries "PyTorch CuPy JAX"`` adds CuPy and JAX. Copies: the bytes that leave
the device for one pair, from PyTorch's profiler. Times: every default measure for all pairs of
several representations, and debiased CKA of all layers against all layers, in wall-clock seconds,
with the device's queue empty before and after. If all pairs would need more than ``--limit``
seconds, one pair is timed alone; the table has ratios of equal numbers of pairs only. On the CPU,
one thread is timed.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import chain, product
from math import comb, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from bench import GENERATED, command, grid, model_like, store, stored
from layers import MEASURE as LAYERS
from layers import layers as of_layers
from layers import packaged, plain

import resemblance as rs
from resemblance.checks.data import with_repeats

FILE = Path(__file__).with_suffix(".csv")
TABLE = GENERATED / "gpu.md"
CHECKED = (300, 12, 8)  # samples, and features of the two representations of a check
# Tolerance relative to the larger of 1 and the absolute value.
CLOSE = {"float64": 1e-9, "float32": 1e-2}
LABELS = tuple(i % 3 for i in range(CHECKED[0]))
Made = Callable[[np.ndarray, str], Any]


class Row(NamedTuple):
    """The results of a measure on a device.

    ``difference``: largest relative difference from NumPy for one pair. ``copied``: megabytes
    copied to the host for one pair. ``seconds``: seconds for ``pairs`` pairs. NaN marks a quantity
    that was not measured.
    """

    device: str
    library: str
    precision: str
    measure: str
    difference: float = nan
    copied: float = nan
    pairs: int = 0
    seconds: float = nan


def main(
    table: bool = False,
    device: str = "cuda",
    samples: int = 5000,
    features: int = 1024,
    count: int = 6,
    layers: int = 18,
    limit: float = 10.0,
    only: str = "",
    libraries: str = "PyTorch",
    out: Path = FILE,
) -> None:
    """Check and time the measures on a device, or write the table.

    ``device``: any device name of PyTorch; ``count``: number of representations; ``layers``: number
    of layers per model; ``only``: names of the measures to time, separated by spaces.
    """
    if table:
        TABLE.write_text(tables(stored(out, Row)) + "\n", "utf-8")
        return
    warnings.simplefilter("ignore", rs.UninformativeWarning)
    target = torch.device(device)
    arrays = model_like(samples, features, count)
    measures = [m for m in rs.preset("default") if m.name in (only.split() or [m.name])]
    print(f"{name_of(target)}; PyTorch {torch.__version__}; resemblance {rs.__version__}")
    rows, problems = [], []
    for row, problem in checked(target, libraries):
        rows.append(row)
        if problem:
            problems.append(f"{row.measure}, {row.library}, {row.precision}: {problem}")
    for row in chain(
        timed(target, arrays, measures, limit), maps(target, 2 * samples, features, layers)
    ):
        print(*row[1:], flush=True)
        rows.append(row)
    store(out, [r for r in stored(out, Row) if r.device != name_of(target)] + rows)
    print(f"wrote {out}; {len(problems)} values differ from the CPU", *problems, sep="\n  ")
    if problems:
        raise SystemExit(1)


def name_of(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


# ------------------------------------------------------------------------------------------- values


def libraries(device: torch.device, names: str) -> dict[str, Made]:
    """Return a function for each named array library that copies an array to the device."""
    converters: dict[str, Made] = {
        "PyTorch": lambda x, precision: torch.as_tensor(
            x, dtype=getattr(torch, precision), device=device
        )
    }
    if "CuPy" in names:
        import cupy

        converters["CuPy"] = lambda x, precision: cupy.asarray(x, dtype=precision)
    if "JAX" in names:
        # The GPU is shared, so JAX must not reserve its memory in advance.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        converters["JAX"] = lambda x, precision: jax.numpy.asarray(x, dtype=precision)
    return {name: convert for name, convert in converters.items() if name in names}


def checked(device: torch.device, names: str) -> Iterator[tuple[Row, str]]:
    """Compare every measure of the catalogue on the device with NumPy; yield the row and the
    problem, an empty text for none."""
    n, width, narrow_width = CHECKED
    same_width = list(model_like(n, width, 2).values())
    data = [same_width[0], same_width[1][:, :narrow_width]]
    for m, (library, convert), precision in product(
        rs.list_measures(), libraries(device, names).items(), CLOSE
    ):
        measure = m.with_parameters(labels=LABELS) if m.name == "accuracy_difference" else m
        has_same_columns = m.family == "outputs" or m.needs_equal_columns
        pair = same_width if has_same_columns else data
        difference, problem = check(measure, pair, precision, convert)
        yield Row(name_of(device), library, precision, m.name, difference), problem


def check(
    m: rs.Measure, pair: list[np.ndarray], precision: str, convert: Made
) -> tuple[float, str]:
    """Return the difference between a measure's value for one pair and NumPy's value, and the
    problem, an empty text for none."""
    try:
        arrays = (convert(x, precision) for x in pair)
        representations = (rs.Representation(a, dtype=precision) for a in arrays)
        value = float(m(*(with_repeats(m, r) for r in representations)))
        expected = m(*(with_repeats(m, x) for x in pair))
    except Exception as error:  # the check reports every failure of a device
        return nan, f"{type(error).__name__}: {error}"
    difference = abs(value - expected) / max(1.0, abs(expected))
    return difference, "" if difference < CLOSE[precision] else f"differs by {difference:.1e}"


# -------------------------------------------------------------------------------------------- times


def timed(
    device: torch.device, arrays: Mapping[str, np.ndarray], measures: list[rs.Measure], limit: float
) -> Iterator[Row]:
    """Time every measure alone, and record the megabytes that one pair copies to the host."""
    for precision, m in product(precisions(device), measures):
        inputs = {name: on(device, x, precision) for name, x in arrays.items()}
        pair = dict(list(inputs.items())[:2])

        def run(data: Mapping[str, Any], m: rs.Measure = m, precision: str = precision) -> None:
            representations = {k: rs.Representation(x, dtype=precision) for k, x in data.items()}
            failures = rs.compare(
                representations, measures=m, memory="20GB", progress=False
            ).failures
            assert not failures, failures

        # The first use loads the libraries and is not timed.
        run({name: x[:300] for name, x in pair.items()})
        pairs, elapsed = comb(len(inputs), 2), seconds(lambda: run(pair), device)  # noqa: B023
        if elapsed * pairs > limit:
            pairs = 1
        else:
            elapsed = seconds(lambda: run(inputs), device)  # noqa: B023
        megabytes = copied(lambda: run(pair), device)  # noqa: B023
        library = "NumPy" if device.type == "cpu" else "PyTorch"
        yield Row(name_of(device), library, precision, m.spec, nan, megabytes, pairs, elapsed)


def precisions(device: torch.device) -> tuple[str, ...]:
    """Return the precisions to time: double on the CPU, double and single on a GPU."""
    return ("float64",) if device.type == "cpu" else ("float64", "float32")


def on(device: torch.device, x: np.ndarray, precision: str) -> Any:
    """Return a tensor on a GPU, and an array for the CPU."""
    if device.type == "cpu":
        return x.astype(precision)
    return torch.as_tensor(x, dtype=getattr(torch, precision), device=device)


def seconds(function: Callable[[], object], device: torch.device) -> float:
    """Return the wall-clock seconds of a call, including all work that the call queues on the
    device."""
    settle(device)
    start = time.perf_counter()
    function()
    settle(device)
    return time.perf_counter() - start


def settle(device: torch.device) -> None:
    """Wait until a GPU has finished all queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def copied(function: Callable[[], object], device: torch.device) -> float:
    """Return the megabytes that a call copies from the device to the host."""
    if device.type != "cuda":
        return nan
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with tempfile.TemporaryDirectory() as folder:
        with torch.profiler.profile(activities=kinds) as profile:
            function()
            settle(device)
        path = Path(folder, "trace.json")
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return sum(e["args"]["bytes"] for e in events if "DtoH" in str(e.get("name"))) / 1e6


def maps(device: torch.device, n: int, d: int, count: int) -> Iterator[Row]:
    """Time debiased CKA of all layers of one model against all layers of another model, in this
    library and by the methods of other packages in single precision."""
    if not count:
        return
    sides = [of_layers(n, d, count, seed) for seed in (1, 2)]
    for precision in ("float64", "float32"):
        inputs = [{k: on(device, x, precision) for k, x in side.items()} for side in sides]

        def ours(inputs: list[dict[str, Any]] = inputs, precision: str = precision) -> np.ndarray:
            representations = [
                {k: rs.Representation(x, dtype=precision) for k, x in side.items()}
                for side in inputs
            ]
            return rs.compare(*representations, measures=LAYERS, memory="20GB", progress=False)[
                LAYERS
            ]

        ours([{"0": side["layer0"][:300]} for side in inputs])
        elapsed = seconds(ours, device)
        yield Row(name_of(device), "resemblance", precision, LAYERS, nan, nan, count**2, elapsed)
    expected = ours()
    functions = {"plain PyTorch": plain} | ({"pytorch-cka": packaged} if find_spec("cka") else {})
    sides = [{name: torch.as_tensor(x) for name, x in side.items()} for side in inputs]
    for name, function in functions.items():
        values = [function(*({"0": side["layer0"][:300]} for side in sides))]
        elapsed = seconds(lambda: values.append(function(*sides)), device)  # noqa: B023
        difference = float(np.abs(values[1].cpu().numpy() - expected).max())
        yield Row(name_of(device), name, "float32", LAYERS, difference, nan, count**2, elapsed)


# -------------------------------------------------------------------------------------------- table


def tables(rows: list[Row]) -> str:
    """Return a table of the seconds of every measure for one pair on the CPU and the GPU with
    ratios, and a table of the times of layer maps."""
    rows_by_key = {(r.device, r.library, r.precision, r.measure): r for r in rows if r.pairs}
    device = next(r.device for r in rows if r.device != "CPU")
    head = ["measure", "CPU, s", "GPU, s", "ratio", "GPU, single, s", "ratio"]
    lines = []
    for (machine, _, _, measure), row in rows_by_key.items():
        if machine != "CPU" or row.library != "NumPy":
            continue
        double, single = (
            rows_by_key[device, "PyTorch", precision, measure]
            for precision in ("float64", "float32")
        )
        cells = [f"`{measure}`", _each(row)]
        for fast in (double, single):
            # Many pairs share intermediates, so their time per pair is shorter.
            is_like = row.pairs == fast.pairs
            cells += [_each(fast), short(row.seconds / fast.seconds) if is_like else ""]
        lines.append(cells)
    layer_rows = [
        [r.device, r.library, r.precision, short(1000 * r.seconds / r.pairs)]
        for r in rows_by_key.values()
        if r.measure == LAYERS
    ]
    return "\n\n".join(
        (
            grid(head, lines),
            grid(["device", "way", "precision", "a pair of layers, ms"], layer_rows),
        )
    )


def _each(row: Row) -> str:
    """Return the seconds per pair, with a star if several pairs shared intermediates."""
    return short(row.seconds / row.pairs) + (" *" if row.pairs > 1 else "")


def short(x: float) -> str:
    """Return a number with two significant digits, or all digits before the point from 100 on."""
    return f"{x:.2g}" if x < 100 else f"{x:.0f}"


if __name__ == "__main__":
    command(__doc__, main)
