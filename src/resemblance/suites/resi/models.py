"""The models that the ReSi suite trains: how many of which kind, and the recipe of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...sources import training
from ...sources.recipe import Recipe
from ...sources.training import DOMAINS

EVERY = {
    "labels": (0.25, 0.5, 0.75, 1.0),
    "shortcut": (0.0, 0.25, 0.5, 0.75, 1.0),
    "augmentation": (0.25, 0.5, 0.75, 1.0),
}
EXTREMES = {"labels": (1.0,), "shortcut": (0.0, 1.0), "augmentation": (1.0,)}


class TrainingPlan(NamedTuple):
    """Which models are trained.

    ``seeds`` normal ones, and ``members`` per group and strength of the other settings;
    ``strengths`` by domain.
    """

    seeds: int
    members: int
    strengths: Mapping[str, training.Strengths]


SIZES: Mapping[str, TrainingPlan] = {
    "slice": TrainingPlan(4, 2, dict.fromkeys(DOMAINS, EXTREMES)),
    "mini": TrainingPlan(10, 5, {name: domain.strengths for name, domain in DOMAINS.items()}),
    "standard": TrainingPlan(10, 5, dict.fromkeys(DOMAINS, EVERY)),
}


def recipes(size: str, domains: Sequence[str] = tuple(DOMAINS)) -> tuple[Recipe, ...]:
    """Return the recipe of every model of a size of the suite, domain by domain.

    Raises ``ValueError`` for an unknown size or domain.
    """
    if size not in SIZES:
        raise ValueError(f"no size {size!r}; known: {', '.join(SIZES)}")
    training.check_domains(domains)
    return tuple(
        recipe
        for domain in dict.fromkeys(domains)
        for recipe in training.recipes(domain, size, _settings(SIZES[size], domain))
    )


def _settings(plan: TrainingPlan, domain: str) -> Iterator[tuple[str, float, int]]:
    """Yield setting, strength and number of models."""
    yield "normal", 0.0, plan.seeds
    yield "layers", 0.0, plan.seeds
    for setting, strengths in plan.strengths[domain].items():
        yield from ((setting, strength, plan.members) for strength in strengths)
