"""The command line: each command is one call of the library, and every mistake of a user is one line."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import re
import signal
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from . import __version__
from .catalogue import get_measures, list_measures
from .compare import compare
from .comparison import Comparison
from .extras import check
from .measure import Measure, did_you_mean, load_module
from .report import write_page
from .report.output import FORMATS, emit, show
from .store import Store
from .tiles import parse_bytes

DEMO: dict[bool, dict[str, int]] = {False: {}, True: {"seeds": 2, "epochs": 12, "images": 200}}  # by --small
MISTAKES = (ValueError, ImportError, OSError, sqlite3.Error, MemoryError, BrokenExecutor)

commands = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compare neural-network representations: measures with proven claims, and one fast engine for all pairs.",
)


def app(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 fine, 1 some values could not be computed, 2 mistaken use, 130 interrupted."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. A mistake is one line on standard error, not a traceback."""
    try:
        return int(commands(args=list(arguments) or ["--help"], prog_name="resemblance", standalone_mode=False) or 0)
    except MISTAKES as error:
        return _complain(str(error) or type(error).__name__)
    except KeyboardInterrupt:
        return _interrupted(None)
    except Exception as error:
        wrong_usage = getattr(error, "format_message", None)  # typer's own errors, by whatever name it exports them
        if wrong_usage is None:
            raise
        return _complain(wrong_usage())


@commands.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"resemblance {__version__}")
        raise typer.Exit()


@commands.command("compare")
def compare_command(
    inputs: Annotated[list[str], typer.Argument(help=".npy files, .npz archives, or folders of them.")],
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", "-m", help="Names, labels, cka\\[kernel=rbf], default, resi, or file.py:mine."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="table, json, csv or parquet; by default as --output says.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the results here, not out.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with heat maps.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep every result here at once; a later run continues.")] = None,
    memory: Annotated[str, typer.Option(help="Memory for intermediate results, per process.")] = "2GB",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages but errors.")] = False,
) -> int:
    """Compare representations of the same samples, each an array (samples, features), by many measures.

    The results go to standard output, the progress to standard error.
    """
    from .sources.files import read_files

    kind = choose_format(format, output)
    check_targets(kind, inputs, output, html, save)
    parse_bytes(memory)
    chosen = chosen_measures(measures)
    representations = read_files(inputs)
    if len(representations) < 2:
        raise ValueError(f"two representations are needed for a comparison; {inputs[0]} is one")
    show_bar = not quiet and sys.stderr.isatty()
    try:
        with _processes(jobs) as executor:
            comparison = compare(
                representations, measures=chosen, executor=executor, memory=memory, progress=show_bar, save=save
            )
    except KeyboardInterrupt:
        return _interrupted(save)
    emit(comparison, kind, output)
    if html:
        write_page(comparison, html)
    if not quiet and (written := [str(path) for path in (output, html, save) if path]):
        print(f"wrote {', '.join(written)}", file=sys.stderr)
    return _verdict(comparison)


@commands.command("measures")
def measures_command(
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    invariant_to: Annotated[list[str] | None, typer.Option(help="Only what is invariant to this (repeatable).")] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """List the measures with what is claimed, and tested, of each."""
    from .report.terminal import measure_legend, measure_record, measure_table

    _check_choice("format", format, ("table", "json"))
    found = list_measures(family=family, invariant_to=set(invariant_to or ()))
    if format == "json":
        print(json.dumps([measure_record(m) for m in found], ensure_ascii=False, indent=1, allow_nan=False))
    else:
        show([measure_table(found), measure_legend()])


@commands.command("explain")
def explain_command(measure: Annotated[str, typer.Argument(help="Name, label, or specification.")]) -> None:
    """Explain a measure: definition, claims, parameters, and where implementations differ."""
    from .report.explain import explain

    for found in chosen_measures([measure]) or ():
        show(explain(found))


@commands.command("demo")
def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path("demo"),
    small: Annotated[bool, typer.Option("--small", help="Fewer networks, images and epochs.")] = False,
) -> int:
    """Train small networks on handwritten digits, compare all their layers by all measures, and write a page."""
    from .report.terminal import summary_table
    from .sources.digits import digits

    output.mkdir(parents=True, exist_ok=True)
    database, page = output / "comparison.db", output / "index.html"
    try:
        print("training small convolutional networks on handwritten digits", file=sys.stderr)
        found = digits(**DEMO[small])
        comparison = compare(found.representations, save=database, progress=sys.stderr.isatty())
    except KeyboardInterrupt:
        return _interrupted(database if database.exists() else None)
    accuracies = {name: f"{share:.1%} of the test images right" for name, share in found.accuracies.items()}
    show([*(f"{name}: {text}" for name, text in accuracies.items()), summary_table(comparison)])
    write_demo_page(comparison, page, accuracies)
    print(f"Open {page.resolve()}\nAll values: {database} (resemblance.load reads it)")
    return 0


# ------------------------------------------------------------------------------------------------ reading the options


def chosen_measures(texts: Sequence[str] | None) -> list[Measure] | None:
    """Return the measures named on the command line; ``None`` for the default list."""
    if not texts:
        return None
    specs = [spec.strip() for text in texts for spec in re.split(r",(?![^\[\]]*\])", text) if spec.strip()]
    if not specs:
        raise ValueError("--measures is empty")
    return get_measures(_own_measure_or_spec(spec) for spec in specs)


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
    _check_choice("format", kind, FORMATS)
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


def _check_choice(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"--{option} cannot be {value!r}{did_you_mean(value, known)}")


@contextmanager
def _processes(jobs: int) -> Iterator[Executor | None]:
    """Yield a pool of processes that ends at once, silently, when something goes wrong here."""
    if jobs == 1:
        yield None
        return
    # An interrupt from the keyboard reaches all processes; only this one is to answer it.
    context, deaf = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(jobs, context, initializer=signal.signal, initargs=deaf) as executor:
        try:
            yield executor
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


# ------------------------------------------------------------------------------------------------ writing the results


def write_demo_page(comparison: Comparison, path: Path, accuracies: dict[str, str]) -> None:
    """Write the page of the demonstration, with a sentence on how to read it."""
    introduction = (
        "Small convolutional networks learned to read handwritten digits from different random starts; one learned "
        "labels that had been shuffled. How to read the maps: a dark diagonal inside the block of two networks means "
        "that the same layer of both sees the images alike. Networks that learned to read have it with each other. "
        "With the one that could not, it fades after the first layer and is gone at the output. Measures differ in "
        "how clearly they show this."
    )
    write_page(
        comparison, path, title="Layers of networks that read digits", introduction=introduction, facts=accuracies
    )


def _verdict(comparison: Comparison) -> int:
    from .report.data import failure_groups

    if not comparison.failures:
        return 0
    total = len(comparison.measures) * len(comparison.rows) * len(comparison.columns)
    reason = failure_groups(comparison)[0].reason
    _complain(f"{len(comparison.failures)} of {total} values could not be computed; most often: {reason}")
    return 1


def _interrupted(save: Path | None) -> int:
    if save is None:
        message = "nothing was saved; with --save FILE a later run continues"
    else:
        with Store(save) as store:
            message = f"{len(store.cells())} results are saved in {save}; the same command continues from there"
    print(f"interrupted: {message}", file=sys.stderr)
    return 130


def _complain(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return 2
