"""What measures are if the samples of two representations are unrelated: by exact moments, or by
orders of the samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple, get_args

import numpy as np

from ..comparison import Comparison
from ..engine.work import TileTask
from ..measure import Measure
from ..significance.multiple_testing import ROUNDING
from ..significance.orders import Design
from .bench import Bench, Wanted
from .layout import Layout, Pair
from .moments import PROBES, Profile, Side, exact_null, is_trusted, takes_few_values
from .reordered_views import moves_of
from .tasks import CHUNK, PROFILE, Agreement, Draws, Profiles, profile_from

NULL, PROBE, GUARD = "null", "probe", "guard"  # what a design is used for
EXACT = "exact moments"
FIXED = "does not depend on the pairing"
SMALLEST = 1e-4  # p-values of exact moments are not trusted below
MOST_SAMPLES = 5000  # for exact moments, whose matrices are n x n

ProfilesOfPairs = dict[Pair, tuple[Profile, Profile]]


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
    bench: Bench, comparison: Comparison, measures: Sequence[Measure], design: Design, exact: bool
) -> dict[str, NullCells]:
    """Compute chance, spread and p-values of all pairs, and return them by measure."""
    pairs = {m: bench.layout.with_values(m, comparison[m.spec]) for m in measures}
    by_moments = _continuous(bench, _trusted(bench, pairs, design, exact), design)
    guards = _guards(bench, [m for m in measures if m not in by_moments], design)
    drawn = {m: _varying(pairs[m], m, guards) for m in measures if m not in by_moments}
    missing = _missing(bench, drawn, design)
    left = sum(len(wanted[m]) for wanted in missing.values() for m in wanted)
    bench.advance(len(missing) * sum(len(bench.layout.pairs(m)) for m in measures) - left)
    bench.run(_tasks(bench, missing, design, guards), counted=True, lent=True)
    return {
        m.spec: _cells_of(bench, comparison, m, by_moments.get(m), design, guards) for m in measures
    }


def _varying(pairs: Sequence[Pair], m: Measure, guards: Guards) -> list[Pair]:
    return [pair for pair in pairs if (m, pair[1]) not in guards.fixed]


# ------------------------------------------------------------------------------------- the guard


def _guards(bench: Bench, measures: Sequence[Measure], design: Design) -> Guards:
    """Compute two orders of each column both ways, and see whether the values agree."""
    layout, kind = bench.layout, _kind(design, bench.layout, GUARD)
    if design.shifts:
        return Guards(frozenset(), frozenset())
    pairs = [(_witness(layout, j), j) for j in layout.movable]
    missing = bench.missing(dict.fromkeys(measures, pairs), kind)
    job = partial(Agreement, design, layout.is_square, kind)
    memory = bench.memory // _copies(measures, bench, design)
    bench.run(bench.tasks(missing, job, memory, blocks=bench.pieces))
    anew, fixed = set(), set()
    for m in measures:
        moves = moves_of(m)
        for pair in pairs:
            holds = bool(bench.vector(m, pair, kind)[0])
            if moves.of_view is None or not holds:
                anew.add((m, pair[1]))
            if moves.is_fixed and holds:
                fixed.add((m, pair[1]))
    return Guards(frozenset(anew), frozenset(fixed))


def _witness(layout: Layout, column: int) -> int:
    """Return the row that a column is tried against: the first that is another one."""
    return 1 if layout.is_square and column == 0 else 0


# ------------------------------------------------------------------------------------ exact moments


def _trusted(
    bench: Bench, pairs: Wanted, design: Design, exact: bool
) -> dict[Measure, ProfilesOfPairs]:
    """Return the profiles of both sides of all pairs, for measures of which no sample dominates
    both sides of a pair.

    A measure whose moments do not say enough of some pair is drawn for all: so its p-values can be
    adjusted together.
    """
    is_possible = exact and design.is_free and design.count > max(design.draws, PROBES)
    is_possible &= design.n <= MOST_SAMPLES
    usable = [m for m in pairs if m.product and is_possible]
    for side in get_args(Side):
        ends = {m: _ends(m, pairs[m], side) for m in usable}
        missing = bench.missing(ends, f"{PROFILE} {side}")
        bench.run(bench.tasks(missing, partial(Profiles, side), blocks=bench.pieces))
    sides = {m: _profiles(bench, m, pairs[m]) for m in usable}
    return {m: known for m, known in sides.items() if known is not None}


def _continuous(
    bench: Bench, profiles: Mapping[Measure, ProfilesOfPairs], design: Design
) -> dict[Measure, ProfilesOfPairs]:
    """Return the profiles of the measures whose value is not one of few in any pair, as a few
    orders show, or no pair is clumped.

    Views are carried into these orders without a guard, as nothing but the number of values counts;
    where they cannot be, orders are drawn for the p-value itself.
    """
    clumped = {m: clumps for m, known in profiles.items() if (clumps := _clumped(known))}
    tried = {m: clumps for m, clumps in clumped.items() if moves_of(m).of_view is not None}
    coarse, guards = clumped.keys() - tried.keys(), Guards(frozenset(), frozenset())

    def takes_few(m: Measure, pair: Pair, probes: Design) -> bool:
        drawn = _draws(bench, m, pair, probes, PROBE)
        return takes_few_values(m, drawn, *profiles[m][pair], design.n)

    for draws in (PROBES // 2, PROBES):  # half of them show of most values that they are many
        probes = replace(design, draws=draws)
        missing = _missing(bench, tried, probes, PROBE)
        bench.run(_tasks(bench, missing, probes, guards, PROBE), lent=True)
        for m, clumps in tried.items():
            tried[m] = [pair for pair in clumps if takes_few(m, pair, probes)]
        tried = {m: clumps for m, clumps in tried.items() if clumps}
    coarse |= tried.keys()
    return {m: known for m, known in profiles.items() if m not in coarse}


def _ends(m: Measure, pairs: Sequence[Pair], side: Side) -> list[Pair]:
    """Return each representation whose profile is of this side, with itself."""
    ends = {end for pair in pairs for end, of in zip(pair, get_args(Side)) if _side(m, of) == side}
    return [(end, end) for end in sorted(ends)]


def _side(m: Measure, side: Side) -> Side:
    """Return the side whose matrix a representation has: the left one if both are the same."""
    return side if m.product and m.product.right else "left"


def _profiles(bench: Bench, m: Measure, pairs: Sequence[Pair]) -> ProfilesOfPairs | None:
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


def _clumped(profiles: ProfilesOfPairs) -> list[Pair]:
    """Return the pairs whose matrices both have entries in clumps: others take many values."""
    return [pair for pair, (x, y) in profiles.items() if x.is_clumped and y.is_clumped]


def _profile(bench: Bench, m: Measure, position: int, side: Side) -> Profile | None:
    return profile_from(bench.vector(m, (position, position), f"{PROFILE} {side}"))


# ------------------------------------------------------------------------------------------- orders


def _missing(bench: Bench, pairs: Wanted, design: Design, what: str = NULL) -> dict[range, Wanted]:
    """Return the pairs that lack each chunk of draws."""
    kind = _kind(design, bench.layout, what)
    return {c: bench.missing(pairs, f"{kind} from {c.start}", len(c)) for c in chunks_of(design)}


def chunks_of(design: Design) -> list[range]:
    """Return the draws that are stored together; shifts begin with the unshifted windows."""
    total = design.total + bool(design.shifts)
    return [range(start, min(start + CHUNK, total)) for start in range(0, total, CHUNK)]


def _tasks(
    bench: Bench, missing: dict[range, Wanted], design: Design, guards: Guards, what: str = NULL
) -> Iterable[TileTask]:
    """Return the draws that are missing, in tiles whose views fit the memory; those of the same
    measures follow one another."""
    layout, kind = bench.layout, _kind(design, bench.layout, what)
    anew = frozenset((m, layout.tokens[j]) for m, j in guards.anew)
    by_measures = dict[tuple[Measure, ...], list[TileTask]]()
    for wanted, chunks in bench.pieces_of(missing):
        ends = chunks[0].start, chunks[-1].stop
        job = partial(Draws, design, layout.is_square, kind, anew, *ends)
        memory = bench.memory // _copies(wanted, bench, design)
        for task in bench.tasks(wanted, job, memory):
            by_measures.setdefault(task.measures, []).append(task)
    return chain.from_iterable(by_measures.values())


def _copies(measures: Iterable[Measure], bench: Bench, design: Design) -> int:
    """Return how many times the memory of the views of all representations a draw takes.

    In a square the views of all are moved, else those of one column. Those of pairs of samples are
    moved from square matrices, which take twice their memory.
    """
    moved = 2 if bench.layout.is_square else 1
    moves = [a.of_view or {} for m in measures for a in [moves_of(m)]]
    has_pairs = any(move.kind == "pairs" for views in moves for move in views.values())
    return 2 * moved if has_pairs and not design.shifts else moved


def _kind(design: Design, layout: Layout, what: str) -> str:
    return f"{what} {'square ' if layout.is_square else ''}{design.key}"


# ------------------------------------------------------------------------------------------ results


def _cells_of(
    bench: Bench,
    comparison: Comparison,
    m: Measure,
    profiles: ProfilesOfPairs | None,
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


def _draws(bench: Bench, m: Measure, pair: Pair, design: Design, what: str = NULL) -> np.ndarray:
    kind, chunks = _kind(design, bench.layout, what), chunks_of(design)
    parts = [bench.vector(m, pair, f"{kind} from {c.start}")[: len(c)] for c in chunks]
    return np.concatenate(parts)


def _words(
    bench: Bench, m: Measure, pair: Pair, design: Design, guards: Guards, missing: int
) -> str:
    """Say how the null of a pair was computed."""
    moves_both = bench.layout.is_square and not design.is_exhaustive
    moved = pair if moves_both else pair[1:]
    is_anew = any((m, side) in guards.anew for side in moved)
    anew = ", views anew" if is_anew else ""
    without = f", {missing} without a value" if missing else ""
    return f"{design.words}{anew}{without}"
