"""Recalls of options for an old index: measured among all documents, or continued from a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.rng import generator
from .advice import OVERSTATED
from .index_options import CANDIDATES, OLD, PARTS, GroupRecall, Recall, part_name, rerank_name
from .index_search import Tick, are_right, recall_within, search, search_blocks
from .relevance import Gain, shares
from .retrieval import distances, middle
from .stored import Stored
from .upgrade_inputs import FEWEST, Task
from .ways import Way, Ways, partly

SAMPLE, SHARES = 50_000, (8, 4, 2, 1)  # documents for the curve at most, and shares of them
LEAST_SAMPLE = 1000  # documents for a curve
EQUALS = 0.05  # queries that may be documents by chance
SAME = 1e-4  # of the squared distance to the second nearest: below, two vectors are of one document

ByOption = dict[str, Recall]
Curve = tuple[tuple[str, int, float], ...]
Hits = dict[str, np.ndarray]


class Recalls(NamedTuple):
    """Recalls of each option by both truths, the share of the old answers that the new model
    changes, if known, the recalls (way, documents, recall) that an estimate continues, and what the
    new model gains."""

    as_new: ByOption
    as_before: ByOption
    changed: float | None
    curve: Curve = ()
    gain: Gain | None = None


def measured(task: Task, ways: Ways, tick: Tick) -> Recalls:
    """Return the recalls of all options among the documents, which are the whole index."""
    depth = min(max(CANDIDATES), len(task.old.source) - 1)
    hits = found_by(task, ways.ways, depth, tick, 0.6)
    true = hits[OLD][:, : task.k]
    check_own(task, true)
    best = search(task.b, task.selves, task.new, task.k, task.metric, lambda s: tick(0.2 * s))
    after = reranked(task, hits, best, task.new.take)
    before = as_before(task, hits, true)
    before["re-embed"] = _answers(task, task.a, true, best, task.whole)
    for name, retrieved in _parts(task, ways, tick):
        after[name] = _answers(task, task.b, best, retrieved, task.new)
        before[name] = _answers(task, task.a, true, retrieved, task.whole)
    changed = 1 - within(task, hits[OLD], best).mean()
    return Recalls(after, before, float(changed), (), gain_of(task, true, best))


def found_by(
    task: Task, ways: Mapping[str, Way], depth: int, tick: Tick, share: float, some: Any = None
) -> Hits:
    """Return the nearest documents by every way, and by old queries; ways of the same stored
    vectors share a pass over them. ``some``: the queries asked, all without it."""
    rows = np.arange(len(task.a)) if some is None else some
    all_ways = {OLD: Way(task.a), **ways}
    passes: dict[int, list[str]] = {}
    for name, way in all_ways.items():
        passes.setdefault(id(way.change), []).append(name)
    hits: Hits = {}
    for names in passes.values():
        points = np.concatenate([all_ways[name].points[rows] for name in names])
        selves = np.tile(task.places[rows], len(names))
        stored = all_ways[names[0]].stored(task)
        retrieved = search(
            points, selves, stored, depth, task.metric, lambda s: tick(share * s / len(passes))
        )
        hits |= dict(zip(names, np.split(retrieved, len(names))))
    return hits


def within(task: Task, retrieved: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the share of the new model's answers among the first k documents of each query."""
    right = are_right(task.b, best, retrieved[:, : task.k], task.new.take, task.metric)
    return recall_within(right, task.k, task.k)


def reranked(
    task: Task,
    hits: Hits,
    best: np.ndarray,
    take: Callable[[np.ndarray], np.ndarray],
    some: np.ndarray | None = None,
) -> ByOption:
    """Return the recall of the new model's answers by every way, and among its candidates."""
    recalls: ByOption = {}
    points = task.b if some is None else task.b[some]
    for name, retrieved in hits.items():
        right = are_right(points, best, retrieved, take, task.metric)
        if name != OLD:
            recalls[name] = recall_of(task, recall_within(right, task.k, task.k), some)
        for count in CANDIDATES:
            if task.k < count <= retrieved.shape[1]:
                values = recall_within(right, count, task.k)
                recalls[rerank_name(name, count)] = recall_of(task, values, some)
    return recalls


def as_before(task: Task, hits: Hits, true: np.ndarray) -> ByOption:
    """Return the recall of the old model's answers by every way."""
    return {
        name: _answers(task, task.a, true, retrieved[:, : task.k], task.whole)
        for name, retrieved in hits.items()
        if name != OLD
    }


def _answers(
    task: Task, points: np.ndarray, true: np.ndarray, retrieved: np.ndarray, rows: Stored
) -> Recall:
    right = are_right(points, true, retrieved, rows.take, task.metric)
    return recall_of(task, recall_within(right, task.k, task.k))


def _parts(task: Task, ways: Ways, tick: Tick) -> list[tuple[str, np.ndarray]]:
    """Return what new queries find where a part of the documents is re-embedded and the others are
    mapped: first those to which the map was fitted."""
    names = [name for name in ways.maps if name.startswith("documents")]
    n = len(task.old.source)
    if not names:
        return []
    others = np.setdiff1d(np.arange(n), ways.half)
    random = generator(task.seed, "part", n)
    order = np.concatenate([random.permutation(ways.half), random.permutation(others)])
    retrieved = []

    def portion(of_rows: float) -> None:
        tick(0.2 / len(PARTS) * of_rows)

    for share in PARTS:
        again = np.sort(order[: round(share * n)])
        if len(np.intersect1d(again, ways.free)) >= FEWEST:
            rows = partly(task, names, again, ways.free)
            hits = search(task.b, task.selves, rows, task.k, task.metric, portion)
            retrieved.append((part_name(share), hits))
    return retrieved


def gain_of(task: Task, true: np.ndarray, best: np.ndarray) -> Gain | None:
    """Return what the new model gains in relevant documents, None where none are named."""
    if task.relevant is None:
        return None
    old, new = (shares(task.relevant, retrieved) for retrieved in (true, best))
    low, high = (2 * end - 1 for end in bounds((new - old + 1) / 2, task.level))
    difference = float((new - old).mean())
    return Gain(float(old.mean()), float(new.mean()), difference, low, high, len(old))


def check_own(task: Task, true: np.ndarray) -> None:
    """Raise ``ValueError`` if many queries are documents, whose own document would be found."""
    equal = int(are_same(task.a, true, task.whole).sum())
    if equal > EQUALS * len(true):
        raise ValueError(
            f"upgrade: {equal} of {len(true)} queries equal a document, which they would find; "
            "give queries and documents ids, by which a query's own document is left out: "
            "rs.Representation(x, ids=...), or leave copies out"
        )


def are_same(points: np.ndarray, near: np.ndarray, index: Stored) -> np.ndarray:
    """Say of which points one of their nearest rows is a copy, rounded otherwise perhaps."""
    apart = np.sort(distances(points, index.take(near)), axis=1)
    return np.asarray(apart[:, 0] <= SAME * apart[:, :2][:, -1])


# --------------------------------------------------------------------------------------- intervals


def recall_of(
    task: Task, values: np.ndarray, some: np.ndarray | None = None, hidden: float = 0.0
) -> Recall:
    """Return the mean over queries, ``some`` of them, with its interval and by group."""
    rows: list[GroupRecall] = []
    if task.groups is not None:
        groups = task.groups if some is None else task.groups[some]
        parts = [(task.names[g], values[groups == g]) for g in np.unique(groups)]
        assessed = sum(len(part) >= FEWEST for _, part in parts)
        level = 1 - (1 - task.level) / max(1, assessed)
        for name, part in parts:
            is_enough = len(part) >= FEWEST
            low = max(0.0, bounds(part, level)[0] - hidden) if is_enough else None
            rows.append(GroupRecall(name, float(part.mean()), low, len(part)))
    low, high = bounds(values, task.level)
    return Recall(
        float(values.mean()), max(0.0, low - hidden), high, len(values), tuple(rows), hidden
    )


def bounds(values: np.ndarray, level: float) -> tuple[float, float]:
    """Return the ends of an interval of a mean of shares.

    The lower end is that of Student's t after one more query of recall 0, the upper end after one
    more of recall 1: a rare kind of query that fails may be missing among few queries.
    """
    from scipy.special import stdtrit

    ends = []
    for side, added in ((-1, 0.0), (1, 1.0)):
        more = np.append(values, added)
        half = stdtrit(len(values), (1 + level) / 2) * more.std(ddof=1) / np.sqrt(len(more))
        ends.append(float(np.clip(more.mean() + side * half, 0.0, 1.0)))
    return ends[0], ends[1]


# --------------------------------------------------------------------------------------- estimates


def continued(task: Task, ways: Ways, tick: Tick) -> Recalls:
    """Return recalls of the old model's answers, and those of the new model's answers continued
    from the documents by both models to the size of the index."""
    hits = found_by(task, ways.ways, task.k, tick, 0.6)
    true = hits[OLD]
    check_own(task, true)
    before = as_before(task, hits, true)
    best = search(task.b, task.selves, task.new, task.k, task.metric, lambda s: tick(0.1 * s))
    sample = min(len(task.old.source), SAMPLE)
    gain = sample_gain(task, best)
    if len(task.old.source) < LEAST_SAMPLE or sample // SHARES[0] < 2 * task.k:
        return Recalls({}, before, None, (), gain)
    after, curve = _estimates(task, ways, sample)
    return Recalls(after, before, None, curve, gain)


def sample_gain(task: Task, best: np.ndarray) -> Gain | None:
    """Return what the new model gains among the documents by both models."""
    if task.relevant is None:
        return None
    true = search(task.a, task.selves, task.old, task.k, task.metric)
    return gain_of(task, true, best)


def _estimates(task: Task, ways: Ways, sample: int) -> tuple[ByOption, Curve]:
    """Recall by what the new model finds among ever more of the documents, and its continuation to
    the size of the index."""
    n, size = len(task.old.source), len(task.whole.source)
    order = generator(task.seed, "documents", n).permutation(n)[:sample]
    counts = [sample // part for part in SHARES]
    depth = min(max(CANDIDATES), counts[0] // 2)
    means: dict[str, list[float]] = {}
    values: dict[str, np.ndarray] = {}
    for count in counts:
        values = _among(task, ways, np.sort(order[:count]), depth)
        for name, of_queries in values.items():
            means.setdefault(name, []).append(float(of_queries.mean()))
    recalls: ByOption = {}
    for name, of_sizes in means.items():
        value, last = larger(counts, of_sizes, size), of_sizes[-1]
        low, high = bounds(values[name], task.level)
        low, high = max(0.0, value - last + low - OVERSTATED), min(1.0, value - last + high)
        recalls[name] = Recall(value, low, high, len(task.a))
    curve = [(name, count, mean) for name in ways.ways for count, mean in zip(counts, means[name])]
    curve += [(name, size, recalls[name].value) for name in ways.ways]
    return recalls, tuple(curve)


def _among(task: Task, ways: Ways, rows: np.ndarray, depth: int) -> dict[str, np.ndarray]:
    """Return, among some documents by both models, the recalls of queries by every option."""
    old, new, k = task.old.take(rows), task.new.take(rows), task.k
    place = np.searchsorted(rows, task.selves).clip(max=len(rows) - 1)
    selves = np.where(rows[place] == task.selves, place, -1)

    def look(points: np.ndarray, stored: np.ndarray, count: int) -> np.ndarray:
        return search_blocks(points, selves, [(0, stored)], middle(stored), count, task.metric)

    best = look(task.b, new, k)
    values = {}
    for name, way in {OLD: Way(task.a), **ways.ways}.items():
        stored = old if way.change is None else way.change.of_documents(old, rows)
        right = are_right(
            task.b, best, look(way.points, stored, depth), new.__getitem__, task.metric
        )
        if name != OLD:
            values[name] = recall_within(right, k, k)
        for count in CANDIDATES:
            if k < count <= depth:
                values[rerank_name(name, count)] = recall_within(right, count, k)
    return values


def larger(sizes: Sequence[int], values: Sequence[float], size: int) -> float:
    """Return the recall expected in an index of some size: its logit is a line in log size."""
    logits = np.clip(values, 1e-3, 1 - 1e-3)
    slope, level = np.polyfit(np.log(sizes), np.log(logits / (1 - logits)), 1)
    return float(1 / (1 + np.exp(-(level + slope * np.log(size)))))
