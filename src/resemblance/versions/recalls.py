"""Recalls of options for an old index: measured among all documents, or continued from a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.rng import generator
from .advice import MAX_EXTRAPOLATION_EXCESS
from .index_options import (
    CANDIDATE_COUNTS,
    OLD_QUERIES,
    REEMBEDDED_SHARES,
    GroupRecall,
    Recall,
    part_option_name,
    rerank_option_name,
)
from .index_search import (
    SearchProgress,
    match_true_neighbors,
    recall_at_count,
    search_blocks,
    search_nearest_rows,
)
from .relevance import RelevanceGain, relevant_recalls
from .retrieval import column_medians, squared_distances_to_rows
from .stored import StoredRows
from .upgrade_inputs import MIN_QUERIES, UpgradeTask
from .ways import ServingMethod, ServingMethods, partially_reembedded_rows

MAX_CURVE_DOCUMENTS, CURVE_FRACTIONS = (
    50_000,
    (8, 4, 2, 1),
)  # documents for the curve at most, and shares of them
MIN_CURVE_DOCUMENTS = 1000  # documents for a curve
MAX_OWN_DOCUMENT_SHARE = 0.05  # queries that may be documents by chance
# of the squared distance to the second nearest: below, two vectors are of one document
COPY_TOLERANCE = 1e-4

RecallByOption = dict[str, Recall]
RecallCurve = tuple[tuple[str, int, float], ...]
HitsByMethod = dict[str, np.ndarray]


class OptionRecalls(NamedTuple):
    """Recalls of each option by both truths, the share of the old answers that the new model
    changes, if known, the recalls (way, documents, recall) that an estimate continues, and what the
    new model gains."""

    new_model: RecallByOption
    old_model: RecallByOption
    changed: float | None
    curve: RecallCurve = ()
    gain: RelevanceGain | None = None


def measure_recalls(task: UpgradeTask, ways: ServingMethods, tick: SearchProgress) -> OptionRecalls:
    """Return the recalls of all options among the documents, which are the whole index."""
    depth = min(max(CANDIDATE_COUNTS), len(task.old.source) - 1)
    hits = search_by_methods(task, ways.ways, depth, tick, 0.6)
    true = hits[OLD_QUERIES][:, : task.k]
    check_no_own_documents(task, true)
    best = search_nearest_rows(
        task.b, task.selves, task.new, task.k, task.metric, lambda s: tick(0.2 * s)
    )
    after = reranked_recalls(task, hits, best, task.new.take)
    before = old_answer_recalls(task, hits, true)
    before["re-embed"] = _answer_recall(task, task.a, true, best, task.whole)
    for name, retrieved in _partial_reembedding_hits(task, ways, tick):
        after[name] = _answer_recall(task, task.b, best, retrieved, task.new)
        before[name] = _answer_recall(task, task.a, true, retrieved, task.whole)
    changed = 1 - new_answer_shares(task, hits[OLD_QUERIES], best).mean()
    return OptionRecalls(
        after, before, float(changed), (), measure_relevance_gain(task, true, best)
    )


def search_by_methods(
    task: UpgradeTask,
    ways: Mapping[str, ServingMethod],
    depth: int,
    tick: SearchProgress,
    share: float,
    some: Any = None,
) -> HitsByMethod:
    """Return the nearest documents by every way, and by old queries; ways of the same stored
    vectors share a pass over them. ``some``: the queries asked, all without it."""
    rows = np.arange(len(task.a)) if some is None else some
    all_ways = {OLD_QUERIES: ServingMethod(task.a), **ways}
    passes: dict[int, list[str]] = {}
    for name, way in all_ways.items():
        passes.setdefault(id(way.change), []).append(name)
    hits: HitsByMethod = {}
    for names in passes.values():
        points = np.concatenate([all_ways[name].points[rows] for name in names])
        selves = np.tile(task.places[rows], len(names))
        stored = all_ways[names[0]].stored(task)
        retrieved = search_nearest_rows(
            points, selves, stored, depth, task.metric, lambda s: tick(share * s / len(passes))
        )
        hits |= dict(zip(names, np.split(retrieved, len(names))))
    return hits


def new_answer_shares(task: UpgradeTask, retrieved: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the share of the new model's answers among the first k documents of each query."""
    right = match_true_neighbors(task.b, best, retrieved[:, : task.k], task.new.take, task.metric)
    return recall_at_count(right, task.k, task.k)


def reranked_recalls(
    task: UpgradeTask,
    hits: HitsByMethod,
    best: np.ndarray,
    take: Callable[[np.ndarray], np.ndarray],
    some: np.ndarray | None = None,
) -> RecallByOption:
    """Return the recall of the new model's answers by every way, and among its candidates."""
    recalls: RecallByOption = {}
    points = task.b if some is None else task.b[some]
    for name, retrieved in hits.items():
        right = match_true_neighbors(points, best, retrieved, take, task.metric)
        if name != OLD_QUERIES:
            recalls[name] = summarize_recall(task, recall_at_count(right, task.k, task.k), some)
        for count in CANDIDATE_COUNTS:
            if task.k < count <= retrieved.shape[1]:
                values = recall_at_count(right, count, task.k)
                recalls[rerank_option_name(name, count)] = summarize_recall(task, values, some)
    return recalls


def old_answer_recalls(task: UpgradeTask, hits: HitsByMethod, true: np.ndarray) -> RecallByOption:
    """Return the recall of the old model's answers by every way."""
    return {
        name: _answer_recall(task, task.a, true, retrieved[:, : task.k], task.whole)
        for name, retrieved in hits.items()
        if name != OLD_QUERIES
    }


def _answer_recall(
    task: UpgradeTask, points: np.ndarray, true: np.ndarray, retrieved: np.ndarray, rows: StoredRows
) -> Recall:
    right = match_true_neighbors(points, true, retrieved, rows.take, task.metric)
    return summarize_recall(task, recall_at_count(right, task.k, task.k))


def _partial_reembedding_hits(
    task: UpgradeTask, ways: ServingMethods, tick: SearchProgress
) -> list[tuple[str, np.ndarray]]:
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
        tick(0.2 / len(REEMBEDDED_SHARES) * of_rows)

    for share in REEMBEDDED_SHARES:
        again = np.sort(order[: round(share * n)])
        if len(np.intersect1d(again, ways.free)) >= MIN_QUERIES:
            rows = partially_reembedded_rows(task, names, again, ways.free)
            hits = search_nearest_rows(task.b, task.selves, rows, task.k, task.metric, portion)
            retrieved.append((part_option_name(share), hits))
    return retrieved


def measure_relevance_gain(
    task: UpgradeTask, true: np.ndarray, best: np.ndarray
) -> RelevanceGain | None:
    """Return what the new model gains in relevant documents, None where none are named."""
    if task.relevant is None:
        return None
    old, new = (relevant_recalls(task.relevant, retrieved) for retrieved in (true, best))
    low, high = (
        2 * end - 1 for end in mean_share_interval((new - old + 1) / 2, task.confidence_level)
    )
    difference = float((new - old).mean())
    return RelevanceGain(float(old.mean()), float(new.mean()), difference, low, high, len(old))


def check_no_own_documents(task: UpgradeTask, true: np.ndarray) -> None:
    """Raise ``ValueError`` if many queries are documents, whose own document would be found."""
    equal = int(have_copy_among_nearest(task.a, true, task.whole).sum())
    if equal > MAX_OWN_DOCUMENT_SHARE * len(true):
        raise ValueError(
            f"upgrade_index: {equal} of {len(true)} queries equal a document, which they would "
            "find; give queries and documents ids, by which a query's own document is left out: "
            "rs.Representation(x, ids=...), or leave copies out"
        )


def have_copy_among_nearest(points: np.ndarray, near: np.ndarray, index: StoredRows) -> np.ndarray:
    """Say of which points one of their nearest rows is a copy, rounded otherwise perhaps."""
    apart = np.sort(squared_distances_to_rows(points, index.take(near)), axis=1)
    return np.asarray(apart[:, 0] <= COPY_TOLERANCE * apart[:, :2][:, -1])


# --------------------------------------------------------------------------------------- intervals


def summarize_recall(
    task: UpgradeTask, values: np.ndarray, some: np.ndarray | None = None, hidden: float = 0.0
) -> Recall:
    """Return the mean over queries, ``some`` of them, with its interval and by group."""
    rows: list[GroupRecall] = []
    if task.groups is not None:
        groups = task.groups if some is None else task.groups[some]
        parts = [(task.names[g], values[groups == g]) for g in np.unique(groups)]
        assessed = sum(len(part) >= MIN_QUERIES for _, part in parts)
        confidence_level = 1 - (1 - task.confidence_level) / max(1, assessed)
        for name, part in parts:
            is_enough = len(part) >= MIN_QUERIES
            low = (
                max(0.0, mean_share_interval(part, confidence_level)[0] - hidden)
                if is_enough
                else None
            )
            rows.append(GroupRecall(name, float(part.mean()), low, len(part)))
    low, high = mean_share_interval(values, task.confidence_level)
    return Recall(
        float(values.mean()), max(0.0, low - hidden), high, len(values), tuple(rows), hidden
    )


def mean_share_interval(values: np.ndarray, confidence_level: float) -> tuple[float, float]:
    """Return the ends of an interval of a mean of shares.

    The lower end is that of Student's t after one more query of recall 0, the upper end after one
    more of recall 1: a rare kind of query that fails may be missing among few queries.
    """
    from scipy.special import stdtrit

    ends = []
    for side, added in ((-1, 0.0), (1, 1.0)):
        more = np.append(values, added)
        half = (
            stdtrit(len(values), (1 + confidence_level) / 2) * more.std(ddof=1) / np.sqrt(len(more))
        )
        ends.append(float(np.clip(more.mean() + side * half, 0.0, 1.0)))
    return ends[0], ends[1]


# --------------------------------------------------------------------------------------- estimates


def extrapolate_recalls(
    task: UpgradeTask, ways: ServingMethods, tick: SearchProgress
) -> OptionRecalls:
    """Return recalls of the old model's answers, and those of the new model's answers continued
    from the documents by both models to the size of the index."""
    hits = search_by_methods(task, ways.ways, task.k, tick, 0.6)
    true = hits[OLD_QUERIES]
    check_no_own_documents(task, true)
    before = old_answer_recalls(task, hits, true)
    best = search_nearest_rows(
        task.b, task.selves, task.new, task.k, task.metric, lambda s: tick(0.1 * s)
    )
    sample = min(len(task.old.source), MAX_CURVE_DOCUMENTS)
    gain = sample_relevance_gain(task, best)
    if len(task.old.source) < MIN_CURVE_DOCUMENTS or sample // CURVE_FRACTIONS[0] < 2 * task.k:
        return OptionRecalls({}, before, None, (), gain)
    after, curve = _recall_estimates(task, ways, sample)
    return OptionRecalls(after, before, None, curve, gain)


def sample_relevance_gain(task: UpgradeTask, best: np.ndarray) -> RelevanceGain | None:
    """Return what the new model gains among the documents by both models."""
    if task.relevant is None:
        return None
    true = search_nearest_rows(task.a, task.selves, task.old, task.k, task.metric)
    return measure_relevance_gain(task, true, best)


def _recall_estimates(
    task: UpgradeTask, ways: ServingMethods, sample: int
) -> tuple[RecallByOption, RecallCurve]:
    """Recall by what the new model finds among ever more of the documents, and its continuation to
    the size of the index."""
    n, size = len(task.old.source), len(task.whole.source)
    order = generator(task.seed, "documents", n).permutation(n)[:sample]
    counts = [sample // part for part in CURVE_FRACTIONS]
    depth = min(max(CANDIDATE_COUNTS), counts[0] // 2)
    means: dict[str, list[float]] = {}
    values: dict[str, np.ndarray] = {}
    for count in counts:
        values = _recalls_among_documents(task, ways, np.sort(order[:count]), depth)
        for name, of_queries in values.items():
            means.setdefault(name, []).append(float(of_queries.mean()))
    recalls: RecallByOption = {}
    for name, of_sizes in means.items():
        value, last = recall_at_index_size(counts, of_sizes, size), of_sizes[-1]
        low, high = mean_share_interval(values[name], task.confidence_level)
        low, high = (
            max(0.0, value - last + low - MAX_EXTRAPOLATION_EXCESS),
            min(1.0, value - last + high),
        )
        recalls[name] = Recall(value, low, high, len(task.a))
    curve = [(name, count, mean) for name in ways.ways for count, mean in zip(counts, means[name])]
    curve += [(name, size, recalls[name].value) for name in ways.ways]
    return recalls, tuple(curve)


def _recalls_among_documents(
    task: UpgradeTask, ways: ServingMethods, rows: np.ndarray, depth: int
) -> dict[str, np.ndarray]:
    """Return, among some documents by both models, the recalls of queries by every option."""
    old, new, k = task.old.take(rows), task.new.take(rows), task.k
    place = np.searchsorted(rows, task.selves).clip(max=len(rows) - 1)
    selves = np.where(rows[place] == task.selves, place, -1)

    def look(points: np.ndarray, stored: np.ndarray, count: int) -> np.ndarray:
        return search_blocks(
            points, selves, [(0, stored)], column_medians(stored), count, task.metric
        )

    best = look(task.b, new, k)
    values = {}
    for name, way in {OLD_QUERIES: ServingMethod(task.a), **ways.ways}.items():
        stored = old if way.change is None else way.change.of_documents(old, rows)
        right = match_true_neighbors(
            task.b, best, look(way.points, stored, depth), new.__getitem__, task.metric
        )
        if name != OLD_QUERIES:
            values[name] = recall_at_count(right, k, k)
        for count in CANDIDATE_COUNTS:
            if k < count <= depth:
                values[rerank_option_name(name, count)] = recall_at_count(right, count, k)
    return values


def recall_at_index_size(sizes: Sequence[int], values: Sequence[float], size: int) -> float:
    """Return the recall expected in an index of some size: its logit is a line in log size."""
    logits = np.clip(values, 1e-3, 1 - 1e-3)
    slope, confidence_level = np.polyfit(np.log(sizes), np.log(logits / (1 - logits)), 1)
    return float(1 / (1 + np.exp(-(confidence_level + slope * np.log(size)))))
