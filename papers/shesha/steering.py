"""Steering: how far does pushing along one direction change the readout? (Raju 2026, Section 8).

Is that foretold by stability statistics of other samples, and by more of them than separate the
classes?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from papers.judging import Evidence, claim, number
from resemblance.representation import Representation
from resemblance.results.sections import Table
from resemblance.results.values import known
from resemblance.rng import generator
from resemblance.sources.recipe import Recipe
from resemblance.stability import get_statistic
from resemblance.stability.rdm import rows
from resemblance.suites.stability.models import family
from resemblance.views.points import scaled_rows

from .correlations import (
    Facts,
    Interval,
    Splits,
    enough,
    gathered,
    is_small,
    needed,
    over_cells,
    partial_rank_correlation,
    partial_raw_correlation,
    rank_correlation,
    said,
)
from .models import (
    ALIGNMENT,
    SPLIT,
    TASKS,
    Experiment,
    Probe,
    Run,
    deep_models,
    layers_of,
    logistic_probe,
    statistics_of,
    tasks_of,
)

ALPHAS = (-2.0, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
FREE, SPHERE, ACCURACY, RANDOM, SHUFFLED = "free", "sphere", "accuracy", "random", "shuffled"
CONTROLS = ("fisher_discriminant", "silhouette")
STATISTICS = (ALIGNMENT, *CONTROLS, SPLIT)


class Repeats(NamedTuple):
    """How many splits, random directions and shuffled labels of each, and bootstrap samples."""

    splits: int
    random: int
    shuffles: int
    draws: int


REPEATS = {
    "small": Repeats(splits=2, random=5, shuffles=2, draws=50),
    "default": Repeats(splits=2, random=20, shuffles=3, draws=200),
    "paper": Repeats(splits=5, random=20, shuffles=20, draws=2000),
}


def steering(run: Run) -> Facts:
    """Steer every layer of every model in its first two tasks."""
    repeats = REPEATS[run.size]
    what = [(recipe, repeats._replace(draws=0)) for recipe in deep_models(run.size)]
    cases = run.each(steered_model, what, map(get_statistic, STATISTICS))
    return gathered(cases, repeats.draws)


def steered_model(folder: Path, what: tuple[Recipe, Repeats]) -> tuple[Splits, dict[str, str]]:
    """Steer every layer of a model in every task and split."""
    (recipe, repeats), reasons = what, dict[str, str]()
    tasks, layers = tasks_of(folder, recipe), layers_of(folder, recipe)
    cells: Splits = {
        f"{family(recipe.name)}, {task}": {
            f"{recipe.name} {layer}": [
                _case(x, tasks[task], repeats, reasons, (recipe.name, layer, task, split))
                for split in range(repeats.splits)
            ]
            for layer, x, _ in layers
        }
        for task in TASKS[recipe.domain][:2]
    }
    return cells, {f"{recipe.name}: {spec}": why for spec, why in reasons.items()}


def _case(
    x: Representation,
    labels: np.ndarray,
    repeats: Repeats,
    reasons: dict[str, str],
    name: tuple[str, str, str, int],
) -> dict[str, float | None]:
    """Statistics of one half of the samples; probe, directions and drops on the other."""
    points = scaled_rows(rows(x))
    # of all layers and models the same
    measured, other = halves(labels, generator(0, "steering", *name[2:]))
    fitted, tried = (
        other[part] for part in halves(labels[other], generator(0, "steering", "probe", *name[2:]))
    )
    probe = logistic_probe(points[fitted], labels[fitted])

    def drawn(what: str, count: int) -> list[np.random.Generator]:
        return [generator(0, "steering", what, *name, draw) for draw in range(count)]

    def drop(directions: Sequence[np.ndarray], sphere: bool = False) -> float:
        drops = [
            largest_drop(steered(probe, points[tried], labels[tried], direction, sphere=sphere))
            for direction in directions
        ]
        return float(np.mean(drops))

    along = direction_of(probe)
    random = [g.standard_normal(len(along)) for g in drawn("random direction", repeats.random)]
    orders = [g.permutation(len(fitted)) for g in drawn("shuffled labels", repeats.shuffles)]
    shuffled = [logistic_probe(points[fitted], labels[fitted][order]) for order in orders]
    return {
        ACCURACY: float((probe(points[tried]) == labels[tried]).mean()),
        FREE: drop([along]),
        SPHERE: drop([along], sphere=True),
        RANDOM: drop([normal / np.linalg.norm(normal) for normal in random]),
        SHUFFLED: drop([direction_of(other) for other in shuffled]),
        **statistics_of(STATISTICS, points[measured], labels[measured], reasons),
    }


def direction_of(probe: Probe) -> np.ndarray:
    """Return the unit direction that moves a probe's scores most.

    Its weights, or their first right singular vector.
    """
    direction: np.ndarray = np.linalg.svd(probe.weights, full_matrices=False)[2][0]
    return (
        direction if len(probe.weights) > 1 else probe.weights[0] / np.linalg.norm(probe.weights[0])
    )


def steered(
    probe: Probe, points: np.ndarray, labels: np.ndarray, direction: np.ndarray, *, sphere: bool
) -> np.ndarray:
    """Return the accuracy of a probe on points that were moved by every α along a direction.

    ``sphere``: moved points are brought back to unit length, as the scripts of Raju 2026 do and the
    paper does not say.
    """
    moved = points[None] + np.asarray(ALPHAS)[:, None, None] * direction
    if sphere:
        lengths = np.linalg.norm(moved, axis=2, keepdims=True)
        moved = moved / np.where(lengths > 0, lengths, 1)
    accuracies: np.ndarray = (probe(moved) == labels).mean(axis=1)
    return accuracies


def largest_drop(accuracies: np.ndarray) -> float:
    """Return the accuracy that the worst α costs: accuracy at α = 0 minus the smallest, at least
    0."""
    return float(accuracies[ALPHAS.index(0.0)] - accuracies.min())


def halves(labels: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of two random halves of every class, the odd sample in the second."""
    first, second = [], []
    for label in np.unique(labels):
        members = random.permutation(np.flatnonzero(labels == label))
        first.append(members[: len(members) // 2])
        second.append(members[len(members) // 2 :])
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))


EFFECTS = {
    ACCURACY: "accuracy",
    FREE: "max_drop",
    SPHERE: "on the sphere",
    RANDOM: "random direction",
    SHUFFLED: "shuffled labels",
}


def effects(facts: Facts) -> tuple[Table, ...]:
    """Return how far accuracy could be pushed in every cell, and how much of that is the accuracy
    that there was."""
    rows = []
    for cell in facts.cells:
        means = (float(cell.columns[quantity].mean()) for quantity in EFFECTS)
        rho = rank_correlation(cell.columns[ACCURACY], cell.columns[FREE])
        rows.append((cell.name, *means, known(rho)))
    columns = ("models, task", *EFFECTS.values(), "Spearman of accuracy and max_drop")
    note = (
        "Means over embeddings and splits. A probe that is pushed far answers with one class, "
        "whatever the embedding, so what it can lose is nearly its accuracy."
    )
    title = "How far accuracy can be pushed"
    return (Table("steering_effects", title, columns, tuple(rows), note),) if rows else ()


STEERING = Experiment(
    name="steering",
    title="Steering along a probe's direction",
    about=(
        "Steering adds α times a direction to every representation of a network, here the "
        "direction that a logistic probe reads a label from, and asks how far that can lower the "
        "accuracy of the probe (max_drop). Statistics of stability are measured on one half of "
        "the samples, steering is tried on the other. Every layer of a network under every "
        "pooling is one embedding, its rows at unit length. Do embeddings with more stable "
        "geometry yield more? And is that more than the plain separation of the classes, which "
        "decides how much accuracy there is to lose?"
    ),
    facts=steering,
    claims=[],
    models=deep_models,
    tables=effects,
)


def _foretold(
    facts: Facts,
    spec: str,
    value: Callable[..., float] = rank_correlation,
    controls: Sequence[str] = (),
) -> Interval:
    """How well a statistic foretells max_drop, with controls held fixed."""
    enough(facts.cells)
    columns = (spec, FREE, *controls)
    return needed(over_cells(facts.cells, columns, value, draws=facts.draws))


@claim(
    STEERING.claims, "8 supervised", "Supervised stability foretells steerability",
    paper="ρ = 0.89 to 0.96",
)  # fmt: skip
def supervised(facts: Facts) -> Evidence:
    mean = _foretold(facts, ALIGNMENT)
    columns = [cell.columns for cell in facts.cells]
    least = float(np.nanmin([rank_correlation(c[ALIGNMENT], c[FREE]) for c in columns]))
    text = f"supervised alignment: mean ρ {said(mean)}, least {number(least, 2)}"
    note = "layers of small networks; theirs are 35 to 69 embedding models"
    return Evidence(text, (mean[0] > 0.8, least > 0.5), note)


@claim(
    STEERING.claims, "8 beyond",
    "… beyond what separates the classes (Fisher and silhouette held fixed)",
    paper="partial ρ = 0.62 to 0.76",
)  # fmt: skip
def beyond(facts: Facts) -> Evidence:
    ranks = _foretold(facts, ALIGNMENT, partial_rank_correlation, CONTROLS)
    raw = _foretold(facts, ALIGNMENT, partial_raw_correlation, CONTROLS)
    text = f"supervised alignment: by ranks {said(ranks)}, by raw values {said(raw)}"
    note = (
        "max_drop is nearly the accuracy of the probe, which is what separation of the classes "
        "decides"
    )
    return Evidence(text, (ranks[0] > 0.4 and ranks[1] > 0, raw[0] > 0.4), note)


@claim(
    STEERING.claims, "8 unsupervised", "Unsupervised stability does not, on real tasks",
    paper="ρ ≈ 0.10",
)  # fmt: skip
def unsupervised(facts: Facts) -> Evidence:
    mean = _foretold(facts, SPLIT)
    note = "real tasks of the paper; layers of one network differ in depth, on which both depend"
    return Evidence(f"feature split: mean ρ {said(mean)}", (is_small(mean),), note)


@claim(
    STEERING.claims, "8 controls",
    "Random directions and probes of shuffled labels steer much less",
    paper="controls of 20 directions",
)  # fmt: skip
def controls(facts: Facts) -> Evidence:
    enough(facts.cells)
    probe, random, shuffled = (
        float(np.mean(np.concatenate([cell.columns[q] for cell in facts.cells])))
        for q in (FREE, RANDOM, SHUFFLED)
    )
    text = f"max_drop {probe:.2f}; random directions {random:.2f}, shuffled labels {shuffled:.2f}"
    note = (
        "directions of shuffled labels lie where points vary most, and α = 2 is twice the length "
        "of a point"
    )
    return Evidence(text, (random < probe / 2, shuffled < probe / 2), note)
