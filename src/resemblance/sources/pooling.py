"""How rows, one per sample, are made of what a layer returns for a batch: tokens, maps or rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .batches import Batch
from .layouts import from_maps, from_tokens

MAP_POOLS = {"mean": "mean", "max": "max", "flatten": "flatten"}
FORMS = {3: "tokens", 4: "positions"}  # what is pooled, by the number of axes
TOKEN_POOLS = MAP_POOLS | {"cls": "first", "first": "first", "last": "last"}
Pool = str | Mapping[str, str] | None


def check_pool(pool: Pool) -> None:
    """Raise ``ValueError`` for a pooling that does not exist."""
    for word in pool.values() if isinstance(pool, Mapping) else [pool or "mean"]:
        if word not in TOKEN_POOLS:
            raise ValueError(f"pool must be one of {', '.join(TOKEN_POOLS)}; got {word!r}")


def values_of(
    tensor: Any, layer: str, batch: Batch, convert: Callable[[Any], Any] | None = None
) -> Any:
    """Return what a layer returns as an array, by default of NumPy, with a row per sample.

    Raises ``ValueError`` for what is no floating tensor, or has other rows.
    """
    if not (hasattr(tensor, "is_floating_point") and tensor.is_floating_point() and tensor.ndim):
        raise ValueError(
            f"layer {layer!r} returns {type(tensor).__name__}, not a floating tensor; leave it out"
        )
    if len(tensor) != batch.samples:
        shape = tuple(tensor.shape)
        counts = 'leave it out, or set samples="y", the entry of a batch with one row per sample'
        raise ValueError(
            f"layer {layer!r} returns {shape}, not one row for each of {batch.samples}; {counts}"
        )
    return (convert or as_numpy)(tensor)


def rows_of(array: Any, layer: str, word: str, mask: np.ndarray | None) -> Any:
    """Return a copy of the values of a layer, pooled to one row per sample, (n, d)."""
    try:
        pooled = _pooled(array, word, mask)
        return pooled.astype(array.dtype) if isinstance(array, np.ndarray) else pooled.clone()
    except ValueError as error:
        raise ValueError(f"layer {layer!r}: {error}") from error


def pooling_of(pool: Pool, layer: str, call: int) -> str:
    """Return the pooling of one call of a layer."""
    if not isinstance(pool, Mapping):
        return pool or "mean"
    return pool.get(f"{layer}#{call}", pool.get(layer, "mean"))


def _pooled(array: Any, word: str, mask: np.ndarray | None) -> Any:
    pool: Any = TOKEN_POOLS[word]
    if array.ndim == 3:
        return from_tokens(array, pool=pool, mask=mask).source
    if array.ndim == 4 and word not in MAP_POOLS:
        words = ", ".join(map(repr, MAP_POOLS))
        raise ValueError(
            f"shape {tuple(array.shape)} are maps of channels, which have no {word!r} token; pool "
            f"them by one of {words}"
        )
    if array.ndim == 4:
        return from_maps(array, pool=pool).source
    if array.ndim > 4 and word != "flatten":
        raise ValueError(
            f'shape {tuple(array.shape)} is neither tokens nor maps; pool it with "flatten", or '
            "leave it out"
        )
    return array.reshape(len(array), -1)


def as_numpy(tensor: Any) -> np.ndarray:
    """Return the values on the CPU; half precisions, some unknown to NumPy, become float32."""
    tensor = tensor.detach().cpu()
    return (tensor if tensor.dtype.itemsize >= 4 else tensor.float()).numpy()


def as_tensor(tensor: Any) -> Any:
    """Return the values where they are, those of half precisions as float32."""
    tensor = tensor.detach()
    return tensor if tensor.dtype.itemsize >= 4 else tensor.float()
