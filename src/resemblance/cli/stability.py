"""The commands of the stability suite, and the transformations of an array of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..report.output import show
from ..suites.stability.suite import EXPERIMENTS, MEASURES, SIZES, run
from .findings import suite_commands
from .options import examples

commands = suite_commands(
    "stability",
    "stability",
    "The stability suite: what the paper of Shesha says of stability, similarity and drift, run "
    "and judged.",
    SIZES,
    run,
    EXPERIMENTS,
    MEASURES,
    title="The stability suite",
    introduction=(
        "Raju 2026 (arXiv 2601.09173) proposes to ask of one representation how reliable its "
        "geometry is, beside how similar it is to others. The suite does the experiments of the "
        "paper again that need no download, with the author's random numbers where data are made, "
        "and puts the paper's numbers beside ours."
    ),
)


@commands.command("transformations", epilog=examples("stability transformations layer1.npy"))
def transformations_command(
    array: Annotated[Path, typer.Argument(help="A .npy file, (samples, features).")],
    seed: Annotated[
        int, typer.Option(help="Of projections, chosen features, noise and splits.")
    ] = 320,
    splits: Annotated[
        int, typer.Option("--splits", "-k", min=1, help="Splits of the features.")
    ] = 30,
) -> None:
    """Transform a representation as the paper transforms encoders, and print the stability and
    similarity of each."""
    from ..report.numbers import number
    from ..report.terminal import plain_table
    from ..sources.files import read_files
    from ..suites.stability.suite import transformation_study, transformation_table

    representations = read_files([str(array)])
    if len(representations) != 1:
        raise ValueError(f"{array} has {len(representations)} arrays; give one")
    found = transformation_study(representations.popitem()[1], seed=seed, k=splits)
    table = transformation_table(found)
    rows = [
        [entry if isinstance(entry, str) else number(entry) for entry in row] for row in table.rows
    ]
    show([plain_table(table.columns, rows, right=range(2, len(table.columns))), "", table.note])
