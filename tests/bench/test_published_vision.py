"""The vision models of the ReSi paper: the same recipe gives the same model on small data in the
layout of the real ones, and a training continues where it was interrupted."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from factories.image_data import make_cifar100, make_imagenet100, make_vit
from PIL import Image

from resemblance.bench.training import PaperSubset
from resemblance.bench.training import paper_recipes as recipes
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.bench.training.vision import paper as train
from resemblance.bench.training.vision import pretrained
from resemblance.bench.training.vision.data import IMAGENET100_CLASSES
from resemblance.models.recipe import Recipe

CASES = [
    (dataset, name) for dataset in ("cifar100", "imagenet100") for name in pretrained.IMAGE_POOLING
]
SETTINGS = [("normal", 0.0), ("labels", 0.5), ("shortcut", 0.75), ("augmentation", 0.25)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    make_cifar100(folder, train=60, test=20, classes=4)
    make_imagenet100(folder)
    make_vit(folder, "vit-b32")
    make_vit(folder, "vit-l32")
    return TrainingEnvironment(folder, device="cpu")


def recipe(
    dataset="cifar100", architecture="resnet18", setting="normal", strength=0.0, seed=0, **options
):
    full = train.options(dataset, architecture, reduced=True) | {"most": 40, "batch": 16}
    return Recipe("vision", dataset, architecture, setting, strength, seed, full | options)


def same(one, other):
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


# ----------------------------------------------------------------------------------------- training


def test_images_are_loaded_by_threads_with_the_same_result(data, monkeypatch):
    one = recipe("imagenet100", "vgg11")
    weights = train.fit(one, data)
    monkeypatch.setattr(train, "count_loader_threads", lambda device: 3)
    assert same(weights, train.fit(one, data))


def test_a_network_learns(tmp_path):
    make_cifar100(tmp_path, train=250, test=40, classes=4)
    one = recipe(architecture="vgg11", epochs=4, lr=0.03, most=200, batch=32)
    where = TrainingEnvironment(tmp_path, device="cpu")
    assert train.extract(one, train.fit(one, where), where).accuracies["test"] > 0.6


def test_accumulated_batches_are_one_large_batch(data):
    """A transformer does not see the other images of a batch."""
    common = {"optimizer": "sgd", "momentum": 0.9, "nesterov": True, "lr": 0.01}
    large, small = (
        train.fit(recipe("imagenet100", "vit-b32", **common, **sizes), data)
        for sizes in ({"batch": 20, "accumulate": 1}, {"batch": 5, "accumulate": 4})
    )
    for name, value in large.items():
        np.testing.assert_allclose(small[name], value, rtol=1e-4, atol=1e-6)
    start = train.fit(recipe("imagenet100", "vit-b32", epochs=0), data)
    assert not np.allclose(start["classifier.weight"], large["classifier.weight"], atol=1e-4)


def test_transformers_begin_with_their_pretrained_weights(data):
    from safetensors.numpy import load_file

    weights = train.fit(recipe(architecture="vit-l32", epochs=0), data)
    folder = data.data / "vision" / "models" / "vit-large-patch32-224-in21k"
    stored = load_file(folder / "model.safetensors")
    for ours, theirs in (
        ("embeddings.position_embeddings", "embeddings.position_embeddings"),
        ("layers.6.attention.k_proj.bias", "encoder.layer.6.attention.attention.key.bias"),
        ("layers.0.mlp.fc2.weight", "encoder.layer.0.output.dense.weight"),
        ("layernorm.weight", "layernorm.weight"),
    ):
        np.testing.assert_array_equal(weights[f"vit.{ours}"], stored[theirs])


def test_precision_changes_weights_a_little(data):
    one = recipe(architecture="vgg11")
    full = train.fit(one, data)
    low = train.fit(one, data._replace(precision="bfloat16"))
    assert not same(full, low)
    assert all(np.isfinite(value).all() for value in low.values())
    first = "features.0.weight"
    np.testing.assert_allclose(low[first], full[first], atol=0.2)


def test_rates_rise_and_fall():
    options = {"warmup": 35, "epochs": 300}
    shares = [train.image_schedule(options, 4).share(step) for step in range(4 * 300)]
    assert shares[::4] == shares[3::4]  # constant within an epoch of four steps
    shares = shares[::4]
    assert shares[0] == 0
    assert shares[34] == shares[35] == 1
    assert shares[17] == pytest.approx(0.5)
    assert shares[35 + 53] == pytest.approx((1 + math.cos(math.pi / 5)) / 2)
    assert 0 < shares[-1] < 1e-4
    without_warmup = train.image_schedule({"warmup": 0, "epochs": 200}, 1)
    assert without_warmup.share(0) == 1
    assert without_warmup.share(100) == pytest.approx(0.5)


# --------------------------------------------------------------------------------------- extraction


def test_outputs_are_those_of_the_network_for_normalized_test_images(data):
    import torch

    one = recipe("imagenet100", "resnet34")
    weights = train.fit(one, data)
    seen = train.extract(one, weights, data)
    files = sorted((data.data / "vision" / "imagenet100" / "val").glob("*/*.JPEG"))
    np.random.default_rng(32).shuffle(files)
    pixels = []
    for file in files[:40]:
        image = Image.open(file).convert("RGB").resize((64, 64), Image.Resampling.BILINEAR)
        colors = (np.asarray(image) / 255 - one.options["mean"]) / one.options["std"]
        pixels.append(colors.transpose(2, 0, 1))
    model = pretrained.build_image_network(one.architecture, one.options)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    x = torch.from_numpy(np.array(pixels)).float()
    with torch.no_grad():
        expected = pretrained.run_image_network(one.architecture, model.eval(), x, None)
    names = [*expected][:-1]
    np.testing.assert_allclose(seen.outputs, expected["logits"], rtol=1e-5, atol=1e-5)
    assert list(seen.layers["mean"]) == names[-6:]
    for name, values in seen.layers["mean"].items():
        assert seen.maps[name] == tuple(expected[name].shape[1:])
        np.testing.assert_allclose(values, expected[name].flatten(1), rtol=1e-5, atol=1e-5)
    order = [file.parent.name for file in files[:40]]
    assert order == [IMAGENET100_CLASSES[label] for label in seen.labels]


def test_other_settings_are_seen_on_other_test_images(data):
    weights = train.fit(recipe("imagenet100", "vgg11"), data)
    seen = {
        setting: train.extract(recipe("imagenet100", "vgg11", setting, 1.0), weights, data)
        for setting, _ in SETTINGS
    }
    assert (seen["normal"].outputs == seen["labels"].outputs).all()
    assert (seen["normal"].outputs != seen["shortcut"].outputs).any()
    assert (seen["normal"].outputs != seen["augmentation"].outputs).any()
    accuracies = {setting: set(extraction.accuracies) for setting, extraction in seen.items()}
    assert accuracies["normal"] == accuracies["augmentation"] == {"test", "augmented"}
    assert accuracies["shortcut"] == {"test", "leaked"}
    assert accuracies["labels"] == {"test"}


def test_hooks_that_the_code_does_not_have_are_left_out(data):
    one = recipe("imagenet100", "vit-l32", hooks=5, epochs=0)
    seen = train.extract(one, train.fit(one, data), data)
    assert list(seen.layers["cls"]) == [f"block{i}" for i in range(1, 6)]


# ------------------------------------------------------------------------------------------ options


def test_options_are_plain_and_each_changes_the_recipe():
    for dataset, architecture in CASES:
        for kind in ("resi-code", "paper"):
            options = train.options(dataset, architecture, kind)
            assert json.loads(json.dumps(options)) == options
            assert options["hyperparameters"] == kind


def test_the_code_and_the_paper_differ_in_what_is_said():
    differences = {
        ("cifar100", "resnet18"): {"coins", "dot_seed", "colours"},
        ("imagenet100", "vgg19"): {"dot_seed", "colours", "label_smoothing"},
        ("imagenet100", "vit-b32"): {"dot_seed", "colours", "label_smoothing", "gradient_clip"},
        ("cifar100", "vit-l32"): {"coins", "dot_seed", "colours", "hooks"},
    }
    for case, expected in differences.items():
        code, paper = (train.options(*case, kind) for kind in ("resi-code", "paper"))
        names = {name for name in code if code[name] != paper[name]}
        assert names == expected | {"hyperparameters"}


def test_hyperparameters_are_those_of_the_authors():
    options = train.options("imagenet100", "vit-b32")
    assert options["batch"] * options["accumulate"] == 512
    assert (options["epochs"], options["warmup"], options["weight_decay"]) == (300, 35, 0.1)
    for dataset, decay, side in (("cifar100", 5e-4, 32), ("imagenet100", 4e-5, 224)):
        options = train.options(dataset, "resnet101")
        assert (options["lr"], options["epochs"], options["batch"]) == (0.1, 200, 128)
        assert (options["weight_decay"], options["size"]) == (decay, side)
    assert train.options("cifar100", "vit-l32")["optimizer"] == "sgd"


def test_smoothing_and_clipping_change_the_weights(data):
    one = recipe(architecture="vgg11")
    weights = train.fit(one, data)
    for name, value in (("label_smoothing", 0.1), ("gradient_clip", 1e-3)):
        changed = one._replace(options={**one.options, name: value})
        assert not same(weights, train.fit(changed, data))


def test_the_suite_knows_all_recipes():
    portion = PaperSubset(datasets=("cifar100", "imagenet100"), reduced=True)
    names = [one.name for one in recipes(portion)]
    assert len(names) == len(set(names)) == 14 * (10 + 5 * 8)


def test_weights_of_another_network_are_refused(data):
    weights = train.fit(recipe(epochs=0), data)
    with pytest.raises(ValueError, match="weights are of another network"):
        train.extract(recipe(architecture="vgg11"), weights, data)
