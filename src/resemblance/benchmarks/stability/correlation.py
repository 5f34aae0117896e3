"""Rank correlations with their intervals."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from ...rng import generator


def correlated(x: np.ndarray, y: np.ndarray, given: np.ndarray | None = None) -> float:
    """Return Spearman's correlation, of the residuals of a linear fit to ``given`` where there is one.

    NaN where all of one are equal.
    """
    if given is not None:
        design = np.column_stack([np.ones(len(given)), given])
        x, y = (v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y))
    a, b = (rankdata(v) - (len(v) + 1) / 2 for v in (x, y))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else np.nan


def bootstrapped(
    x: np.ndarray, y: np.ndarray, given: np.ndarray | None = None, *, draws: int, random: np.random.Generator
) -> tuple[float, float, float]:
    """Return :func:`correlated` with its 95 % bootstrap percentile interval; draws without a value are left out."""
    n, found = len(x), []
    for _ in range(draws):
        kept = random.choice(n, size=n, replace=True)
        found.append(correlated(x[kept], y[kept], None if given is None else given[kept]))
    valued = [value for value in found if not np.isnan(value)]
    low, high = np.percentile(valued, [2.5, 97.5]) if valued else (np.nan, np.nan)
    return correlated(x, y, given), float(low), float(high)


def stream(*labels: int | str) -> np.random.Generator:
    """Return the random stream of an interval."""
    return generator(0, "bootstrap", *labels)
