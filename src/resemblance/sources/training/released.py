"""Where the models that the authors of the ReSi paper trained lie, in place of a training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...extras import need
from ..pickles import reason_of
from ..recipe import Recipe
from .loop import Resources

ORIGIN = "the authors' archive of trained models, see https://github.com/mklabunde/resi"


def released(recipe: Recipe, resources: Resources, place: Path) -> Path:
    """Return where a file of the authors' archive is: below ``resources.archive``, which is their
    folder ``experiments`` or the folder that has it.

    Raises ``ValueError`` that names the file if it is not there, or no archive was named.
    """
    if resources.archive is None:
        raise ValueError(f"{recipe.name}: no folder of released models was named; get {ORIGIN}")
    for start in (resources.archive, resources.archive / "experiments"):
        if (start / place).is_file():
            return start / place
    raise ValueError(
        f"{resources.archive / place} is missing: unpack the file that has it, such as "
        f"normal_imagenet100.zip, so that it is there; it is part of {ORIGIN}"
    )


def weights_in(path: Path) -> dict[str, Any]:
    """Return the tensors of a file of PyTorch by name, also those of a checkpoint of Lightning.

    It is read with ``torch.load(weights_only=True)``, which runs no code of the file.

    Raises ``ValueError`` that names the file if it is damaged, holds other things than tensors, or
    values that are not finite.
    """
    torch = need("torch")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        weights = dict(content.get("state_dict", content))
    except Exception as error:  # whatever a damaged or hostile file causes
        raise ValueError(
            f"{path} cannot be read as weights ({reason_of(error)}); download it again from "
            f"{ORIGIN}"
        ) from error
    names = [name for name, value in weights.items() if isinstance(value, torch.Tensor)]
    if not names or len(names) < len(weights) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{path} does not hold the weights of one network by name")
    for name, value in weights.items():
        if value.is_floating_point() and not value.isfinite().all():
            raise ValueError(f"{path}: {name} has values that are not finite")
    return weights
