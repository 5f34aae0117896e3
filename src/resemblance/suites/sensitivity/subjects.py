"""The models of the benchmarks, trained here or brought along, and the families they form."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...representation import Representation, Undefined, fingerprint
from ...rng import generator
from ...sources.model_folder import read_subjects
from ...sources.recipe import Recipe
from ...subject import Subject
from ..families import ModelFamily
from ..training import subjects_of
from .operators import normalize

# The accuracy on the inputs of the task, and the mean over all others, are no functionality.
NOT_FUNCTIONALITY = ("test", "shift")


class Models(NamedTuple):
    """Where models come from: recipes that a study has trained, or a folder of the user, whose
    subjects are read once."""

    recipes: tuple[Recipe, ...] = ()
    folder: str | None = None
    subjects: tuple[Subject, ...] = ()

    def read(self, study: Path) -> tuple[Subject, ...]:
        """Return the models; their layers stay on disk."""
        return self.subjects if self.folder else subjects_of(study, self.recipes)


def models_in(folder: Path) -> Models:
    """Return the models in a folder of the user. Raises ``ValueError`` for a folder without any."""
    return Models(folder=str(folder), subjects=read_subjects(folder))


def families(subjects: Iterable[Subject]) -> dict[ModelFamily, list[Subject]]:
    """Return subjects by family; of several poolings the first, as the others are the same
    models."""
    members = defaultdict[ModelFamily, list[Subject]](list)
    first: dict[str, str] = {}
    for s in subjects:
        family = ModelFamily(*(s.traits[name] for name in ModelFamily._fields))
        if first.setdefault("/".join(family[:3]), family.pooling) == family.pooling:
            members[family].append(s)
    return dict(members)


def identity(subject: Subject, is_trained: bool) -> str:
    """Return what identifies a subject: the hash of its recipe, or of all that it holds."""
    if is_trained:
        return str(subject.traits["recipe"])
    labels = [] if subject.labels is None else subject.labels.tolist()
    layers = {name: fingerprint(r) for name, r in subject.layers.items()}
    content = json.dumps([subject.traits.get("accuracies"), labels, layers], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def without_nan(
    subjects: Sequence[Subject], setting: str
) -> tuple[tuple[Subject, ...], dict[str, str]]:
    """Return the subjects without those of a setting with NaN or infinite values, and why these are
    left out."""
    broken = {}
    for s in (s for s in subjects if s.traits["setting"] == setting):
        layers = [name for name, r in s.layers.items() if not np.isfinite(r.source).all()]
        if layers:
            broken[s.name] = f"left out: {', '.join(layers)} holds NaN or infinity"
    return tuple(s for s in subjects if s.name not in broken), broken


def missing_accuracies(subjects: Sequence[Subject]) -> dict[str, str]:
    """Return the accuracies out of distribution that only some subjects have, and why they are left
    out."""
    accuracies = _accuracies(subjects)
    reasons = {}
    for name in dict.fromkeys(chain.from_iterable(accuracies)):
        lacking = [s.name for s, values in zip(subjects, accuracies) if name not in values]
        if lacking:
            reasons[name] = (
                f"left out: {len(lacking)} of {len(subjects)} models have no accuracy there, such "
                f"as {lacking[0]}"
            )
    return reasons


def functionalities(subjects: Sequence[Subject]) -> dict[str, np.ndarray]:
    """Return accuracies out of distribution that all subjects have, the mean over severities
    ("fog/1", "fog/2")."""
    accuracies = _accuracies(subjects)
    shared = set.intersection(*map(set, accuracies))
    severities = defaultdict[str, list[str]](list)
    for name in (name for name in accuracies[0] if name in shared):
        severities[name.partition("/")[0]].append(name)
    return {
        kind: np.array([np.mean([values[name] for name in members]) for values in accuracies])
        for kind, members in severities.items()
    }


def _accuracies(subjects: Sequence[Subject]) -> list[dict[str, float]]:
    """Return for each subject its accuracies out of distribution, by name."""
    several = [dict(s.traits.get("accuracies") or {}) for s in subjects]
    for accuracies in several:
        for name in NOT_FUNCTIONALITY:
            accuracies.pop(name, None)
    return several


def same_layers(subjects: Sequence[Subject]) -> bool:
    """Whether all subjects have layers of the same names in the same order."""
    return len({tuple(s.layers) for s in subjects}) == 1


def compared_samples(n: int, most: int) -> np.ndarray:
    """Return which of n inputs are compared: the same for all models."""
    if n <= most:
        return np.arange(n)
    return np.sort(generator(0, "sensitivity", "samples", n).choice(n, most, replace=False))


def shape_of(values: Any, name: str, most: int) -> Representation:
    """Return the representation of the compared samples, centred and of unit norm; unchanged when
    it is constant."""
    points = np.asarray(values, float)[compared_samples(len(values), most)]
    try:
        return Representation(normalize(points), name)
    except Undefined:
        return Representation(points, name)  # each measure reports that it has no value
