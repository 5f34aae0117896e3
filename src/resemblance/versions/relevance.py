"""Whether a new model finds more of the documents known to be relevant."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..data.representation import Representation

MIN_RELEVANT_QUERIES = 20  # fewest queries with relevant documents


class RelevanceGain(NamedTuple):
    """Recall of relevant documents by the old and by the new model, and the difference with an
    interval over queries.

    The recall of a query is the share of the relevant documents among the k retrieved documents. If
    more than k documents are relevant, the share is relative to k.
    """

    old: float
    new: float
    difference: float
    low: float
    high: float
    queries: int


def relevant_positions(
    relevant: Any, queries: Representation, documents: Representation
) -> dict[int, np.ndarray]:
    """Return the positions of the relevant documents, keyed by the position of the query.

    ``relevant``: maps the id of a query to ids of documents. A representation without ids has
    positions as ids. Queries may be missing from the mapping. Raises ``ValueError`` for no mapping,
    an unknown id, a query with an empty list, and fewer than ``MIN_RELEVANT_QUERIES`` queries.
    """
    if not isinstance(relevant, Mapping):
        raise ValueError(
            "upgrade_index: relevant must map ids of queries to ids of documents, such as "
            f'{{"q1": ["d7", "d9"]}}; got {type(relevant).__name__}'
        )
    rows = {name: index for index, name in enumerate(_ids_or_positions(queries))}
    columns = {name: index for index, name in enumerate(_ids_or_positions(documents))}
    positions: dict[int, np.ndarray] = {}
    for query, value in relevant.items():
        document_ids = _as_list_of_names(value)
        _check_known_ids([query], rows, "queries", queries)
        _check_known_ids(document_ids, columns, "documents", documents)
        if not document_ids:
            raise ValueError(
                f"upgrade_index: relevant names no document for query {query!r}; leave that query "
                "out"
            )
        positions[rows[query]] = np.unique([columns[name] for name in document_ids])
    if len(positions) < MIN_RELEVANT_QUERIES:
        raise ValueError(
            f"upgrade_index: relevant documents are needed for at least {MIN_RELEVANT_QUERIES} "
            f"queries, for an interval; got {len(positions)}"
        )
    return positions


def _ids_or_positions(x: Representation) -> Iterable[Hashable]:
    return range(x.shape[0]) if x.ids is None else x.ids


def _as_list_of_names(value: Any) -> list[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return [value]
    return [name.item() if isinstance(name, np.generic) else name for name in value]


def _check_known_ids(
    names: Iterable[Hashable], positions: Mapping[Any, int], noun: str, x: Representation
) -> None:
    unknown_ids = [name for name in names if name not in positions]
    if unknown_ids:
        example = next(iter(positions))
        id_note = "positions, as they have no ids" if x.ids is None else f"ids such as {example!r}"
        raise ValueError(
            f"upgrade_index: relevant names {unknown_ids[0]!r}, which is none of the "
            f"{len(positions):,} {noun}; the {noun} have {id_note}"
        )


def relevant_recalls(relevant: Mapping[int, np.ndarray], retrieved: np.ndarray) -> np.ndarray:
    """Return the recalls of the queries with relevant documents, in the order of ``relevant``.

    ``relevant``: positions of relevant documents by position of the query. ``retrieved``: positions
    of the first k documents, (queries, k). A recall is relative to the smaller of k and the number
    of relevant documents.
    """
    k = retrieved.shape[1]
    return np.array(
        [
            np.isin(retrieved[query], documents).sum() / min(k, len(documents))
            for query, documents in relevant.items()
        ]
    )
