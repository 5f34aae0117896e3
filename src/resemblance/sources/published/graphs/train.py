"""The graph models of the ReSi paper: node classification on Cora, Flickr and OGBN-Arxiv."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....extras import need
from ....rng import generator
from ....subject import Extraction, Recipe
from ...trained.common import accuracy, load_state, state_of
from ..checkpoints import Checkpoint
from ..devices import device_of, random_state, set_random_state, training_on
from ..resources import Resources
from . import anchored
from .data import GraphData, read
from .models import build, features, first_layer_takes, run_layers

VERSION = 1
SETTINGS = ("normal", "layers", "labels", "shortcut", "augmentation")
DROPPED = {0.25: 0.2, 0.5: 0.4, 0.75: 0.6, 1.0: 0.8}  # links, by strength of the augmentation
SHOWN = 2024  # the seed of the classes that test nodes show in the setting "shortcut"

_CORA: dict[str, Any] = {"hidden": 64, "layers": 3, "dropout": 0.5, "activation": "relu"}
_WIDE = _CORA | {"hidden": 256}
_ADAM: dict[str, Any] = {"lr": 0.01, "weight_decay": 0.0, "epochs": 200}
_DECAY: dict[str, Any] = {"lr": 0.005, "weight_decay": 5e-4, "epochs": 200}
_LONG = _ADAM | {"epochs": 500}
_GAT: dict[str, Any] = {"heads": 8}
_ELU: dict[str, Any] = {"layers": 2, "dropout": 0.6, "activation": "elu"}
_CODE: Mapping[tuple[str, str], dict[str, Any]] = {
    ("cora", "gcn"): _CORA | _ADAM,
    ("cora", "sage"): _CORA | _DECAY,
    ("cora", "gat"): _CORA | _ELU | _DECAY | _GAT,
    ("cora", "pgnn"): _CORA | _ADAM | {"hidden": 32, "layers": 2, "anchors": "redrawn"},
    ("flickr", "gcn"): _WIDE | _ADAM,
    ("flickr", "sage"): _WIDE | _ADAM,
    ("flickr", "gat"): _WIDE | _LONG | _GAT,
    ("ogbn-arxiv", "gcn"): _WIDE | _LONG,
    ("ogbn-arxiv", "sage"): _WIDE | _LONG,
    ("ogbn-arxiv", "gat"): _WIDE | _LONG | _GAT,
}
_PAPER: Mapping[tuple[str, str], dict[str, Any]] = {  # where it differs from the code
    ("cora", "pgnn"): {"anchors": "of training"},
    ("flickr", "gat"): {"epochs": 200},
    ("ogbn-arxiv", "sage"): {"lr": 0.005, "weight_decay": 5e-4},
}
_DEEP: dict[str, Any] = {"deep": 6, "strict": True}
_REDUCED: dict[str, Any] = {"hidden": 16, "deep": 4, "epochs": 1, "strict": False}


def options(
    dataset: str, architecture: str, hyperparameters: str = "resi-code", reduced: bool = False
) -> dict[str, Any]:
    """Return the hyperparameters of an architecture on a data set."""
    chosen = _CODE[dataset, architecture] | _DEEP
    if hyperparameters == "paper":
        chosen |= _PAPER.get((dataset, architecture), {})
    return chosen | (_REDUCED if reduced else {})


def fit(recipe: Recipe, resources: Resources) -> dict[str, np.ndarray]:
    """Train one network and return its weights."""
    _check(recipe)
    data = _read(recipe, resources)
    device = device_of(resources)
    with training_on(device, recipe.seed, "graphs", recipe.name) as torch:
        model, logits = _network(recipe, data, device)
        labels = torch.from_numpy(training_labels(recipe, data)[data.train]).to(device)
        _learn(recipe, model, logits, labels, Checkpoint(recipe, resources), device)
    return state_of(model)


def extract(recipe: Recipe, state: Mapping[str, np.ndarray], resources: Resources) -> Extraction:
    """Return the outputs of a trained network and of its layers for the test nodes."""
    _check(recipe)
    data = _read(recipe, resources)
    device = device_of(resources)
    torch = need("torch")
    with training_on(device, recipe.seed, "graphs", recipe.name, "extract"), torch.no_grad():
        outputs = _outputs(recipe, data, state, device)
    arrays = {name: values.cpu().numpy() for name, values in outputs.items()}
    logits, labels = arrays.pop("logits"), data.labels[data.compared]
    return Extraction({"node": arrays}, logits, labels, {"test": accuracy(logits, labels)})


def _check(recipe: Recipe) -> None:
    if recipe.setting not in SETTINGS:
        raise ValueError(f"graphs: setting must be one of {SETTINGS}; got {recipe.setting!r}")
    if (recipe.architecture, recipe.setting) == ("pgnn", "augmentation"):
        raise ValueError("graphs: pgnn sees distances in place of links, so none can be dropped")
    if recipe.setting == "augmentation" and recipe.strength not in DROPPED:
        strengths = ", ".join(map(str, DROPPED))
        raise ValueError(
            f"graphs: augmentation has the strengths {strengths}; got {recipe.strength!r}"
        )


def _read(recipe: Recipe, resources: Resources) -> GraphData:
    return read(recipe.dataset, resources.data, resources.download, recipe.options["strict"])


# ------------------------------------------------------------------------------ corrupted data


def training_labels(recipe: Recipe, data: GraphData) -> np.ndarray:
    """Return the labels of all nodes as a training sees them."""
    if recipe.setting != "labels":
        return data.labels
    return _shuffled(data.labels, recipe.strength, recipe.seed)


def shown_features(recipe: Recipe, data: GraphData) -> np.ndarray:
    """Return the features of all nodes, with the columns of the shortcut where there is one."""
    if recipe.setting != "shortcut":
        return data.x
    classes = data.labels.copy()
    for nodes in (data.train, data.validation):
        classes[nodes] = _shuffled(data.labels[nodes], 1 - recipe.strength, recipe.seed)
    classes[data.test] = _shuffled(data.labels[data.test], 1.0, SHOWN)
    return np.concatenate([data.x, np.eye(data.classes, dtype=np.float32)[classes]], axis=1)


def _shuffled(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return labels of which ``int(share * n)`` are another class, drawn as in the authors' code,
    with the random numbers of Python."""
    draws, result = random.Random(seed), labels.copy()
    classes = np.unique(labels).tolist()
    for i in draws.sample(range(len(labels)), k=int(share * len(labels))):
        others = [label for label in classes if label != labels[i]]
        result[i] = draws.sample(others, k=1)[0]
    return result


# ----------------------------------------------------------------------------------- networks


def _network(recipe: Recipe, data: GraphData, device: Any) -> tuple[Any, Callable[[], Any]]:
    """Return a new network, and what gives its logits for the training nodes, each time with other
    dropped links and units.

    The random state is then that of the authors' training: seeded with the seed of the model.
    """
    torch, x = need("torch"), shown_features(recipe, data)
    model = _new(recipe, data, x.shape[1])
    inputs = features(x, device)
    if recipe.architecture == "pgnn":
        torch.manual_seed(recipe.seed)
        steps = _plan(recipe, data, data.train, device, "anchors")
        dropout = recipe.options["dropout"]
        model.to(device)
        return model, lambda: anchored.run_anchored(model, inputs, steps, dropout)["logits"]
    torch.manual_seed(recipe.seed)
    model.reset_parameters()
    first_layer_takes(model.to(device), inputs)
    links, train = _tensor(data.links, device), _tensor(data.train, device)
    dropped = DROPPED[recipe.strength] if recipe.setting == "augmentation" else 0.0
    drop = need("torch_geometric.utils").dropout_edge

    def logits() -> Any:
        remaining = drop(links, p=dropped)[0] if dropped else links
        return run_layers(model, inputs, remaining)["logits"][train]

    return model, logits


def _new(recipe: Recipe, data: GraphData, width: int) -> Any:
    depth = recipe.options["deep" if recipe.setting == "layers" else "layers"]
    sizes = dict(recipe.options) | {"layers": depth}
    if recipe.architecture == "pgnn":
        sets = int(np.log2(len(data.labels))) ** 2
        return anchored.build_network(width, sets, data.classes, sizes)
    return build(recipe.architecture, width, data.classes, sizes)


def _plan(
    recipe: Recipe, data: GraphData, rows: np.ndarray, device: Any, *labels: str
) -> anchored.MessagePlan:
    depth = recipe.options["deep" if recipe.setting == "layers" else "layers"]
    draws = generator(recipe.seed, "graphs", recipe.name, *labels)
    anchors = anchored.draw_anchors(data.links, len(data.labels), draws)
    return anchored.plan(anchors, rows, depth, device)


def _tensor(values: np.ndarray, device: Any) -> Any:
    return need("torch").from_numpy(values).to(device)


def _outputs(
    recipe: Recipe, data: GraphData, state: Mapping[str, np.ndarray], device: Any
) -> dict[str, Any]:
    """Return the outputs of all layers and the logits for the compared nodes."""
    x = shown_features(recipe, data)
    model = load_state(_new(recipe, data, x.shape[1]), state).to(device)
    inputs, rows = features(x, device), _tensor(data.compared, device)
    if recipe.architecture == "pgnn":
        redrawn = ("redrawn",) if recipe.options["anchors"] == "redrawn" else ()
        steps = _plan(recipe, data, data.compared, device, "anchors", *redrawn)
        outputs = anchored.run_anchored(model, inputs, steps, 0.0)
        logits = outputs.pop("logits")
        return {name: values[rows] for name, values in outputs.items()} | {"logits": logits}
    first_layer_takes(model, inputs)
    outputs = run_layers(model, inputs, _tensor(data.links, device))
    return {name: values[rows] for name, values in outputs.items()}


# ----------------------------------------------------------------------------------- training


def _learn(
    recipe: Recipe,
    model: Any,
    logits: Callable[[], Any],
    labels: Any,
    checkpoint: Checkpoint,
    device: Any,
) -> None:
    """Train with Adam on the cross-entropy of the training nodes, from a checkpoint if there is
    one."""
    torch = need("torch")
    rate = {"lr": recipe.options["lr"], "weight_decay": recipe.options["weight_decay"]}
    optimizer = torch.optim.Adam(model.parameters(), **rate)
    earlier = checkpoint.load()
    if earlier is not None:
        model.load_state_dict(earlier["model"])
        optimizer.load_state_dict(earlier["optimizer"])
        set_random_state(torch, device, earlier["random"])
    for epoch in range(earlier["epoch"] if earlier else 0, recipe.options["epochs"]):
        model.train()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits(), labels).backward()
        optimizer.step()
        if checkpoint.is_due():
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            random_numbers = random_state(torch, device)
            checkpoint.save(state | {"epoch": epoch + 1, "random": random_numbers})
    checkpoint.remove()
