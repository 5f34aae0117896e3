"""What measures are if the samples of two representations are unrelated: by exact moments, or by
orders of the samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

import numpy as np

from ..comparison import Comparison
from ..measure import Measure
from ..significance.multiple_testing import ROUNDING
from ..significance.orders import Design
from .bench import Bench
from .layout import Layout, Pair, TaskCell, Wanted, chosen, tiled
from .moments import PROBES, Profile, Side, exact_null, is_trusted, takes_few_values
from .reordered_views import moves_of
from .tasks import CHUNK, PROFILE, Chunk, GuardTask, NullTask, ProfileTask, profile_from

EXACT = "exact moments"
FIXED = "does not depend on the pairing"
SMALLEST = 1e-4  # p-values of exact moments are not trusted below
MOST_SAMPLES = 5000  # for exact moments, whose matrices are n x n

Profiles = dict[Pair, tuple[Profile, Profile]]


class NullCells(NamedTuple):
    """What a measure is if the samples of two representations are unrelated, for each pair.

    ``chance`` and ``spread`` are the mean and the standard deviation, ``p`` the p-values, also
    those of exact moments that are too small to be trusted, all (rows, columns); ``drawn`` are the
    values in each order, (rows, columns, draws), or empty along the last axis where exact moments
    or shifts took their place; ``how`` says for each pair how it was computed. ``observed`` are the
    values that chance is for: those of the comparison, but of shifted windows that of the unshifted
    ones, which have fewer samples.
    """

    chance: np.ndarray
    spread: np.ndarray
    p: np.ndarray
    drawn: np.ndarray
    how: tuple[tuple[str, ...], ...]
    observed: np.ndarray

    def scale(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the spread in whose units the pairs of a map are compared.

        Of the values drawn together with that observed: under the null hypothesis all are alike,
        and a scale that leaves one out would set it apart. At least what rounding leaves of no
        spread.
        """
        centre, spread = self.chance, self.spread
        if self.drawn.shape[-1]:
            others = self.drawn[..., 1:] if design.is_exhaustive else self.drawn
            values = np.concatenate([self.observed[..., None], others], axis=-1)
            known = ~np.isnan(values)
            count = np.maximum(known.sum(axis=-1), 1)
            centre = np.where(known, values, 0).sum(axis=-1) / count
            squares = np.where(known, values - centre[..., None], 0) ** 2
            spread = np.sqrt(squares.sum(axis=-1) / count)
        sizes = np.fmax(np.abs(centre), np.abs(self.observed))
        return centre, np.fmax(spread, ROUNDING * np.fmax(sizes, ROUNDING))


def p_text(p: float, how: str = "") -> str:
    """Write a p-value: one below 1e-4, or at the floor of exact moments, as "< 1e-4"."""
    if math.isnan(p):
        return "–"
    is_small = p < SMALLEST or (p == SMALLEST and how == EXACT)
    return "< 1e-4" if is_small else f"{p:.2g}"


def p_words(p: float, how: str = "") -> str:
    """Write a p-value with its letter."""
    text = p_text(p, how)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


class Guards(NamedTuple):
    """How far each measure can be trusted with carried views of each representation.

    ``anew``: pairs of a measure and a position whose views have to be computed again; ``fixed``:
    those whose value no order changes.
    """

    anew: frozenset[tuple[Measure, int]]
    fixed: frozenset[tuple[Measure, int]]


def nulls_of(
    bench: Bench,
    comparison: Comparison,
    measures: Sequence[Measure],
    design: Design,
    exact: bool,
    weight: float,
) -> dict[str, NullCells]:
    """Compute chance, spread and p-values of all pairs, and return them by measure."""
    guards = _guards(bench, measures, design, 0.02 * weight)
    pairs = {m: bench.layout.with_values(m, comparison[m.spec]) for m in measures}
    by_moments = _by_moments(bench, pairs, design, guards, exact, 0.08 * weight)
    drawn = {m: _varying(pairs[m], m, guards) for m in measures if m not in by_moments}
    bench.run(_null_tasks(bench, drawn, design, guards), 0.9 * weight)
    return {
        m.spec: _cells_of(bench, comparison, m, by_moments.get(m), design, guards) for m in measures
    }


def _varying(pairs: Sequence[Pair], m: Measure, guards: Guards) -> list[Pair]:
    return [pair for pair in pairs if (m, pair[1]) not in guards.fixed]


# ------------------------------------------------------------------------------------- the guard


def _guards(bench: Bench, measures: Sequence[Measure], design: Design, weight: float) -> Guards:
    """Compute two orders of each column both ways, and see whether the values agree."""
    if design.shifts:
        bench.tick(weight)
        pairs = {(m, j) for m in measures for j in range(len(bench.layout.all))}
        return Guards(frozenset(pairs), frozenset())
    kind, layout = _kind(design, bench.layout, "guard"), bench.layout
    tasks = []
    for j in layout.movable:
        pair = _witness(layout, j), j
        missing = tuple(m for m in measures if not bench.has(m, pair, kind))
        if missing:
            inputs = {k: layout.all[k] for k in pair}
            tokens = {k: layout.tokens[k] for k in pair}
            tasks.append(GuardTask(missing, inputs, tokens, design, layout.is_square, kind))
    bench.run(tasks, weight)
    anew, fixed = set(), set()
    for m in measures:
        moves = moves_of(m)
        for j in layout.movable:
            holds = bool(bench.vector(m, (_witness(layout, j), j), kind)[0])
            if moves.of_view is None or not holds:
                anew.add((m, j))
            if moves.is_fixed and holds:
                fixed.add((m, j))
    return Guards(frozenset(anew), frozenset(fixed))


def _witness(layout: Layout, column: int) -> int:
    """Return the row that a column is tried against: the first that is another one."""
    return 1 if layout.is_square and column == 0 else 0


# ------------------------------------------------------------------------------------ exact moments


def _by_moments(
    bench: Bench, pairs: Wanted, design: Design, guards: Guards, exact: bool, weight: float
) -> dict[Measure, Profiles]:
    """Return the profiles of both sides of all pairs, for measures whose moments say enough.

    A measure for which they do not, because a guard failed, one sample dominates both sides of a
    pair or its value is one of few, is drawn for all pairs: so its p-values can be adjusted
    together.
    """
    is_possible = exact and design.is_free and design.count > max(design.draws, PROBES)
    is_possible &= design.n <= MOST_SAMPLES
    anew = {m for m, j in guards.anew if j in bench.layout.movable}
    usable = [m for m in pairs if m.product and is_possible and m not in anew]
    bench.run(list(_profile_tasks(bench, {m: pairs[m] for m in usable})), weight / 2)
    sides = {m: _profiles(bench, m, pairs[m]) for m in usable}
    profiles = {m: known for m, known in sides.items() if known is not None}
    clumped = {m: _clumped(known) for m, known in profiles.items()}
    probes = replace(design, draws=PROBES)
    bench.run(_null_tasks(bench, clumped, probes, guards), weight / 2)
    coarse = {
        m
        for m, known in profiles.items()
        for pair in clumped[m]
        if takes_few_values(m, _draws(bench, m, pair, probes), *known[pair], design.n)
    }
    return {m: known for m, known in profiles.items() if m not in coarse}


def _profile_tasks(bench: Bench, pairs: Wanted) -> Iterator[ProfileTask]:
    layout, needed = bench.layout, dict[tuple[int, Side], list[Measure]]()
    for m in pairs:
        sides = {s for i, j in pairs[m] for s in ((i, _side(m, "left")), (j, _side(m, "right")))}
        for position, side in sides:
            if not bench.has(m, (position, position), f"{PROFILE} {side}"):
                needed.setdefault((position, side), []).append(m)
    for (position, side), measures in sorted(needed.items(), key=lambda entry: entry[0]):
        inputs, tokens = {position: layout.all[position]}, {position: layout.tokens[position]}
        yield ProfileTask(tuple(measures), inputs, tokens, side)


def _side(m: Measure, side: Side) -> Side:
    """Return the side whose matrix a representation has: the left one if both are the same."""
    return side if m.product and m.product.right else "left"


def _profiles(bench: Bench, m: Measure, pairs: Sequence[Pair]) -> Profiles | None:
    """Return the profiles of both sides of each pair; None if some say too little."""
    profiles = {}
    for pair in pairs:
        left, right = (
            _profile(bench, m, position, _side(m, side))
            for position, side in zip(pair, get_args(Side))
        )
        if left is None or right is None or not is_trusted(left, right, bench.layout.n):
            return None
        profiles[pair] = left, right
    return profiles


def _clumped(profiles: Profiles) -> list[Pair]:
    """Return the pairs whose matrices both have entries in clumps: others take many values."""
    return [pair for pair, (x, y) in profiles.items() if x.is_clumped and y.is_clumped]


def _profile(bench: Bench, m: Measure, position: int, side: Side) -> Profile | None:
    return profile_from(bench.vector(m, (position, position), f"{PROFILE} {side}"))


# ------------------------------------------------------------------------------------------- orders


def _null_tasks(bench: Bench, pairs: Wanted, design: Design, guards: Guards) -> list[NullTask]:
    """Return the draws that are missing, in tiles whose views fit the memory."""
    layout, kind = bench.layout, _kind(design, bench.layout)
    budget, tasks = bench.memory // _copies(pairs, bench, design), []
    for measures, cells in tiled(layout, pairs, budget):
        chunks = _chunks(bench, measures, cells, kind, design)
        anew = frozenset((measures.index(m), k) for m, k in guards.anew if m in measures)
        for part in _parts(chunks, bench.pieces):
            inputs, tokens = chosen(layout, [cell for chunk in part for cell in chunk.cells])
            of_task = (measures, inputs, tokens, design, layout.is_square, kind, anew)
            tasks.append(NullTask(*of_task, part))
    return tasks


def _copies(measures: Iterable[Measure], bench: Bench, design: Design) -> int:
    """Return how many times the memory of the views of all representations a draw takes.

    In a square the views of all are moved, else those of one column. Those of pairs of samples are
    moved from square matrices, which take twice their memory.
    """
    moved = 2 if bench.layout.is_square else 1
    moves = [a.of_view or {} for m in measures for a in [moves_of(m)]]
    has_pairs = any(move.kind == "pairs" for views in moves for move in views.values())
    return 2 * moved if has_pairs and not design.shifts else moved


def _chunks(
    bench: Bench, measures: Sequence[Measure], cells: Sequence[TaskCell], kind: str, design: Design
) -> list[Chunk]:
    chunks = []
    for start, stop in pieces_of(design):
        missing = tuple(
            cell
            for cell in cells
            if not _is_stored(bench, measures[cell.measure], cell, kind, start, stop)
        )
        if missing:
            chunks.append(Chunk(start, stop, missing))
    return chunks


def _is_stored(bench: Bench, m: Measure, cell: TaskCell, kind: str, start: int, stop: int) -> bool:
    pair, kind = (cell.x, cell.y), f"{kind} from {start}"
    return bench.has(m, pair, kind) and len(bench.vector(m, pair, kind)) >= stop - start


def pieces_of(design: Design) -> list[tuple[int, int]]:
    """Return the ends of the chunks of draws; shifts begin with the unshifted windows."""
    total = design.total + bool(design.shifts)
    return [(start, min(start + CHUNK, total)) for start in range(0, total, CHUNK)]


def _parts(chunks: Sequence[Chunk], count: int) -> Iterator[tuple[Chunk, ...]]:
    """Cut chunks into at most so many parts."""
    size = max(1, -(-len(chunks) // count))
    for start in range(0, len(chunks), size):
        yield tuple(chunks[start : start + size])


def _kind(design: Design, layout: Layout, what: str = "null") -> str:
    return f"{what} {'square ' if layout.is_square else ''}{design.key}"


# ------------------------------------------------------------------------------------------ results


def _cells_of(
    bench: Bench,
    comparison: Comparison,
    m: Measure,
    profiles: Profiles | None,
    design: Design,
    guards: Guards,
) -> NullCells:
    """Put chance, spread, p-values and draws of a measure into matrices."""
    layout, values = bench.layout, comparison[m.spec]
    draws = 0 if profiles is not None or design.shifts else design.total
    chance, spread, p = np.full((3, *layout.shape), np.nan)
    drawn, how = np.full((*layout.shape, draws), np.nan), np.full(layout.shape, "", dtype=object)
    tables = chance, spread, p, drawn, how, np.array(values)
    for pair in layout.with_values(m, values):
        value = float(values[layout.cells(m, pair)[0]])
        if profiles is not None:
            exact = exact_null(m, value, *profiles[pair], design.n)
            least = max(exact.p, 1 / design.count)
            entry = exact.chance, exact.spread, least, np.zeros(0), EXACT, value
        else:
            entry = _drawn_entry(bench, m, pair, value, design, guards)
        for place in layout.cells(m, pair):
            for table, number in zip(tables, entry):
                table[place] = number
    return NullCells(chance, spread, p, drawn, tuple(map(tuple, how)), tables[-1])


def _drawn_entry(
    bench: Bench, m: Measure, pair: Pair, value: float, design: Design, guards: Guards
) -> tuple[float, float, float, np.ndarray, str, float]:
    """Return what :class:`NullCells` has of a pair, from the values in orders or shifts."""
    if (m, pair[1]) in guards.fixed:
        return value, 0.0, 1.0, np.full(design.total, value), FIXED, value
    drawn = _draws(bench, m, pair, design)
    if design.shifts:
        value, drawn = float(drawn[0]), drawn[1:]
    known, sign = drawn[~np.isnan(drawn)], 1 if m.larger_is_more_similar else -1
    chance, spread = (known.mean(), known.std()) if len(known) else (np.nan, np.nan)
    p = design.p_value(sign * value, sign * drawn)
    how = _words(bench, m, pair, design, guards, len(drawn) - len(known))
    drawn = drawn[:0] if design.shifts else drawn
    return float(chance), float(spread), p, drawn, how, value


def _draws(bench: Bench, m: Measure, pair: Pair, design: Design) -> np.ndarray:
    kind = _kind(design, bench.layout)
    pieces = pieces_of(design)
    return np.concatenate([bench.vector(m, pair, f"{kind} from {a}")[: b - a] for a, b in pieces])


def _words(
    bench: Bench, m: Measure, pair: Pair, design: Design, guards: Guards, missing: int
) -> str:
    """Say how the null of a pair was computed."""
    moves_both = bench.layout.is_square and not design.is_exhaustive
    moved = pair if moves_both else pair[1:]
    is_anew = not design.shifts and any((m, side) in guards.anew for side in moved)
    anew = ", views anew" if is_anew else ""
    without = f", {missing} without a value" if missing else ""
    return f"{design.words}{anew}{without}"
