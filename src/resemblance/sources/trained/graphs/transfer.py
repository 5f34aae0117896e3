"""Graph networks that were pretrained on some packages and fine-tuned on others, of which they see
a few functions.

Models fine-tuned from the same weights agree on the graph as it is, and differ on a rewired one:
what the benchmark of Ding et al. (NeurIPS 2021) asks representations to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ....rng import generator
from ....subject import Extraction, Recipe
from ..common import (
    SEVERITIES,
    State,
    accuracy,
    begin,
    check_transfer,
    examples,
    load_state,
    seeded,
    state_of,
    with_means,
)
from ..snapshot import load_snapshot
from . import rewiring
from .train import both_ways, build, features, learn, run_layers

VERSION = 1
ARCHITECTURES = ("gcn", "sage", "gat")
FIRST = 4  # packages of the graph from here on are for pretraining, those before for fine-tuning

_SAGE = {
    "classes": 4,
    "vocabulary": 60,
    "test": 500,
    "hidden": 32,
    "layers": 4,
    "dropout": 0.5,
    "activation": "relu",
}
_PRETRAINING: dict[str, Any] = _SAGE | {"lr": 0.01, "weight_decay": 0.0, "epochs": 100}
_FINETUNING: dict[str, Any] = _SAGE | {"lr": 0.01, "weight_decay": 0.0, "epochs": 40, "shots": 40}
_SMALL = {"vocabulary": 30, "test": 120, "hidden": 8, "layers": 3, "epochs": 5}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "small": {"sage": _FINETUNING | _SMALL | {"pretraining": _PRETRAINING | _SMALL}},
    "default": {"sage": _FINETUNING | {"pretraining": _PRETRAINING}},
}


class Task(NamedTuple):
    """A graph (see :class:`.graphs.Task`) with the nodes to learn from and to test on, and labels
    from 0."""

    x: np.ndarray
    edges: np.ndarray
    labels: np.ndarray
    train: np.ndarray
    test: np.ndarray


def fit(recipe: Recipe, start: State | None = None) -> State:
    """Train the model of a recipe and return its weights by name.

    - ``"pretrained"``: random weights learn from which of the last four packages of the graph a
      function is, on all their functions but the ``test`` ones.
    - ``"finetuned"``: ``start``, the weights of ``recipe.parent``, get a new last layer and learn
      the same of the first four packages, from ``shots`` functions of each; all weights are
      trained. Which functions, the initial last layer and the dropout depend on ``recipe.seed``
      alone, so models of one seed have them in common, whatever was pretrained.

    Both see the whole graph, with all functions and links. Options: those of
    :data:`.graphs.OPTIONS` without ``train`` and ``deep``, with ``classes`` (4); fine-tuning also
    has ``shots`` and ``pretraining``, the options of the parent. Needs the extra ``resi``.

    Raises ``ValueError`` for a recipe of another kind, P-GNN among them, for options that are
    missing or do not fit the data, and for a ``start`` that is missing or of another network.
    """
    task, options = _task(recipe), recipe.options
    if recipe.setting == "pretrained":
        with seeded(recipe.seed, "graphs", recipe.name) as torch:
            model = _build(recipe)
            _learn(torch, model, task, task.train, options)
        return state_of(model)
    random = generator(recipe.seed, "graphs", "finetuned", "examples")
    nodes = task.train[
        examples(task.labels[task.train], options["shots"], options["classes"], random)
    ]
    with seeded(recipe.seed, "graphs", "finetuned", recipe.architecture) as torch:
        model = begin(recipe, _build(recipe), start, f"convs.{options['layers'] - 1}.")
        _learn(torch, model, task, nodes, options)
    return state_of(model)


def extract(recipe: Recipe, state: State) -> Extraction:
    """Return what the layers of a trained network make of the test nodes, and how well it
    classifies them.

    Representations, pooling "node", are those of :func:`.graphs.extract` for the test nodes in the
    graph as it is (in distribution), the same for all fine-tuned models. Those of a pretrained
    model are of test nodes of its packages.

    ``accuracies`` of fine-tuned models, always on the test nodes: ``"test"`` in the graph as it is;
    ``"<shift>/<severity>"`` in the graph after each of :data:`.rewiring.SHIFTS`, drawn once for all
    models; ``"<shift>"``, the mean over its severities; ``"shift"``, the mean over all shifts. A
    pretrained model has ``"test"`` only.

    Raises ``ValueError`` as :func:`fit` does.
    """
    task = _task(recipe)
    inputs = {"test": (task.x, task.edges)} | (
        _shifted(task) if recipe.setting == "finetuned" else {}
    )
    with seeded(recipe.seed, "graphs", "extract") as torch, torch.no_grad():
        model = load_state(_build(recipe), state)
        seen = {
            n: run_layers(model, torch.from_numpy(x), both_ways(torch, e))
            for n, (x, e) in inputs.items()
        }
    labels = task.labels[task.test]
    accuracies = {
        name: accuracy(found["logits"].numpy()[task.test], labels) for name, found in seen.items()
    }
    layers = {name: values.numpy()[task.test] for name, values in seen["test"].items()}
    outputs = layers.pop("logits")
    known = with_means(accuracies) if recipe.setting == "finetuned" else accuracies
    return Extraction({"node": layers}, outputs, labels, known)


def _shifted(task: Task) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {
        f"{name}/{severity}": rewiring.shift(
            task.x, task.edges, name, severity, generator(0, "graphs", "shift", name, severity)
        )
        for name in rewiring.SHIFTS
        for severity in SEVERITIES
    }


def _build(recipe: Recipe) -> Any:
    options = recipe.options
    return build(recipe.architecture, options["vocabulary"], options["classes"], options)


def _learn(
    torch: Any, model: Any, task: Task, nodes: np.ndarray, options: Mapping[str, Any]
) -> None:
    x, links = torch.from_numpy(task.x), both_ways(torch, task.edges)
    learn(
        torch,
        model,
        lambda seen: run_layers(model, x, seen)["logits"][nodes],
        links,
        task.labels[nodes],
        options,
    )


def _task(recipe: Recipe) -> Task:
    """Return the task of a recipe that is known to make sense; its split is the same for all
    seeds."""
    _check(recipe)
    graph, test = load_snapshot().graph, recipe.options["test"]
    later = graph.labels >= FIRST
    nodes = np.flatnonzero(later if recipe.setting == "pretrained" else ~later)
    order = generator(0, "graphs", "transfer", "split").permutation(nodes)
    if not 0 < test < len(order):
        raise ValueError(f"graphs: test must be between 1 and {len(order) - 1}; got {test!r}")
    x = features(graph.words, recipe.options["vocabulary"])
    return Task(x, graph.edges, graph.labels % FIRST, np.sort(order[test:]), np.sort(order[:test]))


def _check(recipe: Recipe) -> None:
    known = {"domain": ("graphs",), "dataset": ("stdlib",), "architecture": ARCHITECTURES}
    check_transfer(recipe, known, OPTIONS["default"]["sage"])
    if recipe.options["classes"] != FIRST:
        raise ValueError(f"graphs: classes must be {FIRST}; got {recipe.options['classes']!r}")
