"""Benchmarks of measures: every benchmark tests similarity measures on models or data with a known
answer.

:func:`run` runs a benchmark, :func:`combine` ranks the measures that several benchmarks share, and
:func:`rank` ranks a measure among all other measures without training a model.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.text import check_choice
from ..engine.jobs import Jobs, open_executor
from ..sections.result import Result
from .packs import Pack, open_pack

if TYPE_CHECKING:
    from .joint import combine as combine
    from .ranking.measure_ranks import rank as rank

__all__ = ["SUITES", "combine", "rank", "run"]

SUITES: Mapping[str, str] = {  # subpackage and title of every benchmark
    "resi": "ReSi (Klabunde et al. 2025)",
    "sensitivity": "Sensitivity and specificity (Ding et al. 2021)",
    "manifolds": "Manifolds (Islam et al. 2025)",
    "stability": "Stability (Raju 2026)",
}
# Modules that are imported on first use.
_HOMES = {"combine": "joint", "rank": "ranking.measure_ranks"}


def run(
    name: str,
    study: str | Path | None = None,
    *,
    pack: str | Path | Pack | None = None,
    jobs: Jobs = None,
    **options: Any,
) -> Result:
    """Run a benchmark by its name, such as ``rs.bench.run("manifolds", "study", size="small")``.

    Parameters
    ----------
    name : "resi", "sensitivity", "manifolds" or "stability".
    study : the folder in which the study is kept, so that an interrupted run can continue, and
        :func:`resemblance.load` reads the result; by default a folder that is removed.
    pack : run on the features of this pack, such as "manifolds-compact@1", on which nothing is
        trained; the options are then the options of :func:`resemblance.bench.pinned.run_pack`.
    jobs : number of processes, or an executor of ``concurrent.futures``; by default this process
        computes.
    options : the options of the ``run`` of the benchmark's own package; all benchmarks have
        ``measures``, ``size``, ``memory`` and ``progress``.

    Raises ``ValueError`` for a benchmark that does not exist, for the pack of another benchmark,
    for a number of ``jobs`` below 1, and what the benchmark raises.
    """
    check_choice("name of a benchmark", name, SUITES)
    with open_executor("bench.run", jobs) as executor:
        options = {**options, "executor": executor}
        if pack is None:
            return importlib.import_module(f"{__name__}.{name}.suite").run(study, **options)
        suite_pack = pack if isinstance(pack, Pack) else open_pack(pack)
        manifest = suite_pack.manifest
        if manifest.suite != name:
            raise ValueError(
                f"{manifest.identity} is a pack of {manifest.suite}, not of {name}: run {name} on "
                f"one of its own packs, or {manifest.suite} on this one"
            )
        return importlib.import_module(f"{__name__}.pinned").run_pack(suite_pack, study, **options)


def __getattr__(name: str) -> Any:
    """Import a public function on first access."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
