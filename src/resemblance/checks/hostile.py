"""Pairs of arrays that break formulas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from ..base.rng import generator
from .trial import CallOutcome, CheckContext, call_outcome, shared_by_checks

HOSTILE_SAMPLES, HOSTILE_FEATURES = 40, 6
# Largest value that measures accept.
LARGEST_ACCEPTED_VALUE = float(np.finfo(np.float64).max) / (
    16 * (HOSTILE_SAMPLES + HOSTILE_FEATURES)
)
EXTREME_SCALES = (1e-150, 1e-30, 1e30, 1e150)
HOSTILE_GROUPS: Mapping[str, tuple[str, ...]] = {
    "shapes": (
        "generic", "n < d", "d = 1", "d = 1 and d = 6", "Y wider", "X wider", "n = 11",
    ),
    "few samples": ("n = 1", "n = 2", "n = 2, d = 1", "n = 3"),
    "columns": (
        "constant columns", "duplicate columns", "rank deficient",
    ),
    "rows": ("duplicate rows", "duplicate rows in X", "orthogonal"),
    "constant": (
        "all rows of X equal", "all rows of Y equal", "all rows of both equal",
    ),
    "zeros": (
        "X zero", "Y zero", "both zero", "one zero row", "one zero row each", "one row not zero",
    ),
    "identical": ("identical", "negated"),
    "offsets": ("huge offset", "huge offset of one side"),
    "scales": (
        "columns of all scales", "rows of all scales", "subnormal", "nearly overflowing",
        "as far apart as can be", "largest", "X too large", "Y too large",
        "X times 1e-150", "Y times 1e-150", "both times 1e-150",
        "X times 1e-30", "Y times 1e-30", "both times 1e-30",
        "X times 1e+30", "Y times 1e+30", "both times 1e+30",
        "X times 1e+150", "Y times 1e+150", "both times 1e+150",
    ),
    "half precision": (
        "X of two values of half precision", "Y of two values of half precision",
        "both saturated in half precision",
    ),
    "NaN and infinity": ("NaN", "inf"),
}  # fmt: skip
NamedPairs = dict[str, tuple[np.ndarray, np.ndarray]]


class BaseArrays(NamedTuple):
    """The arrays behind all cases: two related arrays (samples, features), and the matrix
    (features, features) that mixes the columns of x."""

    x: np.ndarray
    y: np.ndarray
    mix: np.ndarray


def correlated_arrays() -> BaseArrays:
    """Return two related arrays with correlated columns, and the matrix that mixes the columns of
    x; the same arrays in every call."""
    rng = generator(0, "hostile")
    mix = rng.standard_normal((HOSTILE_FEATURES, HOSTILE_FEATURES))
    x = rng.standard_normal((HOSTILE_SAMPLES, HOSTILE_FEATURES)) @ mix
    y = (
        x @ rng.standard_normal((HOSTILE_FEATURES, HOSTILE_FEATURES)) / 3
        + rng.standard_normal((HOSTILE_SAMPLES, HOSTILE_FEATURES))
        + 0.5
    )
    return BaseArrays(x, y, mix)


@shared_by_checks
def hostile_outcome(trial: CheckContext, case: str) -> CallOutcome:
    """Return the outcome of calling the measure of ``trial`` with a hostile pair, with few starts
    of a search. ``case``: a key of :func:`hostile_pairs`. Several checks share the
    outcome."""
    entry = trial.with_few_starts().entry
    return call_outcome(entry, *(trial.suited(a.copy()) for a in hostile_pairs()[case]))


@cache
def hostile_pairs() -> NamedPairs:
    """Return all hostile pairs (X, Y), by the name of the problem, such as "n < d", as read-only
    arrays."""
    s = correlated_arrays()
    pairs = (
        shape_pairs(s)
        | repetition_pairs(s)
        | zero_pairs(s)
        | position_pairs(s)
        | scale_pairs(s)
        | half_precision_pairs(s)
    )
    for pair in pairs.values():
        for array in pair:
            array.flags.writeable = False
    return pairs


def shape_pairs(s: BaseArrays) -> NamedPairs:
    """Return hostile pairs with few samples, many features, or different widths, by the name of the
    problem."""
    x, y, _ = s
    wide_pair = generator(0, "wide").standard_normal((2, 20, 50))
    return {
        "generic": (x, y),
        "n < d": (wide_pair[0], wide_pair[1]),
        "d = 1": (x[:, :1], y[:, :1]),
        "d = 1 and d = 6": (x[:, :1], y),
        "n = 1": (x[:1], y[:1]),
        "n = 2": (x[:2], y[:2]),
        "n = 2, d = 1": (x[:2, :1], y[:2, :1]),
        "n = 3": (x[:3], y[:3]),
        "n = 11": (x[:11], y[:11]),
        "Y wider": (x, np.c_[y, y[:, :3] ** 2]),
        "X wider": (np.c_[x, x[:, :3] ** 2], y),
    }


def repetition_pairs(s: BaseArrays) -> NamedPairs:
    """Return hostile pairs with repeated values, by the name of the problem.

    The problems are: constant or duplicate columns; duplicate rows; all rows equal in X, in Y or in
    both; low rank; Y equal to X or to -X; and two permuted identity matrices.
    """
    x, y, mix = s
    constant_x, constant_y = (np.repeat(a[:1], HOSTILE_SAMPLES, axis=0) for a in (x, y))
    return {
        "constant columns": (
            np.c_[x, np.full(HOSTILE_SAMPLES, 0.1)],
            np.c_[y, np.full(HOSTILE_SAMPLES, -7)],
        ),
        "duplicate columns": (np.c_[x, x], np.c_[y, y]),
        "duplicate rows": (np.tile(x[:10], (4, 1)), np.tile(y[:10], (4, 1))),
        "duplicate rows in X": (np.tile(x[:10], (4, 1)), y),
        "all rows of X equal": (constant_x, y),
        "all rows of Y equal": (x, constant_y),
        "all rows of both equal": (constant_x, constant_y),
        "rank deficient": (x[:, :2] @ mix[:2], y[:, :3] @ mix[:3]),
        "identical": (x, x.copy()),
        "negated": (x, -x),
        "orthogonal": (np.eye(HOSTILE_SAMPLES), np.eye(HOSTILE_SAMPLES)[::-1]),
    }


def zero_pairs(s: BaseArrays) -> NamedPairs:
    """Return hostile pairs with a row of zeros, only zeros, or a single row that is not zero, by
    the name of the problem."""
    x, y, _ = s
    row = np.arange(HOSTILE_SAMPLES)[:, None]
    return {
        "X zero": (0 * x, y),
        "Y zero": (x, 0 * y),
        "both zero": (0 * x, 0 * y),
        "one zero row": (np.where(row == 0, 0, x), y),
        "one zero row each": (np.where(row == 0, 0, x), np.where(row == 3, 0, y)),
        "one row not zero": (np.where(row == 5, x, 0), y),
    }


def position_pairs(s: BaseArrays) -> NamedPairs:
    """Return hostile pairs far from the origin, or with a column of NaN or infinity, by the name of
    the problem."""
    x, y, _ = s
    offset = generator(0, "offset").standard_normal((1, HOSTILE_FEATURES))
    third = np.arange(HOSTILE_FEATURES) == 2
    return {
        "huge offset": (x + 1e6 * offset, y - 1e6 * offset),
        "huge offset of one side": (x + 1e6, y),
        "NaN": (np.where(third, np.nan, x), y),
        "inf": (x, np.where(third, -np.inf, y)),
    }


def scale_pairs(s: BaseArrays) -> NamedPairs:
    """Return hostile pairs of very large and very small numbers, by the name of the problem: the
    numbers or their squares overflow or underflow, or "too large" numbers exceed the largest
    accepted value."""
    x, y, _ = s
    columns = np.logspace(-100, 100, HOSTILE_FEATURES)
    rows = np.logspace(-150, 150, HOSTILE_SAMPLES)[:, None]
    cases = {
        "columns of all scales": (x * columns, y * columns[::-1]),
        "rows of all scales": (x * rows, y * rows[::-1]),
        "subnormal": (x * 1e-310, y * 1e-310),
        "nearly overflowing": (x * 1e300, y * 1e300),
        "as far apart as can be": (x * 1e300, y * 1e-300),
        "largest": (
            x / np.abs(x).max() * LARGEST_ACCEPTED_VALUE,
            y / np.abs(y).max() * LARGEST_ACCEPTED_VALUE,
        ),
        "X too large": (x * 1e306, y),
        "Y too large": (x, -y * 1e306),
    }
    for scale in EXTREME_SCALES:
        cases[f"X times {scale:g}"] = x * scale, y
        cases[f"Y times {scale:g}"] = x, y * scale
        cases[f"both times {scale:g}"] = x * scale, y * scale
    return cases


def half_precision_pairs(s: BaseArrays) -> NamedPairs:
    """Return hostile pairs in half precision, by the name of the problem: the values of an array
    are two neighbouring numbers, or saturated near 1."""
    x, y, _ = s
    rng = generator(0, "half precision")
    two_values = (1 + 1e-3 * rng.integers(0, 2, (HOSTILE_SAMPLES, HOSTILE_FEATURES))).astype(
        np.float16
    )
    saturated = np.tanh(
        4.5 + 0.5 * rng.standard_normal((HOSTILE_SAMPLES, HOSTILE_FEATURES))
    ).astype(np.float16)
    return {
        "X of two values of half precision": (two_values, y.astype(np.float16)),
        "Y of two values of half precision": (x.astype(np.float16), two_values),
        "both saturated in half precision": (saturated, saturated.copy()),
    }
