"""Evidence that queries or documents of two models are paired wrongly.

The two models embed queries and documents alike. A map between the models that fits one of the two
kinds must fit the other kind, too, unless vectors are exchanged, repeated or in another order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.formatting import format_percent
from ..base.rng import generator
from .index_maps import INDEX_MAP_FITS, compute_document_moments
from .maps import AffineMap
from .retrieval import Rows
from .stored import StoredRows, scale_to_unit_length
from .upgrade_inputs import UpgradeTask
from .ways import ServingMethods

# Most vectors that fit a map, and most and fewest vectors that judge the map.
MAX_FIT_ROWS, MAX_JUDGED_ROWS, MIN_JUDGED_ROWS = (5000, 200, 20)
MIN_MATCHED_SHARE = 0.5  # of held-out vectors; below this share a map says nothing about pairs
MAX_MISMATCHED_RATIO = 0.2  # times the matched share; a larger share is evidence of right pairs
MAX_CHANCE_RANK = 0.6  # mean rank of the own vector; 0.5 for unrelated pairs, 1 for the nearest
# Times the distance of held-out pairs: the largest distance of the partners in another order.
MAX_DISTANCE_RATIO, ROUNDING_DISTANCE = 1.5, 1e-9
MIN_DISTINCT_SHARE = 0.5  # of the partners in another order


class Match(NamedTuple):
    """How well a map brings vectors of one model to the vectors of the same rows by the other
    model, by cosines about the two means.

    ``own``: share of rows with the own vector as nearest vector. ``rank``: mean share of other
    vectors that are farther than the own vector. ``distance``, ``nearest``: medians of 1 - cosine
    with the own vector and with the nearest vector. ``distinct``: share of vectors that are the
    nearest vector of a row.
    """

    own: float
    rank: float
    distance: float
    nearest: float
    distinct: float


def match_rows(points: np.ndarray, targets: np.ndarray) -> Match:
    """Return the match of ``points``, mapped rows (n, d), with ``targets``, the rows of the same
    samples by the other model, (n, d)."""
    u, v = (scale_to_unit_length(rows - rows.mean(axis=0)) for rows in (points, targets))
    cosines = u @ v.T
    own, nearest = cosines.diagonal(), cosines.max(axis=1)
    n_farther = (cosines < own[:, None]).sum(axis=1)
    return Match(
        float((own >= nearest).mean()),
        float(n_farther.mean() / (len(u) - 1)),
        float(np.median(1 - own)),
        float(np.median(1 - nearest)),
        len(np.unique(cosines.argmax(axis=1))) / len(u),
    )


def find_pairing_fault(task: UpgradeTask, methods: ServingMethods) -> str:
    """Return the sentence with the check that the user should make first, "" without strong
    evidence of wrong pairs.

    A map fitted to half of the documents is judged on other documents and on the queries. If the
    map fits documents, and not queries, the queries are wrong. If no map fits documents, a map
    fitted to half of the queries is judged on other queries and on the documents. Models without a
    common map give no evidence.
    """
    random = generator(task.seed, "pairs", len(task.a))
    others = random.permutation(np.setdiff1d(methods.free, methods.half))
    judged_rows = others[: min(MAX_JUDGED_ROWS, max(len(task.a), MIN_JUDGED_ROWS))]
    queries = random.permutation(len(task.a))
    if len(judged_rows) < MIN_JUDGED_ROWS:
        return ""
    documents = (task.old.take(judged_rows), task.new.take(judged_rows))
    fit_rows = random.permutation(methods.half)[:MAX_FIT_ROWS]
    fit, held_out = _closest_map((task.old, task.new), np.sort(fit_rows), documents)
    if held_out.own >= MIN_MATCHED_SHARE:
        judged = queries[:MAX_JUDGED_ROWS]
        return _query_fault(fit, held_out, (task.a[judged], task.b[judged]), documents)
    return _document_fault(task, queries, documents)


def _document_fault(
    task: UpgradeTask, queries: np.ndarray, documents: tuple[np.ndarray, np.ndarray]
) -> str:
    """Return the sentence on wrong documents, from a map fitted to half of the queries; "" if the
    map does not match other queries, or matches documents, too.

    ``queries``: positions of queries in random order. ``documents``: vectors of the same documents
    by the old and by the new model.
    """
    judged, fitted = (rows[:MAX_FIT_ROWS] for rows in np.array_split(queries, 2))
    judged = judged[:MAX_JUDGED_ROWS]
    is_constant = not all(np.ptp(q[fitted], axis=0).any() for q in (task.a, task.b))
    if len(judged) < MIN_JUDGED_ROWS or is_constant:
        return ""
    old, new = (Rows(vectors, "float64", 1.0, vectors.shape[1]) for vectors in (task.a, task.b))
    fit, held_out = _closest_map((old, new), np.sort(fitted), (task.a[judged], task.b[judged]))
    match = match_rows(fit(documents[0]), documents[1])
    is_chance = _is_mismatched(match, held_out) and match.rank <= MAX_CHANCE_RANK
    if held_out.own < MIN_MATCHED_SHARE or not is_chance:
        return ""
    return (
        "Pass the same documents in the same order for both models: a map from old to new queries "
        f"takes {format_percent(held_out.own)} of other queries nearest to their own new vectors, "
        f"but {format_percent(match.own)} of the documents. Undecided until then."
    )


def _closest_map(
    models: tuple[StoredRows, StoredRows],
    fit_rows: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
) -> tuple[AffineMap, Match]:
    """Return the rotation or the ridge regression from the first to the second model that matches
    more of the held-out ``pairs``, with the match.

    ``fit_rows``: the positions of the rows for the fit. ``pairs``: vectors of held-out rows by the
    two models. A ridge regression needs as many rows as the larger width.
    """
    moments = compute_document_moments(*models, fit_rows, ("old", "new"))
    is_enough = len(fit_rows) >= max(rows.width for rows in models)
    fits = [INDEX_MAP_FITS[name](moments) for name in ("orthogonal", "affine")[: 1 + is_enough]]
    matches = [(fit, match_rows(fit(pairs[0]), pairs[1])) for fit in fits]
    return max(matches, key=lambda entry: entry[1].own)


def _is_mismatched(match: Match, held_out: Match) -> bool:
    return match.own <= MAX_MISMATCHED_RATIO * held_out.own


def _query_fault(
    fit: AffineMap,
    held_out: Match,
    queries: tuple[np.ndarray, np.ndarray],
    documents: tuple[np.ndarray, np.ndarray],
) -> str:
    """Return the sentence on wrong queries, from a map that matches the held-out documents; "" if
    the map matches the queries, too.

    ``held_out``: the match of held-out documents. ``queries``, ``documents``: vectors by the old
    and by the new model.
    """
    a, b = queries
    match = match_rows(fit(a), b)
    if not _is_mismatched(match, held_out):
        return ""
    evidence = (
        f"a map from old to new documents takes {format_percent(held_out.own)} of other documents "
        f"nearest to their own new vectors, but {format_percent(match.own)} of the queries"
    )
    is_one_width = a.shape == b.shape
    if is_one_width and np.array_equal(a, b):
        return (
            "Check the query files: old_queries and new_queries hold equal vectors, but the "
            f"documents of the two models differ; {evidence}. Undecided until then."
        )
    if np.array_equal(documents[0], documents[1]):
        return (
            "Check the document files: old and new hold equal vectors, but the queries of the two "
            "models differ. If only the query encoder was retrained, the files are right: search "
            "the old index with new queries. Undecided until then."
        )
    exchanged = match_rows(fit(b), a).own if is_one_width else 0.0
    if exchanged >= MIN_MATCHED_SHARE * held_out.own:
        return (
            "Check whether old_queries and new_queries are exchanged, or old and new: "
            f"{evidence}; exchanged, {format_percent(exchanged)}. Undecided until then."
        )
    max_distance = MAX_DISTANCE_RATIO * held_out.distance + ROUNDING_DISTANCE
    if match.nearest <= max_distance and match.distinct >= MIN_DISTINCT_SHARE:
        return (
            "Check the order of the queries: old_queries and new_queries look like the same "
            f"queries in another order; {evidence}, although most have a new vector as near. "
            "Undecided until then."
        )
    if match.rank > MAX_CHANCE_RANK:
        return ""
    return (
        "Check that old_queries and new_queries are the same queries in the same order, each by "
        f"the model of its documents: {evidence}. Undecided until then."
    )
