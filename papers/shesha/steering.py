"""Steering: how far does pushing along one direction change the readout? (Raju 2026, Section 8).

Is that foretold by stability statistics of other samples, and by more of them than separate the
classes?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from resemblance.representation import Representation
from resemblance.results.sections import Section
from resemblance.rng import generator
from resemblance.statistics.rdm import rows, unit
from resemblance.suites.experiments import Experiment, Part, RunConfig
from resemblance.suites.stability.models import absent_of, labels_of, names_of, recipe_of

from .embeddings import deep_models, embeddings
from .probes import ALPHAS, Probe, direction_of, halves, largest_drop, logistic_probe, steered
from .statistics import SUPERVISED, UNSUPERVISED, named, values
from .steering_sections import conclude
from .tasks import TASKS, labellings

STATISTICS = (*SUPERVISED, *UNSUPERVISED)


class Repeats(NamedTuple):
    """How many splits, random directions and shuffled labels of each, and bootstrap samples."""

    splits: int
    random: int
    shuffles: int
    draws: int


REPEATS = {
    "small": Repeats(2, 5, 2, 50),
    "default": Repeats(2, 20, 3, 200),
    "paper": Repeats(5, 20, 20, 2000),
}


def _parts(config: RunConfig) -> list[Part]:
    repeats = REPEATS[config.size]._replace(draws=0)
    return [
        {
            **names_of(recipe),
            "tasks": list(TASKS[recipe.domain][:2]),
            "repeats": list(repeats),
            "statistics": named(STATISTICS),
        }
        for recipe in deep_models(config)
    ]


def _compute(config: RunConfig, part: Part) -> Any:
    """Steer every layer of a model in every task and split."""
    recipe, repeats, reasons = recipe_of(config, part), Repeats(*part["repeats"]), dict[str, str]()
    tasks = labellings(recipe, labels_of(config, recipe))
    cases = [
        {
            "layer": layer,
            "task": task,
            "split": split,
            **_case(x, tasks[task], repeats, reasons, (part["model"], layer, task, split)),
        }
        for layer, x, _ in embeddings(config, recipe)
        for task in part["tasks"]
        for split in range(repeats.splits)
    ]
    return {"cases": cases, "reasons": reasons}


Name = tuple[str, str, str, int]  # model, layer, task, split


def _case(
    x: Representation, labels: np.ndarray, repeats: Repeats, reasons: dict[str, str], name: Name
) -> dict[str, Any]:
    """Statistics of one half of the samples; probe, directions and drops on the other."""
    points = unit(rows(x))
    measured, other = halves(
        labels, generator(0, "steering", *name[2:])
    )  # of all layers and models the same
    fitted, tried = (
        other[part] for part in halves(labels[other], generator(0, "steering", "probe", *name[2:]))
    )
    probe = logistic_probe(points[fitted], labels[fitted])
    curves = {
        "probe": [direction_of(probe)],
        "random": list(_random_directions(points.shape[1], repeats.random, name)),
        "shuffled": list(
            _shuffled_directions(points[fitted], labels[fitted], repeats.shuffles, name)
        ),
    }
    drops = {kind: _drops(probe, points[tried], labels[tried], of) for kind, of in curves.items()}
    return {
        "accuracy": float((probe(points[tried]) == labels[tried]).mean()),
        **drops,
        "statistics": values(STATISTICS, points[measured], labels[measured], reasons),
    }


def _random_directions(width: int, count: int, name: Name) -> Iterator[np.ndarray]:
    for draw in range(count):
        normal = generator(0, "steering", "random direction", *name, draw).standard_normal(width)
        yield normal / np.linalg.norm(normal)


def _shuffled_directions(
    points: np.ndarray, labels: np.ndarray, count: int, name: Name
) -> Iterator[np.ndarray]:
    for draw in range(count):
        order = generator(0, "steering", "shuffled labels", *name, draw).permutation(len(labels))
        yield direction_of(logistic_probe(points, labels[order]))


def _drops(
    probe: Probe, points: np.ndarray, labels: np.ndarray, directions: Sequence[np.ndarray]
) -> dict[str, Any]:
    """Mean over directions of the largest drop, and of the accuracies.

    With and without the return to the sphere.
    """
    free, sphere = (
        np.array([steered(probe, points, labels, direction, sphere=on) for direction in directions])
        for on in (False, True)
    )
    return {
        "free": float(np.mean([largest_drop(c) for c in free])),
        "sphere": float(np.mean([largest_drop(c) for c in sphere])),
        "curve": [float(v) for v in free.mean(axis=0)],
    }


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    return conclude(
        done, ALPHAS, SUPERVISED, UNSUPERVISED, REPEATS[config.size].draws, absent_of(config)
    )


STEERING = Experiment("steering", _parts, _compute, _conclude, deep_models)
