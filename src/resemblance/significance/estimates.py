"""Means that know missing values, percentile intervals, and what a bootstrap sample holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..rng import generator

DRAWS = 2000  # of a bootstrap
INTERVAL = (0.025, 0.975)  # quantiles between which 95 % of the samples lie


def known_mean(values: Any, axis: int = 0) -> np.ndarray:
    """Return the mean along an axis of the values that are known (not NaN); NaN where none is."""
    table = np.asarray(values, float)
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        means: np.ndarray = np.where(known, table, 0).sum(axis=axis) / known.sum(axis=axis)
    return means


def percentile_interval(draws: Any, ends: tuple[float, float] = INTERVAL) -> tuple[float, float]:
    """Return the quantiles ``ends`` of the draws that are known (not NaN); two NaN where none
    is."""
    values = np.asarray(draws, float)
    known = values[~np.isnan(values)]
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, ends)
    return float(low), float(high)


def bootstrap_counts(
    n: int,
    *,
    blocks: Sequence[Any] | None = None,
    nested: Sequence[Any] | None = None,
    crossed: tuple[Sequence[Any], Sequence[Any]] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> np.ndarray:
    """Return how often each of n models is in each bootstrap sample, (draws, n).

    Without more, models are drawn one by one, with replacement. ``blocks``: of each model, what it
    shares with others, such as its seed; whole blocks are drawn, because their members are not
    independent. ``nested``: blocks are drawn, and then members inside each, as many as it has for
    every time that it was drawn. ``crossed``: two things that each model shares with others, such
    as the seeds of pretraining and of fine-tuning; both are drawn, and a model is there as often as
    both of its seeds together (Owen 2007).

    Raises ``ValueError`` for labels that do not fit, for fewer than two models or blocks, and for
    more than one kind.
    """
    if sum(design is not None for design in (blocks, nested, crossed)) > 1:
        raise ValueError("bootstrap: one of blocks, nested and crossed, not more")
    check_whole("bootstrap_counts", n=n, draws=draws)
    random = generator(seed, "bootstrap", n)
    if crossed is not None:
        first, second = (_drawn(random, n, names, draws) for names in crossed)
        product: np.ndarray = first * second
        return product
    labels = list(range(n)) if blocks is None else list(blocks)
    if nested is None:
        return _drawn(random, n, labels, draws)
    counts = _drawn(random, n, nested, draws)
    for block in dict.fromkeys(nested):
        members = np.array([i for i, name in enumerate(nested) if name == block])
        chances = np.full(len(members), 1 / len(members))
        counts[:, members] = random.multinomial(counts[:, members[0]] * len(members), chances)
    return counts


def _drawn(random: np.random.Generator, n: int, names: Sequence[Any], draws: int) -> np.ndarray:
    """Return how often the block of every model was drawn, (draws, n)."""
    blocks = list(dict.fromkeys(names))
    if len(names) != n or len(blocks) < 2:
        raise ValueError(
            f"bootstrap: n={n} models in two or more blocks are needed; got {len(names)} in "
            f"{len(blocks)}"
        )
    drawn = random.multinomial(len(blocks), np.full(len(blocks), 1 / len(blocks)), size=draws)
    counts: np.ndarray = drawn[:, [blocks.index(name) for name in names]]
    return counts


def check_whole(function: str, **numbers: Any) -> None:
    """Raise ``ValueError`` for a number that is not a whole one of at least 1."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(
                f"{function}: {name} must be a whole number of at least 1; got {value!r}"
            )
