"""What users hand in: tables with the samples they name, models with layers, and a remedy for
everything else."""

from __future__ import annotations

import json
import math
import os
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest
import scipy.sparse
import torch
import xarray as xr
from sklearn.decomposition import PCA

import resemblance as rs
from resemblance import stability as st
from resemblance.data import representation
from resemblance.data.representation import fingerprint
from resemblance.intermediates import points
from resemblance.intermediates.points import centered, centered_scaled, size
from resemblance.models.files import read_files

G = np.random.default_rng(0)
X, Y = G.standard_normal((30, 5)), G.standard_normal((30, 4))
NAMES = [f"image {i}" for i in range(30)]
SHUFFLED = G.permutation(30)
NAMED, DEFAULT = pd.DataFrame(X, index=NAMES), pd.DataFrame(X)
LABELS = np.arange(30) % 3


def compared(x, y):
    return rs.compare({"x": x}, {"y": y}, measures="cka", progress=False)["cka"].item()


ENTRANCES = {
    "a measure": rs.cka,
    "compare": compared,
    "drift": lambda x, y: rs.drift(x, y, n_resamples=10),
    "a statistic": rs.statistics.replicate,
}
entrance = pytest.mark.parametrize("enter", ENTRANCES.values(), ids=ENTRANCES)


# -------------------------------------------------------------------------- samples that have names


@entrance
@pytest.mark.parametrize("frame", [NAMED, DEFAULT], ids=["names", "numbers"])
def test_the_same_samples_in_another_order_are_an_error(enter, frame):
    """Numbers count, too: a frame that was never given an index is numbered, and shuffling keeps
    the numbers."""
    shuffled = frame.iloc[SHUFFLED]
    for x, y in [(frame, shuffled), (shuffled, frame)]:
        with pytest.raises(
            ValueError, match=r"in another order; .*rs\.join_samples.*\.loc\["
        ) as error:
            enter(x, y)
        assert not isinstance(error.value, rs.UndefinedError)
    enter(frame, shuffled.loc[frame.index])
    enter(*rs.join_samples(frame, shuffled))


@entrance
def test_other_samples_are_an_error_that_names_one(enter):
    other = pd.DataFrame(X, index=[*NAMES[:-1], "elsewhere"])
    with pytest.raises(ValueError, match=r"such as 'elsewhere'.*rs\.join_samples"):
        enter(NAMED, other)
    enter(*rs.join_samples(NAMED, other))


@entrance
def test_ids_on_one_side_only_are_no_error(enter):
    """Predictions come as plain arrays, or as a frame with a fresh index, of samples that have
    names."""
    some = DEFAULT.set_index(np.arange(20, 50)[::-1])
    for x, y in [
        (NAMED, X),
        (NAMED, DEFAULT),
        (some, DEFAULT),
        (DEFAULT.iloc[SHUFFLED], X[SHUFFLED]),
        (X, NAMED),
    ]:
        enter(x, y)


def test_a_feature_that_counts_is_no_old_index_in_few_rows_or_alone():
    few, alone = DEFAULT.reset_index()[:5], pd.DataFrame({"time": range(30)})
    assert rs.Representation(few).shape == (5, 6)
    assert rs.Representation(alone).shape == (30, 1)


def test_ids_that_cannot_be_compared_are_refused():
    with pytest.raises(
        ValueError, match="representation 'x': ids must be words, numbers or tuples of them"
    ):
        rs.Representation(X, "x", ids=[[i] for i in range(30)])


@pytest.mark.parametrize(
    ("ids", "same"),
    [
        ((3, 3, 8), list(np.array([3, 3, 8]))),
        (("a", "a", "b"), list(np.array(["a", "a", "b"]))),
        ((("a", 1), ("a", 2)), [(np.str_("a"), np.int64(1)), (np.str_("a"), np.int64(2))]),
    ],
)
def test_ids_are_equal_whatever_list_or_array_they_come_in(ids, same):
    """Repeated ids are a part of the fingerprint, by which a saved score is found again."""
    rows = X[: len(ids)]
    plain, listed = (rs.Representation(rows, ids=of) for of in (ids, same))
    assert repr(plain.ids) == repr(listed.ids) == repr(ids)
    assert fingerprint(plain) == fingerprint(listed) != fingerprint(rs.Representation(rows))


def test_lists_of_times_keep_their_unit_as_ids():
    times = list(np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[ns]"))
    assert rs.Representation(X[:3], ids=times).ids == tuple(times)


def test_values_of_tables_are_those_of_their_arrays():
    expected = rs.cka(X, Y)
    for y in (
        pd.DataFrame(Y),
        pd.DataFrame(Y, index=NAMES),
        pd.DataFrame(Y).convert_dtypes(),
        xr.DataArray(Y),
    ):
        assert rs.cka(NAMED, y) == expected
        assert compared(NAMED, y) == expected
    assert rs.Representation(NAMED).ids == tuple(NAMES)
    assert rs.Representation(DEFAULT).ids is None
    assert rs.Representation(NAMED, ids=range(30)).ids == tuple(range(30))
    mixed = pd.DataFrame({"whole": [1, 2, 4], "real": [0.5, 1, 2], "yes": [True, False, True]})
    assert rs.Representation(mixed).array.tolist() == [[1, 0.5, 1], [2, 1, 0], [4, 2, 1]]


def test_missing_numbers_of_tables_are_found_in_their_place():
    frame = pd.DataFrame(X).convert_dtypes()
    frame.iloc[3, 2] = pd.NA
    with pytest.raises(rs.UndefinedError, match="row 3, column 2"):
        rs.cka(frame, Y)


@entrance
def test_coordinates_of_xarray(enter):
    array = xr.DataArray(X, dims=("image", "unit"), coords={"image": NAMES})
    enter(array, NAMED)
    with pytest.raises(ValueError, match="in another order"):
        enter(array, array[SHUFFLED])
    a, b = rs.join_samples(array, array[SHUFFLED])
    assert np.array_equal(a.source, np.asarray(b.source))


def test_a_hierarchy_of_names():
    index = pd.MultiIndex.from_product([["a", "b"], range(15)])
    frame = pd.DataFrame(X, index=index)
    assert rs.Representation(frame).ids[16] == ("b", 1)
    with pytest.raises(ValueError, match="in another order"):
        rs.cka(frame, frame.iloc[::-1])


def test_repeated_names_can_be_compared_but_not_joined():
    frame = pd.DataFrame(X, index=["twice", *NAMES[:28], "twice"])
    assert rs.cka(frame, frame.to_numpy()) == pytest.approx(1)
    assert rs.cka(frame, pd.DataFrame(X, index=frame.index)) == pytest.approx(1)
    with pytest.raises(ValueError, match="in another order"):
        rs.cka(frame, frame.iloc[::-1].iloc[SHUFFLED])
    with pytest.raises(ValueError, match=r"one unique id per sample; 'twice' occurs several times"):
        rs.join_samples(frame, frame)


def test_no_name_is_no_name():
    assert rs.Representation(np.eye(3), None).name == rs.Representation(np.eye(3)).name == ""


def test_ids_are_not_taken_for_a_name():
    with pytest.raises(ValueError, match=r"must be a word; got list; .* ids=\.\.\."):
        rs.Representation(X, NAMES)


def test_a_representation_is_not_made_of_another():
    with pytest.raises(ValueError, match=r"is a Representation already; .*X\.source"):
        rs.Representation(rs.Representation(X), ids=NAMES)


def test_ids_are_equal_in_all_libraries():
    numbers = torch.tensor(SHUFFLED)
    x = rs.Representation(X, ids=torch.arange(30))
    for ids in (range(30), np.arange(30)):
        assert rs.Representation(X, ids=ids).ids == x.ids
    with pytest.raises(ValueError, match="another order"):
        rs.cka(x, rs.Representation(Y[numbers], ids=numbers))


def test_an_index_with_missing_values_is_refused():
    with pytest.raises(ValueError, match="missing values in its index"):
        rs.cka(pd.DataFrame(X, index=[math.nan, *range(29)]), Y)


def test_labels_belong_to_samples():
    """By position, unless both have names, or both are numbered, and those say something else."""
    plain = rs.statistics.variance_ratio(X, LABELS)
    for frame in (NAMED, DEFAULT):
        column = pd.Series(LABELS, index=frame.index)
        assert (
            rs.statistics.variance_ratio(frame, column)
            == rs.statistics.variance_ratio(frame, LABELS)
            == plain
        )
        for call in (
            rs.statistics.variance_ratio,
            lambda x, y: rs.drift(x, x, labels=y, n_resamples=10),
            st.perturbations,
        ):
            with pytest.raises(ValueError, match=r"labels has the samples of .* in another order"):
                call(frame, column.iloc[SHUFFLED])
    assert rs.statistics.variance_ratio(X, pd.Series(LABELS, index=SHUFFLED)) == plain
    assert rs.statistics.variance_ratio(NAMED, pd.Series(LABELS)) == plain


def test_names_survive_a_worker():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as executor:
        found = rs.compare(
            {"a": NAMED, "b": NAMED + 1}, measures="cka", jobs=executor, progress=False
        )
    assert found["cka"][0, 1] == pytest.approx(1)


# ------------------------------------------------------------------------------- models with layers


def model(name, *layers):
    return rs.ModelFeatures(
        name, {layer: rs.Representation(X + i, layer) for i, layer in enumerate(layers)}
    )


def names(*given, **options):
    found = rs.compare(*given, measures="magnitude_difference", progress=False, **options)
    return list(found.rows), list(found.columns)


def test_models_are_compared_by_their_layers():
    a, b, c = model("small", "conv", "head"), model("large", "conv", "head"), model("small", "conv")
    left, right = ["small/conv", "small/head"], ["large/conv", "large/head"]
    assert names(a, b) == (left, right)
    assert names([a, b]) == (left + right, left + right)
    assert names(a) == (left, left)
    assert names({"first": a, "second": b})[0] == [
        "first/conv",
        "first/head",
        "second/conv",
        "second/head",
    ]
    assert names([a, X]) == ([*left, "x1"],) * 2
    assert names({"net": a, "pixels": Y}, b)[0] == ["net/conv", "net/head", "pixels"]
    assert names(a, c) == (left, ["small 2/conv"])
    assert names([a, c])[0] == [*left, "small 2/conv"]
    assert names(a, a) == (left, left)
    assert a.layers["conv"].name == "conv"


def test_names_of_models_are_on_the_page(tmp_path):
    from resemblance.report import write_page

    found = rs.compare(
        model("small", "conv"), model("large", "head"), measures="cka", progress=False
    )
    write_page(found, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "small/conv" in text
    assert "large/head" in text


def test_mappings_of_layers_pairs_and_tables():
    nested = {"a": {"conv": X, "head": Y}, "b": X}
    assert names(nested)[0] == ["a/conv", "a/head", "b"]
    assert names([("first", X), ("second", Y)])[0] == ["first", "second"]
    assert names(NAMED)[0] == ["x0"]
    assert names([NAMED, pd.DataFrame(Y, index=NAMES)])[0] == ["x0", "x1"]
    assert names(xr.Dataset({"one": (("n", "d"), X), "two": (("n", "e"), Y)}))[0] == ["one", "two"]


def test_a_mistake_is_told_of_the_layer_that_has_it():
    with pytest.raises(ValueError, match="'layer 17' is a masked array"):
        rs.compare({"layer 3": X, "layer 17": np.ma.masked_greater(X, 1)})
    with pytest.raises(ValueError, match="'x1' has columns that are not numbers"):
        rs.compare([X, pd.DataFrame({"species": ["a"] * 30})])


# ---------------------------------------------------------------------------------- everything else


class Dataset:
    """What a data set of the library datasets looks like."""

    column_names = ("text", "embedding")

    def __iter__(self):
        yield {"text": "a", "embedding": [1.0, 2.0]}


class Annotated:
    obs_names, obsm = NAMES, {}


RECORDS = np.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)])
TEXT = pd.DataFrame({"a": [1.0, 2], "species": ["x", "y"]})
KINDS = {
    "text": (TEXT, r"columns that are not numbers: 'species'; .*X.drop\(.*X.set_index\("),
    "time": (
        pd.DataFrame({"day": pd.to_datetime(["2020-01-01"] * 2)}),
        "columns that are not numbers: 'day'",
    ),
    "old index": (
        DEFAULT.reset_index(),
        r"numbers its rows: 'index'; .*X.drop\(columns=\['index'\]",
    ),
    "text of numbers": (X.astype(str), r"written as text, pass X.astype\(float\)"),
    "mapping": ({"conv": X, "head": Y}, r"is a mapping with 'conv', 'head'; pass one"),
    "model": (model("net", "conv"), r"is a model with layers 'conv'; pass one, X.layers"),
    "module": (torch.nn.Linear(2, 2), "rs.extract_features"),
    "dataset": (Dataset(), r"columns 'text', 'embedding'; pass one, np.asarray\(X\['text'\]\)"),
    "generator": ((row for row in X), r"is a generator.*pass list\(X\)"),
    "pairs": ([("a", X), ("b", Y)], r"list of names and arrays.*dict\(X\)"),
    "annotated": (Annotated(), r"is an AnnData; .*ids=adata.obs_names"),
    "numbers as objects": (X.astype(object), r"np.asarray\(X, dtype=float\)"),
    "objects": (np.array([[{}]]), "Python objects, the first of type dict"),
    "rows of several lengths": (
        pd.Series([np.ones(2), np.ones(3)]),
        "vectors of different lengths",
    ),
    "records of a table": (
        TEXT.to_records(),
        r"species: pass np.column_stack\(.* for field in \['a'\]",
    ),
    "records": (RECORDS, r"fields a, b: pass np.column_stack\(\[X\[field\] for field"),
    "a field of vectors": (
        np.array([(1, [2.0, 3.0])], dtype=[("id", int), ("emb", float, (2,))]),
        r"fields id, emb: pass X\['emb'\]",
    ),
    "decimals": ([[Decimal("0.5")]], r"np.asarray\(X, dtype=float\)"),
    "text of any length": (X.astype(np.dtypes.StringDType()), r"written as text"),
    "a class": (np.ndarray, "is the class ndarray"),
    "five axes": (np.ones((2, 3, 1, 1, 1)), r"X.reshape\(len\(X\), -1\)"),
    "nothing masked": (np.ma.array(X), "pass X.data"),
    "objects of several lengths": (
        np.array([np.ones((2, 3)), np.ones((4, 3))], dtype=object),
        r"list of 2 arrays.*np.stack\(\[x.mean\(axis=0\) for x in X\]\)",
    ),
    "sparse": (scipy.sparse.csr_array(X), "toarray"),
    "sparse tensor": (torch.eye(3).to_sparse(), r"X.to_dense\(\)"),
    "nested tensor": (
        torch.nested.nested_tensor([torch.ones(2, 3)], layout=torch.jagged),
        r"torch.stack\(\[x.mean\(0\) for x in X.unbind\(\)\]\)",
    ),
    "no values": (torch.empty(3, 2, device="meta"), "device 'meta'"),
    "tiny numbers": (torch.ones(3, 2).to(torch.float8_e4m3fn), r"X.float\(\)"),
}


@pytest.mark.parametrize(("data", "message"), KINDS.values(), ids=KINDS)
def test_each_kind_has_its_remedy(data, message):
    for call in (
        lambda: rs.cka(data, data),
        lambda: rs.Representation(data, "X"),
        lambda: rs.drift(data, data),
    ):
        with pytest.raises(ValueError, match=message):
            call()


WIDE = np.random.default_rng(0).standard_normal((40, 6))
CLASSES = np.repeat(range(4), 10)
TITLES = [f"i{i}" for i in range(40)]
TABLE = pd.DataFrame(WIDE, index=TITLES)
MIXED = pd.Series(CLASSES, index=TITLES[::-1])  # in another order than the rows
SUBJECTS = {f"s{i}": TABLE + i for i in range(3)}
NET = torch.nn.Linear(6, 3)
BATCHES = [torch.from_numpy(WIDE).float()]


def comparison() -> rs.Comparison:
    parts = {f"m{i}": WIDE[:, i:] for i in range(4)}
    return rs.compare(parts, measures="cka", progress=False)


def streamed(**options) -> rs.Stream:
    stream = rs.Stream(**options)
    stream.update({"a": WIDE, "b": WIDE**2})
    return stream


SLIPS = {
    "blocks in another order": (
        lambda: rs.score_models({"m": TABLE}, SUBJECTS, whole_blocks=MIXED),
        "blocks=",
    ),
    "folds in another order": (
        lambda: rs.score_models({"m": TABLE}, SUBJECTS, folds=MIXED),
        "folds=",
    ),
    "conditions in another order": (lambda: rs.dissimilarities(TABLE, MIXED), "conditions="),
    "runs in another order": (
        lambda: rs.dissimilarities(TABLE, CLASSES, runs=MIXED),
        "runs= has the samples",
    ),
    "labels of a measure": (
        lambda: rs.accuracy_difference(TABLE, TABLE, labels=MIXED),
        "labels= has the samples",
    ),
    "conditions of noise": (lambda: rs.noise_covariance(TABLE, MIXED), "conditions="),
    "no workers": (lambda: rs.compare([WIDE, WIDE], measures="cka", jobs=0), "at least 1"),
    "workers as a word": (lambda: rs.score_models({"m": TABLE}, SUBJECTS, jobs="4"), "ProcessPool"),
    "two of one name": (lambda: rs.compare([("a", WIDE), ("a", WIDE)]), "two .* called 'a'"),
    "names of measures by place": (lambda: rs.compare([WIDE], ["cka"]), "go by keyword"),
    "measures in one text": (lambda: rs.compare([WIDE], measures="cka,rsa"), "as a list"),
    "half a block": (
        lambda: rs.compare([WIDE], measures="cka", block_size=1.5),
        "block_size must be a whole",
    ),
    "a table of Excel": (lambda: comparison().to_table("a.xlsx"), "are written as .csv"),
    "groups as a table": (lambda: comparison().permanova("cka", np.ones((4, 1))), "not a table"),
    "groups as lists": (
        lambda: comparison().permanova("cka", [[0], [1]] * 2),
        "one word or number",
    ),
    "no nested": (lambda: comparison().permanova("cka", [0, 1] * 2, nested=[]), "nested has 0"),
    "nested without a name": (
        lambda: comparison().permanova("cka", [0, 0, 1, 1], nested=[1, np.nan, 2, 2]),
        "'m1' has no",
    ),
    "width of a mean": (lambda: rs.mean_shape([WIDE, WIDE], width=2.5), "width must be a whole"),
    "a flag in words": (lambda: streamed(directions="no"), "directions must be True or False"),
    "pairs as words": (lambda: streamed(pairs=["ab"]), "two names each"),
    "layers in a list": (lambda: streamed().representations(["a", "b"]), "one by one"),
    "samples as a float": (
        lambda: rs.list_measures(n_samples=1e3),
        "n_samples must be a whole number from 1",
    ),
    "metric in words": (lambda: rs.list_measures(metric="no"), "metric must be True or False"),
    "a word": (lambda: rs.sample_size(min_similarity="0.1"), "min_similarity must be between"),
    "infinite dimensions": (
        lambda: rs.sample_size(max_chance=0.1, dimensions=(np.inf, 5)),
        "two participation ratios",
    ),
    "arrays for a measure": (lambda: rs.get_measure(WIDE), "not a measure: an array"),
    "ids without an order": (lambda: rs.Representation(WIDE, ids=set(TITLES)), "must be a list"),
    "text of NaN": (
        lambda: rs.statistics.class_separation(
            WIDE, np.where(CLASSES, CLASSES, np.nan).astype(str)
        ),
        "text nan",
    ),
    "a label among features": (lambda: rs.Representation(TABLE.assign(label=CLASSES)), "a label"),
    "rows numbered from 1": (lambda: rs.Representation(TABLE.assign(k=range(1, 41))), "numbers"),
    "samples last": (
        lambda: rs.Representation(xr.DataArray(WIDE.T, dims=("unit", "trial"))),
        "samples last",
    ),
    "a lazy frame": (lambda: rs.Representation(pl.DataFrame(WIDE).lazy()), r"collect\(\)"),
    "a layer as a module": (
        lambda: rs.extract_features(NET, BATCHES, layers=NET),
        "names of model",
    ),
    "a function for a model": (lambda: rs.extract_features(len, BATCHES), r"not a torch.nn.Module"),
    "a model without weights": (
        lambda: rs.extract_features(torch.nn.Linear(6, 3, device="meta"), BATCHES),
        "no weights",
    ),
    "layers without names": (
        lambda: rs.ModelFeatures("net", [rs.Representation(WIDE)]),
        "a mapping",
    ),
    "nothing to join": (lambda: rs.join_samples(), "nothing to join"),
    "a page of a list": (lambda: rs.report.write_page([1], "p.html"), "must be a result"),
}


def test_slips_are_named_with_their_remedy(subtests):
    for slip, (call, message) in SLIPS.items():
        with subtests.test(slip), pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(KeyError, match=r"comparison\[measure, x, y\]"):
        comparison()["cka", "m0"]


def test_what_can_be_understood_is_understood():
    result, parts = comparison(), {f"m{i}": WIDE[:, i:] for i in range(4)}
    for given in (parts.items(), zip(parts, parts.values()), iter(parts.items())):
        pairs = rs.compare(given, measures="cka", progress=False)
        assert pairs.rows == result.rows
        np.testing.assert_array_equal(pairs["cka"], result["cka"])
    by_name = dict(zip(parts, "aabb"))
    expected = result.permanova("cka", by_name).f
    for labels in (pd.Series(by_name)[::-1], torch.tensor([0, 0, 1, 1]), np.array([*"aabb"])):
        assert result.permanova("cka", labels).f == expected
    nested = pd.Series([1, 2, 1, 2], index=[*parts])
    assert result.permanova("cka", by_name, nested=nested[::-1]).nested == (1, 2, 1, 2)
    assert rs.score_models(iter({"m": TABLE}.items()), SUBJECTS, progress=False).models == ("m",)
    words = pd.DataFrame(np.arange(120).reshape(40, 3) % 4, columns=["class", "dog", "target"])
    assert rs.Representation(words).shape == (40, 3)


def test_rows_that_are_kept_as_objects():
    rows = np.empty(30, dtype=object)
    rows[:] = list(X)
    column = pd.Series(list(X), index=NAMES)
    for given in (rows, column, list(X)):
        assert rs.cka(given, Y) == rs.cka(X, Y)
    assert rs.Representation(column).ids == tuple(NAMES)


def test_files_that_hold_no_array(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "loop.npy").symlink_to(tmp_path / "loop.npy")
    head = np.lib.format.magic(1, 0) + b"v\x00"
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 5), }".ljust(117) + b"\n"
    (tmp_path / "negative.npy").write_bytes(head + text + bytes(160))
    for name, message in [
        ("objects", "it holds Python objects, not numbers, .* if you trust the file"),
        ("text", "cannot be read"),
        ("loop", "cannot be read"),
        ("negative", "cannot be read"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            rs.Representation(tmp_path / f"{name}.npy")
        assert ("allow_pickle" in str(error.value)) == (name == "objects")
    with pytest.raises(ValueError, match=r"is not a .npy file"):
        rs.Representation("a\0b.npy")
    with pytest.raises(ValueError, match=r"glob\('\*.npy'\)"):
        rs.Representation(tmp_path)  # a folder of arrays
    (tmp_path / "traits.json").write_text("{}")
    with pytest.raises(ValueError, match="open_features"):
        rs.Representation(tmp_path)
    with pytest.raises(FileNotFoundError):
        rs.Representation(tmp_path / "missing.npy")
    assert os.path.islink(tmp_path / "loop.npy")


def test_trials_against_conditions():
    with pytest.raises(ValueError, match=r"480 is 12 x 40: .*average"):
        rs.cka(np.ones((40, 3)), np.ones((480, 3)))
    with pytest.raises(ValueError, match=r"480 is 12 x 40: .*average"):
        rs.compare([np.ones((480, 3)), np.ones((40, 4))])


def test_many_values_are_compared_in_blocks_of_rows(monkeypatch, subtests, rng):
    x, y = rng.standard_normal((2, 60, 8)).astype(np.float32) + 100
    x[:, 2] = 100
    sources = {
        "float32": (x, y),
        "float64": (x.astype(float), y),
        "huge": (1e150 * x.astype(float), y),
    }
    specs = ("cka", "cka[estimator=debiased]", "procrustes")
    for name, pair in sources.items():
        with subtests.test(name):
            before = rs.compare(dict(zip("xy", pair)), measures=specs)
            for module in (representation, points):
                monkeypatch.setattr(module, "ROWS_PER_COPIED_BLOCK", 16)
            monkeypatch.setattr(representation, "MIN_LARGE_BYTES", 480)
            many = dict(zip("xy", map(rs.as_representation, pair)))
            after = rs.compare(many, measures=specs)
            for spec in specs:
                np.testing.assert_allclose(after[spec], before[spec], rtol=1e-11, atol=1e-13)
            a, b = map(rs.Representation, pair)
            assert rs.cka(a, b) == after["cka"][0, 1]
            assert rs.cka(a, a) == after["cka"][0, 0]
            kept = [v for r in (a, b) for v in r.cache.values() if isinstance(v, np.ndarray)]
            assert all(intermediate.size < x.size for intermediate in kept)
            assert size(a) == centered_scaled(a).size
            monkeypatch.undo()


def test_a_large_copy_is_not_kept_and_changes_no_value(monkeypatch, subtests, rng):
    wide = rng.standard_normal((60, 8)) + 100
    for source in (wide.astype(np.float32), wide.astype(int), np.asfortranarray(wide)):
        with subtests.test(str(source.dtype)):
            kept, passing = rs.as_representation(source), rs.as_representation(source)
            before = centered(kept)
            monkeypatch.setattr(representation, "MIN_LARGE_BYTES", 1)
            assert np.array_equal(centered(passing), before)
            assert centered(passing).flags.c_contiguous
            assert np.array_equal(passing.array, kept.array)
            assert "working_values" not in {key[0].__name__ for key in passing.cache}
            monkeypatch.undo()


# ------------------------------------------------------------ vectors in tables, mappings and lists

VECTORS = X.astype("float32")
TABLES = {
    "lists": pd.DataFrame({"id": NAMES, "emb": VECTORS.tolist()}),
    "arrays": pd.DataFrame({"_id": NAMES, "vec": list(VECTORS)}),
    "tuples": pd.DataFrame({"FileName": NAMES, "v": list(map(tuple, VECTORS.tolist()))}),
    "tensors": pd.DataFrame({"image_id": NAMES, "v": list(torch.tensor(VECTORS))}),
    "pandas of arrow": pd.DataFrame(
        {"key": NAMES, "v": pd.Series(list(VECTORS), dtype=pd.ArrowDtype(pa.list_(pa.float32())))}
    ),
    "polars lists": pl.DataFrame({"doc_id": NAMES, "v": pl.Series(VECTORS.tolist())}),
    "polars arrays": pl.DataFrame(
        {"path": NAMES, "v": pl.Series(VECTORS.tolist(), dtype=pl.Array(pl.Float32, 5))}
    ),
    "arrow lists": pa.table({"id": NAMES, "v": pa.array(list(VECTORS))}),
    "arrow fixed": pa.table(
        {"id": NAMES, "v": pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 5)}
    ),
    "arrow chunks": pa.concat_tables(
        pa.table({"id": NAMES[i : i + 10], "v": pa.array(list(VECTORS[i : i + 10]))}).slice(0, 10)
        for i in (0, 10, 20)
    ),
    "arrow batch": pa.RecordBatch.from_pydict({"name": NAMES, "v": list(VECTORS)}),
    "an index": pd.DataFrame({"v": list(VECTORS)}, index=NAMES),
    "wide": pd.DataFrame(VECTORS).assign(id=NAMES),
    "wide of polars": pl.DataFrame(VECTORS).with_columns(uuid=pl.Series(NAMES)),
    "wide of arrow": pa.table({"id": NAMES} | {f"x{i}": VECTORS[:, i] for i in range(5)}),
    "mapping": dict(zip(NAMES, VECTORS)),
    "mapping of lists": dict(zip(NAMES, VECTORS.tolist())),
    "mapping of tensors": dict(zip(NAMES, torch.tensor(VECTORS))),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_vectors_with_ids_are_a_representation(table):
    r = rs.Representation(table)
    assert r.ids == tuple(NAMES)
    np.testing.assert_allclose(np.asarray(r.source), VECTORS, rtol=1e-6)
    assert float(rs.cka(table, table)) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"in another order"):
        rs.cka(rs.Representation(VECTORS[::-1], ids=NAMES[::-1]), rs.Representation(X, ids=r.ids))


@pytest.mark.parametrize(("columns", "length"), [(2, 30), (9, 27), (12, 120)])
def test_words_with_long_vectors_may_be_samples_or_columns(columns, length):
    X = {f"unit {chr(97 + i)}": np.arange(length) * 0.1 + i for i in range(columns)}
    with pytest.raises(ValueError, match=f"from {columns} words, .* to {length} numbers") as caught:
        rs.Representation(X)
    shapes = {"pandas.DataFrame(X)": (length, columns)}
    shapes["rs.Representation(X, ids=list(X))"] = (columns, length)
    for remedy, shape in shapes.items():
        assert remedy in str(caught.value)
        given = eval(remedy, {"X": X, "rs": rs, "pandas": pd})
        assert rs.Representation(given).shape == shape if remedy[0] == "p" else given.shape == shape
    numbered = dict(enumerate(X.values()))
    assert rs.Representation(numbered).shape == (columns, length)
    short = {name: vector[: 2 * columns] for name, vector in X.items()}
    assert rs.Representation(short).ids == tuple(X)


def test_columns_of_vectors_alone():
    for column in (TABLES["lists"]["emb"], TABLES["polars lists"]["v"], TABLES["arrow fixed"]["v"]):
        assert rs.Representation(column).shape == (30, 5)
    numbered = pd.DataFrame({"id": np.arange(30)[::-1], "v": list(X)})
    assert rs.Representation(numbered).ids == tuple(range(29, -1, -1))
    chosen = TABLES["lists"].assign(second=list(Y), price=1.5)
    assert rs.Representation(chosen, column="second").shape == (30, 4)
    assert rs.Representation(chosen, column="second", ids="id").ids == tuple(NAMES)
    assert rs.Representation(chosen, column="price").shape == (30, 1)
    with pytest.warns(UserWarning, match="the vectors are 'emb'; left out: 'title', 'class'"):
        rs.Representation(TABLES["lists"].assign(title="x", **{"class": 1}))


def remedied(data, call, match, remedy):
    """The text of the error has the remedy, and the remedy gives a value; ``X``: the data."""
    with pytest.raises(ValueError, match=match) as error:
        call(data)
    assert remedy in str(error.value), error.value
    scope = {"np": np, "pd": pd, "pl": pl, "pyarrow": pa, "torch": torch, "rs": rs, "json": json}
    return call(eval(remedy, scope, {"X": data}))


def same(data):
    return rs.Representation(data).shape


BATCHED = [X[:10], X[10:20], X[20:]]
RAGGED = [np.ones((n, 5)) * n for n in (4, 6, 9)]
FRAME = TABLES["lists"]
MISSING = FRAME.assign(emb=[*VECTORS.tolist()[:-1], None])
SHORT = FRAME.assign(emb=[*VECTORS.tolist()[:-1], [1.0, 2.0]])
WORDY = pd.DataFrame({"colour": ["red", "blue"] * 15, "shape": ["round"] * 30})
FORMS = {
    "batches": (BATCHED, "list of 3 arrays", "np.concatenate(X)", (30, 5)),
    "batches with a short last one": (
        [X[:10], X[10:20], X[20:23]], "if these are batches", "np.concatenate(X)", (23, 5),
    ),
    "batches of tensors": (
        list(map(torch.tensor, BATCHED)), "if these are batches", "torch.cat(X)", (30, 5),
    ),
    "batches that carry gradients": (
        [torch.ones(3, 2, requires_grad=True)] * 2, "batches", "torch.cat(X)", (6, 2),
    ),
    "rows that carry gradients": (
        [torch.arange(4.0, requires_grad=True)] * 3, "list of tensors", "torch.stack(X)", (3, 4),
    ),
    "batches as nested lists": (
        [x.tolist() for x in BATCHED], "if these are batches", "np.concatenate(X)", (30, 5),
    ),
    "ragged tokens": (
        RAGGED, "or take their means", "np.stack([x.mean(axis=0) for x in X])", (3, 5)
    ),
    "batches of tokens": (
        [np.ones((4, 7, 5)), np.ones((2, 7, 5))], "batches",
        'rs.from_tokens(np.concatenate(X), pool="mean")', None,
    ),
    "batches of padded tokens": (
        [np.ones((4, 7, 5)), np.ones((2, 9, 5))], "batches",
        'np.concatenate([rs.from_tokens(x, pool="mean").array for x in X])', (6, 5),
    ),
    "batches of maps": (
        [np.ones((4, 3, 2, 2)), np.ones((2, 3, 2, 2))], "batches",
        'rs.from_maps(np.concatenate(X), pool="mean")', None,
    ),
    "epochs of channels by time": (
        [np.ones((5, n)) for n in (40, 50)], "time bins",
        "np.stack([x.mean(axis=1) for x in X])", (2, 5),
    ),
    "records": (FRAME.to_dict("records"), "list of records", "pd.DataFrame(X)", (30, 5)),
    "a vector is missing": (MISSING, "row 29", "X.dropna(subset=['emb'])", (29, 5)),
    "a vector is missing in polars": (
        pl.from_pandas(MISSING), "row 29", "X.drop_nulls('emb')", (29, 5),
    ),
    "a vector is missing in arrow": (
        pa.Table.from_pandas(MISSING), "row 29", "X.filter(X['emb'].is_valid())", (29, 5),
    ),
    "a short vector": (SHORT, "row 29 has 2", "X[X['emb'].map(len) == 5]", (29, 5)),
    "a short vector in polars": (
        pl.from_pandas(SHORT), "row 29 has 2", "X.filter(X['emb'].list.len() == 5)", (29, 5),
    ),
    "a short vector in arrow": (
        pa.Table.from_pandas(SHORT), "row 29 has 2",
        "X.filter(pyarrow.compute.equal(pyarrow.compute.list_value_length(X['emb']), 5))", (29, 5),
    ),
    "a short vector in a mapping": (
        {"a": [1.0, 2], "b": [3.0, 4], "c": [5.0]}, "'c' \\(1,\\)",
        "{k: v for k, v in X.items() if np.shape(v) == (2,)}", (2, 2),
    ),
    "a short vector in a series": (SHORT["emb"], "row 29 has 2", "X[X.map(len) == 5]", (29, 5)),
    "a series without a vector": (MISSING["emb"], "row 29", "X.dropna()", (29, 5)),
    "a short vector in a series of polars": (
        pl.from_pandas(SHORT)["emb"], "row 29 has 2", "X.filter(X.list.len() == 5)", (29, 5),
    ),
    "rows in a mapping": (
        {"a": np.ones((1, 4)), "b": np.ones((1, 4))}, "pass their rows",
        "{k: v[0] for k, v in X.items()}", (2, 4),
    ),
    "two columns of vectors": (
        FRAME.assign(other=list(Y)), "columns of vectors, 'emb', 'other'", "X['emb']", None,
    ),
    "vectors as text": (
        FRAME.assign(emb=[str(v) for v in X.tolist()]), "vectors written as text",
        "np.array([json.loads(str(text)) for text in X['emb']])", (30, 5),
    ),
    "numbers as text": (
        pd.DataFrame(X).astype(str).rename(columns=str), "numbers as text",
        "X.astype({'0': float, '1': float, '2': float, '3': float, '4': float})", (30, 5),
    ),
    "numbers as objects": (
        pd.DataFrame({"a": [Decimal(1), Decimal(2)], "b": [1.0, 3.0]}), "numbers as text or obj",
        "X.astype({'a': float})", (2, 2),
    ),
    "numbers as text in polars": (
        pl.DataFrame({"a": ["1", "2"], "b": [1.0, 3.0]}), "numbers as text",
        "X.cast({'a': float})", (2, 2),
    ),
    "a column of words": (
        pd.DataFrame(X).assign(word=NAMES), "'word'", "X.set_index('word')", (30, 5),
    ),
    "a column of words in polars": (
        pl.DataFrame(X).with_columns(word=pl.Series(NAMES)), "'word'", "X.drop('word')", (30, 5),
    ),
    "a column of words in arrow": (
        pa.table({"a": [1.0, 2.0], "word": ["x", "y"]}), "'word'", "X.drop_columns(['word'])",
        (2, 1),
    ),
    "words alone": (WORDY, "no column holds numbers", "pd.get_dummies(X)", (30, 3)),
    "words alone in polars": (
        pl.from_pandas(WORDY), "no column holds numbers", "X.to_dummies()", (30, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "match", "remedy", "shape"), FORMS.values(), ids=FORMS)
def test_the_remedy_of_a_form_works(data, match, remedy, shape):
    if shape is None:
        with pytest.raises(ValueError, match=match) as error:
            rs.Representation(data)
        choice = "column='emb'" in str(error.value)
        assert choice or remedy in str(error.value)
        if choice:
            assert rs.Representation(data, column="emb").shape == (30, 5)
        else:
            scope = {"np": np, "rs": rs, "X": data}
            assert eval(remedy, scope).shape == (6, 5 if "tokens" in remedy else 3)
        return
    assert remedied(data, same, match, remedy) == shape


def test_no_remedy_leaves_nothing():
    for table in (WORDY, pd.DataFrame({"a": ["1", "2"], "b": ["3", "4"]})):
        with pytest.raises(ValueError, match="columns that are not numbers") as error:
            rs.cka(table, table)
        assert "drop" not in str(error.value)


def test_batches_in_compare():
    with pytest.raises(ValueError, match=r"batches of one layer, pass np.concatenate\(X\)"):
        rs.compare([X[:10], X[10:20], X[20:25]])
    with pytest.raises(ValueError, match=r"if these are batches, pass np.concatenate\(X\)"):
        rs.compare({"a": BATCHED, "b": BATCHED})
    with pytest.raises(ValueError, match=r"is no table; leave ids='id' out"):
        rs.Representation(X, ids="id")
    with pytest.raises(ValueError, match="has no column 'embd'; did you mean 'emb'"):
        rs.Representation(FRAME, column="embd")


# ------------------------------------------------------------------ a representation as an array


def test_a_representation_is_read_as_an_array():
    r = rs.Representation(X.astype("float32"), ids=NAMES)
    array = np.asarray(r)
    assert (array.dtype, array.flags.writeable, len(r)) == (np.float64, False, 30)
    assert np.array_equal(array, X.astype("float32"))
    assert np.array(r).flags.writeable
    assert np.array(r, dtype="float32").dtype == np.float32
    assert np.asarray(r, copy=False).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(r, dtype="float32", copy=False)
    assert np.asarray(rs.Representation(X, dtype="float32")).dtype == np.float32
    with pytest.warns(UserWarning, match="slow"):  # torch reads it row by row, and says so
        np.testing.assert_array_equal(torch.as_tensor(r).numpy(), array)
    np.testing.assert_array_equal(torch.tensor(np.asarray(r)).numpy(), array)
    np.testing.assert_array_equal(pd.DataFrame(r).to_numpy(), array)
    np.testing.assert_array_equal(np.stack([r, r])[1], array)
    np.testing.assert_array_equal(r[3:5, 0], array[3:5, 0])
    assert np.linalg.norm(r) == np.linalg.norm(array)
    assert PCA(2).fit(r).components_.shape == (2, 5)
    assert rs.compare(r, measures="cka").rows == ("x0",)
    tensor = torch.ones(3, 2, requires_grad=True)
    assert np.asarray(rs.Representation(tensor)).tolist() == [[1, 1]] * 3


def test_dissimilarities_are_not_read_as_features():
    signed = rs.dissimilarities(X, np.arange(30) % 5, runs=np.arange(30) // 10)
    for call in (np.asarray, list, lambda r: r[0]):
        with pytest.raises(ValueError, match=r"stands for dissimilarities.*rs\.rdm"):
            call(signed)
    assert rs.rdm(signed).shape == (5, 5)


SLIPS_OF_MEASURES = {
    "transposed": (lambda x, y: x.T, "x.array.T"),
    "product": (lambda x, y: x @ y, "write x.array @ y"),
    "product from the right": (lambda x, y: torch.ones(4, 30) @ x, "write y @ x.array"),
    "difference": (lambda x, y: x - y, "write x.array - y"),
    "remainder": (lambda x, y: x % y, "write x.array % y"),
    "size": (lambda x, y: abs(x), r"write abs\(x.array\)"),
    "number": (lambda x, y: float(x), r"write float\(x.array\[i, j\]\)"),
    "member": (lambda x, y: 1.0 in x, "write y in x.array"),
    "sum": (lambda x, y: 1 + x, r"write y \+ x.array"),
    "scaled": (lambda x, y: x * 2, r"x.array \* y"),
    "quotient": (lambda x, y: x / 2, "x.array / y"),
    "negative": (lambda x, y: -x, "-x.array"),
    "comparison": (lambda x, y: x > y, "x.array > y"),
    "mean": (lambda x, y: x.mean(0), "x.array.mean"),
    "type": (lambda x, y: x.astype(float), "x.array.astype"),
}


@pytest.mark.parametrize(("body", "message"), SLIPS_OF_MEASURES.values(), ids=SLIPS_OF_MEASURES)
def test_a_measure_that_takes_its_arguments_for_arrays(body, message):
    with pytest.raises((TypeError, AttributeError), match=message):
        body(rs.Representation(X), rs.Representation(Y))
    with pytest.raises(AttributeError, match=r"has no attribute 'shap'$"):
        _ = rs.Representation(X).shap


# ------------------------------------------------------------------------ where numbers are missing

DEAD, EMPTY, SCATTERED, MANY, SOME = (X.copy() for _ in range(5))
DEAD[:, 3], EMPTY[[2, 7]] = np.nan, np.nan
SCATTERED[[4, 5], [1, 2]] = np.inf
MANY[np.arange(30), np.arange(30) % 5] = np.nan
SOME[::2, 1] = SOME[1::2, 1][:15] = np.nan
SOME[1:20, 1] = np.nan
SOME[0, 1] = 1
BOTH = DEAD.copy()
BOTH[2] = BOTH[9, 1] = np.nan
WIDE_GAPS = np.random.default_rng(1).standard_normal((30, 40))
WIDE_GAPS[:, ::4] = np.nan
GAPS = {
    "a column": (DEAD, "30 .*row 0, column 3; column 3 has", "np.delete(X, [3], axis=1)", (30, 4)),
    "many columns": (
        WIDE_GAPS,
        "columns 0, 4, 8, 12, 16 and 5 more",
        "X[:, np.isfinite(X).any(axis=0)]",
        (30, 30),
    ),
    "rows": (EMPTY, "rows 2, 7 have", "np.delete(X, [2, 7], axis=0)", (28, 5)),
    "scattered over few rows": (
        SCATTERED,
        "row 4, column 1; leave those samples out or fill",
        "",
        None,
    ),
    "in few columns": (SOME, "they lie in column 1: leave that feature out", "", None),
    "everywhere": (
        MANY,
        "30 of 30 rows and 5 of 5 columns",
        "np.where(np.isfinite(X), X, np.nanmean(X, axis=0))",
        (30, 5),
    ),
    "all": (X * np.nan, "no number at all", "", None),
}


@pytest.mark.parametrize(("data", "match", "remedy", "shape"), GAPS.values(), ids=GAPS)
def test_gaps_have_the_remedy_that_loses_least(data, match, remedy, shape):
    with pytest.raises(rs.UndefinedError, match=match) as error:
        rs.cka(data, Y)
    assert remedy in str(error.value)
    if remedy:
        mended = eval(remedy, {"np": np, "X": data})
        assert mended.shape == shape
        assert np.isfinite(rs.cka(mended, Y[: len(mended)]))


def test_gaps_of_several_kinds_are_named_in_turn():
    with pytest.raises(
        rs.UndefinedError, match=r"column 3 has .*; row 2 has .*; 1 more: leave those"
    ):
        rs.cka(BOTH, Y)
    with pytest.raises(rs.UndefinedError, match="too large for float32; leave dtype='float32' out"):
        rs.cka(rs.Representation(X * 1e50, dtype="float32"), rs.Representation(Y, dtype="float32"))


# ------------------------------------------------------------------------------- names of columns

NUMBERED = pd.DataFrame(
    np.random.default_rng(5).standard_normal((60, 12)), columns=[f"dim_{i}" for i in range(12)]
)
SORTED = NUMBERED[sorted(NUMBERED.columns)]
WORDS = NUMBERED.set_axis(list("abcdefghijkl"), axis=1)
MOVED = WORDS[list("bacdefghijkl")]
OTHER = WORDS.rename(columns={"a": "z"})


@pytest.mark.parametrize(
    ("x", "y"), [(NUMBERED, SORTED), (SORTED, NUMBERED.set_axis(range(12), axis=1)), (WORDS, MOVED)]
)
def test_columns_of_equal_names_are_put_in_one_order(x, y):
    """Numbers that are sorted as words are out of order, too."""
    with pytest.warns(UserWarning, match="the columns of 'Y' were put in the order of"):
        assert rs.mmd(x, y) == pytest.approx(0, abs=1e-7)
    values = rs.compare({"a": x, "b": y}, measures="mmd", progress=False)
    assert values["mmd"][0, 1] == pytest.approx(0, abs=1e-7)
    assert "were put in the order" in repr(values).splitlines()[1]
    report = rs.drift(x, y, n_resamples=10, progress=False)
    assert not report.drifted
    assert "were put in the order" in repr(report).splitlines()[1]
    assert rs.cka(x, y) == pytest.approx(1)
    joined, _ = rs.from_conditions([x, y])
    np.testing.assert_allclose(np.sort(joined.array, 0)[::2], np.sort(joined.array, 0)[1::2])


def test_upgrade_puts_the_columns_of_both_models_in_one_order():
    rng = np.random.default_rng(0)
    queries = pd.DataFrame(rng.standard_normal((40, 12)), columns=WORDS.columns)
    moved = queries[MOVED.columns]
    for new, pair in ((MOVED, (queries, moved)), (WORDS, (moved, queries))):
        result = rs.upgrade_index(WORDS, new, *pair, progress=False)
        assert result.decision == "keep"
        assert "were put in the order" in repr(result).splitlines()[1]
    with pytest.raises(ValueError, match="columns of other names"):
        rs.upgrade_index(WORDS, MOVED, queries.rename(columns={"a": "z"}), moved, progress=False)


@pytest.mark.parametrize("has_names", [True, False])
def test_documents_that_a_function_embeds_are_in_the_order_of_the_new_columns(has_names):
    rng = np.random.default_rng(0)
    old = pd.DataFrame(rng.standard_normal((300, 12)), columns=WORDS.columns)
    new = (old + 0.1 * rng.standard_normal(old.shape))[MOVED.columns]
    queries = pd.DataFrame(rng.standard_normal((40, 12)), columns=WORDS.columns)
    pair = queries, queries[MOVED.columns]

    def embed(rows):
        return new.iloc[rows].reset_index(drop=True) if has_names else new.to_numpy()[rows]

    options = {"k": 3, "progress": False, "maps": ["orthogonal"]}
    moved = rs.upgrade_index(old[:200], new[:200], *pair, index=old, embed=embed, **options)
    plain = rs.upgrade_index(
        old[:200].to_numpy(),
        new[WORDS.columns][:200].to_numpy(),
        queries.to_numpy(),
        queries.to_numpy(),
        index=old.to_numpy(),
        embed=lambda rows: new[WORDS.columns].to_numpy()[rows],
        **options,
    )
    assert moved.records() == plain.records()


def test_batches_of_other_samples_are_put_in_one_order_of_columns():
    rng = np.random.default_rng(1)
    means = np.arange(12.0)
    x = pd.DataFrame(rng.standard_normal((90, 12)) + means, columns=WORDS.columns)
    y = pd.DataFrame(rng.standard_normal((70, 12)) + means, columns=WORDS.columns)[MOVED.columns]
    report = rs.drift(x, y, paired=False, progress=False)
    assert not report.drifted
    assert "were put in the order" in report.caveats[0]
    with pytest.raises(ValueError, match="columns of other names"):
        rs.drift(x, y.rename(columns={"a": "z"}), paired=False, progress=False)


def test_names_of_columns_come_with_every_kind_of_table():
    names = ("a", "b", "c")
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 3)), columns=names)
    named = table.assign(id=NAMES)
    for frame in (table, named):
        for data in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
            assert rs.Representation(data).features == names
    vectors = pd.DataFrame({"id": NAMES, "v": X.tolist()})
    assert rs.Representation(vectors).features is None
    assert rs.Representation(named, ids="id", column="a").features == ("a",)


def test_names_of_which_some_are_equal_are_refused_and_the_remedy_runs():
    for call in (
        lambda x, y: rs.cka(x, y),
        lambda x, y: rs.compare([x, y], measures="cka", progress=False)["cka"][0, 1],
        lambda x, y: rs.from_conditions([x, y])[0].array.mean(),
        lambda x, y: rs.drift(x, y, n_resamples=10, progress=False).unexplained,
    ):
        with pytest.raises(ValueError, match=r"has 'z' where .* has 'a'; 11 names are equal"):
            call(WORDS, OTHER)
        both = [[c for c in x if c in set(y)] for x, y in ((WORDS, OTHER), (OTHER, WORDS))]
        assert np.isfinite(call(WORDS[both[0]], OTHER[both[1]]))
        assert np.isfinite(call(WORDS, OTHER.to_numpy()))


def test_other_names_are_other_coordinates_of_models_and_no_coordinates_of_one():
    other = WORDS.add_prefix("unit ")
    assert rs.cka(WORDS, other) == pytest.approx(1)
    names = ("mmd", "sliced_wasserstein")
    for name in names:
        with pytest.raises(rs.UndefinedError, match="columns of other names"):
            rs.get_measure(name)(WORDS, other)
    result = rs.compare({"a": WORDS, "b": other}, measures=[*names, "cka"], progress=False)
    reasons = {f.measure: f.reason for f in result.failures if f.x == "a"}
    assert set(reasons) == {*names}
    assert all("columns of other names" in reason for reason in reasons.values())
    with pytest.raises(ValueError, match="columns of other names"):
        rs.drift(WORDS, other)
    wide = NUMBERED.set_axis(range(12), axis=1)
    assert np.isfinite(rs.cka(NUMBERED.iloc[:, :7], wide))
    assert np.isfinite(rs.mmd(NUMBERED, wide.set_axis([f"x{i}" for i in range(1, 13)], axis=1)))
    with pytest.raises(ValueError, match="their order is unknown"):
        rs.drift(SORTED, NUMBERED.to_numpy())


def test_names_of_columns_stay_with_a_representation():
    x = rs.Representation(WORDS, ids=range(60))
    assert pickle.loads(pickle.dumps(x)).features == tuple("abcdefghijkl")
    assert rs.join_samples(x, rs.Representation(WORDS[::-1], ids=range(60)))[0].features == (
        x.features
    )
    assert rs.condition_means(WORDS, np.arange(60) % 6).features == x.features
    assert rs.Representation(WORDS[["c", "a"]]).features == ("c", "a")
    assert rs.Representation(WORDS.to_numpy()).features is None
    assert rs.Representation(np.ones((3, 2)), features=["u", "v"]).features == ("u", "v")
    with pytest.raises(ValueError, match="has 2 features but 3 names"):
        rs.Representation(np.ones((3, 2)), features="abc")
    units = {"neuroid_id": ("neuroid", list("uvw")), "region": ("neuroid", ["V1", "V1", "IT"])}
    recorded = xr.DataArray(np.eye(4)[:, :3], dims=("presentation", "neuroid"), coords=units)
    assert rs.Representation(recorded).features == ("u", "v", "w")


# ----------------------------------------------------------------------- numbers of rows, ids, text


@pytest.mark.parametrize("column", [("id", 0), ("key", 7), ("ID", 1000), ("sample_id", 3000)])
def test_a_shuffled_number_of_rows_is_no_feature(column):
    name, start = column
    rng = np.random.default_rng(0)
    numbers = start + rng.permutation(60 if start < 1000 else 2 * start)[:60]
    table = WORDS.assign(**{name: numbers})
    with pytest.raises(ValueError, match=f"numbers its rows: '{name}'; .*drop"):
        rs.cka(table, NUMBERED.to_numpy())
    assert rs.cka(table.drop(columns=[name]), WORDS) == pytest.approx(1)
    ranks = WORDS.rank().astype(int)
    assert rs.cka(ranks, ranks.to_numpy()) == pytest.approx(1)


@pytest.mark.parametrize(("start", "stop"), [(30, 60), (20, 50)])
def test_parts_of_one_table_are_other_samples(start, stop):
    x, y = WORDS.iloc[:30], WORDS.iloc[start:stop]
    for call in (rs.cka, lambda a, b: rs.compare([a, b], measures="cka", progress=False)):
        with pytest.raises(ValueError, match="two parts of one table"):
            call(x, y)
    assert rs.cka(x, WORDS.loc[x.index]) == pytest.approx(1)
    assert np.isfinite(rs.cka(x, y.reset_index(drop=True)))


@pytest.mark.parametrize(
    ("ids", "form"),
    [
        ([5, 6, 7], str),
        ([5.0, 6.0, 7.0], lambda i: str(int(i))),
        (["a/5.jpg", "a/6.jpg", "b/7.jpg"], lambda i: i[2]),
        (["A ", "B", "C"], lambda i: i.strip().lower()),
    ],
)
def test_ids_that_are_written_in_two_ways_have_a_hint(ids, form):
    X = np.arange(9.0).reshape(3, 3)
    words = [form(i) for i in ids]
    with pytest.raises(ValueError, match=r"looks like .* on the other: write ids="):
        rs.join_samples(rs.Representation(X, ids=ids), rs.Representation(X, ids=words))
    with pytest.raises(ValueError, match="looks like"):
        rs.cka(rs.Representation(X, ids=ids), rs.Representation(X, ids=words))
    same = rs.Representation(X, ids=[form(i) for i in ids]), rs.Representation(X, ids=words)
    assert rs.join_samples(*same)[0].ids == tuple(words)


def test_numbers_that_are_written_as_text_or_objects_have_a_remedy():
    for table in (WORDS.astype(str), WORDS.astype(object), WORDS.astype({"b": str})):
        with pytest.raises(ValueError, match=r"numbers as text or objects; pass X.astype") as error:
            rs.cka(table, WORDS)
        remedy = str(error.value).partition("; pass ")[2]
        assert rs.cka(eval(remedy, {"X": table}), WORDS) == pytest.approx(1)


@pytest.mark.parametrize("labels", [[str(i) for i in range(1, 13)], [30, 10, 20], ["b", "c", "a"]])
def test_rows_that_the_package_sorted_need_ids_on_the_other_side(labels):
    M = np.random.default_rng(0).standard_normal((len(labels), 20))
    trials, conditions = np.repeat(M, 2, 0), np.repeat(labels, 2)
    for means in (rs.condition_means(trials, conditions), rs.dissimilarities(trials, conditions)):
        for call in (rs.rsa, lambda a, b: rs.compare([a, b], measures="rsa", progress=False)):
            with pytest.raises(ValueError, match=r"were sorted: .*name the rows"):
                call(means, M)
    named = rs.join_samples(
        rs.condition_means(trials, conditions), rs.Representation(M, ids=labels)
    )
    assert rs.rsa(*named) == pytest.approx(1)
    in_order = rs.condition_means(trials, np.repeat(np.sort(labels), 2))
    assert rs.rsa(in_order, M) == pytest.approx(1)


def test_ids_that_are_missing_or_in_two_axes_are_refused():
    for missing in (None, float("nan"), pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="ids: row 1 has none"):
            rs.Representation(WIDE[:3], ids=["a", missing, "c"])
    with pytest.raises(ValueError, match=r"got shape \(3, 1\); pass ids\[:, 0\]"):
        rs.Representation(WIDE[:3], ids=np.array([["a"], ["b"], ["c"]]))


def test_repeated_ids_in_another_order_name_a_remedy_that_works():
    ids = TITLES[:20] * 2
    x, y = rs.Representation(WIDE, ids=ids), rs.Representation(WIDE[::-1], ids=ids[::-1])
    with pytest.raises(ValueError, match=r"the second.*'i0' occurs several.*rs.condition_means"):
        rs.cka(x, y)
    means = [rs.condition_means(r, r.ids) for r in (x, y)]
    assert rs.cka(*means) == pytest.approx(1)


@pytest.mark.parametrize(
    ("mine", "theirs", "call"),
    [
        (b"s1", "s1", r"\[i.decode\(\) for i in ids\]"),
        ("001", "1", r"lstrip\('0'\)"),
        (5, "5", r"\[str\(i\) for i in ids\]"),
    ],
)
def test_ids_written_in_two_ways_name_how_to_write_them(mine, theirs, call):
    x, y = rs.Representation(WIDE[:1], ids=[mine]), rs.Representation(WIDE[:1], ids=[theirs])
    with pytest.raises(ValueError, match=call):
        rs.cka(x, y)


def test_parts_of_a_table_that_overlap_get_no_hint_on_how_ids_are_written():
    table = pd.DataFrame(WIDE)
    with pytest.raises(ValueError, match="two parts of one table; compare the same samples"):
        rs.cka(table.iloc[:30], table.iloc[10:])


def test_a_coordinate_without_an_index_names_the_samples():
    stimuli = ("presentation", TITLES)
    of = {"stimulus_id": stimuli, "run": ("presentation", [0, 1] * 20)}
    x = xr.DataArray(WIDE, dims=("presentation", "unit"), coords=of)
    assert rs.Representation(x).ids == tuple(TITLES)
    with pytest.raises(ValueError, match="in another order"):
        rs.cka(x, x[::-1])


@pytest.mark.parametrize("name", ["docid", "imageId", "url", "stimulus", "_id"])
def test_a_column_of_words_with_a_name_of_ids_names_the_samples(name):
    table = pd.DataFrame({name: TITLES, "vector": list(WIDE)})
    assert rs.Representation(table).ids == tuple(TITLES)


def test_a_column_of_ids_in_camel_case_is_no_feature():
    table = pd.DataFrame(WIDE).assign(imageId=np.random.default_rng(0).permutation(900)[:40])
    with pytest.raises(ValueError, match="numbers its rows: 'imageId'"):
        rs.Representation(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"v": [str(row) for row in WIDE]}), r"strip\(' \[\]'\).split\(\)"),
        (pd.DataFrame({"v": ["[1.0 ... 2.0]"] * 3}), "numbers left out"),
        (pd.DataFrame(WIDE).assign(gap=None), "'gap' has no value at all"),
        (pd.DataFrame(WIDE + 1j), r"abs\(X\)"),
        (pd.DataFrame({"id": TITLES}), "no features, only the ids 'id'"),
        (pd.DataFrame({"v": [[None, 1.0], [1.0, 2.0]]}), r"dtype=float\), in which a missing"),
        (pd.DataFrame({"v": [["1", "2.5"], ["1", "2"]]}), r"np.array\(\[list\(v\) for v in"),
        (pd.DataFrame({"v": [{"a": 1.0}, {"a": 2.0}]}), r"pd.json_normalize"),
    ],
)
def test_columns_of_neither_numbers_nor_words_have_a_remedy(table, message):
    with pytest.raises(ValueError, match=message):
        rs.Representation(table, "X")


def test_vectors_printed_by_numpy_are_read_as_the_message_says():
    X = pd.DataFrame({"v": [str(row) for row in WIDE]})
    read = np.array([str(text).strip(" []").split() for text in X["v"]], float)
    assert np.allclose(read, WIDE, atol=1e-6)


def test_a_column_of_vectors_among_others_of_its_name_is_not_guessed():
    table = pd.DataFrame([[a, b] for a, b in zip(WIDE.tolist(), WIDE.tolist())], columns=["e", "e"])
    with pytest.raises(ValueError, match="2 columns called 'e'; rename them"):
        rs.Representation(table, column="e")


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson"])
def test_lines_of_vectors_are_read(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in WIDE.tolist()))
    assert np.array_equal(read_files([path])["x"].array, WIDE)


def test_a_sparse_archive_of_scipy_names_how_its_values_are_saved(tmp_path):
    path = tmp_path / "x.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(WIDE))
    with pytest.raises(ValueError, match=r"scipy\.sparse\.load_npz\(.*\)\.toarray\(\)"):
        read_files([path])
    assert np.array_equal(scipy.sparse.load_npz(path).toarray(), WIDE)


def test_a_folder_of_tables_and_a_packed_file_say_what_to_do(tmp_path):
    pd.DataFrame(WIDE, columns=list("abcdef")).to_parquet(tmp_path / "part.parquet")
    with pytest.raises(ValueError, match=r"it holds tables: name each, such as .*part\.parquet"):
        read_files([tmp_path])
    (tmp_path / "x.npy.gz").write_bytes(b"")
    with pytest.raises(ValueError, match="compressed: unpack it first"):
        read_files([tmp_path / "x.npy.gz"])


def test_text_in_cells_of_vectors_becomes_numbers_as_the_message_says(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = [{"id": i, "v": [str(value) for value in row]} for i, row in zip(TITLES, WIDE)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(ValueError, match=r"'v' holds vectors with words.*dtype=float"):
        read_files([path])
    table = pd.DataFrame(lines)
    assert np.array_equal(np.array([list(v) for v in table["v"]], dtype=float), WIDE)
