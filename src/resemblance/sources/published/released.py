"""Where the models that the authors of the ReSi paper trained lie, in place of a training."""

from __future__ import annotations

from pathlib import Path

from ...subject import Recipe
from .resources import Resources

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
