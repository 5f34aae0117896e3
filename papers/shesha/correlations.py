"""Rank correlations over embeddings, plain and partial, with intervals; cells of comparable
embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from papers.judging import NoData, number
from resemblance.base.rng import generator
from resemblance.bench.grounding import spearman
from resemblance.bench.stability.alarms import round_to_ten_digits
from resemblance.sections.values import mean_without_missing
from resemblance.significance import percentile_interval, ranks_of_rows

# A partial correlation needs this many cases more than controls, or the fit is perfect by chance.
MARGIN = 5
MODELS = 3  # minimum number of models to decide a claim
SMALL = 0.3  # smaller correlations count as no correlation
Interval = tuple[float, float, float]  # value, low, high


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's correlation of two vectors over the cases without missing values.

    NaN when a vector is constant.
    """
    return spearman(a, b).value


def partial_rank_correlation(a: np.ndarray, b: np.ndarray, controls: np.ndarray) -> float:
    r"""Return the partial Spearman correlation of a and b, with controls held fixed.

    The value is Pearson's correlation between the residuals of the ranks of a and of b, after a
    linear fit of the ranks of the controls. With one control z the value is :math:`(\rho_{ab} -
    \rho_{az} \rho_{bz}) / \sqrt{(1 - \rho_{az}^2)(1 - \rho_{bz}^2)}`. ``controls`` are (n_cases,
    n_controls). NaN with fewer than five cases more than controls, and when the controls explain a
    or b entirely.
    """
    first, second = _left(a, b, controls, ranks_of_rows)
    lengths = np.linalg.norm(first), np.linalg.norm(second)
    if min(lengths) <= 1e-10 * len(first) ** 1.5:
        return float("nan")
    return float(np.clip(first @ second / (lengths[0] * lengths[1]), -1, 1))


def partial_raw_correlation(a: np.ndarray, b: np.ndarray, controls: np.ndarray) -> float:
    """Return Spearman's correlation between the residuals of a and b after a linear fit of raw
    controls.

    This variant comes from the scripts of Raju 2026. The value depends on the units: a control that
    is a monotone but non-linear function of a leaves a residual.
    """
    return spearman(*_left(a, b, controls, np.asarray)).value


def _left(
    a: np.ndarray, b: np.ndarray, controls: np.ndarray, scaled: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the residuals of a and b after a fit of the controls, over complete cases; empty
    arrays with too few cases."""
    columns = np.column_stack([a, b, controls])
    known = columns[~np.isnan(columns).any(axis=1)]
    if len(known) < controls.shape[1] + MARGIN:
        return np.zeros(0), np.zeros(0)
    values = scaled(known.T)
    return residuals(values[0], values[2:].T), residuals(values[1], values[2:].T)


def residuals(values: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Return the residuals of the least-squares fit of a constant and the controls to the
    values."""
    scale = controls.std(axis=0)
    fit = np.column_stack(
        [np.ones(len(values)), (controls - controls.mean(axis=0)) / np.where(scale > 0, scale, 1)]
    )
    left: np.ndarray = values - fit @ np.linalg.lstsq(fit, values, rcond=None)[0]
    return left


def bootstrapped(
    x: np.ndarray,
    y: np.ndarray,
    controls: np.ndarray | None = None,
    *,
    draws: int,
    random: np.random.Generator,
) -> Interval:
    """Return Spearman's correlation, or the partial correlation of raw values with controls, with
    its 95 % bootstrap percentile interval; draws without a value are left out."""

    def correlation(rows: np.ndarray | slice) -> float:
        if controls is None:
            return rank_correlation(x[rows], y[rows])
        return partial_raw_correlation(x[rows], y[rows], controls[rows])

    n = len(x)
    draws_of = [correlation(random.choice(n, size=n, replace=True)) for _ in range(draws)]
    return correlation(slice(None)), *percentile_interval(draws_of)


# -------------------------------------------------------------------------------------------- cells


class Cell(NamedTuple):
    """Embeddings (layers of models, under a pooling) of one kind of model in one task.

    ``columns``: arrays (n_embeddings,) by the name of a quantity, means over splits, NaN for
    missing values.
    """

    name: str
    embeddings: tuple[str, ...]
    columns: Mapping[str, np.ndarray]


# The quantities of every split, by cell and by embedding.
Splits = dict[str, dict[str, list[Mapping[str, float | None]]]]


class Facts(NamedTuple):
    """The cells of all models, the number of bootstrap samples, and the reasons for missing
    statistics."""

    cells: tuple[Cell, ...]
    draws: int
    reasons: Mapping[str, str] = {}


def gathered(models: Iterable[tuple[Splits, Mapping[str, str]]], draws: int) -> Facts:
    """Return the cells of all models, with the reasons for missing statistics.

    Quantities are averaged over splits and rounded to 10 digits, so that rounding errors of a
    processor do not affect ranks.
    """
    cells: Splits = {}
    reasons = dict[str, str]()
    for cases, why in models:
        reasons |= why
        for name, embeddings in cases.items():
            cells.setdefault(name, {}).update(embeddings)
    return Facts(tuple(_cell(name, of) for name, of in cells.items()), draws, reasons)


def _cell(name: str, embeddings: Mapping[str, Sequence[Mapping[str, float | None]]]) -> Cell:
    columns = {
        q: round_to_ten_digits(
            np.array([mean_without_missing(split[q] for split in of) for of in embeddings.values()])
        )
        for q in next(iter(embeddings.values()))[0]
    }
    return Cell(name, tuple(embeddings), columns)


def over_cells(
    cells: Sequence[Cell],
    quantities: Sequence[str],
    value: Callable[..., float] = rank_correlation,
    *,
    draws: int = 0,
) -> Interval | None:
    """Return the mean over cells of a function of several quantities, with its 95 % bootstrap
    interval; None when no cell has a value.

    ``value`` is called with the first two quantities; further quantities are passed as the columns
    of a third array. The bootstrap draws the embeddings of every cell with replacement; cells
    without a value are left out.
    """
    tables = [np.column_stack([cell.columns[q] for q in quantities]) for cell in cells]

    def of(table: np.ndarray) -> float:
        return value(table[:, 0], table[:, 1], *([table[:, 2:]] if len(quantities) > 2 else []))

    estimate = mean_without_missing(map(of, tables))
    if np.isnan(estimate):
        return None
    means = []
    for draw in range(draws):
        random = generator(0, "correlating", draw)
        means.append(
            mean_without_missing(of(t[random.integers(len(t), size=len(t))]) for t in tables)
        )
    return estimate, *percentile_interval(means)


def enough(cells: Iterable[Cell]) -> None:
    """Raise ``NoData`` for embeddings of fewer than three models, too few to decide a claim."""
    models = {name.partition(" ")[0] for cell in cells for name in cell.embeddings}
    if len(models) < MODELS:
        raise NoData(f"{len(models)} models do not decide it: {MODELS} would")


def is_small(interval: Interval) -> bool:
    """Return whether an interval lies within ±0.3: no correlation, rather than an uncertain
    correlation."""
    return interval[1] > -SMALL and interval[2] < SMALL


def said(interval: Interval | None) -> str:
    """Return an estimate and its interval, if any, as text."""
    if interval is None:
        return "–"
    value, low, high = interval
    between = "" if np.isnan(low) else f" [{number(low, 2)}, {number(high, 2)}]"
    return f"{number(value, 2)}{between}"
