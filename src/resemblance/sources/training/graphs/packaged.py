"""Graph networks that classify functions of the standard library, on plain or corrupted data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....extras import need
from ....rng import generator
from ....subject import Extraction, Recipe
from ..common import State, accuracy, load_state, seeded, state_of, wrong_labels
from ..snapshot import load_snapshot
from . import pgnn as _pgnn

VERSION = 1
SETTINGS = ("normal", "layers", "labels", "shortcut", "augmentation")
DROPPED = 0.8  # share of the edges that the strongest augmentation drops
ARCHITECTURES = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "pgnn": "P-GNN"}

_TASK: dict[str, Any] = {"vocabulary": 30, "train": 600, "test": None}
_PAPER: dict[str, Any] = {"hidden": 64, "layers": 3, "deep": 6}
_PAPER |= {"dropout": 0.5, "activation": "relu"}
_ADAM: dict[str, Any] = {"lr": 0.01, "weight_decay": 0.0, "epochs": 200}
_DECAY: dict[str, Any] = {"lr": 0.005, "weight_decay": 5e-4, "epochs": 200}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "slice": {"sage": _TASK | _PAPER | _ADAM | {"test": 100, "hidden": 16, "epochs": 20}},
    "mini": {"sage": _TASK | _PAPER | _ADAM | {"test": 500, "epochs": 100}},
    "standard": {
        "gcn": _TASK | _PAPER | _ADAM,
        "sage": _TASK | _PAPER | _DECAY,
        "gat": _TASK | _PAPER | _DECAY | {"dropout": 0.6, "activation": "elu", "heads": 8},
        "pgnn": _TASK | _PAPER | _ADAM | {"hidden": 32, "sets": 64, "reach": 4},
    },
}
DEEP: dict[str, dict[str, Any]] = {  # one architecture with many layers, by size
    "small": OPTIONS["slice"]["sage"] | {"layers": 5, "test": 120},
    "default": OPTIONS["mini"]["sage"] | {"layers": 9, "hidden": 32},
}


class NodeTask(NamedTuple):
    """Nodes with features ``x`` (n, words) and ``labels`` (n,), links (n_edges, 2), and a split."""

    x: np.ndarray
    labels: np.ndarray
    edges: np.ndarray
    train: np.ndarray
    test: np.ndarray
    classes: int


class GraphInputs(NamedTuple):
    """The input of a network: features of all nodes, and undirected links, each once."""

    x: np.ndarray
    edges: np.ndarray


Outputs = Mapping[str, Any]  # tensors by layer, in order; the last are the "logits"
Network = tuple[Any, Callable[[np.ndarray, Any], Outputs]]  # and what runs it on features and links


def fit(recipe: Recipe) -> State:
    """Train one network and return its weights.

    The task: 2,800 functions of the standard library, linked where one calls a name that the other
    defines, are classified by their package (8). Features are the ``vocabulary`` most frequent
    words in the identifiers of a function, each row divided by its sum. These few words alone do
    not identify the package, so links matter.

    Settings: ``"labels"`` gives exactly ``int(strength * n)`` of the training nodes another label.
    ``"shortcut"`` appends a class to the features, one column per class: exactly ``int((1 -
    strength) * n)`` of the training nodes and all other nodes show a class drawn uniformly, the
    rest the true one. ``"augmentation"`` drops each link with probability 0.8 ``strength``, anew in
    each epoch (DropEdge). ``"layers"`` has ``deep`` layers in place of ``layers``. All else is
    equal: Adam on the cross-entropy of all training nodes, and the weights of the last epoch.

    Options: ``vocabulary``, ``train`` and ``test`` (number of nodes, ``None`` for all others),
    ``hidden``, ``layers``, ``deep``, ``dropout``, ``activation``, ``lr``, ``weight_decay``,
    ``epochs``; ``heads`` for "gat"; ``sets`` and ``reach`` of anchors for "pgnn", whose activation
    is always a ReLU.

    Reference: ReSi (Klabunde et al., ICLR 2025), with its sizes for Cora. Differences: a random
    shortcut may show the true class, so that strength 0 carries no information (in ReSi it excludes
    one class); a link is dropped in both directions; weights and corruption differ between settings
    of the same seed, since models of different groups should share nothing; GAT and P-GNN have
    three layers instead of two, so that there are two inner ones.

    Raises ``ValueError`` for an unknown architecture or setting, for augmentation with "pgnn",
    which sees distances in place of links, and for a split without nodes to train with or to test
    on.
    """
    data = _task(recipe)
    inputs, labels = _training_inputs(recipe, data)
    with seeded(recipe.seed, "graphs", recipe.name) as torch:
        model, run = _build(recipe, inputs)
        options = recipe.options
        dropped = DROPPED * recipe.strength if recipe.setting == "augmentation" else 0.0

        def logits(links: Any) -> Any:
            return run(inputs.x, links)["logits"][data.train]

        learn(torch, model, logits, both_ways(torch, inputs.edges), labels, options, dropped)
    return state_of(model)


def extract(recipe: Recipe, state: State) -> Extraction:
    """Return the outputs of a trained network and of its layers for the test nodes.

    Layers, pooling "node", (n_test, hidden) each: the outputs of all convolutions but the last,
    before batch normalisation, activation and dropout as in ReSi's code; for "pgnn" the structure
    outputs of all layers but the last.

    Accuracies on the test nodes: ``"test"`` with the full graph, where all nodes of a shortcut
    model, training nodes too, show random classes, the same for all models; ``"leaked"`` for
    shortcut models, where all nodes show the true class; and ``"augmented"`` for normal and
    augmentation models, on the graph without 80 % of its links, always the same ones. (In ReSi's
    code the test nodes never show the true class, and nodes outside the splits always do.)

    Raises ``ValueError`` as :func:`fit` does.
    """
    data = _task(recipe)
    inputs = _test_inputs(recipe, data)
    with seeded(recipe.seed, "graphs", recipe.name, "extract") as torch, torch.no_grad():
        model, run = _build(recipe, inputs["test"])
        load_state(model, state)
        results = {name: run(x, both_ways(torch, edges)) for name, (x, edges) in inputs.items()}
    labels = data.labels[data.test]
    logits = {name: outputs["logits"].numpy()[data.test] for name, outputs in results.items()}
    accuracies = {name: accuracy(values, labels) for name, values in logits.items()}
    layers = {name: values.numpy()[data.test] for name, values in results["test"].items()}
    del layers["logits"]
    return Extraction({"node": layers}, logits["test"], labels, accuracies)


def test_nodes(recipe: Recipe) -> np.ndarray:
    """Return the numbers in the snapshot of the test nodes, the same for all seeds and settings."""
    return _task(recipe).test


# --------------------------------------------------------------------------------------------- data


def _task(recipe: Recipe) -> NodeTask:
    """Return the task of a valid recipe, with one split for all seeds and settings."""
    _check(recipe)
    graph, options = load_snapshot().graph, recipe.options
    order = generator(0, "graphs", "split").permutation(len(graph.labels))
    train, test = options["train"], options["test"]
    if test is None:
        test = len(order) - train
    if train < 1 or test < 1 or train + test > len(order):
        raise ValueError(
            f"graphs: train and test must be positive and at most {len(order)} together; got "
            f"{train}, {test}"
        )
    x = features(graph.words, options["vocabulary"])
    nodes = (np.sort(order[:train]), np.sort(order[train:][:test]))
    return NodeTask(x, graph.labels, graph.edges, *nodes, len(graph.packages))


def _check(recipe: Recipe) -> None:
    if recipe.architecture not in ARCHITECTURES:
        raise ValueError(
            f"graphs: architecture must be one of {list(ARCHITECTURES)}; got "
            f"{recipe.architecture!r}"
        )
    if recipe.setting not in SETTINGS:
        raise ValueError(f"graphs: setting must be one of {SETTINGS}; got {recipe.setting!r}")
    if (recipe.architecture, recipe.setting) == ("pgnn", "augmentation"):
        raise ValueError(
            "graphs: pgnn sees distances in place of links, so none can be dropped; use another "
            "setting"
        )


def features(words: tuple[tuple[int, ...], ...], vocabulary: int) -> np.ndarray:
    """Return which of the first words nodes have, (n, vocabulary), with rows that sum to 1."""
    x = np.zeros((len(words), vocabulary), np.float32)
    for row, places in zip(x, words):
        frequent = [p for p in places if p < vocabulary]  # the most frequent words come first
        row[frequent] = 1 / max(len(frequent), 1)
    return x


def _training_inputs(recipe: Recipe, data: NodeTask) -> tuple[GraphInputs, np.ndarray]:
    """Return the input of a network during training, and the labels of the training nodes."""
    random = generator(recipe.seed, "graphs", recipe.name, "corruption")
    x, labels = data.x, data.labels[data.train]
    if recipe.setting == "shortcut":
        hints = _random_classes(data)
        leaks = random.permutation(len(labels))[int((1 - recipe.strength) * len(labels)) :]
        training_hints = random.integers(data.classes, size=len(labels))
        training_hints[leaks] = labels[leaks]
        hints[data.train] = training_hints
        x = _with_hints(x, hints, data.classes)
    if recipe.setting == "labels":
        labels = wrong_labels(labels, recipe.strength, data.classes, random)
    return GraphInputs(x, data.edges), labels


def _test_inputs(recipe: Recipe, data: NodeTask) -> dict[str, GraphInputs]:
    """Return the inputs of a network after training, by the name of the accuracy on them."""
    x, edges = data.x, data.edges
    if recipe.setting == "shortcut":
        random_hints = _with_hints(x, _random_classes(data), data.classes)
        true_hints = _with_hints(x, data.labels, data.classes)
        return {"test": GraphInputs(random_hints, edges), "leaked": GraphInputs(true_hints, edges)}
    inputs = {"test": GraphInputs(x, edges)}
    if recipe.setting in ("normal", "augmentation") and recipe.architecture != "pgnn":
        draws = generator(0, "graphs", "dropped links").random(len(edges))
        inputs["augmented"] = GraphInputs(x, edges[draws >= DROPPED])
    return inputs


def _random_classes(data: NodeTask) -> np.ndarray:
    """Return a random class for each node, the same for all models."""
    return generator(0, "graphs", "random classes").integers(data.classes, size=len(data.labels))


def _with_hints(x: np.ndarray, hints: np.ndarray, classes: int) -> np.ndarray:
    """Return features with a column per class, in which each node shows one class."""
    return np.concatenate([x, np.eye(classes, dtype=np.float32)[hints]], axis=1)


# ----------------------------------------------------------------------------------------- networks


def _build(recipe: Recipe, inputs: GraphInputs) -> Network:
    """Return a new network, and the function that runs it on features and links (2, n_edges)."""
    depth = recipe.options["deep" if recipe.setting == "layers" else "layers"]
    options = dict(recipe.options) | {"layers": depth}
    classes = len(load_snapshot().graph.packages)
    if recipe.architecture == "pgnn":
        return _build_pgnn(recipe, inputs, classes, options)
    model = build(recipe.architecture, inputs.x.shape[1], classes, options)
    return model, lambda x, links: run_layers(model, need("torch").from_numpy(x), links)


def _build_pgnn(
    recipe: Recipe, inputs: GraphInputs, classes: int, options: Mapping[str, Any]
) -> Network:
    # A recipe always has the same anchors: they belong to the network as much as its weights
    random = generator(recipe.seed, "graphs", recipe.name, "anchors")
    sizes = (len(inputs.x), options["sets"], options["reach"])
    anchors = _pgnn.find_anchors(inputs.edges, *sizes, random)
    model = _pgnn.build(inputs.x.shape[1], classes, options)

    def run(x: np.ndarray, links: Any) -> Outputs:
        return _pgnn.forward(model, need("torch").from_numpy(x), anchors, options["dropout"])

    return model, run


def build(architecture: str, width: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return a new GCN, GraphSAGE or GAT for ``width`` features; :func:`run_layers` runs it."""
    network = getattr(need("torch_geometric.nn"), ARCHITECTURES[architecture])
    named = {"dropout": options["dropout"], "act": options["activation"], "norm": "batch_norm"}
    if architecture == "gat":
        named["heads"] = options["heads"]
    return network(width, options["hidden"], options["layers"], classes, **named)


def run_layers(model: Any, x: Any, links: Any) -> Outputs:
    """Return the outputs of all convolutions, the last as "logits", for links (2, n_edges)."""
    outputs = {}
    for i, convolution in enumerate(model.convs, 1):
        x = convolution(x, links)
        if i == len(model.convs):
            break
        outputs[f"conv{i}"] = x
        x = model.dropout(model.act(model.norms[i - 1](x)))
    return outputs | {"logits": x}


def learn(
    torch: Any,
    model: Any,
    logits: Callable[[Any], Any],
    links: Any,
    labels: np.ndarray,
    options: Mapping[str, Any],
    dropped: float = 0.0,
) -> None:
    """Train a network with Adam on the cross-entropy of the nodes whose logits are given.

    ``logits(links)`` returns them for links, which come from :func:`both_ways`. Each link is
    dropped, both ways, with probability ``dropped``, anew in each epoch. ``options``: lr,
    weight_decay, epochs.
    """
    target = torch.from_numpy(labels)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=options["lr"], weight_decay=options["weight_decay"]
    )
    model.train()
    for _ in range(options["epochs"]):
        remaining = links
        if dropped:
            stays = torch.rand(links.shape[1] // 2) >= dropped
            remaining = links[:, torch.cat([stays, stays])]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits(remaining), target).backward()
        optimizer.step()


def both_ways(torch: Any, edges: np.ndarray) -> Any:
    """Return links for PyTorch Geometric, (2, 2 * n_edges): each in both directions."""
    return torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())
