"""The commands of the sensitivity benchmark: run it, also on models of one's own, read what it
found, report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..extras import check
from ..sources.trained import DOMAINS
from ..suites.sensitivity.suite import EXPERIMENTS, MEASURES, SIZES, run
from ..tiles import parse_bytes
from .findings import Beside, Jobs, Measures, Memory, Quiet, Suite, carry_out, suite_commands
from .options import beside, check_choice, chosen_measures, examples

TITLE = "Sensitivity and specificity"
INTRODUCTION = (
    "Do measures of similarity respond to what affects function, and to nothing else? Four "
    "benchmarks after Ding, Denain and Steinhardt (2021): random starts and layers, deleted "
    "principal components, seeds of fine-tuning, seeds of pretraining. In each, distances from "
    "the best representation should be in the order of the differences in what representations "
    "can do. Naive p-values assume that pairs are independent; permuted ones and intervals allow "
    "for the seeds that models have in common."
)
commands = suite_commands(
    "sensitivity",
    "sensitivity",
    "The sensitivity benchmark: do measures respond to what affects function, and to nothing else?",
    SIZES,
    run,
    EXPERIMENTS,
    MEASURES,
    title=TITLE,
    introduction=INTRODUCTION,
    domains=DOMAINS,
)


@commands.command("evaluate", epilog=examples("sensitivity evaluate models/ study --only layers"))
def evaluate_command(
    models: Annotated[
        Path, typer.Argument(help="A folder of models of your own; nothing is trained.")
    ],
    study: Annotated[Path, typer.Argument(help="The folder of the study.")] = Path("sensitivity"),
    size: Annotated[
        str, typer.Option(help=f"How much is computed, one of: {', '.join(SIZES)}.")
    ] = "default",
    only: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Only this benchmark (repeatable): {', '.join(e.name for e in EXPERIMENTS)}."
        ),
    ] = None,
    measures: Measures = None,
    measure: Beside = None,
    jobs: Jobs = None,
    memory: Memory = "2GB",
    quiet: Quiet = False,
) -> int:
    """Do the benchmarks that models of your own can make, say which they cannot, and write a
    report."""
    check_choice("size", size, tuple(SIZES))
    for name in only or ():
        check_choice("only", name, [e.name for e in EXPERIMENTS])
    parse_bytes(memory)
    check("jinja2")
    chosen = beside(chosen_measures(measures), measure, MEASURES)
    options: dict[str, object] = {
        "models": models, "measures": chosen, "size": size, "only": only or None, "memory": memory,
    }  # fmt: skip
    suite = Suite(
        "sensitivity", "sensitivity", SIZES, run, EXPERIMENTS, MEASURES, TITLE, INTRODUCTION
    )
    return carry_out(suite, study, jobs or os.cpu_count() or 1, quiet, options)
