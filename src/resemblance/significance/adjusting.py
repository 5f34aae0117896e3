"""Many tests at once: p-values that hold for all of them, and false discovery rates."""

from __future__ import annotations

import numpy as np


def step_down(observed: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return p-values that hold for all tests at once: step-down maxT (Westfall and Young 1993).

    ``observed`` (tests,) and ``drawn`` (draws, tests) are on one scale, on which larger values are
    further from the null hypothesis; the draws are of all tests together.
    """
    order = np.argsort(-observed, kind="stable")
    running = np.maximum.accumulate(drawn[:, order][:, ::-1], axis=1)[:, ::-1]
    reached = (running >= observed[order]).sum(axis=0)
    adjusted = np.empty(len(observed))
    adjusted[order] = np.maximum.accumulate((1 + reached) / (1 + len(drawn)))
    return adjusted


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values that hold for all tests at once, however these depend on each other (Holm
    1979)."""
    order, count = np.argsort(p_values, kind="stable"), len(p_values)
    adjusted = np.empty(count)
    scaled = p_values[order] * np.arange(count, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def false_discovery_rates(p_values: np.ndarray) -> np.ndarray:
    """Return for each test the rate of false ones among all that are at least as significant
    (Benjamini and Hochberg 1995)."""
    order, count = np.argsort(p_values, kind="stable"), len(p_values)
    scaled = p_values[order] * count / np.arange(1, count + 1)
    rates = np.empty(count)
    rates[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return rates
