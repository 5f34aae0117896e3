"""Which models the sensitivity benchmark has, trained here or brought along, and what they belong
to."""

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
from ...sources.folders import read_subjects
from ...subject import Recipe, Subject
from ..training import subjects_of
from .operators import normalize

NOT_FUNCTIONALITY = (
    "test",
    "shift",
)  # the accuracy on the inputs themselves, and the mean over all others


class Family(NamedTuple):
    """What models have in common that are compared with each other."""

    domain: str
    dataset: str
    architecture: str
    pooling: str

    @property
    def title(self) -> str:
        """A readable name."""
        return "/".join(part for part in self if part)


class Models(NamedTuple):
    """Where models come from: recipes, whose models a study has trained, or a folder of somebody's
    own."""

    recipes: tuple[Recipe, ...] = ()
    folder: str | None = None

    def read(self, study: Path) -> tuple[Subject, ...]:
        """Return the models. Raises ``ValueError`` for a folder without any."""
        return read_subjects(self.folder) if self.folder else subjects_of(study, self.recipes)


def families(subjects: Iterable[Subject]) -> dict[Family, list[Subject]]:
    """Return subjects by family, of several poolings the first: the others are the same models once
    more."""
    found: dict[Family, list[Subject]] = defaultdict(list)
    first: dict[str, str] = {}
    for s in subjects:
        family = Family(*(s.traits[name] for name in Family._fields))
        if first.setdefault("/".join(family[:3]), family.pooling) == family.pooling:
            found[family].append(s)
    return dict(found)


def identity(subject: Subject, own: bool) -> str:
    """Return what tells a subject from any other: the hash of its recipe, or of all that it
    holds."""
    if not own:
        return str(subject.traits["recipe"])
    labels = [] if subject.labels is None else subject.labels.tolist()
    known = [
        subject.traits.get("accuracies"),
        labels,
        {name: fingerprint(r) for name, r in subject.layers.items()},
    ]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:32]


def sound(subjects: Sequence[Subject], setting: str) -> tuple[list[Subject], dict[str, str]]:
    """Return the subjects without those of a setting that have NaN or infinite values, and why
    these are left out."""
    kept, broken = list[Subject](), dict[str, str]()
    for s in subjects:
        bad = [
            n
            for n, r in s.layers.items()
            if s.traits["setting"] == setting and not np.isfinite(r.source).all()
        ]
        if bad:
            broken[s.name] = f"left out: {', '.join(bad)} holds NaN or infinity"
        else:
            kept.append(s)
    return kept, broken


def uneven(subjects: Sequence[Subject]) -> dict[str, str]:
    """Return the accuracies out of distribution that only some subjects have, and why they are left
    out."""
    every = [s.traits.get("accuracies") or {} for s in subjects]
    names = [
        name for name in dict.fromkeys(chain.from_iterable(every)) if name not in NOT_FUNCTIONALITY
    ]
    lacking = {
        name: [s.name for s, known in zip(subjects, every) if name not in known] for name in names
    }
    return {
        name: f"left out: {len(without)} of {len(subjects)} models have no accuracy there, such "
        f"as {without[0]}"
        for name, without in lacking.items()
        if without
    }


def functionalities(subjects: Sequence[Subject]) -> dict[str, np.ndarray]:
    """Return accuracies out of distribution that all subjects have, the mean over severities
    ("fog/1", "fog/2")."""
    every = [s.traits.get("accuracies") or {} for s in subjects]
    names = [
        n for n in every[0] if n not in NOT_FUNCTIONALITY and all(n in known for known in every)
    ]
    kinds = dict.fromkeys(name.partition("/")[0] for name in names)
    return {
        kind: np.array(
            [np.mean([known[n] for n in names if n.partition("/")[0] == kind]) for known in every]
        )
        for kind in kinds
    }


def same_layers(subjects: Sequence[Subject]) -> bool:
    """Whether all subjects have layers of the same names in the same order."""
    return len({tuple(s.layers) for s in subjects}) == 1


def chosen_samples(n: int, most: int) -> np.ndarray:
    """Return which of n inputs are compared: the same for all models."""
    if n <= most:
        return np.arange(n)
    return np.sort(generator(0, "sensitivity", "samples", n).choice(n, most, replace=False))


def shape_of(values: Any, name: str, most: int) -> Representation:
    """Return the representation of the chosen samples, centred and of unit norm; as it is when it
    is constant."""
    points = np.asarray(values, float)[chosen_samples(len(values), most)]
    try:
        return Representation(normalize(points), name)
    except Undefined:
        return Representation(points, name)  # each measure says itself that it has no value
