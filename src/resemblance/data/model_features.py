"""The features of one model on fixed inputs: layers, outputs and traits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.formatting import list_names
from ..base.text import html_fact_table, html_table
from .representation import Representation

MapShape = tuple[int, int, int]  # channels, height, width
MAX_LISTED_TRAITS, MAX_TRAIT_CHARACTERS = 8, 40
MAX_LISTED_LAYERS = 60  # rows of the table in a notebook
LAYER_TABLE_COLUMNS = ("layer", "features", "computed in")


@dataclass(frozen=True, eq=False, repr=False)
class ModelFeatures:
    """The features of one model on fixed inputs.

    ``layers``: the representations of the layers, in the order of the network; tests of functional
    similarity compare the last layer. ``outputs``: logits (n_samples, n_classes). ``labels``: the
    true classes (n_samples,), if known. ``traits`` describe the model: domain, dataset,
    architecture, pooling, setting, strength, seed, accuracy, and ``pretrain``, the seed of the
    pretrained model behind a fine-tuned model. ``maps``: the channels, height and width of every
    layer with map features, flattened in this order.

    Raises ``ValueError`` for parts that do not fit together.
    """

    name: str
    layers: Mapping[str, Representation]
    outputs: np.ndarray | None = None
    traits: Mapping[str, Any] = field(default_factory=dict)
    labels: np.ndarray | None = None
    maps: Mapping[str, MapShape] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.layers, Mapping):
            raise ValueError(f"model {self.name!r}: layers are a mapping, {{name: representation}}")
        if not self.layers:
            raise ValueError(f"model {self.name!r} has no layers")
        counts = {layer: r.shape[0] for layer, r in self.layers.items()}
        counts |= {name: len(values) for name, values in self._answers().items()}
        if len(set(counts.values())) > 1:
            raise ValueError(
                f"model {self.name!r}: layers, outputs and labels must have the same samples; "
                f"got {counts}"
            )
        widths = {layer: r.shape[1] for layer, r in self.layers.items()}
        check_map_shapes(f"model {self.name!r}", self.maps, widths)

    @property
    def last(self) -> Representation:
        """The representation of the last layer."""
        return list(self.layers.values())[-1]

    def __repr__(self) -> str:
        facts = "; ".join(f"{name}: {value}" for name, value in self._facts().items() if value)
        return f"ModelFeatures({self.name!r}, {facts})"

    def _repr_html_(self) -> str:
        facts = {name: value for name, value in self._facts().items() if "layers" not in name}
        layers = list(self.layers.items())
        rows = [(name, r.shape[1], r.dtype) for name, r in layers[:MAX_LISTED_LAYERS]]
        title = f"{len(layers)} layers" + (
            f", the first {len(rows)}" if layers[len(rows) :] else ""
        )
        return html_fact_table(f"ModelFeatures {self.name}", facts) + html_table(
            title, LAYER_TABLE_COLUMNS, rows
        )

    def _facts(self) -> dict[str, str]:
        n = self.last.shape[0]
        widths = [f"{name} ({layer.shape[1]})" for name, layer in self.layers.items()]
        traits = [_format_trait(name, value) for name, value in self.traits.items()]
        return {
            "samples": str(n),
            "layers (features)": f"{len(widths)}: {list_names(widths, MAX_LISTED_TRAITS)}",
            "known": ", ".join(self._answers()),
            "traits": list_names(traits, MAX_LISTED_TRAITS),
        }

    def _answers(self) -> dict[str, np.ndarray]:
        """Return the outputs and labels by name, without missing arrays."""
        arrays = {"outputs": self.outputs, "labels": self.labels}
        return {name: values for name, values in arrays.items() if values is not None}


def check_map_shapes(title: str, maps: Any, widths: Mapping[str, int]) -> None:
    """Raise ``ValueError`` unless ``maps`` gives existing layers shapes (channels, height, width)
    with as many entries as the layer has features.

    ``widths``: the number of features of each layer. ``title``: the model, in the error.
    """
    if not isinstance(maps, Mapping):
        raise ValueError(f"{title}: maps must be an object of shapes by layer; got {maps!r}")
    for layer, shape in maps.items():
        is_shape = isinstance(shape, tuple | list) and len(shape) == 3
        if not is_shape or not all(type(length) is int and length > 0 for length in shape):
            raise ValueError(
                f"{title}: the map of {layer!r} must be three positive whole numbers, its "
                f"channels, height and width; got {shape!r}"
            )
        if layer not in widths:
            layer_list = list_names(widths, MAX_LISTED_TRAITS)
            raise ValueError(
                f"{title}: {layer!r} in maps is not a layer; the layers are {layer_list}"
            )
        if math.prod(shape) != widths[layer]:
            product = " x ".join(map(str, shape))
            raise ValueError(
                f"{title}: the layer {layer!r} has {widths[layer]} features; {product} in maps is "
                f"{math.prod(shape)}"
            )


def _format_trait(name: str, value: Any) -> str:
    """Return the name and the value of a trait: "name value", cut if long, or "name (key, key)" for
    a mapping."""
    if isinstance(value, Mapping):
        return f"{name} ({list_names(value, MAX_LISTED_TRAITS)})"
    text = f"{name} {value}"
    return text if len(text) <= MAX_TRAIT_CHARACTERS else f"{text[: MAX_TRAIT_CHARACTERS - 3]}..."
