"""The command that scores models on the recordings of several subjects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..dissimilarities import from_dissimilarities
from ..inference.across import across
from ..report.output import Output
from ..report.outputs import across_output
from ..representation import Representation
from .comparing import read_inputs
from .declaring import (
    Inputs,
    Jobs,
    Level,
    Pool,
    Scheduler,
    Seed,
    commands_of,
    run_provenance,
    writing,
)
from .executors import executors
from .labels import check_count, read_labels
from .options import check_inputs, chosen_measures, rewording

ACROSS = (
    "across subjects/ --models layers/",
    'across subjects/ --models layers/ -m "rsa[compare=whitened_cosine]" --blocks images.csv',
    "across rdms/ --models layers/ --dissimilarities -o scores.csv",
    "across subjects/ --models layers/ --fitted layers/ --folds 4 --jobs 4",
)

Models = Annotated[
    list[str] | None,
    typer.Option("--models", help="Files or folders of the models' features (repeatable)."),
]
Fitted = Annotated[
    list[str] | None,
    typer.Option(
        "--fitted", help="A folder or .npz file with the parts of one fitted model (repeatable)."
    ),
]
FitName = Annotated[
    str, typer.Option("--fit", help="weights of all parts, one part, or two neighbours.")
]
Folds = Annotated[
    int | None,
    typer.Option(min=1, help="Folds of stimuli for fitted models; default: 2 to 5; 1: no folds."),
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


@writing(files=("inputs", "models", "fitted", "blocks"))
def across_command(
    inputs: Inputs,
    context: typer.Context,
    progress: bool,
    models: Models = None,
    fitted: Fitted = None,
    measure: MeasureName = "rsa[rdm=sqeuclidean,compare=whitened_cosine]",
    dissimilarities: Given = False,
    pool: Pool = "",
    fit: FitName = "weights",
    folds: Folds = None,
    blocks: Blocks = None,
    level: Level = 0.95,
    seed: Seed = 0,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
) -> Output:
    """Score models on several subjects, with the noise ceiling.

    Errors allow for other subjects and other stimuli. Each file is one subject, (stimuli, units),
    and each of --models one model, (stimuli, features), of the same stimuli in the same order. The
    files of a --fitted folder are one model: a sum whose weights are fitted to other subjects and
    other stimuli; then all models are scored on the stimuli of each fold. p-values are adjusted by
    Holm's method for the number of models.
    """
    models, fitted = models or [], fitted or []
    if not models and not fitted:
        raise ValueError("there are no models: give --models FILE or --fitted FOLDER")
    check_inputs([*inputs, *models, *fitted])
    chosen = chosen_measures([measure]) or []
    if len(chosen) != 1:
        raise ValueError(f"--measure takes one measure; {measure!r} names {len(chosen)}")
    subjects = read_inputs(inputs, "" if dissimilarities else pool)
    if dissimilarities:
        subjects = {name: _given(name, x) for name, x in subjects.items()}
    layers: dict[str, Any] = read_inputs(models, pool) if models else {}
    for place in fitted:
        if Path(place).stem in layers:
            raise ValueError(f"two models are called {Path(place).stem!r}; rename one of them")
        layers[Path(place).stem] = list(read_inputs([place], pool).values())
    labels = read_labels(blocks, "--blocks")
    check_count(labels, next(iter(subjects.values())).shape[0], blocks, "--blocks")
    options: dict[str, Any] = {"fit": fit, "folds": folds, "blocks": labels, "level": level}
    with executors(jobs, scheduler, usual=1) as (executor, _), rewording(_for_terminals):
        options |= {"seed": seed, "executor": executor, "progress": progress}
        scores = across(subjects, layers, measure=chosen[0], **options)
    return across_output(scores, run_provenance(context))


def _for_terminals(text: str) -> str:
    text = text.replace("write rs.from_dissimilarities(D)", "of subjects add --dissimilarities")
    return text.replace("folds=", "--folds ")


def _given(name: str, x: Representation) -> Representation:
    values = np.asarray(x.source)
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"{name}: --dissimilarities needs square matrices; got {values.shape}; leave it out "
            "for responses"
        )
    return from_dissimilarities(values, name)


commands = commands_of(("across", across_command, ACROSS))
