"""Cases of many embeddings, gathered by what may be compared: models of one kind in one task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..experiments import Part
from ..findings import Bar
from .correlating import mean_over
from .models import family


class Cell(NamedTuple):
    """Embeddings (layers of models, under a pooling) in one task, and what was found of each, the mean over splits.

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
    """Return the cells of all parts. ``quantities`` names what is known of a case, ``task`` what it belongs to."""
    found: dict[str, dict[str, list[Mapping[str, float | None]]]] = {}
    for part, value in done:
        for case in value["cases"]:
            own = found.setdefault(f"{family(part['model'])}, {task(case)}", {})
            own.setdefault(f"{part['model']} {case['layer']}", []).append(quantities(case))
    return tuple(_cell(name, by_embedding) for name, by_embedding in found.items())


def _cell(name: str, by_embedding: Mapping[str, Sequence[Mapping[str, float | None]]]) -> Cell:
    names = list(next(iter(by_embedding.values()))[0])
    columns = {n: np.array([_mean(case[n] for case in cases) for cases in by_embedding.values()]) for n in names}
    return Cell(name, tuple(by_embedding), columns)


def _mean(values: Iterable[float | None]) -> float:
    there = [v for v in values if v is not None]
    return float(np.mean(there)) if there else float("nan")


def over_cells(
    name: str, cells: Sequence[Cell], quantities: Sequence[str], value: Callable[..., float], draws: int
) -> Bar | None:
    """Return the mean over cells of a value of some quantities, with its interval; None when no cell has one.

    ``value`` is called with the first two quantities and, if there are more, the others side by side.
    """
    tables = [np.column_stack([cell.columns[q] for q in quantities]) for cell in cells]

    def of(table: np.ndarray) -> float:
        return value(table[:, 0], table[:, 1], *([table[:, 2:]] if len(quantities) > 2 else []))

    found = mean_over(name, tables, of, draws=draws)
    return None if np.isnan(found.value) else found


def said(bar: Bar | None) -> str:
    """Return an estimate and its interval as a table shows it."""
    if bar is None:
        return "–"
    between = "" if bar.low is None else f" [{bar.low:.2f}, {bar.high:.2f}]"
    return f"{bar.value:.2f}{between}"
