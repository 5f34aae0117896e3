"""Time the engine against a plain per-pair implementation of the same formulas, side by side in one
process, or against another checkout of this library.

    python benchmarks/suite.py                      # 15 of 2,000 samples and 256 features
    python benchmarks/suite.py --samples 500 --features 64 --count 6 --rtd
    python benchmarks/suite.py --against ../other   # the same list, by the code in ../other/src
    python benchmarks/suite.py --samples 1000 --features 128 --count 10 --pairs 2 --write

Times are CPU seconds of one thread (all thread pools are limited to one). Every measure is timed
alone, with all its intermediates, and then all measures together. The plain implementation is timed
on a few pairs, between the timings of the engine, and scaled to all pairs. The time of a single
pair is the time of a call with two new arrays, in milliseconds, next to the plain implementation.

``--write`` stores the times in ``benchmarks/suite.csv`` for the table of the README
(``docs/_scripts/write_tables.py``). The file also contains the seconds of ReSi's code for two
arrays of 200 x 32, as recorded with the values of that code, and our seconds for the same arrays.

``--against`` times the list of all 24 measures, RTD included, in separate processes by turns,
because no process can import two checkouts. The fastest run of each checkout counts.
"""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import per_pair
from bench import alone, clocked, command, cpu_seconds, model_like

import resemblance as rs

HERE = Path(__file__).resolve().parent.parent
Arrays = Mapping[str, np.ndarray]


class Timing(NamedTuple):
    """CPU seconds of a measure by the plain implementation (``theirs``) and by the engine
    (``ours``), for all pairs and for a single pair, and the largest relative difference of the
    values."""

    theirs: float
    ours: float
    single_theirs: float
    single_ours: float
    error: float


def main(
    samples: int = 2000,
    features: int = 256,
    count: int = 15,
    pairs: int = 3,
    repeats: int = 1,
    only: tuple[str, ...] = (),
    rtd: bool = False,
    write: bool = False,
    against: str = "",
    listed: bool = False,
) -> None:
    """Time the engine against the plain implementation, or against another checkout.

    ``count``: number of representations; ``pairs``: pairs on which the plain implementation is
    timed; ``repeats``: runs of the engine, the fastest counts; ``rtd``: include RTD (minutes);
    ``only``: names of measures; ``against``: another checkout; ``listed``: print the seconds of the
    whole list.
    """
    warnings.simplefilter("ignore", getattr(rs, "UninformativeWarning", UserWarning))
    selected = [m for m in rs.preset("default") if not only or m.name in only]
    numbers = {"samples": samples, "features": features, "count": count}
    if against:
        arguments = [argument for name, n in numbers.items() for argument in (f"--{name}", n)]
        compare_checkouts(Path(against), repeats, [*arguments, "--only", *only])
        return
    reps = model_like(*numbers.values())
    if listed:
        rs.compare(model_like(600, 8, 2), measures=selected, progress=False)  # compiles
        print(cpu_seconds(lambda: rs.compare(reps, measures=selected, progress=False)), rs.__file__)
        return
    selected = [m for m in selected if only or rtd or m.name != "rtd"]
    rows = compare_with_twin(reps, selected, pairs, repeats, is_all=not only)
    if write:
        size = (rs.__version__, samples, features, count, len(list(combinations(reps, 2))))
        with Path(__file__).with_suffix(".csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("version", "samples", "features", "representations", "pairs"))
            writer.writerow(size)
            writer.writerow(("measure", "per_pair", "engine", "authors_single", "engine_single"))
            writer.writerows(rows)


def compare_with_twin(
    reps: Arrays, measures: Sequence[rs.Measure], n_timed: int, repeats: int, is_all: bool
) -> list[tuple[object, ...]]:
    """Print a line for every measure and a line for all measures together; return the rows of the
    file."""
    pairs = list(combinations(reps, 2))
    print(
        f"{next(iter(reps.values())).shape}, {len(reps)} representations, {len(pairs)} pairs\n"
        f"{'CPU seconds':28s}{'per pair':>12s}{'engine':>12s}{'ratio':>9s}"
        f"{'single pair, ms':>30s}{'ratio':>9s}   largest relative difference"
    )
    total, rows = 0.0, list[tuple[object, ...]]()
    for m in measures:
        timing = timed(m, reps, pairs, n_timed, repeats)
        total += timing.theirs * (10 if m.name == "rtd" else 1)
        note = "  (other subset)" if m.name == "rtd" else ""
        print(line_of(m.name, timing.theirs, timing.ours) + single_of(timing) + note, flush=True)
        rows.append((m.name, timing.theirs, timing.ours, *authors_and_ours(m, repeats)))
    if is_all:
        engine_seconds = cpu_seconds(lambda: rs.compare(reps, measures=measures, progress=False))
        print(line_of("all together", total, engine_seconds))
        rows.append(("all together", total, engine_seconds, "", ""))
    return rows


def authors_and_ours(m: rs.Measure, repeats: int) -> tuple[float, float]:
    """Return the recorded seconds of ReSi's code for one pair, and our CPU seconds for the same
    pair."""
    folder, case = HERE / "tests" / "golden", "pub02_rot_noise"
    entries = json.loads((folder / "resi_outputs.json").read_text())["measures"][case]["measures"]
    seconds = next(e["R_Rp"]["seconds"] for e in entries.values() if e["paper_name"] == m.label)
    with np.load(folder / "resi_inputs.npz") as arrays:
        x, y = arrays[f"{case}__R"], arrays[f"{case}__Rp"]
    return seconds, fastest(m, x, y, repeats)


def timed(
    m: rs.Measure, reps: Arrays, pairs: Sequence[tuple[str, str]], n_timed: int, repeats: int
) -> Timing:
    """Time a measure alone, for all pairs and for one pair, and the plain implementation on some
    pairs."""
    twin = getattr(per_pair, m.name)
    variant = m.with_parameters(repeats=1) if m.name == "rtd" else m  # the twin computes one trial
    timed_pairs = [pairs[i] for i in np.linspace(0, len(pairs) - 1, n_timed).astype(int)]
    their_seconds, values = zip(
        *(clocked(lambda x=x, y=y: twin(reps[x], reps[y])) for x, y in timed_pairs)
    )
    our_seconds, result = clocked(
        lambda: rs.compare(reps, measures=[variant], progress=False), repeats
    )
    names = list(reps)
    cells = [result[variant.spec][names.index(x), names.index(y)] for x, y in timed_pairs]
    error = max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(cells, values, strict=True))
    arrays = [reps[name] for name in timed_pairs[0]]
    calls = [fastest(function, *arrays, repeats) for function in (twin, variant)]
    return Timing(sum(their_seconds) * len(pairs) / len(timed_pairs), our_seconds, *calls, error)


def fastest(function: Callable[..., object], x: np.ndarray, y: np.ndarray, repeats: int) -> float:
    """Return the CPU seconds of the fastest call. The number of calls is at least ``repeats``, and
    up to ten if the calls fit into a second."""
    seconds = cpu_seconds(lambda: function(x, y))
    return cpu_seconds(lambda: function(x, y), max(repeats, min(10, int(1 / seconds))))


def compare_checkouts(other: Path, repeats: int, arguments: Sequence[object]) -> None:
    """Print the CPU seconds of the whole list in another checkout and in this checkout, and the
    ratio."""
    seconds = list[tuple[float, ...]]()
    for turn in range(repeats):
        seconds.append(tuple(seconds_elsewhere(checkout, arguments) for checkout in (other, HERE)))
        print(f"run {turn + 1}: {seconds[-1][0]:.2f} by {other}, {seconds[-1][1]:.2f} here")
    print(line_of("all 24, against another", *map(min, zip(*seconds))))


def seconds_elsewhere(checkout: Path, arguments: Sequence[object]) -> float:
    """Return the CPU seconds of the whole list with the code of a checkout, in a separate
    process."""
    if not (checkout / "src" / "resemblance").is_dir():
        raise SystemExit(f"{checkout} holds no src/resemblance: give the root of a checkout")
    path = str(checkout.resolve() / "src")
    process = alone(__file__, "--listed", *arguments, PYTHONPATH=path)
    if process.returncode:
        raise SystemExit(process.stderr)
    seconds, file = process.stdout.split(maxsplit=1)
    if not Path(file.strip()).is_relative_to(checkout.resolve()):
        raise SystemExit(f"the code that ran is {file.strip()}, not that of {checkout}")
    return float(seconds)


def line_of(name: str, their_seconds: float, our_seconds: float) -> str:
    return f"{name:28s}{their_seconds:12.2f}{our_seconds:12.2f}{their_seconds / our_seconds:8.1f}x"


def single_of(timing: Timing) -> str:
    their_seconds, our_seconds = timing.single_theirs, timing.single_ours
    columns = (
        f"{1e3 * their_seconds:18.2f}{1e3 * our_seconds:12.2f}{their_seconds / our_seconds:8.2f}x"
    )
    return f"{columns}   {timing.error:.1e}"


if __name__ == "__main__":
    command(__doc__, main)
