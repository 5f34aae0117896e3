"""A position-aware graph neural network, which sees distances of nodes from sets of anchors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ....extras import need


class Anchors(NamedTuple):
    """The nearest node of each anchor set and its proximity, for each node: two arrays (n, sets).

    The proximity is 1 / (distance + 1). Where no node of the set is in reach it is 0, and the
    nearest node has no meaning.
    """

    nearest: np.ndarray
    proximity: np.ndarray


def find_anchors(
    edges: np.ndarray, nodes: int, sets: int, reach: int, random: np.random.Generator
) -> Anchors:
    """Draw anchor sets and find the nearest anchor of each node in them.

    The sets have n/2, n/4, ... nodes down to a single one, and there are as many of each size.
    Distances are lengths of shortest paths, and those above ``reach`` count as infinite. By
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
        near = np.isfinite(distance)
        nearest[near, i], proximity[near, i] = source[near], 1 / (distance[near] + 1)
    return Anchors(nearest, proximity)


def build(inputs: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return a freshly initialised model, a ``ModuleDict``; :func:`forward` runs it."""
    nn, hidden = need("torch").nn, options["hidden"]
    layers = nn.ModuleList()
    for before in [inputs] + [hidden] * (options["layers"] - 1):
        parts = {"self": nn.Linear(before, hidden), "anchor": nn.Linear(before, hidden, False)}
        layers.append(nn.ModuleDict(parts | {"position": nn.Linear(hidden, 1)}))
    return nn.ModuleDict({"layers": layers, "head": nn.Linear(options["sets"], classes)})


def forward(model: Any, x: Any, anchors: Anchors, dropout: float) -> dict[str, Any]:
    """Return the structure outputs (n, hidden) of all layers but the last, and the logits.

    The nearest anchor of each set sends a message to a node: the ReLU of a linear map of the node's
    features plus one of the anchor's features, weighted by proximity. The mean of the messages of
    all sets is the structure output, the input of the next layer; a linear map of each message to
    one number is the position output, (n, sets). The position output of the last layer is
    classified.
    """
    torch = need("torch")
    nearest = torch.from_numpy(anchors.nearest)
    proximity = torch.from_numpy(anchors.proximity)[:, :, None]
    outputs = {}
    for i, layer in enumerate(model["layers"], 1):
        messages = torch.relu(layer["self"](x)[:, None] + proximity * layer["anchor"](x)[nearest])
        outputs[f"structure{i}"] = messages.mean(dim=1)
        x = torch.nn.functional.dropout(outputs[f"structure{i}"], dropout, model.training)
    del outputs[f"structure{len(model['layers'])}"]
    return outputs | {"logits": model["head"](layer["position"](messages).squeeze(-1))}
