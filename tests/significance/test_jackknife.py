"""Differences of mean scores with random models: closed forms, independence of the order of
measures, and measures that are surely behind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from resemblance.significance import (
    JackknifeScores,
    differences_from,
    jackknife_deviations,
    may_be_best,
)


def scores_of(values: np.ndarray) -> JackknifeScores:
    """Return the jackknife of plain means over units, for one set; ``values``: (units,
    measures)."""
    without = (values.sum(axis=0) - values) / (len(values) - 1)
    return JackknifeScores(values.mean(axis=0), (jackknife_deviations(without),))


def values(units: int, measures: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((units, measures))


def test_the_error_of_a_plain_mean_is_that_of_students_t() -> None:
    """A single interval depends on the two measures alone."""
    x = values(8, 5)
    gap = x[:, 1] - x[:, 0]
    half = t.isf(0.025, 7) * gap.std(ddof=1) / np.sqrt(8)
    found = differences_from(scores_of(x), 0, is_joint=False)
    assert found.values[:2] == pytest.approx([0, gap.mean()])
    assert found.high[1] - found.values[1] == pytest.approx(half)
    assert (found.low[0], found.high[0]) == (0, 0)


def test_sets_of_models_add_their_variances() -> None:
    x, y = values(5, 2), values(7, 2, seed=1)
    parts = [scores_of(part).deviations[0] / 2 for part in (x, y)]
    scores = JackknifeScores((x.mean(axis=0) + y.mean(axis=0)) / 2, tuple(parts))
    variances = [np.var(z[:, 1] - z[:, 0], ddof=1) / len(z) / 4 for z in (x, y)]
    degrees = sum(variances) ** 2 / (variances[0] ** 2 / 4 + variances[1] ** 2 / 6)
    half = t.isf(0.025, degrees) * np.sqrt(sum(variances))
    found = differences_from(scores, 0, is_joint=False)
    assert found.high[1] - found.values[1] == pytest.approx(half)
    assert scores.degrees_of_freedom == 10


def test_joint_intervals_borrow_a_degree_from_the_median_pair() -> None:
    """The tail probability is the same for all measures."""
    x = values(6, 7) * np.array([1.0, 1, 1, 1, 1, 1, 30])
    found = differences_from(scores_of(x), 0)
    half = found.high - found.values
    variances = np.var(x[:, :, None] - x[:, None, :], axis=0, ddof=1) / 6
    median = np.median(variances[np.triu_indices(7, 1)])
    errors = np.sqrt((5 * variances[0, 1:] + median) / 6)
    tails = t.sf(half[1:] / errors, 6)
    assert tails == pytest.approx(np.full(6, tails[0]))
    assert 0.025 / 6 < tails[0] < 0.02  # 0.025 for single intervals


def test_joint_intervals_are_wider_and_no_number_depends_on_the_order_of_measures() -> None:
    x = values(9, 6) + np.arange(6)
    joint, single = (differences_from(scores_of(x), 2, is_joint=j) for j in (True, False))
    others = np.arange(6) != 2
    assert (joint.high - joint.low)[others].min() > (single.high - single.low)[others].min()
    order = np.array([3, 2, 5, 0, 1, 4])
    again = differences_from(scores_of(x[:, order]), 1)
    for name in ("values", "low", "high"):
        assert getattr(again, name) == pytest.approx(getattr(joint, name)[order])
    assert (may_be_best(scores_of(x[:, order])) == may_be_best(scores_of(x))[order]).all()


def test_a_measure_far_behind_is_excluded_and_the_best_stays() -> None:
    x = 0.1 * values(10, 4) + np.array([0.0, 5.0, 4.99, 1.0])
    assert may_be_best(scores_of(x)).tolist() == [False, True, True, False]
    assert may_be_best(scores_of(x[:, :1])).tolist() == [True]
