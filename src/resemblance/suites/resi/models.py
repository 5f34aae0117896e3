"""The models that the ReSi suite trains: how many of which kind, and the recipe of each."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...subject import TRANSFER, Recipe

DOMAINS = ("graphs", "language", "vision")
# the data set of a domain, and what is trained on it
ARCHITECTURES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "graphs": ("stdlib", ("gcn", "sage", "gat", "pgnn")),
    "language": ("docstrings", ("bert", "albert", "llama")),
    "vision": ("digits", ("resnet", "vgg", "vit")),
}
EVERY = {
    "labels": (0.25, 0.5, 0.75, 1.0),
    "shortcut": (0.0, 0.25, 0.5, 0.75, 1.0),
    "augmentation": (0.25, 0.5, 0.75, 1.0),
}
EXTREMES = {"labels": (1.0,), "shortcut": (0.0, 1.0), "augmentation": (1.0,)}


@dataclass(frozen=True)
class TrainingPlan:
    """Which models are trained: ``seeds`` normal ones, and ``members`` per group and strength of
    the other settings."""

    name: str
    seeds: int
    members: int
    strengths: Mapping[str, Mapping[str, tuple[float, ...]]]


SIZES: Mapping[str, TrainingPlan] = {
    "slice": TrainingPlan("slice", 4, 2, dict.fromkeys(DOMAINS, EXTREMES)),
    "mini": TrainingPlan(
        "mini",
        10,
        5,
        {
            "graphs": {
                "labels": (0.25, 1.0),
                "shortcut": (0.0, 0.5, 1.0),
                "augmentation": (0.25, 1.0),
            },
            "language": {
                "labels": (0.75, 1.0),
                "shortcut": (0.0, 0.75, 1.0),
                "augmentation": (1.0,),
            },
            "vision": {
                "labels": (0.5, 0.75),
                "shortcut": (0.0, 0.75, 1.0),
                "augmentation": (0.25, 1.0),
            },
        },
    ),
    "standard": TrainingPlan("standard", 10, 5, dict.fromkeys(DOMAINS, EVERY)),
}


def recipes(size: str, domains: Sequence[str] = DOMAINS) -> tuple[Recipe, ...]:
    """Return the recipe of every model of a size of the suite, domain by domain.

    Raises ``ValueError`` for an unknown size or domain.
    """
    if size not in SIZES:
        raise ValueError(f"no size {size!r}; known: {', '.join(SIZES)}")
    for domain in domains:
        if domain not in DOMAINS:
            raise ValueError(f"no domain {domain!r}; known: {', '.join(DOMAINS)}")
    return tuple(
        recipe for domain in dict.fromkeys(domains) for recipe in _recipes(SIZES[size], domain)
    )


def source(domain: str, setting: str = "normal") -> Any:
    """Return the module that trains the models of a domain: ``fit(recipe)`` and ``extract(recipe,
    state)``.

    Pretrained and fine-tuned models have a module of their own, where ``fit(recipe, start)`` takes
    the weights of the pretrained model too.
    """
    return importlib.import_module(
        f"resemblance.sources.trained.{domain}.{'transfer' if setting in TRANSFER else 'train'}"
    )


def _recipes(plan: TrainingPlan, domain: str) -> Iterator[Recipe]:
    module, (dataset, architectures) = source(domain), ARCHITECTURES[domain]
    for architecture in architectures:
        options = module.OPTIONS[plan.name].get(architecture)
        if options is None:
            continue
        for setting, strength, count in _settings(plan, domain, architecture):
            for seed in range(count):
                yield Recipe(
                    domain, dataset, architecture, setting, strength, seed, options, module.VERSION
                )


def _settings(
    plan: TrainingPlan, domain: str, architecture: str
) -> Iterable[tuple[str, float, int]]:
    """Yield setting, strength and number of models."""
    yield "normal", 0.0, plan.seeds
    if domain == "graphs" and architecture != "pgnn":
        yield "layers", 0.0, plan.seeds
    for setting, strengths in plan.strengths[domain].items():
        # a P-GNN has no edges to drop: its input is distances
        if (architecture, setting) != ("pgnn", "augmentation"):
            yield from ((setting, strength, plan.members) for strength in strengths)
