"""The work to do, as tasks: pairs and measures without those computed before or too large."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from itertools import product
from pathlib import Path
from typing import NamedTuple

from .measure import Measure
from .representation import Representation, fingerprint, is_copied
from .store import NO_MEMORY, Cell, Key, key_of
from .tiles import Sharing, Tile, group_measures, in_units, pair_bytes, tiles


class PlannedPair(NamedTuple):
    """A pair of representations, and the positions in its task of the measures to compute."""

    row: int
    column: int
    measures: tuple[int, ...]


class TileTask(NamedTuple):
    """What a worker receives: a tile with its representations and the cells still to compute.

    ``both_orders``: whether asymmetric measures are computed in both orders, as all pairs of one
    list need it, but not a rectangle. ``keep``: the file to which a worker writes its cells.
    """

    measures: tuple[Measure, ...]
    representations: Mapping[int, Representation]
    pairs: tuple[PlannedPair, ...]
    both_orders: bool
    keep: Path | None = None


class WorkPlan(NamedTuple):
    """Cells that fail without being tried, tasks, and the bytes of measures beyond the budget."""

    hopeless: list[Cell]
    tasks: list[TileTask]
    beyond_budget: dict[str, int]


class Pairs(NamedTuple):
    """Representations to compare: all pairs of ``rows``, or ``rows`` with ``columns``."""

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...] | None

    @property
    def all(self) -> tuple[Representation, ...]:
        """All representations; a pair is a pair of positions in this tuple."""
        return self.rows + (self.columns or ())

    @property
    def both_orders(self) -> bool:
        """Whether asymmetric measures are computed in both orders of a pair."""
        return self.columns is None

    @property
    def size(self) -> int:
        """The number of pairs."""
        rows = len(self.rows)
        return rows * (rows + 1) // 2 if self.columns is None else rows * len(self.columns)

    @property
    def sharing(self) -> Sharing:
        """What memory the views share: none with an array that is copied for them."""
        return "views" if any(map(is_copied, self.all)) else "all"

    def block(self, tasks: float) -> int:
        """Return the largest height of blocks that make at least so many tasks.

        All pairs of b blocks are b (b + 1) / 2 tasks, those of a rectangle b times as many as there
        are blocks of columns.
        """
        if self.columns is None:
            blocks = math.ceil((math.sqrt(8 * tasks + 1) - 1) / 2)
            return max(1, math.ceil(len(self.rows) / max(1, blocks)))
        return max(1, math.floor(math.sqrt(self.size / max(1.0, tasks))))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield each pair once."""
        of_row = range(len(self.rows))
        if self.columns is None:
            return ((i, j) for i in of_row for j in of_row[i:])
        return ((i, len(self.rows) + j) for i in of_row for j in range(len(self.columns)))

    def plan(
        self,
        measures: Sequence[Measure],
        computed: Set[Key],
        memory: int,
        available: int | None = None,
        block: int | None = None,
        keep: Path | None = None,
    ) -> WorkPlan:
        """Plan the cells that are not ``computed``.

        ``memory`` is the budget for views, ``available`` what the machine has left, ``block`` the
        largest height of a block.
        """
        todo = self._unfinished(measures, computed) if computed else list(measures)
        hopeless = _too_large(todo, self, computed, available)
        beyond = _beyond_budget(todo, self, memory, {cell.measure for cell in hopeless})
        settled = computed | set(map(key_of, hopeless)) if hopeless else computed
        return WorkPlan(
            hopeless, self._tasks(todo, settled, memory, available, block, keep), beyond
        )

    def _unfinished(self, measures: Sequence[Measure], computed: Container[Key]) -> list[Measure]:
        """Return the measures with cells to compute; the others need no tiles."""
        names = [fingerprint(r) for r in self.all]
        pairs = [(names[i], names[j]) for i, j in self.pairs()]

        def is_finished(m: Measure) -> bool:
            return all(_is_done(m, x, y, computed, self.both_orders) for x, y in pairs)

        return [m for m in measures if not is_finished(m)]

    def _tasks(
        self,
        measures: Sequence[Measure],
        computed: Container[Key],
        memory: int,
        available: int | None,
        block: int | None,
        keep: Path | None,
    ) -> list[TileTask]:
        """Return the tasks in the order in which they reuse views."""
        n, d = self.rows[0].shape[0], max(r.shape[1] for r in self.all)
        groups = group_measures(measures, n, d, len(self.all), memory, available, self.sharing)
        offset, columns = len(self.rows), None if self.columns is None else len(self.columns)
        tasks = []
        for tile in tiles(groups, offset, columns, memory, block):
            if columns is not None:
                tile = tile._replace(columns=tuple(c + offset for c in tile.columns))
            tasks.append(self._task(tile, computed, keep))
        return [task for task in tasks if task.pairs]

    def _task(self, tile: Tile, computed: Container[Key], keep: Path | None) -> TileTask:
        """Return the part of a tile that is not computed, or the mirror image of another."""
        representations, pairs = self.all, []
        names = {k: fingerprint(representations[k]) for k in (*tile.rows, *tile.columns)}
        for i, j in product(tile.rows, tile.columns):
            if i > j:  # the lower half of a diagonal block
                continue
            todo = tuple(
                p
                for p, m in enumerate(tile.measures)
                if not _is_done(m, names[i], names[j], computed, self.both_orders)
            )
            pairs += [PlannedPair(i, j, todo)] if todo else []
        needed = sorted({k for pair in pairs for k in (pair.row, pair.column)})
        inputs = {k: representations[k] for k in needed}
        return TileTask(tile.measures, inputs, tuple(pairs), self.both_orders, keep)


def distinct(representations: Iterable[Representation]) -> tuple[Representation, ...]:
    """Return the first representation of each data set: a value does not depend on names."""
    by_data: dict[str, Representation] = {}
    for r in representations:
        by_data.setdefault(fingerprint(r), r)
    return tuple(by_data.values())


def count(task: TileTask) -> int:
    """Return the number of cells of a task."""
    doubled = [task.both_orders and not m.symmetric for m in task.measures]
    return sum(1 + (doubled[p] and x != y) for x, y, positions in task.pairs for p in positions)


def planned(plan: WorkPlan) -> set[Key]:
    """Return the cells that are settled once a plan is carried out."""
    keys = set(map(key_of, plan.hopeless))
    for task in plan.tasks:
        names = {i: fingerprint(r) for i, r in task.representations.items()}
        for row, column, positions in task.pairs:
            for m in (task.measures[p] for p in positions):
                keys.add((m.spec, m.version, names[row], names[column]))
                if task.both_orders:
                    keys.add((m.spec, m.version, names[column], names[row]))
    return keys


def joined(plans: Sequence[WorkPlan]) -> WorkPlan:
    """Return the plan of the work of several plans, in their order."""
    beyond: dict[str, int] = {}
    for plan in plans:
        for spec, size in plan.beyond_budget.items():
            beyond[spec] = max(size, beyond.get(spec, 0))
    hopeless = [cell for plan in plans for cell in plan.hopeless]
    return WorkPlan(hopeless, [task for plan in plans for task in plan.tasks], beyond)


def _too_large(
    measures: Sequence[Measure], work: Pairs, computed: Container[Key], available: int | None
) -> list[Cell]:
    """Return a failed cell for each pair whose views alone exceed the memory that is available."""
    n, widest = work.rows[0].shape[0], max(r.shape[1] for r in work.all)
    if available is None:
        return []
    cells = []
    for m in (m for m in measures if pair_bytes(m, n, widest, widest, work.sharing) > available):
        for i, j in work.pairs():
            x, y = work.all[i], work.all[j]
            size = pair_bytes(m, n, x.shape[1], y.shape[1], work.sharing)
            names = (fingerprint(x), fingerprint(y))
            if size <= available or _is_done(m, *names, computed, work.both_orders):
                continue
            cells.append(_without_memory(m, x, y, size, available))
            if work.both_orders and not m.symmetric and i != j:
                cells.append(_without_memory(m, y, x, size, available))
    return cells


def _without_memory(
    measure: Measure, x: Representation, y: Representation, size: int, available: int
) -> Cell:
    need = f"it takes at least {in_units(size)} and {in_units(available)} are left"
    remedy = "use fewer samples or features, or a machine with more memory"
    reason = f"{NO_MEMORY} for {measure} of arrays {x.shape} and {y.shape}: {need}; {remedy}"
    return Cell(measure.spec, measure.version, fingerprint(x), fingerprint(y), None, 0.0, reason)


def _beyond_budget(
    measures: Sequence[Measure], work: Pairs, memory: int, without: Collection[str]
) -> dict[str, int]:
    """Return the bytes of one pair for each measure beyond the budget, ``without`` some."""
    n, widest = work.rows[0].shape[0], max(r.shape[1] for r in work.all)
    sizes = {
        m.spec: pair_bytes(m, n, widest, widest, work.sharing)
        for m in measures
        if m.spec not in without
    }
    return {spec: size for spec, size in sizes.items() if size > memory}


def _is_done(m: Measure, x: str, y: str, computed: Container[Key], both_orders: bool) -> bool:
    forward = (m.spec, m.version, x, y) in computed
    backward = (m.spec, m.version, y, x) in computed
    if m.symmetric:
        return forward or backward
    return forward and (backward or not both_orders)
