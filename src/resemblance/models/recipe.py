"""The training recipe of a benchmark model, the traits that name the model, and its outputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..data.model_features import MapShape, ModelFeatures

DEFAULT_TRAITS: Mapping[str, Any] = {  # defaults of the identifying traits
    "domain": "own", "dataset": "own", "architecture": "model", "pooling": "", "setting": "normal",
    "strength": 0.0,
    "seed": 0,
}  # fmt: skip
CORRUPTED_SETTINGS = ("labels", "shortcut", "augmentation")
TRANSFER_SETTINGS = ("pretrained", "finetuned")
TRAINING_SETTINGS = ("normal", "layers", *CORRUPTED_SETTINGS, *TRANSFER_SETTINGS)


def add_default_traits(features: ModelFeatures) -> ModelFeatures:
    """Return a model with all identifying traits; missing traits get the usual values."""
    return replace(features, traits={**DEFAULT_TRAITS, **features.traits})


def model_name(traits: Mapping[str, Any]) -> str:
    """Return the name of a model: domain, data set, architecture, setting, and seed, joined by
    slashes. The name is unique inside a benchmark. ``traits``: "domain", "dataset", "architecture",
    "setting", "seed"; "strength" for corrupted settings; "pretrain", if fine-tuned."""
    setting, pretrain = traits["setting"], traits.get("pretrain")
    setting += f"-{traits['strength']:g}" if setting in CORRUPTED_SETTINGS else ""
    setting += "" if pretrain is None else f"/pretrain{pretrain}"
    prefix = "/".join((traits["domain"], traits["dataset"], traits["architecture"]))
    return f"{prefix}/{setting}/seed{traits['seed']}"


class Recipe(NamedTuple):
    """Everything that determines one training: the same recipe gives the same model.

    ``setting``: the change of the training data: no change (``"normal"``; ``"layers"`` for a deeper
    network that is only compared with itself), labels replaced at random (``"labels"``), a shortcut
    that gives the label away (``"shortcut"``) or ``"augmentation"``. ``strength``: the size of the
    change, from 0 to 1. ``options``: the hyperparameters. ``version``: the version of the training
    code.

    A ``"finetuned"`` model starts from the ``"pretrained"`` model of seed ``pretrain``. ``seed`` is
    then the seed of the fine-tuning, and ``options["pretraining"]`` contains the options of the
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

        The name of a fine-tuned model has two seeds:
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
        """The recipe of the pretrained model from which a fine-tuned model starts, or None.

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
    the inputs for which the largest output is the true class; a source may add accuracies on other
    inputs, such as ``"augmented"`` or ``"gaussian_noise/3"``. ``maps``: channels, height and width
    of each layer with flattened maps, by layer name. ``right``: by the name of an accuracy on other
    inputs, a boolean per input, true for a correct answer.
    """

    layers: Mapping[str, Mapping[str, np.ndarray]]
    outputs: np.ndarray
    labels: np.ndarray
    accuracies: Mapping[str, float]
    maps: Mapping[str, MapShape] = {}
    right: Mapping[str, np.ndarray] = {}
