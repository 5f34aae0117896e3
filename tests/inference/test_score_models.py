"""Models against several subjects: rsatoolbox's numbers, evidence's, and repeated experiments."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial.distance import pdist
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr

import resemblance as rs
from resemblance import cli
from resemblance.inference.fitting import nonnegative_cosine_weights

COSINE = "rsa[rdm=sqeuclidean,compare=cosine]"
PEARSON = "rsa[rdm=sqeuclidean,compare=pearson]"
# rsatoolbox 0.3.2: boot_noise_ceiling, compare, and eval_fixed for the errors of subjects alone
CEILINGS = {
    COSINE: (0.947324225016434, 0.95984705069822),
    PEARSON: (0.5815868644157107, 0.6937636320856191),
}
MEANS = {
    COSINE: [0.9425653457497141, 0.8882647018456074, 0.8899183946879353],
    PEARSON: [0.6337703729872208, 0.529023081578917, 0.1778839647310052],
}
OF_SUBJECTS = [0.0035487747765479906, 0.010152447623943947, 0.007925568360925173]
NAMES = ("true", "half", "other")


def experiment(seed: Any = 1, n: int = 20, count: int = 8, equal: bool = False) -> tuple[Any, Any]:
    """Return new stimuli and new subjects, who share features and have some of their own, with
    three models; with two equal ones the second and the third have half of the features each."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal((n, 12))
    models = [f, f[:, :6], f[:, 6:] if equal else rng.standard_normal((n, 12))]
    subjects = []
    for _ in range(count):
        w, e = rng.standard_normal((12, 15)), rng.standard_normal((n, 15))
        private = rng.standard_normal((n, 5)) * rng.gamma(1.0)
        subjects.append(np.c_[f @ w / 3 + e, private])
    return dict(zip(NAMES, models)), {f"s{i}": x for i, x in enumerate(subjects)}


def test_means_and_ceilings_are_the_peers(subtests: Any) -> None:
    models, subjects = experiment()
    for measure, (low, high) in CEILINGS.items():
        with subtests.test(measure):
            result = rs.score_models(models, subjects, measure=measure)
            assert result.mean == pytest.approx(MEANS[measure], abs=1e-12)
            assert result.ceiling is not None
            assert result.ceiling[::2] == pytest.approx((low, high), abs=1e-12)
    alone = np.sqrt(np.diagonal(rs.score_models(models, subjects, measure=COSINE).covariances[0]))
    assert alone[:3] == pytest.approx(OF_SUBJECTS, abs=1e-12)


SCORES = {
    "spearman": lambda a, b: spearmanr(a, b)[0],
    "kendall": lambda a, b: kendalltau(a, b)[0],
    "kendall_a": lambda a, b: (
        np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
    ).sum() / (len(a) * (len(a) - 1)),
    "rho_a": lambda a, b: 12 * np.cov(rankdata(a), rankdata(b), ddof=0)[0, 1] * len(a)
    / (len(a) ** 3 - len(a)),
}  # fmt: skip


@pytest.mark.parametrize("compare", SCORES)
@pytest.mark.parametrize("decimals", [1, 8])
def test_ceilings_of_ranks_are_scores_with_the_pooled_ranks(compare: str, decimals: int) -> None:
    """As rsatoolbox pools: mean ranks, ranked again where the comparison ranks; with ties, too."""
    rng = np.random.default_rng(decimals)
    count, n = 5, 9
    shared = rng.random(n * (n - 1) // 2)
    vectors = np.round(shared + rng.random((count, len(shared))), decimals)
    subjects = {f"s{i}": rs.from_dissimilarities(v) for i, v in enumerate(vectors)}
    measure, score = f"rsa[compare={compare},rdm=sqeuclidean]", SCORES[compare]
    ranks = np.array([rankdata(v) for v in vectors])
    others = [np.delete(ranks, i, axis=0).mean(axis=0) for i in range(count)]
    low = np.mean([score(v, o) for v, o in zip(vectors, others)])
    high = np.mean([score(v, ranks.mean(axis=0)) for v in vectors])
    result = rs.score_models({"one": subjects["s0"]}, subjects, measure=measure, progress=False)
    assert result.ceiling is not None
    assert result.ceiling[::2] == pytest.approx((low, high), abs=1e-12)
    assert result.ceiling[1] > 0
    assert result.below_ceiling().shape == (1,)
    pooled = rs.from_dissimilarities(ranks.mean(axis=0))  # reaches the upper end
    reached = rs.score_models({"pooled": pooled}, subjects, measure=measure, progress=False)
    assert reached.mean[0] == pytest.approx(high, abs=1e-9)
    blocked = rs.score_models(
        {"one": pooled},
        subjects,
        measure=measure,
        whole_blocks=[0, 0, *range(1, n - 1)],
        progress=False,
    )
    assert blocked.ceiling is not None
    assert blocked.ceiling[::2] == pytest.approx((low, high), abs=1e-12)


def test_errors_follow_from_evidence() -> None:
    models, subjects = experiment()
    result = rs.score_models(models, subjects)
    evidence = rs.evidence(subjects, models, measures=result.measure, progress=False)
    without = np.moveaxis(np.asarray(evidence.parts[result.measure][1]), -1, 0)
    n, count = len(without), len(subjects)
    values = evidence[result.measure]
    assert np.allclose(result.values, values, atol=1e-13)
    pseudo = n * values - (n - 1) * without
    rest = pseudo - pseudo.mean(0) - pseudo.mean(1)[:, None] + pseudo.mean((0, 1))
    one, other = values.var(0, ddof=1) / count, pseudo.mean(1).var(0, ddof=1) / n
    both = (rest**2).sum((0, 1)) / ((n - 1) * (count - 1) * n * count)
    expected = np.maximum(np.maximum(one + other - both, one), other)
    assert result.standard_error**2 == pytest.approx(expected, rel=1e-9)
    assert result.freedom == 7


def test_no_model_exceeds_the_upper_ceiling() -> None:
    _, subjects = experiment()
    rng = np.random.default_rng(5)
    models = {str(i): rng.standard_normal((20, 5)) for i in range(30)}
    models["mean"] = np.concatenate(
        [x / rs.rdm(x, "sqeuclidean").sum() ** 0.5 for x in subjects.values()], axis=1
    )
    for measure in (COSINE, "cka"):
        result = rs.score_models(models, subjects, measure=measure)
        assert result.ceiling is not None
        assert result.mean.max() <= result.ceiling[2] + 1e-12


def test_tests_of_models() -> None:
    result = rs.score_models(*experiment(), measure=PEARSON)
    gap = result.difference("true", "other")
    assert gap.low > 0
    assert gap.pvalue < 0.05
    assert result.above_0(None)[0] < gap.pvalue
    assert result.difference("true", "true").pvalue == 1.0
    pairs = result.pairs(None)
    assert pairs[0, 2] == pytest.approx(result.difference("other", "true").pvalue)
    assert result.below_ceiling(None)[2] < 0.05 < result.below_ceiling()[2]
    assert (result.low < result.mean).all()
    assert (result.mean < result.high).all()
    assert [r["model"] for r in result.records()] == list(NAMES)
    assert list(result.to_pandas()["value"]) == pytest.approx(result.mean)
    with pytest.raises(KeyError, match="half"):
        result.difference("true", "unknown")
    with pytest.raises(ValueError, match="adjust"):
        result.pairs("bonferroni")  # type: ignore[arg-type]


def scores_by_definition(
    subjects: list[np.ndarray], parts: list[np.ndarray], folds: np.ndarray, compare: str
) -> np.ndarray:
    """Return the scores of weighted parts, with the metric formed and weights by projection."""

    def vectors(matrices: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
        at = np.triu_indices(len(rows), 1)
        d = np.array([matrix[np.ix_(rows, rows)][at] for matrix in matrices])
        root = np.eye(len(at[0]))
        if compare.startswith("whitened"):
            contrasts = np.eye(len(rows))[at[0]] - np.eye(len(rows))[at[1]]
            root = np.linalg.cholesky(np.linalg.inv((contrasts @ contrasts.T) ** 2)).T
        d, ones = d @ root.T, root.sum(axis=1)
        if compare.endswith("pearson"):
            d -= np.outer(d @ ones / (ones @ ones), ones)
        return d

    def unit(d: np.ndarray) -> np.ndarray:
        return np.asarray(d / np.linalg.norm(d, axis=-1, keepdims=True))

    scores = np.zeros(len(subjects))
    for fold in np.unique(folds):
        seen, shown = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for s in range(len(subjects)):
            others = [x for t, x in enumerate(subjects) if t != s]
            weights = nnls(vectors(parts, seen).T, unit(vectors(others, seen)).sum(axis=0))[0]
            model = weights @ vectors(parts, shown)
            scores[s] += unit(model) @ unit(vectors([subjects[s]], shown))[0]
    return scores / len(np.unique(folds))


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_fitted_models_are_those_of_the_definition(subtests: Any) -> None:
    models, subjects = experiment(count=4)
    folds = np.random.default_rng(0).permutation(20) % 3
    squared = [[rs.rdm(x, "sqeuclidean") for x in side.values()] for side in (subjects, models)]
    for compare in ("cosine", "pearson", "whitened_cosine", "whitened_pearson"):
        with subtests.test(compare):
            measure = f"rsa[rdm=sqeuclidean,compare={compare}]"
            layers = {"all": list(models.values()), "true": models["true"]}
            result = rs.score_models(layers, subjects, measure=measure, folds=folds)
            expected = scores_by_definition(*squared, folds, compare)
            assert result.models == ("all", "true")
            assert result.values[:, 0] == pytest.approx(expected, abs=1e-9)
            for s, x in enumerate(subjects.values()):
                parts = [(x[folds == f], models["true"][folds == f]) for f in range(3)]
                mean = np.mean([rs.get_measure(measure)(*pair) for pair in parts])
                assert result.values[s, 1] == pytest.approx(mean, abs=1e-12)
            assert result.folds.tolist() == folds.tolist()
            assert result.ceiling[0] < result.ceiling[2]


def test_fitted_parts_are_the_weights_of_nonnegative_least_squares(subtests: Any) -> None:
    """Of centred pairs of stimuli, by scipy; with a subject that lacks a stimulus, too."""
    models, subjects = experiment(count=3)
    named = [rs.Representation(x, name) for name, x in models.items()]
    folds = np.random.default_rng(0).permutation(20) % 2
    given = [[rs.rdm(x, "sqeuclidean") for x in side.values()] for side in (subjects, models)]
    lacking_one = {**subjects, "s1": np.where(np.arange(20)[:, None] == 4, np.nan, subjects["s1"])}

    def centered(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
        d = matrix[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)]
        return np.asarray(d - d.mean())

    for name, recorded in {"all stimuli": subjects, "a stimulus less": lacking_one}.items():
        result = rs.score_models(
            {"sum": named, "one": models["half"]}, recorded, measure=PEARSON, folds=folds
        )
        assert {part.model for part in result.fitted_parts} == {"sum"}
        assert "mean shares of the parts of sum: " in repr(result)
        for s, fold in np.ndindex(3, 2):
            rows = np.flatnonzero(folds != fold)
            fit = [p for p in result.fitted_parts if (p.subject, p.fold) == (f"s{s}", fold)]
            assert [part.part for part in fit] == list(NAMES)
            weights, shares = np.array([(part.weight, part.share) for part in fit]).T
            assert weights.sum() == pytest.approx(1)
            with subtests.test(f"{name} {s} {fold}"):
                if name == "a stimulus less" and s != 1:
                    continue  # others may lack a pair: see the test of subjects that lack stimuli
                parts = np.array([centered(d, rows) for d in given[1]])
                others = [centered(d, rows) for t, d in enumerate(given[0]) if t != s]
                target = sum(d / np.linalg.norm(d) for d in others)
                expected = nnls(parts.T, target)[0]
                assert weights == pytest.approx(expected / expected.sum(), abs=1e-9)
                scaled = expected * np.linalg.norm(parts, axis=1)
                assert shares == pytest.approx(scaled / scaled.sum(), abs=1e-9)
    chosen = rs.score_models({"sum": named}, subjects, measure=PEARSON, fit="one").fitted_parts
    assert {part.part for part in chosen if part.share == 1} == {"true"}
    assert "mean shares of the parts of sum: 1.00 true" in repr(
        replace(result, fitted_parts=chosen)
    )


def test_weights_have_the_largest_cosine(subtests: Any) -> None:
    rng = np.random.default_rng(0)
    parts, targets = rng.random((5, 30)) - 0.2, rng.random((4, 30)) - 0.2
    parts[3] *= 1e-9  # weights do not depend on the units of a part

    def cosines(weights: np.ndarray) -> np.ndarray:
        sums = weights @ parts
        lengths = np.linalg.norm(sums, axis=1)[:, None] * np.linalg.norm(targets, axis=1)
        return np.asarray(sums @ targets.T / lengths)

    one, scale = np.eye(5), np.array([1, 1, 1, 1e9, 1])
    shares = np.linspace(0, 0.999, 100)[:, None]
    pairs = [(1 - shares) * one[i] + shares * one[i + 1] * scale for i in range(4)]
    random = rng.gamma(0.3, size=(3000, 5)) * scale
    others = {"weights": random, "one": one, "neighbors": np.concatenate(pairs)}
    for fit, choices in others.items():
        with subtests.test(fit):
            best = np.diagonal(cosines(nonnegative_cosine_weights(parts, targets, fit)))
            assert (best >= cosines(choices).max(axis=0) - 1e-12).all()
    assert not nonnegative_cosine_weights(np.ones((2, 3)), -np.ones((1, 3)), "weights").any()


def test_fits_do_not_depend_on_order_or_executor(subtests: Any) -> None:
    models, subjects = experiment(count=3)
    fitted = models | {"all": list(models.values())}
    result = rs.score_models(fitted, subjects, seed=3)
    assert len(np.unique(result.folds)) == 3
    backwards = {name: subjects[name] for name in reversed(subjects)}
    other = rs.score_models(dict(reversed(fitted.items())), backwards, seed=3)
    assert other.mean[::-1] == pytest.approx(result.mean, abs=1e-12)
    assert other.standard_error[::-1] == pytest.approx(result.standard_error, abs=1e-12)
    assert not np.array_equal(rs.score_models(fitted, subjects, seed=4).folds, result.folds)
    for pool in (ThreadPoolExecutor(2), ProcessPoolExecutor(2)):
        with subtests.test(type(pool).__name__), pool:
            for options in ({}, {"folds": 3}):
                one, many = (
                    rs.score_models(models, subjects, jobs=e, **options) for e in (None, pool)
                )
                assert many.standard_error == pytest.approx(one.standard_error, abs=1e-14)
                assert many.ceiling == pytest.approx(one.ceiling, abs=1e-14)


def test_models_of_one_part_need_no_fit() -> None:
    models, subjects = experiment(count=3)
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
    unequal = rs.rsa.with_parameters(
        rdm="sqeuclidean", compare="whitened_pearson", covariance=covariance
    )
    steps = list[tuple[int, int]]()
    for measure in (rs.rsa.with_parameters(rdm="sqeuclidean", compare="cosine"), unequal):
        plain = rs.score_models(
            models, subjects, measure=measure, progress=lambda *step: steps.append(step)
        )
        fitted = rs.score_models(models, subjects, measure=measure, folds=1)
        assert fitted.standard_error == pytest.approx(plain.standard_error, abs=1e-12)
        assert fitted.ceiling == pytest.approx(plain.ceiling, abs=1e-12)
    assert steps[-1] == (6, 6)


def test_folds_keep_blocks_together() -> None:
    models, subjects = experiment(n=40, count=3)
    blocks = np.repeat(range(10), 4)
    result = rs.score_models(models | {"all": list(models.values())}, subjects, whole_blocks=blocks)
    assert [len(np.unique(result.folds[blocks == b])) for b in range(10)] == [1] * 10
    assert (len(np.unique(result.folds)), result.freedom) == (2, 2)


def test_results_are_shown_and_written(tmp_path: Any) -> None:
    models, subjects = experiment()
    result = rs.score_models(models | {"all": [*models.values()]}, subjects, measure=PEARSON)
    for suffix, word in {"csv": "pvalue_above_0", "tex": "tabular", "json": "folds"}.items():
        result.to_table(tmp_path / f"scores.{suffix}")
        assert word in (tmp_path / f"scores.{suffix}").read_text()
    with pytest.raises(ValueError, match=r"\.tex"):
        result.to_table(tmp_path / "scores.npy")
    ax = rs.plot.draw(result)
    assert {t.get_text() for t in ax.get_yticklabels()} == {*NAMES, "all"}
    legend = [t.get_text() for t in ax.get_legend().get_texts()]
    assert legend == ["a subject", "mean, 95 % interval", "not above 0 (p > 0.05)", "noise ceiling"]
    (points,) = [line.get_xydata() for line in ax.lines if line.get_alpha() == 0.6]
    assert sorted(points[:, 0]) == sorted(result.values.ravel())
    with pytest.raises(ValueError, match="ModelScores"):
        rs.plot.model_scores({})  # type: ignore[arg-type]


def test_equal_models_are_seldom_called_different() -> None:
    """A t-test over the subjects alone calls them different far more often."""
    ours, habit = [], []
    for seed in range(60):
        models, subjects = experiment([3, seed], n=24, equal=True)
        result = rs.score_models(models, subjects, measure=COSINE)
        ours.append(result.difference("half", "other").pvalue < 0.05)
        gaps = result.values[:, 1] - result.values[:, 2]
        habit.append(abs(gaps.mean()) / (gaps.std(ddof=1) / 8**0.5) > 2.365)
    assert np.mean(ours) <= 0.07 < np.mean(habit)


def test_intervals_end_at_the_range_of_the_measure() -> None:
    result = rs.score_models(*experiment(count=2))
    assert result.high.max() == 1.0
    assert (result.low <= result.mean).all()
    assert "(degrees of freedom: 1)" in result.caveats[0]
    assert result.caveats[0] in str(result)
    assert rs.score_models(*experiment()).caveats == ()


def test_distances_have_no_ceiling_and_are_shown_the_most_similar_first() -> None:
    pairs = np.repeat(range(6), 2)
    result = rs.score_models(*experiment(n=12, count=3), measure="procrustes", whole_blocks=pairs)
    assert (result.ceiling, result.freedom) == (None, 2)
    assert "no noise ceiling" in str(result)
    assert (result.standard_error > 0).all()
    assert result.order.tolist() == np.argsort(result.mean).tolist()
    assert result.models[result.order[0]] == "true"
    assert str(result).index("true") < str(result).index("other")
    assert not rs.plot.model_scores(result).patches
    with pytest.raises(ValueError, match="ceiling"):
        result.below_ceiling()
    with pytest.raises(ValueError, match=r"plot\.model_scores"):
        rs.plot.intervals(result)  # type: ignore[arg-type]
    for scores in (result, rs.score_models(*experiment(count=3), measure=COSINE)):
        assert {row["pvalue_above_0"] for row in scores.records()} == {None}
        with pytest.raises(ValueError, match="difference"):
            scores.above_0()


@pytest.mark.parametrize("estimator", ["features", "debiased"])
def test_the_claim_of_chance_says_whether_models_score_above_0(estimator: str) -> None:
    rng = np.random.default_rng(0)
    seen, unseen = rng.standard_normal((2, 40, 4))

    def features(of: np.ndarray) -> np.ndarray:
        return of @ rng.standard_normal((4, 60)) + rng.standard_normal((40, 60))

    subjects = {f"s{i}": features(seen) for i in range(4)}
    models = {"true": features(seen), "other": features(unseen)}
    result = rs.score_models(models, subjects, measure=f"cka[estimator={estimator}]")
    assert result.is_0_by_chance
    p = dict(zip(result.models, result.above_0(None)))
    assert p["true"] < 0.01 < p["other"]
    assert not rs.score_models(models, subjects, measure="cka").is_0_by_chance


def test_models_equal_but_for_rounding_do_not_differ(subtests: Any) -> None:
    models, subjects = experiment(count=4)
    x = models["true"]
    turned = x @ np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    same = {"a": x, "scaled": 3 * x, "shifted": x + 1, "turned": turned}
    for measure in (COSINE, PEARSON, "rsa[rdm=sqeuclidean,compare=whitened_cosine]"):
        with subtests.test(measure):
            p = rs.score_models(same, subjects, measure=measure).pairs(None)
            assert (p[np.triu_indices(4, 1)] > 0.99).all()


def test_a_subject_with_a_hole_is_left_out(subtests: Any) -> None:
    models, subjects = experiment()
    others = {name: x for name, x in subjects.items() if name != "s3"}
    subjects["s3"] = np.where(np.arange(20)[:, None] == 4, np.nan, subjects["s3"])
    for folds in (None, 2):
        with subtests.test(f"folds {folds}"):
            whole = rs.score_models(models, others, folds=folds)
            result = rs.score_models(models, subjects, folds=folds)
            assert [f.x for f in result.failures] == ["s3"]
            assert "NaN" in result.failures[0].reason
            assert "s3 is left out: " in repr(result)
            assert np.array_equal(result.standard_error, whole.standard_error)
            assert result != whole  # and no error


LACKING = {"s2": [4], "s5": [7, 8], "s6": [0, 19, 3]}  # stimuli of subjects


def by_hand(subjects: Any, models: Any, compare: str, left_out: int | None = None) -> Any:
    """Return the scores of subjects on the pairs of stimuli that they have, (subjects, models)."""
    table = []
    for name, x in subjects.items():
        rows = np.setdiff1d(np.arange(len(x)), [*LACKING.get(name, []), -1])
        rows = rows[rows != left_out]
        above = np.triu_indices(len(rows), 1)
        a, *others = (rs.rdm(y[rows], "sqeuclidean")[above] for y in (x, *models.values()))
        table.append([score(a, b, compare) for b in others])
    return np.array(table)


def score(a: Any, b: Any, compare: str) -> float:
    if compare == "cosine":
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))
    if compare == "pearson":
        return float(np.corrcoef(a, b)[0, 1])
    return float(SCORES[compare](a, b))


def lacking(models: Any, subjects: Any, how: str) -> tuple[Any, Any]:
    """Return subjects that lack stimuli, and models, in one of the ways to say so."""
    ids = [f"image {i}" for i in range(20)]
    named = {k: rs.Representation(y, ids=ids) for k, y in models.items()}
    less = dict[str, Any]()
    for name, x in subjects.items():
        places = LACKING.get(name, [])
        if how == "rows of NaN":
            less[name] = np.where(np.isin(np.arange(20), places)[:, None], np.nan, x)
        elif how == "fewer ids":
            rest = np.setdiff1d(np.arange(20), places)
            less[name] = rs.Representation(x[rest], ids=[ids[i] for i in rest])
        else:
            matrix = rs.rdm(x, "sqeuclidean")
            matrix[places], matrix[:, places] = np.nan, np.nan
            less[name] = rs.from_dissimilarities(matrix)
    return (named if how == "fewer ids" else models), less


@pytest.mark.parametrize("how", ["rows of NaN", "fewer ids", "dissimilarities"])
@pytest.mark.parametrize("compare", ["cosine", "pearson", "spearman"])
def test_subjects_that_lack_stimuli_keep_the_others(how: str, compare: str) -> None:
    models, subjects = experiment()
    measure = f"rsa[rdm=sqeuclidean,compare={compare}]"
    result = rs.score_models(*lacking(models, subjects, how), measure=measure)
    values = by_hand(subjects, models, compare)
    assert result.subjects == tuple(subjects)
    assert not result.failures
    assert np.allclose(result.values, values, rtol=0, atol=1e-9)
    assert "s2 19 of 20 stimuli, 171 of 190 pairs" in repr(result)
    assert "s6 17 of 20 stimuli, 136 of 190 pairs" in repr(result)
    subjects_by_hand = lacking(models, subjects, "rows of NaN")[1]
    assert result.ceiling is not None
    expected = ceiling_by_hand(list(subjects_by_hand.values()), compare)
    assert result.ceiling[::2] == pytest.approx(expected, abs=1e-9)
    without = np.array([by_hand(subjects, models, compare, i) for i in range(20)])
    means = without.mean(axis=1)  # the jackknife of the mean over subjects
    of_stimuli = 19 / 20 * ((means - means.mean(axis=0)) ** 2).sum(axis=0)
    exact = 1e-3 if compare == "spearman" else 1e-6  # subjects with all stimuli: see rsa_without
    assert np.diagonal(result.covariances[1])[:3] == pytest.approx(of_stimuli, rel=exact)


def ceiling_by_hand(subjects: list[np.ndarray], compare: str) -> tuple[float, float]:
    """What subjects, with rows of NaN for stimuli that they lack, score with the mean of those who
    have a pair."""
    vectors = np.array([pdist(x, "sqeuclidean") for x in subjects])
    ranks, count = vectors.copy(), vectors.shape[1]
    for row, vector in zip(ranks, vectors):
        has = ~np.isnan(vector)
        part = vector[has] - (vector[has].mean() if compare == "pearson" else 0)
        row[has] = part / np.sqrt(np.mean(part**2))
        if compare == "spearman":
            row[has] = rankdata(vector[has]) * (count + 1) / (has.sum() + 1)
    scores = []
    for row in range(len(ranks)):
        has = ~np.isnan(vectors[row])
        for pooled in (np.nanmean(np.delete(ranks, row, 0), axis=0), np.nanmean(ranks, axis=0)):
            a, b = vectors[row][has], pooled[has]
            if compare == "cosine":
                scores.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
            else:
                scores.append((spearmanr if compare == "spearman" else pearsonr)(a, b)[0])
    return float(np.mean(scores[::2])), float(np.mean(scores[1::2]))


def test_three_pairs_of_a_subject_are_enough_for_a_ceiling() -> None:
    models, subjects = ({k: rs.rdm(v, "sqeuclidean") for k, v in s.items()} for s in experiment())
    some = np.full((20, 20), np.nan)
    np.fill_diagonal(some, 0)
    for i, j in ((0, 1), (2, 3), (4, 5), (6, 7)):  # three without a stimulus
        some[i, j] = some[j, i] = subjects["s0"][i, j]
    rows = {k: rs.from_dissimilarities(v) for k, v in (subjects | {"s0": some}).items()}
    columns = {k: rs.from_dissimilarities(v) for k, v in models.items()}
    result = rs.score_models(columns, rows, measure=COSINE)
    assert len(result.subjects) == len(rows)
    assert result.ceiling is not None


def test_subjects_that_lack_stimuli_are_named_where_all_are_needed(subtests: Any) -> None:
    models, subjects = lacking(*experiment(), "fewer ids")
    with pytest.raises(ValueError, match="'s2' lacks sample 'image 4'") as error:
        rs.score_models(models, subjects)
    remedies = {
        "rs.join_samples": ((dict(zip(subjects, rs.join_samples(*subjects.values())))), None),
        "measure='rsa": (subjects, COSINE),
    }
    for words, (side, measure) in remedies.items():
        with subtests.test(words):
            assert words in str(error.value)
            rest = rs.join_samples(next(iter(side.values())), *models.values())[1:]
            columns = models if measure else dict(zip(models, rest))
            options = {"measure": measure} if measure else {}
            assert rs.score_models(columns, side, **options).subjects == tuple(subjects)
    with subtests.test("folds"):
        matrix = rs.rdm(models["half"], "sqeuclidean")
        matrix[0, 1] = matrix[1, 0] = np.nan
        parts = rs.from_dissimilarities(matrix, ids=models["half"].ids)
        with pytest.raises(rs.UndefinedError, match=r"rs\.join_samples"):
            rs.score_models({"part": parts}, subjects, measure=PEARSON, folds=2)


def test_what_cannot_be_tested_is_refused(subtests: Any) -> None:
    models, subjects = experiment()
    few = [{k: v[:5] for k, v in side.items()} for side in (subjects, models)]
    shorter = models | {"half": models["half"][:19]}
    cases: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
        "one subject": ("rs.evidence", {"s0": subjects["s0"]}, models, {}),
        "few stimuli": ("stimuli", *few, {}),
        "few blocks": ("labels", subjects, models, {"whole_blocks": np.repeat(range(4), 5)}),
        "other stimuli": ("samples", subjects, shorter, {}),
        "a level": ("confidence_level", subjects, models, {"confidence_level": 95}),
        "levels": ("0.95", subjects, models, {"confidence_level": "95%"}),
        "two measures": ("one measure", subjects, models, {"measure": ["rsa", "cka"]}),
        "no models": ("nothing", subjects, None, {}),
        "dissimilarities as features": (
            "from_dissimilarities",
            subjects,
            {"m": rs.rdm(models["true"])},
            {},
        ),
        "a model with a hole": ("'m' has", subjects, {"m": np.full((20, 2), np.nan)}, {}),
        "a list without parts": ("without parts", subjects, {"m": []}, {}),
        "ranks": ("compare=", subjects, models, {"folds": 2, "measure": "rsa"}),
        "another fit": ("neighbors", subjects, models, {"folds": 2, "fit": "ridge"}),
        "another fit, of none": ("neighbors", subjects, models, {"fit": "ridge"}),
        "a fit of no list": ("fit='one' .* no model is a list", subjects, models, {"fit": "one"}),
        "many folds": ("folds=1", subjects, models, {"folds": 6}),
        "no folds": ("folds", subjects, models, {"folds": 0}),
        "folds of others": ("folds", subjects, models, {"folds": [0, 1]}),
        "equal in a fold": (
            "'m'",
            subjects,
            {"m": np.repeat(np.eye(2), 10, axis=0)},
            {"folds": np.repeat([0, 1], 10)},
        ),
        "no values": ("fewer than two", dict.fromkeys("ab", np.ones((20, 3))), models, {}),
    }
    for name, (message, rows, columns, options) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.score_models(columns, rows, **options)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of four subjects, as features and as dissimilarities, of two models, and of blocks."""
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    seen = g.standard_normal((12, 6))
    subjects = {f"s{i}": seen @ g.standard_normal((6, 9)) for i in range(4)}
    models = {"whole": seen, "half": seen[:, :3]}
    given = {name: rs.rdm(x, "sqeuclidean") for name, x in subjects.items()}
    for name, arrays in (("subjects", subjects), ("models", models), ("rdms", given)):
        (tmp_path / name).mkdir()
        for file, array in arrays.items():
            np.save(tmp_path / name / f"{file}.npy", array)
    np.savetxt("blocks.csv", np.arange(12) % 6, fmt="%d")
    return models, subjects


def test_the_command_prints_what_the_call_returns(folder, capsys, subtests):
    models, subjects = folder
    parts = {"half + whole": [models["half"], models["whole"]]}
    blocks = np.arange(12) % 6
    for text, sides, options in (
        ("subjects --models models", models, {}),
        ("rdms --models models --dissimilarities", models, {}),
        ("subjects --models models --whole-blocks blocks.csv", models, {"whole_blocks": blocks}),
        ("subjects --models models --score partial", models, {"score": "partial"}),
        (
            "subjects --models models --fitted models --folds 2 --seed 1 --jobs 2",
            parts | models,
            {"folds": 2, "seed": 1},
        ),
    ):
        with subtests.test(text):
            assert cli.run(["score-models", *text.split(), "--format", "json"]) == 0
            document = json.loads(capsys.readouterr().out)
            scores = rs.score_models(sides, subjects, **options)
            means = {row["model"]: row["value"] for row in document["models"]}
            assert means == pytest.approx(dict(zip(scores.models, scores.mean)))
            ceiling = document["ceiling"] and document["ceiling"]["high"]
            assert ceiling == pytest.approx(scores.ceiling and scores.ceiling[2])
            assert document["score"] == scores.score
            assert len(document["fitted_parts"]) == len(scores.fitted_parts)
            pair = document["differences"][-1]
            assert pair["pvalue"] == pytest.approx(scores.difference(pair["a"], pair["b"]).pvalue)
    rs.score_models(parts, subjects, folds=2).to_html("page.html")
    page = Path("page.html").read_text()
    for words in ("mean share", "Weights of each subject", "@article{khalighrazavi2014deep"):
        assert words in page
    assert cli.run(["score-models", "subjects", "--models", "models"]) == 0
    written = capsys.readouterr().out
    assert written.index("whole") < written.index("half")  # the highest first
    assert "Noise ceiling" in written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("subjects/s0.npy --models models", "two or more subjects"),
        ("subjects --models models --dissimilarities", "square matrices"),
        ("subjects --models models -m cka,rsa", "one measure"),
        ("subjects --models models --confidence-level 2", "level"),
        ("subjects --models nowhere", "nowhere"),
        ("subjects --models models --score semi", "semipartial"),
        ("subjects", "--fitted"),
        ("subjects --models models --fit one", "pass its parts as --fitted FOLDER, or leave --fit"),
        ("subjects --models models --fitted models/half.npy", "'half'"),
        ("rdms --models models", "--dissimilarities"),
        ("subjects --fitted models --folds 9", "--folds 1"),
    ],
)
def test_the_command_names_the_remedy_by_its_options(folder, capsys, text, words):
    assert cli.run(["score-models", *text.split()]) == 2
    assert words in capsys.readouterr().err


def test_rows_that_may_be_in_another_order_are_refused(subtests: Any) -> None:
    (models, subjects), labels = experiment(count=2), [f"img{i}" for i in range(20)]
    named = {name: rs.dissimilarities(x, labels) for name, x in subjects.items()}
    numbered = {name: rs.dissimilarities(x, range(20)) for name, x in subjects.items()}
    short = {**named, "s": rs.dissimilarities(subjects["s0"][1:], labels[1:])}
    one = next(iter(models.values()))
    cases = {
        "models without ids": (named, models, "ids"),
        "a stimulus is missing": (short, {"m": named["s0"]}, "lacks sample 'img0'.*join_samples"),
        "one array": (subjects, one, "mappings"),
    }
    for name, (rows, columns, words) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match=words):
            rs.score_models(columns, rows)
    same = rs.score_models(models, numbered, measure=COSINE).mean
    assert same == pytest.approx(rs.score_models(models, subjects, measure=COSINE).mean)
    with pytest.raises(ValueError, match=r"join_samples\(\*x"):
        rs.join_samples(named)
