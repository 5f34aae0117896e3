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

    The proximity is 1 / (distance + 1). If no node of the set is in reach, the proximity is 0 and
    the nearest anchor has no meaning.
    """

    nearest: np.ndarray
    proximity: np.ndarray


def find_anchors(
    edges: np.ndarray, nodes: int, sets: int, reach: int, random: np.random.Generator
) -> Anchors:
    """Draw anchor sets and find the nearest anchor of every node in every set.

    The sets have n/2, n/4, ... nodes down to a single node, with about equally many sets of each
    size. Distances are lengths of shortest paths; distances above ``reach`` count as infinite. By
    Bourgain's theorem, about log2(n)^2 sets distinguish positions.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    graph = coo_array((np.ones(len(edges)), edges.T), shape=(nodes, nodes)).tocsr()
    options: dict[str, Any] = {"directed": False, "unweighted": True, "limit": reach}
    options |= {"min_only": True, "return_predecessors": True}
    sizes = int(np.log2(nodes))
    nearest, proximity = np.zeros((nodes, sets), np.int64), np.zeros((nodes, sets), np.float32)
    for i in range(sets):
        anchors = np.sort(random.permutation(nodes)[: nodes >> (1 + i * sizes // sets)])
        distance, _, source = dijkstra(graph, indices=anchors, **options)
        is_near = np.isfinite(distance)
        nearest[is_near, i], proximity[is_near, i] = source[is_near], 1 / (distance[is_near] + 1)
    return Anchors(nearest, proximity)


def build_small_pgnn(inputs: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return a freshly initialised P-GNN, a ``ModuleDict``; :func:`run_small_pgnn` runs the
    network."""
    nn, hidden = import_optional("torch").nn, options["hidden"]
    layers = nn.ModuleList()
    for width in [inputs] + [hidden] * (options["layers"] - 1):
        parts = {"self": nn.Linear(width, hidden), "anchor": nn.Linear(width, hidden, False)}
        layers.append(nn.ModuleDict(parts | {"position": nn.Linear(hidden, 1)}))
    return nn.ModuleDict({"layers": layers, "head": nn.Linear(options["sets"], classes)})


def run_small_pgnn(model: Any, x: Any, anchors: Anchors, dropout: float) -> dict[str, Any]:
    """Return the structure outputs (n, hidden) of all layers except the last, and the logits.

    The nearest anchor of every set sends a message to a node: the ReLU of a sum of two linear maps,
    one of the node's features and one of the anchor's features, the latter weighted by the
    proximity. The mean message over all sets is the structure output, the input of the next layer.
    A linear map of every message to one number gives the position output, (n, sets). A linear
    classifier reads the position output of the last layer.
    """
    torch = import_optional("torch")
    nearest = torch.from_numpy(anchors.nearest)
    proximity = torch.from_numpy(anchors.proximity)[:, :, None]
    outputs = {}
    for i, layer in enumerate(model["layers"], 1):
        messages = torch.relu(layer["self"](x)[:, None] + proximity * layer["anchor"](x)[nearest])
        outputs[f"structure{i}"] = messages.mean(dim=1)
        x = torch.nn.functional.dropout(outputs[f"structure{i}"], dropout, model.training)
    del outputs[f"structure{len(model['layers'])}"]
    return outputs | {"logits": model["head"](layer["position"](messages).squeeze(-1))}


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
    """Draw anchor sets and return the nearest anchor of every node in every set.

    With m = floor(log2 n), the function draws m sets of each of the sizes n/2, n/4, ... n/2^m, each
    without replacement. Among equally near anchors the function returns the first in the order of
    the draw. If no anchor of a set is in reach, the function returns the first anchor of the set.
    Distances are lengths of shortest paths.
    """
    proximities = _proximities(links, nodes)
    m = int(np.log2(nodes))
    sizes = [int(nodes / 2 ** (i + 1)) for i in range(m) for _ in range(m)]
    sets = [random.choice(nodes, size=size, replace=False) for size in sizes]
    anchors = [members[proximities[:, members].argmax(axis=1)] for members in sets]
    nearest = np.stack(anchors, axis=1)
    return Anchors(nearest, np.take_along_axis(proximities, nearest, axis=1))


def _proximities(links: np.ndarray, nodes: int) -> np.ndarray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    graph = coo_array((np.ones(links.shape[1]), tuple(links)), shape=(nodes, nodes)).tocsr()
    distances = shortest_path(graph, unweighted=True, directed=False)
    return np.where(np.isfinite(distances), 1 / (distances + 1), 0).astype(np.float32)


def plan_messages(anchors: Anchors, rows: np.ndarray, layers: int, device: Any) -> MessagePlan:
    """Return the messages needed for the outputs of the nodes ``rows``, without repetitions.

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


def build_paper_pgnn(width: int, sets: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return an untrained P-GNN, a ``ModuleDict`` with the weight names of the authors' code."""
    nn, hidden = import_optional("torch").nn, options["hidden"]
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


def run_paper_pgnn(model: Any, x: Any, steps: MessagePlan, dropout: float) -> dict[str, Any]:
    r"""Return the structure outputs (n, hidden) of all layers except the last, and the logits of
    the nodes in the plan; rows of nodes outside the plan are zero.

    With :math:`a` the anchor of set :math:`s` nearest to node :math:`i`, the message is

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
    """Return ``linear_pre(x) @ weight.T``: the function merges the two linear maps into one map, so
    the wide array between the maps is never stored."""
    layer = model["linear_pre"]
    product = torch.sparse.mm if x.is_sparse else torch.matmul
    return product(x, (weight @ layer.weight).t()) + weight @ layer.bias


def _message_values(
    torch: Any, layer: Any, projections: Any, messages: Messages, proximities: Any
) -> Any:
    """Return the messages (n_messages, hidden): the ReLU of the sum of a linear map of the node's
    features and a linear map of the anchor's features, weighted by a trained function of the
    anchor's proximity."""
    distance_layers = layer["dist_compute"]
    weights = distance_layers["linear2"](torch.relu(distance_layers["linear1"](proximities)))
    from_anchor, from_node = projections.chunk(2, dim=1)
    from_node = from_node + layer["linear_hidden"].bias
    content = from_anchor.index_select(0, messages.anchors)
    content = content * weights.index_select(0, messages.levels)
    return torch.relu(content + from_node.index_select(0, messages.nodes))
