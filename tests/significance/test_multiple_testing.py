"""Many tests at once, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resemblance.significance.multiple_testing import (
    holm_adjust,
    split_significance_level,
    step_down_max_t,
)


def test_holm_by_hand():
    """Of 0.01, 0.04, 0.03, 0.005: 4 x 0.005, 3 x 0.01, 2 x 0.03, and no less than that."""
    assert holm_adjust(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )
    assert holm_adjust(np.array([0.5, 0.6])).tolist() == [1, 1]
    assert holm_adjust(np.array([])).size == 0


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


def test_a_group_without_tests_leaves_the_level_to_the_other():
    p = np.array([0.01, 0.2])
    for empty in (np.array([]), np.array([np.nan])):
        np.testing.assert_array_equal(split_significance_level((p, empty), (0.5, 0.5))[0], p)
        np.testing.assert_array_equal(split_significance_level((empty, p), (0.5, 0.5))[1], p)
