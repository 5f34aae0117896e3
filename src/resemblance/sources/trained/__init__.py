"""Small models that are trained on data of the package, one package for each domain."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from ...subject import TRANSFER

DOMAINS = ("graphs", "language", "vision")
# The data set of a domain, and what is trained on it.
ARCHITECTURES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "graphs": ("stdlib", ("gcn", "sage", "gat", "pgnn")),
    "language": ("docstrings", ("bert", "albert", "llama")),
    "vision": ("digits", ("resnet", "vgg", "vit")),
}


def source(domain: str, setting: str = "normal") -> Any:
    """Return the module that trains the models of a domain: ``fit(recipe)`` and ``extract(recipe,
    state)``.

    Pretrained and fine-tuned models have a module of their own, where ``fit(recipe, start)`` takes
    the weights of the pretrained model too.
    """
    return importlib.import_module(
        f"resemblance.sources.trained.{domain}.{'transfer' if setting in TRANSFER else 'train'}"
    )
