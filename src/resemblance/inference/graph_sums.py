"""Sums of products of matrix entries over distinct samples, one sum per small multigraph.

The q-th power of <A, P B P'> is a sum over 2q indices. The pattern of equal indices is a set
partition of 2q places. With a vertex per block and an edge per factor, a partition is a multigraph
with q edges; parallel edges and loops are allowed. Over all n! permutations the mean of the power
is

    sum over set partitions s of  inj_A(s) inj_B(s) / (n (n - 1) ... (n - v + 1)),

with v vertices, and inj the sum over *distinct* values of the vertices, for one matrix alone.
Partitions with the same multigraph have the same inj, so a few numbers per matrix are enough: 32
for powers up to the third if the matrix is symmetric, 65 otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, reduce
from itertools import chain, permutations
from typing import Any, NamedTuple

import numpy as np

from ..intermediates.pair_matrix import PairMatrix, Ways

ENTRY_POWERS = (1, 2, 3)

Edge = tuple[int, int]
Graph = tuple[Edge, ...]  # connected, with canonical vertex numbers
Multigraph = tuple[Graph, ...]  # sorted components
# A branch of a vertex: a loop, or parallel edges to a vertex with branches of its own
Branch = tuple[Ways, Any]
Branches = tuple[Branch, ...]
LOOP: Branch = (("loop",), ())


class Expansion(NamedTuple):
    """The multigraphs with a given number of edges, and formulas for their sums.

    ``multiplicity``: the number of set partitions per multigraph. ``vertices``: the number of
    vertices per multigraph. ``coefficients`` (multigraphs, multigraphs): times the sums over *all*
    values of the vertices, the sums over distinct values.
    """

    graphs: tuple[Multigraph, ...]
    multiplicity: np.ndarray
    vertices: np.ndarray
    coefficients: np.ndarray


# ------------------------------------------------------------------------------- of two matrices


def mean_inner_product_powers(
    left: np.ndarray, right: np.ndarray, n: int, symmetric: bool
) -> np.ndarray:
    """Return the means of <A, P B P'>^q over all permutations P of n samples, for the powers q of
    ``ENTRY_POWERS``, (powers,).

    ``left`` and ``right`` are the sums over distinct samples of A and B, (multigraphs,), power by
    power in the order of :func:`graph_expansion`. Multigraphs with more than n vertices have no
    such sum and are left out.
    """
    weights, starts = _mean_weights(n, symmetric)
    return np.add.reduceat(weights * left * right, starts)


@lru_cache(maxsize=16)
def _mean_weights(n: int, symmetric: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of set partitions of every multigraph divided by the number of choices of
    distinct vertices among n samples, 0 without a choice, (multigraphs,), and the position of the
    first multigraph of every power."""
    expansions = [graph_expansion(power, symmetric) for power in ENTRY_POWERS]
    multiplicity = np.concatenate([parts.multiplicity for parts in expansions])
    choices = [float(math.perm(n, int(v))) for parts in expansions for v in parts.vertices]
    weights = np.divide(
        multiplicity, choices, out=np.zeros(len(choices)), where=np.array(choices) > 0
    )
    return weights, np.cumsum([0, *(len(parts.graphs) for parts in expansions[:-1])])


@cache
def graph_expansion(edges: int, symmetric: bool) -> Expansion:
    """Return the multigraphs with ``edges`` edges, with the formulas for their sums.
    ``symmetric``: edges have no direction."""
    multigraphs = (
        _partition_multigraph(partition, symmetric) for partition in set_partitions(2 * edges)
    )
    counts = Counter(multigraphs)
    graphs = tuple(counts)
    return Expansion(
        graphs,
        np.array([counts[graph] for graph in graphs], dtype=float),
        np.array([sum(_vertex_count(part) for part in graph) for graph in graphs]),
        np.array([_distinct_coefficients(graph, graphs, symmetric) for graph in graphs]),
    )


# ----------------------------------------------------------------------------- of multigraphs


def set_partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the set partitions of ``count`` places, as the block number of every place; blocks are
    numbered in the order of appearance."""

    def extended(blocks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(blocks) == count:
            yield blocks
            return
        for block in range(max(blocks, default=-1) + 2):
            yield from extended((*blocks, block))

    return extended(())


def _partition_multigraph(partition: Sequence[int], symmetric: bool) -> Multigraph:
    """Return the multigraph of a set partition, block numbers of places; places 2i and 2i + 1 form
    an edge between their blocks."""
    return _canonical_multigraph(tuple(zip(partition[::2], partition[1::2])), symmetric)


def _distinct_coefficients(
    graph: Multigraph, graphs: Sequence[Multigraph], symmetric: bool
) -> list[float]:
    """Return a coefficient for each of ``graphs``, all multigraphs with the number of edges of
    ``graph``: the sum of ``graph`` over distinct values is the sum of the coefficients times the
    sums of the multigraphs over all values.

    The coefficients come from Möbius inversion on the lattice of set partitions of the vertices:
    inj(g) = sum over partitions t of mu(t) hom(g / t), with mu(t) the product over the blocks b of
    (-1)^(|b| - 1) (|b| - 1)!, and g / t the multigraph with the vertices of each block merged.
    """
    edges, coefficients = _disjoint_union_edges(graph), Counter[Multigraph]()
    for partition in set_partitions(1 + max(max(edge) for edge in edges)):
        sizes = Counter(partition).values()
        sign = math.prod((-1) ** (size - 1) * math.factorial(size - 1) for size in sizes)
        merged = tuple((partition[u], partition[v]) for u, v in edges)
        coefficients[_canonical_multigraph(merged, symmetric)] += sign
    return [float(coefficients[merged]) for merged in graphs]


def _disjoint_union_edges(graph: Multigraph) -> Graph:
    """Return the edges of all components, with vertices numbered one component after another."""
    edges: list[Edge] = []
    first = 0
    for part in graph:
        edges += [(u + first, v + first) for u, v in part]
        first += _vertex_count(part)
    return tuple(edges)


def _vertex_count(part: Graph) -> int:
    """Return the number of vertices of a component."""
    return 1 + max(max(edge) for edge in part)


@cache
def _canonical_multigraph(edges: Graph, symmetric: bool) -> Multigraph:
    """Return a canonical form of a multigraph, independent of vertex labels: its components in
    canonical form, sorted. ``symmetric``: edges have no direction."""
    return tuple(
        sorted(_canonical_component(part, symmetric) for part in _connected_components(edges))
    )


def _connected_components(edges: Graph) -> list[Graph]:
    parts: list[Graph] = []
    for edge in edges:
        adjacent = [part for part in parts if _vertices(part) & set(edge)]
        parts = [part for part in parts if part not in adjacent]
        parts.append((*(e for part in adjacent for e in part), edge))
    return parts


def _vertices(edges: Iterable[Edge]) -> set[int]:
    return {v for edge in edges for v in edge}


@cache
def _canonical_component(part: Graph, symmetric: bool) -> Graph:
    """Return the smallest edge list of a component over all numberings of the vertices.
    ``symmetric``: edges have no direction."""
    vertices = sorted(_vertices(part))
    numberings = (dict(zip(vertices, p)) for p in permutations(range(len(vertices))))
    return min(_relabel_vertices(part, numbers, symmetric) for numbers in numberings)


def _relabel_vertices(part: Graph, numbers: dict[int, int], symmetric: bool) -> Graph:
    relabeled = ((numbers[u], numbers[v]) for u, v in part)
    return tuple(sorted((min(e), max(e)) if symmetric else e for e in relabeled))


# ------------------------------------------------------------- sums over all values of vertices


class GraphSums:
    """Sums of products of the entries of a matrix, one sum per multigraph. The object keeps partial
    sums, which multigraphs share."""

    def __init__(self, matrix: PairMatrix, symmetric: bool) -> None:
        self.matrix, self.symmetric = matrix, symmetric
        self._ones = np.ones(matrix.samples)
        self._vectors: dict[Any, np.ndarray] = {(): self._ones, LOOP: matrix.diagonal()}

    def over_distinct(self, power: int) -> np.ndarray:
        """Return, for every multigraph with ``power`` edges, the sum over distinct samples of the
        product of the matrix entries at its edges, (multigraphs,), in the order of
        :func:`graph_expansion`."""
        expansion = graph_expansion(power, self.symmetric)
        sums = {part: self._over_all(part) for part in {*chain(*expansion.graphs)}}
        products = [math.prod(map(sums.__getitem__, graph)) for graph in expansion.graphs]
        return np.asarray(expansion.coefficients @ products)

    def squares(self, way: str) -> np.ndarray:
        """Return the sums of squares of the rows (``way="out"``), or of the columns (``way="in"``)
        of the matrix, shape (n,)."""
        return self._contract(((way,) * 2, ()))

    @cached_property
    def _triangles(self) -> tuple[float, float]:
        return self.matrix.triangle_sums(self.symmetric, self.squares("out"))

    def _over_all(self, part: Graph) -> float:
        """Return the sum, over all values of the vertices, of the product of the matrix entries at
        the edges of a component: O(n^2) matrix-vector products; only a triangle needs the square of
        the matrix."""
        branches = _eliminate_leaves(part, self.symmetric)
        if branches is None:
            return self._triangles[_is_directed_cycle(part)]
        return float(self._ones @ self._product(branches))

    def _product(self, branches: Branches) -> np.ndarray:
        """Return the product of the sums of all branches at a vertex, for every value of the
        vertex, (n,)."""
        if branches not in self._vectors:
            vectors = map(self._contract, branches)
            self._vectors[branches] = reduce(np.multiply, vectors)
        return self._vectors[branches]

    def _contract(self, branch: Branch) -> np.ndarray:
        """Return the sum of a branch over the values of its neighbour, for every value of the
        vertex, (n,); for a loop the diagonal."""
        if branch not in self._vectors:
            ways, branches = branch
            weights = self._product(branches)
            if not weights.any():
                self._vectors[branch] = weights
            elif ways == ("out",):
                self._vectors[branch] = self.matrix @ weights
            else:
                products = self.matrix.edge_products(ways, weights, self.symmetric)
                self._vectors |= {(other, branches): sums for other, sums in products.items()}
        return self._vectors[branch]


@cache
def _eliminate_leaves(part: Graph, symmetric: bool) -> Branches | None:
    """Return the branches at the last vertex of a component, after eliminating one leaf after the
    other.

    A leaf is a vertex with one neighbour. The eliminated leaf, with the parallel edges between leaf
    and neighbour, is a branch of the neighbour. The vertex with the most edges is the last. A
    triangle has no leaf: the result is None.
    """
    degree = Counter(v for edge in part for v in edge)
    branches = {v: [LOOP] * part.count((v, v)) for v in degree}
    edges = [edge for edge in part if edge[0] != edge[1]]
    while edges:
        leaves = [v for v in _vertices(edges) if len(_neighbors(v, edges)) == 1]
        if not leaves:
            return None
        leaf = min(leaves, key=lambda v: (degree[v], -v))
        (neighbor,) = _neighbors(leaf, edges)
        between = [edge for edge in edges if leaf in edge]
        edges = [edge for edge in edges if leaf not in edge]
        ways = tuple(sorted("out" if symmetric or u == neighbor else "in" for u, _ in between))
        branches[neighbor].append((ways, tuple(sorted(branches.pop(leaf)))))
    (last,) = branches.values()
    return tuple(sorted(last))


def _neighbors(vertex: int, edges: Iterable[Edge]) -> set[int]:
    return _vertices(edge for edge in edges if vertex in edge) - {vertex}


def _is_directed_cycle(triangle: Graph) -> bool:
    """Return whether every vertex of a directed triangle has one outgoing edge."""
    return len({u for u, _ in triangle}) == 3
