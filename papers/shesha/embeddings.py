"""Layers of deep models as embeddings that statistics are taken of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from resemblance.representation import Representation
from resemblance.sources.recipe import Recipe
from resemblance.suites.experiments import RunConfig
from resemblance.suites.stability.models import models_of, subjects


def deep_models(config: RunConfig) -> Sequence[Recipe]:
    """Return the recipes of models with several layers.

    Of graphs the deeper networks, of which only layers differ.
    """
    return [
        r
        for r in models_of(config, ("normal", "layers"))
        if r.domain != "graphs" or r.setting == "layers"
    ]


def embeddings(
    config: RunConfig, recipe: Recipe
) -> Iterator[tuple[str, Representation, np.ndarray]]:
    """Yield every layer of a trained model under every pooling.

    Its name, its representation, the model's outputs.
    """
    for subject in subjects(config, recipe):
        assert subject.outputs is not None
        for layer, representation in subject.layers.items():
            yield f"{subject.traits['pooling']}/{layer}", representation, subject.outputs
