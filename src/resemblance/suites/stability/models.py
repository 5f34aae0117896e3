"""The trained models that experiments of the stability suite share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ...representation import Representation
from ...sources.folders import read_subject
from ...sources.trained import DOMAINS
from ...sources.trained.common import State
from ...subject import Recipe, Subject
from ..experiments import Part, Setting
from ..resi.tests import recipes
from ..training import NEEDS, place


class Plan(NamedTuple):
    """Which models of the ReSi suite are trained: of which of its sizes, in which domains, how many
    of each kind."""

    suite: str
    domains: tuple[str, ...]
    seeds: int


PLANS: Mapping[str, Plan] = {
    "small": Plan("slice", ("vision",), 1),
    "default": Plan("mini", DOMAINS, 2),
    "paper": Plan("standard", DOMAINS, 3),
}


def plan_of(size: str) -> Plan:
    """Return the plan of a size. Raises ``ValueError`` for one there is not."""
    if size not in PLANS:
        raise ValueError(f"no size {size!r}; known: {', '.join(PLANS)}")
    return PLANS[size]


def plain_models(setting: Setting) -> Sequence[Recipe]:
    """Return the recipes of the models that nothing was done to."""
    return _of(setting, ("normal",))


def deep_models(setting: Setting) -> Sequence[Recipe]:
    """Return the recipes of models with several layers: of graphs the deeper networks, of which
    only layers differ."""
    return [
        r
        for r in _of(setting, ("normal", "layers"))
        if r.domain != "graphs" or r.setting == "layers"
    ]


def _of(setting: Setting, kinds: Sequence[str]) -> list[Recipe]:
    plan = plan_of(setting.size)
    there = [domain for domain in plan.domains if not missing(domain)]
    return (
        [r for r in recipes(plan.suite, there) if r.setting in kinds and r.seed < plan.seeds]
        if there
        else []
    )


def missing(domain: str) -> str:
    """Return the package that the models of a domain need and that is not installed; "" when all
    are."""
    needed = dict.fromkeys(("torch", NEEDS[domain].partition(".")[0]))
    return next((package for package in needed if find_spec(package) is None), "")


def absent(domains: Iterable[str]) -> dict[str, str]:
    """Return the domains whose models cannot be trained here, and why."""
    return {
        f"models of {d}": f"{package} is not installed" for d in domains if (package := missing(d))
    }


def absent_of(setting: Setting) -> dict[str, str]:
    """Return the domains that a run leaves out, and why."""
    return absent(plan_of(setting.size).domains)


def names_of(recipe: Recipe) -> dict[str, Any]:
    """Return a model as a part names it: by name and fingerprint of its recipe."""
    return {"model": recipe.name, "recipe": recipe.fingerprint}


def recipe_of(setting: Setting, part: Part) -> Recipe:
    """Return the recipe of the model that a part is about."""
    return next(r for r in _of(setting, ("normal", "layers")) if r.name == part["model"])


def family(name: str) -> str:
    """Return what models that may be compared have in common, "vision/resnet" of
    "vision/digits/resnet/..."."""
    domain, _, architecture, *_ = name.split("/")
    return f"{domain}/{architecture}"


def subjects(setting: Setting, recipe: Recipe) -> tuple[Subject, ...]:
    """Return the subjects, one per pooling, of a trained model."""
    return read_subject(place(setting.folder, recipe))


def weights(setting: Setting, recipe: Recipe) -> State:
    """Return the weights of a trained model."""
    with np.load(place(setting.folder, recipe) / "weights.npz", allow_pickle=False) as found:
        return dict(found)


def labels_of(setting: Setting, recipe: Recipe) -> np.ndarray:
    """Return the true classes of the inputs that a trained model was seen on."""
    found: np.ndarray = np.load(place(setting.folder, recipe) / "labels.npy", allow_pickle=False)
    return found


def embeddings(
    setting: Setting, recipe: Recipe
) -> Iterator[tuple[str, Representation, np.ndarray]]:
    """Yield every layer of a trained model under every pooling: its name, its representation, the
    model's outputs."""
    for subject in subjects(setting, recipe):
        assert subject.outputs is not None
        for layer, representation in subject.layers.items():
            yield f"{subject.traits['pooling']}/{layer}", representation, subject.outputs
