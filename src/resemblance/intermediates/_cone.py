r"""The first persistent homology of a mapping cone of Vietoris-Rips complexes: compiled kernels.

**The complex.** Let :math:`m \le w` be two symmetric matrices on n points. The mapping cone of
:math:`\mathrm{VR}(w) \to \mathrm{VR}(m)` is VR(m) with a cone over VR(w) glued to VR(m). Up to
dimension 2 the mapping cone has

* the n points and an apex, all at 0, and an edge from the apex to every point, at 0;
* an edge e at m(e) for every pair of points, and a triangle at the largest m of its three edges;
* the *cone triangle* of every edge e, spanned by e and the apex, at w(e).

No bar of H1 is infinite. The apex joins all points at 0, so every other edge e adds a cycle, and
the cycle of e is a boundary from w(e) on. All cycles are boundaries from the *enclosing radius*
:math:`r = \min_u \max_v w(u, v)` on: at r some point u is joined to all other points in VR(w),
hence in VR(m), so VR(w), VR(m) and the mapping cone are contractible. Edges and triangles beyond r
can be ignored.

**The algorithm.** Sweep the filtration upwards. For every edge e keep the value :math:`\varphi(e)`
of a basis of the cocycles on e: a vector over :math:`\mathbb{F}_2` with one coordinate per class
(an *annotation*: Dey, Fan and Wang, "Computing topological persistence for simplicial maps", 2014).
A 1-cycle is a boundary iff the values of its edges sum to zero. Cocycles may be chosen to vanish on
the apex's edges, hence

* an edge that enters without any triangle gives birth to a class: a new coordinate, 1 on this edge
  and 0 elsewhere;
* an edge that enters with its cone triangle, w(e) = m(e), has the value 0;
* any other edge ij gets the value that its first triangle dictates, :math:`\varphi(iv) +
  \varphi(jv)`;
* every further triangle demands :math:`\varphi(ij) + \varphi(iv) + \varphi(jv) = 0`, a later cone
  triangle
  :math:`\varphi(ij) = 0`. Where the left side is not yet zero, the youngest class in the sum dies,
  and from then on its coordinate equals the sum of the older coordinates.

**Why the sweep is fast.** Nearly all of the O(n^3) triangles demand nothing new. The triangles at
an entering edge ij correspond to the common neighbours of i and j. If two common neighbours u and v
are joined by an edge, the triangles iuv and juv have entered before, so the triangles iju and ijv
make the same demand. A single triangle per connected component of the *link*, the graph on the
common neighbours, is therefore enough; most links are connected. With one bit per point, a link is
the AND of two rows of the adjacency matrix, and a few more operations on whole rows find the
components. Links depend on m only: the two directions of a cross-barcode share the links.

When a class dies, its coordinate is not eliminated from all vectors. The sweep keeps the relation,
and applies the relation to a vector only to test whether the vector is zero. Coordinates are
numbered from the youngest class to the oldest, so the class that dies is the first bit of a vector.

Sets of points and vectors over :math:`\mathbb{F}_2` are rows of a matrix of 64-bit words, ``Words``
below.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from ..base.compiled import compile_on_first_call

IntegerArray: TypeAlias = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
BitWords: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
BooleanArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

ZERO_WORD = np.uint64(0)
ONE_WORD = np.uint64(1)


class Edges(NamedTuple):
    """Pairs of points, first < second, in the order of entry."""

    first: IntegerArray
    second: IntegerArray


class Links(NamedTuple):
    """Points that stand for the components of the links: ``points[starts[e]:starts[e + 1]]`` holds
    a point of every component of the link of the e-th edge."""

    starts: IntegerArray
    points: IntegerArray


# --------------------------------------------------------------------------------------------- bits


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(context: Any, word: Any) -> Any:
    """Return the position of the lowest bit of a nonzero word, for compiled code
    (``trailing_zeros(word)``): a single machine instruction without a NumPy function. Numba passes
    ``context``; callers pass ``word`` alone."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], target.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


def lowest_bit(word: Any) -> int:
    """Return the position of the lowest bit of a nonzero word, in plain Python."""
    return (int(word) & -int(word)).bit_length() - 1


if config.DISABLE_JIT:  # debuggers and coverage see Python code only
    trailing_zeros = lowest_bit


@compile_on_first_call
def first_bit(words: BitWords, row: int) -> int:
    """Return the position of the lowest bit in row ``row`` of ``words``, -1 if all bits of the row
    are 0."""
    for k in range(words.shape[1]):
        if words[row, k] != ZERO_WORD:
            return 64 * k + int(trailing_zeros(words[row, k]))
    return -1


@compile_on_first_call
def flip_bit(words: BitWords, row: int, bit: int) -> None:
    """Flip the bit at position ``bit`` in row ``row`` of ``words``, in place."""
    words[row, bit >> 6] ^= ONE_WORD << np.uint64(bit & 63)


@compile_on_first_call
def add_rows_modulo_two(words: BitWords, a: int, b: int, out: int) -> None:
    """Write the sum over F2 (exclusive or) of rows ``a`` and ``b`` of ``words`` into row ``out``,
    in place."""
    for k in range(words.shape[1]):
        words[out, k] = words[a, k] ^ words[b, k]


# -------------------------------------------------------------------------------------------- links

# Rows of a search: points not reached yet; points reached, with neighbours still to visit.
UNSEEN_POINTS_ROW, SEEN_POINTS_ROW = 0, 1
# Words per row for up to 512 points, used where ``wide``, the number of words, is None. The
# compiler knows this constant and unrolls loops over words into a few operations on whole rows.
FIXED_WORD_COUNT = 8


@compile_on_first_call
def common_neighbors(
    adjacency: BitWords, i: int, j: int, search: BitWords, wide: int | None
) -> bool:
    """Write the common neighbours of points i and j into the unseen points of ``search``; return
    whether there are any.

    ``adjacency``: a bit row per point. ``search``: the rows of unseen and of seen points. ``wide``:
    the number of words per row, None for ``FIXED_WORD_COUNT``.
    """
    union = ZERO_WORD
    for k in range(FIXED_WORD_COUNT if wide is None else wide):
        common = adjacency[i, k] & adjacency[j, k]
        search[UNSEEN_POINTS_ROW, k] = common
        union |= common
    return bool(union != ZERO_WORD)


@compile_on_first_call
def see_neighbors(adjacency: BitWords, point: int, search: BitWords, wide: int | None) -> bool:
    """Move the unseen neighbours of a point to the seen points of ``search``, in place; return
    whether unseen points are left.

    ``adjacency``: a bit row per point. ``search``: the rows of unseen and of seen points. ``wide``:
    the number of 64-bit words per row, None for ``FIXED_WORD_COUNT``.
    """
    remaining = ZERO_WORD
    for k in range(FIXED_WORD_COUNT if wide is None else wide):
        neighbors = adjacency[point, k] & search[UNSEEN_POINTS_ROW, k]
        unseen = search[UNSEEN_POINTS_ROW, k] & ~neighbors
        search[SEEN_POINTS_ROW, k] |= neighbors
        search[UNSEEN_POINTS_ROW, k] = unseen
        remaining |= unseen
    return bool(remaining != ZERO_WORD)


@compile_on_first_call
def see_component(adjacency: BitWords, point: int, search: BitWords, wide: int | None) -> bool:
    """Remove the connected component of ``point`` from the unseen points of ``search``, in place;
    return whether unseen points are left.

    ``adjacency``: a bit row per point. ``search``: the rows of unseen and of seen points. ``wide``:
    the number of 64-bit words per row, None for ``FIXED_WORD_COUNT``. In a connected link a few
    points have all other points as neighbours, so the search ends long before it has visited every
    point.
    """
    flip_bit(search, UNSEEN_POINTS_ROW, point)
    for k in range(FIXED_WORD_COUNT if wide is None else wide):
        search[SEEN_POINTS_ROW, k] = ZERO_WORD
    while see_neighbors(adjacency, point, search, wide):
        point = first_bit(search, SEEN_POINTS_ROW)
        if point < 0:
            return True
        flip_bit(search, SEEN_POINTS_ROW, point)
    return False


def link_components(n: int, edges: Edges, starts: IntegerArray) -> IntegerArray:
    """Return a point of every component of the link of each edge, one edge after another; fill
    ``starts``, (edges + 1,), in place.

    ``n``: the number of points. The link of an edge consists of the common neighbours of its ends
    when the edge enters. The points of edge e are at ``starts[e]`` to ``starts[e + 1]``: the
    returned points and ``starts`` make up ``Links``. The function does not return ``Links``,
    because a compiled function that returns a tuple crashes Python when interrupted.
    """
    words = (n + 63) // 64
    return link_components_by_words(n, edges, starts, None if words <= FIXED_WORD_COUNT else words)


@compile_on_first_call
def link_components_by_words(
    n: int, edges: Edges, starts: IntegerArray, wide: int | None
) -> IntegerArray:
    """Return a point of every component of the link of each edge, as positions from 0 to ``n`` - 1,
    one edge after another; fill ``starts``, (edges + 1,), in place.

    The points of edge e are at ``starts[e]`` to ``starts[e + 1]``. ``wide``: the number of 64-bit
    words of a row of bits, None for ``FIXED_WORD_COUNT``. A row has a bit per point.
    """
    adjacency = np.zeros((n, FIXED_WORD_COUNT if wide is None else wide), np.uint64)
    search = np.empty((2, adjacency.shape[1]), np.uint64)
    points = np.empty(2 * len(edges.first) + n, np.int32)
    size = starts[0] = 0
    for e in range(len(edges.first)):
        i, j = edges.first[e], edges.second[e]
        if size + n > len(points):
            points = np.concatenate((points, np.empty_like(points)))
        unseen = common_neighbors(adjacency, i, j, search, wide)
        while unseen:
            points[size] = first_bit(search, UNSEEN_POINTS_ROW)
            unseen = see_component(adjacency, points[size], search, wide)
            size += 1
        starts[e + 1] = size
        flip_bit(adjacency, i, j)
        flip_bit(adjacency, j, i)
    return points[:size].copy()


# ------------------------------------------------------------------------------------------ classes
#
# The sweep keeps all vectors in a single matrix: three rows with a purpose, then the relations of
# the classes, then the values of edges. ``value[i, j]`` is the row of an edge's value. Edges of
# equal value may share a row, because relations change how a value is written, not the value.

# Rows: always zero; scratch for sums; the set of dead classes; the relation of class 0.
ZERO_ROW, WORK_ROW, DEAD_CLASSES_ROW, FIRST_RELATION_ROW = 0, 1, 2, 3


@compile_on_first_call
def reduce_to_living_classes(vectors: BitWords, row: int) -> None:
    """Replace every dead class in row ``row`` of ``vectors`` by the living classes of its
    relation, in place.

    A relation begins with the dead class, so a single upward pass is enough.
    """
    for k in range(vectors.shape[1]):
        dead_classes = vectors[row, k] & vectors[DEAD_CLASSES_ROW, k]
        while dead_classes != ZERO_WORD:
            relation = FIRST_RELATION_ROW + 64 * k + trailing_zeros(dead_classes)
            for word in range(k, vectors.shape[1]):
                vectors[row, word] ^= vectors[relation, word]
            dead_classes = vectors[row, k] & vectors[DEAD_CLASSES_ROW, k]


@compile_on_first_call
def kill_youngest_class(row: int, level: float, vectors: BitWords, bars: FloatArray) -> int:
    """Make the vector in row ``row`` of ``vectors`` zero, in place: the youngest class in the
    vector dies at ``level``. Return the number of deaths: 0 for a vector that is zero already, else
    1.

    The function writes the death into ``bars``, the birth and death of every class, and the
    relation of the class into ``vectors``.
    """
    reduce_to_living_classes(vectors, row)
    youngest = first_bit(vectors, row)
    if youngest < 0:
        return 0
    add_rows_modulo_two(vectors, row, ZERO_ROW, FIRST_RELATION_ROW + youngest)
    flip_bit(vectors, DEAD_CLASSES_ROW, youngest)
    bars[youngest, 1] = level
    return 1


@compile_on_first_call
def fill_triangle(
    i: int,
    j: int,
    point: int,
    level: float,
    value: IntegerArray,
    vectors: BitWords,
    bars: FloatArray,
) -> int:
    """Make the sum of the values of the edges of the triangle i, j, ``point`` zero: if the sum is
    not zero, a class dies at ``level``. Return the number of deaths, 0 or 1.

    ``value``: (n, n), the row in ``vectors`` of the value of every edge. ``bars``: birth and death
    of every class. The function changes ``vectors`` and ``bars`` in place.
    """
    a, b, c = value[i, j], value[i, point], value[j, point]
    if a == ZERO_ROW and b == c:
        return 0
    add_rows_modulo_two(vectors, a, b, WORK_ROW)
    add_rows_modulo_two(vectors, WORK_ROW, c, WORK_ROW)
    return kill_youngest_class(WORK_ROW, level, vectors, bars)


@compile_on_first_call
def fill_cone_triangle(
    i: int, j: int, level: float, value: IntegerArray, vectors: BitWords, bars: FloatArray
) -> int:
    """Make the value of the edge ij zero: if the value is not zero, a class dies at ``level``.
    Return the number of deaths, 0 or 1.

    ``value``: (n, n), the row in ``vectors`` of the value of every edge. ``bars``: birth and death
    of every class. The function changes ``value``, ``vectors`` and ``bars`` in place.
    """
    row = value[i, j]
    if row == ZERO_ROW:
        return 0
    value[i, j] = value[j, i] = ZERO_ROW
    return kill_youngest_class(row, level, vectors, bars)


@compile_on_first_call
def add_homology_class(
    level: float, born: int, row: int, vectors: BitWords, bars: FloatArray
) -> int:
    """Write a class born at ``level``, after ``born`` other classes, into row ``row`` of
    ``vectors``, and the birth into ``bars``, both in place. Return ``row``."""
    youngest = len(bars) - 1 - born
    bars[youngest, 0] = level
    add_rows_modulo_two(vectors, ZERO_ROW, ZERO_ROW, row)
    flip_bit(vectors, row, youngest)
    return row


@compile_on_first_call
def row_of_sum(a: int, b: int, row: int, vectors: BitWords) -> int:
    """Return a row of ``vectors`` with the sum of the values in rows ``a`` and ``b``: a known row
    of the same value, or ``row``, which is then overwritten."""
    if a == ZERO_ROW or b == ZERO_ROW:
        return a + b  # the row other than row 0
    if a == b:
        return ZERO_ROW
    add_rows_modulo_two(vectors, a, b, row)
    return row


# --------------------------------------------------------------------------------------------- bars


@compile_on_first_call
def count_births(links: Links, filled: BooleanArray) -> int:
    """Return the number of edges that give birth to a homology class.

    Such an edge has an empty link in ``links`` and no cone triangle at its entry. ``filled``:
    whether the cone triangle of the edge enters with the edge, (edges,).
    """
    births = 0
    for e in range(len(filled)):
        births += not filled[e] and links.starts[e] == links.starts[e + 1]
    return births


@compile_on_first_call
def allocate_vectors(births: int, values: int) -> BitWords:
    """Return rows of words for the relations of ``births`` classes and for ``values`` edge values;
    the zero row and the row of dead classes are 0, other rows are not initialised. Rows that are
    never written take no memory."""
    vectors = np.empty((FIRST_RELATION_ROW + births + values, (births + 63) // 64), np.uint64)
    vectors[ZERO_ROW] = vectors[DEAD_CLASSES_ROW] = ZERO_WORD
    return vectors


@compile_on_first_call
def barcode(
    n: int, edges: Edges, links: Links, m: FloatArray, w: FloatArray, by_w: IntegerArray
) -> FloatArray:
    """Return the birth and death of all classes, zero-length bars included, shape (classes, 2).

    Args:
        n: number of points.
        edges: edges in order of m, at least up to the enclosing radius of w.
        links: links of the edges.
        m: ascending value of each edge up to the enclosing radius.
        w: value of each edge's cone triangle.
        by_w: edges with w > m and a cone triangle within the enclosing radius, in order of w.
    """
    filled = w == m  # the cone triangle enters with the edge: the value is zero from the start
    births = count_births(links, filled)
    value, vectors = np.zeros((n, n), np.int32), allocate_vectors(births, len(m) - filled.sum())
    bars = np.full((births, 2), np.inf)
    # ``row`` is the next free row, ``cone`` the next position in ``by_w``.
    row, born, dead, cone = FIRST_RELATION_ROW + births, 0, 0, 0
    for e in range(len(m) + 1):
        level = m[e] if e < len(m) else np.inf
        while cone < len(by_w) and w[by_w[cone]] < level:
            c = by_w[cone]
            dead += fill_cone_triangle(edges.first[c], edges.second[c], w[c], value, vectors, bars)
            cone += 1
        if e == len(m) or dead == births:
            break
        i, j = edges.first[e], edges.second[e]
        start, stop = links.starts[e], links.starts[e + 1]
        if not filled[e]:
            if start == stop:
                class_row = add_homology_class(level, born, row, vectors, bars)
                born += 1
            else:
                v = links.points[start]
                class_row = row_of_sum(value[i, v], value[j, v], row, vectors)
                start += 1
            value[i, j] = value[j, i] = class_row
            row += class_row == row
        for k in range(start, stop):
            dead += fill_triangle(i, j, links.points[k], level, value, vectors, bars)
    return bars
