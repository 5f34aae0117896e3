"""The tables of docs/how-big.md, in Markdown, from what benchmarks/costs.py measured."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import grid

import resemblance as rs
from resemblance.engine.costs import MEASURED, cost_table, seconds_of
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


# Of the ReSi paper: where they occur, samples, features; of maps, only some measures compare these
PAPER = (
    ("Cora", 1000, 64), ("SST-2", 872, 768), ("ImageNet-100", 5000, 512),
    ("Flickr, arXiv", 10_000, 256), ("CIFAR-100", 10_000, 512), ("MNLI", 9815, 768),
    ("smaller maps", 1000, 12_544), ("maps of ResNet18", 5000, 25_088),
    ("maps of ResNet101", 5000, 100_352),
)  # fmt: skip


def seconds(measures: Iterable[Measure], work: Work) -> float:
    """Return the CPU seconds of all pairs; each view is computed once."""
    n, d, count = work
    pairs = count * (count + 1) / 2
    of_all = seconds_of(measures, n, d, pairs=pairs, representations=count, both_ways=True)
    return of_all or 0.0


def of_size(m: Measure, n: int, d: int) -> str:
    """Return the seconds of a representation and of a pair, and the bytes of a pair."""
    one, pair = (seconds_of([m], n, d, pairs=p, representations=1 - p) or 0.0 for p in (0, 1))
    return f"{duration(one)} / {duration(pair)} / {in_units(pair_bytes(m, n, d, d))}"


def memory(measures: Iterable[Measure], n: int, d: int) -> int:
    """Return the bytes of the views of one pair, of the measure that needs most."""
    return max(pair_bytes(m, n, d, d) for m in measures)


def taken(measures: Sequence[Measure], work: Work) -> str:
    """Return what a comparison takes, in words."""
    size = memory(measures, work.samples, work.features)
    return f"{duration(seconds(measures, work))}; {in_units(size)}"


def of_families() -> str:
    """Return what the default measures of each family take, in seconds and bytes."""
    default = rs.preset("default")
    groups = {f"`{f}`": [m for m in default if m.family == f] for f in FAMILIES}
    groups = {name: members for name, members in groups.items() if members}
    lines = []
    for name, members in (groups | {"all 24 together": list(default)}).items():
        lines.append([name, str(len(members)), *(taken(members, w) for w in WORKS)])
    return grid(["family", "measures", *(w.title for w in WORKS)], lines)


def of_measures() -> str:
    """Return what every measure takes."""
    some = [m for m in rs.list_measures() if m.family != "outputs"]
    lines = [[f"`{m.name}`", *(of_size(m, n, d) for n, d in SIZES)] for m in some]
    return grid(["measure", *(f"{n:,} x {d}" for n, d in SIZES)], lines)


def of_paper() -> str:
    """Return what the measures of the ReSi paper take at its sizes."""
    lines = []
    for m in rs.preset("default"):
        sizes = [(n, d) if d <= n or m.rows_of_maps == "samples" else None for _, n, d in PAPER]
        lines.append([f"`{m.name}`", *(of_size(m, *size) if size else "" for size in sizes)])
    return grid(["measure", *(f"{name}: {n:,} x {d:,}" for name, n, d in PAPER)], lines)


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
    checks = json.loads(MEASURED.read_text("utf-8"))["checks"]
    about = f"CPU seconds of one thread, on {cost_table().machine}"
    each = f"{about}: a representation / a pair / the bytes of the views of a pair."
    beyond = (
        "Beyond 3,072 features they are estimates: for maps of 2,000 x 10,000, measures took "
        "1.0 to 1.9 times as long as estimated, and those of less than half a second four times."
    )
    tables = {
        "families": (f"{about}, and the bytes of the views of one pair.", of_families()),
        "measures": (each, of_measures()),
        "paper": (f"{each} {beyond}", of_paper()),
        "checks": (f"{about}.", of_checks(checks)),
        "large": (f"{about}: one pair of 50,000 x 64.", of_large()),
    }
    for name, (words, text) in tables.items():
        path = GENERATED / f"how-big-{name}.md"
        path.write_text(f"{MADE}\n\n{words}\n\n{text}\n", "utf-8")
