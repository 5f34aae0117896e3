"""How far the differences that a test expects of models repeat on other inputs of the same kind."""

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
RELIABILITY_DIGITS = 6  # of a reliability
MIN_INPUTS = 4  # inputs, of which a half can differ from another
RELIABILITY = "reliability"  # of the cells, in the manifest of a pack
LEAST_RELIABILITY = 0.5  # below it measures are not ranked
DisagreementByInput = Callable[[Representation, Representation], np.ndarray]


def reliability(
    values: np.ndarray, expected: Callable[[np.ndarray], np.ndarray] = np.asarray
) -> float | None:
    r"""Return how far an order of expected differences repeats on as many other inputs.

    .. math:: \frac{2 r}{1 + r}

    r is Spearman's correlation between the differences that halves of the inputs predict, the mean
    over 50 halvings; a negative one is returned as it is. ``values``: (models or pairs, inputs);
    ``expected``: the differences of pairs that follow from their means over inputs. At most 1; None
    for fewer than four inputs, and where differences are all equal.

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
    """Whether what is expected repeats on other inputs, or does not depend on them."""
    return reliability is None or reliability >= LEAST_RELIABILITY


def _disagreement_by_input(x: Representation, y: Representation) -> np.ndarray:
    return _values_from_left_out_means(disagreement(x, y), leave_one_out_disagreement(x, y))


def _divergence_by_input(x: Representation, y: Representation) -> np.ndarray:
    return _values_from_left_out_means(
        float(jensen_shannon(x, y)), leave_one_out_jensen_shannon(x, y, "logits")
    )


def _values_from_left_out_means(mean: float, means: np.ndarray) -> np.ndarray:
    """Return values by their mean and the means without each."""
    return len(means) * mean - (len(means) - 1) * means


DISAGREEMENTS_BY_INPUT: Mapping[str, DisagreementByInput] = {
    "jsd": _divergence_by_input,
    "disagreement": _disagreement_by_input,
}
