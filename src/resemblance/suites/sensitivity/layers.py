"""Benchmark 1: random starts and layer depth, against what a probe reads off a layer (and Figure
1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...results.values import known
from ...subject import Subject
from .grading import Design, Graded, Set
from .operators import depth_of
from .probes import probed
from .probing import class_numbers, divisions
from .settings import PAPER, Size
from .subjects import same_layers, shape_of

NAME, TITLE = "layers", "Benchmark 1: random starts and layers"
ABOUT = (
    "Every layer of every model trained from another random start is one representation; what it "
    "can do is the accuracy of a linear probe. From the layer that does best, distances should "
    "grow as probes get worse: small between seeds, large between layers. Layers of a model share "
    "its seed, so pairs are not independent, and layers are not exchangeable: depth is the same "
    "in all models. Permuted p-values exchange whole seeds and leave layers where they are, so "
    "that they say whether distances follow what seeds differ in, beyond depth."
)


def choose(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the normal models, if their labels are known and their layers can be told apart."""
    normal = tuple(s for s in subjects if s.traits["setting"] == "normal")
    if len(normal) < 2:
        return f"{len(normal)} models of the setting 'normal'; at least 2 seeds are needed"
    if any(s.labels is None for s in normal):
        return "labels for the probes are unknown: labels.npy is missing"
    for s in normal:
        try:
            divisions(class_numbers(labels_of(s)))
        except ValueError as error:
            return f"{s.name}: {error}"
    if not same_layers(normal) or len(normal[0].layers) < 3:
        return "the models need the same three or more layers"
    return normal


def sets(subjects: Sequence[Subject], folder: Path, size: Size) -> tuple[dict[str, Set], Design]:
    """Return all layers of all models as one set."""
    pairs = [(s, name) for s in subjects for name in s.layers]
    columns = {
        f"{s.name}/{name}": shape_of(s.layers[name].source, f"{s.name}/{name}", size.samples)
        for s, name in pairs
    }
    f = np.array([probed(folder, s.layers[name], labels_of(s), size.splits) for s, name in pairs])
    seeds, layers = tuple(s.name for s, _ in pairs), tuple(name for _, name in pairs)
    return {"all": Set(columns, tuple(range(len(pairs))), {"probe": f})}, Design(
        {"blocks": seeds}, {"within": (seeds, layers)}
    )


def extra(sets: Mapping[str, Set], found: Graded) -> dict[str, Any]:
    """Return how specific every measure is to depth, and Figure 1 for the measures of the paper."""
    names = list(sets["all"].columns)
    layers = list(dict.fromkeys(name.rpartition("/")[2] for name in names))
    seeds = len(names) // len(layers)
    accuracy = sets["all"].functionality["probe"].reshape(seeds, len(layers))
    depths = {
        spec: depth_of(spec, d.reshape(seeds, len(layers), seeds, len(layers)))
        for spec, d in found.differences["all"].items()
        if spec not in found.numbers["silent"]
    }
    middle = len(layers) // 2
    return {
        "layers": layers,
        "probe": accuracy.mean(axis=0).tolist(),
        "middle": middle,
        "exceeding": {spec: [known(v) for v in d.exceeding] for spec, d in depths.items()},
        "zoom": {
            spec: {
                "within": [known(v) for v in d.within[middle]],
                "across": [known(v) for v in d.across[middle]],
            }
            for spec, d in depths.items()
            if spec in PAPER.values()
        },
    }


def labels_of(subject: Subject) -> np.ndarray:
    """Return the labels of a subject that was chosen because it has some."""
    if subject.labels is None:
        raise ValueError(f"{subject.name} has no labels")
    return subject.labels
