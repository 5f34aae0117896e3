"""The warning about differences between biased CKA values."""

from __future__ import annotations

import warnings

from ..base.exceptions import BiasedDifferenceWarning
from ..catalogue import get_measure


def warn_biased_cka(spec: str) -> None:
    """Warn if ``spec`` is CKA with the biased estimator, because the bias depends on the widths.
    Ignore other measures."""
    if spec.partition("[")[0] != "cka":
        return
    measure = get_measure(spec)
    if {**measure.defaults, **dict(measure.parameters)}["estimator"] == "biased":
        message = (
            f"{spec} is biased, and the bias grows with the widths of the representations: "
            "pairs of equal similarity but different widths get different scores; use "
            "cka[estimator=debiased]"
        )
        warnings.warn(message, BiasedDifferenceWarning, stacklevel=3)
