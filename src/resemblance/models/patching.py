"""Activation patching: put the activations of a layer of one model into another model of the same
architecture, and count the predictions that follow."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.extras import import_optional
from ..base.formatting import count_with_noun, format_level, format_percent, layer_words
from ..base.progress import Progress, count_items, progress_reporter
from ..base.results import BaseResult
from ..comparison.comparison import Failure
from ..contracts._measure import Measure
from ..engine.arguments import select_measures
from ..significance.resampling import bootstrap_counts, check_confidence_level, percentile_interval
from . import LoadedModel, Samples, load_samples
from .batches import Batch, find_model_inputs, make_model_batch
from .extraction import PreparedBatches, check_batch_size
from .hooks import extract_module_features
from .modules import expand_blocks_word, flatten_names, watched_modules
from .one_batch import evaluation_mode, model_logits
from .two_models import load_with_unique_name

ONNX_MODEL_TYPE = "OnnxModel"


class PatchedLayer(NamedTuple):
    """A layer, the share of differing predictions that move, the ends of the interval of the share,
    and the similarity of the layer in the two models (NaN if undefined)."""

    layer: str
    moved: float
    low: float
    high: float
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class LayerPatches(BaseResult):
    """The result of :func:`resemblance.patch_models`.

    ``receiver`` is the model whose layers are replaced, ``donor`` the model that the activations
    come from. ``n_different``: the number of samples, of ``n_samples``, with different predictions
    of the two models. ``layers``: a ``PatchedLayer`` for each layer, in the order of the
    model. ``predictions``: the predicted classes (n_samples,) of the two models and, by the name of
    a layer, of the receiver with this layer of the donor. ``failures``: the layers with an
    undefined similarity, with the reasons.
    """

    receiver: str
    donor: str
    measure: str
    n_samples: int
    n_different: int
    confidence_level: float
    layers: tuple[PatchedLayer, ...]
    predictions: Mapping[str, np.ndarray]
    caveats: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def verdict(self) -> str:
        """The number of different predictions, and the layers that move the largest share."""
        largest = max(layer.moved for layer in self.layers)
        most = [layer.layer for layer in self.layers if layer.moved == largest]
        share = format_percent(largest)
        if not largest:
            words = "no layer moves any of these predictions"
        elif len(most) == 1:
            words = f"the layer that moves the largest share is {layer_words(most)}, {share}"
        else:
            words = f"the layers that move the largest share are {layer_words(most)}, {share} each"
        return (
            f"{self.receiver} and {self.donor} predict different classes for {self.n_different} of "
            f"{count_with_noun(self.n_samples, 'sample')}; {words}."
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one record per layer: layer, moved, low, high, measure, similarity. ``low`` and
        ``high`` are the ends of the interval of ``moved``. The similarity is None if undefined."""
        return [
            {
                **layer._asdict(),
                "measure": self.measure,
                "similarity": None if np.isnan(layer.similarity) else layer.similarity,
            }
            for layer in self.layers
        ]

    def summary(self) -> str:
        """Return the counts in one line, and a line for each layer."""
        width = max(len("layer"), *(len(layer.layer) for layer in self.layers))
        interval = f"{format_level(self.confidence_level)} interval"
        lines = [
            f"{self.receiver} and {self.donor} predict different classes for {self.n_different} of "
            f"{count_with_noun(self.n_samples, 'sample')}; share of these for which "
            f"{self.receiver} predicts the class of {self.donor} with this layer of {self.donor}:",
            "",
            f"{'layer':<{width}}  moved  {interval:>16}  {self.measure}",
        ]
        lines += [
            f"{name:<{width}}  {moved:5.2f}  {f'{low:.2f} to {high:.2f}':>16}  {similarity:.3f}"
            for name, moved, low, high, similarity in self.layers
        ]
        lines += [f"{failure.x}: no {self.measure}: {failure.reason}" for failure in self.failures]
        return "\n".join(lines)


def patch_models(
    receiver: Any,
    donor: Any,
    data: Any,
    *,
    layers: str | Sequence[str] = "blocks",
    column: str | None = None,
    max_samples: int | None = None,
    unique: bool = False,
    measure: str | Measure = "cka[estimator=debiased]",
    pool: str | Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    batch_size: int = 32,
    device: str | None = None,
    seed: int = 0,
    progress: Progress = True,
) -> LayerPatches:
    r"""Put every layer of a classifier into another, and count the predictions that move.

    Only samples with different predictions of the two models count. For a layer, the receiver runs
    with the activations of the donor at the layer; ``moved`` is the share of the counted samples
    for which the receiver then predicts the class of the donor. 0: the layer carries nothing of the
    difference that the rest of the receiver can use; 1: the layer carries the whole difference. The
    interval is the percentile interval of a bootstrap over samples. All layers share the draws, so
    that layers are compared on the same samples.

    Parameters
    ----------
    receiver, donor : two PyTorch models of equal architecture, in any of the forms of
        :func:`extract_features`, or pairs ``("name", model)``. Both return logits (n, classes).
        Both read the batches of the receiver.
    data, column, max_samples, unique : the samples, as in :func:`compare_models`.
    layers : names or patterns of modules, as in :func:`extract_features`. Default: the blocks. All
        outputs of a module are replaced, in every call.
    measure, pool : the similarity of the layer in the two models, at the last call.
    confidence_level : level of the intervals.
    batch_size, device, progress : as in :func:`extract_features`.
    seed : seed of the drawn samples and of the bootstrap.

    Raises ``ValueError`` for models of another architecture, for ONNX files, for models that
    prepare samples in different ways, for layers whose activations have other shapes in the other
    model, for models without logits, and for models that predict the same classes for all samples.

    Reference: Vig et al. 2020, "Investigating gender bias in language models using causal mediation
    analysis"; there activations come from another input, here from another model.
    """
    check_confidence_level("patch_models: confidence_level", confidence_level)
    check_batch_size("patch_models", batch_size)
    selected, _ = select_measures(measure)
    if len(selected) != 1:
        raise ValueError(
            f"patch_models: measure={measure!r} are {len(selected)} measures; name one"
        )
    similarity = selected[0]
    samples = load_samples(data, column=column, max_samples=max_samples, unique=unique, seed=seed)
    one = load_with_unique_name("patch_models", receiver, samples, device, [])
    other = load_with_unique_name("patch_models", donor, samples, device, [one.name])
    _check_equal_architectures(one, other)
    words = flatten_names(expand_blocks_word(one.module, layers, one.blocks))
    names = tuple(watched_modules(one.module, words))

    predictions = _patched_predictions(one, other, samples, names, batch_size, progress)
    ours, theirs = predictions[one.name], predictions[other.name]
    differs = ours != theirs
    if not differs.any():
        raise ValueError(
            f"patch_models: {one.name} and {other.name} predict the same classes for all "
            f"{len(ours)} samples, so no prediction can move; choose other samples"
        )
    features = [
        extract_module_features(
            model.module,
            _batches(one, samples, batch_size),
            names,
            pool=pool,
            outputs=False,
            progress=False,
        ).layers
        for model in (one, other)
    ]
    counts = bootstrap_counts(len(ours), seed=seed)
    tail = (1 - confidence_level) / 2
    rows, failures = [], []
    for name in names:
        follows = differs & (predictions[name] == theirs)
        with np.errstate(invalid="ignore"):  # a draw without differing samples
            drawn = (counts @ follows) / (counts @ differs)
        low, high = percentile_interval(drawn, (tail, 1 - tail))
        calls = [k for k in features[0] if k.partition("#")[0] == name]
        try:
            value = float(similarity(*(layers[calls[-1]] for layers in features)))
        except UndefinedError as error:
            value = np.nan
            failures.append(Failure(similarity.spec, name, name, str(error)))
        rows.append(PatchedLayer(name, float(follows.sum() / differs.sum()), low, high, value))
    return LayerPatches(
        one.name, other.name, similarity.label, len(ours), int(differs.sum()), confidence_level,
        tuple(rows), predictions, failures=tuple(failures),
    )  # fmt: skip


def _check_equal_architectures(one: LoadedModel, other: LoadedModel) -> None:
    for model in (one, other):
        if type(model.module).__name__ == ONNX_MODEL_TYPE:
            raise ValueError(
                f"patch_models: {model.name} is an ONNX file, whose layers can be read and not "
                "replaced; pass two PyTorch models"
            )
    first, second = _parts(one.module), _parts(other.module)
    for name in dict.fromkeys((*first, *second)):
        if first.get(name) != second.get(name):
            raise ValueError(
                f"patch_models: {one.name} and {other.name} have different architectures: "
                f"{name or 'the model'} is {first.get(name, 'missing')} and "
                f"{second.get(name, 'missing')}; compare them by compare_models"
            )
    if one.facts.get("preparation") != other.facts.get("preparation"):
        raise ValueError(
            f"patch_models: {one.name} and {other.name} prepare samples in different ways; pass "
            "both with one tokenizer or processor"
        )


def _parts(module: Any) -> dict[str, str]:
    """Return the class of each module and the shape of each weight of a model, as words by name."""
    classes = {name: type(part).__name__ for name, part in module.named_modules()}
    weights = {f"{k} (weights)": str(tuple(v.shape)) for k, v in module.state_dict().items()
               if hasattr(v, "shape")}  # fmt: skip
    return classes | weights


def _batches(model: LoadedModel, samples: Samples, size: int) -> Any:
    return PreparedBatches(model, samples, size) if samples.read else samples.stream()


def _patched_predictions(
    one: LoadedModel,
    other: LoadedModel,
    samples: Samples,
    names: Sequence[str],
    batch_size: int,
    progress: Progress,
) -> dict[str, np.ndarray]:
    """Return the predicted classes (n,) of ``one`` and ``other`` by model name, and of the patched
    ``one`` by layer name.

    A patch of a layer in ``names`` replaces the output of the layer by the output of the same layer
    in ``other`` for the same samples. Weights do not change.
    """
    torch = import_optional("torch")
    inputs, batches = find_model_inputs(one.module), _batches(one, samples, batch_size)
    total = len(batches) if samples.read else None
    classes: dict[str, list[np.ndarray]] = {name: [] for name in (one.name, other.name, *names)}
    with (
        evaluation_mode(torch, one.module) as device,
        evaluation_mode(torch, other.module) as other_device,
        progress_reporter(progress, total, f"patching {one.name}") as count,
    ):
        for raw_batch in count_items(batches, count):
            batch = make_model_batch(torch, raw_batch, device, inputs, None)
            given = make_model_batch(torch, raw_batch, other_device, inputs, None)
            outputs: dict[str, list[Any]] = {name: [] for name in names}
            parts = watched_modules(other.module, names)
            with _hooks({parts[k]: _recorder(outputs[k]) for k in names}):
                classes[other.name].append(_predict(other, given))
            classes[one.name].append(_predict(one, batch))
            for name, part in watched_modules(one.module, names).items():
                with _hooks({part: _replacer(name, outputs[name])}):
                    classes[name].append(_predict(one, batch))
    return {name: np.concatenate(parts) for name, parts in classes.items()}


def _predict(model: LoadedModel, batch: Batch) -> np.ndarray:
    """Return the predicted classes of a batch, (n,); an in-place operation of the model does not
    change the batch. Raises ``ValueError`` for a model without logits of two or more classes."""
    arguments, keywords = copy.deepcopy((batch.arguments, batch.keywords))
    result = model.module(*arguments, **keywords)
    logits = model_logits(result, batch.samples)
    if logits is None or logits.shape[1] == 1:
        shape = logits.shape if logits is not None else getattr(result, "shape", ())
        remedy = "pass classifiers, such as the model with its head"
        if (
            math.prod(shape) == batch.samples
        ):  # one logit per sample, (n_samples,) or (n_samples, 1)
            remedy = (
                f"{model.name} returns {tuple(shape)}, one logit z of each sample; wrap the model, "
                "so that the model returns a logit of each class, -z and z"
            )
        raise ValueError(
            f"patch_models: {model.name} returns no logits (n_samples, n_classes) of two or more "
            f"classes; {remedy}"
        )
    return logits.argmax(axis=1)


@contextmanager
def _hooks(hooks: Mapping[Any, Callable[..., Any]]) -> Iterator[None]:
    handles = [module.register_forward_hook(hook) for module, hook in hooks.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _recorder(outputs: list[Any]) -> Callable[..., None]:
    """Return a hook for a module that appends a copy of every output to ``outputs``; a copy,
    because later modules may work in place. The hook returns None."""

    def record(module: Any, arguments: Any, result: Any) -> None:
        outputs.append(copy.deepcopy(result))

    return record


def _replacer(name: str, outputs: Sequence[Any]) -> Callable[..., Any]:
    """Return a hook for the module ``name`` that replaces every output by a copy of the recorded
    output of the same call; the hook raises ``ValueError`` for another shape. ``outputs``: the
    recorded outputs, one per call."""
    calls = iter(outputs)

    def replace(module: Any, arguments: Any, result: Any) -> Any:
        donated = next(calls, None)
        if _shapes(donated) != _shapes(result):
            raise ValueError(
                f"patch_models: layer {name!r} gives {_shapes(result)} in one model and "
                f"{_shapes(donated)} in the other; choose layers of equal shapes"
            )
        return copy.deepcopy(donated)

    return replace


def _shapes(value: Any) -> Any:
    """Return the shapes of the tensors of an output, in the form of the output: a mapping, a list,
    or a single shape; the class name for other objects."""
    if hasattr(value, "detach"):
        return tuple(value.shape)
    if isinstance(value, Mapping):
        return {key: _shapes(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_shapes(entry) for entry in value]
    return type(value).__name__
