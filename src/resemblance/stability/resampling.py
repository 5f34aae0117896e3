"""How sure is a statistic? Intervals over random halves of the samples, and its values in any other order of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..measure import argument
from ..representation import Representation
from ..rng import generator
from ..statistic import Statistic
from .catalogue import get_statistic

SHARED = ("labels", "conditions", "replicate")  # what is given once per sample of the representation


class Interval(NamedTuple):
    """A value with an interval for it."""

    value: float
    low: float
    high: float
    draws: np.ndarray  # the values on random halves of the samples
    samples: int  # how many samples the value rests on: all, or the ``max_samples`` of the statistic


class Null(NamedTuple):
    """A value beside those it has in random orders of the samples."""

    value: float
    mean: float
    deviation: float
    z: float
    p_value: float  # of a value as large or larger
    draws: np.ndarray


def interval(
    statistic: str | Statistic,
    X: Any,
    *data: Any,
    draws: int = 200,
    level: float = 0.95,
    seed: int = 0,
    **parameters: Any,
) -> Interval:
    """Return a statistic with an interval for how it would vary over other samples of the same kind.

    The statistic is computed on ``draws`` random halves of the samples (of every class or condition, where there are
    labels; of samples and of controls), and the interval is the value plus the middle ``level`` of what these depart
    from their own mean, within the range of the statistic. ``data`` and ``parameters`` are those of the statistic;
    what is random in the statistic itself stays the same in all draws.

    Halves are drawn without replacement. For a mean, their variance is n / (n - 1) times that of the bootstrap, but
    no sample meets its own copy: in a bootstrap, copies are at distance 0 in every dissimilarity matrix and pull
    correlations up (Pearson's of independent data: 0.23 instead of 0).

    Raises ``ValueError`` when halves are too small for the statistic.

    Reference: half-sampling, Efron 1982, Section 8; the intervals of Raju 2026 are bootstrap percentiles.
    """
    chosen = get_statistic(statistic).where(**parameters)
    if draws < 2 or not 0 < level < 1:
        raise ValueError(f"interval: draws must be at least 2 and level between 0 and 1; got {draws} and {level}")
    x = argument(X, "X")
    prepared = chosen.prepare(x, *data)
    value = chosen.evaluate(x, *prepared)
    found = np.array([_on_a_half(chosen, x, prepared, seed, draw) for draw in range(draws)])
    spread = np.quantile(found - found.mean(), [(1 - level) / 2, (1 + level) / 2])
    low, high = np.clip(value + spread, *chosen.range)
    limit = int({**chosen.defaults, **dict(chosen.parameters)}.get("max_samples", x.shape[0]))
    return Interval(value, float(low), float(high), found, min(x.shape[0], limit))


def _on_a_half(chosen: Statistic, x: Representation, prepared: tuple[Any, ...], seed: int, draw: int) -> float:
    roles = dict(zip(chosen.needs, prepared))
    groups = next((roles[name] for name in ("labels", "conditions") if name in roles), np.zeros(x.shape[0], dtype=int))
    kept = _half(groups, chosen, seed, draw, "samples")
    for name, given in roles.items():
        if name in SHARED:
            roles[name] = _taken(given, kept)
        elif name == "control":
            one = np.zeros(given.shape[0], dtype=int)
            roles[name] = _rows(given, _half(one, chosen, seed, draw, "control"))
    return chosen.evaluate(_rows(x, kept), *roles.values())


def _half(groups: np.ndarray, chosen: Statistic, seed: int, draw: int, role: str) -> np.ndarray:
    """Row numbers of a random half of every group, in increasing order."""
    random = generator(seed, "interval", role, draw)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    kept = np.sort(np.concatenate([random.choice(m, (len(m) + 1) // 2, replace=False) for m in members]))
    if role == "samples" and len(kept) < chosen.min_samples:
        raise ValueError(f"interval: {chosen} needs {chosen.min_samples} samples and half of them are {len(kept)}")
    return kept


def _taken(given: Any, kept: np.ndarray) -> Any:
    return _rows(given, kept) if isinstance(given, Representation) else given[kept]


def _rows(x: Representation, kept: np.ndarray) -> Representation:
    return Representation(x.xp.take(x.source, x.xp.asarray(kept), axis=0), x.name, dtype=x.dtype)


def permutation_null(
    statistic: str | Statistic, X: Any, *data: Any, draws: int = 500, seed: int = 0, **parameters: Any
) -> Null:
    """Return a statistic beside the values it has in ``draws`` random orders of the samples.

    Labels and conditions move with their samples: only the order changes. This is the null for statistics of trials in
    the order of recording (``temporal_drift``, ``centroid_drift``, ``trial_split``); others do not depend
    on the order. ``p_value`` is (1 + the number of values as large) / (1 + ``draws``), and ``z`` how many standard
    deviations the value lies above their mean.

    Raises ``ValueError`` when no order changes the value.

    Reference: Raju 2026, Section 13.5 (500 orders), where z has the opposite sign: it is of the similarity.
    """
    chosen = get_statistic(statistic).where(**parameters)
    if draws < 2:
        raise ValueError(f"permutation_null: draws must be at least 2; got {draws}")
    x = argument(X, "X")
    prepared = chosen.prepare(x, *data)
    found = np.array([_in_another_order(chosen, x, prepared, seed, draw) for draw in range(draws)])
    value, deviation = chosen.evaluate(x, *prepared), float(found.std())
    if deviation <= 1e-12 * max(1.0, abs(value)):
        raise ValueError(f"permutation_null: {chosen} does not depend on the order of the samples")
    larger = int((found >= value - 1e-12).sum())
    z = (value - float(found.mean())) / deviation
    return Null(value, float(found.mean()), deviation, z, (1 + larger) / (1 + draws), found)


def _in_another_order(chosen: Statistic, x: Representation, prepared: tuple[Any, ...], seed: int, draw: int) -> float:
    order = generator(seed, "permutation_null", draw).permutation(x.shape[0])
    moved = [_taken(given, order) if name in SHARED else given for name, given in zip(chosen.needs, prepared)]
    return chosen.evaluate(_rows(x, order), *moved)
