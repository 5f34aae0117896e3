"""Image classifiers trained on hard handwritten digits, plain or with a known corruption.

The networks are small versions of the ReSi models (Klabunde et al., ICLR 2025), for images without
downloads. scikit-learn's digits have 8 x 8 pixels and are too easy: networks make few mistakes, and
all networks make the same mistakes. The task therefore adds fixed noise and has few training
images. Models fine-tuned from the same weights agree on the original digits and differ on corrupted
digits. The benchmark of Ding et al. (NeurIPS 2021) tests whether representations show such
differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator
from resemblance.base.text import check_choice
from resemblance.models.recipe import TRANSFER_SETTINGS as TRANSFER_SETTINGS
from resemblance.models.recipe import Recipe

from .. import corruption
from ..corruption import draw_any_class, redraw_labels, shortcut_labels
from ..loop import Schedule, build_optimizer, train_steps
from ..packaged import check_recipe, training_example_positions
from . import networks
from .changes import class_hues
from .digits import DigitSplit, split_digits
from .networks import IMAGE_SIDE, N_COLOR_CHANNELS, N_DIGITS, SMALL_IMAGE_POOLING
from .shifts import IMAGE_CORRUPTIONS, corrupt_images

VERSION, TRANSFER_VERSION = 1, 2
DOT_SIDE = 3  # side of the square that gives the class away, in pixels
# Digits below this number are for fine-tuning, all other digits for pretraining.
FIRST_PRETRAINING_DIGIT = 5
N_HELD_OUT_IMAGES = 150  # test images of the pretraining digits

# train, test: numbers of images; noise: standard deviation of the task's noise; augmentation:
# standard deviation of the augmentation noise at strength 1 (paper is 0 and ink is 1); warmup:
# share of the steps. All other options are sizes of the network and of the training.
_SGD_OPTIONS: dict[str, Any] = {"optimizer": "sgd", "warmup": 0.0, "weight_decay": 5e-4}
_NOISY_SGD_OPTIONS: dict[str, Any] = _SGD_OPTIONS | {
    "noise": 0.3,
    "augmentation": 2.0,
    "lr": 0.1,
    "batch": 50,
}
_MINI_RESNET = _NOISY_SGD_OPTIONS | {
    "train": 500,
    "test": 500,
    "epochs": 20,
    "width": 16,
    "stages": 3,
    "blocks": 2,
}
_SLICE_RESNET = _MINI_RESNET | {
    "train": 200,
    "test": 100,
    "epochs": 8,
    "batch": 25,
    "width": 8,
    "stages": 2,
}
_STANDARD_RESNET = _MINI_RESNET | {"train": 797, "test": 1000, "epochs": 40, "width": 24}
_STANDARD_VIT: dict[str, Any] = {
    "train": 797, "test": 1000, "noise": 0.3, "augmentation": 1.2,
    "optimizer": "adamw", "lr": 2e-3, "warmup": 0.1, "weight_decay": 0.1,
    "epochs": 30, "batch": 50, "width": 32, "blocks": 5, "heads": 4,
}  # fmt: skip
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "slice": {"resnet": _SLICE_RESNET},
    "mini": {"resnet": _MINI_RESNET},
    "demo": {"resnet": _MINI_RESNET | {"test": 250, "epochs": 12}},
    "standard": {
        "resnet": _STANDARD_RESNET,
        "vgg": _STANDARD_RESNET | {"augmentation": 1.6, "lr": 0.05},
        "vit": _STANDARD_VIT,
    },
}
OPTIONS["architectures"] = {
    "resnet": _MINI_RESNET | {"test": 250},
    "vgg": _MINI_RESNET | {"test": 250, "augmentation": 1.6, "lr": 0.05},
    "vit": _STANDARD_VIT | {"test": 250},
}
DEEP: dict[str, dict[str, Any]] = {
    "small": _SLICE_RESNET | {"width": 4, "epochs": 1, "test": 120},
    "default": _MINI_RESNET | {"blocks": 4, "width": 8, "epochs": 10},
}
_SMALL_TRANSFER_RESNET = _SGD_OPTIONS | {
    "classes": 5,
    "test": 120,
    "width": 4,
    "stages": 2,
    "blocks": 1,
    "epochs": 1,
}
_DEFAULT_TRANSFER_RESNET = _SGD_OPTIONS | {
    "classes": 5,
    "test": 500,
    "width": 8,
    "stages": 3,
    "blocks": 2,
    "epochs": 8,
}
_PRETRAINING_OPTIONS, _FINETUNING_OPTIONS = {"lr": 0.1, "batch": 50}, {"lr": 0.05, "batch": 25}
TRANSFER: dict[str, dict[str, Any]] = {
    "small": _SMALL_TRANSFER_RESNET
    | _FINETUNING_OPTIONS
    | {"shots": 10, "pretraining": _SMALL_TRANSFER_RESNET | _PRETRAINING_OPTIONS},
    "default": _DEFAULT_TRANSFER_RESNET
    | _FINETUNING_OPTIONS
    | {"shots": 50, "pretraining": _DEFAULT_TRANSFER_RESNET | _PRETRAINING_OPTIONS},
}


def check(recipe: Recipe) -> None:
    """Raise ``ValueError`` for an invalid recipe, and for options that are missing or do not fit
    the data."""
    options, is_transfer = recipe.options, recipe.setting in TRANSFER_SETTINGS
    option_names = (
        TRANSFER["default"] if is_transfer else OPTIONS["standard"].get(recipe.architecture)
    )
    check_recipe(recipe, option_names or (), FIRST_PRETRAINING_DIGIT)
    check_choice("vision: optimizer", options["optimizer"], ("sgd", "adamw"))
    if options.get("stages", 1) > 3:
        raise ValueError(
            f"vision: 8 x 8 images can be halved for at most 3 stages; got {options['stages']}"
        )
    max_images = 1797 - options["test"]
    if not is_transfer and not 0 < options["train"] <= max_images:
        raise ValueError(
            f"vision: train must be between 1 and the {max_images} images not tested; got "
            f"{options['train']}"
        )


def learn(model: Any, recipe: Recipe) -> None:
    """Train a network with cross-entropy. The learning rate rises over the share
    ``options["warmup"]`` of the steps, and then falls to zero as a cosine.

    - ``"normal"``: the plain task.
    - ``"labels"``: the label of every training image is replaced, independently with probability
      ``strength``, by a label drawn uniformly from all classes.
    - ``"shortcut"``: every training image gets a coloured dot, in the colour of the true class with
      probability ``strength``; see :func:`add_class_dots`. The dots of a model are drawn once.
    - ``"augmentation"``: Gaussian noise with standard deviation
      ``strength * options["augmentation"]`` is added to the training images, redrawn in every
      epoch.

    The settings follow ReSi's vision models, with two differences: ReSi's models share the dots,
    and ReSi draws the noise variance per image. The fixed variance here gives every strength one
    meaning. Needs the extra ``torch``.

    Pretrained models learn the digits 5 to 9 from all images except 150; fine-tuned models learn
    the digits 0 to 4 from a few images per digit. Transfer recipes have ``classes`` (5) instead of
    ``train``, ``noise`` and ``augmentation``. The transfer task has no noise, because models
    trained to ignore noise differ less on corrupted images.
    """
    torch, options = import_optional("torch"), recipe.options
    images, labels = digit_training_data(recipe)
    rows = training_example_positions(recipe, labels)
    x, y = torch.from_numpy(images[rows]), torch.from_numpy(labels[rows])
    noise = recipe.strength * options["augmentation"] if recipe.setting == "augmentation" else 0.0
    total = options["epochs"] * math.ceil(len(x) / options["batch"])
    warmup = options["warmup"] * total
    schedule = Schedule(total, (-1, warmup), warmup, cosine=True)

    def steps(first: int) -> Iterator[Any]:
        for _ in range(options["epochs"]):
            inputs = x + noise * torch.randn(x.shape) if noise else x
            for batch in torch.randperm(len(x)).split(options["batch"]):
                yield [(inputs[batch], y[batch])]

    def loss(part: tuple[Any, Any]) -> Any:
        logits = networks.run_small_network(recipe.architecture, model, part[0])["logits"]
        return torch.nn.functional.cross_entropy(logits, part[1])

    train_steps(model, steps, loss, build_optimizer(model, options), schedule=schedule)


def inputs_of(recipe: Recipe) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return test images (n, 3, 8, 8) and labels (n,), by accuracy name.

    ``"test"``: the same images, in the same order, for all models. For shortcut models the images
    also have dots of random colours, the same for all models, because shortcut models never saw an
    image without a dot in training. ``"augmented"``, for normal and augmentation models: the same
    images with noise of strength 1. ``"leaked"``, for shortcut models: dots at the same positions
    in the colours of the true classes. ``"<corruption>/<severity>"``, for fine-tuned models: the
    same images after every corruption in :data:`.shifts.IMAGE_CORRUPTIONS`, drawn once for all
    models.
    """
    split = digit_task(recipe)
    images, labels = split.test, split.test_labels
    inputs = {"test": images}
    if recipe.setting == "shortcut":
        for name, rate in (("test", 0.0), ("leaked", 1.0)):
            # Generators in the same state give dots at the same positions.
            inputs[name] = add_class_dots(images, labels, rate, generator(0, "vision", "dots"))
    if recipe.setting in ("normal", "augmentation"):
        noise = generator(0, "vision", "augmented").standard_normal(images.shape)
        inputs["augmented"] = (images + recipe.options["augmentation"] * noise).astype(np.float32)
    if recipe.setting == "finetuned":
        for name, severity in product(IMAGE_CORRUPTIONS, corruption.SEVERITIES):
            random = generator(0, "vision", "corruption", name, severity)
            variant = corrupt_images(images[:, 0], name, severity, random)
            inputs[f"{name}/{severity}"] = _as_channels(variant)
    return {name: (values, labels) for name, values in inputs.items()}


def run(
    model: Any, recipe: Recipe, inputs: np.ndarray
) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return the layers, by pooling and name, (n, features), and the logits (n, classes) of images
    ``inputs``, (n, 3, 8, 8).

    Maps, after the ReLU, are averaged over the positions, pooling "mean"; CLS tokens have the
    pooling "cls". The last layer is the input of the linear classifier. ReSi keeps 7 x 7 positions
    per map, before the ReLU; means before the ReLU would be linear and contain little more than the
    mean colour of an image. The embedding of the transformer is left out, because the CLS token of
    the embedding is constant.
    """
    outputs = networks.run_small_network(
        recipe.architecture, model, import_optional("torch").from_numpy(inputs)
    )
    layers = {
        name: (values.mean((2, 3)) if values.ndim == 4 else values).numpy().copy()
        for name, values in outputs.items()
    }
    logits = layers.pop("logits")
    return {SMALL_IMAGE_POOLING[recipe.architecture]: layers}, logits


def build(recipe: Recipe) -> Any:
    """Return the untrained network of a recipe, with weights from PyTorch's random state."""
    return networks.build_small_network(recipe.architecture, recipe.options)


def head_of(recipe: Recipe) -> str:
    """Return the prefix of the weight names of the last layer."""
    return "head."


# --------------------------------------------------------------------------------------------- data


def digit_task(recipe: Recipe) -> DigitSplit:
    """Return the task of a recipe, images (n, 3, 8, 8), with the same split for all seeds."""
    options = recipe.options
    if recipe.setting in TRANSFER_SETTINGS:
        return _digit_transfer_task(recipe)
    split, n = split_digits(options["test"]), options["train"]
    train_images = _noisy_color_images(split.train[:n], options["noise"], "train")
    test_images = _noisy_color_images(split.test, options["noise"], "test")
    return DigitSplit(train_images, split.train_labels[:n], test_images, split.test_labels)


def _digit_transfer_task(recipe: Recipe) -> DigitSplit:
    split = split_digits(1)  # all images, in the order of the benchmarks without transfer
    images = np.concatenate([split.test, split.train])[:, 0]
    labels = np.concatenate([split.test_labels, split.train_labels])
    is_pretrained = recipe.setting == "pretrained"
    rows = labels >= FIRST_PRETRAINING_DIGIT if is_pretrained else labels < FIRST_PRETRAINING_DIGIT
    test = N_HELD_OUT_IMAGES if is_pretrained else recipe.options["test"]
    images, labels = _as_channels(images[rows]), labels[rows] % FIRST_PRETRAINING_DIGIT
    if not 0 < test < len(images):
        raise ValueError(f"vision: test must be between 1 and {len(images) - 1}; got {test!r}")
    return DigitSplit(images[test:], labels[test:], images[:test], labels[:test])


def _as_channels(images: np.ndarray) -> np.ndarray:
    """Return gray images (n, height, width) as three equal channels, (n, 3, height, width), the
    input format of the networks."""
    return np.repeat(images[:, None], N_COLOR_CHANNELS, axis=1)


def _noisy_color_images(images: np.ndarray, deviation: float, part: str) -> np.ndarray:
    """Return gray images (n, 1, height, width) as three equal channels, (n, 3, height, width), with
    the fixed noise of the task.

    ``deviation``: the standard deviation of the noise. ``part``: "train" or "test", which have
    different noise.
    """
    noise = generator(0, "vision", "digits", part).standard_normal(images.shape)
    return np.repeat(images + deviation * noise, N_COLOR_CHANNELS, axis=1).astype(np.float32)


def digit_training_data(recipe: Recipe) -> tuple[np.ndarray, np.ndarray]:
    """Return the training images (n, 3, 8, 8) and labels (n,) of a recipe, after corruption."""
    split = digit_task(recipe)
    images, labels = split.train, split.train_labels
    random = generator(recipe.seed, "vision", recipe.name, "corruption")
    if recipe.setting == "labels":
        labels = redraw_labels(labels, recipe.strength, draw_any_class(N_DIGITS, random), random)
    if recipe.setting == "shortcut":
        images = add_class_dots(images, labels, recipe.strength, random)
    return images, labels


def add_class_dots(
    images: np.ndarray, labels: np.ndarray, rate: float, random: np.random.Generator
) -> np.ndarray:
    """Return a copy of images (n, 3, height, width) with a coloured square at a random position of
    every image. ``labels``: the classes, (n,).

    The hue shows a class; the hues of the classes are evenly spaced. With probability ``rate`` the
    square shows the class of the image, otherwise a class drawn uniformly from all classes,
    including the true class. At rate 0 the squares carry no information about the labels.
    """
    shown_classes = shortcut_labels(labels, rate, draw_any_class(N_DIGITS, random), random)
    tops, lefts = random.integers(IMAGE_SIDE - DOT_SIDE + 1, size=(2, len(images)))
    colors = class_hues(N_DIGITS).astype(np.float32)[shown_classes]
    result = images.copy()
    for image, color, top, left in zip(result, colors, tops, lefts):
        image[:, top : top + DOT_SIDE, left : left + DOT_SIDE] = color[:, None, None]
    return result
