"""Cases of many embeddings, gathered by what may be compared: models of one kind in one task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from papers.judging import NoData, number
from resemblance.results.figures import Bar
from resemblance.results.values import mean
from resemblance.suites.experiments import Part
from resemblance.suites.stability.models import family

from .partial_correlation import mean_over

MODELS = 3  # fewer do not decide a claim
SMALL = 0.3  # correlations that count as none


class Cell(NamedTuple):
    """Embeddings (layers of models, under a pooling) in one task, with the means over splits.

    ``columns``: by name of the quantity an array (n_embeddings,), NaN where there is no value.
    """

    name: str
    embeddings: tuple[str, ...]
    columns: Mapping[str, np.ndarray]


def gathered(
    done: Iterable[tuple[Part, Any]],
    quantities: Callable[[Mapping[str, Any]], Mapping[str, float | None]],
    task: Callable[[Mapping[str, Any]], str] = lambda case: str(case["task"]),
) -> tuple[Cell, ...]:
    """Return the cells of all parts.

    ``quantities`` names what is known of a case, ``task`` what it belongs to.
    """
    cells: dict[str, dict[str, list[Mapping[str, float | None]]]] = {}
    for part, value in done:
        for case in value["cases"]:
            embeddings = cells.setdefault(f"{family(part['model'])}, {task(case)}", {})
            embeddings.setdefault(f"{part['model']} {case['layer']}", []).append(quantities(case))
    return tuple(_cell(name, by_embedding) for name, by_embedding in cells.items())


def _cell(name: str, by_embedding: Mapping[str, Sequence[Mapping[str, float | None]]]) -> Cell:
    names = list(next(iter(by_embedding.values()))[0])
    columns = {
        n: np.array([mean(case[n] for case in cases) for cases in by_embedding.values()])
        for n in names
    }
    return Cell(name, tuple(by_embedding), columns)


def over_cells(
    name: str,
    cells: Sequence[Cell],
    quantities: Sequence[str],
    value: Callable[..., float],
    draws: int,
) -> Bar | None:
    """Return the mean over cells of a value of some quantities, with its interval.

    None when no cell has one.

    ``value`` is called with the first two quantities and, if there are more, the others side by
    side.
    """
    tables = [np.column_stack([cell.columns[q] for q in quantities]) for cell in cells]

    def of(table: np.ndarray) -> float:
        return value(table[:, 0], table[:, 1], *([table[:, 2:]] if len(quantities) > 2 else []))

    bar = mean_over(name, tables, of, draws=draws)
    return None if np.isnan(bar.value) else bar


def is_small(bar: Bar) -> bool:
    """Whether an interval lies within ±0.3: no correlation, rather than an uncertain one."""
    return bar.low is not None and bar.high is not None and bar.low > -SMALL and bar.high < SMALL


def enough(cells: Iterable[Cell]) -> None:
    """Raise ``NoData`` for embeddings of less than three models, which do not decide a claim."""
    models = {name.partition(" ")[0] for cell in cells for name in cell.embeddings}
    if len(models) < MODELS:
        raise NoData(f"{len(models)} models do not decide it: {MODELS} would")


def said(bar: Bar | None) -> str:
    """Return an estimate and its interval as a table shows it."""
    if bar is None:
        return "–"
    between = "" if bar.low is None else f" [{number(bar.low, 2)}, {number(bar.high or 0.0, 2)}]"
    return f"{number(bar.value, 2)}{between}"
