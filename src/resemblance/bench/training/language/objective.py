"""Fine-tuning of a language model: losses, training steps, and frozen layers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.json_files import atomic_write
from resemblance.base.rng import generator
from resemblance.models.recipe import Recipe

from ..loop import Checkpoint, Schedule, TrainingEnvironment, train_steps
from .data import Examples
from .networks import TokenRows, batches_by_length, padded_batch
from .pretrained import TextNetwork

VALIDATION_ROWS = 64  # validation examples that go through a network at once
FROZEN_FOLDER = "frozen"  # subfolder of the checkpoints for frozen outputs


class Objective(NamedTuple):
    """A training objective.

    ``loss``: maps indices of training texts to their mean loss. ``lengths``: the number of tokens
    of every training text, (n,). ``validation``: returns the mean loss of the validation texts.
    """

    loss: Callable[[np.ndarray], Any]
    lengths: np.ndarray
    validation: Callable[[], float]


def train_unfrozen(
    recipe: Recipe, model: Any, objective: Objective, resources: TrainingEnvironment
) -> dict[str, np.ndarray]:
    """Train all weights of a model that are not frozen, and return the trained weights by name.

    The training follows Hugging Face's Trainer with the authors' settings: AdamW; a learning rate
    that rises linearly over the first tenth of the steps and then falls linearly to zero; gradients
    scaled down to a norm of ``clip``; all texts in random order in every epoch. With ``evaluate``,
    the function computes the validation loss every ``evaluate`` steps, and returns the weights with
    the lowest validation loss. ``accumulate`` divides a batch into this number of parts, processed
    one after the other; the result is the same up to rounding and dropout.
    """
    torch, options = import_optional("torch"), training_hyperparameters(recipe)
    weights = {name: w for name, w in model.named_parameters() if w.requires_grad}
    total = count_steps(len(objective.lengths), options)

    def steps(first: int) -> Iterator[Any]:
        for rows in islice(text_batches(recipe, objective.lengths, options), first, total):
            parts = np.array_split(rows, min(options["accumulate"], len(rows)))
            yield [(part, len(part) / len(rows)) for part in parts]

    train_steps(
        model,
        steps,
        lambda part: objective.loss(part[0]) * part[1],
        torch.optim.AdamW(weights.values(), lr=options["rate"], weight_decay=options["decay"]),
        schedule=linear_schedule(total, options),
        clip=partial(torch.nn.utils.clip_grad_norm_, max_norm=options["clip"]),
        precision=resources.precision,
        checkpoint=Checkpoint(recipe, resources),
        validation=objective.validation,
        validate=options["evaluate"],
    )
    return {name: w.detach().cpu().numpy().copy() for name, w in weights.items()}


def training_hyperparameters(recipe: Recipe) -> dict[str, Any]:
    """Return the options of a recipe; options by setting are replaced by the value for the recipe's
    setting."""
    options = dict(recipe.options)
    for name, value in options.items():
        if isinstance(value, Mapping) and "normal" in value:
            options[name] = value[recipe.setting]
    return options


def count_steps(count: int, options: Mapping[str, Any]) -> int:
    """Return the number of steps of a training: ``options["steps"]``, or the number of steps in all
    epochs of ``count`` training texts."""
    if options["steps"] is not None:
        return int(options["steps"])
    return int(options["epochs"] * math.ceil(count / options["batch"]))


def linear_schedule(total: int, options: Mapping[str, Any]) -> Schedule:
    """Return the learning-rate schedule for ``total`` steps: a linear rise, then a linear fall to
    zero. ``options["warmup"]`` is the share of steps with a rising rate."""
    warmup = math.ceil(options["warmup"] * total)
    return Schedule(total, (0, warmup), warmup)


def text_batches(
    recipe: Recipe, lengths: np.ndarray, options: Mapping[str, Any]
) -> Iterator[np.ndarray]:
    """Yield the indices of the texts of every batch, epoch after epoch without end.

    ``lengths``: the number of tokens of every text. ``options``: ``batch``, the texts per batch,
    and ``order``. With ``order`` "random", batches are drawn without replacement. With
    "similar-lengths", the texts of a batch have similar lengths, which saves padding, and the
    batches come in random order.
    """
    epoch = 0
    while True:
        random = generator(recipe.seed, "published", recipe.name, "order", epoch)
        rows = random.permutation(len(lengths))
        if options["order"] == "similar-lengths":
            rows = rows[np.argsort(lengths[rows], kind="stable")]
        parts = [rows[i : i + options["batch"]] for i in range(0, len(rows), options["batch"])]
        if options["order"] == "similar-lengths":
            parts = [parts[i] for i in random.permutation(len(parts))]
        yield from parts
        epoch += 1


def build_objective(
    recipe: Recipe,
    network: TextNetwork,
    parts: tuple[Examples, Examples],
    resources: TrainingEnvironment,
    device: Any,
) -> Objective:
    """Return the objective of a network: cross-entropy on training and on validation examples
    (``parts``, in this order). ``device``: of PyTorch.

    With ``options["frozen"]`` of the recipe, the embeddings and this number of first layers are not
    trained.
    """
    torch, model, options = import_optional("torch"), network.model, recipe.options
    training, validation = (network.encode(part, options["tokens"]) for part in parts)
    if network.answers is not None:
        prompts, labels = (training, validation), (parts[0].labels, parts[1].labels)
        return prompt_objective(model, prompts, labels, network.answers, options["targets"], device)
    targets, answers = (torch.from_numpy(part.labels).to(device) for part in parts)

    def logits(rows: np.ndarray) -> Any:
        return model(**padded_batch(torch, training, rows, device)).logits

    training_logits: Callable[[np.ndarray], Any] = logits
    if layers := options["frozen"]:
        for part in (model.bert.embeddings, *model.bert.encoder.layer[:layers]):
            part.requires_grad_(False)
        folder = None if resources.checkpoints is None else resources.checkpoints / FROZEN_FOLDER
        training_logits = upper_logits(model, training, layers, folder, device)

    def loss(rows: np.ndarray) -> Any:
        return torch.nn.functional.cross_entropy(training_logits(rows), targets[rows])

    def validation_loss() -> float:
        total = 0.0
        with torch.no_grad():
            for rows in batches_by_length(validation.lengths, VALIDATION_ROWS):
                outputs = model(**padded_batch(torch, validation, rows, device)).logits
                losses = torch.nn.functional.cross_entropy(outputs, answers[rows], reduction="sum")
                total += float(losses)
        return total / len(answers)

    return Objective(loss, training.lengths, validation_loss)


PROMPT_ROWS = 16  # validation prompts that go through a network at once


def prompt_objective(
    model: Any,
    prompts: tuple[TokenRows, TokenRows],
    labels: tuple[np.ndarray, np.ndarray],
    answers: Sequence[int],
    targets: str,
    device: Any,
) -> Objective:
    """Return the objective of a language model: cross-entropy of the next token.

    ``prompts``, ``labels``: of the training and of the validation examples. ``answers``: the answer
    token of every class. ``targets`` "text": every token of prompt and answer, averaged over all
    tokens of a batch; "answer": the answer token alone.
    """
    torch, token_rows = import_optional("torch"), []
    for tokens, classes in zip(prompts, labels):
        ids = [np.append(row, answers[label]) for row, label in zip(tokens.ids, classes)]
        token_rows.append(tokens._replace(ids=ids))
    training, validation = token_rows

    def loss(rows: np.ndarray) -> Any:
        return _batch_loss(torch, model, training, rows, targets, device)

    def validation_loss() -> float:
        with torch.no_grad():
            parts = [
                float(_batch_loss(torch, model, validation, rows, targets, device)) * len(rows)
                for rows in batches_by_length(validation.lengths, PROMPT_ROWS)
            ]
        return sum(parts) / len(validation.ids)

    return Objective(loss, training.lengths, validation_loss)


def _batch_loss(
    torch: Any, model: Any, tokens: TokenRows, rows: np.ndarray, targets: str, device: Any
) -> Any:
    batch = padded_batch(torch, tokens, rows, device)
    logits = model(**batch).logits[:, :-1]
    places = torch.arange(logits.shape[1], device=device)
    ends = batch["attention_mask"].sum(dim=1, keepdim=True) - 2  # the position before the answer
    mask = places <= ends if targets == "text" else places == ends
    return torch.nn.functional.cross_entropy(logits[mask], batch["input_ids"][:, 1:][mask])


LOWER_ROWS = 64  # sentences that go through the lower layers at once


def upper_logits(
    model: Any, tokens: TokenRows, layers: int, folder: Path | None, device: Any
) -> Callable[[np.ndarray], Any]:
    """Return a function that maps indices (m,) of texts to their logits (m, classes), equal to the
    whole model with the lower ``layers`` layers in evaluation mode.

    ``model``: a BERT classifier on ``device``. The outputs of the lower layers are computed
    immediately, or read from a file in ``folder`` if an earlier training with the same weights and
    texts wrote the file.
    """
    torch = import_optional("torch")
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
        hidden = torch.from_numpy(block).to(device)
        attention_mask = torch.from_numpy(mask).to(device)
        for layer in model.bert.encoder.layer[layers:]:
            hidden = layer(hidden, attention_mask)
        return model.classifier(model.dropout(model.bert.pooler(hidden)))

    return logits


def lower_states(
    model: Any, tokens: TokenRows, layers: int, folder: Path | None, device: Any
) -> np.ndarray:
    """Return the hidden states of all real tokens after the lower ``layers`` layers, text after
    text, as an array (tokens, width) in float32.

    ``folder``: where the states are stored as a file; if an earlier training wrote the file, the
    file is read instead. None stores nothing.
    """
    path = None
    if folder is not None:
        path = folder / f"lower-{_frozen_layers_key(model, tokens, layers)}.npy"
    shape = (int(tokens.lengths.sum()), model.config.hidden_size)
    if path is not None and path.is_file():
        try:
            states = np.load(path, mmap_mode="r")
            if states.shape == shape and states.dtype == np.float32:
                return np.asarray(states)
        except (OSError, ValueError):
            pass  # a damaged file: compute the states again
    torch, was_training = import_optional("torch"), model.training
    ends = np.cumsum(tokens.lengths)
    result = np.empty(shape, dtype=np.float32)
    model.eval()
    with torch.no_grad():
        for rows in batches_by_length(tokens.lengths, LOWER_ROWS):
            batch = padded_batch(torch, tokens, rows, device)
            attention_mask = batch.pop("attention_mask")[:, None, None].bool()
            hidden = model.bert.embeddings(**batch)
            for layer in model.bert.encoder.layer[:layers]:
                hidden = layer(hidden, attention_mask)
            for i, states in zip(rows, hidden.cpu().numpy()):
                length = len(tokens.ids[i])
                result[ends[i] - length : ends[i]] = states[:length]
    model.train(was_training)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary_file, temporary_file.open("wb") as file:
            np.save(file, result)
    return result


def _frozen_layers_key(model: Any, tokens: TokenRows, layers: int) -> str:
    key = hashlib.sha256(f"{layers} {tokens.lengths.tolist()}".encode())
    for part in (model.bert.embeddings, *model.bert.encoder.layer[:layers]):
        for weight in part.parameters():
            key.update(weight.detach().cpu().numpy().tobytes())
    for arrays in (tokens.ids, tokens.segments or ()):
        for array in arrays:
            key.update(array.astype(np.int64).tobytes())
    return key.hexdigest()[:32]
