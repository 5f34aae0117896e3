"""The trained models that experiments of the stability suite share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ...sources.model_folder import read_subject
from ...sources.recipe import Recipe
from ...sources.training import DOMAINS, recipes
from ...sources.training.loop import State
from ...subject import Subject
from ..experiments import Part, RunConfig
from ..training import model_folder


class Plan(NamedTuple):
    """Which models of the ReSi suite are trained: size, domains, and how many of each kind."""

    suite: str
    domains: tuple[str, ...]
    seeds: int


PLANS: Mapping[str, Plan] = {
    "small": Plan("slice", ("vision",), 1),
    "default": Plan("mini", tuple(DOMAINS), 2),
    "paper": Plan("standard", tuple(DOMAINS), 3),
}


def plan_of(size: str) -> Plan:
    """Return the plan of a size. Raises ``ValueError`` for one there is not."""
    if size not in PLANS:
        raise ValueError(f"no size {size!r}; known: {', '.join(PLANS)}")
    return PLANS[size]


def plain_models(config: RunConfig) -> Sequence[Recipe]:
    """Return the recipes of the models that nothing was done to; none where a pack has them."""
    if config.pinned:
        return []
    return models_of(config, ("normal",))


def models_of(config: RunConfig, kinds: Sequence[str]) -> list[Recipe]:
    """Return the recipes of some kinds ("normal", "layers") that can be trained here."""
    plan = plan_of(config.size)
    settings = [(kind, 0.0, plan.seeds) for kind in kinds]
    domains = [domain for domain in plan.domains if not missing(domain)]
    return [recipe for domain in domains for recipe in recipes(domain, plan.suite, settings)]


def missing(domain: str) -> str:
    """Return the package that the models of a domain need and that is not installed, or ""."""
    needed = dict.fromkeys(("torch", DOMAINS[domain].needs.partition(".")[0]))
    return next((package for package in needed if find_spec(package) is None), "")


def absent(domains: Iterable[str]) -> dict[str, str]:
    """Return the domains whose models cannot be trained here, and why."""
    return {
        f"models of {d}": f"{package} is not installed" for d in domains if (package := missing(d))
    }


def absent_of(config: RunConfig) -> dict[str, str]:
    """Return the domains that a run leaves out, and why."""
    if config.pinned:
        return {}
    return absent(plan_of(config.size).domains)


def names_of(recipe: Recipe) -> dict[str, Any]:
    """Return a model as a part names it: by name and fingerprint of its recipe."""
    return {"model": recipe.name, "recipe": recipe.fingerprint}


def recipe_of(config: RunConfig, part: Part) -> Recipe:
    """Return the recipe of the model that a part is about."""
    return next(r for r in models_of(config, ("normal", "layers")) if r.name == part["model"])


def family(name: str) -> str:
    """Return what comparable models share: "vision/resnet" of "vision/digits/resnet/..."."""
    domain, _, architecture, *_ = name.split("/")
    return f"{domain}/{architecture}"


def subjects(config: RunConfig, recipe: Recipe) -> tuple[Subject, ...]:
    """Return the subjects, one per pooling, of a trained model."""
    return read_subject(model_folder(config.folder, recipe))


def weights(config: RunConfig, recipe: Recipe) -> State:
    """Return the weights of a trained model."""
    with np.load(model_folder(config.folder, recipe) / "weights.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def labels_of(config: RunConfig, recipe: Recipe) -> np.ndarray:
    """Return the true classes of the inputs that a trained model was seen on."""
    return np.load(model_folder(config.folder, recipe) / "labels.npy", allow_pickle=False)
