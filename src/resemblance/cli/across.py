"""The command that scores models on the recordings of several subjects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..dissimilarities import from_dissimilarities
from ..inference.across import Across, across
from ..inference.nulls import p_text
from ..report.numbers import number
from ..report.output import Output
from ..report.terminal import plain_table
from ..representation import Representation
from .comparing import read_inputs
from .declaring import Inputs, Pool, commands_of, run_provenance, writing
from .labels import check_count, read_labels
from .options import check_inputs, chosen_measures

ACROSS = (
    "across subjects/ --models layers/",
    'across subjects/ --models layers/ -m "rsa[compare=whitened_cosine]" --blocks images.csv',
    "across rdms/ --models layers/ --dissimilarities -o scores.csv",
)

Models = Annotated[
    list[str],
    typer.Option("--models", help="Files or folders of the models' features (repeatable)."),
]
MeasureName = Annotated[
    str, typer.Option("--measure", "-m", help="A measure of the catalogue, or file.py:name.")
]
Given = Annotated[
    bool,
    typer.Option(
        "--dissimilarities",
        help="The subjects' files hold square matrices of dissimilarities, not responses.",
    ),
]
Blocks = Annotated[
    Path | None,
    typer.Option(help="A label per stimulus: those of one label are left out together."),
]
Level = Annotated[float, typer.Option(help="Confidence level of the intervals.")]


@writing(files=("inputs", "models", "blocks"))
def across_command(
    inputs: Inputs,
    models: Models,
    context: typer.Context,
    progress: bool,
    measure: MeasureName = "rsa[rdm=sqeuclidean,compare=whitened_cosine]",
    dissimilarities: Given = False,
    pool: Pool = "",
    blocks: Blocks = None,
    level: Level = 0.95,
) -> Output:
    """Score models on several subjects, with the noise ceiling.

    Errors allow for other subjects and other stimuli. Each file is one subject, (stimuli, units),
    and each of --models one model, (stimuli, features), of the same stimuli in the same order.
    p-values are adjusted by Holm's method for the number of models.
    """
    check_inputs([*inputs, *models])
    chosen = chosen_measures([measure]) or []
    if len(chosen) != 1:
        raise ValueError(f"--measure takes one measure; {measure!r} names {len(chosen)}")
    subjects = read_inputs(inputs, "" if dissimilarities else pool)
    if dissimilarities:
        subjects = {name: _given(name, x) for name, x in subjects.items()}
    layers = read_inputs(models, pool)
    labels = read_labels(blocks, "--blocks")
    check_count(labels, next(iter(subjects.values())).shape[0], blocks, "--blocks")
    scores = across(subjects, layers, measure=chosen[0], blocks=labels, level=level)
    rows = scores.records()
    return Output(_tables(scores, rows), _document(scores, rows, context), rows)


def _given(name: str, x: Representation) -> Representation:
    values = np.asarray(x.source)
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"{name}: --dissimilarities needs square matrices; got {values.shape}; leave it out "
            "for responses"
        )
    return from_dissimilarities(values, name)


def _tables(scores: Across, rows: list[dict[str, Any]]) -> list[Any]:
    """Return what a terminal shows: the models, the highest first, the ceiling, and what is
    missing."""
    rows = sorted(rows, key=lambda row: -row["mean"])
    columns = ["model", "mean", f"{scores.level:.0%} interval", "p above 0"]
    columns += ["p below the ceiling"] if scores.ceiling else []
    cells = []
    for row in rows:
        span = f"{number(row['low'], 3)} to {number(row['high'], 3)}"
        line = [row["model"], number(row["mean"], 3), span, p_text(row["above_0"])]
        cells.append(line + ([p_text(row["below_ceiling"])] if scores.ceiling else []))
    lines = [f"{scores.measure}, mean over {len(scores.subjects)} subjects"]
    if scores.ceiling:
        low, error, high = (number(value, 3) for value in scores.ceiling)
        lines.append(f"Noise ceiling: {low} (standard error {error}) to {high}")
    lines += [f"Left out: {name}: {reason}" for name, reason in scores.failures.items()]
    return [plain_table(columns, cells, right=(1, 3, 4)), *lines]


def _document(scores: Across, rows: list[dict[str, Any]], context: typer.Context) -> dict[str, Any]:
    pairs = [
        {"a": a, "b": b, "value": d.value, "low": d.low, "high": d.high, "p": d.p}
        for i, a in enumerate(scores.models)
        for b in scores.models[i + 1 :]
        for d in [scores.difference(a, b)]
    ]
    ceiling = dict(zip(("low", "error", "high"), scores.ceiling)) if scores.ceiling else None
    facts = {"measure": scores.measure, "subjects": scores.subjects, "level": scores.level}
    return {
        **facts,
        "models": rows,
        "differences": pairs,
        "ceiling": ceiling,
        "failures": scores.failures,
        "provenance": run_provenance(context),
    }


commands = commands_of(("across", across_command, ACROSS))
