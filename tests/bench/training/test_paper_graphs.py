"""The graph models of the ReSi paper, trained on made copies of its data or read from an archive as
the authors', beside plain modules of PyTorch Geometric and P-GNN by its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from factories import graph_data
from torch.nn.functional import cross_entropy, linear, normalize
from torch_geometric import nn
from torch_geometric.utils import dropout_edge

from resemblance.base.rng import generator
from resemblance.bench.training import archive
from resemblance.bench.training.graphs import paper, pgnn
from resemblance.bench.training.graphs.data import read
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe

CPU = torch.device("cpu")
STRENGTHS = {"normal": 0.0, "layers": 0.0, "labels": 0.25, "shortcut": 0.5, "augmentation": 0.25}
KINDS = {"gcn": nn.GCN, "sage": nn.GraphSAGE, "gat": nn.GAT}


@pytest.fixture(autouse=True)
def seeded():
    """New networks have the same weights, and sums the same order, in every run: single precision
    allows for some, not for any."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def resources(tmp_path_factory) -> TrainingEnvironment:
    folder = graph_data.write_all(tmp_path_factory.mktemp("data"))
    return TrainingEnvironment(folder, device="cpu")


def recipe(architecture="gcn", setting="normal", strength=None, seed=0, dataset="cora", **options):
    chosen = paper.options(dataset, architecture, reduced=True) | options
    strength = STRENGTHS[setting] if strength is None else strength
    which = (dataset, architecture, setting, strength, seed)
    return Recipe("graphs", *which, chosen, paper.VERSION)


def read_nodes(one, resources):
    return read(one.dataset, resources.data, strict=False)


def plain_network(one, data):
    """A network as the authors build it."""
    options = one.options
    depth = options["deep" if one.setting == "layers" else "layers"]
    width = data.x.shape[1] + (data.classes if one.setting == "shortcut" else 0)
    more = {"heads": 8} if one.architecture == "gat" else {}
    more |= {"norm": "BatchNorm", "act": options["activation"], "dropout": options["dropout"]}
    return KINDS[one.architecture](width, options["hidden"], depth, data.classes, **more)


def moved(model):
    """A network none of whose weights and statistics is as it begins."""
    draws = torch.Generator().manual_seed(0)
    for values in model.state_dict().values():
        if values.is_floating_point():
            values.add_(0.3 * torch.rand(values.shape, generator=draws))
    return model.eval()


def plainly_trained(one, data):
    """A training as PyTorch Geometric's documentation has it."""
    model, options = plain_network(one, data), one.options
    torch.manual_seed(one.seed)
    model.reset_parameters()
    x, links = torch.from_numpy(data.x), torch.from_numpy(data.links)
    labels, decay = torch.from_numpy(data.labels), options["weight_decay"]
    optimizer = torch.optim.Adam(model.parameters(), options["lr"], weight_decay=decay)
    model.train()
    for _ in range(options["epochs"]):
        optimizer.zero_grad()
        seen = dropout_edge(links, p=0.2)[0] if one.setting == "augmentation" else links
        cross_entropy(model(x, seen)[data.train], labels[data.train]).backward()
        optimizer.step()
    return model.state_dict()


@pytest.mark.parametrize("architecture", KINDS)
@pytest.mark.parametrize("setting", ["normal", "augmentation"])
def test_training_is_the_plain_one(resources, monkeypatch, architecture, setting):
    """With features that are not sparse, for then the sums have the same order."""
    monkeypatch.setattr(paper, "MAX_SPARSE_SHARE", -1.0)
    one = recipe(architecture, setting, seed=5, epochs=3)
    state = paper.fit(one, resources)
    expected = plainly_trained(one, read_nodes(one, resources))
    assert state.keys() == expected.keys()
    for name, values in state.items():
        assert np.allclose(values, expected[name].numpy(), rtol=0, atol=1e-6), name


def test_exact_share_of_all_nodes_gets_another_class(resources):
    data = read_nodes(recipe(), resources)
    for strength in (0.25, 1.0):
        labels = paper.training_labels(recipe(setting="labels", strength=strength), data)
        assert (labels != data.labels).sum() == int(strength * len(labels))
        assert set(labels) == set(data.labels)
    assert np.array_equal(paper.training_labels(recipe(), data), data.labels)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_classes_that_nodes_show(resources, strength):
    data = read_nodes(recipe(), resources)
    first, second = (
        paper.features_with_shortcut(recipe("gcn", "shortcut", strength, seed), data)
        for seed in (0, 1)
    )
    assert np.array_equal(first[:, : -data.classes], data.x)
    assert (first[:, -data.classes :].sum(axis=1) == 1).all()
    right = first[:, -data.classes :].argmax(axis=1) == data.labels
    for nodes in (data.train, data.validation):
        assert (~right[nodes]).sum() == int((1 - strength) * len(nodes))
    assert not right[data.test].any()
    outside = np.setdiff1d(np.arange(600), [*data.train, *data.validation, *data.test])
    assert right[outside].all()
    assert np.array_equal(first[data.test], second[data.test])  # the same for all models


def test_options_of_the_code_and_of_the_paper():
    code = paper.options("cora", "gat")
    assert code == paper.options("cora", "gat", "paper")
    assert (code["hidden"], code["layers"], code["heads"], code["dropout"]) == (64, 2, 8, 0.6)
    assert code["strict"] is True
    assert paper.options("flickr", "gat")["epochs"] == 500
    assert paper.options("flickr", "gat", "paper")["epochs"] == 200
    sage = [paper.options("ogbn-arxiv", "sage", kind) for kind in ("resi-code", "paper")]
    assert [(o["lr"], o["weight_decay"]) for o in sage] == [(0.01, 0.0), (0.005, 5e-4)]
    assert paper.options("cora", "pgnn")["anchors"] == "redrawn"


# --------------------------------------------------------------- outputs of the authors' models


def stored(one, state, resources, folder):
    """Write the weights of a recipe where the authors have them, and return where to read them."""
    path = folder / archive.released_file_path(one)
    path.parent.mkdir(parents=True)
    torch.save(state, path)
    return resources._replace(archive=folder)


def old_names(state):
    """Return the weights of GAT under their names in PyTorch Geometric before 2.5, where one weight
    has two names."""
    old = {}
    for name, values in state.items():
        for today in ("lin_src.", "lin_dst.") if ".lin." in name else ("lin.",):
            old[name.replace("lin.", today)] = values
    return old


def check(one, where, expected, rows):
    result = paper.extract(one, archive.load_archived_weights(one, where), where)
    layers = dict(result.layers["node"]) | {"logits": result.outputs}
    assert layers.keys() == expected.keys()
    for name, values in layers.items():
        scale = expected[name].abs().max().item()
        assert np.abs(values - expected[name][rows].numpy()).max() <= 1e-6 * max(scale, 1), name


MODELS = [("cora", architecture, setting) for architecture in KINDS for setting in STRENGTHS]
MODELS += [("flickr", "gat", "normal"), ("ogbn-arxiv", "gat", "normal")]


@pytest.mark.parametrize(("dataset", "architecture", "setting"), MODELS)
def test_all_outputs_are_those_of_the_stored_model(
    resources, tmp_path, dataset, architecture, setting
):
    one = recipe(architecture, setting, dataset=dataset)
    data = read_nodes(one, resources)
    model, outputs = moved(plain_network(one, data)), {}
    state = model.state_dict()
    where = stored(one, old_names(state) if architecture == "gat" else state, resources, tmp_path)
    for i, convolution in enumerate(model.convs[:-1], 1):
        convolution.register_forward_hook(
            lambda module, arguments, output, name=f"conv{i}": outputs.update({name: output})
        )
    x = torch.from_numpy(paper.features_with_shortcut(one, data))
    with torch.no_grad():
        outputs["logits"] = model(x, torch.from_numpy(data.links))
    check(one, where, outputs, data.compared)


def test_two_different_matrices_where_there_is_one_are_refused(resources, tmp_path):
    state = old_names(paper.new_network(recipe("gat"), resources).state_dict())
    state["convs.0.lin_dst.weight"] = state["convs.0.lin_dst.weight"] + 1
    where = stored(recipe("gat"), state, resources, tmp_path)
    with pytest.raises(ValueError, match=r"model_s0.pt has two different convs.0.lin.weight"):
        archive.load_archived_weights(recipe("gat"), where)


def test_sparse_features_give_the_same_outputs(resources, subtests):
    for architecture in KINDS:
        data = read_nodes(recipe(), resources)
        model = paper.new_network(recipe(architecture), resources).eval()
        links, x = torch.from_numpy(data.links), torch.from_numpy(data.x)
        expected = paper.run_convolutions(model, x, links)
        sparse = x.to_sparse().coalesce()
        results = paper.run_convolutions(paper.adapt_first_layer(model, sparse), sparse, links)
        for name, values in expected.items():
            with subtests.test(f"{architecture} {name}"):
                assert torch.allclose(results[name], values, rtol=1e-5, atol=1e-6)
    few = np.eye(20, dtype=np.float32)
    assert paper.feature_tensor(few, CPU).is_sparse
    few[0] = 1
    assert not paper.feature_tensor(few, CPU).is_sparse


# ---------------------------------------------------------------------------------------- P-GNN


def plain_pgnn(state, x, nearest, proximity):
    """The outputs of P-GNN as its definition has them: a message from every set to every node, of
    the features of both, side by side. ``state``: tensors, by the names of the authors' code."""

    def apply(x, name):
        return linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    near, which = torch.from_numpy(proximity)[:, :, None], torch.from_numpy(nearest)
    x, outputs, i = apply(x, "linear_pre"), {}, 0
    while f"convs.{i}.linear_hidden.weight" in state:
        name = f"convs.{i}"
        hidden = torch.relu(apply(near, f"{name}.dist_compute.linear1"))
        sent = x[which] * apply(hidden, f"{name}.dist_compute.linear2")
        both = torch.cat([sent, x[:, None].expand(-1, which.shape[1], -1)], dim=2)
        messages = torch.relu(apply(both, f"{name}.linear_hidden"))
        position = apply(messages, f"{name}.linear_out_position").squeeze(2)
        x = outputs[f"structure{i + 1}"] = messages.mean(dim=1)
        i += 1
    del outputs[f"structure{i}"]
    return outputs | {"logits": apply(normalize(position, dim=1), "lin_out")}


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


@pytest.mark.parametrize(("layers", "sparse"), [(2, False), (4, True)])
def test_outputs_and_gradients_of_pgnn_are_those_of_its_definition(resources, layers, sparse):
    data = read_nodes(recipe(), resources)
    model = paper.new_network(recipe("pgnn", layers=layers), resources)
    anchors = pgnn.draw_anchors(data.links, 600, generator(0, "anchors"))
    steps = pgnn.plan_messages(anchors, data.train, layers, CPU)
    x, labels = torch.from_numpy(data.x), torch.from_numpy(data.labels[data.train])
    results = pgnn.run_pgnn(model, x.to_sparse() if sparse else x, steps, 0.0)
    cross_entropy(results["logits"], labels).backward()
    state = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    expected = plain_pgnn(state, x, *anchors)
    cross_entropy(expected["logits"][data.train], labels).backward()
    assert torch.allclose(results["logits"], expected["logits"][data.train], atol=1e-5)
    for name in results.keys() - {"logits"}:
        assert torch.allclose(results[name][data.train], expected[name][data.train], atol=1e-5)
    for name, parameter in model.named_parameters():
        if state[name].grad is None:  # positions of layers whose positions nobody sees
            assert parameter.grad is None
        else:
            assert torch.allclose(parameter.grad, state[name].grad, rtol=1e-3, atol=1e-6), name


@pytest.mark.parametrize("setting", ["normal", "layers"])
def test_a_stored_pgnn_has_the_outputs_of_its_definition(resources, tmp_path, setting):
    one = recipe("pgnn", setting, seed=2)
    data, state = read_nodes(one, resources), moved(paper.new_network(one, resources)).state_dict()
    names = [name for name in state if name.startswith("convs.0.")]
    twice = {name.replace("convs.0.", "init_conv."): state[name] for name in names}
    where = stored(one, twice | state, resources, tmp_path)
    draws = generator(2, "graphs", one.name, "anchors", "redrawn")
    anchors = pgnn.draw_anchors(data.links, 600, draws)
    check(one, where, plain_pgnn(state, torch.from_numpy(data.x), *anchors), data.compared)


def test_anchors_are_drawn_again_where_the_authors_do(resources):
    one, kept = recipe("pgnn", epochs=2), recipe("pgnn", epochs=2, anchors="of training")
    state = paper.fit(one, resources)
    data, tensors = read_nodes(one, resources), {k: torch.from_numpy(v) for k, v in state.items()}
    for which, labels in ((kept, ("anchors",)), (one, ("anchors", "redrawn"))):
        draws = generator(0, "graphs", one.name, *labels)
        anchors = pgnn.draw_anchors(data.links, 600, draws)
        expected = plain_pgnn(tensors, torch.from_numpy(data.x), *anchors)
        logits = expected["logits"][data.test].numpy()
        assert np.allclose(paper.extract(which, state, resources).outputs, logits, atol=1e-5)
