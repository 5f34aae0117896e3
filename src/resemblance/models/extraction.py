"""The layers of a model for given samples, written to a store batch by batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.extras import import_optional
from ..base.locks import lock_folder
from ..base.progress import Progress, progress_reporter
from ..data.model_features import ModelFeatures
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
from .model_folder import NON_LAYER_ARRAYS, PASS_FOLDER_PREFIX, check_file_names
from .modules import check_any_called, poolings_by_module, watched_modules
from .one_batch import (
    BatchResult,
    check_pooling_word,
    detach_to_numpy,
    detach_to_tensor,
    evaluation_mode,
    name_layer_calls,
    rows_of_batch,
)
from .samples import extend_digest
from .variation import run_first_batch
from .wrappers import list_model_modules

OUTPUTS_ARRAY, LABELS_ARRAY = NON_LAYER_ARRAYS
POOLED_AXES_KEY = "pooled"  # what a model's layers return besides vectors: tokens, positions
POOLING_BY_LAYER_KEY = "pooling by layer"
DEPENDENCE_KEY = "depends on"  # what else than its samples the rows of a batch depend on


class ExtractionPass(NamedTuple):
    """One run of a model over the samples: the modules to watch, and their poolings."""

    modules: Mapping[str, Any]
    poolings: tuple[str, ...]
    with_outputs: bool
    asked: Mapping[str, Sequence[str]]  # the modules of each word, one of which must be called


def extract_features(
    model: Any,
    data: Any,
    folder: str | Path,
    *,
    layers: str | Sequence[str] = "blocks",
    pool: str | Sequence[str] | Mapping[str, str] | None = None,
    name: str = "",
    batch_size: int = 32,
    device: str | None = None,
    progress: Progress = True,
) -> ModelFeatures:
    """Run a model over samples, write its layers to a folder batch by batch, and return them.

    Memory does not grow with the number of samples. After an interruption, or a kill, the same call
    goes on with the batch that was cut short, and the features are the same to the last bit. What
    the folder has is not computed again: a later call may ask for more layers or poolings.

    Parameters
    ----------
    model : a folder or ``"hf:NAME"`` of ``transformers``, ``"timm:NAME"``, ``"torchvision:NAME"``,
        a ``.pt2`` file of ``torch.export``, ``"file.py:function"``, a ``torch.nn.Module``, or a
        pair of a module and the tokenizer, processor or function that makes a batch of samples.
    data : a text file, ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file, folder of images,
        ``.npy`` or ``.npz`` file, folder of a graph data set, ``"file.py:function"``; or texts,
        images, an array, a graph, or a loader that does not shuffle.
    folder : of this model. It must hold this model and these samples, or be new.
    layers : names of ``model.named_modules()`` or patterns, in which ``*`` does not cross dots and
        ``**`` does. Default: the blocks of the architecture.
    pool : how tokens and maps become rows, such as ``"mean"``, ``"cls"`` or ``"last"``; several,
        computed in one run; or a mapping from names or patterns of layers to words, ``"mean"`` for
        others, with a run for each word. Default: ``"mean"``.
    name : of the model; by default that of its folder, hub name or class.
    batch_size : samples of a batch. Loaders have their own.
    device : where the model runs, such as ``"cuda"``. Default: for a model that is loaded the
        GPU, if there is one; for a module that is passed where its weights are.
    progress : show a bar on standard error, if that is a terminal, or call ``progress(done,
        total)`` after each batch.

    Returns the :class:`ModelFeatures` of the first pooling; :func:`open_features` opens others.

    Raises ``ValueError`` for a folder of another model, of other samples or settings, for layers
    that do not exist, and for what cannot become one row per sample.
    """
    samples = load_samples(data)
    loaded = load_model(model, name=name, device=device, samples=samples)
    return extract_loaded_model(loaded, samples, Path(folder), layers, pool, batch_size, progress)[
        0
    ]


def extract_loaded_model(
    loaded: LoadedModel,
    samples: Samples,
    folder: Path,
    layers: str | Sequence[str],
    pool: str | Sequence[str] | Mapping[str, str] | None,
    batch_size: int,
    progress: Progress,
) -> list[ModelFeatures]:
    """Do what :func:`extract_features` does, for a model and samples that are loaded, and return a
    model for each pooling."""
    if isinstance(pool, Mapping):
        return [_extract_by_pooling(loaded, samples, folder, layers, pool, batch_size, progress)]
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(
            f"extract_features: batch_size must be a whole number, at least 1; got {batch_size!r}"
        )
    poolings = (pool or "mean",) if isinstance(pool, str | None) else tuple(dict.fromkeys(pool))
    for word in poolings or ("none",):
        check_pooling_word(word)
    asked, modules = _requested_modules(loaded, layers)
    settings = {"batch_size": batch_size if samples.read else None}
    count = samples.count if samples.read else None
    about = {"name": samples.name, "kind": samples.kind, "n_samples": count}
    about |= {"fingerprint": samples.fingerprint, **samples.facts}
    if folder.is_file():
        raise ValueError(f"{folder} is a file: features are kept in a folder; name another")
    facts = StoreFacts(loaded.name, loaded.facts, about, settings)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, patience=0):
        recover_interrupted_passes(folder)
        facts = drop_missing_layers(folder, open_or_create_store(folder, facts))
        if todo := _missing_pass(facts, asked, modules, poolings):
            computed = json.dumps([sorted(todo.modules), sorted(todo.poolings)]).encode()
            arrays = GrowingArrays(
                folder / f"{PASS_FOLDER_PREFIX}{hashlib.sha256(computed).hexdigest()[:16]}"
            )
            if varies := _append_remaining_batches(
                arrays, loaded, samples, todo, batch_size, progress
            ):
                facts = replace(facts, model={**facts.model, DEPENDENCE_KEY: varies})
            _store_finished_pass(folder, facts, todo, arrays, samples, loaded.module)
        elif samples.fingerprint is None:
            # That of a loader, which must be read for it
            *_, content = ["", *(digest for _, digest in _remaining_batches(samples, batch_size))]
            check_same_store(folder, "data", {"fingerprint": content}, facts.data)
    model_features = [open_features(folder, pool=word) for word in poolings]
    return [_restrict_layers(features, modules) for features in model_features]


def _restrict_layers(features: ModelFeatures, modules: Mapping[str, Any]) -> ModelFeatures:
    chosen = {k: r for k, r in features.layers.items() if k.partition("#")[0] in modules}
    return replace(features, layers=chosen)


def _requested_modules(
    loaded: LoadedModel, layers: str | Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    """Return the modules of each name, pattern or word, and all of them by name."""
    words = [layers] if isinstance(layers, str) else layers
    names = {word: loaded.blocks if word == "blocks" else [word] for word in words}
    try:
        asked = {word: tuple(watched_modules(loaded.module, names[word])) for word in names}
        everything = [name for names in asked.values() for name in names]
        modules = watched_modules(loaded.module, everything)
    except ValueError as error:
        raise ValueError(f"{loaded.name}: {error}") from None
    check_file_names(modules)
    return asked, modules


def _extract_by_pooling(
    loaded: LoadedModel,
    samples: Samples,
    folder: Path,
    layers: str | Sequence[str],
    pool: Mapping[str, str],
    batch_size: int,
    progress: Progress,
) -> ModelFeatures:
    """Return a model each of whose layers has a pooling of its own, with a run for each word."""
    modules = _requested_modules(loaded, layers)[1]
    check_pooling_word(pool)
    words, parts = poolings_by_module(pool, modules), dict[str, Any]()
    for word in dict.fromkeys(words.values()):
        names = [name for name, of_layer in words.items() if of_layer == word]
        (features,) = extract_loaded_model(
            loaded, samples, folder, names, word, batch_size, progress
        )
        parts |= features.layers
    order = [
        name
        for module in list_model_modules(loaded.module)
        for name in parts
        if _is_call(name, module)
    ]
    by_layer = {name: words[name.partition("#")[0]] for name in order}
    traits = {**features.traits, "pooling": max(set(words.values()), key=[*words.values()].count)}
    traits |= {POOLING_BY_LAYER_KEY: by_layer}
    return replace(features, layers={name: parts[name] for name in order}, traits=traits)


def _is_call(layer: str, module: str) -> bool:
    return layer.partition("#")[0] == module


def _missing_pass(
    facts: StoreFacts,
    asked: Mapping[str, Sequence[str]],
    modules: Mapping[str, Any],
    poolings: Sequence[str],
) -> ExtractionPass | None:
    """Return what a store lacks, as one pass; None if it has everything."""
    lacking = {p: set(modules) - set(facts.modules.get(p, ())) for p in poolings}
    somewhere = set().union(*lacking.values())
    absent = [name for name in modules if name in somewhere]
    if not absent:
        return None
    pools = tuple(p for p, names in lacking.items() if names)
    # A word is checked by the run that has all of its modules
    whole = {word: names for word, names in asked.items() if set(names) <= set(absent)}
    return ExtractionPass({name: modules[name] for name in absent}, pools, not facts.modules, whole)


def _append_remaining_batches(
    arrays: GrowingArrays,
    loaded: LoadedModel,
    samples: Samples,
    todo: ExtractionPass,
    batch_size: int,
    progress: Progress,
) -> str:
    """Append the rows of the batches that are left; return what else they depend on, if there is
    any."""
    torch, inputs, done = (
        import_optional("torch"),
        find_model_inputs(loaded.module),
        arrays.written.batches,
    )
    varies = ""
    first = done if samples.read else 0  # a loader begins with the batches that are done
    total = 1 if samples.kind == "graph" else None
    total = -(-len(samples) // batch_size) if samples.read else total
    batches = _remaining_batches(samples, batch_size, first, arrays.written.digest if first else "")
    with (
        evaluation_mode(torch, loaded.module) as device,
        progress_reporter(progress, total, f"running {loaded.name}") as count,
    ):
        axes = SampleAxes()
        run = partial(_run_model_on_batch, loaded, todo, device, axes)
        count(done)
        digest = arrays.written.digest
        for k, (part, digest) in enumerate(batches, first):
            if k >= done:
                raw = _prepared_batch(loaded, part) if samples.read and loaded.prepare else part
                batch = make_model_batch(torch, raw, device, inputs, None)
                if k == done:
                    result, varies = run_first_batch(loaded.name, batch, run, axes, device)
                else:
                    result = run(batch)
                arrays.append(_rows_by_file(result, todo), digest, result.pooled)
                count(1)
            elif k == done - 1:
                _check_rows_on_disk(arrays, digest)
    if not arrays.written.batches:
        raise ValueError(
            f"{samples.name} has no samples; an iterator that was used before is empty: pass a "
            "list or a loader"
        )
    _check_rows_on_disk(arrays, digest)  # by a loader with fewer batches than before
    return varies


def _check_rows_on_disk(arrays: GrowingArrays, digest: str) -> None:
    """Raise ``ValueError`` unless the samples so far gave the rows on disk."""
    if digest != arrays.written.digest:
        raise ValueError(
            f"the first {arrays.written.batches} batches are not those of the interrupted run; "
            "give the same samples in the same order, or another folder"
        )


def _remaining_batches(
    samples: Samples, size: int, first: int = 0, digest: str = ""
) -> Iterator[tuple[Any, str]]:
    """Yield the samples of each batch from the first that is wanted, or the batches of a loader,
    and the fingerprint of all so far, which no size of batches changes."""
    starts = range(first * size, len(samples), size) if samples.read else ()
    parts = (samples.batch(start, start + size) for start in starts)
    for part in parts if samples.read else samples.batches():
        for value in part if samples.read else (part,):
            digest = extend_digest(digest, value)
        yield part, digest


def _prepared_batch(loaded: LoadedModel, part: Any) -> Any:
    assert loaded.prepare is not None
    try:
        return loaded.prepare(part)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:  # whatever somebody's preparation raises
        raise ValueError(
            f"{loaded.name}: the preparation of a batch of {len(part)} samples fails: "
            f"{type(error).__name__}: {error}"
        ) from error


def _run_model_on_batch(
    loaded: LoadedModel, todo: ExtractionPass, device: Any, axes: SampleAxes, batch: Batch
) -> BatchResult:
    pools = {pooling: pooling for pooling in todo.poolings}
    convert = None if device.type == "cpu" else detach_to_tensor  # pooled before it is copied
    options: Any = {"outputs": todo.with_outputs, "convert": convert, "axes": axes}
    try:
        return rows_of_batch(loaded.module, batch, todo.modules, pools, **options)
    except AxisError as error:
        raise AxisError(f"{loaded.name}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{loaded.name}: {error}") from error


def _rows_by_file(result: BatchResult, todo: ExtractionPass) -> dict[str, np.ndarray]:
    """Return the rows of a batch by the name of their file, pooling and layer, or outputs."""
    rows = {
        f"{pooling}.{layer}": part if isinstance(part, np.ndarray) else detach_to_numpy(part)
        for pooling, of_calls in result.rows.items()
        for layer, part in name_layer_calls(of_calls).items()
    }
    called = {name.partition(".")[2].partition("#")[0] for name in rows}
    for word, names in todo.asked.items():
        check_any_called(word, names, called)
    return rows if result.logits is None else {**rows, OUTPUTS_ARRAY: result.logits}


def _store_finished_pass(
    folder: Path,
    facts: StoreFacts,
    todo: ExtractionPass,
    arrays: GrowingArrays,
    samples: Samples,
    model: Any,
) -> None:
    """Take the complete arrays of a pass into the store, and write down what it has now."""
    n, names = arrays.written.rows, list(arrays.written.arrays)
    pooled = set(arrays.written.pooled).union(facts.model.get(POOLED_AXES_KEY, ()))
    facts = replace(facts, model={**facts.model, POOLED_AXES_KEY: sorted(pooled)})
    # That of a loader is known by its batches
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
        elif labels is not None and labels.min() >= 0 and labels.max() + 1 == outputs.shape[1]:
            np.save(arrays.path(LABELS_ARRAY), labels)  # the outputs can be their logits
            names.append(LABELS_ARRAY)
    order = list(list_model_modules(model))
    layers: dict[str, list[str]] = {pooling: [] for pooling in todo.poolings}
    for pooling, dot, layer in (name.partition(".") for name in names):
        if dot:
            layers[pooling].append(layer)
    facts = merge_store_facts(facts, data, layers, list(todo.modules), order)
    ids = samples.ids or [f"{fingerprint[:12]}/{i}" for i in range(n)]
    finish_pass(folder, [arrays.path(name) for name in names], facts, ids)
