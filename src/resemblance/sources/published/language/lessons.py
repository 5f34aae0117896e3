"""What a network learns from sentences: its loss for training and for validation examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....extras import need
from ....subject import Recipe
from ..resources import Resources
from .data import Examples
from .frozen import freeze, upper_logits
from .learning import Lesson
from .models import Network
from .prompts import prompt_lesson
from .tokens import TokenRows, batch_of, by_length

ROWS = 64  # validation examples that go through a network at once
FROZEN = "frozen"  # the folder, beside the checkpoints, of what frozen layers return


def lesson_of(
    recipe: Recipe,
    network: Network,
    parts: tuple[Examples, Examples],
    resources: Resources,
    device: Any,
) -> Lesson:
    """Return the lesson of a network: cross-entropy on training and on validation examples.

    With ``options["frozen"]``, the embeddings and so many of the first layers are not trained.
    """
    torch, model, options = need("torch"), network.model, recipe.options
    training, validation = (network.encode(part, options["tokens"]) for part in parts)
    if network.answers is not None:
        prompts, labels = (training, validation), (parts[0].labels, parts[1].labels)
        return prompt_lesson(model, prompts, labels, network.answers, options["targets"], device)
    logits = _logits(recipe, model, training, resources, device)
    targets, answers = (torch.from_numpy(part.labels).to(device) for part in parts)

    def loss(rows: np.ndarray) -> Any:
        return torch.nn.functional.cross_entropy(logits(rows), targets[rows])

    def validation_loss() -> float:
        return _mean_loss(model, validation, answers, device)

    return Lesson(loss, training.lengths, validation_loss)


def _logits(
    recipe: Recipe, model: Any, tokens: TokenRows, resources: Resources, device: Any
) -> Callable[[np.ndarray], Any]:
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
