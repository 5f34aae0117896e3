"""Whether statistics of a layer predict the behaviour of a probe that reads labels from the layer
(Raju 2026).

Steering (Section 8): how far does a shift along the direction of the probe change the predictions?
Few-shot transfer (Section 11): how accurate is a probe, trained with few labels, in another task on
the same inputs than the training task of the network?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from papers.judging import Evidence, NoData, number
from resemblance.base.rng import generator
from resemblance.bench.grounding import kendall
from resemblance.bench.stability.models import domain_and_architecture
from resemblance.catalogue import get_statistic
from resemblance.data.representation import Representation
from resemblance.intermediates.points import unit_rows_of_array
from resemblance.models.recipe import Recipe
from resemblance.sections.sections import Table, TableEntry
from resemblance.statistics.rdm import double_precision_rows

from . import correlations, models
from .correlations import Cell, Facts, Interval, Splits, over_cells, rank_correlation, said
from .models import ALIGNMENT, SPLIT, SUPERVISED, TASKS, UNSUPERVISED, Experiment, Probe, Run

ACCURACY = "accuracy"
Values = dict[str, float | None]


class Size(NamedTuple):
    """Numbers of splits for steering, of random directions and of probes with shuffled labels per
    split; numbers of labelled samples, how often labelled samples are drawn, and bootstrap
    samples."""

    splits: int
    random: int
    shuffles: int
    labeled: tuple[int, ...]
    drawn: int
    bootstraps: int


SIZES = {
    "small": Size(2, random=5, shuffles=2, labeled=(32,), drawn=1, bootstraps=50),
    "default": Size(2, random=20, shuffles=3, labeled=(32, 128), drawn=2, bootstraps=200),
    "paper": Size(5, 20, 20, labeled=(16, 32, 64, 128, 256), drawn=4, bootstraps=2000),
}


def of_models(
    of_model: Callable[[Path, tuple[Recipe, Size]], tuple[Splits, dict[str, str]]], run: Run
) -> Facts:
    """Return the facts of a function, called for every model with several layers."""
    size = SIZES[run.size]
    cases = run.each(of_model, [(recipe, size) for recipe in models.deep_models(run.size)])
    return correlations.gathered(cases, size.bootstraps)


def cases_of(
    folder: Path,
    recipe: Recipe,
    cells: Iterable[tuple[str, *tuple[int, ...]]],
    splits: int,
    case: Callable[..., Values],
) -> tuple[Splits, dict[str, str]]:
    """Return the values of every layer of a model, by cell (model kind and task), and the reasons
    for missing statistics.

    ``cells``: tasks, with the number of labelled samples if only some samples are labelled.
    ``case``: called with a layer, the outputs of the model, the labels of the task, a dictionary
    for reasons, and the names of model, layer, cell and split.
    """
    reasons = dict[str, str]()
    tasks, layers = models.tasks_of(folder, recipe), models.layers_of(folder, recipe)
    cases: Splits = {}
    for task, *labeled in cells:
        of_cell = cases.setdefault(
            ", ".join(
                [domain_and_architecture(recipe.name), task, *(f"{n} labels" for n in labeled)]
            ),
            {},
        )
        for layer, x, outputs in layers:
            names = (recipe.name, layer, task, *labeled)
            of_cell[f"{recipe.name} {layer}"] = [
                case(x, outputs, tasks[task], reasons, (*names, split)) for split in range(splits)
            ]
    return cases, {f"{recipe.name}: {spec}": why for spec, why in reasons.items()}


# ----------------------------------------------------------------------------------------- steering

ALPHAS = (-2.0, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
FREE, SPHERE, RANDOM, SHUFFLED = "free", "sphere", "random", "shuffled"
CONTROLS = ("fisher_discriminant", "silhouette")
STEERED = (ALIGNMENT, *CONTROLS, SPLIT)  # statistics


def steered_model(folder: Path, what: tuple[Recipe, Size]) -> tuple[Splits, dict[str, str]]:
    """Steer every layer of a model in the first two tasks of its domain."""
    recipe, size = what
    cells = [(task,) for task in TASKS[recipe.domain][:2]]
    return cases_of(folder, recipe, cells, size.splits, partial(_steered_layer, size))


def _steered_layer(
    size: Size,
    x: Representation,
    outputs: np.ndarray,
    labels: np.ndarray,
    reasons: dict[str, str],
    names: tuple[str | int, ...],
) -> Values:
    """Return statistics of one half of the samples, and the drops of a probe's accuracy on the
    other half."""
    points = unit_rows_of_array(double_precision_rows(x))
    # All layers and models use the same halves.
    measured, other = halves(labels, generator(0, "steering", *names[2:]))
    fitted, tried = (
        other[part] for part in halves(labels[other], generator(0, "steering", "probe", *names[2:]))
    )
    probe = models.logistic_probe(points[fitted], labels[fitted])

    def drawn(what: str, count: int) -> list[np.random.Generator]:
        return [generator(0, "steering", what, *names, draw) for draw in range(count)]

    def drop(directions: Sequence[np.ndarray], sphere: bool = False) -> float:
        drops = [
            largest_drop(steered(probe, points[tried], labels[tried], direction, sphere=sphere))
            for direction in directions
        ]
        return float(np.mean(drops))

    along = direction_of(probe)
    random = [g.standard_normal(len(along)) for g in drawn("random direction", size.random)]
    orders = [g.permutation(len(fitted)) for g in drawn("shuffled labels", size.shuffles)]
    shuffled = [models.logistic_probe(points[fitted], labels[fitted][order]) for order in orders]
    return {
        ACCURACY: float((probe(points[tried]) == labels[tried]).mean()),
        FREE: drop([along]),
        SPHERE: drop([along], sphere=True),
        RANDOM: drop([normal / np.linalg.norm(normal) for normal in random]),
        SHUFFLED: drop([direction_of(other) for other in shuffled]),
        **models.statistics_of(STEERED, points[measured], labels[measured], reasons),
    }


def direction_of(probe: Probe) -> np.ndarray:
    """Return the unit direction along which a probe's scores change most.

    The direction is the weight vector, or the first right singular vector of several weight
    vectors.
    """
    direction: np.ndarray = np.linalg.svd(probe.weights, full_matrices=False)[2][0]
    return (
        direction if len(probe.weights) > 1 else probe.weights[0] / np.linalg.norm(probe.weights[0])
    )


def steered(
    probe: Probe, points: np.ndarray, labels: np.ndarray, direction: np.ndarray, *, sphere: bool
) -> np.ndarray:
    """Return the accuracy of a probe on points shifted along a direction, for every α.

    ``sphere``: scale shifted points to unit length, as the scripts of Raju 2026 do and the paper
    does not say.
    """
    moved = points[None] + np.asarray(ALPHAS)[:, None, None] * direction
    if sphere:
        lengths = np.linalg.norm(moved, axis=2, keepdims=True)
        moved = moved / np.where(lengths > 0, lengths, 1)
    accuracies: np.ndarray = (probe(moved) == labels).mean(axis=1)
    return accuracies


def largest_drop(accuracies: np.ndarray) -> float:
    """Return the accuracy lost at the worst α: accuracy at α = 0 minus the smallest accuracy, at
    least 0."""
    return float(accuracies[ALPHAS.index(0.0)] - accuracies.min())


def halves(labels: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of two random halves of every class; an odd sample goes to the second
    half."""
    first, second = [], []
    for label in np.unique(labels):
        members = random.permutation(np.flatnonzero(labels == label))
        first.append(members[: len(members) // 2])
        second.append(members[len(members) // 2 :])
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))


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
    facts=partial(of_models, steered_model),
    models=models.deep_models,
)


def _foretold(
    facts: Facts,
    quantity: str,
    spec: str,
    value: Callable[..., float] = rank_correlation,
    controls: Sequence[str] = (),
) -> Interval:
    """Return the correlation between a statistic and a quantity, with fixed controls, and its
    interval."""
    correlations.enough(facts.cells)
    interval = over_cells(facts.cells, (spec, quantity, *controls), value, draws=facts.draws)
    if interval is None:
        raise NoData("too few embeddings")
    return interval


@STEERING.claim("8 supervised", "Supervised stability foretells steerability", "ρ = 0.89 to 0.96")
def supervised(facts: Facts) -> Evidence:
    mean = _foretold(facts, FREE, ALIGNMENT)
    columns = [cell.columns for cell in facts.cells]
    least = float(np.nanmin([rank_correlation(c[ALIGNMENT], c[FREE]) for c in columns]))
    text = f"supervised alignment: mean ρ {said(mean)}, least {number(least, 2)}"
    note = "layers of small networks; theirs are 35 to 69 embedding models"
    return Evidence(text, (mean[0] > 0.8, least > 0.5), note)


@STEERING.claim(
    "8 beyond",
    "… beyond what separates the classes (Fisher and silhouette held fixed)",
    "partial ρ = 0.62 to 0.76",
)
def beyond(facts: Facts) -> Evidence:
    ranks = _foretold(facts, FREE, ALIGNMENT, correlations.partial_rank_correlation, CONTROLS)
    raw = _foretold(facts, FREE, ALIGNMENT, correlations.partial_raw_correlation, CONTROLS)
    text = f"supervised alignment: by ranks {said(ranks)}, by raw values {said(raw)}"
    rhos = [rank_correlation(c.columns[ACCURACY], c.columns[FREE]) for c in facts.cells]
    least, most = (number(float(end(rhos)), 2) for end in (np.nanmin, np.nanmax))
    note = (
        f"max_drop is nearly the accuracy of the probe (ρ {least} to {most}), which is what "
        "separation of the classes decides"
    )
    return Evidence(text, (ranks[0] > 0.4 and ranks[1] > 0, raw[0] > 0.4), note)


@STEERING.claim("8 unsupervised", "Unsupervised stability does not, on real tasks", "ρ ≈ 0.10")
def unsupervised(facts: Facts) -> Evidence:
    mean = _foretold(facts, FREE, SPLIT)
    note = "real tasks of the paper; layers of one network differ in depth, on which both depend"
    return Evidence(f"feature split: mean ρ {said(mean)}", (correlations.is_small(mean),), note)


@STEERING.claim(
    "8 controls",
    "Random directions and probes of shuffled labels steer much less",
    "controls of 20 directions",
)
def controls(facts: Facts) -> Evidence:
    correlations.enough(facts.cells)
    probe, sphere, random, shuffled = (
        float(np.mean(np.concatenate([cell.columns[q] for cell in facts.cells])))
        for q in (FREE, SPHERE, RANDOM, SHUFFLED)
    )
    text = (
        f"max_drop {probe:.2f} ({sphere:.2f} on the unit sphere); random directions {random:.2f}, "
        f"shuffled labels {shuffled:.2f}"
    )
    note = (
        "directions of shuffled labels lie where points vary most, and α = 2 is twice the length "
        "of a point"
    )
    return Evidence(text, (random < probe / 2, shuffled < probe / 2), note)


# --------------------------------------------------------------------------------------- few labels

OF_OUTPUTS = ("leep", "nce")  # statistics of a model's outputs, not of its layers
STATISTICS = (*SUPERVISED, *OF_OUTPUTS, *UNSUPERVISED)
LEAST = 4  # labelled samples of every class: three to fit, one to choose the penalty
PENALTIES = (0.01, 0.1, 1.0, 10.0)  # the parameter C of scikit-learn


def probed_model(folder: Path, what: tuple[Recipe, Size]) -> tuple[Splits, dict[str, str]]:
    """Probe every layer of a model with few labels, in all tasks except the training task."""
    recipe, size = what
    cells = [(task, count) for task in TASKS[recipe.domain][1:] for count in size.labeled]
    return cases_of(folder, recipe, cells, size.drawn, _probed_layer)


def _probed_layer(
    x: Representation,
    outputs: np.ndarray,
    labels: np.ndarray,
    reasons: dict[str, str],
    names: tuple[str, str, str, int, int],
) -> Values:
    points, (*_, count, _) = double_precision_rows(x), names
    few, fitting = few_of(labels, count, generator(0, "fewshot", *names[2:]))
    others = np.setdiff1d(np.arange(len(labels)), few)
    probe = chosen_probe(points[few], labels[few], fitting)
    return {
        ACCURACY: float((probe(points[others]) == labels[others]).mean()),
        **models.statistics_of((*SUPERVISED, *UNSUPERVISED), points[few], labels[few], reasons),
        **models.statistics_of(OF_OUTPUTS, outputs[few], labels[few], reasons),
    }


def few_of(
    labels: np.ndarray, size: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of about ``size`` labelled samples, and a mask of the samples to fit.

    Every class has samples in proportion to its size, and at least 4. A quarter of the samples of
    every class is reserved for choosing the penalty.
    """
    chosen, fitting = [], []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        count = max(LEAST, round(size * len(members) / len(labels)))
        sample = random.permutation(members)[:count]
        chosen.append(sample)
        fitting.append(np.arange(len(sample)) >= len(sample) // 4)
    return np.concatenate(chosen), np.concatenate(fitting)


def chosen_probe(points: np.ndarray, labels: np.ndarray, fitting: np.ndarray) -> Probe:
    """Return a probe fitted to all samples, with the penalty that is best on the reserved samples.

    ``fitting``: (n,) mask of the samples to fit candidates to. Features are standardised to zero
    mean and unit deviation; of equally good penalties the strongest is chosen.

    Reference: Raju 2026, Section 11 (logistic regression, C of 0.01 to 10).
    """
    mean, deviation = points.mean(axis=0), points.std(axis=0)
    unit = np.where(deviation > 0, deviation, 1)
    scaled = (points - mean) / unit

    def accuracy(penalty: float) -> float:
        probe = models.logistic_probe(scaled[fitting], labels[fitting], penalty=penalty)
        return float((probe(scaled[~fitting]) == labels[~fitting]).mean())

    best = max(PENALTIES, key=lambda penalty: (accuracy(penalty), -penalty))
    probe = models.logistic_probe(scaled, labels, penalty=best)
    weights = probe.weights / unit
    return Probe(weights, probe.offsets - weights @ mean, probe.answers)


def foretold(facts: Facts) -> tuple[Table, ...]:
    """Return the correlations of every statistic with accuracy: over all cells, by kind of model,
    and by number of labels."""
    cells = facts.cells
    if not cells:
        return ()
    groups: dict[str, list[Cell]] = {}
    for position in (0, 2):
        for cell in cells:
            groups.setdefault(cell.name.split(", ")[position], []).append(cell)
    records = list[dict[str, TableEntry]]()
    for spec in STATISTICS:
        both = (spec, ACCURACY)
        tau = over_cells(cells, both, lambda a, b: kendall(a, b).value)
        parts = {name: over_cells(group, both) for name, group in groups.items()}
        records.append(
            {
                "statistic": get_statistic(spec).label,
                "Spearman, mean [95 %]": said(over_cells(cells, both, draws=facts.draws)),
                **{name: of and of[0] for name, of in {"Kendall, mean": tau, **parts}.items()},
            }
        )
    records.sort(key=lambda r: -float(-2 if r["Kendall, mean"] is None else r["Kendall, mean"]))
    note = (
        "Correlation of the statistic with the accuracy of the probe over embeddings, the mean "
        "over tasks and numbers of labels; [95 %] by bootstrap of the embeddings."
    )
    return (Table.of(records, "fewshot_foretold", "Which statistics foretell transfer?", note),)


FEWSHOT = Experiment(
    name="fewshot",
    title="Transfer to new tasks with few labels",
    about=(
        "Which of many representations will serve a new task, of which only a few samples are "
        "labelled? Networks that were trained to tell one thing are asked another about the same "
        "inputs: is the digit odd, has it a loop, how long is the sentence, how many neighbours "
        "has the function? A logistic probe, its penalty chosen on a quarter of the labelled "
        "samples, is trained on every layer and tested on all samples that had no label. "
        "Statistics of the same few samples should foretell its accuracy: of stability, of "
        "separation, and scores made for this purpose (LogME, H-score, GBC; LEEP and NCE look at "
        "the answers of the network instead of a layer, and cannot tell its layers apart)."
    ),
    facts=partial(of_models, probed_model),
    models=models.deep_models,
    tables=foretold,
)


@FEWSHOT.claim(
    "11 dissociates",
    "Stability dissociates from transferability",
    "“dissociates”; no number for few-shot transfer",
)
def dissociates(facts: Facts) -> Evidence:
    mean = _foretold(facts, ACCURACY, SPLIT)
    text = f"feature split: mean ρ {said(mean)} over {len(facts.cells)} tasks"
    note = (
        "layers of small networks and questions about the same inputs; theirs are pre-trained "
        "models"
    )
    return Evidence(text, (correlations.is_small(mean),), note)


@FEWSHOT.claim(
    "11 tax",
    "Geometric tax: the best embedding of a task is less stable than most",
    "“a geometric tax that transfer optimization incurs”",
)
def tax(facts: Facts) -> Evidence:
    correlations.enough(facts.cells)
    below = [share for cell in facts.cells if (share := best_is_below(cell)) is not None]
    if not below:
        raise NoData("stability is not known, or equal for all embeddings")
    total = float(np.sum(below))
    note = "by chance it is half of the tasks; embeddings of equal accuracy share a task"
    return Evidence(f"in {total:.3g} of {len(below)} tasks", (total > 0.75 * len(below),), note)


def best_is_below(cell: Cell) -> float | None:
    """Return the share of the best embeddings of a task that are less stable than the median.

    None where all embeddings are equally accurate or equally stable, because then the question has
    no answer.
    """
    stability, accuracy = cell.columns[SPLIT], cell.columns[ACCURACY]
    if np.isnan(stability).any() or np.ptp(stability) == 0 or np.ptp(accuracy) == 0:
        return None
    best = stability[accuracy >= accuracy.max() - 1e-12]
    return float(np.mean(best < np.median(stability)))
