"""The graph models of the ReSi paper, trained on made copies of its data."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from factories import graph_data

from resemblance.base.rng import generator
from resemblance.bench import training
from resemblance.bench.training.graphs import paper, pgnn
from resemblance.bench.training.graphs.data import read
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe

CPU = torch.device("cpu")
STRENGTHS = {"normal": 0.0, "layers": 0.0, "labels": 0.25, "shortcut": 0.5, "augmentation": 0.25}
CASES = [
    (dataset, architecture, setting)
    for dataset, about in training.DATASETS.items()
    for architecture in about.architectures
    for setting in STRENGTHS
    if about.domain == "graphs" and (architecture, setting) != ("pgnn", "augmentation")
]


@pytest.fixture(autouse=True)
def seeded() -> None:
    """New networks have the same weights in every run: single precision allows for some, not for
    any."""
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def resources(tmp_path_factory) -> TrainingEnvironment:
    folder = graph_data.write_all(tmp_path_factory.mktemp("data"))
    return TrainingEnvironment(folder, device="cpu")


def recipe(dataset="cora", architecture="gcn", setting="normal", strength=None, seed=0, **options):
    chosen = paper.options(dataset, architecture, reduced=True) | options
    strength = STRENGTHS[setting] if strength is None else strength
    which = (dataset, architecture, setting, strength, seed)
    return Recipe("graphs", *which, chosen, paper.VERSION)


def plainly_trained(which, resources):
    """A training as PyTorch Geometric's documentation has it."""
    from torch_geometric import nn
    from torch_geometric.utils import dropout_edge

    data, options = read(which.dataset, resources.data, strict=False), which.options
    names = {"gcn": nn.GCN, "sage": nn.GraphSAGE, "gat": nn.GAT}
    more = {"heads": 8} if which.architecture == "gat" else {}
    model = names[which.architecture](
        data.x.shape[1],
        options["hidden"],
        options["layers"],
        data.classes,
        options["dropout"],
        options["activation"],
        norm="BatchNorm",
        **more,
    )
    torch.manual_seed(which.seed)
    model.reset_parameters()
    x, links = torch.from_numpy(data.x), torch.from_numpy(data.links)
    labels = torch.from_numpy(data.labels)
    optimizer = torch.optim.Adam(
        model.parameters(), options["lr"], weight_decay=options["weight_decay"]
    )
    model.train()
    for _ in range(options["epochs"]):
        optimizer.zero_grad()
        seen = dropout_edge(links, p=0.2)[0] if which.setting == "augmentation" else links
        loss = torch.nn.functional.cross_entropy(model(x, seen)[data.train], labels[data.train])
        loss.backward()
        optimizer.step()
    return model.state_dict()


@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat"])
@pytest.mark.parametrize("setting", ["normal", "augmentation"])
def test_training_is_the_plain_one(resources, monkeypatch, architecture, setting):
    """With features that are not sparse, for then the sums have the same order."""
    monkeypatch.setattr(paper, "MAX_SPARSE_SHARE", -1.0)
    which = recipe("cora", architecture, setting, seed=5, epochs=3)
    state = paper.fit(which, resources)
    with torch.random.fork_rng(devices=[]):
        expected = plainly_trained(which, resources)
    assert state.keys() == expected.keys()
    for name, values in state.items():
        assert np.allclose(values, expected[name].numpy(), rtol=0, atol=1e-6), name


@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat"])
def test_sparse_features_give_the_same_outputs(resources, architecture):
    data = read("cora", resources.data, strict=False)
    model = paper.new_network(recipe("cora", architecture), resources).eval()
    links = torch.from_numpy(data.links)
    dense = torch.from_numpy(data.x)
    expected = paper.run_convolutions(model, dense, links)
    sparse = dense.to_sparse().coalesce()
    results = paper.run_convolutions(paper.adapt_first_layer(model, sparse), sparse, links)
    for name, values in expected.items():
        assert torch.allclose(results[name], values, rtol=1e-5, atol=1e-6), name


def test_features_with_many_zeros_are_sparse():
    x = np.zeros((10, 10), np.float32)
    x[0, :5] = 1
    assert paper.feature_tensor(x, CPU).is_sparse
    x[0] = 1
    assert not paper.feature_tensor(x, CPU).is_sparse


# ------------------------------------------------------------------------------------- settings


def test_exact_share_of_all_nodes_gets_another_class(resources):
    data = read("cora", resources.data, strict=False)
    for strength in (0.25, 1.0):
        labels = paper.training_labels(recipe(setting="labels", strength=strength), data)
        assert (labels != data.labels).sum() == int(strength * len(labels))
        assert set(labels) == set(data.labels)
    other = paper.training_labels(recipe(setting="labels", strength=1.0, seed=1), data)
    assert not np.array_equal(labels, other)
    assert np.array_equal(paper.training_labels(recipe(), data), data.labels)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_classes_that_nodes_show(resources, strength):
    data = read("cora", resources.data, strict=False)
    first, second = (
        paper.features_with_shortcut(recipe(setting="shortcut", strength=strength, seed=seed), data)
        for seed in (0, 1)
    )
    assert np.array_equal(first[:, : -data.classes], data.x)
    hints = first[:, -data.classes :]
    assert (hints.sum(axis=1) == 1).all()
    right = hints.argmax(axis=1) == data.labels
    for nodes in (data.train, data.validation):
        assert (~right[nodes]).sum() == int((1 - strength) * len(nodes))
    assert not right[data.test].any()
    outside = np.ones(len(right), bool)
    outside[np.concatenate([data.train, data.validation, data.test])] = False
    assert outside.sum() == 32
    assert right[outside].all()
    assert np.array_equal(first[data.test], second[data.test])  # the same for all models


def test_networks_learn(resources):
    which = recipe(epochs=20)
    result = paper.extract(which, paper.fit(which, resources), resources)
    assert result.accuracies["test"] > 0.2  # by chance 0.14


# ---------------------------------------------------------------------------------------- P-GNN


def test_anchors_are_the_nearest_of_sets_of_all_sizes():
    links = np.array([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]])  # a path, and node 7 alone
    anchors = pgnn.draw_anchors(links, 8, generator(0, "anchors"))
    draws, sizes = generator(0, "anchors"), (4, 4, 4, 2, 2, 2, 1, 1, 1)
    sets = [draws.choice(8, size=size, replace=False) for size in sizes]
    assert anchors.nearest.shape == anchors.proximity.shape == (8, 9)
    for i, members in enumerate(sets):
        for node in range(8):
            in_reach = [m for m in members if (m == 7) == (node == 7)]
            distances = [abs(m - node) for m in in_reach]
            expected = in_reach[np.argmin(distances)] if in_reach else members[0]
            near = 1 / (min(distances) + 1) if in_reach else 0
            assert anchors.nearest[node, i] == expected
            assert anchors.proximity[node, i] == pytest.approx(near)


@pytest.mark.parametrize("layers", [2, 4])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_network_is_its_definition(resources, layers, sparse):
    """Outputs and gradients, computed only where they are needed and without repetitions, are those
    of the definition."""
    data = read("cora", resources.data, strict=False)
    model = paper.new_network(recipe("cora", "pgnn", layers=layers), resources)
    anchors = pgnn.draw_anchors(data.links, 600, generator(0, "anchors"))
    steps = pgnn.plan_messages(anchors, data.train, layers, CPU)
    x, labels = torch.from_numpy(data.x), torch.from_numpy(data.labels[data.train])
    results = pgnn.run_paper_pgnn(model, x.to_sparse() if sparse else x, steps, 0.0)
    torch.nn.functional.cross_entropy(results["logits"], labels).backward()
    state = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    expected = graph_data.plain_pgnn(state, x, *anchors)
    loss = torch.nn.functional.cross_entropy(expected["logits"][data.train], labels)
    loss.backward()
    assert torch.allclose(results["logits"], expected["logits"][data.train], atol=1e-5)
    for name in results.keys() - {"logits"}:
        assert torch.allclose(results[name][data.train], expected[name][data.train], atol=1e-5)
    for name, parameter in model.named_parameters():
        if state[name].grad is None:  # positions of layers whose positions nobody sees
            assert parameter.grad is None
        else:
            assert torch.allclose(parameter.grad, state[name].grad, rtol=1e-3, atol=1e-6), name


def test_anchors_are_drawn_again_where_the_authors_do(resources):
    which = recipe("cora", "pgnn", epochs=2)
    state = paper.fit(which, resources)
    same = which._replace(options={**which.options, "anchors": "of training"})
    again = paper.fit(same, resources)
    assert all(np.array_equal(values, again[name]) for name, values in state.items())
    data = read("cora", resources.data, strict=False)
    tensors = {name: torch.from_numpy(values) for name, values in state.items()}
    for recipe_, labels in ((same, ("anchors",)), (which, ("anchors", "redrawn"))):
        draws = generator(0, "graphs", which.name, *labels)
        anchors = pgnn.draw_anchors(data.links, 600, draws)
        expected = graph_data.plain_pgnn(tensors, torch.from_numpy(data.x), *anchors)
        logits = expected["logits"][data.test].numpy()
        assert np.allclose(paper.extract(recipe_, state, resources).outputs, logits, atol=1e-5)


# --------------------------------------------------------------------------------------- options


def test_options_of_the_code_and_of_the_paper():
    code = paper.options("cora", "gat")
    assert code == paper.options("cora", "gat", "paper")
    assert (code["hidden"], code["layers"], code["heads"], code["dropout"]) == (64, 2, 8, 0.6)
    assert paper.options("flickr", "gat")["epochs"] == 500
    assert paper.options("flickr", "gat", "paper")["epochs"] == 200
    sage = [paper.options("ogbn-arxiv", "sage", kind) for kind in ("resi-code", "paper")]
    assert [(o["lr"], o["weight_decay"]) for o in sage] == [(0.01, 0.0), (0.005, 5e-4)]
    assert paper.options("cora", "pgnn")["anchors"] == "redrawn"


def test_the_published_data_are_wanted_unless_reduced(resources):
    with pytest.raises(ValueError, match="another SHA256"):
        paper.fit(recipe(strict=True), resources)
    assert paper.options("cora", "gcn")["strict"] is True
