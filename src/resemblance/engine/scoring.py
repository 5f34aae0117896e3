"""Compute the scores of a task: pair by pair, or many pairs together if the measure allows it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..base.arrays import scalar
from ..base.exceptions import UndefinedError
from ..comparison.scores import (
    CAVEAT_KEY,
    NO_MEMORY_REASON,
    RECORD_COLUMNS,
    PairScore,
    ScoreBatch,
    score_batch,
)
from ..contracts._measure import Measure, batchable_measures
from ..contracts.claims import CHANCE_KEY, Scores, clip_to_range
from ..data.representation import Representation, data_key, pair_cache, without_gradient
from .plan import PairBlock
from .reasons import failure_reason

BATCH_SIDE = 128  # rows and columns computed together; scores do not depend on the number
SECONDS_PER_REPORT = 0.05  # scores are reported after this many seconds
MAX_PAIRS_REPORTED_SINGLY = 32  # the first pairs are reported at once: the next may take long


def score_block(task: PairBlock) -> Iterator[list[ScoreBatch]]:
    """Yield the scores of a task, a few pairs at a time."""
    for part in task.parts(BATCH_SIDE):
        batchable = batchable_measures(part.measures, part.representations)
        for p in (p for p, m in enumerate(part.measures) if m in batchable):
            yield from _score_batched_measure(part, p)
        if positions := [p for p, m in enumerate(part.measures) if m not in batchable]:
            yield from _score_pairs_singly(part, positions)


# --------------------------------------------------------------------------------- pairs one by one


def _score_pairs_singly(part: PairBlock, positions: Sequence[int]) -> Iterator[list[ScoreBatch]]:
    """Yield the scores of the measures at ``positions``, pair by pair; all measures share the
    cache of the pair."""
    data = tuple(map(data_key, part.representations))
    offset = 0 if part.is_diagonal else len(part.rows)
    scores, start = {p: list[PairScore]() for p in positions}, time.monotonic()
    for pairs, (i, j) in enumerate(_pairs_to_compute(part, positions)):
        x, y = part.rows[i], part.columns[j]
        with pair_cache(x, y):
            for p in positions:
                if part.forward[p][i, j]:
                    scores[p].append(_score_pair(part.measures[p], x, y, (i, offset + j)))
                if _is_transposed(part, p, i, j):
                    scores[p].append(_score_pair(part.measures[p], y, x, (offset + j, i)))
        if pairs < MAX_PAIRS_REPORTED_SINGLY or time.monotonic() - start > SECONDS_PER_REPORT:
            yield _score_batches(part, scores, data)
            scores, start = {p: [] for p in positions}, time.monotonic()
    yield _score_batches(part, scores, data)


def _pairs_to_compute(part: PairBlock, positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the (row, column) positions of the pairs with a missing score of any measure at
    ``positions``, without repetition."""
    todo = np.any([part.forward[p] for p in positions], axis=0)
    if part.backward is not None:
        todo |= np.any([part.backward[p] for p in positions], axis=0).T
    rows, columns = np.nonzero(np.triu(todo) if part.is_diagonal else todo)
    return zip(rows.tolist(), columns.tolist())


def _is_transposed(part: PairBlock, p: int, i: int, j: int) -> bool:
    """Return whether the measure at position ``p`` must also be computed for (column j, row i).
    Always False on the diagonal of a diagonal part."""
    if part.backward is None or (part.is_diagonal and i == j):
        return False
    return bool(part.backward[p][j, i])


def _score_batches(
    part: PairBlock, scores: Mapping[int, list[PairScore]], data: tuple[str, ...]
) -> list[ScoreBatch]:
    measures = {p: part.measures[p] for p in scores if scores[p]}
    return [score_batch(m.spec, m.version, data, scores[p]) for p, m in measures.items()]


def _score_pair(
    measure: Measure, x: Representation, y: Representation, places: tuple[int, int]
) -> PairScore:
    """Return the score of a pair, or the reason for a missing score, with the time.

    ``places``: the positions of x and y among the data of the batch. An exception that data cannot
    cause is raised.
    """
    start = time.perf_counter()
    try:
        value = scalar(measure.evaluate(x, y))
        numbers = {name: float(v) for name, v in measure.diagnostics(x, y).items()}
        _check_diagnostics(measure, numbers)
        numbers |= _pair_chance_level(measure, x, y)
        score = PairScore(*places, value, None, numbers, measure.caveat(x, y))
    except Exception as error:
        # A failure of the diagnostics alone also leaves no score.
        reason = failure_reason(error, measure, x, y)
        if reason is None:
            raise
        if reason.startswith(NO_MEMORY_REASON):  # free memory for the other measures
            for r in (x, y):
                r.clear_cache()
        score = PairScore(*places, None, reason)
    return score._replace(seconds=time.perf_counter() - start)


def _check_diagnostics(measure: Measure, numbers: Mapping[str, float]) -> None:
    """Raise ``ValueError`` for a diagnostic with a reserved name, or an infinite or NaN value.
    ``numbers``: the diagnostics by name."""
    reserved_names = {*RECORD_COLUMNS, CAVEAT_KEY} | ({CHANCE_KEY} if measure.chance else set())
    if clashes := sorted(numbers.keys() & reserved_names):
        problem = f"a diagnostic cannot be called {clashes[0]!r}"
        raise ValueError(f"{measure}: {problem}, which is a column of the records")
    if infinite := [name for name, number in numbers.items() if not math.isfinite(number)]:
        raise ValueError(f"{measure}: the diagnostic {infinite[0]!r} is not a finite number")


def _pair_chance_level(measure: Measure, x: Representation, y: Representation) -> dict[str, float]:
    """Return the chance level of two different representations under ``CHANCE_KEY``; {} without a
    closed form."""
    if measure.chance is None or x is y:
        return {}
    try:
        return {CHANCE_KEY: float(measure.chance(without_gradient(x), without_gradient(y)))}
    except UndefinedError:
        return {}


# --------------------------------------------------------------------------------- pairs together


def _score_batched_measure(part: PairBlock, p: int) -> Iterator[list[ScoreBatch]]:
    """Yield the scores of the measure at position ``p``, which has a function for many pairs."""
    offset = 0 if part.is_diagonal else len(part.rows)
    data = tuple(map(data_key, part.representations))
    places = np.arange(len(part.rows)), offset + np.arange(len(part.columns))
    blocks = [(part.rows, part.columns, part.forward[p], places)]
    if part.backward is not None and not part.is_diagonal:
        blocks.append((part.columns, part.rows, part.backward[p], places[::-1]))
    for rows, columns, todo, (x, y) in blocks:
        for column in _score_rectangle(part.measures[p], rows, columns, todo) if todo.any() else ():
            yield [column._replace(data=data, x=_as_int32(x[column.x]), y=_as_int32(y[column.y]))]


def _score_rectangle(
    measure: Measure,
    rows: Sequence[Representation],
    columns: Sequence[Representation],
    todo: np.ndarray,
) -> Iterator[ScoreBatch]:
    """Yield score batches of the pairs that ``todo``, (rows, columns), marks; ``x`` indexes
    ``rows`` and ``y`` indexes ``columns``; ``data`` is empty.

    If a pair has no score, the function scores every representation with itself. A representation
    without a score with itself is unusable. Pairs with an unusable representation are computed one
    by one, all other pairs together. If the joint computation fails again, all pairs are computed
    one by one.
    """
    i, j = np.flatnonzero(todo.any(axis=1)), np.flatnonzero(todo.any(axis=0))
    xs = [rows[k] for k in i.tolist()]
    ys = xs if columns is rows and np.array_equal(i, j) else [columns[k] for k in j.tolist()]
    start = time.perf_counter()
    scores = _batched_scores(measure, xs, ys)
    if scores is None:
        representations = {id(r): r for r in (*xs, *ys)}
        usable_ids = {
            key for key, r in representations.items() if _batched_scores(measure, [r], [r])
        }
        i, j = (np.array([id(r) in usable_ids for r in side]) for side in (rows, columns))
        remaining_pairs = todo & ~np.outer(i, j)
        if remaining_pairs.any() and not np.array_equal(remaining_pairs, todo):
            yield from _score_rectangle(measure, rows, columns, todo & ~remaining_pairs)
        else:
            remaining_pairs = todo
        # A pair without a score has a reason of its own.
        pairs = np.argwhere(remaining_pairs).tolist()
        single_scores = [_score_pair(measure, rows[i], columns[j], (i, j)) for i, j in pairs]
        yield score_batch(measure.spec, measure.version, (), single_scores)
        return
    a, b = np.nonzero(todo[np.ix_(i, j)])
    places = list(zip(a.tolist(), b.tolist()))
    numbers = {name: matrix[a, b] for name, matrix in scores.diagnostics.items()}
    records = [measure.diagnostics(xs[k], ys[l]) for k, l in places]
    numbers |= {name: np.array([row[name] for row in records]) for name in records[0]}
    if measure.chance and CHANCE_KEY not in numbers:
        chances = [
            _pair_chance_level(measure, xs[k], ys[l]).get(CHANCE_KEY, math.nan) for k, l in places
        ]
        numbers[CHANCE_KEY] = np.array(chances)
    caveats_by_place = scores.caveats
    if caveats_by_place is None:
        caveats_by_place = {(k, l): measure.caveat(xs[k], ys[l]) for k, l in places}
    caveats = {
        e: caveats_by_place[place] for e, place in enumerate(places) if caveats_by_place.get(place)
    }
    values, seconds = scores.values[a, b], time.perf_counter() - start
    column = ScoreBatch(measure.spec, measure.version, (), i[a], j[b], values, seconds)
    yield column._replace(numbers=numbers, caveats=caveats)


def _batched_scores(
    measure: Measure, xs: Sequence[Representation], ys: Sequence[Representation]
) -> Scores | None:
    """Return the scores of all pairs of ``xs`` and ``ys``, computed together; None if a pair has
    no score or the measure has no function for many pairs."""
    if measure.all_pairs is None:
        return None
    try:
        for r in (*xs, *ys):
            measure.check_pair(xs[0], r)
        scores = measure.all_pairs(xs, ys)
        values, (low, high) = np.array(scores.values, dtype=np.float64), measure.range
        for place in map(tuple, np.argwhere(~((values >= low) & (values <= high)))):
            values[place] = clip_to_range(float(values[place]), measure, xs[0].dtype)
    except Exception as error:
        if failure_reason(error, measure, xs[0], ys[0]) is None:
            raise
        return None
    return scores._replace(values=values)


def _as_int32(positions: np.ndarray) -> np.ndarray:
    return positions.astype(np.int32)
