"""Every measure on data that break formulas: a finite number in its range, or an error that says
what is wrong.

Warnings are errors here as everywhere, so a division by zero that happens to end well fails too.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.spatial
import scipy.stats
from factories.measures import declared

import resemblance as rs
from resemblance.checks.data import with_repeats
from resemblance.checks.hostile import HOSTILE_GROUPS, hostile_pairs
from resemblance.checks.trial import limit_neighbors
from resemblance.contracts._measure import Measure

# Few samples of many features, where values mean little, are what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

N = 40
CASES = hostile_pairs()
X, Y = CASES["generic"]
SPECTRAL = rs.rsm_norm_difference.with_parameters(norm="spectral")
CATALOGUE = [limit_neighbors(m) for m in rs.list_measures()]
MEASURES = CATALOGUE + [m for m in rs.preset("resi") if m not in CATALOGUE]


def value(measure: Measure, x: Any, y: Any) -> float:
    """Call a measure, with labels when it asks for them."""
    if measure.name == "accuracy_difference":
        measure = measure.with_parameters(labels=[i % 3 for i in range(x.shape[0])])
    return measure(x, y)


# What a measure answers to each case, or why it does not, is pinned (tests/pins/hostile.json); that
# its values are in the range is checked with its claims.


def refusal(measure: Measure, pair: tuple[Any, Any]) -> str:
    """Why there is no value; nothing if there is one."""
    try:
        value(measure, *(with_repeats(measure, r) for r in map(rs.Representation, pair, "XY")))
    except ValueError as error:
        return str(error)
    return ""


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


def test_rsa_with_categories_has_ties_and_not_rounding_errors(subtests):
    """All pairs within a category are equally dissimilar, and all others: SciPy on the exact 0 and
    1 is the oracle."""
    for rdm in ["correlation", "cosine", "euclidean", "sqeuclidean"]:
        for classes in [3, 7]:
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
    """All measures share one conversion of inputs: measures always receive rows of float64."""
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

REFUSED = {  # other kinds: see the tests of inputs
    "another precision": (
        rs.Representation(X, dtype="float32"),
        "X is .* float32 and Y .* float64",
    ),
    "one dimension": (X[:, 0], r"got shape \(40,\); .* X\[:, None\]"),
    "three dimensions": (X[None], r"got shape \(1, 40, 6\); .*from_tokens"),
    "four dimensions": (X[None, None], r"got shape \(1, 1, 40, 6\); .*from_maps"),
    "five dimensions": (X[None, None, None], r"got shape \(1, 1, 1, 40, 6\)"),
    "a number": (3.0, r"'X' must be .* got shape \(\)"),
    "no samples": (X[:0], r"'X' is empty: shape \(0, 6\)"),
    "no features": (X[:, :0], r"'X' is empty: shape \(40, 0\)"),
    "an empty list": ([], r"'X' is empty: shape \(0,\)"),
    "other samples": (
        X[:30],
        r"X \(30, 6\) and Y \(40, 6\) must .* same number of samples \(rows\)",
    ),
    "transposed": (X[:9, :].T, r"X \(6, 9\) and Y \(40, 6\) must have the same number of samples"),
    "complex": (X + 1j, r"real numbers; got dtype complex128; take abs\(X\)"),
    "objects": (
        X.astype(object),
        r"real numbers; got dtype object; .*np.asarray\(X, dtype=float\)",
    ),
    "strings": (X.astype(str), r"real numbers; got dtype <U\d+; .*X.astype"),
    "dates": (np.zeros((40, 6), "datetime64[s]"), "real numbers; got dtype datetime64"),
    "nothing": (None, r"'X' is None"),
    "ragged": ([[1.0, 2.0], [3.0]], r"'X' .* its rows have different lengths"),
}


def test_what_is_no_representation_is_refused(subtests):
    """All measures share one check of inputs, so every measure is tested with one wrong input
    only."""
    for measure, case in zip(MEASURES, cycle(REFUSED)):
        data, message = REFUSED[case]
        with subtests.test(f"{measure}, {case}"):
            with pytest.raises(ValueError, match=message) as error:
                measure(data, Y)
            # the caller's mistake, not a property of the data
            assert not isinstance(error.value, rs.UndefinedError)


def test_a_measure_cannot_change_the_data(rng):
    @declared("Shift")
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


def test_values_near_the_largest_of_single_precision_are_refused(subtests):
    large, y = (
        rs.Representation(data, name, dtype="float32")
        for name, data in (("large", X * 1e37), ("y", Y))
    )
    message = r"'large' has values near the largest of float32 \(.*e\+3\d\); rescale it"
    for measure in (rs.cka, rs.jaccard, rs.disagreement):
        for pair in ((large, y), (y, large)):
            label = f"{measure} of {pair[0].name}"
            with subtests.test(label), pytest.raises(rs.UndefinedError, match=message):
                value(measure, *pair)


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

    m = declared("E")(excess)
    assert m(X, Y, by=1e-15) == 1
    assert m(X, Y, by=-1e-15) == 1 - 1e-15
    assert m(X, Y, by=1e-9) == 1 + 1e-9
    with pytest.raises(rs.UndefinedError, match=r"excess\[by=nan\] returned NaN \(not a number\)"):
        m(X, Y, by=np.nan)
    with pytest.raises(rs.UndefinedError, match=r"excess\[by=inf\]: the value overflows"):
        m(X, Y, by=np.inf)
