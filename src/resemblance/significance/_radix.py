"""A radix sort of millions of values, and their ranks: compiled kernels."""

from __future__ import annotations

import numpy as np

from ..base.compiled import compile_on_first_call

# The upper half of a key is the step of the value, one of 2^32 steps from the lowest to the highest
# value; the lower half is the position.
SORT_STEPS = 2.0**32 - 2
POSITION_MASK, STEP_SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
RADIX_BITS, RADIX_DIGIT_MASK = np.uint64(11), np.uint64(2047)
MAX_INSERTION_MOVES = 8  # moves per value; beyond, insertion sort within steps gives up


@compile_on_first_call
def radix_mean_ranks(vector: np.ndarray, low: float, high: float, rounding: float) -> np.ndarray:
    """Return the ranks from 1 to n of the values of ``vector``, fewer than 2^32 values from ``low``
    to ``high``, low < high.

    Neighbours with a difference of at most ``rounding`` share their mean rank. Return no ranks,
    shape (0,), if too many values share a step: another algorithm is then faster.
    """
    n, reach = len(vector), high - low
    keys = radix_sort_keys(vector, low, reach)
    if not _insertion_sort_within_steps(vector, keys):
        return np.empty(0)
    ranks, max_gap, start = np.empty(n), np.uint64(min(rounding / reach, 1.0) * SORT_STEPS + 2), 0
    for stop in range(1, n + 1):
        # Compare values only if their steps are near enough for a tie.
        if stop < n and (keys[stop] >> STEP_SHIFT) - (keys[stop - 1] >> STEP_SHIFT) <= max_gap:
            gap = vector[keys[stop] & POSITION_MASK] - vector[keys[stop - 1] & POSITION_MASK]
            if not gap > rounding:
                continue
        for i in range(start, stop):
            ranks[keys[i] & POSITION_MASK] = (start + 1 + stop) / 2
        start = stop
    return ranks


@compile_on_first_call
def radix_sort_keys(vector: np.ndarray, low: float, reach: float) -> np.ndarray:
    """Return one key per value of ``vector``, sorted by step, then by position, with three passes
    of a radix sort, the lowest digit first.

    Values are from ``low`` to ``low + reach``, divided into ``SORT_STEPS`` steps. The upper half of
    a key, 64 bits, is the step of the value, and the lower half is the position in ``vector``.
    """
    n = len(vector)
    keys = np.empty(n, np.uint64)
    buffer = np.empty(n, np.uint64)
    counts = np.zeros((3, 2048), np.int64)
    for i in range(n):
        # Divide first: with a reach below 1e-299 the number of steps per unit would overflow.
        step = np.uint64(np.int64((vector[i] - low) / reach * SORT_STEPS))
        keys[i] = step << STEP_SHIFT | np.uint64(i)
        counts[0, step & RADIX_DIGIT_MASK] += 1
        counts[1, (step >> RADIX_BITS) & RADIX_DIGIT_MASK] += 1
        counts[2, step >> (RADIX_BITS + RADIX_BITS)] += 1
    for place in range(3):
        shift, begin = STEP_SHIFT + np.uint64(place) * RADIX_BITS, 0
        for digit in range(2048):
            begin, counts[place, digit] = begin + counts[place, digit], begin
        for i in range(n):
            digit_value = (keys[i] >> shift) & RADIX_DIGIT_MASK
            buffer[counts[place, digit_value]] = keys[i]
            counts[place, digit_value] += 1
        keys, buffer = buffer, keys
    return keys


@compile_on_first_call
def _insertion_sort_within_steps(vector: np.ndarray, keys: np.ndarray) -> bool:
    """Sort the keys of the same step by their values in ``vector``, in place, and return True;
    return False, with some keys moved, if the sort needs too many moves.

    ``keys``: from :func:`radix_sort_keys`, the step in the upper half and the position in
    ``vector`` in the lower half.
    """
    moves = MAX_INSERTION_MOVES * len(keys)
    for i in range(1, len(keys)):
        key, j = keys[i], i
        while (
            j > 0
            and keys[j - 1] >> STEP_SHIFT == key >> STEP_SHIFT
            and (vector[keys[j - 1] & POSITION_MASK] > vector[key & POSITION_MASK])
        ):
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
        moves -= i - j
        if moves < 0:
            return False
    return True
