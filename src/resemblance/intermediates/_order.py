"""Sorting and merging of the edges of two complexes by length: compiled kernels."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..base.compiled import compile_on_first_call
from ..significance._radix import radix_sort_keys

PositionArray: TypeAlias = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
ValueArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def ascending_positions(values: ValueArray) -> PositionArray:
    """Return the positions of nonnegative values in ascending order of value; equal values may come
    in any order."""
    keys = radix_sort_keys(values, 0.0, float(values.max(initial=0)) or 1.0)
    order = keys.astype(np.uint32).view(np.int32)  # the lower half is the position
    sequence = values.take(order)
    # Values less than a step of the keys apart are not in order yet.
    if (sequence[1:] < sequence[:-1]).any():
        order = order.take(np.argsort(sequence, kind="stable"))
    return order


@compile_on_first_call
def smaller_positions(
    first: ValueArray,
    second: ValueArray,
    order: PositionArray,
    ties: bool,
    places: PositionArray,
    values: ValueArray,
) -> None:
    """Select the positions p with ``first[p] < second[p]`` (with ``ties`` also equal values).

    Write the positions into ``places``, in the order of ``order``, which lists all positions. Write
    ``first`` at the selected positions into ``values``, and infinity after the last value.
    ``places`` and ``values`` have room for one entry more than ``order``.
    """
    size = 0
    for p in order:
        places[size] = p
        values[size] = first[p]
        size += first[p] < second[p] or (ties and first[p] == second[p])
    values[size] = np.inf


@compile_on_first_call
def merge_orders(
    first: ValueArray, second: ValueArray, first_order: PositionArray, second_order: PositionArray
) -> PositionArray:
    """Return the positions in ascending order of the smaller of the two values at a position.

    ``first_order``, ``second_order``: the positions in ascending order of ``first`` and of
    ``second``.
    """
    n = len(first)
    order, places = np.empty(n, np.int32), np.empty((2, n + 1), np.int32)
    values = np.empty((2, n + 1))
    smaller_positions(first, second, first_order, True, places[0], values[0])
    smaller_positions(second, first, second_order, False, places[1], values[1])
    i = j = 0
    for e in range(n):  # without a branch: the processor cannot predict the smaller value
        is_first = values[0, i] <= values[1, j]
        p, q = places[0, i], places[1, j]
        order[e] = p if is_first else q
        i += is_first
        j += not is_first
    return order


@compile_on_first_call
def edges_entering_later(
    m: ValueArray, w: ValueArray, w_order: PositionArray, radius: float, place: PositionArray
) -> PositionArray:
    """Return ``place`` of the edges with m < w <= ``radius``, in order of w.

    ``m``, ``w``: the values of every edge. ``w_order``: the edges in ascending order of w.
    ``place``: the number to return for every edge.
    """
    places = np.empty(len(w_order), np.int32)
    size = 0
    for p in w_order:
        if w[p] > radius:
            break
        places[size] = place[p]
        size += w[p] > m[p]
    return places[:size].copy()
