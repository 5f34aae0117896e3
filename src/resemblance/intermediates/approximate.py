"""Approximate search of nearest neighbours: a navigable graph (HNSW, by faiss) proposes candidates
in single precision.

:mod:`.neighbors` sorts the candidates in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base.extras import import_optional

HNSW_LINKS = 32  # links per sample in a layer of the graph, doubled in the lowest layer
HNSW_BUILD_CANDIDATES = 100  # size of the candidate list during construction (efConstruction)
# Size of the candidate list during a search (efSearch), at least twice the requested neighbours.
HNSW_SEARCH_CANDIDATES = 200


def hnsw_candidates(points: np.ndarray, count: int, inner: bool) -> np.ndarray:
    """Return the indices of about ``count`` nearest rows of ``points`` for every row, usually
    including the row itself, nearest first, shape (n, count).

    Nearest means by inner product (``inner``) or Euclidean distance; -1 marks places without a
    candidate. The search runs on a single thread, so the graph, and with it the result, is the same
    in every run on the same kind of processor.
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
