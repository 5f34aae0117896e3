"""The commands of the suites: what each has of its own, and the ranking over several studies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..base.text import check_choice
from .choices import (
    DOMAINS,
    EXPERIMENTS,
    FAILURES,
    GROUPS,
    HYPERPARAMETERS,
    PERMUTATIONS,
    PRECISIONS,
    PROTOCOLS,
    SIZES,
    SUITES,
)
from .options import HelpTexts, add_command, output_command
from .suites import HELP as RUN
from .suites import SuiteCommands, run_command, suite_commands

if TYPE_CHECKING:
    from ..bench.study import Purpose
    from ..contracts._measure import Measure
    from ..models.recipe import Recipe
    from ..sections.result import Result

DATA_VARIABLE = "RESEMBLANCE_DATA"  # in the environment, what --data is by default
PLURAL_OPTIONS = {"dataset": "datasets", "architecture": "architectures", "test": "tests"}
PAPER_SUBSET_OPTIONS = (*PLURAL_OPTIONS.values(), "seeds", "hyperparameters", "domains")
CHOICES_BY_OPTION = {
    "protocol": PROTOCOLS,
    "permute": PERMUTATIONS,
    "failures": FAILURES,
    "groups": GROUPS,
    "hyperparameters": HYPERPARAMETERS,
    "precision": PRECISIONS,
    "format": ("table", "json"),
}


def parse_resi_options(
    models: Path | None = None,
    data: Path | None = None,
    dataset: list[str] | None = None,
    architecture: list[str] | None = None,
    test: list[str] | None = None,
    seeds: int | None = None,
    hyperparameters: str | None = None,
    models_from: Path | None = None,
    device: str | None = None,
    precision: str | None = None,
    download: bool = False,
    samples: int | None = None,
    plan: bool = False,
    format: str = "table",
    groups: str | None = None,
    protocol: str | None = None,
    permute: str | None = None,
    failures: str | None = None,
) -> dict[str, object]:
    """Check the words of the options, and return them as ``run`` takes them."""
    words = locals().copy()
    for name, known in CHOICES_BY_OPTION.items():
        if words[name] is not None:
            check_choice(f"--{name}", words[name], known)
    named = {PLURAL_OPTIONS.get(name, name): value for name, value in words.items()}
    for name in ("format", "plan", "download"):
        del named[name]
    if format != "table" and not plan:
        raise ValueError(
            "--format belongs to --plan; resemblance resi results STUDY --format json writes "
            "results"
        )
    return named | {"plan": format if plan else None, "download": download or None}


def _check_model_options(options: Mapping[str, Any]) -> None:
    if "models" in options and options.keys() & {"size", "domains"}:
        raise ValueError(
            "--models names existing models; --size and --domain are for models to be trained"
        )


def run_resi_suite(study: Path, **options: Any) -> Result:
    """Run the suite as the options of the command say."""
    from ..bench.resi import suite as resi
    from ..bench.resi.paper import PAPER_SUBSETS

    _check_model_options(options)
    if options.get("size") in PAPER_SUBSETS and os.environ.get(DATA_VARIABLE):
        options.setdefault("data", Path(os.environ[DATA_VARIABLE]))
    return resi.run(study, **options)


def print_resi_plan(study: Path, **options: Any) -> bool:
    """Print the plan of a run where that was asked for, and return whether it was."""
    from ..bench.resi.paper import PAPER_SUBSETS
    from ..bench.resi.planning import plan, plan_table
    from ..bench.resi.rules import ScoringOptions
    from ..report.output import print_tables
    from ..report.terminal import plain_table

    if "plan" not in options:
        return False
    _check_model_options(options)
    size = options.get("size", "mini")
    if size not in PAPER_SUBSETS:
        raise ValueError(f"--plan is for --size {' and '.join(PAPER_SUBSETS)}; got {size}")
    ScoringOptions(samples=options.get("samples"))  # refuses what a run refuses
    rows = plan(
        study, size, **{name: options[name] for name in PAPER_SUBSET_OPTIONS if name in options}
    )
    if options["plan"] == "json":
        print(json.dumps([row._asdict() for row in rows]))
    else:
        header, lines, note = plan_table(rows)
        print_tables([plain_table(header, lines, right=range(2, len(header))), "", note])
    return True


def read_resi_result(study: Path, family: list[str] | None = None) -> Result:
    """Return the result in a study, of all measures or those of some families."""
    from ..bench.loading import load_study
    from ..bench.resi import suite as resi
    from ..bench.resi.page import result_of
    from ..contracts._measure import MEASURE_FAMILIES

    for name in family or ():
        check_choice("--family", name, MEASURE_FAMILIES)
    whole = load_study(study)
    if not family:
        return whole
    fewer = result_of(resi.load_evaluation(study).only(family))
    return replace(fewer, size=whole.size, provenance=whole.provenance)


JOINT_EXAMPLES = (
    "joint resi sensitivity manifolds stability",
    "joint resi manifolds -o ranks.csv",
    "joint resi manifolds --html ranks.html --open",
)


@output_command(page="Write the page to this file.", place=Path("joint.html"))
def joint_command(studies: list[Path]) -> Result:
    """Rank the measures that several suites share, and judge the conclusions of their papers.

    Run the suites first, with common measures: resemblance resi, sensitivity, manifolds, stability.
    """
    from ..bench.joint import joint

    return joint(studies)


TRANSFORMATION_COLUMNS = (
    "transformation",
    "regime",
    "features",
    "feature split",
    "basis split",
    "CKA",
    "CKA without itself",
)
TRANSFORMATION_NOTE = (
    "CKA: mean of linear CKA with the original, its first 100 components and its z-scores."
)


def suite_from_module(name: str, about: str, **more: Any) -> SuiteCommands:
    """Return the description of a suite, which is imported when one of its commands runs; ``about``
    is the help."""

    def suite() -> Any:
        return import_module(f"resemblance.bench.{name}.suite")

    return SuiteCommands(
        name,
        about,
        lambda study, **options: suite().run(study, **options),
        SIZES[name],
        lambda options: suite().MEASURES,
        experiments=EXPERIMENTS[name],
        **more,
    )


# ---------------------------------------------------------------------------- options of one suite


def _user_models_option(models: Path) -> dict[str, object]:
    return {"models": models}


# --------------------------------------------------------------------------------------- the suites


def _default_resi_measures(options: Mapping[str, object]) -> Iterable[str | Measure]:
    from ..bench.resi import suite as resi

    return resi.usual_measures(Path(str(options["study"])), options)


def _resi_models(purpose: Purpose) -> Sequence[Recipe]:
    from ..bench.resi.models import study_recipes

    return study_recipes(purpose)


def _sensitivity_models(purpose: Purpose) -> Sequence[Recipe]:
    from ..bench.sensitivity import models

    return models.sensitivity_recipes(purpose.size, DOMAINS)


DESCRIPTIONS: Mapping[str, SuiteCommands] = {
    "resi": SuiteCommands(
        "resi",
        "The ReSi benchmark: six tests of similarity measures on models of three domains.",
        run_resi_suite,
        SIZES["resi"],
        _default_resi_measures,
        size="mini",
        trial="slice",
        domains=DOMAINS,
        options=parse_resi_options,
        read=read_resi_result,
        plan=_resi_models,
        preview=print_resi_plan,
        trains=True,
        keeps_options=True,
    ),
    "sensitivity": suite_from_module(
        "sensitivity",
        "The sensitivity benchmark: do measures respond to what affects function, and to nothing "
        "else?",
        domains=DOMAINS,
        plan=_sensitivity_models,
    ),
    "manifolds": suite_from_module(
        "manifolds",
        "The manifold suite: Swiss rolls, rings, clusters and Gaussian blobs whose similarity is "
        "known.",
    ),
    "stability": suite_from_module(
        "stability",
        "The stability suite: do measures see what was deleted, and warn before accuracy is lost?",
    ),
}


# ---------------------------------------------------------------------------- commands of one suite


def evaluate_command() -> Callable[..., int]:
    """Return the command that does the sensitivity benchmark on models of a user's own."""
    command = run_command(
        DESCRIPTIONS["sensitivity"]._replace(domains=(), options=_user_models_option)
    )
    command.__doc__ = (
        "Run the benchmarks that models of your own allow, list the others, and write a report."
    )
    return command


def transformations_command(array: Path, seed: int = 320, splits: int = 30) -> None:
    """Transform a representation as the paper does, and print stability and similarity."""
    from ..base.formatting import format_number
    from ..models.files import read_files
    from ..report.output import print_tables
    from ..report.terminal import plain_table
    from ..stability import transformation_study

    representations = read_files([str(array)])
    if len(representations) != 1:
        raise ValueError(f"{array} has {len(representations)} arrays; give one")
    study = transformation_study(representations.popitem()[1], seed=seed, k=splits)
    rows = [
        [entry if isinstance(entry, str) else format_number(float(entry)) for entry in row]
        for row in study
    ]
    print_tables(
        [
            plain_table(TRANSFORMATION_COLUMNS, rows, right=range(2, len(TRANSFORMATION_COLUMNS))),
            "",
            TRANSFORMATION_NOTE,
        ]
    )


EXTRA_SUITE_COMMANDS: Mapping[str, Sequence[tuple[str, Callable[..., object], tuple[str, ...]]]] = {
    "sensitivity": [
        ("evaluate", evaluate_command(), ("sensitivity evaluate models/ study --only layers",))
    ],
    "stability": [
        ("transformations", transformations_command, ("stability transformations layer1.npy",))
    ],
}


HELP: HelpTexts = {
    "studies": "Folders of studies, each of another suite.",
    "array": "A .npy file, (samples, features).",
    "seed": "Random seed of projections, features, noise and splits.",
    "splits": typer.Option("--splits", "-k", min=1, help="Number of splits of the features."),
    "models": "A folder of models of your own; nothing is trained.",
    "data": f"The folder with the paper's data sets; default: ${DATA_VARIABLE}.",
    "dataset": "At paper sizes: only this data set (repeatable).",
    "architecture": "At paper sizes: only this architecture (repeatable).",
    "test": "At paper sizes: only this test (repeatable).",
    "seeds": "At paper sizes: number of normal models; a group has half as many. Default: 10.",
    "hyperparameters": "At paper sizes: resi-code (default), those of the authors' code, or paper.",
    "models_from": "The folder of the authors' trained models, read instead of trained.",
    "device": "Device that trains the paper's models, such as cuda:1.",
    "precision": f"Precision of that training: {', '.join(PRECISIONS)}.",
    "download": "Allow libraries to download data sets into --data.",
    "samples": "Compare at most this many inputs of each data set, drawn once.",
    "plan": "At paper sizes: print models, hours and disk space, and stop.",
    "run.format": "Format of --plan: table or json.",
    "groups": "published: compare all groups of models; separated: only groups whose accuracies do "
    "not overlap. At paper sizes the default is published.",
    "protocol": "paper (default), or resi-code: what the authors' code computes.",
    "permute": "Units of permutation tests: models or pairs.",
    "failures": "Rank a measure that fails in a cell last, or leave it unranked; default by "
    "protocol.",
    "family": "Only measures of this family, ranked among themselves (repeatable).",
}


commands = typer.Typer()
for _name in SUITES:
    _group = suite_commands(DESCRIPTIONS[_name], HELP)
    for _command, _function, _calls in EXTRA_SUITE_COMMANDS.get(_name, ()):
        add_command(_group, _command, _function, *_calls, help={**RUN, **HELP})
    commands.add_typer(_group, name=_name)
add_command(commands, "joint", joint_command, *JOINT_EXAMPLES, help=HELP)
