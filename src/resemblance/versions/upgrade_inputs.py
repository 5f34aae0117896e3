"""Check the inputs of :func:`resemblance.upgrade_index`, and bring the vectors to a common unit and
metric."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..base.text import check_choice, did_you_mean
from ..contracts.streamed import require_features
from ..data.caveats import (
    copied_sample_caveats,
    data_caveats,
    equal_data_caveats,
    reordered_column_caveats,
)
from ..data.columns import FeatureNames
from ..data.inputs import check_sample_order, sample_order, transposition_hint
from ..data.joining import align_columns_to, reorder_columns
from ..data.representation import (
    Representation,
    as_representation,
    check_same_samples,
    representation_title,
)
from ..intermediates.digits import check_digits
from ..significance.labels import label_codes
from .index_options import TRUTH_PHRASES
from .index_search import SEARCH_METRICS, SearchMetric
from .inputs import check_min_count, check_share, columns_by_model
from .relevance import relevant_positions
from .retrieval import Rows, version_rows
from .stored import (
    StoredRows,
    are_normalized,
    normalize_stored_rows,
    power_of_two_unit,
    scale_to_unit_length,
)

MIN_QUERIES = 20  # fewest queries, overall and in a group that is judged
MAX_VECTOR_VALUE = 1e100  # squares of such values are far from overflow
MAP_NAMES = ("orthogonal", "affine")


class NewColumns(NamedTuple):
    """The documents of the new model with ordered columns, and the permutation that ordered the
    columns; None for no permutation."""

    documents: Representation
    order: tuple[int, ...] | None

    @classmethod
    def of(cls, original_names: FeatureNames, documents: Representation) -> NewColumns:
        """Return the columns of ``documents``, with the permutation from ``original_names``, the
        names of the columns before ordering.

        The permutation is None without names, or if the order is the original order.
        """
        names = documents.features
        if original_names is None or names is None or original_names == names:
            return cls(documents, None)
        return cls(documents, tuple(map(original_names.index, names)))

    def in_order(self, vectors: Representation) -> Representation:
        """Return further vectors of the new model with their columns in the order of the documents.

        The function orders columns by name; without names, the function applies the permutation of
        the documents. Raises ``ValueError`` for columns with other names.
        """
        if vectors.features is None and self.order is not None:
            return reorder_columns(vectors, self.order, representation_title(self.documents))
        if vectors.features is None or self.documents.features is None:
            return vectors
        return align_columns_to("upgrade_index", self.documents, vectors, is_one_model=True)


class UpgradeTask(NamedTuple):
    """Documents and queries with vectors of the two models, the old index, and the options.

    ``units``: units of the vectors of the old and of the new model. Vectors have length 1 if the
    metric is the cosine.
    """

    old: StoredRows
    new: StoredRows
    whole: StoredRows  # the index
    a: np.ndarray  # (q, d), queries by the old model
    b: np.ndarray  # (q, e), queries by the new model
    selves: np.ndarray  # (q,), position of the query's own document, -1 for none
    places: np.ndarray  # position of the same document in the index
    groups: np.ndarray | None
    names: tuple[Hashable, ...]
    k: int
    confidence_level: float
    seed: int
    metric: SearchMetric
    units: tuple[float, float]
    relevant: Mapping[int, np.ndarray] | None
    columns: NewColumns
    caveats: tuple[str, ...]  # doubts about the vectors, besides copies
    copies: tuple[str, ...]  # copies of documents

    def new_rows(self, vectors: Representation) -> StoredRows:
        """Return further documents of the new model, in the model's unit, metric and order of
        columns."""
        vectors = self.columns.in_order(vectors)
        rows = version_rows(vectors)._replace(unit=self.units[1])
        return normalize_stored_rows(rows) if self.metric == "cosine" else rows


def check_upgrade_options(
    target: Any, min_recall: Any, confidence_level: Any, k: Any, seed: Any, maps: Any, metric: Any
) -> None:
    """Raise ``ValueError`` for options of ``upgrade_index`` outside their ranges, and for unknown
    names. ``maps``: a list of names of maps. The shares lie between 0 and 1, without the ends."""
    check_choice("upgrade_index: target", target, TRUTH_PHRASES)
    check_choice("upgrade_index: metric", metric, SEARCH_METRICS)
    check_share("upgrade_index: min_recall", min_recall)
    check_share("upgrade_index: confidence_level", confidence_level)
    check_min_count("upgrade_index: k", k, 1)
    check_min_count("upgrade_index: seed", seed, 0)
    if isinstance(maps, str):
        raise ValueError(
            f"upgrade_index: maps must be a list of names, such as [{maps!r}]; got a word"
        )
    for name in maps:
        if name not in MAP_NAMES:
            hint = did_you_mean(str(name), MAP_NAMES)
            raise ValueError(f"upgrade_index: there is no map {name!r}{hint}")


def check_prices(cost_per_document: Any, cost_per_miss: Any) -> None:
    """Raise ``ValueError`` unless the two prices are positive numbers or None together."""
    if (cost_per_document is None) != (cost_per_miss is None):
        raise ValueError(
            "upgrade_index: cost_per_document and cost_per_miss are needed together, in the same "
            "unit"
        )
    for name, value in (("cost_per_document", cost_per_document), ("cost_per_miss", cost_per_miss)):
        if value is not None and not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"upgrade_index: {name} must be a positive number; got {value!r}")


def build_upgrade_task(
    old: Any,
    new: Any,
    old_queries: Any,
    new_queries: Any,
    index: Any,
    *,
    groups: Any,
    relevant: Any,
    metric: SearchMetric,
    k: int,
    confidence_level: float,
    seed: int,
) -> UpgradeTask:
    """Return documents, index and queries as a task; raise ``ValueError`` if the arrays do not
    belong together.

    ``old``, ``new``: the same documents by the two models. ``old_queries``, ``new_queries``: the
    same queries by the two models. ``index``: all stored vectors by the old model, None if ``old``
    is the index. ``groups``: a label per query, or None. ``relevant``: a mapping from queries to
    relevant documents, or None.
    """
    x, y, a, b, z = _documents_and_queries(old, new, (old_queries, new_queries), index)
    _check_query_counts(x, a, z, k, index is not None)
    for documents in (x, y):
        check_digits(documents)
    original_names = y.features
    (x, a, z), (y, b) = columns_by_model((x, a, z), (y, b))
    rows = {name: version_rows(v) for name, v in (("old", x), ("new", y))}
    rows["index"] = rows["old"] if index is None else version_rows(z)
    points = [version_rows(q).take(np.arange(q.shape[0])) for q in (a, b)]
    units = _vector_units(rows, points)
    if metric != "cosine":
        _check_normalization(rows, points)
    numbers = None if groups is None else label_codes("upgrade_index", groups, a.shape[0], "groups")
    index_of_groups = sample_order(groups, "groups")
    check_sample_order(
        "upgrade_index", representation_title(a), a.order, "the index of groups", index_of_groups
    )
    scaled_rows = [
        rows[name]._replace(unit=unit)
        for name, unit in (("old", units[0]), ("new", units[1]), ("index", units[0]))
    ]
    vectors: list[StoredRows] = (
        [*map(normalize_stored_rows, scaled_rows)] if metric == "cosine" else [*scaled_rows]
    )
    points = [point / unit for point, unit in zip(points, units)]
    return UpgradeTask(
        old=vectors[0],
        new=vectors[1],
        whole=vectors[0] if index is None else vectors[2],
        a=scale_to_unit_length(points[0]) if metric == "cosine" else points[0],
        b=scale_to_unit_length(points[1]) if metric == "cosine" else points[1],
        selves=_own_document_positions(a, x),
        places=_own_document_positions(a, z),
        groups=numbers,
        names=() if numbers is None else _query_group_names(numbers, groups),
        k=k,
        confidence_level=confidence_level,
        seed=seed,
        metric=metric,
        units=units,
        relevant=None if relevant is None else relevant_positions(relevant, a, x),
        columns=NewColumns.of(original_names, y),
        caveats=(
            *data_caveats((x, y), copies=False),
            *reordered_column_caveats((a, b, z) if index is not None else (a, b)),
            *equal_data_caveats((x, y), ("old", "new")),
            *equal_data_caveats((a, b), ("old_queries", "new_queries")),
        ),
        copies=copied_sample_caveats((x, y)),
    )


def _documents_and_queries(
    old: Any, new: Any, queries: tuple[Any, Any], index: Any
) -> tuple[Representation, ...]:
    """Return five representations: the documents by the old and by the new model, the queries by
    the old and by the new model, and the index (the old documents if ``index`` is None)."""
    x, y = as_representation(old, "old"), as_representation(new, "new")
    a, b = (as_representation(q, f"queries by {n}") for q, n in zip(queries, ("old", "new")))
    z = x if index is None else as_representation(index, "index")
    require_features("upgrade_index", x, y, a, b, z)
    _check_row_pairs(x, y, a, b, z)
    return x, y, a, b, z


def _check_row_pairs(
    x: Representation, y: Representation, a: Representation, b: Representation, z: Representation
) -> None:
    for first, second, nouns in ((x, y, "documents"), (a, b, "queries")):
        if first.shape[0] != second.shape[0]:
            names = (f"the {nouns} by the old model", f"the {nouns} by the new model")
            hint = transposition_hint(first.shape, second.shape, names)
            raise ValueError(
                f"upgrade_index: {first.shape[0]:,} {nouns} by the old model and "
                f"{second.shape[0]:,} by the new one; give the same {nouns} by both{hint}"
            )
        check_same_samples("upgrade_index", first, second)
    for first, second in ((x, a), (y, b), (x, z)):
        if first.shape[1] != second.shape[1]:
            raise ValueError(
                f"upgrade_index: {representation_title(first)} {first.shape} and "
                f"{representation_title(second)} {second.shape} come from one model and must have "
                "the same width"
            )


def _check_query_counts(
    x: Representation, a: Representation, z: Representation, k: int, has_index: bool
) -> None:
    if a.shape[0] < MIN_QUERIES:
        raise ValueError(
            f"upgrade_index needs at least {MIN_QUERIES} queries for an interval; got {a.shape[0]}"
        )
    if has_index and z.shape[0] <= x.shape[0]:
        raise ValueError(
            f"upgrade_index: the index has {z.shape[0]:,} vectors, no more than the {x.shape[0]:,} "
            "documents; leave out index if the documents are the whole index"
        )
    if x.shape[0] < max(MIN_QUERIES, 2 * k):
        raise ValueError(
            f"upgrade_index needs at least {max(MIN_QUERIES, 2 * k)} documents by both models for "
            f"k={k}; got {x.shape[0]}"
        )
    shared_ids = None if a.ids is None or x.ids is None else set(x.ids) & set(a.ids)
    if has_index and shared_ids and z.ids is None:
        raise ValueError(
            f"upgrade_index: {len(shared_ids)} queries have the id of a document; also pass ids "
            "for the index: rs.Representation(index, ids=...)"
        )


def _vector_units(rows: Mapping[str, Rows], points: list[np.ndarray]) -> tuple[float, float]:
    """Return the units of the vectors of the old and of the new model: each 1, or a power of two if
    squares would overflow or underflow. Raise ``ValueError`` for values above ``MAX_VECTOR_VALUE``.

    ``rows``: the documents under "old" and "new", and the index. ``points``: the queries.
    """
    sizes = {
        name: max(max(block.max(), -block.min()) for _, block in vectors.blocks())
        for name, vectors in rows.items()
    }
    for size in (*sizes.values(), *(np.abs(point).max() for point in points)):
        if size > MAX_VECTOR_VALUE:
            raise ValueError(
                f"upgrade_index: values above {MAX_VECTOR_VALUE:g}; give vectors in a larger unit"
            )
    return power_of_two_unit(float(sizes["old"])), power_of_two_unit(float(sizes["new"]))


def _check_normalization(rows: Mapping[str, Rows], points: list[np.ndarray]) -> None:
    """Raise ``ValueError`` if a model has normalised vectors beside vectors that are not
    normalised. ``rows``: the documents under "old", "new" and "index". ``points``: the queries by
    the old and by the new model."""
    vectors_by_model: tuple[dict[str, Rows | np.ndarray], ...] = (
        {"old": rows["old"], "queries by old": points[0]},
        {"new": rows["new"], "queries by new": points[1]},
    )
    if rows["index"] is not rows["old"]:
        vectors_by_model[0]["index"] = rows["index"]
    for vectors in vectors_by_model:
        unit_names = [name for name, array in vectors.items() if are_normalized(array)]
        other_names = [name for name in vectors if name not in unit_names]
        if unit_names and other_names:
            raise ValueError(
                f"upgrade_index: vectors of {' and '.join(unit_names)} are normalised to length "
                f"1, and those of {' and '.join(other_names)} are not; normalise all vectors of a "
                "model, or none"
            )


def _query_group_names(numbers: np.ndarray, groups: Any) -> tuple[Hashable, ...]:
    labels = np.asarray(groups).tolist()
    first_rows = np.unique(numbers, return_index=True)[1]
    return tuple(labels[i] for i in first_rows)


def _own_document_positions(queries: Representation, documents: Representation) -> np.ndarray:
    """Return, for every query, the position of the document with the id of the query, (queries,);
    -1 for none. Without ids, all positions are -1."""
    if queries.ids is None or documents.ids is None:
        return np.full(queries.shape[0], -1)
    positions = {name: position for position, name in enumerate(documents.ids)}
    return np.array([positions.get(name, -1) for name in queries.ids])
