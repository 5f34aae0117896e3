"""What the benchmarks share: a case that is measured, records in CSV of which only those that are
missing are measured, options, processes of their own, tables in Markdown.
"""

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
    """Return the CPU seconds that this process spends in a call, the least of some runs, without
    more once one took ``max_seconds``; and the value of the last."""
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
    """Return the seconds of :func:`clocked` alone."""
    return clocked(function, runs, max_seconds)[0]


def peak() -> int:
    """Return the largest resident memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def alone(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these words in a process of its own, on one thread, and return what it
    wrote."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | threads | variables,
        capture_output=True,
        text=True,
        check=False,
    )


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
    return [
        kind(*(parse(cell) for parse, cell in zip(kinds.values(), row, strict=True)))
        for row in rows
    ]


def store(path: Path, records: Iterable[NamedTuple], comment: str = "") -> None:
    """Write records into a file, numbers in four digits."""
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
    """Measure the cases that a file does not have, print each record, and write the file as soon
    as there is one more; all of them without a file. A case is known by the first fields of its
    record."""
    records = stored(path, kind) if path and kind else []
    for key, measure in cases.items():
        if not any(record[: len(key)] == key for record in records):
            records.append(measure())
            print(*map(brief, records[-1]), sep="  ", flush=True)
            if path:
                store(path, records)
    return records


def brief(entry: object) -> str:
    """Return an entry as it is printed and stored: a number in four digits."""
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def command(text: str, *functions: Callable[..., None]) -> None:
    """Call a function with what the command line says of its parameters, on one thread; of several
    functions the one that the first word names. Parameters without a default are words."""
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
    """Return what the command line says: ``positionals`` without a dash, of which one that ends in
    * may be repeated; flags; options of the kinds of their defaults, a tuple for several of a
    kind."""
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
    """Return a table in Markdown, with all columns but the first to the right, or as ``marks``,
    the line below the header, says."""
    head, *rows = (f"| {' | '.join(line)} |" for line in (header, *lines))
    return "\n".join((head, marks or f"| --- |{' ---: |' * (len(header) - 1)}", *rows))


def document(script: str, *parts: str) -> str:
    """Return a file of the documentation that a script of this folder makes."""
    notice = f"<!-- made by benchmarks/{Path(script).name}; change the code, not this file -->"
    return "\n\n".join((notice, *parts)) + "\n"


def model_like(n: int, d: int, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return ``count`` made representations of n samples, which look like those of trained models:
    noisy non-linear views of one clustered latent space.

    Full rank, with a power-law spectrum (condition numbers of 100 to 1000), the later ones noisier.
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
