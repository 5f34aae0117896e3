"""Approximate search of nearest neighbours: a navigable graph (HNSW, by faiss) that proposes, in
single precision.

What it proposes is ordered, in double precision, by :mod:`.neighbors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base.extras import import_optional

HNSW_LINKS = 32  # links of a sample in a layer of the graph, twice as many in the lowest
HNSW_BUILD_CANDIDATES = 100  # samples kept in mind while the links of one are chosen
# while its neighbours are searched, and no fewer than twice as many as are proposed
HNSW_SEARCH_CANDIDATES = 200


def hnsw_candidates(points: np.ndarray, count: int, inner: bool) -> np.ndarray:
    """Indices of about the ``count`` nearest rows of every row, itself mostly among them, shape (n,
    count).

    Nearest by inner product (``inner``) or Euclidean distance; -1 where the graph has no more to
    propose. On one thread, where the graph, and so the result, is the same in every run on
    a processor of one kind.
    """
    faiss, rows = import_optional("faiss"), np.ascontiguousarray(points, dtype=np.float32)
    metric = faiss.METRIC_INNER_PRODUCT if inner else faiss.METRIC_L2
    with _limit_to_one_thread(faiss):
        graph = faiss.IndexHNSWFlat(rows.shape[1], HNSW_LINKS, metric)
        graph.hnsw.efConstruction, graph.hnsw.efSearch = (
            HNSW_BUILD_CANDIDATES,
            max(HNSW_SEARCH_CANDIDATES, 2 * count),
        )
        graph.add(rows)
        return graph.search(rows, count)[1]


@contextmanager
def _limit_to_one_thread(faiss: Any) -> Iterator[None]:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
