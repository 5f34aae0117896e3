"""The parameters of assembled commands: those that all suites have, and those of one."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer


def option(
    name: str, kind: Any, help: str, *spellings: str, default: Any = None, **more: Any
) -> Parameter:
    """Return an option of a command; ``more`` is for ``typer.Option``."""
    info = typer.Option(*spellings, help=help, **more)
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def study_argument(folder: str) -> Parameter:
    """Return the argument that names the folder of a study."""
    info = typer.Argument(help="The folder of the study.")
    return Parameter(
        "study", Parameter.KEYWORD_ONLY, default=Path(folder), annotation=Annotated[Path, info]
    )


def parameters_of(function: Callable[..., object], skipped: int = 0) -> list[Parameter]:
    """Return the parameters of a function, all but the first ``skipped``, as those of a command."""
    parameters = list(signature(function, eval_str=True).parameters.values())[skipped:]
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]


def with_parameters(command: Callable[..., Any], *parameters: Parameter) -> Callable[..., Any]:
    """Give a function that takes any words the parameters of a command, and return it."""
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command


OPEN = option("opened", bool, "Open the page in the browser.", "--open", default=False)
CONTEXT = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
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
    option(
        "jobs",
        int | None,
        "Number of processes; default: one per processor.",
        "--jobs",
        "-j",
        min=1,
    ),
    option(
        "scheduler",
        str | None,
        "Compute on the Dask cluster with this address or scheduler file instead of local "
        "processes.",
    ),
    option("memory", str, "Memory for intermediate results, per process.", default="half"),
    option(
        "quiet",
        bool,
        "Show neither progress nor messages, only errors.",
        "--quiet",
        "-q",
        default=False,
    ),
)
GPU = (  # of the command ``run``, for suites that train models elsewhere than they compare
    option(
        "gpu_resource",
        str | None,
        "Train only on workers of the cluster with this resource, such as GPU.",
        "--gpu-resource",
    ),
)
