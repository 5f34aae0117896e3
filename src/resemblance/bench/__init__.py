"""Suites that grade measures: each puts them to a test whose outcome is known."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.text import check_choice
from ..sections import result as results
from ..sections.result import Result
from .packs import Pack, open_pack

__all__ = ["SUITES", "load_result", "run"]

SUITES: Mapping[str, str] = {  # packages, and what they are called
    "resi": "ReSi (Klabunde et al. 2025)",
    "sensitivity": "Sensitivity and specificity (Ding et al. 2021)",
    "manifolds": "Manifolds (Islam et al. 2025)",
    "stability": "Stability (Raju 2026)",
}


def run(
    suite: str,
    folder: str | Path | None = None,
    *,
    pack: str | Path | Pack | None = None,
    **options: Any,
) -> Result:
    """Run a suite by name, such as ``run("manifolds", "study", size="small")``.

    The options are those of the ``run`` of its package; all suites have ``measures``, ``size``,
    ``executor``, ``memory`` and ``progress``. ``pack``: run it on the features of a pack, such as
    "manifolds-compact@1", on which nothing is trained; the options are then those of
    :func:`resemblance.bench.pinned.run_pack`.

    Raises ``ValueError`` for a suite that does not exist, for the pack of another suite, and what
    the suite raises.
    """
    check_choice("suite", suite, SUITES)
    if pack is None:
        return importlib.import_module(f"{__name__}.{suite}.suite").run(folder, **options)
    opened = pack if isinstance(pack, Pack) else open_pack(pack)
    manifest = opened.manifest
    if manifest.suite != suite:
        raise ValueError(
            f"{manifest.identity} is a pack of {manifest.suite}, not of {suite}: run {suite} on "
            f"one of its own packs, or {manifest.suite} on this one"
        )
    return importlib.import_module(f"{__name__}.pinned").run_pack(opened, folder, **options)


def load_result(study: str | Path) -> Result:
    """Return the result of the study in a folder.

    Raises ``ValueError`` for a folder without a result, and for one that cannot be read.
    """
    folder = Path(study)
    if not (folder / "result.json").exists():
        raise ValueError(
            f"{folder} has no results yet: run a benchmark there, such as: resemblance bench run "
            f"resi {folder}"
        )
    return results.load_result(folder / "result.json")
