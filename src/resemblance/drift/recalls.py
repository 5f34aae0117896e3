"""Recalls of ways to ask an old index: measured, from a pool, or continued from a sample."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_numpy
from ..representation import as_representation
from ..rng import generator
from .advice import OVERSTATED, GroupRecall, Recall
from .retrieval import Rows, distances, lost, nearest, rows_of

FEWEST = 20  # queries of a group that is judged
POOL, DEPTHS = 200, (2, 5)  # queries with a pool of documents, at least; its depths, in neighbours
SAMPLE, PARTS = 50_000, (8, 4, 2, 1)  # documents for the curve at most, and shares of them
LEAST_SAMPLE = 1000  # documents for a curve
EQUALS = 0.05  # queries that may be documents by chance
# Squared distances below which two vectors are of one document: of that to the second nearest, and
# of that to the mean, where they were computed in two ways
SAME, ALIKE = 1e-4, 0.04
KNOWN = 20  # documents by which a function is checked that embeds them
BATCH = 4096  # documents embedded at a time

DOCUMENTS = "documents"  # among the ways to ask the index: those that are looked up in it
Ways = Mapping[str, np.ndarray]
ByWay = dict[str, Recall]
Curve = tuple[tuple[str, int, float], ...]
Tick = Callable[[float], None]


class Recalls(NamedTuple):
    """Recalls of each way by both truths, the share of the old answers that the new model changes,
    if known, and the recalls (way, documents, recall) that an estimate continues."""

    as_new: ByWay
    as_before: ByWay
    changed: float | None
    curve: Curve = ()


class Task(NamedTuple):
    """Documents by both models, the old index, queries by both models, and what is asked."""

    old: Rows
    new: Rows
    whole: Rows  # the index
    a: np.ndarray  # (q, d), queries by the old model
    b: np.ndarray  # (q, e), by the new one
    selves: np.ndarray  # (q,), which document a query is, -1 for none
    places: np.ndarray  # the same in the index
    groups: np.ndarray | None
    names: tuple[Hashable, ...]
    k: int
    level: float
    seed: int
    cautions: tuple[str, ...] = ()
    moved: tuple[int, ...] | None = None  # the order that columns of the new model were put in


def recalls_of(
    task: Task, ways: Ways, embed: Callable[[np.ndarray], Any] | None, tick: Tick
) -> Recalls:
    """Return the recalls of ways to ask the index, each an array of queries in its space."""
    is_whole = task.whole is task.old
    hits = _searched({"": task.a, **ways}, task.places, task.whole, task.k, tick, 0.6)
    true = hits.pop("")
    _check_own(task, true)
    before = {
        name: _recall(task, 1 - lost(task.a, true, rows, task.whole.take))
        for name, rows in hits.items()
    }
    if is_whole:
        best = _searched({"": task.b}, task.selves, task.new, task.k, tick, 0.4)[""]
        after = {
            name: _recall(task, 1 - lost(task.b, best, rows, task.new.take))
            for name, rows in hits.items()
        }
        return Recalls(after, before, float(lost(task.b, best, true, task.new.take).mean()))
    if embed is not None:
        if task.moved is not None:
            embed = _with_columns(embed, task.moved)
        pooled, changed = _pooled(task, ways, embed, tick)
        return Recalls(pooled, before, changed)
    sample = min(len(task.old.source), SAMPLE)
    if len(task.old.source) < LEAST_SAMPLE or sample // PARTS[0] < 2 * task.k:
        return Recalls({}, before, None)
    estimates, curve = _continued(task, ways, sample)
    return Recalls(estimates, before, None, curve)


def _searched(
    points: Ways, selves: np.ndarray, rows: Rows, k: int, tick: Tick, share: float
) -> dict[str, np.ndarray]:
    """Return the k nearest rows of the points of every way, in one pass over the rows."""
    n = len(rows.source)

    def blocks() -> Iterator[tuple[int, np.ndarray]]:
        for start, block in rows.blocks():
            yield start, block
            tick(share * len(block) / n)

    centre = rows.take(np.arange(min(n, BATCH))).mean(axis=0)
    sizes, nobody = [len(part) for part in points.values()], np.full(KNOWN, -1)
    alone = np.concatenate([nobody if name == DOCUMENTS else selves for name in points])
    hits = nearest(np.concatenate([*points.values()]), alone, blocks(), centre, k)
    return dict(zip(points, np.split(hits, np.cumsum(sizes)[:-1])))


def _check_own(task: Task, true: np.ndarray) -> None:
    """Raise ``ValueError`` if many queries are documents, whose own document would be found."""
    equal = int(_are_same(task.a, true, task.whole).sum())
    if equal > EQUALS * len(true):
        raise ValueError(
            f"upgrade: {equal} of {len(true)} queries equal a document, which they would find; "
            "give queries and documents ids, by which a query's own document is left out: "
            "rs.Representation(x, ids=...), or leave copies out"
        )


def _are_same(points: np.ndarray, near: np.ndarray, index: Rows) -> np.ndarray:
    """Say of which points one of their nearest rows is a copy, rounded otherwise perhaps."""
    apart = np.sort(distances(points, index.take(near)), axis=1)
    return np.asarray(apart[:, 0] <= SAME * apart[:, :2][:, -1])


def _recall(
    task: Task, values: np.ndarray, some: np.ndarray | None = None, hidden: float = 0.0
) -> Recall:
    """Return the mean over queries, ``some`` of them, with its interval and by group."""
    mean, half = float(values.mean()), _half(values, task.level)
    rows: list[GroupRecall] = []
    if task.groups is not None:
        groups = task.groups if some is None else task.groups[some]
        parts = [(task.names[g], values[groups == g]) for g in np.unique(groups)]
        assessed = sum(len(part) >= FEWEST for _, part in parts)
        level = 1 - (1 - task.level) / max(1, assessed)
        for name, part in parts:
            value, low = float(part.mean()), None
            if len(part) >= FEWEST:
                low = max(0.0, value - _half(part, level) - hidden)
            rows.append(GroupRecall(name, value, low, len(part)))
    low, high = max(0.0, mean - half - hidden), min(1.0, mean + half)
    return Recall(mean, low, high, len(values), tuple(rows), hidden)


def _half(values: np.ndarray, level: float) -> float:
    """Half the width of the interval of a mean.

    The variance has a floor, as equal recalls of few queries are no certainty.
    """
    from scipy.special import stdtrit

    n = len(values)
    error = np.sqrt((values.var(ddof=1) + 1 / n**2) / n)
    return float(stdtrit(n - 1, (1 + level) / 2) * error)


def _with_columns(
    embed: Callable[[np.ndarray], Any], order: tuple[int, ...]
) -> Callable[[np.ndarray], Any]:
    """Return a function that embeds documents with their columns in another order."""
    return lambda positions: to_numpy(embed(positions))[:, list(order)]


def _pooled(
    task: Task, ways: Ways, embed: Callable[[np.ndarray], Any], tick: Tick
) -> tuple[ByWay, float]:
    """Recall by what the new model would find, among the documents that any way returns from the
    old index at some depth, and the share of old answers that it changes."""
    size = max(POOL, 2 * FEWEST * len(task.names))
    some = np.sort(generator(task.seed, "pool", len(task.a)).permutation(len(task.a))[:size])
    depth = min(DEPTHS[-1] * task.k, len(task.whole.source) - 1)
    points = {"": task.a[some], **{name: way[some] for name, way in ways.items()}}
    documents = np.linspace(0, len(task.old.source) - 1, KNOWN).astype(int)
    points[DOCUMENTS] = task.old.take(documents)
    hits = {
        name: _sorted(points[name], rows, task.whole)
        for name, rows in _searched(points, task.places[some], task.whole, depth, tick, 0.3).items()
    }
    _check_embed(task, embed, documents, hits.pop(DOCUMENTS))
    asked = {name: rows if name != "keep" else rows[:, : task.k] for name, rows in hits.items()}
    pool = np.unique(np.concatenate([rows.ravel() for rows in asked.values()]))
    vectors = _embedded(embed, pool, task.b.shape[1])

    def take(rows: np.ndarray) -> np.ndarray:
        return vectors[np.searchsorted(pool, rows)]

    shares = []
    for multiple in DEPTHS:
        parts = [rows[:, : multiple * task.k].ravel() for rows in asked.values()]
        inside = np.unique(np.concatenate(parts))
        place = np.searchsorted(inside, task.places[some]).clip(max=len(inside) - 1)
        selves = np.where(inside[place] == task.places[some], place, -1)
        centre = vectors.mean(axis=0)
        best = inside[nearest(task.b[some], selves, [(0, take(inside))], centre, task.k)]
        shares.append(
            {
                name: 1 - lost(task.b[some], best, rows[:, : task.k], take)
                for name, rows in hits.items()
            }
        )
    shallow, deep = shares
    recalls = {
        name: _recall(task, deep[name], some, max(0.0, float((shallow[name] - deep[name]).mean())))
        for name in ways
    }
    return recalls, float(1 - deep[""].mean())


def _check_embed(
    task: Task, embed: Callable[[np.ndarray], Any], documents: np.ndarray, near: np.ndarray
) -> None:
    """Raise ``ValueError`` if a function gives other vectors of documents, found in the index, than
    those by the new model."""
    places, old, new = near[:, 0], task.old.take(documents), task.new.take(documents)
    asked, back = np.unique(places, return_inverse=True)
    vectors = _embedded(embed, asked, task.b.shape[1])[back]
    if _are_alike(vectors, task.whole.take(places)).mean() > 0.5 > _are_alike(new, old).mean():
        raise ValueError(
            "upgrade: embed returned the old vectors of the index; it must embed documents by the "
            "new model"
        )
    is_there = _are_same(old, near, task.whole)
    others = ~_are_alike(vectors, new)[is_there]
    if others.any() and others.mean() > 0.5:
        raise ValueError(
            f"upgrade: embed gives other vectors than new has for {others.sum()} of {len(others)} "
            "documents that are in the index; it must embed the documents at the positions of the "
            "index that it is given, by the new model, and normalise vectors if new does"
        )


def _are_alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Say which rows of a are those of b, computed with other batches or in another precision."""
    if a.shape != b.shape:
        return np.zeros(len(a), bool)
    return np.asarray(((a - b) ** 2).sum(axis=1) <= ALIKE * ((b - b.mean(axis=0)) ** 2).sum(axis=1))


def _sorted(points: np.ndarray, rows: np.ndarray, index: Rows) -> np.ndarray:
    """Return rows in order of their distance to the points, the nearest first."""
    order = [
        np.argsort(distances(points[i : i + 1], index.take(rows[i : i + 1]))[0], kind="stable")
        for i in range(len(points))
    ]
    return np.take_along_axis(rows, np.array(order), axis=1)


def _embedded(embed: Callable[[np.ndarray], Any], rows: np.ndarray, width: int) -> np.ndarray:
    """Return the new vectors of documents, which a user's function embeds in batches."""
    parts = []
    for part in np.split(rows, range(BATCH, len(rows), BATCH)):
        vectors = as_representation(embed(part.copy()), "what embed returned")
        if vectors.shape != (len(part), width):
            raise ValueError(
                f"upgrade: embed must return one new vector for each position, "
                f"{(len(part), width)}; got {vectors.shape}"
            )
        parts.append(rows_of(vectors).take(np.arange(len(part))))
    return np.concatenate(parts)


def _continued(task: Task, ways: Ways, sample: int) -> tuple[ByWay, Curve]:
    """Recall by what the new model finds among ever more of the documents, and its continuation to
    the size of the index."""
    n = len(task.old.source)
    order = generator(task.seed, "documents", n).permutation(n)[:sample]
    curve, values = [], dict[str, np.ndarray]()
    for count in (sample // part for part in PARTS):
        rows = np.sort(order[:count])
        old, new = task.old.take(rows), task.new.take(rows)
        place = np.searchsorted(rows, task.selves).clip(max=count - 1)
        selves = np.where(rows[place] == task.selves, place, -1)
        best = nearest(task.b, selves, [(0, new)], new.mean(axis=0), task.k)
        for name, points in ways.items():
            hits = nearest(points, selves, [(0, old)], old.mean(axis=0), task.k)
            values[name] = 1 - lost(task.b, best, hits, new.__getitem__)
            curve.append((name, count, float(values[name].mean())))
    recalls = {}
    for name in ways:
        sizes, means = zip(*((count, mean) for way, count, mean in curve if way == name))
        value, half = larger(sizes, means, len(task.whole.source)), _half(values[name], task.level)
        low, high = max(0.0, value - half - OVERSTATED), min(1.0, value + half)
        recalls[name] = Recall(value, low, high, len(task.a))
        curve.append((name, len(task.whole.source), value))
    return recalls, tuple(curve)


def larger(sizes: Sequence[int], values: Sequence[float], size: int) -> float:
    """Return the recall expected in an index of some size: its logit is a line in log size."""
    shares = np.clip(values, 1e-3, 1 - 1e-3)
    slope, level = np.polyfit(np.log(sizes), np.log(shares / (1 - shares)), 1)
    return float(1 / (1 + np.exp(-(level + slope * np.log(size)))))
