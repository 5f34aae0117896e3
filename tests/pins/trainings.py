"""Digests of the weights that recipes train to: of every architecture, and of every setting once a
domain, in a few steps on little data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from factories import graph_data, image_data, text_data

from resemblance.bench import training
from resemblance.bench.sensitivity.models import sensitivity_recipes
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe

Weights = Mapping[str, np.ndarray]
FEW: Mapping[str, dict[str, Any]] = {
    "graphs": {"test": 100, "hidden": 16, "epochs": 3},
    "language": {"packages": 3, "train": 100, "test": 60, "tokens": 12, "width": 16, "epochs": 1}
    | {"inner": 32, "layers": 2},
    "vision": {"train": 100, "test": 60, "epochs": 1, "batch": 25, "width": 8, "blocks": 2},
}
REDUCED: Mapping[str, dict[str, Any]] = {"vision": {"most": 40, "batch": 16}}


def weights(scratch: Path) -> dict[str, Any]:
    """The digest of the weights of each recipe, and their norm, which other machines reach too."""
    models = {**dict(_packaged()), **dict(_transferred()), **dict(_published(scratch))}
    return {
        "digests": {name: digest(state) for name, state in models.items()},
        "norms": {name: norm(state) for name, state in models.items()},
    }


def digest(state: Weights) -> str:
    content = hashlib.sha256()
    for name in sorted(state):
        content.update(f"{name} {state[name].dtype} {state[name].shape}".encode())
        content.update(np.ascontiguousarray(state[name]).tobytes())
    return content.hexdigest()


def norm(state: Weights) -> float:
    return float(np.sqrt(sum(np.square(x.astype(np.float64)).sum() for x in state.values())))


def _packaged() -> Iterator[tuple[str, Weights]]:
    for domain, about in training.DOMAINS.items():
        trainer = training.domain_module(domain)
        settings = {"normal": 0.0, **{name: of[0] for name, of in about.strengths.items()}}
        settings["shortcut"] = about.strengths["shortcut"][1]
        for architecture in about.architectures:
            options = trainer.OPTIONS["standard"][architecture] | FEW[domain]
            for setting, strength in {"layers": 0.0, **settings}.items():
                if architecture in about.only.get(setting, about.architectures):
                    which = (domain, about.dataset, architecture, setting, strength)
                    recipe = Recipe(*which, 0, options, trainer.VERSION)
                    yield recipe.name, training.fit(recipe)


def _transferred() -> Iterator[tuple[str, Weights]]:
    for domain in training.DOMAINS:
        child = next(r for r in sensitivity_recipes("small", [domain]) if r.setting == "finetuned")
        parent = child.parent
        state = training.fit(parent)
        yield parent.name, state
        yield child.name, training.fit(child, start=state)


def _published(folder: Path) -> Iterator[tuple[str, Weights]]:
    """Recipes of the paper at reduced size, on made data in the layout of the real ones."""
    graph_data.write_all(folder)
    text_data.write_all(folder)
    image_data.make_cifar100(folder)
    image_data.make_imagenet100(folder)
    for architecture in ("vit-b32", "vit-l32"):
        image_data.make_vit(folder, architecture, layers=4)
    resources = TrainingEnvironment(folder, device="cpu")
    seen = set()
    for dataset, about in training.DATASETS.items():
        trainer = training.dataset_module(dataset, "paper")
        for architecture, facts in about.architectures.items():
            strengths = {name: of[0] for name, of in facts.strengths.items()}
            options = trainer.options(dataset, architecture, "resi-code", True)
            options |= REDUCED.get(about.domain, {})
            for setting, strength in {"normal": 0.0, **strengths}.items():
                new = {(about.domain, architecture), (about.domain, setting)} - seen
                if new:
                    seen |= new
                    which = (about.domain, dataset, architecture, setting, strength)
                    recipe = Recipe(*which, 0, options, trainer.VERSION)
                    yield recipe.name, training.fit(recipe, resources)
