"""Suites that grade measures: each puts them to a test whose outcome is known."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..results import result as results
from ..results.result import Result
from .study import purpose

__all__ = ["SUITES", "load_result", "run"]

SUITES: Mapping[str, str] = {  # packages, and what they are called
    "resi": "ReSi (Klabunde et al. 2025)",
    "sensitivity": "Sensitivity and specificity (Ding et al. 2021)",
    "manifolds": "Manifolds (Islam et al. 2025)",
    "stability": "Stability (Raju 2026)",
}


def run(suite: str, folder: str | Path | None = None, **options: Any) -> Result:
    """Run a suite by name, such as ``run("manifolds", "study", size="small")``.

    The options are those of the ``run`` of its package; all suites have ``measures``, ``size``,
    ``executor``, ``memory`` and ``progress``.

    Raises ``ValueError`` for a suite that does not exist, and what the suite raises.
    """
    if suite not in SUITES:
        raise ValueError(f"no suite {suite!r}; known: {', '.join(SUITES)}")
    result: Result = importlib.import_module(f"{__name__}.{suite}.suite").run(folder, **options)
    return result


def load_result(study: str | Path) -> Result:
    """Return the result of the study in a folder; also one that an earlier version of its suite
    kept in another form, if the suite can read it.

    Raises ``ValueError`` for a folder without a result, and for one that cannot be read.
    """
    folder = Path(study)
    file = folder / "result.json"
    if not file.exists():
        raise ValueError(
            f"{folder} has no results yet: run a suite there, such as: resemblance resi run "
            f"{folder}"
        )
    if (folder / "study.json").exists() and (suite := purpose(folder).suite) in SUITES:
        reader = getattr(importlib.import_module(f"{__name__}.{suite}"), "read_result", None)
        if reader is not None:
            result: Result = reader(folder)
            return result
    return results.load_result(file)
