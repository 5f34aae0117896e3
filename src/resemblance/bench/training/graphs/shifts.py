"""Shifts of a graph at five severities: rewired or missing links, swapped or missing features."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..corruption import Shift, check_shift

N_REWIRING_ROUNDS = 20  # rounds of pairing links that have not swapped partners yet
ShiftedGraph = tuple[np.ndarray, np.ndarray]


def shift_graph(
    x: np.ndarray, edges: np.ndarray, name: str, severity: int, random: np.random.Generator
) -> ShiftedGraph:
    """Return the features (n, d) and undirected links (n_edges, 2) of a graph after a shift.

    Links have no repetitions. ``name`` is a key of :data:`GRAPH_SHIFTS`; ``severity`` is 1 to 5,
    and 0 returns the graph unchanged.

    Raises ``ValueError`` for an unknown shift or severity.
    """
    check_shift("shift_graph", "shift", name, GRAPH_SHIFTS, severity)
    if severity == 0:
        return x.copy(), edges.copy()
    change, amounts = GRAPH_SHIFTS[name]
    result: ShiftedGraph = change(x, edges, amounts[severity - 1], random)
    return result


def rewire(edges: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Return links (n_edges, 2) after ``int(share * n_edges)`` links swapped partners.

    All nodes keep their degrees. The function pairs the drawn links at random. A pair a-b and c-d
    becomes a-d and c-b, in a random direction, unless the swap links a node to itself or repeats a
    link. Links without a valid swap are paired again, up to 20 times, and then stay unchanged. A
    later round may restore a link, so slightly fewer links may differ. Reference: Maslov and
    Sneppen (Science 2002).

    Raises ``ValueError`` for a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"rewire: share must be between 0 and 1; got {share!r}")
    result = edges.copy()
    edge_set = {(min(a, b), max(a, b)) for a, b in edges.tolist()}
    links = random.permutation(len(edges))[: int(share * len(edges))]
    for _ in range(N_REWIRING_ROUNDS):
        links = random.permutation(links)
        turns = random.random(len(links)) < 0.5
        leftovers = list(links[len(links) // 2 * 2 :])
        for first, second, turn in zip(links[::2], links[1::2], turns):
            if not _swap_link_ends(result, edge_set, int(first), int(second), bool(turn)):
                leftovers += [first, second]
        links = np.array(leftovers, np.int64)
        if len(links) < 2:
            break
    return np.sort(result, axis=1)


def _swap_link_ends(
    edges: np.ndarray, edge_set: set[tuple[int, int]], first: int, second: int, turn: bool
) -> bool:
    """Swap the ends of the links at the positions ``first`` and ``second`` in ``edges``, in place,
    if the swap gives two new links; return whether the links changed.

    ``edge_set``: all links as (smaller, larger) nodes, also changed in place. ``turn``: reverse the
    second link before the swap.
    """
    (a, b), (c, d) = edges[first].tolist(), edges[second].tolist()
    if turn:
        c, d = d, c
    new_edges = [(min(a, d), max(a, d)), (min(c, b), max(c, b))]
    if a == d or c == b or new_edges[0] == new_edges[1] or edge_set & set(new_edges):
        return False
    edge_set -= {(min(a, b), max(a, b)), (min(c, d), max(c, d))}
    edge_set |= set(new_edges)
    edges[first], edges[second] = new_edges
    return True


def rewire_graph(
    x: np.ndarray, edges: np.ndarray, share: float, random: np.random.Generator
) -> ShiftedGraph:
    """Return a graph (features, links) after a share of the links swapped partners. ``x``: the
    features (n, d), returned unchanged. ``edges``: (n_edges, 2). ``share``: from 0 to 1."""
    return x, rewire(edges, share, random)


def drop_links(
    x: np.ndarray, edges: np.ndarray, share: float, random: np.random.Generator
) -> ShiftedGraph:
    """Return a graph (features, links) with every link removed with probability ``share``. ``x``:
    the features (n, d), returned unchanged. ``edges``: (n_edges, 2)."""
    return x, edges[random.random(len(edges)) >= share]


def swap_features(
    x: np.ndarray, edges: np.ndarray, share: float, random: np.random.Generator
) -> ShiftedGraph:
    """Return a graph (features, links) in which ``int(share * n)`` random nodes exchange the rows
    of ``x`` (n, d) among themselves, in a cycle. ``edges`` stay unchanged."""
    nodes = random.permutation(len(x))[: int(share * len(x))]
    result = x.copy()
    result[nodes] = x[np.roll(nodes, 1)]
    return result, edges


def drop_features(
    x: np.ndarray, edges: np.ndarray, share: float, random: np.random.Generator
) -> ShiftedGraph:
    """Return a graph (features, links) with every entry of ``x`` (n, d) set to 0 with probability
    ``share``. ``edges`` stay unchanged.

    The remaining features of a node are scaled to the old sum; a node without remaining features
    has only zeros.
    """
    features = np.where(random.random(x.shape) < share, 0, x)
    old_sums, new_sums = x.sum(axis=1, keepdims=True), features.sum(axis=1, keepdims=True)
    scale = np.divide(old_sums, new_sums, out=np.zeros_like(old_sums), where=new_sums != 0)
    return (features * scale).astype(x.dtype), edges


def add_feature_noise(
    x: np.ndarray, edges: np.ndarray, deviation: float, random: np.random.Generator
) -> ShiftedGraph:
    """Return a graph (features, links) with normal noise added to ``x`` (n, d): ``deviation`` times
    the standard deviation of all entries. ``edges`` stay unchanged."""
    noise = deviation * x.std() * random.standard_normal(x.shape)
    return (x + noise).astype(x.dtype), edges


GRAPH_SHIFTS: Mapping[str, Shift] = {
    "rewired_links": Shift(rewire_graph, (0.1, 0.25, 0.5, 0.75, 1.0)),
    "missing_links": Shift(drop_links, (0.2, 0.4, 0.6, 0.8, 1.0)),
    "swapped_features": Shift(swap_features, (0.1, 0.25, 0.5, 0.75, 1.0)),
    "missing_features": Shift(drop_features, (0.1, 0.25, 0.5, 0.75, 0.9)),
    "noisy_features": Shift(add_feature_noise, (0.25, 0.5, 1.0, 1.5, 2.0)),
}
