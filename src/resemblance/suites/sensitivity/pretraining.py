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
    "Several models are pretrained from other random starts and each is fine-tuned several times. "
    "The distance of a layer from that of the most robust model should grow with the difference "
    "in accuracy on shifted inputs. Models of one pretrained parent are alike and so are those of "
    "one fine-tuning seed: both are resampled and permuted as wholes."
)


def choose(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the models of every pretrained one with the fine-tuning seeds that all have, or as
    many of each."""
    found = by_pretraining(subjects)
    if isinstance(found, str):
        return found
    members = [sorted(some, key=lambda s: s.traits["seed"]) for some in found.values()]
    shared = set.intersection(*({s.traits["seed"] for s in some} for some in members))
    if len(shared) > 1:
        members = [[s for s in some if s.traits["seed"] in shared] for some in members]
    fewest = min(map(len, members))
    if len(found) < 2 or fewest < 2:
        return (
            f"{len(found)} pretrained models with {fewest} or more fine-tuned ones; at least 2 of "
            "2 are needed"
        )
    return tuple(s for some in members for s in some[:fewest])


def sets(subjects: Sequence[Subject], folder: Path, size: Size) -> tuple[dict[str, Set], Design]:
    """Return one set for each layer, of all models, and what they share.

    Where all pretrained models were fine-tuned with the same seeds, models share those too
    (examples, order, head).
    """
    parents, seeds = (
        tuple(s.traits.get(name, 0) for s in subjects) for name in ("pretrain", "seed")
    )
    if len(set(zip(parents, seeds))) == len(set(parents)) * len(set(seeds)) == len(subjects):
        crossed = {"crossed": (parents, seeds)}
        return sets_of(subjects, size), Design(crossed, crossed)
    return sets_of(subjects, size), Design({"nested": parents}, {"nested": parents})
