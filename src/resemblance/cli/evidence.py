"""The command that measures how sure similarities are: intervals, chance and p-values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ..engine.memory import parse_bytes
from ..inference.evidence import check_level, evidence
from ..inference.result import Evidence
from .comparing import read_inputs
from .declaring import (
    Blocks,
    Draws,
    Inputs,
    Jobs,
    Level,
    Measures,
    Memory,
    Pool,
    Save,
    Scheduler,
    Seed,
    Within,
    commands_of,
    writing,
)
from .executors import executors
from .labels import check_count, read_labels
from .options import check_inputs, chosen_measures, rewording

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
Series = Annotated[
    bool, typer.Option("--series", help="The samples are a time series: shift them in time.")
]


@writing(
    files=("inputs", "against", "within", "blocks"),
    save="save",
    page="Write a page with heat maps.",
    resumed="values, and what was drawn so far,",
)
def evidence_command(
    inputs: Inputs,
    progress: bool,
    measures: Measures = None,
    against: Against = None,
    pool: Pool = "",
    within: Within = None,
    blocks: Blocks = None,
    series: Series = False,
    draws: Draws = 999,
    level: Level = 0.95,
    seed: Seed = 0,
    save: Save = None,
    memory: Memory = "half",
    jobs: Jobs = None,
    scheduler: Scheduler = None,
) -> Evidence:
    """Compute intervals, chance levels and p-values of similarities, by many measures.

    The null hypothesis is that the samples of two representations are unrelated. Use --within,
    --blocks or --series for samples that are not exchangeable: they share classes, depend on each
    other, or form a time series. Results go to standard output, progress to standard error.
    """
    if series and (within or blocks):
        other = "--within" if within else "--blocks"
        raise ValueError(f"--series shifts all samples together; leave out {other}")
    check_level("--level", level)
    options: dict[str, Any] = {"series": series, "draws": draws, "level": level, "seed": seed}
    parse_bytes(memory)
    options |= {"memory": memory, "measures": chosen_measures(measures)}
    sides = _representations(inputs, list(against or ()), pool)
    n = next(iter(sides[0].values())).shape[0]
    for option, path in (("within", within), ("blocks", blocks)):
        options[option] = labels = read_labels(path, f"--{option}")
        check_count(labels, n, path, f"--{option}")
    options |= {"progress": progress, "save": save}
    with (
        executors(jobs, scheduler, usual=1) as (executor, _),
        rewording(lambda text: OF_FUNCTION.sub(r"--\1", text).removeprefix("evidence: ")),
    ):
        return evidence(*sides, executor=executor, **options)


def _representations(inputs: list[str], against: list[str], pool: str) -> list[Any]:
    """Return the rows and, if there are others, the columns."""
    check_inputs([*inputs, *against])
    rows = read_inputs(inputs, pool)
    if against:
        columns = read_inputs(against, pool)
        models = [Path(side[0]).name for side in (inputs, against) if len(side) == 1]
        if set(rows) & set(columns) and len(set(models)) == 2:  # layers of two models, by its name
            named = ((f"{models[0]}/{name}", x) for name, x in rows.items())
            return [dict(named), {f"{models[1]}/{name}": x for name, x in columns.items()}]
        return [rows, columns]
    if len(rows) < 2:
        raise ValueError(
            f"two representations are needed; {inputs[0]} is one; name the other one, too, or give "
            "--against FILE"
        )
    return [rows]


commands = commands_of(("evidence", evidence_command, EVIDENCE))
