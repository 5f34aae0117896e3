"""What a training on real data needs besides its recipe: where the data are, what it runs on."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from ...extras import need
from ...json_files import replacing
from ...subject import Recipe

PRECISIONS = ("float32", "bfloat16", "float16")


class Resources(NamedTuple):
    """What a training on real data needs besides its recipe, and what no recipe depends on.

    ``data``: the folder with all data sets and pretrained weights. ``download``: whether a library
    that can download a data set may do so into that folder. ``device``: of PyTorch, such as "cpu"
    or "cuda:1"; None for the first accelerator there is, otherwise the processor. ``precision``: of
    the products of matrices in vision and language models, with weights in float32.
    ``checkpoints``: the folder where a training keeps its state, every ``every`` seconds; None for
    nowhere. ``archive``: the folder of the authors' trained models, where these take the place of
    training.
    """

    data: Path
    download: bool = False
    device: str | None = None
    precision: str = "float32"
    checkpoints: Path | None = None
    every: float = 600.0
    archive: Path | None = None


def device_of(resources: Resources) -> Any:
    """Return the device of PyTorch that a training runs on: the one asked for, otherwise the first
    accelerator, otherwise the processor.

    Raises ``ValueError`` for a device that PyTorch does not have here.
    """
    torch = need("torch")
    if resources.device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(resources.device)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {resources.device!r} cannot be used here: {error}") from error
    return device


def lower_precision(resources: Resources, device: Any) -> AbstractContextManager[Any]:
    """Return a context in which products of matrices have the precision that was asked for.

    Raises ``ValueError`` for an unknown precision, and for float16 on a processor.
    """
    torch = need("torch")
    if resources.precision not in PRECISIONS:
        raise ValueError(
            f"precision must be one of {', '.join(PRECISIONS)}; got {resources.precision!r}"
        )
    if resources.precision == "float32":
        return nullcontext()
    if resources.precision == "float16" and device.type == "cpu":
        raise ValueError("precision float16 needs an accelerator; bfloat16 works on a processor")
    context: AbstractContextManager[Any] = torch.autocast(
        device.type, getattr(torch, resources.precision)
    )
    return context


def random_state(torch: Any, device: Any) -> dict[str, Any]:
    """Return PyTorch's random state, as a checkpoint keeps it."""
    state = {"cpu": torch.get_rng_state()}
    return state | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def set_random_state(torch: Any, device: Any, state: dict[str, Any]) -> None:
    """Put back what :func:`random_state` returned."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


class Checkpoint:
    """The file that keeps the state of one training: written at most every so many seconds, read
    once at the start, and removed at the end.

    A state is a dictionary of tensors, numbers, words, lists and dictionaries of these: what
    ``torch.load(weights_only=True)`` returns. A file of another recipe or precision, or a damaged
    one, counts as none.
    """

    def __init__(self, recipe: Recipe, resources: Resources) -> None:
        self._owner = f"{recipe.fingerprint} in {resources.precision}"
        self._every = resources.every
        self._file: Path | None = None
        if resources.checkpoints is not None:
            self._file = resources.checkpoints / f"{recipe.fingerprint}.pt"
        self._written = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """Return the state of an earlier attempt at this recipe; None when there is none."""
        if self._file is None or not self._file.is_file():
            return None
        torch = need("torch")
        try:
            content = torch.load(self._file, map_location="cpu", weights_only=True)
            state: dict[str, Any] = content["state"]
            return state if content["owner"] == self._owner else None
        except Exception:  # whatever a damaged file causes: the training starts anew
            return None

    def is_due(self) -> bool:
        """Return whether the state should be written now."""
        return self._file is not None and time.monotonic() - self._written >= self._every

    def save(self, state: dict[str, Any]) -> None:
        """Write a state in place of the one before; a reader sees one or the other."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._file) as partial:
            need("torch").save({"owner": self._owner, "state": state}, partial)
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the training is over."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
