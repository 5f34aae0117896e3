"""What all domains share: a seeded, single-threaded, deterministic PyTorch, the corruption of
labels, a start from pretrained weights, and shifts of several severities."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...extras import need
from ...rng import generator
from ...subject import TRANSFER, Recipe

State = Mapping[str, np.ndarray]  # the weights of a model, by name
FINETUNING = frozenset({"shots", "pretraining"})  # options that pretrained models do not have
SEVERITIES = (1, 2, 3, 4, 5)


@contextmanager
def seeded(seed: int, *labels: str | int, device: Any = None) -> Iterator[Any]:
    """Yield PyTorch with one thread, a random state that depends on the arguments only, and
    deterministic algorithms, on a ``device`` that is no processor where it has them.

    Threads, mode and random state are put back afterwards, so that a training neither depends on
    what ran before it nor changes what runs after it.
    """
    torch = need("torch")
    kind = "cpu" if device is None else device.type
    if kind == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=[device] if kind == "cuda" else []):
        torch.manual_seed(int(generator(seed, *labels).integers(2**32)))
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=kind != "cpu")
        try:
            yield torch
        finally:
            torch.use_deterministic_algorithms(strict, warn_only=warns)
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


# ------------------------------------------------------------------- pretraining and fine-tuning


def begin(recipe: Recipe, model: Any, start: State | None, head: str) -> Any:
    """Load pretrained weights into every layer of a new model except the head, and return it.

    ``head``: how the names of the head's weights start; these keep their random values.

    Raises ``ValueError`` when there is no ``start``, or it is of another network.
    """
    if start is None:
        raise ValueError(f"{recipe.name}: fit needs start, the weights of {recipe.parent.name}")  # type: ignore[union-attr]
    torch, initial = need("torch"), model.state_dict()
    body = {name: value for name, value in initial.items() if not name.startswith(head)}
    for name, value in body.items():
        if name not in start or np.shape(start[name]) != tuple(value.shape):
            got = f"the shape {np.shape(start[name])}" if name in start else "nothing"
            raise ValueError(
                f"{recipe.name}: start has {got} for {name}, which is {tuple(value.shape)}"
            )
    model.load_state_dict(
        initial | {name: torch.from_numpy(np.array(start[name])) for name in body}
    )
    return model


def check_transfer(
    recipe: Recipe, known: Mapping[str, tuple[str, ...]], options: Mapping[str, Any]
) -> None:
    """Raise ``ValueError`` unless a recipe is of a known kind and has at least these options, for
    its parent too."""
    for name, values in {**known, "setting": TRANSFER}.items():
        if getattr(recipe, name) not in values:
            allowed = ", ".join(map(repr, values))
            raise ValueError(
                f"{recipe.domain}: {name} must be one of {allowed}; got {getattr(recipe, name)!r}"
            )
    if recipe.strength != 0:
        raise ValueError(
            f"{recipe.domain}: {recipe.setting} models have strength 0; got {recipe.strength!r}"
        )
    needed = options.keys() - (FINETUNING if recipe.setting == "pretrained" else ())
    missing = sorted(needed - recipe.options.keys())
    if missing:
        raise ValueError(
            f"{recipe.domain}: options for {recipe.architecture!r} lack {', '.join(missing)}"
        )
    if recipe.parent is not None:
        check_transfer(recipe.parent, known, options)


def examples(
    labels: np.ndarray, shots: int, classes: int, random: np.random.Generator
) -> np.ndarray:
    """Return the places of ``shots`` examples of every class, drawn without replacement, class by
    class.

    Raises ``ValueError`` when a class has fewer.
    """
    fewest = np.bincount(labels, minlength=classes).min()
    if not 0 < shots <= fewest:
        raise ValueError(
            f"examples: shots must be between 1 and {fewest}, the examples of the rarest class; "
            f"got {shots!r}"
        )
    return np.concatenate(
        [random.permutation(np.flatnonzero(labels == k))[:shots] for k in range(classes)]
    )


def with_means(accuracies: Mapping[str, float]) -> dict[str, float]:
    """Return accuracies and their means: of each shift over its severities, and as ``"shift"`` of
    all of these.

    Names with a severity are "shift/severity"; names without are kept, and "test" is no shift.
    """
    families: dict[str, list[float]] = {}
    for name, value in accuracies.items():
        if name != "test":
            families.setdefault(name.partition("/")[0], []).append(value)
    means = {name: float(np.mean(values)) for name, values in families.items()}
    return {**accuracies, **means, "shift": float(np.mean(list(means.values())))}


# ------------------------------------------------------------------------------- shifted inputs


def check_shift(
    function: str, what: str, name: str, known: Collection[str], severity: object
) -> None:
    """Raise ``ValueError`` unless a shift is known and its severity is a whole number from 0 to
    5."""
    if name not in known:
        raise ValueError(f"{function}: no {what} {name!r}; known: {', '.join(known)}")
    whole = isinstance(severity, int | np.integer) and not isinstance(severity, bool)
    if not whole or severity not in (0, *SEVERITIES):
        raise ValueError(f"{function}: severity must be 0 to 5; got {severity!r}")
