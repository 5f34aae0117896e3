"""Leave-one-out comparisons of outputs."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import as_float64
from ...data.representation import Representation
from ...intermediates.predictions import are_correct, predictions_differ, sample_divergences
from .inner_products import check_min_samples, leave_one_out_term_means


def leave_one_out_accuracy_diff(
    x: Representation, y: Representation, labels: tuple[int, ...]
) -> np.ndarray:
    """Return the leave-one-out accuracy difference, shape (n,); exact. ``labels``: the n true
    classes, from 0."""
    check_min_samples("accuracy_difference", x, 1)
    first, second = (are_correct(r, labels) for r in (x, y))
    return np.abs(leave_one_out_term_means(first) - leave_one_out_term_means(second))


def leave_one_out_disagreement(x: Representation, y: Representation) -> np.ndarray:
    """Return the leave-one-out disagreement, shape (n,); exact."""
    check_min_samples("disagreement", x, 1)
    return leave_one_out_term_means(predictions_differ(x, y))


def leave_one_out_jensen_shannon(x: Representation, y: Representation, outputs: str) -> np.ndarray:
    """Return the leave-one-out Jensen-Shannon divergence in bits, shape (n,); exact. ``outputs``:
    "logits" or "probabilities"."""
    check_min_samples("jensen_shannon", x, 1)
    return leave_one_out_term_means(as_float64(sample_divergences(x, y, outputs))) / math.log(2)
