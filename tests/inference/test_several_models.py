"""Scores of a model beside other models: least squares, residuals, and the numbers of mne-rsa."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import rankdata
from test_score_models import experiment

import resemblance as rs
from resemblance.inference.several_models import joint_scores

QUIET: dict[str, Any] = {"progress": False}
SCORES = ("partial", "semipartial", "regression", "nonnegative_regression", "unique_variance")


def pair_vectors(matrices: list[np.ndarray], compare: str, shared: np.ndarray) -> np.ndarray:
    """Return dissimilarities of the shared pairs as the comparison prepares them, of length 1; the
    whitened ones with the covariance of all pairs formed and inverted."""
    n = len(matrices[0])
    at = np.triu_indices(n, 1)
    d = np.array([matrix[at][shared] for matrix in matrices])
    root = np.eye(d.shape[1])
    if compare == "spearman":
        d = rankdata(d, axis=1)
    if compare.startswith("whitened"):
        contrasts = np.eye(n)[at[0]] - np.eye(n)[at[1]]
        root = np.linalg.cholesky(np.linalg.inv((contrasts @ contrasts.T) ** 2)).T
    d, ones = d @ root.T, root.sum(axis=1)
    if "cosine" not in compare:
        d = d - np.outer(d @ ones / (ones @ ones), ones)
    return np.asarray(d / np.linalg.norm(d, axis=1, keepdims=True))


def without(y: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the residual of y after least squares on the rows of others."""
    return np.asarray(y - others.T @ np.linalg.lstsq(others.T, y)[0])


def score_by_definition(y: np.ndarray, models: np.ndarray, score: str) -> np.ndarray:
    """Return the score of each model by least squares, and by correlation of residuals."""
    if score == "regression":
        return np.asarray(np.linalg.lstsq(models.T, y)[0])
    if score == "nonnegative_regression":
        return np.asarray(nnls(models.T, y)[0])
    values = []
    for k, model in enumerate(models):
        others = np.delete(models, k, axis=0)
        rest, left = without(model, others), without(y, others)
        length = np.linalg.norm(left) if score == "partial" else np.linalg.norm(y)
        values.append(y @ rest / (np.linalg.norm(rest) * length))
    if score == "unique_variance":
        whole = 1 - np.linalg.norm(without(y, models)) ** 2
        less = [1 - np.linalg.norm(without(y, np.delete(models, k, 0))) ** 2 for k in range(3)]
        return np.array([*(whole - less), whole])
    return np.array(values)


def scores_of_subjects(
    models: list[np.ndarray], subjects: list[np.ndarray], compare: str, score: str, rows: Any
) -> np.ndarray:
    """Return the scores by definition on some stimuli; a subject may have rows of NaN."""
    table = []
    for x in subjects:
        part = [y[rows] for y in (x, *models)]
        shared = ~np.isnan(part[0]).any(axis=1)
        pairs = (shared[:, None] & shared)[np.triu_indices(len(shared), 1)]
        y, *columns = pair_vectors(
            [((v[:, None] - v) ** 2).sum(axis=-1) for v in part], compare, pairs
        )
        table.append(score_by_definition(y, np.array(columns), score))
    return np.array(table)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("compare", ["pearson", "spearman", "cosine", "whitened_pearson"])
def test_scores_and_their_jackknife_are_those_of_least_squares(score: str, compare: str) -> None:
    models, subjects = experiment(n=12, count=3)
    measure = f"rsa[rdm=sqeuclidean,compare={compare}]"
    result = rs.score_models(models, subjects, measure=measure, score=score, **QUIET)
    sides = list(models.values()), list(subjects.values())

    def scores(rows: np.ndarray) -> np.ndarray:
        return scores_of_subjects(*sides, compare, score, rows)

    stimuli = np.arange(12)
    assert np.allclose(result.values, scores(stimuli), rtol=0, atol=1e-9)
    assert result.models == (*models, *(["all models"] if score == "unique_variance" else []))
    means = np.array([scores(np.delete(stimuli, i)).mean(axis=0) for i in stimuli])
    variance = 11 / 12 * ((means - means.mean(axis=0)) ** 2).sum(axis=0)
    exact = (
        0.1 if compare == "spearman" else 1e-6
    )  # ranks without a stimulus: see leave_one_out_rsa
    assert np.diagonal(result.covariances[1]) == pytest.approx(variance, rel=exact, abs=1e-12)
    assert result.ceiling is None
    assert {record["score"] for record in result.records()} == {score}
    label = rs.plot.draw(result).get_xlabel().replace("\n", " ")
    assert label.startswith(f"{result.summary().partition(' by ')[2].partition(',')[0]}, rsa")


@pytest.mark.parametrize("compare", ["pearson", "spearman"])
def test_a_subject_without_a_stimulus_is_regressed_on_the_pairs_that_it_has(compare: str) -> None:
    models, subjects = experiment(n=12, count=3)
    subjects["s1"] = np.where(np.arange(12)[:, None] == 4, np.nan, subjects["s1"])
    measure = f"rsa[rdm=sqeuclidean,compare={compare}]"
    result = rs.score_models(models, subjects, measure=measure, score="partial", **QUIET)
    sides = list(models.values()), list(subjects.values())
    expected = scores_of_subjects(*sides, compare, "partial", np.arange(12))
    assert np.allclose(result.values, expected, rtol=0, atol=1e-9)


def cosines_of(*vectors: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the correlations of the first vector with the others, and between the others."""
    table = np.corrcoef(vectors)
    return table[0, 1:], table[1:, 1:]


def test_values_are_the_stored_ones_of_mne_rsa() -> None:
    """Its tests of `partial` (an example of Wikipedia) and `partial-spearman` (by MATLAB), and the
    weights of its `regression`, in units of the standard deviations."""
    one, two = np.array([1, 2, 3, 4]), np.array([0, 0, 1, 1])
    partial = joint_scores(*cosines_of([2, 4, 15, 20], one, two), "partial")
    assert partial == pytest.approx([0.919145, 0.912871], abs=1e-6)
    ranked = cosines_of(*(rankdata(v) for v in ([2, 4, 20, 15], one, two)))
    assert joint_scores(*ranked, "partial") == pytest.approx([0, 2 / 3], abs=1e-12)
    one, two = np.array([-1, 0, 1]), np.array([1, -2, 1])
    y = 3 * one + 5 * two
    weights = joint_scores(*cosines_of(y, one, two), "regression")
    assert weights * y.std() / [one.std(), two.std()] == pytest.approx([3, 5])


def test_a_model_that_others_explain_has_no_partial_correlation() -> None:
    """With a correlation of the true model and the other one, the other one alone scores high."""
    rng = np.random.default_rng(0)
    seen = rng.standard_normal((40, 6))
    like = np.c_[seen[:, :3], rng.standard_normal((40, 3))]
    subjects = {
        f"s{i}": seen @ rng.standard_normal((6, 20)) + 2 * rng.standard_normal((40, 20))
        for i in range(8)
    }
    options: dict[str, Any] = {"measure": "rsa[rdm=sqeuclidean,compare=whitened_pearson]", **QUIET}
    sides = {"seen": seen, "like": like}, subjects
    assert (rs.score_models(*sides, **options).above_0() < 0.05).all()
    beside = rs.score_models(*sides, score="partial", **options)
    assert beside.above_0()[0] < 0.05 < beside.above_0()[1]
    unique = rs.score_models(*sides, score="unique_variance", **options)
    squares = rs.score_models(*sides, score="semipartial", **options).values ** 2
    assert unique.values[:, :2] == pytest.approx(squares)
    assert unique.difference("seen", "like").low > 0
    text = repr(unique)
    assert text.startswith("ModelScores 8 subjects by unique variance, rsa[")
    assert "all models" in text
    with pytest.raises(ValueError, match="score='semipartial'"):
        unique.above_0()


def test_what_has_no_score_beside_others_is_refused(subtests: Any) -> None:
    models, subjects = experiment(count=2)
    x = models["true"]
    cases: dict[str, tuple[str, Any, dict[str, Any]]] = {
        "another score": ("semipartial", models, {"score": "semi"}),
        "one model": ("two models", {"true": x}, {}),
        "no cosine": ("cosine", models, {"measure": "procrustes"}),
        "tau": ("cosine", models, {"measure": "rsa[compare=kendall]"}),
        "folds": ("no folds", models, {"folds": 2}),
        "a list": ("each part", {"sum": [x, x[:, :3]], "x": x}, {}),
        "twice": ("true, again are linearly dependent", {"true": x, "again": 2 * x}, {}),
        "a name": ("rename", {"all models": x, "x": x[:, :3]}, {"score": "unique_variance"}),
    }
    for name, (message, columns, options) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.score_models(columns, subjects, **{"score": "partial", **QUIET, **options})
