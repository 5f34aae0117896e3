"""Benchmark 4: seeds of pretraining and of fine-tuning, against accuracy in stress tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...subject import Subject
from .finetuning import by_pretraining, sets_of
from .grading import Design, Set
from .settings import Size

NAME, TITLE = "pretraining", "Benchmark 4: pretraining and fine-tuning seeds"
ABOUT = (
    "Several models are pretrained from other random starts and each is fine-tuned several times. The distance of a layer "
    "from that of the most robust model should grow with the difference in accuracy on shifted inputs. Models with one "
    "pretrained parent are alike, so whole parents are resampled and permuted, and their children inside them."
)


def choose(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return as many models of every pretrained one as the least of them has."""
    found = by_pretraining(subjects)
    if isinstance(found, str):
        return found
    fewest = min(map(len, found.values()))
    if len(found) < 2 or fewest < 2:
        return f"{len(found)} pretrained models with {fewest} or more fine-tuned ones; at least 2 of 2 are needed"
    return tuple(s for members in found.values() for s in sorted(members, key=lambda s: s.traits["seed"])[:fewest])


def sets(subjects: Sequence[Subject], folder: Path, size: Size) -> tuple[dict[str, Set], Design]:
    """Return one set for each layer, of all models, and their parents."""
    parents = tuple(s.traits.get("pretrain", 0) for s in subjects)
    return sets_of(subjects, size), Design(parents, within=True, nested=parents)
