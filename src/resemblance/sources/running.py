"""One call of a model for a batch: the rows of its watched modules, pooled, and its logits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .batches import Batch
from .layouts import from_maps, from_tokens


class BatchResult(NamedTuple):
    """The rows of a batch by pooling, and then by (layer, number of its call) in the order of
    execution, its logits, and what was pooled: "tokens", "positions", both, or nothing."""

    rows: dict[str, dict[tuple[str, int], Any]]
    logits: np.ndarray | None
    pooled: frozenset[str]


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
    axes, faults = set[int](), list[Exception]()
    rows: dict[str, dict[tuple[str, int], Any]] = {name: {} for name in pools}

    def take(layer: str, result: Any) -> None:
        if lenient and not _is_plain(result, batch.samples):
            return
        calls[layer] += 1
        call = calls[layer]
        values = values_of(_tensor(result), layer, batch, convert)
        axes.add(values.ndim)
        for name, pool in pools.items():
            # Pooled, or copied, at once: the next module may work in place
            word = pooling_of(pool, layer, call)
            rows[name][layer, call] = rows_of(values, layer, word, batch.mask)

    def watch(layer: str) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, result: Any) -> None:
            try:
                take(layer, result)
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
    return BatchResult(rows, _logits(result, batch.samples) if outputs else None, pooled)


def _is_plain(result: Any, samples: int) -> bool:
    """Return whether a result is one floating tensor that can become one row per sample."""
    floating = hasattr(result, "is_floating_point") and result.is_floating_point()
    return bool(floating and 1 <= result.ndim <= 4 and len(result) == samples and result.numel())


def _tensor(result: Any) -> Any:
    """Return the tensor that a result is or begins with."""
    first = next(iter(result.values()), None) if isinstance(result, Mapping) else result
    return first[0] if isinstance(first, tuple | list) and first else first


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


MAP_POOLS = {"mean": "mean", "max": "max", "flatten": "flatten"}
FORMS = {3: "tokens", 4: "positions"}  # what is pooled, by the number of axes
TOKEN_POOLS = MAP_POOLS | {"cls": "first", "first": "first", "last": "last"}
Pool = str | Mapping[str, str] | None


def check_pool(pool: Pool) -> None:
    """Raise ``ValueError`` for a pooling that does not exist."""
    for word in pool.values() if isinstance(pool, Mapping) else [pool or "mean"]:
        if word not in TOKEN_POOLS:
            raise ValueError(f"pool must be one of {', '.join(TOKEN_POOLS)}; got {word!r}")


def values_of(
    tensor: Any, layer: str, batch: Batch, convert: Callable[[Any], Any] | None = None
) -> Any:
    """Return what a layer returns as an array, by default of NumPy, with a row per sample.

    Raises ``ValueError`` for what is no floating tensor, or has other rows.
    """
    if not (hasattr(tensor, "is_floating_point") and tensor.is_floating_point() and tensor.ndim):
        raise ValueError(
            f"layer {layer!r} returns {type(tensor).__name__}, not a floating tensor; leave it out"
        )
    if len(tensor) != batch.samples:
        shape = tuple(tensor.shape)
        counts = 'leave it out, or set samples="y", the entry of a batch with one row per sample'
        raise ValueError(
            f"layer {layer!r} returns {shape}, not one row for each of {batch.samples}; {counts}"
        )
    return (convert or as_numpy)(tensor)


def rows_of(array: Any, layer: str, word: str, mask: np.ndarray | None) -> Any:
    """Return a copy of the values of a layer, pooled to one row per sample, (n, d)."""
    try:
        pooled = _pooled(array, word, mask)
        return pooled.astype(array.dtype) if isinstance(array, np.ndarray) else pooled.clone()
    except ValueError as error:
        raise ValueError(f"layer {layer!r}: {error}") from error


def pooling_of(pool: Pool, layer: str, call: int) -> str:
    """Return the pooling of one call of a layer."""
    if not isinstance(pool, Mapping):
        return pool or "mean"
    return pool.get(f"{layer}#{call}", pool.get(layer, "mean"))


def _pooled(array: Any, word: str, mask: np.ndarray | None) -> Any:
    pool: Any = TOKEN_POOLS[word]
    if array.ndim == 3:
        return from_tokens(array, pool=pool, mask=mask).source
    if array.ndim == 4 and word not in MAP_POOLS:
        words = ", ".join(map(repr, MAP_POOLS))
        raise ValueError(
            f"shape {tuple(array.shape)} are maps of channels, which have no {word!r} token; pool "
            f"them by one of {words}"
        )
    if array.ndim == 4:
        return from_maps(array, pool=pool).source
    if array.ndim > 4 and word != "flatten":
        raise ValueError(
            f'shape {tuple(array.shape)} is neither tokens nor maps; pool it with "flatten", or '
            "leave it out"
        )
    return array.reshape(len(array), -1)


def as_numpy(tensor: Any) -> np.ndarray:
    """Return the values on the CPU; half precisions, some unknown to NumPy, become float32."""
    tensor = tensor.detach().cpu()
    return np.asarray((tensor if tensor.dtype.itemsize >= 4 else tensor.float()).numpy())


def as_tensor(tensor: Any) -> Any:
    """Return the values where they are, those of half precisions as float32."""
    tensor = tensor.detach()
    return tensor if tensor.dtype.itemsize >= 4 else tensor.float()
