"""Resampling of samples: halves, leave-out groups, bootstrap samples, and the resulting
intervals."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np

from ..base.rng import generator

ResamplingKind = Literal["left_out", "groups", "halves"]
N_GROUPS, N_HALVES = 20, 40
BOOTSTRAP_SAMPLES = 2000  # bootstrap replicates
INTERVAL_95 = (0.025, 0.975)  # quantiles of a 95 % interval


def sample_groups(
    n: int,
    *,
    count: int = N_GROUPS,
    blocks: np.ndarray | None = None,
    series: bool = False,
    seed: int = 0,
) -> list[np.ndarray]:
    """Return the rows of ``count`` groups of samples, for leaving out group after group.

    ``blocks``: the block label of every sample, (n,). Every sample is in one group, and the rows of
    a group are in increasing order. Samples of a block are in one group; groups of a ``series`` are
    runs in time. There are fewer groups if there are fewer samples or blocks.

    Raises ``ValueError`` for fewer than two groups, samples or blocks.
    """
    units = _resampling_units("sample_groups", n, blocks)
    check_positive_integers("sample_groups", count=count)
    if count < 2:
        raise ValueError(
            "sample_groups: count must be at least 2, so that samples remain when a group is left "
            "out"
        )
    if series:
        return list(np.array_split(np.arange(n), min(count, n)))
    order = generator(seed, "parts", n).permutation(len(units))
    groups = np.array_split(order, min(count, len(units)))
    return [np.sort(np.concatenate([units[u] for u in group])) for group in groups]


def random_halves(
    n: int, *, n_resamples: int = N_HALVES, blocks: np.ndarray | None = None, seed: int = 0
) -> list[np.ndarray]:
    """Return the rows of ``n_resamples`` independent random halves of the samples, or of the
    blocks.

    ``blocks``: the block label of every sample, (n,). The rows are in increasing order; an odd
    number gives the larger half. Raises ``ValueError`` for fewer than two samples or blocks.
    """
    units = _resampling_units("random_halves", n, blocks)
    check_positive_integers("random_halves", n_resamples=n_resamples)
    stratum = np.zeros(len(units), dtype=int)
    halves = [
        stratified_half(stratum, generator(seed, "half", n, draw)) for draw in range(n_resamples)
    ]
    return [np.sort(np.concatenate([units[u] for u in half])) for half in halves]


def stratified_half(groups: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return the rows of a random half of every group, in increasing order; an odd number gives
    the larger half. ``groups``: the group of every row."""
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    halves = [random.choice(m, (len(m) + 1) // 2, replace=False) for m in members]
    return np.sort(np.concatenate([np.zeros(0, dtype=int), *halves]))


def standard_error(values: Any, kind: ResamplingKind) -> Any:
    r"""Return the standard error of a value, from the values :math:`v_i` on g parts of the samples
    (last axis of ``values``), in the shape of the other axes.

    ``kind`` "left_out" or "groups", without each sample or group: the jackknife, :math:`\sqrt{(g -
    1)/g \sum (v_i - \bar v)^2}`. ``kind`` "halves": the standard deviation :math:`\sqrt{\sum (v_i -
    \bar v)^2 / (g - 1)}`, because a half without replacement varies around the value of all samples
    as the value of all samples varies around its mean (exactly so for a mean).

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


def check_confidence_level(title: str, level: float) -> None:
    """Raise ``ValueError`` for a level outside (0, 1); ``title`` names the level in the error."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"{title} must be between 0 and 1, such as 0.95; got {level!r}")


def half_width(values: Any, kind: ResamplingKind, confidence_level: float) -> Any:
    """Return half the width of a confidence interval: the :func:`standard_error` of ``values``, the
    values on the parts of the samples (last axis), times a quantile of Student's t, with (number of
    parts - 1) degrees of freedom. ``kind``: how the parts were made.

    Raises ``ValueError`` for a level outside (0, 1) and for fewer than two parts.
    """
    from scipy.special import stdtrit

    check_confidence_level("half_width: confidence_level", confidence_level)
    error = standard_error(values, kind)
    return float(stdtrit(np.shape(values)[-1] - 1, (1 + confidence_level) / 2)) * error


def clipped_interval(
    value: float,
    values: Any,
    kind: ResamplingKind,
    confidence_level: float,
    ends: tuple[float, float],
) -> tuple[float, float]:
    """Return the confidence interval (low, high) around ``value``, clipped to the range ``ends``;
    ``values`` are the values on the parts of the samples, made as ``kind`` says."""
    half = float(half_width(values, kind, confidence_level))
    low, high = np.clip((value - half, value + half), *ends)
    return float(low), float(high)


def _resampling_units(caller: str, n: int, blocks: np.ndarray | None) -> list[np.ndarray]:
    """Return the rows of every block, in the order of the block labels, or every row as a separate
    unit without ``blocks``, (n,) labels.

    Raises ``ValueError`` for fewer than two units.
    """
    if blocks is None:
        units = list(np.arange(n)[:, None])
    else:
        order = np.argsort(blocks, kind="stable")
        units = np.split(order, np.flatnonzero(np.diff(np.asarray(blocks)[order])) + 1)
    if len(units) < 2:
        raise ValueError(
            f"{caller}: at least two {'samples' if blocks is None else 'blocks'} are needed; got "
            f"{len(units)}"
        )
    return units


def known_mean(values: Any, axis: int = 0) -> np.ndarray:
    """Return the mean of the known (not NaN) values along an axis; NaN if no value is known."""
    table = np.asarray(values, float)
    is_known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        means: np.ndarray = np.where(is_known, table, 0).sum(axis=axis) / is_known.sum(axis=axis)
    return means


def percentile_interval(
    resampled_values: Any, ends: tuple[float, float] = INTERVAL_95
) -> tuple[float, float]:
    """Return the interval (low, high): the two quantiles ``ends``, by default of a 95 % interval,
    of the ``resampled_values`` that are not NaN; two NaN if all are NaN."""
    values = np.asarray(resampled_values, float)
    known_values = values[~np.isnan(values)]
    if not len(known_values):
        return np.nan, np.nan
    low, high = np.quantile(known_values, ends)
    return float(low), float(high)


def bootstrap_counts(
    n: int,
    *,
    blocks: Sequence[Any] | None = None,
    nested: Sequence[Any] | None = None,
    crossed: tuple[Sequence[Any], Sequence[Any]] | None = None,
    n_resamples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
) -> np.ndarray:
    """Return how often each of n models is in each bootstrap sample, (draws, n).

    Without restrictions, single models are drawn with replacement. ``blocks``: the shared property
    of every model, such as the seed; whole blocks are drawn, because the members of a block are not
    independent. ``nested``: blocks are drawn first; then, for every draw of a block, the function
    draws members of the block, as many as the block has. ``crossed``: two shared properties of
    every model, such as the seeds of pretraining and of fine-tuning; the seeds of the two kinds are
    drawn separately, and the count of a model is the product of the counts of its two seeds (Owen
    2007).

    Raises ``ValueError`` for labels that do not fit, for fewer than two models or blocks, and for
    more than one restriction.
    """
    if sum(design is not None for design in (blocks, nested, crossed)) > 1:
        raise ValueError("bootstrap: one of blocks, nested and crossed, not more")
    check_positive_integers("bootstrap_counts", n=n, n_resamples=n_resamples)
    random = generator(seed, "bootstrap", n)
    if crossed is not None:
        first, second = (
            _bootstrap_block_counts(random, n, names, n_resamples) for names in crossed
        )
        return first * second
    labels = list(range(n)) if blocks is None else list(blocks)
    if nested is None:
        return _bootstrap_block_counts(random, n, labels, n_resamples)
    counts = _bootstrap_block_counts(random, n, nested, n_resamples)
    for block in dict.fromkeys(nested):
        members = np.array([i for i, name in enumerate(nested) if name == block])
        chances = np.full(len(members), 1 / len(members))
        counts[:, members] = random.multinomial(counts[:, members[0]] * len(members), chances)
    return counts


def _bootstrap_block_counts(
    random: np.random.Generator, n: int, names: Sequence[Any], n_resamples: int
) -> np.ndarray:
    """Return how often the block of every model was drawn, (draws, n), when as many blocks as
    there are are drawn with replacement. ``names``: the block of every model."""
    blocks = list(dict.fromkeys(names))
    if len(names) != n or len(blocks) < 2:
        raise ValueError(
            f"bootstrap: n={n} models in two or more blocks are needed; got {len(names)} in "
            f"{len(blocks)}"
        )
    block_counts = random.multinomial(
        len(blocks), np.full(len(blocks), 1 / len(blocks)), size=n_resamples
    )
    return block_counts[:, [blocks.index(name) for name in names]]


def check_positive_integers(function: str, **numbers: Any) -> None:
    """Raise ``ValueError`` unless all ``numbers``, given by the name of the parameter, are whole
    numbers of at least 1."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(
                f"{function}: {name} must be a whole number of at least 1; got {value!r}"
            )
