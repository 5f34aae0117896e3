"""Ranks of a million dissimilarities in compiled code: the kernels behind :func:`.comparing.ranks`."""

from __future__ import annotations

import numpy as np
from numba import njit

BITS, POSITION, HALF = np.uint64(11), np.uint64(0xFFFFFFFF), np.uint64(32)
DIGIT = np.uint64(2047)
STEPS = 2.0**22 - 1  # values are first sorted by as many steps of their range
FEW = 32  # up to so many values with the same leading bits are sorted by insertion


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def mean_ranks(vector: np.ndarray, low: float, high: float, rounding: float) -> np.ndarray:
    """Ranks from 1 to n of fewer than 2^32 values, low < high; neighbours within ``rounding`` share their mean rank."""
    n = len(vector)
    keys, spare = _by_leading_bits(vector, low, STEPS / (high - low))
    ordered, result = spare.view(np.float64), np.empty(n)
    for i in range(n):
        ordered[i] = vector[keys[i] & POSITION]
    _finish(keys, ordered)
    start = 0
    for stop in range(1, n + 1):
        if stop == n or ordered[stop] - ordered[stop - 1] > rounding:
            for i in range(start, stop):
                result[keys[i] & POSITION] = (start + stop + 1) / 2
            start = stop
    return result


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _by_leading_bits(vector: np.ndarray, low: float, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Leading bits and position of each value in one integer, in the order of the leading bits, and a spare array."""
    n = len(vector)
    keys, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
    first, second = np.zeros(2048, np.int64), np.zeros(2048, np.int64)
    for i in range(n):
        leading = np.uint64(np.int64((vector[i] - low) * scale))
        first[leading & DIGIT] += 1
        second[leading >> BITS] += 1
    begins = np.cumsum(first) - first
    for i in range(n):
        leading = np.uint64(np.int64((vector[i] - low) * scale))
        digit = leading & DIGIT
        other[begins[digit]] = (leading << HALF) | np.uint64(i)
        begins[digit] += 1
    begins = np.cumsum(second) - second
    for i in range(n):
        digit = other[i] >> (HALF + BITS)
        keys[begins[digit]] = other[i]
        begins[digit] += 1
    return keys, other


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _finish(keys: np.ndarray, ordered: np.ndarray) -> None:
    """Sort the values whose leading bits agree: usually groups of two or three."""
    n, start = len(keys), 0
    for stop in range(1, n + 1):
        if stop == n or keys[stop] >> HALF != keys[stop - 1] >> HALF:
            if stop - start > FEW:
                order = np.argsort(ordered[start:stop])
                keys[start:stop] = keys[start:stop][order]
                ordered[start:stop] = ordered[start:stop][order]
            elif stop - start > 1:
                _insertion_sort(keys, ordered, start, stop)
            start = stop


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _insertion_sort(keys: np.ndarray, ordered: np.ndarray, start: int, stop: int) -> None:
    for i in range(start + 1, stop):
        key, value, j = keys[i], ordered[i], i
        while j > start and ordered[j - 1] > value:
            keys[j], ordered[j] = keys[j - 1], ordered[j - 1]
            j -= 1
        keys[j], ordered[j] = key, value
