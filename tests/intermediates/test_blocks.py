"""What is computed in blocks does not depend on their size: one block of all samples, or many small
ones."""

from __future__ import annotations

import numpy as np
import pytest
import test_claims
import test_stability

import resemblance as rs
from resemblance.base.arrays import row_blocks
from resemblance.base.rng import generator
from resemblance.checks.data import generic_pair, with_repeats
from resemblance.data import layouts
from resemblance.data.representation import force_large_arrays
from resemblance.intermediates import heat
from resemblance.intermediates.heat import neighbor_operator

STOCHASTIC = ("estimator", "stochastic")  # the blocks belong to the draws


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")  # values are compared
def test_a_measure_has_the_value_of_a_single_block(small_blocks, subtests):
    x, y = generic_pair()
    measures = [m for m in test_claims.MEMBERS if STOCHASTIC not in m.parameters]
    pair = list(map(rs.Representation, (x, y)))
    whole = [m(*(with_repeats(m, r) for r in pair)) for m in measures]
    small_blocks()
    pair = list(map(rs.Representation, (x, y)))
    for m, value in zip(measures, whole):
        with subtests.test(str(m)):
            again = m(*(with_repeats(m, r) for r in pair))
            assert again == pytest.approx(value, rel=1e-10, abs=1e-10)


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_no_cached_value_keeps_a_block_of_a_large_array_in_memory(rng):
    x, y = (rs.Representation(rng.standard_normal((300, 40)).astype("f4")) for _ in "xy")
    with force_large_arrays(True):
        for m in (rs.cka, rs.procrustes, rs.mean_cca, rs.rsa, rs.jaccard):
            m(x, y)
    assert len(x.cache) > 10
    for value in x.cache.values():
        for array in value if isinstance(value, tuple) else [value]:
            base = getattr(array, "base", None)
            assert base is None or base is x.source or base.nbytes <= 2 * array.nbytes


def test_a_statistic_has_the_value_of_a_single_block(small_blocks, subtests):
    examples = [(s, *test_stability.example(s)) for s in test_stability.MEMBERS]
    whole = [s(x, *data) for s, x, data in examples]
    small_blocks()
    for (s, x, data), value in zip(examples, whole):
        with subtests.test(str(s)):
            assert s(x, *data) == pytest.approx(value, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("probes", [5, 17])
def test_the_stochastic_imd_is_the_mean_over_repeats_of_its_quadratures(probes, monkeypatch):
    """With as many steps as samples a quadrature is exact: v' exp(-t L) v of the random vectors, by
    eigenvalues."""
    monkeypatch.setattr(heat, "PROBES_PER_BLOCK", 7)
    x, y = generic_pair(n=24)
    repeats = range(3)
    traces = [
        np.stack([quadratic_forms(z, 5, probes, repeat) for repeat in repeats]) for z in (x, y)
    ]
    largest = [np.max(np.exp(-2 * (T + 1 / T)) * np.abs(a - b)) for a, b in zip(*traces)]
    value = rs.imd(x, y, k=5, estimator="stochastic", steps=24, probes=probes, repeats=3)
    assert value == pytest.approx(1e6 * np.mean(largest), rel=1e-8)
    assert max(largest) > 1.1 * np.mean(largest)


T = heat.TEMPERATURES


def quadratic_forms(x, k, probes, repeat):
    """Mean over the vectors of one repeat, drawn block by block, of v' exp(-t L) v."""
    eigenvalues, basis = np.linalg.eigh(neighbor_operator(rs.Representation(x), k).toarray())
    rng = generator(0, "imd", repeat)
    drawn = [
        rng.standard_normal((len(x), stop - start))
        for start, stop in row_blocks(probes, heat.PROBES_PER_BLOCK)
    ]
    v = np.concatenate(drawn, axis=1)
    shares = (basis.T @ (v / np.linalg.norm(v, axis=0))) ** 2
    return (np.exp(-T[:, None] * (1 - eigenvalues)) @ shares).mean(axis=1)


def test_maps_pooled_in_blocks_keep_their_order(monkeypatch):
    monkeypatch.setattr(layouts, "SAMPLES_PER_BLOCK", 7)
    maps = np.random.default_rng(0).standard_normal((23, 3, 4, 4)).astype(np.float16)
    pooled = layouts.from_maps(maps, pool="mean").array
    assert np.allclose(pooled, maps.astype(np.float32).mean(axis=(2, 3)), rtol=1e-5, atol=1e-6)


def test_tokens_pooled_in_blocks_keep_their_order_and_their_mask(monkeypatch):
    monkeypatch.setattr(layouts, "SAMPLES_PER_BLOCK", 7)
    rng = np.random.default_rng(0)
    tokens, lengths = rng.standard_normal((23, 6, 3)), rng.integers(1, 7, 23)
    pooled = layouts.from_tokens(tokens, pool="mean", mask=np.arange(6) < lengths[:, None]).array
    assert np.allclose(pooled, [row[:length].mean(axis=0) for row, length in zip(tokens, lengths)])
