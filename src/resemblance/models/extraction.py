"""Extract the layers of a model for given samples, in memory or into a feature store batch by
batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.extras import import_optional
from ..base.locks import lock_folder
from ..base.progress import Progress, progress_reporter
from ..data.model_features import ModelFeatures
from ..data.representation import replace_rows
from . import LoadedModel, Samples, load_model, load_samples
from .axes import AxisError, SampleAxes
from .batches import Batch, find_model_inputs, make_model_batch
from .features import (
    GrowingArrays,
    StoreFacts,
    check_same_store,
    drop_missing_layers,
    finish_pass,
    merge_store_facts,
    open_features,
    open_or_create_store,
    recover_interrupted_passes,
)
from .hooks import extract_module_features
from .model_folder import NON_LAYER_ARRAYS, PASS_FOLDER_PREFIX, check_file_names
from .modules import (
    check_any_called,
    expand_blocks_word,
    modules_by_patterns,
    poolings_by_module,
    watched_modules,
)
from .one_batch import (
    BatchResult,
    check_pooling_word,
    detach_to_numpy,
    detach_to_tensor,
    evaluation_mode,
    name_layer_calls,
    rows_of_batch,
)
from .row_masks import kept_row_numbers, select_model_rows
from .samples import extend_digest
from .variation import run_first_batch
from .wrappers import list_model_modules

OUTPUTS_ARRAY, LABELS_ARRAY = NON_LAYER_ARRAYS
POOLED_AXES_KEY = "pooled"  # kinds of layer outputs besides vectors: tokens, positions
POOLING_BY_LAYER_KEY = "pooling by layer"
DEPENDENCE_KEY = "depends on"  # a cause besides the samples that changes rows


class ExtractionPass(NamedTuple):
    """One run of a model over the samples: the modules to watch by name, the poolings to compute,
    and whether to keep the logits."""

    modules: Mapping[str, Any]
    poolings: tuple[str, ...]
    with_outputs: bool
    asked: Mapping[str, Sequence[str]]  # modules by word; the model must call any of them
    sample_entry: str | None = None  # entry of a batch with a row per sample
    time_first: tuple[str, ...] = ()  # layers with time as the first axis


def extract_features(
    model: Any,
    data: Any,
    folder: str | Path | None = None,
    *,
    layers: str | Sequence[str] = "blocks",
    pool: str | Sequence[str] | Mapping[str, str] | None = None,
    name: str = "",
    batch_size: int = 32,
    device: str | None = None,
    mask: Any = None,
    outputs: bool = True,
    samples: str | None = None,
    time_first: str | Sequence[str] = (),
    progress: Progress = True,
) -> ModelFeatures:
    """Run a model over samples and return its layers, in memory or in the files of a folder.

    The model runs without gradients and in evaluation mode; afterwards the model is unchanged.
    Layers have the precision of the model, at least float32. With a folder, the layers are written
    batch by batch, and memory does not grow with the number of samples. After an interruption, or a
    kill, repeat the call: the extraction resumes with the interrupted batch, and the features are
    the same to the last bit. Features that the folder already contains are not computed again: a
    later call may ask for more layers or poolings.

    Parameters
    ----------
    model : a folder or ``"hf:NAME"`` of ``transformers``, ``"timm:NAME"``, ``"torchvision:NAME"``,
        ``"onnx:FILE"``, a ``.pt2`` file of ``torch.export``, ``"file.py:function"``, a
        ``torch.nn.Module``, or a pair of a module, or of ``"onnx:FILE"``, and the tokenizer,
        processor or function that makes a batch of samples.
    data : a text file, ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file, folder of images,
        ``.npy`` or ``.npz`` file, folder of a graph data set, ``"file.py:function"``; or texts,
        images, an array, a graph, or a loader that does not shuffle. A batch of a loader, or of a
        list, is a tensor; a tuple or list that begins with the input, or with as many tensors as
        the model requires; a mapping of keyword arguments (the entries "labels" and "label" are
        dropped); or a graph of PyTorch Geometric.
    folder : the folder for the features of the model. The folder must be new, or hold features of
        the same model and samples. Default: none; the features are in memory.
    layers : names of ``model.named_modules()`` or patterns: ``*`` matches within one level of
        names, ``**`` matches across levels. Default: the blocks of the architecture, from
        :func:`resemblance.models.block_names`. A layer with several calls per batch becomes
        ``name#1``, ``name#2`` ...
    pool : how tokens (n, tokens, d) become rows: ``"mean"``, ``"max"``, ``"cls"`` or ``"first"``,
        ``"last"``, ``"flatten"``; and how maps (n, channels, height, width) become rows:
        ``"mean"``, ``"max"``, ``"flatten"``. A mapping from names or patterns of layers to words
        sets a pooling per layer, with ``"mean"`` for all other layers. With a folder you can pass
        several words, computed in one run. Default: ``"mean"``. An ``attention_mask`` in the batch
        keeps padding out of all layers with as many tokens. An audio model reduces the mask to its
        frames. A warning names a layer to which the mask does not apply. The positions of a 1-D
        convolution are pooled as tokens. Other shapes need ``"flatten"``.
    name : name of the model. Default: the name of the folder, hub model or class.
    batch_size : samples per batch. Loaders have their own batch size.
    device : where the model runs, such as ``"cuda"``. Default: the GPU, if available, for a loaded
        model; the device of the weights for a module that you pass.
    mask : the samples to return: the name of a mask of a graph, such as ``"test_mask"``, n
        booleans, or numbers of rows. The model sees all samples, and a folder stores all samples.
        Default: all.
    outputs : whether to keep the logits (n, classes), if the model returns logits: the returned
        value, its ``logits``, or the first element.
    samples : the entry of a mapping or graph with one row per sample. Default: the nodes of a
        graph; ``x`` of a mapping, or the first tensor. Pass ``"y"`` for graphs with one label per
        graph.
    time_first : names or patterns of layers with results (time, samples, features). Where possible,
        a second run on two samples alone shows which axis is the sample axis. Otherwise,
        ``batch_first`` of recurrent modules and PyTorch transformers decides.
    progress : show a bar on standard error, if standard error is a terminal, or call
        ``progress(done, total)`` after each batch.

    Returns the :class:`ModelFeatures`, with the layers in the order of ``model.named_modules()``.
    With a folder, the features have the first pooling, as :func:`open_features` opens the folder,
    and ``traits`` contains the provenance of the model and the samples; :func:`open_features` opens
    the other poolings.

    Raises ``ValueError`` for a folder of another model, of other samples or settings; for layers
    that do not exist or are not called; for a model with a failing forward pass; for outputs that
    cannot become one row per sample; for rows of ``mask`` that do not exist; and for empty or
    shuffled data, because the next model would return rows of other samples.
    """
    if folder is not None and not isinstance(folder, str | Path):
        raise ValueError(
            f"extract_features: folder must be a path; got {type(folder).__name__}; pass the names "
            "of layers as layers=[...]"
        )
    loaded_samples = load_samples(data)
    loaded_model = load_model(model, name=name, device=device, samples=loaded_samples)
    check_batch_size("extract_features", batch_size)
    options: Any = {"outputs": outputs, "sample_entry": samples, "time_first": time_first}
    if folder is None:
        features = _extract_in_memory(
            loaded_model, loaded_samples, layers, pool, batch_size, progress, **options
        )
    else:
        features, *_ = extract_loaded_model(
            loaded_model,
            loaded_samples,
            Path(folder),
            layers,
            pool,
            batch_size,
            progress,
            **options,
        )
    numbers = kept_row_numbers("extract_features", mask, loaded_samples, features.last.shape[0])
    return select_model_rows(features, numbers)


def check_batch_size(function: str, batch_size: Any) -> None:
    """Raise ``ValueError``, naming ``function``, unless the batch size is a whole number of at
    least 1."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(
            f"{function}: batch_size must be a whole number, at least 1; got {batch_size!r}"
        )


@dataclass(frozen=True)
class PreparedBatches:
    """The batches of ``size`` samples as inputs of a model, prepared when the batch is read.
    ``len`` gives the number of batches."""

    model: LoadedModel
    samples: Samples
    size: int

    def __len__(self) -> int:
        return -(-len(self.samples) // self.size)

    def __iter__(self) -> Iterator[Any]:
        for items, _ in _remaining_batches(self.samples, self.size):
            yield _prepared_batch(self.model, items) if self.model.prepare else items


def _extract_in_memory(
    model: LoadedModel,
    samples: Samples,
    layers: str | Sequence[str],
    pool: Any,
    batch_size: int,
    progress: Progress,
    *,
    outputs: bool,
    sample_entry: str | None,
    time_first: str | Sequence[str],
) -> ModelFeatures:
    """Return the features of a model in memory, in the order of the modules, with the ids of the
    samples.

    ``layers``, ``time_first``: names or patterns of layers. ``pool``: a word, or a word by layer.
    ``sample_entry``: the entry of a batch with a row per sample. Samples without ids get ids from
    the fingerprint of the data. The labels are kept only if the outputs can be logits of the
    labels.
    """
    batches = PreparedBatches(model, samples, batch_size) if samples.read else samples.stream()
    features = extract_module_features(
        model.module,
        batches,
        layers,
        name=model.name,
        blocks=model.blocks,
        pool=pool,
        outputs=outputs,
        samples=sample_entry,
        time_first=time_first,
        progress=progress,
    )
    n = features.last.shape[0]
    if samples.ids is not None and len(samples.ids) != n:
        raise ValueError(
            f"{samples.name} has {len(samples.ids)} samples, and the layers have {n} rows"
        )
    ids = samples.ids
    if ids is None and samples.fingerprint is not None:
        ids = tuple(_sample_ids(samples.fingerprint, n))
    representations = {
        name: replace_rows(features.layers[name], features.layers[name].source, ids)
        for name in _in_model_order(features.layers, model.module)
    }
    is_labeled = features.outputs is not None and _are_classes(samples.labels, features.outputs)
    return replace(features, layers=representations, labels=samples.labels if is_labeled else None)


def _sample_ids(fingerprint: str, n: int) -> list[str]:
    """Return generated ids, "<start of the fingerprint>/<number>", for samples without ids."""
    return [f"{fingerprint[:12]}/{i}" for i in range(n)]


def _are_classes(labels: np.ndarray | None, outputs: np.ndarray) -> bool:
    """Return whether the outputs (n, classes) can be logits for the labels (n,): one label per row,
    from 0 to the number of columns - 1, and the largest label occurs. False without labels."""
    if labels is None or len(labels) != len(outputs):
        return False
    return bool(labels.min() >= 0 and labels.max() + 1 == outputs.shape[1])


def _in_model_order(layers: Iterable[str], module: Any) -> list[str]:
    """Return layer names in the order of the modules of a model; names of no module come last."""
    positions = {name: i for i, name in enumerate(list_model_modules(module))}
    return sorted(layers, key=lambda layer: positions.get(layer.partition("#")[0], len(positions)))


def extract_loaded_model(
    model: LoadedModel,
    samples: Samples,
    folder: Path,
    layers: str | Sequence[str],
    pool: str | Sequence[str] | Mapping[str, str] | None,
    batch_size: int,
    progress: Progress,
    *,
    outputs: bool = True,
    sample_entry: str | None = None,
    time_first: str | Sequence[str] = (),
) -> list[ModelFeatures]:
    """Extract the features of a loaded model into a folder, unless the folder has them, and return
    the requested layers, a :class:`ModelFeatures` per pooling.

    ``layers``, ``time_first``: names or patterns of layers. ``pool``: a pooling word, several
    words, or words by layer; for a mapping the list has one element, with a pooling per layer.
    ``sample_entry``: the entry of a batch with a row per sample. Raises ``ValueError`` for features
    of another model or of other samples in the folder.
    """
    options: Any = {"outputs": outputs, "sample_entry": sample_entry, "time_first": time_first}
    if isinstance(pool, Mapping):
        return [
            _extract_by_pooling(model, samples, folder, layers, pool, batch_size, progress, options)
        ]
    poolings = (pool or "mean",) if isinstance(pool, str | None) else tuple(dict.fromkeys(pool))
    for pooling in poolings or ("none",):
        check_pooling_word(pooling)
    matches, modules = _requested_modules(model, layers)
    check_file_names(modules)
    time_first_layers = modules_by_patterns(time_first, list_model_modules(model.module))
    settings = {
        "batch_size": batch_size if samples.read else None,
        "outputs": outputs,
        "samples": sample_entry,
        "time_first": sorted(time_first_layers),
    }
    count = samples.count if samples.read else None
    data_facts = {"name": samples.name, "kind": samples.kind, "n_samples": count}
    data_facts |= {"fingerprint": samples.fingerprint, **samples.facts}
    if folder.is_file():
        raise ValueError(f"{folder} is a file: features are kept in a folder; name another")
    facts = StoreFacts(model.name, model.facts, data_facts, settings)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, patience=0):
        recover_interrupted_passes(folder)
        facts = drop_missing_layers(folder, open_or_create_store(folder, facts))
        if missing_pass := _missing_pass(facts, matches, modules, poolings):
            missing_pass = missing_pass._replace(
                with_outputs=outputs and missing_pass.with_outputs,
                sample_entry=sample_entry,
                time_first=tuple(time_first_layers),
            )
            pass_key = json.dumps(
                [sorted(missing_pass.modules), sorted(missing_pass.poolings)]
            ).encode()
            arrays = GrowingArrays(
                folder / f"{PASS_FOLDER_PREFIX}{hashlib.sha256(pass_key).hexdigest()[:16]}"
            )
            if dependence := _append_remaining_batches(
                arrays, model, samples, missing_pass, batch_size, progress
            ):
                facts = replace(facts, model={**facts.model, DEPENDENCE_KEY: dependence})
            _store_finished_pass(folder, facts, missing_pass, arrays, samples, model.module)
        elif samples.fingerprint is None:
            # The fingerprint of a loader is known only after the last batch
            *_, content = ["", *(digest for _, digest in _remaining_batches(samples, batch_size))]
            check_same_store(folder, "data", {"fingerprint": content}, facts.data)
    model_features = [open_features(folder, pool=pooling) for pooling in poolings]
    return [_restrict_layers(features, modules) for features in model_features]


def _restrict_layers(features: ModelFeatures, modules: Mapping[str, Any]) -> ModelFeatures:
    layers = {k: r for k, r in features.layers.items() if k.partition("#")[0] in modules}
    return replace(features, layers=layers)


def _requested_modules(
    model: LoadedModel, layers: str | Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    """Return two mappings: the module names for each name, pattern or word in ``layers``, and all
    matching modules by name."""
    names = expand_blocks_word(model.module, layers, model.blocks)
    try:
        matches = {
            pattern: tuple(watched_modules(model.module, names[pattern])) for pattern in names
        }
        module_names = [name for names in matches.values() for name in names]
        modules = watched_modules(model.module, module_names)
    except ValueError as error:
        raise ValueError(f"{model.name}: {error}") from None
    return matches, modules


def _extract_by_pooling(
    model: LoadedModel,
    samples: Samples,
    folder: Path,
    layers: str | Sequence[str],
    pool: Mapping[str, str],
    batch_size: int,
    progress: Progress,
    options: Mapping[str, Any],
) -> ModelFeatures:
    """Return the features of a model with a pooling word per layer, from one run per word.

    ``pool`` maps names or patterns of layers to words; other layers have "mean". ``options``: the
    keyword arguments of :func:`extract_loaded_model`. The trait ``pooling`` is the most frequent
    word; the trait ``POOLING_BY_LAYER_KEY`` has the word of each layer.
    """
    modules = _requested_modules(model, layers)[1]
    check_pooling_word(pool)
    poolings, representations = poolings_by_module(pool, modules), dict[str, Any]()
    for pooling in dict.fromkeys(poolings.values()):
        names = [name for name, layer_pooling in poolings.items() if layer_pooling == pooling]
        (features,) = extract_loaded_model(
            model, samples, folder, names, pooling, batch_size, progress, **options
        )
        representations |= features.layers
    order = _in_model_order(representations, model.module)
    by_layer = {name: poolings[name.partition("#")[0]] for name in order}
    traits = {
        **features.traits,
        "pooling": max(set(poolings.values()), key=[*poolings.values()].count),
    }
    traits |= {POOLING_BY_LAYER_KEY: by_layer}
    return replace(features, layers={name: representations[name] for name in order}, traits=traits)


def _missing_pass(
    facts: StoreFacts,
    matches: Mapping[str, Sequence[str]],
    modules: Mapping[str, Any],
    poolings: Sequence[str],
) -> ExtractionPass | None:
    """Return one pass over all modules that lack a pooling in a store; None if the store is
    complete.

    ``matches``: module names by requested name or pattern. ``modules``: the requested modules by
    name. ``poolings``: the requested words. The pass computes each pooling that a module lacks, for
    all modules of the pass. The pass has outputs only for an empty store.
    """
    missing_by_pooling = {p: set(modules) - set(facts.modules.get(p, ())) for p in poolings}
    missing_names = set().union(*missing_by_pooling.values())
    pass_names = [name for name in modules if name in missing_names]
    if not pass_names:
        return None
    pools = tuple(p for p, names in missing_by_pooling.items() if names)
    # Check a word in the run with all modules of the word
    pass_matches = {
        pattern: names for pattern, names in matches.items() if set(names) <= set(pass_names)
    }
    return ExtractionPass(
        {name: modules[name] for name in pass_names}, pools, not facts.modules, pass_matches
    )


def _append_remaining_batches(
    arrays: GrowingArrays,
    model: LoadedModel,
    samples: Samples,
    extraction_pass: ExtractionPass,
    batch_size: int,
    progress: Progress,
) -> str:
    """Run the model on the batches that ``arrays`` lacks, and append the rows to the files of
    ``arrays``. ``extraction_pass``: the modules and poolings. ``batch_size``: samples per batch.

    Return the cause if rows depend on more than their samples, otherwise "". Raises ``ValueError``
    if the finished batches belong to other samples, and if there is no batch.
    """
    torch = import_optional("torch")
    inputs = find_model_inputs(model.module)
    n_done = arrays.written.batches
    dependence = ""
    first_index = n_done if samples.read else 0  # a loader begins with finished batches
    total = 1 if samples.kind == "graph" else None
    total = -(-len(samples) // batch_size) if samples.read else total
    batches = _remaining_batches(
        samples, batch_size, first_index, arrays.written.digest if first_index else ""
    )
    with (
        evaluation_mode(torch, model.module) as device,
        progress_reporter(progress, total, f"running {model.name}") as count,
    ):
        axes = SampleAxes(extraction_pass.time_first)
        run = partial(_run_model_on_batch, model, extraction_pass, device, axes)
        count(n_done)
        digest = arrays.written.digest
        for k, (items, digest) in enumerate(batches, first_index):
            if k >= n_done:
                raw_batch = (
                    _prepared_batch(model, items) if samples.read and model.prepare else items
                )
                batch = make_model_batch(
                    torch, raw_batch, device, inputs, extraction_pass.sample_entry
                )
                if k == n_done:
                    result, dependence = run_first_batch(model.name, batch, run, axes, device)
                else:
                    result = run(batch)
                arrays.append(_rows_by_file(result, extraction_pass), digest, result.pooled)
                count(1)
            elif k == n_done - 1:
                _check_rows_on_disk(arrays, digest)
    if not arrays.written.batches:
        raise ValueError(
            f"{samples.name} has no samples; a used iterator is empty: pass a list or a loader"
        )
    _check_rows_on_disk(arrays, digest)  # a loader may have fewer batches than before
    return dependence


def _check_rows_on_disk(arrays: GrowingArrays, digest: str) -> None:
    """Raise ``ValueError`` unless ``digest``, the fingerprint of the samples read so far, is the
    recorded fingerprint of the rows on disk."""
    if digest != arrays.written.digest:
        raise ValueError(
            f"the first {arrays.written.batches} batches differ from the batches of the "
            "interrupted run; pass the same samples in the same order, or choose another folder"
        )


def _remaining_batches(
    samples: Samples, size: int, first_index: int = 0, digest: str = ""
) -> Iterator[tuple[Any, str]]:
    """Yield each batch of ``size`` samples from number ``first_index`` on, with the fingerprint of
    all samples up to the end of the batch.

    ``digest``: the fingerprint of the samples before ``first_index``. A loader has batches of its
    own size, cannot skip batches, and yields all. The batch size does not change the fingerprint of
    separately read samples.
    """
    starts = range(first_index * size, len(samples), size) if samples.read else ()
    batches = (samples.batch(start, start + size) for start in starts)
    for batch in batches if samples.read else samples.batches():
        for value in batch if samples.read else (batch,):
            digest = extend_digest(digest, value)
        yield batch, digest


def _prepared_batch(model: LoadedModel, items: Any) -> Any:
    assert model.prepare is not None
    try:
        return model.prepare(items)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:  # user code may raise anything
        raise ValueError(
            f"{model.name}: preparing a batch of {len(items)} samples fails: "
            f"{type(error).__name__}: {error}"
        ) from error


def _run_model_on_batch(
    model: LoadedModel, extraction_pass: ExtractionPass, device: Any, axes: SampleAxes, batch: Batch
) -> BatchResult:
    pools = {pooling: pooling for pooling in extraction_pass.poolings}
    convert = None if device.type == "cpu" else detach_to_tensor  # pool on the device, then copy
    options: Any = {"outputs": extraction_pass.with_outputs, "convert": convert, "axes": axes}
    try:
        return rows_of_batch(model.module, batch, extraction_pass.modules, pools, **options)
    except AxisError as error:
        raise AxisError(f"{model.name}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{model.name}: {error}") from error


def _rows_by_file(result: BatchResult, extraction_pass: ExtractionPass) -> dict[str, np.ndarray]:
    """Return the rows of a batch, (n, d), by file name without suffix: ``pooling.layer``, or
    ``outputs``. Raises ``ValueError`` for a requested name or pattern of which no module was
    called."""
    rows = {
        f"{pooling}.{layer}": values if isinstance(values, np.ndarray) else detach_to_numpy(values)
        for pooling, call_rows in result.rows.items()
        for layer, values in name_layer_calls(call_rows).items()
    }
    called_modules = {name.partition(".")[2].partition("#")[0] for name in rows}
    for pattern, names in extraction_pass.asked.items():
        check_any_called(pattern, names, called_modules)
    return rows if result.logits is None else {**rows, OUTPUTS_ARRAY: result.logits}


def _store_finished_pass(
    folder: Path,
    facts: StoreFacts,
    extraction_pass: ExtractionPass,
    arrays: GrowingArrays,
    samples: Samples,
    model: Any,
) -> None:
    """Move the complete arrays of a pass into the store, and write the new facts of the store.

    Outputs that are not finite are left out. Labels are stored if the outputs can be logits of the
    labels.
    """
    n, names = arrays.written.rows, list(arrays.written.arrays)
    pooled = set(arrays.written.pooled).union(facts.model.get(POOLED_AXES_KEY, ()))
    facts = replace(facts, model={**facts.model, POOLED_AXES_KEY: sorted(pooled)})
    # The fingerprint of a loader is the fingerprint of its batches
    fingerprint = samples.fingerprint or arrays.written.digest
    data = dict(facts.data) | {"n_samples": n, "fingerprint": fingerprint}
    check_same_store(folder, "data", data, facts.data)
    if samples.ids is not None and len(samples.ids) != n:
        raise ValueError(
            f"{samples.name} has {len(samples.ids)} samples, and the layers have {n} rows"
        )
    if OUTPUTS_ARRAY in names:
        outputs, labels = np.load(arrays.path(OUTPUTS_ARRAY), mmap_mode="r"), samples.labels
        if not np.isfinite(outputs).all():
            names.remove(OUTPUTS_ARRAY)
            reason = "left out: they have NaN or infinite values"
            facts = replace(facts, model={**facts.model, OUTPUTS_ARRAY: reason})
        elif labels is not None and _are_classes(labels, outputs):
            np.save(arrays.path(LABELS_ARRAY), labels)  # the outputs can be logits of the labels
            names.append(LABELS_ARRAY)
    order = list(list_model_modules(model))
    layers: dict[str, list[str]] = {pooling: [] for pooling in extraction_pass.poolings}
    for pooling, dot, layer in (name.partition(".") for name in names):
        if dot:
            layers[pooling].append(layer)
    facts = merge_store_facts(facts, data, layers, list(extraction_pass.modules), order)
    ids = samples.ids or _sample_ids(fingerprint, n)
    finish_pass(folder, [arrays.path(name) for name in names], facts, ids)
