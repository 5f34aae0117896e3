"""Values that may be missing, and labels that must differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping


def finite_or_none(value: float | None) -> float | None:
    """Return a number as a Python float; None for NaN, infinity and None."""
    return None if value is None or not math.isfinite(value) else float(value)


def mean_without_missing(values: Iterable[float | None]) -> float:
    """Return the mean of ``values`` without None and NaN; NaN without any number."""
    numbers = [v for v in values if v is not None and not math.isnan(v)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def distinct_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the label of every measure, by specification; measures with the same label also show
    their parameters: "CKA [kernel=rbf]".

    Measures that still share a label are named by their specifications.
    """
    label_counts = Counter(labels.values())
    names = {
        spec: label if label_counts[label] == 1 else add_parameters_to_label(label, spec)
        for spec, label in labels.items()
    }
    counts = Counter(names.values())
    return {spec: name if counts[name] == 1 else spec for spec, name in names.items()}


def add_parameters_to_label(label: str, spec: str) -> str:
    """Return a label with the parameters of a specification: "CKA [kernel=rbf]"; the label alone
    without parameters."""
    _, bracket, parameters = spec.partition("[")
    return f"{label} [{parameters}" if bracket else label
