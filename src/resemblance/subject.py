"""A subject: one model seen on fixed inputs, and the recipe by which a benchmark trains it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .display import card, table
from .representation import Representation

MapShape = tuple[int, int, int]  # channels, height, width
FEW, MOST_CHARACTERS = 8, 40  # parts of a list, and characters of one, that are shown
MOST_LAYERS = 60  # in the table of a notebook
LAYER_COLUMNS = ("layer", "features", "computed in")
DEFAULTS: Mapping[str, Any] = {  # of the traits that tell models apart
    "domain": "own", "dataset": "own", "architecture": "model", "pooling": "", "setting": "normal",
    "strength": 0.0,
    "seed": 0,
}  # fmt: skip
CORRUPTED = ("labels", "shortcut", "augmentation")
TRANSFER = ("pretrained", "finetuned")
SETTINGS = ("normal", "layers", *CORRUPTED, *TRANSFER)


def subject_name(traits: Mapping[str, Any]) -> str:
    """Return the name of a model with these traits, which is unique inside a benchmark."""
    setting, pretrain = traits["setting"], traits.get("pretrain")
    setting += f"-{traits['strength']:g}" if setting in CORRUPTED else ""
    setting += "" if pretrain is None else f"/pretrain{pretrain}"
    where = "/".join((traits["domain"], traits["dataset"], traits["architecture"]))
    return f"{where}/{setting}/seed{traits['seed']}"


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
        return subject_name(self._asdict())

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
        start = self._replace(setting="pretrained", seed=self.pretrain, pretrain=None)
        return start._replace(options=self.options["pretraining"])


class Extraction(NamedTuple):
    """The outputs of a trained model, and of its layers, for the fixed inputs of its benchmark.

    ``layers``: by pooling ("cls", "mean", "last", "node"), then by layer in the order of the
    network, an array (n_samples, n_features) in float32. ``outputs``: (n_samples, n_classes)
    logits. ``labels``: (n_samples,) the true classes. ``accuracies``: ``"test"`` is the share of
    the inputs whose largest output is the true class; a source may add others, such as
    ``"augmented"`` or ``"gaussian_noise/3"``, measured on other inputs. ``maps``: by the name of a
    layer whose features are maps, flattened, their channels, height and width.
    """

    layers: Mapping[str, Mapping[str, np.ndarray]]
    outputs: np.ndarray
    labels: np.ndarray
    accuracies: Mapping[str, float]
    maps: Mapping[str, MapShape] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Subject:
    """One model seen on fixed inputs.

    ``layers`` are its representations, in the order of the network; the last is the one that the
    tests of functional similarity compare. ``outputs`` are logits (n_samples, n_classes) and
    ``labels`` the true classes (n_samples,), if known. ``traits`` say what it is: domain, dataset,
    architecture, pooling, setting, strength, seed, accuracy, and ``pretrain``, the seed of the
    pretrained model, of a fine-tuned one. ``maps``: the channels, height and width of those layers
    whose features are maps, flattened in this order.

    Raises ``ValueError`` for parts that do not fit each other.
    """

    name: str
    layers: Mapping[str, Representation]
    outputs: np.ndarray | None = None
    traits: Mapping[str, Any] = field(default_factory=dict)
    labels: np.ndarray | None = None
    maps: Mapping[str, MapShape] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.layers:
            raise ValueError(f"subject {self.name!r} has no layers")
        counts = {layer: r.shape[0] for layer, r in self.layers.items()}
        counts |= {name: len(values) for name, values in self._answers().items()}
        if len(set(counts.values())) > 1:
            raise ValueError(
                f"subject {self.name!r}: layers, outputs and labels must have the same samples; "
                f"got {counts}"
            )
        widths = {layer: r.shape[1] for layer, r in self.layers.items()}
        check_maps(f"subject {self.name!r}", self.maps, widths)

    @property
    def last(self) -> Representation:
        """The representation of the last layer."""
        return list(self.layers.values())[-1]

    def __repr__(self) -> str:
        facts = "; ".join(f"{name}: {fact}" for name, fact in self._facts().items() if fact)
        return f"Subject({self.name!r}, {facts})"

    def _repr_html_(self) -> str:
        facts = {name: fact for name, fact in self._facts().items() if "layers" not in name}
        layers = list(self.layers.items())
        rows = [(name, r.shape[1], r.precision) for name, r in layers[:MOST_LAYERS]]
        title = f"{len(layers)} layers" + (
            f", the first {len(rows)}" if layers[len(rows) :] else ""
        )
        return card(f"Subject {self.name}", facts) + table(title, LAYER_COLUMNS, rows)

    def _facts(self) -> dict[str, str]:
        n = self.last.shape[0]
        widths = [f"{name} ({layer.shape[1]})" for name, layer in self.layers.items()]
        traits = [f"{name} {value}"[:MOST_CHARACTERS] for name, value in self.traits.items()]
        return {
            "samples": str(n),
            "layers (features)": f"{len(widths)}: {_few(widths)}",
            "known": ", ".join(self._answers()),
            "traits": _few(traits),
        }

    def _answers(self) -> dict[str, np.ndarray]:
        """Return the outputs and labels that are not None, by name."""
        answers = {"outputs": self.outputs, "labels": self.labels}
        return {name: values for name, values in answers.items() if values is not None}


def check_maps(where: str, maps: Any, widths: Mapping[str, int]) -> None:
    """Raise ``ValueError`` unless ``maps`` are shapes (channels, height, width) of these layers.

    ``widths``: the number of features of each layer.
    """
    if not isinstance(maps, Mapping):
        raise ValueError(f"{where}: maps must be an object of shapes by layer; got {maps!r}")
    for layer, shape in maps.items():
        is_shape = isinstance(shape, tuple | list) and len(shape) == 3
        if not is_shape or not all(type(length) is int and length > 0 for length in shape):
            raise ValueError(
                f"{where}: the map of {layer!r} must be three positive whole numbers, its "
                f"channels, height and width; got {shape!r}"
            )
        if layer not in widths:
            raise ValueError(f"{where}: {layer!r} in maps is no layer; layers: {_few([*widths])}")
        if math.prod(shape) != widths[layer]:
            product = " x ".join(map(str, shape))
            raise ValueError(
                f"{where}: the layer {layer!r} has {widths[layer]} features; {product} in maps is "
                f"{math.prod(shape)}"
            )


def _few(names: list[str]) -> str:
    """Return a list as text, shortened to its beginning and its last entry if it is long."""
    return ", ".join(names if len(names) <= FEW else [*names[: FEW - 1], "...", names[-1]])
