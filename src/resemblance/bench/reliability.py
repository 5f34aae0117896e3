"""Reliability of the expected differences between models: how well the differences repeat on other
inputs of the same kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..base.rng import generator
from ..data.representation import Representation
from ..measures import disagreement, jensen_shannon
from ..measures.leave_one_out.outputs import (
    leave_one_out_disagreement,
    leave_one_out_jensen_shannon,
)
from ..significance import known_mean
from .grounding import spearman

N_HALVINGS = 50
RELIABILITY_DIGITS = 6  # a reliability is rounded to this number of digits
MIN_INPUTS = 4  # two different halves need at least two inputs per half
RELIABILITY = "reliability"  # reliabilities of tasks, in the manifest of a pack
LEAST_RELIABILITY = 0.5  # below this reliability, a task does not rank measures
DisagreementByInput = Callable[[Representation, Representation], np.ndarray]


def reliability(
    values: np.ndarray, expected: Callable[[np.ndarray], np.ndarray] = np.asarray
) -> float | None:
    r"""Return the split-half reliability of expected differences, corrected to the full number of
    inputs.

    .. math:: \frac{2 r}{1 + r}

    r is Spearman's correlation between the differences that two halves of the inputs predict,
    averaged over 50 random halvings; a negative r is returned without correction. ``values``: a
    value of every model or pair on every input, (models or pairs, inputs), such as 1 for a correct
    answer. ``expected``: maps the means over inputs, (models or pairs,), to the expected
    differences of pairs. At most 1; None for fewer than four inputs, and if all differences are
    equal.

    Reference: Spearman 1910; Brown 1910.
    """
    n, g = values.shape[1], generator(0, "resi", "reliability")
    if n < MIN_INPUTS:
        return None
    correlations = []
    for _ in range(N_HALVINGS):
        halves = np.array_split(g.permutation(n), 2)
        first, second = (expected(values[:, rows].mean(axis=1)).round(12) for rows in halves)
        correlations.append(spearman(first, second).value)
    r = float(known_mean(correlations))
    return None if np.isnan(r) else round(r if r < 0 else 2 * r / (1 + r), RELIABILITY_DIGITS)


def is_reliable(reliability: float | None) -> bool:
    """Return whether the expected differences repeat on other inputs: whether the reliability is at
    least ``LEAST_RELIABILITY``, or None, for differences that do not depend on inputs."""
    return reliability is None or reliability >= LEAST_RELIABILITY


def _disagreement_by_input(x: Representation, y: Representation) -> np.ndarray:
    return _values_from_left_out_means(disagreement(x, y), leave_one_out_disagreement(x, y))


def _divergence_by_input(x: Representation, y: Representation) -> np.ndarray:
    return _values_from_left_out_means(
        float(jensen_shannon(x, y)), leave_one_out_jensen_shannon(x, y, "logits")
    )


def _values_from_left_out_means(mean: float, means: np.ndarray) -> np.ndarray:
    """Return the value of every input (jackknife pseudo-values), (n,), given the mean over n inputs
    and the means without each input, (n,)."""
    return len(means) * mean - (len(means) - 1) * means


DISAGREEMENTS_BY_INPUT: Mapping[str, DisagreementByInput] = {
    "jsd": _divergence_by_input,
    "disagreement": _disagreement_by_input,
}
