"""What the commands share: options turned into what the library takes, processes, and messages."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from ..benchmarks.headlines import TRIAL
from ..catalogue import get_measures
from ..extras import check
from ..measure import Measure, did_you_mean, load_module
from ..report.output import FORMATS, printable

# What a worker does first, as text so that nothing of ours is imported before. Interrupts from the keyboard reach
# all processes, and only the parent is to answer them; and a worker ends when its parent does, however that ends.
WORKER = """
import multiprocessing, os, signal, threading
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Thread(target=lambda: (multiprocessing.parent_process().join(), os._exit(1)), daemon=True).start()
"""


def chosen_measures(texts: Sequence[str] | None) -> list[Measure] | None:
    """Return the measures named on the command line; ``None`` for the default list."""
    if not texts:
        return None
    specs = [spec.strip() for text in texts for spec in re.split(r",(?![^\[\]]*\])", text) if spec.strip()]
    if not specs:
        raise ValueError("--measures is empty")
    return get_measures(_own_measure_or_spec(spec) for spec in specs)


def beside(
    chosen: list[Measure] | None, own: Sequence[str] | None, usual: Iterable[str | Measure]
) -> list[Measure] | None:
    """Return the usual measures, or those chosen in their place, with those of the user beside them.

    ``None``, for the usual ones, when there is neither a choice nor a measure of the user.
    """
    more = chosen_measures(own)
    return chosen if more is None else get_measures([*(usual if chosen is None else chosen), *more])


def _own_measure_or_spec(spec: str) -> Measure | str:
    own = re.fullmatch(r"(.+\.py):(\w+)", spec)
    return own_measure(Path(own[1]), own[2]) if own else spec


def own_measure(path: Path, name: str) -> Measure:
    """Return a measure that is defined in a user's file.

    Raises ``ValueError`` when the file is not there or fails, or when it has no such measure.
    """
    if not path.is_file():
        raise ValueError(f"{path} does not exist")
    file = str(path.resolve())
    module = f"measures_{hashlib.blake2b(file.encode(), digest_size=6).hexdigest()}"  # no name that can be imported
    try:
        loaded = sys.modules.get(module) or load_module(file, module)
    except Exception as error:
        sys.modules.pop(module, None)
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    found = getattr(loaded, name, None)
    if isinstance(found, Measure):
        return found
    if found is not None:
        raise ValueError(f"{name} in {path} is not a measure: decorate it with @resemblance.measure(...)")
    known = [key for key, value in vars(loaded).items() if isinstance(value, Measure)]
    raise ValueError(f"{path} has no measure {name!r}{did_you_mean(name, known)}")


def choose_format(format: str | None, output: Path | None) -> str:
    """Return the format that was asked for, by name or by the suffix of the output."""
    suffix = output.suffix.removeprefix(".") if output else ""
    kind = format or (suffix if suffix in FORMATS else "table")
    check_choice("format", kind, FORMATS)
    if kind == "parquet" and output is None:
        raise ValueError("--format parquet needs --output FILE: it is not text")
    return kind


def check_targets(kind: str, inputs: Sequence[str], output: Path | None, html: Path | None, save: Path | None) -> None:
    """Find out before the work whether its results can be written, each to a file of its own."""
    targets = (output, html, save)
    named = [Path(i).resolve() for i in inputs] + [t.resolve() for t in targets if t is not None]
    for target in (t for t in targets if t is not None and named.count(t.resolve()) > 1):
        raise ValueError(f"{target} is given twice, as an input or for two outputs")
    for target in (t for t in targets if t is not None):
        if target.is_dir():
            raise ValueError(f"{target} is a folder; a file is needed")
        if not target.parent.is_dir():
            raise ValueError(f"the folder {target.parent} does not exist")
    for package in (*(("pandas", "pyarrow") if kind == "parquet" else ()), *(("jinja2", "matplotlib") if html else ())):
        check(package)


def check_choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"--{option} cannot be {value!r}{did_you_mean(value, known)}")


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """Yield a pool of processes that ends at once, silently, when something goes wrong here."""
    if jobs == 1:
        yield None
        return
    with ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=exec, initargs=(WORKER, {})
    ) as executor:
        try:
            yield executor
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def warn_of_trial(is_trial: bool, kind: str) -> None:
    """Say on standard error that what a program reads is a trial; a table says so itself."""
    if is_trial and kind != "table":
        print(TRIAL, file=sys.stderr)


def complain(message: str, code: int = 2) -> int:
    """Print a message as one line on standard error, and return the exit code."""
    print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code
