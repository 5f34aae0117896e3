"""Many tests at once: p-values that hold for all of them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .orders import Design
from .permutation import p_values_of

Adjust = Literal["holm", "fdr"] | None
ROUNDING = 1e-9  # of a value: no spread is smaller


def step_down(observed: np.ndarray, drawn: np.ndarray, design: Design | None = None) -> np.ndarray:
    r"""Return p-values that hold for all tests at once: step-down maxT.

    .. math:: p_{(j)} = \max_{i \le j} \Pr\Bigl(\max_{k \ge i} T_{(k)} \ge t_{(i)}\Bigr),
        \qquad t_{(1)} \ge t_{(2)} \ge \dots

    ``observed`` t (tests,) and ``drawn`` T (draws, tests) are on one scale, on which larger values
    are further from the null hypothesis; a draw is of all tests together. The probability is the
    p-value that the ``design`` of the draws gives, without one (1 + those as large) / (1 + draws).
    A draw that is NaN counts as one that is as large; a test whose value is NaN is left out and has
    the p-value NaN.

    Reference: Westfall and Young 1993, Algorithm 4.1.
    """
    order = np.argsort(-observed, kind="stable")[: np.sum(~np.isnan(observed))]
    running = np.maximum.accumulate(drawn[:, order][:, ::-1], axis=1)[:, ::-1]
    p_values = (p_values_of if design is None else design.p_values)(observed[order], running)
    return _placed(np.maximum.accumulate(p_values), order, len(observed))


def holm(p_values: np.ndarray) -> np.ndarray:
    r"""Return p-values that hold for all tests at once, however these depend on each other.

    .. math:: \tilde p_{(j)} = \max_{i \le j} \min(1, (m - i + 1)\, p_{(i)})

    for m tests in the order of their p-values (tests,). Tests without one (NaN) are left out.

    Reference: Holm 1979.
    """
    order = np.argsort(p_values, kind="stable")[: np.sum(~np.isnan(p_values))]
    scaled = np.minimum(1.0, p_values[order] * np.arange(len(order), 0, -1))
    return _placed(np.maximum.accumulate(scaled), order, len(p_values))


def _placed(values: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    placed = np.full(count, np.nan)
    placed[order] = values
    return placed


def adjusted(p: np.ndarray, adjust: Adjust) -> np.ndarray:
    """Return p-values adjusted for their number: by Holm, to false discovery rates, or not.

    Raises ``ValueError`` for another way.
    """
    if adjust not in ("holm", "fdr", None):
        raise ValueError(f"adjust is holm, fdr or None; got {adjust!r}")
    if adjust is None or not p.size:
        return p
    if adjust == "holm":
        return holm(p)
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p))
