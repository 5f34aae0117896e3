"""The training loop, with device, random state, learning-rate schedule and checkpoints."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.json_files import atomic_write
from resemblance.base.rng import generator
from resemblance.base.text import check_choice
from resemblance.models.recipe import Recipe

WeightsByName = Mapping[str, np.ndarray]  # the weights of a model, by name
TRAINING_PRECISIONS = ("float32", "bfloat16", "float16")


class TrainingEnvironment(NamedTuple):
    """Settings of a training on real data that are not part of the recipe; no recipe depends on
    them.

    ``data``: the folder with all data sets and pretrained weights. ``download``: whether libraries
    may download missing data sets into that folder. ``device``: a PyTorch device, such as "cpu" or
    "cuda:1"; None for the first accelerator, or the CPU without an accelerator. ``precision``: the
    precision of matrix products in vision and language models; weights are in float32.
    ``checkpoints``: the folder for the training state, written every ``every`` seconds; None to
    write no state. ``archive``: the folder of the authors' trained models; if given, released
    weights replace training.
    """

    data: Path
    download: bool = False
    device: str | None = None
    precision: str = "float32"
    checkpoints: Path | None = None
    every: float = 600.0
    archive: Path | None = None


class Checkpoint:
    """The file with the state of one training.

    The file is written at most every ``resources.every`` seconds, read once at the start, and
    removed at the end.

    A state is a dictionary of tensors, numbers, strings, lists and nested dictionaries: the types
    that ``torch.load(weights_only=True)`` returns. A damaged file, or a file of another recipe or
    precision, counts as missing.
    """

    def __init__(self, recipe: Recipe, resources: TrainingEnvironment) -> None:
        self._owner = f"{recipe.fingerprint} in {resources.precision}"
        self._every = resources.every
        self._file: Path | None = None
        if resources.checkpoints is not None:
            self._file = resources.checkpoints / f"{recipe.fingerprint}.pt"
        self._written = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """Return the state of an earlier attempt at this recipe; None without a usable file."""
        if self._file is None or not self._file.is_file():
            return None
        torch = import_optional("torch")
        try:
            content = torch.load(self._file, map_location="cpu", weights_only=True)
            state: dict[str, Any] = content["state"]
            return state if content["owner"] == self._owner else None
        except Exception:  # a damaged file may raise anything: restart
            return None

    def is_due(self) -> bool:
        """Return whether to write the state now: ``resources.every`` seconds after the last time;
        False without a folder of checkpoints."""
        return self._file is not None and time.monotonic() - self._written >= self._every

    def save(self, state: dict[str, Any]) -> None:
        """Replace the state in the file atomically: a reader finds either the old or the new state.
        ``state``: objects that PyTorch can save, by name. Without a file, do nothing."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self._file) as temporary_file:
            import_optional("torch").save({"owner": self._owner, "state": state}, temporary_file)
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file at the end of the training."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


@contextmanager
def seeded_torch(seed: int, *labels: str | int, device: Any = None) -> Iterator[Any]:
    """Yield PyTorch with one thread, deterministic algorithms, and a random state derived from the
    seed and the labels only.

    On a ``device`` other than the CPU, operations without a deterministic algorithm only give a
    warning. The context manager restores threads, mode and random state at the end, so a training
    neither depends on earlier code nor changes later code.
    """
    torch = import_optional("torch")
    kind = "cpu" if device is None else device.type
    if kind == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    threads = torch.get_num_threads()
    is_deterministic = torch.are_deterministic_algorithms_enabled()
    is_warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=[device] if kind == "cuda" else []):
        torch.manual_seed(int(generator(seed, *labels).integers(2**32)))
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=kind != "cpu")
        try:
            yield torch
        finally:
            torch.use_deterministic_algorithms(is_deterministic, warn_only=is_warn_only)
            torch.set_num_threads(threads)


def build_optimizer(model: Any, options: Mapping[str, Any]) -> Any:
    """Return the optimizer of all parameters of a PyTorch module ``model``.

    ``options``: the numbers ``lr`` and ``weight_decay``; ``optimizer``: "adam" (the default),
    "adamw" with ``betas`` and ``eps``, or "sgd" with ``momentum`` and ``nesterov``.
    """
    optim = import_optional("torch").optim
    keywords = {name: options[name] for name in ("lr", "weight_decay")}
    kind, get = options.get("optimizer", "adam"), options.get
    if kind == "sgd":
        keywords |= {"momentum": get("momentum", 0.9), "nesterov": get("nesterov", True)}
        return optim.SGD(model.parameters(), **keywords)
    if kind == "adamw":
        keywords |= {"betas": tuple(get("betas", (0.9, 0.999))), "eps": get("eps", 1e-8)}
        return optim.AdamW(model.parameters(), **keywords)
    return optim.Adam(model.parameters(), **keywords)


def training_device(resources: TrainingEnvironment) -> Any:
    """Return the PyTorch device of a training: ``resources.device`` if given, otherwise the first
    accelerator, otherwise the CPU.

    Raises ``ValueError`` for a device that PyTorch cannot use here.
    """
    torch = import_optional("torch")
    if resources.device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(resources.device)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {resources.device!r} cannot be used here: {error}") from error
    return device


class Schedule(NamedTuple):
    """The learning rate of each step, as a fraction of the initial learning rate of the optimizer.

    The fraction is the smaller of two curves. The warm-up rises linearly from 0 at ``warmup[0]`` to
    1 at ``warmup[1]``. The decay falls from 1 at ``decay_start`` to 0 at ``total``, linearly or,
    with ``cosine``, as half a cosine. All times start at 0 and count units of ``unit`` steps; the
    fraction is constant within a unit. Reference: Loshchilov and Hutter (ICLR 2017), for the
    cosine.
    """

    total: float
    warmup: tuple[float, float]
    decay_start: float
    cosine: bool = False
    unit: int = 1

    def share(self, step: int) -> float:
        """Return the learning rate at a step, counted from 0, as a fraction of the full rate, from
        0 to 1."""
        time, (start, end) = step // self.unit, self.warmup
        rise = (time - start) / (end - start) if time < end else 1.0
        decay_time, length = max(time - self.decay_start, 0), max(1, self.total - self.decay_start)
        if self.cosine:
            return min(rise, (1 + math.cos(math.pi * decay_time / length)) / 2)
        return min(rise, (length - decay_time) / length)


def train_steps(
    model: Any,
    steps: Callable[[int], Iterable[Sequence[Any]]],
    loss: Callable[[Any], Any],
    optimizer: Any,
    *,
    schedule: Schedule | None = None,
    clip: Callable[[Any], Any] | None = None,
    precision: str = "float32",
    checkpoint: Checkpoint | None = None,
    validation: Callable[[], float] | None = None,
    validate: int | None = None,
) -> None:
    """Train a PyTorch module in place, step by step, from the checkpoint if there is a checkpoint;
    the module ends in evaluation mode.

    ``steps(first)`` yields the batch of every step from number ``first`` (from 0) on, split into
    parts; the gradients of the parts are added. ``loss`` returns the loss of a part, scaled by the
    part's share of the batch. ``schedule``: the learning-rate schedule; None for a constant rate.
    ``clip``: the function that clips the gradients of parameters. ``precision``: the precision of
    matrix products. Every ``validate`` steps the function computes the ``validation`` loss; the
    model ends with the weights of the lowest validation loss.

    A killed training continues from the checkpoint to the same weights.

    Raises ``ValueError`` for an unknown precision, and for float16 on a CPU.
    """
    torch = import_optional("torch")
    device = next(model.parameters()).device
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "float16")
    first, lowest_loss, best_weights = 0, math.inf, dict[str, Any]()
    rates = [group["lr"] for group in optimizer.param_groups]
    parts_with_state = {"model": model, "optimizer": optimizer, "scaler": scaler}
    saved_state = checkpoint.load() if checkpoint else None
    if saved_state is not None:
        for name, part in parts_with_state.items():
            part.load_state_dict(saved_state[name])
        _set_random_state(device, saved_state["random"])
        first = saved_state["step"]
        lowest_loss = saved_state["lowest"]
        best_weights = saved_state["best"]
    model.train()
    for step, parts in enumerate(steps(first), first + 1):
        if schedule is not None:
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * schedule.share(step - 1)
        optimizer.zero_grad()
        for part in parts:
            with _lower_precision(precision, device):
                value = loss(part)
            scaler.scale(value).backward()
        if clip is not None:
            scaler.unscale_(optimizer)
            clip(model.parameters())
        scaler.step(optimizer)
        scaler.update()
        if validation is not None and validate and step % validate == 0:
            model.eval()
            score = validation()
            model.train()
            if score < lowest_loss:
                parameters = ((n, p) for n, p in model.named_parameters() if p.requires_grad)
                lowest_loss = score
                best_weights = {n: p.detach().cpu().clone() for n, p in parameters}
        if checkpoint and checkpoint.is_due():
            states = {name: part.state_dict() for name, part in parts_with_state.items()}
            states |= {"step": step, "lowest": lowest_loss, "best": best_weights}
            checkpoint.save(states | {"random": _random_state(device)})
    if best_weights:
        model.load_state_dict(best_weights, strict=False)
    model.eval()
    if checkpoint:
        checkpoint.remove()


def _random_state(device: Any) -> dict[str, Any]:
    """Return the random state of PyTorch on the CPU, and, if ``device`` is an accelerator, on the
    accelerator."""
    torch = import_optional("torch")
    state = {"cpu": torch.get_rng_state()}
    return state | {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else state


def _set_random_state(device: Any, state: Mapping[str, Any]) -> None:
    torch = import_optional("torch")
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


def _lower_precision(precision: str, device: Any) -> AbstractContextManager[Any]:
    """Return a context manager for matrix products on the device in "float32", "bfloat16" or
    "float16".

    The manager is the autocast of PyTorch, or has no effect for "float32". Raises ``ValueError``
    for another precision, and for float16 on a CPU.
    """
    check_choice("precision", precision, TRAINING_PRECISIONS)
    if precision == "float32":
        return nullcontext()
    if precision == "float16" and device.type == "cpu":
        raise ValueError("precision float16 needs an accelerator; bfloat16 works on a processor")
    torch = import_optional("torch")
    return torch.autocast(device.type, getattr(torch, precision))


def weights_as_arrays(model: Any) -> dict[str, np.ndarray]:
    """Return the weights of a PyTorch module by name, as copies."""
    return {name: value.detach().cpu().numpy().copy() for name, value in model.state_dict().items()}


def load_state(model: Any, state: WeightsByName, owner: str, partly: bool = False) -> Any:
    """Load weights by name into a PyTorch module, switch the module to evaluation mode, and return
    the module.

    ``owner``: the name of the model, in errors. ``partly``: whether ``state`` may lack some
    weights, which then stay unchanged. Raises ``ValueError`` for weights of another network.
    """
    torch, buffers = import_optional("torch"), dict(model.named_buffers())
    saved_buffers = {name: buffer for name, buffer in buffers.items() if name in model.state_dict()}
    expected = {k: tuple(x.shape) for k, x in (*model.named_parameters(), *saved_buffers.items())}
    shapes = {name: np.shape(value) for name, value in state.items()}
    mismatches = sorted(name for name, _ in expected.items() ^ shapes.items())
    for name in mismatches:
        if not partly or name in shapes:
            raise ValueError(
                f"{owner}: the weights are of another network: {name} has shape "
                f"{shapes.get(name)}, expected {expected.get(name)}"
            )
    weights = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
    model.load_state_dict(weights, strict=False)
    return model.eval()


def accuracy(outputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the classification accuracy, from 0 to 1: the fraction of rows of ``outputs`` (n,
    classes) with the largest output at the label. ``labels``: class numbers, (n,)."""
    return float((outputs.argmax(axis=1) == labels).mean())
