"""Pretrained and fine-tuned models of all three domains: what they share, what tells them apart,
and how they shift."""

from __future__ import annotations

import numpy as np
import pytest

from resemblance.bench.sensitivity.models import SIZES, sensitivity_recipes
from resemblance.bench.training import corruption, extract, fit
from resemblance.bench.training.graphs import packaged as graphs
from resemblance.bench.training.graphs.shifts import GRAPH_SHIFTS
from resemblance.bench.training.language import packaged as language
from resemblance.bench.training.language.networks import split_words
from resemblance.bench.training.language.shifts import TEXT_STRESSES
from resemblance.bench.training.standard_library import load_snapshot
from resemblance.bench.training.vision import packaged as vision
from resemblance.bench.training.vision.shifts import IMAGE_CORRUPTIONS

DOMAINS = ("graphs", "language", "vision")
FAMILIES = {"graphs": GRAPH_SHIFTS, "language": TEXT_STRESSES, "vision": IMAGE_CORRUPTIONS}
HEAD = {"graphs": "convs.2.", "language": "classifier.", "vision": "head."}
POOLING = {"graphs": {"node"}, "language": {"cls", "mean"}, "vision": {"mean"}}


def child(domain, seed=0, pretrain=0):
    plan = [r for r in sensitivity_recipes("small", [domain]) if r.setting == "finetuned"]
    return plan[0]._replace(seed=seed, pretrain=pretrain)


@pytest.fixture(scope="module")
def trained():
    """Weights and extraction by (domain, pretrain, seed), the weights of parents by (domain,
    pretrain)."""
    found = {}
    for domain in DOMAINS:
        for p in (0, 1):
            found[domain, p] = fit(child(domain, 0, p).parent)
        for p, seed in ((0, 0), (0, 1), (1, 0)):
            recipe = child(domain, seed, p)
            state = fit(recipe, start=found[domain, p])
            found[domain, p, seed] = (state, extract(recipe, state))
    return found


# ------------------------------------------------------------------------------------------ recipes


def test_sizes_have_the_models_of_the_four_benchmarks():
    for size, (seeds, finetunings, grid, *_) in SIZES.items():
        plan = sensitivity_recipes(size)
        assert len({r.name for r in plan}) == len({r.fingerprint for r in plan}) == len(plan)
        for domain in DOMAINS:
            own = [r for r in plan if r.domain == domain]
            assert sum(r.setting == "normal" for r in own) == seeds
            assert sum(r.pretrain == 0 for r in own) == finetunings
            both = {(r.pretrain, r.seed) for r in own if r.setting == "finetuned"}
            assert {(p, f) for p in range(grid[0]) for f in range(grid[1])} <= both
            parents = {r.name for r in own if r.setting == "pretrained"}
            assert parents == {r.parent.name for r in own if r.parent}
    every = {r.fingerprint for r in sensitivity_recipes("paper")}
    assert {r.fingerprint for r in sensitivity_recipes("default")} <= every


def test_unknown_sizes_and_domains_are_refused():
    with pytest.raises(
        ValueError, match="size must be one of 'small', 'default', 'paper'; got 'huge'"
    ):
        sensitivity_recipes("huge")
    with pytest.raises(ValueError, match=r"domain must be .*; got 'audio'"):
        sensitivity_recipes("small", ["audio"])
    assert len(sensitivity_recipes("small", ["vision", "vision"])) == len(
        sensitivity_recipes("small", ["vision"])
    )


# ------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize("domain", DOMAINS)
def test_all_but_the_head_starts_from_the_parent_and_heads_from_the_seed(domain, trained):
    """Without training, what is left is the start: weights of the parent, and a head that only the
    seed decides."""
    rate = "rate" if domain == "language" else "lr"
    heads = {}
    for p, seed in ((0, 0), (0, 1), (1, 0)):
        recipe = child(domain, seed, p)
        recipe = recipe._replace(options=recipe.options | {rate: 0.0})
        state = fit(recipe, start=trained[domain, p])
        for name, value in state.items():
            if (
                not name.startswith(HEAD[domain])
                and "running_" not in name
                and "num_batches" not in name
            ):
                assert np.array_equal(value, trained[domain, p][name]), name
        heads[p, seed] = np.concatenate(
            [v.ravel() for name, v in state.items() if name.startswith(HEAD[domain])]
        )
    assert np.array_equal(heads[0, 0], heads[1, 0])
    assert not np.allclose(heads[0, 0], heads[0, 1])


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_shift_has_an_accuracy_at_every_severity_and_a_mean(domain, trained):
    found = trained[domain, 0, 0][1].accuracies
    names = {f"{name}/{severity}" for name in FAMILIES[domain] for severity in range(1, 6)}
    more = {"held_out_files"} if domain == "language" else set()
    assert set(found) == names | set(FAMILIES[domain]) | more | {"test", "shift"}
    assert all(0 <= value <= 1 for value in found.values())
    for name in FAMILIES[domain]:
        assert found[name] == pytest.approx(np.mean([found[f"{name}/{s}"] for s in range(1, 6)]))
    assert found["shift"] == pytest.approx(
        np.mean([found[name] for name in {*FAMILIES[domain], *more}])
    )


LEARNED = {  # sizes at which models learn enough for a shift to cost something
    "graphs": {"vocabulary": 60, "hidden": 16, "epochs": 40},
    "language": {
        "test": 150,
        "vocabulary": 1000,
        "tokens": 20,
        "epochs": 6,
        "batch": 32,
        "width": 16,
    },
    "vision": {"test": 200, "epochs": 4, "width": 8},
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_accuracy_falls_with_severity_on_average(domain, monkeypatch):
    monkeypatch.setattr(corruption, "SEVERITIES", (1, 3, 5))
    recipe = child(domain)
    options = recipe.options | LEARNED[domain] | {"shots": 40 if domain != "language" else 200}
    pretraining = recipe.options["pretraining"] | LEARNED[domain]
    recipe = recipe._replace(options=options | {"pretraining": pretraining})
    found = extract(recipe, fit(recipe, start=fit(recipe.parent))).accuracies
    chance = 1 / options["classes"]
    by_severity = [np.mean([found[f"{name}/{s}"] for name in FAMILIES[domain]]) for s in (1, 3, 5)]
    assert found["test"] > chance + 0.25
    assert by_severity[0] > by_severity[1] > by_severity[2]
    assert found["test"] > by_severity[2] + 0.1
    assert found["shift"] < found["test"]


# -------------------------------------------------------------------------------------------- tasks


def test_held_out_files_are_in_no_training_or_test_set():
    sentences = load_snapshot().sentences
    files = language.held_out_files(sentences)
    task = language.sentence_task(child("language"))
    other = language.sentence_task(child("language").parent)
    by_file = {}
    for text, file in zip(sentences.texts, sentences.files, strict=True):
        by_file.setdefault(tuple(split_words(text)), set()).add(file)
    for words in [*task.train, *task.test, *other.train, *other.test]:
        assert not by_file[tuple(words)] <= files
    assert all(by_file[tuple(words)] & files for words in task.held_out)
    learned = {tuple(words) for words in [*task.train, *other.train]}
    assert not [words for words in task.held_out if tuple(words) in learned]
    assert len(task.held_out) == len(task.held_out_labels)
    assert set(task.held_out_labels) == set(range(5))
    shares = np.bincount(task.held_out_labels) / 600
    assert (shares > 0.1).all()
    assert (shares <= 0.2).all()


TASKS = {
    "graphs": graphs.node_task, "vision": vision.digit_task, "language": language.sentence_task,
}  # fmt: skip


@pytest.mark.parametrize("domain", TASKS)
def test_what_is_tested_is_not_learned(domain):
    task, other = TASKS[domain](child(domain)), TASKS[domain](child(domain).parent)
    if domain == "graphs":
        sets = [set(part.tolist()) for part in (task.train, task.test, other.train, other.test)]
        assert len(set.union(*sets)) == sum(map(len, sets)) == 2800
        return
    of = (lambda x: x.tobytes()) if domain == "vision" else tuple
    sets = [{of(x) for x in part} for part in (task.train, task.test, other.train, other.test)]
    shared = sum(map(len, sets)) - len(set.union(*sets))
    assert shared <= (0 if domain == "vision" else 8)  # sentences that differ in capitals only


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_start_that_is_missing_or_of_another_network_is_refused(domain, trained):
    recipe = child(domain)
    with pytest.raises(ValueError, match=r"needs start, the weights of .*/pretrained/seed0"):
        fit(recipe)
    start = dict(trained[domain, 0])
    name = next(n for n in start if not n.startswith(HEAD[domain]))
    with pytest.raises(ValueError, match="start has the shape"):
        fit(recipe, start=start | {name: np.zeros((1, 2, 3))})
    del start[name]
    with pytest.raises(ValueError, match="start has nothing for"):
        fit(recipe, start=start)
