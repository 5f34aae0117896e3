"""The commands of the group ``bench``: the specific options of every benchmark, and the ranking
over several studies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..base.text import check_choice
from .choices import (
    BASELINE,
    DOMAINS,
    EXPERIMENTS,
    FAILURES,
    GROUPS,
    HYPERPARAMETERS,
    PERMUTATIONS,
    PRECISIONS,
    PROTOCOLS,
    SIZES,
)
from .options import HelpTexts, add_command, output_command
from .suites import SuiteCommands, bench_commands

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..bench.study import Purpose
    from ..bench.suite import Suite
    from ..contracts._measure import Measure
    from ..models.recipe import Recipe
    from ..sections.result import Result

RESI_PAPER_SIZES = ("paper", "paper-slice")  # trained on the paper's data sets
DATA_VARIABLE = "RESEMBLANCE_DATA"  # environment variable with the default of --data
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
    max_samples: int | None = None,
    plan: bool = False,
    format: str = "table",
    groups: str | None = None,
    protocol: str | None = None,
    permute: str | None = None,
    failures: str | None = None,
) -> dict[str, object]:
    """Check the options of the ReSi benchmark, None if not given, and return the options as keyword
    arguments of :func:`resemblance.bench.run`, with plural names ("datasets"). The key "plan" holds
    ``format`` if a plan is requested, otherwise None. Raises ``ValueError`` for an unknown choice,
    and for ``format`` without a plan."""
    words = locals().copy()
    for name, choices in CHOICES_BY_OPTION.items():
        if words[name] is not None:
            check_choice(f"--{name}", words[name], choices)
    options = {PLURAL_OPTIONS.get(name, name): value for name, value in words.items()}
    del options["format"]
    if format != "table" and not plan:
        raise ValueError(
            "--format belongs to --plan; resemblance bench results STUDY --format json writes "
            "results"
        )
    return options | {"plan": format if plan else None}


def _check_model_options(name: str, options: Mapping[str, Any]) -> None:
    training_options = ("size", "domains") if name == "resi" else ("domains",)
    if "models" in options and options.keys() & {*training_options}:
        words = " and ".join(f"--{option.removesuffix('s')}" for option in training_options)
        verb = "are" if len(training_options) > 1 else "is"
        raise ValueError(
            f"--models cannot be combined with {words}, which {verb} for models to be trained"
        )


def run_suite(name: str, study: Path, executor: Executor | None = None, **options: Any) -> Result:
    """Run the benchmark ``name`` with the options of the command, and return the result.

    ``study``: the folder of the run. ``executor``: None for this process. ``options``: keyword
    arguments of :func:`resemblance.bench.run`. At a size of the ReSi paper, the environment
    variable ``RESEMBLANCE_DATA`` gives a missing folder of data.
    """
    from ..bench import run

    _check_model_options(name, options)
    needs_data = name == "resi" and options.get("size") in RESI_PAPER_SIZES
    if needs_data and os.environ.get(DATA_VARIABLE):
        options.setdefault("data", Path(os.environ[DATA_VARIABLE]))
    return run(name, study, jobs=executor, **options)


def print_resi_plan(study: Path, **options: Any) -> bool:
    """Print the plan of a run if ``options`` has "plan" ("table" or "json"); return whether a plan
    was printed. Raises ``ValueError`` for a size without plan."""
    from ..bench.resi.planning import plan, plan_table
    from ..bench.resi.rules import ScoringOptions
    from ..report.output import print_tables
    from ..report.terminal import plain_table

    if "plan" not in options:
        return False
    _check_model_options("resi", options)
    size = options.get("size", "mini")
    if size not in RESI_PAPER_SIZES:
        raise ValueError(f"--plan is for --size {' and '.join(RESI_PAPER_SIZES)}; got {size}")
    # Raises for options that a run would refuse.
    ScoringOptions(max_samples=options.get("max_samples"))
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
    """Return the result in a study, for all measures or for the measures of the families
    ``family``, ranked among each other. Raises ``ValueError`` for an unknown family."""
    from ..bench.loading import load_study
    from ..bench.resi import suite as resi
    from ..bench.resi.page import result_of
    from ..contracts._measure import MEASURE_FAMILIES

    for name in family or ():
        check_choice("--family", name, MEASURE_FAMILIES)
    result = load_study(study)
    if not family:
        return result
    subset = result_of(resi.load_evaluation(study).only(family))
    return replace(subset, size=result.size, provenance=result.provenance)


COMBINE_EXAMPLES = (
    "bench combine resi sensitivity manifolds stability",
    "bench combine resi manifolds -o ranks.csv",
    "bench combine resi manifolds --html ranks.html --open",
)


@output_command(page="Write the page to this file.", place=Path("combined.html"))
def combine_command(studies: list[Path], baseline: str = BASELINE) -> Result:
    """Combine the answers of several benchmarks about measures, and judge the conclusions of the
    papers.

    Run the benchmarks first: resemblance bench run NAME.
    """
    from ..bench import combine

    return combine(*studies, baseline=baseline)


def describe_suite(name: str, **overrides: Any) -> SuiteCommands:
    """Return the description of a benchmark; ``overrides`` replace its usual fields. The module of
    the benchmark is imported when a command runs."""

    def suite() -> Suite:
        from ..bench import load_suite

        return load_suite(name)

    facts: dict[str, Any] = {
        "run": partial(run_suite, name),
        "sizes": SIZES[name],
        "measures": lambda options: suite().measures,
        "experiments": EXPERIMENTS[name],
        "plan": lambda purpose: (suite().recipes or _no_recipes)(purpose),
    }
    return SuiteCommands(name, **(facts | overrides))


def _no_recipes(purpose: Purpose) -> Sequence[Recipe]:
    return ()


# ---------------------------------------------------------------------------- options of one suite


def parse_sensitivity_options(models: Path | None = None) -> dict[str, object]:
    """Return the options of the sensitivity benchmark as keyword arguments of ``run``."""
    return {"models": models}


# --------------------------------------------------------------------------------------- the suites


def _default_resi_measures(options: Mapping[str, object]) -> Iterable[str | Measure]:
    from ..bench.resi import suite as resi

    return resi.usual_measures(Path(str(options["study"])), options)


DESCRIPTIONS: Mapping[str, SuiteCommands] = {
    "resi": describe_suite(
        "resi",
        measures=_default_resi_measures,
        size="mini",
        domains=DOMAINS,
        options=parse_resi_options,
        read=read_resi_result,
        preview=print_resi_plan,
        trains=True,
        keeps_options=True,
    ),
    "sensitivity": describe_suite(
        "sensitivity", domains=DOMAINS, options=parse_sensitivity_options
    ),
    "manifolds": describe_suite("manifolds"),
    "stability": describe_suite("stability"),
}


HELP: HelpTexts = {
    "studies": "Folders of studies, one of each benchmark.",
    "baseline": "The measure to compare with.",
    "models": "A folder with models of your own, instead of trained models.",
    "data": f"The folder with the paper's data sets; default: ${DATA_VARIABLE}.",
    "dataset": "At paper sizes: only this data set (repeatable).",
    "architecture": "At paper sizes: only this architecture (repeatable).",
    "test": "At paper sizes: only this test (repeatable).",
    "seeds": "At paper sizes: number of normal models; a group has half as many. Default: 10.",
    "hyperparameters": "At paper sizes: the hyperparameters of the authors' code (resi-code, the "
    "default) or of the paper (paper).",
    "models_from": "The folder of the authors' trained models, used instead of training.",
    "device": "Device that trains the paper's models, such as cuda:1.",
    "precision": f"Precision of that training: {', '.join(PRECISIONS)}.",
    "download": "Allow libraries to download data sets into --data.",
    "max_samples": "Largest number of inputs of each data set to compare, drawn at random once.",
    "plan": "At paper sizes: print the numbers of models, hours and disk space, and stop.",
    "run.format": "Format of --plan: table or json.",
    "groups": "published: compare all groups of models; separated: only groups whose accuracies do "
    "not overlap. At paper sizes the default is published.",
    "protocol": "Definitions of the tests: of the paper (default), or of the authors' code "
    "(resi-code).",
    "permute": "Units of permutation tests: models or pairs.",
    "failures": "A measure that fails in a task: rank the measure last, or leave the measure "
    "unranked; default: by protocol.",
    "family": "Only measures of this family, ranked among themselves (repeatable).",
}


commands = typer.Typer()
_bench_commands = bench_commands(DESCRIPTIONS, HELP)
add_command(_bench_commands, "combine", combine_command, *COMBINE_EXAMPLES, help=HELP)
commands.add_typer(_bench_commands, name="bench")
