"""Benchmarks 1 and 2: models from different random starts, against what a probe reads off them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...representation import Representation
from ...results.values import known
from ...subject import Subject
from .facts import PAPER, DeletionCurves, FamilyFacts, MiddleLayer, Shares, Specificity
from .operators import delete_principal_components, deletion_of, depth_of, numbers_to_delete
from .probing import class_numbers, divisions, probe
from .sets import Effort, Measured, RepresentationSet, ResamplingDesign, Sets
from .subjects import same_layers, shape_of


def labelled_models(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the normal models if they have labels and the same three or more layers."""
    normal = tuple(s for s in subjects if s.traits["setting"] == "normal")
    if len(normal) < 2:
        return f"{len(normal)} models of the setting 'normal'; at least 2 seeds are needed"
    if any(s.labels is None for s in normal):
        return "labels for the probes are unknown: labels.npy is missing"
    for s in normal:
        try:
            divisions(class_numbers(_labels(s)))
        except ValueError as error:
            return f"{s.name}: {error}"
    if not same_layers(normal) or len(normal[0].layers) < 3:
        return "the models need the same three or more layers"
    return normal


def all_layers(subjects: Sequence[Subject], folder: Path | None, effort: Effort) -> Sets:
    """Return all layers of all models as one set."""
    pairs = [(s, name) for s in subjects for name in s.layers]
    columns = {
        f"{s.name}/{name}": shape_of(s.layers[name].source, f"{s.name}/{name}", effort.samples)
        for s, name in pairs
    }
    accuracies = [_accuracy(folder, s, name, effort.splits) for s, name in pairs]
    seeds, layers = tuple(s.name for s, _ in pairs), tuple(name for _, name in pairs)
    design = ResamplingDesign({"blocks": seeds}, {"within": (seeds, layers)})
    rows = tuple(range(len(pairs)))
    return {"all": RepresentationSet(columns, rows, {"probe": np.array(accuracies)})}, design


def with_specificity(
    facts: FamilyFacts, sets: Mapping[str, RepresentationSet], differences: Measured
) -> FamilyFacts:
    """Add how specific every measure is to depth, and Figure 1 for the measures of the paper."""
    names = list(sets["all"].columns)
    layers = tuple(dict.fromkeys(name.rpartition("/")[2] for name in names))
    shape = (len(names) // len(layers), len(layers))
    depths = {
        spec: depth_of(spec, d.reshape(*shape, *shape))
        for spec, d in differences["all"].items()
        if spec not in facts.grades.constant_measures
    }
    middle = len(layers) // 2
    specificity = Specificity(
        layers=layers,
        probe=tuple(sets["all"].functionality["probe"].reshape(shape).mean(axis=0).tolist()),
        middle=middle,
        exceeding={spec: _finite(d.exceeding) for spec, d in depths.items()},
        zoom={
            spec: MiddleLayer(_finite(d.within[middle]), _finite(d.across[middle]))
            for spec, d in depths.items()
            if spec in PAPER.values()
        },
    )
    return facts._replace(specificity=specificity)


def _finite(values: Sequence[float] | np.ndarray) -> Shares:
    return tuple(known(v) for v in values)


def _labels(subject: Subject) -> np.ndarray:
    """Return the labels of a subject that takes part because it has some."""
    if subject.labels is None:
        raise ValueError(f"{subject.name} has no labels")
    return subject.labels


def _accuracy(folder: Path | None, subject: Subject, layer: str, splits: int, k: int = 0) -> float:
    """Return what a probe reads in principal coordinates, so that only the deletion differs; what
    was read before, if the traits of a pinned model have it."""
    pinned = subject.traits.get("probes", {}).get(layer, {})
    if str(k) in pinned:
        return float(pinned[str(k)])
    remaining = delete_principal_components(subject.layers[layer], k)
    return probe(remaining, _labels(subject), splits=splits, cache=folder and folder / "probes")


def probes_of(subject: Subject, folder: Path, effort: Effort) -> dict[str, dict[str, float]]:
    """Return by layer, and by how many components are deleted, what probes read in all that the two
    benchmarks compare; probes that a study has are not fitted again."""
    accuracies: dict[str, dict[str, float]] = {}
    deepest = list(subject.layers)[-effort.layers :]
    for layer, x in subject.layers.items():
        steps = numbers_to_delete(x.shape[1]) if layer in deepest and x.shape[1] > 3 else (0,)
        accuracies[layer] = {
            str(k): _accuracy(folder, subject, layer, effort.splits, k)
            for k in {0: None, **dict.fromkeys(steps)}
        }
        x.forget()
    return accuracies


# --------------------------------------------------------------------- principal components deleted


def models_with_components(subjects: Sequence[Subject]) -> tuple[Subject, ...] | str:
    """Return the models of benchmark 1 if their last layer has components to delete."""
    normal = labelled_models(subjects)
    if isinstance(normal, str):
        return normal
    widths = {s.last.shape[1] for s in normal}
    if len(widths) > 1 or min(widths) <= 3:
        return "the last layers need one width of four or more"
    return normal


def deleted_components(subjects: Sequence[Subject], folder: Path | None, effort: Effort) -> Sets:
    """Return a set for each of the last layers: all seeds with all deletions; the undeleted ones
    can be the reference."""
    last = list(subjects[0].layers)[-effort.layers :]
    widths = {name: {s.layers[name].shape[1] for s in subjects} for name in last}
    steps = {name: len(numbers_to_delete(min(w))) for name, w in widths.items() if len(w) == 1}
    number = list(steps.values())[-1]
    names = [name for name in steps if steps[name] == number]  # one design for all
    step = range(number)
    seeds = tuple(s.name for s in subjects for _ in step)
    deleted = tuple(k for _ in subjects for k in step)
    sets = {name: _deletions_of_layer(subjects, name, folder, effort) for name in names}
    return sets, ResamplingDesign({"blocks": seeds}, {"within": (seeds, deleted)})


def _deletions_of_layer(
    subjects: Sequence[Subject], layer: str, folder: Path | None, effort: Effort
) -> RepresentationSet:
    columns, accuracies, rows = dict[str, Representation](), list[float](), list[int]()
    for s in subjects:
        x = s.layers[layer]
        for k in numbers_to_delete(x.shape[1]):
            name = f"{s.name}/{layer} without {k}"
            rows += [len(columns)] if k == 0 else []
            columns[name] = shape_of(delete_principal_components(x, k), name, effort.samples)
            accuracies.append(_accuracy(folder, s, layer, effort.splits, k))
        x.forget()
    return RepresentationSet(columns, tuple(rows), {"probe": np.array(accuracies)})


def with_deletion_curves(
    facts: FamilyFacts, sets: Mapping[str, RepresentationSet], differences: Measured
) -> FamilyFacts:
    """Add the curve of every measure in the last layer, and the accuracy of probes (Figure 2)."""
    layer, members = list(sets.items())[-1]
    seeds, total = len(members.rows), len(members.columns)
    ks = [int(name.rpartition(" ")[2]) for name in list(members.columns)[: total // seeds]]
    shares = [k / (ks[-1] + 1) for k in ks]
    accuracies = members.functionality["probe"].reshape(seeds, len(ks)).mean(axis=0)
    curves = {
        spec: deletion_of(spec, shares, values.reshape(seeds, seeds, len(ks)))
        for spec, values in differences[layer].items()
        if spec not in facts.grades.constant_measures
    }
    deletion = DeletionCurves(
        layer=layer,
        shares=tuple(shares),
        probe=tuple(accuracies.tolist()),
        curves={spec: c for spec, c in curves.items() if not c.unknown},
        unknown={spec: c.unknown for spec, c in curves.items() if c.unknown},
    )
    return facts._replace(deletion=deletion)
