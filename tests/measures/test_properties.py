"""Properties that hold for any input, looked for by hypothesis."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

import resemblance as rs
from resemblance.base.rng import generator
from resemblance.checks.data import with_repeats
from resemblance.checks.trial import limit_neighbors
from resemblance.engine.plan import split_into_blocks
from resemblance.intermediates.ties import largest_with_ties
from resemblance.significance import average_ranks

# Arbitrary small matrices.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

numbers = st.floats(-1e6, 1e6, allow_subnormal=False, width=32)
small = st.integers(-2, 2).map(float)
matrices = st.tuples(st.integers(12, 20), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.one_of(small, numbers))
)
MEASURES = [limit_neighbors(m) for m in rs.list_measures() if m.family != "outputs"]


@given(matrices, st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_every_measure_is_finite_and_in_range_or_says_why_not(x, seed):
    y = np.random.default_rng(seed).standard_normal((len(x), 3))
    for m in MEASURES:
        for a, b in ((x, y), (x, x)):
            try:
                value = m(with_repeats(m, a), with_repeats(m, b))
            except rs.UndefinedError:
                continue
            assert m.range[0] - 1e-9 <= value <= m.range[1] + 1e-9


@given(arrays(np.float64, st.integers(1, 80), elements=st.one_of(small, numbers)))
def test_ranks(values):
    assert np.array_equal(average_ranks(values), rankdata(values))


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(2, 30)), elements=small), st.data()
)
def test_largest_is_a_stable_sort(block, data):
    k = data.draw(st.integers(1, block.shape[1] - 1))
    expected = np.argsort(-block, axis=1, kind="stable")[:, :k]
    listed, ties, _ = largest_with_ties(block, k)
    assert np.array_equal(listed, expected)
    levels = np.take_along_axis(block, expected, axis=1)
    begins = (levels[:, None, :] > levels[:, :, None]).sum(axis=2)
    members = [np.flatnonzero(row == level[-1]) for row, level in zip(block, levels)]
    tied = [row for row in range(len(block)) if len(set(begins[row])) < k or len(members[row]) > 1]
    assert ties.rows.tolist() == tied
    assert np.array_equal(ties.begins, begins[tied])
    assert np.array_equal(
        ties.members, np.concatenate([np.empty(0), *(members[row] for row in tied)])
    )


@given(
    st.integers(1, 12),
    st.one_of(st.none(), st.integers(1, 7)),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.one_of(st.none(), st.integers(1, 5)),
)
def test_tiles_visit_every_pair_exactly_once_within_the_budget(rows, columns, size, memory, block):
    visited: Counter[tuple[int, int]] = Counter()
    for tile in split_into_blocks(size, rows, columns, memory, block):
        first, second = range(rows)[tile[0]], range(columns or rows)[tile[1]]
        held = len(first) + len(second)
        held = len({*first, *second}) if columns is None else held
        assert held * size <= memory or len(first) == len(second) == 1 or held <= 2
        assert max(len(first), len(second)) <= (block or 99)
        visited.update((i, j) for i in first for j in second if columns is not None or i <= j)
    expected = {
        (i, j) for i in range(rows) for j in range(columns or rows) if columns is not None or i <= j
    }
    assert set(visited) == expected
    assert set(visited.values()) == {1}


@given(st.integers(0, 2**63), st.text(max_size=5), st.integers(0, 5))
def test_generators_depend_on_seed_and_label_only(seed, label, number):
    draw = generator(seed, label, number).random()
    assert draw == generator(seed, label, number).random()
    assert draw != generator(seed + 1, label, number).random()
    assert draw != generator(seed, label, number + 1).random()
