"""What the workers of inference compute: vectors of numbers for pairs of representations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import scalar
from ..comparison import MeasureInfo
from ..engine.scores import Column
from ..engine.store import Store
from ..engine.workers import single_threaded
from ..measure import Measure
from ..reasons import is_out_of_memory, reason_of
from ..representation import Representation, Undefined, comparing
from ..significance.orders import Design
from .jackknife import on_rows, rows_of
from .layout import TaskCell
from .moments import Profile, Side, profile
from .reorder import Permutation
from .reordered_views import RECOMPUTE, Moves, agrees, merged, moves_of, reordered

CHUNK = 20  # draws that are stored together: what is lost when a run is killed
GUARDS = (1, 2)  # the draws that are computed both with carried views and anew
LEFT_OUT, PROFILE = "left out", "moments"


def vector(
    measure: Measure | MeasureInfo,
    data: tuple[str, str],
    kind: str,
    numbers: np.ndarray,
    note: str | None = None,
) -> Column:
    """Return numbers of a measure for a pair of data, and perhaps words about them."""
    places, notes = np.arange(2, dtype=np.int32), {} if note is None else {0: note}
    of_pair = measure.spec, measure.version, data, places[:1], places[1:], numbers.reshape(1, -1)
    return Column(*of_pair, reasons=notes, kind=kind)


class Chunk(NamedTuple):
    """Consecutive draws, and the cells to compute in all of them."""

    start: int
    stop: int
    cells: tuple[TaskCell, ...]


class NullTask(NamedTuple):
    """Values of measures under a design: ``anew`` are the measures (by position) and
    representations whose views cannot be carried."""

    measures: tuple[Measure, ...]
    representations: Mapping[int, Representation]
    tokens: Mapping[int, str]
    design: Design
    is_square: bool
    kind: str
    anew: frozenset[tuple[int, int]]
    chunks: tuple[Chunk, ...]

    @property
    def moves_both(self) -> bool:
        """Whether x and y move independently.

        All orders are the same for every representation: moved along, x would stay with y.
        """
        return self.is_square and not self.design.is_exhaustive

    def vectors(self) -> Iterator[Column]:
        """Yield the values of each cell, chunk by chunk."""
        carriable = [a for m in self.measures if (a := moves_of(m)).of_view is not None]
        moves, still = merged(carriable), dict[int, Representation]()
        for chunk in self.chunks:
            values = np.full((len(chunk.cells), chunk.stop - chunk.start), np.nan)
            for position, draw in enumerate(range(chunk.start, chunk.stop)):
                drawn = Drawn(self, moves, draw, still)
                values[:, position] = self._values(drawn, chunk.cells)
            for cell, numbers in zip(chunk.cells, values):
                m = self.measures[cell.measure]
                sides = self.tokens[cell.x], self.tokens[cell.y]
                yield vector(m, sides, f"{self.kind} from {chunk.start}", numbers)

    def _values(self, drawn: Drawn, cells: Sequence[TaskCell]) -> list[float]:
        """Return the values in one draw; the measures of a pair share its views."""
        values, measures = [], drawn.measures()
        for of_pair in (list(g) for _, g in groupby(cells, key=lambda cell: (cell.y, cell.x))):
            with comparing(*drawn.sides(of_pair[0], self._is_anew(of_pair[0]))):
                for cell in of_pair:
                    x, y = drawn.sides(cell, self._is_anew(cell))
                    values.append(value_or_nan(measures[cell.measure], x, y))
        return values

    def _is_anew(self, cell: TaskCell) -> bool:
        return (cell.measure, cell.y) in self.anew or (
            self.moves_both and (cell.measure, cell.x) in self.anew
        )


class Drawn:
    """The representations of a task in one draw: all of a square, else those of one column.

    ``still``: windows that no shift moves, which keep their views from draw to draw.
    """

    def __init__(self, task: NullTask, moves: Moves, draw: int, still: dict[int, Representation]):
        self._task, self._moves, self._draw, self._still = task, moves, draw, still
        self._moved: dict[tuple[int, bool], Representation] = {}
        self._order: Permutation | None = None

    def measures(self) -> Sequence[Measure]:
        """Return the measures; of windows with the labels of those samples that stay."""
        design, measures = self._task.design, self._task.measures
        if not design.shifts:
            return measures
        window = np.arange(design.n)[design.windows(self._draw)[0]]
        return [on_rows(m, window, design.n) for m in measures]

    def sides(self, cell: TaskCell, anew: bool) -> tuple[Representation, Representation]:
        """Return x and y of a cell, with views carried over or ``anew``."""
        design, of = self._task.design, self._task.representations
        if not self._task.is_square:
            self._moved = {k: z for k, z in self._moved.items() if k[0] == cell.y}
        if design.shifts:
            still, shifted = (np.arange(design.n)[w] for w in design.windows(self._draw))
            if cell.x not in self._still:
                self._still[cell.x] = rows_of(of[cell.x], still)
            if (cell.y, True) not in self._moved:
                self._moved[cell.y, True] = rows_of(of[cell.y], shifted)
            return self._still[cell.x], self._moved[cell.y, True]
        x = self._reordered(cell.x, anew) if self._task.moves_both else of[cell.x]
        return x, self._reordered(cell.y, anew)

    def _reordered(self, position: int, anew: bool) -> Representation:
        key = position, anew
        if key not in self._moved:
            x, order = self._task.representations[position], self._permutation(position)
            self._moved[key] = reordered(x, order, RECOMPUTE if anew else self._moves)
        return self._moved[key]

    def _permutation(self, position: int) -> Permutation:
        design = self._task.design
        if self._task.is_square:
            return Permutation(design.order(self._draw, self._task.tokens[position]))
        if self._order is None:  # one for all columns
            self._order = Permutation(design.order(self._draw))
        return self._order


class GuardTask(NamedTuple):
    """Whether the views of y can be carried: two orders are computed both ways, against one x."""

    measures: tuple[Measure, ...]
    representations: Mapping[int, Representation]  # x and y, in this order
    tokens: Mapping[int, str]
    design: Design
    is_square: bool
    kind: str

    def vectors(self) -> Iterator[Column]:
        """Yield 1 for each measure whose views can be carried here, 0 for others."""
        (i, x), (j, y) = self.representations.items()
        token = self.tokens[j] if self.is_square else ""
        orders = [self.design.order(d % self.design.total, token) for d in GUARDS]
        for m in self.measures:
            holds = np.array([float(agrees(m, x, y, orders, moves_of(m)))])
            sides = self.tokens[i], self.tokens[j]
            yield vector(m, sides, self.kind, holds)


class ProfileTask(NamedTuple):
    """Profiles of representations for exact moments, on one side."""

    measures: tuple[Measure, ...]
    representations: Mapping[int, Representation]
    tokens: Mapping[int, str]
    side: Side

    def vectors(self) -> Iterator[Column]:
        """Yield the numbers of each profile: all but the sums, then these.

        None, with the reason, of a representation that has no profile.
        """
        for position, x in self.representations.items():
            token = self.tokens[position]
            for m in self.measures:
                numbers, note = np.zeros(0), None
                try:
                    p = profile(x, m, self.side)
                    numbers = np.concatenate([p[1:], p.sums])
                except Undefined as error:
                    note = str(error)
                kind = f"{PROFILE} {self.side}"
                yield vector(m, (token, token), kind, numbers, note)


def profile_from(numbers: np.ndarray) -> Profile | None:
    """Return the profile of a vector of :class:`ProfileTask`, if there is one."""
    if not len(numbers):
        return None
    square, share, scale, is_clumped = map(float, numbers[:4])
    return Profile(numbers[4:], square, share, scale, bool(is_clumped))


class LeftOutTask(NamedTuple):
    """Values without each sample, by the claim of each measure."""

    measures: tuple[Measure, ...]
    representations: Mapping[int, Representation]
    tokens: Mapping[int, str]
    cells: tuple[TaskCell, ...]

    def vectors(self) -> Iterator[Column]:
        """Yield the n values of each cell; none, with the reason, where there is no value."""
        for cell in self.cells:
            m = self.measures[cell.measure]
            x, y = self.representations[cell.x], self.representations[cell.y]
            numbers, note = np.zeros(0), None
            try:
                with comparing(x, y):
                    numbers = np.asarray(m.left_out(x, y)) if m.left_out else numbers
            except Undefined as error:
                note = str(error)
            sides = self.tokens[cell.x], self.tokens[cell.y]
            yield vector(m, sides, LEFT_OUT, numbers, note)


Task = NullTask | GuardTask | ProfileTask | LeftOutTask


def run_vectors(task: Task, keep: Path | None) -> list[Column]:
    """Compute a task in a worker, on fresh representations, so that their views end with it.

    Vectors are written to the file ``keep``, if there is one, as soon as they are computed.
    """
    fresh = {i: copy(r) for i, r in task.representations.items()}
    columns = []
    with single_threaded(), Store(keep) if keep else nullcontext() as store:
        for column in task._replace(representations=fresh).vectors():
            columns.append(column)
            if store:
                store.put([column])
    return columns


def value_or_nan(measure: Measure, x: Representation, y: Representation) -> float:
    """Return a value, or NaN where the data leave the measure without one.

    A lack of memory is raised: it says nothing about the data, and a file would keep the NaN.
    """
    try:
        with comparing(x, y):
            return float(scalar(measure.evaluate(x, y)))
    except Exception as error:
        if is_out_of_memory(error) or reason_of(error, measure, x, y) is None:
            raise
        return np.nan
