"""The options of the command ``run`` of all suites, and what does not go together with a pack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from ..packs import open_pack
from ..suites import run
from .declaring import CONTEXT, AllJobs, Memory, Opened, Quiet, keyword, option

OPEN = keyword("opened", Opened, False)
COMMON = (  # of the command ``run``, for all suites
    option(
        "measure",
        list[str] | None,
        "Add a measure to the usual ones, or to --measures; file.py:name is run (repeatable).",
    ),
    option(
        "measures", list[str] | None, "Use these instead of the usual measures.", "--measures", "-m"
    ),
    option(
        "claims",
        str | None,
        "Judge the claims of a paper by FILE.py:NAME, a mapping from sections to functions.",
    ),
    keyword("jobs", AllJobs),
    option(
        "scheduler",
        str | None,
        "Compute on the Dask cluster with this address or scheduler file instead of local "
        "processes.",
    ),
    keyword("memory", Memory, "half"),
    keyword("quiet", Quiet, False),
)
GPU = (  # of the command ``run``, for suites that train models elsewhere than they compare
    option(
        "gpu_resource",
        str | None,
        "Train only on workers of the cluster with this resource, such as GPU.",
        "--gpu-resource",
    ),
)
PACK = option(
    "pack", str | None, "Use the features of this pack, NAME@VERSION; nothing is trained."
)
TOGETHER = {"study", "pack"} | {p.name for p in (CONTEXT, OPEN, *COMMON)} - {"claims"}


def study_argument(folder: str) -> Parameter:
    """Return the argument that names the folder of a study."""
    help = "The folder of the study."
    return keyword("study", Annotated[Path, typer.Argument(help=help)], Path(folder))


def pack_options(
    words: Mapping[str, Any], parameters: Iterable[Parameter], suite: str
) -> dict[str, object]:
    """Return the options of a run on a pack as :func:`resemblance.suites.run` takes them.

    Raises ``ValueError`` for options that choose what a pack has settled, and for the pack of
    another suite.
    """
    for parameter in parameters:
        name = parameter.name
        if name not in TOGETHER and words[name] != parameter.default:
            raise ValueError(
                f"--{name.replace('_', '-')} and --pack exclude each other: what a suite runs on, "
                "and how, is settled by the pack"
            )
    pack = open_pack(words["pack"])
    if pack.manifest.suite != suite:
        raise ValueError(
            f"{pack.manifest.identity} is a pack of {pack.manifest.suite}, not of {suite}: "
            f"resemblance {pack.manifest.suite} run --pack {words['pack']}"
        )
    return {"pack": pack}


def runner(suite: str, options: Mapping[str, object]) -> Any:
    """Return what runs a suite on the pack among the options; None without one."""
    return partial(run, suite) if "pack" in options else None
