"""Rank correlations over embeddings, partial ones, and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from resemblance.grounding import spearman
from resemblance.results.figures import Bar
from resemblance.results.values import known, mean
from resemblance.rng import generator
from resemblance.significance import percentile_interval, ranks_of_rows
from resemblance.significance import rank_correlation as correlation_of_ranks

MARGIN = 5  # cases more than controls that a partial correlation needs: fewer are fitted by chance
Columns = np.ndarray  # (n_cases, n_variables): one row per embedding


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's correlation of two vectors over the cases that have both values.

    NaN when nothing varies.
    """
    complete = ~(np.isnan(a) | np.isnan(b))
    return spearman(a[complete], b[complete]).value


def partial_rank_correlation(a: np.ndarray, b: np.ndarray, controls: np.ndarray) -> float:
    r"""Return the partial Spearman correlation of a and b, with controls held fixed.

    Pearson's of what ranks of controls leave of the ranks of a and b.

    With one control z it is
    :math:`(\rho_{ab} - \rho_{az} \rho_{bz}) / \sqrt{(1 - \rho_{az}^2)(1 - \rho_{bz}^2)}`.
    ``controls`` are (n_cases, n_controls). NaN with fewer than five cases more than controls, and
    when the controls explain a or b entirely.
    """
    a, b, controls = _complete(a, b, controls)
    if len(a) < controls.shape[1] + MARGIN:
        return float("nan")
    ranks = [ranks_of_rows(column) for column in (a, b, *controls.T)]
    first, second = (residuals(r, np.column_stack(ranks[2:])) for r in ranks[:2])
    return _cosine(first, second, size=len(a) ** 1.5)


def partial_raw_correlation(a: np.ndarray, b: np.ndarray, controls: np.ndarray) -> float:
    """Return Spearman's correlation of what a linear fit of raw controls leaves of a and b.

    The variant of the scripts of Raju 2026. It depends on the units: a control that is a monotone
    but not a linear function of a leaves a part of it.
    """
    a, b, controls = _complete(a, b, controls)
    if len(a) < controls.shape[1] + MARGIN:
        return float("nan")
    return spearman(residuals(a, controls), residuals(b, controls)).value


def residuals(values: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Return what the least-squares fit of a constant and the controls leaves of the values."""
    scale = controls.std(axis=0)
    fit = np.column_stack(
        [np.ones(len(values)), (controls - controls.mean(axis=0)) / np.where(scale > 0, scale, 1)]
    )
    left: np.ndarray = values - fit @ np.linalg.lstsq(fit, values, rcond=None)[0]
    return left


def _complete(
    a: np.ndarray, b: np.ndarray, controls: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    complete = ~(np.isnan(a) | np.isnan(b) | np.isnan(controls).any(axis=1))
    return a[complete], b[complete], controls[complete]


def _cosine(a: np.ndarray, b: np.ndarray, size: float) -> float:
    lengths = np.linalg.norm(a), np.linalg.norm(b)
    if min(lengths) <= 1e-10 * size:
        return float("nan")
    return float(np.clip(a @ b / (lengths[0] * lengths[1]), -1, 1))


def mean_over(
    name: str,
    cells: Sequence[Columns],
    value: Callable[[Columns], float],
    *,
    draws: int,
    seed: int = 0,
) -> Bar:
    """Return the mean over cells of a value of their cases, with a 95 % bootstrap interval.

    The cases of every cell, its embeddings, are drawn with replacement; cells without a value are
    left out. ``value`` NaN when no cell has one.
    """
    estimate = mean([value(cell) for cell in cells])
    means = []
    for draw in range(draws):
        random = generator(seed, "correlating", draw)
        means.append(
            mean([value(cell[random.integers(len(cell), size=len(cell))]) for cell in cells])
        )
    low, high = percentile_interval(means)
    return Bar(name, estimate, known(low), known(high))


def correlated(x: np.ndarray, y: np.ndarray, controls: np.ndarray | None = None) -> float:
    """Return Spearman's correlation of two vectors, or of what a linear fit to ``controls`` leaves.

    NaN where all of one are equal.
    """
    if controls is not None:
        design = np.column_stack([np.ones(len(controls)), controls])
        x, y = (v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y))
    return float(correlation_of_ranks(ranks_of_rows(x), ranks_of_rows(y)))


def bootstrapped(
    x: np.ndarray,
    y: np.ndarray,
    controls: np.ndarray | None = None,
    *,
    draws: int,
    random: np.random.Generator,
) -> tuple[float, float, float]:
    """Return :func:`correlated` with its 95 % bootstrap percentile interval.

    Draws without a value are left out.
    """
    n, correlations = len(x), []
    for _ in range(draws):
        rows = random.choice(n, size=n, replace=True)
        correlations.append(
            correlated(x[rows], y[rows], None if controls is None else controls[rows])
        )
    return correlated(x, y, controls), *percentile_interval(correlations)


def stream(*labels: int | str) -> np.random.Generator:
    """Return the random stream of an interval."""
    return generator(0, "bootstrap", *labels)
