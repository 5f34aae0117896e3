"""The training of a vision model, which continues after an interruption as if there had been
none."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....rng import generator
from ....subject import Recipe
from ..checkpoints import Checkpoint
from ..devices import lower_precision, random_state, set_random_state
from ..resources import Resources
from .models import forward
from .pipeline import Feed, batches, training_image

MOST_THREADS = 16  # that load images for an accelerator


class ImageTraining(NamedTuple):
    """A training in progress: PyTorch, its device, the model, its optimizer, and what scales losses
    in half precision."""

    torch: Any
    device: Any
    model: Any
    optimizer: Any
    scaler: Any


def learn(torch: Any, device: Any, recipe: Recipe, model: Any, feed: Feed, where: Resources) -> Any:
    """Train a model by the options of its recipe and return it.

    The loss is the cross-entropy, over ``accumulate`` batches per step as if each were a share of
    it; the learning rate changes with the epoch as in :func:`rate_at`, and all weights decay. In
    each epoch images come in an order of their own.
    """
    model.to(device).train()
    scaler = torch.amp.GradScaler(device.type, enabled=where.precision == "float16")
    optimizer = _optimizer(torch, model, recipe.options)
    training = ImageTraining(torch, device, model, optimizer, scaler)
    checkpoint = Checkpoint(recipe, where)
    epoch, begun = _restored(training, checkpoint.load())
    for current in range(epoch, recipe.options["epochs"]):
        for done in _epoch(training, recipe, feed, where, current, begun):
            if checkpoint.is_due():
                checkpoint.save(_state(training, current, done))
        begun = 0
    checkpoint.remove()
    return model


def rate_at(epoch: int, options: Mapping[str, Any]) -> float:
    """Return the learning rate of an epoch, counted from 0.

    It rises in a line from 0 in the first epoch to ``lr`` in the last of ``warmup``, then falls
    from ``lr`` as half a cosine to 0 after the last epoch. So a training with a warm-up changes
    nothing in its first epoch, as in the authors' code. Reference: Loshchilov and Hutter (ICLR
    2017).
    """
    peak, warmup, epochs = float(options["lr"]), int(options["warmup"]), int(options["epochs"])
    if epoch < warmup:
        return peak * epoch / max(1, warmup - 1)
    share = (epoch - warmup) / (epochs - warmup)
    return peak * (1 + math.cos(math.pi * share)) / 2


def threads_for(device: Any) -> int:
    """Return how many threads load images: one if the processor also computes."""
    return 1 if device.type == "cpu" else min(MOST_THREADS, os.cpu_count() or 1)


def _epoch(
    training: ImageTraining, recipe: Recipe, feed: Feed, where: Resources, epoch: int, begun: int
) -> Iterator[int]:
    """Train for an epoch from the batch ``begun``, and yield after every step how many batches are
    done."""
    options, optimizer = recipe.options, training.optimizer
    for group in optimizer.param_groups:
        group["lr"] = rate_at(epoch, options)
    order = generator(recipe.seed, "vision", recipe.name, "order", epoch)
    places = order.permutation(len(feed.rows)).tolist()
    size, load = options["batch"], partial(training_image, recipe, feed, epoch)
    total = math.ceil(len(places) / size)
    left = places[begun * size :]
    for done, images in enumerate(
        batches(load, left, size, threads_for(training.device)), begun + 1
    ):
        labels = feed.labels[places[(done - 1) * size : done * size]]
        _add_gradients(training, recipe, where, images, labels)
        if done % options["accumulate"] == 0 or done == total:
            _step(training, options)
            yield done


def _add_gradients(
    training: ImageTraining,
    recipe: Recipe,
    where: Resources,
    images: np.ndarray,
    labels: np.ndarray,
) -> None:
    torch, device, options = training.torch, training.device, recipe.options
    x, y = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
    with lower_precision(where, device):
        logits = forward(recipe.architecture, training.model, x)["logits"]
    loss = torch.nn.functional.cross_entropy(
        logits.float(), y, label_smoothing=options["label_smoothing"]
    )
    training.scaler.scale(loss / options["accumulate"]).backward()


def _step(training: ImageTraining, options: Mapping[str, Any]) -> None:
    if options["gradient_clip"]:
        training.scaler.unscale_(training.optimizer)
        training.torch.nn.utils.clip_grad_value_(
            training.model.parameters(), options["gradient_clip"]
        )
    training.scaler.step(training.optimizer)
    training.scaler.update()
    training.optimizer.zero_grad(set_to_none=True)


def _optimizer(torch: Any, model: Any, options: Mapping[str, Any]) -> Any:
    weights, common = model.parameters(), {"lr": options["lr"]}
    common["weight_decay"] = options["weight_decay"]
    if options["optimizer"] == "adamw":
        betas = tuple(options["betas"])
        return torch.optim.AdamW(weights, betas=betas, eps=options["eps"], **common)
    momentum, nesterov = options["momentum"], options["nesterov"]
    return torch.optim.SGD(weights, momentum=momentum, nesterov=nesterov, **common)


# ------------------------------------------------------------------------------------------- resume


def _state(training: ImageTraining, epoch: int, done: int) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "done": done,
        "model": training.model.state_dict(),
        "optimizer": training.optimizer.state_dict(),
        "scaler": training.scaler.state_dict(),
        "random": random_state(training.torch, training.device),
    }


def _restored(training: ImageTraining, state: Mapping[str, Any] | None) -> tuple[int, int]:
    """Put back a state and return its epoch and how many of its batches are done."""
    if state is None:
        return 0, 0
    training.model.load_state_dict(state["model"])
    training.optimizer.load_state_dict(state["optimizer"])
    training.scaler.load_state_dict(state["scaler"])
    set_random_state(training.torch, training.device, state["random"])
    return int(state["epoch"]), int(state["done"])
