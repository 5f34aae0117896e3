"""Graph networks that classify functions of the standard library, on plain or corrupted data.

Fine-tuned networks start from networks pretrained on other packages. Models fine-tuned from the
same weights agree on the original graph and differ on a rewired graph. The benchmark of Ding et al.
(NeurIPS 2021) tests whether representations show such differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
PYG_CLASS_NAMES = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "pgnn": "P-GNN"}
MAX_DROPPED_EDGE_SHARE = 0.8  # share of edges that an augmentation of strength 1 drops
# Packages below this number are for fine-tuning, all other packages for pretraining.
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
    "demo": {
        "sage": _SLICE_GRAPH | _ADAM_WITHOUT_DECAY | {"test": 250, "hidden": 64, "epochs": 50}
    },
    "standard": {
        "gcn": _STANDARD_GRAPH | _ADAM_WITHOUT_DECAY,
        "sage": _STANDARD_GRAPH | _ADAM_WITH_DECAY,
        "gat": _STANDARD_GRAPH
        | _ADAM_WITH_DECAY
        | {"dropout": 0.6, "activation": "elu", "heads": 8},
        "pgnn": _STANDARD_GRAPH | _ADAM_WITHOUT_DECAY | {"hidden": 32},
    },
}
OPTIONS["architectures"] = {
    name: options | {"test": 250} for name, options in OPTIONS["standard"].items()
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
    """A node classification task on a graph.

    ``x``: features (n, words). ``labels``: (n,), from 0 to ``classes`` - 1. ``edges``: links
    (n_edges, 2) without repetitions. ``train``, ``test``: the indices of the training and test
    nodes.
    """

    x: np.ndarray
    labels: np.ndarray
    edges: np.ndarray
    train: np.ndarray
    test: np.ndarray
    classes: int


GraphOutputs = Mapping[str, Any]  # tensors by layer, in order, "logits" last


def check(recipe: Recipe) -> None:
    """Raise ``ValueError`` for an invalid recipe, for augmentation of "pgnn", because a P-GNN takes
    distances instead of links, and for fine-tuning of "pgnn"."""
    is_transfer = recipe.setting in TRANSFER_SETTINGS
    architectures = [name for name in PYG_CLASS_NAMES if not (is_transfer and name == "pgnn")]
    options = TRANSFER["default"] if is_transfer else OPTIONS["mini"]["sage"]
    check_recipe(recipe, options, FIRST_PRETRAINING_PACKAGE, architectures)
    if (recipe.architecture, recipe.setting) == ("pgnn", "augmentation"):
        raise ValueError(
            "graphs: pgnn sees distances in place of links, so none can be dropped; use another "
            "setting"
        )


def learn(model: Any, recipe: Recipe) -> None:
    """Train a network with Adam on the cross-entropy of all training nodes; keep the weights of the
    last epoch.

    The task: classify 2,800 functions of the standard library by package (8 classes). Two functions
    are linked if one function calls a name that the other function defines. The features mark which
    of the ``vocabulary`` most frequent words occur in the identifiers of a function, with each row
    divided by its sum. These few words alone do not identify the package, so links matter.
    Pretrained models learn the last four packages, fine-tuned models the first four from a few
    functions per package; both see the whole graph.

    Settings: ``"labels"`` gives exactly ``int(strength * n)`` of the training nodes a wrong label.
    ``"shortcut"`` appends a one-hot class to the features, one column per class: exactly
    ``int((1 - strength) * n)`` of the training nodes and all other nodes show a class drawn
    uniformly, the remaining training nodes the true class. ``"augmentation"`` drops every link with
    probability 0.8 ``strength``, independently in every epoch (DropEdge). ``"layers"`` has ``deep``
    layers instead of ``layers``. Everything else is equal.

    Options: ``vocabulary``, ``train`` and ``test`` (number of nodes, ``None`` for all remaining
    nodes), ``hidden``, ``layers``, ``deep``, ``dropout``, ``activation``, ``lr``, ``weight_decay``,
    ``epochs``; ``heads`` for "gat". "pgnn" always has the ReLU as activation; see
    :func:`.pgnn.run_pgnn`. Transfer recipes have ``classes`` (4) instead of ``train`` and ``deep``.
    Needs the extra ``resi``.

    Reference: ReSi (Klabunde et al., ICLR 2025), with the network sizes for Cora. Differences: a
    random shortcut may show the true class, so strength 0 carries no information (ReSi excludes one
    class); a dropped link is dropped in both directions; weights and corruption differ between
    settings of the same seed, because models of different groups should share nothing; GAT and
    P-GNN have three layers instead of two, to get two inner layers.
    """
    torch, task = import_optional("torch"), node_task(recipe)
    nodes = task.train[training_example_positions(recipe, task.labels[task.train])]
    x, labels = node_training_data(recipe, task, nodes)
    links, targets = _bidirectional_links(task.edges), torch.from_numpy(labels)
    drop_share = (
        MAX_DROPPED_EDGE_SHARE * recipe.strength if recipe.setting == "augmentation" else 0.0
    )

    run = _graph_runner(model, recipe, x, nodes)

    def loss(edges: Any) -> Any:
        return torch.nn.functional.cross_entropy(run(edges)["logits"], targets)

    def steps(first: int) -> Any:
        for _ in range(recipe.options["epochs"]):
            if drop_share:
                mask = torch.rand(links.shape[1] // 2) >= drop_share
                yield [links[:, torch.cat([mask, mask])]]
            else:
                yield [links]

    train_steps(model, steps, loss, build_optimizer(model, recipe.options))


def inputs_of(recipe: Recipe) -> dict[str, Any]:
    """Return the evaluation inputs by accuracy name, each as ((features, links, test nodes), labels
    of the test nodes).

    ``"test"``: the full graph; with shortcuts all nodes, including training nodes, show random
    classes, the same for all models. ``"leaked"``, for shortcut models: all nodes show the true
    class. ``"augmented"``, for normal and augmentation models: the graph without 80 % of the links;
    the dropped links are always the same. (In ReSi's code test nodes never show the true class, and
    nodes outside the splits always show the true class.) ``"<shift>/<severity>"``, for fine-tuned
    models: the graph after every shift in :data:`.shifts.GRAPH_SHIFTS`, drawn once for all models.
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
    """Return the layers, by pooling and name, and the logits (n_test, classes) of the test nodes.

    ``model``: a trained network in evaluation mode. ``inputs``: features (n, d), links (n_edges, 2)
    and test nodes (n_test,). Layers have the pooling "node" and shape (n_test, hidden): the outputs
    of all convolutions except the last, before batch normalisation, activation and dropout, as in
    ReSi's code; for "pgnn" the structure outputs of all layers except the last.
    """
    x, edges, nodes = inputs
    outputs = dict(_graph_runner(model, recipe, x, nodes)(_bidirectional_links(edges)))
    logits = outputs.pop("logits").numpy()
    return {"node": {name: values.numpy()[nodes] for name, values in outputs.items()}}, logits


def head_of(recipe: Recipe) -> str:
    """Return the prefix of the weight names of the last layer."""
    return f"convs.{recipe.options['layers'] - 1}."


# --------------------------------------------------------------------------------------------- data


def node_task(recipe: Recipe) -> NodeTask:
    """Return the task of a recipe. The split is the same for all seeds and settings without
    transfer; pretraining and fine-tuning have their own splits.

    Raises ``ValueError`` for a split without training nodes or without test nodes.
    """
    graph, options = load_snapshot().graph, recipe.options
    x = _word_features(graph.words, options["vocabulary"])
    if recipe.setting in TRANSFER_SETTINGS:
        is_later = graph.labels >= FIRST_PRETRAINING_PACKAGE
        nodes = np.flatnonzero(is_later if recipe.setting == "pretrained" else ~is_later)
        order = generator(0, "graphs", "transfer", "split").permutation(nodes)
        test = options["test"]
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
    """Return the indices of the test nodes in the snapshot, (n_test,), the same for all seeds and
    for all settings without transfer."""
    return node_task(recipe).test


def _word_features(words: Sequence[Sequence[int]], vocabulary: int) -> np.ndarray:
    """Return word features (n, vocabulary): equal entries for the frequent words of a node, with
    row sum 1; zeros for a node without frequent words.

    ``words``: for every node, indices of words, where the most frequent word of all nodes is 0.
    ``vocabulary``: the number of frequent words.
    """
    x = np.zeros((len(words), vocabulary), np.float32)
    for row, places in zip(x, words):
        indices = [p for p in places if p < vocabulary]  # the most frequent words come first
        row[indices] = 1 / max(len(indices), 1)
    return x


def node_training_data(
    recipe: Recipe, task: NodeTask, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features (n, d) of all nodes and the labels (m,) of the training nodes ``nodes``
    (m indices), after the corruption of the recipe."""
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
    """Return the features of the task with a one-hot column per class for the class that every node
    shows. ``classes``: the shown classes, (n,)."""
    return np.concatenate([task.x, np.eye(task.classes, dtype=np.float32)[classes]], axis=1)


# ----------------------------------------------------------------------------------------- networks


def build(recipe: Recipe) -> Any:
    """Return the untrained network of a recipe.

    PyTorch's random state decides on the weights. The recipe alone decides on the anchors of a
    P-GNN.
    """
    graph, options = load_snapshot().graph, recipe.options
    classes = options["classes"] if recipe.setting in TRANSFER_SETTINGS else len(graph.packages)
    width = options["vocabulary"] + (classes if recipe.setting == "shortcut" else 0)
    if recipe.setting == "layers":
        options = {**options, "layers": options["deep"]}
    if recipe.architecture != "pgnn":
        return graph_network(recipe.architecture, width, classes, options)
    random = generator(recipe.seed, "graphs", recipe.name, "anchors")
    model = pgnn.build_pgnn(width, len(graph.labels), classes, options)
    model.anchors = pgnn.draw_anchors(graph.edges.T, len(graph.labels), random)
    return model


def _graph_runner(
    model: Any, recipe: Recipe, x: np.ndarray, nodes: np.ndarray
) -> Callable[[Any], GraphOutputs]:
    """Return a function that maps links (2, n_links) to the outputs of all layers for all nodes,
    and the logits of ``nodes``. ``x``: the features (n, d). A P-GNN ignores the links."""
    features = import_optional("torch").from_numpy(x)
    if recipe.architecture == "pgnn":
        plan = pgnn.plan_messages(model.anchors, nodes, len(model["convs"]), "cpu")
        return lambda links: pgnn.run_pgnn(model, features, plan, recipe.options["dropout"])

    def run(links: Any) -> GraphOutputs:
        outputs = run_convolutions(model, features, links)
        return {**outputs, "logits": outputs["logits"][nodes]}

    return run


def graph_network(architecture: str, width: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return an untrained "gcn", "sage" or "gat" for ``width`` features per node and ``classes``
    classes; :func:`run_convolutions` runs the network.

    ``options``: dropout, activation, hidden (units), layers; heads for "gat".
    """
    kind = getattr(import_optional("torch_geometric.nn"), PYG_CLASS_NAMES[architecture])
    keywords = {"dropout": options["dropout"], "act": options["activation"], "norm": "batch_norm"}
    if architecture == "gat":
        keywords["heads"] = options["heads"]
    return kind(width, options["hidden"], options["layers"], classes, **keywords)


def run_convolutions(model: Any, x: Any, links: Any) -> GraphOutputs:
    """Return the outputs of all convolutions for features ``x`` (n, d) and links (2, n_links):
    "conv1", ..., and the last output as "logits"."""
    outputs = {}
    for i, convolution in enumerate(model.convs, 1):
        x = convolution(x, links)
        if i == len(model.convs):
            break
        outputs[f"conv{i}"] = x
        x = model.dropout(model.act(model.norms[i - 1](x)))
    return outputs | {"logits": x}


def _bidirectional_links(edges: np.ndarray) -> Any:
    """Return links (n_edges, 2) in both directions as a tensor for PyTorch Geometric, (2, 2 *
    n_edges): first all links as given, then all reversed links."""
    return import_optional("torch").from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())
