r"""Differences between mean scores over fixed tasks, when the models behind the tasks are random.

A score of a benchmark is a number of a whole set of models, so the bootstrap of models fails: a
model that is drawn twice is at distance 0 from its copy. The jackknife leaves one model out instead
of drawing models twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, t

from ..base.rng import generator

N_MULTIPLIERS = 2000  # draws of normal multipliers for joint critical values
BORROWED_DEGREES = 1.0  # degrees of freedom borrowed from the median pair of measures
CONFIDENCE_LEVEL = 0.95
LEAST_ERROR = 1e-12  # a standard error below this number is rounding


class JackknifeScores(NamedTuple):
    """Mean scores of measures, and the changes of the scores when one unit of models is left out.

    ``means``: (measures,). ``deviations``: for every independent set of models an array (units,
    measures); see :func:`jackknife_deviations`. The sum of squares of the deviations of a
    difference estimates the variance of the difference.
    """

    means: np.ndarray
    deviations: tuple[np.ndarray, ...]

    @property
    def degrees_of_freedom(self) -> int:
        """The number of units minus the number of sets."""
        return sum(len(units) - 1 for units in self.deviations)


class Differences(NamedTuple):
    """Differences of all measures from a baseline, (measures,), and the ends of the intervals."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


def jackknife_deviations(without: np.ndarray) -> np.ndarray:
    r"""Return the scaled deviations of the scores without each unit from their mean, (units,
    measures).

    .. math:: \sqrt{\tfrac{U-1}{U}} \, (\theta_{(u)} - \bar\theta_{(\cdot)})

    ``without``: (units, measures), the scores when unit u is left out.

    Reference: Efron and Stein 1981.
    """
    n_units = len(without)
    centered: np.ndarray = without - without.mean(axis=0)
    return centered * np.sqrt((n_units - 1) / n_units)


def may_be_best(scores: JackknifeScores, *, level: float = CONFIDENCE_LEVEL) -> np.ndarray:
    """Return which measures may have the best, that is the largest, expected score, (measures,) of
    booleans.

    A measure is excluded if a rival is ahead by more than chance; all rivals of a measure are
    tested at once, on one side. The measure that is truly the best stays in at least ``level`` of
    the repetitions with other models.

    Reference: Hsu 1981 (multiple comparisons with the best).
    """
    errors, degrees = _standard_errors(scores, borrows=True)
    draws, count = _multiplier_draws(scores), len(scores.means)
    is_in = np.ones(count, bool)
    for m in range(count if count > 1 else 0):
        rivals = np.arange(count) != m
        error = errors[rivals, m]
        largest = ((draws[:, rivals] - draws[:, [m]]) / error).max(axis=1)
        critical = t.isf(norm.sf(np.quantile(largest, level)), degrees[rivals, m])
        is_in[m] = ((scores.means[rivals] - scores.means[m]) / error <= critical).all()
    return is_in


def differences_from(
    scores: JackknifeScores,
    baseline: int,
    *,
    is_joint: bool = True,
    level: float = CONFIDENCE_LEVEL,
) -> Differences:
    """Return the difference of every measure from the measure at position ``baseline``, with
    two-sided intervals.

    ``is_joint``: all intervals hold together with a confidence of ``level``; otherwise every single
    interval holds with this confidence, and depends on the two measures alone. The degrees of
    freedom are Satterthwaite's over the sets of models. Joint intervals borrow one degree from the
    median pair of measures. Single intervals borrow nothing: a borrowed degree makes the interval
    of the noisiest measure too narrow.

    Reference: Satterthwaite 1946; Dunnett 1955; Hothorn, Bretz and Westfall 2008.
    """
    all_errors, all_degrees = _standard_errors(scores, borrows=is_joint)
    errors, degrees = all_errors[:, baseline], all_degrees[:, baseline]
    rivals = np.arange(len(scores.means)) != baseline
    values = scores.means - scores.means[baseline]
    tail = (1 - level) / 2
    if is_joint and rivals.any():
        draws = _multiplier_draws(scores)
        ratios = np.abs(draws[:, rivals] - draws[:, [baseline]]) / errors[rivals]
        tail = norm.sf(np.quantile(ratios.max(axis=1), level))
    margin = np.where(rivals, t.isf(tail, degrees) * errors, 0.0)
    return Differences(values, values - margin, values + margin)


def _standard_errors(scores: JackknifeScores, *, borrows: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard errors of all differences between two measures, and their degrees of
    freedom, (measures, measures) each.

    ``borrows``: mix the variance of every pair with the median variance of all pairs, and add a
    degree of freedom. Two measures have a single pair, and nothing to borrow.
    """
    by_set = [_pair_variances(units) for units in scores.deviations]
    variances = np.sum(by_set, axis=0)
    spread = np.sum([v**2 / max(len(u) - 1, 1) for v, u in zip(by_set, scores.deviations)], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = variances**2 / spread
    degrees = np.where(np.isfinite(degrees), degrees, max(scores.degrees_of_freedom, 1))
    # A single pair has no other pair to borrow from.
    if borrows and len(variances) > 2:
        median = np.median(variances[np.triu_indices(len(variances), 1)])
        weight = BORROWED_DEGREES / (degrees + BORROWED_DEGREES)
        variances = (1 - weight) * variances + weight * median
        degrees = degrees + BORROWED_DEGREES
    return np.maximum(np.sqrt(variances), LEAST_ERROR), degrees


def _pair_variances(deviations: np.ndarray) -> np.ndarray:
    products = deviations.T @ deviations
    squares = np.diag(products)
    return np.maximum(squares[:, None] + squares[None, :] - 2 * products, 0.0)


def _multiplier_draws(scores: JackknifeScores) -> np.ndarray:
    """Return draws with the covariance of all mean scores, (draws, measures): sums of the
    deviations of all units, multiplied by normal numbers."""
    deviations: Sequence[np.ndarray] = scores.deviations
    stacked = np.vstack(deviations)
    normal = generator(0, "significance", "jackknife").standard_normal(
        (N_MULTIPLIERS, len(stacked))
    )
    draws: np.ndarray = normal @ stacked
    return draws
