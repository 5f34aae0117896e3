"""The axes of a layer output: the sample axis, and the pooled axes of tokens, channels or
positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from .batches import MASK_ENTRIES, Batch

LayerCall = tuple[str, int]  # name of a layer, number of the call
ChannelAxis = Literal["second", "last", "unknown"]
# Attributes of modules with channels on axis 1
CHANNEL_ATTRIBUTES = ("out_channels", "num_features")
FEATURE_ATTRIBUTES = (
    "out_features", "hidden_size", "embed_dim", "embedding_dim", "d_model", "proj_size",
)  # fmt: skip
CONVOLUTIONS_1D = ("Conv1d", "ConvTranspose1d", "LazyConv1d")
POOLINGS_1D = ("MaxPool1d", "AvgPool1d", "AdaptiveAvgPool1d", "AdaptiveMaxPool1d", "LPPool1d")
REDUCE_MASK_METHOD = "_get_feature_vector_attention_mask"  # of audio models in transformers
IMAGE_TOWERS = ("vision_model", "vision_tower", "visual")  # parts without texts


class AxisError(ValueError):
    """A layer output has no sample axis, or the sample axis contradicts ``time_first``."""


class SampleAxes:
    """The sample axis of each layer output of a model, remembered from the first batch.

    The module declares the axis in the first batch, or the number of samples shows the axis. A
    second run on a few samples alone then confirms the axis: in both runs, the length of the sample
    axis is the number of samples.
    """

    def __init__(self, time_first: Iterable[str] = ()) -> None:
        self.time_first = frozenset(time_first)
        self.axes: dict[LayerCall, int | None] = {}
        self.shapes: dict[LayerCall, tuple[int, ...]] = {}  # in the whole first batch
        self.samples = 0
        self.few = 0  # number of samples in the second run, 0 otherwise
        self.guessed: set[LayerCall] = set()
        self.is_first = True  # until the end of the second run
        self.is_other = False  # whether the second run changed an axis
        self._channels: dict[tuple[str, tuple[int, ...]], ChannelAxis] = {}

    def channel_axis(
        self, model: Any, layer: str, module: Any, shape: Sequence[int]
    ) -> ChannelAxis:
        """Return the axis of the channels in an output (samples, a, b) of a layer, from the parts
        of the module and of the model: "second", "last", or "unknown".

        ``module``: the module of the layer. ``shape``: the shape of the output. Later batches of
        the same shape use the stored answer, because a model has many parts.
        """
        key = layer, tuple(shape[1:])
        if key not in self._channels:
            is_sure = has_channels_second(module, shape)
            is_possible = not is_sure and may_have_channels_second(model, module, shape)
            self._channels[key] = "second" if is_sure else "unknown" if is_possible else "last"
        return self._channels[key]

    def axis(self, call: LayerCall, module: Any, shape: Sequence[int], samples: int) -> int | None:
        """Return the sample axis of a layer output, 0 or 1; None if the output has no sample axis.

        ``shape``: the shape of the output. ``samples``: the number of samples in the batch. In the
        first batch, the options of the module or the number of samples give the axis. In the second
        run, the axis is the axis whose length changes with the number of samples. Later batches use
        this axis; the value is None if the length of this axis is not ``samples``.
        """
        if self.few:
            return self._proven(call, shape)
        if call in self.axes:
            axis = self.axes[call]
            return axis if axis is not None and shape[axis : axis + 1] == (samples,) else None
        axis = self._declared(call, module, shape, samples)
        if self.is_first:
            self.axes[call], self.shapes[call], self.samples = axis, tuple(shape), samples
        return axis

    def _declared(
        self, call: LayerCall, module: Any, shape: Sequence[int], samples: int
    ) -> int | None:
        has_time = len(shape) == 3 and shape[1] == samples
        if call[0] in self.time_first:
            return 1 if has_time else None
        if has_time and batch_first_option(module) is False:
            return 1
        if len(shape) and shape[0] == samples:
            return 0
        if not (has_time and self.is_first):
            return None
        self.guessed.add(call)  # axis 1 may have this length by chance
        return 1

    def _proven(self, call: LayerCall, shape: Sequence[int]) -> int | None:
        """Return the axis of a layer output with length ``samples`` in the first batch and length
        ``few`` in the second run; None if there is no such axis. ``shape``: of the output in the
        second run.

        Only the first axis counts, and for three axes also the second; the axis of the first batch
        is preferred. All batches then use the axis. Raises ``AxisError`` for axis 0 of a layer in
        ``time_first``.
        """
        previous_shape, previous_axis = self.shapes.get(call, ()), self.axes.get(call)
        axes = range(min(2 if len(shape) == 3 else 1, len(shape), len(previous_shape)))
        candidates = [i for i in axes if (previous_shape[i], shape[i]) == (self.samples, self.few)]
        axis = previous_axis if previous_axis in candidates else next(iter(candidates), None)
        if call[0] in self.time_first and axis == 0:
            raise AxisError(
                f"layer {call[0]!r} returns {previous_shape} for {self.samples} samples and "
                f"{tuple(shape)} for {self.few}: samples are the first axis; leave the layer out "
                "of time_first"
            )
        self.is_other |= axis != previous_axis
        self.axes[call] = axis
        self.guessed.discard(call)
        return axis

    def end_first(self) -> bool:
        """End the first batch; return whether the axis of a layer changed after the first run.

        A guessed axis without confirmation by the second run becomes None, and counts as changed.
        """
        for call in self.guessed:  # not confirmed by the second run
            self.axes[call], self.is_other = None, True
        self.few, self.is_first = 0, False
        return self.is_other

    def why(self, call: LayerCall, shape: Sequence[int], samples: int) -> str:
        """Return, without raising, the error message with the remedy for a layer output of the
        shape ``shape`` without a sample axis."""
        previous_shape = self.shapes.get(call, ())
        note = f"{tuple(shape)}, not one row for each of {samples}"
        if self.few:
            note = (
                f"{previous_shape} for {self.samples} samples and {tuple(shape)} for {samples} of "
                "them, so no axis has the samples"
            )
        return (
            f'layer {call[0]!r} returns {note}; leave it out, or set samples="y", the entry of a '
            "batch with one row per sample; if its axes are (time, samples, features), pass "
            f"time_first=[{call[0]!r}] to rs.extract_features"
        )


def batch_first_option(module: Any) -> bool | None:
    """Return ``batch_first`` of a recurrent module or of a PyTorch transformer; None if the module
    does not declare ``batch_first``."""
    for part in module.modules() if _is_transformer(module) else (module,):
        if isinstance(declared := getattr(part, "batch_first", None), bool):
            return declared
    return None


def _is_transformer(module: Any) -> bool:
    kind = type(module)
    return kind.__name__.startswith("Transformer") and kind.__module__.startswith("torch.nn")


def has_channels_second(module: Any, shape: Sequence[int]) -> bool:
    """Return whether an output (samples, a, b) surely has channels on the second axis.

    True for a 1-D pooling, and for a module with a 1-D convolution or normalization in which a part
    declares ``a`` channels and no part declares ``b`` features.
    """
    parts = list(module.modules())
    if type(module).__name__ in POOLINGS_1D:
        return True
    kinds = {type(part).__name__ for part in parts}
    channels = {n for part in parts for n in _attribute_numbers(part, CHANNEL_ATTRIBUTES)}
    features = {n for part in parts for n in _attribute_numbers(part, FEATURE_ATTRIBUTES)}
    features |= {getattr(part, "normalized_shape", (0,))[-1] for part in parts}
    is_line = bool(kinds & {*CONVOLUTIONS_1D, "BatchNorm1d", "InstanceNorm1d"})
    return is_line and shape[1] in channels and shape[2] not in features


def may_have_channels_second(model: Any, module: Any, shape: Sequence[int]) -> bool:
    """Return whether an output (samples, a, b) may be tokens or channels: the model has a 1-D
    convolution with ``a`` channels, and no part of the module declares ``b`` features."""
    parts = list(module.modules())
    features = {n for part in parts for n in _attribute_numbers(part, FEATURE_ATTRIBUTES)}
    features |= {getattr(part, "normalized_shape", (0,))[-1] for part in parts}
    if shape[2] in features:
        return False
    widths = [
        _attribute_numbers(part, CHANNEL_ATTRIBUTES)
        for part in model.modules()
        if type(part).__name__ in CONVOLUTIONS_1D
    ]
    return any(shape[1] in numbers for numbers in widths)


def _attribute_numbers(module: Any, names: Sequence[str]) -> list[int]:
    values = [getattr(module, name, None) for name in names]
    return [value for value in values if type(value) is int and value > 0]


def token_mask_of_layer(model: Any, layer: str, tokens: int, batch: Batch) -> np.ndarray | None:
    """Return the mask of real tokens, (samples, tokens), for a layer with ``tokens`` tokens.

    Encoder and decoder have separate masks. An audio model reduces the mask of its input to the
    number of its frames. None for a layer of an image tower, for a batch without mask, and for a
    mask of another length that the model cannot reduce.
    """
    words, masks = layer.split("."), batch.masks
    if any(word in IMAGE_TOWERS for word in words):
        return None
    is_second = "decoder" in words and getattr(
        getattr(model, "config", None), "is_encoder_decoder", False
    )
    mask = masks.get(MASK_ENTRIES[is_second])
    if mask is None or mask.shape[1] == tokens:
        return mask
    reduce = getattr(model, REDUCE_MASK_METHOD, None)
    if reduce is None or tokens > mask.shape[1]:
        return None
    if (tensor := batch.keywords.get("attention_mask")) is None:
        return None
    reduced_mask = reduce(tokens, tensor).detach().cpu().numpy()
    return reduced_mask if reduced_mask.shape == (len(mask), tokens) else None
