"""Position-aware graph neural network (P-GNN), based on distances between nodes and anchor sets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional


class Anchors(NamedTuple):
    """For every node and anchor set, the nearest anchor and the anchor's proximity: two arrays (n,
    sets).

    The proximity is 1 / (distance + 1); 0 if no path leads to the set.
    """

    nearest: np.ndarray
    proximity: np.ndarray


class Messages(NamedTuple):
    """The messages that the nodes of a layer receive, as tensors.

    Message i goes from the node ``anchors[i]`` to the node ``nodes[i]``; ``levels[i]`` is the index
    of the proximity in ``MessagePlan.proximities``. ``shares``: the share of the anchor sets with
    this message. ``places`` (rows, sets): for every node of the last layer, the index of the
    message from every set.
    """

    nodes: Any
    anchors: Any
    levels: Any
    shares: Any
    places: Any


class MessagePlan(NamedTuple):
    """The messages that a P-GNN needs for a graph: the distinct proximities, (levels, 1), and the
    messages of every layer."""

    proximities: Any
    layers: tuple[Messages, ...]


def draw_anchors(links: np.ndarray, nodes: int, random: np.random.Generator) -> Anchors:
    """Draw anchor sets and return the nearest anchor of every node in every set. ``links``: (2,
    n_links), in either direction. ``nodes``: the number n of nodes.

    With m = floor(log2 n), the function draws m sets of each of the sizes n/2, n/4, ... n/2^m, each
    without replacement. Among equally near anchors the function returns the first in the order of
    the draw. If no anchor of a set is in reach, the function returns the first anchor of the set.
    Distances are lengths of shortest paths.
    """
    proximities = _proximities(links, nodes)
    m = _size_levels(nodes)
    sizes = [int(nodes / 2 ** (i + 1)) for i in range(m) for _ in range(m)]
    sets = [random.choice(nodes, size=size, replace=False) for size in sizes]
    anchors = [members[proximities[:, members].argmax(axis=1)] for members in sets]
    nearest = np.stack(anchors, axis=1)
    return Anchors(nearest, np.take_along_axis(proximities, nearest, axis=1))


def _size_levels(nodes: int) -> int:
    """Return floor(log2 nodes): the number of sizes of anchor sets, and the number of sets of every
    size."""
    return int(np.log2(nodes))


def _proximities(links: np.ndarray, nodes: int) -> np.ndarray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    graph = coo_array((np.ones(links.shape[1]), tuple(links)), shape=(nodes, nodes)).tocsr()
    distances = shortest_path(graph, unweighted=True, directed=False)
    return np.where(np.isfinite(distances), 1 / (distances + 1), 0).astype(np.float32)


def plan_messages(anchors: Anchors, rows: np.ndarray, layers: int, device: Any) -> MessagePlan:
    """Return the messages needed for the outputs of the nodes ``rows`` of a network with ``layers``
    layers, without repetitions, as tensors on the device.

    The last layer computes the nodes ``rows`` only. An earlier layer computes the nodes and anchors
    that the next layer needs. If the same node is the nearest anchor in many sets, the message is
    computed once.
    """
    torch = import_optional("torch")
    proximities, levels = np.unique(anchors.proximity, return_inverse=True)
    levels = levels.reshape(anchors.proximity.shape)
    messages: list[Messages] = []
    for _ in range(layers):
        messages.insert(0, _messages(anchors.nearest, levels, rows, device))
        rows = np.union1d(rows, anchors.nearest[rows])
    return MessagePlan(torch.from_numpy(proximities)[:, None].to(device), tuple(messages))


def _messages(nearest: np.ndarray, levels: np.ndarray, rows: np.ndarray, device: Any) -> Messages:
    torch = import_optional("torch")
    n, sets = nearest.shape
    keys = (rows[:, None] * n + nearest[rows]).reshape(-1)
    pairs, first, places, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    shares = (counts / sets).astype(np.float32)[:, None]
    message_levels = levels[rows].reshape(-1)[first]
    arrays = [pairs // n, pairs % n, message_levels, shares, places.reshape(len(rows), sets)]
    return Messages(*(torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in arrays))


def build_pgnn(width: int, nodes: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return an untrained P-GNN for a graph, a ``ModuleDict`` with the weight names of the authors'
    code.

    ``width``: the number of features per node. ``nodes``: the number of nodes. ``options``: hidden
    (units) and layers.
    """
    nn, hidden, sets = import_optional("torch").nn, options["hidden"], _size_levels(nodes) ** 2
    widths = [width] + [hidden] * (options["layers"] - 1) + [classes]
    layers = nn.ModuleList(_pgnn_layer(nn, *pair) for pair in itertools.pairwise(widths))
    parts = {"linear_pre": nn.Linear(width, width), "convs": layers}
    return nn.ModuleDict(parts | {"lin_out": nn.Linear(sets, classes)})


def _pgnn_layer(nn: Any, inputs: int, outputs: int) -> Any:
    distance = {"linear1": nn.Linear(1, outputs), "linear2": nn.Linear(outputs, 1)}
    layer = nn.ModuleDict({"dist_compute": nn.ModuleDict(distance)})
    layer["linear_hidden"] = nn.Linear(2 * inputs, outputs)
    layer["linear_out_position"] = nn.Linear(outputs, 1)
    for module in layer.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))
            nn.init.zeros_(module.bias)
    return layer


def run_pgnn(model: Any, x: Any, steps: MessagePlan, dropout: float) -> dict[str, Any]:
    r"""Return the structure outputs (n, hidden) of all layers except the last, and the logits of
    the nodes in the plan; rows of nodes outside the plan are zero.

    ``x``: features (n, d). ``steps``: from :func:`plan_messages`. With :math:`a` the anchor of set
    :math:`s` nearest to node :math:`i`, the message is

    .. math:: m_{is} = \mathrm{ReLU}(W_1 \, f(1 / (d_{ia} + 1)) \, h_a + W_2 \, h_i + b),

    where :math:`f` is a network with one hidden layer. The mean message over all sets is the
    structure output, the input of the next layer. In the last layer, a linear map of every message
    to one number gives the position of a node, one number per set. The function normalises
    positions to length 1 before the classification. A linear map precedes the first layer.

    Reference: You, Ying and Leskovec, "Position-aware Graph Neural Networks", ICML 2019, as adapted
    in the code of Klabunde et al., "ReSi", ICLR 2025, with the same weights under the same names.
    The function avoids repeated work of the authors' code: the map :math:`W_1` is applied once per
    node, not once per set; :math:`f` once per distance; a message is computed once for all sets
    with the same nearest anchor; and nodes without influence on the outputs are skipped. Sums have
    the same terms in another order.
    """
    torch = import_optional("torch")
    outputs: dict[str, Any] = {}
    hidden = x
    for i, (layer, messages) in enumerate(zip(model["convs"], steps.layers), 1):
        to_anchor, to_node = layer["linear_hidden"].weight.chunk(2, dim=1)
        weight = torch.cat([to_anchor, to_node])
        projections = _fused_linear(torch, model, x, weight) if i == 1 else hidden @ weight.t()
        content = _message_values(torch, layer, projections, messages, steps.proximities)
        if i == len(steps.layers):
            break
        zeros = content.new_zeros(x.shape[0], content.shape[1])
        structure = zeros.index_add(0, messages.nodes, content * messages.shares)
        outputs[f"structure{i}"] = structure
        hidden = torch.nn.functional.dropout(structure, dropout, model.training)
    position = layer["linear_out_position"](content).squeeze(-1)[messages.places]
    return outputs | {"logits": model["lin_out"](torch.nn.functional.normalize(position, dim=-1))}


def _fused_linear(torch: Any, model: Any, x: Any, weight: Any) -> Any:
    """Return ``linear_pre(x) @ weight.T``, (n, outputs), for features ``x`` (n, d), dense or
    sparse, and ``weight`` (outputs, hidden).

    The function merges the two linear maps into one map, so the wide array between the maps is
    never stored. ``torch``: the module PyTorch. ``model``: the network with the layer "linear_pre".
    """
    layer = model["linear_pre"]
    product = torch.sparse.mm if x.is_sparse else torch.matmul
    return product(x, (weight @ layer.weight).t()) + weight @ layer.bias


def _message_values(
    torch: Any, layer: Any, projections: Any, messages: Messages, proximities: Any
) -> Any:
    """Return the messages (n_messages, hidden): the ReLU of the sum of a linear map of the node's
    features and a linear map of the anchor's features, weighted by a trained function of the
    anchor's proximity.

    ``projections``: both linear maps of the features of all nodes, (n, 2 * hidden), the map for
    anchors first. ``proximities``: of the plan, (levels, 1).
    """
    distance_layers = layer["dist_compute"]
    weights = distance_layers["linear2"](torch.relu(distance_layers["linear1"](proximities)))
    from_anchor, from_node = projections.chunk(2, dim=1)
    from_node = from_node + layer["linear_hidden"].bias
    content = from_anchor.index_select(0, messages.anchors)
    content = content * weights.index_select(0, messages.levels)
    return torch.relu(content + from_node.index_select(0, messages.nodes))
