"""What a comparison will take, said before it begins: pairs, CPU seconds, memory, tasks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from inspect import unwrap
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ..arguments import sides_of
from ..compare import checked_budget, schedule
from ..display import card
from ..extras import need
from ..measure import Measure, together
from ..representation import Representation, fingerprint
from .costs import Kind, cost_table, slowness
from .memory import available_memory, in_units
from .scores import LARGE
from .scoring import SIDE
from .shared_views import lending
from .store import Store
from .view_sizes import bytes_of_views, pair_bytes
from .work import RunOptions, TileTask, Work, read_scores
from .workers import shares_files, workers_of

FEWEST = 2  # samples
FINGERPRINT = unwrap(fingerprint)  # as the key of a view
# The views that a task finds computed: those of the task before, those of all before it, as where
# an executor is lent them, or none.
Finds = Literal["previous", "all", "none"]


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
    is the peak in bytes, besides the arrays themselves: views, and the matrices of values. For
    :func:`plan_models`, ``models`` are the CPU seconds of running them, ``disk`` the bytes of their
    features.
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
    models: float = 0.0
    disk: int = 0
    evidence: float = 0.0
    permuted: float = 0.0

    @property
    def seconds(self) -> float:
        """The CPU seconds in all."""
        return self.models + self.views + self.pairs + self.evidence

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
        models = f"models {duration(self.models)}, " if self.models else ""
        times = "once" if self.passes == 1 else f"{self.passes:.3g} times"
        facts = {
            "data": f"{self.representations:,} representations of {self.samples:,} x {width}",
            "values": f"{values:,} to compute" + (f", {stored:,} stored" if stored else ""),
            "CPU": f"{duration(self.seconds)}: {models}views {duration(self.views)}, "
            f"pairs {duration(self.pairs)}",
            "evidence": self._evidence_words(),
            "views": f"computed {times} for each representation",
            "memory": f"{in_units(self.memory)}; budget {in_units(self.budget)}",
            "disk": f"{in_units(self.disk)} of features" if self.disk else "",
            "tasks": f"{self.tasks:,}, on {self.workers} at a time",
            "not known": ", ".join(self.unknown),
        }
        if self.available is not None:
            facts["memory"] += f", available {in_units(self.available)}"
        return facts

    def _evidence_words(self) -> str:
        if not self.evidence:
            return ""
        words = f"{duration(self.evidence)} for chance levels and intervals, counted in CPU"
        if self.permuted == self.evidence:
            return words
        return f"{words}; {duration(self.permuted)} if a far sample makes all pairs be permuted"

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
    default parameters do; a measure of your own is ``unknown`` and not in the sums. Of arrays in
    ``.npy`` files only the header is read, unless there is a file of ``save``, whose scores are
    known by the data; other data are read once, to tell apart what is the same.

    Raises ``ValueError`` for what ``compare`` refuses. The file of ``save`` is only read.
    """
    options: RunOptions = {"executor": executor, "memory": memory, "tile": tile}
    rows, columns = sides_of(representations, other)
    if save is None:
        rows, columns = list(map(_unread, rows)), columns and list(map(_unread, columns))
    budget, work = checked_budget(options), Work.of(rows, measures, columns)
    if save is not None and Path(save).exists() and Path(save).stat().st_size:
        with Store(save, read_only=True) as store:
            read_scores(store, [work])
    todo, left = work.todo(), available_memory()
    missing = {spec: int(np.count_nonzero(mask)) for spec, mask in todo.items()}
    with warnings.catch_warnings(), lending(executor, spill, budget) as lender:
        warnings.simplefilter("ignore")  # of memory, which the forecast says itself
        is_lent = lender is not None and lender.has_room(work.all, tuple(work.measures))
        _, (tasks,) = schedule([work], [todo], options, budget, left, lender)
    finds: Finds = "previous" if executor is None else "all" if is_lent else "none"
    widths = [r.shape[1] for r in work.all]
    tallies = _tallies(tasks, finds, widths)
    is_here = executor is None or shares_files(executor)
    workers = workers_of(executor) if executor else 1
    count = sum(t.tasks for t in tallies)
    views, pairs = np.sum([(0.0, 0.0), *(t.seconds(*t.measures) for t in tallies)], axis=0)
    uses = sum(len(t.measures) for t in tallies)
    loads = sum(t.loads.sum() * len(t.measures) for t in tallies)
    return Forecast(
        measures=tuple(_expected(m, work, missing[m.spec], left, tallies) for m in work.measures),
        samples=work.largest[0],
        features=(min(widths), max(widths)),
        representations=len(widths),
        views=slowness() * float(views),
        pairs=slowness() * float(pairs),
        passes=float(loads) / max(1, uses) / len(widths),
        tasks=count,
        workers=workers,
        memory=_peak(work, tallies, min(workers, max(1, count)) if is_here else 1),
        budget=budget,
        available=left,
        unknown=tuple(m.spec for m in work.measures if cost_table().name_of(m) is None),
        machine=cost_table().machine,
        slowness=slowness(),
    )


def _unread(x: Representation) -> Representation:
    """Return a representation that is known by its file, so that no value of the file is read."""
    if x.path is None or not isinstance(x.source, np.memmap):
        return x
    y, facts = copy(x), Path(x.path).stat()
    token = (
        f"{x.path} {facts.st_mtime_ns} {facts.st_size} {x.source.offset} {x.shape} {x.precision}"
    )

    def carry(key: Any, compute: Any) -> str | None:
        return token if key[0] is FINGERPRINT else None

    before, y._carry = y._carry, carry
    fingerprint(y)
    y._carry = before
    return y


# ----------------------------------------------------------------------------------- tasks counted


class Tally:
    """The work of the measures that are computed in the same tasks, by the widths of data.

    ``loads``: how many representations get their views, counted anew each time they do; ``blocks``:
    the same for measures in blocks of samples, which go through the data for each part of a task;
    both (widths,). ``values`` of each measure, (measures, widths, widths), and ``pairs`` with
    anything to compute, (widths, widths). ``largest``: the numbers of representations that hold
    views at a time.
    """

    def __init__(self, first: TileTask, widths: np.ndarray):
        self.measures, self.widths, self.n = first.measures, widths, first.rows[0].shape[0]
        self.blocked = {m for m in first.measures if m.is_in_blocks(*first.representations)}
        many = together(first.measures, first.representations)
        self.are_together = len(many) == len(first.measures)
        self.loads, self.blocks = np.zeros((2, len(widths)), dtype=int)
        self.pairs = np.zeros((len(widths), len(widths)), dtype=int)
        self.values = np.zeros((len(first.measures), *self.pairs.shape), dtype=int)
        self.largest, self.tasks = set[tuple[int, ...]](), 0

    def add(self, task: TileTask, loaded: Iterable[Representation]) -> None:
        """Count a task, for which these representations get their views."""
        self.tasks += 1
        anything = np.zeros((len(task.rows), len(task.columns)), dtype=bool)
        for p, block in enumerate(task.forward):
            blocks = [block]
            if task.backward is not None and not task.is_diagonal:
                blocks.append(task.backward[p].T)
            for todo in blocks:
                self.values[p] += self._pairs(todo, task)
                anything |= todo
        if task.is_diagonal:
            anything = np.triu(anything | anything.T)
        self.pairs += self._pairs(anything, task)
        self.loads += self._by_width(loaded)
        unique = {id(r): r for r in task.representations}.values()
        self.largest.add(tuple(self._by_width(unique).tolist()))
        for part in task.parts(SIDE) if self.blocked else ():
            self.blocks += self._by_width(part.representations)

    def seconds(self, *measures: Measure) -> tuple[float, float]:
        """Return the CPU seconds of views and those of pairs: of some of the measures, as if the
        others were not there."""
        table, n = cost_table(), self.n
        blocked = [m for m in measures if m in self.blocked]
        plain = [m for m in measures if m not in self.blocked]
        views = pairs = 0.0
        for d, loads, blocks in zip(self.widths, self.loads, self.blocks):
            views += loads * table.seconds("views", plain, n, d)
            views += blocks * table.seconds("views", blocked, n, d)
        for i, j in np.argwhere(self.pairs + self.values.sum(axis=0)):
            width = math.sqrt(self.widths[i] * self.widths[j])
            counts = {m: self.values[self.measures.index(m), i, j] for m in measures}
            for m, count in counts.items():
                are_together = self.are_together and m not in self.blocked
                kind: Kind = "together" if are_together else "values"
                pairs += count * table.seconds(kind, [m], n, width)
            if not self.are_together:
                count = min(self.pairs[i, j], sum(counts.values()))
                pairs += count * table.seconds("pair views", plain, n, width)
        return views, pairs

    def bytes(self, copied: bool) -> int:
        """Return the bytes of the views that are held at a time."""
        sizes = [bytes_of_views(self.measures, self.n, d, copied) for d in self.widths.tolist()]
        return max(int(np.dot(counts, sizes)) for counts in self.largest)

    def _pairs(self, todo: np.ndarray, task: TileTask) -> np.ndarray:
        """Return how many pairs are to be computed, by the widths of both."""
        rows, columns = (
            np.searchsorted(self.widths, [r.shape[1] for r in side])
            for side in (task.rows, task.columns)
        )
        counts = np.zeros_like(self.pairs)
        for j in np.unique(columns):
            np.add.at(counts[:, j], rows, np.count_nonzero(todo[:, columns == j], axis=1))
        return counts

    def _by_width(self, representations: Iterable[Representation]) -> np.ndarray:
        places = np.searchsorted(self.widths, [r.shape[1] for r in representations])
        return np.bincount(places, minlength=len(self.widths))


def _tallies(tasks: Iterable[TileTask], finds: Finds, widths: Sequence[int]) -> list[Tally]:
    """Return the work of tasks by their measures."""
    tallies: dict[tuple[Measure, ...], Tally] = {}
    seen = set[tuple[int, tuple[Measure, ...]]]()
    for task in tasks:
        if task.measures not in tallies:
            tallies[task.measures] = Tally(task, np.unique(widths))
        views = {(id(r), task.measures): r for r in task.representations}
        loaded = [r for key, r in views.items() if key not in seen]
        tallies[task.measures].add(task, loaded)
        seen = {"previous": set(views), "all": seen | set(views), "none": set()}[finds]
    return list(tallies.values())


# ----------------------------------------------------------------------------------- by measure


def _expected(
    m: Measure, work: Work, missing: int, left: int | None, tallies: Sequence[Tally]
) -> Expected:
    """Return what a measure will take by itself; ``missing``: the pairs that have no value yet."""
    name = cost_table().name_of(m)
    mine = [t for t in tallies if m in t.measures]
    values = int(sum(t.values[t.measures.index(m)].sum() for t in mine))
    views, pairs = np.sum([(0.0, 0.0), *(t.seconds(m) for t in mine)], axis=0) * slowness()
    note = "cost not known" if name is None else "" if name == m.spec else f"as {name}"
    return Expected(
        m.spec,
        values,
        int(np.count_nonzero(work.wanted(m))) - missing,
        float(views) if name else None,
        float(pairs) if name else None,
        work.bytes_of_pair(m),
        note if values == missing else _fitting(m, work, left or math.inf),
    )


def _fitting(m: Measure, work: Work, available: float) -> str:
    """Return how many samples would fit, for a measure of which a pair does not."""
    high, widest = work.largest
    low = FEWEST
    while high - low > 1:
        middle = (low + high) // 2
        fits = pair_bytes(m, middle, widest, widest, work.is_copied) <= available
        low, high = (middle, high) if fits else (low, middle)
    if low == FEWEST:
        return "does not fit: take fewer features"
    figures = 10 ** max(0, int(math.log10(low)) - 1)  # rounded down to two digits
    return f"does not fit: take at most {low // figures * figures:,} samples"


# ---------------------------------------------------------------------------------------- memory


def _peak(work: Work, tallies: Sequence[Tally], workers: int) -> int:
    """Return the bytes that all workers here hold at a time, and the matrices of values."""
    views = max((t.bytes(work.is_copied) for t in tallies), default=0)
    matrix = 8 * len(work.sides[0]) * len(work.sides[1])
    matrices = len(work.measures) if matrix <= LARGE else 0
    return workers * views + matrices * matrix


def duration(seconds: float) -> str:
    """Write seconds as a person would say them: "0.3 s", "12 min", "3.5 h", "40 days"."""
    for unit, size, above in (("days", 86400, 2), ("h", 3600, 1.5), ("min", 60, 1.5)):
        if seconds >= above * size:
            return f"{_brief(seconds / size)} {unit}"
    return f"{_brief(seconds)} s" if seconds >= 0.01 or not seconds else "< 0.01 s"


def _brief(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
