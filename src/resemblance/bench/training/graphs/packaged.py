"""Graph networks that classify functions of the standard library, on plain or corrupted data.

Fine-tuned ones learned some packages first. Models fine-tuned from the same weights agree on the
graph as it is, and differ on a rewired one: what the benchmark of Ding et al. (NeurIPS 2021) asks
representations to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator
from resemblance.models.recipe import TRANSFER_SETTINGS as TRANSFER_SETTINGS
from resemblance.models.recipe import Recipe

from .. import corruption
from ..loop import build_optimizer, train_steps
from ..packaged import check_recipe, training_example_positions
from ..standard_library import load_snapshot
from . import pgnn
from .shifts import GRAPH_SHIFTS, shift_graph

VERSION = TRANSFER_VERSION = 1
STDLIB_GRAPH_SETTINGS = ("normal", "layers", "labels", "shortcut", "augmentation")
PYG_CLASS_NAMES = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "pgnn": "P-GNN"}
MAX_DROPPED_EDGE_SHARE = 0.8  # share of the edges that the strongest augmentation drops
# packages before this one are for fine-tuning, the others for pretraining
FIRST_PRETRAINING_PACKAGE = 4

_SLICE_GRAPH: dict[str, Any] = {"vocabulary": 30, "train": 600, "layers": 3, "deep": 6}
_SLICE_GRAPH |= {"dropout": 0.5, "activation": "relu"}
_ADAM_WITHOUT_DECAY: dict[str, Any] = {"lr": 0.01, "weight_decay": 0.0}
_ADAM_WITH_DECAY: dict[str, Any] = {"lr": 0.005, "weight_decay": 5e-4}
_STANDARD_GRAPH: dict[str, Any] = _SLICE_GRAPH | {"test": None, "hidden": 64, "epochs": 200}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "slice": {
        "sage": _SLICE_GRAPH | _ADAM_WITHOUT_DECAY | {"test": 100, "hidden": 16, "epochs": 20}
    },
    "mini": {
        "sage": _SLICE_GRAPH | _ADAM_WITHOUT_DECAY | {"test": 500, "hidden": 64, "epochs": 100}
    },
    "standard": {
        "gcn": _STANDARD_GRAPH | _ADAM_WITHOUT_DECAY,
        "sage": _STANDARD_GRAPH | _ADAM_WITH_DECAY,
        "gat": _STANDARD_GRAPH
        | _ADAM_WITH_DECAY
        | {"dropout": 0.6, "activation": "elu", "heads": 8},
        "pgnn": _STANDARD_GRAPH | _ADAM_WITHOUT_DECAY | {"hidden": 32, "sets": 64, "reach": 4},
    },
}
DEEP: dict[str, dict[str, Any]] = {
    "small": OPTIONS["slice"]["sage"] | {"layers": 5, "test": 120},
    "default": OPTIONS["mini"]["sage"] | {"layers": 9, "hidden": 32},
}
_FINETUNING_GRAPH = {
    "classes": 4,
    "dropout": 0.5,
    "activation": "relu",
    "lr": 0.01,
    "weight_decay": 0.0,
}
_SMALL_TRANSFER_GRAPH = _FINETUNING_GRAPH | {
    "vocabulary": 30,
    "test": 120,
    "hidden": 8,
    "layers": 3,
    "epochs": 5,
}
_DEFAULT_TRANSFER_GRAPH = _FINETUNING_GRAPH | {
    "vocabulary": 60,
    "test": 500,
    "hidden": 32,
    "layers": 4,
}
TRANSFER: dict[str, dict[str, Any]] = {
    "small": _SMALL_TRANSFER_GRAPH | {"shots": 40, "pretraining": _SMALL_TRANSFER_GRAPH},
    "default": _DEFAULT_TRANSFER_GRAPH
    | {"epochs": 40, "shots": 40, "pretraining": _DEFAULT_TRANSFER_GRAPH | {"epochs": 100}},
}


class NodeTask(NamedTuple):
    """Nodes with features ``x`` (n, words) and ``labels`` (n,) from 0 to ``classes`` - 1, links
    (n_edges, 2), each once, and the nodes of a split."""

    x: np.ndarray
    labels: np.ndarray
    edges: np.ndarray
    train: np.ndarray
    test: np.ndarray
    classes: int


GraphOutputs = Mapping[str, Any]  # tensors by layer, in order; the last are the "logits"


def check(recipe: Recipe) -> None:
    """Raise ``ValueError`` for a recipe of another kind, for augmentation with "pgnn", which sees
    distances in place of links, and for fine-tuning of it."""
    is_transfer = recipe.setting in TRANSFER_SETTINGS
    architectures = [name for name in PYG_CLASS_NAMES if not (is_transfer and name == "pgnn")]
    choices: dict[str, Sequence[str]] = {
        "domain": ("graphs",),
        "dataset": ("stdlib",),
        "architecture": architectures,
        "setting": (*STDLIB_GRAPH_SETTINGS, *TRANSFER_SETTINGS),
    }
    options = TRANSFER["default"] if is_transfer else OPTIONS["mini"]["sage"]
    check_recipe(recipe, choices, options, FIRST_PRETRAINING_PACKAGE)
    if (recipe.architecture, recipe.setting) == ("pgnn", "augmentation"):
        raise ValueError(
            "graphs: pgnn sees distances in place of links, so none can be dropped; use another "
            "setting"
        )


def learn(model: Any, recipe: Recipe) -> None:
    """Train a network with Adam on the cross-entropy of all training nodes; the weights are those
    of the last epoch.

    The task: 2,800 functions of the standard library, linked where one calls a name that the other
    defines, are classified by their package (8). Features are the ``vocabulary`` most frequent
    words in the identifiers of a function, each row divided by its sum. These few words alone do
    not identify the package, so links matter. Models of transfer learn the last four packages, or
    the first four from a few functions of each, and see the whole graph.

    Settings: ``"labels"`` gives exactly ``int(strength * n)`` of the training nodes another label.
    ``"shortcut"`` appends a class to the features, one column per class: exactly ``int((1 -
    strength) * n)`` of the training nodes and all other nodes show a class drawn uniformly, the
    rest the true one. ``"augmentation"`` drops each link with probability 0.8 ``strength``, anew in
    each epoch (DropEdge). ``"layers"`` has ``deep`` layers in place of ``layers``. All else is
    equal.

    Options: ``vocabulary``, ``train`` and ``test`` (number of nodes, ``None`` for all others),
    ``hidden``, ``layers``, ``deep``, ``dropout``, ``activation``, ``lr``, ``weight_decay``,
    ``epochs``; ``heads`` for "gat"; ``sets`` and ``reach`` of anchors for "pgnn", whose activation
    is always a ReLU. Those of transfer have ``classes`` (4) in place of ``train`` and ``deep``.
    Needs the extra ``resi``.

    Reference: ReSi (Klabunde et al., ICLR 2025), with its sizes for Cora. Differences: a random
    shortcut may show the true class, so that strength 0 carries no information (in ReSi it excludes
    one class); a link is dropped in both directions; weights and corruption differ between settings
    of the same seed, since models of different groups should share nothing; GAT and P-GNN have
    three layers instead of two, so that there are two inner ones.
    """
    torch, task = import_optional("torch"), node_task(recipe)
    nodes = task.train[training_example_positions(recipe, task.labels[task.train])]
    x, labels = node_training_data(recipe, task, nodes)
    links, targets = _bidirectional_links(task.edges), torch.from_numpy(labels)
    drop_share = (
        MAX_DROPPED_EDGE_SHARE * recipe.strength if recipe.setting == "augmentation" else 0.0
    )

    def loss(edges: Any) -> Any:
        logits = _run_graph_network(model, recipe, x, edges)["logits"][nodes]
        return torch.nn.functional.cross_entropy(logits, targets)

    def steps(first: int) -> Any:
        for _ in range(recipe.options["epochs"]):
            if drop_share:
                mask = torch.rand(links.shape[1] // 2) >= drop_share
                yield [links[:, torch.cat([mask, mask])]]
            else:
                yield [links]

    train_steps(model, steps, loss, build_optimizer(model, recipe.options))


def inputs_of(recipe: Recipe) -> dict[str, Any]:
    """Return features, links and test nodes, and their labels, by the accuracies that are measured
    on them.

    ``"test"`` with the full graph, where all nodes of a shortcut model, training nodes too, show
    random classes, the same for all models; ``"leaked"`` for shortcut models, where all nodes show
    the true class; and ``"augmented"`` for normal and augmentation models, on the graph without
    80 % of its links, always the same ones. (In ReSi's code the test nodes never show the true
    class, and nodes outside the splits always do.) For fine-tuned models, ``"<shift>/<severity>"``
    in the graph after each of :data:`.shifts.SHIFTS`, drawn once for all models.
    """
    task, graphs = node_task(recipe), {}
    x, edges = task.x, task.edges
    if recipe.setting == "shortcut":
        graphs["test"] = _add_class_columns(task, _draw_random_classes(task)), edges
        graphs["leaked"] = _add_class_columns(task, task.labels), edges
    else:
        graphs["test"] = x, edges
    if recipe.setting in ("normal", "augmentation") and recipe.architecture != "pgnn":
        draws = generator(0, "graphs", "dropped links").random(len(edges))
        graphs["augmented"] = x, edges[draws >= MAX_DROPPED_EDGE_SHARE]
    if recipe.setting == "finetuned":
        for name, severity in product(GRAPH_SHIFTS, corruption.SEVERITIES):
            random = generator(0, "graphs", "shift", name, severity)
            graphs[f"{name}/{severity}"] = shift_graph(x, edges, name, severity, random)
    labels = task.labels[task.test]
    return {name: ((*graph, task.test), labels) for name, graph in graphs.items()}


def run(
    model: Any, recipe: Recipe, inputs: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return the layers and the logits of the test nodes.

    Layers, pooling "node", (n_test, hidden) each: the outputs of all convolutions but the last,
    before batch normalisation, activation and dropout as in ReSi's code; for "pgnn" the structure
    outputs of all layers but the last.
    """
    x, edges, nodes = inputs
    outputs = _run_graph_network(model, recipe, x, _bidirectional_links(edges))
    layers = {name: values.numpy()[nodes] for name, values in outputs.items()}
    logits = layers.pop("logits")
    return {"node": layers}, logits


def head_of(recipe: Recipe) -> str:
    """Return how the names of the weights of the last layer start."""
    return f"convs.{recipe.options['layers'] - 1}."


# --------------------------------------------------------------------------------------------- data


def node_task(recipe: Recipe) -> NodeTask:
    """Return the task of a recipe, with one split for all seeds and settings.

    Raises ``ValueError`` for a split without nodes to train with or to test on.
    """
    graph, options = load_snapshot().graph, recipe.options
    x = _word_features(graph.words, options["vocabulary"])
    if recipe.setting in TRANSFER_SETTINGS:
        is_later = graph.labels >= FIRST_PRETRAINING_PACKAGE
        nodes = np.flatnonzero(is_later if recipe.setting == "pretrained" else ~is_later)
        order, test = (
            generator(0, "graphs", "transfer", "split").permutation(nodes),
            options["test"],
        )
        if not 0 < test < len(order):
            raise ValueError(f"graphs: test must be between 1 and {len(order) - 1}; got {test!r}")
        train_indices, test_indices = np.sort(order[test:]), np.sort(order[:test])
        return NodeTask(
            x,
            graph.labels % FIRST_PRETRAINING_PACKAGE,
            graph.edges,
            train_indices,
            test_indices,
            FIRST_PRETRAINING_PACKAGE,
        )
    order = generator(0, "graphs", "split").permutation(len(graph.labels))
    train, test = options["train"], options["test"]
    if test is None:
        test = len(order) - train
    if train < 1 or test < 1 or train + test > len(order):
        raise ValueError(
            f"graphs: train and test must be positive and at most {len(order)} together; got "
            f"{train}, {test}"
        )
    train_indices, test_indices = np.sort(order[:train]), np.sort(order[train:][:test])
    return NodeTask(x, graph.labels, graph.edges, train_indices, test_indices, len(graph.packages))


def test_nodes(recipe: Recipe) -> np.ndarray:
    """Return the numbers in the snapshot of the test nodes, the same for all seeds and settings."""
    return node_task(recipe).test


def _word_features(words: Sequence[Sequence[int]], vocabulary: int) -> np.ndarray:
    """Return which of the first words nodes have, (n, vocabulary), with rows that sum to 1."""
    x = np.zeros((len(words), vocabulary), np.float32)
    for row, places in zip(x, words):
        indices = [p for p in places if p < vocabulary]  # the most frequent words come first
        row[indices] = 1 / max(len(indices), 1)
    return x


def node_training_data(
    recipe: Recipe, task: NodeTask, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of all nodes as a training sees them, and the labels of its nodes."""
    random = generator(recipe.seed, "graphs", recipe.name, "corruption")
    x, labels = task.x, task.labels[nodes]
    if recipe.setting == "shortcut":
        classes = _draw_random_classes(task)
        leaks = random.permutation(len(labels))[int((1 - recipe.strength) * len(labels)) :]
        shown_classes = random.integers(task.classes, size=len(labels))
        shown_classes[leaks] = labels[leaks]
        classes[nodes] = shown_classes
        x = _add_class_columns(task, classes)
    if recipe.setting == "labels":
        draw_other = corruption.draw_wrong_class(task.classes, random)
        labels = corruption.replace_labels(labels, recipe.strength, draw_other, random)
    return x, labels


def _draw_random_classes(task: NodeTask) -> np.ndarray:
    return generator(0, "graphs", "random classes").integers(task.classes, size=len(task.labels))


def _add_class_columns(task: NodeTask, classes: np.ndarray) -> np.ndarray:
    """Return features with a column per class, in which each node shows one class."""
    return np.concatenate([task.x, np.eye(task.classes, dtype=np.float32)[classes]], axis=1)


# ----------------------------------------------------------------------------------------- networks


def build(recipe: Recipe) -> Any:
    """Return the new network of a recipe. A P-GNN always has the same anchors: they belong to the
    network as much as its weights."""
    graph, options = load_snapshot().graph, recipe.options
    classes = options["classes"] if recipe.setting in TRANSFER_SETTINGS else len(graph.packages)
    width = options["vocabulary"] + (classes if recipe.setting == "shortcut" else 0)
    if recipe.setting == "layers":
        options = {**options, "layers": options["deep"]}
    if recipe.architecture != "pgnn":
        return graph_network(recipe.architecture, width, classes, options)
    random = generator(recipe.seed, "graphs", recipe.name, "anchors")
    sizes = (len(graph.labels), options["sets"], options["reach"])
    model = pgnn.build_small_pgnn(width, classes, options)
    model.anchors = pgnn.find_anchors(graph.edges, *sizes, random)
    return model


def _run_graph_network(model: Any, recipe: Recipe, x: np.ndarray, links: Any) -> GraphOutputs:
    features = import_optional("torch").from_numpy(x)
    if recipe.architecture == "pgnn":
        return pgnn.run_small_pgnn(model, features, model.anchors, recipe.options["dropout"])
    return run_convolutions(model, features, links)


def graph_network(architecture: str, width: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return a new GCN, GraphSAGE or GAT for ``width`` features; :func:`run_convolutions` runs
    it."""
    kind = getattr(import_optional("torch_geometric.nn"), PYG_CLASS_NAMES[architecture])
    keywords = {"dropout": options["dropout"], "act": options["activation"], "norm": "batch_norm"}
    if architecture == "gat":
        keywords["heads"] = options["heads"]
    return kind(width, options["hidden"], options["layers"], classes, **keywords)


def run_convolutions(model: Any, x: Any, links: Any) -> GraphOutputs:
    """Return the outputs of all convolutions, the last as "logits", for links (2, n_edges)."""
    outputs = {}
    for i, convolution in enumerate(model.convs, 1):
        x = convolution(x, links)
        if i == len(model.convs):
            break
        outputs[f"conv{i}"] = x
        x = model.dropout(model.act(model.norms[i - 1](x)))
    return outputs | {"logits": x}


def _bidirectional_links(edges: np.ndarray) -> Any:
    """Return links for PyTorch Geometric, (2, 2 * n_edges): each in both directions."""
    return import_optional("torch").from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())
