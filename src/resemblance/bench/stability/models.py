"""The trained models of the stability suite, by size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import NamedTuple

from resemblance.base.text import check_choice
from resemblance.models.recipe import Recipe

from ..training import DOMAINS, recipes


class StabilityPlan(NamedTuple):
    """The models of the ReSi suite to train: the size of the ReSi suite (``suite``), the domains,
    and the number of seeds."""

    suite: str
    domains: tuple[str, ...]
    seeds: int


STABILITY_PLANS: Mapping[str, StabilityPlan] = {
    "small": StabilityPlan("slice", ("vision",), 1),
    "default": StabilityPlan("mini", tuple(DOMAINS), 2),
    "paper": StabilityPlan("standard", tuple(DOMAINS), 3),
}


def stability_recipes(size: str) -> StabilityPlan:
    """Return the plan of a size; ``ValueError`` for an unknown size."""
    check_choice("size", size, STABILITY_PLANS)
    return STABILITY_PLANS[size]


def plain_models(size: str) -> list[Recipe]:
    """Return the recipes of the unperturbed models of a size that can be trained with the installed
    packages."""
    plan = stability_recipes(size)
    domains = [domain for domain in plan.domains if not missing_package(domain)]
    settings = [("normal", 0.0, plan.seeds)]
    return [recipe for domain in domains for recipe in recipes(domain, plan.suite, settings)]


def missing_package(domain: str) -> str:
    """Return the missing package that the models of a domain need, or ""."""
    packages = dict.fromkeys(("torch", DOMAINS[domain].needs.partition(".")[0]))
    return next((package for package in packages if find_spec(package) is None), "")


def untrainable_domains(domains: Iterable[str]) -> dict[str, str]:
    """Return, by "models of DOMAIN" for every domain without trainable models, the reason."""
    return {
        f"models of {d}": f"{package} is not installed"
        for d in domains
        if (package := missing_package(d))
    }


def domain_and_architecture(name: str) -> str:
    """Return the domain and architecture, which comparable models share: "vision/resnet" for
    "vision/digits/resnet/..."."""
    domain, _, architecture, *_ = name.split("/")
    return f"{domain}/{architecture}"
