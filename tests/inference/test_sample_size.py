"""The required number of samples: formulas, guarantees and refused arguments."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs
from resemblance.inference._sample_size import samples_for_width


def test_the_number_of_samples_follows_the_formulas():
    assert rs.sample_size(min_similarity=0.1) == 46
    assert rs.sample_size(min_similarity=0.01) == 451
    assert rs.sample_size(max_chance=0.1, dimensions=(16, 25)) == 201
    assert rs.sample_size(min_similarity=0.1, max_chance=0.1, dimensions=(16, 25)) == 201
    assert rs.sample_size(min_similarity=0.9) == 10
    numbers = [rs.sample_size(min_similarity=0.05, power=power) for power in (0.5, 0.8, 0.9, 0.95)]
    assert numbers == sorted(numbers)
    assert numbers[0] == 54


@pytest.mark.parametrize(("power", "low", "high"), [(0.5, 0.3, 0.65), (0.8, 0.65, 0.95)])
def test_as_many_samples_find_a_similarity_as_often_as_asked_for(power, low, high):
    """Among 60 data sets of two common directions; the null has a standard deviation of root 2 over
    n, and its 95 % quantile is near 1.65 of them."""
    rng = np.random.default_rng(1)
    mixing = rng.standard_normal((2, 30)), rng.standard_normal((2, 40))

    def pair(n):
        common = rng.standard_normal((n, 2))
        return [common @ m / 5 + rng.standard_normal((n, m.shape[1])) for m in mixing]

    s = rs.cka(*pair(3000), estimator="debiased")
    n = rs.sample_size(min_similarity=s, power=power)
    values = [rs.cka(*pair(n), estimator="debiased") for _ in range(60)]
    assert low < np.mean(np.array(values) > 1.65 * 2**0.5 / n) < high


def test_half_the_width_takes_four_times_the_samples():
    assert samples_for_width(100, 0.2, 0.1) == 400
    assert samples_for_width(100, 0.1, 0.1) == 100
    assert samples_for_width(100, 0.1, 0.9) == 2


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({}, "give min_similarity=, max_chance="),
        ({"max_chance": 0.1}, "go together"),
        ({"min_similarity": 0.1, "dimensions": (3, 4)}, "go together"),
        ({"min_similarity": 0}, "min_similarity must be between 0 and 1; got 0"),
        ({"min_similarity": float("nan")}, "min_similarity must be between 0 and 1"),
        ({"max_chance": 1.0, "dimensions": (3, 4)}, "max_chance must be between 0 and 1"),
        ({"min_similarity": 0.1, "power": 0.99}, "power must be from 0.5 to 0.95; got 0.99"),
        ({"max_chance": 0.1, "dimensions": (3,)}, "two participation ratios"),
        ({"max_chance": 0.1, "dimensions": (3, 0.5)}, "each at least 1"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(asked, problem):
    with pytest.raises(ValueError, match=problem):
        rs.sample_size(**asked)


@pytest.mark.parametrize("numbers", [(1, 0.2, 0.1), (50, 0.0, 0.1), (50, 0.1, float("nan"))])
def test_widths_that_make_no_sense_are_refused(numbers):
    with pytest.raises(ValueError, match="both widths positive"):
        samples_for_width(*numbers)
