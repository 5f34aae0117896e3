"""Streams: the scores of all samples at once, from batches of any size, merged, saved, refused
where digits are lost."""

from __future__ import annotations

import errno
import json
import pathlib
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import resemblance as rs
from resemblance.contracts.streamed import stream_requirements
from resemblance.models.hooks import extract_module_features
from resemblance.stream.sums import ProductSums

# Values mean little, or not, in the same way.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

VARIANTS = [
    "mean_cca[aggregation=mean_squared]", "mean_cca[divisor=width]", "pwcca[directions=all]",
    "pwcca[weights=symmetric]", "svcca[truncation=resi]", "linear_regression[predict=first]",
    "gulp[ridge=0.1]", "gulp[squared=True]", "hard_correlation_match[matching=greedy]",
    "procrustes[squared=True]", "riemannian[shrinkage=0.5]", "shape_distance[alpha=0]",
    "shape_distance[alpha=1]", "soft_matching[units=unit]", "subspace_overlap[k=2]",
    "pwcka[explained_variance=0.5]", "cka[estimator=debiased]", "cka[estimator=lange]",
    "cka[kernel=cosine]", "cka[kernel=cosine,estimator=debiased]",
    "cka[kernel=cosine,estimator=lange]",
]  # fmt: skip
ALL = [m for m in rs.list_measures() if m.family != "outputs"] + list(map(rs.get_measure, VARIANTS))
STREAMING = [m for m in ALL if stream_requirements(m) is not None]
# Of these, sums of squares keep half of the digits.
WHITENING = {
    m
    for m in map(str, STREAMING)
    if m.partition("[")[0] in ("mean_cca", "pwcca", "linear_regression", "eigenspace_overlap")
} | {"shape_distance", "shape_distance[alpha=0]", "gulp", "gulp[squared=True]"}


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


def pair(stream: rs.Stream) -> list[rs.Representation]:
    return list(stream.representations().values())


def assert_same(m, direct, stream, tolerance=1e-10):
    expected, value = m(*direct.values()), m(*pair(stream))
    assert value == pytest.approx(expected, rel=tolerance, abs=1e-14)


# -------------------------------------------------------------------------------- the same values


@pytest.mark.parametrize("condition", [1e3, 1e5, 1e7])
def test_the_value_is_that_of_all_samples_at_once(condition, subtests):
    layers = related(condition=condition)
    qr, gram = (merged(layers, method=method, directions=True) for method in ("qr", "gram"))
    for m in STREAMING:
        with subtests.test(str(m)):
            assert_same(m, layers, qr)
            if str(m) not in WHITENING:
                assert_same(m, layers, gram)
            elif condition < 1e7:
                recorded = m.diagnostics(*pair(gram))["conditioning"]
                assert 1e-16 * condition**2 < recorded < 1e-4
                assert_same(m, layers, gram, tolerance=max(1e-10, recorded))
            else:
                with pytest.raises(rs.UndefinedError, match="method='qr'"):
                    m(*pair(gram))


@pytest.mark.parametrize("method", ["gram", "qr"])
def test_means_of_a_thousand_deviations_cost_no_digits(method, subtests):
    layers = related(condition=10.0, offset=1000.0)
    stream = merged(layers, method=method, directions=True)
    for m in STREAMING:
        # The directions of the rows differ in their fourth digit, and so does what is left of them
        # in the data.
        coarse = m.name in ("concentricity_difference", "eigenspace_overlap") or not m.parameters
        with subtests.test(str(m)):
            assert_same(m, layers, stream, tolerance=1e-6 if coarse else 1e-9)


def test_measures_that_need_the_samples_say_so_and_the_others_claim_that_they_do_not(subtests):
    stream = streamed({k: x[:, :12] for k, x in related(n=150).items()}, directions=True)
    for m in (m for m in ALL if m not in STREAMING):
        message = r"needs the samples.*sample_rotation"
        with subtests.test(str(m)), pytest.raises(rs.UndefinedError, match=message):
            m(*pair(stream))
    claimed = {m.name for m in rs.list_measures(invariant_to="sample_rotation")}
    assert {m.name for m in STREAMING if not m.streams_with} >= claimed
    assert rs.cka.with_parameters(estimator="debiased").streams_with == "squares"
    assert rs.aligned_cosine.streams_with == "directions"
    assert rs.cka.with_parameters(kernel="rbf").streams_with is None
    with pytest.raises(rs.UndefinedError, match="directions=True"):
        rs.aligned_cosine(*pair(streamed(related(n=100))))


@pytest.mark.parametrize("method", ["gram", "qr"])
@pytest.mark.parametrize("size", [1, 7, 300, 10_000])
def test_batches_of_any_size_give_the_same_bits(method, size):
    layers = related(n=10_000 if size == 10_000 else 700)
    options = {"method": method, "directions": True}
    points = [streamed(layers, size=s, **options).representations() for s in (size, 97)]
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
    for spec in ("cka", "cka[estimator=debiased]", "procrustes", "magnitude_difference"):
        m = rs.get_measure(spec)
        assert_same(m, layers, ordered)
        assert_same(m, layers, halves[0])
        assert_same(m, layers, merged(layers, parts=5, method=method))


def test_merging_with_an_empty_stream_changes_nothing_and_the_other_stays(tmp_path):
    layers, empty = related(n=300), rs.Stream()
    empty.save(tmp_path / "s")
    assert rs.Stream.load(tmp_path / "s").layers == ()
    stream = streamed(layers)
    stream.merge(rs.Stream())
    empty.merge(stream)
    assert rs.cka(*pair(empty)) == rs.cka(*pair(stream))
    empty.merge(stream)
    assert (stream.n_samples, empty.n_samples) == (300, 600)


# ------------------------------------------------------------------------------- kinds of data


@pytest.mark.parametrize("spec", ["subspace_overlap[k=2]", "svcca[explained_variance=0.9999985]"])
def test_components_that_rounding_takes_for_each_other_have_no_value(spec):
    """Five components are tied, so all count; sums of squares see differences of 1e-10 of them."""
    m, rng = rs.get_measure(spec), np.random.default_rng(0)
    basis = rng.standard_normal((800, 6))
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0] * [1, *5 * [1e-3]]
    x = basis @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    layers = {"a": x, "b": rng.standard_normal((800, 4))}
    with pytest.raises(rs.UndefinedError, match=r"smallest variance; .*method='qr'"):
        m(*pair(streamed(layers)))
    assert_same(m, layers, streamed(layers, method="qr"))


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
        rs.mean_cca(*pair(streamed(layers)))
    layers["a"][:, 6] = 0.1  # a column that does not vary is known not to
    assert_same(rs.mean_cca, layers, streamed(layers))


def test_fewer_samples_than_features():
    rng = np.random.default_rng(0)
    layers = {"a": rng.standard_normal((20, 30)), "b": rng.standard_normal((20, 40))}
    for method in ("gram", "qr"):
        stream = streamed(layers, size=3, method=method, directions=True)
        for spec in ("cka", "cka[estimator=debiased]", "procrustes", "aligned_cosine", "ensd"):
            assert_same(rs.get_measure(spec), layers, stream)
    assert_same(rs.svcca, layers, stream)


def sum_of_squares(blocks) -> float:
    """Return the sum of centred squares of one column, computed from the sums of a stream."""
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


@pytest.mark.parametrize("scale", [1e-50, 1, 1e50])
def test_one_column_two_samples_duplicates_and_zero_rows_at_any_scale(scale):
    x = scale * np.repeat(np.random.default_rng(0).standard_normal((50, 4)), 2, axis=0)
    x[:6] = 0
    layers = {"a": x, "b": scale * (x[:, :1] / scale) ** 3}
    stream = streamed(layers, size=9, directions=True)
    for spec in ("cka", "procrustes", "aligned_cosine", "cka[kernel=cosine]", "mean_cca"):
        assert_same(rs.get_measure(spec), layers, stream)
    two = {"a": x[[10, 20]], "b": x[[10, 20], :1]}
    assert_same(rs.procrustes_size_shape, two, streamed(two))


def test_a_constant_layer_is_undefined_and_has_no_size():
    layers = {"a": np.full((30, 3), 0.1), "b": related(n=30)["b"]}
    for method in ("gram", "qr"):
        stream = streamed(layers, size=4, method=method)
        with pytest.raises(rs.UndefinedError, match="representation 'a' is constant"):
            rs.cka(*pair(stream))
        assert_same(rs.procrustes_size_shape, layers, stream)


@pytest.mark.parametrize("method", ["gram", "qr"])
def test_a_stream_has_no_value_of_lost_digits(method):
    """As the samples at once, far from the origin in one column or in all, by the stored dtype."""
    layers = related(n=300)
    for columns, offset in ((slice(0, 1), 3e7), (slice(None), 1e7)):
        far = {name: x.copy() for name, x in layers.items()}
        far["a"][:, columns] += offset
        stored = far | {"a": far["a"].astype(np.float32)}
        (failure,) = rs.compare([stored["a"]], [stored["b"]], measures="cka").failures
        assert "the rounding of float32: centre first" in failure.reason
        with pytest.raises(rs.UndefinedError, match="the rounding of float32: centre first"):
            rs.cka(*pair(streamed(stored, size=64, method=method)))
        assert_same(rs.cka, layers, streamed(far, size=64, method=method), 1e-6)
    constant = layers["a"].astype(np.float32)
    constant[:, 0] = 1e8
    known = {"a": constant, "b": layers["b"]}
    assert_same(rs.cka, known, streamed(known))


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
        assert rs.procrustes(*pair(stream)) == pytest.approx(expected)


# ------------------------------------------------------------------------------------ comparisons


def test_a_comparison_says_that_it_was_streamed(tmp_path):
    layers = {k: x.astype(np.float32) for k, x in related(n=500).items()}
    file, stream = tmp_path / "a.comparison", streamed(layers)
    comparison = stream.compare(["cka", "mean_cca", "rsa"], save=file, progress=False)
    direct = rs.compare(layers, measures=["cka", "mean_cca"], progress=False)
    assert comparison["cka"] == pytest.approx(direct["cka"], rel=1e-10)
    assert comparison["mean_cca"] == pytest.approx(direct["mean_cca"], rel=1e-8)
    about = comparison.provenance
    assert about["n_samples"] == 500
    assert (about["stream"]["method"], about["stream"]["batches"]) == ("gram", 5)
    assert about["rows"]["a"]["dtype"] == "float32"
    assert rs.load(file).provenance["stream"] == about["stream"]
    recorded = {(d.measure, d.name) for d in comparison.diagnostics}
    assert ("mean_cca", "conditioning") in recorded
    assert ("cka", "conditioning") not in recorded
    assert all("needs the samples" in f.reason for f in comparison.failures if f.measure == "rsa")
    assert np.isnan(comparison["rsa"]).all()
    with ThreadPoolExecutor(2) as pool:
        there = stream.compare(["cka", "mean_cca"], jobs=pool, progress=False)
    assert np.array_equal(there["mean_cca"], comparison["mean_cca"])
    with pytest.raises(ValueError, match="jobs must be a number of processes"):
        stream.compare("cka", jobs=0)
    few, more = (streamed(layers, directions=d).compare(progress=False) for d in (False, True))
    assert not few.failures
    names = {m.spec for m in more.measures} - {m.spec for m in few.measures}
    assert names == {"aligned_cosine", "concentricity_difference"}


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
    with pytest.raises(ValueError, match="different streams"):
        rs.cka(c, d)
    assert rs.cka(a, c) == comparison["cka"][0, 0]


def test_streams_and_samples_do_not_mix(subtests):
    layers = related(n=100)
    a, b = pair(streamed(layers, directions=True))
    copies = pickle.loads(pickle.dumps((a, b)))
    assert repr(a).endswith("n_features=12, dtype=float64, streamed)")
    a.clear_cache()
    for spec in ("cka[estimator=debiased]", "aligned_cosine", "magnitude_difference"):
        assert rs.get_measure(spec)(a, b) == rs.get_measure(spec)(*copies)
    other = pair(streamed({k: 2 * x for k, x in layers.items()}))[1]
    for call, message in (
        (lambda: rs.cka(a, layers["b"]), "different streams"),
        (lambda: rs.cka(a, other), "different streams"),
        (lambda: rs.statistics.feature_split(a), "stream"),
        (lambda: rs.evidence({"a": a, "b": b}, measures="cka"), "stream"),
        (lambda: rs.drift(a, b), "stream"),
        (lambda: rs.neighbor_recall(a, k=5), "stream"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()


# ------------------------------------------------------------------------------------------ models


def test_layers_of_running_models_are_those_of_extracted_features(subtests):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    one, other = (
        torch.nn.Sequential(
            torch.nn.Conv2d(1, 6, 3), torch.nn.ReLU(inplace=True), torch.nn.Flatten(),
            torch.nn.Linear(6 * 6 * 6, 10),
        )
        for _ in "ab"
    )  # fmt: skip
    images = [(torch.randn(size, 1, 8, 8), torch.zeros(size)) for size in (30, 40, 17)]
    one.train()
    models, layers = {"one": one, "other": other}, ["0", "1", "3"]
    specs = ["cka[estimator=debiased]", "procrustes", "svcca"]
    for pool in (None, {"0": "flatten", "1": "max"}):
        options = {"pool": pool, "progress": False}
        stream = rs.stream_from_model(models, images, layers, method="qr", **options)
        features = [
            extract_module_features(m, images, layers, name=k, **options) for k, m in models.items()
        ]
        assert one.training
        assert stream.n_samples == 87
        assert stream.layers == ("one/0", "one/1", "one/3", "other/0", "other/1", "other/3")
        values = stream.compare(specs, progress=False)
        direct = rs.compare(features, measures=specs, progress=False)
        for spec in specs:
            assert values[spec] == pytest.approx(direct[spec], rel=1e-5, abs=1e-6)
    for arguments, message in (
        ((one, images, "x"), "no layer 'x'"),
        ((one, []), "returned no batch"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            rs.stream_from_model(*arguments, progress=False)
    with pytest.raises(ValueError, match="pool must be one of"):
        rs.stream_from_model(one, images, pool="x", progress=False)


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
    assert m(*pair(loaded)) == m(*pair(whole))


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


DAMAGE = [
    (lambda about, arrays: about.update(version=99), "format is 99"),
    (lambda about, arrays: about.update(kind="else"), "not written by Stream.save"),
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
]


def test_damaged_files_are_named(tmp_path, subtests):
    file = tmp_path / "s.npz"
    for change, message in DAMAGE:
        streamed(related(n=40)).save(file)
        with np.load(file) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(str(arrays["about"]))
        change(about, arrays)
        np.savez(file, **arrays | {"about": np.array(json.dumps(about))})
        with subtests.test(message), pytest.raises(ValueError, match=rf"s\.npz.*{message}"):
            rs.Stream.load(file)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "text.npz").write_text("text")
    np.savez(tmp_path / "objects.npz", about=np.array([{}], dtype=object))
    for name, message in (
        ("absent", "no stream at"),
        ("other", "not written by Stream.save"),
        ("text", "not a saved stream"),
        ("objects", "Python objects"),
    ):
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.Stream.load(tmp_path / f"{name}.npz")


# ---------------------------------------------------------------------------------------- mistakes

X = np.random.default_rng(0).standard_normal((8, 3))
FIRST, SWAPPED = (pd.DataFrame(X, index=list(ids)) for ids in ("pqrstuvw", "qprstuvw"))
BATCHES = [
    ({"a": X}, "batch 1 has different layers than the first batch: 'b'"),
    ({"a": X, "b": X[:, :2]}, "batch 1: layer 'b' has 2 features, not 3"),
    ({"a": X, "b": X[:5]}, "batch 1: layer 'b' has 5 rows and 'a' has 8"),
    ({"a": X[:0], "b": X[:0]}, "batch 1: representation 'a' is empty"),
    ({"a": X, "b": X * np.nan}, "batch 1: representation 'b' has 24 NaN or infinite"),
    ({"a": X, "b": np.where(X[2, 1] == X, np.inf, X)}, "'b' has 1 NaN.*row 2, column 1"),
    ({"a": X, "b": 1e80 * X}, "layer 'b' has values up to .* rescale"),
    ({"a": X, "b": X[0]}, r"batch 1: representation 'b' must be \(n_samples, n_features\)"),
    ({"a": FIRST, "b": SWAPPED}, "(?s)batch 1: .*'b'.*order"),
    ({"a": X, "b": FIRST, 3: X}, "different layers"),
    ({"a": X, "b": X, pathlib.PurePath("b"): X}, "batch 1: two layers are called 'b'"),
    ({"a": X, "b": rs.from_dissimilarities(1 - np.eye(8))}, "holds dissimilarities"),
    (X, "batch 1 must be a mapping from layers to arrays"),
]


def test_batches_that_do_not_fit_are_named_and_nothing_is_added(subtests):
    stream = rs.Stream()
    stream.update({"a": X, "b": X})
    with pytest.raises(ValueError, match="is of a stream"):
        rs.Stream().update(stream.representations())
    for batch, message in BATCHES:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            stream.update(batch)
    assert stream.n_samples == 8
    stream.update({"b": X, "a": rs.Representation(X, "other")})  # in any order, by any name
    assert stream.layers == ("a", "b")


def started(**options) -> rs.Stream:
    return streamed({"a": X, "b": X[:, :2]}, **options)


MISTAKES = [
    (lambda: rs.Stream("svd"), "method must be 'gram' or 'qr'"),
    (lambda: rs.Stream("qr", pairs=[("a", "b")]), "method='qr' keeps all pairs"),
    (lambda: rs.Stream(pairs=[]), "pairs is empty"),
    (lambda: started(pairs=[("a", "c")]), "pairs has 'c'"),
    (lambda: started().merge(started(method="qr")), "method='gram' and the other 'qr'"),
    (lambda: started().merge(started(directions=True)), "directions=False and the other True"),
    (lambda: started().merge(streamed({"a": X, "c": X})), "with the same layers"),
    (lambda: started().merge(X), "takes a Stream"),
    (lambda: (s := started()).merge(s), "not itself"),
    (lambda: rs.Stream().representations(), "0 samples are too few"),
    (lambda: rs.Stream().compare(), "0 samples are too few"),
    (lambda: streamed({"a": X[:1]}).representations(), "1 samples are too few"),
    (lambda: started().representations("c"), "no layer 'c'"),
    (lambda: streamed({"a": X * 1e-70}).representations(), "too small to be squared"),
]


def test_mistakes_are_named_with_a_remedy(subtests):
    for call, message in MISTAKES:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("method", ["gram", "qr"])
@pytest.mark.parametrize("names", [[*"abcdefghijkl"], [f"dim_{i}" for i in range(12)]])
def test_columns_of_later_batches_are_put_in_the_order_of_the_first(method, names, tmp_path):
    """Also of the other layers, of streams that are merged, and of one that was saved."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.standard_normal((40, 12)), columns=names)
    y = x + 0.3 * rng.standard_normal(x.shape)
    turned = [names[1], names[0], *names[:1:-1]]
    a, b = ({"x": v, "y": w} for v, w in ((x, y[turned]), (x[turned], y)))
    stream, other = rs.Stream(method), rs.Stream(method)
    stream.update({k: v[:10] for k, v in a.items()})
    stream.update({k: v[10:20].reset_index(drop=True) for k, v in b.items()})
    stream.save(tmp_path / "s.npz")
    stream = rs.Stream.load(tmp_path / "s.npz")
    stream.update({k: v[20:30].reset_index(drop=True) for k, v in b.items()})
    other.update({k: v[30:].reset_index(drop=True) for k, v in b.items()})
    stream.merge(other)
    assert_same(rs.permutation_procrustes, {"x": x, "y": y}, stream)
    caveats = repr(stream.compare("cka", progress=False)).splitlines()[1]
    assert "were put in the order" in caveats
    for wrong, message in (
        ({"x": x.rename(columns={names[0]: "other"}), "y": y}, "columns with different names"),
        (
            {"x": x, "y": y.rename(columns={names[0]: "z"})},
            "columns with different names|are equal",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            stream.update(wrong)


def test_a_stream_says_what_is_doubtful_about_its_samples():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 12)), rng.standard_normal((40, 6))
    x[:, 7] *= 40
    copies = np.arange(40) % 10
    for batch, words in (
        ({"x": x, "y": y}, "feature 7 has 99 % of the variance of x"),
        ({"x": y[copies], "y": x[copies]}, "in a batch 30 of 40 samples are duplicates"),
        ({"x": y @ y.T, "y": y}, "in a batch x is 40 x 40 and symmetric"),
    ):
        stream = rs.Stream()
        stream.update(batch)
        scores = stream.compare("cka", progress=False)
        assert any(caveat.startswith(words) for caveat in scores.caveats)
