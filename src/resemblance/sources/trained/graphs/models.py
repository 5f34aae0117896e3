"""Position-aware graph neural network: what a node is like, and how far it is from chosen sets of
others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ....extras import need


class Anchors(NamedTuple):
    """For every node and anchor set, (n, sets): the nearest node of the set, and its proximity 1 /
    (distance + 1).

    The proximity is 0, and the nearest node of no meaning, where no node of the set is in reach.
    """

    nearest: np.ndarray
    proximity: np.ndarray


def find_anchors(
    edges: np.ndarray, nodes: int, sets: int, reach: int, random: np.random.Generator
) -> Anchors:
    """Draw anchor sets and find the nearest anchor of every node in each.

    The sets have from half of the nodes down to a single one, as many of each size: n/2, n/4, ...
    Distances are lengths of shortest paths, and those above ``reach`` count as infinite. Bourgain's
    theorem asks for about log2(n)^2 sets for positions to be told apart.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    graph = coo_array((np.ones(len(edges)), edges.T), shape=(nodes, nodes)).tocsr()
    sizes = int(np.log2(nodes))
    nearest, proximity = np.zeros((nodes, sets), np.int64), np.zeros((nodes, sets), np.float32)
    for i in range(sets):
        chosen = np.sort(random.permutation(nodes)[: nodes >> (1 + i * sizes // sets)])
        options: dict[str, Any] = {
            "directed": False,
            "unweighted": True,
            "limit": reach,
            "min_only": True,
        }
        distance, _, source = dijkstra(graph, indices=chosen, return_predecessors=True, **options)
        near = np.isfinite(distance)
        nearest[near, i], proximity[near, i] = source[near], 1 / (distance[near] + 1)
    return Anchors(nearest, proximity)


def build(inputs: int, classes: int, options: Mapping[str, Any]) -> Any:
    """Return a freshly initialised model, a ``ModuleDict``; :func:`forward` runs it."""
    nn, hidden = need("torch").nn, options["hidden"]
    layers = [
        nn.ModuleDict(
            {
                "self": nn.Linear(before, hidden),
                "anchor": nn.Linear(before, hidden, False),
                "position": nn.Linear(hidden, 1),
            }
        )
        for before in [inputs] + [hidden] * (options["layers"] - 1)
    ]
    return nn.ModuleDict(
        {"layers": nn.ModuleList(layers), "head": nn.Linear(options["sets"], classes)}
    )


def forward(model: Any, x: Any, anchors: Anchors, dropout: float) -> dict[str, Any]:
    """Return the structure output (n, hidden) of every layer but the last, and the logits.

    A message goes from the nearest anchor of each set to a node: a linear map of the node's
    features and of the anchor's, those weighted by proximity, and a ReLU. The mean of the messages
    of all sets is the structure output, which the next layer starts from; a linear map of each
    message to one number is the position output, (n, sets), of which the one of the last layer is
    classified.
    """
    torch = need("torch")
    nearest, proximity = (
        torch.from_numpy(anchors.nearest),
        torch.from_numpy(anchors.proximity)[:, :, None],
    )
    outputs = {}
    for i, layer in enumerate(model["layers"], 1):
        messages = torch.relu(layer["self"](x)[:, None] + proximity * layer["anchor"](x)[nearest])
        outputs[f"structure{i}"] = messages.mean(dim=1)
        x = torch.nn.functional.dropout(outputs[f"structure{i}"], dropout, model.training)
    del outputs[f"structure{len(model['layers'])}"]
    return outputs | {"logits": model["head"](layer["position"](messages).squeeze(-1))}
