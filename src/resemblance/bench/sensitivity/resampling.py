"""Bootstrap over models, and permutation tests that respect shared seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from resemblance.base.text import check_choice
from resemblance.significance import pvalue_of, ranks_of_rows

from .procedure import check_distances, expected_differences

CopyRule = Literal["all", "one"]


# ---------------------------------------------------------------------------------------- bootstrap


class Resampled(NamedTuple):
    """Rank correlations in bootstrap samples, by measure, (draws,); NaN for a sample without a
    correlation."""

    spearman: Mapping[str, np.ndarray]
    kendall: Mapping[str, np.ndarray]


def bootstrap(
    differences: Mapping[str, Any],
    functionality: Any,
    counts: Any,
    *,
    rows: Sequence[int] | None = None,
    copies: CopyRule = "all",
) -> Resampled:
    r"""Return rank correlations in bootstrap samples of models; every sample has its own reference.

    Parameters
    ----------
    differences : by measure, (m, n) distances as for :func:`agreement`. All measures use the same
        samples, so that differences between measures are differences of draws.
    functionality, rows : as for :func:`agreement`; the reference of a sample is the best of its
        rows.
    counts : (draws, n), from :func:`bootstrap_counts`.
    copies : the pairs of the reference with itself. ``"all"``: a pair for every copy of the
        reference in the sample, as in the paper's procedure, which raises every correlation because
        (0, 0) is always right. ``"one"``: a single pair, as without resampling.

    All samples are computed at once: with weights w, Kendall's :math:`\tau_b` is a ratio of
    quadratic forms :math:`w^\top S w` in signs of differences, and ranks are linear in w.

    Raises ``ValueError`` for shapes that do not fit, negative counts, and infinite distances.

    Reference: Ding et al. 2021, Appendix E.
    """
    check_choice("copies", copies, ("all", "one"))
    counts = _as_integers("bootstrap: counts", counts)
    if counts.min(initial=0) < 0:
        raise ValueError(f"bootstrap: counts must not be negative; the smallest is {counts.min()}")
    spearman, kendall = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name, distances in differences.items():
        d, f, places = check_distances("bootstrap", distances, functionality, rows)
        if counts.shape[1:] != f.shape:
            raise ValueError(
                f"bootstrap: counts {counts.shape} must have one column for each of {len(f)} models"
            )
        values = np.full((2, len(counts)), np.nan)
        for row, reference, samples in _samples_by_reference(f, places, counts):
            weights = counts[samples].astype(float)
            if copies == "one":
                weights[:, reference] = 1
            weights[:, np.isnan(d[row])] = 0
            values[:, samples] = weighted_correlations(
                d[row], expected_differences(f, reference), weights
            )
        spearman[name], kendall[name] = values
    return Resampled(spearman, kendall)


def _as_integers(name: str, values: Any) -> np.ndarray:
    numbers = np.asarray(values)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be whole numbers (draws, n); got shape {numbers.shape} of {numbers.dtype}"
        )
    return numbers


def _samples_by_reference(
    functionality: np.ndarray, places: np.ndarray, counts: np.ndarray
) -> list[tuple[int, int, np.ndarray]]:
    """Return the bootstrap samples that share a reference model, grouped by reference.

    ``functionality``: the score of each model, (models,). ``places``: the positions of the models
    that may be a reference, one for each row. ``counts``: how often each bootstrap sample holds
    each model, (samples, models). The reference of a bootstrap sample is its possible reference
    with the largest functionality; a sample without a possible reference is left out. An entry is
    the row of the reference, the model, and the numbers of the bootstrap samples with this
    reference.
    """
    values = np.where(counts[:, places] > 0, functionality[places], -np.inf)
    best_rows = values.argmax(axis=1)
    # The sample contains no possible reference.
    best_rows[np.isneginf(values.max(axis=1))] = -1
    return [
        (int(row), int(places[row]), np.flatnonzero(best_rows == row))
        for row in np.unique(best_rows[best_rows >= 0])
    ]


def weighted_correlations(
    measured: np.ndarray, expected: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return Spearman's and Kendall's correlation of n weighted points, (2, k), for k weight
    vectors.

    ``measured``, ``expected``: the coordinates of the points, (n,). ``weights``: (k, n); a weight
    is the number of copies of a point. NaN if all measured or all expected values are equal.
    """
    a, b = (np.where(np.isnan(v), 0.0, v) for v in (measured, expected))
    signs = [np.sign(v[:, None] - v[None, :]) for v in (a, b)]
    matrices = (signs[0] * signs[1], *map(np.abs, signs))
    concordant, first, second = (((weights @ s) * weights).sum(axis=1) for s in matrices)
    ranks = [weights @ s.T for s in signs]  # twice the ranks, up to a constant
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1.0)  # a sample can be empty
    x, y = (r - (weights * r).sum(axis=1, keepdims=True) / total for r in ranks)
    xy, xx, yy = ((weights * p).sum(axis=1) for p in (x * y, x * x, y * y))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho, tau = xy / np.sqrt(xx * yy), concordant / np.sqrt(first * second)
    is_tied = (first == 0) | (second == 0)
    return np.clip(np.where(is_tied, np.nan, [rho, tau]), -1, 1)


# -------------------------------------------------------------------------------- permutation tests


def permutation_test(
    differences: Mapping[str, Any],
    functionality: Any,
    exchanged: Any,
    *,
    rows: Sequence[int] | None = None,
    self_pair: bool = True,
) -> dict[str, float]:
    r"""Return, by measure, the one-sided p-value of Spearman's correlation under permutations of
    the functionality of models.

    .. math:: p = \frac{1 + \#\{\pi : \rho(d, f \circ \pi) \ge \rho(d, f)\}}{1 + \text{draws}}

    The reference of a permutation is the best representation after the permutation. Suppose that
    distances are unrelated to functionality beyond the factors that models share, and that
    ``exchanged`` from :func:`exchanges` keeps shared factors together. Then p <= a with probability
    at most a, whatever the dependence between pairs.

    ``differences``: by measure, distances (m, n) of m possible references from all n
    representations. ``functionality``: numbers (n,), such as accuracies. ``exchanged``: (draws, n).
    ``rows``: the positions of the references, by default all. ``self_pair``: whether the pair of
    the reference with itself counts. NaN for a measure with missing values, or without a
    correlation. Raises ``ValueError`` for shapes that do not fit.
    """
    exchanged = _as_integers("permutation_test: exchanges", exchanged)
    if not np.array_equal(
        np.sort(exchanged, axis=1), np.tile(np.arange(exchanged.shape[1]), (len(exchanged), 1))
    ):
        raise ValueError(
            "permutation_test: every row of exchanges must be a permutation of 0 to "
            f"{exchanged.shape[1] - 1}"
        )
    results = {}
    expected_ranks = None
    for name, distances in differences.items():
        d, f, places = check_distances("permutation_test", distances, functionality, rows)
        if exchanged.shape[1:] != f.shape:
            raise ValueError(
                f"permutation_test: exchanges {exchanged.shape} must have {len(f)} columns, one "
                "per model"
            )
        expected_ranks = expected_ranks or _expected_ranks(f, places, exchanged, self_pair)
        if np.isnan(d).any():
            results[name] = np.nan
        else:
            results[name] = _reference_pvalue(d, places, *expected_ranks, self_pair)
    return results


def _expected_ranks(
    functionality: np.ndarray, places: np.ndarray, exchanged: np.ndarray, self_pair: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of the reference, (1 + draws,), and the expected ranks of its distances, (1 +
    draws, n): first observed, then for every permutation.

    ``functionality``: of the models, (n,). ``places``: the positions of the possible references.
    ``exchanged``: permutations (draws, n). ``self_pair``: whether the pair of the reference with
    itself counts.
    """
    n = len(functionality)
    orders = np.vstack([np.arange(n), exchanged])
    row = functionality[orders][:, places].argmax(axis=1)
    # model whose functionality the reference receives
    references = orders[np.arange(len(orders)), places[row]]
    ranks = unit_ranks(
        np.array([expected_differences(functionality, b) for b in range(n)]),
        np.arange(n),
        self_pair,
    )
    return row, ranks[references[:, None], orders]


def _reference_pvalue(
    differences: np.ndarray,
    places: np.ndarray,
    row: np.ndarray,
    expected: np.ndarray,
    self_pair: bool,
) -> float:
    correlations = (unit_ranks(differences, places, self_pair)[row] * expected).sum(axis=1)
    observed, draws = correlations[0], correlations[1:]
    return np.nan if np.isnan(observed) else pvalue_of(observed, draws)


def unit_ranks(values: np.ndarray, selves: np.ndarray, self_pair: bool) -> np.ndarray:
    """Return the ranks within every row of ``values`` (m, n), centred and scaled to unit length;
    NaN for a row of equal values.

    ``selves``: the column of the self pair, by row. Without ``self_pair`` self pairs do not count,
    and their entry is 0.
    """
    places = np.arange(len(values))
    if not self_pair:
        values = values.copy()
        # The self pair ranks first, which shifts all other ranks by the same amount.
        values[places, selves] = -np.inf
    ranks = ranks_of_rows(values)
    mask = np.ones(values.shape, bool)
    mask[places, selves] = self_pair
    centered = np.where(
        mask, ranks - (ranks * mask).sum(axis=1, keepdims=True) / mask.sum(axis=1)[:, None], 0
    )
    with np.errstate(invalid="ignore"):
        unit: np.ndarray = centered / np.sqrt((centered**2).sum(axis=1, keepdims=True))
    return unit
