"""The experiments of the paper, run as one study.

The two of the stability suite, which grade measures, and eight that put the paper's other claims to
the test.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path

from resemblance.catalogue import get_measures
from resemblance.engine.memory import parse_bytes
from resemblance.measure import Measure
from resemblance.results.result import Result
from resemblance.suites.experiments import Experiment, chosen, run_experiments
from resemblance.suites.stability.suite import MEASURES, check_size
from resemblance.suites.stability.weights import CANARY
from resemblance.suites.study import Progress

from . import canary_claims
from .chance import CHANCE
from .deletion import DELETION
from .encoders import ENCODERS
from .fewshot import FEWSHOT
from .invariances import INVARIANCES
from .null_model import NULL_MODEL
from .quadrants import QUADRANT_PAIRS
from .recovery import RECOVERY
from .steering import STEERING

CLAIMS = {"canary": canary_claims.claims}  # for resemblance.suites.stability.run
EXPERIMENTS: tuple[Experiment, ...] = (  # in the order of the report
    RECOVERY, CHANCE, DELETION, QUADRANT_PAIRS, NULL_MODEL, INVARIANCES, ENCODERS, STEERING, CANARY,
    FEWSHOT,
)  # fmt: skip


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
) -> Result:
    """Run the experiments of the paper in a folder, or continue there, and return the result.

    The folder is a study of the stability suite, so either continues the work of the other.
    ``size``: ``"small"`` (under a minute; claims that need more have no data), ``"default"``
    (minutes), or ``"paper"`` (the paper's 15 seeds and 10,000 bootstraps, and larger models). The
    other parameters are those of :func:`resemblance.suites.stability.run`; ``only`` may name any of
    ``EXPERIMENTS``.

    Raises ``ValueError`` for a size, an experiment or a measure that does not exist.

    Reference: Raju 2026, Sections 7 to 12.
    """
    check_size(size)
    parse_bytes(memory)
    return run_experiments(
        "stability",
        chosen(EXPERIMENTS, only),
        folder,
        size=size,
        measures=get_measures(measures if measures is not None else MEASURES),
        claims=CLAIMS,
        executor=executor,
        memory=memory,
        progress=progress,
    )
