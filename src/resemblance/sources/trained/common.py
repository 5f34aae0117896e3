"""What all trainings share: a seeded, single-threaded, deterministic PyTorch, and the corruption of
labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...extras import need
from ...rng import generator

State = Mapping[str, np.ndarray]  # the weights of a model, by name


@contextmanager
def seeded(seed: int, *labels: str | int) -> Iterator[Any]:
    """Yield PyTorch with one thread, deterministic algorithms and a random state that depends on
    the arguments only.

    Threads, mode and random state are put back afterwards, so that a training neither depends on
    what ran before it nor changes what runs after it.
    """
    torch = need("torch")
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator(seed, *labels).integers(2**32)))
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        try:
            yield torch
        finally:
            torch.use_deterministic_algorithms(strict)
            torch.set_num_threads(threads)


def state_of(model: Any) -> dict[str, np.ndarray]:
    """Return the weights of a PyTorch module as arrays of their own."""
    return {name: value.detach().cpu().numpy().copy() for name, value in model.state_dict().items()}


def load_state(model: Any, state: State) -> Any:
    """Put weights into a PyTorch module, switch it to evaluation, and return it."""
    torch = need("torch")
    model.load_state_dict(
        {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
    )
    return model.eval()


def wrong_labels(
    labels: np.ndarray, share: float, classes: int, random: np.random.Generator
) -> np.ndarray:
    """Return labels of which exactly ``int(share * n)``, drawn without replacement, are another
    class, uniformly."""
    result = labels.copy()
    chosen = random.permutation(len(labels))[: int(share * len(labels))]
    result[chosen] = (labels[chosen] + random.integers(1, classes, len(chosen))) % classes
    return result


def accuracy(outputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of rows whose largest output is the label."""
    return float((outputs.argmax(axis=1) == labels).mean())
