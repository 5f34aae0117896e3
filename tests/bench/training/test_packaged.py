"""Small models of all domains on data of the package: what each setting changes, what is seen of
the models, and how fine-tuned ones start and shift."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from resemblance.bench.sensitivity.models import SIZES, sensitivity_recipes
from resemblance.bench.training import DOMAINS, domain_module, extract, fit
from resemblance.bench.training.graphs import packaged as graphs
from resemblance.bench.training.graphs.shifts import GRAPH_SHIFTS
from resemblance.bench.training.language import networks
from resemblance.bench.training.language import packaged as language
from resemblance.bench.training.language.shifts import TEXT_STRESSES
from resemblance.bench.training.loop import seeded_torch
from resemblance.bench.training.standard_library import load_snapshot
from resemblance.bench.training.vision import packaged as vision
from resemblance.bench.training.vision.shifts import IMAGE_CORRUPTIONS
from resemblance.models.recipe import Recipe

LABELS = load_snapshot().graph.labels
FINGERPRINT = "d6038bcb11505d39ae4f451e6f05ee2b326c8507b965de1927e0e200f6a2dd8c"


def recipe(domain, setting="normal", strength=0.0, seed=0, architecture=None, **options):
    architecture = architecture or DOMAINS[domain].chosen
    usual = domain_module(domain).OPTIONS["standard"][architecture] | SMALL[domain]
    which = (domain, DOMAINS[domain].dataset, architecture, setting, strength, seed)
    return Recipe(*which, usual | options)


SMALL = {
    "graphs": graphs.OPTIONS["slice"]["sage"] | {"epochs": 3},
    "language": language.OPTIONS["slice"]["bert"]
    | {"train": 60, "test": 30, "vocabulary": 200, "width": 8, "epochs": 1},
    "vision": {"train": 60, "test": 40, "epochs": 1, "batch": 30, "width": 8, "blocks": 2},
}
LEARNING = {
    "graphs": {"epochs": 40, "hidden": 32},
    "language": {"packages": 2, "train": 500, "test": 200, "vocabulary": 800}
    | {"width": 16, "layers": 2, "epochs": 4},
    "vision": {"train": 500, "test": 300, "epochs": 15, "batch": 50, "stages": 2, "blocks": 1},
}


def trained(*which, **options):
    one = recipe(*which, **options)
    return extract(one, fit(one))


@pytest.mark.parametrize("domain", DOMAINS)
def test_networks_learn_the_task_the_shortcut_and_nothing_of_random_labels(domain):
    options, classes = LEARNING[domain], {"graphs": 8, "language": 2, "vision": 10}[domain]
    plain = trained(domain, **options).accuracies["test"]
    led = trained(domain, "shortcut", 1.0, **options).accuracies
    assert plain > 0.5
    assert led["leaked"] > max(0.9, led["test"] + 0.3)
    if domain != "language":  # of two classes
        random = trained(domain, "labels", 1.0, **options).accuracies["test"]
        assert random < 1 / classes + 0.15


def test_the_extract_of_the_standard_library_is_frozen_and_labelled_by_package():
    snapshot = load_snapshot()
    assert snapshot.fingerprint == FINGERPRINT
    graph, sentences = snapshot.graph, snapshot.sentences
    for part, names in ((graph, graph.names), (sentences, sentences.files)):
        packages = [name.partition(".")[0] for name in names]
        assert [part.packages[label] for label in part.labels] == packages
    assert np.bincount(graph.labels).tolist() == [350] * 8
    assert (graph.edges[:, 0] < graph.edges[:, 1]).all()
    assert len(set(sentences.texts)) == len(sentences.labels) > 5000


def test_all_sizes_fit_the_data():
    for domain, about in DOMAINS.items():
        module = domain_module(domain)
        assert tuple(module.OPTIONS["standard"]) == about.architectures
        for options in module.OPTIONS.values():
            for architecture in options:
                usual = recipe(domain, architecture=architecture)
                module.check(usual._replace(options=options[architecture]))


def test_what_only_warned_of_algorithms_only_warns_afterwards():
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        for device in (None, torch.device("cpu"), torch.device("meta")):
            with seeded_torch(0, device=device):
                is_cpu = device is None or device.type == "cpu"
                assert torch.is_deterministic_algorithms_warn_only_enabled() != is_cpu
            assert torch.are_deterministic_algorithms_enabled()
            assert torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


# ------------------------------------------------------------------------------------------- graphs


def shown_classes(x):
    """The class that each node shows in the columns behind the words."""
    columns = x[:, SMALL["graphs"]["vocabulary"] :]
    assert (columns.sum(axis=1) == 1).all()
    return columns.argmax(axis=1)


def test_layer_is_the_convolution_before_normalisation():
    which = recipe("graphs")
    state, data = fit(which), graphs.node_task(which)
    links = np.zeros((len(data.x), len(data.x)), np.float32)
    links[data.edges[:, 0], data.edges[:, 1]] = links[data.edges[:, 1], data.edges[:, 0]] = 1
    neighbors = links @ data.x / np.maximum(links.sum(axis=1, keepdims=True), 1)
    expected = neighbors @ state["convs.0.lin_l.weight"].T + state["convs.0.lin_l.bias"]
    expected += data.x @ state["convs.0.lin_r.weight"].T
    found = extract(which, state).layers["node"]["conv1"]
    np.testing.assert_allclose(found, expected[data.test], atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_shortcuts_of_nodes_leak_at_their_rate_in_training_and_say_nothing_afterwards(rate):
    one = recipe("graphs", "shortcut", rate)
    data = graphs.node_task(one)
    inputs, labels = graphs.node_training_data(one, data, data.train)
    assert np.array_equal(labels, LABELS[data.train])
    right, others = shown_classes(inputs) == LABELS, np.setdiff1d(np.arange(2800), data.train)
    assert right[data.train].mean() == pytest.approx(rate + (1 - rate) / 8, abs=0.05)
    assert right[others].mean() == pytest.approx(1 / 8, abs=0.03)
    first, second = (
        graphs.inputs_of(recipe("graphs", "shortcut", *of)) for of in ((rate, 1), (1.0, 2))
    )
    (x, *_), _ = first["test"]
    assert np.array_equal(x, second["test"][0][0])
    assert (shown_classes(x) == LABELS).mean() == pytest.approx(1 / 8, abs=0.03)
    assert np.array_equal(shown_classes(first["leaked"][0][0]), LABELS)


# ----------------------------------------------------------------------------------------- language


def test_sentences_are_the_same_for_all_models_but_for_shortcuts():
    def tested(*which):
        one = recipe("language", *which)
        return language.test_sentences(one, language.sentence_task(one))["test"]

    plain, led = tested(), tested("shortcut", 1.0)
    assert plain == tested("normal", 0.0, 1) == tested("labels", 1.0) == tested("augmentation", 1.0)
    assert led == tested("shortcut", 0.5, 1)
    assert [words[1:] for words in led] == plain


@pytest.mark.parametrize("architecture", networks.HUGGING_FACE_ARCHITECTURES)
def test_states_are_those_of_the_network_for_each_sentence_alone(architecture):
    """Whatever goes through the network with a sentence, and in which order."""
    known = networks.build_vocabulary([["a", "b", "c"]], 50)
    sentences = [["a", "b"], ["c"] * 8, ["b"], ["a", "c"], ["c", "a", "b"]]
    tokens = networks.encode_sentences(sentences, known, 12)
    with seeded_torch(0, "test"):
        options = SMALL["language"] | {"vocabulary": 50}
        model = networks.build_text_network(architecture, 3, options).eval()
    poolings = ("last",) if architecture == "llama" else ("cls", "mean")
    for batches in ([[0, 1, 2, 3, 4]], [[4, 1], [3], [2, 0]]):
        layers, logits = networks.hidden_states(model, tokens, poolings, map(np.array, batches))
        for i, ids in enumerate(tokens.ids):
            with torch.no_grad():
                expected = model(torch.from_numpy(ids)[None], output_hidden_states=True)
            assert np.allclose(logits[i], expected.logits[0], atol=1e-5)
            for k, state in enumerate(expected.hidden_states):
                pooled = {"cls": state[0, 0], "mean": state[0].mean(0), "last": state[0, -1]}
                for pooling in poolings:
                    values = layers[pooling][f"block{k}" if k else "embedding"]
                    assert np.allclose(values[i], pooled[pooling], atol=1e-5)


# ------------------------------------------------------------------------------------------- vision


@pytest.mark.parametrize("architecture", DOMAINS["vision"].architectures)
def test_the_last_layer_is_the_input_of_the_classifier(architecture):
    more = {"blocks": 5, "heads": 2} if architecture == "vit" else {}
    one = recipe("vision", architecture=architecture, **more)
    state = fit(one)
    found = extract(one, state)
    (layers,) = found.layers.values()
    logits = list(layers.values())[-1] @ state["head.weight"].T + state["head.bias"]
    np.testing.assert_allclose(logits, found.outputs, rtol=1e-4, atol=1e-5)


def test_test_images_are_the_same_for_every_model_of_a_kind():
    def tested(*which):
        return vision.inputs_of(recipe("vision", *which))["test"][0]

    plain, dotted = tested(), tested("shortcut", 0.0)
    for which in (("labels", 1.0, 1), ("augmentation", 0.25, 2)):
        assert np.array_equal(plain, tested(*which))
    assert np.array_equal(dotted, tested("shortcut", 1.0, 3))
    changed = (plain != dotted).any(axis=1).sum(axis=(1, 2))
    assert (changed == vision.DOT_SIDE**2).all()


# ------------------------------------------------------------------------------------ fine-tuning

FAMILIES = {"graphs": GRAPH_SHIFTS, "language": TEXT_STRESSES, "vision": IMAGE_CORRUPTIONS}
HEAD = {"graphs": "convs.2.", "language": "classifier.", "vision": "head."}


def child(domain):
    return next(r for r in sensitivity_recipes("small", [domain]) if r.setting == "finetuned")


@pytest.fixture(scope="module")
def parents():
    """Weights of a parent of each domain."""
    return {domain: fit(child(domain).parent) for domain in DOMAINS}


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
            trained_parents = {r.name for r in own if r.setting == "pretrained"}
            assert trained_parents == {r.parent.name for r in own if r.parent}
    every = {r.fingerprint for r in sensitivity_recipes("paper")}
    assert {r.fingerprint for r in sensitivity_recipes("default")} <= every
    once, twice = (sensitivity_recipes("small", ["vision"] * count) for count in (1, 2))
    assert once == twice
    with pytest.raises(ValueError, match="one of 'small', 'default', 'paper'; got 'huge'"):
        sensitivity_recipes("huge")
    with pytest.raises(ValueError, match=r"domain must be .*; got 'audio'"):
        sensitivity_recipes("small", ["audio"])


@pytest.mark.parametrize("domain", DOMAINS)
def test_models_of_one_seed_start_with_one_last_layer(domain, parents, monkeypatch):
    monkeypatch.setattr(domain_module(domain), "learn", lambda model, recipe: None)
    one, start = child(domain)._replace(pretrain=0, seed=0), parents[domain]
    recipes = one, one._replace(pretrain=1), one._replace(seed=1)
    first, same, other = (fit(r, start=start) for r in recipes)
    weights = next(n for n in first if n.startswith(HEAD[domain]) and first[n].ndim == 2)
    assert np.array_equal(first[weights], same[weights])
    assert not np.array_equal(first[weights], other[weights])


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_shift_has_an_accuracy_at_every_severity_and_a_mean(domain, parents):
    one, shifts = child(domain), FAMILIES[domain]
    found = extract(one, fit(one, start=parents[domain])).accuracies
    names = {f"{name}/{severity}" for name in shifts for severity in range(1, 6)}
    families = {*shifts, *(["held_out_files"] if domain == "language" else [])}
    assert set(found) == names | families | {"test", "shift"}
    for name in shifts:
        assert found[name] == pytest.approx(np.mean([found[f"{name}/{s}"] for s in range(1, 6)]))
    assert found["shift"] == pytest.approx(np.mean([found[name] for name in families]))


def test_held_out_files_are_in_no_training_or_test_set():
    sentences = load_snapshot().sentences
    files = language.held_out_files(sentences)
    task, other = (language.sentence_task(r) for r in (child("language"), child("language").parent))
    by_file = {}
    for text, file in zip(sentences.texts, sentences.files, strict=True):
        by_file.setdefault(tuple(networks.split_words(text)), set()).add(file)
    for words in [*task.train, *task.test, *other.train, *other.test]:
        assert not by_file[tuple(words)] <= files
    assert all(by_file[tuple(words)] & files for words in task.held_out)
    learned = {tuple(words) for words in [*task.train, *other.train]}
    assert not [words for words in task.held_out if tuple(words) in learned]
    shares = np.bincount(task.held_out_labels) / 600
    assert len(shares) == 5
    assert (shares > 0.1).all()
    assert (shares <= 0.2).all()


@pytest.mark.parametrize(
    ("domain", "task", "key", "most"),
    [
        ("graphs", graphs.node_task, int, 0),
        ("vision", vision.digit_task, np.ndarray.tobytes, 0),
        ("language", language.sentence_task, tuple, 8),  # that differ in capitals only
    ],
)
def test_what_is_tested_is_not_learned(domain, task, key, most):
    both = [task(child(domain)), task(child(domain).parent)]
    sets = [{key(x) for x in part} for one in both for part in (one.train, one.test)]
    assert sum(map(len, sets)) - len(set.union(*sets)) <= most


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_start_that_is_missing_or_of_another_network_is_refused(domain, parents):
    start = dict(parents[domain])
    name = next(n for n in start if not n.startswith(HEAD[domain]))
    for wrong, message in (
        (None, r"needs start, the weights of .*/pretrained/seed0"),
        (start | {name: np.zeros((1, 2, 3))}, "start has the shape"),
        ({n: v for n, v in start.items() if n != name}, "start has nothing for"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(child(domain), start=wrong)
