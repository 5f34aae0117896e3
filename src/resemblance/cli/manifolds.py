"""The commands of the manifold suite: run it, read its grades, write its report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..extras import check
from ..report.output import show
from ..results.result import Result, load_result
from ..suites.manifolds import MEASURES, SIZES, run
from ..tiles import parse_bytes
from .options import (
    beside,
    check_choice,
    check_page,
    check_targets,
    choose_format,
    chosen_measures,
    examples,
    processes,
    warn_of_trial,
)
from .progress import bars

commands = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    help="The manifold suite: Swiss rolls, rings, clusters and spots whose similarity is known.",
)
Study = Annotated[Path, typer.Argument(help="The folder of the study.")]


@commands.command(
    "run",
    epilog=examples(
        "manifolds run", "manifolds run trial --size small --measure mine.py:my_measure"
    ),
)
def run_command(
    study: Study = Path("manifolds"),
    size: Annotated[
        str, typer.Option(help="small (seconds), default (minutes), or paper (hours).")
    ] = "default",
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Adds a measure to the usual, or to those of --measures; file.py:mine runs it "
            "(repeatable)."
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", "-m", help="Replaces those of the suite by these measures."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default: all processors.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="Memory for intermediate results, per process.")
    ] = "2GB",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no messages but errors.")
    ] = False,
) -> int:
    """Put measures through the suite, grade them, and write a report.

    Run again with the same folder it continues, and computes only what is new.
    """
    from ..report.findings_output import finding_tables

    check_choice("size", size, tuple(SIZES))
    parse_bytes(memory)
    check("jinja2")
    chosen = beside(chosen_measures(measures), measure, MEASURES)
    try:
        with processes(jobs or os.cpu_count() or 1) as executor, bars(quiet) as progress:
            result = run(
                study,
                measures=chosen,
                size=size,
                executor=executor,
                memory=memory,
                progress=progress,
            )
        page = _write_report(result, study / "index.html")
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: what is done is kept in {study}; the same command continues from there",
            err=True,
        )
        return 130
    if not quiet:
        show(finding_tables(result))
        print(f"Open {page.resolve()}\nAdd measures: the same command with --measure FILE.py:NAME")
    return 0


@commands.command(
    "results", epilog=examples("manifolds results", "manifolds results -o scores.csv")
)
def results_command(
    study: Study = Path("manifolds"),
    format: Annotated[
        str | None, typer.Option(help="table, csv, json or parquet; default: as --output says.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results here, not out.")
    ] = None,
) -> None:
    """Print or write the grades of a study; as JSON or Parquet, every comparison."""
    from ..report.findings_output import emit_findings

    kind = choose_format(format, output)
    check_targets(kind, (), output, None, None)
    result = _result_of(study)
    warn_of_trial(result.is_trial, kind)
    emit_findings(result, kind, output)


@commands.command("report", epilog=examples("manifolds report", "manifolds report -o page.html"))
def report_command(
    study: Study = Path("manifolds"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: index.html in the study.")
    ] = None,
) -> None:
    """Write the report of a study again, as one HTML file."""
    check_page(output)
    print(f"Open {_write_report(_result_of(study), output or study / 'index.html').resolve()}")


def _result_of(study: Path) -> Result:
    if not (study / "result.json").exists():
        raise ValueError(f"{study} has no results yet: resemblance manifolds run {study}")
    return load_result(study / "result.json")


def _write_report(result: Result, path: Path) -> Path:
    from ..report.page import write_page

    return write_page(result, path)
