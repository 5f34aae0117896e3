"""Parts of the samples: random halves, groups to leave out, and the intervals that follow from
them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..rng import generator

Kind = Literal["left_out", "groups", "halves"]
GROUPS, HALVES = 20, 40


def groups_of(
    n: int,
    *,
    count: int = GROUPS,
    blocks: np.ndarray | None = None,
    series: bool = False,
    seed: int = 0,
) -> list[np.ndarray]:
    """Return the rows of ``count`` groups of samples, to be left out one after the other.

    Samples of a block are in one group; groups of a series are runs in time. Fewer groups if there
    are fewer samples or blocks.
    """
    if series:
        return list(np.array_split(np.arange(n), min(count, n)))
    units = _units(n, blocks)
    order = generator(seed, "parts", n).permutation(len(units))
    chosen = np.array_split(order, min(count, len(units)))
    return [np.sort(np.concatenate([units[u] for u in group])) for group in chosen]


def halves_of(
    n: int, *, draws: int = HALVES, blocks: np.ndarray | None = None, seed: int = 0
) -> list[np.ndarray]:
    """Return the rows of random halves of the samples, or of the blocks, each drawn by itself."""
    units = _units(n, blocks)
    chosen = [
        generator(seed, "half", n, d).choice(len(units), (len(units) + 1) // 2, replace=False)
        for d in range(draws)
    ]
    return [np.sort(np.concatenate([units[u] for u in half])) for half in chosen]


def standard_error(values: Any, kind: Kind) -> Any:
    """Return the standard error of a value from those without each part (last axis).

    Without each sample or group: the jackknife, :math:`\\sqrt{(g - 1)/g \\sum (v_i - \\bar v)^2}`.
    On halves: their standard deviation, for a half without replacement varies around the value of
    all samples as that varies around its mean.
    """
    table = np.asarray(values, float)
    count = table.shape[-1]
    squares = ((table - table.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return np.sqrt(squares / (count - 1) if kind == "halves" else squares * (count - 1) / count)


def half_width(values: Any, kind: Kind, level: float) -> Any:
    """Return half the width of an interval: the standard error by a quantile of Student's t."""
    from scipy.special import stdtrit

    freedom = np.asarray(values).shape[-1] - 1
    return float(stdtrit(freedom, (1 + level) / 2)) * standard_error(values, kind)


def interval_around(
    value: float, values: Any, kind: Kind, level: float, ends: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends of the interval that the values on parts give, inside the range."""
    half = float(half_width(values, kind, level))
    low, high = np.clip((value - half, value + half), *ends)
    return float(low), float(high)


def _units(n: int, blocks: np.ndarray | None) -> list[np.ndarray]:
    if blocks is None:
        return list(np.arange(n)[:, None])
    return [np.flatnonzero(blocks == b) for b in np.unique(blocks)]
