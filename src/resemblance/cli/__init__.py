"""The command line: each command is one call of the library, and every mistake of a user is one line."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from .. import __version__
from ..catalogue import list_measures
from ..compare import compare
from ..comparison import Comparison
from ..report import write_page
from ..report.output import emit, show
from ..store import Store
from ..tiles import parse_bytes
from . import manifolds, resi, sensitivity, stability
from .drift import drift_command
from .joint import joint_command
from .options import check_choice, check_targets, choose_format, chosen_measures, complain, processes
from .progress import bars

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
        return complain(str(error) or type(error).__name__)
    except KeyboardInterrupt:
        return _interrupted(None)
    except Exception as error:
        wrong_usage = getattr(error, "format_message", None)  # typer's own errors, by whatever name it exports them
        if wrong_usage is None:
            raise
        return complain(wrong_usage())


commands.add_typer(resi.commands, name="resi")
commands.add_typer(manifolds.commands, name="manifolds")
commands.add_typer(sensitivity.commands, name="sensitivity")
commands.add_typer(stability.commands, name="stability")
commands.command("drift")(drift_command)
commands.command("joint")(joint_command)


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
    from ..sources.files import read_files

    kind = choose_format(format, output)
    check_targets(kind, inputs, output, html, save)
    parse_bytes(memory)
    chosen = chosen_measures(measures)
    representations = read_files(inputs)
    if len(representations) < 2:
        raise ValueError(f"two representations are needed for a comparison; {inputs[0]} is one")
    show_bar = not quiet and sys.stderr.isatty()
    try:
        with processes(jobs) as executor:
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
    from ..report.terminal import measure_legend, measure_record, measure_table

    check_choice("format", format, ("table", "json"))
    found = list_measures(family=family, invariant_to=set(invariant_to or ()))
    if format == "json":
        print(json.dumps([measure_record(m) for m in found], ensure_ascii=False, indent=1, allow_nan=False))
    else:
        show([measure_table(found), measure_legend()])


@commands.command("explain")
def explain_command(measure: Annotated[str, typer.Argument(help="Name, label, or specification.")]) -> None:
    """Explain a measure: definition, claims, parameters, and where implementations differ."""
    from ..report.explain import explain

    for found in chosen_measures([measure]) or ():
        show(explain(found))


@commands.command("demo")
def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path("layers"),
    small: Annotated[bool, typer.Option("--small", help="Fewer networks, images and epochs.")] = False,
) -> int:
    """Train small networks on handwritten digits, compare all their layers by all measures, and write a page."""
    from ..report.terminal import summary_table
    from ..sources.digits import digits

    output.mkdir(parents=True, exist_ok=True)
    database, page = output / "comparison.db", output / "index.html"
    try:
        print("training small convolutional networks on handwritten digits", file=sys.stderr)
        with bars(not sys.stderr.isatty()) as progress:
            found = digits(**DEMO[small], progress=progress)
        comparison = compare(found.representations, save=database, progress=sys.stderr.isatty())
    except KeyboardInterrupt:
        return _interrupted(database if database.exists() else None)
    accuracies = {name: f"{share:.1%} of the test images right" for name, share in found.accuracies.items()}
    show([*(f"{name}: {text}" for name, text in accuracies.items()), summary_table(comparison)])
    write_demo_page(comparison, page, accuracies)
    print(f"Open {page.resolve()}\nAll values: {database} (resemblance.load reads it)")
    return 0


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
    from ..report.data import failure_groups

    if not comparison.failures:
        return 0
    total = len(comparison.measures) * len(comparison.rows) * len(comparison.columns)
    reason = failure_groups(comparison)[0].reason
    complain(f"{len(comparison.failures)} of {total} values could not be computed; most often: {reason}")
    return 1


def _interrupted(save: Path | None) -> int:
    if save is None:
        message = "nothing was saved; with --save FILE a later run continues"
    else:
        with Store(save) as store:
            message = f"{len(store.cells())} results are saved in {save}; the same command continues from there"
    print(f"interrupted: {message}", file=sys.stderr)
    return 130
