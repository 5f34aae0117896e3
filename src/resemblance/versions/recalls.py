"""Recalls of options for an old index: measured among all documents, or extrapolated from a
sample."""

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

# Most documents for the curve, and the divisors of the number of documents.
MAX_CURVE_DOCUMENTS, CURVE_FRACTIONS = (50_000, (8, 4, 2, 1))
MIN_CURVE_DOCUMENTS = 1000  # documents for a curve
MAX_OWN_DOCUMENT_SHARE = 0.05  # largest share of queries that may equal documents by chance
# share of the squared distance to the second nearest row; a closer row is a copy
COPY_TOLERANCE = 1e-4

RecallByOption = dict[str, Recall]
RecallCurve = tuple[tuple[str, int, float], ...]
HitsByMethod = dict[str, np.ndarray]


class OptionRecalls(NamedTuple):
    """Recalls of each option for both targets, the share of the old answers changed by the new
    model (if known), the curve (option, documents, recall) behind an estimate, and the new model's
    gain."""

    new_model: RecallByOption
    old_model: RecallByOption
    changed: float | None
    curve: RecallCurve = ()
    gain: RelevanceGain | None = None


def measure_recalls(
    task: UpgradeTask, methods: ServingMethods, tick: SearchProgress
) -> OptionRecalls:
    """Return the recalls of all options among the documents, if the documents are the whole index.
    ``methods``: the ways to serve queries. ``tick`` receives shares of the progress."""
    depth = min(max(CANDIDATE_COUNTS), len(task.old.source) - 1)
    hits = search_by_methods(task, methods.ways, depth, tick, 0.6)
    true = hits[OLD_QUERIES][:, : task.k]
    check_no_own_documents(task, true)
    best = search_nearest_rows(
        task.b, task.selves, task.new, task.k, task.metric, lambda s: tick(0.2 * s)
    )
    after = reranked_recalls(task, hits, best, task.new.take)
    before = old_answer_recalls(task, hits, true)
    before["re-embed"] = _answer_recall(task, task.a, true, best, task.whole)
    for name, retrieved in _partial_reembedding_hits(task, methods, tick):
        after[name] = _answer_recall(task, task.b, best, retrieved, task.new)
        before[name] = _answer_recall(task, task.a, true, retrieved, task.whole)
    changed_share = 1 - new_answer_shares(task, hits[OLD_QUERIES], best).mean()
    return OptionRecalls(
        after, before, float(changed_share), (), measure_relevance_gain(task, true, best)
    )


def search_by_methods(
    task: UpgradeTask,
    methods: Mapping[str, ServingMethod],
    depth: int,
    tick: SearchProgress,
    share: float,
    query_indices: Any = None,
) -> HitsByMethod:
    """Return, by method, the positions of the ``depth`` documents nearest to each query, (queries,
    depth), and the positions for old queries under ``OLD_QUERIES``.

    ``methods``: query vectors and stored vectors, by name. Methods with the same stored vectors
    share one pass. ``share``: the part of the progress. ``query_indices``: the queries to search
    for, default all.
    """
    rows = np.arange(len(task.a)) if query_indices is None else query_indices
    all_methods = {OLD_QUERIES: ServingMethod(task.a), **methods}
    passes: dict[int, list[str]] = {}
    for name, method in all_methods.items():
        passes.setdefault(id(method.change), []).append(name)
    hits: HitsByMethod = {}
    for names in passes.values():
        points = np.concatenate([all_methods[name].points[rows] for name in names])
        own_rows = np.tile(task.places[rows], len(names))
        stored_rows = all_methods[names[0]].stored(task)
        retrieved = search_nearest_rows(
            points,
            own_rows,
            stored_rows,
            depth,
            task.metric,
            lambda s: tick(share * s / len(passes)),
        )
        hits |= dict(zip(names, np.split(retrieved, len(names))))
    return hits


def new_answer_shares(task: UpgradeTask, retrieved: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return, for each query, the share of the new model's answers among the first k retrieved
    documents: (queries,).

    ``retrieved``: positions of documents, (queries, k or more). ``best``: the positions of the new
    model's answers, (queries, k).
    """
    right = match_true_neighbors(task.b, best, retrieved[:, : task.k], task.new.take, task.metric)
    return recall_at_count(right, task.k, task.k)


def reranked_recalls(
    task: UpgradeTask,
    hits: HitsByMethod,
    best: np.ndarray,
    take: Callable[[np.ndarray], np.ndarray],
    query_indices: np.ndarray | None = None,
) -> RecallByOption:
    """Return the recall of the new model's answers by option: by every method, and among the first
    candidates of every method and of old queries.

    ``hits``: from :func:`search_by_methods`. ``best``: the positions of the new model's answers,
    (queries, k). ``take`` returns the new vectors at positions. ``query_indices``: the queries of
    ``hits``, default all.
    """
    recalls: RecallByOption = {}
    points = task.b if query_indices is None else task.b[query_indices]
    for name, retrieved in hits.items():
        is_match = match_true_neighbors(points, best, retrieved, take, task.metric)
        if name != OLD_QUERIES:
            recalls[name] = summarize_recall(
                task, recall_at_count(is_match, task.k, task.k), query_indices
            )
        for count in CANDIDATE_COUNTS:
            if task.k < count <= retrieved.shape[1]:
                values = recall_at_count(is_match, count, task.k)
                recalls[rerank_option_name(name, count)] = summarize_recall(
                    task, values, query_indices
                )
    return recalls


def old_answer_recalls(task: UpgradeTask, hits: HitsByMethod, true: np.ndarray) -> RecallByOption:
    """Return the recall of the old model's answers among the first k documents, by method except
    ``OLD_QUERIES``.

    ``hits``: from :func:`search_by_methods`. ``true``: the positions of the old model's answers,
    (queries, k).
    """
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
    task: UpgradeTask, methods: ServingMethods, tick: SearchProgress
) -> list[tuple[str, np.ndarray]]:
    """Return pairs for several shares: the name of a partial re-embedding, and the positions of the
    documents that it retrieves, (queries, k); other documents are mapped.

    The documents used to fit the map are re-embedded first. The value is [] without a map of
    documents.
    """
    names = [name for name in methods.maps if name.startswith("documents")]
    n = len(task.old.source)
    if not names:
        return []
    other_half = np.setdiff1d(np.arange(n), methods.half)
    random = generator(task.seed, "part", n)
    order = np.concatenate([random.permutation(methods.half), random.permutation(other_half)])
    retrieved = []

    def portion(fraction: float) -> None:
        tick(0.2 / len(REEMBEDDED_SHARES) * fraction)

    for share in REEMBEDDED_SHARES:
        reembedded_rows = np.sort(order[: round(share * n)])
        if len(np.intersect1d(reembedded_rows, methods.free)) >= MIN_QUERIES:
            rows = partially_reembedded_rows(task, names, reembedded_rows, methods.free)
            hits = search_nearest_rows(task.b, task.selves, rows, task.k, task.metric, portion)
            retrieved.append((part_option_name(share), hits))
    return retrieved


def measure_relevance_gain(
    task: UpgradeTask, true: np.ndarray, best: np.ndarray
) -> RelevanceGain | None:
    """Return the gain of the new model in relevant documents; None without relevant documents.
    ``true``, ``best``: the positions of the old and of the new model's answers, (queries, k)."""
    if task.relevant is None:
        return None
    old_recalls, new_recalls = (
        relevant_recalls(task.relevant, retrieved) for retrieved in (true, best)
    )
    low, high = (
        2 * end - 1
        for end in mean_share_interval((new_recalls - old_recalls + 1) / 2, task.confidence_level)
    )
    difference = float((new_recalls - old_recalls).mean())
    return RelevanceGain(
        float(old_recalls.mean()),
        float(new_recalls.mean()),
        difference,
        low,
        high,
        len(old_recalls),
    )


def check_no_own_documents(task: UpgradeTask, true: np.ndarray) -> None:
    """Raise ``ValueError`` if many queries are documents: such a query would retrieve its own
    document. ``true``: the positions of the old model's answers, (queries, k)."""
    n_copies = int(have_copy_among_nearest(task.a, true, task.whole).sum())
    if n_copies > MAX_OWN_DOCUMENT_SHARE * len(true):
        raise ValueError(
            f"upgrade_index: {n_copies} of {len(true)} queries equal a document and would find "
            "this document; pass ids of queries and documents, so that the own document of a "
            "query is left out: rs.Representation(x, ids=...), or leave out duplicates"
        )


def have_copy_among_nearest(
    points: np.ndarray, neighbors: np.ndarray, index: StoredRows
) -> np.ndarray:
    """Return which ``points`` (n, d) have a copy among their nearest rows, up to rounding: (n,).
    ``neighbors``: the positions of the nearest rows in ``index``, (n, k)."""
    distances = np.sort(squared_distances_to_rows(points, index.take(neighbors)), axis=1)
    return np.asarray(distances[:, 0] <= COPY_TOLERANCE * distances[:, :2][:, -1])


# --------------------------------------------------------------------------------------- intervals


def summarize_recall(
    task: UpgradeTask,
    values: np.ndarray,
    query_indices: np.ndarray | None = None,
    hidden: float = 0.0,
) -> Recall:
    """Return the mean of ``values``, with intervals, overall and by group.

    ``values``: the recalls of the queries ``query_indices``, by default of all queries. ``hidden``:
    subtracted from lower bounds.
    """
    rows: list[GroupRecall] = []
    if task.groups is not None:
        groups = task.groups if query_indices is None else task.groups[query_indices]
        values_by_group = [(task.names[g], values[groups == g]) for g in np.unique(groups)]
        n_assessed = sum(len(group_values) >= MIN_QUERIES for _, group_values in values_by_group)
        confidence_level = 1 - (1 - task.confidence_level) / max(1, n_assessed)
        for name, groupvalues in values_by_group:
            is_enough = len(groupvalues) >= MIN_QUERIES
            low = None
            if is_enough:
                low = max(0.0, mean_share_interval(groupvalues, confidence_level)[0] - hidden)
            rows.append(GroupRecall(name, float(groupvalues.mean()), low, len(groupvalues)))
    low, high = mean_share_interval(values, task.confidence_level)
    return Recall(
        float(values.mean()), max(0.0, low - hidden), high, len(values), tuple(rows), hidden
    )


def mean_share_interval(values: np.ndarray, confidence_level: float) -> tuple[float, float]:
    """Return the lower and the upper end of a confidence interval of the mean of ``values``, shares
    from 0 to 1, (queries,).

    The lower end is the end of Student's interval after adding one query of recall 0, the upper end
    after adding one query of recall 1: few queries may miss a rare kind of query that fails.
    """
    from scipy.special import stdtrit

    ends = []
    for sign, bound in ((-1, 0.0), (1, 1.0)):
        extended = np.append(values, bound)
        half = (
            stdtrit(len(values), (1 + confidence_level) / 2)
            * extended.std(ddof=1)
            / np.sqrt(len(extended))
        )
        ends.append(float(np.clip(extended.mean() + sign * half, 0.0, 1.0)))
    return ends[0], ends[1]


# --------------------------------------------------------------------------------------- estimates


def extrapolate_recalls(
    task: UpgradeTask, methods: ServingMethods, tick: SearchProgress
) -> OptionRecalls:
    """Return measured recalls of the old model's answers, and recalls of the new model's answers
    extrapolated from the documents with new vectors to the size of the index. ``methods``: the ways
    to serve queries. ``tick`` receives shares of the progress."""
    hits = search_by_methods(task, methods.ways, task.k, tick, 0.6)
    true = hits[OLD_QUERIES]
    check_no_own_documents(task, true)
    before = old_answer_recalls(task, hits, true)
    best = search_nearest_rows(
        task.b, task.selves, task.new, task.k, task.metric, lambda s: tick(0.1 * s)
    )
    gain = sample_relevance_gain(task, best)
    n, needed = len(task.old.source), min_curve_documents(task.k)
    if n < needed:
        return OptionRecalls({}, before, None, (), gain)
    after, curve = _recall_estimates(task, methods, min(n, max(MAX_CURVE_DOCUMENTS, needed)))
    return OptionRecalls(after, before, None, curve, gain)


def min_curve_documents(k: int) -> int:
    """Return the number of documents that a curve of recalls of k answers needs: the smallest part
    of the documents holds 2 k or more."""
    return max(MIN_CURVE_DOCUMENTS, 2 * k * max(CURVE_FRACTIONS))


def sample_relevance_gain(task: UpgradeTask, best: np.ndarray) -> RelevanceGain | None:
    """Return the gain of the new model in relevant documents among the documents with vectors of
    the two models; None without relevant documents. ``best``: the positions of the new model's
    answers, (queries, k)."""
    if task.relevant is None:
        return None
    true = search_nearest_rows(task.a, task.selves, task.old, task.k, task.metric)
    return measure_relevance_gain(task, true, best)


def _recall_estimates(
    task: UpgradeTask, methods: ServingMethods, sample: int
) -> tuple[RecallByOption, RecallCurve]:
    """Return the recall of the new model's answers extrapolated to the size of the index, and the
    curve of recalls among increasing numbers of documents. ``sample``: the largest number of
    documents in the curve."""
    n, size = len(task.old.source), len(task.whole.source)
    order = generator(task.seed, "documents", n).permutation(n)[:sample]
    counts = [sample // fraction for fraction in CURVE_FRACTIONS]
    depth = min(max(CANDIDATE_COUNTS), counts[0] // 2)
    means: dict[str, list[float]] = {}
    values: dict[str, np.ndarray] = {}
    for count in counts:
        values = _recalls_among_documents(task, methods, np.sort(order[:count]), depth)
        for name, query_recalls in values.items():
            means.setdefault(name, []).append(float(query_recalls.mean()))
    recalls: RecallByOption = {}
    for name, size_means in means.items():
        value, last = recall_at_index_size(counts, size_means, size), size_means[-1]
        low, high = mean_share_interval(values[name], task.confidence_level)
        low = max(0.0, value - last + low - MAX_EXTRAPOLATION_EXCESS)
        high = min(1.0, value - last + high)
        recalls[name] = Recall(value, low, high, len(task.a))
    curve = [
        (name, count, mean) for name in methods.ways for count, mean in zip(counts, means[name])
    ]
    curve += [(name, size, recalls[name].value) for name in methods.ways]
    return recalls, tuple(curve)


def _recalls_among_documents(
    task: UpgradeTask, methods: ServingMethods, rows: np.ndarray, depth: int
) -> dict[str, np.ndarray]:
    """Return the recalls of queries, (queries,), by every option among the documents at the
    positions ``rows``. ``depth``: the number of retrieved documents."""
    old_rows, new_rows, k = task.old.take(rows), task.new.take(rows), task.k
    indices = np.searchsorted(rows, task.selves).clip(max=len(rows) - 1)
    own_rows = np.where(rows[indices] == task.selves, indices, -1)

    def look(points: np.ndarray, stored_rows: np.ndarray, count: int) -> np.ndarray:
        return search_blocks(
            points, own_rows, [(0, stored_rows)], column_medians(stored_rows), count, task.metric
        )

    best = look(task.b, new_rows, k)
    values = {}
    for name, method in {OLD_QUERIES: ServingMethod(task.a), **methods.ways}.items():
        stored_rows = (
            old_rows if method.change is None else method.change.of_documents(old_rows, rows)
        )
        is_match = match_true_neighbors(
            task.b, best, look(method.points, stored_rows, depth), new_rows.__getitem__, task.metric
        )
        if name != OLD_QUERIES:
            values[name] = recall_at_count(is_match, k, k)
        for count in CANDIDATE_COUNTS:
            if k < count <= depth:
                values[rerank_option_name(name, count)] = recall_at_count(is_match, count, k)
    return values


def recall_at_index_size(sizes: Sequence[int], values: Sequence[float], size: int) -> float:
    """Return a recall, from 0 to 1, extrapolated to an index of ``size`` documents, from the
    recalls ``values`` among ``sizes`` documents: the logit is linear in log size."""
    logits = np.clip(values, 1e-3, 1 - 1e-3)
    slope, intercept = np.polyfit(np.log(sizes), np.log(logits / (1 - logits)), 1)
    return float(1 / (1 + np.exp(-(intercept + slope * np.log(size)))))
