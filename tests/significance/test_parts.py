"""Parts of the samples, and intervals whose width is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resemblance.significance.resampling import (
    clipped_interval,
    half_width,
    random_halves,
    sample_groups,
    standard_error,
    stratified_half,
)


def test_groups_keep_blocks_together_and_runs_of_time():
    blocks = np.random.default_rng(0).integers(9, size=60) * 7
    groups = sample_groups(60, count=4, blocks=blocks)
    assert len(groups) == 4
    for group in groups:
        assert np.array_equal(group, np.flatnonzero(np.isin(blocks, blocks[group])))
    assert len(sample_groups(60, blocks=blocks)) == len(np.unique(blocks))
    assert [g.tolist() for g in sample_groups(5, count=2, series=True)] == [[0, 1, 2], [3, 4]]


def test_a_half_of_each_group_is_larger_where_its_number_is_odd():
    groups = np.array([0, 1, 1, 1, 0, 2, 1, 1])
    half = stratified_half(groups, np.random.default_rng(0))
    assert np.bincount(groups[half]).tolist() == [1, 3, 1]
    assert (np.diff(half) > 0).all()
    assert stratified_half(np.zeros(0, dtype=int), np.random.default_rng(0)).size == 0


def test_another_seed_draws_other_parts():
    for parts in (random_halves, sample_groups):
        assert not np.array_equal(parts(30, seed=1)[0], parts(30)[0])


def test_parts_of_too_little_are_refused():
    for function in (sample_groups, random_halves):
        with pytest.raises(ValueError, match=f"{function.__name__}: at least two samples"):
            function(1)
        with pytest.raises(ValueError, match=f"{function.__name__}: at least two blocks"):
            function(4, blocks=np.zeros(4))
    with pytest.raises(ValueError, match="count must be at least 2"):
        sample_groups(10, count=1)
    with pytest.raises(ValueError, match="n_resamples must be a whole number"):
        random_halves(10, n_resamples=0)
    with pytest.raises(ValueError, match="at least two parts"):
        standard_error([0.5], "halves")
    with pytest.raises(ValueError, match=r"level must be between 0 and 1, such as 0\.95; got 95"):
        half_width([0.5, 0.6], "groups", 95)


def test_the_standard_error_of_a_mean_is_known():
    """Exactly so without each sample, and on average over groups and halves."""
    values = np.random.default_rng(0).standard_normal(40) + 3
    exact = values.std(ddof=1) / math.sqrt(40)
    assert standard_error([np.delete(values, i).mean() for i in range(40)], "left_out") == (
        pytest.approx(exact)
    )
    squares = []
    for seed in range(200):
        groups = sample_groups(40, seed=seed)
        without = [np.delete(values, group).mean() for group in groups]
        squares.append(standard_error(without, "groups") ** 2)
    assert math.sqrt(np.mean(squares)) == pytest.approx(exact, rel=0.05)
    on_halves = [values[half].mean() for half in random_halves(40, n_resamples=4000)]
    assert standard_error(on_halves, "halves") == pytest.approx(exact, rel=0.05)


def test_an_interval_is_as_wide_as_a_quantile_of_t_says():
    from scipy.stats import t

    values = np.array([0.2, 0.4, 0.6, 0.3])
    half = t.ppf(0.95, 3) * values.std(ddof=1)
    assert half_width(values, "halves", 0.9) == pytest.approx(half)
    low, high = clipped_interval(0.5, values, "halves", 0.9, (-5, 5))
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))
    assert clipped_interval(0.9, values, "halves", 0.9, (0, 1))[1] == 1
    assert clipped_interval(0.1, values, "halves", 0.9, (0, 1))[0] == 0
