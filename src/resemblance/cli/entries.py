"""The commands of every suite: what the factory must know of each, and the commands that only one
has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..report.output import show
from ..sources.trained import DOMAINS
from ..suites.manifolds import suite as manifolds
from ..suites.sensitivity import models as sensitivity_models
from ..suites.sensitivity import suite as sensitivity
from ..suites.stability import suite as stability
from .options import examples
from .suites import SuiteCommands, run_command, suite_commands

MANIFOLDS = SuiteCommands(
    "manifolds",
    "The manifold suite: Swiss rolls, rings, clusters and spots whose similarity is known.",
    manifolds.run,
    tuple(manifolds.SIZES),
    lambda options: manifolds.MEASURES,
)
SENSITIVITY = SuiteCommands(
    "sensitivity",
    "The sensitivity benchmark: do measures respond to what affects function, and to nothing else?",
    sensitivity.run,
    tuple(sensitivity.SIZES),
    lambda options: sensitivity.MEASURES,
    experiments=tuple(e.name for e in sensitivity.EXPERIMENTS),
    domains=tuple(DOMAINS),
    plan=lambda purpose: sensitivity_models.recipes(
        purpose.size, purpose.domains or tuple(DOMAINS)
    ),
)
STABILITY = SuiteCommands(
    "stability",
    "The stability suite: what the paper of Shesha says of stability, similarity and drift, run "
    "and judged.",
    stability.run,
    tuple(stability.SIZES),
    lambda options: stability.MEASURES,
    experiments=tuple(e.name for e in stability.EXPERIMENTS),
)


def add_commands(commands: typer.Typer) -> None:
    """Add the commands of every suite."""
    for suite in (SENSITIVITY, MANIFOLDS, STABILITY):
        of_suite = suite_commands(suite)
        for name, command, calls in MORE.get(suite.name, ()):
            of_suite.command(name, epilog=examples(*calls))(command)
        commands.add_typer(of_suite, name=suite.name)


# ---------------------------------------------------------------------------- commands of one suite


def _own_models(
    models: Annotated[
        Path, typer.Argument(help="A folder of models of your own; nothing is trained.")
    ],
) -> dict[str, object]:
    return {"models": models}


def evaluate_command() -> Callable[..., int]:
    """Return the command that does the sensitivity benchmark on models of a user's own."""
    command = run_command(SENSITIVITY._replace(domains=(), options=_own_models))
    command.__doc__ = (
        "Do the benchmarks that models of your own can make, say which they cannot, and write a "
        "report."
    )
    return command


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
    from ..report.findings_numbers import number
    from ..report.terminal import plain_table
    from ..sources.files import read_files
    from ..suites.stability.suite import transformation_study, transformation_table

    representations = read_files([str(array)])
    if len(representations) != 1:
        raise ValueError(f"{array} has {len(representations)} arrays; give one")
    study = transformation_study(representations.popitem()[1], seed=seed, k=splits)
    table = transformation_table(study)
    rows = [
        [entry if isinstance(entry, str) else number(entry) for entry in row] for row in table.rows
    ]
    show([plain_table(table.columns, rows, right=range(2, len(table.columns))), "", table.note])


MORE: Mapping[str, Sequence[tuple[str, Callable[..., object], tuple[str, ...]]]] = {
    "sensitivity": [
        ("evaluate", evaluate_command(), ("sensitivity evaluate models/ study --only layers",))
    ],
    "stability": [
        ("transformations", transformations_command, ("stability transformations layer1.npy",))
    ],
}
