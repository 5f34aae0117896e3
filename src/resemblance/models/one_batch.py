"""Run one batch through a model: the outputs of its layers become rows, one per sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..base.formatting import list_names
from ..base.text import check_choice
from ..data.layouts import count_zero_padded, pool_maps, pool_tokens
from .axes import AxisError, SampleAxes, token_mask_of_layer
from .batches import Batch
from .modules import pooling_of_call
from .wrappers import run_uncompiled

PoolSpec = str | Mapping[str, str] | None
MAP_POOLS = {"mean": "mean", "max": "max", "flatten": "flatten"}
POOLED_FORMS = {3: "tokens", 4: "positions"}  # names of pooled axes, by the number of axes
ELEMENTWISE_MODULES = ("torch.nn.modules.activation", "torch.nn.modules.dropout")
SHOWN = 5  # layers in a message
TOKEN_POOLS = MAP_POOLS | {"cls": "first", "first": "first", "last": "last"}


class BatchResult(NamedTuple):
    """The result of a model for one batch.

    ``rows``: by pooling, and then by (layer, number of the call) in the order of execution, arrays
    (n, d). ``logits``: None if the model returns no logits. ``pooled``: the kinds of outputs with
    several axes, "tokens" or "positions". ``notes``: sentences on layers with uncertain axes or
    padding.
    """

    rows: dict[str, dict[tuple[str, int], Any]]
    logits: np.ndarray | None
    pooled: frozenset[str]
    notes: tuple[str, ...]


@contextmanager
def evaluation_mode(torch: Any, model: Any) -> Iterator[Any]:
    """Put the PyTorch module ``model`` in evaluation mode without gradients, and yield its device;
    restore the training modes and the random state afterwards. ``torch``: the module PyTorch."""
    training = [module for module in model.modules() if module.training]
    weights = next(model.parameters(), None)
    try:
        # Restore the random state, because even a loader without shuffling draws a seed
        with torch.random.fork_rng(devices=[]), torch.no_grad(), run_uncompiled():
            model.eval()
            if weights is not None and weights.is_meta:
                raise ValueError("the model has no weights: they are on the device 'meta'")
            yield torch.device("cpu") if weights is None else weights.device
    finally:
        for module in training:
            module.training = True


def rows_of_batch(
    model: Any,
    batch: Batch,
    modules: Mapping[str, Any],
    pools: Mapping[str, PoolSpec],
    *,
    lenient: bool = False,
    outputs: bool = True,
    convert: Callable[[Any], Any] | None = None,
    axes: SampleAxes | None = None,
) -> BatchResult:
    """Call the model once and return the rows (n, d) of the watched modules for each pooling.

    ``modules``: the watched modules by name. ``pools``: poolings by any name; ``rows`` of the
    result has the same names. ``lenient``: leave out an output that does not begin with a tensor
    with a row per sample. ``outputs``: keep the logits. ``convert``: the conversion of a tensor to
    an array, by default to NumPy. ``axes``: the axes of layer outputs in earlier batches, updated
    in place in the first batch.

    Raises ``ValueError`` for a layer that cannot become one row per sample, and for a model with a
    failing forward pass.
    """
    calls, numbers = Counter[str](), Counter[str]()
    faults, reader = list[Exception](), _LayerReader(model, batch, axes or SampleAxes(), lenient)
    rows: dict[str, dict[tuple[str, int], Any]] = {name: {} for name in pools}

    def take(layer: str, module: Any, arguments: Any, result: Any) -> None:
        numbers[layer] += 1
        tensor = reader.tensor((layer, numbers[layer]), module, arguments, result)
        if tensor is None:
            return
        calls[layer] += 1
        values = (convert or detach_to_numpy)(tensor)
        for name, pool in pools.items():
            pooling = pooling_of_call(pool, layer, calls[layer])
            # Pool or copy at once, because the next module may work in place
            rows[name][layer, calls[layer]] = reader.pooled(values, layer, module, pooling)

    def watch(layer: str) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, result: Any) -> None:
            try:
                take(layer, module, arguments, result)
            except Exception as error:  # raised below, outside the forward pass
                faults.append(error)

        return hook

    handles = [module.register_forward_hook(watch(layer)) for layer, module in modules.items()]
    try:
        result = model(*batch.arguments, **batch.keywords)
    except (ValueError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # a user's model may raise anything
        raise ValueError(
            f"the forward pass of {type(model).__name__} fails for a batch of {batch.samples} "
            f"samples: {type(error).__name__}: {error}"
        ) from error
    finally:
        for handle in handles:
            handle.remove()
    if faults:
        raise faults[0].with_traceback(None)
    logits = model_logits(result, batch.samples) if outputs else None
    notes = (*reader.notes.values(), *reader.notes_of_left_out())
    return BatchResult(rows, logits, frozenset(reader.forms), notes)


class _LayerReader:
    """Reads the outputs of the layers of a model in one batch: finds the axes and the mask, and
    pools."""

    def __init__(self, model: Any, batch: Batch, axes: SampleAxes, lenient: bool) -> None:
        self.model, self.batch, self.axes, self.lenient = model, batch, axes, lenient
        self.forms = set[str]()
        self.notes: dict[str, str] = {}  # by kind
        self.lines = set[tuple[int, ...]]()  # shapes (samples, channels, length)
        self.lengths: dict[str, np.ndarray | None] = {}  # masks of packed sequences, by layer
        self.many_axes: dict[str, tuple[int, ...]] = {}  # shapes of left-out layers
        self.other_rows: dict[str, tuple[int, ...]] = {}  # shapes of layers left out for their rows

    def tensor(self, call: tuple[str, int], module: Any, arguments: Any, result: Any) -> Any:
        """Return the tensor that ``result`` is or begins with, sample axis first.

        ``call``: the layer, and the number of the call. ``arguments``, ``result``: of this call of
        ``module``. An output without such a tensor raises ``ValueError``, or gives None if the
        reader is lenient.
        """
        layer = call[0]
        if self.lenient and any(type(x).__name__ == "Parameter" for x in arguments[:1]):
            return None  # a module that makes weights
        tensor, mask = _unpack_sequence(_first_tensor(result))
        if not (hasattr(tensor, "is_floating_point") and _is_floating(tensor) and tensor.ndim):
            if self.lenient:
                return None
            raise ValueError(
                f"layer {layer!r} returns {_describe_layer_result(tensor)}, not a floating tensor "
                "with a row for each sample; leave it out, or name a layer inside it"
            )
        shape, samples = tuple(tensor.shape), self.batch.samples
        if self.lenient and not (tensor.ndim <= 4 and tensor.numel()):
            if tensor.numel() and shape[0] == samples:
                self.many_axes[layer] = shape
            return None
        tensor = tensor.dequantize() if tensor.is_quantized else tensor
        axis = self.axes.axis(call, module, shape, samples) if mask is None else 0
        if axis is None and self.lenient:
            if (shape[0] > samples and shape[0] % samples == 0) or samples in shape[2:]:
                self.other_rows[layer] = shape
            return None
        if axis is None:
            raise AxisError(self.axes.why(call, shape, samples))
        self.lengths[layer] = mask
        return tensor.transpose(0, axis) if axis else tensor

    def pooled(self, values: Any, layer: str, module: Any, pooling: str) -> Any:
        """Return the values of a layer, sample axis first, as new rows (n, d); note uncertain axes
        or padding in ``notes``. ``module``: the module of the layer. ``pooling``: a pooling
        word."""
        if values.ndim in POOLED_FORMS:
            self.forms.add(POOLED_FORMS[values.ndim])
        mask, shape = None, tuple(values.shape)
        if values.ndim == 3 and pooling != "flatten":
            is_after = type(module).__module__ in ELEMENTWISE_MODULES and shape in self.lines
            channel_axis = self.axes.channel_axis(self.model, layer, module, shape)
            if channel_axis == "second" or is_after:
                self.lines.add(shape)
                values = values.swapaxes(1, 2)
            elif channel_axis == "unknown":
                self.notes["lines"] = (
                    f"its layer {layer!r} returns {shape}, read as (samples, tokens, features); a "
                    "one-dimensional convolution returns (samples, channels, length), and "
                    f'pool={{{layer!r}: "flatten"}} is right for both'
                )
        if values.ndim == 3:
            mask = self._mask(layer, values.shape[1], pooling)
        if (
            values.ndim == 3
            and pooling != "flatten"
            and mask is None
            and (ends := self._ends(values))
        ):
            self.notes["padding"] = (
                f"{ends} in its layer {layer!r}, like padding, and no mask excludes the zeros; if "
                "the zeros are padding, pass batches with an attention_mask"
            )
        if pooling != "flatten" and _has_channels_last(module, shape):
            self.notes["turned"] = (
                f"its layer {layer!r} returns maps with channels last, and they are read as "
                '(samples, channels, height, width); pool="flatten" is right for both'
            )
        return _pool_layer_values(values, layer, pooling, mask)

    def notes_of_left_out(self) -> Iterator[str]:
        """Yield sentences on the layers that the default leaves out although their outputs depend
        on the samples."""
        if self.many_axes:
            names = list(self.many_axes)
            yield (
                f"without layers= these are left out, as {_names_and_shapes(self.many_axes)} are "
                f'neither tokens nor maps; pass layers={names[:SHOWN]}, pool="flatten" for them'
            )
        if self.other_rows:
            yield (
                f"layers without one row for each of {self.batch.samples} samples are left out: "
                f"{_names_and_shapes(self.other_rows)}; name modules around these layers in layers="
            )

    def _ends(self, values: Any) -> str:
        """Return a phrase about zero tokens at the ends of ``values`` (samples, tokens, features),
        "" without such tokens; after the first batch always ""."""
        return count_zero_padded(values) if self.axes.is_first and not self.axes.few else ""

    def _mask(self, layer: str, tokens: int, pooling: str) -> np.ndarray | None:
        """Return the mask of real tokens of a layer, (samples, tokens), and note a mask of the
        batch that does not fit the layer; None for no mask."""
        if self.lengths.get(layer) is not None:
            return self.lengths[layer]
        mask = token_mask_of_layer(self.model, layer, tokens, self.batch)
        if mask is None and pooling not in ("flatten", "first", "cls") and tokens > 1:
            for title in self.batch.unused_masks:
                self.notes[title] = (
                    f"{title} does not exclude padding from layer {layer!r}; only an "
                    "attention_mask (samples, tokens) does. If the inputs are padded, leave out "
                    "the layer, or run samples of one length together"
                )
            padded_masks = [m for m in self.batch.masks.values() if not m.all()]
            if padded_masks and tokens > 1:
                self.notes["mask"] = (
                    f"the mask of {padded_masks[0].shape[1]} tokens does not apply to its layer "
                    f"{layer!r} of {tokens}, so all {tokens} are pooled; leave that layer out, or "
                    "run samples of one length together"
                )
        return mask


def _names_and_shapes(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return list_names((f"{name!r} {shape}" for name, shape in shapes.items()), SHOWN)


def _describe_layer_result(value: Any) -> str:
    """Return the class of a layer output, with the shape and dtype of a tensor."""
    kind = type(value).__name__
    return f"{kind} {tuple(value.shape)} of {value.dtype}" if hasattr(value, "dtype") else kind


def _is_floating(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_quantized)


def _first_tensor(result: Any) -> Any:
    """Return the last hidden state of an output, if present; otherwise the first element of a
    tuple, list or mapping, or the output."""
    hidden = getattr(result, "last_hidden_state", None)
    if hidden is None and isinstance(result, Mapping):
        hidden = result.get("last_hidden_state", next(iter(result.values()), None))
    output = result if hidden is None else hidden
    if _is_packed(output):
        return output
    if isinstance(output, tuple | list) and output:
        return output[0]
    return output


def _is_packed(value: Any) -> bool:
    return type(value).__name__ == "PackedSequence"


def _unpack_sequence(value: Any) -> tuple[Any, np.ndarray | None]:
    """Return a pair: a tensor and None. For a packed sequence, return the padded tensor (samples,
    steps, features) and the mask of real steps, (samples, steps)."""
    if not _is_packed(value):
        return value, None
    from torch.nn.utils.rnn import pad_packed_sequence

    tensor, lengths = pad_packed_sequence(value, batch_first=True)
    return tensor, np.arange(tensor.shape[1]) < np.asarray(lengths)[:, None]


def _has_channels_last(module: Any, shape: Sequence[int]) -> bool:
    """Return whether a module returns maps with the channels on the last axis, as in Swin, judged
    by the widths of its normalizations, or of a linear module. ``shape``: of the output, four axes.
    False for another number of axes, and if the second and the last axis have the same length."""
    if len(shape) != 4 or shape[1] == shape[3]:
        return False
    widths = [getattr(part, "normalized_shape", ()) for part in module.modules()]
    is_linear = type(module).__name__ == "Linear" and module.out_features == shape[3]
    return is_linear or (shape[3],) in map(tuple, widths)


def name_layer_calls(rows: Mapping[tuple[str, int], Any]) -> dict[str, Any]:
    """Return rows by layer name; a layer with several calls becomes ``name#1``, ``name#2`` ...
    ``rows``: by (layer, number of the call from 1)."""
    repeated_layers = {layer for layer, call in rows if call > 1}
    return {
        f"{k}#{call}" if k in repeated_layers else k: array for (k, call), array in rows.items()
    }


def model_logits(result: Any, samples: int) -> np.ndarray | None:
    """Return a copy of the logits (n, classes) in the result of a model: the entry ``logits``, the
    only entry of a mapping, the first element, or the result. None if the shape is not
    (``samples``, classes)."""
    logits = getattr(result, "logits", None)
    if logits is None and isinstance(result, Mapping):
        logits = next(iter(result.values())) if len(result) == 1 else result.get("logits")
    elif logits is None:
        logits = result[0] if isinstance(result, tuple | list) and result else result
    shape = tuple(getattr(logits, "shape", ()))
    return detach_to_numpy(logits).copy() if len(shape) == 2 and shape[0] == samples else None


def check_pooling_word(pool: PoolSpec) -> None:
    """Raise ``ValueError`` for a pooling, or for a word in a mapping of poolings, that does not
    exist."""
    for pooling in pool.values() if isinstance(pool, Mapping) else [pool or "mean"]:
        if isinstance(pooling, list | tuple):
            raise ValueError(
                f"pool must be one word, or a mapping from layers to words; got {pooling!r}; "
                "rs.extract_features with a folder computes several in one run"
            )
        check_choice("pool", pooling, TOKEN_POOLS)


def _pool_layer_values(array: Any, layer: str, pooling: str, mask: np.ndarray | None) -> Any:
    """Return a copy of the values of a layer, an array or tensor with the sample axis first, pooled
    to one row per sample, (n, d). ``mask``: of real tokens, (samples, tokens), or None; only tokens
    use the mask."""
    pool: Any = TOKEN_POOLS[pooling]
    try:
        if array.ndim == 3:
            pooled = pool_tokens(array, pool, mask)
        elif array.ndim == 4 and pooling not in MAP_POOLS:
            choices = ", ".join(map(repr, MAP_POOLS))
            raise ValueError(
                f"shape {tuple(array.shape)} are maps of channels, which have no {pooling!r} "
                f"token; pool them by one of {choices}"
            )
        elif array.ndim == 4:
            pooled = pool_maps(array, pool)
        elif array.ndim > 4 and pooling != "flatten":
            raise ValueError(
                f'shape {tuple(array.shape)} is neither tokens nor maps; pool it with "flatten", '
                "or leave it out"
            )
        else:
            pooled = array.reshape(len(array), -1)
    except ValueError as error:
        raise ValueError(f"layer {layer!r}: {error}") from error
    return pooled.astype(array.dtype) if isinstance(array, np.ndarray) else pooled.clone()


def detach_to_numpy(tensor: Any) -> np.ndarray:
    """Return the values of a tensor as an array of the same shape on the CPU; half precisions
    become float32."""
    return np.asarray(detach_to_tensor(tensor).cpu().numpy())


def detach_to_tensor(tensor: Any) -> Any:
    """Return the values of a PyTorch tensor without gradient on the same device; half precisions
    become float32."""
    tensor = tensor.detach()
    return tensor if tensor.dtype.itemsize >= 4 else tensor.float()
