"""What a comparison will take, said before it begins: pairs, CPU seconds, memory, tasks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .costs import cost_table, slowness
from .engine.scores import LARGE
from .engine.shared_views import lending
from .engine.store import Store
from .engine.workers import shares_files, workers_of
from .extras import need
from .measure import Measure
from .notebook import card
from .outline import (
    Outline,
    Request,
    RunPlan,
    Settings,
    checked_budget,
    outline_of,
    plan_of,
    read_scores,
)
from .tallies import Finds, Tally, tallies_of
from .tiles import in_units, pair_bytes

FEWEST = 2  # samples


class Expected(NamedTuple):
    """What one measure will take, by itself: what it shares with others is counted in full.

    ``values`` are to be computed, ``stored`` are in the file of ``save`` already. ``views`` and
    ``pairs`` are CPU seconds, None where they are not known; ``memory`` the bytes of the views of
    one pair; ``note`` says what else there is to know.
    """

    measure: str
    values: int
    stored: int
    views: float | None
    pairs: float | None
    memory: int
    note: str


@dataclass(frozen=True, repr=False)
class Forecast:
    """What a comparison will take, before it begins.

    ``views`` and ``pairs`` are CPU seconds of all measures together, what they share counted once,
    on one thread of this machine; those of ``unknown`` measures are not in them. ``passes`` is how
    often the views of a representation are computed on average, for all blocks of pairs. ``memory``
    is the peak in bytes, besides the arrays themselves: views, and the matrices of values.
    """

    measures: tuple[Expected, ...]
    samples: int
    features: tuple[int, int]
    representations: int
    views: float
    pairs: float
    passes: float
    tasks: int
    workers: int
    memory: int
    budget: int
    available: int | None
    unknown: tuple[str, ...]
    machine: str
    slowness: float

    @property
    def seconds(self) -> float:
        """The CPU seconds in all."""
        return self.views + self.pairs

    @property
    def line(self) -> str:
        """The whole in a few words."""
        more = "more than " if self.unknown else ""
        at_once = f" on {self.workers} workers" if self.workers > 1 else ""
        return f"about {more}{duration(self.seconds)} of CPU{at_once}, {in_units(self.memory)}"

    def facts(self) -> dict[str, str]:
        """Return what concerns all measures, by name, as texts."""
        low, high = self.features
        width = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        values = sum(m.values for m in self.measures)
        stored = sum(m.stored for m in self.measures)
        facts = {
            "data": f"{self.representations:,} representations of {self.samples:,} x {width}",
            "values": f"{values:,} to compute" + (f", {stored:,} stored" if stored else ""),
            "CPU": f"{duration(self.seconds)}: views {duration(self.views)}, "
            f"pairs {duration(self.pairs)}",
            "views": f"computed {_times(self.passes)} for each representation",
            "memory": f"{in_units(self.memory)}; budget {in_units(self.budget)}",
            "tasks": f"{self.tasks:,}, on {self.workers} at a time",
            "not known": ", ".join(self.unknown),
        }
        if self.available is not None:
            facts["memory"] += f", available {in_units(self.available)}"
        return facts

    def records(self) -> list[dict[str, Any]]:
        """Return a record for each measure, and one for all together."""
        everything = {
            "measure": "together",
            "values": sum(m.values for m in self.measures),
            "stored": sum(m.stored for m in self.measures),
            "views": self.views,
            "pairs": self.pairs,
            "memory": self.memory,
            "note": "",
        }
        return [*(m._asdict() for m in self.measures), everything]

    def to_pandas(self) -> Any:
        """Return the records as a DataFrame."""
        return need("pandas").DataFrame(self.records())

    def document(self) -> dict[str, Any]:
        """Return everything by name, as JSON can hold it."""
        names = [name for name in self.__dataclass_fields__ if name != "measures"]
        document = {name: getattr(self, name) for name in names} | {"seconds": self.seconds}
        return document | {"measures": [m._asdict() for m in self.measures]}

    def __repr__(self) -> str:
        return f"Forecast({len(self.measures)} measures: {self.line})"

    def _repr_html_(self) -> str:
        return card("Forecast", self.facts())


def plan(
    representations: Any,
    other: Any = None,
    *,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    tile: int | None = None,
    save: str | Path | None = None,
    spill: str | Path | bool | None = None,
) -> Forecast:
    """Say what :func:`compare` with the same arguments will take, and compute none of it.

    The order of the work is the one that ``compare`` would follow: so are the numbers of values
    (without those that the file of ``save`` holds already), of tasks, and how often the budget
    makes views be computed. The CPU seconds follow from those measured for some sizes on another
    machine, times the ratio of 0.05 s of work here and there; expect them within a factor of two,
    and less for n or d far from those sizes. Parameters that were not measured cost what the
    default parameters do; a measure of your own is ``unknown`` and not in the sums. The data are
    read once, to tell apart what is the same.

    Raises ``ValueError`` for what ``compare`` refuses. The file of ``save`` is only read.
    """
    request = Request(representations, measures, other)
    settings = Settings(executor, memory, tile, False, save, spill)
    budget = checked_budget(settings)
    outline, run, finds = _planned(request, settings, budget)
    tallies, tasks = tallies_of(chain.from_iterable(run.streams), finds)
    by_data = outline.work
    widths = [r.shape[1] for r in by_data.all]
    workers = workers_of(executor) if executor else 1
    is_here = executor is None or shares_files(executor)
    factor, n = slowness(), by_data.rows[0].shape[0]
    loads = sum(sum(t.loads.values()) * len(t.measures) for t in tallies)
    uses = sum(len(t.measures) for t in tallies)
    return Forecast(
        measures=tuple(_expected(m, outline, run, tallies, factor) for m in _chosen(outline)),
        samples=n,
        features=(min(widths), max(widths)),
        representations=len(by_data.all),
        views=factor * sum(t.view_seconds(n) for t in tallies),
        pairs=factor * sum(t.pair_seconds(n) for t in tallies),
        passes=loads / max(1, uses) / len(by_data.all),
        tasks=tasks,
        workers=workers,
        memory=_peak(outline, tallies, min(workers, max(1, tasks)) if is_here else 1),
        budget=budget,
        available=run.available,
        unknown=tuple(m.spec for m in _chosen(outline) if cost_table().name_of(m) is None),
        machine=cost_table().machine,
        slowness=factor,
    )


def _planned(request: Request, settings: Settings, budget: int) -> tuple[Outline, RunPlan, Finds]:
    """Return what ``compare`` would begin with, and the views that a task will find."""
    outline = outline_of(request)
    if settings.save is not None and Path(settings.save).exists():
        with Store(settings.save, read_only=True) as store:
            read_scores(store, [outline])
    executor = settings.executor
    with warnings.catch_warnings(), lending(executor, settings.spill, budget) as lender:
        warnings.simplefilter("ignore")  # of memory, which the forecast says itself
        is_lent = lender is not None and lender.has_room(outline.work.all, tuple(_chosen(outline)))
        run = plan_of([outline], settings, budget, lender, None)
    return outline, run, "previous" if executor is None else "all" if is_lent else "none"


def _chosen(outline: Outline) -> Sequence[Measure]:
    return outline.selection.measures


# ----------------------------------------------------------------------------------- by measure


def _expected(
    m: Measure, outline: Outline, run: RunPlan, tallies: Sequence[Tally], factor: float
) -> Expected:
    """Return what a measure will take by itself."""
    work, name = outline.work, cost_table().name_of(m)
    n, widest = work.largest
    hopeless = sum(column.size for column in run.hopeless if column.measure == m.spec)
    mine = [t.only(m) for t in tallies if m in t.measures]
    values = sum(sum(t.cells[m].values()) for t in mine)
    total = int(np.count_nonzero(work.wanted(m)))
    views, pairs = (
        factor * sum(seconds(t, n) for t in mine)
        for seconds in (Tally.view_seconds, Tally.pair_seconds)
    )
    size = pair_bytes(m, n, widest, widest, work.sharing)
    return Expected(
        m.spec,
        values,
        total - values - hopeless,
        None if name is None else views,
        None if name is None else pairs,
        size,
        _note(m, name, outline, run),
    )


def _note(m: Measure, name: str | None, outline: Outline, run: RunPlan) -> str:
    """Return what else is to be said: that it does not fit, or where its costs are from."""
    if any(column.measure == m.spec for column in run.hopeless):
        return _remedy(m, outline, run)
    if name is None:
        return "cost not known"
    return "" if name == m.spec else f"as {name}"


def _remedy(m: Measure, outline: Outline, run: RunPlan) -> str:
    """Say that a measure does not fit, and how many samples would."""
    work, available = outline.work, run.available or math.inf
    low, (high, widest) = FEWEST, work.largest
    while high - low > 1:
        middle = (low + high) // 2
        fits = pair_bytes(m, middle, widest, widest, work.sharing) <= available
        low, high = (middle, high) if fits else (low, middle)
    if low == FEWEST:
        return "does not fit: take fewer features"
    figures = 10 ** max(0, int(math.log10(low)) - 1)  # rounded down to two digits
    return f"does not fit: take at most {low // figures * figures:,} samples"


# ---------------------------------------------------------------------------------------- memory


def _peak(outline: Outline, tallies: Sequence[Tally], workers: int) -> int:
    """Return the bytes that all workers here hold at a time, and the matrices of values."""
    work = outline.work
    views = max((t.bytes(work.rows[0].shape[0], work.sharing) for t in tallies), default=0)
    matrices = [8 * len(work.sides[0]) * len(work.sides[1])] * len(outline.selection.measures)
    return workers * views + sum(size for size in matrices if size <= LARGE)


def duration(seconds: float) -> str:
    """Write seconds as a person would say them: "0.3 s", "12 min", "3.5 h", "40 days"."""
    for unit, size, above in (("days", 86400, 2), ("h", 3600, 1.5), ("min", 60, 1.5)):
        if seconds >= above * size:
            return f"{_brief(seconds / size)} {unit}"
    return f"{_brief(seconds)} s" if seconds >= 0.01 or not seconds else "< 0.01 s"


def _times(number: float) -> str:
    return "once" if number == 1 else f"{number:.3g} times"


def _brief(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
