"""The vision models of the ReSi paper on small data in the layout of the real ones: how they are
trained, what is seen of them, and the weights that the authors released."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
import torch
from factories.image_data import make_archive, make_cifar100, make_imagenet100, make_vit
from PIL import Image

from resemblance.bench.training import DATASETS, archive
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.bench.training.vision import paper, pretrained
from resemblance.bench.training.vision.data import IMAGENET100_CLASSES
from resemblance.models.recipe import Recipe


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    make_cifar100(folder, train=250, test=40, classes=4)
    make_imagenet100(folder)
    make_vit(folder, "vit-b32")
    make_vit(folder, "vit-l32")
    return TrainingEnvironment(folder, device="cpu")


def recipe(
    dataset="cifar100", architecture="resnet18", setting="normal", strength=0.0, seed=0, **options
):
    full = paper.options(dataset, architecture, reduced=True) | {"most": 40, "batch": 16}
    return Recipe("vision", dataset, architecture, setting, strength, seed, full | options)


def same(one, other):
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in one)


# ----------------------------------------------------------------------------------------- training


def test_accumulated_batches_are_one_large_batch(data):
    """A transformer does not see the other images of a batch."""
    common = {"optimizer": "sgd", "momentum": 0.9, "nesterov": True, "lr": 0.01}
    large, small = (
        paper.fit(recipe("imagenet100", "vit-b32", **common, **sizes), data)
        for sizes in ({"batch": 20, "accumulate": 1}, {"batch": 5, "accumulate": 4})
    )
    for name, value in large.items():
        np.testing.assert_allclose(small[name], value, rtol=1e-4, atol=1e-6)
    start = paper.fit(recipe("imagenet100", "vit-b32", epochs=0), data)
    assert not np.allclose(start["classifier.weight"], large["classifier.weight"], atol=1e-4)


def test_precision_smoothing_and_clipping_change_the_weights(data):
    one = recipe(architecture="vgg11")
    weights = paper.fit(one, data)
    low = paper.fit(one, data._replace(precision="bfloat16"))
    assert not same(weights, low)
    np.testing.assert_allclose(low["features.0.weight"], weights["features.0.weight"], atol=0.2)
    for name, value in (("label_smoothing", 0.1), ("gradient_clip", 1e-3)):
        changed = one._replace(options={**one.options, name: value})
        assert not same(weights, paper.fit(changed, data))


def test_rates_rise_and_fall():
    schedule = paper.image_schedule({"warmup": 35, "epochs": 300}, 4)
    shares = [schedule.share(step) for step in range(4 * 300)]
    assert shares[::4] == shares[3::4]  # constant within an epoch of four steps
    shares = shares[::4]
    assert (shares[0], shares[34], shares[35]) == (0, 1, 1)
    assert shares[17] == pytest.approx(0.5)
    assert shares[35 + 53] == pytest.approx((1 + math.cos(math.pi / 5)) / 2)
    assert 0 < shares[-1] < 1e-4
    without_warmup = paper.image_schedule({"warmup": 0, "epochs": 200}, 1)
    assert without_warmup.share(0) == 1
    assert without_warmup.share(100) == pytest.approx(0.5)


# --------------------------------------------------------------------------------------- extraction


def test_outputs_are_those_of_the_network_for_normalized_test_images(data):
    one = recipe("imagenet100", "resnet34")
    weights = paper.fit(one, data)
    seen = paper.extract(one, weights, data)
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
    np.testing.assert_allclose(seen.outputs, expected["logits"], rtol=1e-5, atol=1e-5)
    assert list(seen.layers["mean"]) == [*expected][-7:-1]
    for name, values in seen.layers["mean"].items():
        assert seen.maps[name] == tuple(expected[name].shape[1:])
        np.testing.assert_allclose(values, expected[name].flatten(1), rtol=1e-5, atol=1e-5)
    order = [file.parent.name for file in files[:40]]
    assert order == [IMAGENET100_CLASSES[label] for label in seen.labels]


# ------------------------------------------------------------------------------------------ options


def test_options_are_plain_and_those_of_the_paper_differ_in_what_is_said():
    shared, late = {"hyperparameters", "dot_seed", "colours"}, {"label_smoothing"}
    differences = {
        ("cifar100", "resnet18"): {"coins"},
        ("imagenet100", "vgg19"): late,
        ("imagenet100", "vit-b32"): late | {"gradient_clip"},
        ("cifar100", "vit-l32"): {"coins", "hooks"},
    }
    for dataset in ("cifar100", "imagenet100"):
        for architecture in DATASETS[dataset].architectures:
            code, text = (
                paper.options(dataset, architecture, kind) for kind in ("resi-code", "paper")
            )
            assert json.loads(json.dumps(code)) == code
            names = {name for name in code if code[name] != text[name]}
            expected = differences.get((dataset, architecture))
            assert expected is None or names == expected | shared


def test_hyperparameters_are_those_of_the_authors():
    options = paper.options("imagenet100", "vit-b32")
    assert options["batch"] * options["accumulate"] == 512
    assert (options["epochs"], options["warmup"], options["weight_decay"]) == (300, 35, 0.1)
    for dataset, decay, side in (("cifar100", 5e-4, 32), ("imagenet100", 4e-5, 224)):
        options = paper.options(dataset, "resnet101")
        assert (options["lr"], options["epochs"], options["batch"]) == (0.1, 200, 128)
        assert (options["weight_decay"], options["size"]) == (decay, side)
    assert paper.options("cifar100", "vit-l32")["optimizer"] == "sgd"


# ------------------------------------------------------------------------------- released weights

OLD = (  # of a vision transformer, as transformers 4 has it
    (r"^vit\.layers\.(\d+)\.attention\.o_proj", r"vit.encoder.layer.\1.attention.output.dense"),
    (r"^vit\.layers\.(\d+)\.attention\.q_proj", r"vit.encoder.layer.\1.attention.attention.query"),
    (r"^vit\.layers\.(\d+)\.attention\.k_proj", r"vit.encoder.layer.\1.attention.attention.key"),
    (r"^vit\.layers\.(\d+)\.attention\.v_proj", r"vit.encoder.layer.\1.attention.attention.value"),
    (r"^vit\.layers\.(\d+)\.mlp\.fc1", r"vit.encoder.layer.\1.intermediate.dense"),
    (r"^vit\.layers\.(\d+)\.mlp\.fc2", r"vit.encoder.layer.\1.output.dense"),
    (r"^vit\.layers\.", "vit.encoder.layer."),
)


def old_name(name):
    for now, before in OLD:
        name = re.sub(now, before, name)
    return f"model.{name}"


@pytest.mark.parametrize(
    ("dataset", "architecture"),
    [("cifar100", "vgg11"), ("imagenet100", "resnet18"), ("imagenet100", "vit-b32")],
)
def test_weights_of_the_archive_are_those_of_the_network_that_wrote_them(
    data, tmp_path, dataset, architecture
):
    one, where = recipe(dataset, architecture), data._replace(archive=tmp_path)
    facts = {"n_cls": 100, "test": {"accuracy": 0.5}, "early_downsampling": dataset != "cifar100"}
    expected = paper.fit(one._replace(options=one.options | {"epochs": 0}), data)
    state = {name: torch.from_numpy(value) for name, value in expected.items()}
    if architecture == "vit-b32":
        state = {old_name(name): value for name, value in state.items()}
        assert "model.vit.encoder.layer.2.attention.attention.query.bias" in state
        assert not [name for name in state if "fc1" in name or "proj." in name]
    elif architecture == "vgg11":  # a checkpoint of Lightning
        state = {"epoch": 200, "state_dict": {f"net.{name}": x for name, x in state.items()}}
    summary = make_archive(tmp_path / archive.released_file_path(one), state, facts)
    assert same(archive.load_archived_weights(one, where), expected)
    for content, problem in ((facts | {"n_cls": 10}, r"\(n_cls is 10, not 100\)"), ([1], "")):
        summary.write_text(json.dumps(content))
        with pytest.raises(ValueError, match=f"output.json is not .*{problem}"):
            archive.load_archived_weights(one, where)
    summary.unlink()
    assert archive.load_archived_weights(one, where)
