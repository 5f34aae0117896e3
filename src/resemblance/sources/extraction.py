"""The layers of a model for given samples, written to a store batch by batch."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..extras import need
from ..progress import Progress, reporting
from ..subject import Subject
from .batches import Batch, batch_of, inputs_of
from .features import (
    StoreFacts,
    begin,
    check_data,
    merged,
    open_features,
    pass_folder,
    take_in,
    write_facts,
    write_ids,
    writing,
)
from .growing import GrowingArrays
from .models import LoadedModel, Samples, load_model, load_samples
from .pooling import as_numpy, as_tensor, check_pool
from .running import evaluating, rows_of_batch, titled
from .watched import check_called, watched_modules

OUTPUTS = "outputs"


class Pass(NamedTuple):
    """One run of a model over the samples: the modules to watch, and their poolings."""

    modules: Mapping[str, Any]
    poolings: tuple[str, ...]
    with_outputs: bool


def extract_features(
    model: Any,
    data: Any,
    folder: str | Path,
    *,
    layers: str | Sequence[str] = "blocks",
    pool: str | Sequence[str] | None = None,
    name: str = "",
    batch_size: int = 32,
    device: str | None = None,
    progress: Progress = True,
) -> Subject:
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
    pool : how tokens and maps become rows, such as ``"mean"``, ``"cls"`` or ``"last"``; or several,
        computed in one run. Default: ``"mean"``.
    name : of the model; by default that of its folder, hub name or class.
    batch_size : samples of a batch. Loaders have their own.
    device : where the model runs, such as ``"cuda"``; by default where its weights are.
    progress : show a bar on standard error, if that is a terminal, or call ``progress(done,
        total)`` after each batch.

    Returns the :class:`Subject` of the first pooling; :func:`open_features` opens others.

    Raises ``ValueError`` for a folder of another model, of other samples or settings, for layers
    that do not exist, and for what cannot become one row per sample.
    """
    samples = load_samples(data)
    loaded = load_model(model, name=name, device=device, samples=samples)
    return extract(loaded, samples, Path(folder), layers, pool, batch_size, progress)


def extract(
    loaded: LoadedModel,
    samples: Samples,
    folder: Path,
    layers: str | Sequence[str],
    pool: str | Sequence[str] | None,
    batch_size: int,
    progress: Progress,
) -> Subject:
    """Do what :func:`extract_features` does, for a model and samples that are loaded."""
    if batch_size < 1:
        raise ValueError(f"extract_features: batch_size must be at least 1; got {batch_size}")
    poolings = tuple(dict.fromkeys([pool or "mean"] if isinstance(pool, str | None) else pool))
    for pooling in poolings:
        check_pool(pooling)
    modules = watched_modules(loaded.module, _names(loaded, layers))
    settings = {"batch_size": batch_size if samples.read else None}
    facts = StoreFacts(loaded.name, loaded.facts, _about(samples), settings)
    with writing(folder):
        facts = begin(folder, facts)
        if todo := _todo(facts, modules, poolings):
            _run(loaded, samples, folder, facts, todo, batch_size, progress)
    return open_features(folder, pool=poolings[0])


def _names(loaded: LoadedModel, layers: str | Sequence[str]) -> Sequence[str]:
    names: list[str] = []
    for name in [layers] if isinstance(layers, str) else layers:
        names += loaded.blocks if name == "blocks" else [name]
    return names


def _about(samples: Samples) -> dict[str, Any]:
    """Return what a store keeps of its samples."""
    return {
        "name": samples.name,
        "kind": samples.kind,
        "n_samples": samples.count if samples.read else None,
        "fingerprint": samples.fingerprint,
        **samples.facts,
    }


def _todo(facts: StoreFacts, modules: Mapping[str, Any], poolings: Sequence[str]) -> Pass | None:
    """Return what a store lacks, as one pass; None if it has everything."""
    lacking = {p: set(modules) - set(facts.modules.get(p, ())) for p in poolings}
    somewhere = set().union(*lacking.values())
    absent = [name for name in modules if name in somewhere]
    if not absent:
        return None
    pools = tuple(p for p, names in lacking.items() if names)
    return Pass({name: modules[name] for name in absent}, pools, not facts.modules)


def _run(
    loaded: LoadedModel,
    samples: Samples,
    folder: Path,
    facts: StoreFacts,
    todo: Pass,
    batch_size: int,
    progress: Progress,
) -> None:
    """Run the model over what is left of the samples, and take the arrays into the store."""
    torch = need("torch")
    place = pass_folder(folder, sorted(todo.modules), sorted(todo.poolings))
    inputs = inputs_of(loaded.module)
    with GrowingArrays(place) as arrays:
        done = len(arrays.batches)
        with (
            evaluating(torch, loaded.module) as device,
            reporting(progress, _count(samples, batch_size), f"running {loaded.name}") as count,
        ):
            count(done)
            for k, raw in _numbered(loaded, samples, batch_size, done):
                batch = batch_of(torch, raw, device, inputs, None)
                digest = _digest(torch, batch)
                if k < done:
                    _check_batch(k, digest, arrays.batches[k].digest)
                    continue
                arrays.append(_rows(loaded, batch, todo, device), digest)
                count(1)
        if not arrays.batches:
            raise ValueError(f"{samples.name} has no samples")
        _finish(folder, facts, todo, arrays, samples, loaded.module)
    shutil.rmtree(place, ignore_errors=True)


def _count(samples: Samples, batch_size: int) -> int | None:
    """Return the number of batches, None where it is not known."""
    if samples.kind == "graph":
        return 1
    return -(-len(samples) // batch_size) if samples.read else None


def _numbered(
    loaded: LoadedModel, samples: Samples, batch_size: int, done: int
) -> Iterator[tuple[int, Any]]:
    """Yield the batches that are left, with their numbers; of a loader also those before, which
    cannot be left out."""
    if samples.read is None:
        yield from enumerate(samples.batches())
        return
    for k in range(done, -(-len(samples) // batch_size)):
        part = samples.batch(k * batch_size, min((k + 1) * batch_size, len(samples)))
        yield k, part if loaded.prepare is None else loaded.prepare(part)


def _rows(loaded: LoadedModel, batch: Batch, todo: Pass, device: Any) -> dict[str, np.ndarray]:
    """Return the rows of a batch by the name of their file: pooling and layer, or outputs."""
    pools = {pooling: pooling for pooling in todo.poolings}
    convert = None if device.type == "cpu" else as_tensor  # pooled before it is copied
    result = rows_of_batch(
        loaded.module, batch, todo.modules, pools, outputs=todo.with_outputs, convert=convert
    )
    rows = {
        f"{pooling}.{layer}": part if convert is None else as_numpy(part)
        for pooling, of_calls in result.rows.items()
        for layer, part in titled(of_calls).items()
    }
    check_called(list(todo.modules), (), todo.modules, [name.partition(".")[2] for name in rows])
    return rows if result.logits is None else rows | {OUTPUTS: result.logits}


def _digest(torch: Any, batch: Batch) -> str:
    """Return a hash of all tensors that the model receives."""
    digest = hashlib.sha256()
    for name, value in (*enumerate(batch.arguments), *sorted(batch.keywords.items())):
        if isinstance(value, torch.Tensor):
            array = value.detach().cpu().contiguous()
            digest.update(f"{name}{tuple(array.shape)}{array.dtype}".encode())
            digest.update(array.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:32]


def _check_batch(k: int, digest: str, before: str) -> None:
    if digest != before:
        raise ValueError(
            f"batch {k} is not the one that the interrupted run had; give the same samples in the "
            "same order, or another folder"
        )


def _finish(
    folder: Path, facts: StoreFacts, todo: Pass, arrays: GrowingArrays, samples: Samples, model: Any
) -> None:
    """Take the complete arrays of a pass into the store, and write down what it has now."""
    n, digests = arrays.n_rows, [batch.digest for batch in arrays.batches]
    fingerprint = samples.fingerprint
    if fingerprint is None:  # of a loader, whose samples are known by the batches
        fingerprint = hashlib.sha256("".join(digests).encode()).hexdigest()
    data = dict(facts.data) | {"n_samples": n, "fingerprint": fingerprint}
    check_data(folder, data, facts.data)
    if samples.ids is not None and len(samples.ids) != n:
        raise ValueError(
            f"{samples.name} has {len(samples.ids)} samples, and the layers have {n} rows"
        )
    files = arrays.finish()
    write_ids(folder, samples.ids or [f"{fingerprint[:12]}/{i}" for i in range(n)])
    labels = samples.labels
    if labels is not None and OUTPUTS in files and _are_classes(files[OUTPUTS], labels):
        np.save(arrays.folder / "labels.npy", labels)
        files["labels"] = arrays.folder / "labels.npy"
    take_in(folder, files)
    order = [name for name, _ in model.named_modules(remove_duplicate=False)]
    layers: dict[str, list[str]] = {pooling: [] for pooling in todo.poolings}
    for pooling, dot, layer in (file.partition(".") for file in files):
        if dot:
            layers[pooling].append(layer)
    write_facts(
        folder, merged(facts, data, layers, list(todo.modules), order, n_batches=len(digests))
    )


def _are_classes(outputs: Path, labels: np.ndarray) -> bool:
    """Say whether outputs can be the logits of these classes: a column for each of them."""
    columns = np.load(outputs, mmap_mode="r").shape[1]
    return int(labels.min()) >= 0 and int(labels.max()) + 1 == columns
