"""The authors' trained graph models, read from an archive in their layout that is written here by
plain modules of PyTorch Geometric."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from factories import graph_data
from factories.files import Touching

from resemblance.base.rng import generator
from resemblance.bench.training import archive
from resemblance.bench.training.graphs import paper, pgnn
from resemblance.bench.training.graphs.data import read
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe

SETTINGS = {
    "normal": (0.0, "Normal"),
    "layers": (0.0, "MultiLayer"),
    "labels": (0.25, "RandomLabels_25"),
    "shortcut": (0.5, "Shortcut_50"),
    "augmentation": (1.0, "Augmentation_100"),
}
FOLDERS = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "pgnn": "PGNN"}


@pytest.fixture(autouse=True)
def seeded() -> None:
    """New networks have the same weights in every run: single precision allows for some, not for
    any."""
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory) -> Path:
    return graph_data.write_all(tmp_path_factory.mktemp("data"))


@pytest.fixture
def resources(data_folder, tmp_path) -> TrainingEnvironment:
    return TrainingEnvironment(data_folder, device="cpu", archive=tmp_path / "archive")


def recipe(architecture, setting="normal", dataset="cora", seed=2, **options):
    chosen = paper.options(dataset, architecture) | {"strict": False, "hidden": 16} | options
    strength = SETTINGS[setting][0]
    return Recipe("graphs", dataset, architecture, setting, strength, seed, chosen)


def stored(which, state, resources, above="") -> Path:
    """Write the weights of a recipe where the authors have them."""
    folder = resources.archive / above / "models" / "graphs" / which.dataset
    path = folder / FOLDERS[which.architecture] / SETTINGS[which.setting][1] / "model_s2.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)
    return path


def plain_network(which, data):
    """A network as the authors build it, with weights and statistics that are not those it starts
    with."""
    from torch_geometric import nn

    kinds = {"gcn": nn.GCN, "sage": nn.GraphSAGE, "gat": nn.GAT}
    options = which.options
    depth = options["deep" if which.setting == "layers" else "layers"]
    width = data.x.shape[1] + (data.classes if which.setting == "shortcut" else 0)
    more = {"heads": 8} if which.architecture == "gat" else {}
    more |= {"norm": "BatchNorm", "act": options["activation"], "dropout": options["dropout"]}
    model = kinds[which.architecture](width, options["hidden"], depth, data.classes, **more)
    return moved(model).eval()


def moved(model):
    """A network none of whose weights and statistics is as it begins."""
    draws = torch.Generator().manual_seed(0)
    for values in model.state_dict().values():
        if values.is_floating_point():
            values.add_(0.3 * torch.rand(values.shape, generator=draws))
    return model


def plain_outputs(model, x, links):
    """The outputs of all inner convolutions, by hooks, and the logits."""
    outputs = {}
    for i, convolution in enumerate(model.convs[:-1], 1):
        convolution.register_forward_hook(
            lambda module, arguments, output, name=f"conv{i}": outputs.update({name: output})
        )
    with torch.no_grad():
        outputs["logits"] = model(torch.from_numpy(x), torch.from_numpy(links))
    return {name: values.numpy() for name, values in outputs.items()}


def old_names(state, architecture):
    """Weights by the names of PyTorch Geometric before 2.5."""
    if architecture != "gat":
        return dict(state)
    old = {}
    for name, values in state.items():
        for today in ("lin_src.", "lin_dst.") if ".lin." in name else ("lin.",):
            old[name.replace("lin.", today)] = values
    return old


def check(which, resources, expected, rows):
    result = paper.extract(which, archive.load_archived_weights(which, resources), resources)
    layers = dict(result.layers["node"]) | {"logits": result.outputs}
    assert layers.keys() == expected.keys()
    for name, values in layers.items():
        scale = np.abs(expected[name]).max()
        assert np.abs(values - expected[name][rows]).max() <= 1e-6 * max(scale, 1), name


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat"])
def test_all_outputs_are_those_of_the_stored_model(resources, architecture, setting):
    which = recipe(architecture, setting)
    data = read("cora", resources.data, strict=False)
    model = plain_network(which, data)
    above = "experiments" if setting == "labels" else ""
    stored(which, old_names(model.state_dict(), architecture), resources, above)
    x = paper.features_with_shortcut(which, data)
    check(which, resources, plain_outputs(model, x, data.links), data.compared)


@pytest.mark.parametrize("dataset", ["flickr", "ogbn-arxiv"])
def test_other_data(resources, dataset):
    which = recipe("gat", dataset=dataset)
    data = read(dataset, resources.data, strict=False)
    model = plain_network(which, data)
    stored(which, model.state_dict(), resources)
    check(which, resources, plain_outputs(model, data.x, data.links), data.compared)


@pytest.mark.parametrize("setting", ["normal", "layers"])
def test_pgnn(resources, setting):
    which = recipe("pgnn", setting)
    data = read("cora", resources.data, strict=False)
    state = moved(paper.new_network(which, resources)).state_dict()
    names = [name for name in state if name.startswith("convs.0.")]
    twice = {name.replace("convs.0.", "init_conv."): state[name] for name in names}
    stored(which, twice | state, resources)
    draws = generator(2, "graphs", which.name, "anchors", "redrawn")
    anchors = pgnn.draw_anchors(data.links, len(data.x), draws)
    expected = graph_data.plain_pgnn(state, torch.from_numpy(data.x), *anchors)
    arrays = {name: values.numpy() for name, values in expected.items()}
    check(which, resources, arrays, data.compared)


# -------------------------------------------------------------------------------------- refusals


def test_a_missing_file_is_named(resources):
    place = "models/graphs/cora/GraphSAGE/RandomLabels_25/model_s2.pt is missing"
    with pytest.raises(ValueError, match=place):
        archive.load_archived_weights(recipe("sage", "labels"), resources)
    with pytest.raises(ValueError, match="no folder of released models"):
        archive.load_archived_weights(recipe("sage", "labels"), resources._replace(archive=None))


def test_files_that_are_no_weights(resources, tmp_path):
    which = recipe("gcn")
    state = paper.new_network(which, resources).state_dict()
    path = stored(which, state, resources)
    whole = path.read_bytes()
    contents = [
        Touching(tmp_path / "marker"),
        {"a": Touching(tmp_path / "marker")},
        [1],
        {"a": "b"},
    ]
    contents += [{}, {"state_dict": [1, 2]}, torch.zeros(3)]
    for content in contents:
        torch.save(content, path)
        with pytest.raises(ValueError, match=r"model_s2.pt (cannot be read|does not hold)"):
            archive.load_archived_weights(which, resources)
    for damaged in (whole[: len(whole) // 2], b"", b"no weights"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model_s2.pt cannot be read as weights \(."):
            archive.load_archived_weights(which, resources)
    assert not (tmp_path / "marker").exists()


def test_weights_of_another_network(resources):
    which = recipe("gcn")
    state = paper.new_network(which, resources).state_dict()
    path = stored(which, state, resources)
    assert archive.load_archived_weights(which, resources).keys() == state.keys()
    with pytest.raises(
        ValueError, match=r"model_s2.pt is not the gcn .* is \(16,\), expected \(8,\)"
    ):
        archive.load_archived_weights(recipe("gcn", hidden=8), resources)
    torch.save({name: v for name, v in state.items() if name != "convs.1.bias"}, path)
    with pytest.raises(ValueError, match=r"convs.1.bias is missing, expected \(16,\)"):
        archive.load_archived_weights(which, resources)
    torch.save(state | {"more.bias": state["convs.1.bias"]}, path)
    with pytest.raises(ValueError, match=r"more.bias is \(16,\), expected none"):
        archive.load_archived_weights(which, resources)
    torch.save(state | {"convs.1.bias": state["convs.1.bias"] * torch.nan}, path)
    with pytest.raises(ValueError, match=r"model_s2.pt: convs.1.bias has values .* not finite"):
        archive.load_archived_weights(which, resources)


@pytest.mark.parametrize("architecture", ["gcn", "sage", "gat", "pgnn"])
def test_no_random_numbers_are_drawn(resources, architecture):
    which = recipe(architecture)
    stored(which, paper.new_network(which, resources).state_dict(), resources)
    before = torch.get_rng_state()
    weights = archive.load_archived_weights(which, resources)
    assert torch.equal(torch.get_rng_state(), before)
    assert weights


def test_two_matrices_where_there_is_one(resources):
    which = recipe("gat")
    state = old_names(paper.new_network(which, resources).state_dict(), "gat")
    state["convs.0.lin_dst.weight"] = state["convs.0.lin_dst.weight"] + 1
    stored(which, state, resources)
    with pytest.raises(ValueError, match=r"model_s2.pt has two different convs.0.lin.weight"):
        archive.load_archived_weights(which, resources)


def test_anchors_of_the_training_are_not_in_the_archive(resources):
    with pytest.raises(ValueError, match="the archive has no anchor sets of P-GNN"):
        archive.load_archived_weights(recipe("pgnn", anchors="of training"), resources)
