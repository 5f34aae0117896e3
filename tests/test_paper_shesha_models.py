"""The paper of Shesha on trained models: disturbed weights, steering, few labels."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from factories.disturbed_models import WATCHED, world
from scipy.stats import spearmanr

from papers.shesha import canary_claims, cells, fewshot_sections, partial_correlation, probes
from papers.shesha.embeddings import deep_models
from papers.shesha.fewshot import FEWSHOT, few_of
from papers.shesha.steering import STEERING
from papers.shesha.suite import CLAIMS, run
from papers.shesha.tasks import TASKS, labellings
from resemblance.results.figures import Bar
from resemblance.results.result import load_result
from resemblance.suites.experiments import RunConfig, Task, compute_part
from resemblance.suites.resi.models import recipes
from resemblance.suites.stability import models, weight_changes, weights
from resemblance.suites.stability import run as run_suite
from resemblance.suites.stability.models import family
from resemblance.suites.stability.weights import CANARY
from resemblance.suites.stability.weights_sections import conclude

ON_MODELS = ("steering", "canary", "fewshot")


def test_partial_correlation_against_the_closed_form(rng):
    z = rng.standard_normal(80)
    a, b = z + rng.standard_normal(80), z + rng.standard_normal(80)
    ab, az, bz = (spearmanr(*pair).statistic for pair in ((a, b), (a, z), (b, z)))
    expected = (ab - az * bz) / np.sqrt((1 - az**2) * (1 - bz**2))
    assert partial_correlation.partial_rank_correlation(a, b, z[:, None]) == pytest.approx(
        expected, abs=1e-12
    )
    assert partial_correlation.partial_rank_correlation(
        np.exp(a), b, np.exp(z)[:, None]
    ) == pytest.approx(expected, abs=1e-12)


def test_raw_residuals_leave_what_is_not_linear_and_ranks_do_not():
    z = np.linspace(0.1, 3, 40)
    a = b = np.exp(z)
    assert partial_correlation.partial_raw_correlation(a, b, z[:, None]) == pytest.approx(1)
    assert np.isnan(partial_correlation.partial_rank_correlation(a, b, z[:, None]))
    assert np.isnan(partial_correlation.partial_raw_correlation(a[:5], b[:5], z[:5, None]))


def test_residuals_are_orthogonal_to_the_controls(rng):
    controls, values = 1e6 + rng.standard_normal((50, 2)), rng.standard_normal(50)
    left = partial_correlation.residuals(values, controls)
    assert np.abs(left @ (controls - controls.mean(axis=0))).max() < 1e-9
    assert abs(left.sum()) < 1e-9


def test_mean_over_cells_leaves_out_what_has_no_value(rng):
    x = rng.standard_normal(40)
    cell = np.column_stack([x, x + 0.5 * rng.standard_normal(40)])
    constant = np.ones((5, 2))

    def value(table):
        return partial_correlation.rank_correlation(table[:, 0], table[:, 1])

    bar = partial_correlation.mean_over("x", [cell, constant], value, draws=100)
    assert bar.value == value(cell)
    assert bar.low < bar.value < bar.high
    assert bar == partial_correlation.mean_over("x", [cell, constant], value, draws=100)
    assert np.isnan(partial_correlation.mean_over("x", [constant], value, draws=10).value)
    assert partial_correlation.mean_over("x", [constant], value, draws=10).low is None


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


def _section(done, measures=WATCHED):
    models = weight_changes.disturbed_models(done)
    return conclude(measures, models, {})._replace(claims=canary_claims.claims(models))


def verdicts(done):
    return {claim.number: claim.verdict for claim in _section(done).claims}


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
        c.number: c.verdict
        for c in _section(_without(done, weight_changes.CKA), WATCHED[:1]).claims
    }
    assert found["10 follows"] == "no data"
    assert found["10 warns"] == "reproduced"


def _without(done, spec):
    for _, value in done:
        for point in value["points"]:
            del point["differences"][spec], point["drifts"][spec]
        del value["unchanged"][spec]
    return done


def test_few_models_decide_nothing():
    done = world(lambda a: a**1.8, lambda a: a**2, lambda a: a**0.9)
    assert {c.verdict for c in _section(done[:5]).claims} == {"no data"}
    assert "1 models" in _section(done[:5]).claims[0].note
    assert {c.verdict for c in _section([]).claims} == {"no data"}


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
        columns = {"accuracy": np.array(accuracy), fewshot_sections.SPLIT: np.array(stability)}
        return cells.Cell("a, b", ("x",) * len(accuracy), columns)

    below = fewshot_sections.best_is_below
    assert below(cell([0.9, 0.8, 0.7], [0.1, 0.2, 0.3])) == 1
    assert below(cell([0.9, 0.8, 0.9], [0.1, 0.2, 0.3])) == 0.5
    assert below(cell([0.9, 0.9, 0.9], [0.1, 0.2, 0.3])) is None
    assert below(cell([0.9, 0.8, 0.7], [0.2, 0.2, 0.2])) is None


# ---------------------------------------------------------------------------------------- a study


def test_models_of_missing_packages_are_left_out_and_named(monkeypatch, tmp_path):
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    result = run(tmp_path, size="small", measures=WATCHED, only=ON_MODELS)
    for section in result.sections:
        assert section.reasons == {"models of vision": "torch is not installed"}
        assert {c.verdict for c in section.claims} == {"no data"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shesha")
    return folder, run(folder, size="small", measures=WATCHED, only=ON_MODELS)


def test_the_result_can_be_kept(study):
    folder, result = study
    again = load_result(folder / "result.json")
    assert again.claims == result.claims
    assert again.sections[0].tables == result.sections[0].tables
    assert {section.name for section in result.sections} == {"canary", "steering", "fewshot"}
    assert all(cell.values() for cell in result["canary"].scores.values())
    assert result["steering"].reasons
    assert {c.verdict for c in result.claims} == {"no data"}  # of one model
    assert result["fewshot"].tables[0].rows


def test_the_suite_continues_the_study_of_the_paper(study, monkeypatch):
    folder, result = study
    monkeypatch.setattr(weights, "_seen", None)
    section = run_suite(folder, size="small", measures=WATCHED, only=["canary"])["canary"]
    assert section == result["canary"]._replace(claims=())
    judged = run_suite(folder, size="small", measures=WATCHED, only=["canary"], claims=CLAIMS)
    assert judged["canary"] == result["canary"]


def test_another_process_finds_the_same(study, tmp_path):
    folder, config = study[0], RunConfig(study[0], "small", WATCHED)
    tasks, stored = [], []
    for experiment in (CANARY, STEERING, FEWSHOT):
        part = next(p for p in experiment.parts(config) if p.get("kind", "rounding") == "rounding")
        file = tmp_path / f"{experiment.name}.json"
        tasks.append(Task(experiment.name, experiment.compute, part, file))
        entries = (
            json.loads(file.read_text("utf-8"))
            for file in (folder / "parts" / experiment.name).iterdir()
        )
        stored.append(
            next(e["value"] for e in entries if e["part"] == json.loads(json.dumps(part)))
        )
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for task in tasks:
            pool.submit(compute_part, task, config).result()
    assert [json.loads(task.file.read_text("utf-8"))["value"] for task in tasks] == stored


def test_sizes(tmp_path):
    for size, count in (("small", 1), ("default", 6), ("paper", 30)):
        recipes_ = deep_models(RunConfig(tmp_path, size, ()))
        assert {r.domain for r in recipes_} <= {*TASKS}
        assert len(recipes_) in (count, count - 3)  # P-GNN has no deeper form
        assert all(r.setting == "layers" for r in recipes_ if r.domain == "graphs")
