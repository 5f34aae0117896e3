"""Properties that hold for any input, looked for by hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import resemblance as rs
from resemblance.base.rng import generator
from resemblance.checks.data import with_repeats
from resemblance.checks.trial import limit_neighbors

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


@given(st.integers(0, 2**63), st.text(max_size=5), st.integers(0, 5))
def test_generators_depend_on_seed_and_label_only(seed, label, number):
    draw = generator(seed, label, number).random()
    assert draw == generator(seed, label, number).random()
    assert draw != generator(seed + 1, label, number).random()
    assert draw != generator(seed, label, number + 1).random()
