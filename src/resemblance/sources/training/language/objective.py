"""What a network learns from sentences: its loss for training and for validation examples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....extras import need
from ....json_files import replacing
from ....subject import Recipe
from ..loop import Resources
from .data import Examples
from .learning import Lesson
from .pretrained import Network, TokenRows, batch_of, by_length

VALIDATION_ROWS = 64  # validation examples that go through a network at once
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
        for rows in by_length(tokens.lengths, VALIDATION_ROWS):
            logits = model(**batch_of(torch, tokens, rows, device)).logits
            losses = torch.nn.functional.cross_entropy(logits, targets[rows], reduction="sum")
            total += float(losses)
    return total / len(targets)


PROMPT_ROWS = 16  # validation prompts that go through a network at once


def prompt_lesson(
    model: Any,
    prompts: tuple[TokenRows, TokenRows],
    labels: tuple[np.ndarray, np.ndarray],
    answers: Sequence[int],
    targets: str,
    device: Any,
) -> Lesson:
    """Return the lesson of a model that continues texts: cross-entropy of the next token.

    ``targets`` "text": of every token of prompt and answer, the mean over those of a batch;
    "answer": of the answer alone.
    """
    torch = need("torch")
    training, validation = (_answered(*both, answers) for both in zip(prompts, labels))

    def loss(rows: np.ndarray) -> Any:
        return _loss(torch, model, training, rows, targets, device)

    def validation_loss() -> float:
        with torch.no_grad():
            parts = [
                float(_loss(torch, model, validation, rows, targets, device)) * len(rows)
                for rows in by_length(validation.lengths, PROMPT_ROWS)
            ]
        return sum(parts) / len(validation.ids)

    return Lesson(loss, training.lengths, validation_loss)


def _answered(prompts: TokenRows, labels: np.ndarray, answers: Sequence[int]) -> TokenRows:
    """Return prompts with their answers."""
    ids = [np.append(row, answers[label]) for row, label in zip(prompts.ids, labels)]
    return prompts._replace(ids=ids)


def _loss(
    torch: Any, model: Any, tokens: TokenRows, rows: np.ndarray, targets: str, device: Any
) -> Any:
    batch = batch_of(torch, tokens, rows, device)
    logits = model(**batch).logits[:, :-1]
    places = torch.arange(logits.shape[1], device=device)
    ends = batch["attention_mask"].sum(dim=1, keepdim=True) - 2  # where the answer comes next
    chosen = places <= ends if targets == "text" else places == ends
    return torch.nn.functional.cross_entropy(logits[chosen], batch["input_ids"][:, 1:][chosen])


LOWER_ROWS = 64  # sentences that go through the lower layers at once


def freeze(model: Any, layers: int) -> None:
    """Exclude the embeddings and the first layers of a BERT from training."""
    for part in (model.bert.embeddings, *model.bert.encoder.layer[:layers]):
        part.requires_grad_(False)


def upper_logits(
    model: Any, tokens: TokenRows, layers: int, folder: Path | None, device: Any
) -> Callable[[np.ndarray], Any]:
    """Return the function that gives the logits for some of the texts, as the whole model does with
    its lower ``layers`` in evaluation mode.

    What these return is computed at once, and read from a file in ``folder`` if an earlier training
    with the same weights and texts left one there.
    """
    torch = need("torch")
    lengths = tokens.lengths
    ends = np.cumsum(lengths)
    states = lower_states(model, tokens, layers, folder, device)

    def logits(rows: np.ndarray) -> Any:
        longest = int(lengths[rows].max())
        block = np.zeros((len(rows), longest, states.shape[1]), dtype=np.float32)
        mask = np.zeros((len(rows), 1, 1, longest), dtype=bool)
        for place, i in enumerate(rows):
            block[place, : lengths[i]] = states[ends[i] - lengths[i] : ends[i]]
            mask[place, ..., : lengths[i]] = True
        hidden, real = torch.from_numpy(block).to(device), torch.from_numpy(mask).to(device)
        for layer in model.bert.encoder.layer[layers:]:
            hidden = layer(hidden, real)
        return model.classifier(model.dropout(model.bert.pooler(hidden)))

    return logits


def lower_states(
    model: Any, tokens: TokenRows, layers: int, folder: Path | None, device: Any
) -> np.ndarray:
    """Return the hidden states of all real tokens after the lower layers, text after text, as an
    array (tokens, width) in float32, from the file of an earlier training if there is one."""
    path = None if folder is None else folder / f"lower-{_key(model, tokens, layers)}.npy"
    shape = (int(tokens.lengths.sum()), model.config.hidden_size)
    if path is not None and path.is_file():
        try:
            states = np.load(path, mmap_mode="r")
            if states.shape == shape and states.dtype == np.float32:
                return np.asarray(states)
        except (OSError, ValueError):
            pass  # damaged: it is computed again
    result = _computed(model, tokens, layers, device)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial, partial.open("wb") as file:
            np.save(file, result)
    return result


def _computed(model: Any, tokens: TokenRows, layers: int, device: Any) -> np.ndarray:
    torch, was_training = need("torch"), model.training
    lengths = tokens.lengths
    ends = np.cumsum(lengths)
    result = np.empty((int(lengths.sum()), model.config.hidden_size), dtype=np.float32)
    model.eval()
    with torch.no_grad():
        for rows in by_length(lengths, LOWER_ROWS):
            batch = batch_of(torch, tokens, rows, device)
            real = batch.pop("attention_mask")[:, None, None].bool()
            hidden = model.bert.embeddings(**batch)
            for layer in model.bert.encoder.layer[:layers]:
                hidden = layer(hidden, real)
            for i, states in zip(rows, hidden.cpu().numpy()):
                result[ends[i] - lengths[i] : ends[i]] = states[: lengths[i]]
    model.train(was_training)
    return result


def _key(model: Any, tokens: TokenRows, layers: int) -> str:
    """Return a hash of the lower weights and of the texts."""
    key = hashlib.sha256(f"{layers} {tokens.lengths.tolist()}".encode())
    for part in (model.bert.embeddings, *model.bert.encoder.layer[:layers]):
        for weight in part.parameters():
            key.update(weight.detach().cpu().numpy().tobytes())
    for arrays in (tokens.ids, tokens.segments or ()):
        for array in arrays:
            key.update(array.astype(np.int64).tobytes())
    return key.hexdigest()[:32]
