"""Compiled kernels of :func:`.rdm.ranks`, for the ranks of a million dissimilarities."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled

BITS, POSITION, HALF = np.uint64(11), np.uint64(0xFFFFFFFF), np.uint64(32)
DIGIT = np.uint64(2047)
STEPS = 2.0**32 - 2  # the range of values in steps, which are what a key has of a value
LOW = np.uint64(32 + 10)  # the leading 22 bits of the steps are above
MOVES = 8  # per key, up to which keys with the same leading bits are sorted by insertion


@compiled
def mean_ranks(vector: np.ndarray, low: float, high: float, rounding: float) -> np.ndarray:
    """Ranks from 1 to n of fewer than 2^32 values, low < high.

    Neighbours within ``rounding`` share their mean rank.
    """
    keys, ordered = _ranked(vector, low, high, rounding)
    result = np.empty(len(vector))
    for i in range(len(vector)):
        result[keys[i] & POSITION] = ordered[i]
    return result


@compiled
def _ranked(
    vector: np.ndarray, low: float, high: float, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Keys in the order of the values, and the mean ranks in the same order.

    The lower half of a key is the position of its value.

    Keys decide the order unless steps are so near each other that values may tie: only those are
    looked at.
    """
    n, scale = len(vector), STEPS / (high - low)
    keys, spare = _by_leading_bits(vector, low, scale)
    _finish(keys)
    ranks, near, start = spare.view(np.float64), np.uint64(rounding * scale + 2), 0
    for stop in range(1, n + 1):
        if stop == n or (keys[stop] >> HALF) - (keys[stop - 1] >> HALF) > near:
            if stop - start == 1:
                ranks[start] = stop
            elif stop - start == 2:
                gap = vector[keys[start + 1] & POSITION] - vector[keys[start] & POSITION]
                if gap < 0:
                    keys[start], keys[start + 1] = keys[start + 1], keys[start]
                apart = 0.5 if abs(gap) > rounding else 0.0
                ranks[start], ranks[start + 1] = start + 1.5 - apart, start + 1.5 + apart
            else:
                _rank_near(vector, keys, ranks, start, stop, rounding)
            start = stop
    return keys, ranks


@compiled
def _by_leading_bits(vector: np.ndarray, low: float, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Steps and positions of values in one integer each, by leading bits; and a spare array."""
    n = len(vector)
    keys, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
    first, second = np.zeros(2048, np.int64), np.zeros(2048, np.int64)
    for i in range(n):
        key = np.uint64(np.int64((vector[i] - low) * scale)) << HALF | np.uint64(i)
        keys[i] = key
        first[(key >> LOW) & DIGIT] += 1
        second[key >> (LOW + BITS)] += 1
    begins = np.cumsum(first) - first
    for i in range(n):
        digit = (keys[i] >> LOW) & DIGIT
        other[begins[digit]] = keys[i]
        begins[digit] += 1
    begins = np.cumsum(second) - second
    for i in range(n):
        digit = other[i] >> (LOW + BITS)
        keys[begins[digit]] = other[i]
        begins[digit] += 1
    return keys, other


@compiled
def _finish(keys: np.ndarray) -> None:
    """Sort keys that are sorted by their leading bits.

    Few move, and not far, unless values crowd together.
    """
    moved, most = 0, MOVES * len(keys)
    for i in range(1, len(keys)):
        key, j = keys[i], i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
        moved += i - j
        if moved > most:
            keys.sort()
            return


@compiled
def _rank_near(
    vector: np.ndarray, keys: np.ndarray, ranks: np.ndarray, start: int, stop: int, rounding: float
) -> None:
    """Sort keys that are near each other by their values, and write their mean ranks."""
    values = np.empty(stop - start)
    for i in range(start, stop):
        values[i - start] = vector[keys[i] & POSITION]
    order = np.argsort(values, kind="mergesort")
    keys[start:stop] = keys[start:stop][order]
    first = 0
    for last in range(1, stop - start + 1):
        if last == stop - start or values[order[last]] - values[order[last - 1]] > rounding:
            for i in range(first, last):
                ranks[start + i] = start + (first + last + 1) / 2
            first = last
