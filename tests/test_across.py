"""Models against several subjects: rsatoolbox's numbers, evidence's, and repeated experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import resemblance as rs

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
    return {f"s{i}": x for i, x in enumerate(subjects)}, dict(zip(NAMES, models))


def test_means_and_ceilings_are_the_peers(subtests: Any) -> None:
    subjects, models = experiment()
    for measure, (low, high) in CEILINGS.items():
        with subtests.test(measure):
            result = rs.across(subjects, models, measure=measure)
            assert result.mean == pytest.approx(MEANS[measure], abs=1e-12)
            assert result.ceiling is not None
            assert result.ceiling[::2] == pytest.approx((low, high), abs=1e-12)
    alone = np.sqrt(np.diagonal(rs.across(subjects, models, measure=COSINE).covariances[0]))
    assert alone[:3] == pytest.approx(OF_SUBJECTS, abs=1e-12)


def test_errors_follow_from_evidence() -> None:
    subjects, models = experiment()
    result = rs.across(subjects, models)
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
    assert result.error**2 == pytest.approx(expected, rel=1e-9)
    assert result.freedom == 7


def test_no_model_exceeds_the_upper_ceiling() -> None:
    subjects, _ = experiment()
    rng = np.random.default_rng(5)
    models = {str(i): rng.standard_normal((20, 5)) for i in range(30)}
    models["mean"] = np.concatenate(
        [x / rs.rdm(x, "sqeuclidean").sum() ** 0.5 for x in subjects.values()], axis=1
    )
    for measure in (COSINE, "cka"):
        result = rs.across(subjects, models, measure=measure)
        assert result.ceiling is not None
        assert result.mean.max() <= result.ceiling[2] + 1e-12


def test_tests_of_models(subtests: Any) -> None:
    result = rs.across(*experiment(), measure=PEARSON)
    gap = result.difference("true", "other")
    assert gap.low > 0
    assert gap.p < 0.05
    assert result.above_0(None)[0] < gap.p
    assert result.difference("true", "true").p == 1.0
    pairs = result.pairs(None)
    assert pairs[0, 2] == pytest.approx(result.difference("other", "true").p)
    for adjust in ("holm", "fdr"):
        with subtests.test(adjust):
            assert (result.pairs(adjust) >= pairs - 1e-15)[~np.eye(3, dtype=bool)].all()
    assert result.below_ceiling(None)[2] < 0.05 < result.below_ceiling()[2]
    assert (result.low < result.mean).all()
    assert (result.mean < result.high).all()
    assert [r["model"] for r in result.records()] == list(NAMES)
    assert list(result.to_pandas()["mean"]) == pytest.approx(result.mean)
    with pytest.raises(KeyError, match="half"):
        result.difference("true", "unknown")
    with pytest.raises(ValueError, match="adjust"):
        result.pairs("bonferroni")  # type: ignore[arg-type]


def test_figures_show_means_and_the_ceiling() -> None:
    result = rs.across(*experiment(), measure=PEARSON)
    ax = rs.plot.draw(result)
    assert [t.get_text() for t in ax.get_yticklabels()] == list(NAMES)  # the highest first
    legend = [t.get_text() for t in ax.get_legend().get_texts()]
    assert legend == ["mean, 95% interval", "not above 0 (p > 0.05)", "noise ceiling"]
    assert len(ax.patches) == 1
    plain = rs.plot.across(rs.across(*experiment(n=12, count=3), measure="procrustes"))
    assert not plain.patches
    with pytest.raises(ValueError, match="Across"):
        rs.plot.across({})  # type: ignore[arg-type]


def test_equal_models_are_seldom_called_different() -> None:
    """A t-test over the subjects alone calls them different far more often."""
    ours, habit = [], []
    for seed in range(60):
        subjects, models = experiment([3, seed], n=24, equal=True)
        result = rs.across(subjects, models, measure=COSINE)
        ours.append(result.difference("half", "other").p < 0.05)
        gaps = result.values[:, 1] - result.values[:, 2]
        habit.append(abs(gaps.mean()) / (gaps.std(ddof=1) / 8**0.5) > 2.365)
    assert np.mean(ours) <= 0.07 < np.mean(habit)


def test_measures_without_a_cosine_have_no_ceiling() -> None:
    pairs = np.repeat(range(6), 2)
    result = rs.across(*experiment(n=12, count=3), measure="procrustes", blocks=pairs)
    assert (result.ceiling, result.freedom) == (None, 2)
    assert (result.error > 0).all()
    with pytest.raises(ValueError, match="ceiling"):
        result.below_ceiling()


def test_a_subject_with_a_hole_is_left_out() -> None:
    subjects, models = experiment()
    whole = rs.across({k: v for k, v in subjects.items() if k != "s3"}, models)
    subjects["s3"] = np.where(np.arange(20)[:, None] == 4, np.nan, subjects["s3"])
    result = rs.across(subjects, models)
    assert list(result.failures) == ["s3"]
    assert "NaN" in result.failures["s3"]
    assert np.array_equal(result.error, whole.error)


def test_what_cannot_be_tested_is_refused(subtests: Any) -> None:
    subjects, models = experiment()
    few = [{k: v[:5] for k, v in side.items()} for side in (subjects, models)]
    shorter = models | {"half": models["half"][:19]}
    cases: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
        "one subject": ("rs.evidence", {"s0": subjects["s0"]}, models, {}),
        "few stimuli": ("stimuli", *few, {}),
        "few blocks": ("stimuli", subjects, models, {"blocks": np.repeat(range(4), 5)}),
        "other stimuli": ("samples", subjects, shorter, {}),
        "a level": ("level", subjects, models, {"level": 95}),
        "no values": ("fewer than two", dict.fromkeys("ab", np.ones((20, 3))), models, {}),
    }
    for name, (message, rows, columns, options) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.across(rows, columns, **options)


def test_the_command_prints_what_the_call_returns(tmp_path, monkeypatch, capsys, subtests):
    import csv
    import json

    from resemblance import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    g = np.random.default_rng(0)
    seen = g.standard_normal((12, 6))
    subjects = {f"s{i}": seen @ g.standard_normal((6, 9)) for i in range(4)}
    models = {"whole": seen, "half": seen[:, :3]}
    given = {name: rs.rdm(x, "sqeuclidean") for name, x in subjects.items()}
    for folder, arrays in (("subjects", subjects), ("models", models), ("rdms", given)):
        (tmp_path / folder).mkdir()
        for name, array in arrays.items():
            np.save(tmp_path / folder / f"{name}.npy", array)
    np.savetxt("blocks.csv", np.arange(12) % 6, fmt="%d")
    expected = rs.across(subjects, models)

    def run(text):
        status = cli.run(["across", *text.split()])
        return status, capsys.readouterr()

    for text, scores in (
        ("subjects --models models", expected),
        ("rdms --models models --dissimilarities", expected),
        ("subjects --models models --blocks blocks.csv", None),
    ):
        with subtests.test(text):
            if scores is None:
                scores = rs.across(subjects, models, blocks=np.arange(12) % 6)
            status, written = run(f"{text} --format json")
            document = json.loads(written.out)
            assert status == 0
            means = {row["model"]: row["mean"] for row in document["models"]}
            assert means == pytest.approx(dict(zip(scores.models, scores.mean)))
            assert document["ceiling"]["high"] == pytest.approx(scores.ceiling[2])
            (pair,) = document["differences"]
            assert pair["p"] == pytest.approx(scores.difference("half", "whole").p)
    with subtests.test("table and CSV"):
        status, written = run("subjects --models models")
        assert written.out.index("whole") < written.out.index("half")  # the highest first
        assert "Noise ceiling" in written.out
        _, written = run("subjects --models models --format csv")
        assert [row["model"] for row in csv.DictReader(written.out.splitlines())] == [
            "half",
            "whole",
        ]
    for text, words in (
        ("subjects/s0.npy --models models", "two subjects"),
        ("subjects --models models --dissimilarities", "square matrices"),
        ("subjects --models models -m cka,rsa", "one measure"),
        ("subjects --models models --level 2", "level"),
        ("subjects --models nowhere", "nowhere"),
    ):
        with subtests.test(text):
            status, written = run(text)
            assert (status, words in written.err) == (2, True), written.err
