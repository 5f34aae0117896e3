"""Copies of trained models for a pack: the arrays that a suite needs, of some samples, in some
precision."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..json_files import read_document
from ..results.result import Result
from ..rng import generator
from ..sources.model_folder import TRAITS
from ..sources.recipe import Recipe
from .training import model_folder

Layers = Mapping[str, list[str]]  # by pooling, in the order of the network
MODELS = "models"  # the folder of a pack with the models, as `read_subjects` reads them
FEWEST = 20


class Pinned(NamedTuple):
    """The content of a pack for its suite: a folder, what the suite noted of it, the name by which
    a study remembers it, and the SHA-256 of its manifest. ``with_intervals``: whether a run on it
    also computes what scores do not depend on, the intervals and p-values of single experiments."""

    folder: Path
    facts: Mapping[str, Any]
    identity: str
    manifest: str = ""
    with_intervals: bool = True

    def named(self, result: Result) -> Result:
        """Return the result of a run on this content with the name of the pack as its size."""
        about = {"pack": self.identity, "manifest": self.manifest}
        return replace(result, size=self.identity, provenance=about | dict(result.provenance))


class Reduction(NamedTuple):
    """How a pack is smaller than its study: fewer samples, the same for all models of a data set,
    and arrays in half precision."""

    samples: int | None = None
    half: bool = False

    def rows(self, dataset: str, n: int) -> np.ndarray:
        """Return which of n samples of a data set stay, in their order."""
        if self.samples is None or self.samples >= n:
            return np.arange(n)
        g = generator(0, "pack", dataset)
        return np.sort(g.permutation(n)[: self.samples])

    def array(self, values: np.ndarray, dataset: str) -> np.ndarray:
        """Return an array of samples with the rows and in the precision that stay."""
        chosen: np.ndarray = values[self.rows(dataset, len(values))]
        if self.half and chosen.dtype.kind == "f":
            chosen = chosen.astype(np.float16)
        return chosen


def check_reduction(reduction: Reduction) -> None:
    """Raise ``ValueError`` for what is no number of samples."""
    if reduction.samples is not None and reduction.samples < FEWEST:
        raise ValueError(
            f"a pack needs at least {FEWEST} samples of every model; got {reduction.samples}"
        )


def all_layers_of(traits: Mapping[str, Any]) -> Layers:
    """Return all layers of a model, by pooling."""
    return dict(traits["layers"])


def pin_model(
    study: Path,
    recipe: Recipe,
    pack: Path,
    reduction: Reduction,
    layers_of: Callable[[Mapping[str, Any]], Layers] = all_layers_of,
    **more: Any,
) -> None:
    """Copy a trained model into a pack, without weights and records.

    ``layers_of``: which layers stay, from the traits. ``more``: further traits. Accuracies remain
    those of all samples.

    Raises ``ValueError`` for a model that the study does not have.
    """
    source, target = model_folder(study, recipe), pack / MODELS / recipe.name
    if not (source / TRAITS).exists():
        raise ValueError(
            f"{study} lacks the model {recipe.name}: finish the study before packing it"
        )
    traits = read_document(source / TRAITS, dict, "an object of traits")
    layers = layers_of(traits)
    target.mkdir(parents=True)
    names = [f"{pooling}.{layer}" for pooling, of in layers.items() for layer in of]
    for name in (*names, "outputs", "labels"):
        values = np.load(source / f"{name}.npy", allow_pickle=False)
        np.save(target / f"{name}.npy", reduction.array(values, recipe.dataset))
    traits.pop("files", None)
    text = json.dumps({**traits, **more, "layers": layers}, indent=1)
    (target / TRAITS).write_text(text + "\n", encoding="utf-8")
