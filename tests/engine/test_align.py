"""Maps fitted to some samples and scored on others: the numbers of netrep and scikit-learn, and the
definitions in NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import make_blobs
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import KFold, ShuffleSplit

import resemblance as rs
from resemblance.measures.regression import RIDGE_PENALTIES

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

FITTED = [m for m in rs.list_measures() if m.fit]
VARIANTS = [
    *FITTED,
    rs.procrustes.with_parameters(squared=True),
    rs.soft_matching.with_parameters(units="unit"),
    rs.shape_distance.with_parameters(alpha=0),
    rs.shape_distance.with_parameters(alpha=1),
    rs.get_measure("pls[components=3]"),
    rs.get_measure("ridge"),
]
# The output cell of netrep's notebook linear_metrics.ipynb: cross_validate(LinearMetric(alpha=1),
# X1, X3, cv=10)
NETREP_TEST = [
    0.48806546, 0.50628853, 0.48546268, 0.4625334, 0.37655937, 0.4109973, 0.47418875, 0.49561857,
    0.50214559, 0.51200611,
]  # fmt: skip
NETREP_TRAIN = [
    0.46626067, 0.46140001, 0.46623968, 0.46866604, 0.47149637, 0.47078356, 0.46782596, 0.46504587,
    0.46302238, 0.46197876,
]  # fmt: skip


def related(n: int = 60, d: int = 6, e: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, d, e])
    common = rng.standard_normal((n, 4))
    x = common @ rng.standard_normal((4, d)) + 0.5 * rng.standard_normal((n, d)) + 3
    return x, common @ rng.standard_normal((4, e)) + 0.5 * rng.standard_normal((n, e)) - 1


X, Y = related()
TRAIN, TEST = np.arange(40), np.arange(40, 60)


def netrep_data() -> tuple[np.ndarray, np.ndarray]:
    seed = 42069
    rng = np.random.default_rng(seed)
    blobs = make_blobs(256, 2, centers=256, cluster_std=0.0, shuffle=False, random_state=seed)[0]
    x = blobs[np.argsort(blobs[:, 0])]
    rng.random()  # the angle of the second network
    return x, x @ rng.standard_exponential((2, 2))


def test_the_ten_distances_of_netrep():
    x, y = netrep_data()
    folds = list(KFold(10).split(x))
    fits = [rs.align(x[train], y[train], method="angular_shape") for train, _ in folds]
    scores = [fit.score(x[test], y[test]) for fit, (_, test) in zip(fits, folds)]
    assert scores == pytest.approx(NETREP_TEST, abs=1e-8)
    train_scores = [fit.score(x[train], y[train]) for fit, (train, _) in zip(fits, folds)]
    assert train_scores == pytest.approx(NETREP_TRAIN, abs=1e-8)
    table = rs.compare([x, y], measures="angular_shape", held_out=10, progress=False)
    assert table["angular_shape[held_out=10]"][0, 1] == pytest.approx(np.mean(scores), rel=1e-12)


@pytest.mark.parametrize("m", VARIANTS, ids=str)
def test_the_score_of_the_fitted_samples_is_the_measure(m):
    if m.name == "linear_predictivity":  # the measure leaves every sample out
        assert rs.align(X, Y, method=m).score(X, Y) > m(X, Y)
        return
    assert rs.align(X, Y, method=m).score(X, Y) == pytest.approx(m(X, Y), rel=1e-9)
    assert rs.align(Y, X, method=m).score(Y, X) == pytest.approx(m(Y, X), rel=1e-9)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.vdot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


def test_rotations_are_those_of_orthogonal_procrustes():
    square = Y[:, :6]
    fit = rs.align(X[TRAIN], square[TRAIN])
    a, b = X - X[TRAIN].mean(axis=0), square - square[TRAIN].mean(axis=0)
    u, _, vt = np.linalg.svd(a[TRAIN].T @ b[TRAIN])
    np.testing.assert_allclose(fit.map, u @ vt, atol=1e-10)
    np.testing.assert_allclose(fit.transform(X).array, a @ u @ vt + fit.y_mean, atol=1e-10)
    expected = np.sqrt(2 - 2 * cosine(a[TEST] @ u @ vt, b[TEST]))
    assert fit.score(X[TEST], square[TEST]) == pytest.approx(expected, rel=1e-9)


def test_directions_that_the_fitted_samples_leave_open_count_as_orthogonal():
    x, y = related(20, 30, 25)
    fit = rs.align(x[:12], y[:12], method="angular_shape")
    a, b = x[12:] - x[:12].mean(axis=0), y[12:] - y[:12].mean(axis=0)
    inner = np.vdot(a @ fit.map, b) / np.linalg.norm(a) / np.linalg.norm(b)
    assert fit.score(x[12:], y[12:]) == pytest.approx(np.arccos(inner), rel=1e-9)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 30)))[0]
    turned = rs.align(x[:12] @ turn, y[:12], method="angular_shape")
    assert turned.score(x[12:] @ turn, y[12:]) == pytest.approx(fit.score(x[12:], y[12:]))


def test_canonical_variates_are_uncorrelated_in_the_fitted_samples():
    fit = rs.align(X[TRAIN], Y[TRAIN], method="mean_cca")
    a, b = (r.array for r in (fit.transform(X), fit.transform_target(Y)))
    both = np.corrcoef(a[TRAIN].T, b[TRAIN].T)
    assert np.diag(both[:6, 6:]).mean() == pytest.approx(rs.mean_cca(X[TRAIN], Y[TRAIN]))
    np.testing.assert_allclose(both[:6, :6], np.eye(6), atol=1e-9)
    assert fit.score(X[TEST], Y[TEST]) == pytest.approx(cosine(a[TEST], b[TEST]))


def test_regressions_predict_as_scikit_learn():
    penalties = [r * ((X[TRAIN] - X[TRAIN].mean(axis=0)) ** 2).sum() for r in RIDGE_PENALTIES]
    for method, model in (
        ("linear_regression", LinearRegression()),
        ("linear_predictivity", RidgeCV(penalties)),
    ):
        predicted = model.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
        fit = rs.align(X[TRAIN], Y[TRAIN], method=method)
        np.testing.assert_allclose(fit.transform(X[TEST]).array, predicted, atol=1e-9)
        np.testing.assert_allclose(fit.map, model.coef_.T, atol=1e-9)
        errors = ((Y[TEST] - predicted) ** 2).sum()
        share = 1 - errors / ((Y[TEST] - Y[TRAIN].mean(axis=0)) ** 2).sum()
        assert fit.score(X[TEST], Y[TEST]) == pytest.approx(share, rel=1e-9)


def median_correlation(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.median([np.corrcoef(p, t)[0, 1] for p, t in zip(predicted.T, y.T)]))


@pytest.mark.parametrize(("d", "components"), [(6, 3), (6, 6), (60, 25)])
def test_pls_and_ridge_are_those_of_brain_score(d, components):
    """brain-score/vision, regression_correlation/metric.py: scikit-learn's models, the median over
    units, the mean over the folds of a ``ShuffleSplit``. Its PLS stops at a tolerance."""
    x, y = related(60, d, 8)
    split = ShuffleSplit(4, train_size=0.9, random_state=1)
    for method, model, digits in (
        (f"pls[components={components}]", PLSRegression(components, scale=False, tol=1e-14), 1e-6),
        ("ridge[penalty=2.5]", Ridge(2.5), 1e-9),
    ):
        scores = []
        for a, b in split.split(x):
            predicted = model.fit(x[a], y[a]).predict(x[b])
            fit = rs.align(x[a], y[a], method=method)
            np.testing.assert_allclose(fit.transform(x[b]).array, predicted, atol=100 * digits)
            scores.append(median_correlation(predicted, y[b]))
        table = rs.compare({"x": x}, {"y": y}, measures=method, held_out=split, progress=False)
        (spec,) = table.keys()
        assert table[spec][0, 0] == pytest.approx(np.mean(scores), rel=digits)


def test_features_and_predictions_without_variation():
    y = np.column_stack([Y[:, 0], np.where(np.arange(60) < 40, Y[:, 1], 2), np.arange(60) // 40])
    fit = rs.align(X[TRAIN], y[TRAIN], method="ridge")  # column 1 is constant in TEST, 2 in TRAIN
    first = np.corrcoef(fit.transform(X[TEST]).array[:, 0], y[TEST, 0])[0, 1]
    y[40:, 2] += Y[40:, 2]
    assert fit.score(X[TEST], y[TEST]) == pytest.approx(first / 2)  # the median of first and 0
    rank_two = X[:, :2] @ np.ones((2, 5))
    few = rs.align(rank_two, Y, method="pls[components=4]")
    least_squares = rs.align(rank_two, Y, method="linear_regression")
    np.testing.assert_allclose(few.map, least_squares.map, atol=1e-9)


def test_a_target_without_relation_is_predicted_by_its_mean():
    noise = np.random.default_rng(0).standard_normal((40, 3))
    fit = rs.align(X[TRAIN], noise, method="linear_predictivity")
    np.testing.assert_array_equal(fit.map, 0)
    np.testing.assert_allclose(fit.transform(X).array, np.tile(noise.mean(axis=0), (60, 1)))


@pytest.mark.parametrize("units", ["raw", "unit"])
def test_matched_neurons_move_by_the_plan_of_the_fitted_samples(units):
    order = np.random.default_rng(3).permutation(6)
    shuffled = 5 * X[:, order] if units == "unit" else X[:, order]
    fit = rs.align(X[TRAIN], shuffled[TRAIN], method=rs.soft_matching.with_parameters(units=units))
    np.testing.assert_allclose(fit.transform(X).array, shuffled, atol=1e-9)
    assert fit.score(X[TEST], shuffled[TEST]) == pytest.approx(0, abs=1e-9)
    matched = rs.align(X[TRAIN], X[TRAIN][:, order], method="permutation_procrustes")
    np.testing.assert_array_equal(matched.map, np.eye(6)[:, order])


def test_an_alignment_keeps_names_ids_and_the_order_of_columns():
    ids = [f"s{i}" for i in range(40)]
    table = pd.DataFrame(X[TRAIN], columns=list("abcdef"))
    fit = rs.align(table, rs.Representation(Y[TRAIN], "brain", ids=ids))
    swapped = table[list("fedcba")]
    np.testing.assert_array_equal(fit.transform(swapped).array, fit.transform(table).array)
    mapped = fit.transform(rs.Representation(table, "model", ids=ids))
    assert (mapped.name, mapped.ids, mapped.shape) == ("model", tuple(ids), (40, 8))
    assert repr(fit) == (
        "<Alignment procrustes: a representation (6 features) to representation 'brain' "
        "(8 features), fitted to 40 samples>"
    )
    copy = pickle.loads(pickle.dumps(fit))
    assert copy.score(table, Y[TRAIN]) == fit.score(table, Y[TRAIN])
    with pytest.raises(AttributeError):
        fit.n_samples = 3


# ------------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("m", FITTED, ids=str)
def test_a_held_out_value_is_the_mean_over_folds(m):
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    scores = [rs.align(X[a], Y[a], method=m).score(X[b], Y[b]) for a, b in folds]
    jobs = 2 if m == FITTED[0] else 1
    options = {"measures": m, "held_out": iter(folds), "progress": False, "jobs": jobs}
    table = rs.compare({"x": X}, {"y": Y}, **options)
    (spec,) = table.keys()
    assert table[spec][0, 0] == pytest.approx(np.mean(scores), rel=1e-9)
    split = KFold(5, shuffle=True, random_state=0)
    again = rs.compare({"x": X}, {"y": Y}, measures=m, held_out=split, progress=False)
    assert again[spec][0, 0] == table[spec][0, 0]
    explicit = m.with_parameters(held_out=list(KFold(7).split(X)))(X, Y)
    assert m.with_parameters(held_out=7)(X, Y) == pytest.approx(explicit, rel=1e-12)


def test_the_default_is_every_measure_with_a_fit():
    table = rs.compare([X, Y], held_out=3, progress=False)
    assert list(table) == [f"{m}[held_out=3]" for m in FITTED]
    assert rs.get_measure("procrustes[held_out=3]").with_parameters(held_out=None) == rs.procrustes


def test_repeats_of_a_stimulus_stay_in_one_fold():
    ids = np.arange(60) % 20
    x = rs.Representation(X, "x", ids=ids)
    folds = [(np.flatnonzero(ids // 4 != k), np.flatnonzero(ids // 4 == k)) for k in range(5)]
    expected = rs.procrustes.with_parameters(held_out=folds)(X, Y)
    y = rs.Representation(Y, "y", ids=ids)
    assert rs.procrustes.with_parameters(held_out=5)(x, y) == pytest.approx(expected, rel=1e-12)
    sides = {"x": x}, {"y": y, "z": rs.Representation(Y**3, "z", ids=ids)}
    fits = [rs.linear_regression.with_parameters(held_out=f) for f in (5, folds)]
    number, given = (rs.score_models(*sides, measure=m) for m in fits)
    assert number.low == given.low > -2


def test_evidence_permutes_held_out_values():
    x, y = related(24, 3, 3)
    m = rs.procrustes.with_parameters(held_out=4)
    result = rs.evidence(
        {"x": x}, {"y": y}, measures="procrustes", held_out=4, n_permutations=39, progress=False
    )
    drawn = [m(x, y[result.design.order(k, "")]) for k in range(39)]
    assert result.chance(m)[0, 0] == pytest.approx(np.mean(drawn), rel=1e-9)
    p = (1 + sum(value <= m(x, y) for value in drawn)) / 40
    assert result.pvalue(m)[0, 0] == pytest.approx(p)
    assert result.low(m)[0, 0] < m(x, y) < result.high(m)[0, 0]


def test_evidence_keeps_blocks_in_one_fold():
    blocks = np.arange(60) % 15
    options = {"whole_blocks": blocks, "n_permutations": 3, "progress": False}
    result = rs.evidence({"x": X}, {"y": Y}, measures="linear_regression", held_out=5, **options)
    folds = [(np.flatnonzero(blocks // 3 != k), np.flatnonzero(blocks // 3 == k)) for k in range(5)]
    m = rs.linear_regression.with_parameters(held_out=folds)
    assert result.comparison[m.spec][0, 0] == m(X, Y)
    own = rs.evidence({"x": X}, {"y": Y}, measures=["linear_regression[held_out=5]"], **options)
    assert (own.low(m)[0, 0], own.high(m)[0, 0]) == (result.low(m)[0, 0], result.high(m)[0, 0])


def test_a_result_says_how_many_samples_no_fold_tests():
    folds = [(range(40), range(40, 50)), (range(20, 60), range(10))]
    for call in (rs.compare, rs.evidence):
        options = {"measures": "procrustes", "progress": False}
        (caveat,) = call({"x": X}, {"y": Y}, held_out=folds, **options).caveats
        assert "no fold of held_out tests 40 of 60 samples, such as row 10" in caveat
        assert not call({"x": X}, {"y": Y}, held_out=list(KFold(5).split(X)), **options).caveats


FIRST = rs.align(X[TRAIN], Y[TRAIN])
NAMED = rs.align(pd.DataFrame(X, columns=list("abcdef")), Y)
MISTAKES = [
    (lambda: rs.align(X, Y[:30]), r"X \(60, 6\) and Y \(30, 8\) must have the same number"),
    (lambda: rs.align(X, Y, method="ols"), "no method 'ols'; did you .* 'linear_regression'"),
    (lambda: rs.align(X, Y, method="lasso"), r"no method 'lasso'; the methods are mean_cca.*pls"),
    (
        lambda: rs.align(X, Y, method="shape_distance[alpha=1,held_out=5]"),
        r"one map to all samples; write method='shape_distance\[alpha=1\]'",
    ),
    (lambda: rs.align(X, Y, method="pls"), r"25 features of X and 26 .*\(60, 6\).*components=6"),
    (lambda: rs.align(X, Y, method="ridge[penalty=-1]"), "ridge: penalty must be from 0"),
    (lambda: rs.align(X, 0 * Y, method="pls[components=2]"), "Y is constant over the training"),
    (lambda: rs.align(X, Y, method="cka"), "cka fits no map.* procrustes, "),
    (lambda: rs.align(0 * X, Y), "X is constant"),
    (lambda: FIRST.transform(X[:, :4]), r"\(60, 4\) has 4 features, and the alignment was .* 6"),
    (lambda: NAMED.transform(pd.DataFrame(X, columns=list("abcdeg"))), "g"),
    (lambda: FIRST.score(X, Y[:30]), "same number of samples"),
    (lambda: FIRST.transform(np.full((2, 6), np.nan)), "NaN"),
    (lambda: rs.compare([X, Y], measures="cka", held_out=3), "compare: cka fits no map"),
    (lambda: rs.evidence([X, Y], measures="rsa", held_out=3), "evidence: rsa fits no map"),
    (lambda: rs.get_measure("cka[held_out=3]"), "cka fits no map"),
    (
        lambda: rs.linear_regression.with_parameters(predict="first", held_out=3),
        r"linear_regression\[predict=first\] fits no map",
    ),
    (lambda: rs.compare([X, Y], held_out=1), "a number of folds from 2.* got 1"),
    (lambda: rs.compare([X, Y], held_out=True), "a number of folds from 2.* got True"),
    (lambda: rs.compare([X, Y], held_out=[]), "no fold"),
    (lambda: rs.compare([X, Y], held_out=[([0, 1], [1, 2])]), "row 1 is in the training samples"),
    (lambda: rs.compare([X, Y], held_out=[([0, 1], [60])]), r"row 60.* rows 0 to 59"),
    (lambda: rs.compare([X, Y], held_out=[(X[:, 0] > 3, X[:, 0] < 3)]), "pair .* of row numbers"),
    (lambda: rs.compare([X, Y], held_out=[([0, 1], [])]), "at least one of each"),
    (lambda: rs.procrustes.with_parameters(held_out=61)(X, Y), "at least 61"),
    (lambda: rs.procrustes.with_parameters(held_out=[([0], [1, 2])])(X, Y), "fold 1 of 1: X is co"),
]


def test_mistakes_are_named(subtests):
    for call, words in MISTAKES:
        with subtests.test(words), pytest.raises(ValueError, match=words):
            call()


def test_splitters_that_need_labels_and_folds_given_twice_are_refused():
    x, y = np.random.default_rng(0).standard_normal((2, 20, 3))
    sides = {"x": x}, {"y": y}
    with pytest.raises(ValueError, match=r"compare: held_out=.* does not split 20 samples.*pass"):
        rs.compare(*sides, held_out=StratifiedSplitter())
    with pytest.raises(ValueError, match="make a splitter first, StratifiedSplitter"):
        rs.compare(*sides, held_out=StratifiedSplitter)
    with pytest.raises(ValueError, match="give the folds once"):
        rs.compare(*sides, measures="procrustes[held_out=5]", held_out=4)
    with pytest.raises(ValueError, match="evidence: held_out has one fold"):
        rs.evidence(*sides, measures="procrustes", held_out=[(range(19), [19])])


class StratifiedSplitter:
    """A splitter that needs labels, as ``StratifiedKFold`` of scikit-learn."""

    def split(self, X, y):
        raise NotImplementedError
