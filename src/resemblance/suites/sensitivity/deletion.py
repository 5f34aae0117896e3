"""Benchmark 2: principal components deleted, against what a probe still reads (and Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...representation import Representation
from ...results.values import known
from ...subject import Subject
from . import layers
from .grading import Design, Graded, Set
from .operators import delete_principal_components, deletion_of, numbers_to_delete
from .probes import probed
from .settings import Size
from .subjects import shape_of

NAME, TITLE = "deletion", "Benchmark 2: principal components deleted"
ABOUT = (
    "From the last layers of every model the principal components of least variance are deleted, "
    "up to all but one. What is left does worse in a linear probe, and distances from the "
    "undeleted representation of the best seed should grow with what was lost. A deletion is seen "
    "when it moves a representation farther than another random start does. Permuted p-values "
    "exchange whole seeds and leave the shares deleted where they are."
)


def choose(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the normal models, as for benchmark 1, if their last layer has components to
    delete."""
    normal = layers.choose(subjects)
    if isinstance(normal, str):
        return normal
    widths = {r.shape[1] for s in normal for r in [s.last]}
    return (
        normal
        if len(widths) == 1 and min(widths) > 3
        else "the last layers need one width of four or more"
    )


def sets(subjects: Sequence[Subject], folder: Path, size: Size) -> tuple[dict[str, Set], Design]:
    """Return one set for each of the last layers: all seeds with all deletions, undeleted ones as
    references."""
    names = [
        n
        for n in list(subjects[0].layers)[-size.layers :]
        if len({s.layers[n].shape[1] for s in subjects}) == 1
    ]
    steps = {name: len(numbers_to_delete(subjects[0].layers[name].shape[1])) for name in names}
    names = [name for name in names if steps[name] == steps[names[-1]]]  # one design for all
    step = range(steps[names[-1]])
    seeds = tuple(s.name for s in subjects for _ in step)
    deleted = tuple(k for _ in subjects for k in step)
    found = {name: _set(subjects, name, folder, size) for name in names}
    return found, Design({"blocks": seeds}, {"within": (seeds, deleted)})


def _set(subjects: Sequence[Subject], layer: str, folder: Path, size: Size) -> Set:
    columns, accuracy, rows = dict[str, Representation](), list[float](), list[int]()
    for s in subjects:
        x = s.layers[layer]
        for k in numbers_to_delete(x.shape[1]):
            name = f"{s.name}/{layer} without {k}"
            rows += [len(columns)] if k == 0 else []
            columns[name] = shape_of(delete_principal_components(x, k), name, size.samples)
            accuracy.append(probed(folder, x, layers.labels_of(s), size.splits, k))
        x.forget()
    return Set(columns, tuple(rows), {"probe": np.array(accuracy)})


def extra(sets: Mapping[str, Set], found: Graded) -> dict[str, Any]:
    """Return the curve of every measure in the last layer, its threshold, and what probes can
    do."""
    layer, given = list(sets.items())[-1]
    seeds, total = len(given.rows), len(given.columns)
    ks = [int(name.rpartition(" ")[2]) for name in list(given.columns)[: total // seeds]]
    d = ks[-1] + 1
    shares = [k / d for k in ks]
    accuracy = given.functionality["probe"].reshape(seeds, len(ks)).mean(axis=0)
    curves = {
        spec: deletion_of(spec, shares, values.reshape(seeds, seeds, len(ks)))
        for spec, values in found.differences[layer].items()
        if spec not in found.numbers["silent"]
    }
    unknown = {spec: c.unknown for spec, c in curves.items() if c.unknown}
    return {
        "layer": layer,
        "shares": shares,
        "probe": accuracy.tolist(),
        "curves": {
            spec: {
                "distance": [known(v) for v in c.distance],
                "threshold": known(c.threshold),
                "detected": c.detected,
            }
            for spec, c in curves.items()
            if spec not in unknown
        },
        "unknown": unknown,
    }
