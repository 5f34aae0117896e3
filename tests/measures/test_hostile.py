"""Every measure on data that break formulas: a finite number in its range, or an error that says
what is wrong.

Warnings are errors here as everywhere, so a division by zero that happens to end well fails too.
"""

from __future__ import annotations

import math
import re
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.spatial
import scipy.stats

import resemblance as rs
from resemblance.base.arrays import clip_above_one, clip_below_zero
from resemblance.checks.data import with_repeats
from resemblance.checks.hostile import HOSTILE_GROUPS, hostile_pairs
from resemblance.checks.trial import limit_neighbors
from resemblance.contracts._measure import Measure
from resemblance.intermediates.distances import squared_distance_blocks

# Few samples of many features, where values mean little, are what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

N = 40
CASES = hostile_pairs()
X, Y = CASES["generic"]
SATURATED = CASES["both saturated in half precision"][0]
SPECTRAL = rs.rsm_norm_difference.with_parameters(norm="spectral")
CATALOGUE = [limit_neighbors(m) for m in rs.list_measures()]
MEASURES = CATALOGUE + [m for m in rs.preset("resi") if m not in CATALOGUE]


def value(measure: Measure, x: Any, y: Any) -> float:
    """Call a measure, with labels when it asks for them."""
    if measure.name == "accuracy_difference":
        measure = measure.with_parameters(labels=[i % 3 for i in range(x.shape[0])])
    return measure(x, y)


# Why a measure has no value for a case is pinned (tests/pins/hostile.json). Here: that it says so,
# and that it has none where it declares as much, and says of a constant representation.


def refusal(measure: Measure, pair: tuple[Any, Any]) -> str:
    """Why there is no value; nothing if there is one, which is then in the range."""
    try:
        named = map(rs.Representation, pair, "XY")
        number = value(measure, *(with_repeats(measure, r) for r in named))
    except ValueError as error:
        return str(error)
    assert type(number) is float
    assert math.isfinite(number)
    assert measure.range[0] - 1e-9 <= number <= measure.range[1] + 1e-9
    return ""


def test_a_number_in_range_or_the_reason_why_not(subtests):
    for case, pair in CASES.items():
        for measure in MEASURES:
            with subtests.test(f"{measure}, {case}"):
                reason = refusal(measure, pair)
                assert not reason or measure.name in reason or "representation '" in reason
                samples, few = len(pair[0]), f"needs at least {measure.min_samples} samples; got"
                assert (few in reason) == (samples < measure.min_samples)
                assert ("NaN or infinite" in reason) == (case in HOSTILE_GROUPS["NaN and infinity"])
                assert ("rescale" in reason) == case.endswith("too large")


def test_docstrings_say_which_measures_need_more_than_one_row(subtests):
    for measure in MEASURES:
        with subtests.test(str(measure)):
            said = "for a constant representation" in " ".join((measure.__doc__ or "").split())
            for case in HOSTILE_GROUPS["constant"]:
                reason = refusal(measure, CASES[case])
                assert ("is constant (all its rows are equal)" in reason) == said


def test_the_groups_name_every_case():
    assert sorted(case for group in HOSTILE_GROUPS.values() for case in group) == sorted(CASES)


# ------------------------------------------------------------------------------- scale and position


def test_values_in_the_units_of_the_activations_scale_with_them(subtests):
    for measure in [
        *(rs.procrustes_size_shape, rs.bures, rs.permutation_procrustes, rs.soft_matching),
        *(rs.rsm_norm_difference, SPECTRAL, rs.magnitude_difference),
    ]:
        for scale in [1e-150, 1e-30, 1e30, 1e150]:
            with subtests.test(f"{measure}, {scale}"):
                assert measure(X * scale, Y * scale) == pytest.approx(
                    scale * measure(X, Y), rel=1e-6
                )
                assert measure(0 * X, Y * scale) == pytest.approx(
                    scale * measure(0 * X, Y), rel=1e-6
                )


def test_a_rotation_that_rounding_decides_on_is_none(subtests):
    """Only the largest rows have a say in the best rotation, and rounding would turn all others."""
    for largest in [1e150, 1e300]:
        with subtests.test(str(largest)):
            sizes = np.geomspace(1 / largest, largest, N)[:, None]
            for pair in ((X * sizes, Y * sizes), (Y * sizes, X * sizes)):
                with pytest.raises(
                    rs.UndefinedError, match="aligned_cosine: rounding decides on the best rotation"
                ):
                    rs.aligned_cosine(*pair)
            moderate = np.geomspace(1e-3, 1e3, N)[:, None]
            found = rs.aligned_cosine(X * moderate, Y * moderate)
            assert rs.aligned_cosine(Y * moderate, X * moderate) == pytest.approx(found, rel=1e-9)


def test_a_common_offset_does_not_hide_which_neurons_match(subtests):
    for name in ["permutation_procrustes", "soft_matching"]:
        for d, e in [(6, 6), (4, 6), (6, 4)]:
            with subtests.test(f"{name}, {d}, {e}"):
                measure, (x, y) = rs.get_measure(name), (X[:, :d], Y[:, :e])
                found = measure(x + 1e8, y + 1e8)
                assert measure(y + 1e8, x + 1e8) == pytest.approx(found, rel=1e-12)
                # With others the neurons left over are as far from 0 as the offset.
                if d == e or name == "soft_matching":
                    assert found == pytest.approx(measure(x, y), rel=1e-6)


def test_rsa_with_categories_has_ties_and_not_rounding_errors(subtests):
    """All pairs within a category are equally dissimilar, and all others: SciPy on the exact 0 and
    1 is the oracle."""
    for rdm in ["correlation", "cosine", "euclidean", "sqeuclidean"]:
        for classes in [3, 4, 5, 7, 10]:
            with subtests.test(f"{rdm}, {classes}"):
                labels = np.arange(N) % classes
                different = (labels[:, None] != labels)[np.triu_indices(N, 1)]
                distances = scipy.spatial.distance.pdist(Y, rdm)
                found = {
                    how: rs.rsa(np.eye(classes)[labels], Y, rdm=rdm, compare=how)
                    for how in ("spearman", "kendall")
                }
                assert found["spearman"] == pytest.approx(
                    scipy.stats.spearmanr(different, distances).statistic, abs=1e-12
                )
                assert found["kendall"] == pytest.approx(
                    scipy.stats.kendalltau(different, distances).statistic, abs=1e-12
                )


def test_what_is_equal_does_not_depend_on_rounding(subtests):
    """Categorical data have many equal distances; permuting or scaling columns must not tell them
    apart."""
    for measure, extreme in [
        *(
            (rs.get_measure(m), 1)
            for m in ("jaccard", "jaccard[metric=euclidean]", "rank_similarity")
        ),
        *((rs.get_measure(m), 1) for m in ("rsa", "rsa[rdm=euclidean]", "rsa[compare=kendall]")),
        *(
            (rs.get_measure(m), 1)
            for m in ("mutual_knn", "mutual_knn[metric=inner]", "lcs_knn", "edit_distance_knn")
        ),
        (
            rs.information_imbalance,
            2 / 80 * 98.5 / 80,
        ),  # equally near samples share their ranks, 1 and 2 and so on
        (rs.imd, 0),
    ]:
        with subtests.test(f"{measure}"):
            data = np.random.default_rng(3).integers(0, 3, (80, 12)).astype(float)
            assert measure(data, 0.1 * data[:, ::-1]) == pytest.approx(extreme, abs=1e-12)


# ------------------------------------------------------------------- kinds of numbers and of arrays


def strided(data: np.ndarray) -> np.ndarray:
    """The same values in every third column of an array, backwards."""
    spread = np.zeros((data.shape[0], 3 * data.shape[1]))
    spread[:, ::-3] = data
    return spread[:, ::-3]


KINDS = {
    "float16": lambda data: data.astype(np.float16),
    "float32": lambda data: data.astype(np.float32),
    "longdouble": lambda data: data.astype(np.longdouble),
    "big-endian": lambda data: data.astype(">f8"),
    "integers": lambda data: np.rint(5 * data).astype(np.int64),
    "bytes": lambda data: np.abs(np.rint(5 * data)).astype(np.uint8),
    "booleans": lambda data: data > 0,
    "Fortran order": np.asfortranarray,
    "negative strides": lambda data: data[::-1].copy()[::-1],
    "every third column, backwards": strided,
    "list": np.ndarray.tolist,
    "tuple of arrays": tuple,
    "DataFrame": lambda data: pd.DataFrame(data, columns=list("abcdef")),
    "matrix": lambda data: np.asarray(data).view(np.matrix),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_every_kind_of_array_is_its_values_in_float64(tmp_path, subtests):
    """One door for all measures: what comes behind it are always rows of float64."""
    for kind, convert in KINDS.items():
        pair = [convert(data) for data in (X, Y)]
        plain = [np.array(data, dtype=np.float64, order="C") for data in pair]
        for measure in (rs.cka, rs.jaccard.with_parameters(k=10), rs.mean_cca):
            with subtests.test(f"{measure}, {kind}"):
                expected = pytest.approx(measure(*plain), rel=1e-9, abs=1e-9)
                assert measure(*pair) == expected
    for name, data in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", data)
    maps = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy"]
    assert rs.cka(*maps) == rs.cka(X, Y)
    assert rs.cka(tmp_path / "x.npy", str(tmp_path / "y.npy")) == rs.cka(X, Y)


# ---------------------------------------------------------------------------------------- bad input

FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
REFUSED = {
    "one dimension": (
        X[:, 0],
        r"'X' must be \(n_samples, n_features\); got shape \(40,\); .* X\[:, None\]",
    ),
    "three dimensions": (X[None], r"'X' must be .* got shape \(1, 40, 6\); .*from_tokens"),
    "four dimensions": (X[None, None], r"'X' must be .* got shape \(1, 1, 40, 6\); .*from_maps"),
    "five dimensions": (X[None, None, None], r"'X' must be .* got shape \(1, 1, 1, 40, 6\)"),
    "a number": (3.0, r"'X' must be .* got shape \(\)"),
    "no samples": (X[:0], r"'X' is empty: shape \(0, 6\)"),
    "no features": (X[:, :0], r"'X' is empty: shape \(40, 0\)"),
    "an empty list": ([], r"'X' is empty: shape \(0,\)"),
    "other samples": (
        X[:30],
        r"X \(30, 6\) and Y \(40, 6\) must have the same number of samples \(rows\)",
    ),
    "transposed": (X[:9, :].T, r"X \(6, 9\) and Y \(40, 6\) must have the same number of samples"),
    "complex": (
        X + 1j,
        r"'X' must hold real numbers; got dtype complex128; take abs\(X\), or X.real and X.imag",
    ),
    "objects": (
        X.astype(object),
        r"'X' must hold real numbers; got dtype object; .*np.asarray\(X, dtype=float\)",
    ),
    "strings": (X.astype(str), r"'X' must hold real numbers; got dtype <U\d+; .*X.astype"),
    "dates": (
        np.zeros((40, 6), "datetime64[s]"),
        r"'X' must hold real numbers; got dtype datetime64",
    ),
    "a frame with text": (FRAME, r"'X' has columns that are not numbers: 'b'; .*X.drop"),
    "nothing": (None, r"'X' is None"),
    "ragged": ([[1.0, 2.0], [3.0]], r"'X' .* its rows have different lengths"),
    "masked": (np.ma.masked_greater(X, 1), r"'X' is a masked array.*drop or fill"),
    "sparse": (scipy.sparse.csr_array(X), r"'X' is a sparse matrix.*toarray"),
    "a sparse matrix of the old kind": (
        scipy.sparse.csc_matrix(X),
        r"'X' is a sparse matrix.*toarray",
    ),
}


def test_what_is_no_representation_is_refused(subtests):
    """One door for all measures: each is tried with one case, and each case with some."""
    for measure, case in zip(MEASURES, cycle(REFUSED)):
        data, message = REFUSED[case]
        with subtests.test(f"{measure}, {case}"):
            with pytest.raises(ValueError, match=message) as error:
                measure(data, Y)
            # the caller's mistake, not a property of the data
            assert not isinstance(error.value, rs.UndefinedError)


def test_different_numbers_of_samples_hint_at_a_transpose():
    hint = r"X \(6, 40\) and Y \(9, 40\) .* \(n_features, n_samples\)\? Transpose both"
    for measure in (rs.cka, rs.jaccard, rs.disagreement):
        with pytest.raises(ValueError, match=hint):
            measure(X.T, np.c_[Y, Y[:, :3]].T)


def test_samples_that_are_missing_hint_at_no_transpose():
    with pytest.raises(ValueError, match="same number of samples") as error:
        rs.cka(X, X[:-1])
    assert "Transpose" not in str(error.value)


def test_a_measure_cannot_change_the_data(rng):
    @rs.measure(
        label="Shift",
        family="alignment",
        citation="x2020y",
        larger_is_more_similar=True,
        range=(-1, 1),
    )
    def shifting(x: rs.Representation, y: rs.Representation) -> float:
        values = np.asarray(x.array)
        values -= values.mean(axis=0)
        return 0.5

    for dtype in (float, "float32"):
        data = rng.standard_normal((20, 4)).astype(dtype)
        before = data.copy()
        with pytest.raises(ValueError, match="read-only"):
            shifting(data, data[:, ::-1].copy())
        assert np.array_equal(data, before)


def test_one_bad_value_is_named_with_its_place():
    place = (np.arange(N)[:, None] == 17) & (np.arange(6) == 4)
    message = r"'deep' has 1 NaN or infinite value\(s\), .* row 17, column 4; leave"
    for measure, bad in zip(MEASURES, cycle((np.nan, np.inf, -np.inf))):
        with pytest.raises(rs.UndefinedError, match=message):
            measure(X, rs.Representation(np.where(place, bad, Y), "deep"))


def test_other_precisions_do_not_mix():
    with pytest.raises(
        ValueError, match=r"cka: X is computed in float32 and Y in float64; .*dtype='float64'"
    ):
        rs.cka(rs.Representation(X, dtype="float32"), Y)


def test_values_near_the_largest_of_single_precision_are_refused(subtests):
    large, y = (
        rs.Representation(data, name, dtype="float32")
        for name, data in (("large", X * 1e37), ("y", Y))
    )
    message = r"'large' has values near the largest of float32 \(.*e\+3\d\); rescale it"
    for measure in MEASURES:
        for pair in ((large, y), (y, large)):
            label = f"{measure} of {pair[0].name}"
            with subtests.test(label), pytest.raises(rs.UndefinedError, match=message):
                value(measure, *pair)


def test_what_overflows_is_undefined_without_a_warning():
    x = np.random.default_rng(0).standard_normal((20, 3))
    narrow = [rs.Representation(data, dtype="float32") for data in (1e200 * x, x)]
    with pytest.raises(rs.UndefinedError, match="too large for float32"):
        rs.cka(*narrow)
    for score in ("distance", "rdm"):
        value = rs.statistics.input_noise_stability(
            1e154 * x, encoder=lambda rows: rows, score=score
        )
        assert np.isfinite(value)


def test_nan_is_no_number_of_a_range():
    """What replaces rounding errors lets NaN pass, so that it cannot become the largest or the
    smallest value."""
    x = np.array([np.nan, -1e-17, 0.5, 1 + 1e-15])
    assert np.array_equal(clip_above_one(x), [np.nan, -1e-17, 0.5, 1], equal_nan=True)
    assert np.array_equal(clip_below_zero(x), [np.nan, 0, 0.5, 1 + 1e-15], equal_nan=True)
    (block,) = squared_distance_blocks(np.array([[np.nan], [1.0]]))
    assert np.isnan(block).sum() == 3


def test_a_layer_without_directions_is_a_failure_of_its_own_pairs_only():
    found = rs.compare(
        {"dead": SATURATED, "x": X, "y": Y},
        measures=["cka", "mean_cca", "shape_distance"],
        progress=False,
    )
    assert {(f.measure, f.x, f.y) for f in found.failures} == {
        (m, a, b)
        for m in ("mean_cca", "shape_distance")
        for a in found.rows
        for b in found.rows
        if "dead" in (a, b)
    }
    assert all(
        "representation 'dead' varies by no more than the rounding of float16" in f.reason
        for f in found.failures
    )


ROUNDED_UP = {
    "rank_similarity": (X, X),
    "jensen_shannon": (100 * np.random.default_rng(3).standard_normal((15, 5)),) * 2,
    "pwcca[directions=resi]": (np.random.default_rng(1).standard_normal((20, 4)),) * 2,
}


def test_rounding_does_not_leave_the_range(subtests):
    for spec in ROUNDED_UP:
        with subtests.test(str(spec)):
            m, (x, y) = rs.get_measure(spec), ROUNDED_UP[spec]
            assert m(x, -y if spec == "jensen_shannon" else y) <= 1


def test_a_false_claim_of_a_range_is_not_hidden():
    def excess(x, y, *, by=0.0):
        return 1 + by

    claims = {
        "label": "E",
        "family": "descriptive",
        "larger_is_more_similar": True,
        "symmetric": True,
    }
    m = rs.measure(**claims, range=(0, 1), citation="none")(excess)
    assert m(X, Y, by=1e-15) == 1
    assert m(X, Y, by=-1e-15) == 1 - 1e-15
    assert m(X, Y, by=1e-9) == 1 + 1e-9
    with pytest.raises(rs.UndefinedError, match=r"excess\[by=nan\] returned NaN \(not a number\)"):
        m(X, Y, by=np.nan)
    with pytest.raises(rs.UndefinedError, match=r"excess\[by=inf\]: the value overflows"):
        m(X, Y, by=np.inf)


# -------------------------------------------------------------------------------------- lost digits

FAR_X = np.random.default_rng(5).standard_normal((60, 6))
FAR_Y = FAR_X @ np.random.default_rng(6).standard_normal((6, 6)) / 2
FAR_Y += np.random.default_rng(7).standard_normal((60, 6))
BELOW = "centre first|is constant|varies by no more|are equal|are zero|is zero"


def moved(x: np.ndarray, offset: float, columns: str) -> np.ndarray:
    return x + offset * (np.arange(x.shape[1]) < (1 if columns == "one" else x.shape[1]))


def value_or_reason(measure: Any, *inputs: Any) -> float | str:
    try:
        return float(value(measure, *(with_repeats(measure, x) for x in inputs)))
    except rs.UndefinedError as error:
        return str(error)


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.spec)
def test_no_value_is_made_of_lost_digits(measure: Measure, subtests: Any) -> None:
    """Measures that ignore an offset keep their value; the others tend to a limit. Else there is no
    value, and the reason says so."""
    for dtype in ("float64", "float32"):
        limit = None
        for columns in ("one", "all"):
            limit = None
            for offset in (1e5, 1e7, 1e8, 1e10):
                pair = [moved(x, offset, columns).astype(dtype) for x in (FAR_X, FAR_Y)]
                found = value_or_reason(measure, *pair)
                with subtests.test(f"{dtype} {columns} {offset:g}"):
                    if isinstance(found, str) and measure.takes == "repeats":
                        # The origin fixes the rotation, and rounding decides on the best one.
                        assert "so far from the origin" in found or re.search(BELOW, found), found
                    elif isinstance(found, str):
                        assert dtype == "float32", found
                        assert re.search(BELOW, found), found
                    elif "translation" in measure.invariant_to:
                        exact = [moved(x.astype(np.longdouble), -offset, columns) for x in pair]
                        true = value_or_reason(measure, *(x.astype(float) for x in exact))
                        assert found == pytest.approx(true, rel=2e-3, abs=1e-4)
                    elif dtype == "float64":
                        limit = found if limit is None else limit
                        assert found == pytest.approx(limit, rel=0.02, abs=2e-3)


def exact_chords(x: np.ndarray) -> np.ndarray:
    """1 minus cosine, in extended precision."""
    rows = x.astype(np.longdouble)
    rows = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return ((rows[:, None] - rows[None]) ** 2).sum(axis=2) / 2


def exact_overlap(distances: list[np.ndarray], k: int = 10) -> float:
    near = [
        np.argsort(np.where(np.eye(len(d), dtype=bool), np.inf, d), axis=1)[:, :k]
        for d in distances
    ]
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(*near)]))


@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("columns", ["one", "all"])
@pytest.mark.parametrize("offset", [1e3, 1e4, 1e5])
def test_cosine_neighbors_keep_their_digits(dtype: Any, columns: str, offset: float) -> None:
    """A constant column of 1e4, as in language models, left unrelated layers at 1."""
    pair = [moved(x, offset, columns) for x in (FAR_X, FAR_Y)]
    true = exact_overlap([exact_chords(x) for x in pair])
    a, b = (rs.Representation(x, dtype=dtype) for x in pair)
    assert rs.mutual_knn(a, b) == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize("kind", ["cosine", "correlation"])
@pytest.mark.parametrize("offset", [1e7, 1e9])
def test_dissimilarities_keep_their_digits(kind: Any, offset: float) -> None:
    pair = [moved(x, offset, "one") for x in (FAR_X, FAR_Y)]
    rows = [x.astype(np.longdouble) for x in pair]
    if kind == "correlation":
        rows = [x - x.mean(axis=1, keepdims=True) for x in rows]
    above = np.triu_indices(60, 1)
    true = scipy.stats.spearmanr(*(exact_chords(x)[above].astype(float) for x in rows))[0]
    assert rs.rsa(*pair, rdm=kind) == pytest.approx(true, abs=1e-6)


@pytest.mark.parametrize("size", [1e8, 1e12, 1e15])
def test_a_giant_row_takes_no_digits_of_the_others(size: float) -> None:
    x = FAR_X.copy()
    x[7] *= size
    squares = [((z[:, None] - z[None]) ** 2).sum(axis=2) for z in (x.astype(np.longdouble), FAR_Y)]
    found = rs.mutual_knn(x, FAR_Y, metric="euclidean")
    # From the giant row itself, all others may be equally far.
    assert found == pytest.approx(exact_overlap(squares), abs=0.01)
    above = np.triu_indices(60, 1)
    true = scipy.stats.spearmanr(*(d[above].astype(float) for d in squares))[0]
    assert rs.rsa(x, FAR_Y, rdm="euclidean") == pytest.approx(true, abs=1e-3)


def test_groups_too_far_apart_have_no_neighbors() -> None:
    side = 1e9 * np.where(np.arange(60) % 2, 1, -1)[:, None]
    for metric in ("cosine", "euclidean"):
        with pytest.raises(rs.UndefinedError, match="one group at a time"):
            rs.mutual_knn(FAR_X + side, FAR_Y + side, metric=metric)
    one, other = ((x + side)[1::2] for x in (FAR_X, FAR_Y))
    one, other = (x - x.mean(axis=0) for x in (one, other))
    assert 0 < rs.mutual_knn(one, other) < 1


def test_the_remedy_for_lost_digits() -> None:
    far = [moved(x, 1e7, "all").astype(np.float32) for x in (FAR_X, FAR_Y)]
    for measure in (rs.cka, rs.mutual_knn, rs.sliced_wasserstein, rs.aligned_cosine):
        with pytest.raises(rs.UndefinedError, match="before the data are stored in float32"):
            measure(*far)
        centered = [moved(x, 1e7, "all") for x in (FAR_X, FAR_Y)]
        centered = [(x - x.mean(axis=0)).astype(np.float32) for x in centered]
        assert math.isfinite(measure(*centered))
    single = [rs.Representation(moved(x, 1e7, "all"), dtype="float32") for x in (FAR_X, FAR_Y)]
    with pytest.raises(rs.UndefinedError, match="or take dtype='float64'"):
        rs.cka(*single)
    double = [rs.Representation(moved(x, 1e7, "all"), dtype="float64") for x in (FAR_X, FAR_Y)]
    assert rs.cka(*double) == pytest.approx(rs.cka(FAR_X, FAR_Y), rel=1e-6)


def test_constant_columns_and_exact_ties_have_lost_nothing() -> None:
    """The digits of one column are its own."""
    wide = [np.c_[x, np.full(60, 1e10)].astype(np.float32) for x in (FAR_X, FAR_Y)]
    assert rs.cka(*wide) == pytest.approx(rs.cka(FAR_X, FAR_Y), rel=1e-5)
    hot = np.eye(6)[np.arange(60) % 6]
    bits = (FAR_X > 0) + 0.0
    for metric in ("cosine", "euclidean"):
        assert rs.mutual_knn(hot, 3 * hot, metric=metric) == 1
        assert rs.mutual_knn(bits, bits[:, ::-1], metric=metric) == pytest.approx(1)


def test_rows_that_vary_by_rounding_are_constant_rows() -> None:
    x, y = (z.astype(np.float32) for z in (FAR_X, FAR_Y))
    saturated, ones = x.copy(), x.copy()
    draws = np.random.default_rng(0).random((20, 6)) < 0.5
    saturated[:20], ones[:20] = np.where(draws, 1, np.float32(1 - 2**-24)), 1
    for kind in (np.float32, np.float64):  # as they are stored
        assert (rs.rdm(saturated.astype(kind))[0, 1] == 1) == (kind is np.float32)
    assert rs.rsa(saturated, y) == rs.rsa(ones, y)
    needed = {
        "replicate": {"replicate": y},
        "anchor_profile": {"replicate": y, "anchors": (30, 31, 40)},
        "feature_split": {},
        "label_conditioned_split": {"labels": np.arange(60) // 5},
    }
    for name, inputs in needed.items():
        statistic = rs.get_statistic(name).with_parameters(rdm="correlation")
        one, other = (statistic(x, **inputs) for x in (saturated, ones))
        assert one == other


def test_rounding_that_decides_on_a_rotation_is_noticed() -> None:
    z = np.random.default_rng(0).standard_normal((40, 6))
    giant = np.random.default_rng(1).standard_normal((40, 6))
    giant[0] *= 1e14
    with pytest.raises(rs.UndefinedError, match="rounding decides on the best rotation"):
        rs.aligned_cosine(np.exp(30 * z), giant)
