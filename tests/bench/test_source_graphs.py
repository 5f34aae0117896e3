"""Graph networks on the standard library: what each setting changes, and that a recipe always gives
the same model."""

from __future__ import annotations

import numpy as np
import pytest

from resemblance.base.rng import generator
from resemblance.bench.training import extract, fit
from resemblance.bench.training.graphs import packaged as graphs
from resemblance.bench.training.graphs import pgnn as _pgnn
from resemblance.bench.training.standard_library import load_snapshot
from resemblance.models.recipe import Recipe

SMALL = graphs.OPTIONS["slice"]["sage"] | {"epochs": 3}
LABELS = load_snapshot().graph.labels


def recipe(setting="normal", strength=0.0, seed=0, architecture="sage", **options):
    special = {"gat": {"heads": 4}, "pgnn": {"sets": 8, "reach": 2}}.get(architecture, {})
    return Recipe(
        "graphs",
        "stdlib",
        architecture,
        setting,
        strength,
        seed,
        SMALL | special | options,
        graphs.VERSION,
    )


def trained(*args, **options):
    which = recipe(*args, **options)
    return extract(which, fit(which))


def training_inputs(*args):
    which = recipe(*args)
    task = graphs.node_task(which)
    return graphs.node_training_data(which, task, task.train)


def shown_classes(x):
    """The class that each node shows in the columns behind the words."""
    columns = x[:, SMALL["vocabulary"] :]
    assert (columns.sum(axis=1) == 1).all()
    return columns.argmax(axis=1)


def test_layer_is_the_convolution_before_normalisation():
    which = recipe()
    state, data = fit(which), graphs.node_task(which)
    links = np.zeros((len(data.x), len(data.x)), np.float32)
    links[data.edges[:, 0], data.edges[:, 1]] = links[data.edges[:, 1], data.edges[:, 0]] = 1
    neighbors = links @ data.x / np.maximum(links.sum(axis=1, keepdims=True), 1)
    expected = neighbors @ state["convs.0.lin_l.weight"].T + state["convs.0.lin_l.bias"]
    expected += data.x @ state["convs.0.lin_r.weight"].T
    found = extract(which, state).layers["node"]["conv1"]
    np.testing.assert_allclose(found, expected[data.test], atol=1e-5)


def test_rows_are_the_same_test_nodes_in_every_setting():
    data = graphs.node_task(recipe())
    assert not set(data.train) & set(data.test)
    for setting in ("normal", "labels", "shortcut", "augmentation"):
        found = trained(setting, 0.5, 2)
        assert np.array_equal(found.labels, LABELS[data.test])
        assert found.accuracies["test"] == np.mean(found.outputs.argmax(axis=1) == found.labels)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_exact_share_of_training_labels_is_wrong(share):
    train = graphs.node_task(recipe()).train
    _, labels = training_inputs("labels", share)
    assert (labels != LABELS[train]).sum() == int(share * len(train))
    _, others = training_inputs("labels", share, 1)
    assert not np.array_equal(labels, others)


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_shortcuts_leak_at_their_rate_and_only_for_training_nodes(rate):
    data = graphs.node_task(recipe())
    inputs, labels = training_inputs("shortcut", rate)
    assert np.array_equal(labels, LABELS[data.train])
    right = shown_classes(inputs) == LABELS
    others = np.setdiff1d(np.arange(len(LABELS)), data.train)
    assert right[data.train].mean() == pytest.approx(rate + (1 - rate) / 8, abs=0.05)
    assert right[others].mean() == pytest.approx(1 / 8, abs=0.03)


def test_shortcuts_at_extraction_say_nothing_and_are_the_same_for_all():
    first, second = (graphs.inputs_of(recipe("shortcut", *which)) for which in ((0.0, 1), (1.0, 2)))
    (x, *_), _ = first["test"]
    assert np.array_equal(x, second["test"][0][0])
    assert (shown_classes(x) == LABELS).mean() == pytest.approx(1 / 8, abs=0.03)
    assert np.array_equal(shown_classes(first["leaked"][0][0]), LABELS)


def test_augmented_graph_has_a_fifth_of_the_links():
    which = recipe("augmentation", 0.25)
    links = {name: len(graph[1]) for name, (graph, _) in graphs.inputs_of(which).items()}
    assert links["augmented"] == pytest.approx(0.2 * links["test"], rel=0.05)


def test_networks_learn_and_take_the_shortcut():
    options = {"epochs": 40, "hidden": 32}
    assert trained(**options).accuracies["test"] > 0.6
    relying = trained("shortcut", 1.0, **options).accuracies
    assert relying["test"] < 0.5 < 0.9 < relying["leaked"]
    assert trained("labels", 1.0, **options).accuracies["test"] < 0.1


def test_features_are_rows_of_frequent_words_that_sum_to_one():
    x = graphs.node_task(recipe(vocabulary=20)).x
    assert x.shape == (2800, 20)
    sums = x.sum(axis=1)
    assert np.all(np.isclose(sums, 1) | (sums == 0))
    assert (sums > 0).mean() > 0.5


def test_a_test_set_of_none_is_all_the_rest():
    assert len(graphs.node_task(recipe(test=None)).test) == 2800 - SMALL["train"]


# -------------------------------------------------------------------------------------------- P-GNN


def test_anchors_are_the_nearest_of_their_set():
    path = np.array(
        [[i, i + 1] for i in range(15)]
    )  # 16 nodes in a row, so distances are differences
    nearest, proximity = _pgnn.find_anchors(path, 16, 4, 3, generator(0, "anchors"))
    random = generator(0, "anchors")
    for i, size in enumerate((8, 4, 2, 1)):
        chosen = np.sort(random.permutation(16)[:size])
        distances = np.abs(np.arange(16)[:, None] - chosen)
        near = distances.min(axis=1) <= 3
        np.testing.assert_allclose(proximity[near, i], 1 / (distances.min(axis=1)[near] + 1))
        assert np.all(proximity[~near, i] == 0)
        assert np.isin(nearest[near, i], chosen).all()
        assert np.array_equal(
            np.abs(nearest[near, i] - np.arange(16)[near]), distances.min(axis=1)[near]
        )


def test_structure_output_is_the_mean_message():
    which = recipe(architecture="pgnn")
    state, x = fit(which), graphs.node_task(which).x
    data = graphs.node_task(which)
    random = generator(0, "graphs", which.name, "anchors")
    anchors = _pgnn.find_anchors(data.edges, len(x), 8, 2, random)
    own = x @ state["layers.0.self.weight"].T + state["layers.0.self.bias"]
    theirs = (x @ state["layers.0.anchor.weight"].T)[anchors.nearest]
    messages = np.maximum(own[:, None] + anchors.proximity[:, :, None] * theirs, 0)
    found = extract(which, state).layers["node"]["structure1"]
    np.testing.assert_allclose(found, messages.mean(axis=1)[data.test], atol=1e-5)
