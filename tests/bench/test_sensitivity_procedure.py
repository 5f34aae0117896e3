"""Operators, probes and statistics of Ding et al.: recorded values, closed forms, naive loops, and
what chance gives.

``ding_outputs.json``: js-d/sim_metric at 42953fb, called on the arrays of ``stab_inputs.npz``.
"""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import torch
from factories.files import GOLDEN
from scipy.stats import kendalltau, spearmanr

import resemblance as rs
from resemblance.base.rng import generator
from resemblance.bench.sensitivity import (
    agreement,
    attainable,
    bootstrap,
    bootstrap_counts,
    delete_principal_components,
    deletions,
    depth,
    exchanges,
    normalize,
    one_sided,
    permutation_test,
    probe,
    reference_of,
)
from resemblance.bench.sensitivity.operators import (
    deletion_curve,
    depth_from_differences,
    numbers_to_delete,
)
from resemblance.bench.sensitivity.procedure import expected_differences
from resemblance.significance import percentile_interval

RECORDED = json.loads((GOLDEN / "ding_outputs.json").read_text())


@pytest.fixture(scope="module")
def inputs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    with np.load(GOLDEN / "stab_inputs.npz") as arrays:
        return {case: (arrays[f"{case}__X"], arrays[f"{case}__Y"]) for case in RECORDED}


# ---------------------------------------------------------------------------------- recorded values


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")  # some have few samples
def test_distances_equal_the_authors_code(inputs, subtests):
    for case in RECORDED:
        with subtests.test(str(case)):
            x, y = map(normalize, inputs[case])
            theirs = RECORDED[case]
            assert 1 - rs.cka(x, y) == pytest.approx(theirs["lin_cka_dist"], rel=1e-8)
            assert rs.procrustes(x, y, squared=True) == pytest.approx(
                theirs["procrustes_sq"], rel=1e-8
            )
            if "mean_cca_corr" in theirs:  # they refuse n <= d
                width = rs.mean_cca.with_parameters(divisor="width")
                assert width(x, y) == pytest.approx(theirs["mean_cca_corr"], rel=1e-8)
                assert width(x, y, aggregation="mean_squared") == pytest.approx(
                    theirs["mean_sq_cca_corr"], rel=1e-8
                )


WIDER = {
    ("dim_mismatch", ""),
    ("power_law", ""),
    ("relu_dead", "_BA"),
}  # the first spans more dimensions


def test_pwcca_over_all_directions_is_theirs_where_theirs_is_defined(inputs, subtests):
    for case in [case for case in RECORDED if case != "wide"]:
        for order in ["", "_BA"]:
            with subtests.test(f"{case}, {order}"):
                x, y = inputs[case] if not order else inputs[case][::-1]
                theirs, ours = (
                    RECORDED[case][f"PWCCA_dist{order}"],
                    1 - rs.pwcca(x, y, directions="all"),
                )
                if (case, order) in WIDER:
                    assert abs(ours - theirs) > 0.01
                    assert ours > 1 - rs.pwcca(x, y)  # directions without a partner have weight
                else:
                    assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-8)


# ---------------------------------------------------------------------------------------- operators


def test_normalize_centers_features_and_has_unit_norm(rng):
    x = normalize(5 + 3 * rng.standard_normal((30, 7)))
    assert np.abs(x.mean(axis=0)).max() < 1e-15
    assert np.linalg.norm(x) == pytest.approx(1, rel=1e-12)


def test_deletion_keeps_the_largest_singular_values_exactly(rng, subtests):
    for k in [0, 3, 11]:
        for shape in [(40, 12), (10, 25)]:
            with subtests.test(f"{k}, {shape}"):
                x = rng.standard_normal(shape) + 4
                left = delete_principal_components(x, k)
                assert left.shape == (shape[0], shape[1] - k)
                values = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
                kept = np.zeros(min(left.shape))
                kept[:] = values[: len(kept)]
                np.testing.assert_allclose(np.linalg.svd(left, compute_uv=False), kept, atol=1e-12)
                assert np.abs(left.mean(axis=0)).max() < 1e-12
                assert (left.max(axis=0) >= -left.min(axis=0) - 1e-12).all()  # signs are settled


def test_deletion_takes_arrays_of_any_library(rng):
    x = rng.standard_normal((20, 6))
    found = delete_principal_components(torch.asarray(x), 2)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), delete_principal_components(x, 2), atol=1e-12)


def test_the_fractions_of_the_paper():
    assert [numbers_to_delete(d)[-1] for d in (768, 16, 1)] == [767, 15, 0]
    assert numbers_to_delete(768)[:-1] == (
        0, 100, 200, 300, 400, 500, 600, 650, 700, 725, 750, 758, 763,
    )  # fmt: skip


def seeds_with_a_head(count: int = 3, head: int = 3, d: int = 16, n: int = 80) -> list[np.ndarray]:
    """Models that share a few directions of large variance, each with directions of small variance
    of its own."""
    random = np.random.default_rng(4)
    shared = 10 * random.standard_normal((n, head))
    return [
        np.hstack(
            [
                shared + 0.5 * random.standard_normal((n, head)),
                random.standard_normal((n, d - head)),
            ]
        )
        for _ in range(count)
    ]


def test_measures_that_look_at_large_directions_do_not_see_deletions():
    found = deletions(
        seeds_with_a_head(), k=range(16), measures=["cka", "pwcca[directions=all]", "procrustes"]
    )
    cka, pwcca, procrustes = found.values()
    assert cka.share == tuple(k / 16 for k in range(16))
    assert cka.distance[0] == pytest.approx(0, abs=1e-12)
    assert list(cka.distance) == sorted(cka.distance)
    assert cka.detected >= 14 / 16  # not before a shared direction goes
    assert pwcca.detected < procrustes.detected <= cka.detected
    rotated = deletions(seeds_with_a_head(), k=[0], measures=["cka"])["cka"]
    assert rotated.detected is None


def test_a_measure_without_values_is_not_one_that_never_sees():
    shares, whole = (
        (0.0, 0.5, 0.9),
        np.array([[[0, 1, 2], [3, 3, 3]], [[3, 3, 3], [0, 1, 2]]], float),
    )
    assert deletion_curve("m", shares, whole)[3:] == (3.0, None, "")  # it never sees
    gap, lone = whole.copy(), whole.copy()
    gap[:, :, 2] = np.nan
    assert deletion_curve("m", shares, gap).unknown == "no distance at 1 of 3 shares deleted"
    lone[0, 1] = lone[1, 0] = np.nan
    found = deletion_curve("m", shares, lone)
    assert found.detected is None
    assert found.unknown == "no distance between seeds"


def test_unknown_distances_of_a_layer_are_not_near():
    d = np.zeros((2, 3, 2, 3))
    d[0, :, 0] = d[1, :, 1] = [[0, 5, 5], [5, 0, np.nan], [5, np.nan, 0]]
    d[0, :, 1] = d[1, :, 0] = 1
    assert depth_from_differences("m", d).exceeding == (1.0, 1.0, 1.0)  # of those that are known
    d[0, 1, 0] = d[1, 1, 1] = np.nan
    assert np.isnan(depth_from_differences("m", d).exceeding[1])


def test_layers_and_seeds_against_each_other():
    random = np.random.default_rng(3)
    steps = [random.standard_normal((60, 5)) for _ in range(4)]
    base = np.cumsum(steps, axis=0)
    models = [
        {f"l{i}": layer + 0.1 * random.standard_normal(layer.shape) for i, layer in enumerate(base)}
        for _ in range(3)
    ]
    found = depth(models, measures=["cka"])["cka"]
    assert found.exceeding == (1.0, 1.0, 1.0, 1.0)  # depth matters, seeds hardly do
    assert (np.diag(found.within) < 1e-9).all()
    assert found.across[0, 0] < found.across[0, 3]
    noise = [{f"l{i}": random.standard_normal((60, 5)) for i in range(4)} for _ in range(3)]
    assert np.mean(depth(noise, measures=["cka"])["cka"].exceeding) < 0.9


# ------------------------------------------------------------------------------------------ probing


def test_probe_finds_what_is_there_and_no_more(rng):
    labels = rng.integers(3, size=240)
    told, noise = (
        rng.standard_normal((240, 10)) + 4 * np.eye(3, 10)[labels],
        rng.standard_normal((240, 10)),
    )
    found = probe(told, labels, splits=1)
    assert found > 0.95
    assert probe(noise, labels, splits=1) == pytest.approx(1 / 3, abs=0.12)
    assert found == probe(
        told.copy(), labels.astype(str), splits=1
    )  # the same divisions, whatever the labels are


def flat(rank: int = 4, d: int = 12, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """A representation of low rank, and labels that are in its smallest direction, well hidden by
    scale."""
    random = np.random.default_rng(2)
    scores = random.standard_normal((n, rank)) * np.array([8.0, 4.0, 2.0, 0.5])[:rank]
    return scores @ np.linalg.qr(random.standard_normal((d, rank)))[0].T, (
        scores[:, -1] > 0
    ).astype(int)


def test_probes_do_not_scale_up_rounding():
    x, labels = flat()
    whole = probe(delete_principal_components(x, 0), labels, splits=1)
    assert whole > 0.85
    for k in range(1, 9):  # there is nothing in the directions deleted
        assert probe(delete_principal_components(x, k), labels, splits=1) == whole
    assert probe(delete_principal_components(x, 9), labels, splits=1) < whole - 0.1
    noise = 1e-8 * np.random.default_rng(0).standard_normal(x.shape)
    for k in (0, 4, 8):
        assert probe(delete_principal_components(x + noise, k), labels, splits=1) == pytest.approx(
            whole, abs=0.051
        )
    single = delete_principal_components(x.astype(np.float32), 4)
    assert probe(single, labels, splits=1) == pytest.approx(whole, abs=0.051)


# ---------------------------------------------------------------------------------------- procedure


def test_the_procedure_by_hand():
    f = [0.5, 0.9, 0.7, 0.6]
    d = np.array([[0, 3, 1, 2], [4, 0, 1, 2], [9, 9, 0, 9], [9, 9, 9, 0]], float)
    found = agreement(d, f)  # reference 1: distances 4 0 1 2, differences .4 0 .2 .3
    assert found == (1.0, 1.0, 4, 1)
    assert agreement(d[[0]], f, rows=[0]).spearman == pytest.approx(
        spearmanr([0, 3, 1, 2], [0, 0.4, 0.2, 0.1])[0]
    )
    assert agreement(d, f, self_pair=False).pairs == 3
    every = agreement(d, f, reference="every")
    assert every.kendall == pytest.approx(
        np.mean([agreement(d[[i]], f, rows=[i]).kendall for i in range(4)])
    )
    assert agreement(d[1:2], f, rows=[1]) == found
    assert agreement(d[[3, 0]], f, rows=[3, 0]).reference == 3  # the best of the two
    gap = d.copy()
    gap[1, 0] = np.nan
    assert agreement(gap, f).pairs == 3
    assert np.isnan(agreement(np.ones((4, 4)), f).spearman)


def test_the_procedure_and_its_pvalues_are_scipys(rng):
    f, d = rng.random(30), rng.random((30, 30))
    best = int(f.argmax())
    expected = np.abs(f - f[best])
    rho, tau = spearmanr(d[best], expected), kendalltau(d[best], expected)
    assert agreement(d, f)[:2] == pytest.approx((rho.statistic, tau.statistic))
    p = [r.pvalue / 2 if r.statistic > 0 else 1 - r.pvalue / 2 for r in (rho, tau)]
    assert one_sided(d[best], expected) == pytest.approx(p)
    assert np.isnan(one_sided(np.ones(9), np.arange(9.0))).all()


X, ONES, TWO = np.random.default_rng(0).standard_normal((20, 6)), np.ones((4, 4)), np.arange(20) % 2
BAD = np.where(np.arange(6) == 2, np.nan, X)
FOUR = [1, 2, 3, 4]
MISTAKES = {
    "NaN": (
        lambda: normalize(BAD),
        lambda: delete_principal_components(BAD, 1),
        lambda: probe(BAD, TWO),
    ),
    "constant": (
        lambda: normalize(ONES),
        lambda: delete_principal_components(ONES, 1),
        lambda: probe(np.full((20, 3), 0.1), TWO),
    ),
    "k must be a whole number from 0 to 5": [
        partial(delete_principal_components, X, k) for k in (-1, 6, 1.5, True, "2")
    ],
    "deletions: k must be": [
        partial(deletions, [X, X + 1], k=k, measures=["cka"]) for k in (3, "ab", [1.5], ["1"], [6])
    ],
    "deletions: two or more seeds of one shape": (
        lambda: deletions([X]),
        lambda: deletions([X, X[:10]]),
    ),
    "same two or more layers": (lambda: depth([{"a": X}, {"a": X}]),),
    "depth: models must map layers": (lambda: depth([[X, X], [X, X]]),),
    r"depth: all layers must have the same samples; .* \[10, 20\]": (
        lambda: depth([{"a": X, "b": X}, {"a": X, "b": X[:10]}]),
    ),
    "probe: .*needs 2 classes": [partial(probe, X, labels) for labels in (TWO * 0, TWO * 0 < 1)],
    "probe: one label per sample": (lambda: probe(X, TWO[1:]),),
    "probe: splits must be a whole number": [
        partial(probe, X, TWO, splits=splits) for splits in (0, 1.5, True)
    ],
    "probe: penalties must be": [
        partial(probe, X, TWO, penalties=penalties) for penalties in ((), (-1.0,), 1.0)
    ],
    "probe: 20 classes are too many": (lambda: probe(X, np.arange(20)),),
    "probe: .*all numbers or all words": [partial(probe, X, [0, a] * 10) for a in ("a", None)],
    "probe: .*one list": [partial(probe, X, labels) for labels in ("ab" * 10, np.ones((20, 2)))],
    "agreement: ": (
        lambda: agreement(ONES[:3], FOUR),
        lambda: agreement(ONES, [0, 1, 2, np.inf]),
        lambda: agreement(ONES[:2], FOUR, rows=[0, 0]),
        lambda: agreement(ONES[:2], FOUR, rows=[0, 4]),
        lambda: agreement(ONES[:1], FOUR, rows=[[0]]),
        lambda: agreement(ONES, FOUR, reference="worst"),
        lambda: agreement(ONES, FOUR, reference=0),
        lambda: agreement(np.full((4, 4), np.inf), FOUR),
    ),
    "one_sided: two lists of one length": (lambda: one_sided([1, 2, 3], [1, 2]),),
    "reference_of: rows must be different positions from 0 to 3": (
        lambda: reference_of(FOUR, [0, 4]),
    ),
    "two or more blocks": (lambda: bootstrap_counts(4, blocks="aaaa"),),
    "not more": (lambda: bootstrap_counts(4, blocks="aabb", nested="aabb"),),
    "bootstrap_counts: n_resamples must be": [
        partial(bootstrap_counts, 4, n_resamples=draws) for draws in (0, 1.5, True)
    ],
    "one column for each": (lambda: bootstrap({"m": ONES}, FOUR, bootstrap_counts(5)),),
    "copies must be": (lambda: bootstrap({"m": ONES}, FOUR, bootstrap_counts(4), copies="some"),),
    "must not be negative": (lambda: bootstrap({"m": ONES}, FOUR, [[2, -1, 0, 0]]),),
    "counts must be whole numbers": (lambda: bootstrap({"m": ONES}, FOUR, [[0.5] * 4]),),
    "one of every outer": (lambda: exchanges(3, crossed=([0, 0, 1], [0, 1, 0])),),
    "one size": (lambda: exchanges(3, nested=[0, 0, 1]),),
    "not both": (
        lambda: exchanges(4, crossed=([0, 0, 1, 1], [0, 1, 0, 1]), nested=[0, 0, 1, 1]),
        lambda: attainable(4, nested=[0, 0, 1, 1], within=([0, 0, 1, 1], [0, 1, 0, 1])),
    ),
    "exchanges: n_permutations must be": (lambda: exchanges(4, n_permutations=0),),
    "4 columns": (lambda: permutation_test({"m": ONES}, FOUR, exchanges(5)),),
    "every row of exchanges must be a permutation of 0 to 3": [
        partial(permutation_test, {"m": ONES}, FOUR, [order])
        for order in ([0, 1, 2, 2], [0, 1, 2, 4], [-1, 0, 1, 2])
    ],
}


def test_mistakes_have_reasons(subtests):
    for message, calls in MISTAKES.items():
        for number, call in enumerate(calls):
            with subtests.test(f"{message} {number}"), pytest.raises(ValueError, match=message):
                call()


# ---------------------------------------------------------------------------------------- bootstrap


@pytest.mark.parametrize("copies", ["all", "one"])
@pytest.mark.parametrize("rows", [None, [0, 3, 4, 9, 11]])
def test_the_bootstrap_is_a_naive_loop(copies, rows, rng):
    f = rng.integers(6, size=12) / 7  # with ties
    places = np.arange(12) if rows is None else np.array(rows)
    d = rng.integers(5, size=(len(places), 12)).astype(float)
    d[1, 5] = np.nan
    counts = bootstrap_counts(12, n_resamples=60)
    found = bootstrap({"m": d}, f, counts, rows=rows, copies=copies)
    for draw, count in enumerate(counts):
        there = [i for i in places if count[i]]
        best = max(there, key=lambda i: (f[i], -i))
        drawn = [i for i in range(12) for _ in range(count[i]) if i != best]
        drawn += [best] * {"all": count[best], "one": 1}[copies]
        row = d[list(places).index(best)]
        a, b = row[drawn], np.abs(f - f[best]).round(12)[drawn]
        a, b = a[~np.isnan(a)], b[~np.isnan(a)]
        expected = (
            [np.nan] * 2
            if np.ptp(a) == 0 or np.ptp(b) == 0
            else [spearmanr(a, b)[0], kendalltau(a, b)[0]]
        )
        assert [found.spearman["m"][draw], found.kendall["m"][draw]] == pytest.approx(
            expected, nan_ok=True
        ), draw


def test_an_interval_holds_95_percent_of_the_draws():
    assert percentile_interval([*range(101), np.nan]) == (2.5, 97.5)


def test_blocks_are_drawn_as_wholes():
    blocks = [0, 0, 0, 1, 1, 2, 2, 2]
    counts = bootstrap_counts(8, blocks=blocks, n_resamples=500)
    assert (np.ptp(counts[:, :3], axis=1) == 0).all()
    assert (counts[:, [0, 3, 5]].sum(axis=1) == 3).all()
    nested = bootstrap_counts(8, nested=blocks, n_resamples=500)
    assert np.ptp(nested[:, :3], axis=1).any()
    assert (nested[:, :3].sum(axis=1) % 3 == 0).all()  # of a block, all of it or all of it twice
    assert np.array_equal(nested, bootstrap_counts(8, nested=blocks, n_resamples=500))
    crossed = bootstrap_counts(
        6, crossed=([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2), n_resamples=500
    ).reshape(500, 2, 3)
    assert (crossed.sum(axis=(1, 2)) == 6).all()
    assert (
        crossed[:, 0] * crossed[:, 1, ::-1] == crossed[:, 1] * crossed[:, 0, ::-1]
    ).all()  # an outer product


# -------------------------------------------------------------------------------- permutation tests


def test_exchanges_keep_together_what_belongs_together():
    seeds, layers = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    for order in exchanges(12, crossed=(seeds, layers), n_permutations=50):
        assert sorted(order) == list(range(12))
        moved = order.reshape(4, 3)
        assert all(len(set(seeds[row])) == 1 for row in moved)
        assert all(len(set(layers[column])) == 1 for column in moved.T)
    blocks = np.repeat(np.arange(4), 3)
    orders = exchanges(12, nested=blocks, n_permutations=50)
    assert all(len(set(blocks[row])) == 1 for order in orders for row in order.reshape(4, 3))
    assert (
        len({tuple(o % 3) for order in orders for o in order.reshape(4, 3)}) == 6
    )  # and inside each of them
    assert (np.sort(exchanges(5, n_permutations=9), axis=1) == np.arange(5)).all()


def test_few_seeds_have_few_orders():
    seeds, layers = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)
    orders = exchanges(12, within=(seeds, layers), n_permutations=400)
    assert (layers[orders] == layers).all()  # depth stays where it is
    assert (np.ptp(seeds[orders].reshape(400, 3, 4), axis=2) == 0).all()  # and seeds stay whole
    assert len(np.unique(orders, axis=0)) == 6
    assert attainable(12, within=(seeds, layers)) == pytest.approx(1 / 6)
    assert attainable(12, crossed=(seeds, layers)) == pytest.approx(1 / (6 * 24))
    assert attainable(12, nested=seeds) == pytest.approx(1 / (6 * 24**3))
    assert attainable(4) == pytest.approx(1 / 24)


@pytest.mark.parametrize("self_pair", [True, False])
@pytest.mark.parametrize("rows", [None, [1, 2, 6]])
def test_the_permutation_test_is_a_naive_loop(rows, self_pair, rng):
    f = rng.integers(4, size=8) / 3
    places = np.arange(8) if rows is None else np.array(rows)
    d = rng.integers(6, size=(len(places), 8)).astype(float)
    orders = exchanges(8, n_permutations=99)
    options = {"rows": rows, "self_pair": self_pair}
    values = [agreement(d, f[order], **options).spearman for order in orders]
    observed = agreement(d, f, **options).spearman
    expected = (1 + sum(not v < observed - 1e-12 for v in values)) / 100
    assert permutation_test({"m": d}, f, orders, **options)["m"] == pytest.approx(expected)
    d[0, 3] = np.nan
    assert np.isnan(permutation_test({"m": d}, f, orders, rows=rows)["m"])


def pvalue(d: np.ndarray, f: np.ndarray, **design: object) -> float:
    orders = exchanges(len(f), n_permutations=199, **design)
    return permutation_test({"m": d}, f, orders)["m"]


def rejected(pvalues: list[float], level: float = 0.05) -> float:
    return float(np.mean(np.array(pvalues) <= level))


def euclidean(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def shared_seeds(draw: int, follows: bool) -> tuple[np.ndarray, np.ndarray, tuple]:
    """Positions of 6 seeds x 6 layers in a space, and functionality, both made of layers and a
    little of seeds."""
    random = generator(draw, "shared seeds")
    seed, layer = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    points = random.standard_normal((6, 3))[layer] + 0.2 * random.standard_normal((36, 3))
    effect = points[:, 0] if follows else random.standard_normal(6)[layer]
    f = effect + 0.1 * random.standard_normal(36)
    return euclidean(points[:, : 1 if follows else 3]), f, (seed, layer)


def test_the_permutation_test_is_valid_where_the_naive_one_is_not():
    valid, naive = [], []
    for draw in range(200):
        d, f, crossed = shared_seeds(draw, follows=False)
        valid.append(pvalue(d, f, crossed=crossed, seed=draw))
        best = int(f.argmax())
        naive.append(one_sided(d[best], expected_differences(f, best))[0])
    assert 0.01 <= rejected(valid) <= 0.09
    assert 0.4 <= rejected(valid, 0.5) <= 0.6
    assert rejected(naive) > 0.25  # pairs are not independent


def walks(draw: int, seeds: int = 5, layers: int = 8) -> tuple[np.ndarray, np.ndarray, tuple]:
    """Positions and functionality that have nothing in common but that both drift with depth, alike
    in all seeds."""
    random = generator(draw, "walks")
    drift = np.cumsum(random.standard_normal((layers, 3)), axis=0)
    points = drift + 0.3 * random.standard_normal((seeds, layers, 3))
    f = np.cumsum(random.standard_normal(layers)) + 0.3 * random.standard_normal((seeds, layers))
    which = np.repeat(np.arange(seeds), layers), np.tile(np.arange(layers), seeds)
    return euclidean(points.reshape(-1, 3)), f.ravel(), which


def test_depth_is_not_exchangeable():
    """Walks over depth agree by chance; only tests that leave layers where they are have the level
    they claim."""
    found = {"within": [], "crossed": []}
    for draw in range(200):
        d, f, which = walks(draw)
        for kind, pvalues in found.items():
            pvalues.append(pvalue(d, f, **{kind: which}, seed=draw))
    assert rejected(found["within"]) <= 0.09
    assert rejected(found["crossed"]) > 0.2


def test_seeds_that_differ_are_found_beneath_depth():
    which = np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6)
    pvalues = []
    for draw in range(30):
        seed = generator(draw, "drift").standard_normal(6)
        points = (np.arange(4) + 0.5 * seed[:, None]).reshape(-1, 1)
        pvalues.append(pvalue(euclidean(points), points[:, 0], within=which))
    assert rejected(pvalues) > 0.8
