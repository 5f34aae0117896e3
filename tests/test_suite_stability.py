"""The stability suite without training: deletion, its commands, and what disturbed weights mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from factories.disturbed_models import WATCHED, world
from factories.output import assert_fits

import resemblance as rs
from resemblance.cli import run as command
from resemblance.results import headlines
from resemblance.results.claims import REPRODUCED, Claim
from resemblance.results.result import load_result
from resemblance.suites.experiments import RunConfig, part_file
from resemblance.suites.stability import detection, perturbed, spectral, weight_changes
from resemblance.suites.stability.spectral import DeletionCurve, harmonic
from resemblance.suites.stability.suite import EXPERIMENTS, SIZES, run
from resemblance.suites.stability.weights import CANARY as WEIGHTS
from resemblance.suites.status import status
from resemblance.suites.study import Purpose, remember

MEASURES = ["cka[estimator=debiased]", "linear_regression"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return folder, run(folder, size="small", measures=MEASURES, only=["spectral"])


def test_deletion_grades_measures_and_says_what_it_cannot(small):
    section = small[1]["spectral"]
    assert section.scores["order"] == {
        "cka[estimator=debiased]": pytest.approx(1),
        "linear_regression": None,
    }
    assert section.rules["order"].models == "spectral"
    # 200 samples of 256 features fit anything
    assert "same value whatever" in section.reasons["LinReg"]
    assert [line.name for line in section.figures[0].lines] == ["CKA"]
    assert not section.claims


def test_a_failed_comparison_is_named_and_leaves_no_score():
    curve = DeletionCurve((0, 1), (1.0, None), (0.0, None), ("", "too hard"))
    section = spectral.conclude({"cka": curve}, {"cka": "CKA"})
    assert section.scores == {"order": {"cka": None}}
    assert section.reasons == {"CKA": "1 removed: too hard"}


def test_claims_are_made_from_the_facts_of_a_section():
    def judge(curves):
        return [Claim("1", "both run", "2", str(len(curves)), REPRODUCED)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(headlines, "TRIALS", {})
        result = run(size="small", measures=MEASURES, only=["spectral"], claims={"spectral": judge})
    assert [(c.ours, c.verdict) for c in result.claims] == [("2", REPRODUCED)]


def test_the_result_is_read_as_it_was_saved_and_a_second_run_computes_nothing(small):
    folder, result = small
    assert load_result(folder / "result.json") == result
    before = {p: p.stat().st_mtime_ns for p in (folder / "parts").rglob("*.json")}
    assert run(folder, size="small", measures=MEASURES, only=["spectral"]) == result
    assert {p: p.stat().st_mtime_ns for p in (folder / "parts").rglob("*.json")} == before


def test_experiments_have_names_of_their_own_and_parts_at_every_size():
    measures = tuple(rs.get_measure(m) for m in MEASURES)
    assert [e.name for e in EXPERIMENTS] == ["spectral", "canary"]
    for size in SIZES:
        for experiment in EXPERIMENTS:
            parts = experiment.parts(RunConfig(Path("nowhere"), size, measures))
            assert 0 < len({str(p) for p in parts}) == len(parts)


@pytest.mark.parametrize(
    "options", [{"size": "smal"}, {"only": ["spectra"]}, {"measures": ["ckaa"]}, {"memory": "much"}]
)
def test_what_does_not_exist(options):
    with pytest.raises(ValueError, match=r"smal|spectra|ckaa|much"):
        run(**{"size": "small", **options})


def test_commands(small, capsys, tmp_path):
    assert command(["stability", "results", str(small[0])]) == 0
    assert "LinReg" in capsys.readouterr().out
    assert command(["stability", "report", str(small[0]), "-o", str(tmp_path / "page.html")]) == 0
    assert "Spectral deletion" in (tmp_path / "page.html").read_text()
    capsys.readouterr()
    np.save(tmp_path / "x.npy", harmonic(0)[:30, :20])
    assert command(["stability", "transformations", str(tmp_path / "x.npy"), "-k", "3"]) == 0
    assert "randproj_016" in capsys.readouterr().out
    np.save(tmp_path / "y.npy", np.ones((30, 3)))
    assert command(["stability", "transformations", str(tmp_path / "y.npy")]) == 2
    assert "at least 10 samples and 5 features" in capsys.readouterr().err


def test_the_tables_fit_the_terminal(small, tmp_path, capsys):
    assert_fits(lambda: command(["stability", "results", str(small[0])]), capsys)
    np.save(tmp_path / "x.npy", harmonic(0)[:30, :20])
    assert_fits(
        lambda: command(["stability", "transformations", str(tmp_path / "x.npy"), "-k", "3"]),
        capsys,
    )


@pytest.fixture
def state(rng):
    """Weights of all kinds: a matrix, a convolution, a vector, an embedding, one number, a buffer
    and a counter."""
    return {
        "head.weight": (3 * rng.standard_normal((60, 80))).astype(np.float32),
        "stem.weight": rng.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "head.bias": rng.standard_normal(500).astype(np.float32),
        "word_embeddings.weight": rng.standard_normal((40, 10)).astype(np.float32),
        "temperature": np.array([2.0], np.float32),
        "norm.running_var": np.ones(8, np.float32),
        "norm.num_batches_tracked": np.array(7),
    }


def same(a, b):
    return all(np.array_equal(a[name], b[name]) and a[name].dtype == b[name].dtype for name in a)


def test_noise_has_the_stated_deviation_and_is_drawn_again_alike(state):
    changed = perturbed.noisy(state, 0.25, 0, "model")
    assert same(changed, perturbed.noisy(state, 0.25, 0, "model"))
    assert not same(changed, perturbed.noisy(state, 0.25, 0, "other"))
    for name in ("head.weight", "head.bias"):
        added = (changed[name] - state[name]).astype(float)
        assert added.std() == pytest.approx(0.25 * state[name].std(), rel=0.1)
        assert abs(added.mean()) < 4 * added.std() / added.size**0.5
    for name in ("temperature", "norm.running_var", "norm.num_batches_tracked"):
        assert np.array_equal(changed[name], state[name])
    assert {name: value.dtype for name, value in changed.items()} == {
        n: v.dtype for n, v in state.items()
    }


def test_no_noise_changes_no_bit_and_the_original_is_left_alone(state):
    before = {name: value.copy() for name, value in state.items()}
    assert same(state, perturbed.noisy(state, 0.0, 0, "model"))
    perturbed.adapted(state, 2, 0.1, 0, "model")
    perturbed.rounded(state, 4)
    assert same(state, before)


@pytest.mark.parametrize("bits", [8, 4, 2])
def test_rounding_errs_by_half_a_step_and_only_once(state, bits):
    once = perturbed.rounded(state, bits)
    for name in ("head.weight", "stem.weight", "head.bias"):
        step = np.abs(state[name]).max() / (2 ** (bits - 1) - 1)
        assert np.abs(once[name] - state[name]).max() <= step / 2 * (1 + 1e-5)
        assert len(np.unique(once[name])) <= 2**bits - 1
    assert same(once, perturbed.rounded(once, bits))
    assert np.array_equal(perturbed.rounded({"w": np.zeros(5)}, bits)["w"], np.zeros(5))
    with pytest.raises(ValueError, match="at least 2"):
        perturbed.rounded(state, 1)


@pytest.mark.parametrize("rank", [1, 5, 100])
def test_an_adapter_of_rank_r_has_rank_r(state, rank):
    changed = perturbed.adapted(state, rank, 0.1, 0, "model")
    for name, matrix in (("head.weight", (60, 80)), ("stem.weight", (8, 27))):
        added = (changed[name].astype(float) - state[name]).reshape(matrix)
        strengths = np.linalg.svd(added, compute_uv=False)
        full = min(rank, *matrix)
        assert strengths[full - 1] > 1e-3
        assert (strengths[full:] < 1e-4).all()
        assert (added**2).mean() == pytest.approx(4 * rank * 0.1**2 * 2 / matrix[1], rel=0.8)
    for name in ("head.bias", "word_embeddings.weight"):
        assert np.array_equal(changed[name], state[name])
    with pytest.raises(ValueError, match="rank"):
        perturbed.adapted(state, 0, 0.1, 0, "model")


def test_shuffled_weights_are_the_same_numbers_elsewhere(state):
    changed = perturbed.shuffled(state, 0, "model")
    for name in ("head.weight", "head.bias"):
        assert not np.array_equal(changed[name], state[name])
        assert np.array_equal(np.sort(changed[name], axis=None), np.sort(state[name], axis=None))


def test_area_under_the_curve():
    positive = np.array([False, False, True, True])
    assert detection.auc(np.array([1, 2, 3, 4]), positive) == 1
    assert detection.auc(np.array([4, 3, 2, 1]), positive) == 0
    assert detection.auc(np.ones(4), positive) == 0.5
    assert detection.auc(np.array([1, 3, 2, 4]), positive) == 0.75
    assert np.isnan(detection.auc(np.ones(4), np.ones(4, bool)))


def test_the_curve_has_the_area_and_squaring_does_not_change_it(rng):
    values, positive = rng.integers(10, size=60).astype(float), rng.random(60) < 0.4
    points = np.array(detection.roc(values, positive))
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(
        detection.auc(values, positive)
    )
    assert points[0].tolist() == [0, 0]
    assert points[-1].tolist() == [1, 1]
    assert detection.roc(values**2, positive) == detection.roc(values, positive)
    with pytest.raises(ValueError, match="positive and negative"):
        detection.roc(values, np.zeros(60, bool))


def test_significance_of_a_loss():
    assert detection.loss_p_value(5, 0) == pytest.approx(1 / 32)
    assert detection.loss_p_value(0, 0) == 1
    assert detection.loss_p_value(10, 10) > 0.5
    assert detection.first_above([0.0, 0.1, 0.2], [0, 3, 9], 2) == 0.1
    assert detection.first_above([0.0, 0.1], [0, 1], 5) == float("inf")


def _section(done, measures=WATCHED):
    return WEIGHTS.conclude(RunConfig(Path("nowhere"), "small", tuple(measures)), done)


def test_calibrated_thresholds_are_exactly_the_same_for_a_root_and_a_square(rng):
    disturbance = dict(zip([k / 20 for k in range(11)] + [0.01, 1.0], np.sort(rng.random(13))))
    disturbance[0.0] = 0.0
    values = {
        f: world(*(lambda a, f=f: f(disturbance[a]) for _ in range(3)))
        for f in (np.sqrt, np.square, np.float64)
    }
    found = [
        (
            weight_changes.rates(models, weight_changes.CKA, weight_changes.calibrated),
            [
                weight_changes.first_alarm(m, weight_changes.CKA, weight_changes.calibrated)
                for m in models
            ],
        )
        for models in map(weight_changes.disturbed_models, values.values())
    ]
    assert found[0] == found[1] == found[2]
    assert found[0][0].caught > 0
    models = weight_changes.disturbed_models(world(lambda a: a**2, lambda a: a**2, lambda a: a))
    fixed = [
        weight_changes.rates(models, s, weight_changes.scaled).false_alarms
        for s in (WATCHED[2].spec, WATCHED[3].spec)
    ]
    assert fixed[0] > fixed[1]


def test_a_measure_without_values_has_no_score_and_raises_no_alarm():
    done = world(lambda a: None, lambda a: a**2, lambda a: a)
    section = _section(done)
    (cell,) = (c for c in section.scores if "noise" in c)
    assert section.scores[cell][weight_changes.RDM] is None
    assert f"{cell}: {weight_changes.RDM}" in section.reasons
    assert f"vision/digits/resnet/normal/seed0: {weight_changes.RDM}" in section.reasons
    assert section.scores[cell][weight_changes.CKA] > 0.8
    assert np.isnan(
        weight_changes.rates(
            weight_changes.disturbed_models(done), weight_changes.RDM, weight_changes.scaled
        )[0]
    )


def test_failing_where_it_is_hard_does_not_pay():
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    for _, value in done[:2]:
        hard = next(p for p in value["points"] if p["level"] == 0.3)
        hard["differences"][weight_changes.CKA] = hard["drifts"][weight_changes.CKA] = None
        value["reasons"][f"{weight_changes.CKA}, 0.3"] = "too hard"
    section, models = _section(done), weight_changes.disturbed_models(done)
    (cell,) = (c for c in section.scores if "noise" in c)
    assert section.scores[cell][weight_changes.CKA] is None
    assert section.reasons[f"{cell}: {weight_changes.CKA}"].endswith("seed0, 0.3: too hard")
    assert section.scores[cell][weight_changes.RDM] > 0.8
    assert np.isnan(weight_changes.rates(models, weight_changes.CKA, weight_changes.scaled).caught)
    assert weight_changes.pooled(models, weight_changes.CKA)[0].size == 0
    for _, value in done[
        :2
    ]:  # unchanged weights are left out: a measure without a value for them loses nothing
        value["points"][0]["differences"][weight_changes.RDM] = None
    assert _section(done).scores[cell] == section.scores[cell]


def test_a_similarity_without_a_bound_has_a_scale():
    bounded = weight_changes.disturbed_models(world(lambda a: a**2, lambda a: a, lambda a: a))
    shifted = weight_changes.disturbed_models(world(lambda a: a**2 - 0.9, lambda a: a, lambda a: a))
    for before, after in zip(bounded, shifted):
        points = after.of("noise")
        assert weight_changes.scale(after, weight_changes.RDM) == pytest.approx(1)
        np.testing.assert_allclose(
            weight_changes.shares(after, points, weight_changes.RDM),
            weight_changes.shares(before, before.of("noise"), weight_changes.RDM),
            atol=1e-12,
        )
    of = [
        weight_changes.rates(models, weight_changes.RDM, weight_changes.scaled)
        for models in (bounded, shifted)
    ]
    assert of[0] == of[1]


def test_differences_are_rounded_relative_to_the_largest():
    values = np.array([0.0, 1.0, 1.0 + 1e-12, 2.0, np.nan])
    for unit in (1.0, 2.0**-60, 2.0**60):
        kept = weight_changes.trimmed(unit * values)
        assert kept[1] == kept[2] == unit
        assert kept[3] == 2 * unit
        assert np.isnan(kept[4])
    assert weight_changes.trimmed(np.zeros(3)).tolist() == [0, 0, 0]


def test_few_losses_are_told_by_rank_and_no_quality_counts_twice():
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    models = weight_changes.disturbed_models(done)
    assert weight_changes.lost(models, "noise", 0.02) == (30, 30)
    assert weight_changes.lost(models, "rounding", 0.02) == (3, 3)
    assert weight_changes.detection(models, weight_changes.RDM, "noise", 0.02) == 1
    assert np.isnan(weight_changes.detection(models, weight_changes.RDM, "rounding", 0.02))
    section = _section(done)
    assert list(section.scores) == [
        "vision/resnet, noise: AUC",
        "vision/resnet, rounding: Spearman",
    ]
    assert {rule.models for rule in section.rules.values()} == {"vision/resnet"}
    assert list(section.rules) == list(section.scores)
    assert (
        section.reasons["vision/resnet, rounding: AUC"]
        == "3 copies lost more than 2 points, 3 did not"
    )


def test_the_first_loss_is_corrected_for_the_number_of_tests():
    assert detection.holm([0.01, 0.04, 0.03], 0.05) == [True, False, False]
    assert detection.holm([0.01, 0.02, 0.03], 0.05) == [True, True, True]
    assert not any(detection.holm([0.04] * 16, 0.05))
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    for _, value in done[:5]:
        if len(value["points"]) > 2:
            value["points"][1].update(lost=5, gained=0)  # p = 0.03, one of ten
    model = weight_changes.disturbed_models(done)[0]
    assert model.of("noise", 1)[1].harmed
    assert weight_changes.first_harm(model) > 0.3


def test_all_measures_are_in_tables_and_curves_and_those_of_the_paper_first():
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    mine = rs.cka.where(kernel="rbf")
    for _, value in done:
        for where in (value["unchanged"], *(p["differences"] for p in value["points"])):
            where[mine.spec] = where[weight_changes.RDM]
    section = _section(done, (mine, *WATCHED))
    assert section.tables[0].columns[3:5] == ("RDM drift", "CKA, debiased")
    assert section.tables[0].columns[-1] == mine.label
    for figure in (section.figures[0], next(f for f in section.figures if f.name == "canary_roc")):
        assert mine.label in [line.name for line in figure.lines]


def test_status_counts_the_parts_of_all_experiments_of_a_study(tmp_path):
    """Also of those that another program runs there, besides the ones of the suite."""
    remember(tmp_path, Purpose("stability", "small"))
    for name in (WEIGHTS.name, "another"):
        file = part_file(tmp_path, name, 1, {"model": "a"})
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    (file.parent / f".{file.name}-77").touch()  # unfinished
    assert status(tmp_path).parts == 2
