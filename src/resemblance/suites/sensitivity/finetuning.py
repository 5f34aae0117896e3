"""Benchmark 3: one pretrained model, many fine-tuning seeds, against accuracy out of
distribution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ...subject import Subject
from .grading import Design, Set
from .settings import Size
from .subjects import functionalities, same_layers, shape_of

NAME, TITLE = "finetuning", "Benchmark 3: fine-tuning seeds"
ABOUT = (
    "One pretrained model is fine-tuned many times with other seeds. On the inputs of the task "
    "all do about as well; on shifted inputs they do not, and the distance of a layer from that "
    "of the most robust model should say so. These models share nothing beyond what all share, so "
    "they can be resampled and permuted one by one."
)
FEWEST = 3


def choose(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the models fine-tuned from one pretrained model, the one that has most of them."""
    found = by_pretraining(subjects)
    if isinstance(found, str):
        return found
    most = max(found.values(), key=len)
    return (
        tuple(most)
        if len(most) >= FEWEST
        else f"{len(most)} models of one pretrained model; {FEWEST} are needed"
    )


def by_pretraining(subjects: Sequence[Subject]) -> dict[int, list[Subject]] | str:
    """Return fine-tuned models by the seed of the pretrained one, or why there are none."""
    tuned = [s for s in subjects if s.traits["setting"] == "finetuned"]
    found: dict[int, list[Subject]] = defaultdict(list)
    for s in tuned:
        found[s.traits.get("pretrain", 0)].append(s)
    if not tuned:
        return "no models of the setting 'finetuned'"
    if not functionalities(tuned):
        return "no accuracy on other inputs that all models have: 'accuracies' in traits.json"
    return found if same_layers(tuned) else "the models need the same layers"


def sets(subjects: Sequence[Subject], folder: Path, size: Size) -> tuple[dict[str, Set], Design]:
    """Return one set for each layer, of all models."""
    return sets_of(subjects, size), Design()


def sets_of(subjects: Sequence[Subject], size: Size) -> dict[str, Set]:
    """Return one set for each layer of models, with what they can do on other inputs."""
    f, rows = functionalities(subjects), tuple(range(len(subjects)))
    return {
        layer: Set(
            {s.name: shape_of(s.layers[layer].source, s.name, size.samples) for s in subjects},
            rows,
            f,
        )
        for layer in subjects[0].layers
    }
