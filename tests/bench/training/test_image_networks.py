"""The networks of the published vision models, and what is seen of their layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from factories.image_data import make_vit
from torch.nn import functional as F

from resemblance.bench.training import DATASETS
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.bench.training.vision import paper, pretrained
from resemblance.models.transformer_files import silence_transformers

IMAGES = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 3, 32, 32))).float()
COUNTS = {
    "resnet18": 11_220_132,
    "resnet34": 21_328_292,
    "resnet101": 42_697_380,
    "vgg11": 9_277_284,
    "vgg19": 20_086_692,
    "vit-b32": 87_532_132,
    "vit-l32": 305_612_900,
}


def empty(architecture, dataset):
    """A network of the full size, without memory for its weights."""
    options, config = paper.options(dataset, architecture), None
    if architecture in pretrained.VIT_NAMES:
        nowhere = TrainingEnvironment("nowhere")
        config = pretrained.vit_configuration(architecture, options, nowhere)
    with torch.device("meta"):
        return pretrained.build_image_network(architecture, options, config)


def network(architecture, dataset="cifar100", **options):
    """A small network in evaluation mode, none of whose weights is as it begins."""
    full = paper.options(dataset, architecture, reduced=True) | options
    torch.manual_seed(0)
    model = pretrained.build_image_network(architecture, full).eval()
    for value in model.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape) - 0.4 * (value.ndim > 1))
    return model


@torch.no_grad()
def layers_of(architecture, model, x, layers=None):
    return pretrained.run_image_network(architecture, model, x, layers)


def test_networks_have_as_many_weights_as_others_of_their_names():
    """Convolutional ones as those for images of 32 pixels, with 100 classes."""
    for dataset in ("cifar100", "imagenet100"):
        assert DATASETS[dataset].architectures.keys() == pretrained.IMAGE_POOLING.keys()
    for architecture, count in COUNTS.items():
        model = empty(architecture, "imagenet100" if "vit" in architecture else "cifar100")
        assert sum(value.numel() for value in model.parameters()) == count


def test_weights_have_the_names_of_the_authors():
    resnet, vgg = (empty(name, "imagenet100").state_dict() for name in ("resnet101", "vgg11"))
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
    x = F.interpolate(IMAGES, 64) if early else IMAGES
    convolutions = 2 if architecture == "resnet18" else 3
    seen, last = straight_resnet(model.state_dict(), x, depths, convolutions, early)
    outputs = layers_of(architecture, model, x)
    average = last[:, :, :size, :size].mean((2, 3))  # only these positions, where there are more
    names = [f"block{i}" for i in range(1, len(seen))]
    assert list(outputs) == ["stem", *names, "pool", "logits"]
    for name, expected in zip(outputs, seen):
        expected = F.adaptive_avg_pool2d(expected, 7) if expected.shape[2] > 7 else expected
        torch.testing.assert_close(outputs[name], expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(outputs["pool"][:, :, 0, 0], average, rtol=1e-5, atol=1e-5)
    linear = model["module"]["module"]["linear"]
    torch.testing.assert_close(outputs["logits"], linear(average), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("architecture", ["vgg11", "vgg19"])
def test_layers_of_vgg_are_those_of_its_definition(architecture):
    model, x, count = network(architecture), IMAGES, 0
    weights, outputs = model.state_dict(), layers_of(architecture, model, IMAGES)
    for i in range(len(model["features"]) - 1):
        kernel = weights.get(f"features.{i}.weight")
        if kernel is not None and kernel.ndim == 4:
            x, count = F.conv2d(x, kernel, weights[f"features.{i}.bias"], 1, 1), count + 1
            expected = F.adaptive_avg_pool2d(x, 7) if x.shape[2] > 7 else x
            torch.testing.assert_close(outputs[f"conv{count}"], expected)
            x = F.relu(normal(weights, f"features.{i + 1}", x))
        elif f"features.{i}.weight" not in weights and f"features.{i - 1}.weight" not in weights:
            x = F.max_pool2d(x, 2)
    torch.testing.assert_close(outputs["pool"], x.mean((2, 3)))
    assert count == int(architecture[3:]) - 3


# ---------------------------------------------------------------------------------------------- ViT

REDUCED, FULL = (paper.options("cifar100", "vit-b32", reduced=small) for small in (True, False))


@pytest.fixture
def resources(tmp_path):
    make_vit(tmp_path, "vit-b32", layers=3)
    return TrainingEnvironment(tmp_path)


def begun(options, resources):
    config = pretrained.vit_configuration("vit-b32", options, resources)
    with torch.device("meta" if options is FULL else "cpu"):
        model = pretrained.build_image_network("vit-b32", options, config).eval()
    return pretrained.load_pretrained_weights(model, "vit-b32", resources)


def test_layers_of_vit_are_its_hidden_states(resources):
    torch.manual_seed(1)
    model, x = begun(REDUCED, resources), torch.rand(2, 3, 64, 64)
    folder = resources.data / pretrained.VIT_WEIGHTS["vit-b32"].folders[0]
    with silence_transformers(), torch.no_grad():
        kind = transformers.ViTForImageClassification
        theirs = kind.from_pretrained(folder, num_labels=100).eval()
        theirs.classifier = model.classifier
        expected = theirs(pixel_values=x, output_hidden_states=True)
    outputs = layers_of("vit-b32", model, x)
    assert list(outputs) == ["block1", "block2", "block3", "norm", "logits"]
    for i in (1, 2):  # of the third they give what is normalised
        torch.testing.assert_close(outputs[f"block{i}"], expected.hidden_states[i][:, 0])
    block = model.vit.layernorm(outputs["block3"])
    torch.testing.assert_close(outputs["norm"], block, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(outputs["logits"], expected.logits)


def test_pretrained_weights_that_are_missing_damaged_or_others_are_named(resources, tmp_path):
    with pytest.raises(ValueError, match="expected hidden 768, got 16"):
        begun(FULL, resources)
    folder = resources.data / pretrained.VIT_WEIGHTS["vit-b32"].folders[0]
    (folder / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match=r"vit-base-.* cannot be read by transformers.ViTModel"):
        begun(REDUCED, resources)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"vit-base-.*.config.json is missing.*http"):
        begun(REDUCED, resources)


def test_pretrained_weights_are_downloaded_if_that_is_allowed(tmp_path, monkeypatch):
    asked, read = [], transformers.ViTModel.from_pretrained

    def from_pretrained(name, **options):
        if str(name).startswith("google/"):
            asked.append(name)
            name = make_vit(tmp_path / "elsewhere", "vit-b32", layers=1)
        return read(name, **options)

    monkeypatch.setattr(transformers.ViTModel, "from_pretrained", from_pretrained)
    where = TrainingEnvironment(tmp_path, download=True)
    config = pretrained.vit_configuration("vit-b32", REDUCED, where)
    assert asked == ["google/vit-base-patch32-224-in21k"]
    assert config.num_hidden_layers == 1
    assert (tmp_path / pretrained.VIT_WEIGHTS["vit-b32"].folders[0]).is_dir()
