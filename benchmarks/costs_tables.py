"""The tables of docs/how-big.md, in Markdown, from what benchmarks/costs.py measured."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import grid

import resemblance as rs
from resemblance.engine.costs import MEASURED, CostTable, Kind, cost_table
from resemblance.engine.forecast import duration
from resemblance.engine.memory import in_units
from resemblance.engine.view_sizes import pair_bytes
from resemblance.measure import FAMILIES, Measure

GENERATED = Path(__file__).parents[1] / "docs" / "_generated"
LARGE = Path(__file__).with_name("memory_50000.csv")
MADE = "<!-- made by benchmarks/costs.py; change the code, not this file -->"


class Work(NamedTuple):
    """A comparison: samples, features, representations."""

    samples: int
    features: int
    count: int

    @property
    def title(self) -> str:
        """What the table calls it."""
        return f"{self.samples:,} x {self.features:,}, M = {self.count:,}"


WORKS = (
    Work(1000, 128, 10), Work(1000, 768, 100), Work(10_000, 768, 10), Work(50_000, 128, 10),
    Work(1000, 128, 1000),
)  # fmt: skip
SIZES = ((1000, 128), (10_000, 128), (10_000, 768), (50_000, 128))


def kinds(m: Measure, n: int) -> tuple[Kind, Kind]:
    """Return where the costs are of a representation and of a pair."""
    return ("block views", "block values") if m.takes_blocks(n) else ("views", "values")


def seconds(table: CostTable, measures: Sequence[Measure], work: Work) -> float:
    """Return the CPU seconds of all pairs; each view is computed once."""
    n, d, count = work
    pairs = count * (count + 1) / 2
    plain = [m for m in measures if not m.takes_blocks(n)]
    total = count * table.seconds("views", plain, n, d)
    total += pairs * table.seconds("pair views", plain, n, d)
    for m in measures:
        views, values = kinds(m, n)
        cells = pairs if m.symmetric else count**2
        total += cells * table.seconds(values, [m], n, d)
        if m.takes_blocks(n):
            total += count * table.seconds(views, [m], n, d)
    return total


def memory(measures: Iterable[Measure], n: int, d: int) -> int:
    """Return the bytes of the views of one pair, of the measure that needs most."""
    return max(pair_bytes(m, n, d, d) for m in measures)


def taken(table: CostTable, measures: Sequence[Measure], work: Work) -> str:
    """Return what a comparison takes, in words."""
    size = memory(measures, work.samples, work.features)
    return f"{duration(seconds(table, measures, work))}; {in_units(size)}"


def of_families(table: CostTable) -> str:
    """Return what the default measures of each family take, in seconds and bytes."""
    default = rs.preset("default")
    groups = {f"`{f}`": [m for m in default if m.family == f] for f in FAMILIES}
    groups = {name: members for name, members in groups.items() if members}
    lines = []
    for name, members in (groups | {"all 24 together": list(default)}).items():
        lines.append([name, str(len(members)), *(taken(table, members, w) for w in WORKS)])
    return grid(["family", "measures", *(w.title for w in WORKS)], lines)


def of_measures(table: CostTable) -> str:
    """Return the seconds of a representation and of a pair, and the bytes of a pair."""
    lines = []
    for m in (m for m in rs.list_measures() if m.family != "outputs"):
        cells = []
        for n, d in SIZES:
            views, values = kinds(m, n)
            one = table.seconds(views, [m], n, d)
            pair = table.seconds(values, [m], n, d)
            pair += table.seconds("pair views", [m], n, d) if views == "views" else 0
            cells.append(f"{duration(one)} / {duration(pair)} / {in_units(pair_bytes(m, n, d, d))}")
        lines.append([f"`{m.name}`", *cells])
    return grid(["measure", *(f"{n:,} x {d}" for n, d in SIZES)], lines)


def of_checks(checks: Iterable[Sequence[object]]) -> str:
    """Return what was predicted and what was measured."""
    lines = [
        [f"{n:,} x {d}, M = {count}", measures, f"{predicted:.3g} s", f"{taken:.3g} s"]
        for n, d, count, measures, predicted, taken in checks
    ]
    return grid(["comparison", "measures", "predicted", "measured"], lines)


def of_large() -> str:
    """Return what each measure takes for one pair of 50,000 samples, alone in a process."""
    with LARGE.open() as stream:
        rows = sorted(csv.DictReader(stream), key=lambda row: row["measure"])
    lines = [
        [
            f"`{row['measure']}`",
            row["failure"] or f"{float(row['cpu_seconds']):.1f}",
            f"{int(row['peak_bytes'] or 0) / 1e9:.2f}",
        ]
        for row in rows
    ]
    return grid(["measure", "CPU seconds", "peak memory of the process, GB"], lines)


def write() -> None:
    """Write the tables."""
    table, stored = cost_table(), json.loads(MEASURED.read_text("utf-8"))
    about = f"CPU seconds of one thread, on {stored['machine']}"
    tables = {
        "families": (f"{about}, and the bytes of the views of one pair.", of_families(table)),
        "measures": (
            f"{about}: a representation / a pair / the bytes of the views of a pair.",
            of_measures(table),
        ),
        "checks": (f"{about}.", of_checks(stored["checks"])),
        "large": (f"{about}: one pair of 50,000 x 64.", of_large()),
    }
    for name, (words, text) in tables.items():
        path = GENERATED / f"how-big-{name}.md"
        path.write_text(f"{MADE}\n\n{words}\n\n{text}\n", "utf-8")
