"""Benchmarks 3 and 4: seeds of fine-tuning and pretraining, against accuracy on shifted inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ...subject import Subject
from .sets import Effort, RepresentationSet, ResamplingDesign, Sets
from .subjects import functionalities, same_layers, shape_of

FEWEST = 3  # models of one pretrained model


def models_of_one_parent(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the models fine-tuned from one pretrained model, the one that has most of them."""
    groups = by_pretraining(subjects)
    if isinstance(groups, str):
        return groups
    most = max(groups.values(), key=len)
    if len(most) < FEWEST:
        return f"{len(most)} models of one pretrained model; {FEWEST} are needed"
    return tuple(most)


def by_pretraining(subjects: Sequence[Subject]) -> dict[int, list[Subject]] | str:
    """Return fine-tuned models by the seed of the pretrained one, or why there are none."""
    tuned = [s for s in subjects if s.traits["setting"] == "finetuned"]
    groups = defaultdict[int, list[Subject]](list)
    for s in tuned:
        groups[s.traits.get("pretrain", 0)].append(s)
    if not tuned:
        return "no models of the setting 'finetuned'"
    if not functionalities(tuned):
        return "no accuracy on other inputs that all models have: 'accuracies' in traits.json"
    return dict(groups) if same_layers(tuned) else "the models need the same layers"


def one_set_a_layer(subjects: Sequence[Subject], folder: Path | None, effort: Effort) -> Sets:
    """Return one set for each layer, of models that share nothing."""
    return _by_layer(subjects, effort), ResamplingDesign()


def _by_layer(subjects: Sequence[Subject], effort: Effort) -> dict[str, RepresentationSet]:
    f, rows = functionalities(subjects), tuple(range(len(subjects)))
    columns = {
        layer: {s.name: shape_of(s.layers[layer].source, s.name, effort.samples) for s in subjects}
        for layer in subjects[0].layers
    }
    return {layer: RepresentationSet(members, rows, f) for layer, members in columns.items()}


def models_of_several_parents(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the models of every pretrained one with the fine-tuning seeds that all have, or as
    many of each."""
    groups = by_pretraining(subjects)
    if isinstance(groups, str):
        return groups
    members = [sorted(group, key=lambda s: s.traits["seed"]) for group in groups.values()]
    shared = set.intersection(*({s.traits["seed"] for s in group} for group in members))
    if len(shared) > 1:
        members = [_with_seeds(group, shared) for group in members]
    fewest = min(map(len, members))
    if len(groups) < 2 or fewest < 2:
        return (
            f"{len(groups)} pretrained models with {fewest} or more fine-tuned ones; at least 2 of "
            "2 are needed"
        )
    return tuple(s for group in members for s in group[:fewest])


def _with_seeds(subjects: Sequence[Subject], seeds: set[int]) -> list[Subject]:
    return [s for s in subjects if s.traits["seed"] in seeds]


def crossed_or_nested(subjects: Sequence[Subject], folder: Path | None, effort: Effort) -> Sets:
    """Return one set for each layer, and what the models share.

    Where all pretrained models were fine-tuned with the same seeds, models share those too
    (examples, order, head).
    """
    parents, seeds = (
        tuple(s.traits.get(name, 0) for s in subjects) for name in ("pretrain", "seed")
    )
    sets = _by_layer(subjects, effort)
    if len(set(zip(parents, seeds))) == len(set(parents)) * len(set(seeds)) == len(subjects):
        crossed = {"crossed": (parents, seeds)}
        return sets, ResamplingDesign(crossed, crossed)
    return sets, ResamplingDesign({"nested": parents}, {"nested": parents})
