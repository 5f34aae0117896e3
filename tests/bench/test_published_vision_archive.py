"""The authors' trained vision models, rebuilt in the layout and with the names of their archive."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from factories.image_data import make_archive, make_cifar100, make_imagenet100, make_vit

from resemblance.bench.training import archive
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.bench.training.vision import paper, pretrained
from resemblance.models.recipe import Recipe

FACTS = {"n_cls": 100, "test": {"accuracy": 0.5}}
OLD = (  # of a vision transformer, as transformers 4 has it
    (r"^vit\.layers\.(\d+)\.attention\.o_proj", r"vit.encoder.layer.\1.attention.output.dense"),
    (r"^vit\.layers\.(\d+)\.attention\.q_proj", r"vit.encoder.layer.\1.attention.attention.query"),
    (r"^vit\.layers\.(\d+)\.attention\.k_proj", r"vit.encoder.layer.\1.attention.attention.key"),
    (r"^vit\.layers\.(\d+)\.attention\.v_proj", r"vit.encoder.layer.\1.attention.attention.value"),
    (r"^vit\.layers\.(\d+)\.mlp\.fc1", r"vit.encoder.layer.\1.intermediate.dense"),
    (r"^vit\.layers\.(\d+)\.mlp\.fc2", r"vit.encoder.layer.\1.output.dense"),
    (r"^vit\.layers\.", "vit.encoder.layer."),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_cifar100(folder, train=20, test=20)
    make_imagenet100(folder, train=1)
    make_vit(folder, "vit-b32", layers=3)
    return folder


@pytest.fixture
def where(data, tmp_path):
    return TrainingEnvironment(data, device="cpu", archive=tmp_path)


def recipe(dataset="cifar100", architecture="vgg11", setting="normal", strength=0.0, seed=0):
    options = paper.options(dataset, architecture, reduced=True) | {"most": 20}
    return Recipe("vision", dataset, architecture, setting, strength, seed, options)


def network(one, data):
    """A network with random weights and statistics."""
    config = None
    if one.architecture in pretrained.VIT_NAMES:
        config = pretrained.vit_configuration(
            one.architecture, one.options, TrainingEnvironment(data)
        )
    torch.manual_seed(7)
    model = pretrained.build_image_network(one.architecture, one.options, config)
    for value in model.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape) - 0.4 * (value.ndim > 1))
    return model


def old_name(name):
    for now, before in OLD:
        name = re.sub(now, before, name)
    return name


@pytest.mark.parametrize(
    ("one", "folder"),
    [
        (recipe("imagenet100", "resnet18"), "Normal__ImageNet100__ResNet18"),
        (
            recipe("cifar100", "resnet101", "labels", 0.75, 3),
            "Randomlabel__RandomLabel_75_C100_DataModule__ResNet101",
        ),
        (
            recipe("imagenet100", "vgg19", "shortcut", 1.0, 4),
            "Shortcut__ColorDot_100_ImageNet100DataModule__VGG19",
        ),
        (
            recipe("imagenet100", "vit-b32", "augmentation", 0.25),
            "GaussNoise__Gauss_S_ImageNet100DataModule__ViT_B32",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_of_the_archive_have_the_representations_of_the_authors(where, one, folder):
    model = network(one, where.data)
    state = model.state_dict()
    if one.architecture in pretrained.VIT_NAMES:
        state = {f"model.{old_name(name)}": value for name, value in state.items()}
        assert "model.vit.encoder.layer.2.attention.attention.query.bias" in state
        assert not [name for name in state if "fc1" in name or "proj." in name]
    facts = FACTS | {"early_downsampling": one.dataset == "imagenet100"}
    make_archive(where.archive, folder, one.seed, state, facts)
    weights = archive.load_archived_weights(one, where)
    assert all((weights[name] == value.numpy()).all() for name, value in model.state_dict().items())
    seen, own = (
        paper.extract(one, each, where)
        for each in (weights, {name: x.numpy() for name, x in model.state_dict().items()})
    )
    for name, values in own.layers[pretrained.IMAGE_POOLING[one.architecture]].items():
        np.testing.assert_array_equal(
            seen.layers[pretrained.IMAGE_POOLING[one.architecture]][name], values
        )
    np.testing.assert_array_equal(seen.outputs, own.outputs)


@pytest.mark.parametrize(
    ("dataset", "setting", "strength", "name"),
    [
        ("cifar100", "normal", 0.0, "Normal__CIFAR100"),
        ("imagenet100", "labels", 0.5, "Randomlabel__RandomLabel_50_IN100_DataModule"),
        ("cifar100", "shortcut", 0.0, "Shortcut__ColorDot_0_C100DataModule"),
        ("imagenet100", "shortcut", 0.75, "Shortcut__ColorDot_75_ImageNet100DataModule"),
        ("cifar100", "augmentation", 1.0, "GaussNoise__Gauss_Max_CIFAR100DataModule"),
        ("imagenet100", "augmentation", 0.5, "GaussNoise__Gauss_M_ImageNet100DataModule"),
    ],
)
def test_folders_are_those_of_the_authors(dataset, setting, strength, name):
    one = recipe(dataset, "resnet34", setting, strength)
    assert archive.released_file_path(one).parts[3] == f"{name}__ResNet34"


def test_models_that_the_authors_did_not_train_are_refused():
    with pytest.raises(ValueError, match="the authors trained no such model"):
        archive.released_file_path(recipe(setting="augmentation", strength=0.3))


def stored(where, weights, facts=FACTS):
    return make_archive(where.archive, "Normal__CIFAR100__VGG11", 0, weights, facts)


def test_checkpoints_of_lightning_are_read_too(where):
    state = network(recipe(), where.data).state_dict()
    stored(where, {"state_dict": {f"net.{name}": x for name, x in state.items()}, "epoch": 200})
    weights = archive.load_archived_weights(recipe(), where)
    assert weights.keys() == state.keys()
    assert (weights["features.0.weight"] == state["features.0.weight"].numpy()).all()


def test_a_model_of_other_facts_is_refused(where):
    one = recipe()
    stored(where, network(one, where.data).state_dict(), FACTS | {"n_cls": 10})
    with pytest.raises(ValueError, match=r"output.json is not .* \(n_cls is 10, not 100\)"):
        archive.load_archived_weights(one, where)


def test_the_summary_may_be_absent_but_not_broken(where):
    file = stored(where, network(recipe(), where.data).state_dict())
    summary = file.parents[1] / "output.json"
    summary.write_text(json.dumps([1]))
    with pytest.raises(ValueError, match=r"output.json is not"):
        archive.load_archived_weights(recipe(), where)
    summary.unlink()
    assert archive.load_archived_weights(recipe(), where)
