"""Statistics of one representation for the experiments: many at once, None without a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from resemblance.representation import Representation
from resemblance.stability import get_statistic
from resemblance.statistic import Statistic

UNSUPERVISED = (
    "feature_split[k=10]",
    "basis_split[k=10]",
    "anisotropy",
    "participation_ratio",
    "effective_rank",
)
SUPERVISED = (
    "supervised_alignment", "label_conditioned_split", "variance_ratio", "class_separation[k=10]",
    "fisher_discriminant", "silhouette", "logme", "h_score", "gbc[covariance=spherical]",
)  # fmt: skip
OF_OUTPUTS = ("leep", "nce")  # statistics of what a model answers, not of its layers


def titles(specs: Iterable[str]) -> dict[str, str]:
    """Return what papers call statistics, by specification."""
    return {spec: get_statistic(spec).label for spec in specs}


def named(specs: Iterable[str]) -> list[list[Any]]:
    """Return statistics as a part names them: specification and version."""
    return [[s.spec, s.version] for s in map(get_statistic, specs)]


def values(
    specs: Iterable[str], points: np.ndarray, labels: np.ndarray, reasons: dict[str, str]
) -> dict[str, float | None]:
    """Return the value of each statistic, None where data leave none.

    The reasons go to ``reasons``, by specification.
    """
    x = Representation(points)
    return {spec: _value(get_statistic(spec), x, labels, reasons) for spec in specs}


def _value(
    statistic: Statistic, x: Representation, labels: np.ndarray, reasons: dict[str, str]
) -> float | None:
    try:
        return statistic(x, *([labels] if statistic.needs else []))
    except ValueError as error:
        reasons.setdefault(statistic.spec, str(error))
        return None
