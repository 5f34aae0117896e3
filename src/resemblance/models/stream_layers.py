"""Streams from models: run PyTorch models over batches and add up the sums of their layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.progress import Progress
from ..stream.stream import Stream, StreamMethod
from .hooks import layers_by_batch


def stream_from_model(
    models: Any,
    loader: Iterable[Any],
    layers: str | Sequence[str] | None = None,
    *,
    pool: str | Mapping[str, str] | None = None,
    method: StreamMethod = "gram",
    pairs: Iterable[tuple[str, str]] | None = None,
    directions: bool = False,
    samples: str | None = None,
    progress: Progress = True,
) -> Stream:
    """Run PyTorch models over any number of inputs and return the stream of their layers.

    No activations are kept beyond a batch, except a few thousand rows that wait to be added
    together. Activations are pooled, and products of activations computed in float64, on the device
    of the model; only the sums leave the device, at the end.

    Parameters
    ----------
    models : a ``torch.nn.Module``, or a mapping from names to modules, with layers called
        ``name/layer``. All models see each batch, and all models must be on the same device.
    loader, layers, pool, samples, progress : as in :func:`resemblance.extract_features`, but a
        loader gives the batches. Without ``layers``: each module without submodules.
    method, pairs, directions : as in :class:`resemblance.Stream`.

    Raises ``ValueError`` as :func:`resemblance.extract_features` and ``Stream.update`` do.
    """
    stream = Stream(method, pairs=pairs, directions=directions)
    by_name = models if isinstance(models, Mapping) else {"": models}
    for batch in layers_by_batch(by_name, loader, layers, pool, samples, progress):
        stream.update(batch)
    if not stream.layers:
        raise ValueError(
            "the loader returned no batch; a used iterator is empty: pass a list or a loader"
        )
    return stream
