"""The stability suite: deletion, what disturbed weights mean, and a trained model."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from factories.disturbed_models import WATCHED, changed, world

import resemblance as rs
from resemblance import bench
from resemblance.base.exceptions import UndefinedError
from resemblance.bench.case import Score
from resemblance.bench.ranks import summarize_scores
from resemblance.bench.scoring import score
from resemblance.bench.stability import alarms, models, page, perturbed, weights
from resemblance.bench.stability.models import plain_models
from resemblance.bench.stability.weights import (
    PerturbationOutcome,
    WeightChange,
    cases_of_copies,
    outcome_as_part,
)
from resemblance.comparison.comparison import measure_info

run = partial(bench.run, "stability")

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
    assert [line.name for line in section.figures[0].lines] == ["CKA, debiased"]
    assert small[1].labels["cka[estimator=debiased]"] == "CKA, debiased"
    assert not section.claims


@rs.measure(
    label="Moved", family="descriptive", larger_is_more_similar=False, range=(0, np.inf),
    symmetric=True, citation="none",
)  # fmt: skip
def moved(x, y):
    """How far the first number moved; it has no value for 13."""
    if 13.0 in (x.array[0, 0], y.array[0, 0]):
        raise UndefinedError("too hard")
    return abs(float(x.array[0, 0] - y.array[0, 0]))


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
    changed = perturbed.add_weight_noise(state, 0.25, 0, "model")
    assert same(changed, perturbed.add_weight_noise(state, 0.25, 0, "model"))
    assert not same(changed, perturbed.add_weight_noise(state, 0.25, 0, "other"))
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
    assert same(state, perturbed.add_weight_noise(state, 0.0, 0, "model"))
    perturbed.add_low_rank_adapters(state, 2, 0.1, 0, "model")
    perturbed.quantize_weights(state, 4)
    assert same(state, before)


@pytest.mark.parametrize("bits", [8, 4, 2])
def test_rounding_errs_by_half_a_step_and_only_once(state, bits):
    once = perturbed.quantize_weights(state, bits)
    for name in ("head.weight", "stem.weight", "head.bias"):
        step = np.abs(state[name]).max() / (2 ** (bits - 1) - 1)
        assert np.abs(once[name] - state[name]).max() <= step / 2 * (1 + 1e-5)
        assert len(np.unique(once[name])) <= 2**bits - 1
    assert same(once, perturbed.quantize_weights(once, bits))
    assert np.array_equal(perturbed.quantize_weights({"w": np.zeros(5)}, bits)["w"], np.zeros(5))
    with pytest.raises(ValueError, match="at least 2"):
        perturbed.quantize_weights(state, 1)


@pytest.mark.parametrize("rank", [1, 5, 100])
def test_an_adapter_of_rank_r_has_rank_r(state, rank):
    changed = perturbed.add_low_rank_adapters(state, rank, 0.1, 0, "model")
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
        perturbed.add_low_rank_adapters(state, 0, 0.1, 0, "model")


def test_shuffled_weights_are_the_same_numbers_elsewhere(state):
    changed = perturbed.shuffle_weights(state, 0, "model")
    for name in ("head.weight", "head.bias"):
        assert not np.array_equal(changed[name], state[name])
        assert np.array_equal(np.sort(changed[name], axis=None), np.sort(state[name], axis=None))


def test_area_under_the_curve():
    positive = np.array([False, False, True, True])
    assert alarms.auc(np.array([1, 2, 3, 4]), positive) == 1
    assert alarms.auc(np.array([4, 3, 2, 1]), positive) == 0
    assert alarms.auc(np.ones(4), positive) == 0.5
    assert alarms.auc(np.array([1, 3, 2, 4]), positive) == 0.75
    assert np.isnan(alarms.auc(np.ones(4), np.ones(4, bool)))


def test_the_curve_has_the_area_and_squaring_does_not_change_it(rng):
    values, positive = rng.integers(10, size=60).astype(float), rng.random(60) < 0.4
    points = np.array(alarms.roc(values, positive))
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(alarms.auc(values, positive))
    assert points[0].tolist() == [0, 0]
    assert points[-1].tolist() == [1, 1]
    assert alarms.roc(values**2, positive) == alarms.roc(values, positive)
    with pytest.raises(ValueError, match="positive and negative"):
        alarms.roc(values, np.zeros(60, bool))


def test_significance_of_a_loss():
    assert alarms.loss_pvalue(5, 0) == pytest.approx(1 / 32)
    assert alarms.loss_pvalue(0, 0) == 1
    assert alarms.loss_pvalue(10, 10) > 0.5


def section_of(models, measures=WATCHED, scores=()):
    overview = summarize_scores(
        "stability", scores, map(measure_info, measures), {}, measures, is_trial=True
    )
    return page.canary_section(models, {}, overview)


def test_calibrated_thresholds_are_exactly_the_same_for_a_root_and_a_square(rng):
    disturbance = dict(zip([k / 20 for k in range(11)] + [0.01, 1.0], np.sort(rng.random(13))))
    disturbance[0.0] = 0.0
    worlds = [
        world(*(lambda a, f=f: f(disturbance[a]) for _ in range(3)))
        for f in (np.sqrt, np.square, np.float64)
    ]
    found = [
        (
            alarms.alarm_rates(models, alarms.DEBIASED_CKA, alarms.excess_over_calibration),
            [
                alarms.first_alarm(m, alarms.DEBIASED_CKA, alarms.excess_over_calibration)
                for m in models
            ],
        )
        for models in worlds
    ]
    assert found[0] == found[1] == found[2]
    assert found[0][0].caught > 0
    models = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    specs = (alarms.ROOT_PROCRUSTES, alarms.SQUARED_PROCRUSTES)
    root, squared = (
        alarms.alarm_rates(models, s, alarms.excess_over_scale_share).false_alarms for s in specs
    )
    assert root > squared


def test_a_measure_without_values_raises_no_alarm():
    models = world(lambda a: None, lambda a: a**2, lambda a: a)
    assert f"{models[0].name}: {alarms.RDM_SPEARMAN}" in section_of(models).reasons
    assert np.isnan(
        alarms.alarm_rates(models, alarms.RDM_SPEARMAN, alarms.excess_over_scale_share)[0]
    )


def test_a_similarity_without_a_bound_has_a_scale():
    bounded = world(lambda a: a**2, lambda a: a, lambda a: a)
    shifted = world(lambda a: a**2 - 0.9, lambda a: a, lambda a: a)
    for before, after in zip(bounded, shifted):
        assert alarms.shuffled_scale(after, alarms.RDM_SPEARMAN) == pytest.approx(1)
        np.testing.assert_allclose(
            alarms.shares_of_scale(after, after.of("noise"), alarms.RDM_SPEARMAN),
            alarms.shares_of_scale(before, before.of("noise"), alarms.RDM_SPEARMAN),
            atol=1e-12,
        )
    of = [
        alarms.alarm_rates(models, alarms.RDM_SPEARMAN, alarms.excess_over_scale_share)
        for models in (bounded, shifted)
    ]
    assert of[0] == of[1]


def test_differences_are_rounded_relative_to_the_largest():
    values = np.array([0.0, 1.0, 1.0 + 1e-12, 2.0, np.nan])
    for unit in (1.0, 2.0**-60, 2.0**60):
        kept = alarms.round_to_ten_digits(unit * values)
        assert kept[1] == kept[2] == unit
        assert kept[3] == 2 * unit
        assert np.isnan(kept[4])
    assert alarms.round_to_ten_digits(np.zeros(3)).tolist() == [0, 0, 0]


def test_few_losses_are_no_area():
    models = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    assert alarms.count_harmed_copies(models, "noise", 0.02) == (30, 30)
    assert alarms.count_harmed_copies(models, "rounding", 0.02) == (3, 3)
    assert alarms.loss_detection(models, alarms.RDM_SPEARMAN, "noise", 0.02) == 1
    assert np.isnan(alarms.loss_detection(models, alarms.RDM_SPEARMAN, "rounding", 0.02))
    why = section_of(models).reasons["vision/resnet, rounding: AUC"]
    assert why == "3 copies lost more than 2 points, 3 did not"


def test_the_first_loss_is_corrected_for_the_number_of_tests():
    assert alarms.holm_rejections([0.01, 0.04, 0.03], 0.05) == [True, False, False]
    assert alarms.holm_rejections([0.01, 0.02, 0.03], 0.05) == [True, True, True]
    assert not any(alarms.holm_rejections([0.04] * 16, 0.05))
    models = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    pvalue = alarms.loss_pvalue(5, 0)  # 0.03, one of ten
    model, *_ = changed(models, lambda p: p._replace(pvalue=pvalue) if p.level == 0.05 else p)
    assert model.of("noise", 1)[1].harmed
    assert alarms.first_harm(model) > 0.3


# ------------------------------------------------------------------------------ cells of the canary

INPUTS = 200


def observation(kind, draw, levels, *, lost, moves, seed=0):
    """A model whose copies lose ``lost`` answers each, and whose first number moves."""
    layers = [np.ones((30, 3)) for _ in range(len(levels) + 1)]
    losses = np.zeros((len(levels), INPUTS), int)
    for row, layer, count, move in zip(losses, layers[1:], lost, moves, strict=True):
        row[:count], layer[0, 0] = 1, move
    changes = [
        WeightChange(str(at), at, 0.9 - count / INPUTS, count, 0) for at, count in zip(levels, lost)
    ]
    part = {"model": f"vision/digits/resnet/normal/seed{seed}", "kind": kind, "draw": draw}
    return PerturbationOutcome(part, 0.9, tuple(changes), np.ones((30, 3)), tuple(layers), losses)


def cases_of(*seen):
    return {c.cell: c for c in cases_of_copies(seen, list(map(outcome_as_part, seen)))}


LEVELS = [0.0] + [k / 10 for k in range(1, 13)]
LOST = [0, 0, 1, 0, 1, 2, 3, 20, 30, 40, 50, 60, 70]


def test_a_kind_of_models_has_one_cell_for_each_disturbance_of_which_some_lose_accuracy():
    moves = [1 + at for at in LEVELS]
    few = {"levels": [8, 2], "lost": [0, 9], "moves": [1.0, 2.0]}
    cases = cases_of(
        observation("noise", 0, LEVELS, lost=LOST, moves=moves),
        observation("noise", 1, LEVELS, lost=LOST, moves=moves),
        observation("rounding", 0, **few),
        observation("adapters", 0, [0.1, 0.2], lost=[0, 0], moves=[1.0, 2.0]),
        observation("shuffled", 0, [1], lost=[150], moves=[9.0]),
    )
    area, ranks = ("vision", "resnet, noise: AUC"), ("vision", "resnet, rounding: Spearman")
    assert list(cases) == [area, ranks]
    assert {case.models for case in cases.values()} == {"vision/resnet"}
    rows = {row.cell: row for row in score(list(cases.values()), [moved])}
    assert (rows[area].value, rows[area].pairs) == (1.0, 24)  # unchanged weights are left out
    assert rows[ranks].value == 1.0


def test_failing_where_it_is_hard_does_not_pay():
    moves = [1 + at for at in LEVELS]
    moves[0] = 13.0  # nothing was done there
    cell = ("vision", "resnet, noise: AUC")
    easy = cases_of(observation("noise", 0, LEVELS, lost=LOST, moves=moves))[cell]
    assert score([easy], [moved])[0].value == 1.0
    moves[8] = 13.0
    (row,) = score(
        [cases_of(observation("noise", 0, LEVELS, lost=LOST, moves=moves))[cell]], [moved]
    )
    assert np.isnan(row.value)
    assert row.reason == "1 comparisons failed; most often: too hard"


def test_losses_that_do_not_repeat_on_other_inputs_are_shown_and_not_ranked(rng):
    moves = [1 + at for at in LEVELS]
    sure = observation("noise", 0, LEVELS, lost=LOST, moves=moves)
    noise = rng.integers(-1, 2, (len(LEVELS), INPUTS))
    noise -= np.sort(noise, axis=1)[:, ::-1] * (noise.sum(axis=1)[:, None] > 9)
    changes = [c._replace(accuracy=0.9 - row.mean()) for c, row in zip(sure.changes, noise)]
    unsure = sure._replace(changes=tuple(changes), losses=noise)
    repeats = [next(iter(cases_of(seen).values())).reliability for seen in (sure, unsure)]
    assert repeats[0] > 0.9
    assert repeats[1] < 0.5
    packed = sure._replace(losses=None)  # a pack that does not say it
    (case,) = cases_of(packed).values()
    assert case.reliability is None
    (case,) = cases_of_copies(
        [packed], [outcome_as_part(packed)], {"vision/resnet, noise: AUC": 0.3}
    )
    assert case.reliability == 0.3
    row = Score("canary", case.cell, alarms.RDM_SPEARMAN, "RDM drift", 0.5, reliability=0.3)
    (column,) = page.stability_score_columns([row])
    assert column.hint.endswith("on other inputs the losses have a reliability of 0.30")


# ---------------------------------------------------------------------------------- a trained model


def test_models_of_missing_packages_are_left_out_and_named(monkeypatch, tmp_path):
    monkeypatch.setattr(
        models, "find_spec", lambda name: None if name == "transformers" else object()
    )
    assert {r.domain for r in plain_models("default")} == {"vision", "graphs"}
    absent = models.untrainable_domains(models.stability_recipes("default").domains)
    assert absent == {"models of language": "transformers is not installed"}
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    result = run(tmp_path, size="small", measures=WATCHED, only=["canary"])
    assert result["canary"].reasons == {"models of vision": "torch is not installed"}
    assert not result["canary"].scores


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stability")
    return folder, run(folder, size="small", measures=WATCHED, only=["canary"])


def test_a_run_without_noise_differs_by_nothing_at_all(study):
    table = study[1]["canary"].tables[0]
    assert table.columns[0] == "α"
    assert table.rows[0] == ("0", *[0.0] * (len(table.columns) - 1))
    assert table.rows[-1][table.columns.index("RDM drift")] > 0.05


def test_damaged_arrays_are_made_again(study):
    folder, result = study
    files = sorted((folder / weights.COPIES_FOLDER).glob("*.*"))
    arrays = [file for file in files if file.suffix == ".npy"]
    assert len(files) == 2 * len(arrays) == 10
    arrays[0].write_bytes(arrays[0].read_bytes()[:100])
    arrays[1].with_suffix(".json").write_text("{")
    arrays[2].with_suffix(".json").write_text(arrays[3].with_suffix(".json").read_text())
    (folder / weights.COPIES_FOLDER / f".{'a' * 24}.npy-1").touch()
    stages = []
    again = run(folder, size="small", measures=WATCHED, only=["canary"],
        progress=lambda *step: stages.append(step),
    )  # fmt: skip
    assert [step for step in stages if step[0] == "disturbing"] == [
        ("disturbing", done, 5) for done in (2, 3, 4, 5)
    ]
    assert again["canary"] == result["canary"]
    assert sorted((folder / weights.COPIES_FOLDER).glob("*.*")) == files


def test_sizes():
    for size, count in (("small", 1), ("default", 6), ("paper", 30)):
        assert len(plain_models(size)) == count
        parts = [part for _, part in weights.planned_perturbations(size)]
        assert len({str(part) for part in parts}) == len(parts) == 5 * count
    assert len(weights.LEVELS_BY_SIZE["paper"].noise) == 51
    with pytest.raises(ValueError, match="size must be"):
        plain_models("huge")
