"""The stability suite: do measures see what is missing, and warn before accuracy is lost?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from ...catalogue import get_measures, preset
from ...measure import Measure
from ...results.claims import Claim
from ...results.result import Result
from ...suggestions import did_you_mean
from ...tiles import parse_bytes
from ..experiments import Experiment, chosen, run_experiments
from ..study import Progress
from .models import PLANS
from .spectral import spectral
from .weight_changes import DRIFTS
from .weights import canary

SIZES = tuple(PLANS)
SLOW = ("imd", "rtd")  # seconds for one pair
MEASURES: tuple[str | Measure, ...] = (
    "cka[estimator=debiased]",
    "cka",
    *DRIFTS,
    "rsa",
    "svcca",
    "distance_correlation",
    "cknna",
    "mutual_knn",
    "jaccard",
    "mka",
    "shape",
    "aligned_cosine",
    *(m for m in preset("default") if m.name not in SLOW),
)
Claims = Mapping[str, Callable[[Any], Iterable[Claim]]]
MAKERS: Mapping[str, Callable[..., Experiment]] = {"spectral": spectral, "canary": canary}
EXPERIMENTS = tuple(make() for make in MAKERS.values())


def experiments(claims: Claims | None = None) -> tuple[Experiment, ...]:
    """Return the experiments of the suite, in the order of the report.

    ``claims``: by the name of a section, what makes claims from its facts: from the curves of
    "spectral", from the disturbed models of "canary". Raises ``ValueError`` for another name.
    """
    judges = dict(claims or {})
    for name in sorted(set(judges) - set(MAKERS)):
        raise ValueError(f"claims: no section {name!r}{did_you_mean(name, tuple(MAKERS))}")
    return tuple(make(judges.get(name)) for name, make in MAKERS.items())


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
    claims: Claims | None = None,
) -> Result:
    """Run the stability suite in a folder, or continue there, and return its result.

    Parameters
    ----------
    folder : keeps trained models, every finished part and the result (``result.json``); without it
        nothing is kept.
    measures : measures, names, specifications, presets that are put to the test. Default:
        ``MEASURES``, the drifts of the paper and the 24 of ReSi but IMD and RTD, which take seconds
        for one pair.
    size : ``"small"`` (under a minute, for trying out), ``"default"`` (minutes), or ``"paper"``
        (more levels of noise, more and larger models).
    only : names of experiments, "spectral" or "canary"; default: both.
    executor : a ``concurrent.futures`` executor; the result does not depend on it.
    memory : for views of representations at a time, as in :func:`resemblance.compare`; arrays are
        small here.
    progress : called with (stage, done, total); the stages are "training" and "experiments".
    claims : by the name of a section, a function that makes claims from its facts.

    Raises ``ValueError`` for a size, an experiment, a measure or a section that does not exist.

    Reference: Raju 2026, Sections 7.2 and 10. Its other experiments, and verdicts on its
    claims, are in the folder ``papers/shesha`` of the repository.
    """
    check_size(size)
    parse_bytes(memory)
    return run_experiments(
        "stability",
        chosen(experiments(claims), only),
        folder,
        size=size,
        measures=get_measures(measures if measures is not None else MEASURES),
        executor=executor,
        memory=memory,
        progress=progress,
    )


def check_size(size: str) -> None:
    """Raise ``ValueError`` for a size that does not exist."""
    if size not in SIZES:
        raise ValueError(f"size cannot be {size!r}{did_you_mean(size, SIZES)}")
