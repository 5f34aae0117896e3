"""Batches of a loader as calls of a model: tensors, tuples, mappings or graphs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

LABEL_ENTRIES = ("labels", "label")  # with labels, transformers models also compute a loss
SHUFFLING_SAMPLERS = ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")  # of PyTorch
MASK_ENTRIES = ("attention_mask", "decoder_attention_mask")  # masks of real tokens
# Names of entries that may mark padding
PADDING_ENTRY_PATTERN = re.compile(r"(.*_)?(masks?|lengths?|lens)", re.IGNORECASE)
NODE_ENTRY = "x"  # the entry of a graph with a row per node
EDGE_ENTRIES = {"edge_index", "adj_t", "batch"}  # entries that connect rows
PLAIN_ENTRY_TYPES, STRIDED_LAYOUT = (str, int, float, type(None)), "torch.strided"


class Batch(NamedTuple):
    """The arguments of one model call, the number of samples, and the masks of real tokens by name.

    ``unused_masks`` describes, for messages, the entries that may mark padding but are no mask of
    real tokens.
    """

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    samples: int
    masks: Mapping[str, np.ndarray]
    unused_masks: tuple[str, ...] = ()


class ModelInputs(NamedTuple):
    """The names of the positional arguments of a forward pass, the number of required arguments,
    and the dtype of the weights; None for a model without floating-point weights."""

    names: tuple[str, ...]
    required: int
    precision: Any = None


def check_not_shuffled(loader: Any) -> None:
    """Raise ``ValueError`` for a loader that shuffles by a random sampler of PyTorch."""
    samplers = [
        getattr(x, "sampler", None) for x in (loader, getattr(loader, "batch_sampler", None))
    ]
    names = {kind.__name__ for sampler in samplers for kind in type(sampler).__mro__}
    if names & set(SHUFFLING_SAMPLERS):
        raise ValueError(
            "the loader shuffles, so the models would get different samples; make the loader with "
            "shuffle=False"
        )


def find_model_inputs(model: Any) -> ModelInputs:
    """Return the positional inputs of the forward pass of a model.

    An ONNX model and a Sequential of PyTorch Geometric declare the names; all are required. Without
    a readable signature, the value has no names and one required input.
    """
    return _named_inputs(model)._replace(precision=weight_precision(model))


def weight_precision(model: Any) -> Any:
    """Return the PyTorch dtype of the first floating-point weights of a module; None without such
    weights."""
    return next((p.dtype for p in model.parameters() if p.is_floating_point()), None)


def _named_inputs(model: Any) -> ModelInputs:
    """Return the names of the positional inputs of the forward pass of a model, and the number of
    required inputs; without the precision of the weights. Without a readable signature, there are
    no names and one required input."""
    declared = getattr(getattr(model, "signature", None), "param_dict", None)
    declared = getattr(model, "input_names", declared)  # of an ONNX file
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):  # a compiled model has no readable signature
        return ModelInputs((), 1)
    positional_parameters = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if (
        declared is not None and not positional_parameters
    ):  # a Sequential of PyTorch Geometric, ONNX
        return ModelInputs(tuple(declared), len(declared))
    return ModelInputs(
        tuple(p.name for p in positional_parameters),
        sum(p.default is p.empty for p in positional_parameters),
    )


def make_model_batch(
    torch: Any, raw_batch: Any, device: Any, inputs: ModelInputs, samples: str | None
) -> Batch:
    """Return the model call for a batch of a loader, with the tensors on ``device``.

    A tuple or list begins with the input, or with as many inputs as the model requires. A mapping
    gives keyword arguments, without labels. A PyTorch Geometric graph is passed whole, or by the
    names of the inputs if the model takes ``x`` or ``edge_index``. ``samples`` names the entry of a
    mapping or graph with one row per sample; None for the nodes of a graph, and for ``x`` or the
    first tensor of a mapping. NumPy arrays become tensors, floating-point arrays in the precision
    of the weights. Raises ``ValueError`` for other kinds of batches.
    """
    raw_batch = _with_tensors(torch, raw_batch, inputs.precision)
    if isinstance(raw_batch, tuple | list) and raw_batch:
        tensors = raw_batch[: inputs.required]
        are_tensors = all(isinstance(v, torch.Tensor) for v in tensors)
        if are_tensors and len(tensors) == inputs.required and len(tensors) > 1:
            named_tensors, samples_of_first = dict(zip(inputs.names, tensors)), len(tensors[0])
            masks = _masks_of_tokens(torch, named_tensors, samples_of_first)
            unused_masks = _unused_masks(named_tensors, masks, samples_of_first)
            unused_masks += _masks_that_are_not_passed(torch, raw_batch, inputs.required)
            arguments = tuple(v.to(device) for v in tensors)
            return Batch(arguments, {}, samples_of_first, masks, unused_masks)
        if isinstance(raw_batch[0], torch.Tensor):
            unused_masks = _masks_that_are_not_passed(torch, raw_batch, 1)
            return Batch((raw_batch[0].to(device),), {}, len(raw_batch[0]), {}, unused_masks)
        raw_batch = raw_batch[0]
    if isinstance(raw_batch, torch.Tensor):
        return Batch((raw_batch.to(device),), {}, len(raw_batch), {})
    if is_graph(raw_batch):
        return _batch_from_graph(raw_batch.to(device), inputs, samples)
    if isinstance(raw_batch, Mapping) and _entries_with_rows(torch, raw_batch):
        return _batch_from_mapping(torch, raw_batch, device, samples)
    kinds = "tensors or NumPy arrays, tuples that begin with one, dicts of arrays, or graphs"
    raise ValueError(f"batches must be {kinds}; got {type(raw_batch)}")


def as_tensor(torch: Any, array: Any, precision: Any) -> Any:
    """Return an array or tensor as a tensor; floating-point values get the PyTorch dtype
    ``precision``, unless ``precision`` is None. ``torch``: the module PyTorch."""
    if not isinstance(array, torch.Tensor):
        values = np.array(array)  # in memory; the next line sets native byte order
        array = torch.from_numpy(values.astype(values.dtype.newbyteorder("=")))
    return array.to(precision) if precision and array.is_floating_point() else array


def _with_tensors(torch: Any, value: Any, precision: Any) -> Any:
    """Return the batch ``value`` with tensors in place of NumPy arrays of numbers, floating-point
    arrays in the dtype ``precision``. ``torch``: the module PyTorch.

    Arrays inside a tuple, a list or a mapping are replaced too. A tuple becomes a list.
    """

    def converted(entry: Any) -> Any:
        is_numeric = isinstance(entry, np.ndarray) and entry.dtype.kind in "biuf"
        return as_tensor(torch, entry, precision) if is_numeric else entry

    def converted_entries(part: Any) -> Any:
        is_mapping = isinstance(part, Mapping)
        return {k: converted(v) for k, v in part.items()} if is_mapping else converted(part)

    if isinstance(value, tuple | list):
        return [*map(converted_entries, value)]
    return converted_entries(value)


def last_samples_of_batch(batch: Batch, count: int) -> Batch | None:
    """Return a new batch with copies of the last ``count`` samples of a batch.

    None for a count below 1 or above the number of samples, and for a batch that cannot be cut,
    such as a graph or a sparse tensor.
    """
    values = [*batch.arguments, *batch.keywords.values()]
    tensors = [v for v in values if hasattr(v, "layout") and v.ndim]
    extra_values = [
        v for v in values if not (hasattr(v, "layout") or isinstance(v, PLAIN_ENTRY_TYPES))
    ]
    can_be_cut = all(str(v.layout) == STRIDED_LAYOUT and len(v) == batch.samples for v in tensors)
    if (
        not 0 < count <= batch.samples
        or extra_values
        or not can_be_cut
        or EDGE_ENTRIES & set(batch.keywords)
    ):
        return None

    def cut(value: Any) -> Any:
        return value[-count:].clone() if hasattr(value, "layout") and value.ndim else value

    keywords = {name: cut(value) for name, value in batch.keywords.items()}
    masks = {name: mask[-count:] for name, mask in batch.masks.items()}
    arguments = tuple(map(cut, batch.arguments))
    return Batch(arguments, keywords, count, masks, batch.unused_masks)


def is_graph(value: Any) -> bool:
    """Return whether a value is a PyTorch Geometric graph or a batch of graphs."""
    return hasattr(value, "num_nodes") and hasattr(value, "keys") and not isinstance(value, Mapping)


def _batch_from_graph(graph: Any, inputs: ModelInputs, samples: str | None) -> Batch:
    keys = set(graph.keys())
    count = (
        int(graph.num_nodes) if samples is None else len(_choose_sample_entry(graph, keys, samples))
    )
    if not {NODE_ENTRY, "edge_index"} & set(inputs.names):
        return Batch((graph,), {}, count, {})
    return Batch((), {name: graph[name] for name in inputs.names if name in keys}, count, {})


def _batch_from_mapping(
    torch: Any, raw_batch: Mapping[str, Any], device: Any, samples: str | None
) -> Batch:
    keywords = {key: value for key, value in raw_batch.items() if key not in LABEL_ENTRIES}
    for key, value in keywords.items():
        keywords[key] = value.to(device) if isinstance(value, torch.Tensor) else value
    with_rows = _entries_with_rows(torch, raw_batch)
    default = NODE_ENTRY if NODE_ENTRY in with_rows else with_rows[0]
    rows = (
        _choose_sample_entry(raw_batch, set(raw_batch), samples) if samples else raw_batch[default]
    )
    masks = _masks_of_tokens(torch, raw_batch, len(rows))
    return Batch((), keywords, len(rows), masks, _unused_masks(keywords, masks, len(rows)))


def _masks_of_tokens(torch: Any, entries: Mapping[str, Any], samples: int) -> dict[str, np.ndarray]:
    """Return the masks of real tokens among the entries of a batch, arrays (samples, tokens), by
    name. ``entries``: values by name; an entry counts by its name (``MASK_ENTRIES``) and its
    shape."""
    return {
        name: entries[name].reshape(samples, -1).cpu().numpy()
        for name in MASK_ENTRIES
        if isinstance(entries.get(name), torch.Tensor)
        and _is_token_mask(tuple(entries[name].shape), samples)
    }


def _is_token_mask(shape: tuple[int, ...], samples: int) -> bool:
    """Return whether a mask has one value per token: the shape is (samples, tokens), and further
    axes have length 1."""
    return len(shape) > 1 and shape[0] == samples and sum(size > 1 for size in shape[1:]) <= 1


def _unused_masks(
    entries: Mapping[str, Any], masks: Mapping[str, np.ndarray], samples: int
) -> tuple[str, ...]:
    """Return a description, for messages, of each entry that looks like padding information by its
    name, such as ``mask`` or ``lengths``, and is not in ``masks``.

    ``entries``: the arrays of the batch by name. ``masks``: the masks in use by name. ``samples``:
    the number of samples. Only entries with one row per sample, or with one vector of two or more
    values, count.
    """
    shapes = {
        name: tuple(value.shape)
        for name, value in entries.items()
        if PADDING_ENTRY_PATTERN.fullmatch(name) and hasattr(value, "shape") and name not in masks
    }
    return tuple(
        f"{name!r} {shape} of the batch"
        for name, shape in shapes.items()
        if shape[:1] == (samples,) or np.prod(shape) == max(shape, default=0) > 1
    )


def _masks_that_are_not_passed(
    torch: Any, raw_batch: Sequence[Any], required: int
) -> tuple[str, ...]:
    """Return a description, for messages, of each tensor of the batch after the first ``required``
    entries that looks like a mask of padding.

    ``raw_batch``: the entries; the first entry is the input. Such a mask contains only zeros and
    ones, at least one zero, and has the shape (samples, tokens) or (tokens,) of the first entry.
    """
    tokens = tuple(raw_batch[0].shape[:2])
    if len(tokens) < 2 or tokens[1] < 2:
        return ()
    return tuple(
        f"entry {index} {tuple(value.shape)} of the batch, which the model is not given,"
        for index, value in enumerate(raw_batch[required:], required)
        if isinstance(value, torch.Tensor)
        and tuple(value.shape) in (tokens, tokens[1:])
        and bool((value == 0).any() and ((value == 0) | (value == 1)).all())
    )


def _entries_with_rows(torch: Any, raw_batch: Mapping[str, Any]) -> list[str]:
    return [
        key for key, value in raw_batch.items() if isinstance(value, torch.Tensor) and value.ndim
    ]


def _choose_sample_entry(raw_batch: Any, keys: set[str], samples: str) -> Any:
    if samples not in keys:
        raise ValueError(
            f"samples={samples!r} is not an entry of the batches; the entries are "
            f"{', '.join(sorted(keys))}"
        )
    return raw_batch[samples]
