"""Masks of samples: keep some of the samples that a model sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..base.arrays import to_numpy
from ..base.text import did_you_mean
from ..data.model_features import ModelFeatures
from ..data.representation import replace_rows
from .samples import Samples


def kept_row_numbers(function: str, mask: Any, samples: Samples, n: int) -> np.ndarray | None:
    """Return the numbers of the kept rows out of ``n`` rows, (n_kept,); None for all rows.

    ``function``: the name of the function in messages. ``mask``: the name of a mask of a graph, n
    booleans, or numbers of rows; None for all rows. Raises ``ValueError`` for an unknown mask or
    row.
    """
    if mask is None:
        return None
    if not isinstance(mask, str):
        return _validate_row_numbers(function, mask, n)
    graph = next(samples.batches()) if samples.kind == "graph" else {}
    keys = list(graph.keys())
    if mask not in keys:
        masks = [key for key in keys if key.endswith("mask")]
        raise ValueError(
            f"{function}: {samples.name} has no mask {mask!r}{did_you_mean(mask, masks)}"
        )
    return _validate_row_numbers(function, graph[mask], n)


def _validate_row_numbers(function: str, mask: Any, n: int) -> np.ndarray:
    numbers = to_numpy(mask) if hasattr(mask, "__dlpack__") else np.asarray(mask)
    if numbers.dtype == bool and numbers.shape == (n,):
        numbers = np.flatnonzero(numbers)
    is_list = numbers.dtype.kind in "iu" and numbers.ndim == 1 and len(numbers) > 0
    if not is_list or not (-1 < numbers.min() <= numbers.max() < n):
        raise ValueError(
            f"{function}: mask must be {n} booleans or numbers of rows from 0 to {n - 1}; got "
            f"shape {numbers.shape}{_range_of(numbers)}"
        )
    return numbers


def _range_of(numbers: np.ndarray) -> str:
    if numbers.dtype.kind not in "iu" or not numbers.size:
        return ""
    return f" with numbers from {numbers.min()} to {numbers.max()}"


def select_model_rows(features: ModelFeatures, numbers: np.ndarray | None) -> ModelFeatures:
    """Return a model with only the given rows of layers, outputs and labels; unchanged if
    ``numbers`` is None."""
    if numbers is None:
        return features
    layers = {}
    for name, layer in features.layers.items():
        ids = None if layer.ids is None else [layer.ids[i] for i in numbers]
        layers[name] = replace_rows(layer, layer.source[numbers], ids)
    arrays = {"outputs": features.outputs, "labels": features.labels}
    fields: Any = {k: None if v is None else v[numbers] for k, v in arrays.items()}
    return replace(features, layers=layers, **fields)
