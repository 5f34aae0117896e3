"""Shared helpers of the benchmarks: timing of calls, records in CSV files, command-line options,
separate processes, and tables in Markdown."""

from __future__ import annotations

import argparse
import csv
import inspect
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from threadpoolctl import threadpool_limits

Record = TypeVar("Record", bound=NamedTuple)
Value = TypeVar("Value")
GENERATED = Path(__file__).parents[1] / "docs" / "_generated"


def clocked(
    function: Callable[[], Value], runs: int = 1, max_seconds: float = math.inf
) -> tuple[float, Value]:
    """Return the CPU seconds of a call in this process, and the value of the last run.

    The seconds are the minimum over ``runs`` runs. Repetition stops after a run longer than
    ``max_seconds``.
    """
    seconds = math.inf
    for _ in range(runs):
        start = time.process_time()
        value = function()
        seconds = min(seconds, time.process_time() - start)
        if seconds > max_seconds:
            break
    return seconds, value


def cpu_seconds(
    function: Callable[[], object], runs: int = 1, max_seconds: float = math.inf
) -> float:
    """Return the CPU seconds of :func:`clocked`, without the value."""
    return clocked(function, runs, max_seconds)[0]


def peak() -> int:
    """Return the largest resident memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def alone(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments in a separate process, on one thread, and return the
    completed process with its captured output."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | threads | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def machine() -> str:
    """Return the name of the processor, the number of cores, the memory, and the versions of Python
    and NumPy."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GiB; {versions}"


def stored(path: Path, kind: type[Record]) -> list[Record]:
    """Return the records in a CSV file, or an empty list without a file. Lines that begin with #
    are comments."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("#")][1:]
    kinds = get_type_hints(kind)
    return [
        kind(*(parse(cell) for parse, cell in zip(kinds.values(), row, strict=True)))
        for row in rows
    ]


def store(path: Path, records: Iterable[NamedTuple], comment: str = "") -> None:
    """Write records to a CSV file, with four significant digits per number."""
    records = list(records)
    with path.open("w", encoding="utf-8", newline="") as file:
        if comment:
            file.write(f"# {comment}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(type(records[0])._fields)
        for record in records:
            writer.writerow(map(brief, record))


def measured(
    cases: Mapping[tuple[object, ...], Callable[[], Record]],
    path: Path | None = None,
    kind: type[Record] | None = None,
) -> list[Record]:
    """Measure the cases that are missing in a file, print every new record, and return all records.

    The key of a case is the first fields of its record. The file is written after every new record.
    Without a file, all cases are measured.
    """
    records = stored(path, kind) if path and kind else []
    for key, measure in cases.items():
        if not any(record[: len(key)] == key for record in records):
            records.append(measure())
            print(*map(brief, records[-1]), sep="  ", flush=True)
            if path:
                store(path, records)
    return records


def brief(entry: object) -> str:
    """Return an entry as text for printing and storing, a number with four significant digits."""
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def command(text: str, *functions: Callable[..., None]) -> None:
    """Call a function on one thread, with its parameters read from the command line.

    With several functions, the first word of the command line is the name of the function to call.
    Parameters without a default are positional arguments.
    """
    function, functions_by_name = (
        functions[0],
        {function.__name__: function for function in functions},
    )
    if len(functions) > 1:
        choices = f"{text}\nThe first word is one of: {', '.join(functions_by_name)}"
        if sys.argv[1:] in (["-h"], ["--help"]):
            print(choices)
            raise SystemExit
        if len(sys.argv) < 2 or sys.argv[1] not in functions_by_name:
            raise SystemExit(choices)
        function = functions_by_name[sys.argv.pop(1)]
    parameters = inspect.signature(function).parameters.values()
    repeats = {p.name: p.kind is p.VAR_POSITIONAL for p in parameters if p.default is p.empty}
    flags = [p.name for p in parameters if p.default is False]
    defaults = {p.name: p.default for p in parameters if p.name not in (*repeats, *flags)}
    names = " ".join(f"{name}*" if is_repeated else name for name, is_repeated in repeats.items())
    values = vars(options(text, *flags, positionals=names, **defaults))
    positionals = [values.pop(name) for name in repeats]
    with threadpool_limits(1):
        function(*(positionals[0] if True in repeats.values() else positionals), **values)


def options(text: str, *flags: str, positionals: str = "", **defaults: Any) -> argparse.Namespace:
    """Parse the command line, and return the values.

    A name in ``positionals`` that ends in * accepts several words. ``flags`` are switches.
    ``defaults`` are options, with the types of their defaults; a tuple accepts several values.
    """
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=text, formatter_class=form)
    for positional in positionals.split():
        parser.add_argument(positional.rstrip("*"), nargs="*" if positional.endswith("*") else None)
    for name in flags:
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true")
    for name, default in defaults.items():
        kind, is_repeated = type(default), isinstance(default, tuple)
        if is_repeated or default is None:
            kind = type(default[0]) if default else str
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=kind, default=default, nargs="*" if is_repeated else None)
    return parser.parse_args()


def grid(header: Sequence[str], lines: Iterable[Sequence[str]], marks: str = "") -> str:
    """Return a table in Markdown. All columns except the first are right-aligned, unless ``marks``
    gives the alignment line below the header."""
    head, *rows = (f"| {' | '.join(line)} |" for line in (header, *lines))
    return "\n".join((head, marks or f"| --- |{' ---: |' * (len(header) - 1)}", *rows))


def document(script: str, *parts: str) -> str:
    """Return the content of a documentation file that a script of this folder generates."""
    notice = f"<!-- made by benchmarks/{Path(script).name}; change the code, not this file -->"
    return "\n\n".join((notice, *parts)) + "\n"


def model_like(n: int, d: int, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return ``count`` synthetic representations of n samples that resemble layers of trained
    models: noisy non-linear maps of one clustered latent space.

    The representations have full rank and power-law spectra (condition numbers of 100 to 1000). The
    noise grows from the first representation to the last.
    """
    rng = np.random.default_rng(seed)
    latent = 2 * rng.standard_normal((10, 32))[rng.integers(10, size=n)] + rng.standard_normal(
        (n, 32)
    )
    representations = {}
    for i in range(count):
        hidden = np.tanh(latent @ rng.standard_normal((32, 2 * d)) / 8)
        mixed = hidden @ rng.standard_normal((2 * d, d)) / np.sqrt(2 * d)
        u, s, vt = np.linalg.svd(
            mixed + 0.02 * (1 + i) * rng.standard_normal((n, d)), full_matrices=False
        )
        representations[f"model {i}"] = (
            u * s * np.arange(1, len(s) + 1) ** -0.5
        ) @ vt + 0.1 * rng.standard_normal(d)
    return representations
