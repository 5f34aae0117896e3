"""The training loop of language models: AdamW, warm-up, linear decay, the best state at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ....extras import need
from ....rng import generator
from ....subject import Recipe
from ..loop import Checkpoint, Resources, lower_precision, random_state, set_random_state


class Lesson(NamedTuple):
    """What a network learns: the mean loss of some training texts, the number of tokens of each of
    these (n,), and its loss for the validation texts."""

    loss: Callable[[np.ndarray], Any]
    lengths: np.ndarray
    validation: Callable[[], float]


class Optimization:
    """The parts of a training that change: weights, optimizer, random state, best weights."""

    def __init__(self, model: Any, options: Mapping[str, Any], resources: Resources, device: Any):
        torch = need("torch")
        self.torch, self.model, self.device = torch, model, device
        self.weights = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(
            self.weights.values(), lr=options["rate"], weight_decay=options["decay"]
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=resources.precision == "float16")
        self.step, self.loss = 0, math.inf
        self.best: dict[str, Any] = {}

    def state(self) -> dict[str, Any]:
        """Return everything that the next steps depend on."""
        return {
            "step": self.step,
            "weights": {name: weight.detach() for name, weight in self.weights.items()},
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": random_state(self.torch, self.device),
            "loss": self.loss,
            "best": self.best,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""
        self.put(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        set_random_state(self.torch, self.device, state["random"])
        self.step, self.loss, self.best = state["step"], state["loss"], state["best"]

    def put(self, weights: Mapping[str, Any]) -> None:
        """Replace the weights."""
        with self.torch.no_grad():
            for name, weight in weights.items():
                self.weights[name].copy_(weight)

    def judge(self, loss: float) -> None:
        """Remember the weights if this validation loss is the lowest so far."""
        if loss < self.loss:
            self.loss = loss
            self.best = {n: w.detach().cpu().clone() for n, w in self.weights.items()}


def learn(
    recipe: Recipe, model: Any, lesson: Lesson, resources: Resources, device: Any
) -> dict[str, np.ndarray]:
    """Train those weights of a model that are not frozen, and return them by name.

    This is what the Trainer of Hugging Face does with the settings of the authors: AdamW; a
    learning rate that rises over the first tenth of the steps and then falls to zero, both
    linearly; gradients scaled down to a norm of ``clip``; all texts in random order in every epoch.
    With ``evaluate``, the validation loss is computed every so many steps, and the weights with the
    lowest are returned. ``accumulate`` divides a batch into as many parts that go through the
    network one after the other, with the same result but for rounding and dropout.

    A training that was killed continues from its last checkpoint to the same weights.
    """
    options = hyperparameters(recipe)
    training, checkpoint = (
        Optimization(model, options, resources, device),
        Checkpoint(recipe, resources),
    )
    state = checkpoint.load()
    if state is not None:
        training.restore(state)
    total = steps_of(len(lesson.lengths), options)
    model.train()
    for rows in islice(batches(recipe, lesson.lengths, options), training.step, total):
        _step(training, lesson, rows, options, lower_precision(resources, device), total)
        training.step += 1
        if options["evaluate"] and training.step % options["evaluate"] == 0:
            model.eval()
            training.judge(lesson.validation())
            model.train()
        if checkpoint.is_due():
            checkpoint.save(training.state())
    training.put(training.best)
    model.eval()
    checkpoint.remove()
    return {name: w.detach().cpu().numpy().copy() for name, w in training.weights.items()}


def hyperparameters(recipe: Recipe) -> dict[str, Any]:
    """Return the options of a recipe, with one value for those that depend on the setting."""
    return {
        name: value[recipe.setting] if _depends(value) else value
        for name, value in recipe.options.items()
    }


def _depends(value: Any) -> bool:
    return isinstance(value, Mapping) and "normal" in value


def steps_of(count: int, options: Mapping[str, Any]) -> int:
    """Return the number of steps of a training: ``steps``, or as many as the epochs have."""
    if options["steps"] is not None:
        return int(options["steps"])
    return int(options["epochs"] * math.ceil(count / options["batch"]))


def rate_at(step: int, total: int, warmup: float) -> float:
    """Return the learning rate of a step, counted from 0, as a share of the largest one."""
    rising = math.ceil(warmup * total)
    if step < rising:
        return step / rising
    return (total - step) / max(1, total - rising)


def batches(
    recipe: Recipe, lengths: np.ndarray, options: Mapping[str, Any]
) -> Iterator[np.ndarray]:
    """Yield the places of the texts of each batch, epoch after epoch without end.

    With ``order`` "random", batches are drawn without replacement; with "similar-lengths", those of
    a batch have similar lengths, which saves padding, and the batches come in random order.
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


def _step(
    training: Optimization,
    lesson: Lesson,
    rows: np.ndarray,
    options: Mapping[str, Any],
    precision: AbstractContextManager[Any],
    total: int,
) -> None:
    """Change the weights once, by the gradient of the mean loss of a batch."""
    optimizer, scaler = training.optimizer, training.scaler
    optimizer.param_groups[0]["lr"] = options["rate"] * rate_at(
        training.step, total, options["warmup"]
    )
    optimizer.zero_grad()
    for part in np.array_split(rows, min(options["accumulate"], len(rows))):
        with precision:
            loss = lesson.loss(part) * (len(part) / len(rows))
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    training.torch.nn.utils.clip_grad_norm_(training.weights.values(), options["clip"])
    scaler.step(optimizer)
    scaler.update()
