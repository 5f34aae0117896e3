"""A forecast for a person, as a table, and for programs."""

from __future__ import annotations

from typing import Any

from ..engine.forecast import Forecast, duration
from ..engine.memory import in_units
from .output import Output
from .terminal import plain_table


def forecast_tables(forecast: Forecast) -> list[Any]:
    """Return what to print: a line for each measure, then what concerns all."""
    header = ("measure", "values", "stored", "views", "pairs", "memory", "note")
    columns = [i for i, name in enumerate(header) if name != "stored" or _has_stored(forecast)]
    rows = [
        (
            m.measure,
            f"{m.values:,}",
            f"{m.stored:,}",
            "?" if m.views is None else duration(m.views),
            "?" if m.pairs is None else duration(m.pairs),
            in_units(m.memory),
            m.note,
        )
        for m in forecast.measures
    ]
    shown = [tuple(row[i] for i in columns) for row in rows]
    facts = [(name, text) for name, text in forecast.facts().items() if text]
    return [
        plain_table([header[i] for i in columns], shown, right=range(1, len(columns) - 1)),
        *(f"{name:<10} {text}" for name, text in facts),
        "",
        "Seconds of a measure are those it takes alone; views that several share are",
        f"counted once in the sum. Measured on: {forecast.machine};",
        f"this machine takes {forecast.slowness:.2g} times as long. Expect a factor of two.",
    ]


def _has_stored(forecast: Forecast) -> bool:
    return any(m.stored for m in forecast.measures)


def forecast_output(forecast: Forecast) -> Output:
    """Return what is written of a forecast."""
    return Output(forecast_tables(forecast), forecast.document(), forecast.records())
