"""Image classifiers trained on hard handwritten digits, plain or with a known influence.

Small networks after those of ReSi (Klabunde et al., ICLR 2025), for images that need no download.
A recipe describes the training of one model; :func:`fit` trains it and :func:`extract` runs it on
the fixed inputs of the benchmark. The digits of scikit-learn are 8 x 8 pixels and too easy:
networks make hardly any mistakes, and all make the same ones. So noise that never changes is part
of the task, and there are few training images.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ....rng import generator
from ....subject import Extraction, Recipe
from ..common import State, accuracy, load_state, seeded, state_of
from ..digits import Split, split_digits
from .models import CHANNELS, CLASSES, POOLING, SIDE, build, forward, learn

VERSION = 1
DOT = 3  # side of the square that gives the class away, in pixels
SETTINGS = ("normal", "labels", "shortcut", "augmentation")

# train, test: images; noise: standard deviation of the noise in the task, augmentation: of that of
# strength 1, both on the scale where paper is 0 and ink 1; warmup: share of the steps. The others
# are sizes of the network and of training.
_MINI = {"train": 500, "test": 500, "noise": 0.3, "augmentation": 2.0}
_STANDARD = {"train": 797, "test": 1000, "noise": 0.3, "augmentation": 2.0}
_SGD = {"optimizer": "sgd", "lr": 0.1, "warmup": 0.0, "weight_decay": 5e-4}
_ADAM = {"optimizer": "adamw", "lr": 2e-3, "warmup": 0.1, "weight_decay": 0.1}

_TINY = {"train": 200, "test": 100, "epochs": 8, "batch": 25, "width": 8, "stages": 2, "blocks": 2}
_SMALL = {"epochs": 20, "batch": 50, "width": 16, "stages": 3, "blocks": 2}
_LARGE = {"epochs": 40, "batch": 50, "width": 24, "stages": 3, "blocks": 2}
_VIT = {"epochs": 30, "batch": 50, "width": 32, "blocks": 5, "heads": 4}

OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "slice": {"resnet": _SGD | _MINI | _TINY},
    "mini": {"resnet": _SGD | _MINI | _SMALL},
    "standard": {
        "resnet": _SGD | _STANDARD | _LARGE,
        "vgg": _SGD | _STANDARD | _LARGE | {"augmentation": 1.6, "lr": 0.05},
        "vit": _ADAM | _STANDARD | _VIT | {"augmentation": 1.2},
    },
}
DEEP: dict[str, dict[str, Any]] = {  # one architecture with many layers, by size
    "small": OPTIONS["slice"]["resnet"] | {"width": 4, "epochs": 1, "test": 120},
    "default": OPTIONS["mini"]["resnet"] | {"blocks": 4, "width": 8, "epochs": 10},
}


def fit(recipe: Recipe) -> State:
    """Train the model of a recipe and return its weights by name.

    Training minimises cross-entropy with a learning rate that rises over a first share of the steps
    and then falls to zero as a cosine. Initial weights, order, corruption and noise depend on the
    whole name of the model, so that two models share nothing but the task.

    - ``"normal"``: the task as it is.
    - ``"labels"``: the label of each training image is replaced, independently with probability
      ``strength``, by one drawn uniformly from all classes; see :func:`random_labels`.
    - ``"shortcut"``: each training image gets a coloured dot, of the colour of its class with
      probability ``strength``; see :func:`with_dots`. The dots of a model are drawn once.
    - ``"augmentation"``: Gaussian noise with standard deviation ``strength *
      options["augmentation"]`` is added to the training images, anew in each epoch.

    As in ReSi's vision models, except that those share their dots. ReSi draws the variance of the
    noise for each image; here it is fixed, so that a strength means one thing. Needs the extra
    ``torch``.

    Raises ``ValueError`` for a recipe of another kind, and for options that are missing or do not
    fit the data.
    """
    _check(recipe)
    images, labels = _training_data(recipe)
    with seeded(recipe.seed, "vision", recipe.name) as torch:
        model = build(recipe.architecture, recipe.options)
        noise = 0.0
        if recipe.setting == "augmentation":
            noise = recipe.strength * recipe.options["augmentation"]
        learn(torch, recipe.architecture, model, images, labels, recipe.options, noise)
    return state_of(model)


def extract(recipe: Recipe, state: State) -> Extraction:
    """Return the outputs of a trained model and of its layers for the test images.

    The test images are the same, in the same order, for all models; those of shortcut models also
    have dots of random colours, the same for all of them, because in training these models never
    saw an image without a dot. Maps, after the ReLU, are averaged over the positions, pooling
    "mean"; CLS tokens have the pooling "cls". The last layer is the input of the linear classifier.

    ``accuracies``: ``"test"`` is measured on these images and true labels. Normal and augmentation
    models also have ``"augmented"``, on the same images with noise of strength 1, and shortcut
    models ``"leaked"``, with dots at the same places in the colours of the true classes.

    ReSi keeps 7 x 7 positions per map, and takes them before the ReLU; means of linear outputs
    would say little more than the mean colour of an image. The embedding of the transformer is left
    out, because its CLS token is constant.

    Raises ``ValueError`` as :func:`fit` does.
    """
    _check(recipe)
    inputs, labels = _test_data(recipe)
    with seeded(recipe.seed, "vision", "extract") as torch, torch.no_grad():
        model = load_state(build(recipe.architecture, recipe.options), state)
        run = partial(forward, recipe.architecture, model)
        results = {name: run(torch.from_numpy(x)) for name, x in inputs.items()}
    logits = {name: outputs["logits"].numpy() for name, outputs in results.items()}
    accuracies = {name: accuracy(values, labels) for name, values in logits.items()}
    layers = {name: pooled(values) for name, values in results["test"].items()}
    outputs = layers.pop("logits")
    return Extraction({POOLING[recipe.architecture]: layers}, outputs, labels, accuracies)


# --------------------------------------------------------------------------------------------- data


def random_labels(labels: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Return labels, each drawn anew from all classes with probability ``share``.

    The true class may be drawn again, as in ReSi, so that labels of share 1 carry no information.
    Without it, they would still tell what an image is not.
    """
    replaced = random.random(len(labels)) < share
    return np.where(replaced, random.integers(CLASSES, size=len(labels)), labels)


def with_dots(
    images: np.ndarray, labels: np.ndarray, rate: float, random: np.random.Generator
) -> np.ndarray:
    """Return images (n, 3, height, width) with a coloured square at a random place of each.

    Its hue is that of a class, evenly spaced: with probability ``rate`` the class of the image,
    else one drawn uniformly from all classes, the true one among them. At a rate of 0 the dots
    carry no information about the labels.
    """
    n = len(images)
    leaks = random.random(n) < rate
    hints = np.where(leaks, labels, random.integers(CLASSES, size=n))
    tops, lefts = random.integers(SIDE - DOT + 1, size=(2, n))
    colours = np.array([colorsys.hsv_to_rgb(k / CLASSES, 1, 1) for k in range(CLASSES)], np.float32)
    result = images.copy()
    for image, colour, top, left in zip(result, colours[hints], tops, lefts):
        image[:, top : top + DOT, left : left + DOT] = colour[:, None, None]
    return result


def _task(options: Mapping[str, Any]) -> Split:
    split, n = split_digits(options["test"]), options["train"]
    train = _noisy(split.train[:n], options["noise"], "train")
    test = _noisy(split.test, options["noise"], "test")
    return Split(train, split.train_labels[:n], test, split.test_labels)


def _noisy(images: np.ndarray, deviation: float, part: str) -> np.ndarray:
    """Return gray images as three equal channels with the noise that belongs to the task."""
    noise = generator(0, "vision", "digits", part).standard_normal(images.shape)
    return np.repeat(images + deviation * noise, CHANNELS, axis=1).astype(np.float32)


def _training_data(recipe: Recipe) -> tuple[np.ndarray, np.ndarray]:
    split = _task(recipe.options)
    images, labels = split.train, split.train_labels
    random = generator(recipe.seed, "vision", recipe.name, "corruption")
    if recipe.setting == "labels":
        labels = random_labels(labels, recipe.strength, random)
    if recipe.setting == "shortcut":
        images = with_dots(images, labels, recipe.strength, random)
    return images, labels


def _test_data(recipe: Recipe) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the test images and their variants, by the names of the accuracies, and the labels."""
    split = _task(recipe.options)
    images, labels = split.test, split.test_labels
    if recipe.setting == "shortcut":
        # Generators in the same state, so that the dots are at the same places
        random, same_random = generator(0, "vision", "dots"), generator(0, "vision", "dots")
        without_class = with_dots(images, labels, 0.0, random)
        with_class = with_dots(images, labels, 1.0, same_random)
        return {"test": without_class, "leaked": with_class}, labels
    inputs = {"test": images}
    if recipe.setting != "labels":
        noise = generator(0, "vision", "augmented").standard_normal(images.shape)
        inputs["augmented"] = (images + recipe.options["augmentation"] * noise).astype(np.float32)
    return inputs, labels


def pooled(values: Any) -> np.ndarray:
    """Return maps averaged over positions, or tokens as they are, as an array (n, features)."""
    return (values.mean((2, 3)) if values.ndim == 4 else values).numpy().copy()


# ----------------------------------------------------------------------------------------- checking


def _check(recipe: Recipe) -> None:
    allowed: dict[str, tuple[str, ...]] = {"domain": ("vision",), "dataset": ("digits",)}
    allowed |= {"architecture": tuple(POOLING), "setting": SETTINGS}
    for name, values in allowed.items():
        value, listed = getattr(recipe, name), ", ".join(map(repr, values))
        if value not in values:
            raise ValueError(f"vision: {name} must be one of {listed}; got {value!r}")
    if not 0 <= recipe.strength <= 1:
        raise ValueError(f"vision: strength must be between 0 and 1; got {recipe.strength}")
    _check_options(recipe.architecture, recipe.options)


def _check_options(architecture: str, options: Mapping[str, Any]) -> None:
    absent = ", ".join(sorted(OPTIONS["standard"][architecture].keys() - options.keys()))
    if absent:
        example = f'start from OPTIONS["standard"][{architecture!r}]'
        raise ValueError(f"vision: options for {architecture!r} lack {absent}; {example}")
    check_network(options)
    most = 1797 - options["test"]
    if not 0 < options["train"] <= most:
        raise ValueError(
            f"vision: train must be between 1 and the {most} images not tested; got "
            f"{options['train']}"
        )


def check_network(options: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for an unknown optimizer, and for more stages than images allow."""
    if options["optimizer"] not in ("sgd", "adamw"):
        raise ValueError(
            f"vision: optimizer must be 'sgd' or 'adamw'; got {options['optimizer']!r}"
        )
    if options.get("stages", 1) > 3:
        raise ValueError(
            f"vision: 8 x 8 images can be halved for at most 3 stages; got {options['stages']}"
        )
