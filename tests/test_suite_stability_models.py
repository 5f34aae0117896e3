"""The experiments of the stability suite on trained models: disturbed weights, steering, few
labels."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.stats import spearmanr

import resemblance as rs
from resemblance.catalogue import get_measures
from resemblance.results.figures import Bar
from resemblance.results.result import load_result
from resemblance.suites.experiments import Setting, Task, compute_part, run_experiments
from resemblance.suites.resi.models import recipes
from resemblance.suites.stability import (
    canary,
    canary_facts,
    cells,
    correlating,
    detection,
    fewshot_findings,
    models,
    perturbed,
    probes,
)
from resemblance.suites.stability.canary import CANARY
from resemblance.suites.stability.canary_findings import conclude
from resemblance.suites.stability.fewshot import FEWSHOT, few_of
from resemblance.suites.stability.labellings import TASKS, labellings
from resemblance.suites.stability.models import deep_models, family, plain_models
from resemblance.suites.stability.steering import STEERING

WATCHED = get_measures(
    [canary_facts.RDM, canary_facts.CKA, canary_facts.PROCRUSTES, canary_facts.SQUARED]
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


# ------------------------------------------------------------------------------------------ weights


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


# ---------------------------------------------------------------------------------------- detection


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


# -------------------------------------------------------------------------------------- correlation


def test_partial_correlation_against_the_closed_form(rng):
    z = rng.standard_normal(80)
    a, b = z + rng.standard_normal(80), z + rng.standard_normal(80)
    ab, az, bz = (spearmanr(*pair).statistic for pair in ((a, b), (a, z), (b, z)))
    expected = (ab - az * bz) / np.sqrt((1 - az**2) * (1 - bz**2))
    assert correlating.partial_rank_correlation(a, b, z[:, None]) == pytest.approx(
        expected, abs=1e-12
    )
    assert correlating.partial_rank_correlation(np.exp(a), b, np.exp(z)[:, None]) == pytest.approx(
        expected, abs=1e-12
    )


def test_raw_residuals_leave_what_is_not_linear_and_ranks_do_not():
    z = np.linspace(0.1, 3, 40)
    a = b = np.exp(z)
    assert correlating.partial_raw_correlation(a, b, z[:, None]) == pytest.approx(1)
    assert np.isnan(correlating.partial_rank_correlation(a, b, z[:, None]))
    assert np.isnan(correlating.partial_raw_correlation(a[:5], b[:5], z[:5, None]))


def test_residuals_are_orthogonal_to_the_controls(rng):
    controls, values = 1e6 + rng.standard_normal((50, 2)), rng.standard_normal(50)
    left = correlating.residuals(values, controls)
    assert np.abs(left @ (controls - controls.mean(axis=0))).max() < 1e-9
    assert abs(left.sum()) < 1e-9


def test_mean_over_cells_leaves_out_what_has_no_value(rng):
    x = rng.standard_normal(40)
    cell = np.column_stack([x, x + 0.5 * rng.standard_normal(40)])
    constant = np.ones((5, 2))

    def value(table):
        return correlating.rank_correlation(table[:, 0], table[:, 1])

    bar = correlating.mean_over("x", [cell, constant], value, draws=100)
    assert bar.value == value(cell)
    assert bar.low < bar.value < bar.high
    assert bar == correlating.mean_over("x", [cell, constant], value, draws=100)
    assert np.isnan(correlating.mean_over("x", [constant], value, draws=10).value)
    assert correlating.mean_over("x", [constant], value, draws=10).low is None


def test_cases_of_splits_are_averaged_by_embedding():
    part = {"model": "vision/digits/resnet/normal/seed0"}
    cases = [{"layer": "a", "task": "t", "q": 1.0}, {"layer": "a", "task": "t", "q": 3.0}]
    (cell,) = cells.gathered(
        [(part, {"cases": [*cases, {"layer": "b", "task": "t", "q": None}]})],
        lambda c: {"q": c["q"]},
    )
    assert cell.name == "vision/resnet, t"
    assert cell.columns["q"][0] == 2
    assert np.isnan(cell.columns["q"][1])
    assert family("graphs/stdlib/sage/layers/seed1") == "graphs/sage"


# ------------------------------------------------------------------------------------------- probes


@pytest.fixture
def separable(rng):
    """Two classes 2 apart along the first of 300 axes, at unit scale."""
    labels = np.arange(200) % 2
    points = 0.005 * rng.standard_normal((200, 300))
    points[:, 0] += 2 * labels - 1
    return points, labels


@pytest.mark.parametrize("sphere", [False, True])
def test_steering_works_along_the_probe_and_hardly_along_others(separable, rng, sphere):
    points, labels = separable
    probe = probes.logistic_probe(points, labels)
    along = probes.direction_of(probe)
    assert abs(along[0]) > 0.99
    assert (probe(points) == labels).all()
    drop = probes.largest_drop(probes.steered(probe, points, labels, along, sphere=sphere))
    assert drop == pytest.approx(0.5)
    for _ in range(5):
        other = rng.standard_normal(300)
        other /= np.linalg.norm(other)
        assert (
            probes.largest_drop(probes.steered(probe, points, labels, other, sphere=sphere)) < 0.05
        )
    across = np.eye(300)[1] - along[1] * along
    assert probes.largest_drop(probes.steered(probe, points, labels, across, sphere=sphere)) == 0


def test_accuracy_at_zero_is_that_of_the_probe(separable):
    points, labels = separable
    probe = probes.logistic_probe(points, labels % 2)
    curve = probes.steered(probe, points, 1 - labels, np.eye(300)[0], sphere=False)
    assert curve[probes.ALPHAS.index(0.0)] == 0
    assert probes.largest_drop(curve) == 0


def test_a_probe_of_many_classes_agrees_with_scikit_learn(rng):
    from sklearn.linear_model import LogisticRegression

    labels = np.arange(90) % 3 + 4
    points = rng.standard_normal((90, 6)) + 2 * np.eye(6)[labels - 4]
    probe = probes.logistic_probe(points, labels)
    assert np.array_equal(probe(points), LogisticRegression().fit(points, labels).predict(points))
    direction = probes.direction_of(probe)
    others = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    assert (
        np.linalg.norm(probe.weights @ direction)
        >= np.linalg.norm(probe.weights @ others, axis=0).max()
    )


def test_the_penalty_is_chosen_on_samples_that_were_not_fitted_to(rng):
    labels = np.arange(60) % 2
    points = np.column_stack([1e4 + 100 * labels, rng.standard_normal((60, 30)), np.ones(60)])
    probe = probes.chosen_probe(points, labels, np.arange(60) % 4 > 0)
    assert (
        probe(points) == labels
    ).mean() > 0.95  # features of any scale, and one that does not vary


def test_halves_and_few_samples_have_every_class(rng):
    labels = np.repeat([0, 1, 2], [50, 21, 10])
    first, second = probes.halves(labels, rng)
    assert not set(first) & set(second)
    assert len(first) + len(second) == 81
    assert np.bincount(labels[first]).tolist() == [25, 10, 5]
    few, fitting = few_of(labels, 30, rng)
    assert len(set(few)) == len(few)
    assert np.bincount(labels[few]).tolist() == [19, 8, 4]
    assert np.bincount(labels[few][~fitting]).tolist() == [4, 2, 1]


def test_new_tasks_are_questions_about_the_same_inputs():
    (recipe,) = (r for r in recipes("slice", ["vision"]) if r.setting == "normal" and r.seed == 0)
    classes = np.arange(100) % 10
    found = labellings(recipe, classes)
    assert tuple(found) == TASKS["vision"]
    assert found["loops"][:10].tolist() == [1, 0, 0, 0, 0, 0, 1, 0, 1, 1]
    assert found["parity"][:3].tolist() == [0, 1, 0]
    assert np.bincount(found["ink"]).min() >= 33
    for domain in ("graphs", "language"):
        (recipe,) = (r for r in recipes("slice", [domain]) if r.setting == "normal" and r.seed == 0)
        found = labellings(recipe, classes)
        assert all(
            v.shape == (100,) and set(v) <= {0, 1, 2}
            for name, v in found.items()
            if name != "classes"
        )
        assert all(
            np.bincount(v).min() >= 20
            for v in found.values()
            if v is not classes and len(set(v)) == 3
        )


# ------------------------------------------------------------------------------------------- canary


def world(rdm, cka, root):
    """Parts of a canary in which measures are functions of α, and accuracy falls from α = 0.3
    on."""
    specs = {
        canary_facts.RDM: rdm,
        canary_facts.CKA: cka,
        canary_facts.PROCRUSTES: root,
        canary_facts.SQUARED: lambda a: root(a) ** 2,
    }
    plan = {
        "noise": [k / 20 for k in range(11)],
        "rounding": [8, 2],
        "adapters": [[8, 0.01]],
        "shuffled": [0],
    }
    done = []
    for seed in range(3):
        for kind, draw in (
            ("noise", 0),
            ("noise", 1),
            ("rounding", 0),
            ("adapters", 0),
            ("shuffled", 0),
        ):
            points = []
            for level in plan[kind]:
                x = {
                    "noise": level,
                    "rounding": 0.01 if level == 8 else 0.5,
                    "adapters": 0.01,
                    "shuffled": 1.0,
                }[kind]
                lost = round(100 * max(0.0, x - 0.25))
                found = {m: of(x) for m, of in specs.items()}
                points.append(
                    {
                        "name": str(level),
                        "level": level,
                        "accuracy": 0.9 - lost / 100,
                        "lost": lost,
                        "gained": 0,
                        "differences": found,
                        "drifts": dict(found),
                    }
                )
            name = f"vision/digits/resnet/normal/seed{seed}"
            part = {"model": name, "kind": kind, "draw": draw, "levels": plan[kind]}
            unchanged = {m: of(0.0) for m, of in specs.items()}
            done.append(
                (part, {"accuracy": 0.9, "unchanged": unchanged, "points": points, "reasons": {}})
            )
    return done


def verdicts(done):
    return {claim.number: claim.verdict for claim in conclude(WATCHED, done).claims}


def test_claims_hold_in_the_world_of_the_paper_and_fail_in_others():
    paper = verdicts(world(lambda a: a**1.8, lambda a: a**2, lambda a: a**0.9))
    assert (
        paper["10 first"]
        == paper["10 alarms"]
        == paper["10 larger"]
        == paper["10 warns"]
        == "reproduced"
    )
    assert paper["10 rigid"] == "not reproduced"
    assert paper["10 follows"] == "reproduced"
    rigid = verdicts(world(lambda a: a**4, lambda a: a**3, lambda a: a**0.25))
    assert rigid["10 rigid"] == "reproduced"
    assert rigid["10 larger"] == "not reproduced"
    other = verdicts(world(lambda a: a, lambda a: a, lambda a: a**3))
    assert other["10 first"] == other["10 alarms"] == "not reproduced"
    wrong = verdicts(
        world(lambda a: 1.1 - a if a < 1 else a, lambda a: 1.1 - a if a < 1 else a, lambda a: a)
    )
    assert wrong["10 follows"] == "not reproduced"
    best = verdicts(
        world(lambda a: max(0, a - 0.25), lambda a: 1.1 - a if a < 1 else a, lambda a: a)
    )
    assert best["10 highest"] == "reproduced"
    lower = verdicts(world(lambda a: 1.1 - a if a < 1 else a, lambda a: a, lambda a: a))
    assert lower["10 highest"] == "not reproduced"


def test_a_missing_measure_is_no_data_and_not_a_verdict():
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    found = {
        c.number: c.verdict for c in conclude(WATCHED[:1], _without(done, canary_facts.CKA)).claims
    }
    assert found["10 follows"] == "no data"
    assert found["10 warns"] == "reproduced"


def _without(done, spec):
    for _, value in done:
        for point in value["points"]:
            del point["differences"][spec], point["drifts"][spec]
        del value["unchanged"][spec]
    return done


def test_calibrated_thresholds_are_exactly_the_same_for_a_root_and_a_square(rng):
    disturbance = dict(zip([k / 20 for k in range(11)] + [0.01, 1.0], np.sort(rng.random(13))))
    disturbance[0.0] = 0.0
    values = {
        f: world(*(lambda a, f=f: f(disturbance[a]) for _ in range(3)))
        for f in (np.sqrt, np.square, np.float64)
    }
    found = [
        (
            canary_facts.rates(models, canary_facts.CKA, canary_facts.calibrated),
            [
                canary_facts.first_alarm(m, canary_facts.CKA, canary_facts.calibrated)
                for m in models
            ],
        )
        for models in map(canary_facts.watched, values.values())
    ]
    assert found[0] == found[1] == found[2]
    assert found[0][0].caught > 0
    models = canary_facts.watched(world(lambda a: a**2, lambda a: a**2, lambda a: a))
    fixed = [
        canary_facts.rates(models, s, canary_facts.scaled).false_alarms
        for s in (WATCHED[2].spec, WATCHED[3].spec)
    ]
    assert fixed[0] > fixed[1]


def test_a_measure_without_values_has_no_score_and_raises_no_alarm():
    done = world(lambda a: None, lambda a: a**2, lambda a: a)
    section = conclude(WATCHED, done)
    (cell,) = (c for c in section.scores if "noise" in c)
    assert section.scores[cell][canary_facts.RDM] is None
    assert f"{cell}: {canary_facts.RDM}" in section.reasons
    assert f"vision/digits/resnet/normal/seed0: {canary_facts.RDM}" in section.reasons
    assert section.scores[cell][canary_facts.CKA] > 0.8
    assert np.isnan(
        canary_facts.rates(canary_facts.watched(done), canary_facts.RDM, canary_facts.scaled)[0]
    )


def test_failing_where_it_is_hard_does_not_pay():
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    for _, value in done[:2]:
        hard = next(p for p in value["points"] if p["level"] == 0.3)
        hard["differences"][canary_facts.CKA] = hard["drifts"][canary_facts.CKA] = None
        value["reasons"][f"{canary_facts.CKA}, 0.3"] = "too hard"
    section, models = conclude(WATCHED, done), canary_facts.watched(done)
    (cell,) = (c for c in section.scores if "noise" in c)
    assert section.scores[cell][canary_facts.CKA] is None
    assert section.reasons[f"{cell}: {canary_facts.CKA}"].endswith("seed0, 0.3: too hard")
    assert section.scores[cell][canary_facts.RDM] > 0.8
    assert np.isnan(canary_facts.rates(models, canary_facts.CKA, canary_facts.scaled).caught)
    assert canary_facts.pooled(models, canary_facts.CKA)[0].size == 0
    for _, value in done[
        :2
    ]:  # unchanged weights are left out: a measure without a value for them loses nothing
        value["points"][0]["differences"][canary_facts.RDM] = None
    assert conclude(WATCHED, done).scores[cell] == section.scores[cell]


def test_a_similarity_without_a_bound_has_a_scale():
    bounded = canary_facts.watched(world(lambda a: a**2, lambda a: a, lambda a: a))
    shifted = canary_facts.watched(world(lambda a: a**2 - 0.9, lambda a: a, lambda a: a))
    for before, after in zip(bounded, shifted):
        points = after.of("noise")
        assert canary_facts.scale(after, canary_facts.RDM) == pytest.approx(1)
        np.testing.assert_allclose(
            canary_facts.shares(after, points, canary_facts.RDM),
            canary_facts.shares(before, before.of("noise"), canary_facts.RDM),
            atol=1e-12,
        )
    of = [
        canary_facts.rates(models, canary_facts.RDM, canary_facts.scaled)
        for models in (bounded, shifted)
    ]
    assert of[0] == of[1]


def test_differences_are_rounded_relative_to_the_largest():
    values = np.array([0.0, 1.0, 1.0 + 1e-12, 2.0, np.nan])
    for unit in (1.0, 2.0**-60, 2.0**60):
        kept = canary.trimmed(unit * values)
        assert kept[1] == kept[2] == unit
        assert kept[3] == 2 * unit
        assert np.isnan(kept[4])
    assert canary.trimmed(np.zeros(3)).tolist() == [0, 0, 0]


def test_few_losses_are_told_by_rank_and_no_quality_counts_twice():
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    models = canary_facts.watched(done)
    assert canary_facts.lost(models, "noise", 0.02) == (30, 30)
    assert canary_facts.lost(models, "rounding", 0.02) == (3, 3)
    assert canary_facts.detection(models, canary_facts.RDM, "noise", 0.02) == 1
    assert np.isnan(canary_facts.detection(models, canary_facts.RDM, "rounding", 0.02))
    section = conclude(WATCHED, done)
    assert list(section.scores) == [
        "vision/resnet, noise: AUC",
        "vision/resnet, rounding: Spearman",
    ]
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
    model = canary_facts.watched(done)[0]
    assert model.of("noise", 1)[1].harmed
    assert canary_facts.first_harm(model) > 0.3


def test_few_models_decide_nothing():
    done = world(lambda a: a**1.8, lambda a: a**2, lambda a: a**0.9)
    assert {c.verdict for c in conclude(WATCHED, done[:5]).claims} == {"no data"}
    assert "1 models" in conclude(WATCHED, done[:5]).claims[0].note
    assert {c.verdict for c in conclude(WATCHED, []).claims} == {"no data"}


def test_the_best_measure_is_only_best_by_more_than_chance():
    one, other = (
        {0.3: 0.35, 0.35: 0.3},
        {0.4: 0.45, 0.45: 0.4},
    )  # each has two levels in the wrong order
    close = verdicts(world(lambda a: one.get(a, a), lambda a: other.get(a, a), lambda a: 1.1 - a))
    assert close["10 highest"] == "in part"


def test_an_interval_that_includes_much_is_not_uncorrelated():
    assert cells.is_small(Bar("a", 0.0, -0.2, 0.2))
    assert not cells.is_small(Bar("a", 0.0, -0.5, 0.5))
    assert not cells.is_small(Bar("a", 0.0))


def test_equal_embeddings_are_no_tax():
    def cell(accuracy, stability):
        columns = {"accuracy": np.array(accuracy), fewshot_findings.SPLIT: np.array(stability)}
        return cells.Cell("a, b", ("x",) * len(accuracy), columns)

    below = fewshot_findings.best_is_below
    assert below(cell([0.9, 0.8, 0.7], [0.1, 0.2, 0.3])) == 1
    assert below(cell([0.9, 0.8, 0.9], [0.1, 0.2, 0.3])) == 0.5
    assert below(cell([0.9, 0.9, 0.9], [0.1, 0.2, 0.3])) is None
    assert below(cell([0.9, 0.8, 0.7], [0.2, 0.2, 0.2])) is None


def test_all_measures_are_in_tables_and_curves_and_those_of_the_paper_first():
    done = world(lambda a: a**2, lambda a: a**2, lambda a: a)
    mine = rs.cka.where(kernel="rbf")
    for _, value in done:
        for where in (value["unchanged"], *(p["differences"] for p in value["points"])):
            where[mine.spec] = where[canary_facts.RDM]
    section = conclude((mine, *WATCHED), done)
    assert section.tables[0].columns[3:5] == ("RDM drift", "CKA, debiased")
    assert section.tables[0].columns[-1] == mine.label
    for figure in (section.figures[0], next(f for f in section.figures if f.name == "canary_roc")):
        assert mine.label in [line.name for line in figure.lines]


def test_models_of_missing_packages_are_left_out_and_named(monkeypatch, tmp_path):
    monkeypatch.setattr(
        models, "find_spec", lambda name: None if name == "transformers" else object()
    )
    setting = Setting(tmp_path, "default", WATCHED)
    assert {r.domain for r in plain_models(setting)} == {"vision", "graphs"}
    assert models.absent_of(setting) == {"models of language": "transformers is not installed"}
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    found = run_experiments(
        "stability", [CANARY, STEERING, FEWSHOT], tmp_path, size="small", measures=WATCHED
    )
    for section in found.sections:
        assert section.reasons == {"models of vision": "torch is not installed"}
        assert {c.verdict for c in section.claims} == {"no data"}


# --------------------------------------------------------------------------------------- the suites


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stability")
    return folder, run_experiments(
        "stability", [CANARY, STEERING, FEWSHOT], folder, size="small", measures=WATCHED
    )


def test_a_run_without_noise_differs_by_nothing_at_all(study):
    table = study[1]["canary"].tables[0]
    assert table.columns[0] == "α"
    assert table.rows[0] == ("0", *[0.0] * (len(table.columns) - 1))
    assert table.rows[-1][table.columns.index("RDM drift")] > 0.05


def test_the_findings_can_be_kept(study):
    folder, found = study
    again = load_result(folder / "result.json")
    assert again.claims == found.claims
    assert again.sections[0].tables == found.sections[0].tables
    assert {section.name for section in found.sections} == {"canary", "steering", "fewshot"}
    assert all(cell.values() for cell in found["canary"].scores.values())
    assert found["steering"].reasons
    assert {c.verdict for c in found.claims} == {"no data"}  # of one model
    assert found["fewshot"].tables[0].rows


def test_another_process_finds_the_same(study, tmp_path):
    folder, setting = study[0], Setting(study[0], "small", WATCHED)
    tasks, kept = [], []
    for experiment in (CANARY, STEERING, FEWSHOT):
        part = next(p for p in experiment.parts(setting) if p.get("kind", "rounding") == "rounding")
        tasks.append(
            Task(experiment.name, experiment.compute, part, tmp_path / f"{experiment.name}.json")
        )
        every = (
            json.loads(file.read_text("utf-8"))
            for file in (folder / "parts" / experiment.name).iterdir()
        )
        kept.append(
            next(found["value"] for found in every if found["part"] == json.loads(json.dumps(part)))
        )
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for task in tasks:
            pool.submit(compute_part, task, setting).result()
    assert [json.loads(task.file.read_text("utf-8"))["value"] for task in tasks] == kept


def test_what_is_done_is_not_done_again(study, monkeypatch):
    folder, found = study
    monkeypatch.setattr(canary, "_seen", None)
    again = run_experiments("stability", [CANARY], folder, size="small", measures=WATCHED)
    assert again["canary"] == found["canary"]


def test_sizes(tmp_path):
    for size, plain, deep in (("small", 1, 1), ("default", 6, 6), ("paper", 30, 30)):
        setting = Setting(tmp_path, size, ())
        assert len(plain_models(setting)) == plain
        assert {r.domain for r in deep_models(setting)} <= {*TASKS}
        assert len(deep_models(setting)) in (deep, deep - 3)  # P-GNN has no deeper form
        assert all(r.setting == "layers" for r in deep_models(setting) if r.domain == "graphs")
    assert len(canary.LEVELS["paper"].noise) == 51
    with pytest.raises(ValueError, match="no size"):
        run_experiments("stability", [CANARY], tmp_path, size="huge")
