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
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.arrays import frobenius_inner, row_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ENTRY_POWERS = (1, 2, 3)
CACHED_BLOCK_ROWS = 64  # rows per block, so that powers stay in the processor's cache
# For a smaller symmetric matrix, the full square is faster than the recursion on quarters.
MAX_FULL_SQUARE_SAMPLES = 256

Edge = tuple[int, int]
Graph = tuple[Edge, ...]  # connected, with canonical vertex numbers
Multigraph = tuple[Graph, ...]  # sorted components
# The branches at a vertex: loops, and parallel edges ("out" or "in") to a vertex with branches
Branches = tuple[tuple[tuple[str, ...], Any], ...]
LOOP: tuple[tuple[str, ...], Any] = (("loop",), ())
SQUARED_ROW_BRANCH, SQUARED_COLUMN_BRANCH = ((("out",) * 2, ()), (("in",) * 2, ()))


class Expansion(NamedTuple):
    """The multigraphs with a given number of edges, and formulas for their sums.

    ``multiplicity``: the number of set partitions per multigraph. ``vertices``: the number of
    vertices. ``terms``: for each multigraph, the multigraphs and coefficients with sums over *all*
    values of the vertices that add up to the sum over distinct values.
    """

    graphs: tuple[Multigraph, ...]
    multiplicity: np.ndarray
    vertices: np.ndarray
    terms: tuple[tuple[tuple[Multigraph, int], ...], ...]


# ------------------------------------------------------------------------------- forms of a matrix


@dataclass(frozen=True, eq=False)
class SparsePlusConstant:
    """S + c J: a sparse matrix S plus a constant c in all entries, (n, n)."""

    sparse: csr_array
    constant: float

    def __len__(self) -> int:
        return int(self.sparse.shape[0])

    def diagonal(self) -> np.ndarray:
        return np.asarray(self.sparse.diagonal() + self.constant)

    def __getitem__(self, index: tuple[slice, slice]) -> np.ndarray:
        return np.asarray(self.sparse[index].toarray() + self.constant)

    def __matmul__(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.sparse @ weights + self.constant * weights.sum())

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, ...]:
        """Rows i and columns j of the nonzero entries of S and S', and the entries (i, j) and (j,
        i).

        The entries include the constant c.
        """
        n, entries = len(self), self.sparse.tocoo()
        rows, columns = (side.astype(np.int64) for side in entries.coords)
        places = np.concatenate([rows * n + columns, columns * n + rows])
        places, inverse = np.unique(places, return_inverse=True)
        values = (np.bincount(part, entries.data, len(places)) for part in np.split(inverse, 2))
        return places // n, places % n, *(part + self.constant for part in values)

    def along(self, ways: tuple[str, ...], weights: np.ndarray) -> np.ndarray:
        """Return M @ weights, (n,), with M the entrywise product of the matrices along parallel
        edges.

        A way "out" stands for S + c J, a way "in" for the transpose.
        """
        rows, columns, forward, backward = self._pairs
        common = self.constant ** len(ways)
        products = math.prod(forward if way == "out" else backward for way in ways) - common
        sums = np.bincount(rows, products * weights[columns], len(self))
        return sums + common * weights.sum()


@dataclass(frozen=True, eq=False)
class FactoredMatrix:
    """A symmetric (n, n) matrix equal to F W F' off the diagonal.

    ``points`` F, (n, r): points, then ones, then other columns. W is the identity except for the
    block ``last`` in its last rows and columns: the block of the ones and the columns after the
    ones.
    """

    points: np.ndarray
    last: np.ndarray
    on_diagonal: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    def weighted(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of F, or other rows of the same length, times W."""
        weighted, width = rows.copy(), len(self.last)
        weighted[..., -width:] = rows[..., -width:] @ self.last
        return weighted

    @cached_property
    def rest(self) -> np.ndarray:
        """The diagonal minus the diagonal of F W F'."""
        width = len(self.last)
        points, columns = self.points[:, :-width], self.points[:, -width:]
        factored = np.vecdot(points, points) + np.vecdot(columns @ self.last, columns)
        return self.on_diagonal - factored

    def diagonal(self) -> np.ndarray:
        return self.on_diagonal

    def __getitem__(self, index: tuple[slice, slice]) -> np.ndarray:
        """Return a block of entries; the columns must begin at the first row of the block."""
        block = self.weighted(self.points[index[0]]) @ self.points[index[1]].T
        np.fill_diagonal(block, self.on_diagonal[index[0]])
        return block

    def __matmul__(self, weights: np.ndarray) -> np.ndarray:
        return self.points @ self.weighted(weights @ self.points) + self.rest * weights


SummableMatrix = np.ndarray | SparsePlusConstant | FactoredMatrix


def subtract_means(
    matrix: SummableMatrix, factor: float, mean: float, diagonal_mean: float
) -> SummableMatrix:
    """Return a matrix times a factor, minus one number off the diagonal and another on the
    diagonal.

    Arrays are overwritten.
    """
    n = len(matrix)
    if isinstance(matrix, SparsePlusConstant):
        from scipy.sparse import eye_array

        sparse = matrix.sparse * factor + eye_array(n) * (mean - diagonal_mean)
        return SparsePlusConstant(sparse.tocsr(), matrix.constant * factor - mean)
    diagonal = matrix.diagonal() * factor - diagonal_mean
    if isinstance(matrix, FactoredMatrix):
        last = matrix.last * factor
        last[0, 0] -= mean
        matrix.points[:, : -len(last)] *= math.sqrt(factor)
        return FactoredMatrix(matrix.points, last, diagonal)
    for start, stop in row_blocks(n):
        matrix[start:stop] *= factor
        matrix[start:stop] -= mean
    np.fill_diagonal(matrix, diagonal)
    return matrix


def self_product(matrix: SummableMatrix) -> float:
    """Return <A, A>."""
    if isinstance(matrix, SparsePlusConstant):
        entries, constant = matrix.sparse.data, matrix.constant
        return float(entries @ (entries + 2 * constant) + (len(matrix) * constant) ** 2)
    if isinstance(matrix, FactoredMatrix):
        gram = matrix.weighted(matrix.points.T @ matrix.points)
        corrections = matrix.on_diagonal**2 - (matrix.on_diagonal - matrix.rest) ** 2
        return float(np.vdot(gram, gram.T) + corrections.sum())
    return float(np.vdot(matrix, matrix))


# ------------------------------------------------------------------------------- of two matrices


def distinct_sums(
    matrix: SummableMatrix, power: int, symmetric: bool, memo: dict[Any, Any]
) -> np.ndarray:
    """Return inj of every multigraph with ``power`` edges, in the order of :func:`graph_expansion`.

    ``memo`` caches partial sums of the matrix; the function adds new sums.
    """
    terms = graph_expansion(power, symmetric).terms
    parts = {part for combination in terms for graph, _ in combination for part in graph}
    sums = {part: _graph_sum(part, matrix, symmetric, memo) for part in parts}

    def combined(combination: tuple[tuple[Multigraph, int], ...]) -> float:
        return sum(
            weight * math.prod(sums[part] for part in graph) for graph, weight in combination
        )

    return np.array([combined(combination) for combination in terms])


def mean_inner_product_power(
    left: np.ndarray, right: np.ndarray, n: int, power: int, symmetric: bool
) -> float:
    """Return the mean of <A, P B P'>^power over all permutations P of n samples.

    ``left`` and ``right`` are the sums over distinct samples of A and B. Multigraphs with more than
    n vertices have no such sum and are left out.
    """
    parts = graph_expansion(power, symmetric)
    orders = np.array([math.perm(n, int(v)) for v in parts.vertices], dtype=float)
    mask = orders > 0
    products = (parts.multiplicity * left * right)[mask]
    return float(np.sum(products / orders[mask]))


@cache
def graph_expansion(edges: int, symmetric: bool) -> Expansion:
    """Return the multigraphs with ``edges`` edges; undirected for symmetric matrices."""
    multigraphs = (
        _partition_multigraph(partition, symmetric) for partition in set_partitions(2 * edges)
    )
    counts = Counter(multigraphs)
    graphs = tuple(counts)
    return Expansion(
        graphs,
        np.array([counts[graph] for graph in graphs], dtype=float),
        np.array([sum(_vertex_count(part) for part in graph) for graph in graphs]),
        tuple(_distinct_terms(graph, symmetric) for graph in graphs),
    )


# ----------------------------------------------------------------------------- of multigraphs


def set_partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the set partitions of ``count`` places, as block numbers in the order of appearance."""

    def extended(blocks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(blocks) == count:
            yield blocks
            return
        for block in range(max(blocks, default=-1) + 2):
            yield from extended((*blocks, block))

    return extended(())


def _partition_multigraph(partition: Sequence[int], symmetric: bool) -> Multigraph:
    """Return the multigraph of a set partition; places 2i and 2i + 1 form an edge."""
    return _canonical_multigraph(tuple(zip(partition[::2], partition[1::2])), symmetric)


def _distinct_terms(graph: Multigraph, symmetric: bool) -> tuple[tuple[Multigraph, int], ...]:
    """Write the sum over distinct values as a combination of sums over all values.

    The coefficients come from Möbius inversion on the lattice of set partitions of the vertices:
    inj(g) = sum over partitions t of  mu(t) hom(g / t), with mu(t) the product over the blocks b of
    (-1)^(|b| - 1) (|b| - 1)!, and g / t the multigraph with the vertices of each block merged.
    """
    edges, terms = _disjoint_union_edges(graph), Counter[Multigraph]()
    for partition in set_partitions(1 + max(max(edge) for edge in edges)):
        sizes = Counter(partition).values()
        sign = math.prod((-1) ** (size - 1) * math.factorial(size - 1) for size in sizes)
        terms[
            _canonical_multigraph(tuple((partition[u], partition[v]) for u, v in edges), symmetric)
        ] += sign
    return tuple((g, weight) for g, weight in terms.items() if weight)


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
    """Return a canonical form of a multigraph, independent of vertex labels."""
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
    """Return the smallest edge list of a component over all numberings of the vertices."""
    vertices = sorted(_vertices(part))
    numberings = (dict(zip(vertices, p)) for p in permutations(range(len(vertices))))
    return min(_relabel_vertices(part, numbers, symmetric) for numbers in numberings)


def _relabel_vertices(part: Graph, numbers: dict[int, int], symmetric: bool) -> Graph:
    relabeled = ((numbers[u], numbers[v]) for u, v in part)
    return tuple(sorted((min(e), max(e)) if symmetric else e for e in relabeled))


# ------------------------------------------------------------- sums over all values of vertices


def _graph_sum(part: Graph, matrix: SummableMatrix, symmetric: bool, memo: dict[Any, Any]) -> float:
    """Return the sum, over all values of the vertices, of the product of the edges of a component.

    The sum takes O(n^2) matrix-vector products, contracted from the leaves; only a triangle needs
    the square of the matrix.
    """
    if _is_triangle(part):
        if "triangles" not in memo:
            memo["triangles"] = _triangle_sums(matrix, symmetric, memo)
        value: float = memo["triangles"][_is_directed_cycle(part)]
        return value
    return float(_branch_products(_branches_at_hub(part, symmetric), matrix, symmetric, memo).sum())


def _is_triangle(part: Graph) -> bool:
    return len({frozenset(edge) for edge in part if edge[0] != edge[1]}) == 3 == _vertex_count(part)


def _is_directed_cycle(part: Graph) -> bool:
    """Return whether every vertex of a directed triangle has one outgoing edge."""
    return len({u for u, _ in part}) == 3


def _triangle_sums(
    matrix: SummableMatrix, symmetric: bool, memo: dict[Any, Any]
) -> tuple[float, float]:
    """Return sum A_ij A_jk A_ik and sum A_ij A_jk A_ki."""
    if isinstance(matrix, SparsePlusConstant):
        return _sparse_triangles(matrix)
    if isinstance(matrix, FactoredMatrix):
        return (
            _trace_of_factored_cube(
                matrix, contract_branch(SQUARED_ROW_BRANCH, matrix, symmetric, memo)
            ),
        ) * 2
    if symmetric:
        return (_trace_of_cube(matrix),) * 2
    transitive = cyclic = 0.0
    for start, stop in row_blocks(len(matrix)):
        paths = matrix[start:stop] @ matrix
        transitive += float(frobenius_inner(paths, matrix[start:stop]))
        cyclic += float(frobenius_inner(paths, matrix[:, start:stop].T))
    return transitive, cyclic


def _trace_of_cube(matrix: np.ndarray) -> float:
    r"""Return the trace of the cube of a symmetric matrix, with a third of the work of the full
    square.

    .. math:: \operatorname{tr} \begin{pmatrix} P & Q \\ Q^\top & R \end{pmatrix}^3 =
        \operatorname{tr} P^3 + \operatorname{tr} R^3 + 3 \langle Q Q^\top, P \rangle +
        3 \langle Q^\top Q, R \rangle
    """
    n = len(matrix)
    if n <= MAX_FULL_SQUARE_SAMPLES:
        return float(np.vecdot(matrix @ matrix.T, matrix).sum())
    first, off_block = np.split(matrix[: n // 2], [n // 2], axis=1)
    last = matrix[n // 2 :, n // 2 :]
    cross_sum = np.vecdot(off_block @ off_block.T, first).sum()
    cross_sum += np.vecdot(off_block.T @ off_block, last).sum()
    return _trace_of_cube(first) + _trace_of_cube(last) + 3 * float(cross_sum)


def _trace_of_factored_cube(matrix: FactoredMatrix, squares: np.ndarray) -> float:
    r"""Return the trace of the cube of :math:`B + D = F W F^\top + D` in O(n r^2) time.

    ``squares``: the sums of squares of the rows.

    .. math:: \operatorname{tr} (B + D)^3 = \operatorname{tr} B^3 + 3 \operatorname{tr} B^2 D + 3
        \operatorname{tr} B D^2 + \operatorname{tr} D^3
    """
    residual, diagonal = matrix.rest, matrix.on_diagonal - matrix.rest
    gram = matrix.weighted(matrix.points.T @ matrix.points)
    squared_diagonal = squares - matrix.on_diagonal**2 + diagonal**2
    cube = float(np.vdot(gram @ gram, gram.T))
    return cube + float(residual @ (3 * squared_diagonal + residual * (3 * diagonal + residual)))


def _sparse_triangles(matrix: SparsePlusConstant) -> tuple[float, float]:
    """Return :func:`_triangle_sums` of S + c J."""
    n, sparse, constant = len(matrix), matrix.sparse, matrix.constant
    rows: np.ndarray = sparse.sum(axis=1)
    columns: np.ndarray = sparse.sum(axis=0)
    paths, offset = sparse @ sparse, constant * n
    common = constant * (rows @ columns + 3 * offset * rows.sum() + offset * offset * n)
    transitive = (paths * sparse).sum() + constant * (rows @ rows + columns @ columns) + common
    cyclic = (paths * sparse.T).sum() + 2 * constant * (rows @ columns) + common
    return float(transitive), float(cyclic)


@cache
def _branches_at_hub(part: Graph, symmetric: bool) -> Branches:
    """Return the branches at the vertex of a component with the most edges."""
    degree = Counter(v for edge in part for v in edge)
    return _branches_at_vertex(max(degree, key=lambda v: degree[v]), part, symmetric)


def _branches_at_vertex(vertex: int, edges: Graph, symmetric: bool) -> Branches:
    """Return the branches at a vertex; the only cycles allowed are parallel edges and loops."""
    incident = [edge for edge in edges if vertex in edge]
    remaining = tuple(edge for edge in edges if vertex not in edge)
    branches = [LOOP for u, v in incident if u == v]
    for neighbor in _vertices(incident) - {vertex}:
        parallel = [edge for edge in incident if neighbor in edge]
        ways = tuple(sorted("out" if symmetric or u == vertex else "in" for u, _ in parallel))
        branches.append((ways, _branches_at_vertex(neighbor, remaining, symmetric)))
    return tuple(sorted(branches))


def _branch_products(
    branches: Branches, matrix: SummableMatrix, symmetric: bool, memo: dict[Any, Any]
) -> np.ndarray:
    """Contract all branches at a vertex; return one number per value of the vertex, shape (n,)."""
    if branches not in memo:
        parts = [contract_branch(branch, matrix, symmetric, memo) for branch in branches]
        memo[branches] = math.prod(parts, start=np.ones(len(matrix)))
    weights: np.ndarray = memo[branches]
    return weights


def contract_branch(
    branch: Any, matrix: SummableMatrix, symmetric: bool, memo: dict[Any, Any]
) -> np.ndarray:
    """Contract a branch: sum over the neighbour, for every value of the vertex, shape (n,)."""
    if branch == LOOP:
        return matrix.diagonal()
    if branch not in memo:
        ways, subbranches = branch
        weights = _branch_products(subbranches, matrix, symmetric, memo)
        if not weights.any():
            memo[branch] = weights
        elif ways == ("out",):
            memo[branch] = matrix @ weights
        elif isinstance(matrix, FactoredMatrix) or (
            symmetric and not isinstance(matrix, SparsePlusConstant)
        ):
            for count, sums in zip(ENTRY_POWERS[1:], _products_with_entry_powers(matrix, weights)):
                memo[("out",) * count, subbranches] = sums
        elif isinstance(matrix, SparsePlusConstant):
            memo[branch] = matrix.along(ways, weights)
        else:
            sides = [matrix if way == "out" else matrix.T for way in ways]
            pieces = [[side[i:j] for side in sides] for i, j in row_blocks(len(matrix))]
            memo[branch] = np.concatenate([reduce(np.multiply, p) @ weights for p in pieces])
    vector: np.ndarray = memo[branch]
    return vector


def _products_with_entry_powers(
    matrix: np.ndarray | FactoredMatrix, weights: np.ndarray
) -> np.ndarray:
    """Return the entrywise square and the entrywise cube of a matrix, times a vector, shape (2, n).

    The matrix is symmetric; only blocks on and above the diagonal are computed.
    """
    powers = np.zeros((2, len(matrix)))
    for start, stop in row_blocks(len(matrix), CACHED_BLOCK_ROWS):
        power = block = matrix[start:stop, start:]
        for sums in powers:
            power = power * block
            sums[start:stop] += power @ weights[start:]
            sums[stop:] += weights[start:stop] @ power[:, stop - start :]
    return powers
