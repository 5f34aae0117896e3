"""The graph models of the ReSi paper: node classification on Cora, Flickr and OGBN-Arxiv."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator
from resemblance.base.text import check_choice
from resemblance.models.cora import GraphData
from resemblance.models.recipe import ModelOutputs, Recipe

from .. import check_training_options
from ..loop import (
    Checkpoint,
    TrainingEnvironment,
    accuracy,
    build_optimizer,
    load_state,
    seeded_torch,
    train_steps,
    training_device,
    weights_as_arrays,
)
from . import pgnn
from .data import read
from .packaged import graph_network, run_convolutions

VERSION = 1
PAPER_GRAPH_SETTINGS = ("normal", "layers", "labels", "shortcut", "augmentation")
# The share of dropped links, by strength of the augmentation
DROPPED_LINK_SHARES = {0.25: 0.2, 0.5: 0.4, 0.75: 0.6, 1.0: 0.8}

_CORA_OPTIONS: dict[str, Any] = {"hidden": 64, "layers": 3, "dropout": 0.5, "activation": "relu"}
_WIDE_OPTIONS = _CORA_OPTIONS | {"hidden": 256}
_PAPER_ADAM: dict[str, Any] = {"lr": 0.01, "weight_decay": 0.0, "epochs": 200}
_PAPER_ADAM_WITH_DECAY: dict[str, Any] = {"lr": 0.005, "weight_decay": 5e-4, "epochs": 200}
_LONG_TRAINING = _PAPER_ADAM | {"epochs": 500}
_GAT_OPTIONS: dict[str, Any] = {"heads": 8}
_ELU_OPTIONS: dict[str, Any] = {"layers": 2, "dropout": 0.6, "activation": "elu"}
_CODE_GRAPH_OPTIONS: Mapping[tuple[str, str], dict[str, Any]] = {
    ("cora", "gcn"): _CORA_OPTIONS | _PAPER_ADAM,
    ("cora", "sage"): _CORA_OPTIONS | _PAPER_ADAM_WITH_DECAY,
    ("cora", "gat"): _CORA_OPTIONS | _ELU_OPTIONS | _PAPER_ADAM_WITH_DECAY | _GAT_OPTIONS,
    ("cora", "pgnn"): _CORA_OPTIONS
    | _PAPER_ADAM
    | {"hidden": 32, "layers": 2, "anchors": "redrawn"},
    ("flickr", "gcn"): _WIDE_OPTIONS | _PAPER_ADAM,
    ("flickr", "sage"): _WIDE_OPTIONS | _PAPER_ADAM,
    ("flickr", "gat"): _WIDE_OPTIONS | _LONG_TRAINING | _GAT_OPTIONS,
    ("ogbn-arxiv", "gcn"): _WIDE_OPTIONS | _LONG_TRAINING,
    ("ogbn-arxiv", "sage"): _WIDE_OPTIONS | _LONG_TRAINING,
    ("ogbn-arxiv", "gat"): _WIDE_OPTIONS | _LONG_TRAINING | _GAT_OPTIONS,
}
# The options of the paper that differ from the code
_PAPER_GRAPH_OPTIONS: Mapping[tuple[str, str], dict[str, Any]] = {
    ("cora", "pgnn"): {"anchors": "of training"},
    ("flickr", "gat"): {"epochs": 200},
    ("ogbn-arxiv", "sage"): {"lr": 0.005, "weight_decay": 5e-4},
}
_DEEP_GRAPH_OPTIONS: dict[str, Any] = {"deep": 6, "strict": True}
_REDUCED_GRAPH_OPTIONS: dict[str, Any] = {"hidden": 16, "deep": 4, "epochs": 1, "strict": False}


def options(
    dataset: str, architecture: str, hyperparameters: str = "resi-code", reduced: bool = False
) -> dict[str, Any]:
    """Return the hyperparameters of an architecture on a data set.

    ``"resi-code"`` follows the authors' code, ``"paper"`` the text of the paper where text and code
    differ:

    - GAT on Flickr: ``epochs`` 500 in the code, 200 in the paper.
    - GraphSAGE on OGBN-Arxiv: ``lr`` 0.01 and ``weight_decay`` 0 in the code, 0.005 and 5e-4 in the
      paper.
    - P-GNN: ``anchors`` is ``"redrawn"`` in the code. The code draws new anchor sets before
      computing representations, so the classifier receives distances to other sets than in
      training. Accuracies on Cora fall from about 0.5 to 0.23; the representations, means over all
      sets, hardly change. ``"of training"`` keeps the sets of the training, as the paper describes.
      The number of sets is floor(log2 n)^2, 121 on Cora; the value 64 in the authors' parameters
      has no effect.

    With both, batch normalisation follows every layer except the last, which the paper does not
    mention. ``layers`` is the number of layers, ``deep`` the number of layers in the setting
    ``"layers"``. ``heads`` belongs to GAT; the heads share the hidden units. ``reduced``: one
    epoch, 16 hidden units and 4 deep layers, on data of any size (``strict`` False).

    Raises ``ValueError`` for an unknown architecture, or unknown hyperparameters.
    """
    check_training_options(dataset, architecture, hyperparameters)
    result = _CODE_GRAPH_OPTIONS[dataset, architecture] | _DEEP_GRAPH_OPTIONS
    if hyperparameters == "paper":
        result |= _PAPER_GRAPH_OPTIONS.get((dataset, architecture), {})
    return result | (_REDUCED_GRAPH_OPTIONS if reduced else {})


def fit(recipe: Recipe, resources: TrainingEnvironment) -> dict[str, np.ndarray]:
    """Train one network and return the weights, under the names of PyTorch Geometric.

    The whole graph is one batch. Adam minimises the cross-entropy of the training nodes; the result
    has the weights of the last epoch. Settings:

    - ``"labels"``: exactly ``int(strength * n)`` of *all* nodes get a wrong class, drawn uniformly.
    - ``"shortcut"``: one column per class is appended to the features, and every node shows one
      class. Exactly ``int((1 - strength) * n)`` of the training nodes, the same share of the
      validation nodes and all test nodes show a wrong class; all other nodes show the true class.
      Strength 0 therefore carries information: the shown class is excluded. Nodes outside the split
      always show the true class.
    - ``"augmentation"``: every epoch drops links, independently per direction, with probability
      0.2, 0.4, 0.6 or 0.8 for strength 0.25, 0.5, 0.75 or 1 (DropEdge).
    - ``"layers"``: ``deep`` layers instead of ``layers``.

    Random numbers are drawn in the order of the authors' code from the seed of the model. On a CPU,
    GCN, GraphSAGE and GAT therefore equal the authors' models up to rounding. Rounding errors grow:
    the bias of a convolution before a batch normalisation has no effect on the loss, and Adam turns
    the rounding errors of the bias gradient into steps. Those steps only shift the representation.
    The authors seed neither the initial weights of P-GNN nor the anchor sets; here the recipe
    determines initial weights and anchor sets. Initial weights are the same on all devices.

    An interrupted training continues from the checkpoint with the same result.

    Raises ``ValueError`` for an unknown setting or strength, for augmentation with P-GNN, which
    takes distances instead of links, and for data that :func:`.data.read` refuses.

    References: Klabunde et al., "ReSi: A Comprehensive Benchmark for Representational Similarity
    Measures", ICLR 2025; Kipf and Welling (GCN), ICLR 2017; Hamilton, Ying and Leskovec
    (GraphSAGE), NeurIPS 2017; Velickovic et al. (GAT), ICLR 2018; You, Ying and Leskovec (P-GNN),
    ICML 2019; Rong et al. (DropEdge), ICLR 2020.
    """
    data, device = _read_graph_data(recipe, resources), training_device(resources)
    with seeded_torch(recipe.seed, "graphs", recipe.name, device=device) as torch:
        model = _new_paper_network(recipe, data)
        # Seed again to get the random state of the authors' training.
        torch.manual_seed(recipe.seed)
        if recipe.architecture != "pgnn":
            model.reset_parameters()
        run = _layer_runner(recipe, data, model.to(device), data.train, device, "anchors")
        labels = torch.from_numpy(training_labels(recipe, data)[data.train]).to(device)
        train_steps(
            model,
            lambda first: ([None] for _ in range(first, recipe.options["epochs"])),
            lambda part: torch.nn.functional.cross_entropy(run()["logits"], labels),
            build_optimizer(model, recipe.options),
            checkpoint=Checkpoint(recipe, resources),
        )
    return weights_as_arrays(model)


def extract(
    recipe: Recipe, state: Mapping[str, np.ndarray], resources: TrainingEnvironment
) -> ModelOutputs:
    """Return the outputs of a trained network and of the network's layers for the compared test
    nodes. ``state``: the weights, arrays by name.

    Layers have the pooling "node" and shape (n, hidden). ``conv1``, ``conv2``, ... are the outputs
    of all convolutions except the last, before batch normalisation, activation and dropout;
    ``structure1``, ... are the structure outputs of all P-GNN layers except the last. The network
    gets the features of the recipe's setting: for models of the setting ``"shortcut"`` every test
    node shows a wrong class, the same class for all models. No links are dropped. The accuracy
    ``"test"`` compares the outputs for the compared nodes with the true classes.

    Raises ``ValueError`` for another setting, missing data, and weights of another network.
    """
    data, device = _read_graph_data(recipe, resources), training_device(resources)
    draws = ("anchors", *(["redrawn"] if recipe.options.get("anchors") == "redrawn" else []))
    keywords = {"device": device}
    with (
        seeded_torch(recipe.seed, "graphs", recipe.name, "extract", **keywords) as torch,
        torch.no_grad(),
    ):
        model = load_state(_new_paper_network(recipe, data), state, recipe.name).to(device)
        outputs = dict(_layer_runner(recipe, data, model, data.compared, device, *draws)())
        logits = outputs.pop("logits").cpu().numpy()
        rows = torch.from_numpy(data.compared).to(device)
        layers = {name: values[rows].cpu().numpy() for name, values in outputs.items()}
    labels = data.labels[data.compared]
    return ModelOutputs({"node": layers}, logits, labels, {"test": accuracy(logits, labels)})


def _read_graph_data(recipe: Recipe, resources: TrainingEnvironment) -> GraphData:
    check_choice("graphs: setting", recipe.setting, PAPER_GRAPH_SETTINGS)
    if (recipe.architecture, recipe.setting) == ("pgnn", "augmentation"):
        raise ValueError("graphs: pgnn sees distances in place of links, so none can be dropped")
    if recipe.setting == "augmentation" and recipe.strength not in DROPPED_LINK_SHARES:
        strengths = ", ".join(map(str, DROPPED_LINK_SHARES))
        raise ValueError(
            f"graphs: augmentation has the strengths {strengths}; got {recipe.strength!r}"
        )
    return read(recipe.dataset, resources.data, resources.download, recipe.options["strict"])


# ----------------------------------------------------------------------------------- networks


def _layer_runner(
    recipe: Recipe, data: GraphData, model: Any, rows: np.ndarray, device: Any, *draws: str
) -> Callable[[], Mapping[str, Any]]:
    """Return a function that computes the outputs of all layers for all nodes, and the logits of
    the nodes ``rows``. In training, every call drops other links and units.

    ``draws``: labels of the random generator that draws the anchor sets of a P-GNN; other labels
    give other sets.
    """
    torch = import_optional("torch")
    inputs = feature_tensor(features_with_shortcut(recipe, data), device)
    if recipe.architecture == "pgnn":
        random = generator(recipe.seed, "graphs", recipe.name, *draws)
        anchors = pgnn.draw_anchors(data.links, len(data.labels), random)
        steps = pgnn.plan_messages(anchors, rows, _n_convolutions(recipe), device)
        return lambda: pgnn.run_pgnn(model, inputs, steps, recipe.options["dropout"])
    adapt_first_layer(model, inputs)
    links, nodes = (torch.from_numpy(values).to(device) for values in (data.links, rows))
    drop_share = DROPPED_LINK_SHARES[recipe.strength] if recipe.setting == "augmentation" else 0.0
    drop = import_optional("torch_geometric.utils").dropout_edge

    def run() -> Mapping[str, Any]:
        is_thinned = drop_share and model.training
        outputs = run_convolutions(
            model, inputs, drop(links, p=drop_share)[0] if is_thinned else links
        )
        return {**outputs, "logits": outputs["logits"][nodes]}

    return run


def new_network(recipe: Recipe, resources: TrainingEnvironment) -> Any:
    """Return the untrained network of a recipe, a PyTorch module. ``resources``: the folder of the
    data set. Raises ``ValueError`` for missing or other data."""
    return _new_paper_network(recipe, _read_graph_data(recipe, resources))


def _new_paper_network(recipe: Recipe, data: GraphData) -> Any:
    width = data.x.shape[1] + (data.classes if recipe.setting == "shortcut" else 0)
    sizes = dict(recipe.options) | {"layers": _n_convolutions(recipe)}
    if recipe.architecture == "pgnn":
        return pgnn.build_pgnn(width, len(data.labels), data.classes, sizes)
    return graph_network(recipe.architecture, width, data.classes, sizes)


def _n_convolutions(recipe: Recipe) -> int:
    return recipe.options["deep" if recipe.setting == "layers" else "layers"]


SHOWN_CLASSES_SEED = 2024  # the seed of the shortcut classes of test nodes


def training_labels(recipe: Recipe, data: GraphData) -> np.ndarray:
    """Return the training labels of all nodes, (n,), after the label corruption of the recipe."""
    if recipe.setting != "labels":
        return data.labels
    return _shuffle_labels(data.labels, recipe.strength, recipe.seed)


def features_with_shortcut(recipe: Recipe, data: GraphData) -> np.ndarray:
    """Return the features of all nodes, (n, d); in the setting "shortcut" with a one-hot column per
    class for the class that every node shows."""
    if recipe.setting != "shortcut":
        return data.x
    classes = data.labels.copy()
    for nodes in (data.train, data.validation):
        classes[nodes] = _shuffle_labels(data.labels[nodes], 1 - recipe.strength, recipe.seed)
    classes[data.test] = _shuffle_labels(data.labels[data.test], 1.0, SHOWN_CLASSES_SEED)
    return np.concatenate([data.x, np.eye(data.classes, dtype=np.float32)[classes]], axis=1)


def _shuffle_labels(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return a copy of the labels (n,) with ``int(share * n)`` labels, drawn at random, replaced by
    a wrong class. The draws equal the draws of the authors' code, which uses Python's random
    numbers."""
    draws, result = Random(seed), labels.copy()
    classes = np.unique(labels).tolist()
    for i in draws.sample(range(len(labels)), k=int(share * len(labels))):
        other_classes = [label for label in classes if label != labels[i]]
        result[i] = draws.sample(other_classes, k=1)[0]
    return result


# The largest share of nonzero entries for a sparse tensor
MAX_SPARSE_SHARE = 0.05


def feature_tensor(x: np.ndarray, device: Any) -> Any:
    """Return the features ``x`` (n, d) as a tensor on the PyTorch ``device``, sparse if at most
    ``MAX_SPARSE_SHARE`` of the entries are not zero."""
    tensor = import_optional("torch").from_numpy(x).to(device)
    is_sparse = np.count_nonzero(x) <= MAX_SPARSE_SHARE * x.size
    return tensor.to_sparse().coalesce() if is_sparse else tensor


def adapt_first_layer(model: Any, x: Any) -> Any:
    """Change the first convolution of a network, in place, to accept the features ``x`` if ``x`` is
    a sparse tensor, and return the network.

    Sums of products have the same terms in another order. GraphSAGE projects features before
    averaging over neighbours; projection and average are linear, so the order makes no difference.
    """
    if not x.is_sparse:
        return model
    convolution, product = model.convs[0], import_optional("torch").sparse.mm
    if hasattr(convolution, "lin_l"):

        def forward(x: Any, links: Any) -> Any:
            messages = product(x, convolution.lin_l.weight.t())
            mean = convolution.propagate(links, x=(messages, messages), size=None)
            return mean + convolution.lin_l.bias + product(x, convolution.lin_r.weight.t())

        convolution.forward = forward
    else:
        convolution.lin.forward = lambda x: product(x, convolution.lin.weight.t())
    return model
