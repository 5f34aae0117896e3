"""Intermediates that are carried over to another order of the samples give the values of
recomputed."""

from __future__ import annotations

import gc
import math
import weakref
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import resemblance as rs
from resemblance import Representation, UndefinedError
from resemblance.base.rng import generator
from resemblance.catalogue import get_measures
from resemblance.checks.trial import limit_neighbors
from resemblance.contracts._measure import Measure, measure
from resemblance.data.representation import cached, check_all_finite
from resemblance.inference.reorder import (
    AxisRule,
    Permutation,
    axis_rule,
    permute_intermediate,
    permute_pair_vector,
    permute_representation,
)
from resemblance.intermediates.neighbors import nearest
from resemblance.intermediates.points import unit

N = 40
VARIANTS = [
    "mean_cca[aggregation=mean_squared]",
    "mean_cca[divisor=width]",
    "pwcca[weights=symmetric]",
    "pwcca[directions=all]",
    "hard_correlation_match[matching=greedy]",
    "procrustes[squared=True]",
    "soft_matching[units=unit]",
    "cka[kernel=rbf]",
    "cka[kernel=laplace]",
    "cka[kernel=cosine]",
    "cka[estimator=debiased]",
    "cka[estimator=lange]",
    "cka[kernel=rbf,pairs=all,estimator=debiased]",
    "distance_correlation[squared=True]",
    "gulp[ridge=0.1]",
    "kcka[k=10,variant=code]",
    "mka[k=10,metric=cosine]",
    "mka[k=10,corrected=True]",
    "mka[k=10,symmetrize=True]",
    "mka[k=10,diagonal=False]",
    "rsa[rdm=cosine,compare=pearson]",
    "rsa[rdm=euclidean,compare=cosine]",
    "rsa[compare=kendall]",
    "cknna[kernel=linear]",
    "cknna[estimator=biased]",
    "cycle_knn[metric=euclidean]",
    "cycle_knn[metric=inner,corrected=True]",
    "edit_distance_knn[k=4]",
    "information_imbalance[k=3]",
    "information_imbalance[corrected=True]",
    "jaccard[metric=euclidean]",
    "lcs_knn[metric=euclidean,k=5]",
    "mutual_knn[k=1]",
    "mutual_knn[metric=euclidean,corrected=True]",
    "rank_similarity[k=4]",
    "second_order_cosine[k=4]",
    "rtd[direction=first]",
    "uniformity_difference[self_pairs=False]",
    "jensen_shannon[outputs=probabilities]",
    "rtd[repeats=2,subsample=20]",
    "rtd_lite[subsample=20]",
    "imd[estimator=stochastic,probes=20,repeats=1]",
]
NEEDS_NO_PAIRING = {
    "imd",
    "concentricity_difference",
    "eigenspectrum_similarity",
    "magnitude_difference",
    "mmd",
    "sliced_wasserstein",
    "uniformity_difference",
    "uniformity_difference[rows=raw]",
    "uniformity_difference[self_pairs=False]",
}


def catalogue() -> list[Measure]:
    """Measures with some variants; those of repeats move stimuli as wholes, which other tests
    show."""
    plain = (m for m in rs.list_measures() if m.takes != "repeats")
    listed = [limit_neighbors(m) for m in plain if m.name != "accuracy_difference"]
    listed.append(rs.accuracy_difference.with_parameters(labels=tuple(range(3)) * (N // 3) + (0,)))
    few = [m for m in get_measures(["resi"]) if m not in listed]
    return list(dict.fromkeys([*listed, *few, *get_measures(VARIANTS)]))


def pair_of(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Two related representations of the same samples."""
    noise = generator(3, kind).standard_normal((3, N, 60))
    x, y = noise[0] + noise[2], noise[1] + noise[2]
    binary = (x[:, :6] > 0).astype(float), (y[:, :8] > 0.5).astype(float)
    relu = np.maximum(x[:, :6], 0), np.maximum(y[:, :7] - 0.3, 0)
    relu[1][::3] = 0
    return {
        "tall": (x[:, :6], y[:, :9]),
        "square": (x[:, :N], y[:, :N]),
        "wide": (x[:, :50], y),
        "tall and wide": (x[:, :6], y),
        "binary": binary,
        "duplicates": (np.repeat(x[:10, :6], 4, axis=0), np.repeat(y[:20, :9], 2, axis=0)),
        "relu": relu,
    }[kind]


CONTINUOUS = ("tall", "square", "wide", "tall and wide")
TIED = ("binary", "duplicates", "relu")


def value_of(m: Measure, x: Representation, y: Representation) -> float:
    try:
        return float(m.evaluate(x, y))
    except UndefinedError:
        return math.nan


def orders(n: int, *labels: Any) -> list[np.ndarray]:
    return [generator(5, "order", n, draw, *labels).permutation(n) for draw in range(2)]


def assert_carried(m: Measure, x: Representation, y: Representation) -> None:
    own, other = orders(x.shape[0], "x")[0], orders(y.shape[0], "y")[0]
    X, Y = x.source[own], y.source[other]
    moved = permute_representation(y, other)
    expected = value_of(m, x, Representation(Y))
    assert value_of(m, x, moved) == close(expected, m)
    expected = value_of(m, Representation(X), Representation(Y))
    assert value_of(m, permute_representation(x, own), moved) == close(expected, m)


def close(expected: float, m: Measure) -> Any:
    span = np.ptp(m.range) if np.isfinite(m.range).all() else 0
    return pytest.approx(expected, rel=1e-9, abs=1e-12 * span, nan_ok=True)


# ------------------------------------------------------------------------------- the catalogue


def test_reordered_intermediates_give_the_same_value(subtests):
    for m in catalogue():
        with subtests.test(str(m)):
            assert m.needs_pairing == (str(m) not in NEEDS_NO_PAIRING)
            pairs = [pair_of(kind) for kind in (*CONTINUOUS, *TIED)]
            if m == rs.jensen_shannon.with_parameters(outputs="probabilities"):
                pairs = [[np.exp(r) / np.exp(r).sum(1, keepdims=True) for r in p] for p in pairs]
            for pair in pairs:
                assert_carried(m, *map(Representation, pair))
            assert not np.isnan([value_of(m, *map(Representation, pair)) for pair in pairs]).all()


# ------------------------------------------------------------------------ all kinds of input

SOME = get_measures(["cka", "cka[kernel=rbf]", "rsa", "mutual_knn", "mka[k=10]", "procrustes"])


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_single_precision(dtype):
    x, y = (Representation(r.astype(np.float32), "a", dtype=dtype) for r in pair_of("tall"))
    for m in SOME:
        z = permute_representation(y, orders(N)[0])
        assert (z.name, z.requested_dtype, z.dtype) == ("a", dtype, dtype or "float64")
        anew = Representation(y.source[orders(N)[0]], dtype=dtype)
        tolerance = 1e-9 if dtype is None else 1e-4
        assert m.evaluate(x, z) == pytest.approx(m.evaluate(x, anew), rel=tolerance)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_tensors(dtype):
    x, y = (Representation(torch.asarray(r, dtype=dtype)) for r in pair_of("relu"))
    order = orders(N)[0]
    for m in SOME:
        value = m.evaluate(x, permute_representation(y, order))
        expected = m.evaluate(x, Representation(y.source[torch.asarray(order)]))
        assert isinstance(value, torch.Tensor) == isinstance(expected, torch.Tensor)
        assert float(value) == pytest.approx(float(expected), rel=1e-9)


def test_intermediates_of_tensors_stay_tensors():
    x = Representation(torch.asarray(pair_of("tall")[0]))
    z = permute_representation(x, orders(N)[0])
    assert isinstance(unit(z), torch.Tensor)
    pairs = torch.arange(N * (N - 1) // 2)
    to = Permutation(orders(N)[0])
    carried = permute_intermediate(AxisRule("pairs"), pairs, to, "pairs")
    assert torch.equal(carried, torch.asarray(to.pairs))


def test_gradients_pass_through_the_moved_array():
    x, y = (torch.asarray(r) for r in pair_of("tall"))
    y.requires_grad_()
    order = torch.asarray(orders(N)[0])
    z = permute_representation(Representation(y), order.numpy())
    rs.cka.evaluate(Representation(x), z).backward()
    gradient, y.grad = y.grad, None
    rs.cka(x, y[order]).backward()
    assert torch.allclose(gradient, y.grad, atol=1e-14)


def test_files_and_whole_numbers(tmp_path):
    for name, array in zip("xy", pair_of("tall")):
        np.save(tmp_path / f"{name}.npy", array)
    sides = [tmp_path / "x.npy", tmp_path / "y.npy"], [r.astype(int) for r in pair_of("binary")]
    for m, (x, y) in product(SOME, sides):
        assert_carried(m, Representation(x), Representation(y))


def test_ids_stay_in_their_places():
    x, y = (Representation(r, ids=range(1, N + 1)) for r in pair_of("tall"))
    z = permute_representation(y, orders(N)[0])
    assert z.ids == y.ids
    rs.cka.evaluate(x, z)  # no complaint about their order


@pytest.mark.parametrize(
    "order", [np.arange(N - 1), np.zeros(N, dtype=int), np.arange(N) - 1, np.arange(N) / 2]
)
def test_an_order_holds_each_sample_once(order):
    with pytest.raises(ValueError, match="permutation"):
        permute_representation(Representation(pair_of("tall")[0]), order)


# -------------------------------------------------------------------- what is computed, and kept


def test_no_intermediate_is_computed_again(monkeypatch):
    x, y = map(Representation, pair_of("tall"))
    for m in SOME:
        m.evaluate(x, y)
        before = set(y.cache)
        m.evaluate(x, z := permute_representation(y, orders(N)[0]))
        assert {key[0].__name__ for key in set(y.cache) - before} <= {"square_from_pair_vector"}
        assert z.cache


def test_the_array_is_copied_only_where_it_is_needed():
    x, y = map(Representation, pair_of("tall"))
    knn, soft = rs.mutual_knn, rs.soft_matching
    for m, is_needed in ((knn, False), (soft, True)):
        m.evaluate(x, z := permute_representation(y, orders(N)[0]))
        assert ("working_values" in {key[0].__name__ for key in z.cache}) == is_needed
    assert np.array_equal(z.array, y.source[orders(N)[0]])


def test_a_moved_representation_moves_again():
    x, order = Representation(pair_of("tall")[0]), orders(N)[0]
    again = permute_representation(permute_representation(x, order), order)
    assert np.array_equal(again.array, x.source[order][order])


def test_a_moved_representation_is_freed_with_its_last_reference():
    y = Representation(pair_of("tall")[1])
    z = permute_representation(y, orders(N)[0])
    unit(z)
    gone = weakref.ref(z)
    gc.disable()
    try:
        del z
        assert gone() is None
    finally:
        gc.enable()


def test_bad_data_are_named_as_before():
    array = pair_of("tall")[1].copy()
    array[3, 2] = np.nan
    y = Representation(array)
    with pytest.raises(UndefinedError, match="NaN"):
        check_all_finite(permute_representation(y, orders(N)[0]))


# -------------------------------------------------------------------------------- single values


def test_neighbors_and_their_ties(subtests):
    for kind, metric in product((*CONTINUOUS, *TIED), ("cosine", "euclidean", "inner")):
        x, order = Representation(pair_of(kind)[1]), orders(N)[0]
        near = nearest(x, k=7, metric=metric)
        carried = permute_intermediate(AxisRule("neighbors"), near, Permutation(order), "near")
        anew = nearest(Representation(x.source[order]), k=7, metric=metric)
        with subtests.test(f"{kind}, {metric}"):
            for part, other in zip((carried.listed, *carried.ties), (anew.listed, *anew.ties)):
                assert np.array_equal(part, other)
                assert part.dtype == other.dtype


def test_sparse_arrays(subtests):
    from scipy.sparse import random_array

    to = Permutation(orders(N)[0])
    for form in ("csr", "csc", "coo"):
        graph = random_array((N, N), density=0.2, format=form, rng=0)
        carried = permute_intermediate(AxisRule("axes", (0, 1)), graph, to, "graph")
        with subtests.test(form):
            assert carried.format == form
            assert np.array_equal(carried.toarray(), graph.toarray()[np.ix_(to.rows, to.rows)])


def test_matrices_and_pairs_of_several_blocks():
    n, to = 150, Permutation(generator(5, "blocks").permutation(150))
    matrix = generator(5, "matrix").standard_normal((n, n))
    moved_both = matrix[np.ix_(to.rows, to.rows)]
    assert np.array_equal(
        permute_intermediate(AxisRule("axes", (0, 1)), matrix, to, "matrix"), moved_both
    )
    x, vector = Representation(matrix), (matrix + matrix.T)[np.triu_indices(n, 1)]
    expected = (moved_both + moved_both.T)[np.triu_indices(n, 1)]
    assert np.array_equal(permute_pair_vector(x, "of mine", vector, to), expected)
    assert np.array_equal(permute_intermediate(AxisRule("pairs"), vector, to, "vector"), expected)


# ------------------------------------------------------------------------------- declared axes


def test_the_words_of_a_declaration():
    @cached("n k", "scalar", "d n")
    def parts(x: Representation) -> Any:
        return None

    rows, fixed, columns = AxisRule("axes", (0,)), AxisRule("fixed"), AxisRule("axes", (1,))
    (function,) = {key.__wrapped__ for key in [parts]}
    assert axis_rule(function) == AxisRule("parts", parts=(rows, fixed, columns))
    for bad in ("", "n, d", 3, "N d", "samples d", "pairs n"):
        with pytest.raises(ValueError, match=r"such as cached\('n d'\).*scalar, pairs.*; got"):
            cached(bad)
    cached("n d"), cached("n k", "k")  # what the message advises


def declared(function: Any) -> Measure:
    return measure(
        label="mine",
        invariant_to={"permutation"},
        family="alignment",
        larger_is_more_similar=True,
        range=(-math.inf, math.inf),
        symmetric=True,
        citation="",
        version=1,
    )(function)


def test_intermediates_of_users_move_along_their_axes():
    calls = []

    @cached("n", "n k")
    def strongest(x: Representation, count: int) -> tuple[np.ndarray, np.ndarray]:
        calls.append(x)
        sizes = np.abs(x.array)
        return sizes.argmax(axis=1), np.sort(sizes, axis=1)[:, -count:]

    @declared
    def mine(x: Representation, y: Representation, *, count: int = 2) -> float:
        (a, p), (b, q) = strongest(x, count=count), strongest(y, count=count)
        return float(((a == b)[:, None] * p * q).sum())

    x, y = map(Representation, pair_of("tall"))
    assert_carried(mine, x, y)
    calls.clear()
    for order in orders(N):
        mine.evaluate(x, permute_representation(y, order))
    assert not calls


def test_an_intermediate_without_axes_is_computed_again_and_named():
    @cached
    def ranks(x: Representation) -> np.ndarray:
        return np.argsort(np.argsort(x.array[:, 0], kind="stable"))

    @declared
    def mine(x: Representation, y: Representation) -> float:
        return float(np.corrcoef(ranks(x), ranks(y))[0, 1])

    with pytest.warns(UserWarning, match=r"intermediate ranks declares no axes.*rs\.cached"):
        assert_carried(mine, *map(Representation, pair_of("binary")))


def test_a_wrong_declaration_is_refused():
    @cached("n d")
    def means(x: Representation) -> np.ndarray:
        return x.array.mean(axis=0)

    y = Representation(pair_of("tall")[1])
    with pytest.raises(ValueError, match=r"means declares axes .* shape \(9,\) for 40 samples"):
        means(permute_representation(y, orders(N)[0]))


def test_a_measure_of_a_user_may_read_the_source():
    def source_product(x: Representation, y: Representation) -> float:
        return float((x.source[:, 0] * y.source[:, 0]).sum())

    x, y = map(Representation, pair_of("tall"))
    order = orders(N)[0]
    z = permute_representation(y, order, with_source=True)
    assert source_product(x, z) == pytest.approx((x.source[:, 0] * y.source[order, 0]).sum())


def test_a_wide_layer_is_rotated_once_in_a_call_and_not_for_distances(monkeypatch):
    noise = generator(0, "wide").standard_normal((3, 20, 60))
    rotated, qr = [], np.linalg.qr

    def noting(a, mode):
        rotated.extend([a.shape] if len(a) == 60 else [])  # not probes
        return qr(a, mode)

    monkeypatch.setattr(np.linalg, "qr", noting)
    measures = ["distance_correlation", "rsa", "mutual_knn[k=3]", "gulp"]
    evidence = rs.evidence(list(noise), measures=measures[:1], progress=False)
    assert rotated == []
    inputs = [Representation(layer, name) for layer, name in zip(noise, "abc")]
    rs.compare(inputs, measures=measures, progress=False, memory="1 MB", block_size=1)
    assert len(rotated) == 3
    moved_value = rs.rsa(inputs[0], permute_representation(inputs[1], orders(20)[0]))
    assert len(rotated) == 3
    assert moved_value == pytest.approx(rs.rsa(noise[0], noise[1][orders(20)[0]]))
    assert evidence.pvalue("distance_correlation").shape == (3, 3)


def test_entries_of_wide_layers_are_multiplied_once_in_a_call(monkeypatch):
    from resemblance.intermediates import grams

    layers = generator(0, "wide").standard_normal((3, 40, 30))
    pieces, above = [], grams.upper_triangle
    monkeypatch.setattr(
        grams, "upper_triangle", lambda block: pieces.append(block.shape) or above(block)
    )
    specs = ["cka", "cka[estimator=debiased]", "ensd"]
    rs.compare(list(layers), measures=specs, progress=False, memory="1 MB", block_size=1)
    assert [shape for shape in pieces if shape[1] == 40] == [(40, 40)] * 3  # not of probes
