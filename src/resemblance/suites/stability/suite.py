"""The stability suite: what the paper of Shesha says of stability, similarity and drift, run and
judged."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path

from ...catalogue import get_measures, preset
from ...measure import Measure
from ...results.result import Result
from ...suggestions import did_you_mean
from ...tiles import parse_bytes
from ..experiments import Experiment, chosen, run_experiments
from ..study import Progress
from .canary import CANARY
from .canary_facts import DRIFTS
from .chance import CHANCE
from .encoders import ENCODERS
from .fewshot import FEWSHOT
from .invariances import INVARIANCES
from .null_model import NULL_MODEL
from .protocol import SIZES
from .quadrants import QUADRANT_PAIRS
from .recovery import RECOVERY
from .spectral import SPECTRAL
from .steering import STEERING
from .transformations import (
    Transformed,
    transformation_study,
    transformation_table,
    transformations,
)

EXPERIMENTS: tuple[Experiment, ...] = (  # in the order of the report
    RECOVERY, CHANCE, SPECTRAL, QUADRANT_PAIRS, NULL_MODEL, INVARIANCES, ENCODERS, STEERING, CANARY,
    FEWSHOT,
)  # fmt: skip
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
    "Raju 2026 (arXiv 2601.09173) proposes to ask of one representation how reliable its "
    "geometry is, beside how similar it is to others. The suite does the experiments of the "
    "paper again that need no download, with the author's random numbers where data are made, "
    "and puts the paper's numbers beside ours."
)

__all__ = [
    "EXPERIMENTS", "MEASURES", "SIZES", "Transformed", "run", "transformation_study",
    "transformation_table",
    "transformations",
]  # fmt: skip


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
) -> Result:
    """Run the stability suite in a folder, or continue there, and return what it found.

    Parameters
    ----------
    folder : keeps trained models, every finished part and the result (``result.json``); without it
        nothing is kept.
    measures : measures, names, specifications, presets that are put to the tests of measures.
        Default: ``MEASURES``, the drifts of the paper and the 24 of ReSi but IMD and RTD, which
        take seconds for one pair.
    size : ``"small"`` (under a minute; claims that need more have no data), ``"default"``
        (minutes), or ``"paper"`` (the paper's 15 seeds and 10,000 bootstraps, and larger models).
    only : names of experiments; default: all of ``EXPERIMENTS``.
    executor : a ``concurrent.futures`` executor; the findings do not depend on it.
    memory : for views of representations at a time, as in :func:`resemblance.compare`; arrays are
        small here.
    progress : called with (stage, done, total); the stages are "training" and "experiments".

    Raises ``ValueError`` for a size, an experiment or a measure that does not exist.

    Reference: Raju 2026, Sections 7 to 12.
    """
    if size not in SIZES:
        raise ValueError(f"size cannot be {size!r}{did_you_mean(size, tuple(SIZES))}")
    parse_bytes(memory)
    put = get_measures(measures if measures is not None else MEASURES)
    return run_experiments(
        "stability",
        chosen(EXPERIMENTS, only),
        folder,
        size=size,
        measures=put,
        executor=executor,
        memory=memory,
        progress=progress,
        title=TITLE,
        about=INTRODUCTION,
    )
