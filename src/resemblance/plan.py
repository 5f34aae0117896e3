"""What there is to compute: the pairs and measures, less what is known and what cannot fit, as
tasks."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from .measure import Measure
from .representation import Representation, fingerprint
from .store import NO_MEMORY, Cell, Key, key_of
from .tiles import Tile, group_measures, in_units, pair_bytes, tiles

TASKS_PER_WORKER = 2  # more share the work more evenly, but compute views more often


class Task(NamedTuple):
    """A tile with the representations it needs and the cells still to compute: all that travels to
    a worker."""

    measures: tuple[Measure, ...]
    representations: Mapping[int, Representation]
    wanted: tuple[
        tuple[int, int, tuple[int, ...]], ...
    ]  # row, column, positions of the measures to compute
    both_orders: (
        bool  # of asymmetric measures: needed for all pairs of one list, not for a rectangle
    )
    keep: Path | None = None  # the file to which a worker writes its cells


class Plan(NamedTuple):
    """What there is to do: pairs that fail before the work, tasks, and the bytes of a pair where
    the budget is less."""

    hopeless: list[Cell]
    tasks: list[Task]
    beyond_budget: dict[str, int]


class Work(NamedTuple):
    """The representations whose pairs are compared: all pairs of ``rows``, or ``rows`` with
    ``columns``."""

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...] | None

    @property
    def every(self) -> tuple[Representation, ...]:
        """All representations; a pair is a pair of positions here."""
        return self.rows + (self.columns or ())

    @property
    def both_orders(self) -> bool:
        """Whether asymmetric measures are computed in both orders of a pair."""
        return self.columns is None

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield every pair once."""
        of_row = range(len(self.rows))
        if self.columns is None:
            return ((i, j) for i in of_row for j in of_row[i:])
        return ((i, len(self.rows) + j) for i in of_row for j in range(len(self.columns)))

    def plan(
        self,
        measures: Sequence[Measure],
        done: Set[Key],
        memory: int,
        left: int | None = None,
        block: int | None = None,
        keep: Path | None = None,
    ) -> Plan:
        """Plan what is not ``done``; ``left`` is the memory that the machine has, ``memory`` that
        of the views."""
        todo = self._unfinished(measures, done) if done else list(measures)
        hopeless = _too_large(todo, self, done, left)
        beyond = _beyond_budget(todo, self, memory, {cell.measure for cell in hopeless})
        known = done | set(map(key_of, hopeless)) if hopeless else done
        return Plan(hopeless, self._tasks(todo, known, memory, left, block, keep), beyond)

    def _unfinished(self, measures: Sequence[Measure], done: Container[Key]) -> list[Measure]:
        """Leave out the measures of which every cell is there, so that no tiles need to be planned
        for them."""
        names = [fingerprint(r) for r in self.every]
        pairs = [(names[i], names[j]) for i, j in self.pairs()]
        return [
            m
            for m in measures
            if not all(_is_done(m, x, y, done, self.both_orders) for x, y in pairs)
        ]

    def _tasks(
        self,
        measures: Sequence[Measure],
        done: Container[Key],
        memory: int,
        left: int | None,
        block: int | None,
        keep: Path | None,
    ) -> list[Task]:
        """Return the tasks in the order in which they reuse views."""
        n, d = self.rows[0].shape[0], max(r.shape[1] for r in self.every)
        groups = group_measures(measures, n, d, len(self.every), memory, left)
        offset, columns = len(self.rows), None if self.columns is None else len(self.columns)
        planned = tiles(groups, offset, columns, memory, block)
        shifted = (
            t if columns is None else t._replace(columns=tuple(c + offset for c in t.columns))
            for t in planned
        )
        return [task for t in shifted if (task := self._task(t, done, keep)).wanted]

    def _task(self, t: Tile, done: Container[Key], keep: Path | None) -> Task:
        """Leave out of a tile the lower half of a diagonal block and every cell that is already
        there."""
        wanted, every = [], self.every
        for i in t.rows:
            for j in (j for j in t.columns if i <= j):
                x, y = fingerprint(every[i]), fingerprint(every[j])
                missing = tuple(
                    p
                    for p, m in enumerate(t.measures)
                    if not _is_done(m, x, y, done, self.both_orders)
                )
                wanted += [(i, j, missing)] if missing else []
        needed = {k for i, j, _ in wanted for k in (i, j)}
        return Task(
            t.measures, {k: every[k] for k in sorted(needed)}, tuple(wanted), self.both_orders, keep
        )


def distinct(representations: Iterable[Representation]) -> list[Representation]:
    """Leave out data that are there already: a value is computed once, whatever names its data
    have."""
    found: dict[str, Representation] = {}
    for r in representations:
        found.setdefault(fingerprint(r), r)
    return list(found.values())


def count(task: Task) -> int:
    """Number of cells of a task."""
    doubled = [task.both_orders and not m.symmetric for m in task.measures]
    return sum(
        1 + (doubled[p] and row != column)
        for row, column, positions in task.wanted
        for p in positions
    )


def block_for_workers(work: Work, executor: Executor) -> int:
    """Height of b blocks, the fewest whose b (b + 1) / 2 pairs give every worker a few tasks."""
    wanted = TASKS_PER_WORKER * getattr(executor, "_max_workers", os.cpu_count() or 1)
    blocks = math.ceil((math.sqrt(8 * wanted + 1) - 1) / 2)
    return max(1, math.ceil(len(work.every) / blocks))


def _too_large(
    measures: Sequence[Measure], work: Work, done: Container[Key], left: int | None
) -> list[Cell]:
    """Return a failed cell for every pair whose views alone are larger than the memory the machine
    has left."""
    n, widest = work.rows[0].shape[0], max(r.shape[1] for r in work.every)
    if left is None:
        return []
    found = []
    for m in (m for m in measures if pair_bytes(m, n, widest, widest) > left):
        for i, j in work.pairs():
            x, y = work.every[i], work.every[j]
            size = pair_bytes(m, n, x.shape[1], y.shape[1])
            if size > left and not _is_done(
                m, fingerprint(x), fingerprint(y), done, work.both_orders
            ):
                orders = (
                    [(x, y), (y, x)]
                    if work.both_orders and not m.symmetric and i != j
                    else [(x, y)]
                )
                found += [_without_memory(m, *order, size, left) for order in orders]
    return found


def _without_memory(
    measure: Measure, x: Representation, y: Representation, size: int, left: int
) -> Cell:
    of = f"{measure} of arrays {x.shape} and {y.shape}"
    need = f"{NO_MEMORY} for {of}: it takes at least {in_units(size)} and {in_units(left)} are left"
    reason = f"{need}; use fewer samples or features, or a machine with more memory"
    return Cell(measure.spec, measure.version, fingerprint(x), fingerprint(y), None, 0.0, reason)


def _beyond_budget(
    measures: Sequence[Measure], work: Work, memory: int, without: Collection[str]
) -> dict[str, int]:
    """Return the bytes that one pair takes of measures for which the budget is too small;
    ``without``: not of these."""
    n, widest = work.rows[0].shape[0], max(r.shape[1] for r in work.every)
    sizes = {m.spec: pair_bytes(m, n, widest, widest) for m in measures if m.spec not in without}
    return {spec: size for spec, size in sizes.items() if size > memory}


def _is_done(m: Measure, x: str, y: str, done: Container[Key], both_orders: bool) -> bool:
    forward, backward = (m.spec, m.version, x, y) in done, (m.spec, m.version, y, x) in done
    if m.symmetric:
        return forward or backward
    return forward and (backward or not both_orders)
