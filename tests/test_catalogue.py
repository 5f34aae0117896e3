"""The catalogue describes itself: names, labels, claims, parameters, and how a measure is found and
extended."""

from __future__ import annotations

import html
import inspect
import pickle
import re

import numpy as np
import pytest
from test_docs import bibliography

import resemblance as rs
from resemblance.catalogue import get_measures
from resemblance.checks.data import with_repeats
from resemblance.contracts._measure import MEASURE_FAMILIES
from resemblance.contracts.claims import implied_invariances

TABLE_2 = [
    "PWCCA", "SVCCA", "AlignCos", "AngShape", "HardCorr", "LinReg", "OrthProc", "PermProc",
    "ProcDist", "SoftCorr",
    "CKA", "DistCorr", "EOS", "GULP", "RSA", "RSMDiff", "2nd-Cos", "Jaccard", "RankSim", "IMD",
    "RTD", "ConcDiff",
    "MagDiff", "UnifDiff",
]  # fmt: skip


def test_presets_are_the_24_measures_of_the_paper_in_its_order():
    assert [m.label for m in rs.preset("resi")] == TABLE_2
    assert [m.label for m in rs.preset("default")] == TABLE_2
    assert all(m.parameters == () for m in rs.preset("default"))
    of_representations = {m for m in rs.list_measures() if m.family != "outputs"}
    without_repeats = {m for m in of_representations if m.takes != "repeats"}
    assert set(rs.preset("all")) == without_repeats
    repeats = {rs.gaussian_stochastic_shape, rs.energy_stochastic_shape}
    assert of_representations - without_repeats == repeats
    assert get_measures("quick") == list(rs.preset("quick"))
    variants = {m.spec for m in set(rs.preset("leaderboard")) - set(rs.preset("all"))}
    assert variants == {"cka[estimator=debiased]", "rsa[rdm=euclidean]"}


def test_names_and_labels_are_unique():
    measures = rs.list_measures()
    names = [m.name.lower() for m in measures] + [m.label.lower() for m in measures]
    # "cka" and "CKA" are one measure.
    shared = {m.name for m in measures if m.name.lower() == m.label.lower()}
    assert len(set(names)) == len(names) - len(shared)


def test_every_measure_and_statistic_is_documented(subtests):
    """One sentence, a formula, and a reference that is in the bibliography."""
    for m in [*rs.list_measures(), *rs.list_statistics()]:
        with subtests.test(str(m)):
            text = inspect.getdoc(m.function)
            assert ".. math::" in text
            assert "Reference: " in text
            first = text.split("\n\n")[0]
            assert first.endswith((".", "?"))
            assert isinstance(m, rs.Statistic) or not re.search(r"[.?] ", first)
            assert m.citation in bibliography()


def test_every_measure_is_described(subtests):
    for m in rs.list_measures():
        with subtests.test(str(m)):
            text = inspect.getdoc(m.function)
            assert m.summary.endswith(".")
            assert ":" in m.summary
            assert m.family in MEASURE_FAMILIES
            assert m.invariant_to == implied_invariances(m.invariant_to)
            assert m.range[0] < m.range[1]
            assert not (m.metric and m.larger_is_more_similar)
            assert len(text.splitlines()) > 4
            assert getattr(rs, m.name) is m
            assert m.__doc__ == m.function.__doc__


def test_specifications_round_trip():
    for m in (
        *rs.preset("resi"),
        rs.cka.with_parameters(kernel="rbf", bandwidth=0.5),
        rs.cka.with_parameters(kernel="rbf", width=0.5),
        rs.pwcca.with_parameters(weights="symmetric"),
    ):
        assert rs.get_measure(m.spec) == m
        assert rs.get_measure(m.spec).parameters == m.parameters
        assert pickle.loads(pickle.dumps(m)) == m


def test_where_with_the_default_value_is_the_measure_itself():
    assert rs.cka.with_parameters(estimator="biased") == rs.cka
    assert rs.cka.with_parameters(estimator="biased").spec == "cka"
    debiased = rs.cka.with_parameters(estimator="debiased")
    assert debiased.with_parameters(estimator="biased").range == (0, 1)
    assert debiased.spec == "cka[estimator=debiased]"
    assert debiased.with_parameters(kernel="cosine").all_pairs is None
    assert (
        debiased.with_parameters(kernel="cosine").with_parameters(kernel="linear").all_pairs
        is not None
    )


def plain(x, y):
    return 0.0


def test_a_decorator_without_claims_says_so():
    with pytest.raises(TypeError, match=r"by name: @rs\.measure\(label=\.\.\., family="):
        rs.measure(plain)
    with pytest.raises(TypeError, match=r"by name: @rs\.statistic\(label=\.\.\., family="):
        rs.statistic(plain)


def test_claims_that_no_measure_can_hold_are_refused():
    claims = {"label": "M", "family": "cca", "citation": "x", "range": (0, 1)}
    wrong = {"got 'CCA'; did you mean 'cca'": {"family": "CCA"}}
    wrong |= {r"must be (smallest, largest); got (1, 0)": {"range": (1, 0)}}
    for message, claim in wrong.items():
        with pytest.raises(ValueError, match=re.escape(message)):
            rs.measure(larger_is_more_similar=True, **(claims | claim))(plain)


DECORATED = (
    "decorate plain with @resemblance.measure(label='plain', family='similarity_matrix', "
    "larger_is_more_similar=True, range=(0, 1), citation='plain')"
)


def test_mistakes_are_named_with_a_remedy(subtests):
    for call, message in [
        (lambda: rs.get_measure("ckaa"), "did you mean 'cka'"),
        (lambda: rs.get_measure("cka[estimater=debiased]"), "did you mean 'estimator'"),
        (
            lambda: rs.get_measure("cka[estimator=unbiased]"),
            "must be one of 'biased', 'debiased', 'lange'",
        ),
        (lambda: rs.get_measure("cka[debiased]"), "parameter=value"),
        (lambda: rs.get_measure("cka["), "not a measure"),
        (
            lambda: rs.get_measure("cka[estimator=biased,estimator=lange]"),
            "a parameter is given twice",
        ),
        (lambda: rs.procrustes.with_parameters(k=3), "no parameter 'k'"),
        (lambda: rs.list_measures(family="ccaa"), "did you mean 'cca'"),
        (lambda: rs.list_measures(invariant_to="rotation"), "no invariance 'rotation'"),
        (lambda: rs.list_measures(invariant_to="scaling"), "did you mean 'isotropic_scaling'?"),
        (
            lambda: rs.preset("resy"),
            "preset must be one of 'all', 'default', 'leaderboard', 'quick', 'resi'; got 'resy'",
        ),
        (lambda: rs.gulp(np.eye(5), np.eye(5), ridge=-1), "ridge must be from 0 to inf; got -1"),
        (lambda: rs.procrustes.with_parameters(squared="no"), "squared must be of type bool"),
        (lambda: rs.jaccard.with_parameters(k=2.5), "k must be of type int"),
        (lambda: rs.jaccard.with_parameters(k=True), "k must be of type int"),
        (
            lambda: rs.get_measure("accuracy_difference[labels=<60 values 1a2b>]"),
            "expected parameter=value",
        ),
        (
            lambda: rs.Representation(np.eye(3), dtype="int32"),
            "dtype must be 'float32' or 'float64'",
        ),
        (lambda: rs.Representation("x.npz"), "not a .npy file"),
        (lambda: rs.get_measure("CCA"), "did you mean 'mean_cca'?"),
        (lambda: rs.get_measure("debiased_cka"), "did you mean 'cka[estimator=debiased]'?"),
        (lambda: rs.get_measure("Mantel"), "did you mean 'rsa'?"),
        (lambda: rs.list_measures(not_invariant_to=["afine"]), "did you mean 'affine'?"),
        (
            lambda: rs.list_measures(invariant_to="affine", not_invariant_to="translation"),
            "both contain 'translation', which affine implies; drop one",
        ),
        (lambda: rs.list_measures(symmetric="yes"), "symmetric must be True or False; got 'yes'"),
        (lambda: rs.list_measures(metric=True, symmetric=False), "a metric is symmetric"),
        (lambda: rs.list_measures(family=["cca"]), "family must be one name, such as 'cca'; got"),
        (lambda: rs.list_measures(invariant_to=5), "an invariance must be a name, such as"),
        (lambda: rs.list_measures(n_samples=0), "n_samples must be a whole number from 1; got 0"),
        (lambda: rs.list_measures(n_features=2.5), "n_features must be a whole number from 1"),
        (lambda: rs.cka.with_parameters(rotation=1), "cka has no parameter 'rotation'; known: "),
        (lambda: rs.get_measure(plain), DECORATED),
        (lambda: rs.get_measure(3), "not a measure: 3; give a name"),
        (lambda: rs.compare([np.eye(3)], measures=["cka", plain]), DECORATED),
        (lambda: rs.rtd(np.eye(5), np.eye(5), seed=-1, subsample=4), "seed must be a non-negative"),
    ]:
        with subtests.test(message), pytest.raises(ValueError, match=re.escape(message)):
            call()


def names(**properties):
    return {m.name for m in rs.list_measures(**properties)}


def test_a_filter_lists_the_measures_with_all_requested_properties():
    both = rs.list_measures(invariant_to=("orthogonal", "translation"), metric=True)
    assert {m.name for m in both} >= {"procrustes", "shape_distance", "bures"}
    assert both == [
        m
        for m in rs.list_measures()
        if m.metric and {"orthogonal", "translation"} <= m.invariant_to
    ]
    for claim in ("symmetric", "metric", "differentiable"):
        with_claim, without = names(**{claim: True}), names(**{claim: False})
        assert with_claim
        assert without
        assert with_claim | without == names()
        assert with_claim == {m.name for m in rs.list_measures() if getattr(m, claim)}


def test_stronger_invariances_imply_weaker_ones_in_a_filter():
    assert names(invariant_to="affine") <= names(invariant_to="permutation")
    assert names(invariant_to=["invertible_linear", "translation"]) == names(invariant_to="affine")
    unchanged = names(invariant_to="orthogonal")
    assert names(not_invariant_to="orthogonal") == names() - unchanged
    assert "gulp" not in names(not_invariant_to="isotropic_scaling")
    without = names(not_invariant_to={"orthogonal", "translation"})
    assert without == names() - unchanged - names(invariant_to="translation")


def test_measures_that_need_more_samples_or_features_are_left_out(rng):
    """Below the fewest samples or features a measure has no value; from there on it has one."""
    assert names() - names(n_samples=10) >= {"jaccard", "mutual_knn", "mka"}
    assert names() - names(n_features=1) == {"rsa"}
    for m in rs.list_measures():
        if m.family == "outputs":
            continue
        assert m.name in names(n_samples=m.min_samples, n_features=m.min_features)
        n = max(m.min_samples, 6)
        assert np.isfinite(
            m(*(with_repeats(m, x) for x in rng.standard_normal((2, n, m.min_features))))
        )
        if m.min_samples > 1:
            assert m.name not in names(n_samples=m.min_samples - 1)
            with pytest.raises(ValueError, match="samples"):
                m(*rng.standard_normal((2, m.min_samples - 1, 5)))
        if m.min_features > 1:
            assert m.name not in names(n_features=m.min_features - 1)
            with pytest.raises(rs.UndefinedError):
                m(*rng.standard_normal((2, n, m.min_features - 1)))
    assert rs.rsa.with_parameters(rdm="euclidean").min_features == 1


def test_parameters_are_given_by_name(rng):
    with pytest.raises(
        TypeError, match=r"cka takes two representations; .* by name: cka\(X, Y, kernel=...\)"
    ):
        rs.cka(*rng.standard_normal((2, 9, 3)), "rbf")


def test_specifications_with_tuples_and_signs():
    assert dict(rs.get_measure("accuracy_difference[labels=(0, 1, 1)]").parameters) == {
        "labels": (0, 1, 1)
    }
    assert rs.get_measure("rtd[ subsample=5 , repeats=2 ]").parameters == (
        ("repeats", 2),
        ("subsample", 5),
    )


def test_a_repr_says_the_claims_in_a_few_words(subtests):
    for found in [*rs.list_measures(), *rs.list_statistics()]:
        with subtests.test(str(found)):
            text = repr(found)
            assert len(text) < 300
            assert text.startswith(f"<{type(found).__name__.lower()} {found.spec}: {found.label}, ")
            assert all(name.replace("_", " ") in text for name in found.invariant_to)
            assert html.escape(found.summary) in found._repr_html_()


@rs.measure(
    label="Shift", family="descriptive", larger_is_more_similar=False, range=(0, np.inf),
    citation="gretton2012kernel", invariant_to={"isotropic_scaling"}, needs_equal_columns=True,
)  # fmt: skip
def shift(x, y):
    """How far the largest column moves, column by column."""
    return abs(x.xp.argmax(x.xp.sum(x.array, axis=0)) - x.xp.argmax(x.xp.sum(y.array, axis=0)))


def test_claims_decide_whether_other_widths_are_compared():
    """What no order of the columns leaves unchanged has no value of other widths."""
    rng = np.random.default_rng(0)
    x, y = rng.random((50, 8)), rng.random((50, 9))
    for m in (rs.mmd, rs.sliced_wasserstein, rs.mmd.with_parameters(bandwidth=2.0), shift):
        for pair in ((x, y), (y, x)):
            with pytest.raises(ValueError, match=rf"{m.name}.* \(50, .* 8 and|9 and .*cka"):
                m(*pair)
        assert m(x, y[:, :8]) >= 0
    assert {m.name for m in rs.list_measures() if m.needs_equal_columns} == {
        "mmd",
        "sliced_wasserstein",
    }
    result = rs.compare({"a": x, "b": y}, measures=["mmd", "cka"], progress=False)
    assert result["cka"][0, 1] > 0  # the remedy
    assert {(f.measure, f.x, f.y) for f in result.failures} == {
        ("mmd", "a", "b"),
        ("mmd", "b", "a"),
    }
    evidence = rs.evidence(x, y, measures=["mmd", "cka"], n_permutations=19, progress=False)
    assert np.isnan(evidence["mmd"][0, 0])
    assert evidence["cka"][0, 0] > 0


def test_the_decorator_that_a_plain_function_is_told_works():
    def plain(x, y):
        """Plain: one half."""
        return 0.5

    def plain_statistic(x):
        """Plain: one half."""
        return 0.5

    for get, function, data in (
        (rs.get_measure, plain, [np.eye(4)] * 2),
        (rs.get_statistic, plain_statistic, [np.eye(4)]),
    ):
        with pytest.raises(ValueError, match=f"decorate {function.__name__} with @") as error:
            get(function)
        line = str(error.value).partition("with @")[2].partition(", and fill in")[0]
        assert eval(line, {"resemblance": rs})(function)(*data) == 0.5
