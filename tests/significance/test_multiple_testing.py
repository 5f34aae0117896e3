"""Many tests at once, against examples worked out elsewhere and by enumeration."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from resemblance.significance.multiple_testing import (
    holm_adjust,
    split_significance_level,
    step_down_max_t,
)
from resemblance.significance.orders import design_of


def test_holm_by_hand():
    """Of 0.01, 0.04, 0.03, 0.005: 4 x 0.005, 3 x 0.01, 2 x 0.03, and no less than that."""
    assert holm_adjust(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )
    assert holm_adjust(np.array([0.5, 0.6])).tolist() == [1, 1]
    assert holm_adjust(np.array([])).size == 0


def test_step_down_of_one_test_is_its_pvalue():
    g = np.random.default_rng(0)
    for design in (design_of(20, n_permutations=19), design_of(4), design_of(40, time_series=True)):
        observed, drawn = g.standard_normal(1), g.standard_normal((design.total, 1))
        expected = design.pvalue(observed[0], drawn[:, 0])
        assert step_down_max_t(observed, drawn, design).tolist() == [expected]
    assert step_down_max_t(np.array([]), np.zeros((9, 0))).size == 0


def test_holm_is_the_closed_test_of_bonferroni():
    """A hypothesis is rejected if every set of hypotheses that holds it is (Marcus et al. 1976)."""
    p = np.array([0.02, 0.3, 0.011, 0.04, 0.011])
    assert holm_adjust(p) == pytest.approx(closed(lambda rows: len(rows) * p[rows].min(), len(p)))


def test_step_down_is_the_closed_test_of_the_maximum():
    g = np.random.default_rng(1)
    observed, drawn = (
        np.array([1.0, 2.5, 0.2, 2.5, 3.0]),
        g.standard_normal((200, 5)) * [1, 1, 1, 1, 2],
    )

    def of_maximum(rows: list[int]) -> float:
        return (1 + (drawn[:, rows].max(axis=1) >= observed[rows].max()).sum()) / 201

    assert step_down_max_t(observed, drawn) == pytest.approx(closed(of_maximum, 5))


def closed(of_set, count: int) -> list[float]:
    """The adjusted p-value: the largest of all sets of hypotheses that hold one."""
    largest = np.zeros(count)
    for size in range(1, count + 1):
        for rows in combinations(range(count), size):
            largest[list(rows)] = np.maximum(largest[list(rows)], of_set(list(rows)))
    return np.minimum(largest, 1).tolist()


def test_step_down_by_hand():
    observed = np.array([3.0, 1.0, 2.0])
    drawn = np.array([[0, 0, 0], [0, 0, 2.5], [3.5, 0, 0], [0, 1.5, 0]])
    # 3 against all: one; 2 against the last two: one; 1 against itself: one
    assert step_down_max_t(observed, drawn).tolist() == [2 / 5, 2 / 5, 2 / 5]
    drawn[2, 0], drawn[3, 1] = 0.5, 2.2
    # 3: none; 2: two; 1: one, but no less than that
    assert step_down_max_t(observed, drawn).tolist() == [1 / 5, 3 / 5, 3 / 5]


def test_missing_draws_count_as_large_and_missing_tests_are_left_out():
    drawn = np.zeros((9, 3))
    drawn[0, 1] = np.nan
    assert step_down_max_t(np.array([3.0, 2.0, 1.0]), drawn) == pytest.approx([0.2, 0.2, 0.2])
    adjusted = step_down_max_t(np.array([3.0, np.nan, 1.0]), drawn)
    assert adjusted[[0, 2]] == pytest.approx([0.1, 0.1])
    assert math.isnan(adjusted[1])
    p = np.array([0.01, np.nan, 0.02])
    assert holm_adjust(p)[[0, 2]] == pytest.approx(holm_adjust(p[[0, 2]]))
    assert math.isnan(holm_adjust(p)[1])


# ------------------------------------------------------------------ two groups that share a level


def test_groups_that_share_a_level_by_hand():
    """0.01 / 0.2 and 0.02 / 0.8; the other group passes its level on where all of it is found."""
    first, second = split_significance_level((np.array([0.01]), np.array([0.02, 0.9])), (0.2, 0.8))
    assert first == pytest.approx([0.05])
    assert second == pytest.approx([0.025, 0.9])
    first, second = split_significance_level(
        (np.array([0.001]), np.array([0.01, 0.04])), (0.2, 0.8)
    )
    assert first == pytest.approx([0.005])
    assert second == pytest.approx([0.01, 0.04]), "all of the level"


@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
def test_sharing_is_the_procedure_that_tests_each_group_at_its_level(level):
    """A group is tested at its share, and at the whole level once the other group is rejected."""
    g = np.random.default_rng(0)
    for _ in range(200):
        groups = [np.sort(g.uniform(size=size) ** 4) for size in g.integers(1, 4, 2)]
        shares = [w := float(g.uniform(0.05, 0.95)), 1 - w]
        all_of = [(p <= w * level).all() for p, w in zip(groups, shares)]
        expected = [
            p <= (level if other else w * level)
            for p, w, other in zip(groups, shares, all_of[::-1])
        ]
        for adjusted, rejected in zip(
            split_significance_level(tuple(groups), tuple(shares)), expected
        ):
            assert (adjusted <= level).tolist() == rejected.tolist()


def test_a_group_without_tests_leaves_the_level_to_the_other():
    p = np.array([0.01, 0.2])
    for empty in (np.array([]), np.array([np.nan])):
        np.testing.assert_array_equal(split_significance_level((p, empty), (0.5, 0.5))[0], p)
        np.testing.assert_array_equal(split_significance_level((empty, p), (0.5, 0.5))[1], p)
