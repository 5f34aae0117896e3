"""Parts of the samples: random halves, groups to leave out, and the intervals that follow from
them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..rng import generator
from .estimates import check_whole

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

    Every sample is in one group, and the rows of a group are in increasing order. Samples of a
    block are in one group; groups of a series are runs in time. Fewer groups if there are fewer
    samples or blocks.

    Raises ``ValueError`` for fewer than two groups, samples or blocks.
    """
    units = _units("groups_of", n, blocks)
    check_whole("groups_of", count=count)
    if count < 2:
        raise ValueError("groups_of: count must be at least 2: what is left out must leave samples")
    if series:
        return list(np.array_split(np.arange(n), min(count, n)))
    order = generator(seed, "parts", n).permutation(len(units))
    chosen = np.array_split(order, min(count, len(units)))
    return [np.sort(np.concatenate([units[u] for u in group])) for group in chosen]


def halves_of(
    n: int, *, draws: int = HALVES, blocks: np.ndarray | None = None, seed: int = 0
) -> list[np.ndarray]:
    """Return the rows of random halves of the samples, or of the blocks, each drawn by itself.

    The rows are in increasing order; of an odd number it is the larger half. Raises ``ValueError``
    for fewer than two samples or blocks.
    """
    units = _units("halves_of", n, blocks)
    check_whole("halves_of", draws=draws)
    one = np.zeros(len(units), dtype=int)
    halves = [half_of_each(one, generator(seed, "half", n, draw)) for draw in range(draws)]
    return [np.sort(np.concatenate([units[u] for u in half])) for half in halves]


def half_of_each(groups: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return the rows of a random half of every group, in increasing order; the larger half of an
    odd number."""
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    halves = [random.choice(m, (len(m) + 1) // 2, replace=False) for m in members]
    return np.sort(np.concatenate([np.zeros(0, dtype=int), *halves]))


def standard_error(values: Any, kind: Kind) -> Any:
    r"""Return the standard error of a value from those without each part (last axis).

    Without each sample or group, :math:`v_i` of g: the jackknife,
    :math:`\sqrt{(g - 1)/g \sum (v_i - \bar v)^2}`. On halves: their standard deviation
    :math:`\sqrt{\sum (v_i - \bar v)^2 / (g - 1)}`, for a half without replacement varies around the
    value of all samples as that varies around its mean (exactly so for a mean).

    Raises ``ValueError`` for fewer than two values.
    """
    table = np.asarray(values, float)
    if table.ndim == 0 or table.shape[-1] < 2:
        raise ValueError(
            f"standard_error: at least two parts are needed; got values of shape {table.shape}"
        )
    count = table.shape[-1]
    squares = ((table - table.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return np.sqrt(squares / (count - 1) if kind == "halves" else squares * (count - 1) / count)


def half_width(values: Any, kind: Kind, level: float) -> Any:
    """Return half the width of an interval: the standard error by a quantile of Student's t, with
    one degree of freedom less than there are parts.

    Raises ``ValueError`` for a level outside (0, 1) and for fewer than two parts.
    """
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise ValueError(f"half_width: level must be between 0 and 1; got {level}")
    error = standard_error(values, kind)
    return float(stdtrit(np.shape(values)[-1] - 1, (1 + level) / 2)) * error


def interval_around(
    value: float, values: Any, kind: Kind, level: float, ends: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends of the interval that the values on parts give, inside the range."""
    half = float(half_width(values, kind, level))
    low, high = np.clip((value - half, value + half), *ends)
    return float(low), float(high)


def _units(called: str, n: int, blocks: np.ndarray | None) -> list[np.ndarray]:
    """Return the rows of each block, or each row by itself."""
    if blocks is None:
        units = list(np.arange(n)[:, None])
    else:
        order = np.argsort(blocks, kind="stable")
        units = np.split(order, np.flatnonzero(np.diff(np.asarray(blocks)[order])) + 1)
    if len(units) < 2:
        raise ValueError(
            f"{called}: at least two {'samples' if blocks is None else 'blocks'} are needed; got "
            f"{len(units)}"
        )
    return units
