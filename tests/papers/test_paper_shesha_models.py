"""The paper of Shesha on trained models: disturbed weights, steering, few labels."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from factories.disturbed_models import WATCHED, world
from scipy.stats import spearmanr

import resemblance as rs
from papers.judging import judged
from papers.shesha import correlations, foretold
from papers.shesha.canary import CANARY
from papers.shesha.correlations import Cell, gathered
from papers.shesha.models import SPLIT, TASKS, deep_models, labellings, logistic_probe
from papers.shesha.reproduction import CLAIMS, run
from resemblance import bench
from resemblance.bench.stability import models
from resemblance.bench.training import recipes

run_suite = partial(bench.run, "stability")

ON_MODELS = ("steering", "canary", "fewshot")


def test_partial_correlation_against_the_closed_form(rng):
    z = rng.standard_normal(80)
    a, b = z + rng.standard_normal(80), z + rng.standard_normal(80)
    ab, az, bz = (spearmanr(*pair).statistic for pair in ((a, b), (a, z), (b, z)))
    expected = (ab - az * bz) / np.sqrt((1 - az**2) * (1 - bz**2))
    for x, control in ((a, z), (np.exp(a), np.exp(z))):
        found = correlations.partial_rank_correlation(x, b, control[:, None])
        assert found == pytest.approx(expected, abs=1e-12)


def test_raw_residuals_leave_what_is_not_linear_and_ranks_do_not():
    z = np.linspace(0.1, 3, 40)
    a = b = np.exp(z)
    assert correlations.partial_raw_correlation(a, b, z[:, None]) == pytest.approx(1)
    assert np.isnan(correlations.partial_rank_correlation(a, b, z[:, None]))
    assert np.isnan(correlations.partial_raw_correlation(a[:5], b[:5], z[:5, None]))


def test_mean_over_cells_leaves_out_what_has_no_value(rng):
    x = rng.standard_normal(40)
    names = tuple(map(str, range(40)))
    cell = Cell("a", names, {"x": x, "y": x + 0.5 * rng.standard_normal(40)})
    constant = Cell("b", names[:5], {"x": np.ones(5), "y": np.ones(5)})
    found = correlations.over_cells([cell, constant], ("x", "y"), draws=100)
    assert found[0] == correlations.rank_correlation(cell.columns["x"], cell.columns["y"])
    assert found[1] < found[0] < found[2]
    assert found == correlations.over_cells([cell, constant], ("x", "y"), draws=100)
    assert correlations.over_cells([constant], ("x", "y"), draws=10) is None


def test_cases_of_splits_are_averaged_by_embedding():
    first = ({"t": {"m a": [{"q": 1.0}, {"q": 3.0}]}}, {"m: q": "why"})
    second = ({"t": {"n b": [{"q": None}]}}, {})
    facts = gathered([first, second], 10)
    (cell,) = facts.cells
    assert (cell.name, cell.embeddings, facts.reasons) == ("t", ("m a", "n b"), {"m: q": "why"})
    np.testing.assert_array_equal(cell.columns["q"], [2, np.nan])


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
    probe = logistic_probe(points, labels)
    along = foretold.direction_of(probe)
    assert abs(along[0]) > 0.99
    assert (probe(points) == labels).all()

    def drop(direction):
        accuracies = foretold.steered(probe, points, labels, direction, sphere=sphere)
        return foretold.largest_drop(accuracies)

    assert drop(along) == pytest.approx(0.5)
    for other in rng.standard_normal((5, 300)):
        assert drop(other / np.linalg.norm(other)) < 0.05
    assert drop(np.eye(300)[1] - along[1] * along) == 0


def test_a_probe_of_many_classes_agrees_with_scikit_learn(rng):
    from sklearn.linear_model import LogisticRegression

    labels = np.arange(90) % 3 + 4
    points = rng.standard_normal((90, 6)) + 2 * np.eye(6)[labels - 4]
    probe = logistic_probe(points, labels)
    assert np.array_equal(probe(points), LogisticRegression().fit(points, labels).predict(points))
    direction = foretold.direction_of(probe)
    others = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    effects = np.linalg.norm(probe.weights @ others, axis=0)
    assert np.linalg.norm(probe.weights @ direction) >= effects.max()


def test_the_penalty_is_chosen_on_samples_that_were_not_fitted_to(rng):
    labels = np.arange(60) % 2
    points = np.column_stack([1e4 + 100 * labels, rng.standard_normal((60, 30)), np.ones(60)])
    probe = foretold.chosen_probe(points, labels, np.arange(60) % 4 > 0)
    right = probe(points) == labels  # features of any scale, and one that does not vary
    assert right.mean() > 0.95


def test_halves_and_few_samples_have_every_class(rng):
    labels = np.repeat([0, 1, 2], [50, 21, 10])
    first, second = foretold.halves(labels, rng)
    assert not set(first) & set(second)
    assert len(first) + len(second) == 81
    assert np.bincount(labels[first]).tolist() == [25, 10, 5]
    few, fitting = foretold.few_of(labels, 30, rng)
    assert len(set(few)) == len(few)
    assert np.bincount(labels[few]).tolist() == [19, 8, 4]
    assert np.bincount(labels[few][~fitting]).tolist() == [4, 2, 1]


def test_new_tasks_are_questions_about_the_same_inputs():
    (recipe,) = recipes("vision", "slice", [("normal", 0.0, 1)])
    classes = np.arange(100) % 10
    found = labellings(recipe, classes)
    assert tuple(found) == TASKS["vision"]
    assert found["loops"][:10].tolist() == [1, 0, 0, 0, 0, 0, 1, 0, 1, 1]
    assert found["parity"][:3].tolist() == [0, 1, 0]
    assert np.bincount(found["ink"]).min() >= 33
    for domain in ("graphs", "language"):
        (recipe,) = recipes(domain, "slice", [("normal", 0.0, 1)])
        found = labellings(recipe, classes)
        for labels in (v for name, v in found.items() if name != "classes"):
            assert labels.shape == (100,)
            assert set(labels) <= {0, 1, 2}
            assert len(set(labels)) < 3 or np.bincount(labels).min() >= 20


def verdicts(disturbed):
    claims = judged(CANARY, disturbed)
    return {claim.number: claim.verdict for claim in claims}


def test_claims_hold_in_the_world_of_the_paper_and_fail_in_others():
    def late(a):
        return 1.1 - a if a < 1 else a

    paper = verdicts(world(lambda a: a**1.8, lambda a: a**2, lambda a: a**0.9))
    for name in ("first", "alarms", "larger", "warns", "follows"):
        assert paper[f"10 {name}"] == "reproduced"
    assert paper["10 rigid"] == "not reproduced"
    rigid = verdicts(world(lambda a: a**4, lambda a: a**3, lambda a: a**0.25))
    assert rigid["10 rigid"] == "reproduced"
    assert rigid["10 larger"] == "not reproduced"
    other = verdicts(world(lambda a: a, lambda a: a, lambda a: a**3))
    assert other["10 first"] == other["10 alarms"] == "not reproduced"
    assert verdicts(world(late, late, lambda a: a))["10 follows"] == "not reproduced"
    best = verdicts(world(lambda a: max(0, a - 0.25), late, lambda a: a))
    assert best["10 highest"] == "reproduced"
    lower = verdicts(world(late, lambda a: a, lambda a: a))
    assert lower["10 highest"] == "not reproduced"


def test_the_best_measure_is_only_best_by_more_than_chance():
    # Each has two levels in the wrong order
    one, other = {0.3: 0.35, 0.35: 0.3}, {0.4: 0.45, 0.45: 0.4}
    close = verdicts(world(lambda a: one.get(a, a), lambda a: other.get(a, a), lambda a: 1.1 - a))
    assert close["10 highest"] == "in part"


def test_equal_embeddings_are_no_tax():
    def below(accuracy, stability):
        columns = {"accuracy": np.array(accuracy), SPLIT: np.array(stability)}
        return foretold.best_is_below(Cell("a, b", ("x",) * len(accuracy), columns))

    assert below([0.9, 0.8, 0.7], [0.1, 0.2, 0.3]) == 1
    assert below([0.9, 0.8, 0.9], [0.1, 0.2, 0.3]) == 0.5
    assert below([0.9, 0.9, 0.9], [0.1, 0.2, 0.3]) is None
    assert below([0.9, 0.8, 0.7], [0.2, 0.2, 0.2]) is None


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
    again = rs.load(folder / "result.json")
    assert again.claims == result.claims
    assert again.sections[0].tables == result.sections[0].tables
    assert [section.name for section in result.sections] == list(ON_MODELS)
    assert all(cell.values() for cell in result["canary"].scores.values())
    assert result["fewshot"].reasons
    assert {c.verdict for c in result.claims} == {"no data"}  # of one model
    assert result["fewshot"].tables[0].rows


def test_the_suite_continues_the_study_of_the_paper(study):
    folder, result = study
    section = run_suite(folder, size="small", measures=WATCHED, only=["canary"])["canary"]
    assert section == result["canary"]._replace(claims=())
    judged = run_suite(folder, size="small", measures=WATCHED, only=["canary"], claims=CLAIMS)
    assert judged["canary"] == result["canary"]


@pytest.mark.parametrize(("size", "count"), [("small", 1), ("default", 6), ("paper", 30)])
def test_sizes(size, count):
    found = deep_models(size)
    assert {r.domain for r in found} <= {*TASKS}
    assert len(found) in (count, count - 3)  # P-GNN has no deeper form
    assert all(r.setting == "layers" for r in found if r.domain == "graphs")
