"""Sums of products of matrix entries over distinct samples, one for each small multigraph.

The q-th power of <A, P B P'> is a sum over 2q indices. Which of them coincide is a set partition of
2q places, and drawn with a vertex for each block and an edge for each factor it is a multigraph
with q edges, parallel edges and loops allowed. Over all n! orders the mean of the power is

    sum over set partitions s of  inj_A(s) inj_B(s) / (n (n - 1) ... (n - v + 1)),

with v vertices and inj the sum over *distinct* values of them: of each matrix by itself. Partitions
with the same multigraph have the same inj, so a few numbers of each matrix are enough: 32 for
powers up to the third if it is symmetric, 65 if not.
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

from ..base.arrays import inner, row_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

POWERS = (1, 2, 3)
HEIGHT = 64  # rows whose powers stay in the processor's cache
SMALL = 256  # samples of a symmetric matrix, below which its square takes less than its quarters

Edge = tuple[int, int]
Graph = tuple[Edge, ...]  # connected, its vertices numbered in one way
Multigraph = tuple[Graph, ...]  # its components, in order
# What hangs from a vertex: loops, and parallel edges ("out" or "in" each) to a vertex with branches
Branches = tuple[tuple[tuple[str, ...], Any], ...]
LOOP: tuple[tuple[str, ...], Any] = (("loop",), ())
SQUARES, SQUARES_OF_COLUMNS = ((("out",) * 2, ()), (("in",) * 2, ()))


class Expansion(NamedTuple):
    """The multigraphs with so many edges, and how their sums follow from those of components.

    ``multiplicity``: of how many set partitions each one is the picture. ``vertices``: how many it
    has. ``terms``: for each one, the multigraphs (and their coefficients) whose sums over *all*
    values of the vertices add up to its sum over distinct ones.
    """

    graphs: tuple[Multigraph, ...]
    multiplicity: np.ndarray
    vertices: np.ndarray
    terms: tuple[tuple[tuple[Multigraph, int], ...], ...]


# ------------------------------------------------------------------------------- forms of a matrix


@dataclass(frozen=True, eq=False)
class Offset:
    """S + c J: a sparse matrix and a constant in all its places, (n, n)."""

    sparse: csr_array
    constant: float

    def __len__(self) -> int:
        return int(self.sparse.shape[0])

    def diagonal(self) -> np.ndarray:
        return np.asarray(self.sparse.diagonal() + self.constant)

    def __getitem__(self, at: tuple[slice, slice]) -> np.ndarray:
        return np.asarray(self.sparse[at].toarray() + self.constant)

    def __matmul__(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.sparse @ weights + self.constant * weights.sum())

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, ...]:
        """Rows and columns of the places that, or whose mirrors, S has an entry for; the entries of
        both."""
        n, entries = len(self), self.sparse.tocoo()
        rows, columns = (side.astype(np.int64) for side in entries.coords)
        places = np.concatenate([rows * n + columns, columns * n + rows])
        places, at = np.unique(places, return_inverse=True)
        both = (np.bincount(part, entries.data, len(places)) for part in np.split(at, 2))
        return places // n, places % n, *(part + self.constant for part in both)

    def along(self, ways: tuple[str, ...], weights: np.ndarray) -> np.ndarray:
        """Return the products of a vector with those of entries along parallel edges, (n,)."""
        rows, columns, ahead, back = self._pairs
        common = self.constant ** len(ways)
        products = math.prod(ahead if way == "out" else back for way in ways) - common
        sums = np.bincount(rows, products * weights[columns], len(self))
        return sums + common * weights.sum()


@dataclass(frozen=True, eq=False)
class Factors:
    """A symmetric (n, n) matrix that is F W F' off its diagonal.

    ``points`` F, (n, r): points, then ones, then other columns. W is the identity but for ``last``
    in its last rows and columns, those of the ones and what follows.
    """

    points: np.ndarray
    last: np.ndarray
    on_diagonal: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    def weighted(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of F, or others as long, times W."""
        weighted, more = rows.copy(), len(self.last)
        weighted[..., -more:] = rows[..., -more:] @ self.last
        return weighted

    @cached_property
    def rest(self) -> np.ndarray:
        """What the diagonal is beyond that of F W F'."""
        more = len(self.last)
        points, columns = self.points[:, :-more], self.points[:, -more:]
        within = np.vecdot(points, points) + np.vecdot(columns @ self.last, columns)
        return self.on_diagonal - within

    def diagonal(self) -> np.ndarray:
        return self.on_diagonal

    def __getitem__(self, at: tuple[slice, slice]) -> np.ndarray:
        """Return the entries of rows, and of columns that begin with the first of these."""
        block = self.weighted(self.points[at[0]]) @ self.points[at[1]].T
        np.fill_diagonal(block, self.on_diagonal[at[0]])
        return block

    def __matmul__(self, weights: np.ndarray) -> np.ndarray:
        return self.points @ self.weighted(weights @ self.points) + self.rest * weights


Matrix = np.ndarray | Offset | Factors


def without_means(matrix: Matrix, factor: float, mean: float, of_diagonal: float) -> Matrix:
    """Return a matrix times a factor, minus a number off its diagonal and another one on it;
    arrays are overwritten."""
    n = len(matrix)
    if isinstance(matrix, Offset):
        from scipy.sparse import eye_array

        sparse = matrix.sparse * factor + eye_array(n) * (mean - of_diagonal)
        return Offset(sparse.tocsr(), matrix.constant * factor - mean)
    diagonal = matrix.diagonal() * factor - of_diagonal
    if isinstance(matrix, Factors):
        last = matrix.last * factor
        last[0, 0] -= mean
        matrix.points[:, : -len(last)] *= math.sqrt(factor)
        return Factors(matrix.points, last, diagonal)
    for start, stop in row_blocks(n):
        matrix[start:stop] *= factor
        matrix[start:stop] -= mean
    np.fill_diagonal(matrix, diagonal)
    return matrix


def self_product(matrix: Matrix) -> float:
    """Return <A, A>."""
    if isinstance(matrix, Offset):
        entries, constant = matrix.sparse.data, matrix.constant
        return float(entries @ (entries + 2 * constant) + (len(matrix) * constant) ** 2)
    if isinstance(matrix, Factors):
        gram = matrix.weighted(matrix.points.T @ matrix.points)
        within = matrix.on_diagonal**2 - (matrix.on_diagonal - matrix.rest) ** 2
        return float(np.vdot(gram, gram.T) + within.sum())
    return float(np.vdot(matrix, matrix))


# ------------------------------------------------------------------------------- of two matrices


def distinct_sums(matrix: Matrix, power: int, symmetric: bool, memo: dict[Any, Any]) -> np.ndarray:
    """Return inj of every multigraph with ``power`` edges, in the order of :func:`expansion`.

    ``memo`` has what is known of the matrix, and is filled in.
    """
    terms = expansion(power, symmetric).terms
    parts = {part for combination in terms for graph, _ in combination for part in graph}
    sums = {part: _graph_sum(part, matrix, symmetric, memo) for part in parts}

    def combined(combination: tuple[tuple[Multigraph, int], ...]) -> float:
        return sum(
            weight * math.prod(sums[part] for part in graph) for graph, weight in combination
        )

    return np.array([combined(combination) for combination in terms])


def mean_power(left: np.ndarray, right: np.ndarray, n: int, power: int, symmetric: bool) -> float:
    """Return the mean of <A, P B P'>^power over all orders P of n samples, from the sums of A and
    of B.

    Multigraphs with more vertices than there are samples have no sum over distinct ones.
    """
    parts = expansion(power, symmetric)
    orders = np.array([math.perm(n, int(v)) for v in parts.vertices], dtype=float)
    possible = orders > 0
    products = (parts.multiplicity * left * right)[possible]
    return float(np.sum(products / orders[possible]))


@cache
def expansion(edges: int, symmetric: bool) -> Expansion:
    """Return the multigraphs with so many edges; these are undirected for symmetric matrices."""
    drawn = (_drawn(partition, symmetric) for partition in set_partitions(2 * edges))
    counts = Counter(drawn)
    graphs = tuple(counts)
    return Expansion(
        graphs,
        np.array([counts[graph] for graph in graphs], dtype=float),
        np.array([sum(_order(part) for part in graph) for graph in graphs]),
        tuple(_distinct_terms(graph, symmetric) for graph in graphs),
    )


# ----------------------------------------------------------------------------- of multigraphs


def set_partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the set partitions of ``count`` places: the block of each, numbered as they appear."""

    def extended(blocks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(blocks) == count:
            yield blocks
            return
        for block in range(max(blocks, default=-1) + 2):
            yield from extended((*blocks, block))

    return extended(())


def _drawn(partition: Sequence[int], symmetric: bool) -> Multigraph:
    """Return the multigraph of a partition of places, of which each two are an edge."""
    return _in_one_way(tuple(zip(partition[::2], partition[1::2])), symmetric)


def _distinct_terms(graph: Multigraph, symmetric: bool) -> tuple[tuple[Multigraph, int], ...]:
    """Return which sums over all values add up to the sum over distinct ones, by inversion on the
    lattice of set partitions of the vertices.

    inj(g) = sum over partitions t of  mu(t) hom(g / t), with mu(t) the product over the blocks b of
    (-1)^(|b| - 1) (|b| - 1)!, and g / t the multigraph with the vertices of each block merged.
    """
    edges, terms = _side_by_side(graph), Counter[Multigraph]()
    for merged in set_partitions(1 + max(max(edge) for edge in edges)):
        sizes = Counter(merged).values()
        sign = math.prod((-1) ** (size - 1) * math.factorial(size - 1) for size in sizes)
        terms[_in_one_way(tuple((merged[u], merged[v]) for u, v in edges), symmetric)] += sign
    return tuple((g, weight) for g, weight in terms.items() if weight)


def _side_by_side(graph: Multigraph) -> Graph:
    """Return the edges of all components, their vertices numbered one after another."""
    edges: list[Edge] = []
    first = 0
    for part in graph:
        edges += [(u + first, v + first) for u, v in part]
        first += _order(part)
    return tuple(edges)


def _order(part: Graph) -> int:
    """Return the number of vertices of a component."""
    return 1 + max(max(edge) for edge in part)


@cache
def _in_one_way(edges: Graph, symmetric: bool) -> Multigraph:
    """Return the same for all numberings of the vertices of a multigraph."""
    return tuple(sorted(_numbered(part, symmetric) for part in _components(edges)))


def _components(edges: Graph) -> list[Graph]:
    parts: list[Graph] = []
    for edge in edges:
        touched = [part for part in parts if _vertices(part) & set(edge)]
        parts = [part for part in parts if part not in touched]
        parts.append((*(e for part in touched for e in part), edge))
    return parts


def _vertices(edges: Iterable[Edge]) -> set[int]:
    return {v for edge in edges for v in edge}


@cache
def _numbered(part: Graph, symmetric: bool) -> Graph:
    """Return the smallest of all numberings of the vertices of a component."""
    vertices = sorted(_vertices(part))
    numberings = (dict(zip(vertices, p)) for p in permutations(range(len(vertices))))
    return min(_renamed(part, numbers, symmetric) for numbers in numberings)


def _renamed(part: Graph, numbers: dict[int, int], symmetric: bool) -> Graph:
    renamed = ((numbers[u], numbers[v]) for u, v in part)
    return tuple(sorted((min(e), max(e)) if symmetric else e for e in renamed))


# ------------------------------------------------------------- sums over all values of vertices


def _graph_sum(part: Graph, matrix: Matrix, symmetric: bool, memo: dict[Any, Any]) -> float:
    """Return the sum over all values of the vertices of a component of the product of its edges.

    It is O(n^2) matrix-vector products, folded from the leaves; only a triangle needs the square of
    the matrix.
    """
    if _is_triangle(part):
        if "triangles" not in memo:
            memo["triangles"] = _triangles(matrix, symmetric, memo)
        value: float = memo["triangles"][_is_cyclic(part)]
        return value
    return float(_weights(_rooted(part, symmetric), matrix, symmetric, memo).sum())


def _is_triangle(part: Graph) -> bool:
    return len({frozenset(edge) for edge in part if edge[0] != edge[1]}) == 3 == _order(part)


def _is_cyclic(part: Graph) -> bool:
    """Say whether every vertex of a directed triangle has one edge out."""
    return len({u for u, _ in part}) == 3


def _triangles(matrix: Matrix, symmetric: bool, memo: dict[Any, Any]) -> tuple[float, float]:
    """Return sum A_ij A_jk A_ik and sum A_ij A_jk A_ki."""
    if isinstance(matrix, Offset):
        return _sparse_triangles(matrix)
    if isinstance(matrix, Factors):
        return (_cube_of_factors(matrix, folded(SQUARES, matrix, symmetric, memo)),) * 2
    if symmetric:
        return (_cube(matrix),) * 2
    passed = cycled = 0.0
    for start, stop in row_blocks(len(matrix)):
        paths = matrix[start:stop] @ matrix
        passed += float(inner(paths, matrix[start:stop]))
        cycled += float(inner(paths, matrix[:, start:stop].T))
    return passed, cycled


def _cube(matrix: np.ndarray) -> float:
    r"""Return the trace of the cube of a symmetric matrix: a third of the products of the square.

    .. math:: \operatorname{tr} \begin{pmatrix} P & Q \\ Q^\top & R \end{pmatrix}^3 =
        \operatorname{tr} P^3 + \operatorname{tr} R^3 + 3 \langle Q Q^\top, P \rangle +
        3 \langle Q^\top Q, R \rangle
    """
    n = len(matrix)
    if n <= SMALL:
        return float(np.vecdot(matrix @ matrix.T, matrix).sum())
    first, between = np.split(matrix[: n // 2], [n // 2], axis=1)
    last = matrix[n // 2 :, n // 2 :]
    across = np.vecdot(between @ between.T, first).sum()
    across += np.vecdot(between.T @ between, last).sum()
    return _cube(first) + _cube(last) + 3 * float(across)


def _cube_of_factors(matrix: Factors, squares: np.ndarray) -> float:
    r"""Return the trace of the cube of :math:`B + D = F W F^\top + D` in O(n r^2) time, from the
    sums of the squares in its rows.

    .. math:: \operatorname{tr} (B + D)^3 = \operatorname{tr} B^3 + 3 \operatorname{tr} B^2 D + 3
        \operatorname{tr} B D^2 + \operatorname{tr} D^3
    """
    rest, once = matrix.rest, matrix.on_diagonal - matrix.rest
    gram = matrix.weighted(matrix.points.T @ matrix.points)
    twice = squares - matrix.on_diagonal**2 + once**2
    cube = float(np.vdot(gram @ gram, gram.T))
    return cube + float(rest @ (3 * twice + rest * (3 * once + rest)))


def _sparse_triangles(matrix: Offset) -> tuple[float, float]:
    """Return :func:`_triangles` of S + c J."""
    n, sparse, constant = len(matrix), matrix.sparse, matrix.constant
    rows: np.ndarray = sparse.sum(axis=1)
    columns: np.ndarray = sparse.sum(axis=0)
    paths, offset = sparse @ sparse, constant * n
    common = constant * (rows @ columns + 3 * offset * rows.sum() + offset * offset * n)
    passed = (paths * sparse).sum() + constant * (rows @ rows + columns @ columns) + common
    cycled = (paths * sparse.T).sum() + 2 * constant * (rows @ columns) + common
    return float(passed), float(cycled)


@cache
def _rooted(part: Graph, symmetric: bool) -> Branches:
    """Return what hangs from the vertex of a component that has the most edges."""
    degree = Counter(v for edge in part for v in edge)
    return _branches(max(degree, key=lambda v: degree[v]), part, symmetric)


def _branches(vertex: int, edges: Graph, symmetric: bool) -> Branches:
    """Return what hangs from a vertex of a multigraph without cycles but parallel edges and
    loops."""
    here = [edge for edge in edges if vertex in edge]
    rest = tuple(edge for edge in edges if vertex not in edge)
    branches = [LOOP for u, v in here if u == v]
    for other in _vertices(here) - {vertex}:
        between = [edge for edge in here if other in edge]
        ways = tuple(sorted("out" if symmetric or u == vertex else "in" for u, _ in between))
        branches.append((ways, _branches(other, rest, symmetric)))
    return tuple(sorted(branches))


def _weights(
    branches: Branches, matrix: Matrix, symmetric: bool, memo: dict[Any, Any]
) -> np.ndarray:
    """Return for each value of a vertex the product of what hangs from it, shape (n,)."""
    if branches not in memo:
        parts = [folded(branch, matrix, symmetric, memo) for branch in branches]
        memo[branches] = math.prod(parts, start=np.ones(len(matrix)))
    weights: np.ndarray = memo[branches]
    return weights


def folded(branch: Any, matrix: Matrix, symmetric: bool, memo: dict[Any, Any]) -> np.ndarray:
    """Return for each value of a vertex the sum over those of the one at the end of a branch."""
    if branch == LOOP:
        return matrix.diagonal()
    if branch not in memo:
        ways, further = branch
        weights = _weights(further, matrix, symmetric, memo)
        if not weights.any():
            memo[branch] = weights
        elif ways == ("out",):
            memo[branch] = matrix @ weights
        elif isinstance(matrix, Factors) or (symmetric and not isinstance(matrix, Offset)):
            for count, sums in zip(POWERS[1:], _sums_of_powers(matrix, weights)):
                memo[("out",) * count, further] = sums
        elif isinstance(matrix, Offset):
            memo[branch] = matrix.along(ways, weights)
        else:
            sides = [matrix if way == "out" else matrix.T for way in ways]
            pieces = [[side[i:j] for side in sides] for i, j in row_blocks(len(matrix))]
            memo[branch] = np.concatenate([reduce(np.multiply, p) @ weights for p in pieces])
    vector: np.ndarray = memo[branch]
    return vector


def _sums_of_powers(matrix: np.ndarray | Factors, weights: np.ndarray) -> np.ndarray:
    """Return the products of a vector with the squares and with the cubes of the entries of a
    symmetric matrix, from those above its diagonal, shape (2, n)."""
    powers = np.zeros((2, len(matrix)))
    for start, stop in row_blocks(len(matrix), HEIGHT):
        power = block = matrix[start:stop, start:]
        for sums in powers:
            power = power * block
            sums[start:stop] += power @ weights[start:]
            sums[stop:] += weights[start:stop] @ power[:, stop - start :]
    return powers
