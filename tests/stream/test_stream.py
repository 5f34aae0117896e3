"""Streams: the scores of all samples at once, from batches of any size, merged, saved, refused
where digits are lost."""

from __future__ import annotations

import errno
import json
import pickle
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import resemblance as rs
from resemblance.contracts import streamed as streamed_module
from resemblance.contracts.streamed import stream_requirements
from resemblance.models.hooks import extract_module_features
from resemblance.stream.sums import ProductSums

# Values mean little, or not, in the same way.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

VARIANTS = [
    "mean_cca[aggregation=mean_squared]",
    "mean_cca[divisor=width]",
    "pwcca[directions=all]",
    "pwcca[weights=symmetric]",
    "svcca[truncation=resi]",
    "linear_regression[predict=first]",
    "gulp[ridge=0.1]",
    "gulp[squared=True]",
    "hard_correlation_match[matching=greedy]",
    "procrustes[squared=True]",
    "riemannian[shrinkage=0.5]",
    "shape_distance[alpha=0]",
    "shape_distance[alpha=1]",
    "soft_matching[units=unit]",
    "subspace_overlap[k=2]",
    "pwcka[explained_variance=0.5]",
    "cka[estimator=debiased]",
    "cka[estimator=lange]",
    "cka[kernel=cosine]",
    "cka[kernel=cosine,estimator=debiased]",
    "cka[kernel=cosine,estimator=lange]",
]
ALL = [m for m in rs.list_measures() if m.family != "outputs"] + list(map(rs.get_measure, VARIANTS))
STREAMING = [m for m in ALL if stream_requirements(m) is not None]
WHITENING = {
    "mean_cca",
    "pwcca",
    "linear_regression",
    "shape_distance",
    "eigenspace_overlap",
    "gulp",
}


def whitens(m: rs.Measure) -> bool:
    parameters = dict(m.parameters)
    return m.name in WHITENING and not parameters.get("ridge") and parameters.get("alpha") != 1


def related(
    n: int = 1200, condition: float = 1e3, offset: float = 1.0, seed: int = 0
) -> dict[str, np.ndarray]:
    """Two related layers, whose means are so many standard deviations, of this condition number."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 8))
    layers = {}
    for name, d in (("a", 12), ("b", 17)):
        x = np.tanh(latent @ rng.standard_normal((8, d)) / 2) + 0.1 * rng.standard_normal((n, d))
        u, _, vt = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
        s = np.geomspace(1, 1 / condition, d) * n**0.5
        deviation = (s @ s / n / d) ** 0.5
        layers[name] = (u * s) @ vt + offset * deviation * rng.standard_normal(d)
    return layers


def streamed(layers, size=100, **options) -> rs.Stream:
    stream = rs.Stream(**options)
    for start in range(0, len(next(iter(layers.values()))), size):
        stream.update({name: x[start : start + size] for name, x in layers.items()})
    return stream


def merged(layers, parts=3, **options) -> rs.Stream:
    """The samples dealt out to several streams, which are merged in another order."""
    streams = [rs.Stream(**options) for _ in range(parts)]
    n = len(next(iter(layers.values())))
    for i, rows in enumerate(np.array_split(np.arange(n), 4 * parts + 1)):
        streams[i % parts].update({name: x[rows] for name, x in layers.items()})
    for other in reversed(streams[:-1]):
        streams[-1].merge(other)
    return streams[-1]


def assert_same(m, direct, stream, tolerance=1e-10):
    a, b = direct.values()
    expected, value = m(a, b), m(*stream.representations().values())
    assert value == pytest.approx(expected, rel=tolerance, abs=1e-14)


# -------------------------------------------------------------------------------- the same values


@pytest.mark.parametrize("condition", [1e3, 1e5, 1e7])
@pytest.mark.parametrize("m", STREAMING, ids=str)
def test_the_value_is_that_of_all_samples_at_once(m, condition):
    layers = related(condition=condition)
    assert_same(m, layers, merged(layers, method="qr", directions=True))
    gram = merged(layers, method="gram", directions=True)
    if not whitens(m):
        assert_same(m, layers, gram)
    elif condition < 1e7:
        recorded = m.diagnostics(*gram.representations().values())["conditioning"]
        assert 1e-16 * condition**2 < recorded < 1e-4
        assert_same(m, layers, gram, tolerance=max(1e-10, recorded))
    else:
        with pytest.raises(rs.UndefinedError, match="method='qr'"):
            m(*gram.representations().values())


@pytest.mark.parametrize("method", ["gram", "qr"])
@pytest.mark.parametrize("m", STREAMING, ids=str)
def test_means_of_a_thousand_deviations_cost_no_digits(m, method):
    layers = related(condition=10.0, offset=1000.0)
    stream = merged(layers, method=method, directions=True)
    # The directions of the rows differ in their fourth digit, and so does what is left of them
    # in the data.
    coarse = m.name in ("concentricity_difference", "eigenspace_overlap") or m.parameters == ()
    assert_same(m, layers, stream, tolerance=1e-6 if coarse else 1e-9)


@pytest.mark.parametrize("m", [m for m in ALL if m not in STREAMING], ids=str)
def test_measures_that_need_the_samples_say_so(m):
    stream = streamed({k: x[:, :12] for k, x in related(n=150).items()}, directions=True)
    with pytest.raises(rs.UndefinedError, match=r"needs the samples.*sample_rotation"):
        m(*stream.representations().values())


def test_the_rule_for_measures_that_stream_is_the_claim():
    listed = rs.list_measures(invariant_to="sample_rotation")
    assert len(listed) > 20
    assert {m.name for m in STREAMING if not m.streams_with} >= {m.name for m in listed}
    assert rs.cka.with_parameters(estimator="debiased").streams_with == "squares"
    assert rs.aligned_cosine.streams_with == "directions"
    assert rs.cka.with_parameters(kernel="rbf").streams_with is None


@pytest.mark.parametrize("method", ["gram", "qr"])
@pytest.mark.parametrize("size", [1, 7, 300, 10_000])
def test_batches_of_any_size_give_the_same_bits(method, size):
    layers = related(n=10_000 if size == 10_000 else 700)
    points = [
        streamed(layers, size=s, method=method, directions=True).representations()
        for s in (size, 97)
    ]
    for name in layers:
        assert np.array_equal(points[0][name].array, points[1][name].array)


@pytest.mark.parametrize("method", ["gram", "qr"])
def test_the_order_of_samples_and_of_merging_changes_only_rounding(method):
    layers = related(n=9000)
    order = np.argsort(layers["a"][:, 0])  # the first rows are far from the mean
    ordered = streamed({k: x[order] for k, x in layers.items()}, method=method)
    halves = [
        streamed({k: x[rows] for k, x in layers.items()}, method=method)
        for rows in np.array_split(order, 2)  # each more than is added at a time
    ]
    halves[0].merge(halves[1])
    for m in (
        rs.cka,
        rs.cka.with_parameters(estimator="debiased"),
        rs.procrustes,
        rs.magnitude_difference,
    ):
        assert_same(m, layers, ordered)
        assert_same(m, layers, halves[0])
        assert_same(m, layers, merged(layers, parts=5, method=method))


def test_merging_with_an_empty_stream_changes_nothing_and_the_other_stays():
    layers, empty = related(n=300), rs.Stream()
    stream = streamed(layers)
    stream.merge(rs.Stream())
    empty.merge(stream)
    assert rs.cka(*empty.representations().values()) == rs.cka(*stream.representations().values())
    empty.merge(stream)
    assert (stream.n_samples, empty.n_samples) == (300, 600)


def test_the_state_does_not_grow_with_the_samples(tmp_path):
    sizes = []
    for n in (6000, 60_000):
        x = np.random.default_rng(0).standard_normal((n, 6)).astype(np.float32)
        stream = streamed({"a": x, "b": x[:, ::2]}, size=1000)
        sizes.append(sum(array.nbytes for array in stream._state.arrays().values()))
    assert sizes[1] < 200_000 > sizes[0]


# ------------------------------------------------------------------------------- kinds of data


@pytest.mark.parametrize("spec", ["subspace_overlap[k=2]", "svcca[explained_variance=0.9999985]"])
def test_components_that_rounding_takes_for_each_other_have_no_value(spec):
    """Five components are tied, so all count; sums of squares see differences of 1e-10 of them."""
    m, rng = rs.get_measure(spec), np.random.default_rng(0)
    basis = rng.standard_normal((800, 6))
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0] * [1, *5 * [1e-3]]
    x = basis @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    layers = {"a": x, "b": rng.standard_normal((800, 4))}
    with pytest.raises(rs.UndefinedError, match=r"which are larger; .*method='qr'"):
        m(*streamed(layers).representations().values())
    assert_same(m, layers, streamed(layers, method="qr"))


def test_the_digits_that_whitening_leaves_are_counted_once_a_pair(monkeypatch):
    counts = Counter()

    def counted(x, y, loss):
        counts["of pairs"] += 1
        return recorded(x, y, loss)

    recorded = streamed_module._record_precision_loss
    monkeypatch.setattr(streamed_module, "_record_precision_loss", counted)
    compared = streamed(related()).compare(["mean_cca"], progress=False)
    assert compared.numbers["mean_cca"]["conditioning"].size == 4
    assert counts["of pairs"] == 3


def test_what_shrinkage_leaves_of_rounding_is_recorded():
    stream = streamed(related(condition=1e7))
    for shrinkage, low, high in ((0.1, 1e-13, 1e-10), (1e-6, 1e-9, 1e-6)):
        m = rs.riemannian.with_parameters(shrinkage=shrinkage)
        assert_same(m, related(condition=1e7), stream, tolerance=high)
        assert low < m.diagnostics(*stream.representations().values())["conditioning"] < high


@pytest.mark.parametrize("method", ["gram", "qr"])
def test_float32_is_cut_where_all_samples_at_once_are(method):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 6)).astype(np.float32)
    x = np.c_[x, x @ rng.standard_normal((6, 3)).astype(np.float32)]  # three columns are sums
    layers = {"a": x, "b": np.float32(x[:, :5] + rng.standard_normal((2000, 5)))}
    assert_same(rs.mean_cca, layers, merged(layers, method=method), 1e-6)
    assert_same(rs.gulp, layers, merged(layers, method=method), 1e-6)
    later = streamed({k: a[:900] for k, a in layers.items()}, method=method)
    later.update({k: a[900:].astype(np.float64) for k, a in layers.items()})
    assert_same(rs.mean_cca, layers, later, 1e-6)


def test_dependent_columns_in_double_precision_need_the_triangular_factor():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 6))
    layers = {"a": np.c_[x, x[:, :1] + x[:, 1:2]], "b": rng.standard_normal((500, 3))}
    assert_same(rs.mean_cca, layers, streamed(layers, method="qr"))
    assert_same(rs.cka, layers, streamed(layers))
    with pytest.raises(rs.UndefinedError, match="method='qr'"):
        rs.mean_cca(*streamed(layers).representations().values())
    layers["a"][:, 6] = 0.1  # a column that does not vary is known not to
    assert_same(rs.mean_cca, layers, streamed(layers))


def test_ranks_of_leading_components_are_not_refused():
    gram = streamed(related(condition=1e9)).representations().values()
    for spec in (
        "svcca",
        "subspace_overlap",
        "pwcka",
        "gulp[ridge=0.1]",
        "shape_distance[alpha=1]",
    ):
        assert rs.get_measure(spec)(*gram) >= 0
    with pytest.raises(rs.UndefinedError, match="whitening representation 'b'"):
        rs.svcca(*gram, explained_variance=1.0)


def test_fewer_samples_than_features():
    rng = np.random.default_rng(0)
    layers = {"a": rng.standard_normal((20, 30)), "b": rng.standard_normal((20, 40))}
    for method in ("gram", "qr"):
        stream = streamed(layers, size=3, method=method, directions=True)
        for spec in ("cka", "cka[estimator=debiased]", "procrustes", "aligned_cosine", "ensd"):
            assert_same(rs.get_measure(spec), layers, stream)
    assert_same(rs.svcca, layers, stream)


def sum_of_squares(blocks) -> float:
    """What the sums of one column say of its centred squares."""
    sums, n = ProductSums([1], [(0, 0)], np.zeros(0)), 0
    sums._shifts = (np.zeros(1),)  # the worst there is
    for z in map(np.array, blocks):
        sums.add([z[:, None]])
        n += len(z)
    (factor,) = sums.moments([0], n).factors
    return float(np.vdot(factor, factor))


def test_rounding_of_sums_is_made_up_for():
    """Each of the later products is too small to change a sum of 2^53."""
    blocks = [[2.0**26, -(2.0**26)], *20_000 * [[0.5, -0.5]]]
    assert sum_of_squares(blocks) == pytest.approx(2**53 + 10_000, rel=1e-15)


def test_a_column_that_barely_varies_counts_and_a_constant_one_does_not(subtests):
    signs = np.resize([1.0, -1.0], 1000)
    for value in (0.1, 1 / 3, 0.7, 3.1):
        with subtests.test(value=value):
            assert sum_of_squares([value + 0 * signs]) == 0
            barely = sum_of_squares([value + 1e-6 * value * signs])
            assert barely == pytest.approx(1000 * (1e-6 * value) ** 2, rel=0.05)


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_any_ordinary_scale(scale):
    layers = {name: scale * x for name, x in related(n=400).items()}
    for spec in ("cka", "cka[estimator=debiased]", "procrustes", "mean_cca", "aligned_cosine"):
        assert_same(rs.get_measure(spec), layers, streamed(layers, directions=True))


def test_one_column_two_samples_duplicates_and_zero_rows():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.standard_normal((50, 4)), 2, axis=0)
    x[:6] = 0
    layers = {"a": x, "b": x[:, :1] ** 3}
    stream = streamed(layers, size=9, directions=True)
    for spec in (
        "cka",
        "procrustes",
        "aligned_cosine",
        "cka[kernel=cosine]",
        "magnitude_difference",
    ):
        assert_same(rs.get_measure(spec), layers, stream)
    two = {"a": x[[10, 20]], "b": x[[10, 20], :1]}
    assert_same(rs.procrustes_size_shape, two, streamed(two))


def test_a_constant_layer_is_undefined_and_has_no_size():
    layers = {"a": np.full((30, 3), 0.1), "b": related(n=30)["b"]}
    for method in ("gram", "qr"):
        stream = streamed(layers, size=4, method=method)
        with pytest.raises(rs.UndefinedError, match="representation 'a' is constant"):
            rs.cka(*stream.representations().values())
        assert_same(rs.procrustes_size_shape, layers, stream)


@pytest.mark.parametrize("method", ["gram", "qr"])
def test_a_stream_has_no_value_of_lost_digits(method):
    """As the samples at once, far from the origin in one column or in all, by the stored dtype."""
    layers = related(n=300)
    for columns in (slice(0, 1), slice(None)):
        far = {name: x.copy() for name, x in layers.items()}
        far["a"][:, columns] += 3e7 if columns.stop else 1e7
        stored = far | {"a": far["a"].astype(np.float32)}
        (failure,) = rs.compare([stored["a"]], [stored["b"]], measures="cka").failures
        with pytest.raises(rs.UndefinedError, match="the rounding of float32: centre first"):
            rs.cka(*streamed(stored, size=64, method=method).representations().values())
        assert "the rounding of float32: centre first" in failure.reason
        value = rs.cka(*streamed(far, size=64, method=method).representations().values())
        assert value == pytest.approx(rs.cka(*layers.values()), rel=1e-6)
    constant = layers["a"].astype(np.float32)
    constant[:, 0] = 1e8
    assert_same(
        rs.cka, {"a": constant, "b": layers["b"]}, streamed({"a": constant, "b": layers["b"]})
    )


def test_torch_tensors_half_precision_integers_and_read_only_arrays():
    torch = pytest.importorskip("torch")
    layers = related(n=200)
    x, y = (np.round(4 * a).astype(np.int64) for a in layers.values())
    x.flags.writeable = y.flags.writeable = False
    for a, b in (
        (torch.tensor(x).float(), torch.tensor(y).double()),
        (torch.tensor(x).bfloat16(), torch.tensor(y).half()),
        (x, torch.tensor(y).float().requires_grad_()),
        (x.astype(np.float16), y),
    ):
        stream = streamed({"a": a, "b": b}, size=64)
        expected = rs.procrustes(x.astype(float), y.astype(float))
        assert rs.procrustes(*stream.representations().values()) == pytest.approx(expected)


def test_inputs_are_not_changed():
    layers = related(n=100)
    copies = {name: x.copy() for name, x in layers.items()}
    streamed(layers, directions=True).compare(["cka"], progress=False)
    assert all(np.array_equal(layers[name], copies[name]) for name in layers)


# ------------------------------------------------------------------------------------ comparisons


def test_a_comparison_says_that_it_was_streamed(tmp_path):
    layers = {k: x.astype(np.float32) for k, x in related(n=500).items()}
    stream = streamed(layers)
    file = tmp_path / "a.comparison"
    comparison = stream.compare(["cka", "mean_cca", "rsa"], save=file, progress=False)
    direct = rs.compare(layers, measures=["cka", "mean_cca"], progress=False)
    assert comparison["cka"] == pytest.approx(direct["cka"], rel=1e-10)
    assert comparison["mean_cca"] == pytest.approx(direct["mean_cca"], rel=1e-8)
    about = comparison.provenance
    assert about["n_samples"] == 500
    assert about["stream"]["method"] == "gram"
    assert about["stream"]["batches"] == 5
    assert about["rows"]["a"]["dtype"] == "float32"
    assert rs.load(file).provenance["stream"] == about["stream"]
    recorded = {(d.measure, d.name) for d in comparison.diagnostics}
    assert ("mean_cca", "conditioning") in recorded
    assert ("cka", "conditioning") not in recorded
    assert all("needs the samples" in f.reason for f in comparison.failures if f.measure == "rsa")
    assert np.isnan(comparison["rsa"]).all()


def test_chance_and_caveats_are_those_of_all_samples():
    layers = related(n=90)
    specs = ["cka", "cka[estimator=lange]", "ensd", "mean_cca[aggregation=mean_squared]",
             "linear_regression", "eigenspace_overlap", "gulp[squared=True]", "pwcka",
             "subspace_overlap", "aligned_cosine", "procrustes"]  # fmt: skip
    stream = streamed(layers, method="qr", directions=True)
    direct = rs.compare(layers, measures=specs, progress=False)
    comparison = stream.compare(specs, progress=False)
    known = {d[:4]: d.value for d in comparison.diagnostics if d.name != "conditioning"}
    expected = {d[:4]: d.value for d in direct.diagnostics}
    assert known.keys() == expected.keys()
    assert any(key[3] == "chance" for key in known)
    for key, value in expected.items():
        assert known[key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-9))


def test_without_measures_those_of_the_default_that_stream():
    layers = related(n=100)
    few, more = (streamed(layers, directions=d).compare(progress=False) for d in (False, True))
    assert not few.failures
    assert {m.spec for m in more.measures} - {m.spec for m in few.measures} == {
        "aligned_cosine",
        "concentricity_difference",
    }


def test_only_the_pairs_that_are_kept():
    layers = related(n=300) | {"c": related(n=300, seed=1)["a"], "d": related(n=300, seed=1)["b"]}
    pairs = [("a", "c"), ("a", "d"), ("d", "b")]
    stream = streamed(layers, pairs=pairs)
    comparison = stream.compare(["cka", "cka[estimator=debiased]", "pwcca"], progress=False)
    assert (comparison.rows, comparison.columns) == (("a", "d"), ("c", "d", "b"))
    direct = rs.compare(layers, measures=["cka", "pwcca"], progress=False)
    for a, b in pairs:
        for spec in ("cka", "pwcca"):
            value = comparison[spec][comparison.rows.index(a), comparison.columns.index(b)]
            expected = direct[spec][direct.rows.index(a), direct.columns.index(b)]
            assert value == pytest.approx(expected, rel=1e-9)
    missing = [f for f in comparison.failures if f.measure == "cka" and (f.x, f.y) == ("d", "c")]
    assert missing[0].reason == "not among the pairs of the stream"
    with pytest.raises(ValueError, match="products of 'a' and 'b' are not kept"):
        stream.representations("a", "b")
    a, c = stream.representations("a", "c").values()
    d = stream.representations("a", "d")["d"]
    with pytest.raises(ValueError, match="not of one stream"):
        rs.cka(c, d)
    assert rs.cka(a, c) == comparison["cka"][0, 0]


def test_representations_travel_to_workers_and_forget_nothing():
    a, b = streamed(related(n=200), directions=True).representations().values()
    copies = pickle.loads(pickle.dumps((a, b)))
    a.clear_cache()
    for spec in ("cka[estimator=debiased]", "aligned_cosine", "magnitude_difference"):
        m = rs.get_measure(spec)
        assert m(a, b) == m(*copies)
    assert repr(a) == "Representation('a', n_samples=200, n_features=12, dtype=float64, streamed)"


def test_executors_give_the_same_bits():
    stream = streamed(related(n=200))
    here = stream.compare(["cka", "procrustes"], progress=False)
    with ThreadPoolExecutor(2) as pool:
        there = stream.compare(["cka", "procrustes"], jobs=pool, progress=False)
    assert np.array_equal(here["procrustes"], there["procrustes"])


@rs.measure(
    label="Own",
    family="alignment",
    larger_is_more_similar=True,
    range=(0, np.inf),
    symmetric=True,
    citation="mine",
    invariant_to={"sample_rotation", "orthogonal", "translation"},
)
def covariance(x: rs.Representation, y: rs.Representation) -> float:
    """The size of the covariances of two representations."""
    a, b = (r.array - r.array.mean(axis=0) for r in (x, y))
    return float(np.linalg.norm(a.T @ b)) / x.n_samples


def test_a_measure_of_ones_own_streams_where_it_claims_so():
    layers = related(n=300)
    assert_same(covariance, layers, streamed(layers))
    names = {1: layers["a"], 2: layers["b"]}  # and names may be numbers
    assert streamed(names).layers == ("1", "2")


def test_streams_and_samples_do_not_mix():
    layers = related(n=100)
    a = streamed(layers).representations()["a"]
    with pytest.raises(ValueError, match="not of one stream"):
        rs.cka(a, layers["b"])
    with pytest.raises(ValueError, match="not of one stream"):
        rs.cka(a, streamed({k: 2 * x for k, x in layers.items()}).representations()["b"])
    with pytest.raises(rs.UndefinedError, match="directions=True"):
        rs.aligned_cosine(*streamed(layers).representations().values())


@pytest.mark.parametrize("use", [
    lambda a, b: rs.statistics.feature_split(a),
    lambda a, b: rs.evidence({"a": a, "b": b}, measures="cka"),
    lambda a, b: rs.drift(a, b),
    lambda a, b: rs.neighbor_recall(a, k=5),
])  # fmt: skip
def test_what_needs_samples_refuses_streams(use):
    with pytest.raises(ValueError, match="stream"):
        use(*streamed(related(n=100)).representations().values())


# ------------------------------------------------------------------------------------------ models


def networks():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    def network():
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 6, 3), torch.nn.ReLU(inplace=True), torch.nn.Flatten(),
            torch.nn.Linear(6 * 6 * 6, 10),
        )  # fmt: skip

    images = [(torch.randn(size, 1, 8, 8), torch.zeros(size)) for size in (30, 40, 17)]
    return network(), network(), images


@pytest.mark.parametrize("pool", [None, {"0": "flatten", "1": "max"}])
def test_layers_of_running_models_are_those_of_a_subject(pool):
    one, other, images = networks()
    one.train()
    layers = ["0", "1", "3"]
    models = {"one": one, "other": other}
    stream = rs.stream_from_model(models, images, layers, pool=pool, method="qr", progress=False)
    model_features = [
        extract_module_features(m, images, layers, name=k, pool=pool, progress=False)
        for k, m in models.items()
    ]
    assert one.training
    assert stream.n_samples == 87
    assert stream.layers == ("one/0", "one/1", "one/3", "other/0", "other/1", "other/3")
    specs = ["cka[estimator=debiased]", "procrustes", "svcca"]
    values = stream.compare(specs, progress=False)
    direct = rs.compare(model_features, measures=specs, progress=False)
    for spec in specs:
        assert values[spec] == pytest.approx(direct[spec], rel=1e-5, abs=1e-6)


def test_mistakes_with_models_are_those_of_subjects():
    model, _, images = networks()
    with pytest.raises(ValueError, match="no layer 'x'"):
        rs.stream_from_model(model, images, "x", progress=False)
    with pytest.raises(ValueError, match="gave no batch"):
        rs.stream_from_model(model, [], progress=False)
    with pytest.raises(ValueError, match="pool must be one of"):
        rs.stream_from_model(model, images, pool="x", progress=False)


@pytest.mark.parametrize("method", ["gram", "qr"])
def test_sums_stay_where_an_accelerator_has_the_data(method, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    layers = related(n=6000)
    place = "cuda" if torch.cuda.is_available() else "cpu"
    monkeypatch.setattr("resemblance.stream.rows.is_on_cpu", lambda array: False)
    on_device = {k: torch.tensor(x, device=place) for k, x in layers.items()}
    stream = streamed(on_device, size=500, method=method, directions=True)
    for spec in ("cka", "cka[estimator=debiased]", "mean_cca", "aligned_cosine"):
        assert_same(rs.get_measure(spec), layers, stream)
    assert isinstance(stream._state._rows.waiting()[0], torch.Tensor)
    stream.save(tmp_path / "s.npz")
    here = streamed(layers, method=method, directions=True)
    here.merge(rs.Stream.load(tmp_path / "s.npz"))
    stream.merge(here)
    assert stream.n_samples == 18_000
    assert_same(rs.cka, layers, stream)


# ------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("method", ["gram", "qr"])
@pytest.mark.parametrize("n", [50, 5000])
def test_a_saved_stream_goes_on_to_the_last_bit(tmp_path, method, n):
    layers = related(n=n)
    file = tmp_path / "half.npz"
    first = {k: x[: n // 2] for k, x in layers.items()}
    streamed(first, method=method, directions=True).save(file)
    assert [p.name for p in tmp_path.iterdir()] == ["half.npz"]
    loaded = rs.Stream.load(file)
    loaded.update({k: x[n // 2 :] for k, x in layers.items()})
    whole = streamed(layers, method=method, directions=True)
    for x, y in zip(loaded.representations().values(), whole.representations().values()):
        assert np.array_equal(x.array, y.array)
        m = rs.cka.with_parameters(kernel="cosine", estimator="debiased")
    assert m(*loaded.representations().values()) == m(*whole.representations().values())


def test_an_empty_stream_is_saved_too(tmp_path):
    rs.Stream("qr", directions=True).save(tmp_path / "s")
    assert repr(rs.Stream.load(tmp_path / "s")) == (
        "<Stream of 0 samples: no layers yet; method='qr', directions=True>"
    )


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "s.npz"
    stream = streamed(related(n=40))
    stream.save(file)
    before = file.read_bytes()

    def broken(*_, **__):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(OSError, match=r"disk full.*s\.npz"):
        stream.save(file)
    assert file.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1
    for folder in (tmp_path, "."):
        with pytest.raises(ValueError, match=f"{folder} is a folder"):
            stream.save(folder)


def damaged(file, change) -> None:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    about = json.loads(str(arrays["about"]))
    change(about, arrays)
    arrays["about"] = np.array(json.dumps(about))
    np.savez(file, **arrays)


@pytest.mark.parametrize(("change", "message"), [
    (lambda about, arrays: about.update(version=99), "format is 99"),
    (lambda about, arrays: about.update(kind="else"), "no stream"),
    (lambda about, arrays: about.update(method="else"), "method must be"),
    (lambda about, arrays: arrays.pop("rows.1"), "'rows.1' is missing"),
    (lambda about, arrays: arrays.update(counts=np.zeros(3)), "'counts' is missing or of another"),
    (lambda about, arrays: about.pop("pairs"), "lacks the entries pairs"),
    (lambda about, arrays: arrays["rows.0"].put(7, np.nan), "'rows.0' holds NaN"),
    (lambda about, arrays: about["layers"][0].__setitem__(3, None), "resolution"),
    (lambda about, arrays: about["layers"][0].__setitem__(1, 10**7), "rows.0|allocate"),
    (lambda about, arrays: about["layers"][0].__setitem__(1, 40.5), "width"),
    (lambda about, arrays: about.update(batches=float("inf")), "batches"),
    (lambda about, arrays: about.update(n_samples=None), "n_samples"),
    (lambda about, arrays: about.update(n_samples=-5), "n_samples is -5"),
    (lambda about, arrays: about["layers"].append(about["layers"][0]), "listed twice"),
])  # fmt: skip
def test_damaged_files_are_named(tmp_path, change, message):
    file = tmp_path / "s.npz"
    streamed(related(n=40)).save(file)
    damaged(file, change)
    with pytest.raises(ValueError, match=rf"s\.npz.*{message}"):
        rs.Stream.load(file)


def test_other_files_are_no_streams(tmp_path):
    with pytest.raises(ValueError, match="no stream at"):
        rs.Stream.load(tmp_path / "absent.npz")
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    (tmp_path / "t.npz").write_text("text")
    objects = tmp_path / "o.npz"
    np.savez(objects, about=np.array([{}], dtype=object))
    for name, message in (("x", "no stream"), ("t", "no stream"), ("o", "Python objects")):
        with pytest.raises(ValueError, match=message):
            rs.Stream.load(tmp_path / f"{name}.npz")
    assert zipfile.is_zipfile(objects)


# ---------------------------------------------------------------------------------------- mistakes


X = np.random.default_rng(0).standard_normal((8, 3))


class Name:
    """What is called as a layer is, and not equal to its name."""

    def __init__(self, name: str):
        self._name = name

    def __str__(self) -> str:
        return self._name


def frame(ids: str) -> pd.DataFrame:
    return pd.DataFrame(X, index=list(ids))


@pytest.mark.parametrize(("batch", "message"), [
    ({"a": X}, "batch 1 has other layers than the first: 'b'"),
    ({"a": X, "c": X}, "batch 1 has other layers than the first: 'b', 'c'"),
    ({"a": X, "b": X[:, :2]}, "batch 1: layer 'b' has 2 features, not 3"),
    ({"a": X, "b": X[:5]}, "batch 1: layer 'b' has 5 rows and 'a' has 8"),
    ({"a": X[:0], "b": X[:0]}, "batch 1: representation 'a' is empty"),
    ({"a": X, "b": X * np.nan}, "batch 1: representation 'b' has 24 NaN or infinite"),
    ({"a": X, "b": np.where(X[2, 1] == X, np.inf, X)}, "'b' has 1 NaN.*row 2, column 1"),
    ({"a": X, "b": 1e80 * X}, "layer 'b' has values up to .* rescale"),
    ({"a": X, "b": X[0]}, r"batch 1: representation 'b' must be \(n_samples, n_features\)"),
    ({"a": frame("pqrstuvw"), "b": frame("qprstuvw")}, "(?s)batch 1: .*'b'.*order"),
    ({"a": X, "b": frame("pqrstuvw"), 3: X}, "other layers"),
    ({"a": X, "b": X, Name("b"): X}, "batch 1: two layers are called 'b'"),
    ({}, "batch 1 must be a mapping from layers to arrays"),
    (X, "batch 1 must be a mapping from layers to arrays"),
])  # fmt: skip
def test_batches_that_do_not_fit_are_named_and_nothing_is_added(batch, message):
    stream = rs.Stream()
    stream.update({"a": X, "b": X})
    with pytest.raises(ValueError, match=message):
        stream.update(batch)
    assert stream.n_samples == 8
    stream.update({"b": X, "a": X})  # in any order
    assert stream.layers == ("a", "b")


def started(**options) -> rs.Stream:
    return streamed({"a": X, "b": X[:, :2]}, **options)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: rs.Stream("svd"), "method must be 'gram' or 'qr'"),
    (lambda: rs.Stream("qr", pairs=[("a", "b")]), "method='qr' keeps all pairs"),
    (lambda: rs.Stream(pairs=[]), "pairs is empty"),
    (lambda: started(pairs=[("a", "c")]), "pairs has 'c'"),
    (lambda: started().merge(started(method="qr")), "method='gram' here and 'qr' there"),
    (lambda: started().merge(started(directions=True)), "directions=False here and True there"),
    (lambda: started().merge(streamed({"a": X, "c": X})), "give both the same layers"),
    (lambda: started().merge(X), "takes a Stream"),
    (lambda: (s := started()).merge(s), "not itself"),
    (lambda: rs.Stream().representations(), "0 samples are too few"),
    (lambda: rs.Stream().compare(), "0 samples are too few"),
    (lambda: streamed({"a": X[:1]}).representations(), "1 samples are too few"),
    (lambda: started().representations("c"), "no layer 'c'"),
    (lambda: streamed({"a": X * 1e-70}).representations(), "too small to be squared"),
])  # fmt: skip
def test_mistakes_are_named_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_columns_of_later_batches_are_put_in_the_order_of_the_first(tmp_path):
    """Also of streams that are merged, and of one that was saved; other names are refused."""
    import pandas as pd

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 12)), rng.standard_normal((40, 3))
    for names in (list("abcdefghijkl"), [f"dim_{i}" for i in range(12)]):
        a = pd.DataFrame(x, columns=names)
        b = a[[names[1], names[0], *names[:1:-1]]]
        for method in ("gram", "qr"):
            stream = rs.Stream(method)
            stream.update({"x": a[:10], "y": y[:10]})
            stream.update({"x": b[10:20].reset_index(drop=True), "y": y[10:20]})
            stream.save(tmp_path / "s.npz")
            stream = rs.Stream.load(tmp_path / "s.npz")
            stream.update({"x": b[20:30].reset_index(drop=True), "y": y[20:30]})
            other = rs.Stream(method)
            other.update({"x": b[30:].reset_index(drop=True), "y": y[30:]})
            stream.merge(other)
            scores = stream.compare("cka", progress=False)
            assert scores["cka"][0, 1] == pytest.approx(rs.cka(x, y), abs=1e-12)
            assert "columns of 'x' were put in the order" in repr(scores).splitlines()[1]
            with pytest.raises(ValueError, match="columns of other names"):
                stream.update({"x": a.rename(columns={names[0]: "other"}), "y": y})


def test_a_stream_says_what_is_doubtful_about_its_samples():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 12)), rng.standard_normal((40, 6))
    x[:, 7] *= 40
    copies = np.arange(40) % 10
    for batch, words in (
        ({"x": x, "y": y}, "feature 7 has 99 % of the variance of x"),
        ({"x": y[copies], "y": x[copies]}, "in a batch 30 of 40 samples are copies"),
        ({"x": y @ y.T, "y": y}, "in a batch x is 40 x 40 and symmetric"),
    ):
        stream = rs.Stream()
        stream.update(batch)
        scores = stream.compare("cka", progress=False)
        assert any(caveat.startswith(words) for caveat in scores.caveats)


def test_columns_are_in_one_order_between_layers_batches_and_merged_streams():
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.standard_normal((90, 4)), columns=list("abcd"))
    y = x + 0.3 * rng.standard_normal(x.shape)
    streams = [rs.Stream(), rs.Stream()]
    for stream, rows in zip(streams, (slice(40), slice(40, None))):
        order = list("abcd") if rows.start is None else list("dbca")
        stream.update({"x": x[order][rows], "y": y[list("cadb")][rows]})
    assert streams[0].caveats() == (
        "the columns of 'y' were put in the order of representation 'x'",
    )
    streams[0].merge(streams[1])
    assert "the columns of 'x', 'y' were put in the order of the first stream" in (
        streams[0].caveats()
    )
    value = rs.permutation_procrustes(*streams[0].representations().values())
    assert value == pytest.approx(rs.permutation_procrustes(x, y), rel=1e-10)
    with pytest.raises(ValueError, match=r"has 'z' where .* has 'a'; 3 names are equal"):
        rs.Stream().update({"x": x, "y": y.rename(columns={"a": "z"})})


def test_representations_are_layers_under_the_name_of_the_batch():
    x, y = related(n=60).values()
    named = {"a": rs.Representation(x, "other", ids=range(60)), "b": rs.Representation(y)}
    stream = streamed({"a": x, "b": y})
    same = rs.Stream()
    same.update(named)
    assert same.layers == ("a", "b")
    assert rs.cka(*same.representations().values()) == rs.cka(*stream.representations().values())
    with pytest.raises(ValueError, match="is of a stream"):
        rs.Stream().update(stream.representations())
    with pytest.raises(ValueError, match="holds dissimilarities"):
        rs.Stream().update({"a": rs.from_dissimilarities(1 - np.eye(60)), "b": y})


def test_a_stream_takes_representations_and_their_ids():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 3)), rng.standard_normal((40, 4))
    ids = [f"s{i}" for i in range(40)]
    stream = rs.Stream()
    stream.update({"x": rs.Representation(x, ids=ids), "y": rs.Representation(y, ids=ids)})
    result = stream.compare("cka", progress=False)
    assert result["cka"][0, 1] == pytest.approx(float(rs.cka(x, y)))
    with pytest.raises(ValueError, match="in another order"):
        rs.Stream().update(
            {"x": rs.Representation(x, ids=ids), "y": rs.Representation(y, ids=ids[::-1])}
        )


@pytest.mark.parametrize("offset", [0, 1e6, 1e7, 1e8])
def test_batches_without_digits_have_no_value(offset):
    draw = np.random.default_rng(0).standard_normal
    pair = [(draw((60, 6)) + offset).astype(np.float32) for _ in range(2)]
    stream = rs.Stream()
    for start in range(0, 60, 15):
        stream.update({name: z[start : start + 15] for name, z in zip("xy", pair)})
    result = stream.compare(["cka", "procrustes"], progress=False)
    for name in ("cka", "procrustes"):
        if offset < 1e7:
            assert result[name][0, 1] == pytest.approx(rs.get_measure(name)(*pair), abs=1e-9)
        else:
            assert np.isnan(result[name][0, 1])
            with pytest.raises(rs.UndefinedError):
                rs.get_measure(name)(*pair)
