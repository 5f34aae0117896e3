"""Where a training on real data runs: device, precision, random state, deterministic algorithms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ...extras import need
from ...rng import generator
from .resources import PRECISIONS, Resources


def device_of(resources: Resources) -> Any:
    """Return the device of PyTorch that a training runs on: the one asked for, otherwise the first
    accelerator, otherwise the processor.

    Raises ``ValueError`` for a device that PyTorch does not have here.
    """
    torch = need("torch")
    if resources.device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(resources.device)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {resources.device!r} cannot be used here: {error}") from error
    return device


def lower_precision(resources: Resources, device: Any) -> AbstractContextManager[Any]:
    """Return a context in which products of matrices have the precision that was asked for.

    Raises ``ValueError`` for an unknown precision, and for float16 on a processor.
    """
    torch = need("torch")
    if resources.precision not in PRECISIONS:
        raise ValueError(
            f"precision must be one of {', '.join(PRECISIONS)}; got {resources.precision!r}"
        )
    if resources.precision == "float32":
        return nullcontext()
    if resources.precision == "float16" and device.type == "cpu":
        raise ValueError("precision float16 needs an accelerator; bfloat16 works on a processor")
    context: AbstractContextManager[Any] = torch.autocast(
        device.type, getattr(torch, resources.precision)
    )
    return context


@contextmanager
def training_on(device: Any, seed: int, *labels: str | int) -> Iterator[Any]:
    """Yield PyTorch with a random state that depends on the arguments only, and deterministic
    algorithms where the device has them.

    On a processor one thread computes, so that the weights do not depend on how many there are.
    Threads, mode and random state are put back afterwards.
    """
    torch = need("torch")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(generator(seed, *labels).integers(2**32)))
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=device.type != "cpu")
        try:
            yield torch
        finally:
            torch.use_deterministic_algorithms(strict, warn_only=warns)
            torch.set_num_threads(threads)


def random_state(torch: Any, device: Any) -> dict[str, Any]:
    """Return PyTorch's random state, as a checkpoint keeps it."""
    state = {"cpu": torch.get_rng_state()}
    return state | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def set_random_state(torch: Any, device: Any, state: dict[str, Any]) -> None:
    """Put back what :func:`random_state` returned."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
