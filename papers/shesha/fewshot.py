"""Few-shot transfer: do statistics of few labelled samples predict how a new task will go?

After Raju 2026, Section 11. The task is another question about the same inputs than the network was
trained on.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from papers.judging import Evidence, NoData, claim
from resemblance.grounding import kendall
from resemblance.results.sections import Entry, Table
from resemblance.rng import generator
from resemblance.sources.recipe import Recipe
from resemblance.stability import get_statistic
from resemblance.stability.rdm import rows
from resemblance.suites.stability.models import family

from .correlations import Cell, Facts, Splits, enough, gathered, is_small, needed, over_cells, said
from .models import (
    SPLIT,
    SUPERVISED,
    TASKS,
    UNSUPERVISED,
    Experiment,
    Probe,
    Run,
    deep_models,
    layers_of,
    logistic_probe,
    statistics_of,
    tasks_of,
)

OF_OUTPUTS = ("leep", "nce")  # statistics of what a model answers, not of its layers
STATISTICS = (*SUPERVISED, *OF_OUTPUTS, *UNSUPERVISED)
ACCURACY = "accuracy"
LEAST = 4  # labelled samples of every class: three to fit, one to choose the penalty by
PENALTIES = (0.01, 0.1, 1.0, 10.0)  # C of scikit-learn


class Repeats(NamedTuple):
    """How many samples are labelled, how often such samples are drawn, and bootstrap samples."""

    sizes: tuple[int, ...]
    splits: int
    draws: int


REPEATS = {
    "small": Repeats(sizes=(32,), splits=1, draws=50),
    "default": Repeats(sizes=(32, 128), splits=2, draws=200),
    "paper": Repeats(sizes=(16, 32, 64, 128, 256), splits=4, draws=2000),
}


def fewshot(run: Run) -> Facts:
    """Probe every layer of every model in its new tasks with few labels."""
    repeats = REPEATS[run.size]
    what = [(recipe, repeats._replace(draws=0)) for recipe in deep_models(run.size)]
    cases = run.each(probed_model, what, map(get_statistic, STATISTICS))
    return gathered(cases, repeats.draws)


def probed_model(folder: Path, what: tuple[Recipe, Repeats]) -> tuple[Splits, dict[str, str]]:
    """Probe every layer of a model in every new task and split."""
    (recipe, repeats), reasons = what, dict[str, str]()
    tasks, layers = tasks_of(folder, recipe), layers_of(folder, recipe)
    cells: Splits = {}
    for task in TASKS[recipe.domain][1:]:
        for size in repeats.sizes:
            cell = cells.setdefault(f"{family(recipe.name)}, {task}, {size} labels", {})
            for split in range(repeats.splits):
                random = generator(0, "fewshot", task, size, split)
                few, fitting = few_of(tasks[task], size, random)
                for layer, x, outputs in layers:
                    case = _case(rows(x), outputs, tasks[task], few, fitting, reasons)
                    cell.setdefault(f"{recipe.name} {layer}", []).append(case)
    return cells, {f"{recipe.name}: {spec}": why for spec, why in reasons.items()}


def _case(
    points: np.ndarray,
    outputs: np.ndarray,
    labels: np.ndarray,
    few: np.ndarray,
    fitting: np.ndarray,
    reasons: dict[str, str],
) -> dict[str, float | None]:
    others = np.setdiff1d(np.arange(len(labels)), few)
    probe = chosen_probe(points[few], labels[few], fitting)
    return {
        ACCURACY: float((probe(points[others]) == labels[others]).mean()),
        **statistics_of((*SUPERVISED, *UNSUPERVISED), points[few], labels[few], reasons),
        **statistics_of(OF_OUTPUTS, outputs[few], labels[few], reasons),
    }


def few_of(
    labels: np.ndarray, size: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return about so many row numbers, of every class its share and at least 4, and which of them
    are fitted to.

    A quarter of the samples of every class is for choosing the penalty.
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
    """Return a probe whose penalty was chosen on the samples not fitted to, fitted again to all.

    ``fitting``: (n,) which samples candidates are fitted to. Features are brought to zero mean and
    unit deviation; of equally good penalties the strongest is taken.

    Reference: Raju 2026, Section 11 (logistic regression, C of 0.01 to 10).
    """
    mean, deviation = points.mean(axis=0), points.std(axis=0)
    unit = np.where(deviation > 0, deviation, 1)
    scaled = (points - mean) / unit

    def accuracy(penalty: float) -> float:
        probe = logistic_probe(scaled[fitting], labels[fitting], penalty=penalty)
        return float((probe(scaled[~fitting]) == labels[~fitting]).mean())

    best = max(PENALTIES, key=lambda penalty: (accuracy(penalty), -penalty))
    probe = logistic_probe(scaled, labels, penalty=best)
    weights = probe.weights / unit
    return Probe(weights, probe.offsets - weights @ mean, probe.answers)


# -------------------------------------------------------------------------------- table and claims


def foretold(facts: Facts) -> tuple[Table, ...]:
    """Return how well every statistic foretells accuracy: over all cells, by kind of model and by
    number of labels."""
    cells = facts.cells
    if not cells:
        return ()
    groups: dict[str, list[Cell]] = {}
    for position in (0, 2):
        for cell in cells:
            groups.setdefault(cell.name.split(", ")[position], []).append(cell)
    lines: list[tuple[Entry, ...]] = []
    for spec in STATISTICS:
        both = (spec, ACCURACY)
        parts = [over_cells(group, both) for group in groups.values()]
        tau = over_cells(cells, both, lambda a, b: kendall(a, b).value)
        mean = said(over_cells(cells, both, draws=facts.draws))
        of_parts = (of[0] if of else None for of in (tau, *parts))
        lines.append((get_statistic(spec).label, mean, *of_parts))
    lines.sort(key=lambda line: -float(line[2] if line[2] is not None else -2))
    note = (
        "Correlation of the statistic with the accuracy of the probe over embeddings, the mean "
        "over tasks and numbers of labels; [95 %] by bootstrap of the embeddings."
    )
    columns = ("statistic", "Spearman, mean [95 %]", "Kendall, mean", *groups)
    title = "Which statistics foretell transfer?"
    return (Table("fewshot_foretold", title, columns, tuple(lines), note),)


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
    facts=fewshot,
    claims=[],
    models=deep_models,
    tables=foretold,
)


@claim(
    FEWSHOT.claims, "11 dissociates", "Stability dissociates from transferability",
    paper="“dissociates”; no number for few-shot transfer",
)  # fmt: skip
def dissociates(facts: Facts) -> Evidence:
    enough(facts.cells)
    mean = needed(over_cells(facts.cells, (SPLIT, ACCURACY), draws=facts.draws))
    text = f"feature split: mean ρ {said(mean)} over {len(facts.cells)} tasks"
    note = (
        "layers of small networks and questions about the same inputs; theirs are pre-trained "
        "models"
    )
    return Evidence(text, (is_small(mean),), note)


@claim(
    FEWSHOT.claims, "11 tax",
    "Geometric tax: the best embedding of a task is less stable than most",
    paper="“a geometric tax that transfer optimization incurs”",
)  # fmt: skip
def tax(facts: Facts) -> Evidence:
    enough(facts.cells)
    below = [share for cell in facts.cells if (share := best_is_below(cell)) is not None]
    if not below:
        raise NoData("stability is not known, or equal for all embeddings")
    total = float(np.sum(below))
    note = "by chance it is half of the tasks; embeddings of equal accuracy share a task"
    return Evidence(f"in {total:.3g} of {len(below)} tasks", (total > 0.75 * len(below),), note)


def best_is_below(cell: Cell) -> float | None:
    """Return the share of the best embeddings of a task that are less stable than the median.

    None where all are equally good or stable: then none of them is the best, or less stable than
    most.
    """
    stability, accuracy = cell.columns[SPLIT], cell.columns[ACCURACY]
    if np.isnan(stability).any() or np.ptp(stability) == 0 or np.ptp(accuracy) == 0:
        return None
    best = stability[accuracy >= accuracy.max() - 1e-12]
    return float(np.mean(best < np.median(stability)))
