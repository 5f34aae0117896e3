"""Image classifiers pretrained on some digits and fine-tuned on a few examples of others.

Models fine-tuned from the same weights agree on the digits as they are, and differ on corrupted
ones: what the benchmark of Ding et al. (NeurIPS 2021) asks representations to show.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ....rng import generator
from ....subject import Extraction, Recipe
from ..common import (
    SEVERITIES,
    State,
    accuracy,
    begin,
    check_transfer,
    examples,
    load_state,
    seeded,
    state_of,
    with_means,
)
from . import packaged as vision
from .digits import split_digits
from .networks import CHANNELS, POOLING, build, forward, learn
from .shifts import CORRUPTIONS, corrupt

VERSION = 2
FIRST = 5  # digits before this one are for fine-tuning, the others for pretraining
HELD_OUT = 150  # images of the pretraining digits that its accuracy is measured on

_RESNET = {"classes": 5, "test": 500, "width": 8, "stages": 3, "blocks": 2}
_SGD = {"optimizer": "sgd", "warmup": 0.0, "weight_decay": 5e-4}
_PRETRAINING: dict[str, Any] = _RESNET | _SGD | {"lr": 0.1, "epochs": 8, "batch": 50}
_FINETUNING: dict[str, Any] = _RESNET | _SGD | {"lr": 0.05, "epochs": 8, "batch": 25, "shots": 50}
_SMALL = {"test": 120, "width": 4, "stages": 2, "blocks": 1, "epochs": 1}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "small": {"resnet": _FINETUNING | _SMALL | {"shots": 10, "pretraining": _PRETRAINING | _SMALL}},
    "default": {"resnet": _FINETUNING | {"pretraining": _PRETRAINING}},
}


class ImageTransfer(NamedTuple):
    """Gray images (n, 8, 8) to train with and to test on, with labels from 0."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def fit(recipe: Recipe, start: State | None = None) -> State:
    """Train the model of a recipe and return its weights by name.

    - ``"pretrained"``: random weights learn to classify the digits 5 to 9, from all their images
      but 150.
    - ``"finetuned"``: ``start``, the weights of ``recipe.parent``, gets a new head and learns to
      classify the digits 0 to 4, from ``shots`` images of each; all weights are trained. The
      images, the initial head and the order depend on ``recipe.seed`` alone, so models of one seed
      share them, whatever was pretrained.

    Options: those of :data:`.vision.OPTIONS` without ``train``, ``noise`` and ``augmentation``,
    with ``classes`` (5); fine-tuning also has ``shots`` and ``pretraining``, the options of the
    parent. The task has no noise, unlike that of :mod:`.vision`: models that learned to ignore
    noise differ less on corrupted images. Needs the extra ``torch``.

    Raises ``ValueError`` for a recipe of another kind, for options that are missing or do not fit
    the data, and for a ``start`` that is missing or of another network.
    """
    task = _task(recipe)
    images, labels = _channels(task.train), task.train_labels
    if recipe.setting == "pretrained":
        with seeded(recipe.seed, "vision", recipe.name) as torch:
            model = build(recipe.architecture, recipe.options)
            learn(torch, recipe.architecture, model, images, labels, recipe.options)
        return state_of(model)
    random = generator(recipe.seed, "vision", "finetuned", "examples")
    rows = examples(labels, recipe.options["shots"], recipe.options["classes"], random)
    with seeded(recipe.seed, "vision", "finetuned", recipe.architecture) as torch:
        model = begin(recipe, build(recipe.architecture, recipe.options), start, "head.")
        learn(torch, recipe.architecture, model, images[rows], labels[rows], recipe.options)
    return state_of(model)


def extract(recipe: Recipe, state: State) -> Extraction:
    """Return the outputs of a trained model and of its layers for the test images.

    Layers are for the test images as they are (in distribution), the same for all fine-tuned
    models: maps averaged over the positions ("mean") or CLS tokens ("cls"), in order, the last the
    input of the classifier. Those of a pretrained model are for the held-out images of its digits.

    ``accuracies`` of fine-tuned models: ``"test"`` on these images; ``"<corruption>/<severity>"``
    on the same images after each of :data:`.corruptions.CORRUPTIONS`, drawn once for all models;
    ``"<corruption>"``, the mean over its severities; ``"shift"``, the mean over all corruptions. A
    pretrained model has ``"test"`` only.

    Raises ``ValueError`` as :func:`fit` does.
    """
    task, accuracies, layers = _task(recipe), {}, {}
    inputs = {"test": task.test}
    if recipe.setting == "finetuned":
        inputs |= _shifted(task.test)
    with seeded(recipe.seed, "vision", "extract") as torch, torch.no_grad():
        model = load_state(build(recipe.architecture, recipe.options), state)
        for name, images in inputs.items():
            outputs = forward(recipe.architecture, model, torch.from_numpy(_channels(images)))
            accuracies[name] = accuracy(outputs["logits"].numpy(), task.test_labels)
            if name == "test":
                layers = {layer: vision.pooled(values) for layer, values in outputs.items()}
    logits = layers.pop("logits")
    accuracies = with_means(accuracies) if recipe.setting == "finetuned" else accuracies
    return Extraction({POOLING[recipe.architecture]: layers}, logits, task.test_labels, accuracies)


def _shifted(images: np.ndarray) -> dict[str, np.ndarray]:
    variants = {}
    for name, severity in product(CORRUPTIONS, SEVERITIES):
        random = generator(0, "vision", "corruption", name, severity)
        variants[f"{name}/{severity}"] = corrupt(images, name, severity, random)
    return variants


def _task(recipe: Recipe) -> ImageTransfer:
    """Return the task of a valid recipe, with one split for all seeds."""
    _check(recipe)
    split = split_digits(1)  # all images, in the order of the other benchmarks
    images = np.concatenate([split.test, split.train])[:, 0]
    labels = np.concatenate([split.test_labels, split.train_labels])
    is_pretrained = recipe.setting == "pretrained"
    rows = labels >= FIRST if is_pretrained else labels < FIRST
    test = HELD_OUT if is_pretrained else recipe.options["test"]
    images, labels = images[rows], labels[rows] % FIRST
    if not 0 < test < len(images):
        raise ValueError(f"vision: test must be between 1 and {len(images) - 1}; got {test!r}")
    return ImageTransfer(images[test:], labels[test:], images[:test], labels[:test])


def _channels(images: np.ndarray) -> np.ndarray:
    """Return gray images as three equal channels, which the networks take."""
    return np.repeat(images[:, None], CHANNELS, axis=1)


def _check(recipe: Recipe) -> None:
    allowed = {"domain": ("vision",), "dataset": ("digits",), "architecture": tuple(POOLING)}
    check_transfer(recipe, allowed, OPTIONS["default"]["resnet"])
    vision.check_network(recipe.options)
    if recipe.options["classes"] != FIRST:
        raise ValueError(f"vision: classes must be {FIRST}; got {recipe.options['classes']!r}")
