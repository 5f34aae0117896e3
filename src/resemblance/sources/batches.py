"""What a loader gives for one call of a model: tensors, tuples, mappings, graphs; and how many
samples are in it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

NOT_INPUTS = ("labels", "label")  # with them, models of transformers compute a loss as well
NODES = "x"  # the entry of a graph that has one row per node


class Batch(NamedTuple):
    """Arguments of one call of the model, its number of samples, and which tokens are real, if it
    is known."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    samples: int
    mask: np.ndarray | None


class Inputs(NamedTuple):
    """The names of what a model is called with, and how many of them it cannot do without."""

    names: tuple[str, ...]
    required: int


def inputs_of(model: Any) -> Inputs:
    """Return what the forward pass of a model takes; a ``Sequential`` of PyTorch Geometric says it
    itself."""
    own = getattr(getattr(model, "signature", None), "param_dict", None)
    try:
        found = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):  # compiled
        return Inputs((), 1)
    plain = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if own is not None and not plain:
        return Inputs(tuple(own), len(own))
    return Inputs(tuple(p.name for p in plain), sum(p.default is p.empty for p in plain))


def batch_of(torch: Any, raw: Any, device: Any, inputs: Inputs, samples: str | None) -> Batch:
    """Return how the model is called with what the loader gave; ``samples`` names the entry with a
    row per sample.

    A tuple or list begins with the input, or with as many as the model needs. A graph of PyTorch
    Geometric is passed whole, or by the names of the inputs if the model takes ``x`` or
    ``edge_index``.
    """
    if isinstance(raw, tuple | list) and raw:
        several = raw[: inputs.required]
        if (
            len(several) > 1
            and len(several) == inputs.required
            and all(isinstance(v, torch.Tensor) for v in several)
        ):
            return Batch(tuple(v.to(device) for v in several), {}, len(several[0]), None)
        raw = raw[0]
    if isinstance(raw, torch.Tensor):
        return Batch((raw.to(device),), {}, len(raw), None)
    if is_graph(raw):
        return _graph(raw.to(device), inputs, samples)
    if not isinstance(raw, Mapping) or not any(
        isinstance(v, torch.Tensor) and v.ndim for v in raw.values()
    ):
        wanted = "tensors, tuples that begin with one, dicts of tensors or graphs"
        raise ValueError(f"batches must be {wanted}; got {type(raw)}")
    return _mapping(torch, raw, device, samples)


def is_graph(raw: Any) -> bool:
    """Say whether this is a graph, or a batch of graphs, of PyTorch Geometric."""
    return hasattr(raw, "num_nodes") and hasattr(raw, "keys") and not isinstance(raw, Mapping)


def _graph(graph: Any, inputs: Inputs, samples: str | None) -> Batch:
    keys = set(graph.keys())
    count = int(graph.num_nodes) if samples is None else len(_entry(graph, keys, samples))
    if not {NODES, "edge_index"} & set(inputs.names):
        return Batch((graph,), {}, count, None)
    return Batch((), {name: graph[name] for name in inputs.names if name in keys}, count, None)


def _mapping(torch: Any, raw: Mapping[str, Any], device: Any, samples: str | None) -> Batch:
    kept = {key: value for key, value in raw.items() if key not in NOT_INPUTS}
    moved = {
        key: value.to(device) if isinstance(value, torch.Tensor) else value
        for key, value in kept.items()
    }
    counted = [key for key, value in raw.items() if isinstance(value, torch.Tensor) and value.ndim]
    rows = (
        _entry(raw, set(raw), samples)
        if samples
        else raw[NODES if NODES in counted else counted[0]]
    )
    mask: Any = raw.get("attention_mask")
    usable = isinstance(mask, torch.Tensor) and mask.ndim == 2
    return Batch((), moved, len(rows), mask.cpu().numpy() if usable else None)


def _entry(raw: Any, keys: set[str], samples: str) -> Any:
    if samples not in keys:
        raise ValueError(
            f"samples names {samples!r}, which no batch has; it has {', '.join(sorted(keys))}"
        )
    return raw[samples]
