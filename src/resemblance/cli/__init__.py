"""The command line: each command is one call of the library, and every mistake of a user is one
line."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from .. import __version__
from ..catalogue import list_measures
from ..compare import compare
from ..comparison import Comparison
from ..extras import NEEDS, check
from ..report import write_page
from ..report.output import deliver, emit, show
from ..store import Store
from ..tiles import parse_bytes
from . import manifolds, resi, sensitivity, stability
from .drift import drift_command
from .errors import complain, end_with, plain_warnings
from .joint import joint_command
from .options import (
    check_choice,
    check_inputs,
    check_targets,
    choose_format,
    chosen_measures,
    examples,
    processes,
)
from .progress import bars

DEMO: dict[bool, dict[str, int]] = {
    False: {},
    True: {"seeds": 2, "epochs": 12, "images": 200},
}  # by --small

commands = typer.Typer(
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compare neural-network representations: measures with proven claims, and one fast "
    "engine for all pairs.",
)


def app(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    0 fine, 1 the command's own no (drift, values that could not be computed), 2 mistaken use, 3 an
    error in a user's own file, 70 a defect of this package, 130 interrupted.
    """
    _prepare_streams()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. A mistake is one line on standard error, not a
    traceback."""
    try:
        with plain_warnings():
            return int(
                commands(
                    list(arguments) or ["--help"], prog_name="resemblance", standalone_mode=False
                )
                or 0
            )
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        return end_with(error)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
        elif hasattr(
            stream, "reconfigure"
        ):  # a character that the terminal does not have is no reason to fail
            stream.reconfigure(errors="replace")


commands.add_typer(resi.commands, name="resi")
commands.add_typer(manifolds.commands, name="manifolds")
commands.add_typer(sensitivity.commands, name="sensitivity")
commands.add_typer(stability.commands, name="stability")
commands.command(
    "drift",
    epilog=examples(
        "drift old.npy new.npy", "drift old.npy new.npy --labels y.npy --html drift.html"
    ),
)(drift_command)
commands.command(
    "joint",
    epilog=examples(
        "joint resi sensitivity manifolds stability", "joint resi manifolds -o ranks.csv"
    ),
)(joint_command)


@commands.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        print(f"resemblance {__version__}")
        raise typer.Exit()


@commands.command(
    "compare",
    epilog=examples(
        "compare layer1.npy layer2.npy -m cka,procrustes",
        'compare run1/ run2/ -m "cka[estimator=debiased]" -o values.csv --html page.html',
        'compare layers.npz -m "default,mine.py:my_measure[power=2]" --save run.comparison',
    ),
)
def compare_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help=".npy, .npz, .parquet or .safetensors files, or folders of .npy and .npz files."
        ),
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "-m",
            help="Names, labels, cka\\[kernel=rbf], presets, or file.py:mine (runs it).",
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="table, json, csv or parquet; default: as --output says.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results here, not out.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with heat maps.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep every result here at once; a later run continues.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="Memory for intermediate results, per process.")
    ] = "2GB",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes.")] = 1,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no messages but errors.")
    ] = False,
) -> int:
    """Compare representations of the same samples, each an array (samples, features), by many
    measures.

    The results go to standard output, the progress to standard error.
    """
    from ..sources.files import read_files

    kind = choose_format(format, output)
    check_targets(kind, inputs, output, html, save)
    parse_bytes(memory)
    chosen = chosen_measures(measures)
    check_inputs(inputs)
    representations = read_files(inputs)
    if len(representations) < 2:
        raise ValueError(f"two representations are needed for a comparison; {inputs[0]} is one")
    show_bar = not quiet and sys.stderr.isatty()
    if quiet:
        warnings.simplefilter("ignore", UserWarning)
    try:
        with processes(jobs) as executor:
            options: dict[str, Any] = {
                "executor": executor,
                "memory": memory,
                "progress": show_bar,
                "save": save,
            }
            comparison = compare(representations, measures=chosen, **options)
        _write(comparison, kind, output, html)
    except KeyboardInterrupt:
        return _interrupted(save)
    if not quiet and (written := [str(path) for path in (output, html, save) if path]):
        print(f"wrote {', '.join(written)}", file=sys.stderr)
    return _verdict(comparison, quiet)


@commands.command(
    "measures", epilog=examples("measures --family cca", "measures --invariant-to orthogonal")
)
def measures_command(
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    invariant_to: Annotated[
        list[str] | None, typer.Option(help="Only what is invariant to this (repeatable).")
    ] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """List the measures with what is claimed, and tested, of each."""
    from ..report.terminal import measure_legend, measure_record, measure_table

    check_choice("format", format, ("table", "json"))
    found = list_measures(family=family, invariant_to=set(invariant_to or ()))
    if format == "json":
        records = [measure_record(m) for m in found]
        deliver(json.dumps(records, ensure_ascii=False, indent=1, allow_nan=False) + "\n", None)
    else:
        show([measure_table(found), measure_legend()])


@commands.command(
    "explain",
    epilog=examples("explain cka", 'explain "cka[estimator=debiased]"', "explain feature_split"),
)
def explain_command(
    measure: Annotated[str, typer.Argument(help="Name, label, or specification.")],
) -> None:
    """Explain a measure or a statistic: definition, claims, parameters."""
    from ..catalogue import get_statistic, list_statistics
    from ..report.explain import explain

    known = {name.lower() for s in list_statistics() for name in (s.name, s.label)}
    is_statistic = measure.partition("[")[0].strip().lower() in known
    for found in [get_statistic(measure)] if is_statistic else chosen_measures([measure]) or ():
        show(explain(found))


@commands.command("demo", epilog=examples("demo --small", "demo -o layers"))
def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path(
        "layers"
    ),
    small: Annotated[
        bool, typer.Option("--small", help="Fewer networks, images and epochs.")
    ] = False,
) -> int:
    """Train small networks on handwritten digits, compare all their layers by all measures, and
    write a page."""
    from ..report.terminal import summary_table
    from ..sources.trained.digits import digits

    for package in ("torch", "jinja2", "matplotlib"):
        check(package)
    output.mkdir(parents=True, exist_ok=True)
    database, page = output / "comparison.db", output / "index.html"
    try:
        print("training small convolutional networks on handwritten digits", file=sys.stderr)
        with bars(not sys.stderr.isatty()) as progress:
            found = digits(**DEMO[small], progress=progress)
        comparison = compare(found.representations, save=database, progress=sys.stderr.isatty())
    except KeyboardInterrupt:
        return _interrupted(database if database.exists() else None)
    accuracies = {
        name: f"{share:.1%} of the test images right" for name, share in found.accuracies.items()
    }
    show([*(f"{name}: {text}" for name, text in accuracies.items()), summary_table(comparison)])
    write_demo_page(comparison, page, accuracies)
    print(f"Open {page.resolve()}\nAll values: {database} (resemblance.load reads it)")
    return 0


# ------------------------------------------------------------------------------ writing the results


def write_demo_page(comparison: Comparison, path: Path, accuracies: dict[str, str]) -> None:
    """Write the page of the demonstration, with a sentence on how to read it."""
    introduction = (
        "Small convolutional networks learned to read handwritten digits from different random "
        "starts; one learned labels that had been shuffled. How to read the maps: a dark diagonal "
        "inside the block of two networks means that the same layer of both sees the images "
        "alike. Networks that learned to read have it with each other. With the one that could "
        "not, it fades after the first layer and is gone at the output. Measures differ in how "
        "clearly they show this."
    )
    write_page(
        comparison,
        path,
        title="Layers of networks that read digits",
        introduction=introduction,
        facts=accuracies,
    )


def _write(comparison: Comparison, kind: str, output: Path | None, html: Path | None) -> None:
    emit(comparison, kind, output)
    if html:
        write_page(comparison, html)


def _verdict(comparison: Comparison, quiet: bool) -> int:
    from ..report.data import failure_groups

    groups = failure_groups(comparison)
    for group in (
        g for g in groups if g.reason.startswith(NEEDS)
    ):  # of the default list: nobody asked for it
        if not quiet:
            print(f"{', '.join(group.measures)} left out: {group.reason}", file=sys.stderr)
    failed = [group for group in groups if not group.reason.startswith(NEEDS)]
    if not failed:
        return 0
    total = len(comparison.measures) * len(comparison.rows) * len(comparison.columns)
    many, reason = sum(group.values for group in failed), failed[0].reason
    return complain(f"{many} of {total} values could not be computed; most often: {reason}", code=1)


def _interrupted(save: Path | None) -> int:
    if save is None:
        message = "nothing was saved; with --save FILE a later run continues"
    else:
        with Store(save) as store:
            message = (
                f"{len(store.cells())} results are saved in {save}; the same command continues "
                "from there"
            )
    print(f"interrupted: {message}", file=sys.stderr)
    return 130
