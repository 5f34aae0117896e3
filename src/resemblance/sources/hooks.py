"""A PyTorch model seen on fixed inputs: its outputs and those of its layers for a loader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_numpy
from ..display import warn
from ..extras import need
from ..progress import Progress, counted, reporting
from ..representation import Representation
from ..subject import Subject
from .batches import Batch, batch_of, check_order, inputs_of, last_of
from .layouts import from_maps, from_tokens
from .modules import check_called, watched_modules, with_blocks

Pool = str | Mapping[str, str] | None
MAP_POOLS = {"mean": "mean", "max": "max", "flatten": "flatten"}
FORMS = {3: "tokens", 4: "positions"}  # what is pooled, by the number of axes
TOKEN_POOLS = MAP_POOLS | {"cls": "first", "first": "first", "last": "last"}
AGAIN = 2  # samples that run again
# Of the length of rows: rounding changes less in a batch of one size, and of another one
CHANGED, CHANGED_BY_SIZE = 0.02, 0.1
ROWS = 1000  # that are compared
CHANCE, OTHERS = "chance", "the other samples of a batch"
CAUSES = {
    CHANCE: "the same samples give other values when they run again; evaluation mode does not "
    "reach what draws random numbers (functional dropout needs training=self.training) or keeps a "
    "state between calls",
    OTHERS: "the same samples give other values in a smaller batch; usual causes are batch "
    "normalisation without running statistics, and a recurrent or attention module without "
    "batch_first=True",
}


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
    """Run a PyTorch model over fixed inputs and return the outputs of its layers as a subject.

    The model runs in evaluation mode and without gradients, on the device of its parameters;
    afterwards it is as it was before. Layers come in the order in which they finish, in the
    precision of the model, at least float32.

    Parameters
    ----------
    model : any ``torch.nn.Module``.
    loader : the batches, of a ``DataLoader`` that does not shuffle, or of a list. A batch is a
        tensor; a tuple or list that begins with the input, or with as many tensors as the model
        requires; a mapping of keyword arguments, of which "labels" and "label" are
        dropped; or a graph of PyTorch Geometric.
    layers : names of ``model.named_modules()``, or patterns such as ``"encoder.layer.*"``, in which
        ``*`` stands for a name without dots and ``**`` for any; or ``"blocks"``: the embeddings and
        blocks of the model, of :func:`resemblance.sources.models.block_names`, even if it has a
        module of this name. A layer may return a tensor, or a tuple or output of ``transformers``
        that begins with one. A layer that is called several times for one batch, because its
        weights are shared or it has none, becomes ``name#1``, ``name#2`` ... Without ``layers``:
        each module without parts of its own, and each graph convolution, that returns one floating
        tensor with a row per sample.
    pool : how rows (n, d) are made of tokens (n, tokens, d): ``"mean"``, ``"max"``, ``"cls"`` or
        ``"first"``, ``"last"``, ``"flatten"``; and of maps (n, channels, height, width):
        ``"mean"``, ``"max"``, ``"flatten"``. One word for all layers, or one by layer, ``"mean"``
        for others. The default is ``"mean"``
        everywhere, which suits all architectures: encoders are often compared by ``"cls"`` and
        decoders by ``"last"``, but a model does not say which it is. An ``attention_mask`` in the
        batch keeps padding out. Other shapes need ``"flatten"``; so does what a one-dimensional
        convolution returns, (n, channels, length), which looks like tokens.
    outputs : whether to keep the logits (n, classes), if the model returns any: what it returns,
        its ``logits``, or the first element.
    samples : the entry of a mapping or graph that has one row per sample. By default the nodes of a
        graph, ``x`` of a mapping, or its first tensor; ``"y"`` for graphs that have one label each.
    rows : which samples to keep: n booleans, such as ``data.test_mask``, or numbers of rows.
    progress : show a bar on standard error, if that is a terminal, or call ``progress(done,
        total)`` after each batch; total is 0 for a loader of unknown length.
    traits : of the subject.

    Raises ``ValueError`` for a layer that does not exist, is not called, or has no row per sample;
    for a model whose forward pass fails; for tokens, maps or outputs that cannot become rows of
    equal length; for rows that do not exist; and for a loader that is empty or shuffles, because
    rows would not be the same samples for the next model.
    """
    layers = with_blocks(model, layers)
    modules = watched_modules(model, layers)
    options = {"lenient": layers is None, "outputs": outputs}
    run = _results({"": model}, {"": modules}, loader, pool, samples, progress, **options)
    results = [result[""] for result in run]
    if not results:
        raise ValueError(
            "the loader gave no batch; an iterator that was used before is empty: pass a list or "
            "a loader"
        )
    arrays = _joined_layers([result.rows[""] for result in results], layers is None)
    check_called(layers, pool if isinstance(pool, Mapping) else (), modules, arrays)
    logits = _joined_logits([result.logits for result in results])
    n = len(next(iter(arrays.values())))
    selected = slice(None) if rows is None else row_numbers(rows, n)
    representations = {k: Representation(array[selected], k) for k, array in arrays.items()}
    logits = None if logits is None else logits[selected]
    return Subject(name or type(model).__name__, representations, logits, dict(traits or {}))


def layers_by_batch(
    models: Mapping[str, Any],
    loader: Iterable[Any],
    layers: str | Sequence[str] | None,
    pool: Pool,
    samples: str | None,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of all layers of models for each batch, as tensors where the models are.

    The parameters, and what is raised, are those of :func:`subject_from_model`. A layer of a model
    with a name is called ``name/layer``.
    """
    names = {name: with_blocks(model, layers) for name, model in models.items()}
    modules = {name: watched_modules(model, names[name]) for name, model in models.items()}
    options: Any = {"lenient": layers is None, "outputs": False, "convert": as_tensor}
    words = pool if isinstance(pool, Mapping) else ()
    for results in _results(models, modules, loader, pool, samples, progress, **options):
        rows: dict[str, Any] = {}
        for name, result in results.items():
            called = titled(result.rows[""])
            check_called(names[name], words, modules[name], called)
            rows |= {f"{name}/{title}" if name else title: r for title, r in called.items()}
        yield rows


def _results(
    models: Mapping[str, Any],
    modules: Mapping[str, Mapping[str, Any]],
    loader: Iterable[Any],
    pool: Pool,
    samples: str | None,
    progress: Progress,
    **options: Any,
) -> Iterator[dict[str, BatchResult]]:
    """Yield what each model gives for each batch; ``options`` are those of
    :func:`rows_of_batch`."""
    torch = need("torch")
    check_pool(pool)
    if isinstance(loader, torch.Tensor | Mapping):
        raise ValueError("loader must give batches; for a single batch pass [batch]")
    check_order(loader)
    inputs = {name: inputs_of(model) for name, model in models.items()}
    total = len(loader) if isinstance(loader, Sized) else None
    with ExitStack() as stack:
        devices = {n: stack.enter_context(evaluating(torch, m)) for n, m in models.items()}
        count = stack.enter_context(reporting(progress, total, "running the model"))

        def run(name: str, batch: Batch) -> BatchResult:
            return rows_of_batch(models[name], batch, modules[name], {"": pool}, **options)

        for k, raw in enumerate(counted(loader, count)):
            results = {}
            for name, model in models.items():
                batch = batch_of(torch, raw, devices[name], inputs[name], samples)
                results[name] = run(name, batch)
                if k == 0:
                    called, again = name or type(model).__name__, partial(run, name)
                    warn_of_variation(called, batch, results[name], again, devices[name])
            yield results


def row_numbers(rows: Any, n: int) -> np.ndarray:
    """Return the numbers of the rows to keep; ``ValueError`` for those that do not exist."""
    numbers = to_numpy(rows) if hasattr(rows, "__dlpack__") else np.asarray(rows)
    if numbers.dtype == bool and numbers.shape == (n,):
        numbers = np.flatnonzero(numbers)
    is_list = numbers.dtype.kind in "iu" and numbers.ndim == 1 and len(numbers) > 0
    if not is_list or not (-1 < numbers.min() <= numbers.max() < n):
        raise ValueError(
            f"rows must be {n} booleans or numbers of rows from 0 to {n - 1}; got shape "
            f"{numbers.shape}"
        )
    return numbers


def _joined_logits(batches: list[np.ndarray | None]) -> np.ndarray | None:
    parts = [logits for logits in batches if logits is not None]
    if parts and len(parts) < len(batches):
        raise ValueError(
            "the model returns logits (n_samples, n_classes) for some batches only; pass "
            "outputs=False"
        )
    return _joined("outputs", parts) if parts else None


def _joined_layers(
    batches: list[dict[tuple[str, int], np.ndarray]], lenient: bool
) -> dict[str, np.ndarray]:
    """Return one array per layer, or per call of a layer with several calls per batch."""
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
    called = [key for key in batches[0] if key in everywhere]
    parts = {key: [rows[key] for rows in batches] for key in called}
    return {title: _joined(title, rows) for title, rows in titled(parts).items()}


def _joined(title: str, parts: list[np.ndarray]) -> np.ndarray:
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        sizes = f"{min(widths)} to {max(widths)}"
        raise ValueError(
            f"{title} gives {sizes} values per row; give inputs of one size, or do not pool "
            f'"flatten"'
        )
    return np.concatenate(parts)


# ---------------------------------------------------------------------------------------- one batch


class BatchResult(NamedTuple):
    """The rows of a batch by pooling, and then by (layer, number of its call) in the order of
    execution, its logits, what was pooled: "tokens", "positions", both, or nothing, and a layer
    whose maps have their channels last."""

    rows: dict[str, dict[tuple[str, int], Any]]
    logits: np.ndarray | None
    pooled: frozenset[str]
    turned: str


@contextmanager
def evaluating(torch: Any, model: Any) -> Iterator[Any]:
    """Yield the device of a model that evaluates without gradients; its modes are restored."""
    training = [module for module in model.modules() if module.training]
    weights = next(model.parameters(), None)
    try:
        # A loader draws a seed for its workers even when it does not shuffle, so the random state
        # is restored.
        with torch.random.fork_rng(devices=[]), torch.no_grad():
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
    pools: Mapping[str, Pool],
    *,
    lenient: bool = False,
    outputs: bool = True,
    convert: Callable[[Any], Any] | None = None,
) -> BatchResult:
    """Call the model once and return the rows of the watched modules for each pooling.

    ``pools``: poolings by any name. ``lenient``: leave out a result that is not one tensor with a
    row per sample. ``convert``: how a tensor becomes an array, by default one of NumPy.

    Raises ``ValueError`` for a layer that cannot become one row per sample, and for a model whose
    forward pass fails.
    """
    calls: Counter[str] = Counter()
    axes, faults, turned = set[int](), list[Exception](), list[str]()
    rows: dict[str, dict[tuple[str, int], Any]] = {name: {} for name in pools}

    def take(layer: str, module: Any, result: Any) -> None:
        if lenient and not _is_plain(result, batch.samples):
            return
        calls[layer] += 1
        call = calls[layer]
        values = (convert or as_numpy)(_tensor(result, layer, batch.samples))
        axes.add(values.ndim)
        for name, pool in pools.items():
            word = pool or "mean"
            if isinstance(word, Mapping):
                word = word.get(f"{layer}#{call}", word.get(layer, "mean"))
            if word != "flatten" and _has_channels_last(module, values.shape):
                turned.append(layer)
            # Pooled, or copied, at once: the next module may work in place
            rows[name][layer, call] = _pooled(values, layer, word, batch.mask)

    def watch(layer: str) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, result: Any) -> None:
            try:
                take(layer, module, result)
            except Exception as error:  # raised below, where it is no fault of the model
                faults.append(error)

        return hook

    handles = [module.register_forward_hook(watch(layer)) for layer, module in modules.items()]
    try:
        result = model(*batch.arguments, **batch.keywords)
    except (ValueError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # whatever somebody's model raises
        raise ValueError(
            f"the forward pass of {type(model).__name__} fails for a batch of {batch.samples} "
            f"samples: {type(error).__name__}: {error}"
        ) from error
    finally:
        for handle in handles:
            handle.remove()
    if faults:
        raise faults[0].with_traceback(None)
    pooled = frozenset(FORMS[n] for n in axes if n in FORMS)
    logits = _logits(result, batch.samples) if outputs else None
    return BatchResult(rows, logits, pooled, "".join(turned[:1]))


def _has_channels_last(module: Any, shape: Sequence[int]) -> bool:
    """Say whether a module returns square maps and works on their last axis, as in Swin."""
    if len(shape) != 4 or not shape[1] == shape[2] != shape[3]:
        return False
    widths = [getattr(part, "normalized_shape", ()) for part in module.modules()]
    return (shape[3],) in map(tuple, widths)


def warn_of_variation(
    called: str, batch: Batch, first: BatchResult, run: Callable[[Batch], BatchResult], device: Any
) -> str:
    """Warn if the rows of a batch depend on more than its samples, and return on what, or nothing.

    ``first``: what ``run`` gave for the batch. The last samples run again alone: the last, because
    a recurrent network that takes samples for steps gives the first ones the same.
    """
    if first.turned:
        warn(
            f"{called}: its layer {first.turned!r} returns maps with channels last, and they are "
            'read as (samples, channels, height, width); pool="flatten" is right for both'
        )
    few = last_of(batch, min(AGAIN, batch.samples - 1))
    # What PyTorch draws for later batches stays as it is
    with need("torch").random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for part in (few, batch):
            with suppress(ValueError):  # of a model that takes batches of one size
                if part is not None:
                    return _warned(called, first, part, run, part is few)
    return ""


def _warned(
    called: str,
    first: BatchResult,
    part: Batch,
    run: Callable[[Batch], BatchResult],
    is_smaller: bool,
) -> str:
    written = _written(part)
    again = run(part)
    if _written(part) != written or not _changed(first, again, CHANGED):
        return ""  # a model that works in place has other samples when it runs again
    what, layer = CHANCE, _changed(again, run(part), CHANGED)
    if not layer and is_smaller:
        what, layer = OTHERS, _changed(first, again, CHANGED_BY_SIZE)
    if layer:
        warn(f"{called}: its layer {layer!r} depends on {what}: {CAUSES[what]}")
    return what if layer else ""


def _written(batch: Batch) -> list[int]:
    """Return how often each tensor of a batch was written."""
    values = (*batch.arguments, *batch.keywords.values())
    return [v._version for v in values if hasattr(v, "layout") and not v.is_inference()]


def _changed(before: BatchResult, after: BatchResult, limit: float) -> str:
    """Return the first layer whose last rows differ by more than a share of their length."""
    old, new = map(_by_layer, (before, after))
    for key in (key for key in new if key in old):
        y = to_numpy(new[key][-ROWS:]).astype(np.float64)
        x = to_numpy(old[key][-len(y) :]).astype(np.float64)
        if x.shape == y.shape:
            size = max(np.linalg.norm(x), np.linalg.norm(y))
            if np.linalg.norm(x - y) > limit * size:
                return str(key[0])
    return ""


def _by_layer(result: BatchResult) -> dict[tuple[Any, ...], Any]:
    rows = {(*key, pool): x for pool, layers in result.rows.items() for key, x in layers.items()}
    return rows if result.logits is None else {**rows, ("outputs",): result.logits}


def _is_plain(result: Any, samples: int) -> bool:
    """Return whether a result is one floating tensor that can become one row per sample."""
    floating = hasattr(result, "is_floating_point") and result.is_floating_point()
    return bool(floating and 1 <= result.ndim <= 4 and len(result) == samples and result.numel())


def _tensor(result: Any, layer: str, samples: int) -> Any:
    """Return the tensor that a result is or begins with; ``ValueError`` for what is no floating
    tensor, or has other rows."""
    first = next(iter(result.values()), None) if isinstance(result, Mapping) else result
    tensor: Any = first[0] if isinstance(first, tuple | list) and first else first
    if not (hasattr(tensor, "is_floating_point") and tensor.is_floating_point() and tensor.ndim):
        raise ValueError(
            f"layer {layer!r} returns {type(tensor).__name__}, not a floating tensor; leave it out"
        )
    if len(tensor) != samples:
        counts = 'leave it out, or set samples="y", the entry of a batch with one row per sample'
        raise ValueError(
            f"layer {layer!r} returns {tuple(tensor.shape)}, not one row for each of {samples}; "
            f"{counts}"
        )
    return tensor


def titled(rows: Mapping[tuple[str, int], Any]) -> dict[str, Any]:
    """Return rows by layer; the calls of a layer with several are ``name#1``, ``name#2`` ..."""
    several = {layer for layer, call in rows if call > 1}
    return {f"{k}#{call}" if k in several else k: array for (k, call), array in rows.items()}


def _logits(result: Any, samples: int) -> np.ndarray | None:
    """Return the logits (n, classes) among the results of a model, if there are any."""
    logits = getattr(result, "logits", None)
    if logits is None and isinstance(result, Mapping):
        logits = result.get("logits")
    elif logits is None:
        logits = result[0] if isinstance(result, tuple | list) and result else result
    shape = tuple(getattr(logits, "shape", ()))
    return as_numpy(logits).copy() if len(shape) == 2 and shape[0] == samples else None


def check_pool(pool: Pool) -> None:
    """Raise ``ValueError`` for a pooling that does not exist."""
    for word in pool.values() if isinstance(pool, Mapping) else [pool or "mean"]:
        if word not in TOKEN_POOLS:
            raise ValueError(f"pool must be one of {', '.join(TOKEN_POOLS)}; got {word!r}")


def _pooled(array: Any, layer: str, word: str, mask: np.ndarray | None) -> Any:
    """Return a copy of the values of a layer, pooled to one row per sample, (n, d)."""
    pool: Any = TOKEN_POOLS[word]
    try:
        if array.ndim == 3:
            pooled = from_tokens(array, pool=pool, mask=mask).source
        elif array.ndim == 4 and word not in MAP_POOLS:
            words = ", ".join(map(repr, MAP_POOLS))
            raise ValueError(
                f"shape {tuple(array.shape)} are maps of channels, which have no {word!r} token; "
                f"pool them by one of {words}"
            )
        elif array.ndim == 4:
            pooled = from_maps(array, pool=pool).source
        elif array.ndim > 4 and word != "flatten":
            raise ValueError(
                f'shape {tuple(array.shape)} is neither tokens nor maps; pool it with "flatten", '
                "or leave it out"
            )
        else:
            pooled = array.reshape(len(array), -1)
    except ValueError as error:
        raise ValueError(f"layer {layer!r}: {error}") from error
    return pooled.astype(array.dtype) if isinstance(array, np.ndarray) else pooled.clone()


def as_numpy(tensor: Any) -> np.ndarray:
    """Return the values on the CPU; half precisions, some unknown to NumPy, become float32."""
    return np.asarray(as_tensor(tensor).cpu().numpy())


def as_tensor(tensor: Any) -> Any:
    """Return the values where they are, those of half precisions as float32."""
    tensor = tensor.detach()
    return tensor if tensor.dtype.itemsize >= 4 else tensor.float()
