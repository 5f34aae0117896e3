"""Run a PyTorch model over the batches of a loader, and collect its outputs and the outputs of its
layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from ..base.extras import import_optional
from ..base.progress import Progress, count_items, progress_reporter
from ..base.text import warn
from ..data.model_features import ModelFeatures
from ..data.representation import Representation
from .axes import SampleAxes
from .batches import Batch, check_not_shuffled, find_model_inputs, make_model_batch
from .modules import (
    check_called,
    expand_blocks_word,
    flatten_names,
    modules_by_patterns,
    watched_modules,
)
from .one_batch import (
    BatchResult,
    PoolSpec,
    check_pooling_word,
    detach_to_tensor,
    evaluation_mode,
    name_layer_calls,
    rows_of_batch,
)
from .variation import run_first_batch
from .wrappers import check_watchable, unwrap_model


def extract_module_features(
    model: Any,
    loader: Iterable[Any],
    layers: str | Sequence[str] | None = None,
    *,
    name: str = "",
    blocks: Sequence[str] = (),
    pool: str | Mapping[str, str] | None = None,
    outputs: bool = True,
    samples: str | None = None,
    time_first: str | Sequence[str] = (),
    progress: Progress = True,
) -> ModelFeatures:
    """Run a PyTorch model over batches and return the outputs of its layers in memory.

    The model runs in evaluation mode and without gradients, on the device of its parameters;
    afterwards the model is unchanged. Layers come in the order in which they finish, in the
    precision of the model, at least float32.

    Parameters
    ----------
    model : any ``torch.nn.Module``.
    loader : the batches, of a ``DataLoader`` that does not shuffle, or of a list. A batch is a
        tensor; a tuple or list that begins with the input, or with as many tensors as the model
        requires; a mapping of keyword arguments (the entries "labels" and "label" are dropped); or
        a graph of PyTorch Geometric.
    layers : names of ``model.named_modules()``, or patterns such as ``"encoder.layer.*"``, where
        ``*`` matches within one level of names and ``**`` matches across levels; or ``"blocks"``:
        the embeddings and blocks of the model, from :func:`resemblance.models.block_names`, even if
        a module has the name "blocks". A layer may return a tensor, or a tuple or output of
        ``transformers`` that begins with a tensor. A layer with several calls per batch, because
        its weights are shared or because it has no weights, becomes ``name#1``, ``name#2`` ...
        Names omit wrappers, such as ``module`` of ``DataParallel``. Without ``layers``: each module
        without submodules, and each graph convolution, if the result is or begins with a floating
        tensor with a row per sample. A warning names the left-out modules with more axes than maps,
        or with other rows.
    name : name of the model. Default: the name of its class.
    pool : how rows (n, d) are made of tokens (n, tokens, d): ``"mean"``, ``"max"``, ``"cls"`` or
        ``"first"``, ``"last"``, ``"flatten"``; and of maps (n, channels, height, width):
        ``"mean"``, ``"max"``, ``"flatten"``. Pass a single word for all layers, or a mapping from
        names or patterns of layers to words, with ``"mean"`` for all other layers. The default is
        ``"mean"`` everywhere, because ``"mean"`` suits all architectures: encoders are often
        compared with ``"cls"`` and decoders with ``"last"``, but a model does not declare its kind.
        An ``attention_mask`` in the batch keeps padding out of all layers with as many tokens. The
        mask may also be an entry of a tuple, if the model takes an input with this name. An audio
        model reduces the mask to its frames. A warning names a layer to which the mask does not
        apply, and other masks. The positions of a 1-D convolution, (n, channels, length), are
        pooled as tokens. Other shapes need ``"flatten"``.
    outputs : whether to keep the logits (n, classes), if the model returns logits: the returned
        value, its ``logits``, or the first element.
    samples : the entry of a mapping or graph with one row per sample. Default: the nodes of a
        graph; ``x`` of a mapping, or the first tensor. Pass ``"y"`` for graphs with one label per
        graph.
    time_first : names or patterns of layers with results (time, samples, features). Where possible,
        a second run on two samples alone shows which axis is the sample axis. Otherwise,
        ``batch_first`` of recurrent modules and PyTorch transformers decides.
    progress : show a bar on standard error, if standard error is a terminal, or call
        ``progress(done, total)`` after each batch; total is 0 for a loader of unknown length.
    blocks : the layers for the word ``"blocks"``, of a model that names its blocks.

    Raises ``ValueError`` for a layer that does not exist, is not called, or has no row per sample;
    for a model with a failing forward pass; for tokens, maps or outputs that cannot become rows of
    equal length; and for an empty or shuffling loader, because the next model would return rows of
    other samples.
    """
    title, model = name or type(model).__name__, _unwrap_watchable_model(model)
    words = None if layers is None else expand_blocks_word(model, layers, blocks)
    modules = watched_modules(model, None if words is None else flatten_names(words))
    options: Any = {"lenient": layers is None, "outputs": outputs, "time_first": time_first}
    batch_results = _results_by_batch(
        {"": model}, {"": modules}, loader, pool, samples, progress, **options
    )
    results = [result[""] for result in batch_results]
    if not results:
        raise ValueError(
            "the loader returned no batch; a used iterator is empty: pass a list or a loader"
        )
    arrays = _joined_layers(title, [result.rows[""] for result in results], layers is None)
    check_called(words, pool if isinstance(pool, Mapping) else (), modules, arrays)
    logits = _joined_logits([result.logits for result in results])
    return ModelFeatures(
        title, {k: Representation(array, k) for k, array in arrays.items()}, logits
    )


def layers_by_batch(
    models: Mapping[str, Any],
    loader: Iterable[Any],
    layers: str | Sequence[str] | None,
    pool: PoolSpec,
    samples: str | None,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """Yield a mapping for each batch: the rows (n, d) of all layers of all models, as tensors on
    the device of each model.

    ``models``: modules by name. ``loader``: the batches. ``layers``: names or patterns; None for
    each module without submodules. ``pool``: a pooling word, or a word by layer. ``samples``: the
    entry of a batch with a row per sample. A layer is called ``model/layer``, or ``layer`` for the
    model with the name "". Raises ``ValueError`` for unknown or uncalled layers, and for a loader
    that shuffles.
    """
    models = {name: _unwrap_watchable_model(model) for name, model in models.items()}
    words = {
        name: None if layers is None else expand_blocks_word(model, layers)
        for name, model in models.items()
    }
    modules = {
        name: _find_watched_modules(name, model, words[name]) for name, model in models.items()
    }
    options: Any = {"lenient": layers is None, "outputs": False, "convert": detach_to_tensor}
    patterns = pool if isinstance(pool, Mapping) else ()
    for results in _results_by_batch(models, modules, loader, pool, samples, progress, **options):
        rows: dict[str, Any] = {}
        for name, result in results.items():
            rows_by_call = name_layer_calls(result.rows[""])
            check_called(words[name], patterns, modules[name], rows_by_call)
            rows |= {f"{name}/{title}" if name else title: r for title, r in rows_by_call.items()}
        yield rows


def _unwrap_watchable_model(model: Any) -> Any:
    """Return the PyTorch module inside wrappers, after a check that hooks can watch its layers. An
    object without ``named_modules`` is returned unchanged."""
    if hasattr(model, "named_modules"):
        check_watchable(model, "the model")
        return unwrap_model(model)
    return model


def _find_watched_modules(
    name: str, model: Any, words: Mapping[str, Sequence[str]] | None
) -> dict[str, Any]:
    try:
        return watched_modules(model, None if words is None else flatten_names(words))
    except ValueError as error:
        raise ValueError(f"{name}: {error}" if name else str(error)) from None


def _results_by_batch(
    models: Mapping[str, Any],
    modules: Mapping[str, Mapping[str, Any]],
    loader: Iterable[Any],
    pool: PoolSpec,
    samples: str | None,
    progress: Progress,
    time_first: str | Sequence[str] = (),
    **options: Any,
) -> Iterator[dict[str, BatchResult]]:
    """Yield the results of all models, by model name, for each batch.

    ``models``: PyTorch modules by name. ``modules``: the watched modules, by model name and then by
    module name. ``loader``: the batches. ``pool``: a pooling word, or a word by layer. ``samples``:
    the entry of a batch with a row per sample. ``time_first``: names or patterns of layers.
    ``options`` go to :func:`rows_of_batch`.
    """
    torch = import_optional("torch")
    check_pooling_word(pool)
    if isinstance(loader, torch.Tensor | Mapping):
        raise ValueError("loader must give batches; for a single batch pass [batch]")
    check_not_shuffled(loader)
    inputs = {name: find_model_inputs(model) for name, model in models.items()}
    total = len(loader) if isinstance(loader, Sized) else None
    with ExitStack() as stack:
        devices = {n: stack.enter_context(evaluation_mode(torch, m)) for n, m in models.items()}
        count = stack.enter_context(progress_reporter(progress, total, "running the model"))

        axes = {n: SampleAxes(modules_by_patterns(time_first, modules[n])) for n in models}

        def run(name: str, batch: Batch) -> BatchResult:
            arguments = (models[name], batch, modules[name], {"": pool})
            return rows_of_batch(*arguments, axes=axes[name], **options)

        for k, raw_batch in enumerate(count_items(loader, count)):
            results = {}
            for name, model in models.items():
                batch = make_model_batch(torch, raw_batch, devices[name], inputs[name], samples)
                if k > 0:
                    results[name] = run(name, batch)
                    continue
                title, run_model = name or type(model).__name__, partial(run, name)
                results[name], _ = run_first_batch(
                    title, batch, run_model, axes[name], devices[name]
                )
            yield results


def _joined_logits(batches: list[np.ndarray | None]) -> np.ndarray | None:
    arrays = [logits for logits in batches if logits is not None]
    if arrays and len(arrays) < len(batches):
        raise ValueError(
            "the model returns logits (n_samples, n_classes) for some batches only; pass "
            "outputs=False"
        )
    return _concatenate_batch_rows("outputs", arrays) if arrays else None


def _joined_layers(
    model_name: str, batches: list[dict[tuple[str, int], np.ndarray]], lenient: bool
) -> dict[str, np.ndarray]:
    """Return one array over all batches per layer, or per call of a layer with several calls per
    batch.

    ``batches``: for each batch, the rows by layer and number of the call. ``lenient``: leave out
    the calls that some batches lack, with a warning; otherwise raise ``ValueError``. Also raises
    ``ValueError`` if no call is in all batches.
    """
    common_calls = set.intersection(*(set(rows) for rows in batches))
    partial_calls = sorted(set().union(*batches) - common_calls)
    if partial_calls and not lenient:
        raise ValueError(
            f"layer {partial_calls[0][0]!r} is called less often for some batches than for "
            "others; leave it out"
        )
    if lenient and not common_calls:
        raise ValueError(
            "no module of the model returns one floating tensor with a row per sample; name layers"
        )
    if partial_calls:
        names = ", ".join(repr(name) for name in dict.fromkeys(layer for layer, _ in partial_calls))
        warn(
            f"{model_name}: modules that some batches call less often than others are left out: "
            f"{names}; run the batches that call these modules separately"
        )
    keys = [key for key in batches[0] if key in common_calls]
    arrays_by_call = {key: [rows[key] for rows in batches] for key in keys}
    return {
        title: _concatenate_batch_rows(title, rows)
        for title, rows in name_layer_calls(arrays_by_call).items()
    }


def _concatenate_batch_rows(title: str, arrays: list[np.ndarray]) -> np.ndarray:
    widths = {array.shape[1] for array in arrays}
    if len(widths) > 1:
        sizes = f"{min(widths)} to {max(widths)}"
        raise ValueError(
            f"{title} gives {sizes} values per row; give inputs of one size, or do not pool "
            f'"flatten"'
        )
    return np.concatenate(arrays)
