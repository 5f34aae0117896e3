"""Suites that grade measures: each puts them to a test whose outcome is known."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.text import check_choice
from ..sections.result import Result
from .packs import Pack, open_pack

__all__ = ["SUITES", "run"]

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
    suite_pack = pack if isinstance(pack, Pack) else open_pack(pack)
    manifest = suite_pack.manifest
    if manifest.suite != suite:
        raise ValueError(
            f"{manifest.identity} is a pack of {manifest.suite}, not of {suite}: run {suite} on "
            f"one of its own packs, or {manifest.suite} on this one"
        )
    return importlib.import_module(f"{__name__}.pinned").run_pack(suite_pack, folder, **options)
