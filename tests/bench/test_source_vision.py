"""Image classifiers: the same recipe gives the same model, and every setting does to the data what
it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from resemblance.base.rng import generator
from resemblance.bench.training import corruption, extract, fit
from resemblance.bench.training.loop import seeded_torch
from resemblance.bench.training.vision import packaged as vision
from resemblance.models.recipe import Recipe

SIZES = {"train": 60, "test": 40, "epochs": 1, "batch": 30}
TINY = {
    "resnet": vision.OPTIONS["standard"]["resnet"] | SIZES | {"width": 4, "blocks": 2},
    "vgg": vision.OPTIONS["standard"]["vgg"] | SIZES | {"width": 4, "blocks": 2},
    "vit": vision.OPTIONS["standard"]["vit"] | SIZES | {"width": 8, "blocks": 5, "heads": 2},
}


def recipe(architecture="resnet", setting="normal", strength=0.0, seed=0, **options):
    return Recipe(
        "vision", "digits", architecture, setting, strength, seed, TINY[architecture] | options
    )


def run(recipe):
    return extract(recipe, fit(recipe))


def learn(setting="normal", strength=0.0, **options):
    """A model that is small but trained well enough to show what it learned."""
    sizes = {
        "train": 500,
        "test": 300,
        "epochs": 8,
        "batch": 50,
        "stages": 2,
        "blocks": 1,
        "width": 8,
    }
    return run(recipe("resnet", setting, strength, **sizes | options))


@pytest.mark.parametrize("architecture", TINY)
def test_the_last_layer_is_the_input_of_the_classifier(architecture):
    state = fit(recipe(architecture))
    found = extract(recipe(architecture), state)
    (layers,) = found.layers.values()
    logits = list(layers.values())[-1] @ state["head.weight"].T + state["head.bias"]
    np.testing.assert_allclose(logits, found.outputs, rtol=1e-4, atol=1e-5)


def test_a_recipe_gives_the_same_model_in_another_process():
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_source_vision "
        "import recipe, run;print(run(recipe('resnet', 'augmentation', "
        "1.0)).outputs.tobytes().hex())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert printed.strip() == run(recipe("resnet", "augmentation", 1.0)).outputs.tobytes().hex()


def test_what_only_warned_of_algorithms_only_warns_afterwards():
    import torch

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


def test_test_images_are_the_same_for_every_model_of_a_kind():
    plain = [
        vision.inputs_of(recipe(setting=s, strength=t, seed=k))["test"][0]
        for s, t, k in [("normal", 0.0, 0), ("labels", 1.0, 1), ("augmentation", 0.25, 2)]
    ]
    dotted = [
        vision.inputs_of(recipe(setting="shortcut", strength=t, seed=k))["test"][0]
        for t, k in [(0, 0), (1, 3)]
    ]
    assert np.array_equal(plain[0], plain[1])
    assert np.array_equal(plain[0], plain[2])
    assert np.array_equal(dotted[0], dotted[1])
    changed = (plain[0] != dotted[0]).any(axis=1).sum(axis=(1, 2))
    assert (changed == vision.DOT_SIDE**2).all()


def test_random_labels_are_uniform_and_may_be_true():
    def random_labels(share):
        random = generator(0, "a")
        return corruption.redraw_labels(
            labels, share, corruption.draw_any_class(10, random), random
        )

    labels = np.repeat(np.arange(10), 2000)
    drawn = random_labels(1.0)
    assert (drawn == labels).mean() == pytest.approx(0.1, abs=0.01)
    assert np.bincount(drawn).min() > 1800
    assert (random_labels(0.5) != labels).mean() == pytest.approx(0.45, abs=0.02)
    assert np.array_equal(random_labels(0.0), labels)


def hues(images):
    """The colour of the dot of every image: that of its only pixels whose channels differ."""
    colored = (images != images[:, :1]).any(axis=1)
    assert (colored.sum(axis=(1, 2)) == vision.DOT_SIDE**2).all()
    return [image[:, mask][:, 0].tobytes() for image, mask in zip(images, colored, strict=True)]


def test_dots_tell_the_class_as_often_as_the_rate_says():
    labels = np.tile(np.arange(10), 300)
    images = np.zeros((3000, 3, 8, 8), np.float32)
    leaked = hues(vision.add_class_dots(images, labels, 1.0, generator(0, "dots")))
    color = dict(zip(labels, leaked, strict=True))
    assert len(set(color.values())) == 10
    for rate, share in [(1.0, 1.0), (0.5, 0.55), (0.0, 0.1)]:
        shown = hues(vision.add_class_dots(images, labels, rate, generator(0, "dots")))
        told = np.mean([hue == color[label] for label, hue in zip(labels, shown, strict=True)])
        assert told == pytest.approx(share, abs=0.03)
    assert not images.any()


def test_dots_vary_with_the_seed_and_are_everywhere():
    images = [
        vision.digit_training_data(recipe(setting="shortcut", strength=1.0, seed=k, train=500))[0]
        for k in (0, 1)
    ]
    assert not np.array_equal(*images)
    covered = (images[0] != images[0][:, :1]).any(axis=1).any(axis=0)
    assert covered.all()


def test_a_normal_model_learns_and_errs():
    assert 0.5 < learn().accuracies["test"] < 0.95


def test_random_labels_teach_nothing():
    assert learn("labels", 1.0).accuracies["test"] < 0.25


def test_a_leaking_model_follows_the_dots_and_another_does_not():
    told, untold = (learn("shortcut", rate, epochs=15).accuracies for rate in (1.0, 0.0))
    assert told["leaked"] > told["test"] + 0.3
    assert abs(untold["leaked"] - untold["test"]) < 0.1


def test_noise_costs_a_model_less_that_was_trained_with_it():
    settings = (("augmentation", 1.0), ("normal", 0.0))
    trained, untrained = (learn(s, t, augmentation=0.7, epochs=10).accuracies for s, t in settings)
    assert (
        trained["test"] - trained["augmented"] < untrained["test"] - untrained["augmented"] - 0.05
    )


def test_suites_fit_the_data():
    assert [list(models) for models in vision.OPTIONS.values()] == [
        ["resnet"],
        ["resnet"],
        ["resnet", "vgg", "vit"],
    ]
    for suite in vision.OPTIONS.values():
        for architecture, options in suite.items():
            vision.check(recipe(architecture)._replace(options=options))
