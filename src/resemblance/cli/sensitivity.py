"""The commands of the sensitivity benchmark: run it, also on models of one's own, read what it found, report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..benchmarks.sensitivity import EXPERIMENTS, MEASURES, SIZES, run
from ..extras import check
from .findings import suite_commands
from .options import beside, check_choice, chosen_measures, processes
from .resi import bars

TITLE = "Sensitivity and specificity"
INTRODUCTION = (
    "Do measures of similarity respond to what affects function, and to nothing else? Four benchmarks after Ding, "
    "Denain and Steinhardt (2021): random starts and layers, deleted principal components, seeds of fine-tuning, seeds "
    "of pretraining. In each, distances from the best representation should be in the order of the differences in what "
    "representations can do. Naive p-values assume that pairs are independent; permuted ones and intervals heed the "
    "seeds that models have in common."
)
commands = suite_commands(
    "sensitivity", "sensitivity",
    "The sensitivity benchmark: do measures respond to what affects function, and to nothing else?",
    SIZES, run, EXPERIMENTS, MEASURES, title=TITLE, introduction=INTRODUCTION,
)  # fmt: skip


@commands.command("evaluate")
def evaluate_command(
    models: Annotated[Path, typer.Argument(help="A folder of models of your own; nothing is trained.")],
    study: Annotated[Path, typer.Argument(help="The folder of the study.")] = Path("sensitivity"),
    size: Annotated[str, typer.Option(help=f"How much is computed, one of: {', '.join(SIZES)}.")] = "default",
    measures: Annotated[
        list[str] | None, typer.Option("--measures", "-m", help="Measures in place of the usual.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="A measure beside the usual, such as file.py:mine (repeatable).")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default: all processors.")] = None,
    memory: Annotated[str, typer.Option(help="Memory for intermediate results, per process.")] = "2GB",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages but errors.")] = False,
) -> int:
    """Do the benchmarks that models of your own can make, say which they cannot, and write a report."""
    from ..report.findings_output import finding_tables
    from ..report.findings_page import write_findings_page
    from ..report.output import show

    check_choice("size", size, tuple(SIZES))
    check("jinja2")
    chosen = beside(chosen_measures(measures), measure, MEASURES)
    try:
        with processes(jobs or os.cpu_count() or 1) as executor, bars(quiet) as progress:
            findings = run(
                study, models=models, measures=chosen, size=size, executor=executor, memory=memory, progress=progress
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted: what is done is kept in {study}; the same command continues from there", err=True)
        return 130
    write_findings_page(findings, study / "index.html", title=TITLE, introduction=INTRODUCTION)
    if not quiet:
        show([*finding_tables(findings), f"Open {(study / 'index.html').resolve()}"])
    return 0
