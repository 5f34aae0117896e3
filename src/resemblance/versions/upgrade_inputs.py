"""The inputs of :func:`resemblance.upgrade`, checked and brought to one unit and metric."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..base.text import did_you_mean
from ..contracts.streamed import need_features
from ..data.cautions import cautions_of, copies_of_samples, moved_columns
from ..data.columns import Names
from ..data.inputs import check_order, order_of
from ..data.joining import columns_like, with_columns
from ..data.representation import Representation, as_representation, check_same_samples, title
from ..intermediates.digits import check_digits
from ..significance.labels import numbers_of
from .index_options import TRUTHS
from .index_search import METRICS, Metric
from .inputs import check_count, check_share, columns_by_model
from .relevance import relevant_of
from .retrieval import Rows, rows_of
from .stored import Stored, are_unit, normalised, to_unit, unit_of_size

FEWEST = 20  # queries, and queries of a group that is judged
LARGEST = 1e100  # values whose squares are still far from overflow
MAPS = ("orthogonal", "affine")


class NewColumns(NamedTuple):
    """The columns of the new model: the documents with their names, and the order that the columns
    were put in, if they were moved."""

    documents: Representation
    order: tuple[int, ...] | None

    @classmethod
    def of(cls, before: Names, documents: Representation) -> NewColumns:
        """Return the columns of documents, which were in the order of other names before."""
        names = documents.features
        if before is None or names is None or before == names:
            return cls(documents, None)
        return cls(documents, tuple(map(before.index, names)))

    def in_order(self, vectors: Representation) -> Representation:
        """Return more vectors by the new model with their columns in the same order: by their
        names; without names, in the order that the model gave to the documents, too.

        Raises ``ValueError`` for columns of other names.
        """
        if vectors.features is None and self.order is not None:
            return with_columns(vectors, self.order, title(self.documents))
        if vectors.features is None or self.documents.features is None:
            return vectors
        return columns_like("upgrade", self.documents, vectors, is_one_model=True)


class Task(NamedTuple):
    """Documents by both models, the old index, queries by both models, and what is asked.

    ``units``: of vectors by the old and by the new model. Vectors have length 1 where the metric is
    the cosine.
    """

    old: Stored
    new: Stored
    whole: Stored  # the index
    a: np.ndarray  # (q, d), queries by the old model
    b: np.ndarray  # (q, e), by the new one
    selves: np.ndarray  # (q,), which document a query is, -1 for none
    places: np.ndarray  # the same in the index
    groups: np.ndarray | None
    names: tuple[Hashable, ...]
    k: int
    level: float
    seed: int
    metric: Metric
    units: tuple[float, float]
    relevant: Mapping[int, np.ndarray] | None
    columns: NewColumns
    cautions: tuple[str, ...]  # what is doubtful about the vectors, besides copies
    copies: tuple[str, ...]  # copies of documents

    def new_rows(self, vectors: Representation) -> Stored:
        """Return more documents by the new model, in its unit, metric and order of columns."""
        vectors = self.columns.in_order(vectors)
        rows = rows_of(vectors)._replace(unit=self.units[1])
        return normalised(rows) if self.metric == "cosine" else rows


def check_options(
    goal: Any, accept: Any, level: Any, k: Any, seed: Any, maps: Any, metric: Any
) -> None:
    """Raise ``ValueError`` for options that no data could be judged by."""
    if goal not in TRUTHS:
        hint = did_you_mean(str(goal), TRUTHS)
        raise ValueError(f"upgrade: goal must be 'as_new' or 'as_before'; got {goal!r}{hint}")
    if metric not in METRICS:
        hint = did_you_mean(str(metric), METRICS)
        known = ", ".join(map(repr, METRICS))
        raise ValueError(f"upgrade: metric must be one of {known}; got {metric!r}{hint}")
    check_share("upgrade: accept", accept)
    check_share("upgrade: level", level)
    check_count("upgrade: k", k, 1)
    check_count("upgrade: seed", seed, 0)
    if isinstance(maps, str):
        raise ValueError(f"upgrade: maps must be a list of names, such as [{maps!r}]; got a word")
    for name in maps:
        if name not in MAPS:
            hint = did_you_mean(str(name), MAPS)
            raise ValueError(f"upgrade: there is no map {name!r}{hint}")


def check_prices(price: Any, loss: Any) -> None:
    """Raise ``ValueError`` unless both prices are positive numbers, or none is given."""
    if (price is None) != (loss is None):
        raise ValueError("upgrade: price and loss are needed together, in the same unit")
    for name, value in (("price", price), ("loss", loss)):
        if value is not None and not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"upgrade: {name} must be a positive number; got {value!r}")


def task_of(
    old: Any,
    new: Any,
    queries: Any,
    index: Any,
    *,
    groups: Any,
    relevant: Any,
    metric: Metric,
    k: int,
    level: float,
    seed: int,
) -> Task:
    """Return documents, index and queries; raise ``ValueError`` if they do not belong together."""
    x, y, a, b, z = _representations(old, new, queries, index)
    _check_sizes(x, a, z, k, index is not None)
    for documents in (x, y):
        check_digits(documents)
    before = y.features
    (x, a, z), (y, b) = columns_by_model((x, a, z), (y, b))
    rows = {name: rows_of(v) for name, v in (("old", x), ("new", y))}
    rows["index"] = rows["old"] if index is None else rows_of(z)
    points = [rows_of(q).take(np.arange(q.shape[0])) for q in (a, b)]
    units = _units(rows, points)
    if metric != "cosine":
        _check_lengths(rows, points)
    numbers = None if groups is None else numbers_of("upgrade", groups, a.shape[0], "groups")
    index_of_groups = order_of(groups, "groups")
    check_order("upgrade", title(a), a.order, "the index of groups", index_of_groups)
    stored = [
        rows[name]._replace(unit=unit)
        for name, unit in (("old", units[0]), ("new", units[1]), ("index", units[0]))
    ]
    vectors: list[Stored] = [*map(normalised, stored)] if metric == "cosine" else [*stored]
    points = [point / unit for point, unit in zip(points, units)]
    return Task(
        old=vectors[0],
        new=vectors[1],
        whole=vectors[0] if index is None else vectors[2],
        a=to_unit(points[0]) if metric == "cosine" else points[0],
        b=to_unit(points[1]) if metric == "cosine" else points[1],
        selves=_selves(a, x),
        places=_selves(a, z),
        groups=numbers,
        names=() if numbers is None else _names(numbers, groups),
        k=k,
        level=level,
        seed=seed,
        metric=metric,
        units=units,
        relevant=None if relevant is None else relevant_of(relevant, a, x),
        columns=NewColumns.of(before, y),
        cautions=(
            *cautions_of((x, y), copies=False),
            *moved_columns((a, b, z) if index is not None else (a, b)),
        ),
        copies=copies_of_samples((x, y)),
    )


def _representations(old: Any, new: Any, queries: Any, index: Any) -> tuple[Representation, ...]:
    """Return the documents by both models, the queries by both, and the index."""
    if not isinstance(queries, tuple | list) or len(queries) != 2:
        raise ValueError(
            "upgrade: queries must be a pair, the same queries by the old and by the new model; "
            f"got {type(queries).__name__}"
        )
    x, y = as_representation(old, "old"), as_representation(new, "new")
    a, b = (as_representation(q, f"queries by {n}") for q, n in zip(queries, ("old", "new")))
    z = x if index is None else as_representation(index, "index")
    need_features("upgrade", x, y, a, b, z)
    _check_pairs(x, y, a, b, z)
    return x, y, a, b, z


def _check_pairs(
    x: Representation, y: Representation, a: Representation, b: Representation, z: Representation
) -> None:
    for one, other, nouns in ((x, y, "documents"), (a, b, "queries")):
        if one.shape[0] != other.shape[0]:
            raise ValueError(
                f"upgrade: {one.shape[0]:,} {nouns} by the old model and {other.shape[0]:,} by the "
                f"new one; give the same {nouns} by both"
            )
        check_same_samples("upgrade", one, other)
    for one, other in ((x, a), (y, b), (x, z)):
        if one.shape[1] != other.shape[1]:
            raise ValueError(
                f"upgrade: {title(one)} {one.shape} and {title(other)} {other.shape} are of one "
                "model and must have the same width"
            )


def _check_sizes(
    x: Representation, a: Representation, z: Representation, k: int, has_index: bool
) -> None:
    if a.shape[0] < FEWEST:
        raise ValueError(
            f"upgrade needs at least {FEWEST} queries for an interval; got {a.shape[0]}"
        )
    if has_index and z.shape[0] <= x.shape[0]:
        raise ValueError(
            f"upgrade: the index has {z.shape[0]:,} vectors, no more than the {x.shape[0]:,} "
            "documents; leave it out if the documents are the whole index"
        )
    if x.shape[0] < max(FEWEST, 2 * k):
        raise ValueError(
            f"upgrade needs at least {max(FEWEST, 2 * k)} documents by both models for k={k}; got "
            f"{x.shape[0]}"
        )
    known = None if a.ids is None or x.ids is None else set(x.ids) & set(a.ids)
    if has_index and known and z.ids is None:
        raise ValueError(
            f"upgrade: {len(known)} queries are documents by their ids; give the index ids, too: "
            "rs.Representation(index, ids=...)"
        )


def _units(rows: Mapping[str, Rows], points: list[np.ndarray]) -> tuple[float, float]:
    """Return the units of the vectors of both models; raise ``ValueError`` for values so large that
    their squares overflow."""
    sizes = {
        name: max(max(block.max(), -block.min()) for _, block in part.blocks())
        for name, part in rows.items()
    }
    for size in (*sizes.values(), *(np.abs(point).max() for point in points)):
        if size > LARGEST:
            raise ValueError(f"upgrade: values above {LARGEST:g}; give vectors in a larger unit")
    return unit_of_size(float(sizes["old"])), unit_of_size(float(sizes["new"]))


def _check_lengths(rows: Mapping[str, Rows], points: list[np.ndarray]) -> None:
    """Raise ``ValueError`` if some of the vectors of a model are normalised and others are not."""
    parts: tuple[dict[str, Rows | np.ndarray], ...] = (
        {"old": rows["old"], "queries by old": points[0]},
        {"new": rows["new"], "queries by new": points[1]},
    )
    if rows["index"] is not rows["old"]:
        parts[0]["index"] = rows["index"]
    for of_model in parts:
        unit = [name for name, part in of_model.items() if are_unit(part)]
        others = [name for name in of_model if name not in unit]
        if unit and others:
            raise ValueError(
                f"upgrade: vectors of {' and '.join(unit)} are normalised to length 1, and those "
                f"of {' and '.join(others)} are not; normalise all vectors of a model, or none"
            )


def _names(numbers: np.ndarray, groups: Any) -> tuple[Hashable, ...]:
    labels = np.asarray(groups).tolist()
    first = np.unique(numbers, return_index=True)[1]
    return tuple(labels[i] for i in first)


def _selves(queries: Representation, documents: Representation) -> np.ndarray:
    """Return which document each query is by its id, -1 for none."""
    if queries.ids is None or documents.ids is None:
        return np.full(queries.shape[0], -1)
    places = {name: place for place, name in enumerate(documents.ids)}
    return np.array([places.get(name, -1) for name in queries.ids])
