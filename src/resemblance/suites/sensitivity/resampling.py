"""Could it be chance? Bootstrap over models, and permutation tests that take account of shared
seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import gammaln
from scipy.stats import rankdata

from ...rng import generator
from .procedure import checked, expected_from

DRAWS = 2000
PERMUTATIONS = 1999
Copies = Literal["all", "one", "none"]


# ---------------------------------------------------------------------------------------- bootstrap


class Resampled(NamedTuple):
    """Rank correlations in bootstrap samples, by measure, (draws,); NaN where a sample has none."""

    spearman: Mapping[str, np.ndarray]
    kendall: Mapping[str, np.ndarray]


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
    if sum(given is not None for given in (blocks, nested, crossed)) > 1:
        raise ValueError("bootstrap: one of blocks, nested and crossed, not more")
    _whole("bootstrap_counts", draws, n=n)
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


def _whole(function: str, draws: Any, n: Any) -> None:
    for name, value in (("n", n), ("draws", draws)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(
                f"{function}: {name} must be a whole number of at least 1; got {value!r}"
            )


def _drawn(random: np.random.Generator, n: int, names: Sequence[Any], draws: int) -> np.ndarray:
    """Return how often the block of every model was drawn, (draws, n)."""
    every = list(dict.fromkeys(names))
    if len(names) != n or len(every) < 2:
        raise ValueError(
            f"bootstrap: n={n} models in two or more blocks are needed; got {len(names)} in "
            f"{len(every)}"
        )
    drawn = random.multinomial(len(every), np.full(len(every), 1 / len(every)), size=draws)
    counts: np.ndarray = drawn[:, [every.index(name) for name in names]]
    return counts


def bootstrap(
    differences: Mapping[str, Any],
    functionality: Any,
    counts: Any,
    *,
    rows: Sequence[int] | None = None,
    copies: Copies = "all",
) -> Resampled:
    r"""Return rank correlations over bootstrap samples of models, the reference chosen anew in
    each.

    Parameters
    ----------
    differences : by measure, (m, n) distances as for :func:`agreement`. All measures see the same
        samples, so that differences between them are differences of draws.
    functionality, rows : as for :func:`agreement`; the reference of a sample is the best of the
        rows that are in it.
    counts : (draws, n), from :func:`bootstrap_counts`.
    copies : the pairs of the reference with itself: ``"all"``, one for each time that it was drawn,
        as the paper's procedure gives it, which lifts every correlation because (0, 0) is always
        right; ``"one"``, as without resampling; ``"none"``.

    Nothing is drawn, ranked or counted one sample after the other: with weights w, Kendall's
    :math:`\tau_b` is a ratio of quadratic forms :math:`w^\top S w` in signs of differences, and
    ranks are linear in w.

    Raises ``ValueError`` for shapes that do not fit, counts that are negative, and infinite
    distances.

    Reference: Ding et al. 2021, Appendix E.
    """
    if copies not in ("all", "one", "none"):
        raise ValueError(f"copies must be 'all', 'one' or 'none'; got {copies!r}")
    counts = _integers("bootstrap: counts", counts)
    if counts.min(initial=0) < 0:
        raise ValueError(f"bootstrap: counts must not be negative; the smallest is {counts.min()}")
    found = Resampled({}, {})
    for name, given in differences.items():
        d, f, places = checked("bootstrap", given, functionality, rows)
        if counts.shape[1:] != f.shape:
            raise ValueError(
                f"bootstrap: counts {counts.shape} must have one column for each of {len(f)} models"
            )
        values = np.full((2, len(counts)), np.nan)
        for row, reference, chosen in _by_reference(f, places, counts):
            weights = counts[chosen].astype(float)
            if copies != "all":
                weights[:, reference] = copies == "one"
            weights[:, np.isnan(d[row])] = 0
            values[:, chosen] = weighted_correlations(d[row], expected_from(f, reference), weights)
        found.spearman[name], found.kendall[name] = values  # type: ignore[index]
    return found


def _integers(what: str, values: Any) -> np.ndarray:
    given = np.asarray(values)
    if given.ndim != 2 or given.dtype.kind not in "iu":
        raise ValueError(
            f"{what} must be whole numbers (draws, n); got shape {given.shape} of {given.dtype}"
        )
    return given


def _by_reference(
    functionality: np.ndarray, places: np.ndarray, counts: np.ndarray
) -> list[tuple[int, int, np.ndarray]]:
    """Return every row that is the reference of some samples: its position, its model, and which
    samples."""
    there = np.where(counts[:, places] > 0, functionality[places], -np.inf)
    best = there.argmax(axis=1)
    best[np.isneginf(there.max(axis=1))] = -1  # no possible reference was drawn
    return [
        (int(row), int(places[row]), np.flatnonzero(best == row))
        for row in np.unique(best[best >= 0])
    ]


def weighted_correlations(
    measured: np.ndarray, expected: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return Spearman's and Kendall's correlation, (2, k), of points that occur as often as each of
    k weights says."""
    a, b = (np.where(np.isnan(v), 0.0, v) for v in (measured, expected))
    signs = [np.sign(v[:, None] - v[None, :]) for v in (a, b)]
    concordant, first, second = (
        _form(weights, s) for s in (signs[0] * signs[1], *map(np.abs, signs))
    )
    ranks = [weights @ s.T for s in signs]  # twice the ranks, but for a constant
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1.0)  # a sample can be empty
    x, y = (r - (weights * r).sum(axis=1, keepdims=True) / total for r in ranks)
    xy, xx, yy = ((weights * p).sum(axis=1) for p in (x * y, x * x, y * y))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho, tau = xy / np.sqrt(xx * yy), concordant / np.sqrt(first * second)
    tied = (first == 0) | (second == 0)
    return np.clip(np.where(tied, np.nan, [rho, tau]), -1, 1)


def _form(weights: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    form: np.ndarray = ((weights @ matrix) * weights).sum(axis=1)
    return form


# -------------------------------------------------------------------------------- permutation tests


def exchanges(
    n: int,
    *,
    crossed: tuple[Sequence[Any], Sequence[Any]] | None = None,
    within: tuple[Sequence[Any], Sequence[Any]] | None = None,
    nested: Sequence[Any] | None = None,
    draws: int = PERMUTATIONS,
    seed: int = 0,
) -> np.ndarray:
    """Return permutations of n models that keep what they share together, (draws, n).

    Without more, every order is as likely. ``crossed``: two seeds of every model, such as those of
    pretraining and of fine-tuning: each kind changes places as wholes, independently. ``within``:
    the seed and the layer of every model: seeds change places as wholes inside layers, and layers
    stay where they are, because layers of one network are not exchangeable: all seeds have their
    order in common. ``nested``: the block of every model, such as the model it was fine-tuned from:
    blocks change places as wholes, and members inside each of them.

    Few seeds have few orders, and no p-value is smaller than one by their number: see
    :func:`attainable`.

    Raises ``ValueError`` unless there is one model for every seed and layer, or all blocks are of
    one size, for fewer than one draw, and for more than one kind.
    """
    _one_kind("exchanges", crossed, within, nested)
    _whole("exchanges", draws, n)
    random = generator(seed, "exchanges", n)
    pair = within if crossed is None else crossed
    if pair is not None:
        table = _table(n, *pair)
        outer, inner = (_shuffled(random, draws, size) for size in table.shape)
        if within is not None:
            inner = np.tile(np.arange(table.shape[1]), (draws, 1))
        moved = table[outer[:, :, None], inner[:, None, :]]
    elif nested is not None:
        table = _rectangle(n, nested)
        outer = _shuffled(random, draws, len(table))
        inner = _shuffled(random, draws * len(table), table.shape[1]).reshape(draws, *table.shape)
        moved = np.take_along_axis(table[outer], inner, axis=2)
    else:
        return _shuffled(random, draws, n)
    result = np.empty((draws, n), int)
    result[:, table.ravel()] = moved.reshape(draws, n)
    return result


def _one_kind(function: str, *kinds: Any) -> None:
    if sum(kind is not None for kind in kinds) > 1:
        raise ValueError(f"{function}: one of crossed, within and nested, not both")


def attainable(
    n: int,
    *,
    crossed: tuple[Sequence[Any], Sequence[Any]] | None = None,
    within: tuple[Sequence[Any], Sequence[Any]] | None = None,
    nested: Sequence[Any] | None = None,
) -> float:
    """Return the smallest p-value that permuting n models can give: one by the number of their
    orders, in (0, 1].

    The arguments are those of :func:`exchanges`, and so are the errors. With fewer than four seeds
    ``within`` layers no p-value can be 0.05 or less.
    """
    _one_kind("attainable", crossed, within, nested)
    if nested is not None:
        blocks, members = _rectangle(n, nested).shape
        return _one_by_orders([blocks, *[members] * blocks])
    pair = within if crossed is None else crossed
    if pair is None:
        return _one_by_orders([n])
    rows, columns = _table(n, *pair).shape
    return _one_by_orders([rows] if within is not None else [rows, columns])


def _one_by_orders(sizes: Sequence[int]) -> float:
    return float(np.exp(-sum(gammaln(size + 1) for size in sizes)))


def _shuffled(random: np.random.Generator, draws: int, n: int) -> np.ndarray:
    return random.permuted(np.tile(np.arange(n), (draws, 1)), axis=1)


def _table(n: int, outer: Sequence[Any], inner: Sequence[Any]) -> np.ndarray:
    rows, columns = (list(dict.fromkeys(names)) for names in (outer, inner))
    where = {pair: i for i, pair in enumerate(zip(outer, inner))}
    if not len(outer) == len(inner) == n == len(where) == len(rows) * len(columns):
        raise ValueError(
            "exchanges: crossed models need one of every outer and inner label, such as seed and "
            "layer"
        )
    return np.array([[where[r, c] for c in columns] for r in rows])


def _rectangle(n: int, blocks: Sequence[Any]) -> np.ndarray:
    members = [
        [i for i, name in enumerate(blocks) if name == block] for block in dict.fromkeys(blocks)
    ]
    if len(blocks) != n or len({len(m) for m in members}) != 1:
        raise ValueError(
            f"exchanges: blocks must be of one size; got {[len(m) for m in members]} for {n} models"
        )
    return np.array(members)


def permutation_test(
    differences: Mapping[str, Any],
    functionality: Any,
    exchanged: Any,
    *,
    rows: Sequence[int] | None = None,
    self_pair: bool = True,
) -> dict[str, float]:
    r"""Return, by measure, the one-sided p-value of Spearman's correlation by permuting the
    functionality of models.

    .. math:: p = \frac{1 + \#\{\pi : \rho(d, f \circ \pi) \ge \rho(d, f)\}}{1 + \text{draws}}

    The reference is chosen anew, as the best after the permutation. Under the hypothesis that
    distances have nothing to do with functionality beyond what models share, and with ``exchanged``
    from :func:`exchanges` for what they share, p is at most a with probability a at most, whatever
    the dependence of pairs.

    ``differences``, ``functionality``, ``rows``, ``self_pair``: as for :func:`agreement`. NaN for a
    measure without some of its values, or without a correlation. Raises ``ValueError`` for shapes
    that do not fit.
    """
    exchanged = _integers("permutation_test: exchanges", exchanged)
    if not np.array_equal(
        np.sort(exchanged, axis=1), np.tile(np.arange(exchanged.shape[1]), (len(exchanged), 1))
    ):
        raise ValueError(
            "permutation_test: every row of exchanges must be an order of 0 to "
            f"{exchanged.shape[1] - 1}"
        )
    results = {}
    prepared = None
    for name, given in differences.items():
        d, f, places = checked("permutation_test", given, functionality, rows)
        if exchanged.shape[1:] != f.shape:
            raise ValueError(
                f"permutation_test: exchanges {exchanged.shape} must have {len(f)} columns, one "
                "per model"
            )
        prepared = prepared or _expected_ranks(f, places, exchanged, self_pair)
        results[name] = np.nan if np.isnan(d).any() else _p_value(d, places, *prepared, self_pair)
    return results


def _expected_ranks(
    functionality: np.ndarray, places: np.ndarray, exchanged: np.ndarray, self_pair: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row that is the reference, and the ranks expected of its distances, as observed
    and permuted."""
    n = len(functionality)
    orders = np.vstack([np.arange(n), exchanged])
    row = functionality[orders][:, places].argmax(axis=1)
    best = orders[
        np.arange(len(orders)), places[row]
    ]  # the model whose functionality the reference has
    ranks = _unit_ranks(
        np.array([expected_from(functionality, b) for b in range(n)]), np.arange(n), self_pair
    )
    return row, ranks[best[:, None], orders]


def _p_value(
    differences: np.ndarray,
    places: np.ndarray,
    row: np.ndarray,
    expected: np.ndarray,
    self_pair: bool,
) -> float:
    correlations = (_unit_ranks(differences, places, self_pair)[row] * expected).sum(axis=1)
    observed, drawn = correlations[0], correlations[1:]
    if np.isnan(observed):
        return np.nan
    # a permutation without a correlation counts as one that is as good
    return float((1 + (~(drawn < observed - 1e-12)).sum()) / (1 + len(drawn)))


def _unit_ranks(values: np.ndarray, own: np.ndarray, self_pair: bool) -> np.ndarray:
    """Return the ranks within every row, centred and of unit length; 0 for its own column if that
    does not count."""
    places = np.arange(len(values))
    if not self_pair:
        values = values.copy()
        values[places, own] = -np.inf  # ranked first, so that it moves all others alike
    ranks = rankdata(values, axis=1)
    counted = np.ones(values.shape, bool)
    counted[places, own] = self_pair
    centred = np.where(
        counted,
        ranks - (ranks * counted).sum(axis=1, keepdims=True) / counted.sum(axis=1)[:, None],
        0,
    )
    with np.errstate(invalid="ignore"):
        unit: np.ndarray = centred / np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return unit
