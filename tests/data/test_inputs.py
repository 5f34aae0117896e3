"""What users hand in: arrays, tables, files, models with layers, and for everything else a remedy
that works."""

from __future__ import annotations

import json
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
from resemblance.data import representation
from resemblance.intermediates import points
from resemblance.intermediates.points import centered, centered_scaled, size
from resemblance.models.files import read_files

G = np.random.default_rng(0)
X, Y = G.standard_normal((30, 5)), G.standard_normal((30, 4))
NAMES = [f"image {i}" for i in range(30)]
NAMED = pd.DataFrame(X, index=NAMES)
SCOPE = {"np": np, "pd": pd, "pl": pl, "pyarrow": pa, "torch": torch, "rs": rs, "json": json}


# ------------------------------------------------------------------------------- models with layers


def model(name, *layers):
    return rs.ModelFeatures(
        name, {layer: rs.Representation(X + i, layer) for i, layer in enumerate(layers)}
    )


def names(*given):
    found = rs.compare(*given, measures="magnitude_difference", progress=False)
    return list(found.rows), list(found.columns)


def test_models_are_compared_by_their_layers():
    a, b, c = model("small", "conv", "head"), model("large", "conv", "head"), model("small", "conv")
    left, right = ["small/conv", "small/head"], ["large/conv", "large/head"]
    assert names(a, b) == (left, right)
    assert names([a, b]) == (left + right, left + right)
    assert names(a) == names(a, a) == (left, left)
    assert names({"first": a, "second": b})[0] == [
        "first/conv", "first/head", "second/conv", "second/head",
    ]  # fmt: skip
    assert names([a, X]) == ([*left, "x1"],) * 2
    assert names({"net": a, "pixels": Y}, b)[0] == ["net/conv", "net/head", "pixels"]
    assert names(a, c) == (left, ["small 2/conv"])
    assert names([a, c])[0] == [*left, "small 2/conv"]
    assert a.layers["conv"].name == "conv"


def test_mappings_of_layers_pairs_and_tables():
    assert names({"a": {"conv": X, "head": Y}, "b": X})[0] == ["a/conv", "a/head", "b"]
    assert names([("first", X), ("second", Y)])[0] == ["first", "second"]
    assert names(NAMED)[0] == ["x0"]
    assert names([NAMED, pd.DataFrame(Y, index=NAMES)])[0] == ["x0", "x1"]
    assert names(xr.Dataset({"one": (("n", "d"), X), "two": (("n", "e"), Y)}))[0] == ["one", "two"]
    assert rs.Representation(np.eye(3), None).name == rs.Representation(np.eye(3)).name == ""


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
    "a column": pd.Series(list(VECTORS), index=NAMES),
    "wide": pd.DataFrame(VECTORS).assign(id=NAMES),
    "wide of polars": pl.DataFrame(VECTORS).with_columns(uuid=pl.Series(NAMES)),
    "wide of arrow": pa.table({"id": NAMES} | {f"x{i}": VECTORS[:, i] for i in range(5)}),
    "mapping": dict(zip(NAMES, VECTORS)),
    "mapping of lists": dict(zip(NAMES, VECTORS.tolist())),
    "mapping of tensors": dict(zip(NAMES, torch.tensor(VECTORS))),
}
FRAME = TABLES["lists"]


def test_vectors_with_ids_are_a_representation(subtests):
    for kind, table in TABLES.items():
        with subtests.test(kind):
            r = rs.Representation(table)
            assert r.ids == tuple(NAMES)
            np.testing.assert_allclose(np.asarray(r.source), VECTORS, rtol=1e-6)


def test_columns_and_rows_of_vectors_alone():
    rows = np.empty(30, dtype=object)
    rows[:] = list(X)
    for given in (
        rows,
        list(X),
        FRAME["emb"],
        TABLES["polars lists"]["v"],
        TABLES["arrow fixed"]["v"],
    ):
        np.testing.assert_allclose(rs.Representation(given).array, X, rtol=1e-6)
    numbered = pd.DataFrame({"id": np.arange(30)[::-1], "v": list(X)})
    assert rs.Representation(numbered).ids == tuple(range(29, -1, -1))
    chosen = FRAME.assign(second=list(Y), price=1.5)
    assert rs.Representation(chosen, column="second").shape == (30, 4)
    assert rs.Representation(chosen, column="second", ids="id").ids == tuple(NAMES)
    assert rs.Representation(chosen, column="price").shape == (30, 1)
    with pytest.warns(UserWarning, match="the vectors are 'emb'; left out: 'title', 'class'"):
        rs.Representation(FRAME.assign(title="x", **{"class": 1}))
    words = pd.DataFrame(np.arange(120).reshape(40, 3) % 4, columns=["class", "dog", "target"])
    assert rs.Representation(words).shape == (40, 3)


@pytest.mark.parametrize(("columns", "length"), [(2, 30), (12, 120)])
def test_words_with_long_vectors_may_be_samples_or_columns(columns, length):
    X = {f"unit {chr(97 + i)}": np.arange(length) * 0.1 + i for i in range(columns)}
    with pytest.raises(ValueError, match=f"from {columns} words, .* to {length} numbers") as error:
        rs.Representation(X)
    shapes = {
        "pandas.DataFrame(X)": (length, columns),
        "rs.Representation(X, ids=list(X))": (columns, length),
    }
    for remedy, shape in shapes.items():
        assert remedy in str(error.value)
        assert eval(remedy, {"X": X, "rs": rs, "pandas": pd}).shape == shape
    assert rs.Representation(dict(enumerate(X.values()))).shape == (columns, length)
    short = {name: vector[: 2 * columns] for name, vector in X.items()}
    assert rs.Representation(short).ids == tuple(X)


# -------------------------------------------------------------------------------- remedies that run

BATCHED = [X[:10], X[10:20], X[20:]]
RAGGED = [np.ones((n, 5)) * n for n in (4, 6, 9)]
MISSING = FRAME.assign(emb=[*VECTORS.tolist()[:-1], None])
SHORT = FRAME.assign(emb=[*VECTORS.tolist()[:-1], [1.0, 2.0]])
WORDY = pd.DataFrame({"colour": ["red", "blue"] * 15, "shape": ["round"] * 30})
TEXT = pd.DataFrame({"a": [1.0, 2], "species": ["x", "y"]})
TEXTS = pd.DataFrame(X, columns=list("abcde")).astype(str)
RECORDS = np.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)])
GAPS = np.random.default_rng(1).standard_normal((30, 40))
GAPS[:, ::4] = np.nan
DEAD, EMPTY, MANY = (X.copy() for _ in range(3))
DEAD[:, 3], EMPTY[[2, 7]] = np.nan, np.nan
MANY[np.arange(30), np.arange(30) % 5] = np.nan
REMEDIES = {
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
        'rs.from_tokens(np.concatenate(X), pool="mean")', (6, 5),
    ),
    "batches of padded tokens": (
        [np.ones((4, 7, 5)), np.ones((2, 9, 5))], "batches",
        'np.concatenate([rs.from_tokens(x, pool="mean").array for x in X])', (6, 5),
    ),
    "batches of maps": (
        [np.ones((4, 3, 2, 2)), np.ones((2, 3, 2, 2))], "batches",
        'rs.from_maps(np.concatenate(X), pool="mean")', (6, 3),
    ),
    "epochs of channels by time": (
        [np.ones((5, n)) for n in (40, 50)], "time bins",
        "np.stack([x.mean(axis=1) for x in X])", (2, 5),
    ),
    "arrays of several lengths as objects": (
        np.array([np.ones((2, 3)), np.ones((4, 3))], dtype=object), "list of 2 arrays",
        "np.stack([x.mean(axis=0) for x in X])", (2, 3),
    ),
    "pairs": ([("a", X), ("b", Y)], "list of names and arrays", "dict(X)", None),
    "records": (FRAME.to_dict("records"), "list of records", "pd.DataFrame(X)", (30, 5)),
    "fields": (
        RECORDS, "fields a, b", "np.column_stack([X[field] for field in ['a', 'b']])", (2, 2),
    ),
    "fields of a table": (
        TEXT.to_records(), "species", "np.column_stack([X[field] for field in ['a']])", (2, 1),
    ),
    "a field of vectors": (
        np.array([(1, [2.0, 3.0])], dtype=[("id", int), ("emb", float, (2,))]), "fields id, emb",
        "X['emb']", (1, 2),
    ),
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
    "vectors as text": (
        FRAME.assign(emb=[str(v) for v in X.tolist()]), "vectors written as text",
        "np.array([json.loads(str(text)) for text in X['emb']])", (30, 5),
    ),
    "numbers as text": (
        TEXTS, "numbers as text",
        "X.astype({'a': float, 'b': float, 'c': float, 'd': float, 'e': float})", (30, 5),
    ),
    "numbers as objects": (
        pd.DataFrame({"a": [Decimal(1), Decimal(2)], "b": [1.0, 3.0]}), "numbers as text or obj",
        "X.astype({'a': float})", (2, 2),
    ),
    "numbers as text in polars": (
        pl.DataFrame({"a": ["1", "2"], "b": [1.0, 3.0]}), "numbers as text",
        "X.cast({'a': float})", (2, 2),
    ),
    "an array of text": (X.astype(str), "written as text", "X.astype(float)", (30, 5)),
    "an array of objects": (X.astype(object), "object", "np.asarray(X, dtype=float)", (30, 5)),
    "decimals": ([[Decimal("0.5")]], "dtype object", "np.asarray(X, dtype=float)", (1, 1)),
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
    "words alone": (WORDY, "no column contains numbers", "pd.get_dummies(X)", (30, 3)),
    "words alone in polars": (
        pl.from_pandas(WORDY), "no column contains numbers", "X.to_dummies()", (30, 3),
    ),
    "an old index": (
        pd.DataFrame(X).reset_index(), "numbers its rows: 'index'", "X.drop(columns=['index']",
        None,
    ),
    "a column of labels": (
        pd.DataFrame(X).assign(label=np.arange(30) % 2), "looks like a label: 'label'; leave out",
        "features, X.drop(columns=['label']); if it", None,
    ),
    "a generator": ((row for row in X), "is a generator", "list(X)", (30, 5)),
    "a sparse tensor": (torch.eye(3).to_sparse(), "sparse", "X.to_dense()", (3, 3)),
    "a nested tensor": (
        torch.nested.nested_tensor([torch.ones(2, 3)], layout=torch.jagged), "nested",
        "torch.stack([x.mean(0) for x in X.unbind()])", (1, 3),
    ),
    "tiny numbers": (torch.ones(3, 2).to(torch.float8_e4m3fn), "float8", "X.float()", (3, 2)),
    "nothing masked": (np.ma.array(X), "masked", "X.data", (30, 5)),
    "five axes": (np.ones((2, 3, 1, 1, 1)), "must be", "X.reshape(len(X), -1)", (2, 3)),
    "a lazy frame": (pl.DataFrame(X).lazy(), "LazyFrame", "X.collect()", (30, 5)),
    "a dead column": (DEAD, "30 .*row 0, column 3", "np.delete(X, [3], axis=1)", (30, 4)),
    "dead columns": (
        GAPS, "columns 0, 4, 8, 12, 16 and 5 more", "X[:, np.isfinite(X).any(axis=0)]", (30, 30),
    ),
    "empty rows": (EMPTY, "rows 2, 7 have", "np.delete(X, [2, 7], axis=0)", (28, 5)),
    "gaps everywhere": (
        MANY, "30 of 30 rows and 5 of 5 columns",
        "np.where(np.isfinite(X), X, np.nanmean(np.where(np.isfinite(X), X, np.nan), axis=0))",
        (30, 5),
    ),
    "half of everything": (
        np.where(np.indices(X.shape).sum(0) % 2, X, np.inf), "75 NaN or infinite", "too many to "
        "fill in: compute the array again", None,
    ),
    "numbers beyond half precision": (
        np.where(X > 0, np.inf, X).astype(np.float16), "infinite value.*in float16", "above 65,504 "
        "overflow; store the activations as float32", None,
    ),
}  # fmt: skip


def entered(data):
    r = rs.Representation(data, "X")
    return rs.cka(r, r), r.shape


@pytest.mark.parametrize(("data", "match", "remedy", "shape"), REMEDIES.values(), ids=REMEDIES)
def test_the_remedy_of_what_is_refused_works(data, match, remedy, shape):
    with pytest.raises(ValueError, match=match) as error:
        entered(data)
    assert remedy in str(error.value)
    if shape is not None:
        mended = eval(remedy, SCOPE | {"X": data})
        found = mended if isinstance(mended, rs.Representation) else rs.Representation(mended)
        assert found.shape == shape


def test_vectors_printed_by_numpy_are_read_as_the_message_says():
    X = pd.DataFrame({"v": [str(row) for row in WIDE]})
    with pytest.raises(ValueError, match=r"strip\(' \[\]'\).split\(\)"):
        rs.Representation(X, "X")
    read = np.array([str(text).strip(" []").split() for text in X["v"]], float)
    assert np.allclose(read, WIDE, atol=1e-6)


# ------------------------------------------------------------------------------- everything refused


class Dataset:
    """What a data set of the library datasets looks like."""

    column_names = ("text", "embedding")

    def __iter__(self):
        yield {"text": "a", "embedding": [1.0, 2.0]}


class Annotated:
    obs_names, obsm = NAMES, {}


KINDS = {
    "text": (TEXT, r"columns that are not numbers: 'species'; .*X.drop\(.*X.set_index\("),
    "time": (
        pd.DataFrame({"day": pd.to_datetime(["2020-01-01"] * 2)}),
        "columns that are not numbers: 'day'",
    ),
    "mapping": ({"conv": X, "head": Y}, r"is a mapping with 'conv', 'head'; pass one"),
    "model": (model("net", "conv"), r"is a model with layers 'conv'; pass one, X.layers"),
    "module": (torch.nn.Linear(2, 2), "rs.extract_features"),
    "dataset": (Dataset(), r"columns 'text', 'embedding'; pass one, np.asarray\(X\['text'\]\)"),
    "annotated": (Annotated(), r"is an AnnData; .*ids=adata.obs_names"),
    "objects": (np.array([[{}]]), "Python objects, the first of type dict"),
    "text of any length": (X.astype(np.dtypes.StringDType()), "written as text"),
    "a class": (np.ndarray, "is the class ndarray"),
    "a representation": (rs.Representation(X), r"is a Representation already; .*X\.source"),
    "sparse": (scipy.sparse.csr_array(X), "toarray"),
    "masked": (np.ma.masked_greater(X, 1), "masked array"),
    "no values": (torch.empty(3, 2, device="meta"), "device 'meta'"),
    "missing in a table": (pd.DataFrame({"a": pd.array([1, None], "Int64")}), "row 1, column 0"),
    "numbers left out": (pd.DataFrame({"v": ["[1.0 ... 2.0]"] * 3}), "numbers left out"),
    "an empty column": (NAMED.assign(gap=None), "'gap' has no values"),
    "complex": (pd.DataFrame(X + 1j), r"abs\(X\)"),
    "ids alone": (pd.DataFrame({"id": NAMES}), "no features, only the ids 'id'"),
    "a gap in a vector": (pd.DataFrame({"v": [[None, 1.0], [1.0, 2.0]]}), "in which a missing"),
    "text in a vector": (pd.DataFrame({"v": [["1", "2.5"], ["1", "2"]]}), r"\[list\(v\) for v in"),
    "mappings": (pd.DataFrame({"v": [{"a": 1.0}, {"a": 2.0}]}), r"pd.json_normalize"),
    "a label among features": (NAMED.assign(label=np.arange(30) % 3), "a label"),
    "samples last": (xr.DataArray(X.T, dims=("unit", "trial")), "samples last"),
    "two columns of vectors": (FRAME.assign(other=list(Y)), "columns of vectors, 'emb', 'other'"),
    "all values are missing": (X * np.nan, "all values are missing"),
    "no file": ("a\0b.npy", r"is not a .npy file"),
}


@pytest.mark.parametrize(("data", "message"), KINDS.values(), ids=KINDS)
def test_each_kind_that_is_no_representation_is_named(data, message):
    with pytest.raises(ValueError, match=message):
        entered(data)


def test_every_entrance_names_what_it_refuses(subtests):
    for kind in ("text", "mapping", "module", "objects"):
        data, message = KINDS[kind]
        for call in (rs.cka, rs.drift, rs.statistics.replicate):
            with subtests.test(f"{kind}, {call}"), pytest.raises(ValueError, match=message):
                call(data, data)


def test_gaps_are_named_where_they_are():
    scattered, one, both = X.copy(), X.copy(), DEAD.copy()
    scattered[[4, 5], [1, 2]] = np.inf
    one[1:, 1] = np.nan
    both[2] = both[9, 1] = np.nan
    for data, message in (
        (scattered, "row 4, column 1; leave those samples out or fill"),
        (one, "they lie in column 1: leave that feature out"),
        (both, "column 3 has .*; row 2 has .*; 1 more: leave those"),
    ):
        with pytest.raises(rs.UndefinedError, match=message):
            rs.cka(data, Y)
    with pytest.raises(rs.UndefinedError, match="too large for float32; leave dtype='float32' out"):
        rs.cka(rs.Representation(X * 1e50, dtype="float32"), rs.Representation(Y, dtype="float32"))


def test_no_remedy_leaves_nothing():
    for table in (WORDY, pd.DataFrame({"a": ["1", "2"], "b": ["3", "4"]})):
        with pytest.raises(ValueError, match="columns that are not numbers") as error:
            rs.Representation(table)
        assert "drop" not in str(error.value)


# --------------------------------------------------------------------------- slips in other calls

WIDE = np.random.default_rng(0).standard_normal((40, 6))
CLASSES = np.repeat(range(4), 10)
TITLES = [f"i{i}" for i in range(40)]
TABLE = pd.DataFrame(WIDE, index=TITLES)
MIXED = pd.Series(CLASSES, index=TITLES[::-1])  # in another order than the rows
SUBJECTS = {f"s{i}": TABLE + i for i in range(3)}
NET = torch.nn.Linear(6, 3)
BATCHES = [torch.from_numpy(WIDE).float()]
DOUBLE = pd.DataFrame([[a, b] for a, b in zip(WIDE.tolist(), WIDE.tolist())], columns=["e", "e"])


def comparison() -> rs.Comparison:
    parts = {f"m{i}": WIDE[:, i:] for i in range(4)}
    return rs.compare(parts, measures="cka", progress=False)


def streamed(**options) -> rs.Stream:
    stream = rs.Stream(**options)
    stream.update({"a": WIDE, "b": WIDE**2})
    return stream


def permanova(*groups, **options):
    return comparison().permanova("cka", *groups, **options)


def scored(**options):
    return rs.score_models({"m": TABLE}, SUBJECTS, **options)


NO_WORDS = np.where(CLASSES, CLASSES, np.nan).astype(str)
SLIPS = [
    (lambda: scored(whole_blocks=MIXED), "blocks="),
    (lambda: scored(folds=MIXED), "folds="),
    (lambda: scored(jobs="4"), "ProcessPool"),
    (lambda: rs.dissimilarities(TABLE, MIXED), "conditions="),
    (lambda: rs.dissimilarities(TABLE, CLASSES, runs=MIXED), "runs= has the samples"),
    (lambda: rs.noise_covariance(TABLE, MIXED), "conditions="),
    (lambda: rs.accuracy_difference(TABLE, TABLE, labels=MIXED), "labels= has the samples"),
    (lambda: rs.statistics.class_separation(WIDE, NO_WORDS), "text nan"),
    (lambda: rs.compare([WIDE, WIDE], measures="cka", jobs=0), "at least 1"),
    (lambda: rs.compare([("a", WIDE), ("a", WIDE)]), "two .* called 'a'"),
    (lambda: rs.compare([WIDE], ["cka"]), "go by keyword"),
    (lambda: rs.compare([WIDE], measures="cka,rsa"), "as a list"),
    (lambda: rs.compare([WIDE], measures="cka", block_size=1.5), "block_size must be a whole"),
    (lambda: rs.compare({"layer 17": np.ma.masked_greater(X, 1)}), "'layer 17' is a masked array"),
    (lambda: rs.compare([X, WORDY]), "'x1' has columns that are not numbers"),
    (
        lambda: rs.compare([X[:10], X[10:20], X[20:25]]),
        r"batches of one layer, pass np.concatenate",
    ),
    (lambda: rs.compare([X[:10], X[10:15]]), r"batches of one layer, pass np.concatenate"),
    (
        lambda: rs.compare({"a": BATCHED, "b": BATCHED}),
        r"if these are batches, pass np.concatenate",
    ),
    (lambda: comparison().to_table("a.xlsx"), "are written as .csv"),
    (lambda: permanova(np.ones((4, 1))), "not a table"),
    (lambda: permanova([[0], [1]] * 2), "one word or number"),
    (lambda: permanova([0, 1] * 2, nested=[]), "nested has 0"),
    (lambda: permanova([0, 0, 1, 1], nested=[1, np.nan, 2, 2]), "'m1' has no"),
    (lambda: rs.mean_shape([WIDE, WIDE], width=2.5), "width must be a whole"),
    (lambda: streamed(directions="no"), "directions must be True or False"),
    (lambda: streamed(pairs=["ab"]), "two names each"),
    (lambda: streamed().representations(["a", "b"]), "one by one"),
    (lambda: rs.list_measures(n_samples=1e3), "n_samples must be a whole number from 1"),
    (lambda: rs.list_measures(metric="no"), "metric must be True or False"),
    (lambda: rs.sample_size(min_similarity="0.1"), "min_similarity must be between"),
    (lambda: rs.sample_size(max_chance=0.1, dimensions=(np.inf, 5)), "two participation ratios"),
    (lambda: rs.get_measure(WIDE), "not a measure: an array"),
    (lambda: rs.Representation(TABLE.assign(k=range(1, 41))), "numbers"),
    (lambda: rs.Representation(FRAME, column="embd"), "has no column 'embd'; did you mean 'emb'"),
    (lambda: rs.Representation(DOUBLE, column="e"), "2 columns called 'e'; rename them"),
    (lambda: rs.extract_features(NET, BATCHES, layers=NET), "names of model"),
    (lambda: rs.extract_features(len, BATCHES), r"not a torch.nn.Module"),
    (lambda: rs.extract_features(torch.nn.Linear(6, 3, device="meta"), BATCHES), "no weights"),
    (lambda: rs.ModelFeatures("net", [rs.Representation(WIDE)]), "a mapping"),
    (lambda: rs.join_samples(), "nothing to join"),
    (lambda: rs.report.write_page([1], "p.html"), "must be a result"),
]


def test_slips_are_named_with_their_remedy(subtests):
    for call, message in SLIPS:
        with subtests.test(message), pytest.raises(ValueError, match=message):
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
    expected = permanova(by_name).f
    for labels in (pd.Series(by_name)[::-1], torch.tensor([0, 0, 1, 1]), np.array([*"aabb"])):
        assert permanova(labels).f == expected
    nested = pd.Series([1, 2, 1, 2], index=[*parts])
    assert permanova(by_name, nested=nested[::-1]).nested == (1, 2, 1, 2)
    assert rs.score_models(iter({"m": TABLE}.items()), SUBJECTS, progress=False).models == ("m",)


# -------------------------------------------------------------------------------------------- files


def test_files_that_hold_no_array(tmp_path, subtests):
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "loop.npy").symlink_to(tmp_path / "loop.npy")
    (tmp_path / "features").mkdir()
    (tmp_path / "features" / "traits.json").write_text("{}")
    head = np.lib.format.magic(1, 0) + b"v\x00"
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 5), }".ljust(117) + b"\n"
    (tmp_path / "negative.npy").write_bytes(head + text + bytes(160))
    for name, message in [
        ("objects.npy", "it holds Python objects, not numbers, .*allow_pickle"),
        ("text.npy", "cannot be read"),
        ("loop.npy", "cannot be read"),
        ("negative.npy", "cannot be read"),
        ("", r"glob\('\*.npy'\)"),
        ("features", "open_features"),
    ]:
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.Representation(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        rs.Representation(tmp_path / "missing.npy")


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson"])
def test_lines_of_vectors_are_read(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in WIDE.tolist()))
    assert np.array_equal(read_files([path])["x"].array, WIDE)


def test_files_of_tables_say_what_to_do(tmp_path):
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_array(WIDE))
    (tmp_path / "tables").mkdir()
    TEXTS.to_parquet(tmp_path / "tables" / "part.parquet")
    (tmp_path / "x.npy.gz").write_bytes(b"")
    lines = [{"id": i, "v": [str(value) for value in row]} for i, row in zip(TITLES, WIDE)]
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for name, message in (
        ("x.npz", r"scipy\.sparse\.load_npz\(.*\)\.toarray\(\)"),
        ("tables", r"the folder contains tables: name each table, such as .*part\.parquet"),
        ("x.npy.gz", "compressed: unpack it first"),
        ("x.jsonl", r"'v' holds vectors with words.*dtype=float"),
    ):
        with pytest.raises(ValueError, match=message):
            read_files([tmp_path / name])


# -------------------------------------------------------------------- a representation as an array


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
    np.testing.assert_array_equal(pd.DataFrame(r).to_numpy(), array)
    np.testing.assert_array_equal(r[3:5, 0], array[3:5, 0])
    assert np.linalg.norm(r) == np.linalg.norm(array)
    assert PCA(2).fit(r).components_.shape == (2, 5)
    tensor = torch.ones(3, 2, requires_grad=True)
    assert np.asarray(rs.Representation(tensor)).tolist() == [[1, 1]] * 3


def test_dissimilarities_are_not_read_as_features():
    signed = rs.dissimilarities(X, np.arange(30) % 5, runs=np.arange(30) // 10)
    for call in (np.asarray, list, lambda r: r[0]):
        with pytest.raises(ValueError, match=r"stands for dissimilarities.*rs\.rdm"):
            call(signed)
    assert rs.rdm(signed).shape == (5, 5)


OPERATIONS = {
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
    "a slip of the pen": (lambda x, y: x.shap, "has no attribute 'shap'$"),
}


def test_a_measure_that_takes_its_arguments_for_arrays_is_told_what_to_write(subtests):
    for name, (body, message) in OPERATIONS.items():
        with subtests.test(name), pytest.raises((TypeError, AttributeError), match=message):
            body(rs.Representation(X), rs.Representation(Y))


def test_many_values_are_compared_in_blocks_of_rows(monkeypatch, subtests, rng):
    x, y = rng.standard_normal((2, 60, 8)).astype(np.float32) + 100
    x[:, 2] = 100
    wide = x.astype(float)
    sources = {"float32": (x, y), "float64": (wide, y), "huge": (1e150 * wide, y)}
    specs = ("cka", "cka[estimator=debiased]", "procrustes")
    for name, pair in sources.items():
        with subtests.test(name):
            before = rs.compare(dict(zip("xy", pair)), measures=specs)
            for module in (representation, points):
                monkeypatch.setattr(module, "ROWS_PER_COPIED_BLOCK", 16)
            monkeypatch.setattr(representation, "MIN_LARGE_VALUES", 480)
            after = rs.compare(dict(zip("xy", map(rs.as_representation, pair))), measures=specs)
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
            monkeypatch.setattr(representation, "MIN_LARGE_VALUES", 1)
            assert np.array_equal(centered(passing), before)
            assert centered(passing).flags.c_contiguous
            assert np.array_equal(passing.array, kept.array)
            assert "working_values" not in {key[0].__name__ for key in passing.cache}
            monkeypatch.undo()
