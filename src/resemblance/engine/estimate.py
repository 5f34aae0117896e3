"""Estimate the duration of a comparison from the time of its first pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..base.formatting import format_duration, join_words
from ..base.text import plain_specification
from ..comparison.scores import ScoreBatch
from ..contracts._measure import Measure, batchable_measures
from ..data.representation import data_key
from .plan import ComparisonPlan, PairBlock
from .scoring import score_block

LONG_COMPARISON_SECONDS = 60.0  # shorter comparisons print no estimate
MIN_TIMED_PAIRS = 100  # a measure with fewer pairs is not timed
# Representations per side of a comparison whose pairs are timed one at a time.
TIMED_SQUARE_SIDE, TIMED_RECTANGLE_SIDE = (3, 2)
# Representations per side, for a measure that computes many pairs together.
MAX_TIMED_BATCH_SIDE = 12
WIDTH_GROUPS = 3  # groups of representations by their number of features
# The timed pairs are chosen among the first 64 representations of a group.
MAX_TIMING_CANDIDATES = 64
MAX_LISTED_COSTS = 3  # measures that an estimate names

DataPair = frozenset[str]  # the fingerprints of a pair
TimedPositions = tuple[int, ...]


class MeasureSize(NamedTuple):
    """A measure, the number of samples, and the numbers of features of a row and of a column."""

    measure: str
    samples: int
    row_features: int
    column_features: int


class MeasureRate:
    """The measured seconds of the first pairs of a measure, and the rates computed from the
    seconds.

    The first pairs run one at a time: the first pair computes the intermediates of two
    representations, the last pair computes no intermediates, every other pair computes the
    intermediates of a single new representation. ``block``: the pairs computed together afterwards;
    ``fresh``: the number of new representations in the block.
    """

    def __init__(self, single_pairs: Sequence[DataPair], block: Iterable[DataPair], fresh: int):
        self.steps = {pair: step for step, pair in enumerate(single_pairs)}
        self.last, self.fresh = len(single_pairs) - 1, fresh
        self.steps |= dict.fromkeys(block, len(single_pairs))
        self.pairs = Counter(self.steps.values())
        self.seconds, self.missing = defaultdict[int, float](float), set(self.steps)

    def add(self, pairs: set[DataPair], seconds: float) -> None:
        """Add the ``seconds`` of a step, or of a part of a step, to the rate. ``pairs``: the pairs
        computed in this time, of one step."""
        self.seconds[self.steps[next(iter(pairs))]] += seconds
        self.missing -= pairs

    @property
    def of_representation(self) -> float:
        """The seconds for computing the intermediates of a single representation.

        The first pair is excluded, because the time of the first pair includes imports and
        compilation.
        """
        seconds = [self.seconds[step] for step in range(1, self.last)]
        return max(0.0, sum(seconds) / len(seconds) - self.seconds[self.last])

    @property
    def of_pair(self) -> float:
        """The seconds of a pair with cached intermediates."""
        block = self.last + 1
        if not self.pairs[block]:
            return self.seconds[self.last]
        seconds = self.seconds[block] - self.fresh * self.of_representation
        return max(0.0, seconds) / self.pairs[block]


class MeasureWorkload(NamedTuple):
    """The amount of work of a measure in a comparison, by groups of representations.

    ``representations``: the number per group. ``pairs``: the number of pairs for every group of
    rows and group of columns.
    """

    sizes: Sequence[MeasureSize]
    representations: np.ndarray
    pairs: np.ndarray


class TimeEstimate:
    """The tasks that time the first pairs of comparisons, and the estimated seconds of all pairs.

    ``tasks`` are blocks that run before all other blocks, pair by pair. The constructor removes the
    timed pairs from the plans. ``untimed`` names the measures that compute all pairs in one pass
    over the samples: the time of a pair tells nothing about the time of the pass.
    """

    def __init__(self, plans: Sequence[ComparisonPlan], workers: int):
        self.workers = max(1, workers)
        self.rates: dict[MeasureSize, MeasureRate] = {}
        self.by_pair: dict[tuple[str, DataPair], MeasureRate] = {}
        groups = list(map(_width_groups, plans))
        self.shares = [
            _measure_workload(plan, m, rows, columns)
            for plan, (rows, columns) in zip(plans, groups)
            for m in plan.measures
            if plan.missing[m.spec].any() and not plan.computes_jointly(m)
        ]
        self.untimed = {
            m.spec: None
            for plan in plans
            for m in plan.measures
            if plan.missing[m.spec].any() and plan.computes_jointly(m)
        }
        pairs = Counter[tuple[str, int]]()
        for share in self.shares:
            pairs[share.sizes[0][:2]] += int(share.pairs.sum())
        needed_sizes = {
            s for share in self.shares for s in share.sizes if pairs[s[:2]] >= MIN_TIMED_PAIRS
        }
        self.tasks = [
            task
            for plan, (rows, columns) in zip(plans, groups)
            for side in zip(rows, columns)
            for task in self._tasks(plan, *side, needed_sizes)
        ]

    def _tasks(
        self,
        plan: ComparisonPlan,
        rows: np.ndarray,
        columns: np.ndarray,
        needed_sizes: set[MeasureSize],
    ) -> Iterator[PairBlock]:
        """Yield the timing blocks for the groups ``rows`` and ``columns`` (positions) of a
        comparison, for sizes in ``needed_sizes`` without a rate."""
        sizes_by_places = defaultdict[
            tuple[TimedPositions, TimedPositions], dict[Measure, MeasureSize]
        ](dict)
        for m in plan.measures:
            size = _median_size(plan, m, rows, columns)
            if size in needed_sizes and size not in self.rates:
                places = _first_timed_block(plan, m, rows, columns)
                if places is not None:
                    sizes_by_places[places][m] = size
        for (i, j), sizes in sizes_by_places.items():
            blocks = self._first_pairs(plan, i, j, sizes).blocks()
            yield from (block._replace(job=score_timed_pairs) for block in blocks)

    def _first_pairs(
        self,
        plan: ComparisonPlan,
        i: TimedPositions,
        j: TimedPositions,
        sizes: Mapping[Measure, MeasureSize],
    ) -> ComparisonPlan:
        """Move the first pairs of the measures in ``sizes`` from a plan to a new plan, and create
        their rates; return the new plan. ``i``, ``j``: the positions of the rows and of the columns
        to time."""
        is_square = plan.columns is None
        side_length = TIMED_SQUARE_SIDE if is_square else TIMED_RECTANGLE_SIDE
        rows, columns = (tuple(side[k] for k in places) for side, places in zip(plan.sides, (i, j)))
        batchable = batchable_measures(tuple(sizes), [*rows, *columns])
        size = MAX_TIMED_BATCH_SIDE if batchable else side_length
        rows, columns = rows[:size], columns[:size]
        tokens = [list(map(data_key, side)) for side in (rows, columns)]
        places, masks = np.ix_(i[:size], j[:size]), dict[str, np.ndarray]()
        for m in sizes:
            mask = plan.missing[m.spec][places]
            if is_square:
                np.fill_diagonal(mask, False)
            if m not in batchable:
                mask[side_length:], mask[:, side_length:] = False, False
            plan.missing[m.spec][places] &= ~mask
            masks[m.spec] = mask
            single_pairs, block = _single_then_block_pairs(mask, is_square)
            names, block_names = (
                [frozenset((tokens[0][a], tokens[1][b])) for a, b in pairs]
                for pairs in (single_pairs, block)
            )
            n_new = len(rows) - side_length + (0 if is_square else len(columns) - side_length)
            rate = MeasureRate(names, block_names, n_new)
            self.rates[sizes[m]] = rate
            self.by_pair |= {(m.spec, pair): rate for pair in rate.steps}
        return replace(
            plan,
            rows=rows,
            columns=None if is_square else columns,
            measures=list(sizes),
            missing=masks,
            height=None,
        )

    def take(self, columns: Iterable[ScoreBatch]) -> None:
        """Add the seconds of the score batches ``columns`` to the rates; ignore batches of pairs
        that are not timed."""
        for column in columns:
            ends = zip(column.x.tolist(), column.y.tolist())
            pairs = {frozenset((column.data[x], column.data[y])) for x, y in ends}
            rate = self.by_pair.get((column.measure, next(iter(pairs), frozenset())))
            if rate is not None and pairs <= rate.missing:
                rate.add(pairs, column.seconds)

    @property
    def is_complete(self) -> bool:
        """Whether all timed pairs are computed."""
        return not any(rate.missing for rate in self.rates.values())

    def seconds(self) -> dict[str, float]:
        """Return the estimated seconds of all pairs of every measure on a single worker, by
        specification.

        Sizes without a rate add nothing.
        """
        seconds = defaultdict[str, float](float)
        for share in self.shares:
            rates = [self.rates.get(size) for size in share.sizes]
            seconds_of_pair = np.array([r.of_pair if r else 0.0 for r in rates])
            seconds_of_one = np.array([r.of_representation if r else 0.0 for r in rates])
            pair_seconds = np.sqrt(np.outer(seconds_of_pair, seconds_of_pair))
            total = share.representations @ seconds_of_one + (share.pairs * pair_seconds).sum()
            seconds[share.sizes[0].measure] += float(total)
        return dict(seconds)

    @property
    def line(self) -> str:
        """The estimate as a line of text; empty for a total of at most 60 s."""
        seconds = self.seconds()
        total = sum(seconds.values()) / self.workers
        if total <= LONG_COMPARISON_SECONDS:
            return ""
        values = sum(int(share.pairs.sum()) for share in self.shares)
        specs = sorted(seconds, key=lambda spec: -seconds[spec])[:MAX_LISTED_COSTS]
        known = [*seconds, *self.untimed]
        costs = ", ".join(
            f"{plain_specification(spec, known)} {format_duration(seconds[spec] / self.workers)}"
            for spec in specs
        )
        workers = f" on {self.workers} workers" if self.workers > 1 else ""
        ending = f", above all {costs}" if len(seconds) > 1 else ""
        if self.untimed:
            names = join_words(plain_specification(spec, known) for spec in self.untimed)
            ending += f"; the estimate leaves out the joint pass of {names}"
        return f"{values:,} pairs take about {format_duration(total)}{workers}{ending}"


def score_timed_pairs(task: PairBlock) -> Iterator[list[ScoreBatch]]:
    """Yield the scores of a timing task: the first pairs one at a time, then the other pairs
    together."""
    size = len(task.rows), len(task.columns)
    mask = np.zeros(size, dtype=bool)
    for part in task.forward:
        mask |= part
    for part in task.backward or ():
        mask |= part.T
    single_pairs, block = _single_then_block_pairs(mask, task.is_diagonal)
    for pairs in [*([pair] for pair in single_pairs), block]:
        step = np.zeros(size, dtype=bool)
        for a, b in pairs:
            step[a, b] = True
            if task.is_diagonal:
                step[b, a] = True
        forward = tuple(part & step for part in task.forward)
        backward = task.backward and tuple(part & step.T for part in task.backward)
        yield from score_block(task._replace(forward=forward, backward=backward, job=None))


PairPosition = tuple[int, int]


def _single_then_block_pairs(
    mask: np.ndarray, is_square: bool
) -> tuple[list[PairPosition], list[PairPosition]]:
    """Return the (row, column) pairs in ``mask`` to compute one at a time, in their order, and all
    other pairs.

    In a square comparison, (a, b) and (b, a) count as a single pair.
    """
    side_length = TIMED_SQUARE_SIDE if is_square else TIMED_RECTANGLE_SIDE
    pairs = np.argwhere(np.triu(mask | mask.T) if is_square else mask).tolist()
    single_pairs = sorted(
        ((a, b) for a, b in pairs if max(a, b) < side_length), key=lambda p: (max(p), p)
    )
    return single_pairs, [(a, b) for a, b in pairs if max(a, b) >= side_length]


# ---------------------------------------------------------------------------------------- groups


def _width_groups(plan: ComparisonPlan) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the row indices and the column indices, sorted by number of features, split into
    equally many groups.

    If all widths are equal, all rows form a group and all columns form a group.
    """
    is_square = plan.columns is None
    widths = [np.array([r.shape[1] for r in side]) for side in plan.sides]
    side_length = TIMED_SQUARE_SIDE if is_square else TIMED_RECTANGLE_SIDE
    count = max(1, min(WIDTH_GROUPS, *(len(side) // side_length for side in widths)))
    if all((side == side[0]).all() for side in widths):
        count = 1
    rows, columns = (np.array_split(np.argsort(side, kind="stable"), count) for side in widths)
    return rows, columns


def _median_size(
    plan: ComparisonPlan, m: Measure, rows: np.ndarray, columns: np.ndarray
) -> MeasureSize:
    """Return the size of a pair: the number of samples, and the features of the middle
    representation, in order of width, of each group.

    ``rows``, ``columns``: the positions of the representations of a group.
    """
    features = [
        sorted(side[k].shape[1] for k in group.tolist())[len(group) // 2]
        for side, group in zip(plan.sides, (rows, columns))
    ]
    return MeasureSize(m.spec, plan.rows[0].shape[0], *features)


def _measure_workload(
    plan: ComparisonPlan, m: Measure, rows: Sequence[np.ndarray], columns: Sequence[np.ndarray]
) -> MeasureWorkload:
    """Return the numbers of representations and pairs to compute for a measure, by groups.
    ``rows``, ``columns``: the positions in each group."""
    is_square, todo = plan.columns is None, plan.missing[m.spec]
    pairs = np.array([[np.count_nonzero(todo[np.ix_(a, b)]) for b in columns] for a in rows], float)
    pairs /= 2 if is_square and not m.symmetric else 1  # (a, b) and (b, a) are timed together
    has_row, has_column = (np.asarray(todo.any(axis=axis)) for axis in (1, 0))
    if is_square:
        counts = [np.count_nonzero((has_row | has_column)[a]) for a in rows]
    else:
        counts = [
            np.count_nonzero(has_row[a]) + np.count_nonzero(has_column[b])
            for a, b in zip(rows, columns)
        ]
    sizes = [_median_size(plan, m, a, b) for a, b in zip(rows, columns)]
    return MeasureWorkload(sizes, np.array(counts), pairs)


def _first_timed_block(
    plan: ComparisonPlan, m: Measure, rows: np.ndarray, columns: np.ndarray
) -> tuple[TimedPositions, TimedPositions] | None:
    """Return positions of rows and of columns, from the groups ``rows`` and ``columns``, whose
    pairs are all missing; None if there are too few.

    The pairs of the first two rows and columns (three in a square) are timed one at a time. The
    other rows and columns are for measures that compute many pairs together.
    """
    todo = plan.missing[m.spec]
    if plan.columns is None:
        return _first_timed_square(todo, rows)
    row_data = set(map(data_key, plan.rows))
    columns = np.array([j for j in columns.tolist() if data_key(plan.columns[j]) not in row_data])
    rows, columns = rows[:MAX_TIMING_CANDIDATES], columns[:MAX_TIMING_CANDIDATES]
    if not len(columns):
        return None
    missing: np.ndarray = todo[np.ix_(rows, columns)]
    a = int(missing.sum(axis=1).argmax())
    common: np.ndarray = missing & missing[a]
    common[a] = False
    b = int(common.sum(axis=1).argmax())
    j = np.flatnonzero(common[b])
    if len(j) < TIMED_RECTANGLE_SIDE:
        return None
    i = [a, b, *(k for k in range(len(rows)) if k not in (a, b) and missing[k, j].all())]
    return tuple(rows[i[:MAX_TIMED_BATCH_SIDE]].tolist()), tuple(
        columns[j[:MAX_TIMED_BATCH_SIDE]].tolist()
    )


def _first_timed_square(
    todo: np.ndarray, rows: np.ndarray
) -> tuple[TimedPositions, TimedPositions] | None:
    """Return the rows and the columns, which are equal, of the first timed block: three
    representations of ``rows`` with all pairs still to compute, followed by later representations.
    ``todo``: the mask of the pairs to compute.

    Return None if no three representations qualify.
    """
    candidates = rows[:MAX_TIMING_CANDIDATES]
    part: np.ndarray = todo[np.ix_(candidates, candidates)]
    missing: np.ndarray = part | part.T
    np.fill_diagonal(missing, False)
    a = int(missing.sum(axis=1).argmax())
    common: np.ndarray = missing & missing[a] & missing[a][:, None]
    b = int(common.sum(axis=1).argmax())
    if not missing[a, b] or not common[b].any():
        return None
    triangle = sorted(candidates[[a, b, int(common[b].argmax())]].tolist())
    later_places = [k for k in sorted(candidates.tolist()) if k > triangle[-1]]
    places = tuple((triangle + later_places)[:MAX_TIMED_BATCH_SIDE])
    return places, places
