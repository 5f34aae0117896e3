"""Coherence of perturbations with the effect of magnitude removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.text import did_you_mean
from ..significance import ranks_of_rows
from .screen import Perturbations

DiscordanceForm = Literal["linear", "loess", "rank", "difference"]
MIN_PERTURBATIONS_PER_BIN = 6
LOESS_ROUNDS = 3  # number of rounds that reduce the weight of points far from the line
ScreenColumns = Perturbations | Mapping[str, Any]


class MagnitudeBin(NamedTuple):
    """Reproducibility of more coherent and less coherent perturbations of similar magnitude."""

    low: float  # smallest magnitude
    high: float  # largest magnitude
    n: int
    coherent: float | None  # mean reproducibility at or above the median coherence
    incoherent: float | None  # mean reproducibility below the median coherence
    difference: float | None
    rho: float | None  # Spearman correlation of coherence with reproducibility
    pvalue: float | None
    reason: str  # the reason for missing values, otherwise empty


def magnitude_matched(
    results: ScreenColumns,
    *,
    bins: int = 4,
    coherence: str = "perturbation_coherence",
    reproducibility: str = "perturbation_reproducibility",
    magnitude: str = "perturbation_magnitude",
) -> tuple[MagnitudeBin, ...]:
    """Return the relation between coherence and reproducibility in quantile bins of magnitude.

    Large effects are coherent and reproducible because the effects are large. A relation among
    perturbations of similar magnitude is not due to magnitude. ``results`` is the result of
    :func:`perturbations`, or any table with the named columns (a dictionary, a
    ``pandas.DataFrame``). Perturbations without all three values are left out. A bin with fewer
    than 6 perturbations, or without variation, has a reason in place of values. p-values come from
    ``scipy.stats.spearmanr``.

    Raises ``ValueError`` for fewer than 4 perturbations per bin and for columns that are missing or
    do not fit.

    Reference: ``magnitude_matched_comparison`` of shesha-geometry 0.3.0, which skips small bins
    without a warning.
    """
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool):
        raise ValueError(f"magnitude_matched: bins must be an integer; got {bins!r}")
    table = _columns_of_screen("magnitude_matched", results, coherence, reproducibility, magnitude)
    table = table[:, np.isfinite(table).all(axis=0)]
    if bins < 1 or table.shape[1] < 4 * bins:
        raise ValueError(
            f"magnitude_matched: {bins} bins need {4 * max(bins, 1)} perturbations with all three "
            f"values; got {table.shape[1]}"
        )
    edges = np.quantile(table[2], np.linspace(0, 1, bins + 1))[1:-1]
    # A magnitude at an edge belongs to the lower bin.
    place = np.searchsorted(edges, table[2], side="left")
    return tuple(
        _summarize_magnitude_bin(*table[:, place == b]) for b in range(bins) if (place == b).any()
    )


def _summarize_magnitude_bin(
    coherence: np.ndarray, reproducibility: np.ndarray, magnitude: np.ndarray
) -> MagnitudeBin:
    from scipy.stats import spearmanr

    span, n = (float(magnitude.min()), float(magnitude.max())), len(magnitude)
    reason = ""
    if n < MIN_PERTURBATIONS_PER_BIN:
        reason = f"{n} perturbations are fewer than {MIN_PERTURBATIONS_PER_BIN}"
    if not reason and min(np.ptp(coherence), np.ptp(reproducibility)) == 0:
        reason = "coherence or reproducibility does not vary"
    is_coherent = coherence >= np.median(coherence)
    if not reason and is_coherent.all():
        reason = "no coherence is below the median"
    if reason:
        return MagnitudeBin(*span, n, None, None, None, None, None, reason)
    high = float(reproducibility[is_coherent].mean())
    low = float(reproducibility[~is_coherent].mean())
    test = spearmanr(coherence, reproducibility)
    return MagnitudeBin(
        *span, n, high, low, high - low, float(test.statistic), float(test.pvalue), ""
    )


def discordance(
    results: ScreenColumns,
    *,
    form: DiscordanceForm = "linear",
    share: float = 0.3,
    coherence: str = "perturbation_coherence",
    magnitude: str = "perturbation_magnitude",
) -> np.ndarray:
    r"""Return the discordance: the deficit of every perturbation's coherence below the coherence
    that its magnitude predicts, in standard deviations.

    .. math:: \operatorname{z}(f(m) - s), \quad \operatorname{z}(r(m) - r(s)), \quad
        \operatorname{z}(\operatorname{z}(m) - \operatorname{z}(s))

    of the magnitudes m and the coherences s. ``form`` selects the formula: the negative residual of
    the least-squares line (``"linear"``) or of a robust local line through the nearest ``share`` of
    the perturbations (``"loess"``, Cleveland 1979), the difference of the ranks (``"rank"``), or
    the difference of the z-scores (``"difference"``, the ranking in the author's script).
    ``results`` is the result of :func:`perturbations`, or any table with the columns ``coherence``
    and ``magnitude``. The result is (n_perturbations,), NaN for perturbations without both values;
    z divides by the standard deviation with ddof 0.

    Raises ``ValueError`` for fewer than 10 perturbations and ``UndefinedError`` if magnitudes or
    coherences do not vary or if all discordances are equal.

    Reference: ``discordance`` of shesha-geometry 0.3.0.
    """
    table = _columns_of_screen("discordance", results, coherence, magnitude)
    mask = np.isfinite(table).all(axis=0)
    s, m = table[:, mask]
    if len(s) < 10:
        raise ValueError(f"discordance needs 10 perturbations with both values; got {len(s)}")
    if form not in get_args(DiscordanceForm) or not 3 <= share * len(s) <= len(s):
        raise ValueError(
            f"discordance: form must be one of {', '.join(map(repr, get_args(DiscordanceForm)))} "
            f"and share leave 3 of {len(s)} perturbations or more; got {form!r} and {share}"
        )
    result = np.full(len(mask), np.nan)
    scale = float(np.abs(s).max()) if form in ("linear", "loess") else 1.0
    result[mask] = _z_scores(_excess_coherence(s, m, form, share), scale)
    return result


def _excess_coherence(s: np.ndarray, m: np.ndarray, form: str, share: float) -> np.ndarray:
    magnitudes = _z_scores(m, float(np.abs(m).max()))
    coherences = _z_scores(s, float(np.abs(s).max()))
    expected: dict[str, Callable[[], np.ndarray]] = {
        "linear": lambda: s.mean() + magnitudes * float(np.mean(magnitudes * s)) - s,
        "loess": lambda: _local_line(magnitudes, s, int(share * len(s) + 1e-10)) - s,
        "rank": lambda: ranks_of_rows(m) - ranks_of_rows(s),
        "difference": lambda: magnitudes - coherences,
    }
    return expected[form]()


def _local_line(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Return the values at every x of a robust locally weighted line through the points (x, y),
    (n,) each: (n,) (Cleveland 1979).

    The first weights are tricube weights over the ``k`` nearest points. Later rounds multiply the
    weights by bisquare weights of the residuals.
    """
    distances = np.abs(x[:, None] - x)
    radius = np.sort(distances, axis=1)[:, k - 1 : k]
    scaled_distances = np.where(
        radius > 0, np.clip(distances / np.where(radius > 0, radius, 1), 0, 1), distances > 0
    )
    nearness, trust = (1 - scaled_distances**3) ** 3, np.ones(len(x))
    for step in range(LOESS_ROUNDS + 1):
        weights = np.where((nearness @ trust > 0)[:, None], nearness * trust, nearness)
        weights /= weights.sum(axis=1, keepdims=True)
        center, level = weights @ x, weights @ y
        spread = weights @ x**2 - center**2
        slope = (weights @ (x * y) - center * level) / np.where(spread > 1e-12, spread, np.inf)
        line: np.ndarray = level + slope * (x - center)
        median_residual = float(np.median(np.abs(y - line)))
        if step == LOESS_ROUNDS or median_residual <= 16 * np.finfo(float).eps * np.abs(y).max():
            break
        trust = (1 - np.clip(np.abs(y - line) / (6 * median_residual), 0, 1) ** 2) ** 2
    return line


def _z_scores(values: np.ndarray, scale: float) -> np.ndarray:
    deviation = float(values.std())
    if deviation <= 16 * np.finfo(float).eps * scale:
        raise UndefinedError(
            "discordance: magnitudes and coherences agree perfectly or do not vary; nothing departs"
        )
    return (values - values.mean()) / deviation


def _columns_of_screen(function: str, results: ScreenColumns, *names: str) -> np.ndarray:
    column_names = list(
        results.statistics if isinstance(results, Perturbations) else results.keys()
    )
    for name in names:
        if name not in column_names:
            raise ValueError(
                f"{function}: no column {name!r}{did_you_mean(name, map(str, column_names))}"
            )
    columns = [np.asarray(results[name], dtype=float) for name in names]
    shapes = [column.shape for column in columns]
    if len(set(shapes)) > 1 or columns[0].ndim != 1:
        raise ValueError(
            f"{function}: {', '.join(names)} must be columns of equal length; got shapes {shapes}"
        )
    return np.array(columns)
