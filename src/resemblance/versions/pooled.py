"""Recalls of options for a large index, from a pool of its documents that are re-embedded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.rng import generator
from ..data.representation import as_representation
from .index_options import CANDIDATES, OLD, rerank_name
from .index_search import Tick, are_right, recall_within, search, search_blocks
from .recalls import (
    ByOption,
    Hits,
    Recalls,
    are_same,
    as_before,
    check_own,
    found_by,
    recall_of,
    sample_gain,
)
from .retrieval import middle
from .upgrade_inputs import FEWEST, Task
from .ways import Ways

POOL, DEPTHS = 200, (2, 5)  # queries with a pool of documents, at least; its depths, in neighbours
# Of the squared distance to the mean: below, two vectors are of one document in two precisions
ALIKE = 0.04
KNOWN = 20  # documents by which a function is checked that embeds them
BATCH = 4096  # documents embedded at a time
Embed = Callable[[np.ndarray], Any]


def pooled(task: Task, ways: Ways, embed: Embed, tick: Tick) -> Recalls:
    """Return recalls by what the new model would find, among the documents that any way returns
    from the old index at some depth."""
    hits = found_by(task, ways.ways, task.k, tick, 0.4)
    true = hits[OLD]
    check_own(task, true)
    before = as_before(task, hits, true)
    size = max(POOL, 2 * FEWEST * len(task.names))
    some = np.sort(generator(task.seed, "pool", len(task.a)).permutation(len(task.a))[:size])
    depth = min(DEPTHS[-1] * task.k, len(task.whole.source) - 1)
    _check_embed(task, embed)
    deep = found_by(task, ways.ways, depth, tick, 0.4, some)
    after, changed = _from_pool(task, embed, deep, some)
    if task.relevant is None:
        return Recalls(after, before, changed)
    best = search(task.b, task.selves, task.new, task.k, task.metric)
    return Recalls(after, before, changed, (), sample_gain(task, best))


def _from_pool(task: Task, embed: Embed, hits: Hits, some: np.ndarray) -> tuple[ByOption, float]:
    """Return the recalls of options, and the share of old answers that the new model changes."""
    asked = {name: rows if name != "keep" else rows[:, : task.k] for name, rows in hits.items()}
    pool = np.unique(np.concatenate([rows.ravel() for rows in asked.values()]))
    vectors = _embedded(task, embed, pool)

    def take(rows: np.ndarray) -> np.ndarray:
        return vectors[np.searchsorted(pool, rows)]

    values: list[dict[str, np.ndarray]] = []
    for multiple in DEPTHS:
        parts = [rows[:, : multiple * task.k].ravel() for rows in asked.values()]
        inside = np.unique(np.concatenate(parts))
        place = np.searchsorted(inside, task.places[some]).clip(max=len(inside) - 1)
        selves = np.where(inside[place] == task.places[some], place, -1)
        blocks = [(0, take(inside))]
        near = search_blocks(task.b[some], selves, blocks, middle(vectors), task.k, task.metric)
        of_depth: dict[str, np.ndarray] = {}
        for name, rows in asked.items():
            right = are_right(task.b[some], inside[near], rows, take, task.metric)
            of_depth[name] = recall_within(right, task.k, task.k)
            for count in CANDIDATES:
                if task.k < count <= rows.shape[1]:
                    of_depth[rerank_name(name, count)] = recall_within(right, count, task.k)
        values.append(of_depth)
    shallow, deep = values
    recalls = {
        name: recall_of(
            task, deep[name], some, max(0.0, float((shallow[name] - deep[name]).mean()))
        )
        for name in deep
        if name != OLD
    }
    return recalls, float(1 - deep[OLD].mean())


def _check_embed(task: Task, embed: Embed) -> None:
    """Raise ``ValueError`` if a function gives other vectors of documents, found in the index, than
    those by the new model."""
    documents = np.linspace(0, len(task.old.source) - 1, KNOWN).astype(int)
    old, new = task.old.take(documents), task.new.take(documents)
    near = search(old, np.full(KNOWN, -1), task.whole, 2, "euclidean")
    places = near[:, 0]
    asked, back = np.unique(places, return_inverse=True)
    vectors = _embedded(task, embed, asked)[back]
    if _are_alike(vectors, task.whole.take(places)).mean() > 0.5 > _are_alike(new, old).mean():
        raise ValueError(
            "upgrade: embed returned the old vectors of the index; it must embed documents by the "
            "new model"
        )
    is_there = are_same(old, near, task.whole)
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


def _embedded(task: Task, embed: Embed, rows: np.ndarray) -> np.ndarray:
    """Return the new vectors of documents, which a user's function embeds in batches."""
    parts, width = [], task.new.width
    for part in np.split(rows, range(BATCH, len(rows), BATCH)):
        vectors = as_representation(embed(part.copy()), "what embed returned")
        if vectors.shape != (len(part), width):
            raise ValueError(
                f"upgrade: embed must return one new vector for each position, "
                f"{(len(part), width)}; got {vectors.shape}"
            )
        parts.append(task.new_rows(vectors).take(np.arange(len(part))))
    return np.concatenate(parts)
