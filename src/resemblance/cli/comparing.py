"""The commands that compare representations, and list and explain measures."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..catalogue import list_measures
from ..compare import compare
from ..comparison import Comparison
from ..display import printable
from ..engine.forecast import Forecast, plan
from ..engine.memory import parse_bytes
from ..engine.store import Store
from ..extras import NEEDS
from ..report import write_page
from ..report.of_forecast import emit_forecast
from ..report.output import deliver, emit, show
from .errors import complain
from .executors import executors
from .opening import Opened, check_opened, finish, silence
from .options import (
    check_choice,
    check_inputs,
    check_targets,
    choose_format,
    chosen_entries,
    chosen_measures,
    examples,
)
from .typed import run_provenance

OF_PYTHON = re.compile(r"rs\.from_(?:tokens|maps)\(.*?\)")  # advice that names a function
LONG = 60  # seconds of work that are announced
COMPARE = (
    "compare layer1.npy layer2.npy -m cka,procrustes",
    'compare run1/ run2/ -m "cka[estimator=debiased]" -o values.csv --html page.html',
    'compare layers.npz -m "default,mine.py:my_measure[power=2]" --save run.comparison',
    "compare tokens1.npy tokens2.npy --pool mean --html page.html --open",
    "compare layers.npz --plan",
)
MEASURES = ("measures --family cca", "measures --invariant-to orthogonal")
EXPLAIN = ("explain cka", 'explain "cka[estimator=debiased]"', "explain feature_split")


def add_commands(commands: typer.Typer) -> None:
    """Add the commands of this module."""
    for name, command, calls in (
        ("compare", compare_command, COMPARE),
        ("measures", measures_command, MEASURES),
        ("explain", explain_command, EXPLAIN),
    ):
        commands.command(name, epilog=examples(*calls))(command)


Inputs = Annotated[
    list[str],
    typer.Argument(
        help=".npy, .npz, .parquet or .safetensors files, or folders of .npy and .npz files."
    ),
]
Pool = Annotated[
    str,
    typer.Option(
        help="Make (samples, features) of arrays of tokens, (samples, tokens, features), by first, "
        "last, mean, max or flatten, and of maps, (samples, channels, height, width), by mean, "
        "max, flatten or positions."
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measures",
        "-m",
        help="Names, labels, cka\\[kernel=rbf], presets, or file.py:name, which is run.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="table, json, csv, parquet, markdown or latex; default: by the suffix of --output."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write the results to this file instead of standard output."
    ),
]
Page = Annotated[Path | None, typer.Option(help="Write a page with heat maps.")]
Save = Annotated[
    Path | None,
    typer.Option(
        help="Save each result to this file as soon as it is computed; an "
        "interrupted run can resume."
    ),
]
Memory = Annotated[str, typer.Option(help="Memory for intermediate results, per process.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of processes; default: 1.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Compute on the Dask cluster at this address instead of this machine."),
]
Planned = Annotated[bool, typer.Option("--plan", help="Estimate time and memory, and stop.")]
Streamed = Annotated[
    bool, typer.Option("--stream", help="Read the samples in batches, as resemblance stream does.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show neither progress nor messages, only errors.")
]


def compare_command(
    context: typer.Context,
    inputs: Inputs,
    measures: Measures = None,
    pool: Pool = "",
    format: Format = None,
    output: Output = None,
    html: Page = None,
    opened: Opened = False,
    save: Save = None,
    memory: Memory = "half",
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    planned: Planned = False,
    streamed: Streamed = False,
    quiet: Quiet = False,
) -> int:
    """Compare representations (samples, features) of the same samples by many measures.

    Results go to standard output, progress to standard error.
    """
    check_opened(opened, html)
    if streamed:
        refused = {"--save": save, "--jobs": jobs, "--scheduler": scheduler, "--plan": planned}
        refused["--pool"] = pool
        return _stream(context, inputs, measures, refused, (format, output, html, opened, quiet))
    kind = choose_format(format, output)
    check_targets(kind, inputs, output, html, save)
    parse_bytes(memory)
    work: dict[str, Any] = {"measures": chosen_measures(measures), "memory": memory, "save": save}
    representations = _read(inputs, pool)
    silence(quiet)
    try:
        with executors(jobs if scheduler else jobs or 1, scheduler) as (executor, _):
            work["executor"] = executor
            if planned:
                emit_forecast(plan(representations, **work), kind, output)
                return 0
            comparison = _compared(representations, work, not quiet and sys.stderr.isatty())
        _write(context, comparison, kind, output, html)
    except KeyboardInterrupt:
        return interrupted(save)
    finish((output, html, save), html if opened else None, quiet)
    return verdict(comparison, quiet)


def _compared(
    representations: Mapping[str, Any], work: dict[str, Any], progress: bool
) -> Comparison:
    """Compare; on a terminal with progress, and with an estimate before long work."""
    if progress:
        announce(plan(representations, **work))
    return compare(representations, progress=progress, **work)


def _stream(
    context: typer.Context,
    inputs: list[str],
    measures: list[str] | None,
    refused: dict[str, Any],
    shown: tuple[str | None, Path | None, Path | None, bool, bool],
) -> int:
    """Do what the command ``stream`` does; ``ValueError`` for an option that it does not have."""
    from .stream import stream_command

    if present := [name for name, value in refused.items() if value]:
        raise ValueError(
            f"{present[0]} does not go with --stream, which reads everything once; `resemblance "
            "stream` has options to keep the sums, and to merge those of workers"
        )
    kind, output, html, opened, quiet = shown
    return stream_command(
        context, inputs, measures, format=kind, output=output, html=html, opened=opened, quiet=quiet
    )


def measures_command(
    family: Annotated[str | None, typer.Option(help="Only measures of this family.")] = None,
    invariant_to: Annotated[
        list[str] | None, typer.Option(help="Only measures invariant to this (repeatable).")
    ] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """List the measures with their claims, all of which are tested."""
    from ..report.terminal import measure_legend, measure_record, measure_table

    check_choice("format", format, ("table", "json"))
    measures = list_measures(family=family, invariant_to=set(invariant_to or ()))
    if format == "json":
        records = [measure_record(m) for m in measures]
        deliver(json.dumps(records, ensure_ascii=False, indent=1, allow_nan=False) + "\n", None)
    else:
        show([measure_table(measures), measure_legend()])


def explain_command(
    measure: Annotated[str, typer.Argument(help="Name, label, or specification.")],
) -> None:
    """Explain a measure or a statistic: definition, claims, parameters."""
    from ..report.explain import explain

    for entry in chosen_entries([measure]):
        show(explain(entry))


# ------------------------------------------------------------------------------ writing the results


def _read(inputs: list[str], pool: str) -> Mapping[str, Any]:
    """Return the representations in files; ``ValueError`` for fewer than two."""
    check_inputs(inputs)
    representations = read_inputs(inputs, pool)
    if len(representations) < 2:
        raise ValueError(f"a comparison needs two representations; {inputs[0]} is one")
    return representations


def read_inputs(inputs: list[str], pool: str) -> dict[str, Any]:
    """Return the representations in files; a refusal names --pool where pooling would help."""
    from ..sources.files import read_files

    try:
        return dict(read_files(inputs, pool=pool))
    except ValueError as error:
        text = OF_PYTHON.sub("--pool mean", str(error)).replace("pool=", "--pool ")
        if text == str(error):
            raise
        raise ValueError(text) from error


def _write(
    context: typer.Context,
    comparison: Comparison,
    kind: str,
    output: Path | None,
    html: Path | None,
) -> None:
    emit(comparison, kind, output)
    if html:
        write_page(comparison, html, provenance=run_provenance(context))


def verdict(comparison: Comparison, quiet: bool) -> int:
    """Say which values could not be computed; return the exit code of the command."""
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


def announce(forecast: Forecast) -> None:
    """Say on standard error what a long comparison will take."""
    if forecast.seconds > LONG:
        print(f"{forecast.line}; --plan shows more", file=sys.stderr)


def interrupted(save: Path | None, results: str = "results") -> int:
    """Say what an interrupted command saved; return its exit code."""
    if save is None:
        message = "nothing was saved; with --save FILE a later run continues"
    else:
        with Store(save) as store:
            message = (
                f"{store.count()} {results} are saved in {save}; the same command continues "
                "from there"
            )
    print(printable(f"interrupted: {message}"), file=sys.stderr)
    return 130
