"""Graph neural networks that tell the package of a function of the standard library, plainly or on
corrupted data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....extras import need
from ....rng import generator
from ....subject import Extraction, Recipe
from ..common import State, accuracy, load_state, seeded, state_of, wrong_labels
from ..snapshot import load_snapshot
from . import models as _pgnn

VERSION = 1
SETTINGS = ("normal", "layers", "labels", "shortcut", "augmentation")
DROPPED = 0.8  # share of the edges that the strongest augmentation drops
ARCHITECTURES = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "pgnn": "P-GNN"}

_TASK: dict[str, Any] = {"vocabulary": 30, "train": 600, "test": None}
_PAPER: dict[str, Any] = {
    "hidden": 64,
    "layers": 3,
    "deep": 6,
    "dropout": 0.5,
    "activation": "relu",
}
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


class Task(NamedTuple):
    """Nodes with features ``x`` (n, words) and ``labels`` (n,), links (n_edges, 2), and the nodes
    of both splits."""

    x: np.ndarray
    labels: np.ndarray
    edges: np.ndarray
    train: np.ndarray
    test: np.ndarray
    classes: int


class Inputs(NamedTuple):
    """What a network sees: features of all nodes, and undirected links, each once."""

    x: np.ndarray
    edges: np.ndarray


Outputs = Mapping[
    str, Any
]  # tensors by layer, in the order of the network; the last are the "logits"


def fit(recipe: Recipe) -> State:
    """Train one network and return its weights.

    The task: 2,800 functions of the standard library, linked where one calls a name that the other
    defines, are sorted by the package they are from (8). Features are the ``vocabulary`` most
    frequent words that the identifiers of a function hold, each row divided by its sum. These few
    words alone do not tell the packages, so links matter.

    Settings: ``"labels"`` gives exactly ``int(strength * n)`` of the training nodes another label.
    ``"shortcut"`` appends a class to the features, one column per class: of the training nodes
    exactly ``int((1 - strength) * n)`` and all other nodes show a class drawn uniformly, the rest
    their own. ``"augmentation"`` drops each link with probability 0.8 ``strength``, anew in every
    epoch (DropEdge). ``"layers"`` has ``deep`` layers in place of ``layers``. All else is equal:
    Adam on the cross-entropy of all training nodes, and the weights of the last epoch.

    Options: ``vocabulary``, ``train`` and ``test`` (number of nodes, ``None`` for all others),
    ``hidden``, ``layers``, ``deep``, ``dropout``, ``activation``, ``lr``, ``weight_decay``,
    ``epochs``; ``heads`` for "gat"; ``sets`` and ``reach`` of anchors for "pgnn", whose activation
    is always a ReLU.

    Reference: ReSi (Klabunde et al., ICLR 2025), with the sizes it has for Cora. Differences: a
    random shortcut may show the true class, so that strength 0 says nothing (there it says which
    class it is not); a dropped link is dropped in both directions; weights and corruption differ
    between settings of the same seed, since models of different groups should share nothing; GAT
    and P-GNN have three layers, not two, to have two inner ones.

    Raises ``ValueError`` for an unknown architecture or setting, for augmentation with "pgnn",
    which sees distances in place of links, and for a split that leaves no node to train with or to
    test on.
    """
    data = _task(recipe)
    inputs, labels = _training_inputs(recipe, data)
    with seeded(recipe.seed, "graphs", recipe.name) as torch:
        model, run = _build(recipe, inputs)
        options = recipe.options
        dropped = DROPPED * recipe.strength if recipe.setting == "augmentation" else 0.0
        seen = both_ways(torch, inputs.edges)
        learn(
            torch,
            model,
            lambda links: run(inputs.x, links)["logits"][data.train],
            seen,
            labels,
            options,
            dropped,
        )
    return state_of(model)


def extract(recipe: Recipe, state: State) -> Extraction:
    """Return what a trained network makes of the test nodes.

    Layers, pooling "node", (n_test, hidden) each: the outputs of all convolutions but the last,
    before batch normalisation, activation and dropout as in ReSi's code; of "pgnn" the structure
    outputs of all layers but the last.

    Accuracies on the test nodes: ``"test"`` with the full graph, where all nodes of a shortcut
    model, training nodes too, show random classes, the same for all models; ``"leaked"`` of
    shortcut models, where all show their own; and ``"augmented"`` of normal and augmentation
    models, on the graph without 80 % of its links, always the same ones. (In ReSi's code the test
    nodes never show their own class, and nodes outside the splits always do.)

    Raises ``ValueError`` as :func:`fit` does.
    """
    data = _task(recipe)
    inputs = _test_inputs(recipe, data)
    with seeded(recipe.seed, "graphs", recipe.name, "extract") as torch, torch.no_grad():
        model, run = _build(recipe, inputs["test"])
        load_state(model, state)
        seen = {name: run(x, both_ways(torch, edges)) for name, (x, edges) in inputs.items()}
    labels = data.labels[data.test]
    accuracies = {
        name: accuracy(outputs["logits"].numpy()[data.test], labels)
        for name, outputs in seen.items()
    }
    layers = {name: values.numpy()[data.test] for name, values in seen["test"].items()}
    logits = layers.pop("logits")
    return Extraction({"node": layers}, logits, labels, accuracies)


def test_nodes(recipe: Recipe) -> np.ndarray:
    """Return which functions of the snapshot the rows of an extraction are, the same for all seeds
    and settings."""
    return _task(recipe).test


# --------------------------------------------------------------------------------------------- data


def _task(recipe: Recipe) -> Task:
    """The task of a recipe that is known to make sense; its split is the same for all seeds and
    settings."""
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
    return Task(
        x,
        graph.labels,
        graph.edges,
        np.sort(order[:train]),
        np.sort(order[train:][:test]),
        len(graph.packages),
    )


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
    """Return what nodes hold of the first ``vocabulary`` words, (n, vocabulary), each row divided
    by its sum."""
    x = np.zeros((len(words), vocabulary), np.float32)
    for row, places in zip(x, words):
        known = [
            place for place in places if place < vocabulary
        ]  # a vocabulary starts with its most frequent words
        row[known] = 1 / max(len(known), 1)
    return x


def _training_inputs(recipe: Recipe, data: Task) -> tuple[Inputs, np.ndarray]:
    """What a network sees during training, and the labels of the training nodes."""
    random = generator(recipe.seed, "graphs", recipe.name, "corruption")
    x, labels = data.x, data.labels[data.train]
    if recipe.setting == "shortcut":
        shown = _random_classes(data)
        leaks = random.permutation(len(labels))[int((1 - recipe.strength) * len(labels)) :]
        classes = random.integers(data.classes, size=len(labels))
        classes[leaks] = labels[leaks]
        shown[data.train] = classes
        x = _with_classes(x, shown, data.classes)
    if recipe.setting == "labels":
        labels = wrong_labels(labels, recipe.strength, data.classes, random)
    return Inputs(x, data.edges), labels


def _test_inputs(recipe: Recipe, data: Task) -> dict[str, Inputs]:
    """What a network sees after training, by the name of the accuracy that is measured on it."""
    x, edges = data.x, data.edges
    if recipe.setting == "shortcut":
        shown = {"test": _random_classes(data), "leaked": data.labels}
        return {
            name: Inputs(_with_classes(x, classes, data.classes), edges)
            for name, classes in shown.items()
        }
    inputs = {"test": Inputs(x, edges)}
    if recipe.setting in ("normal", "augmentation") and recipe.architecture != "pgnn":
        kept = generator(0, "graphs", "dropped links").random(len(edges)) >= DROPPED
        inputs["augmented"] = Inputs(x, edges[kept])
    return inputs


def _random_classes(data: Task) -> np.ndarray:
    """A class for every node that says nothing about it, the same for all models."""
    return generator(0, "graphs", "random classes").integers(data.classes, size=len(data.labels))


def _with_classes(x: np.ndarray, shown: np.ndarray, classes: int) -> np.ndarray:
    return np.concatenate([x, np.eye(classes, dtype=np.float32)[shown]], axis=1)


# ----------------------------------------------------------------------------------------- networks


def _build(recipe: Recipe, inputs: Inputs) -> tuple[Any, Callable[[np.ndarray, Any], Outputs]]:
    """A freshly initialised network, and the function that runs it on features (n, d) and links (2,
    n_edges)."""
    options = dict(recipe.options) | {
        "layers": recipe.options["deep" if recipe.setting == "layers" else "layers"]
    }
    classes = len(load_snapshot().graph.packages)
    if recipe.architecture == "pgnn":
        # The same anchors whenever the recipe is run: they are part of the network as much as its
        # weights.
        random = generator(recipe.seed, "graphs", recipe.name, "anchors")
        anchors = _pgnn.find_anchors(
            inputs.edges, len(inputs.x), options["sets"], options["reach"], random
        )
        model = _pgnn.build(inputs.x.shape[1], classes, options)
        return model, lambda x, links: _pgnn.forward(
            model, need("torch").from_numpy(x), anchors, options["dropout"]
        )
    model = build(recipe.architecture, inputs.x.shape[1], classes, options)
    return model, lambda x, links: run_layers(model, need("torch").from_numpy(x), links)


def build(architecture: str, width: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return a freshly initialised GCN, GraphSAGE or GAT for ``width`` features; :func:`run_layers`
    runs it."""
    return getattr(need("torch_geometric.nn"), ARCHITECTURES[architecture])(
        width,
        options["hidden"],
        options["layers"],
        classes,
        dropout=options["dropout"],
        act=options["activation"],
        norm="batch_norm",
        **({"heads": options["heads"]} if architecture == "gat" else {}),
    )


def run_layers(model: Any, x: Any, links: Any) -> Outputs:
    """Return the outputs of all convolutions on features (n, d) and links (2, n_edges), the last as
    "logits"."""
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
    """Train a network with Adam on the cross-entropy of all nodes of which ``logits(links)`` gives
    the logits.

    Each link is left out, both ways, with probability ``dropped``, anew in every epoch. ``links``:
    see
    :func:`both_ways`. ``options``: lr, weight_decay, epochs.
    """
    target = torch.from_numpy(labels)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=options["lr"], weight_decay=options["weight_decay"]
    )
    model.train()
    for _ in range(options["epochs"]):
        seen = links
        if dropped:
            kept = torch.rand(links.shape[1] // 2) >= dropped
            seen = links[:, torch.cat([kept, kept])]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits(seen), target).backward()
        optimizer.step()


def both_ways(torch: Any, edges: np.ndarray) -> Any:
    """Links as PyTorch Geometric has them, (2, 2 * n_edges): each in both directions."""
    return torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())
