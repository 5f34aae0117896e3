"""The commands of the stability suite, and the transformations of an array of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..report.output import show
from ..stability import transformation_study
from ..suites.stability.suite import EXPERIMENTS, MEASURES, SIZES, run
from .findings import suite_commands
from .options import examples

commands = suite_commands(
    "stability",
    "stability",
    "The stability suite: do measures see what was deleted, and warn before accuracy is lost?",
    SIZES,
    run,
    EXPERIMENTS,
    MEASURES,
    title="The stability suite",
    introduction=(
        "Leading components are deleted from a representation one after the other, and the weights "
        "of trained networks are disturbed more and more. A measure should follow both, after Raju "
        "2026 (arXiv 2601.09173)."
    ),
)
COLUMNS = (
    "transformation",
    "regime",
    "features",
    "feature split",
    "basis split",
    "CKA",
    "CKA without itself",
)
NOTE = "CKA: mean of linear CKA with the original, its first 100 components and its z-scores."


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

    representations = read_files([str(array)])
    if len(representations) != 1:
        raise ValueError(f"{array} has {len(representations)} arrays; give one")
    study = transformation_study(representations.popitem()[1], seed=seed, k=splits)
    rows = [
        [entry if isinstance(entry, str) else number(float(entry)) for entry in row]
        for row in study
    ]
    show([plain_table(COLUMNS, rows, right=range(2, len(COLUMNS))), "", NOTE])
