"""Trials: windows of time, conditions kept apart, and statistics along the trial."""

from __future__ import annotations

import json

import array_api_strict
import numpy as np
import pytest
import torch
from factories.files import GOLDEN

import resemblance as rs
from resemblance import stability as st

THEIRS = json.loads((GOLDEN / "stab_outputs_shesha.json").read_text())["trials"]
AXES = "trials bins units"
RESPONSES = np.arange(48.0).reshape(3, 4, 4)  # three trials, four bins, four units
LIBRARIES = {
    "numpy": np.asarray,
    "torch": torch.asarray,
    "array_api_strict": array_api_strict.asarray,
}


@pytest.fixture
def recording() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The published trials as the mean of bins 50 to 99 of 120, in which every bin is another; and
    the conditions."""
    with np.load(GOLDEN / "stab_labels.npz") as archive:
        rates, conditions = archive["trials__X"], archive["trials__cond"]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(rates), 120, rates.shape[1]))
    X[:, 50:100] += rates[:, None] - X[:, 50:100].mean(axis=1, keepdims=True)
    return X, conditions, rates


# ------------------------------------------------------------------------------------------ windows


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_bins_are_pooled_in_the_window(library):
    for pool, expected in [
        ("mean", RESPONSES[:, 1:3].mean(axis=1)),
        ("max", RESPONSES[:, 2]),
        ("flatten", RESPONSES[:, 1:3].reshape(3, 8)),
    ]:
        found = rs.from_trials(
            library(RESPONSES), pool=pool, axes=AXES, window=(1, 3), name="V1", ids=list("abc")
        )
        assert np.array_equal(np.asarray(found.source), expected)
        assert (found.name, found.ids) == ("V1", ("a", "b", "c"))
        assert type(found.source) is type(library(RESPONSES))
    whole = rs.from_trials(RESPONSES, pool="mean", axes=AXES)
    assert np.array_equal(whole.source, RESPONSES.mean(axis=1))
    with pytest.raises(ValueError, match="window"):
        rs.from_trials(RESPONSES, pool="mean", axes=AXES, window=(1, RESPONSES.shape[1] + 1))


@pytest.mark.parametrize("axes", ["trials units bins", "units trials bins", "bins units trials"])
def test_axes_in_another_order(axes):
    order = [("trials", "bins", "units").index(axis) for axis in axes.split()]
    for pool in ("mean", "flatten"):
        options = {"pool": pool, "window": (0, 3)}
        found = rs.from_trials(RESPONSES.transpose(order), axes=axes, **options)
        assert np.array_equal(found.source, rs.from_trials(RESPONSES, axes=AXES, **options).source)


def test_dimensions_of_xarray_name_the_axes():
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(
        RESPONSES.transpose(2, 0, 1),
        dims=("neuron", "trial", "time"),
        coords={"trial": ["a", "b", "c"]},
    )
    found = rs.from_trials(named, pool="mean", window=(1, 3))
    assert np.array_equal(found.source, RESPONSES[:, 1:3].mean(axis=1))
    assert found.ids == ("a", "b", "c")
    assert rs.from_trials(named, pool="mean", ids=[7, 8, 9]).ids == (7, 8, 9)
    with pytest.raises(ValueError, match="axes must be"):
        rs.from_trials(named.rename(neuron="depth"), pool="mean")
    tokens = xarray.DataArray(RESPONSES, dims=("n", "t", "d"), coords={"n": ["a", "b", "c"]})
    assert rs.from_tokens(tokens, pool="mean").ids == ("a", "b", "c")


def test_a_file_of_counts_is_read_in_place(tmp_path):
    np.save(tmp_path / "session.npy", RESPONSES.astype("uint8"))
    found = rs.from_trials(tmp_path / "session.npy", pool="mean", axes=AXES, window=(2, 4))
    assert found.name == "session"
    assert np.array_equal(found.source, RESPONSES[:, 2:].mean(axis=1))


def test_published_statistics_of_the_decision_epoch(recording):
    X, conditions, _ = recording
    trials = rs.from_trials(X, pool="mean", axes=AXES, window=(50, 100))
    halves = rs.statistics.trial_split(trials, conditions, parity="recording")
    assert halves == pytest.approx(THEIRS["split_half"], rel=1e-10)
    drift = rs.statistics.temporal_drift(trials, conditions)
    assert 1 - drift == pytest.approx(THEIRS["temporal"], rel=1e-10)
    other = rs.from_trials(X, pool="mean", axes=AXES, window=(0, 50))
    assert rs.statistics.trial_split(other, conditions) < 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"X": RESPONSES[0]},
            r"needs X \(trials, bins, units\); got shape \(4, 4\); for this shape: use it as it is",
        ),
        ({"X": RESPONSES[:0]}, "X is empty"),
        ({"pool": "sum"}, "pool must be one of 'mean', 'max', 'flatten'"),
        ({"window": (2, 2)}, r"\(start, stop\) with 0 <= start < stop <= 4; got \(2, 2\)"),
        ({"window": (0.5, 2)}, r"got \(0.5, 2\)"),
        ({"window": 3}, "got 3"),
        ({"axes": "trials depth units"}, "axes must be 'trials', 'bins' and 'units'"),
        (
            {"axes": None},
            r"needs axes, .* in the order of X: axes=\"trials bins units\" if \(3, 4, 4\) is that",
        ),
        ({"ids": ["a", "b"]}, "3 samples but 2 ids"),
    ],
    ids=str,
)
def test_errors_of_trials(change, message):
    given = {"X": RESPONSES, "pool": "mean", "axes": AXES} | change
    with pytest.raises(ValueError, match=message):
        rs.from_trials(given.pop("X"), **given)
    if "X" in change:
        return
    with pytest.raises(TypeError, match="pool"):
        rs.from_trials(RESPONSES)


# --------------------------------------------------------------------------------------- conditions


def test_recorded_order_is_restored(recording):
    X, conditions, rates = recording
    where = {f"c{c}": np.flatnonzero(conditions == c) for c in np.unique(conditions)}
    pooled = {"pool": "mean", "axes": AXES, "window": (50, 100)}
    for source, options in ((rates, {}), (X, pooled)):
        parts = {c: source[at] for c, at in where.items()}
        trials, labels = rs.from_conditions(parts, times=where, **options)
        assert np.allclose(trials.source, rates, atol=1e-12)
        assert labels.tolist() == [f"c{c}" for c in conditions]
        assert [label for label, _ in trials.ids] == labels.tolist()
        for name, at in where.items():
            assert [i for label, i in trials.ids if label == name] == list(range(len(at)))


@pytest.mark.parametrize("counts", [(4, 4, 4), (4, 5, 9, 30), (5, 4, 4, 6, 4), (7, 4, 11)])
def test_without_times_every_half_holds_every_condition(counts, rng):
    trials, conditions = rs.from_conditions([rng.standard_normal((count, 6)) for count in counts])
    assert np.bincount(conditions).tolist() == list(counts)
    position = np.arange(sum(counts))
    for c in range(len(counts)):
        own = position[conditions == c]
        assert {p % 2 for p in own} == {0, 1}
        assert own.min() < sum(counts) // 2 <= own.max()
        assert [number for label, number in trials.ids if label == c] == list(range(counts[c]))
    rs.statistics.trial_split(trials, conditions)
    rs.statistics.temporal_drift(trials, conditions)


def test_trials_keep_the_dtype_that_was_asked_for():
    trials, _ = rs.from_conditions([rs.Representation(np.ones((2, 3)), dtype="float32")] * 2)
    assert (trials.requested_dtype, trials.dtype) == ("float32", "float32")


def test_names_of_conditions():
    parts = {("left", 0.5): np.ones((2, 3)), None: np.zeros((2, 3))}
    assert set(rs.from_conditions(parts)[1]) == {"('left', 0.5)", "None"}


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "str", "bool", "object"])
def test_numbers_and_words_stay_what_they_are(dtype):
    names = np.arange(2).astype(dtype)
    _, of = rs.from_conditions({name: np.ones((2, 3)) for name in names})
    for name in names:
        assert (of == name).sum() == 2


@pytest.mark.parametrize(
    "names", [(1, "1"), (None, "None"), ("a", "a\0"), (2**53 + 1, 2.0**53, 0.5)], ids=str
)
def test_conditions_that_look_the_same_are_not_merged(names):
    with pytest.raises(ValueError, match=f"look the same: .*{names[0]!r}.*; rename one"):
        rs.from_conditions({name: np.ones((2, 3)) for name in names})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"responses": []}, "responses is empty"),
        ({"responses": 3}, "must be a mapping or a list"),
        ({"responses": [np.ones((2, 3)), np.ones((2, 4))]}, r"the same units; got \[3, 4\]"),
        ({"responses": [np.ones((2, 3)), np.ones((0, 3))]}, "condition 1: .*empty"),
        ({"responses": {"go": RESPONSES}}, "condition 'go': .*pool it first"),
        (
            {"responses": [np.ones((2, 3)), torch.ones((2, 3))]},
            "one library and dtype; got arrays of numpy and torch",
        ),
        (
            {"responses": [np.ones((2, 3)), rs.Representation(np.ones((2, 3)), dtype="float32")]},
            "got arrays with dtype (None and float32|float32 and None)",
        ),
        ({"responses": [np.ones((2, 3))], "window": (0, 1)}, "a window needs pool"),
        ({"responses": [np.ones((2, 3))], "pool": "mean"}, "from_trials needs X"),
        ({"responses": [np.ones((2, 3))], "times": [[0, 1], [2]]}, "times has the conditions"),
        (
            {"responses": [np.ones((2, 3))], "times": [[0, 1, 2]]},
            r"one per trial, \[2\]; got shapes \[\(3,\)\]",
        ),
        ({"responses": [np.ones((2, 3))], "times": [[1, 1]]}, "all different"),
        ({"responses": [np.ones((2, 3))], "times": [[1, np.nan]]}, "finite"),
    ],
    ids=str,
)
def test_errors_of_conditions(given, message):
    with pytest.raises(ValueError, match=message):
        rs.from_conditions(**given)


def test_statistics_check_the_conditions(recording):
    X, conditions, _ = recording
    trials = rs.from_trials(X, pool="mean", axes=AXES)
    with pytest.raises(ValueError, match="conditions must be one per sample"):
        rs.statistics.trial_split(trials, conditions[:-1])
    blocks = np.argsort(conditions, kind="stable")
    with pytest.raises(ValueError, match="an early and a late trial of every condition"):
        rs.statistics.temporal_drift(trials.source[blocks], conditions[blocks])


# ---------------------------------------------------------------------------------- along the trial


def test_windows_along_the_trial(recording):
    X, conditions, _ = recording
    options = {"width": 50, "axes": AXES, "step": 25, "rdm": "correlation"}
    found = st.sliding_windows("trial_split", X, conditions, **options)
    assert [(w.start, w.stop) for w in found] == [(0, 50), (25, 75), (50, 100)]
    for w in found:
        trials = rs.from_trials(X, pool="mean", axes=AXES, window=(w.start, w.stop))
        value = rs.statistics.trial_split(trials, conditions, rdm="correlation")
        assert w.value == pytest.approx(value, rel=1e-10)
    assert found[2].value > 0.9 > found[0].value
    assert len(st.sliding_windows("centroid_drift", X, width=50, axes=AXES)) == 2
    tensors = st.sliding_windows("trial_split", torch.as_tensor(X), conditions, **options)
    assert tensors[0].value == pytest.approx(found[0].value)


def test_counts_are_averaged_and_silent_windows_say_why():
    counts = np.zeros((12, 4, 5), dtype="uint8")
    counts[:, 2:] = np.random.default_rng(0).poisson(5, (12, 2, 5))
    conditions = np.tile([0, 1, 2], 4)
    silent, active = st.sliding_windows("trial_split", counts, conditions, width=2, axes=AXES)
    assert (silent.start, silent.stop, silent.value) == (0, 2, None)
    assert "equal" in silent.reason
    assert (active.reason, type(active.value)) == ("", float)


@pytest.mark.parametrize(
    ("X", "given", "message"),
    [
        (RESPONSES[0], {}, r"sliding_windows needs X \(trials, bins, units\); got shape \(4, 4\)"),
        (RESPONSES, {"width": 5}, "width must be from 1 to 4"),
        (RESPONSES, {"step": 0}, "step 1 or more"),
        (RESPONSES, {"width": 1.5}, "got 1.5"),
        (RESPONSES, {"axes": "trials units"}, r"sliding_windows needs X|: axes must be"),
        (RESPONSES, {"rdms": "cosine"}, "no parameter 'rdms'"),
        (np.tile(RESPONSES, (3, 1, 1)), {}, "at least 3 conditions"),
    ],
    ids=str,
)
def test_errors_of_windows(X, given, message):
    with pytest.raises(ValueError, match=message):
        st.sliding_windows("trial_split", X, np.zeros(9), **{"width": 2, "axes": AXES, **given})


def test_condition_means_have_conditions_as_samples(subtests):
    rng = np.random.default_rng(0)
    trials, words = rng.standard_normal((12, 5)), np.array(list("bacbacbacbac"))
    expected = np.stack([trials[words == word].mean(axis=0) for word in "abc"])
    for library, convert in LIBRARIES.items():
        with subtests.test(library):
            means = rs.condition_means(convert(trials), words, name="V1")
            np.testing.assert_allclose(np.asarray(means.source), expected, rtol=1e-14)
            assert (means.ids, means.name) == (("a", "b", "c"), "V1")
    whole = rs.condition_means(rs.Representation(np.arange(6).reshape(3, 2), "a"), [2, 1, 2])
    assert whole.source.tolist() == [[2, 3], [2, 3]]
    assert (whole.ids, whole.name) == ((1, 2), "a")
    for labels in (words[:-1], [None, *words[1:]]):
        with pytest.raises(ValueError, match="condition_means: conditions"):
            rs.condition_means(trials, labels)
