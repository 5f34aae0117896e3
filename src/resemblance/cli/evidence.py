"""The command that measures how sure similarities are: intervals, chance and p-values."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..engine.memory import parse_bytes
from ..inference.evidence import evidence
from ..inference.result import Evidence
from ..report import write_page
from ..report.output import emit
from .comparing import (
    Format,
    Inputs,
    Jobs,
    Measures,
    Memory,
    Output,
    Page,
    Pool,
    Quiet,
    Save,
    Scheduler,
    interrupted,
    read_inputs,
    verdict,
)
from .executors import executors
from .labels import check_count, read_labels
from .opening import Opened, check_opened, finish, silence
from .options import check_inputs, check_targets, choose_format, chosen_measures
from .typed import run_provenance

EVIDENCE = (
    "evidence layer1.npy layer2.npy -m cka,rsa",
    "evidence brain.npy --against layers/ -m cka --within conditions.csv --html page.html",
    'evidence a.npy b.npy -m "cka[estimator=debiased]" --blocks documents.npy -o values.csv',
)

OF_FUNCTION = re.compile(r"\b(within|blocks|series|draws|level|seed|save|memory)=")

Against = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        help="Compare the inputs with these instead of with each other; they are the columns of a "
        "map (repeatable).",
    ),
]
Within = Annotated[
    Path | None,
    typer.Option(
        help="A label per sample (.npy, .npz, .csv, .txt): samples are permuted only within "
        "groups of equal labels, so what a group shares counts as chance."
    ),
]
Blocks = Annotated[
    Path | None,
    typer.Option(
        help="A label per sample: samples of a block, such as a document, depend on each other and "
        "stay together."
    ),
]
Series = Annotated[
    bool, typer.Option("--series", help="The samples are a time series: shift them in time.")
]
Draws = Annotated[
    int, typer.Option(min=1, help="Number of permutations, for measures that need them.")
]
Level = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]


def evidence_command(
    context: typer.Context,
    inputs: Inputs,
    measures: Measures = None,
    against: Against = None,
    pool: Pool = "",
    within: Within = None,
    blocks: Blocks = None,
    series: Series = False,
    draws: Draws = 999,
    level: Level = 0.95,
    seed: Seed = 0,
    format: Format = None,
    output: Output = None,
    html: Page = None,
    opened: Opened = False,
    save: Save = None,
    memory: Memory = "half",
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
) -> int:
    """Compute intervals, chance levels and p-values of similarities, by many measures.

    The null hypothesis is that the samples of two representations are unrelated. Use --within,
    --blocks or --series for samples that are not exchangeable: they share classes, depend on each
    other, or form a time series. Results go to standard output, progress to standard error.
    """
    check_opened(opened, html)
    kind, columns = choose_format(format, output), list(against or ())
    files = [*inputs, *columns, *(str(path) for path in (within, blocks) if path)]
    check_targets(kind, files, output, html, save)
    _check_design(level, series, within, blocks)
    options: dict[str, Any] = {"series": series, "draws": draws, "level": level, "seed": seed}
    parse_bytes(memory)
    options |= {"memory": memory, "measures": chosen_measures(measures)}
    sides = _representations(inputs, columns, pool)
    n = next(iter(sides[0].values())).shape[0]
    for option, path in (("within", within), ("blocks", blocks)):
        options[option] = labels = read_labels(path, f"--{option}")
        check_count(labels, n, path, f"--{option}")
    options |= {"progress": not quiet and sys.stderr.isatty(), "save": save}
    target = (kind, output, html, html if opened else None)
    return _carry_out(context, sides, options, (jobs, scheduler), target, quiet)


def _carry_out(
    context: typer.Context,
    sides: list[Any],
    options: dict[str, Any],
    where: tuple[int | None, str | None],
    target: tuple[str, Path | None, Path | None, Path | None],
    quiet: bool,
) -> int:
    """Compute the evidence and write it; return the exit code of the command."""
    (jobs, scheduler), (kind, output, html, page), save = where, target, options["save"]
    silence(quiet)
    try:
        with executors(jobs if scheduler else jobs or 1, scheduler) as (executor, _):
            result = _computed(sides, options | {"executor": executor})
        emit(result, kind, output)
        if html:
            write_page(result, html, provenance=run_provenance(context))
    except KeyboardInterrupt:
        return interrupted(save, "values, and what was drawn so far,")
    finish((output, html, save), page, quiet)
    return verdict(result.comparison, quiet)


def _computed(sides: list[Any], options: dict[str, Any]) -> Evidence:
    """Return the evidence; a refusal names the options of the command, not of the function."""
    try:
        return evidence(*sides, **options)
    except ValueError as error:
        text = OF_FUNCTION.sub(r"--\1", str(error)).removeprefix("evidence: ")
        if text == str(error):
            raise
        raise ValueError(text) from error


def _check_design(level: float, series: bool, within: Path | None, blocks: Path | None) -> None:
    if not 0 < level < 1:
        raise ValueError(f"--level must be between 0 and 1, such as 0.95; got {level:g}")
    if series and (within or blocks):
        other = "--within" if within else "--blocks"
        raise ValueError(f"--series shifts all samples together; leave out {other}")


def _representations(inputs: list[str], against: list[str], pool: str) -> list[Any]:
    """Return the rows and, if there are others, the columns."""
    check_inputs([*inputs, *against])
    rows = read_inputs(inputs, pool)
    if against:
        return [rows, read_inputs(against, pool)]
    if len(rows) < 2:
        raise ValueError(
            f"two representations are needed; {inputs[0]} is one; name the other one, too, or give "
            "--against FILE"
        )
    return [rows]
