"""The jobs of inference: vectors of numbers for the pairs of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain

import numpy as np

from ..base.arrays import scalar
from ..comparison.comparison import MeasureInfo
from ..comparison.scores import NO_MEMORY, Column
from ..contracts._measure import Measure, no_diagnostics
from ..data.representation import Representation, Undefined, comparing
from ..engine.reasons import is_out_of_memory, reason_of
from ..engine.scoring import scores_of
from ..engine.work import TileTask
from ..significance.orders import Design
from .jackknife import on_rows, rows_of
from .moments import Profile, Side, profile
from .reorder import Permutation
from .reordered_views import RECOMPUTE, Moves, agrees, merged, moves_of, reordered

Place = int  # among the representations of a task
Cell = tuple[Place, Place, int]  # x, y, and the position of a measure
# x and y, and the position of each measure with whether it has views computed anew
PairOfDraws = tuple[Place, Place, list[tuple[int, bool]]]
Sides = Callable[[Place, Place, bool], tuple[Representation, Representation]]

CHUNK = 20  # draws that are stored together: what is lost when a run is killed
GUARDS = (1, 2)  # the draws that are computed both with carried views and anew
LEFT_OUT, PROFILE = "left out", "profile"


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


def pairs_of(task: TileTask) -> Iterator[tuple[Place, Place, list[int]]]:
    """Yield the places of x and y, and the positions of the measures to compute; pairs of one y
    follow one another."""
    offset, size = 0 if task.is_diagonal else len(task.rows), len(task.representations)
    todo = np.zeros((size, size, len(task.measures)), dtype=bool)
    for p, mask in enumerate(task.forward):
        todo[offset:, : len(task.rows), p] = mask.T
    for p, mask in enumerate(task.backward or ()):
        todo[: len(task.rows), offset:, p] |= mask.T
    for y, x in np.argwhere(todo.any(axis=-1)).tolist():
        yield x, y, np.flatnonzero(todo[y, x]).tolist()


@dataclass(frozen=True)
class Draws:
    """Values under a design, in the draws from ``start`` to ``stop``.

    ``anew``: the measures and the data whose views cannot be carried. ``tokens`` identify the
    representations of the task.
    """

    design: Design
    is_square: bool
    kind: str
    anew: frozenset[tuple[Measure, str]]
    start: int
    stop: int
    tokens: tuple[str, ...]

    def __call__(self, task: TileTask) -> Iterator[list[Column]]:
        """Yield the values of each measure, chunk by chunk."""
        design, measures, pairs = self.design, task.measures, self._pairs(task)
        moves = merged(a for m in measures if (a := moves_of(m)).of_view is not None)
        window = np.arange(design.n)
        if design.shifts:
            window = window[design.windows(0)[0]]
            measures = tuple(on_rows(m, window, design.n) for m in measures)
        still = cache(lambda x: rows_of(task.representations[x], window))
        cells = [(x, y, p) for x, y, wanted in pairs for p, _ in wanted]
        x, y, positions = np.array(cells, dtype=np.int32).T
        for start in range(self.start, self.stop, CHUNK):
            draws = range(start, min(start + CHUNK, self.stop))
            values = np.empty((len(cells), len(draws)))
            for column, draw in enumerate(draws):
                sides = self._sides(task, draw, moves, still)
                values[:, column] = _values(pairs, measures, sides)
            for p in np.unique(positions).tolist():
                m, rows = task.measures[p], positions == p
                places, kind = (self.tokens, x[rows], y[rows]), f"{self.kind} from {start}"
                yield [Column(m.spec, m.version, *places, values[rows], kind=kind)]

    @property
    def moves_both(self) -> bool:
        """Whether x and y move independently.

        All orders are the same for every representation: moved along, x would stay with y.
        """
        return self.is_square and not self.design.is_exhaustive

    def _pairs(self, task: TileTask) -> list[PairOfDraws]:
        """Return the pairs to compute, with the measures of each."""
        pairs = []
        for x, y, positions in pairs_of(task):
            moved = (x, y) if self.moves_both else (y,)
            tokens = [self.tokens[k] for k in moved]
            wanted = []
            for p in positions:
                wanted.append((p, any((task.measures[p], token) in self.anew for token in tokens)))
            pairs.append((x, y, wanted))
        return pairs

    def _sides(
        self, task: TileTask, draw: int, moves: Moves, still: Callable[[Place], Representation]
    ) -> Sides:
        """Return the function that has x and y in a draw, by their places and whether their views
        are computed anew.

        ``still`` has the windows that no shift moves, which keep their views from draw to draw.
        """
        design, of = self.design, task.representations
        # All representations of a square stay moved in a draw, else those of one column.
        remembered = lru_cache(None if self.is_square else 2)
        if design.shifts:
            rows = np.arange(design.n)[design.windows(draw)[1]]
            shifted = remembered(lambda y: rows_of(of[y], rows))
            return lambda x, y, is_anew: (still(x), shifted(y))
        order = cache(lambda token: Permutation(design.order(draw, token)))

        @remembered
        def turned(place: Place, is_anew: bool) -> Representation:
            to = order(self.tokens[place] if self.is_square else "")
            return reordered(of[place], to, RECOMPUTE if is_anew else moves)

        if self.moves_both:
            return lambda x, y, is_anew: (turned(x, is_anew), turned(y, is_anew))
        return lambda x, y, is_anew: (of[x], turned(y, is_anew))


def _values(pairs: Sequence[PairOfDraws], measures: Sequence[Measure], sides: Sides) -> list[float]:
    """Return the values of pairs; the measures of a pair share its views."""
    values = []
    for x, y, wanted in pairs:
        with comparing(*sides(x, y, wanted[0][1])):
            for p, is_anew in wanted:
                values.append(_value_or_nan(measures[p], *sides(x, y, is_anew)))
    return values


@dataclass(frozen=True)
class Agreement:
    """Whether the views of y can be carried: two orders are computed both ways, against one x."""

    design: Design
    is_square: bool
    kind: str
    tokens: tuple[str, ...]

    def __call__(self, task: TileTask) -> Iterator[list[Column]]:
        """Yield 1 for each measure whose views can be carried in a pair, 0 for others."""
        for i, j, positions in pairs_of(task):
            x, y = (task.representations[k] for k in (i, j))
            token = self.tokens[j] if self.is_square else ""
            orders = [self.design.order(d % self.design.total, token) for d in GUARDS]
            for m in (task.measures[p] for p in positions):
                holds = np.array([float(agrees(m, x, y, orders, moves_of(m)))])
                yield [vector(m, (self.tokens[i], self.tokens[j]), self.kind, holds)]


@dataclass(frozen=True)
class Profiles:
    """Profiles of representations, each paired with itself, for exact moments, on one side."""

    side: Side
    tokens: tuple[str, ...]

    def __call__(self, task: TileTask) -> Iterator[list[Column]]:
        """Yield the numbers of each profile: all but the sums, then these.

        None, with the reason, of a representation that has no profile.
        """
        for place, _, positions in pairs_of(task):
            x, token = task.representations[place], self.tokens[place]
            for m in (task.measures[p] for p in positions):
                numbers, note = np.zeros(0), None
                try:
                    p = profile(x, m, self.side)
                    numbers = np.concatenate([p[1:], p.sums])
                except Undefined as error:
                    note = str(error)
                yield [vector(m, (token, token), f"{PROFILE} {self.side}", numbers, note)]


def profile_from(numbers: np.ndarray) -> Profile | None:
    """Return the profile of a vector of :class:`Profiles`, if there is one."""
    if not len(numbers):
        return None
    square, share, scale, is_clumped, sample = map(float, numbers[:5])
    return Profile(numbers[5:], square, share, scale, bool(is_clumped), int(sample))


@dataclass(frozen=True)
class LeftOut:
    """Values without each sample, by the claim of each measure.

    ``partners``: with how many others each representation is compared.
    """

    partners: float
    tokens: tuple[str, ...]

    def __call__(self, task: TileTask) -> Iterator[list[Column]]:
        """Yield the n values of each cell; none, with the reason, where there is no value."""
        cells = list(pairs_of(task))
        rows = {p: self._rows(task, p, cells) for p in range(len(task.measures))}
        for i, j, positions in cells:
            x, y = (task.representations[k] for k in (i, j))
            for p in positions:
                m, known = task.measures[p], rows[p].get((i, j))
                named = {} if known is None else {"rows": known}
                numbers, note = np.zeros(0), None
                try:
                    with comparing(x, y):
                        numbers = np.asarray(m.left_out(x, y, **named)) if m.left_out else numbers
                except Undefined as error:
                    note = str(error)
                yield [vector(m, (self.tokens[i], self.tokens[j]), LEFT_OUT, numbers, note)]

    def _rows(
        self, task: TileTask, p: int, cells: Sequence[tuple[Place, Place, list[int]]]
    ) -> dict[tuple[Place, Place], np.ndarray]:
        """Return the inner products of rows of the pairs for which a measure takes them."""
        of, product = task.representations, task.measures[p].product
        if product is None or product.by_rows is None:
            return {}
        wanted = [(i, j) for i, j, positions in cells if p in positions]
        pairs = [(i, j) for i, j in wanted if product.by_rows(of[i], of[j], self.partners)]
        return dict(zip(pairs, product.of_rows(of, pairs))) if pairs else {}


@dataclass(frozen=True)
class Parts:
    """Values on parts of the samples. ``chunks``: the rows of those whose values are stored
    together, by their kind."""

    chunks: Mapping[str, Sequence[np.ndarray]]
    tokens: tuple[str, ...]

    def __call__(self, task: TileTask) -> Iterator[list[Column]]:
        """Yield the values of each cell on the parts of a chunk, with the first reason for which it
        lacks one; no values where memory was short: another run tries again."""
        cells = [(x, y, p) for x, y, positions in pairs_of(task) for p in positions]
        for kind, parts in self.chunks.items():
            by_part = [dict(self._scores(task, rows)) for rows in parts]
            for p, m in enumerate(task.measures):
                batch = []
                for x, y in (cell[:2] for cell in cells if cell[2] == p):
                    scores = [of_part[x, y, p] for of_part in by_part]
                    note = next((reason for _, reason in scores if reason), None)
                    is_short = note is not None and note.startswith(NO_MEMORY)
                    numbers = np.array([] if is_short else [value for value, _ in scores])
                    batch.append(vector(m, (self.tokens[x], self.tokens[y]), kind, numbers, note))
                yield batch

    def _scores(self, task: TileTask, rows: np.ndarray) -> Iterator[tuple[Cell, tuple[float, str]]]:
        """Yield values on a part, or the reason for none, by their places in the task."""
        n = task.rows[0].shape[0]
        measures = tuple(_values_only(on_rows(m, rows, n)) for m in task.measures)
        position = {m.spec: p for p, m in enumerate(measures)}
        parts = [rows_of(x, rows, str(place)) for place, x in enumerate(task.representations)]
        part = task.on(parts[: len(task.rows)], parts[len(task.rows) :])
        for c in chain.from_iterable(scores_of(part._replace(measures=measures, job=None))):
            for entry, ends in enumerate(zip(c.x.tolist(), c.y.tolist())):
                x, y = (int(c.data[end]) for end in ends)
                reason = c.reasons.get(entry, "")
                for place in {x, y} if reason else ():
                    reason = reason.replace(f"{{{place}}}", f"{{{self.tokens[place]}}}")
                yield (x, y, position[c.measure]), (float(c.values[entry]), reason)


@lru_cache(maxsize=64)
def _values_only(measure: Measure) -> Measure:
    """Return a measure of which nothing is recorded but its values."""
    return replace(measure, chance=None, uninformative=None, diagnostics=no_diagnostics)


def _value_or_nan(measure: Measure, x: Representation, y: Representation) -> float:
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
