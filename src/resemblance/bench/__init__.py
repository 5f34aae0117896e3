"""Benchmarks of measures: every benchmark tests similarity measures on models or data with a known
answer.

:func:`run` runs a benchmark, :func:`combine` says what several benchmarks answer together, and
:func:`rank` compares a measure with a baseline, question by question, without training a model.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.text import check_choice
from .packs import Pack, open_pack

if TYPE_CHECKING:
    from ..contracts._measure import Measure
    from ..engine.jobs import Jobs
    from ..sections.result import Result
    from .joint import combine as combine
    from .ranking.verdicts import rank as rank
    from .study import ClaimJudge, StageProgress
    from .suite import Suite

__all__ = ["SUITES", "combine", "rank", "run"]

SUITES: Mapping[str, str] = {  # subpackage and title of every benchmark
    "resi": "ReSi (Klabunde et al. 2025)",
    "sensitivity": "Sensitivity and specificity (Ding et al. 2021)",
    "manifolds": "Manifolds (Islam et al. 2025)",
    "stability": "Stability (Raju 2026)",
}
# Modules that are imported on first use.
_HOMES = {"combine": "joint", "rank": "ranking.verdicts"}


def run(
    name: str | Suite,
    study: str | Path | None = None,
    *,
    pack: str | Path | Pack | None = None,
    measures: Iterable[str | Measure] | None = None,
    size: str | None = None,
    jobs: Jobs = None,
    memory: int | str = "half",
    progress: StageProgress | None = None,
    claims: Mapping[str, ClaimJudge] | None = None,
    **options: Any,
) -> Result:
    """Run a benchmark, such as ``rs.bench.run("manifolds", "study", size="small")``, or continue an
    earlier run in the same folder.

    Finished work is never repeated: models with an unchanged recipe and undamaged files, and
    comparisons of the same data with the same version of a measure. If the process is killed, only
    the models in training and the last half second of comparisons are lost; with several processes,
    also the blocks that the processes were computing.

    Parameters
    ----------
    name : "resi", "sensitivity", "manifolds" or "stability"; or a :class:`.suite.Suite` of your
        own.
    study : the folder of the study. The folder keeps trained models, every comparison
        (``comparisons.db``) and the result (``result.json``); :func:`resemblance.load` reads the
        result. Without a folder nothing is kept.
    pack : run on the features of this pack, such as "manifolds-compact@1". Nothing is trained, and
        PyTorch is not needed. The size of the result is the name of the pack, ``NAME@VERSION``.
    measures : measures, names, specifications, presets. Default: the measures of the benchmark; for
        a pack, :func:`resemblance.preset` ``"default"``.
    size : number and size of the models or shapes. "small" is a trial, "default" takes minutes, and
        "paper" is as large as the paper. "resi" has "slice" (a trial), "demo",
        "mini" (default), "architectures", "standard", "paper" and "paper-slice".
    jobs : number of processes, or an executor of ``concurrent.futures``; by default this process
        computes. The result does not depend on ``jobs``.
    memory : for intermediates of representations at a time, as for :func:`resemblance.compare`.
    progress : called with (stage, done, total).
    claims : by the name of a section, a function that judges the claims of a paper on the facts of
        the section; the section shows the verdicts. See the benchmark for its facts.
    options : options of one benchmark. ``only``: names of experiments of "sensitivity" and
        "stability". ``with_intervals``: False leaves out intervals and p-values of "sensitivity".
        Other options: see ``configure_resi`` and ``configure_sensitivity``.

    Raises ``ValueError`` for a benchmark that does not exist, for the pack of another benchmark,
    for unknown words and measures, for a number of ``jobs`` below 1, if another process is working
    on the study, and if the folder holds a study of something else.
    """
    suite = load_suite(name) if isinstance(name, str) else name
    opened = open_pack(pack) if isinstance(pack, str | Path) else pack
    if opened is not None and opened.manifest.suite != suite.name:
        identity, owner = opened.manifest.identity, opened.manifest.suite
        raise ValueError(
            f"{identity} is a pack of {owner}, not of {suite.name}: run {suite.name} on one of its "
            f"own packs, or {owner} on this one"
        )
    carry_out = importlib.import_module(f"{__name__}.suite").carry_out
    result: Result = carry_out(
        suite,
        study,
        pack=opened,
        measures=measures,
        size=size,
        jobs=jobs,
        memory=memory,
        progress=progress,
        claims=claims,
        **options,
    )
    return result


def load_suite(name: str) -> Suite:
    """Return a suite of :data:`SUITES` by its name; ``ValueError`` for an unknown name."""
    check_choice("name of a benchmark", name, SUITES)
    suite: Suite = importlib.import_module(f"{__name__}.{name}.suite").SUITE
    return suite


def __getattr__(name: str) -> Any:
    """Import a public function on first access."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
