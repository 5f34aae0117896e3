"""Subjects with missing conditions: a subject is compared on the pairs of its own conditions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.exceptions import UndefinedError
from ..contracts._measure import Measure
from ..data.representation import Representation, as_representation, replace_rows
from ..intermediates.missing_pairs import has_missing_pairs, missing_pairs
from ..measures._dissimilarities import from_dissimilarities, rdm
from .ceilings import pairwise_comparison_name

NO_CEILING_FOR_MEASURE = "no noise ceiling: the measure is neither a cosine nor of ranks"
NO_CEILING_FOR_SCORE = "no noise ceiling: the score of a model beside other models has none"
NO_CEILING_FOR_PAIRS = (
    "no noise ceiling: a subject shares fewer than three pairs of stimuli with other subjects"
)


def align_to_all_conditions(subjects: Any, models: Any, measure: Measure) -> Any:
    """Return the subjects by name, with missing conditions filled in as NaN dissimilarities.

    ``subjects``, ``models``: mappings from names to arrays or representations. A subject with fewer
    conditions than the models, or with rows of NaN, becomes a dissimilarity matrix of all
    conditions; other subjects do not change. The function returns ``subjects`` unchanged if the
    measure does not allow missing pairs, or if the subjects are not a mapping of arrays.
    """
    options = {**measure.defaults, **dict(measure.parameters)}
    if not (
        pairwise_comparison_name(measure)
        and isinstance(subjects, Mapping)
        and isinstance(models, Mapping)
    ):
        return subjects
    ids = next((ids for ids in map(_condition_ids, models.values()) if ids), None)
    return {
        name: _expand_to_conditions(x, str(name), ids, options["rdm"])
        for name, x in subjects.items()
    }


def _condition_ids(model: Any) -> tuple[Hashable, ...] | None:
    if isinstance(model, Mapping | list | tuple):
        parts = model.values() if isinstance(model, Mapping) else model
        return next((ids for ids in map(_condition_ids, parts) if ids), None)
    return as_representation(model).ids if _is_array(model) else None


def _is_array(value: Any) -> bool:
    return isinstance(value, Representation) or (
        not isinstance(value, str | Path | Mapping | list | tuple) and np.ndim(value) == 2
    )


def _expand_to_conditions(value: Any, name: str, ids: Sequence[Hashable] | None, kind: str) -> Any:
    """Return the subject ``value``, an array (conditions, d), as a representation of
    dissimilarities with NaN for missing conditions.

    ``name``: of the subject. ``ids``: all conditions; None for rows of NaN as the only missing
    conditions. ``kind``: the dissimilarity. The value is unchanged if no condition is missing, if
    fewer than two rows have numbers, or if the value is not an array of NumPy.
    """
    if not _is_array(value):
        return value
    x = as_representation(value, name)
    if not isinstance(x.source, np.ndarray) or x.origin:
        return value
    rows = np.arange(x.n_samples) if x.signed else _nonmissing_rows(x.source)
    lacks_some = bool(ids and x.ids and set(x.ids) < set(ids) and len({*x.ids}) == len(x.ids))
    if len(rows) < 2 or (len(rows) == x.n_samples and not lacks_some):
        return value
    part = x if len(rows) == x.n_samples else replace_rows(x, x.source[rows])
    order = ids if lacks_some and ids else x.ids
    n = x.n_samples if order is None else len(order)
    places = rows
    if lacks_some and ids and x.ids:
        place_of_label = {label: place for place, label in enumerate(ids)}
        places = np.array([place_of_label[x.ids[row]] for row in rows])
    matrix = np.full((n, n), np.nan)
    matrix[np.ix_(places, places)] = rdm(part, kind)
    return from_dissimilarities(matrix, name, ids=order)


def _nonmissing_rows(source: np.ndarray) -> np.ndarray:
    """Return the indices of the rows of ``source``, (n, d), with at least one number."""
    is_nan = np.isnan(source) if source.dtype.kind == "f" else np.zeros(source.shape, dtype=bool)
    return np.flatnonzero(~is_nan.all(axis=1))


def check_model_has_all_pairs(x: Representation) -> None:
    """Raise ``UndefinedError`` if the model ``x``, or part of a model, lacks pairs; fitted models
    and folds need all pairs."""
    if has_missing_pairs(x):
        raise UndefinedError(
            f"{x.name!r} lacks dissimilarities, and fitted models and folds take all of models; "
            "give the model all pairs, or keep the stimuli that all have, rs.join_samples"
        )


def columns_by_subject(
    rows: Sequence[Representation], columns: Sequence[Representation], measure: Measure
) -> dict[str, list[Representation]]:
    """Return, by name of each subject with missing pairs, the models ``columns`` as dissimilarities
    with NaN at the missing pairs of the subject.

    The entry "" has the unchanged models, for all subjects with all pairs, if there are such
    subjects. ``rows``: the subjects.
    """
    kind = {**measure.defaults, **dict(measure.parameters)}.get("rdm", "")
    models_by_subject = {"": list(columns)} if not all(map(has_missing_pairs, rows)) else {}
    for x in filter(has_missing_pairs, rows):
        gaps = np.isnan(rdm(x))
        models_by_subject[x.name] = [
            from_dissimilarities(np.where(gaps, np.nan, rdm(y, kind)), y.name) for y in columns
        ]
    return models_by_subject


def missing_pair_notes(subjects: Sequence[Representation]) -> tuple[str, ...]:
    """Return one note, in a tuple, that says for each subject with missing pairs how many stimuli
    and pairs are present; () if no subject lacks pairs."""
    subject_notes = [_format_present_pairs(x) for x in subjects if has_missing_pairs(x)]
    return (
        (f"compared on the pairs of stimuli that they have: {', '.join(subject_notes)}",)
        if subject_notes
        else ()
    )


def no_ceiling_reason(subjects: Sequence[Representation], score: str) -> str:
    """Return the reason for a missing noise ceiling. The reason is the kind of score, if the score
    needs several models; the missing pairs, if a subject has such pairs; otherwise the measure."""
    if score != "similarity":
        return NO_CEILING_FOR_SCORE
    return NO_CEILING_FOR_PAIRS if any(map(has_missing_pairs, subjects)) else NO_CEILING_FOR_MEASURE


def _format_present_pairs(x: Representation) -> str:
    missing, n = missing_pairs(x), x.n_samples
    first, second = (side[~missing] for side in np.triu_indices(n, 1))
    stimuli = len(np.union1d(first, second))
    return f"{x.name} {stimuli} of {n} stimuli, {len(first)} of {len(missing)} pairs"
