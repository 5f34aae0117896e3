"""Rank correlations over embeddings, plain and partial, with intervals; cells of embeddings that
may be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from papers.judging import NoData, number
from resemblance.base.rng import generator
from resemblance.bench.grounding import spearman
from resemblance.bench.stability.alarms import round_to_ten_digits
from resemblance.sections.values import mean_of_finite
from resemblance.significance import percentile_interval, ranks_of_rows

MARGIN = 5  # cases more than controls that a partial correlation needs: fewer are fitted by chance
MODELS = 3  # fewer do not decide a claim
SMALL = 0.3  # correlations that count as none
Interval = tuple[float, float, float]  # value, low, high


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's correlation of two vectors over the cases that have both values.

    NaN when nothing varies.
    """
    return spearman(a, b).value


def partial_rank_correlation(a: np.ndarray, b: np.ndarray, controls: np.ndarray) -> float:
    r"""Return the partial Spearman correlation of a and b, with controls held fixed.

    Pearson's of what ranks of controls leave of the ranks of a and b. With one control z it is
    :math:`(\rho_{ab} - \rho_{az} \rho_{bz}) / \sqrt{(1 - \rho_{az}^2)(1 - \rho_{bz}^2)}`.
    ``controls`` are (n_cases, n_controls). NaN with fewer than five cases more than controls, and
    when the controls explain a or b entirely.
    """
    first, second = _left(a, b, controls, ranks_of_rows)
    lengths = np.linalg.norm(first), np.linalg.norm(second)
    if min(lengths) <= 1e-10 * len(first) ** 1.5:
        return float("nan")
    return float(np.clip(first @ second / (lengths[0] * lengths[1]), -1, 1))


def partial_raw_correlation(a: np.ndarray, b: np.ndarray, controls: np.ndarray) -> float:
    """Return Spearman's correlation of what a linear fit of raw controls leaves of a and b.

    The variant of the scripts of Raju 2026. It depends on the units: a control that is a monotone
    but not a linear function of a leaves a part of it.
    """
    return spearman(*_left(a, b, controls, np.asarray)).value


def _left(
    a: np.ndarray, b: np.ndarray, controls: np.ndarray, scaled: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the controls leave of a and b in complete cases; nothing in too few of these."""
    columns = np.column_stack([a, b, controls])
    known = columns[~np.isnan(columns).any(axis=1)]
    if len(known) < controls.shape[1] + MARGIN:
        return np.zeros(0), np.zeros(0)
    values = scaled(known.T)
    return residuals(values[0], values[2:].T), residuals(values[1], values[2:].T)


def residuals(values: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Return what the least-squares fit of a constant and the controls leaves of the values."""
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
    """Return Spearman's correlation, or that of raw residuals where there are controls, with its
    95 % bootstrap percentile interval; draws without a value are left out."""

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

    ``columns``: by name of the quantity an array (n_embeddings,), the means over splits, NaN where
    there is no value.
    """

    name: str
    embeddings: tuple[str, ...]
    columns: Mapping[str, np.ndarray]


# by cell, then by embedding, the quantities of every split
Splits = dict[str, dict[str, list[Mapping[str, float | None]]]]


class Facts(NamedTuple):
    """The cells of all models, how many bootstrap samples are drawn of them, and why statistics
    have no value."""

    cells: tuple[Cell, ...]
    draws: int
    reasons: Mapping[str, str] = {}


def gathered(models: Iterable[tuple[Splits, Mapping[str, str]]], draws: int) -> Facts:
    """Return the cells of all models, of each its cases and why some have no value; splits are
    averaged, and rounded to 10 digits, so that no processor ranks its rounding."""
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
            np.array([mean_of_finite(split[q] for split in of) for of in embeddings.values()])
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
    """Return the mean over cells of a value of some quantities, with its 95 % bootstrap interval;
    None when no cell has one.

    ``value`` is called with the first two quantities and, if there are more, the others side by
    side. The cases of every cell, its embeddings, are drawn with replacement; cells without a value
    are left out.
    """
    tables = [np.column_stack([cell.columns[q] for q in quantities]) for cell in cells]

    def of(table: np.ndarray) -> float:
        return value(table[:, 0], table[:, 1], *([table[:, 2:]] if len(quantities) > 2 else []))

    estimate = mean_of_finite(map(of, tables))
    if np.isnan(estimate):
        return None
    means = []
    for draw in range(draws):
        random = generator(0, "correlating", draw)
        means.append(mean_of_finite(of(t[random.integers(len(t), size=len(t))]) for t in tables))
    return estimate, *percentile_interval(means)


def enough(cells: Iterable[Cell]) -> None:
    """Raise ``NoData`` for embeddings of less than three models, which do not decide a claim."""
    models = {name.partition(" ")[0] for cell in cells for name in cell.embeddings}
    if len(models) < MODELS:
        raise NoData(f"{len(models)} models do not decide it: {MODELS} would")


def is_small(interval: Interval) -> bool:
    """Whether an interval lies within ±0.3: no correlation, rather than an uncertain one."""
    return interval[1] > -SMALL and interval[2] < SMALL


def said(interval: Interval | None) -> str:
    """Write an estimate and its interval, if it has one."""
    if interval is None:
        return "–"
    value, low, high = interval
    between = "" if np.isnan(low) else f" [{number(low, 2)}, {number(high, 2)}]"
    return f"{number(value, 2)}{between}"
