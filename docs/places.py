"""What is known of a measure elsewhere: its cost, and its place in the suites."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pieces import table

import resemblance as rs
from resemblance.costs import cost_table

STORED = Path(__file__).parent.parent / "papers" / "results" / "joint.json"
SUITES = {
    "resi": ("resi", "ReSi"),
    "sensitivity": ("sensitivity", "Sensitivity"),
    "manifolds": ("manifolds", "Manifolds"),
    "stability": ("stability-suite", "Stability"),
}
SIZES = ((500, 128), (1000, 768), (4000, 768))


class Standing(NamedTuple):
    """The place of a measure among those that took part in all suites."""

    rank: float
    position: int
    suites: dict[str, float]


@cache
def standings() -> dict[str, Standing]:
    """Return the stored places by label."""
    stored = json.loads(STORED.read_text("utf-8"))
    tables = (t for section in stored["sections"] for t in section["tables"])
    places = next(t for t in tables if t["name"] == "places")
    rank, position, first = map(places["columns"].index, ("mean rank", "position", "resi"))
    suites = places["columns"][first:]
    return {
        row[0]: Standing(row[rank], row[position], dict(zip(suites, row[first:], strict=True)))
        for row in places["rows"]
    }


def place_of(m: rs.Measure) -> str:
    """Return the mean rank of a measure in each suite."""
    count = len(standings())
    if m.label not in standings():
        return (
            f"It did not take part in all suites, so it has no place in the :doc:`joint ranking "
            f"<../joint>` of {count} measures."
        )
    standing = standings()[m.label]
    rows = [("all suites together", f"{standing.rank:.1f}")]
    rows += [
        (f":doc:`{SUITES[name][1]} <../{SUITES[name][0]}>`", f"{rank:.1f}")
        for name, rank in standing.suites.items()
    ]
    intro = (
        f"Position {standing.position} of {count} in the :doc:`joint ranking <../joint>`. Mean "
        f"ranks over the tests of each suite; 1 is best, and a measure that guesses has about "
        f"{(count + 1) / 2:.0f}:"
    )
    return f"{intro}\n\n{table(('suite', 'mean rank'), rows, numbers=True)}"


def cost_of(m: rs.Measure) -> str:
    """Return the CPU time of one pair at three sizes; empty where it was not measured."""
    if cost_table().name_of(m) is None:
        return ""
    head = ("samples × features", "each representation, once", "each pair")
    rows = list(_costs(m))
    note = (
        f"CPU time on one core, from costs measured once ({cost_table().machine}). Other machines "
        f"differ; the ratio between measures is more reliable than the seconds. "
        f"``rs.plan`` :doc:`predicts a whole comparison <../how-big>` on your machine."
    )
    return f"{table(head, rows, numbers=True)}\n\n{note}"


def _costs(m: rs.Measure) -> Iterator[tuple[str, str, str]]:
    known, costs = {m.spec}, cost_table()
    for n, d in SIZES:
        views = costs.seconds("views", known, n, d)
        pair = costs.seconds("pair views", known, n, d) + costs.seconds("values", known, n, d)
        yield f"{n:,} × {d}", duration(views), duration(pair)


def duration(seconds: float) -> str:
    """Return a time with two digits and a unit."""
    if seconds < 5e-6:
        return "–"
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1, "s")):
        if seconds * factor < 999:
            return f"{float(f'{seconds * factor:.2g}'):g} {unit}"
    return f"{seconds:,.0f} s"
