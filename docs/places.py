"""What is known of a measure elsewhere: its cost, and its place in the suites."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from pieces import table

import resemblance as rs
from resemblance.boards import read_board
from resemblance.engine.costs import cost_table

SUITES = {
    "resi": ("resi", "ReSi"),
    "sensitivity": ("sensitivity", "Sensitivity"),
    "manifolds": ("manifolds", "Manifolds"),
    "stability": ("stability-suite", "Stability"),
}
SIZES = ((500, 128), (1000, 768), (4000, 768))


class Standing(NamedTuple):
    """The mean rank of a measure on the board, and its place with its interval."""

    rank: float
    place: str
    suites: dict[str, float]


@cache
def standings() -> dict[str, Standing]:
    """Return the places on the board by specification."""
    known = read_board().ranks.places
    return {
        place.measure: Standing(
            place.mean,
            f"{place.best} to {place.worst}",
            {suite: means[place.measure] for suite, means in known.by_group.items()},
        )
        for place in known.rows
    }


def place_of(m: rs.Measure) -> str:
    """Return the place of a measure on the board, and its mean rank in each suite."""
    if m.spec not in standings():
        return "It compares predictions of models, so it is not on :doc:`the board <../board>`."
    count = len(standings())
    standing = standings()[m.spec]
    rows = [("all suites together", f"{standing.rank:.1f}")]
    rows += [
        (f":doc:`{SUITES[name][1]} <../{SUITES[name][0]}>`", f"{rank:.1f}")
        for name, rank in standing.suites.items()
    ]
    intro = (
        f"Place {standing.place} of {count} on :doc:`the board <../board>`: it cannot be told from "
        f"the others there (95 %). Mean ranks over the tests of each suite, on the packs that "
        f"ship; 1 is best, and a measure that guesses has about {(count + 1) / 2:.0f}:"
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
    costs = cost_table()
    for n, d in SIZES:
        views = costs.seconds("views", [m], n, d)
        pair = costs.seconds("pair views", [m], n, d) + costs.seconds("values", [m], n, d)
        yield f"{n:,} × {d}", duration(views), duration(pair)


def duration(seconds: float) -> str:
    """Return a time with two digits and a unit."""
    if seconds < 5e-6:
        return "–"
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1, "s")):
        if seconds * factor < 999:
            return f"{float(f'{seconds * factor:.2g}'):g} {unit}"
    return f"{seconds:,.0f} s"
