"""Expectations of pairs and the qualities that judge measured differences by them: golden values
and exact cases."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from resemblance.bench.grounding import (
    apply,
    auprc,
    auprc_of_ratios,
    auprc_of_similarities,
    by_prediction,
    conformity,
    conformity_strict,
    spearman,
)
from resemblance.bench.resi.rules import RULES_BY_PROTOCOL
from resemblance.significance import mantel, pairings

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "resi_evaluation.json").read_text())[
    "quality_metrics"
]


def number(value):
    """A golden number; where the code raised there is no value."""
    return np.nan if value == "nan" or isinstance(value, dict) else float(value)


def differences(case):
    """The matrix of a golden case as differences: similarities negated, one order for both if
    declared symmetric."""
    matrix = np.array([[number(v) for v in row] for row in case["matrix"]])
    if case["is_symmetric"]:
        upper = np.triu(matrix, 1)
        matrix = upper + upper.T + np.diag(np.diag(matrix))
    return -matrix if case["larger_is_more_similar"] else matrix


def lists(case):
    measured = np.array([number(v) for v in case["intra"] + case["cross"]])
    expected = np.array([0.0] * len(case["intra"]) + [1.0] * len(case["cross"]))
    return -measured if case["larger_is_more_similar"] else measured, expected


def graded(protocol, kind, quality, case, expectation):
    rule = RULES_BY_PROTOCOL[protocol][kind, quality].of(case["larger_is_more_similar"])
    matrix = differences(case)
    return apply(rule, matrix, rule.blocks(expectation, both_orders=not case["is_symmetric"]))


# ------------------------------------------------------------------- the code of the ReSi benchmark


def test_lists_of_pairs_as_in_the_authors_code(subtests):
    for name in GOLDEN["list_functions"]:
        with subtests.test(str(name)):
            case = GOLDEN["list_functions"][name]
            measured, expected = lists(case)
            violations = 1 - conformity_strict(measured, expected).value
            np.testing.assert_allclose(violations, number(case["violation_rate"]), rtol=1e-12)
            # Called like this the code forgets missing pairs and empty lists, which its caller
            # looks after.
            if name not in ("with_nan__dist", "empty_intra__sim"):
                larger = case["larger_is_more_similar"]
                quality = auprc_of_similarities if larger else auprc_of_ratios
                np.testing.assert_allclose(
                    quality(measured, expected).value, number(case["auprc"]), rtol=1e-12
                )


def groups_of(case):
    return np.repeat(np.arange(len(case["group_sizes"])), case["group_sizes"]).tolist()


@pytest.mark.parametrize("name", GOLDEN["group_separation"])
def test_group_separation(name):
    case = GOLDEN["group_separation"][name]
    reference, paper = case["reference"], case["paper_alternatives"]
    for quality, key in (("conformity", "conformity_rate_in_tables"), ("auprc", "AUPRC")):
        value = graded("resi-code", "group", quality, case, groups_of(case))
        np.testing.assert_allclose(value, number(reference[key]), rtol=1e-12)
    as_it_is = dict(case, is_symmetric=False)
    value = graded("paper", "group", "conformity", as_it_is, groups_of(case))
    np.testing.assert_allclose(
        value, number(paper["anchored_conformity_eq7_ties_conform"]), rtol=1e-12
    )


@pytest.mark.parametrize("name", GOLDEN["monotonicity"])
def test_monotonicity(name):
    case = GOLDEN["monotonicity"][name]
    reference, paper, layers = case["reference"], case["paper_alternatives"], len(case["matrix"])
    value = graded("resi-code", "order", "spearman", case, layers)
    np.testing.assert_allclose(value, number(reference["correlation"]), rtol=1e-12)
    value = graded("resi-code", "order", "conformity", case, layers)
    np.testing.assert_allclose(1 - value, number(reference["violation_rate"]), atol=1e-12)
    value = graded("paper", "order", "conformity", case, layers)
    np.testing.assert_allclose(value, number(paper["eq8_all_nested_tuples_conformity"]), rtol=1e-12)
    value = graded("paper", "order", "spearman", case, layers)
    np.testing.assert_allclose(
        value, number(paper["global_spearman_of_sim_vs_distance_sign_flipped"]), rtol=1e-12
    )


FUNCTIONS = {"JSD": "jsd", "Disagreement": "disagreement", "AbsoluteAccDiff": "accuracy"}


def behavior(case, key):
    if key != "accuracy":
        return np.array([[number(v) for v in row] for row in case[key]])
    accuracy = np.array([number(v) for v in case["accuracy"]])
    return abs(accuracy[:, None] - accuracy[None, :])


def test_output_correlation(subtests):
    for function in FUNCTIONS:
        for name in GOLDEN["output_correlation"]:
            with subtests.test(f"{function}, {name}"):
                case, key = GOLDEN["output_correlation"][name], FUNCTIONS[function]
                expected = behavior(case, key)
                reference = case["reference"][function]["spearmanr"]
                for protocol in RULES_BY_PROTOCOL:
                    value = graded(protocol, "prediction", "spearman", case, expected)
                    np.testing.assert_allclose(value, number(reference["corr"]), rtol=1e-9)
                block = by_prediction(expected, both_orders=not case["is_symmetric"])[0]
                p = pairings(differences(case)[block.rows, block.columns], block.expected)
                # The code gives a p-value, and stars, to a correlation that does not exist.
                if np.isnan(number(reference["corr"])):
                    assert np.isnan(p)
                    continue
                drawn = reference["pval_two_sided_permutation"]  # 999 pairings, without a seed
                tolerance = 1e-12 if len(case["accuracy"]) == 4 else 0.06
                assert p == pytest.approx(drawn, abs=tolerance)


# -------------------------------------------------------------------------- qualities, exact values


@pytest.mark.parametrize("decimals", [0, 1, 9])  # many ties, few, none
def test_average_precision_is_that_of_scikit_learn(rng, decimals):
    expected, measured = rng.integers(2, size=90), rng.standard_normal(90).round(decimals)
    value = average_precision_score(expected == 0, -measured)
    assert auprc(measured, expected).value == pytest.approx(value, rel=1e-13)


def test_infinite_differences_are_the_largest():
    measured, expected = np.array([0.0, np.inf, 1.0]), np.array([0.0, 2.0, 1.0])
    assert spearman(measured, expected).value == pytest.approx(1)
    assert auprc(measured, np.array([0.0, 1.0, 1.0])).value == 1
    assert conformity(measured, expected).value == 1


@pytest.mark.parametrize("quality", [spearman, conformity, auprc])
def test_missing_pairs_are_left_out(quality):
    measured, expected = np.array([0.1, np.nan, 0.3, 0.2]), np.array([0.0, 1.0, 1.0, 0.0])
    known = ~np.isnan(measured)
    assert quality(measured, expected) == quality(measured[known], expected[known])
    assert np.isnan(quality(np.full(4, np.nan), expected).value)


# -------------------------------------------------------------------------------- permutation tests


def distances(points):
    return abs(points[:, None] - points[None, :])


def test_mantel_is_exact_for_few_models():
    """Of 24 permutations of four models, count by hand those that correlate at least as well."""
    rng = np.random.default_rng(0)
    a, b = distances(rng.normal(size=4)), distances(rng.normal(size=4))
    pairs = np.triu_indices(4, 1)
    from itertools import permutations

    observed = spearmanr(a[pairs], b[pairs])[0]
    drawn = np.array(
        [spearmanr(a[pairs], b[np.ix_(p, p)][pairs])[0] for p in permutations(range(4))]
    )
    larger, smaller = (drawn >= observed - 1e-9).mean(), (drawn <= observed + 1e-9).mean()
    assert mantel(a, b) == pytest.approx(min(1, 2 * min(larger, smaller)))


def test_mantel_finds_agreement_and_is_seeded():
    points = np.random.default_rng(1).normal(size=10)
    a, b = distances(points), distances(points + np.random.default_rng(2).normal(size=10) / 20)
    assert mantel(a, b, n_permutations=999) == pytest.approx(2 / 1000)
    unrelated = distances(np.random.default_rng(3).normal(size=10))
    assert (
        mantel(a, unrelated, seed=4) == mantel(a, unrelated, seed=4) != mantel(a, unrelated, seed=5)
    )
    assert mantel(a, unrelated) > 0.05


def test_mantel_leaves_out_missing_pairs_and_has_no_value_for_constants():
    points = np.random.default_rng(5).normal(size=6)
    a, b = distances(points), distances(points**3)
    a[0, 1] = a[1, 0] = np.nan
    assert 0 < mantel(a, b) < 0.05
    assert np.isnan(mantel(np.ones((6, 6)), b))
    assert np.isnan(mantel(np.full((6, 6), np.nan), b))
    assert np.isnan(pairings(np.full(5, np.nan), np.arange(5.0)))
    assert np.isnan(pairings(np.ones(5), np.arange(5.0)))


def test_permuting_pairs_finds_too_much_and_permuting_models_does_not():
    """Matrices of distances between unrelated points: a test at 5 % should reject about 5 % of
    them."""
    rejected, trials = np.zeros(2), 300
    pairs = np.triu_indices(10, 1)
    for trial in range(trials):
        x, y = np.random.default_rng(trial).normal(size=(2, 10, 3))
        a, b = (np.linalg.norm(p[:, None] - p, axis=-1) for p in (x, y))
        rejected += (
            mantel(a, b, n_permutations=199) <= 0.05,
            pairings(a[pairs], b[pairs], n_permutations=199) <= 0.05,
        )
    # The numbers on the page about ReSi; 15 are to be expected.
    assert rejected == pytest.approx([13, 31], abs=1)
