"""Orders of the edges of two complexes: compiled kernels."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..compiled import compiled

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

STEPS = 2.0**32 - 1  # the range of values in steps, which are what a key has of a value
HALF, BITS, DIGIT = np.uint64(32), np.uint64(11), np.uint64(2047)
POSITION = np.uint64(0xFFFFFFFF)


def ascending(values: Floats) -> Ints:
    """Positions of values, none of them negative, in ascending order; that of equal values is
    free."""
    order = by_steps(values, float(values.max(initial=0)) or 1.0)
    due = values.take(order)
    if (due[1:] < due[:-1]).any():  # a few are less than a step apart, or crowds
        order = order.take(np.argsort(due, kind="stable"))
    return order


@compiled
def by_steps(values: Floats, largest: float) -> Ints:
    """Positions in ascending order of the values in steps, a 2^32-th of the largest: a radix sort
    of three digits.

    A key is the number of steps and, in its lower half, the position.
    """
    n = len(values)
    keys, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
    ends = np.zeros((3, 2048), np.int64)
    for i in range(n):
        step = np.uint64(values[i] / largest * STEPS)
        keys[i] = step << HALF | np.uint64(i)
        for k in range(3):
            ends[k, (step >> (np.uint64(k) * BITS)) & DIGIT] += 1
    for k in range(3):
        move_by_digit(keys, other, HALF + np.uint64(k) * BITS, np.cumsum(ends[k]) - ends[k])
        keys, other = other, keys
    return (keys & POSITION).astype(np.int32)


@compiled
def move_by_digit(keys: Words, sorted_keys: Words, shift: np.uint64, starts: Ints) -> None:
    """Sort keys by one digit, in their order where it is the same."""
    for key in keys:
        digit = (key >> shift) & DIGIT
        sorted_keys[starts[digit]] = key
        starts[digit] += 1


@compiled
def smaller(
    ours: Floats, theirs: Floats, order: Ints, ties: bool, places: Ints, values: Floats
) -> None:
    """Positions where our value is the smaller one, or as small with ``ties``, and these values, in
    the order of ours; infinity follows the last."""
    size = 0
    for p in order:
        places[size] = p
        values[size] = ours[p]
        size += ours[p] < theirs[p] or (ties and ours[p] == theirs[p])
    values[size] = np.inf


@compiled
def merge(first: Floats, second: Floats, by_first: Ints, by_second: Ints) -> Ints:
    """Positions in ascending order of the smaller of two values, from the order of either."""
    n = len(first)
    order, places = np.empty(n, np.int32), np.empty((2, n + 1), np.int32)
    values = np.empty((2, n + 1))
    smaller(first, second, by_first, True, places[0], values[0])
    smaller(second, first, by_second, False, places[1], values[1])
    i = j = 0
    for e in range(n):  # without a branch, as no processor foresees which of both it is
        is_first = values[0, i] <= values[1, j]
        p, q = places[0, i], places[1, j]
        order[e] = p if is_first else q
        i += is_first
        j += not is_first
    return order


@compiled
def later(m: Floats, w: Floats, by_w: Ints, radius: float, place: Ints) -> Ints:
    """Places of the edges with m < w <= radius, in order of w."""
    places = np.empty(len(by_w), np.int32)
    size = 0
    for p in by_w:
        if w[p] > radius:
            break
        places[size] = place[p]
        size += w[p] > m[p]
    return places[:size].copy()
