"""Samples and features that have names: another order is an error, or put right."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
import xarray as xr

import resemblance as rs
from resemblance import stability as st
from resemblance.data.representation import fingerprint

G = np.random.default_rng(0)
X, Y = G.standard_normal((30, 5)), G.standard_normal((30, 4))
NAMES = [f"image {i}" for i in range(30)]
SHUFFLED = G.permutation(30)
NAMED, DEFAULT = pd.DataFrame(X, index=NAMES), pd.DataFrame(X)
LABELS = np.arange(30) % 3


def compared(x, y):
    return rs.compare({"x": x}, {"y": y}, measures="cka", progress=False)["cka"].item()


def drifted(x, y, **options):
    return rs.drift(x, y, n_resamples=10, progress=False, **options)


ENTRANCES = {
    "a measure": rs.cka, "compare": compared, "drift": drifted,
    "a statistic": rs.statistics.replicate,
}  # fmt: skip


# ------------------------------------------------------------------------------------------ samples


@pytest.mark.parametrize("enter", ENTRANCES.values(), ids=ENTRANCES)
def test_samples_with_other_names_or_in_another_order_are_an_error_everywhere(enter):
    """Numbers count, too: a frame that was never given an index is numbered, and shuffling keeps
    the numbers."""
    for frame in (NAMED, DEFAULT):
        shuffled = frame.iloc[SHUFFLED]
        message = r"in a different order; .*rs\.join_samples.*\.loc\["
        for pair in [(frame, shuffled), (shuffled, frame)]:
            with pytest.raises(ValueError, match=message) as error:
                enter(*pair)
            assert not isinstance(error.value, rs.UndefinedError)
        enter(frame, shuffled.loc[frame.index])
        enter(*rs.join_samples(frame, shuffled))
    other = pd.DataFrame(X, index=[*NAMES[:-1], "elsewhere"])
    with pytest.raises(ValueError, match=r"such as 'elsewhere'.*rs\.join_samples"):
        enter(NAMED, other)
    enter(*rs.join_samples(NAMED, other))
    array = xr.DataArray(X, dims=("image", "unit"), coords={"image": NAMES})
    enter(array, NAMED)
    with pytest.raises(ValueError, match="in a different order"):
        enter(array, array[SHUFFLED])


@pytest.mark.parametrize("enter", ENTRANCES.values(), ids=ENTRANCES)
def test_ids_on_one_side_only_are_no_error(enter):
    """Predictions come as plain arrays, or as a frame with a fresh index, of samples that have
    names."""
    some = DEFAULT.set_index(np.arange(20, 50)[::-1])
    enter(NAMED, X)
    enter(NAMED, DEFAULT)
    enter(some, DEFAULT)
    enter(DEFAULT.iloc[SHUFFLED], X[SHUFFLED])
    enter(X, NAMED)


def test_values_and_ids_of_tables_are_those_of_their_arrays():
    expected = rs.cka(X, Y)
    for y in (
        pd.DataFrame(Y),
        pd.DataFrame(Y, index=NAMES),
        pd.DataFrame(Y).convert_dtypes(),
        xr.DataArray(Y),
    ):
        assert rs.cka(NAMED, y) == compared(NAMED, y) == expected
    assert rs.Representation(NAMED).ids == tuple(NAMES)
    assert rs.Representation(DEFAULT).ids is None
    assert rs.Representation(NAMED, ids=range(30)).ids == tuple(range(30))
    mixed = pd.DataFrame({"whole": [1, 2, 4], "real": [0.5, 1, 2], "yes": [True, False, True]})
    assert rs.Representation(mixed).array.tolist() == [[1, 0.5, 1], [2, 1, 0], [4, 2, 1]]


@pytest.mark.parametrize(
    ("ids", "same"),
    [
        ((3, 3, 8), list(np.array([3, 3, 8]))),
        (("a", "a", "b"), list(np.array(["a", "a", "b"]))),
        ((("a", 1), ("a", 2)), [(np.str_("a"), np.int64(1)), (np.str_("a"), np.int64(2))]),
        ((("a", 1), ("a", 2)), pd.MultiIndex.from_product([["a"], [1, 2]])),
    ],
)
def test_ids_are_equal_whatever_list_or_array_they_come_in(ids, same):
    """Repeated ids are a part of the fingerprint, by which a saved score is found again."""
    rows = X[: len(ids)]
    plain, listed = (rs.Representation(rows, ids=of) for of in (ids, same))
    assert repr(plain.ids) == repr(listed.ids) == repr(ids)
    assert fingerprint(plain) == fingerprint(listed) != fingerprint(rs.Representation(rows))


def test_ids_may_be_tensors_and_times():
    assert rs.Representation(X[:3], ids=torch.tensor([3, 4, 8])).ids == (3, 4, 8)
    times = list(np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "datetime64[ns]"))
    assert rs.Representation(X[:3], ids=times).ids == tuple(times)


def test_repeated_names_can_be_compared_but_not_joined():
    frame = pd.DataFrame(X, index=["twice", *NAMES[:28], "twice"])
    assert rs.cka(frame, pd.DataFrame(X, index=frame.index)) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"one unique id per sample; 'twice' occurs several times"):
        rs.join_samples(frame, frame)
    ids = NAMES[:15] * 2
    x, y = rs.Representation(X, ids=ids), rs.Representation(X[::-1], ids=ids[::-1])
    with pytest.raises(ValueError, match=r"'image 0' occurs several.*rs.condition_means"):
        rs.cka(x, y)
    assert rs.cka(*(rs.condition_means(r, r.ids) for r in (x, y))) == pytest.approx(1)


def test_coordinates_of_xarray_name_the_samples_and_the_features():
    stimuli = {"stimulus_id": ("presentation", NAMES), "run": ("presentation", [0, 1] * 15)}
    x = xr.DataArray(X, dims=("presentation", "unit"), coords=stimuli)
    assert rs.Representation(x).ids == tuple(NAMES)
    units = {"neuroid_id": ("neuroid", list("uvw")), "region": ("neuroid", ["V1", "V1", "IT"])}
    recorded = xr.DataArray(np.eye(4)[:, :3], dims=("presentation", "neuroid"), coords=units)
    assert rs.Representation(recorded).features == ("u", "v", "w")


def test_labels_belong_to_samples():
    """By position, unless both have names, or both are numbered, and those say something else."""
    ratio = rs.statistics.variance_ratio
    plain = ratio(X, LABELS)
    for frame in (NAMED, DEFAULT):
        column = pd.Series(LABELS, index=frame.index)
        assert ratio(frame, column) == ratio(frame, LABELS) == plain
        for call in (ratio, lambda x, y: drifted(x, x, labels=y), st.perturbations):
            with pytest.raises(
                ValueError, match=r"labels has the samples of .* in a different order"
            ):
                call(frame, column.iloc[SHUFFLED])
    assert ratio(X, pd.Series(LABELS, index=SHUFFLED)) == plain
    assert ratio(NAMED, pd.Series(LABELS)) == plain


def numbered(ids, mine=str):
    return rs.Representation(X[: len(ids)], ids=[mine(i) for i in ids])


HIERARCHY = pd.DataFrame(X, pd.MultiIndex.from_product([["a", "b"], range(15)]))
REFUSED_IDS = {
    "other types": (lambda: numbered([[i] for i in range(30)], list), "words, numbers or tuples"),
    "for a name": (lambda: rs.Representation(X, NAMES), r"must be a word; got list; .* ids=\.\.\."),
    "without an order": (lambda: rs.Representation(X, ids=set(NAMES)), "must be a list"),
    "missing in an index": (
        lambda: rs.cka(pd.DataFrame(X, index=[math.nan, *range(29)]), Y),
        "missing values in its index",
    ),
    "None": (lambda: rs.Representation(X[:3], ids=["a", None, "c"]), "row 1 has none"),
    "NaN": (lambda: rs.Representation(X[:3], ids=["a", math.nan, "c"]), "row 1 has none"),
    "NA": (lambda: rs.Representation(X[:3], ids=["a", pd.NA, "c"]), "row 1 has none"),
    "NaT": (lambda: rs.Representation(X[:3], ids=["a", pd.NaT, "c"]), "row 1 has none"),
    "in two axes": (
        lambda: rs.Representation(X[:3], ids=np.array([["a"], ["b"], ["c"]])),
        r"got shape \(3, 1\); pass ids\[:, 0\]",
    ),
    "of a hierarchy": (lambda: rs.cka(HIERARCHY, HIERARCHY.iloc[::-1]), "in a different order"),
    "no table": (lambda: rs.Representation(X, ids="id"), "is not a table; leave out ids='id'"),
}  # fmt: skip


def test_ids_that_name_no_samples_are_refused(subtests):
    for case, (call, message) in REFUSED_IDS.items():
        with subtests.test(case), pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("ids", "form", "remedy"),
    [
        ([5, 6, 7], str, r"\[str\(i\) for i in ids\]"),
        ([5.0, 6.0, 7.0], lambda i: str(int(i)), "looks like"),
        (["a/5.jpg", "a/6.jpg", "b/7.jpg"], lambda i: i[2], "looks like"),
        (["A ", "B", "C"], lambda i: i.strip().lower(), "looks like"),
        ([b"s1", b"s2", b"s3"], bytes.decode, r"\[i.decode\(\) for i in ids\]"),
        (["001", "002", "003"], lambda i: i.lstrip("0"), r"lstrip\('0'\)"),
    ],
)
def test_ids_that_are_written_in_two_ways_have_a_hint(ids, form, remedy):
    x, y = (rs.Representation(X[:3], ids=of) for of in (ids, [form(i) for i in ids]))
    for call in (rs.join_samples, rs.cka):
        with pytest.raises(ValueError, match=remedy):
            call(x, y)
    assert rs.join_samples(y, rs.Representation(X[:3], ids=list(y.ids)))[0].ids == y.ids


@pytest.mark.parametrize("rows", [slice(15, 30), slice(10, 25)])
def test_parts_of_one_table_are_other_samples(rows):
    x, y = DEFAULT.iloc[:15], DEFAULT.iloc[rows]
    for call in (rs.cka, compared):
        with pytest.raises(ValueError, match="two parts of one table; compare the same samples"):
            call(x, y)
    assert rs.cka(x, DEFAULT.loc[x.index]) == pytest.approx(1)
    assert np.isfinite(rs.cka(x, y.reset_index(drop=True)))


@pytest.mark.parametrize("labels", [[str(i) for i in range(1, 13)], [30, 10, 20]])
def test_rows_that_the_package_sorted_need_ids_on_the_other_side(labels):
    means = np.random.default_rng(0).standard_normal((len(labels), 20))
    trials, conditions = np.repeat(means, 2, 0), np.repeat(labels, 2)
    for made in (rs.condition_means(trials, conditions), rs.dissimilarities(trials, conditions)):
        for call in (rs.rsa, lambda a, b: rs.compare([a, b], measures="rsa", progress=False)):
            with pytest.raises(ValueError, match=r"were sorted: .*name the rows"):
                call(made, means)
    named = rs.Representation(means, ids=labels)
    joined = rs.join_samples(rs.condition_means(trials, conditions), named)
    assert rs.rsa(*joined) == pytest.approx(1)
    in_order = rs.condition_means(trials, np.repeat(np.sort(labels), 2))
    assert rs.rsa(in_order, means) == pytest.approx(1)


def test_trials_against_conditions():
    for call in (rs.cka, lambda x, y: rs.compare([x, y])):
        with pytest.raises(ValueError, match=r"480 is 12 x 40: .*average"):
            call(np.ones((480, 3)), np.ones((40, 4)))


# ---------------------------------------------------------------------------------------- features

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
    report = drifted(x, y)
    assert not report.drifted
    assert "were put in the order" in repr(report).splitlines()[1]
    assert rs.cka(x, y) == pytest.approx(1)
    joined, _ = rs.from_conditions([x, y])
    np.testing.assert_allclose(np.sort(joined.array, 0)[::2], np.sort(joined.array, 0)[1::2])


def test_an_upgrade_puts_the_columns_of_both_models_in_one_order():
    rng = np.random.default_rng(0)
    queries = pd.DataFrame(rng.standard_normal((40, 12)), columns=WORDS.columns)
    moved = queries[MOVED.columns]
    for new, pair in ((MOVED, (queries, moved)), (WORDS, (moved, queries))):
        result = rs.upgrade_index(WORDS, new, *pair, progress=False)
        assert result.decision == "keep"
        assert "were put in the order" in repr(result).splitlines()[2]
    with pytest.raises(ValueError, match="columns with different names"):
        rs.upgrade_index(WORDS, MOVED, queries.rename(columns={"a": "z"}), moved, progress=False)


@pytest.mark.parametrize("has_names", [True, False])
def test_documents_that_a_function_embeds_are_in_the_order_of_the_new_columns(has_names):
    rng = np.random.default_rng(0)
    old = pd.DataFrame(rng.standard_normal((300, 12)), columns=WORDS.columns)
    new = (old + 0.1 * rng.standard_normal(old.shape))[MOVED.columns]
    queries = pd.DataFrame(rng.standard_normal((40, 12)), columns=WORDS.columns)

    def embed(rows):
        return new.iloc[rows].reset_index(drop=True) if has_names else new.to_numpy()[rows]

    options = {"k": 3, "progress": False, "maps": ["orthogonal"]}
    pair = queries, queries[MOVED.columns]
    moved = rs.upgrade_index(old[:200], new[:200], *pair, index=old, embed=embed, **options)
    a, b, q = (data.to_numpy() for data in (old, new[WORDS.columns], queries))
    plain = rs.upgrade_index(a[:200], b[:200], q, q, index=a, embed=lambda rows: b[rows], **options)
    assert moved.records() == plain.records()


def test_batches_of_other_samples_are_put_in_one_order_of_columns():
    rng = np.random.default_rng(1)
    x, y = (
        pd.DataFrame(rng.standard_normal((n, 12)) + np.arange(12.0), columns=WORDS.columns)
        for n in (90, 70)
    )
    report = rs.drift(x, y[MOVED.columns], paired=False, progress=False)
    assert not report.drifted
    assert "were put in the order" in report.caveats[0]
    with pytest.raises(ValueError, match="columns with different names"):
        rs.drift(x, y.rename(columns={"a": "z"}), paired=False, progress=False)


def test_names_of_columns_come_with_every_kind_of_table_and_stay():
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    named = table.assign(id=NAMES)
    for frame in (table, named):
        for data in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
            assert rs.Representation(data).features == ("a", "b", "c")
    assert rs.Representation(pd.DataFrame({"id": NAMES, "v": X.tolist()})).features is None
    assert rs.Representation(named, ids="id", column="a").features == ("a",)
    x = rs.Representation(WORDS, ids=range(60))
    assert pickle.loads(pickle.dumps(x)).features == tuple(WORDS.columns)
    again = rs.Representation(WORDS[::-1], ids=range(60))
    assert rs.join_samples(x, again)[0].features == x.features
    assert rs.condition_means(WORDS, np.arange(60) % 6).features == x.features
    assert rs.Representation(np.ones((3, 2)), features=["u", "v"]).features == ("u", "v")
    with pytest.raises(ValueError, match="has 2 features but 3 names"):
        rs.Representation(np.ones((3, 2)), features="abc")


def test_names_of_which_some_are_equal_are_refused_and_the_remedy_runs():
    for call in (
        rs.cka,
        compared,
        lambda x, y: rs.from_conditions([x, y])[0].array.mean(),
        lambda x, y: drifted(x, y).unexplained,
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
        with pytest.raises(rs.UndefinedError, match="columns with different names"):
            rs.get_measure(name)(WORDS, other)
    result = rs.compare({"a": WORDS, "b": other}, measures=[*names, "cka"], progress=False)
    assert {f.measure for f in result.failures if "with different names" in f.reason} == {*names}
    with pytest.raises(ValueError, match="columns with different names"):
        rs.drift(WORDS, other)
    wide = NUMBERED.set_axis(range(12), axis=1)
    assert np.isfinite(rs.cka(NUMBERED.iloc[:, :7], wide))
    assert np.isfinite(rs.mmd(NUMBERED, wide.set_axis([f"x{i}" for i in range(1, 13)], axis=1)))
    with pytest.raises(ValueError, match="their order is unknown"):
        rs.drift(SORTED, NUMBERED.to_numpy())


@pytest.mark.parametrize(
    ("name", "start"), [("id", 0), ("key", 7), ("ID", 1000), ("sample_id", 3000), ("imageId", 9)]
)
def test_a_shuffled_number_of_rows_is_no_feature(name, start):
    draws = np.random.default_rng(0).permutation(60 if start < 1000 else 2 * start)
    table = WORDS.assign(**{name: start + draws[:60]})
    with pytest.raises(ValueError, match=f"numbers its rows: '{name}'; .*drop"):
        rs.cka(table, NUMBERED.to_numpy())
    assert rs.cka(table.drop(columns=[name]), WORDS) == pytest.approx(1)
    ranks = WORDS.rank().astype(int)
    assert rs.cka(ranks, ranks.to_numpy()) == pytest.approx(1)
    # A feature that counts is none in few rows, or alone.
    assert rs.Representation(DEFAULT.reset_index()[:5]).shape == (5, 6)
    assert rs.Representation(pd.DataFrame({"time": range(30)})).shape == (30, 1)
