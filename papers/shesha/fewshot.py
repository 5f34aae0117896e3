"""Few-shot transfer: do statistics of few labelled samples predict how a new task will go?

After Raju 2026, Section 11. The task is another question about the same inputs than the network was
trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from resemblance.representation import Representation
from resemblance.results.sections import Section
from resemblance.rng import generator
from resemblance.statistics.rdm import rows
from resemblance.suites.experiments import Experiment, Part, RunConfig
from resemblance.suites.stability.models import absent_of, labels_of, names_of, recipe_of

from .embeddings import deep_models, embeddings
from .fewshot_sections import conclude
from .probes import chosen_probe
from .statistics import OF_OUTPUTS, SUPERVISED, UNSUPERVISED, named, values
from .tasks import TASKS, labellings

LEAST = 4  # labelled samples of every class: three to fit, one to choose the penalty by
STATISTICS = (*SUPERVISED, *OF_OUTPUTS, *UNSUPERVISED)


class Repeats(NamedTuple):
    """How many samples are labelled, how often such samples are drawn, and bootstrap samples."""

    sizes: tuple[int, ...]
    splits: int
    draws: int


REPEATS = {
    "small": Repeats((32,), 1, 50),
    "default": Repeats((32, 128), 2, 200),
    "paper": Repeats((16, 32, 64, 128, 256), 4, 2000),
}


def _parts(config: RunConfig) -> list[Part]:
    repeats = REPEATS[config.size]
    return [
        {
            **names_of(recipe),
            "tasks": list(TASKS[recipe.domain][1:]),
            "sizes": list(repeats.sizes),
            "splits": repeats.splits,
            "statistics": named(STATISTICS),
        }
        for recipe in deep_models(config)
    ]


def _compute(config: RunConfig, part: Part) -> Any:
    """Probe every layer of a model in every new task with few labels."""
    recipe, reasons, cases = recipe_of(config, part), dict[str, str](), list[dict[str, Any]]()
    tasks = labellings(recipe, labels_of(config, recipe))
    for task in part["tasks"]:
        for size in part["sizes"]:
            for split in range(part["splits"]):
                few, fitting = few_of(tasks[task], size, generator(0, "fewshot", task, size, split))
                for layer, x, outputs in embeddings(config, recipe):
                    case = _case(x, outputs, tasks[task], few, fitting, reasons)
                    cases.append(
                        {"layer": layer, "task": task, "size": size, "split": split, **case}
                    )
    return {"cases": cases, "reasons": reasons}


def few_of(
    labels: np.ndarray, size: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return about so many row numbers, and which of them are fitted to.

    Of every class its share and at least 4.

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


def _case(
    x: Representation,
    outputs: np.ndarray,
    labels: np.ndarray,
    few: np.ndarray,
    fitting: np.ndarray,
    reasons: dict[str, str],
) -> dict[str, Any]:
    points, others = rows(x), np.setdiff1d(np.arange(len(labels)), few)
    probe = chosen_probe(points[few], labels[few], fitting)
    of_layer = values((*SUPERVISED, *UNSUPERVISED), points[few], labels[few], reasons)
    of_outputs = values(OF_OUTPUTS, outputs[few], labels[few], reasons)
    return {
        "accuracy": float((probe(points[others]) == labels[others]).mean()),
        "statistics": {spec: {**of_layer, **of_outputs}[spec] for spec in STATISTICS},
    }


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    return conclude(done, STATISTICS, REPEATS[config.size].draws, absent_of(config))


FEWSHOT = Experiment("fewshot", _parts, _compute, _conclude, deep_models)
