"""The options that only the ReSi suite has, and what its commands do with them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..measure import FAMILIES
from ..report.output import show
from ..report.terminal import plain_table
from ..results.result import Result
from ..sources.training import HYPERPARAMETERS
from ..sources.training.loop import PRECISIONS
from ..suites import load_result
from ..suites.resi import suite as resi
from ..suites.resi.groups import GROUPS
from ..suites.resi.page import result_of
from ..suites.resi.paper import PORTIONS
from ..suites.resi.planning import plan, table_of
from ..suites.resi.rules import FAILURES, PERMUTATIONS, PROTOCOLS
from .declaring import option, with_parameters
from .options import check_choice

DATA = "RESEMBLANCE_DATA"  # in the environment, what --data is by default
SEVERAL = {"dataset": "datasets", "architecture": "architectures", "test": "tests"}
OF_PORTION = (*SEVERAL.values(), "seeds", "hyperparameters", "domains")
CHOICES = {
    "protocol": PROTOCOLS,
    "permute": PERMUTATIONS,
    "failures": FAILURES,
    "groups": GROUPS,
    "hyperparameters": HYPERPARAMETERS,
    "precision": PRECISIONS,
    "format": ("table", "json"),
}
OPTIONS = (
    option("models", Path | None, "A folder of models of your own; nothing is trained."),
    option("data", Path | None, f"The folder with the paper's data sets; default: ${DATA}."),
    option("dataset", list[str] | None, "At paper sizes: only this data set (repeatable)."),
    option(
        "architecture", list[str] | None, "At paper sizes: only this architecture (repeatable)."
    ),
    option("test", list[str] | None, "At paper sizes: only this test (repeatable)."),
    option(
        "seeds",
        int | None,
        "At paper sizes: number of normal models; a group has half as many. Default: 10.",
    ),
    option(
        "hyperparameters",
        str | None,
        "At paper sizes: resi-code (default), those of the authors' code, or paper.",
    ),
    option(
        "models_from",
        Path | None,
        "The folder of the authors' trained models, read instead of trained.",
    ),
    option("device", str | None, "Device that trains the paper's models, such as cuda:1."),
    option("precision", str | None, f"Precision of that training: {', '.join(PRECISIONS)}."),
    option(
        "download",
        bool,
        "Allow libraries to download data sets into --data.",
        "--download",
        default=False,
    ),
    option("samples", int | None, "Compare at most this many inputs of each data set, drawn once."),
    option(
        "plan",
        bool,
        "At paper sizes: print models, hours and disk space, and stop.",
        "--plan",
        default=False,
    ),
    option("format", str, "Format of --plan: table or json.", default="table"),
    option(
        "groups",
        str | None,
        "published: compare all groups of models; separated: only groups whose accuracies do not "
        "overlap. At paper sizes the default is published.",
    ),
    option(
        "protocol", str | None, "paper (default), or resi-code: what the authors' code computes."
    ),
    option("permute", str | None, "Units of permutation tests: models or pairs."),
    option(
        "failures",
        str | None,
        "Rank a measure that fails in a cell last, or leave it unranked; default by protocol.",
    ),
)


def _checked(**words: Any) -> dict[str, object]:
    """Check the words of the options, and return them as ``run`` takes them."""
    for name, known in CHOICES.items():
        if words[name] is not None:
            check_choice(name, words[name], known)
    named = {SEVERAL.get(name, name): value for name, value in words.items()}
    form, wanted, download = named.pop("format"), named.pop("plan"), named.pop("download")
    if form != "table" and not wanted:
        raise ValueError(
            "--format belongs to --plan; resemblance resi results STUDY --format json writes "
            "results"
        )
    return named | {"plan": form if wanted else None, "download": download or None}


resi_options = with_parameters(_checked, *OPTIONS)


def _check_models(options: Mapping[str, Any]) -> None:
    if "models" in options and options.keys() & {"size", "domains"}:
        raise ValueError(
            "--models names existing models; --size and --domain are for models to be trained"
        )


def run_resi(study: Path, **options: Any) -> Result:
    """Run the suite as the options of the command say."""
    _check_models(options)
    if options.get("size") in PORTIONS and os.environ.get(DATA):
        options.setdefault("data", Path(os.environ[DATA]))
    return resi.run(study, **options)


def preview_resi(study: Path, **options: Any) -> bool:
    """Print the plan of a run where that was asked for, and return whether it was."""
    if "plan" not in options:
        return False
    _check_models(options)
    size = options.get("size", "mini")
    if size not in PORTIONS:
        raise ValueError(f"--plan is for --size {' and '.join(PORTIONS)}; got {size}")
    chosen = {name: options[name] for name in (*OF_PORTION, "samples") if name in options}
    rows = plan(study, size, measures=options["measures"], **chosen)
    if options["plan"] == "json":
        print(json.dumps([row._asdict() for row in rows]))
    else:
        header, lines, note = table_of(rows)
        show([plain_table(header, lines, right=range(2, len(header))), "", note])
    return True


def read_resi(
    study: Path,
    family: Annotated[
        list[str] | None,
        typer.Option(help="Only measures of this family, ranked among themselves (repeatable)."),
    ] = None,
) -> Result:
    """Return the result in a study, of all measures or those of some families."""
    for name in family or ():
        check_choice("family", name, FAMILIES)
    whole = load_result(study)
    if not family:
        return whole
    fewer = result_of(resi.load_evaluation(study).only(family))
    return replace(fewer, size=whole.size, provenance=whole.provenance)
