"""The recipe by which a benchmark trains a model, the traits that name it, and what it gives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..data.model_features import MapShape, ModelFeatures

DEFAULT_TRAITS: Mapping[str, Any] = {  # of the traits that tell models apart
    "domain": "own", "dataset": "own", "architecture": "model", "pooling": "", "setting": "normal",
    "strength": 0.0,
    "seed": 0,
}  # fmt: skip
CORRUPTED_SETTINGS = ("labels", "shortcut", "augmentation")
TRANSFER_SETTINGS = ("pretrained", "finetuned")
TRAINING_SETTINGS = ("normal", "layers", *CORRUPTED_SETTINGS, *TRANSFER_SETTINGS)


def add_default_traits(features: ModelFeatures) -> ModelFeatures:
    """Return a model with all traits that tell models apart, those not stated as in most models."""
    return replace(features, traits={**DEFAULT_TRAITS, **features.traits})


def model_name(traits: Mapping[str, Any]) -> str:
    """Return the name of a model with these traits, which is unique inside a benchmark."""
    setting, pretrain = traits["setting"], traits.get("pretrain")
    setting += f"-{traits['strength']:g}" if setting in CORRUPTED_SETTINGS else ""
    setting += "" if pretrain is None else f"/pretrain{pretrain}"
    prefix = "/".join((traits["domain"], traits["dataset"], traits["architecture"]))
    return f"{prefix}/{setting}/seed{traits['seed']}"


class Recipe(NamedTuple):
    """Everything that one training depends on: the same recipe gives the same model.

    ``setting`` says what was done to the training data: nothing (``"normal"``; ``"layers"`` for a
    deeper network that is only compared with itself), labels replaced at random (``"labels"``), a
    shortcut that gives the label away (``"shortcut"``) or ``"augmentation"``; ``strength``, from 0
    to 1, says how much of it. ``options`` are the hyperparameters, and ``version`` that of the code
    that trains.

    A ``"finetuned"`` model starts from the ``"pretrained"`` one of seed ``pretrain``; its own
    ``seed`` is that of the fine-tuning, and its ``options["pretraining"]`` are those of the
    pretrained model: see :attr:`parent`.
    """

    domain: str
    dataset: str
    architecture: str
    setting: str
    strength: float
    seed: int
    options: Mapping[str, Any]
    version: int = 1
    pretrain: int | None = None

    @property
    def name(self) -> str:
        """A readable name, unique inside a suite: ``vision/digits/resnet/labels-0.5/seed3``.

        That of a fine-tuned model has both seeds:
        ``vision/digits/resnet/finetuned/pretrain0/seed3``.
        """
        return model_name(self._asdict())

    @property
    def fingerprint(self) -> str:
        """Hash of everything in the recipe."""
        text = json.dumps(self.traits | {"options": dict(self.options)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def traits(self) -> dict[str, Any]:
        """All entries by name, without ``pretrain`` if the model starts from random weights."""
        entries = self._asdict()
        if self.pretrain is None:
            del entries["pretrain"]
        return entries

    @property
    def parent(self) -> Recipe | None:
        """The recipe of the pretrained model that this one starts from, or None.

        Raises ``ValueError`` for a fine-tuned model without ``pretrain`` or
        ``options["pretraining"]``.
        """
        if self.setting != "finetuned":
            return None
        if self.pretrain is None or not isinstance(self.options.get("pretraining"), Mapping):
            raise ValueError(
                "a finetuned recipe needs a seed in pretrain and the options of the pretrained "
                f'model in options["pretraining"]; got pretrain={self.pretrain!r}'
            )
        recipe = self._replace(setting="pretrained", seed=self.pretrain, pretrain=None)
        return recipe._replace(options=self.options["pretraining"])


class ModelOutputs(NamedTuple):
    """The outputs of a trained model, and of its layers, for the fixed inputs of its benchmark.

    ``layers``: by pooling ("cls", "mean", "last", "node"), then by layer in the order of the
    network, an array (n_samples, n_features) in float32. ``outputs``: (n_samples, n_classes)
    logits. ``labels``: (n_samples,) the true classes. ``accuracies``: ``"test"`` is the share of
    the inputs whose largest output is the true class; a source may add others, such as
    ``"augmented"`` or ``"gaussian_noise/3"``, measured on other inputs. ``maps``: by the name of a
    layer whose features are maps, flattened, their channels, height and width. ``right``: by the
    name of an accuracy on other inputs, which of these are answered right.
    """

    layers: Mapping[str, Mapping[str, np.ndarray]]
    outputs: np.ndarray
    labels: np.ndarray
    accuracies: Mapping[str, float]
    maps: Mapping[str, MapShape] = {}
    right: Mapping[str, np.ndarray] = {}
