"""The state of a training in progress, in a file from which a killed training continues."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ...extras import need
from ...json_files import replacing
from ...subject import Recipe
from .resources import Resources


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
