"""Where a training on real data runs: device, precision, random state."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...extras import need
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
    return torch.autocast(device.type, getattr(torch, resources.precision))


def random_state(torch: Any, device: Any) -> dict[str, Any]:
    """Return PyTorch's random state, as a checkpoint keeps it."""
    state = {"cpu": torch.get_rng_state()}
    return state | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def set_random_state(torch: Any, device: Any, state: dict[str, Any]) -> None:
    """Put back what :func:`random_state` returned."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
