"""The procedure of Ding et al. 2021, Section 4: correlate distances from a reference with
differences in functionality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.text import check_choice
from resemblance.significance import known_mean

from ..grounding import kendall, spearman


class Agreement(NamedTuple):
    """Agreement of measured distances with differences in functionality: rank correlations in [-1,
    1], larger is better.

    ``reference``: position of the reference; None for the mean over all references. ``pairs``: the
    number of distances used. A correlation is NaN if all distances, or all differences, are equal.
    """

    spearman: float
    kendall: float
    pairs: int
    reference: int | None


def agreement(
    differences: Any,
    functionality: Any,
    *,
    rows: Sequence[int] | None = None,
    reference: str = "best",
    self_pair: bool = True,
) -> Agreement:
    r"""Return the rank correlation of distances from a reference A with differences in
    functionality.

    Spearman's :math:`\rho` and Kendall's :math:`\tau_b` between :math:`d(A, B)` and :math:`|f(A) -
    f(B)|` over all B.

    Parameters
    ----------
    differences : (m, n) distances of m possible references from all n representations; unknown
        distances are NaN and left out. Row first: for an asymmetric measure the reference is the
        first argument.
    functionality : (n,) numbers, such as accuracies.
    rows : positions of the m references among the n representations. Default: all, in order.
    reference : ``"best"``, the possible reference of highest functionality, the first of equals;
        ``"every"``, the mean over all possible references.
    self_pair : whether A itself counts, with a difference of 0, as in the authors' code. The self
        pair raises every correlation.

    Raises ``ValueError`` for shapes that do not fit, functionality that is not finite, and an
    unknown reference.

    Reference: Ding et al. 2021, Section 4. In benchmark 1 the authors' code uses the last layer of
    the best seed instead; in benchmark 4 the position of the best model is counted from 0 on one
    side and from 1 on the other.
    """
    d, f, places = check_distances("agreement", differences, functionality, rows)
    check_choice("agreement: reference", reference, ("best", "every"))
    if reference == "every":
        row_agreements = [_row_agreement(d[i], f, int(r), self_pair) for i, r in enumerate(places)]
        rho, tau = (float(v) for v in known_mean([a[:2] for a in row_agreements]))
        return Agreement(rho, tau, sum(a.pairs for a in row_agreements), None)
    best_index = reference_of(f, places)
    return _row_agreement(d[places.tolist().index(best_index)], f, best_index, self_pair)


def reference_of(functionality: Any, rows: Any) -> int:
    """Return the position with the highest functionality among ``rows``, the first of equals.

    ``functionality`` (n,), ``rows`` positions in ``functionality``. Raises ``ValueError`` for
    positions that do not exist.
    """
    f = np.asarray(functionality, float)
    places = check_row_positions("reference_of", rows, len(f) if f.ndim == 1 else 0)
    if not np.isfinite(f).all():
        raise ValueError("reference_of: functionality must be finite")
    return int(places[np.argmax(f[places])])


def one_sided(measured: Any, expected: Any) -> tuple[float, float]:
    """Return the two p-values that the paper prints, against the hypotheses that Spearman's, and
    that Kendall's correlation are not positive.

    ``measured``, ``expected``: the distances, (pairs,). Pairs with NaN are left out. The p-values
    assume independent pairs, although pairs with a common reference, or models with a common seed,
    depend on each other: see :func:`permutation_test`. The function halves the two-sided p-values
    of SciPy, and uses the complement for a negative correlation. NaN without a correlation, and for
    fewer than three pairs. Raises ``ValueError`` for lists of different lengths.
    """
    from scipy.stats import kendalltau, spearmanr

    first, second = np.asarray(measured, float), np.asarray(expected, float)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"one_sided: two lists of one length are needed; got shapes {first.shape} and "
            f"{second.shape}"
        )
    mask = ~(np.isnan(first) | np.isnan(second))
    a, b = first[mask], second[mask]
    if len(a) < 3 or np.ptp(b) == 0 or (a == a[0]).all():
        return np.nan, np.nan
    results = [test(a, b) for test in (spearmanr, kendalltau)]
    rho, tau = (float(r.pvalue / 2 if r.statistic > 0 else 1 - r.pvalue / 2) for r in results)
    return rho, tau


def check_distances(
    name: str, differences: Any, functionality: Any, rows: Sequence[int] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distances (m, n), functionality (n,) and row positions (m,) as arrays; by default, the
    positions of all n rows. Raises ``ValueError`` if shapes do not fit, for functionality that is
    not finite, and for infinite distances. ``name``: the function in errors."""
    d, f = np.asarray(differences, float), np.asarray(functionality, float)
    if rows is None and f.ndim == 1:
        places = np.arange(len(f))
    else:
        places = np.asarray([] if rows is None else rows)
    if f.ndim != 1 or d.shape != (len(places), len(f)) or not len(places):
        summary = (
            f"{name}: got differences {d.shape}, functionality {f.shape} and {len(places)} rows"
        )
        raise ValueError(f"{summary}; needed are (m, n), (n,) and m positions, of all n by default")
    places = check_row_positions(name, places, len(f))
    if not np.isfinite(f).all():
        raise ValueError(
            f"{name}: functionality must be finite; {int((~np.isfinite(f)).sum())} of {len(f)} "
            "are not"
        )
    if np.isinf(d).any():
        raise ValueError(
            f"{name}: {int(np.isinf(d).sum())} differences are infinite; give NaN for those not "
            "known"
        )
    return d, f, places


def check_row_positions(name: str, rows: Any, n: int) -> np.ndarray:
    """Return ``rows`` as an array of distinct positions from 0 to n - 1; raise ``ValueError`` for
    anything else, and without positions. ``name``: the function in errors."""
    places = np.asarray(rows)
    right = (
        places.ndim == 1
        and places.dtype.kind in "iu"
        and len(places)
        and len(set(places.tolist())) == len(places)
    )
    if not right or places.min() < 0 or places.max() >= n:
        raise ValueError(
            f"{name}: rows must be different positions from 0 to {n - 1}; got {places.tolist()}"
        )
    return places


def expected_differences(functionality: np.ndarray, reference: int) -> np.ndarray:
    """Return the absolute differences in functionality, (n,), from the model at position
    ``reference``; rounding to 12 decimals keeps equal differences equal. ``functionality``: of the
    models, (n,)."""
    return np.abs(functionality - functionality[reference]).round(12)


def _row_agreement(
    distances: np.ndarray, functionality: np.ndarray, reference: int, self_pair: bool
) -> Agreement:
    expected = expected_differences(functionality, reference)
    if not self_pair:
        distances, expected = np.delete(distances, reference), np.delete(expected, reference)
    first, second = (quality(distances, expected).value for quality in (spearman, kendall))
    return Agreement(first, second, int((~np.isnan(distances)).sum()), reference)
