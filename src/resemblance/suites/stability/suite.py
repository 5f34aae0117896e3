"""The stability suite: do measures see what was deleted, and warn before accuracy is lost?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path

from ...catalogue import get_measures, preset
from ...display import did_you_mean
from ...engine.memory import parse_bytes
from ...measure import Measure
from ...results.result import Result
from ..experiments import chosen, run_experiments
from ..pinned import Pinned
from ..study import Judge, Progress
from .models import PLANS
from .spectral import SPECTRAL
from .weight_changes import DRIFTS
from .weights import CANARY

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
TITLE = "The stability suite"
INTRODUCTION = (
    "Leading components are deleted from a representation one after the other, and the weights "
    "of trained networks are disturbed more and more. A measure should follow both, after Raju "
    "2026 (arXiv 2601.09173)."
)
EXPERIMENTS = (SPECTRAL, CANARY)


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    claims: Mapping[str, Judge] | None = None,
    pinned: Pinned | None = None,
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
    claims : by the name of a section, a function that makes claims from its facts: from the curves
        of "spectral", from the disturbed models of "canary".
    pinned : the content of a pack, on which nothing is trained.

    Raises ``ValueError`` for a size, an experiment or a measure that does not exist.

    Reference: Raju 2026, Sections 7.2 and 10. Its other experiments, and verdicts on its
    claims, are in the folder ``papers/shesha`` of the repository.
    """
    check_size(size)
    parse_bytes(memory)
    return run_experiments(
        "stability",
        chosen(EXPERIMENTS, only),
        folder,
        size=size,
        measures=get_measures(measures if measures is not None else MEASURES),
        claims=claims,
        executor=executor,
        memory=memory,
        progress=progress,
        pinned=pinned,
        title=TITLE,
        about=INTRODUCTION,
    )


def check_size(size: str) -> None:
    """Raise ``ValueError`` for a size that does not exist."""
    if size not in SIZES:
        raise ValueError(f"size cannot be {size!r}{did_you_mean(size, SIZES)}")
