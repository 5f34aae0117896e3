"""Small models that are trained on data of the package: one package, and one entry of ``DOMAINS``,
for each domain."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ...subject import TRANSFER, Recipe

Strengths = Mapping[str, tuple[float, ...]]  # by setting


class Domain(NamedTuple):
    """A domain: what is trained, on which data.

    Its package has the modules ``train``, for models that start from random weights, and
    ``transfer``, for pretrained and fine-tuned ones; see :func:`source`.

    ``dataset``: what all models are trained on. ``architectures``: those that exist, the usual
    first choice being ``chosen``, of which models are fine-tuned. ``needs``: the module that must
    be installed. ``strengths``: by setting, how much of it tells models apart at the size "mini".
    ``only``: by setting, the architectures that have it, where not all do.
    """

    package: str
    dataset: str
    architectures: tuple[str, ...]
    chosen: str
    needs: str
    strengths: Strengths
    only: Mapping[str, tuple[str, ...]] = {"layers": ()}


DOMAINS: Mapping[str, Domain] = {
    "graphs": Domain(
        f"{__name__}.graphs",
        "stdlib",
        ("gcn", "sage", "gat", "pgnn"),
        "sage",
        "torch_geometric.nn",
        {"labels": (0.25, 1.0), "shortcut": (0.0, 0.5, 1.0), "augmentation": (0.25, 1.0)},
        # A P-GNN has no edges to drop: its input is distances.
        {"layers": ("gcn", "sage", "gat"), "augmentation": ("gcn", "sage", "gat")},
    ),
    "language": Domain(
        f"{__name__}.language",
        "docstrings",
        ("bert", "albert", "llama"),
        "bert",
        "transformers",
        {"labels": (0.75, 1.0), "shortcut": (0.0, 0.75, 1.0), "augmentation": (1.0,)},
    ),
    "vision": Domain(
        f"{__name__}.vision",
        "digits",
        ("resnet", "vgg", "vit"),
        "resnet",
        "torch",
        {"labels": (0.5, 0.75), "shortcut": (0.0, 0.75, 1.0), "augmentation": (0.25, 1.0)},
    ),
}


def source(domain: str, setting: str = "normal") -> Any:
    """Return the module that trains the models of a domain: ``fit(recipe)`` and ``extract(recipe,
    state)``, with the tables ``OPTIONS``, by size and architecture, and ``VERSION``.

    Pretrained and fine-tuned models have a module of their own, where ``fit(recipe, start)`` takes
    the weights of the pretrained model too.
    """
    module = "transfer" if setting in TRANSFER else "train"
    return importlib.import_module(f"{DOMAINS[domain].package}.{module}")


def check_domains(domains: Iterable[str]) -> None:
    """Raise ``ValueError`` for a domain that does not exist."""
    for domain in domains:
        if domain not in DOMAINS:
            raise ValueError(f"no domain {domain!r}; known: {', '.join(DOMAINS)}")


def recipes(domain: str, size: str, plan: Iterable[tuple[str, float, int]]) -> Iterator[Recipe]:
    """Yield the recipes of a domain at a size of its ``OPTIONS``, architecture by architecture.

    ``plan``: settings with their strength and how many seeds they have; an architecture leaves out
    the settings that it does not have.
    """
    about, trainer, plan = DOMAINS[domain], source(domain), tuple(plan)
    for architecture in about.architectures:
        if architecture not in trainer.OPTIONS[size]:
            continue
        options = trainer.OPTIONS[size][architecture]
        for setting, strength, seeds in plan:
            if architecture not in about.only.get(setting, about.architectures):
                continue
            for seed in range(seeds):
                yield Recipe(
                    domain,
                    about.dataset,
                    architecture,
                    setting,
                    strength,
                    seed,
                    options,
                    trainer.VERSION,
                )
