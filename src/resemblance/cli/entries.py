"""The suites with options of their own, and the commands that only one suite has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ..report.numbers import number
from ..report.output import show
from ..report.terminal import plain_table
from ..sources.files import read_files
from ..sources.training import DOMAINS
from ..stability import transformation_study
from ..suites import SUITES
from ..suites.resi import suite as resi
from ..suites.resi.models import models_of
from ..suites.sensitivity import models as sensitivity_models
from ..suites.sensitivity import suite as sensitivity
from .declaring import add_command
from .resi import preview_resi, read_resi, resi_options, run_resi
from .suites import SuiteCommands, run_command, suite_commands

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


def plain_suite(name: str) -> SuiteCommands:
    """Return what the factory must know of a suite without options of its own: its module ``suite``
    says it, whose docstring is the help."""
    suite = import_module(f"resemblance.suites.{name}.suite")
    return SuiteCommands(
        name,
        " ".join((suite.__doc__ or "").split()),
        suite.run,
        tuple(suite.SIZES),
        lambda options: suite.MEASURES,
        experiments=tuple(e.name for e in getattr(suite, "EXPERIMENTS", ())),
    )


# ---------------------------------------------------------------------------- options of one suite


def _own_models(
    models: Annotated[
        Path, typer.Argument(help="A folder of models of your own; nothing is trained.")
    ],
) -> dict[str, object]:
    return {"models": models}


# --------------------------------------------------------------------------------------- the suites


RESI = SuiteCommands(
    "resi",
    "The ReSi benchmark: six tests of similarity measures on models of three domains.",
    run_resi,
    tuple(resi.SIZES),
    lambda options: resi.usual_measures(Path(str(options["study"])), options),
    size="mini",
    trial="slice",
    domains=tuple(DOMAINS),
    options=resi_options,
    read=read_resi,
    plan=models_of,
    preview=preview_resi,
    trains=True,
    keeps_options=True,
)
SENSITIVITY = SuiteCommands(
    "sensitivity",
    "The sensitivity benchmark: do measures respond to what affects function, and to nothing else?",
    sensitivity.run,
    tuple(sensitivity.SIZES),
    lambda options: sensitivity.MEASURES,
    experiments=tuple(b.name for b in sensitivity.BENCHMARKS),
    domains=tuple(DOMAINS),
    plan=lambda purpose: sensitivity_models.recipes(purpose.size, tuple(DOMAINS)),
)
SPECIAL: Mapping[str, SuiteCommands] = {suite.name: suite for suite in (RESI, SENSITIVITY)}


# ---------------------------------------------------------------------------- commands of one suite


def evaluate_command() -> Callable[..., int]:
    """Return the command that does the sensitivity benchmark on models of a user's own."""
    command = run_command(SENSITIVITY._replace(domains=(), options=_own_models))
    command.__doc__ = (
        "Run the benchmarks that models of your own allow, list the others, and write a report."
    )
    return command


def transformations_command(
    array: Annotated[Path, typer.Argument(help="A .npy file, (samples, features).")],
    seed: Annotated[
        int, typer.Option(help="Random seed of projections, features, noise and splits.")
    ] = 320,
    splits: Annotated[
        int, typer.Option("--splits", "-k", min=1, help="Number of splits of the features.")
    ] = 30,
) -> None:
    """Transform a representation as the paper does, and print stability and similarity."""
    representations = read_files([str(array)])
    if len(representations) != 1:
        raise ValueError(f"{array} has {len(representations)} arrays; give one")
    study = transformation_study(representations.popitem()[1], seed=seed, k=splits)
    rows = [
        [entry if isinstance(entry, str) else number(float(entry)) for entry in row]
        for row in study
    ]
    show([plain_table(COLUMNS, rows, right=range(2, len(COLUMNS))), "", NOTE])


MORE: Mapping[str, Sequence[tuple[str, Callable[..., object], tuple[str, ...]]]] = {
    "sensitivity": [
        ("evaluate", evaluate_command(), ("sensitivity evaluate models/ study --only layers",))
    ],
    "stability": [
        ("transformations", transformations_command, ("stability transformations layer1.npy",))
    ],
}


commands = typer.Typer()
for _name in SUITES:
    _group = suite_commands(SPECIAL[_name] if _name in SPECIAL else plain_suite(_name))
    for _command, _function, _calls in MORE.get(_name, ()):
        add_command(_group, _command, _function, *_calls)
    commands.add_typer(_group, name=_name)
