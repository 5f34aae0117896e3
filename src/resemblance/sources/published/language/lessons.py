"""What a classifier of sentences learns: its loss for training and for validation examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....extras import need
from ....subject import Recipe
from ..resources import Resources
from .data import Examples
from .frozen import freeze, upper_logits
from .learning import Lesson
from .tokens import Encoder, TokenRows, batch_of, by_length

ROWS = 64  # validation examples that go through a network at once
FROZEN = "frozen"  # the folder, beside the checkpoints, of what frozen layers return


def lesson_of(
    recipe: Recipe,
    model: Any,
    encode: Encoder,
    parts: tuple[Examples, Examples],
    resources: Resources,
    device: Any,
) -> Lesson:
    """Return the lesson of a classifier: cross-entropy on training and on validation examples.

    With ``options["frozen"]``, the embeddings and so many of the first layers are not trained.
    """
    torch = need("torch")
    training, validation = (encode(examples, recipe.options["tokens"]) for examples in parts)
    logits = _logits(recipe, model, training, resources, device)
    targets, answers = (torch.from_numpy(examples.labels).to(device) for examples in parts)

    def loss(rows: np.ndarray) -> Any:
        return torch.nn.functional.cross_entropy(logits(rows), targets[rows])

    def validation_loss() -> float:
        return _mean_loss(model, validation, answers, device)

    return Lesson(loss, training.lengths, validation_loss)


def _logits(
    recipe: Recipe, model: Any, tokens: TokenRows, resources: Resources, device: Any
) -> Callable[[Sequence[int]], Any]:
    """Return the function that gives the logits for some of the training texts."""
    torch, layers = need("torch"), recipe.options["frozen"]
    if not layers:
        return lambda rows: model(**batch_of(torch, tokens, rows, device)).logits
    freeze(model, layers)
    folder = None if resources.checkpoints is None else resources.checkpoints / FROZEN
    return upper_logits(model, tokens, layers, folder, device)


def _mean_loss(model: Any, tokens: TokenRows, targets: Any, device: Any) -> float:
    torch, total = need("torch"), 0.0
    with torch.no_grad():
        for rows in by_length(tokens.lengths, ROWS):
            logits = model(**batch_of(torch, tokens, rows, device)).logits
            losses = torch.nn.functional.cross_entropy(logits, targets[rows], reduction="sum")
            total += float(losses)
    return total / len(targets)
