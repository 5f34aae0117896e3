"""Permutation tests of agreement, and designs that keep models with shared properties together."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.rng import generator
from .ranks import rank_correlation, ranks_of_rows
from .resampling import check_positive_integers

PAIRING_PERMUTATIONS = 9999
MANTEL_PERMUTATIONS = 1999
CORRELATION_ROUNDING = 1e-12  # correlations with a smaller difference are equal
MAX_EXPONENT = 709.0  # logarithm of the largest number of permutations that a float can hold


def mantel(
    differences: np.ndarray,
    expected: np.ndarray,
    *,
    both_orders: bool = False,
    n_permutations: int = PAIRING_PERMUTATIONS,
    seed: int = 0,
) -> float:
    r"""Return the two-sided p-value of the Spearman correlation of two matrices, by permuting the
    models (Mantel 1967).

    .. math:: p = \min(1, 2 \min(p_{\ge}, p_{\le})), \qquad
        p_{\ge} = \frac{1 + \#\{\pi : \rho_\pi \ge \rho\}}{1 + \mathrm{n\_permutations}}

    where :math:`\rho_\pi` correlates ``differences`` with ``expected[π][:, π]``. Pairs share
    models, so pairs are not independent, and permuting single pairs would find significance that is
    not there: the test permutes models. ``differences`` and ``expected`` are (n, n); pairs above
    the diagonal count, or all pairs with ``both_orders``. With n! <= ``n_permutations`` every
    permutation is visited and the p-value is exact (without the added ones). Missing differences
    are left out of every correlation. The result is NaN if there is no correlation to test.
    """
    n = len(expected)
    rows, columns = pairs_of(n, both_orders)
    is_known = ~np.isnan(differences[rows, columns]) & ~np.isnan(expected[rows, columns])
    rows, columns = rows[is_known], columns[is_known]
    if not len(rows):
        return np.nan
    measured, expected_ranks = (ranks_of_rows(v[rows, columns]) for v in (differences, expected))
    if np.ptp(measured) == 0 or np.ptp(expected_ranks) == 0:
        return np.nan
    observed = rank_correlation(measured, expected_ranks)
    exact = math.factorial(n) <= n_permutations
    counts = np.zeros(3)  # at least as large, at most as large, all
    for batch in _permutation_batches(n, n_permutations, seed, exact):
        permuted_ranks = ranks_of_rows(expected[batch[:, rows], batch[:, columns]])
        null_values = rank_correlation(measured, permuted_ranks)
        null_values = null_values[~np.isnan(null_values)]
        counts += (
            (null_values >= observed - CORRELATION_ROUNDING).sum(),
            (null_values <= observed + CORRELATION_ROUNDING).sum(),
            len(null_values),
        )
    n_larger, n_smaller, total = counts if exact else counts + 1
    return float(min(1.0, 2 * min(n_larger, n_smaller) / total))


def pairings(
    measured: np.ndarray,
    expected: np.ndarray,
    *,
    n_permutations: int = PAIRING_PERMUTATIONS,
    seed: int = 0,
) -> float:
    """Return the two-sided p-value of the Spearman correlation of ``measured`` and ``expected``,
    (pairs,) each, by permuting pairs as if independent.

    The authors of ReSi computed this p-value (``scipy.stats.permutation_test``, exact if every
    pairing can be visited); here the test has a seed. Pairs that share a model are not independent:
    see :func:`mantel`. Pairs with NaN are left out. The result is NaN if there is no correlation.
    """
    is_known = ~(np.isnan(measured) | np.isnan(expected))
    if not is_known.any():
        return np.nan
    a, b = (ranks_of_rows(v[is_known]) - (is_known.sum() + 1) / 2 for v in (measured, expected))
    if not a.any() or not b.any():
        return np.nan
    from scipy.stats import permutation_test

    result = permutation_test(
        (a,),
        lambda x, axis: np.sum(x * b, axis=axis),
        permutation_type="pairings",
        vectorized=True,
        n_resamples=n_permutations,
        rng=generator(seed, "pairings"),
    )
    return float(result.pvalue)


def stars(pvalue: float | None) -> str:
    """Return ``**`` for p <= 0.01, ``*`` for p <= 0.05, nothing otherwise."""
    if pvalue is None or not pvalue <= 0.05:
        return ""
    return "**" if pvalue <= 0.01 else "*"


def pvalue_of(observed: float, drawn: np.ndarray) -> float:
    """Return the one-sided permutation p-value of ``observed`` among the ``drawn`` values,
    (draws,): (1 + number of draws as large) / (1 + number of draws).

    A permutation without a value (NaN) counts as at least as large.
    """
    return float(permutation_pvalues(observed, drawn))


def permutation_pvalues(observed: Any, drawn: np.ndarray) -> Any:
    """Return the one-sided p-values of ``observed`` values, a number or (tests,), among ``drawn``
    values, (draws,) or (draws, tests): (1 + number of draws as large) / (1 + number of draws)."""
    return (1 + count_at_least(observed, drawn)) / (1 + len(drawn))


def count_at_least(observed: Any, drawn: np.ndarray) -> Any:
    """Return the number of drawn values, along the first axis, that are at least as large as the
    observed value. ``observed``: a number or (tests,). ``drawn``: (draws,) or (draws, tests).

    Values with a difference of rounding are equal: a difference below 1e-12 of the observed value
    or of the median size of the drawn values, whichever is larger. A missing value (NaN) counts as
    at least as large.
    """
    size, sizes = (np.nan_to_num(np.abs(v), posinf=0.0) for v in (observed, drawn))
    slack = CORRELATION_ROUNDING * np.maximum(size, np.median(sizes, axis=0))
    return (~(drawn < observed - slack)).sum(axis=0)


def pairs_of(n: int, both_orders: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the pairs of n models: pairs above the diagonal, or with
    ``both_orders`` all pairs of different models."""
    rows, columns = np.nonzero(~np.eye(n, dtype=bool)) if both_orders else np.triu_indices(n, 1)
    return rows, columns


def _permutation_batches(
    n: int, n_permutations: int, seed: int, exact: bool, batch: int = 2000
) -> Iterator[np.ndarray]:
    """Yield permutations of 0 ... n - 1 in batches of rows, (batch, n): all permutations if
    ``exact``, else ``n_permutations`` random permutations."""
    if exact:
        orders = itertools.permutations(range(n))
        while chunk := list(itertools.islice(orders, batch)):
            yield np.array(chunk, dtype=int)
        return
    random = generator(seed, "mantel", n)
    for start in range(0, n_permutations, batch):
        count = min(batch, n_permutations - start)
        yield random.permuted(np.tile(np.arange(n), (count, 1)), axis=1)


# ---------------------------------------- designs


def exchanges(
    n: int,
    *,
    crossed: tuple[Sequence[Any], Sequence[Any]] | None = None,
    within: tuple[Sequence[Any], Sequence[Any]] | None = None,
    nested: Sequence[Any] | None = None,
    n_permutations: int = MANTEL_PERMUTATIONS,
    seed: int = 0,
) -> np.ndarray:
    """Return permutations of n models that keep shared properties together, (draws, n).

    Without restrictions, all permutations are equally likely. ``crossed``: two seeds of every
    model, such as the seeds of pretraining and of fine-tuning: the seeds of each kind are permuted
    as wholes, independently of the other kind. ``within``: the seed and the layer of every model:
    seeds are permuted as wholes, with the same permutation in every layer, and layers stay in
    place, because layers of one network are not exchangeable. ``nested``: the block of every model,
    such as the model before fine-tuning: whole blocks are permuted, and members within each block.

    Few seeds have few permutations, and no p-value is smaller than 1 / number of permutations: see
    :func:`attainable`.

    Raises ``ValueError`` unless there is one model for every seed and layer, or all blocks have one
    size, for fewer than one draw, and for more than one restriction.
    """
    _check_one_restriction("exchanges", crossed, within, nested)
    check_positive_integers("exchanges", n=n, n_permutations=n_permutations)
    random = generator(seed, "exchanges", n)
    pair = within if crossed is None else crossed
    if pair is not None:
        table = _crossed_index_table("exchanges", n, *pair)
        outer, inner = (_random_permutations(random, n_permutations, size) for size in table.shape)
        if within is not None:
            inner = np.tile(np.arange(table.shape[1]), (n_permutations, 1))
        permuted = table[outer[:, :, None], inner[:, None, :]]
    elif nested is not None:
        table = _block_index_table("exchanges", n, nested)
        outer = _random_permutations(random, n_permutations, len(table))
        inner = _random_permutations(random, n_permutations * len(table), table.shape[1]).reshape(
            n_permutations, *table.shape
        )
        permuted = np.take_along_axis(table[outer], inner, axis=2)
    else:
        return _random_permutations(random, n_permutations, n)
    result = np.empty((n_permutations, n), int)
    result[:, table.ravel()] = permuted.reshape(n_permutations, n)
    return result


def attainable(
    n: int,
    *,
    crossed: tuple[Sequence[Any], Sequence[Any]] | None = None,
    within: tuple[Sequence[Any], Sequence[Any]] | None = None,
    nested: Sequence[Any] | None = None,
) -> float:
    """Return the smallest p-value that permuting n models can give: 1 / number of permutations, in
    (0, 1].

    ``crossed``: two seeds of every model. ``within``: the seed and the layer of every model.
    ``nested``: the block of every model. The restrictions and the exceptions are those of
    :func:`exchanges`. With fewer than four seeds ``within`` layers no p-value can be 0.05 or less.
    """
    _check_one_restriction("attainable", crossed, within, nested)
    if nested is not None:
        blocks, members = _block_index_table("attainable", n, nested).shape
        return 1 / count_orders([blocks, *[members] * blocks])
    pair = within if crossed is None else crossed
    if pair is None:
        return 1 / count_orders([n])
    rows, columns = _crossed_index_table("attainable", n, *pair).shape
    return 1 / count_orders([rows] if within is not None else [rows, columns])


def _check_one_restriction(function: str, *kinds: Any) -> None:
    if sum(kind is not None for kind in kinds) > 1:
        raise ValueError(f"{function}: one of crossed, within and nested, not both")


def count_orders(sizes: Iterable[int]) -> float:
    """Return the number of joint permutations of sets with the given sizes: the product of the
    factorials; infinite if too large for a float."""
    group_sizes = list(sizes)
    if sum(math.lgamma(size + 1) for size in group_sizes) > MAX_EXPONENT:
        return math.inf
    return float(math.prod(map(math.factorial, group_sizes)))


def _random_permutations(random: np.random.Generator, n_permutations: int, n: int) -> np.ndarray:
    return random.permuted(np.tile(np.arange(n), (n_permutations, 1)), axis=1)


def _crossed_index_table(
    caller: str, n: int, outer: Sequence[Any], inner: Sequence[Any]
) -> np.ndarray:
    rows, columns = (list(dict.fromkeys(names)) for names in (outer, inner))
    positions = {pair: i for i, pair in enumerate(zip(outer, inner))}
    if not len(outer) == len(inner) == n == len(positions) == len(rows) * len(columns):
        raise ValueError(
            f"{caller}: crossed models need one of every outer and inner label, such as seed and "
            "layer"
        )
    return np.array([[positions[r, c] for c in columns] for r in rows])


def _block_index_table(caller: str, n: int, blocks: Sequence[Any]) -> np.ndarray:
    members = defaultdict[Any, list[int]](list)
    for i, block in enumerate(blocks):
        members[block].append(i)
    sizes = [len(rows) for rows in members.values()]
    if len(blocks) != n or len(set(sizes)) != 1:
        raise ValueError(f"{caller}: blocks must be of one size; got {sizes} for {n} models")
    return np.array(list(members.values()))
