"""Tasks counted without computing them: pairs, and how often views are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from .costs import Kind, cost_table
from .measure import Measure
from .plan import TileTask
from .scoring import SIDE
from .tiles import Sharing, views_used

Finds = Literal["previous", "all", "none"]
Widths = tuple[int, int]  # of both sides of a pair


class Tally(NamedTuple):
    """The work of the measures that are computed in the same tasks.

    ``loads``: how many representations of each width get their views, counted anew each time they
    do; ``blocks``: the same for measures in blocks of samples, which go through the data for each
    part of a task. ``cells``: the values of each measure, ``pairs`` the pairs with anything to
    compute, by widths. ``largest``: how many representations of each width hold views at a time.
    """

    measures: tuple[Measure, ...]
    loads: Counter[int]
    blocks: Counter[int]
    cells: dict[Measure, Counter[Widths]]
    pairs: Counter[Widths]
    largest: set[tuple[tuple[int, int], ...]]
    in_blocks: frozenset[Measure]
    is_together: bool

    def only(self, m: Measure) -> Tally:
        """Return the work of one of the measures, as if the others were not there."""
        cells = self.cells[m]
        pairs = Counter({w: min(count, self.pairs[w]) for w, count in cells.items()})
        mine = self.in_blocks & {m}
        loads = self.loads if cells else Counter[int]()
        return self._replace(
            measures=(m,), loads=loads, cells={m: cells}, pairs=pairs, in_blocks=mine
        )

    def view_seconds(self, n: int) -> float:
        """Return the CPU seconds of the views of representations."""
        blocks, plain = self._names(self.in_blocks), self._names(self._plain)
        return sum(
            count * cost_table().seconds("views", plain, n, d) for d, count in self.loads.items()
        ) + sum(
            count * cost_table().seconds("block views", blocks, n, d)
            for d, count in self.blocks.items()
        )

    def pair_seconds(self, n: int) -> float:
        """Return the CPU seconds of pairs: what measures share, and their values."""
        table, seconds = cost_table(), 0.0
        for m, cells in self.cells.items():
            if table.name_of(m) is None:
                continue
            kind = self._kind(m)
            for (d, e), count in cells.items():
                each = table.seconds(kind, self._names([m]), n, (d * e) ** 0.5)
                seconds += count * each
        if self.is_together:
            return seconds
        shared = self._names(self._plain)
        return seconds + sum(
            count * table.seconds("pair views", shared, n, (d * e) ** 0.5)
            for (d, e), count in self.pairs.items()
        )

    def _kind(self, m: Measure) -> Kind:
        if m in self.in_blocks:
            return "block values"
        return "together" if self.is_together else "values"

    def bytes(self, n: int, sharing: Sharing) -> int:
        """Return the bytes of the views that are held at a time."""
        widths = {d for held in self.largest for d, _ in held}
        sizes = {d: self._bytes(n, d, sharing) for d in widths}
        totals = (sum(count * sizes[d] for d, count in held) for held in self.largest)
        return max(totals, default=0)

    def _bytes(self, n: int, d: int, sharing: Sharing) -> int:
        union: dict[object, int] = {}
        for m in self.measures:
            union |= views_used(m, n, d, sharing)
        return sum(union.values())

    @property
    def _plain(self) -> list[Measure]:
        return [m for m in self.measures if m not in self.in_blocks]

    def _names(self, measures: Iterable[Measure]) -> frozenset[str]:
        names = map(cost_table().name_of, measures)
        return frozenset(name for name in names if name is not None)


def tallies_of(tasks: Iterable[TileTask], finds: Finds) -> tuple[list[Tally], int]:
    """Return the work of tasks by their measures, and their number.

    ``finds``: the views that a task finds computed, those of the task before, those of all before
    it, as where an executor is lent them, or none.
    """
    tallies: dict[tuple[Measure, ...], Tally] = {}
    seen = set[tuple[int, tuple[Measure, ...]]]()
    count = 0
    for task in tasks:
        count += 1
        tally = tallies.setdefault(task.measures, _empty(task))
        held = {(id(r), task.measures): r for r in task.representations}
        tally.loads.update(r.shape[1] for key, r in held.items() if key not in seen)
        _count(tally, task)
        seen = {"previous": set(held), "all": seen | set(held), "none": set()}[finds]
    return list(tallies.values()), count


def _empty(task: TileTask) -> Tally:
    in_blocks = [m for m in task.measures if m.is_in_blocks(*task.representations)]
    fast = [m for m in task.measures if m.all_pairs and m.all_pairs.above is None]
    plain = all(isinstance(r.source, np.ndarray) for r in task.representations)
    return Tally(
        task.measures,
        Counter(),
        Counter(),
        {m: Counter() for m in task.measures},
        Counter(),
        set(),
        frozenset(in_blocks),
        plain and len({*in_blocks, *fast}) == len(task.measures),
    )


def _count(tally: Tally, task: TileTask) -> None:
    """Add the pairs of a task."""
    anything = np.zeros((len(task.rows), len(task.columns)), dtype=bool)
    for p, m in enumerate(task.measures):
        forward, backward = task.forward[p], None
        if task.backward is not None and not task.is_diagonal:
            backward = task.backward[p].T
        for block in (forward, backward):
            if block is not None:
                tally.cells[m].update(_by_widths(block, task))
                anything |= block
    if task.is_diagonal:
        anything = np.triu(anything | anything.T)
    tally.pairs.update(_by_widths(anything, task))
    widths = Counter(r.shape[1] for r in {id(r): r for r in task.representations}.values())
    tally.largest.add(tuple(sorted(widths.items())))
    if tally.in_blocks:
        for part in task.parts(SIDE):
            tally.blocks.update(r.shape[1] for r in part.representations)


def _by_widths(todo: np.ndarray, task: TileTask) -> dict[Widths, int]:
    """Return the number of pairs to compute, by the widths of both."""
    rows, columns = (np.array([r.shape[1] for r in side]) for side in (task.rows, task.columns))
    counts = {
        (d, e): int(np.count_nonzero(todo[np.ix_(rows == d, columns == e)]))
        for d in sorted(set(rows.tolist()))
        for e in sorted(set(columns.tolist()))
    }
    return {widths: count for widths, count in counts.items() if count}
