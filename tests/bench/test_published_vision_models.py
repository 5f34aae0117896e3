"""The networks of the published vision models, and what is seen of their layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from factories.image_data import make_vit
from torch.nn import functional as F

from resemblance.bench.training import DATASETS
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.bench.training.vision import paper, pretrained
from resemblance.models.transformer_files import silence_transformers

IMAGES = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 3, 32, 32))).float()


def network(architecture, dataset="cifar100", **options):
    """A small network in evaluation mode, none of whose weights is as it begins."""
    full = paper.options(dataset, architecture, reduced=True) | options
    torch.manual_seed(0)
    model = pretrained.build_image_network(architecture, full).eval()
    for value in model.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape) - 0.4 * (value.ndim > 1))
    return model


@pytest.mark.parametrize(
    ("architecture", "count"),
    [
        ("resnet18", 11_220_132),
        ("resnet34", 21_328_292),
        ("resnet101", 42_697_380),
        ("vgg11", 9_277_284),
        ("vgg19", 20_086_692),
    ],
)
def test_networks_have_as_many_weights_as_others_of_their_names(architecture, count):
    """Those of widespread networks for images of 32 pixels, with 100 classes."""
    with torch.device("meta"):
        model = pretrained.build_image_network(
            architecture, paper.options("cifar100", architecture)
        )
    assert sum(value.numel() for value in model.parameters()) == count


def test_weights_have_the_names_of_the_authors():
    with torch.device("meta"):
        resnet, vgg = (
            pretrained.build_image_network(name, paper.options("imagenet100", name)).state_dict()
            for name in ("resnet101", "vgg11")
        )
    assert {"module.module.conv0.weight", "module.module.bn0.running_var"} <= resnet.keys()
    assert "module.module.layer3.44.bn3.num_batches_tracked" in resnet
    assert "module.module.layer2.0.downsample.1.bias" in resnet
    assert "module.module.layer2.1.conv1.weight" not in resnet
    assert resnet["module.module.linear.weight"].shape == (100, 2048)
    assert {"features.0.weight", "features.26.running_mean", "classifier.bias"} <= vgg.keys()


def normal(weights, name, x):
    names = ("running_mean", "running_var", "weight", "bias")
    return F.batch_norm(x, *(weights[f"{name}.{part}"] for part in names))


def straight_resnet(weights, x, depths, convolutions, early):
    """The definition of He et al., written out: the outputs of the stem and the blocks, and the
    average."""
    weights = {name.removeprefix("module.module."): value for name, value in weights.items()}
    step, padding = (2, 3) if early else (1, 1)
    x = normal(weights, "bn0", F.conv2d(x, weights["conv0.weight"], None, step, padding))
    seen = [x]
    for stage, depth in enumerate(depths, 1):
        for i in range(depth):
            here, y = f"layer{stage}.{2 * i}", F.relu(x)
            x = y
            stride = 2 if i == 0 and (stage > 1 or early) else 1
            for j in range(1, convolutions + 1):
                kernel = weights[f"{here}.conv{j}.weight"]
                is_halving = j == (1 if convolutions == 2 else 2)
                y = F.conv2d(y, kernel, None, stride if is_halving else 1, kernel.shape[2] // 2)
                y = normal(weights, f"{here}.bn{j}", y)
                y = F.relu(y) if j < convolutions else y
            if f"{here}.downsample.0.weight" in weights:
                x = F.conv2d(x, weights[f"{here}.downsample.0.weight"], None, stride)
                x = normal(weights, f"{here}.downsample.1", x)
            x = x + y
            seen.append(x)
    return seen, F.relu(x)


@pytest.mark.parametrize("architecture", ["resnet18", "resnet101"])
@pytest.mark.parametrize("dataset", ["cifar100", "imagenet100"])
def test_layers_of_resnet_are_those_of_its_definition(architecture, dataset):
    early, size = dataset == "imagenet100", 2 if dataset == "imagenet100" else 4
    depths = paper.options(dataset, architecture, reduced=True)["depths"]
    model = network(architecture, dataset)
    x = torch.nn.functional.interpolate(IMAGES, 64) if early else IMAGES
    convolutions = 2 if architecture == "resnet18" else 3
    with torch.no_grad():
        seen, last = straight_resnet(model.state_dict(), x, depths, convolutions, early)
        outputs = pretrained.run_image_network(architecture, model, x, None)
    average = last[:, :, :size, :size].mean((2, 3))  # only these positions, where there are more
    names = [f"block{i}" for i in range(1, len(seen))]
    assert list(outputs) == ["stem", *names, "pool", "logits"]
    for name, expected in zip(outputs, seen):
        large = expected.shape[2] > 7
        expected = F.adaptive_avg_pool2d(expected, 7) if large else expected
        torch.testing.assert_close(outputs[name], expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(outputs["pool"][:, :, 0, 0], average, rtol=1e-5, atol=1e-5)
    linear = model["module"]["module"]["linear"]
    torch.testing.assert_close(outputs["logits"], linear(average), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("architecture", ["vgg11", "vgg19"])
def test_layers_of_vgg_are_those_of_its_definition(architecture):
    model, x, count = network(architecture), IMAGES, 0
    weights = model.state_dict()
    with torch.no_grad():
        outputs = pretrained.run_image_network(architecture, model, IMAGES, None)
        for i in range(len(model["features"]) - 1):
            kernel = weights.get(f"features.{i}.weight")
            if kernel is not None and kernel.ndim == 4:
                x, count = F.conv2d(x, kernel, weights[f"features.{i}.bias"], 1, 1), count + 1
                expected = F.adaptive_avg_pool2d(x, 7) if x.shape[2] > 7 else x
                torch.testing.assert_close(outputs[f"conv{count}"], expected)
                x = F.relu(normal(weights, f"features.{i + 1}", x))
            elif (
                f"features.{i}.weight" not in weights and f"features.{i - 1}.weight" not in weights
            ):
                x = F.max_pool2d(x, 2)
    torch.testing.assert_close(outputs["pool"], x.mean((2, 3)))
    assert count == int(architecture[3:]) - 3


def test_the_last_layers_of_resnet_on_imagenet_see_the_top_left_corner():
    model = network("resnet18", "imagenet100", depths=[2, 2, 2, 2], pool=5)
    with torch.no_grad():
        maps = pretrained.run_image_network(
            "resnet18", model, torch.rand(1, 3, 224, 224), ("block8", "pool")
        )
    assert maps["pool"].shape == (1, 32, 1, 1)
    assert maps["block8"].shape == (1, 32, 7, 7)  # of 8 x 8


def test_a_block_begins_as_the_identity():
    model = pretrained.build_image_network(
        "resnet18", paper.options("cifar100", "resnet18", reduced=True)
    ).eval()
    with torch.no_grad():
        outputs = pretrained.run_image_network("resnet18", model, IMAGES, ("stem", "block1"))
    pooled = F.relu(model["module"]["module"]["bn0"](model["module"]["module"]["conv0"](IMAGES)))
    torch.testing.assert_close(outputs["block1"], F.adaptive_avg_pool2d(pooled, 7))


# ---------------------------------------------------------------------------------------------- ViT


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    make_vit(folder, "vit-b32", layers=3)
    return folder


def test_layers_of_vit_are_its_hidden_states(data):
    from transformers import ViTForImageClassification

    torch.manual_seed(1)
    options = paper.options("cifar100", "vit-b32", reduced=True)
    config = pretrained.vit_configuration("vit-b32", options, TrainingEnvironment(data))
    model = pretrained.build_image_network("vit-b32", options, config).eval()
    model = pretrained.load_pretrained_weights(model, "vit-b32", options, TrainingEnvironment(data))
    folder = data / pretrained.VIT_WEIGHTS["vit-b32"].folders[0]
    with silence_transformers(), torch.no_grad():
        theirs = ViTForImageClassification.from_pretrained(folder, num_labels=100).eval()
        theirs.classifier = model.classifier
        x = torch.rand(2, 3, 64, 64)
        expected = theirs(pixel_values=x, output_hidden_states=True)
        outputs = pretrained.run_image_network("vit-b32", model, x, None)
    assert list(outputs) == ["block1", "block2", "block3", "norm", "logits"]
    for i in (1, 2):  # of the third they give what is normalised
        torch.testing.assert_close(outputs[f"block{i}"], expected.hidden_states[i][:, 0])
    block = model.vit.layernorm(outputs["block3"])
    torch.testing.assert_close(outputs["norm"], block, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(outputs["logits"], expected.logits)


def test_full_transformers_have_the_sizes_of_the_paper():
    for name, count in (("vit-b32", 87_532_132), ("vit-l32", 305_612_900)):
        options = paper.options("imagenet100", name)
        config = pretrained.vit_configuration(name, options, TrainingEnvironment("nowhere"))
        with torch.device("meta"):
            model = pretrained.build_image_network(name, options, config)
        assert sum(value.numel() for value in model.parameters()) == count


def test_pretrained_weights_that_are_missing_or_others_are_named(tmp_path, data):
    options = paper.options("cifar100", "vit-b32")
    reduced = paper.options("cifar100", "vit-b32", reduced=True)
    with pytest.raises(
        ValueError, match=r"vit-base-patch32-224-in21k.config.json is missing.*http"
    ):
        pretrained.vit_configuration("vit-b32", reduced, TrainingEnvironment(tmp_path))
    config = pretrained.vit_configuration("vit-b32", options, TrainingEnvironment(data))
    with torch.device("meta"):
        model = pretrained.build_image_network("vit-b32", options, config)
    with pytest.raises(ValueError, match="expected hidden 768, got 16"):
        pretrained.load_pretrained_weights(model, "vit-b32", options, TrainingEnvironment(data))


def test_damaged_pretrained_weights_are_named(tmp_path):
    folder = make_vit(tmp_path, "vit-l32", layers=1)
    options = paper.options("cifar100", "vit-l32", reduced=True)
    config = pretrained.vit_configuration("vit-l32", options, TrainingEnvironment(tmp_path))
    model = pretrained.build_image_network("vit-l32", options, config)
    (folder / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match=r"vit-large-.* cannot be read by transformers.ViTModel"):
        pretrained.load_pretrained_weights(model, "vit-l32", options, TrainingEnvironment(tmp_path))


def test_pretrained_weights_are_downloaded_only_if_that_is_allowed(tmp_path, monkeypatch):
    import transformers

    asked, read = [], transformers.ViTModel.from_pretrained

    def from_pretrained(name, **options):
        if str(name).startswith("google/"):
            asked.append(name)
            name = make_vit(tmp_path / "elsewhere", "vit-b32", layers=1)
        return read(name, **options)

    monkeypatch.setattr(transformers.ViTModel, "from_pretrained", from_pretrained)
    options = paper.options("cifar100", "vit-b32", reduced=True)
    with pytest.raises(ValueError, match="is missing"):
        pretrained.vit_configuration("vit-b32", options, TrainingEnvironment(tmp_path))
    assert not asked
    config = pretrained.vit_configuration(
        "vit-b32", options, TrainingEnvironment(tmp_path, download=True)
    )
    assert asked == ["google/vit-base-patch32-224-in21k"]
    assert config.num_hidden_layers == 1
    assert (tmp_path / pretrained.VIT_WEIGHTS["vit-b32"].folders[0]).is_dir()


def test_all_architectures_of_the_paper_have_a_pooling():
    for dataset in ("cifar100", "imagenet100"):
        assert DATASETS[dataset].architectures.keys() == pretrained.IMAGE_POOLING.keys()
