"""Folders of models, as someone writes them who brings models of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from resemblance.data.model_features import ModelFeatures

SAMPLES, LAYERS, WIDTH = 108, 4, 8
LABELS = np.arange(SAMPLES) % 3


def write_model(
    folder: Path,
    layers: Mapping[str, Any],
    traits: Mapping[str, Any],
    labels: np.ndarray | None = LABELS,
) -> None:
    """Write arrays and traits, no more; by default of a model of "made/known/line"."""
    folder.mkdir(parents=True)
    for name, x in layers.items():
        np.save(folder / f"{name}.npy", x)
    if labels is not None:
        np.save(folder / "labels.npy", labels)
    kind = {"domain": "made", "dataset": "known", "architecture": "line"}
    (folder / "traits.json").write_text(json.dumps({**kind, "layers": list(layers), **traits}))


def write_models(folder: Path, model_features: Iterable[ModelFeatures]) -> Path:
    """Write the layers, outputs and traits of models, and return the folder."""
    for position, features in enumerate(model_features):
        layers = {name: np.asarray(layer.source) for name, layer in features.layers.items()}
        outputs = {} if features.outputs is None else {"outputs": features.outputs}
        traits = {k: v for k, v in features.traits.items() if k != "pooling"}
        traits["layers"] = list(layers)
        write_model(folder / f"model{position:02}", layers | outputs, traits, labels=None)
    return folder


def turned(random: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return x @ np.linalg.qr(random.standard_normal((x.shape[1],) * 2))[0]


def normal(seed: int) -> dict[str, np.ndarray]:
    """Layers that tell classes apart better and better, in a space that every seed turns as it
    likes."""
    random, common = np.random.default_rng(seed), np.random.default_rng(99)
    noise, classes = common.standard_normal((LAYERS, SAMPLES, WIDTH)), 2 * np.eye(3, WIDTH)[LABELS]
    return {
        f"block{i}": turned(
            random, noise[i] + i * classes + 0.05 * random.standard_normal((SAMPLES, WIDTH))
        )
        for i in range(LAYERS)
    }


def finetuned(pretrain: int, seed: int, hidden: float) -> dict[str, np.ndarray]:
    """Layers that go from one place to another as a hidden number grows from 0 to 1."""
    start, end = np.random.default_rng(1).standard_normal((2, SAMPLES, WIDTH))
    random = np.random.default_rng([pretrain, seed])
    angle = np.pi / 2 * hidden
    place = np.cos(angle) * start + np.sin(angle) * end
    return {
        f"block{i}": turned(random, place + 0.01 * random.standard_normal(start.shape))
        for i in range(2)
    }


def write_finetuned(folder: Path, accuracies: Iterable[Mapping[str, float]], **traits: Any) -> Path:
    """Write a fine-tuned model for each entry, with these accuracies on other inputs."""
    accuracies = list(accuracies)
    for seed, by_input in enumerate(accuracies):
        kind = {"setting": "finetuned", "seed": seed, "accuracies": by_input, **traits}
        write_model(folder / f"m{seed}", finetuned(0, seed, seed / len(accuracies)), kind)
    return folder
