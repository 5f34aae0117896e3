"""What the settings do to classes and features, with the random numbers of the authors' code."""

from __future__ import annotations

import random

import numpy as np

from ....subject import Recipe
from .nodes import GraphData

SHOWN = 2024  # the seed of the classes that test nodes show in the setting "shortcut"


def training_labels(recipe: Recipe, data: GraphData) -> np.ndarray:
    """Return the labels of all nodes as a training sees them."""
    if recipe.setting != "labels":
        return data.labels
    return _shuffled(data.labels, recipe.strength, recipe.seed)


def shown_features(recipe: Recipe, data: GraphData) -> np.ndarray:
    """Return the features of all nodes, with the columns of the shortcut where there is one."""
    if recipe.setting != "shortcut":
        return data.x
    classes = data.labels.copy()
    for nodes in (data.train, data.validation):
        classes[nodes] = _shuffled(data.labels[nodes], 1 - recipe.strength, recipe.seed)
    classes[data.test] = _shuffled(data.labels[data.test], 1.0, SHOWN)
    return np.concatenate([data.x, np.eye(data.classes, dtype=np.float32)[classes]], axis=1)


def _shuffled(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return labels of which ``int(share * n)`` are another class, drawn as in the authors' code,
    with the random numbers of Python."""
    draws, result = random.Random(seed), labels.copy()
    classes = np.unique(labels).tolist()
    for i in draws.sample(range(len(labels)), k=int(share * len(labels))):
        others = [label for label in classes if label != labels[i]]
        result[i] = draws.sample(others, k=1)[0]
    return result
