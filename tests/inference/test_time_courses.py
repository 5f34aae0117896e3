"""Scores of models over time: each time alone, clusters, and recordings with runs and noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import resemblance as rs
from resemblance import cli
from resemblance.report.of_time_courses import time_courses_result

QUIET: dict[str, Any] = {"progress": False}
AXES = "trials units time"
N, UNITS, BINS, SUBJECTS = 12, 15, 20, 7


def experiment(seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return two models, and responses (stimuli, units, bins) that follow the first in bins 4 to 8
    and the second in bins 12 to 16."""
    rng = np.random.default_rng(seed)
    models = {"early": rng.standard_normal((N, 4)), "late": rng.standard_normal((N, 4))}
    subjects = {}
    for s in range(SUBJECTS):
        x = 1.5 * rng.standard_normal((N, UNITS, BINS))
        for features, start in zip(models.values(), (4, 12)):
            x[:, :, start : start + 5] += (features @ rng.standard_normal((4, UNITS)))[:, :, None]
        subjects[f"s{s}"] = x
    return models, subjects


def test_a_time_is_a_call_of_score_models_and_clusters_are_found() -> None:
    models, subjects = experiment()
    times = np.linspace(-0.1, 0.28, BINS)
    result = rs.score_models_over_time(models, subjects, axes=AXES, times=times, **QUIET)
    assert result.values.shape == (BINS, SUBJECTS, 2)
    for place in (0, 6, 14):
        window = {name: x[:, :, place] for name, x in subjects.items()}
        alone = rs.score_models(models, window, measure=result.measure, **QUIET)
        assert np.array_equal(result.values[place], alone.values)
        for name in ("mean", "standard_error", "low", "high"):
            assert np.array_equal(getattr(result, name)[place], getattr(alone, name))
        assert tuple(result.ceiling[place]) == alone.ceiling
    model, pattern = (pdist(x, "sqeuclidean") for x in (models["early"], subjects["s0"][:, :, 6]))
    contrasts = np.eye(N)[np.triu_indices(N, 1)[0]] - np.eye(N)[np.triu_indices(N, 1)[1]]
    metric = np.linalg.inv((contrasts @ contrasts.T) ** 2)
    a, b = (v - v.mean() for v in (model, pattern))
    expected = a @ metric @ b / np.sqrt((a @ metric @ a) * (b @ metric @ b))
    assert result.values[6, 0, 0] == pytest.approx(expected)
    found = {c.model: c for c in result.clusters if c.pvalue <= 0.05}
    assert set(found) == {"early", "late"}
    for name, first in (("early", 4), ("late", 12)):
        assert abs(np.flatnonzero(times == found[name].start)[0] - first) <= 1
        assert abs(np.flatnonzero(times == found[name].stop)[0] - (first + 4)) <= 1
    assert result.min_pvalue == 1 / 2**SUBJECTS
    assert f"early  largest {result.mean[:, 0].max():.3f}" in repr(result)
    gaps = result.difference_clusters("early", "late")
    assert [c.mass > 0 for c in gaps if c.pvalue <= 0.05] == [True, False]
    inside = [r for r in result.records() if r["model"] == "late" and r["pvalue_cluster"]]
    assert min(r["pvalue_cluster"] for r in inside) == found["late"].pvalue
    assert result.to_xarray()["value"].dims == ("time", "subject", "model")
    with pytest.raises(KeyError, match="early"):
        result.difference_clusters("early", "middle")


def test_clusters_that_are_not_significant_and_single_times_say_so() -> None:
    models, subjects = experiment()
    few = {name: subjects[name] for name in ("s0", "s1", "s2")}
    options: dict[str, Any] = {"axes": AXES, "times": np.linspace(-1, 0.9, BINS), **QUIET}
    result = rs.score_models_over_time({"b -3": models["early"]}, few, **options)
    assert min(c.pvalue for c in result.clusters) == 1 / 2**3
    words = "no significant cluster of times above 0 (p at most 0.05)"
    assert words in repr(result)
    page = time_courses_result(result)
    assert page.conclusion.startswith(f"b -3 has {words}; the highest mean score is ")
    assert page.conclusion.endswith(", at −0.2.")
    assert page.facts["times"] == "20, from −1 to 0.9"
    whole = rs.score_models_over_time(models, few, width=BINS, **options)
    assert "3 subjects, 1 time at -0.05, by " in repr(whole)
    assert time_courses_result(whole).facts["times"] == "1, at −0.05"


def test_windows_are_means_and_other_axes_give_the_same(subtests: Any) -> None:
    models, subjects = experiment()
    options: dict[str, Any] = {"width": 4, "step": 3, **QUIET}
    result = rs.score_models_over_time(models, subjects, axes=AXES, jobs=2, **options)
    assert result.times.tolist() == [1.5 + 3 * k for k in range(6)]
    means = {name: x[:, :, 3:7].mean(axis=2) for name, x in subjects.items()}
    alone = rs.score_models(models, means, measure=result.measure, **QUIET)
    assert result.values[1] == pytest.approx(alone.values, abs=1e-12)
    turned = {name: np.moveaxis(x, 2, 1) for name, x in subjects.items()}
    other = rs.score_models_over_time(models, turned, axes="trials bins units", **options)
    assert np.array_equal(other.values, result.values)
    with subtests.test("DataArray"):
        xarray = pytest.importorskip("xarray")
        coords = {"time": np.arange(BINS) / 10}
        named = {
            name: xarray.DataArray(x, dims=("trial", "unit", "time"), coords=coords)
            for name, x in subjects.items()
        }
        labelled = rs.score_models_over_time(models, named, **options)
        assert labelled.times == pytest.approx(result.times / 10)
        assert np.array_equal(labelled.values, result.values)


def test_trials_runs_and_noise_are_those_of_dissimilarities() -> None:
    models, subjects = experiment()
    rng = np.random.default_rng(1)
    conditions, runs = np.tile(np.arange(N), 3), np.repeat(np.arange(3), N)
    trials = {
        name: x[conditions] + rng.standard_normal((3 * N, UNITS, BINS))
        for name, x in subjects.items()
    }
    noise = {name: rs.noise_covariance(x.mean(axis=2), conditions) for name, x in trials.items()}
    options: dict[str, Any] = {"axes": AXES, "step": 6, "conditions": conditions, **QUIET}
    result = rs.score_models_over_time(
        models, trials, runs=dict.fromkeys(trials, runs), noise=noise, **options
    )
    window = {
        name: rs.dissimilarities(x[:, :, 6], conditions, runs=runs, noise=noise[name])
        for name, x in trials.items()
    }
    alone = rs.score_models(models, window, measure=result.measure, **QUIET)
    assert result.values[1] == pytest.approx(alone.values, abs=1e-12)
    means = rs.score_models_over_time(
        models, trials, measure="cka[estimator=debiased]", score="partial", **options
    )
    window = {name: rs.condition_means(x[:, :, 6], conditions) for name, x in trials.items()}
    alone = rs.score_models(
        models, window, measure="cka[estimator=debiased]", score="partial", **QUIET
    )
    assert means.values[1] == pytest.approx(alone.values, abs=1e-12)
    assert "partial correlation, cka" in repr(means)


def test_measures_without_chance_at_0_compare_two_models() -> None:
    models, subjects = experiment()
    result = rs.score_models_over_time(models, subjects, axes=AXES, measure="cka", **QUIET)
    assert not result.clusters
    assert "difference_clusters compares two models" in repr(result)
    assert result.difference_clusters("early", "late")[0].pvalue < 0.05


def test_a_subject_without_a_score_at_a_time_is_left_out_of_all_times() -> None:
    models, subjects = experiment()
    others = {name: x for name, x in subjects.items() if name != "s3"}
    subjects["s3"][2, :, 9] = np.nan
    whole = rs.score_models_over_time(models, others, axes=AXES, step=9, **QUIET)
    result = rs.score_models_over_time(models, subjects, axes=AXES, step=9, **QUIET)
    assert [failure.x for failure in result.failures] == ["s3"]
    assert "(time 9)" in result.failures[0].reason
    assert np.array_equal(result.values, whole.values)
    few = dict(list(subjects.items())[:4])
    assert "0.0625" not in repr(result)
    three = rs.score_models_over_time(models, few, axes=AXES, step=9, **QUIET)
    assert "p-value below 0.125" in repr(three)


def test_what_has_no_time_course_is_refused(subtests: Any) -> None:
    models, subjects = experiment()
    x = subjects["s0"]
    labels = np.arange(N)
    cases: dict[str, tuple[str, Any, dict[str, Any]]] = {
        "two axes": ("needs X", {"a": x[:, :, 0], "b": x[:, :, 0]}, {}),
        "no axes": ("needs axes", subjects, {"axes": None}),
        "other bins": ("same bins", {"a": x, "b": x[:, :, 1:]}, {}),
        "a wide window": ("20 bins", subjects, {"width": 21}),
        "no width": ("width", subjects, {"width": 0}),
        "times of others": ("20 increasing", subjects, {"times": np.arange(19)}),
        "times that fall": ("20 increasing", subjects, {"times": -np.arange(BINS)}),
        "runs alone": ("conditions", subjects, {"runs": labels}),
        "noise and cka": (
            "rsa compares",
            subjects,
            {"conditions": labels, "noise": np.eye(UNITS), "measure": "cka"},
        ),
        "labels of one subject": ("'s1'", subjects, {"conditions": {"s0": labels}}),
        "one array": ("mapping", x, {}),
        "alpha": ("alpha", subjects, {"cluster_alpha": 5, "step": 19}),
        "folds of score_models": ("two models", subjects, {"score": "partial", "step": 19}),
    }
    for name, (message, responses, options) in cases.items():
        columns = {"early": models["early"]} if name.startswith("folds") else models
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.score_models_over_time(columns, responses, **{"axes": AXES, **QUIET, **options})


def test_the_figure_shows_bands_ceilings_and_clusters() -> None:
    models, subjects = experiment()
    result = rs.score_models_over_time(models, subjects, axes=AXES, **QUIET)
    axes = rs.plot.time_courses(result)
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["early", "late", "noise ceiling"]
    assert axes.get_xlabel() == "time; bars: clusters, p ≤ 0.05"
    drawn = axes.lines[0].get_xydata()
    assert np.array_equal(drawn, np.c_[result.times, result.mean[:, 0]])
    bars = [
        c.get_segments()[0][:, 0].tolist() for c in axes.collections if hasattr(c, "get_segments")
    ]
    assert bars == [[c.start, c.stop] for c in result.clusters if c.pvalue <= 0.05]
    with pytest.raises(ValueError, match="TimeCourses"):
        rs.plot.time_courses({})  # type: ignore[arg-type]


def test_times_of_subjects_must_agree_and_durations_are_seconds():
    xarray = pytest.importorskip("xarray")
    rng = np.random.default_rng(0)

    def subject(times):
        values = rng.standard_normal((8, 5, 4))
        return xarray.DataArray(values, dims=("trial", "unit", "time"), coords={"time": times})

    models = {"a": rng.standard_normal((8, 3)), "b": rng.standard_normal((8, 3))}
    measure = "rsa[rdm=sqeuclidean,compare=cosine]"
    other = {f"s{i}": subject(np.arange(4) / 10 + i) for i in range(3)}
    with pytest.raises(ValueError, match=r"s0 has 0 to 0\.3 and s1 has 1 to 1\.3"):
        rs.score_models_over_time(models, other, measure=measure)
    milliseconds = np.arange(4).astype("timedelta64[ms]")
    same = {f"s{i}": subject(milliseconds) for i in range(3)}
    scores = rs.score_models_over_time(models, same, measure=measure)
    assert np.allclose(scores.times, np.arange(4) / 1000)


def test_the_command_writes_what_the_call_returns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    models = {name: g.standard_normal((8, 4)) for name in ("m", "n")}
    subjects = {f"over/{k}": g.standard_normal((16, 5, 3)) for k in "stuv"}
    for name, x in models.items():
        np.save(f"{name}.npy", x)
    np.savez("over.npz", **{name[-1]: x for name, x in subjects.items()})
    labels, times = np.repeat(range(8), 2), np.linspace(0, 1, 5)
    np.savetxt("images.csv", labels, fmt="%d")
    np.savetxt("times.txt", times)
    np.savetxt("words.txt", [f"i{k}" for k in labels], fmt="%s")
    Path("five.txt").write_text("a\nb\nc\nd\ne\n")
    np.savetxt("zeros.txt", np.zeros(5))
    np.savetxt("few.csv", labels[:4], fmt="%d")
    call = ["score-models-over-time", "over.npz", "--models", "m.npy", "--models", "n.npy", "-q"]
    design = ["--times", "times.txt", "--width", "2", "--conditions", "images.csv"]
    chosen = ["--axes", "trials bins units", *design, "--n-permutations", "9"]
    assert cli.run([*call, *chosen, "-o", "curves.json", "--html", "page.html"]) == 0
    options = {"axes": "trials bins units", "times": times, "width": 2, "conditions": labels}
    courses = rs.score_models_over_time(models, subjects, **options, n_permutations=9)
    records = json.loads(Path("curves.json").read_text())["records"]
    assert [r["value"] for r in records] == pytest.approx([r["value"] for r in courses.records()])
    assert [r["time"] for r in records] == pytest.approx([r["time"] for r in courses.records()])
    assert "Scores over time" in Path("page.html").read_text()
    for words, message in (
        (call, "Missing option '--axes'"),
        ([*call, "--axes", "trials units"], "axes must be 'trials', 'bins' and 'units'"),
        ([*call, *chosen, "--width", "9"], "--width 9 of responses with 5 bins"),
        ([*call[:1], "m.npy", *call[2:], *chosen], "m.npy has shape (8, 4); recordings over time"),
        ([*call, *chosen, "--times", "images.csv"], "--times images.csv has 16 labels for 5 bins"),
        ([*call, *chosen, "--times", "five.txt"], "--times five.txt must have a number for each"),
        ([*call, *chosen, "--times", "zeros.txt"], "--times must be 5 increasing numbers"),
        ([*call, *chosen, "--conditions", "few.csv"], "few.csv has 4 labels for 16 trials"),
        ([*call, *chosen, "--runs", "few.csv"], "few.csv has 4 labels for 16 trials"),
        ([*call, *chosen, "--whole-blocks", "few.csv"], "few.csv has 4 labels for 8 conditions"),
        ([*call, *chosen, "--score", "bogus"], "--score must be one of"),
        ([*call, *chosen, "--conditions", "words.txt"], 'np.savez("model.npz", x=x, ids=names)'),
    ):
        assert cli.run(words) == 2
        assert message in capsys.readouterr().err
    np.savez("m.npz", x=models["m"], ids=[str(k) for k in range(8)])
    of_words = [*call[:3], "m.npz", *call[6:], *chosen, "-o", "words.json"]
    assert cli.run(of_words) == 0
    words = json.loads(Path("words.json").read_text())["records"]
    assert [r["value"] for r in words] == pytest.approx([r["value"] for r in records[: len(words)]])
