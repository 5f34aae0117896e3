"""Is A closer to B than to C? Differences between scores, paired over the samples."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..catalogue import get_measure
from ..comparison import AnyMeasure
from ..significance.adjusting import ROUNDING
from ..significance.parts import standard_error

if TYPE_CHECKING:
    from .result import Evidence


class Difference(NamedTuple):
    """A difference between two scores, with its interval and its two-sided p-value."""

    value: float
    low: float
    high: float
    p: float

    def __repr__(self) -> str:
        from .words import p_words

        numbers = (f"{name} = {getattr(self, name):.3g}" for name in ("value", "low", "high"))
        return f"Difference({', '.join(numbers)}, {p_words(self.p)})"


class BiasedDifferenceWarning(UserWarning):
    """A difference between values of a biased estimator, whose bias depends on the widths."""


def difference_of(
    evidence: Evidence,
    measure: AnyMeasure,
    one: tuple[str, str],
    other: tuple[str, str],
    of: Evidence | None,
) -> Difference:
    """Return a difference of scores: see :meth:`resemblance.inference.Evidence.difference`."""
    from scipy.special import stdtr, stdtrit

    second, spec = of or evidence, evidence.comparison.info(measure).spec
    _warn_of_bias(spec)
    places = evidence.place(*one), second.place(*other)
    values = [float(e[spec][place]) for e, place in zip((evidence, second), places)]
    parts = [e.parts[spec].values[place] for e, place in zip((evidence, second), places)]
    for pair, of_pair in zip((one, other), parts):
        if np.isnan(of_pair).any():
            raise ValueError(f"difference: {spec} has no interval for {pair[0]} and {pair[1]}")
    kind, freedom = evidence.parts[spec].kind, min(map(len, parts)) - 1
    if of is None:
        error = float(standard_error(parts[0] - parts[1], kind))
    else:
        kinds = kind, of.parts[spec].kind
        error = math.hypot(*(float(standard_error(v, k)) for v, k in zip(parts, kinds)))
    value, rounding = values[0] - values[1], ROUNDING * max(ROUNDING, *map(abs, values))
    if error <= rounding:
        if abs(value) > rounding:
            raise ValueError(
                f"difference: the values of {spec} do not vary between parts of the samples, which "
                "says nothing about their error; use more samples, or another measure"
            )
        return Difference(value, value, value, 1.0)
    half = float(stdtrit(freedom, (1 + evidence.level) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(value) / error))
    return Difference(value, value - half, value + half, p)


def _warn_of_bias(spec: str) -> None:
    """Warn of the estimator of CKA whose bias depends on the widths."""
    if spec.partition("[")[0] != "cka":
        return
    measure = get_measure(spec)
    if {**measure.defaults, **dict(measure.parameters)}["estimator"] == "biased":
        message = (
            f"{spec} is biased, the more the wider the representations are: pairs of equal "
            "similarity and different widths differ; use cka[estimator=debiased]"
        )
        warnings.warn(message, BiasedDifferenceWarning, stacklevel=4)
