"""What pretraining and fine-tuning share in all domains: a start from known weights, and accuracies
by severity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...extras import need
from ...subject import TRANSFER, Recipe
from .common import State

FINETUNING = frozenset({"shots", "pretraining"})  # options that pretrained models do not have


def begin(recipe: Recipe, model: Any, start: State | None, head: str) -> Any:
    """Put the weights of the pretrained model into all of a freshly initialised one but its head,
    and return it.

    ``head``: what the names of the weights of the head start with; these keep their random values.

    Raises ``ValueError`` when there is no ``start``, or it is of another network.
    """
    if start is None:
        raise ValueError(f"{recipe.name}: fit needs start, the weights of {recipe.parent.name}")  # type: ignore[union-attr]
    torch, own = need("torch"), model.state_dict()
    body = {name: value for name, value in own.items() if not name.startswith(head)}
    for name, value in body.items():
        if name not in start or np.shape(start[name]) != tuple(value.shape):
            got = f"the shape {np.shape(start[name])}" if name in start else "nothing"
            raise ValueError(
                f"{recipe.name}: start has {got} for {name}, which is {tuple(value.shape)}"
            )
    model.load_state_dict(own | {name: torch.from_numpy(np.array(start[name])) for name in body})
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
