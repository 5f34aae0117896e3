"""A PyTorch model seen on fixed inputs: what its layers and its output give for the batches of a
loader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..arrays import to_numpy
from ..extras import need
from ..progress import Progress, counted, reporting
from ..representation import Representation
from ..subject import Subject
from .batches import Batch, batch_of, inputs_of
from .layouts import from_maps, from_tokens

MAP_POOLS = {"mean": "mean", "max": "max", "flatten": "flatten"}
TOKEN_POOLS = MAP_POOLS | {"cls": "first", "first": "first", "last": "last"}
WHOLE = "model"  # the name of a model without parts, which its own list of modules calls ""

Layers = tuple[str, ...] | None  # names and patterns
Pool = str | Mapping[str, str] | None


class Seen(NamedTuple):
    """What one batch gave: rows by (layer, which call of it), in the order of execution, and
    logits."""

    rows: dict[tuple[str, int], np.ndarray]
    logits: np.ndarray | None


def subject_from_model(
    model: Any,
    loader: Iterable[Any],
    layers: str | Sequence[str] | None = None,
    *,
    name: str = "",
    pool: str | Mapping[str, str] | None = None,
    outputs: bool = True,
    samples: str | None = None,
    rows: Any = None,
    progress: Progress = True,
    traits: Mapping[str, Any] | None = None,
) -> Subject:
    """Run a PyTorch model over fixed inputs and return what its layers make of them, as a subject.

    The model is run in evaluation mode and without gradients, where its parameters are; afterwards
    its modes are put back and nothing of ours stays in it. Layers come in the order in which they
    finish, in the precision of the model, at least float32.

    Parameters
    ----------
    model : any ``torch.nn.Module``.
    loader : the batches, of a ``DataLoader`` that does not shuffle, or of a list. A batch is a
        tensor; a tuple or list that begins with the input, or with as many tensors as the model
        cannot do without; a mapping of keyword arguments, of which "labels" and "label" are
        dropped; or a graph of PyTorch Geometric.
    layers : names of ``model.named_modules()``, or patterns such as ``"encoder.layer.*.output"``. A
        layer may return a tensor, or a tuple or output of ``transformers`` that begins with one. A
        layer that is called several times for one batch, because its weights are shared or it has
        none, becomes ``name#1``, ``name#2`` ... Without ``layers``: every module without parts of
        its own, and every graph convolution, that returns one floating tensor with a row per
        sample.
    name : of the subject; by default that of the model's class.
    pool : how rows (n, d) are made of tokens (n, tokens, d): ``"mean"``, ``"max"``, ``"cls"`` or
        ``"first"``, ``"last"``, ``"flatten"``; and of maps (n, channels, height, width):
        ``"mean"``, ``"max"``, ``"flatten"``. One word for all layers (``"cls"`` and ``"last"``
        leave maps at ``"mean"``), or one by layer, ``"mean"`` for others. The default is ``"mean"``
        everywhere, which suits every architecture: encoders are often compared by ``"cls"`` and
        decoders by ``"last"``, but a model does not say which it is. An ``attention_mask`` in the
        batch keeps padding out. Other shapes need ``"flatten"``; so does what a one-dimensional
        convolution returns, (n, channels, length), which looks like tokens.
    outputs : whether to keep the logits (n, classes), if the model returns any: what it returns,
        its ``logits``, or the first element.
    samples : the entry of a mapping or graph that has one row per sample. By default the nodes of a
        graph, ``x`` of a mapping, or its first tensor; ``"y"`` for graphs that have one label each.
    rows : which samples to keep: n booleans, such as ``data.test_mask``, or numbers of rows.
    progress : show a bar on standard error, if that is a terminal, or call ``progress(done,
        total)`` after every batch; total is 0 for a loader of unknown length.
    traits : of the subject.

    Raises ``ValueError`` for a layer that does not exist, is not called, or has no row per sample;
    for tokens, maps or outputs that cannot become rows of equal length; for rows that do not exist;
    and for a loader that is empty or shuffles, because rows would not be the same samples for the
    next model.
    """
    torch = need("torch")
    asked = (layers,) if isinstance(layers, str) else None if layers is None else tuple(layers)
    _check_pool(pool)
    _check_loader(torch, loader)
    chosen = _chosen(model, asked)
    inputs, total = inputs_of(model), len(loader) if isinstance(loader, Sized) else None
    with (
        _evaluating(torch, model) as device,
        reporting(progress, total, "running the model") as show,
    ):
        batches = (batch_of(torch, raw, device, inputs, samples) for raw in counted(loader, show))
        seen = [_run(model, batch, chosen, asked is None, pool, outputs) for batch in batches]
    if not seen:
        raise ValueError(
            "the loader gave no batch; an iterator that was used before is empty: pass a list or "
            "a loader"
        )
    found = _joined_layers([s.rows for s in seen], asked is None)
    _check_used(asked, pool, chosen, found)
    logits = _joined_logits([s.logits for s in seen])
    kept = slice(None) if rows is None else _checked_rows(rows, len(next(iter(found.values()))))
    named = {layer: Representation(array[kept], layer) for layer, array in found.items()}
    return Subject(
        name or type(model).__name__,
        named,
        None if logits is None else logits[kept],
        dict(traits or {}),
    )


# ----------------------------------------------------------------------------------------- checking


def _check_pool(pool: Pool) -> None:
    for word in pool.values() if isinstance(pool, Mapping) else [pool or "mean"]:
        if word not in TOKEN_POOLS:
            raise ValueError(f"pool must be one of {', '.join(TOKEN_POOLS)}; got {word!r}")


def _check_loader(torch: Any, loader: Any) -> None:
    if isinstance(loader, torch.Tensor | Mapping):
        raise ValueError("loader must give batches; for a single batch pass [batch]")
    samplers = (
        getattr(loader, "sampler", None),
        getattr(getattr(loader, "batch_sampler", None), "sampler", None),
    )
    data = torch.utils.data
    if any(
        isinstance(s, data.RandomSampler | data.SubsetRandomSampler | data.WeightedRandomSampler)
        for s in samplers
    ):
        raise ValueError(
            "the loader shuffles, so two models would see different rows; make it with "
            "shuffle=False"
        )


def _chosen(model: Any, asked: Layers) -> dict[str, Any]:
    """The modules to watch, by name; one that has several names goes by the first that was asked
    for."""
    modules = {
        name: module for name, module in model.named_modules(remove_duplicate=False) if name
    } or {WHOLE: model}
    if asked is None:
        modules = {WHOLE: model} if _passes_messages(model) else modules
        names = [name for name, module in modules.items() if _is_whole(name, module, modules)]
    else:
        names = [
            name
            for pattern in asked
            for name in _matching(pattern, modules) or _no_layer(pattern, modules)
        ]
    if not names:
        raise ValueError(
            "layers is empty; name at least one, or leave it out for all modules without parts"
        )
    first = {id(modules[name]): name for name in reversed(names)}
    return {name: modules[name] for name in first.values()}


def _is_whole(name: str, module: Any, modules: Mapping[str, Any]) -> bool:
    """Whether a module has no parts, or is a graph convolution, and is not itself a part of one."""
    around = (name[:i] for i, letter in enumerate(name) if letter == ".")
    inside = any(_passes_messages(modules[outer]) for outer in around)
    return not inside and (_passes_messages(module) or not any(module.children()))


def _passes_messages(module: Any) -> bool:
    return hasattr(module, "propagate") and hasattr(module, "message")


def _checked_rows(rows: Any, n: int) -> np.ndarray:
    """Return the numbers of the rows to keep."""
    found = to_numpy(rows) if hasattr(rows, "__dlpack__") else np.asarray(rows)
    if found.dtype == bool and found.shape == (n,):
        found = np.flatnonzero(found)
    if (
        found.dtype.kind not in "iu"
        or found.ndim != 1
        or not len(found)
        or not (-1 < found.min() <= found.max() < n)
    ):
        raise ValueError(
            f"rows must be {n} booleans or numbers of rows from 0 to {n - 1}; got shape "
            f"{found.shape}"
        )
    return found


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]


def _no_layer(pattern: str, names: Iterable[str]) -> NoReturn:
    known = list(names)
    close = get_close_matches(pattern, known, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ";"
    listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    raise ValueError(f"the model has no layer {pattern!r}{hint} it has {listed}")


def _check_used(asked: Layers, pool: Pool, chosen: Iterable[str], found: Iterable[str]) -> None:
    """Check that what was asked for was called, and that every layer with a pooling of its own is
    there."""
    called = {name.partition("#")[0] for name in found}
    for pattern in asked or ():
        matches = _matching(pattern, chosen)
        if matches and not called & set(matches):
            why = "the model uses its weights without calling it, or does not use it"
            raise ValueError(
                f"layer {pattern!r} was never called: {why}; choose a module around it"
            )
    unknown = set(pool) - called - set(found) if isinstance(pool, Mapping) else set()
    if unknown:
        raise ValueError(
            f"pool names {sorted(unknown)[0]!r}, which is not among the layers {', '.join(found)}"
        )


# ------------------------------------------------------------------------------------------ running


@contextmanager
def _evaluating(torch: Any, model: Any) -> Iterator[Any]:
    """Evaluate without gradients, and yield the device; parts of the model that were in evaluation
    mode remain so."""
    training = [module for module in model.modules() if module.training]
    weights = next(model.parameters(), None)
    try:
        # A loader draws a seed for its workers even when it does not shuffle; the random state
        # shall not change.
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            model.eval()
            yield torch.device("cpu") if weights is None else weights.device
    finally:
        for module in training:
            module.training = True


def _run(
    model: Any, batch: Batch, chosen: Mapping[str, Any], lenient: bool, pool: Pool, outputs: bool
) -> Seen:
    """Call the model once and return what the watched modules gave."""
    calls: Counter[str] = Counter()
    rows: dict[tuple[str, int], np.ndarray] = {}

    def watch(layer: str) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, result: Any) -> None:
            if lenient and not _is_plain(result, batch.samples):
                return
            calls[layer] += 1
            # Pooled, or copied, at once: the next module may work in place
            rows[layer, calls[layer]] = _rows(
                _tensor(result), layer, _word(pool, layer, calls[layer]), batch
            )

        return hook

    handles = [module.register_forward_hook(watch(layer)) for layer, module in chosen.items()]
    try:
        result = model(*batch.arguments, **batch.keywords)
    finally:
        for handle in handles:
            handle.remove()
    return Seen(rows, _logits(result, batch.samples) if outputs else None)


def _is_plain(result: Any, samples: int) -> bool:
    """Whether a result is one floating tensor of a layout that can become rows, with one per
    sample."""
    floating = hasattr(result, "is_floating_point") and result.is_floating_point()
    return bool(floating and 1 <= result.ndim <= 4 and len(result) == samples and result.numel())


def _tensor(result: Any) -> Any:
    """The tensor that a result is or begins with."""
    first = next(iter(result.values()), None) if isinstance(result, Mapping) else result
    return first[0] if isinstance(first, tuple | list) and first else first


# --------------------------------------------------------------------------------------------- rows


def _rows(tensor: Any, layer: str, word: str, batch: Batch) -> np.ndarray:
    """Return one row per sample, (n, d), of what a layer returned."""
    if not (hasattr(tensor, "is_floating_point") and tensor.is_floating_point() and tensor.ndim):
        raise ValueError(
            f"layer {layer!r} returns {type(tensor).__name__}, not a floating tensor; leave it out"
        )
    if len(tensor) != batch.samples:
        shape = tuple(tensor.shape)
        counts = 'leave it out, or say by samples="y" which entry of a batch has one row per sample'
        raise ValueError(
            f"layer {layer!r} returns {shape}, not one row for each of {batch.samples}; {counts}"
        )
    array = _numpy(tensor)
    try:
        return _pooled(array, word, batch.mask).astype(array.dtype)
    except ValueError as error:
        raise ValueError(f"layer {layer!r}: {error}") from error


def _word(pool: Pool, layer: str, call: int) -> str:
    return (
        pool.get(f"{layer}#{call}", pool.get(layer, "mean"))
        if isinstance(pool, Mapping)
        else pool or "mean"
    )


def _pooled(array: np.ndarray, word: str, mask: np.ndarray | None) -> np.ndarray:
    pool: Any = (TOKEN_POOLS if array.ndim == 3 else MAP_POOLS).get(word, "mean")
    if array.ndim == 3:
        return np.asarray(from_tokens(array, pool=pool, mask=mask).source)
    if array.ndim == 4:
        return np.asarray(from_maps(array, pool=pool).source)
    if array.ndim > 4 and word != "flatten":
        raise ValueError(
            f'shape {array.shape} is neither tokens nor maps; pool it with "flatten", or leave '
            f"it out"
        )
    return array.reshape(len(array), -1)


def _numpy(tensor: Any) -> np.ndarray:
    """The values on the CPU; half precisions, which not all of NumPy knows, as float32."""
    tensor = tensor.detach().cpu()
    return np.asarray((tensor if tensor.dtype.itemsize >= 4 else tensor.float()).numpy())


def _logits(result: Any, samples: int) -> np.ndarray | None:
    """The logits that a model returned, (n, classes), if it did."""
    found = getattr(result, "logits", None)
    if found is None and isinstance(result, Mapping):
        found = result.get("logits")
    elif found is None:
        found = result[0] if isinstance(result, tuple | list) and result else result
    shape = tuple(getattr(found, "shape", ()))
    return _numpy(found).copy() if len(shape) == 2 and shape[0] == samples else None


def _joined_logits(batches: list[np.ndarray | None]) -> np.ndarray | None:
    known = [logits for logits in batches if logits is not None]
    if known and len(known) < len(batches):
        raise ValueError(
            "the model returns logits (n_samples, n_classes) for some batches only; pass "
            "outputs=False"
        )
    return _joined("outputs", known) if known else None


def _joined_layers(
    batches: list[dict[tuple[str, int], np.ndarray]], lenient: bool
) -> dict[str, np.ndarray]:
    """Join the batches, by layer; a layer with several calls per batch has one array for each."""
    everywhere = set.intersection(*(set(rows) for rows in batches))
    partly = sorted(set().union(*batches) - everywhere)
    if partly and not lenient:
        raise ValueError(
            f"layer {partly[0][0]!r} is called less often for some batches than for others; leave "
            "it out"
        )
    if lenient and not everywhere:
        raise ValueError(
            "no module of the model returns one floating tensor with a row per sample; name layers"
        )
    several = {layer for layer, call in everywhere if call > 1}
    keys = {
        key: f"{key[0]}#{key[1]}" if key[0] in several else key[0]
        for key in batches[0]
        if key in everywhere
    }
    return {title: _joined(title, [rows[key] for rows in batches]) for key, title in keys.items()}


def _joined(title: str, parts: list[np.ndarray]) -> np.ndarray:
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        sizes = f"{min(widths)} to {max(widths)}"
        raise ValueError(
            f"{title} gives {sizes} values per row; give inputs of one size, or do not pool "
            f'"flatten"'
        )
    return np.concatenate(parts)
