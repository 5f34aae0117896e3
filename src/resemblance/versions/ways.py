"""Methods that serve queries of a new model from stored vectors of an old model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..base.rng import generator
from .index_maps import (
    IndexMap,
    count_free_parameters,
    fit_index_maps,
    make_index_map,
    too_few_documents_reasons,
)
from .index_options import DECISION_BY_METHOD
from .maps import AffineMap
from .stored import ChangedRows, StoredRows, are_normalized, scale_to_unit_length
from .upgrade_inputs import UpgradeTask

FITTED_MAP_NAMES = ("orthogonal", "affine")
MIN_MAP_DOCUMENTS = 20  # fewest documents for the fit of maps


class VectorChange(NamedTuple):
    """A change of stored vectors to a width: a function for vectors of the index, and a function
    for the documents with vectors of the two models, which maps every document with a map fitted to
    other documents. The functions take rows and the positions of the rows."""

    width: int
    of_index: Callable[[np.ndarray, np.ndarray], np.ndarray]
    of_documents: Callable[[np.ndarray, np.ndarray], np.ndarray]


class ServingMethod(NamedTuple):
    """The query vectors of a method, and the change of the stored vectors; None for no change."""

    points: np.ndarray
    change: VectorChange | None = None

    def stored(self, task: UpgradeTask) -> StoredRows:
        """Return the vectors of the index as the method searches them."""
        if self.change is None:
            return task.whole
        is_sample = task.whole is task.old
        change = self.change.of_documents if is_sample else self.change.of_index
        return ChangedRows(task.whole, change, self.change.width)


class ServingMethods(NamedTuple):
    """All methods that the vectors allow, the reasons why other methods are not assessed, and the
    maps by name.

    ``numbers``: the free parameters of each requested method. ``half``: the documents used to fit
    the maps. ``free``: the documents that are not queries.
    """

    ways: Mapping[str, ServingMethod]
    reasons: Mapping[str, str]
    maps: Mapping[str, IndexMap]
    numbers: Mapping[str, int]
    half: np.ndarray
    free: np.ndarray

    @property
    def rebuilt(self) -> frozenset[str]:
        """The methods that change stored vectors."""
        return frozenset(name for name, method in self.ways.items() if method.change is not None)


def build_serving_methods(task: UpgradeTask, maps: Sequence[str]) -> ServingMethods:
    """Return the methods that serve new queries, with maps fitted to half of the documents.
    ``maps``: the requested maps, "orthogonal" or "affine".

    Raises ``ValueError`` if too few documents are not queries.
    """
    free_rows = np.setdiff1d(np.arange(len(task.old.source)), task.selves)
    if len(free_rows) < MIN_MAP_DOCUMENTS:
        raise ValueError(
            f"upgrade_index: {len(free_rows)} documents are not queries; the maps need at least "
            f"{MIN_MAP_DOCUMENTS}"
        )
    order = generator(task.seed, "fit", len(free_rows)).permutation(len(free_rows))
    halves = [np.sort(free_rows[indices]) for indices in np.array_split(order, 2)]
    widths = (task.old.width, task.new.width)
    reasons = too_few_documents_reasons(tuple(maps), widths, len(free_rows))
    names = tuple(name for name in FITTED_MAP_NAMES if name in maps and name not in reasons)
    old, new, units = task.old, task.new, task.units
    queries = fit_index_maps(names, new, old, halves[0], ("new", "old"))
    pairs = [fit_index_maps(names, old, new, half, ("old", "new")) for half in halves]
    methods, missing_reasons = _methods_without_maps(task)
    reasons = {**missing_reasons, **reasons}
    is_unit, is_mapped_unit = task.metric == "cosine", are_normalized(task.new)
    index_maps = {
        n: make_index_map(fit, "queries", units[::-1], is_unit) for n, fit in queries.items()
    }
    methods |= {name: ServingMethod(fit(task.b)) for name, fit in queries.items()}
    for name in names:
        key, fits = f"documents_{name}", (pairs[0][name], pairs[1][name])
        index_maps[key] = make_index_map(fits[0], "documents", units, is_unit, is_mapped_unit)
        methods[key] = ServingMethod(task.b, cross_fitted_change(task, fits, halves[0]))
    method_names = {"keep", "normalize", "cut", *maps, *(f"documents_{name}" for name in maps)}
    numbers = {
        name: count_free_parameters(name, *widths)
        for name in DECISION_BY_METHOD
        if name in method_names
    }
    ordered_methods = {name: methods[name] for name in DECISION_BY_METHOD if name in methods}
    return ServingMethods(ordered_methods, reasons, index_maps, numbers, halves[0], free_rows)


def cross_fitted_change(
    task: UpgradeTask, fits: tuple[AffineMap, AffineMap], half: np.ndarray
) -> VectorChange:
    """Return the change of documents by two cross-fitted maps. ``fits``: the two maps. ``half``:
    the positions of the documents that fitted the first map; the second map changes these
    documents. The first map changes all other documents, and the vectors of a larger index."""
    is_in_half = np.zeros(len(task.old.source), bool)
    is_in_half[half] = True
    normalizer = _mapped_row_normalizer(task)

    def of_documents(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        mapped_rows = np.empty((len(rows), task.new.width))
        for fit, mask in ((fits[0], ~is_in_half[positions]), (fits[1], is_in_half[positions])):
            mapped_rows[mask] = fit(rows[mask])
        return normalizer(mapped_rows)

    return VectorChange(task.new.width, lambda rows, _: normalizer(fits[0](rows)), of_documents)


def partially_reembedded_rows(
    task: UpgradeTask, names: Sequence[str], reembedded_rows: np.ndarray, free_rows: np.ndarray
) -> ChangedRows:
    """Return documents with new vectors for a part and mapped vectors for the rest, changed on
    reading.

    ``names``: the maps of documents; the affine map is preferred. ``reembedded_rows``: the
    positions of the part. ``free_rows``: the documents that are not queries; the map is fitted to
    those that are re-embedded.
    """
    name = "affine" if "documents_affine" in names else "orthogonal"
    fit_rows = np.intersect1d(reembedded_rows, free_rows)
    fit = fit_index_maps((name,), task.old, task.new, fit_rows, ("old", "new"))[name]
    is_reembedded = np.zeros(len(task.old.source), bool)
    is_reembedded[reembedded_rows] = True
    normalizer = _mapped_row_normalizer(task)

    def change(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        mapped_rows = normalizer(fit(rows))
        mask = is_reembedded[positions]
        mapped_rows[mask] = task.new.take(positions[mask])
        return mapped_rows

    return ChangedRows(task.old, change, task.new.width)


def _mapped_row_normalizer(task: UpgradeTask) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from mapped documents (n, d) to stored vectors (n, d): scaling to length
    1 if the new model normalises vectors, else the identity."""
    return scale_to_unit_length if are_normalized(task.new) else lambda rows: rows


def _methods_without_maps(task: UpgradeTask) -> tuple[dict[str, ServingMethod], dict[str, str]]:
    """Return the methods "keep", "normalize" and "cut" that apply, by name, and the reasons why the
    others do not apply, by name."""
    d, e = task.old.width, task.new.width
    methods, reasons = dict[str, ServingMethod](), dict[str, str]()
    is_unit = are_normalized(task.new)
    if d == e:
        methods["keep"] = ServingMethod(task.b)
        reasons["cut"] = f"both models have {d} values"
    else:
        reasons["keep"] = f"the widths differ, {d} and {e}"
    if d != e:
        reasons["normalize"] = "the widths differ"
    elif not is_unit:
        reasons["normalize"] = "the new model does not normalise its vectors"
    elif are_normalized(task.whole):
        reasons["normalize"] = "the stored vectors are normalised already"
    else:
        unit = VectorChange(d, scale_to_unit_length, scale_to_unit_length)
        methods["normalize"] = ServingMethod(scale_to_unit_length(task.b), unit)
    if d > e:

        def cut(rows: np.ndarray, _: np.ndarray) -> np.ndarray:
            return scale_to_unit_length(rows[:, :e]) if is_unit else rows[:, :e]

        methods["cut"] = ServingMethod(task.b, VectorChange(e, cut, cut))
    elif d < e:
        methods["cut"] = ServingMethod(task.b[:, :d])
    return methods, reasons
