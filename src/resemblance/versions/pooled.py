"""Recalls of options for a large index, from a pool of documents re-embedded by the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.rng import generator
from ..data.representation import as_representation
from .index_options import CANDIDATE_COUNTS, OLD_QUERIES, rerank_option_name
from .index_search import (
    SearchProgress,
    match_true_neighbors,
    recall_at_count,
    search_blocks,
    search_nearest_rows,
)
from .recalls import (
    HitsByMethod,
    OptionRecalls,
    RecallByOption,
    check_no_own_documents,
    have_copy_among_nearest,
    old_answer_recalls,
    sample_relevance_gain,
    search_by_methods,
    summarize_recall,
)
from .retrieval import column_medians
from .upgrade_inputs import MIN_QUERIES, UpgradeTask
from .ways import ServingMethods

# Fewest queries with a pool of documents; the depths of the pool, in multiples of k.
MIN_POOL_QUERIES, POOL_DEPTHS = (200, (2, 5))
# Share of the squared distance to the mean; closer vectors are one document in two precisions.
SAME_DOCUMENT_TOLERANCE = 0.04
CHECKED_DOCUMENTS = 20  # documents that check the user's embedding function
EMBED_BATCH_SIZE = 4096  # documents embedded at a time
EmbedFunction = Callable[[np.ndarray], Any]


def pooled_recalls(
    task: UpgradeTask, methods: ServingMethods, embed: EmbedFunction, tick: SearchProgress
) -> OptionRecalls:
    """Return the recalls of all options. The new model's answers are searched in a pool: the
    documents that any option returns from the old index among the first 5k.

    ``embed``: the user's function of positions in the index. ``tick`` receives shares of the
    progress.
    """
    hits = search_by_methods(task, methods.ways, task.k, tick, 0.4)
    true = hits[OLD_QUERIES]
    check_no_own_documents(task, true)
    before = old_answer_recalls(task, hits, true)
    size = max(MIN_POOL_QUERIES, 2 * MIN_QUERIES * len(task.names))
    query_indices = np.sort(
        generator(task.seed, "pool", len(task.a)).permutation(len(task.a))[:size]
    )
    depth = min(POOL_DEPTHS[-1] * task.k, len(task.whole.source) - 1)
    _check_embed(task, embed)
    deep_hits = search_by_methods(task, methods.ways, depth, tick, 0.4, query_indices)
    after, changed_share = _recalls_from_pool(task, embed, deep_hits, query_indices)
    if task.relevant is None:
        return OptionRecalls(after, before, changed_share)
    best = search_nearest_rows(task.b, task.selves, task.new, task.k, task.metric)
    return OptionRecalls(after, before, changed_share, (), sample_relevance_gain(task, best))


def _recalls_from_pool(
    task: UpgradeTask, embed: EmbedFunction, hits: HitsByMethod, query_indices: np.ndarray
) -> tuple[RecallByOption, float]:
    """Return the recalls of options, and the share of old answers changed by the new model.

    ``hits``: positions of documents by method, (queries with a pool, depth), the nearest first.
    ``query_indices``: the queries with a pool.
    """
    retrieved = {name: rows if name != "keep" else rows[:, : task.k] for name, rows in hits.items()}
    pool = np.unique(np.concatenate([rows.ravel() for rows in retrieved.values()]))
    vectors = _embed_in_batches(task, embed, pool)

    def take(rows: np.ndarray) -> np.ndarray:
        return vectors[np.searchsorted(pool, rows)]

    recalls_by_depth: list[dict[str, np.ndarray]] = []
    for multiple in POOL_DEPTHS:
        candidates = [rows[:, : multiple * task.k].ravel() for rows in retrieved.values()]
        documents = np.unique(np.concatenate(candidates))
        indices = np.searchsorted(documents, task.places[query_indices]).clip(
            max=len(documents) - 1
        )
        own_rows = np.where(documents[indices] == task.places[query_indices], indices, -1)
        blocks = [(0, take(documents))]
        neighbors = search_blocks(
            task.b[query_indices], own_rows, blocks, column_medians(vectors), task.k, task.metric
        )
        depth_recalls: dict[str, np.ndarray] = {}
        for name, rows in retrieved.items():
            is_match = match_true_neighbors(
                task.b[query_indices], documents[neighbors], rows, take, task.metric
            )
            depth_recalls[name] = recall_at_count(is_match, task.k, task.k)
            for count in CANDIDATE_COUNTS:
                if task.k < count <= rows.shape[1]:
                    depth_recalls[rerank_option_name(name, count)] = recall_at_count(
                        is_match, count, task.k
                    )
        recalls_by_depth.append(depth_recalls)
    shallow_recalls, deep_recalls = recalls_by_depth
    recalls = {
        name: summarize_recall(
            task,
            deep_recalls[name],
            query_indices,
            max(0.0, float((shallow_recalls[name] - deep_recalls[name]).mean())),
        )
        for name in deep_recalls
        if name != OLD_QUERIES
    }
    return recalls, float(1 - deep_recalls[OLD_QUERIES].mean())


def _check_embed(task: UpgradeTask, embed: EmbedFunction) -> None:
    """Raise ``ValueError`` if the embedding function returns old vectors, or other vectors than
    ``new`` has for most of 20 documents of the index."""
    documents = np.linspace(0, len(task.old.source) - 1, CHECKED_DOCUMENTS).astype(int)
    old_vectors, new_vectors = task.old.take(documents), task.new.take(documents)
    neighbors = search_nearest_rows(
        old_vectors, np.full(CHECKED_DOCUMENTS, -1), task.whole, 2, "euclidean"
    )
    nearest_rows = neighbors[:, 0]
    unique_rows, inverse = np.unique(nearest_rows, return_inverse=True)
    vectors = _embed_in_batches(task, embed, unique_rows)[inverse]
    if (
        _are_same_documents(vectors, task.whole.take(nearest_rows)).mean()
        > 0.5
        > _are_same_documents(new_vectors, old_vectors).mean()
    ):
        raise ValueError(
            "upgrade_index: embed returned the old vectors of the index; embed must use the new "
            "model"
        )
    is_in_index = have_copy_among_nearest(old_vectors, neighbors, task.whole)
    is_different = ~_are_same_documents(vectors, new_vectors)[is_in_index]
    if is_different.any() and is_different.mean() > 0.5:
        raise ValueError(
            f"upgrade_index: embed gives other vectors than new has for {is_different.sum()} of "
            f"{len(is_different)} "
            "documents that are in the index; it must embed the documents at the positions of the "
            "index that it is given, by the new model, and normalise vectors if new does"
        )


def _are_same_documents(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return which rows of a equal the rows of b at the same positions up to the rounding of other
    batches or precisions: (n,). a and b are (n, d); all False for arrays of different shapes."""
    if a.shape != b.shape:
        return np.zeros(len(a), bool)
    return np.asarray(
        ((a - b) ** 2).sum(axis=1)
        <= SAME_DOCUMENT_TOLERANCE * ((b - b.mean(axis=0)) ** 2).sum(axis=1)
    )


def _embed_in_batches(task: UpgradeTask, embed: EmbedFunction, rows: np.ndarray) -> np.ndarray:
    """Return the new vectors of documents, (documents, d), from the user's function ``embed``,
    which maps positions to vectors, in batches. ``rows``: positions in the index. Raises
    ``ValueError`` for another shape."""
    blocks, width = [], task.new.width
    for batch in np.split(rows, range(EMBED_BATCH_SIZE, len(rows), EMBED_BATCH_SIZE)):
        vectors = as_representation(embed(batch.copy()), "what embed returned")
        if vectors.shape != (len(batch), width):
            raise ValueError(
                f"upgrade_index: embed must return one new vector for each position, "
                f"{(len(batch), width)}; got {vectors.shape}"
            )
        blocks.append(task.new_rows(vectors).take(np.arange(len(batch))))
    return np.concatenate(blocks)
