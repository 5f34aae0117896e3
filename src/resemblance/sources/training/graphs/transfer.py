"""Graph networks pretrained on some packages and fine-tuned on a few functions of others.

Models fine-tuned from the same weights agree on the graph as it is, and differ on a rewired one:
what the benchmark of Ding et al. (NeurIPS 2021) asks representations to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
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
from . import shifts as rewiring
from .packaged import both_ways, build, features, learn, run_layers

VERSION = 1
ARCHITECTURES = ("gcn", "sage", "gat")
FIRST = 4  # packages before this one are for fine-tuning, the others for pretraining

_SAGE: dict[str, Any] = {"classes": 4, "vocabulary": 60, "test": 500, "hidden": 32, "layers": 4}
_SAGE |= {"dropout": 0.5, "activation": "relu"}
_PRETRAINING: dict[str, Any] = _SAGE | {"lr": 0.01, "weight_decay": 0.0, "epochs": 100}
_FINETUNING: dict[str, Any] = _SAGE | {"lr": 0.01, "weight_decay": 0.0, "epochs": 40, "shots": 40}
_SMALL = {"vocabulary": 30, "test": 120, "hidden": 8, "layers": 3, "epochs": 5}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "small": {"sage": _FINETUNING | _SMALL | {"pretraining": _PRETRAINING | _SMALL}},
    "default": {"sage": _FINETUNING | {"pretraining": _PRETRAINING}},
}


class NodeTransfer(NamedTuple):
    """A graph with the nodes to train with and to test on, and labels from 0."""

    x: np.ndarray
    edges: np.ndarray
    labels: np.ndarray
    train: np.ndarray
    test: np.ndarray


def fit(recipe: Recipe, start: State | None = None) -> State:
    """Train the model of a recipe and return its weights by name.

    - ``"pretrained"``: random weights learn to classify functions of the last four packages of the
      graph, from all of them but the ``test`` ones.
    - ``"finetuned"``: ``start``, the weights of ``recipe.parent``, gets a new last layer and learns
      the same for the first four packages, from ``shots`` functions of each; all weights are
      trained. The functions, the initial last layer and the dropout depend on ``recipe.seed``
      alone, so models of one seed share them, whatever was pretrained.

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
    """Return the outputs of a trained network and of its layers for the test nodes.

    Layers, pooling "node", are those of :func:`.graphs.extract` for the test nodes in the graph as
    it is (in distribution), the same for all fine-tuned models. Those of a pretrained model are for
    test nodes of its packages.

    ``accuracies`` of fine-tuned models, always on the test nodes: ``"test"`` in the graph as it is;
    ``"<shift>/<severity>"`` in the graph after each of :data:`.rewiring.SHIFTS`, drawn once for all
    models; ``"<shift>"``, the mean over its severities; ``"shift"``, the mean over all shifts. A
    pretrained model has ``"test"`` only.

    Raises ``ValueError`` as :func:`fit` does.
    """
    task = _task(recipe)
    inputs = {"test": (task.x, task.edges)}
    if recipe.setting == "finetuned":
        inputs |= _shifted(task)
    labels, accuracies, layers = task.labels[task.test], {}, {}
    with seeded(recipe.seed, "graphs", "extract") as torch, torch.no_grad():
        model = load_state(_build(recipe), state)
        for name, (x, edges) in inputs.items():
            outputs = run_layers(model, torch.from_numpy(x), both_ways(torch, edges))
            accuracies[name] = accuracy(outputs["logits"].numpy()[task.test], labels)
            if name == "test":
                layers = {layer: rows.numpy()[task.test] for layer, rows in outputs.items()}
    logits = layers.pop("logits")
    accuracies = with_means(accuracies) if recipe.setting == "finetuned" else accuracies
    return Extraction({"node": layers}, logits, labels, accuracies)


def _shifted(task: NodeTransfer) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    graphs = {}
    for name, severity in product(rewiring.SHIFTS, SEVERITIES):
        random = generator(0, "graphs", "shift", name, severity)
        graphs[f"{name}/{severity}"] = rewiring.shift(task.x, task.edges, name, severity, random)
    return graphs


def _build(recipe: Recipe) -> Any:
    options = recipe.options
    return build(recipe.architecture, options["vocabulary"], options["classes"], options)


def _learn(
    torch: Any, model: Any, task: NodeTransfer, nodes: np.ndarray, options: Mapping[str, Any]
) -> None:
    x = torch.from_numpy(task.x)

    def logits(links: Any) -> Any:
        return run_layers(model, x, links)["logits"][nodes]

    learn(torch, model, logits, both_ways(torch, task.edges), task.labels[nodes], options)


def _task(recipe: Recipe) -> NodeTransfer:
    """Return the task of a valid recipe, with one split for all seeds."""
    _check(recipe)
    graph, test = load_snapshot().graph, recipe.options["test"]
    later = graph.labels >= FIRST
    nodes = np.flatnonzero(later if recipe.setting == "pretrained" else ~later)
    order = generator(0, "graphs", "transfer", "split").permutation(nodes)
    if not 0 < test < len(order):
        raise ValueError(f"graphs: test must be between 1 and {len(order) - 1}; got {test!r}")
    x = features(graph.words, recipe.options["vocabulary"])
    train, test_nodes = np.sort(order[test:]), np.sort(order[:test])
    return NodeTransfer(x, graph.edges, graph.labels % FIRST, train, test_nodes)


def _check(recipe: Recipe) -> None:
    allowed = {"domain": ("graphs",), "dataset": ("stdlib",), "architecture": ARCHITECTURES}
    check_transfer(recipe, allowed, OPTIONS["default"]["sage"])
    if recipe.options["classes"] != FIRST:
        raise ValueError(f"graphs: classes must be {FIRST}; got {recipe.options['classes']!r}")
